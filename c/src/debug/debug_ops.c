/* What the ops do in a checked arena. limit == cursor, so every allocation from every language comes here and gets a
 * record, red zones on both sides and a fill. Slow, and exact.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_DEBUG_OPS_C
#define TOFT_DEBUG_DEBUG_OPS_C

#include "../core/alloc_slow.c"
#include "../core/block_cache.c"
#include "../core/ops.c"
#include "../platform/lifecycle.h"
#include "debug_records.c"
#include "live_registry.c"

/* ---- allocation ---- */

/* The cursor is about to move, and limit goes ahead: else there is room for an inline path of another thread, where its
 * call would be refused. */
static void toft_limit_first(toft_state *a, size_t take) {
  if (toft_affords(a, take)) *(unsigned char *volatile *)&a->head.limit = a->head.cursor + take;
}

static void *toft_place_zoned(toft_state *a, size_t whole, size_t align) {
  if (a->state & TOFT_CLAIMED) return toft_place_aside(a, whole, align);
  if (toft_fits_here(a, whole, align) || (toft_affords(a, whole) && toft_extend_here(a, whole, align))) {
    toft_limit_first(a, toft_pad(a->head.cursor, align) + whole);
    return toft_place_here(a, whole, align);
  }
  return toft_place_further(a, whole, align);
}

static int toft_room_for_record(toft_checks *c) {
  if (c->count < c->room) return 1;
  toft_record *more = (toft_record *)toft_more_room(c->records, &c->room, sizeof *more);
  if (more != NULL) c->records = more;
  return more != NULL;
}

/* With its zones. */
static size_t toft_zoned_size(size_t size, size_t align) {
  return toft_max(align, TOFT_ZONE) + TOFT_ROUND8(size) + TOFT_ZONE;
}

static void *toft_place_checked(toft_state *a, size_t size, size_t align) {
  toft_checks *c = a->checks;
  size_t front = toft_max(align, TOFT_ZONE);
  size_t whole = toft_zoned_size(size, align);
  if (whole > TOFT_MAX_REQUEST || !toft_room_for_record(c)) return NULL;
  if (TOFT_ROUND8(size) > c->plain_limit - toft_min(c->plain, c->plain_limit)) return NULL;
  unsigned char *base = (unsigned char *)toft_place_zoned(a, whole, front);
  if (base == NULL) return NULL;
  toft_blk *b = a->current;
  if (a->state & TOFT_CLAIMED)
    b = a->aside;
  else if (base < toft_block_start(a, b) || base >= a->head.cursor)
    b = a->newest;
  (void)toft_look_back(a, b, base + whole);
  unsigned char *p = base + front;
  toft_open(base, whole);
  memset(base, TOFT_BYTE_ZONE, whole);
  memset(p, TOFT_BYTE_NEW, size);
  toft_close(base, front);
  toft_hand_out(p, size);
  toft_close(p + size, whole - front - size);
  toft_bump(a); /* a mark between any two allocations tells them apart */
  toft_remember_live(c, b, c->count);
  toft_record *r = &c->records[c->count++];
  memset(r, 0, sizeof *r);
  r->block = b;
  r->start = base;
  r->p = p;
  r->end = base + whole;
  r->size = size;
  r->born = toft_epoch(a);
  r->cursor = a->head.cursor;
  r->made = c->call;
  c->plain += TOFT_ROUND8(size);
  return p;
}

/* ---- marks ---- */

static void toft_check_from_here(toft_state *a) {
  if (a->checks == NULL) return;
  a->checks->since = toft_epoch(a);
  a->checks->from = a->head.cursor;
  a->checks->gone_marks_count = 0;
}

/* The newest of the first `count` records, if the checks made it. */
static toft_record *toft_last_of(const toft_checks *c, size_t count) {
  return count != 0 && c->records[count - 1].born > c->since ? &c->records[count - 1] : NULL;
}

#define TOFT_GONE_MARKS 4096 /* so many are told apart: of those from before no more is known */

