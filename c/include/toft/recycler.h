/* Recyclers: arena-like allocators with individual deallocation. Objects of one size class lie in slabs of 4 to 32 KiB,
 * which take freed objects before new memory. A slab without live objects serves any class again.
 *
 *     toft_recycler r;
 *     toft_recycler_init(&r, NULL);
 *     struct node *n = (struct node *)toft_recycler_alloc(&r, sizeof *n, TOFT_ALIGNOF(struct node));
 *     ...
 *     toft_recycler_free(&r, n, sizeof *n);      with the requested size
 *     toft_recycler_release(&r);                 frees all remaining objects
 *
 * Objects have no header: a free finds the slab by the address. Sizes are rounded up to a multiple of the alignment and
 * of 8, from 129 to 4096 bytes to a multiple of an eighth of the power of two below, and from there to 4592, 5360,
 * 6448, 8048, 10736 or 16112; a size of 0 counts as 1. Any power of two is a valid alignment. A call that fails returns
 * NULL or a negative code and changes nothing.
 *
 * MISUSE. A free of another recycler's memory, or of an object that was freed before, is undefined. Recyclers created
 * in a checked process (TOFT_CHECKED=1 in the environment, see toft/findings.h) detect these, frees with a wrong size,
 * and writes outside an object or after its free; each call then takes the slow path, and each object has red zones and
 * a record.
 *
 * COST. alloc, free and resize in place take constant time, except that a slab is looked for in the segments that have
 * space. An object above TOFT_RECYCLER_DIRECT, or with an alignment above 64, takes whole pages of 4 KiB; its
 * allocation and free are linear in the free runs of its region, which has up to 1024 pages. An allocation calls the
 * source at most once, unless that fails (see REFUSAL). Statistics take constant time; release and trim are linear in
 * the memory held.
 *
 * MEMORY. Slabs come from the source in segments of 32 KiB to 2 MiB, each at least half as large as those before it
 * together. On the heap source a recycler with a few objects of one size writes to one page. Larger objects lie in
 * regions: of their own size at first; when more than 512 KiB of them is in use, or 112 KiB if the process holds little
 * else, those up to 1 MiB side by side in regions of 2 and then 4 MiB, in which they grow in place. A recycler keeps
 * idle memory within the allowance of the process, which all recyclers and the cache of pages share: together with what
 * is in use it is the peak of use of the current and the previous half second (toft_page_cache_window), and as much
 * again, up to the larger of 4 MiB and an eighth of the peak. A call that frees a slab or a large object returns the
 * surplus to the source when there has been one for 16 milliseconds, after half a second also single pages to the
 * system, and both at once when the surplus exceeds the peak; it reads the clock when more has become idle, else at one
 * call in 16. Memory of options.count is in use until the release. The pages of a recycler on the heap source that no
 * call uses are returned by calls of others (on Linux and Windows): see toft_cache_trim in toft.h. trim and release
 * return memory at once. On a budget or a limited source a block returns with its last object, so that other objects of
 * the limit may have it; what remains are the slabs that size classes allocate from, and large objects' blocks up to 64
 * KiB. If the limit is around the heap source, at least 7/8 of it serve objects, from 64 KiB on; around other sources a
 * block of any address loses up to 32 KiB. A toft_recycler itself has 1 KiB.
 *
 * REFUSAL. When the source refuses a block, memory without live objects is returned to it, the block is requested once
 * more, then a smaller one that suffices.
 *
 * THREADS. A toft_recycler is used by one thread at a time. A toft_sync_recycler may be used by all threads at once,
 * and any thread may free its objects. After fork the child must not use one that other threads of the parent were
 * using, since its locks may be held.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_H
#define TOFT_RECYCLER_H

#include "toft/abi.h"
#include "toft/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

struct toft_source; /* toft.h */

typedef struct toft_recycler_options {
  size_t size;                /* sizeof(toft_recycler_options): TOFT_RECYCLER_OPTIONS sets it */
  struct toft_source *source; /* NULL: toft_heap() */
  size_t count, block_size;   /* take segments for `count` times block_size bytes at once, and keep them; 0: none */
  uint32_t shards;            /* shards of a toft_sync_recycler: concurrent allocations; 0: 8, or 1 with count */
} toft_recycler_options;
#define TOFT_RECYCLER_OPTIONS \
  { sizeof(toft_recycler_options), NULL, 0, 0, 0 }

