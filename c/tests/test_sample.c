/* Sampling: the bytes of call paths are estimated within 5 %, with their names, without bias.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>

#include "support.h"

#if defined(__GNUC__)
#define NOT_INLINED __attribute__((noinline, noclone))
#if defined(__clang__)
#undef NOT_INLINED
#define NOT_INLINED __attribute__((noinline))
#endif
#else
#define NOT_INLINED
#endif

/* Whole stacks need the system's unwind tables, and names its dynamic linker. */
#if defined(__GLIBC__) && !defined(TOFT_NO_UNWIND)
#define WHOLE_STACKS 1
#else
#define WHOLE_STACKS 0
#endif

static toft_arena *a;
static volatile int sink;

/* One function allocates, three call it: only the rest of the stack distinguishes them. Exported, so that the dynamic
 * linker has their names. */
void *sample_take(size_t size);
void sample_parse(size_t size);
void sample_render(size_t size);

NOT_INLINED void *sample_take(size_t size) {
  char *p = (char *)toft_alloc(a, size);
  if (p != NULL) p[0] = 1;
  sink++; /* nothing here is a call at its function's end, which would leave no frame */
  return p;
}

NOT_INLINED void sample_parse(size_t size) {
  (void)sample_take(size);
  sink++;
}

NOT_INLINED void sample_render(size_t size) {
  (void)sample_take(size);
  sink++;
}

/* Not exported: only symbol tables contain it. */
static NOT_INLINED void sample_hidden(size_t size) {
  (void)sample_take(size);
  sink++;
}

enum { PARSE, RENDER, HIDDEN, PATHS };
static void (*const functions[PATHS])(size_t) = {sample_parse, sample_render, sample_hidden};

/* The path of a return address: the function with the nearest start before it. */
static int path_of(const void *address) {
  uintptr_t at = (uintptr_t)address, nearest = 0;
  int path = -1;
  for (int i = 0; i < PATHS; i++) {
    uintptr_t begin = (uintptr_t)functions[i] & ~(uintptr_t)1;
    if (begin < at && at - begin < 256 && begin > nearest) nearest = begin, path = i;
  }
  return path;
}

static int in_take(const void *address) {
  uintptr_t at = (uintptr_t)address, begin = (uintptr_t)sample_take & ~(uintptr_t)1;
  return at > begin && at - begin < 512;
}

typedef struct estimate {
  double count[PATHS], bytes[PATHS], all_count, all_bytes;
  int names_right, names_wrong;
} estimate;

static int add_site(void *arg, const toft_site_report *s) {
  estimate *e = (estimate *)arg;
  assert_true(s->depth >= 1 && in_take(s->stack[0]));
  e->all_count += (double)s->count;
  e->all_bytes += (double)s->bytes;
  if (s->depth < 2) return 0;
  int path = path_of(s->stack[1]);
  if (path < 0) return 0;
  e->count[path] += (double)s->count;
  e->bytes[path] += (double)s->bytes;
  toft_symbol symbol;
  if (path != HIDDEN && toft_symbolize(NULL, s->stack[1], &symbol) && symbol.function != NULL) {
    int right = strcmp(symbol.function, path == PARSE ? "sample_parse" : "sample_render") == 0 && symbol.offset != 0;
    e->names_right += right;
    e->names_wrong += !right;
  }
  return 0;
}

static void near(double reported, double real) {
  if (reported < 0.95 * real || reported > 1.05 * real) fail_msg("%.0f reported, %.0f real", reported, real);
}

/* Half of the bytes by parse, in pieces of 16 to 256; 30 % by render, in pieces of 8; 20 % by hidden, in pieces of 40
 * and of 20,000, which are larger than the period. */
static void make(double *counts, double *bytes) {
  uint32_t random = 11;
  for (int i = 0; i < PATHS; i++) counts[i] = bytes[i] = 0;
  size_t budget[PATHS] = {40000000, 24000000, 16000000};
  for (unsigned n = 0; budget[PARSE] + budget[RENDER] + budget[HIDDEN] != 0; n++) {
    int path = (int)(next_random(&random) % PATHS);
    size_t size = path == PARSE ? 16 + next_random(&random) % 31 * 8 : path == RENDER ? 8 : n % 512 == 0 ? 20000 : 40;
    if (size > budget[path]) size = budget[path];
    if (size == 0) continue;
    functions[path](size);
    counts[path]++;
    bytes[path] += (double)size;
    budget[path] -= size;
    if (toft_get_stats(a).live > 3000000) assert_int_equal(toft_reset(a), TOFT_OK);
  }
}