/* A rewind forgot the records from this one on. */
static void toft_note_gone_marks(toft_state *a, const toft_record *forgotten) {
  toft_checks *c = a->checks;
  const toft_record *below = toft_last_of(c, c->count);
  if (forgotten->cursor != (below != NULL ? below->cursor : c->from)) return;
  toft_bump(a); /* marks that are taken now are good */
  while (c->gone_marks_count != 0 && c->gone_marks[c->gone_marks_count - 1].from > forgotten->born)
    c->gone_marks_count--;
  if (c->gone_marks_count == TOFT_GONE_MARKS) {
    c->gone_marks_count /= 2;
    memcpy(c->gone_marks, c->gone_marks + c->gone_marks_count, c->gone_marks_count * sizeof *c->gone_marks);
  }
  if (c->gone_marks_count == c->gone_marks_room) {
    void *more = toft_more_room(c->gone_marks, &c->gone_marks_room, sizeof *c->gone_marks);
    if (more == NULL) return;
    c->gone_marks = (toft_gone_marks *)more;
  }
  toft_gone_marks *gone = &c->gone_marks[c->gone_marks_count++];
  gone->from = forgotten->born;
  gone->to = toft_epoch(a);
}

static int toft_mark_is_gone(const toft_checks *c, uintptr_t epoch) {
  size_t i = c->gone_marks_count;
  while (i != 0 && c->gone_marks[i - 1].from > epoch) i--;
  return i != 0 && epoch < c->gone_marks[i - 1].to;
}

/* Each allocation has an epoch of its own, so a mark that is not stale names the cursor that followed it. */
static int toft_mark_is_stale(const toft_state *a, const unsigned char *cursor, uintptr_t epoch) {
  const toft_checks *c = a->checks;
  if (!(a->state & TOFT_IS_CHECKED) || epoch < c->since) return 0;
  size_t low = 0, high = c->count; /* the first record that is younger than the mark */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (c->records[middle].born > epoch)
      high = middle;
    else
      low = middle + 1;
  }
  const toft_record *r = toft_last_of(c, low);
  if (toft_mark_is_gone(c, epoch)) return 1;
  return cursor != (r != NULL ? r->cursor : epoch < a->emptied ? c->before : c->from);
}

static void toft_note_stale_mark(toft_state *a) {
  if (a->state & TOFT_IS_CHECKED) toft_tell_misuse(a, TOFT_FOUND_STALE_MARK, NULL, 0, NULL);
}

static int toft_rewind_records(toft_state *a, uintptr_t epoch) {
  size_t records = a->checks != NULL ? a->checks->count : 0;
  int code = toft_check_records(a, epoch);
  if (records != 0 && a->checks->count != records) toft_note_gone_marks(a, &a->checks->records[a->checks->count]);
  return code;
}

static void toft_records_rewound(toft_state *a, uintptr_t epoch) {
  if (a->checks != NULL && epoch < a->checks->since) toft_check_from_here(a);
}

static void toft_records_trimmed(toft_state *a) {
  if (a->checks == NULL) return;
  a->checks->before = a->checks->from;
  a->checks->from = a->home_start;
}

/* ---- resize and free ---- */

static toft_record *toft_find_record(toft_state *a, const unsigned char *p) {
  toft_checks *c = a->checks;
  for (const toft_shadow *s = c->shadows; s != NULL; s = s->next) {
    size_t low = 0, high = s->live_count;
    while (low < high) {
      size_t middle = low + (high - low) / 2;
      if (c->records[s->live[middle]].p < p)
        low = middle + 1;
      else
        high = middle;
    }
    if (low < s->live_count && c->records[s->live[low]].p == p) return &c->records[s->live[low]];
  }
  for (size_t i = c->count; i-- > 0;) /* there was no memory to remember where it is */
    if (c->records[i].p == p) return &c->records[i];
  return NULL;
}

/* Allocated before the checks began? */
static int toft_is_older(const toft_state *a, const unsigned char *p) {
  const toft_checks *c = a->checks;
  for (toft_blk *b = a->newest; b != NULL; b = b->next) {
    const unsigned char *start = toft_block_start(a, b), *end = toft_block_end(a, b);
    if (p < start || p >= toft_block_top(a, b)) continue;
    return b->born <= c->since && !(c->from >= start && c->from <= end && p >= c->from);
  }
  return 0;
}

