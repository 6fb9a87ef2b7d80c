/* The library is this one translation unit: every internal name is static, so it can be embedded with a prefix or
 * whole. Each file includes what it uses and compiles alone. The folders are layers, lowest first: no file includes one
 * of a layer that comes later here.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */

/* ---- platform: operating system, compiler, tools ---- */
#include "platform/system.c"     /* the calls of a POSIX system, which a test makes fail */
#include "platform/os.c"         /* pages, threads, files, callbacks at thread exit and at unload */
#include "platform/atomic.c"     /* atomics, a spin lock, an asymmetric fence */
#include "platform/sanitizers.c" /* AddressSanitizer, MemorySanitizer, Valgrind */
#include "platform/request.c"    /* requests by a signal */

/* ---- core: the arena ---- */
#include "core/arena_state.h"   /* the state of an arena, of a block, of a cleanup */
#include "core/policy.c"        /* placement policy 1: arithmetic on sizes, no memory */
#include "core/retention.c"     /* which blocks a reset keeps: a decision from sizes alone */
#include "core/idle_account.c"  /* one allowance for all idle memory of the process */
#include "core/page_cache.c"    /* the process's cache of mapped pages */
#include "core/background.c"    /* the thread that returns pages of an idle process */
#include "core/units.c"         /* small blocks for recyclers */
#include "core/block_cache.c"   /* the thread's cache, and the heap source on it */
#include "core/region_source.c" /* sources whose blocks come from a region */
#include "core/sources.c"       /* pages, reserve-and-commit, limited */
#include "core/hooks.h"         /* what the core calls of debug/ */
#include "core/portion.c"       /* what an arena holds of a budget's live bytes */
#include "core/blocks.c"        /* the list of blocks: take, drop, keep; accounting; the one writer of limit */
#include "core/arena_verify.c"  /* the invariants of an arena, in builds with assertions */
#ifndef TOFT_OMIT_METERS
#include "core/budget.c" /* limits over many objects: a tree of sources */
#endif
#include "core/alloc_slow.c"     /* the slow path of allocation */
#include "core/reset.c"          /* reset and trim */
#include "core/ops.c"            /* the table of operations */
#include "core/reset_fast.c"     /* the fast reset of an arena unchanged but for its cursor */
#include "core/create_release.c" /* create and release */
#include "core/stats.c"          /* statistics, block walk */

/* ---- debug: features switched on per arena at run time ---- */
#include "debug/omitted.c"         /* stubs for features that TOFT_OMIT_ macros exclude */
#include "debug/symbolize.c"       /* the function and line of a code address */
#include "debug/json.c"            /* JSON through a callback */
#include "debug/observe.h"         /* what brackets a call on an observed arena */
#include "debug/modules.c"         /* the program, its shared libraries, their build ids */
#include "debug/stacks.c"          /* the unwinder; the stacks of findings */
#include "debug/subject.c"         /* how an instrument describes an arena of another provider */
#include "debug/accounting.c"      /* bytes by tag and phase, budgets, callbacks */
#include "debug/live_registry.c"   /* the checked arenas and recyclers that are alive */
#include "debug/reports.c"         /* findings: text, hooks and files, the environment */
#include "debug/debug_records.c"   /* records, red zones, freed regions, threads */
#include "debug/sampling.c"        /* call stacks of sampled allocations */
#include "debug/accounting_api.c"  /* the calls of toft/meter.h */
#include "debug/debug_ops.c"       /* the ops of checked arenas */
#include "debug/quarantine.c"      /* freed blocks whose reuse is delayed */
#include "debug/debug_api.c"       /* the calls of toft/findings.h */
#include "debug/snapshot.c"        /* accounting as JSON */
#include "debug/process_profile.c" /* meters of all arenas, by the environment; the profile of the process */
#include "debug/observed.c"        /* the table of arenas whose checks or meters are on */
#ifndef TOFT_OMIT_INSTRUMENT
#include "debug/subject_account.c" /* what an operation beneath an instrument changed */
#include "debug/subject_records.c" /* checks of an arena of another provider */
#include "debug/instrument.c"      /* the instrument before an arena of another provider */
#endif
#include "debug/fork.c" /* the locks at a fork */

/* ---- api: calls that are made of the table's, or bracket the core's ---- */
#include "api/adopt.c"        /* adopt; the walk over cleanups */
#include "api/reserve.c"      /* room for coming allocations; arenas by value */
#include "api/malloc_hooks.c" /* malloc-like hooks, the current arena */
#include "api/strings.c"      /* printf and packed bytes */

/* ---- pool: slots of one size ---- */
#ifndef TOFT_OMIT_POOLS
#include "pool/pool.c"
#include "pool/pool_verify.c" /* its invariants */
#endif

/* ---- recycler: individual deallocation ---- */
#ifndef TOFT_OMIT_RECYCLER
#include "recycler/recycler_segments.c"  /* segments, units, pages */
#include "recycler/recycler_slabs.c"     /* size classes and slabs */
#include "recycler/recycler_large.c"     /* large objects */
#include "recycler/recycler_retention.c" /* what is kept; trim */
#include "recycler/recycler_stats.c"     /* statistics */
#include "recycler/recycler_walk.c"      /* the live objects */
#include "recycler/recycler_verify.c"    /* the invariants */
#include "recycler/recycler.c"           /* the calls of toft/recycler.h */
#include "recycler/recycler_checked.c"   /* recyclers of a checked process */
#include "recycler/recycler_malloc.c"    /* malloc on a recycler */
#ifndef TOFT_OMIT_THREADS
#include "recycler/recycler_sync.c" /* recyclers for many threads */
#endif
#endif

/* ---- region: arenas and recyclers in one range, whose content is saved and restored ---- */
#ifndef TOFT_OMIT_RECYCLER
#include "platform/written.c"         /* which pages were written */
#include "platform/mappings.c"        /* what lies at an address */
#include "region/region.c"            /* the range, its blocks, what lies in it */
#include "region/region_verify.c"     /* the invariants */
#include "region/region_walk.c"       /* the live content */
#include "region/region_outside.c"    /* words that point out of a checked region */
#include "region/region_pages.c"      /* copies of pages */
#include "region/region_checkpoint.c" /* the tree of checkpoints */
#include "region/region_digest.c"     /* digests, and the first difference */
#include "platform/replaced_file.c"   /* the file that a new one replaces: links, owner, mode */
#include "platform/files.c"           /* files that are replaced as a whole, or mapped */
#include "region/frozen_format.h"     /* the format of frozen files */
#include "region/freeze_scrub.c"      /* clears everything but the content */
#include "region/freeze.c"            /* builds twice, compares, writes a frozen file */
#include "region/frozen.c"            /* opens a frozen file */
#endif

/* ---- threads: leases, frames, shared arenas ---- */
#ifndef TOFT_OMIT_THREADS
#include "threads/thread_state.c" /* per-thread state of leases and frames, and its cleanup */
#include "threads/lease_cache.c"  /* the lease cache, locked part */
#include "threads/lease.c"        /* the lease cache: get and return */
#include "threads/barrier.c"      /* threads that wait for each other */
#include "threads/frame.c"        /* per-thread arenas that are emptied together */
#include "threads/shared.c"       /* an arena that many threads allocate from */
#endif
