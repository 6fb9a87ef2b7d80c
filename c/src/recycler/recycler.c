/* Recyclers: blocks with live counts. See recycler.h for the layout and the inline fast paths.
 *
 * Each size class allocates from its span, without a call. When the span is used up, the class takes, in this order,
 * the newest of the freed pieces that it holds, the spans that frees replaced, and a grant of new memory. A
 * class that has taken less than TOFT_RECYCLER_OWN_MIN is granted a few objects from a range that all such classes
 * share, so that a small heap does not have a block for each size. After that the class fills blocks of its own, in
 * which every hole fits every request.
 *
 * A freed piece is held by its class or becomes its span; each class holds a few pieces, and passes others to their
 * block. A block is fresh, filled (by a range), full, sparse or empty. Pieces that a block gets are linked through
 * their own bytes and not examined until the block is empty or sparse. A sparse block of one class is refilled piece
 * by piece. A shared one is swept before: the pieces are sorted and joined with a bitmap on the stack.
 *
 * Objects above TOFT_RECYCLER_CLASS_MAX have blocks of another kind: recycler_medium.c.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_C
#define TOFT_RECYCLER_RECYCLER_C

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

/* ---- size classes ---- */

/* Empties the span of a class that is in use. No allocation starts or ends at this address. */
static void toft_recycler_span_clear(toft_recycler *r, toft_recycler_span *s) {
  s->cursor = s->limit = (unsigned char *)(void *)r;
}

/* Every call takes the slow path. */
static void toft_recycler_span_disable(toft_recycler *r, toft_recycler_span *s) {
  s->limit = (unsigned char *)(void *)r;
  s->cursor = s->limit + 8;
}

static size_t toft_recycler_span_bytes(const toft_recycler_span *s) { return (size_t)(s->limit - s->cursor); }

/* Bytes of each object of a class. */
static size_t toft_recycler_class_bytes(size_t k) {
  size_t shift = k < 16 ? 3 : 2 + k / 8;
  return (k - 8 * (shift - 3) + 1) << shift;
}

static size_t toft_recycler_class_index(size_t bytes) {
  size_t k = TOFT_RECYCLER_SHARED, class_bytes;
  (void)toft_recycler_classify(bytes, &k, &class_bytes);
  return k;
}

static int toft_recycler_in_use(const toft_recycler *r, size_t k) { return (r->active >> k & 1) != 0; }

/* Returns a class, which is in use from now on. With a count only the shared one is used. */
static toft_recycler_class *toft_recycler_class_of(toft_recycler *r, size_t k) {
  toft_recycler_class *c = &r->classes[k];
  if (toft_recycler_in_use(r, k)) return c;
  r->active |= (uint64_t)1 << k;
  c->range.block = NULL;
  c->sparse.first = c->sparse.last = NULL;
  c->held = c->rests = NULL;
  c->held_count = c->rest_count = c->granted = 0;
  c->own = 0;
  c->range.cursor = c->range.limit = (unsigned char *)(void *)r;
  c->range.sweep = TOFT_RECYCLER_NONE;
  if (k < TOFT_RECYCLER_CLASSES) toft_recycler_span_clear(r, &r->spans[k]);
  return c;
}

/* Passes a span to its block. */
static void toft_recycler_span_drop(toft_recycler *r, toft_recycler_span *s) {
  unsigned char *p = s->cursor;
  size_t bytes = toft_recycler_span_bytes(s);
  if (bytes == 0) return;
  toft_recycler_span_clear(r, s);
  toft_recycler_drop(r, p, bytes);
}

static void *toft_recycler_span_alloc(toft_recycler *r, toft_recycler_span *s, size_t bytes, size_t align) {
  unsigned char *p = s->cursor, *q = toft_recycler_fit(p, toft_recycler_span_bytes(s), bytes, align);
  if (q == NULL) return NULL;
  s->cursor = q + bytes;
  if (q != p) toft_recycler_drop(r, p, (size_t)(q - p));
  return q;
}

/* The address that a held piece or span starts with. */
static unsigned char *toft_recycler_link(const unsigned char *p) {
  unsigned char *next;
  memcpy(&next, p, sizeof next);
  return next;
}

