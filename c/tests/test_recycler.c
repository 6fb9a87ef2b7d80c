/* Recyclers: a stream of allocations and frees against a shadow, and what the header promises about blocks.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef _WIN32
#include <sys/mman.h>
#endif

#include <time.h>

#include "support.h"

#define LIVE_MAX 4096

typedef struct object {
  unsigned char *p;
  size_t size, align, bytes; /* as recycler_bytes counts */
  unsigned seed;
} object;

typedef struct shadow {
  toft_recycler *r;
  object live[LIVE_MAX];
  size_t count, bytes; /* bytes: of all */
  uint32_t random;
} shadow;

static shadow *shadow_of(toft_recycler *r, uint32_t seed) {
  shadow *s = (shadow *)calloc(1, sizeof *s);
  assert_non_null(s);
  s->r = r;
  s->random = seed;
  return s;
}

/* Whether objects of this size lie in slabs. */
static int is_small(size_t size, size_t align) { return align <= 64 && size <= (align > 16 ? 4096 : 16112); }

static int shadow_add(shadow *s, size_t size, size_t align) {
  object *o = &s->live[s->count];
  o->p = (unsigned char *)toft_recycler_alloc(s->r, size, align);
  if (o->p == NULL) return 0;
  assert_true(is_aligned(o->p, align < 8 ? 8 : align));
  /* a free recognizes large objects by the address */
  assert_int_equal((uintptr_t)o->p % 4096 != 0, is_small(size, align));
  o->size = size;
  o->align = align;
  o->seed = next_random(&s->random);
  fill(o->p, size, o->seed);
  s->count++;
  s->bytes += o->bytes = recycler_bytes(size, align);
  return 1;
}

static void shadow_drop(shadow *s, size_t i) {
  object o = s->live[i];
  assert_true(filled(o.p, o.size, o.seed)); /* so no two overlap */
  toft_recycler_free(s->r, o.p, o.size);
  s->live[i] = s->live[--s->count];
  s->bytes -= o.bytes;
}

static void shadow_resize(shadow *s, size_t i, size_t size) {
  object *o = &s->live[i];
  unsigned char *p = (unsigned char *)toft_recycler_resize(s->r, o->p, o->size, size, o->align);
  assert_non_null(p);
  assert_true(is_aligned(p, o->align));
  assert_true(filled(p, size < o->size ? size : o->size, o->seed));
  fill(p, size, o->seed);
  s->bytes -= o->bytes;
  if (p != o->p || (uintptr_t)p % 4096 == 0) o->bytes = recycler_bytes(size, p == o->p ? 4096 : o->align);
  s->bytes += o->bytes;
  o->p = p;
  o->size = size;
}

static void assert_stats(const shadow *s) {
  toft_recycler_stats t = toft_recycler_get_stats(s->r);
  assert_int_equal(t.used, s->bytes);
  assert_int_equal(t.used + t.pinned + t.kept + t.wasted, t.reserved);
  assert_true(t.peak >= t.reserved);
  assert_true((t.blocks != 0) == (s->count != 0));
}

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
    toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
    o.source = counted_init(&c);
    assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
    stream(&r, seed, 20000);
    toft_recycler_trim(&r, 0);
    assert_int_equal(toft_recycler_get_stats(&r).reserved, 0); /* nothing is live, so nothing is held */
    counted_all_back(&c);
    stream(&r, seed + 100, 5000);
    toft_recycler_release(&r);
    counted_all_back(&c);
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

static void streams_on_counted_blocks(void **state) {
  static const struct {
    size_t count, size;
  } some[] = {{10, 10000}, {3, 100}, {7, 50000}, {2, 900000}, {100, 1}, {1, 32768}};
  (void)state;
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
    counted c;
    toft_recycler r;
    toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
    o.source = counted_init(&c);
    o.count = some[i].count;
    o.block_size = some[i].size;
    assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
    assert_int_equal(c.takes, 1);
    stream(&r, (uint32_t)i + 5, 10000);
    toft_recycler_release(&r);
    counted_all_back(&c);
  }
}

