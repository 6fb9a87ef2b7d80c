/* Budgets that count live bytes: what arenas hold of a limit, and what they return.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

#if !defined(_WIN32) && !defined(TOFT_OMIT_THREADS)
#include <pthread.h>
#include <sched.h>
#define HAS_THREADS 1
#else
#define HAS_THREADS 0
#endif

enum { LIMIT = 4 << 20 };

static toft_budget *budget_of(toft_budget *parent, size_t live) {
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.parent = parent;
  toft_budget *b = toft_budget_create(&o);
  assert_non_null(b);
  if (live != 0) assert_int_equal(toft_budget_limit_live(b, live), TOFT_OK);
  return b;
}

static toft_arena *arena_of(toft_budget *b) { return arena_on(toft_budget_source(b)); }
static uint64_t live_of(toft_arena *a) { return toft_get_stats(a).live; }
static toft_budget_live_stats stats_of(const toft_budget *b) { return toft_budget_get_live_stats(b); }

/* Allocations then have red zones. */
static int is_checked(void) {
  toft_arena *a = toft_create();
  int is = a->limit == a->cursor;
  toft_release(a);
  return is;
}

/* b counts `live` bytes, and holds at most 1 % of its limit besides. */
static void expect_live(const toft_budget *b, uint64_t live) {
  toft_budget_live_stats s = stats_of(b);
  assert_true(s.live >= live && s.live <= live + s.parked);
  assert_true(s.live <= s.limit && s.peak <= s.limit);
  assert_true(s.parked <= s.limit / 100);
}

/* Allocates until a refusal. Returns the live bytes. */
static uint64_t exhaust(toft_arena *a, size_t size) {
  while (toft_alloc(a, size) != NULL) continue;
  return live_of(a);
}

/* ---- counts ---- */

static void live_bytes_count_for_each_level(void **state) {
  (void)state;
  toft_budget *process = budget_of(NULL, LIMIT), *tenant = budget_of(process, 0),
              *other = budget_of(process, LIMIT / 4);
  toft_arena *a = arena_of(tenant), *b = arena_of(other);
  for (size_t size = 1; size < 200000; size = 3 * size + 5) {
    assert_non_null(toft_alloc(a, size));
    assert_non_null(toft_alloc(b, size));
    expect_live(tenant, live_of(a));
    expect_live(other, live_of(b));
    expect_live(process, live_of(a) + live_of(b));
  }
  assert_true(toft_budget_get_stats(process).reserved >= stats_of(process).live); /* blocks are counted beside them */
  toft_reset(a);
  expect_live(process, live_of(b));
  assert_int_equal(stats_of(tenant).live, 0);
  assert_int_equal(stats_of(tenant).parked, 0);
  toft_release(b);
  assert_int_equal(stats_of(process).live, 0);
  toft_release(a);
  assert_int_equal(stats_of(process).parked, 0);
  assert_int_equal(toft_budget_release(other), TOFT_OK);
  assert_int_equal(toft_budget_release(tenant), TOFT_OK);
  assert_int_equal(toft_budget_release(process), TOFT_OK);
}

/* Above each size, for each alignment: the limit is reached to the last bytes, and never passed. */
static void the_limit_is_reached(void **state) {
  (void)state;
  for (size_t limit = 0; limit <= LIMIT; limit = 4 * limit + 4096) {
    toft_budget *b = budget_of(NULL, limit != 0 ? limit : 1);
    for (size_t size = 8; size <= 5000; size = 5 * size) {
      toft_arena *a = arena_of(b);
      uint64_t live = exhaust(a, size);
      expect_live(b, live);
      assert_true(live <= limit);
      if (!is_checked()) assert_true(live + size > limit);
      assert_true(stats_of(b).refusals > 0);
      toft_release(a);
    }
    assert_int_equal(stats_of(b).live, 0);
    assert_int_equal(toft_budget_release(b), TOFT_OK);
  }
}

