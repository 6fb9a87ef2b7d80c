/* The block list of an arena, its accounting by subtraction, and toft_set_limit, the one function that computes
 * limit. Every op calls toft_sync_in first and toft_set_limit last.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_BLOCKS_C
#define TOFT_CORE_BLOCKS_C

#include "../platform/assert.h"
#include "arena_state.h"
#include "block_cache.c"
#include "hooks.h"
#include "policy.c"
#include "portion.c"
#include "sources.c"

static toft_state *toft_state_of(const toft_arena *head) { return (toft_state *)(uintptr_t)head; }

/* Initialises the second part of the state on the first slow call, so that an arena without one never pays for it. */
static void toft_complete_state(toft_state *a) {
  memset((void *)&a->live, 0, sizeof *a - offsetof(toft_state, live));
  a->initial.size = a->initial_size;
  a->initial.source = a->state & TOFT_IN_BUFFER ? NULL : a->source;
  a->initial.epoch = a->head.epoch & ~(uintptr_t)1; /* an instrument may have set bit 0 */
  a->current = a->newest = &a->initial;
  a->source_calls = a->initial.source != NULL;
  a->state &= ~(uint32_t)TOFT_PRISTINE;
}

static void toft_update_peak(toft_state *a) {
  if (a->live > a->peak) a->peak = a->live;
}

/* Brings live and allocated up to the cursor. `allocated` misses what was allocated and rewound inline since. */
static void toft_sync(toft_state *a) {
  ptrdiff_t moved = a->head.cursor - a->synced;
  if (moved > 0) a->allocated += (uint64_t)moved;
  a->live += (uint64_t)(int64_t)moved;
  a->synced = a->head.cursor;
  toft_update_peak(a);
}

static TOFT_COLD void toft_sync_in_slow(toft_state *a) {
  if (a->state & TOFT_PRISTINE)
    toft_complete_state(a);
  else
    toft_observe_sync(a);
}

static void toft_sync_in(toft_state *a) {
  if (TOFT_UNLIKELY(a->state & (TOFT_PRISTINE | TOFT_IS_SUBJECT))) toft_sync_in_slow(a);
  toft_sync(a);
}

#define TOFT_SEALED (TOFT_CLAIMED | TOFT_BUSY | TOFT_IS_CHECKED) /* every allocation takes the slow path */
#define TOFT_MOVES_LIMIT (TOFT_SEALED | TOFT_COUNTS_LIVE | TOFT_CLEARS | TOFT_INSTRUMENTED | TOFT_IS_SUBJECT)

/* The limit of an arena with a budget, or with one of TOFT_MOVES_LIMIT. */
static TOFT_NOINLINE void toft_set_limit_slow(toft_state *a) {
  size_t remaining = (size_t)(a->end - a->head.cursor);
  if (TOFT_UNLIKELY(a->state & TOFT_COUNTS_LIVE)) toft_portion_update(a);
  uintptr_t sealed = (a->state & TOFT_SEALED) != 0;
  /* Above the budget an inline free would expose bytes beyond it. Bytes that are freed go back to a budget, or are
   * cleared. */
  uintptr_t slow_rewinds = sealed | (a->live > a->budget) | ((a->state & (TOFT_COUNTS_LIVE | TOFT_CLEARS)) != 0);
  if (a->budget != UINT64_MAX) {
    uint64_t affordable = a->live < a->budget ? (a->budget - a->live) & ~(uint64_t)7 : 0;
    if (affordable < remaining) remaining = (size_t)affordable;
  }
  if (a->state & (TOFT_INSTRUMENTED | TOFT_IS_SUBJECT)) remaining = toft_observe_limit(a, remaining, &slow_rewinds);
  a->head.limit = a->head.cursor + (sealed ? 0 : remaining);
  a->head.epoch = (a->head.epoch & ~(uintptr_t)1) | slow_rewinds;
  TOFT_VERIFY(arena, a);
}

/* Sets limit to the lowest of block end, budget and next sample, or to the cursor if every allocation must take the
 * slow path; sets the epoch's lowest bit if rewinds must call ops too. */
