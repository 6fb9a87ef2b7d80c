/* Toft 0.1.0, the header of two files. Made by scripts/amalgamate: do not edit.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Toft: an arena allocator. An allocation moves a pointer; a release, a reset or a rewind frees many of them in one
 * call.
 *
 *     toft_arena *a = toft_create();
 *     struct node *n = toft_new(a, struct node);
 *     char *name = toft_strdup(a, "toft");
 *     ...
 *     toft_release(a);                       frees all of the above
 *
 * This header is the reference of the API and includes the headers of its parts. toft/inline.h has the fast paths, src/
 * the slow paths. The conventions below hold for every header.
 *
 * NAMES. X_create allocates an object and X_release frees it. X_init initialises a structure in the caller's memory,
 * and X_release frees the memory that it owns. X_reset frees every allocation of an object and keeps memory for reuse,
 * X_trim returns unused memory to the source, X_get_stats returns statistics. Callback types end in _fn. A structure of
 * options is initialised with its macro X_OPTIONS.
 *
 * UNITS. Sizes are in bytes unless a parameter says otherwise. Allocations in an arena are aligned to 8 at least,
 * except those documented as unaligned.
 *
 * ERRORS. A call that fails returns NULL or a negative code (toft_error_name names it) and leaves the arena unchanged;
 * only TOFT_ECORRUPT is returned by calls that have done their work. options.failure is called first, if it is set. The
 * library does not print, exit or abort unless the environment asks for it (toft/findings.h).
 *
 * THREADS. An arena is used by one thread at a time and may move between threads; calls on different arenas never
 * interfere. Exceptions are stated at the call. An EXCLUSIVE call requires that no other thread uses the object at the
 * same time: the others have been joined, or wait at a barrier.
 *
 * OWNERSHIP. Memory of an arena is valid until the arena is reset, released, or rewound to a mark taken before the
 * allocation. toft_free frees the newest allocation only, and otherwise does nothing.
 *
 * BAD INPUT. Every arena detects a size that overflows (NULL), an alignment above 8 that is not a power of two (NULL),
 * a mark that is from before a reset or from another arena, even a released one at the same address (TOFT_EMARK), and
 * calls while a range is claimed or a cleanup runs (TOFT_EBUSY). Only a checked arena (options.flags, toft_set_checked,
 * TOFT_CHECKED=1 in the environment; see toft/findings.h) detects a mark that was already rewound past, writes outside
 * an allocation or after it was freed, frees of an address that is not an allocation or with a wrong size, calls on a
 * released arena, a release while a range is claimed or a cleanup runs, and use by two threads at once. Not detected: a
 * NULL arena; the alignments 3, 5, 6 and 7, which are treated as 8.
 *
 * EMBEDDING. `#define TOFT_PREFIX mylib_` before every include, and when toft.c is compiled, renames every external
 * symbol. With `#define TOFT_STATIC`, including toft.c in one translation unit makes all of it static.
 * TOFT_OMIT_CHECKS, _METERS, _POOLS, _RECYCLER, _SYMBOLS and _THREADS omit these parts from the build, and TOFT_NO_OS
 * builds the library for targets without an operating system; see c/README.md. Settings of an omitted part return
 * TOFT_ENOSYS.
 */
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
/* The name of an arena's provider and the values of its settings, for debuggers: an addition to version 1 of the Toft
 * arena ABI. Copy it beside any copy of toft_abi.h, and include it after that one. SPEC.md has its rules. */
