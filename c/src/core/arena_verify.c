/* The invariants of an arena's state, which each operation leaves: verified by toft_set_limit, the last call of each.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_ARENA_VERIFY_C
#define TOFT_CORE_ARENA_VERIFY_C

#include "../platform/assert.h"
#include "blocks.c"

#ifdef TOFT_ASSERTIONS

#define TOFT_VERIFY_BLOCKS 32 /* of a list, from the newest on */

/* The head: what inline paths read. */
static void toft_verify_head(const toft_state *a) {
  TOFT_ASSERT(a->head.cursor <= a->head.limit);
  TOFT_ASSERT(a->head.limit <= a->end);
  TOFT_ASSERT(a->initial_start <= a->initial_end);
  if (a->state & (TOFT_CLAIMED | TOFT_BUSY | TOFT_IS_CHECKED)) {
    TOFT_ASSERT(a->head.limit == a->head.cursor);
    TOFT_ASSERT((a->head.epoch & 1) != 0);
  }
  if (a->state & (TOFT_COUNTS_LIVE | TOFT_CLEARS)) TOFT_ASSERT((a->head.epoch & 1) != 0);
}

/* Returns the bytes of a block that count as live. */
static uint64_t toft_verify_block(const toft_state *a, toft_block_header *b) {
  TOFT_ASSERT(b->kind == TOFT_BLOCK_REGULAR || b->kind == TOFT_BLOCK_DEDICATED);
  TOFT_ASSERT((b->epoch & 1) == 0 && b->epoch <= toft_epoch(a));
  TOFT_ASSERT(b != &a->initial || b->kind == TOFT_BLOCK_REGULAR);
  unsigned char *start = toft_block_start(a, b), *end = toft_block_end(a, b);
  TOFT_ASSERT(start <= end);
  TOFT_ASSERT(b == &a->initial || (unsigned char *)b < start);
  if (b->kind == TOFT_BLOCK_DEDICATED) {
    TOFT_ASSERT(b != a->current);
    /* the charge of the first of several may count more padding than it has */
    if (b->u.payload != NULL) TOFT_ASSERT(b->charge <= b->size && start <= b->u.payload && b->u.payload <= end);
    return b->charge;
  }
  unsigned char *used = toft_block_used_end(a, b);
  TOFT_ASSERT(start <= used && used <= end);
  return b == &a->initial && (a->state & TOFT_INITIAL_IDLE) != 0 ? 0 : (uint64_t)(used - start);
}

/* The blocks, the newest first; the initial block is the last. */
static void toft_verify_blocks(const toft_state *a) {
  uint64_t live = a->adopted_live;
  int found = 0, n = 0;
  for (toft_block_header *b = a->newest;; b = b->next) {
    TOFT_ASSERT(b != NULL);
    live += toft_verify_block(a, b);
    found |= b == a->current;
    if (b == &a->initial) break;
    TOFT_ASSERT(b->next != NULL && b->index > b->next->index);
    TOFT_ASSERT(b->epoch >= b->next->epoch);
    if (++n == TOFT_VERIFY_BLOCKS) return;
  }
  TOFT_ASSERT(found);
  if (a->synced == a->head.cursor) TOFT_ASSERT(live == a->live);
}

static void toft_verify_spares(const toft_state *a) {
  size_t bytes = 0;
  int n = 0;
  for (const toft_block_header *b = a->spares; b != NULL; b = b->next, n++) {
    TOFT_ASSERT(b->kind == TOFT_BLOCK_SPARE);
    TOFT_ASSERT(b->size != 0 && b->source != NULL);
    bytes += b->size;
    if (n == TOFT_VERIFY_BLOCKS) return;
  }
  TOFT_ASSERT(bytes == a->spare_bytes);
}

static void toft_verify_cleanups(const toft_state *a) {
  int n = 0;
  if (a->cleanups != NULL) TOFT_ASSERT(a->cleanups->epoch <= toft_epoch(a));
  for (const toft_cleanup_node *c = a->cleanups; c != NULL && c->older != NULL && n < TOFT_VERIFY_BLOCKS; n++) {
    TOFT_ASSERT(c->epoch >= c->older->epoch);
    c = c->older;
  }
}

static void toft_verify_arena(const toft_state *a) {
  if (!(a->state & TOFT_IS_SUBJECT)) toft_verify_head(a);
  if (a->state & (TOFT_PRISTINE | TOFT_IS_SUBJECT)) return;
  TOFT_ASSERT(a->current->kind == TOFT_BLOCK_REGULAR);
  TOFT_ASSERT(a->end == toft_block_end(a, a->current));
  TOFT_ASSERT(toft_block_start(a, a->current) <= a->head.cursor);
  TOFT_ASSERT(a->trim_epoch <= toft_epoch(a));
  TOFT_ASSERT(a->adopted_live <= a->live);
  if (a->state & TOFT_CLAIMED) TOFT_ASSERT(a->claim_start <= a->claim_limit);
  if (a->state & TOFT_COUNTS_LIVE) TOFT_ASSERT(a->portion != NULL);
  if (a->state & TOFT_INSTRUMENTED) TOFT_ASSERT(a->instruments != NULL);
  if (a->state & TOFT_IS_CHECKED) TOFT_ASSERT(a->checks != NULL);
  TOFT_ASSERT(((a->state & TOFT_OBSERVED) != 0) == (a->instruments != NULL || a->checks != NULL));
  toft_verify_blocks(a);
  toft_verify_spares(a);
  toft_verify_cleanups(a);
}
#endif

#endif
