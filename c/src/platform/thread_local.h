/* Variables that each thread has. They must exist until toft_cache_end has run (lifecycle.h). None has the model
 * initial-exec: one such variable puts all of the module's into static thread-local storage, of which a process has
 * little for the libraries that it loads late.
 *
 *     TOFT_PER_THREAD int toft_depth;
 *     #define toft_depth TOFT_OWN(toft_depth)
 *
 * gcc for Windows emulates _Thread_local by a key of winpthreads, and frees the variables of a thread that
 * pthread_create made before Windows calls toft_os_thread_end. There these variables are in the module's native
 * thread-local storage, which Windows frees last: the linker collects the sections .tls$ into a template, between
 * mingw-w64's symbol _tls_start and its end, and Windows copies it for each thread.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_THREAD_LOCAL_H
#define TOFT_PLATFORM_THREAD_LOCAL_H

#include "base.h"

#if defined(_WIN32) && defined(__GNUC__) && !defined(__clang__) && (defined(__x86_64__) || defined(__i386__))
#ifdef __cplusplus
extern "C" {
#endif
extern unsigned long _tls_index; /* of this module */
extern char _tls_start[];
#ifdef __cplusplus
}
#endif

/* The calling thread's copy of a variable in the template. */
static inline void *toft_own(const void *in_template) {
  unsigned char **modules; /* ThreadLocalStoragePointer in the thread's environment block */
#ifdef __x86_64__
  __asm__("{movq %%gs:0x58, %0|mov %0, QWORD PTR gs:0x58}" : "=r"(modules));
#else
  __asm__("{movl %%fs:0x2c, %0|mov %0, DWORD PTR fs:0x2c}" : "=r"(modules));
#endif
  return modules[_tls_index] + ((uintptr_t)in_template - (uintptr_t)_tls_start);
}

#define TOFT_PER_THREAD static __attribute__((section(".tls$"), used))
#define TOFT_OWN(variable) (*(__typeof__(variable) *)toft_own(&variable))
#else
#define TOFT_PER_THREAD static TOFT_THREAD_LOCAL
#define TOFT_OWN(variable) variable
#endif

#endif
