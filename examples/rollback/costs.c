/* What checkpoints of a region cost, beside whole copies of its content, in turns:
 *     costs MEBIBYTES PERMILLE ROUNDS
 * Between two of them PERMILLE pages of a thousand are written. Prints medians of microseconds: by the system's record,
 * by comparing, by copies; and bytes for each checkpoint, and the speed of a digest.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "toft.h"
#include "toft/region.h"

enum { PAGE = 4096, MOST = 1000 };

typedef struct way {
  const char *name;
  uint32_t flags;
  int copies;
  toft_region *region;
  unsigned char *data, *copy;
  uint64_t saved;
  double save[MOST], restore[MOST];
} way;

static way ways[] = {{.name = "by the system's record"},
                     {.name = "by comparing", .flags = TOFT_REGION_COMPARES},
                     {.name = "whole copies", .copies = 1}};
static size_t size, pages_written;
static uint64_t seed = 1;

static void fail(const char *what) {
  fprintf(stderr, "costs: %s\n", what);
  exit(1);
}

static double microseconds(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void change(const way *w) {
  for (size_t i = 0; i < pages_written; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    w->data[(seed >> 33) % (size / PAGE) * PAGE + 77] ^= (unsigned char)(i + 1);
  }
}

/* A checkpoint; the one before it is dropped. */
static double save(way *w) {
  toft_checkpoint before = toft_region_current(w->region);
  double begin = microseconds();
  if (!w->copies) {
    if (toft_region_checkpoint(w->region, NULL) != TOFT_OK) fail("no memory for a checkpoint");
    double end = microseconds();
    if (before != 0) (void)toft_region_drop_checkpoint(w->region, before);
    return end - begin;
  }
  unsigned char *copy = (unsigned char *)malloc(size);
  if (copy == NULL) fail("no memory for a copy");
  memcpy(copy, w->data, size);
  double end = microseconds();
  free(w->copy);
  w->copy = copy;
  return end - begin;
}

static double restore(const way *w) {
  double begin = microseconds();
  if (!w->copies) {
    if (toft_region_restore(w->region, 0) != TOFT_OK) fail("a restore is refused");
  } else {
    memcpy(w->data, w->copy, size);
  }
  return microseconds() - begin;
}

static int less(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int n) {
  qsort(values, (size_t)n, sizeof *values, less);
  return values[n / 2];
}

int main(int argc, char **argv) {
  int rounds = argc == 4 ? atoi(argv[3]) : 0;
  size = argc == 4 ? (size_t)atol(argv[1]) << 20 : 0;
  if (size == 0 || rounds < 1 || rounds > MOST) fail("expected: costs MEBIBYTES PERMILLE ROUNDS");
  pages_written = size / PAGE * (size_t)atol(argv[2]) / 1000;
  for (way *w = ways; w < ways + 3; w++) {
    toft_region_options o = TOFT_REGION_OPTIONS;
    o.flags = w->flags;
    w->region = toft_region_create(&o);
    w->data = w->region != NULL ? (unsigned char *)toft_alloc(toft_region_arena(w->region), size) : NULL;
    if (w->data == NULL) fail("no memory");
    for (size_t i = 0; i < size; i++) w->data[i] = (unsigned char)(i * 2654435761u >> 13);
    (void)save(w);
    change(w);
    (void)save(w);
    uint64_t before = toft_region_get_stats(w->region).saved;
    change(w);
    if (!w->copies && toft_region_checkpoint(w->region, NULL) != TOFT_OK) fail("no memory for a checkpoint");
    w->saved = w->copies ? size : toft_region_get_stats(w->region).saved - before;
  }
  for (int round = 0; round < rounds; round++)
    for (way *w = ways; w < ways + 3; w++) {
      change(w);
      w->save[round] = save(w);
      change(w);
      w->restore[round] = restore(w);
    }
  printf("%-24s%14s%14s%14s\n", argv[1], "checkpoint us", "restore us", "KiB of one");
  for (way *w = ways; w < ways + 3; w++)
    printf("%-24s%14.0f%14.0f%14.0f\n", w->name, median(w->save, rounds), median(w->restore, rounds),
           (double)w->saved / 1024);
  uint64_t digest = 0;
  double begin = microseconds();
  if (toft_region_digest(ways[0].region, 0, &digest) != TOFT_OK) fail("no digest");
  printf("a digest: %.1f GB/s\n", (double)size / (microseconds() - begin) / 1e3);
  return 0;
}
