/* Runs W1: all contenders side by side in one process, in rotated rounds, under the malloc that is preloaded.
 *     w1 [--quick] [--heap] [--objects N] MALLOC
 * MALLOC is the name to print; --heap: only the rows in which the state of the heap decides. Writes one JSON object a
 * row to stdout, and its progress to stderr.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "w1.h"

#define X(name) extern const struct w1_contender w1_##name;
CONTENDERS
#undef X
static const struct w1_contender *const contenders[] = {
#define X(name) &w1_##name,
    CONTENDERS
#undef X
};
enum { COUNT = sizeof contenders / sizeof *contenders, ROUNDS_MAX = 64 };
static int verified[COUNT];
static const char *malloc_name;

static const struct loop_info {
  const char *name;
  size_t n;
} loops[] = {
#define X(id, name, n, what) {name, n},
    W1_LOOPS(X)
#undef X
};

/* ---- time, memory ---- */

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static long faults(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_minflt;
}

static double resident(void) {
  unsigned long size, pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f == NULL || fscanf(f, "%lu %lu", &size, &pages) != 2) pages = 0;
  if (f != NULL) fclose(f);
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void stop(const char *who, const char *why) {
  fprintf(stderr, "w1: %s: %s\n", who, why);
  exit(1);
}

static void progress(const char *what) {
  if (isatty(2)) fprintf(stderr, "\r\033[KW1 %s: %s", malloc_name, what);
}

/* ---- rows ---- */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

struct sample {
  double ns[ROUNDS_MAX];
  size_t rounds;
  double faults, peak; /* below 0: not measured */
  int good;
};

static void add(struct sample *s, double ns) { s->ns[s->rounds++] = ns; }

static void print_row(const char *name, size_t who, struct sample *s, size_t n) {
  const struct w1_contender *c = contenders[who];
  double median;
  qsort(s->ns, s->rounds, sizeof *s->ns, ascending);
  median = (s->ns[(s->rounds - 1) / 2] + s->ns[s->rounds / 2]) / 2;
  printf(
      "{\"workload\":\"W1\",\"case\":\"%s\",\"contender\":\"%s\",\"language\":\"%s\",\"malloc\":\"%s\","
      "\"unit\":\"ns\",\"median\":%.4f,\"min\":%.4f,\"max\":%.4f,\"rounds\":%zu,\"n\":%zu,\"verified\":%s",
      name, c->name, c->language, malloc_name, median, s->ns[0], s->ns[s->rounds - 1], s->rounds, n,
      verified[who] && s->good ? "true" : "false");
  if (s->faults >= 0) printf(",\"faults\":%.0f", s->faults);
  if (s->peak >= 0) printf(",\"peak_bytes\":%.0f", s->peak);
  printf("}\n");
  fflush(stdout);
}

/* ---- hot loops ---- */

static struct w1_task make_task(size_t n) {
  /* Sizes: half up to 32 B, a third up to 64 B, the rest up to 128 and 256 B. */
  static uint32_t sizes[2000], aligns[2000];
  static const char *strings[2000];
  static char text[2000][13];
  static const uint32_t some[8] = {1, 2, 4, 8, 8, 8, 16, 32};
  struct w1_task t = {0, 1, sizes, aligns, strings};
  uint32_t random = 12345;
  t.n = n;
  for (size_t i = 0; i < 2000; i++) {
    uint32_t r, part, length;
    random = random * 1664525u + 1013904223u;
    r = random >> 8;
    part = r % 100;
    if (part < 50)
      sizes[i] = 8 + r / 100 % 25;
    else if (part < 80)
      sizes[i] = 33 + r / 100 % 32;
    else if (part < 95)
      sizes[i] = 65 + r / 100 % 64;
    else
      sizes[i] = 129 + r / 100 % 128;
    aligns[i] = some[r / 7 % 8];
    length = 1 + r / 11 % 12;
    memset(text[i], 'a' + (int)(r % 26), length);
    text[i][length] = 0;
    strings[i] = text[i];
  }
  return t;
}

