/* Leases: arenas borrowed from a cache that all threads share, for code that cannot keep an arena between calls: a
 * request handler, a callback, a function that needs temporary memory.
 *
 *     toft_lease l = toft_lease_get(NULL);          from the process's own cache
 *     char *line = toft_printf(l.arena, "%d", 7);
 *     ...
 *     toft_lease_return(NULL, l);                   frees all of it; the arena goes back to the cache
 *
 * An idle arena keeps memory that is already mapped, so the next lease allocates without calling the source. Get and
 * return on one thread take no lock and no atomic read-modify-write. A lease may be returned on any thread; on another
 * one this takes a lock.
 *
 * A LEASE is an arena together with a generation. The generation makes a second return of the same lease fail
 * (TOFT_EBUSY), even if two threads try at once, and even if the arena has been leased again. An idle arena rejects all
 * allocations and calls (NULL, TOFT_EBUSY). toft_release on an arena of a cache does nothing, and toft_adopt fails
 * (TOFT_EBUSY).
 *
 * LIMITS. At most options.idle arenas are idle, with at most options.keep bytes each and options.bytes in total; memory
 * beyond that goes back to the source. Half of the idle arenas are each reserved for the thread that used it last,
 * until that thread ends or calls toft_cache_trim. toft_leases_trim empties the cache.
 *
 * CHECKED caches (TOFT_CHECKED in options.arenas->flags) fill returned memory with 0xDD and check it at the next lease:
 * bytes written in between are reported to options.arenas->failure as TOFT_ECORRUPT.
 *
 * FORK. The child has its own copy and may use it; leases of the parent's other threads stay leased there.
 *
 * EXIT. The idle arenas of the process's own cache are released at exit and at dlclose, except those reserved for
 * threads that still run.
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

/* All functions except toft_leases_release are thread-safe. NULL is the process's own cache, which has default
 * options. */
typedef struct toft_leases toft_leases;

typedef struct toft_lease {
  toft_arena *arena;   /* NULL: the get failed */
  uint64_t generation; /* identifies this lease */
} toft_lease;

typedef struct toft_lease_options {
  size_t size;                       /* sizeof(toft_lease_options): TOFT_LEASE_OPTIONS sets it */
  const struct toft_options *arenas; /* of the arenas; no buffer; a thread-safe source. NULL: as toft_create */
  size_t idle;                       /* limit on idle arenas, at most 65536 */
  size_t keep;                       /* limit on bytes kept by one idle arena; values below 4096 count as 4096 */
  size_t bytes;                      /* limit on bytes kept by all idle arenas */
} toft_lease_options;
/* clang-format off */
#define TOFT_LEASE_OPTIONS { sizeof(toft_lease_options), NULL, 128, 262144, 16777216 }
/* clang-format on */

/* Creates a cache; `options` == NULL: the defaults. NULL if there is no memory or the options are invalid: a buffer, a
 * region's source. */
TOFT_API TOFT_NODISCARD toft_leases *toft_leases_create(const toft_lease_options *options);
/* Releases a cache, which no other thread may be using. Returns TOFT_EBUSY, and changes nothing, if an arena is leased,
 * or if the source or a cleanup calls it during a get or return. TOFT_EARG for the process's own cache (NULL). */
TOFT_API int toft_leases_release(toft_leases *leases);

/* Returns an empty arena. `arena` is NULL if none is idle and there is no memory for another. Settings of the arena
 * (budget, checks) end with the lease. */
TOFT_API TOFT_NODISCARD toft_lease toft_lease_get(toft_leases *leases);
/* Returns a lease to its cache; its cleanups run on the calling thread. TOFT_ECORRUPT: done, and a checked arena found
 * bytes written outside an allocation. Other failures change nothing: TOFT_EBUSY if the lease was returned already, a
 * range is claimed, or one of its cleanups runs; TOFT_EARG if it is not a lease of this cache. For a lease of another
 * cache either code is possible, since this cache may have issued the same generation. */
TOFT_API int toft_lease_return(toft_leases *leases, toft_lease lease);

/* Releases all idle arenas, also those reserved for other threads, which it delays by less than a microsecond. Heap
 * blocks go to the calling thread's cache; toft_cache_trim empties that. */
TOFT_API void toft_leases_trim(toft_leases *leases);

/* Counts of arenas, and bytes. During concurrent calls the numbers may be of different moments. */
typedef struct toft_lease_stats {
  size_t created, released; /* arenas, since the cache was created */
  size_t idle, leased;      /* arenas now; one in the middle of a get or return counts as leased */
  size_t kept;              /* bytes: of idle arenas, and of leased ones when they were last returned */
} toft_lease_stats;
TOFT_API toft_lease_stats toft_leases_get_stats(toft_leases *leases);

#ifdef __cplusplus
}
#endif
#endif