static void what_is_freed_goes_back(void **state) {
  (void)state;
  int checked = is_checked(); /* red zones stay */
  toft_budget *b = budget_of(NULL, LIMIT);
  toft_arena *a = arena_of(b);
  assert_non_null(toft_alloc(a, 100));
  for (size_t size = 10; size <= 1000000; size *= 10) {
    uint64_t before = live_of(a);
    toft_mark m = toft_mark_here(a);
    for (int i = 0; i < 3; i++) assert_non_null(toft_alloc(a, size));
    expect_live(b, live_of(a));
    assert_int_equal(toft_rewind(a, m), TOFT_OK);
    expect_live(b, before); /* statistics of the arena would bring it up to date */
    assert_int_equal(live_of(a), before);
    void *p = toft_alloc(a, size);
    assert_non_null(p);
    toft_free(a, p, size);
    expect_live(b, checked ? live_of(a) : before);
    p = toft_alloc(a, size);
    p = toft_resize(a, p, size, size / 10, 8);
    assert_non_null(p);
    expect_live(b, live_of(a));
  }
  void *last[100];
  assert_int_equal(toft_reserve(a, 200000, 0), TOFT_OK);
  uint64_t before = live_of(a);
  for (int i = 0; i < 100; i++) last[i] = toft_alloc(a, 1000); /* in one block, freed in reverse */
  for (int i = 100; i-- > 0;) toft_free(a, last[i], 1000);
  expect_live(b, checked ? live_of(a) : before);
  toft_range r;
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  assert_non_null(toft_range_alloc(a, &r, 1000));
  uint64_t most = live_of(a) + (uint64_t)(r.limit - r.cursor) + 1000;
  assert_true(stats_of(b).live <= most + stats_of(b).parked);
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  expect_live(b, live_of(a));
  toft_reset(a);
  assert_int_equal(stats_of(b).live, 0);
  assert_non_null(toft_alloc(a, 100));
  toft_trim(a, 0);
  assert_int_equal(stats_of(b).live, live_of(a));
  assert_int_equal(stats_of(b).parked, 0);
  toft_release(a);
  assert_int_equal(toft_budget_release(b), TOFT_OK);
}

/* The arena's own limit is seen as it was set, and holds beside the budget's. */
static void the_arenas_own_limit_holds(void **state) {
  (void)state;
  toft_budget *b = budget_of(NULL, LIMIT);
  toft_arena *a = arena_of(b);
  assert_true(toft_get_stats(a).budget == UINT64_MAX);
  assert_int_equal(toft_set_budget(a, 50000), TOFT_OK);
  assert_int_equal(toft_get_stats(a).budget, 50000);
  uint64_t live = exhaust(a, 100);
  assert_true(live <= 50000 && live > 49000);
  assert_int_equal(stats_of(b).refusals, 0);
  assert_int_equal(toft_set_budget(a, 1000), TOFT_OK); /* below what is live */
  assert_null(toft_alloc(a, 8));
  expect_live(b, live);
  assert_int_equal(toft_set_budget(a, UINT64_MAX), TOFT_OK);
  assert_true(exhaust(a, 100) > 4000000);
  assert_true(stats_of(b).refusals > 0);
  toft_release(a);
  assert_int_equal(toft_budget_release(b), TOFT_OK);
}

