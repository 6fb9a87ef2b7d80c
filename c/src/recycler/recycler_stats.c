/* Statistics of a recycler, and trim: what its blocks and classes keep.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_STATS_C
#define TOFT_RECYCLER_RECYCLER_STATS_C

#include "recycler_classes.c"

/* The end of the last unit in use. */
static unsigned char *toft_recycler_cut_end(const toft_recycler *r, const toft_recycler_segment *s) {
  return s == r->segments && r->fresh != NULL ? r->fresh : s->end;
}

/* The start of the unit after that of p. */
static unsigned char *toft_recycler_next_unit(unsigned char *p) {
  return p + (TOFT_RECYCLER_UNIT - ((uintptr_t)p & (TOFT_RECYCLER_UNIT - 1)));
}

/* Bytes that count as live in b but are free. `lent`: they were taken from b->live; else they are put back. */
static void toft_recycler_lend(toft_recycler_block *b, size_t bytes, toft_recycler_stats *lent) {
  if (lent == NULL) {
    b->live += (int32_t)bytes;
    return;
  }
  b->live -= (int32_t)bytes;
  lent->used -= bytes;
  if (b->live != 0) return;
  lent->blocks--;
  lent->idle_blocks++;
  lent->pinned -= (size_t)b->capacity;
  lent->kept += (size_t)b->capacity;
}

static void toft_recycler_lend_span(const toft_recycler_span *s, toft_recycler_stats *lent) {
  if (s->cursor < s->limit) toft_recycler_lend(toft_recycler_block_of(s->cursor), toft_recycler_span_bytes(s), lent);
}

/* Spans and held pieces. The lists are followed side by side: the cache misses of one overlap with those of others. */
static void toft_recycler_lend_kept(const toft_recycler *r, toft_recycler_stats *lent) {
  toft_recycler_span rest;
  unsigned char *held[TOFT_RECYCLER_CLASSES], *rests[TOFT_RECYCLER_CLASSES];
  uint64_t left = r->active & TOFT_RECYCLER_SIZED, classes;
  for (classes = left; classes != 0; classes &= classes - 1) {
    size_t k = toft_lowest_bit(classes);
    toft_recycler_lend_span(&r->spans[k], lent);
    held[k] = r->classes[k].held;
    rests[k] = r->classes[k].rests;
  }
  for (uint32_t i = 0; left != 0; i++) {
    for (classes = left; classes != 0; classes &= classes - 1) {
      size_t k = toft_lowest_bit(classes);
      const toft_recycler_class *c = &r->classes[k];
      if (i < c->rest_count) {
        rest.cursor = rests[k];
        rest.limit = toft_recycler_link(rest.cursor + sizeof rest.cursor);
        rests[k] = toft_recycler_link(rest.cursor);
        toft_recycler_lend_span(&rest, lent);
      }
      if (i < c->held_count) {
        toft_recycler_lend(toft_recycler_block_of(held[k]), toft_recycler_class_bytes(k), lent);
        held[k] = toft_recycler_link(held[k]);
#if defined(__GNUC__)
        __builtin_prefetch(held[k]); /* read in the next round */
#endif
      }
      if (i >= c->held_count && i >= c->rest_count) left &= ~((uint64_t)1 << k);
    }
  }
}

/* The free bytes that classes keep: first what is in ranges, since the block of an empty range may have no live byte;
 * then spans and held pieces. The borrower's span is the end of the shared range. */
static void toft_recycler_lend_all(const toft_recycler *r, toft_recycler_stats *lent) {
  for (size_t k = 0; k <= TOFT_RECYCLER_SHARED; k++) {
    const toft_recycler_range *range = &r->classes[k].range;
    size_t borrowed = k == TOFT_RECYCLER_SHARED && r->borrower != TOFT_RECYCLER_CLASSES
                          ? toft_recycler_span_bytes(&r->spans[r->borrower])
                          : 0;
    if (toft_recycler_in_use(r, k) && range->block != NULL)
      toft_recycler_lend(range->block, (size_t)(range->limit - range->cursor) + borrowed, lent);
  }
  toft_recycler_lend_kept(r, lent);
}

