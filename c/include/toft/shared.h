/* Shared arenas: one arena that many threads fill at once, and that is emptied as a whole: what workers find for one
 * result, a table that all of them add to.
 *
 *     toft_shared *s = toft_shared_create(NULL);
 *     ... on any thread: char *name = (char *)toft_shared_alloc(s, n, 1);
 *     ... on each thread that allocates much:
 *         toft_arena *here = toft_shared_local(s);      an arena of its own, in memory of s
 *         struct node *x = toft_new(here, struct node);
 *     ... all threads have done their part ...
 *     toft_shared_reset(s, TOFT_KEEP_RECENT, 0);        all of it is gone, and the parts too
 *
 * An allocation by toft_shared_alloc is one compare-and-exchange on the block's cursor. When the block is full, one
 * thread takes the next, behind a lock, and the others wait for that.
 *
 * A PART (toft_shared_local) is an arena like any other, for one thread at a time, and costs what an arena costs: no
 * atomics until its block is full. It has its own marks, cleanups, tags, budget and checks, and any language may fill
 * it. What it allocates lives until the shared arena is reset, whatever becomes of the thread. Take one for each
 * thread, not one for each task: it begins with 4 KiB, and its blocks double. toft_release does nothing to it, and
 * toft_adopt refuses it (TOFT_EBUSY).
 *
 * THREADS. Calls that say ALONE need every other thread to be done with the arena, and to know it: joined, or parked at
 * a barrier. All others may be called by all threads at once. What one thread wrote another may read when it learned
 * of it by something that synchronizes: a join, a lock, a queue. In a fork's child, one that other threads of the
 * parent were using must not be used: they may have left its lock taken.
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

/* An empty one; its blocks come from `source`, NULL: toft_heap(). The source is called by one thread at a time; a
 * toft_limited_source is a limit. NULL if there is no memory. */
TOFT_API TOFT_NODISCARD toft_shared *toft_shared_create(struct toft_source *source);
/* ALONE. Ends the parts, running their cleanups, and returns all memory. TOFT_EBUSY: a part is claimed, or one of its
 * cleanups runs: nothing has changed. NULL is ignored. */
TOFT_API int toft_shared_release(toft_shared *s);

/* size bytes, aligned to `align`, a power of two, and to 8. A size of 0 gives a pointer that must not be read. NULL if
 * there is no memory, or a size or alignment that no arena can serve. */
TOFT_API TOFT_NODISCARD TOFT_SIZED(2) void *toft_shared_alloc(toft_shared *s, size_t size, size_t align);
/* In place if it shrinks, or if p is the newest allocation of all threads and there is room; else a copy. NULL: nothing
 * changed. p == NULL allocates. For p of this thread's alone, from toft_shared_alloc. */
TOFT_API TOFT_NODISCARD TOFT_SIZED(4) void *toft_shared_resize(toft_shared *s, void *p, size_t old_size,
                                                               size_t new_size, size_t align);
/* Gives p back if it is the newest allocation of all threads; else does nothing. `size` as asked for. */
TOFT_API void toft_shared_free(toft_shared *s, void *p, size_t size);

/* A part, for this thread or whichever it is handed to. NULL if there is no memory. */
TOFT_API TOFT_NODISCARD toft_arena *toft_shared_local(toft_shared *s);

/* ALONE. Ends the parts, running their cleanups, which may not call this, and gives back every allocation. Keeps what
 * `policy` says, as toft_reset_keep does; by TOFT_KEEP_RECENT what recent rounds needed, in one block if that is not
 * more than 64 MiB. TOFT_EBUSY, TOFT_EARG: nothing has changed. TOFT_ECORRUPT: done, and a checked part found bytes
 * written outside an allocation. */
TOFT_API int toft_shared_reset(toft_shared *s, uint32_t policy, size_t keep);
/* Returns blocks that wait since the last reset to the source, until about `keep` bytes of them are left. */
TOFT_API void toft_shared_trim(toft_shared *s, size_t keep);

/* As toft_get_stats; a block that a part has counts as allocated in whole. budget is none. `allocated` and `peak` know
 * of what was live at resets and is now: what is given back in between leaves both. While others allocate, each number
 * is of some moment of the call. */
TOFT_API toft_stats toft_shared_get_stats(toft_shared *s);
/* Does p lie in memory that was handed out, to a part or by toft_shared_alloc? Walks the blocks. */
TOFT_API int toft_shared_contains(toft_shared *s, const void *p);

#ifdef __cplusplus
}
#endif
#endif
