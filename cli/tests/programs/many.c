/* A number of objects, the first argument, each in a call of its own; "kept": none is freed.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static void once(int kept) {
  void *volatile p = malloc(40);
  if (!kept) free(p);
}

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 0;
  int kept = argc > 2 && strcmp(argv[2], "kept") == 0;
  for (long i = 0; i < n; i++) once(kept);
  return 0;
}
