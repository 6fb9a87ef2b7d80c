/* The state behind a head. Everything in src/ is static and is compiled as one unit: see toft.c.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_ARENA_STATE_H
#define TOFT_CORE_ARENA_STATE_H

#include "../platform/base.h"

/* A block's header, at its base (64 bytes at most, the room in front of its first byte). Home's is in its arena. */
typedef struct toft_blk toft_blk;
struct toft_blk {
  toft_blk *next; /* the one acquired before it; in the spares, the next spare */
  union {
    toft_blk *below;        /* regular: the regular block that was current before it */
    unsigned char *payload; /* one-off: its only allocation; NULL when it may hold several */
  } of;
  size_t size;          /* S, as asked of the source */
  uintptr_t born;       /* epoch at which it came; never above the arena's */
  unsigned char *left;  /* end of the bytes in use, unless it is the current block: then the cursor says */
  size_t charge;        /* of a one-off: bytes it counts for in live */
  toft_source *source;  /* NULL: the caller's buffer */
  uint32_t index, kind; /* TOFT_BLOCK_... */
};

/* Behind the toft_cleanup that users see. Four words: the vectors count on it. */
typedef struct toft_node {
  toft_cleanup user;
  struct toft_node *older;
  uintptr_t born;
} toft_node;

typedef struct toft_checks toft_checks; /* debug/debug_records.c */
typedef struct toft_watch toft_watch;   /* debug/accounting.c */

enum {
  TOFT_FRESH = 1,      /* only the first part of toft_state is initialised: no slow call has happened yet */
  TOFT_CLAIMED = 2,    /* a range is out */
  TOFT_BUSY = 4,       /* a cleanup is running, or the arena was adopted */
  TOFT_IS_CHECKED = 8, /* every allocation is slow, and recorded */
  TOFT_IDLE = 16,      /* home holds nothing and serves nothing: see toft_home_idles */
  TOFT_CACHEABLE = 32, /* on the heap: may wait in the thread's cache */
  TOFT_BUFFER = 64,    /* home is the caller's buffer */
  TOFT_WATCHED = 256,  /* there is a watch, and something is on */
  TOFT_HELD = 1024     /* of a cache of leases or of frames, which alone releases it */
};
#define TOFT_CLOSED (TOFT_CLAIMED | TOFT_BUSY)

/* P10 remembers the highest need of the last 8 windows of 8 rounds each. */
#define TOFT_WINDOWS 8
#define TOFT_WINDOW 8

/* At the base of an arena's home block, 448 bytes at most. */
typedef struct toft_state {
  toft_arena head;
  unsigned char *end;    /* true end of the current block; limit may be lower */
  unsigned char *anchor; /* cursor when live was last brought up to date; in the thread's cache, the next ready arena */
  uint32_t state, rounds;
  uint64_t budget; /* on live; UINT64_MAX: none */
  toft_source *source;
  unsigned char *home_start, *home_end;
  size_t home_size;
  /* from here on undefined while TOFT_FRESH */
  uint64_t live, allocated, peak, round_peak, source_calls; /* live and allocated: at anchor */
  toft_blk *current, *newest;
  toft_blk *spares; /* kept for later, the last one returned first */
  size_t spare_bytes, spare_keep;
  size_t first;      /* with TOFT_IDLE: size of the next regular block */
  uintptr_t emptied; /* epoch at which trim took the empty arena's block: a mark from before means home's start */
  toft_node *cleanups;
  toft_watch *watch;   /* made when something of it is first switched on; ends with the arena */
  toft_checks *checks; /* NULL until the arena is first checked */
  toft_failure *failure;
  void *failure_arg;
  unsigned char *claim_start, *claim_limit;
  uintptr_t claim_id;
  toft_blk *aside;       /* serves the others while claimed */
  toft_node adopted;     /* links this arena into the one that adopted it */
  uint64_t adopted_live; /* part of live that lies in adopted arenas */
  toft_blk home;
  uint64_t window_peaks[TOFT_WINDOWS];
} toft_state;

#define TOFT_HOME_SIZE 4096
#define TOFT_HOME_START 512
#define TOFT_HEADER 64
#define TOFT_HOOK_HEADER 16 /* in front of an object of the malloc-like hooks: its size */

TOFT_STATIC_ASSERT(block_header, sizeof(toft_blk) <= TOFT_HEADER);
TOFT_STATIC_ASSERT(node, sizeof(toft_node) == 4 * sizeof(void *));
TOFT_STATIC_ASSERT(state, sizeof(toft_state) <= 448);
TOFT_STATIC_ASSERT(granule, sizeof(void *) <= 8);

static void toft_destroy(toft_state *a);
static void toft_end_adopted(void *donor); /* the cleanup that an adopted arena is */

#endif
