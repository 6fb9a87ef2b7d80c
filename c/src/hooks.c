/* malloc, realloc and free for libraries that take such hooks: the size is kept in front of each object.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "internal.h"

#define TOFT_HOOK_ALIGN 16

static TOFT_THREAD_LOCAL toft_arena *toft_current_arena;

static size_t *toft_hook_size(void *p) { return (size_t *)(void *)((unsigned char *)p - TOFT_HOOK_ALIGN); }

void *toft_hook_malloc(void *arena, size_t size) {
  size_t whole = size <= SIZE_MAX - TOFT_HOOK_ALIGN ? size + TOFT_HOOK_ALIGN : SIZE_MAX;
  toft_from((toft_arena *)arena, TOFT_CALLER());
  unsigned char *base = (unsigned char *)toft_alloc_aligned((toft_arena *)arena, whole, TOFT_HOOK_ALIGN);
  if (base == NULL) return NULL;
  *toft_hook_size(base + TOFT_HOOK_ALIGN) = size;
  return base + TOFT_HOOK_ALIGN;
}

void *toft_hook_realloc(void *arena, void *p, size_t size) {
  toft_from((toft_arena *)arena, TOFT_CALLER());
  if (p == NULL) return toft_hook_malloc(arena, size);
  size_t old = *toft_hook_size(p);
  size_t whole = size <= SIZE_MAX - TOFT_HOOK_ALIGN ? size + TOFT_HOOK_ALIGN : SIZE_MAX;
  unsigned char *base = (unsigned char *)toft_resize((toft_arena *)arena, (unsigned char *)p - TOFT_HOOK_ALIGN,
                                                     old + TOFT_HOOK_ALIGN, whole, TOFT_HOOK_ALIGN);
  if (base == NULL) return NULL;
  *toft_hook_size(base + TOFT_HOOK_ALIGN) = size;
  return base + TOFT_HOOK_ALIGN;
}

void toft_hook_free(void *arena, void *p) {
  if (p == NULL) return;
  toft_from((toft_arena *)arena, TOFT_CALLER());
  toft_free((toft_arena *)arena, (unsigned char *)p - TOFT_HOOK_ALIGN, *toft_hook_size(p) + TOFT_HOOK_ALIGN);
}

toft_arena *toft_current(void) { return toft_current_arena; }

toft_arena *toft_current_swap(toft_arena *a) {
  toft_arena *before = toft_current_arena;
  toft_current_arena = a;
  return before;
}

void *toft_current_malloc(size_t size) {
  return toft_current_arena != NULL ? toft_hook_malloc(toft_current_arena, size) : NULL;
}

void *toft_current_calloc(size_t count, size_t size) {
  size_t bytes = toft_array_size(count, size);
  void *p = toft_current_malloc(bytes);
  if (p != NULL) memset(p, 0, bytes);
  return p;
}

void *toft_current_realloc(void *p, size_t size) {
  return toft_current_arena != NULL ? toft_hook_realloc(toft_current_arena, p, size) : NULL;
}

void toft_current_free(void *p) {
  if (toft_current_arena != NULL) toft_hook_free(toft_current_arena, p);
}
