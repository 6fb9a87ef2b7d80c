/* The per-thread cache of ready arenas and of free blocks below 1 MiB, and the heap source, which uses it and, for
 * larger blocks, the cache of pages. Fresh memory costs page faults, 10 to 25 times as much as cached memory. The
 * cache has no locks: each thread has its own, which is emptied when the thread ends.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_BLOCK_CACHE_C
#define TOFT_CORE_BLOCK_CACHE_C

#include "../platform/atomic.c"
#include "../platform/held.c"
#include "../platform/lifecycle.h"
#include "../platform/os.c"
#include "../platform/sanitizers.c"
#include "../platform/thread_local.h"
#include "arena_state.h"
#include "page_cache.c"
#include "policy.c"
#include "units.c"

#define TOFT_CACHE_BINS 8        /* sizes from 4 KiB to below 1 MiB, by power of two */
#define TOFT_CACHE_PROBES_MAX 16 /* blocks of a bin that are compared with the requested size */
#define TOFT_CACHE_AGE 64        /* blocks taken or put until the cache of pages is aged */

enum { TOFT_CACHE_NEW = 0, TOFT_CACHE_OPEN = 1, TOFT_CACHE_CLOSED = 2 };

typedef struct toft_cached_block {
  struct toft_cached_block *next;
  size_t size;
} toft_cached_block;

typedef struct toft_cache {
  toft_state *ready; /* pristine arenas, linked by `synced` */
  size_t bytes;      /* cached bytes, ready arenas included */
  uintptr_t epoch;   /* first epoch of the arena initialised last; 0: none yet */
  int phase;         /* CLOSED: the thread is ending, nothing is cached any more */
  unsigned blocks;   /* taken and put */
  toft_cached_block *bins[TOFT_CACHE_BINS];
  unsigned char *units; /* the pages of a unit that were not written count too */
} toft_cache;

TOFT_PER_THREAD toft_cache toft_thread_cache;
#define toft_thread_cache TOFT_OWN(toft_thread_cache)

static size_t toft_cache_limit_bytes = 4 * TOFT_MIB; /* limit per thread; accessed atomically */

/* First use on a thread: registers for its end. Returns 0 if this thread must not cache. */
static TOFT_COLD int toft_cache_open(size_t size) {
  toft_cache *c = &toft_thread_cache;
  if (c->phase == TOFT_CACHE_CLOSED || size > TOFT_LOAD(&toft_cache_limit_bytes)) return 0;
  c->phase = toft_os_arm_thread_exit() ? TOFT_CACHE_OPEN : TOFT_CACHE_CLOSED;
  return c->phase == TOFT_CACHE_OPEN;
}

/* Whether this thread may cache `size` bytes more. */
TOFT_INLINE int toft_cache_accepts(size_t size) {
  toft_cache *c = &toft_thread_cache;
  if (TOFT_UNLIKELY(c->phase != TOFT_CACHE_OPEN) && !toft_cache_open(size)) return 0;
  return c->bytes + size <= TOFT_LOAD(&toft_cache_limit_bytes); /* does not wrap: sizes are below SIZE_MAX / 4 */
}

static unsigned toft_cache_bin(size_t size) {
  unsigned bin = 0;
  while (size >= 2 * TOFT_BLOCK_MIN) size /= 2, bin++;
  return bin;
}

/* Removes a cached block of exactly this size at a multiple of `align`. NULL: none among the first few. */
static void *toft_cache_take(size_t size, size_t align) {
  toft_cache *c = &toft_thread_cache;
  unsigned bin = toft_cache_bin(size);
  int probes = TOFT_CACHE_PROBES_MAX;
  for (toft_cached_block **at = &c->bins[bin]; *at != NULL && probes-- > 0; at = &(*at)->next) {
    toft_cached_block *b = *at;
    if (b->size == size && ((uintptr_t)b & (align - 1)) == 0) {
      TOFT_ASSERT(size <= c->bytes);
      *at = b->next;
      c->bytes -= size;
      return b;
    }
  }
  return NULL;
}

static int toft_cache_put(void *block, size_t size) {
  if (!toft_cache_accepts(size)) return 0;
  toft_cached_block *b = (toft_cached_block *)block, **bin = &toft_thread_cache.bins[toft_cache_bin(size)];
  b->next = *bin;
  b->size = size;
  *bin = b;
  toft_thread_cache.bytes += size;
  return 1;
}

/* Blocks below 1 MiB from the system's heap. With TOFT_RUNTIME, where the threads do not cache them, they are aligned
 * here: after aligned allocations glibc's heap has free chunks that the next ones of that size do not fit into, and it
 * grows to several MiB for each thread. */
