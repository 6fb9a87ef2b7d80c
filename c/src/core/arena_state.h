/* The state of an arena behind its public head, and the headers of its blocks and cleanups.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_ARENA_STATE_H
#define TOFT_CORE_ARENA_STATE_H

#include "../platform/base.h"

/* A block's header, in the first 64 bytes of the block. The initial block's header is part of the arena's state. */
typedef struct toft_block_header toft_block_header;
struct toft_block_header {
  toft_block_header *next; /* the block acquired before it; of a spare block, the next spare */
  union {
    toft_block_header *below; /* regular: the regular block that was current before it */
    unsigned char *payload;   /* dedicated: its only allocation; NULL if it may hold several */
  } u;
  size_t size;             /* as requested from the source */
  uintptr_t epoch;         /* creation epoch; never above the arena's */
  unsigned char *used_end; /* end of the bytes in use; not maintained for the current block, where it is the cursor */
  size_t charge;           /* dedicated: bytes counted in live */
  toft_source *source;     /* NULL: the caller's buffer */
  uint32_t index, kind;    /* TOFT_BLOCK_... */
};

/* Contains a public toft_cleanup. Its size of four words is part of the vectors. */
typedef struct toft_cleanup_node {
  toft_cleanup user;
  struct toft_cleanup_node *older;
  uintptr_t epoch;
} toft_cleanup_node;

typedef struct toft_checks toft_checks;           /* debug/debug_records.c */
typedef struct toft_instruments toft_instruments; /* debug/accounting.c */
typedef struct toft_portion toft_portion;         /* core/portion.c */

enum {
  TOFT_PRISTINE = 1,         /* only the first part of toft_state is initialised: no slow call has happened yet */
  TOFT_CLAIMED = 2,          /* a range is claimed */
  TOFT_BUSY = 4,             /* a cleanup or a callback is running, or the arena was adopted */
  TOFT_IS_CHECKED = 8,       /* every allocation takes the slow path and gets a record */
  TOFT_INITIAL_IDLE = 16,    /* the initial block is empty and takes no allocations: see toft_initial_is_idle */
  TOFT_CACHEABLE = 32,       /* from the heap source: the thread's cache may keep it */
  TOFT_IN_BUFFER = 64,       /* the initial block is the caller's buffer */
  TOFT_INSTRUMENTED = 256,   /* tags, samples or budget callbacks are on; `instruments` is not NULL */
  TOFT_REFUSED = 512,        /* the source refused the last request; P9 */
  TOFT_ROUND_REFUSED = 2048, /* the source refused a request of this round */
  TOFT_KEEPS_BLOCKS = 4096,  /* the source refused, and has granted nothing in a later round: P10 merges no blocks */
  TOFT_RANGE_GROWS = 8192,   /* the claimed range goes on: the current block holds it, even if nothing is live */
  TOFT_COUNTS_LIVE = 16384,  /* a budget counts its live bytes; `portion` is not NULL */
  TOFT_IN_REGION = 32768,    /* in the list of a region, by which it is restored: see region_source.c */
  TOFT_CLEARS = 65536,       /* freed bytes become zero: the arena's region is frozen */
  TOFT_IS_SUBJECT = 131072,  /* an instrument's description of an arena of another provider: see debug/subject.c */
  TOFT_OBSERVED = 262144,    /* `instruments` or `checks` is not NULL: see hooks.h */
  TOFT_CACHE_OWNED = 1024 /* belongs to a cache of leases, to frames or to a shared arena, which alone may release it */
};
#define TOFT_REFUSING (TOFT_CLAIMED | TOFT_BUSY)

/* Policy P10 takes the highest peak of the last 8 windows of 8 rounds each. */
#define TOFT_PEAK_WINDOWS 8
#define TOFT_ROUNDS_PER_WINDOW 8

/* At the base of the arena's initial block; 448 bytes at most. */
typedef struct toft_state {
  toft_arena head;
  unsigned char *end;    /* true end of the current block; limit may be lower */
  unsigned char *synced; /* cursor when live was last updated; in the thread's cache, the next ready arena */
  uint32_t state, rounds;
  uint64_t budget; /* limit on live; UINT64_MAX: none; with TOFT_COUNTS_LIVE what is granted, see toft_own_budget */
  toft_source *source;
  unsigned char *initial_start, *initial_end;
  size_t initial_size;
  /* undefined while TOFT_PRISTINE */
  uint64_t live, allocated, peak, round_peak, source_calls; /* live and allocated: when the cursor was at `synced` */
  toft_block_header *current, *newest;
  toft_block_header *spares; /* kept blocks, the one kept last first */
  size_t spare_bytes, spare_keep;
  size_t first_size; /* with TOFT_INITIAL_IDLE: size of the next regular block */
  uintptr_t
      trim_epoch; /* when trim returned the block of an empty arena: older marks mean the start of the initial block */
  toft_cleanup_node *cleanups;
  toft_instruments *instruments; /* allocated when one is first switched on; released with the arena */
  toft_checks *checks;           /* NULL until the arena is first checked */
  toft_failure_fn *failure;
  void *failure_arg;
  unsigned char *claim_start, *claim_limit;
  uintptr_t claim_id;
  toft_block_header *side_block; /* serves other allocations while a range is claimed */
  toft_cleanup_node adopted;     /* links this arena into the one that adopted it */
  uint64_t adopted_live;         /* part of live that is in adopted arenas */
  toft_block_header initial;
  uint64_t window_peaks[TOFT_PEAK_WINDOWS];
  toft_portion *portion;
} toft_state;

#define TOFT_BLOCK_MIN 4096
#define TOFT_INITIAL_START 512
#define TOFT_HEADER 64
#define TOFT_HOOK_HEADER 16 /* in front of an object of the malloc-like hooks: its size */

TOFT_STATIC_ASSERT(block_header, sizeof(toft_block_header) <= TOFT_HEADER);
TOFT_STATIC_ASSERT(node, sizeof(toft_cleanup_node) == 4 * sizeof(void *));
TOFT_STATIC_ASSERT(state, sizeof(toft_state) <= 448);
TOFT_STATIC_ASSERT(granule, sizeof(void *) <= 8);

static void toft_release_all(toft_state *a);
static void toft_release_adopted(void *donor); /* the cleanup by which an arena holds an adopted one */

#endif
