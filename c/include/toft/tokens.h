/* The allocation functions that clang calls in programs compiled with -fsanitize=alloc-token (clang 22 and later),
 * which passes a number of the allocated type. Each type has recyclers of its own: a freed object's memory is reused
 * for objects of the same type only, so a stale pointer never refers to an object of another type.
 *
 *     #include <toft/tokens.h>     in one C file of the program, before other headers, compiled without the sanitizer
 *
 * free, realloc and malloc_usable_size are defined for the whole process, and call the C library's for its own objects.
 * All functions are thread-safe, any thread may free any object, and a forked child may use all of them. Functions of C
 * return NULL and set errno to ENOMEM or EINVAL; operator new falls back to the C++ library's, which throws. Up to
 * 3,000 types are kept apart. docs/tokens.md has options of the compiler, memory, costs, and what is not supported.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TOKENS_H
#define TOFT_TOKENS_H

#if defined(__cplusplus) || !defined(__ELF__) || !defined(__GNUC__)
#error "toft/tokens.h is for a C file of a program for a system with ELF"
#endif

#include <dlfcn.h>

#include "toft/token_heaps.h"

/* ---- what the process calls ---- */

/* The next definition of a function, which is the C library's. */
static void *toft_token_next(void **found, const char *name) {
  void *next = __atomic_load_n(found, __ATOMIC_RELAXED);
  if (next == NULL) __atomic_store_n(found, next = dlsym((void *)-1L, name), __ATOMIC_RELAXED); /* RTLD_NEXT */
  return next;
}
#define TOFT_TOKEN_NEXT(result, name, parameters)          \
  (__extension__({                                         \
    static void *found;                                    \
    (result(*) parameters) toft_token_next(&found, #name); \
  }))

void free(void *p) {
  if (toft_token_owns(p))
    toft_token_free(toft_token_heap_of(p), p);
  else if (p != NULL)
    TOFT_TOKEN_NEXT(void, free, (void *))(p);
}

static void *toft_token_realloc(void *p, size_t size) {
  if (!toft_token_owns(p)) return TOFT_TOKEN_NEXT(void *, realloc, (void *, size_t))(p, size);
  if (size != 0) return toft_token_resize(toft_token_heap_of(p), p, size);
  toft_token_free(toft_token_heap_of(p), p);
  return NULL;
}
void *realloc(void *p, size_t size) { return toft_token_realloc(p, size); }

size_t malloc_usable_size(void *p) {
  if (!toft_token_owns(p)) return TOFT_TOKEN_NEXT(size_t, malloc_usable_size, (void *))(p);
  toft_token_heap *h = toft_token_heap_of(p);
  if (!toft_token_enter(h)) return toft_malloc_usable_size(NULL, p);
  size_t size = toft_malloc_usable_size(&h->memory, p);
  toft_token_leave(h);
  return size;
}

/* ---- what clang calls ---- */

void *__alloc_token_malloc(size_t size, size_t token) { return toft_token_alloc(size, 0, token); }
void *__alloc_token_calloc(size_t count, size_t size, size_t token) {
  size_t bytes;
  void *p = toft_token_alloc(__builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes, 0, token);
  return p != NULL ? memset(p, 0, bytes) : NULL;
}
void *__alloc_token_realloc(void *p, size_t size, size_t token) {
  return p != NULL ? toft_token_realloc(p, size) : toft_token_alloc(size, 0, token);
}
void *__alloc_token_reallocarray(void *p, size_t count, size_t size, size_t token) {
  size_t bytes;
  return __alloc_token_realloc(p, __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes, token);
}
void *__alloc_token_aligned_alloc(size_t align, size_t size, size_t token) {
  if (align != 0 && (align & (align - 1)) == 0) return toft_token_alloc(size, align, token);
  return errno = EINVAL, (void *)NULL;
}
void *__alloc_token_memalign(size_t align, size_t size, size_t token) {
  return __alloc_token_aligned_alloc(align, size, token);
}
void *__alloc_token_valloc(size_t size, size_t token) { return toft_token_alloc(size, 65536, token); }
void *__alloc_token_pvalloc(size_t size, size_t token) {
  return toft_token_alloc(size <= PTRDIFF_MAX ? (size + 65535) & ~(size_t)65535 : SIZE_MAX, 65536, token);
}
int __alloc_token_posix_memalign(void **result, size_t align, size_t size, size_t token) {
  if (align % sizeof(void *) != 0) return EINVAL;
  void *p = __alloc_token_aligned_alloc(align, size, token);
  if (p != NULL) *result = p;
  return p != NULL ? 0 : errno;
}

/* operator new and new[]: plain, without exceptions, aligned. If memory is refused, the C++ library's is called. */
#define TOFT_TOKEN_NEW(name, align, parameters, arguments, more)              \
  void *name parameters __attribute__((weak));                                \
  void *__alloc_token_##name more {                                           \
    void *p = toft_token_alloc(size, align, token);                           \
    return TOFT_LIKELY(p != NULL) ? p : name != NULL ? name arguments : NULL; \
  }
#define TOFT_TOKEN_NEWS(name)                                                                                      \
  TOFT_TOKEN_NEW(name, 0, (size_t), (size), (size_t size, size_t token))                                           \
  TOFT_TOKEN_NEW(name##RKSt9nothrow_t, 0, (size_t, void *), (size, none), (size_t size, void *none, size_t token)) \
  TOFT_TOKEN_NEW(name##St11align_val_t, align, (size_t, size_t), (size, align),                                    \
                 (size_t size, size_t align, size_t token))                                                        \
  TOFT_TOKEN_NEW(name##St11align_val_tRKSt9nothrow_t, align, (size_t, size_t, void *), (size, align, none),        \
                 (size_t size, size_t align, void *none, size_t token))
#if __SIZEOF_SIZE_T__ == 8
TOFT_TOKEN_NEWS(_Znwm)
TOFT_TOKEN_NEWS(_Znam)
#else
TOFT_TOKEN_NEWS(_Znwj)
TOFT_TOKEN_NEWS(_Znaj)
#endif

#endif
