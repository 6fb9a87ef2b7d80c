/* malloc and its like for libraries that accept such hooks. A header in front of each object stores its size. In a
 * checked arena the size comes from the object's record, since the header may be damaged.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_API_MALLOC_HOOKS_C
#define TOFT_API_MALLOC_HOOKS_C

#include "../core/arena_state.h"
#include "../core/ops.c"
#include "../debug/debug_api.c"
#include "../platform/thread_local.h"

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

void *toft_hook_calloc(void *arena, size_t count, size_t size) {
  size_t bytes = toft_array_size(count, size);
  toft_attribute_call((toft_arena *)arena, TOFT_CALLER());
  void *p = toft_hook_malloc(arena, bytes);
  if (p != NULL) memset(p, 0, bytes);
  return p;
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

/* Most frees of a library do nothing: the object is neither the newest one nor alone in the newest block. The table's
 * function would find the same, but brings the arena's counts and its limit up to date first. 0: it must be called,
 * since the arena is instrumented or a block is returned. Precondition: the arena is the library's own. */
TOFT_INLINE int toft_hook_free_fast(toft_arena *a, unsigned char *p) {
  size_t size;
  if (TOFT_UNLIKELY(a->epoch & 1)) return 0;
  memcpy(&size, p - TOFT_HOOK_HEADER, sizeof size);
  if (TOFT_UNLIKELY((size_t)(a->cursor - p) == TOFT_ROUND8(size))) {
    a->cursor = p - TOFT_HOOK_HEADER;
    return 1;
  }
  return !toft_frees_block(toft_state_of(a), p - TOFT_HOOK_HEADER);
}

static TOFT_NOINLINE void toft_hook_free_slow(toft_arena *a, void *p, uintptr_t caller) {
  int plain = toft_is_leased(a) && !(toft_state_of(a)->state & TOFT_OBSERVED);
  if (plain && toft_hook_free_fast(a, (unsigned char *)p)) return;
  toft_attribute_call(a, caller);
  size_t size = toft_hook_load_size(a, p, "free");
  if (size != 0) toft_free(a, (unsigned char *)p - TOFT_HOOK_HEADER, size);
}

void toft_hook_free(void *arena, void *p) {
  toft_arena *a = (toft_arena *)arena;
  if (p == NULL || (TOFT_LIKELY(a->ops == &toft_table.ops) && toft_hook_free_fast(a, (unsigned char *)p))) return;
  toft_hook_free_slow(a, p, TOFT_CALLER());
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
  return toft_current_arena != NULL ? toft_hook_calloc(toft_current_arena, count, size) : NULL;
}

void *toft_current_realloc(void *p, size_t size) {
  return toft_current_arena != NULL ? toft_hook_realloc(toft_current_arena, p, size) : NULL;
}

void toft_current_free(void *p) {
  toft_arena *a = toft_current_arena;
  if (a == NULL || p == NULL) return;
  if (TOFT_LIKELY(a->ops == &toft_table.ops) && toft_hook_free_fast(a, (unsigned char *)p)) return;
  toft_hook_free_slow(a, p, TOFT_CALLER());
}

#endif
