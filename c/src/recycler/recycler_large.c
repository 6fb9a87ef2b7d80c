/* Large objects of recyclers: runs of pages in regions, which start at a multiple of the page size. Regions are listed
 * by the length of their longest free run. An object takes the first sufficient run of a region whose longest is not
 * much longer: so regions that are almost free become free, and an object can grow into free pages behind it. An object
 * above 1 MiB has a region of its own size, which later serves others above 1 MiB, of at least a quarter of it.
 *
 * The free runs of a region are recorded in its header: search and free do not read the allocated memory, except the
 * line before the object.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_LARGE_C
#define TOFT_RECYCLER_RECYCLER_LARGE_C

#include "recycler_slabs.c"

#define TOFT_RECYCLER_SHARED_OBJECT_MAX TOFT_MIB /* in a region with others */
#define TOFT_RECYCLER_REGION_MIN (64 * TOFT_KIB)
#define TOFT_RECYCLER_REGION_FEW (512 * TOFT_KIB) /* up to these bytes in use, a region is as large as its object */
#define TOFT_RECYCLER_REGION_SOME (2 * TOFT_MIB)  /* then these, */
#define TOFT_RECYCLER_REGION_MAX (4 * TOFT_MIB)   /* and these when there are four */
#define TOFT_RECYCLER_SURPLUS_MIN (64 * TOFT_KIB) /* less is not returned by itself */
#define TOFT_RECYCLER_FRONT ((size_t)64) /* bytes before a large object for its record, which end the run before it */

/* In pages. */
typedef struct toft_recycler_free_run {
  uint32_t first, count;
} toft_recycler_free_run;

/* Stored at the base of the region's block. */
typedef struct toft_recycler_region {
  toft_purgeable purgeable;                                 /* first; excludes other threads from runs and dirty */
  struct toft_recycler_region *next, *previous;             /* the newest first */
  struct toft_recycler_region *listed_next, *listed_before; /* in with_run[list] */
  unsigned char *base, *pages;                              /* the source's block; page 0 */
  size_t size;                                              /* of the block */
  uint32_t live;                                            /* objects */
  uint32_t widest, list;          /* upper bound on the length of a run; its list, or NO_LIST */
  uint32_t total, dirty;          /* pages; free pages that may be resident */
  uint32_t count, least;          /* free runs; pages of the smallest object */
  uint32_t first_use;             /* pages that are freed before the block, which has small pages, prefers huge ones;
                                   * 0: it does */
  toft_recycler_free_run runs[1]; /* `count` of them, by address, never adjacent; toft_recycler_runs_max have room */
} toft_recycler_region;

/* Stored before each large object. */
typedef struct toft_recycler_front {
  toft_recycler *owner;
  toft_recycler_region *region;
  size_t size;
  uint32_t first, count; /* pages */
} toft_recycler_front;

TOFT_STATIC_ASSERT(recycler_front, sizeof(toft_recycler_front) <= TOFT_RECYCLER_FRONT);

static toft_recycler_front *toft_recycler_front_of(void *p) { return (toft_recycler_front *)p - 1; }

static int toft_recycler_is_large(const void *p) { return ((uintptr_t)p & (TOFT_RECYCLER_PAGE - 1)) == 0; }

static int toft_recycler_is_shared(size_t pages) {
  return pages <= TOFT_RECYCLER_SHARED_OBJECT_MAX / TOFT_RECYCLER_PAGE;
}

/* Limit on the free runs of a region of `total` pages made for an object of `pages`: they lie between its objects, of
 * which there are at most four if it is not shared. */
static size_t toft_recycler_runs_max(size_t pages, size_t total) {
  return toft_recycler_is_shared(pages) ? total / 2 + 1 : 6;
}

/* ---- regions by their longest run ---- */

#define TOFT_RECYCLER_NO_LIST TOFT_RECYCLER_REGION_LISTS

/* Four for each power of two from 4 pages on, two from 32 pages on, to 8 MiB or more. */
static unsigned toft_recycler_list_of(size_t pages) {
  unsigned k = 2;
  if (pages < 4) return pages != 0 ? 0 : TOFT_RECYCLER_NO_LIST;
  while (pages >> (k + 1) != 0) k++;
  if (k < 5) return 4 * (k - 2) + (unsigned)(pages >> (k - 2) & 3);
  return (unsigned)toft_min(12 + 2 * (k - 5) + (pages >> (k - 1) & 1), TOFT_RECYCLER_REGION_LISTS - 1);
}

