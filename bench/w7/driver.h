/* What the programs of W7 have in common: they read files, then repeat a round in which the library processes them.
 *     PROGRAM WAY ROUNDS FILE...
 * WAY: malloc, or a way that the program's adapter supports. The output is that of ../../examples/measure.h.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef W7_DRIVER_H
#define W7_DRIVER_H

#include "../../examples/measure.h"

struct text {
  const char *path;
  char *bytes; /* a NUL follows them */
  size_t size;
};

static const char *driver_program;
static uint64_t driver_hash;

static inline void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", driver_program, what);
  exit(1);
}

/* Adds bytes of the result to the hash of the round, eight at a time: hash_bytes takes longer than some libraries. */
static inline void output(const void *p, size_t n) {
  const unsigned char *s = (const unsigned char *)p;
  for (; n >= 8; s += 8, n -= 8) {
    uint64_t word;
    memcpy(&word, s, sizeof word);
    driver_hash = (driver_hash ^ word) * 0x100000001b3u;
    driver_hash ^= driver_hash >> 32;
  }
  driver_hash = hash_bytes(driver_hash, s, n);
}

/* adapt is called once, before the library is used, and returns whether it supports the way; then prepare, unless it is
 * NULL; then play, in each round. */
static inline int drive(int argc, char **argv, int (*adapt)(const char *way), void (*prepare)(struct text *, int),
                        void (*play)(struct text *, int)) {
  int count = argc - 3, rounds = argc > 3 ? atoi(argv[2]) : 0;
  struct text *texts;
  uint64_t first = 0;
  driver_program = argv[0];
  if (rounds < 1) fail("usage: PROGRAM WAY ROUNDS FILE...");
  if ((texts = (struct text *)calloc((size_t)count, sizeof *texts)) == NULL) fail("no memory");
  for (int i = 0; i < count; i++) {
    texts[i].path = argv[3 + i];
    if ((texts[i].bytes = load(texts[i].path, &texts[i].size)) == NULL) fail(texts[i].path);
  }
  if (strcmp(argv[1], "malloc") != 0 && !adapt(argv[1])) fail("the adapter does not know this way");
  if (prepare != NULL) prepare(texts, count);
  print_parts("");
  for (int i = 0; i < rounds; i++) {
    struct meter m = meter_begin();
    driver_hash = HASH_START;
    play(texts, count);
    meter_end(&m, NULL, 0);
    if (i == 0) first = driver_hash;
    if (driver_hash != first) fail("two rounds gave different results");
  }
  print_total(first);
  for (int i = 0; i < count; i++) free(texts[i].bytes);
  free(texts);
  return 0;
}

#endif