static void three_paths_are_distinguished(void **state) {
  (void)state;
  estimate e;
  double counts[PATHS], bytes[PATHS];
  memset(&e, 0, sizeof e);
  a = toft_create();
  assert_non_null(a);
  assert_int_equal(toft_set_sampling(a, 4096), TOFT_OK);
  assert_int_equal(toft_set_sampling_seed(a, 1), TOFT_OK);
  make(counts, bytes);
  assert_int_equal(toft_sites(a, add_site, &e), 0);
  near(e.all_bytes, bytes[PARSE] + bytes[RENDER] + bytes[HIDDEN]);
  near(e.all_count, counts[PARSE] + counts[RENDER] + counts[HIDDEN]);
  for (int i = 0; i < PATHS && WHOLE_STACKS; i++) {
    near(e.bytes[i], bytes[i]);
    near(e.count[i], counts[i]);
  }
  assert_int_equal(e.names_wrong, 0);
  if (WHOLE_STACKS) assert_true(e.names_right >= 2);
  toft_release(a);
}

/* The functions that samples name, in a snapshot's text. */
static void names_in_a_snapshot(void **state) {
  (void)state;
  static char text[200000];
  toft_snapshot_options o = TOFT_SNAPSHOT_OPTIONS;
  a = toft_create();
  assert_int_equal(toft_set_sampling(a, 64), TOFT_OK);
  for (int i = 0; i < 100; i++)
    for (int path = 0; path < PATHS; path++) functions[path](64);
  assert_true(toft_snapshot_text(a, &o, text, sizeof text) < sizeof text);
  if (WHOLE_STACKS)
    assert_true(strstr(text, "\"function\":\"sample_parse\"") && strstr(text, "\"function\":\"sample_render\""));
  assert_null(strstr(text, "sample_hidden"));
  o.flags = TOFT_SNAPSHOT_DWARF; /* by libdw, if there is one for this processor */
  assert_true(toft_snapshot_text(a, &o, text, sizeof text) < sizeof text);
  int dwarf = strstr(text, "\"function\":\"sample_hidden\"") != NULL;
  if (!dwarf) print_message("no libdw: names of static functions were not looked at\n");
  if (getenv("TOFT_LIBDW") != NULL) assert_true(dwarf);
  o.flags = TOFT_SNAPSHOT_ADDRESSES;
  assert_true(toft_snapshot_text(a, &o, text, sizeof text) < sizeof text);
  assert_true(strstr(text, "\"address\":\"0x") && !strstr(text, "\"function\""));
  toft_release(a);
}

/* Short arenas one after the other at the same address: each begins anew, and together they are as one. */
static void short_arenas_are_sampled_as_often(void **state) {
  (void)state;
  estimate e;
  unsigned arenas = 12000;
  memset(&e, 0, sizeof e);
  for (unsigned i = 0; i < arenas; i++) {
    a = toft_create();
    assert_int_equal(toft_set_sampling(a, 2000), TOFT_OK);
    if (i % 2) assert_int_equal(toft_set_sampling_seed(a, i), TOFT_OK);
    for (int k = 0; k < 10; k++) (void)sample_take(64);
    assert_int_equal(toft_sites(a, add_site, &e), 0);
    toft_release(a);
  }
  /* 3840 samples are expected: one that is half a dozen deviations off is a fault. */
  assert_true(e.all_bytes > 0.9 * 640 * arenas && e.all_bytes < 1.1 * 640 * arenas);
}

/* Where distances are a few bytes they are rounded up and down alike. */
static void short_periods_are_no_higher(void **state) {
  (void)state;
  for (uint64_t period = 1; period <= 8; period *= 2) {
    estimate e;
    memset(&e, 0, sizeof e);
    a = toft_create();
    assert_int_equal(toft_set_sampling(a, period), TOFT_OK);
    assert_int_equal(toft_set_sampling_seed(a, period), TOFT_OK);
    for (int k = 0; k < 20000; k++) {
      (void)sample_take(64);
      if (k % 1000 == 0) assert_int_equal(toft_reset(a), TOFT_OK);
    }
    assert_int_equal(toft_sites(a, add_site, &e), 0);
    /* 160,000 samples and more: five deviations are 1.3 %. */
    assert_true(e.all_bytes > 0.987 * 64 * 20000 && e.all_bytes < 1.013 * 64 * 20000);
    toft_release(a);
  }
}

/* Resizes, ranges and sites of other languages are sampled too. */
static int count_site(void *arg, const toft_site_report *s) {
  double *sums = (double *)arg;
  sums[s->site == 77 ? 1 : 0] += (double)s->bytes;
  if (strcmp(s->tag, "tagged") == 0) sums[2] += (double)s->bytes;
  return 0;
}

