/* Streams of operations in an order that a number determines, without a check of any result: in a build with
 * TOFT_ASSERTIONS the library verifies its own state. abi/mutants plants faults into it, which this program must find.
 *     test_invariants SEED STEPS FILE
 * FILE is written, as a frozen file, and removed.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "toft.h"
#include "toft/budget.h"
#include "toft/freeze.h"
#include "toft/lease.h"
#include "toft/meter.h"
#include "toft/pool.h"
#include "toft/recycler.h"
#include "toft/region.h"
#include "toft/shared.h"

#define PLACES 256

typedef struct place {
  void *p;
  size_t size;
} place;

static uint64_t state;

static size_t below(size_t n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (size_t)(state % n);
}

static size_t some_size(void) {
  static const size_t most[] = {16, 64, 300, 300, 5000, 20000, 300000, 1500000};
  return 1 + below(most[below(8)]);
}

/* ---- arenas ---- */

static void forget(void *arg) { (void)arg; }

static void on_arena(toft_arena *a, size_t steps) {
  toft_mark marks[8] = {toft_mark_here(a)};
  size_t depth = 1, size = 0;
  void *last = NULL;
  toft_range range = {0};
  for (size_t i = 0; i < steps; i++) {
    size_t what = below(20);
    if (what < 9) last = toft_alloc_aligned(a, size = some_size(), (size_t)1 << below(10));
    if (what == 9 && last != NULL) last = toft_resize(a, last, size, size + below(5000), 8);
    if (what == 9) last = NULL;
    if (what == 10 && last != NULL) toft_free(a, last, size);
    if (what == 10) last = NULL;
    if (what == 11 && depth < 8) marks[depth++] = toft_mark_here(a);
    if (what == 12 && depth > 1) (void)toft_rewind(a, marks[--depth]);
    if (what == 13) (void)toft_cleanup_add(a, forget, NULL);
    if (what == 14 && toft_claim(a, &range) == TOFT_OK) {
      last = toft_range_alloc(a, &range, some_size() % 1000);
      for (int k = 0; k < 3; k++) last = toft_alloc(a, 100);
      (void)toft_unclaim(a, &range);
    }
    if (what == 15) toft_trim(a, below(2) * 100000);
    if (what == 16) (void)toft_tag_push(a, below(2) ? "one" : "two");
    if (what == 17) toft_tag_pop(a);
    if (what == 18 && below(8) == 0) {
      toft_arena *donor = toft_create();
      if (donor == NULL) continue;
      last = toft_alloc(donor, some_size());
      if (toft_adopt(a, donor) != TOFT_OK) toft_release(donor);
    }
    if (what == 19 && below(4) == 0) {
      (void)toft_reset_keep(a, (uint32_t)below(4), below(1000000));
      marks[0] = toft_mark_here(a);
      depth = 1;
    }
    if (what >= 12) last = NULL;
  }
}

/* A budget's callback, which itself needs memory of the budget. */
static int refused(void *arg, toft_budget *b, size_t size) {
  toft_options o = TOFT_OPTIONS;
  o.source = toft_budget_source(b);
  toft_arena *scratch = toft_create_with(&o);
  void *p = scratch != NULL ? toft_alloc(scratch, size) : NULL;
  if (scratch != NULL) toft_release(scratch);
  return p != NULL && arg != NULL;
}

static void arenas(size_t steps) {
  toft_options limited = TOFT_OPTIONS;
  toft_budget_options of_live = TOFT_BUDGET_OPTIONS;
  of_live.refused = refused;
  toft_budget *budget = toft_budget_create(&of_live);
  if (budget == NULL || toft_budget_limit_live(budget, 600000) != TOFT_OK) abort();
  limited.source = toft_budget_source(budget);
  for (int kind = 0; kind < 4; kind++) {
    toft_arena *a = kind == 2 ? toft_create_with(&limited) : toft_create();
    if (a == NULL) abort();
    if (kind == 1) (void)toft_set_metered(a, 1);
    if (kind == 3) (void)toft_set_checked(a, 1);
    on_arena(a, steps);
    toft_release(a);
  }
  if (toft_budget_release(budget) != TOFT_OK) abort();
  toft_leases *leases = toft_leases_create(NULL);
  for (size_t i = 0; leases != NULL && i < steps / 16; i++) {
    toft_lease one = toft_lease_get(leases), two = toft_lease_get(leases);
    if (one.arena != NULL) on_arena(one.arena, 4);
    (void)toft_lease_return(leases, one);
    (void)toft_lease_return(leases, two);
    if (below(8) == 0) toft_leases_trim(leases);
  }
  (void)toft_leases_release(leases);
}

/* ---- recyclers ---- */

static void on_recycler(toft_recycler *r, size_t steps, size_t places) {
  static place live[PLACES];
  for (size_t i = 0; i < steps; i++) {
    place *at = &live[below(places)];
    if (at->p == NULL) {
      at->p = toft_recycler_alloc(r, at->size = some_size(), (size_t)1 << below(14));
    } else if (below(5) == 0) {
      size_t size = some_size();
      void *p = toft_recycler_resize(r, at->p, at->size, size, 8);
      if (p != NULL) at->p = p, at->size = size;
    } else {
      toft_recycler_free(r, at->p, at->size);
      at->p = NULL;
    }
    if (below(500) == 0) toft_recycler_trim(r, below(2) * 1000000);
  }
  for (size_t i = 0; i < PLACES; i++) {
    if (live[i].p != NULL) toft_recycler_free(r, live[i].p, live[i].size);
    live[i].p = NULL;
  }
}

