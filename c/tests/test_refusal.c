/* The state after a refusal by the source, for every kind of object: a source that refuses once, from a call on,
 * above a size, or above a sum of bytes. When the object is empty again, the requests that it served before the refusal
 * are served again, and no part of a limit stays unused.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>

#include "kinds.h"
#include "support.h"

enum { KIB = 1024, MIB = 1024 * KIB, REQUESTS_MAX = 5000, ROUNDS = 3 };

static void *at[REQUESTS_MAX];
static size_t sizes[REQUESTS_MAX];

/* Fills `sizes` with a sequence of about `bytes` bytes; returns its length. */
static size_t sequence(int which, size_t bytes) {
  static const size_t mixed[] = {10, 3000, 24, 70000, 9000, 200000, 100, 5000, 300000, 40000, 1 * MIB, 2000, 16};
  size_t n = 0;
  for (size_t sum = 0; sum < bytes && n < REQUESTS_MAX; n++) {
    sizes[n] = which == 0 ? 1000 : which == 1 ? 20000 : mixed[n % (sizeof mixed / sizeof *mixed)];
    sum += sizes[n];
  }
  return n;
}

/* Serves the sequence until a request is refused. Returns how many requests were served. */
static size_t serve(const kind *it, void *of, size_t n) {
  size_t i;
  for (i = 0; i < n && (at[i] = it->alloc(of, sizes[i])) != NULL; i++) *(unsigned char *)at[i] = (unsigned char)i;
  for (size_t j = 0; j < i; j++) assert_int_equal(*(unsigned char *)at[j], (unsigned char)j);
  return i;
}

static int is(const kind *it, const char *name) { return strcmp(it->name, name) == 0; }

static int is_recycler(const kind *it) { return is(it, "recycler") || is(it, "malloc") || is(it, "sync"); }

/* Recyclers place objects in free memory of any age; a lease cache keeps a part of an arena's blocks. */
static int places_by_history(const kind *it) { return is_recycler(it) || is(it, "leases"); }

/* Serves the sequence ROUNDS times: no fewer requests than in the round before, unless the only refusal was in between,
 * or blocks that were returned before the source began to refuse for good are missing. */
static size_t rounds(const kind *it, void *of, const counted *c, size_t n) {
  size_t served = 0;
  for (int round = 0; round < ROUNDS; round++) {
    size_t first = c->fail_at != 0 ? c->fail_at : c->fail_from, attempts = c->attempts;
    size_t now = serve(it, of, n);
    int compares = attempts >= first || c->attempts < first;
    size_t least = places_by_history(it) ? served - served / 8 : served;
    if (is_recycler(it) && sizes[0] == 1000)
      least -= least < 32 ? least : 32; /* a block may end within a unit of 32 KiB */
    if (compares && now < least) fail_msg("%s: round %d served %zu requests, not %zu", it->name, round, now, served);
    served = now;
    it->empty(of, at, sizes, now);
    assert_int_equal(it->live(of), 0);
  }
  return served;
}

/* The first object of a kind takes up to 64 KiB; recyclers take memory by 64 KiB at least. */
static size_t least_limit(const kind *it) { return is_recycler(it) ? 1 * MIB : 64 * KIB; }

static int is_brief(void) { return getenv("TOFT_SHORT") != NULL || getenv("TOFT_EMULATED") != NULL; }

static void a_limit_of_bytes(void **state) {
  size_t step = is_brief() ? 31 * 4 * KIB : 4 * KIB;
  (void)state;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (int which = 0; which < 3; which++)
      for (size_t limit = 4 * KIB; limit <= 4 * MIB;
           limit += which == 0 && !is(&kinds[i], "checked") ? step : 7 * step) {
        counted c;
        toft_source *source = counted_init(&c);
        c.limit = limit;
        void *of = kinds[i].create(source);
        assert_true(of != NULL || limit < 128 * KIB);
        if (of == NULL) continue;
        size_t served = rounds(&kinds[i], of, &c, sequence(which, 5 * MIB));
        size_t unused = limit - c.peak;
        if (which == 0 && limit >= least_limit(&kinds[i]) && unused > limit / 8)
          fail_msg("%s: %zu of %zu bytes are not used, %zu requests are served", kinds[i].name, unused, limit, served);
        kinds[i].release(of);
        counted_all_back(&c);
      }
}

static void a_limit_of_sizes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (int which = 0; which < 3; which++)
      for (size_t most = 4 * KIB; most <= 4 * MIB; most += most / (is_brief() ? 1 : 3) / 4096 * 4096 + 4096) {
        counted c;
        toft_source *source = counted_init(&c);
        c.size_max = most;
        void *of = kinds[i].create(source);
        if (of == NULL) continue;
        size_t n = sequence(which, 3 * MIB), served = rounds(&kinds[i], of, &c, n);
        if (which == 0 && most >= least_limit(&kinds[i])) assert_int_equal(served, n); /* all fits in small blocks */
        kinds[i].release(of);
        counted_all_back(&c);
      }
}

