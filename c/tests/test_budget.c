/* Budgets: bytes of each level, callbacks of refusals. test_budget_threads.c has threads.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "budgets.h"

/* ---- counts ---- */

static void every_object_counts_for_each_level(void **state) {
  (void)state;
  toft_budget *process = budget_of(NULL, SIZE_MAX), *tenant = budget_of(process, SIZE_MAX);
  toft_budget *request = budget_of(tenant, SIZE_MAX), *other = budget_of(process, SIZE_MAX);
  toft_arena *a = arena_of(request), *b = arena_of(tenant), *c = arena_of(other);
  assert_non_null(toft_alloc(a, 100000));
  assert_non_null(toft_alloc(b, 10));
  assert_non_null(toft_alloc(c, 3000000));
  uint64_t of_a = toft_get_stats(a).reserved, of_b = toft_get_stats(b).reserved, of_c = toft_get_stats(c).reserved;
  assert_int_equal(reserved(request), of_a);
  assert_int_equal(reserved(tenant), of_a + of_b);
  assert_int_equal(reserved(other), of_c);
  assert_int_equal(reserved(process), of_a + of_b + of_c);
  assert_int_equal(toft_budget_get_stats(process).children, 2);
  assert_ptr_equal(toft_budget_parent(request), tenant);
  toft_release(c);
  assert_int_equal(reserved(process), of_a + of_b);
  assert_int_equal(toft_budget_get_stats(process).peak, of_a + of_b + of_c);
  assert_int_equal(toft_budget_release(tenant), TOFT_EBUSY);
  toft_release(a);
  toft_release(b);
#ifndef TOFT_OMIT_RECYCLER
  toft_malloc m;
  toft_malloc_init(&m, toft_budget_source(request));
  void *p = toft_malloc_alloc(&m, 500000);
  assert_non_null(p);
  assert_true(reserved(tenant) >= 500000);
  toft_malloc_free(&m, p);
  toft_malloc_release(&m);
#endif
#ifndef TOFT_OMIT_THREADS
  toft_shared *s = toft_shared_create(toft_budget_source(request));
  assert_non_null(s);
  assert_non_null(toft_shared_alloc(s, 200000, 8));
  assert_true(reserved(tenant) >= 200000);
  toft_shared_release(s);
#endif
  assert_int_equal(toft_budget_release(process), TOFT_EBUSY); /* children */
  assert_int_equal(reserved(process), 0);
  assert_int_equal(toft_budget_release(request), TOFT_OK);
  assert_int_equal(toft_budget_release(tenant), TOFT_OK);
  assert_int_equal(toft_budget_release(other), TOFT_OK);
  assert_int_equal(toft_budget_release(process), TOFT_OK);
}

static int charge_less(void *arg, toft_budget *b, size_t size) {
  assert_int_equal(size, 401);
  return toft_budget_uncharge(b, *(const size_t *)arg) == TOFT_OK;
}

static void bytes_of_other_allocators_count(void **state) {
  (void)state;
  size_t less = 0;
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.limit = 1000;
  o.refused = charge_less;
  o.refused_arg = &less;
  toft_budget *root = toft_budget_create(&o);
  assert_int_equal(toft_budget_limit_live(root, 2000), TOFT_OK);
  toft_budget *b = budget_of(root, SIZE_MAX);
  assert_int_equal(toft_budget_charge(b, 0), TOFT_OK);
  assert_int_equal(toft_budget_charge(b, 500), TOFT_OK);
  assert_int_equal(toft_budget_charge(root, 100), TOFT_OK);
  assert_int_equal(reserved(b), 500);
  assert_int_equal(reserved(root), 600);
  assert_int_equal(toft_budget_get_live_stats(root).live, 600);
  assert_int_equal(toft_budget_charge(b, 401), TOFT_ENOMEM);
  assert_int_equal(toft_budget_get_stats(root).refusals, 2);
  less = 100;
  assert_int_equal(toft_budget_charge(b, 401), TOFT_OK);
  assert_int_equal(reserved(root), 901);
  assert_int_equal(toft_budget_uncharge(b, 902), TOFT_EARG);
  assert_int_equal(toft_budget_uncharge(root, 1), TOFT_EARG);
  assert_int_equal(reserved(root), 901);
  toft_budget_set_limit(root, SIZE_MAX);
  assert_int_equal(toft_budget_limit_live(root, 1301), TOFT_OK);
  less = 1;
  assert_int_equal(toft_budget_charge(b, 401), TOFT_ENOMEM);
  assert_int_equal(reserved(root), 901);
  assert_int_equal(toft_budget_get_live_stats(b).live, 901);
  assert_int_equal(toft_budget_charge(b, 400), TOFT_OK);
  assert_int_equal(toft_budget_release(b), TOFT_EBUSY);
  assert_int_equal(toft_budget_uncharge(b, 1301), TOFT_OK);
  assert_int_equal(toft_budget_uncharge(b, 1), TOFT_EARG);
  assert_int_equal(toft_budget_get_live_stats(root).live, 0);
  assert_int_equal(toft_budget_release(b), TOFT_OK);
  assert_int_equal(toft_budget_release(root), TOFT_OK);
}

