/* Leases: arenas from a cache that all threads share, for code that has no place of its own to keep one in: a request's
 * handler, a callback, a function that needs memory for as long as it runs.
 *
 *     toft_lease l = toft_lease_get(NULL);          from the process's own cache
 *     char *line = toft_printf(l.arena, "%d", 7);
 *     ...
 *     toft_lease_return(NULL, l);                   all of it is gone; the arena waits for the next
 *
 * What waits keeps memory that was touched already: the next lease allocates without asking anybody. Get and return on
 * one thread take no lock and no atomic read-modify-write; a lease may be returned on any thread, which takes a lock.
 *
 * A LEASE is an arena that is yours until you return it, and the number of that turn. So a return that is not the first
 * of its lease is refused (TOFT_EBUSY), also when two threads try at once, and also when the arena is somebody else's
 * by then. An arena that was returned gives no memory and takes no call (NULL, TOFT_EBUSY) until it is leased again;
 * toft_release does nothing to an arena of a cache, and toft_adopt refuses it (TOFT_EBUSY).
 *
 * WHAT IS KEPT. At most options.idle arenas wait, with at most options.keep bytes each and options.bytes in all; what
 * is beyond that goes back to its source. Half of the arenas that may wait, wait each for the thread that had it last.
 * When that thread ends, or calls toft_cache_trim, they are anybody's. toft_leases_trim empties the cache.
 *
 * CHECKED caches (TOFT_CHECKED in options.arenas->flags): what is returned is filled with 0xDD, and looked at when it
 * is leased again: bytes written meanwhile are told to options.arenas->failure as TOFT_ECORRUPT.
 *
 * FORK. The child has its own copy, and goes on; what other threads had out stays out there. EXIT: what waits in the
 * process's own cache goes back to the system at exit and at dlclose, but for what other threads that still run have.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_LEASE_H
#define TOFT_LEASE_H

#include "toft/abi.h"
#include "toft/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

struct toft_options; /* toft.h */

/* Thread-safe, all of it, but for toft_leases_release. NULL is the process's own cache, which has the defaults. */
typedef struct toft_leases toft_leases;

typedef struct toft_lease {
  toft_arena *arena;   /* NULL: there was no memory */
  uint64_t generation; /* the cache's */
} toft_lease;

typedef struct toft_lease_options {
  size_t size;                       /* sizeof(toft_lease_options): TOFT_LEASE_OPTIONS sets it */
  const struct toft_options *arenas; /* how they are made: source, budget, reserve, failure, checks. Called by many
                                        threads at once. No buffer. NULL: as by toft_create */
  size_t idle;                       /* so many arenas may wait; at most 65536 */
  size_t keep;                       /* bytes that one of them may keep; less than 4096 means these */
  size_t bytes;                      /* bytes that all of them may keep */
} toft_lease_options;
/* clang-format off */
#define TOFT_LEASE_OPTIONS { sizeof(toft_lease_options), NULL, 128, 262144, 16777216 }
/* clang-format on */

/* NULL if there is no memory or the options are bad; options NULL: the defaults. */
TOFT_API TOFT_NODISCARD toft_leases *toft_leases_create(const toft_lease_options *options);
/* TOFT_EBUSY if a lease is out, also if the source or the cleanup of one that is just got or returned asks for it:
 * nothing has changed. TOFT_EARG for the process's own cache. NULL is that. No other thread may use it meanwhile. */
TOFT_API int toft_leases_release(toft_leases *leases);

/* An empty arena. arena is NULL if none waits and there is no memory to make one. What a lease sets (budget, checks)
 * ends with it. */
TOFT_API TOFT_NODISCARD toft_lease toft_lease_get(toft_leases *leases);
/* Gives it back: its cleanups run, on this thread. TOFT_ECORRUPT: done, and a checked arena found bytes written outside
 * an allocation. Nothing has changed otherwise: TOFT_EBUSY, it was returned already, or a range is claimed, or one of
 * its cleanups runs; TOFT_EARG, it is no lease of this cache. One of another cache may be either, since this one may
 * have had a lease with the same turn. */
TOFT_API int toft_lease_return(toft_leases *leases, toft_lease lease);

/* Ends all arenas that wait, also those that wait for other threads; it stops none of them for longer than a
 * fraction of a microsecond. Blocks of the heap go to the calling thread's cache first: toft_cache_trim empties
 * that. */
TOFT_API void toft_leases_trim(toft_leases *leases);

/* Counts of arenas, and bytes. While others get and return, each is of some moment of the call. */
typedef struct toft_lease_stats {
  size_t made, ended; /* ever */
  size_t idle, out;   /* now; one that a call makes or empties is out */
  size_t held;        /* bytes: what the idle ones keep, and the others had when they were last leased */
} toft_lease_stats;
TOFT_API toft_lease_stats toft_leases_get_stats(toft_leases *leases);

#ifdef __cplusplus
}
#endif
#endif
