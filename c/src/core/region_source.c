/* Sources whose blocks come from a region, also through a limit around the region's own. What takes its blocks there
 * lies in the region itself, so that a restore brings it back, or its creation fails.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_REGION_SOURCE_C
#define TOFT_CORE_REGION_SOURCE_C

#include "../platform/assert.h"
#include "../platform/atomic.c"
#include "arena_state.h"

typedef struct toft_region_calls {
  void *(*take)(toft_source *self, size_t size);
  void (*enlist)(toft_source *region, toft_state *a); /* adds an arena to the region's list */
  /* Whether a structure at p, with blocks of the region, may be made: it lies in the range. 0 in a region that is
   * frozen, whose content is arenas and the region's own recyclers. */
  int (*admits)(const toft_source *region, const void *p);
} toft_region_calls;
/* Once there is a region: a program without one does not link its code. Atomic. */
static const toft_region_calls *toft_regions;

static void *toft_limited_source_take(toft_source *self, size_t size); /* sources.c */

static TOFT_COLD toft_source *toft_region_among(toft_source *source, const toft_region_calls *calls) {
  while (source != NULL && source->take == toft_limited_source_take)
    source = ((toft_limited_source *)(void *)source)->inner;
  return source != NULL && source->take == calls->take ? source : NULL;
}

/* The source of the region that the blocks of `source` come from. NULL: from none, as far as that is known. */
TOFT_INLINE toft_source *toft_region_under(toft_source *source) {
  const toft_region_calls *calls = TOFT_LOAD_POINTER(const toft_region_calls, &toft_regions);
  return calls != NULL ? toft_region_among(source, calls) : NULL;
}

/* Whether a structure at p must not take blocks from `source`. p == NULL: it lies in such a block. */
static int toft_region_refuses(toft_source *source, const void *p) {
  toft_source *region = toft_region_under(source);
  return region != NULL &&
         !TOFT_LOAD_POINTER(const toft_region_calls, &toft_regions)->admits(region, p != NULL ? p : region);
}

/* A region's entry for an arena, in the bytes of the arena's initial block that its state leaves free. */
typedef struct toft_region_arena_link {
  struct toft_region_arena_link *older, **at; /* at: the pointer to this entry */
  toft_source *region;
  uint64_t number; /* of the arenas of the region, from 1 on */
} toft_region_arena_link;

#define TOFT_REGION_LINK (TOFT_INITIAL_START - sizeof(toft_region_arena_link))
TOFT_STATIC_ASSERT(region_link, sizeof(toft_state) <= TOFT_REGION_LINK);

static toft_region_arena_link *toft_region_link_of(toft_state *a) {
  return (toft_region_arena_link *)(void *)((unsigned char *)a + TOFT_REGION_LINK);
}

/* The source of the region whose list the arena is in; NULL: of none. */
static toft_source *toft_region_of(toft_state *a) {
  return a->state & TOFT_IN_REGION ? toft_region_link_of(a)->region : NULL;
}

static void toft_region_unlist(toft_state *a) {
  if (!(a->state & TOFT_IN_REGION)) return;
  toft_region_arena_link *link = toft_region_link_of(a);
  TOFT_ASSERT(*link->at == link);
  *link->at = link->older;
  if (link->older != NULL) link->older->at = link->at;
  a->state &= ~(uint32_t)TOFT_IN_REGION;
}

#endif
