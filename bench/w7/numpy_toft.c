/* An extension of Python: `import numpy_toft` sets a data handler, by which arrays of NumPy lie on Toft from then on.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <toft/malloc.h>

/* ---- adapter: hooks with a context. NumPy calls them with the interpreter's lock held ---- */

static toft_malloc memory;

static void give(void *m, void *p, size_t size) {
  (void)size;
  toft_malloc_free(m, p);
}

static PyDataMem_Handler handler = {
    "toft", 1, {&memory, toft_malloc_alloc, toft_malloc_calloc, toft_malloc_realloc, give}};

static int set_handler(void) {
  PyObject *capsule = PyCapsule_New(&handler, "mem_handler", NULL), *before;
  if (capsule == NULL) return -1;
  toft_malloc_init(&memory, NULL);
  before = PyDataMem_SetHandler(capsule);
  Py_DECREF(capsule);
  Py_XDECREF(before);
  return before != NULL ? 0 : -1;
}

/* ---- end of the adapter ---- */

static struct PyModuleDef numpy_toft = {PyModuleDef_HEAD_INIT, "numpy_toft", NULL, -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_numpy_toft(void) {
  import_array();
  return set_handler() == 0 ? PyModule_Create(&numpy_toft) : NULL;
}
