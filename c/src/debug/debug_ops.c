/* The ops of checked arenas. limit == cursor, so every allocation of every client takes the slow path and gets a
 * record, red zones on both sides and a fill.
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

/* Raises limit before the cursor moves, so that another thread, whose call must fail, never sees limit > cursor on its
 * inline path. */
static void *toft_alloc_with_redzones(toft_state *a, size_t total, size_t align) {
  if (a->state & TOFT_CLAIMED) return toft_alloc_in_side_block(a, total, align);
  if (!toft_fits_current(a, total, align) && !(toft_fits_budget(a, total) && toft_extend_current(a, total, align)))
    return toft_alloc_in_new_block(a, total, align);
  size_t take = toft_pad(a->head.cursor, align) + total;
  if (!toft_fits_budget(a, take)) return NULL;
  TOFT_STORE_POINTER(unsigned char, &a->head.limit, a->head.cursor + take);
  a->head.cursor += take;
  toft_sync(a);
  return a->head.cursor - total;
}

static int toft_reserve_record(toft_checks *c) {
  if (c->count < c->capacity) return 1;
  toft_record *more = (toft_record *)toft_grow_array(c->records, &c->capacity, sizeof *more);
  if (more != NULL) c->records = more;
  return more != NULL;
}

/* Size of an allocation with its red zones. */
static size_t toft_size_with_redzones(size_t size, size_t align) {
  return toft_max(align, TOFT_REDZONE) + TOFT_ROUND8(size) + TOFT_REDZONE;
}

static toft_block_header *toft_block_of(const toft_state *a, const unsigned char *end) {
  if (a->state & TOFT_CLAIMED) return a->side_block;
  return end == a->head.cursor ? a->current : a->newest;
}

/* Fills an allocation of `size` bytes behind `front` bytes of red zone, `total` in all. Precondition:
 * toft_reserve_record. */
TOFT_INLINE void *toft_record_allocation(toft_state *a, toft_block_header *b, unsigned char *base, size_t size,
                                         size_t front, size_t total) {
  toft_checks *c = a->checks;
  (void)toft_verify_before_reuse(a, b, base + total);
  unsigned char *p = base + front;
  toft_unpoison(base, total);
  toft_fill(base, front, TOFT_POISON_REDZONE);
  toft_fill(p, size, TOFT_POISON_UNINIT);
  toft_fill(p + size, total - front - size, TOFT_POISON_REDZONE);
  toft_mark_undefined(p, size);
  toft_next_epoch(a); /* makes marks before and after this allocation differ */
  toft_log_live(c, b, c->count);
  toft_record *r = &c->records[c->count++];
  r->block = b;
  r->start = base;
  r->p = p;
  r->end = base + total;
  r->size = size;
  r->epoch = toft_epoch(a);
  r->cursor = a->head.cursor;
  r->allocated = c->call;
  memset(&r->freed, 0, sizeof *r - offsetof(toft_record, freed));
  toft_poison_redzones(r);
  c->plain_bytes += TOFT_ROUND8(size);
  return p;
}

static void *toft_alloc_checked(toft_state *a, size_t size, size_t align) {
  toft_checks *c = a->checks;
  toft_block_header *b = NULL;
  size_t front = toft_max(align, TOFT_REDZONE);
  size_t total = toft_size_with_redzones(size, align);
  if (total > TOFT_MAX_REQUEST || !toft_reserve_record(c)) return NULL;
  if (TOFT_ROUND8(size) > c->plain_limit - toft_min(c->plain_bytes, c->plain_limit)) return NULL;
  unsigned char *base = (unsigned char *)(a->state & TOFT_IS_SUBJECT ? toft_subjects->place(a, total, front, &b)
                                                                     : toft_alloc_with_redzones(a, total, front));
  if (base == NULL) return NULL;
  return toft_record_allocation(a, b != NULL ? b : toft_block_of(a, base + total), base, size, front, total);
}

/* ---- marks ---- */

/* The cursor of an arena without records: a trim may have returned the block in which the checks began. */
static const unsigned char *toft_since_cursor(const toft_state *a) {
  return a->trim_epoch > a->checks->since_epoch ? a->initial_start : a->checks->since_cursor;
}

/* The arena is empty, or its checks were switched: checks apply to allocations from here on. */
static void toft_restart_checks(toft_state *a) {
  if (a->checks == NULL) return;
  a->checks->since_epoch = toft_epoch(a);
  a->checks->since_cursor = a->head.cursor;
  a->checks->stale_marks_count = 0;
}

/* The newest of the first `count` records, unless it is older than the checks. */
static toft_record *toft_newest_checked_record(const toft_checks *c, size_t count) {
  return count != 0 && c->records[count - 1].epoch > c->since_epoch ? &c->records[count - 1] : NULL;
}