static void every_allocating_call_is_sampled(void **state) {
  (void)state;
  double sums[3] = {0, 0, 0};
  a = toft_create();
  assert_int_equal(toft_set_metered(a, 1), TOFT_OK);
  assert_int_equal(toft_set_sampling(a, 256), TOFT_OK);
  assert_int_equal(toft_set_sampling_seed(a, 3), TOFT_OK);
  uint64_t allocated = toft_get_stats(a).allocated;
  for (int i = 0; i < 1500; i++) {
    toft_range r;
    assert_int_equal(toft_claim(a, &r), TOFT_OK);
    for (int k = 0; k < 20; k++) assert_non_null(toft_range_alloc(a, &r, 24));
    assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
    void *p = toft_alloc(a, 40);
    p = toft_resize(a, p, 40, 440, 8);
    assert_true(p != NULL && toft_alloc(a, 8) != NULL);
    p = toft_resize(a, p, 440, 840, 8); /* moves */
    assert_non_null(p);
    if (i % 50 == 0) assert_int_equal(toft_reset(a), TOFT_OK);
  }
  double real = (double)(toft_get_stats(a).allocated - allocated);
  assert_int_equal(toft_sites(a, count_site, sums), 0);
  near(sums[0], real);
  assert_int_equal(toft_clear_report(a), TOFT_OK);
  sums[0] = 0;
  assert_int_equal(toft_sites(a, count_site, sums), 0);
  assert_true(sums[0] == 0);
  assert_int_equal(toft_tag_push(a, "tagged"), TOFT_OK);
  for (int i = 0; i < 20000; i++) assert_non_null(a->ops->alloc(a, 64, 8, 0, 77));
  assert_int_equal(toft_sites(a, count_site, sums), 0);
  near(sums[1], 20000.0 * 64);
  near(sums[2], 20000.0 * 64);
  toft_release(a);
}

static size_t unwound;
static size_t short_unwinder(void *arg, void **stack, size_t most) {
  assert_true(arg == &unwound && most >= 16);
  assert_null(toft_alloc(a, 8)); /* a callback */
  unwound++;
  stack[0] = arg;
  return 1;
}

/* An unwinder whose stack lacks the call: the call alone is recorded. */
static void a_custom_unwinder(void **state) {
  (void)state;
  estimate e;
  memset(&e, 0, sizeof e);
  a = toft_create();
  assert_int_equal(toft_set_sampling(a, 64), TOFT_OK);
  assert_int_equal(toft_set_unwinder(a, short_unwinder, &unwound), TOFT_OK);
  for (int i = 0; i < 1000; i++) (void)sample_take(64);
  assert_int_equal(toft_sites(a, add_site, &e), 0);
  assert_true(unwound > 300 && e.all_count > 500);
  toft_release(a);
}

/* The inline path stays: the limit is where the next sample is due, and of a thousand allocations few are calls. */
static void most_allocations_are_inline(void **state) {
  (void)state;
  a = toft_create();
  assert_int_equal(toft_set_sampling(a, 1 << 20), TOFT_OK);
  assert_int_equal(toft_set_sampling_seed(a, 1), TOFT_OK);
  int calls = 0;
  for (int i = 0; i < 100000; i++) {
    calls += a->limit - a->cursor < 64;
    (void)sample_take(64);
  }
  assert_true(calls >= 6 && calls < 100);
  assert_int_equal(toft_set_sampling(a, 0), TOFT_OK);
  assert_false(a->epoch & 1);
  toft_release(a);
}

/* A period that no program lives to see the end of. */
static void the_longest_period(void **state) {
  (void)state;
  a = toft_create();
  assert_int_equal(toft_set_sampling(a, UINT64_MAX), TOFT_OK);
  for (uint64_t seed = 0; seed < 100; seed++) {
    estimate e;
    memset(&e, 0, sizeof e);
    assert_int_equal(toft_set_sampling_seed(a, seed), TOFT_OK);
    for (int i = 0; i < 100; i++) (void)sample_take(1000);
    assert_int_equal(toft_sites(a, add_site, &e), 0);
    assert_true(e.all_count == 0);
  }
  toft_release(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(three_paths_are_distinguished),
      cmocka_unit_test(names_in_a_snapshot),
      cmocka_unit_test(short_arenas_are_sampled_as_often),
      cmocka_unit_test(every_allocating_call_is_sampled),
      cmocka_unit_test(a_custom_unwinder),
      cmocka_unit_test(most_allocations_are_inline),
      cmocka_unit_test(short_periods_are_no_higher),
      cmocka_unit_test(the_longest_period),
  };
  return cmocka_run_group_tests_name("sampling", tests, NULL, NULL);
}
