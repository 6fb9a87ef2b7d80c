/* Pools: slots of one size that are reused, named by 32-bit handles that tell when they are stale.
 *
 *     toft_pool pool;
 *     toft_pool_options o = TOFT_POOL_OPTIONS;
 *     o.slot_size = sizeof(struct node);
 *     if (toft_pool_init(&pool, &o) != TOFT_OK) ...
 *     toft_handle h;
 *     struct node *n = (struct node *)toft_pool_insert(&pool, &h);
 *     ...
 *     n = (struct node *)toft_pool_at(&pool, h);     NULL once it was removed
 *     toft_pool_remove(&pool, h);
 *     toft_pool_release(&pool);
 *
 * A slot never moves: a pointer into it is good until that slot is removed, or the pool is cleared or released. Behind
 * a pointer there is no check; behind a handle there is one compare.
 *
 * HANDLES. The low bits are the slot's number, as many as max_slots needs; the rest is its generation, which grows by
 * one each time the slot is removed. So a handle kept for too long is told apart until the generations have gone
 * round: after 256 removals of its slot with 24 bits for the number (the default), after 4 million at 1000 slots. With
 * TOFT_POOL_RETIRE a slot whose generations are spent is not used again, and a stale handle is always told apart. 0 is
 * no handle. A handle is good in its own pool only; in another it may name something else.
 *
 * GROWING AND FIXED. A pool that grows takes address space for max_slots when it is made, which costs next to nothing,
 * and memory as it is needed. A fixed pool takes all its memory when it is made, as one block of a source or from the
 * caller's buffer, and asks nobody later. Each growing pool is a mapping of its own: where there are thousands of small
 * pools, make them fixed.
 *
 * COST. Insert, remove and at take constant time; a growing pool asks the system when it is full, by doubling steps of
 * 64 KiB to 64 MiB. A walk visits live slots only, found 64 at a time: its cost is that of the live ones, and about a
 * nanosecond for 64 slots without any. Besides its size a slot takes 4 bytes and a bit, rounded up to a power of two.
 *
 * THREADS. A pool belongs to one thread at a time; several may read it while none changes it.
 *
 * MOVING. A toft_pool may be copied to another place in memory: use the copy from then on.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_POOL_H
#define TOFT_POOL_H

#include <string.h>

#include "toft/abi.h"
#include "toft/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

struct toft_source; /* toft.h */

typedef uint32_t toft_handle; /* 0: none */

/* options.flags. FIXED: `slots` is all there ever is. RETIRE: see HANDLES. */
enum { TOFT_POOL_FIXED = 1, TOFT_POOL_RETIRE = 2 };

#define TOFT_POOL_ALIGN_MAX 4096
#define TOFT_POOL_SLOTS_MAX 0x7fffffff

typedef struct toft_pool_options {
  size_t size;      /* sizeof(toft_pool_options): TOFT_POOL_OPTIONS sets it */
  size_t slot_size; /* bytes; 0 counts as 1 */
  size_t align;     /* a power of two up to TOFT_POOL_ALIGN_MAX, to which slot_size is rounded up. 0: the largest up to
                        * 16 of which slot_size is a multiple, which is enough for any type of that size */
  size_t slots;     /* these have memory from the start. With a buffer 0 means as many as it holds */
  size_t max_slots; /* 0: 2^24 - 1, less where that were more than a TiB, or than there is address space */
  struct toft_source *source; /* of a fixed pool's block; NULL: toft_heap() */
  void *buffer;               /* the pool is fixed, and lives in here; NULL: in memory of its own */
  size_t buffer_size;         /* see TOFT_POOL_BUFFER */
  uint32_t flags;             /* TOFT_POOL_..., or 0 */
} toft_pool_options;
/* clang-format off */
#define TOFT_POOL_OPTIONS { sizeof(toft_pool_options), 0, 0, 0, 0, NULL, NULL, 0, 0 }
/* clang-format on */

/* A buffer of this size has room for so many slots, wherever it starts. `align` is not 0. */
#define TOFT_POOL_BUFFER(slots, slot_size, align)                                                                 \
  ((size_t)(slots) * (((size_t)(slot_size) + ((slot_size) == 0) + (align)-1) / (align) * (align)) + 8 + (align) + \
   8 * ((size_t)(slots) + 1) + 8 * ((size_t)(slots) / 64 + 1))