#ifndef TOFT_ABI_INFO
#define TOFT_ABI_INFO 1
#ifndef TOFT_ABI
#error "include toft_abi.h before toft_abi_info.h"
#endif
#ifdef __cplusplus
extern "C" {
#endif
typedef struct toft_provider_info {
  const char *name;    /* of the provider, as "toft-c" */
  const char *version; /* of its library, as "0.1.0" */
  /* The present value of a setting of ops->set; TOFT_ENOSYS: this provider does not say. Also while closed. */
  int (*query)(const toft_arena *, uint32_t what, uint64_t *value);
} toft_provider_info;
typedef struct toft_info_ops { /* a table of version 1, and behind it the addition */
  toft_arena_ops ops;          /* ops.size is at least that of toft_info_ops */
  const toft_provider_info *info;
  const toft_arena_ops *under; /* of an instrument: the table beneath; NULL in a provider's own table */
} toft_info_ops;
/* NULL: the provider has none. An instrument answers for the provider beneath it. */
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

/* ==== toft/budget.h ==== */
/* Budgets: limits on the memory of many arenas and other objects, for a process, its tenants and their requests.
 *
 *     toft_budget *process = toft_budget_create(NULL);        no limit yet
 *     toft_budget_set_limit(process, 1 << 30);
 *     toft_budget_options o = TOFT_BUDGET_OPTIONS;
 *     o.parent = process;
 *     o.name = "tenant 7";
 *     o.limit = 64 << 20;
 *     toft_budget *tenant = toft_budget_create(&o);
 *     toft_options with = TOFT_OPTIONS;
 *     with.source = toft_budget_source(tenant);
 *     toft_arena *a = toft_create_with(&with);                counts for tenant and process
 *
 * A budget counts the bytes of the blocks that objects hold from its source: arenas, leases, frames, shared arenas,
 * recyclers, toft_malloc and pools, on any threads. A block counts for the budget and for all its parents, and is
 * granted if none of them would exceed its limit by a byte. What an object returns by reset, trim or release counts no
 * more.
 * Arenas keep no unused blocks over a reset, and recyclers return blocks without objects, so that what one of them does
 * not use is there for the others. Bytes that other allocators hold are counted by toft_budget_charge.
 *
 * LIVE BYTES. toft_budget_limit_live limits the bytes that are allocated, whatever blocks they lie in. Arenas, leases
 * and frames take portions of the limit on their slow path, and return them by reset, rewind, free, trim and release,
 * which all take the slow path then; what they hold without using it is less than 1 % of the limit. The blocks of other
 * objects, of shared arenas and of arenas in a buffer count as live.
 *
 * REFUSALS. When a limit refuses a block, the object that requests it first returns its unused blocks and requests a
 * smaller one. If that is refused too, the callback of the budget that refuses is called, once for the request and
 * without a lock of the library. Then the request is tried once more. It is also tried once more, without a call, if
 * other threads have returned enough since the refusal.
 *
 * The callback may create, use and release other objects on any budget, as an arena for its own work, wait for other
 * threads, which may use the same shared arena or synchronized recycler, or write data to a file. While it runs, it is
 * not called again on its thread: what its budget refuses there fails. Other threads may call it at the same time.
 *
 * THREADS. All calls are thread-safe, but for release. Allocations that take no block do not touch a budget.
 */
#ifndef TOFT_BUDGET_H
#define TOFT_BUDGET_H

/* ==== toft/compiler.h ==== */
/* Compiler attributes, linkage, and the renaming of symbols by TOFT_PREFIX. Nothing here changes a layout. */
#ifndef TOFT_COMPILER_H
#define TOFT_COMPILER_H

/* TOFT_NO_LIBC: a build with TOFT_NO_OS for a target without a C library. The program provides the first four of these
 * functions, which compilers call by themselves too, and the others if it duplicates strings. */
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
  __asm__ volatile("" : : : "memory") /* compiler barrier: keeps two accesses from being merged */
#define TOFT_INLINE static inline __attribute__((always_inline, unused))
#define TOFT_NODISCARD __attribute__((warn_unused_result))
#define TOFT_FORMAT(fmt, first) __attribute__((format(printf, fmt, first)))
#define TOFT_SIZED(n) __attribute__((alloc_size(n)))
#define TOFT_SIZED2(n, m) __attribute__((alloc_size(n, m)))
#define TOFT_AT_EXIT(fn) __attribute__((cleanup(fn), unused))
#define TOFT_COLD __attribute__((noinline, cold))
/* Is compiled for size. Not for a function that copies or sets bytes: MemorySanitizer does not see the instructions. */
#define TOFT_RARE __attribute__((cold))
#define TOFT_NOINLINE __attribute__((noinline))
#define TOFT_UNUSED __attribute__((unused))
/* The return address of the enclosing function; 0 where code has no addresses. */
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

/* Returns the index of the lowest set bit; n is not 0. */
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

/* After a parameter, or after the qualifiers of a member function: the result points into what the argument, or the
 * object, is or points to. clang reports a result that outlives it: docs/checked.md. */
#if defined(__cplusplus) && defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::lifetimebound)
#define TOFT_LIFETIMEBOUND [[clang::lifetimebound]]
#endif
#elif defined(__clang__) && __clang_major__ >= 23 /* older ones ignore it in C, with a warning */
#define TOFT_LIFETIMEBOUND __attribute__((lifetimebound))
#endif
#ifndef TOFT_LIFETIMEBOUND
#define TOFT_LIFETIMEBOUND
#endif

/* TOFT_STATIC: the library is part of the translation unit that includes toft.c. TOFT_SHARED: it is a shared library;
 * TOFT_BUILD is also defined while that library is compiled. */
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
#elif defined(__GNUC__) && __STDC_VERSION__ < 201112L /* C99 */
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

/* TOFT_PREFIX is prepended to every external symbol, so that two libraries can each embed a copy. */
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
#define toft_frame_arena TOFT_PASTE(TOFT_PREFIX, toft_frame_arena)
#define toft_frame_enter TOFT_PASTE(TOFT_PREFIX, toft_frame_enter)
#define toft_frame_leave TOFT_PASTE(TOFT_PREFIX, toft_frame_leave)
#define toft_frame_previous TOFT_PASTE(TOFT_PREFIX, toft_frame_previous)
#define toft_frame_publish TOFT_PASTE(TOFT_PREFIX, toft_frame_publish)
#define toft_frames_advance TOFT_PASTE(TOFT_PREFIX, toft_frames_advance)
#define toft_frames_arrive_and_drop TOFT_PASTE(TOFT_PREFIX, toft_frames_arrive_and_drop)
#define toft_frames_arrive_and_wait TOFT_PASTE(TOFT_PREFIX, toft_frames_arrive_and_wait)
#define toft_frames_create TOFT_PASTE(TOFT_PREFIX, toft_frames_create)
#define toft_frames_get_stats TOFT_PASTE(TOFT_PREFIX, toft_frames_get_stats)
#define toft_frames_number TOFT_PASTE(TOFT_PREFIX, toft_frames_number)
#define toft_frames_release TOFT_PASTE(TOFT_PREFIX, toft_frames_release)
#define toft_frames_set_parties TOFT_PASTE(TOFT_PREFIX, toft_frames_set_parties)
#define toft_frames_trim TOFT_PASTE(TOFT_PREFIX, toft_frames_trim)
#define toft_freeze TOFT_PASTE(TOFT_PREFIX, toft_freeze)
#define toft_freeze_omit TOFT_PASTE(TOFT_PREFIX, toft_freeze_omit)
#define toft_frozen_close TOFT_PASTE(TOFT_PREFIX, toft_frozen_close)
#define toft_frozen_open TOFT_PASTE(TOFT_PREFIX, toft_frozen_open)
#define toft_frozen_open_in TOFT_PASTE(TOFT_PREFIX, toft_frozen_open_in)
#define toft_heap TOFT_PASTE(TOFT_PREFIX, toft_heap)
#define toft_heap_trim TOFT_PASTE(TOFT_PREFIX, toft_heap_trim)
#define toft_held_bytes TOFT_PASTE(TOFT_PREFIX, toft_held_bytes)
#define toft_hook_calloc TOFT_PASTE(TOFT_PREFIX, toft_hook_calloc)
#define toft_hook_free TOFT_PASTE(TOFT_PREFIX, toft_hook_free)
#define toft_hook_malloc TOFT_PASTE(TOFT_PREFIX, toft_hook_malloc)
#define toft_hook_realloc TOFT_PASTE(TOFT_PREFIX, toft_hook_realloc)
#define toft_instrument_arena TOFT_PASTE(TOFT_PREFIX, toft_instrument_arena)
#define toft_lazy_create TOFT_PASTE(TOFT_PREFIX, toft_lazy_create)
#define toft_lease_get TOFT_PASTE(TOFT_PREFIX, toft_lease_get)
#define toft_lease_return TOFT_PASTE(TOFT_PREFIX, toft_lease_return)
#define toft_leases_create TOFT_PASTE(TOFT_PREFIX, toft_leases_create)
#define toft_leases_get_stats TOFT_PASTE(TOFT_PREFIX, toft_leases_get_stats)
#define toft_leases_release TOFT_PASTE(TOFT_PREFIX, toft_leases_release)
#define toft_leases_trim TOFT_PASTE(TOFT_PREFIX, toft_leases_trim)
#define toft_limited_source_init TOFT_PASTE(TOFT_PREFIX, toft_limited_source_init)
#define toft_malloc_aligned TOFT_PASTE(TOFT_PREFIX, toft_malloc_aligned)
#define toft_malloc_alloc TOFT_PASTE(TOFT_PREFIX, toft_malloc_alloc)
#define toft_malloc_calloc TOFT_PASTE(TOFT_PREFIX, toft_malloc_calloc)
#define toft_malloc_current TOFT_PASTE(TOFT_PREFIX, toft_malloc_current)
#define toft_malloc_current_alloc TOFT_PASTE(TOFT_PREFIX, toft_malloc_current_alloc)
#define toft_malloc_current_calloc TOFT_PASTE(TOFT_PREFIX, toft_malloc_current_calloc)
#define toft_malloc_current_free TOFT_PASTE(TOFT_PREFIX, toft_malloc_current_free)
#define toft_malloc_current_realloc TOFT_PASTE(TOFT_PREFIX, toft_malloc_current_realloc)
#define toft_malloc_current_swap TOFT_PASTE(TOFT_PREFIX, toft_malloc_current_swap)
#define toft_malloc_free TOFT_PASTE(TOFT_PREFIX, toft_malloc_free)
#define toft_malloc_get_stats TOFT_PASTE(TOFT_PREFIX, toft_malloc_get_stats)
#define toft_malloc_init_size TOFT_PASTE(TOFT_PREFIX, toft_malloc_init_size)
#define toft_malloc_realloc TOFT_PASTE(TOFT_PREFIX, toft_malloc_realloc)
#define toft_malloc_release TOFT_PASTE(TOFT_PREFIX, toft_malloc_release)
#define toft_malloc_trim TOFT_PASTE(TOFT_PREFIX, toft_malloc_trim)
#define toft_malloc_usable_size TOFT_PASTE(TOFT_PREFIX, toft_malloc_usable_size)
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
#define toft_pool_clear TOFT_PASTE(TOFT_PREFIX, toft_pool_clear)
#define toft_pool_get_stats TOFT_PASTE(TOFT_PREFIX, toft_pool_get_stats)
#define toft_pool_init TOFT_PASTE(TOFT_PREFIX, toft_pool_init)
#define toft_pool_insert_slow TOFT_PASTE(TOFT_PREFIX, toft_pool_insert_slow)
#define toft_pool_release TOFT_PASTE(TOFT_PREFIX, toft_pool_release)
#define toft_pool_reserve TOFT_PASTE(TOFT_PREFIX, toft_pool_reserve)
#define toft_pool_trim TOFT_PASTE(TOFT_PREFIX, toft_pool_trim)
#define toft_printf TOFT_PASTE(TOFT_PREFIX, toft_printf)
#define toft_quarantine_trim TOFT_PASTE(TOFT_PREFIX, toft_quarantine_trim)
#define toft_recycler_alloc_slow TOFT_PASTE(TOFT_PREFIX, toft_recycler_alloc_slow)
#define toft_recycler_alloc_slow_at TOFT_PASTE(TOFT_PREFIX, toft_recycler_alloc_slow_at)
#define toft_recycler_check TOFT_PASTE(TOFT_PREFIX, toft_recycler_check)
#define toft_recycler_free_slow TOFT_PASTE(TOFT_PREFIX, toft_recycler_free_slow)
#define toft_recycler_free_slow_at TOFT_PASTE(TOFT_PREFIX, toft_recycler_free_slow_at)
#define toft_recycler_get_stats TOFT_PASTE(TOFT_PREFIX, toft_recycler_get_stats)
#define toft_recycler_init_layout TOFT_PASTE(TOFT_PREFIX, toft_recycler_init_layout)
#define toft_recycler_release TOFT_PASTE(TOFT_PREFIX, toft_recycler_release)
#define toft_recycler_resize TOFT_PASTE(TOFT_PREFIX, toft_recycler_resize)
#define toft_recycler_slab_freed TOFT_PASTE(TOFT_PREFIX, toft_recycler_slab_freed)
#define toft_recycler_trim TOFT_PASTE(TOFT_PREFIX, toft_recycler_trim)
#define toft_region_arena TOFT_PASTE(TOFT_PREFIX, toft_region_arena)
#define toft_region_check TOFT_PASTE(TOFT_PREFIX, toft_region_check)
#define toft_region_checkpoint TOFT_PASTE(TOFT_PREFIX, toft_region_checkpoint)
#define toft_region_create TOFT_PASTE(TOFT_PREFIX, toft_region_create)
#define toft_region_drop_checkpoint TOFT_PASTE(TOFT_PREFIX, toft_region_drop_checkpoint)
#define toft_region_get_stats TOFT_PASTE(TOFT_PREFIX, toft_region_get_stats)
#define toft_region_malloc TOFT_PASTE(TOFT_PREFIX, toft_region_malloc)
#define toft_region_recycler TOFT_PASTE(TOFT_PREFIX, toft_region_recycler)
#define toft_region_release TOFT_PASTE(TOFT_PREFIX, toft_region_release)
#define toft_region_restore TOFT_PASTE(TOFT_PREFIX, toft_region_restore)
#define toft_region_root TOFT_PASTE(TOFT_PREFIX, toft_region_root)
#define toft_region_set_root TOFT_PASTE(TOFT_PREFIX, toft_region_set_root)
#define toft_region_source TOFT_PASTE(TOFT_PREFIX, toft_region_source)
#define toft_region_trim TOFT_PASTE(TOFT_PREFIX, toft_region_trim)
#define toft_reserve TOFT_PASTE(TOFT_PREFIX, toft_reserve)
#define toft_reserve_source_init TOFT_PASTE(TOFT_PREFIX, toft_reserve_source_init)
#define toft_reserve_source_release TOFT_PASTE(TOFT_PREFIX, toft_reserve_source_release)
#define toft_set_metered TOFT_PASTE(TOFT_PREFIX, toft_set_metered)
#define toft_set_sampling_seed TOFT_PASTE(TOFT_PREFIX, toft_set_sampling_seed)
#define toft_set_soft_budget TOFT_PASTE(TOFT_PREFIX, toft_set_soft_budget)
#define toft_set_tag_budget TOFT_PASTE(TOFT_PREFIX, toft_set_tag_budget)
#define toft_set_unwinder TOFT_PASTE(TOFT_PREFIX, toft_set_unwinder)
#define toft_shared_alloc TOFT_PASTE(TOFT_PREFIX, toft_shared_alloc)
#define toft_shared_contains TOFT_PASTE(TOFT_PREFIX, toft_shared_contains)
#define toft_shared_create TOFT_PASTE(TOFT_PREFIX, toft_shared_create)
#define toft_shared_free TOFT_PASTE(TOFT_PREFIX, toft_shared_free)
#define toft_shared_get_stats TOFT_PASTE(TOFT_PREFIX, toft_shared_get_stats)
#define toft_shared_local TOFT_PASTE(TOFT_PREFIX, toft_shared_local)
#define toft_shared_release TOFT_PASTE(TOFT_PREFIX, toft_shared_release)
#define toft_shared_reset TOFT_PASTE(TOFT_PREFIX, toft_shared_reset)
#define toft_shared_resize TOFT_PASTE(TOFT_PREFIX, toft_shared_resize)
#define toft_shared_trim TOFT_PASTE(TOFT_PREFIX, toft_shared_trim)
#define toft_site TOFT_PASTE(TOFT_PREFIX, toft_site)
#define toft_sites TOFT_PASTE(TOFT_PREFIX, toft_sites)
#define toft_snapshot TOFT_PASTE(TOFT_PREFIX, toft_snapshot)
#define toft_snapshot_text TOFT_PASTE(TOFT_PREFIX, toft_snapshot_text)
#define toft_symbolize TOFT_PASTE(TOFT_PREFIX, toft_symbolize)
#define toft_sync_recycler_alloc TOFT_PASTE(TOFT_PREFIX, toft_sync_recycler_alloc)
#define toft_sync_recycler_create TOFT_PASTE(TOFT_PREFIX, toft_sync_recycler_create)
#define toft_sync_recycler_free TOFT_PASTE(TOFT_PREFIX, toft_sync_recycler_free)
#define toft_sync_recycler_get_stats TOFT_PASTE(TOFT_PREFIX, toft_sync_recycler_get_stats)
#define toft_sync_recycler_release TOFT_PASTE(TOFT_PREFIX, toft_sync_recycler_release)
#define toft_sync_recycler_reset TOFT_PASTE(TOFT_PREFIX, toft_sync_recycler_reset)
#define toft_sync_recycler_resize TOFT_PASTE(TOFT_PREFIX, toft_sync_recycler_resize)
#define toft_sync_recycler_trim TOFT_PASTE(TOFT_PREFIX, toft_sync_recycler_trim)
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

struct toft_source; /* toft.h */
typedef struct toft_budget toft_budget;

/* Called for a request of `size` bytes that the limit of b refuses, on the requesting thread. Returns 1 if memory may
 * be free now, 0 to let the request fail. It must not use the object that requests, and must return: a longjmp or an
 * exception out of it is not allowed. */
typedef int toft_budget_fn(void *arg, toft_budget *b, size_t size);

typedef struct toft_budget_options {
  size_t size;                /* sizeof(toft_budget_options): TOFT_BUDGET_OPTIONS sets it */
  const char *name;           /* copied, at most 31 bytes; NULL: "" */
  toft_budget *parent;        /* NULL: none */
  struct toft_source *source; /* of the blocks; NULL: the parent's, or toft_heap() */
  size_t limit;               /* bytes; SIZE_MAX: none */
  toft_budget_fn *refused;    /* NULL: none */
  void *refused_arg;
} toft_budget_options;
#define TOFT_BUDGET_OPTIONS \
  { sizeof(toft_budget_options), NULL, NULL, NULL, SIZE_MAX, NULL, NULL }

/* In bytes, but for the counts. */
typedef struct toft_budget_stats {
  uint64_t limit;
  uint64_t reserved;  /* of this budget and all below it */
  uint64_t peak;      /* the most that was reserved */
  uint64_t available; /* may be reserved by this budget before it or a parent refuses */
  uint64_t refusals;  /* blocks that this budget's limit refused */
  uint64_t children;  /* budgets with this parent */
} toft_budget_stats;

/* In bytes, but for `refusals`. */
typedef struct toft_budget_live_stats {
  uint64_t limit;
  uint64_t live;      /* of this budget and all below it, with what is parked */
  uint64_t peak;      /* the most that was live */
  uint64_t available; /* may be allocated before this budget or a parent refuses */
  uint64_t parked;    /* at most so many of the live bytes are held by arenas without being allocated */
  uint64_t refusals;  /* requests that this budget's limit of live bytes refused */
} toft_budget_live_stats;

/* options == NULL: the defaults. NULL if there is no memory, or the options are invalid: a size, a name above 31 bytes,
 * a source together with a parent, a region's source. */
TOFT_API TOFT_NODISCARD toft_budget *toft_budget_create(const toft_budget_options *options);
/* TOFT_EBUSY, with no effect, while bytes are reserved or the budget has children. NULL is ignored. No other thread may
 * use it. */
TOFT_API int toft_budget_release(toft_budget *b);
/* The source for options of arenas and other objects, which are released before the budget is. */
TOFT_API struct toft_source *toft_budget_source(toft_budget *b);
/* A limit below the reserved bytes refuses every block until enough is returned. */
TOFT_API void toft_budget_set_limit(toft_budget *b, size_t limit);
/* Begins to count live bytes, here and in budgets that are created below, and sets their limit; SIZE_MAX: none.
 * TOFT_EBUSY, with no effect, if they are not counted yet and bytes are reserved or the budget has children; no other
 * thread may use it at that time. */
TOFT_API int toft_budget_limit_live(toft_budget *b, size_t limit);
/* All 0, but for `limit` and `available`, while live bytes are not counted. */
TOFT_API toft_budget_live_stats toft_budget_get_live_stats(const toft_budget *b);
/* Counts `size` bytes of memory that does not come from the source, as a block of that size is counted. TOFT_ENOMEM if
 * a limit refuses them, after a call of the callback. The bytes count until toft_budget_uncharge, and until then the
 * budget cannot be released. */
TOFT_API TOFT_NODISCARD int toft_budget_charge(toft_budget *b, size_t size);
/* Ends the count of `size` of these bytes, in any portions. TOFT_EARG, with no effect, if fewer are charged. */
TOFT_API int toft_budget_uncharge(toft_budget *b, size_t size);
TOFT_API toft_budget_stats toft_budget_get_stats(const toft_budget *b);
TOFT_API const char *toft_budget_name(const toft_budget *b);
/* NULL: none. */
TOFT_API toft_budget *toft_budget_parent(const toft_budget *b);

#ifdef __cplusplus
}
#endif
#endif

