/* The functions of debug/ that the core calls: accounting, sampling and checks. While none of these is switched on
 * for an arena, each call costs at most a test of a flag or of a pointer.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_INSTRUMENT_H
#define TOFT_CORE_INSTRUMENT_H

#include "arena_state.h"

/* ---- accounting.c and sampling.c ---- */

/* Precondition: TOFT_INSTRUMENTED. Returns how many of `remaining` bytes the inline path may hand out, and sets
 * *instrumented if rewinds must take the slow path. */
static size_t toft_instrumented_limit(toft_state *a, size_t remaining, uintptr_t *instrumented);
/* Precondition: TOFT_INSTRUMENTED. Returns whether the current tag's budget allows `charge` more bytes. */
static int toft_fits_tag_budget(toft_state *a, size_t charge);
/* Called when a request was refused. Returns 1 if the arena's callback raised the budget that was the cause, or if the
 * cause was the source and there is a callback: then the request is tried again. */
static int toft_budget_raised(toft_state *a, size_t size, size_t align);
/* Calls the callback of the soft budget if live has passed it. */
static void toft_check_soft_budget(toft_state *a);
/* Brings the bytes of each tag up to date with live and allocated. */
static void toft_sync_tags(toft_state *a);

/* Dedicated blocks and adopted arenas: reserves memory to account for one more (0: there is none); accounts for bytes
 * already added to live and allocated; removes bytes already taken from live. */
static int toft_reserve_detached(toft_state *a);
static void toft_detached_add(toft_state *a, const void *what, size_t bytes);
static void toft_detached_remove(toft_state *a, const void *what);

/* A claimed range was returned; a reset has set live to 0. */
static void toft_accounting_unclaim(toft_state *a);
static void toft_accounting_reset(toft_state *a);

/* ops->set: TOFT_OK, or an error with nothing changed. */
static int toft_is_name(const char *name, size_t length);
static int toft_apply_tag(toft_state *a, uint64_t number, const char *name, size_t length);
static int toft_apply_sampling(toft_state *a, uint64_t period);
static uint64_t toft_sampling_period(const toft_state *a); /* 0: not sampled */

static void toft_instruments_release(toft_state *a);

/* process_profile.c: what the environment meters in every arena. One without memory for the records is not metered.
 * Precondition: the arena is synced and has no marks. */
static void toft_begin_process_meters(toft_state *a);
/* Another arena adopted this one: the process's profile counts its live bytes there. */
static void toft_profile_remove(toft_state *a);

static void toft_instrument_alloc_slow(toft_state *a, size_t size, uint64_t before, uintptr_t site, uintptr_t caller);

/* Called by each op that allocated: `before` is the previous value of `allocated`, `caller` the op's return address. */
static void toft_instrument_alloc(toft_state *a, size_t size, uint64_t before, uintptr_t site, uintptr_t caller) {
  if (TOFT_UNLIKELY(a->state & TOFT_INSTRUMENTED)) toft_instrument_alloc_slow(a, size, before, site, caller);
}

/* ---- debug_records.c, debug_ops.c, debug_api.c, quarantine.c: checked arenas ---- */

/* reports.c: what the environment switches on for all arenas of the process; 0: nothing. */
enum {
  TOFT_PROCESS_CHECKS = 2,
  TOFT_PROCESS_METERS = 4,
  TOFT_PROCESS_HARDENED = 8,
  TOFT_PROCESS_HAS_TOOL = 16 /* with CHECKS: because of a sanitizer or Valgrind, and not by the environment */
};
static size_t toft_process_switches(void);

static int toft_debug_begin_call_slow(toft_state *a, const char *op, uintptr_t site);

/* Brackets every op that changes the arena. 0: another thread is in it, which was reported; the op must do nothing. */
TOFT_INLINE int toft_debug_begin_call(toft_state *a, const char *op, uintptr_t site) {
  if (TOFT_LIKELY((a->state & TOFT_PRISTINE) != 0 || a->checks == NULL)) return 1;
  return toft_debug_begin_call_slow(a, op, site);
}
TOFT_INLINE void toft_debug_end_call(toft_state *a);

