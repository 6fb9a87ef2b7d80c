/* Toft 0.1.0, the header of two files. Made by scripts/amalgamate: do not edit.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */

#ifndef TOFT_H
#define TOFT_H
#include <stdarg.h>
/* ==== toft/abi.h ==== */
/* The Toft arena ABI, version 1. Copy this file into any project, guard included; SPEC.md has the meaning of each
 * member. Allocate inline: if (limit - cursor < size) call ops->alloc; else p = cursor, cursor += round_up(size, 8).
 * From 0.1.0 on these structures never change: additions come in headers of their own, as toft_abi_info.h. */
#ifndef TOFT_ABI
#define TOFT_ABI 1
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct toft_arena toft_arena;
typedef struct toft_mark { /* a point to rewind to: {arena->cursor, arena->epoch & ~1}, read inline */
  unsigned char *cursor;
  uintptr_t epoch;
} toft_mark;
typedef struct toft_range { /* a claimed range; its holder alone moves cursor, byte by byte if it likes */
  unsigned char *cursor, *limit;
  uintptr_t claim; /* set by the provider; 0: nothing is claimed */
} toft_range;
typedef struct toft_cleanup { /* fn == NULL: cancelled */
  void (*fn)(void *arg);
  void *arg;
} toft_cleanup;
typedef struct toft_stats { /* bytes, but for the last two */
  uint64_t live, allocated, peak, budget, reserved, wasted, blocks, source_calls;
} toft_stats;
/* flags of alloc and resize: zero the new bytes; fail rather than move */
enum { TOFT_ZERO = 1, TOFT_STAY = 2 };
/* policies of reset: keep the recent high-water mark, everything, or `keep` bytes */
enum { TOFT_KEEP_RECENT = 0, TOFT_KEEP_ALL = 1, TOFT_KEEP_BYTES = 2 };
/* what ops->set can change */
enum { TOFT_SET_BUDGET = 1, TOFT_SET_TAG = 2, TOFT_SET_SAMPLE = 3, TOFT_SET_CHECKED = 4 };
/* results; a failure leaves the arena as it was. ECORRUPT: done, and a checked arena found bytes written outside an
 * allocation */
enum { TOFT_OK = 0, TOFT_ENOMEM = -1, TOFT_EMARK = -2, TOFT_EBUSY = -3, TOFT_EARG = -4, TOFT_ENOSYS = -5 };
enum { TOFT_ECORRUPT = -6 };
typedef struct toft_arena_ops {
  uint32_t size;    /* bytes of the table that the provider filled in */
  uint32_t version; /* 1 */
  void *(*alloc)(toft_arena *, size_t size, size_t align, uint32_t flags, uintptr_t site);
  void *(*resize)(toft_arena *, void *p, size_t old_size, size_t new_size, size_t align, uint32_t flags,
                  uintptr_t site);
  void (*free)(toft_arena *, void *p, size_t size); /* may be NULL */
  int (*rewind)(toft_arena *, unsigned char *cursor, uintptr_t epoch);
  int (*reset)(toft_arena *, uint32_t policy, size_t keep);
  void (*trim)(toft_arena *, size_t keep);
  toft_cleanup *(*cleanup)(toft_arena *, void (*fn)(void *), void *arg);
  void *(*claim)(toft_arena *, toft_range *, size_t size, size_t align);
  int (*give)(toft_arena *, toft_range *);
  int (*contains)(const toft_arena *, const void *p);
  size_t (*stats)(toft_arena *, toft_stats *out, size_t out_size);
  int (*set)(toft_arena *, uint32_t what, uint64_t value, const char *name, size_t name_len);
  void (*release)(toft_arena *);
} toft_arena_ops;
struct toft_arena {          /* pinned: never copied, never moved */
  unsigned char *cursor;     /* next free byte; a multiple of 8, never NULL */
  const toft_arena_ops *ops; /* read again for every call: the provider may swap it */
  unsigned char *limit;      /* end of the bytes for the inline path; a multiple of 8, cursor <= limit */
  uintptr_t epoch;           /* bit 0: instrumented, so rewind, resize and free go through ops */
};
#define TOFT_STATIC_ASSERT(name, cond) typedef char toft_assert_##name[(cond) ? 1 : -1]
TOFT_STATIC_ASSERT(head, sizeof(struct toft_arena) == 4 * sizeof(void *));
TOFT_STATIC_ASSERT(ops, offsetof(struct toft_arena, ops) == sizeof(void *));
TOFT_STATIC_ASSERT(limit, offsetof(struct toft_arena, limit) == 2 * sizeof(void *));
TOFT_STATIC_ASSERT(epoch, offsetof(struct toft_arena, epoch) == 3 * sizeof(void *));
TOFT_STATIC_ASSERT(table, sizeof(toft_arena_ops) == 8 + 13 * sizeof(void *));
TOFT_STATIC_ASSERT(mark, sizeof(toft_mark) == 2 * sizeof(void *));
TOFT_STATIC_ASSERT(range, sizeof(toft_range) == 3 * sizeof(void *));
TOFT_STATIC_ASSERT(stats, sizeof(toft_stats) == 64);
TOFT_STATIC_ASSERT(word, sizeof(size_t) == sizeof(void *) && sizeof(uintptr_t) == sizeof(void *));
#ifdef __cplusplus
}
#endif
#endif

