/* The invariants of a pool, which each slow path leaves.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_POOL_POOL_VERIFY_C
#define TOFT_POOL_POOL_VERIFY_C

#include "../platform/assert.h"
#include "pool.c"

#ifdef TOFT_ASSERTIONS

/* The slots that were removed, the last one first; those that are retired are in no list. Returns their number. */
static uint32_t toft_verify_free_slots(const toft_pool *p) {
  uint32_t n = 0;
  for (uint32_t i = p->free; i != 0; i = p->keys[i] & p->mask, n++) {
    TOFT_ASSERT(i <= p->used);
    TOFT_ASSERT((p->live_bits[i >> 6] >> (i & 63) & 1) == 0);
    TOFT_ASSERT((p->keys[i] & p->mask) != i);
    TOFT_ASSERT(p->keys[i] < p->retire_key || p->retire_key == 0);
    TOFT_ASSERT(n < p->not_live);
  }
  return n;
}

static void toft_verify_slots(const toft_pool *p) {
  uint32_t live = 0;
  for (uint32_t i = 1; i <= p->used; i++) {
    uint32_t bit = (uint32_t)(p->live_bits[i >> 6] >> (i & 63) & 1);
    TOFT_ASSERT(bit == ((p->keys[i] & p->mask) == i));
    live += bit;
  }
  TOFT_ASSERT(live == p->used - p->not_live);
  for (uint32_t i = p->used + 1; i <= p->top; i++) {
    TOFT_ASSERT((p->live_bits[i >> 6] >> (i & 63) & 1) != 0); /* set in advance */
    TOFT_ASSERT((p->keys[i] & p->mask) == 0);
  }
  for (uint32_t i = p->top + 1; (i & 63) != 0; i++) TOFT_ASSERT((p->live_bits[i >> 6] >> (i & 63) & 1) == 0);
  TOFT_ASSERT(toft_verify_free_slots(p) <= p->not_live);
}

static void toft_verify_pool(const toft_pool *p) {
  if (p->block_size == 0) return;
  TOFT_ASSERT((p->mask & (p->mask + 1)) == 0 && p->mask >= 3);
  TOFT_ASSERT((p->key_mask & p->mask) == p->key_mask);
  TOFT_ASSERT(p->used <= p->top || p->top == 0);
  TOFT_ASSERT(p->top <= p->capacity);
  TOFT_ASSERT(p->capacity <= p->max);
  TOFT_ASSERT(p->max <= p->mask);
  TOFT_ASSERT(p->capacity <= p->key_mask);
  TOFT_ASSERT(p->not_live <= p->used);
  TOFT_ASSERT(p->free <= p->used);
  TOFT_ASSERT((p->free == 0) || p->not_live != 0);
  TOFT_ASSERT(p->keys[0] == 1);
  TOFT_ASSERT(p->capacity <= p->slots_size / p->stride);
  TOFT_ASSERT((const unsigned char *)p->live_bits >= (const unsigned char *)p->block);
  TOFT_ASSERT(p->slots + p->slots_size <= (const unsigned char *)p->block + p->block_size);
  if (toft_verifies(p->used)) toft_verify_slots(p);
}
#endif

#endif
