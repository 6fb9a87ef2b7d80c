/* Leases: kept memory, refused calls, and threads that get, return, misuse and trim at once and lose nothing. Under
 * TSan too.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>
#include <stdio.h>

#include "support.h"

#ifndef _WIN32
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#define THREADS 8

/* counted, for threads that come at once. */
typedef struct shared_source {
  toft_source source;
  counted inner;
  pthread_mutex_t lock;
} shared_source;

static void *shared_take(toft_source *self, size_t size) {
  shared_source *s = (shared_source *)(void *)self;
  pthread_mutex_lock(&s->lock);
  void *p = s->inner.source.take(&s->inner.source, size);
  pthread_mutex_unlock(&s->lock);
  return p;
}
static void shared_put(toft_source *self, void *block, size_t size) {
  shared_source *s = (shared_source *)(void *)self;
  pthread_mutex_lock(&s->lock);
  s->inner.source.put(&s->inner.source, block, size);
  pthread_mutex_unlock(&s->lock);
}
static toft_source *shared_init(shared_source *s) {
  counted_init(&s->inner);
  s->source.take = shared_take;
  s->source.put = shared_put;
  s->source.extend = NULL;
  assert_int_equal(pthread_mutex_init(&s->lock, NULL), 0);
  return &s->source;
}
static void shared_all_back(shared_source *s) {
  counted_all_back(&s->inner);
  pthread_mutex_destroy(&s->lock);
}

static toft_leases *leases_on(toft_source *source, size_t idle) {
  toft_options arenas = TOFT_OPTIONS;
  toft_lease_options o = TOFT_LEASE_OPTIONS;
  arenas.source = source;
  o.arenas = &arenas;
  o.idle = idle;
  toft_leases *l = toft_leases_create(&o);
  assert_non_null(l);
  return l;
}

static size_t in_thread(void *(*work)(void *), void *arg) {
  pthread_t t;
  void *result = NULL;
  assert_int_equal(pthread_create(&t, NULL, work, arg), 0);
  assert_int_equal(pthread_join(t, &result), 0);
  return (size_t)(uintptr_t)result;
}

/* ---- one thread ---- */

static void the_same_arena_again(void **state) {
  shared_source c;
  toft_leases *l = leases_on(shared_init(&c), 4);
  (void)state;
  toft_arena *first = NULL;
  for (unsigned i = 0; i < 3000; i++) {
    toft_lease a = toft_lease_get(l);
    assert_non_null(a.arena);
    if (first == NULL) first = a.arena;
    assert_ptr_equal(a.arena, first);
    assert_int_equal(toft_get_stats(a.arena).live, 0);
    size_t size = i * 7u % 3000;
    unsigned char *p = (unsigned char *)toft_alloc(a.arena, size);
    assert_non_null(p);
    fill(p, size, i);
    assert_int_equal(toft_get_stats(a.arena).live, (size + 7) & ~(size_t)7);
    if (i % 3 == 0) assert_non_null(toft_alloc(a.arena, 16)); /* the statistics leave it usable */
    assert_int_equal(toft_lease_return(l, a), TOFT_OK);
  }
  toft_lease_stats s = toft_leases_get_stats(l);
  assert_true(s.created == 1 && s.released == 0 && s.idle == 1 && s.leased == 0 && s.kept == 4096);
  assert_int_equal(toft_leases_release(l), TOFT_OK);
  shared_all_back(&c);
}

static void marks_do_not_outlive_a_lease(void **state) {
  toft_leases *l = toft_leases_create(NULL);
  (void)state;
  toft_mark m[4];
  for (int i = 0; i < 4; i++) {
    toft_lease a = toft_lease_get(l);
    assert_non_null(toft_alloc(a.arena, 100));
    m[i] = toft_mark_here(a.arena);
    assert_non_null(toft_alloc(a.arena, 100));
    for (int k = 0; k < i; k++) assert_int_equal(toft_rewind(a.arena, m[k]), TOFT_EMARK);
    assert_int_equal(toft_rewind(a.arena, m[i]), TOFT_OK);
    assert_int_equal(toft_get_stats(a.arena).live, 104);
    assert_int_equal(toft_lease_return(l, a), TOFT_OK);
    assert_int_equal(toft_rewind(a.arena, m[i]), TOFT_EBUSY);
  }
  assert_int_equal(toft_leases_release(l), TOFT_OK);
}

static void a_second_return_is_refused(void **state) {
  toft_leases *l = toft_leases_create(NULL), *other = toft_leases_create(NULL);
  (void)state;
  toft_lease a = toft_lease_get(l);
  assert_int_equal(toft_lease_return(other, a), TOFT_EARG);
  assert_int_equal(toft_lease_return(l, a), TOFT_OK);
  assert_int_equal(toft_lease_return(l, a), TOFT_EBUSY);
  toft_lease b = toft_lease_get(l);
  assert_ptr_equal(a.arena, b.arena);
  assert_non_null(toft_alloc(b.arena, 100));
  assert_int_equal(toft_lease_return(l, a), TOFT_EBUSY); /* that is b's now */
  assert_int_equal(toft_get_stats(b.arena).live, 104);
  assert_int_equal(toft_lease_return(l, b), TOFT_OK);
  toft_leases_trim(l); /* the arena was released: still detected */
  assert_int_equal(toft_lease_return(l, a), TOFT_EBUSY);
  assert_int_equal(toft_lease_return(l, b), TOFT_EBUSY);
  b = toft_lease_get(l);
  assert_non_null(b.arena);
  toft_lease of_other = toft_lease_get(other); /* with a generation that l has issued */
  assert_int_equal(toft_lease_return(l, of_other), TOFT_EBUSY);
  assert_int_equal(toft_lease_return(other, b), TOFT_EARG);
  assert_int_equal(toft_lease_return(other, of_other), TOFT_OK);
  assert_int_equal(toft_lease_return(l, b), TOFT_OK);
  toft_leases_trim(l);

  toft_lease none = {NULL, 0}, later = b, odd = {NULL, UINT64_MAX}, plain = {toft_create(), 0};
  later.generation += 1 << 25;
  assert_int_equal(toft_lease_return(l, none), TOFT_EARG);
  assert_int_equal(toft_lease_return(NULL, none), TOFT_EARG);
  assert_int_equal(toft_lease_return(l, later), TOFT_EARG);
  assert_int_equal(toft_lease_return(l, odd), TOFT_EARG);
  assert_int_equal(toft_lease_return(l, plain), TOFT_EARG);
  for (uint64_t bit = 1; bit != 0; bit *= 2) {
    toft_lease wild = {b.arena, b.generation ^ bit};
    assert_true(toft_lease_return(l, wild) < 0);
  }
  toft_release(plain.arena);
  assert_int_equal(toft_leases_release(l), TOFT_OK);
  assert_int_equal(toft_leases_release(other), TOFT_OK);
  assert_int_equal(toft_leases_release(NULL), TOFT_EARG);
}

