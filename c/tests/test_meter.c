/* Meters: each call of the API. test_meter_streams.c tests the numbers with random streams.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

#define NODE (4 * sizeof(void *)) /* of a cleanup */

static counted source;
static toft_arena *a;
static int failures;

static void note_failure(void *arg, toft_arena *arena, size_t size, size_t align, int code) {
  (void)arg, (void)arena, (void)size, (void)align, (void)code;
  failures++;
}

static int set_up(void **state) {
  toft_options o = TOFT_OPTIONS;
  (void)state;
  o.source = counted_init(&source);
  o.failure = note_failure;
  failures = 0;
  a = toft_create_with(&o);
  return a == NULL || toft_set_metered(a, 1) != TOFT_OK;
}

static int tear_down(void **state) {
  (void)state;
  toft_release(a);
  counted_all_back(&source);
  return 0;
}

/* ---- reports ---- */

typedef struct reported {
  const char *name;
  toft_tag_report report;
  size_t count;
} reported;

static int find_tag(void *arg, const toft_tag_report *r) {
  reported *t = (reported *)arg;
  t->count++;
  if (strcmp(r->name, t->name) == 0) t->report = *r;
  return 0;
}

static toft_tag_report tag_of(const char *name) {
  reported t;
  memset(&t, 0, sizeof t);
  t.name = name;
  assert_int_equal(toft_tags(a, find_tag, &t), 0);
  return t.report;
}

static uint64_t live_of(const char *name) { return tag_of(name).live; }

static size_t tag_count(void) {
  reported t = {"no such tag", {NULL, NULL, 0, 0, 0}, 0};
  assert_int_equal(toft_tags(a, find_tag, &t), 0);
  return t.count;
}

static int find_phase(void *arg, const toft_phase_report *r) {
  toft_phase_report *wanted = (toft_phase_report *)arg;
  if (strcmp(r->name, wanted->name) == 0) *wanted = *r;
  return 0;
}

static toft_phase_report phase_of(const char *name) {
  toft_phase_report r = {name, 0, 0, 0};
  assert_int_equal(toft_phases(a, find_phase, &r), 0);
  return r;
}

static void *take(size_t size) {
  void *p = toft_alloc(a, size);
  assert_non_null(p);
  return p;
}

/* ---- tags ---- */

static void names_within_names_are_paths(void **state) {
  (void)state;
  assert_int_equal(toft_tag_push(a, "level"), TOFT_OK);
  take(8);
  assert_int_equal(toft_tag_push(a, "sound"), TOFT_OK);
  take(16);
  assert_int_equal(toft_tag_push(a, "a/b"), TOFT_OK);
  take(24);
  assert_int_equal(toft_tag_push(a, "/level"), TOFT_OK);
  take(32);
  assert_int_equal(toft_tag_push(a, ""), TOFT_OK); /* the present one */
  take(40);
  assert_int_equal(toft_tag_push(a, "/"), TOFT_OK); /* none */
  take(48);
  for (int i = 0; i < 4; i++) toft_tag_pop(a);
  take(56);
  toft_tag_pop(a);
  toft_tag_pop(a);
  take(64);
  assert_int_equal(live_of("level"), 8 + 32 + 40);
  assert_int_equal(live_of("level/sound"), 16 + 56);
  assert_int_equal(live_of("level/sound/a/b"), 24);
  assert_int_equal(live_of(""), 48 + 64);
  assert_int_equal(tag_count(), 4);
  assert_int_equal(*tag_of("").number, 0);
  assert_null(tag_of("level").number);
}

static void pops_without_their_push_do_nothing(void **state) {
  (void)state;
  toft_tag_pop(a);
  assert_int_equal(toft_set_metered(a, 0), TOFT_OK);
  assert_int_equal(toft_tag_push(a, "unseen"), TOFT_OK);
  assert_int_equal(toft_set_metered(a, 1), TOFT_OK);
  assert_int_equal(toft_tag_push(a, "seen"), TOFT_OK);
  toft_tag_pop(a);
  toft_tag_pop(a);
  take(8);
  assert_int_equal(live_of(""), 8);
  assert_int_equal(live_of("unseen"), 0);
  assert_int_equal(toft_tag_push(a, "ended"), TOFT_OK);
  assert_int_equal(toft_set_metered(a, 0), TOFT_OK);
  assert_int_equal(tag_count(), 0); /* there are tags only while it is metered */
  assert_int_equal(toft_set_metered(a, 1), TOFT_OK);
  toft_tag_pop(a);
  take(8);
  assert_int_equal(live_of(""), 16); /* earlier bytes count for no tag */
}

