/* Portions: of the live bytes that a budget may have, each of its arenas holds some more than it uses, and sees that as
 * its own limit. So an allocation touches the budget on the slow path only.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_PORTION_C
#define TOFT_CORE_PORTION_C

#include "../platform/assert.h"
#include "../platform/atomic.c"
#include "../platform/os.c"
#include "arena_state.h"
#include "toft/budget.h"

static uint64_t toft_claimed_bytes(const toft_state *a) {
  return a->state & TOFT_CLAIMED ? (uint64_t)(a->claim_limit - a->head.cursor) : 0;
}

#ifndef TOFT_OMIT_METERS

/* Of one arena, which lives as long. */
struct toft_portion {
  toft_budget *budget;
  uint64_t limit; /* the arena's own: toft_set_budget */
  size_t granted; /* bytes that the budget counts as live for this arena */
  size_t spare;   /* of them at most these are not live between two operations; the budget counts them as parked */
  size_t refused; /* bytes that the budget refused in this operation; 0: none */
};

/* A budget in a report. */
typedef struct toft_budget_entry {
  uint64_t id, parent; /* numbers in the order of creation, from 1; 0: no parent */
  char name[32];
  toft_budget_stats stats;
  toft_budget_live_stats live;
  int counts_live;
} toft_budget_entry;

/* What the library calls of the sources whose `take` is this one. Those after `ask` are NULL but for budgets. */
typedef struct toft_budget_calls {
  void *(*take)(toft_source *self, size_t size);
  int (*ask)(const toft_source *source, size_t size);
  toft_source *(*source_for_arena)(toft_source *source);
  int (*begin)(toft_source *source, toft_portion **made); /* 0: no memory; NULL is stored if live bytes do not count */
  int (*grow)(toft_portion *p, size_t granted);           /* 0: refused */
  void (*shrink)(toft_portion *p, size_t granted, int last); /* last: the spare is returned too */
  int (*ask_live)(const toft_portion *p, size_t size);
  /* Stores up to n budgets above `id`, in order: of the tree of `source`, or of the process if it is NULL. Returns
   * their count. */
  size_t (*list)(const toft_source *source, uint64_t id, toft_budget_entry *out, size_t n);
  toft_source *(*inner)(const toft_source *source);
  int (*charge)(const toft_source *source, size_t size); /* counts a block; 0: refused */
  void (*uncharge)(const toft_source *source, size_t size);
} toft_budget_calls;
/* Budgets, and shared arenas as sources of their local arenas, once there is one: a program without them does not link
 * their code. Atomic. */
static const toft_budget_calls *toft_budgets, *toft_shared_sources;
static toft_lock toft_budget_list_lock; /* protects the list of the process's budgets; no other is taken under it */

static const toft_budget_calls *toft_calls_of(const toft_budget_calls **at, const toft_source *source) {
  const toft_budget_calls *calls = TOFT_LOAD_POINTER(const toft_budget_calls, at);
  return calls != NULL && source != NULL && source->take == calls->take ? calls : NULL;
}

/* After a refusal of at least `size` bytes: whether a budget may grant them now, since its callback or another thread
 * has freed memory. No lock is held. */
static int toft_budget_ask(const toft_source *source, size_t size) {
  const toft_budget_calls *calls = toft_calls_of(&toft_budgets, source);
  if (calls == NULL) calls = toft_calls_of(&toft_shared_sources, source);
  return calls != NULL && calls->ask(source, size);
}

/* The source from which an arena on `source` takes its blocks: if the budget counts live bytes, these are not. */
static toft_source *toft_source_for_arena(toft_source *source) {
  const toft_budget_calls *calls = toft_calls_of(&toft_budgets, source);
  return calls != NULL ? calls->source_for_arena(source) : source;
}

/* ---- the portion of an arena ---- */

static toft_portion *toft_portion_of(const toft_state *a) { return a->state & TOFT_COUNTS_LIVE ? a->portion : NULL; }

/* The bytes that count: adopted arenas have portions of their own. */
static uint64_t toft_portion_used(const toft_state *a) {
  TOFT_ASSERT(a->adopted_live <= a->live);
  return a->live - a->adopted_live + toft_claimed_bytes(a);
}