/* The record of a live allocation of that size; else NULL, and a finding. */
static toft_record *toft_claimed_record(toft_state *a, const unsigned char *p, size_t size) {
  toft_record *r = toft_find_record(a, p);
  int kind = r == NULL            ? TOFT_FOUND_FOREIGN
             : r->gone.by != NULL ? TOFT_FOUND_DOUBLE_FREE
             : r->size != size    ? TOFT_FOUND_WRONG_SIZE
                                  : 0;
  if (kind == 0) return r;
  toft_tell_misuse(a, kind, p, size, r);
  return NULL;
}

static void toft_free_record(toft_state *a, toft_record *r) {
  (void)toft_check_record(a, (size_t)(r - a->checks->records));
  a->checks->plain -= TOFT_ROUND8(r->size);
  toft_fill_gone(r->p, r->p + r->size); /* its place is given back by rewind, reset or release */
  r->gone = a->checks->call;
}

static void *toft_resize_checked(toft_state *a, unsigned char *p, size_t old_size, size_t new_size, size_t align,
                                 uint32_t flags, int *code) {
  *code = TOFT_ENOMEM;
  if (old_size == 0) { /* an address without bytes has no record */
    if (new_size == 0 && toft_pad(p, align) == 0) return p;
    return (flags & TOFT_STAY) ? NULL : toft_place(a, new_size, align);
  }
  int older = toft_is_older(a, p);
  toft_record *r = older ? NULL : toft_claimed_record(a, p, old_size);
  if (r == NULL && (!older || old_size > TOFT_MAX_REQUEST)) {
    *code = TOFT_EARG;
    return NULL;
  }
  if (new_size <= old_size && toft_pad(p, align) == 0) {
    if (older) return p;
    (void)toft_check_record(a, (size_t)(r - a->checks->records));
    toft_open(p + new_size, (size_t)(r->end - p) - new_size);
    memset(p + new_size, TOFT_BYTE_ZONE, (size_t)(r->end - p) - new_size);
    toft_close(p + new_size, (size_t)(r->end - p) - new_size);
    a->checks->plain -= TOFT_ROUND8(r->size) - TOFT_ROUND8(new_size);
    r->size = new_size;
    return p;
  }
  if (flags & TOFT_STAY) return NULL;
  size_t index = older ? 0 : (size_t)(r - a->checks->records);
  void *q = toft_place(a, new_size, align);
  if (q == NULL) return NULL;
  if (!older) toft_open(p, a->checks->records[index].header);
  memcpy(q, p, toft_min(old_size, new_size));
  if (!older) toft_free_record(a, &a->checks->records[index]); /* the records may have moved */
  return q;
}

static int toft_free_checked(toft_state *a, unsigned char *p, size_t size) {
  if (size == 0 || toft_is_older(a, p)) return TOFT_OK;
  toft_record *r = toft_claimed_record(a, p, size);
  if (r == NULL) return TOFT_EARG;
  toft_free_record(a, r);
  return TOFT_OK;
}

/* ---- at exit ---- */

static toft_checks *toft_checks_of(toft_registered *r) {
  return (toft_checks *)(void *)((unsigned char *)r - offsetof(toft_checks, registered));
}

static int toft_enter_at_exit(toft_registered *r) {
  toft_checks *c = toft_checks_of(r);
  size_t none = 0;
  return TOFT_TAKE(&c->inside, &none, toft_thread());
}

/* Only what lies in blocks of the heap: a caller's buffer or source may have ended before its arena. */
static void toft_look_at_heap_blocks(toft_state *a) {
  toft_checks *c = a->checks;
  if (!(a->state & TOFT_CACHEABLE)) return;
  for (const toft_node *n = a->cleanups; n != NULL; n = n->older)
    if (n->user.fn == toft_end_adopted) toft_look_at_heap_blocks((toft_state *)n->user.arg);
  if (c == NULL) return;
  toft_failure *failure = a->failure;
  a->failure = NULL; /* what it uses may have ended */
  memset(&c->call, 0, sizeof c->call);
  c->call.by = "exit";
  c->call.thread = toft_thread();
  for (size_t i = 0; i < c->count; i++)
    if (c->records[i].block->source == &toft_heap_source) (void)toft_check_record(a, i);
  for (const toft_shadow *s = c->shadows; s != NULL; s = s->next)
    if (s->block->source == &toft_heap_source) (void)toft_look_at_shadow(a, s);
  a->failure = failure;
}

