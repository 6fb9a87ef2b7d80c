/* Toft 0.1.0, the library of two files. Made by scripts/amalgamate: do not edit.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The library is this one translation unit: every internal name is static, so it can be embedded with a prefix or
 * whole. Read in this order. */

/* ==== internal.h ==== */
/* The state behind a head. Everything in src/ is static and is compiled as one unit: see toft.c. */
#ifndef TOFT_INTERNAL_H
#define TOFT_INTERNAL_H

#if !defined(_WIN32) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE 1 /* madvise, MAP_ANONYMOUS */
#endif

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "toft.h"

#define TOFT_KIB ((size_t)1024)
#define TOFT_MIB ((size_t)1024 * 1024)

/* A block's header, at its base (64 bytes at most, the room in front of its first byte). Home's is in its arena. */
typedef struct toft_blk toft_blk;
struct toft_blk {
  toft_blk *next; /* the one acquired before it; in the spares, the next spare */
  union {
    toft_blk *below;        /* regular: the regular block that was current before it */
    unsigned char *payload; /* one-off: its only allocation; NULL when it may hold several */
  } of;
  size_t size;          /* S, as asked of the source */
  uintptr_t born;       /* epoch at which it came; never above the arena's */
  unsigned char *left;  /* end of the bytes in use, unless it is the current block: then the cursor says */
  size_t charge;        /* of a one-off: bytes it counts for in live */
  toft_source *source;  /* NULL: the caller's buffer */
  uint32_t index, kind; /* TOFT_BLOCK_... */
};

/* Behind the toft_cleanup that users see. Four words: the vectors count on it. */
typedef struct toft_node {
  toft_cleanup user;
  struct toft_node *older;
  uintptr_t born;
} toft_node;

typedef struct toft_record toft_record; /* checked.c */

enum {
  TOFT_FRESH = 1,      /* only the first part of toft_state is initialised: no slow call has happened yet */
  TOFT_CLAIMED = 2,    /* a range is out */
  TOFT_BUSY = 4,       /* a cleanup is running, or the arena was adopted */
  TOFT_IS_CHECKED = 8, /* every allocation is slow, and recorded */
  TOFT_IDLE = 16,      /* home holds nothing and serves nothing: see toft_home_idles */
  TOFT_CACHEABLE = 32, /* on the heap: may wait in the thread's cache */
  TOFT_BUFFER = 64     /* home is the caller's buffer */
};

/* P10 remembers the highest need of the last 8 windows of 8 rounds each. */
#define TOFT_WINDOWS 8
#define TOFT_WINDOW 8

/* At the base of an arena's home block, 448 bytes at most. */
typedef struct toft_state {
  toft_arena head;
  unsigned char *end;    /* true end of the current block; limit may be lower */
  unsigned char *anchor; /* cursor when live was last brought up to date */
  uint32_t state, rounds;
  uint64_t budget; /* on live; UINT64_MAX: none */
  toft_source *source;
  unsigned char *home_start, *home_end;
  size_t home_size;
  /* from here on undefined while TOFT_FRESH */
  uint64_t live, allocated, peak, round_peak, source_calls; /* live and allocated: at anchor */
  toft_blk *current, *newest;
  toft_blk *spares; /* kept for later, the last one returned first */
  size_t spare_bytes, spare_keep;
  size_t first;      /* with TOFT_IDLE: size of the next regular block */
  uintptr_t emptied; /* epoch at which trim took the empty arena's block: a mark from before means home's start */
  toft_node *cleanups;
  toft_record *records; /* checked.c */
  uintptr_t checked_since;
  unsigned char *checked_from;
  toft_failure *failure;
  void *failure_arg;
  unsigned char *claim_start, *claim_limit;
  uintptr_t claim_id;
  toft_blk *aside;       /* serves the others while claimed */
  toft_node adopted;     /* links this arena into the one that adopted it */
  uint64_t adopted_live; /* part of live that lies in adopted arenas */
  toft_blk home;
  uint64_t window_peaks[TOFT_WINDOWS];
} toft_state;

#define TOFT_HOME_SIZE 4096
#define TOFT_HOME_START 512
#define TOFT_HEADER 64

TOFT_STATIC_ASSERT(block_header, sizeof(toft_blk) <= TOFT_HEADER);
TOFT_STATIC_ASSERT(node, sizeof(toft_node) == 4 * sizeof(void *));
TOFT_STATIC_ASSERT(state, sizeof(toft_state) <= 448);
TOFT_STATIC_ASSERT(granule, sizeof(void *) <= 8);

static void toft_destroy(toft_state *a);

#endif

/* ==== os.c ==== */
/* The operating system: pages, aligned heap memory, and a call when a thread or the library ends. POSIX and Windows.
 * Sizes are rounded up to the system's page here, so that callers may think in 4096. */

#define TOFT_HUGE_PAGE (2 * TOFT_MIB)

/* Runs toft_cache_end in a thread that armed it, when that thread ends, and when the library is unloaded. */
static int toft_os_arm(void);
static void toft_cache_end(void);

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <malloc.h>
#include <windows.h>

static size_t toft_os_page(size_t n) { return (n + 0xffff) & ~(size_t)0xffff; } /* allocation granularity */

static void *toft_os_heap_take(size_t size, size_t align) { return _aligned_malloc(size, align); }
static void toft_os_heap_put(void *p) { _aligned_free(p); }

static void *toft_os_map(size_t size, int huge) {
  (void)huge; /* large pages need a privilege there */
  return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}
static void toft_os_unmap(void *p, size_t size) {
  (void)size;
  VirtualFree(p, 0, MEM_RELEASE);
}
static void toft_os_lazy(void *p, size_t size) { VirtualAlloc(p, size, MEM_RESET, PAGE_READWRITE); }
static void *toft_os_reserve(size_t size) { return VirtualAlloc(NULL, size, MEM_RESERVE, PAGE_NOACCESS); }
static int toft_os_commit(void *p, size_t size) { return VirtualAlloc(p, size, MEM_COMMIT, PAGE_READWRITE) != NULL; }
static void toft_os_decommit(void *p, size_t size) { VirtualFree(p, size, MEM_DECOMMIT); }

static void toft_os_yield(void) { (void)SwitchToThread(); }

/* No cutting of a mapping there: VirtualFree takes it whole or not at all. */
#define TOFT_OS_SPLITS 0

static INIT_ONCE toft_os_once = INIT_ONCE_STATIC_INIT;
static DWORD toft_os_slot = FLS_OUT_OF_INDEXES;
static void NTAPI toft_os_thread_end(void *armed) {
  if (armed) toft_cache_end();
}
static BOOL CALLBACK toft_os_init(PINIT_ONCE once, void *arg, void **out) {
  (void)once, (void)arg, (void)out;
  toft_os_slot = FlsAlloc(toft_os_thread_end);
  return TRUE;
}
static int toft_os_arm(void) {
  InitOnceExecuteOnce(&toft_os_once, toft_os_init, NULL, NULL);
  return toft_os_slot != FLS_OUT_OF_INDEXES && FlsSetValue(toft_os_slot, (void *)1);
}

#else
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

static size_t toft_os_page(size_t n) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (n + page - 1) & ~(page - 1);
}

static void *toft_os_heap_take(size_t size, size_t align) {
  void *p;
  return posix_memalign(&p, align, size) == 0 ? p : NULL;
}
static void toft_os_heap_put(void *p) { free(p); }

static void *toft_os_mmap(size_t size, int protection, int flags) {
  void *p = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

/* Huge pages need the mapping on their own boundary: map one more, cut off both ends. */
static void *toft_os_map(size_t size, int huge) {
  size_t whole = toft_os_page(size);
#ifdef MADV_HUGEPAGE
  if (huge && whole >= TOFT_HUGE_PAGE) {
    unsigned char *p = (unsigned char *)toft_os_mmap(whole + TOFT_HUGE_PAGE, PROT_READ | PROT_WRITE, 0);
    if (p == NULL) return NULL;
    size_t front = (size_t)(0 - (uintptr_t)p) & (TOFT_HUGE_PAGE - 1);
    if (front != 0) munmap(p, front);
    if (front != TOFT_HUGE_PAGE) munmap(p + front + whole, TOFT_HUGE_PAGE - front);
    (void)madvise(p + front, whole, MADV_HUGEPAGE); /* a wish: small pages serve as well */
    return p + front;
  }
#endif
  (void)huge;
  return toft_os_mmap(whole, PROT_READ | PROT_WRITE, 0);
}
static void toft_os_unmap(void *p, size_t size) { munmap(p, toft_os_page(size)); }
static void toft_os_lazy(void *p, size_t size) {
#ifdef MADV_FREE
  if (madvise(p, toft_os_page(size), MADV_FREE) == 0) return;
#endif
  (void)madvise(p, toft_os_page(size), MADV_DONTNEED);
}
static void *toft_os_reserve(size_t size) { return toft_os_mmap(toft_os_page(size), PROT_NONE, MAP_NORESERVE); }
static int toft_os_commit(void *p, size_t size) { return mprotect(p, toft_os_page(size), PROT_READ | PROT_WRITE) == 0; }
static void toft_os_decommit(void *p, size_t size) {
  (void)madvise(p, size, MADV_DONTNEED);
  (void)mprotect(p, size, PROT_NONE);
}

static void toft_os_yield(void) { (void)sched_yield(); }

#define TOFT_OS_SPLITS 1

static pthread_once_t toft_os_once = PTHREAD_ONCE_INIT;
static pthread_key_t toft_os_key;
static int toft_os_have_key;
static void toft_os_thread_end(void *armed) {
  (void)armed;
  toft_cache_end();
}
static void toft_os_init(void) { toft_os_have_key = pthread_key_create(&toft_os_key, toft_os_thread_end) == 0; }
static int toft_os_arm(void) {
  pthread_once(&toft_os_once, toft_os_init);
  return toft_os_have_key && pthread_setspecific(toft_os_key, &toft_os_key) == 0;
}
#endif

/* At exit, and at dlclose: no later thread may call into code that is gone. The caches of threads still running are
 * theirs; what they hold at a dlclose is lost. */
#if defined(__GNUC__) || defined(__clang__)
__attribute__((destructor)) static void toft_os_unload(void) {
  toft_cache_end();
#ifdef _WIN32
  if (toft_os_slot != FLS_OUT_OF_INDEXES) FlsFree(toft_os_slot);
  toft_os_slot = FLS_OUT_OF_INDEXES;
#else
  if (toft_os_have_key) pthread_key_delete(toft_os_key);
  toft_os_have_key = 0;
#endif
}
#endif

/* ==== policy.c ==== */
/* Placement policy 1 (abi/SPEC.md), as arithmetic on sizes. Model, makers and vectors change together. */

#define TOFT_CAP TOFT_MIB          /* P4: regular blocks double up to this */
#define TOFT_MERGE (64 * TOFT_MIB) /* P10: reset merges up to this */
#define TOFT_SPARE (4 * TOFT_MIB)  /* P8: bytes an arena keeps of what rewinds give back */
#define TOFT_STAGGERED (64 * TOFT_KIB)
#define TOFT_MAX_REQUEST ((size_t)PTRDIFF_MAX / 2) /* so that no sum of two requests wraps */

/* n rounded up to a multiple of `to`, a power of two; n is at most 2 * TOFT_MAX_REQUEST. */
static size_t toft_round(size_t n, size_t to) { return (n + to - 1) & ~(to - 1); }

static size_t toft_min(size_t a, size_t b) { return a < b ? a : b; }
static size_t toft_max(size_t a, size_t b) { return a > b ? a : b; }

static size_t toft_pow2(size_t n) {
  size_t p = TOFT_HOME_SIZE;
  while (p < n) p *= 2;
  return p;
}

/* Bytes from p to the next multiple of align. */
static size_t toft_pad(const unsigned char *p, size_t align) { return (size_t)(0 - (uintptr_t)p) & (align - 1); }

/* What a block must hold so that `size` bytes fit in it at this alignment: a block starts on a 64-byte line. */
static size_t toft_need(size_t size, size_t align) { return TOFT_ROUND8(size) + (align > 64 ? align - 64 : 0); }

/* P3: blocks above 64 KiB start a cache line further each, so that regular spacing does not meet in one cache set. */
static size_t toft_stagger(size_t block_size, uint32_t index) {
  return block_size > TOFT_STAGGERED ? TOFT_HEADER * (1 + (size_t)index % 8) : TOFT_HEADER;
}

static size_t toft_usable(size_t block_size) {
  return block_size - (block_size > TOFT_STAGGERED ? 8 * TOFT_HEADER : TOFT_HEADER);
}

/* P5, P6: the regular block that takes `need` bytes, or 0 for a one-off. `next`: the size growth asks for. */
static size_t toft_regular_size(size_t need, size_t next, int idle) {
  if (idle && need <= next - toft_min(next, 512)) return next;
  if (need <= TOFT_CAP / 4) return toft_max(next, toft_min(TOFT_CAP, toft_pow2(4 * need)));
  return 0;
}

/* P7 */
static size_t toft_oneoff_size(size_t need) { return toft_round(need + TOFT_HEADER, TOFT_HOME_SIZE); }

/* P10: the one block that holds a round of `high` bytes. */
static size_t toft_merged_size(uint64_t high) {
  if (high >= TOFT_MERGE) return TOFT_MERGE;
  if (high <= TOFT_CAP) return toft_pow2((size_t)high);
  return toft_min(TOFT_MERGE, toft_round((size_t)high, TOFT_CAP));
}

/* ==== cache.c ==== */
/* The thread's cache of initialised arenas and of blocks, and the heap source on top of it. Fresh memory costs page
 * faults, 10 to 25 times what kept memory costs: this is where most of an arena's time can be saved. No locks: each
 * thread has its own, returned when the thread ends. */

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
  toft_state *ready; /* fresh arenas, linked by home_next */
  size_t held;       /* bytes, ready arenas included */
  int phase;         /* CLOSED: the thread has ended its cache, later releases go to the system */
  toft_cached *bins[TOFT_BINS];
} toft_cache;

/* In libtoft.so one load away. A plugin that embeds a copy must not ask for this: such room is scarce for what is
 * loaded late, and musl has none. */
#if defined(TOFT_BUILD) && defined(__GLIBC__) && defined(__GNUC__)
static TOFT_THREAD_LOCAL toft_cache toft_tls __attribute__((tls_model("initial-exec")));
#else
static TOFT_THREAD_LOCAL toft_cache toft_tls;
#endif

static size_t toft_cache_bytes = 4 * TOFT_MIB; /* read and written atomically */

#if defined(__GNUC__) || defined(__clang__)
#define TOFT_LOAD(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define TOFT_SWAP(p, v) __atomic_exchange_n(p, v, __ATOMIC_RELAXED)
#define TOFT_ADD(p, v) __atomic_add_fetch(p, v, __ATOMIC_RELAXED)
#elif defined(_MSC_VER) && defined(_WIN64)
#include <intrin.h>
#define TOFT_LOAD(p) (*(volatile size_t *)(p))
#define TOFT_SWAP(p, v) ((size_t)_InterlockedExchange64((volatile __int64 *)(p), (__int64)(v)))
#define TOFT_ADD(p, v) ((size_t)_InterlockedExchangeAdd64((volatile __int64 *)(p), (__int64)(v)) + (size_t)(v))
#else
#error "toft: atomics for this compiler are missing: add them here"
#endif

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

/* a is fresh, and nothing is allocated in it. */
TOFT_INLINE void toft_cache_push(toft_state *a) {
  toft_cache *c = &toft_tls;
  a->anchor = (unsigned char *)c->ready;
  c->ready = a;
  c->held += TOFT_HOME_SIZE;
}

/* ---- control ---- */

size_t toft_cache_limit(size_t bytes) { return TOFT_SWAP(&toft_cache_bytes, bytes); }

size_t toft_cache_held(void) { return toft_tls.held; }

static void toft_pool_drop_kept(void); /* pool.c */

void toft_cache_trim(void) {
  toft_cache *c = &toft_tls;
  toft_state *a;
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
  toft_cache_trim();
  toft_tls.phase = TOFT_CACHE_CLOSED;
}

/* ==== sources.c ==== */
/* Sources beside the heap: pages, reserve-and-commit, and a limit around another source. */

/* ---- pages ---- */

#define TOFT_PAGES_KEPT (64 * TOFT_MIB)

static void *toft_pages_take(toft_source *self, size_t size) {
  toft_pages *pages = (toft_pages *)(void *)self;
  for (toft_cached **at = (toft_cached **)(void *)&pages->kept; *at != NULL; at = &(*at)->next) {
    toft_cached *b = *at;
    if (b->size == size) {
      *at = b->next;
      pages->kept_bytes -= size;
      return b;
    }
  }
  return toft_os_map(size, (pages->flags & TOFT_PAGES_HUGE) != 0);
}

static void toft_pages_put(toft_source *self, void *block, size_t size) {
  toft_pages *pages = (toft_pages *)(void *)self;
  if ((pages->flags & TOFT_PAGES_LAZY) == 0 || size > TOFT_PAGES_KEPT - toft_min(pages->kept_bytes, TOFT_PAGES_KEPT)) {
    toft_os_unmap(block, size);
    return;
  }
  toft_os_lazy(block, size); /* the link is written after it, so the first page stays ours */
  toft_cached *b = (toft_cached *)block;
  b->next = (toft_cached *)pages->kept;
  b->size = size;
  pages->kept = b;
  pages->kept_bytes += size;
}

toft_source *toft_pages_init(toft_pages *pages, uint32_t flags) {
  memset(pages, 0, sizeof *pages);
  pages->source.take = toft_pages_take;
  pages->source.put = toft_pages_put;
  pages->flags = flags;
  return &pages->source;
}

void toft_pages_trim(toft_pages *pages) {
  toft_cached *b;
  while ((b = (toft_cached *)pages->kept) != NULL) {
    pages->kept = b->next;
    pages->kept_bytes -= b->size;
    toft_os_unmap(b, b->size);
  }
}

/* ---- reserve and commit ---- */

/* Commits 64 KiB at the least, so that growing by small steps is not a system call each. */
static int toft_reserve_extend(toft_source *self, void *block, size_t size, size_t want) {
  toft_reserve *r = (toft_reserve *)(void *)self;
  size_t to = toft_os_page(want);
  (void)block;
  if (want > r->max) return 0;
  if (to > r->committed) {
    to = toft_min(r->max, toft_max(to, toft_os_page(r->committed + 64 * TOFT_KIB)));
    if (!toft_os_commit(r->base + r->committed, to - r->committed)) return 0;
    r->committed = to;
  } else if (want < size && to < r->committed) {
    toft_os_decommit(r->base + to, r->committed - to);
    r->committed = to;
  }
  return 1;
}

static void *toft_reserve_take(toft_source *self, size_t size) {
  toft_reserve *r = (toft_reserve *)(void *)self;
  if (r->taken || !toft_reserve_extend(self, r->base, 0, size)) return NULL;
  r->taken = 1;
  return r->base;
}

static void toft_reserve_put(toft_source *self, void *block, size_t size) {
  toft_reserve *r = (toft_reserve *)(void *)self;
  (void)block, (void)size;
  toft_os_decommit(r->base, r->committed);
  r->committed = 0;
  r->taken = 0;
}

toft_source *toft_reserve_init(toft_reserve *r, size_t max) {
  memset(r, 0, sizeof *r);
  if (max == 0 || max > TOFT_MAX_REQUEST) return NULL;
  r->source.take = toft_reserve_take;
  r->source.put = toft_reserve_put;
  r->source.extend = toft_reserve_extend;
  r->max = toft_os_page(toft_max(max, TOFT_HOME_SIZE));
  r->base = (unsigned char *)toft_os_reserve(r->max);
  return r->base != NULL ? &r->source : NULL;
}

