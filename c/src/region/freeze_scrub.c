/* Clears everything but the content in a region that is frozen: the heads of the region, its arenas and recyclers, all
 * memory that is free, and omitted bytes. After that nothing can be allocated or freed in the region.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_REGION_FREEZE_SCRUB_C
#define TOFT_REGION_FREEZE_SCRUB_C

#include "../core/blocks.c"
#include "../platform/sanitizers.c"
#include "region.c"

/* Nothing if the range is empty. */
static void toft_clear(unsigned char *from, const unsigned char *to) {
  if (from < to) memset(from, 0, (size_t)(to - from));
}

/* ---- arenas ---- */

static void toft_scrub_block(const toft_state *a, toft_block_header *b, unsigned char *used_end) {
  unsigned char *base = b == &a->initial ? (unsigned char *)(uintptr_t)a : (unsigned char *)b;
  toft_clear(used_end, base + b->size);
  if (b != &a->initial) toft_clear(base, toft_block_start(a, b));
}

static void toft_scrub_arena(toft_state *a) {
  toft_block_header *next;
  toft_sync_in(a);
  int is_idle = (a->state & TOFT_INITIAL_IDLE) != 0;
  for (toft_block_header *b = a->newest; b != NULL; b = next) {
    next = b->next;
    toft_scrub_block(a, b, b == &a->initial && is_idle ? a->initial_start : toft_block_used_end(a, b));
  }
  for (toft_block_header *b = a->spares; b != NULL; b = next) {
    next = b->next;
    toft_scrub_block(a, b, toft_block_start(a, b));
  }
  toft_clear((unsigned char *)a, a->initial_start);
}

/* ---- recyclers ---- */

/* The freed objects of a slab, those that were never allocated, and those that are left out. */
static void toft_scrub_slab(const toft_recycler_segment *s, unsigned char *unit, const toft_recycler_slab *d) {
  unsigned first = toft_recycler_first_page(d);
  unsigned char *from = toft_recycler_page_start(s, unit, first), *begin = toft_recycler_slab_begin(from, d->bytes);
  for (void *p = d->free, *next; p != NULL; p = next) {
    memcpy(&next, p, sizeof next);
    toft_clear((unsigned char *)p, (unsigned char *)p + d->bytes);
  }
  toft_clear(from, begin);
  toft_clear(d->cursor, toft_recycler_page_end(unit, first + d->pages));
  if (d->bytes % 128 == 0) return;
  for (unsigned char *page = begin + toft_pad(begin, TOFT_RECYCLER_PAGE); page < d->cursor; page += TOFT_RECYCLER_PAGE)
    if ((size_t)(page - begin) % d->bytes == 0) toft_clear(page, page + d->bytes);
}

static void toft_scrub_unit(const toft_recycler_segment *s, unsigned index) {
  unsigned char *base = s->units + index * TOFT_RECYCLER_UNIT, *end = base + TOFT_RECYCLER_UNIT;
  unsigned char *start = index == 0 && base < s->start ? s->start : base;
  const toft_recycler_slab *unit = toft_recycler_unit_of(base);
  int is_used = (toft_recycler_segment_units(s) >> index & 1) != 0;
  if (!is_used || (s->free >> index & 1)) {
    toft_clear(start, end);
    return;
  }
  unsigned free_pages = unit->free_pages | (~toft_recycler_unit_pages(s, index) & 0xff), pages;
  for (unsigned page = 0; page < 8; page += pages) {
    pages = 1;
    if (free_pages >> page & 1) {
      toft_clear(toft_recycler_page_start(s, base, page), toft_recycler_page_end(base, page + 1));
      continue;
    }
    const toft_recycler_slab *d = toft_recycler_line(base, (uint32_t)unit->map[page] << 6);
    pages = d->pages;
    toft_scrub_slab(s, base, d);
  }
  toft_clear(end - TOFT_RECYCLER_ZONE, end);
}

static void toft_scrub_segment(toft_recycler_segment *s) {
  for (unsigned i = 0; i < s->count; i++) toft_scrub_unit(s, i);
  toft_clear(s->units + s->count * TOFT_RECYCLER_UNIT, s->base + s->size);
  toft_clear(s->base, s->start);
}

/* The record before the object that starts in this page: at the page, or at a higher alignment. */
static toft_recycler_front *toft_scrub_front_of_page(const toft_recycler_region *g, uint32_t page) {
  unsigned char *p = g->pages + page * TOFT_RECYCLER_PAGE;
  for (size_t align = TOFT_RECYCLER_PAGE;; align *= 2) {
    toft_recycler_front *front = toft_recycler_front_of(p + toft_pad(p, align));
    if (front->region == g && front->first == page) return front;
  }
}

static void toft_scrub_large(toft_recycler_region *g) {
  unsigned char *base = g->base, *pages = g->pages, *end = base + g->size;
  for (uint32_t page = 0, i = 0; page < g->total;) {
    if (i < g->count && g->runs[i].first == page) {
      page += g->runs[i++].count;
      continue;
    }
    toft_recycler_front *front = toft_scrub_front_of_page(g, page);
    page += front->count;
    memset(front, 0, sizeof *front);
  }
  for (uint32_t i = 0; i < g->count; i++) {
    unsigned char *from = pages + g->runs[i].first * TOFT_RECYCLER_PAGE;
    unsigned char *to = from + g->runs[i].count * TOFT_RECYCLER_PAGE;
    toft_clear(from, to < end ? to : end);
  }
  toft_clear(base, pages - TOFT_RECYCLER_FRONT);
}

static void toft_scrub_recycler(toft_region_recycler_block *block) {
  const toft_recycler *r = &block->u.recycler;
  for (toft_recycler_segment *s = r->segments, *next; s != NULL; s = next) {
    next = s->next;
    toft_scrub_segment(s);
  }
  for (toft_recycler_region *g = r->regions, *next; g != NULL; g = next) {
    next = g->next;
    toft_scrub_large(g);
  }
  toft_clear((unsigned char *)block, (unsigned char *)(block + 1));
}

/* ---- the region ---- */

/* Clears, and returns the bytes of header and content, a multiple of 8. */
static size_t toft_region_scrub(toft_region *r) {
  unsigned char *base = r->base, *top = r->top;
  for (toft_region_arena_link *link = r->arenas, *older; link != NULL; link = older) {
    older = link->older;
    toft_scrub_arena(toft_region_arena_of(link));
  }
  for (toft_region_recycler_block *block = r->recyclers, *older; block != NULL; block = older) {
    older = block->older;
    toft_scrub_recycler(block);
  }
  for (toft_free_block *b = r->free, *next; b != NULL; b = next) {
    next = b->next;
    toft_clear((unsigned char *)b, (unsigned char *)b + b->size);
  }
  toft_clear(r->omitted, r->omitted_end);
  toft_clear(base, base + TOFT_REGION_HEADER);
  return toft_round((size_t)(top - base), 8);
}

#endif
