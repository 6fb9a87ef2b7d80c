/* Settings of meters: budgets of tags, soft ones, what callbacks see and answer, settings that are refused.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "metered_arena.h"

/* ---- budgets ---- */

static void a_tags_budget_holds_to_the_byte(void **state) {
  (void)state;
  assert_int_equal(toft_set_tag_budget(a, "ai", 64), TOFT_OK);
  assert_int_equal(toft_set_tag_budget(a, "ai/path", 16), TOFT_OK);
  assert_int_equal(toft_tag_push(a, "ai"), TOFT_OK);
  take(40);
  assert_int_equal(toft_tag_push(a, "path"), TOFT_OK);
  take(16);
  assert_null(toft_alloc(a, 1));
  toft_tag_pop(a);
  take(24);
  assert_null(toft_alloc(a, 1));
  assert_null(toft_alloc(a, 1000000));
  assert_non_null(toft_alloc(a, 0));
  assert_int_equal(failures, 3);
  toft_tag_pop(a);
  take(1000);
  assert_int_equal(toft_set_tag_budget(a, "/ai", 72), TOFT_OK);
  assert_int_equal(toft_tag_push(a, "/ai"), TOFT_OK);
  take(8);
  assert_null(toft_alloc(a, 1));
  assert_int_equal(tag_of("ai").budget, 72);
  assert_int_equal(toft_set_tag_budget(a, "ai", UINT64_MAX), TOFT_OK);
  take(8000);
  assert_int_equal(toft_set_tag_budget(a, "ai", 0), TOFT_OK);
  assert_null(toft_alloc(a, 1));
  assert_int_equal(toft_set_metered(a, 0), TOFT_OK); /* they hold while it is metered */
  take(1);
}

static void a_tags_budget_holds_for_a_range(void **state) {
  (void)state;
  toft_range r;
  assert_int_equal(toft_set_tag_budget(a, "ai", 100), TOFT_OK);
  assert_int_equal(toft_tag_push(a, "ai"), TOFT_OK);
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  assert_int_equal(r.limit - r.cursor, 96);
  assert_null(toft_alloc(a, 1)); /* the range counts whole */
  assert_int_equal(toft_tag_push(a, "/other"), TOFT_OK);
  take(1);
  assert_non_null(toft_range_alloc(a, &r, 96));
  assert_null(toft_range_alloc(a, &r, 1));
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  assert_int_equal(live_of("ai"), 96);
  assert_int_equal(live_of("other"), 8);
}

static int overs;
static uint64_t over_live;
static void over(void *arg, toft_arena *arena, uint64_t live, uint64_t budget) {
  assert_true(arg == &overs && arena == a && budget < live);
  overs++;
  over_live = live;
}

static void a_soft_budget_tells_once_a_round(void **state) {
  (void)state;
  overs = 0;
  toft_mark m = toft_mark_here(a);
  assert_int_equal(toft_set_soft_budget(a, 100, over, &overs), TOFT_OK);
  take(96);
  assert_int_equal(overs, 0);
  take(8);
  assert_true(overs == 1 && over_live == 104);
  take(1000);
  assert_int_equal(toft_rewind(a, m), TOFT_OK);
  take(200);
  assert_int_equal(overs, 1);
  assert_int_equal(toft_reset(a), TOFT_OK);
  take(200);
  assert_true(overs == 2 && over_live == 200);
  assert_int_equal(toft_set_soft_budget(a, 100, over, &overs), TOFT_OK);
  take(8);
  assert_true(overs == 3 && over_live == 208);
  assert_int_equal(toft_set_soft_budget(a, UINT64_MAX, NULL, NULL), TOFT_OK);
  assert_int_equal(toft_reset(a), TOFT_OK);
  take(1000);
  assert_int_equal(overs, 3);
  assert_int_equal(toft_set_soft_budget(a, 0, NULL, NULL), TOFT_OK); /* without a callback */
  take(8);
}

