/* Toft as its users have it: the inline path of the header.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "toft_arena.h"

static int create_in(struct arena *x, void *buffer, size_t size) {
  return (x->a = toft_create_in(buffer, size, toft_heap())) != NULL;
}

#define NAME toft
#define LANGUAGE "C"
#define HANDLE toft_arena *
#define OPEN(x) ((x)->a)
#define CLOSE(x, h) ((void)(h))
#define TAKE(h, size) toft_alloc(h, size)
#define TAKE_ALIGNED(h, size, align) toft_alloc_aligned(h, size, align)
#define DUP(h, s) toft_strdup(h, s)
#define CREATE_IN(x, buffer, size) create_in(x, buffer, size)
#define MARK toft_mark
#define MARK_HERE(h) toft_mark_here(h)
#define REWIND(h, m) (void)toft_rewind(h, m)
#include "loops.inc"