/* Precondition: TOFT_IS_CHECKED. The op's work in a checked arena. */
static void *toft_alloc_checked(toft_state *a, size_t size, size_t align);
static void *toft_resize_checked(toft_state *a, unsigned char *p, size_t old_size, size_t new_size, size_t align,
                                 uint32_t flags, int *code);
static int toft_free_checked(toft_state *a, unsigned char *p, size_t size);

/* Whether the mark is stale although its position is valid; reports a stale mark. */
static int toft_mark_is_stale(const toft_state *a, const unsigned char *cursor, uintptr_t epoch);
static void toft_report_stale_mark(toft_state *a);
/* An allocation was made from the claimed range; the range was returned. Marks made in between are stale. */
static void toft_checks_claim_alloc(toft_state *a);
static void toft_checks_unclaim(toft_state *a);

/* Ends the records of allocations made after `epoch`. TOFT_OK or TOFT_ECORRUPT. */
static int toft_check_records(toft_state *a, uintptr_t epoch);
/* The same within a rewind, which makes the marks in between stale; and the last step of a rewind. */
static int toft_rewind_records(toft_state *a, uintptr_t epoch);
static void toft_records_rewound(toft_state *a, uintptr_t epoch);
/* Trim returned the block of an empty arena. */
static void toft_records_trimmed(toft_state *a);
/* Searches all freed regions for late writes. TOFT_OK or TOFT_ECORRUPT. */
static int toft_verify_freed(toft_state *a);
/* The bytes of [from, to) were freed: fills them if the arena is checked or hardened, and poisons them if checked. */
static void toft_mark_freed(const toft_state *a, unsigned char *from, unsigned char *to);
/* The arena is empty, or its checks were switched: checks apply to allocations from here on. */
static void toft_restart_checks(toft_state *a);

/* Switches checks; restricts an arena in a buffer to the buffer's capacity without red zones; removes the arena from
 * the registry; reports a refused release. */
static int toft_begin_checks(toft_state *a);
static int toft_end_checks(toft_state *a);
static void toft_limit_to_buffer(toft_state *a);
static void toft_unregister_arena(toft_state *a);
static void toft_report_not_released(toft_state *a);

/* Precondition: a->checks is not NULL. Returns 1 if the block went to the quarantine, 0 if the caller must return it
 * to its source. */
static int toft_quarantine_block(toft_state *a, toft_block_header *b);
static int toft_quarantine_initial(toft_state *a, size_t size);
/* The initial block is about to end at `end`. */
static void toft_checks_shrink_initial(toft_state *a, unsigned char *end);

/* ---- hardened.c ---- */

/* The source to use instead of the heap source. */
static toft_source *toft_hardened_source(toft_source *source);
/* Precondition: toft_sync_in was called; toft_set_limit must follow. TOFT_OK or an error. */
static int toft_begin_hardening(toft_state *a);
/* Precondition: TOFT_IS_HARDENED. A part of toft_set_limit: computes the canary. Returns 1. */
static uintptr_t toft_set_canary(toft_state *a);
/* 0: the state was overwritten, which was reported; the arena refuses every call. */
static int toft_check_canary(toft_state *a, const char *op, uintptr_t site);
/* Precondition: TOFT_IS_HARDENED. The cleanup was taken off the list, and is about to run. */
static void toft_cleanup_taken(toft_state *a, toft_cleanup_node *node);

/* ---- subject.c: an instrument before an arena of another provider ---- */

/* Precondition of both: TOFT_IS_SUBJECT. The first copies the head of the arena into the subject's. The second points
 * the arena's head to the instrument again, with the subject's cursor, limit and epoch, and returns 1. */
static void toft_subject_read(toft_state *a);
static uintptr_t toft_subject_write(toft_state *a);

/* Makes findings name `site` as the place of the next call: for calls that the library makes on behalf of its
 * caller. */
static void toft_attribute_call(const toft_arena *a, uintptr_t site);

/* Malloc-like hooks: writes the header of an object of `size` bytes at base and returns the object behind it. */
static void *toft_hook_store_size(toft_arena *arena, unsigned char *base, size_t size);
/* Malloc-like hooks: the size of the object at p including its header; 0 if a checked arena has none there, which was
 * reported. */
static size_t toft_hook_load_size(toft_arena *arena, void *p, const char *op);

#endif