static void a_returned_arena_is_sealed(void **state) {
  toft_leases *l = toft_leases_create(NULL);
  (void)state;
  for (int round = 0; round < 3; round++) { /* the second uses the fast path */
    toft_lease a = toft_lease_get(l);
    toft_range r = {NULL, NULL, 0};
    char *p = (char *)toft_alloc(a.arena, 100);
    assert_non_null(p);
    assert_int_equal(toft_lease_return(l, a), TOFT_OK);
    assert_null(toft_alloc(a.arena, 1));
    assert_null(toft_alloc_aligned(a.arena, 10, 64));
    assert_non_null(toft_alloc(a.arena, 0));
    assert_null(toft_resize(a.arena, p, 100, 200, 8));
    toft_free(a.arena, p, 100);
    assert_null(toft_cleanup_add(a.arena, NULL, NULL));
    assert_int_equal(toft_claim(a.arena, &r), TOFT_EBUSY);
    assert_int_equal(toft_unclaim(a.arena, &r), TOFT_EARG);
    assert_int_equal(toft_reset(a.arena), TOFT_EBUSY);
    assert_int_equal(toft_reset_keep(a.arena, 9, 0), TOFT_EARG);
    assert_int_equal(toft_set_budget(a.arena, 5), TOFT_EBUSY);
    assert_int_equal(a.arena->ops->set(a.arena, 99, 0, NULL, 0), TOFT_ENOSYS);
    toft_trim(a.arena, 0);
    assert_int_equal(toft_get_stats(a.arena).live, 0);
    assert_null(toft_alloc(a.arena, 1)); /* still sealed after the statistics */
    toft_release(a.arena);
    toft_arena *mine = toft_create();
    assert_int_equal(toft_adopt(mine, a.arena), TOFT_EBUSY);
    toft_lease b = toft_lease_get(l);
    assert_ptr_equal(b.arena, a.arena);
    assert_non_null(toft_alloc(b.arena, 1));
    toft_release(b.arena); /* the cache's alone */
    assert_int_equal(toft_adopt(mine, b.arena), TOFT_EBUSY);
    assert_non_null(toft_alloc(b.arena, 1));
    assert_int_equal(toft_get_stats(b.arena).live, 16);
    assert_int_equal(toft_lease_return(l, b), TOFT_OK);
    toft_release(mine);
  }
  assert_int_equal(toft_leases_release(l), TOFT_OK);
}

static void a_claimed_lease_stays_out(void **state) {
  toft_leases *l = toft_leases_create(NULL);
  (void)state;
  toft_lease a = toft_lease_get(l);
  toft_range r;
  assert_int_equal(toft_claim(a.arena, &r), TOFT_OK);
  assert_int_equal(toft_lease_return(l, a), TOFT_EBUSY);
  assert_int_equal(toft_leases_release(l), TOFT_EBUSY);
  assert_non_null(toft_range_alloc(a.arena, &r, 10));
  assert_int_equal(toft_unclaim(a.arena, &r), TOFT_OK);
  assert_int_equal(toft_lease_return(l, a), TOFT_OK);
  assert_int_equal(toft_leases_release(l), TOFT_OK);
}

static void settings_end_with_their_lease(void **state) {
  toft_leases *l = toft_leases_create(NULL);
  (void)state;
  for (int i = 0; i < 4; i++) {
    toft_lease a = toft_lease_get(l);
    assert_true(toft_get_stats(a.arena).budget == UINT64_MAX && !(a.arena->epoch & 1));
    assert_non_null(toft_alloc(a.arena, 100));
    if (i == 0) assert_int_equal(toft_set_budget(a.arena, 50), TOFT_OK);
    if (i == 1) assert_int_equal(toft_set_checked(a.arena, 1), TOFT_OK);
    if (i == 2) assert_int_equal(toft_set_budget(a.arena, 0), TOFT_OK);
    assert_int_equal(toft_lease_return(l, a), TOFT_OK);
  }
  assert_int_equal(toft_leases_release(l), TOFT_OK);
}

static toft_leases *nested_in;
static int cleanups;
static void cleanup(void *arg) {
  toft_lease inner = toft_lease_get(nested_in); /* a cleanup may lease */
  cleanups += inner.arena != NULL && inner.arena != ((toft_lease *)arg)->arena;
  cleanups += toft_lease_return(nested_in, *(toft_lease *)arg) == TOFT_EBUSY;
  cleanups += toft_lease_return(nested_in, inner) == TOFT_OK;
}

static void cleanups_run_at_the_return(void **state) {
  nested_in = toft_leases_create(NULL);
  (void)state;
  cleanups = 0;
  for (int i = 1; i <= 5; i++) {
    toft_lease a = toft_lease_get(nested_in);
    assert_non_null(toft_cleanup_add(a.arena, cleanup, &a));
    assert_int_equal(toft_lease_return(nested_in, a), TOFT_OK);
    assert_int_equal(cleanups, i * 3);
  }
  assert_int_equal(toft_leases_get_stats(nested_in).leased, 0);
  assert_int_equal(toft_leases_release(nested_in), TOFT_OK);
}

static void trim_cache(void *arg) {
  (void)arg;
  toft_cache_trim();
}

