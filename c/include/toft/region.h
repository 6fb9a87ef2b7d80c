/* Regions: one range of addresses with arenas, recyclers and their whole state in it, whose content can be saved and
 * brought back.
 *
 *     toft_region *r = toft_region_create(NULL);
 *     toft_malloc *m = toft_region_malloc(r);
 *     lua_State *L = lua_newstate(alloc_on, m);  and its libraries and data
 *     toft_region_checkpoint(r);
 *     for (...) {
 *       serve(L);                                a request may change anything in the region
 *       toft_region_restore(r);                  the state is as at the checkpoint
 *     }
 *     toft_region_release(r);
 *
 * CONTENT. Everything that the calls of a region make lies in its range: the heads of arenas, recyclers,
 * allocations, and the blocks that are free. No cache of a thread and no list of the process refers to it. A restore
 * brings all of it back: contents, heads, marks, cleanups, statistics and the root pointer. What lies elsewhere is
 * not restored: memory of malloc, files, locks, static variables. Pointers from there into the region are valid if
 * they were valid at the checkpoint.
 *
 * ADDRESSES stay: a region does not move. Its range is reserved when it is created; pages that were never written
 * take no memory.
 *
 * FREES. A block that an arena or recycler returns serves the region again: the lowest free address that suffices, so
 * that the same calls find the same addresses. Memory goes back to the system at toft_region_trim and
 * toft_region_release.
 *
 * THE SOURCE (toft_region_source) serves objects of other headers, directly or through limited sources that lie in the
 * region. What is made on it lies in the region and is restored whole, or its creation fails:
 *   arenas (toft_create_with)         as of toft_region_arena. NULL with a buffer, or if it is to be checked or
 *                                     hardened; toft_create_in: NULL
 *   shared arenas, with local ones    the head lies in the region
 *   synchronized recyclers            the head lies in the region
 *   pools, recyclers, toft_malloc,    TOFT_EARG, of toft_limited_source_init NULL, unless the structure lies in the
 *   limited sources                   region
 *   leases, frames, budgets           NULL: threads and the process refer to them
 * They end with the region, as all that it holds. toft_adopt is TOFT_EARG if one arena is in a region and the other not
 * in the same. A source of the program's own that calls the region's is not recognised: nothing on it may be used after
 * a restore. In a region of toft_freeze only arenas can be made on the source.
 *
 * COST. Creation and release of an arena or a block take constant time and time logarithmic in the region's size. A
 * checkpoint and a restore take a step for each arena, beside the copy. Of an arena's 4 KiB, 3.5 are for objects.
 *
 * CHECKS. Arenas and recyclers of a region are not checked, metered or hardened, also if the environment switches it
 * on: the records of these lie elsewhere. Calls that switch it on return TOFT_ENOSYS. A checked region reports at each
 * checkpoint the words in live allocations that are addresses of writable memory outside of it, which a restore does
 * not bring back: TOFT_FOUND_OUTSIDE of toft/findings.h, 16 of them, and then their number. Only its arenas, and
 * recyclers that it made, are read. A number that equals an address, and an old one in bytes that the program has not
 * written yet, are reported too. A region is checked by TOFT_REGION_CHECKED, or by TOFT_CHECKED=1 in the environment on
 * Linux. Under AddressSanitizer and Valgrind a restore closes the bytes that were inaccessible at the checkpoint.
 *
 * THREADS. A region, and all that was made in it, is used by one thread at a time; several may use one of its shared
 * arenas or synchronized recyclers at once, while nothing else of it is used. After fork parent and child have a copy
 * each, and both may restore theirs. If the caller's memory is shared (MAP_SHARED, of a file too), they have one
 * region, which they use in turns: both may restore the checkpoints from before the fork, a later one belongs to the
 * process that made it, and one of them releases the region. A process that was not forked from the creator cannot use
 * it.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_REGION_H
#define TOFT_REGION_H

#include "toft/abi.h"
#include "toft/compiler.h"
#include "toft/malloc.h"
#include "toft/recycler.h"

#ifdef __cplusplus
extern "C" {
#endif

struct toft_source; /* toft.h */
typedef struct toft_region toft_region;