#define TOFT_STALE_MARKS_MAX 4096 /* limit on recorded ranges; the older half is dropped */

/* Marks made since the epoch `from` are stale. */
static void toft_add_stale_marks(toft_state *a, uintptr_t from) {
  toft_checks *c = a->checks;
  toft_next_epoch(a); /* marks taken from now on are valid */
  while (c->stale_marks_count != 0 && c->stale_marks[c->stale_marks_count - 1].from > from) c->stale_marks_count--;
  if (c->stale_marks_count == TOFT_STALE_MARKS_MAX) {
    c->stale_marks_count /= 2;
    memcpy(c->stale_marks, c->stale_marks + c->stale_marks_count, c->stale_marks_count * sizeof *c->stale_marks);
  }
  if (c->stale_marks_count == c->stale_marks_capacity) {
    void *more = toft_grow_array(c->stale_marks, &c->stale_marks_capacity, sizeof *c->stale_marks);
    if (more == NULL) return;
    c->stale_marks = (toft_stale_marks *)more;
  }
  toft_stale_marks *stale = &c->stale_marks[c->stale_marks_count++];
  stale->from = from;
  stale->to = toft_epoch(a);
}

/* A rewind removed the records from `forgotten` on. */
static void toft_forget_marks(toft_state *a, const toft_record *forgotten) {
  const toft_record *below = toft_newest_checked_record(a->checks, a->checks->count);
  if (forgotten->cursor == (below != NULL ? below->cursor : toft_since_cursor(a)))
    toft_add_stale_marks(a, forgotten->epoch);
}

/* An allocation was made from the claimed range; the range was returned. Marks made in between are stale. */
static void toft_checks_claim_alloc(toft_state *a) {
  if ((a->state & TOFT_IS_CHECKED) && a->checks->claim_epoch == 0) a->checks->claim_epoch = toft_epoch(a);
}

static void toft_checks_unclaim(toft_state *a) {
  if (!(a->state & TOFT_IS_CHECKED) || a->checks->claim_epoch == 0) return;
  toft_add_stale_marks(a, a->checks->claim_epoch);
  a->checks->claim_epoch = 0;
}

static int toft_mark_in_stale_range(const toft_checks *c, uintptr_t epoch) {
  size_t i = c->stale_marks_count;
  while (i != 0 && c->stale_marks[i - 1].from > epoch) i--;
  return i != 0 && epoch < c->stale_marks[i - 1].to;
}

/* Whether the mark is stale although its position is valid. Each allocation has its own epoch, so the epoch of a valid
 * mark determines its cursor. */
static int toft_mark_is_stale(const toft_state *a, const unsigned char *cursor, uintptr_t epoch) {
  const toft_checks *c = a->checks;
  if (!(a->state & TOFT_IS_CHECKED) || epoch < c->since_epoch) return 0;
  size_t low = 0, high = c->count; /* the first record made after the mark */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (c->records[middle].epoch > epoch)
      high = middle;
    else
      low = middle + 1;
  }
  const toft_record *r = toft_newest_checked_record(c, low);
  if (toft_mark_in_stale_range(c, epoch)) return 1;
  if (r != NULL) return cursor != r->cursor;
  return cursor != toft_since_cursor(a) && (epoch >= a->trim_epoch || cursor != c->since_cursor);
}

static void toft_report_stale_mark(toft_state *a) {
  if (a->state & TOFT_IS_CHECKED) toft_report_misuse(a, TOFT_FOUND_STALE_MARK, NULL, 0, NULL);
}

/* As toft_check_records, within a rewind, which makes the marks in between stale. */
static int toft_rewind_records(toft_state *a, uintptr_t epoch) {
  size_t records = a->checks != NULL ? a->checks->count : 0;
  int code = toft_check_records(a, epoch);
  if (records != 0 && a->checks->count != records) toft_forget_marks(a, &a->checks->records[a->checks->count]);
  return code;
}

/* The last step of a rewind. */
static void toft_records_rewound(toft_state *a, uintptr_t epoch) {
  if (a->checks != NULL && epoch < a->checks->since_epoch) toft_restart_checks(a);
}

/* ---- resize and free ---- */