static void a_cleanup_trims_the_threads_cache(void **state) {
  toft_leases *l = toft_leases_create(NULL);
  (void)state;
  for (int i = 0; i < 5; i++) {
    toft_lease a = toft_lease_get(l);
    assert_non_null(toft_cleanup_add(a.arena, trim_cache, NULL));
    assert_int_equal(toft_lease_return(l, a), TOFT_OK);
    a = toft_lease_get(l);
    assert_non_null(toft_alloc(a.arena, 100));
    assert_int_equal(toft_lease_return(l, a), TOFT_OK);
  }
  toft_lease_stats s = toft_leases_get_stats(l);
  assert_true(s.created == 1 && s.idle == 1);
  assert_int_equal(toft_leases_release(l), TOFT_OK);
}

/* A source that does something first. */
typedef struct odd_source {
  toft_source source;
  counted inner;
  void (*before_take)(void *), (*before_put)(void *);
} odd_source;

static void *odd_take(toft_source *self, size_t size) {
  odd_source *s = (odd_source *)(void *)self;
  if (s->before_take != NULL) s->before_take(s);
  return s->inner.source.take(&s->inner.source, size);
}
static void odd_put(toft_source *self, void *block, size_t size) {
  odd_source *s = (odd_source *)(void *)self;
  if (s->before_put != NULL) s->before_put(s);
  s->inner.source.put(&s->inner.source, block, size);
}
static toft_source *odd_init(odd_source *s, void (*before_take)(void *), void (*before_put)(void *)) {
  counted_init(&s->inner);
  s->source.take = odd_take;
  s->source.put = odd_put;
  s->source.extend = NULL;
  s->before_take = before_take;
  s->before_put = before_put;
  return &s->source;
}

static void a_source_trims_the_threads_cache(void **state) {
  odd_source c;
  toft_leases *l = leases_on(odd_init(&c, trim_cache, trim_cache), 4);
  (void)state;
  for (int i = 0; i < 20; i++) {
    toft_lease a[6];
    for (int k = 0; k < 6; k++) {
      a[k] = toft_lease_get(l);
      assert_non_null(toft_alloc(a[k].arena, 5000));
    }
    for (int k = 0; k < 6; k++) assert_int_equal(toft_lease_return(l, a[k]), TOFT_OK);
    if (i % 2 == 0) toft_cache_trim(); /* the next private slot exceeds the limit of idle arenas */
  }
  assert_int_equal(toft_leases_release(l), TOFT_OK);
  counted_all_back(&c.inner);
}

static void lease_and_trim(void *arg) {
  (void)arg;
  toft_lease a = toft_lease_get(NULL);
  assert_int_equal(toft_lease_return(NULL, a), TOFT_OK);
  toft_cache_trim();
}

static toft_leases *in_use;
static int refused;
static void destroy_in_use(void *arg) {
  (void)arg;
  if (in_use == NULL) return; /* the options are tried */
  toft_lease_stats s = toft_leases_get_stats(in_use);
  refused += toft_leases_release(in_use) == TOFT_EBUSY && s.leased == 1 && s.idle == 0;
}

static void a_cache_stays_while_a_call_is_in_it(void **state) {
  odd_source c;
  (void)state;
  in_use = NULL;
  refused = 0;
  in_use = leases_on(odd_init(&c, destroy_in_use, NULL), 4);
  toft_lease a = toft_lease_get(in_use);
  assert_int_equal(refused, 1);
  c.before_take = NULL;
  for (int i = 2; i < 5; i++) {
    assert_non_null(toft_cleanup_add(a.arena, destroy_in_use, NULL));
    assert_int_equal(toft_lease_return(in_use, a), TOFT_OK);
    assert_int_equal(refused, i);
    toft_lease_stats s = toft_leases_get_stats(in_use);
    assert_true(s.created == 1 && s.idle == 1 && s.leased == 0);
    a = toft_lease_get(in_use);
  }
  assert_int_equal(toft_lease_return(in_use, a), TOFT_OK);
  toft_leases_trim(in_use);
  c.inner.fail_at = c.inner.attempts + 1;
  a = toft_lease_get(in_use);
  assert_null(a.arena);
  assert_int_equal(toft_leases_get_stats(in_use).leased, 0);
  assert_int_equal(toft_leases_release(in_use), TOFT_OK);
  counted_all_back(&c.inner);
}

/* A cache whose release was refused has freed the thread's idle arena: the next one exceeds the limit. */
static void a_source_leases_while_a_thread_ends(void **state) {
  odd_source c;
  toft_leases *l = leases_on(odd_init(&c, NULL, lease_and_trim), 2);
  toft_lease a[3];
  (void)state;
  for (int i = 0; i < 3; i++) a[i] = toft_lease_get(l);
  assert_int_equal(toft_lease_return(l, a[0]), TOFT_OK);
  assert_int_equal(toft_lease_return(l, a[1]), TOFT_OK);
  assert_int_equal(toft_leases_release(l), TOFT_EBUSY);
  assert_int_equal(toft_lease_return(l, a[2]), TOFT_OK);
  size_t idle = toft_leases_get_stats(l).idle;
  assert_true(idle == 3 || idle == 2); /* 2 where the system has no asymmetric fence */
  a[0] = toft_lease_get(NULL);         /* so that there are two private slots */
  assert_int_equal(toft_lease_return(NULL, a[0]), TOFT_OK);
  toft_cache_trim();
  assert_int_equal(toft_leases_get_stats(l).idle, 2);
  toft_leases_trim(NULL);
  assert_int_equal(toft_leases_release(l), TOFT_OK);
  counted_all_back(&c.inner);
}

