/* What the programs here measure of themselves, and how they say it: ../bench reads it, and programs.py.
 *     parts NAME...                            the parts of a round
 *     round PROCESSOR WALL FAULTS TIME...      nanoseconds; page faults; the processor's nanoseconds for each part
 *     total HASH PEAK                          of all that was computed; the most memory ever held, in KiB
 * Times are the processor's: other programs and the disk take none of it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef EXAMPLES_MEASURE_H
#define EXAMPLES_MEASURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static inline uint64_t clock_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t now(void) { return clock_of(CLOCK_PROCESS_CPUTIME_ID); }

/* Those that needed no disk. */
static inline long faults(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_minflt;
}

/* KiB; 0: unknown. Not ru_maxrss, which begins with what the parent had. */
static inline long peak(void) {
  char line[256];
  long kib = 0;
  FILE *f = fopen("/proc/self/status", "r");
  if (f == NULL) return 0;
  while (fgets(line, sizeof line, f) != NULL)
    if (strncmp(line, "VmHWM:", 6) == 0) kib = strtol(line + 6, NULL, 10);
  fclose(f);
  return kib;
}

struct meter {
  uint64_t processor, wall;
  long faults;
};

static inline struct meter meter_begin(void) {
  struct meter m = {now(), clock_of(CLOCK_MONOTONIC), faults()};
  return m;
}

static inline void meter_end(const struct meter *m, const uint64_t *parts, int count) {
  struct meter end = meter_begin();
  printf("round %llu %llu %ld", (unsigned long long)(end.processor - m->processor),
         (unsigned long long)(end.wall - m->wall), end.faults - m->faults);
  for (int i = 0; i < count; i++) printf(" %llu", (unsigned long long)parts[i]);
  printf("\n");
}

static inline void print_parts(const char *names) { printf("parts %s\n", names); }

static inline void print_total(uint64_t hash) { printf("total %016llx %ld\n", (unsigned long long)hash, peak()); }

#define HASH_START 0xcbf29ce484222325u
static inline uint64_t hash_bytes(uint64_t h, const void *p, size_t n) {
  const unsigned char *s = (const unsigned char *)p;
  for (size_t i = 0; i < n; i++) h = (h ^ s[i]) * 0x100000001b3u; /* FNV-1a */
  return h;
}

/* A file, and a NUL behind it, from malloc. NULL: it cannot be read. */
static inline char *load(const char *path, size_t *bytes) {
  FILE *f = fopen(path, "rb");
  char *text = NULL;
  long size;
  if (f == NULL) return NULL;
  if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0 &&
      (text = (char *)malloc((size_t)size + 1)) != NULL) {
    size_t n = fread(text, 1, (size_t)size, f);
    text[n] = 0;
    if (bytes != NULL) *bytes = n;
    if (n != (size_t)size) {
      free(text);
      text = NULL;
    }
  }
  fclose(f);
  return text;
}

#endif
