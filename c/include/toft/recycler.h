/* Recyclers: memory that is freed piece by piece, and comes back by itself. Allocation moves a cursor, as in an arena;
 * each block counts its live bytes, and when none is left the block is filled anew. Blocks that are pinned by a few
 * long-lived objects have their holes filled.
 *
 *     toft_recycler r;
 *     toft_recycler_init(&r, NULL);
 *     struct node *n = (struct node *)toft_recycler_alloc(&r, sizeof *n, TOFT_ALIGNOF(struct node));
 *     ...
 *     toft_recycler_free(&r, n, sizeof *n);      the size as it was asked for
 *     toft_recycler_release(&r);                 what was not freed goes too
 *
 * Objects have no header: a free needs the size, and finds the block from the address alone. Sizes are rounded up to 8;
 * a size of 0 counts as 1. Any alignment that is a power of two. A call that cannot do its work returns NULL or a
 * negative code, and nothing has changed.
 *
 * MISUSE. A free with another size, of another recycler's memory, or of what was freed before is undefined. Recyclers
 * made in a checked process (TOFT_CHECKED=1 in the environment, see toft/findings.h) detect these, writes around an
 * object and writes to a freed one; each call then takes the slow path, and each object red zones and a record.
 *
 * COST. alloc, free and resize in place take constant time. A block of 32 KiB whose objects were freed one by one, but
 * not all, is swept before it is filled again, in time linear in its holes; an allocation sweeps sixteen such blocks
 * at most, and looks at the headers of 64; one above TOFT_RECYCLER_DIRECT at 64 regions of at most 131 objects. It
 * takes from the source at most once, but where that has no memory: then smaller segments are asked for, down to
 * 64 KiB. release and trim are linear in blocks held, statistics in blocks.
 *
 * MEMORY. Blocks come from the source in segments that double from 32 KiB to 1 MiB. Requests above TOFT_RECYCLER_DIRECT
 * have a block each, kept for reuse; when more than 512 KiB of these is in use, those up to 1 MiB are placed side by
 * side in regions of 4 MiB, but for one that is nearly alone, and grow in place while there is room. Nothing goes back
 * to the source before trim or release, but for blocks of one request, where regions serve their like or they are
 * beyond twice those that were ever in use at once (which may be thrice as large as what is in them).
 *
 * THREADS. A toft_recycler belongs to one thread at a time. A toft_sync_recycler may be used by all at once, and what
 * one thread allocated another may free. In a fork's child, one that other threads of the parent were using must not be
 * used: they may have left its locks taken.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_H
#define TOFT_RECYCLER_H

#include <string.h>

#include "toft/abi.h"
#include "toft/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

struct toft_source; /* toft.h */

typedef struct toft_recycler_options {
  size_t size;                /* sizeof(toft_recycler_options): TOFT_RECYCLER_OPTIONS sets it */
  struct toft_source *source; /* NULL: toft_heap() */
  size_t count, block_size;   /* take count blocks of block_size bytes at once, and fill these first; 0: none */
  uint32_t shards; /* of a toft_sync_recycler: how many threads can allocate at once; 0: 8, or 1 with count */
} toft_recycler_options;
#define TOFT_RECYCLER_OPTIONS \
  { sizeof(toft_recycler_options), NULL, 0, 0, 0 }

/* Bytes, but for the counts. */
typedef struct toft_recycler_stats {
  uint64_t used;         /* by live objects, rounded up to 8 */
  uint64_t pinned;       /* free, in blocks that live objects hold: what they keep from being recycled */
  uint64_t kept;         /* free, in blocks without a live object: trim returns these, but for those had by count */
  uint64_t wasted;       /* headers, and what alignment cut off */
  uint64_t reserved;     /* held of the source: the sum of the four above */
  uint64_t peak;         /* the most that reserved ever was; of a synchronized one the sum of its shards' */
  uint64_t blocks;       /* blocks that hold live objects, large ones included */
  uint64_t idle_blocks;  /* blocks that hold none, as far as they were used at all */
  uint64_t large_blocks; /* of blocks: those of one large object each */
  uint64_t source_calls; /* how often the source was asked, ever */
} toft_recycler_stats;

