/* The memory of pools: fixed, growing, in a buffer, for every alignment, kept by the thread.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "pools.h"

/* ---- memory ---- */

static void a_fixed_pool_is_one_block(void **state) {
  (void)state;
  static const size_t counts[] = {1, 2, 3, 4, 63, 64, 65, 1000, 5000};
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
    counted c;
    toft_pool p;
    toft_pool_options o = fixed_at(48, counts[k]);
    o.source = counted_init(&c);
    assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
    assert_int_equal(toft_pool_capacity(&p), counts[k]);
    for (int round = 0; round < 3; round++) {
      toft_handle last = 0;
      for (size_t i = 0; i < counts[k]; i++) {
        last = add(&p);
        fill(toft_pool_at(&p, last), 48, (unsigned)i);
      }
      toft_handle same = last;
      assert_null(toft_pool_insert(&p, &last));
      assert_null(toft_pool_insert_zeroed(&p, &last));
      assert_int_equal(last, same);
      assert_int_equal(walk(&p), counts[k]);
      unsigned seed = 0;
      TOFT_POOL_EACH(w, &p) assert_true(filled(toft_pool_walk_slot(&w), 48, seed++));
      assert_int_equal(toft_pool_remove(&p, last), TOFT_OK);
      assert_int_not_equal(add(&p), last);
      assert_null(toft_pool_insert(&p, NULL));
      if (round == 0) toft_pool_clear(&p);
      if (round == 1) TOFT_POOL_EACH(w, &p) assert_int_equal(toft_pool_remove(&p, toft_pool_walk_handle(&w)), TOFT_OK);
      toft_pool_trim(&p);
      assert_int_equal(toft_pool_capacity(&p), counts[k]);
    }
    assert_int_equal(c.attempts, 1);
    assert_int_equal(toft_pool_get_stats(&p).reserved, c.bytes);
    toft_pool_release(&p);
    counted_all_back(&c);
    toft_pool_release(&p);
    counted_all_back(&c);
  }
}

static void on_the_heap(void **state) {
  (void)state;
  for (size_t slots = 1; slots < 200000; slots *= 7) {
    toft_pool p;
    toft_pool_options o = fixed_at(32, slots);
    assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
    for (size_t i = 0; i < slots; i++) add(&p);
    assert_null(toft_pool_insert(&p, NULL));
    toft_pool_release(&p);
  }
  toft_cache_trim();
}

static void it_grows_in_place(void **state) {
  (void)state;
  toft_pool p;
  toft_pool_options o = sized(56);
  enum { N = 200000 };
  assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
  toft_handle *h = (toft_handle *)malloc(N * sizeof *h);
  uint64_t **at = (uint64_t **)malloc(N * sizeof *at);
  size_t capacity = 0, steps = 0;
  for (uint32_t i = 0; i < N; i++) {
    at[i] = (uint64_t *)toft_pool_insert_zeroed(&p, &h[i]);
    assert_non_null(at[i]);
    for (int k = 0; k < 7; k++) assert_int_equal(at[i][k], 0);
    at[i][0] = i;
    at[i][6] = ~(uint64_t)i;
    steps += toft_pool_capacity(&p) != capacity;
    capacity = toft_pool_capacity(&p);
    assert_true(capacity >= i + 1);
  }
  assert_true(steps < 12);
  for (uint32_t i = 0; i < N; i++) {
    assert_ptr_equal(toft_pool_at(&p, h[i]), at[i]);
    assert_true(at[i][0] == i && at[i][6] == ~(uint64_t)i);
  }
  assert_int_equal(walk(&p), N);
  toft_pool_stats s = toft_pool_get_stats(&p);
  assert_int_equal(s.live, N);
  assert_int_equal(s.capacity, capacity);
  assert_true(s.committed >= (uint64_t)N * 60 && s.committed < (uint64_t)N * 60 * 3 && s.reserved > s.committed);

  /* Trim: to the highest live slot, and everything when there is none. */
  for (uint32_t i = 5000; i < N; i++) assert_int_equal(toft_pool_remove(&p, h[i]), TOFT_OK);
  toft_pool_trim(&p);
  assert_true(toft_pool_capacity(&p) < 6000 + 65536 / 56);
  assert_true(toft_pool_get_stats(&p).committed < s.committed);
  for (uint32_t i = 0; i < N; i++) {
    if (i < 5000)
      assert_true(at[i][0] == i && toft_pool_at(&p, h[i]) == at[i]);
    else
      is_stale(&p, h[i]);
  }
  assert_int_equal(toft_pool_remove(&p, h[7]), TOFT_OK);
  assert_int_equal(toft_pool_remove(&p, h[3]), TOFT_OK);
  toft_pool_trim(&p);
  assert_int_equal(add(&p) & p.mask, h[3] & p.mask); /* the lowest first */
  assert_int_equal(add(&p) & p.mask, h[7] & p.mask);
  for (uint32_t i = 5000; i < N; i++) { /* keys stayed */
    toft_handle now = add(&p);
    assert_int_equal(now & p.mask, h[i] & p.mask);
    assert_int_not_equal(now, h[i]);
  }
  assert_int_equal(walk(&p), N);
  toft_pool_clear(&p);
  assert_int_equal(walk(&p), 0);
  toft_pool_trim(&p);
  assert_int_equal(toft_pool_capacity(&p), 0);
  for (uint32_t i = 0; i < 1000; i++) {
    is_stale(&p, h[i]);
    assert_int_equal(add(&p) & p.mask, i + 1); /* in order after a clear */
  }
  toft_pool_release(&p);
  free(h);
  free(at);
}

