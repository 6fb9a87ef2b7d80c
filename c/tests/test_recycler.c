/* Recyclers: a stream of allocations and frees against a shadow, and what the header promises about blocks.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef _WIN32
#include <sys/mman.h>
#endif

#include "recycler_shadow.h"

/* The sizes of a stream: mostly small, sometimes a block and more. */
static size_t some_size(uint32_t *random) {
  uint32_t r = next_random(random), kind = r % 100;
  r >>= 8;
  if (kind < 80) return r % 200;
  if (kind < 95) return r % 5000;
  if (kind < 99) return r % 40000;
  return r % 300000;
}

static size_t some_align(uint32_t *random) {
  uint32_t r = next_random(random) % 64;
  if (r < 48) return 8;
  return (size_t)1 << (r < 60 ? r % 8 : r < 63 ? r % 15 : 17);
}

static void stream(toft_recycler *r, uint32_t seed, int steps) {
  shadow *s = shadow_of(r, seed);
  for (int i = 0; i < steps; i++) {
    uint32_t what = next_random(&s->random) % 100;
    size_t target = (size_t)(i / 2000 % 2 ? LIVE_MAX - 1 : 100); /* grow, then shrink: blocks empty and fill */
    if (s->count < target && (s->count == 0 || what < 70))
      assert_true(shadow_add(s, some_size(&s->random), some_align(&s->random)));
    else if (what < 95 || s->count == 0) {
      if (s->count != 0) shadow_drop(s, what % 3 == 0 ? s->count - 1 : next_random(&s->random) % s->count);
    } else {
      shadow_resize(s, next_random(&s->random) % s->count, some_size(&s->random));
    }
    if (i % 501 == 0) assert_stats(s);
    if (i % 3001 == 0) toft_recycler_trim(r, next_random(&s->random) % 2 ? 0 : 100000);
  }
  while (s->count != 0) shadow_drop(s, next_random(&s->random) % s->count);
  assert_stats(s);
  free(s);
}

static void streams(void **state) {
  (void)state;
  for (uint32_t seed = 1; seed <= (long_run() ? 40 : 1 + rounds_of(4)); seed++) {
    counted c;
    toft_recycler r;
    recycler_on(&r, counted_init(&c));
    stream(&r, seed, 20000);
    toft_recycler_trim(&r, 0);
    assert_int_equal(toft_recycler_get_stats(&r).reserved, 0); /* nothing is live, so nothing is held */
    counted_all_back(&c);
    stream(&r, seed + 100, 5000);
    recycler_end(&r, &c);
  }
}

static void streams_on_the_heap(void **state) {
  (void)state;
  toft_recycler r;
  assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
  stream(&r, 77, 20000);
  toft_recycler_release(&r);
  stream(&r, 78, 5000);
  toft_recycler_release(&r);
}

static void with_blocks(toft_recycler *r, toft_source *source, size_t count, size_t size) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  o.source = source;
  o.count = count;
  o.block_size = size;
  assert_int_equal(toft_recycler_init(r, &o), TOFT_OK);
}

static void streams_on_counted_blocks(void **state) {
  static const struct {
    size_t count, size;
  } some[] = {{10, 10000}, {3, 100}, {7, 50000}, {2, 900000}, {100, 1}, {1, 32768}};
  (void)state;
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
    counted c;
    toft_recycler r;
    with_blocks(&r, counted_init(&c), some[i].count, some[i].size);
    assert_int_equal(c.takes, 1);
    stream(&r, (uint32_t)i + 5, 10000);
    recycler_end(&r, &c);
  }
}

/* The first slab of a recycler is the one that another with the same class left; all of it is free. */
static void a_slab_is_left(void **state) {
  static const size_t sizes[] = {40, 40, 40, 8, 8, 40, 40, 40, 16000, 16000, 5000, 40, 40};
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    toft_recycler r;
    unsigned char *p[700];
    size_t size = sizes[i], n = i == 6 ? 700 : 2000 / size + 1; /* the 700 take more than one slab */
    assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
    for (size_t k = 0; k < n; k++) memset(p[k] = (unsigned char *)toft_recycler_alloc(&r, size, 8), (int)k, size);
    for (size_t k = 0; k < n; k++) assert_true(p[k][0] == (unsigned char)k && p[k][size - 1] == (unsigned char)k);
    for (size_t k = 1; k < n; k += 2) toft_recycler_free(&r, p[k], size);
    toft_recycler_stats s = toft_recycler_get_stats(&r);
    assert_true(s.used == (n - n / 2) * recycler_bytes(size, 8) && (i == 6 || s.blocks == 1));
    if (i % 3 == 0) assert_non_null(toft_recycler_alloc(&r, 300, 8)); /* of another class */
    toft_recycler_release(&r);
    assert_int_equal(toft_recycler_get_stats(&r).reserved, 0);
  }
}

