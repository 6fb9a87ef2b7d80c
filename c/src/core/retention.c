/* P10 of abi/SPEC.md: which blocks a reset keeps, decided from sizes alone. reset.c carries the decision out.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_RETENTION_C
#define TOFT_CORE_RETENTION_C

#include "../platform/assert.h"
#include "policy.c"

/* The memory of an arena at the end of a round. `others`: the blocks in use beside the initial one. */
typedef struct toft_round_memory {
  uint64_t high;          /* the highest peak of the recent rounds, and 512 bytes for the state in the initial block */
  size_t others;          /* bytes */
  size_t dedicated_count; /* of the others */
  size_t single;          /* size of the only one of the others, if it is regular; else 0 */
  size_t spare_bytes;
  size_t initial_usable; /* bytes of the initial block for allocations */
  int initial_only;      /* no block can be added: there is no source, or it extends the initial block */
  int limited;           /* the source shares a limit with other arenas */
  int refused;           /* the source refused a block, and has granted none in a later round */
} toft_round_memory;

typedef enum toft_retained_blocks {
  TOFT_RETAIN_NONE,     /* every block returns to its source */
  TOFT_RETAIN_IN_PLACE, /* the single block becomes the current one */
  TOFT_RETAIN_UP_TO,    /* blocks become spares in their order while their sum is at most `bound` */
  TOFT_RETAIN_SPARE     /* the first spare of `at_least` to `at_most` bytes */
} toft_retained_blocks;

typedef struct toft_retention {
  toft_retained_blocks blocks;
  int initial_idle; /* nothing is allocated from the initial block in the next round */
  size_t at_least, at_most, bound;
  size_t first_size; /* the least size of the first block that is requested then; 0: by growth */
} toft_retention;

/* One block of `wanted` bytes holds a round; an existing one of up to `most` bytes serves as well. */
typedef struct toft_merge {
  size_t wanted, most, bound;
  int unmerged; /* blocks of up to `bound` bytes stay as they are */
} toft_merge;

static toft_merge toft_decide_merge(const toft_round_memory *m, uint32_t policy, size_t keep) {
  uint64_t high = m->high;
  toft_merge merge;
  /* equal blocks serve a round as well as one large block, and their pages have been touched already */
  int alike = m->dedicated_count == 0 && m->others > TOFT_CAP;
  merge.wanted = toft_merged_size(high);
  merge.unmerged = high > TOFT_MERGE || (alike && high > TOFT_CAP);
  if (policy == TOFT_KEEP_ALL) {
    merge.wanted = toft_max(merge.wanted, toft_min(TOFT_MERGE, m->others));
    merge.most = SIZE_MAX;
    merge.unmerged = high > TOFT_MERGE || m->others > TOFT_MERGE || alike;
    merge.bound = m->others + m->spare_bytes;
  } else if (policy == TOFT_KEEP_BYTES) {
    merge.bound = toft_min(keep, TOFT_MAX_REQUEST);
    merge.wanted = toft_min(merge.wanted, toft_max(TOFT_BLOCK_MIN, toft_round(merge.bound, TOFT_BLOCK_MIN)));
    merge.most = toft_min(4 * merge.wanted, toft_max(merge.wanted, merge.bound));
    merge.unmerged = merge.unmerged && merge.bound > (high > TOFT_MERGE ? TOFT_MERGE : TOFT_CAP);
  } else { /* half more than the round, as P6 may waste a quarter of each block */
    merge.most = 4 * merge.wanted;
    merge.bound =
        toft_round((size_t)(high < TOFT_MAX_REQUEST / 2 ? high + high / 2 : TOFT_MAX_REQUEST), TOFT_CAP) + TOFT_CAP;
  }
  return merge;
}

static toft_retention toft_decide_retention(const toft_round_memory *m, uint32_t policy, size_t keep) {
  toft_merge merge = toft_decide_merge(m, policy, keep);
  toft_retention r = {TOFT_RETAIN_NONE, 0, 0, 0, 0, 0};
  int fits = m->high <= m->initial_usable + 512 && (policy != TOFT_KEEP_ALL || m->others == 0);
  TOFT_ASSERT(merge.wanted <= merge.most && merge.wanted % TOFT_BLOCK_MIN == 0);
  TOFT_ASSERT(m->single <= m->others);
  if (merge.wanted <= TOFT_BLOCK_MIN || fits || m->initial_only) return r;
  r.initial_idle = 1;
  if (m->limited && policy == TOFT_KEEP_RECENT) { /* kept memory would be refused to the other arenas of the limit */
    r.first_size = merge.wanted;
  } else if (m->refused) { /* a merged block may be refused; the same requests find the same blocks again */
    r.blocks = TOFT_RETAIN_UP_TO;
    r.bound = merge.bound;
    r.initial_idle = 0;
  } else if (m->single != 0 && m->high <= TOFT_MERGE && m->single >= merge.wanted && m->single <= merge.most) {
    r.blocks = TOFT_RETAIN_IN_PLACE;
  } else if (merge.unmerged) {
    r.blocks = TOFT_RETAIN_UP_TO;
    r.bound = merge.bound;
    r.first_size = TOFT_CAP;
  } else { /* a block that was rewound before the reset serves as well as one that was in use */
    if (m->others == 0) r.blocks = TOFT_RETAIN_SPARE;
    r.at_least = merge.wanted;
    r.at_most = merge.most;
    r.first_size = merge.wanted;
  }
  return r;
}

#endif
