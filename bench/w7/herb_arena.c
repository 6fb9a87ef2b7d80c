/* Memory for herb in an arena, by herb's own structure of functions: of the library, and of the file that programs
 * paste (with HERB_PASTED). The arena is created once, and reset between documents.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <string.h>
#ifdef HERB_PASTED
#include <toft_mini.h>
#define herb_arena herb_pasted_arena
#else
#include <toft.h>
#include <toft/malloc.h>
#endif
#include "herb_arena.h"
#include "prism_xallocator.h"

/* ---- adapter: functions with a context, in an arena for each document ---- */

static toft_arena *of(const hb_allocator_T *self) { return (toft_arena *)self->context; }
static void *take(hb_allocator_T *self, size_t size) { return toft_alloc(of(self), size); }
static void put(hb_allocator_T *self, void *p) { (void)self, (void)p; }
static void *resize(hb_allocator_T *self, void *p, size_t size, size_t to) {
  return p == NULL ? take(self, to) : toft_resize(of(self), p, size, to, 8);
}
static char *copy(hb_allocator_T *self, const char *s, size_t length) {
  char *p = s == NULL ? NULL : (char *)take(self, length + 1);
  if (p == NULL) return NULL;
  p[length] = 0;
  return (char *)memcpy(p, s, length);
}
static char *copy_all(hb_allocator_T *self, const char *s) { return s == NULL ? NULL : copy(self, s, strlen(s)); }
static void end(hb_allocator_T *self) { toft_reset(of(self)); }

int herb_arena(hb_allocator_T *to) {
  *to = (hb_allocator_T){take, resize, put, copy_all, copy, end, toft_create()};
#ifndef HERB_PASTED /* which has no functions without a context */
  hooks = (struct hooks){toft_current_malloc, toft_current_calloc, toft_current_realloc, toft_current_free};
  toft_current_swap((toft_arena *)to->context);
#endif
  return to->context != NULL;
}

/* ---- end of the adapter ---- */
