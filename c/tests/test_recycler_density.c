/* How dense the memory of a recycler is: holes are filled, size classes share blocks, large objects regions.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "recycler_shadow.h"

/* Freed objects are allocated again before new memory is taken, but for a span of at most 32 objects. */
static void freed_objects_are_reused_first(void **state) {
  (void)state;
  for (size_t n = 1; n < 60; n++) { /* as many as a class holds */
    toft_recycler r;
    void *p[60];
    size_t found = 0;
    assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
    for (size_t i = 0; i < n; i++) {
      assert_non_null(p[i] = toft_recycler_alloc(&r, 300, 8));
      assert_non_null(toft_recycler_alloc(&r, 300, 8));
    }
    for (size_t i = 0; i < n; i++) toft_recycler_free(&r, p[i], 300);
    for (size_t i = 0; i < n + 32; i++) {
      void *again = toft_recycler_alloc(&r, 300, 8);
      for (size_t k = 0; k < n; k++) found += p[k] == again;
    }
    assert_int_equal(found, n);
    toft_recycler_release(&r);
  }
}

/* Replaces `count` objects of `least` to `least + range - 1` bytes at random, 20 times each on average: the holes are
 * reused, and memory stays below so many percent of the live bytes. */
static void replace_at_random(size_t count, size_t least, size_t range, size_t percent) {
  enum { LIVE = 20000 };
  counted c;
  toft_recycler r;
  static struct {
    unsigned char *p;
    size_t size;
  } all[LIVE];
  uint32_t random = 3;
  size_t live = 0, most = 0;
  recycler_on(&r, counted_init(&c));
  memset(all, 0, sizeof all);
  for (size_t i = 0; i < 20 * count; i++) {
    size_t k = i < count ? i : next_random(&random) % count;
    live -= recycler_bytes(all[k].size, 8) * (all[k].p != NULL);
    if (all[k].p != NULL) toft_recycler_free(&r, all[k].p, all[k].size);
    all[k].size = least + next_random(&random) % range;
    assert_non_null(all[k].p = (unsigned char *)toft_recycler_alloc(&r, all[k].size, 8));
    live += recycler_bytes(all[k].size, 8);
    if (live > most) most = live;
  }
  assert_int_equal(toft_recycler_get_stats(&r).used, live);
  assert_true(c.peak < most / 100 * percent);
  recycler_end(&r, &c);
}

static void random_replacement_stays_dense(void **state) {
  (void)state;
  replace_at_random(20000, 20, 1000, 160);
  replace_at_random(1000, 4097, 20000, 160);
  replace_at_random(1000, 16000, 1, 160);     /* two fit a unit */
  replace_at_random(400, 30000, 270000, 133); /* in any of a dozen regions */
}

/* Objects of 4 to 16 KiB are parts of a unit, and come back at once. Larger ones have pages. */
static void parts_of_a_unit(void **state) {
  (void)state;
  toft_recycler r;
  void *p[7];
  assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
  for (int i = 0; i < 7; i++) assert_non_null(p[i] = toft_recycler_alloc(&r, 4500, 8));
  assert_int_equal(toft_recycler_get_stats(&r).used, 7 * 4592);
  for (int i = 0; i < 7; i++) assert_true((uintptr_t)p[i] % 4096 != 0);
  toft_recycler_free(&r, p[6], 4500);
  assert_ptr_equal(toft_recycler_alloc(&r, 4592, 8), p[6]);
  assert_ptr_equal(toft_recycler_resize(&r, p[2], 4592, 3000, 8), p[2]);
  void *large = toft_recycler_alloc(&r, 16113, 8);
  assert_true(large != NULL && (uintptr_t)large % 4096 == 0);
  assert_int_equal(toft_recycler_get_stats(&r).used, 7 * 4592 + 16120);
  toft_recycler_release(&r);
}

/* Objects of some KiB stay, which were allocated among larger ones that were freed, with small ones in between: the
 * gaps must be reused before new memory is taken. */