/* ==== toft/findings.h ==== */
/* Findings: the misuse that checked arenas and recyclers detect, and its delivery.
 *
 * An arena is checked if it was created with TOFT_CHECKED in options.flags, or after toft_set_checked. An arena of
 * another provider needs an instrument (toft/instrument.h); without one the calls below return TOFT_ENOSYS. With
 * TOFT_CHECKED=1 in the environment every arena and every recycler of the process is checked, without rebuilding the
 * program. Findings are delivered in four ways:
 *
 *   options.failure          a callback of the arena, which gets a code (see toft.h)
 *   toft_findings            iterates over the findings of one arena
 *   toft_on_finding          a function of the process, which gets every finding immediately
 *   the environment          one line for each finding, on standard error or in a file
 *
 * Environment variables are read once, when the first arena or recycler is created; toft/meter.h has more of them. A
 * process with more rights than its user (set-uid, set-gid, file capabilities) ignores them.
 *
 *   TOFT_CHECKED     empty, 0, off, no, false (in any case): off. abort: on, and the process aborts after its first
 *                    finding. Anything else: on. Not set: on in a process under AddressSanitizer, MemorySanitizer or
 *                    Valgrind's memcheck, except for arenas in a caller's buffer; else off.
 *   TOFT_HARDENED    the same values; on: every arena is hardened (toft.h, docs/hardening.md). An overwritten state is
 *                    a finding.
 *   TOFT_FINDINGS    the file that lines are appended to; it is created with mode 0600, and a symbolic link is not
 *                    followed. stderr and stdout, also as /dev/stderr and /dev/stdout, are the standard streams.
 *                    Not set: standard error where TOFT_CHECKED, TOFT_HARDENED or TOFT_BUDGET is on and
 *                    TOFT_FINDINGS_JSON is not set; else nothing is written.
 *   TOFT_FINDINGS_JSON
 *                    the file that each finding is appended to as a JSON object in a line, which docs/run.md describes;
 *                    it is opened as that of TOFT_FINDINGS. While it is set, each call on a checked arena or recycler
 *                    records its stack.
 *
 * docs/checked.md lists what is detected and what is not.
 */
#ifndef TOFT_FINDINGS_H
#define TOFT_FINDINGS_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TOFT_FOUND_OVERRUN = 1,       /* bytes after an allocation were written */
  TOFT_FOUND_UNDERRUN = 2,      /* bytes before an allocation were written */
  TOFT_FOUND_LATE_WRITE = 3,    /* memory was written after it was freed */
  TOFT_FOUND_DOUBLE_FREE = 4,   /* freed or resized after it was freed */
  TOFT_FOUND_WRONG_SIZE = 5,    /* freed or resized with a size other than the requested one */
  TOFT_FOUND_FOREIGN = 6,       /* freed or resized, but not an allocation of this arena */
  TOFT_FOUND_STALE_MARK = 7,    /* rewound to a mark that is no longer valid */
  TOFT_FOUND_WRONG_THREAD = 8,  /* called by a thread other than the one it is pinned to: see toft_pin */
  TOFT_FOUND_TWO_THREADS = 9,   /* called while another thread was in a call */
  TOFT_FOUND_RELEASED = 10,     /* called after its release */
  TOFT_FOUND_NOT_RELEASED = 11, /* a release had no effect: a range was claimed, or a cleanup was running */
  TOFT_FOUND_OVER_BUDGET = 12,  /* the live bytes of an arena exceed TOFT_BUDGET of the environment: see toft/meter.h */
  TOFT_FOUND_OVERWRITTEN = 13,  /* the state of a hardened arena was overwritten; it refuses every call from now on */
  TOFT_FOUND_OUTSIDE = 14       /* a word in a checked region points to memory that a restore does not bring back */
};

