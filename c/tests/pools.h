/* Pools: options, an insertion that is checked, stale handles, a walk.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_POOLS_H
#define TOFT_TEST_POOLS_H

#include "support.h"

static inline toft_pool_options sized(size_t slot_size) {
  toft_pool_options o = TOFT_POOL_OPTIONS;
  o.slot_size = slot_size;
  return o;
}

static inline toft_pool_options fixed_at(size_t slot_size, size_t slots) {
  toft_pool_options o = sized(slot_size);
  o.slots = slots;
  o.flags = TOFT_POOL_FIXED;
  return o;
}

static inline toft_handle add(toft_pool *p) {
  toft_handle h = 0;
  void *slot = toft_pool_insert(p, &h);
  assert_non_null(slot);
  assert_int_not_equal(h, 0);
  assert_ptr_equal(toft_pool_at(p, h), slot);
  assert_int_equal(toft_pool_handle_of(p, slot), h);
  return h;
}

static inline void is_stale(toft_pool *p, toft_handle h) {
  size_t count = toft_pool_count(p);
  assert_null(toft_pool_at(p, h));
  assert_false(toft_pool_contains(p, h));
  assert_int_equal(toft_pool_remove(p, h), TOFT_EARG);
  assert_int_equal(toft_pool_count(p), count);
}

/* Every live slot once, in order. */
static inline size_t walk(const toft_pool *p) {
  size_t n = 0;
  uint32_t last = 0;
  TOFT_POOL_EACH(w, p) {
    assert_true(w.slot > last);
    last = w.slot;
    assert_ptr_equal(toft_pool_at(p, toft_pool_walk_handle(&w)), toft_pool_walk_slot(&w));
    n++;
  }
  assert_int_equal(n, toft_pool_count(p));
  return n;
}

#endif
