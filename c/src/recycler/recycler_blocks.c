/* Recyclers: blocks with live counts. See recycler.h for the layout and the inline fast paths.
 *
 * Each size class (recycler_classes.c) allocates from its span, without a call. When the span is used up, the class
 * takes, in this order, the newest of the freed pieces that it holds, the spans that frees replaced, and a grant of new
 * memory. A class that has taken less than TOFT_RECYCLER_OWN_MIN is granted a few objects from a range that all such
 * classes share, so that a small heap does not have a block for each size. After that the class fills blocks of its
 * own, in which every hole fits every request.
 *
 * A freed piece is held by its class or becomes its span; each class holds a few pieces, and passes others to their
 * block. A block is fresh, filled (by a range), full, sparse or empty. Pieces that a block gets are linked through
 * their own bytes and not examined until the block is empty or sparse. A sparse block of one class is refilled piece
 * by piece. A shared one is swept before: the pieces are sorted and joined with a bitmap on the stack.
 *
 * Objects above TOFT_RECYCLER_CLASS_MAX have blocks of another kind: recycler_medium.c.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_BLOCKS_C
#define TOFT_RECYCLER_RECYCLER_BLOCKS_C

#include "../core/block_cache.c"
#include "../core/instrument.h"
#include "../core/policy.c"

enum { TOFT_RECYCLER_FILLED = 0, TOFT_RECYCLER_FULL, TOFT_RECYCLER_SPARSE, TOFT_RECYCLER_EMPTY };

#define TOFT_RECYCLER_PROBES_MAX 16            /* blocks of a list tested for a fit */
#define TOFT_RECYCLER_SWEEPS_MAX 4             /* sparse blocks swept before a new one is used */
#define TOFT_RECYCLER_COUNTED_SWEEPS_MAX 16    /* the same with a count, which limits the other blocks */
#define TOFT_RECYCLER_HEADER_PROBES_MAX 64     /* headers of sparse blocks read for the result of the last sweep */
#define TOFT_RECYCLER_SWEEPABLE_MAX 65536      /* size of the largest block that is swept */
#define TOFT_RECYCLER_OWN_MIN (256 * TOFT_KIB) /* a class that took this much fills blocks of its own */
#define TOFT_RECYCLER_GRANT_MIN ((size_t)512)  /* bytes taken from the shared range at once: an eighth of what the */
#define TOFT_RECYCLER_GRANT_MAX ((size_t)8192) /* class has taken, between these limits */
#define TOFT_RECYCLER_HELD_MAX 64              /* freed pieces that a class holds, and their bytes */
#define TOFT_RECYCLER_HELD_BYTES_MAX ((size_t)65536)
#define TOFT_RECYCLER_RESTS_MAX 16                                       /* longer spans that a class keeps */
#define TOFT_RECYCLER_SIZED (((uint64_t)1 << TOFT_RECYCLER_CLASSES) - 1) /* the size classes among `active` */
#define TOFT_SHARDS_MAX 256
#define TOFT_RECYCLER_COUNTED_MAX ((size_t)1 << 30) /* size of a block of options.count: live has 32 bits */

/* Stored in an unused line of the zone of the segment's first whole unit. */
typedef struct toft_recycler_segment {
  struct toft_recycler_segment *next;
  unsigned char *base, *first, *end; /* the source's block; the range divided into units */
  size_t size;
  size_t busy; /* number of units that are not empty */
} toft_recycler_segment;

TOFT_STATIC_ASSERT(recycler_segment, sizeof(toft_recycler_segment) <= 64);

/* recycler_medium.c */
static void *toft_recycler_medium_alloc(toft_recycler *r, size_t size, size_t align);
static void toft_recycler_medium_free(toft_recycler *r, void *p, size_t size);
static int toft_recycler_medium_resize(toft_recycler *r, void *p, size_t was, size_t now);

