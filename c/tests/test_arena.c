/* Each call of an arena, on a source that counts. test_arena_marks.c has marks, cleanups and adoption,
 * test_vectors.c the rules of the ABI.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "counted_arena.h"

/* ---- allocation ---- */

static void alloc_is_aligned_distinct_and_writable(void **state) {
  unsigned char *before = NULL;
  (void)state;
  for (unsigned i = 0; i < 5000; i++) {
    size_t size = i % 97;
    unsigned char *p = (unsigned char *)toft_alloc(a, size);
    assert_non_null(p);
    assert_true(is_aligned(p, 8));
    assert_true(size == 0 || p != before);
    fill(p, size, i);
    assert_true(size == 0 || toft_contains(a, p));
    before = size != 0 ? p : NULL;
  }
}

static void contents_survive_growth(void **state) {
  static unsigned char *all[3000];
  (void)state;
  for (unsigned i = 0; i < 3000; i++) {
    all[i] = (unsigned char *)toft_alloc(a, 1 + i % 511);
    fill(all[i], 1 + i % 511, i);
  }
  for (unsigned i = 0; i < 3000; i++) assert_true(filled(all[i], 1 + i % 511, i));
}

static void every_alignment_on_every_path(void **state) {
  (void)state;
  for (size_t align = 1; align <= 65536; align *= 2)
    for (size_t size = 0; size < 9000; size += 1 + size / 2)
      for (int k = 0; k < 3; k++) {
        unsigned char *p = (unsigned char *)toft_alloc_aligned(a, size, align);
        assert_non_null(p);
        assert_true(is_aligned(p, align));
        fill(p, size, 1);
        assert_non_null(toft_alloc(a, 8));
      }
}

static void bad_alignment_is_refused(void **state) {
  size_t bad[] = {0, 9, 12, 24, 48, 100, 4095, SIZE_MAX, SIZE_MAX - 1};
  (void)state;
  uint64_t live = toft_get_stats(a).live;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_null(toft_alloc_aligned(a, 8, bad[i]));
    assert_null(a->ops->alloc(a, 8, bad[i], 0, 0));
  }
  assert_null(a->ops->alloc(a, 8, 3, 0, 0));
  assert_int_equal(toft_get_stats(a).live, live);
  assert_non_null(toft_alloc_aligned(a, 8, 8));
}

static void absurd_sizes_are_refused(void **state) {
  volatile size_t most = SIZE_MAX; /* volatile, or the compiler would warn of the size */
  size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 7, SIZE_MAX - 8, SIZE_MAX / 2, SIZE_MAX / 2 + 1, PTRDIFF_MAX};
  (void)state;
  toft_mark m = toft_mark_here(a);
  size_t attempts = source.attempts;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (size_t align = 1; align <= 4096; align *= 4) {
      assert_null(toft_alloc(a, sizes[i]));
      assert_null(toft_alloc_aligned(a, sizes[i], align));
      assert_null(toft_alloc_zeroed(a, sizes[i], align));
      assert_null(toft_resize(a, NULL, 0, sizes[i], align));
    }
  assert_null(toft_alloc_array(a, most / 8 + 2, 8, 8));
  assert_null(toft_alloc_array(a, most, most, 1));
  assert_null(toft_new_array(a, uint64_t, most / 4));
  assert_null(toft_new_array_zeroed(a, uint64_t, most / 4));
  assert_true(m.cursor == a->cursor && m.epoch == toft_mark_here(a).epoch);
  assert_int_equal(source.attempts, attempts);
}

static void typed_macros(void **state) {
  typedef struct thing {
    char c;
    double d;
    long long l;
  } thing;
  (void)state;
  size_t n = 3;
  thing *one = toft_new(a, thing), *many = toft_new_array(a, thing, n + 1);
  thing *zero = toft_new_zeroed(a, thing), *zeros = toft_new_array_zeroed(a, thing, n + 1);
  assert_true(one && many && zero && zeros);
  one->d = 1;
  many[3].l = 2;
  assert_true(is_aligned(many, TOFT_ALIGNOF(thing)));
  assert_true(zero->d == 0 && zero->l == 0);
  for (int i = 0; i < 4; i++) assert_true(zeros[i].d == 0 && zeros[i].c == 0 && zeros[i].l == 0);
}

