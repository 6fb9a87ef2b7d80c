/* The meters' own memory runs out at the 1st, 2nd, ... k-th time, until a run passes untouched. Whatever could not be
 * noted was refused, and the numbers stay true. The library is compiled into this unit, with an allocator that fails.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdlib.h>

static size_t attempts, fail_at, fail_from; /* counted from 1; 0: none */
static void (*looking)(void);               /* in the midst of a call */

static int fails(void) {
  attempts++;
  if (looking != NULL) looking();
  return attempts == fail_at || (fail_from != 0 && attempts >= fail_from);
}
static void *failing_malloc(size_t n) { return fails() ? NULL : malloc(n); }
static void *failing_calloc(size_t n, size_t m) { return fails() ? NULL : calloc(n, m); }
static void *failing_realloc(void *p, size_t n) { return fails() ? NULL : realloc(p, n); }

#define TOFT_STATIC
#define malloc failing_malloc
#define calloc failing_calloc
#define realloc failing_realloc
#include "toft.c"
#undef malloc
#undef calloc
#undef realloc

#include "support.h"

static toft_arena *a;
static uint64_t expected[4]; /* by tag: none, x, x/y, z */
static const char *const names[4] = {"", "x", "x/y", "z"};

static int compare_tag(void *arg, const toft_tag_report *t) {
  for (int i = 0; i < 4; i++)
    if (strcmp(t->name, names[i]) == 0) {
      assert_int_equal(t->live, expected[i]);
      ++*(int *)arg;
    }
  return 0;
}

/* A switch that fails changes nothing. */
static int refused(int code, uintptr_t epoch) {
  if (code == TOFT_OK) return 0;
  assert_int_equal(code, TOFT_ENOMEM);
  assert_true(a->epoch == epoch);
  return 1;
}

static size_t scenario(void) {
  size_t refusals = 0;
  int seen = 0;
  memset(expected, 0, sizeof expected);
  uintptr_t epoch = a->epoch;
  refusals += (size_t)refused(toft_set_tag(a, 3, "z"), epoch);
  if (refusals != 0) assert_false(a->epoch & 1);
  if (a->epoch & 1) assert_int_equal(toft_set_tag(a, 0, NULL), TOFT_OK); /* needs no memory: it is the first tag */
  epoch = a->epoch;
  void *early = toft_alloc(a, 700000);
  if (early != NULL) expected[0] += 700000;
  epoch = a->epoch;
  if (toft_set_metered(a, 1) != TOFT_OK) return refusals + 1;
  epoch = a->epoch;
  refusals += (size_t)refused(toft_set_tag_budget(a, "x/y", 3000000), epoch);
  epoch = a->epoch;
  refusals += (size_t)refused(toft_set_sampling(a, 512), epoch);
  for (int round = 0; round < 40; round++) {
    int x = toft_tag_push(a, "x") == TOFT_OK, y = toft_tag_push(a, "y") == TOFT_OK;
    assert_true(x || !y); /* without its outer tag's it has no path */
    refusals += (size_t)(!x + !y);
    int tag = y ? 2 : x ? 1 : 0;
    if (toft_alloc(a, 40) != NULL) expected[tag] += 40;
    uintptr_t before = a->epoch;
    unsigned char *cursor = a->cursor;
    uint64_t blocks = toft_get_stats(a).blocks;
    if (toft_alloc(a, 300000) != NULL) {
      expected[tag] += 300000;
    } else { /* its block was not taken, or went back */
      refusals++;
      assert_true(a->cursor == cursor && a->epoch == before && toft_get_stats(a).blocks == blocks);
    }
    toft_tag_pop(a);
    if (toft_alloc(a, 16) != NULL) expected[x] += 16;
    toft_tag_pop(a);
    int z = toft_tag_push(a, "z") == TOFT_OK;
    refusals += (size_t)!z;
    if (toft_alloc(a, 24) != NULL) expected[z ? 3 : 0] += 24;
    toft_tag_pop(a);
    toft_phase p = toft_phase_begin(a, round % 2 ? "odd" : "even");
    toft_phase_end(a, &p);
    toft_arena *donor = toft_create();
    assert_non_null(donor);
    (void)!toft_alloc(donor, 64);
    if (toft_adopt(a, donor) == TOFT_OK)
      expected[0] += 64;
    else
      toft_release(donor);
    seen = 0;
    assert_int_equal(toft_tags(a, compare_tag, &seen), 0);
    assert_true(seen >= 1);
    assert_int_equal(expected[0] + expected[1] + expected[2] + expected[3], toft_get_stats(a).live);
    if (round == 20) {
      assert_int_equal(toft_reset(a), TOFT_OK);
      memset(expected, 0, sizeof expected);
    }
  }
  char text[100];
  assert_true(toft_snapshot_text(a, NULL, text, sizeof text) > 0);
  return refusals;
}

static void run(int from_then_on) {
  size_t k = 1;
  do {
    counted c;
    fail_at = fail_from = 0;
    a = arena_on(counted_init(&c));
    attempts = 0;
    fail_at = from_then_on ? 0 : k;
    fail_from = from_then_on ? k : 0;
    size_t refusals = scenario();
    assert_true(attempts < k || refusals != 0 || k > 10); /* a phase or site without memory is no failure */
    toft_release(a);
    counted_all_back(&c);
    k++;
  } while (attempts + 1 >= k);
  assert_true(k > 20);
}

static void each_time_once(void **state) {
  (void)state;
  run(0);
}

static void each_time_and_all_after_it(void **state) {
  (void)state;
  run(1);
}

static size_t looks, open_looks;
static void probe_allocations(void) {
  looks++;
  open_looks += a->cursor != a->limit;
}

/* Another thread's inline path must find none, or it is served where its call would be refused. */
static void a_checked_arena_stays_sealed_in_a_call(void **state) {
  (void)state;
  fail_at = fail_from = 0;
  a = toft_create();
  assert_int_equal(toft_set_checked(a, 1), TOFT_OK);
  looking = probe_allocations;
  for (size_t i = 0; i < 60; i++)
    assert_non_null(toft_alloc(a, 16)); /* within the initial block: recorded after the allocation */
  looking = NULL;
  assert_true(looks >= 4);
  assert_int_equal(open_looks, 0);
  toft_release(a);
}

static void none_found(void *arg, const toft_finding *f) {
  (void)arg;
  fail_msg("%s", f->message);
}

/* An allocation that a checked arena could not record causes no finding. */
static void no_false_findings_without_memory(void **state) {
  (void)state;
  size_t served = 0;
  for (size_t k = 1; k < 12; k++) {
    fail_at = fail_from = 0;
    a = toft_create();
    assert_int_equal(toft_set_checked(a, 1), TOFT_OK);
    attempts = 0;
    fail_at = k;
    void *p = toft_alloc(a, 16);
    fail_at = 0;
    if (p != NULL) {
      served++;
      p = toft_resize(a, p, 16, 100, 8);
      assert_non_null(p);
      toft_free(a, p, 100);
    }
    assert_int_equal(toft_findings(a, none_found, NULL), 0);
    toft_release(a);
  }
  assert_true(served >= 9);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_false_findings_without_memory),
      cmocka_unit_test(a_checked_arena_stays_sealed_in_a_call),
      cmocka_unit_test(each_time_once),
      cmocka_unit_test(each_time_and_all_after_it),
  };
  return cmocka_run_group_tests_name("meters without memory", tests, NULL, NULL);
}
