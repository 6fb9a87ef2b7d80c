/* The library is this one translation unit: every internal name is static, so it can be embedded with a prefix or
 * whole. Read in this order.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "internal.h" /* the state of an arena, of a block, of a cleanup */

#include "os.c"               /* what differs between operating systems */
#include "atomic.c"           /* words that threads share, a lock, a one-sided fence */
#include "policy.c"           /* placement policy 1: arithmetic on sizes, no memory */
#include "cache.c"            /* the thread's cache, and the heap source on it */
#include "sources.c"          /* pages, reserve-and-commit, budgeted */
#include "sanitize.c"         /* AddressSanitizer, MemorySanitizer, Valgrind */
#include "names.c"            /* which function an address of code is in */
#include "findings.c"         /* findings: text, hooks and files, the process's switch */
#include "registry.c"         /* the checked arenas and recyclers that are alive */
#include "blocks.c"           /* the list of blocks: take, drop, keep; accounting; the one writer of limit */
#include "meter.c"            /* what is watched: bytes by tag and phase, budgets, callbacks */
#include "sample.c"           /* call stacks of one allocation in so many bytes */
#include "place.c"            /* where an allocation goes when the inline path has no answer */
#include "checks.c"           /* what a checked arena knows: records, red zones, what was given back, threads */
#include "checked.c"          /* what the ops do in one */
#include "quarantine.c"       /* what they gave back to the heap waits, and is looked at again */
#include "ops.c"              /* the table behind every head */
#include "meter_calls.c"      /* the calls of toft/meter.h */
#include "life.c"             /* create, release, adopt */
#include "inspect.c"          /* statistics, block walk */
#include "snapshot.c"         /* what is watched, as JSON */
#include "text.c"             /* printf and packed bytes */
#include "hooks.c"            /* malloc-like hooks, the current arena */
#include "pool.c"             /* slots of one size, in memory of their own */
#include "recycler.c"         /* blocks that count what is live in them, and come back */
#include "recycler_large.c"   /* their large objects */
#include "recycler_checked.c" /* the same in a checked process */
#include "recycler_sync.c"    /* the same for many threads */
#include "again.c"            /* the short way to reset an arena again */
#include "seats.c"            /* what a thread has in leases and frames, and its end */
#include "lease_stands.c"     /* a cache of leases: what is behind its lock */
#include "lease.c"            /* leases: get and return */
#include "barrier.c"          /* threads that wait for each other */
#include "frame.c"            /* frames: arenas of all threads that are emptied together */
#include "shared.c"           /* one arena that many threads fill */