/* ---- resize and free ---- */

static void resize_across_blocks_and_alignments(void **state) {
  unsigned char *p = NULL;
  size_t old = 0;
  (void)state;
  for (size_t size = 1; size < 3000000; size = size * 2 + 1) {
    p = (unsigned char *)toft_resize(a, p, old, size, 64);
    assert_non_null(p);
    assert_true(is_aligned(p, 64));
    assert_true(filled(p, old, 9));
    fill(p, size, 9);
    old = size;
  }
  unsigned char *q = (unsigned char *)toft_resize(a, p, old, old, 4096); /* same size, stricter alignment */
  assert_true(is_aligned(q, 4096) && filled(q, old, 9));
}

static void large_arrays_leave_no_trail(void **state) {
  (void)state;
  size_t size = 1 << 20;
  void *p = toft_alloc(a, size);
  for (int i = 0; i < 60; i++) {
    p = toft_resize(a, p, size, size + 100000, 8);
    assert_non_null(p);
    size += 100000;
  }
  assert_true(toft_get_stats(a).live < 2 * size); /* the old allocations were freed */
  toft_free(a, p, size);
  assert_true(toft_get_stats(a).live < 100000);
}

static void resize_of_nothing_allocates(void **state) {
  (void)state;
  const size_t old_sizes[] = {0, 16, SIZE_MAX}; /* growing code may pass the size that it will have */
  for (size_t i = 0; i < 3; i++) {
    uint64_t live = toft_get_stats(a).live;
    unsigned char *p = (unsigned char *)toft_resize(a, NULL, old_sizes[i], 24, 64);
    assert_true(p != NULL && (uintptr_t)p % 64 == 0);
    fill(p, 24, 1);
    assert_true(toft_get_stats(a).live >= live + 24);
  }
}

static void resize_and_free_of_foreign_pointers_do_no_harm(void **state) {
  (void)state;
  char foreign[64];
  char *mine = (char *)toft_alloc(a, 32);
  fill(mine, 32, 1);
  fill(foreign, 64, 2);
  toft_free(a, foreign, 64);
  toft_free(a, NULL, 64);
  char *copy = (char *)toft_resize(a, foreign, 64, 128, 8);
  assert_true(copy != NULL && filled(copy, 64, 2));
  assert_null(a->ops->resize(a, NULL, 5, 10, 8, 0, 0)); /* no pointer, but a size: refused by the table only */
  assert_null(toft_resize(a, mine, SIZE_MAX, 64, 8));
  assert_true(filled(mine, 32, 1));
}

static void buffers_have_the_room_they_promise(void **state) {
  static unsigned char buffer[2048];
  (void)state;
  for (size_t n = 1; n <= 200; n++)
    for (size_t offset = 0; offset < 64; offset++) {
      toft_arena *b = toft_create_in(buffer + offset, TOFT_BUFFER(n), NULL);
      assert_non_null(b);
      assert_non_null(toft_alloc(b, n));
      toft_release(b);
      size_t pieces = (n + 7) / 8;
      b = toft_create_in(buffer + offset, TOFT_BUFFER(8 * pieces), NULL);
      for (size_t i = 0; i < pieces; i++) assert_non_null(toft_alloc(b, 1 + i % 8));
      toft_release(b);
    }
}

static int call_into(void *arg, const toft_block *block) {
  toft_range r = {NULL, NULL, 0};
  (void)block;
  assert_null(toft_alloc(a, 8));
  assert_int_equal(toft_reset(a), TOFT_EBUSY);
  assert_int_equal(toft_claim(a, &r), TOFT_EBUSY);
  assert_null(toft_cleanup_add(a, NULL, NULL));
  toft_trim(a, 0);
  toft_release(a);
  ++*(int *)arg;
  return 0;
}

static void the_walk_over_blocks_keeps_them(void **state) {
  int seen = 0;
  (void)state;
  for (int i = 0; i < 100; i++) assert_non_null(toft_alloc(a, 3000));
  uint64_t live = toft_get_stats(a).live;
  assert_int_equal(toft_blocks(a, call_into, &seen), 0);
  assert_true(seen > 1 && toft_get_stats(a).live == live && toft_alloc(a, 8) != NULL);
}

