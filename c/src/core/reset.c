/* Reset and trim: the end of a round, and what an empty arena keeps.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_RESET_C
#define TOFT_CORE_RESET_C

#include "arena_state.h"
#include "blocks.c"
#include "hooks.h"
#include "retention.c"

/* P10: adds this round's peak to its window. Returns the highest peak of all windows, and 512 for the state in the
 * initial block. */
static uint64_t toft_end_round(toft_state *a) {
  uint64_t *window = &a->window_peaks[a->rounds / TOFT_ROUNDS_PER_WINDOW % TOFT_PEAK_WINDOWS], high = 0;
  if (a->rounds++ % TOFT_ROUNDS_PER_WINDOW == 0) *window = 0;
  if (a->round_peak > *window) *window = a->round_peak;
  a->round_peak = 0;
  for (int i = 0; i < TOFT_PEAK_WINDOWS; i++)
    if (a->window_peaks[i] > high) high = a->window_peaks[i];
  return high + 512;
}

/* Unlinks all blocks but the initial one into one list: blocks, newest first, then spares in their order. */
static toft_block_header *toft_unlink_all(toft_state *a) {
  toft_block_header *all = a->newest, **tail = &all;
  while (*tail != &a->initial) tail = &(*tail)->next;
  *tail = a->spares;
  a->spares = NULL;
  a->spare_bytes = 0;
  return all;
}

static toft_round_memory toft_measure_round(toft_state *a) {
  const toft_block_header *newest = a->newest;
  toft_round_memory m = {0, 0, 0, 0, 0, 0, 0, 0, 0};
  m.high = toft_end_round(a);
  for (const toft_block_header *b = newest; b != &a->initial; b = b->next) {
    m.others += b->size;
    m.dedicated_count += b->kind == TOFT_BLOCK_DEDICATED;
  }
  if (newest != &a->initial && newest->next == &a->initial && newest->kind == TOFT_BLOCK_REGULAR)
    m.single = newest->size;
  m.spare_bytes = a->spare_bytes;
  m.initial_usable = (size_t)(a->initial_end - a->initial_start);
  m.initial_only = a->source == NULL || (a->initial.source != NULL && a->initial.source->extend != NULL);
  m.limited = toft_is_limited(a->source);
  m.refused = (a->state & TOFT_KEEPS_BLOCKS) != 0;
  return m;
}

static int toft_is_retained(const toft_state *a, const toft_retention *r, size_t size) {
  TOFT_ASSERT(r->blocks != TOFT_RETAIN_UP_TO || a->spare_bytes <= r->bound);
  if (r->blocks == TOFT_RETAIN_UP_TO) return size <= r->bound && a->spare_bytes <= r->bound - size;
  return r->blocks == TOFT_RETAIN_SPARE && a->spare_bytes == 0 && size >= r->at_least && size <= r->at_most;
}

/* Makes each block of the list that is retained a spare, in order, and returns the others to the source. Returns the
 * size of the largest retained regular block that was in use. */
static size_t toft_retain_matching(toft_state *a, toft_block_header *list, const toft_retention *r) {
  toft_block_header **tail = &a->spares;
  size_t largest = 0;
  while (list != NULL) {
    toft_block_header *b = list;
    list = b->next;
    if (toft_is_retained(a, r, b->size)) {
      *tail = b;
      tail = &b->next;
      a->spare_bytes += b->size;
      if (b->kind == TOFT_BLOCK_REGULAR) largest = toft_max(largest, b->size);
      b->kind = TOFT_BLOCK_SPARE;
    } else {
      toft_block_put(a, b);
    }
  }
  *tail = NULL;
  return largest;
}

/* P10: ends the round of an arena in which nothing is live. */
static void toft_retain_blocks(toft_state *a, uint32_t policy, size_t keep) {
  toft_round_memory m = toft_measure_round(a);
  toft_retention r = toft_decide_retention(&m, policy, keep);
  a->state &= ~(uint32_t)TOFT_ROUND_REFUSED;
  a->spare_keep = r.bound;
  if (r.blocks == TOFT_RETAIN_IN_PLACE) {
    toft_block_header *single = a->newest;
    TOFT_ASSERT(single != &a->initial && single->next == &a->initial && single->kind == TOFT_BLOCK_REGULAR);
    toft_put_spares(a, 0);
    toft_make_initial_current(a, r.initial_idle); /* no mark of this round can point into it */
    a->newest = single;
    single->index = 1;
    toft_make_current(a, single, toft_block_start(a, single));
  } else {
    size_t largest = toft_retain_matching(a, toft_unlink_all(a), &r);
    if (r.blocks == TOFT_RETAIN_SPARE && a->spares != NULL) r.first_size = a->spares->size;
    if (r.first_size != 0) r.first_size = toft_max(r.first_size, largest);
    toft_make_initial_current(a, r.initial_idle);
  }
  TOFT_ASSERT((r.first_size != 0) == (r.initial_idle != 0) || r.blocks == TOFT_RETAIN_IN_PLACE);
  a->first_size = r.first_size;
}

static void toft_mark_all_freed(toft_state *a) {
  for (toft_block_header *b = a->newest; b != NULL && (a->state & (TOFT_OBSERVED | TOFT_CLEARS)) != 0; b = b->next)
    toft_freed(a, toft_block_start(a, b), toft_block_used_end(a, b));
}

static int toft_op_reset(toft_arena *head, uint32_t policy, size_t keep) {
  toft_state *a = toft_state_of(head);
  int code = TOFT_OK;
  toft_sync_in(a);
  if (policy > TOFT_KEEP_BYTES) {
    code = TOFT_EARG;
  } else if (a->state & TOFT_REFUSING) {
    code = TOFT_EBUSY;
  } else {
    toft_update_round_peak(a, a->live);
    toft_run_cleanups(a, 0);
    if (TOFT_UNLIKELY(a->state & TOFT_OBSERVED)) code = toft_observe_free(a, 0, TOFT_BY_RESET);
    toft_mark_all_freed(a);
    toft_retain_blocks(a, policy, keep);
    a->live = 0;
    toft_portion_return(a);
    (void)toft_count_detached(a, NULL, 0, TOFT_DETACHED_REMOVED);
    toft_next_epoch(a);
    a->initial.epoch = a->current->epoch = toft_epoch(a);
  }
  toft_set_limit(a);
  return code;
}

static void toft_op_trim(toft_arena *head, size_t keep) {
  toft_state *a = toft_state_of(head);
  toft_sync_in(a);
  if (!(a->state & TOFT_REFUSING)) {
    toft_put_spares(a, keep);
    toft_portion_return(a);
    toft_block_header *b = a->current;
    a->spare_keep = toft_min(a->spare_keep, keep);
    if (toft_current_is_unused(a) && b->size > keep) {
      toft_put_current(a);
    } else if (a->live == 0 && b == &a->initial && a->newest == b && b->source != NULL && b->source->extend != NULL) {
      size_t size = toft_max(TOFT_BLOCK_MIN, toft_round(toft_min(keep, b->size), TOFT_BLOCK_MIN));
      size = toft_max(size, toft_round((size_t)(a->head.cursor - (unsigned char *)a), TOFT_BLOCK_MIN));
      if (size < b->size && (a->state & TOFT_OBSERVED)) (void)toft_observe_put(a, b, size);
      if (size < b->size && b->source->extend(b->source, a, b->size, size)) {
        b->size = size;
        a->end = a->initial_end = (unsigned char *)a + size;
      }
    }
  }
  toft_set_limit(a);
}

#endif
