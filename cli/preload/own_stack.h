/* The library's own stack, behind its lock.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PRELOAD_OWN_STACK_H
#define TOFT_PRELOAD_OWN_STACK_H

#include "program_functions.h"

static void lock(void) {
  while (__atomic_exchange_n(&S.lock, 1, __ATOMIC_ACQUIRE))
    if (!LOAD(&S.sandbox)) sched_yield();
}

static void unlock(void) { STORE(&S.lock, 0); }

/* Calls `function` with the stack pointer `top`. It can be unwound: the frame is found by the frame pointer. */
#if defined(__x86_64__)
void toft_on_own_stack(void (*function)(void *), void *arg, void *top);
__asm__(
    ".text\n.type toft_on_own_stack,@function\n.hidden toft_on_own_stack\ntoft_on_own_stack:\n"
    ".cfi_startproc\n"
    "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp,-16\n"
    "mov %rsp,%rbp\n.cfi_def_cfa_register %rbp\n"
    "mov %rdx,%rsp\nmov %rdi,%rax\nmov %rsi,%rdi\ncall *%rax\n"
    "mov %rbp,%rsp\npop %rbp\n.cfi_def_cfa %rsp,8\nret\n"
    ".cfi_endproc\n.size toft_on_own_stack,.-toft_on_own_stack\n");
#elif defined(__aarch64__)
void toft_on_own_stack(void (*function)(void *), void *arg, void *top);
__asm__(
    ".text\n.type toft_on_own_stack,%function\n.hidden toft_on_own_stack\ntoft_on_own_stack:\n"
    ".cfi_startproc\n"
    "stp x29,x30,[sp,#-16]!\n.cfi_def_cfa_offset 16\n.cfi_offset x29,-16\n.cfi_offset x30,-8\n"
    "mov x29,sp\n.cfi_def_cfa_register x29\n"
    "mov sp,x2\nmov x9,x0\nmov x0,x1\nblr x9\n"
    "mov sp,x29\n.cfi_def_cfa_register sp\n"
    "ldp x29,x30,[sp],#16\n.cfi_def_cfa_offset 0\n.cfi_restore x29\n.cfi_restore x30\nret\n"
    ".cfi_endproc\n.size toft_on_own_stack,.-toft_on_own_stack\n");
#else
static void toft_on_own_stack(void (*function)(void *), void *arg, void *top) {
  (void)top;
  function(arg);
}
#endif

/* Calls `function` on the library's own stack, behind the lock. No handler of a signal runs until it returns: it could
 * switch to another context, or leave by longjmp. The thread is not cancelled either. */
static NOINLINE void aside(void (*function)(void *), void *arg) {
  uint64_t all = ~(uint64_t)0, before = 0;
  int cancel, blocked = !LOAD(&S.sandbox);
  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
  if (blocked) N.syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&before, 8, 0, 0);
  T.busy = 1;
  lock();
  toft_on_own_stack(function, arg, S.stack_top);
  unlock();
  T.busy = 0;
  if (blocked) N.syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, 8, 0, 0);
  (void)pthread_setcancelstate(cancel, &cancel);
}

#endif
