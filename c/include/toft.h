/* Toft: an arena allocator. Allocate by moving a pointer; give everything back at once.
 *
 *     toft_arena *a = toft_create();
 *     struct node *n = toft_new(a, struct node);
 *     char *name = toft_strdup(a, "toft");
 *     ...
 *     toft_release(a);                       everything above is gone, in one call
 *
 * This header is the reference. Three layers: this one says what the calls do; toft/inline.h is what they cost;
 * src/ is what happens when a block is full. Sizes are bytes unless a parameter says otherwise.
 *
 * FAILURE. A call that cannot do its work returns NULL or a negative code (toft_error_name names it) and leaves the
 * arena as it was. Nothing here prints, exits or aborts. options.failure is told first, if it is set.
 *
 * THREADS. An arena belongs to one thread at a time and may move between threads; calls on two arenas never
 * interfere. Exceptions are stated at the call.
 *
 * LIFETIME. Memory from an arena is valid until the arena is reset or released, or rewound to a mark taken before
 * it. Nobody frees it piece by piece (toft_free gives back the newest allocation, and is otherwise a no-op).
 *
 * BAD INPUT. Every arena detects a size that overflows (NULL), an alignment above 8 that is no power of two (NULL), a
 * mark of another arena, also of one that was released at the same address, or from before a reset (TOFT_EMARK), and
 * calls while a range is claimed or a cleanup runs (TOFT_EBUSY). Only a checked arena (options.flags, toft_set_checked,
 * TOFT_CHECKED=1 in the environment; see toft/findings.h) detects a mark already rewound past, writes beyond an
 * allocation or after it was given back, frees of what is no allocation or of another size, calls on a released arena,
 * a release while a range is claimed or a cleanup runs, and two threads in one arena. Not detected: a NULL arena,
 * alignments 3, 5, 6 and 7 (served as 8).
 *
 * EMBEDDING. `#define TOFT_PREFIX mylib_` before every include, and when toft.c is compiled, renames every external
 * symbol. With `#define TOFT_STATIC`, including toft.c in one translation unit makes all of it static.
 * TOFT_OMIT_CHECKS, _METERS, _POOLS, _RECYCLER and _THREADS leave those functions out, and TOFT_NO_OS builds the
 * library for targets without an operating system; see c/README.md. Settings that are left out return TOFT_ENOSYS.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_H
#define TOFT_H

#include <stdarg.h>

#include "toft/abi.h"
#include "toft/abi_info.h"
#include "toft/compiler.h"
#include "toft/findings.h"
#include "toft/frame.h"
#include "toft/inline.h"
#include "toft/lease.h"
#include "toft/meter.h"
#include "toft/pool.h"
#include "toft/recycler.h"
#include "toft/shared.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TOFT_VERSION "0.1.0"

/* The version of the library linked, as TOFT_VERSION. */
TOFT_API const char *toft_version(void);

/* "TOFT_ENOMEM" for TOFT_ENOMEM, and so on; "unknown" for what is no code. Static, never NULL. */
TOFT_API const char *toft_error_name(int code);

/* ------------------------------------------------------------------------------------------------------------
 * Sources: where blocks come from. A source must outlive every arena that uses it.
 * ------------------------------------------------------------------------------------------------------------ */

typedef struct toft_source toft_source;
struct toft_source {
  /* A block of at least `size` bytes on a 64-byte boundary, or NULL. `size` is a multiple of 4096. */
  void *(*take)(toft_source *self, size_t size);
  /* Returns what take gave; same size. */
  void (*put)(toft_source *self, void *block, size_t size);
  /* May be NULL. Grows or shrinks a block where it stands, from `size` to `want` bytes, both multiples of 4096:
   * non-zero if it did. Arenas grow such a block instead of taking another. */
  int (*extend)(toft_source *self, void *block, size_t size, size_t want);
};

/* The default: malloc, and for blocks of 1 MiB and more whole pages, with huge pages asked for. Blocks returned to
 * it go to the thread's cache first (see toft_cache_limit). Thread-safe. */
TOFT_API toft_source *toft_heap(void);

/* Pages straight from the operating system. TOFT_PAGES_HUGE: ask for huge pages for blocks of 2 MiB and more.
 * TOFT_PAGES_LAZY: put keeps up to 64 MiB of address space and tells the system that it may take the memory, which
 * makes taking it again cheap; toft_page_source_trim unmaps it. One thread at a time with LAZY, thread-safe without. */
