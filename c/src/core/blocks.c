/* The list of blocks, the accounting by subtraction, and the one writer of limit.
 * Every op begins with toft_enter and ends with toft_aim.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_BLOCKS_C
#define TOFT_CORE_BLOCKS_C

#include "arena_state.h"
#include "instrument.h"
#include "policy.c"

static toft_state *toft_state_of(const toft_arena *head) { return (toft_state *)(uintptr_t)head; }

/* First use of the slow half of the state: an arena that never needs it never pays for it. */
static TOFT_COLD void toft_prepare(toft_state *a) {
  memset((void *)&a->live, 0, sizeof *a - offsetof(toft_state, live));
  a->home.size = a->home_size;
  a->home.source = a->state & TOFT_BUFFER ? NULL : a->source;
  a->home.born = a->head.epoch;
  a->current = a->newest = &a->home;
  a->source_calls = a->home.source != NULL;
  a->state &= ~(uint32_t)TOFT_FRESH;
}

/* Brings live up to the cursor. allocated counts what was added since; what was rewound inline between is not seen. */
static void toft_sync(toft_state *a) {
  ptrdiff_t moved = a->head.cursor - a->anchor;
  if (moved > 0) a->allocated += (uint64_t)moved;
  a->live += (uint64_t)(int64_t)moved;
  a->anchor = a->head.cursor;
  if (a->live > a->peak) a->peak = a->live;
}

static void toft_enter(toft_state *a) {
  if (TOFT_UNLIKELY(a->state & TOFT_FRESH)) toft_prepare(a);
  toft_sync(a);
}

/* Room of the inline path: up to the block's end, as far as the budget goes, or none while something must be slow. */
static void toft_aim(toft_state *a) {
  size_t room = (size_t)(a->end - a->head.cursor);
  uintptr_t closed = (a->state & (TOFT_CLAIMED | TOFT_BUSY | TOFT_IS_CHECKED)) != 0;
  uintptr_t watched = closed | (a->live > a->budget); /* else an inline free would open room that is not there */
  if (a->budget != UINT64_MAX) {
    uint64_t left = a->live < a->budget ? (a->budget - a->live) & ~(uint64_t)7 : 0;
    if (left < room) room = (size_t)left;
  }
  if (a->state & TOFT_WATCHED) room = toft_aim_watch(a, room, &watched);
  a->head.limit = a->head.cursor + (closed ? 0 : room);
  a->head.epoch = (a->head.epoch & ~(uintptr_t)1) | watched;
}

/* An arena that waits for its next lease has no room. limit: what toft_aim found when it was as empty as it is now. */
TOFT_INLINE void toft_shut(toft_state *a) { a->head.limit = a->head.cursor; }
TOFT_INLINE void toft_reopen(toft_state *a, unsigned char *limit) { a->head.limit = limit; }

/* A callback begins: the arena is in order, and closed. What is returned goes to toft_call_back. */
static uint32_t toft_call_out(toft_state *a) {
  uint32_t was = a->state & TOFT_BUSY;
  a->state |= TOFT_BUSY;
  toft_aim(a);
  return was;
}

static void toft_call_back(toft_state *a, uint32_t was) {
  if (!was) a->state &= ~(uint32_t)TOFT_BUSY;
}

/* Tells the arena's failure callback, if there is one. */
static void toft_fail(toft_state *a, size_t size, size_t align, int code) {
  if (a->failure != NULL) a->failure(a->failure_arg, &a->head, size, align, code);
}

static uintptr_t toft_epoch(const toft_state *a) { return a->head.epoch & ~(uintptr_t)1; }

/* Marks from before this point must ask ops. */
static void toft_bump(toft_state *a) { a->head.epoch += 2; }

/* All of a claimed range counts as used, until it is given. What costs nothing is always affordable. */
static int toft_affords(toft_state *a, size_t charge) {
  uint64_t held = a->state & TOFT_CLAIMED ? (uint64_t)(a->claim_limit - a->head.cursor) : 0;
  if (charge == 0) return 1;
  if ((a->state & TOFT_WATCHED) && !toft_tag_affords(a, charge)) return 0;
  return a->live + held <= a->budget && charge <= a->budget - a->live - held;
}

/* What a round needs of this arena's own blocks. */
static void toft_note_peak(toft_state *a, uint64_t live) {
  uint64_t own = live - a->adopted_live;
  if (own > a->round_peak) a->round_peak = own;
}

/* ---- geometry ---- */

/* A source that extends its blocks in place gives one block for good: no stagger, which would depend on its size. */
static size_t toft_offset(const toft_blk *b) {
  if (b->kind != TOFT_BLOCK_REGULAR || (b->source != NULL && b->source->extend != NULL)) return TOFT_HEADER;
  return toft_stagger(b->size, b->index);
}

