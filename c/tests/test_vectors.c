/* Plays abi/vectors on libtoft's arenas, each three times: by the inline functions, by ops alone, and by the inline
 * functions without statistics in between (slow calls, which could hide omissions of inline calls).
 *
 *     test_vectors [a part of a name]        with TOFT_PLAIN defined it needs no cmocka, and ends at the first failure
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "toft.h"
#include "vector_player.h"

#ifndef TOFT_PLAIN
#include <cmocka.h>
#endif

#ifndef CREATE /* test_instrument_vectors.c has other arenas */
#define CREATE toft_create_with
#define BETWEEN NULL
#endif

/* ---- arenas of libtoft, on the player's source ---- */

static vector_source *real; /* one vector is played at a time */

static void *take(toft_source *self, size_t size) {
  (void)self;
  return real->take(real, size);
}

static void put(toft_source *self, void *block, size_t size) {
  (void)self;
  real->put(real, block, size);
}

static toft_arena *make(vector_source *source, uint64_t budget, size_t reserve) {
  static toft_source adapter = {take, put, NULL};
  toft_options options = TOFT_OPTIONS;
  real = source;
  options.source = &adapter;
  options.budget = budget == UINT64_MAX ? 0 : budget;
  options.reserve = reserve;
  return CREATE(&options);
}

static void release(toft_arena *a) { toft_release(a); }

/* ---- calls by ops ---- */

static void *ops_alloc(toft_arena *a, size_t n, size_t align, int zero) {
  return a->ops->alloc(a, n, align, zero ? TOFT_ZERO : 0, 0);
}

static void *ops_resize(toft_arena *a, void *p, size_t old, size_t n, size_t align, uint32_t flags) {
  return a->ops->resize(a, p, old, n, align, flags, 0);
}

static void ops_free(toft_arena *a, void *p, size_t n) {
  if (a->ops->free != NULL) a->ops->free(a, p, n);
}

static toft_mark inline_mark(toft_arena *a) { return toft_mark_here(a); }

static int ops_rewind(toft_arena *a, toft_mark m) { return a->ops->rewind(a, m.cursor, m.epoch); }

static int ops_reset(toft_arena *a, uint32_t policy, size_t keep) { return a->ops->reset(a, policy, keep); }

static void ops_trim(toft_arena *a, size_t keep) { a->ops->trim(a, keep); }

static int ops_budget(toft_arena *a, uint64_t bytes) { return a->ops->set(a, TOFT_SET_BUDGET, bytes, NULL, 0); }

static toft_cleanup *ops_cleanup(toft_arena *a, void (*fn)(void *), void *arg) { return a->ops->cleanup(a, fn, arg); }

static void *ops_claim(toft_arena *a, toft_range *range, size_t n, size_t align) {
  return a->ops->claim(a, range, n, align);
}

static int ops_give(toft_arena *a, toft_range *range) { return a->ops->give(a, range); }

static void stats(toft_arena *a, toft_stats *out) { *out = toft_get_stats(a); }

/* ---- calls by the inline functions ---- */

static void *inline_alloc(toft_arena *a, size_t n, size_t align, int zero) {
  if (zero) return toft_alloc_zeroed(a, n, align);
  return align == 8 ? toft_alloc(a, n) : toft_alloc_aligned(a, n, align);
}

static void *inline_resize(toft_arena *a, void *p, size_t old, size_t n, size_t align, uint32_t flags) {
  return flags != 0 ? ops_resize(a, p, old, n, align, flags) : toft_resize(a, p, old, n, align);
}

static void inline_free(toft_arena *a, void *p, size_t n) { toft_free(a, p, n); }

static int inline_rewind(toft_arena *a, toft_mark m) { return toft_rewind(a, m); }

static void *inline_claim(toft_arena *a, toft_range *range, size_t n, size_t align) {
  if (n == 0 && range->claim == 0) return toft_claim(a, range) == TOFT_OK ? range->cursor : NULL;
  return ops_claim(a, range, n, align);
}

static int inline_give(toft_arena *a, toft_range *range) { return toft_unclaim(a, range); }

/* clang-format off */
#define BY_INLINE(name, quiet) { name, quiet, make, release, inline_alloc, inline_resize, inline_free, inline_mark, \
    inline_rewind, ops_reset, ops_trim, ops_budget, ops_cleanup, inline_claim, inline_give, stats, 0, BETWEEN }
static const binding bindings[] = {
    BY_INLINE("inline", 0),
    { "ops", 0, make, release, ops_alloc, ops_resize, ops_free, inline_mark, ops_rewind, ops_reset, ops_trim,
      ops_budget, ops_cleanup, ops_claim, ops_give, stats, 0, BETWEEN },
    BY_INLINE("quiet", 1),
};
/* clang-format on */
enum { BINDINGS = sizeof bindings / sizeof bindings[0] };

#ifdef TOFT_PLAIN
int main(int argc, char **argv) {
  for (size_t i = 0; i < COUNT; i++)
    for (int h = 0; h < BINDINGS && wanted(&vectors[i], argc > 1 ? argv[1] : NULL); h++) {
      const char *result = outcome(&vectors[i], &bindings[h]);
      if (result == NULL) continue;
      printf("FAILED %s\n", result);
      return 1;
    }
  return 0;
}
#else
static void one(void **state) {
  const vec *v = (const vec *)*state;
  for (int h = 0; h < BINDINGS; h++) {
    const char *result = outcome(v, &bindings[h]);
    if (result != NULL) fail_msg("%s", result);
  }
}

int main(int argc, char **argv) {
  struct CMUnitTest *tests = (struct CMUnitTest *)calloc(COUNT, sizeof *tests);
  size_t count = 0;
  if (tests == NULL) return 1;
  for (size_t i = 0; i < COUNT; i++) {
    if (!wanted(&vectors[i], argc > 1 ? argv[1] : NULL)) continue;
    tests[count].name = vectors[i].name;
    tests[count].test_func = one;
    tests[count++].initial_state = (void *)(uintptr_t)&vectors[i];
  }
  int bad = _cmocka_run_group_tests("vectors", tests, count, NULL, NULL);
  free(tests);
  return bad;
}
#endif