static void a_block_that_grows_counts(void **state) {
  (void)state;
  toft_reserve_source range;
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.source = toft_reserve_source_init(&range, (size_t)8 << 20);
  o.limit = 1000000;
  toft_budget *root = toft_budget_create(&o), *b = budget_of(root, SIZE_MAX);
  toft_arena *a = arena_of(b);
  assert_non_null(toft_alloc(a, 500000));
  assert_true(reserved(root) >= 500000 && reserved(root) == reserved(b));
  assert_null(toft_alloc(a, 600000));
  assert_true(reserved(root) <= 1000000 && reserved(root) == reserved(b));
  toft_reset(a);
  toft_trim(a, 0);
  assert_true(reserved(b) < 100000);
  toft_release(a);
  assert_int_equal(reserved(root), 0);
  assert_int_equal(toft_budget_release(b), TOFT_OK);
  assert_int_equal(toft_budget_release(root), TOFT_OK);
  toft_reserve_source_release(&range);
}

/* ---- refusals ---- */

static void a_refusal_calls_back_once(void **state) {
  (void)state;
  caller c = {NULL, NULL, 0, 0, 0};
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.limit = 256 << 10;
  o.refused = on_refused;
  o.refused_arg = &c;
  toft_budget *tenant = toft_budget_create(&o), *request = budget_of(tenant, SIZE_MAX);
  toft_arena *a = arena_of(request), *b = arena_of(request);
  assert_non_null(toft_alloc(b, 100000));
  size_t served = 0;
  while (toft_alloc(a, 64) != NULL) served++;
  assert_int_equal(c.calls, 1); /* not for the blocks that were larger than needed */
  assert_ptr_equal(c.refusing, tenant);
  assert_true(served > 300); /* a checked arena needs more for each */
  assert_null(toft_alloc(a, 64));
  assert_int_equal(c.calls, 2);
  c.frees = b; /* frees 100,000 bytes, and answers that memory may be free */
  c.answer = 1;
  assert_non_null(toft_alloc(a, 64));
  assert_int_equal(c.calls, 3);
  assert_null(toft_alloc(a, 300000)); /* above the limit at any time: tried again once */
  assert_int_equal(c.calls, 4);
  assert_true(c.size >= 300000);
  assert_true(reserved(tenant) <= 256 << 10);
  assert_true(toft_budget_get_stats(tenant).refusals > 0);
  assert_int_equal(toft_budget_get_stats(request).refusals, 0);
  toft_release(a);
#ifndef TOFT_OMIT_RECYCLER
  toft_malloc m;
  toft_malloc_init(&m, toft_budget_source(request));
  c.calls = 0;
  c.frees = arena_of(request);
  assert_non_null(toft_alloc(c.frees, 200000));
  void *p = toft_malloc_alloc(&m, 100000);
  assert_non_null(p);
  assert_int_equal(c.calls, 1);
  toft_malloc_release(&m);
#endif
  c.frees = arena_of(request); /* creations call back too */
  toft_budget_set_limit(tenant, 4096);
  a = arena_of(request);
  assert_non_null(a);
  toft_release(a);
  assert_int_equal(toft_budget_release(request), TOFT_OK);
  assert_int_equal(toft_budget_release(tenant), TOFT_OK);
}

/* A callback that uses its own budget and those below it, and another budget whose callback uses its budget. */
typedef struct nested {
  toft_budget *budgets[3]; /* used by it: its own, a child, another */
  int depth, depth_max, calls, refused;
} nested;

static int use_budgets(void *arg, toft_budget *b, size_t size) {
  nested *n = (nested *)arg;
  (void)b, (void)size;
  n->calls++;
  n->depth++;
  if (n->depth > n->depth_max) n->depth_max = n->depth;
  assert_true(n->depth < 10);
  for (int i = 0; i < 3; i++) {
    if (n->budgets[i] == NULL) continue;
    toft_arena *a = arena_of(n->budgets[i]);
    n->refused += a == NULL || toft_alloc(a, 100000) == NULL;
    toft_release(a);
    n->refused += toft_budget_charge(n->budgets[i], 100000) != TOFT_OK;
#ifndef TOFT_OMIT_THREADS
    toft_shared *s = toft_shared_create(toft_budget_source(n->budgets[i]));
    n->refused += s == NULL || toft_shared_alloc(s, 100000, 8) == NULL;
    toft_shared_release(s);
#endif
  }
  n->depth--;
  return 0;
}

