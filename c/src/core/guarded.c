/* The source of hardened arenas: blocks between inaccessible pages. The header of a block, or the state of an arena,
 * has a page of its own:
 *
 *     inaccessible, 1 to 8 pages | header | inaccessible | objects | inaccessible, at least 1 page
 *
 * so an access that runs past either end of the objects faults before it reaches a header. The first object lies at a
 * random multiple of 16 between 0 and 1008 behind the inaccessible page, and the last byte is the last of a page.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_GUARDED_C
#define TOFT_CORE_GUARDED_C

#include "../platform/atomic.c"
#include "../platform/held.c"
#include "../platform/lifecycle.h"
#include "../platform/os.c"
#include "../platform/sanitizers.c"
#include "arena_state.h"
#include "block_cache.c"
#include "policy.c"

#ifndef TOFT_OMIT_CHECKS

/* In the header's page, behind the state of an arena. */
typedef struct toft_guard {
  unsigned char *map;
  size_t map_size; /* a power of two */
  unsigned char *start, *end;
} toft_guard;

static toft_guard *toft_guard_of(const void *block) {
  return (toft_guard *)(void *)((unsigned char *)(uintptr_t)block + TOFT_INITIAL_START);
}

/* Mappings of released blocks, inaccessible: address | log2(size); 0: none. A pointer into one faults until a later
 * release unmaps it. Each release replaces a random one. Accessed atomically, since a fork must not meet a lock. */
#define TOFT_GUARDED_KEPT 64
#define TOFT_GUARDED_KEPT_SIZE (sizeof(void *) == 8 ? 64 * TOFT_MIB : TOFT_MIB) /* larger ones are unmapped at once */
static size_t toft_guarded_kept[TOFT_GUARDED_KEPT];

static void toft_guarded_unmap(size_t kept) {
  if (kept != 0) toft_os_unmap((void *)(uintptr_t)(kept & ~(size_t)63), (size_t)1 << (kept & 63));
}

static void toft_guarded_end(void) {
  for (int i = 0; i < TOFT_GUARDED_KEPT; i++) toft_guarded_unmap(TOFT_SWAP(&toft_guarded_kept[i], 0));
}

/* Fails also if the system has no random numbers. */
static void *toft_guarded_take(toft_source *self, size_t size) {
  size_t random = 0, page = toft_os_page(1);
  size_t objects = toft_os_page(size) + page; /* the offset leaves room for `size` */
  (void)self;
  if (!toft_os_random(&random, sizeof random)) return NULL;
  size_t front = page * (1 + random % 8), map_size = toft_pow2(front + 3 * page + objects);
  unsigned char *map = (unsigned char *)toft_os_reserve(map_size);
  if (map == NULL) return NULL;
  unsigned char *block = map + front, *first = block + 2 * page;
  if (!toft_os_commit(block, page) || !toft_os_commit(first, objects)) {
    toft_os_unmap(map, map_size);
    return NULL;
  }
  toft_guard *g = toft_guard_of(block);
  g->map = map;
  g->map_size = map_size;
  g->start = first + random / 8 % 64 * 16;
  g->end = first + objects;
  (void)toft_scan_begin(map, map_size);
  TOFT_HELD_MORE(page + objects);
  return block;
}

static void toft_guarded_put(toft_source *self, void *block, size_t size) {
  const toft_guard g = *toft_guard_of(block);
  size_t random = 0, bits = 0;
  (void)self, (void)size;
  TOFT_HELD_LESS((size_t)(g.end - (unsigned char *)block) - toft_os_page(1));
  toft_unpoison(g.start, (size_t)(g.end - g.start));
  toft_scan_end(g.map, g.map_size);
  while ((size_t)1 << bits < g.map_size) bits++;
  if (g.map_size > TOFT_GUARDED_KEPT_SIZE || !toft_os_random(&random, sizeof random) ||
      !toft_os_decommit(g.map, g.map_size)) {
    toft_os_unmap(g.map, g.map_size);
    return;
  }
  toft_guarded_unmap(TOFT_SWAP(&toft_guarded_kept[random % TOFT_GUARDED_KEPT], (size_t)(uintptr_t)g.map | bits));
}

static toft_source toft_guarded_source = {toft_guarded_take, toft_guarded_put, NULL};

static int toft_is_guarded(const toft_source *source) { return source == &toft_guarded_source; }
/* The source to use in a hardened arena instead. */
static toft_source *toft_hardened_source(toft_source *source) {
  return source == &toft_heap_source ? &toft_guarded_source : source;
}

#else
typedef struct toft_guard {
  unsigned char *start, *end;
} toft_guard;
static toft_guard *toft_guard_of(const void *block) { return (void)block, (toft_guard *)NULL; }
static int toft_is_guarded(const toft_source *source) { return (void)source, 0; }
static toft_source *toft_hardened_source(toft_source *source) { return source; }
static void toft_guarded_end(void) {}
#endif

#endif
