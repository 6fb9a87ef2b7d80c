/* Answers queries: read WAY FILE NAME... prints each package and how many depend on it, after the nanoseconds until the
 * file is open and until the first answer. It ends when its input ends, so that its memory can be measured.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "read.h"

#include <time.h>

static const way *const ways[] = {&frozen_way, &frozen_verified_way, &list_way,
                                  &json_way,   &frozen_json_way,     &sqlite_way};

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int main(int argc, char **argv) {
  const way *w = NULL;
  for (size_t i = 0; i < sizeof ways / sizeof *ways && argc > 3; i++)
    if (strcmp(ways[i]->name, argv[1]) == 0) w = ways[i];
  if (w == NULL) return 2;
  long long start = now();
  if (!w->open(argv[2])) {
    fprintf(stderr, "%s was not opened\n", argv[2]);
    return 1;
  }
  long long opened = now();
  w->package(argv[3]);
  printf("times %lld %lld\n", opened - start, now() - start);
  for (int i = 3; i < argc; i++) {
    w->package(argv[i]);
    printf("%s is needed by %llu\n", argv[i], (unsigned long long)w->needed_by(argv[i]));
  }
  printf("done\n");
  fflush(stdout);
  while (getchar() != EOF) {
  }
  return 0;
}