static void a_callback_is_not_called_while_it_runs(void **state) {
  (void)state;
  for (int live = 0; live < 2; live++) { /* limits of blocks, and of live bytes */
    nested of_one = {{NULL}, 0, 0, 0, 0}, of_other = of_one;
    toft_budget_options o = TOFT_BUDGET_OPTIONS;
    o.limit = live ? SIZE_MAX : 50000;
    o.refused = use_budgets;
    o.refused_arg = &of_one;
    toft_budget *one = toft_budget_create(&o);
    o.refused_arg = &of_other;
    toft_budget *other = toft_budget_create(&o);
    if (live) assert_int_equal(toft_budget_limit_live(one, 50000) | toft_budget_limit_live(other, 50000), TOFT_OK);
    toft_budget *child = budget_of(one, SIZE_MAX);
    of_one.budgets[0] = one;
    of_one.budgets[1] = child;
    toft_arena *a = arena_of(child);
    assert_null(toft_alloc(a, 60000));
    assert_int_equal(of_one.calls, 1);
    int uses = of_one.refused / 2;
    assert_int_equal(of_one.refused, 2 * uses); /* each of both budgets refuses each use */
    of_one.budgets[2] = other;                  /* whose callback uses the first budget in turn */
    of_other.budgets[0] = one;
    of_other.budgets[1] = other;
    assert_int_equal(toft_budget_charge(one, 60000), TOFT_ENOMEM);
    assert_int_equal(of_one.depth_max, 1);
    assert_int_equal(of_other.depth_max, 1);
    assert_int_equal(of_one.calls, 2);
    assert_int_equal(of_other.calls, uses);
    assert_null(toft_alloc(a, 60000)); /* called as before once it has returned */
    assert_int_equal(of_one.calls, 3);
    toft_release(a);
    assert_int_equal(toft_budget_release(child), TOFT_OK);
    assert_int_equal(toft_budget_release(one), TOFT_OK);
    assert_int_equal(toft_budget_release(other), TOFT_OK);
  }
}

/* The source of the root refuses: no limit is the cause. */
static void a_refusal_of_the_source_calls_nothing(void **state) {
  (void)state;
  counted source;
  caller c = {NULL, NULL, 0, 0, 1};
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.source = counted_init(&source);
  o.refused = on_refused;
  o.refused_arg = &c;
  toft_budget *b = toft_budget_create(&o);
  for (size_t k = 1; k < 6; k++) {
    source.attempts = 0;
    source.fail_from = k;
    toft_arena *a = arena_of(b);
    if (a != NULL) {
      while (toft_alloc(a, 50000) != NULL) continue;
      assert_int_equal(reserved(b), source.bytes);
      toft_release(a);
    }
    assert_int_equal(reserved(b), 0);
  }
  source.attempts = source.fail_from = 0;
  source.fail_at = 1; /* no limit refuses: tried again, as if another thread had returned enough */
  toft_arena *a = arena_of(b);
  assert_non_null(a);
  toft_release(a);
  assert_int_equal(c.calls, 0);
  assert_int_equal(toft_budget_release(b), TOFT_OK);
  counted_all_back(&source);
}

/* Arenas by turns, after rounds of other sizes: at the refusal at most 1 % of the limit is held by no arena. */
static void nothing_is_stranded_at_a_refusal(void **state) {
  (void)state;
  for (int n = 1; n <= 64; n *= 4) {
    toft_budget *b = budget_of(NULL, (size_t)4 << 20);
    toft_arena *arenas[64];
    for (int i = 0; i < n; i++) arenas[i] = arena_of(b);
    for (int i = 0; i < 4 * n; i++) {
      const void *large = toft_alloc(arenas[i % n], (size_t)20000 << i % 5), *small = toft_alloc(arenas[i % n], 100);
      assert_true(large != NULL && small != NULL);
      toft_reset(arenas[i % n]);
    }
    int i = 0;
    while (toft_alloc(arenas[i % n], 64) != NULL) i++;
    assert_true(reserved(b) <= (size_t)4 << 20 && reserved(b) >= ((size_t)4 << 20) / 100 * 99);
    for (i = 0; i < n; i++) toft_release(arenas[i]);
    assert_int_equal(toft_budget_release(b), TOFT_OK);
  }
}

#ifndef TOFT_OMIT_RECYCLER
/* Objects of several sizes in random order, as many as the budget allows, all of which are freed. */
static size_t fill_and_free(toft_malloc *m, size_t scale) {
  enum { COUNT = 40000 };
  void **all = (void **)malloc(COUNT * sizeof *all);
  size_t count = 0, bytes = 0;
  uint32_t random = 1;
  assert_non_null(all);
  for (void *p; count < COUNT; all[count++] = p) {
    random = random * 1664525 + 1013904223;
    size_t size = 8 + (random >> 8) % scale;
    if ((p = toft_malloc_alloc(m, size)) == NULL) break;
    bytes += size;
  }
  for (size_t i = 0; i < count; i++) {
    size_t k = i + (random = random * 1664525 + 1013904223) % (count - i);
    toft_malloc_free(m, all[k]);
    all[k] = all[i];
  }
  free(all);
  return bytes;
}