static void *toft_heap_get(size_t size, size_t align) {
#ifdef TOFT_RUNTIME
  unsigned char *chunk = (unsigned char *)malloc(size + align + sizeof chunk);
  if (chunk == NULL) return NULL;
  unsigned char *block = chunk + sizeof chunk + toft_pad(chunk + sizeof chunk, align);
  memcpy(block - sizeof chunk, &chunk, sizeof chunk);
#else
  void *block = toft_os_heap_take(size, align);
  if (block == NULL) return NULL;
#endif
  TOFT_HELD_MORE(size);
  return block;
}

static void toft_heap_return(void *block, size_t size) {
#ifdef TOFT_RUNTIME
  void *chunk;
  memcpy(&chunk, (unsigned char *)block - sizeof chunk, sizeof chunk);
  free(chunk);
  (void)TOFT_ADD(&toft_heap_freed, size);
#else
  toft_os_heap_put(block);
#endif
  TOFT_HELD_LESS(size);
}

/* Frees the thread's cached blocks and ready arenas. */
static void toft_cache_put_blocks(void) {
  toft_cache *c = &toft_thread_cache;
  for (toft_state *a; (a = c->ready) != NULL;) {
    TOFT_ASSERT(TOFT_BLOCK_MIN <= c->bytes);
    c->ready = (toft_state *)(void *)a->synced;
    c->bytes -= TOFT_BLOCK_MIN;
    toft_heap_return(a, TOFT_BLOCK_MIN);
  }
#ifndef TOFT_OMIT_PAGE_CACHE
  for (unsigned char *unit; (unit = c->units) != NULL;) {
    c->units = toft_record_of_unit(unit)->next;
    c->bytes -= TOFT_UNIT;
    toft_chunk_put(unit);
  }
#endif
  for (unsigned bin = 0; bin < TOFT_CACHE_BINS; bin++) {
    for (toft_cached_block *b; (b = c->bins[bin]) != NULL;) {
      TOFT_ASSERT(toft_cache_bin(b->size) == bin && b->size <= c->bytes);
      c->bins[bin] = b->next;
      c->bytes -= b->size;
      toft_heap_return(b, b->size);
    }
  }
}

/* ---- the heap source: blocks of 1 MiB and more are pages, which malloc would map too, but as small ones ---- */

/* Pages that are due go back to the system also if this thread uses none. */
TOFT_INLINE void toft_heap_count_block(void) {
  if (TOFT_UNLIKELY(++toft_thread_cache.blocks % TOFT_CACHE_AGE == 0)) toft_page_cache_age();
}

/* The process may be at a limit of memory: what is cached goes back, and the heap is called once more. */
static TOFT_COLD void *toft_heap_take_after_refusal(size_t size, size_t align) {
  toft_cache_put_blocks();
  toft_page_cache_drop();
  return toft_heap_get(size, align);
}

/* `align` is guaranteed for sizes below 1 MiB; larger blocks have the system's page alignment. */
static void *toft_heap_take_aligned(size_t size, size_t align) {
  if (size >= TOFT_CAP) return toft_scan_begin(toft_page_cache_take(size), size);
  toft_heap_count_block();
  void *block = toft_cache_take(size, align);
  if (block == NULL) block = toft_heap_get(size, align);
  return TOFT_LIKELY(block != NULL) ? block : toft_heap_take_after_refusal(size, align);
}

static void *toft_heap_take(toft_source *self, size_t size) {
  (void)self;
  return toft_heap_take_aligned(size, 64);
}

static void toft_heap_put(toft_source *self, void *block, size_t size) {
  (void)self;
  if (size >= TOFT_CAP) {
    toft_scan_end(block, size);
    toft_page_cache_put(block, size);
    return;
  }
  toft_heap_count_block();
  if (!toft_cache_put(block, size)) toft_heap_return(block, size);
}

/* ---- units ---- */

#ifdef TOFT_OMIT_PAGE_CACHE
static unsigned char *toft_unit_take(void) { return (unsigned char *)toft_heap_take_aligned(TOFT_UNIT, TOFT_UNIT); }
static void toft_unit_put(unsigned char *unit) { toft_heap_put(NULL, unit, TOFT_UNIT); }
static unsigned char *toft_unit_next(void) { return NULL; }
#else
/* The unit that is taken next, with what was written to it. NULL: a new one. */
static unsigned char *toft_unit_next(void) { return toft_thread_cache.units; }

