/* Toft's packed bytes, where strings lie side by side. Only its row of strings is of interest, and only
 * that is timed.
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

#define NAME toft_pack
#define SHOWN "toft pack"
#define LANGUAGE "C"
#define STRINGS_ONLY
#define HANDLE toft_pack
#define OPEN(x) toft_pack_begin((x)->a)
#define CLOSE(x, h) ((void)(h))
#define TAKE(h, size) toft_alloc((h).arena, size)
#define DUP(h, s) toft_pack_strdup(&(h), s)
#include "loops.inc"
