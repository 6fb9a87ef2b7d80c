/* The functions of debug/ that the core calls: checks, accounting and sampling. In an arena on which nothing of that is
 * switched on each of them is a test of a flag or of a pointer at the most.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_INSTRUMENT_H
#define TOFT_CORE_INSTRUMENT_H

#include "arena_state.h"

/* ---- accounting.c and sampling.c: tags, budgets, samples. The arena has TOFT_WATCHED where it says so ---- */

/* TOFT_WATCHED. How far the inline path may go, of `room` bytes; sets *watched if rewinds must call ops too. */
static size_t toft_aim_watch(toft_state *a, size_t room, uintptr_t *watched);
/* TOFT_WATCHED. Does the budget of the present tag allow `charge` bytes more? */
static int toft_tag_affords(toft_state *a, size_t charge);
/* A request was refused: was it for the budget, and did the arena's callback raise that? */
static int toft_budget_raised(toft_state *a, size_t size, size_t align);
/* Calls the soft budget's callback if live has passed it. */
static void toft_tell_over(toft_state *a);
/* Brings the bytes of each tag up to the cursor. */
static void toft_settle_tags(toft_state *a);

/* A dedicated block or an adopted arena, whose bytes do not lie in line: is there memory to note one more; its bytes
 * were added to live and allocated; they were taken from live. */
static int toft_apart_room(toft_state *a);
static void toft_apart_add(toft_state *a, const void *what, size_t bytes);
static void toft_apart_gone(toft_state *a, const void *what);

/* A claimed range was given back; a reset has taken everything from live. */
static void toft_range_given(toft_state *a);
static void toft_round_over(toft_state *a);

/* What ops->set does. TOFT_OK, or an error with nothing changed. */
static int toft_is_name(const char *name, size_t length);
static int toft_set_tag_here(toft_state *a, uint64_t number, const char *name, size_t length);
static int toft_set_period(toft_state *a, uint64_t period);

static void toft_end_watch(toft_state *a);

static void toft_note_watched(toft_state *a, size_t size, uint64_t before, uintptr_t site, uintptr_t caller);

/* Part of each op that allocates: `before` is what `allocated` was, `caller` where the op returns to. */
static void toft_note(toft_state *a, size_t size, uint64_t before, uintptr_t site, uintptr_t caller) {
  if (TOFT_UNLIKELY(a->state & TOFT_WATCHED)) toft_note_watched(a, size, before, site, caller);
}

/* ---- debug_records.c, debug_ops.c, quarantine.c: checked arenas ---- */

static int toft_process_checks(void); /* reports.c: is every arena of the process checked? */

static int toft_step_in_checked(toft_state *a, const char *by, uintptr_t site);

/* Every op that changes something begins with toft_step_in and ends with toft_step_out. 0: this thread must not. */
TOFT_INLINE int toft_step_in(toft_state *a, const char *by, uintptr_t site) {
  if (TOFT_LIKELY((a->state & TOFT_FRESH) != 0 || a->checks == NULL)) return 1;
  return toft_step_in_checked(a, by, site);
}
TOFT_INLINE void toft_step_out(toft_state *a);

/* TOFT_IS_CHECKED: what an op does in such an arena. */
static void *toft_place_checked(toft_state *a, size_t size, size_t align);
static void *toft_resize_checked(toft_state *a, unsigned char *p, size_t old_size, size_t new_size, size_t align,
                                 uint32_t flags, int *code);
static int toft_free_checked(toft_state *a, unsigned char *p, size_t size);

/* Marks: is this one stale, though its place may be good; a stale one was used. */
static int toft_mark_is_stale(const toft_state *a, const unsigned char *cursor, uintptr_t epoch);
static void toft_note_stale_mark(toft_state *a);

/* Gives back the records of allocations made after `epoch`. TOFT_OK or TOFT_ECORRUPT. */
static int toft_check_records(toft_state *a, uintptr_t epoch);
/* The same as part of a rewind, whose marks from in between become stale; and the rewind's end. */
static int toft_rewind_records(toft_state *a, uintptr_t epoch);
static void toft_records_rewound(toft_state *a, uintptr_t epoch);
/* A trim took the empty arena's block. */
static void toft_records_trimmed(toft_state *a);
/* Looks for late writes into all that was given back. TOFT_OK or TOFT_ECORRUPT. */
static int toft_look_at_shadows(toft_state *a);
/* What lies in [from, to) was given back. */
static void toft_poison(const toft_state *a, unsigned char *from, unsigned char *to);
/* The arena is empty: the checks begin anew. */
static void toft_check_from_here(toft_state *a);

/* Checks begin, and end. */
static int toft_begin_checks(toft_state *a);
static int toft_end_checks(toft_state *a);
static void toft_limit_to_buffer(toft_state *a);
static void toft_forget_at_exit(toft_state *a);
static void toft_tell_not_released(toft_state *a);

/* The block leaves the arena: 1 if it waits in quarantine, 0 if it goes to its source. a->checks is not NULL. */
static int toft_part_with(toft_state *a, toft_blk *b);
static int toft_part_with_home(toft_state *a, size_t size);
/* Home is about to end at `end`. */
static void toft_cut_checks(toft_state *a, unsigned char *end);

/* For calls that the library makes for its callers: findings name `site`, where the caller is. */
static void toft_from(const toft_arena *a, uintptr_t site);

/* The malloc-like hooks. Writes the header of an object of `size` bytes at base, and returns the object behind it. */
static void *toft_hook_made(toft_arena *arena, unsigned char *base, size_t size);
/* The size of the object at p with its header; 0: a checked arena has none there, and reported that. */
static size_t toft_hook_size(toft_arena *arena, void *p, const char *by);

#endif