/* Removes the newest held piece. */
static unsigned char *toft_recycler_held_take(toft_recycler_class *c) {
  unsigned char *p = c->held;
  c->held = toft_recycler_link(p);
  c->held_count--;
  return p;
}

static void toft_recycler_rest_push(toft_recycler_class *c, const toft_recycler_span *s) {
  memcpy(s->cursor, &c->rests, sizeof c->rests);
  memcpy(s->cursor + sizeof c->rests, &s->limit, sizeof s->limit);
  c->rests = s->cursor;
  c->rest_count++;
}

/* Removes the newest of the longer spans. */
static toft_recycler_span toft_recycler_rest_take(toft_recycler_class *c) {
  toft_recycler_span s;
  s.cursor = c->rests;
  c->rests = toft_recycler_link(s.cursor);
  s.limit = toft_recycler_link(s.cursor + sizeof s.cursor);
  c->rest_count--;
  return s;
}

/* Passes a span of a class back to its block. */
static void toft_recycler_return_span(toft_recycler *r, toft_recycler_class *c, toft_recycler_span *s) {
  c->granted -= (uint32_t)toft_min(c->granted, toft_recycler_span_bytes(s));
  toft_recycler_span_drop(r, s);
}

static void toft_recycler_flush(toft_recycler *r) {
  for (size_t k = 0; k < TOFT_RECYCLER_CLASSES; k++) {
    toft_recycler_class *c = &r->classes[k];
    if (!toft_recycler_in_use(r, k)) continue;
    toft_recycler_return_span(r, c, &r->spans[k]);
    while (c->rest_count != 0) {
      toft_recycler_span rest = toft_recycler_rest_take(c);
      toft_recycler_return_span(r, c, &rest);
    }
    while (c->held_count != 0) toft_recycler_drop(r, toft_recycler_held_take(c), toft_recycler_class_bytes(k));
  }
}

/* The block of p, which has `bytes` bytes; NULL: p is a large object. */
static toft_recycler_block *toft_recycler_owner_of(toft_recycler *r, void *p, size_t bytes) {
  if (toft_recycler_is_counted(r, p)) {
    size_t index = ((uintptr_t)p - (uintptr_t)r->counted) / r->stride;
    return (toft_recycler_block *)(void *)(r->counted + index * r->stride);
  }
  return bytes <= TOFT_RECYCLER_DIRECT ? toft_recycler_block_of(p) : NULL;
}

/* With a count all classes use one range. The one that allocated last has its unused part as span, which this returns
 * to the range. */
static void toft_recycler_reclaim(toft_recycler *r) {
  toft_recycler_range *range = &r->classes[TOFT_RECYCLER_SHARED].range;
  toft_recycler_span *s;
  if (r->borrower == TOFT_RECYCLER_CLASSES) return;
  s = &r->spans[r->borrower];
  range->cursor = s->cursor;
  range->limit = s->limit;
  toft_recycler_span_disable(r, s);
  r->borrower = TOFT_RECYCLER_CLASSES;
}

/* Allocates from the blocks that all classes share. */
static void *toft_recycler_shared_alloc(toft_recycler *r, size_t size, size_t align) {
  (void)toft_recycler_class_of(r, TOFT_RECYCLER_SHARED);
  return toft_recycler_fill(r, TOFT_RECYCLER_SHARED, size, align);
}

/* Allocates memory for a class, and more of it as its span. Precondition: the span is empty. A class with blocks of its
 * own also uses what is free in blocks that it filled together with others. */
static void *toft_recycler_grant(toft_recycler *r, size_t k, size_t bytes, size_t align) {
  toft_recycler_class *c = &r->classes[k];
  int own = c->own |= c->granted >= TOFT_RECYCLER_OWN_MIN;
  size_t room, more = toft_max(TOFT_RECYCLER_GRANT_MIN, toft_min(c->granted / 8, TOFT_RECYCLER_GRANT_MAX));
  size_t from = own ? k : TOFT_RECYCLER_SHARED;
  toft_recycler_range *range;
  void *p = own ? toft_recycler_refill(r, k, bytes, align) : toft_recycler_shared_alloc(r, bytes, align);
  if (p == NULL && own && (p = toft_recycler_from_sparse(r, TOFT_RECYCLER_SHARED, bytes, align)) != NULL)
    from = TOFT_RECYCLER_SHARED;
  if (p == NULL && own) p = toft_recycler_fill_new(r, from, bytes, align);
  if (p == NULL) return NULL;
  range = &r->classes[from].range;
  room = (size_t)(range->limit - range->cursor);
  more = own ? room : toft_min(more, room) / bytes * bytes;
  r->spans[k].cursor = range->cursor;
  r->spans[k].limit = range->cursor += more;
  if (!own) c->granted += (uint32_t)(bytes + more);
  return p;
}

