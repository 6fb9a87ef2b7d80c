/* Allocations of known lifetimes: parse() frees its allocations, except for one object in a hundred calls.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 5000, OBJECTS = 40 };

static void *kept[CALLS / 100];
static int kept_count;

__attribute__((noinline)) static char *copy(const char *text, size_t bytes) {
  char *p = (char *)malloc(bytes);
  if (p == NULL) abort();
  memcpy(p, text, bytes);
  return p;
}

__attribute__((noinline)) static void keep(int call) { kept[kept_count++] = copy("kept", (size_t)(8 + call % 8)); }

#ifdef INLINED
__attribute__((always_inline)) static inline
#else
__attribute__((noinline)) static
#endif
    int
    parse(const char *text, int call) {
  char *objects[OBJECTS];
  int sum = 0;
  for (int i = 0; i < OBJECTS; i++) objects[i] = copy(text, 24);
  if (call % 100 == 0) keep(call);
  for (int i = 0; i < OBJECTS; i++) {
    sum += objects[i][call % 24];
    free(objects[i]);
  }
  return sum;
}

int main(int argc, char **argv) {
  static const char text[24] = "alpha beta gamma delta";
  int sum = 0;
  char *line = NULL;
  size_t bytes = 0;
  for (int i = 0; i < CALLS; i++) sum += parse(text, i);
  for (int i = 0; i < kept_count; i++) free(kept[i]);
  if (argc > 1 && getline(&line, &bytes, stdin) > 0) printf("%s %s", argv[1], line);
  free(line);
  printf("%d\n", sum);
  return argc > 2 ? atoi(argv[2]) : 0;
}