static void a_block_comes_back(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  static void *p[5000];
  o.source = counted_init(&c);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
  assert_int_equal(c.attempts, 0); /* nothing is taken before it is needed */
  for (size_t round = 0; round < rounds_of(1000); round++) {
    for (size_t i = 0; i < 5000; i++) p[i] = toft_recycler_alloc(&r, 40, 8);
    for (size_t i = 0; i < 5000; i++) toft_recycler_free(&r, p[round % 2 ? i : 4999 - i], 40);
  }
  assert_true(c.takes <= 6);
  assert_true(c.peak <= 2 * 5000 * 40 + 3 * 32768);
  toft_recycler_release(&r);
  counted_all_back(&c);
}

/* One object in eleven stays: the memory between them is filled again, and does not grow. */
static void holes_are_filled(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  static void *p[20000];
  size_t stays = 0, before = 0;
  o.source = counted_init(&c);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
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
  toft_recycler_release(&r);
  counted_all_back(&c);
}

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

/* Replaces `count` objects of `least` to `least + range - 1` bytes at random, 20 times each on average. */
static void replace_at_random(size_t count, size_t least, size_t range) {
  enum { LIVE = 20000 };
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  static struct {
    unsigned char *p;
    size_t size;
  } all[LIVE];
  uint32_t random = 3;
  size_t live = 0;
  o.source = counted_init(&c);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
  memset(all, 0, sizeof all);
  for (size_t i = 0; i < 20 * count; i++) {
    size_t k = i < count ? i : next_random(&random) % count;
    live -= recycler_bytes(all[k].size, 8) * (all[k].p != NULL);
    if (all[k].p != NULL) toft_recycler_free(&r, all[k].p, all[k].size);
    all[k].size = least + next_random(&random) % range;
    assert_non_null(all[k].p = (unsigned char *)toft_recycler_alloc(&r, all[k].size, 8));
    live += recycler_bytes(all[k].size, 8);
  }
  assert_int_equal(toft_recycler_get_stats(&r).used, live);
  assert_true(c.peak < live * 8 / 5);
  toft_recycler_release(&r);
  counted_all_back(&c);
}

