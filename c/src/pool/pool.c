/* Pools, the slow paths: initialise, grow, clear, trim. A growing pool is one range of address space with three parts,
 * each committed from its front: bits, keys, slots. A fixed pool is one block with the same parts.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_POOL_POOL_C
#define TOFT_POOL_POOL_C

#include "../core/block_cache.c"
#include "../core/blocks.c"
#include "../core/policy.c"
#include "../platform/assert.h"
#include "../platform/atomic.c"
#include "../platform/os.c"
#include "../platform/sanitizers.c"
#include "../platform/thread_local.h"

#define TOFT_POOL_STEP_MIN (64 * TOFT_KIB) /* slots double, within these bounds */
#define TOFT_POOL_STEP_MAX (64 * TOFT_MIB)
#define TOFT_POOL_SMALL_PAGES (512 * TOFT_KIB) /* bytes of slots in small pages; the rest use huge pages */

/* The default of max_slots, the limit on the bytes of its slots, and the fallback if address space is scarce. */
#define TOFT_POOL_DEFAULT_SLOTS_MAX ((size_t)0xffffff)
#if UINTPTR_MAX > 0xffffffff
#define TOFT_POOL_SLOT_BYTES_MAX (TOFT_MIB * TOFT_MIB)
#else
#define TOFT_POOL_SLOT_BYTES_MAX (64 * TOFT_MIB)
#endif
#define TOFT_POOL_DEFAULT_SLOTS_MIN 1024

static int toft_pool_close(toft_pool *p, int code) {
  *p = toft_pool_closed();
  return code;
}

/* The smallest 2^k - 1 that covers the indices 0 to n; at least 3, so that no key without its index is UINT32_MAX. */
static uint32_t toft_pool_mask(size_t n) {
  uint32_t mask = 3;
  while (mask < n) mask = 2 * mask + 1;
  return mask;
}

/* ---- layout ---- */

typedef struct toft_pool_parts {
  size_t bits, keys, slots, end; /* offsets; each part ends at or before the next */
} toft_pool_parts;

/* Computes the layout in a block aligned to `base`; `align` is that of the slots. 0: too large. */
static int toft_pool_layout(toft_pool_parts *at, size_t n, size_t stride, size_t base, size_t align) {
  size_t bits = n / 64 * 8 + 8, keys = ((size_t)toft_pool_mask(n) + 1) * sizeof(uint32_t);
  size_t pad = align > base ? align - base : 0; /* the offset of the slots depends on the block's address */
  if (keys > TOFT_MAX_REQUEST / 2 || n > (TOFT_MAX_REQUEST / 2 - pad) / stride) return 0;
  at->bits = 0;
  at->keys = toft_round(bits, toft_min(base, 4096));
  at->slots = toft_round(at->keys + keys, toft_min(base, align));
  at->end = at->slots + pad + n * stride;
  return at->end <= TOFT_MAX_REQUEST;
}

/* Sets the addresses of the parts so that byte `in` of the slots is aligned. */
static void toft_pool_set_parts(toft_pool *p, const toft_pool_parts *at, unsigned char *block, size_t align,
                                size_t in) {
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
    if (n == 0) { /* the largest number that fits */
      size_t low = 0, high = toft_min(TOFT_POOL_SLOTS_MAX, size / stride) + 1;
      while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (toft_pool_layout(&at, middle, stride, 8, align) && at.end <= size)
          low = middle;
        else
          high = middle;
      }
      n = low;
    }
    if (n == 0 || !toft_pool_layout(&at, n, stride, 8, align) || at.end > size) return TOFT_EARG;
    block = (unsigned char *)o->buffer + pad;
    p->block_size = size;
  } else {
    align = toft_max(align, 64);
    if (!toft_pool_layout(&at, n, stride, 64, align)) return TOFT_ENOMEM;
    p->block_size = toft_round(at.end, TOFT_BLOCK_MIN);
    p->source = o->source != NULL ? o->source : toft_heap();
    block = (unsigned char *)p->source->take(p->source, p->block_size);
    if (block == NULL && toft_budget_ask(p->source, p->block_size))
      block = (unsigned char *)p->source->take(p->source, p->block_size);
    if (block == NULL) return TOFT_ENOMEM;
  }
  p->block = block;
  toft_pool_set_parts(p, &at, block, align, 0);
  memset(block, 0, at.slots);
  p->mask = p->key_mask = toft_pool_mask(n);
  p->slots_size = n * stride;
  p->capacity = p->max = (uint32_t)n;
  return TOFT_OK;
}

/* ---- growing ---- */

static size_t toft_pool_distance(const void *from, const void *to) {
  return (size_t)((const unsigned char *)to - (const unsigned char *)from);
}

