/* Toft in its register-cursor mode: a claimed range, one claim and one give for each repetition of a loop.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "toft_arena.h"

struct claimed {
  toft_arena *a;
  toft_range range;
};

static inline struct claimed claim(struct arena *x) {
  struct claimed h;
  h.a = x->a;
  (void)toft_claim(h.a, &h.range); /* if it fails, the range is empty and the first allocation fails */
  return h;
}

#define NAME toft_claimed
#define SHOWN "toft claimed"
#define LANGUAGE "C"
#define LONG_ONLY
#define SMALL_ONLY
#define HANDLE struct claimed
#define OPEN(x) claim(x)
#define CLOSE(x, h) (void)toft_unclaim((x)->a, &(h).range)
#define TAKE(h, size) toft_range_alloc((h).a, &(h).range, size)
#include "loops.inc"
