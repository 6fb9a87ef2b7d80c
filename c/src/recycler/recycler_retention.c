/* The retention of recyclers, by the rule of the page cache. Bytes are in use (units with a slab, runs of large
 * objects) or idle (the same without objects, if their pages may be resident). Idle bytes up to the peak of use in the
 * current or the previous window of time are kept, and as much again, up to the larger of 4 MiB and an eighth of it,
 * for requests of other sizes. The surplus returns to the source where a whole block is idle, and else, if it is pages,
 * to the system. Where the source has a limit for several objects, blocks return as soon as they have none.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_RETENTION_C
#define TOFT_RECYCLER_RECYCLER_RETENTION_C

#include "../platform/os.c"
#include "recycler_large.c"

#define TOFT_RECYCLER_SURPLUS_DELAY 32        /* in parts of a window */
#define TOFT_RECYCLER_MORE_MIN (4 * TOFT_MIB) /* kept beyond the peak of use; an eighth of it if that is more */

static void toft_recycler_peak(toft_recycler *r, size_t bytes) { r->recent[0] = toft_max(r->recent[0], bytes); }

/* Bytes are used from now on; they were counted as idle or not. */
static void toft_recycler_use(toft_recycler *r, size_t bytes, int were_idle) {
  r->in_use += bytes;
  if (were_idle) r->idle -= bytes;
  toft_recycler_peak(r, r->in_use);
}

static void toft_recycler_unuse(toft_recycler *r, size_t bytes) {
  r->in_use -= bytes;
  r->idle += bytes;
}

/* New memory counts as if it had been in use, so that it is kept for a window. */
static void toft_recycler_add_idle(toft_recycler *r, size_t bytes) {
  r->idle += bytes;
  toft_recycler_peak(r, r->in_use + bytes);
}

/* Whether `bytes` of an idle block may return: not if less than `keep` would remain, or less than options.count
 * needs. */
static int toft_recycler_may_return(const toft_recycler *r, size_t bytes, size_t size, size_t keep) {
  return r->idle >= bytes && r->idle - bytes >= keep && r->reserved - size >= r->floor;
}

/* The newest regions return first, and the segments that were used last return last. */
static void toft_recycler_return_blocks(toft_recycler *r, size_t keep) {
  toft_recycler_region *g = r->regions;
  toft_recycler_segment *s = r->segments;
  for (toft_recycler_region *next; g != NULL; g = next) {
    next = g->next;
    if (g->live == 0 && toft_recycler_may_return(r, g->dirty * TOFT_RECYCLER_PAGE, g->size, keep))
      toft_recycler_region_put(r, g);
  }
  while (s != NULL && s->next != NULL) s = s->next;
  for (toft_recycler_segment *previous; s != NULL; s = previous) {
    previous = s->previous;
    if (s->free == toft_recycler_segment_units(s) &&
        toft_recycler_may_return(r, toft_count_bits(s->dirty) * TOFT_RECYCLER_UNIT, s->size, keep))
      toft_recycler_segment_put(r, s);
  }
}

/* Gives the pages of idle units and runs back to the system, whose addresses stay, if they are of the heap. */
static void toft_recycler_discard_pages(toft_recycler *r, size_t keep) {
  if (r->source != &toft_heap_source) return;
  for (toft_recycler_segment *s = r->segments; s != NULL && r->idle > keep; s = s->next) {
    uint64_t units = s->size >= TOFT_CAP ? s->dirty & ~(uint64_t)1 : 0; /* unit 0 contains the header */
    while (units != 0 && r->idle > keep) {
      unsigned first = toft_lowest_bit(units), count = 0;
      for (; first + count < TOFT_RECYCLER_UNITS && (units >> (first + count) & 1) != 0; count++) {
        units &= ~((uint64_t)1 << (first + count));
        s->dirty &= ~((uint64_t)1 << (first + count));
      }
      toft_os_forget(s->units + first * TOFT_RECYCLER_UNIT, count * TOFT_RECYCLER_UNIT);
      r->idle -= count * TOFT_RECYCLER_UNIT;
    }
  }
  for (toft_recycler_region *g = r->regions; g != NULL && r->idle > keep; g = g->next) {
    if (g->dirty == 0 || g->size < TOFT_CAP) continue; /* smaller blocks are no mapping of their own */
    for (uint32_t i = 0; i < g->count; i++)            /* the last 64 bytes of a run may belong to the next object */
      toft_os_forget(g->pages + g->runs[i].first * TOFT_RECYCLER_PAGE, (g->runs[i].count - 1u) * TOFT_RECYCLER_PAGE);
    r->idle -= g->dirty * TOFT_RECYCLER_PAGE;
    g->dirty = 0;
  }
}

