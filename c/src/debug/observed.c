/* Observed arenas: the table of an arena whose checks or meters are on. Each operation brackets the one of
 * the core, on the same state, as an instrument does. And the functions that the core calls within its operations.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_OBSERVED_C
#define TOFT_DEBUG_OBSERVED_C

#include "../core/create_release.c"
#include "../core/ops.c"
#include "../core/stats.c"
#include "accounting.c"
#include "debug_ops.c"
#include "process_profile.c"
#include "quarantine.c"
#include "sampling.c"
#include "subject.c"

/* ---- called by the core ---- */

static void toft_observe_sync(toft_state *a) { toft_subject_read(a); }

static TOFT_NOINLINE size_t toft_observe_limit(toft_state *a, size_t remaining, uintptr_t *slow_rewinds) {
  if (a->state & TOFT_INSTRUMENTED) remaining = toft_instrumented_limit(a, remaining, slow_rewinds);
  if (a->state & TOFT_IS_SUBJECT) toft_subject_write(a, a->state & TOFT_SEALED ? 0 : remaining);
  if (a->state & TOFT_IS_SUBJECT) *slow_rewinds = 1; /* an inline free fills nothing */
  return remaining;
}

static void *toft_observe_alloc(toft_state *a, size_t size, size_t align) {
  toft_block_header *block;
  if (a->state & TOFT_IS_CHECKED) return toft_alloc_checked(a, size, align);
  return toft_subjects->place(a, size, align, &block);
}

static TOFT_NOINLINE int toft_observe_charge(toft_state *a, size_t charge) {
  if (charge != 0) return toft_fits_tag_budget(a, charge);
  toft_sync_tags(a);
  return 1;
}

static TOFT_NOINLINE int toft_observe_detached(toft_state *a, const void *what, size_t bytes, int change) {
  if (change == TOFT_DETACHED_RESERVED) return toft_reserve_detached(a);
  if (change == TOFT_DETACHED_MORE)
    toft_detached_add(a, what, bytes);
  else if (what != NULL)
    toft_detached_remove(a, what);
  else
    toft_accounting_reset(a);
  return 1;
}

static TOFT_NOINLINE int toft_observe_free(toft_state *a, uintptr_t epoch, int by) {
  int code = by != TOFT_BY_REWIND ? toft_verify_freed(a) : TOFT_OK;
  if (by == TOFT_BY_RELEASE) toft_unregister_arena(a);
  if ((by == TOFT_BY_REWIND ? toft_rewind_records(a, epoch) : toft_check_records(a, epoch)) != TOFT_OK)
    code = TOFT_ECORRUPT;
  return code;
}

static TOFT_NOINLINE int toft_observe_put(toft_state *a, toft_block_header *b, size_t kept) {
  if (kept == 0 && b == &a->initial) toft_instruments_release(a);
  if (a->checks == NULL) return 0;
  if (kept != 0) {
    toft_checks_shrink_initial(a, (unsigned char *)a + kept);
    return 0;
  }
  return b != &a->initial ? toft_quarantine_block(a, b) : toft_quarantine_initial(a, a->initial_size);
}

static TOFT_COLD toft_state *toft_observe_created(toft_state *a, size_t switches) {
  int by_option = (switches & TOFT_SWITCHED_BY_OPTION) != 0;
  toft_sync_in(a);
  /* A buffer's arena need not be released; checked, it would leave the buffer inaccessible to the tool. */
  if ((switches & TOFT_PROCESS_HAS_TOOL) && (a->state & TOFT_IN_BUFFER)) switches &= ~(size_t)TOFT_PROCESS_CHECKS;
  if (switches & TOFT_PROCESS_METERS) toft_begin_process_meters(a);
  if ((switches & TOFT_PROCESS_CHECKS) && toft_begin_checks(a) != TOFT_OK) {
    toft_portion_end(a);
    toft_put_initial(a);
    return NULL;
  }
  if ((switches & TOFT_PROCESS_CHECKS) && !by_option && a->source == NULL) {
    a->source = &toft_heap_source;
    toft_limit_to_buffer(a);
  }
  toft_set_limit(a);
  return a;
}

/* TOFT_OK, or why no arena in this state accepts the setting. */
static int toft_check_setting(const toft_state *a, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  if (what < TOFT_SET_BUDGET || what > TOFT_SET_CHECKED) return TOFT_ENOSYS;
  if (what != TOFT_SET_BUDGET && (a->state & TOFT_IN_REGION)) return TOFT_ENOSYS;
  if (what == TOFT_SET_CHECKED && value > 1) return TOFT_EARG;
  return what != TOFT_SET_TAG || toft_is_name(name, name_len) ? TOFT_OK : TOFT_EARG;
}