/* recycler_large.c */
static void *toft_recycler_large_alloc(toft_recycler *r, size_t size, size_t align);
static void toft_recycler_large_free(toft_recycler *r, void *p, size_t size);
static int toft_recycler_large_resize(toft_recycler *r, void *p, size_t was, size_t now);
static void toft_recycler_large_release(toft_recycler *r);
static size_t toft_recycler_large_trim(toft_recycler *r, size_t idle, size_t keep);
static void toft_recycler_large_count(const toft_recycler *r, toft_recycler_stats *s);

/* recycler_checked.c */
static void *toft_recycler_alloc_checked(toft_recycler *r, size_t size, size_t align, uintptr_t site);
static void toft_recycler_free_checked(toft_recycler *r, void *p, size_t size, uintptr_t site);
static void *toft_recycler_resize_checked(toft_recycler *r, void *p, size_t old_size, size_t new_size, size_t align,
                                          uintptr_t site);
static struct toft_recycler_checks *toft_recycler_checks_for(toft_recycler *r);
static void toft_recycler_release_checked(toft_recycler *r, uintptr_t site);
static size_t toft_recycler_trim_checked(toft_recycler *r, size_t keep, uintptr_t site);
static toft_recycler_stats toft_recycler_stats_checked(const toft_recycler *r);

/* ---- lists ---- */

static void toft_recycler_push(toft_recycler_list *list, toft_recycler_block *b, int32_t name) {
  b->list = (int16_t)name;
  b->previous = NULL;
  b->next = list->first;
  if (list->first != NULL) list->first->previous = b;
  if (list->last == NULL) list->last = b;
  list->first = b;
}

/* Appends b to the list of sparse blocks. */
static void toft_recycler_append(toft_recycler_list *list, toft_recycler_block *b) {
  b->list = TOFT_RECYCLER_SPARSE;
  b->next = NULL;
  b->previous = list->last;
  *(list->last != NULL ? &list->last->next : &list->first) = b;
  list->last = b;
}

static void toft_recycler_unlink(toft_recycler_list *list, toft_recycler_block *b) {
  *(b->previous != NULL ? &b->previous->next : &list->first) = b->next;
  *(b->next != NULL ? &b->next->previous : &list->last) = b->previous;
  b->list = TOFT_RECYCLER_FILLED;
}

/* ---- the source ---- */

static void *toft_recycler_take(toft_recycler *r, size_t size) {
  void *p;
  r->source_calls++;
  p = r->source == &toft_heap_source ? toft_heap_take_aligned(size, TOFT_RECYCLER_UNIT)
                                     : r->source->take(r->source, size);
  if (p == NULL) {
    r->refused = 1;
    return NULL;
  }
  r->reserved += size;
  r->peak = toft_max(r->peak, r->reserved);
  return p;
}

static size_t toft_recycler_trim_to(toft_recycler *r, size_t keep);

/* As toft_recycler_take, and once more after a refusal, when memory without live objects is returned. */
static void *toft_recycler_take_or_trim(toft_recycler *r, size_t size) {
  void *p = toft_recycler_take(r, size);
  size_t before = r->reserved;
  if (p != NULL) return p;
  (void)toft_recycler_trim_to(r, 0);
  return r->reserved < before ? toft_recycler_take(r, size) : NULL;
}

static void toft_recycler_put(toft_recycler *r, void *p, size_t size) {
  r->reserved -= size;
  r->source->put(r->source, p, size);
}

/* ---- blocks ---- */

/* The address in b with these low 32 bits. */
static unsigned char *toft_recycler_at(toft_recycler_block *b, uint32_t low) {
  return (unsigned char *)b + (int32_t)(low - (uint32_t)(uintptr_t)b);
}

static unsigned char *toft_recycler_start(toft_recycler_block *b) { return (unsigned char *)b + b->start; }

/* The list that contains a sparse block. */
static toft_recycler_list *toft_recycler_sparse_list(toft_recycler *r, const toft_recycler_block *b) {
  return &r->classes[b->size_class].sparse;
}

static toft_recycler_list *toft_recycler_empty_list(toft_recycler *r, toft_recycler_block *b) {
  return b->segment != NULL ? &r->empty : &r->empty_counted;
}

