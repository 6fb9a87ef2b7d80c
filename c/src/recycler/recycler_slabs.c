/* The slabs of a recycler: runs of pages with objects of one class.
 *
 * A class allocates from its current slab: freed objects, then new ones. A slab is current, full or partial. A full one
 * becomes partial when an eighth of its objects were freed; so a class that replaces objects at random does not change
 * its slab at each call. A partial one without objects goes back to its unit.
 *
 * No object starts at a multiple of the page size, so that a free recognizes large objects, which do, by the address.
 * The objects of classes that are multiples of 128 start 64 bytes after one; in other classes such an object is left
 * out.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_SLABS_C
#define TOFT_RECYCLER_RECYCLER_SLABS_C

#include "recycler_segments.c"

enum { TOFT_RECYCLER_CURRENT, TOFT_RECYCLER_FULL, TOFT_RECYCLER_PARTIAL };

#define TOFT_RECYCLER_INLINE_CLASSES 56 /* those up to TOFT_RECYCLER_CLASS_MAX; the others are parts of a unit */
#define TOFT_RECYCLER_HOT_PAGES 16      /* a class that has these takes whole units */
#define TOFT_RECYCLER_SLACK 8           /* a full slab is used again when this part of it is free */
#define TOFT_RECYCLER_SPARSE_MIN (512 * TOFT_KIB)

/* The current slab of a class that has none: full. It is never written. */
static toft_recycler_slab toft_recycler_no_slab;

/* ---- classes ---- */

/* Bytes of each object of a class. */
static size_t toft_recycler_class_bytes(size_t k) {
  static const uint16_t parts[] = {4592, 5360, 6448, 8048, 10736, 16112};
  size_t shift = k < 16 ? 3 : 2 + k / 8;
  return k < TOFT_RECYCLER_INLINE_CLASSES ? (k - 8 * (shift - 3) + 1) << shift
                                          : parts[k - TOFT_RECYCLER_INLINE_CLASSES];
}

/* Precondition: 0 < size <= TOFT_RECYCLER_DIRECT. */
static size_t toft_recycler_class_index(size_t size) {
  size_t k = TOFT_RECYCLER_INLINE_CLASSES, bytes;
  if (toft_recycler_classify(size, &k, &bytes)) return k;
  while (toft_recycler_class_bytes(k) < size) k++;
  return k;
}

static unsigned toft_recycler_class_pages(size_t bytes) {
  return bytes <= 512 ? 1 : bytes <= 1024 ? 2 : bytes <= 2048 ? 4 : 8;
}

/* ---- slabs ---- */

/* The line of a page of a unit: unit k of eight begins with line k. */
static unsigned toft_recycler_line_of_page(const void *p, unsigned page) {
  return (((uintptr_t)p >> 15 & 7) + page) & 7;
}

/* The first page of a slab. */
static unsigned toft_recycler_first_page(const toft_recycler_slab *d) {
  unsigned line = 7 - ((uintptr_t)d >> 6 & 7);
  return (line + 8 - ((uintptr_t)d >> 15 & 7)) & 7;
}

/* The address in the unit of d with this low half. */
static unsigned char *toft_recycler_widen(const toft_recycler_slab *d, uint32_t low) {
  unsigned char *unit = toft_recycler_unit_base(d);
  return unit + (uint32_t)(low - (uint32_t)(uintptr_t)unit);
}

/* Sets the end of the new objects: the first that would start at a page, or `last`. */
static void toft_recycler_slab_stop(toft_recycler_slab *d) {
  const unsigned char *last = toft_recycler_widen(d, d->last);
  const unsigned char *page = d->cursor + toft_pad(d->cursor, TOFT_RECYCLER_PAGE);
  d->end = d->last;
  if (d->bytes % 128 == 0) return;
  for (; page < last; page += TOFT_RECYCLER_PAGE) {
    if ((uint32_t)(page - d->cursor) % d->bytes != 0) continue;
    d->end = (uint32_t)(uintptr_t)page;
    return;
  }
}

/* Goes on behind the object that was left out. 0: that was the last. */
static int toft_recycler_slab_skip(toft_recycler_slab *d) {
  if (d->end == d->last) return 0;
  d->cursor += d->bytes;
  toft_recycler_slab_stop(d);
  return d->end != (uint32_t)(uintptr_t)d->cursor;
}

