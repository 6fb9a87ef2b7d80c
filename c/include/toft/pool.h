/* Pools: reusable slots of one size, identified by 32-bit handles that detect stale use.
 *
 *     toft_pool pool;
 *     toft_pool_options o = TOFT_POOL_OPTIONS;
 *     o.slot_size = sizeof(struct node);
 *     if (toft_pool_init(&pool, &o) != TOFT_OK) ...
 *     toft_handle h;
 *     struct node *n = (struct node *)toft_pool_insert(&pool, &h);
 *     ...
 *     n = (struct node *)toft_pool_at(&pool, h);     NULL after its removal
 *     toft_pool_remove(&pool, h);
 *     toft_pool_release(&pool);
 *
 * A slot never moves: a pointer to it is valid until the slot is removed, or the pool is cleared or released. Access by
 * pointer is unchecked; access by handle costs one compare.
 *
 * HANDLES. The low bits are the slot's index, as many as max_slots needs; the rest is its generation, which increases
 * by one with each removal of the slot. A stale handle is detected until the generation wraps: after 256 removals of
 * its slot with 24 index bits (the default), after 4 million at 1000 slots. With TOFT_POOL_RETIRE a slot is not reused
 * after its last generation, and every stale handle is detected. 0 is never a handle. A handle is valid in its own pool
 * only; another pool cannot detect it.
 *
 * GROWING AND FIXED. A growing pool reserves address space for max_slots when it is created, which is cheap, and
 * commits memory as needed. A fixed pool takes all its memory when it is created, as one block of a source or from the
 * caller's buffer. Each growing pool is a mapping of its own: thousands of small pools should be fixed.
 *
 * COST. Insert, remove and at take constant time; a full pool that grows commits memory in doubling steps of 64 KiB to
 * 64 MiB. Iteration visits live slots only, found 64 at a time: about a nanosecond for 64 slots without a live one. A
 * slot takes 4 bytes and one bit in addition to its size; their number is rounded up to a power of two.
 *
 * THREADS. A pool is used by one thread at a time; several may read it while none changes it.
 *
 * MOVING. A toft_pool may be copied to another address; only the copy may be used afterwards.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_POOL_H
#define TOFT_POOL_H

#include "toft/abi.h"
#include "toft/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

struct toft_source; /* toft.h */

typedef uint32_t toft_handle; /* 0: none */

/* options.flags. FIXED: the pool never has more than `slots` slots. RETIRE: see HANDLES. */
enum { TOFT_POOL_FIXED = 1, TOFT_POOL_RETIRE = 2 };

#define TOFT_POOL_ALIGN_MAX 4096
#define TOFT_POOL_SLOTS_MAX 0x7fffffff

typedef struct toft_pool_options {
  size_t size;      /* sizeof(toft_pool_options): TOFT_POOL_OPTIONS sets it */
  size_t slot_size; /* bytes; 0 counts as 1 */
  /* A power of two up to TOFT_POOL_ALIGN_MAX; slot_size is rounded up to it. 0: the largest power of two up to 16 that
   * divides slot_size, which suits any type of that size. */
  size_t align;
  size_t slots;               /* slots with memory from the start. With a buffer 0 means as many as fit */
  size_t max_slots;           /* 0: 2^24 - 1, or fewer if that exceeded a TiB or the address space */
  struct toft_source *source; /* of the block of a fixed pool; NULL: toft_heap() */
  void *buffer;               /* memory of a fixed pool; NULL: the pool allocates */
  size_t buffer_size;         /* see TOFT_POOL_BUFFER */
  uint32_t flags;             /* TOFT_POOL_..., or 0 */
} toft_pool_options;
/* clang-format off */
#define TOFT_POOL_OPTIONS { sizeof(toft_pool_options), 0, 0, 0, 0, NULL, NULL, 0, 0 }
/* clang-format on */

/* The size of a buffer, at any address, that can hold so many slots. `align` is not 0. */
#define TOFT_POOL_BUFFER(slots, slot_size, align)                                                                 \
  ((size_t)(slots) * (((size_t)(slot_size) + ((slot_size) == 0) + (align)-1) / (align) * (align)) + 8 + (align) + \
   8 * ((size_t)(slots) + 1) + 8 * ((size_t)(slots) / 64 + 1))

