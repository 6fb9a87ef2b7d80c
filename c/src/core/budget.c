/* Budgets: a source that counts its blocks for itself and its parents, the live bytes of its arenas, which have
 * portions of them, and the callback for a request that one of their limits refuses.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_BUDGET_C
#define TOFT_CORE_BUDGET_C

#include "../platform/atomic.c"
#include "../platform/lifecycle.h"
#include "../platform/os.c"
#include "../platform/thread_local.h"
#include "block_cache.c"
#include "blocks.c"
#include "policy.c"
#include "portion.c"
#include "toft/budget.h"

/* A limited sum; atomic. */
typedef struct toft_budget_sum {
  size_t limit, now, peak, refusals;
} toft_budget_sum;

enum { TOFT_RESERVED_BYTES, TOFT_LIVE_BYTES };

/* A budget has two sources: arenas take blocks from the second if their live bytes are counted apart. */
typedef struct toft_budget_source_state {
  toft_source source; /* first */
  toft_budget *budget;
  int counts_live; /* its blocks count as live bytes */
} toft_budget_source_state;

struct toft_budget {
  toft_budget_source_state of_objects, of_arenas;
  toft_budget *parent;
  toft_source *inner;
  toft_budget_sum sums[2];
  size_t parked, children; /* atomic; parked: live bytes that arenas may hold without using them */
  size_t charged;          /* atomic; bytes of toft_budget_charge */
  int counts_live;         /* constant while there are blocks or children */
  toft_budget_fn *refused;
  void *refused_arg;
  char name[32];
  uint64_t id;
  toft_budget *next, *previous; /* in the list of the process */
};

static const toft_budget_source_state *toft_budget_source_of(const toft_source *source) {
  return (const toft_budget_source_state *)(const void *)source;
}

/* ---- accounting ---- */

static void toft_budget_raise_peak(toft_budget_sum *s) {
  size_t peak = TOFT_LOAD(&s->peak), now = TOFT_LOAD(&s->now);
  while (now > peak && !TOFT_CAS_RELAXED(&s->peak, &peak, now)) continue;
}

static int toft_budget_add_one(toft_budget_sum *s, size_t size) {
  size_t now = TOFT_LOAD(&s->now), limit;
  do {
    limit = TOFT_LOAD(&s->limit);
    if (size > limit || now > limit - size) return 0;
  } while (!TOFT_CAS_RELAXED(&s->now, &now, now + size));
  return 1;
}

/* Subtracts from b and its parents below `end`. */
static void toft_budget_subtract(toft_budget *b, const toft_budget *end, int which, size_t size) {
  for (; b != end; b = b->parent) {
    TOFT_ASSERT(size <= TOFT_LOAD(&b->sums[which].now));
    TOFT_ADD(&b->sums[which].now, 0 - size);
  }
}

/* Adds to b and all its parents. NULL: done; else the one that refuses, and nothing was added. */
static toft_budget *toft_budget_add(toft_budget *b, int which, size_t size) {
  for (toft_budget *at = b; at != NULL; at = at->parent)
    if (!toft_budget_add_one(&at->sums[which], size)) {
      toft_budget_subtract(b, at, which, size);
      return at;
    }
  for (toft_budget *at = b; at != NULL; at = at->parent) toft_budget_raise_peak(&at->sums[which]);
  return NULL;
}

/* As toft_budget_add, and counts the refusal. 0: refused. */
static int toft_budget_request(toft_budget *b, int which, size_t size) {
  toft_budget *refusing = toft_budget_add(b, which, size);
  if (refusing != NULL) TOFT_ADD(&refusing->sums[which].refusals, 1);
  return refusing == NULL;
}

static size_t toft_budget_room(const toft_budget *b, int which) {
  const toft_budget_sum *s = &b->sums[which];
  size_t limit = TOFT_LOAD(&s->limit), now = TOFT_LOAD(&s->now);
  return now < limit ? limit - now : 0;
}

/* ---- the source ---- */

