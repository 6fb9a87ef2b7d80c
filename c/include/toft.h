/* Toft: an arena allocator. An allocation moves a pointer; a release, a reset or a rewind frees many of them in one
 * call.
 *
 *     toft_arena *a = toft_create();
 *     struct node *n = toft_new(a, struct node);
 *     char *name = toft_strdup(a, "toft");
 *     ...
 *     toft_release(a);                       frees all of the above
 *
 * This header is the reference of the API and includes the headers of its parts. toft/inline.h has the fast paths, src/
 * the slow paths. The conventions below hold for every header.
 *
 * NAMES. X_create allocates an object and X_release frees it. X_init initialises a structure in the caller's memory,
 * and X_release frees the memory that it owns. X_reset frees every allocation of an object and keeps memory for reuse,
 * X_trim returns unused memory to the source, X_get_stats returns statistics. Callback types end in _fn. A structure of
 * options is initialised with its macro X_OPTIONS.
 *
 * UNITS. Sizes are in bytes unless a parameter says otherwise. Allocations in an arena are aligned to 8 at least,
 * except those documented as unaligned.
 *
 * ERRORS. A call that fails returns NULL or a negative code (toft_error_name names it) and leaves the arena unchanged;
 * only TOFT_ECORRUPT is returned by calls that have done their work. options.failure is called first, if it is set. The
 * library does not print, exit or abort unless the environment asks for it (toft/findings.h).
 *
 * THREADS. An arena is used by one thread at a time and may move between threads; calls on different arenas never
 * interfere. Exceptions are stated at the call. An EXCLUSIVE call requires that no other thread uses the object at the
 * same time: the others have been joined, or wait at a barrier.
 *
 * OWNERSHIP. Memory of an arena is valid until the arena is reset, released, or rewound to a mark taken before the
 * allocation. toft_free frees the newest allocation only, and otherwise does nothing.
 *
 * BAD INPUT. Every arena detects a size that overflows (NULL), an alignment above 8 that is not a power of two (NULL),
 * a mark that is from before a reset or from another arena, even a released one at the same address (TOFT_EMARK), and
 * calls while a range is claimed or a cleanup runs (TOFT_EBUSY). Only a checked arena (options.flags, toft_set_checked,
 * TOFT_CHECKED=1 in the environment; see toft/findings.h) detects a mark that was already rewound past, writes outside
 * an allocation or after it was freed, frees of an address that is not an allocation or with a wrong size, calls on a
 * released arena, a release while a range is claimed or a cleanup runs, and use by two threads at once. Not detected: a
 * NULL arena; the alignments 3, 5, 6 and 7, which are treated as 8.
 *
 * EMBEDDING. `#define TOFT_PREFIX mylib_` before every include, and when toft.c is compiled, renames every external
 * symbol. With `#define TOFT_STATIC`, including toft.c in one translation unit makes all of it static.
 * TOFT_OMIT_CHECKS, _METERS, _POOLS, _RECYCLER, _SYMBOLS and _THREADS omit these parts from the build, and TOFT_NO_OS
 * builds the library for targets without an operating system; see c/README.md. Settings of an omitted part return
 * TOFT_ENOSYS.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_H
#define TOFT_H

#include <stdarg.h>

#include "toft/abi.h"
#include "toft/abi_info.h"
#include "toft/budget.h"
#include "toft/compiler.h"
#include "toft/findings.h"
#include "toft/frame.h"
#include "toft/freeze.h"
#include "toft/inline.h"
#include "toft/instrument.h"
#include "toft/lazy.h"
#include "toft/lease.h"
#include "toft/meter.h"
#include "toft/pool.h"
#include "toft/malloc.h"
#include "toft/recycler.h"
#include "toft/region.h"
#include "toft/shared.h"
#include "toft/symbol.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TOFT_VERSION "0.1.0"

/* Returns the version of the linked library, in the form of TOFT_VERSION. */
TOFT_API const char *toft_version(void);

/* Returns the name of an error code, such as "TOFT_ENOMEM", or "unknown". The string is static. */
TOFT_API const char *toft_error_name(int code);