/* The members may be read; only the functions below write them. */
typedef struct toft_pool {
  unsigned char *slots;        /* address of slot 1; slot 0 is never used */
  uint32_t *keys;              /* one for each slot */
  uint64_t *live_bits;         /* one for each slot up to used; those from there to top are set in advance */
  size_t stride;               /* bytes from slot to slot */
  uint32_t mask;               /* of the index in a handle */
  uint32_t key_mask;           /* the bits of mask for which keys have memory */
  uint32_t free;               /* the slot removed last; 0: none */
  uint32_t used;               /* slots up to here have been used since the last clear */
  uint32_t top;                /* insert takes no slow path while used < top */
  uint32_t not_live;           /* slots up to used that are not live */
  uint32_t retire_key;         /* keys >= this retire the slot */
  uint32_t capacity, max;      /* slots with memory; limit of that */
  uint32_t retired;            /* number of retired slots */
  uint32_t dirty;              /* no slot above both dirty and used has ever been used */
  uint32_t flags;              /* TOFT_POOL_... and internal flags */
  size_t keys_size, bits_size; /* bytes committed, if it grows */
  size_t slots_size;           /* in both kinds of pool */
  void *block;                 /* contains slots, keys and bits */
  size_t block_size;           /* 0: closed */
  struct toft_source *source;  /* of the block; NULL: the block is a buffer, or address space */
} toft_pool;

/* Initialises an empty pool. TOFT_ENOMEM: no memory for `slots`, no address space for max_slots, or sizes that
 * overflow. TOFT_EARG: options that are out of range or contradict each other, a buffer that is too small, or the
 * source of a region that the structure does not lie in. After a failure the pool is closed, as after a release. */
TOFT_API int toft_pool_init(toft_pool *pool, const toft_pool_options *options);

/* Frees all memory. The pool is then closed: no handle is live, insert returns NULL, and it may be released again. */
TOFT_API void toft_pool_release(toft_pool *pool);

/* Returns a closed pool, without any system call. */
TOFT_INLINE toft_pool toft_pool_closed(void);

/* Returns a free slot, uninitialised or zeroed, and its handle (`handle` may be NULL: toft_pool_handle_of finds it).
 * Returns NULL, and changes nothing, if the pool is full or there is no memory. The slot removed last is used first;
 * after a clear, slots are used in order. */
TOFT_INLINE TOFT_NODISCARD void *toft_pool_insert(toft_pool *pool TOFT_LIFETIMEBOUND, toft_handle *handle);
TOFT_INLINE TOFT_NODISCARD void *toft_pool_insert_zeroed(toft_pool *pool TOFT_LIFETIMEBOUND, toft_handle *handle);

/* Returns the slot of a handle; NULL if it was removed, for 0, and for a handle that the pool never returned. */
TOFT_INLINE void *toft_pool_at(const toft_pool *pool TOFT_LIFETIMEBOUND, toft_handle handle);
TOFT_INLINE int toft_pool_contains(const toft_pool *pool, toft_handle handle);

/* Removes a slot. TOFT_EARG, and nothing changes, for a handle that is not live, so a second removal is detected. */
TOFT_INLINE int toft_pool_remove(toft_pool *pool, toft_handle handle);

/* Returns the handle of the slot at this address; 0 if there is no slot or it is not live. Costs a division. */
TOFT_INLINE toft_handle toft_pool_handle_of(const toft_pool *pool, const void *slot);

TOFT_INLINE size_t toft_pool_count(const toft_pool *pool);    /* live slots */
TOFT_INLINE size_t toft_pool_capacity(const toft_pool *pool); /* slots with memory, retired ones included */

/* Commits memory for so many slots in total, so inserts up to there do not allocate. TOFT_ENOMEM; TOFT_EARG above
 * max_slots. */
TOFT_API int toft_pool_reserve(toft_pool *pool, size_t slots);

/* Removes all slots and keeps the memory. Linear in the slots used since the last clear, since each has a
 * generation. */
TOFT_API void toft_pool_clear(toft_pool *pool);

/* Returns memory above the highest live slot to the system; 4 bytes and one bit for each slot stay, to detect stale
 * handles. The lowest free slot is used first afterwards. A fixed pool keeps its memory. Takes as long as clear. */
TOFT_API void toft_pool_trim(toft_pool *pool);

typedef struct toft_pool_stats {
  uint64_t live, capacity, retired; /* slots */
  uint64_t reserved;                /* bytes: address space, or the block */
  uint64_t committed;               /* committed bytes of it */
} toft_pool_stats;
TOFT_API toft_pool_stats toft_pool_get_stats(const toft_pool *pool);

/* Iteration over the live slots, in order of index:
 *
 *     TOFT_POOL_EACH(w, &pool) {
 *       struct node *n = (struct node *)toft_pool_walk_slot(&w);
 *       if (n->done) toft_pool_remove(&pool, toft_pool_walk_handle(&w));
 *     }
 *
 * During the iteration any slot may be removed, the current one included, and the pool may be cleared or trimmed; slots
 * removed before they are reached are not visited. It is unspecified whether slots inserted during it are visited. */