static void mixed_sizes_stay_dense(void **state) {
  (void)state;
  enum { PAGES = 3000, PAGE = 4368, RECORDS = 40000 }; /* a round of records: 1.6 MB */
  counted c;
  toft_recycler r;
  static void *pages[PAGES], *records[RECORDS];
  uint32_t random = 1;
  recycler_on(&r, counted_init(&c));
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < RECORDS; i++)
      assert_non_null(records[i] = toft_recycler_alloc(&r, (size_t)(24 + 8 * (i % 5)), 8));
    for (int i = round * PAGES / 3; i < (round + 1) * PAGES / 3; i++) {
      size_t scratch = 8000 + next_random(&random) % 4000;
      void *p = toft_recycler_alloc(&r, scratch, 8);
      assert_non_null(p);
      assert_non_null(pages[i] = toft_recycler_alloc(&r, PAGE, 8));
      toft_recycler_free(&r, p, scratch);
    }
    for (int i = 0; i < RECORDS; i++) toft_recycler_free(&r, records[i], (size_t)(24 + 8 * (i % 5)));
  }
  assert_int_equal(toft_recycler_get_stats(&r).used, (uint64_t)PAGES * recycler_bytes(PAGE, 8));
  assert_true(c.bytes < (size_t)PAGES * PAGE * 5 / 2); /* three times as much with fewer probes */
  for (int i = 0; i < PAGES; i++) toft_recycler_free(&r, pages[i], PAGE);
  recycler_end(&r, &c);
}

/* What an alignment cut off is a hole too: a block that has such is filled again. */
static void paddings_are_holes(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  static void *p[20000];
  recycler_on(&r, counted_init(&c));
  for (size_t i = 0; i < 20000; i++) {
    assert_non_null(toft_recycler_alloc(&r, 8, 8)); /* stays */
    p[i] = toft_recycler_alloc(&r, 64, 64);
    assert_true(p[i] != NULL && is_aligned(p[i], 64));
  }
  for (size_t i = 0; i < 20000; i++) toft_recycler_free(&r, p[i], 64);
  size_t before = c.bytes;
  for (size_t i = 0; i < 20000; i++) assert_non_null(toft_recycler_alloc(&r, 64, 8));
  assert_true(c.bytes <= before + 65536);
  recycler_end(&r, &c);
}

/* All of a small limit serves objects, in each round: of a limited source, and of a budget. */
static void small_limits_are_used(void **state) {
  (void)state;
  static void *p[20000];
  for (size_t limit = 65536; limit < 400000; limit += 7001) {
    toft_limited_source s;
    toft_malloc m;
    toft_malloc_init(&m, toft_limited_source_init(&s, NULL, limit));
    for (int round = 0; round < 4; round++) {
      size_t n = 0;
      while ((p[n] = toft_malloc_alloc(&m, 64)) != NULL) n++;
      assert_in_range(n * 64, limit / 8 * 7, limit);
      while (n > 0) toft_malloc_free(&m, p[--n]);
    }
    toft_malloc_release(&m);
    assert_int_equal(s.used, 0);
  }
}

static void oversize_rounds_stay_flat(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  uint32_t random = 9;
  size_t window = toft_page_cache_window(0);
  toft_page_cache_age(); /* what tests before this one used has no effect */
  toft_page_cache_window(window);
  recycler_on(&r, counted_init(&c));
  for (size_t round = 0; round < 100000; round++) {
    size_t size = 32768 + next_random(&random) % (1 << 20);
    unsigned char *p = (unsigned char *)toft_recycler_alloc(&r, size, 64);
    assert_non_null(p);
    p[0] = p[size - 1] = 1;
    toft_recycler_free(&r, p, size);
  }
  assert_true(c.peak < 5 << 20);
  assert_true(c.takes < 50);
  for (size_t size = 40000; size < 4000000; size += 4096) { /* each too large for all before it */
    void *p = toft_recycler_alloc(&r, size, 8);
    assert_non_null(p);
    toft_recycler_free(&r, p, size);
  }
#ifndef TOFT_OMIT_PAGE_CACHE /* else a recycler keeps what is not in use until it is trimmed */
  assert_true(c.bytes < 14 << 20);
#endif
  toft_recycler_trim(&r, 0);
  assert_int_equal(c.bytes, 0);
  recycler_end(&r, &c);
}