/* Requests up to this size share blocks. */
#define TOFT_RECYCLER_DIRECT (TOFT_RECYCLER_UNIT - TOFT_RECYCLER_ZONE)

typedef struct toft_recycler toft_recycler;

/* TOFT_EARG if options contradict each other or ask for too much: a block of more than 1 GiB, above 256 shards, or
 * shards and a count. */
TOFT_API int toft_recycler_check(const toft_recycler_options *options);

/* Takes no memory unless options->count says so. options == NULL: the defaults. TOFT_EARG; TOFT_ENOMEM. The structure
 * must stay where it is until the last call on it. */
TOFT_API int toft_recycler_init(toft_recycler *r, const toft_recycler_options *options);
/* Returns all memory to the source, whether its objects were freed or not. r is as after init, but that blocks asked
 * for by count are taken when they are needed. */
TOFT_API void toft_recycler_release(toft_recycler *r);
/* Returns memory that holds no live object to the source, until about `keep` bytes of it are left. */
TOFT_API void toft_recycler_trim(toft_recycler *r, size_t keep);
TOFT_API toft_recycler_stats toft_recycler_get_stats(const toft_recycler *r);

TOFT_INLINE TOFT_NODISCARD void *toft_recycler_alloc(toft_recycler *r, size_t size, size_t align);
/* size: as it was asked for. NULL is ignored. */
TOFT_INLINE void toft_recycler_free(toft_recycler *r, void *p, size_t size);
/* In place if it shrinks, or if p is the newest allocation and there is room; else a copy, and so if a large object
 * would keep four times what it needs, or shrinks to TOFT_RECYCLER_DIRECT or less. NULL: nothing changed, there is no
 * memory for the copy. p == NULL allocates. */
TOFT_API TOFT_NODISCARD void *toft_recycler_resize(toft_recycler *r, void *p, size_t old_size, size_t new_size,
                                                   size_t align);

/* ---- synchronized ---- */

/* Threads are spread over shards, each a recycler behind a lock: an allocation takes the lock of the thread's own
 * shard, or of another if that is taken; a free takes the lock of the shard that the memory came from. The source is
 * called by one thread at a time. Memory may be freed by any thread. */
typedef struct toft_sync_recycler toft_sync_recycler;

/* NULL if there is no memory, or the options are bad. The recycler itself, 0.7 KiB for each shard, lies in memory of
 * the source too, which stats leave out and release keeps. */
TOFT_API TOFT_NODISCARD toft_sync_recycler *toft_sync_recycler_create(const toft_recycler_options *options);
/* Returns all memory and the recycler itself. No other thread may be in a call. NULL is ignored. */
TOFT_API void toft_sync_recycler_release(toft_sync_recycler *r);
/* As those above. release: no other thread may use memory of r any more. stats are those of all shards, each at its
 * moment. */
TOFT_API TOFT_NODISCARD void *toft_sync_recycler_alloc(toft_sync_recycler *r, size_t size, size_t align);
TOFT_API void toft_sync_recycler_free(toft_sync_recycler *r, void *p, size_t size);
TOFT_API TOFT_NODISCARD void *toft_sync_recycler_resize(toft_sync_recycler *r, void *p, size_t old_size,
                                                        size_t new_size, size_t align);
TOFT_API void toft_sync_recycler_reset(toft_sync_recycler *r);
TOFT_API void toft_sync_recycler_trim(toft_sync_recycler *r, size_t keep);
TOFT_API toft_recycler_stats toft_sync_recycler_get_stats(toft_sync_recycler *r);

/* ------------------------------------------------------------------------------------------------------------
 * The inline layer: the members below are for it and for src/recycler.c.
 *
 * Segments are cut into units of 32 KiB at addresses that are multiples of 32 KiB. The last 512 bytes of a unit are its
 * zone: one of the zone's eight lines is the block's header. Which one depends on the unit's number, so that the
 * headers of many blocks do not fall into one set of the processor's caches.
 * ------------------------------------------------------------------------------------------------------------ */

