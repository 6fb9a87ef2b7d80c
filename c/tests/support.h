/* What the tests share: cmocka, and a source that counts, fails on order and checks the blocks that it takes back.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_SUPPORT_H
#define TOFT_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "page_memory.h"
#include "toft.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#elif __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#elif __has_feature(memory_sanitizer)
#define HAS_MSAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#endif

#define COUNTED_MAX 4096

typedef struct counted {
  toft_source source;
  size_t takes, puts; /* calls that succeeded */
  size_t attempts;    /* calls of take */
  size_t fail_at;     /* the take that fails, counted from 1; 0: none */
  size_t fail_from;   /* every take from this one on fails; 0: none */
  size_t size_max;    /* larger takes fail; 0: none */
  size_t limit;       /* takes above this sum of bytes fail; 0: none */
  size_t bytes, peak; /* taken and not put back: now, and at most */
  void *blocks[COUNTED_MAX];
  size_t sizes[COUNTED_MAX];
  size_t out;
} counted;

static inline void *counted_take(toft_source *self, size_t size) {
  counted *c = (counted *)(void *)self;
  c->attempts++;
  assert_true(size % 4096 == 0 && size != 0);
  if (c->attempts == c->fail_at || (c->fail_from != 0 && c->attempts >= c->fail_from)) return NULL;
  if ((c->size_max != 0 && size > c->size_max) || (c->limit != 0 && c->bytes + size > c->limit)) return NULL;
  assert_true(c->out < COUNTED_MAX);
  void *p = page_memory(size);
  assert_non_null(p);
  c->blocks[c->out] = p;
  c->sizes[c->out++] = size;
  c->takes++;
  c->bytes += size;
  if (c->bytes > c->peak) c->peak = c->bytes;
  return p;
}

static inline void counted_put(toft_source *self, void *block, size_t size) {
  counted *c = (counted *)(void *)self;
  size_t i = c->out;
  while (i-- > 0 && c->blocks[i] != block) {
  }
  assert_true(i < c->out); /* a block that is out */
  assert_int_equal(c->sizes[i], size);
  c->out--;
  c->blocks[i] = c->blocks[c->out];
  c->sizes[i] = c->sizes[c->out];
  c->puts++;
  c->bytes -= size;
  page_memory_free(block, size);
}

static inline toft_source *counted_init(counted *c) {
  memset(c, 0, sizeof *c);
  c->source.take = counted_take;
  c->source.put = counted_put;
  return &c->source;
}

static inline void counted_all_back(const counted *c) {
  assert_int_equal(c->out, 0);
  assert_int_equal(c->bytes, 0);
  assert_int_equal(c->takes, c->puts);
}

static inline toft_arena *arena_on(toft_source *source) {
  toft_options o = TOFT_OPTIONS;
  o.source = source;
  toft_arena *a = toft_create_with(&o);
  assert_non_null(a);
  return a;
}

/* Deliberate invalid accesses, which the sanitizers ignore. */
#if defined(__clang__)
#define UNWATCHED __attribute__((noinline, unused, no_sanitize("address", "memory", "undefined")))
#elif defined(__GNUC__)
#define UNWATCHED __attribute__((noinline, unused, no_sanitize("address", "undefined")))
#else
#define UNWATCHED inline
#endif
#if defined(__linux__) && defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define LOOK_AWAY() VALGRIND_DISABLE_ERROR_REPORTING
#define LOOK_AGAIN() VALGRIND_ENABLE_ERROR_REPORTING
#define BELIEVE(x) VALGRIND_MAKE_MEM_DEFINED(&(x), sizeof(x))
#endif
#endif
#ifndef LOOK_AWAY
#define LOOK_AWAY() ((void)0)
#define LOOK_AGAIN() ((void)0)
#define BELIEVE(x) ((void)0)
#endif

static UNWATCHED void write_wrongly(void *p, ptrdiff_t at) {
  volatile unsigned char *q = (volatile unsigned char *)p + at;
  LOOK_AWAY();
  *q = (unsigned char)(*q ^ 1);
  LOOK_AGAIN();
}

static UNWATCHED void write_text(char *to, const char *text, size_t n) {
  volatile char *q = to;
  LOOK_AWAY();
  for (size_t i = 0; i < n; i++) q[i] = text[i];
  LOOK_AGAIN();
}

/* Are they all that byte? */
static UNWATCHED int holds_wrongly(const void *p, size_t n, unsigned char byte) {
  const volatile unsigned char *q = (const volatile unsigned char *)p;
  int all = 1;
  LOOK_AWAY();
  for (size_t i = 0; i < n; i++) all = all && q[i] == byte;
  BELIEVE(all);
  LOOK_AGAIN();
  return all;
}

static inline int is_aligned(const void *p, size_t align) { return ((uintptr_t)p & (align - 1)) == 0; }

static inline void fill(void *p, size_t n, unsigned seed) {
  unsigned char *q = (unsigned char *)p;
  for (size_t i = 0; i < n; i++) q[i] = (unsigned char)(seed * 31u + i * 7u + 1u);
}

static inline int filled(const void *p, size_t n, unsigned seed) {
  const unsigned char *q = (const unsigned char *)p;
  for (size_t i = 0; i < n; i++)
    if (q[i] != (unsigned char)(seed * 31u + i * 7u + 1u)) return 0;
  return 1;
}

/* A small, seeded generator: streams must repeat. */
static inline uint32_t next_random(uint32_t *state) {
  uint32_t x = *state;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return *state = x;
}

static inline int long_run(void) {
  const char *s = getenv("TOFT_LONG");
  return s != NULL && s[0] == '1';
}

/* In user-mode emulation, and with a sanitizer, whose allocator's locks a fork may leave taken. */
static inline void skip_where_forks_among_threads_stop(void) {
#if defined(HAS_ASAN) || defined(HAS_MSAN) || defined(HAS_TSAN)
  skip();
#endif
  if (getenv("TOFT_EMULATED") != NULL) skip();
}

/* Rounds of a test: fewer where an emulator, AddressSanitizer or Valgrind runs it. */
static inline size_t rounds_of(size_t rounds) {
  return getenv("TOFT_EMULATED") != NULL ? rounds / 8 : getenv("TOFT_SHORT") != NULL ? rounds / 4 : rounds;
}

/* Bytes that a recycler counts for an object: a multiple of its alignment and of 8 up to 128, of an eighth of the power
 * of two below up to 4096, a part of a unit up to 16112; large objects have a multiple of 8. */
static inline size_t recycler_bytes(size_t size, size_t align) {
  static const size_t parts[] = {4592, 5360, 6448, 8048, 10736, 16112};
  size_t step = 8, power = 128, i = 0, rounded;
  if (align < 8) align = 8;
  if (size == 0) size = 1;
  rounded = (size + align - 1) / align * align;
  if (align > 64 || rounded > (align > 16 ? 4096 : 16112)) return (size + 7) / 8 * 8;
  if (rounded > 4096) {
    while (parts[i] < rounded) i++;
    return parts[i];
  }
  for (; rounded > power; power *= 2) step = power / 8;
  return (rounded + step - 1) / step * step;
}

#endif
