/* Long runs of a server's mix in short rounds: the resident memory must stay flat after the first tenth of the rounds,
 * and each allocation of a steady round is timed by itself.
 *     soak ROUNDS
 * Prints a table, in nanoseconds without the median of the clock. Rounds with a page fault or a context switch are
 * counted apart: their slowest allocation is in the last column. Exits with 1 if memory grew.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "toft.h"

/* GROWTH: a segment of a shard that the first tenth did not use, and some pages. */
enum { EACH = 500, THREADS = 2, LIVE = 4096, TICKS = 1 << 18, GROWTH = (2 << 20) + (128 << 10) };

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Serializing: no code from before the first read or after the second is executed between them. */
static inline uint64_t first_tick(void) {
#if defined(__x86_64__)
  _mm_lfence();
  uint64_t t = __rdtsc();
  _mm_lfence();
  return t;
#else
  return now();
#endif
}
static inline uint64_t second_tick(void) {
#if defined(__x86_64__)
  unsigned cpu;
  uint64_t t = __rdtscp(&cpu);
  _mm_lfence();
  return t;
#else
  return now();
#endif
}

static size_t resident(void) {
  unsigned long size, pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f == NULL || fscanf(f, "%lu %lu", &size, &pages) != 2) pages = 0;
  if (f != NULL) fclose(f);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void stop(const char *why) {
  fprintf(stderr, "soak: %s\n", why);
  exit(1);
}

/* ---- a row ---- */

struct times {
  uint32_t count[TICKS]; /* of steady rounds, by ticks; the last: all above */
  uint64_t samples, most, disturbed_most;
  size_t disturbed;
};

struct thread {
  const struct row *row;
  struct times *times;
  int number;
  uint32_t random;
  uint64_t ticks[EACH];
  size_t n;
  void *own;        /* the row's object of this thread */
  void *live[LIVE]; /* the live objects of a row that frees */
  size_t sizes[LIVE];
  toft_handle handles[LIVE];
};

struct row {
  const char *name;
  int threads;
  void (*begin)(struct thread *t);
  void (*round)(struct thread *t);
  void (*between)(void); /* called while no thread is in a round; NULL: nothing */
  void (*end)(struct thread *t);
};

#define TIMED(t, statement)                        \
  do {                                             \
    uint64_t began_ = first_tick();                \
    statement;                                     \
    (t)->ticks[(t)->n++] = second_tick() - began_; \
  } while (0)

static uint32_t next(struct thread *t) { return t->random = t->random * 1664525u + 1013904223u; }
static size_t size_of(struct thread *t) { return 8 + (next(t) >> 8) % 249; }

static void written(void *p) {
  if (p == NULL) stop("no memory");
  *(volatile char *)p = 1;
}

/* ---- the rows ---- */

static toft_leases *leases;
static toft_sync_recycler *sync_recycler;
static toft_shared *shared;
static toft_frames *frames;

static void nothing(struct thread *t) { (void)t; }

static void clock_round(struct thread *t) {
  while (t->n < EACH) TIMED(t, __asm__ volatile("" ::: "memory"));
}

/* The first allocation is not timed: the processor's caches are cold after a barrier. */
#define FILL(t, allocate)     \
  do {                        \
    size_t size = 8;          \
    void *p = allocate;       \
    for (; (t)->n < EACH;) {  \
      written(p);             \
      size = size_of(t);      \
      TIMED(t, p = allocate); \
    }                         \
    written(p);               \
  } while (0)

static void arena_begin(struct thread *t) { t->own = toft_create(); }
static void arena_round(struct thread *t) {
  FILL(t, toft_alloc((toft_arena *)t->own, size));
  (void)toft_reset((toft_arena *)t->own);
}
static void arena_end(struct thread *t) { toft_release((toft_arena *)t->own); }

static void lease_round(struct thread *t) {
  toft_lease l = toft_lease_get(leases);
  if (l.arena == NULL) stop("no lease");
  FILL(t, toft_alloc(l.arena, size));
  (void)toft_lease_return(leases, l);
}

static void get_round(struct thread *t) {
  while (t->n < EACH) {
    toft_lease l;
    TIMED(t, l = toft_lease_get(leases));
    written(toft_alloc(l.arena, size_of(t)));
    (void)toft_lease_return(leases, l);
  }
}

static void shared_round(struct thread *t) { FILL(t, toft_shared_alloc(shared, size, 8)); }
static void local_round(struct thread *t) {
  toft_arena *a = toft_shared_local(shared);
  if (a == NULL) stop("no local arena");
  FILL(t, toft_alloc(a, size));
}
static void shared_between(void) { (void)toft_shared_reset(shared, TOFT_KEEP_RECENT, 0); }