static void toft_set_limit(toft_state *a) {
  if ((a->state & TOFT_MOVES_LIMIT) != 0 || a->budget != UINT64_MAX) {
    toft_set_limit_slow(a);
    return;
  }
  a->head.limit = a->end;
  a->head.epoch &= ~(uintptr_t)1;
  TOFT_VERIFY(arena, a);
}

/* A returned lease is sealed until it is leased again. `limit`: as toft_set_limit computed it for the empty arena. */
TOFT_INLINE void toft_seal(toft_state *a) { a->head.limit = a->head.cursor; }
TOFT_INLINE void toft_unseal(toft_state *a, unsigned char *limit) { a->head.limit = limit; }

/* Brackets a user callback. Precondition: the arena is consistent. Ops are refused during it. The result is passed to
 * toft_end_callback. */
static uint32_t toft_begin_callback(toft_state *a) {
  uint32_t was_busy = a->state & TOFT_BUSY;
  a->state |= TOFT_BUSY;
  toft_set_limit(a);
  return was_busy;
}

static void toft_end_callback(toft_state *a, uint32_t was_busy) {
  if (!was_busy) a->state &= ~(uint32_t)TOFT_BUSY;
}

static void toft_report_failure(toft_state *a, size_t size, size_t align, int code) {
  if (a->failure != NULL) a->failure(a->failure_arg, &a->head, size, align, code);
}

static uintptr_t toft_epoch(const toft_state *a) { return a->head.epoch & ~(uintptr_t)1; }

/* Makes older marks take the slow path. */
static void toft_next_epoch(toft_state *a) { a->head.epoch += 2; }

static TOFT_NOINLINE int toft_fits_budget_slow(toft_state *a, size_t charge) {
  uint64_t claimed = toft_claimed_bytes(a);
  if (charge == 0) return 1;
  if ((a->state & TOFT_INSTRUMENTED) && !toft_observe_charge(a, charge)) return 0;
  if (a->live + claimed <= a->budget && charge <= a->budget - a->live - claimed) return 1;
  return TOFT_UNLIKELY(a->state & TOFT_COUNTS_LIVE) && toft_portion_grow(a, charge);
}

/* Whether `charge` more bytes fit the budget. A claimed range counts as used until it is returned. 0 always fits. */
TOFT_INLINE int toft_fits_budget(toft_state *a, size_t charge) {
  return TOFT_LIKELY(a->budget == UINT64_MAX && !(a->state & TOFT_INSTRUMENTED)) || toft_fits_budget_slow(a, charge);
}

/* As toft_fits_budget, for bytes that count for a budget already. */
static int toft_fits_budget_of_arena(toft_state *a, uint64_t charge) {
  uint64_t used = a->live + toft_claimed_bytes(a), budget = toft_own_budget(a);
  if ((a->state & TOFT_INSTRUMENTED) && charge != 0 && !toft_observe_charge(a, (size_t)charge)) return 0;
  return charge == 0 || (used <= budget && charge <= budget - used);
}

static int toft_count_detached(toft_state *a, const void *what, size_t bytes, int change) {
  return TOFT_LIKELY(!(a->state & TOFT_INSTRUMENTED)) || toft_observe_detached(a, what, bytes, change);
}

/* Updates the peak of this round, which leaves out adopted arenas. */
static void toft_update_round_peak(toft_state *a, uint64_t live) {
  uint64_t own = live - a->adopted_live;
  if (own > a->round_peak) a->round_peak = own;
}

/* ---- geometry ---- */

/* A source that extends blocks in place provides one block only; its offset is not staggered, as it would depend on
 * the size. */
static size_t toft_block_offset(const toft_block_header *b) {
  if (b->kind != TOFT_BLOCK_REGULAR || (b->source != NULL && b->source->extend != NULL)) return TOFT_HEADER;
  return toft_stagger(b->size, b->index);
}

static unsigned char *toft_block_start(const toft_state *a, toft_block_header *b) {
  return b == &a->initial ? a->initial_start : (unsigned char *)b + toft_block_offset(b);
}