/* Commits a part up to at least `want` of its `total` bytes. */
static int toft_pool_commit(void *part, size_t *size, size_t want, size_t total) {
  TOFT_ASSERT(*size <= total);
  if (want <= *size) return 1;
  want = toft_min(toft_os_page(want), total);
  if (!toft_os_commit((unsigned char *)part + *size, want - *size)) return 0;
  *size = want;
  return 1;
}

/* Updates the number of slots that have memory and keys. */
static void toft_pool_update_capacity(toft_pool *p) {
  size_t keys = p->keys_size / sizeof(uint32_t), bits = p->bits_size * 8, slots = p->slots_size / p->stride;
  uint32_t key_mask = p->mask;
  if (keys == 0) return; /* its initialisation failed */
  while (key_mask >= keys) key_mask /= 2;
  p->key_mask = key_mask;
  p->capacity = (uint32_t)toft_min(toft_min(p->max, slots), toft_min(key_mask, bits - 1));
}

/* For after a refusal by the system: the process may be at a limit of memory. */
static void toft_pool_return_idle(void) {
  toft_pool_drop_kept();
  toft_page_cache_drop();
}

static int toft_pool_commit_parts(toft_pool *p, size_t bits, size_t keys, size_t slots) {
  const unsigned char *end = (const unsigned char *)p->block + p->block_size;
  return toft_pool_commit(p->live_bits, &p->bits_size, bits, toft_pool_distance(p->live_bits, p->keys)) &&
         toft_pool_commit(p->keys, &p->keys_size, keys, toft_pool_distance(p->keys, p->slots)) &&
         toft_pool_commit(p->slots, &p->slots_size, slots, toft_pool_distance(p->slots, end));
}

/* Commits memory for slots 1 to n, n <= max. On failure, parts that were committed stay so. */
static int toft_pool_grow(toft_pool *p, size_t n) {
  size_t bits = n / 64 * 8 + 8, keys = ((size_t)toft_pool_mask(n) + 1) * sizeof(uint32_t), slots = n * p->stride;
  if (slots > TOFT_POOL_SMALL_PAGES)
    slots = TOFT_POOL_SMALL_PAGES + toft_round(slots - TOFT_POOL_SMALL_PAGES, TOFT_HUGE_PAGE);
  int done = toft_pool_commit_parts(p, bits, keys, slots);
  if (!done) {
    toft_pool_return_idle();
    done = toft_pool_commit_parts(p, bits, keys, slots);
  }
  toft_pool_update_capacity(p);
  return done;
}

/* ---- kept ranges ---- Creating a range costs several system calls and a page fault for each page. The thread's cache
 * therefore keeps the last few; their committed bytes count as cached. */

#define TOFT_POOL_KEPT_MAX 4

typedef struct toft_pool_range {
  unsigned char *block;
  size_t size, keys, slots; /* bytes; the parts' offsets */
  size_t bits_size, keys_size, slots_size;
  uint32_t dirty; /* bits and keys up to here are not 0 */
} toft_pool_range;

TOFT_PER_THREAD toft_pool_range toft_pool_kept[TOFT_POOL_KEPT_MAX]; /* newest first; block NULL: none */
#define toft_pool_kept TOFT_OWN(toft_pool_kept)

static size_t toft_pool_range_bytes(const toft_pool_range *r) { return r->bits_size + r->keys_size + r->slots_size; }

static void toft_pool_drop(toft_pool_range *r) {
  if (r->block == NULL) return;
  TOFT_ASSERT(toft_pool_range_bytes(r) <= toft_thread_cache.bytes);
  toft_thread_cache.bytes -= toft_pool_range_bytes(r);
  toft_os_unmap(r->block, r->size);
  r->block = NULL;
}

static void toft_pool_drop_kept(void) {
  for (int i = 0; i < TOFT_POOL_KEPT_MAX; i++) toft_pool_drop(&toft_pool_kept[i]);
}

/* Returns the memory of the slots from `keep` bytes on. 0: refused, and their content is lost. */
static int toft_pool_decommit(const toft_pool *p, size_t keep) {
  size_t huge = toft_max(keep, TOFT_POOL_SMALL_PAGES);
  if (!toft_os_decommit(p->slots + keep, p->slots_size - keep)) return 0;
  if (p->slots_size > huge) toft_os_prefer_huge_pages(p->slots + huge, p->slots_size - huge);
  return 1;
}

/* Keeps a pool's range with as many of its slots as the cache accepts, leaving an eighth of the cache to other
 * blocks. */