static void any_alignment(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  recycler_on(&r, counted_init(&c));
  for (size_t align = 1; align <= (size_t)1 << 21; align *= 2) {
    static const size_t sizes[] = {0, 1, 8, 24, 4000, 20000, 32256, 32257, 100000};
    void *p[9];
    for (size_t i = 0; i < 9; i++) {
      p[i] = toft_recycler_alloc(&r, sizes[i], align);
      assert_non_null(p[i]);
      assert_true(is_aligned(p[i], align));
      fill(p[i], sizes[i], (unsigned)i);
    }
    for (size_t i = 0; i < 9; i++) {
      assert_true(filled(p[i], sizes[i], (unsigned)i));
      toft_recycler_free(&r, p[i], sizes[i]);
    }
    size_t held = 0;
    for (int round = 0; round < 100; round++) { /* a second round takes nothing more; time may give blocks back */
      void *q = toft_recycler_alloc(&r, 8, align);
      assert_non_null(q);
      toft_recycler_free(&r, q, 8);
      if (round == 0) held = c.bytes;
    }
    assert_true(c.bytes <= held);
  }
  assert_int_equal(toft_recycler_get_stats(&r).used, 0);
  recycler_end(&r, &c);
}

static void bad_input(void **state) {
  (void)state;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
  assert_null(toft_recycler_alloc(&r, SIZE_MAX, 8));
  assert_null(toft_recycler_alloc(&r, SIZE_MAX - 7, 8));
  assert_null(toft_recycler_alloc(&r, (size_t)PTRDIFF_MAX, 8));
  assert_null(toft_recycler_alloc(&r, 8, (size_t)1 << (sizeof(size_t) * 8 - 1)));
  assert_null(toft_recycler_alloc(&r, 8, 24));
  assert_null(toft_recycler_alloc(&r, 8, 48));
  assert_int_equal(toft_recycler_get_stats(&r).reserved, 0);
  toft_recycler_free(&r, NULL, 8);
  toft_recycler_free(&r, NULL, 100000);
  void *p = toft_recycler_resize(&r, NULL, 0, 16, 8);
  assert_non_null(p);
  assert_null(toft_recycler_resize(&r, p, 16, SIZE_MAX, 8));
  assert_null(toft_recycler_resize(&r, p, 16, 32, 24));
  assert_int_equal(toft_recycler_get_stats(&r).used, 16);
  toft_recycler_free(&r, p, 16);
  assert_int_equal(toft_recycler_get_stats(&r).used, 0);

  void *a = toft_recycler_alloc(&r, 0, 1), *b = toft_recycler_alloc(&r, 0, 1);
  assert_true(a != NULL && b != NULL && a != b); /* 0 counts as 1 */
  assert_int_equal(toft_recycler_get_stats(&r).used, 16);
  toft_recycler_free(&r, a, 0);
  toft_recycler_free(&r, b, 0);
  assert_int_equal(toft_recycler_get_stats(&r).used, 0);
  toft_recycler_release(&r);

  o.count = 3; /* of no size */
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_EARG);
  o.count = 0;
  o.block_size = 3;
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_EARG);
  o.count = SIZE_MAX / 2;
  o.block_size = 4096;
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_EARG);
  o.count = 1;
  o.block_size = SIZE_MAX - 10;
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_EARG);
  o.count = o.block_size = 0;
  o.size = 3;
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_EARG);
}

