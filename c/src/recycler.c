/* Recyclers: blocks that count what is live in them. See recycler.h for the layout and the inline layer.
 *
 * A block is fresh, being filled (now or aside), full, sparse or empty. What is freed in it is chained up through the
 * freed bytes themselves and not looked at again, until the block is empty, or sparse enough to be worth a sweep: then
 * the pieces are sorted and joined by a bitmap on the stack, and filled in the order of their addresses.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "internal.h"

enum { TOFT_RECYCLER_FILLED = 0, TOFT_RECYCLER_FULL, TOFT_RECYCLER_SPARSE, TOFT_RECYCLER_EMPTY };

#define TOFT_RECYCLER_LOOKS 16                         /* at blocks of a list, for one that fits */
#define TOFT_RECYCLER_SWEEPS 4                         /* in vain, before another block is filled */
#define TOFT_RECYCLER_LITTLE 4096                      /* larger requests are served aside */
#define TOFT_RECYCLER_TINY 512                         /* larger ones do not look into holes */
#define TOFT_RECYCLER_SWEPT 8192                       /* granules of the largest block that is ever swept */
#define TOFT_RECYCLER_COUNTED_MAX ((size_t)1024 << 20) /* granules: positions have 32 bits */

/* In a free line of the zone of the segment's first whole unit. */
typedef struct toft_recycler_segment {
  struct toft_recycler_segment *next;
  unsigned char *base, *first, *end; /* as the source gave it; what is cut into units */
  size_t size;
  size_t busy; /* units that are not empty */
} toft_recycler_segment;

/* In front of a large object. */
typedef struct toft_recycler_large {
  struct toft_recycler_large *next, *previous;
  unsigned char *base;
  size_t size; /* as asked of the source */
  size_t used;
  toft_recycler *owner;
} toft_recycler_large;

TOFT_STATIC_ASSERT(recycler_segment, sizeof(toft_recycler_segment) <= 64);
TOFT_STATIC_ASSERT(recycler_large, sizeof(toft_recycler_large) <= 64);

/* ---- lists ---- */

static void toft_recycler_push(toft_recycler_list *list, toft_recycler_block *b, int32_t name) {
  b->list = name;
  b->previous = NULL;
  b->next = list->first;
  if (list->first != NULL) list->first->previous = b;
  if (list->last == NULL) list->last = b;
  list->first = b;
}

static void toft_recycler_unlink(toft_recycler_list *list, toft_recycler_block *b) {
  *(b->previous != NULL ? &b->previous->next : &list->first) = b->next;
  *(b->next != NULL ? &b->next->previous : &list->last) = b->previous;
  b->list = TOFT_RECYCLER_FILLED;
}

static void toft_recycler_push_large(toft_recycler_larges *list, toft_recycler_large *l) {
  l->previous = NULL;
  l->next = list->first;
  if (list->first != NULL) list->first->previous = l;
  if (list->last == NULL) list->last = l;
  list->first = l;
  list->bytes += l->size;
}

static void toft_recycler_unlink_large(toft_recycler_larges *list, toft_recycler_large *l) {
  *(l->previous != NULL ? &l->previous->next : &list->first) = l->next;
  *(l->next != NULL ? &l->next->previous : &list->last) = l->previous;
  list->bytes -= l->size;
}

/* ---- the source ---- */

static void *toft_recycler_take(toft_recycler *r, size_t size) {
  void *p;
  r->source_calls++;
  p = r->source == &toft_heap_source ? toft_heap_take_aligned(size, TOFT_RECYCLER_UNIT)
                                     : r->source->take(r->source, size);
  if (p == NULL) return NULL;
  r->reserved += size;
  r->peak = toft_max(r->peak, r->reserved);
  return p;
}

static void toft_recycler_put(toft_recycler *r, void *p, size_t size) {
  r->reserved -= size;
  r->source->put(r->source, p, size);
}

/* ---- blocks ---- */

static unsigned char *toft_recycler_at(toft_recycler_block *b, int32_t position) {
  return (unsigned char *)b + (ptrdiff_t)position * 8;
}

static unsigned char *toft_recycler_start(toft_recycler_block *b) { return toft_recycler_at(b, b->start); }

static toft_recycler_list *toft_recycler_empties(toft_recycler *r, toft_recycler_block *b) {
  return b->segment != NULL ? &r->empty : &r->empty_counted;
}

