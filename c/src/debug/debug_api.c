/* The calls of toft/findings.h, and what the malloc-like hooks do in a checked arena.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_DEBUG_API_C
#define TOFT_DEBUG_DEBUG_API_C

#include "../core/ops.c"
#include "accounting.c"
#include "debug_records.c"
#include "quarantine.c"
#include "reports.c"

/* Whether the next call uses toft_call_site_hint. */
static int toft_uses_site_hint(const toft_arena *head) {
  const toft_state *a = toft_observed_state(head);
  if (a == NULL) return head->ops == &toft_released_ops;
  if (a->state & TOFT_PRISTINE) return 0;
  return a->checks != NULL || toft_is_profiled(a);
}

void toft_at_place(toft_arena *a, const char *place) {
  if (toft_uses_site_hint(a)) toft_call_site_hint = toft_site(place);
}

/* Sets the site of a call that the library makes on behalf of its caller. */
static void toft_attribute_call(const toft_arena *a, uintptr_t site) {
  if ((a->epoch & 1) && toft_call_site_hint == 0 && toft_uses_site_hint(a)) toft_call_site_hint = site;
}

int toft_pin(toft_arena *head, int on) {
  toft_state *a = toft_observed_state(head);
  if (a == NULL) return TOFT_ENOSYS;
  (void)toft_pin_to(a, on ? toft_thread_id() : 0);
  return TOFT_OK;
}

int toft_findings(toft_arena *head, toft_finding_fn *fn, void *arg) {
  toft_state *a = toft_observed_state(head);
  if (a == NULL) return TOFT_ENOSYS;
  if ((a->state & TOFT_PRISTINE) || a->checks == NULL) return 0;
  toft_checks *c = a->checks;
  if (a->state & TOFT_BUSY) return TOFT_EBUSY;
  if (!toft_debug_begin_call(a, "findings", TOFT_CALLER())) return TOFT_EBUSY;
  for (size_t i = 0; i < c->count; i++) (void)toft_check_record(a, i);
  (void)toft_verify_freed(a);
  toft_debug_end_call(a);
  toft_lock_take(&toft_findings_lock);
  toft_report *reports = c->reports;
  size_t count = c->reports_count, all = count + c->reports_dropped;
  c->reports = NULL;
  c->reports_count = c->reports_dropped = 0;
  TOFT_UNLOCK(&toft_findings_lock);
  for (size_t i = 0; i < count; i++) toft_deliver_report(&reports[i], fn, arg);
  free(reports);
  return (int)toft_min(all, INT_MAX);
}

/* ---- malloc-like hooks ---- */

/* NULL: the arena is not checked, or another provider's. */
static toft_checks *toft_hook_checks(const toft_arena *arena) {
  if (TOFT_LIKELY(!(arena->epoch & 1))) return NULL;
  const toft_state *a = toft_observed_state(arena);
  return a != NULL && (a->state & TOFT_IS_CHECKED) ? a->checks : NULL;
}

/* Writes the header of an object of `size` bytes at base and returns the object. */
static void *toft_hook_store_size(toft_arena *arena, unsigned char *base, size_t size) {
  toft_record *r = toft_hook_checks(arena) != NULL ? toft_find_record(toft_observed_state(arena), base) : NULL;
  if (TOFT_UNLIKELY(r != NULL)) {
    r->header = TOFT_HOOK_HEADER;
    toft_unpoison(base, TOFT_HOOK_HEADER);
    toft_fill_header(base, size);
    toft_poison(base, TOFT_HOOK_HEADER);
  } else {
    memcpy(base, &size, sizeof size);
  }
  return base + TOFT_HOOK_HEADER;
}

/* Reports that p is not an object of the checked arena. */
static TOFT_COLD void toft_hook_report_foreign(toft_state *a, const void *p, const char *op) {
  int closed = 1;
  if (!toft_debug_begin_call(a, op, 0)) return;
  toft_sync_in(a);
  closed = (a->state & TOFT_REFUSING) != 0;
  if (!closed) toft_report_misuse(a, TOFT_FOUND_FOREIGN, p, 0, NULL);
  toft_set_limit(a);
  toft_debug_end_call(a);
  toft_report_failure(a, 0, 0, closed ? TOFT_EBUSY : TOFT_EARG);
}

/* The size of the object at p including its header; 0: there is none, which was reported. */
static size_t toft_hook_load_size(toft_arena *arena, void *p, const char *op) {
  unsigned char *base = (unsigned char *)p - TOFT_HOOK_HEADER;
  toft_state *a = toft_observed_state(arena);
  size_t size;
  if (TOFT_UNLIKELY(toft_hook_checks(arena) != NULL) && !toft_predates_checks(a, base)) {
    const toft_record *r = toft_find_record(a, base);
    if (r != NULL) return r->size;
    toft_hook_report_foreign(a, p, op);
    return 0;
  }
  if (a != NULL && (a->state & TOFT_OBSERVED)) toft_unpoison(base, TOFT_HOOK_HEADER); /* the checks may have ended */
  memcpy(&size, base, sizeof size);
  return size + TOFT_HOOK_HEADER;
}

#endif