/* ------------------------------------------------------------------------------------------------------------
 * Sources: where blocks come from. A source must outlive every arena that uses it.
 * ------------------------------------------------------------------------------------------------------------ */

typedef struct toft_source toft_source;
struct toft_source {
  /* Returns a block of at least `size` bytes, aligned to 64, or NULL. `size` is a multiple of 4096. */
  void *(*take)(toft_source *self, size_t size);
  /* Frees a block that take returned; `size` is the same as there. */
  void (*put)(toft_source *self, void *block, size_t size);
  /* Optional (may be NULL). Grows or shrinks a block in place from `size` to `want` bytes, both multiples of 4096, and
   * returns non-zero on success. Arenas prefer this to taking another block. */
  int (*extend)(toft_source *self, void *block, size_t size, size_t want);
};

/* The default source: malloc for blocks below 1 MiB, and pages of the operating system, huge ones if possible, for
 * larger blocks. Freed blocks go to the calling thread's cache first (see toft_cache_limit). Thread-safe. */
TOFT_API toft_source *toft_heap(void);

/* Pages of the operating system. TOFT_PAGES_HUGE requests huge pages for blocks of 2 MiB and more. With
 * TOFT_PAGES_LAZY, put keeps up to 64 MiB of address space and lets the system reclaim its memory, so that the next
 * take is cheap; toft_page_source_trim unmaps it, and must be called before the structure ends. Thread-safe without
 * LAZY; one thread at a time with it. */
enum { TOFT_PAGES_HUGE = 1, TOFT_PAGES_LAZY = 2 };
typedef struct toft_page_source {
  toft_source source;
  uint32_t flags;
  void *kept;
  size_t kept_bytes;
} toft_page_source;
TOFT_API toft_source *toft_page_source_init(toft_page_source *pages TOFT_LIFETIMEBOUND, uint32_t flags);
TOFT_API void toft_page_source_trim(toft_page_source *pages);

/* One contiguous range of `max` bytes of address space, which never moves. Memory is committed as the arena grows, so
 * its newest allocation can grow in place up to `max`. Serves one arena at a time. Returns NULL if the address space
 * cannot be reserved. toft_reserve_source_release unmaps it, after the arena was released. */
typedef struct toft_reserve_source {
  toft_source source;
  unsigned char *base;
  size_t max, committed;
  int taken;
} toft_reserve_source;
TOFT_API toft_source *toft_reserve_source_init(toft_reserve_source *reserve TOFT_LIFETIMEBOUND, size_t max);
TOFT_API void toft_reserve_source_release(toft_reserve_source *reserve);

/* A limit, in bytes, on the blocks that all arenas together hold from another source. It counts blocks; toft_set_budget
 * limits allocations. Thread-safe if the inner source is. */
typedef struct toft_limited_source {
  toft_source source;
  toft_source *inner;
  size_t limit, used; /* used is updated atomically */
} toft_limited_source;
/* `inner` == NULL is toft_heap(). NULL if it is the source of a region that `limited` does not lie in. */
TOFT_API toft_source *toft_limited_source_init(toft_limited_source *limited TOFT_LIFETIMEBOUND, toft_source *inner,
                                               size_t limit);

/* ------------------------------------------------------------------------------------------------------------
 * Arenas
 * ------------------------------------------------------------------------------------------------------------ */

/* Called when a call on the arena is about to fail, with the reason: TOFT_ENOMEM, TOFT_EARG or TOFT_EBUSY; also with
 * size 0 and TOFT_EBUSY when toft_release has no effect. The arena is unchanged, so the callback may longjmp or throw.
 * A checked arena also calls it with TOFT_ECORRUPT and the size of an allocation outside which, or after the end of
 * which, bytes were written; that call continues, so the callback must return. It must not call into the arena. */
typedef void toft_failure_fn(void *arg, toft_arena *a, size_t size, size_t align, int code);

/* options.flags. CHECKED: start as a checked arena. */
enum { TOFT_CHECKED = 1 };

