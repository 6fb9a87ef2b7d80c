/* Recyclers: arena-like allocators with individual deallocation. Allocation moves the cursor of a size class, which
 * takes freed objects of that class before new memory. Each block counts its live bytes and is reused when they reach
 * 0. In blocks that a few long-lived objects pin, the holes are reused.
 *
 *     toft_recycler r;
 *     toft_recycler_init(&r, NULL);
 *     struct node *n = (struct node *)toft_recycler_alloc(&r, sizeof *n, TOFT_ALIGNOF(struct node));
 *     ...
 *     toft_recycler_free(&r, n, sizeof *n);      with the requested size
 *     toft_recycler_release(&r);                 frees all remaining objects
 *
 * Objects have no header: a free needs the size and computes the block from the address. Sizes are rounded up to a
 * multiple of 8, and from 129 to 4096 bytes to a multiple of an eighth of the power of two below; a size of 0 counts as
 * 1. Any power of two is a valid alignment. A call that fails returns NULL or a negative code and changes nothing.
 *
 * MISUSE. A free with a wrong size, of another recycler's memory, or of an object that was freed before is undefined.
 * Recyclers created in a checked process (TOFT_CHECKED=1 in the environment, see toft/findings.h) detect these, and
 * writes outside an object or after its free; each call then takes the slow path, and each object has red zones and a
 * record.
 *
 * COST. alloc, free and resize in place take constant time; an allocation at an alignment above 8 may examine up to 64
 * freed objects. A block of 32 KiB that size classes share, and whose objects were freed one by one, but not all, is
 * swept before it is reused, in time linear in its holes. An allocation reuses at most 4 blocks of its class and 4
 * shared ones (16 with a count), and reads at most 64 headers of each; one above TOFT_RECYCLER_DIRECT reads at most 64
 * regions of up to 131 objects. It calls the source at most once, unless that fails (see REFUSAL). release and trim are
 * linear in the blocks held, statistics in the objects that classes keep: at most 80 for each.
 *
 * MEMORY. Blocks come from the source in segments that double from 32 KiB to 1 MiB. Size classes share blocks until
 * one has 256 KiB of live objects; it then fills blocks of its own. A class keeps up to 64 freed objects and 16 longer
 * free ranges for itself; all classes pass these to their blocks before the source is called. Larger objects up to
 * TOFT_RECYCLER_DIRECT bytes take multiples of 504 bytes of a block, best fit first. A request above that has a block
 * of its own, which is kept for reuse. When more than 512 KiB of these are in use, those up to 1 MiB are placed side
 * by side in regions of 4 MiB, unless one would be nearly alone there, and grow in place if there is space. Memory
 * returns to the source by trim and release only, except blocks of one request: these also return when regions serve
 * their size, or when they exceed twice the bytes that were ever in use at once (a block may be three times as large
 * as its object). A toft_recycler itself has 6.8 KiB.
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
  size_t count, block_size;   /* take `count` blocks of block_size bytes at once, and use these first; 0: none */
  uint32_t shards;            /* shards of a toft_sync_recycler: concurrent allocations; 0: 8, or 1 with count */
} toft_recycler_options;
#define TOFT_RECYCLER_OPTIONS \
  { sizeof(toft_recycler_options), NULL, 0, 0, 0 }

/* Bytes, but for the counts. */
typedef struct toft_recycler_stats {
  uint64_t used;     /* bytes of live objects, rounded up as above */
  uint64_t pinned;   /* free bytes in blocks with live objects, which cannot be recycled as a whole */
  uint64_t kept;     /* free bytes in blocks without live objects: trim returns these, except blocks taken by count */
  uint64_t wasted;   /* bytes of headers and padding */
  uint64_t reserved; /* bytes held from the source: the sum of the four above */
  uint64_t peak;     /* the maximum of reserved; of a synchronized one the sum of its shards' maxima */
  uint64_t blocks;   /* blocks with live objects, large ones included */
  uint64_t idle_blocks;  /* blocks without live objects that have been used */
  uint64_t large_blocks; /* blocks of one large object each, included in `blocks` */
  uint64_t source_calls; /* calls of the source since the init */
} toft_recycler_stats;

