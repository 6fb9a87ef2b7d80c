/* Not a program: compiled to assembly by c/tests/check-fast-path. For each toft_X there is a floor_X, the same written
 * by hand on a struct of its own. The hot path of both must be the same instructions.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "toft.h"
#include "toft/pool.h"

typedef struct floor_arena floor_arena;
struct floor_ops {
  void *unused;
  void *(*alloc)(floor_arena *, size_t, size_t, uint32_t, uintptr_t);
  int (*rewind)(floor_arena *, unsigned char *, uintptr_t);
};
struct floor_arena {
  unsigned char *cursor;
  const struct floor_ops *ops;
  unsigned char *limit;
  uintptr_t epoch;
};

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* One constant size: 2 loads, 1 store, 1 branch. */
void *floor_const8(floor_arena *a) {
  unsigned char *p = a->cursor;
  if (UNLIKELY((size_t)(a->limit - p) < 8)) return a->ops->alloc(a, 8, 8, 0, 0);
  a->cursor = p + 8;
  return p;
}
void *toft_const8(toft_arena *a) { return toft_alloc(a, 8); }

void *floor_const64(floor_arena *a) {
  unsigned char *p = a->cursor;
  if (UNLIKELY((size_t)(a->limit - p) < 64)) return a->ops->alloc(a, 64, 8, 0, 0);
  a->cursor = p + 64;
  return p;
}
void *toft_const64(toft_arena *a) { return toft_alloc(a, 64); }

/* A constant alignment up to 8 folds away, whichever call it comes through. */
typedef struct pair {
  int a, b;
} pair;
void *floor_typed(floor_arena *a) {
  unsigned char *p = a->cursor;
  if (UNLIKELY((size_t)(a->limit - p) < 8)) return a->ops->alloc(a, 8, 4, 0, 0);
  a->cursor = p + 8;
  return p;
}
void *toft_typed(toft_arena *a) { return toft_new(a, pair); }

void *floor_array(floor_arena *a) {
  unsigned char *p = a->cursor;
  if (UNLIKELY((size_t)(a->limit - p) < 80)) return a->ops->alloc(a, 80, 4, 0, 0);
  a->cursor = p + 80;
  return p;
}
void *toft_array(toft_arena *a) { return toft_new_array(a, pair, 10); }

/* The size is a run-time value: only the rounding is added. */
void *floor_size(floor_arena *a, size_t n) {
  unsigned char *p = a->cursor;
  if (UNLIKELY((size_t)(a->limit - p) < n)) return a->ops->alloc(a, n, 8, 0, 0);
  a->cursor = p + ((n + 7) & ~(size_t)7);
  return p;
}
void *toft_size(toft_arena *a, size_t n) { return toft_alloc(a, n); }

/* A constant alignment above 8: the padding is inline too, and one compare is enough. */
void *floor_align64(floor_arena *a) {
  unsigned char *p = a->cursor;
  size_t remaining = (size_t)(a->limit - p);
  uintptr_t q = ((uintptr_t)p + 63) & ~(uintptr_t)63;
  if (UNLIKELY(remaining < q - (uintptr_t)p + 64)) return a->ops->alloc(a, 64, 64, 0, 0);
  p = (unsigned char *)q;
  a->cursor = p + 64;
  return p;
}
void *toft_align64(toft_arena *a) { return toft_alloc_aligned(a, 64, 64); }

/* A mark and a rewind to it without a slow path in between. */
int floor_rewind(floor_arena *a, unsigned char *cursor, uintptr_t epoch) {
  if (UNLIKELY(epoch != a->epoch || cursor > a->cursor)) return a->ops->rewind(a, cursor, epoch);
  a->cursor = cursor;
  return 0;
}
int toft_rewinds(toft_arena *a, unsigned char *cursor, uintptr_t epoch) {
  toft_mark m = {cursor, epoch};
  return toft_rewind(a, m);
}

/* A claimed range. Ops see a copy: so the range itself can live in registers, and here it costs a stack frame. */
typedef struct floor_range {
  unsigned char *cursor, *limit;
  uintptr_t provider;
} floor_range;
void *floor_refill(floor_arena *, floor_range *, size_t);
void *floor_range24(floor_arena *a, floor_range *r) {
  unsigned char *p = r->cursor;
  if (UNLIKELY((size_t)(r->limit - p) < 24)) {
    floor_range seen = *r;
    void *q = floor_refill(a, &seen, 24);
    *r = seen;
    return q;
  }
  r->cursor = p + 24;
  return p;
}
void *toft_range24(toft_arena *a, toft_range *r) { return toft_range_alloc(a, r, 24); }

/* Pools, which have no floor. */
void *toft_pooled(toft_pool *pool, toft_handle *h) { return toft_pool_insert(pool, h); }
void *toft_found(toft_pool *pool, toft_handle h) { return toft_pool_at(pool, h); }
int toft_removed(toft_pool *pool, toft_handle h) { return toft_pool_remove(pool, h); }
