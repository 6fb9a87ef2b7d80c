/* Statistics of a recycler, from its counters and the current slab of each class.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_STATS_C
#define TOFT_RECYCLER_RECYCLER_STATS_C

#include "recycler_retention.c"

/* Of the current slabs: bytes of all objects handed out; number and bytes of slabs without objects. */
typedef struct toft_recycler_currents {
  size_t handed, empty, empty_bytes;
} toft_recycler_currents;

static toft_recycler_currents toft_recycler_count_currents(const toft_recycler *r) {
  toft_recycler_currents c = {0, 0, 0};
  for (size_t k = 0; k < TOFT_RECYCLER_CLASSES; k++) {
    const toft_recycler_slab *d = r->current[k];
    if (d == &toft_recycler_no_slab) continue;
    unsigned handed = toft_recycler_slab_handed(d);
    c.handed += (size_t)handed * d->bytes;
    if (handed != d->freed) continue;
    c.empty++;
    c.empty_bytes += toft_recycler_slab_room(d);
  }
  return c;
}

toft_recycler_stats toft_recycler_get_stats(const toft_recycler *r) {
  toft_recycler_stats s;
  toft_recycler_currents c;
  size_t live;
  if (r->checked) return toft_recycler_stats_checked(r);
  memset(&s, 0, sizeof s);
  c = toft_recycler_count_currents(r);
  live = r->full + c.handed - r->freed;
  s.used = live + r->region_used;
  s.pinned = r->slab_bytes - c.empty_bytes - live;
  s.kept = r->page_bytes - r->slab_bytes + c.empty_bytes;
  s.pinned += r->region_bytes - r->region_idle_bytes - r->region_used;
  s.kept += r->region_idle_bytes;
  s.large_blocks = r->region_objects;
  s.blocks = r->slab_count - c.empty + s.large_blocks;
  s.idle_blocks = c.empty;
  s.reserved = r->reserved;
  s.wasted = s.reserved - s.used - s.pinned - s.kept;
  s.peak = r->peak;
  s.source_calls = r->source_calls;
  return s;
}

#endif