/* A call of the program, as far as it is known. */
typedef struct toft_moment {
  const char *call; /* "alloc", "rewind" and so on; "": no call */
  /* "file.c:12" if toft_at, TOFT_SITES or a client in another language set it; else, with debug information and libdw
   * of elfutils on the machine, "function (file.c:12)", the call in the program's own code; else "function+0x2a
   * (program+0x11f9)", whose last part is input for addr2line. Bytes other than printable ASCII are written as \xNN. */
  const char *place;
  uintptr_t site; /* the same as a number: the caller's site, or else the return address */
  size_t thread;  /* threads are numbered from 1 in the order of their first call */
} toft_moment;

typedef struct toft_finding {
  int kind;            /* TOFT_FOUND_... */
  const char *message; /* the whole finding in one line without a newline */
  toft_arena *arena;   /* must not be called: it is inside a call, or released. NULL: the finding is a recycler's */
  const void *address; /* of the allocation, or of the word of a region; NULL: none is concerned */
  size_t size;         /* the requested size; over budget: the live bytes; outside, without an address: further words */
  ptrdiff_t offset;    /* of the first written byte, from the start of the allocation */
  toft_moment allocated, returned, noticed;
  size_t length;              /* from the first written byte to the last, within the checked bytes */
  const unsigned char *bytes; /* the written bytes, at most 32; NULL if length is 0 */
} toft_finding;

/* Receives a finding, which is valid until the function returns. */
typedef void toft_finding_fn(void *arg, const toft_finding *finding);

/* Sets the function that is called for every finding of every checked arena and recycler, on the thread that detected
 * it; NULL removes it. It must return. It may use other arenas and recyclers, but not the finding's own. A finding that
 * its own calls cause is only printed. Thread-safe. */
TOFT_API void toft_on_finding(toft_finding_fn *fn, void *arg);

/* Checks all of a checked arena now, the red zones of live allocations and the freed memory; then calls fn for each
 * finding of the arena that no earlier call has delivered, oldest first. Returns the number of findings, TOFT_EBUSY in
 * a cleanup of the arena, or TOFT_ENOSYS for an arena of another provider. Beyond 1000, findings are only counted. */
TOFT_API int toft_findings(toft_arena *a, toft_finding_fn *fn, void *arg);

/* Freed heap blocks of checked arenas, up to 1 MiB in the process, stay in quarantine before reuse, so that late writes
 * and calls on released arenas are detected. This checks them and frees them. So does the end of the process if it runs
 * C's destructors. Thread-safe. */
TOFT_API void toft_quarantine_trim(void);

/* Binds a checked arena to the calling thread: calls by other threads fail (NULL or TOFT_EBUSY) with a finding, except
 * for read-only calls: statistics, blocks, reports, snapshots. on == 0 unbinds it, from any thread; so do the return of
 * its lease and the end of the thread that owns its frames. Calls on lease caches, frames and shared arenas are not
 * affected. An arena that is not checked is unchanged, so the call may stay in release code. TOFT_ENOSYS for an arena
 * of another provider. */
TOFT_API int toft_pin(toft_arena *a, int on);

/* Returns a number for a place in the program, such as "file.c:12", to be passed as `site` to functions of the ABI. The
 * text is copied once. 0 if there is no memory. Thread-safe. */
TOFT_API uintptr_t toft_site(const char *place);

/* Sets the place of the next call on a checked arena, and returns a. `place` must be valid until that call.
 *     p = toft_alloc(toft_at(a, "table of contents"), size);
 * In C, `#define TOFT_SITES` before the include makes every inline function of toft.h record its file and line this
 * way, at the cost of one test. */
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

/* ==== toft/inline.h ==== */
/* The inline fast paths. They use only the four words of the ABI's head, so they work with arenas of every provider.
 * toft.h documents the functions. */
#ifndef TOFT_INLINE_H
#define TOFT_INLINE_H

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

/* ==== toft/lazy.h ==== */
/* An arena by value: one pointer in the program's own structure. Its arena is created by the first allocation.
 *
 *     struct parser { toft_lazy memory; ... };            zeroed: no arena, no memory
 *     struct node *n = toft_lazy_new(&parser->memory, struct node);
 *     toft_lazy_release(&parser->memory);                 as at first; the structure may be copied or freed then
 *
 * The structure may be copied while it has no arena; afterwards it may move, and only one copy may be used.
 */
#ifndef TOFT_LAZY_H
#define TOFT_LAZY_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct toft_lazy {
  toft_arena *arena; /* NULL: none yet */
} toft_lazy;

/* Returns the arena, which all other calls take, and creates it if there is none; NULL: no memory. */
TOFT_API toft_arena *toft_lazy_create(toft_lazy *l);
TOFT_INLINE toft_arena *toft_lazy_arena(toft_lazy *l TOFT_LIFETIMEBOUND) {
  return TOFT_LIKELY(l->arena != NULL) ? l->arena : toft_lazy_create(l);
}

/* As toft_alloc_aligned. NULL: no memory. */
TOFT_INLINE TOFT_NODISCARD void *toft_lazy_alloc(toft_lazy *l TOFT_LIFETIMEBOUND, size_t size, size_t align) {
  toft_arena *a = toft_lazy_arena(l);
  return TOFT_LIKELY(a != NULL) ? toft_alloc_aligned(a, size, align) : NULL;
}
#define toft_lazy_new(l, T) ((T *)toft_lazy_alloc((l), sizeof(T), TOFT_ALIGNOF(T)))

/* As toft_reset and toft_release. Without an arena they do nothing. */
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

/* ==== toft/meter.h ==== */
/* Meters: which parts of a program use an arena's memory. A meter is switched on per arena at run time; without one
 * there is no cost. docs/meters.md is the guide.
 *
 *     toft_set_metered(a, 1);
 *     {
 *       TOFT_TAG(a, "level");
 *       load(a);                                       counts for "level"
 *       TOFT_TAG(a, "sound");
 *       decode(a);                                     counts for "level/sound"
 *     }
 *     toft_snapshot_text(a, NULL, text, sizeof text);    the state, as JSON
 *
 * METHODS. Bytes by tag and phase are exact: they are differences of the cursor, taken where a tag begins and ends and
 * at slow calls, not at each allocation. Budgets lower the arena's limit: they are exact, and free until they are
 * reached. Allocation counts by call stack are estimates: sampling records the stack of one call in so many bytes. All
 * three include allocations that other languages make inline.
 *
 * COST. A metered or sampled arena keeps the inline path of allocation; rewind, resize and free become calls. The
 * records are malloc'ed and freed with the arena.
 *
 * UNITS. Bytes as in toft_stats: padding and rounding count for the tag of the allocation. A claimed range counts at
 * toft_unclaim, for the tag it was claimed under.
 *
 * ERRORS change nothing. TOFT_ENOMEM: no memory for the records; TOFT_EBUSY: a range is claimed or a cleanup or
 * callback runs; TOFT_EARG; TOFT_ENOSYS: an arena of another provider, which has settings of its own (toft_set_sampling
 * and toft_set_tag work if the provider supports them), and no instrument before it (toft/instrument.h). A large
 * allocation in a metered arena also fails if there is no memory for its record.
 *
 * ENVIRONMENT. Variables switch meters on for every arena of the process. They are read once, when the first arena or
 * recycler is created; a process with more rights than its user (set-uid, set-gid, file capabilities) ignores them. A
 * call on an arena overrides them for this arena. They need the library's checks too (not TOFT_OMIT_CHECKS).
 *
 *   TOFT_METERED         empty, 0, off, no, false (in any case): off. Anything else: as toft_set_metered(a, 1).
 *   TOFT_SAMPLING        bytes, as for toft_set_sampling: a number that K, M or G may follow. 0, not a number: off.
 *   TOFT_BUDGET          bytes, as for toft_set_soft_budget: such a number. More live bytes are a finding
 *                        (toft/findings.h), once a round. 0, not a number: off.
 *   TOFT_PROFILE         a file: see toft_write_profile.
 *   TOFT_PROFILE_SIGNAL  USR1, USR2 or a number: the signal after which the process writes the profile.
 *
 * CALLBACKS run inside a call on the arena, on its thread. They may read it (toft_get_stats, toft_contains, the
 * iterations and snapshots below) and use other arenas. On the arena itself allocations return NULL and all other calls
 * TOFT_EBUSY. They must return: no longjmp, no exception. */
#ifndef TOFT_METER_H
#define TOFT_METER_H

/* ==== toft/symbol.h ==== */
/* The names of code addresses, for findings and snapshots. */
#ifndef TOFT_SYMBOL_H
#define TOFT_SYMBOL_H

#ifdef __cplusplus
extern "C" {
#endif

/* The location of a code address. Unknown members are NULL or 0. */
typedef struct toft_symbol {
  const char *function;
  size_t offset; /* from its first byte */
  const char *module;
  size_t module_offset; /* of the call, relative to the load address of the module: the input of addr2line */
  const char *file;
  unsigned line; /* from 1 */
} toft_symbol;
/* Fills in what is known of the call that returns to `address` (so it looks up the byte before), and returns non-zero
 * if that is anything. Strings must be valid until the next call. */
typedef int toft_symbolize_fn(void *arg, const void *address, toft_symbol *symbol);
/* The default symbolizer: dladdr, which knows exported functions, those of shared libraries and of a program linked
 * with -rdynamic. It finds nothing on Windows. `arg` is ignored. */
TOFT_API int toft_symbolize(void *arg, const void *address, toft_symbol *symbol);

#ifdef __cplusplus
}
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tags ---- */