static void a_push_that_failed_is_popped_too(void **state) {
  (void)state;
  assert_int_equal(toft_tag_push(a, "outer"), TOFT_OK);
  assert_int_equal(toft_tag_push(a, NULL), TOFT_EARG);
  assert_int_equal(toft_tag_push(a, "within"), TOFT_ENOMEM); /* it has no path */
  toft_tag_pop(a);
  toft_tag_pop(a);
  assert_int_equal(toft_tag_push(a, "b\xC0\x80"), TOFT_EARG);
  toft_tag_pop(a);
  take(8);
  toft_tag_pop(a);
  take(16);
  assert_int_equal(live_of("outer"), 8);
  assert_int_equal(live_of(""), 16);
}

#ifdef TOFT_TAG
/* The block ends by its last line, a return, a break or a continue. Returns how often it ran. */
static int leave_early(int how) {
  int turns = 0;
  for (int i = 0; i < 2; i++) {
    TOFT_TAG(a, "block");
    take(8);
    turns++;
    if (how == 1) return turns;
    if (how == 2) break;
    if (how == 3) continue;
    take(16);
  }
  return turns;
}

static void a_block_ends_its_tag_and_phase(void **state) {
  (void)state;
  for (int how = 0; how < 4; how++) {
    assert_int_equal(toft_reset(a), TOFT_OK);
    int turns = leave_early(how);
    take(24);
    assert_int_equal(turns, how == 1 || how == 2 ? 1 : 2);
    assert_int_equal(live_of("block"), how == 0 ? 48 : 8 * turns);
    assert_int_equal(live_of(""), 24);
  }
  {
    TOFT_PHASE(a, "phase");
    take(8);
  }
  take(8);
  assert_int_equal(phase_of("phase").entries, 1);
  assert_int_equal(phase_of("phase").allocated, 8);
}
#endif

/* The bytes of a block of its own are its tag's, whenever it goes. A plain stack would take them off the newest. */
static void dedicated_blocks_are_freed_individually(void **state) {
  (void)state;
  assert_int_equal(toft_tag_push(a, "big"), TOFT_OK);
  void *p = take(1000000);
  toft_tag_pop(a);
  assert_int_equal(toft_tag_push(a, "small"), TOFT_OK);
  take(100);
  p = toft_resize(a, p, 1000000, 2000000, 8); /* the new bytes count for the present tag */
  assert_non_null(p);
  assert_int_equal(live_of("big"), 0);
  assert_int_equal(live_of("small"), 104 + 2000000);
  toft_tag_pop(a);
  take(8);
  toft_free(a, p, 2000000);
  assert_int_equal(live_of("small"), 104);
  assert_int_equal(live_of(""), 8);
}

static void marks_of_a_claim_spare_the_side_block(void **state) {
  (void)state;
  toft_range r;
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  assert_int_equal(toft_tag_push(a, "aside"), TOFT_OK);
  take(100);
  toft_mark m = toft_mark_here(a);
  assert_non_null(toft_range_alloc(a, &r, 200));
  assert_non_null(toft_range_alloc(a, &r, 20000)); /* goes on in a further block */
  take(60);
  assert_non_null(toft_range_alloc(a, &r, 40));
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  assert_int_equal(live_of("aside"), 104 + 64);
  assert_int_equal(live_of(""), 200 + 20000 + 40);
  take(8);
  assert_int_equal(live_of("aside"), 104 + 64 + 8);
  assert_int_equal(toft_rewind(a, m), TOFT_OK);
  assert_int_equal(live_of("aside"), 104 + 64);
  assert_int_equal(live_of(""), 0);
}