typedef struct toft_pool_walk {
  const toft_pool *pool;
  const uint64_t *word; /* 64 bits of live_bits */
  uint64_t ahead;       /* bits still to be visited, the current one included; 0: all are set */
  uint32_t base;        /* the slot of bit 0 of *word */
  uint32_t slot;        /* the current slot; 0: the iteration has ended */
} toft_pool_walk;
#define TOFT_POOL_EACH(w, pool) \
  for (toft_pool_walk w = toft_pool_walk_begin(pool); (w).slot != 0; toft_pool_walk_next(&(w)))
TOFT_INLINE toft_pool_walk toft_pool_walk_begin(const toft_pool *pool);
TOFT_INLINE void toft_pool_walk_next(toft_pool_walk *w);
TOFT_INLINE void *toft_pool_walk_slot(const toft_pool_walk *w);
TOFT_INLINE toft_handle toft_pool_walk_handle(const toft_pool_walk *w);

/* ------------------------------------------------------------------------------------------------------------
 * The inline fast paths. A slot's key is its state:
 *
 *     live        the handle: generation and index
 *     free        the next generation, and the index of the next free slot, 0 for none
 *     retired     the last generation, and 0
 *     never used  0; after a clear, the next generation, and 0
 *
 * Slot 0 is never used, and no slot is linked to itself, so a key contains its own slot's index only if it is live.
 * There are `key_mask` + 1 keys, a power of two. No key contains an index above `key_mask`, so a handle with such an
 * index differs from every key: one compare validates a handle, without a bounds check.
 *
 * Slots not used since the last clear are taken in order, without updating bits or counts: the bits of a word are set
 * together, except its last one. Removed slots are taken first.
 *
 * Bindings for languages with constructors and destructors work in two steps, so that a slot is neither live nor free
 * while they run: take_slot, construct, activate; deactivate, destroy, return_slot. The pool must not be cleared or
 * trimmed in between.
 * ------------------------------------------------------------------------------------------------------------ */

/* Its two keys equal no handle. */
TOFT_INLINE toft_pool toft_pool_closed(void) {
  static const uint32_t none[2] = {1, 0}; /* never written, since no slot is live */
  toft_pool p;
  memset(&p, 0, sizeof p);
  p.keys = (uint32_t *)(uintptr_t)none;
  p.mask = p.key_mask = 1;
  p.retire_key = UINT32_MAX;
  p.stride = 1;
  return p;
}

/* Slow path for used == top: activates slot used + 1 after committing memory, skipping retired slots and setting a word
 * of bits. Returns 0, and changes nothing, on failure. */
TOFT_API toft_handle toft_pool_insert_slow(toft_pool *pool);

/* Prefetches slots that inserts and iterations use in order, because their loops fill the processor's window. Not
 * worthwhile for slots that share a cache line. */
#if defined(__GNUC__) || defined(__clang__)
#define TOFT_POOL_AHEAD(pool, i, stride, bytes, write) \
  (TOFT_CONSTANT(stride) && (stride) < 32              \
       ? (void)0                                       \
       : __builtin_prefetch((const void *)((uintptr_t)(pool)->slots + (size_t)(i) * (stride) + (bytes)), write))
#else
#define TOFT_POOL_AHEAD(pool, i, stride, bytes, write) ((void)0)
#endif

/* Activates a free slot, stores its handle and returns its index. 0: there is none, nothing changed. The index does not
 * depend on the key, so that the slot's address is known before the key is loaded. `stride` is the pool's, and may be a
 * constant. */
TOFT_INLINE uint32_t toft_pool_insert_index(toft_pool *pool, size_t stride, toft_handle *handle) {
  uint32_t i = pool->free, key, next;
  if (i != 0) {
    key = pool->keys[i];
    next = key & pool->mask;
    key = (key ^ next) | i;
    pool->free = next;
    pool->keys[i] = key;
    pool->live_bits[i >> 6] |= (uint64_t)1 << (i & 63);
    pool->not_live--;
    *handle = key;
    return i;
  }
  if (TOFT_UNLIKELY(pool->used >= pool->top)) {
    key = toft_pool_insert_slow(pool);
    if (key != 0) *handle = key;
    return key & pool->mask;
  }
  i = pool->used + 1;
  key = pool->keys[i] | i; /* the index bits were 0 */
  pool->used = i;
  pool->keys[i] = key;
  TOFT_POOL_AHEAD(pool, i, stride, 2048, 1);
  *handle = key;
  TOFT_ASSUME(i != 0);
  return i;
}

