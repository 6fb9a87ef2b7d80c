/* Serves requests by an interpreter, each from the same state:
 *     warm REQUESTS WORKERS
 * A request changes globals, tables of the library and the data. The state is a new one for each request, one that a
 * region restores, or one for all requests, which is not isolated. Prints for each interpreter and way the microseconds
 * of a request, the least and the mean, and of them the mean of making and ending the state. Then it goes 100 ways from
 * one state, each to a checkpoint of its own, and visits them in another order. Ends with 1 if an isolated request gets
 * a wrong result, in this process, in a forked worker or on one of the ways, or if restores make the process grow.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "warm.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void fail(const char *what) {
  fprintf(stderr, "warm: %s\n", what);
  exit(1);
}

static const interpreter *chosen;
static long long expected; /* of a request, from a new state */

/* ---- ways to have a state for a request ---- */

static toft_region *recorded, *compared;
static toft_malloc of_one_state;
static void *shared;

static toft_region *region_with_state(uint32_t flags) {
  toft_region_options o = TOFT_REGION_OPTIONS;
  o.flags = flags;
  toft_region *r = toft_region_create(&o);
  if (r == NULL) return NULL;
  toft_region_set_root(r, chosen->start(toft_region_malloc(r)));
  if (toft_region_checkpoint(r, NULL) == TOFT_OK) return r;
  toft_region_release(r);
  return NULL;
}

static void restore(toft_region *r) {
  if (toft_region_restore(r, 0) != TOFT_OK) fail("a restore is refused");
}

static void *new_state(void) { return chosen->start(NULL); }
static void end_new_state(void *state) { chosen->close(state); }

static void *new_state_on_toft(void) {
  toft_malloc_init(&of_one_state, NULL);
  return chosen->start(&of_one_state);
}
static void end_state_on_toft(void *state) {
  (void)state;
  toft_malloc_release(&of_one_state);
}

static void *recorded_state(void) { return toft_region_root(recorded); }
static void end_recorded_state(void *state) { (void)state, restore(recorded); }
static void *compared_state(void) { return toft_region_root(compared); }
static void end_compared_state(void *state) { (void)state, restore(compared); }

static void *one_state(void) { return shared; }
static void keep(void *state) { (void)state; }

static const struct way {
  const char *name;
  void *(*begin)(void);
  void (*end)(void *state);
  int isolated, restored;
} ways[] = {{"a new state, malloc", new_state, end_new_state, 1, 0},
            {"a new state, toft_malloc", new_state_on_toft, end_state_on_toft, 1, 0},
            {"restored", recorded_state, end_recorded_state, 1, 1},
            {"restored by comparing", compared_state, end_compared_state, 1, 1},
            {"one state for all", one_state, keep, 0, 0}};

/* ---- measuring ---- */

static double microseconds(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static long resident_kib(void) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f == NULL || fscanf(f, "%*s %ld", &pages) != 1) fail("/proc/self/statm");
  fclose(f);
  return pages * 4;
}

static int measure(const struct way *w, long requests) {
  double least = 1e9, sum = 0, sum_of_state = 0;
  int wrong = 0;
  long before = 0;
  for (long i = 0; i < requests; i++) {
    if (i == requests / 2) before = resident_kib();
    double begin = microseconds();
    void *state = w->begin();
    double made = microseconds();
    long long result = chosen->serve(state);
    double served = microseconds();
    w->end(state);
    double time = microseconds() - begin;
    wrong |= w->isolated && result != expected;
    least = time < least ? time : least;
    sum += time;
    sum_of_state += time - (served - made);
  }
  long grown = resident_kib() - before;
  printf("%-28s%10.0f%10.0f%10.1f%12ld\n", w->name, least, sum / (double)requests, sum_of_state / (double)requests,
         grown);
  fflush(stdout);
  if (wrong) fprintf(stderr, "warm: %s: a wrong result\n", w->name);
  int grows = w->restored && grown > 2048;
  if (grows) fprintf(stderr, "warm: %s: %ld KiB more than half way\n", w->name, grown);
  return wrong || grows;
}

