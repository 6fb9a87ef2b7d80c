/* A few lines of our own that follow the scheme of sensible-arena: blocks of 4 KiB filled downwards with an
 * explicit alignment, a quarter of a block and more in a block of its own, kept blocks after a reset.
 * Unlike the original it pads for the block it ends up in, checks sizes, and gives back large blocks on
 * reset.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "w1.h"

enum { BLOCK = 4096 };
struct block {
  struct block *next;
  int large;
};
struct arena {
  unsigned char *bottom, *top;
  struct block *blocks, *spare;
};

static __attribute__((noinline)) void *more(struct arena *x, size_t size, size_t align) {
  struct block *b = x->spare;
  size_t bytes = BLOCK;
  if (size > SIZE_MAX / 2 || align > SIZE_MAX / 4) return NULL;
  if (size + align >= BLOCK / 4) {
    bytes = sizeof *b + size + align;
    b = NULL;
  }
  if (b != NULL)
    x->spare = b->next;
  else if ((b = (struct block *)malloc(bytes)) == NULL)
    return NULL;
  if ((b->large = bytes != BLOCK) != 0 && x->blocks != NULL) { /* behind the current block, which goes on */
    b->next = x->blocks->next;
    x->blocks->next = b;
    return (void *)(((uintptr_t)(b + 1) + align - 1) & ~(uintptr_t)(align - 1));
  }
  b->next = x->blocks;
  x->blocks = b;
  x->bottom = (unsigned char *)(b + 1);
  x->top = (unsigned char *)b + bytes - size;
  x->top -= (uintptr_t)x->top & (align - 1);
  return x->top;
}

static inline __attribute__((always_inline)) void *take(struct arena *x, size_t size, size_t align) {
  size_t room = (size_t)(x->top - x->bottom);
  size_t pad = (size_t)((uintptr_t)x->top - size) & (align - 1);
  if (__builtin_expect(room < size || room - size < pad, 0)) return more(x, size, align);
  x->top -= size + pad;
  return x->top;
}

static int create(struct arena *x, size_t count, size_t bytes) {
  (void)count, (void)bytes;
  x->bottom = x->top = NULL;
  x->blocks = x->spare = NULL;
  return 1;
}
static int clear(struct arena *x) {
  struct block *b, *next;
  for (b = x->blocks; b != NULL; b = next) {
    next = b->next;
    if (b->large) {
      free(b);
    } else {
      b->next = x->spare;
      x->spare = b;
    }
  }
  x->blocks = NULL;
  x->bottom = x->top = NULL;
  return 1;
}
static void destroy(struct arena *x) {
  struct block *b, *next;
  (void)clear(x);
  for (b = x->spare; b != NULL; b = next) {
    next = b->next;
    free(b);
  }
}

#define NAME model_sensible
#define SHOWN "model-sensible"
#define LANGUAGE "C"
#define TAKE(h, size) take(h, size, 8)
#define TAKE_ALIGNED(h, size, align) take(h, size, align)
#include "loops.inc"
