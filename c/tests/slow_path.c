/* One operation by the table of an arena without diagnostics, many times: slow_path OPERATION [TIMES]. c/check valgrind
 * counts the instructions of a call, and compares them with the limits in the table below (gcc 12 -O2).
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "toft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t size = 24;
static char *object;

static void alloc(toft_arena *a) { (void)a->ops->alloc(a, 24, 8, 0, 0); }
static void rewind_here(toft_arena *a) { (void)a->ops->rewind(a, a->cursor, a->epoch & ~(uintptr_t)1); }
static void resize(toft_arena *a) {
  if (object == NULL) object = (char *)a->ops->alloc(a, size, 8, 0, 0);
  object = (char *)a->ops->resize(a, object, size, size ^ 8, 8, 0, 0);
  size ^= 8;
}
static void free_newest(toft_arena *a) { a->ops->free(a, toft_alloc(a, 24), 24); }
static void life(toft_arena *a) {
  toft_recycler r;
  (void)a, (void)toft_recycler_init(&r, NULL);
  for (int i = 0; i < 10; i++) *(volatile int *)toft_recycler_alloc(&r, 32, 8) = i;
  toft_recycler_release(&r);
}
static void reset(toft_arena *a) {
  a->cursor += 24;
  (void)a->ops->reset(a, TOFT_KEEP_RECENT, 0);
}

static const struct row {
  const char *name;
  void (*run)(toft_arena *a);
  int limit; /* instructions, with those of the loop */
} rows[] = {{"alloc", alloc, 176},      {"rewind", rewind_here, 122}, {"resize", resize, 201},
            {"free", free_newest, 125}, {"reset", reset, 330},        {"life", life, 1060}}; /* a recycler */

int main(int n, char **args) {
  int times = n > 2 ? atoi(args[2]) : 20000;
  toft_arena *a = toft_create();
  for (const struct row *r = rows; r < rows + sizeof rows / sizeof *rows; r++) {
    if (n == 1) printf("%s %d\n", r->name, r->limit);
    for (int i = n > 1 && strcmp(args[1], r->name) == 0 ? 0 : times; i < times; i++) r->run(a);
  }
  toft_release(a);
  return 0;
}