/* Takes the next hole of the block that a class fills, unless longer spans are left. */
static TOFT_NOINLINE void *toft_recycler_class_next_hole(toft_recycler *r, size_t k, size_t bytes) {
  toft_recycler_range *range = &r->classes[k].range;
  unsigned char *p;
  if (range->sweep == TOFT_RECYCLER_NONE || r->classes[k].rest_count != 0) return NULL;
  if (!toft_recycler_fill_holes(range, bytes, 8)) return NULL;
  p = range->cursor;
  r->spans[k].cursor = p + bytes;
  r->spans[k].limit = range->cursor = range->limit;
  return p;
}

/* Takes a held piece or the next hole. NULL: neither is left. Precondition: the span is empty. */
static void *toft_recycler_class_reuse(toft_recycler *r, size_t k, size_t bytes) {
  toft_recycler_class *c = &r->classes[k];
  return c->held_count != 0 ? toft_recycler_held_take(c) : toft_recycler_class_next_hole(r, k, bytes);
}

/* The slow path of a class, when its span does not serve a request. */
static void *toft_recycler_class_alloc(toft_recycler *r, size_t k, size_t bytes, size_t align) {
  toft_recycler_class *c = toft_recycler_class_of(r, k);
  toft_recycler_span *s = &r->spans[k];
  void *p = toft_recycler_span_alloc(r, s, bytes, align);
  if (p != NULL) return p;
  if (align > 16 && bytes % align != 0) { /* the next objects of a span would not be aligned */
    if (c->held_count != 0 && ((uintptr_t)c->held & (align - 1)) == 0) return toft_recycler_held_take(c);
    return toft_recycler_shared_alloc(r, bytes, align);
  }
  toft_recycler_return_span(r, c, s);
  while (c->held_count != 0) {
    p = toft_recycler_held_take(c);
    if (((uintptr_t)p & (align - 1)) == 0) return p;
    toft_recycler_drop(r, p, bytes);
  }
  while (c->rest_count != 0) {
    *s = toft_recycler_rest_take(c);
    if ((p = toft_recycler_span_alloc(r, s, bytes, align)) != NULL) return p;
    toft_recycler_return_span(r, c, s);
  }
  return toft_recycler_grant(r, k, bytes, align);
}

static void toft_recycler_held_push(toft_recycler_class *c, unsigned char *p) {
  memcpy(p, &c->held, sizeof c->held);
  c->held = p;
  c->held_count++;
}

/* The piece of a class that holds as many as it may replaces the span, which the next frees of a container that is
 * cleared extend. */
static TOFT_NOINLINE void toft_recycler_class_free_span(toft_recycler *r, size_t k, unsigned char *p, size_t bytes) {
  toft_recycler_class *c = toft_recycler_class_of(r, k);
  toft_recycler_span *s = &r->spans[k];
  size_t span = toft_recycler_span_bytes(s);
  if (c->held_count == 0) { /* it was not in use */
    toft_recycler_held_push(c, p);
    return;
  }
  if (span > bytes && span >= 2 * sizeof(void *) && c->rest_count < TOFT_RECYCLER_RESTS_MAX) {
    toft_recycler_rest_push(c, s);
  } else {
    toft_recycler_return_span(r, c, s);
  }
  s->cursor = p;
  s->limit = p + bytes;
}

/* The slow path of a free. The class holds the piece if it holds few, whether its span is empty or not: a branch on
 * that would be mispredicted half of the time where objects are replaced at random. */
static void toft_recycler_class_free(toft_recycler *r, size_t k, unsigned char *p, size_t bytes) {
  toft_recycler_class *c = &r->classes[k];
  if (toft_recycler_in_use(r, k) && c->held_count < TOFT_RECYCLER_HELD_MAX &&
      c->held_count * bytes < TOFT_RECYCLER_HELD_BYTES_MAX)
    toft_recycler_held_push(c, p);
  else
    toft_recycler_class_free_span(r, k, p, bytes);
}

