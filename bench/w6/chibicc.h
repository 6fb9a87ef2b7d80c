/* The allocations of chibicc (github.com/rui314/chibicc) in an arena. once.py includes this before each file, and
 * makes its two calls of realloc name the old size.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "toft.h"

toft_arena *chibicc_arena; /* of all files: a common symbol */
static void __attribute__((constructor)) create_arena(void) {
  if (chibicc_arena == NULL) chibicc_arena = toft_create();
}

#define calloc(n, size) toft_alloc_zeroed(chibicc_arena, (size_t)(n) * (size), 16)
#define strndup(p, n) toft_strndup(chibicc_arena, p, n)
#define strdup(p) toft_strdup(chibicc_arena, p)
#define GROW(p, before, size) toft_resize(chibicc_arena, p, before, size, 16)
