/* Programs that restrict their system calls by seccomp: from then on a preloaded library makes none.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PRELOAD_SANDBOX_H
#define TOFT_PRELOAD_SANDBOX_H

#include "own_stack.h"

/* Defined by the library. enter_sandbox prepares for a time without system calls, and sets S.sandbox; is_active:
 * whether it must. */
static void enter_sandbox(void *arg);
static int is_active(void);

/* The strict mode forbids the processor's clock too. */
static NOINLINE void before_sandbox(int strict) {
  int error = errno;
  if (!T.busy && is_active()) aside(enter_sandbox, NULL);
  if (strict) STORE(&S.no_clock, 1);
  errno = error;
}

/* The arguments of both functions are in registers, as in calls without a prototype. Both end by a jump: what a system
 * call does to the stack, it does to that of the caller. */
int preloaded_prctl(int, unsigned long, unsigned long, unsigned long, unsigned long) __asm__("prctl");
long preloaded_syscall(long, long, long, long, long, long, long) __asm__("syscall");

int preloaded_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  if (option == PR_SET_SECCOMP && (a == SECCOMP_MODE_STRICT || b != 0)) before_sandbox(a == SECCOMP_MODE_STRICT);
  if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV) STORE(&S.no_clock, 1);
  if (!is_resolved()) return -1;
  return N.prctl(option, a, b, c, d);
}

long preloaded_syscall(long number, long a, long b, long c, long d, long e, long f) {
  if (number == SYS_seccomp && (a == SECCOMP_SET_MODE_STRICT || (a == SECCOMP_SET_MODE_FILTER && c != 0)))
    before_sandbox(a == SECCOMP_SET_MODE_STRICT);
  if (number == SYS_prctl && a == PR_SET_SECCOMP && (b == SECCOMP_MODE_STRICT || c != 0))
    before_sandbox(b == SECCOMP_MODE_STRICT);
  if (!is_resolved()) return -1;
  return N.syscall(number, a, b, c, d, e, f);
}

#endif
