/* malloc, and free of each object in allocation order. Pointers are kept in an array, as the original does.
 * The preloaded library determines the malloc.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "w1.h"

enum { FEW = 16 };
struct arena {
  void **all;
  size_t used;
  void *few[FEW];
};

static int create(struct arena *x, size_t count, size_t bytes) {
  (void)bytes;
  x->used = 0;
  x->all = count <= FEW ? x->few : (void **)malloc(count * sizeof *x->all);
  /* Page faults of the array are not measured: */
  if (x->all != NULL && x->all != x->few) memset(x->all, 0, count * sizeof *x->all);
  return x->all != NULL;
}
static int clear(struct arena *x) {
  size_t i;
  for (i = 0; i < x->used; i++) free(x->all[i]);
  x->used = 0;
  return 1;
}
static void destroy(struct arena *x) {
  (void)clear(x);
  if (x->all != x->few) free(x->all);
}
static void rewind_to(struct arena *x, size_t used) {
  while (x->used > used) free(x->all[--x->used]);
}
static inline void *keep(struct arena *x, void *p) { return x->all[x->used++] = p; }
static inline void *aligned(struct arena *x, size_t size, size_t align) {
  if (align <= 8 || (align == 16 && size >= 16)) return keep(x, malloc(size));
  return keep(x, aligned_alloc(align, (size + align - 1) & ~(align - 1)));
}

#define NAME malloc
#define LANGUAGE "C"
#define TAKE(h, size) keep(h, malloc(size))
#define TAKE_ALIGNED(h, size, align) aligned(h, size, align)
#define DUP(h, s) (char *)keep(h, strdup(s))
#define MARK size_t
#define MARK_HERE(h) ((h)->used)
#define REWIND(h, m) rewind_to(h, m)
#include "loops.inc"
