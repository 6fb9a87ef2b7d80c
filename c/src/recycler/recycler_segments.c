/* Recyclers: memory from the source, and its division into segments, units and pages. See recycler.h for the layout.
 *
 * A segment is one block of the source with up to 64 units; its header is at the start of the block. The first unit may
 * begin below the block: only its pages inside the block are used. A unit without a slab is free. The others are listed
 * by their longest free run of 1, 2 or 4 pages, aligned to its length.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_SEGMENTS_C
#define TOFT_RECYCLER_RECYCLER_SEGMENTS_C

#include "../core/block_cache.c"
#include "../core/blocks.c"
#include "../core/instrument.h"
#include "../core/policy.c"
#include "toft/pool.h"
#include "toft/recycler.h"

#define TOFT_RECYCLER_PAGE ((size_t)4096)
#define TOFT_RECYCLER_PAGE_MIN ((size_t)2048) /* a part of a page that is used */
#define TOFT_RECYCLER_SEGMENT_MAX (2 * TOFT_MIB)
#define TOFT_RECYCLER_SEGMENT_LIMITED TOFT_MIB  /* a smaller one returns sooner */
#define TOFT_RECYCLER_HUGE_MIN (448 * TOFT_KIB) /* with this much the next segment from the heap is a huge page */
#define TOFT_RECYCLER_SEGMENT_HEAD ((size_t)128)
#define TOFT_RECYCLER_UNITS 64 /* of a segment */

enum { TOFT_RECYCLER_RUN_NONE, TOFT_RECYCLER_RUN_1, TOFT_RECYCLER_RUN_2, TOFT_RECYCLER_RUN_4, TOFT_RECYCLER_RUN_ALL };

/* Bit k of free, dirty and gaps is unit k. */
typedef struct toft_recycler_segment {
  struct toft_recycler_segment *next, *previous;
  unsigned char *base, *start; /* the source's block; the end of this header */
  size_t size;
  unsigned char *units; /* address of unit 0, which may lie below base */
  uint32_t count;
  uint32_t first_pages;                 /* the pages of unit 0 that are used, one bit each */
  uint64_t free, dirty;                 /* free units; those whose pages may be resident */
  uint64_t gaps[TOFT_RECYCLER_RUN_ALL]; /* units by longest free run; [0] is not used */
} toft_recycler_segment;

TOFT_STATIC_ASSERT(recycler_segment, sizeof(toft_recycler_segment) <= TOFT_RECYCLER_SEGMENT_HEAD);

/* recycler_retention.c */
static void toft_recycler_use(toft_recycler *r, size_t bytes, int were_idle);
static void toft_recycler_unuse(toft_recycler *r, size_t bytes);
static void toft_recycler_add_idle(toft_recycler *r, size_t bytes);
static size_t toft_recycler_trim_to(toft_recycler *r, size_t keep);

/* recycler_checked.c */
#define TOFT_SIZE_UNKNOWN SIZE_MAX
static void *toft_recycler_alloc_checked(toft_recycler *r, size_t size, size_t align, uintptr_t site);
static void toft_recycler_free_checked(toft_recycler *r, void *p, size_t size, uintptr_t site);
static void *toft_recycler_resize_checked(toft_recycler *r, void *p, size_t old_size, size_t new_size, size_t align,
                                          uintptr_t site);
static size_t toft_recycler_size_checked(const toft_recycler *r, const void *p);
static struct toft_recycler_checks *toft_recycler_checks_for(toft_recycler *r);
static void toft_recycler_release_checked(toft_recycler *r, uintptr_t site);
static size_t toft_recycler_trim_checked(toft_recycler *r, size_t keep, uintptr_t site);
static toft_recycler_stats toft_recycler_stats_checked(const toft_recycler *r);

/* ---- sets of units ---- */

