/* The arena of Toft's contenders.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "toft.h"
#include "w1.h"

struct arena {
  toft_arena *a;
};

static int create(struct arena *x, size_t count, size_t bytes) {
  (void)count, (void)bytes;
  return (x->a = toft_create()) != NULL;
}
static void destroy(struct arena *x) { toft_release(x->a); }
static int clear(struct arena *x) { return toft_reset(x->a) == TOFT_OK; }