/* Frees a piece of a class. */
static void toft_recycler_class_put(toft_recycler *r, size_t k, unsigned char *p, size_t bytes) {
  toft_recycler_span *s = &r->spans[k];
  if (p + bytes == s->cursor)
    s->cursor = p;
  else if (p == s->limit)
    s->limit = p + bytes;
  else
    toft_recycler_class_free(r, k, p, bytes);
}

/* ---- slow paths of the API ---- */

/* With a count: the class that allocated last borrows the unused part of the range. */
static void *toft_recycler_counted_alloc(toft_recycler *r, size_t size, size_t align) {
  toft_recycler_range *range = &toft_recycler_class_of(r, TOFT_RECYCLER_SHARED)->range;
  size_t k = align <= 8 ? toft_recycler_class_index(size) : TOFT_RECYCLER_SHARED;
  void *p;
  toft_recycler_reclaim(r);
  p = toft_recycler_fill(r, TOFT_RECYCLER_SHARED, size, align);
  if (p == NULL || k == TOFT_RECYCLER_SHARED) return p;
  r->borrower = k;
  r->spans[k].cursor = range->cursor;
  r->spans[k].limit = range->limit;
  range->cursor = range->limit;
  return p;
}

/* Bytes of an object: those of its class, or a multiple of 8. */
static size_t toft_recycler_object_bytes(size_t size) {
  size_t k, bytes;
  size = toft_max(size, 1);
  return toft_recycler_classify(size, &k, &bytes) ? bytes : toft_round(size, 8);
}

static TOFT_NOINLINE void *toft_recycler_alloc_any(toft_recycler *r, size_t size, size_t align, uintptr_t site) {
  void *p = NULL;
  size_t bytes;
  size = size == 0 ? 1 : size;
  align = toft_max(align, 8);
  if ((align & (align - 1)) != 0 || size > TOFT_MAX_REQUEST / 2 || align > TOFT_MAX_REQUEST / 2) return NULL;
  if (TOFT_UNLIKELY(r->checked)) return toft_recycler_alloc_checked(r, size, align, site);
  bytes = toft_recycler_object_bytes(size);
  if (r->count != 0) {
    if (bytes <= TOFT_RECYCLER_DIRECT || bytes <= r->stride - 64) p = toft_recycler_counted_alloc(r, bytes, align);
  } else if (bytes <= TOFT_RECYCLER_CLASS_MAX) {
    p = toft_recycler_class_alloc(r, toft_recycler_class_index(bytes), bytes, align);
  } else if (bytes <= TOFT_RECYCLER_DIRECT) {
    p = toft_recycler_medium_alloc(r, bytes, align);
  }
  return p != NULL || bytes <= TOFT_RECYCLER_DIRECT ? p : toft_recycler_large_alloc(r, bytes, align);
}

void *toft_recycler_alloc_slow_at(toft_recycler *r, size_t size, size_t align, uintptr_t site) {
  size_t k, bytes;
  if (align <= 8 && toft_recycler_classify(size, &k, &bytes) && toft_recycler_in_use(r, k) &&
      r->spans[k].cursor == r->spans[k].limit) {
    void *p = toft_recycler_class_reuse(r, k, bytes);
    if (p != NULL) return p;
  }
  return toft_recycler_alloc_any(r, size, align, site);
}

void *toft_recycler_alloc_slow(toft_recycler *r, size_t size, size_t align) {
  return toft_recycler_alloc_slow_at(r, size, align, TOFT_CALLER());
}

static TOFT_NOINLINE void toft_recycler_free_any(toft_recycler *r, void *p, size_t size, uintptr_t site) {
  size_t bytes;
  toft_recycler_block *b;
  if (p == NULL) return;
  size = toft_max(size, 1);
  if (TOFT_UNLIKELY(r->checked)) {
    toft_recycler_free_checked(r, p, size, site);
    return;
  }
  bytes = toft_recycler_object_bytes(size);
  if (r->count == 0 && bytes <= TOFT_RECYCLER_CLASS_MAX) {
    toft_recycler_class_free(r, toft_recycler_class_index(bytes), (unsigned char *)p, bytes);
    return;
  }
  if (r->count == 0 && bytes <= TOFT_RECYCLER_DIRECT) {
    toft_recycler_medium_free(r, p, bytes);
    return;
  }
  b = toft_recycler_owner_of(r, p, bytes);
  if (b == NULL)
    toft_recycler_large_free(r, p, bytes);
  else
    toft_recycler_free_in_block(r, b, p, bytes);
}