/* Requests up to this size share blocks. */
#define TOFT_RECYCLER_DIRECT (TOFT_RECYCLER_UNIT - TOFT_RECYCLER_ZONE)

typedef struct toft_recycler toft_recycler;

/* Validates options: TOFT_EARG if they contradict each other or exceed a limit: a block of more than 1 GiB, more than
 * 256 shards, or shards together with a count. */
TOFT_API int toft_recycler_check(const toft_recycler_options *options);

/* Initialises a recycler. Takes no memory unless options->count is set. options == NULL: the defaults. TOFT_EARG;
 * TOFT_ENOMEM. The structure must not move until its last call. */
TOFT_API int toft_recycler_init(toft_recycler *r, const toft_recycler_options *options);
/* Returns all memory to the source, including objects that were not freed. r is then as after init, except that the
 * blocks of options->count are taken when they are needed. */
TOFT_API void toft_recycler_release(toft_recycler *r);
/* Returns memory without live objects to the source, until about `keep` bytes of it are left. */
TOFT_API void toft_recycler_trim(toft_recycler *r, size_t keep);
TOFT_API toft_recycler_stats toft_recycler_get_stats(const toft_recycler *r);

TOFT_INLINE TOFT_NODISCARD void *toft_recycler_alloc(toft_recycler *r, size_t size, size_t align);
/* Frees an object. `size` is the requested size. NULL is ignored. */
TOFT_INLINE void toft_recycler_free(toft_recycler *r, void *p, size_t size);
/* Resizes in place if the object shrinks, or if p is the newest allocation and there is space; else copies, also if a
 * large object would keep four times what it needs, or shrinks to TOFT_RECYCLER_DIRECT or less. Returns NULL, and
 * changes nothing, if there is no memory for the copy. p == NULL allocates. */
TOFT_API TOFT_NODISCARD void *toft_recycler_resize(toft_recycler *r, void *p, size_t old_size, size_t new_size,
                                                   size_t align);

/* ---- synchronized ---- */

/* Threads are distributed over shards, each a recycler with a lock: an allocation takes the lock of the thread's shard,
 * or of another if that is held; a free takes the lock of the shard that the memory came from. The source is called by
 * one thread at a time. Any thread may free any object. */
typedef struct toft_sync_recycler toft_sync_recycler;

/* Creates a synchronized recycler; NULL if there is no memory or the options are invalid. The recycler itself, 6.9
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
 * The inline fast paths. The members below are private to them and to src/recycler.
 *
 * Segments are divided into units of 32 KiB, aligned to 32 KiB. The last 512 bytes of a unit are its zone: one of the
 * zone's eight cache lines is the block's header. The unit's address selects it, so that the headers of many blocks do
 * not fall into one cache set.
 * ------------------------------------------------------------------------------------------------------------ */

#define TOFT_RECYCLER_UNIT ((size_t)32768)
#define TOFT_RECYCLER_ZONE ((size_t)512)

/* Values are bytes, multiples of 8. The low half of a hole's address identifies it: a block is smaller than that. */
#define TOFT_RECYCLER_NONE 1u /* no hole */
typedef struct toft_recycler_block {
  int32_t live;      /* allocated bytes; includes the unused part of a range */
  int32_t threshold; /* toft_recycler_update_block is called when live <= threshold */
  uint32_t holes;    /* the newest hole; each links to the one freed before. Of medium objects, with widest: the free */
  uint32_t widest;   /* grains. widest is else the largest hole found by the last sweep; 0: unknown */
  int16_t list;      /* TOFT_RECYCLER_... of recycler.c: the list that contains the block */
  int16_t size_class; /* the class whose range filled it last, and whose sparse list may contain it */
  int32_t start;      /* offset from the header, of either sign */
  int32_t capacity;
  int32_t swept; /* whether it was swept since it was empty. Of medium objects: its longest run of free grains */
  toft_recycler *owner;
  struct toft_recycler_segment *segment; /* NULL: a block of options.count */
  struct toft_recycler_block *next, *previous;
} toft_recycler_block;

