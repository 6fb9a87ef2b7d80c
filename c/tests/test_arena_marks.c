/* Where the memory of an arena ends: marks and scopes, cleanups, adoption.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "counted_arena.h"

/* ---- marks ---- */

static void rewind_gives_back_the_same_memory(void **state) {
  (void)state;
  char *kept = (char *)toft_alloc(a, 100);
  fill(kept, 100, 3);
  uint64_t live = toft_get_stats(a).live;
  toft_mark m = toft_mark_here(a);
  void *p = toft_alloc(a, 40);
  for (int round = 0; round < 100; round++) {
    assert_int_equal(toft_rewind(a, m), TOFT_OK);
    assert_int_equal(toft_get_stats(a).live, live);
    assert_ptr_equal(toft_alloc(a, 40), p);
    for (int i = 0; i < 50; i++) assert_non_null(toft_alloc(a, 997u * (unsigned)(i + 1)));
  }
  assert_true(filled(kept, 100, 3));
  assert_true(source.peak < (size_t)8 << 20);
}

static void scopes_rewind_however_they_end(void **state) {
  (void)state;
#ifdef TOFT_SCOPE
  void *at = a->cursor;
  {
    TOFT_SCOPE(a);
    assert_non_null(toft_alloc(a, 100));
    TOFT_SCOPE(a);
    assert_non_null(toft_alloc(a, 8));
  }
  assert_ptr_equal(a->cursor, at);
  int turns = 0, ends = 0;
  for (int i = 0; i < 4; i++) { /* break and continue are the caller's loop's */
    assert_ptr_equal(a->cursor, at);
    TOFT_SCOPE(a);
    assert_non_null(toft_alloc(a, 100000));
    turns++;
    if (i == 1) continue;
    if (i == 2) break;
    ends++;
  }
  assert_int_equal(turns, 3);
  assert_int_equal(ends, 1);
  assert_ptr_equal(a->cursor, at);
#endif
}

/* The second arena is made where the first one was; many cleanups raise the epochs far beyond the first. */
static void marks_of_a_released_arena_are_stale(void **state) {
  static unsigned char buffer[8192];
  size_t limit = toft_cache_limit(SIZE_MAX / 4);
  (void)state;
  for (int how = 0; how < 12; how++) {
    int in_buffer = how % 3 == 1, many = how % 2, bumps = how >= 6 ? 70000 : 0;
    if (how % 3 == 2) toft_cache_limit(0); /* the next one comes from malloc, which may have another block */
    toft_arena *one = in_buffer ? toft_create_in(buffer, sizeof buffer, toft_heap()) : toft_create();
    assert_non_null(toft_alloc(one, many ? 100000 : 1000));
    for (int i = 0; i < bumps; i++) assert_non_null(toft_cleanup_add(one, NULL, NULL));
    toft_mark m = toft_mark_here(one);
    toft_release(one);
    toft_arena *two = in_buffer ? toft_create_in(buffer, sizeof buffer, toft_heap()) : toft_create();
    if (how % 3 != 2) assert_ptr_equal(one, two);
    for (int i = 0; i < 70000; i++) { /* as many epochs as the first one had */
      if (i % 1000 == 0) assert_int_equal(toft_rewind(two, m), TOFT_EMARK);
      assert_non_null(toft_cleanup_add(two, NULL, NULL));
    }
    assert_true(toft_get_stats(two).live >= 70000 * sizeof(toft_cleanup));
    toft_release(two);
    toft_cache_limit(SIZE_MAX / 4);
  }
  toft_cache_trim();
  toft_cache_limit(limit);
}

/* An arena that used more epochs than two arenas are apart: the next arena at its address starts behind them. */
static void marks_of_an_arena_with_many_epochs_are_stale(void **state) {
  (void)state;
  uintptr_t first = 0, step = 0; /* step: from one arena to the next */
  for (int i = 0; i < 3; i++) {  /* the first may have been ready before */
    toft_arena *each = toft_create();
    step = each->epoch - first;
    first = each->epoch;
    assert_non_null(toft_cleanup_add(each, NULL, NULL));
    toft_release(each);
  }
  toft_arena *one = toft_create();
  first = one->epoch;
  while (one->epoch - first < step + 20) {
    assert_non_null(toft_cleanup_add(one, NULL, NULL));
    assert_int_equal(toft_reset(one), TOFT_OK);
  }
  assert_non_null(toft_alloc(one, 1000));
  toft_mark m = toft_mark_here(one);
  toft_release(one);
  toft_arena *two = toft_create();
  assert_ptr_equal(one, two);
  assert_non_null(toft_alloc(two, 1500));
  for (int i = 0; i < 40; i++) {
    assert_int_equal(toft_rewind(two, m), TOFT_EMARK);
    assert_non_null(toft_cleanup_add(two, NULL, NULL));
  }
  toft_release(two);
}

/* ---- cleanups ---- */

