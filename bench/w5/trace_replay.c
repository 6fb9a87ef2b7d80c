/* Replays a trace: trace_replay FILE malloc|toft. `malloc` is the process's, which LD_PRELOAD may replace; `toft` is
 * toft_malloc. Each object's lines are written once, as the program did. Prints a JSON object: processor time of the
 * replay, the peak of resident memory above what the program had before, and the largest sum of requested bytes.
 * What the replay itself needs comes from mmap, so that no malloc reuses it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <toft.h>
#include <unistd.h>

#include "trace.h"

typedef struct step {
  uint32_t call, slot, size;
} step;

typedef struct entry { /* a table of live addresses */
  uint64_t address;    /* 0: free */
  uint32_t slot, size;
} entry;

static step *steps;
static char **objects;
static size_t step_count, slot_count, live_peak;

static void stop(const char *why) {
  fprintf(stderr, "trace_replay: %s\n", why);
  exit(1);
}

static void *pages(size_t bytes) {
  void *p = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) stop("no memory");
  return p;
}

static entry *place_of(entry *table, size_t mask, uint64_t address) {
  size_t i = (size_t)(address >> 4) * 0x9E3779B97F4A7C15u >> 20 & mask;
  while (table[i].address != 0 && table[i].address != address) i = (i + 1) & mask;
  return &table[i];
}

/* Moves later entries of the chain down, so that no search ends too early. */
static void erase(entry *table, size_t mask, entry *hole) {
  size_t i = (size_t)(hole - table);
  hole->address = 0;
  for (i = (i + 1) & mask; table[i].address != 0; i = (i + 1) & mask) {
    entry moved = table[i];
    table[i].address = 0;
    *place_of(table, mask, moved.address) = moved;
  }
}

/* Turns addresses into slots. Frees of unknown addresses are omitted; objects that are never freed stay. */
static void read_trace(const char *path) {
  int file = open(path, O_RDONLY);
  struct stat st;
  if (file < 0 || fstat(file, &st) != 0 || st.st_size == 0) stop("no trace");
  size_t n = (size_t)st.st_size / sizeof(trace_event), mask = 1, free_count = 0, live = 0;
  trace_event *e = (trace_event *)mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  if (e == MAP_FAILED) stop("the trace cannot be mapped");
  while (mask < 2 * n) mask *= 2;
  entry *table = (entry *)pages(mask * sizeof *table);
  uint32_t *free_slots = (uint32_t *)pages(n * sizeof *free_slots);
  steps = (step *)pages(n * sizeof *steps);
  mask--;
  for (size_t i = 0; i < n; i++) {
    entry *at = place_of(table, mask, e[i].address);
    uint32_t size = e[i].size != 0 ? e[i].size : 1;
    if (e[i].call == TRACE_FREE || e[i].call == TRACE_RESIZED) {
      if (at->address == 0) continue;
      entry old = *at;
      int moves = e[i].call == TRACE_RESIZED && i + 1 < n && e[i + 1].call == TRACE_REALLOC;
      erase(table, mask, at);
      live -= old.size;
      if (!moves) {
        steps[step_count++] = (step){TRACE_FREE, old.slot, old.size};
        free_slots[free_count++] = old.slot;
        continue;
      }
      size = e[++i].size != 0 ? e[i].size : 1;
      steps[step_count++] = (step){TRACE_REALLOC, old.slot, size};
      *place_of(table, mask, e[i].address) = (entry){e[i].address, old.slot, size};
    } else if (at->address == 0) { /* otherwise its free was not recorded */
      uint32_t slot = free_count > 0 ? free_slots[--free_count] : (uint32_t)slot_count++;
      steps[step_count++] = (step){e[i].call == TRACE_CALLOC ? TRACE_CALLOC : TRACE_MALLOC, slot, size};
      *at = (entry){e[i].address, slot, size};
    } else {
      continue;
    }
    live += size;
    if (live > live_peak) live_peak = live;
  }
  munmap(table, (mask + 1) * sizeof *table);
  munmap(free_slots, n * sizeof *free_slots);
  munmap(e, (size_t)st.st_size);
  objects = (char **)pages(slot_count * sizeof *objects);
  memset(objects, 0, slot_count * sizeof *objects);
}

static void touch(char *p, size_t size) {
  if (p == NULL) stop("no memory for an object");
  for (size_t i = 0; i < size; i += 64) p[i] = 1;
}

/* m == NULL: on malloc. The variables are local: after other calls than malloc's a compiler reads static ones again. */
static inline __attribute__((always_inline)) void replay(toft_malloc *m) {
  const step *end = steps + step_count;
  char **all = objects;
  for (const step *s = steps; s < end; s++) {
    char **o = &all[s->slot];
    size_t size = s->size;
    if (s->call == TRACE_FREE) {
      m != NULL ? toft_malloc_free(m, *o) : free(*o);
      continue;
    }
    if (s->call == TRACE_MALLOC)
      *o = (char *)(m != NULL ? toft_malloc_alloc(m, size) : malloc(size));
    else if (s->call == TRACE_CALLOC)
      *o = (char *)(m != NULL ? toft_malloc_calloc(m, 1, size) : calloc(1, size));
    else
      *o = (char *)(m != NULL ? toft_malloc_realloc(m, *o, size) : realloc(*o, size));
    touch(*o, size);
  }
}

/* A line of /proc/self/status, in KiB. */
static long status(const char *name) {
  char line[256];
  long value = 0;
  FILE *f = fopen("/proc/self/status", "r");
  if (f == NULL) stop("no /proc");
  while (fgets(line, sizeof line, f) != NULL)
    if (strncmp(line, name, strlen(name)) == 0) value = strtol(line + strlen(name), NULL, 10);
  fclose(f);
  return value;
}

int main(int argc, char **argv) {
  static toft_malloc m;
  struct timespec from, to;
  toft_malloc_init(&m, NULL);
  if (argc != 3) stop("usage: trace_replay FILE malloc|toft");
  read_trace(argv[1]);
  int peak = open("/proc/self/clear_refs", O_WRONLY);
  if (peak < 0 || write(peak, "5", 1) != 1) stop("the peak cannot be reset"); /* VmHWM is VmRSS from now on */
  close(peak);
  long before = status("VmRSS:");
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
  if (strcmp(argv[2], "toft") == 0)
    replay(&m);
  else
    replay(NULL);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
  printf("{\"ns\":%.0f,\"steps\":%zu,\"live_bytes\":%zu,\"peak_bytes\":%ld}\n",
         (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec), step_count, live_peak,
         (status("VmHWM:") - before) * 1024);
  return 0;
}
