/* Objects above TOFT_RECYCLER_CLASS_MAX that share blocks. Such a block is divided into 64 grains of 504 bytes, and
 * its header has a bit for each free grain, so that adjacent free grains are one run without further work. The blocks
 * are listed by their longest run. An allocation takes the first run that is long enough in a block whose longest run
 * is the shortest that serves the request: long runs are kept for larger objects. All calls take constant time.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_MEDIUM_C
#define TOFT_RECYCLER_RECYCLER_MEDIUM_C

#include "recycler.c"

#define TOFT_RECYCLER_MEDIUM_GRAIN (TOFT_RECYCLER_DIRECT / 64)

TOFT_STATIC_ASSERT(recycler_medium_grain, TOFT_RECYCLER_MEDIUM_GRAIN % 8 == 0);
TOFT_STATIC_ASSERT(recycler_medium_min,
                   TOFT_RECYCLER_CLASS_MAX / TOFT_RECYCLER_MEDIUM_GRAIN + 1 == TOFT_RECYCLER_MEDIUM_MIN);

/* ---- a block's grains: bit i is set if grain i is free ---- */

static uint64_t toft_recycler_grains(const toft_recycler_block *b) { return (uint64_t)b->widest << 32 | b->holes; }

/* Where grain 0 starts: in whole units the first `phase` bytes of it are not used. */
static unsigned char *toft_recycler_first_grain(toft_recycler_block *b) {
  return toft_recycler_start(b) - b->owner->phase;
}

/* A shorter grain at the end of a block belongs to no run. */
static uint64_t toft_recycler_all_grains(const toft_recycler_block *b) {
  return UINT64_MAX >> (64 - ((size_t)b->capacity + b->owner->phase) / TOFT_RECYCLER_MEDIUM_GRAIN);
}

/* The grains of `size` bytes that start `from` bytes after grain 0. */
static uint64_t toft_recycler_grain_mask(size_t from, size_t size) {
  size_t first = from / TOFT_RECYCLER_MEDIUM_GRAIN, last = (from + size - 1) / TOFT_RECYCLER_MEDIUM_GRAIN;
  return UINT64_MAX >> (63 - (last - first)) << first;
}

static uint64_t toft_recycler_grains_of(toft_recycler_block *b, const void *p, size_t size) {
  size_t from = (size_t)((const unsigned char *)p - toft_recycler_first_grain(b));
  return toft_recycler_grain_mask(from, size) & toft_recycler_all_grains(b);
}

/* The grains that start a run of at least `count` free ones. */
static uint64_t toft_recycler_runs(uint64_t grains, size_t count) {
  for (; count > 1; count -= count / 2) grains &= grains >> count / 2;
  return grains;
}

static size_t toft_recycler_longest_run(uint64_t grains) {
  uint64_t runs[6], starts = UINT64_MAX; /* runs[i]: starts of runs of 2^i grains */
  size_t longest = 0;
  int i;
  runs[0] = grains;
  for (i = 1; i < 6; i++) runs[i] = runs[i - 1] & runs[i - 1] >> (1 << (i - 1));
  for (i = 5; i >= 0; i--) {
    if ((starts & runs[i] >> longest) == 0) continue;
    starts &= runs[i] >> longest;
    longest += (size_t)1 << i;
  }
  return longest;
}

/* ---- the lists ---- */

/* Moves a block to the list of its longest run. A block without a run that any request fits in is in no list. */
static void toft_recycler_medium_move(toft_recycler *r, toft_recycler_block *b, size_t run) {
  toft_recycler_list *list;
  if (b->swept >= TOFT_RECYCLER_MEDIUM_MIN) {
    list = &r->medium[b->swept - TOFT_RECYCLER_MEDIUM_MIN];
    toft_recycler_unlink(list, b);
    if (list->first == NULL) r->medium_runs &= ~((uint64_t)1 << b->swept);
  }
  b->swept = (int32_t)run;
  if (run < TOFT_RECYCLER_MEDIUM_MIN) return;
  list = &r->medium[run - TOFT_RECYCLER_MEDIUM_MIN];
  if ((r->medium_runs >> run & 1) == 0) list->first = list->last = NULL;
  r->medium_runs |= (uint64_t)1 << run;
  toft_recycler_push(list, b, TOFT_RECYCLER_FILLED);
}

/* Sets the free grains and the live bytes of a block. */
static void toft_recycler_medium_update(toft_recycler *r, toft_recycler_block *b, uint64_t grains, size_t live) {
  size_t run = live != 0 ? toft_recycler_longest_run(grains) : 0;
  b->holes = (uint32_t)grains;
  b->widest = (uint32_t)(grains >> 32);
  toft_recycler_live_add(r, b, (ptrdiff_t)live - b->live);
  if (run != (size_t)b->swept) toft_recycler_medium_move(r, b, run);
  if (live == 0) toft_recycler_block_emptied(r, b);
}

/* ---- allocate, free, resize. Sizes are multiples of 8 above TOFT_RECYCLER_CLASS_MAX; r has no count ---- */

static void *toft_recycler_medium_alloc(toft_recycler *r, size_t size, size_t align) {
  size_t pad = toft_max(align - 8, r->phase); /* before the object, at most: grains start at multiples of 8 */
  size_t count = (size + pad + TOFT_RECYCLER_MEDIUM_GRAIN - 1) / TOFT_RECYCLER_MEDIUM_GRAIN;
  uint64_t lists = count < 64 ? r->medium_runs >> count << count : 0, grains;
  unsigned char *p;
  toft_recycler_block *b;
  if (lists != 0) {
    b = r->medium[toft_lowest_bit(lists) - TOFT_RECYCLER_MEDIUM_MIN].first;
    grains = toft_recycler_grains(b);
    p = toft_recycler_first_grain(b) + toft_lowest_bit(toft_recycler_runs(grains, count)) * TOFT_RECYCLER_MEDIUM_GRAIN;
  } else {
    b = toft_recycler_take_block(r, size, align);
    if (b == NULL) return NULL;
    b->swept = 0; /* in no list */
    grains = toft_recycler_all_grains(b);
    p = toft_recycler_first_grain(b);
  }
  p += (r->phase - (uintptr_t)p) & (r->phase != 0 ? 15 : align - 1); /* with a phase, align is 8 */
  toft_recycler_medium_update(r, b, grains & ~toft_recycler_grains_of(b, p, size), (size_t)b->live + size);
  return p;
}

static void toft_recycler_medium_free(toft_recycler *r, void *p, size_t size) {
  toft_recycler_block *b = toft_recycler_block_of(p);
  uint64_t grains = toft_recycler_grains(b) | toft_recycler_grains_of(b, p, size);
  toft_recycler_medium_update(r, b, grains, (size_t)b->live - size);
}

/* Resizes in place; 0: not possible. */
static int toft_recycler_medium_resize(toft_recycler *r, void *p, size_t was, size_t now) {
  toft_recycler_block *b = toft_recycler_block_of(p);
  size_t from = (size_t)((unsigned char *)p - toft_recycler_start(b));
  uint64_t grains = toft_recycler_grains(b) | toft_recycler_grains_of(b, p, was), needed;
  if (now > (size_t)b->capacity - from) return 0;
  needed = toft_recycler_grains_of(b, p, now);
  if ((grains & needed) != needed) return 0;
  toft_recycler_medium_update(r, b, grains & ~needed, (size_t)b->live - was + now);
  return 1;
}

#endif
