/* The interface of sensible-arena on Toft, for programs that are not edited: toft/senarena.h.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "toft/senarena.h"
#include "w1.h"

struct arena {
  struct senarena a;
};

static int create(struct arena *x, size_t count, size_t bytes) {
  (void)count, (void)bytes;
  x->a = senarena_new();
  return x->a.arena != NULL;
}
static void destroy(struct arena *x) { senarena_free(x->a); }
static int clear(struct arena *x) {
  senarena_clear(&x->a);
  return 1;
}

#define NAME toft_senarena
#define SHOWN "toft senarena"
#define LANGUAGE "C"
#define TAKE(h, size) senarena_alloc(&(h)->a, size, 8)
#define TAKE_ALIGNED(h, size, align) senarena_alloc(&(h)->a, size, align)
#include "loops.inc"
