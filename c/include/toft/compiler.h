/* Compiler attributes, linkage, and the renaming of symbols by TOFT_PREFIX. Nothing here changes a layout.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
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
#define toft_region_current TOFT_PASTE(TOFT_PREFIX, toft_region_current)
#define toft_region_diff TOFT_PASTE(TOFT_PREFIX, toft_region_diff)
#define toft_region_digest TOFT_PASTE(TOFT_PREFIX, toft_region_digest)
#define toft_region_digest_parts TOFT_PASTE(TOFT_PREFIX, toft_region_digest_parts)
#define toft_region_drop_checkpoint TOFT_PASTE(TOFT_PREFIX, toft_region_drop_checkpoint)
#define toft_region_get_stats TOFT_PASTE(TOFT_PREFIX, toft_region_get_stats)
#define toft_region_malloc TOFT_PASTE(TOFT_PREFIX, toft_region_malloc)
#define toft_region_name_checkpoint TOFT_PASTE(TOFT_PREFIX, toft_region_name_checkpoint)
#define toft_region_next_checkpoint TOFT_PASTE(TOFT_PREFIX, toft_region_next_checkpoint)
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