/* Address of the first object of a slab. */
static unsigned char *toft_recycler_slab_begin(unsigned char *from, size_t bytes) {
  size_t align = toft_min(bytes & (0 - bytes), TOFT_RECYCLER_ALIGN_MAX);
  unsigned char *p = from + toft_pad(from, align);
  if (bytes % 128 == 0) return ((uintptr_t)p & 64) != 0 ? p : p + 64;
  return ((uintptr_t)p & (TOFT_RECYCLER_PAGE - 1)) != 0 ? p : p + align;
}

/* The first of the usable bytes of the pages of a slab, and their number. */
static unsigned char *toft_recycler_slab_start(const toft_recycler_slab *d) {
  return toft_recycler_page_start(toft_recycler_segment_of(toft_recycler_unit_of(d)), toft_recycler_unit_base(d),
                                  toft_recycler_first_page(d));
}
static size_t toft_recycler_slab_room(const toft_recycler_slab *d) {
  const toft_recycler_segment *s = toft_recycler_segment_of(toft_recycler_unit_of(d));
  const unsigned char *end =
      toft_recycler_page_end(s, toft_recycler_unit_base(d), toft_recycler_first_page(d) + d->pages);
  return (size_t)(end - toft_recycler_slab_start(d));
}

/* Takes a slab of `pages` pages, which the caller makes the current one. NULL: there is no such run. */
static toft_recycler_slab *toft_recycler_slab_take(toft_recycler *r, size_t k, unsigned pages) {
  unsigned first;
  toft_recycler_slab *unit = toft_recycler_pages_take(r, pages, &first), *d;
  if (unit == NULL) return NULL;
  const toft_recycler_segment *s = toft_recycler_segment_of(unit);
  unsigned char *base = toft_recycler_unit_base(unit), *from = toft_recycler_page_start(s, base, first);
  const unsigned char *to = toft_recycler_page_end(s, base, first + pages);
  size_t bytes = toft_recycler_class_bytes(k);
  unsigned line = toft_recycler_line_of_page(base, first);
  for (unsigned i = 0; i < pages; i++) unit->map[first + i] = (uint8_t)line;
  d = toft_recycler_line(base, line << 6);
  d->pages = (uint8_t)pages;
  d->free = NULL;
  d->cursor = toft_recycler_slab_begin(from, bytes);
  d->last = (uint32_t)(uintptr_t)(to - (uint32_t)(to - d->cursor) % (uint32_t)bytes);
  d->bytes = (uint16_t)bytes;
  d->freed = d->capacity = 0;
  d->size_class = (uint8_t)k;
  d->state = TOFT_RECYCLER_CURRENT;
  d->next = d->previous = NULL;
  toft_recycler_slab_stop(d);
  r->held[k] = (uint8_t)toft_min(r->held[k] + pages, UINT8_MAX);
  r->slab_count++;
  r->slab_bytes += (size_t)(to - from);
  return d;
}

/* The only slab of a unit, which returns to the heap with it, becomes as a new one. */
static void toft_recycler_leave_slab(const toft_recycler *r) {
  toft_recycler_segment *s = r->segments;
  if (r->slab_count != 1 || s->next != NULL || s->size != TOFT_UNIT) return;
  toft_recycler_slab *d = r->current[toft_lowest_bit(r->classes)];
  if (d == &toft_recycler_no_slab) return;
  d->free = NULL;
  d->freed = d->capacity = 0;
  d->cursor = toft_recycler_slab_begin(toft_recycler_slab_start(d), d->bytes);
  toft_recycler_slab_stop(d);
  s->again = d;
  s->again_bytes = (uint32_t)r->slab_bytes;
}