void toft_reserve_done(toft_reserve *r) {
  if (r->base != NULL) toft_os_unmap(r->base, r->max);
  memset(r, 0, sizeof *r);
}

/* ---- a budget around a source ---- */

static int toft_budget_charge(toft_budget *b, size_t size) {
  if (size <= b->limit && TOFT_ADD(&b->used, size) <= b->limit) return 1;
  if (size <= b->limit) TOFT_ADD(&b->used, 0 - size);
  return 0;
}

static void *toft_budget_take(toft_source *self, size_t size) {
  toft_budget *b = (toft_budget *)(void *)self;
  if (!toft_budget_charge(b, size)) return NULL;
  void *block = b->inner->take(b->inner, size);
  if (block == NULL) TOFT_ADD(&b->used, 0 - size);
  return block;
}

static void toft_budget_put(toft_source *self, void *block, size_t size) {
  toft_budget *b = (toft_budget *)(void *)self;
  b->inner->put(b->inner, block, size);
  TOFT_ADD(&b->used, 0 - size);
}

static int toft_budget_extend(toft_source *self, void *block, size_t size, size_t want) {
  toft_budget *b = (toft_budget *)(void *)self;
  size_t more = want > size ? want - size : 0;
  if (more != 0 && !toft_budget_charge(b, more)) return 0;
  if (!b->inner->extend(b->inner, block, size, want)) {
    TOFT_ADD(&b->used, 0 - more);
    return 0;
  }
  if (want < size) TOFT_ADD(&b->used, want - size);
  return 1;
}

toft_source *toft_budget_init(toft_budget *b, toft_source *inner, size_t limit) {
  memset(b, 0, sizeof *b);
  b->source.take = toft_budget_take;
  b->source.put = toft_budget_put;
  if (inner->extend != NULL) b->source.extend = toft_budget_extend;
  b->inner = inner;
  b->limit = limit;
  return &b->source;
}

/* ==== blocks.c ==== */
/* The list of blocks, the accounting by subtraction, and the one writer of limit.
 * Every op begins with toft_enter and ends with toft_aim. */

static toft_state *toft_state_of(const toft_arena *head) { return (toft_state *)(uintptr_t)head; }

/* First use of the slow half of the state: an arena that never needs it never pays for it. */
static TOFT_COLD void toft_prepare(toft_state *a) {
  memset((void *)&a->live, 0, sizeof *a - offsetof(toft_state, live));
  a->home.size = a->home_size;
  a->home.source = a->state & TOFT_BUFFER ? NULL : a->source;
  a->home.born = a->head.epoch;
  a->current = a->newest = &a->home;
  a->source_calls = a->home.source != NULL;
  a->state &= ~(uint32_t)TOFT_FRESH;
}

/* Brings live up to the cursor. allocated counts what was added since; what was rewound inline between is not seen. */
static void toft_sync(toft_state *a) {
  ptrdiff_t moved = a->head.cursor - a->anchor;
  if (moved > 0) a->allocated += (uint64_t)moved;
  a->live += (uint64_t)(int64_t)moved;
  a->anchor = a->head.cursor;
  if (a->live > a->peak) a->peak = a->live;
}

static void toft_enter(toft_state *a) {
  if (TOFT_UNLIKELY(a->state & TOFT_FRESH)) toft_prepare(a);
  toft_sync(a);
}

/* Room of the inline path: up to the block's end, as far as the budget goes, or none while something must be slow. */
static void toft_aim(toft_state *a) {
  size_t room = (size_t)(a->end - a->head.cursor);
  uintptr_t closed = (a->state & (TOFT_CLAIMED | TOFT_BUSY | TOFT_IS_CHECKED)) != 0;
  uintptr_t watched = closed | (a->live > a->budget); /* else an inline free would open room that is not there */
  if (a->budget != UINT64_MAX) {
    uint64_t left = a->live < a->budget ? (a->budget - a->live) & ~(uint64_t)7 : 0;
    if (left < room) room = (size_t)left;
  }
  a->head.limit = a->head.cursor + (closed ? 0 : room);
  a->head.epoch = (a->head.epoch & ~(uintptr_t)1) | watched;
}

static uintptr_t toft_epoch(const toft_state *a) { return a->head.epoch & ~(uintptr_t)1; }

/* Marks from before this point must ask ops. */
static void toft_bump(toft_state *a) { a->head.epoch += 2; }

/* All of a claimed range counts as used, until it is given. What costs nothing is always affordable. */
static int toft_affords(const toft_state *a, size_t charge) {
  uint64_t held = a->state & TOFT_CLAIMED ? (uint64_t)(a->claim_limit - a->head.cursor) : 0;
  return charge == 0 || (a->live + held <= a->budget && charge <= a->budget - a->live - held);
}

/* What a round needs of this arena's own blocks. */
static void toft_note_peak(toft_state *a, uint64_t live) {
  uint64_t own = live - a->adopted_live;
  if (own > a->round_peak) a->round_peak = own;
}

/* ---- geometry ---- */

/* A source that extends its blocks in place gives one block for good: no stagger, which would depend on its size. */
static size_t toft_offset(const toft_blk *b) {
  if (b->kind != TOFT_BLOCK_REGULAR || (b->source != NULL && b->source->extend != NULL)) return TOFT_HEADER;
  return toft_stagger(b->size, b->index);
}

static unsigned char *toft_block_start(const toft_state *a, toft_blk *b) {
  return b == &a->home ? a->home_start : (unsigned char *)b + toft_offset(b);
}

static unsigned char *toft_block_end(const toft_state *a, toft_blk *b) {
  if (b == &a->home) return a->home_end;
  if (toft_offset(b) == TOFT_HEADER && (b->kind != TOFT_BLOCK_REGULAR || b->source->extend != NULL))
    return (unsigned char *)b + b->size;
  return (unsigned char *)b + toft_offset(b) + toft_usable(b->size);
}

static unsigned char *toft_block_top(const toft_state *a, const toft_blk *b) {
  return b == a->current ? a->head.cursor : b->left;
}

/* ---- taking ---- */

/* A block of exactly `size` bytes: one kept for later, or the source's. NULL: there is none. */
static toft_blk *toft_take(toft_state *a, size_t size) {
  for (toft_blk **at = &a->spares; *at != NULL; at = &(*at)->next) {
    toft_blk *b = *at;
    if (b->size == size) {
      *at = b->next;
      a->spare_bytes -= size;
      return b;
    }
  }
  if (a->source == NULL) return NULL;
  a->source_calls++;
  toft_blk *b = (toft_blk *)a->source->take(a->source, size);
  if (b != NULL && ((uintptr_t)b & 63) != 0) { /* not a block by the source's contract */
    a->source->put(a->source, b, size);
    return NULL;
  }
  if (b != NULL) {
    b->size = size;
    b->source = a->source;
  }
  return b;
}

/* Puts a taken block on top of the list. */
static void toft_push(toft_state *a, toft_blk *b, uint32_t kind) {
  toft_bump(a);
  b->kind = kind;
  b->index = a->newest->index + 1;
  b->born = toft_epoch(a);
  b->charge = 0;
  b->next = a->newest;
  b->of.below = a->current;
  a->newest = b;
}

static void toft_make_current(toft_state *a, toft_blk *b, unsigned char *cursor) {
  a->current = b;
  a->head.cursor = a->anchor = cursor;
  a->end = toft_block_end(a, b);
}

/* ---- giving back ---- */

static void toft_put(toft_blk *b) { b->source->put(b->source, b, b->size); }

static void toft_keep(toft_state *a, toft_blk *b) {
  b->kind = TOFT_BLOCK_SPARE;
  b->next = a->spares;
  a->spares = b;
  a->spare_bytes += b->size;
}

/* P12: what is not needed now is a spare. Of more than the bound allows, the newest stay. */
static void toft_drop(toft_state *a, toft_blk *b) {
  uint64_t bound = toft_max(toft_max(TOFT_SPARE, a->spare_keep), a->first);
  if (bound < 2 * a->round_peak) bound = 2 * a->round_peak;
  toft_keep(a, b);
  while (a->spare_bytes > bound) {
    toft_blk **at = &a->spares;
    while ((*at)->next != NULL) at = &(*at)->next;
    a->spare_bytes -= (*at)->size;
    toft_put(*at);
    *at = NULL;
  }
}

static void toft_put_spares(toft_state *a, size_t keep) {
  while (a->spares != NULL && a->spare_bytes > keep) {
    toft_blk *b = a->spares;
    a->spares = b->next;
    a->spare_bytes -= b->size;
    toft_put(b);
  }
}

/* Takes the newest block off the list, out of live, and makes what lies under it current. Not for home. */
static toft_blk *toft_pop(toft_state *a) {
  toft_blk *b = a->newest;
  a->newest = b->next;
  if (b->kind == TOFT_BLOCK_ONEOFF) {
    a->live -= b->charge;
  } else {
    b->left = a->head.cursor;
    a->live -= (uint64_t)(b->left - toft_block_start(a, b));
    toft_make_current(a, b->of.below, b->of.below->left);
  }
  return b;
}

/* ---- cleanups ---- */

static void toft_end_adopted(void *donor); /* life.c */

/* Runs those born after `epoch`, newest first, each once. The arena is closed meanwhile: no room, every op refused. */
static void toft_run_cleanups(toft_state *a, uintptr_t epoch) {
  if (a->cleanups == NULL || a->cleanups->born <= epoch) return;
  a->state |= TOFT_BUSY;
  toft_aim(a);
  while (a->cleanups != NULL && a->cleanups->born > epoch) {
    toft_node *node = a->cleanups;
    a->cleanups = node->older;
    if (node->user.fn == toft_end_adopted) {
      uint64_t live = ((const toft_state *)node->user.arg)->live;
      a->live -= live;
      a->adopted_live -= live;
    }
    if (node->user.fn != NULL) node->user.fn(node->user.arg);
  }
  a->state &= ~(uint32_t)TOFT_BUSY;
}

/* ==== place.c ==== */
/* Where an allocation goes when the inline path has no answer. Fit is decided against the block's true end, never
 * against limit: a budget, a sample or a claim does not move anything. */

static int toft_is_power(size_t align) { return align != 0 && (align & (align - 1)) == 0; }

static int toft_check_request(size_t size, size_t align) {
  if (!toft_is_power(align)) return TOFT_EARG;
  return size > TOFT_MAX_REQUEST || align > TOFT_MAX_REQUEST ? TOFT_ENOMEM : TOFT_OK;
}

static void *toft_place_checked(toft_state *a, size_t size, size_t align);

/* After a reset that found home too small: home is full, and `first` says how large the next block is. */
static int toft_home_idles(const toft_state *a) { return (a->state & TOFT_IDLE) != 0 && a->current == &a->home; }

/* In the current block; NULL if it does not fit or is not affordable. */
static void *toft_place_here(toft_state *a, size_t size, size_t align) {
  size_t pad = toft_pad(a->head.cursor, align);
  size_t room = (size_t)(a->end - a->head.cursor);
  size_t take = pad + TOFT_ROUND8(size);
  if (pad > room || TOFT_ROUND8(size) > room - pad || !toft_affords(a, take)) return NULL;
  unsigned char *p = a->head.cursor + pad;
  a->head.cursor += take;
  toft_sync(a);
  return p;
}

static int toft_fits_here(const toft_state *a, size_t size, size_t align) {
  size_t pad = toft_pad(a->head.cursor, align);
  size_t room = (size_t)(a->end - a->head.cursor);
  return pad <= room && TOFT_ROUND8(size) <= room - pad;
}

/* P7: a block of its own; the current one stays. */
static void *toft_place_alone(toft_state *a, size_t size, size_t align) {
  size_t need = toft_need(size, align);
  if (!toft_affords(a, need)) return NULL;
  toft_blk *b = toft_take(a, toft_oneoff_size(need));
  if (b == NULL) return NULL;
  toft_push(a, b, TOFT_BLOCK_ONEOFF);
  unsigned char *p = (unsigned char *)b + TOFT_HEADER;
  p += toft_pad(p, align);
  b->of.payload = p;
  b->left = p + TOFT_ROUND8(size);
  b->charge = need;
  a->live += need;
  a->allocated += need;
  return p;
}

/* The current block grows where it stands, when its source can do that: by half at least, as reallocs do. */
static int toft_extend_here(toft_state *a, size_t size, size_t align) {
  toft_blk *b = a->current;
  if (b->source == NULL || b->source->extend == NULL || toft_home_idles(a)) return 0;
  unsigned char *base = b == &a->home ? (unsigned char *)a : (unsigned char *)b;
  size_t used = (size_t)(a->head.cursor - base);
  size_t want = toft_round(used + toft_pad(a->head.cursor, align) + TOFT_ROUND8(size), TOFT_HOME_SIZE);
  size_t roomy = toft_round(b->size + b->size / 2, TOFT_HOME_SIZE);
  if (want < roomy && b->source->extend(b->source, base, b->size, roomy))
    want = roomy;
  else if (!b->source->extend(b->source, base, b->size, want))
    return 0;
  b->size = want;
  if (b == &a->home) a->home_end = base + want;
  a->end = base + want;
  return 1;
}

/* P5, P6: a further regular block, which becomes current. */
static void *toft_place_regular(toft_state *a, size_t size, size_t align, size_t block_size) {
  /* The budget is asked before the source; where the base decides the padding, bases are taken as pages. */
  size_t start = toft_stagger(block_size, a->newest->index + 1);
  size_t pad = (0 - start) & (align - 1) & (TOFT_HOME_SIZE - 1);
  if (!toft_affords(a, pad + TOFT_ROUND8(size))) return NULL;
  toft_blk *b = toft_take(a, block_size);
  if (b == NULL) return NULL;
  a->current->left = a->head.cursor;
  toft_push(a, b, TOFT_BLOCK_REGULAR);
  toft_make_current(a, b, toft_block_start(a, b));
  void *p = toft_place_here(a, size, align);
  if (p == NULL) toft_drop(a, toft_pop(a)); /* the base was no page, and the padding above the budget */
  return p;
}

static void *toft_place_further(toft_state *a, size_t size, size_t align) {
  size_t need = toft_need(size, align);
  int idle = toft_home_idles(a);
  size_t next = idle ? a->first : toft_min(TOFT_CAP, 2 * toft_min(TOFT_CAP, toft_round(a->current->size, 4096)));
  size_t block_size = toft_regular_size(need, next, idle);
  if (block_size == 0 && a->source != NULL && a->source->extend != NULL) block_size = toft_oneoff_size(need);
  uint64_t wanted = a->live + toft_pad(a->head.cursor, align) + TOFT_ROUND8(size); /* of the block that was too small */
  void *p = block_size != 0 ? toft_place_regular(a, size, align, block_size) : toft_place_alone(a, size, align);
  if (p != NULL) toft_note_peak(a, a->live > wanted ? a->live : wanted);
  return p;
}

/* While a range is claimed the others are served outside it, and outside the blocks it may grow into. */
static void *toft_place_aside(toft_state *a, size_t size, size_t align) {
  toft_blk *b = a->aside;
  if (b != NULL) {
    size_t pad = toft_pad(b->left, align), room = (size_t)(toft_block_end(a, b) - b->left);
    size_t take = pad + TOFT_ROUND8(size);
    if (pad <= room && TOFT_ROUND8(size) <= room - pad) {
      if (!toft_affords(a, take)) return NULL;
      unsigned char *p = b->left + pad;
      b->left += take;
      b->charge += take;
      a->live += take;
      a->allocated += take;
      return p;
    }
  }
  void *p = toft_place_alone(a, size, align);
  if (p != NULL) {
    a->aside = a->newest;
    a->aside->of.payload = NULL; /* may come to hold several: not one to give back with its first */
    toft_note_peak(a, a->live);
  }
  return p;
}

/* The whole rule: a request that passed toft_check_request, in an arena that is not busy. NULL: nothing changed. */
static void *toft_place(toft_state *a, size_t size, size_t align) {
  if (a->state & TOFT_IS_CHECKED) return toft_place_checked(a, size, align);
  if (a->state & TOFT_CLAIMED) return toft_place_aside(a, size, align);
  if (toft_fits_here(a, size, align)) return toft_place_here(a, size, align);
  if (!toft_affords(a, TOFT_ROUND8(size))) return NULL;
  if (toft_extend_here(a, size, align)) return toft_place_here(a, size, align);
  return toft_place_further(a, size, align);
}

/* ==== checked.c ==== */
/* Checked arenas. limit == cursor, so every allocation from every language comes here and gets a record, red zones on
 * both sides and a fill; giving back looks at the zones and poisons. Slow, and exact. */

#define TOFT_ZONE 16
enum { TOFT_BYTE_ZONE = 0xFD, TOFT_BYTE_NEW = 0xCD, TOFT_BYTE_GONE = 0xDD };

/* In front of its allocation: record, zone, size bytes, zone up to `end`. */
struct toft_record {
  toft_record *older;
  unsigned char *p, *end;
  size_t size;
  uintptr_t born;
  unsigned char *cursor; /* the arena's, just after: what a mark taken then holds */
  size_t freed;          /* non-zero: given back already, though not the newest */
};

static void toft_fail(toft_state *a, size_t size, size_t align, int code) {
  if (a->failure != NULL) a->failure(a->failure_arg, &a->head, size, align, code);
}

static void *toft_place_checked(toft_state *a, size_t size, size_t align) {
  size_t wide = toft_max(align, TOFT_ZONE);
  size_t front = toft_round(sizeof(toft_record) + TOFT_ZONE, wide);
  size_t whole = front + TOFT_ROUND8(size) + TOFT_ZONE;
  if (whole > TOFT_MAX_REQUEST) return NULL;
  unsigned char *base;
  if (a->state & TOFT_CLAIMED)
    base = (unsigned char *)toft_place_aside(a, whole, wide);
  else if (toft_fits_here(a, whole, wide) || (toft_affords(a, whole) && toft_extend_here(a, whole, wide)))
    base = (unsigned char *)toft_place_here(a, whole, wide);
  else
    base = (unsigned char *)toft_place_further(a, whole, wide);
  if (base == NULL) return NULL;
  unsigned char *p = base + front;
  toft_record *r = (toft_record *)(void *)(p - TOFT_ZONE - sizeof(toft_record));
  memset(base, TOFT_BYTE_ZONE, whole);
  memset(p, TOFT_BYTE_NEW, size);
  toft_bump(a); /* a mark between any two allocations tells them apart */
  r->older = a->records;
  r->p = p;
  r->end = base + whole;
  r->size = size;
  r->born = toft_epoch(a);
  r->cursor = a->head.cursor;
  r->freed = 0;
  a->records = r;
  return p;
}

static int toft_zones_intact(const toft_record *r) {
  for (const unsigned char *z = r->p - TOFT_ZONE; z < r->p; z++)
    if (*z != TOFT_BYTE_ZONE) return 0;
  for (const unsigned char *z = r->p + r->size; z < r->end; z++)
    if (*z != TOFT_BYTE_ZONE) return 0;
  return 1;
}

static int toft_check_record(toft_state *a, const toft_record *r) {
  if (toft_zones_intact(r)) return TOFT_OK;
  toft_fail(a, r->size, 0, TOFT_ECORRUPT);
  return TOFT_ECORRUPT;
}

