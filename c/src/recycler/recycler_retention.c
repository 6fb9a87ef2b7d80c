/* The retention of recyclers: idle memory up to the allowance of the process (core/idle_account.c) is kept. The surplus
 * returns to the source where a whole block is idle, and else, if it is pages of the heap, to the system. Where the
 * source has a limit for several objects, blocks return as soon as they have none.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_RETENTION_C
#define TOFT_RECYCLER_RECYCLER_RETENTION_C

#include "../core/idle_account.c"
#include "recycler_large.c"

#define TOFT_RECYCLER_SURPLUS_PART 64 /* of the reserved bytes becomes idle until a surplus is returned again */
#define TOFT_RECYCLER_LOOKS 16        /* frees until the clock is read again */

/* Bytes whose pages may be resident. */
static size_t toft_recycler_idle(const toft_recycler *r) {
  size_t bytes = 0;
  for (toft_recycler_segment *s = r->segments; s != NULL; s = s->next) bytes += toft_recycler_segment_idle(s);
  for (toft_recycler_region *g = r->regions; g != NULL; g = g->next) bytes += toft_recycler_region_idle(g);
  return bytes;
}

/* Returns blocks with at most `most` idle bytes; the newest regions first, and the segments that were used last return
 * last. Returns their idle bytes. */
static size_t toft_recycler_return_blocks(toft_recycler *r, size_t most) {
  toft_recycler_region *g = r->regions;
  toft_recycler_segment *s = r->segments;
  size_t done = 0, idle;
  for (toft_recycler_region *next; g != NULL; g = next) {
    next = g->next;
    if (g->live != 0 || (idle = toft_recycler_region_idle(g)) > most - done) continue;
    done += idle;
    toft_recycler_region_put(r, g);
  }
  while (s != NULL && s->next != NULL) s = s->next;
  for (toft_recycler_segment *previous; s != NULL; s = previous) {
    previous = s->previous;
    if (!toft_recycler_segment_may_return(s) || (idle = toft_recycler_segment_idle(s)) > most - done) continue;
    done += idle;
    toft_recycler_segment_put(r, s);
  }
  return done;
}

/* Discards the idle pages of a block, and returns their bytes. */
static size_t toft_recycler_discard(toft_recycler *r, toft_purgeable *b, size_t size) {
  if (!toft_recycler_has_pages(r, size)) return 0;
  toft_purgeable_enter(b);
  size_t bytes = b->purge(b);
  toft_purgeable_leave(b);
  toft_recycler_count(r, 0, 0 - bytes);
  return bytes;
}

/* Gives the pages of idle units and runs back to the system, whose addresses stay, until `most` bytes have returned. */
static size_t toft_recycler_discard_pages(toft_recycler *r, size_t most) {
  size_t done = 0;
  for (toft_recycler_segment *s = r->segments; s != NULL && done < most; s = s->next)
    done += toft_recycler_discard(r, &s->purgeable, s->size);
  for (toft_recycler_region *g = r->regions; g != NULL && done < most; g = g->next)
    done += toft_recycler_discard(r, &g->purgeable, g->size);
  return done;
}

/* Whether enough bytes have become idle, or a window has ended, to look for a surplus. */
static int toft_recycler_looks_for_surplus(toft_recycler *r) {
  ptrdiff_t least = (ptrdiff_t)(r->reserved / TOFT_RECYCLER_SURPLUS_PART);
  if (r->closed <= (ptrdiff_t)TOFT_RECYCLER_SURPLUS_MIN || r->closed <= least)
    return r->closed >= (ptrdiff_t)TOFT_RECYCLER_UNIT && r->closed > least && toft_account_exceeds();
  if (r->closed <= r->looked && !toft_account_exceeds()) {
    uint32_t window = r->window;
    if (++r->looks % TOFT_RECYCLER_LOOKS != 0) return 0; /* the clock takes as long as the free of a large object */
    r->window = (uint32_t)toft_account_turn();
    if (r->window == window) return 0;
  }
  r->looked = r->closed + (ptrdiff_t)TOFT_RECYCLER_SURPLUS_MIN;
  return 1;
}

/* Returns the surplus of the process as far as this recycler has idle memory. What could not return, since there are
 * objects beside it, is not searched again before a part of the memory has become idle. */
static void toft_recycler_return_surplus(toft_recycler *r) {
  size_t surplus, done;
  if (r->shares_limit) {
    toft_recycler_flush(r); /* what has no objects then returns */
    return;
  }
  if (!toft_recycler_looks_for_surplus(r) || r->clears) return;
  int returns = toft_account_check(&surplus);
  if (returns == TOFT_SURPLUS_NONE) return;
  toft_recycler_flush(r);
  done = toft_recycler_return_blocks(r, surplus);
  if (returns == TOFT_SURPLUS_PAGES && done < surplus) (void)toft_recycler_discard_pages(r, surplus - done);
  r->closed = r->looked = 0;
}

/* Returns memory without live objects until about `keep` bytes are left; returns these. */
static size_t toft_recycler_trim_to(toft_recycler *r, size_t keep) {
  size_t idle, most, done;
  TOFT_VERIFY(recycler, r);
  if (r->checked) return toft_recycler_trim_checked(r, keep, TOFT_CALLER());
  toft_recycler_flush(r);
  idle = toft_recycler_idle(r);
  most = idle > keep ? idle - keep : 0;
  done = toft_recycler_return_blocks(r, most);
  if (done < most) done += toft_recycler_discard_pages(r, most - done);
  return idle > done ? idle - done : 0;
}

void toft_recycler_trim(toft_recycler *r, size_t keep) { (void)toft_recycler_trim_to(r, keep); }

#endif