static unsigned char *toft_block_start(const toft_state *a, toft_blk *b) {
  return b == &a->home ? a->home_start : (unsigned char *)b + toft_offset(b);
}

static unsigned char *toft_block_end(const toft_state *a, toft_blk *b) {
  if (b == &a->home) return a->home_end;
  if (toft_offset(b) == TOFT_HEADER && (b->kind != TOFT_BLOCK_REGULAR || b->source->extend != NULL))
    return (unsigned char *)b + b->size;
  return (unsigned char *)b + toft_offset(b) + toft_usable(b->size);
}

static unsigned char *toft_block_top(const toft_state *a, const toft_blk *b) {
  return b == a->current ? a->head.cursor : b->left;
}

/* ---- taking ---- */

/* A block of exactly `size` bytes: one kept for later, or the source's. NULL: there is none. */
static toft_blk *toft_take(toft_state *a, size_t size) {
  for (toft_blk **at = &a->spares; *at != NULL; at = &(*at)->next) {
    toft_blk *b = *at;
    if (b->size == size) {
      *at = b->next;
      a->spare_bytes -= size;
      return b;
    }
  }
  if (a->source == NULL) return NULL;
  a->source_calls++;
  toft_blk *b = (toft_blk *)a->source->take(a->source, size);
  if (b != NULL && ((uintptr_t)b & 63) != 0) { /* not a block by the source's contract */
    a->source->put(a->source, b, size);
    return NULL;
  }
  if (b != NULL) {
    b->size = size;
    b->source = a->source;
  }
  return b;
}

/* Puts a taken block on top of the list. */
static void toft_push(toft_state *a, toft_blk *b, uint32_t kind) {
  toft_bump(a);
  b->kind = kind;
  b->index = a->newest->index + 1;
  b->born = toft_epoch(a);
  b->charge = 0;
  b->next = a->newest;
  b->of.below = a->current;
  a->newest = b;
}

static void toft_make_current(toft_state *a, toft_blk *b, unsigned char *cursor) {
  a->current = b;
  a->head.cursor = a->anchor = cursor;
  a->end = toft_block_end(a, b);
}

/* ---- giving back ---- */

static void toft_put(toft_state *a, toft_blk *b) {
  if (TOFT_UNLIKELY(a->checks != NULL) && toft_part_with(a, b)) return;
  b->source->put(b->source, b, b->size);
}

static void toft_keep(toft_state *a, toft_blk *b) {
  b->kind = TOFT_BLOCK_SPARE;
  b->next = a->spares;
  a->spares = b;
  a->spare_bytes += b->size;
}

/* P12: what is not needed now is a spare. Of more than the bound allows, the newest stay. */
static void toft_drop(toft_state *a, toft_blk *b) {
  uint64_t bound = toft_max(toft_max(TOFT_SPARE, a->spare_keep), a->first);
  if (bound < 2 * a->round_peak) bound = 2 * a->round_peak;
  toft_keep(a, b);
  while (a->spare_bytes > bound) {
    toft_blk **at = &a->spares;
    while ((*at)->next != NULL) at = &(*at)->next;
    a->spare_bytes -= (*at)->size;
    toft_put(a, *at);
    *at = NULL;
  }
}

static void toft_put_spares(toft_state *a, size_t keep) {
  while (a->spares != NULL && a->spare_bytes > keep) {
    toft_blk *b = a->spares;
    a->spares = b->next;
    a->spare_bytes -= b->size;
    toft_put(a, b);
  }
}

/* Takes the newest block off the list, out of live, and makes what lies under it current. Not for home. */
static toft_blk *toft_pop(toft_state *a) {
  toft_blk *b = a->newest;
  a->newest = b->next;
  if (b->kind == TOFT_BLOCK_ONEOFF) {
    a->live -= b->charge;
    toft_apart_gone(a, b);
  } else {
    b->left = a->head.cursor;
    a->live -= (uint64_t)(b->left - toft_block_start(a, b));
    toft_make_current(a, b->of.below, b->of.below->left);
  }
  return b;
}

/* ---- cleanups ---- */

/* Runs those born after `epoch`, newest first, each once. The arena is closed meanwhile: no room, every op refused. */
static void toft_run_cleanups(toft_state *a, uintptr_t epoch) {
  if (a->cleanups == NULL || a->cleanups->born <= epoch) return;
  a->state |= TOFT_BUSY;
  toft_aim(a);
  while (a->cleanups != NULL && a->cleanups->born > epoch) {
    toft_node *node = a->cleanups;
    a->cleanups = node->older;
    if (node->user.fn == toft_end_adopted) {
      uint64_t live = ((const toft_state *)node->user.arg)->live;
      a->live -= live;
      a->adopted_live -= live;
      toft_apart_gone(a, node->user.arg);
    }
    if (node->user.fn != NULL) node->user.fn(node->user.arg);
  }
  a->state &= ~(uint32_t)TOFT_BUSY;
}

#endif