/* Forgets the records born after `epoch`, and looks at their zones. */
static int toft_check_records(toft_state *a, uintptr_t epoch) {
  int code = TOFT_OK;
  for (; a->records != NULL && a->records->born > epoch; a->records = a->records->older)
    if (toft_check_record(a, a->records) != TOFT_OK) code = TOFT_ECORRUPT;
  return code;
}

static toft_record *toft_find_record(toft_state *a, const void *p) {
  toft_record *r = a->records;
  while (r != NULL && r->p != p) r = r->older;
  return r;
}

/* Each allocation has an epoch of its own, so a mark that is not stale names the cursor that followed it. */
static int toft_mark_is_stale(const toft_state *a, const unsigned char *cursor, uintptr_t epoch) {
  if (!(a->state & TOFT_IS_CHECKED) || epoch < a->checked_since) return 0;
  const toft_record *r = a->records;
  while (r != NULL && r->born > epoch) r = r->older;
  return cursor != (r != NULL && r->born > a->checked_since ? r->cursor : a->checked_from);
}

static void toft_poison(const toft_state *a, unsigned char *from, unsigned char *to) {
  if ((a->state & TOFT_IS_CHECKED) && from < to) memset(from, TOFT_BYTE_GONE, (size_t)(to - from));
}

static void toft_check_from_here(toft_state *a) {
  a->checked_since = toft_epoch(a);
  a->checked_from = a->head.cursor;
}

static void *toft_resize_checked(toft_state *a, void *p, size_t old_size, size_t new_size, size_t align, uint32_t flags,
                                 int *code) {
  if (old_size == 0) { /* an address without bytes has no record */
    *code = TOFT_ENOMEM;
    if (new_size == 0 && toft_pad((unsigned char *)p, align) == 0) return p;
    return (flags & TOFT_STAY) ? NULL : toft_place(a, new_size, align);
  }
  toft_record *r = toft_find_record(a, p);
  if (r == NULL || r->freed || r->size != old_size) {
    *code = TOFT_EARG;
    return NULL;
  }
  if (new_size <= old_size && toft_pad(r->p, align) == 0) {
    memset(r->p + new_size, TOFT_BYTE_ZONE, old_size - new_size);
    r->size = new_size;
    return p;
  }
  *code = TOFT_ENOMEM;
  if (flags & TOFT_STAY) return NULL;
  void *q = toft_place(a, new_size, align);
  if (q == NULL) return NULL;
  memcpy(q, p, toft_min(old_size, new_size));
  memset(p, TOFT_BYTE_GONE, old_size);
  r->freed = 1;
  return q;
}

static int toft_free_checked(toft_state *a, void *p, size_t size) {
  if (size == 0) return TOFT_OK;
  toft_record *r = toft_find_record(a, p);
  if (r == NULL || r->freed || r->size != size) return TOFT_EARG;
  memset(p, TOFT_BYTE_GONE, size); /* its place is given back by rewind, reset or release */
  r->freed = 1;
  return TOFT_OK;
}

/* ==== ops.c ==== */
/* The table behind every head that this library makes. */

#define TOFT_CLOSED (TOFT_CLAIMED | TOFT_BUSY)

static void *toft_op_alloc(toft_arena *head, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  toft_state *a = toft_state_of(head);
  int code = toft_check_request(size, align);
  void *p = NULL;
  (void)site;
  toft_enter(a);
  if (code == TOFT_OK && size == 0 && toft_pad(head->cursor, align) == 0) {
    p = head->cursor; /* as the inline path says, whatever the state */
  } else if (a->state & TOFT_BUSY) {
    code = TOFT_EBUSY;
  } else if (code == TOFT_OK) {
    p = toft_place(a, size, align);
    code = TOFT_ENOMEM;
  }
  toft_aim(a);
  if (TOFT_UNLIKELY(p == NULL))
    toft_fail(a, size, align, code);
  else if (flags & TOFT_ZERO)
    memset(p, 0, size);
  return p;
}

/* ---- resize and free ---- */

static int toft_is_last(const toft_state *a, const unsigned char *p, size_t size) {
  return !(a->state & TOFT_CLAIMED) && p >= toft_block_start(a, a->current) &&
         (size_t)(a->head.cursor - p) == TOFT_ROUND8(size);
}

/* The newest block, if it is a one-off that holds p and nothing else. */
static toft_blk *toft_lone(const toft_state *a, const unsigned char *p) {
  toft_blk *b = a->newest;
  return b->kind == TOFT_BLOCK_ONEOFF && b->of.payload == p ? b : NULL;
}

static void *toft_resize_place(toft_state *a, unsigned char *p, size_t old_size, size_t new_size, size_t align,
                               uint32_t flags) {
  int aligned = toft_pad(p, align) == 0;
  size_t old_round = TOFT_ROUND8(old_size), new_round = TOFT_ROUND8(new_size);
  if (toft_is_last(a, p, old_size) && aligned) {
    if (new_round <= old_round) {
      a->head.cursor = p + new_round;
      toft_sync(a);
      return p;
    }
    size_t more = new_round - old_round;
    int room = more <= (size_t)(a->end - a->head.cursor);
    if (toft_affords(a, more) && (room || toft_extend_here(a, more, 1))) {
      a->head.cursor = p + new_round;
      toft_sync(a);
      return p;
    }
  } else if (new_size <= old_size && aligned) {
    return p;
  }
  toft_blk *alone = toft_lone(a, p);
  if (alone != NULL && aligned && new_size <= (size_t)((unsigned char *)alone + alone->size - p)) {
    if (new_round > old_round) alone->left = p + new_round;
    return p;
  }
  if (flags & TOFT_STAY) return NULL;
  unsigned char *q = (unsigned char *)toft_place(a, new_size, align);
  if (q == NULL) return NULL;
  memcpy(q, p, toft_min(old_size, new_size));
  if (alone != NULL) { /* nothing else is in its old block: what came on top of it is q's block, or nothing */
    toft_blk **at = a->newest == alone ? &a->newest : &a->newest->next;
    *at = alone->next;
    a->live -= alone->charge;
    toft_drop(a, alone);
  }
  return q;
}

static void *toft_op_resize(toft_arena *head, void *p, size_t old_size, size_t new_size, size_t align, uint32_t flags,
                            uintptr_t site) {
  if (p == NULL && old_size == 0) return toft_op_alloc(head, new_size, align, flags, site);
  toft_state *a = toft_state_of(head);
  int code = p == NULL || old_size > TOFT_MAX_REQUEST ? TOFT_EARG : toft_check_request(new_size, align);
  void *q = NULL;
  toft_enter(a);
  if (a->state & TOFT_BUSY) code = TOFT_EBUSY;
  if (code == TOFT_OK) {
    code = TOFT_ENOMEM;
    q = (a->state & TOFT_IS_CHECKED) ? toft_resize_checked(a, p, old_size, new_size, align, flags, &code)
                                     : toft_resize_place(a, (unsigned char *)p, old_size, new_size, align, flags);
  }
  toft_aim(a);
  if (TOFT_UNLIKELY(q == NULL))
    toft_fail(a, new_size, align, code);
  else if ((flags & TOFT_ZERO) && new_size > old_size)
    memset((unsigned char *)q + old_size, 0, new_size - old_size);
  return q;
}

static void toft_op_free(toft_arena *head, void *p, size_t size) {
  toft_state *a = toft_state_of(head);
  toft_enter(a);
  if (!(a->state & TOFT_CLOSED) && p != NULL && size <= TOFT_MAX_REQUEST) {
    if (a->state & TOFT_IS_CHECKED) {
      int code = toft_free_checked(a, p, size);
      if (code != TOFT_OK) toft_fail(a, size, 0, code);
    } else if (toft_is_last(a, (unsigned char *)p, size)) {
      a->head.cursor = (unsigned char *)p;
      toft_sync(a);
    } else if (toft_lone(a, (unsigned char *)p) != NULL) {
      toft_drop(a, toft_pop(a));
    }
  }
  toft_aim(a);
}

/* ---- marks ---- */

/* The block that a mark points into: the newest regular one that was there. NULL: no mark of this arena and round. */
static toft_blk *toft_mark_block(const toft_state *a, unsigned char **at, uintptr_t epoch) {
  unsigned char *cursor = *at;
  if (((uintptr_t)cursor & 7) != 0 || (epoch & 1) != 0 || epoch > toft_epoch(a)) return NULL;
  toft_blk *b = a->current;
  while (b != NULL && b->born > epoch) b = b->of.below;
  if (b == &a->home && epoch < a->emptied) cursor = *at = a->home_start; /* nothing was allocated then */
  if (b == NULL || cursor < toft_block_start(a, b) || cursor > toft_block_end(a, b)) return NULL;
  if (b == &a->home && (a->state & TOFT_IDLE) && cursor != a->home_end) return NULL;
  return b;
}

static int toft_rewind_to(toft_state *a, toft_blk *b, unsigned char *cursor, uintptr_t epoch) {
  if (epoch != toft_epoch(a)) toft_note_peak(a, a->live);
  toft_run_cleanups(a, epoch);
  int code = toft_check_records(a, epoch);
  int moved = b != a->current;
  while (a->newest->born > epoch) {
    toft_blk *gone = toft_pop(a);
    toft_poison(a, (unsigned char *)gone + toft_offset(gone), gone->left);
    toft_drop(a, gone);
  }
  if (cursor < a->head.cursor) { /* above it: the newest allocation below the mark was given back meanwhile */
    toft_poison(a, cursor, a->head.cursor);
    a->head.cursor = cursor;
    toft_sync(a);
  }
  if (moved) toft_bump(a);
  if (epoch < a->checked_since) toft_check_from_here(a);
  return code;
}

static int toft_op_rewind(toft_arena *head, unsigned char *cursor, uintptr_t epoch) {
  toft_state *a = toft_state_of(head);
  int code = TOFT_EMARK;
  toft_enter(a);
  if (a->state & TOFT_CLOSED) {
    code = TOFT_EBUSY;
  } else {
    toft_blk *b = toft_mark_block(a, &cursor, epoch);
    if (b != NULL && !toft_mark_is_stale(a, cursor, epoch)) code = toft_rewind_to(a, b, cursor, epoch);
  }
  toft_aim(a);
  return code;
}

/* ---- reset and trim ---- */

/* The round's need joins its window. The highest of all windows, and 512 for what home's start takes: P10's H. */
static uint64_t toft_end_round(toft_state *a) {
  uint64_t *window = &a->window_peaks[a->rounds / TOFT_WINDOW % TOFT_WINDOWS], high = 0;
  if (a->rounds++ % TOFT_WINDOW == 0) *window = 0;
  if (a->round_peak > *window) *window = a->round_peak;
  a->round_peak = 0;
  for (int i = 0; i < TOFT_WINDOWS; i++)
    if (a->window_peaks[i] > high) high = a->window_peaks[i];
  return high + 512;
}

static void toft_home_current(toft_state *a, int idle) {
  a->newest = &a->home;
  a->state &= ~(uint32_t)TOFT_IDLE;
  if (idle) a->state |= TOFT_IDLE;
  toft_make_current(a, &a->home, idle ? a->home_end : a->home_start);
  a->home.left = a->head.cursor;
}

/* Takes everything but home into one list: the blocks, newest first, then the spares as they were. */
static toft_blk *toft_take_apart(toft_state *a) {
  toft_blk *all = a->newest, **tail = &all;
  while (*tail != &a->home) tail = &(*tail)->next;
  *tail = a->spares;
  a->spares = NULL;
  a->spare_bytes = 0;
  return all;
}

/* Each block of the list becomes a spare again, in its order, or goes to its source. Returns the size of the largest
 * regular block that was in use and stays. */
static size_t toft_keep_some(toft_state *a, toft_blk *list, size_t at_least, size_t at_most, size_t bound,
                             size_t count) {
  toft_blk **tail = &a->spares;
  size_t largest = 0;
  while (list != NULL) {
    toft_blk *b = list;
    list = b->next;
    if (count != 0 && b->size >= at_least && b->size <= at_most && b->size <= bound &&
        a->spare_bytes <= bound - b->size) {
      *tail = b;
      tail = &b->next;
      a->spare_bytes += b->size;
      if (b->kind == TOFT_BLOCK_REGULAR) largest = toft_max(largest, b->size);
      b->kind = TOFT_BLOCK_SPARE;
      count--;
    } else {
      toft_put(b);
    }
  }
  *tail = NULL;
  return largest;
}

/* P10. Nothing is allocated any more; what is to stay for the next round? */
static void toft_settle(toft_state *a, uint32_t policy, size_t keep) {
  uint64_t high = toft_end_round(a);
  toft_blk *newest = a->newest;
  size_t others = 0, one_offs = 0;
  for (toft_blk *b = newest; b != &a->home; b = b->next) {
    others += b->size;
    one_offs += b->kind == TOFT_BLOCK_ONEOFF;
  }

  /* One block of this size would do for the round; up to `most`, one that is there does. */
  size_t wanted = toft_merged_size(high), most = 4 * wanted;
  /* Without one, blocks stay as they are up to this: a half more than the round, as P6 may waste a quarter of each. */
  size_t bound =
      toft_round((size_t)(high < TOFT_MAX_REQUEST / 2 ? high + high / 2 : TOFT_MAX_REQUEST), TOFT_CAP) + TOFT_CAP;
  /* Many equal blocks serve any round as well as one large block, and their memory is touched already. */
  int as_they_are = high > TOFT_MERGE || (one_offs == 0 && others > TOFT_CAP && high > TOFT_CAP);
  if (policy == TOFT_KEEP_ALL) {
    wanted = toft_max(wanted, toft_min(TOFT_MERGE, others));
    most = SIZE_MAX;
    as_they_are = high > TOFT_MERGE || others > TOFT_MERGE || (one_offs == 0 && others > TOFT_CAP);
    bound = others + a->spare_bytes;
  } else if (policy == TOFT_KEEP_BYTES) {
    bound = toft_min(keep, TOFT_MAX_REQUEST);
    wanted = toft_min(wanted, toft_max(TOFT_HOME_SIZE, toft_round(bound, TOFT_HOME_SIZE)));
    most = toft_min(4 * wanted, toft_max(wanted, bound));
    as_they_are = as_they_are && bound > (high > TOFT_MERGE ? TOFT_MERGE : TOFT_CAP);
  }

  /* Home may do: as it is, as a buffer, or as a block that its source extends. */
  int extends = a->home.source != NULL && a->home.source->extend != NULL;
  int fits = high <= (size_t)(a->home_end - a->home_start) + 512 && (policy != TOFT_KEEP_ALL || others == 0);
  int single = newest != &a->home && newest->next == &a->home && newest->kind == TOFT_BLOCK_REGULAR;
  a->spare_keep = 0;
  if (wanted <= TOFT_HOME_SIZE || fits || a->source == NULL || extends) {
    (void)toft_keep_some(a, toft_take_apart(a), 0, 0, 0, 0);
    a->first = 0;
    toft_home_current(a, 0);
  } else if (single && high <= TOFT_MERGE && newest->size >= wanted && newest->size <= most) {
    toft_put_spares(a, 0);
    a->first = 0;
    toft_home_current(a, 1); /* no mark of this round can name it */
    a->newest = newest;
    newest->index = 1;
    toft_make_current(a, newest, toft_block_start(a, newest));
  } else if (as_they_are) {
    a->first = toft_max(TOFT_CAP, toft_keep_some(a, toft_take_apart(a), 0, SIZE_MAX, bound, SIZE_MAX));
    a->spare_keep = bound;
    toft_home_current(a, 1);
  } else { /* a block that was rewound before the reset is as good as one that was not */
    (void)toft_keep_some(a, toft_take_apart(a), wanted, most, SIZE_MAX, others == 0);
    a->first = a->spares != NULL ? a->spares->size : wanted;
    toft_home_current(a, 1);
  }
}

static int toft_op_reset(toft_arena *head, uint32_t policy, size_t keep) {
  toft_state *a = toft_state_of(head);
  int code = TOFT_OK;
  toft_enter(a);
  if (policy > TOFT_KEEP_BYTES) {
    code = TOFT_EARG;
  } else if (a->state & TOFT_CLOSED) {
    code = TOFT_EBUSY;
  } else {
    toft_note_peak(a, a->live);
    toft_run_cleanups(a, 0);
    code = toft_check_records(a, 0);
    for (toft_blk *b = a->newest; b != NULL && (a->state & TOFT_IS_CHECKED); b = b->next)
      toft_poison(a, b == &a->home ? a->home_start : (unsigned char *)b + toft_offset(b), toft_block_top(a, b));
    toft_settle(a, policy, keep);
    a->live = 0;
    toft_bump(a);
    a->home.born = a->current->born = toft_epoch(a);
    toft_check_from_here(a);
  }
  toft_aim(a);
  return code;
}

static void toft_op_trim(toft_arena *head, size_t keep) {
  toft_state *a = toft_state_of(head);
  toft_enter(a);
  if (!(a->state & TOFT_CLOSED)) {
    toft_put_spares(a, keep);
    toft_blk *b = a->current;
    a->spare_keep = toft_min(a->spare_keep, keep);
    if (a->live == 0 && b != &a->home && b == a->newest && b->next == &a->home &&
        a->head.cursor == toft_block_start(a, b) && b->size > keep) {
      a->checked_from = a->home_start;
      toft_put(b);
      a->first = 0;
      toft_home_current(a, 0);
      toft_bump(a);
      a->emptied = toft_epoch(a);
    } else if (a->live == 0 && b == &a->home && a->newest == b && b->source != NULL && b->source->extend != NULL) {
      size_t size = toft_max(TOFT_HOME_SIZE, toft_round(toft_min(keep, b->size), TOFT_HOME_SIZE));
      size = toft_max(size, toft_round((size_t)(a->head.cursor - (unsigned char *)a), TOFT_HOME_SIZE));
      if (size < b->size && b->source->extend(b->source, a, b->size, size)) {
        b->size = size;
        a->end = a->home_end = (unsigned char *)a + size;
      }
    }
  }
  toft_aim(a);
}

/* ---- cleanups ---- */

static void toft_link_cleanup(toft_state *a, toft_node *node, void (*fn)(void *), void *arg) {
  toft_bump(a); /* so that a mark from before asks ops, which runs it */
  node->user.fn = fn;
  node->user.arg = arg;
  node->older = a->cleanups;
  node->born = toft_epoch(a);
  a->cleanups = node;
}

static toft_cleanup *toft_op_cleanup(toft_arena *head, void (*fn)(void *), void *arg) {
  toft_state *a = toft_state_of(head);
  toft_node *node = NULL;
  toft_enter(a);
  int busy = (a->state & TOFT_CLOSED) != 0;
  if (!busy) node = (toft_node *)toft_place(a, sizeof *node, 8);
  if (node != NULL) toft_link_cleanup(a, node, fn, arg);
  toft_aim(a);
  if (node == NULL) toft_fail(a, sizeof *node, 8, busy ? TOFT_EBUSY : TOFT_ENOMEM);
  return node != NULL ? &node->user : NULL;
}

/* ---- claimed ranges ---- */

