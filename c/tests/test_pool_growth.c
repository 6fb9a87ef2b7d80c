/* Pools that grow when the system has no memory or no address space: a copy of the library whose system calls fail on
 * demand.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef _WIN32
#define _DEFAULT_SOURCE 1
#include <stdint.h>
#include <sys/mman.h>

static size_t commits, fail_commit, fail_from; /* counted from 1; 0: none fails */
static size_t widest = SIZE_MAX;               /* the most address space that there is at once */

static int ordered_mprotect(void *p, size_t size, int protection) {
  if (protection != PROT_NONE) {
    commits++;
    if (commits == fail_commit || (fail_from != 0 && commits >= fail_from)) return -1;
  }
  return mprotect(p, size, protection);
}

static void *ordered_mmap(void *at, size_t size, int protection, int flags, int fd, int offset) {
  return size <= widest ? mmap(at, size, protection, flags, fd, offset) : MAP_FAILED;
}

#define mprotect ordered_mprotect
#define mmap ordered_mmap
#define TOFT_STATIC
#include "toft.c"
#undef mprotect
#undef mmap

#include "support.h"

static void begin(size_t from, size_t at) {
  commits = 0;
  fail_from = from;
  fail_commit = at;
}

static void insert_numbered(toft_pool *p, uint32_t n) {
  uint32_t *slot = (uint32_t *)toft_pool_insert(p, NULL);
  assert_non_null(slot);
  *slot = n;
}

static void holds_numbers_below(const toft_pool *p, uint32_t n) {
  uint32_t i = 0;
  TOFT_POOL_EACH(w, p) assert_int_equal(*(uint32_t *)toft_pool_walk_slot(&w), i++);
  assert_int_equal(i, n);
  assert_int_equal(toft_pool_count(p), n);
}

/* Each commit fails once, and later works: until a run passes untouched. */
static void each_commit_fails_once(void **state) {
  enum { N = 60000 };
  size_t k = 1;
  (void)state;
  for (;; k++) {
    toft_pool p;
    toft_pool_options o = TOFT_POOL_OPTIONS;
    o.slot_size = 100;
    o.slots = 700;
    begin(0, k);
    assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);       /* the commit is attempted once more */
    for (uint32_t i = 0; i < N; i++) insert_numbered(&p, i); /* a smaller step succeeds at once */
    holds_numbers_below(&p, N);
    toft_pool_release(&p);
    if (commits < k) break;
  }
  assert_true(k > 12);
  begin(0, 0);
}

/* From some commit on all fail: the pool is full at its size, keeps its values, and grows when there is memory
 * again. */
static void all_commits_fail_from_the_kth_on(void **state) {
  (void)state;
  for (size_t k = 4; k < 20; k++) {
    toft_pool p;
    toft_pool_options o = TOFT_POOL_OPTIONS;
    o.slot_size = 100;
    o.slots = 1;
    begin(k, 0);
    assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
    uint32_t n = 0;
    for (;; n++) {
      uint32_t *slot = (uint32_t *)toft_pool_insert(&p, NULL);
      if (slot == NULL) break;
      *slot = n;
    }
    toft_handle h = 7;
    for (int again = 0; again < 3; again++) assert_null(toft_pool_insert(&p, &h));
    assert_int_equal(h, 7);
    assert_int_equal(toft_pool_capacity(&p), n);
    assert_int_equal(toft_pool_reserve(&p, n + 1), TOFT_ENOMEM);
    assert_int_equal(toft_pool_reserve(&p, n), TOFT_OK);
    holds_numbers_below(&p, n);
    for (h = 1; h < 3000; h++) assert_int_equal(toft_pool_contains(&p, h), h <= n);
    assert_int_equal(toft_pool_remove(&p, 1), TOFT_OK); /* a free slot is enough */
    *(uint32_t *)toft_pool_at(&p, n) = n - 1;
    insert_numbered(&p, 0);
    assert_null(toft_pool_insert(&p, NULL));
    begin(0, 0);
    for (uint32_t i = 0; i < 1000; i++) insert_numbered(&p, n + i);
    holds_numbers_below(&p, n + 1000);
    toft_pool_clear(&p);
    toft_pool_trim(&p);
    begin(1, 0);
    assert_null(toft_pool_insert(&p, NULL));
    begin(0, 0);
    insert_numbered(&p, 0);
    toft_pool_release(&p);
  }
}

static void little_address_space(void **state) {
  (void)state;
  toft_pool p;
  toft_pool_options o = TOFT_POOL_OPTIONS;
  o.slot_size = 64;
  begin(0, 0);
  widest = (size_t)40 << 20; /* fewer slots, if max_slots is not given */
  assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
  assert_true(p.max > 100000 && p.max < (40 << 20) / 64);
  assert_true(toft_pool_get_stats(&p).reserved <= widest);
  for (uint32_t i = 0; i < 1000; i++) insert_numbered(&p, i);
  toft_pool_release(&p);
  o.max_slots = 1000000;
  assert_int_equal(toft_pool_init(&p, &o), TOFT_ENOMEM);
  o.max_slots = 0;
  o.slots = 1000000;
  assert_int_equal(toft_pool_init(&p, &o), TOFT_ENOMEM);
  o.slots = 0;
  widest = 60000;
  assert_int_equal(toft_pool_init(&p, &o), TOFT_ENOMEM);
  toft_pool_release(&p);
  widest = SIZE_MAX;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_commit_fails_once),
      cmocka_unit_test(all_commits_fail_from_the_kth_on),
      cmocka_unit_test(little_address_space),
  };
  (void)toft_cache_limit(0); /* ranges that are kept need no memory */
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
int main(void) { return 77; } /* skipped */
#endif
