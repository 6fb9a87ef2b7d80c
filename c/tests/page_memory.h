/* Memory on a page boundary, for the sources of the tests.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_PAGE_MEMORY_H
#define TOFT_TEST_PAGE_MEMORY_H

#include <stdlib.h>
#ifdef _WIN32
#include <malloc.h>
#endif

static inline void *page_memory(size_t size) {
#ifdef _WIN32
  return _aligned_malloc(size, 4096);
#else
  return aligned_alloc(4096, size); /* size is a multiple of it */
#endif
}

static inline void page_memory_free(void *p, size_t size) {
  (void)size;
#ifdef _WIN32
  _aligned_free(p);
#else
  free(p);
#endif
}

#endif
