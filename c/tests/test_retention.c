/* What a reset keeps, as a decision on sizes (P10 of abi/SPEC.md): for each policy and limit, high-water marks around
 * each bound of the policy, and lists of up to two blocks in use
 * (of three: each seventh list) and two spares.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "core/retention.c"

#include "support.h"

#define BLOCKS_MAX 3
#define SPARES_MAX 2
#define STATE 512 /* bytes of the initial block that H includes */

typedef struct memory {
  size_t sizes[BLOCKS_MAX + SPARES_MAX]; /* blocks in use, newest first, then spares in their order */
  int regular[BLOCKS_MAX];
  size_t blocks, spares;
} memory;

/* The retained bytes, and whether each block and spare is retained. */
typedef struct outcome {
  size_t bytes, largest_spare;
  int stays[BLOCKS_MAX + SPARES_MAX];
} outcome;

static const size_t block_sizes[] = {4096, 65536, TOFT_MIB, 3 * TOFT_MIB, 65 * TOFT_MIB};
#define SIZES (sizeof block_sizes / sizeof *block_sizes)

static toft_round_memory describe(const memory *m, uint64_t peak) {
  toft_round_memory round = {0};
  round.high = peak + STATE;
  round.initial_usable = TOFT_BLOCK_MIN - STATE;
  for (size_t i = 0; i < m->blocks; i++) {
    round.others += m->sizes[i];
    round.dedicated_count += !m->regular[i];
  }
  for (size_t i = 0; i < m->spares; i++) round.spare_bytes += m->sizes[m->blocks + i];
  if (m->blocks == 1 && m->regular[0]) round.single = m->sizes[0];
  return round;
}

static outcome apply(const memory *m, const toft_retention *r) {
  outcome o = {0};
  for (size_t i = 0; i < m->blocks + m->spares; i++) {
    size_t size = m->sizes[i];
    switch (r->blocks) {
      case TOFT_RETAIN_NONE: break;
      case TOFT_RETAIN_IN_PLACE: o.stays[i] = i == 0; break;
      case TOFT_RETAIN_UP_TO: o.stays[i] = size <= r->bound && o.bytes <= r->bound - size; break;
      case TOFT_RETAIN_SPARE: o.stays[i] = o.bytes == 0 && size >= r->at_least && size <= r->at_most; break;
    }
    if (!o.stays[i]) continue;
    o.bytes += size;
    o.largest_spare = toft_max(o.largest_spare, size);
  }
  return o;
}

/* The bytes that may stay, from the words of the specification. */
static size_t allowance(const toft_round_memory *m, uint32_t policy, size_t keep) {
  size_t merged = toft_merged_size(m->high);
  if (policy == TOFT_KEEP_ALL) return m->others + m->spare_bytes;
  if (policy == TOFT_KEEP_BYTES) return keep;
  return toft_max(4 * merged, (size_t)(m->high + m->high / 2) + 2 * TOFT_CAP);
}

/* The case of P10 that the decision is, by the words of the specification; W is `wanted` and most is `most`. */
static toft_retained_blocks expected(const toft_round_memory *m, uint32_t policy, size_t keep) {
  uint64_t h = m->high;
  size_t total = m->others, wanted = toft_merged_size(h), most = 4 * wanted;
  int alike = m->dedicated_count == 0 && total > TOFT_CAP;
  int as_is = h > TOFT_MERGE || (alike && h > TOFT_CAP);
  if (policy == TOFT_KEEP_ALL) {
    wanted = toft_max(wanted, toft_min(TOFT_MERGE, total));
    most = SIZE_MAX;
    as_is = h > TOFT_MERGE || total > TOFT_MERGE || alike;
  } else if (policy == TOFT_KEEP_BYTES) {
    size_t pages = keep < TOFT_MERGE ? toft_round(keep, 4096) : TOFT_MERGE;
    wanted = toft_min(wanted, toft_max(4096, pages));
    most = toft_min(4 * wanted, toft_max(wanted, keep));
    as_is = h > TOFT_MERGE ? keep > TOFT_MERGE : alike && h > TOFT_CAP && keep > TOFT_CAP;
  }
  if (wanted == 4096 || m->initial_only || (m->limited && policy == TOFT_KEEP_RECENT)) return TOFT_RETAIN_NONE;
  if (!m->refused && m->single >= wanted && m->single <= most && h <= TOFT_MERGE) return TOFT_RETAIN_IN_PLACE;
  if (as_is || m->refused) return TOFT_RETAIN_UP_TO;
  return total != 0 ? TOFT_RETAIN_NONE : TOFT_RETAIN_SPARE;
}

static void verify_bytes(const memory *m, const toft_round_memory *round, uint32_t policy, size_t keep) {
  toft_retention r = toft_decide_retention(round, policy, keep);
  outcome o = apply(m, &r);
  assert_int_equal(r.blocks, expected(round, policy, keep));
  assert_in_range(o.bytes, 0, allowance(round, policy, keep));
  if (round->high <= TOFT_BLOCK_MIN && policy != TOFT_KEEP_ALL) assert_int_equal(o.bytes, 0);
  if (round->initial_only || (round->limited && policy == TOFT_KEEP_RECENT)) assert_int_equal(o.bytes, 0);
  if (round->initial_only) assert_false(r.initial_idle);
  if (r.blocks == TOFT_RETAIN_IN_PLACE) assert_true(m->blocks == 1 && m->regular[0]);
  if (r.first_size != 0) assert_true(r.initial_idle && r.first_size % TOFT_BLOCK_MIN == 0);
  if (r.initial_idle) assert_true(r.first_size != 0 || r.blocks == TOFT_RETAIN_IN_PLACE);
}

