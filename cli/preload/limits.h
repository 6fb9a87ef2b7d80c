/* Programs that limit or lock their memory: from then on a preloaded library takes as little of it as it can.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PRELOAD_LIMITS_H
#define TOFT_PRELOAD_LIMITS_H

#include "stacks.h"

/* Defined by the library: returns unused memory. is_active: whether there is any. */
static void return_memory(void *arg);
static int is_active(void);

static NOINLINE void before_limit(void) {
  int error = errno;
  if (!T.busy && !LOAD(&S.sandbox) && is_active()) aside(return_memory, NULL);
  errno = error;
}

static int is_this_process(pid_t process) { return process == 0 || process == getpid(); }

/* Whether a limit of memory is set. */
#define IS_LIMIT(resource, new, none) \
  (((resource) == RLIMIT_AS || (resource) == RLIMIT_DATA) && (new) != NULL && (new)->rlim_cur != (none))

int preloaded_setrlimit(int, const struct rlimit *) __asm__("setrlimit");
int preloaded_setrlimit64(int, const struct rlimit64 *) __asm__("setrlimit64");
int preloaded_prlimit(pid_t, int, const struct rlimit *, struct rlimit *) __asm__("prlimit");
int preloaded_prlimit64(pid_t, int, const struct rlimit64 *, struct rlimit64 *) __asm__("prlimit64");

int preloaded_setrlimit(int resource, const struct rlimit *new) {
  if (!is_resolved()) return -1;
  if (IS_LIMIT(resource, new, RLIM_INFINITY)) before_limit();
  return N.setrlimit(resource, new);
}

int preloaded_setrlimit64(int resource, const struct rlimit64 *new) {
  if (!is_resolved()) return -1;
  if (IS_LIMIT(resource, new, RLIM64_INFINITY)) before_limit();
  return N.setrlimit64(resource, new);
}

int preloaded_prlimit(pid_t process, int resource, const struct rlimit *new, struct rlimit *old) {
  if (!is_resolved()) return -1;
  if (IS_LIMIT(resource, new, RLIM_INFINITY) && is_this_process(process)) before_limit();
  return N.prlimit(process, resource, new, old);
}

int preloaded_prlimit64(pid_t process, int resource, const struct rlimit64 *new, struct rlimit64 *old) {
  if (!is_resolved()) return -1;
  if (IS_LIMIT(resource, new, RLIM64_INFINITY) && is_this_process(process)) before_limit();
  return N.prlimit64(process, resource, new, old);
}

/* The limit of locked memory is one of all memory then. */
int mlockall(int flags) {
  if (!is_resolved()) return -1;
  before_limit();
  return N.mlockall(flags);
}

#endif
