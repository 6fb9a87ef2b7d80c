/* Checked arenas: every misuse that is detected according to the header, committed deliberately.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

static counted source;
static toft_arena *a;
static int codes[16];
static size_t reported;

static void note(void *arg, toft_arena *arena, size_t size, size_t align, int code) {
  (void)arg, (void)arena, (void)size, (void)align;
  codes[reported++ % 16] = code;
}

static int set_up(void **state) {
  toft_options o = TOFT_OPTIONS;
  (void)state;
  o.source = counted_init(&source);
  o.failure = note;
  o.flags = TOFT_CHECKED;
  reported = 0;
  a = toft_create_with(&o);
  return a == NULL;
}

static int tear_down(void **state) {
  (void)state;
  toft_release(a);
  counted_all_back(&source);
  return 0;
}

static void every_allocation_is_slow(void **state) {
  (void)state;
  for (unsigned i = 0; i < 3000; i++) {
    size_t align = (size_t)1 << (i % 13), size = i % 300;
    unsigned char *p = (unsigned char *)toft_alloc_aligned(a, size, align);
    if (size == 0) continue;
    assert_true(p != NULL && is_aligned(p, align));
    assert_true(holds_wrongly(p, size, 0xCD));
    fill(p, size, i);
    assert_true(a->limit == a->cursor && (a->epoch & 1));
  }
  assert_int_equal(toft_reset(a), TOFT_OK);
  assert_int_equal(reported, 0);
}

static void overrun_and_underrun_are_found(void **state) {
  (void)state;
  toft_mark m = toft_mark_here(a);
  for (int offset = -16; offset < 13 + 8; offset++) {
    unsigned char *p = (unsigned char *)toft_alloc(a, 13);
    if (offset >= 0 && offset < 13) continue;
    write_wrongly(p, offset);
    reported = 0;
    assert_int_equal(toft_rewind(a, m), TOFT_ECORRUPT);
    assert_true(reported == 1 && codes[0] == TOFT_ECORRUPT);
    assert_int_equal(toft_rewind(a, m), TOFT_OK);
  }
  unsigned char *large = (unsigned char *)toft_alloc(a, 1000000);
  write_wrongly(large, 1000000);
  assert_int_equal(toft_reset(a), TOFT_ECORRUPT);
  large = (unsigned char *)toft_alloc(a, 100);
  write_wrongly(large, -1);
  reported = 0;
  toft_release(a);
  assert_int_equal(reported, 1);
  set_up(state);
}

static void what_is_given_back_is_poisoned(void **state) {
  (void)state;
  toft_mark m = toft_mark_here(a);
  unsigned char *p = (unsigned char *)toft_alloc(a, 64);
  assert_int_equal(toft_rewind(a, m), TOFT_OK);
  assert_true(holds_wrongly(p, 64, 0xDD));
  p = (unsigned char *)toft_alloc(a, 64);
  toft_free(a, p, 64);
  assert_true(holds_wrongly(p, 64, 0xDD));
  p = (unsigned char *)toft_alloc(a, 64);
  assert_int_equal(toft_reset(a), TOFT_OK);
  assert_true(holds_wrongly(p, 64, 0xDD));
  assert_int_equal(reported, 0);
}

static void stale_marks_are_refused(void **state) {
  (void)state;
  toft_mark outer = toft_mark_here(a);
  assert_non_null(toft_alloc(a, 32));
  toft_mark inner = toft_mark_here(a);
  assert_int_equal(toft_rewind(a, inner), TOFT_OK);
  assert_int_equal(toft_rewind(a, outer), TOFT_OK);
  assert_int_equal(toft_rewind(a, inner), TOFT_EMARK);
  unsigned char *p = (unsigned char *)toft_alloc(a, 32); /* at the same address */
  fill(p, 32, 1);
  assert_int_equal(toft_rewind(a, inner), TOFT_EMARK);
  assert_true(filled(p, 32, 1));
  for (int i = 0; i < 100; i++) {
    toft_mark m = toft_mark_here(a);
    assert_non_null(toft_alloc(a, 5000));
    toft_mark late = toft_mark_here(a);
    assert_int_equal(toft_rewind(a, m), TOFT_OK);
    assert_int_equal(toft_rewind(a, late), TOFT_EMARK);
  }
  assert_int_equal(toft_rewind(a, outer), TOFT_OK);
  assert_int_equal(toft_reset(a), TOFT_OK);
  assert_int_equal(toft_rewind(a, outer), TOFT_EMARK);
}

