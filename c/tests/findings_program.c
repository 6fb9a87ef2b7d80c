/* A program with an overrun, compiled without TOFT_SITES: check-findings runs it with different environments and
 * rights, and compares the output. With the argument `setuid` it first becomes the file's owner.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "toft.h"

static char *make_name(toft_arena *a, size_t size) {
  return (char *)toft_alloc(a, size); /* the line that findings name */
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "setuid") == 0 && setuid(geteuid()) != 0) return 3;
  toft_arena *a = toft_create();
  if (a == NULL) return 1;
  char *name = make_name(a, 16);
  if (name == NULL) return 1;
  ((volatile char *)name)[17] = '!';
  toft_release(a);
  puts("ended");
  return 0;
}
