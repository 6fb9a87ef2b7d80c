/* Large objects of recyclers: whole pages, at a multiple of the page size. Each has a block of its own, and up to 8
 * free blocks are kept. When more than 512 KiB is in use, objects up to 1 MiB share regions of 4 MiB instead: each
 * takes the first free run that is long enough, so the memory in use stays in few pages and in the caches. In a region
 * an object that doubles can grow in place, even beyond 1 MiB; with blocks of its own it would be copied, and leave
 * twice its size.
 *
 * The free runs of a region are recorded in its header: search and free do not read the allocated memory, except the
 * line before the object.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_LARGE_C
#define TOFT_RECYCLER_RECYCLER_LARGE_C

#include "recycler_slabs.c"

#define TOFT_RECYCLER_REGION_OBJECT_MAX TOFT_MIB     /* larger objects have a block of their own */
#define TOFT_RECYCLER_DEDICATED_MAX (512 * TOFT_KIB) /* no region is used up to these bytes */
#define TOFT_RECYCLER_REGION_MIN (2 * TOFT_MIB)
#define TOFT_RECYCLER_REGION (4 * TOFT_MIB) /* when there are four smaller ones */
#define TOFT_RECYCLER_REGION_PROBES_MAX 64
#define TOFT_RECYCLER_FRONT ((size_t)64) /* bytes before a large object for its record, which end the run before it */
#define TOFT_RECYCLER_RUNS_MAX (TOFT_RECYCLER_REGION / TOFT_RECYCLER_PAGE / 2)

/* In pages. */
typedef struct toft_recycler_free_run {
  uint32_t first, count;
} toft_recycler_free_run;

/* Stored at the base of the region's block. */
typedef struct toft_recycler_region {
  struct toft_recycler_region *next, *previous;
  unsigned char *base, *pages; /* the source's block; page 0 */
  size_t size;                 /* of the block */
  uint32_t live;               /* objects */
  uint32_t widest;             /* upper bound on the length of a run */
  uint32_t total, dirty;       /* pages; free pages that may be resident */
  uint32_t count, pad;
  toft_recycler_free_run runs[TOFT_RECYCLER_RUNS_MAX]; /* `count` of them, by address, never adjacent */
} toft_recycler_region;

/* Stored before each large object. */
typedef struct toft_recycler_front {
  toft_recycler *owner;
  toft_recycler_region *region; /* NULL: a block of its own */
  size_t size;
  uint32_t first, count; /* pages */
} toft_recycler_front;

/* Stored before an object with a block of its own; the block is `base` to `base + size`. */
typedef struct toft_recycler_large {
  struct toft_recycler_large *next, *previous;
  unsigned char *base;
  size_t size;
  toft_recycler_front front;
} toft_recycler_large;

TOFT_STATIC_ASSERT(recycler_front, sizeof(toft_recycler_front) <= TOFT_RECYCLER_FRONT);

static toft_recycler_front *toft_recycler_front_of(void *p) { return (toft_recycler_front *)p - 1; }

static toft_recycler_large *toft_recycler_large_of(void *p) { return (toft_recycler_large *)p - 1; }

static int toft_recycler_is_large(const void *p) { return ((uintptr_t)p & (TOFT_RECYCLER_PAGE - 1)) == 0; }

/* ---- free runs ---- */

/* Returns the first run of at least `count` pages; g->count if there is none, and then g->widest is exact. */
static uint32_t toft_recycler_run_find(toft_recycler_region *g, uint32_t count) {
  uint32_t i, most = 0;
  for (i = 0; i < g->count; i++) {
    if (g->runs[i].count >= count) return i;
    if (g->runs[i].count > most) most = g->runs[i].count;
  }
  g->widest = most;
  return i;
}

/* Takes `count` pages from the front of a run. */
static void toft_recycler_run_cut(toft_recycler *r, toft_recycler_region *g, uint32_t i, uint32_t count) {
  toft_recycler_free_run *f = &g->runs[i];
  uint32_t were_dirty = (uint32_t)toft_min(count, g->dirty);
  f->first += count;
  f->count -= count;
  if (f->count == 0) memmove(f, f + 1, (--g->count - i) * sizeof *f);
  g->dirty -= were_dirty;
  toft_recycler_use(r, were_dirty * TOFT_RECYCLER_PAGE, 1);
  toft_recycler_use(r, (count - were_dirty) * TOFT_RECYCLER_PAGE, 0);
}

/* The first run that starts at or after `first`. */
static uint32_t toft_recycler_run_after(const toft_recycler_region *g, uint32_t first) {
  uint32_t i = 0;
  while (i < g->count && g->runs[i].first < first) i++;
  return i;
}

