/* Findings: what checked arenas and recyclers detect, and how it is delivered.
 *
 * An arena is checked from the start with TOFT_CHECKED in options.flags, and from a call of toft_set_checked on. With
 * TOFT_CHECKED=1 in the environment every arena and every recycler of the process is checked; no program needs to be
 * rebuilt. Findings are delivered in four ways:
 *
 *   options.failure          the arena's own callback gets a code (see toft.h)
 *   toft_findings            walks over what one arena found
 *   toft_on_finding          a function of the process gets every finding at once
 *   the environment          one line for each finding, on standard error or in a file
 *
 * Two variables of the environment are read once, when the first arena or recycler is made. A process with more rights
 * than its user (set-uid, set-gid, file capabilities) ignores both.
 *
 *   TOFT_CHECKED     empty, 0, off, no, false (in any case): off. abort: on, and the process aborts after its first
 *                    finding. Anything else: on.
 *   TOFT_FINDINGS    the file that lines are appended to; it is created with mode 0600, and not followed if it is a
 *                    symbolic link. stderr and stdout, also as /dev/stderr and /dev/stdout, are the standard streams.
 *                    Not set: standard error where TOFT_CHECKED is on; where it is off, nothing is written.
 *
 * docs/checked.md has the table of what is found, and what is not.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_FINDINGS_H
#define TOFT_FINDINGS_H

#include "toft/abi.h"
#include "toft/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TOFT_FOUND_OVERRUN = 1,      /* bytes behind an allocation were written */
  TOFT_FOUND_UNDERRUN = 2,     /* bytes in front of one */
  TOFT_FOUND_LATE_WRITE = 3,   /* memory was written after it was given back */
  TOFT_FOUND_DOUBLE_FREE = 4,  /* freed or resized although it was given back before */
  TOFT_FOUND_WRONG_SIZE = 5,   /* freed or resized with another size than it was asked for */
  TOFT_FOUND_FOREIGN = 6,      /* freed or resized although it is no allocation of this arena */
  TOFT_FOUND_STALE_MARK = 7,   /* rewound to a mark that is not good any more */
  TOFT_FOUND_WRONG_THREAD = 8, /* called by another thread than it is pinned to: see toft_pin */
  TOFT_FOUND_TWO_THREADS = 9,  /* called while another thread was in a call */
  TOFT_FOUND_RELEASED = 10,    /* called after its release */
  TOFT_FOUND_NOT_RELEASED = 11 /* a release without effect: a range was claimed, or a cleanup was running */
};

/* One call of the program, as far as it is known. */
typedef struct toft_moment {
  const char *call; /* "alloc", "rewind" and so on; "": there was none */
  /* "file.c:12" as given by toft_at, TOFT_SITES or another language; else, with debug information and libdw of elfutils
   * on the machine, "function (file.c:12)", the call in the program's own code; else "function+0x2a (program+0x11f9)",
   * whose last part addr2line understands. Bytes that are not printable ASCII are written as \xNN. */
  const char *place;
  uintptr_t site; /* the same as a number: what the caller gave, or else where the call returns to */
  size_t thread;  /* threads are numbered from 1, in the order in which Toft met them */
} toft_moment;

typedef struct toft_finding {
  int kind;            /* TOFT_FOUND_... */
  const char *message; /* all of it in one line without a newline, from the kind's name on */
  toft_arena *arena;   /* not to be called: it is in the middle of a call, or released. NULL: a recycler's */
  const void *address; /* of the allocation; NULL where none is concerned */
  size_t size;         /* its bytes, as requested */
  ptrdiff_t offset;    /* the first byte that was written, counted from its start */
  toft_moment allocated, returned, noticed;
  size_t length;              /* from the first byte that was written to the last, as far as was looked */
  const unsigned char *bytes; /* these, but 32 at most; NULL if length is 0 */
} toft_finding;

/* Gets a finding, which is valid until it returns. */
typedef void toft_finding_fn(void *arg, const toft_finding *finding);

/* fn is called for every finding of every checked arena and recycler, by the thread that found it; NULL: no function.
 * It must return, and may use other arenas and recyclers; the finding's own is closed to it. A finding that its calls
 * cause is only printed. Replaces the one before. Thread-safe. */
TOFT_API void toft_on_finding(toft_finding_fn *fn, void *arg);

/* Looks at all of a checked arena now, the zones of live allocations and what was given back; then calls fn for each
 * finding of the arena that no walk has told yet, oldest first. Returns how many there were, TOFT_EBUSY in a cleanup of
 * the arena, or TOFT_ENOSYS for an arena of another maker. More than 1000 are counted and not kept. */
TOFT_API int toft_findings(toft_arena *a, toft_finding_fn *fn, void *arg);

/* Blocks of the heap that checked arenas gave back, up to 1 MiB of the process's, wait before they are used again, so
 * that late writes are found and a released arena can say that it is one. This looks at them, and lets them go; the end
 * of the process does so by itself, where it runs C's destructors. Thread-safe. */
TOFT_API void toft_quarantine_trim(void);

/* Binds a checked arena to the calling thread: calls by others are found and refused (NULL, or TOFT_EBUSY), but for
 * those that only look: statistics, blocks, reports, snapshots. on == 0 unbinds it, from any thread, and so do the
 * return of its lease and the end of the thread whose frames it is of. Calls on caches, frames and shared arenas are
 * not held up by it. An arena that is not checked stays as it is, so such calls may stay in the program. TOFT_ENOSYS
 * for an arena of another maker. */
TOFT_API int toft_pin(toft_arena *a, int on);

/* A number for a place in the program, such as "file.c:12", to be given as `site` wherever the ABI takes one. The text
 * is copied, once for each text. 0 if there is no memory. Thread-safe. */
TOFT_API uintptr_t toft_site(const char *place);

/* Says where the next call on a checked arena is made from; returns a. `place` must live until that call.
 *     p = toft_alloc(toft_at(a, "table of contents"), size);
 * In C, with `#define TOFT_SITES` before the include, every call of the inline functions of toft.h says its file and
 * line that way, at the price of a test. */
TOFT_INLINE toft_arena *toft_at(toft_arena *a, const char *place);

TOFT_API void toft_at_place(toft_arena *a, const char *place);

TOFT_INLINE toft_arena *toft_at(toft_arena *a, const char *place) {
  if (TOFT_UNLIKELY(a != NULL && (a->epoch & 1))) toft_at_place(a, place);
  return a;
}

#ifdef __cplusplus
}
#endif
#endif