static void an_adopted_arena_keeps_its_portion(void **state) {
  (void)state;
  toft_budget *b = budget_of(NULL, LIMIT), *other = budget_of(NULL, LIMIT);
  toft_budget *of[] = {b, other};
  for (int i = 0; i < 2; i++) {
    toft_arena *a = arena_of(b), *donor = arena_of(of[i]);
    assert_non_null(toft_alloc(a, 1000));
    assert_non_null(toft_alloc(donor, 3000000)); /* more than the room of b, if it counted twice */
    uint64_t of_donor = live_of(donor), before = live_of(a);
    toft_mark m = toft_mark_here(a);
    assert_int_equal(toft_adopt(a, donor), TOFT_OK);
    assert_int_equal(live_of(a), before + of_donor);
    expect_live(b, i == 0 ? live_of(a) : before);
    expect_live(of[i], i == 0 ? live_of(a) : of_donor);
    if (i == 1) assert_int_equal(stats_of(other).parked, 0);
    assert_non_null(toft_alloc(a, 1000000));
    assert_int_equal(toft_alloc(a, 3000000) == NULL, i == 0);
    assert_int_equal(toft_rewind(a, m), TOFT_OK);
    expect_live(b, before);
    assert_int_equal(stats_of(other).live, 0);
    toft_release(a);
    assert_int_equal(stats_of(b).live, 0);
  }
  assert_int_equal(toft_budget_release(b), TOFT_OK);
  assert_int_equal(toft_budget_release(other), TOFT_OK);
}

static void other_objects_count_their_blocks(void **state) {
  (void)state;
  toft_budget *b = budget_of(NULL, LIMIT);
  toft_options o = TOFT_OPTIONS;
  static char buffer[1024];
  o.source = toft_budget_source(b);
  o.buffer = buffer;
  o.buffer_size = sizeof buffer;
  toft_arena *a = toft_create_with(&o);
  assert_non_null(toft_alloc(a, 5000));
  assert_int_equal(stats_of(b).live, toft_budget_get_stats(b).reserved);
  toft_release(a);
#ifndef TOFT_OMIT_RECYCLER
  toft_malloc m;
  toft_malloc_init(&m, toft_budget_source(b));
  void *p = toft_malloc_alloc(&m, 1000000);
  assert_non_null(p);
  assert_true(stats_of(b).live >= 1000000);
  assert_null(toft_malloc_alloc(&m, LIMIT));
  toft_malloc_free(&m, p);
  toft_malloc_release(&m);
#endif
#if HAS_THREADS
  toft_shared *s = toft_shared_create(toft_budget_source(b));
  assert_non_null(toft_alloc(toft_shared_local(s), 1000000));
  assert_true(stats_of(b).live >= 1000000);
  toft_shared_release(s);
  toft_options of_arena = TOFT_OPTIONS;
  of_arena.source = toft_budget_source(b);
  toft_lease_options of_leases = TOFT_LEASE_OPTIONS;
  of_leases.arenas = &of_arena;
  toft_leases *l = toft_leases_create(&of_leases);
  for (int i = 0; i < 100; i++) { /* each reset returns all */
    toft_lease lease = toft_lease_get(l);
    assert_non_null(toft_alloc(lease.arena, 3000000));
    expect_live(b, live_of(lease.arena));
    (void)toft_lease_return(l, lease);
    assert_int_equal(stats_of(b).live, 0);
  }
  toft_leases_release(l);
#endif
  assert_int_equal(stats_of(b).live, 0);
  assert_int_equal(toft_budget_release(b), TOFT_OK);
}

/* ---- refusals ---- */

typedef struct caller {
  toft_arena *frees;
  size_t calls, size;
} caller;

static int on_refused(void *arg, toft_budget *b, size_t size) {
  caller *c = (caller *)arg;
  c->calls++;
  c->size = size;
  toft_release(c->frees);
  c->frees = NULL;
  toft_release(arena_of(b));
  return 1;
}

