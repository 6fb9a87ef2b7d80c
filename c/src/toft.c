/* The library is this one translation unit: every internal name is static, so it can be embedded with a prefix or
 * whole. Each file includes what it uses and compiles alone. The folders are layers, lowest first: no file includes one
 * of a layer that comes later here.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */

/* ---- platform: operating system, compiler, tools ---- */
#include "platform/os.c"         /* pages, locks that wait, the ends of threads and of the library */
#include "platform/atomic.c"     /* words that threads share, a lock, a one-sided fence */
#include "platform/sanitizers.c" /* AddressSanitizer, MemorySanitizer, Valgrind */

/* ---- core: the arena ---- */
#include "core/arena_state.h"    /* the state of an arena, of a block, of a cleanup */
#include "core/policy.c"         /* placement policy 1: arithmetic on sizes, no memory */
#include "core/block_cache.c"    /* the thread's cache, and the heap source on it */
#include "core/sources.c"        /* pages, reserve-and-commit, limited */
#include "core/instrument.h"     /* what the core calls of debug/ */
#include "core/blocks.c"         /* the list of blocks: take, drop, keep; accounting; the one writer of limit */
#include "core/alloc_slow.c"     /* where an allocation goes when the inline path has no answer */
#include "core/ops.c"            /* the table behind every head */
#include "core/reset_fast.c"     /* the reset of an arena that is as its last reset left it, but for the cursor */
#include "core/create_release.c" /* create, release, adopt */
#include "core/stats.c"          /* statistics, block walk */
#include "core/malloc_hooks.c"   /* malloc-like hooks, the current arena */
#include "core/strings.c"        /* printf and packed bytes */

/* ---- debug: what can be switched on per arena while the program runs ---- */
#include "debug/omitted.c"        /* what stands in for features that TOFT_OMIT_ macros leave out */
#include "debug/accounting.c"     /* bytes by tag and phase, budgets, callbacks */
#include "debug/live_registry.c"  /* the checked arenas and recyclers that are alive */
#include "debug/symbolize.c"      /* which function an address of code is in */
#include "debug/reports.c"        /* findings: text, hooks and files, the process's switch */
#include "debug/debug_records.c"  /* records, red zones, what was given back, threads */
#include "debug/sampling.c"       /* call stacks of one allocation in so many bytes */
#include "debug/accounting_api.c" /* the calls of toft/meter.h */
#include "debug/debug_ops.c"      /* what the ops do in a checked arena */
#include "debug/quarantine.c"     /* released blocks that are held back */
#include "debug/debug_api.c"      /* the calls of toft/findings.h */
#include "debug/snapshot.c"       /* accounting as JSON */

/* ---- pool: slots of one size ---- */
#ifndef TOFT_OMIT_POOLS
#include "pool/pool.c"
#endif

/* ---- recycler: individual deallocation ---- */
#ifndef TOFT_OMIT_RECYCLER
#include "recycler/recycler.c"         /* blocks that count what is live in them */
#include "recycler/recycler_large.c"   /* their large objects */
#include "recycler/recycler_checked.c" /* the same in a checked process */
#ifndef TOFT_OMIT_THREADS
#include "recycler/recycler_sync.c" /* the same for many threads */
#endif
#endif

/* ---- threads: leases, frames, shared arenas ---- */
#ifndef TOFT_OMIT_THREADS
#include "threads/thread_state.c" /* what a thread has in leases and frames, and its end */
#include "threads/lease_cache.c"  /* a cache of leases: what is behind its lock */
#include "threads/lease.c"        /* leases: get and return */
#include "threads/barrier.c"      /* threads that wait for each other */
#include "threads/frame.c"        /* frames: arenas of all threads that are emptied together */
#include "threads/shared.c"       /* one arena that many threads fill */
#endif