enum { TOFT_PAGES_HUGE = 1, TOFT_PAGES_LAZY = 2 };
typedef struct toft_page_source {
  toft_source source;
  uint32_t flags;
  void *kept;
  size_t kept_bytes;
} toft_page_source;
TOFT_API toft_source *toft_page_source_init(toft_page_source *pages, uint32_t flags);
TOFT_API void toft_page_source_trim(toft_page_source *pages);

/* Reserve and commit: one contiguous range of `max` bytes of address space, which never moves; memory is committed as
 * the arena grows, so its newest allocation can grow in place up to `max`. Serves one arena at a time. NULL if the
 * address space cannot be had. toft_reserve_source_release gives it back, after the arena's release. */
typedef struct toft_reserve_source {
  toft_source source;
  unsigned char *base;
  size_t max, committed;
  int taken;
} toft_reserve_source;
TOFT_API toft_source *toft_reserve_source_init(toft_reserve_source *reserve, size_t max);
TOFT_API void toft_reserve_source_release(toft_reserve_source *reserve);

/* Puts a limit, in bytes, on what all arenas together may hold of another source. Exact at blocks, not at allocations:
 * for a limit on allocations, see toft_set_budget. Thread-safe if the inner source is. */
typedef struct toft_limited_source {
  toft_source source;
  toft_source *inner;
  size_t limit, used; /* used is updated atomically */
} toft_limited_source;
/* inner NULL: toft_heap(). */
TOFT_API toft_source *toft_limited_source_init(toft_limited_source *budget, toft_source *inner, size_t limit);

/* ------------------------------------------------------------------------------------------------------------
 * Arenas
 * ------------------------------------------------------------------------------------------------------------ */

/* Called with the reason why a call on the arena is about to return NULL: TOFT_ENOMEM, TOFT_EARG or TOFT_EBUSY; also
 * with size 0 and TOFT_EBUSY where toft_release has no effect. The arena is as it was, so the callback may longjmp or
 * throw. On a checked arena also with TOFT_ECORRUPT and the size of an allocation around which, or after which, bytes
 * were written; that call goes on, so the callback must return. It must not call into the arena. */
typedef void toft_failure_fn(void *arg, toft_arena *a, size_t size, size_t align, int code);

enum { TOFT_CHECKED = 1 }; /* options.flags: start as a checked arena */

typedef struct toft_options {
  size_t size;              /* sizeof(toft_options): TOFT_OPTIONS sets it */
  toft_source *source;      /* NULL: toft_heap(), or nothing if there is a buffer */
  void *buffer;             /* the arena lives in here first; NULL: in a block of the source */
  size_t buffer_size;       /* at least TOFT_BUFFER(0) */
  uint64_t budget;          /* limit on live bytes; 0: none */
  size_t reserve;           /* bytes expected: the first block after the arena's own is made this large */
  toft_failure_fn *failure; /* may be NULL */
  void *failure_arg;
  uint32_t flags; /* TOFT_CHECKED, or 0 */
} toft_options;
/* clang-format off */
#define TOFT_OPTIONS { sizeof(toft_options), NULL, NULL, 0, 0, 0, NULL, NULL, 0 }
/* clang-format on */

/* A buffer of this size has room for `bytes` bytes of allocations, each rounded up to 8, wherever it starts. */
#define TOFT_BUFFER(bytes) (((size_t)(bytes) + 583) & ~(size_t)7)

/* An arena with defaults: on the heap, no budget. NULL if there is no memory. Taken from the thread's cache when it has
 * one, which is the fast way. */
TOFT_API TOFT_NODISCARD toft_arena *toft_create(void);
/* NULL if there is no memory or the options are bad; options == NULL is toft_create. */
TOFT_API TOFT_NODISCARD toft_arena *toft_create_with(const toft_options *options);
/* An arena in the caller's buffer of `size` bytes, which must outlive it. When the buffer is full, blocks come from
 * `overflow`; NULL: the arena is full then. NULL if the buffer is too small (see TOFT_BUFFER). In a checked process
 * (toft/findings.h) the red zones need more room: there blocks for them come from toft_heap() if `overflow` is NULL,
 * the arena is full when its allocations alone, without zones, exceed the buffer, the result is NULL if there is no
 * memory for the checks, and the arena must be released before its buffer is used again. */
TOFT_API TOFT_NODISCARD toft_arena *toft_create_in(void *buffer, size_t size, toft_source *overflow);

/* Runs the cleanups and returns every block. NULL is ignored. Inside a cleanup of the arena, and while a range is
 * claimed, it does nothing but report TOFT_EBUSY to options.failure; a checked arena reports a finding too. */
