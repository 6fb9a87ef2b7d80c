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

#define TOFT_ZONE 16
#define TOFT_FACTS 1000 /* that an arena keeps; more are counted */
enum { TOFT_BYTE_ZONE = 0xFD, TOFT_BYTE_NEW = 0xCD, TOFT_BYTE_GONE = 0xDD };

/* Epochs of marks that are stale though their place may be good: what they followed lay in a block of its own, moved no
 * cursor, and was given back. */
typedef struct toft_gone_marks {
  uintptr_t from, to;
} toft_gone_marks;

typedef struct toft_record {
  toft_blk *block;
  unsigned char *start, *p, *end; /* zone, `size` bytes at p, zone up to end */
  size_t size;
  uintptr_t born;
  unsigned char *cursor; /* the arena's, just after: what a mark taken then holds */
  toft_call made, gone;  /* gone.by: freed already, though its place is not given back */
  uint32_t header;       /* bytes at p that the malloc-like hooks keep their size in; the caller's are behind them */
  int told;              /* that a zone is damaged */
} toft_record;

/* Of one block: which records lie in it, ascending, and what was given back in it, descending: a block is filled from
 * its start and given back from its end. */
typedef struct toft_shadow {
  struct toft_shadow *next;
  toft_blk *block;
  size_t *live; /* indices */
  size_t live_count, live_room;
  toft_record *gone;
  size_t count, room;
} toft_shadow;

struct toft_checks {
  toft_record *records; /* of what is allocated, oldest first */
  size_t count, room;
  toft_shadow *shadows;
  uintptr_t since; /* the epoch when the checks began, or of the last reset, and the cursor then */
  unsigned char *from;
  unsigned char *before;       /* a trim took the empty arena's block: `from` until then */
  toft_gone_marks *gone_marks; /* ascending, and apart */
  size_t gone_marks_count, gone_marks_room;
  toft_call call; /* the op that runs */
  size_t inside;  /* the thread in it; 0: none. Atomic */
  size_t depth;   /* ops in ops: a cleanup's */
  size_t pinned;  /* the only thread that may call; 0: any. Atomic */
  toft_fact *facts;
  size_t facts_count, facts_lost;
  toft_registered registered;
  toft_state *arena;
  /* Bytes of live allocations without zones. An arena in a buffer that the environment checks takes further blocks for
   * the zones from the heap, and is full when this exceeds what the buffer holds. */
  size_t plain, plain_limit;
};

/* ---- telling ---- */

static void toft_keep_fact(toft_checks *c, const toft_fact *f) {
  toft_lock_take(&toft_findings_lock);
  if (c->facts_count < TOFT_FACTS && (c->facts_count & (c->facts_count - 1)) == 0) { /* room for twice as many */
    size_t room = c->facts_count == 0 ? 1 : 2 * c->facts_count;
    toft_fact *more = (toft_fact *)realloc(c->facts, room * sizeof *more);
    if (more == NULL) {
      c->facts_lost++;
      TOFT_UNLOCK(&toft_findings_lock);
      return;
    }
    c->facts = more;
  }
  if (c->facts_count < TOFT_FACTS)
    c->facts[c->facts_count++] = *f;
  else
    c->facts_lost++;
  TOFT_UNLOCK(&toft_findings_lock);
}

/* By the thread that is in the arena, which is closed to the hook. */
static void toft_tell(toft_state *a, toft_fact *f) {
  f->arena = &a->head;
  toft_keep_fact(a->checks, f);
  uint32_t was = toft_call_out(a);
  toft_publish(f);
  toft_call_back(a, was);
}

/* By a thread that must not be in the arena. */
static void toft_tell_intruder(toft_state *a, toft_fact *f) {
  f->arena = &a->head;
  toft_keep_fact(a->checks, f);
  toft_publish(f);
}

/* The allocation as its caller knows it. */
static void toft_fact_of(toft_fact *f, const toft_record *r) {
  f->p = r->p + r->header;
  f->size = r->size - r->header;
  f->made = r->made;
  f->gone = r->gone;
}

static void toft_tell_misuse(toft_state *a, int kind, const void *p, size_t told, const toft_record *r) {
  toft_fact f;
  memset(&f, 0, sizeof f);
  f.kind = kind;
  f.p = (const unsigned char *)p;
  f.told = told;
  f.seen = a->checks->call;
  if (r != NULL) toft_fact_of(&f, r);
  toft_tell(a, &f);
}

/* Bytes from `at` to `end` were written: see toft_fact_written. */
static int toft_tell_written(toft_state *a, int kind, const toft_record *r, const unsigned char *at,
                             const unsigned char *end, int open_ended) {
  toft_fact f;
  memset(&f, 0, sizeof f);
  f.kind = kind;
  toft_fact_of(&f, r);
  toft_fact_written(&f, f.p, at, end, open_ended);
  f.seen = a->checks->call;
  toft_tell(a, &f);
  toft_fail(a, f.size, 0, TOFT_ECORRUPT);
  return TOFT_ECORRUPT;
}

