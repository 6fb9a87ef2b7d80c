/* Random streams of operations against a list of live allocations with their contents. No two overlap, each is aligned
 * and keeps its bytes until it is freed; live is exact wherever nothing was resized.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>

#include "support.h"

#define MAX_LIVE 6000
#define MAX_MARKS 64

typedef struct piece {
  unsigned char *p;
  size_t size;
  unsigned seed;
  int packed; /* byte-granular: only a rewind gives it back */
} piece;

typedef struct stream {
  toft_arena *a;
  uint32_t random;
  unsigned seed;
  piece live[MAX_LIVE];
  size_t count;
  struct {
    toft_mark mark;
    size_t count;
    int cleanups;
  } marks[MAX_MARKS];
  size_t mark_count;
  int registered, expected; /* cleanups registered and still due; run so far */
  int checked;
} stream;

static int ran;
static void run_one(void *arg) {
  (void)arg;
  ran++;
}

static uint32_t below(stream *s, uint32_t n) { return next_random(&s->random) % n; }

static size_t any_size(stream *s) {
  switch (below(s, 12)) {
    case 0: return 0;
    case 1: return below(s, 9000);
    case 2: return below(s, 3) ? below(s, 70000) : below(s, 700000);
    case 3: return 4096 - 64 + below(s, 16) - 8;
    default: return below(s, 200);
  }
}

static void add(stream *s, void *p, size_t size, size_t align, int packed) {
  assert_true(is_aligned(p, align));
  if (size == 0) return;
  assert_true(s->count < MAX_LIVE);
  piece *x = &s->live[s->count++];
  x->p = (unsigned char *)p;
  x->size = size;
  x->seed = s->seed++;
  x->packed = packed;
  fill(p, size, x->seed);
}

/* Every piece is intact: a write into one by another, or poison, shows here. */
static void verify(stream *s) {
  for (size_t i = 0; i < s->count; i++) {
    if (!filled(s->live[i].p, s->live[i].size, s->live[i].seed)) fail_msg("piece %zu of %zu changed", i, s->count);
    assert_true(toft_contains(s->a, s->live[i].p));
  }
}

static int by_address(const void *l, const void *r) {
  const piece *x = (const piece *)l, *y = (const piece *)r;
  return x->p < y->p ? -1 : x->p > y->p;
}

static void verify_disjoint(stream *s) {
  static piece sorted[MAX_LIVE];
  memcpy(sorted, s->live, s->count * sizeof *sorted);
  qsort(sorted, s->count, sizeof *sorted, by_address);
  for (size_t i = 1; i < s->count; i++) assert_true(sorted[i - 1].p + sorted[i - 1].size <= sorted[i].p);
}

static void op_alloc(stream *s) {
  size_t size = any_size(s), align = (size_t)1 << below(s, below(s, 4) ? 4 : 13);
  void *p = below(s, 2) || align > 8 ? toft_alloc_aligned(s->a, size, align) : toft_alloc(s->a, size);
  if (p != NULL) add(s, p, size, align, 0);
}

static void op_resize(stream *s) {
  if (s->count == 0) return;
  size_t i = below(s, 3) ? s->count - 1 : below(s, (uint32_t)s->count), size = any_size(s);
  /* An older piece may lie below a mark: a rewind would give the copy back. Leave those alone. */
  if (size == 0 || (s->mark_count != 0 && i < s->marks[s->mark_count - 1].count)) return;
  piece *x = &s->live[i];
  if (x->packed) return;
  unsigned char *p = (unsigned char *)toft_resize(s->a, x->p, x->size, size, 8);
  if (p == NULL) return;
  assert_true(filled(p, size < x->size ? size : x->size, x->seed));
  x->p = p;
  x->size = size;
  fill(p, size, x->seed);
}

static void op_free(stream *s) {
  if (s->count == 0 || (s->mark_count != 0 && s->count <= s->marks[s->mark_count - 1].count)) return;
  if (s->live[s->count - 1].packed) return;
  s->count--;
  toft_free(s->a, s->live[s->count].p, s->live[s->count].size);
}

static void op_mark(stream *s) {
  if (s->mark_count == MAX_MARKS) return;
  s->marks[s->mark_count].mark = toft_mark_here(s->a);
  s->marks[s->mark_count].count = s->count;
  s->marks[s->mark_count].cleanups = s->registered;
  s->mark_count++;
}