/* Read what you like; the functions below write. */
typedef struct toft_pool {
  unsigned char *slots;        /* slot 1: slot 0 is never used */
  uint32_t *keys;              /* one for each slot */
  uint64_t *live_bits;         /* one for each slot up to used; those from there to top are set in advance */
  size_t stride;               /* bytes from slot to slot */
  uint32_t mask;               /* of the number in a handle */
  uint32_t reach;              /* the part of mask for which keys have memory */
  uint32_t free;               /* the slot removed last; 0: none */
  uint32_t used;               /* slots up to here have been used since the last clear */
  uint32_t top;                /* used may grow so far without a look: see draw_more */
  uint32_t idle;               /* slots up to used that are not live */
  uint32_t spent;              /* a key from which on a slot is retired */
  uint32_t room, max;          /* slots that have memory; that may have it */
  uint32_t retired;            /* how many slots are */
  uint32_t dirty;              /* no slot above it, nor above used, has been used yet */
  uint32_t flags;              /* TOFT_POOL_..., and more */
  size_t keys_size, bits_size; /* bytes committed, if it grows */
  size_t slots_size;           /* of all kinds */
  void *block;                 /* everything lies in here */
  size_t block_size;           /* 0: closed */
  struct toft_source *source;  /* of the block; NULL: it is the caller's buffer, or address space */
} toft_pool;

/* Makes an empty pool. TOFT_ENOMEM: no memory for `slots`, no address space for max_slots, or sizes that overflow.
 * TOFT_EARG: options that contradict each other or are out of range; a buffer that is too small. After a failure the
 * pool is closed, as after a release. */
TOFT_API int toft_pool_init(toft_pool *pool, const toft_pool_options *options);

/* Gives all memory back. The pool is closed then: no handle is live, insert returns NULL, and it may be released
 * again. */
TOFT_API void toft_pool_release(toft_pool *pool);

/* A closed pool, without any call of the system. */
TOFT_INLINE toft_pool toft_pool_closed(void);

/* A free slot, uninitialised or zeroed, and its handle (`handle` may be NULL: toft_pool_handle_of finds it). NULL if
 * the pool is full or there is no memory; nothing has changed then, and *handle neither. The slot removed last is
 * used first; after a clear, slots are used in order. */
TOFT_INLINE TOFT_NODISCARD void *toft_pool_insert(toft_pool *pool, toft_handle *handle);
TOFT_INLINE TOFT_NODISCARD void *toft_pool_insert_zeroed(toft_pool *pool, toft_handle *handle);

/* The slot behind a handle. NULL if it was removed, for 0, and for a handle that the pool never gave. */
TOFT_INLINE void *toft_pool_at(const toft_pool *pool, toft_handle handle);
TOFT_INLINE int toft_pool_contains(const toft_pool *pool, toft_handle handle);

/* TOFT_EARG, and nothing changed, where toft_pool_at returns NULL: removed twice is told apart. */
TOFT_INLINE int toft_pool_remove(toft_pool *pool, toft_handle handle);

/* The handle of a slot's address; 0 if it is no slot's, or that of a slot that is not live. A division. */
TOFT_INLINE toft_handle toft_pool_handle_of(const toft_pool *pool, const void *slot);

TOFT_INLINE size_t toft_pool_count(const toft_pool *pool);    /* live slots */
TOFT_INLINE size_t toft_pool_capacity(const toft_pool *pool); /* slots that have memory, retired ones included */

/* Memory for so many slots in all: inserts up to there ask nobody. TOFT_ENOMEM; TOFT_EARG above max_slots. */
TOFT_API int toft_pool_reserve(toft_pool *pool, size_t slots);

/* Removes all. Memory is kept: see trim. Linear in the slots used since the last clear, since each
 * has its generation. */
TOFT_API void toft_pool_clear(toft_pool *pool);

/* Gives memory above the highest live slot back to the system; 4 bytes and a bit for each slot stay, to tell stale
 * handles. From then on the lowest free slot is used first. A fixed pool keeps its memory. Time as clear. */
TOFT_API void toft_pool_trim(toft_pool *pool);

typedef struct toft_pool_stats {
  uint64_t live, capacity, retired; /* slots */
  uint64_t reserved;                /* bytes: address space, or the block */
  uint64_t committed;               /* bytes of it that memory was asked for */
} toft_pool_stats;
TOFT_API toft_pool_stats toft_pool_get_stats(const toft_pool *pool);