/* Makes a live handle stale and returns its index; 0 if it was stale. The slot is not free yet. */
TOFT_INLINE uint32_t toft_pool_deactivate(toft_pool *pool, toft_handle h) {
  uint32_t i = h & pool->key_mask;
  if (TOFT_UNLIKELY(pool->keys[i] != h)) return 0;
  pool->keys[i] = (h | pool->mask) + 1; /* the next generation, and 0 */
  pool->live_bits[i >> 6] &= ~((uint64_t)1 << (i & 63));
  pool->not_live++;
  return i;
}

/* Adds a slot that was taken or deactivated to the free list, or retires it. */
TOFT_INLINE void toft_pool_return_slot(toft_pool *pool, uint32_t i) {
  uint32_t key = pool->keys[i];
  if (TOFT_UNLIKELY(key >= pool->retire_key)) {
    pool->retired++;
    return;
  }
  pool->keys[i] = key | pool->free;
  pool->free = i;
}

/* Removes a slot from the free list; 0: there is none, nothing changed. */
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
  pool->not_live++;
  return i;
}

/* Makes a slot from toft_pool_take_slot live. */
TOFT_INLINE toft_handle toft_pool_activate(toft_pool *pool, uint32_t i) {
  toft_handle h = pool->keys[i] | i;
  pool->keys[i] = h;
  pool->live_bits[i >> 6] |= (uint64_t)1 << (i & 63);
  pool->not_live--;
  TOFT_ASSUME(h != 0);
  return h;
}

TOFT_INLINE void *toft_pool_slot(const toft_pool *pool, uint32_t i) {
  return pool->slots + ((size_t)i - 1) * pool->stride;
}

TOFT_INLINE void *toft_pool_insert(toft_pool *pool, toft_handle *handle) {
  toft_handle ignored;
  uint32_t i = toft_pool_insert_index(pool, pool->stride, handle != NULL ? handle : &ignored);
  void *slot;
  if (TOFT_UNLIKELY(i == 0)) return NULL;
  slot = toft_pool_slot(pool, i);
  TOFT_ASSUME(slot != NULL);
  return slot;
}

TOFT_INLINE void *toft_pool_insert_zeroed(toft_pool *pool, toft_handle *handle) {
  void *slot = toft_pool_insert(pool, handle);
  if (TOFT_LIKELY(slot != NULL)) memset(slot, 0, pool->stride);
  return slot;
}

TOFT_INLINE int toft_pool_contains(const toft_pool *pool, toft_handle handle) {
  return pool->keys[handle & pool->key_mask] == handle;
}

TOFT_INLINE void *toft_pool_at(const toft_pool *pool, toft_handle handle) {
  uint32_t i = handle & pool->key_mask;
  return TOFT_LIKELY(pool->keys[i] == handle) ? toft_pool_slot(pool, i) : NULL;
}

TOFT_INLINE int toft_pool_remove(toft_pool *pool, toft_handle handle) {
  uint32_t key, i = handle & pool->key_mask;
  if (TOFT_UNLIKELY(pool->keys[i] != handle)) return TOFT_EARG;
  pool->live_bits[i >> 6] &= ~((uint64_t)1 << (i & 63));
  pool->not_live++;
  key = (handle | pool->mask) + 1;
  if (TOFT_UNLIKELY(key >= pool->retire_key)) {
    pool->keys[i] = key;
    pool->retired++;
  } else {
    pool->keys[i] = key | pool->free;
    pool->free = i;
  }
  return TOFT_OK;
}

/* Returns the handle of the slot at `offset` bytes from the first; 0: none is live there. Cheap with a constant
 * stride. */
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

TOFT_INLINE size_t toft_pool_count(const toft_pool *pool) { return pool->used - pool->not_live; }
TOFT_INLINE size_t toft_pool_capacity(const toft_pool *pool) { return pool->capacity; }

/* Returns the bits of the word at base, except those set in advance. */
TOFT_INLINE uint64_t toft_pool_walk_word(const toft_pool_walk *w) {
  uint32_t more = w->pool->used - w->base;
  return more >= 63 ? *w->word : *w->word & (((uint64_t)2 << more) - 1);
}

/* Moves to the first of `bits`; if there are none, to the next word that has any. Words with all bits set are counted
 * through, which is faster than searching bits. */
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
  if (pool->used != pool->not_live) toft_pool_walk_to(&w, toft_pool_walk_word(&w)); /* a closed pool has no word */
  return w;
}

/* Reads the word again, since slots may have been removed, and `used`, since a clear sets bits in advance, but never
 * all bits of a word. */
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
