/* Two units of one program include the headers: they share one library, and either can work on the other's arenas.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"
#include "two_units.h"

static void both_units_see_one_library(void **state) {
  (void)state;
  assert_string_equal(other_version(), toft_version());
  assert_ptr_equal(other_heap(), toft_heap());
}

static void an_arena_passes_between_units(void **state) {
  (void)state;
  toft_arena *a = other_create();
  assert_non_null(a);
  toft_mark m = other_mark(a);
  for (unsigned i = 0; i < 2000; i++) {
    unsigned char *p = (unsigned char *)toft_alloc(a, 40);
    unsigned char *q = (unsigned char *)other_alloc(a, 24);
    assert_non_null(p);
    assert_non_null(q);
    assert_true(q >= p + 40 || q + 24 <= p);
    fill(p, 40, i);
    fill(q, 24, i + 1);
    assert_true(filled(p, 40, i));
  }
  assert_int_equal(toft_rewind(a, m), TOFT_OK);
  assert_int_equal(toft_get_stats(a).live, 0);
  toft_release(a);
}

static void the_current_arena_is_one(void **state) {
  (void)state;
  toft_arena *a = toft_create();
  assert_null(toft_current_swap(a));
  assert_ptr_equal(other_current(), a);
  assert_ptr_equal(toft_current_swap(NULL), a);
  toft_release(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(both_units_see_one_library),
      cmocka_unit_test(an_arena_passes_between_units),
      cmocka_unit_test(the_current_arena_is_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
