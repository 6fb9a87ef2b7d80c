/* The inline fast paths. They use only the four words of the ABI's head, so they work with arenas of every provider.
 * toft.h documents the functions.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_INLINE_H
#define TOFT_INLINE_H

#include "toft/abi.h"
#include "toft/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TOFT_ROUND8(n) (((n) + 7u) & ~(size_t)7)

/* The bytes remaining are a multiple of 8, so remaining >= size implies remaining >= TOFT_ROUND8(size). The compare of
 * the unrounded size is therefore safe for sizes near SIZE_MAX, and the addition cannot pass limit. */
TOFT_INLINE TOFT_NODISCARD TOFT_SIZED(2) void *toft_alloc(toft_arena *a TOFT_LIFETIMEBOUND, size_t size) {
  unsigned char *p = a->cursor;
  if (TOFT_UNLIKELY((size_t)(a->limit - p) < size)) return a->ops->alloc(a, size, 8, 0, 0);
  a->cursor = p + TOFT_ROUND8(size);
  TOFT_ASSUME(p != NULL); /* guaranteed by the ABI; makes the caller's NULL check free */
  return p;
}

/* The alignments 3, 5, 6 and 7 are treated as 8, as on the inline path. */
#define TOFT_OPS_ALIGN(align) ((align) < 8 && ((align) & ((align)-1)) != 0 ? 8 : (align))

/* Alignments up to 8 cost nothing; larger ones are padded here, and the slow path is called only if the block is full.
 * An alignment that is not a power of two fails here or in the slow path. For constants whose sum cannot wrap one
 * compare is enough. */
TOFT_INLINE TOFT_NODISCARD TOFT_SIZED(2) void *toft_alloc_aligned(toft_arena *a TOFT_LIFETIMEBOUND, size_t size,
                                                                  size_t align) {
  unsigned char *p = a->cursor;
  size_t remaining = (size_t)(a->limit - p);
  if (TOFT_LIKELY(align - 1 < 8)) {
    if (TOFT_UNLIKELY(remaining < size)) return a->ops->alloc(a, size, TOFT_OPS_ALIGN(align), 0, 0);
  } else {
    uintptr_t q = ((uintptr_t)p + (align - 1)) & (0 - (uintptr_t)align);
    size_t pad = (size_t)(q - (uintptr_t)p);
    int full = TOFT_CONSTANT(size) && TOFT_CONSTANT(align) && size < 0x1000000 && align < 0x1000000
                   ? remaining < pad + size
                   : remaining < pad || remaining - pad < size;
    if (TOFT_UNLIKELY((align & (align - 1)) != 0 || full)) return a->ops->alloc(a, size, align, 0, 0);
    p = (unsigned char *)q; /* equals p + pad, with a shorter dependency chain for the next allocation */
  }
  a->cursor = p + TOFT_ROUND8(size);
  TOFT_ASSUME(p != NULL);
  return p;
}

TOFT_INLINE TOFT_NODISCARD TOFT_SIZED(2) void *toft_alloc_zeroed(toft_arena *a TOFT_LIFETIMEBOUND, size_t size,
                                                                 size_t align) {
  void *p = toft_alloc_aligned(a, size, align);
  if (TOFT_LIKELY(p != NULL)) memset(p, 0, size);
  return p;
}

/* Returns count * size, or SIZE_MAX, with which every allocation fails. */
TOFT_INLINE size_t toft_array_size(size_t count, size_t size) {
#if defined(__GNUC__) || defined(__clang__)
  size_t bytes;
  return TOFT_UNLIKELY(__builtin_mul_overflow(count, size, &bytes)) ? SIZE_MAX : bytes;
#else
  return size != 0 && count > SIZE_MAX / size ? SIZE_MAX : count * size;
#endif
}

