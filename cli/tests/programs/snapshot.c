/* Prints a snapshot of an arena.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>

#include "toft.h"

static inline __attribute__((always_inline)) void *xmalloc(toft_arena *a, size_t size) {
  return toft_alloc(a, size); /* xmalloc allocates */
}

__attribute__((noinline)) static int read_names(toft_arena *a) {
  return xmalloc(a, 100) != NULL && xmalloc(a, SIZE) != NULL; /* read_names allocates */
}

static int print(void *arg, const char *text, size_t size) {
  return fwrite(text, 1, size, (FILE *)arg) == size ? 0 : -1;
}

int main(void) {
  toft_arena *a = toft_create();
  if (a == NULL || toft_set_sampling(a, 1) != 0 || !read_names(a)) return 1;
  int code = toft_snapshot(a, NULL, print, stdout);
  toft_release(a);
  return code != 0;
}