typedef struct toft_options {
  size_t size;         /* sizeof(toft_options): TOFT_OPTIONS sets it */
  toft_source *source; /* NULL: toft_heap(), or nothing if there is a buffer */
  void *buffer;        /* the arena's state and first allocations are placed here; NULL: in a block of the source */
  size_t buffer_size;  /* at least TOFT_BUFFER(0) */
  uint64_t budget;     /* limit on live bytes; 0: none */
  size_t reserve;      /* expected bytes: the first block after the initial block has this size */
  toft_failure_fn *failure; /* may be NULL */
  void *failure_arg;
  uint32_t flags; /* TOFT_CHECKED */
} toft_options;
/* clang-format off */
#define TOFT_OPTIONS { sizeof(toft_options), NULL, NULL, 0, 0, 0, NULL, NULL, 0 }
/* clang-format on */

/* The size of a buffer, at any address, that can hold allocations of `bytes` bytes, each rounded up to 8. */
#define TOFT_BUFFER(bytes) (((size_t)(bytes) + 583) & ~(size_t)7)

/* Returns an arena with default options: blocks of toft_heap(), no budget. NULL if there is no memory. The thread's
 * cache is tried first, which is the fastest way. */
TOFT_API TOFT_NODISCARD toft_arena *toft_create(void);
/* Returns an arena with these options. NULL if there is no memory or the options are invalid; `options` == NULL is
 * toft_create. */
TOFT_API TOFT_NODISCARD toft_arena *toft_create_with(const toft_options *options);
/* Returns an arena in the caller's buffer of `size` bytes, which must outlive it, or NULL if the buffer is too small
 * (see TOFT_BUFFER). When the buffer is full, blocks come from `overflow`; if that is NULL, allocations fail. In a
 * checked process (toft/findings.h) the red zones need further memory: blocks for them come from toft_heap() if
 * `overflow` is NULL, allocations fail once their own bytes, without zones, exceed the buffer, the result is NULL if
 * there is no memory for the checks, and the arena must be released before its buffer is reused. */
TOFT_API TOFT_NODISCARD toft_arena *toft_create_in(void *buffer TOFT_LIFETIMEBOUND, size_t size,
                                                   toft_source *overflow TOFT_LIFETIMEBOUND);

/* Runs the cleanups and returns every block to the source. NULL is ignored. Inside a cleanup of the arena, and while a
 * range is claimed, it only reports TOFT_EBUSY to options.failure; a checked arena also reports a finding. */
TOFT_INLINE void toft_release(toft_arena *a);

/* Moves everything that `donor` holds into `a`, in constant time: donor's allocations now live as long as allocations
 * made in `a` at this point, and its cleanups run when they end. `donor` must not be used afterwards. Returns
 * TOFT_ENOMEM if a's budget does not allow it, TOFT_EBUSY if a range of either is claimed, TOFT_EARG if `donor` is `a`,
 * or if one of them lies in a region and the other not in the same.
 * An arena of another provider is kept until it is to be released; TOFT_ENOSYS if it has another ABI version. */
TOFT_API int toft_adopt(toft_arena *a, toft_arena *donor);

/* ------------------------------------------------------------------------------------------------------------
 * Allocation. Functions return NULL on failure. A size of 0 gives a pointer that must not be dereferenced.
 * ------------------------------------------------------------------------------------------------------------ */

/* Returns `size` uninitialised bytes, aligned to 8. */
TOFT_INLINE TOFT_NODISCARD void *toft_alloc(toft_arena *a, size_t size);
/* The same, aligned to `align`, a power of two of any size. */
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_aligned(toft_arena *a, size_t size, size_t align);
/* The same, with all bytes 0. */
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_zeroed(toft_arena *a, size_t size, size_t align);
/* Return `count` elements of `size` bytes each, uninitialised or zeroed. NULL if the product overflows. */
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_array(toft_arena *a, size_t count, size_t size, size_t align);
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_array_zeroed(toft_arena *a, size_t count, size_t size, size_t align);

/* Memory for one T or n of them, uninitialised or zeroed. */
#define toft_new(a, T) ((T *)toft_alloc_aligned((a), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_zeroed(a, T) ((T *)toft_alloc_zeroed((a), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_array(a, T, n) ((T *)toft_alloc_array((a), (n), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_array_zeroed(a, T, n) ((T *)toft_alloc_array_zeroed((a), (n), sizeof(T), TOFT_ALIGNOF(T)))