static void *toft_op_claim(toft_arena *head, toft_range *r, size_t size, size_t align) {
  toft_state *a = toft_state_of(head);
  int code = size != 0 ? toft_check_request(size, align) : TOFT_OK;
  unsigned char *p = NULL;
  toft_enter(a);
  uint32_t held = a->state & TOFT_CLAIMED;
  if ((a->state & TOFT_BUSY) || (held && r->maker != a->claim_id)) {
    code = TOFT_EBUSY;
  } else if (held ? r->cursor < a->claim_start || r->cursor > a->claim_limit : r->maker != 0) {
    code = TOFT_EARG;
  } else if (code == TOFT_OK) {
    unsigned char *before = a->head.cursor;
    uint64_t allocated = a->allocated, peak = a->peak;
    a->state &= ~(uint32_t)TOFT_CLAIMED;
    if (held) a->head.cursor = r->cursor + toft_pad(r->cursor, 8);
    toft_sync(a);
    p = size != 0 ? (unsigned char *)toft_place(a, size, align) : a->head.cursor;
    if (p != NULL) {
      toft_aim(a); /* the range gets what the inline path would have had */
      a->claim_start = p + TOFT_ROUND8(size) == a->head.cursor ? p : a->head.cursor;
      a->claim_limit = a->head.limit;
      /* The low bits tell a stale range from the present one. */
      if (!held) a->claim_id = (uintptr_t)a | ((a->claim_id + 1) & 63);
      r->cursor = a->head.cursor;
      r->limit = a->claim_limit;
      r->maker = a->claim_id;
      a->state |= TOFT_CLAIMED;
    } else {
      a->head.cursor = before;
      toft_sync(a);
      a->allocated = allocated; /* what the range holds counts when it is given */
      a->peak = peak;
      a->state |= held;
      code = TOFT_ENOMEM;
    }
  }
  toft_aim(a);
  if (p == NULL) toft_fail(a, size, align, code);
  return p;
}

static int toft_op_give(toft_arena *head, toft_range *r) {
  toft_state *a = toft_state_of(head);
  int code = TOFT_EARG;
  toft_enter(a);
  if ((a->state & TOFT_CLAIMED) && r->maker == a->claim_id && r->cursor >= a->claim_start &&
      r->cursor <= a->claim_limit) {
    a->head.cursor = r->cursor + toft_pad(r->cursor, 8);
    a->state &= ~(uint32_t)TOFT_CLAIMED;
    a->aside = NULL;
    toft_sync(a);
    r->cursor = r->limit = NULL;
    r->maker = 0;
    code = TOFT_OK;
  }
  toft_aim(a);
  return code;
}

/* ---- the rest ---- */

static int toft_op_set(toft_arena *head, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  toft_state *a = toft_state_of(head);
  int code = TOFT_ENOSYS;
  (void)name, (void)name_len;
  toft_enter(a);
  if (what == TOFT_SET_BUDGET || what == TOFT_SET_CHECKED) {
    code = a->state & TOFT_CLOSED ? TOFT_EBUSY : TOFT_OK;
    if (what == TOFT_SET_CHECKED && value > 1) code = TOFT_EARG;
  }
  if (code == TOFT_OK) {
    toft_bump(a);
    if (what == TOFT_SET_BUDGET) {
      a->budget = value;
    } else if (value != (uint64_t)((a->state & TOFT_IS_CHECKED) != 0)) {
      a->state ^= TOFT_IS_CHECKED;
      toft_check_from_here(a);
    }
  }
  toft_aim(a);
  return code;
}

static int toft_op_contains(const toft_arena *head, const void *p);
static size_t toft_op_stats(toft_arena *head, toft_stats *out, size_t out_size);
static void toft_op_release(toft_arena *head);

static const toft_arena_ops toft_ops = {
    sizeof(toft_arena_ops), 1,
    toft_op_alloc,          toft_op_resize,
    toft_op_free,           toft_op_rewind,
    toft_op_reset,          toft_op_trim,
    toft_op_cleanup,        toft_op_claim,
    toft_op_give,           toft_op_contains,
    toft_op_stats,          toft_op_set,
    toft_op_release,
};

/* ==== life.c ==== */
/* Create, release, adopt. The fast way through both ends: an arena that never saw a slow call is still as it was made,
 * so releasing it is a push on the thread's cache and creating the next one a pop. */

/* The first half of the state; the second waits for toft_prepare. */
static toft_state *toft_init(void *at, unsigned char *start, unsigned char *end, size_t size, toft_source *source,
                             uint32_t state) {
  toft_state *a = (toft_state *)at;
  a->head.cursor = a->anchor = a->home_start = start;
  a->head.ops = &toft_ops;
  a->head.limit = a->end = a->home_end = end;
  a->head.epoch = 2;
  a->state = TOFT_FRESH | state;
  a->rounds = 0;
  a->budget = UINT64_MAX;
  a->source = source;
  a->home_size = size;
  return a;
}

static toft_state *toft_init_home(void *block, toft_source *source, uint32_t state) {
  unsigned char *base = (unsigned char *)block;
  return toft_init(block, base + TOFT_HOME_START, base + TOFT_HOME_SIZE, TOFT_HOME_SIZE, source, state);
}

static toft_state *toft_create_from(toft_source *source, uint32_t state) {
  void *block = source->take(source, TOFT_HOME_SIZE);
  if (block != NULL && ((uintptr_t)block & 63) != 0) {
    source->put(source, block, TOFT_HOME_SIZE);
    return NULL;
  }
  return block != NULL ? toft_init_home(block, source, state) : NULL;
}

static TOFT_COLD toft_state *toft_create_slow(void) { return toft_create_from(&toft_heap_source, TOFT_CACHEABLE); }

toft_arena *toft_create(void) {
  toft_state *a = toft_cache_pop();
  if (TOFT_UNLIKELY(a == NULL)) a = toft_create_slow();
  return a != NULL ? &a->head : NULL;
}

toft_arena *toft_create_in(void *buffer, size_t size, toft_source *overflow) {
  unsigned char *base = (unsigned char *)buffer;
  size_t pad = (size_t)(0 - (uintptr_t)base) & 63;
  if (base == NULL || size < pad + TOFT_HOME_START) return NULL;
  unsigned char *at = base + pad, *start = at + TOFT_HOME_START;
  unsigned char *end = start + ((size - pad - TOFT_HOME_START) & ~(size_t)7);
  return &toft_init(at, start, end, (size_t)(end - at), overflow, TOFT_BUFFER)->head;
}

toft_arena *toft_create_with(const toft_options *given) {
  toft_options o = TOFT_OPTIONS;
  if (given == NULL) return toft_create();
  if (given->size < 2 * sizeof(void *)) return NULL;
  memcpy(&o, given, toft_min(given->size, sizeof o)); /* an older caller's is shorter: the rest keeps its defaults */
  if ((o.flags & ~(uint32_t)TOFT_CHECKED) != 0 || o.reserve > TOFT_MAX_REQUEST) return NULL;
  toft_source *source = o.source != NULL ? o.source : &toft_heap_source;
  toft_arena *head = NULL;
  if (o.buffer != NULL) {
    head = toft_create_in(o.buffer, o.buffer_size, o.source);
  } else if (source == &toft_heap_source) {
    head = toft_create();
  } else {
    toft_state *made = toft_create_from(source, 0);
    if (made != NULL) head = &made->head;
  }
  if (head == NULL) return NULL;
  toft_state *a = toft_state_of(head);
  toft_enter(a);
  if (o.budget != 0) a->budget = o.budget;
  a->failure = o.failure;
  a->failure_arg = o.failure_arg;
  size_t first = toft_merged_size((uint64_t)o.reserve + 512);
  if (o.reserve != 0 && first > TOFT_HOME_SIZE && o.buffer == NULL && source->extend == NULL) {
    a->first = first;
    toft_home_current(a, 1);
  }
  if (o.flags & TOFT_CHECKED) {
    a->state |= TOFT_IS_CHECKED;
    toft_check_from_here(a);
  }
  toft_aim(a);
  return head;
}

/* Home itself, as it was made: to the cache, or to where it came from. */
static void toft_put_home(toft_state *a) {
  toft_source *source = a->source;
  size_t size = a->home_size;
  if (a->state & TOFT_BUFFER) return;
  if ((a->state & TOFT_CACHEABLE) != 0 && (toft_cache_takes(size) || toft_cache_make_room(size)))
    toft_cache_push(toft_init_home(a, source, TOFT_CACHEABLE));
  else
    source->put(source, a, size);
}

/* Every block back to its source. */
static void toft_destroy(toft_state *a) {
  toft_run_cleanups(a, 0);
  (void)toft_check_records(a, 0);
  while (a->newest != &a->home) {
    toft_blk *b = a->newest;
    a->newest = b->next;
    toft_put(b);
  }
  toft_put_spares(a, 0);
  a->home_size = a->home.size; /* what its source extended it to */
  toft_put_home(a);
}

static TOFT_COLD void toft_release_slow(toft_state *a) {
  if (a->state & TOFT_FRESH) {
    toft_put_home(a);
    return;
  }
  toft_enter(a);
  if (a->state & TOFT_CLOSED)
    toft_aim(a);
  else
    toft_destroy(a);
}

/* The fast way saves no register: whatever is not it is a tail call. */
static void toft_op_release(toft_arena *head) {
  toft_state *a = toft_state_of(head);
  toft_cache *c = &toft_tls;
  if (TOFT_LIKELY(a->state == (TOFT_FRESH | TOFT_CACHEABLE) && c->phase == TOFT_CACHE_OPEN &&
                  c->held + TOFT_HOME_SIZE <= TOFT_LOAD(&toft_cache_bytes))) {
    head->cursor = a->home_start;
    toft_cache_push(a);
  } else if (a->state != (TOFT_FRESH | TOFT_BUFFER)) {
    toft_release_slow(a);
  }
}

/* ---- adopt ---- */

/* The cleanup of an adopted arena: its place in the order is where it was adopted. */
static void toft_end_adopted(void *donor) { toft_destroy((toft_state *)donor); }
static void toft_end_foreign(void *donor) { toft_release((toft_arena *)donor); }

static int toft_adopt_own(toft_state *a, toft_state *donor) {
  toft_enter(donor);
  if ((donor->state & TOFT_CLOSED) || (a->state & TOFT_CLOSED)) {
    toft_aim(donor);
    return TOFT_EBUSY;
  }
  if (!toft_affords(a, (size_t)donor->live) || donor->live > TOFT_MAX_REQUEST) {
    toft_aim(donor);
    return TOFT_ENOMEM;
  }
  donor->state |= TOFT_BUSY; /* whoever still uses it is refused */
  toft_aim(donor);
  toft_link_cleanup(a, &donor->adopted, toft_end_adopted, donor);
  a->live += donor->live;
  a->allocated += donor->live;
  a->adopted_live += donor->live;
  return TOFT_OK;
}

/* A rewind is refused with this code whatever the mark is, and this is none. */
static int toft_is_closed(toft_arena *a) { return a->ops->rewind(a, NULL, 0) == TOFT_EBUSY; }

/* Of another maker, one or both: nothing is taken over, the donor's own release waits on the list. */
static int toft_adopt_foreign(toft_arena *head, toft_arena *donor) {
  if (head->ops->version != 1 || donor->ops->version != 1) return TOFT_ENOSYS;
  if (toft_is_closed(head) || toft_is_closed(donor)) return TOFT_EBUSY; /* a closed donor would ignore that release */
  toft_cleanup *node = toft_cleanup_add(head, NULL, donor);
  if (node == NULL) return TOFT_ENOMEM;
  node->fn = toft_end_foreign;
  return TOFT_OK;
}

int toft_adopt(toft_arena *head, toft_arena *donor) {
  if (head == donor || donor == NULL) return TOFT_EARG;
  if (head->ops != &toft_ops || donor->ops != &toft_ops) return toft_adopt_foreign(head, donor);
  toft_state *a = toft_state_of(head);
  toft_enter(a);
  int code = toft_adopt_own(a, toft_state_of(donor));
  toft_aim(a);
  return code;
}

/* ==== inspect.c ==== */
/* Looking at an arena: membership, statistics, the walk over blocks. */

static const unsigned char *toft_lookup_start(const toft_state *a, toft_blk *b) {
  return b == &a->home ? a->home_start : (unsigned char *)b + toft_offset(b);
}

/* Home idling holds nothing, though its cursor is at its end. */
static size_t toft_block_used(const toft_state *a, toft_blk *b) {
  if (b == &a->home && (a->state & TOFT_IDLE)) return 0;
  return (size_t)(toft_block_top(a, b) - toft_lookup_start(a, b));
}

static toft_state *toft_adopted_by(const toft_node *node) {
  return node->user.fn == toft_end_adopted ? (toft_state *)node->user.arg : NULL;
}

static int toft_op_contains(const toft_arena *head, const void *p) {
  const toft_state *a = toft_state_of(head);
  const unsigned char *q = (const unsigned char *)p;
  if (a->state & TOFT_FRESH) return q >= a->home_start && q < head->cursor;
  for (toft_blk *b = a->newest; b != NULL; b = b->next) {
    const unsigned char *start = toft_lookup_start(a, b);
    if (q >= start && q < start + toft_block_used(a, b)) return 1;
  }
  for (const toft_node *n = a->cleanups; n != NULL; n = n->older) {
    const toft_state *donor = toft_adopted_by(n);
    if (donor != NULL && toft_op_contains(&donor->head, p)) return 1;
  }
  return 0;
}

/* `reserved` and the like of this arena and of those it adopted. */
static void toft_add_stats(const toft_state *a, toft_stats *s) {
  for (toft_blk *b = a->newest; b != NULL; b = b->next) {
    s->reserved += b->size;
    s->blocks++;
    s->wasted += b->size - toft_block_used(a, b);
    if (b == a->current) s->wasted -= (size_t)(a->end - a->head.cursor);
  }
  s->reserved += a->spare_bytes;
  s->source_calls += a->source_calls;
  for (const toft_node *n = a->cleanups; n != NULL; n = n->older) {
    const toft_state *donor = toft_adopted_by(n);
    if (donor != NULL) toft_add_stats(donor, s);
  }
}

static size_t toft_op_stats(toft_arena *head, toft_stats *out, size_t out_size) {
  toft_state *a = toft_state_of(head);
  toft_stats s;
  toft_enter(a);
  memset(&s, 0, sizeof s);
  toft_add_stats(a, &s);
  s.live = a->live;
  s.allocated = a->allocated;
  s.peak = a->peak;
  s.budget = a->budget;
  toft_aim(a);
  size_t n = toft_min(out_size, sizeof s);
  memcpy(out, &s, n);
  return n;
}

static int toft_walk(toft_state *a, int (*fn)(void *, const toft_block *), void *arg) {
  toft_block v;
  const toft_node *n = a->cleanups;
  for (toft_blk *b = a->newest; b != NULL; b = b->next) {
    for (; n != NULL && n->born > b->born; n = n->older) {
      toft_state *donor = toft_adopted_by(n);
      int stop = donor != NULL ? toft_walk(donor, fn, arg) : 0;
      if (stop != 0) return stop;
    }
    v.base = b == &a->home ? (const void *)a : (const void *)b;
    v.size = b->size;
    v.start = toft_lookup_start(a, b);
    v.used = toft_block_used(a, b);
    v.kind = (int)b->kind;
    int stop = fn(arg, &v);
    if (stop != 0) return stop;
  }
  for (toft_blk *b = a->spares; b != NULL; b = b->next) {
    v.base = b;
    v.size = b->size;
    v.start = (const unsigned char *)b + TOFT_HEADER;
    v.used = 0;
    v.kind = TOFT_BLOCK_SPARE;
    int stop = fn(arg, &v);
    if (stop != 0) return stop;
  }
  return 0;
}

int toft_blocks(toft_arena *head, int (*fn)(void *arg, const toft_block *block), void *arg) {
  if (head->ops != &toft_ops) return TOFT_ENOSYS;
  toft_state *a = toft_state_of(head);
  toft_enter(a);
  toft_aim(a);
  return toft_walk(a, fn, arg);
}

const char *toft_version(void) { return TOFT_VERSION; }

const char *toft_error_name(int code) {
  switch (code) {
    case TOFT_OK: return "TOFT_OK";
    case TOFT_ENOMEM: return "TOFT_ENOMEM";
    case TOFT_EMARK: return "TOFT_EMARK";
    case TOFT_EBUSY: return "TOFT_EBUSY";
    case TOFT_EARG: return "TOFT_EARG";
    case TOFT_ENOSYS: return "TOFT_ENOSYS";
    case TOFT_ECORRUPT: return "TOFT_ECORRUPT";
    default: return "unknown";
  }
}

/* ==== text.c ==== */
/* Text in an arena: printf, and packed bytes. On the ABI alone: any maker's arena will do. */

/* Formats into the room there is; a second time only if that was too small. */
char *toft_vprintf(toft_arena *a, const char *format, va_list args) {
  va_list again;
  size_t room = toft_min((size_t)(a->limit - a->cursor), INT_MAX); /* what vsnprintf takes everywhere */
  va_copy(again, args);
  int length = vsnprintf(room != 0 ? (char *)a->cursor : NULL, room, format, args);
  char *s = NULL;
  if (length >= 0) {
    size_t size = (size_t)length + 1;
    unsigned char *here = a->cursor;
    s = (char *)toft_alloc(a, size);
    if (s != NULL && ((unsigned char *)s != here || size > room)) (void)vsnprintf(s, size, format, again);
  }
  va_end(again);
  return s;
}

char *toft_printf(toft_arena *a, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *s = toft_vprintf(a, format, args);
  va_end(args);
  return s;
}

/* Strings above a quarter of a chunk get memory of their own, so that at most a quarter of a chunk is left unused;
 * chunks double up to 4 KiB. */
void *toft_pack_more(toft_pack *k, size_t n) {
  if (n > k->chunk / 4) return toft_alloc(k->arena, n);
  unsigned char *p = (unsigned char *)toft_alloc(k->arena, k->chunk);
  if (p == NULL) return toft_alloc(k->arena, n);
  k->cursor = p + n;
  k->limit = p + k->chunk;
  if (k->chunk < 4096) k->chunk *= 2;
  return p;
}

void *toft_pack_bytes(toft_pack *k, const void *p, size_t n) {
  void *q = toft_pack_alloc(k, n);
  if (q != NULL && n != 0) memcpy(q, p, n);
  return q;
}

/* ==== hooks.c ==== */
/* malloc, realloc and free for libraries that take such hooks: the size is kept in front of each object. */

#define TOFT_HOOK_ALIGN 16

static TOFT_THREAD_LOCAL toft_arena *toft_current_arena;

static size_t *toft_hook_size(void *p) { return (size_t *)(void *)((unsigned char *)p - TOFT_HOOK_ALIGN); }

void *toft_hook_malloc(void *arena, size_t size) {
  size_t whole = size <= SIZE_MAX - TOFT_HOOK_ALIGN ? size + TOFT_HOOK_ALIGN : SIZE_MAX;
  unsigned char *base = (unsigned char *)toft_alloc_aligned((toft_arena *)arena, whole, TOFT_HOOK_ALIGN);
  if (base == NULL) return NULL;
  *toft_hook_size(base + TOFT_HOOK_ALIGN) = size;
  return base + TOFT_HOOK_ALIGN;
}

void *toft_hook_realloc(void *arena, void *p, size_t size) {
  if (p == NULL) return toft_hook_malloc(arena, size);
  size_t old = *toft_hook_size(p);
  size_t whole = size <= SIZE_MAX - TOFT_HOOK_ALIGN ? size + TOFT_HOOK_ALIGN : SIZE_MAX;
  unsigned char *base = (unsigned char *)toft_resize((toft_arena *)arena, (unsigned char *)p - TOFT_HOOK_ALIGN,
                                                     old + TOFT_HOOK_ALIGN, whole, TOFT_HOOK_ALIGN);
  if (base == NULL) return NULL;
  *toft_hook_size(base + TOFT_HOOK_ALIGN) = size;
  return base + TOFT_HOOK_ALIGN;
}