/* A block that was never used, from `start` to `end`. */
static toft_recycler_block *toft_recycler_make(toft_recycler *r, toft_recycler_block *b, unsigned char *start,
                                               unsigned char *end, toft_recycler_segment *segment) {
  b->owner = r;
  b->segment = segment;
  b->start = (int32_t)((intptr_t)((uintptr_t)start - (uintptr_t)b) >> 3);
  b->capacity = (int32_t)((size_t)(end - start) / 8);
  b->list = TOFT_RECYCLER_FILLED;
  if (segment != NULL) segment->busy++;
  return b;
}

/* All of it is to be filled: a range from `start` on. */
static void toft_recycler_open(toft_recycler_range *range, toft_recycler_block *b) {
  b->live = b->capacity;
  b->notice = INT32_MIN; /* not while it is filled */
  b->holes = 0;
  b->swept = 0;
  range->block = b;
  range->cursor = toft_recycler_start(b);
  range->limit = range->cursor + (size_t)b->capacity * 8;
}

static void toft_recycler_emptied(toft_recycler *r, toft_recycler_block *b) {
  if (b->segment != NULL) b->segment->busy--;
  toft_recycler_push(toft_recycler_empties(r, b), b, TOFT_RECYCLER_EMPTY);
}

void toft_recycler_noticed(toft_recycler *r, toft_recycler_block *b) {
  if (b->live == 0) {
    if (b->list == TOFT_RECYCLER_SPARSE) toft_recycler_unlink(&r->sparse, b);
    toft_recycler_emptied(r, b);
  } else if (b->list == TOFT_RECYCLER_FULL) {
    b->notice = 0;
    toft_recycler_push(&r->sparse, b, TOFT_RECYCLER_SPARSE);
  }
}

/* What a range has left becomes a hole. */
static void toft_recycler_drop_rest(toft_recycler_range *range) {
  size_t rest = (size_t)(range->limit - range->cursor);
  if (rest == 0) return;
  toft_recycler_hole_at(range->block, range->cursor, rest / 8);
  range->block->live -= (int32_t)(rest / 8);
  range->limit = range->cursor;
}

/* Does the block of a range hold no live object? */
static int toft_recycler_is_idle(const toft_recycler_range *range) {
  return (size_t)range->block->live * 8 == (size_t)(range->limit - range->cursor);
}

/* Takes the first of the holes that a sweep has left. */
static unsigned char *toft_recycler_next_hole(toft_recycler *r, size_t *bytes) {
  toft_recycler_hole hole;
  unsigned char *p = toft_recycler_at(r->now.block, r->sweep);
  memcpy(&hole, p, sizeof hole);
  r->sweep = hole.next;
  *bytes = (size_t)hole.granules * 8;
  return p;
}

/* A range is done with; its block joins those that count down. It is worth a sweep when a quarter of it is free; after a
 * sweep, when an eighth more is. */
static void toft_recycler_close(toft_recycler *r, toft_recycler_range *range) {
  toft_recycler_block *b = range->block;
  if (b == NULL) return;
  toft_recycler_drop_rest(range);
  while (range == &r->now && r->sweep != 0) {
    size_t bytes;
    unsigned char *p = toft_recycler_next_hole(r, &bytes);
    toft_recycler_hole_at(b, p, bytes / 8);
  }
  range->block = NULL;
  range->cursor = range->limit = (unsigned char *)(void *)r; /* no allocation ends there */
  b->list = TOFT_RECYCLER_FULL;
  b->notice = b->capacity - b->capacity / 4;
  if (b->swept && b->live - b->capacity / 8 < b->notice) b->notice = b->live - b->capacity / 8;
  if (b->notice < 0 || b->capacity > TOFT_RECYCLER_SWEPT) b->notice = 0;
  if (b->live <= b->notice) toft_recycler_noticed(r, b);
}

/* ---- sweeping ---- */

#if defined(__GNUC__) || defined(__clang__)
#define TOFT_LOW_BIT(word) ((int32_t)__builtin_ctzll(word))
#else
static int32_t toft_low_bit(uint64_t word) {
  int32_t n = 0;
  for (; (word & 1) == 0; word >>= 1) n++;
  return n;
}
#define TOFT_LOW_BIT(word) toft_low_bit(word)
#endif

