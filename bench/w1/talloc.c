/* talloc: children of one context. Reset is talloc_free_children.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <talloc.h>

#include "w1.h"

struct arena {
  void *context;
};

static int create(struct arena *x, size_t count, size_t bytes) {
  (void)count, (void)bytes;
  return (x->context = talloc_new(NULL)) != NULL;
}
static void destroy(struct arena *x) { (void)talloc_free(x->context); }
static int clear(struct arena *x) { return talloc_free_children(x->context), 1; }

#define NAME talloc
#define LANGUAGE "C"
#define HANDLE void *
#define OPEN(x) ((x)->context)
#define CLOSE(x, h) ((void)(h))
#define TAKE(h, size) talloc_size(h, size)
#define DUP(h, s) talloc_strdup(h, s)
#include "loops.inc"
