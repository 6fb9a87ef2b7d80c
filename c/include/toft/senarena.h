/* The interface of sensible-arena on Toft's arenas: a program that uses that library compiles unchanged with a file
 * `sensible-arena.h` on its include path that includes this one, and links to libtoft instead.
 *
 * Every alignment that is a power of two is kept. Where the original ends the process (no memory) or is undefined (a
 * size or product that overflows) the result is NULL. senarena_clear keeps what recent rounds needed;
 * toft_reset_keep(arena.arena, TOFT_KEEP_ALL, 0) keeps all. docs/from-sensible-arena.md has the differences.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_SENARENA_H
#define TOFT_SENARENA_H

#include "toft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Passed by value, as in the original. NULL: there was no memory for the arena, and it allocates nothing. */
struct senarena {
  toft_arena *arena;
};

TOFT_INLINE struct senarena senarena_new(void) {
  struct senarena made;
  made.arena = toft_create();
  return made;
}

TOFT_INLINE void *senarena_alloc(struct senarena *arena, size_t byte_amount, size_t alignment) {
  return TOFT_LIKELY(arena->arena != NULL) ? toft_alloc_aligned(arena->arena, byte_amount, alignment) : NULL;
}

TOFT_INLINE void *toft_senarena_array(struct senarena *arena, size_t size, size_t amount, size_t alignment) {
  return TOFT_LIKELY(arena->arena != NULL) ? toft_alloc_array(arena->arena, amount, size, alignment) : NULL;
}

#define senarena_alloc_type(arena, type) senarena_alloc((arena), sizeof(type), TOFT_ALIGNOF(type))
#define senarena_alloc_array_of(arena, type, amount) \
  toft_senarena_array((arena), sizeof(type), (amount), TOFT_ALIGNOF(type))

/* Frees every allocation, and keeps memory for the next ones. */
TOFT_INLINE void senarena_clear(struct senarena *arena) {
  if (arena->arena != NULL) (void)toft_reset(arena->arena);
}

/* Frees everything. */
TOFT_INLINE void senarena_free(struct senarena arena) {
  if (arena.arena != NULL) toft_release(arena.arena);
}

#ifdef __cplusplus
}
#endif
#endif
