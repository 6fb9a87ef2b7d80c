/* Pools: handles and the free list, for a pool of SLOTS slots with any generations.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "toft/pool.h"

#include "proofs.h"

#define SLOTS 7

static uint32_t keys[SLOTS + 1];
static uint64_t live_bits[1];
static unsigned char slots[SLOTS * 16];
static toft_pool pool;

toft_handle toft_pool_insert_slow(toft_pool *p) {
  (void)p;
  return 0;
}

/* A pool with `used` used slots, whose first free one is `free`. The index has three bits, the rest of a key
 * is the generation; a live slot's key contains its index, a free slot's the next free one. */
static void any_pool(void) {
  pool.keys = keys;
  pool.live_bits = live_bits;
  pool.slots = slots;
  pool.stride = 16;
  pool.mask = pool.key_mask = 7;
  pool.retire_key = nondet_u32();
  pool.used = nondet_u32();
  pool.top = SLOTS;
  pool.free = 0;
  pool.not_live = 0;
  assume(pool.used <= SLOTS && pool.retire_key > 7);
  for (uint32_t i = 1; i <= SLOTS; i++) {
    keys[i] = nondet_u32() & ~7u;
    assume(keys[i] < UINT32_MAX - 15);
    if (i <= pool.used) keys[i] |= i;
  }
  keys[0] = 1; /* no handle finds it: the index of its key differs */
  live_bits[0] = pool.used == 0 ? 0 : (UINT64_MAX >> (64 - pool.used)) << 1;
}

void stale_handles_are_refused(void) {
  any_pool();
  toft_handle handle = nondet_u32();
  assume(toft_pool_contains(&pool, handle) && (handle & 7) != 0);
  prove(toft_pool_at(&pool, handle) == slots + ((handle & 7) - 1) * 16);
  prove(toft_pool_remove(&pool, handle) == TOFT_OK);
  prove(!toft_pool_contains(&pool, handle) && toft_pool_at(&pool, handle) == NULL);
  prove(toft_pool_remove(&pool, handle) == TOFT_EARG);
}

void a_handle_finds_its_slot_only(void) {
  any_pool();
  toft_handle handle = nondet_u32(), other = nondet_u32();
  assume(toft_pool_contains(&pool, handle) && toft_pool_contains(&pool, other));
  prove(handle == other || (handle & 7) != (other & 7));
}

void reused_slots_have_new_handles(void) {
  any_pool();
  toft_handle handle = nondet_u32(), fresh = 0;
  uint32_t index, other = nondet_u32();
  assume(toft_pool_contains(&pool, handle) && (handle & 7) != 0);
  assume(toft_pool_contains(&pool, other) && other != handle && (other & 7) != 0);
  (void)toft_pool_remove(&pool, handle);
  index = toft_pool_insert_index(&pool, 16, &fresh);
  prove(index == (fresh & 7));
  prove(fresh != handle && fresh != other);
  prove(fresh == 0 || toft_pool_contains(&pool, fresh));
  prove(toft_pool_contains(&pool, other) && !toft_pool_contains(&pool, handle));
}

void counts_follow_inserts_and_removes(void) {
  any_pool();
  size_t before = toft_pool_count(&pool);
  toft_handle handle = 0;
  if (toft_pool_insert_index(&pool, 16, &handle) == 0) return;
  prove(toft_pool_count(&pool) == before + 1);
  prove((live_bits[0] >> (handle & 7) & 1) == 1 || pool.not_live == 0);
  (void)toft_pool_remove(&pool, handle);
  prove(toft_pool_count(&pool) == before && (live_bits[0] >> (handle & 7) & 1) == 0);
}

void slots_have_the_handle_that_finds_them(void) {
  any_pool();
  size_t offset = nondet_size();
  toft_handle handle;
  assume(offset < sizeof slots);
  handle = toft_pool_handle_of(&pool, slots + offset);
  prove(handle == 0 || (toft_pool_contains(&pool, handle) && toft_pool_at(&pool, handle) == slots + offset));
}
