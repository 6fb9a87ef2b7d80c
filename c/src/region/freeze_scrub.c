/* Clears everything but the content in a region that is frozen: the heads of the region, its arenas and recyclers, all
 * memory that is free, and omitted bytes. After that nothing can be allocated or freed in the region.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_REGION_FREEZE_SCRUB_C
#define TOFT_REGION_FREEZE_SCRUB_C

#include "../core/blocks.c"
#include "../platform/sanitizers.c"
#include "region.c"

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

/* The zones of the units that are in use, and the header. Freed objects are zero but for
 * the link to the next one: see toft_recycler_set_clearing. */
static void toft_scrub_segment(toft_recycler_segment *s) {
  unsigned char *end = s->units + s->count * TOFT_RECYCLER_UNIT;
  for (unsigned char *unit = s->units; unit < end; unit += TOFT_RECYCLER_UNIT)
    toft_clear(unit + TOFT_RECYCLER_UNIT - TOFT_RECYCLER_ZONE, unit + TOFT_RECYCLER_UNIT);
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

/* The records before its objects, and the header. */
static void toft_scrub_large(toft_recycler_region *g) {
  unsigned char *base = g->base, *pages = g->pages;
  for (uint32_t page = 0, i = 0; page < g->total;) {
    if (i < g->count && g->runs[i].first == page) {
      page += g->runs[i++].count;
      continue;
    }
    toft_recycler_front *front = toft_scrub_front_of_page(g, page);
    page += front->count;
    memset(front, 0, sizeof *front);
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
  for (unsigned char *p = base; p < top; p += TOFT_BLOCK_MIN)
    if (toft_map_is_free(&r->map, toft_region_unit(r, p))) toft_clear(p, p + TOFT_BLOCK_MIN);
  if (toft_region_map_units(r->map.words) != 0) memset(r->map.free, 0, TOFT_MAP_BYTES(r->map.words));
  toft_clear(r->omitted, r->omitted_end);
  toft_clear(base, base + TOFT_REGION_HEADER);
  return toft_round((size_t)(top - base), 8);
}

#endif