static void toft_budget_unblock(const toft_budget_source_state *s, size_t size) {
  if (s->counts_live) toft_budget_subtract(s->budget, NULL, TOFT_LIVE_BYTES, size);
  toft_budget_subtract(s->budget, NULL, TOFT_RESERVED_BYTES, size);
}

/* Counts a block of that size, or more bytes of one. 0: refused. */
static int toft_budget_block(const toft_budget_source_state *s, size_t size) {
  if (!toft_budget_request(s->budget, TOFT_RESERVED_BYTES, size)) return 0;
  if (!s->counts_live || toft_budget_request(s->budget, TOFT_LIVE_BYTES, size)) return 1;
  toft_budget_subtract(s->budget, NULL, TOFT_RESERVED_BYTES, size);
  return 0;
}

static void *toft_budget_take(toft_source *self, size_t size) {
  const toft_budget_source_state *s = toft_budget_source_of(self);
  toft_source *inner = s->budget->inner;
  if (!toft_budget_block(s, size)) return NULL;
  void *block = inner->take(inner, size);
  if (block == NULL) toft_budget_unblock(s, size);
  return block;
}

static void toft_budget_put(toft_source *self, void *block, size_t size) {
  const toft_budget_source_state *s = toft_budget_source_of(self);
  toft_source *inner = s->budget->inner;
  inner->put(inner, block, size);
  toft_budget_unblock(s, size);
}

static int toft_budget_extend(toft_source *self, void *block, size_t size, size_t want) {
  const toft_budget_source_state *s = toft_budget_source_of(self);
  toft_source *inner = s->budget->inner;
  size_t more = want > size ? want - size : 0;
  if (more != 0 && !toft_budget_block(s, more)) return 0;
  if (!inner->extend(inner, block, size, want)) {
    toft_budget_unblock(s, more);
    return 0;
  }
  if (want < size) toft_budget_unblock(s, size - want);
  return 1;
}

static void toft_budget_source_init(toft_budget_source_state *s, toft_budget *b, int counts_live) {
  s->source.take = toft_budget_take;
  s->source.put = toft_budget_put;
  if (b->inner->extend != NULL) s->source.extend = toft_budget_extend;
  s->budget = b;
  s->counts_live = counts_live;
}

/* ---- portions of live bytes ---- */

#define TOFT_PORTION_SPARE_MAX (64 * TOFT_KIB)
#define TOFT_PARKED_SHARE 128 /* of a limit may be parked: less than 1 % */

static void toft_budget_unpark(toft_budget *b, const toft_budget *end, size_t spare) {
  for (; b != end; b = b->parent) {
    TOFT_ASSERT(spare <= TOFT_LOAD(&b->parked));
    TOFT_ADD(&b->parked, 0 - spare);
  }
}

/* The bytes that may still be parked at a level. */
static size_t toft_budget_parking(const toft_budget *b, size_t parked) {
  size_t most = TOFT_LOAD(&b->sums[TOFT_LIVE_BYTES].limit) / TOFT_PARKED_SHARE;
  return parked < most ? most - parked : 0;
}

static int toft_budget_park_one(toft_budget *b, size_t spare) {
  size_t parked = TOFT_LOAD(&b->parked);
  do
    if (toft_budget_parking(b, parked) < spare) return 0;
  while (!TOFT_CAS_RELAXED(&b->parked, &parked, parked + spare));
  return 1;
}

/* The spare bytes of an arena, which are counted as parked: less the more others have. */
static size_t toft_budget_park(toft_budget *b) {
  size_t spare = TOFT_PORTION_SPARE_MAX;
  for (const toft_budget *at = b; at != NULL; at = at->parent)
    spare = toft_min(spare, toft_budget_parking(at, TOFT_LOAD(&at->parked)) / 4 & ~(size_t)15);
  for (toft_budget *at = b; at != NULL && spare != 0; at = at->parent)
    if (!toft_budget_park_one(at, spare)) {
      toft_budget_unpark(b, at, spare);
      spare = 0;
    }
  return spare;
}

