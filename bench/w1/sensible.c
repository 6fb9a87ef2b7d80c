/* sensible-arena itself. It keeps the large allocations of each round, so the rows with 1 MiB would exhaust memory. The
 * first result in a chunk may be misaligned.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "sensible-arena.h"
#include "w1.h"

struct arena {
  struct senarena a;
};

static int create(struct arena *x, size_t count, size_t bytes) {
  (void)count, (void)bytes;
  x->a = senarena_new();
  return 1;
}
static void destroy(struct arena *x) { senarena_free(x->a); }
static int clear(struct arena *x) {
  senarena_clear(&x->a);
  return 1;
}

#define NAME sensible
#define SHOWN "sensible-arena"
#define LANGUAGE "C"
#define SMALL_ONLY
#define UNALIGNED
#define TAKE(h, size) senarena_alloc(&(h)->a, size, 8)
#define TAKE_ALIGNED(h, size, align) senarena_alloc(&(h)->a, size, align)
#include "loops.inc"
