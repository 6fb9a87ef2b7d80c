/* Toft 0.1.0, the header of two files. Made by scripts/amalgamate: do not edit.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Toft: an arena allocator. Allocate by moving a pointer; give everything back at once.
 *
 *     toft_arena *a = toft_create();
 *     struct node *n = toft_new(a, struct node);
 *     char *name = toft_strdup(a, "toft");
 *     ...
 *     toft_release(a);                       everything above is gone, in one call
 *
 * This header is the reference. Three layers: this one says what the calls do; toft/inline.h is what they cost;
 * src/ is what happens when a block is full. Sizes are bytes unless a parameter says otherwise.
 *
 * FAILURE. A call that cannot do its work returns NULL or a negative code (toft_error_name names it) and leaves the
 * arena as it was. Nothing here prints, exits or aborts. options.failure is told first, if it is set.
 *
 * THREADS. An arena belongs to one thread at a time and may move between threads; calls on two arenas never
 * interfere. Exceptions are stated at the call.
 *
 * LIFETIME. Memory from an arena is valid until the arena is reset or released, or rewound to a mark taken before
 * it. Nobody frees it piece by piece (toft_free gives back the newest allocation, and is otherwise a no-op).
 *
 * BAD INPUT. Every arena detects a size that overflows (NULL), an alignment above 8 that is no power of two (NULL), a
 * mark of another arena, also of one that was released at the same address, or from before a reset (TOFT_EMARK), and
 * calls while a range is claimed or a cleanup runs (TOFT_EBUSY). Only a checked arena (options.flags, toft_set_checked,
 * TOFT_CHECKED=1 in the environment; see toft/findings.h) detects a mark already rewound past, writes beyond an
 * allocation or after it was given back, frees of what is no allocation or of another size, calls on a released arena,
 * a release while a range is claimed or a cleanup runs, and two threads in one arena. Not detected: a NULL arena,
 * alignments 3, 5, 6 and 7 (served as 8).
 *
 * EMBEDDING. `#define TOFT_PREFIX mylib_` before every include, and when toft.c is compiled, renames every external
 * symbol. With `#define TOFT_STATIC`, including toft.c in one translation unit makes all of it static.
 * TOFT_OMIT_CHECKS, _METERS, _POOLS, _RECYCLER and _THREADS leave those functions out, and TOFT_NO_OS builds the
 * library for targets without an operating system; see c/README.md. Settings that are left out return TOFT_ENOSYS.
 */
#ifndef TOFT_H
#define TOFT_H

#include <stdarg.h>

/* ==== toft/abi.h ==== */
/* The Toft arena ABI, version 1. Copy this file into any project, guard included; SPEC.md has the meaning of each
 * member. Allocate inline: if (limit - cursor < size) call ops->alloc; else p = cursor, cursor += round_up(size, 8).
 * These structures never change: additions come in headers of their own, as toft_abi_info.h. */
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
  unsigned char *limit;      /* end of the inline path's room; a multiple of 8, cursor <= limit */
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
} toft_info_ops;
/* NULL: the provider has none. */
static inline const toft_provider_info *toft_info_of(const toft_arena *a) {
  return a->ops->size >= sizeof(toft_info_ops) ? ((const toft_info_ops *)(const void *)a->ops)->info : NULL;
}
TOFT_STATIC_ASSERT(provider_info, sizeof(toft_provider_info) == 3 * sizeof(void *));
TOFT_STATIC_ASSERT(info_ops, offsetof(toft_info_ops, info) == 8 + 13 * sizeof(void *));
#ifdef __cplusplus
}
#endif
#endif

/* ==== toft/compiler.h ==== */
/* Compiler attributes and linkage, in one place. Nothing here changes the layout of anything. */
#ifndef TOFT_COMPILER_H
#define TOFT_COMPILER_H

#if defined(__GNUC__) || defined(__clang__)
#define TOFT_LIKELY(x) __builtin_expect(!!(x), 1)
#define TOFT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TOFT_CONSTANT(x) __builtin_constant_p(x)
#define TOFT_ASSUME(x) ((x) ? (void)0 : __builtin_unreachable())
#define TOFT_SEPARATE_ACCESSES() __asm__ volatile("" : : : "memory") /* keeps two accesses from being fused into one */
#define TOFT_INLINE static inline __attribute__((always_inline, unused))
#define TOFT_NODISCARD __attribute__((warn_unused_result))
#define TOFT_FORMAT(fmt, first) __attribute__((format(printf, fmt, first)))
#define TOFT_SIZED(n) __attribute__((alloc_size(n)))
#define TOFT_SIZED2(n, m) __attribute__((alloc_size(n, m)))
#define TOFT_AT_EXIT(fn) __attribute__((cleanup(fn), unused))
#define TOFT_COLD __attribute__((noinline, cold))
#define TOFT_UNUSED __attribute__((unused))
/* The return address of the function that contains it; 0 where code has no addresses. */
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
#define TOFT_UNUSED
#if defined(_MSC_VER)
#include <intrin.h>
#define TOFT_CALLER() ((uintptr_t)_ReturnAddress())
#else
#define TOFT_CALLER() ((uintptr_t)0)
#endif
#endif

/* TOFT_STATIC: the whole library lives in the one translation unit that includes toft.c.
 * TOFT_SHARED: it is a shared library; TOFT_BUILD says that this is the library being built. */
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
#else
#define TOFT_ALIGNOF(T) _Alignof(T)
#endif

#ifdef TOFT_NO_OS
#define TOFT_THREAD_LOCAL
#elif defined(__cplusplus)
#define TOFT_THREAD_LOCAL thread_local
#else
#define TOFT_THREAD_LOCAL _Thread_local
#endif

/* TOFT_PREFIX: every external symbol gets it in front, so that two libraries can each embed a copy. */
#define TOFT_PASTE_(a, b) a##b
#define TOFT_PASTE(a, b) TOFT_PASTE_(a, b)
#ifdef TOFT_PREFIX
#define toft_adopt TOFT_PASTE(TOFT_PREFIX, toft_adopt)
#define toft_at_place TOFT_PASTE(TOFT_PREFIX, toft_at_place)
#define toft_blocks TOFT_PASTE(TOFT_PREFIX, toft_blocks)
#define toft_cache_held TOFT_PASTE(TOFT_PREFIX, toft_cache_held)
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
#define toft_heap TOFT_PASTE(TOFT_PREFIX, toft_heap)
#define toft_hook_free TOFT_PASTE(TOFT_PREFIX, toft_hook_free)
#define toft_hook_malloc TOFT_PASTE(TOFT_PREFIX, toft_hook_malloc)
#define toft_hook_realloc TOFT_PASTE(TOFT_PREFIX, toft_hook_realloc)
#define toft_lease_get TOFT_PASTE(TOFT_PREFIX, toft_lease_get)
#define toft_lease_return TOFT_PASTE(TOFT_PREFIX, toft_lease_return)
#define toft_leases_create TOFT_PASTE(TOFT_PREFIX, toft_leases_create)
#define toft_leases_get_stats TOFT_PASTE(TOFT_PREFIX, toft_leases_get_stats)
#define toft_leases_release TOFT_PASTE(TOFT_PREFIX, toft_leases_release)
#define toft_leases_trim TOFT_PASTE(TOFT_PREFIX, toft_leases_trim)
#define toft_limited_source_init TOFT_PASTE(TOFT_PREFIX, toft_limited_source_init)
#define toft_on_finding TOFT_PASTE(TOFT_PREFIX, toft_on_finding)
#define toft_on_refusal TOFT_PASTE(TOFT_PREFIX, toft_on_refusal)
#define toft_pack_bytes TOFT_PASTE(TOFT_PREFIX, toft_pack_bytes)
#define toft_pack_grow TOFT_PASTE(TOFT_PREFIX, toft_pack_grow)
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
#define toft_recycler_init TOFT_PASTE(TOFT_PREFIX, toft_recycler_init)
#define toft_recycler_release TOFT_PASTE(TOFT_PREFIX, toft_recycler_release)
#define toft_recycler_resize TOFT_PASTE(TOFT_PREFIX, toft_recycler_resize)
#define toft_recycler_trim TOFT_PASTE(TOFT_PREFIX, toft_recycler_trim)
#define toft_recycler_update_block TOFT_PASTE(TOFT_PREFIX, toft_recycler_update_block)
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
#endif

#endif

/* ==== toft/findings.h ==== */
/* Findings: what checked arenas and recyclers detect, and how it is delivered.
 *
 * An arena is checked from the start with TOFT_CHECKED in options.flags, and from a call of toft_set_checked on. With
 * TOFT_CHECKED=1 in the environment every arena and every recycler of the process is checked; no program needs to be
 * rebuilt. Findings are delivered in four ways:
 *
 *   options.failure          the arena's own callback gets a code (see toft.h)
 *   toft_findings            walks over what one arena found
 *   toft_on_finding          a function of the process gets every finding at once
 *   the environment          one line for each finding, on standard error or in a file
 *
 * Two variables of the environment are read once, when the first arena or recycler is made. A process with more rights
 * than its user (set-uid, set-gid, file capabilities) ignores both.
 *
 *   TOFT_CHECKED     empty, 0, off, no, false (in any case): off. abort: on, and the process aborts after its first
 *                    finding. Anything else: on.
 *   TOFT_FINDINGS    the file that lines are appended to; it is created with mode 0600, and not followed if it is a
 *                    symbolic link. stderr and stdout, also as /dev/stderr and /dev/stdout, are the standard streams.
 *                    Not set: standard error where TOFT_CHECKED is on; where it is off, nothing is written.
 *
 * docs/checked.md has the table of what is found, and what is not.
 */
#ifndef TOFT_FINDINGS_H
#define TOFT_FINDINGS_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TOFT_FOUND_OVERRUN = 1,      /* bytes behind an allocation were written */
  TOFT_FOUND_UNDERRUN = 2,     /* bytes in front of one */
  TOFT_FOUND_LATE_WRITE = 3,   /* memory was written after it was given back */
  TOFT_FOUND_DOUBLE_FREE = 4,  /* freed or resized although it was given back before */
  TOFT_FOUND_WRONG_SIZE = 5,   /* freed or resized with another size than it was asked for */
  TOFT_FOUND_FOREIGN = 6,      /* freed or resized although it is no allocation of this arena */
  TOFT_FOUND_STALE_MARK = 7,   /* rewound to a mark that is not good any more */
  TOFT_FOUND_WRONG_THREAD = 8, /* called by another thread than it is pinned to: see toft_pin */
  TOFT_FOUND_TWO_THREADS = 9,  /* called while another thread was in a call */
  TOFT_FOUND_RELEASED = 10,    /* called after its release */
  TOFT_FOUND_NOT_RELEASED = 11 /* a release without effect: a range was claimed, or a cleanup was running */
};

/* One call of the program, as far as it is known. */
typedef struct toft_moment {
  const char *call; /* "alloc", "rewind" and so on; "": there was none */
  /* "file.c:12" as given by toft_at, TOFT_SITES or another language; else, with debug information and libdw of elfutils
   * on the machine, "function (file.c:12)", the call in the program's own code; else "function+0x2a (program+0x11f9)",
   * whose last part addr2line understands. Bytes that are not printable ASCII are written as \xNN. */
  const char *place;
  uintptr_t site; /* the same as a number: what the caller gave, or else where the call returns to */
  size_t thread;  /* threads are numbered from 1, in the order in which Toft met them */
} toft_moment;

typedef struct toft_finding {
  int kind;            /* TOFT_FOUND_... */
  const char *message; /* all of it in one line without a newline, from the kind's name on */
  toft_arena *arena;   /* not to be called: it is in the middle of a call, or released. NULL: a recycler's */
  const void *address; /* of the allocation; NULL where none is concerned */
  size_t size;         /* its bytes, as requested */
  ptrdiff_t offset;    /* the first byte that was written, counted from its start */
  toft_moment allocated, returned, noticed;
  size_t length;              /* from the first byte that was written to the last, as far as was looked */
  const unsigned char *bytes; /* these, but 32 at most; NULL if length is 0 */
} toft_finding;

/* Gets a finding, which is valid until it returns. */
typedef void toft_finding_fn(void *arg, const toft_finding *finding);

/* fn is called for every finding of every checked arena and recycler, by the thread that found it; NULL: no function.
 * It must return, and may use other arenas and recyclers; the finding's own is closed to it. A finding that its calls
 * cause is only printed. Replaces the one before. Thread-safe. */
TOFT_API void toft_on_finding(toft_finding_fn *fn, void *arg);

/* Looks at all of a checked arena now, the zones of live allocations and what was given back; then calls fn for each
 * finding of the arena that no walk has told yet, oldest first. Returns how many there were, TOFT_EBUSY in a cleanup of
 * the arena, or TOFT_ENOSYS for an arena of another maker. More than 1000 are counted and not kept. */
TOFT_API int toft_findings(toft_arena *a, toft_finding_fn *fn, void *arg);

/* Blocks of the heap that checked arenas gave back, up to 1 MiB of the process's, wait before they are used again, so
 * that late writes are found and a released arena can say that it is one. This looks at them, and lets them go; the end
 * of the process does so by itself, where it runs C's destructors. Thread-safe. */
TOFT_API void toft_quarantine_trim(void);

