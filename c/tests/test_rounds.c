/* 10^5 rounds of mixed large and small under a memory limit: reset, rewind, create and release must all come to rest.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

#ifdef __linux__
#include <sys/resource.h>
#endif

static size_t rounds(void) { return long_run() ? 100000 : 5000; }

static size_t mixed(uint32_t *random) {
  uint32_t x = next_random(random);
  if (x % 997 == 0) return 1 << 20;
  if (x % 23 == 0) return next_random(random) % 200000;
  return x % 3 ? 8 + x % 60 : x % 3000;
}

static void one_round(toft_arena *a, uint32_t *random) {
  for (int i = 0; i < 12; i++) {
    size_t size = mixed(random);
    unsigned char *p = (unsigned char *)toft_alloc_aligned(a, size, (size_t)1 << (next_random(random) % 8));
    assert_non_null(p);
    if (size != 0) p[0] = p[size - 1] = 1;
  }
}

static void resets(void **state) {
  uint32_t policies[] = {TOFT_KEEP_RECENT, TOFT_KEEP_ALL, TOFT_KEEP_BYTES};
  (void)state;
  for (int k = 0; k < 3; k++) {
    counted c;
    uint32_t random = 5;
    size_t late = 0;
    toft_arena *a = arena_on(counted_init(&c));
    for (size_t round = 0; round < rounds(); round++) {
      if (round == rounds() / 2) late = c.attempts;
      one_round(a, &random);
      assert_int_equal(toft_reset_keep(a, policies[k], 100000), TOFT_OK);
    }
    assert_true(c.peak <= (size_t)24 << 20);
    if (policies[k] != TOFT_KEEP_BYTES) assert_true((c.attempts - late) * 4 < rounds()); /* a quarter at most */
    toft_release(a);
    counted_all_back(&c);
  }
}

static void rewinds(void **state) {
  counted c;
  uint32_t random = 7;
  (void)state;
  toft_arena *a = arena_on(counted_init(&c));
  assert_non_null(toft_alloc(a, 100));
  for (size_t round = 0; round < rounds(); round++) {
    toft_mark m = toft_mark_here(a);
    one_round(a, &random);
    toft_mark inner = toft_mark_here(a);
    one_round(a, &random);
    if (round % 2) assert_int_equal(toft_rewind(a, inner), TOFT_OK);
    assert_int_equal(toft_rewind(a, m), TOFT_OK);
  }
  assert_int_equal(toft_get_stats(a).live, 104);
  assert_true(c.peak <= (size_t)24 << 20);
  toft_release(a);
  counted_all_back(&c);
}

static void creates_and_releases(void **state) {
  uint32_t random = 9;
  (void)state;
  for (size_t round = 0; round < rounds(); round++) {
    toft_arena *a = toft_create();
    assert_non_null(a);
    one_round(a, &random);
    toft_release(a);
    assert_true(toft_cache_bytes() <= (size_t)4 << 20);
  }
}

static void one_large_object_a_round(void **state) {
  counted c;
  size_t late = 0;
  (void)state;
  toft_arena *a = arena_on(counted_init(&c));
  for (size_t round = 0; round < rounds(); round++) {
    if (round == 20) late = c.attempts;
    unsigned char *p = (unsigned char *)toft_alloc(a, 1 << 20);
    assert_non_null(p);
    p[0] = p[(1 << 20) - 1] = 1;
    assert_int_equal(toft_reset(a), TOFT_OK);
  }
  assert_int_equal(c.attempts, late);
  assert_true(c.peak <= (size_t)8 << 20);
  toft_release(a);
  counted_all_back(&c);
}

static void above_what_reset_merges(void **state) {
  counted c;
  size_t late = 0;
  (void)state;
  toft_arena *a = arena_on(counted_init(&c));
  for (int round = 0; round < 12; round++) {
    if (round == 3) late = c.attempts;
    for (int i = 0; i < 700; i++) assert_non_null(toft_alloc(a, 100000 + (size_t)(i % 3) * 70000));
    assert_int_equal(toft_reset(a), TOFT_OK);
  }
  assert_int_equal(c.attempts, late);
  for (int round = 0; round < 64; round++) assert_int_equal(toft_reset(a), TOFT_OK);
  assert_int_equal(c.bytes, 4096); /* the recent rounds needed nothing */
  toft_release(a);
  counted_all_back(&c);
}

int main(void) {
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(TOFT_NO_LIMIT)
#if !defined(__has_feature)
  struct rlimit limit = {(rlim_t)512 << 20, (rlim_t)512 << 20}; /* a leak must not be able to hide */
  (void)setrlimit(RLIMIT_AS, &limit);
#endif
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(resets),
      cmocka_unit_test(rewinds),
      cmocka_unit_test(creates_and_releases),
      cmocka_unit_test(one_large_object_a_round),
      cmocka_unit_test(above_what_reset_merges),
  };
  return cmocka_run_group_tests_name("rounds", tests, NULL, NULL);
}
