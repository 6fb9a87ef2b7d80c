/* Every kind of object that allocates from a source, with the same calls; and the driver of the tables of refusals:
 * each request of memory by a call is refused once, from then on, and if it is of a size or larger. A refused call
 * changes nothing, and is done when there is memory again. With REFUSING_HEAP this contains the library, and the heap
 * refuses too, as does the system: pages of pools.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_REFUSING_H
#define TOFT_TEST_REFUSING_H

#define _GNU_SOURCE
#ifndef __LP64__
#define _FILE_OFFSET_BITS 64 /* equal to that of the library */
#endif
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#ifndef _WIN32
#include <sys/mman.h>
#endif

enum { NOTHING, ONCE, FROM_THEN_ON, ABOVE_A_SIZE };

static struct {
  int way;
  size_t n;                     /* the number of the request, from 1, or the size */
  size_t made, refused;         /* since `refuse` */
  size_t sizes[64], size_count; /* the first different ones */
  size_t out;                   /* allocations of the heap */
  void (*looking)(void);        /* during a request of the heap */
} requests;

static inline void refuse(int way, size_t n) {
  requests.way = way;
  requests.n = n;
  requests.made = requests.refused = 0;
}

static inline int refuses(size_t size) {
  size_t i = 0;
  while (i < requests.size_count && requests.sizes[i] != size) i++;
  if (i == requests.size_count && i < sizeof requests.sizes / sizeof *requests.sizes)
    requests.sizes[requests.size_count++] = size;
  requests.made++;
  int refused = (requests.way == ONCE && requests.made == requests.n) ||
                (requests.way == FROM_THEN_ON && requests.made >= requests.n) ||
                (requests.way == ABOVE_A_SIZE && size > requests.n);
  requests.refused += (size_t)refused;
  return refused;
}

#ifdef REFUSING_HEAP
static void *counted_of_heap(void *p) {
  requests.out += p != NULL;
  return p;
}
static int heap_refuses(size_t size) {
  if (requests.looking != NULL) requests.looking();
  return refuses(size);
}
static void *refusing_malloc(size_t n) { return heap_refuses(n) ? NULL : counted_of_heap(malloc(n)); }
static void *refusing_calloc(size_t n, size_t m) { return heap_refuses(n * m) ? NULL : counted_of_heap(calloc(n, m)); }
static void *refusing_realloc(void *p, size_t n) {
  if (heap_refuses(n)) return NULL;
  return p == NULL ? counted_of_heap(malloc(n)) : realloc(p, n);
}
static void refusing_free(void *p) {
  requests.out -= p != NULL;
  free(p);
}
#ifndef _WIN32
static int refusing_memalign(void **p, size_t align, size_t n) {
  int failed = heap_refuses(n) || posix_memalign(p, align, n) != 0;
  requests.out += !failed;
  return failed;
}
static int refusing_mprotect(void *p, size_t size, int protection) {
  return protection != PROT_NONE && heap_refuses(size) ? -1 : mprotect(p, size, protection);
}
static void *refusing_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
  return heap_refuses(size) ? MAP_FAILED : mmap(at, size, protection, flags, fd, offset);
}
#define posix_memalign refusing_memalign
#define mprotect refusing_mprotect
#define mmap refusing_mmap
#endif

#define TOFT_STATIC
#define malloc refusing_malloc
#define calloc refusing_calloc
#define realloc refusing_realloc
#define free refusing_free
#include "toft.c"
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef posix_memalign
#undef mprotect
#undef mmap
#endif

#include "support.h"

/* ---- every kind of object ---- */

typedef struct kind {
  const char *name;
  void *(*create)(toft_source *source);
  void *(*alloc)(void *of, size_t size);
  uint64_t (*live)(void *of);
  uint64_t (*reserved)(void *of); /* NULL: unknown */
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
static uint64_t arena_reserved(void *a) { return toft_get_stats((toft_arena *)a).reserved; }
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
static uint64_t recycler_reserved(void *r) { return toft_recycler_get_stats((toft_recycler *)r).reserved; }
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
static uint64_t malloc_reserved(void *m) { return toft_malloc_get_stats((toft_malloc *)m).reserved; }
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
static uint64_t shared_reserved(void *s) { return toft_shared_get_stats((toft_shared *)s).reserved; }
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
  toft_frame_stats s = {0};
  assert_int_equal(toft_frames_get_stats((toft_frames *)f, &s), TOFT_OK);
  return s.live;
}
static void frames_empty(void *f, void **at, const size_t *sizes, size_t n) {
  (void)at, (void)sizes, (void)n;
  assert_int_equal(toft_frames_advance((toft_frames *)f), TOFT_OK);
}
static void frames_release(void *f) { assert_int_equal(toft_frames_release((toft_frames *)f), TOFT_OK); }
#endif

#ifdef REFUSING_HEAP
static void *checked_recycler_create(toft_source *source) {
  static toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  o.source = source;
  return toft_recycler_init_as(&r, &o, 1) == TOFT_OK ? &r : NULL;
}
#endif