/* A walk over the live slots, in the order of their numbers:
 *
 *     TOFT_POOL_EACH(w, &pool) {
 *       struct node *n = (struct node *)toft_pool_walk_slot(&w);
 *       if (n->done) toft_pool_remove(&pool, toft_pool_walk_handle(&w));
 *     }
 *
 * Meanwhile any slot may be removed, the current one too, and the pool may be cleared or trimmed: what is removed
 * before it was reached is not visited. Whether slots inserted meanwhile are visited is not said. */
typedef struct toft_pool_walk {
  const toft_pool *pool;
  const uint64_t *word; /* 64 bits of live_bits */
  uint64_t ahead;       /* those of them that are still to be visited, the current one included; 0: all are set */
  uint32_t base;        /* the slot that their first is */
  uint32_t slot;        /* the current one; 0: at the end */
} toft_pool_walk;
#define TOFT_POOL_EACH(w, pool) \
  for (toft_pool_walk w = toft_pool_walk_begin(pool); (w).slot != 0; toft_pool_walk_next(&(w)))
TOFT_INLINE toft_pool_walk toft_pool_walk_begin(const toft_pool *pool);
TOFT_INLINE void toft_pool_walk_next(toft_pool_walk *w);
TOFT_INLINE void *toft_pool_walk_slot(const toft_pool_walk *w);
TOFT_INLINE toft_handle toft_pool_walk_handle(const toft_pool_walk *w);

/* ------------------------------------------------------------------------------------------------------------
 * The inline layer. A slot's key says all about it:
 *
 *     live        the handle: generation and number
 *     free        the generation that comes next, and in place of the number the next free slot, 0 for none
 *     retired     the last generation, and 0
 *     never used  0; after a clear, the generation that comes next, and 0
 *
 * Slot 0 is never used, and no slot is linked to itself: so a key has its own slot's number in it only if that is live.
 * Keys exist for a power of two of slots, `reach` + 1. No key holds a number above it, so a handle with such a number
 * is equal to no key, whichever it is compared with: one compare decides, and needs no bounds check before it.
 *
 * Slots that were not used since the last clear are taken in order, without any work on bits or counts: the bits of a
 * word are set at once, but for its last one. Removed slots are taken first.
 *
 * Bindings for languages with constructors and destructors do it in two steps, so that a slot is neither live nor free
 * while they run: draw, construct, admit; expel, destroy, shelve. In between the pool must not be cleared or trimmed.
 * ------------------------------------------------------------------------------------------------------------ */

/* Its keys are two that lead no handle to itself. */
TOFT_INLINE toft_pool toft_pool_closed(void) {
  static const uint32_t none[2] = {1, 0}; /* never written: nothing is live */
  toft_pool p;
  memset(&p, 0, sizeof p);
  p.keys = (uint32_t *)(uintptr_t)none;
  p.mask = p.reach = 1;
  p.spent = UINT32_MAX;
  p.stride = 1;
  return p;
}

/* Slot used + 1, made live, where used == top: finds memory for it, steps over retired ones, sets a word of bits. 0:
 * none, and nothing has changed. */
TOFT_API toft_handle toft_pool_insert_slow(toft_pool *pool);

/* Slots in order are fetched into the cache ahead of use: what inserts and walks do in between takes so much of the
 * processor's window that it would not look that far by itself. Too much work for slots that share a line. */
#if defined(__GNUC__) || defined(__clang__)
#define TOFT_POOL_AHEAD(pool, i, stride, bytes, write) \
  (TOFT_CONSTANT(stride) && (stride) < 32              \
       ? (void)0                                       \
       : __builtin_prefetch((const void *)((uintptr_t)(pool)->slots + (size_t)(i) * (stride) + (bytes)), write))
#else
#define TOFT_POOL_AHEAD(pool, i, stride, bytes, write) ((void)0)
#endif

/* A free slot, made live. 0: none, nothing changed. stride: the pool's, which may be known as a constant. */
TOFT_INLINE toft_handle toft_pool_insert_handle(toft_pool *pool, size_t stride) {
  uint32_t i = pool->free, key, next;
  if (i != 0) {
    key = pool->keys[i];
    next = key & pool->mask;
    key = (key ^ next) | i;
    pool->free = next;
    pool->keys[i] = key;
    pool->live_bits[i >> 6] |= (uint64_t)1 << (i & 63);
    pool->idle--;
    return key;
  }
  if (TOFT_UNLIKELY(pool->used >= pool->top)) return toft_pool_insert_slow(pool);
  i = pool->used + 1;
  key = pool->keys[i] | i; /* its number was 0 */
  pool->used = i;
  pool->keys[i] = key;
  TOFT_POOL_AHEAD(pool, i, stride, 2048, 1);
  TOFT_ASSUME(key != 0);
  return key;
}

