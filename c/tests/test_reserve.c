/* Room for coming allocations, and arenas by value.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

static toft_arena *arena_with(counted *c, uint64_t budget) {
  toft_options o = TOFT_OPTIONS;
  o.source = counted_init(c);
  o.budget = budget;
  toft_arena *a = toft_create_with(&o);
  assert_non_null(a);
  return a;
}

/* Allocates `bytes` in objects of `size`, each filled; returns the number of calls of the source. */
static uint64_t allocate(toft_arena *a, size_t bytes, size_t size) {
  uint64_t before = toft_get_stats(a).source_calls;
  for (size_t done = 0; done + size <= bytes; done += size) {
    unsigned char *p = (unsigned char *)toft_alloc(a, size);
    assert_non_null(p);
    memset(p, 7, size);
  }
  return toft_get_stats(a).source_calls - before;
}

static const size_t sizes[] = {0, 1, 8, 3000, 4096, 70000, 1 << 20, 1048577, 5000000, 64 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void room_takes_no_block(void **state) {
  (void)state;
  for (size_t i = 0; i < SIZES; i++)
    for (size_t before = 0; before <= 9000; before += 4500)
      for (uint32_t flags = 0; flags <= TOFT_RESERVE_TOUCH; flags++) {
        counted c;
        toft_arena *a = arena_with(&c, 0);
        unsigned char *first = (unsigned char *)toft_alloc(a, before);
        memset(first, 9, before);
        toft_mark m = toft_mark_here(a);
        uint64_t live = toft_get_stats(a).live;
        assert_int_equal(toft_reserve(a, sizes[i], flags), TOFT_OK);
        assert_int_equal(toft_get_stats(a).live, live);
        assert_int_equal(toft_reserve(a, sizes[i], 0), TOFT_OK); /* there is room */
        assert_int_equal(allocate(a, sizes[i], sizes[i] > 100000 ? 8000 : 8), 0);
        assert_true(before == 0 || (first[0] == 9 && first[before - 1] == 9));
        assert_int_equal(toft_rewind(a, m), TOFT_OK);
        assert_int_equal(toft_get_stats(a).live, live);
        for (int round = 0; round < 3; round++) {
          assert_int_equal(toft_reserve(a, sizes[i], flags), TOFT_OK);
          assert_int_equal(allocate(a, sizes[i] & ~(size_t)7, sizes[i] > 100000 ? 8000 : 8), 0);
          toft_reset(a);
        }
        toft_release(a);
        counted_all_back(&c);
      }
}

static void refusals_change_nothing(void **state) {
  (void)state;
  counted c;
  toft_arena *a = arena_with(&c, 100000);
  assert_non_null(toft_alloc(a, 90000));
  toft_stats before = toft_get_stats(a);
  assert_int_equal(toft_reserve(a, 20000, 0), TOFT_ENOMEM); /* the budget */
  assert_int_equal(toft_reserve(a, SIZE_MAX, 0), TOFT_ENOMEM);
  assert_int_equal(toft_reserve(a, 8, 2), TOFT_EARG);
  assert_int_equal(toft_set_budget(a, UINT64_MAX), TOFT_OK);
  c.fail_from = c.attempts + 1;
  assert_int_equal(toft_reserve(a, 2000000, 0), TOFT_ENOMEM);
  assert_int_equal(toft_get_stats(a).live, before.live);
  assert_int_equal(toft_get_stats(a).reserved, before.reserved);
  c.fail_from = 0;
  assert_int_equal(toft_reserve(a, 2000000, 0), TOFT_OK);
  toft_range r;
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  assert_int_equal(toft_reserve(a, 8, 0), TOFT_EBUSY);
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  assert_int_equal(allocate(a, 2000000, 8), 0);
  toft_release(a);
  counted_all_back(&c);
}

/* In a buffer, in a range that grows, checked. */
static void other_arenas(void **state) {
  (void)state;
  static unsigned char buffer[8192];
  toft_arena *a = toft_create_in(buffer, sizeof buffer, NULL);
  assert_int_equal(toft_reserve(a, 7000, TOFT_RESERVE_TOUCH), TOFT_OK);
  assert_int_equal(toft_reserve(a, 8000, 0), TOFT_ENOMEM);
  assert_int_equal(allocate(a, 7000, 8), 0);
  toft_release(a);
#ifndef TOFT_NO_OS
  toft_reserve_source source;
  toft_options o = TOFT_OPTIONS;
  o.source = toft_reserve_source_init(&source, (size_t)16 << 20);
  a = toft_create_with(&o);
  assert_int_equal(toft_reserve(a, 10000000, TOFT_RESERVE_TOUCH), TOFT_OK);
  unsigned char *first = (unsigned char *)toft_alloc(a, 10000000);
  assert_ptr_equal(first + 10000000, toft_alloc(a, 8)); /* one piece */
  assert_int_equal(toft_reserve(a, 10000000, 0), TOFT_ENOMEM);
  toft_release(a);
  toft_reserve_source_release(&source);
#endif
#ifndef TOFT_OMIT_CHECKS
  toft_options with = TOFT_OPTIONS;
  with.flags = TOFT_CHECKED;
  a = toft_create_with(&with);
  assert_non_null(a);
  assert_int_equal(toft_reserve(a, 100000, TOFT_RESERVE_TOUCH), TOFT_OK);
  (void)allocate(a, 100000, 8);
  toft_release(a);
#endif
}

static void by_value(void **state) {
  (void)state;
  struct parser {
    int line;
    toft_lazy memory;
  } parser = {0, {NULL}};
  toft_lazy_reset(&parser.memory); /* without an arena */
  toft_lazy_release(&parser.memory);
  for (int round = 0; round < 3; round++) {
    assert_null(parser.memory.arena);
    int *n = toft_lazy_new(&parser.memory, int);
    assert_non_null(n);
    *n = 5;
    struct parser moved = parser;
    assert_ptr_equal(toft_lazy_arena(&moved.memory), moved.memory.arena);
    void *p = toft_lazy_alloc(&moved.memory, 100, 256);
    assert_true(p != NULL && is_aligned(p, 256));
    assert_int_equal(*n, 5);
    toft_lazy_reset(&moved.memory);
    assert_int_equal(toft_get_stats(moved.memory.arena).live, 0);
    parser = moved;
    toft_lazy_release(&parser.memory);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(room_takes_no_block),
      cmocka_unit_test(refusals_change_nothing),
      cmocka_unit_test(other_arenas),
      cmocka_unit_test(by_value),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
