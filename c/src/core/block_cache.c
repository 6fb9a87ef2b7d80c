/* The thread's cache of initialised arenas and of blocks, and the heap source on top of it. Fresh memory costs page
 * faults, 10 to 25 times what kept memory costs: this is where most of an arena's time can be saved. No locks: each
 * thread has its own, returned when the thread ends.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_BLOCK_CACHE_C
#define TOFT_CORE_BLOCK_CACHE_C

#include "../platform/atomic.c"
#include "../platform/lifecycle.h"
#include "../platform/os.c"
#include "arena_state.h"
#include "policy.c"

#define TOFT_BINS 13  /* sizes from 4 KiB to 16 MiB, by power of two */
#define TOFT_LOOKS 16 /* blocks of a bin looked at for one of exactly the size */
#define TOFT_HALF (TOFT_HUGE_PAGE / 2)
#define TOFT_HALF_BIN 8 /* that of 1 MiB */

enum { TOFT_CACHE_NEW = 0, TOFT_CACHE_OPEN = 1, TOFT_CACHE_CLOSED = 2 };

typedef struct toft_cached {
  struct toft_cached *next;
  size_t size;
} toft_cached;

typedef struct toft_cache {
  toft_state *ready; /* fresh arenas, linked by anchor */
  size_t held;       /* bytes, ready arenas included */
  uintptr_t epoch;   /* first epoch of the arena that was initialised last; 0: none was */
  int phase;         /* CLOSED: the thread has ended its cache, later releases go to the system */
  toft_cached *bins[TOFT_BINS];
} toft_cache;

/* In libtoft.so one load away. A plugin that embeds a copy must not ask for this: such room is scarce for what is
 * loaded late, and musl has none. */
#if defined(TOFT_BUILD) && defined(__GLIBC__) && defined(__GNUC__)
#define TOFT_NEAR __attribute__((tls_model("initial-exec")))
#else
#define TOFT_NEAR
#endif
static TOFT_THREAD_LOCAL toft_cache toft_tls TOFT_NEAR;

static size_t toft_cache_bytes = 4 * TOFT_MIB; /* read and written atomically */

/* The first time that a thread would keep something, its end is arranged for. */
static TOFT_COLD int toft_cache_open(size_t size) {
  toft_cache *c = &toft_tls;
  if (c->phase == TOFT_CACHE_CLOSED || size > TOFT_LOAD(&toft_cache_bytes)) return 0;
  c->phase = toft_os_arm() ? TOFT_CACHE_OPEN : TOFT_CACHE_CLOSED;
  return c->phase == TOFT_CACHE_OPEN;
}

/* May this thread keep `size` bytes more? */
TOFT_INLINE int toft_cache_takes(size_t size) {
  toft_cache *c = &toft_tls;
  if (TOFT_UNLIKELY(c->phase != TOFT_CACHE_OPEN) && !toft_cache_open(size)) return 0;
  return c->held + size <= TOFT_LOAD(&toft_cache_bytes); /* sizes are below SIZE_MAX / 4 */
}

static unsigned toft_bin(size_t size) {
  unsigned bin = 0;
  while (size >= 2 * TOFT_HOME_SIZE) size /= 2, bin++;
  return bin;
}

/* A kept block of that size, at a multiple of `align`. */
static void *toft_cache_take(size_t size, size_t align) {
  toft_cache *c = &toft_tls;
  unsigned bin = toft_bin(size);
  int looks = TOFT_LOOKS;
  if (bin >= TOFT_BINS) return NULL;
  for (toft_cached **at = &c->bins[bin]; *at != NULL && looks-- > 0; at = &(*at)->next) {
    toft_cached *b = *at;
    if (b->size == size && ((uintptr_t)b & (align - 1)) == 0) {
      *at = b->next;
      c->held -= size;
      return b;
    }
  }
  return NULL;
}

/* Both halves of a huge page in the cache: off with them, in one piece. One by one, the first would split it. */
static int toft_cache_drop_pair(void) {
  toft_cache *c = &toft_tls;
  toft_cached **bin = &c->bins[TOFT_HALF_BIN];
  for (toft_cached **at = bin; *at != NULL; at = &(*at)->next) {
    toft_cached *high = *at;
    if (((uintptr_t)high & (TOFT_HUGE_PAGE - 1)) != TOFT_HALF || high->size != TOFT_HALF) continue;
    for (toft_cached **other = bin; *other != NULL; other = &(*other)->next) {
      toft_cached *low = *other;
      if ((unsigned char *)low + TOFT_HALF != (unsigned char *)high || low->size != TOFT_HALF) continue;
      *other = low->next;
      for (at = bin; *at != high;) at = &(*at)->next;
      *at = high->next;
      c->held -= TOFT_HUGE_PAGE;
      toft_os_unmap(low, TOFT_HUGE_PAGE);
      return 1;
    }
  }
  return 0;
}

static void toft_heap_return(void *block, size_t size);

/* A cache full of large blocks would leave none to small ones, of which there are more: one of 1 MiB or more goes, the
 * largest first, for one of 64 KiB or less. Ready arenas count as such. */
static TOFT_COLD int toft_cache_make_room(size_t size) {
  toft_cache *c = &toft_tls;
  if (c->phase != TOFT_CACHE_OPEN || size > TOFT_STAGGERED) return 0;
  for (unsigned bin = TOFT_BINS; bin-- > TOFT_HALF_BIN;) {
    toft_cached *b = c->bins[bin];
    if (b == NULL) continue;
    if (!(TOFT_OS_SPLITS && bin == TOFT_HALF_BIN && toft_cache_drop_pair())) {
      c->bins[bin] = b->next;
      c->held -= b->size;
      toft_heap_return(b, b->size);
    }
    return toft_cache_takes(size);
  }
  return 0;
}

