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
  toft_block_log *block_logs, **last_log; /* last_log: where the log of last_block is linked */
  const toft_block_header *last_block;    /* for which a log was looked for last; or NULL */
  uintptr_t since_epoch;                  /* epoch and cursor at the start of the checks or at the last reset */
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
  int fits = c->reports_count < TOFT_REPORTS_MAX;
  if (fits && (c->reports_count & (c->reports_count - 1)) == 0) { /* grow to twice as many */
    size_t capacity = c->reports_count == 0 ? 1 : 2 * c->reports_count;
    toft_report *more = (toft_report *)realloc(c->reports, capacity * sizeof *more);
    fits = more != NULL;
    if (fits) c->reports = more;
  }
  if (fits) c->reports[c->reports_count++] = *f;
  if (!fits) c->reports_dropped++;
  TOFT_UNLOCK(&toft_findings_lock);
}

/* Delivers a report on a thread that is not allowed in the arena. */
static void toft_report_intruder(toft_state *a, toft_report *f) {
  f->arena = toft_head_of(a);
  toft_keep_report(a->checks, f);
  toft_publish_report(f);
}

/* Delivers a report on the thread that is in the arena. The arena is busy during the hook. */
static void toft_report_finding(toft_state *a, toft_report *f) {
  uint32_t was_busy = toft_begin_callback(a);
  toft_report_intruder(a, f);
  toft_end_callback(a, was_busy);
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
static int toft_debug_begin_call_slow(toft_state *a, const char *op, uintptr_t site) {
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

/* memset, without a call for the sizes of most zones and objects. */
TOFT_INLINE void toft_fill(unsigned char *p, size_t n, unsigned char byte) {
  if (n >= 16 && n <= 64) {
    memset(p, byte, 16);
    memset(p + n - 16, byte, 16);
    if (n <= 32) return;
    memset(p + 16, byte, 16);
    memset(p + n - 32, byte, 16);
  } else if (n == 8) { /* padding */
    memset(p, byte, 8);
  } else {
    memset(p, byte, n);
  }
}

/* Whether all bytes are `byte`. */
TOFT_INLINE int toft_is_filled(const unsigned char *p, size_t n, unsigned char byte) {
  uint64_t w[4], filled = byte * (UINT64_MAX / 255), other = 0;
  if (n < 16 || n > 64) return n == 0 || (*p == byte && memcmp(p, p + 1, n - 1) == 0);
  if (n > 32) {
    memcpy(w, p + 16, 16);
    memcpy(w + 2, p + n - 32, 16);
    other = (w[0] ^ filled) | (w[1] ^ filled) | (w[2] ^ filled) | (w[3] ^ filled);
  }
  memcpy(w, p, 16);
  memcpy(w + 2, p + n - 16, 16);
  return (other | (w[0] ^ filled) | (w[1] ^ filled) | (w[2] ^ filled) | (w[3] ^ filled)) == 0;
}

/* Reduces a range to the part between the first and the last byte that is not `byte`. 0: there is none. */
static int toft_written_part(const unsigned char **from, const unsigned char **to, unsigned char byte) {
  if (toft_is_filled(*from, (size_t)(*to - *from), byte)) *from = *to;
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

TOFT_INLINE void toft_set_redzones(const toft_record *r, toft_access access) {
  if (!toft_has_memory_tool()) return;
  toft_set_access(r->start, (size_t)(r->p - r->start) + r->header, access);
  toft_set_access(r->p + r->size, (size_t)(r->end - r->p) - r->size, access);
}

TOFT_INLINE void toft_poison_redzones(const toft_record *r) { toft_set_redzones(r, TOFT_NOACCESS); }

/* Whether both zones are whole, and there is no header. Leaves them unpoisoned. */
TOFT_INLINE int toft_has_whole_redzones(const toft_record *r) {
  size_t front = (size_t)(r->p - r->start), behind = (size_t)(r->end - r->p) - r->size;
  toft_set_redzones(r, TOFT_DEFINED);
  return r->header == 0 && toft_is_filled(r->start, front, TOFT_POISON_REDZONE) &&
         toft_is_filled(r->p + r->size, behind, TOFT_POISON_REDZONE);
}

/* Checks a freed range for writes; a written one is reported and filled again. */
TOFT_INLINE int toft_verify_freed_range(toft_state *a, const toft_record *r, unsigned char *from, unsigned char *to) {
  int code = TOFT_OK;
  toft_unpoison(from, (size_t)(to - from));
  if (!toft_is_filled(from, (size_t)(to - from), TOFT_POISON_FREED)) {
    const unsigned char *at = from, *end = to;
    (void)toft_written_part(&at, &end, TOFT_POISON_FREED);
    code = toft_report_written(a, TOFT_FOUND_LATE_WRITE, r, at, end, end == to);
    toft_unpoison(from, (size_t)(to - from));
    memset(from, TOFT_POISON_FREED, (size_t)(to - from));
  }
  if (!(a->state & TOFT_IS_SUBJECT)) toft_poison(from, (size_t)(to - from)); /* else the provider may write there */
  return code;
}

TOFT_INLINE int toft_check_one(toft_state *a, toft_record *r) {
  TOFT_ASSERT(r < a->checks->records + a->checks->count);
  TOFT_ASSERT(r->epoch <= toft_epoch(a));
  int code = TOFT_OK;
  if (r->start == r->end) return TOFT_OK; /* of a cursor, not of an allocation */
  if (!r->reported) {
    const unsigned char *from, *to;
    int open_ended, kind = toft_has_whole_redzones(r) ? 0 : toft_redzone_damage(r, &from, &to, &open_ended);
    if (kind != 0) {
      r->reported = 1;
      code = toft_report_written(a, kind, r, from, to, open_ended);
    }
    toft_poison_redzones(r);
  }
  if (r->freed.op != NULL && toft_verify_freed_range(a, r, r->p, r->p + r->size) != TOFT_OK) code = TOFT_ECORRUPT;
  return code;
}

static int toft_check_record(toft_state *a, size_t index) { return toft_check_one(a, &a->checks->records[index]); }

/* ---- freed regions ---- */

TOFT_INLINE void toft_fill_freed(unsigned char *from, unsigned char *to) {
  if (from >= to) return;
  toft_unpoison(from, (size_t)(to - from));
  toft_fill(from, (size_t)(to - from), TOFT_POISON_FREED);
  toft_poison(from, (size_t)(to - from));
}

/* Fills and poisons a freed range, including bytes without a record: padding, and allocations older than the checks.
 * Regions that were logged were filled then. */
static void toft_mark_freed(const toft_state *a, unsigned char *from, unsigned char *to) {
  if (a->state & TOFT_IS_CHECKED) {
    const toft_block_log *s = a->checks->block_logs;
    while (s != NULL && (s->count == 0 || s->freed[s->count - 1].start < from || s->freed[s->count - 1].end > to))
      s = s->next;
    for (size_t i = s != NULL ? s->count : 0; i-- != 0 && s->freed[i].end <= to; from = s->freed[i].end)
      toft_fill_freed(from, s->freed[i].start);
    toft_fill_freed(from, to);
  } else if (a->checks != NULL && from < to) {
    toft_unpoison(from, (size_t)(to - from));
  }
}

TOFT_INLINE toft_block_log **toft_block_log_of(toft_checks *c, const toft_block_header *b) {
  TOFT_ASSERT(b != NULL);
  if (TOFT_LIKELY(b == c->last_block)) return c->last_log;
  c->last_log = &c->block_logs;
  while (*c->last_log != NULL && (*c->last_log)->block != b) c->last_log = &(*c->last_log)->next;
  c->last_block = b;
  return c->last_log;
}

/* NULL: no memory. */
TOFT_INLINE toft_block_log *toft_block_log_get(toft_checks *c, toft_block_header *b) {
  toft_block_log *s = *toft_block_log_of(c, b);
  if (s != NULL || (s = (toft_block_log *)calloc(1, sizeof *s)) == NULL) return s;
  s->block = b;
  s->next = c->block_logs;
  c->block_logs = s;
  c->last_block = NULL; /* the log is elsewhere now */
  return s;
}

/* Grows the array by at least one element. NULL: no memory, and the old array stays. */
static TOFT_COLD void *toft_grow_array(void *old, size_t *capacity, size_t each) {
  size_t more = *capacity == 0 ? 16 : 2 * *capacity;
  void *p = realloc(old, more * each);
  if (p != NULL) *capacity = more;
  return p;
}

/* If this allocation fails, a free searches all records. */
TOFT_INLINE void toft_log_live(toft_checks *c, toft_block_header *b, size_t index) {
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

TOFT_INLINE void toft_unlog_live(toft_checks *c, const toft_block_header *b, size_t index) {
  toft_block_log *s = *toft_block_log_of(c, b);
  if (s != NULL && s->live_count != 0 && s->live[s->live_count - 1] == index) s->live_count--;
}

/* If this allocation fails, the region is no longer checked. */
TOFT_INLINE void toft_log_freed(toft_checks *c, const toft_record *r) {
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
    if (toft_check_one(a, r) != TOFT_OK) code = TOFT_ECORRUPT;
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