static TOFT_COLD int toft_observe_set(toft_state *a, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  int code = toft_check_setting(a, what, value, name, name_len);
  if (code != TOFT_OK) return code;
  if (a->state & (what == TOFT_SET_TAG ? (uint32_t)TOFT_BUSY : (uint32_t)TOFT_REFUSING)) return TOFT_EBUSY;
  if (what == TOFT_SET_TAG)
    code = toft_apply_tag(a, value, name, name_len);
  else if (what == TOFT_SET_SAMPLE)
    code = toft_apply_sampling(a, value);
  if (code != TOFT_OK) return code;
  toft_next_epoch(a);
  if (what == TOFT_SET_CHECKED && value != (uint64_t)((a->state & TOFT_IS_CHECKED) != 0))
    code = value != 0 ? toft_begin_checks(a) : toft_end_checks(a);
  if (code == TOFT_ENOMEM) a->head.epoch -= 2; /* as it was */
  return code;
}

/* ---- the table ---- */

/* The end of an operation of an observed arena, or of a subject. */
static void toft_end_observed(toft_state *a) {
  if (a->state & TOFT_IS_SUBJECT) toft_subjects->end(a);
  toft_set_limit(a);
  toft_debug_end_call(a);
}

/* These three serve a subject too. */
static void *toft_alloc_observed(toft_state *a, size_t size, size_t align, uint32_t flags, uintptr_t site,
                                 uintptr_t caller) {
  int code;
  if (!toft_debug_begin_call(a, "alloc", site != 0 ? site : caller)) return NULL;
  toft_sync_in(a);
  uint64_t before = a->allocated;
  void *p = toft_alloc_any(a, size, align, &code);
  if (p != NULL) toft_instrument_alloc(a, size, before, site, caller);
  toft_end_observed(a);
  return toft_end_alloc(a, p, 0, size, align, flags, code);
}

static void *toft_observed_alloc(toft_arena *head, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  return toft_alloc_observed(toft_state_of(head), size, align, flags, site, TOFT_CALLER());
}

static void *toft_resize_observed(toft_state *a, toft_resize_fn *unchecked, void *p, size_t old_size, size_t new_size,
                                  size_t align, uint32_t flags, uintptr_t site, uintptr_t caller) {
  int code;
  if (p == NULL && old_size == 0) return toft_alloc_observed(a, new_size, align, flags, site, caller);
  if (!toft_debug_begin_call(a, "resize", site != 0 ? site : caller)) return NULL;
  toft_sync_in(a);
  int checked = (a->state & TOFT_IS_CHECKED) != 0; /* checks report an impossible size */
  unsigned char *old = old_size <= TOFT_MAX_REQUEST || checked ? (unsigned char *)p : NULL;
  uint64_t before = a->allocated;
  void *q = toft_resize_any(a, checked ? toft_resize_checked : unchecked, old, old_size, new_size, align, flags, &code);
  if (q != NULL)
    toft_instrument_alloc(a, q == p ? new_size - toft_min(old_size, new_size) : new_size, before, site, caller);
  toft_end_observed(a);
  return toft_end_alloc(a, q, old_size, new_size, align, flags, code);
}

static void *toft_observed_resize(toft_arena *head, void *p, size_t old_size, size_t new_size, size_t align,
                                  uint32_t flags, uintptr_t site) {
  return toft_resize_observed(toft_state_of(head), toft_resize_unchecked, p, old_size, new_size, align, flags, site,
                              TOFT_CALLER());
}

static void toft_free_observed(toft_state *a, void (*unchecked)(toft_state *, unsigned char *, size_t), void *p,
                               size_t size, uintptr_t caller) {
  int code = TOFT_OK;
  if (!toft_debug_begin_call(a, "free", caller)) return;
  toft_sync_in(a);
  if (!(a->state & TOFT_IS_CHECKED))
    unchecked(a, (unsigned char *)p, size);
  else if (!(a->state & TOFT_REFUSING) && p != NULL)
    code = toft_free_checked(a, (unsigned char *)p, size);
  toft_end_observed(a);
  if (code != TOFT_OK) toft_report_failure(a, size, 0, code);
}

static void toft_observed_free(toft_arena *head, void *p, size_t size) {
  toft_free_observed(toft_state_of(head), toft_free_any, p, size, TOFT_CALLER());
}

static int toft_observed_rewind(toft_arena *head, unsigned char *cursor, uintptr_t epoch) {
  toft_state *a = toft_state_of(head);
  int code = TOFT_EMARK;
  if (!toft_debug_begin_call(a, "rewind", TOFT_CALLER())) return TOFT_EBUSY;
  toft_sync_in(a);
  if ((a->state & TOFT_REFUSING) || !toft_mark_is_stale(a, cursor, epoch)) code = toft_op_rewind(head, cursor, epoch);
  if (code == TOFT_EMARK && cursor != NULL) { /* NULL: the probe of toft_is_refusing */
    toft_report_stale_mark(a);
    toft_set_limit(a);
  }
  if (code == TOFT_OK || code == TOFT_ECORRUPT) toft_records_rewound(a, epoch);
  toft_debug_end_call(a);
  return code;
}

