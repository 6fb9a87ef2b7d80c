/* The library's locks at a fork: taken before it, free in both processes after it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_FORK_C
#define TOFT_DEBUG_FORK_C

#include "../core/idle_account.c"
#include "../core/portion.c"
#include "../core/units.c"
#include "../platform/atomic.c"
#include "../platform/lifecycle.h"
#include "../platform/os.c"
#include "live_registry.c"
#include "omitted.c"
#include "process_profile.c"
#include "quarantine.c"
#include "reports.c"
#include "stacks.c"

#ifdef TOFT_NO_OS
static void toft_arm_fork(void) {}
#else
static TOFT_RARE void toft_before_fork(void) {
  toft_threads_at_fork(0);
  toft_profile_at_fork(0);
  toft_lock_take(&toft_registry_lock);
  toft_lock_take(&toft_quarantine_lock);
  toft_lock_take(&toft_findings_lock);
  toft_lock_take(&toft_call_stacks_lock);
  toft_purge_at_fork(0);
  toft_chunks_at_fork(0);
#ifndef TOFT_OMIT_METERS
  toft_lock_take(&toft_budget_list_lock);
#endif
}
static void toft_after_fork(int phase) {
#ifndef TOFT_OMIT_METERS
  TOFT_UNLOCK(&toft_budget_list_lock);
#endif
  toft_chunks_at_fork(phase);
  toft_purge_at_fork(phase);
  TOFT_UNLOCK(&toft_call_stacks_lock);
  TOFT_UNLOCK(&toft_findings_lock);
  TOFT_UNLOCK(&toft_quarantine_lock);
  TOFT_UNLOCK(&toft_registry_lock);
  toft_profile_at_fork(phase);
  toft_threads_at_fork(phase);
}
static TOFT_RARE void toft_after_fork_in_parent(void) { toft_after_fork(1); }
static TOFT_RARE void toft_after_fork_in_child(void) {
#ifndef TOFT_OMIT_RECYCLER
  toft_written_after_fork();
#endif
  toft_after_fork(2);
}

/* A second thread does not wait for the registration by the first: a fork in between runs no handler. */
static void toft_arm_fork(void) {
  static size_t armed; /* atomic */
  if (TOFT_LOAD(&armed) || TOFT_SWAP(&armed, 1)) return;
  toft_os_at_fork(toft_before_fork, toft_after_fork_in_parent, toft_after_fork_in_child);
}
#endif

#endif