/* Memory that was freed in a recycler is there for other objects on the budget, without a call of the recycler. */
static void a_recycler_keeps_no_empty_blocks(void **state) {
  (void)state;
  toft_budget *process = budget_of(NULL, (size_t)32 << 20);
  for (size_t scale = 100; scale <= 40000; scale *= 20) {
    toft_budget *one = budget_of(process, SIZE_MAX), *two = budget_of(process, SIZE_MAX);
    toft_malloc m;
    toft_malloc_init(&m, toft_budget_source(one));
    for (int round = 0; round < 2; round++) {
      size_t used = fill_and_free(&m, scale);
      assert_true(used > (size_t)1 << 20);
      assert_true(toft_budget_get_stats(one).peak >= used);
      assert_true(reserved(one) < ((size_t)1 << 20) + used / 8);
    }
    toft_arena *a = arena_of(two);
    assert_non_null(toft_alloc(a, (size_t)24 << 20));
    void *p = toft_malloc_alloc(&m, 100);
    assert_non_null(p);
    toft_malloc_free(&m, p);
    toft_malloc_release(&m);
    toft_release(a);
    assert_int_equal(toft_budget_release(one), TOFT_OK);
    assert_int_equal(toft_budget_release(two), TOFT_OK);
  }
  assert_int_equal(toft_budget_release(process), TOFT_OK);
}
#endif

/* Two arenas that use most of a limit by turns: neither keeps what the other needs. */
static void a_steady_load_is_never_refused(void **state) {
  (void)state;
  toft_budget *b = budget_of(NULL, (size_t)1 << 20);
  toft_arena *arenas[] = {arena_of(b), arena_of(b)};
  for (int round = 0; round < 100; round++) {
    toft_arena *a = arenas[round % 2];
    size_t size = (size_t)(round % 3 == 0 ? 40 : 30000);
    for (size_t done = 0; done + size <= 490000; done += size) assert_non_null(toft_alloc(a, size));
    toft_reset(a);
  }
  assert_true(reserved(b) <= 2 * 4096 + ((size_t)1 << 20) / 100);
  for (int i = 0; i < 2; i++) toft_release(arenas[i]);
  assert_int_equal(toft_budget_release(b), TOFT_OK);
}

/* ---- input ---- */

static void bad_input(void **state) {
  (void)state;
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.size--;
  assert_null(toft_budget_create(&o));
  o.size++;
  o.name = "a name of a budget of 32 bytes...";
  assert_null(toft_budget_create(&o));
  o.name = "a name of a budget of 31 bytes.";
  toft_budget *b = toft_budget_create(&o), *defaults = toft_budget_create(NULL);
  assert_string_equal(toft_budget_name(b), o.name);
  assert_string_equal(toft_budget_name(defaults), "");
  o.parent = b;
  o.source = toft_heap();
  assert_null(toft_budget_create(&o));
  assert_int_equal(toft_budget_get_stats(b).children, 0);
  assert_int_equal(toft_budget_get_stats(b).available, SIZE_MAX);
  toft_budget_set_limit(b, 0);
  assert_null(arena_of(b));
  toft_budget_set_limit(b, 10000);
  toft_arena *a = arena_of(b);
  assert_non_null(a);
  toft_budget_set_limit(b, 100); /* below the reserved bytes */
  assert_int_equal(toft_budget_get_stats(b).available, 0);
  assert_null(toft_alloc(a, 8000));
  assert_non_null(toft_alloc(a, 100)); /* in the block that it has */
  toft_release(a);
  assert_int_equal(toft_budget_release(NULL), TOFT_OK);
  assert_int_equal(toft_budget_release(b), TOFT_OK);
  assert_int_equal(toft_budget_release(defaults), TOFT_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_object_counts_for_each_level),
      cmocka_unit_test(bytes_of_other_allocators_count),
      cmocka_unit_test(a_block_that_grows_counts),
      cmocka_unit_test(a_refusal_calls_back_once),
      cmocka_unit_test(a_callback_is_not_called_while_it_runs),
      cmocka_unit_test(a_refusal_of_the_source_calls_nothing),
      cmocka_unit_test(nothing_is_stranded_at_a_refusal),
#ifndef TOFT_OMIT_RECYCLER
      cmocka_unit_test(a_recycler_keeps_no_empty_blocks),
#endif
      cmocka_unit_test(a_steady_load_is_never_refused),
      cmocka_unit_test(bad_input),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