static void is_stale_mark(void *arg, const toft_finding *f) {
  (void)arg;
  assert_int_equal(f->kind, TOFT_FOUND_STALE_MARK);
}

/* Such a mark is at the start of the range, so a rewind would free the older objects of the range. */
static void marks_in_a_claim_are_refused(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    toft_range r;
    toft_mark before = toft_mark_here(a);
    assert_int_equal(toft_claim(a, &r), TOFT_OK);
    toft_mark empty = toft_mark_here(a);
    assert_non_null(toft_alloc(a, 24)); /* outside the range */
    unsigned char *p = (unsigned char *)toft_range_alloc(a, &r, 32);
    fill(p, 32, 1);
    toft_mark within = toft_mark_here(a);
    assert_non_null(toft_range_alloc(a, &r, 32));
    assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
    toft_mark after = toft_mark_here(a);
    assert_non_null(toft_alloc(a, 16));
    assert_int_equal(toft_rewind(a, within), TOFT_EMARK);
    assert_int_equal(toft_findings(a, is_stale_mark, NULL), 1);
    assert_true(filled(p, 32, 1));
    assert_int_equal(toft_rewind(a, after), TOFT_OK);
    assert_int_equal(toft_rewind(a, empty), TOFT_OK);
    assert_int_equal(toft_rewind(a, within), TOFT_EMARK);
    assert_int_equal(toft_rewind(a, i == 1 ? empty : before), TOFT_OK);
    assert_int_equal(toft_findings(a, is_stale_mark, NULL), 1);
  }
}

/* A large allocation has a block of its own, so the mark after it has the same cursor as the one before it. */
static void marks_after_large_allocations(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) { /* with nothing below, and with something */
    toft_mark before = toft_mark_here(a);
    assert_non_null(toft_alloc(a, 1 << 20));
    toft_mark after = toft_mark_here(a);
    assert_int_equal(toft_rewind(a, after), TOFT_OK);
    assert_int_equal(toft_rewind(a, before), TOFT_OK);
    assert_int_equal(toft_rewind(a, after), TOFT_EMARK);
    toft_mark again = toft_mark_here(a);
    unsigned char *p = (unsigned char *)toft_alloc(a, 1 << 20);
    fill(p, 1 << 20, 1);
    assert_int_equal(toft_rewind(a, after), TOFT_EMARK);
    assert_true(filled(p, 1 << 20, 1));
    assert_int_equal(toft_rewind(a, again), TOFT_OK);
    assert_int_equal(toft_rewind(a, before), TOFT_OK);
    assert_int_equal(toft_get_stats(a).live, 48 * i);
    assert_non_null(toft_alloc(a, 16));
  }
  /* Many of them, and those between. */
  toft_mark before = toft_mark_here(a), after = before, marks[64];
  for (size_t i = 0; i < 100; i++) {
    marks[i % 64] = toft_mark_here(a);
    assert_non_null(toft_alloc(a, 1 << 20));
    assert_int_equal(toft_mark_here(a).cursor == before.cursor, 1);
    after = toft_mark_here(a);
    assert_int_equal(toft_rewind(a, i % 2 == 0 ? before : marks[i % 64]), TOFT_OK);
  }
  assert_int_equal(toft_rewind(a, after), TOFT_EMARK);
  for (size_t i = 0; i < 64; i++) assert_int_equal(toft_rewind(a, marks[i]), TOFT_OK);
}

/* Marks with the same cursor stay valid when the arena was rewound there. */
static void marks_with_the_same_cursor(void **state) {
  (void)state;
  assert_non_null(toft_alloc(a, 16));
  toft_mark one = toft_mark_here(a);
  assert_non_null(toft_alloc(a, 16));
  assert_int_equal(toft_rewind(a, one), TOFT_OK);
  toft_mark two = toft_mark_here(a);
  assert_non_null(toft_alloc(a, 16));
  assert_int_equal(toft_rewind(a, one), TOFT_OK);
  assert_int_equal(toft_rewind(a, two), TOFT_OK);
}

/* A trim may return the block that marks point into: those from before the first allocation there stay valid, others do
 * not. */