/* Resizes an allocation of `old_size` bytes: in place if it shrinks, or if it is the newest and the block has enough
 * bytes remaining; otherwise by a copy, and the old bytes stay allocated. On failure it returns NULL and changes
 * nothing. p == NULL allocates, with any old_size. */
TOFT_INLINE TOFT_NODISCARD void *toft_resize(toft_arena *a, void *p, size_t old_size, size_t new_size, size_t align);
/* Frees p if it is the newest allocation, otherwise does nothing. `size` is the size that was requested. NULL is
 * ignored. */
TOFT_INLINE void toft_free(toft_arena *a, void *p, size_t size);

/* Return a copy, or NULL if there is no memory. toft_memdup aligns it to 16. */
TOFT_INLINE TOFT_NODISCARD void *toft_memdup(toft_arena *a TOFT_LIFETIMEBOUND, const void *p, size_t size);
TOFT_INLINE TOFT_NODISCARD char *toft_strdup(toft_arena *a TOFT_LIFETIMEBOUND, const char *s);
/* Copies at most n bytes of s and appends a NUL. */
TOFT_INLINE TOFT_NODISCARD char *toft_strndup(toft_arena *a TOFT_LIFETIMEBOUND, const char *s, size_t n);
/* Formats as printf does, into the arena. NULL if there is no memory or the format fails. */
TOFT_API TOFT_NODISCARD TOFT_FORMAT(2, 3) char *toft_printf(toft_arena *a TOFT_LIFETIMEBOUND, const char *format, ...);
TOFT_API TOFT_NODISCARD TOFT_FORMAT(2, 0) char *toft_vprintf(toft_arena *a TOFT_LIFETIMEBOUND, const char *format,
                                                             va_list args);

/* Makes room: the next allocations whose sizes, rounded up to 8, and paddings add up to `bytes` at most take no block.
 * It allocates nothing, and leaves the rest of the current block unused if that is too small. TOUCH: also writes to
 * each page of the room, so that the system provides it now. TOFT_ENOMEM: the source refuses, or the budget;
 * TOFT_EBUSY: a range is claimed or a cleanup runs; TOFT_ENOSYS: an arena of another provider; TOFT_EARG: an unknown
 * flag. In a checked arena, whose allocations lie apart, it has no effect. */
enum { TOFT_RESERVE_TOUCH = 1 };
TOFT_API int toft_reserve(toft_arena *a, size_t bytes, uint32_t flags);

/* ------------------------------------------------------------------------------------------------------------
 * Marks and scopes
 * ------------------------------------------------------------------------------------------------------------ */

/* Returns a mark of the present state, two words that need no release. Not while a range is claimed: see toft_claim. */
TOFT_INLINE toft_mark toft_mark_here(const toft_arena *a);
/* Frees everything that was allocated since the mark, and runs the cleanups registered since, newest first. The mark
 * can be used again. Returns TOFT_EMARK if it is from another arena or from before a reset, or TOFT_EBUSY. Only checked
 * arenas detect a mark that was already rewound past. */
TOFT_INLINE int toft_rewind(toft_arena *a, toft_mark m);

/* A declaration. Everything allocated after it is freed at the end of the enclosing block, which may be left by its
 * last line, break, continue, return, goto, or a C++ exception:
 *     for (int i = 0; i < n; i++) {
 *       TOFT_SCOPE(a);
 *       if (!visit(toft_printf(a, "%d", i))) break;
 *     }
 * gcc and clang only; with other compilers use toft_mark_here and toft_rewind. No switch label or goto may jump past
 * the declaration into its block (clang rejects that, gcc does not). */
#ifdef TOFT_AT_EXIT
#define TOFT_SCOPE(a) TOFT_SCOPE_NAMED(a, TOFT_PASTE(toft_scope_, __COUNTER__))
#define TOFT_SCOPE_NAMED(a, name) toft_scope name TOFT_AT_EXIT(toft_scope_end) = toft_scope_begin(a)
#endif

/* ------------------------------------------------------------------------------------------------------------
 * Reset, trim, budgets
 * ------------------------------------------------------------------------------------------------------------ */

