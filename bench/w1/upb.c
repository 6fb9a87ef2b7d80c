/* upb's arena through its inline header. It has no reset: free and new is its documented way.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <upb/mem/arena.h>

#include "w1.h"

struct arena {
  upb_Arena *a;
};

static int create(struct arena *x, size_t count, size_t bytes) {
  (void)count, (void)bytes;
  return (x->a = upb_Arena_New()) != NULL;
}
static int create_in(struct arena *x, void *buffer, size_t size) {
  return (x->a = upb_Arena_Init(buffer, size, &upb_alloc_global)) != NULL;
}
static void destroy(struct arena *x) { upb_Arena_Free(x->a); }
static int clear(struct arena *x) { return destroy(x), create(x, 0, 0); }

#define NAME upb
#define LANGUAGE "C"
#define HANDLE upb_Arena *
#define OPEN(x) ((x)->a)
#define CLOSE(x, h) ((void)(h))
#define TAKE(h, size) upb_Arena_Malloc(h, size)
#define CREATE_IN(x, buffer, size) create_in(x, buffer, size)
#include "loops.inc"
