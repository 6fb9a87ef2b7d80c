/* Functions of higher layers that the lower ones call when a thread ends, at a fork, and when the library is
 * unloaded.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_LIFECYCLE_H
#define TOFT_PLATFORM_LIFECYCLE_H

#include "base.h"

/* Called when a thread ends that called toft_os_arm_thread_exit, and last when the library is unloaded. */
static void toft_cache_end(void); /* core/block_cache.c */

/* Steps of toft_cache_end and of toft_cache_trim. */
static void toft_pool_drop_kept(void);        /* pool/pool.c */
static void toft_thread_release_leases(void); /* threads/thread_state.c: releases the thread's idle leases */
static void toft_thread_state_release(
    void); /* threads/thread_state.c: that, and its registration with frames; the thread gets no new state */

/* Called when the library is unloaded, in this order; before toft_thread_state_release the first. */
static void toft_profile_end(void);              /* debug/process_profile.c */
static void toft_background_thread_end(void);    /* core/background.c: ends the thread and waits for its end */
static void toft_leases_unload(void);            /* threads/lease.c: the default cache of leases */
static void toft_registry_end(void);             /* debug/live_registry.c */
static void toft_quarantine_flush(size_t bytes); /* debug/quarantine.c: until at most `bytes` are held */
static void toft_findings_end(void);             /* debug/reports.c */

/* Registers handlers that take the library's locks around a fork. Idempotent. */
static void toft_arm_fork(void);             /* debug/fork.c */
static void toft_written_after_fork(void);   /* platform/written.c: in a child */
static void toft_threads_at_fork(int phase); /* threads/thread_state.c: 0 before, 1 in the parent, 2 in the child */

#endif
