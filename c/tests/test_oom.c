/* The source fails at the 1st, 2nd, ... k-th block, until a run passes untouched. After every failure the arena is as
 * it was and goes on; whatever happens, every block comes back.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>

#include "support.h"

static int cleaned, registered;
static void clean(void *arg) {
  (void)arg;
  cleaned++;
}

/* What a failing call must leave alone. */
typedef struct seen {
  unsigned char *cursor;
  uintptr_t epoch;
  toft_stats stats;
} seen;

static seen look(toft_arena *a) {
  seen s = {a->cursor, a->epoch, toft_get_stats(a)};
  return s;
}

static void same(toft_arena *a, seen s) {
  toft_stats now = toft_get_stats(a);
  assert_ptr_equal(a->cursor, s.cursor);
  assert_true(a->epoch == s.epoch);
  assert_int_equal(now.live, s.stats.live);
  assert_int_equal(now.blocks, s.stats.blocks);
  assert_int_equal(now.reserved, s.stats.reserved);
}

/* Calls everything that can take a block, and counts failures. */
static size_t scenario(toft_arena *a) {
  size_t failures = 0;
  unsigned char *kept = (unsigned char *)toft_alloc(a, 100);
  fill(kept, 100, 1);
  toft_mark m = toft_mark_here(a);
  seen s;
#define attempt(what)     \
  do {                    \
    s = look(a);          \
    if ((what) == NULL) { \
      failures++;         \
      same(a, s);         \
    }                     \
  } while (0)
  for (size_t i = 0; i < 12; i++) {
    void *p;
    attempt(p = toft_alloc(a, 3000));
    if (p != NULL) attempt(toft_resize(a, p, 3000, 9000, 8));
    attempt(toft_alloc_aligned(a, 5000, 4096));
    attempt(toft_alloc_zeroed(a, 60000, 64));
    attempt(p = toft_alloc(a, 400000));
    if (p != NULL) attempt(toft_resize(a, p, 400000, 900000, 8));
    attempt(toft_strdup(a, "string"));
    attempt(toft_printf(a, "%04000d", 7));
    toft_cleanup *node;
    attempt(node = toft_cleanup_add(a, clean, NULL));
    registered += node != NULL;
    toft_pack k = toft_pack_begin(a);
    attempt(toft_pack_alloc(&k, 200));
    toft_range r;
    if (toft_claim(a, &r) == TOFT_OK) {
      unsigned char *before = r.cursor;
      if (toft_range_alloc(a, &r, 70000) == NULL) {
        failures++;
        assert_true(r.cursor == before && r.claim != 0);
      }
      failures += toft_alloc(a, 50) == NULL; /* in a side block */
      assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
    }
    if (i % 4 == 1) assert_int_equal(toft_rewind(a, m), TOFT_OK);
    assert_true(filled(kept, 100, 1));
    if (i % 4 == 3) {
      assert_int_equal(toft_reset(a), TOFT_OK);
      toft_trim(a, i * 10000);
      kept = (unsigned char *)toft_alloc(a, 100);
      if (kept == NULL) return failures + 1;
      fill(kept, 100, 1);
      m = toft_mark_here(a);
    }
  }
#undef attempt
  return failures;
}

static void run(int from_then_on) {
  size_t k = 1, failures;
  do {
    counted c;
    toft_options o = TOFT_OPTIONS;
    o.source = counted_init(&c);
    c.fail_at = from_then_on ? 0 : k;
    c.fail_from = from_then_on ? k : 0;
    cleaned = registered = 0;
    toft_arena *a = toft_create_with(&o);
    failures = 1;
    if (k == 1) {
      assert_null(a);
    } else {
      failures = scenario(a);
      toft_release(a);
    }
    assert_int_equal(cleaned, registered);
    counted_all_back(&c);
    assert_true(failures != 0 || c.asked < k);
    k++;
  } while (failures != 0);
  assert_true(k > 12); /* it failed at many points before */
}

static void each_block_once(void **state) {
  (void)state;
  run(0);
}

static void each_block_and_all_after_it(void **state) {
  (void)state;
  run(1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_block_once),
      cmocka_unit_test(each_block_and_all_after_it),
  };
  return cmocka_run_group_tests_name("out of memory", tests, NULL, NULL);
}
