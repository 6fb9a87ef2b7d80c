/* The block sources other than the heap: pages, reserve-and-commit, and a limit around another source.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_SOURCES_C
#define TOFT_CORE_SOURCES_C

#include "../platform/atomic.c"
#include "../platform/held.c"
#include "../platform/os.c"
#include "../platform/sanitizers.c"
#include "arena_state.h"
#include "block_cache.c"
#include "policy.c"
#include "region_source.c"

/* ---- pages ---- */

#define TOFT_PAGES_KEPT (64 * TOFT_MIB)

static void *toft_page_source_get(toft_page_source *pages, size_t size) {
  for (toft_cached_block **at = (toft_cached_block **)(void *)&pages->kept; *at != NULL; at = &(*at)->next) {
    toft_cached_block *b = *at;
    if (b->size == size) {
      *at = b->next;
      pages->kept_bytes -= size;
      return b;
    }
  }
  void *block = toft_os_map(size, (pages->flags & TOFT_PAGES_HUGE) != 0);
  if (block != NULL) return block;
  toft_page_source_trim(pages);
  toft_page_cache_drop();
  return toft_os_map(size, (pages->flags & TOFT_PAGES_HUGE) != 0);
}

static void *toft_page_source_take(toft_source *self, size_t size) {
  return toft_scan_begin(toft_page_source_get((toft_page_source *)(void *)self, size), size);
}

static void toft_page_source_put(toft_source *self, void *block, size_t size) {
  toft_page_source *pages = (toft_page_source *)(void *)self;
  toft_scan_end(block, size);
  if ((pages->flags & TOFT_PAGES_LAZY) == 0 || size > TOFT_PAGES_KEPT - toft_min(pages->kept_bytes, TOFT_PAGES_KEPT)) {
    toft_os_unmap(block, size);
    return;
  }
  toft_os_discard(block, size); /* the link is written after the discard, so the first page stays resident */
  toft_cached_block *b = (toft_cached_block *)block;
  b->next = (toft_cached_block *)pages->kept;
  b->size = size;
  pages->kept = b;
  pages->kept_bytes += size;
}

toft_source *toft_page_source_init(toft_page_source *pages, uint32_t flags) {
  memset(pages, 0, sizeof *pages);
  pages->source.take = toft_page_source_take;
  pages->source.put = toft_page_source_put;
  pages->flags = flags;
  return &pages->source;
}

void toft_page_source_trim(toft_page_source *pages) {
  toft_cached_block *b;
  while ((b = (toft_cached_block *)pages->kept) != NULL) {
    pages->kept = b->next;
    pages->kept_bytes -= b->size;
    toft_os_unmap(b, b->size);
  }
}

/* ---- reserve and commit ---- */

/* Memory that the system does not take back stays committed. */
static void toft_reserve_source_decommit(toft_reserve_source *r, size_t to) {
  if (!toft_os_decommit(r->base + to, r->committed - to)) return;
  TOFT_HELD_LESS(r->committed - to);
  r->committed = to;
}

/* Commits at least 64 KiB at a time, so that growth in small steps does not cost a system call each. */
static int toft_reserve_source_extend(toft_source *self, void *block, size_t size, size_t want) {
  toft_reserve_source *r = (toft_reserve_source *)(void *)self;
  size_t to = toft_os_page(want);
  (void)block;
  if (want > r->max) return 0;
  if (to > r->committed) {
    to = toft_min(r->max, toft_max(to, toft_os_page(r->committed + 64 * TOFT_KIB)));
    if (!toft_os_commit(r->base + r->committed, to - r->committed)) return 0;
    TOFT_HELD_MORE(to - r->committed);
    r->committed = to;
  } else if (want < size && to < r->committed) {
    toft_reserve_source_decommit(r, to);
  }
  return 1;
}

static void *toft_reserve_source_take(toft_source *self, size_t size) {
  toft_reserve_source *r = (toft_reserve_source *)(void *)self;
  if (r->taken || !toft_reserve_source_extend(self, r->base, 0, size)) return NULL;
  r->taken = 1;
  return r->base;
}

static void toft_reserve_source_put(toft_source *self, void *block, size_t size) {
  toft_reserve_source *r = (toft_reserve_source *)(void *)self;
  (void)block, (void)size;
  toft_reserve_source_decommit(r, 0);
  r->taken = 0;
}

toft_source *toft_reserve_source_init(toft_reserve_source *r, size_t max) {
  memset(r, 0, sizeof *r);
  if (max == 0 || max > TOFT_MAX_REQUEST) return NULL;
  r->source.take = toft_reserve_source_take;
  r->source.put = toft_reserve_source_put;
  r->source.extend = toft_reserve_source_extend;
  r->max = toft_os_page(toft_max(max, TOFT_BLOCK_MIN));
  r->base = (unsigned char *)toft_scan_begin(toft_os_reserve(r->max), r->max);
  return r->base != NULL ? &r->source : NULL;
}

void toft_reserve_source_release(toft_reserve_source *r) {
  toft_scan_end(r->base, r->max);
  if (r->base != NULL && toft_os_unmap(r->base, r->max)) TOFT_HELD_LESS(r->committed);
  memset(r, 0, sizeof *r);
}

/* ---- a limit around a source ---- */

/* By compare-exchange: a request that is refused never counts, so that no other is refused for it. */
static int toft_limited_source_charge(toft_limited_source *b, size_t size) {
  size_t used = TOFT_LOAD(&b->used);
  do {
    if (size > b->limit || used > b->limit - size) return 0;
  } while (!TOFT_CAS_RELAXED(&b->used, &used, used + size));
  return 1;
}

static TOFT_NOINLINE void toft_limited_source_uncharge(toft_source *self, size_t size) {
  TOFT_ADD(&((toft_limited_source *)(void *)self)->used, 0 - size);
}

static void *toft_limited_source_take(toft_source *self, size_t size) {
  toft_limited_source *b = (toft_limited_source *)(void *)self;
  if (!toft_limited_source_charge(b, size)) return NULL;
  void *block = b->inner->take(b->inner, size);
  if (block == NULL) TOFT_ADD(&b->used, 0 - size);
  return block;
}

static void toft_limited_source_put(toft_source *self, void *block, size_t size) {
  toft_limited_source *b = (toft_limited_source *)(void *)self;
  b->inner->put(b->inner, block, size);
  toft_limited_source_uncharge(self, size);
}

static int toft_limited_source_extend(toft_source *self, void *block, size_t size, size_t want) {
  toft_limited_source *b = (toft_limited_source *)(void *)self;
  size_t more = want > size ? want - size : 0;
  if (more != 0 && !toft_limited_source_charge(b, more)) return 0;
  if (!b->inner->extend(b->inner, block, size, want)) {
    TOFT_ADD(&b->used, 0 - more);
    return 0;
  }
  if (want < size) TOFT_ADD(&b->used, want - size);
  return 1;
}

toft_source *toft_limited_source_init(toft_limited_source *b, toft_source *inner, size_t limit) {
  if (inner == NULL) inner = &toft_heap_source;
  if (toft_region_refuses(inner, b)) return NULL;
  memset(b, 0, sizeof *b);
  b->source.take = toft_limited_source_take;
  b->source.put = toft_limited_source_put;
  if (inner->extend != NULL) b->source.extend = toft_limited_source_extend;
  b->inner = inner;
  b->limit = limit;
  return &b->source;
}

#endif