/* ---- who is in the arena ---- */

/* The slow half of toft_step_in. */
static TOFT_COLD int toft_step_in_checked(toft_state *a, const char *by, uintptr_t site) {
  toft_checks *c = a->checks;
  size_t me = toft_thread(), pinned = TOFT_LOAD(&c->pinned), other = 0;
  toft_call call = {by, toft_said != 0 ? toft_said : site, me};
  toft_said = 0;
  toft_fact f;
  memset(&f, 0, sizeof f);
  f.seen = call;
  if (pinned != 0 && pinned != me) {
    f.kind = TOFT_FOUND_WRONG_THREAD;
    f.made.thread = pinned;
  } else if (!TOFT_TAKE(&c->inside, &other, me) && other != me) {
    f.kind = TOFT_FOUND_TWO_THREADS;
    f.made = c->call;
  } else {
    if (c->depth++ == 0) c->call = call;
    return 1;
  }
  toft_tell_intruder(a, &f);
  return 0;
}

TOFT_INLINE void toft_step_out(toft_state *a) {
  toft_checks *c = a->checks;
  if (TOFT_UNLIKELY(c != NULL) && --c->depth == 0) TOFT_LEAVE(&c->inside);
}

/* To that thread, or to none. The one before comes back. */
static size_t toft_pin_to(toft_state *a, size_t thread) {
  return (a->state & TOFT_FRESH) == 0 && a->checks != NULL ? TOFT_SWAP(&a->checks->pinned, thread) : 0;
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
  memset(p, TOFT_BYTE_ZONE, TOFT_HOOK_HEADER);
  memcpy(p, &size, sizeof size);
}

/* Of a record's two zones, and its header, what was written. 0: nothing was; else TOFT_FOUND_OVERRUN or ..._UNDERRUN.
 * Both zones are open meanwhile, until toft_close_zones. */
static int toft_zone_damage(const toft_record *r, const unsigned char **from, const unsigned char **to,
                            int *open_ended) {
  unsigned char header[TOFT_HOOK_HEADER];
  const unsigned char *front = r->start;
  toft_open(r->start, (size_t)(r->p - r->start) + r->header);
  toft_open(r->p + r->size, (size_t)(r->end - r->p) - r->size);
  *from = r->p + r->size;
  *to = r->end;
  if (toft_written_part(from, to, TOFT_BYTE_ZONE)) {
    *open_ended = *to == r->end;
    return TOFT_FOUND_OVERRUN;
  }
  *from = front;
  *to = r->p;
  (void)toft_written_part(from, to, TOFT_BYTE_ZONE);
  toft_fill_header(header, r->size - r->header);
  for (uint32_t i = 0; i < r->header && r->gone.by == NULL; i++) {
    if (r->p[i] == header[i]) continue;
    if (*from == *to) *from = r->p + i;
    *to = r->p + i + 1;
  }
  *open_ended = *from == front;
  return *from < *to ? TOFT_FOUND_UNDERRUN : 0;
}

static void toft_close_zones(const toft_record *r) {
  toft_close(r->start, (size_t)(r->p - r->start) + r->header);
  toft_close(r->p + r->size, (size_t)(r->end - r->p) - r->size);
}

/* Looks at bytes that were given back, which are filled anew if they were written. */
static int toft_check_gone(toft_state *a, const toft_record *r, unsigned char *from, unsigned char *to) {
  int code = TOFT_OK;
  const unsigned char *at = from, *end = to;
  toft_open(from, (size_t)(to - from));
  if (toft_written_part(&at, &end, TOFT_BYTE_GONE)) {
    code = toft_tell_written(a, TOFT_FOUND_LATE_WRITE, r, at, end, end == to);
    toft_open(from, (size_t)(to - from));
    memset(from, TOFT_BYTE_GONE, (size_t)(to - from));
  }
  toft_close(from, (size_t)(to - from));
  return code;
}

static int toft_check_record(toft_state *a, size_t index) {
  toft_record *r = &a->checks->records[index];
  int code = TOFT_OK;
  if (!r->told) {
    const unsigned char *from, *to;
    int open_ended, kind = toft_zone_damage(r, &from, &to, &open_ended);
    if (kind != 0) {
      r->told = 1;
      code = toft_tell_written(a, kind, r, from, to, open_ended);
    }
    toft_close_zones(r);
  }
  if (r->gone.by != NULL && toft_check_gone(a, r, r->p, r->p + r->size) != TOFT_OK) code = TOFT_ECORRUPT;
  return code;
}

/* ---- what was given back ---- */

static void toft_fill_gone(unsigned char *from, unsigned char *to) {
  if (from >= to) return;
  toft_open(from, (size_t)(to - from));
  memset(from, TOFT_BYTE_GONE, (size_t)(to - from));
  toft_close(from, (size_t)(to - from));
}