static void several_at_a_time_and_two_caches(void **state) {
  shared_source c;
  toft_leases *l[2] = {leases_on(shared_init(&c), 6), toft_leases_create(NULL)};
  (void)state;
  for (int round = 0; round < 50; round++) {
    toft_lease a[20];
    for (unsigned i = 0; i < 20; i++) {
      a[i] = toft_lease_get(l[i & 1]);
      assert_non_null(a[i].arena);
      for (unsigned k = 0; k < i; k++) assert_true(a[i].arena != a[k].arena);
      fill(toft_alloc(a[i].arena, 500), 500, i);
    }
    assert_int_equal(toft_leases_release(l[0]), TOFT_EBUSY);
    toft_lease_stats s = toft_leases_get_stats(l[0]);
    assert_true(s.leased == 10 && s.idle == 0);
    for (unsigned i = 0; i < 20; i++) { /* both may have the same generation */
      int code = toft_lease_return(l[1 - (i & 1)], a[i]);
      assert_true(code == TOFT_EARG || code == TOFT_EBUSY);
    }
    assert_int_equal(toft_leases_get_stats(l[0]).leased, 10);
    for (unsigned i = 0; i < 20; i++) assert_int_equal(toft_lease_return(l[i & 1], a[(i * 8 + i) % 20]), TOFT_OK);
    s = toft_leases_get_stats(l[0]);
    assert_true(s.leased == 0 && s.idle <= 6 && s.idle >= 3); /* 1 of up to 3 reserved */
    assert_int_equal(s.created - s.released, s.idle);
    assert_int_equal(s.kept, s.idle * 4096);
    assert_true(c.inner.bytes == s.kept);
  }
  assert_int_equal(toft_leases_release(l[0]), TOFT_OK);
  assert_int_equal(toft_leases_release(l[1]), TOFT_OK);
  shared_all_back(&c);
}

static void bytes_are_bounded(void **state) {
  shared_source c;
  toft_options arenas = TOFT_OPTIONS;
  toft_lease_options o = TOFT_LEASE_OPTIONS;
  (void)state;
  arenas.source = shared_init(&c);
  o.arenas = &arenas;
  o.keep = 40000;
  o.bytes = 100000;
  toft_leases *l = toft_leases_create(&o);
  uint32_t random = 1;
  for (int round = 0; round < 300; round++) {
    toft_lease a[5];
    for (int i = 0; i < 5; i++) {
      a[i] = toft_lease_get(l);
      for (uint32_t n = next_random(&random) % 40; n > 0; n--)
        assert_non_null(toft_alloc(a[i].arena, next_random(&random) % (round % 10 == 9 ? 50000 : 2000)));
    }
    for (int i = 0; i < 5; i++) assert_int_equal(toft_lease_return(l, a[i]), TOFT_OK);
    assert_true(c.inner.bytes <= 100000);
    assert_int_equal(toft_leases_get_stats(l).kept, c.inner.bytes);
  }
  toft_leases_trim(l);
  assert_int_equal(c.inner.bytes, 0);
  o.bytes = 0; /* nothing may be kept */
  toft_leases *none = toft_leases_create(&o);
  for (int i = 0; i < 3; i++) {
    toft_lease a = toft_lease_get(none);
    assert_int_equal(toft_lease_return(none, a), TOFT_OK);
    assert_int_equal(c.inner.bytes, 0);
  }
  o.bytes = 1000000;
  o.idle = 0;
  toft_leases *ends_at_once = toft_leases_create(&o);
  toft_lease a = toft_lease_get(ends_at_once);
  assert_int_equal(toft_lease_return(ends_at_once, a), TOFT_OK);
  assert_int_equal(c.inner.bytes, 0);
  assert_int_equal(toft_leases_release(l), TOFT_OK);
  assert_int_equal(toft_leases_release(none), TOFT_OK);
  assert_int_equal(toft_leases_release(ends_at_once), TOFT_OK);
  shared_all_back(&c);
}

static void memory_is_kept_and_forgotten(void **state) {
  shared_source c;
  toft_leases *l = leases_on(shared_init(&c), 8);
  (void)state;
  size_t attempts = 0;
  for (int i = 0; i < 3000; i++) { /* a steady round of 100 KB ... */
    toft_lease a = toft_lease_get(l);
    for (int k = 0; k < 100; k++) assert_non_null(toft_alloc(a.arena, 1000));
    assert_int_equal(toft_lease_return(l, a), TOFT_OK);
    if (i == 10) attempts = c.inner.attempts;
  }
  assert_int_equal(c.inner.attempts, attempts); /* ... does not call the source */
  assert_true(c.inner.bytes > 100000);
  for (int i = 0; i < 70000; i++) {
    toft_lease a = toft_lease_get(l);
    assert_non_null(toft_alloc(a.arena, 100));
    assert_int_equal(toft_lease_return(l, a), TOFT_OK);
  }
  assert_int_equal(c.inner.bytes, 4096); /* and is forgotten at last */
  assert_int_equal(toft_leases_release(l), TOFT_OK);
  shared_all_back(&c);
}

static void bad_options(void **state) {
  toft_options arenas = TOFT_OPTIONS;
  toft_lease_options o = TOFT_LEASE_OPTIONS;
  char buffer[5000];
  (void)state;
  o.size = 1;
  assert_null(toft_leases_create(&o));
  o.size = sizeof o;
  o.idle = 65537;
  assert_null(toft_leases_create(&o));
  o.idle = 1;
  o.arenas = &arenas;
  arenas.buffer = buffer;
  arenas.buffer_size = sizeof buffer;
  assert_null(toft_leases_create(&o));
  arenas.buffer = NULL;
  arenas.flags = 0x4000;
  assert_null(toft_leases_create(&o));
  arenas.flags = 0;
  o.size = 2 * sizeof(void *); /* an older caller's */
  toft_leases *l = toft_leases_create(&o);
  assert_non_null(l);
  assert_int_equal(toft_leases_release(l), TOFT_OK);
}

/* The source fails at the k-th block: each lease can still be returned, and all blocks come back. */
static void no_memory(void **state) {
  (void)state;
  for (size_t k = 1, failed = 1; failed; k++) {
    shared_source c;
    toft_options arenas = TOFT_OPTIONS;
    toft_lease_options o = TOFT_LEASE_OPTIONS;
    arenas.source = shared_init(&c);
    o.arenas = &arenas;
    o.idle = 3;
    c.inner.fail_at = k;
    toft_leases *l = toft_leases_create(&o);
    failed = l == NULL;
    for (int round = 0; l != NULL && round < 3; round++) {
      toft_lease a[5];
      for (int i = 0; i < 5; i++) {
        a[i] = toft_lease_get(l);
        failed |= a[i].arena == NULL;
        for (int n = 0; a[i].arena != NULL && n < 3; n++) failed |= toft_alloc(a[i].arena, 3000) == NULL;
      }
      for (int i = 0; i < 5; i++) assert_int_equal(toft_lease_return(l, a[i]), a[i].arena ? TOFT_OK : TOFT_EARG);
      assert_int_equal(toft_leases_get_stats(l).leased, 0);
    }
    if (l != NULL) assert_int_equal(toft_leases_release(l), TOFT_OK);
    shared_all_back(&c);
  }
}

