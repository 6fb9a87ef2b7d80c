/* Lower bound for arenas: a bump with a limit check in one block that is known to be large
 * enough. The check cannot be optimized away, since its slow path is opaque.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef W1_FLOOR_H
#define W1_FLOOR_H
#include "w1.h"

struct arena {
  unsigned char *cursor, *limit, *start;
  void *block;
};

static inline int create_in(struct arena *x, void *buffer, size_t size) {
  x->block = NULL;
  x->start = (unsigned char *)buffer + ((size_t)(0 - (uintptr_t)buffer) & 7u);
  x->cursor = x->start;
  x->limit = x->start + ((size - 8) & ~(size_t)7);
  return 1;
}
static inline int create(struct arena *x, size_t count, size_t bytes) {
  void *block = malloc(bytes + 16);
  (void)count;
  if (block == NULL) return 0;
  create_in(x, block, bytes + 16);
  x->block = block;
  return 1;
}
static inline void destroy(struct arena *x) { free(x->block); }
static inline int clear(struct arena *x) { return x->cursor = x->start, 1; }

static inline __attribute__((always_inline)) void *take(struct arena *x, size_t size) {
  unsigned char *p = x->cursor;
  if (__builtin_expect((size_t)(x->limit - p) < size, 0)) return w1_full();
  x->cursor = p + ((size + 7) & ~(size_t)7);
  if (p == NULL) __builtin_unreachable(); /* avoids a null check in the caller */
  return p;
}
static inline __attribute__((always_inline)) void *take_aligned(struct arena *x, size_t size, size_t align) {
  unsigned char *p = x->cursor;
  unsigned char *q = (unsigned char *)(((uintptr_t)p + (align - 1)) & (0 - align));
  if (__builtin_expect((size_t)(x->limit - p) < (size_t)(q - p) + size, 0)) return w1_full();
  p = q;
  x->cursor = p + ((size + 7) & ~(size_t)7);
  if (p == NULL) __builtin_unreachable();
  return p;
}

#endif