static unsigned char *toft_block_end(const toft_state *a, toft_block_header *b) {
  if (b == &a->initial) return a->initial_end;
  if (toft_block_offset(b) == TOFT_HEADER && (b->kind != TOFT_BLOCK_REGULAR || b->source->extend != NULL))
    return (unsigned char *)b + b->size;
  return (unsigned char *)b + toft_block_offset(b) + toft_usable(b->size);
}

static unsigned char *toft_block_used_end(const toft_state *a, const toft_block_header *b) {
  return b == a->current ? a->head.cursor : b->used_end;
}

/* ---- freed bytes ---- */

/* Nothing if the range is empty. */
static void toft_clear(unsigned char *from, const unsigned char *to) {
  if (from < to) memset(from, 0, (size_t)(to - from));
}

/* The bytes of [from, to) are not in use any more, and may be allocated again or not. */
static void toft_clear_freed(const toft_state *a, unsigned char *from, const unsigned char *to) {
  if (TOFT_UNLIKELY(a->state & TOFT_CLEARS)) toft_clear(from, to);
}

static TOFT_NOINLINE void toft_freed_slow(const toft_state *a, unsigned char *from, unsigned char *to) {
  toft_clear_freed(a, from, to);
  if (a->state & TOFT_OBSERVED) toft_mark_freed(a, from, to);
}

/* As toft_clear_freed, for bytes that may be allocated again. */
TOFT_INLINE void toft_freed(const toft_state *a, unsigned char *from, unsigned char *to) {
  if (TOFT_UNLIKELY(a->state & (TOFT_OBSERVED | TOFT_CLEARS))) toft_freed_slow(a, from, to);
}

/* ---- taking ---- */

/* A block of exactly `size` bytes: a spare, or from the source. NULL: there is none. */
static toft_block_header *toft_block_take(toft_state *a, size_t size) {
  for (toft_block_header **at = &a->spares; *at != NULL; at = &(*at)->next) {
    toft_block_header *b = *at;
    if (b->size == size) {
      *at = b->next;
      a->spare_bytes -= size;
      return b;
    }
  }
  if (a->source == NULL) return NULL;
  a->source_calls++;
  toft_block_header *b = (toft_block_header *)a->source->take(a->source, size);
  if (b != NULL && ((uintptr_t)b & 63) != 0) { /* violates the source's contract */
    a->source->put(a->source, b, size);
    return NULL;
  }
  if (b == NULL) {
    a->state |= TOFT_REFUSED | TOFT_ROUND_REFUSED | TOFT_KEEPS_BLOCKS;
    return NULL;
  }
  if (!(a->state & TOFT_ROUND_REFUSED)) a->state &= ~(uint32_t)TOFT_KEEPS_BLOCKS;
  b->size = size;
  b->source = a->source;
  return b;
}

/* Whether the source refused the last block that was requested. */
static int toft_was_refused(const toft_state *a) { return (a->state & TOFT_REFUSED) != 0; }

/* Makes b the newest block of the list. */
static void toft_block_push(toft_state *a, toft_block_header *b, uint32_t kind) {
  TOFT_ASSERT(b->size >= TOFT_BLOCK_MIN);
  TOFT_ASSERT(((uintptr_t)b & 63) == 0);
  toft_next_epoch(a);
  b->kind = kind;
  b->index = a->newest->index + 1;
  b->epoch = toft_epoch(a);
  b->charge = 0;
  b->next = a->newest;
  b->u.below = a->current;
  a->newest = b;
}

static void toft_make_current(toft_state *a, toft_block_header *b, unsigned char *cursor) {
  TOFT_ASSERT(b->kind == TOFT_BLOCK_REGULAR);
  a->current = b;
  a->head.cursor = a->synced = cursor;
  a->end = toft_block_end(a, b);
}

/* After a reset that found the initial block too small: it counts as full, and `first_size` is the size of the next
 * block. */
static int toft_initial_is_idle(const toft_state *a) {
  return (a->state & TOFT_INITIAL_IDLE) != 0 && a->current == &a->initial;
}