/* A bit for each granule of a hole. 0 if the holes are not what live says: somebody freed twice. */
static int toft_recycler_mark(toft_recycler_block *b, uint64_t *marks) {
  int32_t missing = b->capacity - b->live, at = b->holes;
  memset(marks, 0, ((size_t)b->capacity / 64 + 1) * sizeof *marks);
  while (at != 0) {
    toft_recycler_hole hole;
    int32_t from = at - b->start, left;
    if (from < 0 || from >= b->capacity) return 0;
    memcpy(&hole, toft_recycler_at(b, at), sizeof hole);
    if (hole.granules > (uint32_t)missing || hole.granules > (uint32_t)(b->capacity - from)) return 0;
    missing -= (int32_t)hole.granules;
    for (left = (int32_t)hole.granules; left > 0;) {
      int32_t bit = from % 64, n = left < 64 - bit ? left : 64 - bit;
      uint64_t mask = UINT64_MAX >> (64 - n) << bit;
      if ((marks[from / 64] & mask) != 0) return 0;
      marks[from / 64] |= mask;
      from += n;
      left -= n;
    }
    at = hole.next;
  }
  return missing == 0;
}

/* Joins the holes of b and chains them by address. The position of the first; 0: none. */
static int32_t toft_recycler_join(toft_recycler_block *b, const uint64_t *marks) {
  int32_t first = 0, from = 0, to;
  unsigned char *before = NULL;
  while (from < b->capacity) {
    uint64_t word = marks[from / 64] >> (from % 64);
    if (word == 0) {
      from = (from | 63) + 1;
      continue;
    }
    from += TOFT_LOW_BIT(word);
    for (to = from; (word = ~marks[to / 64] >> (to % 64)) == 0;) to = (to | 63) + 1; /* a bit past the end is 0 */
    to += TOFT_LOW_BIT(word);
    {
      toft_recycler_hole hole;
      int32_t at = b->start + from;
      hole.next = 0;
      hole.granules = (uint32_t)(to - from);
      memcpy(toft_recycler_at(b, at), &hole, sizeof hole);
      if (before != NULL)
        memcpy(before, &at, sizeof at); /* next is its first member */
      else
        first = at;
      before = toft_recycler_at(b, at);
    }
    from = to;
  }
  return first;
}

/* Makes a sparse block the one that is filled, at a hole that has room. 0: it has none, and waits for more frees. */
static int toft_recycler_fill_holes(toft_recycler *r, size_t size, size_t align);
static int toft_recycler_sweep(toft_recycler *r, toft_recycler_block *b, size_t size, size_t align) {
  uint64_t marks[TOFT_RECYCLER_SWEPT / 64 + 1];
  toft_recycler_unlink(&r->sparse, b);
  b->notice = INT32_MIN;
  b->swept = 1;
  r->now.block = b;
  if (toft_recycler_mark(b, marks)) {
    r->sweep = toft_recycler_join(b, marks);
    b->holes = 0;
    if (toft_recycler_fill_holes(r, size, align)) return 1;
  }
  toft_recycler_close(r, &r->now);
  return 0;
}

/* Where `size` bytes would lie in [p, p + room); NULL: nowhere. */
static unsigned char *toft_recycler_fit(unsigned char *p, size_t room, size_t size, size_t align) {
  size_t pad = (size_t)(0 - (uintptr_t)p) & (align - 1);
  return room >= pad && room - pad >= size ? p + pad : NULL;
}

/* On to the next hole that has room; those that have none are left to the next sweep. */
static int toft_recycler_fill_holes(toft_recycler *r, size_t size, size_t align) {
  toft_recycler_block *b = r->now.block;
  while (r->sweep != 0) {
    size_t bytes;
    unsigned char *p = toft_recycler_next_hole(r, &bytes);
    if (toft_recycler_fit(p, bytes, size, align) == NULL) {
      toft_recycler_hole_at(b, p, bytes / 8);
      continue;
    }
    toft_recycler_drop_rest(&r->now);
    b->live += (int32_t)(bytes / 8);
    r->now.cursor = p;
    r->now.limit = p + bytes;
    return 1;
  }
  return 0;
}

/* ---- new memory ---- */

/* A segment in which at least one unit starts at a multiple of `align`. The units of the newest one were used up, unless
 * align is above theirs. */