static int corrupt;
static void reported(void *arg, toft_arena *a, size_t size, size_t align, int code) {
  (void)a, (void)size, (void)align;
  if (code == TOFT_ECORRUPT) ++*(int *)arg;
}

static void checked_leases_see_late_writes(void **state) {
  toft_options arenas = TOFT_OPTIONS;
  toft_lease_options o = TOFT_LEASE_OPTIONS;
  (void)state;
  arenas.flags = TOFT_CHECKED;
  arenas.failure = reported;
  arenas.failure_arg = &corrupt;
  o.arenas = &arenas;
  toft_leases *l = toft_leases_create(&o);
  toft_lease a = toft_lease_get(l);
  unsigned char *p = (unsigned char *)toft_alloc(a.arena, 40);
  assert_int_equal(toft_lease_return(l, a), TOFT_OK);
  assert_true(holds_wrongly(p + 17, 1, 0xDD));
  toft_lease b = toft_lease_get(l);
  assert_true(b.arena == a.arena && corrupt == 0);
  assert_int_equal(toft_lease_return(l, b), TOFT_OK);
  write_wrongly(p, 17); /* after the return */
  b = toft_lease_get(l);
  assert_true(b.arena == a.arena && corrupt == 1);
  p = (unsigned char *)toft_alloc(b.arena, 40);
  write_wrongly(p, 40); /* past its end */
  assert_int_equal(toft_lease_return(l, b), TOFT_ECORRUPT);
  assert_int_equal(corrupt, 2);
  assert_int_equal(toft_leases_release(l), TOFT_OK);
}

/* Settings of a lease end with the lease. */
static void a_lease_is_metered_separately(void **state) {
  char text[4096];
  (void)state;
  toft_leases *l = toft_leases_create(NULL);
  toft_lease a = toft_lease_get(l);
  assert_int_equal(toft_set_metered(a.arena, 1), TOFT_OK);
  assert_int_equal(toft_tag_push(a.arena, "names"), TOFT_OK);
  assert_non_null(toft_alloc(a.arena, 1000));
  toft_tag_pop(a.arena);
  assert_true(toft_snapshot_text(a.arena, NULL, text, sizeof text) < sizeof text);
  assert_non_null(strstr(text, "\"names\""));
  assert_int_equal(toft_lease_return(l, a), TOFT_OK);
  toft_lease b = toft_lease_get(l);
  assert_true(b.arena == a.arena);
  assert_true(toft_snapshot_text(b.arena, NULL, text, sizeof text) < sizeof text);
  assert_null(strstr(text, "names"));
  assert_int_equal(b.arena->epoch & 1, 0);
  assert_int_equal(toft_lease_return(l, b), TOFT_OK);
  assert_int_equal(toft_leases_release(l), TOFT_OK);
}

static void sampling_leaves_nothing(void **state) {
  ptrdiff_t remaining = 0;
  (void)state;
  toft_leases *l = toft_leases_create(NULL);
  for (int i = 0; i < 4; i++) {
    toft_lease a = toft_lease_get(l);
    if (i == 0) remaining = a.arena->limit - a.arena->cursor;
    assert_int_equal(a.arena->limit - a.arena->cursor, remaining);
    if (i == 1) assert_int_equal(toft_set_sampling(a.arena, 64), TOFT_OK);
    for (int k = 0; k < 10; k++) assert_non_null(toft_alloc(a.arena, 100));
    assert_int_equal(toft_lease_return(l, a), TOFT_OK);
  }
  assert_int_equal(toft_leases_release(l), TOFT_OK);
}

/* ---- threads ---- */

static void *return_checked(void *arg) {
  return (void *)(uintptr_t)(toft_lease_return(NULL, *(toft_lease *)arg) == TOFT_OK);
}

static void a_pin_ends_with_the_lease(void **state) {
  (void)state;
  toft_lease a = toft_lease_get(NULL);
  assert_int_equal(toft_set_checked(a.arena, 1), TOFT_OK);
  assert_int_equal(toft_pin(a.arena, 1), TOFT_OK);
  assert_non_null(toft_alloc(a.arena, 100));
  assert_int_equal(in_thread(return_checked, &a), 1);
  toft_lease b = toft_lease_get(NULL);
  assert_int_equal(toft_get_stats(b.arena).live, 0);
  assert_int_equal(toft_lease_return(NULL, b), TOFT_OK);
  toft_leases_trim(NULL);
}

/* Idle arenas stay reserved for their threads; otherwise as many more could be idle. */
static void a_refused_release_changes_nothing(void **state) {
  toft_lease_options o = TOFT_LEASE_OPTIONS;
  toft_lease a[3];
  (void)state;
  o.idle = 2;
  toft_leases *l = toft_leases_create(&o);
  for (int i = 0; i < 3; i++) a[i] = toft_lease_get(l);
  for (int i = 0; i < 2; i++) assert_int_equal(toft_lease_return(l, a[i]), TOFT_OK);
  assert_int_equal(toft_leases_release(l), TOFT_EBUSY);
  assert_int_equal(toft_lease_return(l, a[2]), TOFT_OK);
  assert_int_equal(toft_leases_get_stats(l).idle, 2);
  assert_int_equal(toft_leases_release(l), TOFT_OK);
}

static void *return_all(void *arg) {
  toft_lease *a = (toft_lease *)arg;
  size_t good = 0;
  for (int i = 0; i < 10; i++) good += toft_lease_return(NULL, a[i]) == TOFT_OK;
  return (void *)(uintptr_t)good;
}

static void returned_elsewhere(void **state) {
  toft_lease a[10];
  (void)state;
  for (int round = 0; round < 20; round++) {
    for (unsigned i = 0; i < 10; i++) {
      a[i] = toft_lease_get(NULL);
      fill(toft_alloc(a[i].arena, 200), 200, i);
    }
    assert_int_equal(in_thread(return_all, a), 10);
    for (int i = 0; i < 10; i++) assert_int_equal(toft_lease_return(NULL, a[i]), TOFT_EBUSY);
    assert_int_equal(in_thread(return_all, a), 0);
  }
  toft_leases_trim(NULL);
  toft_lease_stats s = toft_leases_get_stats(NULL);
  assert_true(s.leased == 0 && s.idle == 0 && s.kept == 0);
}

