/* The records of a checked arena: one for each allocation, with its red zones; the log of freed regions, which are
 * filled and checked before reuse; and the thread in a call. Records lie outside the arena's blocks, so a wild write
 * cannot damage them.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_DEBUG_RECORDS_C
#define TOFT_DEBUG_DEBUG_RECORDS_C

#include "../core/blocks.c"
#include "../platform/atomic.c"
#include "../platform/sanitizers.c"
#include "live_registry.c"
#include "observe.h"
#include "reports.c"
#include "subject.c"

#define TOFT_REDZONE 16
#define TOFT_REPORTS_MAX 1000 /* reports stored per arena; further ones are counted */
enum { TOFT_POISON_REDZONE = 0xFD, TOFT_POISON_UNINIT = 0xCD, TOFT_POISON_FREED = 0xDD };

/* A range of epochs whose marks are stale although their cursor may be valid: the allocation before them was in a block
 * of its own, so it did not move the cursor, and was freed; or they were made during a claim, after allocations from
 * its range, which a rewind to them would free in an arena that is not checked. */
typedef struct toft_stale_marks {
  uintptr_t from, to;
} toft_stale_marks;

typedef struct toft_record {
  toft_block_header *block;
  unsigned char *start, *p, *end; /* red zone from start, `size` bytes at p, red zone up to end */
  size_t size;
  uintptr_t epoch;
  unsigned char *cursor;           /* the arena's cursor after the allocation, which is the cursor of later marks */
  toft_call_info allocated, freed; /* freed.op is set: freed by the caller, but not yet removed from the block */
  uint32_t header;                 /* bytes at p with the header of the malloc-like hooks, before the caller's bytes */
  int reported;                    /* red zone damage was reported */
} toft_record;

/* The records of one block, ascending, and its freed regions, descending: a block is filled from its start and freed
 * from its end. */
typedef struct toft_block_log {
  struct toft_block_log *next;
  toft_block_header *block;
  size_t *live; /* indices */
  size_t live_count, live_capacity;
  toft_record *freed;
  size_t count, capacity;
} toft_block_log;

struct toft_checks {
  toft_record *records; /* of allocations, oldest first */
  size_t count, capacity;
  toft_block_log *block_logs;
  uintptr_t since_epoch; /* epoch and cursor at the start of the checks or at the last reset */
  unsigned char *since_cursor;
  toft_stale_marks *stale_marks; /* ascending and disjoint */
  size_t stale_marks_count, stale_marks_capacity;
  uintptr_t claim_epoch; /* epoch of the first allocation from the claimed range; 0: none */
  toft_call_info call;   /* the running op */
  size_t busy_thread;    /* the thread that runs it; 0: none. Atomic */
  size_t depth;          /* depth of nested ops, which cleanups call */
  size_t pinned_thread;  /* the only thread allowed to call; 0: any. Atomic */
  toft_report *reports;
  size_t reports_count, reports_dropped;
  toft_live_entry registered;
  toft_state *arena;
  /* Bytes of live allocations without red zones. An arena in a buffer that the environment checks takes further blocks
   * from the heap for the zones, and is full when these bytes exceed the capacity of the buffer. */
  size_t plain_bytes, plain_limit;
};

/* ---- reports ---- */

static void toft_keep_report(toft_checks *c, const toft_report *f) {
  toft_lock_take(&toft_findings_lock);
  if (c->reports_count < TOFT_REPORTS_MAX &&
      (c->reports_count & (c->reports_count - 1)) == 0) { /* grow to twice as many */
    size_t capacity = c->reports_count == 0 ? 1 : 2 * c->reports_count;
    toft_report *more = (toft_report *)realloc(c->reports, capacity * sizeof *more);
    if (more == NULL) {
      c->reports_dropped++;
      TOFT_UNLOCK(&toft_findings_lock);
      return;
    }
    c->reports = more;
  }
  if (c->reports_count < TOFT_REPORTS_MAX)
    c->reports[c->reports_count++] = *f;
  else
    c->reports_dropped++;
  TOFT_UNLOCK(&toft_findings_lock);
}

/* Delivers a report on the thread that is in the arena. The arena is busy during the hook. */
static void toft_report_finding(toft_state *a, toft_report *f) {
  f->arena = toft_head_of(a);
  toft_keep_report(a->checks, f);
  uint32_t was_busy = toft_begin_callback(a);
  toft_publish_report(f);
  toft_end_callback(a, was_busy);
}

