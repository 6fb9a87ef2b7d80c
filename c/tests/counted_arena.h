/* An arena for each test, on a source that counts: the test ends with every block back.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_COUNTED_ARENA_H
#define TOFT_TEST_COUNTED_ARENA_H

#include "support.h"

static counted source;
static toft_arena *a;

static inline int set_up(void **state) {
  (void)state;
  a = arena_on(counted_init(&source));
  return 0;
}

static inline int tear_down(void **state) {
  (void)state;
  toft_release(a);
  counted_all_back(&source);
  return 0;
}

#endif