static void trim_keeps_the_requested_bytes(void **state) {
  (void)state;
  size_t n;
  counted c;
  toft_recycler r;
  static void *p[50000];
  recycler_on(&r, counted_init(&c));
  for (size_t i = 0; i < 50000; i++) p[i] = toft_recycler_alloc(&r, 64, 8);
  void *large = toft_recycler_alloc(&r, 500000, 8);
  size_t full = c.bytes;
  toft_recycler_trim(&r, 0);
  assert_true(c.bytes > full / 2); /* live objects stay */
  for (size_t i = 1; i < 50000; i++) toft_recycler_free(&r, p[i], 64);
  toft_recycler_free(&r, large, 500000);
  toft_recycler_trim(&r, SIZE_MAX);
  size_t idle = c.bytes;
  toft_recycler_trim(&r, 1 << 20);
  assert_true(c.bytes < idle && c.bytes >= 1 << 20);
  toft_recycler_trim(&r, 0);
  assert_true(c.bytes <= 2 << 20); /* the segment of p[0] */
  assert_int_equal(toft_recycler_get_stats(&r).used, 64);
  size_t left = c.bytes, takes = c.takes; /* it grows again from there */
  for (n = 1; c.takes == takes; n++) assert_non_null(p[n] = toft_recycler_alloc(&r, 64, 8));
  assert_true(c.bytes <= 2 * left);
  while (--n > 0) toft_recycler_free(&r, p[n], 64);
  toft_recycler_free(&r, p[0], 64);
  toft_recycler_trim(&r, 0);
  assert_int_equal(c.bytes, 0);
  p[0] = toft_recycler_alloc(&r, 64, 8); /* the recycler still works */
  assert_non_null(p[0]);
  recycler_end(&r, &c);
}

static void resize_in_place(void **state) {
  (void)state;
  toft_recycler r;
  assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
  char *p = (char *)toft_recycler_alloc(&r, 1000, 8);
  assert_ptr_equal(toft_recycler_resize(&r, p, 1000, 1024, 8), p); /* the bytes of its class */
  assert_ptr_equal(toft_recycler_resize(&r, p, 1024, 600, 8), p);
  assert_int_equal(toft_recycler_get_stats(&r).used, 1024);
  memset(p, 5, 600);
  char *moved = (char *)toft_recycler_resize(&r, p, 600, 100, 8); /* less than half would be used */
  assert_true(moved != p && moved[0] == 5 && moved[99] == 5);
  assert_int_equal(toft_recycler_get_stats(&r).used, 104);
  toft_recycler_free(&r, moved, 100);
  char *large = (char *)toft_recycler_alloc(&r, 100000, 8);
  assert_ptr_equal(toft_recycler_resize(&r, large, 100000, 60000, 8), large);
  large = (char *)toft_recycler_resize(&r, large, 60000, 100, 8); /* into a slab */
  assert_non_null(large);
  toft_recycler_free(&r, large, 100);
  assert_int_equal(toft_recycler_get_stats(&r).used, 0);
  assert_int_equal(toft_recycler_get_stats(&r).blocks, 0);
  toft_recycler_release(&r);
}

/* An object that shrinks stays where it is if there is no memory for a copy. */
static void a_shrink_cannot_fail(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  static const size_t sizes[] = {4000, 16000, 30000, 2000000};
  for (size_t i = 0; i < 4; i++) {
    recycler_on(&r, counted_init(&c));
    unsigned char *p = (unsigned char *)toft_recycler_alloc(&r, sizes[i], 8);
    assert_non_null(p);
    fill(p, sizes[i], 3);
    c.fail_from = 1;
    while (toft_recycler_alloc(&r, 10, 8) != NULL) continue;
    assert_ptr_equal(toft_recycler_resize(&r, p, sizes[i], 10, 8), p);
    assert_true(filled(p, 10, 3));
    assert_null(toft_recycler_resize(&r, p, 10, 2 * sizes[i] + 100000, 8));
    toft_recycler_free(&r, p, 10);
    recycler_end(&r, &c);
  }
}