/* All that was given back, with what no record covers: paddings, and what is older than the checks. */
static void toft_poison(const toft_state *a, unsigned char *from, unsigned char *to) {
  if (a->state & TOFT_IS_CHECKED)
    toft_fill_gone(from, to);
  else if (a->checks != NULL && from < to)
    toft_open(from, (size_t)(to - from));
}

static toft_shadow **toft_shadow_of(toft_checks *c, const toft_blk *b) {
  toft_shadow **at = &c->shadows;
  while (*at != NULL && (*at)->block != b) at = &(*at)->next;
  return at;
}

/* NULL: there is no memory for it. */
static toft_shadow *toft_make_shadow(toft_checks *c, toft_blk *b) {
  toft_shadow *s = *toft_shadow_of(c, b);
  if (s != NULL || (s = (toft_shadow *)calloc(1, sizeof *s)) == NULL) return s;
  s->block = b;
  s->next = c->shadows;
  c->shadows = s;
  return s;
}

/* For one element more at least. NULL: there is no memory, and the old ones stay. */
static void *toft_more_room(void *old, size_t *room, size_t each) {
  size_t more = *room == 0 ? 16 : 2 * *room;
  void *p = realloc(old, more * each);
  if (p != NULL) *room = more;
  return p;
}

/* Without memory for it a free looks at all records. */
static void toft_remember_live(toft_checks *c, toft_blk *b, size_t index) {
  toft_shadow *s = toft_make_shadow(c, b);
  if (s == NULL) return;
  if (s->live_count == s->live_room) {
    size_t *more = (size_t *)toft_more_room(s->live, &s->live_room, sizeof *more);
    if (more == NULL) return;
    s->live = more;
  }
  s->live[s->live_count++] = index;
}

static void toft_forget_live(toft_checks *c, const toft_blk *b, size_t index) {
  toft_shadow *s = *toft_shadow_of(c, b);
  if (s != NULL && s->live_count != 0 && s->live[s->live_count - 1] == index) s->live_count--;
}

/* Without memory for it nobody looks there again. */
static void toft_remember_gone(toft_checks *c, const toft_record *r) {
  toft_shadow *s = toft_make_shadow(c, r->block);
  if (s == NULL) return;
  if (s->count == s->room) {
    toft_record *more = (toft_record *)toft_more_room(s->gone, &s->room, sizeof *more);
    if (more == NULL) return;
    s->gone = more;
  }
  s->gone[s->count++] = *r;
}

/* Bytes of b up to `to` are about to be handed out again. */
static int toft_look_back(toft_state *a, const toft_blk *b, unsigned char *to) {
  toft_shadow *s = *toft_shadow_of(a->checks, b);
  int code = TOFT_OK;
  while (s != NULL && s->count != 0 && s->gone[s->count - 1].start < to) {
    toft_record *r = &s->gone[s->count - 1];
    if (toft_check_gone(a, r, r->start, r->end < to ? r->end : to) != TOFT_OK) code = TOFT_ECORRUPT;
    if (r->end > to) {
      r->start = to;
      break;
    }
    s->count--;
  }
  return code;
}

static int toft_look_at_shadow(toft_state *a, const toft_shadow *s) {
  int code = TOFT_OK;
  for (size_t i = 0; s != NULL && i < s->count; i++)
    if (toft_check_gone(a, &s->gone[i], s->gone[i].start, s->gone[i].end) != TOFT_OK) code = TOFT_ECORRUPT;
  return code;
}

static int toft_look_at_shadows(toft_state *a) {
  int code = TOFT_OK;
  for (const toft_shadow *s = a->checks != NULL ? a->checks->shadows : NULL; s != NULL; s = s->next)
    if (toft_look_at_shadow(a, s) != TOFT_OK) code = TOFT_ECORRUPT;
  return code;
}

/* Gives back the records born after `epoch`: looks at each, and fills its place. */
static int toft_check_records(toft_state *a, uintptr_t epoch) {
  toft_checks *c = a->checks;
  int code = TOFT_OK;
  while (c != NULL && c->count != 0 && c->records[c->count - 1].born > epoch) {
    toft_record *r = &c->records[c->count - 1];
    if (toft_check_record(a, c->count - 1) != TOFT_OK) code = TOFT_ECORRUPT;
    if (r->gone.by == NULL) c->plain -= TOFT_ROUND8(r->size);
    if (a->state & TOFT_IS_CHECKED) {
      if (r->gone.by == NULL) r->gone = c->call;
      toft_fill_gone(r->start, r->end);
      toft_remember_gone(c, r);
    } else {
      toft_open(r->start, (size_t)(r->end - r->start));
    }
    toft_forget_live(c, r->block, --c->count);
  }
  return code;
}

#endif