#define TOFT_RECYCLER_UNIT ((size_t)32768)
#define TOFT_RECYCLER_ZONE ((size_t)512)

/* Bytes, multiples of 8. The place of a hole is told by the low half of its address: a block is smaller than that. */
#define TOFT_RECYCLER_NONE 1u /* no hole */
typedef struct toft_recycler_block {
  int32_t live;      /* what is not free; what a range has yet to hand out is not */
  int32_t threshold; /* toft_recycler_update_block is called when live falls to this or below */
  uint32_t holes;    /* the piece freed last, which says where the one freed before is */
  int32_t list;      /* TOFT_RECYCLER_... of recycler.c: what list it is in */
  int32_t start;     /* from the header, either way */
  int32_t capacity;
  int32_t swept;   /* since it was empty */
  uint32_t widest; /* of the holes that the last sweep found; 0: there was none since, or there are more by now */
  toft_recycler *owner;
  struct toft_recycler_segment *segment; /* NULL: one of the blocks asked for by count */
  struct toft_recycler_block *next, *previous;
} toft_recycler_block;

/* In the first 8 bytes of what was freed. */
typedef struct toft_recycler_hole {
  uint32_t next, size;
} toft_recycler_hole;

/* What is being filled. */
typedef struct toft_recycler_range {
  unsigned char *cursor, *limit;
  toft_recycler_block *block; /* NULL: none, and cursor == limit */
  uint32_t sweep;             /* holes of the block that are yet to be filled, by address */
} toft_recycler_range;

typedef struct toft_recycler_list {
  toft_recycler_block *first, *last;
} toft_recycler_list;

/* What was freed last: one piece, or neighbours freed one after the other. Its block knows nothing of it yet. */
typedef struct toft_recycler_run {
  unsigned char *first, *end; /* none: both are an address where no allocation ends or starts */
} toft_recycler_run;

/* A large object's own block: the object is gone, and it is kept for the next. */
typedef struct toft_recycler_spare {
  unsigned char *base;
  size_t size;
} toft_recycler_spare;
#define TOFT_RECYCLER_SPARES 16

struct toft_recycler {
  toft_recycler_range main;
  toft_recycler_run pending;
  size_t direct;              /* frees of up to so many bytes find their block by TOFT_RECYCLER_UNIT */
  int32_t shard;              /* of a toft_sync_recycler */
  int32_t checked;            /* made while the process was checked: no call is served inline */
  toft_recycler_range medium; /* for requests that would waste now */
  toft_recycler_list sparse;  /* blocks worth a sweep */
  toft_recycler_list empty, empty_counted;
  struct toft_recycler_segment *segments; /* the newest first, but for over-aligned ones */
  unsigned char *fresh, *fresh_end;       /* of the newest segment: what was never used */
  struct toft_recycler_region *regions;   /* that large objects share; what was freed last is in the first */
  size_t region_used;                     /* by live objects */
  struct toft_recycler_large *dedicated;  /* large objects in blocks of their own */
  size_t dedicated_bytes, dedicated_peak, spare_bytes, spare_count;
  size_t segment_bytes, reserved, peak;
  struct toft_source *source;
  unsigned char *counted, *counted_fresh; /* the blocks asked for by count; NULL: not taken yet */
  size_t count, stride;
  uint64_t source_calls;
  struct toft_recycler_checks *checks;             /* where checked, from the first call on */
  toft_recycler_spare spare[TOFT_RECYCLER_SPARES]; /* the newest last; undefined from spare_count on */
};

TOFT_STATIC_ASSERT(recycler_block, sizeof(toft_recycler_block) <= 64);
TOFT_STATIC_ASSERT(recycler_hole, sizeof(toft_recycler_hole) == 8);

TOFT_API void *toft_recycler_alloc_slow(toft_recycler *r, size_t size, size_t align);
TOFT_API void toft_recycler_free_slow(toft_recycler *r, void *p, size_t size);
/* The same, where findings name `site` as the place of the call. */
TOFT_API void *toft_recycler_alloc_slow_at(toft_recycler *r, size_t size, size_t align, uintptr_t site);
TOFT_API void toft_recycler_free_slow_at(toft_recycler *r, void *p, size_t size, uintptr_t site);
TOFT_API void toft_recycler_update_block(toft_recycler *r, toft_recycler_block *b);

