/* Meters: who uses an arena's memory. Switched on per arena while the program runs; off, they cost nothing. Included by
 * toft.h; docs/meters.md is the guide.
 *
 *     toft_set_metered(a, 1);
 *     {
 *       TOFT_TAG(a, "level");
 *       load(a);                                       counts for "level"
 *       TOFT_TAG(a, "sound");
 *       decode(a);                                     counts for "level/sound"
 *     }
 *     toft_snapshot_text(a, NULL, text, sizeof text);    what there is, as JSON
 *
 * THREE MEANS. Bytes by tag and phase are exact: taken by subtraction where a tag begins and ends and where the arena
 * is called anyway, never counted at each allocation. Budgets lower the arena's limit: exact, and free until they are
 * reached. How often who allocates is estimated by sampling: one call in so many bytes records its call stack. All of
 * it sees allocations made in any language, by inline paths compiled before.
 *
 * COST. A metered or sampled arena keeps the inline path of allocation; what goes backwards (rewind, resize, free)
 * becomes a call. What is noted is kept in memory of malloc, which ends with the arena.
 *
 * UNITS. Bytes, as toft_stats counts them: paddings and the roundings to 8 are the tag's that asked. A claimed range
 * counts when it is given, for the tag it was claimed under.
 *
 * FAILURE. TOFT_ENOMEM: no memory for what is to be noted; TOFT_EBUSY: a range is claimed or a cleanup or callback is
 * running; TOFT_EARG; TOFT_ENOSYS: an arena of another maker, which has switches of its own (toft_set_sampling and
 * toft_set_tag work there too, if it can). Nothing has changed then. While an arena is metered, a large allocation may
 * also fail since there is no memory to note whose it is.
 *
 * CALLBACKS run inside a call on the arena, on its thread. They may look at it (toft_get_stats, toft_contains, the walks
 * and the snapshot below), and use other arenas. The arena is closed to them: allocations there return NULL, all else
 * TOFT_EBUSY. They must return: no longjmp, no exception.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_METER_H
#define TOFT_METER_H

#include "toft/inline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tags ---- */

/* Switches the accounting by tags and phases. What is live then counts for no tag. Switching off ends all tags; phases
 * that ended are still told. */
TOFT_API int toft_set_metered(toft_arena *a, int on);

/* What is allocated from now on counts for this tag, until toft_tag_pop; then for the one before. Within another tag
 * the name is a path: "sound" within "level" is "level/sound". A name that begins with "/" is a path as it stands:
 * "/ai" is "ai" wherever it is said. Bytes stay their tag's until they are given back, whatever the tag is then.
 * In an arena that is not watched: one branch, and nothing happens, so these calls may stay in release code. TOFT_EARG:
 * NULL, or not UTF-8. Whatever it returns, toft_tag_pop belongs to it: after a failure that pops nothing. */
TOFT_INLINE int toft_tag_push(toft_arena *a, const char *name);
/* A pop without its push (the arena was metered in between) does nothing. */
TOFT_INLINE void toft_tag_pop(toft_arena *a);

/* A declaration, as TOFT_SCOPE is: the rest of the enclosing block runs under the tag. gcc and clang only. */
#ifdef TOFT_AT_EXIT
#define TOFT_TAG(a, name) TOFT_TAG_NAMED(a, name, TOFT_PASTE(toft_tag_, __COUNTER__))
#define TOFT_TAG_NAMED(a, name, t) toft_tag t TOFT_AT_EXIT(toft_tag_end) = toft_tag_begin(a, name)
#endif

/* The same by the ABI's table, for an arena of any maker: the present tag from now on, by a number of the caller's and
 * a path, which may be NULL after the first time; number 0 without a name is no tag. Meters the arena. TOFT_ENOSYS if
 * its maker has no tags. */
TOFT_INLINE int toft_set_tag(toft_arena *a, uint64_t number, const char *path);

/* ---- phases ---- */

/* A stretch of the program: how often it was entered, what was allocated in it, and by how much live grew. Phases may
 * lie within others, which count it too, and overlap. name must live until the end. In an arena that is not metered
 * nothing happens. */
