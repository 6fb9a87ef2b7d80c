/* The thread's cache: what it keeps, that it is bounded, that it goes when its thread does. Under TSan too.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>

#include "support.h"

static void release_feeds_create(void **state) {
  (void)state;
  toft_cache_trim();
  assert_int_equal(toft_cache_bytes(), 0);
  toft_arena *a = toft_create();
  assert_non_null(toft_alloc(a, 100));
  toft_release(a);
  assert_int_equal(toft_cache_bytes(), 4096);
  toft_arena *b = toft_create();
  assert_ptr_equal(b, a);
  assert_int_equal(toft_cache_bytes(), 0);
  toft_release(b);
  toft_cache_trim();
  assert_int_equal(toft_cache_bytes(), 0);
}

static void a_cached_arena_is_as_new(void **state) {
  (void)state;
  for (int round = 0; round < 50; round++) {
    toft_arena *a = toft_create();
    toft_stats s = toft_get_stats(a);
    assert_true(s.live == 0 && s.allocated == 0 && s.peak == 0 && s.blocks == 1 && s.budget == UINT64_MAX);
    assert_int_equal(s.reserved, 4096);
    assert_true(!(a->epoch & 1) && a->limit - a->cursor == 3584);
    if (round % 5 == 0) assert_int_equal(toft_set_budget(a, 10), TOFT_OK);
    if (round % 5 == 1) assert_int_equal(toft_set_checked(a, 1), TOFT_OK);
    if (round % 5 == 2) assert_non_null(toft_alloc(a, 100000));
    if (round % 5 == 3) assert_int_equal(toft_reset(a), TOFT_OK);
    if (round % 7 == 0) {
      assert_int_equal(toft_set_budget(a, UINT64_MAX), TOFT_OK);
      for (int i = 0; i < 3; i++) {
        assert_non_null(toft_alloc(a, 300000));
        assert_int_equal(toft_reset(a), TOFT_OK);
      }
    }
    toft_release(a);
  }
}

static void the_cache_is_bounded(void **state) {
  toft_arena *all[64];
  (void)state;
  toft_cache_trim();
  size_t before = toft_cache_limit(100000);
  for (int i = 0; i < 64; i++) {
    all[i] = toft_create();
    for (int k = 0; k < 100; k++) assert_non_null(toft_alloc(all[i], 1000));
  }
  for (int i = 0; i < 64; i++) {
    toft_release(all[i]);
    assert_true(toft_cache_bytes() <= 100000);
  }
  toft_cache_trim();
  assert_int_equal(toft_cache_limit(0), 100000); /* off */
  toft_arena *a = toft_create();
  assert_non_null(toft_alloc(a, 2000000));
  for (int i = 0; i < 20; i++) assert_non_null(toft_alloc(a, 200000)); /* blocks of 1 MiB, without the pair */
  toft_release(a);
  assert_int_equal(toft_cache_bytes(), 0);
  toft_cache_limit(before);
}

static void large_blocks_do_not_displace_small_ones(void **state) {
  (void)state;
  toft_cache_trim();
  for (size_t size = 1 << 20; size <= (size_t)4 << 20; size *= 4) {
    void *large[4];
    for (int i = 0; i < 4; i++) assert_non_null(large[i] = toft_heap()->take(toft_heap(), size));
    for (int i = 0; i < 4; i++) toft_heap()->put(toft_heap(), large[i], size);
    assert_true(toft_cache_bytes() > ((size_t)3 << 20));
    toft_arena *a = toft_create(), *b = toft_create();
    toft_release(a);
    toft_release(b);
    toft_arena *c = toft_create();
    assert_ptr_equal(c, b); /* kept: the second is not fresh from malloc either */
    assert_ptr_equal(toft_create(), a);
    assert_true(toft_cache_bytes() <= (size_t)4 << 20);
    toft_release(a);
    toft_release(c);
    toft_cache_trim();
  }
}

static void blocks_come_back(void **state) {
  (void)state;
  toft_cache_trim();
  for (int round = 0; round < 3; round++) {
    toft_arena *a = toft_create();
    for (int i = 0; i < 1500; i++) assert_non_null(toft_alloc(a, 1000));
    toft_release(a);
    assert_true(toft_cache_bytes() > 1500000 && toft_cache_bytes() <= (size_t)4 << 20);
  }
  toft_cache_trim();
}

static void *worker(void *arg) {
  unsigned seed = (unsigned)(uintptr_t)arg;
  for (unsigned round = 0; round < (long_run() ? 4000u : 400u); round++) {
    toft_arena *a = toft_create();
    for (unsigned i = 0; i < 50; i++) {
      size_t size = (seed + round * i * 31u) % 3000;
      unsigned char *p = (unsigned char *)toft_alloc(a, size);
      if (p == NULL) return (void *)1;
      fill(p, size, seed + i);
      if (!filled(p, size, seed + i)) return (void *)1;
    }
    if (round % 3 == 0) (void)toft_reset(a);
    toft_release(a);
    if (round % 64 == 0) toft_cache_trim();
    if (round % 100 == 0) toft_cache_limit((size_t)(1 + seed % 4) << 20);
  }
  return NULL;
}

static void threads_are_independent(void **state) {
  pthread_t threads[8];
  (void)state;
  for (uintptr_t i = 0; i < 8; i++) assert_int_equal(pthread_create(&threads[i], NULL, worker, (void *)i), 0);
  for (int i = 0; i < 8; i++) {
    void *result;
    pthread_join(threads[i], &result);
    assert_null(result);
  }
}

static toft_arena *handed;
static void *provider(void *arg) {
  (void)arg;
  handed = toft_create();
  fill(toft_alloc(handed, 1000), 1000, 3);
  for (int i = 0; i < 100; i++) (void)!toft_alloc(handed, 1000);
  return NULL;
}

static void an_arena_moves_between_threads(void **state) {
  (void)state;
  for (int i = 0; i < 200; i++) { /* made there, used and released here */
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, provider, NULL), 0);
    pthread_join(t, NULL);
    assert_non_null(toft_alloc(handed, 5000));
    assert_int_equal(toft_reset(handed), TOFT_OK);
    toft_release(handed);
  }
}

/* A destructor of another key may run after ours: what it releases must go to the system, not into a dead cache. */
static pthread_key_t late_key;
static void late(void *arg) {
  toft_arena *a = toft_create();
  if (a != NULL) toft_release(a);
  toft_release((toft_arena *)arg);
}
static void *late_thread(void *arg) {
  (void)arg;
  toft_arena *a = toft_create();
  toft_release(toft_create()); /* registers the library's destructor for this thread */
  pthread_setspecific(late_key, a);
  return NULL;
}

static void destructors_come_in_any_order(void **state) {
  (void)state;
  assert_int_equal(pthread_key_create(&late_key, late), 0);
  for (int i = 0; i < 20; i++) {
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, late_thread, NULL), 0);
    pthread_join(t, NULL);
  }
  pthread_key_delete(late_key);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(release_feeds_create),
      cmocka_unit_test(a_cached_arena_is_as_new),
      cmocka_unit_test(the_cache_is_bounded),
      cmocka_unit_test(large_blocks_do_not_displace_small_ones),
      cmocka_unit_test(blocks_come_back),
      cmocka_unit_test(threads_are_independent),
      cmocka_unit_test(an_arena_moves_between_threads),
      cmocka_unit_test(destructors_come_in_any_order),
  };
  return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