/* The inline path does not distinguish them from 8, so the slow path must not either. */
static void odd_alignments_are_served_as_8(void **state) {
  (void)state;
  for (size_t align = 3; align <= 7; align++) {
    unsigned char *p = (unsigned char *)toft_alloc_aligned(a, 40, align);
    assert_true(p != NULL && is_aligned(p, 8));
    fill(p, 40, 1);
    p = (unsigned char *)toft_resize(a, p, 40, 80, align);
    assert_true(p != NULL && is_aligned(p, 8) && filled(p, 40, 1));
    assert_non_null(toft_alloc(a, 1));
    p = (unsigned char *)toft_resize(a, p, 80, 9000, align); /* a copy, in a block to come */
    assert_true(p != NULL && is_aligned(p, 8) && filled(p, 40, 1));
    p = (unsigned char *)toft_alloc_aligned(a, 100000, align);
    assert_true(p != NULL && is_aligned(p, 8));
  }
  assert_null(toft_alloc_aligned(a, 8, 0));
  assert_null(toft_alloc_aligned(a, 8, 24));
}

/* ---- reset, trim ---- */

static void a_steady_round_needs_no_source(void **state) {
  size_t rounds[] = {100, 3000, 5000, 200000, 3000000};
  (void)state;
  for (size_t k = 0; k < 5; k++) {
    size_t attempts = 0;
    for (int round = 0; round < 30; round++) {
      if (round == 12) attempts = source.attempts;
      for (size_t n = 0; n < rounds[k]; n += 104) assert_non_null(toft_alloc(a, 100));
      assert_int_equal(toft_reset(a), TOFT_OK);
      assert_int_equal(toft_get_stats(a).live, 0);
    }
    assert_int_equal(source.attempts, attempts);
    assert_true(toft_get_stats(a).reserved <= 4 * rounds[k] + 2 * 4096);
  }
}

static void a_steady_round_sees_one_block(void **state) {
  (void)state;
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < 1000; i++) assert_non_null(toft_alloc(a, 64));
    assert_int_equal(toft_reset(a), TOFT_OK);
  }
  unsigned char *limit = NULL;
  assert_non_null(toft_alloc(a, 64));
  limit = a->limit;
  for (int i = 1; i < 1000; i++) assert_non_null(toft_alloc(a, 64));
  assert_ptr_equal(a->limit, limit); /* no slow call in between */
}

static void keep_all_keeps_and_keep_bytes_does_not(void **state) {
  (void)state;
  for (int i = 0; i < 3000; i++) assert_non_null(toft_alloc(a, 1000));
  assert_int_equal(toft_reset_keep(a, TOFT_KEEP_ALL, 0), TOFT_OK);
  for (int i = 0; i < 3000; i++) assert_non_null(toft_alloc(a, 1000));
  assert_int_equal(toft_reset_keep(a, TOFT_KEEP_ALL, 0), TOFT_OK);
  assert_true(source.bytes >= 3000000);
  for (int round = 0; round < 20; round++) { /* recent rounds are small: all is kept nevertheless */
    assert_non_null(toft_alloc(a, 10));
    assert_int_equal(toft_reset_keep(a, TOFT_KEEP_ALL, 0), TOFT_OK);
  }
  assert_true(source.bytes >= 3000000);
  assert_int_equal(toft_reset_keep(a, TOFT_KEEP_BYTES, 100000), TOFT_OK);
  assert_non_null(toft_alloc(a, 10));
  assert_true(source.bytes <= 100000 + 3 * 4096);
  assert_int_equal(toft_reset_keep(a, 3, 0), TOFT_EARG);
}

static void memory_follows_recent_rounds_down(void **state) {
  (void)state;
  assert_non_null(toft_alloc(a, 5000000));
  assert_int_equal(toft_reset(a), TOFT_OK);
  for (int round = 0; round < 50; round++) {
    assert_non_null(toft_alloc(a, 10));
    assert_int_equal(toft_reset(a), TOFT_OK);
  }
  assert_true(source.bytes > 5000000); /* remembered: the next large round needs no source */
  for (int round = 0; round < 14; round++) assert_int_equal(toft_reset(a), TOFT_OK);
  assert_int_equal(source.bytes, 4096);
}

