/* Retention by recyclers: memory follows the use of the process, by windows of time. The program contains the library,
 * to call its static functions and to end windows.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_STATIC
#include "toft.c"

#include "support.h"

#ifdef TOFT_OMIT_PAGE_CACHE
int main(void) { return 77; }
#else

enum { MANY = 40000 };
static void *many[MANY];

/* Fills 10 MB with objects of all sizes and frees those whose index is no multiple of `kept`. */
static void fill_and_free(toft_recycler *r, size_t kept) {
  for (size_t i = 0; i < MANY; i++) assert_non_null(many[i] = toft_recycler_alloc(r, i % 50 ? i % 300 : i % 7000, 8));
  for (size_t i = 0; i < MANY; i++)
    if (i % kept != 0) toft_recycler_free(r, many[i], i % 50 ? i % 300 : i % 7000);
}

static void free_the_rest(toft_recycler *r, size_t kept) {
  for (size_t i = 0; i < MANY; i += kept) toft_recycler_free(r, many[i], i % 50 ? i % 300 : i % 7000);
}

static size_t idle_of(toft_recycler *r) { return toft_recycler_idle(r); }

/* A window ends at the next call. */
static void end_window(void) { toft_account.began -= toft_page_window(); }

/* Large objects come and go, two windows later: as many as the recycler frees until it reads the clock again. */
static void use_later(toft_recycler *r) {
  for (int i = 0; i < 3; i++) {
    end_window();
    toft_account.surplus_since -= toft_page_window(); /* where there is one */
    for (int k = 0; k < TOFT_RECYCLER_LOOKS; k++) toft_recycler_free(r, toft_recycler_alloc(r, 20000, 8), 20000);
  }
}

/* After a peak of use the memory returns without a call of trim; before that it stays. */
static void memory_follows_use(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  size_t window = toft_page_cache_window(1000000);
  o.source = counted_init(&c);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
  fill_and_free(&r, MANY);
  free_the_rest(&r, MANY);
  size_t peak = c.bytes;
  assert_true(peak > 5 << 20);
  fill_and_free(&r, MANY);
  free_the_rest(&r, MANY);
  assert_int_equal(c.bytes, peak); /* used again */
  use_later(&r);
  assert_true(c.bytes < peak / 2);
  toft_page_cache_window(window);
  toft_recycler_release(&r);
  counted_all_back(&c);
}

/* Idle memory between objects, which cannot return, is searched once in a window: a call that follows keeps the empty
 * slab of another class. */
static void what_cannot_return_is_searched_once(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  size_t window = toft_page_cache_window(1000000);
  o.source = counted_init(&c);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
  fill_and_free(&r, 1000);
  use_later(&r);
  toft_recycler_free(&r, toft_recycler_alloc(&r, 20000, 8), 20000);
  assert_true(toft_account_exceeds() && idle_of(&r) > 2 << 20); /* there is a surplus */
  size_t k, bytes;
  assert_true(toft_recycler_classify(2500, &k, &bytes)); /* a class without live objects */
  toft_recycler_free(&r, toft_recycler_alloc(&r, 2500, 8), 2500);
  const toft_recycler_slab *slab = r.current[k];
  assert_int_equal(slab->bytes, bytes);
  toft_recycler_free(&r, toft_recycler_alloc(&r, 20000, 8), 20000);
  assert_ptr_equal(r.current[k], slab);
  free_the_rest(&r, 1000);
  toft_page_cache_window(window);
  toft_recycler_release(&r);
  counted_all_back(&c);
}

/* So do the idle pages of segments with a few objects, where the source gives pages. */
static void pages_follow_use(void **state) {
  (void)state;
  toft_recycler r;
  size_t window = toft_page_cache_window(1000000);
  assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
  fill_and_free(&r, 500);
  size_t idle = idle_of(&r), reserved = r.reserved;
  assert_true(idle > 2 << 20);
  use_later(&r);
  assert_true(idle_of(&r) < idle / 4);
  assert_true(r.reserved > reserved / 4); /* the addresses stay, as far as segments have objects */
  for (size_t i = 0; i < MANY; i += 500) memset(many[i], 1, i % 50 ? i % 300 : i % 7000);
  free_the_rest(&r, 500);
  fill_and_free(&r, 2); /* the pages come back */
  toft_page_cache_window(window);
  toft_recycler_release(&r);
}

/* Early in a window a free returns no block and no page between objects: they are used again soon. Sizes change while
 * the bytes in use do not, so that ever more memory is idle. */
