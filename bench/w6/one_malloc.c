/* malloc and its relatives on one toft_malloc, with a lock while the process has several threads. Preloaded, it is the
 * rewrite of a program that frees objects in any order.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "library_on_libc.h"

#include <sys/single_threaded.h>

static toft_malloc heap;
static int is_ready;
static toft_lock lock;

/* Returns the heap, locked unless the process has one thread. */
static void *enter(int *locked) {
  *locked = !__libc_single_threaded;
  if (*locked) toft_lock_take(&lock);
  if (!is_ready) is_ready = 1, (void)toft_malloc_init(&heap, NULL);
  return &heap;
}

static void *leave(int locked, void *p) {
  if (locked) TOFT_UNLOCK(&lock);
  return p != NULL ? p : (errno = ENOMEM, NULL);
}

void *malloc(size_t size) {
  int locked;
  void *m = enter(&locked);
  return leave(locked, toft_malloc_alloc_at(m, size, 0));
}

void *calloc(size_t n, size_t size) {
  int locked;
  void *m = enter(&locked);
  return leave(locked, toft_malloc_calloc_at(m, n, size, 0));
}

void *realloc(void *p, size_t size) {
  int locked;
  void *m = enter(&locked);
  return leave(locked, toft_malloc_realloc_at(m, p, size, 0));
}

void free(void *p) {
  int locked;
  toft_malloc_free_at(enter(&locked), p, 0);
  if (locked) TOFT_UNLOCK(&lock);
}

void *memalign(size_t align, size_t size) {
  int locked;
  void *m = enter(&locked);
  return leave(locked, toft_malloc_aligned(m, align, size));
}

void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }
int posix_memalign(void **result, size_t align, size_t size) {
  return (*result = memalign(align, size)) != NULL ? 0 : ENOMEM;
}
size_t malloc_usable_size(void *p) { return toft_malloc_usable_size(&heap, p); }