/* Switches the accounting by tags and phases on or off. Bytes that are live at that moment count for no tag. Switching
 * it off ends all tags; phases that ended remain in reports. */
TOFT_API int toft_set_metered(toft_arena *a, int on);

/* Later allocations count for this tag, until toft_tag_pop restores the previous one. Within another tag the name is a
 * relative path: "sound" within "level" is "level/sound". A name that begins with "/" is an absolute path: "/ai" is
 * always "ai". Bytes stay with their tag until they are freed. In an arena that is not instrumented this costs one
 * branch and does nothing, so the calls may stay in release code. TOFT_EARG: NULL, or not UTF-8. Each push needs its
 * toft_tag_pop even if it fails; that pop then does nothing. */
TOFT_INLINE int toft_tag_push(toft_arena *a, const char *name);
/* A pop without a push (because the arena was metered in between) does nothing. */
TOFT_INLINE void toft_tag_pop(toft_arena *a);

/* A declaration like TOFT_SCOPE: the rest of the enclosing block runs under the tag. gcc and clang only. */
#ifdef TOFT_AT_EXIT
#define TOFT_TAG(a, name) TOFT_TAG_NAMED(a, name, TOFT_PASTE(toft_tag_, __COUNTER__))
#define TOFT_TAG_NAMED(a, name, t) toft_tag t TOFT_AT_EXIT(toft_tag_end) = toft_tag_begin(a, name)
#endif

/* Sets the present tag through the ABI's table, for arenas of any provider: by a number that the caller chooses and a
 * path, which may be NULL after the first time; number 0 without a path is no tag. Meters the arena. TOFT_ENOSYS if its
 * provider has no tags. */
TOFT_INLINE int toft_set_tag(toft_arena *a, uint64_t number, const char *path);

/* ---- phases ---- */

/* A phase of the program: its number of entries, the bytes allocated in it, and the growth of live bytes. Phases may
 * overlap and nest; an outer phase includes the inner one. `name` must be valid until the end. Does nothing in an arena
 * that is not metered. */
typedef struct toft_phase {
  const char *name; /* NULL: not begun, or ended */
  uint64_t allocated, live;
} toft_phase;
TOFT_INLINE toft_phase toft_phase_begin(toft_arena *a, const char *name);
/* A second end of the same phase does nothing. */
TOFT_INLINE void toft_phase_end(toft_arena *a, toft_phase *p);

/* A declaration like TOFT_SCOPE: the rest of the enclosing block is the phase. gcc and clang only. */
#ifdef TOFT_AT_EXIT
#define TOFT_PHASE(a, name) TOFT_PHASE_NAMED(a, name, TOFT_PASTE(toft_phase_, __COUNTER__))
#define TOFT_PHASE_NAMED(a, name, p) toft_phase_scope p TOFT_AT_EXIT(toft_phase_leave) = toft_phase_enter(a, name)
#endif

/* ---- budgets; the hard budget itself is toft_set_budget ---- */

/* Called when live bytes exceed the soft budget. */
typedef void toft_soft_budget_fn(void *arg, toft_arena *a, uint64_t live, uint64_t budget);
/* Calls fn once when live bytes exceed `bytes`, after the call that caused it: an allocation, an adoption, the end of a
 * claim. No call fails. fn can be called once more after each reset and each toft_set_soft_budget, but not when live
 * bytes fall by other means. UINT64_MAX removes the soft budget. fn may be NULL. */
TOFT_API int toft_set_soft_budget(toft_arena *a, uint64_t bytes, toft_soft_budget_fn *fn, void *arg);

/* Called before an allocation fails because of the budget, or because the source refused a block; in the second case
 * live + size is within the budget, which is UINT64_MAX if there is none. `size` is the requested size. Returns the
 * budget from then on if that is above the present one; other values leave it. The allocation is tried once more if the
 * budget was raised or the source was the cause: the callback may have freed memory of other arenas. It must not use
 * this arena. */
typedef uint64_t toft_refusal_fn(void *arg, toft_arena *a, uint64_t live, uint64_t budget, size_t size);
/* Sets that callback; NULL removes it. */
TOFT_API int toft_on_refusal(toft_arena *a, toft_refusal_fn *fn, void *arg);

/* Limits the live bytes of one tag while the arena is metered, exactly. Children are separate: "level/sound" is a tag
 * of its own. UINT64_MAX: no limit. The path "" means bytes under no tag. toft_on_refusal does not apply. */
TOFT_API int toft_set_tag_budget(toft_arena *a, const char *path, uint64_t bytes);

/* ---- sampling ---- */

/* Samples about one allocation in `bytes` bytes: records its call stack and tag, and estimates the number of
 * allocations. The distances between samples are random and memoryless, so no pattern of a program is missed: an
 * allocation of s bytes is sampled with probability s / `bytes`, and counts for those that were not. 0 stops sampling
 * and keeps the records. Works for arenas of any provider. */
TOFT_INLINE int toft_set_sampling(toft_arena *a, uint64_t bytes);
/* Makes the later distances reproducible, for tests. */
TOFT_API int toft_set_sampling_seed(toft_arena *a, uint64_t seed);

/* Writes up to `max` return addresses to `stack`, innermost first, as backtrace(3) does, and returns their number. It
 * may include its own frames and the library's: those up to the call on the arena are dropped. The rules for callbacks
 * apply. */
typedef size_t toft_unwind_fn(void *arg, void **stack, size_t max);
/* Sets the unwinder; NULL restores the built-in one, which is backtrace(3) of glibc, macOS and the BSDs,
 * CaptureStackBackTrace on Windows, and the compiler's _Unwind_Backtrace elsewhere. Without unwind tables, or if the
 * library was built with TOFT_NO_UNWIND, stacks are truncated, possibly to the function that allocated. */
TOFT_API int toft_set_unwinder(toft_arena *a, toft_unwind_fn *fn, void *arg);

/* ---- reports ---- */

typedef struct toft_tag_report {
  const char *name;                 /* its path; "": under no tag, or a tag that only has a number */
  const uint64_t *number;           /* from toft_set_tag; NULL: none */
  uint64_t live, allocated, budget; /* bytes; budget UINT64_MAX: none */
} toft_tag_report;

typedef struct toft_phase_report {
  const char *name;
  uint64_t entries;   /* number of completed entries */
  uint64_t allocated; /* bytes */
  int64_t kept;       /* growth of live bytes */
} toft_phase_report;

/* Allocations of one call stack and site under one tag, estimated. A resize that moved an allocation counts as one. */
typedef struct toft_site_report {
  uintptr_t site;           /* the `site` argument of the ABI's alloc; 0: none */
  const char *tag;          /* its path */
  uint64_t count;           /* allocations */
  uint64_t bytes;           /* requested bytes, without padding */
  const void *const *stack; /* return addresses, innermost first */
  size_t depth;
} toft_site_report;

/* Each calls fn, a callback as above, for each element until fn returns non-zero, and returns the last result of fn, 0
 * if there was no element, or TOFT_ENOSYS for an arena of another provider. Strings and stacks are valid until fn
 * returns. The first tag stands for bytes under no tag; there are tags only while the arena is metered. */
TOFT_API int toft_tags(toft_arena *a, int (*fn)(void *arg, const toft_tag_report *tag), void *arg);
TOFT_API int toft_phases(toft_arena *a, int (*fn)(void *arg, const toft_phase_report *phase), void *arg);
TOFT_API int toft_sites(toft_arena *a, int (*fn)(void *arg, const toft_site_report *site), void *arg);

/* Sets the allocated bytes of tags, phases and sites to 0, for a report of each frame. Live bytes and budgets are
 * unchanged. TOFT_ENOSYS for an arena of another provider. */
TOFT_API int toft_clear_report(toft_arena *a);

/* ---- the snapshot ---- */

enum {
  TOFT_SNAPSHOT_CLEAR = 1, /* calls toft_clear_report afterwards, unless write stopped the snapshot */
  /* Also names static functions, with files and lines, from symbol tables and debug information, by libdw of elfutils
   * if this machine has it (libdw.so.1 is loaded at the first use and reads local files only). For inlined functions of
   * Toft's headers or the language's library, file and line are those of the call in the program's own code. Takes
   * milliseconds and more. */
  TOFT_SNAPSHOT_DWARF = 2,
  TOFT_SNAPSHOT_ADDRESSES = 4 /* no names */
};
typedef struct toft_snapshot_options {
  size_t size; /* sizeof(toft_snapshot_options): TOFT_SNAPSHOT_OPTIONS sets it */
  uint32_t flags;
  toft_symbolize_fn *symbolizer; /* NULL: toft_symbolize */
  void *symbolizer_arg;
} toft_snapshot_options;
/* clang-format off */
#define TOFT_SNAPSHOT_OPTIONS { sizeof(toft_snapshot_options), 0, NULL, NULL }
/* clang-format on */

/* Receives a piece of the text, without a NUL; returns 0, or a code that stops the snapshot. A callback as above. */
typedef int toft_write_fn(void *arg, const char *bytes, size_t size);
/* Writes the arena's state as one JSON object, in UTF-8 without line ends; docs/snapshot.md and
 * abi/snapshot.schema.json define it, and Rust's reports follow them too. Allocates nothing. `options` == NULL: the
 * defaults. Returns TOFT_OK, TOFT_EARG for unknown flags, or what write returned. For an arena of another provider only
 * the statistics are written. */