/* A waiting thread with an idle arena reserved for it. */
static struct parked {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int phase;
  toft_leases *leases;
} parked;

static void parked_until(int phase) {
  pthread_mutex_lock(&parked.lock);
  while (parked.phase < phase) pthread_cond_wait(&parked.changed, &parked.lock);
  pthread_mutex_unlock(&parked.lock);
}
static void parked_at(int phase) {
  pthread_mutex_lock(&parked.lock);
  parked.phase = phase;
  pthread_cond_broadcast(&parked.changed);
  pthread_mutex_unlock(&parked.lock);
}
static void *park(void *arg) {
  (void)arg;
  toft_lease a = toft_lease_get(parked.leases);
  size_t bad = toft_alloc(a.arena, 10000) == NULL;
  bad += toft_lease_return(parked.leases, a) != TOFT_OK;
  parked_at(1);
  parked_until(2);
  a = toft_lease_get(parked.leases); /* its slot was revoked */
  bad += toft_alloc(a.arena, 10000) == NULL;
  bad += toft_lease_return(parked.leases, a) != TOFT_OK;
  return (void *)(uintptr_t)bad;
}

static void trim_reaches_a_parked_thread(void **state) {
  shared_source c;
  pthread_t t;
  void *bad;
  (void)state;
  parked.leases = leases_on(shared_init(&c), 8);
  pthread_mutex_init(&parked.lock, NULL);
  pthread_cond_init(&parked.changed, NULL);
  assert_int_equal(pthread_create(&t, NULL, park, NULL), 0);
  parked_until(1);
  assert_true(c.inner.bytes > 10000);
  assert_int_equal(toft_leases_get_stats(parked.leases).idle, 1);
  toft_leases_trim(parked.leases);
  assert_int_equal(c.inner.bytes, 0);
  parked_at(2);
  pthread_join(t, &bad);
  assert_null(bad);
  toft_lease_stats s = toft_leases_get_stats(parked.leases); /* the arena reserved for the thread is available to all */
  assert_true(s.created == 2 && s.idle == 1 && c.inner.bytes == s.kept);
  toft_lease a = toft_lease_get(parked.leases);
  assert_int_equal(toft_leases_get_stats(parked.leases).created, 2);
  assert_int_equal(toft_lease_return(parked.leases, a), TOFT_OK);
  assert_int_equal(toft_leases_release(parked.leases), TOFT_OK);
  pthread_mutex_destroy(&parked.lock);
  pthread_cond_destroy(&parked.changed);
  shared_all_back(&c);
}

static void *lease_once(void *leases) {
  toft_lease a = toft_lease_get((toft_leases *)leases);
  if (a.arena == NULL || toft_alloc(a.arena, 5000) == NULL) return NULL;
  return (void *)(uintptr_t)(toft_lease_return((toft_leases *)leases, a) == TOFT_OK);
}

static void many_threads_come_and_go(void **state) {
  shared_source c;
  toft_leases *l = leases_on(shared_init(&c), 8);
  (void)state;
  for (int i = 0; i < (long_run() ? 10000 : 300); i++) assert_int_equal(in_thread(lease_once, l), 1);
  assert_int_equal(toft_leases_get_stats(l).created, 1);
  assert_int_equal(toft_leases_release(l), TOFT_OK);
  shared_all_back(&c);
}

/* Two caches; one is released before its threads end. */
static void *outlive(void *arg) {
  size_t good = (size_t)(uintptr_t)lease_once(parked.leases);
  (void)arg;
  parked_at(1);
  parked_until(2);
  toft_leases *again = toft_leases_create(NULL); /* perhaps where the other one was */
  good += (size_t)(uintptr_t)lease_once(again);
  good += (size_t)(uintptr_t)lease_once(again);
  return (void *)(uintptr_t)(good + (toft_leases_release(again) == TOFT_OK));
}

static void a_cache_ends_before_its_threads(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++) {
    pthread_t t;
    void *good;
    parked.phase = 0;
    parked.leases = toft_leases_create(NULL);
    pthread_mutex_init(&parked.lock, NULL);
    pthread_cond_init(&parked.changed, NULL);
    assert_int_equal(pthread_create(&t, NULL, outlive, NULL), 0);
    parked_until(1);
    assert_int_equal(toft_leases_release(parked.leases), TOFT_OK);
    parked_at(2);
    pthread_join(t, &good);
    assert_int_equal((uintptr_t)good, 4);
    pthread_mutex_destroy(&parked.lock);
    pthread_cond_destroy(&parked.changed);
  }
}

#if !defined(_WIN32) && !defined(__APPLE__)
/* All return the same lease at once: one of them does. */
static struct race {
  toft_leases *leases;
  pthread_barrier_t *gate;
  toft_lease lease;
  size_t won, refused, rounds;
} race;

static void *racer(void *arg) {
  int leads = arg != NULL;
  for (size_t i = 0; i < race.rounds; i++) {
    if (leads) {
      race.lease = toft_lease_get(race.leases);
      if (race.lease.arena == NULL || toft_alloc(race.lease.arena, i % 5000) == NULL) abort();
    }
    pthread_barrier_wait(race.gate);
    int code = toft_lease_return(race.leases, race.lease);
    if (code == TOFT_OK) __atomic_add_fetch(&race.won, 1, __ATOMIC_RELAXED);
    if (code == TOFT_EBUSY) __atomic_add_fetch(&race.refused, 1, __ATOMIC_RELAXED);
    pthread_barrier_wait(race.gate);
  }
  return NULL;
}

