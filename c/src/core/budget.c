/* Budgets: a source that counts its blocks for itself and its parents, and the callback for a request that one of
 * their limits refuses.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_BUDGET_C
#define TOFT_CORE_BUDGET_C

#include "../platform/atomic.c"
#include "../platform/os.c"
#include "block_cache.c"
#include "blocks.c"
#include "policy.c"
#include "toft/budget.h"

struct toft_budget {
  toft_source source; /* first */
  toft_budget *parent;
  toft_source *inner;
  size_t limit, reserved, peak, refusals, children; /* atomic */
  toft_budget_fn *refused;
  void *refused_arg;
  char name[32];
};

static toft_budget *toft_budget_of(const toft_source *source) { return (toft_budget *)(uintptr_t)source; }

/* ---- accounting ---- */

static void toft_budget_raise_peak(toft_budget *b) {
  size_t peak = TOFT_LOAD(&b->peak), reserved = TOFT_LOAD(&b->reserved);
  while (reserved > peak && !TOFT_CAS_RELAXED(&b->peak, &peak, reserved)) continue;
}

static int toft_budget_charge_one(toft_budget *b, size_t size) {
  size_t reserved = TOFT_LOAD(&b->reserved), limit;
  do {
    limit = TOFT_LOAD(&b->limit);
    if (size > limit || reserved > limit - size) return 0;
  } while (!TOFT_CAS_RELAXED(&b->reserved, &reserved, reserved + size));
  return 1;
}

/* Subtracts from b and its parents below `end`. */
static void toft_budget_uncharge(toft_budget *b, const toft_budget *end, size_t size) {
  for (; b != end; b = b->parent) TOFT_ADD(&b->reserved, 0 - size);
}

/* Adds to b and all its parents; 0: one of them refuses, and nothing was added. */
static int toft_budget_charge(toft_budget *b, size_t size) {
  for (toft_budget *at = b; at != NULL; at = at->parent)
    if (!toft_budget_charge_one(at, size)) {
      TOFT_ADD(&at->refusals, 1);
      toft_budget_uncharge(b, at, size);
      return 0;
    }
  for (toft_budget *at = b; at != NULL; at = at->parent) toft_budget_raise_peak(at);
  return 1;
}

static size_t toft_budget_room(const toft_budget *b) {
  size_t limit = TOFT_LOAD(&b->limit), reserved = TOFT_LOAD(&b->reserved);
  return reserved < limit ? limit - reserved : 0;
}

/* ---- the source ---- */

static void *toft_budget_take(toft_source *self, size_t size) {
  toft_budget *b = toft_budget_of(self);
  if (!toft_budget_charge(b, size)) return NULL;
  void *block = b->inner->take(b->inner, size);
  if (block == NULL) toft_budget_uncharge(b, NULL, size);
  return block;
}

static void toft_budget_put(toft_source *self, void *block, size_t size) {
  toft_budget *b = toft_budget_of(self);
  b->inner->put(b->inner, block, size);
  toft_budget_uncharge(b, NULL, size);
}

static int toft_budget_extend(toft_source *self, void *block, size_t size, size_t want) {
  toft_budget *b = toft_budget_of(self);
  size_t more = want > size ? want - size : 0;
  if (more != 0 && !toft_budget_charge(b, more)) return 0;
  if (!b->inner->extend(b->inner, block, size, want)) {
    toft_budget_uncharge(b, NULL, more);
    return 0;
  }
  if (want < size) toft_budget_uncharge(b, NULL, size - want);
  return 1;
}

/* ---- refusals ---- */

/* The budget whose limit refuses `size` bytes; NULL: none. */
static toft_budget *toft_budget_refusing(toft_budget *b, size_t size) {
  while (b != NULL && toft_budget_room(b) >= size) b = b->parent;
  return b;
}

/* Calls the callback for a request that needs a block of at least `size` bytes. Returns its answer, or 1 if other
 * threads have returned enough since the refusal. */
static int toft_budget_call(const toft_source *source, size_t size) {
  toft_budget *b = toft_budget_refusing(toft_budget_of(source), size);
  if (b == NULL) return 1;
  return b->refused != NULL && b->refused(b->refused_arg, b, size) != 0;
}

static const toft_budget_calls toft_calls_of_budgets = {toft_budget_take, toft_budget_call};

/* ---- API ---- */

toft_budget *toft_budget_create(const toft_budget_options *options) {
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  if (options != NULL) {
    if (options->size != sizeof o) return NULL;
    o = *options;
  }
  size_t length = o.name != NULL ? strlen(o.name) : 0;
  if (length >= sizeof((toft_budget *)0)->name || (o.parent != NULL && o.source != NULL)) return NULL;
  toft_budget *b = (toft_budget *)toft_os_heap_take(toft_round(sizeof *b, 64), 64);
  if (b == NULL) return NULL;
  memset(b, 0, sizeof *b);
  b->inner = o.parent != NULL ? o.parent->inner : o.source != NULL ? o.source : &toft_heap_source;
  b->source.take = toft_budget_take;
  b->source.put = toft_budget_put;
  if (b->inner->extend != NULL) b->source.extend = toft_budget_extend;
  b->parent = o.parent;
  b->limit = o.limit;
  b->refused = o.refused;
  b->refused_arg = o.refused_arg;
  if (length != 0) memcpy(b->name, o.name, length);
  if (b->parent != NULL) TOFT_ADD(&b->parent->children, 1);
  TOFT_STORE_POINTER(const toft_budget_calls, &toft_budgets, &toft_calls_of_budgets);
  return b;
}

int toft_budget_release(toft_budget *b) {
  if (b == NULL) return TOFT_OK;
  if (TOFT_LOAD(&b->reserved) != 0 || TOFT_LOAD(&b->children) != 0) return TOFT_EBUSY;
  if (b->parent != NULL) TOFT_ADD(&b->parent->children, (size_t)0 - 1);
  toft_os_heap_put(b);
  return TOFT_OK;
}

toft_source *toft_budget_source(toft_budget *b) { return &b->source; }
void toft_budget_set_limit(toft_budget *b, size_t limit) { TOFT_STORE(&b->limit, limit); }
const char *toft_budget_name(const toft_budget *b) { return b->name; }
toft_budget *toft_budget_parent(const toft_budget *b) { return b->parent; }

toft_budget_stats toft_budget_get_stats(const toft_budget *b) {
  toft_budget_stats s;
  size_t available = SIZE_MAX;
  for (const toft_budget *at = b; at != NULL; at = at->parent) available = toft_min(available, toft_budget_room(at));
  s.limit = TOFT_LOAD(&b->limit);
  s.reserved = TOFT_LOAD(&b->reserved);
  s.peak = TOFT_LOAD(&b->peak);
  s.available = available;
  s.refusals = TOFT_LOAD(&b->refusals);
  s.children = TOFT_LOAD(&b->children);
  return s;
}

#endif