TOFT_INLINE TOFT_NODISCARD TOFT_SIZED2(2, 3) void *toft_alloc_array(toft_arena *a TOFT_LIFETIMEBOUND, size_t count,
                                                                    size_t size, size_t align) {
  return toft_alloc_aligned(a, toft_array_size(count, size), align);
}

TOFT_INLINE TOFT_NODISCARD TOFT_SIZED2(2, 3) void *toft_alloc_array_zeroed(toft_arena *a TOFT_LIFETIMEBOUND,
                                                                           size_t count, size_t size, size_t align) {
  return toft_alloc_zeroed(a, toft_array_size(count, size), align);
}

/* In place if p is the newest allocation and fits; else through ops, as always in an instrumented arena. A block's end
 * is never the address of another block's first byte, so p + size == cursor identifies the newest allocation. */
TOFT_INLINE TOFT_NODISCARD TOFT_SIZED(4) void *toft_resize(toft_arena *a TOFT_LIFETIMEBOUND, void *p, size_t old_size,
                                                           size_t new_size, size_t align) {
  unsigned char *q = (unsigned char *)p;
  if (TOFT_LIKELY(q != NULL && !(a->epoch & 1) && (size_t)(a->cursor - q) == TOFT_ROUND8(old_size) &&
                  (size_t)(a->limit - q) >= new_size && ((uintptr_t)q & (align - 1)) == 0 &&
                  (align & (align - 1)) == 0)) {
    a->cursor += (ptrdiff_t)(TOFT_ROUND8(new_size) -
                             TOFT_ROUND8(old_size)); /* relative to cursor, since q comes from the caller */
    return p;
  }
  if (q == NULL) old_size = 0; /* else the table refuses it */
  return a->ops->resize(a, p, old_size, new_size, TOFT_OPS_ALIGN(align), 0, 0);
}

TOFT_INLINE void toft_free(toft_arena *a, void *p, size_t size) {
  unsigned char *q = (unsigned char *)p;
  if (q == NULL) return;
  if (TOFT_LIKELY(!(a->epoch & 1) && (size_t)(a->cursor - q) == TOFT_ROUND8(size)))
    a->cursor = q;
  else if (a->ops->free)
    a->ops->free(a, p, size);
}

TOFT_INLINE toft_mark toft_mark_here(const toft_arena *a) {
  toft_mark m;
  m.cursor = a->cursor;
  m.epoch = a->epoch & ~(uintptr_t)1;
  return m;
}

TOFT_INLINE int toft_rewind(toft_arena *a, toft_mark m) {
  if (TOFT_UNLIKELY(m.epoch != a->epoch || m.cursor > a->cursor)) return a->ops->rewind(a, m.cursor, m.epoch);
  a->cursor = m.cursor;
  return TOFT_OK;
}

TOFT_INLINE int toft_reset(toft_arena *a) { return a->ops->reset(a, TOFT_KEEP_RECENT, 0); }

TOFT_INLINE int toft_reset_keep(toft_arena *a, uint32_t policy, size_t bytes) {
  return a->ops->reset(a, policy, bytes);
}

TOFT_INLINE void toft_trim(toft_arena *a, size_t keep) { a->ops->trim(a, keep); }

TOFT_INLINE void toft_release(toft_arena *a) {
  if (a != NULL) a->ops->release(a);
}

TOFT_INLINE toft_cleanup *toft_cleanup_add(toft_arena *a, void (*fn)(void *), void *arg) {
  return a->ops->cleanup(a, fn, arg);
}

TOFT_INLINE int toft_contains(const toft_arena *a, const void *p) { return a->ops->contains(a, p); }

TOFT_INLINE toft_stats toft_get_stats(toft_arena *a) {
  toft_stats s;
  memset(&s, 0, sizeof s);
  a->ops->stats(a, &s, sizeof s);
  return s;
}

TOFT_INLINE int toft_set_budget(toft_arena *a, uint64_t bytes) {
  return a->ops->set(a, TOFT_SET_BUDGET, bytes, NULL, 0);
}