/* Where more than 512 KiB of them is live, large objects share regions: next to each other, in any order of frees. */
static void large_objects_share_regions(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  recycler_on(&r, counted_init(&c));
  shadow *s = shadow_of(&r, 5);
  for (size_t i = 0; i < (long_run() ? 40000 : rounds_of(4000)); i++) {
    size_t size = 32000 + next_random(&s->random) % (i % 7 ? 100000 : 1100000);
    size_t align = next_random(&s->random) % 8 ? 16 : (size_t)1 << next_random(&s->random) % 17;
    uint32_t what = next_random(&s->random) % 100;
    if (s->count < (i / 500 % 2 ? 60 : 10) && (what < 60 || s->count == 0))
      assert_true(shadow_add(s, size, align));
    else if (what < 85)
      shadow_drop(s, what % 2 ? 0 : s->count - 1);
    else
      shadow_resize(s, next_random(&s->random) % s->count, size);
    if (i % 101 == 0) assert_stats(s);
    if (i % 1009 == 0) toft_recycler_trim(&r, i % 2 ? 0 : 5 << 20);
  }
  assert_int_equal(toft_recycler_get_stats(&r).large_blocks > 0, s->count > 0);
  while (s->count != 0) shadow_drop(s, next_random(&s->random) % s->count);
  assert_stats(s);
  toft_recycler_trim(&r, 0);
  counted_all_back(&c);
  free(s);
}

static void large_objects_grow_in_place(void **state) {
  (void)state;
  toft_recycler r;
  assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
  void *p[3];
  for (size_t i = 0; i < 2; i++) assert_non_null(toft_recycler_alloc(&r, 250000, 16)); /* in regions of their size */
  for (size_t i = 1; i < 3; i++) p[i] = toft_recycler_alloc(&r, 200000, 16);           /* in a region of 2 MiB */
  toft_recycler_free(&r, p[2], 200000);
  assert_ptr_equal(toft_recycler_resize(&r, p[1], 200000, 1500000, 16), p[1]);
  p[2] = toft_recycler_alloc(&r, 200000, 16);
  assert_true((unsigned char *)p[2] >= (unsigned char *)p[1] + 1500000 || p[2] < p[1]);
  void *moved = toft_recycler_resize(&r, p[1], 1500000, 2100000, 16); /* p[2] is behind it */
  assert_true(moved != p[1]);
  assert_int_equal(toft_recycler_get_stats(&r).used, 250000 * 2 + 200000 + 2100000);
  toft_recycler_free(&r, moved, 2100000);
  assert_ptr_equal(toft_recycler_resize(&r, p[2], 200000, 50000, 16), p[2]);
  assert_int_equal(toft_recycler_get_stats(&r).used, 250000 * 2 + 50000);
  toft_recycler_release(&r);
}

/* A buffer that doubles is copied, and leaves at most the regions that it outgrew. */
static void doubling_leaves_its_regions(void **state) {
  (void)state;
  toft_recycler r;
  size_t size = 36000, copies = 0;
  assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
  unsigned char *p = (unsigned char *)toft_recycler_alloc(&r, size, 8);
  assert_non_null(p);
  p[0] = 7;
  for (; size < 2000000; size *= 2) {
    unsigned char *q = (unsigned char *)toft_recycler_resize(&r, p, size, 2 * size, 8);
    assert_non_null(q);
    copies += q != p;
    p = q;
  }
  assert_int_equal(p[0], 7);
  assert_true(copies <= 6);
  assert_true(toft_recycler_get_stats(&r).kept <= 2 * size);
  toft_recycler_release(&r);
}