static int toft_pool_keep(const toft_pool *p) {
  toft_pool_range r;
  size_t others = TOFT_LOAD(&toft_cache_limit_bytes) / 8, needed = p->bits_size + p->keys_size + others, remaining;
  if (!toft_cache_accepts(needed + TOFT_POOL_STEP_MIN)) return 0;
  toft_pool_drop(&toft_pool_kept[TOFT_POOL_KEPT_MAX - 1]);
  remaining = TOFT_LOAD(&toft_cache_limit_bytes) - toft_thread_cache.bytes - needed;
  r.block = (unsigned char *)p->block;
  r.size = p->block_size;
  r.keys = toft_pool_distance(p->block, p->keys);
  r.slots = toft_pool_distance(p->block, p->slots);
  r.bits_size = p->bits_size;
  r.keys_size = p->keys_size;
  r.slots_size = p->slots_size;
  r.dirty = (uint32_t)toft_max(p->dirty, p->used);
  if (r.slots_size > remaining) {
    r.slots_size = remaining & ~(toft_os_page(1) - 1);
    if (!toft_pool_decommit(p, r.slots_size)) return 0;
  }
  memmove(toft_pool_kept + 1, toft_pool_kept, sizeof toft_pool_kept - sizeof r);
  toft_pool_kept[0] = r;
  toft_thread_cache.bytes += toft_pool_range_bytes(&r);
  return 1;
}

