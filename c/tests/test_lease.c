/* Leases of one thread: kept memory, marks and cleanups, refused calls.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "leases.h"

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
    uint64_t period = 1;
    if (i == 1) assert_int_equal(toft_set_sampling(a.arena, 64), TOFT_OK);
    assert_int_equal(toft_info_of(a.arena)->query(a.arena, TOFT_SET_SAMPLE, &period), TOFT_OK);
    assert_int_equal(period, i == 1 ? 64 : 0);
    for (int k = 0; k < 10; k++) assert_non_null(toft_alloc(a.arena, 100));
    assert_int_equal(toft_lease_return(l, a), TOFT_OK);
  }
  assert_int_equal(toft_leases_release(l), TOFT_OK);
}

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
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