static void marks_from_before_a_trim(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    assert_non_null(toft_alloc(a, 20000));
    assert_int_equal(toft_reset(a), TOFT_OK);
  }
  toft_mark outer = toft_mark_here(a);
  assert_non_null(toft_alloc(a, 32));
  toft_mark inner = toft_mark_here(a);
  assert_int_equal(toft_rewind(a, outer), TOFT_OK);
  toft_trim(a, 0);
  assert_int_equal(toft_rewind(a, inner), TOFT_EMARK);
  unsigned char *p = (unsigned char *)toft_alloc(a, 32);
  fill(p, 32, 1);
  assert_int_equal(toft_rewind(a, inner), TOFT_EMARK);
  assert_true(filled(p, 32, 1));
  assert_int_equal(toft_rewind(a, outer), TOFT_OK);
  assert_int_equal(toft_get_stats(a).live, 0);
}

static void an_address_without_bytes_can_grow(void **state) {
  (void)state;
  unsigned char *p = (unsigned char *)toft_alloc(a, 0);
  toft_free(a, p, 0);
  assert_ptr_equal(toft_resize(a, p, 0, 0, 8), p);
  unsigned char *q = (unsigned char *)toft_resize(a, p, 0, 40, 64);
  assert_true(q != NULL && (uintptr_t)q % 64 == 0);
  fill(q, 40, 1);
  q = (unsigned char *)toft_resize(a, q, 40, 0, 8);
  q = (unsigned char *)toft_resize(a, q, 0, 8, 8);
  assert_non_null(q);
  assert_int_equal(toft_reset(a), TOFT_OK);
  assert_int_equal(reported, 0);
}

static void wrong_resizes_and_frees_are_refused(void **state) {
  char foreign[64];
  (void)state;
  unsigned char *p = (unsigned char *)toft_alloc(a, 40);
  fill(p, 40, 1);
  assert_null(toft_resize(a, foreign, 64, 100, 8));
  assert_null(toft_resize(a, p + 8, 32, 100, 8));
  assert_null(toft_resize(a, p, 41, 100, 8));
  assert_int_equal(reported, 3);
  toft_free(a, foreign, 64);
  toft_free(a, p, 39);
  assert_int_equal(reported, 5);
  for (size_t i = 0; i < reported; i++) assert_int_equal(codes[i], TOFT_EARG);
  assert_true(filled(p, 40, 1));
  unsigned char *q = (unsigned char *)toft_resize(a, p, 40, 100, 8);
  assert_true(q != p && filled(q, 40, 1) && holds_wrongly(p, 40, 0xDD));
  assert_ptr_equal(toft_resize(a, q, 100, 50, 8), q);
  q[49] = 1;
  toft_free(a, q, 50);
  toft_free(a, q, 50); /* twice */
  assert_int_equal(reported, 6);
  toft_free(a, p, 40); /* moved away by resize */
  assert_int_equal(reported, 7);
  assert_int_equal(toft_reset(a), TOFT_OK);
}

static void a_shrunk_allocation_has_its_zone_moved(void **state) {
  (void)state;
  unsigned char *q = (unsigned char *)toft_alloc(a, 100);
  assert_ptr_equal(toft_resize(a, q, 100, 50, 8), q);
  write_wrongly(q, 50);
  assert_int_equal(toft_reset(a), TOFT_ECORRUPT);
}

static void ranges_are_checked_too(void **state) {
  toft_range r;
  (void)state;
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  unsigned char *p = (unsigned char *)toft_range_alloc(a, &r, 24);
  unsigned char *q = (unsigned char *)toft_range_bytes(a, &r, 5);
  assert_true(p != NULL && q != NULL);
  write_wrongly(p, 24);
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  assert_int_equal(toft_reset(a), TOFT_ECORRUPT);
}

static int ran;
static void count(void *arg) {
  (void)arg;
  ran++;
}

static void checks_switch_at_any_time(void **state) {
  uint32_t random = 1;
  (void)state;
  ran = 0;
  int added = 0;
  for (int round = 0; round < 300; round++) {
    toft_mark m = toft_mark_here(a);
    for (int i = 0; i < 20; i++) {
      assert_int_equal(toft_set_checked(a, (int)(next_random(&random) & 1)), TOFT_OK);
      size_t size = next_random(&random) % 700;
      unsigned char *p = (unsigned char *)toft_alloc(a, size);
      fill(p, size, 1);
      if (i % 7 == 0) added += toft_cleanup_add(a, count, NULL) != NULL;
    }
    int code = round % 5 ? toft_rewind(a, m) : toft_reset(a);
    assert_int_equal(code, TOFT_OK);
    assert_int_equal(ran, added);
    assert_int_equal(toft_get_stats(a).live, 0);
  }
  assert_int_equal(reported, 0);
  assert_int_equal(toft_set_checked(a, 0), TOFT_OK);
  assert_true(toft_alloc(a, 8) != NULL && a->limit > a->cursor);
}