static void a_refusal_calls_back_once(void **state) {
  (void)state;
  caller c = {NULL, 0, 0};
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.refused = on_refused;
  o.refused_arg = &c;
  toft_budget *b = toft_budget_create(&o);
  assert_int_equal(toft_budget_limit_live(b, LIMIT), TOFT_OK);
  toft_arena *a = arena_of(b);
  for (size_t size = 8; size < 1000000; size *= 11) {
    for (int kind = 0; kind < 3; kind++) {
      c.frees = arena_of(b);
      assert_non_null(toft_alloc(c.frees, 3500000));
      c.calls = 0;
      void *p = NULL;
      size_t served = 0;
      for (; c.calls == 0; served++) {
        if (kind == 1) {
          p = toft_resize(a, p, served * size, (served + 1) * size, 8);
        } else if (kind == 2) {
          toft_range r;
          assert_int_equal(toft_claim(a, &r), TOFT_OK);
          p = toft_range_alloc(a, &r, size);
          assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
        } else {
          p = toft_alloc(a, size);
        }
        assert_non_null(p);
      }
      assert_int_equal(c.calls, 1);
      expect_live(b, live_of(a));
      toft_reset(a);
    }
  }
  c.calls = 0;
  assert_null(toft_alloc(a, LIMIT + 8));
  assert_int_equal(c.calls, 1);
  toft_release(a);
  assert_int_equal(toft_budget_release(b), TOFT_OK);
}

/* The source refuses from each call on: what was granted goes back. */
static void a_refusal_of_the_source_grants_nothing(void **state) {
  (void)state;
  counted source;
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.source = counted_init(&source);
  toft_budget *b = toft_budget_create(&o);
  assert_int_equal(toft_budget_limit_live(b, LIMIT), TOFT_OK);
  for (size_t k = 2; k < 8; k++) {
    source.attempts = 0;
    source.fail_from = k;
    toft_arena *a = arena_of(b);
    for (size_t size = 100; size < 1000000; size *= 3) {
      while (toft_alloc(a, size) != NULL) continue;
      expect_live(b, live_of(a));
    }
    toft_release(a);
    assert_int_equal(stats_of(b).live, 0);
  }
  assert_int_equal(toft_budget_release(b), TOFT_OK);
  counted_all_back(&source);
}

/* 1 to 64 arenas by turns: at the refusal at most 1 % of the limit is not live. */
static void little_is_stranded_at_a_refusal(void **state) {
  (void)state;
  for (int n = 1; n <= 64; n *= 4) {
    toft_budget *process = budget_of(NULL, LIMIT), *tenants[64];
    toft_arena *arenas[64];
    for (int i = 0; i < n; i++) {
      tenants[i] = budget_of(process, 0);
      arenas[i] = arena_of(tenants[i]);
    }
    uint64_t live = 0;
    int i = 0;
    while (toft_alloc(arenas[i % n], 64) != NULL) i++;
    for (i = 0; i < n; i++) live += live_of(arenas[i]);
    assert_true(live <= LIMIT && live > LIMIT - LIMIT / 100 - 64 * 4); /* a checked arena's red zones */
    expect_live(process, live);
    for (i = 0; i < n; i++) {
      toft_release(arenas[i]);
      assert_int_equal(toft_budget_release(tenants[i]), TOFT_OK);
    }
    assert_int_equal(toft_budget_release(process), TOFT_OK);
  }
}

/* ---- threads ---- */

#if HAS_THREADS
enum { THREADS = 64 };

typedef struct worker {
  toft_budget *budget;
  uint32_t random;
  size_t share, refused;
} worker;

static size_t held, highest; /* atomic: bytes that the workers have allocated, counted by themselves */

