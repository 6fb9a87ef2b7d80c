/* The live objects of a recycler: what its slabs have handed out and was not freed, and its large objects.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_WALK_C
#define TOFT_RECYCLER_RECYCLER_WALK_C

#include "recycler_large.c"

typedef void toft_object_fn(void *arg, const unsigned char *p, size_t size);

/* The objects of a slab begin at a multiple of 8 each. */
static void toft_recycler_walk_slab(const toft_recycler_slab *d, toft_object_fn *fn, void *arg) {
  const toft_recycler_segment *s = toft_recycler_segment_of(toft_recycler_unit_of(d));
  unsigned char *unit = toft_recycler_unit_base(d);
  const unsigned char *p =
      toft_recycler_slab_begin(toft_recycler_page_start(s, unit, toft_recycler_first_page(d)), d->bytes);
  uint8_t freed[TOFT_RECYCLER_UNIT / 8 / 8]; /* a bit for each place of the unit */
  memset(freed, 0, sizeof freed);
  for (void *f = d->free; f != NULL; memcpy(&f, f, sizeof f)) {
    size_t place = (size_t)((unsigned char *)f - unit) / 8;
    freed[place / 8] |= (uint8_t)(1u << place % 8);
  }
  for (; p < d->cursor; p += d->bytes) {
    size_t place = (size_t)(p - unit) / 8;
    int left_out = d->bytes % 128 != 0 && toft_recycler_is_large(p);
    if (!left_out && !(freed[place / 8] >> place % 8 & 1)) fn(arg, p, d->bytes);
  }
}

static void toft_recycler_walk_unit(const toft_recycler_segment *s, unsigned index, toft_object_fn *fn, void *arg) {
  unsigned char *base = s->units + index * TOFT_RECYCLER_UNIT;
  const toft_recycler_slab *unit = toft_recycler_unit_of(base);
  unsigned pages = toft_recycler_unit_pages(s, index) & ~(unsigned)unit->free_pages;
  for (unsigned page = 0; page < 8;) {
    if (!(pages >> page & 1)) {
      page++;
      continue;
    }
    const toft_recycler_slab *d = toft_recycler_line(base, (uintptr_t)unit->map[page] << 6);
    toft_recycler_walk_slab(d, fn, arg);
    page += d->pages;
  }
}

/* An object begins at the first page of its run that its alignment admits. Returns the pages of the run. */
static uint32_t toft_recycler_walk_run(const toft_recycler_region *g, uint32_t first, uint32_t end, toft_object_fn *fn,
                                       void *arg) {
  for (uint32_t page = first; page < end; page++) {
    unsigned char *p = g->pages + page * TOFT_RECYCLER_PAGE;
    const toft_recycler_front *front = toft_recycler_front_of(p);
    if (front->region != g || front->first != first || front->count > end - first) continue;
    fn(arg, p, front->size);
    return front->count;
  }
  return end - first;
}

static void toft_recycler_walk_region(const toft_recycler_region *g, toft_object_fn *fn, void *arg) {
  uint32_t page = 0;
  for (uint32_t i = 0; i <= g->count; i++) {
    uint32_t end = i < g->count ? g->runs[i].first : g->total;
    while (page < end) page += toft_recycler_walk_run(g, page, end, fn, arg);
    if (i < g->count) page = end + g->runs[i].count;
  }
}

/* Calls fn for each live object, which must not call the recycler. Precondition: r is not checked. */
static void toft_recycler_walk(const toft_recycler *r, toft_object_fn *fn, void *arg) {
  for (const toft_recycler_segment *s = r->segments; s != NULL; s = s->next)
    for (unsigned i = 0; i < s->count; i++)
      if (!(s->free >> i & 1)) toft_recycler_walk_unit(s, i, fn, arg);
  for (const toft_recycler_region *g = r->regions; g != NULL; g = g->next) toft_recycler_walk_region(g, fn, arg);
}

#endif