/* From now on the handle is stale; 0: it was. */
TOFT_INLINE uint32_t toft_pool_deactivate(toft_pool *pool, toft_handle h) {
  uint32_t i = h & pool->reach;
  if (TOFT_UNLIKELY(pool->keys[i] != h)) return 0;
  pool->keys[i] = (h | pool->mask) + 1; /* the next generation, and 0 */
  pool->live_bits[i >> 6] &= ~((uint64_t)1 << (i & 63));
  pool->idle++;
  return i;
}

/* Puts a slot drawn or expelled to the free ones, if it is not spent. */
TOFT_INLINE void toft_pool_return_slot(toft_pool *pool, uint32_t i) {
  uint32_t key = pool->keys[i];
  if (TOFT_UNLIKELY(key >= pool->spent)) {
    pool->retired++;
    return;
  }
  pool->keys[i] = key | pool->free;
  pool->free = i;
}

/* Takes a slot off the free ones; 0: none, nothing changed. */
TOFT_INLINE uint32_t toft_pool_take_slot(toft_pool *pool) {
  uint32_t i = pool->free, key, next;
  if (i != 0) {
    key = pool->keys[i];
    next = key & pool->mask;
    pool->free = next;
    pool->keys[i] = key ^ next; /* its generation, and 0 */
    return i;
  }
  if (TOFT_UNLIKELY(pool->used >= pool->top)) {
    toft_handle h = toft_pool_insert_slow(pool);
    if (h == 0) return 0;
    i = h & pool->mask;
    pool->keys[i] = h ^ i;
  } else {
    i = ++pool->used;
  }
  pool->live_bits[i >> 6] &= ~((uint64_t)1 << (i & 63));
  pool->idle++;
  return i;
}

/* Makes a drawn slot live. */
TOFT_INLINE toft_handle toft_pool_activate(toft_pool *pool, uint32_t i) {
  toft_handle h = pool->keys[i] | i;
  pool->keys[i] = h;
  pool->live_bits[i >> 6] |= (uint64_t)1 << (i & 63);
  pool->idle--;
  TOFT_ASSUME(h != 0);
  return h;
}

TOFT_INLINE void *toft_pool_slot(const toft_pool *pool, uint32_t i) {
  return pool->slots + ((size_t)i - 1) * pool->stride;
}

TOFT_INLINE void *toft_pool_insert(toft_pool *pool, toft_handle *handle) {
  toft_handle h = toft_pool_insert_handle(pool, pool->stride);
  void *slot;
  if (TOFT_UNLIKELY(h == 0)) return NULL;
  if (handle != NULL) *handle = h;
  slot = toft_pool_slot(pool, h & pool->mask);
  TOFT_ASSUME(slot != NULL);
  return slot;
}

TOFT_INLINE void *toft_pool_insert_zeroed(toft_pool *pool, toft_handle *handle) {
  void *slot = toft_pool_insert(pool, handle);
  if (TOFT_LIKELY(slot != NULL)) memset(slot, 0, pool->stride);
  return slot;
}

TOFT_INLINE int toft_pool_contains(const toft_pool *pool, toft_handle handle) {
  return pool->keys[handle & pool->reach] == handle;
}

TOFT_INLINE void *toft_pool_at(const toft_pool *pool, toft_handle handle) {
  uint32_t i = handle & pool->reach;
  return TOFT_LIKELY(pool->keys[i] == handle) ? toft_pool_slot(pool, i) : NULL;
}

TOFT_INLINE int toft_pool_remove(toft_pool *pool, toft_handle handle) {
  uint32_t key, i = handle & pool->reach;
  if (TOFT_UNLIKELY(pool->keys[i] != handle)) return TOFT_EARG;
  pool->live_bits[i >> 6] &= ~((uint64_t)1 << (i & 63));
  pool->idle++;
  key = (handle | pool->mask) + 1;
  if (TOFT_UNLIKELY(key >= pool->spent)) {
    pool->keys[i] = key;
    pool->retired++;
  } else {
    pool->keys[i] = key | pool->free;
    pool->free = i;
  }
  return TOFT_OK;
}

