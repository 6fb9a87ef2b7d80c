/* The library is this one translation unit: every internal name is static, so it can be embedded with a prefix or
 * whole. Read in this order.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "internal.h" /* the state of an arena, of a block, of a cleanup */

#include "os.c"             /* what differs between operating systems */
#include "policy.c"         /* placement policy 1: arithmetic on sizes, no memory */
#include "cache.c"          /* the thread's cache, and the heap source on it */
#include "sources.c"        /* pages, reserve-and-commit, budgeted */
#include "blocks.c"         /* the list of blocks: take, drop, keep; accounting; the one writer of limit */
#include "place.c"          /* where an allocation goes when the inline path has no answer */
#include "checked.c"        /* checked arenas: red zones, poison, stale marks */
#include "ops.c"            /* the table behind every head */
#include "life.c"           /* create, release, adopt */
#include "inspect.c"        /* statistics, block walk */
#include "text.c"           /* printf and packed bytes */
#include "hooks.c"          /* malloc-like hooks, the current arena */
#include "pool.c"           /* slots of one size, in memory of their own */
#include "recycler.c"       /* blocks that count what is live in them, and come back */
#include "recycler_large.c" /* their large objects */
#include "recycler_sync.c"  /* the same for many threads */