void toft_hook_free(void *arena, void *p) {
  if (p != NULL)
    toft_free((toft_arena *)arena, (unsigned char *)p - TOFT_HOOK_ALIGN, *toft_hook_size(p) + TOFT_HOOK_ALIGN);
}

toft_arena *toft_current(void) { return toft_current_arena; }

toft_arena *toft_current_swap(toft_arena *a) {
  toft_arena *before = toft_current_arena;
  toft_current_arena = a;
  return before;
}

void *toft_current_malloc(size_t size) {
  return toft_current_arena != NULL ? toft_hook_malloc(toft_current_arena, size) : NULL;
}

void *toft_current_calloc(size_t count, size_t size) {
  size_t bytes = toft_array_size(count, size);
  void *p = toft_current_malloc(bytes);
  if (p != NULL) memset(p, 0, bytes);
  return p;
}

void *toft_current_realloc(void *p, size_t size) {
  return toft_current_arena != NULL ? toft_hook_realloc(toft_current_arena, p, size) : NULL;
}

void toft_current_free(void *p) {
  if (toft_current_arena != NULL) toft_hook_free(toft_current_arena, p);
}

/* ==== pool.c ==== */
/* Pools, where the inline layer has no answer: making, growing, clearing, trimming. A pool that grows is one range of
 * address space with three parts, each committed from its front: bits, keys, slots. A fixed one is one block with the
 * same parts. */

#define TOFT_POOL_STEP (64 * TOFT_KIB) /* slots grow by doubling, within these bounds */
#define TOFT_POOL_LEAP (64 * TOFT_MIB)
#define TOFT_POOL_SMALL (512 * TOFT_KIB) /* of slots are in small pages, the rest in huge ones */

/* max_slots where none is given, the most space for their slots, and what is too few. */
#define TOFT_POOL_MOST ((size_t)0xffffff)
#if UINTPTR_MAX > 0xffffffff
#define TOFT_POOL_SPAN (TOFT_MIB * TOFT_MIB)
#else
#define TOFT_POOL_SPAN (64 * TOFT_MIB)
#endif
#define TOFT_POOL_FEW 1024

static int toft_pool_close(toft_pool *p, int code) {
  *p = toft_pool_closed();
  return code;
}

/* The least that has room for the numbers 0 to n, less 1; 3 at least, so that no key is UINT32_MAX without its
 * number. */
static uint32_t toft_pool_mask(size_t n) {
  uint32_t mask = 3;
  while (mask < n) mask = 2 * mask + 1;
  return mask;
}

/* ---- where the parts are ---- */

typedef struct toft_pool_parts {
  size_t bits, keys, slots, end; /* offsets; each part ends where the next one begins at the latest */
} toft_pool_parts;

/* In a block that starts on a multiple of `base`; align is that of the slots. 0: too large. */
static int toft_pool_lay(toft_pool_parts *at, size_t n, size_t stride, size_t base, size_t align) {
  size_t bits = n / 64 * 8 + 8, keys = ((size_t)toft_pool_mask(n) + 1) * sizeof(uint32_t);
  size_t pad = align > base ? align - base : 0; /* where the slots begin is known when the block is there */
  if (keys > TOFT_MAX_REQUEST / 2 || n > (TOFT_MAX_REQUEST / 2 - pad) / stride) return 0;
  at->bits = 0;
  at->keys = toft_round(bits, toft_min(base, 4096));
  at->slots = toft_round(at->keys + keys, toft_min(base, align));
  at->end = at->slots + pad + n * stride;
  return at->end <= TOFT_MAX_REQUEST;
}

/* So that the slots' byte number `in` is aligned. */
static void toft_pool_place(toft_pool *p, const toft_pool_parts *at, unsigned char *block, size_t align, size_t in) {
  p->live_bits = (uint64_t *)(void *)(block + at->bits);
  p->keys = (uint32_t *)(void *)(block + at->keys);
  p->slots = block + at->slots;
  p->slots += toft_pad(p->slots + in, align);
}

/* ---- fixed ---- */

static int toft_pool_init_fixed(toft_pool *p, const toft_pool_options *o, size_t stride, size_t align) {
  toft_pool_parts at;
  size_t n = o->slots;
  unsigned char *block;
  if (o->buffer != NULL) {
    size_t pad = (size_t)(0 - (uintptr_t)o->buffer) & 7, size = o->buffer_size;
    if (size < pad) return TOFT_EARG;
    size -= pad;
    if (n == 0) { /* the most that fits */
      size_t low = 0, high = toft_min(TOFT_POOL_SLOTS_MAX, size / stride) + 1;
      while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (toft_pool_lay(&at, middle, stride, 8, align) && at.end <= size)
          low = middle;
        else
          high = middle;
      }
      n = low;
    }
    if (n == 0 || !toft_pool_lay(&at, n, stride, 8, align) || at.end > size) return TOFT_EARG;
    block = (unsigned char *)o->buffer + pad;
    p->block_size = size;
  } else {
    align = toft_max(align, 64);
    if (!toft_pool_lay(&at, n, stride, 64, align)) return TOFT_ENOMEM;
    p->block_size = toft_round(at.end, TOFT_HOME_SIZE);
    p->source = o->source != NULL ? o->source : toft_heap();
    block = (unsigned char *)p->source->take(p->source, p->block_size);
    if (block == NULL) return TOFT_ENOMEM;
  }
  p->block = block;
  toft_pool_place(p, &at, block, align, 0);
  memset(block, 0, at.slots);
  p->mask = p->reach = toft_pool_mask(n);
  p->slots_size = n * stride;
  p->room = p->max = (uint32_t)n;
  return TOFT_OK;
}

/* ---- growing ---- */

static size_t toft_pool_part(const void *from, const void *to) {
  return (size_t)((const unsigned char *)to - (const unsigned char *)from);
}

/* Commits a part up to `want` bytes at least; `whole` is all there is of it. */
static int toft_pool_commit(void *part, size_t *size, size_t want, size_t whole) {
  if (want <= *size) return 1;
  want = toft_min(toft_os_page(want), whole);
  if (!toft_os_commit((unsigned char *)part + *size, want - *size)) return 0;
  *size = want;
  return 1;
}

/* How many slots have memory, and keys. */
static void toft_pool_measure(toft_pool *p) {
  size_t keys = p->keys_size / sizeof(uint32_t), bits = p->bits_size * 8, slots = p->slots_size / p->stride;
  uint32_t reach = p->mask;
  if (keys == 0) return; /* its making failed */
  while (reach >= keys) reach /= 2;
  p->reach = reach;
  p->room = (uint32_t)toft_min(toft_min(p->max, slots), toft_min(reach, bits - 1));
}

/* Memory for the slots 1 to n, n <= max. Whatever was committed stays so, if not all can be. */
static int toft_pool_grow(toft_pool *p, size_t n) {
  unsigned char *end = (unsigned char *)p->block + p->block_size;
  size_t bits = n / 64 * 8 + 8, keys = ((size_t)toft_pool_mask(n) + 1) * sizeof(uint32_t), slots = n * p->stride;
  if (slots > TOFT_POOL_SMALL) slots = TOFT_POOL_SMALL + toft_round(slots - TOFT_POOL_SMALL, TOFT_HUGE_PAGE);
  int done = toft_pool_commit(p->live_bits, &p->bits_size, bits, toft_pool_part(p->live_bits, p->keys)) &&
             toft_pool_commit(p->keys, &p->keys_size, keys, toft_pool_part(p->keys, p->slots)) &&
             toft_pool_commit(p->slots, &p->slots_size, slots, toft_pool_part(p->slots, end));
  toft_pool_measure(p);
  return done;
}

/* ---- kept ranges ----
 * Making a range costs several system calls, and each of its pages a fault. So the thread's cache keeps the last few,
 * and what is committed of them counts as held. */

#define TOFT_POOL_KEPT 4

typedef struct toft_pool_range {
  unsigned char *block;
  size_t size, keys, slots; /* bytes; the parts' offsets */
  size_t bits_size, keys_size, slots_size;
  uint32_t dirty; /* bits and keys up to here are not 0 */
} toft_pool_range;

static TOFT_THREAD_LOCAL toft_pool_range toft_pool_kept[TOFT_POOL_KEPT]; /* the newest first; block NULL: none */

static size_t toft_pool_range_held(const toft_pool_range *r) { return r->bits_size + r->keys_size + r->slots_size; }

static void toft_pool_drop(toft_pool_range *r) {
  if (r->block == NULL) return;
  toft_tls.held -= toft_pool_range_held(r);
  toft_os_unmap(r->block, r->size);
  r->block = NULL;
}

static void toft_pool_drop_kept(void) {
  for (int i = 0; i < TOFT_POOL_KEPT; i++) toft_pool_drop(&toft_pool_kept[i]);
}

/* Keeps a pool's range, as much of its slots as the cache has room for; an eighth is left to others. */
static int toft_pool_keep(const toft_pool *p) {
  toft_pool_range r;
  size_t others = TOFT_LOAD(&toft_cache_bytes) / 8, least = p->bits_size + p->keys_size + others, room;
  if (!toft_cache_takes(least + TOFT_POOL_STEP)) return 0;
  toft_pool_drop(&toft_pool_kept[TOFT_POOL_KEPT - 1]);
  room = TOFT_LOAD(&toft_cache_bytes) - toft_tls.held - least;
  r.block = (unsigned char *)p->block;
  r.size = p->block_size;
  r.keys = toft_pool_part(p->block, p->keys);
  r.slots = toft_pool_part(p->block, p->slots);
  r.bits_size = p->bits_size;
  r.keys_size = p->keys_size;
  r.slots_size = p->slots_size;
  r.dirty = (uint32_t)toft_max(p->dirty, p->used);
  if (r.slots_size > room) {
    r.slots_size = room & ~(toft_os_page(1) - 1);
    toft_os_decommit(p->slots + r.slots_size, p->slots_size - r.slots_size);
  }
  memmove(toft_pool_kept + 1, toft_pool_kept, sizeof toft_pool_kept - sizeof r);
  toft_pool_kept[0] = r;
  toft_tls.held += toft_pool_range_held(&r);
  return 1;
}

/* A kept range with these parts; 0: there is none. */
static int toft_pool_take_kept(toft_pool *p, const toft_pool_parts *at, size_t size, size_t align) {
  for (int i = 0; i < TOFT_POOL_KEPT; i++) {
    toft_pool_range r = toft_pool_kept[i];
    if (r.block == NULL || r.size < size || r.keys != at->keys) continue;
    toft_pool_place(p, at, r.block, align, TOFT_POOL_SMALL);
    if (toft_pool_part(r.block, p->slots) != r.slots) continue;
    toft_tls.held -= toft_pool_range_held(&r);
    for (; i + 1 < TOFT_POOL_KEPT; i++) toft_pool_kept[i] = toft_pool_kept[i + 1];
    toft_pool_kept[i].block = NULL;
    p->block = r.block;
    p->block_size = r.size;
    p->bits_size = r.bits_size;
    p->keys_size = r.keys_size;
    p->slots_size = r.slots_size;
    memset(p->live_bits, 0, (size_t)r.dirty / 64 * 8 + 8);
    memset(p->keys, 0, ((size_t)r.dirty + 1) * sizeof(uint32_t));
    return 1;
  }
  return 0;
}

/* Ranges of pools that did not say how large they may get are alike, so that one serves another. */
static size_t toft_pool_range_size(size_t end, size_t max_slots) {
  size_t size = TOFT_HUGE_PAGE;
  if (sizeof(void *) == 4 || max_slots != 0) return toft_os_page(end);
  while (size < end) size *= 2;
  return size;
}

static int toft_pool_init_growing(toft_pool *p, const toft_pool_options *o, size_t stride) {
  size_t page = toft_os_page(1), max = o->max_slots, align = page, size;
  toft_pool_parts at;
  unsigned char *block;
  if (max == 0) max = toft_max(toft_max(o->slots, 1), toft_min(TOFT_POOL_MOST, TOFT_POOL_SPAN / stride));
  for (;; max /= 2) { /* fewer, if nobody said how many and there is so little space */
    int fits;
    if (toft_min(max, TOFT_MAX_REQUEST / stride) * stride >= TOFT_HUGE_PAGE) align = toft_max(page, TOFT_HUGE_PAGE);
    fits = toft_pool_lay(&at, max, stride, page, align);
    size = fits ? toft_pool_range_size(at.end, o->max_slots) : 0;
    if (fits && toft_pool_take_kept(p, &at, size, align)) break;
    block = fits ? (unsigned char *)toft_os_reserve(size) : NULL;
    if (block != NULL) {
      p->block = block;
      p->block_size = size;
      toft_pool_place(p, &at, block, align, TOFT_POOL_SMALL);
#ifdef MADV_HUGEPAGE
      if (align >= TOFT_HUGE_PAGE) { /* a wish: small pages serve as well */
        unsigned char *huge = p->slots + TOFT_POOL_SMALL;
        (void)madvise(huge, toft_pool_part(huge, block + size), MADV_HUGEPAGE);
      }
#endif
      break;
    }
    if (o->max_slots != 0 || max / 2 < toft_max(o->slots, TOFT_POOL_FEW)) return TOFT_ENOMEM;
  }
  p->mask = toft_pool_mask(max);
  p->max = (uint32_t)max;
  if (!toft_pool_grow(p, o->slots)) {
    toft_os_unmap(p->block, p->block_size);
    return TOFT_ENOMEM;
  }
  return TOFT_OK;
}

/* ---- init and release ---- */

static int toft_pool_check(const toft_pool_options *o) {
  int fixed = (o->flags & TOFT_POOL_FIXED) != 0 || o->buffer != NULL;
  if ((o->flags & ~(uint32_t)(TOFT_POOL_FIXED | TOFT_POOL_RETIRE)) != 0) return TOFT_EARG;
  if (o->align > TOFT_POOL_ALIGN_MAX || (o->align & (o->align - 1)) != 0) return TOFT_EARG;
  if (o->slots > TOFT_POOL_SLOTS_MAX || o->max_slots > TOFT_POOL_SLOTS_MAX) return TOFT_EARG;
  if (o->max_slots != 0 && (o->slots > o->max_slots || (fixed && o->slots != o->max_slots))) return TOFT_EARG;
  if (o->source != NULL && (!fixed || o->buffer != NULL)) return TOFT_EARG;
  if (o->buffer == NULL && (o->buffer_size != 0 || (fixed && o->slots == 0))) return TOFT_EARG;
  return TOFT_OK;
}

int toft_pool_init(toft_pool *p, const toft_pool_options *given) {
  toft_pool_options o = TOFT_POOL_OPTIONS;
  int code = toft_pool_close(p, TOFT_EARG);
  if (given == NULL || given->size < 2 * sizeof(size_t)) return code;
  memcpy(&o, given, toft_min(given->size, sizeof o)); /* an older caller's is shorter: the rest keeps its defaults */
  if (toft_pool_check(&o) != TOFT_OK) return code;
  size_t size = toft_max(o.slot_size, 1), align = o.align;
  if (align == 0) align = toft_min(16, size & (0 - size));
  if (size > TOFT_MAX_REQUEST / 2) return TOFT_ENOMEM;
  p->stride = toft_round(size, align);
  p->flags = o.flags;
  if (o.buffer != NULL || (o.flags & TOFT_POOL_FIXED) != 0) {
    p->flags |= TOFT_POOL_FIXED;
    code = toft_pool_init_fixed(p, &o, p->stride, align);
  } else {
    code = toft_pool_init_growing(p, &o, p->stride);
  }
  if (code != TOFT_OK) return toft_pool_close(p, code);
  if (o.flags & TOFT_POOL_RETIRE) p->spent = ~p->mask;
  p->keys[0] = 1;
  return TOFT_OK;
}

void toft_pool_release(toft_pool *p) {
  if (p->source != NULL)
    p->source->put(p->source, p->block, p->block_size);
  else if (p->block_size != 0 && (p->flags & TOFT_POOL_FIXED) == 0 && !toft_pool_keep(p))
    toft_os_unmap(p->block, p->block_size);
  (void)toft_pool_close(p, TOFT_OK);
}

/* ---- slots ---- */

/* Asked of slots above `used`, which are not live. */
static int toft_pool_is_retired(const toft_pool *p, size_t i) { return p->keys[i] >= p->spent; }

/* More room, by one slot at least. */
static int toft_pool_step(toft_pool *p) {
  uint32_t had = p->room;
  if (had == p->max) return 0;
  size_t bytes = toft_min(toft_max(had * p->stride, TOFT_POOL_STEP), TOFT_POOL_LEAP);
  size_t step = toft_min(toft_max(bytes / p->stride, 1), p->max - had);
  if (!toft_pool_grow(p, had + step) && p->room == had) (void)toft_pool_grow(p, (size_t)had + 1);
  return p->room != had;
}

toft_handle toft_pool_insert_more(toft_pool *p) {
  uint32_t i, top;
  for (;; p->used = p->top = i, p->idle++) { /* over slots that are retired */
    i = p->used + 1;
    if (i > p->room && !toft_pool_step(p)) return 0;
    if (!toft_pool_is_retired(p, i)) break;
  }
  for (top = i; top < p->room && (top & 63) < 62 && !toft_pool_is_retired(p, (size_t)top + 1);) top++;
  p->live_bits[i >> 6] |= ~(uint64_t)0 >> (63 - (top & 63)) & ~(uint64_t)0 << (i & 63);
  p->used = i;
  p->top = top;
  return p->keys[i] |= i;
}

int toft_pool_reserve(toft_pool *p, size_t slots) {
  if (slots > p->max) return TOFT_EARG;
  return slots <= p->room || toft_pool_grow(p, slots) ? TOFT_OK : TOFT_ENOMEM;
}

/* No branch on what a key holds, so that it can be done for several at once. */
void toft_pool_clear(toft_pool *p) {
  uint32_t *keys = p->keys, mask = p->mask, spent = p->spent, retired = 0, used = p->used;
  for (uint32_t i = 1; i <= used; i++) {
    uint32_t key = keys[i], live = ((key ^ i) & mask) == 0;
    key = (key & ~mask) + ((mask + 1) & (0 - live));
    retired += live & (uint32_t)(key >= spent);
    keys[i] = key;
  }
  if (used != 0) memset(p->live_bits, 0, (size_t)p->top / 64 * 8 + 8);
  p->retired += retired;
  p->dirty = (uint32_t)toft_max(p->dirty, used);
  p->free = p->used = p->idle = p->top = 0;
}

void toft_pool_trim(toft_pool *p) {
  uint32_t *keys = p->keys, mask = p->mask, n = p->used;
  p->dirty = (uint32_t)toft_max(p->dirty, n);
  for (; n != 0 && ((keys[n] ^ n) & mask) != 0; n--) keys[n] &= ~mask;
  for (; p->top > n; p->top--) p->live_bits[p->top >> 6] &= ~((uint64_t)1 << (p->top & 63)); /* set in advance */
  p->used = n;
  p->free = p->idle = 0;
  for (uint32_t i = n; i != 0; i--) { /* the lowest first */
    if (((keys[i] ^ i) & mask) == 0) continue;
    keys[i] &= ~mask;
    p->idle++;
    if (keys[i] >= p->spent) continue;
    keys[i] |= p->free;
    p->free = i;
  }
  if ((p->flags & TOFT_POOL_FIXED) != 0 || p->block_size == 0) return;
  size_t keep = toft_os_page((size_t)n * p->stride);
  if (keep >= p->slots_size) return;
  toft_os_decommit(p->slots + keep, p->slots_size - keep);
  p->slots_size = keep;
  toft_pool_measure(p);
}

