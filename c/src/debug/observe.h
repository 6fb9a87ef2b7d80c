/* What brackets a call on an observed arena, and what files of debug/ use before its definition.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_OBSERVE_H
#define TOFT_DEBUG_OBSERVE_H

#include "../core/hooks.h"

static int toft_debug_begin_call_slow(toft_state *a, const char *op, uintptr_t site);

/* Brackets every call that changes the arena. 0: another thread is in it, which was reported; the call must do
 * nothing. */
TOFT_INLINE int toft_debug_begin_call(toft_state *a, const char *op, uintptr_t site) {
  if (TOFT_LIKELY((a->state & TOFT_PRISTINE) != 0 || a->checks == NULL)) return 1;
  return toft_debug_begin_call_slow(a, op, site);
}
TOFT_INLINE void toft_debug_end_call(toft_state *a);

/* observed.c: sets TOFT_OBSERVED and the arena's table after a switch changed. */
static void toft_update_observed(toft_state *a);

/* process_profile.c: another arena adopted this one, or it ends: the process's profile counts its live bytes there. */
static void toft_profile_remove(toft_state *a);

#endif
