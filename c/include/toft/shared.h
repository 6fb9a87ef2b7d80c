/* Shared arenas: one arena that many threads allocate from at once and that is emptied as a whole: the results of
 * workers, a table that all of them add to.
 *
 *     toft_shared *s = toft_shared_create(NULL);
 *     ... on any thread: char *name = (char *)toft_shared_alloc(s, n, 1);
 *     ... on each thread that allocates much:
 *         toft_arena *here = toft_shared_local(s);      an arena of its own, in memory of s
 *         struct node *x = toft_new(here, struct node);
 *     ... all threads have done their part ...
 *     toft_shared_reset(s, TOFT_KEEP_RECENT, 0);        frees all of it, the local arenas included
 *
 * toft_shared_alloc is one compare-and-exchange on the block's cursor. When the block is full, one thread takes the
 * next under a lock, and the others wait for it.
 *
 * A LOCAL ARENA (toft_shared_local) is an ordinary arena, used by one thread at a time: it has no atomics until its
 * block is full, and its own marks, cleanups, tags, budget and checks. Its allocations live until the shared arena is
 * reset, even if the thread ends. Create one for each thread, not one for each task: it begins with 4 KiB, and its
 * blocks double. toft_release on it does nothing, and toft_adopt fails (TOFT_EBUSY).
 *
 * THREADS. EXCLUSIVE calls require that no other thread uses the arena at the same time: it is joined, or parked at a
 * barrier. All others may be called by all threads at once. Data written by one thread may be read by another after a
 * synchronization: a join, a lock, a queue. After fork the child must not use a shared arena that other threads of the
 * parent were using, since its lock may be held.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_SHARED_ARENA_H
#define TOFT_SHARED_ARENA_H

#include "toft/abi.h"
#include "toft/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

struct toft_source; /* toft.h */

typedef struct toft_shared toft_shared;

/* Creates an empty shared arena with blocks from `source`; NULL: toft_heap(). The source is called by one thread at a
 * time; a toft_limited_source sets a limit. Returns NULL if there is no memory. On a region's source it lies in the
 * region, and is restored with it. */
TOFT_API TOFT_NODISCARD toft_shared *toft_shared_create(struct toft_source *source);
/* EXCLUSIVE. Releases the local arenas, runs their cleanups, and returns all memory. Returns TOFT_EBUSY, and changes
 * nothing, if a local arena is claimed or one of its cleanups runs. NULL is ignored. */
TOFT_API int toft_shared_release(toft_shared *s);

/* Returns `size` bytes, aligned to `align`, a power of two, and to 8. A size of 0 gives a pointer that must not be
 * dereferenced. NULL if there is no memory, or if the size or alignment is invalid. */
TOFT_API TOFT_NODISCARD TOFT_SIZED(2) void *toft_shared_alloc(toft_shared *s, size_t size, size_t align);
/* Resizes in place if the allocation shrinks, or if p is the newest allocation of all threads and the block has enough
 * bytes remaining; else copies. Returns NULL, and changes nothing, on failure. p == NULL allocates. p must come from
 * toft_shared_alloc, and no other thread may use it. */
TOFT_API TOFT_NODISCARD TOFT_SIZED(4) void *toft_shared_resize(toft_shared *s, void *p, size_t old_size,
                                                               size_t new_size, size_t align);
/* Frees p if it is the newest allocation of all threads; otherwise does nothing. `size` is the size that was
 * requested. */
TOFT_API void toft_shared_free(toft_shared *s, void *p, size_t size);

/* Creates a local arena, for the calling thread or another one. NULL if there is no memory. */
TOFT_API TOFT_NODISCARD toft_arena *toft_shared_local(toft_shared *s);

/* EXCLUSIVE. Releases the local arenas, runs their cleanups, which must not call this, and frees every allocation.
 * Keeps blocks by `policy`, as toft_reset_keep does; with TOFT_KEEP_RECENT as much as recent rounds needed, in one
 * block if that is at most 64 MiB. TOFT_EBUSY and TOFT_EARG: nothing changed. TOFT_ECORRUPT: done, and a checked local
 * arena found bytes written outside an allocation. */
TOFT_API int toft_shared_reset(toft_shared *s, uint32_t policy, size_t keep);
/* Returns kept blocks to the source, until about `keep` bytes of them are left. */
TOFT_API void toft_shared_trim(toft_shared *s, size_t keep);

/* Returns statistics as toft_get_stats does. A local arena's block counts as allocated in whole, and there is no
 * budget. `allocated` and `peak` are updated at resets and by this call, and miss what was freed in between. During
 * concurrent allocations the numbers may be of different moments. */
TOFT_API toft_stats toft_shared_get_stats(toft_shared *s);
/* Returns non-zero if p points into memory that was handed out by toft_shared_alloc or to a local arena. Walks the
 * blocks. */
TOFT_API int toft_shared_contains(toft_shared *s, const void *p);

#ifdef __cplusplus
}
#endif
#endif