static void counted_blocks_do_not_spill(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  uint32_t random = 4;
  with_blocks(&r, counted_init(&c), 10, 10000);
  assert_true(c.bytes <= 2 * 100000);
  c.fail_from = 2;
  for (int round = 0; round < 100; round++) {
    void *p[10];
    for (int i = 0; i < 10; i++) { /* exactly the requested size */
      p[i] = toft_recycler_alloc(&r, 10000, 16);
      assert_non_null(p[i]);
    }
    assert_null(toft_recycler_alloc(&r, 100000, 16));
    for (int i = 0; i < 10; i++) toft_recycler_free(&r, p[(i + round) % 10], 10000);
  }
  static void *small[2000];
  for (int round = 0; round < 100; round++) { /* and by pieces, which are freed in any order */
    for (size_t i = 0; i < 2000; i++) {
      small[i] = toft_recycler_alloc(&r, 40, 8);
      assert_non_null(small[i]);
    }
    for (size_t i = 2000; i > 0; i--) {
      size_t k = next_random(&random) % i;
      toft_recycler_free(&r, small[k], 40);
      small[k] = small[i - 1];
    }
  }
  assert_int_equal(c.takes, 1);
  assert_int_equal(toft_recycler_get_stats(&r).used, 0);
  recycler_end(&r, &c);
}

/* A program that was compiled for another layout gets an error. */
static void another_layout(void **state) {
  (void)state;
  toft_recycler r;
  assert_int_equal(toft_recycler_init_layout(&r, NULL, TOFT_RECYCLER_LAYOUT << 16 | (sizeof r + 8)), TOFT_EARG);
  assert_int_equal(toft_recycler_init_layout(&r, NULL, (TOFT_RECYCLER_LAYOUT + 1) << 16 | sizeof r), TOFT_EARG);
}

#ifndef _WIN32
/* A source whose blocks can be made inaccessible. */
#define PAGE_BLOCKS 64
typedef struct page_blocks {
  toft_source source;
  unsigned char *base[PAGE_BLOCKS];
  size_t size[PAGE_BLOCKS], count;
} page_blocks;

static void *page_blocks_take(toft_source *self, size_t size) {
  page_blocks *b = (page_blocks *)(void *)self;
  void *p = b->count < PAGE_BLOCKS ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                   : MAP_FAILED;
  if (p == MAP_FAILED) return NULL;
  b->base[b->count] = (unsigned char *)p;
  b->size[b->count++] = size;
  return p;
}

static void page_blocks_put(toft_source *self, void *block, size_t size) {
  (void)self;
  munmap(block, size);
}

/* The cost of statistics does not grow with the blocks held. */
static void statistics_read_no_full_block(void **state) {
  (void)state;
  static page_blocks b = {{page_blocks_take, page_blocks_put, NULL}, {NULL}, {0}, 0};
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  o.source = &b.source;
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
  size_t used = 0;
  for (; used < (8 << 20); used += 64 + 5360 + 100000) {
    assert_non_null(toft_recycler_alloc(&r, 64, 8));
    assert_non_null(toft_recycler_alloc(&r, 5000, 8));
    assert_non_null(toft_recycler_alloc(&r, 100000, 8));
  }
  int reads[PAGE_BLOCKS] = {0}; /* the current slab of a class */
  for (size_t i = 0; i < b.count; i++) {
    for (size_t k = 0; k < TOFT_RECYCLER_CLASSES; k++)
      reads[i] |= (unsigned char *)r.current[k] >= b.base[i] && (unsigned char *)r.current[k] < b.base[i] + b.size[i];
    if (!reads[i]) assert_int_equal(mprotect(b.base[i], b.size[i], PROT_NONE), 0);
  }
  assert_true(b.count > 4);
  toft_recycler_stats s = toft_recycler_get_stats(&r);
  assert_int_equal(s.used, used);
  assert_int_equal(s.used + s.pinned + s.kept + s.wasted, s.reserved);
  for (size_t i = 0; i < b.count; i++)
    if (!reads[i]) assert_int_equal(mprotect(b.base[i], b.size[i], PROT_READ | PROT_WRITE), 0);
  toft_recycler_release(&r);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams),
      cmocka_unit_test(streams_on_the_heap),
      cmocka_unit_test(streams_on_counted_blocks),
      cmocka_unit_test(a_slab_is_left),
      cmocka_unit_test(any_alignment),
      cmocka_unit_test(bad_input),
      cmocka_unit_test(trim_keeps_the_requested_bytes),
      cmocka_unit_test(resize_in_place),
      cmocka_unit_test(a_shrink_cannot_fail),
      cmocka_unit_test(counted_blocks_do_not_spill),
      cmocka_unit_test(another_layout),
#ifndef _WIN32
      cmocka_unit_test(statistics_read_no_full_block),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