/* Delivers a report on a thread that is not allowed in the arena. */
static void toft_report_intruder(toft_state *a, toft_report *f) {
  f->arena = toft_head_of(a);
  toft_keep_report(a->checks, f);
  toft_publish_report(f);
}

/* Sets the allocation without the hook header, as its caller sees it. */
static void toft_report_set_allocation(toft_report *f, const toft_record *r) {
  f->p = r->p + r->header;
  f->size = r->size - r->header;
  f->allocated = r->allocated;
  f->freed = r->freed;
}

static void toft_report_misuse(toft_state *a, int kind, const void *p, size_t claimed_size, const toft_record *r) {
  toft_report f;
  memset(&f, 0, sizeof f);
  f.kind = kind;
  f.p = (const unsigned char *)p;
  f.claimed_size = claimed_size;
  f.detected = a->checks->call;
  if (r != NULL) toft_report_set_allocation(&f, r);
  toft_report_finding(a, &f);
}

/* Reports that the bytes from `at` to `end` were written: see toft_report_set_written. */
static int toft_report_written(toft_state *a, int kind, const toft_record *r, const unsigned char *at,
                               const unsigned char *end, int open_ended) {
  toft_report f;
  memset(&f, 0, sizeof f);
  f.kind = kind;
  toft_report_set_allocation(&f, r);
  toft_report_set_written(&f, f.p, at, end, open_ended);
  f.detected = a->checks->call;
  toft_report_finding(a, &f);
  toft_report_failure(a, f.size, 0, TOFT_ECORRUPT);
  return TOFT_ECORRUPT;
}

/* ---- calls and threads ---- */

/* The slow path of toft_debug_begin_call. */
static TOFT_COLD int toft_debug_begin_call_slow(toft_state *a, const char *op, uintptr_t site) {
  if ((a->canary != 0 || (a->state & TOFT_IS_HARDENED)) && !toft_check_canary(a, op, site)) return 0;
  toft_checks *c = a->checks;
  toft_call_info call = toft_call_begun(op, site);
  size_t me = call.thread, pinned = TOFT_LOAD(&c->pinned_thread), other = 0;
  int wrong = pinned != 0 && pinned != me;
  if (!wrong && (TOFT_CAS_ACQUIRE(&c->busy_thread, &other, me) || other == me)) {
    if (c->depth++ == 0) c->call = call;
    return 1;
  }
  toft_report f;
  memset(&f, 0, sizeof f);
  f.detected = call;
  f.kind = wrong ? TOFT_FOUND_WRONG_THREAD : TOFT_FOUND_TWO_THREADS;
  if (wrong)
    f.allocated.thread = pinned;
  else
    f.allocated = c->call;
  toft_report_intruder(a, &f);
  return 0;
}

TOFT_INLINE void toft_debug_end_call(toft_state *a) {
  toft_checks *c = a->checks;
  TOFT_ASSERT(c == NULL || (c->depth != 0 && TOFT_LOAD(&c->busy_thread) == toft_thread_id()));
  if (TOFT_UNLIKELY(c != NULL) && --c->depth == 0) TOFT_CLEAR_RELEASE(&c->busy_thread);
}

/* Pins the arena to that thread, or to none (0). Returns the previous one. */
static size_t toft_pin_to(toft_state *a, size_t thread) {
  return (a->state & TOFT_PRISTINE) == 0 && a->checks != NULL ? TOFT_SWAP(&a->checks->pinned_thread, thread) : 0;
}

/* ---- red zones ---- */

/* Reduces a range to the part between the first and the last byte that is not `byte`. 0: there is none. */
static int toft_written_part(const unsigned char **from, const unsigned char **to, unsigned char byte) {
  size_t n = (size_t)(*to - *from);
  if (n != 0 && **from == byte && memcmp(*from, *from + 1, n - 1) == 0) *from = *to; /* the usual case */
  while (*from < *to && **from == byte) ++*from;
  while (*from < *to && (*to)[-1] == byte) --*to;
  return *from < *to;
}

/* Writes the header of malloc_hooks.c: the object's size, and a red zone up to the object. */
static void toft_fill_header(unsigned char *p, size_t size) {
  memset(p, TOFT_POISON_REDZONE, TOFT_HOOK_HEADER);
  memcpy(p, &size, sizeof size);
}

/* Finds the written part of a record's red zones and header. 0: none; else TOFT_FOUND_OVERRUN or ..._UNDERRUN. Leaves
 * both zones unpoisoned; toft_poison_redzones must follow. */
