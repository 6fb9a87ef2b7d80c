/* Idle memory of a process: one allowance for all recyclers and the cache of pages, and its return by calls of others.
 * The program contains the library, to call its static functions and to end windows.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_STATIC
#include <pthread.h>

#include "toft.c"

#include "support.h"

#if defined(TOFT_OMIT_PAGE_CACHE) || defined(TOFT_OMIT_RECYCLER)
int main(void) { return 77; }
#else

enum { HEAPS = 500, OBJECTS = 3000, BURST = 3 << 20 };
static toft_malloc heaps[HEAPS];
static void *many[OBJECTS];

static size_t process_idle(void) {
  (void)toft_account_flush(0);
  return toft_account_idle() + toft_page_cache_bytes();
}

static void burst(toft_malloc *m, size_t kept) {
  for (size_t i = 0; i < OBJECTS; i++) assert_non_null(many[i] = toft_malloc_alloc(m, 1000));
  for (size_t i = kept; i < OBJECTS; i++) toft_malloc_free(m, many[i]);
}

/* A burst in one heap after the other, whose objects are freed, but for `kept` of each: idle memory stays below the use
 * of one burst and the margin, however many heaps there are. */
static void bursts_in_many_heaps(size_t kept) {
  size_t window = toft_page_cache_window(1000000);
  toft_cache_trim();
  memset(&toft_account.peak, 0, sizeof toft_account.peak);
  for (size_t i = 0; i < HEAPS; i++) {
    toft_malloc_init(&heaps[i], NULL);
    burst(&heaps[i], kept);
  }
  size_t peak = toft_account_peak(); /* a slab without objects counts as used */
  assert_in_range(peak, BURST, 2 * BURST + HEAPS * (kept + 1) * TOFT_RECYCLER_UNIT);
  assert_in_range(process_idle(), 0, 2 * peak + TOFT_ACCOUNT_MARGIN);
  for (size_t i = 0; i < HEAPS; i++) toft_malloc_release(&heaps[i]);
  toft_cache_trim();
  assert_int_equal(process_idle(), 0);
  assert_int_equal(toft_account_sum(&toft_account.used), 0);
  toft_page_cache_window(window);
}

static void many_heaps_share_one_allowance(void **state) {
  (void)state;
  bursts_in_many_heaps(0);
  bursts_in_many_heaps(1); /* pages between objects return, too */
}

static void end_windows(int n) {
  while (n-- > 0) {
    toft_account.began -= toft_page_window();
    (void)toft_account_turn();
  }
}

/* A recycler with much idle memory, which no call uses any more. */
static void make_quiet(toft_recycler *r) {
  static void *p[10000];
  assert_int_equal(toft_recycler_init(r, NULL), TOFT_OK);
  for (size_t i = 0; i < 10000; i++) assert_non_null(p[i] = toft_recycler_alloc(r, i % 100 ? 1000 : 100000, 8));
  for (size_t i = 0; i < 10000; i++)
    if (i % 1000 != 1) toft_recycler_free(r, p[i], i % 100 ? 1000 : 100000);
  assert_true(toft_recycler_idle(r) > 12 << 20);
}

static void use_pages(void) {
  void *p = toft_page_cache_take(TOFT_MIB);
  assert_non_null(p);
  toft_page_cache_put(p, TOFT_MIB);
}
static void use_blocks(void) {
  for (int i = 0; i < TOFT_CACHE_AGE; i++) toft_heap_put(NULL, toft_heap_take(NULL, 8192), 8192);
}
static void use_recycler(void) {
  toft_recycler r;
  assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
  for (int i = 0; i < 100; i++) assert_non_null(toft_recycler_alloc(&r, 30000, 8));
  toft_recycler_release(&r);
}

/* Each kind of call returns the idle pages of a quiet recycler, after two windows and not before. */
static void calls_of_others_return_idle_pages(void **state) {
  (void)state;
  static void (*const calls[])(void) = {use_pages, use_blocks, use_recycler, toft_page_cache_age};
  size_t window = toft_page_cache_window(1000000);
  if (!toft_fence_is_asymmetric()) skip();
  for (size_t k = 0; k < 4; k++) {
    toft_recycler quiet;
    make_quiet(&quiet);
    size_t idle = toft_recycler_idle(&quiet);
    end_windows(1);
    calls[k]();
    assert_int_equal(toft_recycler_idle(&quiet), idle); /* toft_recycler_idle counts as a use */
    end_windows(3);
    calls[k]();
    assert_in_range(toft_recycler_idle(&quiet), 0, idle / 2);
    toft_recycler_release(&quiet);
  }
  toft_page_cache_window(window);
}

static void one_call_returns_all(void **state) {
  (void)state;
  toft_recycler quiet;
  if (!toft_fence_is_asymmetric()) skip();
  make_quiet(&quiet);
  toft_cache_trim();
  assert_in_range(toft_recycler_idle(&quiet), 0, 512 * 1024); /* units with the headers of segments */
  assert_int_equal(toft_page_cache_bytes(), 0);
  void *p = toft_recycler_alloc(&quiet, 1000, 8); /* the pages come back */
  assert_non_null(memset(p, 1, 1000));
  toft_recycler_release(&quiet);
}

