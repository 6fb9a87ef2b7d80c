/* Recyclers: memory from the source, and its division into segments, units and pages. See recycler.h for the layout.
 *
 * A segment is one block of the source with up to 64 units; its header is at the start of the block. The first unit may
 * begin below the block: only its pages inside the block are used. If the block is one unit of the heap, the header is
 * at its end, so that a recycler with a few objects writes to one page. A unit without a slab is free. The others are
 * listed by their longest free run of 1, 2 or 4 pages, aligned to its length.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_SEGMENTS_C
#define TOFT_RECYCLER_RECYCLER_SEGMENTS_C

#include "../core/block_cache.c"
#include "../core/blocks.c"
#include "../core/idle_account.c"
#include "../core/hooks.h"
#include "../core/policy.c"
#include "../platform/assert.h"
#include "toft/compiler.h"
#include "toft/recycler.h"

#define TOFT_RECYCLER_PAGE ((size_t)4096)
#define TOFT_RECYCLER_PAGE_MIN ((size_t)2048) /* a part of a page that is used */
#define TOFT_RECYCLER_SEGMENT_MAX (2 * TOFT_MIB)
#define TOFT_RECYCLER_SEGMENT_LIMITED TOFT_MIB  /* a smaller one returns sooner */
#define TOFT_RECYCLER_HUGE_MIN (448 * TOFT_KIB) /* with this much the next segment from the heap is a huge page */
#define TOFT_RECYCLER_HUGE_FIRST (112 * TOFT_KIB)
#define TOFT_RECYCLER_SEGMENT_HEAD ((size_t)192)
#define TOFT_RECYCLER_UNITS 64 /* of a segment */

enum { TOFT_RECYCLER_RUN_NONE, TOFT_RECYCLER_RUN_1, TOFT_RECYCLER_RUN_2, TOFT_RECYCLER_RUN_4, TOFT_RECYCLER_RUN_ALL };

/* Bit k of free, dirty and gaps is unit k. */
typedef struct toft_recycler_segment {
  toft_purgeable purgeable; /* first; excludes other threads from free and dirty */
  struct toft_recycler_segment *next, *previous;
  unsigned char *base, *start; /* the source's block; the end of this header */
  size_t size;
  unsigned char *units; /* address of unit 0, which may lie below base */
  uint32_t count;
  uint32_t first_pages;                 /* the pages of unit 0 that are used, one bit each */
  uint64_t free, dirty;                 /* free units; those whose pages may be resident */
  uint64_t gaps[TOFT_RECYCLER_RUN_ALL]; /* units by longest free run; [0] is not used */
  toft_recycler_slab *again;            /* of a unit that is not in use: its only slab, as if it were new; NULL: none */
  uint8_t is_unit;                      /* the end of a unit of the heap, with this header before the zone */
  uint32_t again_bytes;                 /* of the pages of `again` */
  uint8_t is_counted;                   /* of options.count: all of it counts as used, and only a release returns it */
} toft_recycler_segment;

TOFT_STATIC_ASSERT(recycler_segment,
                   sizeof(toft_recycler_segment) <= TOFT_RECYCLER_SEGMENT_HEAD - sizeof(toft_unit_record));
TOFT_STATIC_ASSERT(recycler_unit, TOFT_UNIT_RECORD == TOFT_RECYCLER_UNIT - TOFT_RECYCLER_ZONE);

/* recycler_retention.c */
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

/* Clears some hundred bytes, at least 64. For a known size memset is a string instruction, which is slow to begin. */
TOFT_INLINE void toft_recycler_zero(void *from, size_t size) {
  unsigned char *p = (unsigned char *)from, *last = p + size - 64;
  for (; p < last; p += 64) memset(p, 0, 64);
  memset(last, 0, 64);
}

/* ---- sets of units ---- */

static size_t toft_count_bits(uint64_t bits) {
  size_t n = 0;
  for (; bits != 0; bits &= bits - 1) n++;
  return n;
}