static int toft_cache_put(void *block, size_t size) {
  unsigned bin = toft_bin(size);
  if (bin >= TOFT_BINS) return 0;
  if (!toft_cache_takes(size) &&
      !(TOFT_OS_SPLITS && size == TOFT_HALF && toft_cache_drop_pair() && toft_cache_takes(size)) &&
      !toft_cache_make_room(size))
    return 0;
  toft_cached *b = (toft_cached *)block;
  b->next = toft_tls.bins[bin];
  b->size = size;
  toft_tls.bins[bin] = b;
  toft_tls.held += size;
  return 1;
}

/* ---- the heap source ---- */

/* Blocks of 1 MiB and more are whole pages: malloc would map and unmap them one by one, and in small pages. A block of
 * 1 MiB is half a huge page; its other half waits in the cache. */
static void *toft_heap_fresh(size_t size, size_t align) {
  if (size < TOFT_CAP) return toft_os_heap_take(size, align);
  if (TOFT_OS_SPLITS && size == TOFT_HALF && toft_cache_takes(size)) {
    unsigned char *pair = (unsigned char *)toft_os_map(TOFT_HUGE_PAGE, 1);
    if (pair == NULL) return NULL;
    toft_cache_put(pair + size, size);
    return pair;
  }
  return toft_os_map(size, 1);
}

/* align: kept to below 1 MiB, where malloc can give it. Pages have the system's. */
static void *toft_heap_take_aligned(size_t size, size_t align) {
  void *block = toft_cache_take(size, size < TOFT_CAP ? align : 64);
  return block != NULL ? block : toft_heap_fresh(size, align);
}

static void *toft_heap_take(toft_source *self, size_t size) {
  (void)self;
  return toft_heap_take_aligned(size, 64);
}

static void toft_heap_return(void *block, size_t size) {
  if (size < TOFT_CAP)
    toft_os_heap_put(block);
  else
    toft_os_unmap(block, size);
}

static void toft_heap_put(toft_source *self, void *block, size_t size) {
  (void)self;
  if (!toft_cache_put(block, size)) toft_heap_return(block, size);
}

static toft_source toft_heap_source = {toft_heap_take, toft_heap_put, NULL};

toft_source *toft_heap(void) { return &toft_heap_source; }

/* ---- ready arenas ---- */

/* An arena must refuse the marks of an arena that was released at its address, so no two of a thread have an epoch in
 * common: the first epochs of arenas are EPOCH_STEP apart, those of threads EPOCH_STRIDE. An arena that needed more
 * epochs than EPOCH_STEP moves the counter on when it is released (toft_epoch_seen). */
#define TOFT_EPOCH_STEP ((uintptr_t)1 << (sizeof(uintptr_t) == 8 ? 16 : 8))
#define TOFT_EPOCH_STRIDE ((uintptr_t)1 << (sizeof(uintptr_t) == 8 ? 44 : 24))
static size_t toft_epoch_threads; /* atomic */

static TOFT_COLD uintptr_t toft_epoch_begin(void) {
  return toft_tls.epoch = TOFT_ADD(&toft_epoch_threads, 1) * TOFT_EPOCH_STRIDE + TOFT_EPOCH_STEP;
}

TOFT_INLINE uintptr_t toft_epoch_first(void) {
  uintptr_t last = toft_tls.epoch;
  /* 2 at least, also where the counter wraps on 32 bits */
  return (TOFT_LIKELY(last != 0) ? (toft_tls.epoch = last + TOFT_EPOCH_STEP) : toft_epoch_begin()) | 2;
}

/* The arena that is being released reached this epoch. One that was made by another thread may be in that one's range,
 * where this thread takes no epochs from. */
static void toft_epoch_seen(uintptr_t epoch) {
  toft_cache *c = &toft_tls;
  if (c->epoch != 0 && epoch - c->epoch < TOFT_EPOCH_STRIDE / 2) c->epoch = epoch & ~(uintptr_t)1;
}

TOFT_INLINE toft_state *toft_cache_pop(void) {
  toft_cache *c = &toft_tls;
  toft_state *a = c->ready;
  if (TOFT_LIKELY(a != NULL)) {
    c->ready = (toft_state *)(void *)a->anchor; /* of no use in a fresh arena at rest */
    c->held -= TOFT_HOME_SIZE;
    a->anchor = a->home_start;
  }
  return a;
}

/* a is fresh, and nothing is allocated in it. Marks of it are stale from here on. */
TOFT_INLINE void toft_cache_push(toft_state *a) {
  toft_cache *c = &toft_tls;
  a->head.epoch += 2;
  a->anchor = (unsigned char *)c->ready;
  c->ready = a;
  c->held += TOFT_HOME_SIZE;
}

/* ---- control ---- */

size_t toft_cache_limit(size_t bytes) { return TOFT_SWAP(&toft_cache_bytes, bytes); }

size_t toft_cache_held(void) { return toft_tls.held; }

void toft_cache_trim(void) {
  toft_cache *c = &toft_tls;
  toft_state *a;
  toft_seats_leave();
  while ((a = toft_cache_pop()) != NULL) toft_heap_return(a, TOFT_HOME_SIZE);
  toft_pool_drop_kept();
  for (unsigned bin = 0; bin < TOFT_BINS; bin++) {
    toft_cached *b;
    while ((b = c->bins[bin]) != NULL) {
      c->bins[bin] = b->next;
      c->held -= b->size;
      toft_heap_return(b, b->size);
    }
  }
}

static void toft_cache_end(void) {
  toft_seats_end();
  toft_cache_trim();
  toft_tls.phase = TOFT_CACHE_CLOSED;
}

#endif