/* Takes a unit with such a slab. NULL: the next unit of the heap has none. */
static toft_recycler_slab *toft_recycler_slab_again(toft_recycler *r, size_t k) {
  unsigned char *base = r->on_heap ? toft_unit_next() : NULL;
  if (base == NULL) return NULL;
  toft_recycler_segment *s =
      (toft_recycler_segment *)(void *)(base + TOFT_UNIT - TOFT_RECYCLER_ZONE - TOFT_RECYCLER_SEGMENT_HEAD);
  toft_recycler_slab *d = s->again, *unit;
  if (d == NULL || d->size_class != k || toft_recycler_take_segment(r, TOFT_UNIT) == NULL) return NULL;
  s->again = NULL;
  r->segments = s;
  r->page_bytes = toft_recycler_segment_bytes(s);
  toft_recycler_use(r, TOFT_UNIT, 0);
  unit = toft_recycler_unit_of(d);
  unit->shard = r->shard;
  if (unit->free_pages != 0) r->gaps[toft_recycler_longest_run(unit->free_pages) - 1]++;
  r->held[k] = d->pages;
  r->slab_count = 1;
  r->slab_bytes = s->again_bytes;
  return d;
}

/* The number of objects that a slab has handed out, also those freed since. */
static unsigned toft_recycler_slab_handed(const toft_recycler_slab *d) {
  const unsigned char *begin = toft_recycler_slab_begin(toft_recycler_slab_start(d), d->bytes), *page;
  unsigned count = (unsigned)((size_t)(d->cursor - begin) / d->bytes);
  if (d->bytes % 128 == 0) return count;
  for (page = begin + toft_pad(begin, TOFT_RECYCLER_PAGE); page < d->cursor; page += TOFT_RECYCLER_PAGE)
    count -= (size_t)(page - begin) % d->bytes == 0;
  return count;
}

static int toft_recycler_slab_is_empty(const toft_recycler_slab *d) { return d->freed == toft_recycler_slab_handed(d); }

/* Returns a slab without objects to its unit. Precondition: no list contains it. */
static void toft_recycler_slab_put(toft_recycler *r, toft_recycler_slab *d) {
  TOFT_ASSERT(toft_recycler_slab_is_empty(d));
  TOFT_ASSERT((size_t)d->freed * d->bytes <= r->freed && r->slab_count != 0);
  r->freed -= (size_t)d->freed * d->bytes;
  r->held[d->size_class] -= (uint8_t)toft_min(r->held[d->size_class], d->pages);
  r->slab_count--;
  r->slab_bytes -= toft_recycler_slab_room(d);
  if (r->clears) memset(toft_recycler_slab_start(d), 0, toft_recycler_slab_room(d)); /* the links of freed objects */
  toft_recycler_pages_put(r, toft_recycler_unit_of(d), d->pages, toft_recycler_first_page(d));
}

/* Makes d, which is new, partial or full, the current slab. NULL: none is. */
static void toft_recycler_set_current(toft_recycler *r, size_t k, toft_recycler_slab *d) {
  r->current[k] = d != NULL ? d : &toft_recycler_no_slab;
  if (d == NULL) return;
  r->classes |= (uint64_t)1 << k;
  TOFT_ASSERT(d->size_class == k);
  if (d->state != TOFT_RECYCLER_CURRENT) r->full -= (size_t)d->capacity * d->bytes;
  d->previous = NULL;
  d->state = TOFT_RECYCLER_CURRENT;
  d->most = r->shares_limit && d->capacity != 0 ? d->capacity : UINT16_MAX;
}

/* Returns the current slabs without objects to their units. */
static void toft_recycler_flush(toft_recycler *r) {
  for (size_t k = 0; k < TOFT_RECYCLER_CLASSES; k++) {
    toft_recycler_slab *d = r->current[k];
    if (d == &toft_recycler_no_slab || !toft_recycler_slab_is_empty(d)) continue;
    toft_recycler_set_current(r, k, d->next);
    toft_recycler_slab_put(r, d);
  }
}

/* Takes a slab of `most` to `least` pages, powers of two. */
static toft_recycler_slab *toft_recycler_slab_take_down_to(toft_recycler *r, size_t k, unsigned most, unsigned least) {
  toft_recycler_slab *d = NULL;
  for (unsigned pages = most; d == NULL && pages >= least; pages /= 2) d = toft_recycler_slab_take(r, k, pages);
  return d;
}

/* The smallest run that has room for an object in every place. */
static unsigned toft_recycler_least_pages(size_t bytes) {
  unsigned pages = 1;
  while (pages < 8 && pages * TOFT_RECYCLER_PAGE < bytes + TOFT_RECYCLER_PAGE_MIN) pages *= 2;
  return pages;
}