TOFT_INLINE void toft_release(toft_arena *a);

/* Takes over everything that `donor` holds, in constant time: its allocations now live as long as those made in `a` at
 * this point, and its cleanups run when they end. `donor` must not be used again. TOFT_ENOMEM if a's budget has no room
 * for it, TOFT_EBUSY if a range of either is claimed, TOFT_EARG if it is `a` itself. An arena of another maker works
 * too; it is kept until it is to be released. TOFT_ENOSYS if that follows another version of the ABI. */
TOFT_API int toft_adopt(toft_arena *a, toft_arena *donor);

/* ------------------------------------------------------------------------------------------------------------
 * Allocation. Every result is aligned to 8 at least. A size of 0 gives a pointer that must not be read.
 * ------------------------------------------------------------------------------------------------------------ */

TOFT_INLINE TOFT_NODISCARD void *toft_alloc(toft_arena *a, size_t size);
/* `align`: a power of two, as large as you like. */
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_aligned(toft_arena *a, size_t size, size_t align);
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_zeroed(toft_arena *a, size_t size, size_t align);
/* count elements of `size` bytes: NULL if the product overflows. */
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_array(toft_arena *a, size_t count, size_t size, size_t align);
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_array_zeroed(toft_arena *a, size_t count, size_t size, size_t align);

/* One T, n of T; uninitialised or zeroed. */
#define toft_new(a, T) ((T *)toft_alloc_aligned((a), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_zeroed(a, T) ((T *)toft_alloc_zeroed((a), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_array(a, T, n) ((T *)toft_alloc_array((a), (n), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_array_zeroed(a, T, n) ((T *)toft_alloc_array_zeroed((a), (n), sizeof(T), TOFT_ALIGNOF(T)))

/* Resizes an allocation of `old_size` bytes: in place if it is the newest and there is room, or if it shrinks; else a
 * copy, and the old bytes stay used. NULL: nothing changed. p == NULL allocates. */
TOFT_INLINE TOFT_NODISCARD void *toft_resize(toft_arena *a, void *p, size_t old_size, size_t new_size, size_t align);
/* Gives the newest allocation back, if p is that one; else does nothing. `size` as asked for. NULL is ignored. */
TOFT_INLINE void toft_free(toft_arena *a, void *p, size_t size);

/* Copies; NULL if there is no memory. toft_memdup aligns to 16. */
TOFT_INLINE TOFT_NODISCARD void *toft_memdup(toft_arena *a, const void *p, size_t size);
TOFT_INLINE TOFT_NODISCARD char *toft_strdup(toft_arena *a, const char *s);
/* At most n bytes of s, and a NUL. */
TOFT_INLINE TOFT_NODISCARD char *toft_strndup(toft_arena *a, const char *s, size_t n);
/* printf into the arena. NULL if there is no memory or the format fails. */
TOFT_API TOFT_NODISCARD TOFT_FORMAT(2, 3) char *toft_printf(toft_arena *a, const char *format, ...);
TOFT_API TOFT_NODISCARD TOFT_FORMAT(2, 0) char *toft_vprintf(toft_arena *a, const char *format, va_list args);

/* ------------------------------------------------------------------------------------------------------------
 * Marks and scopes
 * ------------------------------------------------------------------------------------------------------------ */

/* A point to come back to: two words, to be kept or dropped as you like. */
TOFT_INLINE toft_mark toft_mark_here(const toft_arena *a);
/* Gives back everything allocated since the mark, and runs the cleanups registered since, newest first. The mark stays
 * good for another rewind. TOFT_EMARK if it is from another arena or from before a reset; TOFT_EBUSY. A mark already
 * rewound past is told apart on checked arenas only. */
TOFT_INLINE int toft_rewind(toft_arena *a, toft_mark m);

/* A declaration: what is allocated after it is given back when the enclosing block ends, by its last line, break,
 * continue, return, goto, or an exception in C++:
 *     for (int i = 0; i < n; i++) {
 *       TOFT_SCOPE(a);
 *       if (!visit(toft_printf(a, "%d", i))) break;
 *     }
 * gcc and clang only: elsewhere toft_mark_here and toft_rewind. No switch label or goto may jump past it into its
 * block (clang rejects that, gcc does not). */
#ifdef TOFT_AT_EXIT
#define TOFT_SCOPE(a) TOFT_SCOPE_NAMED(a, TOFT_PASTE(toft_scope_, __COUNTER__))
#define TOFT_SCOPE_NAMED(a, name) toft_scope name TOFT_AT_EXIT(toft_scope_end) = toft_scope_begin(a)
#endif

