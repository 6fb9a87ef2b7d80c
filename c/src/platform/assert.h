/* Assertions of the library's own invariants. In builds with TOFT_ASSERTIONS, as those of the sanitizers and of the
 * fuzzers are, a false one is named on standard error and ends the process, and the state of an arena, a recycler, a
 * pool or a region is verified after each operation: see the files *_verify.c. In other builds they are no code.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_ASSERT_H
#define TOFT_PLATFORM_ASSERT_H

#ifdef TOFT_ASSERTIONS
#include <stdio.h>
#include <stdlib.h>

#define TOFT_ASSERT(holds) ((holds) ? (void)0 : toft_assertion_failed(#holds, __FILE__, __LINE__))
#define TOFT_VERIFY(kind, object) toft_verify_##kind(object)

static inline void toft_assertion_failed(const char *text, const char *file, int line) {
  fprintf(stderr, "toft: %s:%d: invariant violated: %s\n", file, line, text);
  abort();
}

/* Whether a verification that takes time in proportion to `size` is made now: the larger the object, the more calls
 * pass without one, so that a program is slower by a constant factor. */
static inline int toft_verifies(size_t size) {
  static _Thread_local size_t passed;
  passed += 256;
  if (passed < size) return 0;
  passed = 0;
  return 1;
}

struct toft_pool;
struct toft_recycler;
struct toft_region;
struct toft_state;
static void toft_verify_arena(const struct toft_state *a);
#ifndef TOFT_OMIT_METERS
static void toft_verify_tags(const struct toft_state *a);
#endif
#ifndef TOFT_OMIT_POOLS
static void toft_verify_pool(const struct toft_pool *p);
#endif
#ifndef TOFT_OMIT_RECYCLER
static void toft_verify_recycler(const struct toft_recycler *r);
static void toft_verify_region(const struct toft_region *r);
#endif
#else
#define TOFT_ASSERT(holds) ((void)0)
#define TOFT_VERIFY(kind, object) ((void)0)
#endif

#endif
