/* malloc, calloc, realloc and free on a recycler, for libraries that take such functions and free objects individually.
 *
 *     toft_malloc m;
 *     toft_malloc_init(&m, NULL);
 *     library_set_allocator(&m, toft_malloc_alloc, toft_malloc_realloc, toft_malloc_free);
 *     ...
 *     toft_malloc_release(&m);                   frees all remaining objects
 *
 * Functions with a context take the toft_malloc as `void *m`, as such libraries pass it. For libraries without a
 * context pointer a thread has a current toft_malloc.
 *
 * Objects are aligned to 16 bytes, and have no header. A call that
 * fails returns NULL and changes nothing. For a library that frees nothing before the end of a document, the hooks of
 * an arena (toft_hook_malloc in toft.h) are faster.
 *
 * Memory, costs, misuse and checked processes: as in toft/recycler.h.
 *
 * THREADS. A toft_malloc is used by one thread at a time.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_MALLOC_H
#define TOFT_MALLOC_H

#include "toft/recycler.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct toft_malloc { /* opaque, with room for later versions */
  uint64_t opaque[128];
} toft_malloc;

/* Initialises m. source == NULL: toft_heap(). Takes no memory. The structure must not move until its last call.
 * TOFT_EARG, and every allocation fails: the source is that of a region in which m does not lie, see toft/region.h. */
TOFT_INLINE int toft_malloc_init(toft_malloc *m, struct toft_source *source);
/* Returns all memory to the source, including objects that were not freed. m is then as after init. */
TOFT_API void toft_malloc_release(toft_malloc *m);
/* Returns memory without live objects to the source, until about `keep` bytes of it are left. */
TOFT_API void toft_malloc_trim(toft_malloc *m, size_t keep);
TOFT_API toft_recycler_stats toft_malloc_get_stats(const toft_malloc *m);

TOFT_API TOFT_SIZED(2) void *toft_malloc_alloc(void *m TOFT_LIFETIMEBOUND, size_t size);
/* Zeroed. NULL also if count * size overflows. */
TOFT_API TOFT_SIZED2(2, 3) void *toft_malloc_calloc(void *m TOFT_LIFETIMEBOUND, size_t count, size_t size);
/* p == NULL allocates. Returns p itself if the object keeps its place; on failure p stays valid. The alignment of
 * toft_malloc_aligned is not kept if the object moves. */
TOFT_API TOFT_SIZED(3) void *toft_malloc_realloc(void *m TOFT_LIFETIMEBOUND, void *p, size_t size);
/* NULL is ignored. */
TOFT_API void toft_malloc_free(void *m, void *p);
/* Aligns to a power of two; NULL if `align` is none. */
TOFT_API TOFT_SIZED(3) void *toft_malloc_aligned(void *m TOFT_LIFETIMEBOUND, size_t align, size_t size);
/* Returns the bytes that may be used at p: at least the requested ones. p == NULL: 0. For hooks without a context m may
 * be NULL; in a checked process it is the current toft_malloc then, and the result is 0 if p is no object of that. */
TOFT_API size_t toft_malloc_usable_size(void *m, const void *p);

/* Returns the current toft_malloc of the calling thread. NULL until it is set. */
TOFT_API toft_malloc *toft_malloc_current(void);
/* Sets the current toft_malloc (NULL: none) and returns the previous one, for the caller to restore. */
TOFT_API toft_malloc *toft_malloc_current_swap(toft_malloc *m);
/* Use the current toft_malloc. Without one they return NULL, and a free does nothing. */
TOFT_API TOFT_SIZED(1) void *toft_malloc_current_alloc(size_t size);
TOFT_API TOFT_SIZED2(1, 2) void *toft_malloc_current_calloc(size_t count, size_t size);
TOFT_API TOFT_SIZED(2) void *toft_malloc_current_realloc(void *p, size_t size);
TOFT_API void toft_malloc_current_free(void *p);

/* The size of the caller's toft_malloc is compared with that of the library's. */
TOFT_API int toft_malloc_init_size(toft_malloc *m, struct toft_source *source, size_t size);

TOFT_INLINE int toft_malloc_init(toft_malloc *m, struct toft_source *source) {
  return toft_malloc_init_size(m, source, sizeof *m);
}

#ifdef __cplusplus
}
#endif
#endif