static int toft_recycler_segment_take(toft_recycler *r, size_t align) {
  const size_t unit = TOFT_RECYCLER_UNIT;
  size_t least = r->source == &toft_heap_source ? unit : 2 * unit; /* others give any address */
  size_t size = toft_max(r->segment_bytes, least);
  unsigned char *base, *first, *end;
  toft_recycler_block *b;
  toft_recycler_segment *s;
  if (align > unit) least = size = align + 2 * unit;
  while ((base = (unsigned char *)toft_recycler_take(r, size)) == NULL && size > least)
    size = toft_max(size / 2, least);
  if (base == NULL) return 0;
  if (align <= unit && r->segment_bytes < TOFT_CAP) r->segment_bytes = toft_max(2 * size, 2 * unit);

  first = base + ((size_t)(0 - (uintptr_t)base) & (unit - 1));
  end = base + size;
  end -= (uintptr_t)end & (unit - 1);
  if (align > unit) { /* one unit, that one */
    first = base + ((size_t)(0 - (uintptr_t)base) & (align - 1));
    end = first + unit;
  }
  b = toft_recycler_block_of(first);
  s = (toft_recycler_segment *)(void *)((uintptr_t)b % TOFT_RECYCLER_ZONE != 0 ? (unsigned char *)b - 64
                                                                               : (unsigned char *)b + 64);
  s->base = base;
  s->size = size;
  s->busy = 0;
  s->end = end;
  /* In front of the first whole unit there may be the better part of another. */
  s->first = align <= unit && (size_t)(first - base) >= TOFT_RECYCLER_ZONE + TOFT_RECYCLER_LITTLE ? base : first;
  toft_recycler_segment **at = align > unit && r->segments != NULL ? &r->segments->next : &r->segments;
  s->next = *at;
  *at = s;
  if (align > unit) {
    toft_recycler_emptied(r, toft_recycler_make(r, b, first, first + TOFT_RECYCLER_DIRECT, s));
    return 1;
  }
  r->fresh = s->first;
  r->fresh_end = end;
  return 1;
}

/* The next unit that was never used. */
static toft_recycler_block *toft_recycler_cut(toft_recycler *r) {
  unsigned char *start = r->fresh;
  unsigned char *end = start + (TOFT_RECYCLER_UNIT - ((uintptr_t)start & (TOFT_RECYCLER_UNIT - 1)));
  r->fresh = end;
  return toft_recycler_make(r, toft_recycler_block_of(start), start, end - TOFT_RECYCLER_ZONE, r->segments);
}

static int toft_recycler_fits(toft_recycler_block *b, size_t size, size_t align) {
  return toft_recycler_fit(toft_recycler_start(b), (size_t)b->capacity * 8, size, align) != NULL;
}

/* ---- the blocks asked for by count: each starts with its header ---- */

static size_t toft_recycler_counted_bytes(const toft_recycler *r) { return toft_round(r->count * r->stride, 4096); }

static int toft_recycler_counted_take(toft_recycler *r) {
  r->counted = r->counted_fresh = (unsigned char *)toft_recycler_take(r, toft_recycler_counted_bytes(r));
  return r->counted != NULL;
}

static int toft_recycler_is_counted(const toft_recycler *r, const void *p) {
  return r->counted != NULL && (uintptr_t)p - (uintptr_t)r->counted < r->count * r->stride;
}

static toft_recycler_block *toft_recycler_counted_find(toft_recycler *r, size_t size, size_t align) {
  toft_recycler_block *b = r->empty_counted.first;
  unsigned char *header;
  if (b != NULL && toft_recycler_fits(b, size, align)) {
    toft_recycler_unlink(&r->empty_counted, b);
    return b;
  }
  if (r->counted == NULL && !toft_recycler_counted_take(r)) return NULL;
  header = r->counted_fresh;
  if ((size_t)(header - r->counted) == r->count * r->stride ||
      toft_recycler_fit(header + 64, r->stride - 64, size, align) == NULL)
    return NULL;
  r->counted_fresh += r->stride;
  return toft_recycler_make(r, (toft_recycler_block *)(void *)header, header + 64, header + r->stride, NULL);
}

