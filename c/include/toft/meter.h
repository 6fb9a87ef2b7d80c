/* Meters: which parts of a program use an arena's memory. A meter is switched on per arena at run time; without one
 * there is no cost. docs/meters.md is the guide.
 *
 *     toft_set_metered(a, 1);
 *     {
 *       TOFT_TAG(a, "level");
 *       load(a);                                       counts for "level"
 *       TOFT_TAG(a, "sound");
 *       decode(a);                                     counts for "level/sound"
 *     }
 *     toft_snapshot_text(a, NULL, text, sizeof text);    the state, as JSON
 *
 * METHODS. Bytes by tag and phase are exact: they are differences of the cursor, taken where a tag begins and ends and
 * at slow calls, not at each allocation. Budgets lower the arena's limit: they are exact, and free until they are
 * reached. Allocation counts by call stack are estimates: sampling records the stack of one call in so many bytes. All
 * three include allocations that other languages make inline.
 *
 * COST. A metered or sampled arena keeps the inline path of allocation; rewind, resize and free become calls. The
 * records are malloc'ed and freed with the arena.
 *
 * UNITS. Bytes as in toft_stats: padding and rounding count for the tag of the allocation. A claimed range counts at
 * toft_unclaim, for the tag it was claimed under.
 *
 * ERRORS change nothing. TOFT_ENOMEM: no memory for the records; TOFT_EBUSY: a range is claimed or a cleanup or
 * callback runs; TOFT_EARG; TOFT_ENOSYS: an arena of another provider, which has settings of its own (toft_set_sampling
 * and toft_set_tag work if the provider supports them), and no instrument before it (toft/instrument.h). A large
 * allocation in a metered arena also fails if there is no memory for its record.
 *
 * ENVIRONMENT. Variables switch meters on for every arena of the process. They are read once, when the first arena or
 * recycler is created; a process with more rights than its user (set-uid, set-gid, file capabilities) ignores them. A
 * call on an arena overrides them for this arena. They need the library's checks too (not TOFT_OMIT_CHECKS).
 *
 *   TOFT_METERED         empty, 0, off, no, false (in any case): off. Anything else: as toft_set_metered(a, 1).
 *   TOFT_SAMPLING        bytes, as for toft_set_sampling: a number that K, M or G may follow. 0, not a number: off.
 *   TOFT_BUDGET          bytes, as for toft_set_soft_budget: such a number. More live bytes are a finding
 *                        (toft/findings.h), once a round. 0, not a number: off.
 *   TOFT_PROFILE         a file: see toft_write_profile.
 *   TOFT_PROFILE_SIGNAL  USR1, USR2 or a number: the signal after which the process writes the profile.
 *
 * CALLBACKS run inside a call on the arena, on its thread. They may read it (toft_get_stats, toft_contains, the
 * iterations and snapshots below) and use other arenas. On the arena itself allocations return NULL and all other calls
 * TOFT_EBUSY. They must return: no longjmp, no exception.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_METER_H
#define TOFT_METER_H

#include "toft/inline.h"
#include "toft/symbol.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tags ---- */

/* Switches the accounting by tags and phases on or off. Bytes that are live at that moment count for no tag. Switching
 * it off ends all tags; phases that ended remain in reports. */
TOFT_API int toft_set_metered(toft_arena *a, int on);

/* Later allocations count for this tag, until toft_tag_pop restores the previous one. Within another tag the name is a
 * relative path: "sound" within "level" is "level/sound". A name that begins with "/" is an absolute path: "/ai" is
 * always "ai". Bytes stay with their tag until they are freed. In an arena that is not instrumented this costs one
 * branch and does nothing, so the calls may stay in release code. TOFT_EARG: NULL, or not UTF-8. Each push needs its
 * toft_tag_pop even if it fails; that pop then does nothing. */
TOFT_INLINE int toft_tag_push(toft_arena *a, const char *name);
/* A pop without a push (because the arena was metered in between) does nothing. */
TOFT_INLINE void toft_tag_pop(toft_arena *a);