/* An object that is empty when its source refuses is tried again without the requests that were refused. */
static void once_and_from_then_on(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (int which = 0; which < 3; which++)
      for (int once = 0; once < 2; once++)
        for (size_t k = 2; k < (is_brief() ? 6 : 20); k++) {
          if (is(&kinds[i], "leases") && !once) continue; /* what the cache does not keep is returned to the source */
          counted c;
          toft_source *source = counted_init(&c);
          *(once ? &c.fail_at : &c.fail_from) = k;
          void *of = kinds[i].create(source);
          if (of == NULL) continue;
          (void)rounds(&kinds[i], of, &c, sequence(which, 3 * MIB));
          kinds[i].release(of);
          counted_all_back(&c);
        }
}

/* The refusal comes in a later round, in an object that keeps memory from the rounds before. */
static void after_rounds_of_other_sizes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (size_t limit = 1 * MIB; limit <= 4 * MIB; limit += 300 * KIB)
      for (size_t part = 8; part <= 10; part++) {
        counted c;
        toft_source *source = counted_init(&c);
        c.limit = limit;
        void *of = kinds[i].create(source);
        assert_non_null(of);
        for (int round = 0; round < 12; round++) { /* below the limit, by small requests and by large ones in turn */
          size_t n = sequence(round % 2, limit * part / (is_recycler(&kinds[i]) ? 32 : 16));
          size_t served = serve(&kinds[i], of, n);
          if (served != n) fail_msg("%s: limit %zu, round %d: %zu of %zu", kinds[i].name, limit, round, served, n);
          kinds[i].empty(of, at, sizes, served);
        }
        if (is(&kinds[i], "local")) { /* its blocks are joined by a reset of the shared arena only */
          kinds[i].release(of);
          continue;
        }
        sizes[0] = limit / 2; /* one request of half the limit, when nothing is live */
        if (serve(&kinds[i], of, 1) != 1) fail_msg("%s: half of %zu bytes are not served", kinds[i].name, limit);
        kinds[i].empty(of, at, sizes, 1);
        kinds[i].release(of);
        counted_all_back(&c);
      }
}

/* ---- a request that no limit has room for ---- */

/* Returns how many requests are served up to the limit, after a refused one if `after` is set. */
static size_t room(void *of, const kind *it, int after) {
  size_t n = 0;
  assert_non_null(it->alloc(of, 20000));
  if (after) assert_null(it->alloc(of, 4 * MIB));
  while (it->alloc(of, 1000) != NULL) n++;
  it->release(of);
  return n;
}

static void a_refused_request_takes_no_room(void **state) {
  static unsigned char buffer[64 * KIB];
  size_t expected = room(toft_create_in(buffer, sizeof buffer, NULL), &kinds[0], 0);
  (void)state;
  assert_int_equal(room(toft_create_in(buffer, sizeof buffer, NULL), &kinds[0], 1), expected);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (size_t limit = 1 * MIB; limit < 3 * MIB; limit += 300 * KIB) {
      size_t served[2];
      for (int after = 0; after < 2; after++) {
        counted c;
        toft_source *source = counted_init(&c);
        c.limit = limit;
        served[after] = room(kinds[i].create(source), &kinds[i], after);
        counted_all_back(&c);
      }
      /* A recycler's block loses up to 32 KiB, by its address. */
      size_t least = is_recycler(&kinds[i]) ? served[0] - served[0] / 8 : served[0];
      if (served[1] < least) fail_msg("%s: limit %zu: %zu, not %zu", kinds[i].name, limit, served[1], served[0]);
    }
}

/* So a limit that is used up can be emptied. */
static void freeing_requests_no_memory(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (int which = 0; which < 3; which++) {
      counted c;
      void *of = kinds[i].create(counted_init(&c));
      for (int round = 0; round < ROUNDS; round++) {
        size_t n = serve(&kinds[i], of, sequence(which, 3 * MIB)), attempts = c.attempts;
        kinds[i].empty(of, at, sizes, n);
        if (is(&kinds[i], "arena")) toft_trim((toft_arena *)of, round == 0 ? 1 * MIB : 0);
        if (round == ROUNDS - 1) kinds[i].release(of);
        if (c.attempts != attempts) fail_msg("%s, sequence %d, round %d", kinds[i].name, which, round);
      }
      counted_all_back(&c);
    }
}

/* ---- arenas of one limit ---- */

#ifndef TOFT_OMIT_THREADS
static void tenants_do_not_starve_each_other(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (is_recycler(&kinds[i]) || is(&kinds[i], "local") || is(&kinds[i], "leases")) continue;
    counted c;
    toft_limited_source limited;
    toft_source *source = toft_limited_source_init(&limited, counted_init(&c), 16 * MIB);
    void *a = kinds[i].create(source), *b = kinds[i].create(source);
    for (int round = 0; round < 10; round++) {
      void *of = round % 2 == 0 ? a : b;
      size_t n = sequence(round % 3, round % 3 == 0 ? 4 * MIB : 12 * MIB);
      size_t served = serve(&kinds[i], of, n);
      if (served != n) fail_msg("%s: round %d: %zu of %zu requests are served", kinds[i].name, round, served, n);
      kinds[i].empty(of, at, sizes, served);
    }
    kinds[i].release(a);
    kinds[i].release(b);
    counted_all_back(&c);
  }
}
#endif

