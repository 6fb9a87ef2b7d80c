/* Statistics of a recycler, from its counters and the current slab of each class.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_STATS_C
#define TOFT_RECYCLER_RECYCLER_STATS_C

#include "recycler_retention.c"

/* Bytes of the current slabs without objects; stores their number. */
static size_t toft_recycler_empty_slabs(const toft_recycler *r, size_t *count) {
  size_t bytes = 0;
  *count = 0;
  for (size_t k = 0; k < TOFT_RECYCLER_CLASSES; k++) {
    const toft_recycler_slab *d = r->current[k];
    if (d == &toft_recycler_no_slab || d->used != 0) continue;
    bytes += toft_recycler_slab_room(d);
    ++*count;
  }
  return bytes;
}

toft_recycler_stats toft_recycler_get_stats(const toft_recycler *r) {
  toft_recycler_stats s;
  size_t empty, slabs;
  if (r->checked) return toft_recycler_stats_checked(r);
  memset(&s, 0, sizeof s);
  empty = toft_recycler_empty_slabs(r, &slabs);
  s.used = r->live + r->region_used + r->dedicated_used;
  s.pinned = r->slab_bytes - empty - r->live;
  s.kept = r->page_bytes - r->slab_bytes + empty;
  s.pinned += r->region_bytes - r->region_idle_bytes - r->region_used + r->dedicated_room - r->dedicated_used;
  s.kept += r->region_idle_bytes;
  for (size_t i = 0; i < r->spare_count; i++) s.kept += r->spare[i].size;
  s.large_blocks = r->region_objects + r->dedicated_count;
  s.blocks = r->slab_count - slabs + s.large_blocks;
  s.idle_blocks = slabs + r->spare_count;
  s.reserved = r->reserved;
  s.wasted = s.reserved - s.used - s.pinned - s.kept;
  s.peak = r->peak;
  s.source_calls = r->source_calls;
  return s;
}

#endif