static void a_surplus_stays_for_a_part_of_a_window(void **state) {
  (void)state;
  enum { COUNT = 2000, LIVE = 24 << 20 };
  static const size_t least[] = {16200, 100000, 30000, 400000, 20000};
  static void *p[COUNT];
  static size_t sizes[COUNT];
  size_t window = toft_page_cache_window(1000000), live = 0, count = 0, surplus = 0;
  uint32_t random = 7;
  toft_recycler r;
  assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
  for (int i = 0; i < 4000; i++) {
    size_t size = least[i / 400 % 5];
    size += next_random(&random) % size;
    while (live + size > LIVE) {
      size_t k = next_random(&random) % count--, idle = idle_of(&r), reserved = r.reserved;
      toft_recycler_free(&r, p[k], sizes[k]);
      assert_true(idle_of(&r) > idle && r.reserved == reserved);
      surplus = toft_max(surplus, idle_of(&r));
      live -= sizes[k];
      p[k] = p[count];
      sizes[k] = sizes[count];
    }
    assert_non_null(p[count] = toft_recycler_alloc(&r, size, 8));
    sizes[count++] = size;
    live += size;
  }
  assert_true(surplus > LIVE / 4); /* more than is kept beyond the peak of use */
  toft_page_cache_window(window);
  toft_recycler_release(&r);
}

/* One free of a large object in TOFT_RECYCLER_LOOKS reads the clock, which takes as long as the free. */
static void the_clock_is_read_rarely(void **state) {
  (void)state;
  enum { SIZE = 300000, COUNT = 10 * TOFT_RECYCLER_LOOKS };
  toft_recycler r;
  size_t window = toft_page_cache_window(1000000);
  assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
  for (int i = 0; i < 2; i++) toft_recycler_free(&r, toft_recycler_alloc(&r, SIZE, 8), SIZE);
  size_t began = toft_account.window;
  for (int i = 0; i < COUNT; i++) {
    end_window(); /* each reading begins a window */
    toft_recycler_free(&r, toft_recycler_alloc(&r, SIZE, 8), SIZE);
  }
  assert_in_range(toft_account.window - began, 9, 12);
  toft_page_cache_window(window);
  toft_recycler_release(&r);
}

/* Memory of options.count is in use until the release, so that other blocks do not return because of it. */
static void counted_memory_is_no_surplus(void **state) {
  (void)state;
  enum { SIZE = 100000 };
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  size_t window = toft_page_cache_window(1000000);
  o.source = counted_init(&c);
  o.count = 1000;
  o.block_size = 30000;
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
  assert_int_equal(idle_of(&r), 0);
  size_t bytes = c.bytes, takes = c.takes;
  for (int i = 0; i < 100; i++) toft_recycler_free(&r, toft_recycler_alloc(&r, SIZE, 8), SIZE);
  assert_int_equal(c.takes, takes + 1);
  use_later(&r);
  toft_recycler_trim(&r, 0);
  assert_int_equal(c.bytes, bytes);
  toft_page_cache_window(window);
  toft_recycler_release(&r);
  counted_all_back(&c);
}

/* The cache of pages keeps blocks that a release returns in the same window, also if a part of them was idle. */
static void released_blocks_are_taken_again(void **state) {
  (void)state;
  enum { COUNT = 100, SIZE = 100000 };
  static void *p[COUNT];
  toft_recycler r;
  size_t window = toft_page_cache_window(1000000);
  for (int i = 0; i < 2; i++) { /* the peaks of other tests have no effect */
    end_window();
    toft_page_cache_age();
  }
  assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
  fill_and_free(&r, 500);
  for (int i = 0; i < COUNT; i++) assert_non_null(p[i] = toft_recycler_alloc(&r, SIZE, 8));
  assert_true(idle_of(&r) > 5 << 20);
  size_t reserved = r.reserved, cached = toft_page_cache_bytes();
  toft_recycler_release(&r);
  assert_true(toft_page_cache_bytes() > cached + reserved - (2 << 20)); /* blocks below 1 MiB are in other caches */
  toft_page_cache_window(window);
}

static void one_of_many_grows_slowly(void **state) {
  (void)state;
  for (int k = 0; k < 4; k++) { /* slabs, then large objects */
    toft_recycler r;
    size_t held = toft_account.held, size = k < 2 ? 40 : 40000, before = k % 2 ? 8 << 20 : 0;
    toft_account.held = before;
    assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
    for (size_t bytes = 0; bytes < 240000; bytes += size) assert_non_null(toft_recycler_alloc(&r, size, 8));
    assert_true((toft_recycler_get_stats(&r).reserved > 2 << 20) == (before == 0));
    toft_recycler_release(&r);
    toft_account.held += held - before;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_follows_use),
      cmocka_unit_test(what_cannot_return_is_searched_once),
      cmocka_unit_test(pages_follow_use),
      cmocka_unit_test(a_surplus_stays_for_a_part_of_a_window),
      cmocka_unit_test(the_clock_is_read_rarely),
      cmocka_unit_test(counted_memory_is_no_surplus),
      cmocka_unit_test(released_blocks_are_taken_again),
      cmocka_unit_test(one_of_many_grows_slowly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
