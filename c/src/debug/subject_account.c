/* The effect of an operation beneath an instrument: the block and the charge of an allocation, derived from the cursor,
 * the epoch and the live bytes before and after the operation.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_SUBJECT_ACCOUNT_C
#define TOFT_DEBUG_SUBJECT_ACCOUNT_C

#include "accounting.c"
#include "debug_ops.c"
#include "subject.c"

static uint64_t toft_live_beneath(toft_instrument *i) {
  toft_stats s;
  toft_stats_beneath(i, &s, sizeof s.live);
  return s.live;
}

/* Reserves what one operation may need for its accounts and records. 0: no memory, and nothing changed. */
static int toft_subject_reserve(toft_instrument *i) {
  toft_state *a = &i->subject;
  if (i->unused == NULL) i->unused = (toft_block_header *)calloc(1, sizeof *i->unused);
  return i->unused != NULL && toft_reserve_detached(a) && (a->checks == NULL || toft_reserve_record(a->checks));
}

/* Precondition: toft_subject_reserve. */
static toft_block_header *toft_subject_push(toft_instrument *i, uint32_t kind) {
  toft_state *a = &i->subject;
  toft_block_header *b = i->unused;
  TOFT_ASSERT(b != NULL);
  i->unused = NULL;
  b->kind = kind;
  b->epoch = toft_epoch(a);
  b->next = a->newest;
  a->newest = b;
  if (kind == TOFT_BLOCK_REGULAR) {
    b->u.below = a->current;
    a->current = b;
  }
  return b;
}

/* Adds bytes that lie outside the order of the cursor. */
static void toft_subject_charge(toft_state *a, toft_block_header *b, uint64_t bytes) {
  b->charge += (size_t)bytes;
  a->live += bytes;
  a->allocated += bytes;
  toft_update_peak(a);
  toft_detached_add(a, b, (size_t)bytes);
}

/* The other bytes, which the cursor gave or took. */
static void toft_subject_moved(toft_instrument *i, uint64_t live) {
  toft_state *a = &i->subject;
  if (live > a->live) a->allocated += live - a->live;
  a->live = live;
  a->synced = a->head.cursor;
  toft_update_peak(a);
}

/* Accounts for the allocation at p, or for a refusal if p is NULL. `cursor` is the one before the operation, `live` the
 * bytes after it. Returns its block. Precondition: toft_subject_reserve. */
static toft_block_header *toft_subject_placed(toft_instrument *i, unsigned char *p, size_t align, unsigned char *cursor,
                                              uint64_t live) {
  toft_state *a = &i->subject;
  if (p != NULL && a->head.cursor == cursor && live > a->live) {
    toft_block_header *b = toft_subject_push(i, TOFT_BLOCK_DEDICATED);
    b->u.payload = a->state & TOFT_CLAIMED ? NULL : p; /* beside a range a block may hold several */
    toft_subject_charge(a, b, live - a->live);
    return b;
  }
  if (p != NULL && a->head.cursor != cursor && (uintptr_t)p != (uintptr_t)cursor + toft_pad(cursor, align))
    (void)toft_subject_push(i, TOFT_BLOCK_REGULAR);
  toft_subject_moved(i, live);
  return a->current;
}

/* The newest block, if it is a dedicated one of p alone; else NULL. A free or resize returns no other (M19). */
static toft_block_header *toft_subject_dedicated(const toft_state *a, const unsigned char *p) {
  toft_block_header *b = a->newest;
  return b->kind == TOFT_BLOCK_DEDICATED && b->u.payload == p ? b : NULL;
}

static void toft_subject_uncharge(toft_instrument *i, toft_block_header *b) {
  toft_state *a = &i->subject;
  TOFT_ASSERT(b->charge <= a->live);
  if (b->kind == TOFT_BLOCK_DEDICATED && b->charge != 0) {
    a->live -= b->charge;
    toft_detached_remove(a, b);
  }
  if (a->checks != NULL) toft_block_log_release(a->checks, b);
  if (i->filled == b) i->filled = NULL;
  free(b);
}

/* The provider returned the newest block. */
static void toft_subject_forget(toft_instrument *i) {
  toft_state *a = &i->subject;
  toft_block_header *b = a->newest;
  TOFT_ASSERT(b != &a->initial);
  a->newest = b->next;
  if (a->current == b) a->current = b->u.below;
  toft_subject_uncharge(i, b);
}

/* Removes the blocks that came after `epoch`. */
static void toft_subject_drop_blocks(toft_instrument *i, uintptr_t epoch) {
  const toft_state *a = &i->subject;
  while (a->newest != &a->initial && a->newest->epoch > epoch) toft_subject_forget(i);
}

/* Whether the provider served a request beyond the budget of the subject. While a range is claimed that cannot be
 * undone. */
static int toft_subject_exceeds(const toft_state *a, uint64_t live) {
  return live > a->budget && live != a->live && !(a->state & TOFT_CLAIMED);
}

static void toft_rewind_beneath(toft_instrument *i, unsigned char *cursor, uintptr_t epoch) {
  (void)toft_begin_beneath(i)->rewind(i->head, cursor, epoch);
  toft_end_beneath(i);
  toft_subject_moved(i, toft_live_beneath(i));
}

/* Allocates beneath, if the subject's budgets allow it. Sets *block. NULL: refused. */
static void *toft_subject_place(toft_state *a, size_t size, size_t align, toft_block_header **block) {
  toft_instrument *i = toft_instrument_of(a);
  unsigned char *cursor = a->head.cursor;
  uintptr_t epoch = toft_epoch(a);
  size_t pad = toft_fits_current(a, size, align) && !(a->state & TOFT_CLAIMED) ? toft_pad(cursor, align) : 0;
  if (!toft_subject_reserve(i) || !toft_fits_budget(a, TOFT_ROUND8(size) + pad)) return NULL;
  unsigned char *p = (unsigned char *)toft_begin_beneath(i)->alloc(i->head, size, align, 0, i->site);
  toft_end_beneath(i);
  ptrdiff_t moved = a->head.cursor - cursor;
  int inline_like = p != NULL && toft_epoch(a) == epoch && moved > 0;
  uint64_t live = inline_like ? a->live + (uint64_t)moved : toft_live_beneath(i);
  if (p == NULL) a->state |= TOFT_REFUSED;
  if (p != NULL && toft_subject_exceeds(a, live)) {
    toft_rewind_beneath(i, cursor, epoch);
    return NULL;
  }
  *block = toft_subject_placed(i, p, align, cursor, live);
  return p;
}

#endif
