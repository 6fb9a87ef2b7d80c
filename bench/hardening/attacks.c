/* Effects of an overflow, a stale pointer, or a double free. Prints a line for each attack.
 *     attacks malloc                     the process's malloc, as LD_PRELOAD sets it
 *     attacks plain|hardened|checked     arenas of Toft
 * Each attack is a child; its answer is a line of text, or the signal that ended it. Linux.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <toft.h>

static toft_arena *arena; /* NULL: malloc */
static const char *mode;
static sigjmp_buf fault;
static unsigned found;
static char *answer; /* shared with the parent, which reads it if the child was ended by a signal */
enum { ANSWER_MAX = 256 };

static void on_finding(void *arg, const toft_finding *f) { (void)arg, (void)f, found++; }
static void on_fault(int number) { siglongjmp(fault, number); }

static toft_arena *create(void) {
  toft_options o = TOFT_OPTIONS;
  if (strcmp(mode, "malloc") == 0) return NULL;
  if (strcmp(mode, "hardened") == 0) o.flags = TOFT_HARDENED;
  if (strcmp(mode, "checked") == 0) o.flags = TOFT_CHECKED;
  return toft_create_with(&o);
}

static unsigned char *take(size_t size) {
  void *volatile p = arena != NULL ? toft_alloc(arena, size) : malloc(size);
  if (p == NULL) _exit(9);
  return (unsigned char *)p;
}

/* The address is hidden from the compiler, which would drop a second free or a late read. */
static void give(void *p, size_t size) {
  void *volatile hidden = p;
  if (arena != NULL)
    toft_free(arena, hidden, size);
  else
    free(hidden);
}

/* All of the memory goes back: a reset, or a free of each. */
static void give_all(unsigned char **p, int n) {
  if (arena != NULL) (void)toft_reset(arena);
  for (int i = 0; i < n && arena == NULL; i++) give(p[i], 32);
}

#define SAY(...) ((void)snprintf(answer, ANSWER_MAX, __VA_ARGS__))

/* ---- the attacks ---- */

enum { OBJECTS = 64 };
static unsigned char *objects[OBJECTS];

static void take_objects(void) {
  for (int i = 0; i < OBJECTS; i++) memset(objects[i] = take(32), 0x5A, 32);
}

/* From the middle object to the next one above it. */
static void overflow_neighbour(void) {
  take_objects();
  unsigned char *p = objects[OBJECTS / 2], *next = NULL;
  for (int i = 0; i < OBJECTS; i++)
    if (objects[i] > p && (next == NULL || objects[i] < next)) next = objects[i];
  if (next == NULL) {
    SAY("no object above it");
    return;
  }
  size_t gap = (size_t)(next - p) - 32;
  if (sigsetjmp(fault, 1) != 0) {
    SAY("faults before the next object");
    return;
  }
  for (size_t i = 0; i < gap + 8; i++) ((volatile unsigned char *)p)[32 + i] = 0x41;
  SAY("the next object, %zu B behind it", gap);
  give_all(objects, OBJECTS);
  if (found != 0) SAY("the next object, %zu B behind it; noticed by the reset", gap);
}

/* How far a linear write goes before it faults: at most 1 MiB, as it may hit the C library's own data. */
static void reach(int down, size_t size) {
  static volatile size_t n;
  const size_t limit = (size_t)1 << 20;
  volatile unsigned char *p = take(size);
  toft_arena before = {0};
  if (arena != NULL) before = *arena;
  SAY("the C library's data");
  if (sigsetjmp(fault, 1) == 0) {
    for (n = 0; n < limit; n++) p[down ? -1 - (ptrdiff_t)n : (ptrdiff_t)(size + n)] = 0x41;
    SAY("more than 1 MiB");
  } else {
    SAY("a fault after %zu B", n);
  }
  if (arena != NULL && memcmp(&before, arena, sizeof before) != 0) (void)strcat(answer, "; the head was overwritten");
}

static void reach_up(void) { reach(0, 32); }
static void reach_down(void) { reach(1, 32); }
static void reach_up_large(void) { reach(0, 1000000); }

static void hijack(void *arg) { (void)arg, SAY("a cleanup's function, which the reset calls"); }
static void nothing(void *arg) { (void)arg; }

/* A function pointer that the allocator itself calls. */
static void overflow_function(void) {
  if (arena == NULL) {
    SAY("-");
    return;
  }
  unsigned char *p = take(32);
  if (toft_cleanup_add(arena, nothing, NULL) == NULL) _exit(9);
  void (*forged)(void *) = hijack;
  SAY("not reached");
  for (size_t at = 32; at < 96; at += sizeof forged) {
    void (*old)(void *);
    memcpy(&old, p + at, sizeof old);
    if (old == nothing) memcpy(p + at, &forged, sizeof forged);
  }
  (void)toft_reset(arena);
}

/* Writes one byte behind an object, or 16 in front of it. Reports whether the free detects it. */
static void smash(ptrdiff_t from, ptrdiff_t to) {
  take_objects();
  for (ptrdiff_t i = from; i < to; i++) ((volatile unsigned char *)objects[9])[i] ^= 0x41;
  give_all(objects, OBJECTS);
  for (int i = 0; i < OBJECTS && arena == NULL; i++) (void)take(32);
  SAY("not noticed");
  if (found != 0) SAY("noticed by the reset");
}
static void smash_8_behind(void) { smash(32, 40); }
static void smash_32_behind(void) { smash(32, 64); }
static void smash_16_before(void) { smash(-16, 0); }