TOFT_API int toft_snapshot(toft_arena *a, const toft_snapshot_options *options, toft_write_fn *write, void *arg);
/* The same into a buffer, as snprintf does: at most size - 1 bytes and a NUL, if size is not 0. Returns the length of
 * the whole text, or 0 for unknown flags. With TOFT_SNAPSHOT_CLEAR it clears only if the whole text fits. */
TOFT_API size_t toft_snapshot_text(toft_arena *a, const toft_snapshot_options *options, char *text, size_t size);

/* Writes the profile of the process to the file that TOFT_PROFILE names: the sum of all arenas that are alive and of
 * those that were released, in the format of a snapshot, with a member `process`. In the name, %p is replaced by the
 * number of the process, and %l by a name of this copy of the library. The file is created with mode 0600 or replaced.
 *
 * The library does this when the process exits (by C's exit, not by _exit or a signal) and after each signal of
 * TOFT_PROFILE_SIGNAL, if the program has not set the disposition of that signal when the first arena is created. A
 * thread of the library, which exists only if there is such a signal, writes then. The numbers of an arena are at most
 * 16 KiB of allocations late, exact for arenas on the heap at the exit of a process with one thread.
 *
 * TOFT_ENOSYS: TOFT_PROFILE is not set. TOFT_EARG: the file cannot be written. Thread-safe. */
TOFT_API int toft_write_profile(void);

/* ---- small inline bodies, documented above ---- */

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
  toft_arena *arena; /* NULL: ended */
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
  toft_arena *arena; /* NULL: ended */
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

/* Returns the version of the linked library, in the form of TOFT_VERSION. */
TOFT_API const char *toft_version(void);

/* Returns the name of an error code, such as "TOFT_ENOMEM", or "unknown". The string is static. */
TOFT_API const char *toft_error_name(int code);

/* ------------------------------------------------------------------------------------------------------------
 * Sources: where blocks come from. A source must outlive every arena that uses it.
 * ------------------------------------------------------------------------------------------------------------ */

typedef struct toft_source toft_source;
struct toft_source {
  /* Returns a block of at least `size` bytes, aligned to 64, or NULL. `size` is a multiple of 4096. */
  void *(*take)(toft_source *self, size_t size);
  /* Frees a block that take returned; `size` is the same as there. */
  void (*put)(toft_source *self, void *block, size_t size);
  /* Optional (may be NULL). Grows or shrinks a block in place from `size` to `want` bytes, both multiples of 4096, and
   * returns non-zero on success. Arenas prefer this to taking another block. */
  int (*extend)(toft_source *self, void *block, size_t size, size_t want);
};

/* The default source: malloc for blocks below 1 MiB, and pages of the operating system, huge ones if possible, for
 * larger blocks. Freed blocks go to the calling thread's cache first (see toft_cache_limit). Thread-safe. */
TOFT_API toft_source *toft_heap(void);

/* Pages of the operating system. TOFT_PAGES_HUGE requests huge pages for blocks of 2 MiB and more. With
 * TOFT_PAGES_LAZY, put keeps up to 64 MiB of address space and lets the system reclaim its memory, so that the next
 * take is cheap; toft_page_source_trim unmaps it, and must be called before the structure ends. Thread-safe without
 * LAZY; one thread at a time with it. */
enum { TOFT_PAGES_HUGE = 1, TOFT_PAGES_LAZY = 2 };
typedef struct toft_page_source {
  toft_source source;
  uint32_t flags;
  void *kept;
  size_t kept_bytes;
} toft_page_source;
TOFT_API toft_source *toft_page_source_init(toft_page_source *pages TOFT_LIFETIMEBOUND, uint32_t flags);
TOFT_API void toft_page_source_trim(toft_page_source *pages);

/* One contiguous range of `max` bytes of address space, which never moves. Memory is committed as the arena grows, so
 * its newest allocation can grow in place up to `max`. Serves one arena at a time. Returns NULL if the address space
 * cannot be reserved. toft_reserve_source_release unmaps it, after the arena was released. */
typedef struct toft_reserve_source {
  toft_source source;
  unsigned char *base;
  size_t max, committed;
  int taken;
} toft_reserve_source;
TOFT_API toft_source *toft_reserve_source_init(toft_reserve_source *reserve TOFT_LIFETIMEBOUND, size_t max);
TOFT_API void toft_reserve_source_release(toft_reserve_source *reserve);

/* A limit, in bytes, on the blocks that all arenas together hold from another source. It counts blocks; toft_set_budget
 * limits allocations. Thread-safe if the inner source is. */
typedef struct toft_limited_source {
  toft_source source;
  toft_source *inner;
  size_t limit, used; /* used is updated atomically */
} toft_limited_source;
/* `inner` == NULL is toft_heap(). NULL if it is the source of a region that `limited` does not lie in. */
TOFT_API toft_source *toft_limited_source_init(toft_limited_source *limited TOFT_LIFETIMEBOUND, toft_source *inner,
                                               size_t limit);

/* ------------------------------------------------------------------------------------------------------------
 * Arenas
 * ------------------------------------------------------------------------------------------------------------ */

/* Called when a call on the arena is about to fail, with the reason: TOFT_ENOMEM, TOFT_EARG or TOFT_EBUSY; also with
 * size 0 and TOFT_EBUSY when toft_release has no effect. The arena is unchanged, so the callback may longjmp or throw.
 * A checked arena also calls it with TOFT_ECORRUPT and the size of an allocation outside which, or after the end of
 * which, bytes were written; that call continues, so the callback must return. It must not call into the arena. */
typedef void toft_failure_fn(void *arg, toft_arena *a, size_t size, size_t align, int code);

/* options.flags. CHECKED: start as a checked arena. HARDENED: blocks of toft_heap() are replaced by blocks between
 * inaccessible pages, with a random offset of the first object; freed memory is overwritten or made inaccessible; and
 * every call of the table checks a canary in the arena's state: if it is wrong, the arena refuses every call with
 * TOFT_EBUSY or NULL, and a finding is delivered. Blocks of other sources and the caller's buffer have no inaccessible
 * pages. Each mark, free and reset takes the slow path. The result is NULL if the system has no random numbers.
 * TOFT_HARDENED=1 in the environment hardens every arena of the process. docs/hardening.md has the details. */
enum { TOFT_CHECKED = 1, TOFT_HARDENED = 2 };

typedef struct toft_options {
  size_t size;         /* sizeof(toft_options): TOFT_OPTIONS sets it */
  toft_source *source; /* NULL: toft_heap(), or nothing if there is a buffer */
  void *buffer;        /* the arena's state and first allocations are placed here; NULL: in a block of the source */
  size_t buffer_size;  /* at least TOFT_BUFFER(0) */
  uint64_t budget;     /* limit on live bytes; 0: none */
  size_t reserve;      /* expected bytes: the first block after the initial block has this size */
  toft_failure_fn *failure; /* may be NULL */
  void *failure_arg;
  uint32_t flags; /* TOFT_CHECKED, TOFT_HARDENED */
} toft_options;
/* clang-format off */
#define TOFT_OPTIONS { sizeof(toft_options), NULL, NULL, 0, 0, 0, NULL, NULL, 0 }
/* clang-format on */

/* The size of a buffer, at any address, that can hold allocations of `bytes` bytes, each rounded up to 8. */
#define TOFT_BUFFER(bytes) (((size_t)(bytes) + 583) & ~(size_t)7)

/* Returns an arena with default options: blocks of toft_heap(), no budget. NULL if there is no memory. The thread's
 * cache is tried first, which is the fastest way. */
TOFT_API TOFT_NODISCARD toft_arena *toft_create(void);
/* Returns an arena with these options. NULL if there is no memory or the options are invalid; `options` == NULL is
 * toft_create. */
TOFT_API TOFT_NODISCARD toft_arena *toft_create_with(const toft_options *options);
/* Returns an arena in the caller's buffer of `size` bytes, which must outlive it, or NULL if the buffer is too small
 * (see TOFT_BUFFER). When the buffer is full, blocks come from `overflow`; if that is NULL, allocations fail. In a
 * checked process (toft/findings.h) the red zones need further memory: blocks for them come from toft_heap() if
 * `overflow` is NULL, allocations fail once their own bytes, without zones, exceed the buffer, the result is NULL if
 * there is no memory for the checks, and the arena must be released before its buffer is reused. */
TOFT_API TOFT_NODISCARD toft_arena *toft_create_in(void *buffer TOFT_LIFETIMEBOUND, size_t size,
                                                   toft_source *overflow TOFT_LIFETIMEBOUND);

/* Runs the cleanups and returns every block to the source. NULL is ignored. Inside a cleanup of the arena, and while a
 * range is claimed, it only reports TOFT_EBUSY to options.failure; a checked arena also reports a finding. */
TOFT_INLINE void toft_release(toft_arena *a);

/* Moves everything that `donor` holds into `a`, in constant time: donor's allocations now live as long as allocations
 * made in `a` at this point, and its cleanups run when they end. `donor` must not be used afterwards. Returns
 * TOFT_ENOMEM if a's budget does not allow it, TOFT_EBUSY if a range of either is claimed, TOFT_EARG if `donor` is `a`,
 * or if one of them lies in a region and the other not in the same.
 * An arena of another provider is kept until it is to be released; TOFT_ENOSYS if it has another ABI version. */
TOFT_API int toft_adopt(toft_arena *a, toft_arena *donor);

/* ------------------------------------------------------------------------------------------------------------
 * Allocation. Functions return NULL on failure. A size of 0 gives a pointer that must not be dereferenced.
 * ------------------------------------------------------------------------------------------------------------ */

