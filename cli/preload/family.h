/* malloc and its relatives, as the libraries that `toft advise` preloads define them. The family is closed: each
 * function calls the one that the program would call without the library, so that pointers of one malloc reach no
 * other.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PRELOAD_FAMILY_H
#define TOFT_PRELOAD_FAMILY_H

#include "stacks.h"

/* Defined by the library. take: an object in place of the program's, or NULL; align 0: that of malloc. took: the
 * program's malloc has served the call. drop: an object is freed; 1: it was not the program's malloc's. resize:
 * realloc. ra, sp: see HERE. */
static ALWAYS_INLINE void *take(size_t size, size_t align, const void *ra, const void *sp);
static ALWAYS_INLINE void took(const void *p, size_t size, int zeroed, const void *ra, const void *sp);
static ALWAYS_INLINE int drop(void *p, const void *ra, const void *sp);
static ALWAYS_INLINE void *resize(void *old, size_t size, const void *ra, const void *sp);

/* The return address, and the stack pointer of the caller at the call: the CFA of the frame of malloc. */
#define HERE __builtin_return_address(0), __builtin_dwarf_cfa()

static inline void set_busy(const int *before) { T.busy = *before; }

/* A call within which other functions of the family, which the library may call by their names, are not seen.
 * An exception may leave it. */
#define QUIETLY(call)                                            \
  ({                                                             \
    __attribute__((cleanup(set_busy))) int busy_before = T.busy; \
    T.busy = 1;                                                  \
    call;                                                        \
  })

void *malloc(size_t size) {
  if (!is_resolved() && N.malloc == NULL) return NULL;
  void *p = take(size, 0, HERE);
  if (p != NULL) return p;
  p = N.malloc(size);
  if (p != NULL) took(p, size, 0, HERE);
  return p;
}

void *own_malloc(size_t) __attribute__((alias("malloc"), visibility("hidden")));

/* Whether the program calls this library's malloc, and not one that is linked into it. */
static int is_malloc_ours(void) { return (uintptr_t)malloc == (uintptr_t)own_malloc; }

void *calloc(size_t n, size_t size) {
  if (!is_resolved() && N.calloc == NULL) return NULL;
  size_t bytes;
  void *p = !__builtin_mul_overflow(n, size, &bytes) ? take(bytes, 0, HERE) : NULL;
  if (p != NULL) return memset(p, 0, bytes);
  p = N.calloc(n, size);
  if (p != NULL) took(p, bytes, 1, HERE);
  return p;
}

void free(void *p) {
  if (p == NULL || (!is_resolved() && N.free == NULL)) return;
  if (!drop(p, HERE)) N.free(p);
}

/* The others that deallocate, which not each malloc has: by `own`, or by free. */
#define FREE(own, ...)                                      \
  if (p == NULL || !is_resolved() || drop(p, HERE)) return; \
  if (N.own != NULL)                                        \
    N.own(p, ##__VA_ARGS__);                                \
  else                                                      \
    N.free(p);

void cfree(void *p) { FREE(cfree) }
void free_sized(void *p, size_t size) { FREE(free_sized, size) }
void free_aligned_sized(void *p, size_t align, size_t size) { FREE(free_aligned_sized, align, size) }

void *realloc(void *old, size_t size) { return resize(old, size, HERE); }

void *reallocarray(void *old, size_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return resize(old, bytes, HERE);
}

/* An object of an alignment: the library's if the call is valid, or the program's. */
#define ALIGNED(is_valid, size, align, call)               \
  if (!is_resolved()) return NULL;                         \
  void *p = (is_valid) ? take(size, align, HERE) : NULL;   \
  if (p != NULL) return p;                                 \
  if ((p = QUIETLY(call)) != NULL) took(p, size, 0, HERE); \
  return p;

void *memalign(size_t align, size_t size) { ALIGNED(1, size, align, N.memalign(align, size)) }
void *aligned_alloc(size_t align, size_t size) { ALIGNED(align != 0, size, align, N.aligned_alloc(align, size)) }
void *valloc(size_t size) { ALIGNED(1, size, PAGE, N.valloc(size)) }
void *pvalloc(size_t size) { ALIGNED(size <= PTRDIFF_MAX, (size + PAGE - 1) & -(size_t)PAGE, PAGE, N.pvalloc(size)) }

int posix_memalign(void **result, size_t align, size_t size) {
  if (!is_resolved()) return ENOMEM;
  int is_valid = align >= sizeof(void *) && (align & (align - 1)) == 0;
  void *p = is_valid ? take(size, align, HERE) : NULL;
  if (p != NULL) return *result = p, 0;
  int failed = QUIETLY(N.posix_memalign(result, align, size));
  if (failed == 0 && *result != NULL) took(*result, size, 0, HERE);
  return failed;
}

/* Operators of malloc's library. */
static NOINLINE void *new_of_malloc(operator_function *f, int which, uintptr_t size, uintptr_t b, uintptr_t c,
                                    const void *ra, const void *sp) {
  int is_aligned = which == NEW_ALIGNED || which == NEW_ALIGNED_NOTHROW || which == NEW_ARRAY_ALIGNED ||
                   which == NEW_ARRAY_ALIGNED_NOTHROW;
  void *p = take(size, is_aligned ? b : 0, ra, sp);
  if (p != NULL) return p;
  p = QUIETLY(f(size, b, c));
  if (p != NULL) took(p, size, 0, ra, sp);
  return p;
}

static NOINLINE void *delete_of_malloc(operator_function *f, void *p, uintptr_t b, uintptr_t c, const void *ra,
                                       const void *sp) {
  if (p != NULL && drop(p, ra, sp)) return NULL;
  return QUIETLY(f((uintptr_t)p, b, c));
}

/* Other operators call malloc and free. The library leaves no frame on the stack, which is unwound from malloc. */
static ALWAYS_INLINE void *call_new(int which, uintptr_t size, uintptr_t b, uintptr_t c, const void *ra,
                                    const void *sp) {
  operator_function *f = is_resolved() ? N.operators[which] : NULL;
  if (UNLIKELY(f == NULL) && (f = find_operator(which, ra)) == NULL) return malloc(size);
  return UNLIKELY(N.has_operators) ? new_of_malloc(f, which, size, b, c, ra, sp) : f(size, b, c);
}

static ALWAYS_INLINE void *call_delete(int which, void *p, uintptr_t b, uintptr_t c, const void *ra, const void *sp) {
  operator_function *f = is_resolved() ? N.operators[which] : NULL;
  if (UNLIKELY(f == NULL) && (f = find_operator(which, ra)) == NULL) return free(p), NULL;
  return UNLIKELY(N.has_operators) ? delete_of_malloc(f, p, b, c, ra, sp) : f((uintptr_t)p, b, c);
}

#define OPERATOR_NEW(which, name) \
  void *name(uintptr_t size, uintptr_t b, uintptr_t c) { return call_new(which, size, b, c, HERE); }
#define OPERATOR_DELETE(which, name) \
  void *name(void *p, uintptr_t b, uintptr_t c) { return call_delete(which, p, b, c, HERE); }

OPERATORS_NEW(OPERATOR_NEW)
OPERATORS_DELETE(OPERATOR_DELETE)

#endif
