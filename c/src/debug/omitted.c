/* Stubs for features that the TOFT_OMIT_ macros exclude: CHECKS, INSTRUMENT, METERS, POOLS, RECYCLER, THREADS. Settings
 * of an omitted feature return TOFT_ENOSYS; its functions do not exist.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_OMITTED_C
#define TOFT_DEBUG_OMITTED_C

#include "../core/instrument.h"
#include "../platform/atomic.c"
#include "../platform/lifecycle.h"
#include "toft/recycler.h"

#ifdef TOFT_OMIT_CHECKS
/* These files find their guards defined, and are empty. */
#define TOFT_DEBUG_LIVE_REGISTRY_C
#define TOFT_DEBUG_REPORTS_C
#define TOFT_DEBUG_DEBUG_RECORDS_C
#define TOFT_DEBUG_DEBUG_OPS_C
#define TOFT_DEBUG_QUARANTINE_C
#define TOFT_DEBUG_DEBUG_API_C
#define TOFT_DEBUG_HARDENED_C
#define TOFT_RECYCLER_RECYCLER_CHECKED_C

static size_t toft_process_switches(void) { return 0; }
static int toft_debug_begin_call_slow(toft_state *a, const char *by, uintptr_t site) {
  (void)a, (void)by, (void)site;
  return 1;
}
TOFT_INLINE void toft_debug_end_call(toft_state *a) { (void)a; }
static void *toft_alloc_checked(toft_state *a, size_t size, size_t align) {
  (void)a, (void)size, (void)align;
  return NULL;
}
static void *toft_resize_checked(toft_state *a, unsigned char *p, size_t old_size, size_t new_size, size_t align,
                                 uint32_t flags, int *code) {
  (void)a, (void)p, (void)old_size, (void)new_size, (void)align, (void)flags, (void)code;
  return NULL;
}
static int toft_free_checked(toft_state *a, unsigned char *p, size_t size) {
  (void)a, (void)p, (void)size;
  return TOFT_OK;
}
static int toft_mark_is_stale(const toft_state *a, const unsigned char *cursor, uintptr_t epoch) {
  (void)a, (void)cursor, (void)epoch;
  return 0;
}
static void toft_report_stale_mark(toft_state *a) { (void)a; }
static void toft_checks_claim_alloc(toft_state *a) { (void)a; }
static void toft_checks_unclaim(toft_state *a) { (void)a; }
static int toft_check_records(toft_state *a, uintptr_t epoch) {
  (void)a, (void)epoch;
  return TOFT_OK;
}
static int toft_rewind_records(toft_state *a, uintptr_t epoch) {
  (void)a, (void)epoch;
  return TOFT_OK;
}
static void toft_records_rewound(toft_state *a, uintptr_t epoch) { (void)a, (void)epoch; }
static void toft_records_trimmed(toft_state *a) { (void)a; }
static int toft_verify_freed(toft_state *a) {
  (void)a;
  return TOFT_OK;
}
static void toft_mark_freed(const toft_state *a, unsigned char *from, unsigned char *to) {
  (void)a, (void)from, (void)to;
}
static void toft_restart_checks(toft_state *a) { (void)a; }
static int toft_begin_checks(toft_state *a) {
  (void)a;
  return TOFT_ENOSYS;
}
static int toft_end_checks(toft_state *a) {
  (void)a;
  return TOFT_OK;
}
static void toft_limit_to_buffer(toft_state *a) { (void)a; }
static void toft_unregister_arena(toft_state *a) { (void)a; }
static void toft_report_not_released(toft_state *a) { (void)a; }
static int toft_quarantine_block(toft_state *a, toft_block_header *b) {
  (void)a, (void)b;
  return 0;
}
static int toft_quarantine_initial(toft_state *a, size_t size) {
  (void)a, (void)size;
  return 0;
}
static void toft_checks_shrink_initial(toft_state *a, unsigned char *end) { (void)a, (void)end; }
static void toft_attribute_call(const toft_arena *a, uintptr_t site) { (void)a, (void)site; }
static toft_source *toft_hardened_source(toft_source *source) { return source; }
static int toft_begin_hardening(toft_state *a) {
  (void)a;
  return TOFT_ENOSYS;
}
static uintptr_t toft_set_canary(toft_state *a) { return (void)a, 1; }
static int toft_check_canary(toft_state *a, const char *by, uintptr_t site) { return (void)a, (void)by, (void)site, 1; }
static void toft_cleanup_taken(toft_state *a, toft_cleanup_node *node) { (void)a, (void)node; }
static void *toft_hook_store_size(toft_arena *arena, unsigned char *base, size_t size) {
  (void)arena;
  memcpy(base, &size, sizeof size);
  return base + TOFT_HOOK_HEADER;
}
static size_t toft_hook_load_size(toft_arena *arena, void *p, const char *by) {
  size_t size;
  (void)arena, (void)by;
  memcpy(&size, (unsigned char *)p - TOFT_HOOK_HEADER, sizeof size);
  return size + TOFT_HOOK_HEADER;
}
#ifndef TOFT_NO_OS
static toft_lock toft_registry_lock, toft_quarantine_lock, toft_findings_lock, toft_call_stacks_lock; /* see fork.c */
#endif
static size_t toft_pin_to(toft_state *a, size_t thread) {
  (void)a, (void)thread;
  return 0;
}
static size_t toft_size_with_redzones(size_t size, size_t align) {
  (void)align;
  return size;
}
static void toft_registry_end(void) {}
static void toft_quarantine_flush(size_t bytes) { (void)bytes; }
static void toft_findings_end(void) {}