/* ---- the account of idle memory. In use are units with a slab, runs of large objects, and headers; idle are the
 * others whose pages may be resident. Where the source has a limit for several objects, nothing is counted, since
 * blocks without objects return at once ---- */

static void toft_recycler_count(const toft_recycler *r, size_t used, size_t idle) {
  if (!r->shares_limit) toft_account_move(used, idle);
}

/* Bytes are used from now on, of which `idle` were counted as idle. */
static void toft_recycler_use(toft_recycler *r, size_t bytes, size_t idle) {
  toft_recycler_count(r, bytes, 0 - idle);
  r->closed -= (ptrdiff_t)idle;
}

static void toft_recycler_unuse(toft_recycler *r, size_t bytes) {
  toft_recycler_count(r, 0 - bytes, bytes);
  r->closed += (ptrdiff_t)bytes;
}

/* The idle pages of blocks from the heap go back to the system; a block of one unit has its header in it. */
static int toft_recycler_has_pages(const toft_recycler *r, size_t size) {
  return r->source == &toft_heap_source && size > TOFT_RECYCLER_UNIT;
}

/* The bytes of a block that are counted here: the cache of pages counts its own. */
static size_t toft_recycler_counted(const toft_recycler *r, size_t size) {
  return r->source == &toft_heap_source && size >= TOFT_CAP ? 0 : size;
}

/* A block is taken, of which `idle` bytes may be resident. */
static void toft_recycler_begin_block(toft_recycler *r, toft_purgeable *b, size_t size, size_t idle,
                                      size_t (*purge)(toft_purgeable *)) {
  toft_recycler_use(r, toft_recycler_counted(r, size) - idle, 0 - idle);
  b->busy = b->purging = 0;
  b->purge = purge;
  if (toft_recycler_has_pages(r, size)) toft_purgeable_add(b);
}

/* No other thread discards pages of the block from now on. */
static void toft_recycler_end_block(const toft_recycler *r, toft_purgeable *b, size_t size) {
  if (toft_recycler_has_pages(r, size)) toft_purgeable_remove(b);
}

/* ---- the source ---- */

/* Subtracts from the limits of the source, if that is a heap with limits. */
static void toft_recycler_uncharge(const toft_recycler *r, size_t size) {
  if (r->source != &toft_heap_source) toft_limits_uncharge(r->source, &toft_heap_source, size);
}

/* Takes a block; if `is_unit`, from the heap the last bytes of a unit. */
static void *toft_recycler_take_from(toft_recycler *r, size_t size, int is_unit) {
  unsigned char *p;
  r->source_calls++;
  if (!r->on_heap) {
    p = (unsigned char *)r->source->take(r->source, size);
  } else {
    if (r->source != &toft_heap_source && !toft_limits_charge(r->source, size)) return NULL;
    p = is_unit ? toft_unit_take() : (unsigned char *)toft_heap_take_aligned(size, TOFT_RECYCLER_UNIT);
    if (p == NULL) toft_recycler_uncharge(r, size);
    if (p != NULL && is_unit) p += TOFT_UNIT - size;
  }
  if (p == NULL) return NULL;
  r->reserved += size;
  r->peak = toft_max(r->peak, r->reserved);
  return p;
}

static void *toft_recycler_take(toft_recycler *r, size_t size) { return toft_recycler_take_from(r, size, 0); }

/* Blocks of segments: the sizes up to a unit are units of the heap. */
static int toft_recycler_is_unit(const toft_recycler *r, size_t size) { return r->on_heap && size <= TOFT_UNIT; }
static void *toft_recycler_take_segment(toft_recycler *r, size_t size) {
  return toft_recycler_take_from(r, size, toft_recycler_is_unit(r, size));
}

static void toft_recycler_put(toft_recycler *r, void *p, size_t size) {
  TOFT_ASSERT(size <= r->reserved);
  r->reserved -= size;
  if (!r->on_heap) {
    r->source->put(r->source, p, size);
    return;
  }
  toft_heap_put(&toft_heap_source, p, size);
  toft_recycler_uncharge(r, size);
}