static void toft_portion_set_budget(toft_state *a, const toft_portion *p) {
  uint64_t granted = p->granted + a->adopted_live;
  a->budget = granted < p->limit ? granted : p->limit;
}

/* A part of toft_set_limit: returns what the arena does not use and sets its limit on live bytes. */
static void toft_portion_update(toft_state *a) {
  toft_portion *p = a->portion;
  size_t used = (size_t)toft_portion_used(a);
  TOFT_ASSERT(p->granted >= used);
  if (p->granted > used + p->spare) toft_budgets->shrink(p, used + p->spare / 2, 0);
  p->refused = 0;
  toft_portion_set_budget(a, p);
}

/* Returns all that the arena does not use. toft_set_limit follows. */
static void toft_portion_return(toft_state *a) {
  toft_portion *p = toft_portion_of(a);
  if (p == NULL) return;
  toft_budgets->shrink(p, (size_t)toft_portion_used(a), 1);
  toft_portion_set_budget(a, p);
}

/* Makes room for `charge` more live bytes. 0: refused, by the arena's own limit or by a budget. */
static TOFT_COLD int toft_portion_grow(toft_state *a, size_t charge) {
  toft_portion *p = toft_portion_of(a);
  if (p == NULL) return 0;
  uint64_t used = toft_portion_used(a), all = used + a->adopted_live;
  if (all > p->limit || charge > p->limit - all) return 0;
  size_t wanted = (size_t)used + charge;
  int grown = wanted <= p->granted || toft_budgets->grow(p, wanted);
  if (!grown) p->refused = wanted - p->granted;
  toft_portion_set_budget(a, p);
  return grown;
}

/* For an arena that has allocated nothing. 0: no memory. toft_set_limit follows. */
static int toft_portion_begin(toft_state *a) {
  const toft_budget_calls *calls = toft_calls_of(&toft_budgets, a->source);
  toft_portion *p = NULL;
  if (calls != NULL && !calls->begin(a->source, &p)) return 0;
  if (p == NULL) return 1;
  p->limit = a->budget;
  a->portion = p;
  a->state |= TOFT_COUNTS_LIVE;
  return 1;
}

/* Returns all of it. The arena is not used any more. */
static void toft_portion_end(toft_state *a) {
  toft_portion *p = toft_portion_of(a);
  if (p == NULL) return;
  toft_budgets->shrink(p, 0, 1);
  a->state &= ~(uint32_t)TOFT_COUNTS_LIVE;
  a->budget = p->limit;
  toft_os_heap_put(p);
}

/* ---- the arena's own limit ---- */

static uint64_t toft_own_budget(const toft_state *a) {
  const toft_portion *p = toft_portion_of(a);
  return p != NULL ? p->limit : a->budget;
}

/* toft_set_limit follows. */
static void toft_set_own_budget(toft_state *a, uint64_t bytes) {
  *(a->state & TOFT_COUNTS_LIVE ? &a->portion->limit : &a->budget) = bytes;
}

/* Bytes of live that a budget refused in this operation; 0: none. */
static size_t toft_refused_live(const toft_state *a) {
  const toft_portion *p = toft_portion_of(a);
  return p != NULL ? p->refused : 0;
}

/* After a refusal: as toft_budget_ask, for live bytes. */
static int toft_budget_ask_live(const toft_state *a, size_t size) { return toft_budgets->ask_live(a->portion, size); }

#else
static int toft_budget_ask(const toft_source *source, size_t size) {
  (void)source, (void)size;
  return 0;
}
static toft_source *toft_source_for_arena(toft_source *source) { return source; }
static void toft_portion_update(toft_state *a) { (void)a; }
static void toft_portion_return(toft_state *a) { (void)a; }
static int toft_portion_grow(toft_state *a, size_t charge) {
  (void)a, (void)charge;
  return 0;
}
static int toft_portion_begin(toft_state *a) {
  (void)a;
  return 1;
}
static void toft_portion_end(toft_state *a) { (void)a; }
static uint64_t toft_own_budget(const toft_state *a) { return a->budget; }
static void toft_set_own_budget(toft_state *a, uint64_t bytes) { a->budget = bytes; }
#endif

#endif