void toft_recycler_free_slow_at(toft_recycler *r, void *p, size_t size, uintptr_t site) {
  size_t k, bytes;
  if (p != NULL && toft_recycler_classify(size, &k, &bytes) && toft_recycler_in_use(r, k))
    toft_recycler_class_free(r, k, (unsigned char *)p, bytes);
  else
    toft_recycler_free_any(r, p, size, site);
}

void toft_recycler_free_slow(toft_recycler *r, void *p, size_t size) {
  toft_recycler_free_slow_at(r, p, size, TOFT_CALLER());
}

/* The cursor and limit that end with p, of `bytes` bytes; NULL: p is not the newest allocation there. */
static toft_recycler_span *toft_recycler_span_after(toft_recycler *r, const unsigned char *end, size_t bytes) {
  size_t k = toft_recycler_class_index(bytes);
  return k < TOFT_RECYCLER_CLASSES && r->spans[k].cursor == end ? &r->spans[k] : NULL;
}

/* Extends a span by the memory after it, if that is the unused part of the shared range. */
static void toft_recycler_span_extend(toft_recycler *r, toft_recycler_span *s, size_t bytes) {
  toft_recycler_range *shared = &r->classes[TOFT_RECYCLER_SHARED].range;
  size_t has = toft_recycler_span_bytes(s);
  if (has >= bytes || s->limit != shared->cursor || bytes - has > (size_t)(shared->limit - shared->cursor)) return;
  s->limit = shared->cursor += bytes - has;
}

/* Resizes in place; 0: not possible. */
static int toft_recycler_resize_in_place(toft_recycler *r, void *p, size_t was, size_t now) {
  toft_recycler_block *b = toft_recycler_owner_of(r, p, was);
  unsigned char *q = (unsigned char *)p;
  toft_recycler_span *s;
  if (b == NULL) return toft_recycler_large_resize(r, p, was, now);
  if (r->count == 0 && was > TOFT_RECYCLER_CLASS_MAX)
    return now > TOFT_RECYCLER_CLASS_MAX && toft_recycler_medium_resize(r, p, was, now);
  if (r->count == 0 && now > TOFT_RECYCLER_CLASS_MAX) return 0;
  s = toft_recycler_span_after(r, q + was, was);
  if (s != NULL) {
    if (now > was) toft_recycler_span_extend(r, s, now - was);
    if (now > was && toft_recycler_span_bytes(s) < now - was) return 0;
    s->cursor = q + now;
    return 1;
  }
  if (now < was) toft_recycler_free_in_block(r, b, q + now, was - now);
  return now <= was;
}

static void *toft_recycler_resize_at(toft_recycler *r, void *p, size_t old_size, size_t new_size, size_t align,
                                     uintptr_t site) {
  void *q;
  align = TOFT_OPS_ALIGN(align);
  if (p == NULL) return toft_recycler_alloc(r, new_size, align);
  if ((align & (align - 1)) != 0 || new_size > TOFT_MAX_REQUEST / 2 || align > TOFT_MAX_REQUEST / 2) return NULL;
  if (TOFT_UNLIKELY(r->checked))
    return toft_recycler_resize_checked(r, p, toft_max(old_size, 1), toft_max(new_size, 1), toft_max(align, 8), site);
  if (((uintptr_t)p & (toft_max(align, 1) - 1)) == 0 &&
      toft_recycler_resize_in_place(r, p, toft_recycler_object_bytes(old_size), toft_recycler_object_bytes(new_size)))
    return p;
  q = toft_recycler_alloc(r, new_size, align);
  if (q == NULL) return NULL;
  memcpy(q, p, toft_min(old_size, new_size));
  toft_recycler_free(r, p, old_size);
  return q;
}

