/* glibc's obstack, aligned to 8 like the others. Reset: obstack_free of the first object frees all and
 * keeps the first chunk; obstack_free of NULL frees everything.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma GCC diagnostic ignored "-Wsign-conversion" /* its macros pass int for size_t */
#include <obstack.h>

#include "w1.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

struct arena {
  struct obstack o;
  void *first;
};

static int create(struct arena *x, size_t count, size_t bytes) {
  (void)count, (void)bytes;
  obstack_init(&x->o);
  obstack_alignment_mask(&x->o) = 7;
  return (x->first = obstack_alloc(&x->o, 0)) != NULL;
}
static void destroy(struct arena *x) { obstack_free(&x->o, NULL); }
static int clear(struct arena *x) {
  obstack_free(&x->o, x->first);
  return (x->first = obstack_alloc(&x->o, 0)) != NULL;
}

#define NAME obstack
#define LANGUAGE "C"
#define HANDLE struct obstack *
#define OPEN(x) (&(x)->o)
#define CLOSE(x, h) ((void)(h))
#define TAKE(h, size) obstack_alloc(h, (int)(size)) /* its lengths are int */
#define DUP(h, s) (char *)obstack_copy0(h, s, (int)strlen(s))
#define MARK void *
#define MARK_HERE(h) obstack_alloc(h, 0) /* freeing an object frees all that came after it */
#define REWIND(h, m) obstack_free(h, m)
#include "loops.inc"