/* Returns `size` uninitialised bytes, aligned to 8. */
TOFT_INLINE TOFT_NODISCARD void *toft_alloc(toft_arena *a, size_t size);
/* The same, aligned to `align`, a power of two of any size. */
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_aligned(toft_arena *a, size_t size, size_t align);
/* The same, with all bytes 0. */
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_zeroed(toft_arena *a, size_t size, size_t align);
/* Return `count` elements of `size` bytes each, uninitialised or zeroed. NULL if the product overflows. */
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_array(toft_arena *a, size_t count, size_t size, size_t align);
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_array_zeroed(toft_arena *a, size_t count, size_t size, size_t align);

/* Memory for one T or n of them, uninitialised or zeroed. */
#define toft_new(a, T) ((T *)toft_alloc_aligned((a), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_zeroed(a, T) ((T *)toft_alloc_zeroed((a), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_array(a, T, n) ((T *)toft_alloc_array((a), (n), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_array_zeroed(a, T, n) ((T *)toft_alloc_array_zeroed((a), (n), sizeof(T), TOFT_ALIGNOF(T)))

/* Resizes an allocation of `old_size` bytes: in place if it shrinks, or if it is the newest and the block has enough
 * bytes remaining; otherwise by a copy, and the old bytes stay allocated. On failure it returns NULL and changes
 * nothing. p == NULL allocates, with any old_size. */
TOFT_INLINE TOFT_NODISCARD void *toft_resize(toft_arena *a, void *p, size_t old_size, size_t new_size, size_t align);
/* Frees p if it is the newest allocation, otherwise does nothing. `size` is the size that was requested. NULL is
 * ignored. */
TOFT_INLINE void toft_free(toft_arena *a, void *p, size_t size);

/* Return a copy, or NULL if there is no memory. toft_memdup aligns it to 16. */
TOFT_INLINE TOFT_NODISCARD void *toft_memdup(toft_arena *a TOFT_LIFETIMEBOUND, const void *p, size_t size);
TOFT_INLINE TOFT_NODISCARD char *toft_strdup(toft_arena *a TOFT_LIFETIMEBOUND, const char *s);
/* Copies at most n bytes of s and appends a NUL. */
TOFT_INLINE TOFT_NODISCARD char *toft_strndup(toft_arena *a TOFT_LIFETIMEBOUND, const char *s, size_t n);
/* Formats as printf does, into the arena. NULL if there is no memory or the format fails. */
TOFT_API TOFT_NODISCARD TOFT_FORMAT(2, 3) char *toft_printf(toft_arena *a TOFT_LIFETIMEBOUND, const char *format, ...);
TOFT_API TOFT_NODISCARD TOFT_FORMAT(2, 0) char *toft_vprintf(toft_arena *a TOFT_LIFETIMEBOUND, const char *format,
                                                             va_list args);

/* Makes room: the next allocations whose sizes, rounded up to 8, and paddings add up to `bytes` at most take no block.
 * It allocates nothing, and leaves the rest of the current block unused if that is too small. TOUCH: also writes to
 * each page of the room, so that the system provides it now. TOFT_ENOMEM: the source refuses, or the budget;
 * TOFT_EBUSY: a range is claimed or a cleanup runs; TOFT_ENOSYS: an arena of another provider; TOFT_EARG: an unknown
 * flag. In a checked or hardened arena, whose allocations lie apart, it has no effect. */
enum { TOFT_RESERVE_TOUCH = 1 };
TOFT_API int toft_reserve(toft_arena *a, size_t bytes, uint32_t flags);

/* ------------------------------------------------------------------------------------------------------------
 * Marks and scopes
 * ------------------------------------------------------------------------------------------------------------ */

/* Returns a mark of the present state, two words that need no release. Not while a range is claimed: see toft_claim. */
TOFT_INLINE toft_mark toft_mark_here(const toft_arena *a);
/* Frees everything that was allocated since the mark, and runs the cleanups registered since, newest first. The mark
 * can be used again. Returns TOFT_EMARK if it is from another arena or from before a reset, or TOFT_EBUSY. Only checked
 * arenas detect a mark that was already rewound past. */
TOFT_INLINE int toft_rewind(toft_arena *a, toft_mark m);

/* A declaration. Everything allocated after it is freed at the end of the enclosing block, which may be left by its
 * last line, break, continue, return, goto, or a C++ exception:
 *     for (int i = 0; i < n; i++) {
 *       TOFT_SCOPE(a);
 *       if (!visit(toft_printf(a, "%d", i))) break;
 *     }
 * gcc and clang only; with other compilers use toft_mark_here and toft_rewind. No switch label or goto may jump past
 * the declaration into its block (clang rejects that, gcc does not). */
#ifdef TOFT_AT_EXIT
#define TOFT_SCOPE(a) TOFT_SCOPE_NAMED(a, TOFT_PASTE(toft_scope_, __COUNTER__))
#define TOFT_SCOPE_NAMED(a, name) toft_scope name TOFT_AT_EXIT(toft_scope_end) = toft_scope_begin(a)
#endif

/* ------------------------------------------------------------------------------------------------------------
 * Reset, trim, budgets
 * ------------------------------------------------------------------------------------------------------------ */

/* Frees every allocation and runs the cleanups, but keeps blocks for the next round: as many bytes as the largest of
 * the last 64 rounds needed, merged into one block (up to 64 MiB), so that a steady workload stops calling the
 * source. */
TOFT_INLINE int toft_reset(toft_arena *a);
/* The same, but keeps all memory (TOFT_KEEP_ALL), at most about `bytes` (TOFT_KEEP_BYTES), or as much as toft_reset
 * (TOFT_KEEP_RECENT; `bytes` is ignored). Returns TOFT_EBUSY or TOFT_EARG on failure. */
TOFT_INLINE int toft_reset_keep(toft_arena *a, uint32_t policy, size_t bytes);
/* Returns memory without allocations to the source until about `keep` bytes of it are left. Marks stay valid. The
 * source may keep it: the heap source does for up to two windows, unless toft_cache_trim is called. */
TOFT_INLINE void toft_trim(toft_arena *a, size_t keep);
/* Limits the live bytes, padding included; UINT64_MAX is no limit. The fast path costs nothing extra. With a budget
 * below the live bytes every allocation fails until enough has been freed. Returns TOFT_EBUSY on failure. */
TOFT_INLINE int toft_set_budget(toft_arena *a, uint64_t bytes);
/* Switches checks on or off for later allocations. Each gets red zones, which are checked when it is freed (rewind and
 * reset then do their work and return TOFT_ECORRUPT); freed memory is filled with 0xDD and checked before it is reused;
 * stale marks fail with TOFT_EMARK; resize and free with an address that is not an allocation, or with a wrong size,
 * fail with TOFT_EARG; concurrent calls by a second thread fail with NULL or TOFT_EBUSY (two allocations within
 * nanoseconds may both succeed and corrupt the arena). toft/findings.h says how findings are delivered. Checked arenas
 * are slow. Returns TOFT_EBUSY; TOFT_ENOMEM: nothing changed; TOFT_ECORRUPT: the checks are off, and the last check
 * found a write. */
TOFT_INLINE int toft_set_checked(toft_arena *a, int on);

/* ------------------------------------------------------------------------------------------------------------
 * Cleanups
 * ------------------------------------------------------------------------------------------------------------ */

/* Registers a function that runs once, when this point is rewound, reset or released; the newest runs first. It must
 * not throw or longjmp, and allocations fail while it runs. The node lives in the arena: set node->fn to NULL to cancel
 * it, or register it with fn NULL and set fn when the object is complete. NULL if there is no memory. */
TOFT_INLINE toft_cleanup *toft_cleanup_add(toft_arena *a, void (*fn)(void *), void *arg);

/* ------------------------------------------------------------------------------------------------------------
 * Claimed ranges, for loops that allocate several small objects in each iteration: cursor and limit live in local
 * variables. Until toft_unclaim the arena is sealed: other allocations come from other blocks, and rewind, reset,
 * release and a second claim fail. A mark or a scope that begins during a claim is at the start of its range: a rewind
 * to it after toft_unclaim also frees what was allocated from the range before it. Checked arenas report that.
 *
 *     toft_range r;
 *     toft_claim(a, &r);
 *     for (...) { struct node *n = (struct node *)toft_range_alloc(a, &r, sizeof *n); ... }
 *     toft_unclaim(a, &r);
 * ------------------------------------------------------------------------------------------------------------ */

/* Begins a claim. TOFT_EBUSY if the arena is claimed already. */
TOFT_INLINE int toft_claim(toft_arena *a, toft_range *r);
/* Allocates from the range, aligned to 8, and claims a further block when the range is full. NULL on failure: nothing
 * changed, and the claim continues. */
TOFT_INLINE TOFT_NODISCARD void *toft_range_alloc(toft_arena *a, toft_range *r, size_t size);
/* Allocates without alignment or rounding, for text. The result cannot be passed to toft_resize or toft_free. Call
 * toft_range_align before the next toft_range_alloc. */
TOFT_INLINE TOFT_NODISCARD void *toft_range_bytes(toft_arena *a, toft_range *r, size_t size);
TOFT_INLINE void toft_range_align(toft_range *r);
/* Ends the claim and returns the unused bytes. TOFT_EARG if r is not the range that claims a. */
TOFT_INLINE int toft_unclaim(toft_arena *a, toft_range *r);

/* ------------------------------------------------------------------------------------------------------------
 * Packed bytes: strings without the rounding to 8, which costs 13 to 61 % on real strings. A pack allocates chunks of
 * its arena and fills them byte by byte; other allocations may come in between. After a rewind past its begin, or a
 * reset, it must not be used. It needs no release.
 * ------------------------------------------------------------------------------------------------------------ */