static void a_soft_budget_tells_of_ranges_cleanups_and_guests(void **state) {
  (void)state;
  toft_range r;
  overs = 0;
  assert_int_equal(toft_set_metered(a, 0), TOFT_OK);
  assert_int_equal(toft_set_soft_budget(a, 100, over, &overs), TOFT_OK);
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  assert_non_null(toft_range_alloc(a, &r, 96));
  assert_non_null(toft_range_alloc(a, &r, 96)); /* the range ended at the soft budget */
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  assert_true(overs == 1 && over_live == 192);
  assert_int_equal(toft_set_soft_budget(a, 50, over, &overs), TOFT_OK);
  assert_int_equal(toft_unclaim(a, &r), TOFT_EARG); /* refused: it calls nothing */
  assert_int_equal(overs, 1);
  assert_int_equal(toft_set_soft_budget(a, 100, over, &overs), TOFT_OK);
  assert_int_equal(toft_reset(a), TOFT_OK);
  while (overs == 1) assert_non_null(toft_cleanup_add(a, NULL, NULL));
  assert_int_equal(over_live, 100 / NODE * NODE + NODE);
  assert_int_equal(toft_reset(a), TOFT_OK);
  toft_arena *donor = toft_create();
  assert_non_null(toft_alloc(donor, 500));
  assert_int_equal(toft_adopt(a, donor), TOFT_OK);
  assert_true(overs == 3 && over_live == 504);
}

static struct {
  int attempts;
  uint64_t live, budget, answer;
  size_t size;
  int look;
} question;

static int stop_at_once(void *arg, const toft_tag_report *t) {
  (void)arg, (void)t;
  return 7;
}

static uint64_t answer(void *arg, toft_arena *arena, uint64_t live, uint64_t budget, size_t size) {
  assert_true(arg == &question && arena == a);
  question.attempts++;
  question.live = live;
  question.budget = budget;
  question.size = size;
  if (question.look) { /* it may read the arena, and nothing else */
    toft_mark m = toft_mark_here(arena);
    toft_range r;
    char text[4000];
    assert_int_equal(toft_get_stats(arena).live, live);
    assert_int_equal(toft_tags(arena, stop_at_once, NULL), 7);
    assert_true(toft_snapshot_text(arena, NULL, text, sizeof text) < sizeof text);
    assert_null(toft_alloc(arena, 8));
    assert_null(toft_cleanup_add(arena, NULL, NULL));
    assert_int_equal(toft_claim(arena, &r), TOFT_EBUSY);
    assert_int_equal(arena->ops->rewind(arena, m.cursor, m.epoch), TOFT_EBUSY);
    assert_int_equal(toft_reset(arena), TOFT_EBUSY);
    assert_int_equal(toft_set_budget(arena, 1), TOFT_EBUSY);
    assert_int_equal(toft_set_metered(arena, 0), TOFT_EBUSY);
    assert_int_equal(toft_set_sampling(arena, 8), TOFT_EBUSY);
    assert_int_equal(toft_set_tag(arena, 1, "x"), TOFT_EBUSY);
    assert_int_equal(toft_set_tag_budget(arena, "x", 1), TOFT_EBUSY);
    assert_int_equal(toft_on_refusal(arena, NULL, NULL), TOFT_EBUSY);
    assert_int_equal(toft_set_soft_budget(arena, 8, NULL, NULL), TOFT_EBUSY);
    assert_int_equal(toft_set_unwinder(arena, NULL, NULL), TOFT_EBUSY);
    assert_int_equal(toft_clear_report(arena), TOFT_EBUSY);
    assert_int_equal(toft_tag_push(arena, "x"), TOFT_EBUSY);
    toft_tag_pop(arena);
    toft_tag_pop(arena); /* must not pop the caller's tag */
    toft_trim(arena, 0);
    toft_release(arena);
  }
  return question.answer;
}

static void a_refusal_is_asked_about(void **state) {
  (void)state;
  memset(&question, 0, sizeof question);
  question.look = 1;
  assert_int_equal(toft_set_budget(a, 100), TOFT_OK);
  assert_int_equal(toft_on_refusal(a, answer, &question), TOFT_OK);
  assert_int_equal(toft_tag_push(a, "asker"), TOFT_OK);
  take(96);
  assert_int_equal(question.attempts, 0);
  assert_null(toft_alloc(a, 5));
  assert_true(question.attempts == 1 && question.live == 96 && question.budget == 100 && question.size == 5);
  assert_int_equal(failures, 5); /* four of them its own: a release without effect is one */
  question.answer = 104;
  question.look = 0;
  take(5);
  assert_int_equal(toft_get_stats(a).budget, 104);
  assert_null(toft_alloc(a, 8)); /* 104 again is no more */
  question.answer = 108;
  assert_null(toft_alloc(a, 8)); /* more, and too little */
  assert_int_equal(toft_get_stats(a).budget, 108);
  question.answer = 400;
  assert_non_null(toft_alloc_aligned(a, 100, 64));
  question.answer = 5000000;
  take(1000000);
  assert_int_equal(question.attempts, 6);
  source.fail_from = 1;
  assert_null(toft_alloc(a, 2000000)); /* within the budget: the source refuses */
  assert_int_equal(question.attempts, 7);
  assert_true(question.live + 2000000 <= question.budget);
  source.fail_from = 0;
  assert_int_equal(live_of("asker"), toft_get_stats(a).live);
}

