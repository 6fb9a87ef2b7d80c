/* The invariants of a recycler, which each slow path leaves.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_VERIFY_C
#define TOFT_RECYCLER_RECYCLER_VERIFY_C

#include "../platform/assert.h"
#include "recycler_large.c"

#ifdef TOFT_ASSERTIONS

/* What the parts have together. */
typedef struct toft_recycler_sums {
  size_t reserved, free_units, page_bytes, gaps[3];
  size_t slab_count, slab_bytes, full, freed, pages[TOFT_RECYCLER_CLASSES];
  size_t region_bytes, region_idle_bytes, region_used, region_objects;
} toft_recycler_sums;

/* Excludes threads that discard pages, as toft_purgeable_enter does, but not as a use of the block. */
static void toft_verify_enter(toft_purgeable *b) {
#ifdef TOFT_OMIT_PAGE_CACHE
  (void)b;
#else
  size_t window = TOFT_LOAD(&b->window);
  toft_purgeable_enter(b);
  TOFT_STORE(&b->window, window);
#endif
}

/* ---- slabs ---- */

static void toft_verify_slab_state(const toft_recycler *r, const toft_recycler_slab *d) {
  const toft_recycler_slab *current = r->current[d->size_class];
  if (d->state == TOFT_RECYCLER_CURRENT) {
    TOFT_ASSERT(d == current);
    TOFT_ASSERT(d->previous == NULL);
    return;
  }
  TOFT_ASSERT(d->state == TOFT_RECYCLER_FULL || d->state == TOFT_RECYCLER_PARTIAL);
  TOFT_ASSERT(d != current);
  TOFT_ASSERT(d->capacity != 0);
  TOFT_ASSERT(d->freed < d->capacity); /* else it returns to its unit */
  if (d->state == TOFT_RECYCLER_FULL) {
    TOFT_ASSERT(d->freed < d->most || current == &toft_recycler_no_slab);
    return;
  }
  TOFT_ASSERT(d->previous != NULL && d->previous->next == d);
  TOFT_ASSERT(d->next == NULL || d->next->previous == d);
  TOFT_ASSERT(d->next == NULL || d->next->size_class == d->size_class);
}

static void toft_verify_slab(const toft_recycler *r, const toft_recycler_segment *s, const toft_recycler_slab *d,
                             unsigned page, toft_recycler_sums *sums) {
  TOFT_ASSERT(d->size_class < TOFT_RECYCLER_CLASSES);
  TOFT_ASSERT(d->bytes == toft_recycler_class_bytes(d->size_class));
  TOFT_ASSERT(toft_recycler_first_page(d) == page);
  TOFT_ASSERT(d->pages == 1 || d->pages == 2 || d->pages == 4 || d->pages == 8);
  TOFT_ASSERT(page % d->pages == 0);
  unsigned char *base = toft_recycler_unit_base(d);
  for (unsigned i = 0; i < d->pages; i++)
    TOFT_ASSERT(toft_recycler_line(base, (uintptr_t)toft_recycler_unit_of(d)->map[page + i] << 6) == d);
  const unsigned char *last = toft_recycler_widen(d, d->last), *begin = toft_recycler_slab_start(d);
  TOFT_ASSERT(begin <= d->cursor && d->cursor <= last);
  TOFT_ASSERT(toft_recycler_widen(d, d->end) <= last);
  TOFT_ASSERT(last <= toft_recycler_page_end(s, base, page + d->pages));
  unsigned handed = toft_recycler_slab_handed(d);
  TOFT_ASSERT(d->freed <= handed);
  TOFT_ASSERT((d->freed == 0) == (d->free == NULL));
  TOFT_ASSERT(d->capacity == 0 || handed <= d->capacity);
  unsigned n = 0;
  for (void *f = d->free; f != NULL && n < 64; memcpy(&f, f, sizeof f), n++) {
    TOFT_ASSERT((const unsigned char *)f >= begin && (const unsigned char *)f < d->cursor);
    TOFT_ASSERT(!toft_recycler_is_large(f));
  }
  TOFT_ASSERT(n == toft_min(d->freed, 64));
  toft_verify_slab_state(r, d);
  sums->slab_count++;
  sums->slab_bytes += toft_recycler_slab_room(d);
  sums->freed += (size_t)d->freed * d->bytes;
  sums->pages[d->size_class] += d->pages;
  if (d->state != TOFT_RECYCLER_CURRENT) sums->full += (size_t)d->capacity * d->bytes;
}