/* Initialises a block from `start` to `end` that was never used. */
static toft_recycler_block *toft_recycler_make(toft_recycler *r, toft_recycler_block *b, unsigned char *start,
                                               unsigned char *end, toft_recycler_segment *segment) {
  if (r->phase != 0) start += (size_t)(r->phase - (uintptr_t)start) & 15;
  b->owner = r;
  b->segment = segment;
  b->start = (int32_t)(start - (unsigned char *)b);
  b->capacity = (int32_t)(end - start);
  b->list = TOFT_RECYCLER_FILLED;
  b->size_class = TOFT_RECYCLER_SHARED;
  b->live = 0;
  r->cut_blocks++;
  r->cut_bytes += (size_t)b->capacity;
  if (segment != NULL) segment->busy++;
  return b;
}

/* Adds to the live bytes of a block. */
static void toft_recycler_live_add(toft_recycler *r, toft_recycler_block *b, ptrdiff_t bytes) {
  b->live += (int32_t)bytes;
  r->live += (size_t)bytes;
}

/* Begins to fill an empty block with the range of a class. */
static void toft_recycler_open(toft_recycler *r, size_t k, toft_recycler_block *b) {
  toft_recycler_range *range = &r->classes[k].range;
  b->size_class = (int16_t)k;
  toft_recycler_live_add(r, b, b->capacity - b->live);
  b->threshold = INT32_MIN; /* never reached while it is filled */
  b->holes = TOFT_RECYCLER_NONE;
  b->swept = 0;
  b->widest = 0;
  range->block = b;
  range->sweep = TOFT_RECYCLER_NONE;
  range->cursor = toft_recycler_start(b);
  range->limit = range->cursor + b->capacity;
}

static void toft_recycler_block_emptied(toft_recycler *r, toft_recycler_block *b) {
  if (b->segment != NULL) b->segment->busy--;
  r->empty_blocks++;
  r->empty_bytes += (size_t)b->capacity;
  toft_recycler_push(toft_recycler_empty_list(r, b), b, TOFT_RECYCLER_EMPTY);
}

/* Takes a block off the list of empty ones. */
static void toft_recycler_empty_take(toft_recycler *r, toft_recycler_block *b) {
  r->empty_blocks--;
  r->empty_bytes -= (size_t)b->capacity;
  toft_recycler_unlink(toft_recycler_empty_list(r, b), b);
}

/* The next update is due when another eighth is free, or everything. */
static void toft_recycler_set_threshold(toft_recycler_block *b) {
  b->threshold = b->live > b->capacity / 8 ? b->live - b->capacity / 8 : 0;
}

/* Moves a block to the list where its live bytes belong. */
static void toft_recycler_update_block(toft_recycler *r, toft_recycler_block *b) {
  if (b->live == 0) {
    if (b->list == TOFT_RECYCLER_SPARSE) toft_recycler_unlink(toft_recycler_sparse_list(r, b), b);
    toft_recycler_block_emptied(r, b);
    return;
  }
  b->widest = 0;
  toft_recycler_set_threshold(b);
  if (b->list != TOFT_RECYCLER_SPARSE) toft_recycler_push(toft_recycler_sparse_list(r, b), b, TOFT_RECYCLER_SPARSE);
}

/* Makes a piece of a block a hole, or extends the newest hole if the piece ends where that starts: containers are often
 * cleared backwards. The caller updates `live`. memcpy, since the bytes had any type. */
static void toft_recycler_add_hole(toft_recycler_block *b, void *p, size_t size) {
  toft_recycler_hole hole;
  uint32_t next = b->holes, bytes = (uint32_t)size;
  b->holes = (uint32_t)(uintptr_t)p;
  if (next == (uint32_t)((uintptr_t)p + size)) {
    memcpy(&hole, (unsigned char *)p + size, sizeof hole);
    next = hole.next;
    bytes += hole.size;
  }
  memcpy(p, &next, sizeof next);
  memcpy((unsigned char *)p + sizeof next, &bytes, sizeof bytes);
}

