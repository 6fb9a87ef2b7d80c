/* Stubs for features that the TOFT_OMIT_ macros exclude: CHECKS, INSTRUMENT, METERS, POOLS, RECYCLER, THREADS. Settings
 * of an omitted feature return TOFT_ENOSYS; its functions do not exist.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_OMITTED_C
#define TOFT_DEBUG_OMITTED_C

#include "../core/hooks.h"
#include "../platform/atomic.c"
#include "../platform/lifecycle.h"
#include "observe.h"
#include "toft/recycler.h"

#ifdef TOFT_OMIT_CHECKS
/* These files find their guards defined, and are empty. */
#define TOFT_DEBUG_LIVE_REGISTRY_C
#define TOFT_DEBUG_REPORTS_C
#define TOFT_DEBUG_DEBUG_RECORDS_C
#define TOFT_DEBUG_DEBUG_OPS_C
#define TOFT_DEBUG_QUARANTINE_C
#define TOFT_DEBUG_DEBUG_API_C
#define TOFT_RECYCLER_RECYCLER_CHECKED_C

static size_t toft_process_switches(void) { return 0; }
static int toft_debug_begin_call_slow(toft_state *a, const char *by, uintptr_t site) {
  return (void)a, (void)by, (void)site, 1;
}
TOFT_INLINE void toft_debug_end_call(toft_state *a) { (void)a; }
static void *toft_alloc_checked(toft_state *a, size_t size, size_t align) {
  return (void)a, (void)size, (void)align, (void *)NULL;
}
static void *toft_resize_checked(toft_state *a, unsigned char *p, size_t old_size, size_t new_size, size_t align,
                                 uint32_t flags, int *code) {
  return (void)a, (void)p, (void)old_size, (void)new_size, (void)align, (void)flags, (void)code, (void *)NULL;
}
static int toft_free_checked(toft_state *a, unsigned char *p, size_t size) {
  return (void)a, (void)p, (void)size, TOFT_OK;
}
static int toft_mark_is_stale(const toft_state *a, const unsigned char *cursor, uintptr_t epoch) {
  return (void)a, (void)cursor, (void)epoch, 0;
}
static void toft_report_stale_mark(toft_state *a) { (void)a; }
static void toft_checks_claim_alloc(toft_state *a) { (void)a; }
static void toft_checks_unclaim(toft_state *a) { (void)a; }
static int toft_check_records(toft_state *a, uintptr_t epoch) { return (void)a, (void)epoch, TOFT_OK; }
static int toft_rewind_records(toft_state *a, uintptr_t epoch) { return (void)a, (void)epoch, TOFT_OK; }
static void toft_records_rewound(toft_state *a, uintptr_t epoch) { (void)a, (void)epoch; }
static int toft_verify_freed(toft_state *a) { return (void)a, TOFT_OK; }
static void toft_mark_freed(const toft_state *a, unsigned char *from, unsigned char *to) {
  (void)a, (void)from, (void)to;
}
static void toft_restart_checks(toft_state *a) { (void)a; }
static int toft_begin_checks(toft_state *a) { return (void)a, TOFT_ENOSYS; }
static int toft_end_checks(toft_state *a) { return (void)a, TOFT_OK; }
static void toft_limit_to_buffer(toft_state *a) { (void)a; }
static void toft_unregister_arena(toft_state *a) { (void)a; }
static void toft_report_not_released(toft_state *a) { (void)a; }
static int toft_quarantine_block(toft_state *a, toft_block_header *b) { return (void)a, (void)b, 0; }
static int toft_quarantine_initial(toft_state *a, size_t size) { return (void)a, (void)size, 0; }
static void toft_checks_shrink_initial(toft_state *a, unsigned char *end) { (void)a, (void)end; }
static void toft_attribute_call(const toft_arena *a, uintptr_t site) { (void)a, (void)site; }
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
static size_t toft_pin_to(toft_state *a, size_t thread) { return (void)a, (void)thread, 0; }
static size_t toft_size_with_redzones(size_t size, size_t align) { return (void)align, size; }
static void toft_registry_end(void) {}
static void toft_quarantine_flush(size_t bytes) { (void)bytes; }
static void toft_findings_end(void) {}