static toft_source *toft_budget_for_arena(toft_source *source) {
  toft_budget *b = toft_budget_source_of(source)->budget;
  return b->counts_live ? &b->of_arenas.source : source;
}

static int toft_budget_begin(toft_source *source, toft_portion **made) {
  toft_budget *b = toft_budget_source_of(source)->budget;
  if (source != &b->of_arenas.source) return 1;
  toft_portion *p = (toft_portion *)toft_os_heap_take(64, 64);
  if (p == NULL) return 0;
  memset(p, 0, sizeof *p);
  p->budget = b;
  *made = p;
  return 1;
}
TOFT_STATIC_ASSERT(portion, sizeof(toft_portion) <= 64);

static void toft_budget_shrink(toft_portion *p, size_t granted, int last) {
  TOFT_ASSERT(granted <= p->granted);
  toft_budget_subtract(p->budget, NULL, TOFT_LIVE_BYTES, p->granted - granted);
  p->granted = granted;
  if (!last) return;
  toft_budget_unpark(p->budget, NULL, p->spare);
  p->spare = 0;
}

static int toft_budget_grow(toft_portion *p, size_t granted) {
  if (!toft_budget_request(p->budget, TOFT_LIVE_BYTES, granted - p->granted)) return 0;
  TOFT_ASSERT(granted >= p->granted);
  p->granted = granted;
  toft_budget_unpark(p->budget, NULL, p->spare);
  p->spare = toft_budget_park(p->budget);
  if (toft_budget_add(p->budget, TOFT_LIVE_BYTES, p->spare / 2) == NULL) p->granted += p->spare / 2;
  return 1;
}

/* ---- refusals ---- */

/* The budget whose limit refuses `size` bytes; NULL: none. */
static toft_budget *toft_budget_refusing(toft_budget *b, int which, size_t size) {
  while (b != NULL && toft_budget_room(b, which) >= size) b = b->parent;
  return b;
}

/* A callback that runs on this thread. */
typedef struct toft_budget_running {
  const toft_budget *budget;
  const struct toft_budget_running *outer; /* which called this one */
} toft_budget_running;
TOFT_PER_THREAD const toft_budget_running *toft_running_callback;
#define toft_running_callback TOFT_OWN(toft_running_callback)

static int toft_budget_is_running(const toft_budget *b) {
  const toft_budget_running *at = toft_running_callback;
  while (at != NULL && at->budget != b) at = at->outer;
  return at != NULL;
}

/* Calls the callback of the budget that refused `size` bytes, unless it runs on this thread: it would call itself
 * without end. Returns its answer. NULL: other threads have returned enough since the refusal. */
static int toft_budget_call(toft_budget *b, size_t size) {
  if (b == NULL) return 1;
  if (b->refused == NULL || toft_budget_is_running(b)) return 0;
  TOFT_ASSERT(!toft_budget_is_running(b));
  const toft_budget_running running = {b, toft_running_callback};
  toft_running_callback = &running;
  int again = b->refused(b->refused_arg, b, size) != 0;
  TOFT_ASSERT(toft_running_callback == &running);
  toft_running_callback = running.outer;
  return again;
}

/* For a request that needs a block of at least `size` bytes. */
static int toft_budget_ask_blocks(const toft_source *source, size_t size) {
  const toft_budget_source_state *s = toft_budget_source_of(source);
  toft_budget *b = toft_budget_refusing(s->budget, TOFT_RESERVED_BYTES, size);
  if (b == NULL && s->counts_live) b = toft_budget_refusing(s->budget, TOFT_LIVE_BYTES, size);
  return toft_budget_call(b, size);
}

static int toft_budget_ask_portion(const toft_portion *p, size_t size) {
  return toft_budget_call(toft_budget_refusing(p->budget, TOFT_LIVE_BYTES, size), size);
}

/* ---- the list of the process, by id ---- */

static toft_budget *toft_first_budget, *toft_last_budget;
static uint64_t toft_last_budget_id;