/* Frees every allocation and runs the cleanups, but keeps blocks for the next round: as many bytes as the largest of
 * the last 64 rounds needed, merged into one block (up to 64 MiB), so that a steady workload stops calling the
 * source. */
TOFT_INLINE int toft_reset(toft_arena *a);
/* The same, but keeps all memory (TOFT_KEEP_ALL), at most about `bytes` (TOFT_KEEP_BYTES), or as much as toft_reset
 * (TOFT_KEEP_RECENT; `bytes` is ignored). Returns TOFT_EBUSY or TOFT_EARG on failure. */
TOFT_INLINE int toft_reset_keep(toft_arena *a, uint32_t policy, size_t bytes);
/* Returns memory without allocations to the source until about `keep` bytes of it are left. Marks stay valid. The
 * source may keep it: the heap source does for up to two windows, unless toft_cache_trim is called. */
TOFT_INLINE void toft_trim(toft_arena *a, size_t keep);
/* Limits the live bytes, padding included; UINT64_MAX is no limit. The fast path costs nothing extra. With a budget
 * below the live bytes every allocation fails until enough has been freed. Returns TOFT_EBUSY on failure. */
TOFT_INLINE int toft_set_budget(toft_arena *a, uint64_t bytes);
/* Switches checks on or off for later allocations. Each gets red zones, which are checked when it is freed (rewind and
 * reset then do their work and return TOFT_ECORRUPT); freed memory is filled with 0xDD and checked before it is reused;
 * stale marks fail with TOFT_EMARK; resize and free with an address that is not an allocation, or with a wrong size,
 * fail with TOFT_EARG; concurrent calls by a second thread fail with NULL or TOFT_EBUSY (two allocations within
 * nanoseconds may both succeed and corrupt the arena). toft/findings.h says how findings are delivered. Checked arenas
 * are slow. Returns TOFT_EBUSY; TOFT_ENOMEM: nothing changed; TOFT_ECORRUPT: the checks are off, and the last check
 * found a write. */
TOFT_INLINE int toft_set_checked(toft_arena *a, int on);

/* ------------------------------------------------------------------------------------------------------------
 * Cleanups
 * ------------------------------------------------------------------------------------------------------------ */

/* Registers a function that runs once, when this point is rewound, reset or released; the newest runs first. It must
 * not throw or longjmp, and allocations fail while it runs. The node lives in the arena: set node->fn to NULL to cancel
 * it, or register it with fn NULL and set fn when the object is complete. NULL if there is no memory. */
TOFT_INLINE toft_cleanup *toft_cleanup_add(toft_arena *a, void (*fn)(void *), void *arg);

/* ------------------------------------------------------------------------------------------------------------
 * Claimed ranges, for loops that allocate several small objects in each iteration: cursor and limit live in local
 * variables. Until toft_unclaim the arena is sealed: other allocations come from other blocks, and rewind, reset,
 * release and a second claim fail. A mark or a scope that begins during a claim is at the start of its range: a rewind
 * to it after toft_unclaim also frees what was allocated from the range before it. Checked arenas report that.
 *
 *     toft_range r;
 *     toft_claim(a, &r);
 *     for (...) { struct node *n = (struct node *)toft_range_alloc(a, &r, sizeof *n); ... }
 *     toft_unclaim(a, &r);
 * ------------------------------------------------------------------------------------------------------------ */

/* Begins a claim. TOFT_EBUSY if the arena is claimed already. */
TOFT_INLINE int toft_claim(toft_arena *a, toft_range *r);
/* Allocates from the range, aligned to 8, and claims a further block when the range is full. NULL on failure: nothing
 * changed, and the claim continues. */
TOFT_INLINE TOFT_NODISCARD void *toft_range_alloc(toft_arena *a, toft_range *r, size_t size);
/* Allocates without alignment or rounding, for text. The result cannot be passed to toft_resize or toft_free. Call
 * toft_range_align before the next toft_range_alloc. */
TOFT_INLINE TOFT_NODISCARD void *toft_range_bytes(toft_arena *a, toft_range *r, size_t size);
TOFT_INLINE void toft_range_align(toft_range *r);
/* Ends the claim and returns the unused bytes. TOFT_EARG if r is not the range that claims a. */
TOFT_INLINE int toft_unclaim(toft_arena *a, toft_range *r);