void *toft_recycler_resize(toft_recycler *r, void *p, size_t old_size, size_t new_size, size_t align) {
  return toft_recycler_resize_at(r, p, old_size, new_size, align, TOFT_CALLER());
}

/* ---- init and release ---- */

/* Sets the state of a recycler without memory, whose spans are disabled. A class is initialised when it is used first,
 * since all of them would take longer than ten allocations. */
static void toft_recycler_clear(toft_recycler *r) {
  r->active = 0;
  r->medium_runs = 0;
  r->empty.first = r->empty.last = NULL;
  r->empty_counted.first = r->empty_counted.last = NULL;
  r->segments = NULL;
  r->fresh = r->fresh_end = NULL;
  r->regions = NULL;
  r->region_used = 0;
  r->dedicated = NULL;
  r->dedicated_bytes = r->dedicated_peak = r->spare_bytes = r->spare_count = 0;
  r->segment_bytes = TOFT_RECYCLER_UNIT;
  r->reserved = r->refused = 0;
  r->live = r->cut_blocks = r->cut_bytes = r->empty_blocks = r->empty_bytes = 0;
  r->dedicated_count = r->dedicated_used = r->dedicated_room = 0;
  r->region_count = r->region_idle = r->region_objects = 0;
  r->counted = r->counted_fresh = NULL;
  r->borrower = TOFT_RECYCLER_CLASSES;
  r->checks = NULL;
}

static size_t toft_recycler_stride(size_t block_size) { return 64 + toft_round(block_size, 64); }

int toft_recycler_check(const toft_recycler_options *options) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  if (options->size < offsetof(toft_recycler_options, shards) || options->size > sizeof o) return TOFT_EARG;
  memcpy(&o, options, options->size);
  if ((o.count == 0) != (o.block_size == 0) || o.block_size > TOFT_RECYCLER_COUNTED_MAX) return TOFT_EARG;
  if (o.count > TOFT_MAX_REQUEST / 2 / toft_recycler_stride(o.block_size)) return TOFT_EARG;
  return o.shards > TOFT_SHARDS_MAX || (o.count != 0 && o.shards > 1) ? TOFT_EARG : TOFT_OK;
}

static int toft_recycler_init_unchecked(toft_recycler *r, const toft_recycler_options *options) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  for (size_t k = 0; k < 4; k++) toft_recycler_span_disable(r, &r->spans[k]);
  for (size_t k = 4; k < TOFT_RECYCLER_CLASSES; k += 4) /* by vectors */
    memcpy(&r->spans[k], r->spans, 4 * sizeof *r->spans);
  toft_recycler_clear(r);
  r->shard = 0;
  r->checked = 0;
  r->peak = 0;
  r->phase = 0;
  r->source = &toft_heap_source;
  r->count = r->stride = 0;
  r->source_calls = 0;
  if (options == NULL) return TOFT_OK;
  if (toft_recycler_check(options) != TOFT_OK) return TOFT_EARG;
  memcpy(&o, options, options->size);
  if (o.source != NULL) r->source = o.source;
  if (o.count == 0) return TOFT_OK;
  r->stride = toft_recycler_stride(o.block_size);
  r->count = o.count;
  return toft_recycler_counted_take(r) ? TOFT_OK : TOFT_ENOMEM;
}

/* The checks are created by the first call, so that this takes memory for a count only. */
static int toft_recycler_init_checked(toft_recycler *r, const toft_recycler_options *options) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  (void)toft_recycler_init_unchecked(r, NULL);
  if (options != NULL && toft_recycler_check(options) != TOFT_OK) return TOFT_EARG;
  if (options != NULL) memcpy(&o, options, options->size);
  if (o.source != NULL) r->source = o.source;
  r->checked = 1;
  r->count = o.count;
  r->stride = o.block_size;
  return o.count == 0 || toft_recycler_checks_for(r) != NULL ? TOFT_OK : TOFT_ENOMEM;
}

int toft_recycler_init(toft_recycler *r, const toft_recycler_options *options) {
  return TOFT_UNLIKELY(toft_process_switches() & TOFT_PROCESS_CHECKS) ? toft_recycler_init_checked(r, options)
                                                                      : toft_recycler_init_unchecked(r, options);
}