/* The holes of replaced objects are reused: memory stays below 1.6 times the live bytes. */
static void random_replacement_stays_dense(void **state) {
  (void)state;
  replace_at_random(20000, 20, 1000);
  replace_at_random(1000, 4097, 20000);
  replace_at_random(1000, 16000, 1); /* two fit a unit */
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

/* A size class in use takes one page, or two above 512 bytes. */
static void small_heaps_share_blocks(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  o.source = counted_init(&c);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
  for (size_t size = 8; size <= 1024; size += 8) assert_non_null(toft_recycler_alloc(&r, size, 8)); /* 66 KiB */
  assert_true(c.bytes <= 384 << 10);
  toft_recycler_release(&r);
  counted_all_back(&c);
}

/* Holes that are too narrow for one request are there for the next. */
static void narrow_holes_wait(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  static void *p[40000];
  o.source = counted_init(&c);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
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
  toft_recycler_release(&r);
  counted_all_back(&c);
}

/* Objects of some KiB stay, which were allocated among larger ones that were freed, with small ones in between: the
 * gaps must be reused before new memory is taken. */
static void mixed_sizes_stay_dense(void **state) {
  (void)state;
  enum { PAGES = 3000, PAGE = 4368, RECORDS = 40000 }; /* a round of records: 1.6 MB */
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  static void *pages[PAGES], *records[RECORDS];
  uint32_t random = 1;
  o.source = counted_init(&c);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
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
  toft_recycler_release(&r);
  counted_all_back(&c);
}

/* What an alignment cut off is a hole too: a block that has such is filled again. */
static void paddings_are_holes(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  static void *p[20000];
  o.source = counted_init(&c);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
  for (size_t i = 0; i < 20000; i++) {
    assert_non_null(toft_recycler_alloc(&r, 8, 8)); /* stays */
    p[i] = toft_recycler_alloc(&r, 64, 64);
    assert_true(p[i] != NULL && is_aligned(p[i], 64));
  }
  for (size_t i = 0; i < 20000; i++) toft_recycler_free(&r, p[i], 64);
  size_t before = c.bytes;
  for (size_t i = 0; i < 20000; i++) assert_non_null(toft_recycler_alloc(&r, 64, 8));
  assert_true(c.bytes <= before + 65536);
  toft_recycler_release(&r);
  counted_all_back(&c);
}

static void oversize_rounds_stay_flat(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  uint32_t random = 9;
  o.source = counted_init(&c);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
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
  toft_recycler_release(&r);
  counted_all_back(&c);
}

/* Where more than 512 KiB of them is live, large objects share regions: next to each other, in any order of frees. */
static void large_objects_share_regions(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  o.source = counted_init(&c);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
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

static void oversize_mixtures_stay_small(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  uint32_t random = 4;
  size_t most = 0;
  o.source = counted_init(&c);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
  for (size_t round = 0; round < 20000; round++) {
    unsigned char *p[4];
    size_t size[4], live = 0;
    for (size_t i = 0; i < 4; i++) {
      live += size[i] = 65536 + next_random(&random) % (1048576 - 65536);
      p[i] = (unsigned char *)toft_recycler_alloc(&r, size[i], 16);
      assert_non_null(p[i]);
      p[i][0] = p[i][size[i] - 1] = 1;
    }
    if (live > most) most = live;
    for (size_t i = 0; i < 4; i++) toft_recycler_free(&r, p[i], size[i]);
  }
  assert_true(c.peak < 2 * most);
  assert_true(c.takes < 12);
  toft_recycler_release(&r);
  counted_all_back(&c);
}

/* Holes are found in any of a dozen regions. */
static void many_large_objects_stay_close(void **state) {
  (void)state;
  enum { LIVE = 400 };
  static struct {
    void *p;
    size_t size;
  } piece[LIVE];
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  uint32_t random = 6;
  size_t live = 0, most = 0;
  o.source = counted_init(&c);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
  memset(piece, 0, sizeof piece);
  for (size_t i = 0; i < 8000; i++) {
    size_t k = i < LIVE ? i : next_random(&random) % LIVE;
    if (piece[k].p != NULL) toft_recycler_free(&r, piece[k].p, piece[k].size);
    live -= piece[k].size;
    live += piece[k].size = 30000 + next_random(&random) % 270000;
    piece[k].p = toft_recycler_alloc(&r, piece[k].size, 16);
    assert_non_null(piece[k].p);
    if (live > most) most = live;
  }
  assert_true(c.peak < most + most / 3);
  toft_recycler_release(&r);
  counted_all_back(&c);
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

/* In order of addresses, in reverse, and in pairs: statistics and trim include the pending frees. */
static void neighbours_are_joined(void **state) {
  (void)state;
  static void *p[5000];
  for (int way = 0; way < 4; way++) {
    counted c;
    toft_recycler r;
    toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
    o.source = counted_init(&c);
    assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
    for (int round = 0; round < 3; round++) {
      for (size_t i = 0; i < 5000; i++) p[i] = toft_recycler_alloc(&r, i % 3 ? 40 : 0, 8);
      for (size_t i = 0; i < 5000; i++) {
        size_t k = way == 0 ? i : way == 1 ? 4999 - i : way == 2 ? i ^ 1 : (i * 7 + 3) % 5000;
        toft_recycler_free(&r, p[k], k % 3 ? 40 : 0);
        if (i % 499 == 0) {
          toft_recycler_stats s = toft_recycler_get_stats(&r);
          assert_int_equal(s.used + s.pinned + s.kept + s.wasted, s.reserved);
        }
      }
      assert_int_equal(toft_recycler_get_stats(&r).used, 0);
      assert_int_equal(toft_recycler_get_stats(&r).blocks, 0);
    }
    assert_true(c.bytes <= 512 << 10);
    toft_recycler_trim(&r, 0);
    counted_all_back(&c);
  }
}

static void any_alignment(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  o.source = counted_init(&c);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
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
  toft_recycler_release(&r);
  counted_all_back(&c);
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

/* Each request of a block fails once, until all succeed: nothing is lost, and all live objects stay. */
static void no_memory(void **state) {
  (void)state;
  for (size_t fail_at = 1, failures = 1; failures != 0; fail_at++) {
    counted c;
    toft_recycler r;
    toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
    o.source = counted_init(&c);
    c.fail_at = fail_at;
    if (fail_at % 2) {
      o.count = 2;
      o.block_size = 1000;
    }
    failures = 0;
    if (toft_recycler_init(&r, &o) != TOFT_OK) {
      assert_int_equal(c.out, 0);
      failures = 1;
      continue;
    }
    shadow *s = shadow_of(&r, 3);
    for (size_t i = 0; i < rounds_of(3000); i++) {
      toft_recycler_stats before = toft_recycler_get_stats(&r);
      size_t size = i % 50 == 0 ? 50000 : i % 9 == 0 ? 6000 : i % 300;
      c.fail_from = c.fail_at == c.attempts + 1 ? c.fail_at : 0; /* nor does a smaller segment help */
      if (!shadow_add(s, size, i % 70 == 0 ? 65536 : 8)) {
        failures++;
        assert_int_equal(toft_recycler_get_stats(&r).used, before.used);
        c.fail_from = 0;
        assert_true(shadow_add(s, size, 8));
      }
      if (i % 3 == 0) shadow_drop(s, i % s->count);
    }
    while (s->count != 0) shadow_drop(s, 0);
    assert_stats(s);
    free(s);
    toft_recycler_release(&r);
    counted_all_back(&c);
  }
}

static void trim_keeps_the_requested_bytes(void **state) {
  (void)state;
  size_t n;
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  static void *p[50000];
  o.source = counted_init(&c);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
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
  toft_recycler_release(&r);
  counted_all_back(&c);
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
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  static const size_t sizes[] = {4000, 16000, 30000, 2000000};
  for (size_t i = 0; i < 4; i++) {
    o.source = counted_init(&c);
    assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
    unsigned char *p = (unsigned char *)toft_recycler_alloc(&r, sizes[i], 8);
    assert_non_null(p);
    fill(p, sizes[i], 3);
    c.fail_from = 1;
    while (toft_recycler_alloc(&r, 10, 8) != NULL) continue;
    assert_ptr_equal(toft_recycler_resize(&r, p, sizes[i], 10, 8), p);
    assert_true(filled(p, 10, 3));
    assert_null(toft_recycler_resize(&r, p, 10, 2 * sizes[i] + 100000, 8));
    toft_recycler_free(&r, p, 10);
    toft_recycler_release(&r);
    counted_all_back(&c);
  }
}

static void counted_blocks_do_not_spill(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  uint32_t random = 4;
  o.source = counted_init(&c);
  o.count = 10;
  o.block_size = 10000;
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
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
  toft_recycler_release(&r);
  counted_all_back(&c);
}

static void release_and_go_on(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  o.source = counted_init(&c);
  o.count = 2;
  o.block_size = 5000;
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < 2000; i++) assert_non_null(toft_recycler_alloc(&r, (size_t)(i % 100), 8));
    assert_non_null(toft_recycler_alloc(&r, 200000, 8));
    toft_recycler_release(&r);
    counted_all_back(&c);
    toft_recycler_release(&r); /* twice is once */
  }
  toft_recycler_stats s = toft_recycler_get_stats(&r);
  assert_int_equal(s.reserved, 0);
  assert_int_equal(s.blocks + s.idle_blocks, 0);
}

/* A program that was compiled for another layout gets an error. */
static void another_layout(void **state) {
  (void)state;
  toft_recycler r;
  assert_int_equal(toft_recycler_init_layout(&r, NULL, TOFT_RECYCLER_LAYOUT << 16 | (sizeof r + 8)), TOFT_EARG);
  assert_int_equal(toft_recycler_init_layout(&r, NULL, (TOFT_RECYCLER_LAYOUT + 1) << 16 | sizeof r), TOFT_EARG);
}

#ifndef TOFT_OMIT_PAGE_CACHE
enum { MANY = 40000 };
static void *many[MANY];

/* Fills 10 MB with objects of all sizes and frees those whose index is no multiple of `kept`. */
static void fill_and_free(toft_recycler *r, size_t kept) {
  for (size_t i = 0; i < MANY; i++) assert_non_null(many[i] = toft_recycler_alloc(r, i % 50 ? i % 300 : i % 7000, 8));
  for (size_t i = 0; i < MANY; i++)
    if (i % kept != 0) toft_recycler_free(r, many[i], i % 50 ? i % 300 : i % 7000);
}

static void free_the_rest(toft_recycler *r, size_t kept) {
  for (size_t i = 0; i < MANY; i += kept) toft_recycler_free(r, many[i], i % 50 ? i % 300 : i % 7000);
}

/* A large object comes and goes, two windows later. */
static void use_later(toft_recycler *r) {
  struct timespec pause = {0, 30 * 1000 * 1000};
  for (int i = 0; i < 3; i++) {
    (void)nanosleep(&pause, NULL);
    toft_recycler_free(r, toft_recycler_alloc(r, 20000, 8), 20000);
  }
}

/* After a peak of use the memory returns without a call of trim; before that it stays. */
static void memory_follows_use(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  size_t window = toft_page_cache_window(10000);
  o.source = counted_init(&c);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
  fill_and_free(&r, MANY);
  free_the_rest(&r, MANY);
  size_t peak = c.bytes;
  assert_true(peak > 5 << 20);
  fill_and_free(&r, MANY);
  free_the_rest(&r, MANY);
  assert_int_equal(c.bytes, peak); /* used again */
  toft_page_cache_window(10);
  use_later(&r);
  assert_true(c.bytes < 512 << 10);
  toft_page_cache_window(window);
  toft_recycler_release(&r);
  counted_all_back(&c);
}

/* Idle memory between objects, which cannot return, is searched once in a window: a call that follows keeps the empty
 * slab of another class. */
static void what_cannot_return_is_searched_once(void **state) {
  (void)state;
  counted c;
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  size_t window = toft_page_cache_window(10);
  o.source = counted_init(&c);
  assert_int_equal(toft_recycler_init(&r, &o), TOFT_OK);
  fill_and_free(&r, 1000);
  use_later(&r);
  toft_page_cache_window(10000);
  toft_recycler_free(&r, toft_recycler_alloc(&r, 20000, 8), 20000);
  assert_true(r.idle > 3 * r.in_use && r.idle > 2 << 20); /* there is a surplus */
  size_t k, bytes;
  assert_true(toft_recycler_classify(2500, &k, &bytes)); /* a class without live objects */
  toft_recycler_free(&r, toft_recycler_alloc(&r, 2500, 8), 2500);
  const toft_recycler_slab *slab = r.current[k];
  assert_int_equal(slab->bytes, bytes);
  toft_recycler_free(&r, toft_recycler_alloc(&r, 20000, 8), 20000);
  assert_ptr_equal(r.current[k], slab);
  free_the_rest(&r, 1000);
  toft_page_cache_window(window);
  toft_recycler_release(&r);
  counted_all_back(&c);
}

/* So do the idle pages of segments with a few objects, where the source gives pages. */
static void pages_follow_use(void **state) {
  (void)state;
  toft_recycler r;
  size_t window = toft_page_cache_window(10000);
  assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
  fill_and_free(&r, 500);
  size_t idle = r.idle, reserved = r.reserved;
  assert_true(idle > 2 << 20);
  toft_page_cache_window(10);
  use_later(&r);
  assert_true(r.idle < idle / 4);
  assert_true(r.reserved > reserved / 4); /* the addresses stay, as far as segments have objects */
  for (size_t i = 0; i < MANY; i += 500) memset(many[i], 1, i % 50 ? i % 300 : i % 7000);
  free_the_rest(&r, 500);
  fill_and_free(&r, 2); /* the pages come back */
  toft_page_cache_window(window);
  toft_recycler_release(&r);
}

/* Early in a window a free returns no block and no page between objects: they are used again soon. Sizes change while
 * the bytes in use do not, so that ever more memory is idle. */
static void a_surplus_stays_for_a_part_of_a_window(void **state) {
  (void)state;
  enum { COUNT = 2000, LIVE = 24 << 20 };
  static const size_t least[] = {16200, 100000, 30000, 400000, 20000};
  static void *p[COUNT];
  static size_t sizes[COUNT];
  size_t window = toft_page_cache_window(1000000), live = 0, count = 0, surplus = 0;
  uint32_t random = 7;
  toft_recycler r;
  assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
  for (int i = 0; i < 4000; i++) {
    size_t size = least[i / 400 % 5];
    size += next_random(&random) % size;
    while (live + size > LIVE) {
      size_t k = next_random(&random) % count--, idle = r.idle, reserved = r.reserved;
      toft_recycler_free(&r, p[k], sizes[k]);
      assert_true(r.idle > idle && r.reserved == reserved);
      if (r.idle > surplus) surplus = r.idle;
      live -= sizes[k];
      p[k] = p[count];
      sizes[k] = sizes[count];
    }
    assert_non_null(p[count] = toft_recycler_alloc(&r, size, 8));
    sizes[count++] = size;
    live += size;
  }
  assert_true(surplus > LIVE / 4); /* more than is kept beyond the peak of use */
  toft_page_cache_window(window);
  toft_recycler_release(&r);
}
#endif

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
      cmocka_unit_test(a_block_comes_back),
      cmocka_unit_test(holes_are_filled),
      cmocka_unit_test(freed_objects_are_reused_first),
      cmocka_unit_test(random_replacement_stays_dense),
      cmocka_unit_test(parts_of_a_unit),
      cmocka_unit_test(small_heaps_share_blocks),
      cmocka_unit_test(narrow_holes_wait),
      cmocka_unit_test(mixed_sizes_stay_dense),
      cmocka_unit_test(paddings_are_holes),
      cmocka_unit_test(oversize_rounds_stay_flat),
      cmocka_unit_test(large_objects_share_regions),
      cmocka_unit_test(oversize_mixtures_stay_small),
      cmocka_unit_test(large_objects_grow_in_place),
      cmocka_unit_test(doubling_leaves_its_regions),
      cmocka_unit_test(large_objects_without_regions),
      cmocka_unit_test(many_large_objects_stay_close),
      cmocka_unit_test(neighbours_are_joined),
      cmocka_unit_test(any_alignment),
      cmocka_unit_test(bad_input),
      cmocka_unit_test(no_memory),
      cmocka_unit_test(trim_keeps_the_requested_bytes),
      cmocka_unit_test(resize_in_place),
      cmocka_unit_test(a_shrink_cannot_fail),
      cmocka_unit_test(counted_blocks_do_not_spill),
      cmocka_unit_test(release_and_go_on),
      cmocka_unit_test(another_layout),
#ifndef TOFT_OMIT_PAGE_CACHE
      cmocka_unit_test(memory_follows_use),
      cmocka_unit_test(what_cannot_return_is_searched_once),
      cmocka_unit_test(pages_follow_use),
      cmocka_unit_test(a_surplus_stays_for_a_part_of_a_window),
#endif
#ifndef _WIN32
      cmocka_unit_test(statistics_read_no_full_block),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