/* ==== toft/abi_info.h ==== */
#ifndef TOFT_ABI_INFO
#define TOFT_ABI_INFO 1
#ifndef TOFT_ABI
#error "include toft_abi.h before toft_abi_info.h"
#endif
#ifdef __cplusplus
extern "C" {
#endif
typedef struct toft_provider_info {
  const char *name;
  const char *version;
  int (*query)(const toft_arena *, uint32_t what, uint64_t *value);
} toft_provider_info;
typedef struct toft_info_ops {
  toft_arena_ops ops;
  const toft_provider_info *info;
  const toft_arena_ops *under;
} toft_info_ops;
static inline const toft_provider_info *toft_info_of(const toft_arena *a) {
  return a->ops->size >= sizeof(toft_info_ops) ? ((const toft_info_ops *)(const void *)a->ops)->info : NULL;
}
TOFT_STATIC_ASSERT(provider_info, sizeof(toft_provider_info) == 3 * sizeof(void *));
TOFT_STATIC_ASSERT(info_ops, offsetof(toft_info_ops, info) == 8 + 13 * sizeof(void *));
TOFT_STATIC_ASSERT(info_under, sizeof(toft_info_ops) == 8 + 15 * sizeof(void *));
#ifdef __cplusplus
}
#endif
#endif
#ifndef TOFT_BUDGET_H
#define TOFT_BUDGET_H
#ifndef TOFT_COMPILER_H
#define TOFT_COMPILER_H
#if !defined(TOFT_NO_LIBC) && defined(__has_include)
#if !__has_include(<string.h>)
#define TOFT_NO_LIBC 1
#endif
#endif
#ifdef TOFT_NO_LIBC
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *p, int byte, size_t size);
int memcmp(const void *p, const void *q, size_t size);
void *memchr(const void *p, int byte, size_t size);
size_t strlen(const char *s);
#ifdef __cplusplus
}
#endif
#else
#include <string.h>
#endif
#if defined(__GNUC__) || defined(__clang__)
#define TOFT_LIKELY(x) __builtin_expect(!!(x), 1)
#define TOFT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TOFT_CONSTANT(x) __builtin_constant_p(x)
#define TOFT_ASSUME(x) ((x) ? (void)0 : __builtin_unreachable())
#define TOFT_SEPARATE_ACCESSES() \
  __asm__ volatile("" : : : "memory")
