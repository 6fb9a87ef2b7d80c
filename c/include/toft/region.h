/* Regions: one range of addresses with arenas, recyclers and their whole state in it, whose content can be saved and
 * brought back.
 *
 *     toft_region *r = toft_region_create(NULL);
 *     toft_malloc *m = toft_region_malloc(r);
 *     lua_State *L = lua_newstate(alloc_on, m);  and its libraries and data
 *     toft_region_checkpoint(r, NULL);
 *     for (...) {
 *       serve(L);                                a request may change anything in the region
 *       toft_region_restore(r, 0);               the state is as at the checkpoint
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
 *   arenas (toft_create_with)         as of toft_region_arena. NULL with a buffer, or if it is to be checked;
 *                                     toft_create_in: NULL
 *   shared arenas, with local ones    the head lies in the region
 *   synchronized recyclers            the head lies in the region
 *   pools, recyclers, toft_malloc,    TOFT_EARG, of toft_limited_source_init NULL, unless the structure lies in the
 *   limited sources                   region
 *   leases, frames, budgets           NULL: threads and the process refer to them
 * They end with the region, as all that it holds. toft_adopt is TOFT_EARG if one arena is in a region and the other not
 * in the same. A source of the program's own that calls the region's is not recognised: nothing on it may be used after
 * a restore. In a region of toft_freeze only arenas can be made on the source.
 *
 * CHECKPOINTS form a tree: one is a child of that which was made or restored last, and any can be restored or dropped.
 * The first holds the content, each other one the pages of 4 KiB that differ from its parent's. A restore copies the
 * pages back that were written since, and those that differ between the two checkpoints.
 *
 * COST. Creation and release of an arena or a block take constant time and time logarithmic in the region's size. A
 * checkpoint and a restore take a step for each arena, and time for the pages that were written where the system keeps
 * a record of them: on Linux from 6.7 on, in memory that the region has reserved itself, if userfaultfd is permitted.
 * The first write to a page after a checkpoint then takes about a microsecond, and the process has two file descriptors
 * for all regions, which a child of fork closes. Elsewhere, in a process with a filter of system calls, and with
 * TOFT_REGION_COMPARES, pages are compared. A process that later installs a filter which ends it at an ioctl needs
 * COMPARES, and memory that a device writes, or io_uring into registered buffers. The system looks at each page in use
 * to find the written ones (60 MiB: 0.1 ms). A drop takes time for the pages of the checkpoint, or for those of its
 * child. Of an arena's 4 KiB, 3.5 are for objects.
 *
 * CHECKS. Arenas and recyclers of a region are not checked or metered, also if the environment switches it
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
 * it, but may read what is published.
 *
 * PUBLISHED CONTENT. While one thread uses a region, others may load the root and read what it leads to: threads, and
 * processes that map the caller's memory at the same address, read-only and without the library. To set the root is an
 * atomic store that releases, and to return it an atomic load that acquires, so that a reader sees the old content or
 * the new one, and all that was written before the root was set. The condition: content that a root has led to is not
 * written, freed or restored while it may have readers. New content is added to it, and then the root is set.
 * docs/published.md has a writer and readers.
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

/* options.flags. COMPARES: checkpoints and restores compare all pages in use. CHECKED: see above, CHECKS; Linux only.
 * REPEATABLE: the same calls give the same offsets and bytes, in any process and whatever was restored in between: a
 * block that is taken again is zero, and the range is aligned to 2 MiB. See toft_region_digest. */
enum { TOFT_REGION_COMPARES = 1, TOFT_REGION_CHECKED = 2, TOFT_REGION_REPEATABLE = 4 };

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
  uint64_t saved;       /* in copies of pages that checkpoints hold */
  uint64_t checkpoints; /* their number */
} toft_region_stats;

/* Validates options: TOFT_EARG if a size or flag does not exist here, or a size or address is not a multiple of
 * 4096. */
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

/* Set and return a pointer to the content, NULL at first; it is a part of the content. Any thread may call
 * toft_region_root. The pointer lies TOFT_REGION_ROOT_OFFSET bytes behind the start of the range, which is the address
 * of the region: see above, PUBLISHED CONTENT. */
#define TOFT_REGION_ROOT_OFFSET 64
TOFT_API void toft_region_set_root(toft_region *r, void *root);
TOFT_API void *toft_region_root(const toft_region *r);

/* A checkpoint, as a number that no other of the process has; later ones of a region have larger numbers. 0: none. */
typedef uint64_t toft_checkpoint;

#define TOFT_CHECKPOINT_NAME 64 /* bytes of a name, with the zero at its end */

typedef struct toft_checkpoint_info {
  toft_checkpoint checkpoint, parent; /* parent: of those that were not dropped; 0: it is the first */
  const char *name;                   /* until the next call for it; "": it has none */
  uint64_t size;                      /* bytes from the start of the range to the end of the last block */
  uint64_t saved;                     /* bytes of the pages that it holds, those of zeros too */
} toft_checkpoint_info;