/* Binds a checked arena to the calling thread: calls by others are found and refused (NULL, or TOFT_EBUSY), but for
 * those that only look: statistics, blocks, reports, snapshots. on == 0 unbinds it, from any thread, and so do the
 * return of its lease and the end of the thread whose frames it is of. Calls on caches, frames and shared arenas are
 * not held up by it. An arena that is not checked stays as it is, so such calls may stay in the program. TOFT_ENOSYS
 * for an arena of another maker. */
TOFT_API int toft_pin(toft_arena *a, int on);

/* A number for a place in the program, such as "file.c:12", to be given as `site` wherever the ABI takes one. The text
 * is copied, once for each text. 0 if there is no memory. Thread-safe. */
TOFT_API uintptr_t toft_site(const char *place);

/* Says where the next call on a checked arena is made from; returns a. `place` must live until that call.
 *     p = toft_alloc(toft_at(a, "table of contents"), size);
 * In C, with `#define TOFT_SITES` before the include, every call of the inline functions of toft.h says its file and
 * line that way, at the price of a test. */
TOFT_INLINE toft_arena *toft_at(toft_arena *a, const char *place);

TOFT_API void toft_at_place(toft_arena *a, const char *place);

TOFT_INLINE toft_arena *toft_at(toft_arena *a, const char *place) {
  if (TOFT_UNLIKELY(a != NULL && (a->epoch & 1))) toft_at_place(a, place);
  return a;
}

#ifdef __cplusplus
}
#endif
#endif

/* ==== toft/frame.h ==== */
/* Frames: memory for a loop, on all threads. Each thread has an arena of its own, and all of them are emptied together
 * when the frame ends: a game's frame, a simulation's step, a batch.
 *
 *     toft_frames *frames = toft_frames_create(1, NULL);
 *     for (;;) {
 *       ... on any thread: struct hit *h = toft_new(toft_frame_arena(frames), struct hit);
 *       ... all threads have done their part ...
 *       toft_frames_advance(frames);              what they allocated is gone, the memory is kept
 *     }
 *
 * N BUFFERS keep what the last N - 1 frames allocated, so that a frame can be read while the next ones run: with two, a
 * renderer draws frame 7 while frame 8 is computed. toft_frame_publish names what others may read of a frame,
 * toft_frame_previous finds it again.
 *
 * A FRAME IN A FRAME is a scope: after TOFT_FRAME(frames, arena), the end of the enclosing block gives back what this
 * thread allocated in it.
 *
 * THREADS. toft_frame_arena, toft_frame_publish and toft_frame_previous may be called by all threads at once. Calls that say
 * ALONE need every other thread to be between two uses of these frames, and to know it: parked at a barrier
 * (toft_frames_arrive_and_wait), joined, waiting for work. A thread that says toft_frame_enter before it works in a frame and
 * toft_frame_leave after it, is seen: calls that need to be alone are then refused (TOFT_EBUSY) instead of pulling its
 * memory away. Who never enters is not seen.
 *
 * A thread that ends leaves its arenas to the next new thread, with what is in them until the frame ends; as many
 * arenas are made as threads lived at once. In destructors of thread-specific data ask toft_frame_arena again: an arena
 * from before may be another thread's by then.
 *
 * FORK. A child has its own copy; the arenas of threads it has not got are emptied like all others, and stay. If one of
 * those threads was ALONE, the arena that it was just emptying, trimming or counting is lost to the child (its memory
 * stays, its cleanups do not run), and others may not be emptied before the frame's next turn: ask toft_frame_arena
 * again.
 */
#ifndef TOFT_FRAME_H
#define TOFT_FRAME_H

/* ==== toft/inline.h ==== */
/* The inline layer: what an allocation costs. These functions know the four words of the ABI's head and nothing
 * else, so they serve arenas of every maker. toft.h documents them. */
#ifndef TOFT_INLINE_H
#define TOFT_INLINE_H

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TOFT_ROUND8(n) (((n) + 7u) & ~(size_t)7)

/* Room is a multiple of 8, so room >= size implies room >= TOFT_ROUND8(size): the raw compare cannot be fooled by
 * a size near SIZE_MAX, and the add cannot pass limit. */
TOFT_INLINE TOFT_NODISCARD TOFT_SIZED(2) void *toft_alloc(toft_arena *a, size_t size) {
  unsigned char *p = a->cursor;
  if (TOFT_UNLIKELY((size_t)(a->limit - p) < size)) return a->ops->alloc(a, size, 8, 0, 0);
  a->cursor = p + TOFT_ROUND8(size);
  TOFT_ASSUME(p != NULL); /* so the ABI says: the caller's check for NULL costs nothing on this path */
  return p;
}

/* 3, 5, 6 and 7 are served as 8, as the inline path serves them. */
#define TOFT_OPS_ALIGN(align) ((align) < 8 && ((align) & ((align)-1)) != 0 ? 8 : (align))

/* Two levels: alignments up to 8 cost nothing, larger ones are padded here; ops only when room fails. An alignment
 * that is no power of two fails here or in ops. Of constants whose sum cannot wrap one compare is enough. */
TOFT_INLINE TOFT_NODISCARD TOFT_SIZED(2) void *toft_alloc_aligned(toft_arena *a, size_t size, size_t align) {
  unsigned char *p = a->cursor;
  size_t room = (size_t)(a->limit - p);
  if (TOFT_LIKELY(align - 1 < 8)) {
    if (TOFT_UNLIKELY(room < size)) return a->ops->alloc(a, size, TOFT_OPS_ALIGN(align), 0, 0);
  } else {
    uintptr_t q = ((uintptr_t)p + (align - 1)) & (0 - (uintptr_t)align);
    size_t pad = (size_t)(q - (uintptr_t)p);
    int full = TOFT_CONSTANT(size) && TOFT_CONSTANT(align) && size < 0x1000000 && align < 0x1000000
                   ? room < pad + size
                   : room < pad || room - pad < size;
    if (TOFT_UNLIKELY((align & (align - 1)) != 0 || full)) return a->ops->alloc(a, size, align, 0, 0);
    p = (unsigned char *)q; /* p + pad, but two steps nearer to p: the next allocation waits for it */
  }
  a->cursor = p + TOFT_ROUND8(size);
  TOFT_ASSUME(p != NULL);
  return p;
}

TOFT_INLINE TOFT_NODISCARD TOFT_SIZED(2) void *toft_alloc_zeroed(toft_arena *a, size_t size, size_t align) {
  void *p = toft_alloc_aligned(a, size, align);
  if (TOFT_LIKELY(p != NULL)) memset(p, 0, size);
  return p;
}

/* count * size, or SIZE_MAX, which no arena can serve. */
TOFT_INLINE size_t toft_array_size(size_t count, size_t size) {
#if defined(__GNUC__) || defined(__clang__)
  size_t bytes;
  return TOFT_UNLIKELY(__builtin_mul_overflow(count, size, &bytes)) ? SIZE_MAX : bytes;
#else
  return size != 0 && count > SIZE_MAX / size ? SIZE_MAX : count * size;
#endif
}

TOFT_INLINE TOFT_NODISCARD TOFT_SIZED2(2, 3) void *toft_alloc_array(toft_arena *a, size_t count, size_t size,
                                                                    size_t align) {
  return toft_alloc_aligned(a, toft_array_size(count, size), align);
}

TOFT_INLINE TOFT_NODISCARD TOFT_SIZED2(2, 3) void *toft_alloc_array_zeroed(toft_arena *a, size_t count, size_t size,
                                                                           size_t align) {
  return toft_alloc_zeroed(a, toft_array_size(count, size), align);
}

/* In place when p is the newest allocation and there is room, else by ops: a watched arena always goes there.
 * The end of one block is never the start of another's first byte, so p + size == cursor means the newest. */