/* A declaration like TOFT_SCOPE: the rest of the enclosing block runs under the tag. gcc and clang only. */
#ifdef TOFT_AT_EXIT
#define TOFT_TAG(a, name) TOFT_TAG_NAMED(a, name, TOFT_PASTE(toft_tag_, __COUNTER__))
#define TOFT_TAG_NAMED(a, name, t) toft_tag t TOFT_AT_EXIT(toft_tag_end) = toft_tag_begin(a, name)
#endif

/* Sets the present tag through the ABI's table, for arenas of any provider: by a number that the caller chooses and a
 * path, which may be NULL after the first time; number 0 without a path is no tag. Meters the arena. TOFT_ENOSYS if its
 * provider has no tags. */
TOFT_INLINE int toft_set_tag(toft_arena *a, uint64_t number, const char *path);

/* ---- phases ---- */

/* A phase of the program: its number of entries, the bytes allocated in it, and the growth of live bytes. Phases may
 * overlap and nest; an outer phase includes the inner one. `name` must be valid until the end. Does nothing in an arena
 * that is not metered. */
typedef struct toft_phase {
  const char *name; /* NULL: not begun, or ended */
  uint64_t allocated, live;
} toft_phase;
TOFT_INLINE toft_phase toft_phase_begin(toft_arena *a, const char *name);
/* A second end of the same phase does nothing. */
TOFT_INLINE void toft_phase_end(toft_arena *a, toft_phase *p);

/* A declaration like TOFT_SCOPE: the rest of the enclosing block is the phase. gcc and clang only. */
#ifdef TOFT_AT_EXIT
#define TOFT_PHASE(a, name) TOFT_PHASE_NAMED(a, name, TOFT_PASTE(toft_phase_, __COUNTER__))
#define TOFT_PHASE_NAMED(a, name, p) toft_phase_scope p TOFT_AT_EXIT(toft_phase_leave) = toft_phase_enter(a, name)
#endif

/* ---- budgets; the hard budget itself is toft_set_budget ---- */

/* Called when live bytes exceed the soft budget. */
typedef void toft_soft_budget_fn(void *arg, toft_arena *a, uint64_t live, uint64_t budget);
/* Calls fn once when live bytes exceed `bytes`, after the call that caused it: an allocation, an adoption, the end of a
 * claim. No call fails. fn can be called once more after each reset and each toft_set_soft_budget, but not when live
 * bytes fall by other means. UINT64_MAX removes the soft budget. fn may be NULL. */
TOFT_API int toft_set_soft_budget(toft_arena *a, uint64_t bytes, toft_soft_budget_fn *fn, void *arg);

/* Called before an allocation fails because of the budget, or because the source refused a block; in the second case
 * live + size is within the budget, which is UINT64_MAX if there is none. `size` is the requested size. Returns the
 * budget from then on if that is above the present one; other values leave it. The allocation is tried once more if the
 * budget was raised or the source was the cause: the callback may have freed memory of other arenas. It must not use
 * this arena. */
typedef uint64_t toft_refusal_fn(void *arg, toft_arena *a, uint64_t live, uint64_t budget, size_t size);
/* Sets that callback; NULL removes it. */
TOFT_API int toft_on_refusal(toft_arena *a, toft_refusal_fn *fn, void *arg);

/* Limits the live bytes of one tag while the arena is metered, exactly. Children are separate: "level/sound" is a tag
 * of its own. UINT64_MAX: no limit. The path "" means bytes under no tag. toft_on_refusal does not apply. */
TOFT_API int toft_set_tag_budget(toft_arena *a, const char *path, uint64_t bytes);

/* ---- sampling ---- */

/* Samples about one allocation in `bytes` bytes: records its call stack and tag, and estimates the number of
 * allocations. The distances between samples are random and memoryless, so no pattern of a program is missed: an
 * allocation of s bytes is sampled with probability s / `bytes`, and counts for those that were not. 0 stops sampling
 * and keeps the records. Works for arenas of any provider. */
TOFT_INLINE int toft_set_sampling(toft_arena *a, uint64_t bytes);
/* Makes the later distances reproducible, for tests. */
TOFT_API int toft_set_sampling_seed(toft_arena *a, uint64_t seed);

/* Writes up to `max` return addresses to `stack`, innermost first, as backtrace(3) does, and returns their number. It
 * may include its own frames and the library's: those up to the call on the arena are dropped. The rules for callbacks
 * apply. */
