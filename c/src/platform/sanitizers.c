/* Poisons and unpoisons memory for AddressSanitizer, MemorySanitizer and Valgrind. The sanitizers are detected at run
 * time by weak symbols, so the library need not be built with them. Valgrind's requests are instructions without
 * effect elsewhere; its header must be present when the library is built.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_SANITIZERS_C
#define TOFT_PLATFORM_SANITIZERS_C

#include "atomic.c"
#include "base.h"

#if defined(__ELF__) && (defined(__GNUC__) || defined(__clang__))
#define TOFT_TOOL(name) __asm__(name) __attribute__((weak))
#ifdef __cplusplus
extern "C" {
#endif
extern void toft_asan_poison(const volatile void *p, size_t n) TOFT_TOOL("__asan_poison_memory_region");
extern void toft_asan_unpoison(const volatile void *p, size_t n) TOFT_TOOL("__asan_unpoison_memory_region");
extern void *toft_asan_find_poison(void *p, size_t n) TOFT_TOOL("__asan_region_is_poisoned");
extern void toft_msan_unpoison(const volatile void *p, size_t n) TOFT_TOOL("__msan_unpoison");
extern void toft_msan_poison(const volatile void *p, size_t n) TOFT_TOOL("__msan_poison");
extern void toft_tsan_acquire(void *p) TOFT_TOOL("__tsan_acquire");
extern void toft_msan_allocated(const volatile void *p, size_t n) TOFT_TOOL("__msan_allocated_memory");
extern void toft_lsan_register(const void *p, size_t n) TOFT_TOOL("__lsan_register_root_region");
extern void toft_lsan_unregister(const void *p, size_t n) TOFT_TOOL("__lsan_unregister_root_region");
#ifdef __cplusplus
}
#endif
#define TOFT_CALL_TOOL(tool, p, n) ((tool) != NULL ? tool((p), (n)) : (void)0)
#define TOFT_ASAN_ACCESS(p, n) (toft_asan_find_poison == NULL || toft_asan_find_poison((p), (n)) == NULL)
#define TOFT_HAS_SANITIZER() (toft_asan_poison != NULL || toft_msan_poison != NULL)
#define TOFT_HAS_TSAN() (toft_tsan_acquire != NULL) /* which ends a process that maps at an address of its shadow */
#else
#define TOFT_CALL_TOOL(tool, p, n) ((void)(p), (void)(n))
#define TOFT_ASAN_ACCESS(p, n) ((void)(p), (void)(n), 1)
#define TOFT_HAS_SANITIZER() 0
#define TOFT_HAS_TSAN() 0
#endif

#if (defined(__GNUC__) || defined(__clang__)) && defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define TOFT_VALGRIND(request, p, n) ((void)(__extension__ VALGRIND_MAKE_MEM_##request((p), (n))))
/* Only memcheck answers this request. */
#define TOFT_HAS_MEMCHECK(p, n) ((__extension__ VALGRIND_MAKE_MEM_DEFINED((p), (n))) != 0)
#define TOFT_VALGRIND_ACCESS(p, n, bits) ((__extension__ VALGRIND_GET_VBITS((p), (bits), (n))) != 3)
#endif
#endif
#ifndef TOFT_VALGRIND
#define TOFT_VALGRIND_ACCESS(p, n, bits) ((void)(p), (void)(n), (void)(bits), 1)
#define TOFT_VALGRIND(request, p, n) ((void)0)
#define TOFT_HAS_MEMCHECK(p, n) ((void)(p), (void)(n), 0)
#endif

static size_t toft_memory_tools; /* 0: not known; 1: there is none; 2: there is one. Atomic */

static TOFT_COLD int toft_find_memory_tool(void) {
  char byte = 0;
  (void)byte;
  int found = TOFT_HAS_SANITIZER() || TOFT_HAS_MEMCHECK(&byte, 1);
  TOFT_STORE(&toft_memory_tools, found ? 2 : 1);
  return found;
}

/* Whether the process runs under AddressSanitizer, MemorySanitizer or Valgrind's memcheck. */
TOFT_INLINE int toft_has_memory_tool(void) {
  size_t known = TOFT_LOAD(&toft_memory_tools);
  return TOFT_UNLIKELY(known != 1) && (known == 2 || toft_find_memory_tool());
}