TOFT_INLINE TOFT_NODISCARD TOFT_SIZED(4) void *toft_resize(toft_arena *a, void *p, size_t old_size, size_t new_size,
                                                           size_t align) {
  unsigned char *q = (unsigned char *)p;
  if (TOFT_LIKELY(q != NULL && !(a->epoch & 1) && (size_t)(a->cursor - q) == TOFT_ROUND8(old_size) &&
                  (size_t)(a->limit - q) >= new_size && ((uintptr_t)q & (align - 1)) == 0 &&
                  (align & (align - 1)) == 0)) {
    a->cursor += (ptrdiff_t)(TOFT_ROUND8(new_size) - TOFT_ROUND8(old_size)); /* from cursor: q is the caller's word */
    return p;
  }
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

/* Ops see a copy of the range, or its address would escape and it could not live in registers. The barrier: gcc fuses
 * the two words into one vector register, and keeps them there in the loop. */
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

TOFT_INLINE TOFT_NODISCARD TOFT_SIZED(3) void *toft_range_alloc(toft_arena *a, toft_range *r, size_t size) {
  unsigned char *p = r->cursor;
  if (TOFT_UNLIKELY((size_t)(r->limit - p) < size)) return toft_range_claim(a, r, size, 8);
  r->cursor = p + TOFT_ROUND8(size);
  TOFT_ASSUME(p != NULL);
  return p;
}

/* Byte-granular: no rounding, no alignment. What a new claim returned is shortened to its last byte. */
TOFT_INLINE TOFT_NODISCARD TOFT_SIZED(3) void *toft_range_bytes(toft_arena *a, toft_range *r, size_t size) {
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
  r->cursor += (size_t)(0 - (uintptr_t)r->cursor) & 7u; /* limit is a multiple of 8: never passed */
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

/* a may be NULL: then there is nothing to end. */
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

#ifdef __cplusplus
extern "C" {
#endif

struct toft_options; /* toft.h */

typedef struct toft_frames toft_frames;

#define TOFT_FRAMES_MOST 16

/* `buffers`: 1 to TOFT_FRAMES_MOST. `arenas` says how a thread's arenas are made: source, budget, reserve, failure,
 * checks; the source is called by many threads at once, a buffer cannot be given; NULL: as by toft_create. NULL if
 * there is no memory or an argument is bad. */
TOFT_API TOFT_NODISCARD toft_frames *toft_frames_create(uint32_t buffers, const struct toft_options *arenas);
/* ALONE. Runs the cleanups of all frames and returns all memory. TOFT_EBUSY: a thread has entered or waits for the frame's
 * end, or an arena is claimed: nothing has changed. NULL is ignored. */
TOFT_API int toft_frames_release(toft_frames *frames);

/* This thread's arena of the present frame: two loads and a compare if it was the one asked for last. It is not
 * released by toft_release, and not adopted. NULL: its first use, and there is no memory; or a cleanup asks while
 * the frame ends. */
TOFT_API toft_arena *toft_frame_arena(toft_frames *frames);

/* ALONE. Ends the frame and begins the next: the oldest frame's arenas are emptied on all threads, their cleanups
 * run on this one, and what is not kept goes to this thread's cache. TOFT_EBUSY: a thread has entered, an arena that
 * is to be emptied is claimed, or another thread advances: nothing has changed. TOFT_ECORRUPT: done, and a checked
 * arena found bytes written outside an allocation. */
TOFT_API int toft_frames_advance(toft_frames *frames);
/* How often that was done. */
TOFT_API uint64_t toft_frames_number(const toft_frames *frames);

/* What others may know of the present frame; the last call counts. Whoever finds it sees what was written before. */
TOFT_API void toft_frame_publish(toft_frames *frames, void *root);
/* What was published in the frame that is `age` frames old, 0 being the present one. NULL: nothing was, or the frame is
 * gone: age is not below the number of buffers. Only to be read: its arenas are the past's. */
TOFT_API const void *toft_frame_previous(const toft_frames *frames, uint32_t age);

/* "This thread works in the frame", until as many calls of toft_frame_leave. TOFT_EBUSY: the frame is ending just now.
 * TOFT_ENOMEM, also in a destructor of thread-specific data that runs after Toft's own: nobody would see that thread
 * end. An atomic exchange, or none if it is inside already. */
TOFT_API TOFT_NODISCARD int toft_frame_enter(toft_frames *frames);
/* TOFT_EARG: it was not inside. */
TOFT_API int toft_frame_leave(toft_frames *frames);

/* ALONE. Returns memory that holds no allocation to its source, until about `keep` bytes of it are left in each
 * arena, and ends the empty arenas of threads that have ended. TOFT_EBUSY as above. */
TOFT_API int toft_frames_trim(toft_frames *frames, size_t keep);

/* Sums over the arenas of all threads and buffers, as toft_stats has them. */
typedef struct toft_frame_stats {
  uint64_t live, reserved, wasted, blocks, source_calls;
  size_t arenas, threads; /* threads: those that were here and have not ended */
} toft_frame_stats;
/* ALONE. TOFT_EBUSY as above: then *out is not written. */
TOFT_API int toft_frames_get_stats(toft_frames *frames, toft_frame_stats *out);

/* A frame in the frame, of this thread: declares `toft_arena *a`, which is toft_frame_arena(frames) and may be NULL, and
 * a scope of that arena, as TOFT_SCOPE does. gcc and clang only. */
#ifdef TOFT_AT_EXIT
#define TOFT_FRAME(frames, a)               \
  toft_arena *a = toft_frame_arena(frames); \
  toft_scope a##_scope TOFT_AT_EXIT(toft_scope_end) = toft_scope_begin_if(a)
#endif

/* ---- ending a frame from all threads of a loop ---- */

/* Sets how many threads take part in each frame: as many as call toft_frames_arrive_and_wait. 0, the initial value: none.
 * Returns TOFT_EBUSY, with nothing changed, while a thread waits. A child of a fork has the parent's number and none of
 * its waiting threads. */
TOFT_API int toft_frames_set_parties(toft_frames *frames, size_t parties);
/* Waits until all parties have called it; one of them then calls toft_frames_advance while the others wait. Returns that
 * call's result, to all of them. What each thread wrote before the call is visible to all after it. TOFT_EARG: the
 * number of parties is 0. */
TOFT_API int toft_frames_arrive_and_wait(toft_frames *frames);
/* Lowers the number of parties by one, for this frame and all later ones, and does not wait: the call of a thread that
 * leaves the loop. The last party that leaves does not end the frame. TOFT_EARG: the number of parties is 0. */
TOFT_API int toft_frames_arrive_and_drop(toft_frames *frames);

#ifdef __cplusplus
}
#endif
#endif

/* ==== toft/lease.h ==== */
/* Leases: arenas from a cache that all threads share, for code that has no place of its own to keep one in: a request's
 * handler, a callback, a function that needs memory for as long as it runs.
 *
 *     toft_lease l = toft_lease_get(NULL);          from the process's own cache
 *     char *line = toft_printf(l.arena, "%d", 7);
 *     ...
 *     toft_lease_return(NULL, l);                   all of it is gone; the arena waits for the next
 *
 * What waits keeps memory that was touched already: the next lease allocates without asking anybody. Get and return on
 * one thread take no lock and no atomic read-modify-write; a lease may be returned on any thread, which takes a lock.
 *
 * A LEASE is an arena that is yours until you return it, and the number of that turn. So a return that is not the first
 * of its lease is refused (TOFT_EBUSY), also when two threads try at once, and also when the arena is somebody else's
 * by then. An arena that was returned gives no memory and takes no call (NULL, TOFT_EBUSY) until it is leased again;
 * toft_release does nothing to an arena of a cache, and toft_adopt refuses it (TOFT_EBUSY).
 *
 * WHAT IS KEPT. At most options.idle arenas wait, with at most options.keep bytes each and options.bytes in all; what
 * is beyond that goes back to its source. Half of the arenas that may wait, wait each for the thread that had it last.
 * When that thread ends, or calls toft_cache_trim, they are anybody's. toft_leases_trim empties the cache.
 *
 * CHECKED caches (TOFT_CHECKED in options.arenas->flags): what is returned is filled with 0xDD, and looked at when it
 * is leased again: bytes written meanwhile are told to options.arenas->failure as TOFT_ECORRUPT.
 *
 * FORK. The child has its own copy, and goes on; what other threads had out stays out there. EXIT: what waits in the
 * process's own cache goes back to the system at exit and at dlclose, but for what other threads that still run have.
 */
#ifndef TOFT_LEASE_H
#define TOFT_LEASE_H

#ifdef __cplusplus
extern "C" {
#endif

struct toft_options; /* toft.h */

/* Thread-safe, all of it, but for toft_leases_release. NULL is the process's own cache, which has the defaults. */
typedef struct toft_leases toft_leases;

typedef struct toft_lease {
  toft_arena *arena;   /* NULL: there was no memory */
  uint64_t generation; /* the cache's */
} toft_lease;

typedef struct toft_lease_options {
  size_t size;                       /* sizeof(toft_lease_options): TOFT_LEASE_OPTIONS sets it */
  const struct toft_options *arenas; /* how they are made: source, budget, reserve, failure, checks. Called by many
                                        threads at once. No buffer. NULL: as by toft_create */
  size_t idle;                       /* so many arenas may wait; at most 65536 */
  size_t keep;                       /* bytes that one of them may keep; less than 4096 means these */
  size_t bytes;                      /* bytes that all of them may keep */
} toft_lease_options;
/* clang-format off */
#define TOFT_LEASE_OPTIONS { sizeof(toft_lease_options), NULL, 128, 262144, 16777216 }
/* clang-format on */

/* NULL if there is no memory or the options are bad; options NULL: the defaults. */
TOFT_API TOFT_NODISCARD toft_leases *toft_leases_create(const toft_lease_options *options);
/* TOFT_EBUSY if a lease is out, also if the source or the cleanup of one that is just got or returned asks for it:
 * nothing has changed. TOFT_EARG for the process's own cache. NULL is that. No other thread may use it meanwhile. */
TOFT_API int toft_leases_release(toft_leases *leases);

/* An empty arena. arena is NULL if none waits and there is no memory to make one. What a lease sets (budget, checks)
 * ends with it. */
TOFT_API TOFT_NODISCARD toft_lease toft_lease_get(toft_leases *leases);
/* Gives it back: its cleanups run, on this thread. TOFT_ECORRUPT: done, and a checked arena found bytes written outside
 * an allocation. Nothing has changed otherwise: TOFT_EBUSY, it was returned already, or a range is claimed, or one of
 * its cleanups runs; TOFT_EARG, it is no lease of this cache. One of another cache may be either, since this one may
 * have had a lease with the same turn. */
TOFT_API int toft_lease_return(toft_leases *leases, toft_lease lease);

/* Ends all arenas that wait, also those that wait for other threads; it stops none of them for longer than a
 * fraction of a microsecond. Blocks of the heap go to the calling thread's cache first: toft_cache_trim empties
 * that. */
TOFT_API void toft_leases_trim(toft_leases *leases);

/* Counts of arenas, and bytes. While others get and return, each is of some moment of the call. */
typedef struct toft_lease_stats {
  size_t made, ended; /* ever */
  size_t idle, out;   /* now; one that a call makes or empties is out */
  size_t held;        /* bytes: what the idle ones keep, and the others had when they were last leased */
} toft_lease_stats;
TOFT_API toft_lease_stats toft_leases_get_stats(toft_leases *leases);

#ifdef __cplusplus
}
#endif
#endif

/* ==== toft/meter.h ==== */
/* Meters: who uses an arena's memory. Switched on per arena while the program runs; off, they cost nothing. Included by
 * toft.h; docs/meters.md is the guide.
 *
 *     toft_set_metered(a, 1);
 *     {
 *       TOFT_TAG(a, "level");
 *       load(a);                                       counts for "level"
 *       TOFT_TAG(a, "sound");
 *       decode(a);                                     counts for "level/sound"
 *     }
 *     toft_snapshot_text(a, NULL, text, sizeof text);    what there is, as JSON
 *
 * THREE MEANS. Bytes by tag and phase are exact: taken by subtraction where a tag begins and ends and where the arena
 * is called anyway, never counted at each allocation. Budgets lower the arena's limit: exact, and free until they are
 * reached. How often who allocates is estimated by sampling: one call in so many bytes records its call stack. All of
 * it sees allocations made in any language, by inline paths compiled before.
 *
 * COST. A metered or sampled arena keeps the inline path of allocation; what goes backwards (rewind, resize, free)
 * becomes a call. What is noted is kept in memory of malloc, which ends with the arena.
 *
 * UNITS. Bytes, as toft_stats counts them: paddings and the roundings to 8 are the tag's that asked. A claimed range
 * counts when it is given, for the tag it was claimed under.
 *
 * FAILURE. TOFT_ENOMEM: no memory for what is to be noted; TOFT_EBUSY: a range is claimed or a cleanup or callback is
 * running; TOFT_EARG; TOFT_ENOSYS: an arena of another maker, which has switches of its own (toft_set_sampling and
 * toft_set_tag work there too, if it can). Nothing has changed then. While an arena is metered, a large allocation may
 * also fail since there is no memory to note whose it is.
 *
 * CALLBACKS run inside a call on the arena, on its thread. They may look at it (toft_get_stats, toft_contains, the walks
 * and the snapshot below), and use other arenas. The arena is closed to them: allocations there return NULL, all else
 * TOFT_EBUSY. They must return: no longjmp, no exception. */
#ifndef TOFT_METER_H
#define TOFT_METER_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tags ---- */

/* Switches the accounting by tags and phases. What is live then counts for no tag. Switching off ends all tags; phases
 * that ended are still told. */
TOFT_API int toft_set_metered(toft_arena *a, int on);

/* What is allocated from now on counts for this tag, until toft_tag_pop; then for the one before. Within another tag
 * the name is a path: "sound" within "level" is "level/sound". A name that begins with "/" is a path as it stands:
 * "/ai" is "ai" wherever it is said. Bytes stay their tag's until they are given back, whatever the tag is then.
 * In an arena that is not watched: one branch, and nothing happens, so these calls may stay in release code. TOFT_EARG:
 * NULL, or not UTF-8. Whatever it returns, toft_tag_pop belongs to it: after a failure that pops nothing. */
TOFT_INLINE int toft_tag_push(toft_arena *a, const char *name);
/* A pop without its push (the arena was metered in between) does nothing. */
TOFT_INLINE void toft_tag_pop(toft_arena *a);

/* A declaration, as TOFT_SCOPE is: the rest of the enclosing block runs under the tag. gcc and clang only. */
#ifdef TOFT_AT_EXIT
#define TOFT_TAG(a, name) TOFT_TAG_NAMED(a, name, TOFT_PASTE(toft_tag_, __COUNTER__))
#define TOFT_TAG_NAMED(a, name, t) toft_tag t TOFT_AT_EXIT(toft_tag_end) = toft_tag_begin(a, name)
#endif

/* The same by the ABI's table, for an arena of any maker: the present tag from now on, by a number of the caller's and
 * a path, which may be NULL after the first time; number 0 without a name is no tag. Meters the arena. TOFT_ENOSYS if
 * its maker has no tags. */
TOFT_INLINE int toft_set_tag(toft_arena *a, uint64_t number, const char *path);

/* ---- phases ---- */

/* A stretch of the program: how often it was entered, what was allocated in it, and by how much live grew. Phases may
 * lie within others, which count it too, and overlap. name must live until the end. In an arena that is not metered
 * nothing happens. */
typedef struct toft_phase {
  const char *name; /* NULL: nothing to end */
  uint64_t allocated, live;
} toft_phase;
TOFT_INLINE toft_phase toft_phase_begin(toft_arena *a, const char *name);
/* A second end of the same phase does nothing. */
TOFT_INLINE void toft_phase_end(toft_arena *a, toft_phase *p);

/* A declaration, as TOFT_SCOPE is: the rest of the enclosing block is the phase. gcc and clang only. */
#ifdef TOFT_AT_EXIT
#define TOFT_PHASE(a, name) TOFT_PHASE_NAMED(a, name, TOFT_PASTE(toft_phase_, __COUNTER__))
#define TOFT_PHASE_NAMED(a, name, p) toft_phase_scope p TOFT_AT_EXIT(toft_phase_leave) = toft_phase_enter(a, name)
#endif

/* ---- budgets; the hard budget itself is toft_set_budget ---- */

/* Told that live is above the soft budget. */
typedef void toft_soft_budget_fn(void *arg, toft_arena *a, uint64_t live, uint64_t budget);
/* Calls fn once when more than so many bytes are live, after the call that did it: an allocation, an adoption, the end
 * of a claim. Refuses nothing. Again after each reset, and when this is called again; not when live falls by
 * other means. UINT64_MAX: no more. fn may be NULL. */
TOFT_API int toft_set_soft_budget(toft_arena *a, uint64_t bytes, toft_soft_budget_fn *fn, void *arg);

/* Asked before an allocation is refused since the budget does not allow it: returns the new budget, or anything not
 * above the present one to refuse. `size` is what was asked for; if the new budget is too low still, the call fails. */
typedef uint64_t toft_refusal_fn(void *arg, toft_arena *a, uint64_t live, uint64_t budget, size_t size);
/* fn NULL: no more questions. */
TOFT_API int toft_on_refusal(toft_arena *a, toft_refusal_fn *fn, void *arg);

/* At most so many bytes of this tag may be live while the arena is metered, to the byte. Not its children's:
 * "level/sound" is a tag of its own. UINT64_MAX: no limit. path "": what is under no tag. Nobody is asked before a
 * refusal. */
TOFT_API int toft_set_tag_budget(toft_arena *a, const char *path, uint64_t bytes);

/* ---- sampling ---- */

/* Looks at about one allocation in `bytes` bytes, records its call stack and tag, and estimates from that how many
 * there are: an allocation of s bytes is met with a chance of s in `bytes` (distances are random and memoryless, so no
 * pattern of a program is missed) and counts for as many as were not met. 0: no more; what was recorded stays. For an
 * arena of any maker. */
TOFT_INLINE int toft_set_sampling(toft_arena *a, uint64_t bytes);
/* The distances that follow repeat with the seed: for tests. */
TOFT_API int toft_set_sampling_seed(toft_arena *a, uint64_t seed);

/* Writes up to `most` return addresses to stack, the newest call's first, as backtrace(3) does, and returns how many.
 * It may include frames of its own and of this library: those up to the call on the arena are dropped. Runs as a
 * callback does. */
typedef size_t toft_unwind_fn(void *arg, void **stack, size_t most);
/* Takes this one in place of the built-in, which is backtrace(3) of glibc, macOS and the BSDs, the compiler's
 * _Unwind_Backtrace elsewhere, and CaptureStackBackTrace on Windows. fn NULL: the built-in again. Where code has no
 * tables to unwind by, or the library was built with TOFT_NO_UNWIND, stacks end early, at the worst with the function
 * that allocated. */
TOFT_API int toft_set_unwinder(toft_arena *a, toft_unwind_fn *fn, void *arg);

/* ---- reports ---- */

typedef struct toft_tag_report {
  const char *name;                 /* its path; "": under no tag, or a tag that has a number alone */
  const uint64_t *number;           /* as toft_set_tag gave it; NULL: none */
  uint64_t live, allocated, budget; /* bytes; budget UINT64_MAX: none */
} toft_tag_report;

typedef struct toft_phase_report {
  const char *name;
  uint64_t entries;   /* how often it ended */
  uint64_t allocated; /* bytes */
  int64_t kept;       /* bytes by which live grew */
} toft_phase_report;

/* Allocations of one call stack and site under one tag: estimates. A growth that moved counts as one. */
typedef struct toft_site_report {
  uintptr_t site;           /* as the ABI's alloc was given it; 0: none */
  const char *tag;          /* its path */
  uint64_t count;           /* allocations */
  uint64_t bytes;           /* as asked for, without padding */
  const void *const *stack; /* return addresses, the newest call's first */
  size_t depth;
} toft_site_report;

/* Each calls fn, a callback as above, for each of its kind until that returns non-zero, and returns what fn returned
 * last, 0 if there was none to tell. Strings and stacks are good until fn returns. TOFT_ENOSYS for an arena of another
 * maker. The first tag is what is under none; there are tags only while the arena is metered. */
TOFT_API int toft_tags(toft_arena *a, int (*fn)(void *arg, const toft_tag_report *tag), void *arg);
TOFT_API int toft_phases(toft_arena *a, int (*fn)(void *arg, const toft_phase_report *phase), void *arg);
TOFT_API int toft_sites(toft_arena *a, int (*fn)(void *arg, const toft_site_report *site), void *arg);

/* What was allocated until now counts no more, in tags, phases and sites: for a report of each frame. Live bytes and
 * budgets stay. TOFT_ENOSYS. */
TOFT_API int toft_clear_report(toft_arena *a);

/* ---- names ---- */

/* Where an address of code is. Unknown: NULL and 0. */
typedef struct toft_symbol {
  const char *function;
  size_t offset; /* from its first byte */
  const char *module;
  size_t module_offset; /* of the call, from where the module was loaded: what addr2line wants */
  const char *file;
  unsigned line; /* from 1 */
} toft_symbol;
/* Fills in what it knows of the call that returns to `address` (so it looks up the byte before), and returns non-zero
 * if that is anything. Strings must stay good until the next call. */
typedef int toft_symbolize_fn(void *arg, const void *address, toft_symbol *symbol);
/* What a snapshot asks unless it is told otherwise: the dynamic linker, by dladdr. It knows functions that are
 * exported: those of shared libraries, and of a program linked with -rdynamic. Knows nothing on Windows. arg is
 * ignored. */
TOFT_API int toft_symbolize(void *arg, const void *address, toft_symbol *symbol);

/* ---- the snapshot ---- */

enum {
  TOFT_SNAPSHOT_CLEAR = 1, /* then toft_clear_report; not if write said to stop */
  /* Names of static functions too, with files and lines, from symbol tables and debug information, by libdw of elfutils
   * if this machine has it (libdw.so.1 is loaded when it is first needed and reads local files only); else as without.
   * In a function of Toft's headers or of the language's library that the compiler inlined, file and line are those of
   * the call in the program's own code. Takes milliseconds and more. */
  TOFT_SNAPSHOT_DWARF = 2,
  TOFT_SNAPSHOT_ADDRESSES = 4 /* no names at all */
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

/* Gets a piece of the text, not terminated; returns 0, or what the snapshot is to stop with. A callback as above. */
typedef int toft_write_fn(void *arg, const char *bytes, size_t size);
/* Writes what the arena holds as one object of JSON, in UTF-8 without line ends, by docs/snapshot.md and
 * abi/snapshot.schema.json, which Rust's reports follow too. Takes no memory. options NULL: the defaults. Returns
 * TOFT_OK, TOFT_EARG for flags unknown, or what write returned. An arena of another maker: its statistics. */
TOFT_API int toft_snapshot(toft_arena *a, const toft_snapshot_options *options, toft_write_fn *write, void *arg);
/* The same into a buffer, as snprintf: at most size - 1 bytes and a NUL, if size is not 0. Returns the length of the
 * whole text, or 0 for flags unknown. With TOFT_SNAPSHOT_CLEAR it clears only if all of the text fitted. */
TOFT_API size_t toft_snapshot_text(toft_arena *a, const toft_snapshot_options *options, char *text, size_t size);

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

/* ==== toft/pool.h ==== */
/* Pools: slots of one size that are reused, named by 32-bit handles that tell when they are stale.
 *
 *     toft_pool pool;
 *     toft_pool_options o = TOFT_POOL_OPTIONS;
 *     o.slot_size = sizeof(struct node);
 *     if (toft_pool_init(&pool, &o) != TOFT_OK) ...
 *     toft_handle h;
 *     struct node *n = (struct node *)toft_pool_insert(&pool, &h);
 *     ...
 *     n = (struct node *)toft_pool_at(&pool, h);     NULL once it was removed
 *     toft_pool_remove(&pool, h);
 *     toft_pool_release(&pool);
 *
 * A slot never moves: a pointer into it is good until that slot is removed, or the pool is cleared or released. Behind
 * a pointer there is no check; behind a handle there is one compare.
 *
 * HANDLES. The low bits are the slot's number, as many as max_slots needs; the rest is its generation, which grows by
 * one each time the slot is removed. So a handle kept for too long is told apart until the generations have gone
 * round: after 256 removals of its slot with 24 bits for the number (the default), after 4 million at 1000 slots. With
 * TOFT_POOL_RETIRE a slot whose generations are spent is not used again, and a stale handle is always told apart. 0 is
 * no handle. A handle is good in its own pool only; in another it may name something else.
 *
 * GROWING AND FIXED. A pool that grows takes address space for max_slots when it is made, which costs next to nothing,
 * and memory as it is needed. A fixed pool takes all its memory when it is made, as one block of a source or from the
 * caller's buffer, and asks nobody later. Each growing pool is a mapping of its own: where there are thousands of small
 * pools, make them fixed.
 *
 * COST. Insert, remove and at take constant time; a growing pool asks the system when it is full, by doubling steps of
 * 64 KiB to 64 MiB. A walk visits live slots only, found 64 at a time: its cost is that of the live ones, and about a
 * nanosecond for 64 slots without any. Besides its size a slot takes 4 bytes and a bit, rounded up to a power of two.
 *
 * THREADS. A pool belongs to one thread at a time; several may read it while none changes it.
 *
 * MOVING. A toft_pool may be copied to another place in memory: use the copy from then on.
 */
#ifndef TOFT_POOL_H
#define TOFT_POOL_H

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

struct toft_source; /* toft.h */

typedef uint32_t toft_handle; /* 0: none */

/* options.flags. FIXED: `slots` is all there ever is. RETIRE: see HANDLES. */
enum { TOFT_POOL_FIXED = 1, TOFT_POOL_RETIRE = 2 };

#define TOFT_POOL_ALIGN_MAX 4096
#define TOFT_POOL_SLOTS_MAX 0x7fffffff

typedef struct toft_pool_options {
  size_t size;      /* sizeof(toft_pool_options): TOFT_POOL_OPTIONS sets it */
  size_t slot_size; /* bytes; 0 counts as 1 */
  size_t align;     /* a power of two up to TOFT_POOL_ALIGN_MAX, to which slot_size is rounded up. 0: the largest up to
                        * 16 of which slot_size is a multiple, which is enough for any type of that size */
  size_t slots;     /* these have memory from the start. With a buffer 0 means as many as it holds */
  size_t max_slots; /* 0: 2^24 - 1, less where that were more than a TiB, or than there is address space */
  struct toft_source *source; /* of a fixed pool's block; NULL: toft_heap() */
  void *buffer;               /* the pool is fixed, and lives in here; NULL: in memory of its own */
  size_t buffer_size;         /* see TOFT_POOL_BUFFER */
  uint32_t flags;             /* TOFT_POOL_..., or 0 */
} toft_pool_options;
/* clang-format off */
#define TOFT_POOL_OPTIONS { sizeof(toft_pool_options), 0, 0, 0, 0, NULL, NULL, 0, 0 }
/* clang-format on */

/* A buffer of this size has room for so many slots, wherever it starts. `align` is not 0. */
#define TOFT_POOL_BUFFER(slots, slot_size, align)                                                                 \
  ((size_t)(slots) * (((size_t)(slot_size) + ((slot_size) == 0) + (align)-1) / (align) * (align)) + 8 + (align) + \
   8 * ((size_t)(slots) + 1) + 8 * ((size_t)(slots) / 64 + 1))

/* Read what you like; the functions below write. */
typedef struct toft_pool {
  unsigned char *slots;        /* slot 1: slot 0 is never used */
  uint32_t *keys;              /* one for each slot */
  uint64_t *live_bits;         /* one for each slot up to used; those from there to top are set in advance */
  size_t stride;               /* bytes from slot to slot */
  uint32_t mask;               /* of the number in a handle */
  uint32_t reach;              /* the part of mask for which keys have memory */
  uint32_t free;               /* the slot removed last; 0: none */
  uint32_t used;               /* slots up to here have been used since the last clear */
  uint32_t top;                /* used may grow so far without a look: see draw_more */
  uint32_t idle;               /* slots up to used that are not live */
  uint32_t spent;              /* a key from which on a slot is retired */
  uint32_t room, max;          /* slots that have memory; that may have it */
  uint32_t retired;            /* how many slots are */
  uint32_t dirty;              /* no slot above it, nor above used, has been used yet */
  uint32_t flags;              /* TOFT_POOL_..., and more */
  size_t keys_size, bits_size; /* bytes committed, if it grows */
  size_t slots_size;           /* of all kinds */
  void *block;                 /* everything lies in here */
  size_t block_size;           /* 0: closed */
  struct toft_source *source;  /* of the block; NULL: it is the caller's buffer, or address space */
} toft_pool;

/* Makes an empty pool. TOFT_ENOMEM: no memory for `slots`, no address space for max_slots, or sizes that overflow.
 * TOFT_EARG: options that contradict each other or are out of range; a buffer that is too small. After a failure the
 * pool is closed, as after a release. */
TOFT_API int toft_pool_init(toft_pool *pool, const toft_pool_options *options);

/* Gives all memory back. The pool is closed then: no handle is live, insert returns NULL, and it may be released
 * again. */
TOFT_API void toft_pool_release(toft_pool *pool);

/* A closed pool, without any call of the system. */
TOFT_INLINE toft_pool toft_pool_closed(void);

/* A free slot, uninitialised or zeroed, and its handle (`handle` may be NULL: toft_pool_handle_of finds it). NULL if
 * the pool is full or there is no memory; nothing has changed then, and *handle neither. The slot removed last is
 * used first; after a clear, slots are used in order. */
TOFT_INLINE TOFT_NODISCARD void *toft_pool_insert(toft_pool *pool, toft_handle *handle);
TOFT_INLINE TOFT_NODISCARD void *toft_pool_insert_zeroed(toft_pool *pool, toft_handle *handle);

/* The slot behind a handle. NULL if it was removed, for 0, and for a handle that the pool never gave. */
TOFT_INLINE void *toft_pool_at(const toft_pool *pool, toft_handle handle);
TOFT_INLINE int toft_pool_contains(const toft_pool *pool, toft_handle handle);

/* TOFT_EARG, and nothing changed, where toft_pool_at returns NULL: removed twice is told apart. */
TOFT_INLINE int toft_pool_remove(toft_pool *pool, toft_handle handle);

/* The handle of a slot's address; 0 if it is no slot's, or that of a slot that is not live. A division. */
TOFT_INLINE toft_handle toft_pool_handle_of(const toft_pool *pool, const void *slot);

TOFT_INLINE size_t toft_pool_count(const toft_pool *pool);    /* live slots */
TOFT_INLINE size_t toft_pool_capacity(const toft_pool *pool); /* slots that have memory, retired ones included */

/* Memory for so many slots in all: inserts up to there ask nobody. TOFT_ENOMEM; TOFT_EARG above max_slots. */
TOFT_API int toft_pool_reserve(toft_pool *pool, size_t slots);

/* Removes all. Memory is kept: see trim. Linear in the slots used since the last clear, since each
 * has its generation. */
TOFT_API void toft_pool_clear(toft_pool *pool);

/* Gives memory above the highest live slot back to the system; 4 bytes and a bit for each slot stay, to tell stale
 * handles. From then on the lowest free slot is used first. A fixed pool keeps its memory. Time as clear. */
TOFT_API void toft_pool_trim(toft_pool *pool);

typedef struct toft_pool_stats {
  uint64_t live, capacity, retired; /* slots */
  uint64_t reserved;                /* bytes: address space, or the block */
  uint64_t committed;               /* bytes of it that memory was asked for */
} toft_pool_stats;
TOFT_API toft_pool_stats toft_pool_get_stats(const toft_pool *pool);

/* A walk over the live slots, in the order of their numbers:
 *
 *     TOFT_POOL_EACH(w, &pool) {
 *       struct node *n = (struct node *)toft_pool_walk_slot(&w);
 *       if (n->done) toft_pool_remove(&pool, toft_pool_walk_handle(&w));
 *     }
 *
 * Meanwhile any slot may be removed, the current one too, and the pool may be cleared or trimmed: what is removed
 * before it was reached is not visited. Whether slots inserted meanwhile are visited is not said. */
typedef struct toft_pool_walk {
  const toft_pool *pool;
  const uint64_t *word; /* 64 bits of live_bits */
  uint64_t ahead;       /* those of them that are still to be visited, the current one included; 0: all are set */
  uint32_t base;        /* the slot that their first is */
  uint32_t slot;        /* the current one; 0: at the end */
} toft_pool_walk;
#define TOFT_POOL_EACH(w, pool) \
  for (toft_pool_walk w = toft_pool_walk_begin(pool); (w).slot != 0; toft_pool_walk_next(&(w)))
TOFT_INLINE toft_pool_walk toft_pool_walk_begin(const toft_pool *pool);
TOFT_INLINE void toft_pool_walk_next(toft_pool_walk *w);
TOFT_INLINE void *toft_pool_walk_slot(const toft_pool_walk *w);
TOFT_INLINE toft_handle toft_pool_walk_handle(const toft_pool_walk *w);

/* ------------------------------------------------------------------------------------------------------------
 * The inline layer. A slot's key says all about it:
 *
 *     live        the handle: generation and number
 *     free        the generation that comes next, and in place of the number the next free slot, 0 for none
 *     retired     the last generation, and 0
 *     never used  0; after a clear, the generation that comes next, and 0
 *
 * Slot 0 is never used, and no slot is linked to itself: so a key has its own slot's number in it only if that is live.
 * Keys exist for a power of two of slots, `reach` + 1. No key holds a number above it, so a handle with such a number
 * is equal to no key, whichever it is compared with: one compare decides, and needs no bounds check before it.
 *
 * Slots that were not used since the last clear are taken in order, without any work on bits or counts: the bits of a
 * word are set at once, but for its last one. Removed slots are taken first.
 *
 * Bindings for languages with constructors and destructors do it in two steps, so that a slot is neither live nor free
 * while they run: draw, construct, admit; expel, destroy, shelve. In between the pool must not be cleared or trimmed.
 * ------------------------------------------------------------------------------------------------------------ */

/* Its keys are two that lead no handle to itself. */
TOFT_INLINE toft_pool toft_pool_closed(void) {
  static const uint32_t none[2] = {1, 0}; /* never written: nothing is live */
  toft_pool p;
  memset(&p, 0, sizeof p);
  p.keys = (uint32_t *)(uintptr_t)none;
  p.mask = p.reach = 1;
  p.spent = UINT32_MAX;
  p.stride = 1;
  return p;
}

/* Slot used + 1, made live, where used == top: finds memory for it, steps over retired ones, sets a word of bits. 0:
 * none, and nothing has changed. */
TOFT_API toft_handle toft_pool_insert_slow(toft_pool *pool);

/* Slots in order are fetched into the cache ahead of use: what inserts and walks do in between takes so much of the
 * processor's window that it would not look that far by itself. Too much work for slots that share a line. */
#if defined(__GNUC__) || defined(__clang__)
#define TOFT_POOL_AHEAD(pool, i, stride, bytes, write) \
  (TOFT_CONSTANT(stride) && (stride) < 32              \
       ? (void)0                                       \
       : __builtin_prefetch((const void *)((uintptr_t)(pool)->slots + (size_t)(i) * (stride) + (bytes)), write))
#else
#define TOFT_POOL_AHEAD(pool, i, stride, bytes, write) ((void)0)
#endif

/* A free slot, made live. 0: none, nothing changed. stride: the pool's, which may be known as a constant. */
TOFT_INLINE toft_handle toft_pool_insert_handle(toft_pool *pool, size_t stride) {
  uint32_t i = pool->free, key, next;
  if (i != 0) {
    key = pool->keys[i];
    next = key & pool->mask;
    key = (key ^ next) | i;
    pool->free = next;
    pool->keys[i] = key;
    pool->live_bits[i >> 6] |= (uint64_t)1 << (i & 63);
    pool->idle--;
    return key;
  }
  if (TOFT_UNLIKELY(pool->used >= pool->top)) return toft_pool_insert_slow(pool);
  i = pool->used + 1;
  key = pool->keys[i] | i; /* its number was 0 */
  pool->used = i;
  pool->keys[i] = key;
  TOFT_POOL_AHEAD(pool, i, stride, 2048, 1);
  TOFT_ASSUME(key != 0);
  return key;
}

/* From now on the handle is stale; 0: it was. */
TOFT_INLINE uint32_t toft_pool_deactivate(toft_pool *pool, toft_handle h) {
  uint32_t i = h & pool->reach;
  if (TOFT_UNLIKELY(pool->keys[i] != h)) return 0;
  pool->keys[i] = (h | pool->mask) + 1; /* the next generation, and 0 */
  pool->live_bits[i >> 6] &= ~((uint64_t)1 << (i & 63));
  pool->idle++;
  return i;
}

/* Puts a slot drawn or expelled to the free ones, if it is not spent. */
TOFT_INLINE void toft_pool_return_slot(toft_pool *pool, uint32_t i) {
  uint32_t key = pool->keys[i];
  if (TOFT_UNLIKELY(key >= pool->spent)) {
    pool->retired++;
    return;
  }
  pool->keys[i] = key | pool->free;
  pool->free = i;
}

/* Takes a slot off the free ones; 0: none, nothing changed. */
TOFT_INLINE uint32_t toft_pool_take_slot(toft_pool *pool) {
  uint32_t i = pool->free, key, next;
  if (i != 0) {
    key = pool->keys[i];
    next = key & pool->mask;
    pool->free = next;
    pool->keys[i] = key ^ next; /* its generation, and 0 */
    return i;
  }
  if (TOFT_UNLIKELY(pool->used >= pool->top)) {
    toft_handle h = toft_pool_insert_slow(pool);
    if (h == 0) return 0;
    i = h & pool->mask;
    pool->keys[i] = h ^ i;
  } else {
    i = ++pool->used;
  }
  pool->live_bits[i >> 6] &= ~((uint64_t)1 << (i & 63));
  pool->idle++;
  return i;
}

/* Makes a drawn slot live. */
TOFT_INLINE toft_handle toft_pool_activate(toft_pool *pool, uint32_t i) {
  toft_handle h = pool->keys[i] | i;
  pool->keys[i] = h;
  pool->live_bits[i >> 6] |= (uint64_t)1 << (i & 63);
  pool->idle--;
  TOFT_ASSUME(h != 0);
  return h;
}

TOFT_INLINE void *toft_pool_slot(const toft_pool *pool, uint32_t i) {
  return pool->slots + ((size_t)i - 1) * pool->stride;
}

TOFT_INLINE void *toft_pool_insert(toft_pool *pool, toft_handle *handle) {
  toft_handle h = toft_pool_insert_handle(pool, pool->stride);
  void *slot;
  if (TOFT_UNLIKELY(h == 0)) return NULL;
  if (handle != NULL) *handle = h;
  slot = toft_pool_slot(pool, h & pool->mask);
  TOFT_ASSUME(slot != NULL);
  return slot;
}

TOFT_INLINE void *toft_pool_insert_zeroed(toft_pool *pool, toft_handle *handle) {
  void *slot = toft_pool_insert(pool, handle);
  if (TOFT_LIKELY(slot != NULL)) memset(slot, 0, pool->stride);
  return slot;
}

TOFT_INLINE int toft_pool_contains(const toft_pool *pool, toft_handle handle) {
  return pool->keys[handle & pool->reach] == handle;
}

TOFT_INLINE void *toft_pool_at(const toft_pool *pool, toft_handle handle) {
  uint32_t i = handle & pool->reach;
  return TOFT_LIKELY(pool->keys[i] == handle) ? toft_pool_slot(pool, i) : NULL;
}

TOFT_INLINE int toft_pool_remove(toft_pool *pool, toft_handle handle) {
  uint32_t key, i = handle & pool->reach;
  if (TOFT_UNLIKELY(pool->keys[i] != handle)) return TOFT_EARG;
  pool->live_bits[i >> 6] &= ~((uint64_t)1 << (i & 63));
  pool->idle++;
  key = (handle | pool->mask) + 1;
  if (TOFT_UNLIKELY(key >= pool->spent)) {
    pool->keys[i] = key;
    pool->retired++;
  } else {
    pool->keys[i] = key | pool->free;
    pool->free = i;
  }
  return TOFT_OK;
}

/* The handle of the slot `offset` bytes behind the first; 0: none is live there. With a constant stride it is cheap. */
TOFT_INLINE toft_handle toft_pool_handle_behind(const toft_pool *pool, size_t offset, size_t stride) {
  size_t n = offset / stride;
  uint32_t i;
  if (n >= pool->used || n * stride != offset) return 0;
  i = (uint32_t)n + 1;
  return ((pool->keys[i] ^ i) & pool->mask) == 0 ? pool->keys[i] : 0;
}

TOFT_INLINE toft_handle toft_pool_handle_of(const toft_pool *pool, const void *slot) {
  return toft_pool_handle_behind(pool, (size_t)((uintptr_t)slot - (uintptr_t)pool->slots), pool->stride);
}

TOFT_INLINE size_t toft_pool_count(const toft_pool *pool) { return pool->used - pool->idle; }
TOFT_INLINE size_t toft_pool_capacity(const toft_pool *pool) { return pool->room; }

/* The number of the lowest bit that is set; n is not 0. */
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

/* The bits of the word at base, less those set in advance. */
TOFT_INLINE uint64_t toft_pool_walk_word(const toft_pool_walk *w) {
  uint32_t more = w->pool->used - w->base;
  return more >= 63 ? *w->word : *w->word & (((uint64_t)2 << more) - 1);
}

/* To the first of some bits of the word; if there are none, to the next word that has any. Words without a gap are
 * counted through: there, looking for bits would cost more than the slots. */
TOFT_INLINE void toft_pool_walk_to(toft_pool_walk *w, uint64_t bits) {
  while (bits == 0) {
    w->slot = 0;
    if (w->base + 64 > w->pool->used) return;
    w->base += 64;
    w->word++;
    bits = toft_pool_walk_word(w);
    if (bits == ~(uint64_t)0) {
      w->ahead = 0;
      w->slot = w->base;
      TOFT_ASSUME(w->slot != 0);
      return;
    }
  }
  w->ahead = bits;
  w->slot = w->base + toft_lowest_bit(bits);
  TOFT_ASSUME(w->slot != 0);
}

TOFT_INLINE toft_pool_walk toft_pool_walk_begin(const toft_pool *pool) {
  toft_pool_walk w;
  w.pool = pool;
  w.word = pool->live_bits;
  w.ahead = 0;
  w.base = w.slot = 0;
  if (pool->used != pool->idle) toft_pool_walk_to(&w, toft_pool_walk_word(&w)); /* closed, it has no word */
  return w;
}

/* The word is read again, for what was removed meanwhile; and used, since after a clear bits are set in advance
 * again: but never all of a word. */
TOFT_INLINE void toft_pool_walk_next_by(toft_pool_walk *w, size_t stride) {
  uint32_t next = w->slot + 1;
  uint64_t bits = w->ahead;
  if (bits == 0) {
    if (TOFT_LIKELY((next & 63) != 0 && *w->word == ~(uint64_t)0)) {
      TOFT_POOL_AHEAD(w->pool, next, stride, 3072, 0);
      TOFT_ASSUME(next != 0);
      w->slot = next;
      return;
    }
    if ((next & 63) != 0) bits = *w->word & ~(uint64_t)0 << (next & 63);
  } else {
    bits = (bits & *w->word) & (bits - 1);
  }
  toft_pool_walk_to(w, bits);
  if (TOFT_UNLIKELY(w->slot > w->pool->used)) w->slot = 0;
}

TOFT_INLINE void toft_pool_walk_next(toft_pool_walk *w) { toft_pool_walk_next_by(w, w->pool->stride); }

TOFT_INLINE void *toft_pool_walk_slot(const toft_pool_walk *w) { return toft_pool_slot(w->pool, w->slot); }
TOFT_INLINE toft_handle toft_pool_walk_handle(const toft_pool_walk *w) { return w->pool->keys[w->slot]; }

#ifdef __cplusplus
}
#endif
#endif

/* ==== toft/recycler.h ==== */
/* Recyclers: memory that is freed piece by piece, and comes back by itself. Allocation moves a cursor, as in an arena;
 * each block counts its live bytes, and when none is left the block is filled anew. Blocks that are pinned by a few
 * long-lived objects have their holes filled.
 *
 *     toft_recycler r;
 *     toft_recycler_init(&r, NULL);
 *     struct node *n = (struct node *)toft_recycler_alloc(&r, sizeof *n, TOFT_ALIGNOF(struct node));
 *     ...
 *     toft_recycler_free(&r, n, sizeof *n);      the size as it was asked for
 *     toft_recycler_release(&r);                 what was not freed goes too
 *
 * Objects have no header: a free needs the size, and finds the block from the address alone. Sizes are rounded up to 8;
 * a size of 0 counts as 1. Any alignment that is a power of two. A call that cannot do its work returns NULL or a
 * negative code, and nothing has changed.
 *
 * MISUSE. A free with another size, of another recycler's memory, or of what was freed before is undefined. Recyclers
 * made in a checked process (TOFT_CHECKED=1 in the environment, see toft/findings.h) detect these, writes around an
 * object and writes to a freed one; each call then takes the slow path, and each object red zones and a record.
 *
 * COST. alloc, free and resize in place take constant time. A block of 32 KiB whose objects were freed one by one, but
 * not all, is swept before it is filled again, in time linear in its holes; an allocation sweeps sixteen such blocks
 * at most, and looks at the headers of 64; one above TOFT_RECYCLER_DIRECT at 64 regions of at most 131 objects. It
 * takes from the source at most once, but where that has no memory: then smaller segments are asked for, down to
 * 64 KiB. release and trim are linear in blocks held, statistics in blocks.
 *
 * MEMORY. Blocks come from the source in segments that double from 32 KiB to 1 MiB. Requests above TOFT_RECYCLER_DIRECT
 * have a block each, kept for reuse; when more than 512 KiB of these is in use, those up to 1 MiB are placed side by
 * side in regions of 4 MiB, but for one that is nearly alone, and grow in place while there is room. Nothing goes back
 * to the source before trim or release, but for blocks of one request, where regions serve their like or they are
 * beyond twice those that were ever in use at once (which may be thrice as large as what is in them).
 *
 * THREADS. A toft_recycler belongs to one thread at a time. A toft_sync_recycler may be used by all at once, and what
 * one thread allocated another may free. In a fork's child, one that other threads of the parent were using must not be
 * used: they may have left its locks taken.
 */
#ifndef TOFT_RECYCLER_H
#define TOFT_RECYCLER_H

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

struct toft_source; /* toft.h */

typedef struct toft_recycler_options {
  size_t size;                /* sizeof(toft_recycler_options): TOFT_RECYCLER_OPTIONS sets it */
  struct toft_source *source; /* NULL: toft_heap() */
  size_t count, block_size;   /* take count blocks of block_size bytes at once, and fill these first; 0: none */
  uint32_t shards; /* of a toft_sync_recycler: how many threads can allocate at once; 0: 8, or 1 with count */
} toft_recycler_options;
#define TOFT_RECYCLER_OPTIONS \
  { sizeof(toft_recycler_options), NULL, 0, 0, 0 }

/* Bytes, but for the counts. */
typedef struct toft_recycler_stats {
  uint64_t used;         /* by live objects, rounded up to 8 */
  uint64_t pinned;       /* free, in blocks that live objects hold: what they keep from being recycled */
  uint64_t kept;         /* free, in blocks without a live object: trim returns these, but for those had by count */
  uint64_t wasted;       /* headers, and what alignment cut off */
  uint64_t reserved;     /* held of the source: the sum of the four above */
  uint64_t peak;         /* the most that reserved ever was; of a synchronized one the sum of its shards' */
  uint64_t blocks;       /* blocks that hold live objects, large ones included */
  uint64_t idle_blocks;  /* blocks that hold none, as far as they were used at all */
  uint64_t large_blocks; /* of blocks: those of one large object each */
  uint64_t source_calls; /* how often the source was asked, ever */
} toft_recycler_stats;

/* Requests up to this size share blocks. */
#define TOFT_RECYCLER_DIRECT (TOFT_RECYCLER_UNIT - TOFT_RECYCLER_ZONE)

typedef struct toft_recycler toft_recycler;

/* TOFT_EARG if options contradict each other or ask for too much: a block of more than 1 GiB, above 256 shards, or
 * shards and a count. */
TOFT_API int toft_recycler_check(const toft_recycler_options *options);

/* Takes no memory unless options->count says so. options == NULL: the defaults. TOFT_EARG; TOFT_ENOMEM. The structure
 * must stay where it is until the last call on it. */
TOFT_API int toft_recycler_init(toft_recycler *r, const toft_recycler_options *options);
/* Returns all memory to the source, whether its objects were freed or not. r is as after init, but that blocks asked
 * for by count are taken when they are needed. */
TOFT_API void toft_recycler_release(toft_recycler *r);
/* Returns memory that holds no live object to the source, until about `keep` bytes of it are left. */
TOFT_API void toft_recycler_trim(toft_recycler *r, size_t keep);
TOFT_API toft_recycler_stats toft_recycler_get_stats(const toft_recycler *r);

TOFT_INLINE TOFT_NODISCARD void *toft_recycler_alloc(toft_recycler *r, size_t size, size_t align);
/* size: as it was asked for. NULL is ignored. */
TOFT_INLINE void toft_recycler_free(toft_recycler *r, void *p, size_t size);
/* In place if it shrinks, or if p is the newest allocation and there is room; else a copy, and so if a large object
 * would keep four times what it needs, or shrinks to TOFT_RECYCLER_DIRECT or less. NULL: nothing changed, there is no
 * memory for the copy. p == NULL allocates. */
TOFT_API TOFT_NODISCARD void *toft_recycler_resize(toft_recycler *r, void *p, size_t old_size, size_t new_size,
                                                   size_t align);

/* ---- synchronized ---- */

/* Threads are spread over shards, each a recycler behind a lock: an allocation takes the lock of the thread's own
 * shard, or of another if that is taken; a free takes the lock of the shard that the memory came from. The source is
 * called by one thread at a time. Memory may be freed by any thread. */
typedef struct toft_sync_recycler toft_sync_recycler;

/* NULL if there is no memory, or the options are bad. The recycler itself, 0.7 KiB for each shard, lies in memory of
 * the source too, which stats leave out and release keeps. */
TOFT_API TOFT_NODISCARD toft_sync_recycler *toft_sync_recycler_create(const toft_recycler_options *options);
/* Returns all memory and the recycler itself. No other thread may be in a call. NULL is ignored. */
TOFT_API void toft_sync_recycler_release(toft_sync_recycler *r);
/* As those above. release: no other thread may use memory of r any more. stats are those of all shards, each at its
 * moment. */
TOFT_API TOFT_NODISCARD void *toft_sync_recycler_alloc(toft_sync_recycler *r, size_t size, size_t align);
TOFT_API void toft_sync_recycler_free(toft_sync_recycler *r, void *p, size_t size);
TOFT_API TOFT_NODISCARD void *toft_sync_recycler_resize(toft_sync_recycler *r, void *p, size_t old_size,
                                                        size_t new_size, size_t align);
TOFT_API void toft_sync_recycler_reset(toft_sync_recycler *r);
TOFT_API void toft_sync_recycler_trim(toft_sync_recycler *r, size_t keep);
TOFT_API toft_recycler_stats toft_sync_recycler_get_stats(toft_sync_recycler *r);

/* ------------------------------------------------------------------------------------------------------------
 * The inline layer: the members below are for it and for src/recycler.c.
 *
 * Segments are cut into units of 32 KiB at addresses that are multiples of 32 KiB. The last 512 bytes of a unit are its
 * zone: one of the zone's eight lines is the block's header. Which one depends on the unit's number, so that the
 * headers of many blocks do not fall into one set of the processor's caches.
 * ------------------------------------------------------------------------------------------------------------ */

#define TOFT_RECYCLER_UNIT ((size_t)32768)
#define TOFT_RECYCLER_ZONE ((size_t)512)

/* Bytes, multiples of 8. The place of a hole is told by the low half of its address: a block is smaller than that. */
#define TOFT_RECYCLER_NONE 1u /* no hole */
typedef struct toft_recycler_block {
  int32_t live;      /* what is not free; what a range has yet to hand out is not */
  int32_t threshold; /* toft_recycler_update_block is called when live falls to this or below */
  uint32_t holes;    /* the piece freed last, which says where the one freed before is */
  int32_t list;      /* TOFT_RECYCLER_... of recycler.c: what list it is in */
  int32_t start;     /* from the header, either way */
  int32_t capacity;
  int32_t swept;   /* since it was empty */
  uint32_t widest; /* of the holes that the last sweep found; 0: there was none since, or there are more by now */
  toft_recycler *owner;
  struct toft_recycler_segment *segment; /* NULL: one of the blocks asked for by count */
  struct toft_recycler_block *next, *previous;
} toft_recycler_block;

/* In the first 8 bytes of what was freed. */
typedef struct toft_recycler_hole {
  uint32_t next, size;
} toft_recycler_hole;

/* What is being filled. */
typedef struct toft_recycler_range {
  unsigned char *cursor, *limit;
  toft_recycler_block *block; /* NULL: none, and cursor == limit */
  uint32_t sweep;             /* holes of the block that are yet to be filled, by address */
} toft_recycler_range;

typedef struct toft_recycler_list {
  toft_recycler_block *first, *last;
} toft_recycler_list;

/* What was freed last: one piece, or neighbours freed one after the other. Its block knows nothing of it yet. */
typedef struct toft_recycler_run {
  unsigned char *first, *end; /* none: both are an address where no allocation ends or starts */
} toft_recycler_run;

/* A large object's own block: the object is gone, and it is kept for the next. */
typedef struct toft_recycler_spare {
  unsigned char *base;
  size_t size;
} toft_recycler_spare;
#define TOFT_RECYCLER_SPARES 16

struct toft_recycler {
  toft_recycler_range main;
  toft_recycler_run pending;
  size_t direct;              /* frees of up to so many bytes find their block by TOFT_RECYCLER_UNIT */
  int32_t shard;              /* of a toft_sync_recycler */
  int32_t checked;            /* made while the process was checked: no call is served inline */
  toft_recycler_range medium; /* for requests that would waste now */
  toft_recycler_list sparse;  /* blocks worth a sweep */
  toft_recycler_list empty, empty_counted;
  struct toft_recycler_segment *segments; /* the newest first, but for over-aligned ones */
  unsigned char *fresh, *fresh_end;       /* of the newest segment: what was never used */
  struct toft_recycler_region *regions;   /* that large objects share; what was freed last is in the first */
  size_t region_used;                     /* by live objects */
  struct toft_recycler_large *dedicated;  /* large objects in blocks of their own */
  size_t dedicated_bytes, dedicated_peak, spare_bytes, spare_count;
  size_t segment_bytes, reserved, peak;
  struct toft_source *source;
  unsigned char *counted, *counted_fresh; /* the blocks asked for by count; NULL: not taken yet */
  size_t count, stride;
  uint64_t source_calls;
  struct toft_recycler_checks *checks;             /* where checked, from the first call on */
  toft_recycler_spare spare[TOFT_RECYCLER_SPARES]; /* the newest last; undefined from spare_count on */
};

TOFT_STATIC_ASSERT(recycler_block, sizeof(toft_recycler_block) <= 64);
TOFT_STATIC_ASSERT(recycler_hole, sizeof(toft_recycler_hole) == 8);

TOFT_API void *toft_recycler_alloc_slow(toft_recycler *r, size_t size, size_t align);
TOFT_API void toft_recycler_free_slow(toft_recycler *r, void *p, size_t size);
/* The same, where findings name `site` as the place of the call. */
TOFT_API void *toft_recycler_alloc_slow_at(toft_recycler *r, size_t size, size_t align, uintptr_t site);
TOFT_API void toft_recycler_free_slow_at(toft_recycler *r, void *p, size_t size, uintptr_t site);
TOFT_API void toft_recycler_update_block(toft_recycler *r, toft_recycler_block *b);

/* The header of the unit that p lies in. */
TOFT_INLINE toft_recycler_block *toft_recycler_block_of(void *p) {
  uintptr_t at = (uintptr_t)p;
  uintptr_t header = (at | (TOFT_RECYCLER_UNIT - 1)) - 63 - (at >> 9 & (TOFT_RECYCLER_ZONE - 64));
  return (toft_recycler_block *)(void *)((unsigned char *)p + (header - at));
}

/* A piece of a block becomes a hole, or part of the one before it, if it ends where that starts: containers are often
 * cleared backwards. The caller sees to live. memcpy: the bytes were of any type. */
TOFT_INLINE void toft_recycler_add_hole(toft_recycler_block *b, void *p, size_t size) {
  toft_recycler_hole hole;
  uint32_t next = b->holes, bytes = (uint32_t)size;
  b->holes = (uint32_t)(uintptr_t)p;
  if (next == (uint32_t)((uintptr_t)p + size)) {
    memcpy(&hole, (unsigned char *)p + size, sizeof hole);
    next = hole.next;
    bytes += hole.size;
  }
  memcpy(p, &next, sizeof next);
  memcpy((unsigned char *)p + sizeof next, &bytes, sizeof bytes);
}

/* What needs no slow call; NULL where one is needed: so does 0, which counts as 1. */
TOFT_INLINE TOFT_NODISCARD void *toft_recycler_bump(toft_recycler *r, size_t size, size_t align) {
  unsigned char *p = r->main.cursor;
  int slow = size - 1 >= (size_t)(r->main.limit - p);
  if (align > 8) slow |= (align & (align - 1)) != 0 || ((uintptr_t)p & (align - 1)) != 0;
  if (TOFT_UNLIKELY(slow)) return NULL;
  r->main.cursor = p + ((size + 7) & ~(size_t)7);
  TOFT_ASSUME(p != NULL);
  return p;
}

TOFT_INLINE void *toft_recycler_alloc(toft_recycler *r, size_t size, size_t align) {
  void *p = toft_recycler_bump(r, size, align);
  return TOFT_LIKELY(p != NULL) ? p : toft_recycler_alloc_slow(r, size, align);
}

/* A piece of a block of `direct` size is gone. */
TOFT_INLINE void toft_recycler_drop(toft_recycler *r, void *p, size_t bytes) {
  toft_recycler_block *b = toft_recycler_block_of(p);
  int32_t live = b->live - (int32_t)bytes;
  b->live = live;
  toft_recycler_add_hole(b, p, bytes);
  if (TOFT_UNLIKELY(live <= b->threshold)) toft_recycler_update_block(r, b);
}

/* Containers free in the order of addresses, or against it. Neighbours are joined before their block hears of them; and
 * where an allocation ended at the cursor, that goes back. No large object ends where a block starts, nor starts where
 * one ends. */
TOFT_INLINE void toft_recycler_free(toft_recycler *r, void *p, size_t size) {
  size_t bytes = (size + (size == 0) + 7) & ~(size_t)7, before;
  unsigned char *q = (unsigned char *)p, *end = (unsigned char *)((uintptr_t)p + bytes);
  if (end == r->main.cursor) { /* the newest, or next to a range in the midst of a block: as good */
    r->main.cursor = q;
    return;
  }
  if (end == r->pending.first) {
    r->pending.first = q;
    return;
  }
  if (TOFT_UNLIKELY(q == NULL)) return;
  if (TOFT_UNLIKELY(bytes > r->direct)) {
    toft_recycler_free_slow(r, p, size);
    return;
  }
  if (q == r->pending.end) {
    r->pending.end = end;
    return;
  }
  p = r->pending.first;
  before = (size_t)(r->pending.end - r->pending.first);
  r->pending.first = q;
  r->pending.end = end;
  if (before != 0) toft_recycler_drop(r, p, before);
}

#ifdef __cplusplus
}
#endif
#endif

/* ==== toft/shared.h ==== */
/* Shared arenas: one arena that many threads fill at once, and that is emptied as a whole: what workers find for one
 * result, a table that all of them add to.
 *
 *     toft_shared *s = toft_shared_create(NULL);
 *     ... on any thread: char *name = (char *)toft_shared_alloc(s, n, 1);
 *     ... on each thread that allocates much:
 *         toft_arena *here = toft_shared_local(s);      an arena of its own, in memory of s
 *         struct node *x = toft_new(here, struct node);
 *     ... all threads have done their part ...
 *     toft_shared_reset(s, TOFT_KEEP_RECENT, 0);        all of it is gone, and the parts too
 *
 * An allocation by toft_shared_alloc is one compare-and-exchange on the block's cursor. When the block is full, one
 * thread takes the next, behind a lock, and the others wait for that.
 *
 * A PART (toft_shared_local) is an arena like any other, for one thread at a time, and costs what an arena costs: no
 * atomics until its block is full. It has its own marks, cleanups, tags, budget and checks, and any language may fill
 * it. What it allocates lives until the shared arena is reset, whatever becomes of the thread. Take one for each
 * thread, not one for each task: it begins with 4 KiB, and its blocks double. toft_release does nothing to it, and
 * toft_adopt refuses it (TOFT_EBUSY).
 *
 * THREADS. Calls that say ALONE need every other thread to be done with the arena, and to know it: joined, or parked at
 * a barrier. All others may be called by all threads at once. What one thread wrote another may read when it learned
 * of it by something that synchronizes: a join, a lock, a queue. In a fork's child, one that other threads of the
 * parent were using must not be used: they may have left its lock taken.
 */
#ifndef TOFT_SHARED_ARENA_H
#define TOFT_SHARED_ARENA_H

#ifdef __cplusplus
extern "C" {
#endif

struct toft_source; /* toft.h */

typedef struct toft_shared toft_shared;

/* An empty one; its blocks come from `source`, NULL: toft_heap(). The source is called by one thread at a time; a
 * toft_limited_source is a limit. NULL if there is no memory. */
TOFT_API TOFT_NODISCARD toft_shared *toft_shared_create(struct toft_source *source);
/* ALONE. Ends the parts, running their cleanups, and returns all memory. TOFT_EBUSY: a part is claimed, or one of its
 * cleanups runs: nothing has changed. NULL is ignored. */
TOFT_API int toft_shared_release(toft_shared *s);

/* size bytes, aligned to `align`, a power of two, and to 8. A size of 0 gives a pointer that must not be read. NULL if
 * there is no memory, or a size or alignment that no arena can serve. */
TOFT_API TOFT_NODISCARD TOFT_SIZED(2) void *toft_shared_alloc(toft_shared *s, size_t size, size_t align);
/* In place if it shrinks, or if p is the newest allocation of all threads and there is room; else a copy. NULL: nothing
 * changed. p == NULL allocates. For p of this thread's alone, from toft_shared_alloc. */
TOFT_API TOFT_NODISCARD TOFT_SIZED(4) void *toft_shared_resize(toft_shared *s, void *p, size_t old_size,
                                                               size_t new_size, size_t align);
/* Gives p back if it is the newest allocation of all threads; else does nothing. `size` as asked for. */
TOFT_API void toft_shared_free(toft_shared *s, void *p, size_t size);

/* A part, for this thread or whichever it is handed to. NULL if there is no memory. */
TOFT_API TOFT_NODISCARD toft_arena *toft_shared_local(toft_shared *s);

/* ALONE. Ends the parts, running their cleanups, which may not call this, and gives back every allocation. Keeps what
 * `policy` says, as toft_reset_keep does; by TOFT_KEEP_RECENT what recent rounds needed, in one block if that is not
 * more than 64 MiB. TOFT_EBUSY, TOFT_EARG: nothing has changed. TOFT_ECORRUPT: done, and a checked part found bytes
 * written outside an allocation. */
TOFT_API int toft_shared_reset(toft_shared *s, uint32_t policy, size_t keep);
/* Returns blocks that wait since the last reset to the source, until about `keep` bytes of them are left. */
TOFT_API void toft_shared_trim(toft_shared *s, size_t keep);

/* As toft_get_stats; a block that a part has counts as allocated in whole. budget is none. `allocated` and `peak` know
 * of what was live at resets and is now: what is given back in between leaves both. While others allocate, each number
 * is of some moment of the call. */
TOFT_API toft_stats toft_shared_get_stats(toft_shared *s);
/* Does p lie in memory that was handed out, to a part or by toft_shared_alloc? Walks the blocks. */
TOFT_API int toft_shared_contains(toft_shared *s, const void *p);

#ifdef __cplusplus
}
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TOFT_VERSION "0.1.0"

/* The version of the library linked, as TOFT_VERSION. */
TOFT_API const char *toft_version(void);

/* "TOFT_ENOMEM" for TOFT_ENOMEM, and so on; "unknown" for what is no code. Static, never NULL. */
TOFT_API const char *toft_error_name(int code);

/* ------------------------------------------------------------------------------------------------------------
 * Sources: where blocks come from. A source must outlive every arena that uses it.
 * ------------------------------------------------------------------------------------------------------------ */

typedef struct toft_source toft_source;
struct toft_source {
  /* A block of at least `size` bytes on a 64-byte boundary, or NULL. `size` is a multiple of 4096. */
  void *(*take)(toft_source *self, size_t size);
  /* Returns what take gave; same size. */
  void (*put)(toft_source *self, void *block, size_t size);
  /* May be NULL. Grows or shrinks a block where it stands, from `size` to `want` bytes, both multiples of 4096:
   * non-zero if it did. Arenas grow such a block instead of taking another. */
  int (*extend)(toft_source *self, void *block, size_t size, size_t want);
};

/* The default: malloc, and for blocks of 1 MiB and more whole pages, with huge pages asked for. Blocks returned to
 * it go to the thread's cache first (see toft_cache_limit). Thread-safe. */
TOFT_API toft_source *toft_heap(void);

/* Pages straight from the operating system. TOFT_PAGES_HUGE: ask for huge pages for blocks of 2 MiB and more.
 * TOFT_PAGES_LAZY: put keeps up to 64 MiB of address space and tells the system that it may take the memory, which
 * makes taking it again cheap; toft_page_source_trim unmaps it. One thread at a time with LAZY, thread-safe without. */
enum { TOFT_PAGES_HUGE = 1, TOFT_PAGES_LAZY = 2 };
typedef struct toft_page_source {
  toft_source source;
  uint32_t flags;
  void *kept;
  size_t kept_bytes;
} toft_page_source;
TOFT_API toft_source *toft_page_source_init(toft_page_source *pages, uint32_t flags);
TOFT_API void toft_page_source_trim(toft_page_source *pages);

/* Reserve and commit: one contiguous range of `max` bytes of address space, which never moves; memory is committed as
 * the arena grows, so its newest allocation can grow in place up to `max`. Serves one arena at a time. NULL if the
 * address space cannot be had. toft_reserve_source_release gives it back, after the arena's release. */
typedef struct toft_reserve_source {
  toft_source source;
  unsigned char *base;
  size_t max, committed;
  int taken;
} toft_reserve_source;
TOFT_API toft_source *toft_reserve_source_init(toft_reserve_source *reserve, size_t max);
TOFT_API void toft_reserve_source_release(toft_reserve_source *reserve);

/* Puts a limit, in bytes, on what all arenas together may hold of another source. Exact at blocks, not at allocations:
 * for a limit on allocations, see toft_set_budget. Thread-safe if the inner source is. */
typedef struct toft_limited_source {
  toft_source source;
  toft_source *inner;
  size_t limit, used; /* used is updated atomically */
} toft_limited_source;
/* inner NULL: toft_heap(). */
TOFT_API toft_source *toft_limited_source_init(toft_limited_source *budget, toft_source *inner, size_t limit);

/* ------------------------------------------------------------------------------------------------------------
 * Arenas
 * ------------------------------------------------------------------------------------------------------------ */

/* Called with the reason why a call on the arena is about to return NULL: TOFT_ENOMEM, TOFT_EARG or TOFT_EBUSY; also
 * with size 0 and TOFT_EBUSY where toft_release has no effect. The arena is as it was, so the callback may longjmp or
 * throw. On a checked arena also with TOFT_ECORRUPT and the size of an allocation around which, or after which, bytes
 * were written; that call goes on, so the callback must return. It must not call into the arena. */
typedef void toft_failure_fn(void *arg, toft_arena *a, size_t size, size_t align, int code);

enum { TOFT_CHECKED = 1 }; /* options.flags: start as a checked arena */

typedef struct toft_options {
  size_t size;              /* sizeof(toft_options): TOFT_OPTIONS sets it */
  toft_source *source;      /* NULL: toft_heap(), or nothing if there is a buffer */
  void *buffer;             /* the arena lives in here first; NULL: in a block of the source */
  size_t buffer_size;       /* at least TOFT_BUFFER(0) */
  uint64_t budget;          /* limit on live bytes; 0: none */
  size_t reserve;           /* bytes expected: the first block after the arena's own is made this large */
  toft_failure_fn *failure; /* may be NULL */
  void *failure_arg;
  uint32_t flags; /* TOFT_CHECKED, or 0 */
} toft_options;
/* clang-format off */
#define TOFT_OPTIONS { sizeof(toft_options), NULL, NULL, 0, 0, 0, NULL, NULL, 0 }
/* clang-format on */

/* A buffer of this size has room for `bytes` bytes of allocations, each rounded up to 8, wherever it starts. */
#define TOFT_BUFFER(bytes) (((size_t)(bytes) + 583) & ~(size_t)7)

/* An arena with defaults: on the heap, no budget. NULL if there is no memory. Taken from the thread's cache when it has
 * one, which is the fast way. */
TOFT_API TOFT_NODISCARD toft_arena *toft_create(void);
/* NULL if there is no memory or the options are bad; options == NULL is toft_create. */
TOFT_API TOFT_NODISCARD toft_arena *toft_create_with(const toft_options *options);
/* An arena in the caller's buffer of `size` bytes, which must outlive it. When the buffer is full, blocks come from
 * `overflow`; NULL: the arena is full then. NULL if the buffer is too small (see TOFT_BUFFER). In a checked process
 * (toft/findings.h) the red zones need more room: there blocks for them come from toft_heap() if `overflow` is NULL,
 * the arena is full when its allocations alone, without zones, exceed the buffer, the result is NULL if there is no
 * memory for the checks, and the arena must be released before its buffer is used again. */
TOFT_API TOFT_NODISCARD toft_arena *toft_create_in(void *buffer, size_t size, toft_source *overflow);

/* Runs the cleanups and returns every block. NULL is ignored. Inside a cleanup of the arena, and while a range is
 * claimed, it does nothing but report TOFT_EBUSY to options.failure; a checked arena reports a finding too. */
TOFT_INLINE void toft_release(toft_arena *a);

/* Takes over everything that `donor` holds, in constant time: its allocations now live as long as those made in `a` at
 * this point, and its cleanups run when they end. `donor` must not be used again. TOFT_ENOMEM if a's budget has no room
 * for it, TOFT_EBUSY if a range of either is claimed, TOFT_EARG if it is `a` itself. An arena of another maker works
 * too; it is kept until it is to be released. TOFT_ENOSYS if that follows another version of the ABI. */
TOFT_API int toft_adopt(toft_arena *a, toft_arena *donor);

/* ------------------------------------------------------------------------------------------------------------
 * Allocation. Every result is aligned to 8 at least. A size of 0 gives a pointer that must not be read.
 * ------------------------------------------------------------------------------------------------------------ */

TOFT_INLINE TOFT_NODISCARD void *toft_alloc(toft_arena *a, size_t size);
/* `align`: a power of two, as large as you like. */
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_aligned(toft_arena *a, size_t size, size_t align);
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_zeroed(toft_arena *a, size_t size, size_t align);
/* count elements of `size` bytes: NULL if the product overflows. */
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_array(toft_arena *a, size_t count, size_t size, size_t align);
TOFT_INLINE TOFT_NODISCARD void *toft_alloc_array_zeroed(toft_arena *a, size_t count, size_t size, size_t align);

/* One T, n of T; uninitialised or zeroed. */
#define toft_new(a, T) ((T *)toft_alloc_aligned((a), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_zeroed(a, T) ((T *)toft_alloc_zeroed((a), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_array(a, T, n) ((T *)toft_alloc_array((a), (n), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_array_zeroed(a, T, n) ((T *)toft_alloc_array_zeroed((a), (n), sizeof(T), TOFT_ALIGNOF(T)))

/* Resizes an allocation of `old_size` bytes: in place if it is the newest and there is room, or if it shrinks; else a
 * copy, and the old bytes stay used. NULL: nothing changed. p == NULL allocates. */
TOFT_INLINE TOFT_NODISCARD void *toft_resize(toft_arena *a, void *p, size_t old_size, size_t new_size, size_t align);
/* Gives the newest allocation back, if p is that one; else does nothing. `size` as asked for. NULL is ignored. */
TOFT_INLINE void toft_free(toft_arena *a, void *p, size_t size);

/* Copies; NULL if there is no memory. toft_memdup aligns to 16. */
TOFT_INLINE TOFT_NODISCARD void *toft_memdup(toft_arena *a, const void *p, size_t size);
TOFT_INLINE TOFT_NODISCARD char *toft_strdup(toft_arena *a, const char *s);
/* At most n bytes of s, and a NUL. */
TOFT_INLINE TOFT_NODISCARD char *toft_strndup(toft_arena *a, const char *s, size_t n);
/* printf into the arena. NULL if there is no memory or the format fails. */
TOFT_API TOFT_NODISCARD TOFT_FORMAT(2, 3) char *toft_printf(toft_arena *a, const char *format, ...);
TOFT_API TOFT_NODISCARD TOFT_FORMAT(2, 0) char *toft_vprintf(toft_arena *a, const char *format, va_list args);

/* ------------------------------------------------------------------------------------------------------------
 * Marks and scopes
 * ------------------------------------------------------------------------------------------------------------ */

/* A point to come back to: two words, to be kept or dropped as you like. */
TOFT_INLINE toft_mark toft_mark_here(const toft_arena *a);
/* Gives back everything allocated since the mark, and runs the cleanups registered since, newest first. The mark stays
 * good for another rewind. TOFT_EMARK if it is from another arena or from before a reset; TOFT_EBUSY. A mark already
 * rewound past is told apart on checked arenas only. */
TOFT_INLINE int toft_rewind(toft_arena *a, toft_mark m);

/* A declaration: what is allocated after it is given back when the enclosing block ends, by its last line, break,
 * continue, return, goto, or an exception in C++:
 *     for (int i = 0; i < n; i++) {
 *       TOFT_SCOPE(a);
 *       if (!visit(toft_printf(a, "%d", i))) break;
 *     }
 * gcc and clang only: elsewhere toft_mark_here and toft_rewind. No switch label or goto may jump past it into its
 * block (clang rejects that, gcc does not). */
#ifdef TOFT_AT_EXIT
#define TOFT_SCOPE(a) TOFT_SCOPE_NAMED(a, TOFT_PASTE(toft_scope_, __COUNTER__))
#define TOFT_SCOPE_NAMED(a, name) toft_scope name TOFT_AT_EXIT(toft_scope_end) = toft_scope_begin(a)
#endif

/* ------------------------------------------------------------------------------------------------------------
 * Reset, trim, budgets
 * ------------------------------------------------------------------------------------------------------------ */

/* Gives back every allocation and runs the cleanups, but keeps blocks for the next round: as much as the largest of the
 * last 64 rounds needed, merged into one block (up to 64 MiB), so that a steady workload stops asking for blocks. */
TOFT_INLINE int toft_reset(toft_arena *a);
/* The same, keeping all memory (TOFT_KEEP_ALL), at most about `bytes` (TOFT_KEEP_BYTES), or as toft_reset
 * (TOFT_KEEP_RECENT, bytes ignored). TOFT_EBUSY, TOFT_EARG. */
TOFT_INLINE int toft_reset_keep(toft_arena *a, uint32_t policy, size_t bytes);
/* Returns memory that holds no allocation to the source, until about `keep` bytes of it are left. Marks stay good. */
TOFT_INLINE void toft_trim(toft_arena *a, size_t keep);
/* At most this many bytes may be live from now on, paddings included; UINT64_MAX: no limit. Costs nothing until it is
 * reached. A budget below what is live refuses everything until enough has been given back. TOFT_EBUSY. */
TOFT_INLINE int toft_set_budget(toft_arena *a, uint64_t bytes);
/* Switches checks, for allocations made from now on: red zones around them, looked at when they are given back (rewind
 * and reset then return TOFT_ECORRUPT, having done their work); what is given back is filled with 0xDD, and looked at
 * before it is used again; stale marks are refused with TOFT_EMARK; resize and free of what is no allocation, or with a
 * wrong size, with TOFT_EARG; what a second thread calls meanwhile with NULL or TOFT_EBUSY (two that allocate within
 * nanoseconds may both be served, and break the arena). toft/findings.h says how to hear of it. Slow. TOFT_EBUSY;
 * TOFT_ENOMEM: nothing changed; TOFT_ECORRUPT: the checks are off, and found something at their end. */
TOFT_INLINE int toft_set_checked(toft_arena *a, int on);

/* ------------------------------------------------------------------------------------------------------------
 * Cleanups
 * ------------------------------------------------------------------------------------------------------------ */

/* Registers a function to run once, when this point is rewound, reset or released; newest first. It must not throw or
 * longjmp; the arena gives no memory while it runs. The node lives in the arena: set node->fn = NULL to cancel, or
 * register with fn NULL and arm the node when its object is complete. NULL if there is no memory. */
TOFT_INLINE toft_cleanup *toft_cleanup_add(toft_arena *a, void (*fn)(void *), void *arg);

/* ------------------------------------------------------------------------------------------------------------
 * Claimed ranges: the register-cursor mode. For loops that allocate several small objects a turn: cursor and limit live
 * in locals, and nobody else can hand out the same bytes, because the arena shows no room meanwhile (others are served
 * from blocks of their own; rewind, reset, release and a second claim are refused).
 *
 *     toft_range r;
 *     toft_claim(a, &r);
 *     for (...) { struct node *n = (struct node *)toft_range_alloc(a, &r, sizeof *n); ... }
 *     toft_unclaim(a, &r);
 * ------------------------------------------------------------------------------------------------------------ */

/* TOFT_EBUSY if the arena is claimed already. */
TOFT_INLINE int toft_claim(toft_arena *a, toft_range *r);
/* Aligned to 8; claims a further block when the range is full. NULL: nothing changed, still claimed. */
TOFT_INLINE TOFT_NODISCARD void *toft_range_alloc(toft_arena *a, toft_range *r, size_t size);
/* Byte by byte, without alignment: for text. Such a piece cannot be given to toft_resize or toft_free. Before
 * toft_range_alloc is used again: toft_range_align. */
TOFT_INLINE TOFT_NODISCARD void *toft_range_bytes(toft_arena *a, toft_range *r, size_t size);
TOFT_INLINE void toft_range_align(toft_range *r);
/* Hands the rest back. TOFT_EARG if r does not hold a's claim. */
TOFT_INLINE int toft_unclaim(toft_arena *a, toft_range *r);

/* ------------------------------------------------------------------------------------------------------------
 * Packed bytes: strings side by side, without the rounding to 8 that costs 13 to 61 % on real strings. A pack takes
 * chunks of its arena and fills them byte by byte; ordinary allocations may come in between. It belongs to the scope it
 * was begun in: after a rewind past that or a reset, begin a new one. Nothing to release.
 * ------------------------------------------------------------------------------------------------------------ */

typedef struct toft_pack {
  toft_arena *arena;
  unsigned char *cursor, *limit;
  size_t chunk; /* size of the next chunk */
} toft_pack;

TOFT_INLINE toft_pack toft_pack_begin(toft_arena *a);
/* n uninitialised bytes, aligned to 1. */
TOFT_INLINE TOFT_NODISCARD void *toft_pack_alloc(toft_pack *k, size_t n);
/* A copy of n bytes; of n bytes and a NUL; of a string. */
TOFT_API TOFT_NODISCARD void *toft_pack_bytes(toft_pack *k, const void *p, size_t n);
TOFT_INLINE TOFT_NODISCARD char *toft_pack_strndup(toft_pack *k, const char *s, size_t n);
TOFT_INLINE TOFT_NODISCARD char *toft_pack_strdup(toft_pack *k, const char *s);

/* ------------------------------------------------------------------------------------------------------------
 * Looking at an arena
 * ------------------------------------------------------------------------------------------------------------ */

/* Does p lie in memory that this arena has handed out? Walks the blocks. May be 0 for bytes of a claimed range. */
TOFT_INLINE int toft_contains(const toft_arena *a, const void *p);
/* live is exact. allocated and peak are taken when a slow call happens: they miss what was allocated and rewound
 * within one block in between. reserved: blocks and kept blocks. wasted: block headers and the unused ends of full
 * blocks. blocks: how many are in use. source_calls: how often the source was asked, ever. */
TOFT_INLINE toft_stats toft_get_stats(toft_arena *a);

typedef struct toft_block {
  const void *base;  /* the block, as the source gave it */
  size_t size;       /* its bytes */
  const void *start; /* the first byte that can be handed out */
  size_t used;       /* bytes from there that are */
  int kind;          /* TOFT_BLOCK_... */
} toft_block;
enum { TOFT_BLOCK_REGULAR = 0, TOFT_BLOCK_ONEOFF = 1, TOFT_BLOCK_SPARE = 2 };
/* Calls fn for each block, newest first, kept ones last, adopted arenas' blocks in their places, until fn returns
 * non-zero; returns what fn returned last, or TOFT_ENOSYS for an arena of another maker. fn must return; the arena is
 * closed to it: allocations there are NULL, all else TOFT_EBUSY. */
TOFT_API int toft_blocks(toft_arena *a, int (*fn)(void *arg, const toft_block *block), void *arg);

/* ------------------------------------------------------------------------------------------------------------
 * The thread's cache. toft_release keeps arenas and heap blocks of the thread that calls it, up to a limit, for the
 * next toft_create and the next block. They are returned when the thread ends, when the library is unloaded, and on
 * request. In a fork's child the cache of the forking thread goes on; those of other threads are lost with them.
 * ------------------------------------------------------------------------------------------------------------ */

/* Limit per thread, in bytes; 4 MiB unless set, 0 is off. Affects every thread from its next release on; thread-safe.
 * Returns the old limit. */
TOFT_API size_t toft_cache_limit(size_t bytes);
/* Bytes this thread's cache holds. */
TOFT_API size_t toft_cache_held(void);
/* Returns all of this thread's cache to the system. */
TOFT_API void toft_cache_trim(void);

/* ------------------------------------------------------------------------------------------------------------
 * Hooks: malloc-like functions for libraries that let one set their allocator. They keep the size in front of each
 * object (16 bytes), align to 16, and reuse memory only when the newest object is freed or grown.
 * ------------------------------------------------------------------------------------------------------------ */

TOFT_API TOFT_SIZED(2) void *toft_hook_malloc(void *arena, size_t size);
TOFT_API TOFT_SIZED(3) void *toft_hook_realloc(void *arena, void *p, size_t size);
TOFT_API void toft_hook_free(void *arena, void *p);

/* For hooks without a context pointer: the calling thread's current arena. NULL until set. */
TOFT_API toft_arena *toft_current(void);
/* Sets it (NULL: none) and returns the one before, to be put back. */
TOFT_API toft_arena *toft_current_swap(toft_arena *a);
/* On the current arena; NULL if there is none. */
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
  if (TOFT_UNLIKELY((size_t)(k->limit - p) < n)) { /* a copy, so that k can live in registers */
    toft_pack seen = *k;
    void *q = toft_pack_grow(&seen, n);
    *k = seen;
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
/* With TOFT_SITES: every call by these names says its file and line to checked arenas, as toft_at does. Included by
 * toft.h behind everything else. */
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