/* The header of the unit that p lies in. */
TOFT_INLINE toft_recycler_block *toft_recycler_block_of(void *p) {
  uintptr_t at = (uintptr_t)p;
  uintptr_t header = (at | (TOFT_RECYCLER_UNIT - 1)) - 63 - (at >> 9 & (TOFT_RECYCLER_ZONE - 64));
  return (toft_recycler_block *)(void *)((unsigned char *)p + (header - at));
}

/* A piece of a block becomes a hole, or part of the one before it, if it ends where that starts: containers are often
 * cleared backwards. The caller sees to live. memcpy: the bytes were of any type. */
TOFT_INLINE void toft_recycler_add_hole(toft_recycler_block *b, void *p, size_t size) {
  toft_recycler_hole hole;
  uint32_t next = b->holes, bytes = (uint32_t)size;
  b->holes = (uint32_t)(uintptr_t)p;
  if (next == (uint32_t)((uintptr_t)p + size)) {
    memcpy(&hole, (unsigned char *)p + size, sizeof hole);
    next = hole.next;
    bytes += hole.size;
  }
  memcpy(p, &next, sizeof next);
  memcpy((unsigned char *)p + sizeof next, &bytes, sizeof bytes);
}

/* What needs no slow call; NULL where one is needed: so does 0, which counts as 1. */
TOFT_INLINE TOFT_NODISCARD void *toft_recycler_bump(toft_recycler *r, size_t size, size_t align) {
  unsigned char *p = r->main.cursor;
  int slow = size - 1 >= (size_t)(r->main.limit - p);
  if (align > 8) slow |= (align & (align - 1)) != 0 || ((uintptr_t)p & (align - 1)) != 0;
  if (TOFT_UNLIKELY(slow)) return NULL;
  r->main.cursor = p + ((size + 7) & ~(size_t)7);
  TOFT_ASSUME(p != NULL);
  return p;
}

TOFT_INLINE void *toft_recycler_alloc(toft_recycler *r, size_t size, size_t align) {
  void *p = toft_recycler_bump(r, size, align);
  return TOFT_LIKELY(p != NULL) ? p : toft_recycler_alloc_slow(r, size, align);
}

/* A piece of a block of `direct` size is gone. */
TOFT_INLINE void toft_recycler_drop(toft_recycler *r, void *p, size_t bytes) {
  toft_recycler_block *b = toft_recycler_block_of(p);
  int32_t live = b->live - (int32_t)bytes;
  b->live = live;
  toft_recycler_add_hole(b, p, bytes);
  if (TOFT_UNLIKELY(live <= b->threshold)) toft_recycler_update_block(r, b);
}

/* Containers free in the order of addresses, or against it. Neighbours are joined before their block hears of them; and
 * where an allocation ended at the cursor, that goes back. No large object ends where a block starts, nor starts where
 * one ends. */
TOFT_INLINE void toft_recycler_free(toft_recycler *r, void *p, size_t size) {
  size_t bytes = (size + (size == 0) + 7) & ~(size_t)7, before;
  unsigned char *q = (unsigned char *)p, *end = (unsigned char *)((uintptr_t)p + bytes);
  if (end == r->main.cursor) { /* the newest, or next to a range in the midst of a block: as good */
    r->main.cursor = q;
    return;
  }
  if (end == r->pending.first) {
    r->pending.first = q;
    return;
  }
  if (TOFT_UNLIKELY(q == NULL)) return;
  if (TOFT_UNLIKELY(bytes > r->direct)) {
    toft_recycler_free_slow(r, p, size);
    return;
  }
  if (q == r->pending.end) {
    r->pending.end = end;
    return;
  }
  p = r->pending.first;
  before = (size_t)(r->pending.end - r->pending.first);
  r->pending.first = q;
  r->pending.end = end;
  if (before != 0) toft_recycler_drop(r, p, before);
}

#ifdef __cplusplus
}
#endif
#endif
