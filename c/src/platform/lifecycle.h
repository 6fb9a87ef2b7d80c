/* Functions of higher layers that run when a thread ends, when the library is unloaded, and around a fork.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_LIFECYCLE_H
#define TOFT_PLATFORM_LIFECYCLE_H

#include "base.h"

/* When a thread ends that called toft_os_arm, and last of all when the library is unloaded. */
static void toft_cache_end(void); /* core/block_cache.c */

/* Parts of toft_cache_end and of toft_cache_trim. */
static void toft_pool_drop_kept(void); /* pool/pool.c */
static void toft_seats_leave(void);    /* threads/thread_state.c: gives up what the thread has in caches of leases */
static void toft_seats_end(void);      /* threads/thread_state.c: the same, and its places in frames; for good */

/* When the library is unloaded, in this order. */
static void toft_leases_unload(void);     /* threads/lease.c: the cache of leases that is the process's own */
static void toft_registry_end(void);      /* debug/live_registry.c */
static void toft_discharge(size_t bytes); /* debug/quarantine.c: releases all but `bytes` of the quarantine */
static void toft_findings_end(void);      /* debug/reports.c */

/* Registers the handlers that keep the library's locks consistent across a fork. */
static void toft_arm_fork(void); /* threads/thread_state.c */

#endif
