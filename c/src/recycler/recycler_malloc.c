/* malloc on a recycler: objects of classes that are multiples of 16, whose slab or record before a large object has
 * their size.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_MALLOC_C
#define TOFT_RECYCLER_RECYCLER_MALLOC_C

#include "../core/hooks.h"
#include "../core/policy.c"
#include "../platform/thread_local.h"
#include "recycler.c"
#include "toft/malloc.h"

#define TOFT_MALLOC_ALIGN ((size_t)16)

TOFT_STATIC_ASSERT(malloc_recycler, sizeof(toft_recycler) <= sizeof(toft_malloc));

TOFT_PER_THREAD toft_malloc *toft_current_malloc_heap;
#define toft_current_malloc_heap TOFT_OWN(toft_current_malloc_heap)

static toft_recycler *toft_malloc_recycler(void *m) { return (toft_recycler *)m; }

int toft_malloc_init_size(toft_malloc *m, toft_source *source, size_t size) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  if (size < sizeof(toft_recycler)) return TOFT_EARG;
  o.source = source;
  return toft_recycler_init(toft_malloc_recycler(m), &o);
}

void toft_malloc_release(toft_malloc *m) { toft_recycler_release_at(toft_malloc_recycler(m), TOFT_CALLER()); }

void toft_malloc_trim(toft_malloc *m, size_t keep) { toft_recycler_trim(toft_malloc_recycler(m), keep); }

toft_recycler_stats toft_malloc_get_stats(const toft_malloc *m) {
  return toft_recycler_get_stats((const toft_recycler *)(const void *)m);
}

/* The class of sizes from 16 * i - 15 to 16 * i, up to TOFT_RECYCLER_CLASS_MAX. */
#define TOFT_FOUR(k) k, k, k, k
#define TOFT_EIGHTHS(n, k) n(k), n(k + 1), n(k + 2), n(k + 3), n(k + 4), n(k + 5), n(k + 6), n(k + 7)
#define TOFT_ONE_ENTRY(k) k
#define TOFT_TWO_ENTRIES(k) k, k
#define TOFT_FOUR_ENTRIES(k) TOFT_FOUR(k)
#define TOFT_EIGHT_ENTRIES(k) TOFT_FOUR(k), TOFT_FOUR(k)
#define TOFT_SIXTEEN_ENTRIES(k) TOFT_EIGHT_ENTRIES(k), TOFT_EIGHT_ENTRIES(k)
static const uint8_t toft_malloc_classes[] = {1,
                                              1,
                                              3,
                                              5,
                                              7,
                                              9,
                                              11,
                                              13,
                                              15,
                                              TOFT_EIGHTHS(TOFT_ONE_ENTRY, 16),
                                              TOFT_EIGHTHS(TOFT_TWO_ENTRIES, 24),
                                              TOFT_EIGHTHS(TOFT_FOUR_ENTRIES, 32),
                                              TOFT_EIGHTHS(TOFT_EIGHT_ENTRIES, 40),
                                              TOFT_EIGHTHS(TOFT_SIXTEEN_ENTRIES, 48)};
TOFT_STATIC_ASSERT(malloc_classes, sizeof toft_malloc_classes == TOFT_RECYCLER_CLASS_MAX / 16 + 1);

TOFT_INLINE void *toft_malloc_alloc_at(void *m, size_t size, uintptr_t site) {
  toft_recycler *r = toft_malloc_recycler(m);
  if (TOFT_LIKELY(size <= TOFT_RECYCLER_CLASS_MAX)) {
    toft_recycler_slab *d = r->current[toft_malloc_classes[(size + 15) / 16]];
    void *p = toft_recycler_pop(r, d, d->bytes);
    if (TOFT_LIKELY(p != NULL)) return p;
  }
  return toft_recycler_alloc_slow_at(r, size, TOFT_MALLOC_ALIGN, site);
}