typedef size_t toft_unwind_fn(void *arg, void **stack, size_t max);
/* Sets the unwinder; NULL restores the built-in one, which is backtrace(3) of glibc, macOS and the BSDs,
 * CaptureStackBackTrace on Windows, and the compiler's _Unwind_Backtrace elsewhere. Without unwind tables, or if the
 * library was built with TOFT_NO_UNWIND, stacks are truncated, possibly to the function that allocated. */
TOFT_API int toft_set_unwinder(toft_arena *a, toft_unwind_fn *fn, void *arg);

/* ---- reports ---- */

typedef struct toft_tag_report {
  const char *name;                 /* its path; "": under no tag, or a tag that only has a number */
  const uint64_t *number;           /* from toft_set_tag; NULL: none */
  uint64_t live, allocated, budget; /* bytes; budget UINT64_MAX: none */
} toft_tag_report;

typedef struct toft_phase_report {
  const char *name;
  uint64_t entries;   /* number of completed entries */
  uint64_t allocated; /* bytes */
  int64_t kept;       /* growth of live bytes */
} toft_phase_report;

/* Allocations of one call stack and site under one tag, estimated. A resize that moved an allocation counts as one. */
typedef struct toft_site_report {
  uintptr_t site;           /* the `site` argument of the ABI's alloc; 0: none */
  const char *tag;          /* its path */
  uint64_t count;           /* allocations */
  uint64_t bytes;           /* requested bytes, without padding */
  const void *const *stack; /* return addresses, innermost first */
  size_t depth;
} toft_site_report;

/* Each calls fn, a callback as above, for each element until fn returns non-zero, and returns the last result of fn, 0
 * if there was no element, or TOFT_ENOSYS for an arena of another provider. Strings and stacks are valid until fn
 * returns. The first tag stands for bytes under no tag; there are tags only while the arena is metered. */
TOFT_API int toft_tags(toft_arena *a, int (*fn)(void *arg, const toft_tag_report *tag), void *arg);
TOFT_API int toft_phases(toft_arena *a, int (*fn)(void *arg, const toft_phase_report *phase), void *arg);
TOFT_API int toft_sites(toft_arena *a, int (*fn)(void *arg, const toft_site_report *site), void *arg);

/* Sets the allocated bytes of tags, phases and sites to 0, for a report of each frame. Live bytes and budgets are
 * unchanged. TOFT_ENOSYS for an arena of another provider. */
TOFT_API int toft_clear_report(toft_arena *a);

/* ---- the snapshot ---- */

enum {
  TOFT_SNAPSHOT_CLEAR = 1, /* calls toft_clear_report afterwards, unless write stopped the snapshot */
  /* Also names static functions, with files and lines, from symbol tables and debug information, by libdw of elfutils
   * if this machine has it (libdw.so.1 is loaded at the first use and reads local files only). For inlined functions of
   * Toft's headers or the language's library, file and line are those of the call in the program's own code. Takes
   * milliseconds and more. */
  TOFT_SNAPSHOT_DWARF = 2,
  TOFT_SNAPSHOT_ADDRESSES = 4 /* no names */
};
typedef struct toft_snapshot_options {
  size_t size; /* sizeof(toft_snapshot_options): TOFT_SNAPSHOT_OPTIONS sets it */
  uint32_t flags;
  toft_symbolize_fn *symbolizer; /* NULL: toft_symbolize */
  void *symbolizer_arg;
} toft_snapshot_options;
/* clang-format off */
#define TOFT_SNAPSHOT_OPTIONS { sizeof(toft_snapshot_options), 0, NULL, NULL }
/* clang-format on */

/* Receives a piece of the text, without a NUL; returns 0, or a code that stops the snapshot. A callback as above. */
typedef int toft_write_fn(void *arg, const char *bytes, size_t size);
/* Writes the arena's state as one JSON object, in UTF-8 without line ends; docs/snapshot.md and
 * abi/snapshot.schema.json define it, and Rust's reports follow them too. Allocates nothing. `options` == NULL: the
 * defaults. Returns TOFT_OK, TOFT_EARG for unknown flags, or what write returned. For an arena of another provider only
 * the statistics are written. */
