/* A reset of an arena that is as its last reset left it, but for its cursor: nothing to drop, to run or to decide.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_RESET_FAST_C
#define TOFT_CORE_RESET_FAST_C

#include "arena_state.h"
#include "blocks.c"
#include "ops.c"

#define TOFT_AGAIN 512 /* short resets between two long ones, which forget what is not needed any more */

static uint64_t toft_max64(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* How its last reset left it: empty, open and aimed. */
typedef struct toft_settled {
  uintptr_t epoch, from, last; /* even; from: of the last long one; at `last` the next is due */
  unsigned char *start, *limit;
  size_t high; /* no round since the last long one had more */
} toft_settled;

/* So it is to be after each short one. A block that is extended where it stands shows in nothing that those look at. */
static void toft_settle_here(const toft_state *a, toft_settled *s) {
  int extends = a->source != NULL && a->source->extend != NULL;
  s->start = a->head.cursor;
  s->limit = a->head.limit;
  s->epoch = s->from = toft_epoch(a);
  s->last = extends ? s->epoch : s->epoch + 2 * TOFT_AGAIN;
}

/* 0: not done, a long one is due. Blocks, cleanups, adopted arenas and settings raise the epoch; ranges, checks and
 * what a budget refuses inline make it odd. The anchor may stay: live is what it is there. */
TOFT_INLINE int toft_reset_again(toft_state *a, toft_settled *s) {
  uintptr_t epoch = s->epoch;
  unsigned char *start = s->start;
  if (TOFT_UNLIKELY(a->head.epoch != epoch || epoch == s->last || (size_t)(a->head.cursor - start) > s->high)) return 0;
  a->head.cursor = start;
  a->head.epoch = a->home.born = a->current->born = s->epoch = epoch + 2;
  return 1;
}

static int toft_reset_long(toft_state *a, toft_settled *s, uint32_t policy, size_t keep) {
  size_t high = s->epoch == s->from ? 0 : s->high; /* of the short ones that are known to have been */
  toft_enter(a);
  size_t used = (size_t)toft_max64(a->live, high);
  toft_note_peak(a, used + a->adopted_live);
  toft_aim(a);
  int due = s->epoch == s->last, code = toft_op_reset(&a->head, policy, keep);
  if (code == TOFT_OK || code == TOFT_ECORRUPT) {
    toft_settle_here(a, s);
    s->high = due ? 0 : used;
  }
  return code;
}

#endif