static void an_adopted_arena_is_the_present_tags(void **state) {
  (void)state;
  toft_mark m = toft_mark_here(a);
  toft_arena *donor = toft_create();
  assert_int_equal(toft_set_metered(donor, 1), TOFT_OK);
  assert_int_equal(toft_set_sampling(donor, 1), TOFT_OK);
  assert_non_null(toft_alloc(donor, 1000000));
  assert_non_null(toft_alloc(donor, 100));
  uint64_t live = toft_get_stats(donor).live;
  assert_int_equal(toft_tag_push(a, "guest"), TOFT_OK);
  assert_int_equal(toft_adopt(a, donor), TOFT_OK);
  toft_tag_pop(a);
  take(8);
  assert_int_equal(live_of("guest"), live);
  assert_int_equal(live_of(""), 8);
  assert_int_equal(toft_set_metered(a, 0), TOFT_OK);
  assert_int_equal(toft_set_metered(a, 1), TOFT_OK);
  assert_int_equal(live_of(""), live + 8); /* it is recorded again as detached */
  assert_int_equal(toft_tag_push(a, "late"), TOFT_OK);
  take(16);
  assert_int_equal(toft_rewind(a, m), TOFT_OK);
  assert_int_equal(live_of("") + live_of("guest") + live_of("late"), 0);
}

/* ---- phases ---- */

static void phases_count_entries_allocated_and_kept(void **state) {
  (void)state;
  toft_phase outer = toft_phase_begin(a, "outer");
  for (int i = 0; i < 3; i++) {
    toft_phase p = toft_phase_begin(a, "inner");
    toft_mark m = toft_mark_here(a);
    take(100);
    assert_int_equal(toft_rewind(a, m), TOFT_OK);
    take(16);
    toft_phase_end(a, &p);
    toft_phase_end(a, &p);
  }
  assert_int_equal(toft_reset(a), TOFT_OK);
  toft_phase_end(a, &outer);
  toft_phase_report inner = phase_of("inner"), all = phase_of("outer");
  assert_true(inner.entries == 3 && inner.allocated == 3 * 120 && inner.kept == 48);
  assert_true(all.entries == 1 && all.allocated == 360 && all.kept == 0);
  take(8);
  toft_phase p = toft_phase_begin(a, "falls");
  assert_int_equal(toft_reset(a), TOFT_OK);
  toft_phase_end(a, &p);
  assert_int_equal(phase_of("falls").kept, -8);
  assert_int_equal(toft_clear_report(a), TOFT_OK);
  assert_int_equal(phase_of("outer").entries, 0);
  assert_int_equal(tag_of("").allocated, 0);
}

/* ---- off ---- */

static void off_is_off(void **state) {
  (void)state;
  assert_true(a->epoch & 1);
  assert_int_equal(toft_set_metered(a, 0), TOFT_OK);
  assert_false(a->epoch & 1);
  toft_mark m = toft_mark_here(a);
  unsigned char *limit = a->limit;
  assert_int_equal(toft_tag_push(a, "nothing"), TOFT_OK);
  toft_phase p = toft_phase_begin(a, "nothing");
  take(100);
  toft_phase_end(a, &p);
  toft_tag_pop(a);
  assert_true(p.name == NULL && a->limit == limit);
  assert_int_equal(toft_rewind(a, m), TOFT_OK);
  assert_true(a->cursor == m.cursor);
  assert_int_equal(tag_count(), 0);
  assert_int_equal(phase_of("nothing").entries, 0);
}

/* The state of an arena in the thread's cache is used again. */
static void the_next_arena_is_fresh(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    toft_arena *one = toft_create();
    assert_non_null(one);
    assert_false(one->epoch & 1);
    assert_int_equal(toft_tags(one, find_tag, NULL), 0); /* never called: find_tag would fail */
    assert_int_equal(toft_set_metered(one, 1), TOFT_OK);
    assert_int_equal(toft_tag_push(one, "left open"), TOFT_OK);
    assert_non_null(toft_alloc(one, 300000));
    toft_release(one);
  }
}

static void metering_does_not_change_placement(void **state) {
  (void)state;
  counted other;
  toft_arena *plain = arena_on(counted_init(&other));
  uint32_t random = 7;
  int different = 0;
  for (int i = 0; i < 3000; i++) {
    size_t size = next_random(&random) % (i % 50 ? 300 : 300000);
    unsigned char *p = (unsigned char *)toft_alloc(plain, size), *q = (unsigned char *)take(size);
    different += (p - plain->cursor) != (q - a->cursor);
    if (i % 7 == 0) assert_int_equal(toft_tag_push(a, i % 2 ? "x" : "/y"), TOFT_OK);
    if (i % 7 == 3) toft_tag_pop(a);
  }
  assert_true(different < 60); /* blocks of their own lie anywhere */
  assert_int_equal(toft_get_stats(a).live, toft_get_stats(plain).live);
  assert_int_equal(toft_get_stats(a).reserved, toft_get_stats(plain).reserved);
  assert_int_equal(other.takes, source.takes);
  toft_release(plain);
}

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