typedef struct toft_phase {
  const char *name; /* NULL: nothing to end */
  uint64_t allocated, live;
} toft_phase;
TOFT_INLINE toft_phase toft_phase_begin(toft_arena *a, const char *name);
/* A second end of the same phase does nothing. */
TOFT_INLINE void toft_phase_end(toft_arena *a, toft_phase *p);

/* A declaration, as TOFT_SCOPE is: the rest of the enclosing block is the phase. gcc and clang only. */
#ifdef TOFT_AT_EXIT
#define TOFT_PHASE(a, name) TOFT_PHASE_NAMED(a, name, TOFT_PASTE(toft_phase_, __COUNTER__))
#define TOFT_PHASE_NAMED(a, name, p) toft_phase_scope p TOFT_AT_EXIT(toft_phase_leave) = toft_phase_enter(a, name)
#endif

/* ---- budgets; the hard budget itself is toft_set_budget ---- */

/* Told that live is above the soft budget. */
typedef void toft_soft_budget_fn(void *arg, toft_arena *a, uint64_t live, uint64_t budget);
/* Calls fn once when more than so many bytes are live, after the call that did it: an allocation, an adoption, the end
 * of a claim. Refuses nothing. Again after each reset, and when this is called again; not when live falls by
 * other means. UINT64_MAX: no more. fn may be NULL. */
TOFT_API int toft_set_soft_budget(toft_arena *a, uint64_t bytes, toft_soft_budget_fn *fn, void *arg);

/* Asked before an allocation is refused since the budget does not allow it: returns the new budget, or anything not
 * above the present one to refuse. `size` is what was asked for; if the new budget is too low still, the call fails. */
typedef uint64_t toft_refusal_fn(void *arg, toft_arena *a, uint64_t live, uint64_t budget, size_t size);
/* fn NULL: no more questions. */
TOFT_API int toft_on_refusal(toft_arena *a, toft_refusal_fn *fn, void *arg);

/* At most so many bytes of this tag may be live while the arena is metered, to the byte. Not its children's:
 * "level/sound" is a tag of its own. UINT64_MAX: no limit. path "": what is under no tag. Nobody is asked before a
 * refusal. */
TOFT_API int toft_set_tag_budget(toft_arena *a, const char *path, uint64_t bytes);

/* ---- sampling ---- */

/* Looks at about one allocation in `bytes` bytes, records its call stack and tag, and estimates from that how many
 * there are: an allocation of s bytes is met with a chance of s in `bytes` (distances are random and memoryless, so no
 * pattern of a program is missed) and counts for as many as were not met. 0: no more; what was recorded stays. For an
 * arena of any maker. */
TOFT_INLINE int toft_set_sampling(toft_arena *a, uint64_t bytes);
/* The distances that follow repeat with the seed: for tests. */
TOFT_API int toft_set_sampling_seed(toft_arena *a, uint64_t seed);

/* Writes up to `most` return addresses to stack, the newest call's first, as backtrace(3) does, and returns how many.
 * It may include frames of its own and of this library: those up to the call on the arena are dropped. Runs as a
 * callback does. */
typedef size_t toft_unwind_fn(void *arg, void **stack, size_t most);
/* Takes this one in place of the built-in, which is backtrace(3) of glibc, macOS and the BSDs, the compiler's
 * _Unwind_Backtrace elsewhere, and CaptureStackBackTrace on Windows. fn NULL: the built-in again. Where code has no
 * tables to unwind by, or the library was built with TOFT_NO_UNWIND, stacks end early, at the worst with the function
 * that allocated. */
TOFT_API int toft_set_unwinder(toft_arena *a, toft_unwind_fn *fn, void *arg);

/* ---- reports ---- */

typedef struct toft_tag_report {
  const char *name;                 /* its path; "": under no tag, or a tag that has a number alone */
  const uint64_t *number;           /* as toft_set_tag gave it; NULL: none */
  uint64_t live, allocated, budget; /* bytes; budget UINT64_MAX: none */
} toft_tag_report;

