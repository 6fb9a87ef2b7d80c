/* W1: the interface of contenders, and the timed loops. A contender is one file: an arena, how it is made, emptied
 * and destroyed, how it allocates, and then #include "loops.inc", which instantiates every loop with that
 * allocation inlined, as its users would have it. w1.c runs them side by side.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef W1_H
#define W1_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

struct w1_contender;

/* The input of the loops; the same for all contenders. */
struct w1_task {
  size_t n, reps;        /* operations a repetition, repetitions */
  const uint32_t *sizes; /* n of each, for the loops that use them */
  const uint32_t *aligns;
  const char *const *strings;
};

/* Runs the task on an arena. Returns the number of allocations that succeeded: n * reps, or fewer after a failure. */
typedef size_t w1_loop(void *arena, const struct w1_task *task);

/* The hot loops: an arena lives across samples and is emptied after each repetition; except LIFE, LIFE_IN
 * and LEASE, which make and destroy one in each operation. X(id, name, operations in a repetition, description) */
#define W1_LOOPS(X)                                                                                   \
  X(HOT, "hot", 4096, "8 B, written")                                                                 \
  X(HOT_UNTOUCHED, "hot untouched", 4096, "8 B, untouched")                                           \
  X(FOUR, "hot by four", 4096, "8 B, four in a loop body, written")                                   \
  X(FOUR_UNTOUCHED, "hot by four untouched", 4096, "8 B, four in a loop body, untouched")             \
  X(MIXED, "mixed", 2000, "8-256 B, mostly small, written")                                           \
  X(MIXED_UNTOUCHED, "mixed untouched", 2000, "8-256 B, mostly small, untouched")                     \
  X(RUNTIME, "runtime", 2000, "8-64 B at alignments 1-32, both known at run time only; written")      \
  X(LIFE, "life", 1, "create, 10 x 32 B written, destroy")                                            \
  X(LIFE_IN, "life in buffer", 1, "the same on a caller's buffer")                                    \
  X(ALIGN64, "align 64", 1024, "64 B at alignment 64, written")                                       \
  X(STRINGS, "strings", 2000, "copies of strings of 1-12 B")                                          \
  X(BIG, "reset 1 MiB", 2, "8 B and 1 MiB, one int of each written, reset; a pair is two operations") \
  X(SCOPE, "scope", 2, "mark, 2 x 32 B written, rewind; two operations")                              \
  X(LEASE, "lease", 1, "an arena for 1 + 10 + 100 + 1000 B, a byte of each written, and its end")

enum w1_loop_id {
#define X(id, name, n, what) W1_##id,
  W1_LOOPS(X)
#undef X
      W1_LOOP_COUNT
};

struct w1_contender {
  const char *name, *language;
  size_t size; /* of its arena */
  /* count, bytes: sizes of the coming task, for floors and malloc's list of pointers */
  int (*create)(void *arena, size_t count, size_t bytes);
  void (*destroy)(void *arena);
  int (*clear)(void *arena);
  w1_loop *fill;                /* n x 8 B, written */
  w1_loop *grow;                /* 8 B and 1 MiB, every page written, and a reset: for the footprint */
  w1_loop *loop[W1_LOOP_COUNT]; /* NULL: no such operation */
  int (*verify)(void);          /* mixed sizes, twice, every byte written and read back */
};

/* In another file, opaque to the compiler, which thus cannot prove that a full floor never returns. */
void *w1_full(void);
void w1_escape(void *p);

#ifdef __cplusplus
}
#endif
#endif