/* ---- the table ---- */

typedef struct numbered {
  uint64_t number, live;
} numbered;

static int take_numbered(void *arg, const toft_tag_report *r) {
  numbered *n = (numbered *)arg;
  if (r->number != NULL && *r->number == n->number) n->live += r->live;
  return 0;
}

static void tags_by_the_table(void **state) {
  numbered nine = {9, 0};
  (void)state;
  assert_int_equal(toft_set_metered(a, 0), TOFT_OK);
  take(8);
  assert_int_equal(toft_set_tag(a, 7, "seven"), TOFT_OK);
  take(16);
  assert_int_equal(toft_set_tag(a, 9, NULL), TOFT_OK);
  take(16);
  assert_int_equal(toft_tag_push(a, ""), TOFT_OK); /* nothing within it */
  take(8);
  toft_tag_pop(a);
  assert_int_equal(toft_tags(a, take_numbered, &nine), 0);
  assert_int_equal(nine.live, 24);
  assert_int_equal(toft_set_tag(a, 7, NULL), TOFT_OK); /* identified by its number */
  take(32);
  assert_int_equal(toft_tag_push(a, "within"), TOFT_OK);
  assert_int_equal(toft_set_tag(a, 0, NULL), TOFT_OK);
  take(40);
  toft_tag_pop(a);
  take(48);
  assert_int_equal(live_of("seven"), 16 + 32 + 48);
  assert_int_equal(*tag_of("seven").number, 7);
  assert_int_equal(tag_count(), 4); /* "", seven, the nameless 9, seven/within */
  uint64_t nameless = toft_get_stats(a).live - live_of("seven");
  assert_int_equal(nameless, 8 + 24 + 40);
}

static void every_set_makes_marks_ask(void **state) {
  (void)state;
  uintptr_t epoch = a->epoch;
  assert_int_equal(toft_set_tag(a, 1, "x"), TOFT_OK);
  assert_int_equal(toft_set_sampling(a, 4096), TOFT_OK);
  assert_int_equal(toft_set_budget(a, UINT64_MAX), TOFT_OK);
  assert_int_equal(toft_set_checked(a, 1), TOFT_OK);
  assert_int_equal(a->epoch, epoch + 8);
}

static void a_checked_arena_is_metered_too(void **state) {
  (void)state;
  assert_int_equal(toft_set_checked(a, 1), TOFT_OK);
  assert_int_equal(toft_tag_push(a, "checked"), TOFT_OK);
  take(100);
  take(500000);
  assert_int_equal(live_of("checked"), toft_get_stats(a).live); /* with the red zones */
  assert_int_equal(live_of(""), 0);
  assert_int_equal(toft_reset(a), TOFT_OK);
  assert_int_equal(live_of("checked"), 0);
}

static void an_arena_in_a_buffer_is_metered_too(void **state) {
  (void)state;
  static unsigned char buffer[4096];
  toft_arena *before = a;
  a = toft_create_in(buffer, sizeof buffer, NULL);
  assert_non_null(a);
  assert_int_equal(toft_set_metered(a, 1), TOFT_OK);
  assert_int_equal(toft_tag_push(a, "x"), TOFT_OK);
  take(1000);
  assert_null(toft_alloc(a, 10000));
  assert_int_equal(live_of("x"), 1000);
  toft_release(a);
  a = before;
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      test(names_within_names_are_paths),
      test(pops_without_their_push_do_nothing),
      test(a_push_that_failed_is_popped_too),
#ifdef TOFT_TAG
      test(a_block_ends_its_tag_and_phase),
#endif
      test(dedicated_blocks_are_freed_individually),
      test(marks_of_a_claim_spare_the_side_block),
      test(an_adopted_arena_is_the_present_tags),
      test(phases_count_entries_allocated_and_kept),
      test(off_is_off),
      test(the_next_arena_is_fresh),
      test(metering_does_not_change_placement),
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
      test(tags_by_the_table),
      test(every_set_makes_marks_ask),
      test(a_checked_arena_is_metered_too),
      test(an_arena_in_a_buffer_is_metered_too),
  };
  return cmocka_run_group_tests_name("meters", tests, NULL, NULL);
}