/* Forked processes with the same regions. Returns how many got a wrong result. */
static int serve_in_workers(int workers, long requests) {
  int failed = 0, status;
  for (int k = 0; k < workers; k++) {
    pid_t worker = fork();
    if (worker < 0) fail("no process");
    if (worker != 0) continue;
    for (long i = 0; i < requests; i++)
      for (size_t n = 0; n < sizeof ways / sizeof *ways; n++) {
        if (!ways[n].restored) continue;
        void *state = ways[n].begin();
        if (chosen->serve(state) != expected) _exit(1);
        ways[n].end(state);
      }
    _exit(0);
  }
  while (wait(&status) > 0) failed += status != 0;
  return failed;
}

/* ---- ways from one state ---- */

/* Way k serves k % 5 requests; the next one has a result of its own then. Returns whether one is wrong. */
static int go_many_ways(toft_region *r) {
  enum { WAYS = 100, LENGTHS = 5 };
  toft_checkpoint start = toft_region_current(r), ends[WAYS];
  long long results[LENGTHS];
  int wrong = 0;
  for (int length = 0; length < LENGTHS; length++) {
    void *state = chosen->start(NULL);
    for (int i = 0; i <= length; i++) results[length] = chosen->serve(state);
    chosen->close(state);
  }
  uint64_t before = toft_region_get_stats(r).saved;
  double begin = microseconds(), of_tree = 0;
  for (int k = 0; k < WAYS; k++) {
    double at = microseconds();
    if (toft_region_restore(r, start) != TOFT_OK) fail("a restore is refused");
    of_tree += microseconds() - at;
    for (int i = 0; i < k % LENGTHS; i++) (void)chosen->serve(toft_region_root(r));
    at = microseconds();
    if (toft_region_checkpoint(r, &ends[k]) != TOFT_OK) fail("no memory for a checkpoint");
    of_tree += microseconds() - at;
  }
  for (int k = 0; k < WAYS; k++) {
    int to = k * 37 % WAYS;
    if (toft_region_restore(r, ends[to]) != TOFT_OK) fail("a restore is refused");
    wrong += chosen->serve(toft_region_root(r)) != results[to % LENGTHS];
  }
  printf(
      "%d ways from one state in %.0f us, %.1f us each for a restore and a checkpoint, %lu KiB in all; %d with a wrong "
      "result\n",
      WAYS, microseconds() - begin, of_tree / WAYS, (unsigned long)((toft_region_get_stats(r).saved - before) / 1024),
      wrong);
  return wrong != 0;
}

/* ---- the program ---- */

static int run(const interpreter *which, long requests, int workers) {
  int failed = 0;
  chosen = which;
  recorded = region_with_state(0);
  compared = region_with_state(TOFT_REGION_COMPARES);
  if (recorded == NULL || compared == NULL) fail("no memory for a region");
  shared = chosen->start(NULL);
  void *state = chosen->start(NULL);
  expected = chosen->serve(state);
  chosen->close(state);
  printf("%-28s%10s%10s%10s%12s\n", chosen->name, "least us", "mean us", "its state", "KiB grown");
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    failed |=
        measure(&ways[i], ways[i].isolated && !ways[i].restored && requests > 200 ? requests / 20 + 10 : requests);
  int wrong = serve_in_workers(workers, requests);
  printf("%d forked workers: %ld requests each, %d with a wrong result\n", workers, requests, wrong);
  toft_region_stats s = toft_region_get_stats(recorded);
  printf("a region holds %lu KiB, its checkpoint %lu KiB\n", (unsigned long)(s.used / 1024),
         (unsigned long)(s.saved / 1024));
  failed |= go_many_ways(recorded);
  chosen->close(shared);
  toft_region_release(recorded);
  toft_region_release(compared);
  return failed || wrong != 0;
}

int main(int argc, char **argv) {
  long requests = argc == 3 ? atol(argv[1]) : 0;
  if (requests < 2) fail("expected: warm REQUESTS WORKERS");
  int failed = run(&lua, requests, atoi(argv[2]));
#ifdef WITH_QUICKJS
  failed |= run(&quickjs, requests, atoi(argv[2]));
#endif
  return run(&duktape, requests, atoi(argv[2])) || failed;
}