/* options.flags. PRIVATE_PAGES: a restore drops the pages that were written since the checkpoint, so that it takes
 * time for these only, and forked processes share the others; Linux only. Otherwise a restore copies all bytes that
 * were in use at the checkpoint, which is faster for regions of a few MiB of which much is written. CHECKED: see above,
 * CHECKS; Linux only. */
enum { TOFT_REGION_PRIVATE_PAGES = 1, TOFT_REGION_CHECKED = 2 };

typedef struct toft_region_options {
  size_t size;    /* sizeof(toft_region_options): TOFT_REGION_OPTIONS sets it */
  size_t max;     /* bytes of the range, a multiple of 4096, at least 64 KiB; 0: 1 GiB, with 32-bit pointers 64 MiB; it
                   * is halved until the system grants it, down to 16 MiB */
  void *memory;   /* the caller's range of `max` bytes, aligned to 4096, which outlives the region; NULL: reserved */
  uint32_t flags; /* TOFT_REGION_... */
} toft_region_options;
#define TOFT_REGION_OPTIONS \
  { sizeof(toft_region_options), 0, NULL, 0 }

/* Bytes, but for the count. */
typedef struct toft_region_stats {
  uint64_t limit;       /* of the range */
  uint64_t used;        /* in blocks that are in use, the region's own header, and its map once more than 16 MiB were */
  uint64_t high_water;  /* from the start of the range to the end of the last block, at most so far */
  uint64_t saved;       /* held outside of the range by checkpoints */
  uint64_t checkpoints; /* their number */
} toft_region_stats;

/* Validates options: TOFT_EARG if a size or flag does not exist here, a size or address is not a multiple of 4096, or
 * PRIVATE_PAGES and the caller's memory come together. */
TOFT_API int toft_region_check(const toft_region_options *options);
/* Returns a region without content; options == NULL: the defaults. NULL if there is no memory or address space, or
 * the options are invalid. */
TOFT_API TOFT_NODISCARD toft_region *toft_region_create(const toft_region_options *options);
/* Runs the cleanups of all its arenas and returns the range to the system. NULL is ignored. */
TOFT_API void toft_region_release(toft_region *r);

/* Returns a new arena in the region, or NULL if the region is full. Its cleanups run at toft_release, or when the
 * region is released. */
TOFT_API TOFT_NODISCARD toft_arena *toft_region_arena(toft_region *r);
/* Return a new recycler or toft_malloc in the region, or NULL if it is full. They end with the region: their own
 * release frees their objects. */
TOFT_API TOFT_NODISCARD toft_recycler *toft_region_recycler(toft_region *r);
TOFT_API TOFT_NODISCARD toft_malloc *toft_region_malloc(toft_region *r);
/* Returns the source of the region's blocks: see above, THE SOURCE. Its take returns NULL when the range is full. */
TOFT_API struct toft_source *toft_region_source(toft_region *r);

/* Set and return a pointer to the content, NULL at first; it is a part of the content. */
TOFT_API void toft_region_set_root(toft_region *r, void *root);
TOFT_API void *toft_region_root(const toft_region *r);

/* Saves the content. Several checkpoints form a stack. TOFT_ENOMEM: no memory for the copy, or with PRIVATE_PAGES the
 * system refuses a file in memory of that size (RLIMIT_FSIZE); TOFT_EBUSY: a range of an arena is claimed, or a cleanup
 * is running. Then nothing has changed. */
TOFT_API int toft_region_checkpoint(toft_region *r);
/* Brings the content of the newest checkpoint back, which stays for the next restore. Cleanups that were registered
 * since run first, newest first in each arena, as for a rewind. Allocations and objects since are freed, those freed
 * since are live again. A cleanup that was registered before the checkpoint and has run since is registered again.
 * TOFT_EMARK: there is no checkpoint; TOFT_EBUSY: as above. */
TOFT_API int toft_region_restore(toft_region *r);
/* Drops the newest checkpoint and leaves the content as it is. TOFT_EMARK: there is none; TOFT_ENOMEM: the pages of
 * a region with PRIVATE_PAGES could not be mapped again. */
TOFT_API int toft_region_drop_checkpoint(toft_region *r);

/* Returns to the system the pages behind the last block, unless they are locked (mlock). */
TOFT_API void toft_region_trim(toft_region *r);
TOFT_API toft_region_stats toft_region_get_stats(const toft_region *r);

#ifdef __cplusplus
}
#endif
#endif
