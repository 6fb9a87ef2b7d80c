/* A fast reset for arenas that are in the state their last reset left, except for the cursor: there is nothing to
 * drop, to run or to decide. Leases and frames use it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_RESET_FAST_C
#define TOFT_CORE_RESET_FAST_C

#include "arena_state.h"
#include "blocks.c"
#include "ops.c"

#define TOFT_FAST_RESETS_MAX 512 /* fast resets between two full ones, which return memory that is no longer needed */

static uint64_t toft_max64(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* The state after the last reset: empty, and limit computed. */
typedef struct toft_reset_state {
  uintptr_t epoch, full_epoch,
      due_epoch; /* even; full_epoch: after the last full reset; at due_epoch the next is due */
  unsigned char *start, *limit;
  size_t round_max; /* bytes of the largest round since the last full reset */
} toft_reset_state;

/* Records the current state. Arenas with an extending source need no periodic full reset: it would change nothing. */
static void toft_reset_state_save(const toft_state *a, toft_reset_state *s) {
  int extends = a->source != NULL && a->source->extend != NULL;
  s->start = a->head.cursor;
  s->limit = a->head.limit;
  s->epoch = s->full_epoch = toft_epoch(a);
  s->due_epoch = extends ? s->epoch : s->epoch + 2 * TOFT_FAST_RESETS_MAX;
}

/* 0: not done, a full reset is needed. New blocks, cleanups, adopted arenas and settings raise the epoch; claims,
 * checks and an exhausted budget make it odd. `synced` may stay: live is valid there. */
TOFT_INLINE int toft_reset_fast(toft_state *a, toft_reset_state *s) {
  uintptr_t epoch = s->epoch;
  unsigned char *start = s->start;
  if (TOFT_UNLIKELY(a->head.epoch != epoch || epoch == s->due_epoch || (size_t)(a->head.cursor - start) > s->round_max))
    return 0;
  a->head.cursor = start;
  a->head.epoch = a->initial.epoch = a->current->epoch = s->epoch = epoch + 2;
  return 1;
}

static int toft_reset_full(toft_state *a, toft_reset_state *s, uint32_t policy, size_t keep) {
  size_t round_max = s->epoch == s->full_epoch ? 0 : s->round_max; /* of the fast resets since the last full one */
  if (!toft_end_instruments(a)) return TOFT_EBUSY;
  toft_sync_in(a);
  size_t used = (size_t)toft_max64(a->live, round_max);
  toft_update_round_peak(a, used + a->adopted_live);
  toft_set_limit(a);
  int due = s->epoch == s->due_epoch, code = toft_ops_of(a)->reset(&a->head, policy, keep);
  if (code == TOFT_OK || code == TOFT_ECORRUPT) {
    toft_reset_state_save(a, s);
    s->round_max = due ? 0 : used;
  }
  return code;
}

#endif
