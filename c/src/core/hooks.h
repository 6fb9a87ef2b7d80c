/* The functions of debug/ that the core calls. An arena is observed once its checks or meters are on: its
 * table is the one of debug/observed.c, and TOFT_OBSERVED is set. An arena that is not observed calls the first one
 * only, when it is created or released; its operations test a flag at most.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_HOOKS_H
#define TOFT_CORE_HOOKS_H

#include "arena_state.h"

/* What the environment switches on for all arenas of the process; 0: nothing. */
enum {
  TOFT_PROCESS_CHECKS = 2,
  TOFT_PROCESS_METERS = 4,
  TOFT_PROCESS_HAS_TOOL = 16,  /* with CHECKS: because of a sanitizer or Valgrind, and not by the environment */
  TOFT_SWITCHED_BY_OPTION = 32 /* with CHECKS: for one arena, by the options of its creation */
};
static size_t toft_process_switches(void);
/* A new arena with switches on. NULL: no memory for the checks; the arena is released. */
static toft_state *toft_observe_created(toft_state *a, size_t switches);
/* The table's `set`, but for budgets. */
static int toft_observe_set(toft_state *a, uint32_t what, uint64_t value, const char *name, size_t name_len);

/* Parts of toft_sync_in and toft_set_limit. Precondition: TOFT_IS_SUBJECT; for the second also
 * TOFT_INSTRUMENTED. The second returns how many of `remaining` bytes the inline path may hand out, and sets
 * *slow_rewinds if rewinds must take the slow path. */
static void toft_observe_sync(toft_state *a);
static size_t toft_observe_limit(toft_state *a, size_t remaining, uintptr_t *slow_rewinds);

/* Precondition: TOFT_IS_CHECKED, whose allocations get records and red zones, or TOFT_IS_SUBJECT. */
static void *toft_observe_alloc(toft_state *a, size_t size, size_t align);
/* Precondition: TOFT_INSTRUMENTED. Whether the current tag's budget allows `charge` more bytes. 0: brings the bytes of
 * the tags up to date. */
static int toft_observe_charge(toft_state *a, size_t charge);
/* A request was refused. Returns 1 if the arena's callback raised the budget that was the cause, or if the cause was
 * the source and there is a callback: then the request is tried again. */
static int toft_budget_raised(toft_state *a, size_t size, size_t align);
/* Bytes outside the order of the cursor. Reserves memory to account for one more dedicated block or adopted arena (0:
 * there is none); or it got `bytes` more, which live and allocated count; or it was removed, and live does not count it
 * (NULL: all were). */
enum { TOFT_DETACHED_RESERVED, TOFT_DETACHED_MORE, TOFT_DETACHED_REMOVED };
static int toft_observe_detached(toft_state *a, const void *what, size_t bytes, int change);

/* The allocations made after `epoch` are about to be freed: ends their records. TOFT_OK or TOFT_ECORRUPT.
 * TOFT_BY_RELEASE: the arena itself is released. */
enum { TOFT_BY_REWIND, TOFT_BY_RESET, TOFT_BY_RELEASE };
static int toft_observe_free(toft_state *a, uintptr_t epoch, int by);
/* The bytes of [from, to) were freed: fills them if the arena is checked, and poisons them. */
static void toft_mark_freed(const toft_state *a, unsigned char *from, unsigned char *to);
/* The bytes of b from `kept` on go back to the source. Returns 1 if the block went to the quarantine, which returns it
 * later. The initial block with 0 bytes kept: the arena ends. */
static int toft_observe_put(toft_state *a, toft_block_header *b, size_t kept);

#endif