/* An initial block that a reset found too small is unused until a trim; it must be unpoisoned then if the checks ended
 * before. */
static void initial_block_is_unpoisoned_after_the_checks(void **state) {
  (void)state;
  toft_arena *b = toft_create();
  assert_non_null(b);
  assert_int_equal(toft_set_checked(b, 1), TOFT_OK);
  for (int i = 0; i < 2; i++) { /* the second round begins after the initial block */
    for (int k = 0; k < 50; k++) assert_non_null(toft_alloc(b, 1000));
    assert_int_equal(toft_reset(b), TOFT_OK);
  }
  assert_int_equal(toft_set_checked(b, 0), TOFT_OK);
  toft_mark start = toft_mark_here(b);
  assert_non_null(toft_alloc(b, 1000));
  assert_int_equal(toft_rewind(b, start), TOFT_OK);
  toft_trim(b, 0);
  unsigned char *p = (unsigned char *)toft_alloc(b, 2000);
  assert_non_null(p);
  fill(p, 2000, 7);
  assert_int_equal(toft_get_stats(b).reserved, 4096);
  toft_release(b);
}

/* A block whose first byte changed: its former start must be unpoisoned. */
static void blocks_are_unpoisoned_after_the_checks(void **state) {
  (void)state;
  toft_arena *b = toft_create();
  assert_non_null(b);
  assert_int_equal(toft_set_checked(b, 1), TOFT_OK);
  toft_mark start = toft_mark_here(b);
  for (int round = 0; round < 3; round++) {
    if (round == 1) assert_non_null(toft_alloc(b, 8 << 20)); /* a block of its own: those after it are one further */
    if (round == 2) {
      assert_int_equal(toft_set_checked(b, 0), TOFT_OK);
      assert_int_equal(toft_rewind(b, start), TOFT_OK);
    }
    for (unsigned i = 0; i < 40; i++) fill(toft_alloc(b, 10000), 10000, i);
    if (round == 0) assert_int_equal(toft_rewind(b, start), TOFT_OK);
  }
  toft_release(b);
}

static void printf_and_packs_work_when_checked(void **state) {
  (void)state;
  assert_string_equal(toft_printf(a, "%d-%d", 1, 2), "1-2");
  toft_pack k = toft_pack_begin(a);
  for (int i = 0; i < 100; i++) assert_string_equal(toft_pack_strdup(&k, "word"), "word");
  assert_int_equal(toft_reset(a), TOFT_OK);
}

/* A source that extends its one block serves a checked arena to its end too. */
static void a_reserve_is_filled(void **state) {
  toft_reserve_source r;
  toft_options o = TOFT_OPTIONS;
  (void)state;
  o.source = toft_reserve_source_init(&r, (size_t)4 << 20);
  o.flags = TOFT_CHECKED;
  toft_arena *b = toft_create_with(&o);
  assert_non_null(b);
  size_t filled = 0;
  unsigned char *p;
  for (size_t size = 1; (p = (unsigned char *)toft_alloc(b, size)) != NULL; size = size * 3 % 9973 + 1) {
    fill(p, size, 7);
    filled += size;
  }
  assert_true(filled > (size_t)3 << 20);
  assert_int_equal(toft_reset(b), TOFT_OK);
  toft_release(b);
  toft_reserve_source_release(&r);
}

#define test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      test(every_allocation_is_slow),
      test(overrun_and_underrun_are_found),
      test(what_is_given_back_is_poisoned),
      test(stale_marks_are_refused),
      test(marks_in_a_claim_are_refused),
      test(marks_from_before_a_trim),
      test(marks_after_large_allocations),
      test(marks_with_the_same_cursor),
      test(an_address_without_bytes_can_grow),
      test(wrong_resizes_and_frees_are_refused),
      test(a_shrunk_allocation_has_its_zone_moved),
      test(ranges_are_checked_too),
      test(checks_switch_at_any_time),
      test(initial_block_is_unpoisoned_after_the_checks),
      test(blocks_are_unpoisoned_after_the_checks),
      test(printf_and_packs_work_when_checked),
      test(a_reserve_is_filled),
  };
  return cmocka_run_group_tests_name("checked", tests, NULL, NULL);
}