typedef struct toft_pack {
  toft_arena *arena;
  unsigned char *cursor, *limit;
  size_t chunk; /* size of the next chunk */
} toft_pack;

TOFT_INLINE toft_pack toft_pack_begin(toft_arena *a);
/* Returns n uninitialised bytes, aligned to 1. */
TOFT_INLINE TOFT_NODISCARD void *toft_pack_alloc(toft_pack *k, size_t n);
/* Return a copy of n bytes; of at most n bytes of a string, and a NUL; of a string. */
TOFT_API TOFT_NODISCARD void *toft_pack_bytes(toft_pack *k, const void *p, size_t n);
TOFT_INLINE TOFT_NODISCARD char *toft_pack_strndup(toft_pack *k, const char *s, size_t n);
TOFT_INLINE TOFT_NODISCARD char *toft_pack_strdup(toft_pack *k, const char *s);

/* ------------------------------------------------------------------------------------------------------------
 * Statistics and blocks
 * ------------------------------------------------------------------------------------------------------------ */

/* Returns non-zero if p points into memory that this arena has handed out; may return 0 for bytes of a claimed range.
 * Walks the blocks. */
TOFT_INLINE int toft_contains(const toft_arena *a, const void *p);
/* Returns statistics. live is exact. allocated and peak are updated by slow calls, so they miss bytes that were
 * allocated and rewound within one block in between. reserved: all blocks, kept ones included. wasted: block headers
 * and unused ends of full blocks. blocks: the number in use. source_calls: calls of the source since the arena was
 * created. */
TOFT_INLINE toft_stats toft_get_stats(toft_arena *a);

typedef struct toft_block {
  const void *base;  /* start of the block, as the source returned it */
  size_t size;       /* size of the block */
  const void *start; /* the first byte for allocations */
  size_t used;       /* bytes allocated from `start` */
  int kind;          /* TOFT_BLOCK_... */
} toft_block;
enum { TOFT_BLOCK_REGULAR = 0, TOFT_BLOCK_DEDICATED = 1, TOFT_BLOCK_SPARE = 2 };
/* Calls fn for each block, newest first and kept ones last, with the blocks of adopted arenas in order, until fn
 * returns non-zero. Returns the last result of fn, or TOFT_ENOSYS for an arena of another provider. fn must return, and
 * cannot use the arena: allocations return NULL, other calls TOFT_EBUSY. */
TOFT_API int toft_blocks(toft_arena *a, int (*fn)(void *arg, const toft_block *block), void *arg);

/* ------------------------------------------------------------------------------------------------------------
 * Caches of the heap source.
 *
 * The thread's cache: toft_release puts arenas, and blocks below 1 MiB, into the cache of the calling thread, up to a
 * limit, for the next toft_create and the next block. The cache is emptied when the thread ends, when the library is
 * unloaded, and by toft_cache_trim. After fork the child keeps the cache of the forking thread; those of others leak.
 *
 * The process's cache of pages: blocks of 1 MiB and more of all threads. It keeps what is likely to be used again. It
 * shares one allowance with the idle memory of all recyclers: what is in use and what is kept together never exceed
 * the most that was held at once in the current or the previous window, which is half a second long by default, by
 * blocks in use and by the memory between their objects; and cached pages never exceed a limit. So within two windows
 * after a peak the surplus is due, and it goes back to the system when any thread next takes or returns pages, a
 * number of smaller blocks, or memory of a recycler. A process whose threads call nothing keeps its pages; the system
 * may take those of whole free huge pages (2 MiB) when it needs memory (MADV_FREE), toft_cache_trim returns all, and
 * so does the background thread within three windows. A child that is forked inherits the cache.
 * ------------------------------------------------------------------------------------------------------------ */

/* Sets the limit of each thread's cache, in bytes, and returns the old one. The default is 4 MiB; 0 switches the caches
 * of threads off. Applies to every thread from its next release on. Thread-safe. */
TOFT_API size_t toft_cache_limit(size_t bytes);
/* Returns the number of bytes in the calling thread's cache. */
TOFT_API size_t toft_cache_bytes(void);
/* For a quiet point of the program: empties the calling thread's cache and the cache of pages, and discards the idle
 * pages of all recyclers on the heap source, also of those that other threads own (on Linux and Windows). Blocks go
 * back to the C heap, which may keep their pages, and pages to the system. Thread-safe. */
TOFT_API void toft_cache_trim(void);

/* Sets the limit of the cache of pages, in bytes, and returns the old one. What exceeds a lower limit goes back to
 * the system at once. The default is TOFT_PAGE_CACHE in the environment, a number that K, M or G may follow, or
 * else 256 MiB, and 32 MiB where pointers have 32 bits; 0 switches the cache off. Thread-safe. */
TOFT_API size_t toft_page_cache_limit(size_t bytes);
/* Sets the length of a window in milliseconds, and returns the old one. The default is TOFT_PAGE_CACHE_MS in the
 * environment, or 500. With 0 pages go back to the system as soon as they are not in use. Thread-safe. */
TOFT_API size_t toft_page_cache_window(size_t milliseconds);
/* Returns to the system what is due, of the cache of pages and of recyclers, as each use of the cache does: for a
 * program that has a moment for it. Thread-safe. */
TOFT_API void toft_page_cache_age(void);
/* Switches the background thread on or off; TOFT_BACKGROUND_THREAD=1 in the environment switches it on. While it is on,
 * a thread of the library returns what is due also when the program calls nothing: it exists only while something is
 * due, sleeps for a window at a time, has a stack of 64 KiB and blocks all signals. In an idle process the cache is
 * empty after three windows. Off: the thread has ended when the call returns. TOFT_OK, or TOFT_ENOSYS where it is not
 * supported: Windows, WASI, TOFT_NO_OS. Thread-safe, except against itself. A forked child has no such thread until
 * pages come to its cache. */
TOFT_API int toft_background_thread(int on);
/* Returns the number of bytes in the cache of pages. Thread-safe. */
TOFT_API size_t toft_page_cache_bytes(void);

#ifdef TOFT_RUNTIME /* defined by the package of a language with a runtime of its own, such as Go's */
/* Returns the bytes that arenas, caches and recyclers have taken from the system by this library and not returned:
 * blocks, also those that are cached, and committed parts of reserved ranges. Memory of the user's own sources and of
 * toft_page_source is not included. Thread-safe. */
TOFT_API size_t toft_held_bytes(void);
/* Returns the free pages of the C heap to the system, if blocks of at least `least` bytes went back to that heap since
 * the last call. Does so with glibc, which otherwise keeps pages between used ones; elsewhere it does nothing. Takes
 * time for each free part of the heap. Thread-safe. */
TOFT_API void toft_heap_trim(size_t least);
/* Runs the cleanups registered after the mark, newest first, up to the first one whose function is fn. That one is not
 * called but removed; *arg is its argument, and the caller does its work before the next call on the arena. With a
 * cursor of NULL the mark is the start of the arena. If *arg is NULL, none is left, or the arena refuses the call
 * (another provider's, busy, or the mark is not valid), which the rewind, reset or release that follows reports.
 *
 * While *arg is not NULL, the arena is busy, as inside a cleanup; the caller repeats the call with `again` set until
 * *arg is NULL. No argument of fn may be NULL. */
TOFT_API void toft_next_cleanup(toft_arena *a, unsigned char *cursor, uintptr_t epoch, int again, void (*fn)(void *),
                                void **arg);
#endif

/* ------------------------------------------------------------------------------------------------------------
 * Hooks: malloc-like functions for libraries with a configurable allocator. They store the size in 16 bytes before each
 * object, align to 16, and reuse memory only when the newest object is freed or resized. Those of calloc return zeroed
 * memory, and NULL also if count * size overflows.
 * ------------------------------------------------------------------------------------------------------------ */

TOFT_API TOFT_SIZED(2) void *toft_hook_malloc(void *arena TOFT_LIFETIMEBOUND, size_t size);
TOFT_API TOFT_SIZED2(2, 3) void *toft_hook_calloc(void *arena TOFT_LIFETIMEBOUND, size_t count, size_t size);
TOFT_API TOFT_SIZED(3) void *toft_hook_realloc(void *arena TOFT_LIFETIMEBOUND, void *p, size_t size);
TOFT_API void toft_hook_free(void *arena, void *p);

/* Returns the calling thread's current arena, for hooks without a context pointer. NULL until it is set. */
TOFT_API toft_arena *toft_current(void);
/* Sets the current arena (NULL: none) and returns the previous one, for the caller to restore. */
TOFT_API toft_arena *toft_current_swap(toft_arena *a);
/* Use the current arena. They return NULL if there is none. */
TOFT_API TOFT_SIZED(1) void *toft_current_malloc(size_t size);
TOFT_API TOFT_SIZED2(1, 2) void *toft_current_calloc(size_t count, size_t size);
TOFT_API TOFT_SIZED(2) void *toft_current_realloc(void *p, size_t size);
TOFT_API void toft_current_free(void *p);

/* ---- small inline bodies, documented above ---- */

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
  k.cursor = k.limit = a->cursor; /* empty, and never NULL */
  k.chunk = 256;
  return k;
}

TOFT_API void *toft_pack_grow(toft_pack *k, size_t n);

TOFT_INLINE void *toft_pack_alloc(toft_pack *k, size_t n) {
  unsigned char *p = k->cursor;
  if (TOFT_UNLIKELY((size_t)(k->limit - p) < n)) { /* the address of a copy escapes, so k can stay in registers */
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

/* ==== toft/sites.h ==== */
/* With TOFT_SITES, calls by these names record their file and line in checked arenas, as toft_at does. Included by
 * toft.h after everything else. */
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
