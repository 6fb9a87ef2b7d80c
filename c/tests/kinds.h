/* Every kind of object that allocates from a source, with the same calls.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_KINDS_H
#define TOFT_TEST_KINDS_H

#include "support.h"

typedef struct kind {
  const char *name;
  void *(*create)(toft_source *source);
  void *(*alloc)(void *of, size_t size);
  uint64_t (*live)(void *of);
  /* Frees the n allocations, which are all that are live. */
  void (*empty)(void *of, void **at, const size_t *sizes, size_t n);
  void (*release)(void *of);
} kind;

static void *arena_create(toft_source *source) {
  toft_options o = TOFT_OPTIONS;
  o.source = source;
  return toft_create_with(&o);
}
static void *arena_alloc(void *a, size_t size) { return toft_alloc((toft_arena *)a, size); }
static uint64_t arena_live(void *a) { return toft_get_stats((toft_arena *)a).live; }
static void arena_empty(void *a, void **at, const size_t *sizes, size_t n) {
  (void)at, (void)sizes, (void)n;
  assert_int_equal(toft_reset((toft_arena *)a), TOFT_OK);
}
static void arena_release(void *a) { toft_release((toft_arena *)a); }

#ifndef TOFT_OMIT_CHECKS
static void *checked_create(toft_source *source) {
  toft_options o = TOFT_OPTIONS;
  o.source = source;
  o.flags = TOFT_CHECKED;
  return toft_create_with(&o);
}
#endif

#ifndef TOFT_OMIT_RECYCLER
static void *recycler_create(toft_source *source) {
  static toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  o.source = source;
  return toft_recycler_init(&r, &o) == TOFT_OK ? &r : NULL;
}
static void *recycler_alloc(void *r, size_t size) { return toft_recycler_alloc((toft_recycler *)r, size, 8); }
static uint64_t recycler_live(void *r) { return toft_recycler_get_stats((toft_recycler *)r).used; }
static void recycler_empty(void *r, void **at, const size_t *sizes, size_t n) {
  for (size_t i = 0; i < n; i++) toft_recycler_free((toft_recycler *)r, at[i], sizes[i]);
}
static void recycler_release(void *r) { toft_recycler_release((toft_recycler *)r); }

static void *malloc_create(toft_source *source) {
  static toft_malloc m;
  toft_malloc_init(&m, source);
  return &m;
}
static uint64_t malloc_live(void *m) { return toft_malloc_get_stats((toft_malloc *)m).used; }
static void malloc_empty(void *m, void **at, const size_t *sizes, size_t n) {
  (void)sizes;
  for (size_t i = 0; i < n; i++) toft_malloc_free((toft_malloc *)m, at[i]);
}
static void malloc_release(void *m) { toft_malloc_release((toft_malloc *)m); }
#endif

#if !defined(TOFT_OMIT_RECYCLER) && !defined(TOFT_OMIT_THREADS)
static void *sync_create(toft_source *source) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  o.source = source;
  return toft_sync_recycler_create(&o);
}
static void *sync_alloc(void *r, size_t size) { return toft_sync_recycler_alloc((toft_sync_recycler *)r, size, 8); }
static uint64_t sync_live(void *r) { return toft_sync_recycler_get_stats((toft_sync_recycler *)r).used; }
static void sync_empty(void *r, void **at, const size_t *sizes, size_t n) {
  for (size_t i = 0; i < n; i++) toft_sync_recycler_free((toft_sync_recycler *)r, at[i], sizes[i]);
}
static void sync_release(void *r) { toft_sync_recycler_release((toft_sync_recycler *)r); }
#endif

#ifndef TOFT_OMIT_THREADS
static void *shared_create(toft_source *source) { return toft_shared_create(source); }
static void *shared_alloc(void *s, size_t size) { return toft_shared_alloc((toft_shared *)s, size, 8); }
static uint64_t shared_live(void *s) { return toft_shared_get_stats((toft_shared *)s).live; }
static void shared_empty(void *s, void **at, const size_t *sizes, size_t n) {
  (void)at, (void)sizes, (void)n;
  assert_int_equal(toft_shared_reset((toft_shared *)s, TOFT_KEEP_RECENT, 0), TOFT_OK);
}
static void shared_release(void *s) { assert_int_equal(toft_shared_release((toft_shared *)s), TOFT_OK); }