static size_t toft_count_bits(uint64_t bits) {
  size_t n = 0;
  for (; bits != 0; bits &= bits - 1) n++;
  return n;
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

/* Returns an idle block: its pages go back to the system at once, not to the page cache. */
static void toft_recycler_put_idle(toft_recycler *r, unsigned char *p, size_t size) {
  if (r->source == &toft_heap_source && size >= TOFT_CAP) toft_os_forget(p, size);
  toft_recycler_put(r, p, size);
}

/* Takes `size` bytes. After a refusal memory without live objects is returned, and the source is called once more; then
 * for less, down to `least`. Stores the size. */
static unsigned char *toft_recycler_take_down_to(toft_recycler *r, size_t *size, size_t least) {
  unsigned char *p = (unsigned char *)toft_recycler_take(r, *size);
  if (p != NULL) return p;
  size_t before = r->reserved;
  (void)toft_recycler_trim_to(r, 0);
  if (r->reserved < before) p = (unsigned char *)toft_recycler_take(r, *size);
  while (p == NULL && *size > least) {
    *size = toft_max(*size / 2, least);
    p = (unsigned char *)toft_recycler_take(r, *size);
  }
  if (p == NULL && toft_budget_ask(r->source, *size)) p = (unsigned char *)toft_recycler_take(r, *size);
  return p;
}

/* ---- units ---- */

static unsigned char *toft_recycler_unit_base(const void *p) {
  return (unsigned char *)((uintptr_t)p - ((uintptr_t)p & (TOFT_RECYCLER_UNIT - 1)));
}

static toft_recycler_segment *toft_recycler_segment_of(const toft_recycler_slab *unit) {
  unsigned char *first = toft_recycler_unit_base(unit) - unit->index * TOFT_RECYCLER_UNIT;
  return (toft_recycler_segment *)(void *)(first + unit->segment * 16);
}

/* All pages of a unit, one bit each. */
static unsigned toft_recycler_unit_pages(const toft_recycler_segment *s, unsigned index) {
  return index == 0 ? s->first_pages : 0xff;
}

/* The first usable byte of a page, and the end of the usable bytes of a run that ends before page `end`. */
static unsigned char *toft_recycler_page_start(const toft_recycler_segment *s, unsigned char *unit, unsigned page) {
  unsigned char *p = unit + page * TOFT_RECYCLER_PAGE;
  return unit == s->units && p < s->start ? s->start : p;
}
static unsigned char *toft_recycler_page_end(unsigned char *unit, unsigned end) {
  return unit + end * TOFT_RECYCLER_PAGE - (end == 8 ? TOFT_RECYCLER_ZONE : 0);
}

/* The length class of the longest free run among pages, aligned to its length. */
static unsigned toft_recycler_longest_run(unsigned pages) {
  unsigned pairs = pages & pages >> 1 & 0x55;
  if (pages == 0xff) return TOFT_RECYCLER_RUN_ALL;
  if ((pages & 0x0f) == 0x0f || (pages & 0xf0) == 0xf0) return TOFT_RECYCLER_RUN_4;
  return pairs != 0 ? TOFT_RECYCLER_RUN_2 : pages != 0 ? TOFT_RECYCLER_RUN_1 : TOFT_RECYCLER_RUN_NONE;
}

/* Sets the free pages of a unit with a slab, and moves it to the list of its longest run. 0: no list. */
static void toft_recycler_unit_set(toft_recycler *r, toft_recycler_segment *s, toft_recycler_slab *unit,
                                   unsigned pages) {
  unsigned was = toft_recycler_longest_run(unit->free_pages), run = toft_recycler_longest_run(pages);
  uint64_t bit = (uint64_t)1 << unit->index;
  unit->free_pages = (uint8_t)pages;
  if (run == was) return;
  if (was != TOFT_RECYCLER_RUN_NONE) {
    s->gaps[was] &= ~bit;
    r->gaps[was - 1]--;
  }
  if (run == TOFT_RECYCLER_RUN_NONE) return;
  s->gaps[run] |= bit;
  r->gaps[run - 1]++;
}

static void toft_recycler_segment_link(toft_recycler *r, toft_recycler_segment *s) {
  s->previous = NULL;
  s->next = r->segments;
  if (s->next != NULL) s->next->previous = s;
  r->segments = s;
}

static void toft_recycler_segment_unlink(toft_recycler *r, const toft_recycler_segment *s) {
  *(s->previous != NULL ? &s->previous->next : &r->segments) = s->next;
  if (s->next != NULL) s->next->previous = s->previous;
}

/* Segments with space are searched first. */
static void toft_recycler_segment_to_front(toft_recycler *r, toft_recycler_segment *s) {
  if (s == r->segments) return;
  toft_recycler_segment_unlink(r, s);
  toft_recycler_segment_link(r, s);
}

/* Begins to use a free unit, whose pages are not listed as free. */
static toft_recycler_slab *toft_recycler_unit_open(toft_recycler *r, toft_recycler_segment *s, unsigned index) {
  uint64_t bit = (uint64_t)1 << index;
  toft_recycler_slab *unit = toft_recycler_unit_of(s->units + index * TOFT_RECYCLER_UNIT);
  unit->index = (uint8_t)index;
  unit->segment = (int16_t)(((unsigned char *)s - s->units) / 16);
  unit->shard = r->shard;
  unit->free_pages = 0;
  toft_recycler_use(r, TOFT_RECYCLER_UNIT, (s->dirty & bit) != 0);
  s->free &= ~bit;
  s->dirty &= ~bit;
  r->free_units--;
  return unit;
}

/* Ends the use of a unit without a slab. */
static void toft_recycler_unit_close(toft_recycler *r, toft_recycler_segment *s, toft_recycler_slab *unit) {
  toft_recycler_unit_set(r, s, unit, 0);
  s->free |= (uint64_t)1 << unit->index;
  s->dirty |= (uint64_t)1 << unit->index;
  r->free_units++;
  toft_recycler_unuse(r, TOFT_RECYCLER_UNIT);
}

/* ---- segments ---- */

static uint64_t toft_recycler_segment_units(const toft_recycler_segment *s) {
  uint64_t all = s->count == TOFT_RECYCLER_UNITS ? UINT64_MAX : ((uint64_t)1 << s->count) - 1;
  return s->first_pages == 0 ? all & ~(uint64_t)1 : all;
}

/* Usable bytes. */
static size_t toft_recycler_segment_bytes(const toft_recycler_segment *s) {
  size_t bytes = (s->count - 1) * (TOFT_RECYCLER_UNIT - TOFT_RECYCLER_ZONE);
  if (s->first_pages == 0) return bytes;
  return bytes + (size_t)(toft_recycler_page_end(s->units, 8) -
                          toft_recycler_page_start(s, s->units, toft_lowest_bit(s->first_pages)));
}

/* The pages of unit 0 that begin at `start` or later, and the one that contains it if enough of it is left. */
static unsigned toft_recycler_first_pages(unsigned char *unit, const unsigned char *start) {
  unsigned page = (unsigned)((size_t)(start - unit) / TOFT_RECYCLER_PAGE);
  if (toft_recycler_page_end(unit, page + 1) < start + TOFT_RECYCLER_PAGE_MIN) page++;
  return 0xffu << page & 0xff;
}

/* Precondition: the block contains the end of a unit. */
static void toft_recycler_segment_init(toft_recycler *r, unsigned char *base, size_t size) {
  unsigned char *head = base + toft_pad(base, 64);
  toft_recycler_segment *s = (toft_recycler_segment *)(void *)head;
  memset(s, 0, sizeof *s);
  s->base = base;
  s->size = size;
  s->start = head + TOFT_RECYCLER_SEGMENT_HEAD;
  s->units = toft_recycler_unit_base(s->start);
  s->count = (uint32_t)toft_min((size_t)(base + size - s->units) / TOFT_RECYCLER_UNIT, TOFT_RECYCLER_UNITS);
  s->first_pages = toft_recycler_first_pages(s->units, s->start);
  s->free = s->dirty = toft_recycler_segment_units(s);
  r->free_units += toft_count_bits(s->free);
  r->page_bytes += toft_recycler_segment_bytes(s);
  toft_recycler_add_idle(r, toft_count_bits(s->free) * TOFT_RECYCLER_UNIT);
  toft_recycler_segment_link(r, s);
}

/* Takes a segment, by preference of at least half as many bytes as there are. 0: the source refuses. */
static int toft_recycler_segment_take(toft_recycler *r) {
  size_t least = r->source == &toft_heap_source ? TOFT_RECYCLER_UNIT : 2 * TOFT_RECYCLER_UNIT; /* of any address */
  size_t size = least;
  unsigned char *base;
  size_t most = r->shares_limit ? TOFT_RECYCLER_SEGMENT_LIMITED : TOFT_RECYCLER_SEGMENT_MAX;
  while (2 * size <= r->page_bytes && size < most) size *= 2;
  if (r->source == &toft_heap_source && r->page_bytes >= TOFT_RECYCLER_HUGE_MIN) size = TOFT_RECYCLER_SEGMENT_MAX;
  base = toft_recycler_take_down_to(r, &size, least);
  if (base == NULL) return 0;
  toft_recycler_segment_init(r, base, size);
  return 1;
}

/* Precondition: all units are free. */
static void toft_recycler_segment_put(toft_recycler *r, toft_recycler_segment *s) {
  r->free_units -= toft_count_bits(s->free);
  r->page_bytes -= toft_recycler_segment_bytes(s);
  r->idle -= toft_count_bits(s->dirty) * TOFT_RECYCLER_UNIT;
  toft_recycler_segment_unlink(r, s);
  toft_recycler_put_idle(r, s->base, s->size);
}

/* ---- runs of pages ---- */

/* The free units of a segment that have a run of this length class. */
static uint64_t toft_recycler_free_units(const toft_recycler_segment *s, unsigned run) {
  return toft_recycler_longest_run(s->first_pages) >= run ? s->free : s->free & ~(uint64_t)1;
}

/* Returns a unit with a free run of at least this length class; begins to use a free one if needed. NULL: none. */
static toft_recycler_slab *toft_recycler_unit_find(toft_recycler *r, unsigned run) {
  toft_recycler_segment *s;
  uint64_t units;
  for (unsigned k = run; k < TOFT_RECYCLER_RUN_ALL; k++) {
    if (r->gaps[k - 1] == 0) continue;
    for (s = r->segments; s->gaps[k] == 0;) s = s->next;
    return toft_recycler_unit_of(s->units + toft_lowest_bit(s->gaps[k]) * TOFT_RECYCLER_UNIT);
  }
  if (r->free_units == 0) return NULL;
  for (s = r->segments; s != NULL; s = s->next) {
    if ((units = toft_recycler_free_units(s, run)) == 0) continue;
    if ((units & s->dirty) != 0) units &= s->dirty; /* resident */
    return toft_recycler_unit_open(r, s, toft_lowest_bit(units));
  }
  return NULL;
}

static unsigned toft_recycler_run_class(unsigned pages) { return toft_lowest_bit(pages) + TOFT_RECYCLER_RUN_1; }

/* Takes `pages` pages, a power of two; stores the first. Returns their unit. NULL: there is no such run. */
static toft_recycler_slab *toft_recycler_pages_take(toft_recycler *r, unsigned pages, unsigned *first) {
  toft_recycler_slab *unit = toft_recycler_unit_find(r, toft_recycler_run_class(pages));
  toft_recycler_segment *s;
  unsigned mask = (1u << pages) - 1, at = 0, free_pages;
  if (unit == NULL) return NULL;
  s = toft_recycler_segment_of(unit);
  free_pages = unit->free_pages != 0 ? unit->free_pages : toft_recycler_unit_pages(s, unit->index);
  while ((free_pages >> at & mask) != mask) at += pages;
  toft_recycler_unit_set(r, s, unit, free_pages & ~(mask << at));
  *first = at;
  return unit;
}

static void toft_recycler_pages_put(toft_recycler *r, toft_recycler_slab *unit, unsigned pages, unsigned first) {
  toft_recycler_segment *s = toft_recycler_segment_of(unit);
  unsigned free_pages = unit->free_pages | ((1u << pages) - 1) << first;
  int closes = free_pages == toft_recycler_unit_pages(s, unit->index);
  if (closes)
    toft_recycler_unit_close(r, s, unit);
  else
    toft_recycler_unit_set(r, s, unit, free_pages);
  toft_recycler_segment_to_front(r, s);
  if (closes && r->shares_limit && s->free == toft_recycler_segment_units(s) && r->reserved - s->size >= r->floor)
    toft_recycler_segment_put(r, s);
}

#endif