static toft_record *toft_find_record(toft_state *a, const unsigned char *p) {
  toft_checks *c = a->checks;
  for (const toft_block_log *s = c->block_logs; s != NULL; s = s->next) {
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
  for (size_t i = c->count; i-- > 0;) /* without memory for the block log */
    if (c->records[i].p == p) return &c->records[i];
  return NULL;
}

/* Whether p was allocated before the checks began. */
static int toft_predates_checks(const toft_state *a, const unsigned char *p) {
  const unsigned char *since = toft_since_cursor(a);
  if (a->state & TOFT_IS_SUBJECT) return toft_subjects->predates(a, p);
  for (toft_block_header *b = a->newest; b != NULL; b = b->next) {
    const unsigned char *start = toft_block_start(a, b), *end = toft_block_end(a, b);
    if (p < start || p >= toft_block_used_end(a, b)) continue;
    return b->epoch <= a->checks->since_epoch && !(since >= start && since <= end && p >= since);
  }
  return 0;
}

/* The record of a live allocation of that size; else reports a finding and returns NULL. */
static toft_record *toft_require_record(toft_state *a, const unsigned char *p, size_t size) {
  toft_record *r = toft_find_record(a, p);
  int kind = r == NULL             ? TOFT_FOUND_FOREIGN
             : r->freed.op != NULL ? TOFT_FOUND_DOUBLE_FREE
             : r->size != size     ? TOFT_FOUND_WRONG_SIZE
                                   : 0;
  if (kind == 0) return r;
  toft_report_misuse(a, kind, p, size, r);
  return NULL;
}

static void toft_free_record(toft_state *a, toft_record *r) {
  (void)toft_check_record(a, (size_t)(r - a->checks->records));
  a->checks->plain_bytes -= TOFT_ROUND8(r->size);
  toft_fill_freed(r->p, r->p + r->size); /* rewind, reset or release frees its region */
  r->freed = a->checks->call;
}

static void *toft_resize_checked(toft_state *a, unsigned char *p, size_t old_size, size_t new_size, size_t align,
                                 uint32_t flags, int *code) {
  *code = TOFT_ENOMEM;
  if (old_size == 0) { /* allocations of 0 bytes have no record */
    if (new_size == 0 && toft_pad(p, align) == 0) return p;
    return (flags & TOFT_STAY) ? NULL : toft_alloc_slow(a, new_size, align);
  }
  int older = toft_predates_checks(a, p);
  toft_record *r = older ? NULL : toft_require_record(a, p, old_size);
  if (r == NULL && (!older || old_size > TOFT_MAX_REQUEST)) {
    *code = TOFT_EARG;
    return NULL;
  }
  if (new_size <= old_size && toft_pad(p, align) == 0) {
    if (older) return p;
    (void)toft_check_record(a, (size_t)(r - a->checks->records));
    toft_unpoison(p + new_size, (size_t)(r->end - p) - new_size);
    memset(p + new_size, TOFT_POISON_REDZONE, (size_t)(r->end - p) - new_size);
    toft_poison(p + new_size, (size_t)(r->end - p) - new_size);
    a->checks->plain_bytes -= TOFT_ROUND8(r->size) - TOFT_ROUND8(new_size);
    r->size = new_size;
    return p;
  }
  if (flags & TOFT_STAY) return NULL;
  size_t index = older ? 0 : (size_t)(r - a->checks->records);
  void *q = toft_alloc_slow(a, new_size, align);
  if (q == NULL) return NULL;
  if (!older) toft_unpoison(p, a->checks->records[index].header);
  memcpy(q, p, toft_min(old_size, new_size));
  if (!older) toft_free_record(a, &a->checks->records[index]); /* the array of records may have moved */
  return q;
}

static int toft_free_checked(toft_state *a, unsigned char *p, size_t size) {
  if (size == 0 || toft_predates_checks(a, p)) return TOFT_OK;
  toft_record *r = toft_require_record(a, p, size);
  if (r == NULL) return TOFT_EARG;
  toft_free_record(a, r);
  return TOFT_OK;
}

/* ---- at exit ---- */

static toft_checks *toft_checks_of(toft_live_entry *r) {
  return (toft_checks *)(void *)((unsigned char *)r - offsetof(toft_checks, registered));
}

static int toft_begin_call_at_exit(toft_live_entry *r) {
  toft_checks *c = toft_checks_of(r);
  size_t none = 0;
  return TOFT_CAS_ACQUIRE(&c->busy_thread, &none, toft_thread_id());
}

/* Checks heap blocks only: a caller's buffer or source may have ended before its arena. */
static void toft_verify_heap_blocks(toft_state *a) {
  toft_checks *c = a->checks;
  if (!(a->state & TOFT_CACHEABLE)) return;
  for (const toft_cleanup_node *n = a->cleanups; n != NULL; n = n->older)
    if (n->user.fn == toft_release_adopted) toft_verify_heap_blocks((toft_state *)n->user.arg);
  if (c == NULL) return;
  toft_failure_fn *failure = a->failure;
  a->failure = NULL; /* its data may have been freed */
  memset(&c->call, 0, sizeof c->call);
  c->call.op = "exit";
  c->call.thread = toft_thread_id();
  for (size_t i = 0; i < c->count; i++)
    if (c->records[i].block->source == &toft_heap_source) (void)toft_check_record(a, i);
  for (const toft_block_log *s = c->block_logs; s != NULL; s = s->next)
    if (s->block->source == &toft_heap_source) (void)toft_verify_block_log(a, s);
  a->failure = failure;
}

static void toft_verify_at_exit(toft_live_entry *r) {
  toft_checks *c = toft_checks_of(r);
  toft_verify_heap_blocks(c->arena);
  TOFT_CLEAR_RELEASE(&c->busy_thread);
}

static void toft_unregister_arena(toft_state *a) {
  if (a->checks != NULL) toft_registry_remove(&a->checks->registered);
}

/* ---- switching checks ---- */

/* Allocates a->checks. 0: no memory. */
static TOFT_RARE int toft_make_checks(toft_state *a) {
  toft_arm_fork();
  if (a->checks == NULL) a->checks = (toft_checks *)calloc(1, sizeof *a->checks);
  if (a->checks == NULL) return 0;
  a->checks->arena = a;
  a->checks->plain_limit = SIZE_MAX;
  toft_update_observed(a);
  return 1;
}

static int toft_begin_checks(toft_state *a) {
  int first = a->checks == NULL;
  if (first && !toft_make_checks(a)) return TOFT_ENOMEM;
  if (first) {
    /* Arenas with a buffer or source of the caller are not verified at exit: these may have ended without a release. */
    if (a->state & TOFT_CACHEABLE)
      toft_registry_add(&a->checks->registered, toft_begin_call_at_exit, toft_verify_at_exit);
  }
  a->state |= TOFT_IS_CHECKED;
  toft_restart_checks(a);
  return TOFT_OK;
}

static void toft_limit_to_buffer(toft_state *a) {
  a->checks->plain_limit = (size_t)(a->initial_end - a->initial_start);
}

static void toft_report_not_released(toft_state *a) {
  if (a->state & TOFT_IS_CHECKED)
    toft_report_misuse(a, TOFT_FOUND_NOT_RELEASED, a, (a->state & TOFT_CLAIMED) != 0, NULL);
}

static void toft_block_log_release(toft_checks *c, const toft_block_header *b) {
  toft_block_log **at = toft_block_log_of(c, b), *s = *at;
  if (s == NULL) return;
  *at = s->next;
  c->last_block = NULL;
  free(s->live);
  free(s->freed);
  free(s);
}

static unsigned char *toft_first_byte(const toft_state *a, toft_block_header *b) {
  return b == &a->initial ? toft_block_start(a, b) : (unsigned char *)b + TOFT_HEADER;
}

static unsigned char *toft_last_byte(const toft_state *a, toft_block_header *b) {
  return b == &a->initial ? toft_block_end(a, b) : (unsigned char *)b + b->size;
}

/* Ends the checks. The inline path will hand out filled bytes, so all unallocated memory is unpoisoned. */
static int toft_end_checks(toft_state *a) {
  int code = toft_verify_freed(a), own = !(a->state & TOFT_IS_SUBJECT);
  while (a->checks->block_logs != NULL) toft_block_log_release(a->checks, a->checks->block_logs->block);
  for (toft_block_header *b = own ? a->newest : NULL; b != NULL; b = b->next) {
    /* An idle initial block counts as full but holds nothing, and a trim may make it current. */
    unsigned char *top =
        b == &a->initial && (a->state & TOFT_INITIAL_IDLE) ? a->initial_start : toft_block_used_end(a, b);
    toft_unpoison(top, (size_t)(toft_last_byte(a, b) - top));
    if (b != &a->initial) /* the block's start had another offset when its index differed */
      toft_unpoison(toft_first_byte(a, b), (size_t)(toft_block_start(a, b) - toft_first_byte(a, b)));
  }
  for (toft_block_header *b = a->spares; b != NULL; b = b->next)
    toft_unpoison(toft_first_byte(a, b), (size_t)(toft_last_byte(a, b) - toft_first_byte(a, b)));
  a->state &= ~(uint32_t)TOFT_IS_CHECKED;
  toft_restart_checks(a);
  return code;
}

/* The initial block is about to end at `end`. */
static void toft_checks_shrink_initial(toft_state *a, unsigned char *end) {
  if (a->checks == NULL) return;
  (void)toft_verify_freed(a);
  toft_block_log_release(a->checks, &a->initial);
  toft_unpoison(end, (size_t)(a->initial_end - end));
}

static void toft_checks_release(toft_checks *c) {
  toft_registry_remove(&c->registered);
  while (c->block_logs != NULL) toft_block_log_release(c, c->block_logs->block);
  free(c->records);
  free(c->stale_marks);
  free(c->reports);
  free(c);
}

#endif