/* The handle of the slot `offset` bytes behind the first; 0: none is live there. With a constant stride it is cheap. */
TOFT_INLINE toft_handle toft_pool_handle_behind(const toft_pool *pool, size_t offset, size_t stride) {
  size_t n = offset / stride;
  uint32_t i;
  if (n >= pool->used || n * stride != offset) return 0;
  i = (uint32_t)n + 1;
  return ((pool->keys[i] ^ i) & pool->mask) == 0 ? pool->keys[i] : 0;
}

TOFT_INLINE toft_handle toft_pool_handle_of(const toft_pool *pool, const void *slot) {
  return toft_pool_handle_behind(pool, (size_t)((uintptr_t)slot - (uintptr_t)pool->slots), pool->stride);
}

TOFT_INLINE size_t toft_pool_count(const toft_pool *pool) { return pool->used - pool->idle; }
TOFT_INLINE size_t toft_pool_capacity(const toft_pool *pool) { return pool->room; }

/* The number of the lowest bit that is set; n is not 0. */
TOFT_INLINE uint32_t toft_lowest_bit(uint64_t n) {
#if defined(__GNUC__) || defined(__clang__)
  return (uint32_t)__builtin_ctzll(n);
#else
  uint32_t bit = 0, step;
  for (step = 32; step != 0; step /= 2)
    if ((n & (((uint64_t)1 << step) - 1)) == 0) n >>= step, bit += step;
  return bit;
#endif
}

/* The bits of the word at base, less those set in advance. */
TOFT_INLINE uint64_t toft_pool_walk_word(const toft_pool_walk *w) {
  uint32_t more = w->pool->used - w->base;
  return more >= 63 ? *w->word : *w->word & (((uint64_t)2 << more) - 1);
}

/* To the first of some bits of the word; if there are none, to the next word that has any. Words without a gap are
 * counted through: there, looking for bits would cost more than the slots. */
TOFT_INLINE void toft_pool_walk_to(toft_pool_walk *w, uint64_t bits) {
  while (bits == 0) {
    w->slot = 0;
    if (w->base + 64 > w->pool->used) return;
    w->base += 64;
    w->word++;
    bits = toft_pool_walk_word(w);
    if (bits == ~(uint64_t)0) {
      w->ahead = 0;
      w->slot = w->base;
      TOFT_ASSUME(w->slot != 0);
      return;
    }
  }
  w->ahead = bits;
  w->slot = w->base + toft_lowest_bit(bits);
  TOFT_ASSUME(w->slot != 0);
}

TOFT_INLINE toft_pool_walk toft_pool_walk_begin(const toft_pool *pool) {
  toft_pool_walk w;
  w.pool = pool;
  w.word = pool->live_bits;
  w.ahead = 0;
  w.base = w.slot = 0;
  if (pool->used != pool->idle) toft_pool_walk_to(&w, toft_pool_walk_word(&w)); /* closed, it has no word */
  return w;
}

/* The word is read again, for what was removed meanwhile; and used, since after a clear bits are set in advance
 * again: but never all of a word. */
TOFT_INLINE void toft_pool_walk_next_by(toft_pool_walk *w, size_t stride) {
  uint32_t next = w->slot + 1;
  uint64_t bits = w->ahead;
  if (bits == 0) {
    if (TOFT_LIKELY((next & 63) != 0 && *w->word == ~(uint64_t)0)) {
      TOFT_POOL_AHEAD(w->pool, next, stride, 3072, 0);
      TOFT_ASSUME(next != 0);
      w->slot = next;
      return;
    }
    if ((next & 63) != 0) bits = *w->word & ~(uint64_t)0 << (next & 63);
  } else {
    bits = (bits & *w->word) & (bits - 1);
  }
  toft_pool_walk_to(w, bits);
  if (TOFT_UNLIKELY(w->slot > w->pool->used)) w->slot = 0;
}

TOFT_INLINE void toft_pool_walk_next(toft_pool_walk *w) { toft_pool_walk_next_by(w, w->pool->stride); }

TOFT_INLINE void *toft_pool_walk_slot(const toft_pool_walk *w) { return toft_pool_slot(w->pool, w->slot); }
TOFT_INLINE toft_handle toft_pool_walk_handle(const toft_pool_walk *w) { return w->pool->keys[w->slot]; }

#ifdef __cplusplus
}
#endif
#endif