static size_t hint(size_t id) {
  switch (id) {
    case W1_BIG: return (size_t)1 << 21;
    case W1_ALIGN64: return 1024 * 128 + 64;
    case W1_MIXED:
    case W1_MIXED_UNTOUCHED:
    case W1_RUNTIME: return 2000 * 300;
    default: return 4096 * 16;
  }
}

/* It makes its own arenas. */
static int lives(size_t id) { return id == W1_LIFE || id == W1_LIFE_IN || id == W1_LEASE; }

/* Resident bytes gained by 180 rounds of 1 MiB after the first 20. */
static double footprint(const struct w1_contender *c, void *arena) {
  struct w1_task t = make_task(2);
  double before;
  t.reps = 20;
  if (c->grow(arena, &t) != t.n * t.reps) stop(c->name, "failed on 1 MiB");
  before = resident();
  t.reps = 180;
  if (c->grow(arena, &t) != t.n * t.reps) stop(c->name, "failed on 1 MiB");
  return resident() > before ? resident() - before : 0;
}

static void run_hot(size_t id, size_t rounds, double sample_ns) {
  struct sample *samples = (struct sample *)calloc(COUNT, sizeof *samples);
  size_t reps[COUNT], i, k, round;
  void *arenas[COUNT];
  struct w1_task t = make_task(loops[id].n);
  if (id == W1_RUNTIME)
    for (i = 0; i < t.n; i++) ((uint32_t *)(uintptr_t)t.sizes)[i] = 8 + t.sizes[i] % 57;
  if (samples == NULL) stop("w1", "no memory");
  for (i = 0; i < COUNT; i++) {
    const struct w1_contender *c = contenders[i];
    if (c->loop[id] == NULL) continue;
    arenas[i] = calloc(1, c->size);
    if (arenas[i] == NULL || (!lives(id) && !c->create(arenas[i], 4096, hint(id)))) stop(c->name, "cannot be made");
    t.reps = 32; /* memory is allocated, and the sizes of blocks are stable */
    if (c->loop[id](arenas[i], &t) != t.n * t.reps) stop(c->name, loops[id].name);
    for (reps[i] = 1;; reps[i] *= 2) { /* the number for a sample */
      uint64_t start = now();
      t.reps = reps[i];
      if (c->loop[id](arenas[i], &t) != t.n * t.reps) stop(c->name, loops[id].name);
      if ((double)(now() - start) * 2 > sample_ns) break;
    }
    samples[i].good = 1;
    samples[i].faults = samples[i].peak = -1;
    if (id == W1_BIG) samples[i].peak = footprint(c, arenas[i]);
  }
  for (round = 0; round < rounds; round++)
    for (k = 0; k < COUNT; k++) {
      const struct w1_contender *c = contenders[i = (round + k) % COUNT];
      uint64_t start;
      double ns;
      if (c->loop[id] == NULL) continue;
      t.reps = 1;
      if (c->loop[id](arenas[i], &t) != t.n) samples[i].good = 0; /* brings its memory back into the cache */
      t.reps = reps[i];
      start = now();
      if (c->loop[id](arenas[i], &t) != t.n * t.reps) samples[i].good = 0;
      ns = (double)(now() - start);
      add(&samples[i], ns / (double)(t.n * t.reps));
    }
  for (i = 0; i < COUNT; i++) {
    if (contenders[i]->loop[id] == NULL) continue;
    print_row(loops[id].name, i, &samples[i], loops[id].n * reps[i]);
    if (!lives(id)) contenders[i]->destroy(arenas[i]);
    free(arenas[i]);
  }
  free(samples);
}

/* ---- n objects at once ---- */

enum { FRESH, FREE, WHOLE, REUSED, REFILL, PHASES };

/* One round of one contender: a fresh arena, filled, reset and filled, destroyed; then, as in the original,
 * an arena that lives through all rounds is reset and filled. Making an arena and resetting it are part of
 * the time. */