/* Takes a block of 32 KiB, aligned to that. NULL: the system refuses. */
static unsigned char *toft_unit_take(void) {
  toft_cache *c = &toft_thread_cache;
  unsigned char *unit = c->units;
  toft_heap_count_block();
  if (unit != NULL) {
    c->units = toft_record_of_unit(unit)->next;
    c->bytes -= TOFT_UNIT;
  } else if (TOFT_UNLIKELY((unit = toft_chunk_take()) == NULL)) {
    toft_cache_put_blocks();
    toft_page_cache_drop();
    unit = toft_chunk_take();
  }
  return (unsigned char *)toft_scan_begin(unit, TOFT_UNIT);
}

static void toft_unit_put(unsigned char *unit) {
  toft_scan_end(unit, TOFT_UNIT);
  toft_heap_count_block();
  if (!toft_cache_accepts(TOFT_UNIT)) {
    toft_chunk_put(unit);
    return;
  }
  toft_record_of_unit(unit)->next = toft_thread_cache.units;
  toft_thread_cache.units = unit;
  toft_thread_cache.bytes += TOFT_UNIT;
}
#endif

static toft_source toft_heap_source = {toft_heap_take, toft_heap_put, NULL};

toft_source *toft_heap(void) { return &toft_heap_source; }

/* ---- ready arenas ---- */

/* An arena must refuse the marks of an arena released earlier at its address, so no two arenas of a thread share an
 * epoch: first epochs are EPOCH_STEP apart, threads EPOCH_STRIDE apart. Releasing an arena that used more than
 * EPOCH_STEP epochs advances the counter (toft_skip_epochs). */
#define TOFT_EPOCH_STEP ((uintptr_t)1 << (sizeof(uintptr_t) == 8 ? 16 : 8))
#define TOFT_EPOCH_STRIDE ((uintptr_t)1 << (sizeof(uintptr_t) == 8 ? 44 : 24))
static size_t toft_epoch_threads; /* atomic */

static TOFT_COLD uintptr_t toft_thread_epoch_init(void) {
  return toft_thread_cache.epoch = TOFT_ADD(&toft_epoch_threads, 1) * TOFT_EPOCH_STRIDE + TOFT_EPOCH_STEP;
}

TOFT_INLINE uintptr_t toft_first_epoch(void) {
  uintptr_t last = toft_thread_cache.epoch;
  /* at least 2, also when the counter wraps on 32 bits */
  return (TOFT_LIKELY(last != 0) ? (toft_thread_cache.epoch = last + TOFT_EPOCH_STEP) : toft_thread_epoch_init()) | 2;
}

/* Called with the last epoch of an arena that is released. An arena from another thread may be in that thread's
 * range, which does not concern this one. */
static void toft_skip_epochs(uintptr_t epoch) {
  toft_cache *c = &toft_thread_cache;
  if (c->epoch != 0 && epoch - c->epoch < TOFT_EPOCH_STRIDE / 2) c->epoch = epoch & ~(uintptr_t)1;
}

TOFT_INLINE toft_state *toft_cache_pop(void) {
  toft_cache *c = &toft_thread_cache;
  toft_state *a = c->ready;
  if (TOFT_LIKELY(a != NULL)) {
    c->ready = (toft_state *)(void *)a->synced; /* unused in a ready arena */
    c->bytes -= TOFT_BLOCK_MIN;
    a->synced = a->initial_start;
  }
  return a;
}

/* Precondition: the arena is pristine and empty. Makes its marks stale. */
TOFT_INLINE void toft_cache_push(toft_state *a) {
  toft_cache *c = &toft_thread_cache;
  a->head.epoch += 2;
  a->synced = (unsigned char *)c->ready;
  c->ready = a;
  c->bytes += TOFT_BLOCK_MIN;
}

/* ---- control ---- */

size_t toft_cache_limit(size_t bytes) { return TOFT_SWAP(&toft_cache_limit_bytes, bytes); }

size_t toft_cache_bytes(void) { return toft_thread_cache.bytes; }

static void toft_cache_empty(void) {
  toft_thread_release_leases();
  toft_pool_drop_kept();
  toft_cache_put_blocks();
  TOFT_ASSERT(toft_thread_cache.bytes == 0);
}

void toft_cache_trim(void) {
  toft_cache_empty();
  toft_page_cache_drop();
  toft_purge(SIZE_MAX, 1);
}

#ifdef TOFT_RUNTIME
void toft_heap_trim(size_t least) {
  if (TOFT_LOAD(&toft_heap_freed) < toft_max(least, 1)) return;
  (void)TOFT_SWAP(&toft_heap_freed, 0);
  toft_os_heap_trim();
}
#endif

static void toft_cache_end(void) {
  toft_thread_state_release();
  toft_cache_empty();
  toft_thread_cache.phase = TOFT_CACHE_CLOSED;
  toft_account_end();
  if (TOFT_LOAD(&toft_os_unloading)) toft_page_cache_drop();
}

#endif