/* Bytes, but for the counts. A block is a slab, or the memory of one large object. */
typedef struct toft_recycler_stats {
  uint64_t used;         /* bytes of live objects, rounded up as above */
  uint64_t pinned;       /* free bytes in blocks with live objects, which serve their size class only */
  uint64_t kept;         /* free bytes that serve any request: trim returns those of segments without live objects */
  uint64_t wasted;       /* bytes of headers and padding */
  uint64_t reserved;     /* bytes held from the source: the sum of the four above */
  uint64_t peak;         /* the maximum of reserved; of a synchronized one the sum of its shards' maxima */
  uint64_t blocks;       /* blocks with live objects */
  uint64_t idle_blocks;  /* blocks without live objects */
  uint64_t large_blocks; /* blocks of one large object each, included in `blocks` */
  uint64_t source_calls; /* calls of the source since the init */
} toft_recycler_stats;

/* Requests up to this size share slabs. */
#define TOFT_RECYCLER_DIRECT ((size_t)16112)

typedef struct toft_recycler toft_recycler;

/* Validates options: TOFT_EARG if they contradict each other or exceed a limit: an object of more than 1 GiB, more than
 * 256 shards, or shards together with a count. */
TOFT_API int toft_recycler_check(const toft_recycler_options *options);

/* Initialises a recycler. Takes no memory unless options->count is set. options == NULL: the defaults. TOFT_EARG, also
 * if the program was compiled for another layout of toft_recycler than the library, or with the source of a region that
 * the structure does not lie in; then every allocation fails. TOFT_ENOMEM. The structure must not move until its last
 * call. */
TOFT_INLINE int toft_recycler_init(toft_recycler *r, const toft_recycler_options *options);
/* Returns all memory to the source, including objects that were not freed. r is then as after init, except that the
 * memory of options->count is taken when it is needed. */
TOFT_API void toft_recycler_release(toft_recycler *r);
/* Returns memory without live objects to the source, until about `keep` bytes of it are left. */
TOFT_API void toft_recycler_trim(toft_recycler *r, size_t keep);
TOFT_API toft_recycler_stats toft_recycler_get_stats(const toft_recycler *r);

TOFT_INLINE TOFT_NODISCARD void *toft_recycler_alloc(toft_recycler *r TOFT_LIFETIMEBOUND, size_t size, size_t align);
/* Frees an object. `size` is the requested size, which only checked processes read. NULL is ignored. */
TOFT_INLINE void toft_recycler_free(toft_recycler *r, void *p, size_t size);
/* Returns p itself if the bytes at p suffice and at least half of them are needed, or if a large object has space
 * behind it; else copies. Returns NULL, and changes nothing, if there is no memory for an object that grows; one that
 * shrinks then stays at p. p == NULL allocates. */
TOFT_API TOFT_NODISCARD void *toft_recycler_resize(toft_recycler *r TOFT_LIFETIMEBOUND, void *p, size_t old_size,
                                                   size_t new_size, size_t align);

/* ---- synchronized ---- */

/* Threads are distributed over shards, each a recycler with a lock: an allocation takes the lock of the thread's shard,
 * or of another if that is held. A free takes the lock of the shard that the memory came from; if it is held, the
 * object goes to a list, which the next call in that shard frees. The source is called by one thread at a time. Any
 * thread may free any object. */
typedef struct toft_sync_recycler toft_sync_recycler;

/* Creates a synchronized recycler; NULL if there is no memory or the options are invalid. The recycler itself, 1.2
 * KiB for each shard, lies in memory of the source too, which statistics exclude and a reset keeps. */
TOFT_API TOFT_NODISCARD toft_sync_recycler *toft_sync_recycler_create(const toft_recycler_options *options);
/* Returns all memory and the recycler itself. No other thread may be in a call. NULL is ignored. */
TOFT_API void toft_sync_recycler_release(toft_sync_recycler *r);
/* As the functions above. toft_sync_recycler_reset frees all objects, as toft_recycler_release does; no other thread
 * may use them any more. Statistics are sums over the shards, each read at a different moment. */
TOFT_API TOFT_NODISCARD void *toft_sync_recycler_alloc(toft_sync_recycler *r, size_t size, size_t align);
TOFT_API void toft_sync_recycler_free(toft_sync_recycler *r, void *p, size_t size);
TOFT_API TOFT_NODISCARD void *toft_sync_recycler_resize(toft_sync_recycler *r, void *p, size_t old_size,
                                                        size_t new_size, size_t align);
TOFT_API void toft_sync_recycler_reset(toft_sync_recycler *r);
TOFT_API void toft_sync_recycler_trim(toft_sync_recycler *r, size_t keep);
TOFT_API toft_recycler_stats toft_sync_recycler_get_stats(toft_sync_recycler *r);

/* ------------------------------------------------------------------------------------------------------------
 * The inline fast paths. The members below are private to them and to src/recycler; TOFT_RECYCLER_LAYOUT changes with
 * them, so that a program that was compiled for others is refused by the init.
 *
 * Segments are divided into units of 32 KiB, aligned to 32 KiB, and units into pages of 4 KiB. A slab is a run of pages
 * of a unit. The last 512 bytes of a unit are its zone: one cache line for each page describes the slab that starts
 * there. The unit's address rotates the lines, so that those of many units do not fall into one cache set.
 * ------------------------------------------------------------------------------------------------------------ */

