/* Each system call that objects make fails once, and from then on, with each error of its manual; a process ends at
 * each call. No call succeeds without its effect, one that fails changes nothing, and nothing leaks.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#if defined(__linux__)
#include "system_scenarios.h"

#include <sys/wait.h>

#if defined(HAS_ASAN) || defined(HAS_MSAN) || defined(HAS_TSAN)
enum { OTHERS = 1 }; /* the runs without a sanitizer have more */
#else
enum { OTHERS = 4 };
#endif

/* Each call of a kind fails with an error, and those after it, `times` in all; outside the long tier only some with an
 * error other than the first of the manual. */
static void fail_each_call(size_t i, uint32_t of, int kind, int error, size_t times) {
  size_t most = long_run() || error == system_calls[kind].errors[0] ? SIZE_MAX : OTHERS;
  for (size_t k = 1; k <= most; k++) {
    no_order();
    order.kind = kind;
    order.error = error;
    order.from = k;
    order.until = times != SIZE_MAX ? k + times - 1 : error == EINTR ? k + 20 : SIZE_MAX; /* signals end */
    order.part = 60000;
    int granted = run(i, of), reached = calls_made[kind] >= k;
    if (!reached || (error == EINTR && kind != CALL_open)) CHECK(granted);
    if (!reached) return;
  }
}

static void each_call_fails(void **state) {
  (void)state;
  toft_on_finding(count_finding, NULL);
  for (size_t i = 0; i < SCENARIOS; i++)
    for (uint32_t of = 0; of < scenarios[i].variants; of++) {
      no_order();
      expected = found_last = 0;
      (void)run(i, of);
      expected = found_last; /* with pointers of 4 bytes an emulator may give the mapping no name */
      if (scenarios[i].run == regions) assert_true(sizeof(void *) == 4 || expected == (of & TOFT_REGION_CHECKED) / 2);
      CHECK(run(i, of));
      assert_true(calls_made[CALL_KINDS] > 2);
      fail_each_call(i, of, CALL_KINDS, EIO, 2); /* also the call that is made instead */
      for (int once = 0; once <= 1; once++)
        for (int kind = 0; kind <= CALL_KINDS; kind++)
          for (const int *error = system_calls[kind].errors; *error != 0; error++)
            if (calls_made[kind] != 0) fail_each_call(i, of, kind, *error, once ? 1 : SIZE_MAX);
    }
  no_order();
}

/* A process that ends at any call leaves the old file or the new one. */
static void a_process_ends_at_each_call(void **state) {
  (void)state;
  skip_where_forks_among_threads_stop();
  int old = 0, new = 0, status = -1;
  no_order();
  for (size_t n = 1; status != 1 << 8; n++) {
    assert_int_equal(freeze_value(5), TOFT_OK);
    pid_t child = fork();
    if (child == 0) {
      memset(calls_made, 0, sizeof calls_made);
      order.active = order.ends = 1;
      order.from = order.until = n;
      _exit(freeze_value(6) == TOFT_OK ? 1 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(status == 0 || status == 1 << 8);
    int value = value_of_file();
    assert_true(value == 5 || value == 6);
    value == 5 ? old++ : new ++;
  }
  assert_true(old > 15 && new > 1);
  (void)files_in_folder(1);
  assert_int_equal(freeze_value(5), TOFT_OK);
}

/* Pages that stay mapped are counted as returned if their content is, and else as held. */
static void pages_that_cannot_be_unmapped(void **state) {
  (void)state;
  for (int returns = 0; returns <= 1; returns++) {
    no_order();
    unsigned char *p = (unsigned char *)toft_page_map(MIB, 0);
    assert_non_null(p);
    *p = 1;
    size_t held = held_bytes;
    order.active = 1;
    order.kind = returns ? CALL_munmap : CALL_KINDS;
    order.error = ENOMEM;
    order.from = 1;
    order.until = SIZE_MAX;
    toft_page_unmap(p, MIB);
    no_order();
    assert_int_equal(held - held_bytes, returns ? MIB : 0);
    assert_int_equal(*p, !returns);
    assert_int_equal(ordered_munmap(p, MIB), 0);
  }
}

/* A system that makes no pages present is not called for it again. */
static void pages_that_cannot_be_made_present(void **state) {
  (void)state;
  no_order();
  toft_fresh.is_refused = 0;
  toft_fresh.mapped = TOFT_FRESH_POPULATED;
  toft_fresh.small = 8 * TOFT_HUGE_PAGE;
  for (size_t calls = 2; calls >= 1; calls--) { /* small pages; present ones, the first time */
    memset(calls_made, 0, sizeof calls_made);
    order.active = 1;
    order.kind = CALL_madvise;
    order.error = EINVAL;
    order.from = calls;
    order.until = SIZE_MAX;
    unsigned char *p = (unsigned char *)toft_page_map(TOFT_HUGE_PAGE, 1);
    order.active = 0;
    assert_true(p != NULL && toft_fresh.is_refused);
    assert_int_equal(calls_made[CALL_madvise], calls);
    p[0] = p[TOFT_HUGE_PAGE - 1] = 1;
    toft_page_unmap(p, TOFT_HUGE_PAGE);
  }
  memset(&toft_fresh, 0, sizeof toft_fresh);
}

/* ---- default sizes ---- */

static void a_default_maximum_becomes_less(void **state) {
  static const size_t rooms[][2] = {{600, 512}, {500, 256}, {20, 16}, {10, 0}};
  toft_region_options o = TOFT_REGION_OPTIONS;
  (void)state;
  no_order();
  for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
    order.room = mapped_bytes + rooms[i][0] * MIB;
    toft_region *r = toft_region_create(NULL);
    size_t expects = sizeof(void *) == 4 && rooms[i][1] > 64 ? 64 : rooms[i][1];
    assert_int_equal(r != NULL ? toft_region_get_stats(r).limit : 0, expects * MIB);
    toft_region_release(r);
    o.max = rooms[i][0] * MIB + 4096; /* one that is given does not */
    assert_null(toft_region_create(&o));
    int value = 7, code = toft_freeze(build, &value, path, NULL);
    assert_int_equal(code, rooms[i][0] < 80 ? TOFT_ENOMEM : TOFT_OK);
    order.room = 0;
    assert_int_equal(value_of_file(), rooms[i][0] < 80 ? 5 : 7);
    assert_int_equal(freeze_value(5), TOFT_OK);
  }
}

/* A recycler has its first objects where little can be mapped. */
static void a_small_recycler_maps_little(void **state) {
  (void)state;
  no_order();
  for (size_t kib = 64; kib <= 4096; kib *= 2) {
    toft_recycler r;
    toft_cache_trim();
    assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
    order.room = mapped_bytes + kib * 1024;
    void *p = toft_recycler_alloc(&r, 100, 8);
    order.room = 0;
    assert_non_null(p);
    toft_recycler_release(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_call_fails),
      cmocka_unit_test(a_process_ends_at_each_call),
      cmocka_unit_test(pages_that_cannot_be_unmapped),
      cmocka_unit_test(pages_that_cannot_be_made_present),
      cmocka_unit_test(a_default_maximum_becomes_less),
      cmocka_unit_test(a_small_recycler_maps_little),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
#else
int main(void) { return 77; }
#endif