static void recyclers(size_t steps) {
  toft_limited_source limited;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  for (int kind = 0; kind < 3; kind++) {
    toft_recycler r;
    o.source = kind == 1 ? toft_limited_source_init(&limited, NULL, 3000000) : NULL;
    o.count = kind == 2 ? 1000 : 0;
    o.block_size = kind == 2 ? 200 : 0;
    if (toft_recycler_init(&r, &o) != TOFT_OK) abort();
    on_recycler(&r, steps, PLACES);
    on_recycler(&r, steps, 8);
    toft_recycler_release(&r);
  }
}

/* ---- pools ---- */

static void pools(size_t steps) {
  toft_pool_options o = TOFT_POOL_OPTIONS;
  static toft_handle live[PLACES];
  for (int kind = 0; kind < 2; kind++) {
    toft_pool p;
    o.slot_size = 24;
    o.flags = kind == 1 ? TOFT_POOL_RETIRE : 0;
    if (toft_pool_init(&p, &o) != TOFT_OK) abort();
    for (size_t i = 0; i < 4 * steps; i++) {
      toft_handle *at = &live[below(PLACES)];
      if (*at != 0)
        (void)toft_pool_remove(&p, *at), *at = 0;
      else
        *at = toft_pool_insert(&p, at) != NULL ? *at : 0;
      if (below(100) == 0) toft_pool_trim(&p);
      if (below(300) != 0) continue;
      toft_pool_clear(&p);
      for (size_t k = 0; k < PLACES; k++) live[k] = 0;
    }
    toft_pool_release(&p);
    for (size_t k = 0; k < PLACES; k++) live[k] = 0;
  }
}

/* ---- regions and shared arenas ---- */

static void regions(size_t steps) {
  for (int kind = 0; kind < 2; kind++) {
    toft_region_options o = TOFT_REGION_OPTIONS;
    o.max = (size_t)64 << 20;
    o.flags = kind == 1 ? TOFT_REGION_COMPARES : 0;
    toft_region *r = toft_region_create(&o);
    if (r == NULL) abort();
    for (size_t round = 0; round < 6; round++) {
      toft_arena *a = toft_region_arena(r);
      toft_recycler *c = toft_region_recycler(r);
      toft_shared *s = toft_shared_create(toft_region_source(r));
      if (toft_region_checkpoint(r, NULL) != TOFT_OK) abort();
      if (a != NULL) on_arena(a, steps / 16);
      if (c != NULL) on_recycler(c, steps / 16, 32);
      for (int i = 0; s != NULL && i < 3; i++)
        if (toft_shared_local(s) == NULL) abort();
      if (round % 3 == 2) (void)toft_region_drop_checkpoint(r, 0);
      (void)toft_region_restore(r, 0);
      toft_region_trim(r);
    }
    toft_arena *a = toft_region_arena(r), *donor = toft_region_arena(r);
    if (a == NULL || donor == NULL || toft_adopt(a, donor) != TOFT_OK) abort();
    toft_region_release(r);
  }
}

/* Content of blocks that were written before. */
static void *build(toft_region *r, void *arg) {
  uint64_t before = state;
  toft_arena *scratch = toft_region_arena(r), *a = toft_region_arena(r);
  if (scratch == NULL || a == NULL) return NULL;
  for (int i = 0; i < 20; i++) {
    void *p = toft_alloc(scratch, 100000);
    if (p != NULL) memset(p, 0xa5, 100000);
  }
  toft_release(scratch);
  on_arena(a, *(const size_t *)arg);
  void *root = toft_alloc_zeroed(a, 64, 8);
  state = before; /* the second build is the same */
  return root;
}

static void shared(size_t steps) {
  toft_shared *s = toft_shared_create(NULL);
  toft_arena *local = NULL;
  for (size_t i = 0; s != NULL && i < steps; i++) {
    void *p = toft_shared_alloc(s, some_size(), (size_t)1 << below(8));
    if (below(3) == 0) toft_shared_free(s, p, 8);
    if (local == NULL) local = toft_shared_local(s);
    if (local != NULL) on_arena(local, 2);
    if (below(200) == 0) (void)toft_shared_reset(s, (uint32_t)below(4), 100000), local = NULL;
  }
  (void)toft_shared_release(s);
}

int main(int argc, char **argv) {
  size_t steps = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 3000;
  state = (argc > 1 ? (uint64_t)strtoul(argv[1], NULL, 10) : 1) * 0x9E3779B97F4A7C15u + 1;
  arenas(steps);
  recyclers(steps);
  pools(steps);
  regions(steps);
  shared(steps);
  size_t few = steps / 32;
  if (argc > 3 && toft_freeze(build, &few, argv[3], NULL) == TOFT_OK) remove(argv[3]);
  toft_cache_trim();
  return puts("no invariant was violated") < 0;
}