#define TOFT_INLINE static inline __attribute__((always_inline, unused))
#define TOFT_NODISCARD __attribute__((warn_unused_result))
#define TOFT_FORMAT(fmt, first) __attribute__((format(printf, fmt, first)))
#define TOFT_SIZED(n) __attribute__((alloc_size(n)))
#define TOFT_SIZED2(n, m) __attribute__((alloc_size(n, m)))
#define TOFT_AT_EXIT(fn) __attribute__((cleanup(fn), unused))
#define TOFT_COLD __attribute__((noinline, cold))
#define TOFT_RARE __attribute__((cold))
#define TOFT_NOINLINE __attribute__((noinline))
#define TOFT_UNUSED __attribute__((unused))
#ifdef __wasm__
#define TOFT_CALLER() ((uintptr_t)0)
#else
#define TOFT_CALLER() ((uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)))
#endif
#else
#define TOFT_LIKELY(x) (x)
#define TOFT_UNLIKELY(x) (x)
#define TOFT_CONSTANT(x) 0
#define TOFT_ASSUME(x) ((void)0)
#define TOFT_SEPARATE_ACCESSES() ((void)0)
#define TOFT_INLINE static inline
#define TOFT_NODISCARD
#define TOFT_FORMAT(fmt, first)
#define TOFT_SIZED(n)
#define TOFT_SIZED2(n, m)
#define TOFT_COLD
#define TOFT_RARE
#define TOFT_NOINLINE
#define TOFT_UNUSED
#if defined(_MSC_VER)
#include <intrin.h>
#define TOFT_CALLER() ((uintptr_t)_ReturnAddress())
#else
#define TOFT_CALLER() ((uintptr_t)0)
#endif
#endif
TOFT_INLINE uint32_t toft_lowest_bit(uint64_t n) {
#if defined(__GNUC__) || defined(__clang__)
  return (uint32_t)__builtin_ctzll(n);
#else
  uint32_t bit = 0, step;
  for (step = 32; step != 0; step /= 2)
    if ((n & (((uint64_t)1 << step) - 1)) == 0) n >>= step, bit += step;
  return bit;
#endif
}
#if defined(__cplusplus) && defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::lifetimebound)
#define TOFT_LIFETIMEBOUND [[clang::lifetimebound]]
#endif
#elif defined(__clang__) && __clang_major__ >= 23
#define TOFT_LIFETIMEBOUND __attribute__((lifetimebound))
#endif
#ifndef TOFT_LIFETIMEBOUND
#define TOFT_LIFETIMEBOUND
#endif
#if defined(TOFT_STATIC)
#define TOFT_API static TOFT_UNUSED
#elif defined(_WIN32) && defined(TOFT_SHARED)
#ifdef TOFT_BUILD
#define TOFT_API extern __declspec(dllexport)
#else
#define TOFT_API extern __declspec(dllimport)
#endif
#elif defined(__GNUC__) || defined(__clang__)
#define TOFT_API extern __attribute__((visibility("default")))
#else
#define TOFT_API extern
#endif
#ifdef __cplusplus
#define TOFT_ALIGNOF(T) alignof(T)
#define TOFT_THREAD_LOCAL thread_local
#elif defined(__GNUC__) && __STDC_VERSION__ < 201112L
#define TOFT_ALIGNOF(T) __alignof__(T)
#define TOFT_THREAD_LOCAL __thread
#else
#define TOFT_ALIGNOF(T) _Alignof(T)
#define TOFT_THREAD_LOCAL _Thread_local
#endif
#ifdef TOFT_NO_OS
#undef TOFT_THREAD_LOCAL
#define TOFT_THREAD_LOCAL
#endif
#define TOFT_PASTE_(a, b) a##b
#define TOFT_PASTE(a, b) TOFT_PASTE_(a, b)
#ifdef TOFT_PREFIX
#define toft_adopt TOFT_PASTE(TOFT_PREFIX, toft_adopt)
#define toft_at_place TOFT_PASTE(TOFT_PREFIX, toft_at_place)
#define toft_background_thread TOFT_PASTE(TOFT_PREFIX, toft_background_thread)
#define toft_blocks TOFT_PASTE(TOFT_PREFIX, toft_blocks)
#define toft_budget_charge TOFT_PASTE(TOFT_PREFIX, toft_budget_charge)
#define toft_budget_create TOFT_PASTE(TOFT_PREFIX, toft_budget_create)
#define toft_budget_get_live_stats TOFT_PASTE(TOFT_PREFIX, toft_budget_get_live_stats)
#define toft_budget_get_stats TOFT_PASTE(TOFT_PREFIX, toft_budget_get_stats)
#define toft_budget_limit_live TOFT_PASTE(TOFT_PREFIX, toft_budget_limit_live)
#define toft_budget_name TOFT_PASTE(TOFT_PREFIX, toft_budget_name)
#define toft_budget_parent TOFT_PASTE(TOFT_PREFIX, toft_budget_parent)
#define toft_budget_release TOFT_PASTE(TOFT_PREFIX, toft_budget_release)
#define toft_budget_set_limit TOFT_PASTE(TOFT_PREFIX, toft_budget_set_limit)
#define toft_budget_source TOFT_PASTE(TOFT_PREFIX, toft_budget_source)
#define toft_budget_uncharge TOFT_PASTE(TOFT_PREFIX, toft_budget_uncharge)
#define toft_cache_bytes TOFT_PASTE(TOFT_PREFIX, toft_cache_bytes)
#define toft_cache_limit TOFT_PASTE(TOFT_PREFIX, toft_cache_limit)
#define toft_cache_trim TOFT_PASTE(TOFT_PREFIX, toft_cache_trim)
#define toft_clear_report TOFT_PASTE(TOFT_PREFIX, toft_clear_report)
#define toft_create TOFT_PASTE(TOFT_PREFIX, toft_create)
#define toft_create_in TOFT_PASTE(TOFT_PREFIX, toft_create_in)
#define toft_create_with TOFT_PASTE(TOFT_PREFIX, toft_create_with)
#define toft_current TOFT_PASTE(TOFT_PREFIX, toft_current)
#define toft_current_calloc TOFT_PASTE(TOFT_PREFIX, toft_current_calloc)
#define toft_current_free TOFT_PASTE(TOFT_PREFIX, toft_current_free)
#define toft_current_malloc TOFT_PASTE(TOFT_PREFIX, toft_current_malloc)
#define toft_current_realloc TOFT_PASTE(TOFT_PREFIX, toft_current_realloc)
#define toft_current_swap TOFT_PASTE(TOFT_PREFIX, toft_current_swap)
#define toft_error_name TOFT_PASTE(TOFT_PREFIX, toft_error_name)
#define toft_findings TOFT_PASTE(TOFT_PREFIX, toft_findings)
#define toft_heap TOFT_PASTE(TOFT_PREFIX, toft_heap)
#define toft_heap_trim TOFT_PASTE(TOFT_PREFIX, toft_heap_trim)
#define toft_held_bytes TOFT_PASTE(TOFT_PREFIX, toft_held_bytes)
#define toft_hook_calloc TOFT_PASTE(TOFT_PREFIX, toft_hook_calloc)
#define toft_hook_free TOFT_PASTE(TOFT_PREFIX, toft_hook_free)
#define toft_hook_malloc TOFT_PASTE(TOFT_PREFIX, toft_hook_malloc)
#define toft_hook_realloc TOFT_PASTE(TOFT_PREFIX, toft_hook_realloc)
#define toft_lazy_create TOFT_PASTE(TOFT_PREFIX, toft_lazy_create)
#define toft_limited_source_init TOFT_PASTE(TOFT_PREFIX, toft_limited_source_init)
#define toft_next_cleanup TOFT_PASTE(TOFT_PREFIX, toft_next_cleanup)
#define toft_on_finding TOFT_PASTE(TOFT_PREFIX, toft_on_finding)
#define toft_on_refusal TOFT_PASTE(TOFT_PREFIX, toft_on_refusal)
#define toft_pack_bytes TOFT_PASTE(TOFT_PREFIX, toft_pack_bytes)
#define toft_pack_grow TOFT_PASTE(TOFT_PREFIX, toft_pack_grow)
#define toft_page_cache_age TOFT_PASTE(TOFT_PREFIX, toft_page_cache_age)
#define toft_page_cache_bytes TOFT_PASTE(TOFT_PREFIX, toft_page_cache_bytes)
#define toft_page_cache_limit TOFT_PASTE(TOFT_PREFIX, toft_page_cache_limit)
#define toft_page_cache_window TOFT_PASTE(TOFT_PREFIX, toft_page_cache_window)
#define toft_page_source_init TOFT_PASTE(TOFT_PREFIX, toft_page_source_init)
#define toft_page_source_trim TOFT_PASTE(TOFT_PREFIX, toft_page_source_trim)
#define toft_phase_begin_slow TOFT_PASTE(TOFT_PREFIX, toft_phase_begin_slow)
#define toft_phase_end_slow TOFT_PASTE(TOFT_PREFIX, toft_phase_end_slow)
#define toft_phases TOFT_PASTE(TOFT_PREFIX, toft_phases)
#define toft_pin TOFT_PASTE(TOFT_PREFIX, toft_pin)
#define toft_printf TOFT_PASTE(TOFT_PREFIX, toft_printf)
#define toft_quarantine_trim TOFT_PASTE(TOFT_PREFIX, toft_quarantine_trim)
#define toft_reserve TOFT_PASTE(TOFT_PREFIX, toft_reserve)
#define toft_reserve_source_init TOFT_PASTE(TOFT_PREFIX, toft_reserve_source_init)
#define toft_reserve_source_release TOFT_PASTE(TOFT_PREFIX, toft_reserve_source_release)
#define toft_set_metered TOFT_PASTE(TOFT_PREFIX, toft_set_metered)
#define toft_set_sampling_seed TOFT_PASTE(TOFT_PREFIX, toft_set_sampling_seed)
#define toft_set_soft_budget TOFT_PASTE(TOFT_PREFIX, toft_set_soft_budget)
#define toft_set_tag_budget TOFT_PASTE(TOFT_PREFIX, toft_set_tag_budget)
#define toft_set_unwinder TOFT_PASTE(TOFT_PREFIX, toft_set_unwinder)
#define toft_site TOFT_PASTE(TOFT_PREFIX, toft_site)
#define toft_sites TOFT_PASTE(TOFT_PREFIX, toft_sites)
#define toft_snapshot TOFT_PASTE(TOFT_PREFIX, toft_snapshot)
#define toft_snapshot_text TOFT_PASTE(TOFT_PREFIX, toft_snapshot_text)
#define toft_symbolize TOFT_PASTE(TOFT_PREFIX, toft_symbolize)
#define toft_tag_pop_slow TOFT_PASTE(TOFT_PREFIX, toft_tag_pop_slow)
#define toft_tag_push_slow TOFT_PASTE(TOFT_PREFIX, toft_tag_push_slow)
#define toft_tags TOFT_PASTE(TOFT_PREFIX, toft_tags)
#define toft_version TOFT_PASTE(TOFT_PREFIX, toft_version)
#define toft_vprintf TOFT_PASTE(TOFT_PREFIX, toft_vprintf)
#define toft_write_profile TOFT_PASTE(TOFT_PREFIX, toft_write_profile)
#endif
#endif
#ifdef __cplusplus
extern "C" {
#endif
struct toft_source;
typedef struct toft_budget toft_budget;
typedef int toft_budget_fn(void *arg, toft_budget *b, size_t size);
typedef struct toft_budget_options {
  size_t size;
  const char *name;
  toft_budget *parent;
  struct toft_source *source;
  size_t limit;
  toft_budget_fn *refused;
  void *refused_arg;
} toft_budget_options;
#define TOFT_BUDGET_OPTIONS \
  { sizeof(toft_budget_options), NULL, NULL, NULL, SIZE_MAX, NULL, NULL }
typedef struct toft_budget_stats {
  uint64_t limit;
  uint64_t reserved;
  uint64_t peak;
  uint64_t available;
  uint64_t refusals;
  uint64_t children;
} toft_budget_stats;
typedef struct toft_budget_live_stats {
  uint64_t limit;
  uint64_t live;
  uint64_t peak;
  uint64_t available;
  uint64_t parked;
  uint64_t refusals;
} toft_budget_live_stats;
TOFT_API TOFT_NODISCARD toft_budget *toft_budget_create(const toft_budget_options *options);
TOFT_API int toft_budget_release(toft_budget *b);
TOFT_API struct toft_source *toft_budget_source(toft_budget *b);
TOFT_API void toft_budget_set_limit(toft_budget *b, size_t limit);
TOFT_API int toft_budget_limit_live(toft_budget *b, size_t limit);
TOFT_API toft_budget_live_stats toft_budget_get_live_stats(const toft_budget *b);
TOFT_API TOFT_NODISCARD int toft_budget_charge(toft_budget *b, size_t size);
TOFT_API int toft_budget_uncharge(toft_budget *b, size_t size);
TOFT_API toft_budget_stats toft_budget_get_stats(const toft_budget *b);
TOFT_API const char *toft_budget_name(const toft_budget *b);
TOFT_API toft_budget *toft_budget_parent(const toft_budget *b);
#ifdef __cplusplus
}
#endif
#endif
#ifndef TOFT_FINDINGS_H
#define TOFT_FINDINGS_H
#ifdef __cplusplus
extern "C" {
#endif
enum {
  TOFT_FOUND_OVERRUN = 1,
  TOFT_FOUND_UNDERRUN = 2,
  TOFT_FOUND_LATE_WRITE = 3,
  TOFT_FOUND_DOUBLE_FREE = 4,
  TOFT_FOUND_WRONG_SIZE = 5,
  TOFT_FOUND_FOREIGN = 6,
  TOFT_FOUND_STALE_MARK = 7,
  TOFT_FOUND_WRONG_THREAD = 8,
  TOFT_FOUND_TWO_THREADS = 9,
  TOFT_FOUND_RELEASED = 10,
  TOFT_FOUND_NOT_RELEASED = 11,
  TOFT_FOUND_OVER_BUDGET = 12,
  TOFT_FOUND_OUTSIDE = 14
};
typedef struct toft_moment {
  const char *call;
  const char *place;
  uintptr_t site;
  size_t thread;
} toft_moment;
typedef struct toft_finding {
  int kind;
  const char *message;
  toft_arena *arena;
  const void *address;
  size_t size;
  ptrdiff_t offset;
  toft_moment allocated, returned, noticed;
  size_t length;
  const unsigned char *bytes;
} toft_finding;
typedef void toft_finding_fn(void *arg, const toft_finding *finding);
TOFT_API void toft_on_finding(toft_finding_fn *fn, void *arg);
TOFT_API int toft_findings(toft_arena *a, toft_finding_fn *fn, void *arg);
TOFT_API void toft_quarantine_trim(void);
TOFT_API int toft_pin(toft_arena *a, int on);
TOFT_API uintptr_t toft_site(const char *place);
TOFT_INLINE toft_arena *toft_at(toft_arena *a TOFT_LIFETIMEBOUND, const char *place);
#ifndef TOFT_OMIT_CHECKS
TOFT_API void toft_at_place(toft_arena *a, const char *place);
#endif
TOFT_INLINE toft_arena *toft_at(toft_arena *a, const char *place) {
#ifndef TOFT_OMIT_CHECKS
  if (TOFT_UNLIKELY(a != NULL && (a->epoch & 1))) toft_at_place(a, place);
#endif
  (void)place;
  return a;
}
#ifdef __cplusplus
}
#endif
#endif
#ifndef TOFT_INLINE_H
#define TOFT_INLINE_H
#ifdef __cplusplus
extern "C" {
#endif
#define TOFT_ROUND8(n) (((n) + 7u) & ~(size_t)7)
TOFT_INLINE TOFT_NODISCARD TOFT_SIZED(2) void *toft_alloc(toft_arena *a TOFT_LIFETIMEBOUND, size_t size) {
  unsigned char *p = a->cursor;
  if (TOFT_UNLIKELY((size_t)(a->limit - p) < size)) return a->ops->alloc(a, size, 8, 0, 0);
  a->cursor = p + TOFT_ROUND8(size);
  TOFT_ASSUME(p != NULL);
  return p;
}
#define TOFT_OPS_ALIGN(align) ((align) < 8 && ((align) & ((align)-1)) != 0 ? 8 : (align))
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
    p = (unsigned char *)q;
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
TOFT_INLINE TOFT_NODISCARD TOFT_SIZED(4) void *toft_resize(toft_arena *a TOFT_LIFETIMEBOUND, void *p, size_t old_size,
                                                           size_t new_size, size_t align) {
  unsigned char *q = (unsigned char *)p;
  if (TOFT_LIKELY(q != NULL && !(a->epoch & 1) && (size_t)(a->cursor - q) == TOFT_ROUND8(old_size) &&
                  (size_t)(a->limit - q) >= new_size && ((uintptr_t)q & (align - 1)) == 0 &&
                  (align & (align - 1)) == 0)) {
    a->cursor += (ptrdiff_t)(TOFT_ROUND8(new_size) -
                             TOFT_ROUND8(old_size));
    return p;
  }
  if (q == NULL) old_size = 0;
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
  r->cursor += (size_t)(0 - (uintptr_t)r->cursor) & 7u;
}
typedef struct toft_scope {
  toft_arena *arena;
  toft_mark mark;
} toft_scope;
TOFT_INLINE toft_scope toft_scope_begin(toft_arena *a) {
  toft_scope s;
  s.arena = a;
  s.mark = toft_mark_here(a);
  return s;
}
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
#ifndef TOFT_LAZY_H
#define TOFT_LAZY_H
#ifdef __cplusplus
extern "C" {
#endif
typedef struct toft_lazy {
  toft_arena *arena;
} toft_lazy;
TOFT_API toft_arena *toft_lazy_create(toft_lazy *l);
TOFT_INLINE toft_arena *toft_lazy_arena(toft_lazy *l TOFT_LIFETIMEBOUND) {
  return TOFT_LIKELY(l->arena != NULL) ? l->arena : toft_lazy_create(l);
}
TOFT_INLINE TOFT_NODISCARD void *toft_lazy_alloc(toft_lazy *l TOFT_LIFETIMEBOUND, size_t size, size_t align) {
  toft_arena *a = toft_lazy_arena(l);
  return TOFT_LIKELY(a != NULL) ? toft_alloc_aligned(a, size, align) : NULL;
}
#define toft_lazy_new(l, T) ((T *)toft_lazy_alloc((l), sizeof(T), TOFT_ALIGNOF(T)))
TOFT_INLINE void toft_lazy_reset(toft_lazy *l) {
  if (l->arena != NULL) toft_reset(l->arena);
}
TOFT_INLINE void toft_lazy_release(toft_lazy *l) {
  if (l->arena != NULL) toft_release(l->arena);
  l->arena = NULL;
}
#ifdef __cplusplus
}
#endif
#endif
#ifndef TOFT_METER_H
#define TOFT_METER_H
#ifndef TOFT_SYMBOL_H
#define TOFT_SYMBOL_H
#ifdef __cplusplus
extern "C" {
#endif
typedef struct toft_symbol {
  const char *function;
  size_t offset;
  const char *module;
  size_t module_offset;
  const char *file;
  unsigned line;
} toft_symbol;
typedef int toft_symbolize_fn(void *arg, const void *address, toft_symbol *symbol);
TOFT_API int toft_symbolize(void *arg, const void *address, toft_symbol *symbol);
#ifdef __cplusplus
}
#endif
#endif
#ifdef __cplusplus
extern "C" {
#endif
TOFT_API int toft_set_metered(toft_arena *a, int on);
TOFT_INLINE int toft_tag_push(toft_arena *a, const char *name);
TOFT_INLINE void toft_tag_pop(toft_arena *a);
#ifdef TOFT_AT_EXIT
#define TOFT_TAG(a, name) TOFT_TAG_NAMED(a, name, TOFT_PASTE(toft_tag_, __COUNTER__))
#define TOFT_TAG_NAMED(a, name, t) toft_tag t TOFT_AT_EXIT(toft_tag_end) = toft_tag_begin(a, name)
#endif
TOFT_INLINE int toft_set_tag(toft_arena *a, uint64_t number, const char *path);
typedef struct toft_phase {
  const char *name;
  uint64_t allocated, live;
} toft_phase;
TOFT_INLINE toft_phase toft_phase_begin(toft_arena *a, const char *name);
TOFT_INLINE void toft_phase_end(toft_arena *a, toft_phase *p);
#ifdef TOFT_AT_EXIT
#define TOFT_PHASE(a, name) TOFT_PHASE_NAMED(a, name, TOFT_PASTE(toft_phase_, __COUNTER__))
#define TOFT_PHASE_NAMED(a, name, p) toft_phase_scope p TOFT_AT_EXIT(toft_phase_leave) = toft_phase_enter(a, name)
#endif
typedef void toft_soft_budget_fn(void *arg, toft_arena *a, uint64_t live, uint64_t budget);
TOFT_API int toft_set_soft_budget(toft_arena *a, uint64_t bytes, toft_soft_budget_fn *fn, void *arg);
typedef uint64_t toft_refusal_fn(void *arg, toft_arena *a, uint64_t live, uint64_t budget, size_t size);
TOFT_API int toft_on_refusal(toft_arena *a, toft_refusal_fn *fn, void *arg);
TOFT_API int toft_set_tag_budget(toft_arena *a, const char *path, uint64_t bytes);
TOFT_INLINE int toft_set_sampling(toft_arena *a, uint64_t bytes);
TOFT_API int toft_set_sampling_seed(toft_arena *a, uint64_t seed);
typedef size_t toft_unwind_fn(void *arg, void **stack, size_t max);
TOFT_API int toft_set_unwinder(toft_arena *a, toft_unwind_fn *fn, void *arg);
typedef struct toft_tag_report {
  const char *name;
  const uint64_t *number;
  uint64_t live, allocated, budget;
} toft_tag_report;
typedef struct toft_phase_report {
  const char *name;
  uint64_t entries;
  uint64_t allocated;
  int64_t kept;
} toft_phase_report;
typedef struct toft_site_report {
  uintptr_t site;
  const char *tag;
  uint64_t count;
  uint64_t bytes;
  const void *const *stack;
  size_t depth;
} toft_site_report;
TOFT_API int toft_tags(toft_arena *a, int (*fn)(void *arg, const toft_tag_report *tag), void *arg);
TOFT_API int toft_phases(toft_arena *a, int (*fn)(void *arg, const toft_phase_report *phase), void *arg);
TOFT_API int toft_sites(toft_arena *a, int (*fn)(void *arg, const toft_site_report *site), void *arg);
TOFT_API int toft_clear_report(toft_arena *a);
enum {
  TOFT_SNAPSHOT_CLEAR = 1,
  TOFT_SNAPSHOT_DWARF = 2,
  TOFT_SNAPSHOT_ADDRESSES = 4
};
typedef struct toft_snapshot_options {
  size_t size;
  uint32_t flags;
  toft_symbolize_fn *symbolizer;
  void *symbolizer_arg;
} toft_snapshot_options;
#define TOFT_SNAPSHOT_OPTIONS { sizeof(toft_snapshot_options), 0, NULL, NULL }
typedef int toft_write_fn(void *arg, const char *bytes, size_t size);
TOFT_API int toft_snapshot(toft_arena *a, const toft_snapshot_options *options, toft_write_fn *write, void *arg);
TOFT_API size_t toft_snapshot_text(toft_arena *a, const toft_snapshot_options *options, char *text, size_t size);
TOFT_API int toft_write_profile(void);
TOFT_API int toft_tag_push_slow(toft_arena *a, const char *name);
TOFT_API void toft_tag_pop_slow(toft_arena *a);
TOFT_API toft_phase toft_phase_begin_slow(toft_arena *a, const char *name);
TOFT_API void toft_phase_end_slow(toft_arena *a, toft_phase *p);
TOFT_INLINE int toft_tag_push(toft_arena *a, const char *name) {
  return TOFT_UNLIKELY(a->epoch & 1) ? toft_tag_push_slow(a, name) : TOFT_OK;
}
TOFT_INLINE void toft_tag_pop(toft_arena *a) {
  if (TOFT_UNLIKELY(a->epoch & 1)) toft_tag_pop_slow(a);
}
typedef struct toft_tag {
  toft_arena *arena;
} toft_tag;
TOFT_INLINE toft_tag toft_tag_begin(toft_arena *a, const char *name) {
  toft_tag t;
  t.arena = a;
  (void)toft_tag_push(a, name);
  return t;
}
TOFT_INLINE void toft_tag_end(toft_tag *t) {
  if (t->arena != NULL) toft_tag_pop(t->arena);
  t->arena = NULL;
}
TOFT_INLINE int toft_set_tag(toft_arena *a, uint64_t number, const char *path) {
  return a->ops->set(a, TOFT_SET_TAG, number, path, path != NULL ? strlen(path) : 0);
}
TOFT_INLINE toft_phase toft_phase_begin(toft_arena *a, const char *name) {
  toft_phase p = {NULL, 0, 0};
  if (TOFT_UNLIKELY(a->epoch & 1)) p = toft_phase_begin_slow(a, name);
  return p;
}
TOFT_INLINE void toft_phase_end(toft_arena *a, toft_phase *p) {
  if (TOFT_UNLIKELY(p->name != NULL)) toft_phase_end_slow(a, p);
}
typedef struct toft_phase_scope {
  toft_arena *arena;
  toft_phase phase;
} toft_phase_scope;
TOFT_INLINE toft_phase_scope toft_phase_enter(toft_arena *a, const char *name) {
  toft_phase_scope s;
  s.arena = a;
  s.phase = toft_phase_begin(a, name);
  return s;
}
TOFT_INLINE void toft_phase_leave(toft_phase_scope *s) {
  if (s->arena != NULL) toft_phase_end(s->arena, &s->phase);
  s->arena = NULL;
}
TOFT_INLINE int toft_set_sampling(toft_arena *a, uint64_t bytes) {
  return a->ops->set(a, TOFT_SET_SAMPLE, bytes, NULL, 0);
}
#ifdef __cplusplus
}
#endif
#endif
#ifdef __cplusplus
extern "C" {
#endif
#define TOFT_VERSION "0.1.0"
TOFT_API const char *toft_version(void);
TOFT_API const char *toft_error_name(int code);
typedef struct toft_source toft_source;
struct toft_source {
  void *(*take)(toft_source *self, size_t size);
  void (*put)(toft_source *self, void *block, size_t size);
  int (*extend)(toft_source *self, void *block, size_t size, size_t want);
};
TOFT_API toft_source *toft_heap(void);
enum { TOFT_PAGES_HUGE = 1, TOFT_PAGES_LAZY = 2 };
typedef struct toft_page_source {
  toft_source source;
  uint32_t flags;
  void *kept;
  size_t kept_bytes;
} toft_page_source;
TOFT_API toft_source *toft_page_source_init(toft_page_source *pages TOFT_LIFETIMEBOUND, uint32_t flags);
TOFT_API void toft_page_source_trim(toft_page_source *pages);
typedef struct toft_reserve_source {
  toft_source source;
  unsigned char *base;
  size_t max, committed;
  int taken;
} toft_reserve_source;
TOFT_API toft_source *toft_reserve_source_init(toft_reserve_source *reserve TOFT_LIFETIMEBOUND, size_t max);
TOFT_API void toft_reserve_source_release(toft_reserve_source *reserve);
typedef struct toft_limited_source {
  toft_source source;
  toft_source *inner;
  size_t limit, used;
} toft_limited_source;
TOFT_API toft_source *toft_limited_source_init(toft_limited_source *limited TOFT_LIFETIMEBOUND, toft_source *inner,
                                               size_t limit);
typedef void toft_failure_fn(void *arg, toft_arena *a, size_t size, size_t align, int code);
enum { TOFT_CHECKED = 1 };
typedef struct toft_options {
  size_t size;
  toft_source *source;
  void *buffer;
  size_t buffer_size;
  uint64_t budget;
  size_t reserve;
  toft_failure_fn *failure;
  void *failure_arg;
  uint32_t flags;
} toft_options;
#define TOFT_OPTIONS { sizeof(toft_options), NULL, NULL, 0, 0, 0, NULL, NULL, 0 }
#define TOFT_BUFFER(bytes) (((size_t)(bytes) + 583) & ~(size_t)7)
TOFT_API TOFT_NODISCARD toft_arena *toft_create(void);
TOFT_API TOFT_NODISCARD toft_arena *toft_create_with(const toft_options *options);
TOFT_API TOFT_NODISCARD toft_arena *toft_create_in(void *buffer TOFT_LIFETIMEBOUND, size_t size,
                                                   toft_source *overflow TOFT_LIFETIMEBOUND);
TOFT_INLINE void toft_release(toft_arena *a);
TOFT_API int toft_adopt(toft_arena *a, toft_arena *donor);
TOFT_INLINE TOFT_NODISCARD void *toft_alloc(toft_arena *a, size_t size);
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_aligned(toft_arena *a, size_t size, size_t align);
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_zeroed(toft_arena *a, size_t size, size_t align);
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_array(toft_arena *a, size_t count, size_t size, size_t align);
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_array_zeroed(toft_arena *a, size_t count, size_t size, size_t align);
#define toft_new(a, T) ((T *)toft_alloc_aligned((a), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_zeroed(a, T) ((T *)toft_alloc_zeroed((a), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_array(a, T, n) ((T *)toft_alloc_array((a), (n), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_array_zeroed(a, T, n) ((T *)toft_alloc_array_zeroed((a), (n), sizeof(T), TOFT_ALIGNOF(T)))
TOFT_INLINE TOFT_NODISCARD void *toft_resize(toft_arena *a, void *p, size_t old_size, size_t new_size, size_t align);
TOFT_INLINE void toft_free(toft_arena *a, void *p, size_t size);
TOFT_INLINE TOFT_NODISCARD void *toft_memdup(toft_arena *a TOFT_LIFETIMEBOUND, const void *p, size_t size);
TOFT_INLINE TOFT_NODISCARD char *toft_strdup(toft_arena *a TOFT_LIFETIMEBOUND, const char *s);
TOFT_INLINE TOFT_NODISCARD char *toft_strndup(toft_arena *a TOFT_LIFETIMEBOUND, const char *s, size_t n);
TOFT_API TOFT_NODISCARD TOFT_FORMAT(2, 3) char *toft_printf(toft_arena *a TOFT_LIFETIMEBOUND, const char *format, ...);
TOFT_API TOFT_NODISCARD TOFT_FORMAT(2, 0) char *toft_vprintf(toft_arena *a TOFT_LIFETIMEBOUND, const char *format,
                                                             va_list args);
enum { TOFT_RESERVE_TOUCH = 1 };
TOFT_API int toft_reserve(toft_arena *a, size_t bytes, uint32_t flags);
TOFT_INLINE toft_mark toft_mark_here(const toft_arena *a);
TOFT_INLINE int toft_rewind(toft_arena *a, toft_mark m);
#ifdef TOFT_AT_EXIT
#define TOFT_SCOPE(a) TOFT_SCOPE_NAMED(a, TOFT_PASTE(toft_scope_, __COUNTER__))
#define TOFT_SCOPE_NAMED(a, name) toft_scope name TOFT_AT_EXIT(toft_scope_end) = toft_scope_begin(a)
#endif
TOFT_INLINE int toft_reset(toft_arena *a);
TOFT_INLINE int toft_reset_keep(toft_arena *a, uint32_t policy, size_t bytes);
TOFT_INLINE void toft_trim(toft_arena *a, size_t keep);
TOFT_INLINE int toft_set_budget(toft_arena *a, uint64_t bytes);
TOFT_INLINE int toft_set_checked(toft_arena *a, int on);
TOFT_INLINE toft_cleanup *toft_cleanup_add(toft_arena *a, void (*fn)(void *), void *arg);
TOFT_INLINE int toft_claim(toft_arena *a, toft_range *r);
TOFT_INLINE TOFT_NODISCARD void *toft_range_alloc(toft_arena *a, toft_range *r, size_t size);
TOFT_INLINE TOFT_NODISCARD void *toft_range_bytes(toft_arena *a, toft_range *r, size_t size);
TOFT_INLINE void toft_range_align(toft_range *r);
TOFT_INLINE int toft_unclaim(toft_arena *a, toft_range *r);
typedef struct toft_pack {
  toft_arena *arena;
  unsigned char *cursor, *limit;
  size_t chunk;
} toft_pack;
TOFT_INLINE toft_pack toft_pack_begin(toft_arena *a);
TOFT_INLINE TOFT_NODISCARD void *toft_pack_alloc(toft_pack *k, size_t n);
TOFT_API TOFT_NODISCARD void *toft_pack_bytes(toft_pack *k, const void *p, size_t n);
TOFT_INLINE TOFT_NODISCARD char *toft_pack_strndup(toft_pack *k, const char *s, size_t n);
TOFT_INLINE TOFT_NODISCARD char *toft_pack_strdup(toft_pack *k, const char *s);
TOFT_INLINE int toft_contains(const toft_arena *a, const void *p);
TOFT_INLINE toft_stats toft_get_stats(toft_arena *a);
typedef struct toft_block {
  const void *base;
  size_t size;
  const void *start;
  size_t used;
  int kind;
} toft_block;
enum { TOFT_BLOCK_REGULAR = 0, TOFT_BLOCK_DEDICATED = 1, TOFT_BLOCK_SPARE = 2 };
TOFT_API int toft_blocks(toft_arena *a, int (*fn)(void *arg, const toft_block *block), void *arg);
TOFT_API size_t toft_cache_limit(size_t bytes);
TOFT_API size_t toft_cache_bytes(void);
TOFT_API void toft_cache_trim(void);
TOFT_API size_t toft_page_cache_limit(size_t bytes);
TOFT_API size_t toft_page_cache_window(size_t milliseconds);
TOFT_API void toft_page_cache_age(void);
TOFT_API int toft_background_thread(int on);
TOFT_API size_t toft_page_cache_bytes(void);
#ifdef TOFT_RUNTIME
TOFT_API size_t toft_held_bytes(void);
TOFT_API void toft_heap_trim(size_t least);
TOFT_API void toft_next_cleanup(toft_arena *a, unsigned char *cursor, uintptr_t epoch, int again, void (*fn)(void *),
                                void **arg);
#endif
TOFT_API TOFT_SIZED(2) void *toft_hook_malloc(void *arena TOFT_LIFETIMEBOUND, size_t size);
TOFT_API TOFT_SIZED2(2, 3) void *toft_hook_calloc(void *arena TOFT_LIFETIMEBOUND, size_t count, size_t size);
TOFT_API TOFT_SIZED(3) void *toft_hook_realloc(void *arena TOFT_LIFETIMEBOUND, void *p, size_t size);
TOFT_API void toft_hook_free(void *arena, void *p);
TOFT_API toft_arena *toft_current(void);
TOFT_API toft_arena *toft_current_swap(toft_arena *a);
TOFT_API TOFT_SIZED(1) void *toft_current_malloc(size_t size);
TOFT_API TOFT_SIZED2(1, 2) void *toft_current_calloc(size_t count, size_t size);
TOFT_API TOFT_SIZED(2) void *toft_current_realloc(void *p, size_t size);
TOFT_API void toft_current_free(void *p);
TOFT_INLINE void *toft_memdup(toft_arena *a, const void *p, size_t size) {
  void *q = toft_alloc_aligned(a, size, 16);
  if (TOFT_LIKELY(q != NULL && size != 0)) memcpy(q, p, size);
  return q;
}
TOFT_INLINE char *toft_strndup(toft_arena *a, const char *s, size_t n) {
  const char *end = (const char *)memchr(s, 0, n);
  size_t length = end != NULL ? (size_t)(end - s) : n;
  char *q = (char *)toft_alloc(a, length < SIZE_MAX ? length + 1 : SIZE_MAX);
  if (TOFT_LIKELY(q != NULL)) {
    memcpy(q, s, length);
    q[length] = 0;
  }
  return q;
}
TOFT_INLINE char *toft_strdup(toft_arena *a, const char *s) {
  size_t size = strlen(s) + 1;
  char *q = (char *)toft_alloc(a, size);
  if (TOFT_LIKELY(q != NULL)) memcpy(q, s, size);
  return q;
}
TOFT_INLINE toft_pack toft_pack_begin(toft_arena *a) {
  toft_pack k;
  k.arena = a;
  k.cursor = k.limit = a->cursor;
  k.chunk = 256;
  return k;
}
TOFT_API void *toft_pack_grow(toft_pack *k, size_t n);
TOFT_INLINE void *toft_pack_alloc(toft_pack *k, size_t n) {
  unsigned char *p = k->cursor;
  if (TOFT_UNLIKELY((size_t)(k->limit - p) < n)) {
    toft_pack copy = *k;
    void *q = toft_pack_grow(&copy, n);
    *k = copy;
    return q;
  }
  k->cursor = p + n;
  TOFT_ASSUME(p != NULL);
  return p;
}
TOFT_INLINE char *toft_pack_strndup(toft_pack *k, const char *s, size_t n) {
  const char *end = (const char *)memchr(s, 0, n);
  size_t length = end != NULL ? (size_t)(end - s) : n;
  char *q = (char *)toft_pack_alloc(k, length < SIZE_MAX ? length + 1 : SIZE_MAX);
  if (TOFT_LIKELY(q != NULL)) {
    memcpy(q, s, length);
    q[length] = 0;
  }
  return q;
}
TOFT_INLINE char *toft_pack_strdup(toft_pack *k, const char *s) {
  size_t size = strlen(s) + 1;
  char *q = (char *)toft_pack_alloc(k, size);
  if (TOFT_LIKELY(q != NULL)) memcpy(q, s, size);
  return q;
}
#ifdef __cplusplus
}
#endif
#if defined(TOFT_SITES) && !defined(__cplusplus)
#ifndef TOFT_SITES_H
#define TOFT_SITES_H
#define TOFT_TEXT_(x) #x
#define TOFT_TEXT(x) TOFT_TEXT_(x)
#define TOFT_HERE(a) toft_at((a), __FILE__ ":" TOFT_TEXT(__LINE__))
#define toft_alloc(a, size) toft_alloc(TOFT_HERE(a), (size))
#define toft_alloc_aligned(a, size, align) toft_alloc_aligned(TOFT_HERE(a), (size), (align))
#define toft_alloc_zeroed(a, size, align) toft_alloc_zeroed(TOFT_HERE(a), (size), (align))
#define toft_alloc_array(a, count, size, align) toft_alloc_array(TOFT_HERE(a), (count), (size), (align))
#define toft_alloc_array_zeroed(a, count, size, align) toft_alloc_array_zeroed(TOFT_HERE(a), (count), (size), (align))
#define toft_resize(a, p, old_size, new_size, align) toft_resize(TOFT_HERE(a), (p), (old_size), (new_size), (align))
#define toft_free(a, p, size) toft_free(TOFT_HERE(a), (p), (size))
#define toft_memdup(a, p, size) toft_memdup(TOFT_HERE(a), (p), (size))
#define toft_strdup(a, s) toft_strdup(TOFT_HERE(a), (s))
#define toft_strndup(a, s, n) toft_strndup(TOFT_HERE(a), (s), (n))
#define toft_rewind(a, m) toft_rewind(TOFT_HERE(a), (m))
#define toft_reset(a) toft_reset(TOFT_HERE(a))
#define toft_reset_keep(a, policy, bytes) toft_reset_keep(TOFT_HERE(a), (policy), (bytes))
#define toft_cleanup_add(a, fn, arg) toft_cleanup_add(TOFT_HERE(a), (fn), (arg))
#define toft_claim(a, r) toft_claim(TOFT_HERE(a), (r))
#define toft_release(a) toft_release(TOFT_HERE(a))
#endif
#endif
#endif
