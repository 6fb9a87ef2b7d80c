/* malloc, realloc and free for libraries that take such hooks: a header in front of each object keeps its size. In a
 * checked arena the records know the size; the header, which may be damaged, is only looked at.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "internal.h"

static TOFT_THREAD_LOCAL toft_arena *toft_current_arena;

static size_t toft_hook_whole(size_t size) {
  return size <= SIZE_MAX - TOFT_HOOK_HEADER ? size + TOFT_HOOK_HEADER : SIZE_MAX;
}

/* NULL: the arena is not checked, or another provider's. */
static toft_checks *toft_hook_checks(const toft_arena *arena) {
  const toft_state *a = toft_state_of(arena);
  if (TOFT_LIKELY(!(arena->epoch & 1)) || !toft_is_own(arena) || !(a->state & TOFT_IS_CHECKED)) return NULL;
  return a->checks;
}

/* An object of `size` bytes was placed behind the header at base. Returns it. */
static void *toft_hook_made(toft_arena *arena, unsigned char *base, size_t size) {
  toft_record *r = toft_hook_checks(arena) != NULL ? toft_find_record(toft_state_of(arena), base) : NULL;
  if (TOFT_UNLIKELY(r != NULL)) {
    r->header = TOFT_HOOK_HEADER;
    toft_open(base, TOFT_HOOK_HEADER);
    toft_fill_header(base, size);
    toft_close(base, TOFT_HOOK_HEADER);
  } else {
    memcpy(base, &size, sizeof size);
  }
  return base + TOFT_HOOK_HEADER;
}

/* p is no object of the checked arena. */
static TOFT_COLD void toft_hook_foreign(toft_state *a, const void *p, const char *by) {
  int closed = 1;
  if (!toft_step_in(a, by, 0)) return;
  toft_enter(a);
  closed = (a->state & TOFT_CLOSED) != 0;
  if (!closed) toft_tell_misuse(a, TOFT_FOUND_FOREIGN, p, 0, NULL);
  toft_aim(a);
  toft_step_out(a);
  toft_fail(a, 0, 0, closed ? TOFT_EBUSY : TOFT_EARG);
}

/* The size of the object at p, with its header; 0: it is none, which was reported. */
static size_t toft_hook_size(toft_arena *arena, void *p, const char *by) {
  unsigned char *base = (unsigned char *)p - TOFT_HOOK_HEADER;
  toft_state *a = toft_state_of(arena);
  size_t size;
  if (TOFT_UNLIKELY(toft_hook_checks(arena) != NULL) && !toft_is_older(a, base)) {
    const toft_record *r = toft_find_record(a, base);
    if (r != NULL) return r->size;
    toft_hook_foreign(a, p, by);
    return 0;
  }
  memcpy(&size, base, sizeof size);
  return size + TOFT_HOOK_HEADER;
}

void *toft_hook_malloc(void *arena, size_t size) {
  toft_arena *a = (toft_arena *)arena;
  toft_from(a, TOFT_CALLER());
  unsigned char *base = (unsigned char *)toft_alloc_aligned(a, toft_hook_whole(size), TOFT_HOOK_HEADER);
  return base != NULL ? toft_hook_made(a, base, size) : NULL;
}

void *toft_hook_realloc(void *arena, void *p, size_t size) {
  toft_arena *a = (toft_arena *)arena;
  toft_from(a, TOFT_CALLER());
  if (p == NULL) return toft_hook_malloc(arena, size);
  size_t old = toft_hook_size(a, p, "resize");
  if (old == 0) return NULL;
  unsigned char *base = (unsigned char *)toft_resize(a, (unsigned char *)p - TOFT_HOOK_HEADER, old,
                                                     toft_hook_whole(size), TOFT_HOOK_HEADER);
  return base != NULL ? toft_hook_made(a, base, size) : NULL;
}

void toft_hook_free(void *arena, void *p) {
  toft_arena *a = (toft_arena *)arena;
  if (p == NULL) return;
  toft_from(a, TOFT_CALLER());
  size_t size = toft_hook_size(a, p, "free");
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
