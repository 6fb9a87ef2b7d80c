/* malloc, realloc and free for libraries that accept such hooks. A header in front of each object stores its size. In
 * a checked arena the size comes from the object's record, since the header may be damaged.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_MALLOC_HOOKS_C
#define TOFT_CORE_MALLOC_HOOKS_C

#include "../platform/thread_local.h"
#include "arena_state.h"
#include "instrument.h"

TOFT_PER_THREAD toft_arena *toft_current_arena;
#define toft_current_arena TOFT_OWN(toft_current_arena)

static size_t toft_hook_total_size(size_t size) {
  return size <= SIZE_MAX - TOFT_HOOK_HEADER ? size + TOFT_HOOK_HEADER : SIZE_MAX;
}

void *toft_hook_malloc(void *arena, size_t size) {
  toft_arena *a = (toft_arena *)arena;
  toft_attribute_call(a, TOFT_CALLER());
  unsigned char *base = (unsigned char *)toft_alloc_aligned(a, toft_hook_total_size(size), TOFT_HOOK_HEADER);
  return base != NULL ? toft_hook_store_size(a, base, size) : NULL;
}

void *toft_hook_realloc(void *arena, void *p, size_t size) {
  toft_arena *a = (toft_arena *)arena;
  toft_attribute_call(a, TOFT_CALLER());
  if (p == NULL) return toft_hook_malloc(arena, size);
  size_t old = toft_hook_load_size(a, p, "resize");
  if (old == 0) return NULL;
  unsigned char *base = (unsigned char *)toft_resize(a, (unsigned char *)p - TOFT_HOOK_HEADER, old,
                                                     toft_hook_total_size(size), TOFT_HOOK_HEADER);
  return base != NULL ? toft_hook_store_size(a, base, size) : NULL;
}

void toft_hook_free(void *arena, void *p) {
  toft_arena *a = (toft_arena *)arena;
  if (p == NULL) return;
  toft_attribute_call(a, TOFT_CALLER());
  size_t size = toft_hook_load_size(a, p, "free");
  if (size != 0) toft_free(a, (unsigned char *)p - TOFT_HOOK_HEADER, size);
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

#endif