/* Frees pages and joins them with adjacent free runs. */
static void toft_recycler_run_add(toft_recycler *r, toft_recycler_region *g, uint32_t first, uint32_t count) {
  uint32_t i = toft_recycler_run_after(g, first);
  toft_recycler_free_run *f = &g->runs[i];
  int below = i > 0 && f[-1].first + f[-1].count == first;
  int above = i < g->count && f->first == first + count;
  g->dirty += count;
  toft_recycler_unuse(r, count * TOFT_RECYCLER_PAGE);
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
  if (count > g->widest) g->widest = count;
}

/* ---- kept blocks ---- */

/* Removes a kept block; newer ones move up. */
static toft_recycler_spare toft_recycler_spare_out(toft_recycler *r, size_t i) {
  toft_recycler_spare out = r->spare[i];
  r->spare_count--;
  r->idle -= out.size;
  memmove(&r->spare[i], &r->spare[i + 1], (r->spare_count - i) * sizeof *r->spare);
  return out;
}

static void toft_recycler_spare_put(toft_recycler *r, size_t i) {
  toft_recycler_spare out = toft_recycler_spare_out(r, i);
  toft_recycler_put(r, out.base, out.size);
}

/* Returns the kept blocks of sizes that regions serve from now on. */
static void toft_recycler_spares_put(toft_recycler *r) {
  size_t i = r->spare_count;
  while (i-- > 0)
    if (r->spare[i].size <= TOFT_RECYCLER_REGION_OBJECT_MAX) toft_recycler_spare_put(r, i);
}

/* ---- regions ---- */

static void toft_recycler_region_link(toft_recycler *r, toft_recycler_region *g) {
  g->previous = NULL;
  g->next = r->regions;
  if (g->next != NULL) g->next->previous = g;
  r->regions = g;
}

static void toft_recycler_region_unlink(toft_recycler *r, toft_recycler_region *g) {
  *(g->previous != NULL ? &g->previous->next : &r->regions) = g->next;
  if (g->next != NULL) g->next->previous = g->previous;
}

static void toft_recycler_region_put(toft_recycler *r, toft_recycler_region *g) {
  toft_recycler_region_unlink(r, g);
  r->region_bytes -= g->total * TOFT_RECYCLER_PAGE;
  if (g->live == 0) r->region_idle_bytes -= g->total * TOFT_RECYCLER_PAGE;
  r->region_objects -= g->live;
  r->idle -= toft_min(r->idle, g->dirty * TOFT_RECYCLER_PAGE);
  toft_recycler_put(r, g->base, g->size);
}

static toft_recycler_region *toft_recycler_region_take(toft_recycler *r, size_t size) {
  unsigned char *base = (unsigned char *)toft_recycler_take(r, size), *pages;
  toft_recycler_region *g;
  if (base == NULL) return NULL;
  g = (toft_recycler_region *)(void *)(base + toft_pad(base, 64));
  pages = (unsigned char *)(g + 1) + TOFT_RECYCLER_FRONT;
  pages += toft_pad(pages, TOFT_RECYCLER_PAGE);
  g->base = base;
  g->size = size;
  g->pages = pages;
  g->live = 0;
  g->total = g->dirty = g->widest = (uint32_t)((size_t)(base + size - pages) / TOFT_RECYCLER_PAGE);
  g->count = 1;
  g->runs[0].first = 0;
  g->runs[0].count = g->total;
  r->region_bytes += g->total * TOFT_RECYCLER_PAGE;
  r->region_idle_bytes += g->total * TOFT_RECYCLER_PAGE;
  toft_recycler_add_idle(r, g->dirty * TOFT_RECYCLER_PAGE);
  toft_recycler_region_link(r, g);
  return g;
}

/* Pages for an object and the record of the next one. */
static size_t toft_recycler_region_pages(size_t size, size_t align) {
  size_t pad = align > TOFT_RECYCLER_PAGE ? align - TOFT_RECYCLER_PAGE : 0;
  return (size + TOFT_RECYCLER_FRONT + pad + TOFT_RECYCLER_PAGE - 1) / TOFT_RECYCLER_PAGE;
}

static void *toft_recycler_region_alloc_run(toft_recycler *r, toft_recycler_region *g, uint32_t i, uint32_t count,
                                            size_t size, size_t align) {
  uint32_t first = g->runs[i].first;
  unsigned char *p = g->pages + first * TOFT_RECYCLER_PAGE;
  toft_recycler_front *front;
  p += toft_pad(p, align);
  front = toft_recycler_front_of(p);
  front->owner = r;
  front->region = g;
  front->size = size;
  front->first = first;
  front->count = count;
  toft_recycler_run_cut(r, g, i, count);
  if (g->live++ == 0) r->region_idle_bytes -= g->total * TOFT_RECYCLER_PAGE;
  r->region_objects++;
  r->region_used += size;
  return p;
}

