/* Pairs of lifetimes that differ in one respect each. Every function allocates and frees ROUNDS objects of its own.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

enum { ROUNDS = 10000 };

static char *volatile out;     /* keeps the compiler from removing allocations */
static volatile int twice = 2; /* keeps it from unrolling a loop */

NOINLINE static char *make(void) {
  char *p = (char *)malloc(24);
  if (p == NULL) abort();
  out = p;
  return p;
}

/* Two functions that capture equally many objects, but not the same ones. */
NOINLINE static void first_half(void) { free(make()), out = NULL; }
NOINLINE static void second_half(void) { free(make()), out = NULL; }

/* One callee, called from two places: the object of the first call is freed here, that of the second is returned. */
NOINLINE static char *keep_second(void) {
  char *temporary = make();
  temporary[0] = 1;
  char *kept = make();
  free(temporary);
  return kept;
}

/* Called twice by one instruction: the first call allocates, the second one frees. Between them its caller
 * allocates, at the stack pointer at which it calls. */
NOINLINE static void alternate(int i) {
  static char *p;
  if (i % 2 == 0)
    p = make();
  else
    free(p), out = NULL;
}

NOINLINE static void call_twice(void) {
  for (int i = 0; i < twice; i++) {
    alternate(i);
    char *p = (char *)malloc(40);
    out = p;
    free(p);
  }
}

/* Called from two places in main. The object is allocated more calls further in than are compared at each call, so that
 * its site has main's place of the first call. */
NOINLINE static char *make_within(int calls) {
  char *p = calls > 0 ? make_within(calls - 1) : make();
  out = p;
  return p;
}

NOINLINE static void phase(void) { free(make_within(5)), out = NULL; }

int main(void) {
  for (int i = 0; i < ROUNDS; i++) first_half();
  for (int i = 0; i < ROUNDS; i++) second_half();
  for (int i = 0; i < ROUNDS; i++) free(keep_second());
  for (int i = 0; i < ROUNDS; i++) call_twice();
  for (int i = 0; i < ROUNDS; i++) phase();
  for (int i = 0; i < ROUNDS; i++) phase();
  return 0;
}