static void toft_make_initial_current(toft_state *a, int idle) {
  a->newest = &a->initial;
  a->state &= ~(uint32_t)TOFT_INITIAL_IDLE;
  if (idle) a->state |= TOFT_INITIAL_IDLE;
  toft_make_current(a, &a->initial, idle ? a->initial_end : a->initial_start);
  a->initial.used_end = a->head.cursor;
}

/* ---- returning ---- */

static void toft_block_put(toft_state *a, toft_block_header *b) {
  if (TOFT_UNLIKELY(a->state & TOFT_OBSERVED) && toft_observe_put(a, b, 0)) return;
  b->source->put(b->source, b, b->size);
}

static void toft_block_keep(toft_state *a, toft_block_header *b) {
  TOFT_ASSERT(b != &a->initial && b != a->current);
  b->kind = TOFT_BLOCK_SPARE;
  b->next = a->spares;
  a->spares = b;
  a->spare_bytes += b->size;
}

/* Returns the source within a limited source or a budget. NULL: the source has no limit that is known. */
static toft_source *toft_limit_inner(const toft_source *source) {
#ifndef TOFT_OMIT_METERS
  const toft_budget_calls *calls = toft_calls_of(&toft_budgets, source);
  if (calls != NULL) return calls->inner(source);
#endif
  return source != NULL && source->take == toft_limited_source_take
             ? ((const toft_limited_source *)(const void *)source)->inner
             : NULL;
}

/* The limit is for several arenas, so what one of them keeps would be refused to the others. */
static int toft_is_limited(const toft_source *source) { return toft_limit_inner(source) != NULL; }

static toft_source *toft_limits_innermost(toft_source *source) {
  for (toft_source *inner; (inner = toft_limit_inner(source)) != NULL;) source = inner;
  return source;
}

/* Subtracts a block from the limits of `source` and of those within it, down to `end`. */
static void toft_limits_uncharge(toft_source *source, const toft_source *end, size_t size) {
  for (toft_source *inner; source != end; source = inner) {
    inner = toft_limit_inner(source);
#ifndef TOFT_OMIT_METERS
    const toft_budget_calls *calls = toft_calls_of(&toft_budgets, source);
    if (calls != NULL) calls->uncharge(source, size);
#endif
    if (source->take == toft_limited_source_take) toft_limited_source_uncharge(source, size);
  }
}

/* Adds a block to the limits of `source` and of those within it. 0: one of them refuses; nothing was added. */
static int toft_limits_charge(toft_source *source, size_t size) {
  for (toft_source *at = source, *inner; (inner = toft_limit_inner(at)) != NULL; at = inner) {
    int grants;
#ifndef TOFT_OMIT_METERS
    const toft_budget_calls *calls = toft_calls_of(&toft_budgets, at);
    if (calls != NULL)
      grants = calls->charge(at, size);
    else
#endif
      grants = toft_limited_source_charge((toft_limited_source *)(void *)at, size);
    if (grants) continue;
    toft_limits_uncharge(source, at, size);
    return 0;
  }
  return 1;
}

/* P12: keeps b as a spare; above the bound, the oldest spares go to the source. */
static void toft_block_drop(toft_state *a, toft_block_header *b) {
  if (toft_is_limited(a->source)) {
    toft_block_put(a, b);
    return;
  }
  uint64_t bound = toft_max(toft_max(TOFT_SPARE, a->spare_keep), a->first_size);
  if (bound < 2 * a->round_peak) bound = 2 * a->round_peak;
  toft_block_keep(a, b);
  while (a->spare_bytes > bound) {
    toft_block_header **at = &a->spares;
    while ((*at)->next != NULL) at = &(*at)->next;
    a->spare_bytes -= (*at)->size;
    toft_block_put(a, *at);
    *at = NULL;
  }
}

static void toft_put_spares(toft_state *a, size_t keep) {
  while (a->spares != NULL && a->spare_bytes > keep) {
    toft_block_header *b = a->spares;
    a->spares = b->next;
    a->spare_bytes -= b->size;
    toft_block_put(a, b);
  }
}

