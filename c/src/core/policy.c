/* Placement policy 1 of abi/SPEC.md, as arithmetic on sizes. The reference model, both providers and the vectors
 * change together with it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_POLICY_C
#define TOFT_CORE_POLICY_C

#include "arena_state.h"

#define TOFT_CAP TOFT_MIB          /* P5: regular blocks double up to this */
#define TOFT_MERGE (64 * TOFT_MIB) /* P10: reset merges up to this */
#define TOFT_SPARE (4 * TOFT_MIB)  /* P12: bytes of spare blocks that an arena keeps after rewinds */
#define TOFT_STAGGERED (64 * TOFT_KIB)
#define TOFT_MAX_REQUEST ((size_t)PTRDIFF_MAX / 2) /* no sum of two requests wraps */

/* n rounded up to a multiple of `to`, a power of two. n is at most 2 * TOFT_MAX_REQUEST. */
static size_t toft_round(size_t n, size_t to) { return (n + to - 1) & ~(to - 1); }

static size_t toft_min(size_t a, size_t b) { return a < b ? a : b; }
static size_t toft_max(size_t a, size_t b) { return a > b ? a : b; }

static size_t toft_pow2(size_t n) {
  size_t p = TOFT_BLOCK_MIN;
  while (p < n) p *= 2;
  return p;
}

/* Bytes from p to the next multiple of align. */
static size_t toft_pad(const unsigned char *p, size_t align) { return (size_t)(0 - (uintptr_t)p) & (align - 1); }

/* Bytes that a block needs so that `size` bytes fit at this alignment. A block starts on a 64-byte line. */
static size_t toft_need(size_t size, size_t align) { return TOFT_ROUND8(size) + (align > 64 ? align - 64 : 0); }

/* P3: consecutive blocks above 64 KiB start one cache line later each, so that regular spacing does not collide in
 * one cache set. */
static size_t toft_stagger(size_t block_size, uint32_t index) {
  return block_size > TOFT_STAGGERED ? TOFT_HEADER * (1 + (size_t)index % 8) : TOFT_HEADER;
}

static size_t toft_usable(size_t block_size) {
  return block_size - (block_size > TOFT_STAGGERED ? 8 * TOFT_HEADER : TOFT_HEADER);
}

/* P5, P6: size of the regular block that serves `need` bytes, or 0 for a dedicated block. `next`: the size due by
 * growth. */
static size_t toft_regular_size(size_t need, size_t next, int idle) {
  if (idle && need <= next - toft_min(next, 512)) return next;
  if (need <= TOFT_CAP / 4) return toft_max(next, toft_min(TOFT_CAP, toft_pow2(4 * need)));
  return 0;
}

/* P7 */
static size_t toft_dedicated_size(size_t need) { return toft_round(need + TOFT_HEADER, TOFT_BLOCK_MIN); }

/* P9: the smallest regular block that `need` bytes fit into. */
static size_t toft_least_size(size_t need) {
  size_t size = toft_dedicated_size(need);
  return size <= TOFT_STAGGERED ? size : toft_round(need + 8 * TOFT_HEADER, TOFT_BLOCK_MIN);
}

/* P10: size of the one block that holds a round of `high` bytes. */
static size_t toft_merged_size(uint64_t high) {
  if (high >= TOFT_MERGE) return TOFT_MERGE;
  if (high <= TOFT_CAP) return toft_pow2((size_t)high);
  return toft_min(TOFT_MERGE, toft_round((size_t)high, TOFT_CAP));
}

#endif