static void op_rewind(stream *s) {
  if (s->mark_count == 0) return;
  size_t i = below(s, (uint32_t)s->mark_count);
  assert_int_equal(toft_rewind(s->a, s->marks[i].mark), TOFT_OK);
  s->count = s->marks[i].count;
  s->expected += s->registered - s->marks[i].cleanups;
  s->registered = s->marks[i].cleanups;
  s->mark_count = below(s, 2) ? i + 1 : i; /* a mark stays good for another rewind */
  assert_int_equal(ran, s->expected);
  verify(s);
}

static void op_claim(stream *s) {
  toft_range r;
  if (toft_claim(s->a, &r) != TOFT_OK) return;
  for (uint32_t n = below(s, 30); n > 0; n--) {
    size_t size = any_size(s);
    if (below(s, 5) == 0) {
      void *p = toft_alloc(s->a, size); /* another allocation */
      if (p != NULL) add(s, p, size, 8, 0);
    } else if (below(s, 3) == 0) {
      void *p = toft_range_bytes(s->a, &r, size);
      if (p != NULL) add(s, p, size, 1, 1);
    } else {
      toft_range_align(&r);
      void *p = toft_range_alloc(s->a, &r, size);
      if (p != NULL) add(s, p, size, 8, 0);
    }
  }
  assert_int_equal(toft_unclaim(s->a, &r), TOFT_OK);
}

static void op_reset(stream *s) {
  assert_int_equal(toft_reset_keep(s->a, below(s, 3), below(s, 300000)), TOFT_OK);
  s->count = s->mark_count = 0;
  s->expected += s->registered;
  s->registered = 0;
  assert_int_equal(ran, s->expected);
  assert_int_equal(toft_get_stats(s->a).live, 0);
}

static void step(stream *s) {
  uint32_t x = below(s, 1000);
  if (s->count > MAX_LIVE - 200) x = 995;
  if (x < 600)
    op_alloc(s);
  else if (x < 680)
    op_resize(s);
  else if (x < 720)
    op_free(s);
  else if (x < 800)
    op_mark(s);
  else if (x < 880)
    op_rewind(s);
  else if (x < 900)
    op_claim(s);
  else if (x < 930)
    s->registered += toft_cleanup_add(s->a, run_one, NULL) != NULL;
  else if (x < 950)
    toft_trim(s->a, below(s, 1000000));
  else if (x < 960)
    (void)toft_set_budget(s->a, below(s, 3) ? UINT64_MAX : below(s, 2000000));
  else if (x < 965 && s->checked)
    (void)toft_set_checked(s->a, (int)below(s, 2));
  else if (x >= 990)
    op_reset(s);
  if (below(s, 50) == 0) {
    verify(s);
    verify_disjoint(s);
    toft_stats now = toft_get_stats(s->a);
    assert_true(now.live <= now.reserved || now.blocks == 0);
    assert_true(s->a->cursor <= s->a->limit && is_aligned(s->a->cursor, 8) && is_aligned(s->a->limit, 8));
  }
}

static void run(int checked, size_t seeds, unsigned steps) {
  static stream s;
  for (unsigned seed = 1; seed <= seeds; seed++) {
    counted c;
    memset(&s, 0, sizeof s);
    s.random = seed * 2654435761u;
    s.checked = checked;
    ran = 0;
    s.a = arena_on(counted_init(&c));
    if (checked) assert_int_equal(toft_set_checked(s.a, 1), TOFT_OK);
    for (unsigned i = 0; i < steps; i++) {
      if (seed % 3 == 0) c.fail_at = below(&s, 10) ? 0 : c.attempts + 1; /* the source fails now and then */
      step(&s);
    }
    toft_release(s.a);
    assert_int_equal(ran, s.expected + s.registered);
    counted_all_back(&c);
  }
}

static void plain(void **state) {
  (void)state;
  run(0, long_run() ? 600 : rounds_of(60), 2000);
}

static void checked(void **state) {
  (void)state;
  run(1, long_run() ? 100 : rounds_of(12), 1500);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain),
      cmocka_unit_test(checked),
  };
  return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