/* P13: whether the current block is the only one beside the initial block, and nothing was allocated from it. */
static int toft_current_is_unused(const toft_state *a) {
  toft_block_header *b = a->current;
  return a->live == 0 && b != &a->initial && b == a->newest && b->next == &a->initial &&
         a->head.cursor == toft_block_start(a, b);
}

/* P13: makes the empty initial block current and not idle. Older marks mean its first byte from then on. */
static void toft_restart_in_initial(toft_state *a) {
  a->first_size = 0;
  a->state &= ~(uint32_t)TOFT_INITIAL_IDLE;
  toft_make_current(a, &a->initial, a->initial_start);
  a->initial.used_end = a->head.cursor;
  toft_next_epoch(a);
  a->trim_epoch = toft_epoch(a);
}

/* Precondition: toft_current_is_unused. */
static void toft_put_current(toft_state *a) {
  toft_block_header *b = a->current;
  TOFT_ASSERT(toft_current_is_unused(a));
  a->newest = &a->initial;
  toft_block_put(a, b);
  toft_restart_in_initial(a);
}

/* P9: returns what the arena keeps and does not use: spares, an unused current block, the idleness of the initial
 * block. 0: there is no such thing. */
static int toft_return_idle(toft_state *a) {
  int any = a->spares != NULL;
  toft_put_spares(a, 0);
  if (a->state & (TOFT_CLAIMED | TOFT_RANGE_GROWS)) return any;
  if (toft_current_is_unused(a)) {
    toft_put_current(a);
    return 1;
  }
  if (!toft_initial_is_idle(a)) return any;
  toft_restart_in_initial(a);
  return 1;
}

/* Unlinks the newest block, subtracts its bytes from live, and makes the block below it current. Not for the initial
 * block. */
static toft_block_header *toft_block_pop(toft_state *a) {
  toft_block_header *b = a->newest;
  TOFT_ASSERT(b != &a->initial);
  a->newest = b->next;
  if (b->kind == TOFT_BLOCK_DEDICATED) {
    TOFT_ASSERT(b->charge <= a->live);
    a->live -= b->charge;
    (void)toft_count_detached(a, b, 0, TOFT_DETACHED_REMOVED);
  } else {
    TOFT_ASSERT(b == a->current);
    b->used_end = a->head.cursor;
    TOFT_ASSERT((uint64_t)(b->used_end - toft_block_start(a, b)) <= a->live);
    a->live -= (uint64_t)(b->used_end - toft_block_start(a, b));
    toft_make_current(a, b->u.below, b->u.below->used_end);
  }
  return b;
}

/* ---- cleanups ---- */

/* Runs the cleanups registered after `epoch`, newest first, each once, up to the first one whose function is `until`,
 * which is removed and whose argument is returned. The arena is sealed and refuses ops during it, and then stays so.
 * NULL: there is none, or `until` is NULL. */
static void *toft_run_cleanups_until(toft_state *a, uintptr_t epoch, void (*until)(void *)) {
  if (a->cleanups == NULL || a->cleanups->epoch <= epoch) return NULL;
  a->state |= TOFT_BUSY;
  toft_set_limit(a);
  while (a->cleanups != NULL && a->cleanups->epoch > epoch) {
    toft_cleanup_node *node = a->cleanups;
    a->cleanups = node->older;
    if (node->user.fn == toft_release_adopted) {
      uint64_t live = ((const toft_state *)node->user.arg)->live;
      a->live -= live;
      a->adopted_live -= live;
      (void)toft_count_detached(a, node->user.arg, 0, TOFT_DETACHED_REMOVED);
    }
    toft_cleanup run = node->user;
    if (run.fn == NULL) continue;
    if (run.fn == until) return run.arg;
    run.fn(run.arg);
  }
  a->state &= ~(uint32_t)TOFT_BUSY;
  return NULL;
}

static void toft_run_cleanups(toft_state *a, uintptr_t epoch) { (void)toft_run_cleanups_until(a, epoch, NULL); }

#endif