toft_pool_stats toft_pool_stats_of(const toft_pool *p) {
  toft_pool_stats s;
  s.live = p->used - p->idle;
  s.capacity = p->room;
  s.retired = p->retired;
  s.reserved = s.committed = p->block_size;
  if ((p->flags & TOFT_POOL_FIXED) == 0) s.committed = p->bits_size + p->keys_size + p->slots_size;
  return s;
}

/* ==== recycler.c ==== */
/* Recyclers: blocks that count what is live in them. See recycler.h for the layout and the inline layer.
 *
 * A block is fresh, being filled (now or aside), full, sparse or empty. What is freed in it is chained up through the
 * freed bytes themselves and not looked at again, until the block is empty, or sparse enough to be worth a sweep: then
 * the pieces are sorted and joined by a bitmap on the stack, and filled in the order of their addresses. */

enum { TOFT_RECYCLER_FILLED = 0, TOFT_RECYCLER_FULL, TOFT_RECYCLER_SPARSE, TOFT_RECYCLER_EMPTY };

#define TOFT_RECYCLER_LOOKS 16    /* at blocks of a list, for one that fits */
#define TOFT_RECYCLER_TRIES 4     /* sparse blocks looked at before another is filled */
#define TOFT_RECYCLER_TINY 512    /* these go into holes first */
#define TOFT_RECYCLER_LITTLE 4096 /* larger requests are served aside */
#define TOFT_RECYCLER_SWEPT 65536 /* of the largest block that is ever swept */
#define TOFT_SHARDS_MAX 256
#define TOFT_RECYCLER_COUNTED_MAX ((size_t)1 << 30) /* of a block asked for by count: live has 32 bits */

/* In a free line of the zone of the segment's first whole unit. */
typedef struct toft_recycler_segment {
  struct toft_recycler_segment *next;
  unsigned char *base, *first, *end; /* as the source gave it; what is cut into units */
  size_t size;
  size_t busy; /* units that are not empty */
} toft_recycler_segment;

TOFT_STATIC_ASSERT(recycler_segment, sizeof(toft_recycler_segment) <= 64);

/* recycler_large.c */
static void *toft_recycler_large_alloc(toft_recycler *r, size_t size, size_t align);
static void toft_recycler_large_free(toft_recycler *r, void *p, size_t size);
static int toft_recycler_large_resize(toft_recycler *r, void *p, size_t was, size_t now);
static void toft_recycler_large_release(toft_recycler *r);
static size_t toft_recycler_large_trim(toft_recycler *r, size_t idle, size_t keep);
static void toft_recycler_large_count(const toft_recycler *r, toft_recycler_stats *s);

/* ---- lists ---- */

static void toft_recycler_push(toft_recycler_list *list, toft_recycler_block *b, int32_t name) {
  b->list = name;
  b->previous = NULL;
  b->next = list->first;
  if (list->first != NULL) list->first->previous = b;
  if (list->last == NULL) list->last = b;
  list->first = b;
}

/* At the end of the sparse. */
static void toft_recycler_append(toft_recycler_list *list, toft_recycler_block *b) {
  b->list = TOFT_RECYCLER_SPARSE;
  b->next = NULL;
  b->previous = list->last;
  *(list->last != NULL ? &list->last->next : &list->first) = b;
  list->last = b;
}

static void toft_recycler_unlink(toft_recycler_list *list, toft_recycler_block *b) {
  *(b->previous != NULL ? &b->previous->next : &list->first) = b->next;
  *(b->next != NULL ? &b->next->previous : &list->last) = b->previous;
  b->list = TOFT_RECYCLER_FILLED;
}

/* ---- the source ---- */

static void *toft_recycler_take(toft_recycler *r, size_t size) {
  void *p;
  r->source_calls++;
  p = r->source == &toft_heap_source ? toft_heap_take_aligned(size, TOFT_RECYCLER_UNIT)
                                     : r->source->take(r->source, size);
  if (p == NULL) return NULL;
  r->reserved += size;
  r->peak = toft_max(r->peak, r->reserved);
  return p;
}

static void toft_recycler_put(toft_recycler *r, void *p, size_t size) {
  r->reserved -= size;
  r->source->put(r->source, p, size);
}

/* ---- blocks ---- */

/* The address in b whose low half is known. */
static unsigned char *toft_recycler_at(toft_recycler_block *b, uint32_t low) {
  return (unsigned char *)b + (int32_t)(low - (uint32_t)(uintptr_t)b);
}

static unsigned char *toft_recycler_start(toft_recycler_block *b) { return (unsigned char *)b + b->start; }

static toft_recycler_list *toft_recycler_empties(toft_recycler *r, toft_recycler_block *b) {
  return b->segment != NULL ? &r->empty : &r->empty_counted;
}

/* A block that was never used, from `start` to `end`. */
static toft_recycler_block *toft_recycler_make(toft_recycler *r, toft_recycler_block *b, unsigned char *start,
                                               unsigned char *end, toft_recycler_segment *segment) {
  b->owner = r;
  b->segment = segment;
  b->start = (int32_t)(start - (unsigned char *)b);
  b->capacity = (int32_t)(end - start);
  b->list = TOFT_RECYCLER_FILLED;
  if (segment != NULL) segment->busy++;
  return b;
}

/* All of it is to be filled: a range from `start` on. */
static void toft_recycler_open(toft_recycler_range *range, toft_recycler_block *b) {
  b->live = b->capacity;
  b->notice = INT32_MIN; /* not while it is filled */
  b->holes = TOFT_RECYCLER_NONE;
  b->swept = 0;
  b->widest = 0;
  range->block = b;
  range->sweep = TOFT_RECYCLER_NONE;
  range->cursor = toft_recycler_start(b);
  range->limit = range->cursor + b->capacity;
}

static void toft_recycler_emptied(toft_recycler *r, toft_recycler_block *b) {
  if (b->segment != NULL) b->segment->busy--;
  toft_recycler_push(toft_recycler_empties(r, b), b, TOFT_RECYCLER_EMPTY);
}

/* To be noticed again when an eighth more is free, or all. */
static void toft_recycler_watch(toft_recycler_block *b) {
  b->notice = b->live > b->capacity / 8 ? b->live - b->capacity / 8 : 0;
}

void toft_recycler_noticed(toft_recycler *r, toft_recycler_block *b) {
  if (b->live == 0) {
    if (b->list == TOFT_RECYCLER_SPARSE) toft_recycler_unlink(&r->sparse, b);
    toft_recycler_emptied(r, b);
    return;
  }
  b->widest = 0;
  toft_recycler_watch(b);
  if (b->list != TOFT_RECYCLER_SPARSE) toft_recycler_push(&r->sparse, b, TOFT_RECYCLER_SPARSE);
}

/* What was freed last reaches its block. */
static void toft_recycler_settle(toft_recycler *r) {
  toft_recycler_run gone = r->gone;
  if (gone.first == gone.end) return;
  r->gone.first = r->gone.end = (unsigned char *)(void *)r;
  toft_recycler_drop(r, gone.first, (size_t)(gone.end - gone.first));
}

/* What a range has left becomes a hole. */
static void toft_recycler_drop_rest(toft_recycler_range *range) {
  size_t rest = (size_t)(range->limit - range->cursor);
  if (rest == 0) return;
  toft_recycler_hole_at(range->block, range->cursor, rest);
  range->block->live -= (int32_t)rest;
  range->limit = range->cursor;
}

/* Does the block of a range hold no live object? */
static int toft_recycler_is_idle(const toft_recycler_range *range) {
  return range->block->live == range->limit - range->cursor;
}

/* Takes the first of the holes that a sweep has left. */
static unsigned char *toft_recycler_next_hole(toft_recycler_range *range, size_t *bytes) {
  toft_recycler_hole hole;
  unsigned char *p = toft_recycler_at(range->block, range->sweep);
  memcpy(&hole, p, sizeof hole);
  range->sweep = hole.next;
  *bytes = hole.size;
  return p;
}

/* A range is done with; its block joins those that count down. It is worth a sweep when a quarter of it is free; if a
 * sweep left as much, that was too narrow for what was asked for, and it waits at the end of the list for something
 * smaller. */
static void toft_recycler_close(toft_recycler *r, toft_recycler_range *range) {
  toft_recycler_block *b = range->block;
  if (b == NULL) return;
  toft_recycler_drop_rest(range);
  while (range->sweep != TOFT_RECYCLER_NONE) {
    size_t bytes;
    unsigned char *p = toft_recycler_next_hole(range, &bytes);
    toft_recycler_hole_at(b, p, bytes);
  }
  range->block = NULL;
  range->cursor = range->limit = (unsigned char *)(void *)r; /* no allocation ends there */
  b->list = TOFT_RECYCLER_FULL;
  b->notice = b->capacity > TOFT_RECYCLER_SWEPT ? 0 : b->capacity - b->capacity / 4;
  if (b->live > b->notice) return;
  if (b->swept && b->live != 0) {
    toft_recycler_watch(b);
    toft_recycler_append(&r->sparse, b);
  } else {
    toft_recycler_noticed(r, b);
  }
}

/* ---- sweeping ---- */

/* A bit for each 8 bytes of a hole. 0 if the holes are not what live says: somebody freed twice. */
static int toft_recycler_mark(toft_recycler_block *b, uint64_t *marks) {
  uint32_t missing = (uint32_t)(b->capacity - b->live), at = b->holes;
  memset(marks, 0, ((size_t)b->capacity / 512 + 1) * sizeof *marks);
  while (at != TOFT_RECYCLER_NONE) {
    toft_recycler_hole hole;
    uint32_t from = (at - (uint32_t)(uintptr_t)b) - (uint32_t)b->start, bit, left;
    if (from >= (uint32_t)b->capacity || from % 8 != 0) return 0;
    memcpy(&hole, toft_recycler_at(b, at), sizeof hole);
    if (hole.size > missing || hole.size > (uint32_t)b->capacity - from || hole.size == 0) return 0;
    missing -= hole.size;
    for (bit = from / 8, left = hole.size / 8; left > 0;) {
      uint32_t n = left < 64 - bit % 64 ? left : 64 - bit % 64;
      uint64_t mask = UINT64_MAX >> (64 - n) << bit % 64;
      if ((marks[bit / 64] & mask) != 0) return 0;
      marks[bit / 64] |= mask;
      bit += n;
      left -= n;
    }
    at = hole.next;
  }
  return missing == 0;
}

/* Joins the holes of b and chains them by address. The first; and the widest, into b. */
static uint32_t toft_recycler_join(toft_recycler_block *b, const uint64_t *marks) {
  uint32_t first = TOFT_RECYCLER_NONE, from = 0, to, end = (uint32_t)b->capacity / 8;
  unsigned char *before = NULL;
  while (from < end) {
    uint64_t word = marks[from / 64] >> from % 64;
    toft_recycler_hole hole;
    unsigned char *p;
    uint32_t at;
    if (word == 0) {
      from = (from | 63) + 1;
      continue;
    }
    from += toft_lowest_bit(word);
    for (to = from; (word = ~marks[to / 64] >> to % 64) == 0;) to = (to | 63) + 1; /* a bit past the end is 0 */
    to += toft_lowest_bit(word);
    hole.next = TOFT_RECYCLER_NONE;
    hole.size = (to - from) * 8;
    if (hole.size > b->widest) b->widest = hole.size;
    p = toft_recycler_start(b) + (size_t)from * 8;
    memcpy(p, &hole, sizeof hole);
    at = (uint32_t)(uintptr_t)p;
    if (before != NULL)
      memcpy(before, &at, sizeof at); /* next is its first member */
    else
      first = at;
    before = p;
    from = to;
  }
  return first;
}

/* Where `size` bytes would lie in [p, p + room); NULL: nowhere. */
static unsigned char *toft_recycler_fit(unsigned char *p, size_t room, size_t size, size_t align) {
  size_t pad = (size_t)(0 - (uintptr_t)p) & (align - 1);
  return room >= pad && room - pad >= size ? p + pad : NULL;
}

/* On to the next hole that has room; those that have none are left to the next sweep. */
static int toft_recycler_fill_holes(toft_recycler_range *range, size_t size, size_t align) {
  toft_recycler_block *b = range->block;
  while (range->sweep != TOFT_RECYCLER_NONE) {
    size_t bytes;
    unsigned char *p = toft_recycler_next_hole(range, &bytes);
    if (toft_recycler_fit(p, bytes, size, align) == NULL) {
      toft_recycler_hole_at(b, p, bytes);
      continue;
    }
    toft_recycler_drop_rest(range);
    b->live += (int32_t)bytes;
    range->cursor = p;
    range->limit = p + bytes;
    return 1;
  }
  return 0;
}

/* Makes a sparse block the one that is filled, at a hole that has room. 0: it has none, and waits for more frees. */
static int toft_recycler_sweep(toft_recycler *r, toft_recycler_range *range, toft_recycler_block *b, size_t size,
                               size_t align) {
  uint64_t marks[TOFT_RECYCLER_SWEPT / 512 + 1];
  toft_recycler_unlink(&r->sparse, b);
  b->notice = INT32_MIN;
  b->swept = 1;
  b->widest = 0;
  range->block = b;
  if (!toft_recycler_mark(b, marks)) {
    b->widest = 1; /* too narrow for all */
  } else {
    range->sweep = toft_recycler_join(b, marks);
    b->holes = TOFT_RECYCLER_NONE;
    if (toft_recycler_fill_holes(range, size, align)) return 1;
  }
  toft_recycler_close(r, range);
  return 0;
}

/* ---- new memory ---- */

/* A segment in which at least one unit starts at a multiple of `align`. The units of the newest one were used up,
 * unless align is above theirs. */
static int toft_recycler_segment_take(toft_recycler *r, size_t align) {
  const size_t unit = TOFT_RECYCLER_UNIT;
  size_t least = r->source == &toft_heap_source ? unit : 2 * unit; /* others give any address */
  size_t size = toft_max(r->segment_bytes, least);
  unsigned char *base, *first, *end;
  toft_recycler_block *b;
  toft_recycler_segment *s;
  if (align > unit) least = size = align + 2 * unit;
  while ((base = (unsigned char *)toft_recycler_take(r, size)) == NULL && size > least)
    size = toft_max(size / 2, least);
  if (base == NULL) return 0;
  if (align <= unit && r->segment_bytes < TOFT_CAP) r->segment_bytes = toft_max(2 * size, 2 * unit);

  first = base + ((size_t)(0 - (uintptr_t)base) & (unit - 1));
  end = base + size;
  end -= (uintptr_t)end & (unit - 1);
  if (align > unit) { /* one unit, that one */
    first = base + ((size_t)(0 - (uintptr_t)base) & (align - 1));
    end = first + unit;
  }
  b = toft_recycler_block_of(first);
  s = (toft_recycler_segment *)(void *)((uintptr_t)b % TOFT_RECYCLER_ZONE != 0 ? (unsigned char *)b - 64
                                                                               : (unsigned char *)b + 64);
  s->base = base;
  s->size = size;
  s->busy = 0;
  s->end = end;
  /* In front of the first whole unit there may be the better part of another. */
  s->first = align <= unit && (size_t)(first - base) >= TOFT_RECYCLER_ZONE + TOFT_RECYCLER_LITTLE ? base : first;
  toft_recycler_segment **at = align > unit && r->segments != NULL ? &r->segments->next : &r->segments;
  s->next = *at;
  *at = s;
  if (align > unit) {
    toft_recycler_emptied(r, toft_recycler_make(r, b, first, first + TOFT_RECYCLER_DIRECT, s));
    return 1;
  }
  r->fresh = s->first;
  r->fresh_end = end;
  return 1;
}

/* The next unit that was never used. */
static toft_recycler_block *toft_recycler_cut(toft_recycler *r) {
  unsigned char *start = r->fresh;
  unsigned char *end = start + (TOFT_RECYCLER_UNIT - ((uintptr_t)start & (TOFT_RECYCLER_UNIT - 1)));
  r->fresh = end;
  return toft_recycler_make(r, toft_recycler_block_of(start), start, end - TOFT_RECYCLER_ZONE, r->segments);
}

static int toft_recycler_fits(toft_recycler_block *b, size_t size, size_t align) {
  return toft_recycler_fit(toft_recycler_start(b), (size_t)b->capacity, size, align) != NULL;
}

/* ---- the blocks asked for by count: each starts with its header ---- */

static size_t toft_recycler_counted_bytes(const toft_recycler *r) { return toft_round(r->count * r->stride, 4096); }

static int toft_recycler_counted_take(toft_recycler *r) {
  r->counted = r->counted_fresh = (unsigned char *)toft_recycler_take(r, toft_recycler_counted_bytes(r));
  return r->counted != NULL;
}

static int toft_recycler_is_counted(const toft_recycler *r, const void *p) {
  return r->counted != NULL && (uintptr_t)p - (uintptr_t)r->counted < r->count * r->stride;
}

static toft_recycler_block *toft_recycler_counted_find(toft_recycler *r, size_t size, size_t align) {
  toft_recycler_block *b = r->empty_counted.first;
  unsigned char *header;
  if (b != NULL && toft_recycler_fits(b, size, align)) {
    toft_recycler_unlink(&r->empty_counted, b);
    return b;
  }
  if (r->counted == NULL && !toft_recycler_counted_take(r)) return NULL;
  header = r->counted_fresh;
  if ((size_t)(header - r->counted) == r->count * r->stride ||
      toft_recycler_fit(header + 64, r->stride - 64, size, align) == NULL)
    return NULL;
  r->counted_fresh += r->stride;
  return toft_recycler_make(r, (toft_recycler_block *)(void *)header, header + 64, header + r->stride, NULL);
}

/* An empty block in which the request fits, off its list. NULL: there is none. */
static toft_recycler_block *toft_recycler_find(toft_recycler *r, size_t size, size_t align) {
  int looks = TOFT_RECYCLER_LOOKS;
  toft_recycler_block *b = r->count != 0 ? toft_recycler_counted_find(r, size, align) : NULL;
  if (b != NULL || size > TOFT_RECYCLER_DIRECT) return b;
  for (b = r->empty.first; b != NULL && looks-- > 0; b = b->next) {
    if (!toft_recycler_fits(b, size, align)) continue;
    toft_recycler_unlink(&r->empty, b);
    b->segment->busy++;
    return b;
  }
  while (align <= TOFT_RECYCLER_UNIT && r->fresh != r->fresh_end) {
    b = toft_recycler_cut(r);
    if (toft_recycler_fits(b, size, align)) return b;
    toft_recycler_emptied(r, b);
  }
  return NULL;
}

/* ---- allocation that the inline layer has no answer to ---- */

static void *toft_recycler_place(toft_recycler_range *range, size_t size, size_t align) {
  unsigned char *p = range->cursor, *q = toft_recycler_fit(p, (size_t)(range->limit - p), size, align);
  if (q == NULL) return NULL;
  if (q != p) {
    toft_recycler_hole_at(range->block, p, (size_t)(q - p));
    range->block->live -= (int32_t)(q - p);
  }
  range->cursor = q + size;
  return q;
}

