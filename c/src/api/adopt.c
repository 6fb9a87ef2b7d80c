/* Arenas that adopt others, and the walk over cleanups for languages whose cleanups may throw.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_API_ADOPT_C
#define TOFT_API_ADOPT_C

#include "../core/blocks.c"
#include "../core/create_release.c"
#include "../core/ops.c"
#include "../debug/accounting.c"
#include "../debug/observe.h"

static void toft_release_foreign(void *donor) { toft_release((toft_arena *)donor); }

/* Whether a may adopt a donor with `live` bytes: TOFT_OK, TOFT_EBUSY or TOFT_ENOMEM. */
static int toft_may_adopt(toft_state *a, const toft_state *donor, uint64_t live) {
  if ((donor->state & (TOFT_REFUSING | TOFT_CACHE_OWNED)) || (a->state & TOFT_REFUSING)) return TOFT_EBUSY;
  if (live > TOFT_MAX_REQUEST || !toft_fits_budget_of_arena(a, live)) return TOFT_ENOMEM;
  return toft_count_detached(a, NULL, 0, TOFT_DETACHED_RESERVED) ? TOFT_OK : TOFT_ENOMEM;
}

static int toft_adopt_own(toft_state *a, toft_state *donor) {
  toft_sync_in(donor);
  int code = toft_may_adopt(a, donor, donor->live);
  if (code != TOFT_OK) {
    toft_set_limit(donor);
    return code;
  }
  donor->state |= TOFT_BUSY; /* further calls on the donor are refused */
  toft_portion_return(donor);
  toft_set_limit(donor);
  if (donor->state & TOFT_INSTRUMENTED) toft_profile_remove(donor);
  toft_link_cleanup(a, &donor->adopted, toft_release_adopted, donor);
  a->live += donor->live;
  a->allocated += donor->live;
  a->adopted_live += donor->live;
  (void)toft_count_detached(a, donor, (size_t)donor->live, TOFT_DETACHED_MORE);
  toft_check_soft_budget(a);
  return TOFT_OK;
}

/* One arena or both have another provider: registers the donor's release as a cleanup. */
static int toft_adopt_foreign(toft_arena *head, toft_arena *donor) {
  if (head->ops->version != 1 || donor->ops->version != 1) return TOFT_ENOSYS;
  if (toft_is_refusing(head) || toft_is_refusing(donor))
    return TOFT_EBUSY; /* a claimed or busy donor would ignore its release */
  toft_cleanup *node = toft_cleanup_add(head, NULL, donor);
  if (node == NULL) return TOFT_ENOMEM;
  node->fn = toft_release_foreign;
  return TOFT_OK;
}

static toft_source *toft_region_of_head(toft_arena *head) {
  return toft_is_own(head) ? toft_region_of(toft_state_of(head)) : NULL;
}

/* A restore would part an arena in a region from one that lies elsewhere. */
int toft_adopt(toft_arena *head, toft_arena *donor) {
  if (head == donor || donor == NULL || toft_region_of_head(head) != toft_region_of_head(donor)) return TOFT_EARG;
  toft_state *a = toft_state_of(head), *d = toft_own_state(donor);
  if (!toft_is_own(head) || d == NULL) return toft_adopt_foreign(head, donor);
  uintptr_t caller = TOFT_CALLER();
  if (!toft_debug_begin_call(a, "adopt", caller)) return TOFT_EBUSY;
  toft_sync_in(a);
  int code = toft_is_own(donor) ? TOFT_OK : toft_may_adopt(a, d, toft_get_stats(donor).live);
  if (code == TOFT_OK && !toft_end_instruments(d)) code = TOFT_EBUSY;
  if (code == TOFT_OK && !toft_debug_begin_call(d, "adopt", caller)) code = TOFT_EBUSY;
  if (code == TOFT_OK) {
    code = toft_adopt_own(a, d);
    toft_debug_end_call(d);
  }
  toft_set_limit(a);
  toft_debug_end_call(a);
  return code;
}

#ifdef TOFT_RUNTIME
void toft_next_cleanup(toft_arena *head, unsigned char *cursor, uintptr_t epoch, int again, void (*fn)(void *),
                       void **arg) {
  toft_state *a = toft_state_of(head);
  *arg = NULL;
  if (!toft_is_own(head) || !toft_debug_begin_call(a, "cleanup", TOFT_CALLER())) return;
  toft_sync_in(a);
  if (again) a->state &= ~(uint32_t)TOFT_BUSY;
  const unsigned char *marked = cursor;
  int valid = cursor == NULL || (toft_mark_block(a, &cursor, epoch) != NULL && !toft_mark_is_stale(a, marked, epoch));
  if (!(a->state & TOFT_REFUSING) && valid) *arg = toft_run_cleanups_until(a, epoch, fn);
  toft_set_limit(a);
  toft_debug_end_call(a);
}
#endif

#endif