static void toft_recycler_region_unlist(toft_recycler *r, toft_recycler_region *g) {
  if (g->list == TOFT_RECYCLER_NO_LIST) return;
  *(g->listed_before != NULL ? &g->listed_before->listed_next : &r->with_run[g->list]) = g->listed_next;
  if (g->listed_next != NULL) g->listed_next->listed_before = g->listed_before;
  if (r->with_run[g->list] == NULL) r->have_run &= ~((uint32_t)1 << g->list);
  g->list = TOFT_RECYCLER_NO_LIST;
}

/* Sets the length of the longest run. */
static void toft_recycler_region_set_widest(toft_recycler *r, toft_recycler_region *g, uint32_t pages) {
  unsigned list = toft_recycler_list_of(pages);
  g->widest = pages;
  if (list == g->list) return;
  toft_recycler_region_unlist(r, g);
  if (list == TOFT_RECYCLER_NO_LIST) return;
  g->list = list;
  g->listed_before = NULL;
  g->listed_next = r->with_run[list];
  if (g->listed_next != NULL) g->listed_next->listed_before = g;
  r->with_run[list] = g;
  r->have_run |= (uint32_t)1 << list;
}

/* ---- free runs ---- */

/* Returns the first run of at least `count` pages; g->count if there is none, and then g->widest becomes exact. */
static uint32_t toft_recycler_run_find(toft_recycler *r, toft_recycler_region *g, uint32_t count) {
  uint32_t i, most = 0;
  for (i = 0; i < g->count; i++) {
    if (g->runs[i].count >= count) return i;
    if (g->runs[i].count > most) most = g->runs[i].count;
  }
  toft_recycler_region_set_widest(r, g, most);
  return i;
}

/* Takes `count` pages from the front of a run. */
static void toft_recycler_run_cut(toft_recycler *r, toft_recycler_region *g, uint32_t i, uint32_t count) {
  toft_recycler_free_run *f = &g->runs[i];
  TOFT_ASSERT(i < g->count && count <= f->count);
  toft_purgeable_enter(&g->purgeable);
  uint32_t were_dirty = (uint32_t)toft_min(count, g->dirty);
  f->first += count;
  f->count -= count;
  if (f->count == 0) memmove(f, f + 1, (--g->count - i) * sizeof *f);
  g->dirty -= were_dirty;
  toft_purgeable_leave(&g->purgeable);
  toft_recycler_use(r, count * TOFT_RECYCLER_PAGE, were_dirty * TOFT_RECYCLER_PAGE);
}

/* The first run that starts at or after `first`. */
static uint32_t toft_recycler_run_after(const toft_recycler_region *g, uint32_t first) {
  uint32_t i = 0;
  while (i < g->count && g->runs[i].first < first) i++;
  return i;
}

/* Prefers huge pages when as many pages were freed as the region has: it is used again, so that faults come second. */
static void toft_recycler_region_used(toft_recycler_region *g, uint32_t freed) {
  g->first_use -= (uint32_t)toft_min(freed, g->first_use);
  if (g->first_use == 0) toft_fresh_end(g->base, g->size);
}

/* Frees pages and joins them with adjacent free runs. */
static void toft_recycler_run_add(toft_recycler *r, toft_recycler_region *g, uint32_t first, uint32_t count) {
  uint32_t i = toft_recycler_run_after(g, first), freed = count;
  toft_recycler_free_run *f = &g->runs[i];
  int below = i > 0 && f[-1].first + f[-1].count == first;
  int above = i < g->count && f->first == first + count;
  TOFT_ASSERT(i == 0 || f[-1].first + f[-1].count <= first);
  TOFT_ASSERT(first + count <= (i < g->count ? f->first : g->total));
  toft_recycler_unuse(r, count * TOFT_RECYCLER_PAGE);
  toft_purgeable_enter(&g->purgeable);
  g->dirty += count;
  if (below) {
    count += f[-1].count;
    f[-1].count = count;
    if (above) {
      count += f->count;
      f[-1].count = count;
      memmove(f, f + 1, (--g->count - i) * sizeof *f);
    }
  } else {
    if (above)
      count += f->count;
    else
      memmove(f + 1, f, (g->count++ - i) * sizeof *f);
    f->first = first;
    f->count = count;
  }
  toft_purgeable_leave(&g->purgeable);
  if (g->first_use != 0) toft_recycler_region_used(g, freed);
  if (count > g->widest) toft_recycler_region_set_widest(r, g, count);
}