static void trim_returns_what_holds_nothing(void **state) {
  (void)state;
  toft_mark m = toft_mark_here(a);
  for (int i = 0; i < 3000; i++) assert_non_null(toft_alloc(a, 1000));
  assert_int_equal(toft_rewind(a, m), TOFT_OK);
  assert_true(source.bytes > 1000000);
  toft_trim(a, 600000);
  assert_true(source.bytes <= 600000 + 4096);
  toft_trim(a, 0);
  assert_int_equal(source.bytes, 4096);
  for (int round = 0; round < 3; round++) {
    assert_non_null(toft_alloc(a, 100000));
    assert_int_equal(toft_reset(a), TOFT_OK);
  }
  assert_non_null(toft_alloc(a, 8));
  toft_trim(a, 0); /* not empty: its block stays */
  assert_true(source.bytes > 100000);
  assert_int_equal(toft_reset(a), TOFT_OK);
  toft_trim(a, 0);
  assert_int_equal(source.bytes, 4096);
  assert_non_null(toft_alloc(a, 8));
}

/* ---- claims ---- */

static void a_claimed_range_is_exclusive(void **state) {
  toft_range r, second;
  (void)state;
  void *before = toft_alloc(a, 8);
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  assert_true(a->limit == a->cursor);
  unsigned char *p = (unsigned char *)toft_range_alloc(a, &r, 24);
  assert_ptr_equal(p, (unsigned char *)before + 8);
  fill(p, 24, 1);
  unsigned char *other = (unsigned char *)toft_alloc(a, 24), *third = (unsigned char *)toft_alloc(a, 24);
  assert_true(other != NULL && (other < p || other >= r.limit));
  assert_true(third == other + 24); /* the other allocations share a block */
  fill(other, 24, 2);
  assert_int_equal(toft_claim(a, &second), TOFT_EBUSY);
  toft_mark m = toft_mark_here(a);
  assert_int_equal(toft_rewind(a, m), TOFT_EBUSY);
  assert_int_equal(toft_reset(a), TOFT_EBUSY);
  assert_int_equal(toft_set_budget(a, 100), TOFT_EBUSY);
  assert_null(toft_cleanup_add(a, NULL, NULL));
  unsigned char *moved = (unsigned char *)toft_resize(a, other, 24, 100, 8);
  assert_true(moved != NULL && filled(moved, 24, 2));
  toft_release(a); /* ignored */
  second = r;
  second.claim ^= 1;
  assert_int_equal(toft_unclaim(a, &second), TOFT_EARG);
  second = r;
  second.cursor = r.limit + 8;
  assert_int_equal(toft_unclaim(a, &second), TOFT_EARG);
  second = r;
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  assert_int_equal(toft_unclaim(a, &r), TOFT_EARG);
  assert_int_equal(toft_unclaim(a, &second), TOFT_EARG); /* a copy of the range that was returned */
  assert_null(a->ops->claim(a, &second, 8, 8));
  assert_non_null(a->ops->claim(a, &r, 0, 3)); /* size 0: the alignment is ignored */
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  assert_ptr_equal(toft_alloc(a, 8), p + 24);
  assert_true(filled(p, 24, 1) && filled(other, 24, 2));
}

static void a_range_grows_while_claimed(void **state) {
  static unsigned char *all[20000];
  toft_range r;
  (void)state;
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  for (unsigned i = 0; i < 20000; i++) {
    all[i] = (unsigned char *)toft_range_alloc(a, &r, 8 + i % 50);
    assert_non_null(all[i]);
    fill(all[i], 8 + i % 50, i);
  }
  assert_non_null(toft_range_alloc(a, &r, 600000));
  assert_null(toft_range_alloc(a, &r, SIZE_MAX));
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  assert_non_null(toft_alloc(a, 8));
  for (unsigned i = 0; i < 20000; i++) assert_true(filled(all[i], 8 + i % 50, i));
}