/* Makes a piece a hole of its block, which loses as many live bytes. */
static void toft_recycler_free_in_block(toft_recycler *r, toft_recycler_block *b, void *p, size_t bytes) {
  toft_recycler_live_add(r, b, -(ptrdiff_t)bytes);
  toft_recycler_add_hole(b, p, bytes);
  if (TOFT_UNLIKELY(b->live <= b->threshold)) toft_recycler_update_block(r, b);
}

static void toft_recycler_drop(toft_recycler *r, void *p, size_t bytes) {
  toft_recycler_free_in_block(r, toft_recycler_block_of(p), p, bytes);
}

/* Turns the unused part of a range into a hole. */
static void toft_recycler_drop_rest(toft_recycler_range *range) {
  size_t rest = (size_t)(range->limit - range->cursor);
  if (rest == 0) return;
  toft_recycler_add_hole(range->block, range->cursor, rest);
  toft_recycler_live_add(range->block->owner, range->block, -(ptrdiff_t)rest);
  range->limit = range->cursor;
}

/* Whether the block of a range has no live object. */
static int toft_recycler_is_idle(const toft_recycler_range *range) {
  return range->block->live == range->limit - range->cursor;
}

/* Takes the first of the sweep's remaining holes. */
static unsigned char *toft_recycler_next_hole(toft_recycler_range *range, size_t *bytes) {
  toft_recycler_hole hole;
  unsigned char *p = toft_recycler_at(range->block, range->sweep);
  memcpy(&hole, p, sizeof hole);
  range->sweep = hole.next;
  *bytes = hole.size;
  return p;
}

/* Ends a range; its block is full until enough of it is freed. It is worth a sweep when a quarter is free; if a sweep
 * left as much, the holes were too small for the request, and the block goes to the end of the list, for smaller
 * requests. */
static void toft_recycler_close(toft_recycler *r, toft_recycler_range *range) {
  toft_recycler_block *b = range->block;
  if (b == NULL) return;
  toft_recycler_drop_rest(range);
  while (range->sweep != TOFT_RECYCLER_NONE) {
    size_t bytes;
    unsigned char *p = toft_recycler_next_hole(range, &bytes);
    toft_recycler_add_hole(b, p, bytes);
  }
  range->block = NULL;
  range->cursor = range->limit = (unsigned char *)(void *)r; /* no allocation ends here */
  b->list = TOFT_RECYCLER_FULL;
  b->threshold = b->capacity > TOFT_RECYCLER_SWEEPABLE_MAX ? 0 : b->capacity - b->capacity / 4;
  if (b->live > b->threshold) return;
  if (b->swept && b->live != 0) {
    toft_recycler_set_threshold(b);
    toft_recycler_append(toft_recycler_sparse_list(r, b), b);
  } else {
    toft_recycler_update_block(r, b);
  }
}

/* ---- sweeping ---- */

/* Sets a bit for each 8 bytes in a hole. 0: the holes contradict `live`, because of a double free. */
static int toft_recycler_mark(toft_recycler_block *b, uint64_t *marks) {
  uint32_t missing = (uint32_t)(b->capacity - b->live), at = b->holes;
  memset(marks, 0, ((size_t)b->capacity / 512 + 1) * sizeof *marks);
  while (at != TOFT_RECYCLER_NONE) {
    toft_recycler_hole hole;
    uint32_t from = (at - (uint32_t)(uintptr_t)b) - (uint32_t)b->start, bit, count;
    if (from >= (uint32_t)b->capacity || from % 8 != 0) return 0;
    memcpy(&hole, toft_recycler_at(b, at), sizeof hole);
    if (hole.size > missing || hole.size > (uint32_t)b->capacity - from || hole.size == 0) return 0;
    missing -= hole.size;
    for (bit = from / 8, count = hole.size / 8; count > 0;) {
      uint32_t n = count < 64 - bit % 64 ? count : 64 - bit % 64;
      uint64_t mask = UINT64_MAX >> (64 - n) << bit % 64;
      if ((marks[bit / 64] & mask) != 0) return 0;
      marks[bit / 64] |= mask;
      bit += n;
      count -= n;
    }
    at = hole.next;
  }
  return missing == 0;
}