/* ---- regions ---- */

static void toft_recycler_region_link(toft_recycler *r, toft_recycler_region *g) {
  g->previous = NULL;
  g->next = r->regions;
  if (g->next != NULL) g->next->previous = g;
  r->regions = g;
}

static void toft_recycler_region_unlink(toft_recycler *r, toft_recycler_region *g) {
  toft_recycler_region_unlist(r, g);
  *(g->previous != NULL ? &g->previous->next : &r->regions) = g->next;
  if (g->next != NULL) g->next->previous = g->previous;
}

static size_t toft_recycler_region_idle(toft_recycler_region *g) {
  toft_purgeable_enter(&g->purgeable);
  size_t bytes = g->dirty * TOFT_RECYCLER_PAGE;
  toft_purgeable_leave(&g->purgeable);
  return bytes;
}

/* Discards the pages of free runs; the last 64 bytes of a run may belong to the next object. Precondition: the region
 * has pages. */
static size_t toft_recycler_region_purge(toft_purgeable *b) {
  toft_recycler_region *g = (toft_recycler_region *)(void *)b;
  size_t bytes = g->dirty * TOFT_RECYCLER_PAGE;
  for (uint32_t i = 0; g->dirty != 0 && i < g->count; i++)
    if (!toft_os_return_pages(g->pages + g->runs[i].first * TOFT_RECYCLER_PAGE,
                              (g->runs[i].count - 1u) * TOFT_RECYCLER_PAGE))
      return 0;
  g->dirty = 0;
  return bytes;
}

/* Returns the block of a region that is in no list of the recycler. */
static void toft_recycler_region_end(toft_recycler *r, toft_recycler_region *g) {
  size_t free_pages = 0;
  toft_recycler_end_block(r, &g->purgeable, g->size);
  for (uint32_t i = 0; i < g->count; i++) free_pages += g->runs[i].count;
  toft_recycler_count(r, free_pages * TOFT_RECYCLER_PAGE - toft_recycler_counted(r, g->size),
                      0 - g->dirty * TOFT_RECYCLER_PAGE);
  if (g->first_use != 0) toft_fresh_end(g->base, g->size);
  toft_recycler_put(r, g->base, g->size);
}

static void toft_recycler_region_put(toft_recycler *r, toft_recycler_region *g) {
  TOFT_ASSERT(g->total * TOFT_RECYCLER_PAGE <= r->region_bytes && g->live <= r->region_objects);
  toft_recycler_region_unlink(r, g);
  r->region_bytes -= g->total * TOFT_RECYCLER_PAGE;
  if (g->live == 0) r->region_idle_bytes -= g->total * TOFT_RECYCLER_PAGE;
  r->region_objects -= g->live;
  toft_recycler_region_end(r, g);
}

/* Pages for an object and the record of the next one. */
static size_t toft_recycler_region_pages(size_t size, size_t align) {
  size_t pad = align > TOFT_RECYCLER_PAGE ? align - TOFT_RECYCLER_PAGE : 0;
  return (size + TOFT_RECYCLER_FRONT + pad + TOFT_RECYCLER_PAGE - 1) / TOFT_RECYCLER_PAGE;
}

/* The size of a region for an object of `count` pages; stores the least that suffices at any address. */
static size_t toft_recycler_region_size(const toft_recycler *r, size_t count, size_t *least) {
  size_t bytes = count * TOFT_RECYCLER_PAGE, size = TOFT_RECYCLER_REGION_MIN, step = TOFT_RECYCLER_PAGE;
  size_t header =
      sizeof(toft_recycler_region) + toft_recycler_runs_max(count, 2 * count) * sizeof(toft_recycler_free_run);
  *least = toft_round(bytes + header + TOFT_RECYCLER_FRONT, TOFT_RECYCLER_PAGE) + TOFT_RECYCLER_PAGE;
  if (!toft_recycler_is_shared(count)) { /* sizes that differ by an eighth at most are reused */
    while (step < bytes / 16) step *= 2;
    return toft_round(*least, step);
  }
  if (r->region_used + bytes > toft_recycler_huge_from(r, TOFT_RECYCLER_REGION_FEW))
    return r->region_bytes < 4 * TOFT_RECYCLER_REGION_SOME - TOFT_MIB ? TOFT_RECYCLER_REGION_SOME
                                                                      : TOFT_RECYCLER_REGION_MAX;
  while (size < *least) size *= 2;
  return size;
}