/* No recycler has `checked` set. */
static void *toft_recycler_alloc_checked(toft_recycler *r, size_t size, size_t align, uintptr_t site) {
  (void)r, (void)size, (void)align, (void)site;
  return NULL;
}
static void toft_recycler_free_checked(toft_recycler *r, void *p, size_t size, uintptr_t site) {
  (void)r, (void)p, (void)size, (void)site;
}
static void *toft_recycler_resize_checked(toft_recycler *r, void *p, size_t old_size, size_t new_size, size_t align,
                                          uintptr_t site) {
  (void)r, (void)p, (void)old_size, (void)new_size, (void)align, (void)site;
  return NULL;
}
static size_t toft_recycler_size_checked(const toft_recycler *r, const void *p) {
  (void)r, (void)p;
  return 0;
}
static struct toft_recycler_checks *toft_recycler_checks_for(toft_recycler *r) {
  (void)r;
  return NULL;
}
static void toft_recycler_release_checked(toft_recycler *r, uintptr_t site) { (void)r, (void)site; }
static size_t toft_recycler_trim_checked(toft_recycler *r, size_t keep, uintptr_t site) {
  (void)r, (void)keep, (void)site;
  return 0;
}
static toft_recycler_stats toft_recycler_stats_checked(const toft_recycler *r) {
  toft_recycler_stats s;
  (void)r;
  memset(&s, 0, sizeof s);
  return s;
}
#endif

#ifdef TOFT_OMIT_METERS
#define TOFT_DEBUG_ACCOUNTING_C
#define TOFT_DEBUG_SAMPLING_C
#define TOFT_DEBUG_ACCOUNTING_API_C
#define TOFT_DEBUG_MODULES_C
#define TOFT_DEBUG_SNAPSHOT_C