TOFT_API int toft_snapshot(toft_arena *a, const toft_snapshot_options *options, toft_write_fn *write, void *arg);
/* The same into a buffer, as snprintf does: at most size - 1 bytes and a NUL, if size is not 0. Returns the length of
 * the whole text, or 0 for unknown flags. With TOFT_SNAPSHOT_CLEAR it clears only if the whole text fits. */
TOFT_API size_t toft_snapshot_text(toft_arena *a, const toft_snapshot_options *options, char *text, size_t size);

/* Writes the profile of the process to the file that TOFT_PROFILE names: the sum of all arenas that are alive and of
 * those that were released, in the format of a snapshot, with a member `process`. In the name, %p is replaced by the
 * number of the process, and %l by a name of this copy of the library. The file is created with mode 0600 or replaced.
 *
 * The library does this when the process exits (by C's exit, not by _exit or a signal) and after each signal of
 * TOFT_PROFILE_SIGNAL, if the program has not set the disposition of that signal when the first arena is created. A
 * thread of the library, which exists only if there is such a signal, writes then. The numbers of an arena are at most
 * 16 KiB of allocations late, exact for arenas on the heap at the exit of a process with one thread.
 *
 * TOFT_ENOSYS: TOFT_PROFILE is not set. TOFT_EARG: the file cannot be written. Thread-safe. */
TOFT_API int toft_write_profile(void);

/* ---- small inline bodies, documented above ---- */

TOFT_API int toft_tag_push_slow(toft_arena *a, const char *name);
TOFT_API void toft_tag_pop_slow(toft_arena *a);
TOFT_API toft_phase toft_phase_begin_slow(toft_arena *a, const char *name);
TOFT_API void toft_phase_end_slow(toft_arena *a, toft_phase *p);

TOFT_INLINE int toft_tag_push(toft_arena *a, const char *name) {
  return TOFT_UNLIKELY(a->epoch & 1) ? toft_tag_push_slow(a, name) : TOFT_OK;
}

TOFT_INLINE void toft_tag_pop(toft_arena *a) {
  if (TOFT_UNLIKELY(a->epoch & 1)) toft_tag_pop_slow(a);
}

typedef struct toft_tag {
  toft_arena *arena; /* NULL: ended */
} toft_tag;

TOFT_INLINE toft_tag toft_tag_begin(toft_arena *a, const char *name) {
  toft_tag t;
  t.arena = a;
  (void)toft_tag_push(a, name);
  return t;
}

TOFT_INLINE void toft_tag_end(toft_tag *t) {
  if (t->arena != NULL) toft_tag_pop(t->arena);
  t->arena = NULL;
}

TOFT_INLINE int toft_set_tag(toft_arena *a, uint64_t number, const char *path) {
  return a->ops->set(a, TOFT_SET_TAG, number, path, path != NULL ? strlen(path) : 0);
}

TOFT_INLINE toft_phase toft_phase_begin(toft_arena *a, const char *name) {
  toft_phase p = {NULL, 0, 0};
  if (TOFT_UNLIKELY(a->epoch & 1)) p = toft_phase_begin_slow(a, name);
  return p;
}

TOFT_INLINE void toft_phase_end(toft_arena *a, toft_phase *p) {
  if (TOFT_UNLIKELY(p->name != NULL)) toft_phase_end_slow(a, p);
}

typedef struct toft_phase_scope {
  toft_arena *arena; /* NULL: ended */
  toft_phase phase;
} toft_phase_scope;

TOFT_INLINE toft_phase_scope toft_phase_enter(toft_arena *a, const char *name) {
  toft_phase_scope s;
  s.arena = a;
  s.phase = toft_phase_begin(a, name);
  return s;
}

TOFT_INLINE void toft_phase_leave(toft_phase_scope *s) {
  if (s->arena != NULL) toft_phase_end(s->arena, &s->phase);
  s->arena = NULL;
}

TOFT_INLINE int toft_set_sampling(toft_arena *a, uint64_t bytes) {
  return a->ops->set(a, TOFT_SET_SAMPLE, bytes, NULL, 0);
}

#ifdef __cplusplus
}
#endif
#endif
