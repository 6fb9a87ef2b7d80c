/* The process's cache of mapped pages, for blocks of 1 MiB and more of every thread. Without it each release of an
 * arena would unmap them, and the next arena would fault all of its pages in again.
 *
 * The cache follows use, by the allowance that all idle memory shares (idle_account.c), here without the margin, and up
 * to what was held when pages were taken: the blocks of a recycler with memory between its objects are kept whole. A
 * program that makes one arena of 60 MiB after another keeps 60 MiB; after a peak of use the surplus goes back to the
 * system within two windows, at the next take or put of a block by any thread, or by the background thread
 * (background.c). Until then the system may take whole free huge pages when it needs memory.
 *
 * The cache is a table of free ranges, sorted by address; ranges that touch are one. Where the lock is not free after
 * some hundred attempts, pages are mapped or unmapped directly. A fork takes the lock, so the child has a consistent
 * table.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_PAGE_CACHE_C
#define TOFT_CORE_PAGE_CACHE_C

#include "../platform/assert.h"
#include "../platform/atomic.c"
#include "../platform/held.c"
#include "../platform/os.c"
#include "first_touch.c"
#include "idle_account.c"

/* is_filled: size is that of a huge page, see first_touch.c. */
static void *toft_page_map(size_t size, int is_filled) {
  void *p = is_filled ? toft_fresh_map(NULL) : toft_fresh_map_whole(size);
  if (p != NULL) TOFT_HELD_MORE(size);
  return p;
}

static void toft_page_unmap(void *p, size_t size) {
  if (toft_os_unmap(p, size)) TOFT_HELD_LESS(size);
}

#ifdef TOFT_OMIT_PAGE_CACHE /* also where there are no pages and no clock */
static void *toft_page_cache_take(size_t size) { return toft_page_map(size, 0); }
static void toft_page_cache_put(void *p, size_t size) { toft_page_unmap(p, size); }
void toft_page_cache_age(void) {}
static void toft_page_cache_drop(void) {}
size_t toft_page_cache_limit(size_t bytes) { return (void)bytes, 0; }
size_t toft_page_cache_window(size_t milliseconds) { return (void)milliseconds, 0; }
size_t toft_page_cache_bytes(void) { return 0; }

#else

static void toft_background_thread_forget(void); /* background.c: a forked child has no such thread */

#define TOFT_PAGE_RANGES_MAX 256
#ifndef TOFT_PAGE_LOCK_ATTEMPTS /* proofs/threads.c has fewer */
#define TOFT_PAGE_LOCK_ATTEMPTS 512
#endif
#define TOFT_PAGE_VICTIMS 16 /* ranges that are unmapped each time the lock is taken */
#define TOFT_PAGE_LIMIT (sizeof(void *) == 8 ? 256 * TOFT_MIB : 32 * TOFT_MIB)
#define TOFT_PAGE_LAZY (32 * TOFT_MIB) /* cached bytes above which free huge pages are freed lazily */
#define TOFT_PAGE_SLOW 10000           /* nanoseconds for a huge page; in small pages it takes 30000 and more */
#define TOFT_PAGE_SLOW_CALLS 4

typedef struct toft_page_range {
  unsigned char *start;
  size_t size;
} toft_page_range;

static struct {
  toft_lock lock;
  unsigned ranges;     /* entries of `range` */
  unsigned slow_calls; /* of toft_os_free_lazily, in a row */
  toft_page_range range[TOFT_PAGE_RANGES_MAX];
} toft_free_pages;

/* Written with the lock held, or atomically; read without it. */
static size_t toft_page_bytes;             /* in the ranges */
static size_t toft_page_limit_setting = 0; /* as toft_page_window_setting */

static size_t toft_page_limit(void) {
  return toft_page_setting(&toft_page_limit_setting, "TOFT_PAGE_CACHE", TOFT_PAGE_LIMIT);
}

/* ---- the table; the caller holds the lock ---- */