/* ------------------------------------------------------------------------------------------------------------
 * Reset, trim, budgets
 * ------------------------------------------------------------------------------------------------------------ */

/* Gives back every allocation and runs the cleanups, but keeps blocks for the next round: as much as the largest of the
 * last 64 rounds needed, merged into one block (up to 64 MiB), so that a steady workload stops asking for blocks. */
TOFT_INLINE int toft_reset(toft_arena *a);
/* The same, keeping all memory (TOFT_KEEP_ALL), at most about `bytes` (TOFT_KEEP_BYTES), or as toft_reset
 * (TOFT_KEEP_RECENT, bytes ignored). TOFT_EBUSY, TOFT_EARG. */
TOFT_INLINE int toft_reset_keep(toft_arena *a, uint32_t policy, size_t bytes);
/* Returns memory that holds no allocation to the source, until about `keep` bytes of it are left. Marks stay good. */
TOFT_INLINE void toft_trim(toft_arena *a, size_t keep);
/* At most this many bytes may be live from now on, paddings included; UINT64_MAX: no limit. Costs nothing until it is
 * reached. A budget below what is live refuses everything until enough has been given back. TOFT_EBUSY. */
TOFT_INLINE int toft_set_budget(toft_arena *a, uint64_t bytes);
/* Switches checks, for allocations made from now on: red zones around them, looked at when they are given back (rewind
 * and reset then return TOFT_ECORRUPT, having done their work); what is given back is filled with 0xDD, and looked at
 * before it is used again; stale marks are refused with TOFT_EMARK; resize and free of what is no allocation, or with a
 * wrong size, with TOFT_EARG; what a second thread calls meanwhile with NULL or TOFT_EBUSY (two that allocate within
 * nanoseconds may both be served, and break the arena). toft/findings.h says how to hear of it. Slow. TOFT_EBUSY;
 * TOFT_ENOMEM: nothing changed; TOFT_ECORRUPT: the checks are off, and found something at their end. */
TOFT_INLINE int toft_set_checked(toft_arena *a, int on);

/* ------------------------------------------------------------------------------------------------------------
 * Cleanups
 * ------------------------------------------------------------------------------------------------------------ */

/* Registers a function to run once, when this point is rewound, reset or released; newest first. It must not throw or
 * longjmp; the arena gives no memory while it runs. The node lives in the arena: set node->fn = NULL to cancel, or
 * register with fn NULL and arm the node when its object is complete. NULL if there is no memory. */
TOFT_INLINE toft_cleanup *toft_cleanup_add(toft_arena *a, void (*fn)(void *), void *arg);

/* ------------------------------------------------------------------------------------------------------------
 * Claimed ranges: the register-cursor mode. For loops that allocate several small objects a turn: cursor and limit live
 * in locals, and nobody else can hand out the same bytes, because the arena shows no room meanwhile (others are served
 * from blocks of their own; rewind, reset, release and a second claim are refused).
 *
 *     toft_range r;
 *     toft_claim(a, &r);
 *     for (...) { struct node *n = (struct node *)toft_range_alloc(a, &r, sizeof *n); ... }
 *     toft_unclaim(a, &r);
 * ------------------------------------------------------------------------------------------------------------ */

/* TOFT_EBUSY if the arena is claimed already. */
TOFT_INLINE int toft_claim(toft_arena *a, toft_range *r);
/* Aligned to 8; claims a further block when the range is full. NULL: nothing changed, still claimed. */
TOFT_INLINE TOFT_NODISCARD void *toft_range_alloc(toft_arena *a, toft_range *r, size_t size);
/* Byte by byte, without alignment: for text. Such a piece cannot be given to toft_resize or toft_free. Before
 * toft_range_alloc is used again: toft_range_align. */
TOFT_INLINE TOFT_NODISCARD void *toft_range_bytes(toft_arena *a, toft_range *r, size_t size);
TOFT_INLINE void toft_range_align(toft_range *r);
/* Hands the rest back. TOFT_EARG if r does not hold a's claim. */
TOFT_INLINE int toft_unclaim(toft_arena *a, toft_range *r);

/* ------------------------------------------------------------------------------------------------------------
 * Packed bytes: strings side by side, without the rounding to 8 that costs 13 to 61 % on real strings. A pack takes
 * chunks of its arena and fills them byte by byte; ordinary allocations may come in between. It belongs to the scope it
 * was begun in: after a rewind past that or a reset, begin a new one. Nothing to release.
 * ------------------------------------------------------------------------------------------------------------ */