static void count_held(size_t more) {
  size_t now = __atomic_add_fetch(&held, more, __ATOMIC_RELAXED), high = __atomic_load_n(&highest, __ATOMIC_RELAXED);
  while ((intptr_t)more > 0 && now > high &&
         !__atomic_compare_exchange_n(&highest, &high, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    continue;
}

/* Allocations and rewinds; with a share as many bytes as that, else as many as there are. */
static void *work(void *arg) {
  worker *w = (worker *)arg;
  toft_arena *a = arena_of(w->budget);
  size_t mine = 0;
  for (size_t i = 0; i < rounds_of(2000); i++) {
    size_t size = 8 * (1 + next_random(&w->random) % 400);
    if (next_random(&w->random) % 64 == 0 || (w->share != 0 && mine + size > w->share)) {
      count_held(0 - mine);
      mine = 0;
      toft_reset(a);
    }
    if (toft_alloc(a, size) == NULL) {
      w->refused++;
      sched_yield();
      continue;
    }
    count_held(size);
    mine += size;
  }
  count_held(0 - mine);
  toft_release(a);
  return NULL;
}

static size_t run_workers(size_t limit, size_t share) {
  toft_budget *process = budget_of(NULL, limit), *tenants[4];
  pthread_t threads[THREADS];
  worker workers[THREADS];
  size_t refused = 0;
  held = highest = 0;
  for (int i = 0; i < 4; i++) tenants[i] = budget_of(process, share != 0 ? 0 : limit / 2);
  for (int i = 0; i < THREADS; i++) {
    worker w = {tenants[i % 4], (uint32_t)i + 1, share, 0};
    workers[i] = w;
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    refused += workers[i].refused;
  }
  assert_true(highest <= limit && stats_of(process).peak <= limit);
  assert_int_equal(stats_of(process).live, 0);
  assert_int_equal(stats_of(process).parked, 0);
  for (int i = 0; i < 4; i++) assert_int_equal(toft_budget_release(tenants[i]), TOFT_OK);
  assert_int_equal(toft_budget_release(process), TOFT_OK);
  return refused;
}

static void no_thread_exceeds_the_limit(void **state) {
  (void)state;
  assert_true(run_workers(1 << 18, 0) > 0); /* a thread alone reaches the limit of its tenant */
}

/* Together at most 98 % of the limit. An allocation of a checked arena has red zones. */
static void threads_within_the_limit_are_never_refused(void **state) {
  (void)state;
  if (!is_checked()) assert_int_equal(run_workers(LIMIT, (size_t)LIMIT / 100 * 98 / THREADS), 0);
}
#endif

/* ---- input ---- */

static void counting_begins_before_use(void **state) {
  (void)state;
  toft_budget *b = budget_of(NULL, 0);
  assert_true(stats_of(b).limit == SIZE_MAX && stats_of(b).live == 0);
  toft_arena *a = arena_of(b);
  assert_int_equal(toft_budget_limit_live(b, LIMIT), TOFT_EBUSY);
  assert_non_null(toft_alloc(a, LIMIT));
  assert_int_equal(stats_of(b).live, 0);
  toft_release(a);
  toft_budget *child = budget_of(b, 0);
  assert_int_equal(toft_budget_limit_live(b, LIMIT), TOFT_EBUSY);
  assert_int_equal(toft_budget_limit_live(child, LIMIT), TOFT_OK);
  a = arena_of(child);
  assert_null(toft_alloc(a, LIMIT + 8));
  assert_non_null(toft_alloc(a, 1000));
  assert_int_equal(toft_budget_limit_live(child, 100), TOFT_OK); /* below what is live */
  assert_int_equal(stats_of(child).available, 0);
  toft_trim(a, 0);
  assert_null(toft_alloc(a, 8));
  assert_int_equal(toft_budget_limit_live(child, SIZE_MAX), TOFT_OK);
  assert_non_null(toft_alloc(a, 2 * LIMIT));
  toft_release(a);
  assert_int_equal(toft_budget_release(child), TOFT_OK);
  assert_int_equal(toft_budget_release(b), TOFT_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(live_bytes_count_for_each_level),
    cmocka_unit_test(the_limit_is_reached),
    cmocka_unit_test(what_is_freed_goes_back),
    cmocka_unit_test(the_arenas_own_limit_holds),
    cmocka_unit_test(an_adopted_arena_keeps_its_portion),
    cmocka_unit_test(other_objects_count_their_blocks),
    cmocka_unit_test(a_refusal_calls_back_once),
    cmocka_unit_test(a_refusal_of_the_source_grants_nothing),
    cmocka_unit_test(little_is_stranded_at_a_refusal),
#if HAS_THREADS
    cmocka_unit_test(no_thread_exceeds_the_limit),
    cmocka_unit_test(threads_within_the_limit_are_never_refused),
#endif
    cmocka_unit_test(counting_begins_before_use),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