static void toft_recycler_return_down_to(toft_recycler *r, size_t keep) {
  toft_recycler_flush(r);
  toft_recycler_return_blocks(r, keep);
  toft_recycler_discard_pages(r, keep);
}

#ifndef TOFT_OMIT_PAGE_CACHE
static size_t toft_recycler_recent_peak(const toft_recycler *r) { return toft_max(r->recent[0], r->recent[1]); }

/* Bytes that may be idle. */
static size_t toft_recycler_kept(const toft_recycler *r) {
  size_t peak = toft_recycler_recent_peak(r);
  return peak + toft_max(toft_min(peak, TOFT_RECYCLER_MORE_MIN), peak / 8) - r->in_use;
}

/* Begins a window of time if one has ended; returns whether it has. */
static int toft_recycler_turn_window(toft_recycler *r, size_t now, size_t window) {
  size_t passed;
  if (r->began == 0) r->began = now;
  passed = now - r->began;
  if (passed < window) return 0;
  r->recent[1] = passed < 2 * window ? r->recent[0] : r->in_use;
  r->recent[0] = r->in_use;
  r->began = now;
  r->left = 0;
  return 1;
}
#endif

/* Returns the surplus: whole blocks when there has been one for a part of a window, since a program often takes them
 * again at once, or when it exceeds the peak of use; pages between objects when a window has ended. Blocks that could
 * not return, since they have objects, are not searched again in this window. */
static void toft_recycler_return_surplus(toft_recycler *r) {
  if (r->shares_limit) {
    toft_recycler_flush(r); /* what has no objects then returns */
    return;
  }
#ifndef TOFT_OMIT_PAGE_CACHE
  size_t now, window, kept;
  int turned;
  if (r->idle <= TOFT_RECYCLER_SURPLUS_MIN || r->clears) return;
  now = toft_max(toft_os_milliseconds(), 1);
  window = toft_page_window();
  turned = toft_recycler_turn_window(r, now, window);
  kept = toft_recycler_kept(r);
  if (r->idle <= toft_max(kept, r->left) + TOFT_RECYCLER_SURPLUS_MIN) {
    r->surplus_since = 0;
    return;
  }
  if (r->surplus_since == 0) r->surplus_since = now;
  if (!turned && now - r->surplus_since < window / TOFT_RECYCLER_SURPLUS_DELAY &&
      r->idle <= kept + toft_recycler_recent_peak(r))
    return;
  toft_recycler_flush(r);
  toft_recycler_return_blocks(r, kept);
  if (turned) toft_recycler_discard_pages(r, kept);
  r->left = r->idle;
  r->surplus_since = 0;
#endif
}

/* Returns memory without live objects until about `keep` bytes are left; returns these. */
static size_t toft_recycler_trim_to(toft_recycler *r, size_t keep) {
  if (r->checked) return toft_recycler_trim_checked(r, keep, TOFT_CALLER());
  toft_recycler_return_down_to(r, keep);
  return r->idle;
}

void toft_recycler_trim(toft_recycler *r, size_t keep) { (void)toft_recycler_trim_to(r, keep); }

#endif