/* Stored in the first 8 bytes of a freed piece. */
typedef struct toft_recycler_hole {
  uint32_t next, size;
} toft_recycler_hole;

/* The part of a block that allocations are taken from. */
typedef struct toft_recycler_range {
  unsigned char *cursor, *limit;
  toft_recycler_block *block; /* NULL: none, and cursor == limit */
  uint32_t sweep;             /* holes of the block still to be used, by address */
} toft_recycler_range;

typedef struct toft_recycler_list {
  toft_recycler_block *first, *last;
} toft_recycler_list;

/* Free memory of a size class from which the next allocations are taken: a freed piece, adjacent freed pieces, or the
 * unused part of a block. Blocks count it as live. */
typedef struct toft_recycler_span {
  unsigned char *cursor, *limit; /* cursor > limit if the class is not in use */
} toft_recycler_span;

/* What the slow paths keep of a size class. Undefined until the class is used. */
typedef struct toft_recycler_class {
  toft_recycler_range range; /* the block being filled, for a class with blocks of its own and the shared one */
  toft_recycler_list sparse; /* its blocks with enough free bytes for a sweep */
  unsigned char *held;       /* freed pieces, newest first; each starts with the address of the next */
  unsigned char *rests;      /* longer spans that frees replaced, each with the address of the next and its limit */
  uint32_t held_count, rest_count;
  uint32_t granted; /* bytes that the class took from the shared range and has not passed back */
  int32_t own;      /* the class fills blocks of its own */
} toft_recycler_class;

/* The block of a freed large object, kept for reuse. */
typedef struct toft_recycler_spare {
  unsigned char *base;
  size_t size;
} toft_recycler_spare;
#define TOFT_RECYCLER_SPARES 16

/* Requests up to this size have a size class. */
#define TOFT_RECYCLER_CLASS_MAX ((size_t)4096)
#define TOFT_RECYCLER_EXACT_MAX ((size_t)128) /* up to here the classes are the multiples of 8 */
#define TOFT_RECYCLER_CLASSES 56
#define TOFT_RECYCLER_SHARED TOFT_RECYCLER_CLASSES /* index of the blocks that classes share */
#define TOFT_RECYCLER_MEDIUM_MIN 9                 /* grains of the smallest object above TOFT_RECYCLER_CLASS_MAX */

struct toft_recycler {
  toft_recycler_span spans[TOFT_RECYCLER_CLASSES];
  int32_t shard;   /* index of this shard in a toft_sync_recycler */
  int32_t checked; /* created in a checked process: no call takes the fast path */
  uint64_t active; /* bit k: classes[k] is in use */
  size_t phase;    /* blocks of segments start this much after a multiple of 16: 0, or 8 for a toft_malloc */
  toft_recycler_list empty, empty_counted;
  uint64_t medium_runs;                   /* bit n: medium[n - TOFT_RECYCLER_MEDIUM_MIN] has blocks */
  struct toft_recycler_segment *segments; /* newest first, except over-aligned ones */
  unsigned char *fresh, *fresh_end;       /* unused part of the newest segment */
  struct toft_recycler_region *regions;   /* shared by large objects; the first contains the newest free */
  size_t region_used;                     /* bytes of live objects in regions */
  struct toft_recycler_large *dedicated;  /* large objects in blocks of their own */
  size_t dedicated_bytes, dedicated_peak, spare_bytes, spare_count;
  size_t segment_bytes, reserved, peak;
  struct toft_source *source;
  unsigned char *counted, *counted_fresh; /* the blocks of options.count; NULL: not taken yet */
  size_t count, stride;
  size_t borrower; /* with a count: the class whose span is the end of the shared range; else TOFT_RECYCLER_CLASSES */
  uint64_t source_calls;
  size_t live;                      /* sum over the blocks. This and the next lines are for statistics */
  size_t cut_blocks, cut_bytes;     /* blocks, and their capacity */
  size_t empty_blocks, empty_bytes; /* those without live bytes */
  size_t dedicated_count, dedicated_used, dedicated_room; /* objects; their bytes; bytes of their blocks but headers */
  size_t region_count, region_idle, region_objects;
  size_t refused;                      /* the source has refused a block */
  struct toft_recycler_checks *checks; /* checked recyclers: set by the first call */
  toft_recycler_class classes[TOFT_RECYCLER_SHARED + 1];
  toft_recycler_list medium[64 - TOFT_RECYCLER_MEDIUM_MIN]; /* by longest run; undefined without a bit in medium_runs */
  toft_recycler_spare spare[TOFT_RECYCLER_SPARES];          /* newest last; undefined from spare_count on */
};

