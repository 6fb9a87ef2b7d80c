/* malloc and its relatives in one arena for each thread, which frees nothing. Preloaded, it is the rewrite of a program
 * on an arena of its process. For words of 8 bytes.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

/* What the library takes from malloc. */
void *__libc_memalign(size_t align, size_t size);
static int align_block(void **result, size_t align, size_t size) {
  return (*result = __libc_memalign(align, size)) != NULL ? 0 : ENOMEM;
}
#define posix_memalign align_block
#define malloc __libc_malloc
#define calloc __libc_calloc
#define realloc __libc_realloc
#define free __libc_free
#include "toft.c"
#undef posix_memalign
#undef malloc
#undef calloc
#undef realloc
#undef free

enum { ALIGN = 16, HEADER = sizeof(size_t) };

static __thread toft_arena *arena __attribute__((tls_model("initial-exec")));

static void *bytes(size_t size, size_t align) {
  if (arena == NULL) arena = toft_create();
  void *p = arena != NULL ? toft_alloc_aligned(arena, size, align) : NULL;
  if (p == NULL) errno = ENOMEM;
  return p;
}

/* The word before an object is its size. An object ends where the word of the next one begins. */
static size_t taken(size_t size) { return (size + HEADER + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

static size_t size_of(const void *p) { return ((const size_t *)p)[-1]; }

void *malloc(size_t size) {
  if (size > PTRDIFF_MAX - 2 * ALIGN) return errno = ENOMEM, NULL;
  unsigned char *p = (unsigned char *)bytes(taken(size), HEADER);
  if (p != NULL && (uintptr_t)p % ALIGN != ALIGN - HEADER) { /* the first one of a block */
    p = (unsigned char *)bytes(taken(size) + HEADER, HEADER);
    if (p != NULL) p += (ALIGN - HEADER - (uintptr_t)p) & (ALIGN - 1);
  }
  if (p == NULL) return NULL;
  memcpy(p, &size, sizeof size);
  return p + HEADER;
}

void *calloc(size_t n, size_t size) {
  size_t all;
  if (__builtin_mul_overflow(n, size, &all)) return errno = ENOMEM, NULL;
  void *p = malloc(all);
  return p != NULL ? memset(p, 0, all) : NULL;
}

/* The memory of the newest object serves the next one. */
void free(void *p) {
  if (p != NULL && arena != NULL) toft_free(arena, (char *)p - HEADER, taken(size_of(p)));
}

void *realloc(void *old, size_t size) {
  if (old == NULL) return malloc(size);
  size_t before = size_of(old);
  int is_newest = arena != NULL && size <= PTRDIFF_MAX - 2 * ALIGN &&
                  arena->cursor == (unsigned char *)old - HEADER + taken(before);
  if (taken(size) <= taken(before) || (is_newest && toft_resize(arena, (char *)old - HEADER, taken(before), taken(size),
                                                                HEADER) == (char *)old - HEADER))
    return ((size_t *)old)[-1] = size, old;
  void *p = malloc(size);
  return p != NULL ? memcpy(p, old, before) : NULL;
}

void *memalign(size_t align, size_t size) {
  if (align <= ALIGN) return malloc(size);
  if (size > PTRDIFF_MAX - 2 * align) return errno = ENOMEM, NULL;
  unsigned char *p = (unsigned char *)bytes(align + size, align);
  if (p == NULL) return NULL;
  memcpy(p + align - HEADER, &size, sizeof size);
  return p + align;
}

void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }
int posix_memalign(void **result, size_t align, size_t size) {
  return (*result = memalign(align, size)) != NULL ? 0 : ENOMEM;
}
size_t malloc_usable_size(void *p) { return p != NULL ? size_of(p) : 0; }

/* The operators new and delete of C++ need no size. */
void *new_object(size_t size) {
  void *p = bytes(size, ALIGN);
  return p != NULL ? p : (abort(), p);
}
void delete_object(void *p) { (void)p; }
void *_Znwm(size_t) __attribute__((alias("new_object")));
void *_Znam(size_t) __attribute__((alias("new_object")));
void _ZdlPv(void *) __attribute__((alias("delete_object")));
void _ZdaPv(void *) __attribute__((alias("delete_object")));
void _ZdlPvm(void *) __attribute__((alias("delete_object")));
void _ZdaPvm(void *) __attribute__((alias("delete_object")));