/* Counts the bytes of an object that can be read after its free. */
static void stale_read(size_t size) {
  unsigned char *p = take(size);
  volatile size_t old = 0;
  memset(p, 0x5A, size);
  if (arena != NULL)
    (void)toft_reset(arena);
  else
    give(p, size);
  if (sigsetjmp(fault, 1) != 0) {
    SAY("fault");
    return;
  }
  for (size_t i = 0; i < size; i++) old += ((volatile unsigned char *)p)[i] == 0x5A;
  SAY("%zu %% old bytes", old * 100 / size);
}
static void stale_read_small(void) { stale_read(64); }
static void stale_read_large(void) { stale_read(1000000); }

static void stale_read_released(void) {
  unsigned char *p = take(64);
  volatile size_t old = 0;
  if (arena == NULL) {
    SAY("-");
    return;
  }
  memset(p, 0x5A, 64);
  toft_release(arena);
  if (sigsetjmp(fault, 1) != 0) {
    SAY("fault");
    return;
  }
  for (size_t i = 0; i < 64; i++) old += ((volatile unsigned char *)p)[i] == 0x5A;
  SAY("%zu %% old bytes", old * 100 / 64);
}

/* Whether the next object gets the memory of the freed one. */
static void reuse(void) {
  unsigned char *p = take(48);
  give(p, 48);
  for (int i = 1; i <= 1000; i++)
    if (take(48) == p) {
      SAY("by allocation %d", i);
      return;
    }
  SAY("not within 1000");
}

static void twice(int between) {
  unsigned char *p = take(48), *other = take(48), **last = (unsigned char **)calloc(1000, sizeof *last);
  if (arena != NULL) p = other;
  give(p, 48);
  if (between && arena == NULL) give(other, 48);
  give(p, 48);
  for (int i = 0; i < 1000 && last != NULL; i++) last[i] = take(48);
  SAY("ignored");
  for (int i = 0; i < 1000 && last != NULL; i++)
    for (int k = 0; k < i; k++)
      if (last[i] == last[k]) SAY("two owners of one object");
  if (found != 0) SAY("reported and refused");
}
static void double_free(void) { twice(0); }
static void double_free_between(void) { twice(1); }

static void foreign_free(void) {
  static union {
    max_align_t aligned;
    unsigned char bytes[256];
  } foreign;
  unsigned char *q;
  give(foreign.bytes + 64, 48);
  SAY("ignored");
  for (int i = 0; i < 1000; i++)
    if ((q = take(48)) >= foreign.bytes && q < foreign.bytes + 256) SAY("the next object lies there");
  if (found != 0) SAY("reported and refused");
}

static void inner_free(void) {
  unsigned char *p = take(256), *q;
  memset(p, 0, 256);
  give(p + 64, 48);
  SAY("ignored");
  for (int i = 0; i < 1000; i++)
    if ((q = take(48)) >= p && q < p + 256) SAY("the next object lies in a live one");
  if (found != 0) SAY("reported and refused");
}

/* ---- running them ---- */

static const struct {
  const char *name;
  void (*fn)(void);
} attacks[] = {
    {"overflow of a 32 B object reaches", overflow_neighbour},
    {"linear write upwards from 32 B", reach_up},
    {"linear write downwards from 32 B", reach_down},
    {"linear write upwards from 1 MB", reach_up_large},
    {"overflow reaches a function pointer of the allocator", overflow_function},
    {"8 B behind an object changed", smash_8_behind},
    {"32 B behind an object changed", smash_32_behind},
    {"16 B before an object changed", smash_16_before},
    {"read of 64 B after free or reset", stale_read_small},
    {"read of 1 MB after free or reset", stale_read_large},
    {"read of 64 B after release of the arena", stale_read_released},
    {"memory of a freed object is handed out again", reuse},
    {"double free", double_free},
    {"double free, another in between", double_free_between},
    {"free of a static object", foreign_free},
    {"free of a pointer into a live object", inner_free},
};

static void run(size_t i) {
  int status;
  answer[0] = 0;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    if (freopen("/dev/null", "w", stderr) == NULL) _exit(2);
    (void)signal(SIGSEGV, on_fault);
    (void)signal(SIGBUS, on_fault);
    toft_on_finding(on_finding, NULL);
    arena = create();
    if (sigsetjmp(fault, 1) == 0)
      attacks[i].fn();
    else
      (void)strcat(answer, "; fault");
    _exit(0);
  }
  if (child < 0 || waitpid(child, &status, 0) != child) exit(2);
  if (WIFSIGNALED(status) && strstr(answer, "the C library") == NULL) (void)strcat(answer, "; abort");
  printf("%s\t%s\n", attacks[i].name, answer[0] == ';' ? answer + 2 : answer);
}

int main(int count, char **arguments) {
  mode = count > 1 ? arguments[1] : "malloc";
  if (count > 2) { /* addresses: the first object's place in its page, and the distances to two others */
    arena = create();
    unsigned char *p = take(48), *q = take(48), *r = take(40000);
    printf("%zu %td %td\n", (size_t)((uintptr_t)p % 4096), q - p, r - p);
    return 0;
  }
  answer = (char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (answer == MAP_FAILED) return 2;
  for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) run(i);
  return 0;
}
