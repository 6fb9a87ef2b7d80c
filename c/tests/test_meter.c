/* Meters: tags, phases, reports. test_meter_settings.c has budgets, test_meter_streams.c random streams.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "metered_arena.h"

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
      test(tags_by_the_table),
      test(every_set_makes_marks_ask),
      test(a_checked_arena_is_metered_too),
      test(an_arena_in_a_buffer_is_metered_too),
  };
  return cmocka_run_group_tests_name("meters", tests, NULL, NULL);
}