/* A round with the same peak requests at most one block, or finds the blocks of the round before. */
static void verify_next_round(const memory *m, const toft_round_memory *round, uint32_t policy, size_t keep) {
  toft_retention r = toft_decide_retention(round, policy, keep);
  outcome o = apply(m, &r);
  uint64_t peak = round->high - STATE;
  if (policy == TOFT_KEEP_BYTES || round->initial_only || round->high > TOFT_MERGE) return;
  if (!r.initial_idle && r.blocks == TOFT_RETAIN_NONE) {
    assert_in_range(peak, 0, round->initial_usable);
  } else if (r.blocks == TOFT_RETAIN_IN_PLACE) {
    assert_in_range(peak, 0, toft_usable(m->sizes[0]));
  } else if (r.blocks == TOFT_RETAIN_UP_TO) {
    for (size_t i = 0; i < m->blocks; i++) /* the blocks in use are the round: they stay while they are in proportion */
      if (policy == TOFT_KEEP_ALL || round->others <= round->high) assert_true(o.stays[i]);
  } else {
    assert_in_range(peak, 0, toft_usable(o.bytes != 0 ? o.largest_spare : r.first_size));
  }
}

/* After a refusal the blocks stay as they are: a merged one might be refused. */
static void verify_refused(const memory *m, const toft_round_memory *round, uint32_t policy, size_t keep) {
  toft_retention r = toft_decide_retention(round, policy, keep);
  if (!round->refused || round->initial_only || (round->limited && policy == TOFT_KEEP_RECENT)) return;
  if (round->high <= TOFT_BLOCK_MIN || toft_decide_merge(round, policy, keep).wanted == TOFT_BLOCK_MIN) return;
  assert_int_equal(r.blocks, TOFT_RETAIN_UP_TO);
  assert_int_equal(r.first_size, 0);
  assert_false(r.initial_idle);
  if (policy == TOFT_KEEP_ALL) assert_int_equal(apply(m, &r).bytes, round->others + round->spare_bytes);
}

/* KEEP_ALL: what returns to the source is requested again as one block. */
static void verify_all(const memory *m, const toft_round_memory *round, uint32_t policy) {
  toft_retention r = toft_decide_retention(round, policy, 0);
  if (policy != TOFT_KEEP_ALL || round->initial_only || round->others <= TOFT_BLOCK_MIN) return;
  outcome o = apply(m, &r);
  assert_in_range(toft_min(round->others, TOFT_MERGE), 0, o.bytes + (o.bytes == 0 ? r.first_size : 0));
}

static void verify(const memory *m, uint64_t peak) {
  static const size_t keeps[] = {0, 1, 4096, 65536, TOFT_MIB, TOFT_MIB + 1, 3 * TOFT_MIB, 64 * TOFT_MIB + 1, SIZE_MAX};
  toft_round_memory round = describe(m, peak);
  for (int flags = 0; flags < 8; flags++) {
    round.initial_only = flags & 1;
    round.limited = flags >> 1 & 1;
    round.refused = flags >> 2 & 1;
    for (uint32_t policy = TOFT_KEEP_RECENT; policy <= TOFT_KEEP_BYTES; policy++) {
      for (size_t k = 0; k < (policy == TOFT_KEEP_BYTES ? sizeof keeps / sizeof *keeps : 1); k++) {
        verify_bytes(m, &round, policy, keeps[k]);
        verify_next_round(m, &round, policy, keeps[k]);
        verify_refused(m, &round, policy, keeps[k]);
      }
      verify_all(m, &round, policy);
    }
  }
}

/* Each peak at a bound of the policy, one below it and one above it, with and without the bytes of the state. */
static void verify_peaks(const memory *m) {
  static const uint64_t bounds[] = {0,          4096,          8192, 65536, TOFT_MIB, 2 * TOFT_MIB, 63 * TOFT_MIB,
                                    TOFT_MERGE, 2 * TOFT_MERGE};
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
    for (int64_t offset = -1; offset <= 1; offset++) {
      if (bounds[i] >= STATE + 1) verify(m, bounds[i] - STATE + (uint64_t)offset);
      if (bounds[i] != 0 || offset >= 0) verify(m, bounds[i] + (uint64_t)offset);
    }
  }
}

static void each_list_of_blocks(void **state) {
  (void)state;
  for (size_t blocks = 0; blocks <= BLOCKS_MAX; blocks++) {
    size_t lists = 1;
    for (size_t i = 0; i < blocks; i++) lists *= 2 * SIZES;
    for (size_t list = 0; list < lists; list += blocks == 3 ? 7 : 1) {
      memory m = {0};
      m.blocks = blocks;
      for (size_t i = 0, rest = list; i < blocks; i++, rest /= 2 * SIZES) {
        m.sizes[i] = block_sizes[rest % SIZES];
        m.regular[i] = rest / SIZES % 2 == 0;
      }
      verify_peaks(&m);
      for (size_t s = 0; s < (blocks == BLOCKS_MAX ? 1 : SIZES); s++) {
        m.spares = s % 2 + 1;
        for (size_t i = 0; i < m.spares; i++) m.sizes[blocks + i] = block_sizes[(s + 3 * i) % SIZES];
        verify_peaks(&m);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_list_of_blocks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