static void bytes_are_packed(void **state) {
  toft_range r;
  (void)state;
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  char *before = (char *)toft_range_bytes(a, &r, 3);
  size_t adjacent = 0;
  for (int i = 0; i < 10000; i++) {
    char *p = (char *)toft_range_bytes(a, &r, 3);
    assert_non_null(p);
    memcpy(p, "abc", 3);
    adjacent += p == before + 3;
    before = p;
  }
  assert_true(adjacent > 9980);
  toft_range_align(&r);
  assert_true(is_aligned(toft_range_alloc(a, &r, 8), 8));
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  assert_true(is_aligned(toft_alloc(a, 8), 8));
}

static void a_range_stays_within_the_budget(void **state) {
  toft_range r;
  (void)state;
  assert_int_equal(toft_set_budget(a, 1000), TOFT_OK);
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  int n = 0;
  while (toft_range_alloc(a, &r, 16) != NULL) n++;
  assert_int_equal(n, 62);
  for (int i = 0; i < 10; i++) assert_null(toft_range_alloc(a, &r, 16));
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  assert_int_equal(toft_get_stats(a).live, 992);
  assert_int_equal(toft_get_stats(a).allocated, 992); /* refused requests are not counted */
}

/* ---- failure callback, statistics, blocks ---- */

static size_t failed_size, failed_align;
static int failed_code;
static void on_failure(void *arg, toft_arena *arena, size_t size, size_t align, int code) {
  assert_ptr_equal(arg, &failed_code);
  assert_non_null(arena);
  failed_size = size;
  failed_align = align;
  failed_code = code;
}

static void failures_are_reported(void **state) {
  toft_options o = TOFT_OPTIONS;
  (void)state;
  o.failure = on_failure;
  o.failure_arg = &failed_code;
  o.budget = 100;
  toft_arena *b = toft_create_with(&o);
  assert_non_null(toft_alloc(b, 96));
  failed_code = 0;
  assert_null(toft_alloc(b, 33));
  assert_true(failed_size == 33 && failed_code == TOFT_ENOMEM);
  assert_null(toft_alloc_aligned(b, 3, 48));
  assert_true(failed_size == 3 && failed_align == 48 && failed_code == TOFT_EARG);
  toft_release(b);
}

static jmp_buf out;
static void jump(void *arg, toft_arena *arena, size_t size, size_t align, int code) {
  (void)arg, (void)arena, (void)size, (void)align, (void)code;
  longjmp(out, 1);
}

static void a_failure_callback_may_longjmp(void **state) {
  toft_options o = TOFT_OPTIONS;
  (void)state;
  o.failure = jump;
  o.budget = 64;
  toft_arena *volatile b = toft_create_with(&o);
  if (setjmp(out) == 0) {
    (void)!toft_alloc(b, 65);
    fail();
  }
  assert_non_null(toft_alloc(b, 64));
  toft_release(b);
}

static int count_blocks(void *arg, const toft_block *b) {
  size_t *sums = (size_t *)arg;
  sums[0]++;
  sums[1] += b->size;
  sums[2] += b->used;
  assert_true((const char *)b->start + b->used <= (const char *)b->base + b->size);
  return 0;
}
static int stop_at_once(void *arg, const toft_block *b) {
  (void)arg, (void)b;
  return 7;
}

static void blocks_and_statistics_agree(void **state) {
  (void)state;
  toft_mark m = toft_mark_here(a);
  for (int i = 0; i < 40; i++) assert_non_null(toft_alloc(a, (size_t)i * 3000));
  size_t sums[3] = {0, 0, 0};
  assert_int_equal(toft_blocks(a, count_blocks, sums), 0);
  toft_stats s = toft_get_stats(a);
  assert_int_equal(sums[0], s.blocks);
  assert_int_equal(sums[1], s.reserved);
  assert_int_equal(sums[1], source.bytes);
  assert_true(s.live <= sums[2] && s.peak == s.live && s.allocated == s.live);
  assert_int_equal(s.source_calls, source.attempts);
  assert_true(s.budget == UINT64_MAX);
  assert_int_equal(s.reserved, s.live + s.wasted + (size_t)(a->limit - a->cursor));
  assert_int_equal(toft_rewind(a, m), TOFT_OK);
  assert_int_equal(toft_blocks(a, stop_at_once, NULL), 7);
  s = toft_get_stats(a);
  assert_true(s.live == 0 && s.blocks == 1 && s.peak > 2000000);
  uint64_t part[2] = {77, 77};
  assert_int_equal(a->ops->stats(a, (toft_stats *)(void *)part, 8), 8);
  assert_true(part[0] == 0 && part[1] == 77); /* an older caller's shorter struct */
}