static size_t toft_instrumented_limit(toft_state *a, size_t remaining, uintptr_t *instrumented) {
  (void)a, (void)instrumented;
  return remaining;
}
static int toft_fits_tag_budget(toft_state *a, size_t charge) {
  (void)a, (void)charge;
  return 1;
}
static int toft_budget_raised(toft_state *a, size_t size, size_t align) {
  (void)a, (void)size, (void)align;
  return 0;
}
static void toft_check_soft_budget(toft_state *a) { (void)a; }
static void toft_sync_tags(toft_state *a) { (void)a; }
static int toft_reserve_detached(toft_state *a) {
  (void)a;
  return 1;
}
static void toft_detached_add(toft_state *a, const void *what, size_t bytes) { (void)a, (void)what, (void)bytes; }
static void toft_detached_remove(toft_state *a, const void *what) { (void)a, (void)what; }
static void toft_accounting_unclaim(toft_state *a) { (void)a; }
static void toft_accounting_reset(toft_state *a) { (void)a; }
static int toft_is_name(const char *name, size_t length) {
  (void)name, (void)length;
  return 1;
}
static int toft_apply_tag(toft_state *a, uint64_t number, const char *name, size_t length) {
  (void)a, (void)number, (void)name, (void)length;
  return TOFT_ENOSYS;
}
static int toft_apply_sampling(toft_state *a, uint64_t period) {
  (void)a, (void)period;
  return TOFT_ENOSYS;
}
static uint64_t toft_sampling_period(const toft_state *a) {
  (void)a;
  return 0;
}
static void toft_instruments_release(toft_state *a) { (void)a; }
static void toft_instrument_alloc_slow(toft_state *a, size_t size, uint64_t before, uintptr_t site, uintptr_t caller) {
  (void)a, (void)size, (void)before, (void)site, (void)caller;
}
#endif

#if defined(TOFT_OMIT_CHECKS) || defined(TOFT_OMIT_METERS)
#define TOFT_DEBUG_PROCESS_PROFILE_C
#define TOFT_DEBUG_SUBJECT_ACCOUNT_C
#define TOFT_DEBUG_SUBJECT_RECORDS_C
#define TOFT_DEBUG_INSTRUMENT_C
#define TOFT_PLATFORM_REQUEST_C
static void toft_begin_process_meters(toft_state *a) { (void)a; }
static void toft_profile_remove(toft_state *a) { (void)a; }
static void toft_profile_end(void) {}
static void toft_profile_at_fork(int phase) { (void)phase; }
#endif
#if defined(TOFT_OMIT_CHECKS) && !defined(TOFT_OMIT_METERS)
static void toft_profile_update(toft_state *a) { (void)a; }
static void toft_profile_sample(const toft_instruments *w, void *const *stack, size_t depth, uintptr_t site,
                                double count, double bytes) {
  (void)w, (void)stack, (void)depth, (void)site, (void)count, (void)bytes;
}
static void toft_profile_phase(const char *name, uint64_t allocated, int64_t kept) {
  (void)name, (void)allocated, (void)kept;
}
#endif
#if defined(TOFT_OMIT_METERS) && !defined(TOFT_OMIT_CHECKS)
static int toft_is_profiled(const toft_state *a) { return (void)a, 0; }
static int toft_read_process_meters(int *reports) { return (void)reports, 0; }
static void toft_start_process_meters(void) {}
#endif

#if defined(TOFT_OMIT_CHECKS) && defined(TOFT_OMIT_METERS)
#define TOFT_DEBUG_SYMBOLIZE_C
#define TOFT_DEBUG_JSON_C
#define TOFT_DEBUG_STACKS_C
#endif

#ifdef TOFT_OMIT_POOLS
static void toft_pool_drop_kept(void) {}
#endif

#ifdef TOFT_OMIT_THREADS
static void toft_thread_release_leases(void) {}
static void toft_thread_state_release(void) {}
static void toft_leases_unload(void) {}
static void toft_threads_at_fork(int phase) { (void)phase; }
static int toft_is_leased(const toft_arena *a) {
  (void)a;
  return 0;
}
static void *toft_leased_alloc(toft_arena *a, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  (void)a, (void)size, (void)align, (void)flags, (void)site;
  return NULL;
}
#endif

#endif
