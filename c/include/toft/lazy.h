/* An arena by value: one pointer in the program's own structure. Its arena is created by the first allocation.
 *
 *     struct parser { toft_lazy memory; ... };            zeroed: no arena, no memory
 *     struct node *n = toft_lazy_new(&parser->memory, struct node);
 *     toft_lazy_release(&parser->memory);                 as at first; the structure may be copied or freed then
 *
 * The structure may be copied while it has no arena; afterwards it may move, and only one copy may be used.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_LAZY_H
#define TOFT_LAZY_H

#include "toft/inline.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct toft_lazy {
  toft_arena *arena; /* NULL: none yet */
} toft_lazy;

/* Returns the arena, which all other calls take, and creates it if there is none; NULL: no memory. */
TOFT_API toft_arena *toft_lazy_create(toft_lazy *l);
TOFT_INLINE toft_arena *toft_lazy_arena(toft_lazy *l TOFT_LIFETIMEBOUND) {
  return TOFT_LIKELY(l->arena != NULL) ? l->arena : toft_lazy_create(l);
}

/* As toft_alloc_aligned. NULL: no memory. */
TOFT_INLINE TOFT_NODISCARD void *toft_lazy_alloc(toft_lazy *l TOFT_LIFETIMEBOUND, size_t size, size_t align) {
  toft_arena *a = toft_lazy_arena(l);
  return TOFT_LIKELY(a != NULL) ? toft_alloc_aligned(a, size, align) : NULL;
}
#define toft_lazy_new(l, T) ((T *)toft_lazy_alloc((l), sizeof(T), TOFT_ALIGNOF(T)))

/* As toft_reset and toft_release. Without an arena they do nothing. */
TOFT_INLINE void toft_lazy_reset(toft_lazy *l) {
  if (l->arena != NULL) toft_reset(l->arena);
}
TOFT_INLINE void toft_lazy_release(toft_lazy *l) {
  if (l->arena != NULL) toft_release(l->arena);
  l->arena = NULL;
}

#ifdef __cplusplus
}
#endif
#endif