static void toft_budget_link(toft_budget *b) {
  toft_arm_fork();
  toft_lock_take(&toft_budget_list_lock);
  b->id = ++toft_last_budget_id;
  b->previous = toft_last_budget;
  *(b->previous != NULL ? &b->previous->next : &toft_first_budget) = b;
  toft_last_budget = b;
  TOFT_UNLOCK(&toft_budget_list_lock);
}

static void toft_budget_unlink(const toft_budget *b) {
  toft_lock_take(&toft_budget_list_lock);
  TOFT_ASSERT((b->previous != NULL ? b->previous->next : toft_first_budget) == b);
  TOFT_ASSERT((b->next != NULL ? b->next->previous : toft_last_budget) == b);
  *(b->previous != NULL ? &b->previous->next : &toft_first_budget) = b->next;
  *(b->next != NULL ? &b->next->previous : &toft_last_budget) = b->previous;
  TOFT_UNLOCK(&toft_budget_list_lock);
}

static const toft_budget *toft_budget_root(const toft_budget *b) {
  while (b->parent != NULL) b = b->parent;
  return b;
}

static size_t toft_budget_list(const toft_source *source, uint64_t id, toft_budget_entry *out, size_t n) {
  const toft_budget *root = source != NULL ? toft_budget_root(toft_budget_source_of(source)->budget) : NULL;
  size_t count = 0;
  if (!toft_lock_take_at_unload(&toft_budget_list_lock)) return 0;
  for (const toft_budget *b = toft_first_budget; b != NULL && count < n; b = b->next) {
    if (b->id <= id || (root != NULL && toft_budget_root(b) != root)) continue;
    toft_budget_entry *e = &out[count++];
    e->id = b->id;
    e->parent = b->parent != NULL ? b->parent->id : 0;
    memcpy(e->name, b->name, sizeof e->name);
    e->stats = toft_budget_get_stats(b);
    e->live = toft_budget_get_live_stats(b);
    e->counts_live = b->counts_live;
  }
  TOFT_UNLOCK(&toft_budget_list_lock);
  return count;
}

static toft_source *toft_budget_inner(const toft_source *source) {
  return toft_budget_source_of(source)->budget->inner;
}
static int toft_budget_charge_block(const toft_source *source, size_t size) {
  return toft_budget_block(toft_budget_source_of(source), size);
}
static void toft_budget_uncharge_block(const toft_source *source, size_t size) {
  toft_budget_unblock(toft_budget_source_of(source), size);
}

static const toft_budget_calls toft_calls_of_budgets = {
    toft_budget_take,  toft_budget_ask_blocks,   toft_budget_for_arena,      toft_budget_begin,
    toft_budget_grow,  toft_budget_shrink,       toft_budget_ask_portion,    toft_budget_list,
    toft_budget_inner, toft_budget_charge_block, toft_budget_uncharge_block,
};

/* ---- API ---- */

toft_budget *toft_budget_create(const toft_budget_options *options) {
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  if (options != NULL) {
    if (options->size != sizeof o) return NULL;
    o = *options;
  }
  size_t length = o.name != NULL ? strlen(o.name) : 0;
  if (length >= sizeof((toft_budget *)0)->name || (o.parent != NULL && o.source != NULL)) return NULL;
  if (toft_region_under(o.source) != NULL) return NULL; /* its counts and the process's list of budgets lie elsewhere */
  toft_budget *b = (toft_budget *)toft_os_heap_take(toft_round(sizeof *b, 64), 64);
  if (b == NULL) return NULL;
  memset(b, 0, sizeof *b);
  b->inner = o.parent != NULL ? o.parent->inner : o.source != NULL ? o.source : &toft_heap_source;
  b->counts_live = o.parent != NULL && o.parent->counts_live;
  toft_budget_source_init(&b->of_objects, b, b->counts_live);
  toft_budget_source_init(&b->of_arenas, b, 0);
  b->parent = o.parent;
  b->sums[TOFT_RESERVED_BYTES].limit = o.limit;
  b->sums[TOFT_LIVE_BYTES].limit = SIZE_MAX;
  b->refused = o.refused;
  b->refused_arg = o.refused_arg;
  if (length != 0) memcpy(b->name, o.name, length);
  if (b->parent != NULL) TOFT_ADD(&b->parent->children, 1);
  toft_budget_link(b);
  TOFT_STORE_POINTER(const toft_budget_calls, &toft_budgets, &toft_calls_of_budgets);
  return b;
}