/* ------------------------------------------------------------------------------------------------------------
 * Packed bytes: strings without the rounding to 8, which costs 13 to 61 % on real strings. A pack allocates chunks of
 * its arena and fills them byte by byte; other allocations may come in between. After a rewind past its begin, or a
 * reset, it must not be used. It needs no release.
 * ------------------------------------------------------------------------------------------------------------ */

typedef struct toft_pack {
  toft_arena *arena;
  unsigned char *cursor, *limit;
  size_t chunk; /* size of the next chunk */
} toft_pack;

TOFT_INLINE toft_pack toft_pack_begin(toft_arena *a);
/* Returns n uninitialised bytes, aligned to 1. */
TOFT_INLINE TOFT_NODISCARD void *toft_pack_alloc(toft_pack *k, size_t n);
/* Return a copy of n bytes; of at most n bytes of a string, and a NUL; of a string. */
TOFT_API TOFT_NODISCARD void *toft_pack_bytes(toft_pack *k, const void *p, size_t n);
TOFT_INLINE TOFT_NODISCARD char *toft_pack_strndup(toft_pack *k, const char *s, size_t n);
TOFT_INLINE TOFT_NODISCARD char *toft_pack_strdup(toft_pack *k, const char *s);

/* ------------------------------------------------------------------------------------------------------------
 * Statistics and blocks
 * ------------------------------------------------------------------------------------------------------------ */

/* Returns non-zero if p points into memory that this arena has handed out; may return 0 for bytes of a claimed range.
 * Walks the blocks. */
TOFT_INLINE int toft_contains(const toft_arena *a, const void *p);
/* Returns statistics. live is exact. allocated and peak are updated by slow calls, so they miss bytes that were
 * allocated and rewound within one block in between. reserved: all blocks, kept ones included. wasted: block headers
 * and unused ends of full blocks. blocks: the number in use. source_calls: calls of the source since the arena was
 * created. */
TOFT_INLINE toft_stats toft_get_stats(toft_arena *a);

typedef struct toft_block {
  const void *base;  /* start of the block, as the source returned it */
  size_t size;       /* size of the block */
  const void *start; /* the first byte for allocations */
  size_t used;       /* bytes allocated from `start` */
  int kind;          /* TOFT_BLOCK_... */
} toft_block;
enum { TOFT_BLOCK_REGULAR = 0, TOFT_BLOCK_DEDICATED = 1, TOFT_BLOCK_SPARE = 2 };
/* Calls fn for each block, newest first and kept ones last, with the blocks of adopted arenas in order, until fn
 * returns non-zero. Returns the last result of fn, or TOFT_ENOSYS for an arena of another provider. fn must return, and
 * cannot use the arena: allocations return NULL, other calls TOFT_EBUSY. */
TOFT_API int toft_blocks(toft_arena *a, int (*fn)(void *arg, const toft_block *block), void *arg);

/* ------------------------------------------------------------------------------------------------------------
 * Caches of the heap source.
 *
 * The thread's cache: toft_release puts arenas, and blocks below 1 MiB, into the cache of the calling thread, up to a
 * limit, for the next toft_create and the next block. The cache is emptied when the thread ends, when the library is
 * unloaded, and by toft_cache_trim. After fork the child keeps the cache of the forking thread; those of others leak.
 *
 * The process's cache of pages: blocks of 1 MiB and more of all threads. It keeps what is likely to be used again. It
 * shares one allowance with the idle memory of all recyclers: what is in use and what is kept together never exceed
 * the most that was held at once in the current or the previous window, which is half a second long by default, by
 * blocks in use and by the memory between their objects; and cached pages never exceed a limit. So within two windows
 * after a peak the surplus is due, and it goes back to the system when any thread next takes or returns pages, a
 * number of smaller blocks, or memory of a recycler. A process whose threads call nothing keeps its pages; the system
 * may take those of whole free huge pages (2 MiB) when it needs memory (MADV_FREE), toft_cache_trim returns all, and
 * so does the background thread within three windows. A child that is forked inherits the cache.
 * ------------------------------------------------------------------------------------------------------------ */