static void toft_recycler_release_at(toft_recycler *r, uintptr_t site) {
  if (TOFT_UNLIKELY(r->checked)) {
    toft_recycler_release_checked(r, site);
    return;
  }
  while (r->segments != NULL) {
    toft_recycler_segment s = *r->segments;
    r->segments = s.next;
    toft_recycler_put(r, s.base, s.size);
  }
  toft_recycler_large_release(r);
  if (r->counted != NULL) toft_recycler_put(r, r->counted, toft_recycler_counted_bytes(r));
  if (r->borrower != TOFT_RECYCLER_CLASSES) toft_recycler_span_disable(r, &r->spans[r->borrower]);
  for (; (r->active & TOFT_RECYCLER_SIZED) != 0; r->active &= r->active - 1)
    toft_recycler_span_disable(r, &r->spans[toft_lowest_bit(r->active)]);
  toft_recycler_clear(r);
}

void toft_recycler_release(toft_recycler *r) { toft_recycler_release_at(r, TOFT_CALLER()); }

/* ---- statistics ---- */

/* The end of the last unit in use. */
static unsigned char *toft_recycler_cut_end(const toft_recycler *r, const toft_recycler_segment *s) {
  return s == r->segments && r->fresh != NULL ? r->fresh : s->end;
}

/* The start of the unit after that of p. */
static unsigned char *toft_recycler_next_unit(unsigned char *p) {
  return p + (TOFT_RECYCLER_UNIT - ((uintptr_t)p & (TOFT_RECYCLER_UNIT - 1)));
}

/* Bytes that count as live in b but are free. `lent`: they were taken from b->live; else they are put back. */
static void toft_recycler_lend(toft_recycler_block *b, size_t bytes, toft_recycler_stats *lent) {
  if (lent == NULL) {
    b->live += (int32_t)bytes;
    return;
  }
  b->live -= (int32_t)bytes;
  lent->used -= bytes;
  if (b->live != 0) return;
  lent->blocks--;
  lent->idle_blocks++;
  lent->pinned -= (size_t)b->capacity;
  lent->kept += (size_t)b->capacity;
}

static void toft_recycler_lend_span(const toft_recycler_span *s, toft_recycler_stats *lent) {
  if (s->cursor < s->limit) toft_recycler_lend(toft_recycler_block_of(s->cursor), toft_recycler_span_bytes(s), lent);
}

/* Spans and held pieces. The lists are followed side by side: the cache misses of one overlap with those of others. */
static void toft_recycler_lend_kept(const toft_recycler *r, toft_recycler_stats *lent) {
  toft_recycler_span rest;
  unsigned char *held[TOFT_RECYCLER_CLASSES], *rests[TOFT_RECYCLER_CLASSES];
  uint64_t left = r->active & TOFT_RECYCLER_SIZED, classes;
  for (classes = left; classes != 0; classes &= classes - 1) {
    size_t k = toft_lowest_bit(classes);
    toft_recycler_lend_span(&r->spans[k], lent);
    held[k] = r->classes[k].held;
    rests[k] = r->classes[k].rests;
  }
  for (uint32_t i = 0; left != 0; i++) {
    for (classes = left; classes != 0; classes &= classes - 1) {
      size_t k = toft_lowest_bit(classes);
      const toft_recycler_class *c = &r->classes[k];
      if (i < c->rest_count) {
        rest.cursor = rests[k];
        rest.limit = toft_recycler_link(rest.cursor + sizeof rest.cursor);
        rests[k] = toft_recycler_link(rest.cursor);
        toft_recycler_lend_span(&rest, lent);
      }
      if (i < c->held_count) {
        toft_recycler_lend(toft_recycler_block_of(held[k]), toft_recycler_class_bytes(k), lent);
        held[k] = toft_recycler_link(held[k]);
#if defined(__GNUC__)
        __builtin_prefetch(held[k]); /* read in the next round */
#endif
      }
      if (i >= c->held_count && i >= c->rest_count) left &= ~((uint64_t)1 << k);
    }
  }
}

/* The free bytes that classes keep: first what is in ranges, since the block of an empty range may have no live byte;
 * then spans and held pieces. The borrower's span is the end of the shared range. */
