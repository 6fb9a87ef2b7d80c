/* Findings: the misuse that checked arenas and recyclers detect, and its delivery.
 *
 * An arena is checked if it was created with TOFT_CHECKED in options.flags, or after toft_set_checked. An arena of
 * another provider needs an instrument (toft/instrument.h); without one the calls below return TOFT_ENOSYS. With
 * TOFT_CHECKED=1 in the environment every arena and every recycler of the process is checked, without rebuilding the
 * program. Findings are delivered in four ways:
 *
 *   options.failure          a callback of the arena, which gets a code (see toft.h)
 *   toft_findings            iterates over the findings of one arena
 *   toft_on_finding          a function of the process, which gets every finding immediately
 *   the environment          one line for each finding, on standard error or in a file
 *
 * Environment variables are read once, when the first arena or recycler is created; toft/meter.h has more of them. A
 * process with more rights than its user (set-uid, set-gid, file capabilities) ignores them.
 *
 *   TOFT_CHECKED     empty, 0, off, no, false (in any case): off. abort: on, and the process aborts after its first
 *                    finding. Anything else: on. Not set: on in a process under AddressSanitizer, MemorySanitizer or
 *                    Valgrind's memcheck, except for arenas in a caller's buffer; else off.
 *   TOFT_FINDINGS    the file that lines are appended to; it is created with mode 0600, and a symbolic link is not
 *                    followed. stderr and stdout, also as /dev/stderr and /dev/stdout, are the standard streams.
 *                    Not set: standard error where TOFT_CHECKED or TOFT_BUDGET is on and
 *                    TOFT_FINDINGS_JSON is not set; else nothing is written.
 *   TOFT_FINDINGS_JSON
 *                    the file that each finding is appended to as a JSON object in a line, which docs/run.md describes;
 *                    it is opened as that of TOFT_FINDINGS. While it is set, each call on a checked arena or recycler
 *                    records its stack.
 *
 * docs/checked.md lists what is detected and what is not.
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
  TOFT_FOUND_OVERRUN = 1,       /* bytes after an allocation were written */
  TOFT_FOUND_UNDERRUN = 2,      /* bytes before an allocation were written */
  TOFT_FOUND_LATE_WRITE = 3,    /* memory was written after it was freed */
  TOFT_FOUND_DOUBLE_FREE = 4,   /* freed or resized after it was freed */
  TOFT_FOUND_WRONG_SIZE = 5,    /* freed or resized with a size other than the requested one */
  TOFT_FOUND_FOREIGN = 6,       /* freed or resized, but not an allocation of this arena */
  TOFT_FOUND_STALE_MARK = 7,    /* rewound to a mark that is no longer valid */
  TOFT_FOUND_WRONG_THREAD = 8,  /* called by a thread other than the one it is pinned to: see toft_pin */
  TOFT_FOUND_TWO_THREADS = 9,   /* called while another thread was in a call */
  TOFT_FOUND_RELEASED = 10,     /* called after its release */
  TOFT_FOUND_NOT_RELEASED = 11, /* a release had no effect: a range was claimed, or a cleanup was running */
  TOFT_FOUND_OVER_BUDGET = 12,  /* the live bytes of an arena exceed TOFT_BUDGET of the environment: see toft/meter.h */
  TOFT_FOUND_OUTSIDE = 14       /* a word in a checked region points to memory that a restore does not bring back */
};

/* A call of the program, as far as it is known. */
typedef struct toft_moment {
  const char *call; /* "alloc", "rewind" and so on; "": no call */
  /* "file.c:12" if toft_at, TOFT_SITES or a client in another language set it; else, with debug information and libdw
   * of elfutils on the machine, "function (file.c:12)", the call in the program's own code; else "function+0x2a
   * (program+0x11f9)", whose last part is input for addr2line. Bytes other than printable ASCII are written as \xNN. */
  const char *place;
  uintptr_t site; /* the same as a number: the caller's site, or else the return address */
  size_t thread;  /* threads are numbered from 1 in the order of their first call */
} toft_moment;

typedef struct toft_finding {
  int kind;            /* TOFT_FOUND_... */
  const char *message; /* the whole finding in one line without a newline */
  toft_arena *arena;   /* must not be called: it is inside a call, or released. NULL: the finding is a recycler's */
  const void *address; /* of the allocation, or of the word of a region; NULL: none is concerned */
  size_t size;         /* the requested size; over budget: the live bytes; outside, without an address: further words */
  ptrdiff_t offset;    /* of the first written byte, from the start of the allocation */
  toft_moment allocated, returned, noticed;
  size_t length;              /* from the first written byte to the last, within the checked bytes */
  const unsigned char *bytes; /* the written bytes, at most 32; NULL if length is 0 */
} toft_finding;

/* Receives a finding, which is valid until the function returns. */
typedef void toft_finding_fn(void *arg, const toft_finding *finding);

/* Sets the function that is called for every finding of every checked arena and recycler, on the thread that detected
 * it; NULL removes it. It must return. It may use other arenas and recyclers, but not the finding's own. A finding that
 * its own calls cause is only printed. Thread-safe. */
TOFT_API void toft_on_finding(toft_finding_fn *fn, void *arg);

/* Checks all of a checked arena now, the red zones of live allocations and the freed memory; then calls fn for each
 * finding of the arena that no earlier call has delivered, oldest first. Returns the number of findings, TOFT_EBUSY in
 * a cleanup of the arena, or TOFT_ENOSYS for an arena of another provider. Beyond 1000, findings are only counted. */
TOFT_API int toft_findings(toft_arena *a, toft_finding_fn *fn, void *arg);

/* Freed heap blocks of checked arenas, up to 1 MiB in the process, stay in quarantine before reuse, so that late writes
 * and calls on released arenas are detected. This checks them and frees them. So does the end of the process if it runs
 * C's destructors. Thread-safe. */
TOFT_API void toft_quarantine_trim(void);

/* Binds a checked arena to the calling thread: calls by other threads fail (NULL or TOFT_EBUSY) with a finding, except
 * for read-only calls: statistics, blocks, reports, snapshots. on == 0 unbinds it, from any thread; so do the return of
 * its lease and the end of the thread that owns its frames. Calls on lease caches, frames and shared arenas are not
 * affected. An arena that is not checked is unchanged, so the call may stay in release code. TOFT_ENOSYS for an arena
 * of another provider. */
TOFT_API int toft_pin(toft_arena *a, int on);

/* Returns a number for a place in the program, such as "file.c:12", to be passed as `site` to functions of the ABI. The
 * text is copied once. 0 if there is no memory. Thread-safe. */
TOFT_API uintptr_t toft_site(const char *place);

/* Sets the place of the next call on a checked arena, and returns a. `place` must be valid until that call.
 *     p = toft_alloc(toft_at(a, "table of contents"), size);
 * In C, `#define TOFT_SITES` before the include makes every inline function of toft.h record its file and line this
 * way, at the cost of one test. */
TOFT_INLINE toft_arena *toft_at(toft_arena *a TOFT_LIFETIMEBOUND, const char *place);

#ifndef TOFT_OMIT_CHECKS
TOFT_API void toft_at_place(toft_arena *a, const char *place);
#endif

TOFT_INLINE toft_arena *toft_at(toft_arena *a, const char *place) {
#ifndef TOFT_OMIT_CHECKS
  if (TOFT_UNLIKELY(a != NULL && (a->epoch & 1))) toft_at_place(a, place);
#endif
  (void)place;
  return a;
}

#ifdef __cplusplus
}
#endif
#endif