typedef struct toft_phase_report {
  const char *name;
  uint64_t entries;   /* how often it ended */
  uint64_t allocated; /* bytes */
  int64_t kept;       /* bytes by which live grew */
} toft_phase_report;

/* Allocations of one call stack and site under one tag: estimates. A growth that moved counts as one. */
typedef struct toft_site_report {
  uintptr_t site;           /* as the ABI's alloc was given it; 0: none */
  const char *tag;          /* its path */
  uint64_t count;           /* allocations */
  uint64_t bytes;           /* as asked for, without padding */
  const void *const *stack; /* return addresses, the newest call's first */
  size_t depth;
} toft_site_report;

/* Each calls fn, a callback as above, for each of its kind until that returns non-zero, and returns what fn returned
 * last, 0 if there was none to tell. Strings and stacks are good until fn returns. TOFT_ENOSYS for an arena of another
 * maker. The first tag is what is under none; there are tags only while the arena is metered. */
TOFT_API int toft_tags(toft_arena *a, int (*fn)(void *arg, const toft_tag_report *tag), void *arg);
TOFT_API int toft_phases(toft_arena *a, int (*fn)(void *arg, const toft_phase_report *phase), void *arg);
TOFT_API int toft_sites(toft_arena *a, int (*fn)(void *arg, const toft_site_report *site), void *arg);

/* What was allocated until now counts no more, in tags, phases and sites: for a report of each frame. Live bytes and
 * budgets stay. TOFT_ENOSYS. */
TOFT_API int toft_clear_report(toft_arena *a);

/* ---- names ---- */

/* Where an address of code is. Unknown: NULL and 0. */
typedef struct toft_symbol {
  const char *function;
  size_t offset; /* from its first byte */
  const char *module;
  size_t module_offset; /* of the call, from where the module was loaded: what addr2line wants */
  const char *file;
  unsigned line; /* from 1 */
} toft_symbol;
/* Fills in what it knows of the call that returns to `address` (so it looks up the byte before), and returns non-zero
 * if that is anything. Strings must stay good until the next call. */
typedef int toft_symbolize_fn(void *arg, const void *address, toft_symbol *symbol);
/* What a snapshot asks unless it is told otherwise: the dynamic linker, by dladdr. It knows functions that are
 * exported: those of shared libraries, and of a program linked with -rdynamic. Knows nothing on Windows. arg is
 * ignored. */
TOFT_API int toft_symbolize(void *arg, const void *address, toft_symbol *symbol);

/* ---- the snapshot ---- */

enum {
  TOFT_SNAPSHOT_CLEAR = 1, /* then toft_clear_report; not if write said to stop */
  /* Names of static functions too, with files and lines, from symbol tables and debug information, by libdw of elfutils
   * if this machine has it (libdw.so.1 is loaded when it is first needed and reads local files only); else as without.
   * In a function of Toft's headers or of the language's library that the compiler inlined, file and line are those of
   * the call in the program's own code. Takes milliseconds and more. */
  TOFT_SNAPSHOT_DWARF = 2,
  TOFT_SNAPSHOT_ADDRESSES = 4 /* no names at all */
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

/* Gets a piece of the text, not terminated; returns 0, or what the snapshot is to stop with. A callback as above. */
typedef int toft_write_fn(void *arg, const char *bytes, size_t size);
/* Writes what the arena holds as one object of JSON, in UTF-8 without line ends, by docs/snapshot.md and
 * abi/snapshot.schema.json, which Rust's reports follow too. Takes no memory. options NULL: the defaults. Returns
 * TOFT_OK, TOFT_EARG for flags unknown, or what write returned. An arena of another maker: its statistics. */
TOFT_API int toft_snapshot(toft_arena *a, const toft_snapshot_options *options, toft_write_fn *write, void *arg);
/* The same into a buffer, as snprintf: at most size - 1 bytes and a NUL, if size is not 0. Returns the length of the
 * whole text, or 0 for flags unknown. With TOFT_SNAPSHOT_CLEAR it clears only if all of the text fitted. */
TOFT_API size_t toft_snapshot_text(toft_arena *a, const toft_snapshot_options *options, char *text, size_t size);

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