/* Takes `size` bytes. After a refusal memory without live objects is returned, and the source is called once more; then
 * for less, down to `least`. Stores the size. */
static unsigned char *toft_recycler_take_down_to(toft_recycler *r, size_t *size, size_t least,
                                                 void *(*take)(toft_recycler *, size_t)) {
  unsigned char *p = (unsigned char *)take(r, *size);
  if (p != NULL) return p;
  size_t before = r->reserved;
  (void)toft_recycler_trim_to(r, 0);
  if (r->reserved < before) p = (unsigned char *)take(r, *size);
  while (p == NULL && *size > least) {
    *size = toft_max(*size / 2, least);
    p = (unsigned char *)take(r, *size);
  }
  if (p == NULL && toft_budget_ask(r->source, *size)) p = (unsigned char *)take(r, *size);
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
static unsigned char *toft_recycler_page_end(const toft_recycler_segment *s, unsigned char *unit, unsigned end) {
  if (end != 8) return unit + end * TOFT_RECYCLER_PAGE;
  return unit + TOFT_RECYCLER_UNIT - TOFT_RECYCLER_ZONE - (s->is_unit ? TOFT_RECYCLER_SEGMENT_HEAD : 0);
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

/* Begins to use one of some free units, by preference a resident one, whose pages are not listed as free. */
static toft_recycler_slab *toft_recycler_unit_open(toft_recycler *r, toft_recycler_segment *s, uint64_t units) {
  toft_purgeable_enter(&s->purgeable);
  unsigned index = toft_lowest_bit((units & s->dirty) != 0 ? units & s->dirty : units);
  uint64_t bit = (uint64_t)1 << index;
  TOFT_ASSERT((s->free & bit) != 0);
  if (!s->is_counted) toft_recycler_use(r, TOFT_RECYCLER_UNIT, (s->dirty & bit) != 0 ? TOFT_RECYCLER_UNIT : 0);
  s->free &= ~bit;
  s->dirty &= ~bit;
  toft_purgeable_leave(&s->purgeable);
  toft_recycler_slab *unit = toft_recycler_unit_of(s->units + index * TOFT_RECYCLER_UNIT);
  unit->index = (uint8_t)index;
  unit->segment = (int16_t)(((unsigned char *)s - s->units) / 16);
  unit->shard = r->shard;
  unit->free_pages = 0;
  r->free_units--;
  return unit;
}

/* Ends the use of a unit without a slab. */
static void toft_recycler_unit_close(toft_recycler *r, toft_recycler_segment *s, toft_recycler_slab *unit) {
  uint64_t bit = (uint64_t)1 << unit->index;
  TOFT_ASSERT((s->free & bit) == 0);
  toft_recycler_unit_set(r, s, unit, 0);
  toft_purgeable_enter(&s->purgeable);
  s->free |= bit;
  s->dirty |= bit;
  if (!s->is_counted) toft_recycler_unuse(r, TOFT_RECYCLER_UNIT);
  toft_purgeable_leave(&s->purgeable);
  r->free_units++;
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
  return bytes + (size_t)(toft_recycler_page_end(s, s->units, 8) -
                          toft_recycler_page_start(s, s->units, toft_lowest_bit(s->first_pages)));
}

/* The bytes of some units as far as the account counts them as idle. */
static size_t toft_recycler_idle_bytes(const toft_recycler_segment *s, uint64_t units) {
  return s->is_counted ? 0 : toft_count_bits(units) * TOFT_RECYCLER_UNIT;
}

/* The pages of unit 0 that begin at `start` or later, and the one that contains it if enough of it is left. */
static unsigned toft_recycler_first_pages(unsigned char *unit, const unsigned char *start) {
  unsigned page = (unsigned)((size_t)(start - unit) / TOFT_RECYCLER_PAGE);
  if (unit + (page + 1) * TOFT_RECYCLER_PAGE - (page == 7 ? TOFT_RECYCLER_ZONE : 0) < start + TOFT_RECYCLER_PAGE_MIN)
    page++;
  return 0xffu << page & 0xff;
}

/* Discards the idle units but unit 0, which contains the header; those that the system refuses to discard stay idle.
 * Precondition: the segment has pages. */
static size_t toft_recycler_segment_purge(toft_purgeable *b) {
  toft_recycler_segment *s = (toft_recycler_segment *)(void *)b;
  uint64_t units = s->is_counted ? 0 : s->dirty & ~(uint64_t)1, run;
  size_t bytes = 0;
  for (; units != 0; units &= ~run) {
    unsigned first = toft_lowest_bit(units), count = 0;
    for (run = 0; first + count < TOFT_RECYCLER_UNITS && (units >> (first + count) & 1) != 0; count++)
      run |= (uint64_t)1 << (first + count);
    if (!toft_os_return_pages(s->units + first * TOFT_RECYCLER_UNIT, count * TOFT_RECYCLER_UNIT)) continue;
    s->dirty &= ~run;
    bytes += count * TOFT_RECYCLER_UNIT;
  }
  return bytes;
}

/* Precondition: the block contains the end of a unit. */
static void toft_recycler_segment_init(toft_recycler *r, unsigned char *base, size_t size, int is_unit,
                                       int is_counted) {
  unsigned char *head = base + toft_pad(base, 64), *end = base + size - TOFT_RECYCLER_ZONE - TOFT_RECYCLER_SEGMENT_HEAD;
  toft_recycler_segment *s = (toft_recycler_segment *)(void *)(is_unit ? end : head);
  toft_recycler_zero(s, sizeof *s);
  s->base = base;
  s->size = size;
  s->is_unit = (uint8_t)is_unit;
  s->is_counted = (uint8_t)is_counted;
  s->start = is_unit ? base : head + TOFT_RECYCLER_SEGMENT_HEAD;
  s->units = toft_recycler_unit_base(s->start);
  s->count = (uint32_t)toft_min((size_t)(base + size - s->units) / TOFT_RECYCLER_UNIT, TOFT_RECYCLER_UNITS);
  s->first_pages = toft_recycler_first_pages(s->units, s->start);
  s->free = s->dirty = toft_recycler_segment_units(s);
  r->free_units += toft_count_bits(s->free);
  r->page_bytes += toft_recycler_segment_bytes(s);
  toft_recycler_segment_link(r, s);
  toft_recycler_begin_block(r, &s->purgeable, size, toft_recycler_idle_bytes(s, s->free), toft_recycler_segment_purge);
}

/* The bytes with which the next block is a huge page: `most`, or less where r holds about all that the process does. */
static size_t toft_recycler_huge_from(const toft_recycler *r, size_t most) {
  return r->source == &toft_heap_source && toft_account_held() <= 2 * r->reserved ? TOFT_RECYCLER_HUGE_FIRST : most;
}

/* Takes a segment, by preference of at least half as many bytes as there are; below a limit on the heap down to `pages`
 * pages. 0: the source refuses. */
static int toft_recycler_segment_take(toft_recycler *r, unsigned pages) {
  size_t size = r->on_heap || r->is_aligned ? TOFT_RECYCLER_UNIT : 2 * TOFT_RECYCLER_UNIT; /* of any address */
  size_t least = r->on_heap && r->shares_limit ? pages * TOFT_RECYCLER_PAGE : size;
  unsigned char *base;
  size_t most = r->shares_limit ? TOFT_RECYCLER_SEGMENT_LIMITED : TOFT_RECYCLER_SEGMENT_MAX;
  while (2 * size <= r->page_bytes && size < most) size *= 2;
  if (r->source == &toft_heap_source && r->page_bytes >= toft_recycler_huge_from(r, TOFT_RECYCLER_HUGE_MIN))
    size = TOFT_RECYCLER_SEGMENT_MAX;
  base = toft_recycler_take_down_to(r, &size, least, toft_recycler_take_segment);
  if (base == NULL) return 0;
  toft_recycler_segment_init(r, base, size, toft_recycler_is_unit(r, size), 0);
  return 1;
}

static size_t toft_recycler_segment_idle(toft_recycler_segment *s) {
  toft_purgeable_enter(&s->purgeable);
  size_t bytes = toft_recycler_idle_bytes(s, s->dirty);
  toft_purgeable_leave(&s->purgeable);
  return bytes;
}

/* Returns the block of a segment that is in no list of the recycler. */
static void toft_recycler_segment_end(toft_recycler *r, toft_recycler_segment *s) {
  toft_recycler_end_block(r, &s->purgeable, s->size);
  toft_recycler_count(r, toft_recycler_idle_bytes(s, s->free) - toft_recycler_counted(r, s->size),
                      0 - toft_recycler_idle_bytes(s, s->dirty));
  size_t size = s->size;
  if (!s->is_unit) {
    toft_recycler_put(r, s->base, size);
    return;
  }
  TOFT_ASSERT(size <= r->reserved);
  r->reserved -= size;
  toft_unit_put(s->base + size - TOFT_UNIT);
  toft_recycler_uncharge(r, size);
}

static int toft_recycler_segment_may_return(const toft_recycler_segment *s) {
  return !s->is_counted && s->free == toft_recycler_segment_units(s);
}

/* Precondition: it may return. */
static void toft_recycler_segment_put(toft_recycler *r, toft_recycler_segment *s) {
  TOFT_ASSERT(toft_recycler_segment_may_return(s));
  r->free_units -= toft_count_bits(s->free);
  r->page_bytes -= toft_recycler_segment_bytes(s);
  toft_recycler_segment_unlink(r, s);
  toft_recycler_segment_end(r, s);
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
    units = toft_recycler_free_units(s, run);
    if (units != 0) return toft_recycler_unit_open(r, s, units);
  }
  return NULL;
}

static unsigned toft_recycler_run_class(unsigned pages) { return toft_lowest_bit(pages) + TOFT_RECYCLER_RUN_1; }

/* Takes `pages` pages, a power of two; stores the first. Returns their unit. NULL: there is no such run. */
static toft_recycler_slab *toft_recycler_pages_take(toft_recycler *r, unsigned pages, unsigned *first) {
  toft_recycler_slab *unit = toft_recycler_unit_find(r, toft_recycler_run_class(pages));
  toft_recycler_segment *s;
  unsigned mask = (1u << pages) - 1, at = 8 - pages, free_pages;
  if (unit == NULL) return NULL;
  s = toft_recycler_segment_of(unit);
  free_pages = unit->free_pages != 0 ? unit->free_pages : toft_recycler_unit_pages(s, unit->index);
  while ((free_pages >> at & mask) != mask) at -= pages; /* the last run first, since the zone is written anyway */
  toft_recycler_unit_set(r, s, unit, free_pages & ~(mask << at));
  *first = at;
  return unit;
}

static void toft_recycler_pages_put(toft_recycler *r, toft_recycler_slab *unit, unsigned pages, unsigned first) {
  toft_recycler_segment *s = toft_recycler_segment_of(unit);
  TOFT_ASSERT((unit->free_pages & ((1u << pages) - 1) << first) == 0);
  unsigned free_pages = unit->free_pages | ((1u << pages) - 1) << first;
  int closes = free_pages == toft_recycler_unit_pages(s, unit->index);
  if (closes)
    toft_recycler_unit_close(r, s, unit);
  else
    toft_recycler_unit_set(r, s, unit, free_pages);
  toft_recycler_segment_to_front(r, s);
  if (closes && r->shares_limit && toft_recycler_segment_may_return(s)) toft_recycler_segment_put(r, s);
}

#endif