/* Zones count for the budget. */
static void zones_are_asked_about(void **state) {
  (void)state;
  memset(&question, 0, sizeof question);
  assert_int_equal(toft_set_checked(a, 1), TOFT_OK);
  assert_int_equal(toft_set_budget(a, 100), TOFT_OK);
  assert_int_equal(toft_on_refusal(a, answer, &question), TOFT_OK);
  question.answer = 4096;
  take(80);
  assert_true(question.attempts == 1 && question.size == 80 && toft_get_stats(a).budget == 4096);
  take(80);
  assert_int_equal(question.attempts, 1);
}

static void refusals_call_the_callback(void **state) {
  (void)state;
  memset(&question, 0, sizeof question);
  toft_range r;
  void *p = take(96);
  assert_int_equal(toft_set_budget(a, 96), TOFT_OK);
  assert_int_equal(toft_on_refusal(a, answer, &question), TOFT_OK);
  question.answer = 200;
  p = toft_resize(a, p, 96, 104, 8);
  assert_true(p != NULL && question.attempts == 1 && question.size == 104);
  assert_int_equal(toft_get_stats(a).live, 104); /* in place, after all */
  assert_int_equal(toft_set_budget(a, 104), TOFT_OK);
  question.answer = 150;
  assert_true(a->ops->resize(a, p, 104, 140, 8, TOFT_STAY, 0) == p && question.attempts == 2 && question.size == 36);
  assert_int_equal(toft_set_budget(a, 144), TOFT_OK);
  question.answer = 300;
  assert_true(toft_cleanup_add(a, NULL, NULL) != NULL && question.attempts == 3);
  uint64_t live = toft_get_stats(a).live;
  assert_int_equal(toft_set_budget(a, live + 8), TOFT_OK);
  question.answer = 0;
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  assert_non_null(toft_range_alloc(a, &r, 8));
  unsigned char *cursor = r.cursor;
  assert_null(toft_range_alloc(a, &r, 8));
  assert_true(question.attempts == 4 && r.cursor == cursor && question.live == live + 8);
  question.answer = live + 100;
  assert_non_null(toft_range_alloc(a, &r, 8));
  assert_null(toft_alloc(a, 8)); /* the range has all that is left of the budget */
  assert_int_equal(question.attempts, 6);
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  assert_int_equal(live_of(""), live + 16);
  assert_int_equal(tag_of("").allocated, live + 16 - 96 + 96);
}

/* A callback sees the bytes of a range before it is known that they stay in the range. */
static void a_claim_that_did_not_go_on_counts_nothing(void **state) {
  (void)state;
  memset(&question, 0, sizeof question);
  toft_range r;
  assert_int_equal(toft_on_refusal(a, answer, &question), TOFT_OK);
  assert_int_equal(toft_tag_push(a, "range"), TOFT_OK);
  assert_int_equal(toft_set_budget(a, 96), TOFT_OK);
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  assert_int_equal(toft_tag_push(a, "/other"), TOFT_OK);
  assert_non_null(toft_range_alloc(a, &r, 80));
  for (int i = 0; i < 3; i++) assert_null(toft_range_alloc(a, &r, 80));
  assert_int_equal(question.attempts, 3);
  assert_true(tag_of("other").allocated == 0 && tag_of("range").allocated == 0);
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  assert_true(tag_of("range").allocated == 80 && live_of("range") == 80);
  assert_true(tag_of("other").allocated == 0 && live_of("other") == 0);
}

static toft_range given;
static uint64_t give_it(void *arg, toft_arena *arena, uint64_t live, uint64_t budget, size_t size) {
  (void)live, (void)size;
  *(int *)arg = toft_unclaim(arena, &given);
  return budget + 1000;
}

static void a_range_is_not_given_in_a_callback(void **state) {
  int code = TOFT_OK;
  (void)state;
  assert_int_equal(toft_set_budget(a, 100), TOFT_OK);
  assert_int_equal(toft_on_refusal(a, give_it, &code), TOFT_OK);
  assert_int_equal(toft_claim(a, &given), TOFT_OK);
  take(500);
  assert_int_equal(code, TOFT_EARG);
  assert_int_equal(toft_unclaim(a, &given), TOFT_OK);
}

/* ---- bad input ---- */