static int order[64];
static int ran;
static void note(void *arg) { order[ran++] = *(int *)arg; }
static void cleanups_run_once_newest_first(void **state) {
  int numbers[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  (void)state;
  ran = 0;
  for (int i = 0; i < 3; i++) assert_non_null(toft_cleanup_add(a, note, &numbers[i]));
  toft_mark m = toft_mark_here(a);
  for (int i = 3; i < 8; i++) {
    assert_non_null(toft_cleanup_add(a, note, &numbers[i]));
    assert_non_null(toft_alloc(a, 3000));
  }
  assert_int_equal(toft_rewind(a, m), TOFT_OK);
  assert_int_equal(ran, 5);
  for (int i = 0; i < 5; i++) assert_int_equal(order[i], 7 - i);
  assert_int_equal(toft_rewind(a, m), TOFT_OK);
  assert_int_equal(ran, 5);
  toft_cleanup *cancelled = toft_cleanup_add(a, note, &numbers[8]);
  toft_cleanup *armed = toft_cleanup_add(a, NULL, &numbers[9]);
  cancelled->fn = NULL;
  armed->fn = note;
  assert_int_equal(toft_reset(a), TOFT_OK);
  assert_int_equal(ran, 9);
  assert_int_equal(order[5], 9);
  assert_int_equal(order[6], 2);
  assert_int_equal(order[8], 0);
  assert_int_equal(toft_reset(a), TOFT_OK);
  assert_int_equal(ran, 9);
}

/* ---- adopt ---- */

static void adopted_memory_lives_on(void **state) {
  counted other_source;
  int numbers[3] = {0, 1, 2};
  (void)state;
  ran = 0;
  toft_arena *donor = arena_on(counted_init(&other_source));
  assert_non_null(toft_cleanup_add(a, note, &numbers[0]));
  toft_mark m = toft_mark_here(a);
  char *p = NULL;
  for (int i = 0; i < 100; i++) p = (char *)toft_alloc(donor, 1000);
  fill(p, 1000, 4);
  assert_non_null(toft_cleanup_add(donor, note, &numbers[1]));
  uint64_t live = toft_get_stats(a).live + toft_get_stats(donor).live;
  assert_int_equal(toft_adopt(a, donor), TOFT_OK);
  assert_int_equal(toft_get_stats(a).live, live);
  assert_non_null(toft_cleanup_add(a, note, &numbers[2]));
  assert_true(filled(p, 1000, 4) && toft_contains(a, p));
  assert_int_equal(toft_rewind(a, m), TOFT_OK);
  assert_int_equal(ran, 2);
  assert_true(order[0] == 2 && order[1] == 1); /* newest first, with the donor's in order */
  counted_all_back(&other_source);
  assert_int_equal(toft_get_stats(a).live, 4 * sizeof(void *)); /* the first cleanup's node */
  donor = arena_on(counted_init(&other_source));
  assert_non_null(toft_alloc(donor, 100000));
  assert_int_equal(toft_adopt(a, donor), TOFT_OK);
  assert_int_equal(toft_reset(a), TOFT_OK);
  counted_all_back(&other_source);
  assert_int_equal(toft_get_stats(a).live, 0);
}

static void adopt_refuses_what_it_cannot_do(void **state) {
  toft_range r;
  (void)state;
  toft_arena *donor = toft_create();
  assert_non_null(toft_alloc(donor, 100));
  assert_int_equal(toft_adopt(a, a), TOFT_EARG);
  assert_int_equal(toft_adopt(a, NULL), TOFT_EARG);
  assert_int_equal(toft_set_budget(a, 50), TOFT_OK);
  assert_int_equal(toft_adopt(a, donor), TOFT_ENOMEM);
  assert_int_equal(toft_set_budget(a, UINT64_MAX), TOFT_OK);
  assert_int_equal(toft_claim(donor, &r), TOFT_OK);
  assert_int_equal(toft_adopt(a, donor), TOFT_EBUSY);
  assert_int_equal(toft_unclaim(donor, &r), TOFT_OK);
  assert_int_equal(toft_adopt(a, donor), TOFT_OK);
}

/* The table of another provider: a copy of the own one, which M20 allows a provider to substitute. */
static void arenas_of_other_providers_are_adopted_whole(void **state) {
  counted other_source;
  int number = 1;
  toft_range r;
  (void)state;
  ran = 0;
  toft_arena *donor = arena_on(counted_init(&other_source));
  toft_arena_ops other = *donor->ops;
  other.size = sizeof other; /* not all of the table is copied */
  donor->ops = &other;
  assert_non_null(toft_alloc(donor, 100000));
  assert_non_null(toft_cleanup_add(donor, note, &number));
  other.version = 2;
  assert_int_equal(toft_adopt(a, donor), TOFT_ENOSYS);
  other.version = 1;
  assert_int_equal(toft_claim(donor, &r), TOFT_OK);
  assert_int_equal(toft_adopt(a, donor), TOFT_EBUSY);
  assert_int_equal(toft_unclaim(donor, &r), TOFT_OK);
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  assert_int_equal(toft_adopt(a, donor), TOFT_EBUSY);
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  assert_int_equal(toft_set_budget(a, toft_get_stats(a).live), TOFT_OK);
  assert_int_equal(toft_adopt(a, donor), TOFT_ENOMEM);
  assert_int_equal(toft_set_budget(a, UINT64_MAX), TOFT_OK);
  assert_int_equal(toft_adopt(a, donor), TOFT_OK);
  assert_int_equal(ran, 0);
  assert_int_equal(toft_reset(a), TOFT_OK);
  assert_int_equal(ran, 1);
  counted_all_back(&other_source);
}

#define test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      test(rewind_gives_back_the_same_memory),
      test(scopes_rewind_however_they_end),
      test(cleanups_run_once_newest_first),
      test(marks_of_a_released_arena_are_stale),
      test(marks_of_an_arena_with_many_epochs_are_stale),
      test(adopted_memory_lives_on),
      test(adopt_refuses_what_it_cannot_do),
      test(arenas_of_other_providers_are_adopted_whole),
  };
  return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