/* The pages behind the last block of a region return when the process has a surplus, also after a restore. */
static void regions_share_the_allowance(void **state) {
  (void)state;
  size_t window = toft_page_cache_window(1000000);
  toft_region *r = toft_region_create(NULL);
  assert_non_null(r);
  toft_arena *a = toft_region_arena(r);
  assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
  for (int round = 0; round < 2; round++) {
    assert_non_null(toft_alloc(a, 40 << 20));
    assert_int_equal(r->control->used + r->control->resident, 2 * (size_t)(r->top - r->base));
    if (round == 0) assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
    if (round == 1) toft_reset_keep(a, TOFT_KEEP_BYTES, 0);
    assert_true(r->control->resident - r->control->used >= 40 << 20);
  }
  end_windows(3);
  toft_release(toft_region_arena(r)); /* returns a block */
  assert_int_equal(r->control->resident, r->control->used);
  toft_region_release(r);
  assert_int_equal(process_idle() - toft_page_cache_bytes(), 0);
  toft_page_cache_window(window);
}

/* A recycler with an object has one page of a unit, and the unit returns with it. */
static void a_small_recycler_writes_one_page(void **state) {
  (void)state;
  toft_recycler r;
  assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
  unsigned char *p = (unsigned char *)toft_recycler_alloc(&r, 1000, 8);
  memset(p, 1, 1000);
  assert_true(r.segments->is_unit && r.segments->size == TOFT_UNIT);
  assert_ptr_equal(toft_recycler_unit_base(p) + 7 * TOFT_RECYCLER_PAGE, (uintptr_t)p & ~(TOFT_RECYCLER_PAGE - 1));
  toft_recycler_release(&r);
  toft_cache_trim();
  assert_null(toft_chunks);
}

/* Units of several chunks, in the cache of a thread and in chunks. */
static void units_are_apart(void **state) {
  (void)state;
  enum { UNITS = 200 };
  static unsigned char *units[UNITS];
  uint32_t random = 3;
  size_t limit = toft_cache_limit(20 * TOFT_UNIT);
  for (int round = 0; round < 2000; round++) {
    size_t i = next_random(&random) % UNITS;
    if (units[i] != NULL) {
      for (size_t k = 0; k < TOFT_UNIT_RECORD - sizeof(toft_unit_record); k += 512) assert_int_equal(units[i][k], i);
      toft_unit_put(units[i]);
      units[i] = NULL;
    } else {
      assert_non_null(units[i] = toft_unit_take());
      assert_int_equal((uintptr_t)units[i] % TOFT_UNIT, 0);
      memset(units[i], (int)i, TOFT_UNIT_RECORD - sizeof(toft_unit_record));
    }
  }
  for (size_t i = 0; i < UNITS; i++)
    if (units[i] != NULL) toft_unit_put(units[i]);
  toft_cache_limit(limit);
  toft_cache_trim();
  assert_null(toft_chunks);
}

/* One thread discards idle pages while the owner allocates and frees: no object changes. */
static size_t ended; /* atomic */
static void *purge_all(void *unused) {
  (void)unused;
  while (!TOFT_LOAD(&ended)) toft_purge(SIZE_MAX, 1);
  return NULL;
}
static void owners_exclude_the_purge(void **state) {
  (void)state;
  enum { COUNT = 300 };
  static struct {
    unsigned char *p;
    size_t size;
  } objects[COUNT];
  uint32_t random = 5;
  toft_recycler r;
  pthread_t t;
  assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
  assert_int_equal(pthread_create(&t, NULL, purge_all, NULL), 0);
  for (int i = 0; i < 20000; i++) {
    size_t k = next_random(&random) % COUNT;
    if (objects[k].p != NULL) {
      assert_true(objects[k].p[0] == (unsigned char)k && objects[k].p[objects[k].size - 1] == (unsigned char)k);
      toft_recycler_free(&r, objects[k].p, objects[k].size);
    }
    objects[k].size = next_random(&random) % 4 ? 1 + next_random(&random) % 4000 : 20000 + next_random(&random) % 90000;
    assert_non_null(objects[k].p = (unsigned char *)toft_recycler_alloc(&r, objects[k].size, 8));
    objects[k].p[0] = objects[k].p[objects[k].size - 1] = (unsigned char)k;
  }
  TOFT_STORE(&ended, 1);
  assert_int_equal(pthread_join(t, NULL), 0);
  toft_recycler_release(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_heaps_share_one_allowance),
      cmocka_unit_test(calls_of_others_return_idle_pages),
      cmocka_unit_test(one_call_returns_all),
      cmocka_unit_test(regions_share_the_allowance),
      cmocka_unit_test(a_small_recycler_writes_one_page),
      cmocka_unit_test(units_are_apart),
      cmocka_unit_test(owners_exclude_the_purge),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
