/* Placement policy 1 (c/src/core/policy.c): arithmetic for every size, alignment and growth that a request can have.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../c/src/core/policy.c"
#include "proofs.h"

void blocks_hold_the_request(void) {
  size_t size = nondet_size(), align = nondet_size(), next = nondet_size(), need, regular;
  int idle = nondet_int() & 1;
  assume(is_power_of_two(align) && size <= TOFT_MAX_REQUEST && align <= TOFT_MAX_REQUEST);
  need = toft_need(size, align);
  prove(need >= size);
  assume(next >= TOFT_BLOCK_MIN && next <= TOFT_MERGE && next % TOFT_BLOCK_MIN == 0);
  regular = toft_regular_size(need, next, idle);
  if (regular != 0) {
    prove(regular % TOFT_BLOCK_MIN == 0 && regular <= TOFT_MERGE);
    prove(toft_usable(regular) >= need);
  } else {
    size_t dedicated = toft_dedicated_size(need);
    prove(dedicated % TOFT_BLOCK_MIN == 0 && dedicated >= need + TOFT_HEADER && need + TOFT_HEADER > need);
  }
}

/* A block loses at most the bytes that toft_usable subtracts to its header and to the staggered start. */
void staggered_blocks_hold_what_is_usable(void) {
  size_t size = nondet_size();
  uint32_t index = nondet_u32();
  assume(size >= TOFT_BLOCK_MIN && size <= TOFT_MERGE);
  prove(toft_stagger(size, index) >= TOFT_HEADER && toft_stagger(size, index) % TOFT_HEADER == 0);
  prove(size - toft_stagger(size, index) >= toft_usable(size));
}

void merged_blocks_are_bounded(void) {
  uint64_t high = nondet_u64();
  size_t size = toft_merged_size(high);
  prove(size >= TOFT_BLOCK_MIN && size <= TOFT_MERGE && size % TOFT_BLOCK_MIN == 0);
  prove(size >= high || size == TOFT_MERGE);
}

/* An aligned object fits a block whose usable bytes are toft_need: a block starts on a line of 64 bytes. */
void aligned_requests_fit_their_need(void) {
  size_t start = nondet_size(), size = nondet_size(), align = nondet_size(), pad;
  assume(start % 64 == 0 && start < SIZE_MAX / 4);
  assume(is_power_of_two(align) && size <= TOFT_MAX_REQUEST && align <= TOFT_MAX_REQUEST);
  pad = toft_pad((const unsigned char *)start, align);
  prove(pad < align && ((start + pad) & (align - 1)) == 0);
  prove(pad + size <= toft_need(size, align));
}