static void it_grows_to_max_slots(void **state) {
  (void)state;
  static const size_t most[] = {1, 2, 3, 4, 5, 63, 64, 127, 128, 1023, 1024, 1025, 70000};
  for (size_t k = 0; k < sizeof most / sizeof *most; k++) {
    toft_pool p;
    toft_pool_options o = sized(16);
    o.max_slots = most[k];
    o.slots = most[k] / 3;
    assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
    assert_true(toft_pool_capacity(&p) >= o.slots);
    for (size_t i = 0; i < most[k]; i++) add(&p);
    assert_null(toft_pool_insert(&p, NULL));
    assert_int_equal(toft_pool_capacity(&p), most[k]);
    assert_int_equal(walk(&p), most[k]);
    toft_pool_release(&p);
  }
}

static void reserve_takes_memory_once(void **state) {
  (void)state;
  toft_pool p;
  toft_pool_options o = sized(100);
  o.max_slots = 100000;
  assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
  assert_int_equal(toft_pool_reserve(&p, 100001), TOFT_EARG);
  assert_int_equal(toft_pool_reserve(&p, 50000), TOFT_OK);
  size_t capacity = toft_pool_capacity(&p);
  assert_true(capacity >= 50000);
  assert_int_equal(toft_pool_reserve(&p, 10), TOFT_OK);
  for (int i = 0; i < 50000; i++) add(&p);
  assert_int_equal(toft_pool_capacity(&p), capacity);
  toft_pool_release(&p);
  o = fixed_at(100, 10);
  assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
  assert_int_equal(toft_pool_reserve(&p, 10), TOFT_OK);
  assert_int_equal(toft_pool_reserve(&p, 11), TOFT_EARG);
  toft_pool_release(&p);
}

static void in_a_buffer(void **state) {
  (void)state;
  static const size_t slots[] = {1, 2, 3, 7, 8, 64, 500, 1024}, sizes[] = {0, 1, 5, 8, 24, 100},
                      aligns[] = {1, 2, 8, 16, 64, 4096};
  for (size_t k = 0; k < 8 * 6 * 6; k++) {
    size_t n = slots[k % 8], size = sizes[k / 8 % 6], align = aligns[k / 48];
    size_t bytes = TOFT_POOL_BUFFER(n, size, align);
    for (size_t shift = 0; shift < 10; shift += 3) {
      unsigned char *buffer = (unsigned char *)malloc(bytes + 64 + shift), *at = buffer + 32 + shift;
      memset(buffer, 0xa5, bytes + 64 + shift);
      toft_pool p;
      toft_pool_options o = sized(size);
      o.align = align;
      o.buffer = at;
      o.buffer_size = bytes;
      if (shift % 2 == 0) o.slots = n;
      assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
      size_t capacity = toft_pool_capacity(&p);
      assert_true(o.slots != 0 ? capacity == n : capacity >= n);
      for (size_t i = 0; i < capacity; i++) {
        void *slot = toft_pool_insert(&p, NULL);
        assert_true(slot != NULL && is_aligned(slot, align));
        memset(slot, 1, p.stride);
      }
      assert_null(toft_pool_insert(&p, NULL));
      assert_int_equal(toft_pool_count(&p), capacity);
      assert_int_equal(walk(&p), capacity);
      toft_pool_clear(&p);
      add(&p);
      toft_pool_trim(&p);
      toft_pool_release(&p);
      for (size_t i = 0; i < 32; i++) assert_true(buffer[i] == 0xa5 && at[bytes + i] == 0xa5);
      free(buffer);
    }
  }
  /* the most that fits, and not one more */
  unsigned char buffer[2000];
  for (size_t bytes = 0; bytes <= sizeof buffer; bytes++) {
    toft_pool p;
    toft_pool_options o = sized(24);
    o.buffer = buffer;
    o.buffer_size = bytes;
    int code = toft_pool_init(&p, &o);
    size_t most = toft_pool_capacity(&p);
    assert_int_equal(code, most == 0 ? TOFT_EARG : TOFT_OK);
    o.slots = most + 1;
    assert_int_equal(toft_pool_init(&p, &o), TOFT_EARG);
    assert_true(bytes < TOFT_POOL_BUFFER(1, 24, 8) || most != 0);
  }
}

