/* Signals that interrupt the inline paths, as section 7 of SPEC requires: between any two instructions of these the
 * head is valid, and the handler may read it and use other arenas. On x86-64 the handler runs after each instruction
 * (the trap flag), elsewhere at the rate of a timer.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

#include <stdio.h>

#ifndef _WIN32
#include <signal.h>
#include <sys/time.h>

#if defined(__x86_64__) && defined(__linux__) && defined(__LP64__) && !defined(HAS_TSAN)
#define HAS_TRAPS 1
/* The stack pointer first passes the red zone of the caller. */
#define SET_TRAP(change) \
  __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; " change "; popfq; lea 128(%%rsp), %%rsp" ::: "memory", "cc")
#else
#define HAS_TRAPS 0
#define SET_TRAP(change) ((void)0)
#endif

enum { OBJECTS = 64 };

static toft_arena *interrupted, *handlers;
static toft_mark empty; /* of the handler's arena */
static volatile sig_atomic_t calls, wrong;
static int traps;

/* The handler's arena is on a buffer: malloc may not be called here. */
static void handle(int number) {
  uintptr_t cursor = (uintptr_t)interrupted->cursor, limit = (uintptr_t)interrupted->limit;
  (void)number;
  calls++;
  if (cursor > limit || cursor % 8 != 0 || limit % 8 != 0) wrong++;
  unsigned char *p = (unsigned char *)toft_alloc(handlers, 40),
                *q = (unsigned char *)toft_alloc_aligned(handlers, 9, 64);
  if (p == NULL || q == NULL || !is_aligned(q, 64)) {
    wrong++;
    return;
  }
  fill(p, 40, (unsigned)calls);
  fill(q, 9, (unsigned)calls + 1);
  if (!filled(p, 40, (unsigned)calls) || calls % 100 != 0) return;
  if (toft_rewind(handlers, empty) != TOFT_OK) wrong++;
}

/* A round of every inline path. Its allocations are at the same places in each round. */
static void play(toft_arena *a, int first, uintptr_t *places) {
  unsigned char *at[OBJECTS];
  size_t sizes[OBJECTS];
  if (traps) SET_TRAP("orq $0x100, (%%rsp)");
  toft_mark m = toft_mark_here(a);
  for (size_t i = 0; i < OBJECTS; i++) {
    void *p;
    sizes[i] = 1 + i % 30;
    switch (i % 6) {
      case 0: p = toft_alloc(a, sizes[i] = 24); break;
      case 1: p = toft_alloc(a, sizes[i]); break;
      case 2: p = toft_alloc_aligned(a, sizes[i], 32); break;
      case 3: p = toft_alloc_zeroed(a, sizes[i], 8); break;
      case 4: p = toft_resize(a, toft_alloc(a, 100), 100, sizes[i], 8); break;
      default: toft_free(a, toft_alloc(a, 50), 50); p = toft_alloc(a, sizes[i]);
    }
    at[i] = (unsigned char *)p;
    fill(at[i], sizes[i], (unsigned)i);
  }
  int bad = 0;
  for (size_t i = 0; i < OBJECTS; i++) bad |= !filled(at[i], sizes[i], (unsigned)i);
  int code = toft_rewind(a, m);
  if (traps) SET_TRAP("andq $~0x100, (%%rsp)");
  assert_true(!bad && code == TOFT_OK);
  for (size_t i = 0; i < OBJECTS; i++) {
    if (first) places[i] = (uintptr_t)at[i];
    assert_true((uintptr_t)at[i] == places[i]);
  }
}

static void the_inline_paths_may_be_interrupted(void **state) {
  static unsigned char buffer[32768];
  static uintptr_t places[OBJECTS];
  struct itimerval every = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
  struct sigaction ours;
  counted c;
  (void)state;
  toft_options o = TOFT_OPTIONS;
  o.source = counted_init(&c);
  o.reserve = 65536;
  o.flags = 0; /* a checked arena has no inline path */
  interrupted = toft_create_with(&o);
  handlers = toft_create_in(buffer, sizeof buffer, NULL);
  assert_true(interrupted != NULL && handlers != NULL);
  empty = toft_mark_here(handlers);
  assert_non_null(toft_alloc(interrupted, 5000)); /* in a block that the stream fits into: no operation runs below */
  play(interrupted, 1, places);                   /* not interrupted */
  traps = HAS_TRAPS;
#ifdef RUNNING_ON_VALGRIND
  if (RUNNING_ON_VALGRIND) traps = 0;
#endif
  memset(&ours, 0, sizeof ours);
  ours.sa_handler = handle;
  int number = traps ? SIGTRAP : SIGALRM, enough = long_run() ? 100000 : 2000;
  assert_int_equal(sigaction(number, &ours, NULL), 0);
  if (!traps) assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
  while (calls < enough) play(interrupted, 0, places);
  if (!traps) assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
  (void)signal(number, SIG_IGN);
  assert_int_equal(wrong, 0);
  toft_release(handlers);
  toft_release(interrupted);
  counted_all_back(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_inline_paths_may_be_interrupted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
  puts("skipped: no signals here");
  return 77;
}

#endif
