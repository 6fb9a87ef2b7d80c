/* What a checked arena knows: a record of each allocation, with its red zones; what was given back, which is filled,
 * remembered, and looked at before it is handed out again; and who is in a call. All of it lives apart from what it
 * describes, so that a wild write cannot lose it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_DEBUG_RECORDS_C
#define TOFT_DEBUG_DEBUG_RECORDS_C

#include "../core/blocks.c"
#include "../platform/atomic.c"
#include "../platform/sanitizers.c"
#include "live_registry.c"
#include "reports.c"

#define TOFT_REDZONE 16
#define TOFT_REPORTS_MAX 1000 /* that an arena keeps; more are counted */
enum { TOFT_POISON_REDZONE = 0xFD, TOFT_POISON_UNINIT = 0xCD, TOFT_POISON_FREED = 0xDD };

/* Epochs of marks that are stale though their place may be good: what they followed lay in a block of its own, moved no
 * cursor, and was given back. */
typedef struct toft_stale_marks {
  uintptr_t from, to;
} toft_stale_marks;

typedef struct toft_record {
  toft_block_header *block;
  unsigned char *start, *p, *end; /* zone, `size` bytes at p, zone up to end */
  size_t size;
  uintptr_t epoch;
  unsigned char *cursor;           /* the arena's, just after: what a mark taken then holds */
  toft_call_info allocated, freed; /* gone.by: freed already, though its place is not given back */
  uint32_t header; /* bytes at p that the malloc-like hooks keep their size in; the caller's are behind them */
  int reported;    /* that a zone is damaged */
} toft_record;

/* Of one block: which records lie in it, ascending, and what was given back in it, descending: a block is filled from
 * its start and given back from its end. */
typedef struct toft_block_log {
  struct toft_block_log *next;
  toft_block_header *block;
  size_t *live; /* indices */
  size_t live_count, live_capacity;
  toft_record *freed;
  size_t count, capacity;
} toft_block_log;

struct toft_checks {
  toft_record *records; /* of what is allocated, oldest first */
  size_t count, capacity;
  toft_block_log *block_logs;
  uintptr_t since_epoch; /* the epoch when the checks began, or of the last reset, and the cursor then */
  unsigned char *since_cursor;
  unsigned char *trimmed_cursor; /* a trim took the empty arena's block: `from` until then */
  toft_stale_marks *stale_marks; /* ascending, and apart */
  size_t stale_marks_count, stale_marks_capacity;
  toft_call_info call;  /* the op that runs */
  size_t busy_thread;   /* the thread in it; 0: none. Atomic */
  size_t depth;         /* ops in ops: a cleanup's */
  size_t pinned_thread; /* the only thread that may call; 0: any. Atomic */
  toft_report *reports;
  size_t reports_count, reports_dropped;
  toft_live_entry registered;
  toft_state *arena;
  /* Bytes of live allocations without zones. An arena in a buffer that the environment checks takes further blocks for
   * the zones from the heap, and is full when this exceeds what the buffer holds. */
  size_t plain_bytes, plain_limit;
};

/* ---- telling ---- */