/* Whether the block of a region has small pages, before it is touched: it is mapped for it, since the caller read
 * `wholes`. A block that was used before keeps its pages. */
static int toft_recycler_region_is_small(const toft_recycler *r, unsigned char *base, size_t size, size_t wholes) {
  int is_whole = size >= TOFT_HUGE_PAGE && (uintptr_t)base % TOFT_HUGE_PAGE == 0;
  if (wholes == toft_fresh_wholes() || !r->on_heap || toft_recycler_counted(r, size) != 0) return 0;
  return is_whole && toft_fresh_begin(base, size);
}

/* Takes a region for an object of `count` pages. NULL: the source refuses. */
static toft_recycler_region *toft_recycler_region_take(toft_recycler *r, size_t count) {
  size_t least, size = toft_recycler_region_size(r, count, &least), total, wholes = toft_fresh_wholes();
  unsigned char *base = toft_recycler_take_down_to(r, &size, least, toft_recycler_take), *pages;
  toft_recycler_region *g;
  if (base == NULL) return NULL;
  int is_small = toft_recycler_is_shared(count) && toft_recycler_region_is_small(r, base, size, wholes);
  total = size / TOFT_RECYCLER_PAGE; /* at most */
  g = (toft_recycler_region *)(void *)(base + toft_pad(base, 64));
  /* The headers of large regions, which are aligned alike, do not fall into one cache set. */
  if (size >= TOFT_RECYCLER_REGION_SOME)
    g = (toft_recycler_region *)(void *)((unsigned char *)g + r->source_calls % 32 * 64);
  pages = (unsigned char *)(g->runs + toft_recycler_runs_max(count, total)) + TOFT_RECYCLER_FRONT;
  pages += toft_pad(pages, TOFT_RECYCLER_PAGE);
  g->base = base;
  g->size = size;
  g->pages = pages;
  g->live = 0;
  g->total = g->dirty = (uint32_t)((size_t)(base + size - pages) / TOFT_RECYCLER_PAGE);
  g->first_use = is_small ? g->total : 0;
  g->count = 1;
  g->least = toft_recycler_is_shared(count)
                 ? 1
                 : (uint32_t)toft_max(g->total / 4, TOFT_RECYCLER_SHARED_OBJECT_MAX / TOFT_RECYCLER_PAGE + 1);
  g->runs[0].first = 0;
  g->runs[0].count = g->total;
  r->region_bytes += g->total * TOFT_RECYCLER_PAGE;
  r->region_idle_bytes += g->total * TOFT_RECYCLER_PAGE;
  toft_recycler_begin_block(r, &g->purgeable, size, g->dirty * TOFT_RECYCLER_PAGE, toft_recycler_region_purge);
  g->list = TOFT_RECYCLER_NO_LIST;
  toft_recycler_region_set_widest(r, g, g->total);
  toft_recycler_region_link(r, g);
  return g;
}

static void *toft_recycler_region_alloc_run(toft_recycler *r, toft_recycler_region *g, uint32_t i, uint32_t count,
                                            size_t size, size_t align) {
  uint32_t first = g->runs[i].first;
  unsigned char *p = g->pages + first * TOFT_RECYCLER_PAGE;
  toft_recycler_front *front;
  p += toft_pad(p, align);
  toft_recycler_run_cut(r, g, i, count); /* before the record is written, which may lie in these pages */
  front = toft_recycler_front_of(p);
  front->owner = r;
  front->region = g;
  front->size = size;
  front->first = first;
  front->count = count;
  if (g->live++ == 0) r->region_idle_bytes -= g->total * TOFT_RECYCLER_PAGE;
  r->region_objects++;
  r->region_used += size;
  return p;
}

#define TOFT_RECYCLER_PROBES 4