/* ---- segments ---- */

static void toft_verify_unit(const toft_recycler *r, const toft_recycler_segment *s, unsigned index,
                             toft_recycler_sums *sums) {
  unsigned char *base = s->units + index * TOFT_RECYCLER_UNIT;
  const toft_recycler_slab *unit = toft_recycler_unit_of(base);
  unsigned all = toft_recycler_unit_pages(s, index), run = toft_recycler_longest_run(unit->free_pages);
  TOFT_ASSERT(unit->index == index);
  TOFT_ASSERT(toft_recycler_segment_of(unit) == s);
  TOFT_ASSERT(unit->shard == r->shard);
  TOFT_ASSERT((unit->free_pages & ~all) == 0);
  TOFT_ASSERT(unit->free_pages != all); /* else it is closed */
  for (unsigned k = 1; k < TOFT_RECYCLER_RUN_ALL; k++) TOFT_ASSERT((s->gaps[k] >> index & 1) == (k == run));
  for (unsigned page = 0; page < 8;) {
    if (!((all & ~(unsigned)unit->free_pages) >> page & 1)) {
      page++;
      continue;
    }
    const toft_recycler_slab *d = toft_recycler_line(base, (uintptr_t)unit->map[page] << 6);
    toft_verify_slab(r, s, d, page, sums);
    page += d->pages;
  }
}

static void toft_verify_segment(const toft_recycler *r, toft_recycler_segment *s, toft_recycler_sums *sums) {
  uint64_t all = toft_recycler_segment_units(s), gaps = 0;
  TOFT_ASSERT(s->next == NULL || s->next->previous == s);
  TOFT_ASSERT(s->count != 0 && s->count <= TOFT_RECYCLER_UNITS);
  TOFT_ASSERT((s->free & ~all) == 0);
  TOFT_ASSERT(s->base <= s->start && s->start < s->base + s->size);
  TOFT_ASSERT(s->units == toft_recycler_unit_base(s->start));
  TOFT_ASSERT(s->units + s->count * TOFT_RECYCLER_UNIT <= s->base + s->size);
  TOFT_ASSERT(!s->is_unit || s->size <= TOFT_UNIT);
  toft_verify_enter(&s->purgeable);
  TOFT_ASSERT((s->dirty & ~s->free) == 0);
  toft_purgeable_leave(&s->purgeable);
  for (unsigned k = 1; k < TOFT_RECYCLER_RUN_ALL; k++) {
    TOFT_ASSERT((gaps & s->gaps[k]) == 0);
    gaps |= s->gaps[k];
    sums->gaps[k - 1] += toft_count_bits(s->gaps[k]);
  }
  TOFT_ASSERT((gaps & (s->free | ~all)) == 0);
  for (unsigned i = 0; i < s->count; i++)
    if ((all & ~s->free) >> i & 1) toft_verify_unit(r, s, i, sums);
  sums->reserved += s->size;
  sums->free_units += toft_count_bits(s->free);
  sums->page_bytes += toft_recycler_segment_bytes(s);
}

/* ---- regions of large objects ---- */