static int toft_redzone_damage(const toft_record *r, const unsigned char **from, const unsigned char **to,
                               int *open_ended) {
  unsigned char header[TOFT_HOOK_HEADER];
  const unsigned char *front = r->start;
  TOFT_ASSERT(r->start <= r->p && r->p + r->size <= r->end);
  TOFT_ASSERT(r->header == 0 || r->header == TOFT_HOOK_HEADER);
  TOFT_ASSERT(r->header <= r->size);
  toft_unpoison(r->start, (size_t)(r->p - r->start) + r->header);
  toft_unpoison(r->p + r->size, (size_t)(r->end - r->p) - r->size);
  *from = r->p + r->size;
  *to = r->end;
  if (toft_written_part(from, to, TOFT_POISON_REDZONE)) {
    *open_ended = *to == r->end;
    return TOFT_FOUND_OVERRUN;
  }
  *from = front;
  *to = r->p;
  (void)toft_written_part(from, to, TOFT_POISON_REDZONE);
  toft_fill_header(header, r->size - r->header);
  for (uint32_t i = 0; i < r->header && r->freed.op == NULL; i++) {
    if (r->p[i] == header[i]) continue;
    if (*from == *to) *from = r->p + i;
    *to = r->p + i + 1;
  }
  *open_ended = *from == front;
  return *from < *to ? TOFT_FOUND_UNDERRUN : 0;
}

static void toft_poison_redzones(const toft_record *r) {
  toft_poison(r->start, (size_t)(r->p - r->start) + r->header);
  toft_poison(r->p + r->size, (size_t)(r->end - r->p) - r->size);
}

/* Checks a freed range for writes; a written one is reported and filled again. */
static int toft_verify_freed_range(toft_state *a, const toft_record *r, unsigned char *from, unsigned char *to) {
  int code = TOFT_OK;
  const unsigned char *at = from, *end = to;
  toft_unpoison(from, (size_t)(to - from));
  if (toft_written_part(&at, &end, TOFT_POISON_FREED)) {
    code = toft_report_written(a, TOFT_FOUND_LATE_WRITE, r, at, end, end == to);
    toft_unpoison(from, (size_t)(to - from));
    memset(from, TOFT_POISON_FREED, (size_t)(to - from));
  }
  if (!(a->state & TOFT_IS_SUBJECT)) toft_poison(from, (size_t)(to - from)); /* else the provider may write there */
  return code;
}

static int toft_check_record(toft_state *a, size_t index) {
  TOFT_ASSERT(index < a->checks->count);
  toft_record *r = &a->checks->records[index];
  TOFT_ASSERT(r->epoch <= toft_epoch(a));
  int code = TOFT_OK;
  if (r->start == r->end) return TOFT_OK; /* of a cursor, not of an allocation */
  if (!r->reported) {
    const unsigned char *from, *to;
    int open_ended, kind = toft_redzone_damage(r, &from, &to, &open_ended);
    if (kind != 0) {
      r->reported = 1;
      code = toft_report_written(a, kind, r, from, to, open_ended);
    }
    toft_poison_redzones(r);
  }
  if (r->freed.op != NULL && toft_verify_freed_range(a, r, r->p, r->p + r->size) != TOFT_OK) code = TOFT_ECORRUPT;
  return code;
}

/* ---- freed regions ---- */

static void toft_fill_freed(unsigned char *from, unsigned char *to) {
  if (from >= to) return;
  toft_unpoison(from, (size_t)(to - from));
  memset(from, TOFT_POISON_FREED, (size_t)(to - from));
  toft_poison(from, (size_t)(to - from));
}

/* Fills and poisons a freed range, including bytes without a record: padding, and allocations older than the checks. */
static void toft_mark_freed(const toft_state *a, unsigned char *from, unsigned char *to) {
  if (a->state & TOFT_IS_CHECKED)
    toft_fill_freed(from, to);
  else if (a->checks != NULL && from < to) {
    toft_unpoison(from, (size_t)(to - from));
    if (a->state & TOFT_IS_HARDENED) memset(from, TOFT_POISON_FREED, (size_t)(to - from));
  }
}

static toft_block_log **toft_block_log_of(toft_checks *c, const toft_block_header *b) {
  toft_block_log **at = &c->block_logs;
  while (*at != NULL && (*at)->block != b) at = &(*at)->next;
  return at;
}

/* NULL: no memory. */
static toft_block_log *toft_block_log_get(toft_checks *c, toft_block_header *b) {
  toft_block_log *s = *toft_block_log_of(c, b);
  if (s != NULL || (s = (toft_block_log *)calloc(1, sizeof *s)) == NULL) return s;
  s->block = b;
  s->next = c->block_logs;
  c->block_logs = s;
  return s;
}