/* Sets the limit of each thread's cache, in bytes, and returns the old one. The default is 4 MiB; 0 switches the caches
 * of threads off. Applies to every thread from its next release on. Thread-safe. */
TOFT_API size_t toft_cache_limit(size_t bytes);
/* Returns the number of bytes in the calling thread's cache. */
TOFT_API size_t toft_cache_bytes(void);
/* For a quiet point of the program: empties the calling thread's cache and the cache of pages, and discards the idle
 * pages of all recyclers on the heap source, also of those that other threads own (on Linux and Windows). Blocks go
 * back to the C heap, which may keep their pages, and pages to the system. Thread-safe. */
TOFT_API void toft_cache_trim(void);

/* Sets the limit of the cache of pages, in bytes, and returns the old one. What exceeds a lower limit goes back to
 * the system at once. The default is TOFT_PAGE_CACHE in the environment, a number that K, M or G may follow, or
 * else 256 MiB, and 32 MiB where pointers have 32 bits; 0 switches the cache off. Thread-safe. */
TOFT_API size_t toft_page_cache_limit(size_t bytes);
/* Sets the length of a window in milliseconds, and returns the old one. The default is TOFT_PAGE_CACHE_MS in the
 * environment, or 500. With 0 pages go back to the system as soon as they are not in use. Thread-safe. */
TOFT_API size_t toft_page_cache_window(size_t milliseconds);
/* Returns to the system what is due, of the cache of pages and of recyclers, as each use of the cache does: for a
 * program that has a moment for it. Thread-safe. */
TOFT_API void toft_page_cache_age(void);
/* Switches the background thread on or off; TOFT_BACKGROUND_THREAD=1 in the environment switches it on. While it is on,
 * a thread of the library returns what is due also when the program calls nothing: it exists only while something is
 * due, sleeps for a window at a time, has a stack of 64 KiB and blocks all signals. In an idle process the cache is
 * empty after three windows. Off: the thread has ended when the call returns. TOFT_OK, or TOFT_ENOSYS where it is not
 * supported: Windows, WASI, TOFT_NO_OS. Thread-safe, except against itself. A forked child has no such thread until
 * pages come to its cache. */
TOFT_API int toft_background_thread(int on);
/* Returns the number of bytes in the cache of pages. Thread-safe. */
TOFT_API size_t toft_page_cache_bytes(void);

#ifdef TOFT_RUNTIME /* defined by the package of a language with a runtime of its own, such as Go's */
/* Returns the bytes that arenas, caches and recyclers have taken from the system by this library and not returned:
 * blocks, also those that are cached, and committed parts of reserved ranges. Memory of the user's own sources and of
 * toft_page_source is not included. Thread-safe. */
TOFT_API size_t toft_held_bytes(void);
/* Returns the free pages of the C heap to the system, if blocks of at least `least` bytes went back to that heap since
 * the last call. Does so with glibc, which otherwise keeps pages between used ones; elsewhere it does nothing. Takes
 * time for each free part of the heap. Thread-safe. */
TOFT_API void toft_heap_trim(size_t least);
/* Runs the cleanups registered after the mark, newest first, up to the first one whose function is fn. That one is not
 * called but removed; *arg is its argument, and the caller does its work before the next call on the arena. With a
 * cursor of NULL the mark is the start of the arena. If *arg is NULL, none is left, or the arena refuses the call
 * (another provider's, busy, or the mark is not valid), which the rewind, reset or release that follows reports.
 *
 * While *arg is not NULL, the arena is busy, as inside a cleanup; the caller repeats the call with `again` set until
 * *arg is NULL. No argument of fn may be NULL. */
TOFT_API void toft_next_cleanup(toft_arena *a, unsigned char *cursor, uintptr_t epoch, int again, void (*fn)(void *),
                                void **arg);
#endif

/* ------------------------------------------------------------------------------------------------------------
 * Hooks: malloc-like functions for libraries with a configurable allocator. They store the size in 16 bytes before each
 * object, align to 16, and reuse memory only when the newest object is freed or resized. Those of calloc return zeroed
 * memory, and NULL also if count * size overflows.
 * ------------------------------------------------------------------------------------------------------------ */