/* Only blocks that contain free bytes of a class are read. */
toft_recycler_stats toft_recycler_get_stats(const toft_recycler *r) {
  toft_recycler_stats s;
  unsigned char *p;
  if (r->checked) return toft_recycler_stats_checked(r);
  memset(&s, 0, sizeof s);
  s.used = r->live;
  s.blocks = r->cut_blocks - r->empty_blocks;
  s.idle_blocks = r->empty_blocks;
  s.pinned = r->cut_bytes - r->empty_bytes;
  s.kept = r->empty_bytes;
  toft_recycler_lend_all(r, &s);
  toft_recycler_lend_all(r, NULL);
  s.pinned -= s.used;
  for (p = r->fresh; p != r->fresh_end; p = toft_recycler_next_unit(p))
    s.kept += (size_t)(toft_recycler_next_unit(p) - p) - TOFT_RECYCLER_ZONE;
  if (r->counted != NULL) s.kept += (r->count - (size_t)(r->counted_fresh - r->counted) / r->stride) * (r->stride - 64);
  toft_recycler_large_count(r, &s);
  s.reserved = r->reserved;
  s.wasted = s.reserved - s.used - s.pinned - s.kept;
  s.peak = r->peak;
  s.source_calls = r->source_calls;
  return s;
}

/* ---- trim ---- */

/* Ends the ranges whose blocks have no live object. */
static void toft_recycler_close_idle(toft_recycler *r) {
  for (size_t k = 0; k <= TOFT_RECYCLER_SHARED; k++) {
    toft_recycler_range *range = &r->classes[k].range;
    if (toft_recycler_in_use(r, k) && range->block != NULL && toft_recycler_is_idle(range))
      toft_recycler_close(r, range);
  }
}

/* Returns a segment without live objects to the source. */
static void toft_recycler_segment_put(toft_recycler *r, toft_recycler_segment **at) {
  toft_recycler_segment s = **at;
  unsigned char *p, *cut = toft_recycler_cut_end(r, *at);
  for (p = s.first; p < cut; p = toft_recycler_next_unit(p)) {
    toft_recycler_block *b = toft_recycler_block_of(p);
    toft_recycler_empty_take(r, b);
    r->cut_blocks--;
    r->cut_bytes -= (size_t)b->capacity;
  }
  if (*at == r->segments) r->fresh = r->fresh_end = NULL;
  *at = s.next;
  toft_recycler_put(r, s.base, s.size);
}

static size_t toft_recycler_trim_to(toft_recycler *r, size_t keep) {
  toft_recycler_segment **at;
  size_t idle = 0, kept = 0;
  if (r->checked) return toft_recycler_trim_checked(r, keep, TOFT_CALLER());
  toft_recycler_reclaim(r);
  toft_recycler_flush(r);
  toft_recycler_close_idle(r);
  for (at = &r->segments; *at != NULL; at = &(*at)->next)
    if ((*at)->busy == 0) idle += (*at)->size;
  idle = toft_recycler_large_trim(r, idle, keep);
  for (at = &r->segments; *at != NULL;) {
    if ((*at)->busy == 0 && idle - (*at)->size >= keep) {
      idle -= (*at)->size;
      toft_recycler_segment_put(r, at);
    } else {
      kept += (*at)->size;
      at = &(*at)->next;
    }
  }
  while (r->segment_bytes > toft_max(kept, TOFT_RECYCLER_UNIT)) r->segment_bytes /= 2; /* as after growth */
  return idle;
}

void toft_recycler_trim(toft_recycler *r, size_t keep) { (void)toft_recycler_trim_to(r, keep); }

#endif
