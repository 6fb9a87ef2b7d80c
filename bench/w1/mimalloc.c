/* A mimalloc heap of its own. It has no reset: mi_heap_destroy frees all without visiting, mi_heap_new
 * starts again. It is opened at run time, because linking to it would replace malloc for all contenders; a
 * call through the pointer costs as much as a call of a shared library.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <dlfcn.h>
#include <mimalloc.h>

#include "w1.h"

struct arena {
  mi_heap_t *heap;
};

static __typeof__(&mi_heap_new) heap_new;
static __typeof__(&mi_heap_destroy) heap_destroy;
static __typeof__(&mi_heap_malloc) heap_malloc;
static __typeof__(&mi_heap_malloc_aligned) heap_malloc_aligned;
static __typeof__(&mi_heap_strdup) heap_strdup;

static int load(void) {
  void *library = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 0;
  *(void **)&heap_new = dlsym(library, "mi_heap_new");
  *(void **)&heap_destroy = dlsym(library, "mi_heap_destroy");
  *(void **)&heap_malloc = dlsym(library, "mi_heap_malloc");
  *(void **)&heap_malloc_aligned = dlsym(library, "mi_heap_malloc_aligned");
  *(void **)&heap_strdup = dlsym(library, "mi_heap_strdup");
  return heap_new && heap_destroy && heap_malloc && heap_malloc_aligned && heap_strdup;
}

static int create(struct arena *x, size_t count, size_t bytes) {
  (void)count, (void)bytes;
  if (heap_new == NULL && !load()) return 0;
  return (x->heap = heap_new()) != NULL;
}
static void destroy(struct arena *x) { heap_destroy(x->heap); }
static int clear(struct arena *x) { return destroy(x), create(x, 0, 0); }

#define NAME mimalloc
#define SHOWN "mimalloc heap"
#define LANGUAGE "C"
#define HANDLE mi_heap_t *
#define OPEN(x) ((x)->heap)
#define CLOSE(x, h) ((void)(h))
#define TAKE(h, size) heap_malloc(h, size)
#define TAKE_ALIGNED(h, size, align) heap_malloc_aligned(h, size, align)
#define DUP(h, s) heap_strdup(h, s)
#include "loops.inc"