/* Saves the content as a child of the current checkpoint, and becomes that. Stores its number, unless `made` is NULL.
 * TOFT_ENOMEM: no memory for the copies; TOFT_EBUSY: a range of an arena is claimed, or a cleanup is running. Then
 * nothing has changed. */
TOFT_API int toft_region_checkpoint(toft_region *r, toft_checkpoint *made);
/* Brings the content of a checkpoint back, which becomes the current one; 0: that of the current one. Cleanups that
 * were registered since the newest checkpoint from which both contents have come run first, newest first in each arena,
 * as for a rewind. Allocations and objects of the present content are freed, those of the checkpoint are live again,
 * and so are its cleanups: one that has run since is registered again. TOFT_EMARK: there is no such checkpoint;
 * TOFT_EBUSY: as above. Needs no memory. */
TOFT_API int toft_region_restore(toft_region *r, toft_checkpoint to);
/* Drops a checkpoint, 0: the current one, and leaves the content as it is. Its pages go to its child; while it has more
 * than one, or is the current one and has a child, they stay. TOFT_EMARK, TOFT_EBUSY: as above. Needs no memory:
 * without it a page that the child has too may stay until one of the two is dropped. */
TOFT_API int toft_region_drop_checkpoint(toft_region *r, toft_checkpoint dropped);
/* Returns the current checkpoint, from which the content has come, or the nearest one before that was not dropped. */
TOFT_API toft_checkpoint toft_region_current(const toft_region *r);
/* Describes the first checkpoint with a number above `after`, 0: the first of all. TOFT_EMARK: there is none. */
TOFT_API int toft_region_next_checkpoint(const toft_region *r, toft_checkpoint after, toft_checkpoint_info *info);
/* Names a checkpoint, 0: the current one; copies the name. TOFT_EMARK: there is no such one; TOFT_EARG: NULL, or a name
 * of TOFT_CHECKPOINT_NAME bytes or more. */
TOFT_API int toft_region_name_checkpoint(toft_region *r, toft_checkpoint named, const char *name);

/* ---- digests ---- Of live content: the used parts of the blocks of arenas, the objects of the recyclers that the
 * region has made, each as large as its size class, and the root; not of what the program takes from
 * toft_region_source. An address in the region enters as its offset, one outside of it as it is, and bytes that the
 * program has not written with the values that they have. Two regions with TOFT_REGION_REPEATABLE have the same digest
 * after the same calls and writes, in any process and at any address, also if one of them has restored checkpoints on
 * its way; in the caller's memory if that is aligned to 2 MiB in both. Words have the size and byte order of the
 * system.
 * Not so with cleanups, whose records have the address of their function, with alignments above 2 MiB, and where a
 * number looks like an address in one of the regions: with pointers of 4 bytes random numbers do. */

/* A part of at most 4 KiB of an object: a recycler's, or the used part of an arena's block. Offsets are from the start
 * of the region. */
typedef struct toft_digest_part {
  uint64_t offset, length; /* of the part */
  uint64_t object, size;   /* of the object */
  uint64_t digest;
} toft_digest_part;
typedef void toft_digest_part_fn(void *arg, const toft_digest_part *part);

/* Stores the digest of a checkpoint, or of the present content (0). Contents that differ in one word have different
 * ones; others have the same one with a probability of 2^-64. TOFT_EMARK: there is no such checkpoint; TOFT_EBUSY: a
 * range of an arena is claimed, or a cleanup is running; TOFT_ENOMEM: a checkpoint's content is brought into the range
 * while it is read, and there is no memory for the present one's changed pages. Cleanups do not run. */
TOFT_API int toft_region_digest(toft_region *r, toft_checkpoint of, uint64_t *digest);
/* Calls fn for each part, in the order of offsets, for a comparison with a process elsewhere. Fails as above, and then
 * calls it for none; TOFT_ENOMEM also if there is no memory for the list. fn must not call the region. */
TOFT_API int toft_region_digest_parts(toft_region *r, toft_checkpoint of, toft_digest_part_fn *fn, void *arg);

/* Where two contents first differ. A pointer into the region is its offset plus 2^63. */
typedef struct toft_region_difference {
  uint64_t offset;     /* of the first word that differs */
  uint64_t words[2];   /* there */
  uint64_t objects[2]; /* offsets of the objects that contain it */
  uint64_t sizes[2];   /* of these; 0: no object is there in that content */
} toft_region_difference;
/* Compares two contents, of one region or of two; 0: the present one. Returns 1 and stores the first difference, or 0
 * if there is none, or fails as above. Roots are not compared. */
TOFT_API int toft_region_diff(toft_region *a, toft_checkpoint in_a, toft_region *b, toft_checkpoint in_b,
                              toft_region_difference *d);

/* Returns to the system the pages behind the last block, unless they are locked (mlock). */
TOFT_API void toft_region_trim(toft_region *r);
TOFT_API toft_region_stats toft_region_get_stats(const toft_region *r);

#ifdef __cplusplus
}
#endif
#endif