#define TOFT_RECYCLER_LAYOUT 3
#define TOFT_RECYCLER_UNIT ((size_t)32768)
#define TOFT_RECYCLER_ZONE ((size_t)512)

/* `index` and what follows are set in the line of page 0 only, and describe the unit. */
typedef struct toft_recycler_slab {
  void *free;            /* freed objects, newest first; each starts with the address of the next */
  unsigned char *cursor; /* the first object that was never allocated */
  uint32_t end, last;    /* low halves of addresses: the cursor goes to `end`, and behind it to `last` */
  struct toft_recycler_slab *next, *previous; /* of its class, if it has free objects; the first is `current` */
  uint16_t bytes;                             /* of an object */
  uint16_t freed, most; /* length of `free`; toft_recycler_slab_freed is called when it is `most` */
  uint16_t capacity;    /* objects; known when the slab has been full */
  uint8_t size_class, state, pages;
  uint8_t index, shard; /* the unit's index in its segment; the recycler's in a synchronized one */
  uint8_t free_pages;   /* of the unit, one bit each */
  int16_t segment;      /* distance from unit 0 to the segment's header in 16 bytes */
  uint8_t map[8];       /* of a page: the line of its slab, counted from the end of the zone */
} toft_recycler_slab;

/* Requests up to this size have a size class in the inline paths, or 16112 in the slow one. */
#define TOFT_RECYCLER_CLASS_MAX ((size_t)4096)
#define TOFT_RECYCLER_EXACT_MAX ((size_t)128) /* up to here the classes are the multiples of 8 */
#define TOFT_RECYCLER_ALIGN_MAX ((size_t)64)  /* of objects in slabs */
#define TOFT_RECYCLER_CLASSES 62
#define TOFT_RECYCLER_REGION_LISTS 25

struct toft_recycler {
  toft_recycler_slab *current[TOFT_RECYCLER_CLASSES];                /* the slab that a class allocates from */
  struct toft_recycler_region *with_run[TOFT_RECYCLER_REGION_LISTS]; /* regions by their longest free run */
  uint64_t classes;                                                  /* a bit for each whose `current` was set */
  size_t freed, full;    /* bytes of freed objects in slabs; of all objects in those that are not current */
  uintptr_t object_mask; /* a free at a multiple of object_mask + 1 takes the slow path: large objects, NULL; 0: all */
  struct toft_source *source;
  struct toft_recycler_segment *segments; /* those with space were used last */
  struct toft_recycler_region *regions;   /* of large objects, the newest first */
  struct toft_recycler_checks *checks;    /* checked recyclers: set by the first call */
  size_t reserved, peak;                  /* bytes held from the source */
  ptrdiff_t closed, looked; /* growth of idle bytes since a surplus was returned: see recycler_retention.c */
  uint32_t window, looks;   /* the last known window of time; frees since that was read */
  size_t count, block_size; /* of the options */
  size_t slab_count, slab_bytes, page_bytes;
  size_t region_bytes, region_idle_bytes, region_used, region_objects;
  uint64_t source_calls;
  size_t free_units, gaps[3];          /* units without a slab; units with one, by their longest free run */
  uint32_t have_run;                   /* a bit for each list of with_run that is not empty */
  uint8_t held[TOFT_RECYCLER_CLASSES]; /* pages of a class, at most 255 */
  uint8_t checked, shard;
  uint8_t clears;       /* in a region that is frozen: frees clear the object, and the time has no effect */
  uint8_t shares_limit; /* the source has a limit: blocks without objects return at once */
  uint8_t on_heap;      /* the source is Toft's heap, or a limit around it */
  uint8_t is_aligned;   /* the source aligns blocks of n units to units */
};

TOFT_STATIC_ASSERT(recycler_slab, sizeof(toft_recycler_slab) <= 64);
TOFT_STATIC_ASSERT(recycler, sizeof(toft_recycler) <= 1024);

TOFT_API int toft_recycler_init_layout(toft_recycler *r, const toft_recycler_options *options, size_t layout);
TOFT_API void *toft_recycler_alloc_slow(toft_recycler *r, size_t size, size_t align);
TOFT_API void toft_recycler_free_slow(toft_recycler *r, void *p, size_t size);
/* The same with a call site for findings. */
TOFT_API void *toft_recycler_alloc_slow_at(toft_recycler *r, size_t size, size_t align, uintptr_t site);
TOFT_API void toft_recycler_free_slow_at(toft_recycler *r, void *p, size_t size, uintptr_t site);
TOFT_API void toft_recycler_slab_freed(toft_recycler *r, toft_recycler_slab *d);

