/* An instrument of another library before arenas of this one: leases and frames end it, and adoption does.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "foreign_arenas.h"
#include "support.h"
#include "threads.h"

static void return_in_callback(void *arg, toft_arena *a, uint64_t live, uint64_t budget) {
  toft_lease *l = (toft_lease *)arg;
  (void)a, (void)live, (void)budget;
  assert_int_equal(toft_lease_return(NULL, *l), TOFT_EBUSY);
}

static void test_leases(void **state) {
  (void)state;
  toft_lease l = toft_lease_get(NULL);
  toft_arena *a = l.arena;
  const toft_arena_ops *ops = a->ops;
  assert_int_equal(copy_instrument(a, 1), TOFT_OK);
  assert_int_equal(toft_set_checked(a, 1), TOFT_OK);
  assert_int_equal(copy_soft_budget(a, 50, return_in_callback, &l), TOFT_OK);
  assert_non_null(toft_alloc(a, 100));
  assert_int_equal(toft_lease_return(NULL, l), TOFT_OK);
  l = toft_lease_get(NULL);
  assert_ptr_equal(l.arena, a);
  assert_ptr_equal(a->ops, ops); /* the next user's arena has no instrument */
  unsigned char *cursor = a->cursor;
  assert_ptr_equal(toft_alloc(a, 100), cursor); /* nor checks */
  assert_int_equal(toft_lease_return(NULL, l), TOFT_OK);
}

static void test_adoption(void **state) {
  (void)state;
  toft_arena *a = toft_create(), *donor = toft_create();
  const toft_arena_ops *ops = a->ops;
  assert_int_equal(copy_instrument(donor, 1), TOFT_OK);
  char *text = (char *)toft_alloc(donor, 1000);
  text[999] = 7;
  toft_mark m = toft_mark_here(a);
  const toft_arena_ops *instrumented = donor->ops;
  assert_int_equal(toft_set_budget(a, 900), TOFT_OK);
  assert_int_equal(toft_adopt(a, donor), TOFT_ENOMEM);
  assert_ptr_equal(donor->ops, instrumented); /* as it was */
  assert_int_equal(toft_set_budget(a, UINT64_MAX), TOFT_OK);
  assert_int_equal(toft_adopt(a, donor), TOFT_OK);
  assert_int_equal(toft_get_stats(a).live, 1000);
  assert_null(toft_alloc(donor, 8)); /* it is closed */
  assert_ptr_equal(donor->ops, ops);
  assert_int_equal(text[999], 7);
  assert_int_equal(toft_rewind(a, m), TOFT_OK);
  assert_int_equal(toft_get_stats(a).live, 0);
  toft_release(a);
}

static void advance_in_callback(void *arg, toft_arena *a, uint64_t live, uint64_t budget) {
  toft_frames *frames = (toft_frames *)arg;
  (void)live, (void)budget;
  assert_int_equal(toft_frames_advance(frames), TOFT_EBUSY);
  assert_int_equal(toft_frames_release(frames), TOFT_EBUSY);
  assert_true(toft_frames_number(frames) == 0 && toft_frame_arena(frames) == a);
}

static void *advance_elsewhere(void *frames) {
  return toft_frames_advance((toft_frames *)frames) == TOFT_OK ? NULL : frames;
}

static void test_frames(void **state) {
  (void)state;
  toft_frames *frames = toft_frames_create(1, NULL);
  toft_arena *a = toft_frame_arena(frames);
  assert_int_equal(toft_set_checked(a, 1), TOFT_OK);
  const toft_arena_ops *ops = a->ops;
  assert_int_equal(toft_pin(a, 1), TOFT_OK); /* other threads may advance */
  assert_int_equal(copy_instrument(a, 1), TOFT_OK);
  assert_int_equal(copy_soft_budget(a, 50, advance_in_callback, frames), TOFT_OK);
  assert_non_null(toft_alloc(a, 100));
  assert_null(in_thread(advance_elsewhere, frames));
  assert_ptr_equal(toft_frame_arena(frames), a);
  assert_ptr_equal(a->ops, ops); /* in the next round of the arena */
  assert_int_equal(toft_get_stats(a).live, 0);
  assert_int_equal(copy_instrument(a, 1), TOFT_OK);
  assert_int_equal(toft_frames_release(frames), TOFT_OK);
}

static void test_shared_arenas(void **state) {
  (void)state;
  toft_shared *shared = toft_shared_create(NULL);
  toft_arena *a = toft_shared_local(shared);
  assert_int_equal(copy_instrument(a, 1), TOFT_OK);
  assert_int_equal(toft_set_checked(a, 1), TOFT_OK);
  assert_non_null(toft_alloc(a, 100));
  assert_int_equal(toft_shared_reset(shared, TOFT_KEEP_RECENT, 0), TOFT_OK);
  assert_int_equal(toft_shared_release(shared), TOFT_OK);
}

static void test_checks(void **state) {
  (void)state;
  toft_arena *a = toft_create();
  assert_int_equal(copy_instrument(a, 1), TOFT_OK);
  assert_int_equal(toft_set_checked(a, 1), TOFT_OK); /* those of the instrument */
  void *text = toft_alloc(a, 24);
  toft_free(a, text, 24);
  toft_free(a, text, 24);
  assert_int_equal(copy_found(a), 1);
  toft_release(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_leases),        cmocka_unit_test(test_adoption), cmocka_unit_test(test_frames),
      cmocka_unit_test(test_shared_arenas), cmocka_unit_test(test_checks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