static void contains_knows_its_own(void **state) {
  int mine;
  (void)state;
  char *p = (char *)toft_alloc(a, 100);
  char *large = (char *)toft_alloc(a, 1000000);
  assert_true(toft_contains(a, p) && toft_contains(a, p + 99) && toft_contains(a, large + 999999));
  assert_false(toft_contains(a, p + 104));
  assert_false(toft_contains(a, &mine));
  assert_false(toft_contains(a, NULL));
  assert_int_equal(toft_reset(a), TOFT_OK);
  assert_false(toft_contains(a, p));
}

static void unknown_settings_say_so(void **state) {
  (void)state;
  assert_int_equal(a->ops->set(a, 999, 0, NULL, 0), TOFT_ENOSYS);
  assert_int_equal(a->ops->set(a, TOFT_SET_CHECKED, 2, NULL, 0), TOFT_EARG);
  assert_string_equal(toft_error_name(TOFT_EMARK), "TOFT_EMARK");
  assert_string_equal(toft_error_name(12345), "unknown");
  assert_string_equal(toft_version(), TOFT_VERSION);
  assert_int_equal(a->ops->version, 1);
  assert_int_equal(a->ops->size, sizeof(toft_info_ops));
}

static void bad_options_make_no_arena(void **state) {
  toft_options o = TOFT_OPTIONS;
  char small[100];
  (void)state;
  o.flags = 0x80;
  assert_null(toft_create_with(&o));
  o.flags = 0;
  o.reserve = SIZE_MAX;
  assert_null(toft_create_with(&o));
  o.reserve = 0;
  o.size = 3;
  assert_null(toft_create_with(&o));
  o.size = 2 * sizeof(void *); /* a very old caller: source only */
  o.source = &source.source;
  toft_arena *b = toft_create_with(&o);
  assert_non_null(b);
  toft_release(b);
  assert_null(toft_create_in(small, sizeof small, NULL));
  assert_null(toft_create_in(NULL, 4096, NULL));
  toft_release(NULL);
}

static void reserve_avoids_growth(void **state) {
  toft_options o = TOFT_OPTIONS;
  counted c;
  (void)state;
  o.source = counted_init(&c);
  o.reserve = 500000;
  toft_arena *b = toft_create_with(&o);
  for (int i = 0; i < 5000; i++) assert_non_null(toft_alloc(b, 100));
  assert_int_equal(c.attempts, 2);
  toft_release(b);
  counted_all_back(&c);
}

#define test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      test(alloc_is_aligned_distinct_and_writable),
      test(contents_survive_growth),
      test(every_alignment_on_every_path),
      test(bad_alignment_is_refused),
      test(absurd_sizes_are_refused),
      test(typed_macros),
      test(resize_across_blocks_and_alignments),
      test(large_arrays_leave_no_trail),
      test(resize_of_nothing_allocates),
      test(resize_and_free_of_foreign_pointers_do_no_harm),
      test(a_steady_round_needs_no_source),
      test(a_steady_round_sees_one_block),
      test(keep_all_keeps_and_keep_bytes_does_not),
      test(memory_follows_recent_rounds_down),
      test(trim_returns_what_holds_nothing),
      test(a_claimed_range_is_exclusive),
      test(a_range_grows_while_claimed),
      test(buffers_have_the_room_they_promise),
      test(odd_alignments_are_served_as_8),
      test(the_walk_over_blocks_keeps_them),
      test(bytes_are_packed),
      test(a_range_stays_within_the_budget),
      test(failures_are_reported),
      test(a_failure_callback_may_longjmp),
      test(blocks_and_statistics_agree),
      test(contains_knows_its_own),
      test(unknown_settings_say_so),
      test(bad_options_make_no_arena),
      test(reserve_avoids_growth),
  };
  return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