#ifndef TOFT_OMIT_METERS
enum { ONCE, FROM_THEN_ON, ABOVE_A_SIZE, ABOVE_A_SUM, BY_THE_BUDGET, CAUSES };

/* The source below the budgets counts too, and is never above the limit. Everything comes back. */
static void budgets_count_what_the_source_gives(void **state) {
  static const size_t some[] = {10, 3000, 70000, 24, 200000};
  (void)state;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (int cause = 0; cause < CAUSES; cause++)
      for (size_t n = 1; n < 8; n += is_brief() ? 3 : 1) {
        const kind *it = &kinds[i];
        counted source;
        size_t served = 0;
        toft_budget_options o = TOFT_BUDGET_OPTIONS;
        o.source = counted_init(&source);
        if (cause == ONCE) source.fail_at = n;
        if (cause == FROM_THEN_ON) source.fail_from = n;
        if (cause == ABOVE_A_SIZE) source.size_max = (size_t)4096 << n;
        if (cause == ABOVE_A_SUM) source.limit = n * 300000;
        if (cause == BY_THE_BUDGET) o.limit = n * 300000;
        toft_budget *root = toft_budget_create(&o);
        if (n % 2 == 0) assert_int_equal(toft_budget_limit_live(root, 1000000), TOFT_OK);
        toft_budget_options of_tenant = TOFT_BUDGET_OPTIONS;
        of_tenant.parent = root;
        toft_budget *tenant = toft_budget_create(&of_tenant);
        void *of = it->create(toft_budget_source(tenant));
        for (int round = 0; of != NULL && round < 3; round++) {
          for (served = 0; served < 200; served++) {
            sizes[served] = some[served % 5];
            if ((at[served] = it->alloc(of, sizes[served])) == NULL) break;
            assert_int_equal(toft_budget_get_stats(tenant).reserved, source.bytes);
          }
          assert_int_equal(toft_budget_get_stats(root).reserved, source.bytes);
          assert_true(source.peak <= o.limit && toft_budget_get_live_stats(root).peak <= 1000000);
          it->empty(of, at, sizes, served);
        }
        if (of != NULL) it->release(of);
        counted_all_back(&source);
        assert_int_equal(toft_budget_get_live_stats(root).live, 0);
        assert_int_equal(toft_budget_release(tenant), TOFT_OK); /* nothing is reserved */
        assert_int_equal(toft_budget_release(root), TOFT_OK);
      }
}

static uint64_t seen_live;
static size_t calls, seen_size;
static uint64_t lift(void *arg, toft_arena *a, uint64_t live, uint64_t budget, size_t size) {
  (void)a;
  calls++;
  seen_live = live;
  seen_size = size;
  assert_true(live + size <= budget); /* the budget is not the cause */
  ((counted *)arg)->limit += 2 * MIB;
  return budget;
}

static uint64_t refuse(void *arg, toft_arena *a, uint64_t live, uint64_t budget, size_t size) {
  (void)arg, (void)a, (void)live, (void)size;
  calls++;
  return budget;
}

static void the_callback_hears_of_the_source(void **state) {
  (void)state;
  counted c;
  toft_arena *a = arena_on(counted_init(&c));
  c.limit = 64 * KIB;
  assert_int_equal(toft_on_refusal(a, lift, &c), TOFT_OK);
  void *p = toft_alloc(a, 200000);
  assert_non_null(p);
  assert_int_equal(calls, 1);
  assert_int_equal(seen_live, 0);
  assert_int_equal(seen_size, 200000);
  assert_non_null(toft_resize(a, p, 200000, 2000000, 8));
  assert_int_equal(calls, 2);
  calls = 0;
  assert_int_equal(toft_on_refusal(a, refuse, &c), TOFT_OK);
  assert_null(toft_alloc(a, 3 * MIB));
  assert_int_equal(calls, 1);
  assert_null(toft_alloc(a, SIZE_MAX / 2)); /* no source can have it */
  assert_null(a->ops->resize(a, p, 200000, 4 * MIB, 8, TOFT_STAY, 0));
  assert_int_equal(calls, 1);
  toft_release(a);
  counted_all_back(&c);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_limit_of_bytes),
      cmocka_unit_test(a_limit_of_sizes),
      cmocka_unit_test(once_and_from_then_on),
      cmocka_unit_test(after_rounds_of_other_sizes),
      cmocka_unit_test(a_refused_request_takes_no_room),
      cmocka_unit_test(freeing_requests_no_memory),
#ifndef TOFT_OMIT_THREADS
      cmocka_unit_test(tenants_do_not_starve_each_other),
#endif
#ifndef TOFT_OMIT_METERS
      cmocka_unit_test(budgets_count_what_the_source_gives),
      cmocka_unit_test(the_callback_hears_of_the_source),
#endif
  };
  return cmocka_run_group_tests_name("refusal", tests, NULL, NULL);
}