/* An empty block in which the request fits, off its list. NULL: no memory. */
static toft_recycler_block *toft_recycler_find(toft_recycler *r, size_t size, size_t align) {
  int looks = TOFT_RECYCLER_LOOKS;
  toft_recycler_block *b = r->count != 0 ? toft_recycler_counted_find(r, size, align) : NULL;
  if (b != NULL || size > TOFT_RECYCLER_DIRECT) return b;
  for (;;) {
    for (b = r->empty.first; b != NULL && looks-- > 0; b = b->next) {
      if (!toft_recycler_fits(b, size, align)) continue;
      toft_recycler_unlink(&r->empty, b);
      b->segment->busy++;
      return b;
    }
    while (align <= TOFT_RECYCLER_UNIT && r->fresh != r->fresh_end) {
      b = toft_recycler_cut(r);
      if (toft_recycler_fits(b, size, align)) return b;
      toft_recycler_emptied(r, b);
    }
    if (!toft_recycler_segment_take(r, align)) return NULL;
    looks = 1;
  }
}

/* ---- allocation that the inline layer has no answer to ---- */

static void *toft_recycler_place(toft_recycler_range *range, size_t size, size_t align) {
  unsigned char *p = range->cursor, *q = toft_recycler_fit(p, (size_t)(range->limit - p), size, align);
  if (q == NULL) return NULL;
  if (q != p) {
    toft_recycler_hole_at(range->block, p, (size_t)(q - p) / 8);
    range->block->live -= (int32_t)((size_t)(q - p) / 8);
  }
  range->cursor = q + size;
  return q;
}

static void *toft_recycler_from_new(toft_recycler *r, toft_recycler_range *range, size_t size, size_t align) {
  toft_recycler_block *b = toft_recycler_find(r, size, align);
  if (b == NULL) return NULL;
  toft_recycler_close(r, range);
  toft_recycler_open(range, b);
  return toft_recycler_place(range, size, align);
}

/* In a range of their own, so that they do not end the one that small requests fill. */
static void *toft_recycler_aside(toft_recycler *r, size_t size, size_t align) {
  void *p = toft_recycler_place(&r->aside, size, align);
  return p != NULL ? p : toft_recycler_from_new(r, &r->aside, size, align);
}

static void *toft_recycler_small(toft_recycler *r, size_t size, size_t align) {
  int tries = r->count != 0 ? INT_MAX : TOFT_RECYCLER_SWEEPS; /* who counts blocks wants no others */
  void *p = toft_recycler_place(&r->now, size, align);
  if (p != NULL) return p;
  if (r->sweep != 0 && toft_recycler_fill_holes(r, size, align)) return toft_recycler_place(&r->now, size, align);
  if (r->now.block != NULL && toft_recycler_is_idle(&r->now)) { /* all of it was freed meanwhile */
    toft_recycler_open(&r->now, r->now.block);
    p = toft_recycler_place(&r->now, size, align);
    if (p != NULL) return p;
  }
  if (size <= TOFT_RECYCLER_TINY || r->count != 0) {
    while (r->sparse.first != NULL && tries-- > 0) {
      toft_recycler_close(r, &r->now);
      if (toft_recycler_sweep(r, r->sparse.first, size, align)) return toft_recycler_place(&r->now, size, align);
    }
  }
  return toft_recycler_from_new(r, &r->now, size, align);
}

/* ---- large objects ---- */

static toft_recycler_large *toft_recycler_large_of(void *p) {
  return (toft_recycler_large *)(void *)((unsigned char *)p - 64);
}

/* Its place in a block of `total` bytes. NULL: it does not fit. */
static unsigned char *toft_recycler_large_at(unsigned char *base, size_t total, size_t size, size_t align) {
  return toft_recycler_fit(base + 64, total - 64, size, toft_max(align, 64));
}

/* The kept block that fits best; one of more than twice the size only if there is no other way. */
static toft_recycler_large *toft_recycler_spare(toft_recycler *r, size_t size, size_t align, size_t most) {
  toft_recycler_large *best = NULL, *l;
  int looks = TOFT_RECYCLER_LOOKS;
  for (l = r->spare.first; l != NULL && looks-- > 0; l = l->next)
    if (l->size <= most && (best == NULL || l->size < best->size) &&
        toft_recycler_large_at(l->base, l->size, size, align) != NULL)
      best = l;
  if (best != NULL) toft_recycler_unlink_large(&r->spare, best);
  return best;
}

