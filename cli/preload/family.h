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

void cfree(void *p) {
  if (p == NULL || !is_resolved()) return;
  if (drop(p, HERE)) return;
  (N.cfree != NULL ? N.cfree : N.free)(p);
}

void free_sized(void *p, size_t size) {
  if (p == NULL || !is_resolved()) return;
  if (drop(p, HERE)) return;
  if (N.free_sized != NULL)
    N.free_sized(p, size);
  else
    N.free(p);
}

void free_aligned_sized(void *p, size_t align, size_t size) {
  if (p == NULL || !is_resolved()) return;
  if (drop(p, HERE)) return;
  if (N.free_aligned_sized != NULL)
    N.free_aligned_sized(p, align, size);
  else
    N.free(p);
}

void *realloc(void *old, size_t size) { return resize(old, size, HERE); }

void *reallocarray(void *old, size_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return resize(old, bytes, HERE);
}

void *memalign(size_t align, size_t size) {
  if (!is_resolved()) return NULL;
  void *p = take(size, align, HERE);
  if (p != NULL) return p;
  p = QUIETLY(N.memalign(align, size));
  if (p != NULL) took(p, size, 0, HERE);
  return p;
}

void *aligned_alloc(size_t align, size_t size) {
  if (!is_resolved()) return NULL;
  void *p = align != 0 ? take(size, align, HERE) : NULL;
  if (p != NULL) return p;
  p = QUIETLY(N.aligned_alloc(align, size));
  if (p != NULL) took(p, size, 0, HERE);
  return p;
}

int posix_memalign(void **result, size_t align, size_t size) {
  if (!is_resolved()) return ENOMEM;
  int is_valid = align >= sizeof(void *) && (align & (align - 1)) == 0;
  void *p = is_valid ? take(size, align, HERE) : NULL;
  if (p != NULL) return *result = p, 0;
  int failed = QUIETLY(N.posix_memalign(result, align, size));
  if (failed == 0 && *result != NULL) took(*result, size, 0, HERE);
  return failed;
}

void *valloc(size_t size) {
  if (!is_resolved()) return NULL;
  void *p = take(size, PAGE, HERE);
  if (p != NULL) return p;
  p = QUIETLY(N.valloc(size));
  if (p != NULL) took(p, size, 0, HERE);
  return p;
}

void *pvalloc(size_t size) {
  if (!is_resolved()) return NULL;
  void *p = size <= PTRDIFF_MAX ? take((size + PAGE - 1) & -(size_t)PAGE, PAGE, HERE) : NULL; /* whole pages */
  if (p != NULL) return p;
  p = QUIETLY(N.pvalloc(size));
  if (p != NULL) took(p, size, 0, HERE);
  return p;
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

OPERATOR_NEW(NEW, FOR_SIZE(_Znw, ))
OPERATOR_NEW(NEW_NOTHROW, FOR_SIZE(_Znw, RKSt9nothrow_t))
OPERATOR_NEW(NEW_ALIGNED, FOR_SIZE(_Znw, St11align_val_t))
OPERATOR_NEW(NEW_ALIGNED_NOTHROW, FOR_SIZE(_Znw, St11align_val_tRKSt9nothrow_t))
OPERATOR_NEW(NEW_ARRAY, FOR_SIZE(_Zna, ))
OPERATOR_NEW(NEW_ARRAY_NOTHROW, FOR_SIZE(_Zna, RKSt9nothrow_t))
OPERATOR_NEW(NEW_ARRAY_ALIGNED, FOR_SIZE(_Zna, St11align_val_t))
OPERATOR_NEW(NEW_ARRAY_ALIGNED_NOTHROW, FOR_SIZE(_Zna, St11align_val_tRKSt9nothrow_t))
OPERATOR_DELETE(DELETE, _ZdlPv)
OPERATOR_DELETE(DELETE_NOTHROW, _ZdlPvRKSt9nothrow_t)
OPERATOR_DELETE(DELETE_SIZED, FOR_SIZE(_ZdlPv, ))
OPERATOR_DELETE(DELETE_ALIGNED, _ZdlPvSt11align_val_t)
OPERATOR_DELETE(DELETE_ALIGNED_NOTHROW, _ZdlPvSt11align_val_tRKSt9nothrow_t)
OPERATOR_DELETE(DELETE_SIZED_ALIGNED, FOR_SIZE(_ZdlPv, St11align_val_t))
OPERATOR_DELETE(DELETE_ARRAY, _ZdaPv)
OPERATOR_DELETE(DELETE_ARRAY_NOTHROW, _ZdaPvRKSt9nothrow_t)
OPERATOR_DELETE(DELETE_ARRAY_SIZED, FOR_SIZE(_ZdaPv, ))
OPERATOR_DELETE(DELETE_ARRAY_ALIGNED, _ZdaPvSt11align_val_t)
OPERATOR_DELETE(DELETE_ARRAY_ALIGNED_NOTHROW, _ZdaPvSt11align_val_tRKSt9nothrow_t)
OPERATOR_DELETE(DELETE_ARRAY_SIZED_ALIGNED, FOR_SIZE(_ZdaPv, St11align_val_t))

#endif
