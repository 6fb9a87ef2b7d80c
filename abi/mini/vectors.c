/* Plays abi/vectors/rules on arenas of toft_mini.h, each three times: inline, by ops alone, and inline without
 * statistics in between.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stddef.h>

static void *take(size_t size);
static void put(void *block, size_t size);
#define TOFT_MINI_TAKE(size) take(size)
#define TOFT_MINI_PUT(block, size) put(block, size)
#include "toft_mini.h"

#include "vector_player.h"

static vector_source *source; /* one vector is played at a time */

static void *take(size_t size) { return source->take(source, size); }
static void put(void *block, size_t size) { source->put(source, block, size); }

static toft_arena *make(vector_source *s, uint64_t budget, size_t reserve) {
  (void)budget, (void)reserve;
  source = s;
  return toft_create();
}
static void release(toft_arena *a) { toft_release(a); }
static void *ops_alloc(toft_arena *a, size_t n, size_t align, int zero) {
  return a->ops->alloc(a, n, align, zero ? TOFT_ZERO : 0, 0);
}
static void *ops_resize(toft_arena *a, void *p, size_t old, size_t n, size_t align, uint32_t flags) {
  return a->ops->resize(a, p, old, n, align, flags, 0);
}
static void ops_free(toft_arena *a, void *p, size_t n) { a->ops->free(a, p, n); }
static toft_mark mark(toft_arena *a) { return toft_mark_here(a); }
static int ops_rewind(toft_arena *a, toft_mark m) { return a->ops->rewind(a, m.cursor, m.epoch); }
static int ops_reset(toft_arena *a, uint32_t policy, size_t keep) { return a->ops->reset(a, policy, keep); }
static void trim(toft_arena *a, size_t keep) { toft_trim(a, keep); }
static int budget(toft_arena *a, uint64_t bytes) { return a->ops->set(a, TOFT_SET_BUDGET, bytes, NULL, 0); }
static toft_cleanup *cleanup_add(toft_arena *a, void (*fn)(void *), void *arg) { return toft_cleanup_add(a, fn, arg); }
static void *claim(toft_arena *a, toft_range *range, size_t n, size_t align) {
  return a->ops->claim(a, range, n, align);
}
static int give(toft_arena *a, toft_range *range) { return a->ops->give(a, range); }
static void stats(toft_arena *a, toft_stats *out) { *out = toft_get_stats(a); }

static void *inline_alloc(toft_arena *a, size_t n, size_t align, int zero) {
  if ((align & (align - 1)) != 0) return ops_alloc(a, n, align, zero); /* section 13 */
  if (zero) return toft_alloc_zeroed(a, n, align);
  return align == 8 ? toft_alloc(a, n) : toft_alloc_aligned(a, n, align);
}
static void *inline_resize(toft_arena *a, void *p, size_t old, size_t n, size_t align, uint32_t flags) {
  if (flags != 0 || (align & (align - 1)) != 0) return ops_resize(a, p, old, n, align, flags);
  return toft_resize(a, p, old, n, align);
}
static void inline_free(toft_arena *a, void *p, size_t n) { toft_free(a, p, n); }
static int inline_rewind(toft_arena *a, toft_mark m) { return toft_rewind(a, m); }

/* clang-format off */
#define BY_INLINE(name, quiet) { name, quiet, make, release, inline_alloc, inline_resize, inline_free, mark, \
    inline_rewind, ops_reset, trim, budget, cleanup_add, claim, give, stats, 0 }
static const binding bindings[] = {
    BY_INLINE("inline", 0),
    { "ops", 0, make, release, ops_alloc, ops_resize, ops_free, mark, ops_rewind, ops_reset, trim, budget,
      cleanup_add, claim, give, stats, 0 },
    BY_INLINE("quiet", 1),
};
/* clang-format on */

int main(void) {
  int played = 0;
  for (size_t i = 0; i < COUNT; i++) {
    const vec *v = &vectors[i];
    if (v->policy != 0 || (v->needs & ~(unsigned)(VEC_NEEDS_RESIZE | VEC_NEEDS_FREE | VEC_NEEDS_CLEANUP)) != 0 ||
        !wanted(v, NULL))
      continue;
    for (size_t h = 0; h < sizeof bindings / sizeof bindings[0]; h++, played++) {
      const char *wrong_answer = outcome(v, &bindings[h]);
      if (wrong_answer == NULL) continue;
      printf("FAILED %s\n", wrong_answer);
      return 1;
    }
  }
  printf("%d vectors\n", played);
  return 0;
}