/* Whether a further region is worthwhile. An object that is nearly alone has a block of its own. */
static int toft_recycler_region_pays(const toft_recycler *r, size_t need) {
  size_t others = r->region_used + r->dedicated_bytes;
  return others + need > TOFT_RECYCLER_DEDICATED_MAX && others >= need / 4;
}

/* Allocates in a region. NULL: nothing fits, and a further region is not worthwhile or cannot be taken. */
static void *toft_recycler_region_alloc(toft_recycler *r, size_t size, size_t align) {
  uint32_t count = (uint32_t)toft_recycler_region_pages(size, align), i;
  int probes = TOFT_RECYCLER_REGION_PROBES_MAX;
  toft_recycler_region *g;
  for (g = r->regions; g != NULL && probes-- > 0; g = g->next) {
    if (g->widest < count) continue;
    i = toft_recycler_run_find(g, count);
    if (i < g->count) return toft_recycler_region_alloc_run(r, g, i, count, size, align);
  }
  if (!toft_recycler_region_pays(r, count * TOFT_RECYCLER_PAGE)) return NULL;
  g = toft_recycler_region_take(
      r, r->region_bytes < 2 * TOFT_RECYCLER_REGION - TOFT_MIB ? TOFT_RECYCLER_REGION_MIN : TOFT_RECYCLER_REGION);
  if (g != NULL) toft_recycler_spares_put(r);
  return g != NULL ? toft_recycler_region_alloc_run(r, g, 0, count, size, align) : NULL;
}

static void toft_recycler_region_free(toft_recycler *r, const toft_recycler_front *front) {
  toft_recycler_region *g = front->region;
  r->region_used -= front->size;
  toft_recycler_run_add(r, g, front->first, front->count);
  if (--g->live == 0) r->region_idle_bytes += g->total * TOFT_RECYCLER_PAGE;
  r->region_objects--;
  if (g != r->regions) { /* regions with free runs are searched first */
    toft_recycler_region_unlink(r, g);
    toft_recycler_region_link(r, g);
  }
}