static void toft_verify_large(const toft_recycler *r, toft_recycler_region *g, toft_recycler_sums *sums) {
  uint32_t end = 0, free_pages = 0, longest = 0;
  TOFT_ASSERT(g->next == NULL || g->next->previous == g);
  TOFT_ASSERT(g->base < g->pages);
  TOFT_ASSERT(((uintptr_t)g->pages & (TOFT_RECYCLER_PAGE - 1)) == 0);
  TOFT_ASSERT(g->pages + g->total * TOFT_RECYCLER_PAGE <= g->base + g->size);
  TOFT_ASSERT((const unsigned char *)(g->runs + g->count) + TOFT_RECYCLER_FRONT <= g->pages);
  for (uint32_t i = 0; i < g->count; i++) {
    const toft_recycler_free_run *run = &g->runs[i];
    TOFT_ASSERT(run->count != 0);
    TOFT_ASSERT(i == 0 || run->first > end); /* else they were one */
    end = run->first + run->count;
    free_pages += run->count;
    longest = run->count > longest ? run->count : longest;
  }
  TOFT_ASSERT(end <= g->total);
  TOFT_ASSERT(g->first_use <= g->total);
  TOFT_ASSERT(longest <= g->widest);
  TOFT_ASSERT(g->list == toft_recycler_list_of(g->widest));
  if (g->list != TOFT_RECYCLER_NO_LIST) {
    TOFT_ASSERT((r->have_run >> g->list & 1) != 0);
    TOFT_ASSERT(g->listed_next == NULL || g->listed_next->listed_before == g);
    TOFT_ASSERT(g->listed_before != NULL ? g->listed_before->listed_next == g : r->with_run[g->list] == g);
  }
  TOFT_ASSERT((g->live == 0) == (free_pages == g->total));
  TOFT_ASSERT(g->live <= g->total - free_pages);
  toft_verify_enter(&g->purgeable);
  TOFT_ASSERT(g->dirty <= free_pages);
  toft_purgeable_leave(&g->purgeable);
  sums->reserved += g->size;
  sums->region_bytes += g->total * TOFT_RECYCLER_PAGE;
  sums->region_idle_bytes += g->live == 0 ? g->total * TOFT_RECYCLER_PAGE : 0;
  sums->region_objects += g->live;
}

static void toft_verify_sums(const toft_recycler *r, const toft_recycler_sums *sums) {
  TOFT_ASSERT(sums->reserved == r->reserved);
  TOFT_ASSERT(r->reserved <= r->peak);
  TOFT_ASSERT(sums->free_units == r->free_units);
  TOFT_ASSERT(sums->page_bytes == r->page_bytes);
  for (unsigned k = 0; k < 3; k++) TOFT_ASSERT(sums->gaps[k] == r->gaps[k]);
  TOFT_ASSERT(sums->slab_count == r->slab_count);
  TOFT_ASSERT(sums->slab_bytes == r->slab_bytes);
  TOFT_ASSERT(sums->full == r->full);
  TOFT_ASSERT(sums->freed == r->freed);
  TOFT_ASSERT(sums->region_bytes == r->region_bytes);
  TOFT_ASSERT(sums->region_idle_bytes == r->region_idle_bytes);
  TOFT_ASSERT(sums->region_objects == r->region_objects);
  TOFT_ASSERT(r->region_used <= r->region_bytes - r->region_idle_bytes);
  for (unsigned k = 0; k < TOFT_RECYCLER_REGION_LISTS; k++)
    TOFT_ASSERT((r->with_run[k] != NULL) == (r->have_run >> k & 1));
  for (size_t k = 0; k < TOFT_RECYCLER_CLASSES; k++) {
    TOFT_ASSERT(r->held[k] <= sums->pages[k]);
    TOFT_ASSERT(r->current[k] == &toft_recycler_no_slab || r->current[k]->state == TOFT_RECYCLER_CURRENT);
    if (sums->pages[k] == 0) TOFT_ASSERT(r->current[k] == &toft_recycler_no_slab);
  }
}

static void toft_verify_recycler(const toft_recycler *r) {
  toft_recycler_sums sums;
  if (r->checked || !toft_verifies(16 * (r->slab_count + r->region_objects) + r->reserved / TOFT_RECYCLER_UNIT)) return;
  memset(&sums, 0, sizeof sums);
  TOFT_ASSERT(r->segments == NULL || r->segments->previous == NULL);
  TOFT_ASSERT(r->regions == NULL || r->regions->previous == NULL);
  for (toft_recycler_segment *s = r->segments; s != NULL; s = s->next) toft_verify_segment(r, s, &sums);
  for (toft_recycler_region *g = r->regions; g != NULL; g = g->next) toft_verify_large(r, g, &sums);
  toft_verify_sums(r, &sums);
}
#endif

#endif