/* From the holes of sparse blocks, a few of which are looked at; NULL: none has room. */
static void *toft_recycler_from_sparse(toft_recycler *r, toft_recycler_range *range, size_t size, size_t align) {
  int tries = r->count != 0 ? 4 * TOFT_RECYCLER_TRIES : TOFT_RECYCLER_TRIES; /* who counts blocks wants no others */
  int perhaps = 1;
  toft_recycler_block *b;
  while ((b = r->sparse.first) != NULL && tries-- > 0) {
    /* Seen, and too narrow; or perhaps, for an alignment, and then one is tried. */
    if (b->widest != 0 && (b->widest < size || (b->widest < size + (align - 8) && perhaps-- <= 0))) {
      toft_recycler_unlink(&r->sparse, b);
      toft_recycler_append(&r->sparse, b);
      continue;
    }
    toft_recycler_close(r, range);
    if (toft_recycler_sweep(r, range, b, size, align)) return toft_recycler_place(range, size, align);
  }
  return NULL;
}

/* While there is no segment. */
static void *toft_recycler_first(toft_recycler *r, toft_recycler_range *range, size_t size, size_t align) {
  toft_recycler_block *b = toft_recycler_segment_take(r, align) ? toft_recycler_find(r, size, align) : NULL;
  if (b == NULL) return NULL;
  toft_recycler_open(range, b);
  return toft_recycler_place(range, size, align);
}

/* Where it goes if not behind the cursor: into holes or into an empty block, and the source is asked last. Small ones
 * go into holes first; others rarely find room there. */
static void *toft_recycler_fill(toft_recycler *r, toft_recycler_range *range, size_t size, size_t align) {
  if (r->segments == NULL && r->count == 0) return toft_recycler_first(r, range, size, align);
  int holes_first = size <= TOFT_RECYCLER_TINY || r->count != 0;
  void *p = toft_recycler_place(range, size, align);
  toft_recycler_block *b = range->block;
  if (p != NULL) return p;
  if (range->sweep != TOFT_RECYCLER_NONE && toft_recycler_fill_holes(range, size, align))
    return toft_recycler_place(range, size, align);
  if (b != NULL && toft_recycler_is_idle(range)) { /* all of it was freed meanwhile */
    toft_recycler_open(range, b);
    p = toft_recycler_place(range, size, align);
    if (p != NULL) return p;
  }
  if (holes_first && (p = toft_recycler_from_sparse(r, range, size, align)) != NULL) return p;
  b = toft_recycler_find(r, size, align);
  if (b == NULL && !holes_first && (p = toft_recycler_from_sparse(r, range, size, align)) != NULL) return p;
  if (b == NULL && size <= TOFT_RECYCLER_DIRECT && toft_recycler_segment_take(r, align))
    b = toft_recycler_find(r, size, align);
  if (b == NULL) return NULL;
  toft_recycler_close(r, range);
  toft_recycler_open(range, b);
  return toft_recycler_place(range, size, align);
}

/* ---- the calls behind the inline layer ---- */

/* Large ones have a range of their own, and those that would end a sweep before its smaller holes are filled. */
static toft_recycler_range *toft_recycler_range_for(toft_recycler *r, size_t size) {
  if (r->count != 0) return &r->now;
  if (size > TOFT_RECYCLER_LITTLE) return &r->aside;
  return r->now.sweep != TOFT_RECYCLER_NONE && size > r->now.block->widest ? &r->aside : &r->now;
}

void *toft_recycler_more(toft_recycler *r, size_t size, size_t align) {
  void *p = NULL;
  size = size == 0 ? 1 : size;
  align = toft_max(align, 8);
  if ((align & (align - 1)) != 0 || size > TOFT_MAX_REQUEST / 2 || align > TOFT_MAX_REQUEST / 2) return NULL;
  size = toft_round(size, 8);
  toft_recycler_settle(r);
  if (align > 8 && size <= TOFT_RECYCLER_DIRECT) { /* with some bytes cut off it may fit */
    p = toft_recycler_place(&r->now, size, align);
    if (p != NULL) return p;
  }
  if (size <= TOFT_RECYCLER_DIRECT || (r->count != 0 && size <= r->stride - 64))
    p = toft_recycler_fill(r, toft_recycler_range_for(r, size), size, align);
  return p != NULL || size <= TOFT_RECYCLER_DIRECT ? p : toft_recycler_large_alloc(r, size, align);
}

/* The block of p, which has `bytes`; NULL: it is a large object. */
static toft_recycler_block *toft_recycler_owner_of(toft_recycler *r, void *p, size_t bytes) {
  if (toft_recycler_is_counted(r, p)) {
    size_t index = ((uintptr_t)p - (uintptr_t)r->counted) / r->stride;
    return (toft_recycler_block *)(void *)(r->counted + index * r->stride);
  }
  return bytes <= TOFT_RECYCLER_DIRECT ? toft_recycler_block_of(p) : NULL;
}

static void toft_recycler_give(toft_recycler *r, toft_recycler_block *b, void *p, size_t bytes) {
  toft_recycler_hole_at(b, p, bytes);
  b->live -= (int32_t)bytes;
  if (b->live <= b->notice) toft_recycler_noticed(r, b);
}

void toft_recycler_free_apart(toft_recycler *r, void *p, size_t size) {
  size_t bytes = toft_round(toft_max(size, 1), 8);
  toft_recycler_block *b = toft_recycler_owner_of(r, p, bytes);
  if (b == NULL)
    toft_recycler_large_free(r, p, bytes);
  else if (b == r->now.block && (unsigned char *)p + bytes == r->now.cursor)
    r->now.cursor = (unsigned char *)p;
  else
    toft_recycler_give(r, b, p, bytes);
}

/* Where it stands; 0: it cannot. */
static int toft_recycler_resize_here(toft_recycler *r, void *p, size_t was, size_t now) {
  toft_recycler_block *b = toft_recycler_owner_of(r, p, was);
  unsigned char *q = (unsigned char *)p;
  if (b == NULL) return toft_recycler_large_resize(r, p, was, now);
  if (b == r->now.block && q + was == r->now.cursor) {
    if (now > was && (size_t)(r->now.limit - r->now.cursor) < now - was) return 0;
    r->now.cursor = q + now;
    return 1;
  }
  if (now < was) toft_recycler_give(r, b, q + now, was - now);
  return now <= was;
}

void *toft_recycler_resize(toft_recycler *r, void *p, size_t old_size, size_t new_size, size_t align) {
  void *q;
  if (p == NULL) return toft_recycler_alloc(r, new_size, align);
  if ((align & (align - 1)) != 0 || new_size > TOFT_MAX_REQUEST / 2) return NULL;
  if (((uintptr_t)p & (toft_max(align, 1) - 1)) == 0 &&
      toft_recycler_resize_here(r, p, toft_round(toft_max(old_size, 1), 8), toft_round(toft_max(new_size, 1), 8)))
    return p;
  q = toft_recycler_alloc(r, new_size, align);
  if (q == NULL) return NULL;
  memcpy(q, p, toft_min(old_size, new_size));
  toft_recycler_free(r, p, old_size);
  return q;
}

/* ---- life ---- */

/* What is so whenever nothing is held. Word by word: of a recycler that lives for ten allocations a memset would be a
 * tenth, for what is read soon after. */
static void toft_recycler_begin(toft_recycler *r) {
  unsigned char *none = (unsigned char *)(void *)r; /* no allocation starts or ends there */
  r->now.cursor = r->now.limit = none;
  r->now.block = NULL;
  r->now.sweep = TOFT_RECYCLER_NONE;
  r->gone.first = r->gone.end = none;
  r->aside.cursor = r->aside.limit = none;
  r->aside.block = NULL;
  r->aside.sweep = TOFT_RECYCLER_NONE;
  r->sparse.first = r->sparse.last = NULL;
  r->empty.first = r->empty.last = NULL;
  r->empty_counted.first = r->empty_counted.last = NULL;
  r->segments = NULL;
  r->fresh = r->fresh_end = NULL;
  r->regions = NULL;
  r->region_used = 0;
  r->own = NULL;
  r->own_bytes = r->own_peak = r->spare_bytes = r->spare_count = 0;
  r->segment_bytes = TOFT_RECYCLER_UNIT;
  r->reserved = 0;
  r->counted = r->counted_fresh = NULL;
}

static size_t toft_recycler_stride(size_t block_size) { return 64 + toft_round(block_size, 64); }

int toft_recycler_check(const toft_recycler_options *options) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  if (options->size < offsetof(toft_recycler_options, shards) || options->size > sizeof o) return TOFT_EARG;
  memcpy(&o, options, options->size);
  if ((o.count == 0) != (o.block_size == 0) || o.block_size > TOFT_RECYCLER_COUNTED_MAX) return TOFT_EARG;
  if (o.count > TOFT_MAX_REQUEST / 2 / toft_recycler_stride(o.block_size)) return TOFT_EARG;
  return o.shards > TOFT_SHARDS_MAX || (o.count != 0 && o.shards > 1) ? TOFT_EARG : TOFT_OK;
}

int toft_recycler_init(toft_recycler *r, const toft_recycler_options *options) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  toft_recycler_begin(r);
  r->direct = TOFT_RECYCLER_DIRECT;
  r->shard = 0;
  r->peak = 0;
  r->source = &toft_heap_source;
  r->count = r->stride = 0;
  r->source_calls = 0;
  if (options == NULL) return TOFT_OK;
  if (toft_recycler_check(options) != TOFT_OK) return TOFT_EARG;
  memcpy(&o, options, options->size);
  if (o.source != NULL) r->source = o.source;
  if (o.count == 0) return TOFT_OK;
  r->stride = toft_recycler_stride(o.block_size);
  r->count = o.count;
  r->direct = 0;
  return toft_recycler_counted_take(r) ? TOFT_OK : TOFT_ENOMEM;
}

void toft_recycler_release(toft_recycler *r) {
  while (r->segments != NULL) {
    toft_recycler_segment s = *r->segments;
    r->segments = s.next;
    toft_recycler_put(r, s.base, s.size);
  }
  toft_recycler_large_release(r);
  if (r->counted != NULL) toft_recycler_put(r, r->counted, toft_recycler_counted_bytes(r));
  toft_recycler_begin(r);
}

/* ---- looking at it ---- */

/* Behind the last unit that was cut. */
static unsigned char *toft_recycler_cut_end(const toft_recycler *r, const toft_recycler_segment *s) {
  return s == r->segments && r->fresh != NULL ? r->fresh : s->end;
}

/* The unit behind that of p. */
static unsigned char *toft_recycler_next_unit(unsigned char *p) {
  return p + (TOFT_RECYCLER_UNIT - ((uintptr_t)p & (TOFT_RECYCLER_UNIT - 1)));
}

/* Bytes that a range in b has yet to hand out, and those that it does not know to be gone. */
static size_t toft_recycler_rest(const toft_recycler *r, const toft_recycler_block *b) {
  const toft_recycler_range *range = b == r->now.block ? &r->now : b == r->aside.block ? &r->aside : NULL;
  size_t rest = range != NULL ? (size_t)(range->limit - range->cursor) : 0;
  if (r->gone.first != r->gone.end && toft_recycler_block_of(r->gone.first) == b)
    rest += (size_t)(r->gone.end - r->gone.first);
  return rest;
}

static void toft_recycler_count(const toft_recycler *r, const toft_recycler_block *b, toft_recycler_stats *s) {
  size_t capacity = (size_t)b->capacity;
  size_t used = b->list == TOFT_RECYCLER_EMPTY ? 0 : (size_t)b->live - toft_recycler_rest(r, b);
  s->used += used;
  *(used != 0 ? &s->pinned : &s->kept) += capacity - used;
  *(used != 0 ? &s->blocks : &s->idle_blocks) += 1;
}

toft_recycler_stats toft_recycler_stats_of(const toft_recycler *r) {
  toft_recycler_stats s;
  const toft_recycler_segment *segment;
  unsigned char *p;
  memset(&s, 0, sizeof s);
  for (segment = r->segments; segment != NULL; segment = segment->next) {
    unsigned char *cut = toft_recycler_cut_end(r, segment);
    for (p = segment->first; p < cut; p = toft_recycler_next_unit(p))
      toft_recycler_count(r, toft_recycler_block_of(p), &s);
    for (; p < segment->end; p = toft_recycler_next_unit(p))
      s.kept += (size_t)(toft_recycler_next_unit(p) - p) - TOFT_RECYCLER_ZONE;
  }
  for (p = r->counted; p < r->counted_fresh; p += r->stride)
    toft_recycler_count(r, (const toft_recycler_block *)(const void *)p, &s);
  if (r->counted != NULL)
    for (; p < r->counted + r->count * r->stride; p += r->stride) s.kept += r->stride - 64;
  toft_recycler_large_count(r, &s);
  s.reserved = r->reserved;
  s.wasted = s.reserved - s.used - s.pinned - s.kept;
  s.peak = r->peak;
  s.source_calls = r->source_calls;
  return s;
}

/* ---- trim ---- */

/* A range in a block without live objects lets go of it. */
static void toft_recycler_leave(toft_recycler *r, toft_recycler_range *range) {
  if (range->block != NULL && toft_recycler_is_idle(range)) toft_recycler_close(r, range);
}

/* Takes a segment without live objects apart. */
static void toft_recycler_segment_put(toft_recycler *r, toft_recycler_segment **at) {
  toft_recycler_segment s = **at;
  unsigned char *p, *cut = toft_recycler_cut_end(r, *at);
  for (p = s.first; p < cut; p = toft_recycler_next_unit(p)) toft_recycler_unlink(&r->empty, toft_recycler_block_of(p));
  if (*at == r->segments) r->fresh = r->fresh_end = NULL;
  *at = s.next;
  toft_recycler_put(r, s.base, s.size);
}

static size_t toft_recycler_trim_to(toft_recycler *r, size_t keep) {
  toft_recycler_segment **at;
  size_t idle = 0;
  toft_recycler_settle(r);
  toft_recycler_leave(r, &r->now);
  toft_recycler_leave(r, &r->aside);
  for (at = &r->segments; *at != NULL; at = &(*at)->next)
    if ((*at)->busy == 0) idle += (*at)->size;
  idle = toft_recycler_large_trim(r, idle, keep);
  for (at = &r->segments; *at != NULL;) {
    if ((*at)->busy == 0 && idle - (*at)->size >= keep) {
      idle -= (*at)->size;
      toft_recycler_segment_put(r, at);
    } else {
      at = &(*at)->next;
    }
  }
  if (r->segments == NULL) r->segment_bytes = TOFT_RECYCLER_UNIT;
  return idle;
}

void toft_recycler_trim(toft_recycler *r, size_t keep) { (void)toft_recycler_trim_to(r, keep); }

/* ==== recycler_large.c ==== */
/* Large objects of recyclers. Each has a block of its own, and 16 of those are kept. When more than 1 MiB of them is in
 * use they share regions of 4 MiB instead, but for those above 1 MiB: each takes the first free run that is long
 * enough, so what is in use stays together, in few pages and in the caches; and one region fits the thread's cache,
 * where a dozen blocks do not. Fresh pages cost more than all else here.
 *
 * What is free in a region is known by its header alone: neither search nor free reads the memory that is given out,
 * but for the line before the object. */

#define TOFT_RECYCLER_SHARED TOFT_MIB /* what needs more has a block of its own; and all, while no more is in use */
#define TOFT_RECYCLER_REGION (4 * TOFT_MIB)
#define TOFT_RECYCLER_REGION_HEAD ((size_t)640)
#define TOFT_RECYCLER_REGION_LOOKS 8
#define TOFT_RECYCLER_GRAIN ((size_t)64)
#define TOFT_RECYCLER_GRAINS ((TOFT_RECYCLER_REGION - TOFT_RECYCLER_REGION_HEAD) / TOFT_RECYCLER_GRAIN)
/* Between objects and around them: each is larger than TOFT_RECYCLER_DIRECT. */
#define TOFT_RECYCLER_RUNS (TOFT_RECYCLER_REGION / TOFT_RECYCLER_DIRECT + 2)

/* In grains. */
typedef struct toft_recycler_free_run {
  uint16_t first, count;
} toft_recycler_free_run;

/* At the base of its block; the grains follow. */
typedef struct toft_recycler_region {
  struct toft_recycler_region *next, *previous;
  uint32_t live;   /* objects */
  uint32_t widest; /* no run is longer */
  uint32_t count, pad;
  toft_recycler_free_run runs[TOFT_RECYCLER_RUNS]; /* count of them, by address; no two touch */
} toft_recycler_region;

/* Before each large object. */
typedef struct toft_recycler_front {
  toft_recycler *owner;
  toft_recycler_region *region; /* NULL: a block of its own */
  uint32_t first, count;        /* grains */
} toft_recycler_front;

/* Before one with a block of its own. */
typedef struct toft_recycler_large {
  struct toft_recycler_large *next, *previous;
  unsigned char *base;
  size_t size; /* as asked of the source */
  size_t used;
  toft_recycler_front front;
} toft_recycler_large;

TOFT_STATIC_ASSERT(recycler_region, sizeof(toft_recycler_region) <= TOFT_RECYCLER_REGION_HEAD);
TOFT_STATIC_ASSERT(recycler_grains, TOFT_RECYCLER_GRAINS < 65536);
TOFT_STATIC_ASSERT(recycler_large, sizeof(toft_recycler_large) <= TOFT_RECYCLER_GRAIN);

static toft_recycler_front *toft_recycler_front_of(void *p) { return (toft_recycler_front *)p - 1; }

static toft_recycler_large *toft_recycler_large_of(void *p) { return (toft_recycler_large *)p - 1; }

/* What an object takes at most. A block must not end with it: its end is nowhere where another block may start. */
static size_t toft_recycler_large_need(size_t size, size_t align) {
  return TOFT_RECYCLER_GRAIN + size + 8 + (align > 64 ? align - 64 : 0);
}

/* ---- free runs ---- */

/* The first run of `count` grains; the number of runs: there is none, and then the widest is known. */
static uint32_t toft_recycler_run_find(toft_recycler_region *g, uint32_t count) {
  uint32_t i, most = 0;
  for (i = 0; i < g->count; i++) {
    if (g->runs[i].count >= count) return i;
    if (g->runs[i].count > most) most = g->runs[i].count;
  }
  g->widest = most;
  return i;
}

/* Takes `count` grains from the front of a run. */
static void toft_recycler_run_cut(toft_recycler_region *g, uint32_t i, uint32_t count) {
  toft_recycler_free_run *f = &g->runs[i];
  f->first = (uint16_t)(f->first + count);
  f->count = (uint16_t)(f->count - count);
  if (f->count == 0) memmove(f, f + 1, (--g->count - i) * sizeof *f);
}

/* The first run that starts behind `first`. */
static uint32_t toft_recycler_run_after(const toft_recycler_region *g, uint32_t first) {
  uint32_t i = 0;
  while (i < g->count && g->runs[i].first < first) i++;
  return i;
}

/* Grains become free, and one run with what is free beside them. */
static void toft_recycler_run_add(toft_recycler_region *g, uint32_t first, uint32_t count) {
  uint32_t i = toft_recycler_run_after(g, first);
  toft_recycler_free_run *f = &g->runs[i];
  int below = i > 0 && f[-1].first + (uint32_t)f[-1].count == first;
  int above = i < g->count && f->first == first + count;
  if (below) {
    count += f[-1].count;
    f[-1].count = (uint16_t)count;
    if (above) {
      count += f->count;
      f[-1].count = (uint16_t)count;
      memmove(f, f + 1, (--g->count - i) * sizeof *f);
    }
  } else {
    if (above)
      count += f->count;
    else
      memmove(f + 1, f, (g->count++ - i) * sizeof *f);
    f->first = (uint16_t)first;
    f->count = (uint16_t)count;
  }
  if (count > g->widest) g->widest = count;
}

/* ---- regions ---- */