static void frame_round(struct thread *t) { FILL(t, toft_alloc(toft_frame_arena(frames), size)); }
static void frame_between(void) { (void)toft_frames_advance(frames); }

/* A random one of LIVE objects is freed, and another allocated. */
#define CHURN(name, type, allocate, deallocate)            \
  static void name##_round(struct thread *t) {             \
    type *of = (type *)t->own;                             \
    while (t->n < EACH) {                                  \
      size_t size = size_of(t), i = (next(t) >> 8) % LIVE; \
      void *p = t->live[i];                                \
      if (p != NULL) deallocate;                           \
      TIMED(t, p = allocate);                              \
      written(p);                                          \
      t->live[i] = p;                                      \
      t->sizes[i] = size;                                  \
    }                                                      \
    (void)of;                                              \
  }                                                        \
  static void name##_free(struct thread *t) {              \
    type *of = (type *)t->own;                             \
    for (size_t i = 0; i < LIVE; i++) {                    \
      void *p = t->live[i];                                \
      if (p != NULL) deallocate;                           \
    }                                                      \
    (void)of;                                              \
  }
CHURN(recycler, toft_recycler, toft_recycler_alloc(of, size, 8), toft_recycler_free(of, p, t->sizes[i]))
CHURN(sync, toft_sync_recycler, toft_sync_recycler_alloc(sync_recycler, size, 8),
      toft_sync_recycler_free(sync_recycler, p, t->sizes[i]))
CHURN(pool, toft_pool, toft_pool_insert(of, &t->handles[i]), (void)toft_pool_remove(of, t->handles[i]))
CHURN(malloc, void, malloc(size), free(p))

static void *initialized(void *p, int code) {
  if (code != TOFT_OK) stop("no memory");
  return p;
}
#define OWNED(name, type, options)                        \
  static void name##_begin(struct thread *t) {            \
    static type of;                                       \
    t->own = initialized(&of, type##_init(&of, options)); \
  }                                                       \
  static void name##_end(struct thread *t) {              \
    name##_free(t);                                       \
    type##_release((type *)t->own);                       \
  }
static const toft_pool_options pool_options = {.size = sizeof(toft_pool_options), .slot_size = 64};
OWNED(recycler, toft_recycler, NULL)
OWNED(pool, toft_pool, &pool_options)