/* Eight sizes to a doubling, so that blocks find a second use. */
static void *toft_recycler_large_alloc(toft_recycler *r, size_t size, size_t align) {
  size_t need = size + toft_max(align, 64), total = toft_round(need, toft_max(4096, toft_pow2(need) / 16));
  toft_recycler_large *l = toft_recycler_spare(r, size, align, 2 * total), *at;
  unsigned char *base = NULL, *p;
  if (l == NULL && (base = (unsigned char *)toft_recycler_take(r, total)) == NULL) {
    l = toft_recycler_spare(r, size, align, SIZE_MAX);
    if (l == NULL) return NULL;
  }
  if (l != NULL) {
    base = l->base;
    total = l->size;
  }
  p = toft_recycler_large_at(base, total, size, align);
  at = toft_recycler_large_of(p);
  at->base = base;
  at->size = total;
  at->used = size;
  at->owner = r;
  toft_recycler_push_large(&r->large, at);
  r->large_peak = toft_max(r->large_peak, r->large.bytes);
  return p;
}

/* Kept, up to twice what was ever live at once: requests of one size after another find one that fits. */
static void toft_recycler_large_free(toft_recycler *r, toft_recycler_large *l) {
  toft_recycler_unlink_large(&r->large, l);
  toft_recycler_push_large(&r->spare, l);
  while (r->spare.bytes > 2 * r->large_peak + TOFT_MIB) {
    l = r->spare.last;
    toft_recycler_unlink_large(&r->spare, l);
    toft_recycler_put(r, l->base, l->size);
  }
}

/* ---- the calls behind the inline layer ---- */

void *toft_recycler_more(toft_recycler *r, size_t size, size_t align) {
  size = size == 0 ? 1 : size;
  align = toft_max(align, 8);
  if ((align & (align - 1)) != 0 || size > TOFT_MAX_REQUEST / 2 || align > TOFT_MAX_REQUEST / 2) return NULL;
  size = toft_round(size, 8);
  if (r->count != 0) {
    void *p = size <= r->stride - 64 || size <= TOFT_RECYCLER_DIRECT ? toft_recycler_small(r, size, align) : NULL;
    return p != NULL || size <= TOFT_RECYCLER_DIRECT ? p : toft_recycler_large_alloc(r, size, align);
  }
  if (size > TOFT_RECYCLER_DIRECT) return toft_recycler_large_alloc(r, size, align);
  if (size > TOFT_RECYCLER_LITTLE || (size > TOFT_RECYCLER_TINY && r->sweep != 0))
    return toft_recycler_aside(r, size, align);
  return toft_recycler_small(r, size, align);
}

/* The block of p, which has `granules`; NULL: it is a large object. */
static toft_recycler_block *toft_recycler_owner_of(toft_recycler *r, void *p, size_t granules) {
  if (toft_recycler_is_counted(r, p)) {
    size_t index = ((uintptr_t)p - (uintptr_t)r->counted) / r->stride;
    return (toft_recycler_block *)(void *)(r->counted + index * r->stride);
  }
  return granules <= TOFT_RECYCLER_DIRECT / 8 ? toft_recycler_block_of(p) : NULL;
}

static void toft_recycler_give(toft_recycler *r, toft_recycler_block *b, void *p, size_t granules) {
  toft_recycler_hole_at(b, p, granules);
  b->live -= (int32_t)granules;
  if (b->live <= b->notice) toft_recycler_noticed(r, b);
}

void toft_recycler_free_apart(toft_recycler *r, void *p, size_t size) {
  size_t granules = (size + (size == 0) + 7) / 8;
  toft_recycler_block *b = toft_recycler_owner_of(r, p, granules);
  if (b == NULL)
    toft_recycler_large_free(r, toft_recycler_large_of(p));
  else if (b == r->now.block && (unsigned char *)p + 8 * granules == r->now.cursor)
    r->now.cursor = (unsigned char *)p;
  else
    toft_recycler_give(r, b, p, granules);
}