/* Takes a kept range with these parts; 0: there is none. */
static int toft_pool_take_kept(toft_pool *p, const toft_pool_parts *at, size_t size, size_t align) {
  for (int i = 0; i < TOFT_POOL_KEPT_MAX; i++) {
    toft_pool_range r = toft_pool_kept[i];
    if (r.block == NULL || r.size < size || r.keys != at->keys) continue;
    toft_pool_set_parts(p, at, r.block, align, TOFT_POOL_SMALL_PAGES);
    if (toft_pool_distance(r.block, p->slots) != r.slots) continue;
    toft_thread_cache.bytes -= toft_pool_range_bytes(&r);
    for (; i + 1 < TOFT_POOL_KEPT_MAX; i++) toft_pool_kept[i] = toft_pool_kept[i + 1];
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

/* Ranges of pools without max_slots have few distinct sizes, so that another pool can reuse them. */
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
  if (max == 0)
    max = toft_max(toft_max(o->slots, 1), toft_min(TOFT_POOL_DEFAULT_SLOTS_MAX, TOFT_POOL_SLOT_BYTES_MAX / stride));
  for (;; max /= 2) { /* retries with fewer if max_slots is not given and address space is scarce */
    int fits;
    if (toft_min(max, TOFT_MAX_REQUEST / stride) * stride >= TOFT_HUGE_PAGE) align = toft_max(page, TOFT_HUGE_PAGE);
    fits = toft_pool_layout(&at, max, stride, page, align);
    size = fits ? toft_pool_range_size(at.end, o->max_slots) : 0;
    if (fits && toft_pool_take_kept(p, &at, size, align)) break;
    block = fits ? (unsigned char *)toft_os_reserve(size) : NULL;
    if (fits && block == NULL) {
      toft_pool_return_idle();
      block = (unsigned char *)toft_os_reserve(size);
    }
    if (block != NULL) {
      p->block = block;
      p->block_size = size;
      toft_pool_set_parts(p, &at, block, align, TOFT_POOL_SMALL_PAGES);
      unsigned char *huge = p->slots + TOFT_POOL_SMALL_PAGES;
      if (align >= TOFT_HUGE_PAGE) toft_os_prefer_huge_pages(huge, toft_pool_distance(huge, block + size));
      break;
    }
    if (o->max_slots != 0 || max / 2 < toft_max(o->slots, TOFT_POOL_DEFAULT_SLOTS_MIN)) return TOFT_ENOMEM;
  }
  p->mask = toft_pool_mask(max);
  p->max = (uint32_t)max;
  if (!toft_pool_grow(p, o->slots)) {
    toft_os_unmap(p->block, p->block_size);
    return TOFT_ENOMEM;
  }
  (void)toft_scan_begin(p->block, p->block_size);
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
  memcpy(&o, given, toft_min(given->size, sizeof o)); /* an older caller's structure is shorter */
  if (toft_pool_check(&o) != TOFT_OK || toft_region_refuses(o.source, p)) return code;
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
  if (o.flags & TOFT_POOL_RETIRE) p->retire_key = ~p->mask;
  p->keys[0] = 1;
  return TOFT_OK;
}

void toft_pool_release(toft_pool *p) {
  TOFT_VERIFY(pool, p);
  if (p->source != NULL) {
    p->source->put(p->source, p->block, p->block_size);
  } else if (p->block_size != 0 && (p->flags & TOFT_POOL_FIXED) == 0) {
    toft_scan_end(p->block, p->block_size);
    if (!toft_pool_keep(p)) toft_os_unmap(p->block, p->block_size);
  }
  (void)toft_pool_close(p, TOFT_OK);
}

/* ---- slots ---- */

/* Precondition: i > used, so the slot is not live. */
static int toft_pool_is_retired(const toft_pool *p, size_t i) { return p->keys[i] >= p->retire_key; }

/* Commits memory for at least one more slot. 0: failed. */
static int toft_pool_step(toft_pool *p) {
  uint32_t had = p->capacity;
  if (had == p->max) return 0;
  size_t bytes = toft_min(toft_max(had * p->stride, TOFT_POOL_STEP_MIN), TOFT_POOL_STEP_MAX);
  size_t step = toft_min(toft_max(bytes / p->stride, 1), p->max - had);
  if (!toft_pool_grow(p, had + step) && p->capacity == had) (void)toft_pool_grow(p, (size_t)had + 1);
  return p->capacity != had;
}

toft_handle toft_pool_insert_slow(toft_pool *p) {
  uint32_t i, top;
  TOFT_VERIFY(pool, p);
  for (;; p->used = p->top = i, p->not_live++) { /* skips retired slots */
    i = p->used + 1;
    if (i > p->capacity && !toft_pool_step(p)) return 0;
    if (!toft_pool_is_retired(p, i)) break;
  }
  for (top = i; top < p->capacity && (top & 63) < 62 && !toft_pool_is_retired(p, (size_t)top + 1);) top++;
  p->live_bits[i >> 6] |= ~(uint64_t)0 >> (63 - (top & 63)) & ~(uint64_t)0 << (i & 63);
  TOFT_ASSERT(i <= top && top <= p->capacity);
  TOFT_ASSERT((p->keys[i] & p->mask) == 0);
  p->used = i;
  p->top = top;
  return p->keys[i] |= i;
}

int toft_pool_reserve(toft_pool *p, size_t slots) {
  if (slots > p->max) return TOFT_EARG;
  return slots <= p->capacity || toft_pool_grow(p, slots) ? TOFT_OK : TOFT_ENOMEM;
}

/* Without a branch on a key's content, so that the compiler can vectorise it. */
void toft_pool_clear(toft_pool *p) {
  uint32_t *keys = p->keys, mask = p->mask, retire_key = p->retire_key, retired = 0, used = p->used;
  TOFT_VERIFY(pool, p);
  for (uint32_t i = 1; i <= used; i++) {
    uint32_t key = keys[i], live = ((key ^ i) & mask) == 0;
    key = (key & ~mask) + ((mask + 1) & (0 - live));
    retired += live & (uint32_t)(key >= retire_key);
    keys[i] = key;
  }
  if (used != 0) memset(p->live_bits, 0, (size_t)p->top / 64 * 8 + 8);
  p->retired += retired;
  p->dirty = (uint32_t)toft_max(p->dirty, used);
  p->free = p->used = p->not_live = p->top = 0;
}

void toft_pool_trim(toft_pool *p) {
  uint32_t *keys = p->keys, mask = p->mask, n = p->used;
  TOFT_VERIFY(pool, p);
  p->dirty = (uint32_t)toft_max(p->dirty, n);
  for (; n != 0 && ((keys[n] ^ n) & mask) != 0; n--) keys[n] &= ~mask;
  for (; p->top > n; p->top--) p->live_bits[p->top >> 6] &= ~((uint64_t)1 << (p->top & 63)); /* set in advance */
  p->used = n;
  p->free = p->not_live = 0;
  for (uint32_t i = n; i != 0; i--) { /* the lowest slot comes first in the free list */
    if (((keys[i] ^ i) & mask) == 0) continue;
    keys[i] &= ~mask;
    p->not_live++;
    if (keys[i] >= p->retire_key) continue;
    keys[i] |= p->free;
    p->free = i;
  }
  if ((p->flags & TOFT_POOL_FIXED) != 0 || p->block_size == 0) return;
  size_t keep = toft_os_page((size_t)n * p->stride);
  if (keep >= p->slots_size || !toft_pool_decommit(p, keep)) return;
  p->slots_size = keep;
  toft_pool_update_capacity(p);
}

toft_pool_stats toft_pool_get_stats(const toft_pool *p) {
  toft_pool_stats s;
  s.live = p->used - p->not_live;
  s.capacity = p->capacity;
  s.retired = p->retired;
  s.reserved = s.committed = p->block_size;
  if ((p->flags & TOFT_POOL_FIXED) == 0) s.committed = p->bits_size + p->keys_size + p->slots_size;
  return s;
}

#endif