/* Takes a slab, which in a recycler without one is as small as possible; calls the source if no pages are free. */
static toft_recycler_slab *toft_recycler_slab_new(toft_recycler *r, size_t k) {
  size_t bytes = toft_recycler_class_bytes(k);
  int is_first = r->slab_count == 0 && r->count == 0; /* blocks of options.count are sized for slabs of the class */
  unsigned least = is_first ? toft_recycler_least_pages(bytes) : toft_recycler_class_pages(bytes);
  unsigned most = r->held[k] >= TOFT_RECYCLER_HOT_PAGES ? 8 : least;
  toft_recycler_slab *d =
      r->segments == NULL ? toft_recycler_slab_again(r, k) : toft_recycler_slab_take_down_to(r, k, most, least);
  if (d != NULL) return d;
  if (r->segments != NULL) {
    toft_recycler_flush(r);
    d = toft_recycler_slab_take_down_to(r, k, most, least);
    if (d != NULL) return d;
  }
  (void)toft_recycler_segment_take(r, toft_recycler_least_pages(bytes));
  return toft_recycler_slab_take_down_to(r, k, most, toft_recycler_least_pages(bytes));
}

/* Makes a slab with free objects the current one. 0: there is no memory. */
static int toft_recycler_slab_next(toft_recycler *r, size_t k) {
  toft_recycler_slab *full = r->current[k], *d = full->next;
  if (d == NULL && (d = toft_recycler_slab_new(r, k)) == NULL) return 0;
  if (full != &toft_recycler_no_slab && full == r->current[k]) {
    full->state = TOFT_RECYCLER_FULL;
    full->capacity = (uint16_t)toft_recycler_slab_handed(full);
    full->most = (uint16_t)toft_max(full->capacity / TOFT_RECYCLER_SLACK, 1);
    r->full += (size_t)full->capacity * full->bytes;
  }
  toft_recycler_set_current(r, k, d);
  return 1;
}

/* Allocates an object of a class. NULL: there is no memory. */
static void *toft_recycler_class_alloc(toft_recycler *r, size_t k) {
  size_t bytes = toft_recycler_class_bytes(k);
  for (;;) {
    void *p = toft_recycler_pop(r, r->current[k], bytes);
    if (p != NULL) return p;
    if (!toft_recycler_slab_skip(r->current[k]) && !toft_recycler_slab_next(r, k)) return NULL;
  }
}

/* Whether slabs without objects may keep blocks of the source from returning that a limit needs. */
static int toft_recycler_is_sparse(const toft_recycler *r) {
  return r->page_bytes > TOFT_RECYCLER_SPARSE_MIN && r->full < r->page_bytes / 2;
}

/* recycler_retention.c */
static void toft_recycler_return_surplus(toft_recycler *r);

void toft_recycler_slab_freed(toft_recycler *r, toft_recycler_slab *d) {
  toft_recycler_slab *current = r->current[d->size_class];
  if (d == current) { /* without objects, where the source has a limit */
    if (toft_recycler_is_sparse(r)) toft_recycler_flush(r);
    return;
  }
  if (d->freed != d->capacity && current == &toft_recycler_no_slab) { /* it was full, as below */
    d->next = NULL;
    toft_recycler_set_current(r, d->size_class, d);
    return;
  }
  if (d->freed != d->capacity) {
    TOFT_ASSERT(d->state == TOFT_RECYCLER_FULL);
    d->state = TOFT_RECYCLER_PARTIAL;
    d->most = d->capacity;
    d->previous = current;
    d->next = current->next;
    if (d->next != NULL) d->next->previous = d;
    current->next = d;
    return;
  }
  if (d->state == TOFT_RECYCLER_PARTIAL) {
    d->previous->next = d->next;
    if (d->next != NULL) d->next->previous = d->previous;
  }
  TOFT_ASSERT((size_t)d->capacity * d->bytes <= r->full);
  r->full -= (size_t)d->capacity * d->bytes;
  toft_recycler_slab_put(r, d);
  toft_recycler_return_surplus(r);
}

#endif