static const struct row rows[] = {
    {"the clock", 1, nothing, clock_round, NULL, nothing},
    {"arena", 1, arena_begin, arena_round, NULL, arena_end},
    {"in a lease", THREADS, nothing, lease_round, NULL, nothing},
    {"lease: get", THREADS, nothing, get_round, NULL, nothing},
    {"shared arena", THREADS, nothing, shared_round, shared_between, nothing},
    {"local arena of a shared one", THREADS, nothing, local_round, shared_between, nothing},
    {"frame", THREADS, nothing, frame_round, frame_between, nothing},
    {"recycler", 1, recycler_begin, recycler_round, NULL, recycler_end},
    {"synchronized recycler", THREADS, nothing, sync_round, NULL, sync_free},
    {"pool", 1, pool_begin, pool_round, NULL, pool_end},
    {"malloc", 1, nothing, malloc_round, NULL, malloc_free},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- rounds ---- */

static size_t rounds, grown;
static pthread_barrier_t barrier;
static size_t after_a_tenth, highest;

static void add(struct thread *t, int disturbed) {
  struct times *r = t->times;
  r->disturbed += (size_t)disturbed;
  for (size_t i = 0; i < t->n; i++) {
    uint64_t ticks = t->ticks[i], *most = disturbed ? &r->disturbed_most : &r->most;
    if (ticks > *most) *most = ticks;
    if (disturbed) continue;
    r->count[ticks < TICKS ? ticks : TICKS - 1]++;
    r->samples++;
  }
}

/* Threads wait for each other only if `between` is set. */
static int comes_last(const struct thread *t) {
  if (t->row->between == NULL) return t->number == 0;
  return pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
}

static void *run(void *arg) {
  struct thread *t = (struct thread *)arg;
  struct rusage before, after;
  t->row->begin(t);
  for (size_t round = 0; round < rounds; round++) {
    t->n = 0;
    getrusage(RUSAGE_THREAD, &before);
    t->row->round(t);
    getrusage(RUSAGE_THREAD, &after);
    int disturbed = after.ru_minflt != before.ru_minflt || after.ru_majflt != before.ru_majflt ||
                    after.ru_nvcsw != before.ru_nvcsw || after.ru_nivcsw != before.ru_nivcsw;
    if (round >= rounds / 10) add(t, disturbed);
    if (round == rounds / 10 - 1) (void)pthread_barrier_wait(&barrier); /* each thread has what it keeps */
    if (comes_last(t)) {
      if (t->row->between != NULL) t->row->between();
      if (round % (rounds / 10) == rounds / 10 - 1) {
        size_t bytes = resident();
        if (round < rounds / 10) after_a_tenth = bytes;
        if (bytes > highest) highest = bytes;
      }
    }
    (void)comes_last(t);
  }
  t->row->end(t);
  return NULL;
}

static double at(const struct times *r, double part) {
  uint64_t seen = 0, wanted = (uint64_t)(part * (double)r->samples);
  size_t i = 0;
  while (i < TICKS - 1 && (seen += r->count[i]) <= wanted) i++;
  return (double)i;
}

static double a_nanosecond(void) {
  uint64_t ns = now(), ticks = first_tick();
  while (now() - ns < 50000000) {
  }
  return (double)(second_tick() - ticks) / (double)(now() - ns);
}

int main(int argc, char **argv) {
  static struct thread threads[THREADS];
  static struct times times[THREADS];
  double clock = 0, tick = a_nanosecond();
  rounds = argc > 1 ? strtoul(argv[1], NULL, 10) / 10 * 10 : 0;
  if (rounds == 0) stop("usage: soak ROUNDS, a multiple of 10");
  leases = toft_leases_create(NULL);
  sync_recycler = toft_sync_recycler_create(NULL);
  shared = toft_shared_create(NULL);
  frames = toft_frames_create(2, NULL);
  if (leases == NULL || sync_recycler == NULL || shared == NULL || frames == NULL) stop("no memory");
  memset(times, 1, sizeof times); /* resident before the first row */
  printf(
      "| an allocation, ns | median | p99 | p99.9 | p99.99 | maximum | p99.99 / median, with the clock | KiB gained | "
      "rounds with a fault or switch | maximum of these |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (size_t i = 0; i < ROWS; i++) {
    pthread_t ids[THREADS];
    const struct row *row = &rows[i];
    memset(times, 0, sizeof times);
    memset(threads, 0, sizeof threads);
    highest = 0;
    pthread_barrier_init(&barrier, NULL, (unsigned)row->threads);
    for (int k = 0; k < row->threads; k++) {
      threads[k].row = row;
      threads[k].times = &times[k];
      threads[k].number = k;
      threads[k].random = (uint32_t)k + 1;
      if (pthread_create(&ids[k], NULL, run, &threads[k]) != 0) stop("no thread");
    }
    for (int k = 0; k < row->threads; k++) pthread_join(ids[k], NULL);
    pthread_barrier_destroy(&barrier);
    for (int k = 1; k < row->threads; k++) {
      for (size_t n = 0; n < TICKS; n++) times[0].count[n] += times[k].count[n];
      times[0].samples += times[k].samples;
      times[0].disturbed += times[k].disturbed;
      if (times[k].most > times[0].most) times[0].most = times[k].most;
      if (times[k].disturbed_most > times[0].disturbed_most) times[0].disturbed_most = times[k].disturbed_most;
    }
    const struct times *r = &times[0];
    if (i == 0) clock = at(r, 0.5);
    printf("| %s | %.1f | %.1f | %.1f | %.1f | %.0f | %.2f | %.0f | %zu of %zu | %.0f |\n", row->name,
           (at(r, 0.5) - clock) / tick, (at(r, 0.99) - clock) / tick, (at(r, 0.999) - clock) / tick,
           (at(r, 0.9999) - clock) / tick, ((double)r->most - clock) / tick, at(r, 0.9999) / at(r, 0.5),
           ((double)highest - (double)after_a_tenth) / 1024, r->disturbed, rounds * (size_t)row->threads * 9 / 10,
           ((double)r->disturbed_most - clock) / tick);
    fflush(stdout);
    if (highest > after_a_tenth + GROWTH) {
      fprintf(stderr, "soak: FAILED: %s: the resident memory grew from %zu to %zu bytes\n", row->name, after_a_tenth,
              highest);
      grown++;
    }
  }
  (void)toft_frames_release(frames);
  (void)toft_shared_release(shared);
  toft_sync_recycler_release(sync_recycler);
  (void)toft_leases_release(leases);
  return grown != 0;
}