/* Joins the holes of b and links them by address. Returns the first; stores the largest size in b->widest. */
static uint32_t toft_recycler_join(toft_recycler_block *b, const uint64_t *marks) {
  uint32_t first = TOFT_RECYCLER_NONE, from = 0, to, end = (uint32_t)b->capacity / 8;
  unsigned char *before = NULL;
  while (from < end) {
    uint64_t word = marks[from / 64] >> from % 64;
    toft_recycler_hole hole;
    unsigned char *p;
    uint32_t at;
    if (word == 0) {
      from = (from | 63) + 1;
      continue;
    }
    from += toft_lowest_bit(word);
    for (to = from; (word = ~marks[to / 64] >> to % 64) == 0;) to = (to | 63) + 1; /* bits past the end are 0 */
    to += toft_lowest_bit(word);
    hole.next = TOFT_RECYCLER_NONE;
    hole.size = (to - from) * 8;
    if (hole.size > b->widest) b->widest = hole.size;
    p = toft_recycler_start(b) + (size_t)from * 8;
    memcpy(p, &hole, sizeof hole);
    at = (uint32_t)(uintptr_t)p;
    if (before != NULL)
      memcpy(before, &at, sizeof at); /* `next` is the first member */
    else
      first = at;
    before = p;
    from = to;
  }
  return first;
}

/* The position of `size` aligned bytes in [p, p + bytes); NULL: they do not fit. */
static unsigned char *toft_recycler_fit(unsigned char *p, size_t bytes, size_t size, size_t align) {
  size_t pad = (size_t)(0 - (uintptr_t)p) & (align - 1);
  return bytes >= pad && bytes - pad >= size ? p + pad : NULL;
}

/* Whether a hole of b may be at this address: not if a double free has linked it twice. */
static int toft_recycler_is_hole(toft_recycler_block *b, uint32_t at) {
  toft_recycler_hole hole;
  if (at - (uint32_t)(uintptr_t)b - (uint32_t)b->start >= (uint32_t)b->capacity) return 0;
  memcpy(&hole, toft_recycler_at(b, at), sizeof hole);
  return hole.size - 1 < (uint32_t)(b->capacity - b->live);
}

/* Moves the range to the next hole that fits; skipped holes wait for the next sweep. */
static int toft_recycler_fill_holes(toft_recycler_range *range, size_t size, size_t align) {
  toft_recycler_block *b = range->block;
  while (range->sweep != TOFT_RECYCLER_NONE) {
    size_t bytes;
    unsigned char *p;
    if (!toft_recycler_is_hole(b, range->sweep)) {
      range->sweep = TOFT_RECYCLER_NONE;
      break;
    }
    p = toft_recycler_next_hole(range, &bytes);
    if (toft_recycler_fit(p, bytes, size, align) == NULL) {
      toft_recycler_add_hole(b, p, bytes);
      continue;
    }
    toft_recycler_drop_rest(range);
    toft_recycler_live_add(b->owner, b, (ptrdiff_t)bytes);
    range->cursor = p;
    range->limit = p + bytes;
    return 1;
  }
  return 0;
}

/* Moves the range to the first hole of a sparse block that fits; sweeps the block before, unless it belongs to a size
 * class: its holes have room for whole objects, and reading them all in advance would cost a cache miss for each. 0:
 * none fits. */
static int toft_recycler_sweep(toft_recycler *r, size_t k, toft_recycler_block *b, size_t size, size_t align) {
  toft_recycler_range *range = &r->classes[k].range;
  uint64_t marks[TOFT_RECYCLER_SWEEPABLE_MAX / 512 + 1];
  toft_recycler_unlink(toft_recycler_sparse_list(r, b), b);
  b->size_class = (int16_t)k;
  b->threshold = INT32_MIN;
  b->swept = 1;
  b->widest = 0;
  range->block = b;
  if (k < TOFT_RECYCLER_CLASSES) {
    range->sweep = b->holes;
  } else if (toft_recycler_mark(b, marks)) {
    range->sweep = toft_recycler_join(b, marks);
  } else {
    b->widest = 1; /* no request fits */
  }
  if (range->sweep != TOFT_RECYCLER_NONE) {
    b->holes = TOFT_RECYCLER_NONE;
    if (toft_recycler_fill_holes(range, size, align)) return 1;
  }
  toft_recycler_close(r, range);
  return 0;
}