/* Grows the array by at least one element. NULL: no memory, and the old array stays. */
static void *toft_grow_array(void *old, size_t *capacity, size_t each) {
  size_t more = *capacity == 0 ? 16 : 2 * *capacity;
  void *p = realloc(old, more * each);
  if (p != NULL) *capacity = more;
  return p;
}

/* If this allocation fails, a free searches all records. */
static void toft_log_live(toft_checks *c, toft_block_header *b, size_t index) {
  toft_block_log *s = toft_block_log_get(c, b);
  if (s == NULL) return;
  TOFT_ASSERT(s->live_count == 0 || s->live[s->live_count - 1] < index);
  if (s->live_count == s->live_capacity) {
    size_t *more = (size_t *)toft_grow_array(s->live, &s->live_capacity, sizeof *more);
    if (more == NULL) return;
    s->live = more;
  }
  s->live[s->live_count++] = index;
}

static void toft_unlog_live(toft_checks *c, const toft_block_header *b, size_t index) {
  toft_block_log *s = *toft_block_log_of(c, b);
  if (s != NULL && s->live_count != 0 && s->live[s->live_count - 1] == index) s->live_count--;
}

/* If this allocation fails, the region is no longer checked. */
static void toft_log_freed(toft_checks *c, const toft_record *r) {
  toft_block_log *s = toft_block_log_get(c, r->block);
  if (s == NULL) return;
  TOFT_ASSERT(s->block == r->block);
  TOFT_ASSERT(s->count <= s->capacity);
  if (s->count == s->capacity) {
    toft_record *more = (toft_record *)toft_grow_array(s->freed, &s->capacity, sizeof *more);
    if (more == NULL) return;
    s->freed = more;
  }
  s->freed[s->count++] = *r;
}

/* Checks the freed regions of b up to `to`, which are about to be reused. */
static int toft_verify_before_reuse(toft_state *a, const toft_block_header *b, unsigned char *to) {
  toft_block_log *s = *toft_block_log_of(a->checks, b);
  int code = TOFT_OK;
  while (s != NULL && s->count != 0 && s->freed[s->count - 1].start < to) {
    toft_record *r = &s->freed[s->count - 1];
    if (toft_verify_freed_range(a, r, r->start, r->end < to ? r->end : to) != TOFT_OK) code = TOFT_ECORRUPT;
    if (r->end > to) {
      TOFT_ASSERT(r->start < to);
      r->start = to;
      break;
    }
    s->count--;
  }
  return code;
}

static int toft_verify_block_log(toft_state *a, const toft_block_log *s) {
  int code = TOFT_OK;
  for (size_t i = 0; s != NULL && i < s->count; i++)
    if (toft_verify_freed_range(a, &s->freed[i], s->freed[i].start, s->freed[i].end) != TOFT_OK) code = TOFT_ECORRUPT;
  return code;
}

/* Searches all freed regions for late writes. TOFT_OK or TOFT_ECORRUPT. */
static int toft_verify_freed(toft_state *a) {
  int code = TOFT_OK;
  for (const toft_block_log *s = a->checks != NULL ? a->checks->block_logs : NULL; s != NULL; s = s->next)
    if (toft_verify_block_log(a, s) != TOFT_OK) code = TOFT_ECORRUPT;
  return code;
}

/* Removes the records made after `epoch`: checks each and fills its region. */
static int toft_check_records(toft_state *a, uintptr_t epoch) {
  toft_checks *c = a->checks;
  int code = TOFT_OK;
  while (c != NULL && c->count != 0 && c->records[c->count - 1].epoch > epoch) {
    toft_record *r = &c->records[c->count - 1];
    if (toft_check_record(a, c->count - 1) != TOFT_OK) code = TOFT_ECORRUPT;
    TOFT_ASSERT(r->freed.op != NULL || TOFT_ROUND8(r->size) <= c->plain_bytes);
    if (r->freed.op == NULL) c->plain_bytes -= TOFT_ROUND8(r->size);
    if (a->state & TOFT_IS_CHECKED) {
      if (r->freed.op == NULL) r->freed = c->call;
      toft_fill_freed(r->start, r->end);
      toft_log_freed(c, r);
    } else {
      toft_unpoison(r->start, (size_t)(r->end - r->start));
    }
    toft_unlog_live(c, r->block, --c->count);
  }
  return code;
}

#endif
