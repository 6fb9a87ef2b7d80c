/* The calls of toft/findings.h, and what the malloc-like hooks do in a checked arena.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_DEBUG_API_C
#define TOFT_DEBUG_DEBUG_API_C

#include "../core/ops.c"
#include "debug_records.c"
#include "quarantine.c"
#include "reports.c"

/* Will the next call look where it comes from? */
static int toft_asks_place(const toft_arena *head) {
  const toft_state *a = toft_state_of(head);
  if (!toft_is_own(head)) return head->ops == &toft_dead_ops;
  return !(a->state & TOFT_FRESH) && a->checks != NULL;
}

void toft_at_place(toft_arena *a, const char *place) {
  if (toft_asks_place(a)) toft_said = toft_site(place);
}

/* For calls that the library makes for its callers: it is those who are named. */
static void toft_from(const toft_arena *a, uintptr_t site) {
  if ((a->epoch & 1) && toft_said == 0 && toft_asks_place(a)) toft_said = site;
}

int toft_pin(toft_arena *head, int on) {
  if (!toft_is_own(head)) return TOFT_ENOSYS;
  (void)toft_pin_to(toft_state_of(head), on ? toft_thread() : 0);
  return TOFT_OK;
}

int toft_findings(toft_arena *head, toft_finding_fn *fn, void *arg) {
  if (!toft_is_own(head)) return TOFT_ENOSYS;
  toft_state *a = toft_state_of(head);
  if ((a->state & TOFT_FRESH) || a->checks == NULL) return 0;
  toft_checks *c = a->checks;
  if (a->state & TOFT_BUSY) return TOFT_EBUSY;
  if (!toft_step_in(a, "findings", TOFT_CALLER())) return TOFT_EBUSY;
  for (size_t i = 0; i < c->count; i++) (void)toft_check_record(a, i);
  (void)toft_look_at_shadows(a);
  toft_step_out(a);
  toft_lock_take(&toft_findings_lock);
  toft_fact *facts = c->facts;
  size_t count = c->facts_count, all = count + c->facts_lost;
  c->facts = NULL;
  c->facts_count = c->facts_lost = 0;
  TOFT_UNLOCK(&toft_findings_lock);
  for (size_t i = 0; i < count; i++) toft_say(&facts[i], fn, arg);
  free(facts);
  return (int)toft_min(all, INT_MAX);
}

/* ---- malloc-like hooks ---- */

/* NULL: the arena is not checked, or another provider's. */
static toft_checks *toft_hook_checks(const toft_arena *arena) {
  const toft_state *a = toft_state_of(arena);
  if (TOFT_LIKELY(!(arena->epoch & 1)) || !toft_is_own(arena) || !(a->state & TOFT_IS_CHECKED)) return NULL;
  return a->checks;
}

/* An object of `size` bytes was placed behind the header at base. Returns it. */
static void *toft_hook_made(toft_arena *arena, unsigned char *base, size_t size) {
  toft_record *r = toft_hook_checks(arena) != NULL ? toft_find_record(toft_state_of(arena), base) : NULL;
  if (TOFT_UNLIKELY(r != NULL)) {
    r->header = TOFT_HOOK_HEADER;
    toft_open(base, TOFT_HOOK_HEADER);
    toft_fill_header(base, size);
    toft_close(base, TOFT_HOOK_HEADER);
  } else {
    memcpy(base, &size, sizeof size);
  }
  return base + TOFT_HOOK_HEADER;
}

/* p is no object of the checked arena. */
static TOFT_COLD void toft_hook_foreign(toft_state *a, const void *p, const char *by) {
  int closed = 1;
  if (!toft_step_in(a, by, 0)) return;
  toft_enter(a);
  closed = (a->state & TOFT_CLOSED) != 0;
  if (!closed) toft_tell_misuse(a, TOFT_FOUND_FOREIGN, p, 0, NULL);
  toft_aim(a);
  toft_step_out(a);
  toft_fail(a, 0, 0, closed ? TOFT_EBUSY : TOFT_EARG);
}

/* The size of the object at p, with its header; 0: it is none, which was reported. */
static size_t toft_hook_size(toft_arena *arena, void *p, const char *by) {
  unsigned char *base = (unsigned char *)p - TOFT_HOOK_HEADER;
  toft_state *a = toft_state_of(arena);
  size_t size;
  if (TOFT_UNLIKELY(toft_hook_checks(arena) != NULL) && !toft_is_older(a, base)) {
    const toft_record *r = toft_find_record(a, base);
    if (r != NULL) return r->size;
    toft_hook_foreign(a, p, by);
    return 0;
  }
  memcpy(&size, base, sizeof size);
  return size + TOFT_HOOK_HEADER;
}

#endif