/* Frees pages at the end of an object, or takes some after it; 0: these are not free. */
static int toft_recycler_region_resize(toft_recycler *r, void *p, size_t now) {
  toft_recycler_front *front = toft_recycler_front_of(p);
  toft_recycler_region *g = front->region;
  size_t before = (size_t)((unsigned char *)p - g->pages) - front->first * TOFT_RECYCLER_PAGE;
  uint32_t count, end = front->first + front->count, i;
  if (now > g->size) return 0;
  count = (uint32_t)toft_recycler_region_pages(before + now, 1);
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

/* ---- blocks of one object ---- */

/* The position of an object in a block of `total` bytes. NULL: it does not fit. */
static unsigned char *toft_recycler_dedicated_at(unsigned char *base, size_t total, size_t size, size_t align) {
  unsigned char *p = base + sizeof(toft_recycler_large);
  p += toft_pad(p, toft_max(align, TOFT_RECYCLER_PAGE));
  return (size_t)(p - base) <= total && total - (size_t)(p - base) >= size ? p : NULL;
}

/* Bytes from the object on. */
static size_t toft_recycler_dedicated_room(const toft_recycler_large *l) {
  return (size_t)((uintptr_t)l->base + l->size - (uintptr_t)(l + 1));
}

/* Removes and returns the kept block that was freed last and fits, of at most `most` bytes; it is likely to be in the
 * caches. base NULL: there is none. Does not touch the blocks' memory. */
static toft_recycler_spare toft_recycler_spare_find(toft_recycler *r, size_t size, size_t align, size_t most) {
  toft_recycler_spare none = {NULL, 0};
  size_t i = r->spare_count;
  while (i-- > 0) {
    const toft_recycler_spare *s = &r->spare[i];
    if (s->size <= most && toft_recycler_dedicated_at(s->base, s->size, size, align) != NULL)
      return toft_recycler_spare_out(r, i);
  }
  return none;
}

/* Block sizes differ by an eighth at most, so that blocks are reused; a block of more than three times the size is used
 * only if the source fails. After a refusal the same requests find the same blocks again: none is larger than
 * needed. */
static toft_recycler_spare toft_recycler_dedicated_take(toft_recycler *r, size_t size, size_t align) {
  size_t step = 4096, need = size + sizeof(toft_recycler_large) + toft_max(align, TOFT_RECYCLER_PAGE), total;
  toft_recycler_spare block;
  while (step < need / 16) step *= 2;
  total = toft_round(need, step);
  block = toft_recycler_spare_find(r, size, align, r->refused != 0 ? total : 3 * total);
  if (block.base != NULL) {
    toft_recycler_use(r, block.size, 0);
    return block;
  }
  block.base = (unsigned char *)toft_recycler_take(r, block.size = total);
  if (block.base == NULL) block = toft_recycler_spare_find(r, size, align, SIZE_MAX);
  if (block.base == NULL) {
    block.size = toft_round(need, 4096);
    block.base = toft_recycler_take_down_to(r, &block.size, block.size);
  }
  if (block.base != NULL) toft_recycler_use(r, block.size, 0);
  return block;
}

static void *toft_recycler_dedicated_alloc(toft_recycler *r, size_t size, size_t align) {
  toft_recycler_spare block = toft_recycler_dedicated_take(r, size, align);
  if (block.base == NULL) return NULL;
  unsigned char *p = toft_recycler_dedicated_at(block.base, block.size, size, align);
  toft_recycler_large *l = toft_recycler_large_of(p);
  l->base = block.base;
  l->size = block.size;
  l->front.owner = r;
  l->front.region = NULL;
  l->front.size = size;
  l->previous = NULL;
  l->next = r->dedicated;
  if (r->dedicated != NULL) r->dedicated->previous = l;
  r->dedicated = l;
  r->dedicated_bytes += l->size;
  r->dedicated_count++;
  r->dedicated_used += size;
  r->dedicated_room += toft_recycler_dedicated_room(l);
  return p;
}

static toft_recycler_spare toft_recycler_dedicated_unlink(toft_recycler *r, toft_recycler_large *l) {
  toft_recycler_spare block;
  block.base = l->base;
  block.size = l->size;
  *(l->previous != NULL ? &l->previous->next : &r->dedicated) = l->next;
  if (l->next != NULL) l->next->previous = l->previous;
  r->dedicated_bytes -= l->size;
  r->dedicated_count--;
  r->dedicated_used -= l->front.size;
  r->dedicated_room -= toft_recycler_dedicated_room(l);
  return block;
}

/* Keeps the block, unless regions serve its size. */
static void toft_recycler_dedicated_free(toft_recycler *r, toft_recycler_large *l) {
  toft_recycler_spare block = toft_recycler_dedicated_unlink(r, l);
  toft_recycler_unuse(r, block.size);
  if (r->spare_count == TOFT_RECYCLER_SPARES) toft_recycler_spare_put(r, 0);
  r->spare[r->spare_count++] = block;
  if (r->regions != NULL && block.size <= TOFT_RECYCLER_REGION_OBJECT_MAX)
    toft_recycler_spare_put(r, r->spare_count - 1u);
}

/* ---- both ---- */

static void *toft_recycler_large_alloc(toft_recycler *r, size_t size, size_t align) {
  size_t pages = toft_recycler_region_pages(size, align);
  void *p =
      pages <= TOFT_RECYCLER_REGION_OBJECT_MAX / TOFT_RECYCLER_PAGE ? toft_recycler_region_alloc(r, size, align) : NULL;
  return p != NULL ? p : toft_recycler_dedicated_alloc(r, size, align);
}

static void toft_recycler_large_free(toft_recycler *r, void *p) {
  const toft_recycler_front *front = toft_recycler_front_of(p);
  if (front->region != NULL)
    toft_recycler_region_free(r, front);
  else
    toft_recycler_dedicated_free(r, toft_recycler_large_of(p));
  toft_recycler_return_surplus(r);
}

/* Bytes that may be used at p. */
static size_t toft_recycler_large_room(void *p) {
  const toft_recycler_front *front = toft_recycler_front_of(p);
  const toft_recycler_large *l = toft_recycler_large_of(p);
  if (front->region == NULL) return (size_t)(l->base + l->size - (unsigned char *)p);
  return (size_t)(front->region->pages + (front->first + front->count) * TOFT_RECYCLER_PAGE - (unsigned char *)p) -
         TOFT_RECYCLER_FRONT;
}

/* Resizes in place; 0: not possible. */
static int toft_recycler_large_resize(toft_recycler *r, void *p, size_t now) {
  toft_recycler_large *l;
  if (now <= TOFT_RECYCLER_DIRECT) return 0;
  if (toft_recycler_front_of(p)->region != NULL) return toft_recycler_region_resize(r, p, now);
  l = toft_recycler_large_of(p);
  if (now > toft_recycler_large_room(p) || now < l->size / 4) return 0;
  r->dedicated_used += now - l->front.size;
  l->front.size = now;
  return 1;
}

/* Returns everything to the source. */
static void toft_recycler_large_release(toft_recycler *r) {
  while (r->regions != NULL) toft_recycler_region_put(r, r->regions);
  while (r->dedicated != NULL) {
    toft_recycler_spare block = toft_recycler_dedicated_unlink(r, r->dedicated);
    toft_recycler_put(r, block.base, block.size);
  }
  while (r->spare_count != 0) toft_recycler_spare_put(r, r->spare_count - 1u);
}

#endif