typedef struct toft_pack {
  toft_arena *arena;
  unsigned char *cursor, *limit;
  size_t chunk; /* size of the next chunk */
} toft_pack;

TOFT_INLINE toft_pack toft_pack_begin(toft_arena *a);
/* n uninitialised bytes, aligned to 1. */
TOFT_INLINE TOFT_NODISCARD void *toft_pack_alloc(toft_pack *k, size_t n);
/* A copy of n bytes; of n bytes and a NUL; of a string. */
TOFT_API TOFT_NODISCARD void *toft_pack_bytes(toft_pack *k, const void *p, size_t n);
TOFT_INLINE TOFT_NODISCARD char *toft_pack_strndup(toft_pack *k, const char *s, size_t n);
TOFT_INLINE TOFT_NODISCARD char *toft_pack_strdup(toft_pack *k, const char *s);

/* ------------------------------------------------------------------------------------------------------------
 * Looking at an arena
 * ------------------------------------------------------------------------------------------------------------ */

/* Does p lie in memory that this arena has handed out? Walks the blocks. May be 0 for bytes of a claimed range. */
TOFT_INLINE int toft_contains(const toft_arena *a, const void *p);
/* live is exact. allocated and peak are taken when a slow call happens: they miss what was allocated and rewound
 * within one block in between. reserved: blocks and kept blocks. wasted: block headers and the unused ends of full
 * blocks. blocks: how many are in use. source_calls: how often the source was asked, ever. */
TOFT_INLINE toft_stats toft_get_stats(toft_arena *a);

typedef struct toft_block {
  const void *base;  /* the block, as the source gave it */
  size_t size;       /* its bytes */
  const void *start; /* the first byte that can be handed out */
  size_t used;       /* bytes from there that are */
  int kind;          /* TOFT_BLOCK_... */
} toft_block;
enum { TOFT_BLOCK_REGULAR = 0, TOFT_BLOCK_ONEOFF = 1, TOFT_BLOCK_SPARE = 2 };
/* Calls fn for each block, newest first, kept ones last, adopted arenas' blocks in their places, until fn returns
 * non-zero; returns what fn returned last, or TOFT_ENOSYS for an arena of another maker. fn must return; the arena is
 * closed to it: allocations there are NULL, all else TOFT_EBUSY. */
TOFT_API int toft_blocks(toft_arena *a, int (*fn)(void *arg, const toft_block *block), void *arg);

/* ------------------------------------------------------------------------------------------------------------
 * The thread's cache. toft_release keeps arenas and heap blocks of the thread that calls it, up to a limit, for the
 * next toft_create and the next block. They are returned when the thread ends, when the library is unloaded, and on
 * request. In a fork's child the cache of the forking thread goes on; those of other threads are lost with them.
 * ------------------------------------------------------------------------------------------------------------ */

/* Limit per thread, in bytes; 4 MiB unless set, 0 is off. Affects every thread from its next release on; thread-safe.
 * Returns the old limit. */
TOFT_API size_t toft_cache_limit(size_t bytes);
/* Bytes this thread's cache holds. */
TOFT_API size_t toft_cache_held(void);
/* Returns all of this thread's cache to the system. */
TOFT_API void toft_cache_trim(void);

/* ------------------------------------------------------------------------------------------------------------
 * Hooks: malloc-like functions for libraries that let one set their allocator. They keep the size in front of each
 * object (16 bytes), align to 16, and reuse memory only when the newest object is freed or grown.
 * ------------------------------------------------------------------------------------------------------------ */

TOFT_API TOFT_SIZED(2) void *toft_hook_malloc(void *arena, size_t size);
TOFT_API TOFT_SIZED(3) void *toft_hook_realloc(void *arena, void *p, size_t size);
TOFT_API void toft_hook_free(void *arena, void *p);

/* For hooks without a context pointer: the calling thread's current arena. NULL until set. */
TOFT_API toft_arena *toft_current(void);
/* Sets it (NULL: none) and returns the one before, to be put back. */
TOFT_API toft_arena *toft_current_swap(toft_arena *a);
/* On the current arena; NULL if there is none. */
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
  if (TOFT_UNLIKELY((size_t)(k->limit - p) < n)) { /* a copy, so that k can live in registers */
    toft_pack seen = *k;
    void *q = toft_pack_grow(&seen, n);
    *k = seen;
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