TOFT_API TOFT_SIZED(2) void *toft_hook_malloc(void *arena TOFT_LIFETIMEBOUND, size_t size);
TOFT_API TOFT_SIZED2(2, 3) void *toft_hook_calloc(void *arena TOFT_LIFETIMEBOUND, size_t count, size_t size);
TOFT_API TOFT_SIZED(3) void *toft_hook_realloc(void *arena TOFT_LIFETIMEBOUND, void *p, size_t size);
TOFT_API void toft_hook_free(void *arena, void *p);

/* Returns the calling thread's current arena, for hooks without a context pointer. NULL until it is set. */
TOFT_API toft_arena *toft_current(void);
/* Sets the current arena (NULL: none) and returns the previous one, for the caller to restore. */
TOFT_API toft_arena *toft_current_swap(toft_arena *a);
/* Use the current arena. They return NULL if there is none. */
TOFT_API TOFT_SIZED(1) void *toft_current_malloc(size_t size);
TOFT_API TOFT_SIZED2(1, 2) void *toft_current_calloc(size_t count, size_t size);
TOFT_API TOFT_SIZED(2) void *toft_current_realloc(void *p, size_t size);
TOFT_API void toft_current_free(void *p);

/* ---- small inline bodies, documented above ---- */

TOFT_INLINE void *toft_memdup(toft_arena *a, const void *p, size_t size) {
  void *q = toft_alloc_aligned(a, size, 16);
  if (TOFT_LIKELY(q != NULL && size != 0)) memcpy(q, p, size);
  return q;
}

TOFT_INLINE char *toft_strndup(toft_arena *a, const char *s, size_t n) {
  const char *end = (const char *)memchr(s, 0, n);
  size_t length = end != NULL ? (size_t)(end - s) : n;
  char *q = (char *)toft_alloc(a, length < SIZE_MAX ? length + 1 : SIZE_MAX);
  if (TOFT_LIKELY(q != NULL)) {
    memcpy(q, s, length);
    q[length] = 0;
  }
  return q;
}

TOFT_INLINE char *toft_strdup(toft_arena *a, const char *s) {
  size_t size = strlen(s) + 1;
  char *q = (char *)toft_alloc(a, size);
  if (TOFT_LIKELY(q != NULL)) memcpy(q, s, size);
  return q;
}

TOFT_INLINE toft_pack toft_pack_begin(toft_arena *a) {
  toft_pack k;
  k.arena = a;
  k.cursor = k.limit = a->cursor; /* empty, and never NULL */
  k.chunk = 256;
  return k;
}

TOFT_API void *toft_pack_grow(toft_pack *k, size_t n);

TOFT_INLINE void *toft_pack_alloc(toft_pack *k, size_t n) {
  unsigned char *p = k->cursor;
  if (TOFT_UNLIKELY((size_t)(k->limit - p) < n)) { /* the address of a copy escapes, so k can stay in registers */
    toft_pack copy = *k;
    void *q = toft_pack_grow(&copy, n);
    *k = copy;
    return q;
  }
  k->cursor = p + n;
  TOFT_ASSUME(p != NULL);
  return p;
}

TOFT_INLINE char *toft_pack_strndup(toft_pack *k, const char *s, size_t n) {
  const char *end = (const char *)memchr(s, 0, n);
  size_t length = end != NULL ? (size_t)(end - s) : n;
  char *q = (char *)toft_pack_alloc(k, length < SIZE_MAX ? length + 1 : SIZE_MAX);
  if (TOFT_LIKELY(q != NULL)) {
    memcpy(q, s, length);
    q[length] = 0;
  }
  return q;
}

TOFT_INLINE char *toft_pack_strdup(toft_pack *k, const char *s) {
  size_t size = strlen(s) + 1;
  char *q = (char *)toft_pack_alloc(k, size);
  if (TOFT_LIKELY(q != NULL)) memcpy(q, s, size);
  return q;
}

#ifdef __cplusplus
}
#endif

#if defined(TOFT_SITES) && !defined(__cplusplus)
#include "toft/sites.h"
#endif
#endif