/* ---- new memory ---- */

/* Takes a segment with at least one unit aligned to `align`. Precondition: the units of the newest segment are used up,
 * or `align` exceeds the unit size. */
static int toft_recycler_segment_take(toft_recycler *r, size_t align) {
  const size_t unit = TOFT_RECYCLER_UNIT;
  size_t least = r->source == &toft_heap_source ? unit : 2 * unit; /* other sources return any address */
  size_t size = toft_max(r->segment_bytes, least);
  unsigned char *base, *first, *end;
  toft_recycler_block *b;
  toft_recycler_segment *s;
  if (align > unit) least = size = align + 2 * unit;
  base = (unsigned char *)toft_recycler_take_or_trim(r, size);
  while (base == NULL && size > least) base = (unsigned char *)toft_recycler_take(r, size = toft_max(size / 2, least));
  if (base == NULL) return 0;
  if (align <= unit && r->segment_bytes < TOFT_CAP) r->segment_bytes = toft_max(2 * size, 2 * unit);

  first = base + ((size_t)(0 - (uintptr_t)base) & (unit - 1));
  end = base + size;
  end -= (uintptr_t)end & (unit - 1);
  if (align > unit) { /* a single unit, the aligned one */
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
  /* The space before the first whole unit is used if it is large enough. */
  s->first = align <= unit && (size_t)(first - base) >= TOFT_RECYCLER_ZONE + TOFT_RECYCLER_CLASS_MAX ? base : first;
  toft_recycler_segment **at = align > unit && r->segments != NULL ? &r->segments->next : &r->segments;
  s->next = *at;
  *at = s;
  if (align > unit) {
    toft_recycler_block_emptied(r, toft_recycler_make(r, b, first, first + TOFT_RECYCLER_DIRECT, s));
    return 1;
  }
  r->fresh = s->first;
  r->fresh_end = end;
  return 1;
}

/* Makes a block of the next unused unit. */
static toft_recycler_block *toft_recycler_cut(toft_recycler *r) {
  unsigned char *start = r->fresh;
  unsigned char *end = start + (TOFT_RECYCLER_UNIT - ((uintptr_t)start & (TOFT_RECYCLER_UNIT - 1)));
  r->fresh = end;
  return toft_recycler_make(r, toft_recycler_block_of(start), start, end - TOFT_RECYCLER_ZONE, r->segments);
}

static int toft_recycler_fits(toft_recycler_block *b, size_t size, size_t align) {
  return toft_recycler_fit(toft_recycler_start(b), (size_t)b->capacity, size, align) != NULL;
}

/* ---- the blocks of options.count: each starts with its header ---- */

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
    toft_recycler_empty_take(r, b);
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

/* Takes an empty block in which the request fits off its list. NULL: there is none. */
static toft_recycler_block *toft_recycler_find(toft_recycler *r, size_t size, size_t align) {
  int probes = TOFT_RECYCLER_PROBES_MAX;
  toft_recycler_block *b = r->count != 0 ? toft_recycler_counted_find(r, size, align) : NULL;
  if (b != NULL || size > TOFT_RECYCLER_DIRECT) return b;
  for (b = r->empty.first; b != NULL && probes-- > 0; b = b->next) {
    if (!toft_recycler_fits(b, size, align)) continue;
    toft_recycler_empty_take(r, b);
    b->segment->busy++;
    return b;
  }
  while (align <= TOFT_RECYCLER_UNIT && r->fresh != r->fresh_end) {
    b = toft_recycler_cut(r);
    if (toft_recycler_fits(b, size, align)) return b;
    toft_recycler_block_emptied(r, b);
  }
  return NULL;
}

/* ---- slow path of allocation ---- */

static void *toft_recycler_alloc_in_range(toft_recycler_range *range, size_t size, size_t align) {
  unsigned char *p = range->cursor, *q = toft_recycler_fit(p, (size_t)(range->limit - p), size, align);
  if (q == NULL) return NULL;
  if (q != p) {
    toft_recycler_add_hole(range->block, p, (size_t)(q - p));
    toft_recycler_live_add(range->block->owner, range->block, p - q);
  }
  range->cursor = q + size;
  return q;
}

/* Allocates from the holes of sparse blocks, after a few sweeps. NULL: nothing fits. */
static void *toft_recycler_from_sparse(toft_recycler *r, size_t k, size_t size, size_t align) {
  toft_recycler_list *sparse = &r->classes[k].sparse;
  toft_recycler_range *range = &r->classes[k].range;
  int sweeps = r->count != 0 ? TOFT_RECYCLER_COUNTED_SWEEPS_MAX : TOFT_RECYCLER_SWEEPS_MAX;
  int header_probes = TOFT_RECYCLER_HEADER_PROBES_MAX, uncertain = 1;
  toft_recycler_block *b, *narrow = NULL; /* the first block moved to the end of the list */
  while ((b = sparse->first) != NULL && b != narrow && header_probes-- > 0) {
    /* Known to be too narrow; if only the alignment is uncertain, one is tried. */
    if (b->widest != 0 && (b->widest < size || (b->widest < size + (align - 8) && uncertain-- <= 0))) {
      if (narrow == NULL) narrow = b;
      toft_recycler_unlink(sparse, b);
      toft_recycler_append(sparse, b);
      continue;
    }
    if (sweeps-- == 0) break;
    toft_recycler_close(r, range);
    if (toft_recycler_sweep(r, k, b, size, align)) return toft_recycler_alloc_in_range(range, size, align);
  }
  return NULL;
}

/* Passes all that the classes keep to the blocks, so that blocks without live objects are empty. */
static void toft_recycler_flush(toft_recycler *r);

/* Allocates from the blocks that the range of a class fills or has filled. NULL: nothing fits. */
static void *toft_recycler_refill(toft_recycler *r, size_t k, size_t size, size_t align) {
  toft_recycler_class *c = &r->classes[k];
  toft_recycler_range *range = &c->range;
  void *p = toft_recycler_alloc_in_range(range, size, align);
  if (p != NULL) return p;
  if (range->sweep != TOFT_RECYCLER_NONE && toft_recycler_fill_holes(range, size, align))
    return toft_recycler_alloc_in_range(range, size, align);
  if (range->block != NULL && toft_recycler_is_idle(range)) { /* every object in it was freed */
    toft_recycler_open(r, k, range->block);
    p = toft_recycler_alloc_in_range(range, size, align);
    if (p != NULL) return p;
  }
  return toft_recycler_from_sparse(r, k, size, align);
}

/* Takes an empty block for a request; calls the source last. */
static toft_recycler_block *toft_recycler_take_block(toft_recycler *r, size_t size, size_t align) {
  toft_recycler_block *b = r->segments != NULL || r->count != 0 ? toft_recycler_find(r, size, align) : NULL;
  if (b != NULL || size > TOFT_RECYCLER_DIRECT) return b;
  if (r->segments != NULL) {
    toft_recycler_flush(r);
    b = toft_recycler_find(r, size, align);
  }
  if (b == NULL && toft_recycler_segment_take(r, align)) b = toft_recycler_find(r, size, align);
  return b;
}

static void *toft_recycler_fill_new(toft_recycler *r, size_t k, size_t size, size_t align) {
  toft_recycler_block *b = toft_recycler_take_block(r, size, align);
  if (b == NULL) return NULL;
  toft_recycler_close(r, &r->classes[k].range);
  toft_recycler_open(r, k, b);
  return toft_recycler_alloc_in_range(&r->classes[k].range, size, align);
}

static void *toft_recycler_fill(toft_recycler *r, size_t k, size_t size, size_t align) {
  void *p = r->segments != NULL || r->count != 0 ? toft_recycler_refill(r, k, size, align) : NULL;
  return p != NULL ? p : toft_recycler_fill_new(r, k, size, align);
}

#endif