static void toft_recycler_region_link(toft_recycler *r, toft_recycler_region *g) {
  g->previous = NULL;
  g->next = r->regions;
  if (g->next != NULL) g->next->previous = g;
  r->regions = g;
}

static void toft_recycler_region_unlink(toft_recycler *r, toft_recycler_region *g) {
  *(g->previous != NULL ? &g->previous->next : &r->regions) = g->next;
  if (g->next != NULL) g->next->previous = g->previous;
}

static void toft_recycler_region_put(toft_recycler *r, toft_recycler_region *g) {
  toft_recycler_region_unlink(r, g);
  toft_recycler_put(r, g, TOFT_RECYCLER_REGION);
}

static toft_recycler_region *toft_recycler_region_take(toft_recycler *r) {
  toft_recycler_region *g = (toft_recycler_region *)toft_recycler_take(r, TOFT_RECYCLER_REGION);
  if (g == NULL) return NULL;
  g->live = 0;
  g->widest = TOFT_RECYCLER_GRAINS;
  g->count = 1;
  g->runs[0].first = 0;
  g->runs[0].count = TOFT_RECYCLER_GRAINS;
  toft_recycler_region_link(r, g);
  return g;
}

static unsigned char *toft_recycler_grain(toft_recycler_region *g, uint32_t grain) {
  return (unsigned char *)g + TOFT_RECYCLER_REGION_HEAD + grain * TOFT_RECYCLER_GRAIN;
}

static void *toft_recycler_region_place(toft_recycler *r, toft_recycler_region *g, uint32_t i, uint32_t count,
                                        size_t size, size_t align) {
  uint32_t first = g->runs[i].first;
  unsigned char *p = toft_recycler_grain(g, first + 1);
  toft_recycler_front *front;
  p += toft_pad(p, align);
  front = toft_recycler_front_of(p);
  front->owner = r;
  front->region = g;
  front->first = first;
  front->count = count;
  toft_recycler_run_cut(g, i, count);
  g->live++;
  r->region_used += size;
  return p;
}

/* NULL: there is no room, and no region more is called for or to be had. */
static void *toft_recycler_region_alloc(toft_recycler *r, size_t need, size_t size, size_t align) {
  uint32_t count = (uint32_t)(need / TOFT_RECYCLER_GRAIN), i;
  int looks = TOFT_RECYCLER_REGION_LOOKS;
  toft_recycler_region *g;
  for (g = r->regions; g != NULL && looks-- > 0; g = g->next) {
    if (g->widest < count) continue;
    i = toft_recycler_run_find(g, count);
    if (i < g->count) return toft_recycler_region_place(r, g, i, count, size, align);
  }
  if (r->region_used + r->own_bytes + need <= TOFT_RECYCLER_SHARED) return NULL;
  g = toft_recycler_region_take(r);
  return g != NULL ? toft_recycler_region_place(r, g, 0, count, size, align) : NULL;
}

static void toft_recycler_region_free(toft_recycler *r, const toft_recycler_front *front, size_t size) {
  toft_recycler_region *g = front->region;
  toft_recycler_run_add(g, front->first, front->count);
  g->live--;
  r->region_used -= size;
  if (g != r->regions) { /* those that have room are looked at first */
    toft_recycler_region_unlink(r, g);
    toft_recycler_region_link(r, g);
  }
}

/* Gives grains at the end back, or takes some behind it; 0: they are not free. */
static int toft_recycler_region_resize(toft_recycler *r, void *p, size_t was, size_t now) {
  toft_recycler_front *front = toft_recycler_front_of(p);
  toft_recycler_region *g = front->region;
  size_t before = (size_t)((unsigned char *)p - toft_recycler_grain(g, front->first));
  uint32_t count, end = front->first + front->count, i;
  if (now > TOFT_RECYCLER_REGION) return 0;
  count = (uint32_t)((before + now + 8 + TOFT_RECYCLER_GRAIN - 1) / TOFT_RECYCLER_GRAIN);
  if (count > front->count) {
    i = toft_recycler_run_after(g, end);
    if (i == g->count || g->runs[i].first != end || g->runs[i].count < count - front->count) return 0;
    toft_recycler_run_cut(g, i, count - front->count);
  } else if (count < front->count) {
    toft_recycler_run_add(g, front->first + count, front->count - count);
  }
  front->count = count;
  r->region_used += now - was;
  return 1;
}

/* ---- blocks of one object ---- */

/* Its place in a block of `total` bytes. NULL: it does not fit. */
static unsigned char *toft_recycler_own_at(unsigned char *base, size_t total, size_t size, size_t align) {
  return toft_recycler_fit(base + TOFT_RECYCLER_GRAIN, total - TOFT_RECYCLER_GRAIN - 8, size, toft_max(align, 64));
}

/* Takes a kept block out; younger ones move up. */
static toft_recycler_spare toft_recycler_spare_out(toft_recycler *r, size_t i) {
  toft_recycler_spare out = r->spare[i];
  r->spare_count--;
  r->spare_bytes -= out.size;
  memmove(&r->spare[i], &r->spare[i + 1], (r->spare_count - i) * sizeof *r->spare);
  return out;
}

static void toft_recycler_spare_put(toft_recycler *r, size_t i) {
  toft_recycler_spare out = toft_recycler_spare_out(r, i);
  toft_recycler_put(r, out.base, out.size);
}

/* The kept block that was freed last and fits, of at most `most` bytes: what was freed last is in the caches. NULL
 * base: there is none. Their memory is not touched. */
static toft_recycler_spare toft_recycler_spare_find(toft_recycler *r, size_t size, size_t align, size_t most) {
  toft_recycler_spare none = {NULL, 0};
  size_t i = r->spare_count;
  while (i-- > 0) {
    const toft_recycler_spare *s = &r->spare[i];
    if (s->size >= size && s->size <= most && toft_recycler_own_at(s->base, s->size, size, align) != NULL)
      return toft_recycler_spare_out(r, i);
  }
  return none;
}

/* Sizes in steps of an eighth at most, so that blocks find a second use; one of more than thrice the size only if there
 * is no other way. */
static void *toft_recycler_own_alloc(toft_recycler *r, size_t size, size_t align) {
  size_t need = toft_recycler_large_need(size, align), step = 4096, total;
  toft_recycler_spare block;
  toft_recycler_large *l;
  unsigned char *p;
  while (step < need / 16) step *= 2;
  total = toft_round(need, step);
  block = toft_recycler_spare_find(r, size, align, 3 * total);
  if (block.base == NULL) {
    block.base = (unsigned char *)toft_recycler_take(r, total);
    block.size = total;
  }
  if (block.base == NULL) block = toft_recycler_spare_find(r, size, align, SIZE_MAX);
  if (block.base == NULL) return NULL;
  p = toft_recycler_own_at(block.base, block.size, size, align);
  l = toft_recycler_large_of(p);
  l->base = block.base;
  l->size = block.size;
  l->used = size;
  l->front.owner = r;
  l->front.region = NULL;
  l->previous = NULL;
  l->next = r->own;
  if (r->own != NULL) r->own->previous = l;
  r->own = l;
  r->own_bytes += l->size;
  r->own_peak = toft_max(r->own_peak, r->own_bytes);
  return p;
}

static toft_recycler_spare toft_recycler_own_unlink(toft_recycler *r, toft_recycler_large *l) {
  toft_recycler_spare block;
  block.base = l->base;
  block.size = l->size;
  *(l->previous != NULL ? &l->previous->next : &r->own) = l->next;
  if (l->next != NULL) l->next->previous = l->previous;
  r->own_bytes -= l->size;
  return block;
}

/* Kept, as long as all of them are no more than twice as much as was ever live at once, or 1 MiB: the fewer there are,
 * the more of them the caches hold. The oldest goes. */
static void toft_recycler_own_free(toft_recycler *r, toft_recycler_large *l) {
  toft_recycler_spare block = toft_recycler_own_unlink(r, l);
  if (r->spare_count == TOFT_RECYCLER_SPARES) toft_recycler_spare_put(r, 0);
  r->spare[r->spare_count++] = block;
  r->spare_bytes += block.size;
  while (r->spare_bytes > TOFT_MIB && r->own_bytes + r->spare_bytes > 2 * r->own_peak) toft_recycler_spare_put(r, 0);
}

/* ---- both ---- */

static void *toft_recycler_large_alloc(toft_recycler *r, size_t size, size_t align) {
  size_t need = toft_round(toft_recycler_large_need(size, align), TOFT_RECYCLER_GRAIN);
  void *p = need <= TOFT_RECYCLER_SHARED ? toft_recycler_region_alloc(r, need, size, align) : NULL;
  return p != NULL ? p : toft_recycler_own_alloc(r, size, align);
}

static void toft_recycler_large_free(toft_recycler *r, void *p, size_t size) {
  const toft_recycler_front *front = toft_recycler_front_of(p);
  if (front->region != NULL)
    toft_recycler_region_free(r, front, size);
  else
    toft_recycler_own_free(r, toft_recycler_large_of(p));
}

/* Where it stands; 0: it cannot. */
static int toft_recycler_large_resize(toft_recycler *r, void *p, size_t was, size_t now) {
  toft_recycler_large *l;
  if (now <= TOFT_RECYCLER_DIRECT) return 0;
  if (toft_recycler_front_of(p)->region != NULL) return toft_recycler_region_resize(r, p, was, now);
  l = toft_recycler_large_of(p);
  if (now + 8 > (size_t)(l->base + l->size - (unsigned char *)p) || now < l->size / 4) return 0;
  l->used = now;
  return 1;
}

/* All of it back to the source. */
static void toft_recycler_large_release(toft_recycler *r) {
  while (r->regions != NULL) toft_recycler_region_put(r, r->regions);
  while (r->own != NULL) {
    toft_recycler_spare block = toft_recycler_own_unlink(r, r->own);
    toft_recycler_put(r, block.base, block.size);
  }
  while (r->spare_count != 0) toft_recycler_spare_put(r, r->spare_count - 1);
}

/* What holds no live object goes back, until about `keep` of `idle` bytes are left. */
static size_t toft_recycler_large_trim(toft_recycler *r, size_t idle, size_t keep) {
  toft_recycler_region *g, *next;
  for (g = r->regions; g != NULL; g = g->next)
    if (g->live == 0) idle += TOFT_RECYCLER_REGION;
  idle += r->spare_bytes;
  while (r->spare_count != 0 && idle - r->spare[0].size >= keep) {
    idle -= r->spare[0].size;
    toft_recycler_spare_put(r, 0);
  }
  for (g = r->regions; g != NULL; g = next) {
    next = g->next;
    if (g->live != 0 || idle - TOFT_RECYCLER_REGION < keep) continue;
    idle -= TOFT_RECYCLER_REGION;
    toft_recycler_region_put(r, g);
  }
  return idle;
}

static void toft_recycler_large_count(const toft_recycler *r, toft_recycler_stats *s) {
  const toft_recycler_region *g;
  const toft_recycler_large *l;
  for (g = r->regions; g != NULL; g = g->next) {
    *(g->live != 0 ? &s->pinned : &s->kept) += TOFT_RECYCLER_REGION - TOFT_RECYCLER_REGION_HEAD;
    s->large_blocks += g->live;
  }
  s->used += r->region_used;
  s->pinned -= r->region_used;
  for (l = r->own; l != NULL; l = l->next) {
    s->used += l->used;
    s->pinned += (uintptr_t)l->base + l->size - (uintptr_t)(l + 1) - l->used;
    s->large_blocks++;
  }
  s->blocks += s->large_blocks;
  s->kept += r->spare_bytes;
}

/* ==== recycler_sync.c ==== */
/* Synchronized recyclers: recyclers behind locks, and threads spread over them. */

/* ---- a lock: one atomic exchange, and a store to let go. What is done behind it takes nanoseconds, or asks the source
 * for a block; and who finds it taken mostly goes to another shard. ---- */

#define TOFT_SPINS 64

typedef unsigned char toft_lock; /* 0: free */

#if defined(__GNUC__) || defined(__clang__)
#define TOFT_LOCK_TRY(l) (!__atomic_test_and_set(l, __ATOMIC_ACQUIRE))
#define TOFT_LOCK_SEEN(l) __atomic_load_n(l, __ATOMIC_RELAXED)
#define TOFT_UNLOCK(l) __atomic_clear(l, __ATOMIC_RELEASE)
#elif defined(_MSC_VER)
#define TOFT_LOCK_TRY(l) (_InterlockedExchange8((volatile char *)(l), 1) == 0)
#define TOFT_LOCK_SEEN(l) (*(volatile unsigned char *)(l))
#define TOFT_UNLOCK(l) ((void)_InterlockedExchange8((volatile char *)(l), 0))
#endif

static void toft_lock_take(toft_lock *l) {
  int spins = 0;
  while (!TOFT_LOCK_TRY(l))
    while (TOFT_LOCK_SEEN(l) != 0)
      if (++spins > TOFT_SPINS) toft_os_yield();
}

#define TOFT_SHARDS 8

/* apart: neighbours share no line, nor the pair of lines that some processors fetch. */
typedef struct toft_recycler_shard {
  toft_lock lock;
  toft_recycler recycler;
  unsigned char apart[128];
} toft_recycler_shard;

struct toft_sync_recycler {
  toft_source source; /* calls the one behind it, one thread at a time */
  toft_source *inner;
  toft_lock source_lock;
  size_t bytes;
  uint32_t count;
  toft_recycler_shard shards[1];
};

static void *toft_sync_take(toft_source *self, size_t size) {
  toft_sync_recycler *r = (toft_sync_recycler *)(void *)self;
  void *p;
  toft_lock_take(&r->source_lock);
  p = r->inner->take(r->inner, size);
  TOFT_UNLOCK(&r->source_lock);
  return p;
}

static void toft_sync_put(toft_source *self, void *block, size_t size) {
  toft_sync_recycler *r = (toft_sync_recycler *)(void *)self;
  toft_lock_take(&r->source_lock);
  r->inner->put(r->inner, block, size);
  TOFT_UNLOCK(&r->source_lock);
}

static size_t toft_thread_count;
static TOFT_THREAD_LOCAL size_t toft_thread_number; /* from 1 on; 0: not numbered yet */

static uint32_t toft_sync_own(const toft_sync_recycler *r) {
  if (toft_thread_number == 0) toft_thread_number = TOFT_ADD(&toft_thread_count, 1);
  return (uint32_t)(toft_thread_number % r->count);
}

static void toft_sync_unlock(toft_recycler_shard *s) { TOFT_UNLOCK(&s->lock); }

/* A shard to allocate from: the thread's own, or one that nobody holds. */
static toft_recycler_shard *toft_sync_lock(toft_sync_recycler *r) {
  uint32_t own = toft_sync_own(r), i;
  for (i = 0; i < r->count; i++) {
    toft_recycler_shard *s = &r->shards[(own + i) % r->count];
    if (TOFT_LOCK_TRY(&s->lock)) return s;
  }
  toft_lock_take(&r->shards[own].lock);
  return &r->shards[own];
}

/* The shard that p came from. Where it is written stays as it was for as long as p is live. */
static toft_recycler_shard *toft_sync_lock_of(toft_sync_recycler *r, void *p, size_t size) {
  toft_recycler_shard *s = r->shards;
  if (r->count > 1) {
    toft_recycler *owner =
        size <= TOFT_RECYCLER_DIRECT ? toft_recycler_block_of(p)->owner : toft_recycler_front_of(p)->owner;
    s = &r->shards[owner->shard];
  }
  toft_lock_take(&s->lock);
  return s;
}

toft_sync_recycler *toft_sync_recycler_create(const toft_recycler_options *options) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  toft_sync_recycler *r;
  toft_source *inner;
  size_t bytes;
  uint32_t i;
  if (options != NULL && toft_recycler_check(options) != TOFT_OK) return NULL;
  if (options != NULL) memcpy(&o, options, options->size);
  if (o.shards == 0) o.shards = o.count != 0 ? 1 : TOFT_SHARDS;
  inner = o.source != NULL ? o.source : &toft_heap_source;
  bytes = toft_round(sizeof *r + (o.shards - 1) * sizeof(toft_recycler_shard), 4096);
  r = (toft_sync_recycler *)inner->take(inner, bytes);
  if (r == NULL) return NULL;
  memset(r, 0, sizeof *r + (o.shards - 1) * sizeof(toft_recycler_shard));
  r->source.take = toft_sync_take;
  r->source.put = toft_sync_put;
  r->inner = inner;
  r->bytes = bytes;
  o.size = sizeof o;
  o.source = o.source != NULL ? &r->source : NULL; /* the heap may be called by all at once */
  r->count = o.shards;
  for (i = 0; i < o.shards; i++) { /* those that take blocks at once are alone */
    if (toft_recycler_init(&r->shards[i].recycler, &o) != TOFT_OK) {
      inner->put(inner, r, bytes);
      return NULL;
    }
    r->shards[i].recycler.shard = (int32_t)i;
  }
  return r;
}

void toft_sync_recycler_destroy(toft_sync_recycler *r) {
  uint32_t i;
  if (r == NULL) return;
  for (i = 0; i < r->count; i++) toft_recycler_release(&r->shards[i].recycler);
  r->inner->put(r->inner, r, r->bytes);
}

void *toft_sync_recycler_alloc(toft_sync_recycler *r, size_t size, size_t align) {
  toft_recycler_shard *s = toft_sync_lock(r);
  void *p = toft_recycler_alloc(&s->recycler, size, align);
  toft_sync_unlock(s);
  return p;
}

void toft_sync_recycler_free(toft_sync_recycler *r, void *p, size_t size) {
  toft_recycler_shard *s;
  if (p == NULL) return;
  s = toft_sync_lock_of(r, p, size);
  toft_recycler_free(&s->recycler, p, size);
  toft_sync_unlock(s);
}

void *toft_sync_recycler_resize(toft_sync_recycler *r, void *p, size_t old_size, size_t new_size, size_t align) {
  toft_recycler_shard *s;
  void *q;
  if (p == NULL) return toft_sync_recycler_alloc(r, new_size, align);
  s = toft_sync_lock_of(r, p, old_size);
  q = toft_recycler_resize(&s->recycler, p, old_size, new_size, align);
  toft_sync_unlock(s);
  return q;
}

void toft_sync_recycler_release(toft_sync_recycler *r) {
  uint32_t i;
  for (i = 0; i < r->count; i++) {
    toft_lock_take(&r->shards[i].lock);
    toft_recycler_release(&r->shards[i].recycler);
    toft_sync_unlock(&r->shards[i]);
  }
}

void toft_sync_recycler_trim(toft_sync_recycler *r, size_t keep) {
  uint32_t i;
  for (i = 0; i < r->count; i++) {
    toft_lock_take(&r->shards[i].lock);
    keep -= toft_min(keep, toft_recycler_trim_to(&r->shards[i].recycler, keep));
    toft_sync_unlock(&r->shards[i]);
  }
}

toft_recycler_stats toft_sync_recycler_stats_of(toft_sync_recycler *r) {
  toft_recycler_stats sum;
  uint64_t *total = (uint64_t *)(void *)&sum;
  uint32_t i;
  memset(&sum, 0, sizeof sum);
  for (i = 0; i < r->count; i++) {
    toft_recycler_stats s;
    const uint64_t *part = (const uint64_t *)(const void *)&s;
    size_t k;
    toft_lock_take(&r->shards[i].lock);
    s = toft_recycler_stats_of(&r->shards[i].recycler);
    toft_sync_unlock(&r->shards[i]);
    for (k = 0; k < sizeof s / sizeof *part; k++) total[k] += part[k];
  }
  return sum;
}