TOFT_INLINE int toft_recycler_init(toft_recycler *r, const toft_recycler_options *options) {
  return toft_recycler_init_layout(r, options, TOFT_RECYCLER_LAYOUT << 16 | sizeof *r);
}

/* Returns the line `line`, times 64, of the unit that contains p. */
TOFT_INLINE toft_recycler_slab *toft_recycler_line(const void *p, uintptr_t line) {
  return (toft_recycler_slab *)(((uintptr_t)p | (TOFT_RECYCLER_UNIT - 1)) - 63 - line);
}

/* Returns the line of the unit that contains p, which is that of its page 0. */
TOFT_INLINE toft_recycler_slab *toft_recycler_unit_of(const void *p) {
  return toft_recycler_line(p, (uintptr_t)p >> 9 & (TOFT_RECYCLER_ZONE - 64));
}

/* Returns the slab that contains p. */
TOFT_INLINE toft_recycler_slab *toft_recycler_slab_of(const void *p) {
  return toft_recycler_line(p, (uintptr_t)toft_recycler_unit_of(p)->map[(uintptr_t)p >> 12 & 7] << 6);
}

/* Returns log2 of the distance between size classes at `size`: an eighth of the power of two below. Precondition:
 * TOFT_RECYCLER_EXACT_MAX < size <= TOFT_RECYCLER_CLASS_MAX. */
TOFT_INLINE unsigned toft_recycler_class_shift(size_t size) {
#if defined(__GNUC__)
  return 28u - (unsigned)__builtin_clz((unsigned)size - 1);
#else
  return 4u + (size > 256) + (size > 512) + (size > 1024) + (size > 2048);
#endif
}

/* Stores the index of the class of a size, and its bytes. 0: the size has no class here. */
TOFT_INLINE int toft_recycler_classify(size_t size, size_t *index, size_t *bytes) {
  if (TOFT_LIKELY(size - 1 < TOFT_RECYCLER_EXACT_MAX)) {
    *bytes = (size + 7) & ~(size_t)7;
    *index = (size - 1) >> 3;
    return 1;
  }
  if (size - 1 < TOFT_RECYCLER_CLASS_MAX) {
    unsigned shift = toft_recycler_class_shift(size);
    *index = ((size - 1) >> shift) + 8 * (size_t)(shift - 3);
    *bytes = (((size - 1) >> shift) + 1) << shift;
    return 1;
  }
  return 0;
}

/* Takes an object from the current slab of a class, whose objects have `bytes` bytes. NULL: the slab has none. */
TOFT_INLINE TOFT_NODISCARD void *toft_recycler_pop(toft_recycler *r, toft_recycler_slab *d, size_t bytes) {
  void *p = d->free;
  if (TOFT_LIKELY(p != NULL)) {
    memcpy(&d->free, p, sizeof p);
    d->freed--;
    r->freed -= bytes;
    return p;
  }
  p = d->cursor;
  if (TOFT_UNLIKELY((uint32_t)(uintptr_t)p == d->end)) return NULL;
  d->cursor = (unsigned char *)p + bytes;
  TOFT_ASSUME(p != NULL);
  return p;
}

/* The fast path; NULL if the slow path is needed, as for size 0, which counts as 1. */
TOFT_INLINE TOFT_NODISCARD void *toft_recycler_bump(toft_recycler *r TOFT_LIFETIMEBOUND, size_t size, size_t align) {
  size_t k, bytes;
  if (TOFT_UNLIKELY(align > 8)) {
    if (TOFT_UNLIKELY((align & (align - 1)) != 0 || align > TOFT_RECYCLER_ALIGN_MAX)) return NULL;
    size = (size + align - 1) & ~(align - 1);
  }
  if (TOFT_UNLIKELY(!toft_recycler_classify(size, &k, &bytes))) return NULL;
  return toft_recycler_pop(r, r->current[k], bytes);
}

TOFT_INLINE void *toft_recycler_alloc(toft_recycler *r, size_t size, size_t align) {
  void *p = toft_recycler_bump(r, size, align);
  return TOFT_LIKELY(p != NULL) ? p : toft_recycler_alloc_slow(r, size, align);
}

/* Frees an object of a slab. */
TOFT_INLINE void toft_recycler_push(toft_recycler *r, void *p) {
  toft_recycler_slab *d = toft_recycler_slab_of(p);
  memcpy(p, &d->free, sizeof p);
  d->free = p;
  r->freed += d->bytes;
  if (TOFT_UNLIKELY(++d->freed >= d->most)) toft_recycler_slab_freed(r, d);
}

TOFT_INLINE void toft_recycler_free(toft_recycler *r, void *p, size_t size) {
  if (TOFT_LIKELY(((uintptr_t)p & r->object_mask) != 0))
    toft_recycler_push(r, p);
  else
    toft_recycler_free_slow(r, p, size);
}

#ifdef __cplusplus
}
#endif
#endif