static void toft_look_at_exit(toft_registered *r) {
  toft_checks *c = toft_checks_of(r);
  toft_look_at_heap_blocks(c->arena);
  TOFT_LEAVE(&c->inside);
}

static void toft_forget_at_exit(toft_state *a) {
  if (a->checks != NULL) toft_unregister(&a->checks->registered);
}

/* ---- on and off ---- */

static int toft_begin_checks(toft_state *a) {
  toft_arm_fork();
  if (a->checks == NULL) {
    a->checks = (toft_checks *)calloc(1, sizeof *a->checks);
    if (a->checks == NULL) return TOFT_ENOMEM;
    a->checks->arena = a;
    a->checks->plain_limit = SIZE_MAX;
    /* At exit nothing of an arena may be touched whose buffer or source may have ended without its release. */
    if (a->state & TOFT_CACHEABLE) toft_register(&a->checks->registered, toft_enter_at_exit, toft_look_at_exit);
  }
  a->state |= TOFT_IS_CHECKED;
  toft_check_from_here(a);
  return TOFT_OK;
}

static void toft_limit_to_buffer(toft_state *a) { a->checks->plain_limit = (size_t)(a->home_end - a->home_start); }

static void toft_tell_not_released(toft_state *a) {
  if (a->state & TOFT_IS_CHECKED) toft_tell_misuse(a, TOFT_FOUND_NOT_RELEASED, a, (a->state & TOFT_CLAIMED) != 0, NULL);
}

static void toft_forget_shadow(toft_checks *c, const toft_blk *b) {
  toft_shadow **at = toft_shadow_of(c, b), *s = *at;
  if (s == NULL) return;
  *at = s->next;
  free(s->live);
  free(s->gone);
  free(s);
}

static unsigned char *toft_first_byte(const toft_state *a, toft_blk *b) {
  return b == &a->home ? a->home_start : (unsigned char *)b + TOFT_HEADER;
}

static unsigned char *toft_last_byte(const toft_state *a, toft_blk *b) {
  return b == &a->home ? a->home_end : (unsigned char *)b + b->size;
}

/* From here on the inline path hands out bytes that were filled: all that is not allocated is open again. */
static int toft_end_checks(toft_state *a) {
  int code = toft_look_at_shadows(a);
  while (a->checks->shadows != NULL) toft_forget_shadow(a->checks, a->checks->shadows->block);
  for (toft_blk *b = a->newest; b != NULL; b = b->next) {
    /* A home that idles counts as full, and holds nothing: a trim may have it filled again. */
    unsigned char *top = b == &a->home && (a->state & TOFT_IDLE) ? a->home_start : toft_block_top(a, b);
    toft_open(top, (size_t)(toft_last_byte(a, b) - top));
    if (b != &a->home) /* where it began when it had another place among the blocks */
      toft_open(toft_first_byte(a, b), (size_t)(toft_block_start(a, b) - toft_first_byte(a, b)));
  }
  for (toft_blk *b = a->spares; b != NULL; b = b->next)
    toft_open(toft_first_byte(a, b), (size_t)(toft_last_byte(a, b) - toft_first_byte(a, b)));
  a->state &= ~(uint32_t)TOFT_IS_CHECKED;
  toft_check_from_here(a);
  return code;
}

/* Home is about to end at `end`. */
static void toft_cut_checks(toft_state *a, unsigned char *end) {
  if (a->checks == NULL) return;
  (void)toft_look_at_shadows(a);
  toft_forget_shadow(a->checks, &a->home);
  toft_open(end, (size_t)(a->home_end - end));
}

static void toft_drop_checks(toft_checks *c) {
  toft_unregister(&c->registered);
  while (c->shadows != NULL) toft_forget_shadow(c, c->shadows->block);
  free(c->records);
  free(c->gone_marks);
  free(c->facts);
  free(c);
}

#endif