TOFT_STATIC_ASSERT(recycler_block, sizeof(toft_recycler_block) <= 64);
TOFT_STATIC_ASSERT(recycler_hole, sizeof(toft_recycler_hole) == 8);

TOFT_API void *toft_recycler_alloc_slow(toft_recycler *r, size_t size, size_t align);
TOFT_API void toft_recycler_free_slow(toft_recycler *r, void *p, size_t size);
/* The same with a call site for findings. */
TOFT_API void *toft_recycler_alloc_slow_at(toft_recycler *r, size_t size, size_t align, uintptr_t site);
TOFT_API void toft_recycler_free_slow_at(toft_recycler *r, void *p, size_t size, uintptr_t site);

/* Returns the header of the unit that contains p. */
TOFT_INLINE toft_recycler_block *toft_recycler_block_of(void *p) {
  uintptr_t at = (uintptr_t)p;
  uintptr_t header = (at | (TOFT_RECYCLER_UNIT - 1)) - 63 - (at >> 9 & (TOFT_RECYCLER_ZONE - 64));
  return (toft_recycler_block *)(void *)((unsigned char *)p + (header - at));
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

/* Stores the index of the class of a size, and its bytes. 0: the size has no class. */
TOFT_INLINE int toft_recycler_classify(size_t size, size_t *index, size_t *bytes) {
  if (size - 1 < TOFT_RECYCLER_EXACT_MAX) {
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

/* The fast path; NULL if the slow path is needed, as for size 0, which counts as 1. */
TOFT_INLINE TOFT_NODISCARD void *toft_recycler_bump(toft_recycler *r, size_t size, size_t align) {
  size_t k, bytes;
  toft_recycler_span *s;
  unsigned char *p;
  int slow;
  if (TOFT_UNLIKELY(!toft_recycler_classify(size, &k, &bytes))) return NULL;
  s = &r->spans[k];
  p = s->cursor;
  slow = (ptrdiff_t)bytes > (ptrdiff_t)((uintptr_t)s->limit - (uintptr_t)p);
  if (align > 8) slow |= (align & (align - 1)) != 0 || ((uintptr_t)p & (align - 1)) != 0;
  if (TOFT_UNLIKELY(slow)) return NULL;
  s->cursor = p + bytes;
  TOFT_ASSUME(p != NULL);
  return p;
}

TOFT_INLINE void *toft_recycler_alloc(toft_recycler *r, size_t size, size_t align) {
  void *p = toft_recycler_bump(r, size, align);
  return TOFT_LIKELY(p != NULL) ? p : toft_recycler_alloc_slow(r, size, align);
}

/* A freed piece that is next to the span of its class extends it: containers free in order of addresses, or against
 * it. */
TOFT_INLINE void toft_recycler_free(toft_recycler *r, void *p, size_t size) {
  size_t k, bytes;
  if (TOFT_LIKELY(toft_recycler_classify(size, &k, &bytes))) {
    toft_recycler_span *s = &r->spans[k];
    unsigned char *q = (unsigned char *)p, *end = (unsigned char *)((uintptr_t)p + bytes);
    if (end == s->cursor) {
      s->cursor = q;
      return;
    }
    if (q == s->limit) {
      s->limit = end;
      return;
    }
  }
  toft_recycler_free_slow(r, p, size);
}

#ifdef __cplusplus
}
#endif
#endif