static int run_once(const struct w1_contender *c, void **lasting, size_t n, double ns[PHASES], long *fresh_faults) {
  struct w1_task t = {0, 1, NULL, NULL, NULL};
  void *arena = calloc(1, c->size);
  uint64_t start;
  int good;
  t.n = n;
  if (arena == NULL) return 0;
  *fresh_faults = faults();
  start = now();
  if (!c->create(arena, n, n * 8)) stop(c->name, "cannot be made");
  if (strcmp(c->name, "malloc") == 0) { /* the array of its pointers is not counted */
    *fresh_faults = faults();
    start = now();
  }
  good = c->fill(arena, &t) == n;
  ns[FRESH] = (double)(now() - start) / (double)n;
  *fresh_faults = faults() - *fresh_faults;
  start = now();
  good &= c->clear(arena) && c->fill(arena, &t) == n;
  ns[REFILL] = (double)(now() - start) / (double)n;
  start = now();
  c->destroy(arena);
  ns[FREE] = (double)(now() - start) / (double)n;
  ns[WHOLE] = ns[FRESH] + ns[FREE];
  if (lasting != NULL) {
    if (*lasting != NULL) {
      free(arena);
    } else {
      if (!c->create(arena, n, n * 8)) stop(c->name, "cannot be made");
      *lasting = arena;
      for (int i = 0; i < 2; i++) good &= c->fill(arena, &t) == n && c->clear(arena);
    }
    start = now();
    good &= c->clear(*lasting) && c->fill(*lasting, &t) == n;
    ns[REUSED] = (double)(now() - start) / (double)n;
  } else {
    free(arena);
  }
  return good;
}

/* Each contender has its own process, as in the original, so that other contenders do not shape its heap;
 * rounds are rotated nevertheless: the parent requests a round from one child after the other. If ../litter/litter.c is
 * preloaded, each process litters its heap again, since writes to pages that it shares with its parent are slow. */
struct child {
  pid_t pid;
  int ask, answer;
};
struct answer {
  double ns[PHASES];
  long faults;
  int good;
};

static struct child spawn(const struct w1_contender *who, const struct child *others, size_t other_count, int lasts) {
  struct child c;
  int ask[2], answer[2];
  if (pipe(ask) != 0 || pipe(answer) != 0 || (c.pid = fork()) < 0) stop(who->name, strerror(errno));
  if (c.pid == 0) {
    size_t n;
    struct answer a;
    void *lasting = NULL;
    void (*litter)(void);
    memset(&a, 0, sizeof a);
    *(void **)&litter = dlsym(RTLD_DEFAULT, "litter");
    if (litter != NULL) litter();
    for (size_t i = 0; i < other_count; i++) close(others[i].ask); /* otherwise they would not see it closed */
    close(ask[1]);
    while (read(ask[0], &n, sizeof n) == (ssize_t)sizeof n) {
      a.good = run_once(who, lasts ? &lasting : NULL, n, a.ns, &a.faults);
      if (write(answer[1], &a, sizeof a) != (ssize_t)sizeof a) break;
    }
    _exit(0);
  }
  close(ask[0]);
  close(answer[1]);
  c.ask = ask[1];
  c.answer = answer[0];
  return c;
}

static struct answer ask(const struct w1_contender *who, struct child c, size_t n) {
  struct answer a;
  if (write(c.ask, &n, sizeof n) != (ssize_t)sizeof n || read(c.answer, &a, sizeof a) != (ssize_t)sizeof a)
    stop(who->name, "its process died");
  return a;
}

static void reap(struct child c) {
  close(c.ask);
  close(c.answer);
  waitpid(c.pid, NULL, 0);
}