/* A source without memory for a region. */
static void large_objects_without_regions(void **state) {
  (void)state;
  counted c;
  toft_limited_source b;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  void *p[30];
  o.source = toft_limited_source_init(&b, counted_init(&c), 3500000);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
  for (size_t i = 0; i < 30; i++) assert_non_null(p[i] = toft_recycler_alloc(&r, 100000, 8));
  assert_null(toft_recycler_alloc(&r, 900000, 8));
  for (size_t i = 0; i < 30; i++) toft_recycler_free(&r, p[i], 100000);
  toft_recycler_release(&r);
  counted_all_back(&c);
}

/* One object in eleven stays: the memory between them is filled again, and does not grow. */
static void holes_are_filled(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  static void *p[20000];
  size_t stays = 0, before = 0;
  recycler_on(&r, counted_init(&c));
  for (size_t round = 0; round < rounds_of(200); round++) {
    for (size_t i = 0; i < 20000; i++) p[i] = toft_recycler_alloc(&r, 48, 8);
    for (size_t i = 0; i < 20000; i++) {
      if (round == 0 && i % 11 == 0)
        stays++;
      else
        toft_recycler_free(&r, p[i], 48);
    }
    if (round == 0) {
      toft_recycler_stats s = toft_recycler_get_stats(&r);
      assert_int_equal(s.used, stays * 48);
      assert_true(s.pinned > 8 * s.used);
    }
    if (round == 1) before = c.bytes;
  }
  assert_true(c.bytes <= before); /* time may give blocks back */
  assert_true(c.bytes < 20000 * 48 * 3);
  recycler_end(&r, &c);
}

/* Holes that are too narrow for one request are there for the next. */
static void narrow_holes_wait(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  static void *p[40000];
  recycler_on(&r, counted_init(&c));
  for (size_t i = 0; i < 40000; i++) p[i] = toft_recycler_alloc(&r, 16, 8);
  for (size_t i = 0; i < 40000; i += 2) toft_recycler_free(&r, p[i], 16);
  for (int round = 0; round < 100; round++) { /* none fits between those that stay */
    void *wide[20];
    for (int i = 0; i < 20; i++) wide[i] = toft_recycler_alloc(&r, (size_t)(24 + 8 * i), 8);
    for (int i = 0; i < 20; i++) toft_recycler_free(&r, wide[i], (size_t)(24 + 8 * i));
  }
  size_t before = c.bytes;
  for (size_t i = 0; i < 40000; i += 2) {
    p[i] = toft_recycler_alloc(&r, 16, 8);
    assert_non_null(p[i]);
    if (i % 200 == 0) assert_non_null(toft_recycler_alloc(&r, 24, 8)); /* in between, something wider */
  }
  assert_true(c.bytes <= before + 65536);
  for (size_t i = 0; i < 40000; i++) toft_recycler_free(&r, p[i], 16);
  assert_int_equal(toft_recycler_get_stats(&r).used, 200 * 24);
  recycler_end(&r, &c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(holes_are_filled),
      cmocka_unit_test(narrow_holes_wait),
      cmocka_unit_test(freed_objects_are_reused_first),
      cmocka_unit_test(random_replacement_stays_dense),
      cmocka_unit_test(parts_of_a_unit),
      cmocka_unit_test(mixed_sizes_stay_dense),
      cmocka_unit_test(paddings_are_holes),
      cmocka_unit_test(small_limits_are_used),
      cmocka_unit_test(oversize_rounds_stay_flat),
      cmocka_unit_test(large_objects_share_regions),
      cmocka_unit_test(large_objects_grow_in_place),
      cmocka_unit_test(doubling_leaves_its_regions),
      cmocka_unit_test(large_objects_without_regions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