static void toft_keep_report(toft_checks *c, const toft_report *f) {
  toft_lock_take(&toft_findings_lock);
  if (c->reports_count < TOFT_REPORTS_MAX &&
      (c->reports_count & (c->reports_count - 1)) == 0) { /* room for twice as many */
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

/* By the thread that is in the arena, which is closed to the hook. */
static void toft_report_finding(toft_state *a, toft_report *f) {
  f->arena = &a->head;
  toft_keep_report(a->checks, f);
  uint32_t was_busy = toft_begin_callback(a);
  toft_publish_report(f);
  toft_end_callback(a, was_busy);
}

/* By a thread that must not be in the arena. */
static void toft_report_intruder(toft_state *a, toft_report *f) {
  f->arena = &a->head;
  toft_keep_report(a->checks, f);
  toft_publish_report(f);
}

/* The allocation as its caller knows it. */
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

/* Bytes from `at` to `end` were written: see toft_report_set_written. */
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

/* ---- who is in the arena ---- */

/* The slow half of toft_debug_begin_call. */
static TOFT_COLD int toft_debug_begin_call_slow(toft_state *a, const char *op, uintptr_t site) {
  toft_checks *c = a->checks;
  size_t me = toft_thread_id(), pinned = TOFT_LOAD(&c->pinned_thread), other = 0;
  toft_call_info call = {op, toft_call_site_hint != 0 ? toft_call_site_hint : site, me};
  toft_call_site_hint = 0;
  toft_report f;
  memset(&f, 0, sizeof f);
  f.detected = call;
  if (pinned != 0 && pinned != me) {
    f.kind = TOFT_FOUND_WRONG_THREAD;
    f.allocated.thread = pinned;
  } else if (!TOFT_CAS_ACQUIRE(&c->busy_thread, &other, me) && other != me) {
    f.kind = TOFT_FOUND_TWO_THREADS;
    f.allocated = c->call;
  } else {
    if (c->depth++ == 0) c->call = call;
    return 1;
  }
  toft_report_intruder(a, &f);
  return 0;
}

TOFT_INLINE void toft_debug_end_call(toft_state *a) {
  toft_checks *c = a->checks;
  if (TOFT_UNLIKELY(c != NULL) && --c->depth == 0) TOFT_CLEAR_RELEASE(&c->busy_thread);
}

/* To that thread, or to none. The one before comes back. */
static size_t toft_pin_to(toft_state *a, size_t thread) {
  return (a->state & TOFT_PRISTINE) == 0 && a->checks != NULL ? TOFT_SWAP(&a->checks->pinned_thread, thread) : 0;
}

/* ---- zones ---- */

/* Cuts a range down to what is not `byte`: from its first to its last such byte. 0: there is none. */
static int toft_written_part(const unsigned char **from, const unsigned char **to, unsigned char byte) {
  while (*from < *to && **from == byte) ++*from;
  while (*from < *to && (*to)[-1] == byte) --*to;
  return *from < *to;
}

/* The header that the hooks of malloc_hooks.c keep in front of an object: its size, and a zone up to the object. */
static void toft_fill_header(unsigned char *p, size_t size) {
  memset(p, TOFT_POISON_REDZONE, TOFT_HOOK_HEADER);
  memcpy(p, &size, sizeof size);
}

/* Of a record's two zones, and its header, what was written. 0: nothing was; else TOFT_FOUND_OVERRUN or ..._UNDERRUN.
 * Both zones are open meanwhile, until toft_poison_redzones. */
static int toft_redzone_damage(const toft_record *r, const unsigned char **from, const unsigned char **to,
                               int *open_ended) {
  unsigned char header[TOFT_HOOK_HEADER];
  const unsigned char *front = r->start;
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

/* Looks at bytes that were given back, which are filled anew if they were written. */
static int toft_verify_freed_range(toft_state *a, const toft_record *r, unsigned char *from, unsigned char *to) {
  int code = TOFT_OK;
  const unsigned char *at = from, *end = to;
  toft_unpoison(from, (size_t)(to - from));
  if (toft_written_part(&at, &end, TOFT_POISON_FREED)) {
    code = toft_report_written(a, TOFT_FOUND_LATE_WRITE, r, at, end, end == to);
    toft_unpoison(from, (size_t)(to - from));
    memset(from, TOFT_POISON_FREED, (size_t)(to - from));
  }
  toft_poison(from, (size_t)(to - from));
  return code;
}

static int toft_check_record(toft_state *a, size_t index) {
  toft_record *r = &a->checks->records[index];
  int code = TOFT_OK;
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

/* ---- what was given back ---- */

static void toft_fill_freed(unsigned char *from, unsigned char *to) {
  if (from >= to) return;
  toft_unpoison(from, (size_t)(to - from));
  memset(from, TOFT_POISON_FREED, (size_t)(to - from));
  toft_poison(from, (size_t)(to - from));
}

/* All that was given back, with what no record covers: paddings, and what is older than the checks. */
static void toft_mark_freed(const toft_state *a, unsigned char *from, unsigned char *to) {
  if (a->state & TOFT_IS_CHECKED)
    toft_fill_freed(from, to);
  else if (a->checks != NULL && from < to)
    toft_unpoison(from, (size_t)(to - from));
}

static toft_block_log **toft_block_log_of(toft_checks *c, const toft_block_header *b) {
  toft_block_log **at = &c->block_logs;
  while (*at != NULL && (*at)->block != b) at = &(*at)->next;
  return at;
}

/* NULL: there is no memory for it. */
static toft_block_log *toft_block_log_get(toft_checks *c, toft_block_header *b) {
  toft_block_log *s = *toft_block_log_of(c, b);
  if (s != NULL || (s = (toft_block_log *)calloc(1, sizeof *s)) == NULL) return s;
  s->block = b;
  s->next = c->block_logs;
  c->block_logs = s;
  return s;
}

/* For one element more at least. NULL: there is no memory, and the old ones stay. */
static void *toft_grow_array(void *old, size_t *capacity, size_t each) {
  size_t more = *capacity == 0 ? 16 : 2 * *capacity;
  void *p = realloc(old, more * each);
  if (p != NULL) *capacity = more;
  return p;
}

/* Without memory for it a free looks at all records. */
static void toft_log_live(toft_checks *c, toft_block_header *b, size_t index) {
  toft_block_log *s = toft_block_log_get(c, b);
  if (s == NULL) return;
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

/* Without memory for it nobody looks there again. */
static void toft_log_freed(toft_checks *c, const toft_record *r) {
  toft_block_log *s = toft_block_log_get(c, r->block);
  if (s == NULL) return;
  if (s->count == s->capacity) {
    toft_record *more = (toft_record *)toft_grow_array(s->freed, &s->capacity, sizeof *more);
    if (more == NULL) return;
    s->freed = more;
  }
  s->freed[s->count++] = *r;
}

/* Bytes of b up to `to` are about to be handed out again. */
static int toft_verify_before_reuse(toft_state *a, const toft_block_header *b, unsigned char *to) {
  toft_block_log *s = *toft_block_log_of(a->checks, b);
  int code = TOFT_OK;
  while (s != NULL && s->count != 0 && s->freed[s->count - 1].start < to) {
    toft_record *r = &s->freed[s->count - 1];
    if (toft_verify_freed_range(a, r, r->start, r->end < to ? r->end : to) != TOFT_OK) code = TOFT_ECORRUPT;
    if (r->end > to) {
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

static int toft_verify_freed(toft_state *a) {
  int code = TOFT_OK;
  for (const toft_block_log *s = a->checks != NULL ? a->checks->block_logs : NULL; s != NULL; s = s->next)
    if (toft_verify_block_log(a, s) != TOFT_OK) code = TOFT_ECORRUPT;
  return code;
}

/* Gives back the records born after `epoch`: looks at each, and fills its place. */
static int toft_check_records(toft_state *a, uintptr_t epoch) {
  toft_checks *c = a->checks;
  int code = TOFT_OK;
  while (c != NULL && c->count != 0 && c->records[c->count - 1].epoch > epoch) {
    toft_record *r = &c->records[c->count - 1];
    if (toft_check_record(a, c->count - 1) != TOFT_OK) code = TOFT_ECORRUPT;
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