static int toft_observed_reset(toft_arena *head, uint32_t policy, size_t keep) {
  toft_state *a = toft_state_of(head);
  if (!toft_debug_begin_call(a, "reset", TOFT_CALLER())) return TOFT_EBUSY;
  int code = toft_op_reset(head, policy, keep);
  if (code == TOFT_OK || code == TOFT_ECORRUPT) toft_restart_checks(a);
  toft_debug_end_call(a);
  return code;
}

static void toft_observed_trim(toft_arena *head, size_t keep) {
  toft_state *a = toft_state_of(head);
  if (!toft_debug_begin_call(a, "trim", TOFT_CALLER())) return;
  toft_op_trim(head, keep);
  toft_debug_end_call(a);
}

static toft_cleanup *toft_observed_cleanup(toft_arena *head, void (*fn)(void *), void *arg) {
  toft_state *a = toft_state_of(head);
  if (!toft_debug_begin_call(a, "cleanup", TOFT_CALLER())) return NULL;
  toft_cleanup *made = toft_op_cleanup(head, fn, arg);
  if (made != NULL) {
    toft_check_soft_budget(a);
    toft_set_limit(a);
  }
  toft_debug_end_call(a);
  return made;
}

static void *toft_observed_claim(toft_arena *head, toft_range *r, size_t size, size_t align) {
  toft_state *a = toft_state_of(head);
  uint64_t before;
  if (!toft_debug_begin_call(a, "claim", TOFT_CALLER())) return NULL;
  toft_sync_in(a);
  int code = toft_check_claim(a, r, size, align);
  unsigned char *p = code == TOFT_OK ? toft_claim_place(a, r, size, align, &before) : NULL;
  if (p != NULL) {
    toft_instrument_alloc(a, size, before, 0, TOFT_CALLER());
    if (size != 0) toft_checks_claim_alloc(a);
    toft_claim_range(a, r, p, size);
  }
  toft_set_limit(a);
  toft_debug_end_call(a);
  if (p == NULL) toft_report_failure(a, size, align, code == TOFT_OK ? TOFT_ENOMEM : code);
  return p;
}

static int toft_observed_give(toft_arena *head, toft_range *r) {
  toft_state *a = toft_state_of(head);
  if (!toft_debug_begin_call(a, "give", TOFT_CALLER())) return TOFT_EBUSY;
  int code = toft_op_give(head, r);
  if (code == TOFT_OK) {
    toft_accounting_unclaim(a);
    toft_checks_unclaim(a);
    toft_check_soft_budget(a);
    toft_set_limit(a);
  }
  toft_debug_end_call(a);
  return code;
}

static int toft_observed_set(toft_arena *head, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  toft_state *a = toft_state_of(head);
  int code = toft_check_setting(a, what, value, name, name_len), inside = a->checks != NULL; /* before this call */
  if (code != TOFT_OK) return code;
  if (!toft_debug_begin_call(a, "set", TOFT_CALLER())) return TOFT_EBUSY;
  code = toft_op_set(head, what, value, name, name_len);
  if (inside) toft_debug_end_call(a);
  return code;
}

static void toft_observed_release(toft_arena *head) {
  toft_state *a = toft_state_of(head);
  if ((a->state & TOFT_CACHE_OWNED) || !toft_debug_begin_call(a, "release", TOFT_CALLER())) return;
  toft_sync_in(a);
  int refused = (a->state & TOFT_REFUSING) != 0;
  if (refused) toft_report_not_released(a);
  toft_release_slow(a);
  if (refused) toft_debug_end_call(a);
}

static int toft_observed_query(const toft_arena *head, uint32_t what, uint64_t *value) {
  if (what != TOFT_SET_SAMPLE) return toft_query_plain(toft_state_of(head), what, value);
  *value = toft_sampling_period(toft_state_of(head));
  return TOFT_OK;
}

static const toft_provider_info toft_observed_info = {"toft-c", TOFT_VERSION, toft_observed_query};

static const toft_info_ops toft_observed_table = {
    {
        sizeof(toft_info_ops),
        1,
        toft_observed_alloc,
        toft_observed_resize,
        toft_observed_free,
        toft_observed_rewind,
        toft_observed_reset,
        toft_observed_trim,
        toft_observed_cleanup,
        toft_observed_claim,
        toft_observed_give,
        toft_op_contains,
        toft_op_stats,
        toft_observed_set,
        toft_observed_release,
    },
    &toft_observed_info,
    NULL,
};

static void toft_update_observed(toft_state *a) {
  int on = a->instruments != NULL || a->checks != NULL;
  if (a->state & TOFT_IS_SUBJECT) return;
  TOFT_STORE_POINTER(const toft_arena_ops, &toft_observed_ops, &toft_observed_table.ops);
  a->state = on ? a->state | TOFT_OBSERVED : a->state & ~(uint32_t)TOFT_OBSERVED;
  if (!toft_is_leased(&a->head)) a->head.ops = toft_ops_of(a);
}

#endif