static void returns_that_race(void **state) {
  pthread_t threads[3];
  pthread_barrier_t gate;
  (void)state;
  for (size_t idle = 0; idle <= 8; idle += 8) { /* without private slots, and with them */
    pthread_barrier_init(&gate, NULL, 3);
    memset(&race, 0, sizeof race);
    race.leases = leases_on(NULL, idle);
    race.gate = &gate;
    race.rounds = long_run() ? 50000 : 2000;
    for (uintptr_t i = 0; i < 3; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, racer, i == 0 ? &race : NULL), 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    assert_int_equal(race.won, race.rounds);
    assert_int_equal(race.refused, 2 * race.rounds);
    assert_int_equal(toft_leases_get_stats(race.leases).leased, 0);
    assert_int_equal(toft_leases_release(race.leases), TOFT_OK);
    pthread_barrier_destroy(&gate);
  }
}
#endif

/* Leases are passed between threads; some are returned by their thread, some by others, some twice; others trim. */
static struct market {
  toft_leases *leases;
  pthread_mutex_t lock;
  toft_lease slots[16];
  unsigned seeds[16];
  size_t returned;
} market;

static void *trader(void *arg) {
  uint32_t random = (uint32_t)(uintptr_t)arg;
  size_t wrong = 0;
  for (int i = 0; i < (long_run() ? 100000 : 4000); i++) {
    toft_lease mine = toft_lease_get(market.leases);
    if (mine.arena == NULL) return (void *)(uintptr_t)1;
    size_t size = next_random(&random) % 2000, slot = next_random(&random) % 16;
    unsigned seed = next_random(&random) % 1000;
    unsigned char *p = (unsigned char *)toft_alloc(mine.arena, size + 16);
    if (p == NULL) return (void *)(uintptr_t)2;
    memcpy(p, &size, sizeof size);
    memcpy(p + 8, &p, sizeof p);
    fill(p + 16, size, seed);
    if (i % 4 != 0) {
      wrong += !filled(p + 16, size, seed);
      wrong += toft_lease_return(market.leases, mine) != TOFT_OK;
      if (i % 64 == 1) wrong += toft_lease_return(market.leases, mine) != TOFT_EBUSY;
    } else {
      pthread_mutex_lock(&market.lock);
      toft_lease theirs = market.slots[slot];
      unsigned their_seed = market.seeds[slot];
      market.slots[slot] = mine;
      market.seeds[slot] = seed;
      pthread_mutex_unlock(&market.lock);
      if (theirs.arena != NULL) {
        unsigned char *q = theirs.arena->cursor; /* its only allocation ends here */
        size_t all = (size_t)toft_get_stats(theirs.arena).live;
        memcpy(&size, q - all, sizeof size);
        wrong += !filled(q - all + 16, size, their_seed);
        wrong += toft_lease_return(market.leases, theirs) != TOFT_OK;
      }
    }
    if (i % 500 == 7) toft_leases_trim(market.leases);
    if (i % 500 == 9) wrong += toft_leases_get_stats(market.leases).kept > (size_t)1 << 24;
    if (i % 500 == 11) toft_cache_trim();
  }
  return (void *)(uintptr_t)wrong;
}

static void leases_pass_between_threads(void **state) {
  pthread_t threads[THREADS];
  shared_source c;
  (void)state;
  memset(&market, 0, sizeof market);
  market.leases = leases_on(shared_init(&c), 10);
  pthread_mutex_init(&market.lock, NULL);
  for (uintptr_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, trader, (void *)(i + 1)), 0);
  for (int i = 0; i < THREADS; i++) {
    void *wrong;
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
  for (int i = 0; i < 16; i++)
    if (market.slots[i].arena != NULL) assert_int_equal(toft_lease_return(market.leases, market.slots[i]), TOFT_OK);
  toft_lease_stats s = toft_leases_get_stats(market.leases);
  assert_true(s.leased == 0 && s.idle <= 10 && s.created == s.released + s.idle);
  assert_int_equal(s.kept, c.inner.bytes);
  assert_int_equal(toft_leases_release(market.leases), TOFT_OK);
  pthread_mutex_destroy(&market.lock);
  shared_all_back(&c);
}

/* ---- fork ---- */

#ifndef _WIN32
static int in_the_child(toft_leases *l, toft_lease held) {
  toft_lease_stats s = toft_leases_get_stats(l);
  if (s.leased != 2) return 2; /* held, and that of the waiting thread */
  if (toft_lease_return(l, held) != TOFT_OK || toft_lease_return(l, held) != TOFT_EBUSY) return 3;
  for (int i = 0; i < 100; i++) {
    toft_lease a = toft_lease_get(l), b = toft_lease_get(l);
    if (a.arena == NULL || b.arena == NULL || toft_alloc(a.arena, 5000) == NULL) return 4;
    if (toft_lease_return(l, b) != TOFT_OK || toft_lease_return(l, a) != TOFT_OK) return 5;
  }
  toft_leases_trim(l);
  s = toft_leases_get_stats(l);
  return s.idle == 0 && s.leased == 1 && toft_leases_release(l) == TOFT_EBUSY ? 0 : 6;
}

static void *hold_one(void *arg) {
  toft_lease *mine = (toft_lease *)arg;
  toft_lease waits = toft_lease_get(parked.leases);
  *mine = toft_lease_get(parked.leases);
  size_t bad = toft_lease_return(parked.leases, waits) != TOFT_OK;
  parked_at(1);
  parked_until(2);
  return (void *)(uintptr_t)(bad + (toft_lease_return(parked.leases, *mine) != TOFT_OK));
}

static void a_child_goes_on(void **state) {
  pthread_t t;
  toft_lease theirs;
  void *bad;
  int status = 0;
  (void)state;
  parked.phase = 0;
  parked.leases = toft_leases_create(NULL);
  pthread_mutex_init(&parked.lock, NULL);
  pthread_cond_init(&parked.changed, NULL);
  toft_lease held = toft_lease_get(parked.leases);
  assert_int_equal(pthread_create(&t, NULL, hold_one, &theirs), 0);
  parked_until(1);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    int code = in_the_child(parked.leases, held);
    if (code == 0) raise(SIGKILL); /* the other thread's memory is lost here: no leak check */
    _exit(code);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 0, 0);
  assert_int_equal(toft_lease_return(parked.leases, held), TOFT_OK);
  parked_at(2);
  pthread_join(t, &bad);
  assert_null(bad);
  assert_int_equal(toft_leases_release(parked.leases), TOFT_OK);
  pthread_mutex_destroy(&parked.lock);
  pthread_cond_destroy(&parked.changed);
}