static void bad_input_changes_nothing(void **state) {
  (void)state;
  static const uint64_t number = 5;
  static const char *const bad[] = {"\x80", "\xC1\x81", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                                    "\xF8", "\xE2\x82", "a\xFF"};
  uintptr_t epoch = a->epoch;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(toft_set_tag(a, 1, bad[i]), TOFT_EARG);
    assert_int_equal(toft_set_tag_budget(a, bad[i], 1), TOFT_EARG);
  }
  assert_int_equal(toft_set_tag_budget(a, NULL, 1), TOFT_EARG);
  assert_int_equal(a->ops->set(a, TOFT_SET_TAG, 1, NULL, 3), TOFT_EARG);
  assert_int_equal(a->ops->set(a, TOFT_SET_TAG, 1, "a\0b", 3), TOFT_EARG);
  assert_int_equal(a->ops->set(a, 0, 0, NULL, 0), TOFT_ENOSYS);
  assert_int_equal(a->ops->set(a, 5, 0, NULL, 0), TOFT_ENOSYS);
  assert_true(a->epoch == epoch && tag_count() == 1);
  assert_int_equal(toft_set_tag(a, number, "g\xC3\xBC\xE2\x82\xAC\xF0\x9F\x90\x8D"), TOFT_OK);
  assert_int_equal(a->epoch, epoch + 2);
  assert_int_equal(*tag_of("g\xC3\xBC\xE2\x82\xAC\xF0\x9F\x90\x8D").number, 5);
}

static void a_claimed_arena_is_not_switched(void **state) {
  (void)state;
  toft_range r;
  assert_int_equal(toft_set_metered(a, 0), TOFT_OK);
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  assert_int_equal(toft_set_metered(a, 1), TOFT_EBUSY);
  assert_int_equal(toft_set_tag(a, 1, "x"), TOFT_EBUSY); /* it would begin to meter */
  assert_int_equal(toft_set_tag(a, 1, "\x80"), TOFT_EARG);
  assert_int_equal(toft_set_sampling(a, 100), TOFT_EBUSY);
  assert_int_equal(toft_on_refusal(a, answer, NULL), TOFT_EBUSY);
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
}

/* An arena of another provider: its table is not this library's. */
static void other_providers_have_their_own_settings(void **state) {
  (void)state;
  toft_arena_ops theirs = *a->ops;
  theirs.size = sizeof theirs; /* not all of the table is copied */
  toft_arena foreign = *a;
  char text[1000];
  foreign.ops = &theirs;
  foreign.epoch |= 1;
  assert_int_equal(toft_set_metered(&foreign, 1), TOFT_ENOSYS);
  assert_int_equal(toft_set_soft_budget(&foreign, 1, over, NULL), TOFT_ENOSYS);
  assert_int_equal(toft_set_tag_budget(&foreign, "x", 1), TOFT_ENOSYS);
  assert_int_equal(toft_on_refusal(&foreign, answer, NULL), TOFT_ENOSYS);
  assert_int_equal(toft_set_sampling_seed(&foreign, 1), TOFT_ENOSYS);
  assert_int_equal(toft_set_unwinder(&foreign, NULL, NULL), TOFT_ENOSYS);
  assert_int_equal(toft_tag_push(&foreign, "x"), TOFT_ENOSYS);
  toft_tag_pop(&foreign);
  toft_phase p = toft_phase_begin(&foreign, "x");
  assert_null(p.name);
  assert_int_equal(toft_tags(&foreign, stop_at_once, NULL), TOFT_ENOSYS);
  assert_int_equal(toft_phases(&foreign, find_phase, NULL), TOFT_ENOSYS);
  assert_int_equal(toft_clear_report(&foreign), TOFT_ENOSYS);
  const toft_arena_ops *ours = a->ops;
  a->ops = &theirs; /* with the same functions */
  assert_true(toft_snapshot_text(a, NULL, text, sizeof text) > 0);
  assert_non_null(strstr(text, "\"tags\":[],\"phases\":[],\"sites\":[]}"));
  a->ops = ours;
}

#define test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      test(a_tags_budget_holds_to_the_byte),
      test(a_tags_budget_holds_for_a_range),
      test(a_soft_budget_tells_once_a_round),
      test(a_soft_budget_tells_of_ranges_cleanups_and_guests),
      test(zones_are_asked_about),
      test(a_range_is_not_given_in_a_callback),
      test(a_refusal_is_asked_about),
      test(refusals_call_the_callback),
      test(a_claim_that_did_not_go_on_counts_nothing),
      test(bad_input_changes_nothing),
      test(a_claimed_arena_is_not_switched),
      test(other_providers_have_their_own_settings),
  };
  return cmocka_run_group_tests_name("meters", tests, NULL, NULL);
}
