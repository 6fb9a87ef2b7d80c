/* Hardened arenas. Their blocks are those of core/guarded.c, the core fills freed memory, and this file has the canary:
 * a keyed sum of the pointers in the arena's state, whose key is a secret of the process. Each op compares it before it
 * follows one of them, and stores it anew when it is done. The cursor, which clients write, must lie in its block.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_HARDENED_C
#define TOFT_DEBUG_HARDENED_C

#include "../core/guarded.c"
#include "../core/ops.c"
#include "debug_ops.c"
#include "reports.c"

static size_t toft_hardened_secret; /* atomic; 0: not made yet */

/* Never 0. Not cryptographic: many known sums would reveal the secret. */
static uintptr_t toft_canary_of(const toft_state *a) {
  const void *const words[] = {
      a,         a->end,    a->source,   a->initial_start, a->initial_end,    a->current,     a->newest,
      a->spares, a->checks, a->cleanups, a->instruments,   a->initial.source, a->failure_arg, a->side_block,
  };
  uint64_t sum = TOFT_LOAD(&toft_hardened_secret) ^ (uint64_t)(uintptr_t)a->failure;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    sum = (sum ^ (uint64_t)(uintptr_t)words[i]) * 0x9e3779b97f4a7c15u;
    sum ^= sum >> 32;
  }
  return (uintptr_t)sum | 1;
}

static void toft_set_canary(toft_state *a) {
  if (a->canary != 0) a->canary = toft_canary_of(a);
}

static int toft_canary_is_right(toft_state *a) {
  return (a->state & (TOFT_IS_HARDENED | TOFT_PRISTINE)) == TOFT_IS_HARDENED && a->canary == toft_canary_of(a) &&
         a->head.cursor >= toft_block_start(a, a->current) && a->head.cursor <= a->head.limit &&
         a->head.limit <= a->end;
}

/* Nothing in the overwritten state can be trusted, so its blocks stay where they are, and its cleanups do not run. */
static TOFT_COLD void toft_refuse_overwritten(toft_state *a, const char *op, uintptr_t site) {
  toft_report f;
  memset((void *)&a->live, 0, sizeof *a - offsetof(toft_state, live));
  a->state = TOFT_OBSERVED | TOFT_IS_HARDENED | TOFT_BUSY | TOFT_IN_BUFFER; /* no source gets the initial block */
  a->source = NULL;
  a->current = a->newest = &a->initial;
  a->initial_start = a->initial_end = a->end = a->synced = a->head.limit = a->head.cursor;
  a->head.epoch |= 1;
  memset(&f, 0, sizeof f);
  f.kind = TOFT_FOUND_OVERWRITTEN;
  f.arena = &a->head;
  f.p = (const unsigned char *)a;
  f.detected = toft_call_begun(op, site);
  toft_publish_report(&f);
}

static int toft_check_canary(toft_state *a, const char *op, uintptr_t site) {
  if (TOFT_LIKELY(toft_canary_is_right(a))) return 1;
  if (a->canary != 0 || (a->state & TOFT_BUSY) == 0) toft_refuse_overwritten(a, op, site);
  return 0;
}

/* Precondition: toft_sync_in was called; toft_set_limit must follow. TOFT_OK or an error. */
static TOFT_RARE int toft_begin_hardening(toft_state *a) {
  size_t secret = TOFT_LOAD(&toft_hardened_secret), none = 0;
  if (secret == 0) {
    if (!toft_os_random(&secret, sizeof secret)) return TOFT_ENOSYS;
    (void)TOFT_CAS_ACQUIRE(&toft_hardened_secret, &none, secret | 1);
  }
  if (a->checks == NULL && !toft_make_checks(a)) return TOFT_ENOMEM;
  a->state |= TOFT_IS_HARDENED;
  a->canary = 1;
  return TOFT_OK;
}

#endif