/* The contenders from `first` to before `end`. names[phase]: the row to print, or NULL. */
static void run_many(const char *const names[PHASES], size_t n, size_t rounds, size_t first, size_t end) {
  struct sample(*samples)[PHASES] = (struct sample(*)[PHASES])calloc(COUNT, sizeof *samples);
  struct child children[COUNT];
  size_t i, k, p, round;
  if (samples == NULL) stop("w1", "no memory");
  for (i = first; i < end; i++) {
    for (p = 0; p < PHASES; p++) samples[i][p].faults = samples[i][p].peak = -1, samples[i][p].good = 1;
    samples[i][FRESH].faults = 0;
    children[i] = spawn(contenders[i], children + first, i - first, names[REUSED] != NULL);
  }
  for (round = 0; round < rounds; round++)
    for (k = 0; k < end - first; k++) {
      struct answer a;
      i = first + (round + k) % (end - first);
      if (contenders[i]->fill == NULL) continue;
      progress(contenders[i]->name);
      a = ask(contenders[i], children[i], n);
      for (p = 0; p < PHASES; p++) {
        add(&samples[i][p], a.ns[p]);
        samples[i][p].good &= a.good;
      }
      samples[i][FRESH].faults += (double)a.faults / (double)rounds;
    }
  for (i = first; i < end; i++) reap(children[i]);
  for (p = 0; p < PHASES; p++)
    for (i = first; i < end && names[p] != NULL; i++)
      if (contenders[i]->fill != NULL) print_row(names[p], i, &samples[i][p], n);
  free(samples);
}

/* As the original: more until a round of malloc lasts long enough, but at most 2 * 10^7, and no more than
 * an eighth of the memory holds at 128 bytes an object, which is what the hungriest rival takes. */
static size_t calibrate(double enough_ns, size_t most) {
  size_t memory = (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 8 / 128;
  size_t n = 2048, i;
  struct child c;
  for (i = 0; strcmp(contenders[i]->name, "malloc") != 0;) i++;
  c = spawn(contenders[i], NULL, 0, 0);
  if (most > memory) most = memory;
  while (n < most && ask(contenders[i], c, n).ns[FRESH] * (double)n < enough_ns) n = n * 7 / 4;
  reap(c);
  return n < most ? n : most;
}

int main(int argc, char **argv) {
  static const char *const original[PHASES] = {"fresh", "free", "fresh + free", "reused", NULL};
  static const char *const on_heap[PHASES] = {"fresh", "free", "fresh + free", NULL, NULL};
  static const char *const small[PHASES] = {NULL, NULL, NULL, NULL, "refill 0.1 M"};
  static const char *const large[PHASES] = {NULL, NULL, NULL, NULL, "refill 1.6 M"};
  int quick = 0, heap = 0;
  size_t n = 0;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--quick") == 0)
      quick = 1;
    else if (strcmp(argv[i], "--heap") == 0)
      heap = 1;
    else if (strcmp(argv[i], "--objects") == 0 && i + 1 < argc)
      n = strtoul(argv[++i], NULL, 10);
    else
      malloc_name = argv[i];
  }
  if (malloc_name == NULL) {
    fprintf(stderr, "usage: w1 [--quick] [--heap] [--objects N] MALLOC\n");
    return 2;
  }
  for (size_t i = 0; i < COUNT; i++) {
    verified[i] = contenders[i]->verify();
    if (!verified[i]) fprintf(stderr, "w1: %s: NOT VERIFIED\n", contenders[i]->name);
  }
  /* These fork, so they run before the heap is used. */
  if (n == 0) n = calibrate(quick ? 20e6 : 250e6, quick ? 1000000 : 20000000);
  if (heap) { /* one process at a time: a littered heap may have more than 1.5 GiB */
    for (size_t i = 0; i < COUNT; i++) run_many(on_heap, n, quick ? 7 : 20, i, i + 1);
  } else {
    run_many(original, n, quick ? 7 : 20, 0, COUNT);
    run_many(small, 100000, quick ? 7 : 20, 0, COUNT);
    run_many(large, 1600000, quick ? 5 : 10, 0, COUNT);
  }
  for (size_t id = 0; id < W1_LOOP_COUNT; id++) {
    if (heap && id != W1_LIFE && id != W1_LEASE) continue;
    progress(loops[id].name);
    run_hot(id, quick ? 11 : 41, quick ? 250e3 : 1e6);
  }
  if (isatty(2)) fprintf(stderr, "\r\033[K");
  return 0;
}