typedef enum { TOFT_DEFINED, TOFT_NOACCESS, TOFT_UNDEFINED } toft_access;

static TOFT_COLD void toft_set_access_slow(const void *p, size_t n, toft_access access) {
  if (n == 0 || !toft_has_memory_tool()) return;
  if (access == TOFT_NOACCESS) {
    TOFT_CALL_TOOL(toft_asan_poison, p, n);
    TOFT_CALL_TOOL(toft_msan_poison, p, n);
    TOFT_VALGRIND(NOACCESS, p, n);
    return;
  }
  TOFT_CALL_TOOL(toft_asan_unpoison, p, n);
  if (access == TOFT_DEFINED) {
    TOFT_CALL_TOOL(toft_msan_unpoison, p, n);
    TOFT_VALGRIND(DEFINED, p, n);
  } else {
    TOFT_CALL_TOOL(toft_msan_allocated, p, n);
    TOFT_VALGRIND(UNDEFINED, p, n);
  }
}

TOFT_INLINE void toft_set_access(const void *p, size_t n, toft_access access) {
  if (TOFT_UNLIKELY(TOFT_LOAD(&toft_memory_tools) != 1)) toft_set_access_slow(p, n, access);
}

/* Accessible and initialised; inaccessible; accessible, but uninitialised. */
static void toft_unpoison(const void *p, size_t n) { toft_set_access(p, n, TOFT_DEFINED); }
static void toft_poison(const void *p, size_t n) { toft_set_access(p, n, TOFT_NOACCESS); }
static void toft_mark_undefined(const void *p, size_t n) { toft_set_access(p, n, TOFT_UNDEFINED); }

/* LeakSanitizer looks for pointers in the heap's memory, and in mapped memory between these two calls, as far as it is
 * accessible then. Their arguments must be equal: it ends the process if they are not. NULL is ignored. */
static void *toft_scan_begin(void *p, size_t n) {
  if (p != NULL) TOFT_CALL_TOOL(toft_lsan_register, p, n);
  return p;
}
static void toft_scan_end(const void *p, size_t n) {
  if (p != NULL) TOFT_CALL_TOOL(toft_lsan_unregister, p, n);
}

/* Initialised, for MemorySanitizer: written by a library that may not be instrumented. */
static void toft_mark_defined(const void *p, size_t n) {
  TOFT_CALL_TOOL(toft_msan_unpoison, p, n);
  (void)p, (void)n;
}

/* ---- a map of what is accessible: a byte for 8 bytes, with a bit for each that is not ---- */

#define TOFT_ACCESS_STEP 512

static int toft_is_accessible(unsigned char *p, size_t n) {
  unsigned char bits[TOFT_ACCESS_STEP];
  (void)bits; /* without Valgrind */
  return TOFT_VALGRIND_ACCESS(p, n, bits) && TOFT_ASAN_ACCESS(p, n);
}

/* Precondition: n is a multiple of TOFT_ACCESS_STEP, and the map is zero. */
static void toft_access_save(unsigned char *p, size_t n, unsigned char *map) {
  for (size_t at = 0; at < n; at += TOFT_ACCESS_STEP) {
    if (toft_is_accessible(p + at, TOFT_ACCESS_STEP)) continue;
    for (size_t i = at; i < at + TOFT_ACCESS_STEP; i++)
      if (!toft_is_accessible(p + i, 1)) map[i / 8] |= (unsigned char)(1u << i % 8);
  }
}

/* Calls `set` for what the map has as not accessible. */
static void toft_access_set(const unsigned char *p, size_t n, const unsigned char *map,
                            void (*set)(const void *p, size_t n)) {
  for (size_t i = 0, end; i < n; i = end) {
    for (end = i + 1; map[i / 8] >> i % 8 & 1 && end % 8 != 0 && map[i / 8] >> end % 8 & 1;) end++;
    if (map[i / 8] == 0)
      end = i + 8;
    else if (map[i / 8] >> i % 8 & 1)
      set(p + i, end - i);
  }
}

#endif