/* No recycler has `checked` set. */
static void *toft_recycler_alloc_checked(toft_recycler *r, size_t size, size_t align, uintptr_t site) {
  return (void)r, (void)size, (void)align, (void)site, (void *)NULL;
}
static void toft_recycler_free_checked(toft_recycler *r, void *p, size_t size, uintptr_t site) {
  (void)r, (void)p, (void)size, (void)site;
}
static void *toft_recycler_resize_checked(toft_recycler *r, void *p, size_t old_size, size_t new_size, size_t align,
                                          uintptr_t site) {
  return (void)r, (void)p, (void)old_size, (void)new_size, (void)align, (void)site, (void *)NULL;
}
static size_t toft_recycler_size_checked(const toft_recycler *r, const void *p) { return (void)r, (void)p, 0; }
static struct toft_recycler_checks *toft_recycler_checks_for(toft_recycler *r) {
  return (void)r, (struct toft_recycler_checks *)NULL;
}
static void toft_recycler_release_checked(toft_recycler *r, uintptr_t site) { (void)r, (void)site; }
static size_t toft_recycler_trim_checked(toft_recycler *r, size_t keep, uintptr_t site) {
  return (void)r, (void)keep, (void)site, 0;
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
  return (void)a, (void)instrumented, remaining;
}
static int toft_fits_tag_budget(toft_state *a, size_t charge) { return (void)a, (void)charge, 1; }
static int toft_budget_raised(toft_state *a, size_t size, size_t align) { return (void)a, (void)size, (void)align, 0; }
static void toft_check_soft_budget(toft_state *a) { (void)a; }
static void toft_sync_tags(toft_state *a) { (void)a; }
static int toft_reserve_detached(toft_state *a) { return (void)a, 1; }
static void toft_detached_add(toft_state *a, const void *what, size_t bytes) { (void)a, (void)what, (void)bytes; }
static void toft_detached_remove(toft_state *a, const void *what) { (void)a, (void)what; }
static void toft_accounting_unclaim(toft_state *a) { (void)a; }
static void toft_accounting_reset(toft_state *a) { (void)a; }
static int toft_is_name(const char *name, size_t length) { return (void)name, (void)length, 1; }
static int toft_apply_tag(toft_state *a, uint64_t number, const char *name, size_t length) {
  return (void)a, (void)number, (void)name, (void)length, TOFT_ENOSYS;
}
static int toft_apply_sampling(toft_state *a, uint64_t period) { return (void)a, (void)period, TOFT_ENOSYS; }
static uint64_t toft_sampling_period(const toft_state *a) { return (void)a, 0; }
static void toft_instruments_release(toft_state *a) { (void)a; }
static void toft_instrument_alloc(toft_state *a, size_t size, uint64_t before, uintptr_t site, uintptr_t caller) {
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
#define TOFT_DEBUG_OBSERVED_C
static toft_state *toft_observe_created(toft_state *a, size_t switches) {
  if (switches & TOFT_SWITCHED_BY_OPTION) toft_release_all(a); /* the options name omitted parts */
  return switches & TOFT_SWITCHED_BY_OPTION ? NULL : a;
}
static int toft_observe_set(toft_state *a, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  (void)name, (void)name_len;
  if (what == TOFT_SET_CHECKED && value > 1) return TOFT_EARG;
  if (a->state & (what == TOFT_SET_TAG ? (uint32_t)TOFT_BUSY : (uint32_t)TOFT_REFUSING)) return TOFT_EBUSY;
  return what == TOFT_SET_CHECKED && value == 0 ? TOFT_OK : TOFT_ENOSYS;
}
static void toft_observe_sync(toft_state *a) { (void)a; }
static size_t toft_observe_limit(toft_state *a, size_t remaining, uintptr_t *slow_rewinds) {
  return (void)a, (void)slow_rewinds, remaining;
}
static void *toft_observe_alloc(toft_state *a, size_t size, size_t align) {
  return (void)a, (void)size, (void)align, (void *)NULL;
}
static int toft_observe_charge(toft_state *a, size_t charge) { return (void)a, (void)charge, 1; }
static int toft_observe_detached(toft_state *a, const void *what, size_t bytes, int change) {
  return (void)a, (void)what, (void)bytes, (void)change, 1;
}
static int toft_observe_free(toft_state *a, uintptr_t epoch, int by) { return (void)a, (void)epoch, (void)by, TOFT_OK; }
static int toft_observe_put(toft_state *a, toft_block_header *b, size_t kept) {
  return (void)a, (void)b, (void)kept, 0;
}
#endif

#ifdef TOFT_OMIT_POOLS
static void toft_pool_drop_kept(void) {}
#endif

#ifdef TOFT_OMIT_THREADS
static void toft_thread_release_leases(void) {}
static void toft_thread_state_release(void) {}
static void toft_leases_unload(void) {}
static void toft_threads_at_fork(int phase) { (void)phase; }
static int toft_is_leased(const toft_arena *a) { return (void)a, 0; }
static void *toft_leased_alloc(toft_arena *a, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  return (void)a, (void)size, (void)align, (void)flags, (void)site, (void *)NULL;
}
#endif

#endif