static int toft_budget_is_used(const toft_budget *b) {
  return TOFT_LOAD(&b->sums[TOFT_RESERVED_BYTES].now) != 0 || TOFT_LOAD(&b->children) != 0;
}

int toft_budget_release(toft_budget *b) {
  if (b == NULL) return TOFT_OK;
  if (toft_budget_is_used(b)) return TOFT_EBUSY;
  TOFT_ASSERT(TOFT_LOAD(&b->sums[TOFT_LIVE_BYTES].now) == 0 && TOFT_LOAD(&b->parked) == 0);
  toft_budget_unlink(b);
  if (b->parent != NULL) TOFT_ADD(&b->parent->children, (size_t)0 - 1);
  toft_os_heap_put(b);
  return TOFT_OK;
}

toft_source *toft_budget_source(toft_budget *b) { return &b->of_objects.source; }
const char *toft_budget_name(const toft_budget *b) { return b->name; }
toft_budget *toft_budget_parent(const toft_budget *b) { return b->parent; }

void toft_budget_set_limit(toft_budget *b, size_t limit) { TOFT_STORE(&b->sums[TOFT_RESERVED_BYTES].limit, limit); }

int toft_budget_limit_live(toft_budget *b, size_t limit) {
  if (!b->counts_live) {
    if (toft_budget_is_used(b)) return TOFT_EBUSY;
    b->counts_live = b->of_objects.counts_live = 1;
  }
  TOFT_STORE(&b->sums[TOFT_LIVE_BYTES].limit, limit);
  return TOFT_OK;
}

int toft_budget_charge(toft_budget *b, size_t size) {
  const toft_budget_source_state *s = &b->of_objects;
  if (!toft_budget_block(s, size) && !(toft_budget_ask_blocks(&s->source, size) && toft_budget_block(s, size)))
    return TOFT_ENOMEM;
  TOFT_ADD(&b->charged, size);
  return TOFT_OK;
}

int toft_budget_uncharge(toft_budget *b, size_t size) {
  size_t charged = TOFT_LOAD(&b->charged);
  do
    if (size > charged) return TOFT_EARG;
  while (!TOFT_CAS_RELAXED(&b->charged, &charged, charged - size));
  toft_budget_unblock(&b->of_objects, size);
  return TOFT_OK;
}

static size_t toft_budget_available(const toft_budget *b, int which) {
  size_t available = SIZE_MAX;
  for (; b != NULL; b = b->parent) available = toft_min(available, toft_budget_room(b, which));
  return available;
}

toft_budget_stats toft_budget_get_stats(const toft_budget *b) {
  const toft_budget_sum *sum = &b->sums[TOFT_RESERVED_BYTES];
  toft_budget_stats s;
  s.limit = TOFT_LOAD(&sum->limit);
  s.reserved = TOFT_LOAD(&sum->now);
  s.peak = TOFT_LOAD(&sum->peak);
  s.available = toft_budget_available(b, TOFT_RESERVED_BYTES);
  s.refusals = TOFT_LOAD(&sum->refusals);
  s.children = TOFT_LOAD(&b->children);
  return s;
}

toft_budget_live_stats toft_budget_get_live_stats(const toft_budget *b) {
  const toft_budget_sum *sum = &b->sums[TOFT_LIVE_BYTES];
  toft_budget_live_stats s;
  s.limit = TOFT_LOAD(&sum->limit);
  s.live = TOFT_LOAD(&sum->now);
  s.peak = TOFT_LOAD(&sum->peak);
  s.available = toft_budget_available(b, TOFT_LIVE_BYTES);
  s.parked = TOFT_LOAD(&b->parked);
  s.refusals = TOFT_LOAD(&sum->refusals);
  return s;
}

#endif