/* Where it stands; 0: it cannot. */
static int toft_recycler_resize_here(toft_recycler *r, void *p, size_t was, size_t now) {
  toft_recycler_block *b = toft_recycler_owner_of(r, p, was);
  unsigned char *q = (unsigned char *)p;
  if (b == NULL) {
    toft_recycler_large *l = toft_recycler_large_of(p);
    if (now <= TOFT_RECYCLER_DIRECT / 8 || now > ((uintptr_t)l->base + l->size - (uintptr_t)p) / 8) return 0;
    l->used = now * 8;
    return 1;
  }
  if (b == r->now.block && q + was * 8 == r->now.cursor) {
    if (now > was && (size_t)(r->now.limit - r->now.cursor) / 8 < now - was) return 0;
    r->now.cursor = q + now * 8;
    return 1;
  }
  if (now < was) toft_recycler_give(r, b, q + now * 8, was - now);
  return now <= was;
}

void *toft_recycler_resize(toft_recycler *r, void *p, size_t old_size, size_t new_size, size_t align) {
  size_t was = (old_size + (old_size == 0) + 7) / 8, now = (new_size + (new_size == 0) + 7) / 8;
  void *q;
  if (p == NULL) return toft_recycler_alloc(r, new_size, align);
  if ((align & (align - 1)) != 0 || new_size > TOFT_MAX_REQUEST / 2) return NULL;
  if (((uintptr_t)p & (toft_max(align, 1) - 1)) == 0 && toft_recycler_resize_here(r, p, was, now)) return p;
  q = toft_recycler_alloc(r, new_size, align);
  if (q == NULL) return NULL;
  memcpy(q, p, toft_min(old_size, new_size));
  toft_recycler_free(r, p, old_size);
  return q;
}

/* ---- life ---- */

static void toft_recycler_begin(toft_recycler *r) {
  r->now.cursor = r->now.limit = r->aside.cursor = r->aside.limit = (unsigned char *)(void *)r;
  r->segment_bytes = TOFT_RECYCLER_UNIT;
}

int toft_recycler_init(toft_recycler *r, const toft_recycler_options *options) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  if (options != NULL) {
    if (options->size < offsetof(toft_recycler_options, shards) || options->size > sizeof o) return TOFT_EARG;
    memcpy(&o, options, options->size);
  }
  if ((o.count == 0) != (o.block_size == 0) || o.block_size / 8 > TOFT_RECYCLER_COUNTED_MAX) return TOFT_EARG;
  memset(r, 0, sizeof *r);
  r->source = o.source != NULL ? o.source : &toft_heap_source;
  r->direct = TOFT_RECYCLER_DIRECT / 8;
  toft_recycler_begin(r);
  if (o.count == 0) return TOFT_OK;
  r->stride = 64 + toft_round(o.block_size, 64);
  if (o.count > TOFT_MAX_REQUEST / 2 / r->stride) return TOFT_EARG;
  r->count = o.count;
  r->direct = 0;
  return toft_recycler_counted_take(r) ? TOFT_OK : TOFT_ENOMEM;
}

static void toft_recycler_put_larges(toft_recycler *r, toft_recycler_larges *list) {
  while (list->last != NULL) {
    toft_recycler_large *l = list->last;
    toft_recycler_unlink_large(list, l);
    toft_recycler_put(r, l->base, l->size);
  }
}

void toft_recycler_release(toft_recycler *r) {
  toft_recycler before;
  while (r->segments != NULL) {
    toft_recycler_segment s = *r->segments;
    r->segments = s.next;
    toft_recycler_put(r, s.base, s.size);
  }
  toft_recycler_put_larges(r, &r->large);
  toft_recycler_put_larges(r, &r->spare);
  if (r->counted != NULL) toft_recycler_put(r, r->counted, toft_recycler_counted_bytes(r));
  before = *r;
  memset(r, 0, sizeof *r);
  r->source = before.source;
  r->direct = before.direct;
  r->shard = before.shard;
  r->count = before.count;
  r->stride = before.stride;
  r->peak = before.peak;
  r->source_calls = before.source_calls;
  toft_recycler_begin(r);
}

/* ---- looking at it ---- */

/* Behind the last unit that was cut. */
static unsigned char *toft_recycler_cut_end(const toft_recycler *r, const toft_recycler_segment *s) {
  return s == r->segments && r->fresh != NULL ? r->fresh : s->end;
}

/* The unit behind that of p. */
static unsigned char *toft_recycler_next_unit(unsigned char *p) {
  return p + (TOFT_RECYCLER_UNIT - ((uintptr_t)p & (TOFT_RECYCLER_UNIT - 1)));
}