static toft_shared *around; /* of the local arena */
static void *local_create(toft_source *source) {
  around = toft_shared_create(source);
  toft_arena *a = around != NULL ? toft_shared_local(around) : NULL;
  if (a == NULL && around != NULL) shared_release(around);
  return a;
}
static void local_release(void *a) {
  (void)a;
  shared_release(around);
}

static toft_lease lease;
static void *leases_create(toft_source *source) {
  toft_options arenas = TOFT_OPTIONS;
  toft_lease_options o = TOFT_LEASE_OPTIONS;
  arenas.source = source;
  o.arenas = &arenas;
  lease.arena = NULL;
  return toft_leases_create(&o);
}
static void *leases_alloc(void *l, size_t size) {
  if (lease.arena == NULL) lease = toft_lease_get((toft_leases *)l);
  return lease.arena != NULL ? toft_alloc(lease.arena, size) : NULL;
}
static uint64_t leases_live(void *l) {
  (void)l;
  return lease.arena != NULL ? toft_get_stats(lease.arena).live : 0;
}
static void leases_empty(void *l, void **at, const size_t *sizes, size_t n) {
  (void)at, (void)sizes, (void)n;
  if (lease.arena != NULL) assert_int_equal(toft_lease_return((toft_leases *)l, lease), TOFT_OK);
  lease.arena = NULL;
}
static void leases_release(void *l) {
  leases_empty(l, NULL, NULL, 0);
  assert_int_equal(toft_leases_release((toft_leases *)l), TOFT_OK);
}

static void *frames_create(toft_source *source) {
  toft_options o = TOFT_OPTIONS;
  o.source = source;
  return toft_frames_create(1, &o);
}
static void *frames_alloc(void *f, size_t size) {
  toft_arena *a = toft_frame_arena((toft_frames *)f);
  return a != NULL ? toft_alloc(a, size) : NULL;
}
static uint64_t frames_live(void *f) {
  toft_frame_stats s;
  assert_int_equal(toft_frames_get_stats((toft_frames *)f, &s), TOFT_OK);
  return s.live;
}
static void frames_empty(void *f, void **at, const size_t *sizes, size_t n) {
  (void)at, (void)sizes, (void)n;
  assert_int_equal(toft_frames_advance((toft_frames *)f), TOFT_OK);
}
static void frames_release(void *f) { assert_int_equal(toft_frames_release((toft_frames *)f), TOFT_OK); }
#endif

static const kind kinds[] = {
    {"arena", arena_create, arena_alloc, arena_live, arena_empty, arena_release},
#ifndef TOFT_OMIT_CHECKS
    {"checked", checked_create, arena_alloc, arena_live, arena_empty, arena_release},
#endif
#ifndef TOFT_OMIT_RECYCLER
    {"recycler", recycler_create, recycler_alloc, recycler_live, recycler_empty, recycler_release},
    {"malloc", malloc_create, toft_malloc_alloc, malloc_live, malloc_empty, malloc_release},
#endif
#if !defined(TOFT_OMIT_RECYCLER) && !defined(TOFT_OMIT_THREADS)
    {"sync", sync_create, sync_alloc, sync_live, sync_empty, sync_release},
#endif
#ifndef TOFT_OMIT_THREADS
    {"shared", shared_create, shared_alloc, shared_live, shared_empty, shared_release},
    {"local", local_create, arena_alloc, arena_live, arena_empty, local_release},
    {"leases", leases_create, leases_alloc, leases_live, leases_empty, leases_release},
    {"frames", frames_create, frames_alloc, frames_live, frames_empty, frames_release},
#endif
};

#endif