static void every_alignment(void **state) {
  (void)state;
  for (size_t align = 1; align <= TOFT_POOL_ALIGN_MAX; align *= 2) {
    for (int kind = 0; kind < 2; kind++) {
      static const size_t sizes[] = {0, 1, 7, 8, 40, 4097};
      for (size_t k = 0; k < 6; k++) {
        counted c;
        toft_pool p;
        toft_pool_options o = kind ? fixed_at(sizes[k], 50) : sized(sizes[k]);
        if (!kind) o.max_slots = 5000; /* an emulator has its own memory for each page that is reserved */
        if (kind) o.source = counted_init(&c);
        o.align = align;
        assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
        assert_true(p.stride >= sizes[k] && p.stride % align == 0 && p.stride < sizes[k] + align + (sizes[k] == 0));
        unsigned char *last = NULL;
        for (unsigned i = 0; i < 50; i++) {
          unsigned char *slot = (unsigned char *)toft_pool_insert(&p, NULL);
          assert_true(slot != NULL && is_aligned(slot, align));
          if (i == 0) assert_true(is_aligned(slot, 64));
          if (last != NULL) assert_ptr_equal(slot, last + p.stride);
          fill(slot, sizes[k], i);
          last = slot;
        }
        unsigned seed = 0;
        TOFT_POOL_EACH(w, &p) assert_true(filled(toft_pool_walk_slot(&w), sizes[k], seed++));
        toft_pool_release(&p);
        if (kind) counted_all_back(&c);
      }
    }
  }
}

static void alignment_from_the_size(void **state) {
  (void)state;
  static const size_t pairs[][2] = {{0, 1}, {1, 1},   {2, 2},   {3, 3},   {4, 4},   {6, 6},
                                    {8, 8}, {12, 12}, {16, 16}, {24, 24}, {48, 48}, {4096, 4096}};
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
    toft_pool p;
    toft_pool_options o = sized(pairs[k][0]);
    assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
    assert_int_equal(p.stride, pairs[k][1]);
    toft_pool_release(&p);
  }
}

/* The thread's cache keeps ranges of growing pools, within its limit. What one pool left is not seen by the next. */
static void kept_ranges(void **state) {
  (void)state;
  toft_cache_trim();
  assert_int_equal(toft_cache_bytes(), 0);
  static const size_t sizes[] = {48, 16, 100, 48, 1, 4096, 48};
  const int emulated = getenv("TOFT_EMULATED") != NULL; /* there each page that is reserved takes memory, for ever */
  for (int limit = 0; limit < 3; limit++) {
    static const size_t limits[] = {(size_t)4 << 20, (size_t)1 << 20, 0};
    size_t before = toft_cache_limit(limits[limit]);
    for (int round = 0; round < (emulated ? 2 : 30); round++) {
      toft_pool p[7];
      for (int k = 0; k < 7; k++) {
        toft_pool_options o = sized(sizes[(k + round) % 7]);
        if (round % 5 == 4 || sizeof(void *) == 4 || (emulated && o.slot_size > 48))
          o.max_slots = 50000; /* 32 bits hold few ranges that may get large */
        assert_int_equal(toft_pool_init(&p[k], &o), TOFT_OK);
        assert_int_equal(walk(&p[k]), 0);
        for (toft_handle h = 0; h < 3000; h++) assert_null(toft_pool_at(&p[k], h));
        for (uint32_t i = 0; i < 100u << (round % 9); i++) {
          assert_int_equal(add(&p[k]), i + 1); /* generations begin anew */
          memset(toft_pool_at(&p[k], i + 1), 0xff, p[k].stride);
        }
      }
      for (int k = 0; k < 7; k++) toft_pool_release(&p[k]);
      assert_true(toft_cache_bytes() <= limits[limit]);
      assert_true(limits[limit] == 0 ? toft_cache_bytes() == 0 : toft_cache_bytes() != 0);
    }
    toft_cache_trim();
    assert_int_equal(toft_cache_bytes(), 0);
    toft_cache_limit(before);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fixed_pool_is_one_block),
      cmocka_unit_test(on_the_heap),
      cmocka_unit_test(it_grows_in_place),
      cmocka_unit_test(it_grows_to_max_slots),
      cmocka_unit_test(reserve_takes_memory_once),
      cmocka_unit_test(in_a_buffer),
      cmocka_unit_test(every_alignment),
      cmocka_unit_test(alignment_from_the_size),
      cmocka_unit_test(kept_ranges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
