/* The generations of a slot wrap: tested with a copy of the library whose slots can be written.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_STATIC
#include "toft.c"

#include "support.h"

static void count_one(void *arg) { ++*(int *)arg; }

/* Sets the slot's generation so that the next lease is the last before the wrap. */
static toft_lease lease_at_the_end(toft_leases *l) {
  toft_lease a = toft_lease_get(l);
  toft_lease_slot *p = toft_lease_slot_at(l, toft_lease_slot_index(a.generation));
  assert_int_equal(toft_lease_return(l, a), TOFT_OK);
  p->generation |= UINT64_MAX << 25;
  p->generation -= TOFT_GENERATION_ONE;
  a = toft_lease_get(l);
  assert_true(a.generation > UINT64_MAX - TOFT_GENERATION_ONE);
  return a;
}

static void generations_wrap(void **state) {
  (void)state;
  for (int slow = 0; slow < 2; slow++) {
    toft_leases *l = toft_leases_create(NULL);
    int cleaned = 0;
    toft_lease last = lease_at_the_end(l), a = last;
    assert_int_equal(toft_lease_return(l, a), TOFT_OK);
    for (int i = 1; i < 5; i++) {
      a = toft_lease_get(l);
      assert_true(a.generation < last.generation && a.arena == last.arena);
      assert_int_equal(toft_lease_return(l, last), TOFT_EBUSY); /* was returned before */
      toft_lease later = {a.arena, a.generation + TOFT_GENERATION_ONE};
      assert_int_equal(toft_lease_return(l, later), TOFT_EARG);
      if (slow) assert_non_null(toft_cleanup_add(a.arena, count_one, &cleaned));
      assert_int_equal(toft_lease_return(l, a), TOFT_OK);
      assert_int_equal(toft_lease_return(l, a), TOFT_EBUSY);
      assert_int_equal(cleaned, slow * i);
    }
    assert_int_equal(toft_leases_get_stats(l).leased, 0);
    assert_int_equal(toft_leases_release(l), TOFT_OK);
  }
}

static void the_next_generation_was_never_leased(void **state) {
  (void)state;
  toft_leases *l = toft_leases_create(NULL);
  toft_lease last = lease_at_the_end(l), next = {last.arena, last.generation + TOFT_GENERATION_ONE};
  assert_int_equal(toft_lease_return(l, next), TOFT_EARG);
  assert_int_equal(toft_lease_return(l, last), TOFT_OK);
  assert_int_equal(toft_lease_return(l, next), TOFT_EARG);
  assert_int_equal(toft_leases_release(l), TOFT_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(generations_wrap),
      cmocka_unit_test(the_next_generation_was_never_leased),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
