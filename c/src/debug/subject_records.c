/* The records of a checked arena of another provider. The provider gives memory back inside its operation, so records
 * are checked before it; after it, freed bytes are filled only where they are the arena's for certain: between the
 * cursor and the limit. They are not poisoned, since the provider may write there.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_SUBJECT_RECORDS_C
#define TOFT_DEBUG_SUBJECT_RECORDS_C

#include "debug_ops.c"
#include "subject.c"
#include "subject_account.c"

/* The first record of those made after `epoch`. */
static size_t toft_records_until(const toft_checks *c, uintptr_t epoch) {
  size_t n = c->count;
  while (n != 0 && c->records[n - 1].epoch > epoch) n--;
  return n;
}

static void toft_subject_unpoison(toft_state *a, uintptr_t epoch) {
  toft_checks *c = a->checks;
  for (size_t n = toft_records_until(c, epoch); n < c->count; n++)
    toft_unpoison(c->records[n].start, (size_t)(c->records[n].end - c->records[n].start));
}

/* Checks the records made after `epoch`, which the next operation beneath may free. TOFT_OK or TOFT_ECORRUPT. */
static int toft_subject_check_records(toft_state *a, uintptr_t epoch) {
  toft_checks *c = a->checks;
  int code = TOFT_OK;
  if (c == NULL) return TOFT_OK;
  for (size_t n = c->count; n-- != 0 && c->records[n].epoch > epoch;)
    if (toft_check_record(a, n) != TOFT_OK) code = TOFT_ECORRUPT;
  toft_subject_unpoison(a, epoch);
  return code;
}

/* Between two operations these bytes are the arena's, and free. */
static int toft_subject_is_free(const toft_instrument *i, const unsigned char *from, const unsigned char *to) {
  return (uintptr_t)from >= (uintptr_t)i->subject.head.cursor && (uintptr_t)to <= (uintptr_t)i->limit;
}

/* Freed bytes are compared as long as they are free bytes of the current block. */
static void toft_subject_keep_filled(toft_instrument *i) {
  toft_state *a = &i->subject;
  if (i->filled == NULL) return;
  toft_block_log *s = *toft_block_log_of(a->checks, i->filled);
  if (s != NULL && s->count != 0 && i->filled == a->current &&
      toft_subject_is_free(i, s->freed[s->count - 1].start, s->freed[0].end))
    return;
  if (s != NULL) s->count = 0;
  i->filled = NULL;
}

/* Ends a record whose bytes the provider has freed. */
static void toft_subject_end_record(toft_instrument *i, toft_record *r) {
  toft_state *a = &i->subject;
  toft_checks *c = a->checks;
  if (r->freed.op == NULL) {
    c->plain_bytes -= TOFT_ROUND8(r->size);
    r->freed = c->call;
  }
  if (!(a->state & TOFT_IS_CHECKED) || r->block != a->current || r->start == r->end) return;
  if (!toft_subject_is_free(i, r->start, r->end)) return;
  memset(r->start, TOFT_POISON_FREED, (size_t)(r->end - r->start));
  toft_log_freed(c, r);
  i->filled = r->block;
}

/* Ends the records made after `epoch`; those of a block that was there before stay, with epochs of their own. Marks
 * made in between are stale. */
static void toft_subject_end_records(toft_instrument *i, uintptr_t epoch) {
  toft_state *a = &i->subject;
  toft_checks *c = a->checks;
  size_t first = c != NULL ? toft_records_until(c, epoch) : 0, kept = first;
  if (c == NULL || first == c->count) return;
  toft_record forgotten = c->records[first];
  size_t all = c->count;
  while (c->count > first) {
    toft_record *r = &c->records[--c->count];
    if (r->block != NULL) toft_unlog_live(c, r->block, c->count);
  }
  toft_subject_keep_filled(i);
  for (size_t n = all; n-- > first;) { /* from the newest, so that freed bytes are logged from the block's end */
    toft_record *r = &c->records[n];
    int stays = r->block != NULL && r->block->kind == TOFT_BLOCK_DEDICATED && r->block->epoch <= epoch;
    if (!stays) toft_subject_end_record(i, r);
    if (!stays) r->block = NULL;
  }
  toft_forget_marks(a, &forgotten);
  for (size_t n = first; n < all; n++) {
    if (c->records[n].block == NULL) continue;
    toft_record *r = &c->records[kept];
    *r = c->records[n];
    toft_next_epoch(a);
    r->epoch = toft_epoch(a);
    r->cursor = a->head.cursor;
    toft_log_live(c, r->block, kept);
    c->count = ++kept;
  }
}

/* A rewind or a reset beneath succeeded. */
static void toft_subject_rewound(toft_instrument *i, uintptr_t epoch) {
  toft_state *a = &i->subject;
  toft_block_header *current = a->current;
  while (current->epoch > epoch && current != &a->initial) current = current->u.below;
  a->current = current; /* for the records, before the blocks above it go */
  toft_subject_end_records(i, epoch);
  toft_subject_drop_blocks(i, epoch);
  toft_subject_moved(i, toft_live_beneath(i));
}

/* The end of each operation: the cursor of marks made from here on. Without memory for the record, marks made before
 * are not checked any more. */
static void toft_subject_record_cursor(toft_instrument *i) {
  toft_state *a = &i->subject;
  toft_checks *c = a->checks;
  if (c == NULL || !(a->state & TOFT_IS_CHECKED)) return;
  toft_subject_keep_filled(i);
  const toft_record *newest = toft_newest_checked_record(c, c->count);
  if ((newest != NULL ? newest->cursor : c->since_cursor) == a->head.cursor) return;
  toft_next_epoch(a);
  if (!toft_reserve_record(c)) {
    toft_restart_checks(a);
    return;
  }
  toft_record *r = &c->records[c->count++];
  memset(r, 0, sizeof *r);
  r->epoch = toft_epoch(a);
  r->cursor = a->head.cursor;
}

/* Whether p was allocated before the checks began, as far as the provider can tell. */
static int toft_subject_predates(const toft_state *a, const unsigned char *p) {
  toft_instrument *i = toft_instrument_of(a);
  const toft_checks *c = a->checks;
  if (i->was_empty || toft_contains_beneath(i, p) == 0) return 0;
  for (size_t n = c->count; n-- != 0;)
    if ((uintptr_t)p - (uintptr_t)c->records[n].start < (uintptr_t)(c->records[n].end - c->records[n].start)) return 0;
  return 1;
}

#endif