/* Of the first regions of a list the one whose longest run is the shortest that may suffice. NULL: none does. */
static toft_recycler_region *toft_recycler_region_best(toft_recycler_region *g, size_t count) {
  int all = g->list == TOFT_RECYCLER_REGION_LISTS - 1;
  toft_recycler_region *best = NULL;
  for (int probes = 0; g != NULL && (probes < TOFT_RECYCLER_PROBES || all); g = g->listed_next, probes++)
    if (g->widest >= count && count >= g->least && (best == NULL || g->widest < best->widest)) best = g;
  return best;
}

/* A region with a sufficient run, which is stored. NULL: none is found. */
static toft_recycler_region *toft_recycler_region_find(toft_recycler *r, size_t count, uint32_t *run) {
  uint32_t lists = r->have_run & ~(uint32_t)0 << toft_recycler_list_of(count);
  for (; lists != 0; lists &= lists - 1) {
    toft_recycler_region *const *list = &r->with_run[toft_lowest_bit(lists)], *g;
    while (*list != NULL && (g = toft_recycler_region_best(*list, count)) != NULL) {
      *run = toft_recycler_run_find(r, g, (uint32_t)count);
      if (*run < g->count) return g;
    }
  }
  *run = 0;
  return NULL;
}

static void *toft_recycler_large_alloc(toft_recycler *r, size_t size, size_t align) {
  size_t count = toft_recycler_region_pages(size, align);
  uint32_t run = 0;
  if (count > UINT32_MAX / 2) return NULL;
  toft_recycler_region *g = toft_recycler_region_find(r, count, &run);
  if (g == NULL) g = toft_recycler_region_take(r, count);
  return g != NULL ? toft_recycler_region_alloc_run(r, g, run, (uint32_t)count, size, align) : NULL;
}

static void toft_recycler_large_free(toft_recycler *r, void *p) {
  toft_recycler_front *front = toft_recycler_front_of(p);
  toft_recycler_region *g = front->region;
  TOFT_ASSERT(front->owner == r);
  TOFT_ASSERT(g->live != 0 && front->size <= r->region_used);
  front->region = NULL; /* recycler_walk.c looks for records */
  r->region_used -= front->size;
  toft_recycler_run_add(r, g, front->first, front->count);
  if (r->clears) memset(front, 0, sizeof *front);
  if (--g->live == 0) r->region_idle_bytes += g->total * TOFT_RECYCLER_PAGE;
  r->region_objects--;
  if (g->live == 0 && r->shares_limit && r->region_idle_bytes > TOFT_RECYCLER_SURPLUS_MIN)
    toft_recycler_region_put(r, g);
  toft_recycler_return_surplus(r);
}

/* Resizes in place, if the pages behind the object are free or the object shrinks; 0: not possible. */
static int toft_recycler_large_resize(toft_recycler *r, void *p, size_t now) {
  toft_recycler_front *front = toft_recycler_front_of(p);
  toft_recycler_region *g = front->region;
  TOFT_ASSERT(front->owner == r);
  size_t before = (size_t)((unsigned char *)p - g->pages) - front->first * TOFT_RECYCLER_PAGE, need;
  uint32_t count, end = front->first + front->count, i;
  if (now <= TOFT_RECYCLER_DIRECT || now > g->size) return 0;
  need = toft_recycler_region_pages(before + now, 1);
  if (need < g->least) return 0;
  count = (uint32_t)need;
  if (count > front->count) {
    i = toft_recycler_run_after(g, end);
    if (i == g->count || g->runs[i].first != end || g->runs[i].count < count - front->count) return 0;
    toft_recycler_run_cut(r, g, i, count - front->count);
  } else if (count < front->count) {
    toft_recycler_run_add(r, g, front->first + count, front->count - count);
  }
  front->count = count;
  r->region_used += now - front->size;
  front->size = now;
  return 1;
}

/* Bytes that may be used at p. */
static size_t toft_recycler_large_room(void *p) {
  const toft_recycler_front *front = toft_recycler_front_of(p);
  size_t end = (size_t)(front->first + front->count) * TOFT_RECYCLER_PAGE;
  return (size_t)(front->region->pages + end - (unsigned char *)p) - TOFT_RECYCLER_FRONT;
}

/* Returns everything to the source. */
static void toft_recycler_large_release(toft_recycler *r) {
  while (r->regions != NULL) {
    toft_recycler_region *g = r->regions;
    r->regions = g->next;
    toft_recycler_region_end(r, g);
  }
}

#endif