/* Bytes that a range in b has yet to hand out. */
static size_t toft_recycler_rest(const toft_recycler *r, const toft_recycler_block *b) {
  const toft_recycler_range *range = b == r->now.block ? &r->now : b == r->aside.block ? &r->aside : NULL;
  return range != NULL ? (size_t)(range->limit - range->cursor) : 0;
}

static void toft_recycler_count(const toft_recycler *r, const toft_recycler_block *b, toft_recycler_stats *s) {
  size_t capacity = (size_t)b->capacity * 8;
  size_t used = b->list == TOFT_RECYCLER_EMPTY ? 0 : (size_t)b->live * 8 - toft_recycler_rest(r, b);
  s->used += used;
  *(used != 0 ? &s->pinned : &s->kept) += capacity - used;
  *(used != 0 ? &s->blocks : &s->idle_blocks) += 1;
}

toft_recycler_stats toft_recycler_stats_of(const toft_recycler *r) {
  toft_recycler_stats s;
  const toft_recycler_segment *segment;
  const toft_recycler_large *l;
  unsigned char *p;
  memset(&s, 0, sizeof s);
  for (segment = r->segments; segment != NULL; segment = segment->next) {
    unsigned char *cut = toft_recycler_cut_end(r, segment);
    for (p = segment->first; p < cut; p = toft_recycler_next_unit(p))
      toft_recycler_count(r, toft_recycler_block_of(p), &s);
    for (; p < segment->end; p = toft_recycler_next_unit(p))
      s.kept += (size_t)(toft_recycler_next_unit(p) - p) - TOFT_RECYCLER_ZONE;
  }
  for (p = r->counted; p < r->counted_fresh; p += r->stride)
    toft_recycler_count(r, (const toft_recycler_block *)(const void *)p, &s);
  if (r->counted != NULL)
    for (; p < r->counted + r->count * r->stride; p += r->stride) s.kept += r->stride - 64;
  for (l = r->large.first; l != NULL; l = l->next) {
    s.used += l->used;
    s.pinned += (uintptr_t)l->base + l->size - (uintptr_t)l - 64 - l->used;
    s.large_blocks++;
  }
  s.blocks += s.large_blocks;
  s.kept += r->spare.bytes;
  s.reserved = r->reserved;
  s.wasted = s.reserved - s.used - s.pinned - s.kept;
  s.peak = r->peak;
  s.source_calls = r->source_calls;
  return s;
}

/* ---- trim ---- */

/* A range in a block without live objects lets go of it. */
static void toft_recycler_leave(toft_recycler *r, toft_recycler_range *range) {
  if (range->block != NULL && toft_recycler_is_idle(range)) toft_recycler_close(r, range);
}

/* Takes a segment without live objects apart. */
static void toft_recycler_segment_put(toft_recycler *r, toft_recycler_segment **at) {
  toft_recycler_segment s = **at;
  unsigned char *p, *cut = toft_recycler_cut_end(r, *at);
  for (p = s.first; p < cut; p = toft_recycler_next_unit(p)) toft_recycler_unlink(&r->empty, toft_recycler_block_of(p));
  if (*at == r->segments) r->fresh = r->fresh_end = NULL;
  *at = s.next;
  toft_recycler_put(r, s.base, s.size);
}

void toft_recycler_trim(toft_recycler *r, size_t keep) {
  toft_recycler_segment **at;
  size_t idle = r->spare.bytes;
  toft_recycler_leave(r, &r->now);
  toft_recycler_leave(r, &r->aside);
  for (at = &r->segments; *at != NULL; at = &(*at)->next)
    if ((*at)->busy == 0) idle += (*at)->size;
  while (r->spare.last != NULL && idle - r->spare.last->size >= keep) {
    toft_recycler_large *l = r->spare.last;
    idle -= l->size;
    toft_recycler_unlink_large(&r->spare, l);
    toft_recycler_put(r, l->base, l->size);
  }
  for (at = &r->segments; *at != NULL;) {
    if ((*at)->busy == 0 && idle - (*at)->size >= keep) {
      idle -= (*at)->size;
      toft_recycler_segment_put(r, at);
    } else {
      at = &(*at)->next;
    }
  }
  if (r->segments == NULL) r->segment_bytes = TOFT_RECYCLER_UNIT;
}