static void *toft_malloc_calloc_at(void *m, size_t count, size_t size, uintptr_t site) {
  size_t bytes = toft_array_size(count, size);
  void *p = toft_malloc_alloc_at(m, bytes, site);
  if (p != NULL) memset(p, 0, bytes);
  return p;
}

TOFT_INLINE void toft_malloc_free_at(void *m, void *p, uintptr_t site) {
  toft_recycler *r = toft_malloc_recycler(m);
  if (TOFT_LIKELY(((uintptr_t)p & r->object_mask) != 0))
    toft_recycler_push(r, p);
  else
    toft_recycler_free_slow_at(r, p, TOFT_SIZE_UNKNOWN, site);
}

/* Bytes that may be used at p, which is not NULL. */
static size_t toft_malloc_room(toft_recycler *r, void *p) {
  return TOFT_UNLIKELY(r->checked) ? toft_recycler_size_checked(r, p) : toft_recycler_room(p);
}

static void *toft_malloc_realloc_at(void *m, void *p, size_t size, uintptr_t site) {
  toft_recycler *r = toft_malloc_recycler(m);
  if (p == NULL) return toft_malloc_alloc_at(m, size, site);
  if (((uintptr_t)p & r->object_mask) != 0 && toft_recycler_stays(toft_recycler_slab_of(p)->bytes, size)) return p;
  return toft_recycler_resize_at(r, p, toft_malloc_room(r, p), size, TOFT_MALLOC_ALIGN, site);
}

void *toft_malloc_alloc(void *m, size_t size) { return toft_malloc_alloc_at(m, size, TOFT_CALLER()); }

void *toft_malloc_calloc(void *m, size_t count, size_t size) {
  return toft_malloc_calloc_at(m, count, size, TOFT_CALLER());
}

void *toft_malloc_realloc(void *m, void *p, size_t size) { return toft_malloc_realloc_at(m, p, size, TOFT_CALLER()); }

void toft_malloc_free(void *m, void *p) { toft_malloc_free_at(m, p, TOFT_CALLER()); }

void *toft_malloc_aligned(void *m, size_t align, size_t size) {
  if (align == 0) return NULL;
  return toft_recycler_alloc_slow_at(toft_malloc_recycler(m), size, toft_max(align, TOFT_MALLOC_ALIGN), TOFT_CALLER());
}

size_t toft_malloc_usable_size(void *m, const void *p) {
  void *q = (void *)(uintptr_t)p;
  if (p == NULL) return 0;
  if (m == NULL && (toft_process_switches() & TOFT_PROCESS_CHECKS)) { /* records have the sizes then */
    m = toft_current_malloc_heap;
    if (m == NULL || !toft_malloc_recycler(m)->checked) return 0;
  }
  return m != NULL ? toft_malloc_room(toft_malloc_recycler(m), q) : toft_recycler_room(q);
}

toft_malloc *toft_malloc_current(void) { return toft_current_malloc_heap; }

toft_malloc *toft_malloc_current_swap(toft_malloc *m) {
  toft_malloc *before = toft_current_malloc_heap;
  toft_current_malloc_heap = m;
  return before;
}

void *toft_malloc_current_alloc(size_t size) {
  return toft_current_malloc_heap != NULL ? toft_malloc_alloc_at(toft_current_malloc_heap, size, TOFT_CALLER()) : NULL;
}

void *toft_malloc_current_calloc(size_t count, size_t size) {
  if (toft_current_malloc_heap == NULL) return NULL;
  return toft_malloc_calloc_at(toft_current_malloc_heap, count, size, TOFT_CALLER());
}

void *toft_malloc_current_realloc(void *p, size_t size) {
  if (toft_current_malloc_heap == NULL) return NULL;
  return toft_malloc_realloc_at(toft_current_malloc_heap, p, size, TOFT_CALLER());
}

void toft_malloc_current_free(void *p) {
  if (toft_current_malloc_heap != NULL) toft_malloc_free_at(toft_current_malloc_heap, p, TOFT_CALLER());
}

#endif