TOFT_INLINE int toft_set_checked(toft_arena *a, int on) { return a->ops->set(a, TOFT_SET_CHECKED, on != 0, NULL, 0); }

/* ---- a claimed range: cursor and limit in the caller's locals ---- */

/* The address of the range must not escape, or it could not live in registers, so ops gets a copy. The barrier keeps
 * gcc from merging the two words into a vector register for the whole loop. */
TOFT_INLINE void toft_range_copy(toft_range *to, const toft_range *from) {
  to->cursor = from->cursor;
  TOFT_SEPARATE_ACCESSES();
  to->limit = from->limit;
  to->claim = from->claim;
}

TOFT_INLINE void *toft_range_claim(toft_arena *a, toft_range *r, size_t size, size_t align) {
  toft_range copy;
  void *p;
  toft_range_copy(&copy, r);
  p = a->ops->claim(a, &copy, size, align);
  toft_range_copy(r, &copy);
  return p;
}

TOFT_INLINE int toft_claim(toft_arena *a, toft_range *r) {
  r->cursor = r->limit = NULL;
  r->claim = 0;
  return toft_range_claim(a, r, 0, 1) ? TOFT_OK : TOFT_EBUSY;
}

TOFT_INLINE int toft_unclaim(toft_arena *a, toft_range *r) {
  toft_range copy;
  int code;
  toft_range_copy(&copy, r);
  code = a->ops->give(a, &copy);
  toft_range_copy(r, &copy);
  return code;
}

TOFT_INLINE TOFT_NODISCARD TOFT_SIZED(3) void *toft_range_alloc(toft_arena *a TOFT_LIFETIMEBOUND, toft_range *r,
                                                                size_t size) {
  unsigned char *p = r->cursor;
  if (TOFT_UNLIKELY((size_t)(r->limit - p) < size)) return toft_range_claim(a, r, size, 8);
  r->cursor = p + TOFT_ROUND8(size);
  TOFT_ASSUME(p != NULL);
  return p;
}

/* Neither rounds nor aligns. The provider rounds the first allocation of a new range; the excess is returned here. */
TOFT_INLINE TOFT_NODISCARD TOFT_SIZED(3) void *toft_range_bytes(toft_arena *a TOFT_LIFETIMEBOUND, toft_range *r,
                                                                size_t size) {
  unsigned char *p = r->cursor;
  if (TOFT_UNLIKELY((size_t)(r->limit - p) < size)) {
    p = (unsigned char *)toft_range_claim(a, r, size, 1);
    if (p != NULL && r->cursor == p + TOFT_ROUND8(size)) r->cursor = p + size;
    return p;
  }
  r->cursor = p + size;
  TOFT_ASSUME(p != NULL);
  return p;
}

TOFT_INLINE void toft_range_align(toft_range *r) {
  r->cursor += (size_t)(0 - (uintptr_t)r->cursor) & 7u; /* limit is a multiple of 8, so this cannot pass it */
}

/* ---- scopes ---- */

typedef struct toft_scope {
  toft_arena *arena; /* NULL: ended */
  toft_mark mark;
} toft_scope;

TOFT_INLINE toft_scope toft_scope_begin(toft_arena *a) {
  toft_scope s;
  s.arena = a;
  s.mark = toft_mark_here(a);
  return s;
}

/* `a` may be NULL; toft_scope_end then does nothing. */
TOFT_INLINE toft_scope toft_scope_begin_if(toft_arena *a) {
  toft_scope s;
  if (a != NULL) return toft_scope_begin(a);
  memset(&s, 0, sizeof s);
  return s;
}

TOFT_INLINE void toft_scope_end(toft_scope *s) {
  if (s->arena != NULL) (void)toft_rewind(s->arena, s->mark);
  s->arena = NULL;
}

#ifdef __cplusplus
}
#endif
#endif