static int toft_page_cache_lock(void) {
  for (int i = 0; i < TOFT_PAGE_LOCK_ATTEMPTS; i++) {
    if (!TOFT_LOCK_IS_TAKEN(&toft_free_pages.lock) && TOFT_LOCK_TRY(&toft_free_pages.lock)) return 1;
    if (i >= TOFT_SPINS_MAX) toft_os_yield();
  }
  return 0;
}

/* Returns the index of the first range that does not start before p. */
static unsigned toft_page_find(const unsigned char *p) {
  unsigned low = 0, high = toft_free_pages.ranges;
  while (low < high) {
    unsigned middle = (low + high) / 2;
    if (toft_free_pages.range[middle].start < p)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void toft_page_erase(unsigned i) {
  toft_page_range *r = toft_free_pages.range;
  TOFT_ASSERT(i < toft_free_pages.ranges);
  memmove(r + i, r + i + 1, (--toft_free_pages.ranges - i) * sizeof *r);
}

/* The system may take the whole huge pages that have become free with these bytes when it needs memory, and counts them
 * as used until then. Where memory is in small pages this costs as much as writing them, a hundred times as much as
 * with huge ones, so it ends when four calls in a row are slow. */
static void toft_page_free_lazily(const unsigned char *p, size_t size) {
#if TOFT_OS_CAN_SPLIT
  const toft_page_range *r = &toft_free_pages.range[toft_page_find(p + 1) - 1];
  uintptr_t page = TOFT_HUGE_PAGE, low = (uintptr_t)p & ~(page - 1);
  uintptr_t high = ((uintptr_t)p + size + page - 1) & ~(page - 1), end = (uintptr_t)r->start + r->size;
  if (low < (uintptr_t)r->start) low += page;
  if (high > end) high -= page;
  if (low >= high || toft_free_pages.slow_calls == TOFT_PAGE_SLOW_CALLS) return;
  uint64_t began = toft_os_nanoseconds();
  toft_os_free_lazily((unsigned char *)low, high - low);
  int slow = toft_os_nanoseconds() - began > (high - low) / TOFT_HUGE_PAGE * TOFT_PAGE_SLOW;
  toft_free_pages.slow_calls = slow ? toft_free_pages.slow_calls + 1 : 0;
#else
  (void)p, (void)size;
#endif
}

/* Adds a free range and merges it with its neighbours. Returns 0 if the table is full. */
static int toft_page_insert(unsigned char *p, size_t size) {
  toft_page_range *r = toft_free_pages.range;
  unsigned i = toft_page_find(p), n = toft_free_pages.ranges;
  TOFT_ASSERT(i == 0 || r[i - 1].start + r[i - 1].size <= p);
  TOFT_ASSERT(i == n || p + size <= r[i].start);
  int joins_low = TOFT_OS_CAN_SPLIT && i > 0 && r[i - 1].start + r[i - 1].size == p;
  int joins_high = TOFT_OS_CAN_SPLIT && i < n && p + size == r[i].start;
  if (joins_low) {
    r[i - 1].size += size + (joins_high ? r[i].size : 0);
    if (joins_high) toft_page_erase(i);
  } else if (joins_high) {
    r[i].start = p;
    r[i].size += size;
  } else {
    if (n == TOFT_PAGE_RANGES_MAX) return 0;
    memmove(r + i + 1, r + i, (n - i) * sizeof *r);
    r[i].start = p;
    r[i].size = size;
    toft_free_pages.ranges++;
  }
  TOFT_STORE(&toft_page_bytes, toft_page_bytes + size);
  if (toft_page_bytes > TOFT_PAGE_LAZY) toft_page_free_lazily(p, size);
  return 1;
}

/* Removes `size` bytes from the smallest range that has them; where a mapping cannot be split, from a range of exactly
 * that size. NULL: there is none. */
static unsigned char *toft_page_remove(size_t size) {
  toft_page_range *r = toft_free_pages.range, *best = NULL;
  for (unsigned i = 0; i < toft_free_pages.ranges && (best == NULL || best->size != size); i++) {
    int serves = r[i].size == size || (TOFT_OS_CAN_SPLIT && r[i].size > size);
    if (serves && (best == NULL || r[i].size < best->size)) best = &r[i];
  }
  if (best == NULL) return NULL;
  unsigned char *p = best->start;
  TOFT_ASSERT(size <= best->size && size <= toft_page_bytes);
  best->start += size;
  best->size -= size;
  if (best->size == 0) toft_page_erase((unsigned)(best - r));
  TOFT_STORE(&toft_page_bytes, toft_page_bytes - size);
  return p;
}

/* Moves what exceeds `keep` bytes to `victims`: from the highest address on, and in whole huge pages where a range is
 * cut. A range that cannot be cut stays, unless the cache exceeds `limit`. Returns the number of victims. */
static unsigned toft_page_evict(size_t keep, size_t limit, toft_page_range *victims) {
  unsigned n = 0;
  for (unsigned i = toft_free_pages.ranges; i-- > 0 && n < TOFT_PAGE_VICTIMS && toft_page_bytes > keep;) {
    toft_page_range *r = &toft_free_pages.range[i];
    size_t surplus = toft_page_bytes - keep, kept = 0;
    if (r->size > surplus && (TOFT_OS_CAN_SPLIT || toft_page_bytes <= limit)) {
      uintptr_t start = (uintptr_t)r->start, cut = start + (r->size - surplus) + TOFT_HUGE_PAGE - 1;
      kept = (size_t)((cut & ~(uintptr_t)(TOFT_HUGE_PAGE - 1)) - start);
      if (!TOFT_OS_CAN_SPLIT || kept >= r->size) continue;
    }
    victims[n].start = r->start + kept;
    victims[n].size = r->size - kept;
    TOFT_ASSERT(kept < r->size && victims[n].size <= toft_page_bytes);
    TOFT_STORE(&toft_page_bytes, toft_page_bytes - victims[n++].size);
    r->size = kept;
    if (kept == 0) toft_page_erase(i);
  }
  return n;
}

#ifdef TOFT_ASSERTIONS
/* The ranges are in order, do not touch where they could be one, and have the bytes that are cached. */
static void toft_verify_ranges(const toft_page_range *r) {
  size_t bytes = 0;
  for (unsigned i = 0; i < toft_free_pages.ranges; i++) {
    TOFT_ASSERT(r[i].size != 0 && r[i].size % toft_os_page(1) == 0);
    TOFT_ASSERT(i == 0 || r[i - 1].start + r[i - 1].size + TOFT_OS_CAN_SPLIT <= r[i].start);
    bytes += r[i].size;
  }
  TOFT_ASSERT(bytes == toft_page_bytes);
}
#endif

/* Releases the lock, and returns to the system what exceeds the recent use, or `limit`. */
static void toft_page_cache_unlock(size_t limit) {
  toft_page_range victims[TOFT_PAGE_VICTIMS];
  unsigned n;
  do {
    n = toft_page_evict(toft_min(toft_account_room(), limit), limit, victims);
    TOFT_VERIFY(ranges, toft_free_pages.range);
    TOFT_UNLOCK(&toft_free_pages.lock);
    for (unsigned i = 0; i < n; i++) toft_page_unmap(victims[i].start, victims[i].size);
  } while (n == TOFT_PAGE_VICTIMS && toft_page_cache_lock());
  toft_account_age();
}

/* ---- fork ---- */

/* No caller waits for this lock without limit, so holding it while other handlers take theirs cannot deadlock. */
static void toft_page_cache_before_fork(void) { toft_lock_take(&toft_free_pages.lock); }
static void toft_page_cache_after_fork(void) { TOFT_UNLOCK(&toft_free_pages.lock); }
static void toft_page_cache_in_child(void) {
  TOFT_UNLOCK(&toft_free_pages.lock);
  toft_background_thread_forget();
}

static void toft_page_cache_arm_fork(void) {
  static size_t armed; /* atomic */
  size_t before = 0;
  if (TOFT_LOAD(&armed) == 0 && TOFT_CAS_RELAXED(&armed, &before, 1))
    toft_os_at_fork(toft_page_cache_before_fork, toft_page_cache_after_fork, toft_page_cache_in_child);
}

/* ---- the operations ---- */

/* Pages are taken, or put: `size` is negative. */
static void toft_page_count(size_t size) {
  (void)toft_account_turn();
  toft_account_add(size, size);
  if (size <= SIZE_MAX / 2) toft_account_raise(&toft_account.most[0], toft_account_sum(&toft_account.held));
}

/* Returns all cached pages to the system. */
static void toft_page_cache_drop(void) {
  if (TOFT_LOAD(&toft_page_bytes) != 0 && toft_page_cache_lock()) toft_page_cache_unlock(0);
}

TOFT_COLD void toft_page_cache_age(void) {
  (void)toft_account_turn();
  if (TOFT_LOAD(&toft_page_bytes) != 0 && toft_page_cache_lock()) toft_page_cache_unlock(toft_page_limit());
  toft_account_age();
}

/* Maps pages. With half a huge page the other half is mapped too, and goes to the cache. */
static TOFT_COLD void *toft_page_cache_map(size_t size) {
  int half = TOFT_OS_CAN_SPLIT && size == TOFT_HUGE_PAGE / 2 && toft_page_limit() >= TOFT_HUGE_PAGE / 2;
  unsigned char *p = half ? (unsigned char *)toft_page_map(TOFT_HUGE_PAGE, 1) : NULL;
  if (p == NULL) half = 0, p = (unsigned char *)toft_page_map(size, 0);
  if (p == NULL) { /* the process may be at a limit of memory */
    toft_page_cache_drop();
    if ((p = (unsigned char *)toft_page_map(size, 0)) == NULL) return NULL;
  }
  toft_page_cache_arm_fork();
  toft_page_count(size);
  if (half) toft_account_raise(&toft_account.most[0], toft_account_sum(&toft_account.held) + size); /* it is kept */
  if (toft_page_cache_lock()) {
    if (half && toft_page_insert(p + size, size)) half = 0;
    toft_page_cache_unlock(toft_page_limit());
  }
  if (half) toft_page_unmap(p + size, size);
  return p;
}

/* Returns pages, which the caller returns by toft_page_cache_put with the same size. NULL: there is no memory. */
static void *toft_page_cache_take(size_t size) {
  size = toft_os_page(size);
  if (TOFT_LOAD(&toft_page_bytes) >= size && toft_page_cache_lock()) {
    void *p = toft_page_remove(size);
    if (p != NULL) toft_page_count(size);
    toft_page_cache_unlock(toft_page_limit());
    if (p != NULL) return p;
  }
  return toft_page_cache_map(size);
}

static void toft_page_cache_put(void *p, size_t size) {
  size = toft_os_page(size);
  size_t limit = toft_page_limit();
  toft_page_count(0 - size);
  if (limit >= size && toft_page_cache_lock()) {
    int kept = toft_page_insert((unsigned char *)p, size);
    toft_page_cache_unlock(limit);
    if (kept) {
      toft_idle_memory_kept();
      return;
    }
  }
  toft_page_unmap(p, size);
}

/* ---- control ---- */

size_t toft_page_cache_limit(size_t bytes) {
  size_t before = toft_page_limit();
  TOFT_STORE(&toft_page_limit_setting, (bytes < SIZE_MAX / 2 ? bytes : SIZE_MAX / 2) + 1);
  if (TOFT_LOAD(&toft_page_bytes) > bytes && toft_page_cache_lock()) toft_page_cache_unlock(bytes);
  return before;
}

size_t toft_page_cache_window(size_t milliseconds) {
  size_t before = toft_page_window();
  TOFT_STORE(&toft_page_window_setting, (milliseconds < SIZE_MAX / 4 ? milliseconds : SIZE_MAX / 4) + 1);
  return before;
}

size_t toft_page_cache_bytes(void) { return TOFT_LOAD(&toft_page_bytes); }
#endif

#endif