static void toft_recycler_lend_all(const toft_recycler *r, toft_recycler_stats *lent) {
  for (size_t k = 0; k <= TOFT_RECYCLER_SHARED; k++) {
    const toft_recycler_range *range = &r->classes[k].range;
    size_t borrowed = k == TOFT_RECYCLER_SHARED && r->borrower != TOFT_RECYCLER_CLASSES
                          ? toft_recycler_span_bytes(&r->spans[r->borrower])
                          : 0;
    if (toft_recycler_in_use(r, k) && range->block != NULL)
      toft_recycler_lend(range->block, (size_t)(range->limit - range->cursor) + borrowed, lent);
  }
  toft_recycler_lend_kept(r, lent);
}

/* Only blocks that contain free bytes of a class are read. */
toft_recycler_stats toft_recycler_get_stats(const toft_recycler *r) {
  toft_recycler_stats s;
  unsigned char *p;
  if (r->checked) return toft_recycler_stats_checked(r);
  memset(&s, 0, sizeof s);
  s.used = r->live;
  s.blocks = r->cut_blocks - r->empty_blocks;
  s.idle_blocks = r->empty_blocks;
  s.pinned = r->cut_bytes - r->empty_bytes;
  s.kept = r->empty_bytes;
  toft_recycler_lend_all(r, &s);
  toft_recycler_lend_all(r, NULL);
  s.pinned -= s.used;
  for (p = r->fresh; p != r->fresh_end; p = toft_recycler_next_unit(p))
    s.kept += (size_t)(toft_recycler_next_unit(p) - p) - TOFT_RECYCLER_ZONE;
  if (r->counted != NULL) s.kept += (r->count - (size_t)(r->counted_fresh - r->counted) / r->stride) * (r->stride - 64);
  toft_recycler_large_count(r, &s);
  s.reserved = r->reserved;
  s.wasted = s.reserved - s.used - s.pinned - s.kept;
  s.peak = r->peak;
  s.source_calls = r->source_calls;
  return s;
}

/* ---- trim ---- */

/* Ends the ranges whose blocks have no live object. */
static void toft_recycler_close_idle(toft_recycler *r) {
  for (size_t k = 0; k <= TOFT_RECYCLER_SHARED; k++) {
    toft_recycler_range *range = &r->classes[k].range;
    if (toft_recycler_in_use(r, k) && range->block != NULL && toft_recycler_is_idle(range))
      toft_recycler_close(r, range);
  }
}

/* Returns a segment without live objects to the source. */
static void toft_recycler_segment_put(toft_recycler *r, toft_recycler_segment **at) {
  toft_recycler_segment s = **at;
  unsigned char *p, *cut = toft_recycler_cut_end(r, *at);
  for (p = s.first; p < cut; p = toft_recycler_next_unit(p)) {
    toft_recycler_block *b = toft_recycler_block_of(p);
    toft_recycler_empty_take(r, b);
    r->cut_blocks--;
    r->cut_bytes -= (size_t)b->capacity;
  }
  if (*at == r->segments) r->fresh = r->fresh_end = NULL;
  *at = s.next;
  toft_recycler_put(r, s.base, s.size);
}

static size_t toft_recycler_trim_to(toft_recycler *r, size_t keep) {
  toft_recycler_segment **at;
  size_t idle = 0, kept = 0;
  if (r->checked) return toft_recycler_trim_checked(r, keep, TOFT_CALLER());
  toft_recycler_reclaim(r);
  toft_recycler_flush(r);
  toft_recycler_close_idle(r);
  for (at = &r->segments; *at != NULL; at = &(*at)->next)
    if ((*at)->busy == 0) idle += (*at)->size;
  idle = toft_recycler_large_trim(r, idle, keep);
  for (at = &r->segments; *at != NULL;) {
    if ((*at)->busy == 0 && idle - (*at)->size >= keep) {
      idle -= (*at)->size;
      toft_recycler_segment_put(r, at);
    } else {
      kept += (*at)->size;
      at = &(*at)->next;
    }
  }
  while (r->segment_bytes > toft_max(kept, TOFT_RECYCLER_UNIT)) r->segment_bytes /= 2; /* as after growth */
  return idle;
}

void toft_recycler_trim(toft_recycler *r, size_t keep) { (void)toft_recycler_trim_to(r, keep); }

#endif
