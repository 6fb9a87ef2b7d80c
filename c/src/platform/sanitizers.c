/* Tools that watch memory, told what may be touched. AddressSanitizer and MemorySanitizer are found when the program
 * starts: they need not have been there when the library was built. Valgrind's requests are instructions that do
 * nothing elsewhere; its header must be there when the library is built.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_SANITIZERS_C
#define TOFT_PLATFORM_SANITIZERS_C

#include "base.h"

#if defined(__ELF__) && (defined(__GNUC__) || defined(__clang__))
#define TOFT_TOOL(name) __asm__(name) __attribute__((weak))
#ifdef __cplusplus
extern "C" {
#endif
extern void toft_asan_close(const volatile void *p, size_t n) TOFT_TOOL("__asan_poison_memory_region");
extern void toft_asan_open(const volatile void *p, size_t n) TOFT_TOOL("__asan_unpoison_memory_region");
extern void toft_msan_open(const volatile void *p, size_t n) TOFT_TOOL("__msan_unpoison");
extern void toft_msan_close(const volatile void *p, size_t n) TOFT_TOOL("__msan_poison");
extern void toft_msan_fresh(const volatile void *p, size_t n) TOFT_TOOL("__msan_allocated_memory");
#ifdef __cplusplus
}
#endif
#define TOFT_ASK(tool, p, n) ((tool) != NULL ? tool((p), (n)) : (void)0)
#else
#define TOFT_ASK(tool, p, n) ((void)(p), (void)(n))
#endif

#if (defined(__GNUC__) || defined(__clang__)) && defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define TOFT_VALGRIND(request, p, n) ((void)(__extension__ VALGRIND_MAKE_MEM_##request((p), (n))))
#endif
#endif
#ifndef TOFT_VALGRIND
#define TOFT_VALGRIND(request, p, n) ((void)0)
#endif

/* The library may read and write it. */
static void toft_open(const void *p, size_t n) {
  if (n == 0) return;
  TOFT_ASK(toft_asan_open, p, n);
  TOFT_ASK(toft_msan_open, p, n);
  TOFT_VALGRIND(DEFINED, p, n);
}

/* Nobody may. */
static void toft_close(const void *p, size_t n) {
  if (n == 0) return;
  TOFT_ASK(toft_asan_close, p, n);
  TOFT_ASK(toft_msan_close, p, n);
  TOFT_VALGRIND(NOACCESS, p, n);
}

/* The program may write it, and read what it wrote. */
static void toft_hand_out(const void *p, size_t n) {
  if (n == 0) return;
  TOFT_ASK(toft_asan_open, p, n);
  TOFT_ASK(toft_msan_fresh, p, n);
  TOFT_VALGRIND(UNDEFINED, p, n);
}

/* What a library that was not built for MemorySanitizer wrote, and programs read. */
static void toft_written(const void *p, size_t n) {
  TOFT_ASK(toft_msan_open, p, n);
  (void)p, (void)n;
}

#endif
