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

/* A function that may set a limit of memory, for a process that may be this one. */
#define PRELOADED(name, parameters, arguments, process, none)                                                    \
  int preloaded_##name parameters __asm__(#name);                                                                \
  int preloaded_##name parameters {                                                                              \
    if (!is_resolved()) return -1;                                                                               \
    int is_memory = (resource == RLIMIT_AS || resource == RLIMIT_DATA) && new != NULL &&new->rlim_cur != (none); \
    if (is_memory && ((process) == 0 || (process) == getpid())) before_limit();                                  \
    return N.name arguments;                                                                                     \
  }

PRELOADED(setrlimit, (int resource, const struct rlimit *new), (resource, new), 0, RLIM_INFINITY)
PRELOADED(setrlimit64, (int resource, const struct rlimit64 *new), (resource, new), 0, RLIM64_INFINITY)
PRELOADED(prlimit, (pid_t process, int resource, const struct rlimit *new, struct rlimit *old),
          (process, resource, new, old), process, RLIM_INFINITY)
PRELOADED(prlimit64, (pid_t process, int resource, const struct rlimit64 *new, struct rlimit64 *old),
          (process, resource, new, old), process, RLIM64_INFINITY)

/* The limit of locked memory is one of all memory then. */
int mlockall(int flags) {
  if (!is_resolved()) return -1;
  before_limit();
  return N.mlockall(flags);
}

#endif