static const kind kinds[] = {
    {"arena", arena_create, arena_alloc, arena_live, arena_reserved, arena_empty, arena_release},
#ifndef TOFT_OMIT_CHECKS
    {"checked", checked_create, arena_alloc, arena_live, arena_reserved, arena_empty, arena_release},
#endif
#ifndef TOFT_OMIT_RECYCLER
    {"recycler", recycler_create, recycler_alloc, recycler_live, recycler_reserved, recycler_empty, recycler_release},
#ifdef REFUSING_HEAP
    {"checked recycler", checked_recycler_create, recycler_alloc, recycler_live, recycler_reserved, recycler_empty,
     recycler_release},
#endif
    {"malloc", malloc_create, toft_malloc_alloc, malloc_live, malloc_reserved, malloc_empty, malloc_release},
#endif
#if !defined(TOFT_OMIT_RECYCLER) && !defined(TOFT_OMIT_THREADS)
    {"sync", sync_create, sync_alloc, sync_live, NULL, sync_empty, sync_release},
#endif
#ifndef TOFT_OMIT_THREADS
    {"shared", shared_create, shared_alloc, shared_live, shared_reserved, shared_empty, shared_release},
    {"local", local_create, arena_alloc, arena_live, NULL, arena_empty, local_release},
    {"leases", leases_create, leases_alloc, leases_live, NULL, leases_empty, leases_release},
    {"frames", frames_create, frames_alloc, frames_live, NULL, frames_empty, frames_release},
#endif
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- tables of calls ---- */

static counted taken; /* by the object that a call is tried on */

static inline void *refusing_take(toft_source *self, size_t size) {
  return refuses(size) ? NULL : counted_take(self, size);
}

/* An object, made while there is memory, and what a refusal must not change of it. */
typedef struct subject {
  const char *name;
  void *(*make)(toft_source *source);
  void (*look)(void *of, uint64_t *seen); /* stores up to SEEN words; asserts what holds at any time */
  void (*release)(void *of);
} subject;
enum { SEEN = 16 };

/* A row of a table. */
typedef struct refusal {
  const char *name;
  void (*prepare)(void *of); /* before the first call; NULL: nothing */
  int (*call)(void *of);     /* TOFT_OK: done; TOFT_ENOMEM: refused */
  int times;                 /* of the call */
} refusal;

/* Calls once more, and asserts that a refusal changed nothing. Returns whether it was refused. */
static inline int is_refused(const subject *s, const refusal *r, void *of, const char *when) {
  uint64_t before[SEEN] = {0}, after[SEEN] = {0};
  size_t refused = requests.refused;
  s->look(of, before);
  int code = r->call(of);
  s->look(of, after);
  if (code == TOFT_OK) return 0;
  if (code != TOFT_ENOMEM) fail_msg("%s, %s, %s: the code is %d", s->name, r->name, when, code);
  if (requests.refused == refused) fail_msg("%s, %s, %s: no request was refused", s->name, r->name, when);
  for (size_t i = 0; i < SEEN; i++)
    if (after[i] != before[i])
      fail_msg("%s, %s, %s %zu: word %zu was %llu, and is %llu", s->name, r->name, when, requests.n, i,
               (unsigned long long)before[i], (unsigned long long)after[i]);
  return 1;
}

/* Returns how many calls were refused; stores whether a request was. */
static inline size_t refuse_once(const subject *s, const refusal *r, int way, size_t n, int *any) {
  static const char *const ways[] = {"nothing is refused", "once", "from then on", "above"};
  size_t failed = 0, refused = 0;
  refuse(NOTHING, 0);
  counted_init(&taken);
  taken.source.take = refusing_take;
  void *of = s->make(&taken.source);
  assert_non_null(of);
  if (r->prepare != NULL) r->prepare(of);
  requests.size_count = 0;
  refuse(way, n);
  for (int i = 0; i < r->times; i++) {
    if (!is_refused(s, r, of, ways[way])) continue;
    failed++;
    if (way != ONCE) (void)is_refused(s, r, of, ways[way]);
    refused += requests.refused;
    refuse(NOTHING, 0);
    if (is_refused(s, r, of, ways[NOTHING])) fail_msg("%s, %s: there is memory again", s->name, r->name);
  }
  *any = refused + requests.refused != 0;
  refuse(FROM_THEN_ON, 1);
  s->release(of); /* requires no memory */
  refuse(NOTHING, 0);
  counted_all_back(&taken);
  return failed;
}

static inline void each_refusal(const subject *s, const refusal *rows, size_t count) {
  for (const refusal *r = rows; r < rows + count; r++) {
    size_t sizes[sizeof requests.sizes / sizeof *requests.sizes], failed = 0, n, out;
    int any;
    (void)refuse_once(s, r, NOTHING, 0, &any); /* what the process keeps of the first one */
    out = requests.out;
    assert_int_equal(refuse_once(s, r, NOTHING, 0, &any), 0);
    n = requests.size_count;
    memcpy(sizes, requests.sizes, sizeof sizes);
    for (size_t i = 0; i < n; i++) failed += refuse_once(s, r, ABOVE_A_SIZE, sizes[i] - 1, &any);
    any = 1;
    for (size_t k = 1; any; k++) {
      int once, from;
      failed += refuse_once(s, r, ONCE, k, &once) + refuse_once(s, r, FROM_THEN_ON, k, &from);
      any = once || from;
    }
    if (failed == 0) fail_msg("%s, %s: nothing was refused", s->name, r->name);
    if (requests.out != out) fail_msg("%s, %s: %zu allocations leak", s->name, r->name, requests.out - out);
  }
}

static inline int done(const void *p) { return p != NULL ? TOFT_OK : TOFT_ENOMEM; }

#endif