static void wait_for_the_fork(void *arg) {
  (void)arg;
  parked_at(1);
  parked_until(2);
}

static void *return_slowly(void *leases) {
  toft_lease a = toft_lease_get((toft_leases *)leases);
  size_t bad = toft_cleanup_add(a.arena, wait_for_the_fork, NULL) == NULL;
  return (void *)(uintptr_t)(bad + (toft_lease_return((toft_leases *)leases, a) != TOFT_OK));
}

static void a_child_does_not_get_what_is_half_returned(void **state) {
  pthread_t t;
  void *bad;
  int status = 0;
  (void)state;
  parked.phase = 0;
  pthread_mutex_init(&parked.lock, NULL);
  pthread_cond_init(&parked.changed, NULL);
  toft_leases *l = toft_leases_create(NULL);
  assert_int_equal(pthread_create(&t, NULL, return_slowly, l), 0);
  parked_until(1);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    if (lease_once(l) == NULL) _exit(1);
    toft_leases_trim(l);
    toft_lease_stats s = toft_leases_get_stats(l);
    if (s.idle != 0 || s.leased != 1 || toft_leases_release(l) != TOFT_EBUSY) _exit(2);
    raise(SIGKILL);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 0, 0);
  parked_at(2);
  pthread_join(t, &bad);
  assert_null(bad);
  assert_int_equal(toft_leases_release(l), TOFT_OK);
  pthread_mutex_destroy(&parked.lock);
  pthread_cond_destroy(&parked.changed);
}

#if defined(__linux__)
/* A child that exits while one of its threads, whose state was released, is in the middle of a return. */
static pthread_key_t late_key;
static pthread_t late_thread;
static int lingers;

static void return_late(void *arg) {
  (void)arg;
  (void)return_slowly(NULL);
}
static void *return_at_the_end(void *arg) {
  void *good = lease_once(NULL); /* registers the library's destructor first */
  (void)arg;
  pthread_setspecific(late_key, &late_key);
  return good;
}

/* Runs after our own destructor. */
__attribute__((destructor(101))) static void linger(void) {
  if (!lingers) return;
  parked_at(2);
  pthread_join(late_thread, NULL);
  toft_lease a = toft_lease_get(NULL), b = toft_lease_get(NULL);
  if (toft_lease_return(NULL, a) != TOFT_OK || toft_lease_return(NULL, b) != TOFT_OK) _exit(1);
  raise(SIGKILL);
}

static void a_return_goes_on_at_exit(void **state) {
  int status = 0;
  (void)state;
  parked.phase = 0;
  pthread_mutex_init(&parked.lock, NULL);
  pthread_cond_init(&parked.changed, NULL);
  assert_non_null(lease_once(NULL));
  assert_int_equal(pthread_key_create(&late_key, return_late), 0);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    lingers = 1;
    if (pthread_create(&late_thread, NULL, return_at_the_end, NULL) != 0) _exit(2);
    parked_until(1);
    exit(3);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 0, 0);
  pthread_key_delete(late_key);
  toft_leases_trim(NULL);
  pthread_mutex_destroy(&parked.lock);
  pthread_cond_destroy(&parked.changed);
}
#endif

/* While other threads lease and return. */
static size_t stop_churning;
static void *churn(void *leases) {
  while (!__atomic_load_n(&stop_churning, __ATOMIC_RELAXED))
    if (lease_once(leases) == NULL) return leases;
  return NULL;
}

static void forks_among_leases(void **state) {
  pthread_t threads[3];
  (void)state;
  skip_where_forks_among_threads_stop();
  toft_leases *l = toft_leases_create(NULL);
  stop_churning = 0;
  for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, churn, l), 0);
  for (int i = 0; i < 50; i++) {
    int status = fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
      for (int k = 0; k < 50; k++)
        if (lease_once(l) == NULL) _exit(1);
      toft_leases_trim(l);
      raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
  }
  __atomic_store_n(&stop_churning, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 3; i++) {
    void *bad;
    pthread_join(threads[i], &bad);
    assert_null(bad);
  }
  assert_int_equal(toft_leases_release(l), TOFT_OK);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_same_arena_again),
    cmocka_unit_test(marks_do_not_outlive_a_lease),
    cmocka_unit_test(a_second_return_is_refused),
    cmocka_unit_test(a_returned_arena_is_sealed),
    cmocka_unit_test(a_claimed_lease_stays_out),
    cmocka_unit_test(settings_end_with_their_lease),
    cmocka_unit_test(cleanups_run_at_the_return),
    cmocka_unit_test(a_cleanup_trims_the_threads_cache),
    cmocka_unit_test(a_source_trims_the_threads_cache),
    cmocka_unit_test(a_source_leases_while_a_thread_ends),
    cmocka_unit_test(a_cache_stays_while_a_call_is_in_it),
    cmocka_unit_test(several_at_a_time_and_two_caches),
    cmocka_unit_test(bytes_are_bounded),
    cmocka_unit_test(memory_is_kept_and_forgotten),
    cmocka_unit_test(bad_options),
    cmocka_unit_test(no_memory),
    cmocka_unit_test(checked_leases_see_late_writes),
    cmocka_unit_test(a_lease_is_metered_separately),
    cmocka_unit_test(sampling_leaves_nothing),
    cmocka_unit_test(a_pin_ends_with_the_lease),
    cmocka_unit_test(a_refused_release_changes_nothing),
    cmocka_unit_test(returned_elsewhere),
    cmocka_unit_test(trim_reaches_a_parked_thread),
    cmocka_unit_test(many_threads_come_and_go),
    cmocka_unit_test(a_cache_ends_before_its_threads),
#if !defined(_WIN32) && !defined(__APPLE__)
    cmocka_unit_test(returns_that_race),
#endif
    cmocka_unit_test(leases_pass_between_threads),
#ifndef _WIN32
    cmocka_unit_test(a_child_goes_on),
    cmocka_unit_test(a_child_does_not_get_what_is_half_returned),
#if defined(__linux__)
    cmocka_unit_test(a_return_goes_on_at_exit),
#endif
    cmocka_unit_test(forks_among_leases),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
