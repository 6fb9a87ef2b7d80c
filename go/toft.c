/* Toft 0.1.0, the library of two files. Made by scripts/amalgamate: do not edit.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_OMIT_RECYCLER 1
#define TOFT_OMIT_THREADS 1
#if !defined(_WIN32) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE 1
#endif
#if !defined(_WIN32) && !defined(__LP64__) && !defined(_FILE_OFFSET_BITS)
#define _FILE_OFFSET_BITS 64
#endif
#if defined(TOFT_OMIT_CHECKS) || defined(TOFT_OMIT_METERS) || defined(TOFT_OMIT_PAGE_CACHE) || \
    defined(TOFT_OMIT_RECYCLER) || defined(TOFT_OMIT_THREADS)
#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#endif
#include <limits.h>
#include "toft.h"
#ifndef TOFT_NO_LIBC
#include <stdio.h>
#include <stdlib.h>
#endif
#define TOFT_KIB ((size_t)1024)
#define TOFT_MIB ((size_t)1024 * 1024)
#include <errno.h>
#if defined(_WIN32)
typedef int toft_size_signal;
static void toft_hold_size_signal(toft_size_signal *s) { *s = 0; }
static void toft_drop_size_signal(const toft_size_signal *s) { (void)s; }
#else
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#if defined(__linux__) && defined(__has_include)
#if __has_include(<asm/unistd.h>)
#include <sys/syscall.h>
#endif
#endif
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif
#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif
#if defined(__linux__)
extern int toft_getentropy(void *to, size_t size) __asm__("getentropy") __attribute__((weak));
#else
#define toft_getentropy getentropy
#endif
#define TOFT_SYSTEM(call) call
#define toft_sys_close TOFT_SYSTEM(close)
#define toft_sys_fdopen TOFT_SYSTEM(fdopen)
#define toft_sys_madvise TOFT_SYSTEM(madvise)
#define toft_sys_mmap TOFT_SYSTEM(mmap)
#define toft_sys_mprotect TOFT_SYSTEM(mprotect)
#define toft_sys_munmap TOFT_SYSTEM(munmap)
#define toft_sys_open TOFT_SYSTEM(open)
#define toft_sys_posix_memalign TOFT_SYSTEM(posix_memalign)
#define toft_sys_readlink TOFT_SYSTEM(readlink)
#define toft_sys_rename TOFT_SYSTEM(rename)
#define toft_sys_stat TOFT_SYSTEM(stat)
#define toft_sys_syscall TOFT_SYSTEM(syscall)
#define toft_sys_write TOFT_SYSTEM(write)
typedef struct toft_size_signal {
  sigset_t set, before;
  int was_pending;
} toft_size_signal;
static int toft_size_signal_is_pending(void) {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}
static void toft_hold_size_signal(toft_size_signal *s) {
  s->was_pending = toft_size_signal_is_pending();
  (void)sigemptyset(&s->set);
  (void)sigaddset(&s->set, SIGXFSZ);
  (void)pthread_sigmask(SIG_BLOCK, &s->set, &s->before);
}
static void toft_drop_size_signal(const toft_size_signal *s) {
  int error = errno, number;
  if (!s->was_pending && toft_size_signal_is_pending()) (void)sigwait(&s->set, &number);
  (void)pthread_sigmask(SIG_SETMASK, &s->before, NULL);
  errno = error;
}
#endif
static void toft_cache_end(void);
static void toft_pool_drop_kept(void);
static void toft_thread_release_leases(void);
static void toft_thread_state_release(
    void);
static void toft_profile_end(void);
static void toft_background_thread_end(void);
static void toft_leases_unload(void);
static void toft_registry_end(void);
static void toft_quarantine_flush(size_t bytes);
static void toft_findings_end(void);
static void toft_arm_fork(void);
static void toft_threads_at_fork(int phase);
#define TOFT_HUGE_PAGE (2 * TOFT_MIB)
static int toft_os_arm_thread_exit(void);
static size_t toft_os_unloading;
#if   defined(_WIN32)
#include <malloc.h>
#include <windows.h>
static size_t toft_os_page(size_t n) { return (n + 0xffff) & ~(size_t)0xffff; }
static void *toft_os_heap_take(size_t size, size_t align) { return _aligned_malloc(size, align); }
static void toft_os_heap_put(void *p) { _aligned_free(p); }
#ifdef TOFT_RUNTIME
static void toft_os_heap_trim(void) {}
#endif
static void *toft_os_map(size_t size, int huge) {
  (void)huge;
  return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}
static int toft_os_unmap(void *p, size_t size) {
  (void)size;
  return VirtualFree(p, 0, MEM_RELEASE) != 0;
}
static void toft_os_prefer_small_pages(void *p, size_t size) { (void)p, (void)size; }
static void toft_os_discard(void *p, size_t size) { VirtualAlloc(p, size, MEM_RESET, PAGE_READWRITE); }
static int toft_os_forget(unsigned char *p, size_t size) {
  size_t front = (size_t)(0 - (uintptr_t)p) & 4095, back = (size_t)((uintptr_t)p + size) & 4095;
  if (front + back < size) VirtualAlloc(p + front, size - front - back, MEM_RESET, PAGE_READWRITE);
  return 0;
}
static void *toft_os_reserve(size_t size) { return VirtualAlloc(NULL, size, MEM_RESERVE, PAGE_NOACCESS); }
static int toft_os_commit(void *p, size_t size) { return VirtualAlloc(p, size, MEM_COMMIT, PAGE_READWRITE) != NULL; }
static int toft_os_decommit(void *p, size_t size) { return VirtualFree(p, size, MEM_DECOMMIT) != 0; }
static void toft_os_prefer_huge_pages(void *p, size_t size) { (void)p, (void)size; }
static void toft_os_yield(void) { (void)SwitchToThread(); }
static size_t toft_os_milliseconds(void) { return (size_t)GetTickCount64(); }
static const char *toft_os_env(const char *name) { return getenv(name); }
static void toft_os_append(const char *path, const char *text, size_t size) {
  FILE *out = fopen(path, "ab");
  if (out == NULL) return;
  (void)fwrite(text, 1, size, out);
  (void)fclose(out);
}
static void toft_os_print(int descriptor, const char *text, size_t size) {
  FILE *out = descriptor == 2 ? stderr : stdout;
  (void)fwrite(text, 1, size, out);
  (void)fflush(out);
}
static FILE *toft_os_create(const char *path) { return fopen(path, "wb"); }
static int toft_os_rename(const char *from, const char *to) {
  return MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING) != 0;
}
__declspec(dllimport) int __cdecl rand_s(unsigned int *number);
static uint64_t toft_os_process_id(void) { return GetCurrentProcessId(); }
static int toft_os_executable(char *path, size_t size) {
  DWORD n = GetModuleFileNameA(NULL, path, (DWORD)size);
  return n != 0 && n < size;
}
static int toft_os_has_one_thread(void) { return 0; }
static int toft_os_fence_register(void) { return 1; }
static int toft_os_fence_all(void) {
  FlushProcessWriteBuffers();
  return 1;
}
typedef SRWLOCK toft_os_mutex;
typedef CONDITION_VARIABLE toft_os_condition;
static void toft_os_mutex_take(toft_os_mutex *m) { AcquireSRWLockExclusive(m); }
static void toft_os_mutex_drop(toft_os_mutex *m) { ReleaseSRWLockExclusive(m); }
static void toft_os_wake_all(toft_os_condition *c) { WakeAllConditionVariable(c); }
static void toft_os_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  (void)before, (void)parent, (void)child;
}
#define TOFT_OS_CAN_SPLIT 0
static INIT_ONCE toft_os_once = INIT_ONCE_STATIC_INIT;
static DWORD toft_os_fls_index = FLS_OUT_OF_INDEXES;
static void NTAPI toft_os_thread_end(void *armed) {
  if (armed) toft_cache_end();
}
static BOOL CALLBACK toft_os_init(PINIT_ONCE once, void *arg, void **out) {
  (void)once, (void)arg, (void)out;
  toft_os_fls_index = FlsAlloc(toft_os_thread_end);
  return TRUE;
}
static int toft_os_arm_thread_exit(void) {
  InitOnceExecuteOnce(&toft_os_once, toft_os_init, NULL, NULL);
  return toft_os_fls_index != FLS_OUT_OF_INDEXES && FlsSetValue(toft_os_fls_index, (void *)1);
}
#else
#if defined(TOFT_RUNTIME) && defined(__GLIBC__)
#include <malloc.h>
#endif
#include <sched.h>
#include <time.h>
static size_t toft_os_page(size_t n) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (n + page - 1) & ~(page - 1);
}
static void *toft_os_heap_take(size_t size, size_t align) {
  void *p;
  return toft_sys_posix_memalign(&p, align, size) == 0 ? p : NULL;
}
static void toft_os_heap_put(void *p) { free(p); }
#ifdef TOFT_RUNTIME
static void toft_os_heap_trim(void) {
#ifdef __GLIBC__
  (void)malloc_trim(0);
#endif
}
#endif
static void *toft_os_mmap(size_t size, int protection, int flags) {
  void *p = toft_sys_mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}
static void *toft_os_map(size_t size, int huge) {
  size_t total = toft_os_page(size);
  unsigned char *p = (unsigned char *)toft_os_mmap(total, PROT_READ | PROT_WRITE, 0);
#ifdef MADV_HUGEPAGE
  if (!huge || total < TOFT_HUGE_PAGE || p == NULL) return p;
  if ((uintptr_t)p % TOFT_HUGE_PAGE != 0) {
    (void)toft_sys_munmap(p, total);
    if ((p = (unsigned char *)toft_os_mmap(total + TOFT_HUGE_PAGE, PROT_READ | PROT_WRITE, 0)) == NULL) return NULL;
    size_t front = (size_t)(0 - (uintptr_t)p) & (TOFT_HUGE_PAGE - 1);
    if (front != 0) (void)toft_sys_munmap(p, front);
    if (front != TOFT_HUGE_PAGE) (void)toft_sys_munmap(p + front + total, TOFT_HUGE_PAGE - front);
    p += front;
  }
  (void)toft_sys_madvise(p, total, MADV_HUGEPAGE);
#endif
  (void)huge;
  return p;
}
static int toft_os_populate(void *p, size_t size) {
#ifdef __linux__
  return toft_sys_madvise(p, size, 23) == 0;
#else
  return (void)p, (void)size, 0;
#endif
}
static void toft_os_prefer_small_pages(void *p, size_t size) {
#ifdef MADV_NOHUGEPAGE
  (void)toft_sys_madvise(p, size, MADV_NOHUGEPAGE);
#else
  (void)p, (void)size;
#endif
}
static int toft_os_unmap(void *p, size_t size) {
  size = toft_os_page(size);
  return toft_sys_munmap(p, size) == 0 || toft_sys_madvise(p, size, MADV_DONTNEED) == 0;
}
static uint64_t toft_os_nanoseconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
static void toft_os_free_lazily(void *p, size_t size) {
#ifdef MADV_FREE
  (void)toft_sys_madvise(p, size, MADV_FREE);
#else
  (void)p, (void)size;
#endif
}
static void toft_os_discard(void *p, size_t size) {
#ifdef MADV_FREE
  if (toft_sys_madvise(p, toft_os_page(size), MADV_FREE) == 0) return;
#endif
  (void)toft_sys_madvise(p, toft_os_page(size), MADV_DONTNEED);
}
static int toft_os_forget(unsigned char *p, size_t size) {
  size_t front = (size_t)(0 - (uintptr_t)p) & (toft_os_page(1) - 1), back;
  if (front >= size) return 1;
  back = (size_t)((uintptr_t)p + size) & (toft_os_page(1) - 1);
  return front + back >= size || toft_sys_madvise(p + front, size - front - back, MADV_DONTNEED) == 0;
}
static void *toft_os_reserve(size_t size) { return toft_os_mmap(toft_os_page(size), PROT_NONE, MAP_NORESERVE); }
static int toft_os_commit(void *p, size_t size) {
  return toft_sys_mprotect(p, toft_os_page(size), PROT_READ | PROT_WRITE) == 0;
}
static int toft_os_decommit(void *p, size_t size) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (toft_sys_mmap(p, size, PROT_NONE, flags, -1, 0) != MAP_FAILED) return 1;
  return toft_sys_madvise(p, size, MADV_DONTNEED) == 0 && toft_sys_mprotect(p, size, PROT_NONE) == 0;
}
static void toft_os_prefer_huge_pages(void *p, size_t size) {
#ifdef MADV_HUGEPAGE
  if (size >= TOFT_HUGE_PAGE) (void)toft_sys_madvise(p, size, MADV_HUGEPAGE);
#else
  (void)p, (void)size;
#endif
}
static void toft_os_yield(void) { (void)sched_yield(); }
static size_t toft_os_milliseconds(void) {
  struct timespec now = {0, 0};
#ifdef CLOCK_MONOTONIC_COARSE
  (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
#else
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
#endif
  return (size_t)now.tv_sec * 1000 + (size_t)now.tv_nsec / 1000000;
}
#if defined( \
    __linux__)
extern unsigned long toft_getauxval(unsigned long type) __asm__("getauxval") __attribute__((weak));
#endif
static int toft_os_is_privileged(void) {
#if defined(__linux__)
  if (toft_getauxval != NULL && toft_getauxval(23) != 0) return 1;
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__) || \
    defined(__DragonFly__)
  if (issetugid()) return 1;
#endif
  return getuid() != geteuid() || getgid() != getegid();
}
static const char *toft_os_env(const char *name) { return toft_os_is_privileged() ? NULL : getenv(name); }
static void toft_os_print(int descriptor, const char *text, size_t size) {
  toft_size_signal held;
  toft_hold_size_signal(&held);
  for (int failures = 0; size > 0 && failures < 4;) {
    ssize_t n = toft_sys_write(descriptor, text, size);
    failures += n <= 0;
    text += n > 0 ? n : 0;
    size -= n > 0 ? (size_t)n : 0;
  }
  toft_drop_size_signal(&held);
}
static void toft_os_append(const char *path, const char *text, size_t size) {
  int file = toft_sys_open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
  if (file < 0) return;
  toft_os_print(file, text, size);
  (void)toft_sys_close(file);
}
static FILE *toft_os_stream(int file, const char *mode) {
  FILE *f = file >= 0 ? toft_sys_fdopen(file, mode) : NULL;
  if (f == NULL && file >= 0) (void)toft_sys_close(file);
  return f;
}
static FILE *toft_os_create(const char *path) {
  int file = toft_sys_open(path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
  return toft_os_stream(file, "wb");
}
static int toft_os_rename(const char *from, const char *to) { return toft_sys_rename(from, to) == 0; }
static uint64_t toft_os_process_id(void) { return (uint64_t)getpid(); }
static int toft_os_executable(char *path, size_t size) {
  ssize_t n = toft_sys_readlink("/proc/self/exe", path, size);
  if (n <= 0 || (size_t)n >= size) return 0;
  path[n] = 0;
  return 1;
}
static int toft_os_has_one_thread(void) {
  struct stat s;
  return toft_sys_stat("/proc/self/task", &s) == 0 && s.st_nlink == 3;
}
#if defined(__linux__) && defined(SYS_membarrier)
static int toft_os_fence_register(void) {
  return toft_sys_syscall(SYS_membarrier, 1 << 4, 0) == 0;
}
static int toft_os_fence_once(void) { return toft_sys_syscall(SYS_membarrier, 1 << 3, 0) == 0; }
static int toft_os_fence_all(void) {
  return toft_os_fence_once() || (toft_os_fence_register() && toft_os_fence_once());
}
#else
static int toft_os_fence_register(void) { return 0; }
static int toft_os_fence_all(void) { return 0; }
#endif
typedef pthread_mutex_t toft_os_mutex;
typedef pthread_cond_t toft_os_condition;
static void toft_os_mutex_take(toft_os_mutex *m) { pthread_mutex_lock(m); }
static void toft_os_mutex_drop(toft_os_mutex *m) { pthread_mutex_unlock(m); }
static void toft_os_wake_all(toft_os_condition *c) { pthread_cond_broadcast(c); }
typedef pthread_t toft_os_thread;
static int toft_os_thread_start(toft_os_thread *thread, void *(*run)(void *)) {
  sigset_t all, before;
  pthread_attr_t small;
  sigfillset(&all);
  if (pthread_attr_init(&small) != 0) return 0;
  (void)pthread_attr_setstacksize(&small, 64 * 1024);
  int masked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
  int code = pthread_create(thread, &small, run, NULL);
  if (code != 0) code = pthread_create(thread, NULL, run, NULL);
  if (masked) (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&small);
  return code == 0;
}
static void toft_os_thread_join(toft_os_thread thread) { (void)pthread_join(thread, NULL); }
static void toft_os_wait_for(toft_os_condition *c, toft_os_mutex *m, size_t milliseconds) {
  struct timespec end;
  (void)clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += (time_t)(milliseconds / 1000);
  end.tv_nsec += (long)(milliseconds % 1000) * 1000000;
  if (end.tv_nsec >= 1000000000) end.tv_sec++, end.tv_nsec -= 1000000000;
  (void)pthread_cond_timedwait(c, m, &end);
}
static void toft_os_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  (void)pthread_atfork(before, parent, child);
}
#define TOFT_OS_CAN_SPLIT 1
static pthread_once_t toft_os_once = PTHREAD_ONCE_INIT;
static pthread_key_t toft_os_key;
static int toft_os_have_key;
static void toft_os_thread_end(void *armed) {
  (void)armed;
  toft_cache_end();
}
static void toft_os_init(void) { toft_os_have_key = pthread_key_create(&toft_os_key, toft_os_thread_end) == 0; }
static int toft_os_arm_thread_exit(void) {
  pthread_once(&toft_os_once, toft_os_init);
  return toft_os_have_key && pthread_setspecific(toft_os_key, &toft_os_key) == 0;
}
#endif
static TOFT_COLD size_t toft_os_env_number(const char *name, size_t otherwise) {
  const char *text = toft_os_env(name);
  if (text == NULL || *text < '0' || *text > '9') return otherwise;
  char *end;
  unsigned long long n = strtoull(text, &end, 10);
  const char *units = "kKmMgG", *unit = *end != 0 ? strchr(units, *end) : NULL;
  unsigned shift = unit != NULL ? ((unsigned)(unit - units) / 2 + 1) * 10 : 0;
  return n > SIZE_MAX / 2 >> shift ? SIZE_MAX / 2 : (size_t)n << shift;
}
#if (defined(__GNUC__) || defined(__clang__)) && !defined(TOFT_NO_OS)
__attribute__((destructor)) static void toft_os_unload(void) {
  __atomic_store_n(&toft_os_unloading, 1, __ATOMIC_RELAXED);
  toft_profile_end();
  toft_background_thread_end();
  toft_thread_state_release();
  toft_leases_unload();
  toft_registry_end();
  toft_quarantine_flush(0);
  toft_findings_end();
  toft_cache_end();
#ifdef _WIN32
  if (toft_os_fls_index != FLS_OUT_OF_INDEXES) FlsFree(toft_os_fls_index);
  toft_os_fls_index = FLS_OUT_OF_INDEXES;
#else
  if (toft_os_have_key) pthread_key_delete(toft_os_key);
  toft_os_have_key = 0;
#endif
}
#endif
#if defined(_WIN32) && defined(__GNUC__) && !defined(__clang__) && (defined(__x86_64__) || defined(__i386__))
extern unsigned long _tls_index;
extern char _tls_start[];
static inline void *toft_own(const void *in_template) {
  unsigned char **modules;
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
#if defined(__SANITIZE_THREAD__) && !defined(__clang__) && __GNUC__ >= 11
#pragma GCC diagnostic ignored "-Wtsan"
#endif
#if defined(__GNUC__) || defined(__clang__)
#define TOFT_LOAD(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define TOFT_STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define TOFT_SWAP(p, v) __atomic_exchange_n(p, v, __ATOMIC_RELAXED)
#define TOFT_ADD(p, v) __atomic_add_fetch(p, v, __ATOMIC_RELAXED)
#define TOFT_LOAD_POINTER(T, p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define TOFT_STORE_POINTER(T, p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define TOFT_LOAD_ACQUIRE(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define TOFT_STORE_RELEASE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define TOFT_CAS_RELAXED(p, expected, to) \
  __atomic_compare_exchange_n(p, expected, to, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define TOFT_CAS_ACQUIRE(p, expected, to) \
  __atomic_compare_exchange_n(p, expected, to, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
#define TOFT_CLEAR_RELEASE(p) __atomic_store_n(p, 0, __ATOMIC_RELEASE)
#define TOFT_COMPILER_FENCE() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define TOFT_LOCK_TRY(l) (!__atomic_test_and_set(l, __ATOMIC_ACQUIRE))
#define TOFT_LOCK_IS_TAKEN(l) __atomic_load_n(l, __ATOMIC_RELAXED)
#define TOFT_UNLOCK(l) __atomic_clear(l, __ATOMIC_RELEASE)
#elif defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#define TOFT_LOAD(p) (*(volatile size_t *)(p))
#define TOFT_STORE(p, v) ((void)(*(volatile size_t *)(p) = (size_t)(v)))
#define TOFT_SWAP(p, v) ((size_t)_InterlockedExchange64((volatile __int64 *)(p), (__int64)(v)))
#define TOFT_ADD(p, v) ((size_t)_InterlockedExchangeAdd64((volatile __int64 *)(p), (__int64)(v)) + (size_t)(v))
#define TOFT_LOAD_POINTER(T, p) (*(T *volatile *)(p))
#define TOFT_STORE_POINTER(T, p, v) ((void)(*(T *volatile *)(p) = (v)))
TOFT_INLINE void *toft_load_pointer_acquire(void *const *p) {
  void *v = *(void *const volatile *)p;
  _ReadWriteBarrier();
  return v;
}
TOFT_INLINE size_t toft_load_acquire(size_t *p) {
  size_t v = *(volatile size_t *)p;
  _ReadWriteBarrier();
  return v;
}
#define TOFT_LOAD_ACQUIRE(p) toft_load_acquire(p)
#define TOFT_STORE_RELEASE(p, v) (_ReadWriteBarrier(), TOFT_STORE(p, v))
TOFT_INLINE int toft_cas(size_t *p, size_t *expected, size_t to) {
  size_t was = *expected;
  *expected = (size_t)_InterlockedCompareExchange64((volatile __int64 *)p, (__int64)to, (__int64)was);
  return *expected == was;
}
#define TOFT_CAS_RELAXED(p, expected, to) toft_cas(p, expected, to)
#define TOFT_CAS_ACQUIRE(p, expected, to) toft_cas(p, expected, to)
#define TOFT_CLEAR_RELEASE(p) ((void)TOFT_SWAP(p, 0))
#define TOFT_COMPILER_FENCE() _ReadWriteBarrier()
#define TOFT_LOCK_TRY(l) (_InterlockedExchange8((volatile char *)(l), 1) == 0)
#define TOFT_LOCK_IS_TAKEN(l) (*(volatile unsigned char *)(l))
#define TOFT_UNLOCK(l) ((void)_InterlockedExchange8((volatile char *)(l), 0))
#else
#error "toft: atomics for this compiler are missing: add them here"
#endif
#ifndef TOFT_SPINS_MAX
#define TOFT_SPINS_MAX 64
#endif
typedef unsigned char toft_lock;
static void toft_lock_take(toft_lock *l) {
  int spins = 0;
  while (!TOFT_LOCK_TRY(l))
    while (TOFT_LOCK_IS_TAKEN(l) != 0)
      if (++spins > TOFT_SPINS_MAX) toft_os_yield();
}
static int toft_lock_take_at_unload(toft_lock *l) {
  if (!TOFT_LOAD(&toft_os_unloading)) toft_lock_take(l);
  for (int i = 0; TOFT_LOAD(&toft_os_unloading) && !TOFT_LOCK_TRY(l); i++) {
    if (i == 1000) return 0;
    toft_os_yield();
  }
  return 1;
}
static size_t toft_fence_kind;
static int toft_fence_is_asymmetric(void) {
  size_t kind = TOFT_LOAD(&toft_fence_kind);
  if (TOFT_UNLIKELY(kind == 0)) {
    size_t answer = toft_os_fence_register() ? 1 : 2;
    if (TOFT_CAS_RELAXED(&toft_fence_kind, &kind, answer)) kind = answer;
  }
  return kind == 1;
}
static size_t toft_thread_count;
TOFT_PER_THREAD size_t toft_this_thread_id;
#define toft_this_thread_id TOFT_OWN(toft_this_thread_id)
static size_t toft_thread_id(void) {
  if (toft_this_thread_id == 0) toft_this_thread_id = TOFT_ADD(&toft_thread_count, 1);
  return toft_this_thread_id;
}
#if defined(__ELF__) && (defined(__GNUC__) || defined(__clang__))
#define TOFT_TOOL(name) __asm__(name) __attribute__((weak))
extern void toft_asan_poison(const volatile void *p, size_t n) TOFT_TOOL("__asan_poison_memory_region");
extern void toft_asan_unpoison(const volatile void *p, size_t n) TOFT_TOOL("__asan_unpoison_memory_region");
extern void *toft_asan_find_poison(void *p, size_t n) TOFT_TOOL("__asan_region_is_poisoned");
extern void toft_msan_unpoison(const volatile void *p, size_t n) TOFT_TOOL("__msan_unpoison");
extern void toft_msan_poison(const volatile void *p, size_t n) TOFT_TOOL("__msan_poison");
extern void toft_tsan_acquire(void *p) TOFT_TOOL("__tsan_acquire");
extern void toft_msan_allocated(const volatile void *p, size_t n) TOFT_TOOL("__msan_allocated_memory");
extern void toft_lsan_register(const void *p, size_t n) TOFT_TOOL("__lsan_register_root_region");
extern void toft_lsan_unregister(const void *p, size_t n) TOFT_TOOL("__lsan_unregister_root_region");
#define TOFT_CALL_TOOL(tool, p, n) ((tool) != NULL ? tool((p), (n)) : (void)0)
#define TOFT_HAS_SANITIZER() (toft_asan_poison != NULL || toft_msan_poison != NULL)
#else
#define TOFT_CALL_TOOL(tool, p, n) ((void)(p), (void)(n))
#define TOFT_HAS_SANITIZER() 0
#endif
#if (defined(__GNUC__) || defined(__clang__)) && defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define TOFT_VALGRIND(request, p, n) ((void)(__extension__ VALGRIND_MAKE_MEM_##request((p), (n))))
#define TOFT_HAS_MEMCHECK(p, n) ((__extension__ VALGRIND_MAKE_MEM_DEFINED((p), (n))) != 0)
#endif
#endif
#ifndef TOFT_VALGRIND
#define TOFT_VALGRIND(request, p, n) ((void)0)
#define TOFT_HAS_MEMCHECK(p, n) ((void)(p), (void)(n), 0)
#endif
static size_t toft_memory_tools;
static TOFT_COLD int toft_find_memory_tool(void) {
  char byte = 0;
  (void)byte;
  int found = TOFT_HAS_SANITIZER() || TOFT_HAS_MEMCHECK(&byte, 1);
  TOFT_STORE(&toft_memory_tools, found ? 2 : 1);
  return found;
}
TOFT_INLINE int toft_has_memory_tool(void) {
  size_t known = TOFT_LOAD(&toft_memory_tools);
  return TOFT_UNLIKELY(known != 1) && (known == 2 || toft_find_memory_tool());
}
typedef enum { TOFT_DEFINED, TOFT_NOACCESS, TOFT_UNDEFINED } toft_access;
static TOFT_COLD void toft_set_access_slow(const void *p, size_t n, toft_access access) {
  if (n == 0 || !toft_has_memory_tool()) return;
  if (access == TOFT_NOACCESS) {
    TOFT_CALL_TOOL(toft_asan_poison, p, n);
    TOFT_CALL_TOOL(toft_msan_poison, p, n);
    TOFT_VALGRIND(NOACCESS, p, n);
    return;
  }
  TOFT_CALL_TOOL(toft_asan_unpoison, p, n);
  if (access == TOFT_DEFINED) {
    TOFT_CALL_TOOL(toft_msan_unpoison, p, n);
    TOFT_VALGRIND(DEFINED, p, n);
  } else {
    TOFT_CALL_TOOL(toft_msan_allocated, p, n);
    TOFT_VALGRIND(UNDEFINED, p, n);
  }
}
TOFT_INLINE void toft_set_access(const void *p, size_t n, toft_access access) {
  if (TOFT_UNLIKELY(TOFT_LOAD(&toft_memory_tools) != 1)) toft_set_access_slow(p, n, access);
}
static void toft_unpoison(const void *p, size_t n) { toft_set_access(p, n, TOFT_DEFINED); }
static void toft_poison(const void *p, size_t n) { toft_set_access(p, n, TOFT_NOACCESS); }
static void toft_mark_undefined(const void *p, size_t n) { toft_set_access(p, n, TOFT_UNDEFINED); }
static void *toft_scan_begin(void *p, size_t n) {
  if (p != NULL) TOFT_CALL_TOOL(toft_lsan_register, p, n);
  return p;
}
static void toft_scan_end(const void *p, size_t n) {
  if (p != NULL) TOFT_CALL_TOOL(toft_lsan_unregister, p, n);
}
static void toft_mark_defined(const void *p, size_t n) {
  TOFT_CALL_TOOL(toft_msan_unpoison, p, n);
  (void)p, (void)n;
}
#if !defined(_WIN32) && !defined(TOFT_NO_OS)
#include <semaphore.h>
#include <signal.h>
static size_t toft_requested;
static size_t toft_request_has_thread;
static size_t toft_request_ends;
static int toft_request_signal;
static void (*toft_request_fn)(void);
static sem_t toft_request_semaphore;
static pthread_t toft_request_thread;
static void toft_request_handler(int number) {
  (void)number;
  if (TOFT_SWAP(&toft_requested, 1) == 0 && TOFT_LOAD(&toft_request_has_thread))
    (void)sem_post(&toft_request_semaphore);
}
static void *toft_request_wait(void *arg) {
  (void)arg;
  for (;;) {
    while (sem_wait(&toft_request_semaphore) != 0) continue;
    if (TOFT_LOAD(&toft_request_ends)) return NULL;
    if (TOFT_SWAP(&toft_requested, 0)) toft_request_fn();
  }
}
static void toft_request_start_thread(void) {
  sigset_t all, before;
  if (sem_init(&toft_request_semaphore, 0, 0) != 0) return;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  if (pthread_create(&toft_request_thread, NULL, toft_request_wait, NULL) == 0)
    (void)TOFT_SWAP(&toft_request_has_thread, 1);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}
static int toft_request_begin(int number, void (*fn)(void)) {
  struct sigaction ours, theirs;
  if (number == 0 || sigaction(number, NULL, &theirs) != 0 || (theirs.sa_flags & SA_SIGINFO) ||
      theirs.sa_handler != SIG_DFL)
    return 0;
  toft_request_fn = fn;
  toft_request_start_thread();
  memset(&ours, 0, sizeof ours);
  ours.sa_handler = toft_request_handler;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  (void)sigemptyset(&ours.sa_mask);
  if (sigaction(number, &ours, NULL) != 0) return 0;
  toft_request_signal = number;
  return 1;
}
static void toft_serve_request(void) {
  if (TOFT_LIKELY(!TOFT_LOAD(&toft_requested)) || TOFT_LOAD(&toft_request_has_thread)) return;
  if (TOFT_SWAP(&toft_requested, 0)) toft_request_fn();
}
static void toft_request_after_fork(void) { TOFT_STORE(&toft_request_has_thread, 0); }
static void toft_request_end(void) {
  struct sigaction now;
  if (toft_request_signal != 0 && sigaction(toft_request_signal, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
      now.sa_handler == toft_request_handler) {
    now.sa_handler = SIG_DFL;
    (void)sigaction(toft_request_signal, &now, NULL);
  }
  if (!TOFT_SWAP(&toft_request_has_thread, 0)) return;
  (void)TOFT_SWAP(&toft_request_ends, 1);
  (void)sem_post(&toft_request_semaphore);
  (void)pthread_join(toft_request_thread, NULL);
}
static int toft_signal_named(const char *name) {
  return strcmp(name, "USR1") == 0 ? SIGUSR1 : strcmp(name, "USR2") == 0 ? SIGUSR2 : 0;
}
#else
static int toft_request_begin(int number, void (*fn)(void)) { return (void)number, (void)fn, 0; }
static void toft_serve_request(void) {}
static void toft_request_after_fork(void) {}
static void toft_request_end(void) {}
static int toft_signal_named(const char *name) { return (void)name, 0; }
#endif
typedef struct toft_block_header toft_block_header;
struct toft_block_header {
  toft_block_header *next;
  union {
    toft_block_header *below;
    unsigned char *payload;
  } u;
  size_t size;
  uintptr_t epoch;
  unsigned char *used_end;
  size_t charge;
  toft_source *source;
  uint32_t index, kind;
};
typedef struct toft_cleanup_node {
  toft_cleanup user;
  struct toft_cleanup_node *older;
  uintptr_t epoch;
} toft_cleanup_node;
typedef struct toft_checks toft_checks;
typedef struct toft_instruments toft_instruments;
typedef struct toft_portion toft_portion;
enum {
  TOFT_PRISTINE = 1,
  TOFT_CLAIMED = 2,
  TOFT_BUSY = 4,
  TOFT_IS_CHECKED = 8,
  TOFT_INITIAL_IDLE = 16,
  TOFT_CACHEABLE = 32,
  TOFT_IN_BUFFER = 64,
  TOFT_INSTRUMENTED = 256,
  TOFT_REFUSED = 512,
  TOFT_ROUND_REFUSED = 2048,
  TOFT_KEEPS_BLOCKS = 4096,
  TOFT_RANGE_GROWS = 8192,
  TOFT_COUNTS_LIVE = 16384,
  TOFT_IN_REGION = 32768,
  TOFT_CLEARS = 65536,
  TOFT_IS_SUBJECT = 131072,
  TOFT_OBSERVED = 262144,
  TOFT_CACHE_OWNED = 1024
};
#define TOFT_REFUSING (TOFT_CLAIMED | TOFT_BUSY)
#define TOFT_PEAK_WINDOWS 8
#define TOFT_ROUNDS_PER_WINDOW 8
typedef struct toft_state {
  toft_arena head;
  unsigned char *end;
  unsigned char *synced;
  uint32_t state, rounds;
  uint64_t budget;
  toft_source *source;
  unsigned char *initial_start, *initial_end;
  size_t initial_size;
  uint64_t live, allocated, peak, round_peak, source_calls;
  toft_block_header *current, *newest;
  toft_block_header *spares;
  size_t spare_bytes, spare_keep;
  size_t first_size;
  uintptr_t
      trim_epoch;
  toft_cleanup_node *cleanups;
  toft_instruments *instruments;
  toft_checks *checks;
  toft_failure_fn *failure;
  void *failure_arg;
  unsigned char *claim_start, *claim_limit;
  uintptr_t claim_id;
  toft_block_header *side_block;
  toft_cleanup_node adopted;
  uint64_t adopted_live;
  toft_block_header initial;
  uint64_t window_peaks[TOFT_PEAK_WINDOWS];
  toft_portion *portion;
} toft_state;
#define TOFT_BLOCK_MIN 4096
#define TOFT_INITIAL_START 512
#define TOFT_HEADER 64
#define TOFT_HOOK_HEADER 16
TOFT_STATIC_ASSERT(block_header, sizeof(toft_block_header) <= TOFT_HEADER);
TOFT_STATIC_ASSERT(node, sizeof(toft_cleanup_node) == 4 * sizeof(void *));
TOFT_STATIC_ASSERT(state, sizeof(toft_state) <= 448);
TOFT_STATIC_ASSERT(granule, sizeof(void *) <= 8);
static void toft_release_all(toft_state *a);
static void toft_release_adopted(void *donor);
#define TOFT_CAP TOFT_MIB
#define TOFT_MERGE (64 * TOFT_MIB)
#define TOFT_SPARE (4 * TOFT_MIB)
#define TOFT_STAGGERED (64 * TOFT_KIB)
#define TOFT_MAX_REQUEST ((size_t)PTRDIFF_MAX / 2)
static size_t toft_round(size_t n, size_t to) { return (n + to - 1) & ~(to - 1); }
static size_t toft_min(size_t a, size_t b) { return a < b ? a : b; }
static size_t toft_max(size_t a, size_t b) { return a > b ? a : b; }
static size_t toft_pow2(size_t n) {
  size_t p = TOFT_BLOCK_MIN;
  while (p < n) p *= 2;
  return p;
}
static size_t toft_pad(const unsigned char *p, size_t align) { return (size_t)(0 - (uintptr_t)p) & (align - 1); }
static size_t toft_need(size_t size, size_t align) { return TOFT_ROUND8(size) + (align > 64 ? align - 64 : 0); }
static size_t toft_stagger(size_t block_size, uint32_t index) {
  return block_size > TOFT_STAGGERED ? TOFT_HEADER * (1 + (size_t)index % 8) : TOFT_HEADER;
}
static size_t toft_usable(size_t block_size) {
  return block_size - (block_size > TOFT_STAGGERED ? 8 * TOFT_HEADER : TOFT_HEADER);
}
static size_t toft_regular_size(size_t need, size_t next, int idle) {
  if (idle && need <= next - toft_min(next, 512)) return next;
  if (need <= TOFT_CAP / 4) return toft_max(next, toft_min(TOFT_CAP, toft_pow2(4 * need)));
  return 0;
}
static size_t toft_dedicated_size(size_t need) { return toft_round(need + TOFT_HEADER, TOFT_BLOCK_MIN); }
static size_t toft_least_size(size_t need) {
  size_t size = toft_dedicated_size(need);
  return size <= TOFT_STAGGERED ? size : toft_round(need + 8 * TOFT_HEADER, TOFT_BLOCK_MIN);
}
static size_t toft_merged_size(uint64_t high) {
  if (high >= TOFT_MERGE) return TOFT_MERGE;
  if (high <= TOFT_CAP) return toft_pow2((size_t)high);
  return toft_min(TOFT_MERGE, toft_round((size_t)high, TOFT_CAP));
}
typedef struct toft_round_memory {
  uint64_t high;
  size_t others;
  size_t dedicated_count;
  size_t single;
  size_t spare_bytes;
  size_t initial_usable;
  int initial_only;
  int limited;
  int refused;
} toft_round_memory;
typedef enum toft_retained_blocks {
  TOFT_RETAIN_NONE,
  TOFT_RETAIN_IN_PLACE,
  TOFT_RETAIN_UP_TO,
  TOFT_RETAIN_SPARE
} toft_retained_blocks;
typedef struct toft_retention {
  toft_retained_blocks blocks;
  int initial_idle;
  size_t at_least, at_most, bound;
  size_t first_size;
} toft_retention;
typedef struct toft_merge {
  size_t wanted, most, bound;
  int unmerged;
} toft_merge;
static toft_merge toft_decide_merge(const toft_round_memory *m, uint32_t policy, size_t keep) {
  uint64_t high = m->high;
  toft_merge merge;
  int alike = m->dedicated_count == 0 && m->others > TOFT_CAP;
  merge.wanted = toft_merged_size(high);
  merge.unmerged = high > TOFT_MERGE || (alike && high > TOFT_CAP);
  if (policy == TOFT_KEEP_ALL) {
    merge.wanted = toft_max(merge.wanted, toft_min(TOFT_MERGE, m->others));
    merge.most = SIZE_MAX;
    merge.unmerged = high > TOFT_MERGE || m->others > TOFT_MERGE || alike;
    merge.bound = m->others + m->spare_bytes;
  } else if (policy == TOFT_KEEP_BYTES) {
    merge.bound = toft_min(keep, TOFT_MAX_REQUEST);
    merge.wanted = toft_min(merge.wanted, toft_max(TOFT_BLOCK_MIN, toft_round(merge.bound, TOFT_BLOCK_MIN)));
    merge.most = toft_min(4 * merge.wanted, toft_max(merge.wanted, merge.bound));
    merge.unmerged = merge.unmerged && merge.bound > (high > TOFT_MERGE ? TOFT_MERGE : TOFT_CAP);
  } else {
    merge.most = 4 * merge.wanted;
    merge.bound =
        toft_round((size_t)(high < TOFT_MAX_REQUEST / 2 ? high + high / 2 : TOFT_MAX_REQUEST), TOFT_CAP) + TOFT_CAP;
  }
  return merge;
}
static toft_retention toft_decide_retention(const toft_round_memory *m, uint32_t policy, size_t keep) {
  toft_merge merge = toft_decide_merge(m, policy, keep);
  toft_retention r = {TOFT_RETAIN_NONE, 0, 0, 0, 0, 0};
  int fits = m->high <= m->initial_usable + 512 && (policy != TOFT_KEEP_ALL || m->others == 0);
  if (merge.wanted <= TOFT_BLOCK_MIN || fits || m->initial_only) return r;
  r.initial_idle = 1;
  if (m->limited && policy == TOFT_KEEP_RECENT) {
    r.first_size = merge.wanted;
  } else if (m->refused) {
    r.blocks = TOFT_RETAIN_UP_TO;
    r.bound = merge.bound;
    r.initial_idle = 0;
  } else if (m->single != 0 && m->high <= TOFT_MERGE && m->single >= merge.wanted && m->single <= merge.most) {
    r.blocks = TOFT_RETAIN_IN_PLACE;
  } else if (merge.unmerged) {
    r.blocks = TOFT_RETAIN_UP_TO;
    r.bound = merge.bound;
    r.first_size = TOFT_CAP;
  } else {
    if (m->others == 0) r.blocks = TOFT_RETAIN_SPARE;
    r.at_least = merge.wanted;
    r.at_most = merge.most;
    r.first_size = merge.wanted;
  }
  return r;
}
typedef struct toft_purgeable {
  struct toft_purgeable *next, *previous;
  size_t (*purge)(struct toft_purgeable *);
  size_t busy, purging;
  size_t window;
} toft_purgeable;
enum { TOFT_SURPLUS_NONE, TOFT_SURPLUS_BLOCKS, TOFT_SURPLUS_PAGES };
#define TOFT_ACCOUNT_STEP TOFT_MIB
#define TOFT_ACCOUNT_MARGIN (4 * TOFT_MIB)
#define TOFT_PAGE_WINDOW 500
#define TOFT_PURGES 32
static struct {
  size_t used, held;
  size_t peak[2];
  size_t most[2];
  size_t began, window;
  size_t surplus_since;
  size_t changed;
  size_t aged;
} toft_account;
typedef struct toft_account_change {
  size_t used, held;
  size_t window;
  size_t step;
  int is_known;
} toft_account_change;
TOFT_PER_THREAD toft_account_change toft_account_own;
#define toft_account_own TOFT_OWN(toft_account_own)
static struct {
  toft_lock lock;
  toft_purgeable *first, *last;
  size_t count;
} toft_purgeables;
static void toft_account_age(void);
static void toft_idle_memory_kept(void);
static size_t toft_page_window_setting = 0;
static size_t toft_page_setting(size_t *setting, const char *name, size_t otherwise) {
  size_t value = TOFT_LOAD(setting);
  if (TOFT_UNLIKELY(value == 0)) {
    size_t read = toft_os_env_number(name, otherwise) + 1;
    if (TOFT_CAS_RELAXED(setting, &value, read)) value = read;
  }
  return value - 1;
}
static size_t toft_page_window(void) {
  return toft_page_setting(&toft_page_window_setting, "TOFT_PAGE_CACHE_MS", TOFT_PAGE_WINDOW);
}
static size_t toft_account_value(size_t sum) { return sum <= SIZE_MAX / 2 ? sum : 0; }
static size_t toft_account_sum(const size_t *sum) { return toft_account_value(TOFT_LOAD(sum)); }
static size_t toft_account_idle(void) {
  return toft_account_value(TOFT_LOAD(&toft_account.held) - TOFT_LOAD(&toft_account.used));
}
static size_t toft_account_peak(void) {
  return toft_max(toft_account_sum(&toft_account.used),
                  toft_max(TOFT_LOAD(&toft_account.peak[0]), TOFT_LOAD(&toft_account.peak[1])));
}
static void toft_account_raise(size_t *peak, size_t bytes) {
  size_t before = TOFT_LOAD(peak);
  if (bytes <= SIZE_MAX / 2)
    while (bytes > before && !TOFT_CAS_RELAXED(peak, &before, bytes)) continue;
}
static size_t toft_account_turn(void) {
  size_t now = toft_os_milliseconds(), began = TOFT_LOAD(&toft_account.began), window = toft_page_window();
  size_t passed = now - began, used = toft_account_sum(&toft_account.used);
  if (passed < window || !TOFT_CAS_RELAXED(&toft_account.began, &began, now)) return TOFT_LOAD(&toft_account.window);
  TOFT_STORE(&toft_account.peak[1], passed < 2 * window ? TOFT_LOAD(&toft_account.peak[0]) : used);
  TOFT_STORE(&toft_account.most[1], passed < 2 * window ? TOFT_LOAD(&toft_account.most[0]) : used);
  TOFT_STORE(&toft_account.peak[0], used);
  TOFT_STORE(&toft_account.most[0], used);
  return TOFT_ADD(&toft_account.window, 1);
}
static void toft_account_add(size_t used, size_t held) {
  toft_account_raise(&toft_account.peak[0],
                     TOFT_ADD(&toft_account.used, used) + toft_account_own.used + toft_account_own.step / 2);
  if (held != 0) TOFT_ADD(&toft_account.held, held);
}
static size_t toft_account_cut(size_t *change, size_t step) {
  size_t before = *change, left = before <= SIZE_MAX / 2 ? step / 2 : 0 - step / 2;
  if (before + step / 2 <= step) return 0;
  *change = left;
  return before - left;
}
static int toft_account_flush(size_t step) {
  toft_account_change *own = &toft_account_own;
  size_t used = toft_account_cut(&own->used, step), held = toft_account_cut(&own->held, step);
  int only_rises = held == 0 && used <= SIZE_MAX / 2;
  size_t window = only_rises ? TOFT_LOAD(&toft_account.window) : toft_account_turn(), before = own->window;
  toft_account_add(used, held);
  own->window = window;
  if (TOFT_LOAD(&toft_account.changed) != window) TOFT_STORE(&toft_account.changed, window);
  return held != 0 || window != before;
}
static void toft_account_end(void) {
  if ((toft_account_own.used | toft_account_own.held) != 0) (void)toft_account_flush(0);
  toft_account_own.step = 0;
  toft_account_own.is_known = 1;
}
static size_t toft_account_excess(size_t *peak) {
  size_t used = toft_account_value(TOFT_LOAD(&toft_account.used) + toft_account_own.used);
  size_t held = toft_account_value(TOFT_LOAD(&toft_account.held) + toft_account_own.held);
  *peak = toft_max(toft_max(toft_account_peak(), used), TOFT_ACCOUNT_STEP);
  size_t kept = *peak + toft_max(toft_min(*peak, TOFT_ACCOUNT_MARGIN), *peak / 8);
  return held > kept ? held - kept : 0;
}
static size_t toft_account_room(void) {
  size_t most = toft_max(TOFT_LOAD(&toft_account.most[0]), TOFT_LOAD(&toft_account.most[1]));
  size_t peak = toft_max(toft_account_peak(), most), held = toft_account_sum(&toft_account.held);
  return peak > held ? peak - held : 0;
}
static void toft_purgeable_link(toft_purgeable *b) {
  b->previous = NULL;
  b->next = toft_purgeables.first;
  *(b->next != NULL ? &b->next->previous : &toft_purgeables.last) = b;
  toft_purgeables.first = b;
}
static void toft_purgeable_unlink(toft_purgeable *b) {
  *(b->previous != NULL ? &b->previous->next : &toft_purgeables.first) = b->next;
  *(b->next != NULL ? &b->next->previous : &toft_purgeables.last) = b->previous;
}
static TOFT_COLD void toft_purgeable_wait(toft_purgeable *b) {
  do {
    TOFT_STORE_RELEASE(&b->busy, 0);
    while (TOFT_LOAD(&b->purging) != 0) toft_os_yield();
    TOFT_STORE(&b->busy, 1);
    TOFT_COMPILER_FENCE();
  } while (TOFT_LOAD_ACQUIRE(&b->purging) != 0);
}
TOFT_INLINE void toft_purgeable_enter(toft_purgeable *b) {
  TOFT_STORE(&b->busy, 1);
  TOFT_COMPILER_FENCE();
  if (TOFT_UNLIKELY(TOFT_LOAD_ACQUIRE(&b->purging) != 0)) toft_purgeable_wait(b);
  TOFT_STORE(&b->window, TOFT_LOAD(&toft_account.window));
}
TOFT_INLINE void toft_purgeable_leave(toft_purgeable *b) {
  TOFT_STORE_RELEASE(&b->busy, 0);
}
static size_t toft_purge_some(size_t bytes, int all, size_t *left) {
  toft_purgeable *some[TOFT_PURGES], *b;
  size_t n = 0, done = 0, window = TOFT_LOAD(&toft_account.window);
  for (; *left > 0 && n < TOFT_PURGES; --*left) {
    b = toft_purgeables.last;
    toft_purgeable_unlink(b);
    toft_purgeable_link(b);
    if (!all && window - TOFT_LOAD(&b->window) < 2) continue;
    TOFT_STORE(&b->purging, 1);
    some[n++] = b;
  }
  int excluded = n != 0 && toft_os_fence_all();
  while (n-- > 0) {
    if (excluded && done < bytes && TOFT_LOAD_ACQUIRE(&some[n]->busy) == 0) done += some[n]->purge(some[n]);
    TOFT_STORE_RELEASE(&some[n]->purging, 0);
  }
  return done;
}
static TOFT_COLD void toft_purge(size_t bytes, int all) {
  size_t done = 0, left = SIZE_MAX;
  if (TOFT_LOAD(&toft_purgeables.count) == 0 || !toft_fence_is_asymmetric()) return;
  while (left > 0 && done < bytes) {
    if (!TOFT_LOCK_TRY(&toft_purgeables.lock)) return;
    left = toft_min(left, toft_purgeables.count);
    done += toft_purge_some(bytes - done, all, &left);
    TOFT_UNLOCK(&toft_purgeables.lock);
  }
  if (done == 0) return;
  TOFT_STORE(&toft_account.changed, TOFT_LOAD(&toft_account.window));
  toft_account_add(0, 0 - done);
}
static void toft_account_age(void) {
  size_t window = TOFT_LOAD(&toft_account.window), aged = TOFT_LOAD(&toft_account.aged), excess, peak;
  if (aged == window || !TOFT_CAS_RELAXED(&toft_account.aged, &aged, window)) return;
  if ((excess = toft_account_excess(&peak)) != 0) toft_purge(excess, 0);
}
static void toft_purge_at_fork(int phase) {
  if (phase == 0)
    toft_lock_take(&toft_purgeables.lock);
  else
    TOFT_UNLOCK(&toft_purgeables.lock);
}
#ifdef TOFT_RUNTIME
static size_t toft_held;
static size_t toft_heap_freed;
#define TOFT_HELD_MORE(bytes) ((void)TOFT_ADD(&toft_held, (size_t)(bytes)))
#define TOFT_HELD_LESS(bytes) ((void)TOFT_ADD(&toft_held, (size_t)0 - (size_t)(bytes)))
size_t toft_held_bytes(void) { return TOFT_LOAD(&toft_held); }
#else
#define TOFT_HELD_MORE(bytes) ((void)(bytes))
#define TOFT_HELD_LESS(bytes) ((void)(bytes))
#endif
#if defined(MADV_HUGEPAGE) && !defined(TOFT_OMIT_PAGE_CACHE)
#define TOFT_FRESH_SLOW 1000000
#define TOFT_FRESH_LEAST (8 * TOFT_HUGE_PAGE)
#define TOFT_FRESH_MOST (64 * TOFT_HUGE_PAGE)
#define TOFT_FRESH_POPULATED (16 * TOFT_HUGE_PAGE)
#define TOFT_FRESH_NONE 20000
static struct {
  size_t mapped;
  size_t small;
  size_t after;
  size_t is_refused;
  size_t wholes;
} toft_fresh;
static void toft_fresh_measured(int slow) {
  size_t after = slow ? toft_max(TOFT_FRESH_LEAST, 2 * TOFT_LOAD(&toft_fresh.after)) : 0;
  TOFT_STORE(&toft_fresh.after, toft_min(after, TOFT_FRESH_MOST));
  TOFT_STORE(&toft_fresh.small, toft_min(after, TOFT_FRESH_MOST));
}
static void toft_fresh_touch(unsigned char *p) {
  uint64_t began = toft_os_nanoseconds(), passed;
  *(volatile unsigned char *)p = 0;
  passed = toft_os_nanoseconds() - began;
  if (passed > TOFT_FRESH_NONE) toft_fresh_measured(passed > TOFT_FRESH_SLOW);
}
static void *toft_fresh_map(void *at) {
  size_t size = TOFT_HUGE_PAGE, small = TOFT_LOAD(&toft_fresh.small), mapped = TOFT_ADD(&toft_fresh.mapped, size);
  int huge = small == 0 && mapped > size;
  unsigned char *p = (unsigned char *)(at != NULL ? at : toft_os_map(size, huge));
  if (p == NULL) return NULL;
  if (huge && at != NULL) toft_os_prefer_huge_pages(p, size);
  if (huge) toft_fresh_touch(p);
  if (small != 0) {
    TOFT_STORE(&toft_fresh.small, small - toft_min(small, size));
    toft_os_prefer_small_pages(p, size);
  }
  if (mapped <= TOFT_FRESH_POPULATED || TOFT_LOAD(&toft_fresh.is_refused)) return p;
  if (!toft_os_populate(p, size))
    TOFT_STORE(&toft_fresh.is_refused, 1);
  else if (small != 0)
    toft_os_prefer_huge_pages(p, size);
  return p;
}
static void *toft_fresh_map_whole(size_t size) {
  TOFT_ADD(&toft_fresh.wholes, 1);
  return toft_os_map(size, 1);
}
#else
static void *toft_fresh_map_whole(size_t size) { return toft_os_map(size, 1); }
static void *toft_fresh_map(void *at) { return at != NULL ? at : toft_os_map(TOFT_HUGE_PAGE, 1); }
#endif
static void *toft_page_map(size_t size, int is_filled) {
  void *p = is_filled ? toft_fresh_map(NULL) : toft_fresh_map_whole(size);
  if (p != NULL) TOFT_HELD_MORE(size);
  return p;
}
static void toft_page_unmap(void *p, size_t size) {
  if (toft_os_unmap(p, size)) TOFT_HELD_LESS(size);
}
static void toft_background_thread_forget(void);
#define TOFT_PAGE_RANGES_MAX 256
#ifndef TOFT_PAGE_LOCK_ATTEMPTS
#define TOFT_PAGE_LOCK_ATTEMPTS 512
#endif
#define TOFT_PAGE_VICTIMS 16
#define TOFT_PAGE_LIMIT (sizeof(void *) == 8 ? 256 * TOFT_MIB : 32 * TOFT_MIB)
#define TOFT_PAGE_LAZY (32 * TOFT_MIB)
#define TOFT_PAGE_SLOW 10000
#define TOFT_PAGE_SLOW_CALLS 4
typedef struct toft_page_range {
  unsigned char *start;
  size_t size;
} toft_page_range;
static struct {
  toft_lock lock;
  unsigned ranges;
  unsigned slow_calls;
  toft_page_range range[TOFT_PAGE_RANGES_MAX];
} toft_free_pages;
static size_t toft_page_bytes;
static size_t toft_page_limit_setting = 0;
static size_t toft_page_limit(void) {
  return toft_page_setting(&toft_page_limit_setting, "TOFT_PAGE_CACHE", TOFT_PAGE_LIMIT);
}
static int toft_page_cache_lock(void) {
  for (int i = 0; i < TOFT_PAGE_LOCK_ATTEMPTS; i++) {
    if (!TOFT_LOCK_IS_TAKEN(&toft_free_pages.lock) && TOFT_LOCK_TRY(&toft_free_pages.lock)) return 1;
    if (i >= TOFT_SPINS_MAX) toft_os_yield();
  }
  return 0;
}
static unsigned toft_page_find(const unsigned char *p) {
  unsigned low = 0, high = toft_free_pages.ranges;
  while (low < high) {
    unsigned middle = (low + high) / 2;
    if (toft_free_pages.range[middle].start < p)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
static void toft_page_erase(unsigned i) {
  toft_page_range *r = toft_free_pages.range;
  memmove(r + i, r + i + 1, (--toft_free_pages.ranges - i) * sizeof *r);
}
static void toft_page_free_lazily(const unsigned char *p, size_t size) {
#if TOFT_OS_CAN_SPLIT
  const toft_page_range *r = &toft_free_pages.range[toft_page_find(p + 1) - 1];
  uintptr_t page = TOFT_HUGE_PAGE, low = (uintptr_t)p & ~(page - 1);
  uintptr_t high = ((uintptr_t)p + size + page - 1) & ~(page - 1), end = (uintptr_t)r->start + r->size;
  if (low < (uintptr_t)r->start) low += page;
  if (high > end) high -= page;
  if (low >= high || toft_free_pages.slow_calls == TOFT_PAGE_SLOW_CALLS) return;
  uint64_t began = toft_os_nanoseconds();
  toft_os_free_lazily((unsigned char *)low, high - low);
  int slow = toft_os_nanoseconds() - began > (high - low) / TOFT_HUGE_PAGE * TOFT_PAGE_SLOW;
  toft_free_pages.slow_calls = slow ? toft_free_pages.slow_calls + 1 : 0;
#else
  (void)p, (void)size;
#endif
}
static int toft_page_insert(unsigned char *p, size_t size) {
  toft_page_range *r = toft_free_pages.range;
  unsigned i = toft_page_find(p), n = toft_free_pages.ranges;
  int joins_low = TOFT_OS_CAN_SPLIT && i > 0 && r[i - 1].start + r[i - 1].size == p;
  int joins_high = TOFT_OS_CAN_SPLIT && i < n && p + size == r[i].start;
  if (joins_low) {
    r[i - 1].size += size + (joins_high ? r[i].size : 0);
    if (joins_high) toft_page_erase(i);
  } else if (joins_high) {
    r[i].start = p;
    r[i].size += size;
  } else {
    if (n == TOFT_PAGE_RANGES_MAX) return 0;
    memmove(r + i + 1, r + i, (n - i) * sizeof *r);
    r[i].start = p;
    r[i].size = size;
    toft_free_pages.ranges++;
  }
  TOFT_STORE(&toft_page_bytes, toft_page_bytes + size);
  if (toft_page_bytes > TOFT_PAGE_LAZY) toft_page_free_lazily(p, size);
  return 1;
}
static unsigned char *toft_page_remove(size_t size) {
  toft_page_range *r = toft_free_pages.range, *best = NULL;
  for (unsigned i = 0; i < toft_free_pages.ranges && (best == NULL || best->size != size); i++) {
    int serves = r[i].size == size || (TOFT_OS_CAN_SPLIT && r[i].size > size);
    if (serves && (best == NULL || r[i].size < best->size)) best = &r[i];
  }
  if (best == NULL) return NULL;
  unsigned char *p = best->start;
  best->start += size;
  best->size -= size;
  if (best->size == 0) toft_page_erase((unsigned)(best - r));
  TOFT_STORE(&toft_page_bytes, toft_page_bytes - size);
  return p;
}
static unsigned toft_page_evict(size_t keep, size_t limit, toft_page_range *victims) {
  unsigned n = 0;
  for (unsigned i = toft_free_pages.ranges; i-- > 0 && n < TOFT_PAGE_VICTIMS && toft_page_bytes > keep;) {
    toft_page_range *r = &toft_free_pages.range[i];
    size_t surplus = toft_page_bytes - keep, kept = 0;
    if (r->size > surplus && (TOFT_OS_CAN_SPLIT || toft_page_bytes <= limit)) {
      uintptr_t start = (uintptr_t)r->start, cut = start + (r->size - surplus) + TOFT_HUGE_PAGE - 1;
      kept = (size_t)((cut & ~(uintptr_t)(TOFT_HUGE_PAGE - 1)) - start);
      if (!TOFT_OS_CAN_SPLIT || kept >= r->size) continue;
    }
    victims[n].start = r->start + kept;
    victims[n].size = r->size - kept;
    TOFT_STORE(&toft_page_bytes, toft_page_bytes - victims[n++].size);
    r->size = kept;
    if (kept == 0) toft_page_erase(i);
  }
  return n;
}
static void toft_page_cache_unlock(size_t limit) {
  toft_page_range victims[TOFT_PAGE_VICTIMS];
  unsigned n;
  do {
    n = toft_page_evict(toft_min(toft_account_room(), limit), limit, victims);
    TOFT_UNLOCK(&toft_free_pages.lock);
    for (unsigned i = 0; i < n; i++) toft_page_unmap(victims[i].start, victims[i].size);
  } while (n == TOFT_PAGE_VICTIMS && toft_page_cache_lock());
  toft_account_age();
}
static void toft_page_cache_before_fork(void) { toft_lock_take(&toft_free_pages.lock); }
static void toft_page_cache_after_fork(void) { TOFT_UNLOCK(&toft_free_pages.lock); }
static void toft_page_cache_in_child(void) {
  TOFT_UNLOCK(&toft_free_pages.lock);
  toft_background_thread_forget();
}
static void toft_page_cache_arm_fork(void) {
  static size_t armed;
  size_t before = 0;
  if (TOFT_LOAD(&armed) == 0 && TOFT_CAS_RELAXED(&armed, &before, 1))
    toft_os_at_fork(toft_page_cache_before_fork, toft_page_cache_after_fork, toft_page_cache_in_child);
}
static void toft_page_count(size_t size) {
  (void)toft_account_turn();
  toft_account_add(size, size);
  if (size <= SIZE_MAX / 2) toft_account_raise(&toft_account.most[0], toft_account_sum(&toft_account.held));
}
static void toft_page_cache_drop(void) {
  if (TOFT_LOAD(&toft_page_bytes) != 0 && toft_page_cache_lock()) toft_page_cache_unlock(0);
}
TOFT_COLD void toft_page_cache_age(void) {
  (void)toft_account_turn();
  if (TOFT_LOAD(&toft_page_bytes) != 0 && toft_page_cache_lock()) toft_page_cache_unlock(toft_page_limit());
  toft_account_age();
}
static TOFT_COLD void *toft_page_cache_map(size_t size) {
  int half = TOFT_OS_CAN_SPLIT && size == TOFT_HUGE_PAGE / 2 && toft_page_limit() >= TOFT_HUGE_PAGE / 2;
  unsigned char *p = half ? (unsigned char *)toft_page_map(TOFT_HUGE_PAGE, 1) : NULL;
  if (p == NULL) half = 0, p = (unsigned char *)toft_page_map(size, 0);
  if (p == NULL) {
    toft_page_cache_drop();
    if ((p = (unsigned char *)toft_page_map(size, 0)) == NULL) return NULL;
  }
  toft_page_cache_arm_fork();
  toft_page_count(size);
  if (half) toft_account_raise(&toft_account.most[0], toft_account_sum(&toft_account.held) + size);
  if (toft_page_cache_lock()) {
    if (half && toft_page_insert(p + size, size)) half = 0;
    toft_page_cache_unlock(toft_page_limit());
  }
  if (half) toft_page_unmap(p + size, size);
  return p;
}
static void *toft_page_cache_take(size_t size) {
  size = toft_os_page(size);
  if (TOFT_LOAD(&toft_page_bytes) >= size && toft_page_cache_lock()) {
    void *p = toft_page_remove(size);
    if (p != NULL) toft_page_count(size);
    toft_page_cache_unlock(toft_page_limit());
    if (p != NULL) return p;
  }
  return toft_page_cache_map(size);
}
static void toft_page_cache_put(void *p, size_t size) {
  size = toft_os_page(size);
  size_t limit = toft_page_limit();
  toft_page_count(0 - size);
  if (limit >= size && toft_page_cache_lock()) {
    int kept = toft_page_insert((unsigned char *)p, size);
    toft_page_cache_unlock(limit);
    if (kept) {
      toft_idle_memory_kept();
      return;
    }
  }
  toft_page_unmap(p, size);
}
size_t toft_page_cache_limit(size_t bytes) {
  size_t before = toft_page_limit();
  TOFT_STORE(&toft_page_limit_setting, (bytes < SIZE_MAX / 2 ? bytes : SIZE_MAX / 2) + 1);
  if (TOFT_LOAD(&toft_page_bytes) > bytes && toft_page_cache_lock()) toft_page_cache_unlock(bytes);
  return before;
}
size_t toft_page_cache_window(size_t milliseconds) {
  size_t before = toft_page_window();
  TOFT_STORE(&toft_page_window_setting, (milliseconds < SIZE_MAX / 4 ? milliseconds : SIZE_MAX / 4) + 1);
  return before;
}
size_t toft_page_cache_bytes(void) { return TOFT_LOAD(&toft_page_bytes); }
#if defined(TOFT_OMIT_PAGE_CACHE) || defined(TOFT_NO_OS) || defined(_WIN32) || defined(__wasi__)
static void toft_idle_memory_kept(void) {}
static void toft_background_thread_forget(void) {}
static void toft_background_thread_end(void) {}
int toft_background_thread(int on) { return on ? TOFT_ENOSYS : TOFT_OK; }
#else
#ifndef TOFT_BACKGROUND_DEFAULT
#define TOFT_BACKGROUND_DEFAULT 0
#endif
enum { TOFT_BACKGROUND_NONE, TOFT_BACKGROUND_RUNS, TOFT_BACKGROUND_ENDED, TOFT_BACKGROUND_CHANGES };
static struct {
  size_t setting;
  size_t state;
  toft_os_thread thread;
  toft_os_mutex mutex;
  toft_os_condition stopped;
  int stops;
} toft_background = {0, 0, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
static int toft_background_is_on(void) {
  return toft_page_setting(&toft_background.setting, "TOFT_BACKGROUND_THREAD", TOFT_BACKGROUND_DEFAULT) != 0;
}
static int toft_background_has_work(void) {
  if (TOFT_LOAD(&toft_page_bytes) != 0) return 1;
  return TOFT_LOAD(&toft_account.window) - TOFT_LOAD(&toft_account.changed) < 4 &&
         toft_account_idle() > TOFT_ACCOUNT_STEP;
}
static int toft_background_wait(void) {
  size_t window = toft_page_window();
  toft_os_mutex_take(&toft_background.mutex);
  if (!toft_background.stops)
    toft_os_wait_for(&toft_background.stopped, &toft_background.mutex, window < 10 ? 10 : window);
  int goes_on = !toft_background.stops;
  toft_os_mutex_drop(&toft_background.mutex);
  return goes_on;
}
static void *toft_background_run(void *unused) {
  size_t ended = TOFT_BACKGROUND_ENDED;
  int goes_on = 1;
  (void)unused;
  do {
    while (goes_on && toft_background_has_work()) {
      goes_on = toft_background_wait();
      toft_page_cache_age();
    }
    TOFT_STORE(&toft_background.state, ended);
  } while (goes_on && toft_background_has_work() &&
           TOFT_CAS_RELAXED(&toft_background.state, &ended, TOFT_BACKGROUND_RUNS));
  return NULL;
}
static TOFT_COLD void toft_background_start(void) {
  size_t state = TOFT_LOAD(&toft_background.state);
  if (state == TOFT_BACKGROUND_RUNS || state == TOFT_BACKGROUND_CHANGES || TOFT_LOAD(&toft_os_unloading)) return;
  if (!TOFT_CAS_RELAXED(&toft_background.state, &state, TOFT_BACKGROUND_CHANGES)) return;
  if (state == TOFT_BACKGROUND_ENDED) toft_os_thread_join(toft_background.thread);
  toft_os_mutex_take(&toft_background.mutex);
  toft_background.stops = 0;
  toft_os_mutex_drop(&toft_background.mutex);
  TOFT_STORE(&toft_background.state, TOFT_BACKGROUND_RUNS);
  if (!toft_os_thread_start(&toft_background.thread, toft_background_run))
    TOFT_STORE(&toft_background.state, TOFT_BACKGROUND_NONE);
}
static void toft_idle_memory_kept(void) {
  if (TOFT_UNLIKELY(toft_background_is_on())) toft_background_start();
}
static void toft_background_thread_end(void) {
  size_t state = TOFT_LOAD(&toft_background.state);
  if (state == TOFT_BACKGROUND_NONE || state == TOFT_BACKGROUND_CHANGES) return;
  toft_os_mutex_take(&toft_background.mutex);
  toft_background.stops = 1;
  toft_os_wake_all(&toft_background.stopped);
  toft_os_mutex_drop(&toft_background.mutex);
  toft_os_thread_join(toft_background.thread);
  TOFT_STORE(&toft_background.state, TOFT_BACKGROUND_NONE);
}
static void toft_background_thread_forget(void) {
  static const toft_os_mutex mutex = PTHREAD_MUTEX_INITIALIZER;
  static const toft_os_condition condition = PTHREAD_COND_INITIALIZER;
  toft_background.mutex = mutex;
  toft_background.stopped = condition;
  toft_background.stops = 0;
  TOFT_STORE(&toft_background.state, TOFT_BACKGROUND_NONE);
}
int toft_background_thread(int on) {
  TOFT_STORE(&toft_background.setting, on ? 2 : 1);
  if (on && toft_background_has_work()) toft_background_start();
  if (!on) toft_background_thread_end();
  return TOFT_OK;
}
#endif
#define TOFT_UNIT ((size_t)32768)
#define TOFT_UNIT_RECORD (TOFT_UNIT - 512)
typedef struct toft_unit_record {
  unsigned char *next;
  struct toft_chunk *chunk;
} toft_unit_record;
static toft_unit_record *toft_record_of_unit(unsigned char *unit) {
  return (toft_unit_record *)(void *)(unit + TOFT_UNIT_RECORD) - 1;
}
typedef struct toft_chunk {
  struct toft_chunk *next, *previous;
  uint64_t all, free;
  size_t size;
} toft_chunk;
static toft_lock toft_chunks_lock;
static toft_chunk *toft_chunks;
static unsigned char *toft_chunk_units(toft_chunk *c) {
  uintptr_t at = (uintptr_t)c + sizeof *c + TOFT_UNIT - 1;
  return (unsigned char *)(at - at % TOFT_UNIT);
}
static void toft_chunk_link(toft_chunk *c) {
  c->previous = NULL;
  c->next = toft_chunks;
  if (c->next != NULL) c->next->previous = c;
  toft_chunks = c;
}
static void toft_chunk_unlink(const toft_chunk *c) {
  *(c->previous != NULL ? &c->previous->next : &toft_chunks) = c->next;
  if (c->next != NULL) c->next->previous = c->previous;
}
static void toft_chunk_put(unsigned char *unit) {
  toft_chunk *c = toft_record_of_unit(unit)->chunk;
  (void)toft_os_forget(unit, TOFT_UNIT);
  toft_lock_take(&toft_chunks_lock);
  size_t index = (size_t)(unit - toft_chunk_units(c)) / TOFT_UNIT;
  if (c->free == 0) toft_chunk_link(c);
  c->free |= (uint64_t)1 << index;
  int is_last = c->free == c->all;
  size_t size = c->size;
  if (is_last) toft_chunk_unlink(c);
  TOFT_UNLOCK(&toft_chunks_lock);
  if (is_last && toft_os_unmap(c, size)) TOFT_HELD_LESS(size);
}
static void toft_chunks_at_fork(int phase) {
  if (phase == 0)
    toft_lock_take(&toft_chunks_lock);
  else
    TOFT_UNLOCK(&toft_chunks_lock);
}
#define TOFT_CACHE_BINS 8
#define TOFT_CACHE_PROBES_MAX 16
#define TOFT_CACHE_AGE 64
enum { TOFT_CACHE_NEW = 0, TOFT_CACHE_OPEN = 1, TOFT_CACHE_CLOSED = 2 };
typedef struct toft_cached_block {
  struct toft_cached_block *next;
  size_t size;
} toft_cached_block;
typedef struct toft_cache {
  toft_state *ready;
  size_t bytes;
  uintptr_t epoch;
  int phase;
  unsigned blocks;
  toft_cached_block *bins[TOFT_CACHE_BINS];
  unsigned char *units;
} toft_cache;
TOFT_PER_THREAD toft_cache toft_thread_cache;
#define toft_thread_cache TOFT_OWN(toft_thread_cache)
static size_t toft_cache_limit_bytes = 4 * TOFT_MIB;
static TOFT_COLD int toft_cache_open(size_t size) {
  toft_cache *c = &toft_thread_cache;
  if (c->phase == TOFT_CACHE_CLOSED || size > TOFT_LOAD(&toft_cache_limit_bytes)) return 0;
  c->phase = toft_os_arm_thread_exit() ? TOFT_CACHE_OPEN : TOFT_CACHE_CLOSED;
  return c->phase == TOFT_CACHE_OPEN;
}
TOFT_INLINE int toft_cache_accepts(size_t size) {
  toft_cache *c = &toft_thread_cache;
  if (TOFT_UNLIKELY(c->phase != TOFT_CACHE_OPEN) && !toft_cache_open(size)) return 0;
  return c->bytes + size <= TOFT_LOAD(&toft_cache_limit_bytes);
}
static unsigned toft_cache_bin(size_t size) {
  unsigned bin = 0;
  while (size >= 2 * TOFT_BLOCK_MIN) size /= 2, bin++;
  return bin;
}
static void *toft_cache_take(size_t size, size_t align) {
  toft_cache *c = &toft_thread_cache;
  unsigned bin = toft_cache_bin(size);
  int probes = TOFT_CACHE_PROBES_MAX;
  for (toft_cached_block **at = &c->bins[bin]; *at != NULL && probes-- > 0; at = &(*at)->next) {
    toft_cached_block *b = *at;
    if (b->size == size && ((uintptr_t)b & (align - 1)) == 0) {
      *at = b->next;
      c->bytes -= size;
      return b;
    }
  }
  return NULL;
}
static int toft_cache_put(void *block, size_t size) {
  if (!toft_cache_accepts(size)) return 0;
  toft_cached_block *b = (toft_cached_block *)block, **bin = &toft_thread_cache.bins[toft_cache_bin(size)];
  b->next = *bin;
  b->size = size;
  *bin = b;
  toft_thread_cache.bytes += size;
  return 1;
}
static void *toft_heap_get(size_t size, size_t align) {
#ifdef TOFT_RUNTIME
  unsigned char *chunk = (unsigned char *)malloc(size + align + sizeof chunk);
  if (chunk == NULL) return NULL;
  unsigned char *block = chunk + sizeof chunk + toft_pad(chunk + sizeof chunk, align);
  memcpy(block - sizeof chunk, &chunk, sizeof chunk);
#else
  void *block = toft_os_heap_take(size, align);
  if (block == NULL) return NULL;
#endif
  TOFT_HELD_MORE(size);
  return block;
}
static void toft_heap_return(void *block, size_t size) {
#ifdef TOFT_RUNTIME
  void *chunk;
  memcpy(&chunk, (unsigned char *)block - sizeof chunk, sizeof chunk);
  free(chunk);
  (void)TOFT_ADD(&toft_heap_freed, size);
#else
  toft_os_heap_put(block);
#endif
  TOFT_HELD_LESS(size);
}
static void toft_cache_put_blocks(void) {
  toft_cache *c = &toft_thread_cache;
  for (toft_state *a; (a = c->ready) != NULL;) {
    c->ready = (toft_state *)(void *)a->synced;
    c->bytes -= TOFT_BLOCK_MIN;
    toft_heap_return(a, TOFT_BLOCK_MIN);
  }
  for (unsigned char *unit; (unit = c->units) != NULL;) {
    c->units = toft_record_of_unit(unit)->next;
    c->bytes -= TOFT_UNIT;
    toft_chunk_put(unit);
  }
  for (unsigned bin = 0; bin < TOFT_CACHE_BINS; bin++) {
    for (toft_cached_block *b; (b = c->bins[bin]) != NULL;) {
      c->bins[bin] = b->next;
      c->bytes -= b->size;
      toft_heap_return(b, b->size);
    }
  }
}
TOFT_INLINE void toft_heap_count_block(void) {
  if (TOFT_UNLIKELY(++toft_thread_cache.blocks % TOFT_CACHE_AGE == 0)) toft_page_cache_age();
}
static TOFT_COLD void *toft_heap_take_after_refusal(size_t size, size_t align) {
  toft_cache_put_blocks();
  toft_page_cache_drop();
  return toft_heap_get(size, align);
}
static void *toft_heap_take_aligned(size_t size, size_t align) {
  if (size >= TOFT_CAP) return toft_scan_begin(toft_page_cache_take(size), size);
  toft_heap_count_block();
  void *block = toft_cache_take(size, align);
  if (block == NULL) block = toft_heap_get(size, align);
  return TOFT_LIKELY(block != NULL) ? block : toft_heap_take_after_refusal(size, align);
}
static void *toft_heap_take(toft_source *self, size_t size) {
  (void)self;
  return toft_heap_take_aligned(size, 64);
}
static void toft_heap_put(toft_source *self, void *block, size_t size) {
  (void)self;
  if (size >= TOFT_CAP) {
    toft_scan_end(block, size);
    toft_page_cache_put(block, size);
    return;
  }
  toft_heap_count_block();
  if (!toft_cache_put(block, size)) toft_heap_return(block, size);
}
static toft_source toft_heap_source = {toft_heap_take, toft_heap_put, NULL};
toft_source *toft_heap(void) { return &toft_heap_source; }
#define TOFT_EPOCH_STEP ((uintptr_t)1 << (sizeof(uintptr_t) == 8 ? 16 : 8))
#define TOFT_EPOCH_STRIDE ((uintptr_t)1 << (sizeof(uintptr_t) == 8 ? 44 : 24))
static size_t toft_epoch_threads;
static TOFT_COLD uintptr_t toft_thread_epoch_init(void) {
  return toft_thread_cache.epoch = TOFT_ADD(&toft_epoch_threads, 1) * TOFT_EPOCH_STRIDE + TOFT_EPOCH_STEP;
}
TOFT_INLINE uintptr_t toft_first_epoch(void) {
  uintptr_t last = toft_thread_cache.epoch;
  return (TOFT_LIKELY(last != 0) ? (toft_thread_cache.epoch = last + TOFT_EPOCH_STEP) : toft_thread_epoch_init()) | 2;
}
static void toft_skip_epochs(uintptr_t epoch) {
  toft_cache *c = &toft_thread_cache;
  if (c->epoch != 0 && epoch - c->epoch < TOFT_EPOCH_STRIDE / 2) c->epoch = epoch & ~(uintptr_t)1;
}
TOFT_INLINE toft_state *toft_cache_pop(void) {
  toft_cache *c = &toft_thread_cache;
  toft_state *a = c->ready;
  if (TOFT_LIKELY(a != NULL)) {
    c->ready = (toft_state *)(void *)a->synced;
    c->bytes -= TOFT_BLOCK_MIN;
    a->synced = a->initial_start;
  }
  return a;
}
TOFT_INLINE void toft_cache_push(toft_state *a) {
  toft_cache *c = &toft_thread_cache;
  a->head.epoch += 2;
  a->synced = (unsigned char *)c->ready;
  c->ready = a;
  c->bytes += TOFT_BLOCK_MIN;
}
size_t toft_cache_limit(size_t bytes) { return TOFT_SWAP(&toft_cache_limit_bytes, bytes); }
size_t toft_cache_bytes(void) { return toft_thread_cache.bytes; }
static void toft_cache_empty(void) {
  toft_thread_release_leases();
  toft_pool_drop_kept();
  toft_cache_put_blocks();
}
void toft_cache_trim(void) {
  toft_cache_empty();
  toft_page_cache_drop();
  toft_purge(SIZE_MAX, 1);
}
#ifdef TOFT_RUNTIME
void toft_heap_trim(size_t least) {
  if (TOFT_LOAD(&toft_heap_freed) < toft_max(least, 1)) return;
  (void)TOFT_SWAP(&toft_heap_freed, 0);
  toft_os_heap_trim();
}
#endif
static void toft_cache_end(void) {
  toft_thread_state_release();
  toft_cache_empty();
  toft_thread_cache.phase = TOFT_CACHE_CLOSED;
  toft_account_end();
  if (TOFT_LOAD(&toft_os_unloading)) toft_page_cache_drop();
}
typedef struct toft_region_calls {
  void *(*take)(toft_source *self, size_t size);
  void (*enlist)(toft_source *region, toft_state *a);
  int (*admits)(const toft_source *region, const void *p);
} toft_region_calls;
static const toft_region_calls *toft_regions;
static void *toft_limited_source_take(toft_source *self, size_t size);
static TOFT_COLD toft_source *toft_region_among(toft_source *source, const toft_region_calls *calls) {
  while (source != NULL && source->take == toft_limited_source_take)
    source = ((toft_limited_source *)(void *)source)->inner;
  return source != NULL && source->take == calls->take ? source : NULL;
}
TOFT_INLINE toft_source *toft_region_under(toft_source *source) {
  const toft_region_calls *calls = TOFT_LOAD_POINTER(const toft_region_calls, &toft_regions);
  return calls != NULL ? toft_region_among(source, calls) : NULL;
}
static int toft_region_refuses(toft_source *source, const void *p) {
  toft_source *region = toft_region_under(source);
  return region != NULL &&
         !TOFT_LOAD_POINTER(const toft_region_calls, &toft_regions)->admits(region, p != NULL ? p : region);
}
typedef struct toft_region_arena_link {
  struct toft_region_arena_link *older, **at;
  toft_source *region;
  uint64_t number;
} toft_region_arena_link;
#define TOFT_REGION_LINK (TOFT_INITIAL_START - sizeof(toft_region_arena_link))
TOFT_STATIC_ASSERT(region_link, sizeof(toft_state) <= TOFT_REGION_LINK);
static toft_region_arena_link *toft_region_link_of(toft_state *a) {
  return (toft_region_arena_link *)(void *)((unsigned char *)a + TOFT_REGION_LINK);
}
static toft_source *toft_region_of(toft_state *a) {
  return a->state & TOFT_IN_REGION ? toft_region_link_of(a)->region : NULL;
}
static void toft_region_unlist(toft_state *a) {
  if (!(a->state & TOFT_IN_REGION)) return;
  toft_region_arena_link *link = toft_region_link_of(a);
  *link->at = link->older;
  if (link->older != NULL) link->older->at = link->at;
  a->state &= ~(uint32_t)TOFT_IN_REGION;
}
#define TOFT_PAGES_KEPT (64 * TOFT_MIB)
static void *toft_page_source_get(toft_page_source *pages, size_t size) {
  for (toft_cached_block **at = (toft_cached_block **)(void *)&pages->kept; *at != NULL; at = &(*at)->next) {
    toft_cached_block *b = *at;
    if (b->size == size) {
      *at = b->next;
      pages->kept_bytes -= size;
      return b;
    }
  }
  void *block = toft_os_map(size, (pages->flags & TOFT_PAGES_HUGE) != 0);
  if (block != NULL) return block;
  toft_page_source_trim(pages);
  toft_page_cache_drop();
  return toft_os_map(size, (pages->flags & TOFT_PAGES_HUGE) != 0);
}
static void *toft_page_source_take(toft_source *self, size_t size) {
  return toft_scan_begin(toft_page_source_get((toft_page_source *)(void *)self, size), size);
}
static void toft_page_source_put(toft_source *self, void *block, size_t size) {
  toft_page_source *pages = (toft_page_source *)(void *)self;
  toft_scan_end(block, size);
  if ((pages->flags & TOFT_PAGES_LAZY) == 0 || size > TOFT_PAGES_KEPT - toft_min(pages->kept_bytes, TOFT_PAGES_KEPT)) {
    toft_os_unmap(block, size);
    return;
  }
  toft_os_discard(block, size);
  toft_cached_block *b = (toft_cached_block *)block;
  b->next = (toft_cached_block *)pages->kept;
  b->size = size;
  pages->kept = b;
  pages->kept_bytes += size;
}
toft_source *toft_page_source_init(toft_page_source *pages, uint32_t flags) {
  memset(pages, 0, sizeof *pages);
  pages->source.take = toft_page_source_take;
  pages->source.put = toft_page_source_put;
  pages->flags = flags;
  return &pages->source;
}
void toft_page_source_trim(toft_page_source *pages) {
  toft_cached_block *b;
  while ((b = (toft_cached_block *)pages->kept) != NULL) {
    pages->kept = b->next;
    pages->kept_bytes -= b->size;
    toft_os_unmap(b, b->size);
  }
}
static void toft_reserve_source_decommit(toft_reserve_source *r, size_t to) {
  if (!toft_os_decommit(r->base + to, r->committed - to)) return;
  TOFT_HELD_LESS(r->committed - to);
  r->committed = to;
}
static int toft_reserve_source_extend(toft_source *self, void *block, size_t size, size_t want) {
  toft_reserve_source *r = (toft_reserve_source *)(void *)self;
  size_t to = toft_os_page(want);
  (void)block;
  if (want > r->max) return 0;
  if (to > r->committed) {
    to = toft_min(r->max, toft_max(to, toft_os_page(r->committed + 64 * TOFT_KIB)));
    if (!toft_os_commit(r->base + r->committed, to - r->committed)) return 0;
    TOFT_HELD_MORE(to - r->committed);
    r->committed = to;
  } else if (want < size && to < r->committed) {
    toft_reserve_source_decommit(r, to);
  }
  return 1;
}
static void *toft_reserve_source_take(toft_source *self, size_t size) {
  toft_reserve_source *r = (toft_reserve_source *)(void *)self;
  if (r->taken || !toft_reserve_source_extend(self, r->base, 0, size)) return NULL;
  r->taken = 1;
  return r->base;
}
static void toft_reserve_source_put(toft_source *self, void *block, size_t size) {
  toft_reserve_source *r = (toft_reserve_source *)(void *)self;
  (void)block, (void)size;
  toft_reserve_source_decommit(r, 0);
  r->taken = 0;
}
toft_source *toft_reserve_source_init(toft_reserve_source *r, size_t max) {
  memset(r, 0, sizeof *r);
  if (max == 0 || max > TOFT_MAX_REQUEST) return NULL;
  r->source.take = toft_reserve_source_take;
  r->source.put = toft_reserve_source_put;
  r->source.extend = toft_reserve_source_extend;
  r->max = toft_os_page(toft_max(max, TOFT_BLOCK_MIN));
  r->base = (unsigned char *)toft_scan_begin(toft_os_reserve(r->max), r->max);
  return r->base != NULL ? &r->source : NULL;
}
void toft_reserve_source_release(toft_reserve_source *r) {
  toft_scan_end(r->base, r->max);
  if (r->base != NULL && toft_os_unmap(r->base, r->max)) TOFT_HELD_LESS(r->committed);
  memset(r, 0, sizeof *r);
}
static int toft_limited_source_charge(toft_limited_source *b, size_t size) {
  size_t used = TOFT_LOAD(&b->used);
  do {
    if (size > b->limit || used > b->limit - size) return 0;
  } while (!TOFT_CAS_RELAXED(&b->used, &used, used + size));
  return 1;
}
static TOFT_NOINLINE void toft_limited_source_uncharge(toft_source *self, size_t size) {
  TOFT_ADD(&((toft_limited_source *)(void *)self)->used, 0 - size);
}
static void *toft_limited_source_take(toft_source *self, size_t size) {
  toft_limited_source *b = (toft_limited_source *)(void *)self;
  if (!toft_limited_source_charge(b, size)) return NULL;
  void *block = b->inner->take(b->inner, size);
  if (block == NULL) TOFT_ADD(&b->used, 0 - size);
  return block;
}
static void toft_limited_source_put(toft_source *self, void *block, size_t size) {
  toft_limited_source *b = (toft_limited_source *)(void *)self;
  b->inner->put(b->inner, block, size);
  toft_limited_source_uncharge(self, size);
}
static int toft_limited_source_extend(toft_source *self, void *block, size_t size, size_t want) {
  toft_limited_source *b = (toft_limited_source *)(void *)self;
  size_t more = want > size ? want - size : 0;
  if (more != 0 && !toft_limited_source_charge(b, more)) return 0;
  if (!b->inner->extend(b->inner, block, size, want)) {
    TOFT_ADD(&b->used, 0 - more);
    return 0;
  }
  if (want < size) TOFT_ADD(&b->used, want - size);
  return 1;
}
toft_source *toft_limited_source_init(toft_limited_source *b, toft_source *inner, size_t limit) {
  if (inner == NULL) inner = &toft_heap_source;
  if (toft_region_refuses(inner, b)) return NULL;
  memset(b, 0, sizeof *b);
  b->source.take = toft_limited_source_take;
  b->source.put = toft_limited_source_put;
  if (inner->extend != NULL) b->source.extend = toft_limited_source_extend;
  b->inner = inner;
  b->limit = limit;
  return &b->source;
}
enum {
  TOFT_PROCESS_CHECKS = 2,
  TOFT_PROCESS_METERS = 4,
  TOFT_PROCESS_HAS_TOOL = 16,
  TOFT_SWITCHED_BY_OPTION = 32
};
static size_t toft_process_switches(void);
static toft_state *toft_observe_created(toft_state *a, size_t switches);
static int toft_observe_set(toft_state *a, uint32_t what, uint64_t value, const char *name, size_t name_len);
static void toft_observe_sync(toft_state *a);
static size_t toft_observe_limit(toft_state *a, size_t remaining, uintptr_t *slow_rewinds);
static void *toft_observe_alloc(toft_state *a, size_t size, size_t align);
static int toft_observe_charge(toft_state *a, size_t charge);
static int toft_budget_raised(toft_state *a, size_t size, size_t align);
enum { TOFT_DETACHED_RESERVED, TOFT_DETACHED_MORE, TOFT_DETACHED_REMOVED };
static int toft_observe_detached(toft_state *a, const void *what, size_t bytes, int change);
enum { TOFT_BY_REWIND, TOFT_BY_RESET, TOFT_BY_RELEASE };
static int toft_observe_free(toft_state *a, uintptr_t epoch, int by);
static void toft_mark_freed(const toft_state *a, unsigned char *from, unsigned char *to);
static int toft_observe_put(toft_state *a, toft_block_header *b, size_t kept);
static uint64_t toft_claimed_bytes(const toft_state *a) {
  return a->state & TOFT_CLAIMED ? (uint64_t)(a->claim_limit - a->head.cursor) : 0;
}
struct toft_portion {
  toft_budget *budget;
  uint64_t limit;
  size_t granted;
  size_t spare;
  size_t refused;
};
typedef struct toft_budget_entry {
  uint64_t id, parent;
  char name[32];
  toft_budget_stats stats;
  toft_budget_live_stats live;
  int counts_live;
} toft_budget_entry;
typedef struct toft_budget_calls {
  void *(*take)(toft_source *self, size_t size);
  int (*ask)(const toft_source *source, size_t size);
  toft_source *(*source_for_arena)(toft_source *source);
  int (*begin)(toft_source *source, toft_portion **made);
  int (*grow)(toft_portion *p, size_t granted);
  void (*shrink)(toft_portion *p, size_t granted, int last);
  int (*ask_live)(const toft_portion *p, size_t size);
  size_t (*list)(const toft_source *source, uint64_t id, toft_budget_entry *out, size_t n);
  toft_source *(*inner)(const toft_source *source);
  int (*charge)(const toft_source *source, size_t size);
  void (*uncharge)(const toft_source *source, size_t size);
} toft_budget_calls;
static const toft_budget_calls *toft_budgets, *toft_shared_sources;
static toft_lock toft_budget_list_lock;
static const toft_budget_calls *toft_calls_of(const toft_budget_calls **at, const toft_source *source) {
  const toft_budget_calls *calls = TOFT_LOAD_POINTER(const toft_budget_calls, at);
  return calls != NULL && source != NULL && source->take == calls->take ? calls : NULL;
}
static int toft_budget_ask(const toft_source *source, size_t size) {
  const toft_budget_calls *calls = toft_calls_of(&toft_budgets, source);
  if (calls == NULL) calls = toft_calls_of(&toft_shared_sources, source);
  return calls != NULL && calls->ask(source, size);
}
static toft_source *toft_source_for_arena(toft_source *source) {
  const toft_budget_calls *calls = toft_calls_of(&toft_budgets, source);
  return calls != NULL ? calls->source_for_arena(source) : source;
}
static toft_portion *toft_portion_of(const toft_state *a) { return a->state & TOFT_COUNTS_LIVE ? a->portion : NULL; }
static uint64_t toft_portion_used(const toft_state *a) {
  return a->live - a->adopted_live + toft_claimed_bytes(a);
}
static void toft_portion_set_budget(toft_state *a, const toft_portion *p) {
  uint64_t granted = p->granted + a->adopted_live;
  a->budget = granted < p->limit ? granted : p->limit;
}
static void toft_portion_update(toft_state *a) {
  toft_portion *p = a->portion;
  size_t used = (size_t)toft_portion_used(a);
  if (p->granted > used + p->spare) toft_budgets->shrink(p, used + p->spare / 2, 0);
  p->refused = 0;
  toft_portion_set_budget(a, p);
}
static void toft_portion_return(toft_state *a) {
  toft_portion *p = toft_portion_of(a);
  if (p == NULL) return;
  toft_budgets->shrink(p, (size_t)toft_portion_used(a), 1);
  toft_portion_set_budget(a, p);
}
static TOFT_COLD int toft_portion_grow(toft_state *a, size_t charge) {
  toft_portion *p = toft_portion_of(a);
  if (p == NULL) return 0;
  uint64_t used = toft_portion_used(a), all = used + a->adopted_live;
  if (all > p->limit || charge > p->limit - all) return 0;
  size_t wanted = (size_t)used + charge;
  int grown = wanted <= p->granted || toft_budgets->grow(p, wanted);
  if (!grown) p->refused = wanted - p->granted;
  toft_portion_set_budget(a, p);
  return grown;
}
static int toft_portion_begin(toft_state *a) {
  const toft_budget_calls *calls = toft_calls_of(&toft_budgets, a->source);
  toft_portion *p = NULL;
  if (calls != NULL && !calls->begin(a->source, &p)) return 0;
  if (p == NULL) return 1;
  p->limit = a->budget;
  a->portion = p;
  a->state |= TOFT_COUNTS_LIVE;
  return 1;
}
static void toft_portion_end(toft_state *a) {
  toft_portion *p = toft_portion_of(a);
  if (p == NULL) return;
  toft_budgets->shrink(p, 0, 1);
  a->state &= ~(uint32_t)TOFT_COUNTS_LIVE;
  a->budget = p->limit;
  toft_os_heap_put(p);
}
static uint64_t toft_own_budget(const toft_state *a) {
  const toft_portion *p = toft_portion_of(a);
  return p != NULL ? p->limit : a->budget;
}
static void toft_set_own_budget(toft_state *a, uint64_t bytes) {
  *(a->state & TOFT_COUNTS_LIVE ? &a->portion->limit : &a->budget) = bytes;
}
static size_t toft_refused_live(const toft_state *a) {
  const toft_portion *p = toft_portion_of(a);
  return p != NULL ? p->refused : 0;
}
static int toft_budget_ask_live(const toft_state *a, size_t size) { return toft_budgets->ask_live(a->portion, size); }
static toft_state *toft_state_of(const toft_arena *head) { return (toft_state *)(uintptr_t)head; }
static void toft_complete_state(toft_state *a) {
  memset((void *)&a->live, 0, sizeof *a - offsetof(toft_state, live));
  a->initial.size = a->initial_size;
  a->initial.source = a->state & TOFT_IN_BUFFER ? NULL : a->source;
  a->initial.epoch = a->head.epoch & ~(uintptr_t)1;
  a->current = a->newest = &a->initial;
  a->source_calls = a->initial.source != NULL;
  a->state &= ~(uint32_t)TOFT_PRISTINE;
}
static void toft_update_peak(toft_state *a) {
  if (a->live > a->peak) a->peak = a->live;
}
static void toft_sync(toft_state *a) {
  ptrdiff_t moved = a->head.cursor - a->synced;
  if (moved > 0) a->allocated += (uint64_t)moved;
  a->live += (uint64_t)(int64_t)moved;
  a->synced = a->head.cursor;
  toft_update_peak(a);
}
static TOFT_COLD void toft_sync_in_slow(toft_state *a) {
  if (a->state & TOFT_PRISTINE)
    toft_complete_state(a);
  else
    toft_observe_sync(a);
}
static void toft_sync_in(toft_state *a) {
  if (TOFT_UNLIKELY(a->state & (TOFT_PRISTINE | TOFT_IS_SUBJECT))) toft_sync_in_slow(a);
  toft_sync(a);
}
#define TOFT_SEALED (TOFT_CLAIMED | TOFT_BUSY | TOFT_IS_CHECKED)
#define TOFT_MOVES_LIMIT (TOFT_SEALED | TOFT_COUNTS_LIVE | TOFT_CLEARS | TOFT_INSTRUMENTED | TOFT_IS_SUBJECT)
static TOFT_NOINLINE void toft_set_limit_slow(toft_state *a) {
  size_t remaining = (size_t)(a->end - a->head.cursor);
  if (TOFT_UNLIKELY(a->state & TOFT_COUNTS_LIVE)) toft_portion_update(a);
  uintptr_t sealed = (a->state & TOFT_SEALED) != 0;
  uintptr_t slow_rewinds = sealed | (a->live > a->budget) | ((a->state & (TOFT_COUNTS_LIVE | TOFT_CLEARS)) != 0);
  if (a->budget != UINT64_MAX) {
    uint64_t affordable = a->live < a->budget ? (a->budget - a->live) & ~(uint64_t)7 : 0;
    if (affordable < remaining) remaining = (size_t)affordable;
  }
  if (a->state & (TOFT_INSTRUMENTED | TOFT_IS_SUBJECT)) remaining = toft_observe_limit(a, remaining, &slow_rewinds);
  a->head.limit = a->head.cursor + (sealed ? 0 : remaining);
  a->head.epoch = (a->head.epoch & ~(uintptr_t)1) | slow_rewinds;
}
static void toft_set_limit(toft_state *a) {
  if ((a->state & TOFT_MOVES_LIMIT) != 0 || a->budget != UINT64_MAX) {
    toft_set_limit_slow(a);
    return;
  }
  a->head.limit = a->end;
  a->head.epoch &= ~(uintptr_t)1;
}
TOFT_INLINE void toft_seal(toft_state *a) { a->head.limit = a->head.cursor; }
TOFT_INLINE void toft_unseal(toft_state *a, unsigned char *limit) { a->head.limit = limit; }
static uint32_t toft_begin_callback(toft_state *a) {
  uint32_t was_busy = a->state & TOFT_BUSY;
  a->state |= TOFT_BUSY;
  toft_set_limit(a);
  return was_busy;
}
static void toft_end_callback(toft_state *a, uint32_t was_busy) {
  if (!was_busy) a->state &= ~(uint32_t)TOFT_BUSY;
}
static void toft_report_failure(toft_state *a, size_t size, size_t align, int code) {
  if (a->failure != NULL) a->failure(a->failure_arg, &a->head, size, align, code);
}
static uintptr_t toft_epoch(const toft_state *a) { return a->head.epoch & ~(uintptr_t)1; }
static void toft_next_epoch(toft_state *a) { a->head.epoch += 2; }
static TOFT_NOINLINE int toft_fits_budget_slow(toft_state *a, size_t charge) {
  uint64_t claimed = toft_claimed_bytes(a);
  if (charge == 0) return 1;
  if ((a->state & TOFT_INSTRUMENTED) && !toft_observe_charge(a, charge)) return 0;
  if (a->live + claimed <= a->budget && charge <= a->budget - a->live - claimed) return 1;
  return TOFT_UNLIKELY(a->state & TOFT_COUNTS_LIVE) && toft_portion_grow(a, charge);
}
TOFT_INLINE int toft_fits_budget(toft_state *a, size_t charge) {
  return TOFT_LIKELY(a->budget == UINT64_MAX && !(a->state & TOFT_INSTRUMENTED)) || toft_fits_budget_slow(a, charge);
}
static int toft_fits_budget_of_arena(toft_state *a, uint64_t charge) {
  uint64_t used = a->live + toft_claimed_bytes(a), budget = toft_own_budget(a);
  if ((a->state & TOFT_INSTRUMENTED) && charge != 0 && !toft_observe_charge(a, (size_t)charge)) return 0;
  return charge == 0 || (used <= budget && charge <= budget - used);
}
static int toft_count_detached(toft_state *a, const void *what, size_t bytes, int change) {
  return TOFT_LIKELY(!(a->state & TOFT_INSTRUMENTED)) || toft_observe_detached(a, what, bytes, change);
}
static void toft_update_round_peak(toft_state *a, uint64_t live) {
  uint64_t own = live - a->adopted_live;
  if (own > a->round_peak) a->round_peak = own;
}
static size_t toft_block_offset(const toft_block_header *b) {
  if (b->kind != TOFT_BLOCK_REGULAR || (b->source != NULL && b->source->extend != NULL)) return TOFT_HEADER;
  return toft_stagger(b->size, b->index);
}
static unsigned char *toft_block_start(const toft_state *a, toft_block_header *b) {
  return b == &a->initial ? a->initial_start : (unsigned char *)b + toft_block_offset(b);
}
static unsigned char *toft_block_end(const toft_state *a, toft_block_header *b) {
  if (b == &a->initial) return a->initial_end;
  if (toft_block_offset(b) == TOFT_HEADER && (b->kind != TOFT_BLOCK_REGULAR || b->source->extend != NULL))
    return (unsigned char *)b + b->size;
  return (unsigned char *)b + toft_block_offset(b) + toft_usable(b->size);
}
static unsigned char *toft_block_used_end(const toft_state *a, const toft_block_header *b) {
  return b == a->current ? a->head.cursor : b->used_end;
}
static void toft_clear(unsigned char *from, const unsigned char *to) {
  if (from < to) memset(from, 0, (size_t)(to - from));
}
static void toft_clear_freed(const toft_state *a, unsigned char *from, const unsigned char *to) {
  if (TOFT_UNLIKELY(a->state & TOFT_CLEARS)) toft_clear(from, to);
}
static TOFT_NOINLINE void toft_freed_slow(const toft_state *a, unsigned char *from, unsigned char *to) {
  toft_clear_freed(a, from, to);
  if (a->state & TOFT_OBSERVED) toft_mark_freed(a, from, to);
}
TOFT_INLINE void toft_freed(const toft_state *a, unsigned char *from, unsigned char *to) {
  if (TOFT_UNLIKELY(a->state & (TOFT_OBSERVED | TOFT_CLEARS))) toft_freed_slow(a, from, to);
}
static toft_block_header *toft_block_take(toft_state *a, size_t size) {
  for (toft_block_header **at = &a->spares; *at != NULL; at = &(*at)->next) {
    toft_block_header *b = *at;
    if (b->size == size) {
      *at = b->next;
      a->spare_bytes -= size;
      return b;
    }
  }
  if (a->source == NULL) return NULL;
  a->source_calls++;
  toft_block_header *b = (toft_block_header *)a->source->take(a->source, size);
  if (b != NULL && ((uintptr_t)b & 63) != 0) {
    a->source->put(a->source, b, size);
    return NULL;
  }
  if (b == NULL) {
    a->state |= TOFT_REFUSED | TOFT_ROUND_REFUSED | TOFT_KEEPS_BLOCKS;
    return NULL;
  }
  if (!(a->state & TOFT_ROUND_REFUSED)) a->state &= ~(uint32_t)TOFT_KEEPS_BLOCKS;
  b->size = size;
  b->source = a->source;
  return b;
}
static int toft_was_refused(const toft_state *a) { return (a->state & TOFT_REFUSED) != 0; }
static void toft_block_push(toft_state *a, toft_block_header *b, uint32_t kind) {
  toft_next_epoch(a);
  b->kind = kind;
  b->index = a->newest->index + 1;
  b->epoch = toft_epoch(a);
  b->charge = 0;
  b->next = a->newest;
  b->u.below = a->current;
  a->newest = b;
}
static void toft_make_current(toft_state *a, toft_block_header *b, unsigned char *cursor) {
  a->current = b;
  a->head.cursor = a->synced = cursor;
  a->end = toft_block_end(a, b);
}
static int toft_initial_is_idle(const toft_state *a) {
  return (a->state & TOFT_INITIAL_IDLE) != 0 && a->current == &a->initial;
}
static void toft_make_initial_current(toft_state *a, int idle) {
  a->newest = &a->initial;
  a->state &= ~(uint32_t)TOFT_INITIAL_IDLE;
  if (idle) a->state |= TOFT_INITIAL_IDLE;
  toft_make_current(a, &a->initial, idle ? a->initial_end : a->initial_start);
  a->initial.used_end = a->head.cursor;
}
static void toft_block_put(toft_state *a, toft_block_header *b) {
  if (TOFT_UNLIKELY(a->state & TOFT_OBSERVED) && toft_observe_put(a, b, 0)) return;
  b->source->put(b->source, b, b->size);
}
static void toft_block_keep(toft_state *a, toft_block_header *b) {
  b->kind = TOFT_BLOCK_SPARE;
  b->next = a->spares;
  a->spares = b;
  a->spare_bytes += b->size;
}
static toft_source *toft_limit_inner(const toft_source *source) {
  const toft_budget_calls *calls = toft_calls_of(&toft_budgets, source);
  if (calls != NULL) return calls->inner(source);
  return source != NULL && source->take == toft_limited_source_take
             ? ((const toft_limited_source *)(const void *)source)->inner
             : NULL;
}
static int toft_is_limited(const toft_source *source) { return toft_limit_inner(source) != NULL; }
static void toft_block_drop(toft_state *a, toft_block_header *b) {
  if (toft_is_limited(a->source)) {
    toft_block_put(a, b);
    return;
  }
  uint64_t bound = toft_max(toft_max(TOFT_SPARE, a->spare_keep), a->first_size);
  if (bound < 2 * a->round_peak) bound = 2 * a->round_peak;
  toft_block_keep(a, b);
  while (a->spare_bytes > bound) {
    toft_block_header **at = &a->spares;
    while ((*at)->next != NULL) at = &(*at)->next;
    a->spare_bytes -= (*at)->size;
    toft_block_put(a, *at);
    *at = NULL;
  }
}
static void toft_put_spares(toft_state *a, size_t keep) {
  while (a->spares != NULL && a->spare_bytes > keep) {
    toft_block_header *b = a->spares;
    a->spares = b->next;
    a->spare_bytes -= b->size;
    toft_block_put(a, b);
  }
}
static int toft_current_is_unused(const toft_state *a) {
  toft_block_header *b = a->current;
  return a->live == 0 && b != &a->initial && b == a->newest && b->next == &a->initial &&
         a->head.cursor == toft_block_start(a, b);
}
static void toft_restart_in_initial(toft_state *a) {
  a->first_size = 0;
  a->state &= ~(uint32_t)TOFT_INITIAL_IDLE;
  toft_make_current(a, &a->initial, a->initial_start);
  a->initial.used_end = a->head.cursor;
  toft_next_epoch(a);
  a->trim_epoch = toft_epoch(a);
}
static void toft_put_current(toft_state *a) {
  toft_block_header *b = a->current;
  a->newest = &a->initial;
  toft_block_put(a, b);
  toft_restart_in_initial(a);
}
static int toft_return_idle(toft_state *a) {
  int any = a->spares != NULL;
  toft_put_spares(a, 0);
  if (a->state & (TOFT_CLAIMED | TOFT_RANGE_GROWS)) return any;
  if (toft_current_is_unused(a)) {
    toft_put_current(a);
    return 1;
  }
  if (!toft_initial_is_idle(a)) return any;
  toft_restart_in_initial(a);
  return 1;
}
static toft_block_header *toft_block_pop(toft_state *a) {
  toft_block_header *b = a->newest;
  a->newest = b->next;
  if (b->kind == TOFT_BLOCK_DEDICATED) {
    a->live -= b->charge;
    (void)toft_count_detached(a, b, 0, TOFT_DETACHED_REMOVED);
  } else {
    b->used_end = a->head.cursor;
    a->live -= (uint64_t)(b->used_end - toft_block_start(a, b));
    toft_make_current(a, b->u.below, b->u.below->used_end);
  }
  return b;
}
static void *toft_run_cleanups_until(toft_state *a, uintptr_t epoch, void (*until)(void *)) {
  if (a->cleanups == NULL || a->cleanups->epoch <= epoch) return NULL;
  a->state |= TOFT_BUSY;
  toft_set_limit(a);
  while (a->cleanups != NULL && a->cleanups->epoch > epoch) {
    toft_cleanup_node *node = a->cleanups;
    a->cleanups = node->older;
    if (node->user.fn == toft_release_adopted) {
      uint64_t live = ((const toft_state *)node->user.arg)->live;
      a->live -= live;
      a->adopted_live -= live;
      (void)toft_count_detached(a, node->user.arg, 0, TOFT_DETACHED_REMOVED);
    }
    toft_cleanup run = node->user;
    if (run.fn == NULL) continue;
    if (run.fn == until) return run.arg;
    run.fn(run.arg);
  }
  a->state &= ~(uint32_t)TOFT_BUSY;
  return NULL;
}
static void toft_run_cleanups(toft_state *a, uintptr_t epoch) { (void)toft_run_cleanups_until(a, epoch, NULL); }
typedef struct toft_budget_sum {
  size_t limit, now, peak, refusals;
} toft_budget_sum;
enum { TOFT_RESERVED_BYTES, TOFT_LIVE_BYTES };
typedef struct toft_budget_source_state {
  toft_source source;
  toft_budget *budget;
  int counts_live;
} toft_budget_source_state;
struct toft_budget {
  toft_budget_source_state of_objects, of_arenas;
  toft_budget *parent;
  toft_source *inner;
  toft_budget_sum sums[2];
  size_t parked, children;
  size_t charged;
  int counts_live;
  toft_budget_fn *refused;
  void *refused_arg;
  char name[32];
  uint64_t id;
  toft_budget *next, *previous;
};
static const toft_budget_source_state *toft_budget_source_of(const toft_source *source) {
  return (const toft_budget_source_state *)(const void *)source;
}
static void toft_budget_raise_peak(toft_budget_sum *s) {
  size_t peak = TOFT_LOAD(&s->peak), now = TOFT_LOAD(&s->now);
  while (now > peak && !TOFT_CAS_RELAXED(&s->peak, &peak, now)) continue;
}
static int toft_budget_add_one(toft_budget_sum *s, size_t size) {
  size_t now = TOFT_LOAD(&s->now), limit;
  do {
    limit = TOFT_LOAD(&s->limit);
    if (size > limit || now > limit - size) return 0;
  } while (!TOFT_CAS_RELAXED(&s->now, &now, now + size));
  return 1;
}
static void toft_budget_subtract(toft_budget *b, const toft_budget *end, int which, size_t size) {
  for (; b != end; b = b->parent) {
    TOFT_ADD(&b->sums[which].now, 0 - size);
  }
}
static toft_budget *toft_budget_add(toft_budget *b, int which, size_t size) {
  for (toft_budget *at = b; at != NULL; at = at->parent)
    if (!toft_budget_add_one(&at->sums[which], size)) {
      toft_budget_subtract(b, at, which, size);
      return at;
    }
  for (toft_budget *at = b; at != NULL; at = at->parent) toft_budget_raise_peak(&at->sums[which]);
  return NULL;
}
static int toft_budget_request(toft_budget *b, int which, size_t size) {
  toft_budget *refusing = toft_budget_add(b, which, size);
  if (refusing != NULL) TOFT_ADD(&refusing->sums[which].refusals, 1);
  return refusing == NULL;
}
static size_t toft_budget_room(const toft_budget *b, int which) {
  const toft_budget_sum *s = &b->sums[which];
  size_t limit = TOFT_LOAD(&s->limit), now = TOFT_LOAD(&s->now);
  return now < limit ? limit - now : 0;
}
static void toft_budget_unblock(const toft_budget_source_state *s, size_t size) {
  if (s->counts_live) toft_budget_subtract(s->budget, NULL, TOFT_LIVE_BYTES, size);
  toft_budget_subtract(s->budget, NULL, TOFT_RESERVED_BYTES, size);
}
static int toft_budget_block(const toft_budget_source_state *s, size_t size) {
  if (!toft_budget_request(s->budget, TOFT_RESERVED_BYTES, size)) return 0;
  if (!s->counts_live || toft_budget_request(s->budget, TOFT_LIVE_BYTES, size)) return 1;
  toft_budget_subtract(s->budget, NULL, TOFT_RESERVED_BYTES, size);
  return 0;
}
static void *toft_budget_take(toft_source *self, size_t size) {
  const toft_budget_source_state *s = toft_budget_source_of(self);
  toft_source *inner = s->budget->inner;
  if (!toft_budget_block(s, size)) return NULL;
  void *block = inner->take(inner, size);
  if (block == NULL) toft_budget_unblock(s, size);
  return block;
}
static void toft_budget_put(toft_source *self, void *block, size_t size) {
  const toft_budget_source_state *s = toft_budget_source_of(self);
  toft_source *inner = s->budget->inner;
  inner->put(inner, block, size);
  toft_budget_unblock(s, size);
}
static int toft_budget_extend(toft_source *self, void *block, size_t size, size_t want) {
  const toft_budget_source_state *s = toft_budget_source_of(self);
  toft_source *inner = s->budget->inner;
  size_t more = want > size ? want - size : 0;
  if (more != 0 && !toft_budget_block(s, more)) return 0;
  if (!inner->extend(inner, block, size, want)) {
    toft_budget_unblock(s, more);
    return 0;
  }
  if (want < size) toft_budget_unblock(s, size - want);
  return 1;
}
static void toft_budget_source_init(toft_budget_source_state *s, toft_budget *b, int counts_live) {
  s->source.take = toft_budget_take;
  s->source.put = toft_budget_put;
  if (b->inner->extend != NULL) s->source.extend = toft_budget_extend;
  s->budget = b;
  s->counts_live = counts_live;
}
#define TOFT_PORTION_SPARE_MAX (64 * TOFT_KIB)
#define TOFT_PARKED_SHARE 128
static void toft_budget_unpark(toft_budget *b, const toft_budget *end, size_t spare) {
  for (; b != end; b = b->parent) {
    TOFT_ADD(&b->parked, 0 - spare);
  }
}
static size_t toft_budget_parking(const toft_budget *b, size_t parked) {
  size_t most = TOFT_LOAD(&b->sums[TOFT_LIVE_BYTES].limit) / TOFT_PARKED_SHARE;
  return parked < most ? most - parked : 0;
}
static int toft_budget_park_one(toft_budget *b, size_t spare) {
  size_t parked = TOFT_LOAD(&b->parked);
  do
    if (toft_budget_parking(b, parked) < spare) return 0;
  while (!TOFT_CAS_RELAXED(&b->parked, &parked, parked + spare));
  return 1;
}
static size_t toft_budget_park(toft_budget *b) {
  size_t spare = TOFT_PORTION_SPARE_MAX;
  for (const toft_budget *at = b; at != NULL; at = at->parent)
    spare = toft_min(spare, toft_budget_parking(at, TOFT_LOAD(&at->parked)) / 4 & ~(size_t)15);
  for (toft_budget *at = b; at != NULL && spare != 0; at = at->parent)
    if (!toft_budget_park_one(at, spare)) {
      toft_budget_unpark(b, at, spare);
      spare = 0;
    }
  return spare;
}
static toft_source *toft_budget_for_arena(toft_source *source) {
  toft_budget *b = toft_budget_source_of(source)->budget;
  return b->counts_live ? &b->of_arenas.source : source;
}
static int toft_budget_begin(toft_source *source, toft_portion **made) {
  toft_budget *b = toft_budget_source_of(source)->budget;
  if (source != &b->of_arenas.source) return 1;
  toft_portion *p = (toft_portion *)toft_os_heap_take(64, 64);
  if (p == NULL) return 0;
  memset(p, 0, sizeof *p);
  p->budget = b;
  *made = p;
  return 1;
}
TOFT_STATIC_ASSERT(portion, sizeof(toft_portion) <= 64);
static void toft_budget_shrink(toft_portion *p, size_t granted, int last) {
  toft_budget_subtract(p->budget, NULL, TOFT_LIVE_BYTES, p->granted - granted);
  p->granted = granted;
  if (!last) return;
  toft_budget_unpark(p->budget, NULL, p->spare);
  p->spare = 0;
}
static int toft_budget_grow(toft_portion *p, size_t granted) {
  if (!toft_budget_request(p->budget, TOFT_LIVE_BYTES, granted - p->granted)) return 0;
  p->granted = granted;
  toft_budget_unpark(p->budget, NULL, p->spare);
  p->spare = toft_budget_park(p->budget);
  if (toft_budget_add(p->budget, TOFT_LIVE_BYTES, p->spare / 2) == NULL) p->granted += p->spare / 2;
  return 1;
}
static toft_budget *toft_budget_refusing(toft_budget *b, int which, size_t size) {
  while (b != NULL && toft_budget_room(b, which) >= size) b = b->parent;
  return b;
}
typedef struct toft_budget_running {
  const toft_budget *budget;
  const struct toft_budget_running *outer;
} toft_budget_running;
TOFT_PER_THREAD const toft_budget_running *toft_running_callback;
#define toft_running_callback TOFT_OWN(toft_running_callback)
static int toft_budget_is_running(const toft_budget *b) {
  const toft_budget_running *at = toft_running_callback;
  while (at != NULL && at->budget != b) at = at->outer;
  return at != NULL;
}
static int toft_budget_call(toft_budget *b, size_t size) {
  if (b == NULL) return 1;
  if (b->refused == NULL || toft_budget_is_running(b)) return 0;
  const toft_budget_running running = {b, toft_running_callback};
  toft_running_callback = &running;
  int again = b->refused(b->refused_arg, b, size) != 0;
  toft_running_callback = running.outer;
  return again;
}
static int toft_budget_ask_blocks(const toft_source *source, size_t size) {
  const toft_budget_source_state *s = toft_budget_source_of(source);
  toft_budget *b = toft_budget_refusing(s->budget, TOFT_RESERVED_BYTES, size);
  if (b == NULL && s->counts_live) b = toft_budget_refusing(s->budget, TOFT_LIVE_BYTES, size);
  return toft_budget_call(b, size);
}
static int toft_budget_ask_portion(const toft_portion *p, size_t size) {
  return toft_budget_call(toft_budget_refusing(p->budget, TOFT_LIVE_BYTES, size), size);
}
static toft_budget *toft_first_budget, *toft_last_budget;
static uint64_t toft_last_budget_id;
static void toft_budget_link(toft_budget *b) {
  toft_arm_fork();
  toft_lock_take(&toft_budget_list_lock);
  b->id = ++toft_last_budget_id;
  b->previous = toft_last_budget;
  *(b->previous != NULL ? &b->previous->next : &toft_first_budget) = b;
  toft_last_budget = b;
  TOFT_UNLOCK(&toft_budget_list_lock);
}
static void toft_budget_unlink(const toft_budget *b) {
  toft_lock_take(&toft_budget_list_lock);
  *(b->previous != NULL ? &b->previous->next : &toft_first_budget) = b->next;
  *(b->next != NULL ? &b->next->previous : &toft_last_budget) = b->previous;
  TOFT_UNLOCK(&toft_budget_list_lock);
}
static const toft_budget *toft_budget_root(const toft_budget *b) {
  while (b->parent != NULL) b = b->parent;
  return b;
}
static size_t toft_budget_list(const toft_source *source, uint64_t id, toft_budget_entry *out, size_t n) {
  const toft_budget *root = source != NULL ? toft_budget_root(toft_budget_source_of(source)->budget) : NULL;
  size_t count = 0;
  if (!toft_lock_take_at_unload(&toft_budget_list_lock)) return 0;
  for (const toft_budget *b = toft_first_budget; b != NULL && count < n; b = b->next) {
    if (b->id <= id || (root != NULL && toft_budget_root(b) != root)) continue;
    toft_budget_entry *e = &out[count++];
    e->id = b->id;
    e->parent = b->parent != NULL ? b->parent->id : 0;
    memcpy(e->name, b->name, sizeof e->name);
    e->stats = toft_budget_get_stats(b);
    e->live = toft_budget_get_live_stats(b);
    e->counts_live = b->counts_live;
  }
  TOFT_UNLOCK(&toft_budget_list_lock);
  return count;
}
static toft_source *toft_budget_inner(const toft_source *source) {
  return toft_budget_source_of(source)->budget->inner;
}
static int toft_budget_charge_block(const toft_source *source, size_t size) {
  return toft_budget_block(toft_budget_source_of(source), size);
}
static void toft_budget_uncharge_block(const toft_source *source, size_t size) {
  toft_budget_unblock(toft_budget_source_of(source), size);
}
static const toft_budget_calls toft_calls_of_budgets = {
    toft_budget_take,  toft_budget_ask_blocks,   toft_budget_for_arena,      toft_budget_begin,
    toft_budget_grow,  toft_budget_shrink,       toft_budget_ask_portion,    toft_budget_list,
    toft_budget_inner, toft_budget_charge_block, toft_budget_uncharge_block,
};
toft_budget *toft_budget_create(const toft_budget_options *options) {
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  if (options != NULL) {
    if (options->size != sizeof o) return NULL;
    o = *options;
  }
  size_t length = o.name != NULL ? strlen(o.name) : 0;
  if (length >= sizeof((toft_budget *)0)->name || (o.parent != NULL && o.source != NULL)) return NULL;
  if (toft_region_under(o.source) != NULL) return NULL;
  toft_budget *b = (toft_budget *)toft_os_heap_take(toft_round(sizeof *b, 64), 64);
  if (b == NULL) return NULL;
  memset(b, 0, sizeof *b);
  b->inner = o.parent != NULL ? o.parent->inner : o.source != NULL ? o.source : &toft_heap_source;
  b->counts_live = o.parent != NULL && o.parent->counts_live;
  toft_budget_source_init(&b->of_objects, b, b->counts_live);
  toft_budget_source_init(&b->of_arenas, b, 0);
  b->parent = o.parent;
  b->sums[TOFT_RESERVED_BYTES].limit = o.limit;
  b->sums[TOFT_LIVE_BYTES].limit = SIZE_MAX;
  b->refused = o.refused;
  b->refused_arg = o.refused_arg;
  if (length != 0) memcpy(b->name, o.name, length);
  if (b->parent != NULL) TOFT_ADD(&b->parent->children, 1);
  toft_budget_link(b);
  TOFT_STORE_POINTER(const toft_budget_calls, &toft_budgets, &toft_calls_of_budgets);
  return b;
}
static int toft_budget_is_used(const toft_budget *b) {
  return TOFT_LOAD(&b->sums[TOFT_RESERVED_BYTES].now) != 0 || TOFT_LOAD(&b->children) != 0;
}
int toft_budget_release(toft_budget *b) {
  if (b == NULL) return TOFT_OK;
  if (toft_budget_is_used(b)) return TOFT_EBUSY;
  toft_budget_unlink(b);
  if (b->parent != NULL) TOFT_ADD(&b->parent->children, (size_t)0 - 1);
  toft_os_heap_put(b);
  return TOFT_OK;
}
toft_source *toft_budget_source(toft_budget *b) { return &b->of_objects.source; }
const char *toft_budget_name(const toft_budget *b) { return b->name; }
toft_budget *toft_budget_parent(const toft_budget *b) { return b->parent; }
void toft_budget_set_limit(toft_budget *b, size_t limit) { TOFT_STORE(&b->sums[TOFT_RESERVED_BYTES].limit, limit); }
int toft_budget_limit_live(toft_budget *b, size_t limit) {
  if (!b->counts_live) {
    if (toft_budget_is_used(b)) return TOFT_EBUSY;
    b->counts_live = b->of_objects.counts_live = 1;
  }
  TOFT_STORE(&b->sums[TOFT_LIVE_BYTES].limit, limit);
  return TOFT_OK;
}
int toft_budget_charge(toft_budget *b, size_t size) {
  const toft_budget_source_state *s = &b->of_objects;
  if (!toft_budget_block(s, size) && !(toft_budget_ask_blocks(&s->source, size) && toft_budget_block(s, size)))
    return TOFT_ENOMEM;
  TOFT_ADD(&b->charged, size);
  return TOFT_OK;
}
int toft_budget_uncharge(toft_budget *b, size_t size) {
  size_t charged = TOFT_LOAD(&b->charged);
  do
    if (size > charged) return TOFT_EARG;
  while (!TOFT_CAS_RELAXED(&b->charged, &charged, charged - size));
  toft_budget_unblock(&b->of_objects, size);
  return TOFT_OK;
}
static size_t toft_budget_available(const toft_budget *b, int which) {
  size_t available = SIZE_MAX;
  for (; b != NULL; b = b->parent) available = toft_min(available, toft_budget_room(b, which));
  return available;
}
toft_budget_stats toft_budget_get_stats(const toft_budget *b) {
  const toft_budget_sum *sum = &b->sums[TOFT_RESERVED_BYTES];
  toft_budget_stats s;
  s.limit = TOFT_LOAD(&sum->limit);
  s.reserved = TOFT_LOAD(&sum->now);
  s.peak = TOFT_LOAD(&sum->peak);
  s.available = toft_budget_available(b, TOFT_RESERVED_BYTES);
  s.refusals = TOFT_LOAD(&sum->refusals);
  s.children = TOFT_LOAD(&b->children);
  return s;
}
toft_budget_live_stats toft_budget_get_live_stats(const toft_budget *b) {
  const toft_budget_sum *sum = &b->sums[TOFT_LIVE_BYTES];
  toft_budget_live_stats s;
  s.limit = TOFT_LOAD(&sum->limit);
  s.live = TOFT_LOAD(&sum->now);
  s.peak = TOFT_LOAD(&sum->peak);
  s.available = toft_budget_available(b, TOFT_LIVE_BYTES);
  s.parked = TOFT_LOAD(&b->parked);
  s.refusals = TOFT_LOAD(&sum->refusals);
  return s;
}
static int toft_is_power(size_t align) { return align != 0 && (align & (align - 1)) == 0; }
static int toft_check_request(size_t size, size_t align) {
  if (!toft_is_power(align)) return TOFT_EARG;
  return size > TOFT_MAX_REQUEST || align > TOFT_MAX_REQUEST ? TOFT_ENOMEM : TOFT_OK;
}
static void *toft_alloc_in_current(toft_state *a, size_t size, size_t align) {
  size_t pad = toft_pad(a->head.cursor, align);
  size_t remaining = (size_t)(a->end - a->head.cursor);
  size_t take = pad + TOFT_ROUND8(size);
  if (pad > remaining || TOFT_ROUND8(size) > remaining - pad || !toft_fits_budget(a, take)) return NULL;
  unsigned char *p = a->head.cursor + pad;
  a->head.cursor += take;
  toft_sync(a);
  return p;
}
static int toft_fits_current(const toft_state *a, size_t size, size_t align) {
  size_t pad = toft_pad(a->head.cursor, align);
  size_t remaining = (size_t)(a->end - a->head.cursor);
  return pad <= remaining && TOFT_ROUND8(size) <= remaining - pad;
}
static void *toft_alloc_dedicated(toft_state *a, size_t size, size_t align) {
  size_t need = toft_need(size, align);
  a->state &= ~(uint32_t)TOFT_REFUSED;
  if (!toft_fits_budget(a, need) || !toft_count_detached(a, NULL, 0, TOFT_DETACHED_RESERVED)) return NULL;
  toft_block_header *b = toft_block_take(a, toft_dedicated_size(need));
  if (b == NULL) return NULL;
  toft_block_push(a, b, TOFT_BLOCK_DEDICATED);
  unsigned char *p = toft_block_start(a, b);
  p += toft_pad(p, align);
  b->u.payload = p;
  b->used_end = p + TOFT_ROUND8(size);
  b->charge = need;
  a->live += need;
  a->allocated += need;
  toft_update_peak(a);
  (void)toft_count_detached(a, b, need, TOFT_DETACHED_MORE);
  return p;
}
static int toft_extend_current(toft_state *a, size_t size, size_t align) {
  toft_block_header *b = a->current;
  if (b->source == NULL || b->source->extend == NULL || toft_initial_is_idle(a)) return 0;
  unsigned char *base = b == &a->initial ? (unsigned char *)a : (unsigned char *)b;
  size_t used = (size_t)(a->head.cursor - base);
  size_t want = toft_round(used + toft_pad(a->head.cursor, align) + TOFT_ROUND8(size), TOFT_BLOCK_MIN);
  size_t generous = toft_round(b->size + b->size / 2, TOFT_BLOCK_MIN);
  if (want < generous && b->source->extend(b->source, base, b->size, generous))
    want = generous;
  else if (!b->source->extend(b->source, base, b->size, want))
    return 0;
  b->size = want;
  if (b == &a->initial) a->initial_end = base + want;
  a->end = base + want;
  return 1;
}
static void *toft_alloc_regular(toft_state *a, size_t size, size_t align, size_t block_size) {
  size_t start = toft_stagger(block_size, a->newest->index + 1);
  size_t pad = (0 - start) & (align - 1) & (TOFT_BLOCK_MIN - 1);
  a->state &= ~(uint32_t)TOFT_REFUSED;
  if (!toft_fits_budget(a, pad + TOFT_ROUND8(size))) return NULL;
  toft_block_header *b = toft_block_take(a, block_size);
  if (b == NULL) return NULL;
  a->current->used_end = a->head.cursor;
  toft_block_push(a, b, TOFT_BLOCK_REGULAR);
  toft_make_current(a, b, toft_block_start(a, b));
  void *p = toft_alloc_in_current(a, size, align);
  if (p == NULL)
    toft_block_drop(a, toft_block_pop(a));
  return p;
}
static size_t toft_new_block_size(const toft_state *a, size_t need) {
  int idle = toft_initial_is_idle(a);
  size_t next = idle ? a->first_size : toft_min(TOFT_CAP, 2 * toft_min(TOFT_CAP, toft_round(a->current->size, 4096)));
  size_t size = toft_regular_size(need, next, idle);
  return size == 0 && a->source != NULL && a->source->extend != NULL ? toft_dedicated_size(need) : size;
}
static size_t toft_largest_spare(const toft_state *a) {
  size_t largest = 0;
  for (const toft_block_header *b = a->spares; b != NULL; b = b->next) largest = toft_max(largest, b->size);
  return largest;
}
static void *toft_alloc_in_smaller_block(toft_state *a, size_t size, size_t align, size_t refused) {
  size_t least = toft_least_size(toft_need(size, align));
  void *p = NULL;
  while (p == NULL && toft_was_refused(a) && refused > least) {
    refused = toft_max(least, toft_round(refused / 2, TOFT_BLOCK_MIN));
    p = toft_alloc_regular(a, size, align, refused);
  }
  return p;
}
static void *toft_alloc_in_new_block(toft_state *a, size_t size, size_t align) {
  size_t need = toft_need(size, align), block_size = toft_new_block_size(a, need);
  uint64_t wanted =
      a->live + toft_pad(a->head.cursor, align) + TOFT_ROUND8(size);
  void *p = block_size != 0 ? toft_alloc_regular(a, size, align, block_size) : toft_alloc_dedicated(a, size, align);
  if (TOFT_UNLIKELY(p == NULL) && toft_was_refused(a)) {
    size_t spare = toft_largest_spare(a);
    if (spare != 0 && toft_usable(spare) >= need)
      p = toft_alloc_regular(a, size, align, spare);
    else if (toft_return_idle(a))
      return toft_fits_current(a, size, align) ? toft_alloc_in_current(a, size, align)
                                               : toft_alloc_in_new_block(a, size, align);
    else if (block_size != 0)
      p = toft_alloc_in_smaller_block(a, size, align, block_size);
  }
  if (p != NULL) toft_update_round_peak(a, a->live > wanted ? a->live : wanted);
  return p;
}
static void *toft_alloc_in_side_block(toft_state *a, size_t size, size_t align) {
  toft_block_header *b = a->side_block;
  if (b != NULL) {
    size_t pad = toft_pad(b->used_end, align), remaining = (size_t)(toft_block_end(a, b) - b->used_end);
    size_t take = pad + TOFT_ROUND8(size);
    if (pad <= remaining && TOFT_ROUND8(size) <= remaining - pad) {
      if (!toft_fits_budget(a, take) || !toft_count_detached(a, NULL, 0, TOFT_DETACHED_RESERVED)) return NULL;
      unsigned char *p = b->used_end + pad;
      b->used_end += take;
      b->charge += take;
      a->live += take;
      a->allocated += take;
      toft_update_peak(a);
      (void)toft_count_detached(a, b, take, TOFT_DETACHED_MORE);
      return p;
    }
  }
  void *p = toft_alloc_dedicated(a, size, align);
  if (p == NULL && toft_was_refused(a) && toft_return_idle(a)) p = toft_alloc_dedicated(a, size, align);
  if (p != NULL) {
    a->side_block = a->newest;
    a->side_block->u.payload = NULL;
    toft_update_round_peak(a, a->live);
  }
  return p;
}
static void *toft_alloc_slow(toft_state *a, size_t size, size_t align) {
  a->state &= ~(uint32_t)TOFT_REFUSED;
  if (TOFT_UNLIKELY(a->state & (TOFT_IS_CHECKED | TOFT_IS_SUBJECT))) return toft_observe_alloc(a, size, align);
  if (a->state & TOFT_CLAIMED) return toft_alloc_in_side_block(a, size, align);
  if (toft_fits_current(a, size, align)) return toft_alloc_in_current(a, size, align);
  if (!toft_fits_budget(a, TOFT_ROUND8(size))) return NULL;
  if (toft_extend_current(a, size, align)) return toft_alloc_in_current(a, size, align);
  return toft_alloc_in_new_block(a, size, align);
}
static uint64_t toft_end_round(toft_state *a) {
  uint64_t *window = &a->window_peaks[a->rounds / TOFT_ROUNDS_PER_WINDOW % TOFT_PEAK_WINDOWS], high = 0;
  if (a->rounds++ % TOFT_ROUNDS_PER_WINDOW == 0) *window = 0;
  if (a->round_peak > *window) *window = a->round_peak;
  a->round_peak = 0;
  for (int i = 0; i < TOFT_PEAK_WINDOWS; i++)
    if (a->window_peaks[i] > high) high = a->window_peaks[i];
  return high + 512;
}
static toft_block_header *toft_unlink_all(toft_state *a) {
  toft_block_header *all = a->newest, **tail = &all;
  while (*tail != &a->initial) tail = &(*tail)->next;
  *tail = a->spares;
  a->spares = NULL;
  a->spare_bytes = 0;
  return all;
}
static toft_round_memory toft_measure_round(toft_state *a) {
  const toft_block_header *newest = a->newest;
  toft_round_memory m = {0, 0, 0, 0, 0, 0, 0, 0, 0};
  m.high = toft_end_round(a);
  for (const toft_block_header *b = newest; b != &a->initial; b = b->next) {
    m.others += b->size;
    m.dedicated_count += b->kind == TOFT_BLOCK_DEDICATED;
  }
  if (newest != &a->initial && newest->next == &a->initial && newest->kind == TOFT_BLOCK_REGULAR)
    m.single = newest->size;
  m.spare_bytes = a->spare_bytes;
  m.initial_usable = (size_t)(a->initial_end - a->initial_start);
  m.initial_only = a->source == NULL || (a->initial.source != NULL && a->initial.source->extend != NULL);
  m.limited = toft_is_limited(a->source);
  m.refused = (a->state & TOFT_KEEPS_BLOCKS) != 0;
  return m;
}
static int toft_is_retained(const toft_state *a, const toft_retention *r, size_t size) {
  if (r->blocks == TOFT_RETAIN_UP_TO) return size <= r->bound && a->spare_bytes <= r->bound - size;
  return r->blocks == TOFT_RETAIN_SPARE && a->spare_bytes == 0 && size >= r->at_least && size <= r->at_most;
}
static size_t toft_retain_matching(toft_state *a, toft_block_header *list, const toft_retention *r) {
  toft_block_header **tail = &a->spares;
  size_t largest = 0;
  while (list != NULL) {
    toft_block_header *b = list;
    list = b->next;
    if (toft_is_retained(a, r, b->size)) {
      *tail = b;
      tail = &b->next;
      a->spare_bytes += b->size;
      if (b->kind == TOFT_BLOCK_REGULAR) largest = toft_max(largest, b->size);
      b->kind = TOFT_BLOCK_SPARE;
    } else {
      toft_block_put(a, b);
    }
  }
  *tail = NULL;
  return largest;
}
static void toft_retain_blocks(toft_state *a, uint32_t policy, size_t keep) {
  toft_round_memory m = toft_measure_round(a);
  toft_retention r = toft_decide_retention(&m, policy, keep);
  a->state &= ~(uint32_t)TOFT_ROUND_REFUSED;
  a->spare_keep = r.bound;
  if (r.blocks == TOFT_RETAIN_IN_PLACE) {
    toft_block_header *single = a->newest;
    toft_put_spares(a, 0);
    toft_make_initial_current(a, r.initial_idle);
    a->newest = single;
    single->index = 1;
    toft_make_current(a, single, toft_block_start(a, single));
  } else {
    size_t largest = toft_retain_matching(a, toft_unlink_all(a), &r);
    if (r.blocks == TOFT_RETAIN_SPARE && a->spares != NULL) r.first_size = a->spares->size;
    if (r.first_size != 0) r.first_size = toft_max(r.first_size, largest);
    toft_make_initial_current(a, r.initial_idle);
  }
  a->first_size = r.first_size;
}
static void toft_mark_all_freed(toft_state *a) {
  for (toft_block_header *b = a->newest; b != NULL && (a->state & (TOFT_OBSERVED | TOFT_CLEARS)) != 0; b = b->next)
    toft_freed(a, toft_block_start(a, b), toft_block_used_end(a, b));
}
static int toft_op_reset(toft_arena *head, uint32_t policy, size_t keep) {
  toft_state *a = toft_state_of(head);
  int code = TOFT_OK;
  toft_sync_in(a);
  if (policy > TOFT_KEEP_BYTES) {
    code = TOFT_EARG;
  } else if (a->state & TOFT_REFUSING) {
    code = TOFT_EBUSY;
  } else {
    toft_update_round_peak(a, a->live);
    toft_run_cleanups(a, 0);
    if (TOFT_UNLIKELY(a->state & TOFT_OBSERVED)) code = toft_observe_free(a, 0, TOFT_BY_RESET);
    toft_mark_all_freed(a);
    toft_retain_blocks(a, policy, keep);
    a->live = 0;
    toft_portion_return(a);
    (void)toft_count_detached(a, NULL, 0, TOFT_DETACHED_REMOVED);
    toft_next_epoch(a);
    a->initial.epoch = a->current->epoch = toft_epoch(a);
  }
  toft_set_limit(a);
  return code;
}
static void toft_op_trim(toft_arena *head, size_t keep) {
  toft_state *a = toft_state_of(head);
  toft_sync_in(a);
  if (!(a->state & TOFT_REFUSING)) {
    toft_put_spares(a, keep);
    toft_portion_return(a);
    toft_block_header *b = a->current;
    a->spare_keep = toft_min(a->spare_keep, keep);
    if (toft_current_is_unused(a) && b->size > keep) {
      toft_put_current(a);
    } else if (a->live == 0 && b == &a->initial && a->newest == b && b->source != NULL && b->source->extend != NULL) {
      size_t size = toft_max(TOFT_BLOCK_MIN, toft_round(toft_min(keep, b->size), TOFT_BLOCK_MIN));
      size = toft_max(size, toft_round((size_t)(a->head.cursor - (unsigned char *)a), TOFT_BLOCK_MIN));
      if (size < b->size && (a->state & TOFT_OBSERVED)) (void)toft_observe_put(a, b, size);
      if (size < b->size && b->source->extend(b->source, a, b->size, size)) {
        b->size = size;
        a->end = a->initial_end = (unsigned char *)a + size;
      }
    }
  }
  toft_set_limit(a);
}
static int toft_may_try_again(toft_state *a, size_t size, size_t align) {
  size_t live = toft_refused_live(a);
  if (toft_budget_raised(a, size, align)) return 1;
  if (live == 0 && !toft_was_refused(a)) return 0;
  uint32_t was_busy = toft_begin_callback(a);
  int again =
      live != 0 ? toft_budget_ask_live(a, live) : toft_budget_ask(a->source, toft_least_size(toft_need(size, align)));
  toft_end_callback(a, was_busy);
  return again;
}
TOFT_INLINE void *toft_alloc_any(toft_state *a, size_t size, size_t align, int *code) {
  *code = toft_check_request(size, align);
  if (*code == TOFT_OK && size == 0 && toft_pad(a->head.cursor, align) == 0)
    return a->head.cursor;
  if (a->state & TOFT_BUSY) *code = TOFT_EBUSY;
  if (*code != TOFT_OK) return NULL;
  *code = TOFT_ENOMEM;
  void *p = toft_alloc_slow(a, size, align);
  if (TOFT_UNLIKELY(p == NULL) && toft_may_try_again(a, size, align)) p = toft_alloc_slow(a, size, align);
  return p;
}
TOFT_INLINE void *toft_end_alloc(toft_state *a, void *p, size_t old, size_t size, size_t align, uint32_t flags,
                                 int code) {
  if (TOFT_UNLIKELY(p == NULL))
    toft_report_failure(a, size, align, code);
  else if ((flags & TOFT_ZERO) && size > old)
    memset((unsigned char *)p + old, 0, size - old);
  return p;
}
static void *toft_op_alloc(toft_arena *head, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  toft_state *a = toft_state_of(head);
  int code;
  (void)site;
  toft_sync_in(a);
  void *p = toft_alloc_any(a, size, align, &code);
  toft_set_limit(a);
  return toft_end_alloc(a, p, 0, size, align, flags, code);
}
static int toft_is_newest(const toft_state *a, const unsigned char *p, size_t size) {
  return !(a->state & TOFT_CLAIMED) && (uintptr_t)p >= (uintptr_t)toft_block_start(a, a->current) &&
         (uintptr_t)a->head.cursor - (uintptr_t)p == TOFT_ROUND8(size);
}
static toft_block_header *toft_newest_dedicated(const toft_state *a, const unsigned char *p) {
  toft_block_header *b = a->newest;
  return b->kind == TOFT_BLOCK_DEDICATED && b->u.payload == p ? b : NULL;
}
TOFT_INLINE int toft_frees_block(const toft_state *a, const unsigned char *p) {
  return !(a->state & TOFT_PRISTINE) && a->newest->u.payload == p;
}
typedef void *toft_resize_fn(toft_state *a, unsigned char *p, size_t old_size, size_t new_size, size_t align,
                             uint32_t flags, int *code);
static void *toft_resize_unchecked(toft_state *a, unsigned char *p, size_t old_size, size_t new_size, size_t align,
                                   uint32_t flags, int *code) {
  int aligned = toft_pad(p, align) == 0;
  *code = TOFT_ENOMEM;
  size_t old_round = TOFT_ROUND8(old_size), new_round = TOFT_ROUND8(new_size);
  if (toft_is_newest(a, p, old_size) && aligned) {
    if (new_round <= old_round) {
      toft_freed(a, p + new_size, a->head.cursor);
      a->head.cursor = p + new_round;
      toft_sync(a);
      return p;
    }
    size_t more = new_round - old_round;
    int fits = more <= (size_t)(a->end - a->head.cursor);
    if (toft_fits_budget(a, more) && (fits || toft_extend_current(a, more, 1))) {
      a->head.cursor = p + new_round;
      toft_sync(a);
      return p;
    }
  } else if (new_size <= old_size && aligned) {
    toft_clear_freed(a, p + new_size, p + old_size);
    return p;
  }
  toft_block_header *dedicated = toft_newest_dedicated(a, p);
  if (dedicated != NULL && aligned && new_size <= (size_t)(toft_block_end(a, dedicated) - p)) {
    if (new_round > old_round) dedicated->used_end = p + new_round;
    return p;
  }
  if (flags & TOFT_STAY) return NULL;
  uint64_t peak = a->peak;
  unsigned char *q = (unsigned char *)toft_alloc_slow(a, new_size, align);
  if (q == NULL) return NULL;
  memcpy(q, p, toft_min(old_size, new_size));
  toft_freed(a, p, p + old_size);
  if (dedicated != NULL) {
    toft_block_header **at = a->newest == dedicated ? &a->newest : &a->newest->next;
    *at = dedicated->next;
    a->live -= dedicated->charge;
    a->peak = peak;
    toft_update_peak(a);
    (void)toft_count_detached(a, dedicated, 0, TOFT_DETACHED_REMOVED);
    toft_block_drop(a, dedicated);
  }
  return q;
}
TOFT_INLINE void *toft_resize_any(toft_state *a, toft_resize_fn *resize, unsigned char *p, size_t old_size,
                                  size_t new_size, size_t align, uint32_t flags, int *code) {
  *code = p == NULL ? TOFT_EARG : toft_check_request(new_size, align);
  if (a->state & TOFT_BUSY) *code = TOFT_EBUSY;
  if (*code != TOFT_OK) return NULL;
  void *q = resize(a, p, old_size, new_size, align, flags, code);
  size_t wanted = flags & TOFT_STAY ? new_size - toft_min(old_size, new_size) : new_size;
  if (flags & TOFT_STAY) a->state &= ~(uint32_t)TOFT_REFUSED;
  if (TOFT_UNLIKELY(q == NULL) && *code == TOFT_ENOMEM && toft_may_try_again(a, wanted, align))
    q = resize(a, p, old_size, new_size, align, flags, code);
  return q;
}
static void *toft_op_resize(toft_arena *head, void *p, size_t old_size, size_t new_size, size_t align, uint32_t flags,
                            uintptr_t site) {
  if (p == NULL && old_size == 0) return toft_op_alloc(head, new_size, align, flags, site);
  toft_state *a = toft_state_of(head);
  int code;
  if (old_size > TOFT_MAX_REQUEST) p = NULL;
  toft_sync_in(a);
  void *q = toft_resize_any(a, toft_resize_unchecked, (unsigned char *)p, old_size, new_size, align, flags, &code);
  toft_set_limit(a);
  return toft_end_alloc(a, q, old_size, new_size, align, flags, code);
}
static int toft_frees_nothing(const toft_state *a, const unsigned char *p, size_t size) {
  return !(a->head.epoch & 1) && !(a->state & TOFT_PRISTINE) &&
         (size_t)((uintptr_t)a->head.cursor - (uintptr_t)p) != TOFT_ROUND8(size) && !toft_frees_block(a, p);
}
static void toft_free_any(toft_state *a, unsigned char *p, size_t size) {
  if (p == NULL || size > TOFT_MAX_REQUEST) return;
  toft_clear_freed(a, p, p + size);
  if (a->state & TOFT_REFUSING) return;
  if (toft_is_newest(a, p, size)) {
    toft_freed(a, p, a->head.cursor);
    a->head.cursor = p;
    toft_sync(a);
  } else if (toft_newest_dedicated(a, p) != NULL) {
    toft_freed(a, p, a->newest->used_end);
    toft_block_drop(a, toft_block_pop(a));
  }
}
static void toft_op_free(toft_arena *head, void *p, size_t size) {
  toft_state *a = toft_state_of(head);
  if (TOFT_LIKELY(toft_frees_nothing(a, (const unsigned char *)p, size))) {
    toft_sync(a);
    return;
  }
  toft_sync_in(a);
  toft_free_any(a, (unsigned char *)p, size);
  toft_set_limit(a);
}
static toft_block_header *toft_mark_block(const toft_state *a, unsigned char **at, uintptr_t epoch) {
  unsigned char *cursor = *at;
  if (((uintptr_t)cursor & 7) != 0 || (epoch & 1) != 0 || epoch > toft_epoch(a)) return NULL;
  toft_block_header *b = a->current;
  while (b != NULL && b->epoch > epoch) b = b->u.below;
  if (b == &a->initial && epoch < a->trim_epoch) cursor = *at = a->initial_start;
  if (b == NULL || (uintptr_t)cursor < (uintptr_t)toft_block_start(a, b) ||
      (uintptr_t)cursor > (uintptr_t)toft_block_end(a, b))
    return NULL;
  if (b == &a->initial && (a->state & TOFT_INITIAL_IDLE) && cursor != a->initial_end) return NULL;
  return b;
}
static int toft_rewind_to(toft_state *a, toft_block_header *b, unsigned char *cursor, uintptr_t epoch) {
  if (epoch != toft_epoch(a)) toft_update_round_peak(a, a->live);
  toft_run_cleanups(a, epoch);
  int code = TOFT_UNLIKELY(a->state & TOFT_OBSERVED) ? toft_observe_free(a, epoch, TOFT_BY_REWIND) : TOFT_OK;
  int moved = b != a->current;
  while (a->newest->epoch > epoch) {
    toft_block_header *dropped = toft_block_pop(a);
    toft_freed(a, (unsigned char *)dropped + toft_block_offset(dropped), dropped->used_end);
    toft_block_drop(a, dropped);
  }
  if (cursor < a->head.cursor) {
    toft_freed(a, cursor, a->head.cursor);
    a->head.cursor = cursor;
    toft_sync(a);
  }
  if (moved) toft_next_epoch(a);
  return code;
}
static int toft_op_rewind(toft_arena *head, unsigned char *cursor, uintptr_t epoch) {
  toft_state *a = toft_state_of(head);
  int code = TOFT_EMARK;
  toft_sync_in(a);
  if (a->state & TOFT_REFUSING) {
    code = TOFT_EBUSY;
  } else {
    toft_block_header *b = toft_mark_block(a, &cursor, epoch);
    if (b != NULL) code = toft_rewind_to(a, b, cursor, epoch);
  }
  toft_set_limit(a);
  return code;
}
static void toft_link_cleanup(toft_state *a, toft_cleanup_node *node, void (*fn)(void *), void *arg) {
  toft_next_epoch(a);
  node->user.fn = fn;
  node->user.arg = arg;
  node->older = a->cleanups;
  node->epoch = toft_epoch(a);
  a->cleanups = node;
}
static toft_cleanup_node *toft_cleanup_take(toft_state *a) {
  return (toft_cleanup_node *)toft_alloc_slow(a, sizeof(toft_cleanup_node), 8);
}
static toft_cleanup *toft_op_cleanup(toft_arena *head, void (*fn)(void *), void *arg) {
  toft_state *a = toft_state_of(head);
  toft_cleanup_node *node = NULL;
  toft_sync_in(a);
  int busy = (a->state & TOFT_REFUSING) != 0;
  if (!busy) node = toft_cleanup_take(a);
  if (!busy && node == NULL && toft_may_try_again(a, sizeof *node, 8)) node = toft_cleanup_take(a);
  if (node != NULL) toft_link_cleanup(a, node, fn, arg);
  toft_set_limit(a);
  if (node == NULL) toft_report_failure(a, sizeof *node, 8, busy ? TOFT_EBUSY : TOFT_ENOMEM);
  return node != NULL ? &node->user : NULL;
}
#define TOFT_CLEARED_RANGE ((size_t)4096)
static unsigned char *toft_range_end(const toft_state *a) {
  size_t size = (size_t)(a->head.limit - a->head.cursor);
  return a->head.cursor + (a->state & TOFT_CLEARS ? toft_min(size, TOFT_CLEARED_RANGE) : size);
}
static int toft_check_claim(const toft_state *a, const toft_range *r, size_t size, size_t align) {
  uint32_t claimed = a->state & TOFT_CLAIMED;
  if ((a->state & TOFT_BUSY) || (claimed && r->claim != a->claim_id)) return TOFT_EBUSY;
  if (claimed ? r->cursor < a->claim_start || r->cursor > a->claim_limit : r->claim != 0) return TOFT_EARG;
  return size != 0 ? toft_check_request(size, align) : TOFT_OK;
}
static unsigned char *toft_claim_place(toft_state *a, const toft_range *r, size_t size, size_t align,
                                       uint64_t *before) {
  uint32_t claimed = a->state & TOFT_CLAIMED;
  unsigned char *cursor = a->head.cursor;
  uint64_t allocated = a->allocated, peak = a->peak;
  a->state &= ~(uint32_t)TOFT_CLAIMED;
  if (claimed) a->head.cursor = r->cursor + toft_pad(r->cursor, 8);
  toft_sync(a);
  *before = a->allocated;
  if (claimed) a->state |= TOFT_RANGE_GROWS;
  unsigned char *p = size != 0 ? (unsigned char *)toft_alloc_slow(a, size, align) : a->head.cursor;
  if (p == NULL && toft_may_try_again(a, size, align)) p = (unsigned char *)toft_alloc_slow(a, size, align);
  a->state &= ~(uint32_t)TOFT_RANGE_GROWS;
  if (p != NULL) return p;
  if (claimed) a->head.cursor = cursor;
  toft_sync(a);
  a->allocated = allocated;
  a->peak = peak;
  if (a->state & TOFT_INSTRUMENTED) (void)toft_observe_charge(a, 0);
  a->state |= claimed;
  return NULL;
}
static void toft_claim_range(toft_state *a, toft_range *r, unsigned char *p, size_t size) {
  if (r->claim != 0) toft_clear_freed(a, r->cursor, a->claim_limit);
  toft_set_limit(a);
  a->claim_start = p + TOFT_ROUND8(size) == a->head.cursor ? p : a->head.cursor;
  a->claim_limit = toft_range_end(a);
  if (r->claim == 0) a->claim_id = (uintptr_t)a | ((a->claim_id + 1) & 63);
  r->cursor = a->head.cursor;
  r->limit = a->claim_limit;
  r->claim = a->claim_id;
  a->state |= TOFT_CLAIMED;
}
static void *toft_op_claim(toft_arena *head, toft_range *r, size_t size, size_t align) {
  toft_state *a = toft_state_of(head);
  uint64_t before;
  toft_sync_in(a);
  int code = toft_check_claim(a, r, size, align);
  unsigned char *p = code == TOFT_OK ? toft_claim_place(a, r, size, align, &before) : NULL;
  if (p != NULL) toft_claim_range(a, r, p, size);
  toft_set_limit(a);
  if (p == NULL) toft_report_failure(a, size, align, code == TOFT_OK ? TOFT_ENOMEM : code);
  return p;
}
static int toft_op_give(toft_arena *head, toft_range *r) {
  toft_state *a = toft_state_of(head);
  int code = TOFT_EARG;
  toft_sync_in(a);
  if ((a->state & TOFT_REFUSING) == TOFT_CLAIMED && r->claim == a->claim_id && r->cursor >= a->claim_start &&
      r->cursor <= a->claim_limit) {
    toft_clear_freed(a, r->cursor, a->claim_limit);
    a->head.cursor = r->cursor + toft_pad(r->cursor, 8);
    a->state &= ~(uint32_t)TOFT_CLAIMED;
    a->side_block = NULL;
    toft_sync(a);
    r->cursor = r->limit = NULL;
    r->claim = 0;
    code = TOFT_OK;
  }
  toft_set_limit(a);
  return code;
}
static int toft_op_set(toft_arena *head, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  toft_state *a = toft_state_of(head);
  int code = TOFT_EBUSY;
  if (what < TOFT_SET_BUDGET || what > TOFT_SET_CHECKED) return TOFT_ENOSYS;
  if (what != TOFT_SET_BUDGET && (a->state & TOFT_IN_REGION)) return TOFT_ENOSYS;
  toft_sync_in(a);
  if (what != TOFT_SET_BUDGET) {
    code = toft_observe_set(a, what, value, name, name_len);
  } else if (!(a->state & TOFT_REFUSING)) {
    toft_set_own_budget(a, value);
    toft_next_epoch(a);
    code = TOFT_OK;
  }
  toft_set_limit(a);
  return code;
}
static int toft_op_contains(const toft_arena *head, const void *p);
static size_t toft_op_stats(toft_arena *head, toft_stats *out, size_t out_size);
static void toft_op_release(toft_arena *head);
static int toft_op_query(const toft_arena *head, uint32_t what, uint64_t *value);
static const toft_provider_info toft_info = {"toft-c", TOFT_VERSION, toft_op_query};
static const toft_info_ops toft_table = {
    {
        sizeof(toft_info_ops),
        1,
        toft_op_alloc,
        toft_op_resize,
        toft_op_free,
        toft_op_rewind,
        toft_op_reset,
        toft_op_trim,
        toft_op_cleanup,
        toft_op_claim,
        toft_op_give,
        toft_op_contains,
        toft_op_stats,
        toft_op_set,
        toft_op_release,
    },
    &toft_info,
    NULL,
};
static int toft_is_leased(const toft_arena *a);
static void *toft_leased_alloc(toft_arena *a, size_t size, size_t align, uint32_t flags, uintptr_t site);
static const toft_arena_ops *toft_observed_ops;
static int toft_is_own(const toft_arena *a) {
  return a->ops == &toft_table.ops || a->ops == TOFT_LOAD_POINTER(const toft_arena_ops, &toft_observed_ops) ||
         toft_is_leased(a);
}
static const toft_arena_ops *toft_ops_of(const toft_state *a) {
  return TOFT_UNLIKELY(a->state & TOFT_OBSERVED) ? TOFT_LOAD_POINTER(const toft_arena_ops, &toft_observed_ops)
                                                 : &toft_table.ops;
}
static int toft_query_plain(const toft_state *a, uint32_t what, uint64_t *value) {
  if (what == TOFT_SET_BUDGET) {
    *value = toft_own_budget(a);
  } else if (what == TOFT_SET_SAMPLE) {
    *value = 0;
  } else if (what == TOFT_SET_CHECKED) {
    *value = (a->state & TOFT_IS_CHECKED) != 0;
  } else {
    return TOFT_ENOSYS;
  }
  return TOFT_OK;
}
static int toft_op_query(const toft_arena *head, uint32_t what, uint64_t *value) {
  const toft_state *a = toft_state_of(head);
  const toft_info_ops *t = (const toft_info_ops *)(const void *)toft_ops_of(a);
  return t == &toft_table ? toft_query_plain(a, what, value) : t->info->query(head, what, value);
}
static toft_state *toft_own_state(const toft_arena *head) {
  const toft_info_ops *t = (const toft_info_ops *)(const void *)head->ops;
  while (t->ops.size >= sizeof *t && t->under != NULL) t = (const toft_info_ops *)(const void *)t->under;
  int own = t == &toft_table || &t->ops == TOFT_LOAD_POINTER(const toft_arena_ops, &toft_observed_ops);
  return own || t->ops.alloc == toft_leased_alloc ? toft_state_of(head) : NULL;
}
static int toft_is_refusing(toft_arena *a) { return a->ops->rewind(a, NULL, 0) == TOFT_EBUSY; }
static int toft_end_instruments(toft_state *a) {
  uint32_t owned = a->state & TOFT_CACHE_OWNED;
  a->state |= TOFT_CACHE_OWNED;
  for (const toft_arena_ops *ops = NULL; !toft_is_own(&a->head) && a->head.ops != ops;) {
    ops = a->head.ops;
    ops->release(&a->head);
  }
  if (!owned) a->state &= ~(uint32_t)TOFT_CACHE_OWNED;
  return toft_is_own(&a->head);
}
typedef struct toft_reset_state {
  uintptr_t epoch, full_epoch,
      due_epoch;
  unsigned char *start, *limit;
  size_t round_max;
} toft_reset_state;
TOFT_INLINE int toft_reset_fast(toft_state *a, toft_reset_state *s) {
  uintptr_t epoch = s->epoch;
  unsigned char *start = s->start;
  if (TOFT_UNLIKELY(a->head.epoch != epoch || epoch == s->due_epoch || (size_t)(a->head.cursor - start) > s->round_max))
    return 0;
  a->head.cursor = start;
  a->head.epoch = a->initial.epoch = a->current->epoch = s->epoch = epoch + 2;
  return 1;
}
static toft_state *toft_init(void *at, unsigned char *start, unsigned char *end, size_t size, toft_source *source,
                             uint32_t state) {
  toft_state *a = (toft_state *)at;
  a->head.cursor = a->synced = a->initial_start = start;
  a->head.ops = &toft_table.ops;
  a->head.limit = a->end = a->initial_end = end;
  a->head.epoch = toft_first_epoch();
  a->state = TOFT_PRISTINE | state;
  a->rounds = 0;
  a->budget = UINT64_MAX;
  a->source = source;
  a->initial_size = size;
  toft_mark_defined(a, sizeof a->head);
  return a;
}
static toft_state *toft_init_in_block(void *block, toft_source *source, uint32_t state) {
  unsigned char *base = (unsigned char *)block;
  return toft_init(block, base + TOFT_INITIAL_START, base + TOFT_BLOCK_MIN, TOFT_BLOCK_MIN, source, state);
}
static toft_state *toft_create_from(toft_source *source, uint32_t state) {
  void *block = source->take(source, TOFT_BLOCK_MIN);
  if (block == NULL && toft_budget_ask(source, TOFT_BLOCK_MIN)) block = source->take(source, TOFT_BLOCK_MIN);
  if (block != NULL && ((uintptr_t)block & 63) != 0) {
    source->put(source, block, TOFT_BLOCK_MIN);
    return NULL;
  }
  if (block == NULL) return NULL;
  return toft_init_in_block(block, source, state);
}
static void toft_put_initial(toft_state *a);
TOFT_INLINE toft_state *toft_finish_create(toft_state *a) {
  size_t switches = toft_process_switches();
  return TOFT_LIKELY(switches == 0) || a == NULL ? a : toft_observe_created(a, switches);
}
static toft_state *toft_create_on(toft_source *source) {
  toft_source *region = toft_region_under(source);
  if (region == NULL) return toft_finish_create(toft_create_from(source, 0));
  toft_state *a = toft_create_from(source, TOFT_IN_REGION);
  if (a != NULL) TOFT_LOAD_POINTER(const toft_region_calls, &toft_regions)->enlist(region, a);
  return a;
}
static TOFT_COLD toft_state *toft_create_slow(void) {
  return toft_finish_create(toft_create_from(&toft_heap_source, TOFT_CACHEABLE));
}
toft_arena *toft_create(void) {
  toft_state *a = toft_cache_pop();
  if (TOFT_UNLIKELY(a == NULL)) a = toft_create_slow();
  return a != NULL ? &a->head : NULL;
}
toft_arena *toft_create_in(void *buffer, size_t size, toft_source *overflow) {
  unsigned char *base = (unsigned char *)buffer;
  size_t pad = (size_t)(0 - (uintptr_t)base) & 63;
  if (base == NULL || size < pad + TOFT_INITIAL_START || toft_region_under(overflow) != NULL) return NULL;
  unsigned char *at = base + pad, *start = at + TOFT_INITIAL_START;
  unsigned char *end = start + ((size - pad - TOFT_INITIAL_START) & ~(size_t)7);
  toft_state *a = toft_finish_create(toft_init(at, start, end, (size_t)(end - at), overflow, TOFT_IN_BUFFER));
  return a != NULL ? &a->head : NULL;
}
toft_arena *toft_create_with(const toft_options *given) {
  toft_options o = TOFT_OPTIONS;
  if (given == NULL) return toft_create();
  if (given->size < 2 * sizeof(void *)) return NULL;
  memcpy(&o, given, toft_min(given->size, sizeof o));
  if ((o.flags & ~(uint32_t)TOFT_CHECKED) != 0 || o.reserve > TOFT_MAX_REQUEST) return NULL;
  toft_source *source = o.source != NULL || o.buffer != NULL ? o.source : &toft_heap_source;
  if (o.flags != 0 && toft_region_under(source) != NULL) return NULL;
  if (o.buffer == NULL) source = toft_source_for_arena(source);
  toft_arena *head = NULL;
  if (o.buffer != NULL) {
    head = toft_create_in(o.buffer, o.buffer_size, source);
  } else if (source == &toft_heap_source) {
    head = toft_create();
  } else {
    toft_state *made = toft_create_on(source);
    if (made != NULL) head = &made->head;
  }
  if (head == NULL) return NULL;
  toft_state *a = toft_state_of(head);
  toft_sync_in(a);
  if (o.budget != 0) a->budget = o.budget;
  a->failure = o.failure;
  a->failure_arg = o.failure_arg;
  size_t first = toft_merged_size((uint64_t)o.reserve + 512);
  if (o.reserve != 0 && first > TOFT_BLOCK_MIN && o.buffer == NULL && source->extend == NULL) {
    a->first_size = first;
    toft_make_initial_current(a, 1);
  }
  if (o.buffer == NULL && !toft_portion_begin(a)) {
    toft_release_all(a);
    return NULL;
  }
  size_t switches = (o.flags & TOFT_CHECKED) || (a->state & TOFT_IS_CHECKED) ? TOFT_PROCESS_CHECKS : 0;
  toft_set_limit(a);
  if (switches != 0) a = toft_observe_created(a, switches | TOFT_SWITCHED_BY_OPTION);
  return a != NULL ? head : NULL;
}
static void toft_put_initial(toft_state *a) {
  toft_source *source = a->source;
  size_t size = a->initial_size;
  toft_region_unlist(a);
  toft_skip_epochs(a->head.epoch);
  if (TOFT_UNLIKELY(a->state & TOFT_OBSERVED) && toft_observe_put(a, &a->initial, 0)) return;
  if (a->state & TOFT_IN_BUFFER) return;
  if ((a->state & TOFT_CACHEABLE) != 0 && toft_process_switches() == 0 && toft_cache_accepts(size))
    toft_cache_push(toft_init_in_block(a, source, TOFT_CACHEABLE));
  else
    source->put(source, a, size);
}
static void toft_release_all(toft_state *a) {
  toft_run_cleanups(a, 0);
  if (TOFT_UNLIKELY(a->state & TOFT_OBSERVED)) (void)toft_observe_free(a, 0, TOFT_BY_RELEASE);
  while (a->newest != &a->initial) {
    toft_block_header *b = a->newest;
    a->newest = b->next;
    toft_block_put(a, b);
  }
  toft_put_spares(a, 0);
  toft_portion_end(a);
  a->initial_size = a->initial.size;
  toft_put_initial(a);
}
static TOFT_COLD void toft_release_slow(toft_state *a) {
  if (a->state & TOFT_CACHE_OWNED) return;
  if (a->state & TOFT_PRISTINE) {
    toft_put_initial(a);
    return;
  }
  toft_sync_in(a);
  if (!(a->state & TOFT_REFUSING)) {
    toft_release_all(a);
    return;
  }
  toft_set_limit(a);
  toft_report_failure(a, 0, 0, TOFT_EBUSY);
}
static void toft_op_release(toft_arena *head) {
  toft_state *a = toft_state_of(head);
  toft_cache *c = &toft_thread_cache;
  if (TOFT_LIKELY(a->state == (TOFT_PRISTINE | TOFT_CACHEABLE) && c->phase == TOFT_CACHE_OPEN &&
                  c->bytes + TOFT_BLOCK_MIN <= TOFT_LOAD(&toft_cache_limit_bytes))) {
    head->cursor = a->initial_start;
    toft_cache_push(a);
  } else if (a->state != (TOFT_PRISTINE | TOFT_IN_BUFFER)) {
    toft_release_slow(a);
  }
}
static void toft_release_adopted(void *donor) {
  toft_state *a = (toft_state *)donor;
  toft_sync_in(a);
  toft_release_all(a);
}
static size_t toft_block_used(const toft_state *a, toft_block_header *b) {
  if (b == &a->initial && (a->state & TOFT_INITIAL_IDLE)) return 0;
  return (size_t)(toft_block_used_end(a, b) - toft_block_start(a, b));
}
static toft_state *toft_adopted_arena(const toft_cleanup_node *node) {
  return node->user.fn == toft_release_adopted ? (toft_state *)node->user.arg : NULL;
}
static int toft_op_contains(const toft_arena *head, const void *p) {
  const toft_state *a = toft_state_of(head);
  const unsigned char *q = (const unsigned char *)p;
  if (a->state & TOFT_PRISTINE) return q >= a->initial_start && q < head->cursor;
  for (toft_block_header *b = a->newest; b != NULL; b = b->next) {
    const unsigned char *start = toft_block_start(a, b);
    if (q >= start && q < start + toft_block_used(a, b)) return 1;
  }
  for (const toft_cleanup_node *n = a->cleanups; n != NULL; n = n->older) {
    const toft_state *donor = toft_adopted_arena(n);
    if (donor != NULL && toft_op_contains(&donor->head, p)) return 1;
  }
  return 0;
}
static void toft_add_stats(const toft_state *a, toft_stats *s) {
  for (toft_block_header *b = a->newest; b != NULL; b = b->next) {
    s->reserved += b->size;
    s->blocks++;
    s->wasted += b->size - toft_block_used(a, b);
    if (b == a->current) s->wasted -= (size_t)(a->end - a->head.cursor);
  }
  s->reserved += a->spare_bytes;
  s->source_calls += a->source_calls;
  for (const toft_cleanup_node *n = a->cleanups; n != NULL; n = n->older) {
    const toft_state *donor = toft_adopted_arena(n);
    if (donor != NULL) toft_add_stats(donor, s);
  }
}
static size_t toft_op_stats(toft_arena *head, toft_stats *out, size_t out_size) {
  toft_state *a = toft_state_of(head);
  toft_stats s;
  toft_sync_in(a);
  memset(&s, 0, sizeof s);
  if (out_size > offsetof(toft_stats, reserved)) toft_add_stats(a, &s);
  s.live = a->live;
  s.allocated = a->allocated;
  s.peak = a->peak;
  s.budget = toft_own_budget(a);
  toft_set_limit(a);
  size_t n = toft_min(out_size, sizeof s);
  memcpy(out, &s, n);
  return n;
}
static int toft_walk_blocks(toft_state *a, int (*fn)(void *, const toft_block *), void *arg) {
  toft_block v;
  const toft_cleanup_node *n = a->cleanups;
  for (toft_block_header *b = a->newest; b != NULL; b = b->next) {
    for (; n != NULL && n->epoch > b->epoch; n = n->older) {
      toft_state *donor = toft_adopted_arena(n);
      int stop = donor != NULL ? toft_walk_blocks(donor, fn, arg) : 0;
      if (stop != 0) return stop;
    }
    v.base = b == &a->initial ? (const void *)a : (const void *)b;
    v.size = b->size;
    v.start = toft_block_start(a, b);
    v.used = toft_block_used(a, b);
    v.kind = (int)b->kind;
    int stop = fn(arg, &v);
    if (stop != 0) return stop;
  }
  for (toft_block_header *b = a->spares; b != NULL; b = b->next) {
    v.base = b;
    v.size = b->size;
    v.start = toft_block_start(a, b);
    v.used = 0;
    v.kind = TOFT_BLOCK_SPARE;
    int stop = fn(arg, &v);
    if (stop != 0) return stop;
  }
  return 0;
}
int toft_blocks(toft_arena *head, int (*fn)(void *arg, const toft_block *block), void *arg) {
  if (!toft_is_own(head)) return TOFT_ENOSYS;
  toft_state *a = toft_state_of(head);
  toft_sync_in(a);
  uint32_t was_busy = toft_begin_callback(a);
  int stop = toft_walk_blocks(a, fn, arg);
  toft_end_callback(a, was_busy);
  toft_set_limit(a);
  return stop;
}
const char *toft_version(void) { return TOFT_VERSION; }
const char *toft_error_name(int code) {
  switch (code) {
    case TOFT_OK: return "TOFT_OK";
    case TOFT_ENOMEM: return "TOFT_ENOMEM";
    case TOFT_EMARK: return "TOFT_EMARK";
    case TOFT_EBUSY: return "TOFT_EBUSY";
    case TOFT_EARG: return "TOFT_EARG";
    case TOFT_ENOSYS: return "TOFT_ENOSYS";
    case TOFT_ECORRUPT: return "TOFT_ECORRUPT";
    default: return "unknown";
  }
}
static int toft_debug_begin_call_slow(toft_state *a, const char *op, uintptr_t site);
TOFT_INLINE int toft_debug_begin_call(toft_state *a, const char *op, uintptr_t site) {
  if (TOFT_LIKELY((a->state & TOFT_PRISTINE) != 0 || a->checks == NULL)) return 1;
  return toft_debug_begin_call_slow(a, op, site);
}
TOFT_INLINE void toft_debug_end_call(toft_state *a);
static void toft_update_observed(toft_state *a);
static void toft_profile_remove(toft_state *a);
static void toft_pool_drop_kept(void) {}
static void toft_thread_release_leases(void) {}
static void toft_thread_state_release(void) {}
static void toft_leases_unload(void) {}
static void toft_threads_at_fork(int phase) { (void)phase; }
static int toft_is_leased(const toft_arena *a) { return (void)a, 0; }
static void *toft_leased_alloc(toft_arena *a, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  return (void)a, (void)size, (void)align, (void)flags, (void)site, (void *)NULL;
}
#if defined(_WIN32) || defined(TOFT_OMIT_SYMBOLS)
#define TOFT_DYNAMIC 0
#elif defined(__GLIBC__) && defined(TOFT_STATIC) && (__GLIBC__ < 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ < 34))
#define TOFT_DYNAMIC 0
#else
#define TOFT_DYNAMIC 1
#include <dlfcn.h>
#if defined(__ELF__)
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlclose
#define TOFT_HAS(fn) ((fn) != NULL)
typedef struct toft_dl_info {
  const char *module;
  void *base;
  const char *function;
  void *address;
} toft_dl_info;
extern int toft_dladdr(const void *address, toft_dl_info *info) __asm__("dladdr") __attribute__((weak));
#else
#define TOFT_HAS(fn) 1
#endif
#endif
int toft_symbolize(void *arg, const void *address, toft_symbol *symbol) {
  (void)arg;
  memset(symbol, 0, sizeof *symbol);
#if TOFT_DYNAMIC
  const void *call = (const unsigned char *)address - 1;
#if defined(__ELF__)
  toft_dl_info info;
  if (!TOFT_HAS(toft_dladdr) || toft_dladdr(call, &info) == 0) return 0;
#else
  Dl_info found;
  if (dladdr(call, &found) == 0) return 0;
  struct {
    const char *module, *function;
    const void *base, *address;
  } info = {found.dli_fname, found.dli_sname, found.dli_fbase, found.dli_saddr};
#endif
  symbol->module = info.module;
  symbol->module_offset = (size_t)((uintptr_t)call - (uintptr_t)info.base);
  symbol->function = info.function;
  if (info.function != NULL) symbol->offset = (size_t)((uintptr_t)address - (uintptr_t)info.address);
  return 1;
#else
  (void)address;
  return 0;
#endif
}
#if TOFT_DYNAMIC && defined(__ELF__)
typedef struct toft_dwarf_die {
  void *words[4];
} toft_dwarf_die;
typedef struct toft_dwarf_attribute {
  void *words[4];
} toft_dwarf_attribute;
enum { TOFT_DW_TAG_INLINED = 0x1d, TOFT_DW_TAG_SUBPROGRAM = 0x2e, TOFT_DW_CALL_FILE = 0x58, TOFT_DW_CALL_LINE = 0x59 };
typedef struct toft_dwfl_callbacks {
  void *find_elf, *find_debuginfo, *section_address;
  char **debuginfo_path;
} toft_dwfl_callbacks;
typedef struct toft_dwarf {
  void *library, *session;
  toft_dwfl_callbacks callbacks;
  void *(*begin)(const toft_dwfl_callbacks *callbacks);
  int (*report)(void *session, pid_t pid);
  int (*report_end)(void *session, void *removed, void *arg);
  void *(*module)(void *session, uint64_t address);
  const char *(*module_info)(void *module, void *user, uint64_t *start, uint64_t *end, uint64_t *dwarf_bias,
                             uint64_t *symbols_bias, const char **main, const char **debug);
  const char *(*function)(void *module, uint64_t address, uint64_t *offset, void *symbol, uint32_t *section, void *elf,
                          uint64_t *bias);
  void *(*line)(void *module, uint64_t address);
  const char *(*line_info)(void *line, uint64_t *address, int *number, int *column, uint64_t *time, uint64_t *length);
  void (*end)(void *session);
  toft_dwarf_die *(*unit)(void *module, uint64_t address, uint64_t *bias);
  int (*scopes)(toft_dwarf_die *unit, uint64_t address, toft_dwarf_die **scopes);
  int (*scopes_of)(toft_dwarf_die *die, toft_dwarf_die **scopes);
  int (*tag)(toft_dwarf_die *die);
  toft_dwarf_attribute *(*attribute)(toft_dwarf_die *die, unsigned name, toft_dwarf_attribute *out);
  int (*number)(toft_dwarf_attribute *attribute, uint64_t *out);
  int (*files)(toft_dwarf_die *unit, void **files, size_t *count);
  const char *(*file)(void *files, size_t index, uint64_t *time, uint64_t *length);
  const char *(*declared)(toft_dwarf_die *die);
} toft_dwarf;
static int toft_dwarf_find(const toft_dwarf *d, const char *name, void *function) {
  void *found = dlsym(d->library, name);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}
static TOFT_RARE int toft_dwarf_begin(toft_dwarf *d) {
  return toft_dwarf_find(d, "dwfl_linux_proc_find_elf", &d->callbacks.find_elf) &&
         toft_dwarf_find(d, "dwfl_build_id_find_debuginfo", &d->callbacks.find_debuginfo) &&
         toft_dwarf_find(d, "dwfl_begin", &d->begin) && toft_dwarf_find(d, "dwfl_linux_proc_report", &d->report) &&
         toft_dwarf_find(d, "dwfl_report_end", &d->report_end) && toft_dwarf_find(d, "dwfl_addrmodule", &d->module) &&
         toft_dwarf_find(d, "dwfl_module_info", &d->module_info) &&
         toft_dwarf_find(d, "dwfl_module_addrinfo", &d->function) &&
         toft_dwarf_find(d, "dwfl_module_getsrc", &d->line) && toft_dwarf_find(d, "dwfl_lineinfo", &d->line_info) &&
         toft_dwarf_find(d, "dwfl_module_addrdie", &d->unit) && toft_dwarf_find(d, "dwarf_getscopes", &d->scopes) &&
         toft_dwarf_find(d, "dwarf_getscopes_die", &d->scopes_of) && toft_dwarf_find(d, "dwarf_tag", &d->tag) &&
         toft_dwarf_find(d, "dwarf_attr", &d->attribute) && toft_dwarf_find(d, "dwarf_formudata", &d->number) &&
         toft_dwarf_find(d, "dwarf_getsrcfiles", &d->files) && toft_dwarf_find(d, "dwarf_filesrc", &d->file) &&
         toft_dwarf_find(d, "dwarf_decl_file", &d->declared) && toft_dwarf_find(d, "dwfl_end", &d->end) &&
         (d->session = d->begin(&d->callbacks)) != NULL && d->report(d->session, getpid()) == 0 &&
         d->report_end(d->session, NULL, NULL) == 0;
}
static void toft_dwarf_close(toft_dwarf *d) {
  if (d->session != NULL) d->end(d->session);
  if (d->library != NULL) (void)dlclose(d->library);
}
static int toft_dwarf_open(toft_dwarf *d) {
  memset(d, 0, sizeof *d);
  if (toft_msan_unpoison != NULL) return 0;
  if (TOFT_HAS(dlopen) && TOFT_HAS(dlsym) && TOFT_HAS(dlclose))
    d->library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  if (d->library != NULL && toft_dwarf_begin(d)) return 1;
  toft_dwarf_close(d);
  return 0;
}
static int toft_dwarf_covers(const toft_dwarf *d, const void *address) {
  return d->module(d->session, (uint64_t)(uintptr_t)address - 1) != NULL;
}
static int toft_is_library_file(const char *file) {
  const char *slash = strrchr(file, '/'), *name = slash != NULL ? slash + 1 : file, *dot = strrchr(name, '.');
  if (strcmp(name, "toft.h") == 0 || strcmp(name, "toft.c") == 0) return 1;
  if (name - file >= 5 && memcmp(name - 5, "toft/", 5) == 0 && (name - file == 5 || name[-6] == '/') && dot != NULL &&
      (strcmp(dot, ".h") == 0 || strcmp(dot, ".hpp") == 0))
    return 1;
  return strncmp(file, "/usr/include/", 13) == 0 || strstr(file, "/include/c++/") != NULL;
}
static TOFT_RARE void toft_dwarf_skip_library(const toft_dwarf *d, void *module, uint64_t call, toft_symbol *symbol) {
  toft_dwarf_die *inner = NULL, *chain = NULL;
  uint64_t bias = 0;
  void *files = NULL;
  size_t known = 0;
  toft_dwarf_die *unit = d->unit(module, call, &bias);
  if (unit == NULL || d->files(unit, &files, &known) != 0 || d->scopes(unit, call - bias, &inner) <= 0) return;
  const char *file = symbol->file;
  uint64_t line = symbol->line;
  int count = d->scopes_of(&inner[0], &chain), found = 0;
  for (int i = 0; i < count && !found; i++) {
    toft_dwarf_attribute at;
    uint64_t index = 0;
    int tag = d->tag(&chain[i]);
    if (tag != TOFT_DW_TAG_INLINED && tag != TOFT_DW_TAG_SUBPROGRAM) continue;
    const char *declared = d->declared(&chain[i]);
    found = declared != NULL && !toft_is_library_file(declared);
    if (found || tag == TOFT_DW_TAG_SUBPROGRAM) break;
    if (d->attribute(&chain[i], TOFT_DW_CALL_FILE, &at) == NULL || d->number(&at, &index) != 0) break;
    file = d->file(files, (size_t)index, NULL, NULL);
    if (d->attribute(&chain[i], TOFT_DW_CALL_LINE, &at) == NULL || d->number(&at, &line) != 0 || file == NULL) break;
  }
  if (found) {
    symbol->file = file;
    symbol->line = (unsigned)line;
  }
  free(chain);
  free(inner);
}
static int toft_dwarf_symbolize(void *arg, const void *address, toft_symbol *symbol) {
  const toft_dwarf *d = (const toft_dwarf *)arg;
  uint64_t call = (uint64_t)(uintptr_t)address - 1, start = 0, offset = 0, info[8];
  void *module = d->module(d->session, call);
  if (module == NULL) return toft_symbolize(NULL, address, symbol);
  memset(symbol, 0, sizeof *symbol);
  symbol->module = d->module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
  symbol->module_offset = (size_t)(call - start);
  symbol->function = d->function(module, call, &offset, info, NULL, NULL, NULL);
  if (symbol->function != NULL) symbol->offset = (size_t)offset + 1;
  int number = 0;
  void *line = d->line(module, call);
  if (line != NULL) symbol->file = d->line_info(line, NULL, &number, NULL, NULL, NULL);
  symbol->line = number > 0 ? (unsigned)number : 0;
  if (symbol->file != NULL && toft_is_library_file(symbol->file)) toft_dwarf_skip_library(d, module, call, symbol);
  return 1;
}
#else
typedef struct toft_dwarf {
  char none;
} toft_dwarf;
static TOFT_RARE int toft_dwarf_open(toft_dwarf *d) { return (void)d, 0; }
static void toft_dwarf_close(toft_dwarf *d) { (void)d; }
static int toft_dwarf_covers(const toft_dwarf *d, const void *address) { return (void)d, (void)address, 1; }
static int toft_dwarf_symbolize(void *arg, const void *address, toft_symbol *symbol) {
  return toft_symbolize(arg, address, symbol);
}
#endif
typedef struct toft_json {
  int (*write)(void *arg, const char *bytes, size_t size);
  void *arg;
  int code;
  int first;
  size_t length;
  char text[256];
} toft_json;
static toft_json toft_json_to(int (*write)(void *, const char *, size_t), void *arg) {
  toft_json j;
  memset(&j, 0, sizeof j);
  j.write = write;
  j.arg = arg;
  return j;
}
static size_t toft_utf8(const unsigned char *s, size_t n) {
  unsigned char c = s[0];
  size_t length = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
  if (length == 0 || length > n) return 0;
  for (size_t i = 1; i < length; i++)
    if ((s[i] & 0xC0) != 0x80) return 0;
  if ((c == 0xE0 && s[1] < 0xA0) || (c == 0xED && s[1] > 0x9F) || (c == 0xF0 && s[1] < 0x90) ||
      (c == 0xF4 && s[1] > 0x8F))
    return 0;
  return length;
}
static void toft_json_flush(toft_json *j) {
  if (j->length != 0 && j->code == 0) j->code = j->write(j->arg, j->text, j->length);
  j->length = 0;
}
static void toft_json_bytes(toft_json *j, const char *s, size_t n) {
  while (n != 0) {
    size_t part = toft_min(n, sizeof j->text - j->length);
    memcpy(j->text + j->length, s, part);
    j->length += part;
    s += part;
    n -= part;
    if (j->length == sizeof j->text) toft_json_flush(j);
  }
}
static void toft_json_raw(toft_json *j, const char *s) { toft_json_bytes(j, s, strlen(s)); }
static TOFT_RARE void toft_json_digits(toft_json *j, uint64_t n, unsigned base) {
  char digits[20], *at = digits + sizeof digits;
  do {
    *--at = "0123456789abcdef"[n % base];
    n /= base;
  } while (n != 0);
  toft_json_bytes(j, at, (size_t)(digits + sizeof digits - at));
}
static TOFT_RARE void toft_json_string(toft_json *j, const char *s) {
  size_t remaining = strlen(s);
  toft_json_raw(j, "\"");
  while (remaining != 0) {
    size_t n = toft_utf8((const unsigned char *)s, remaining);
    unsigned char c = (unsigned char)*s;
    if (n == 0) {
      toft_json_raw(j, "\xEF\xBF\xBD");
      n = 1;
    } else if (c == '"' || c == '\\') {
      toft_json_raw(j, "\\");
      toft_json_bytes(j, s, 1);
    } else if (c < 0x20) {
      toft_json_raw(j, c < 0x10 ? "\\u000" : "\\u001");
      toft_json_digits(j, c & 0xF, 16);
    } else {
      toft_json_bytes(j, s, n);
    }
    s += n;
    remaining -= n;
  }
  toft_json_raw(j, "\"");
}
static TOFT_RARE void toft_json_next(toft_json *j) {
  if (!j->first) toft_json_raw(j, ",");
  j->first = 0;
}
static TOFT_RARE void toft_json_key(toft_json *j, const char *key) {
  toft_json_next(j);
  toft_json_string(j, key);
  toft_json_raw(j, ":");
}
static TOFT_RARE void toft_json_number(toft_json *j, const char *key, uint64_t n) {
  toft_json_key(j, key);
  toft_json_digits(j, n, 10);
}
static TOFT_RARE void toft_json_signed(toft_json *j, const char *key, int64_t n) {
  toft_json_key(j, key);
  if (n < 0) toft_json_raw(j, "-");
  toft_json_digits(j, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 10);
}
static TOFT_RARE void toft_json_text(toft_json *j, const char *key, const char *s) {
  toft_json_key(j, key);
  toft_json_string(j, s);
}
static TOFT_RARE void toft_json_open(toft_json *j, const char *bracket) {
  toft_json_raw(j, bracket);
  j->first = 1;
}
static TOFT_RARE void toft_json_close(toft_json *j, const char *bracket) {
  toft_json_raw(j, bracket);
  j->first = 0;
}
static TOFT_RARE void toft_json_frame(toft_json *j, const void *address, const toft_symbol *s) {
  toft_json_next(j);
  toft_json_open(j, "{");
  toft_json_key(j, "address");
  toft_json_raw(j, "\"0x");
  toft_json_digits(j, (uint64_t)(uintptr_t)address, 16);
  toft_json_raw(j, "\"");
  if (s->function != NULL) {
    toft_json_text(j, "function", s->function);
    toft_json_number(j, "offset", s->offset);
  }
  if (s->module != NULL) toft_json_text(j, "module", s->module);
  if (s->module_offset != 0) toft_json_number(j, "module_offset", s->module_offset);
  if (s->file != NULL) toft_json_text(j, "file", s->file);
  if (s->file != NULL) toft_json_number(j, "line", s->line);
  toft_json_close(j, "}");
}
#if TOFT_DYNAMIC && defined(__linux__) && defined(__ELF__)
#include <link.h>
typedef struct toft_dl_headers {
  ElfW(Addr) base;
  const char *path;
  const ElfW(Phdr) * headers;
  ElfW(Half) count;
} toft_dl_headers;
extern int toft_dl_iterate(int (*each)(toft_dl_headers *, size_t, void *), void *arg) __asm__("dl_iterate_phdr")
    __attribute__((weak));
typedef struct toft_module {
  size_t index;
  const char *path;
  uintptr_t address;
  uint64_t size, offset;
  const unsigned char *build_id;
  size_t build_id_size;
} toft_module;
static void toft_module_read_notes(toft_module *m, const unsigned char *at, size_t size) {
  ElfW(Nhdr) note;
  while (size > sizeof note) {
    memcpy(&note, at, sizeof note);
    size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3, text = ((size_t)note.n_descsz + 3) & ~(size_t)3;
    size_t whole = sizeof note + name + text;
    if (whole > size) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(at + sizeof note, "GNU", 4) == 0) {
      m->build_id = at + sizeof note + name;
      m->build_id_size = note.n_descsz;
      return;
    }
    at += whole;
    size -= whole;
  }
}
static TOFT_RARE int toft_module_find(toft_dl_headers *info, size_t size, void *arg) {
  toft_module *m = (toft_module *)arg;
  int found = 0;
  (void)size;
  if (info->path[0] != 0 && strchr(info->path, '/') == NULL) return 0;
  m->build_id_size = 0;
  for (size_t i = 0; i < info->count; i++) {
    const ElfW(Phdr) *h = &info->headers[i];
    uintptr_t at = (uintptr_t)info->base + (uintptr_t)h->p_vaddr;
    if (h->p_type == PT_NOTE && m->build_id_size == 0)
      toft_module_read_notes(m, (const unsigned char *)at, (size_t)h->p_memsz);
    if (h->p_type != PT_LOAD || !(h->p_flags & PF_X) || m->index-- != 0) continue;
    m->path = info->path;
    m->address = at;
    m->size = h->p_memsz;
    m->offset = h->p_offset;
    found = 1;
  }
  return found;
}
static TOFT_RARE void toft_json_module(toft_json *j, const toft_module *m) {
  char executable[1024];
  const char *path = m->path;
  if (*path == 0) path = toft_os_executable(executable, sizeof executable) ? executable : "";
  toft_json_next(j);
  toft_json_open(j, "{");
  toft_json_text(j, "module", path);
  toft_json_key(j, "address");
  toft_json_raw(j, "\"0x");
  toft_json_digits(j, (uint64_t)m->address, 16);
  toft_json_raw(j, "\"");
  toft_json_number(j, "size", m->size);
  toft_json_number(j, "offset", m->offset);
  if (m->build_id_size != 0) {
    toft_json_key(j, "build_id");
    toft_json_raw(j, "\"");
    for (size_t i = 0; i < 2 * m->build_id_size; i++)
      toft_json_digits(j, i % 2 == 0 ? m->build_id[i / 2] >> 4 : m->build_id[i / 2] & 15, 16);
    toft_json_raw(j, "\"");
  }
  toft_json_close(j, "}");
}
static void toft_json_modules(toft_json *j) {
  toft_module m;
  toft_json_key(j, "modules");
  toft_json_open(j, "[");
  for (size_t i = 0; TOFT_HAS(toft_dl_iterate); i++) {
    memset(&m, 0, sizeof m);
    m.index = i;
    if (toft_dl_iterate(toft_module_find, &m) == 0) break;
    toft_json_module(j, &m);
  }
  toft_json_close(j, "]");
}
#else
static TOFT_RARE void toft_json_modules(toft_json *j) { (void)j; }
#endif
#if defined(_WIN32)
#define TOFT_UNWIND(stack, max) RtlCaptureStackBackTrace(0, (DWORD)(max), stack, NULL)
#elif !defined(TOFT_NO_UNWIND) && (defined(__GLIBC__) || defined(__APPLE__) || defined(__FreeBSD__))
#include <execinfo.h>
#define TOFT_UNWIND(stack, max) (size_t) backtrace(stack, (int)(max))
#elif !defined(TOFT_NO_UNWIND) && defined(__GNUC__)
#include <unwind.h>
#define TOFT_UNWIND(stack, max) toft_unwind(stack, max)
typedef struct toft_stack_walk {
  void **stack;
  size_t depth, max;
} toft_stack_walk;
static _Unwind_Reason_Code toft_unwind_frame(struct _Unwind_Context *context, void *arg) {
  toft_stack_walk *w = (toft_stack_walk *)arg;
  w->stack[w->depth++] = (void *)_Unwind_GetIP(context);
  return w->depth < w->max ? _URC_NO_REASON : _URC_END_OF_STACK;
}
static size_t toft_unwind(void **stack, size_t max) {
  toft_stack_walk w = {stack, 0, max};
  (void)_Unwind_Backtrace(toft_unwind_frame, &w);
  return w.depth;
}
#else
#define TOFT_UNWIND(stack, max) ((void)(stack), (void)(max), (size_t)0)
#endif
#define TOFT_SKIPPED_FRAMES_MAX 16
#define TOFT_CALL_STACK_MAX 20
static size_t toft_frame_of(void *const *stack, size_t n, uintptr_t caller) {
  size_t i = 0;
  while (i < n && ((uintptr_t)stack[i] ^ caller) > 1) i++;
  return i;
}
typedef struct toft_call_stack {
  struct toft_call_stack *next;
  size_t depth;
} toft_call_stack;
static toft_lock toft_call_stacks_lock;
static toft_call_stack *toft_call_stacks[1024];
static void **toft_frames_of(const toft_call_stack *s) { return (void **)(uintptr_t)(s + 1); }
static const toft_call_stack *toft_call_stack_from(uintptr_t caller) {
  void *all[TOFT_CALL_STACK_MAX + TOFT_SKIPPED_FRAMES_MAX];
  size_t n = TOFT_UNWIND(all, TOFT_CALL_STACK_MAX + TOFT_SKIPPED_FRAMES_MAX), first = toft_frame_of(all, n, caller);
  size_t depth = n - first < TOFT_CALL_STACK_MAX ? n - first : TOFT_CALL_STACK_MAX, bytes = depth * sizeof *all;
  uintptr_t hash = 0;
  if (depth == 0) return NULL;
  for (size_t i = 0; i < depth; i++) hash = hash * 31 + ((uintptr_t)all[first + i] >> 1);
  toft_lock_take(&toft_call_stacks_lock);
  toft_call_stack **in = &toft_call_stacks[(hash ^ hash >> 10) % 1024], *s = *in;
  while (s != NULL && (s->depth != depth || memcmp(toft_frames_of(s), all + first, bytes) != 0)) s = s->next;
  if (s == NULL && (s = (toft_call_stack *)malloc(sizeof *s + bytes)) != NULL) {
    s->depth = depth;
    memcpy(toft_frames_of(s), all + first, bytes);
    s->next = *in;
    *in = s;
  }
  TOFT_UNLOCK(&toft_call_stacks_lock);
  return s;
}
#define TOFT_TABLE_MAX 256
typedef struct toft_instrument {
  union {
    toft_info_ops info;
    unsigned char bytes[TOFT_TABLE_MAX];
  } table;
  toft_provider_info info;
  const toft_arena_ops *under;
  toft_arena *head;
  unsigned char *limit;
  uintptr_t bit;
  toft_block_header *filled;
  toft_block_header *unused;
  int was_empty;
  uintptr_t site;
  toft_state subject;
} toft_instrument;
static toft_instrument *toft_instrument_of(const toft_state *a) {
  return (toft_instrument *)(void *)((unsigned char *)(uintptr_t)a - offsetof(toft_instrument, subject));
}
typedef struct toft_subject_calls {
  void *(*alloc)(toft_arena *head, size_t size, size_t align, uint32_t flags, uintptr_t site);
  void *(*place)(toft_state *a, size_t size, size_t align, toft_block_header **block);
  void (*end)(toft_state *a);
  int (*predates)(const toft_state *a, const unsigned char *p);
} toft_subject_calls;
static const toft_subject_calls *toft_subjects;
static toft_instrument *toft_instrument_before(const toft_arena *head) {
  const toft_subject_calls *calls = TOFT_LOAD_POINTER(const toft_subject_calls, &toft_subjects);
  return calls != NULL && head->ops->alloc == calls->alloc ? (toft_instrument *)(uintptr_t)head->ops : NULL;
}
static toft_state *toft_observed_state(const toft_arena *head) {
  if (toft_is_own(head)) return toft_state_of(head);
  toft_instrument *i = toft_instrument_before(head);
  return i != NULL ? &i->subject : NULL;
}
static toft_arena *toft_head_of(toft_state *a) {
  return a->state & TOFT_IS_SUBJECT ? toft_instrument_of(a)->head : &a->head;
}
static void toft_subject_read(toft_state *a) {
  const toft_arena *head = toft_instrument_of(a)->head;
  a->head.cursor = head->cursor;
  a->head.epoch = head->epoch;
}
static void toft_subject_write(toft_state *a, size_t remaining) {
  toft_instrument *i = toft_instrument_of(a);
  i->head->cursor = a->head.cursor;
  i->head->ops = &i->table.info.ops;
  i->head->limit = a->head.cursor + remaining;
  i->head->epoch = a->head.epoch | 1;
}
static const toft_arena_ops *toft_begin_beneath(toft_instrument *i) {
  toft_arena *head = i->head;
  head->cursor = i->subject.head.cursor;
  head->ops = i->under;
  head->limit = i->limit;
  head->epoch = toft_epoch(&i->subject) | 1;
  return i->under;
}
static void toft_end_beneath(toft_instrument *i) {
  const toft_arena *head = i->head;
  i->under = i->table.info.under = head->ops;
  i->subject.end = i->limit = head->limit;
  i->bit = head->epoch & 1;
  toft_subject_read(&i->subject);
}
static void toft_stats_beneath(toft_instrument *i, toft_stats *out, size_t size) {
  memset(out, 0, sizeof *out);
  (void)toft_begin_beneath(i)->stats(i->head, out, size);
  toft_end_beneath(i);
}
static void toft_add_observed_stats(toft_state *a, toft_stats *s) {
  if (a->state & TOFT_IS_SUBJECT)
    toft_stats_beneath(toft_instrument_of(a), s, sizeof *s);
  else
    toft_add_stats(a, s);
}
typedef struct toft_tag_entry {
  char *name;
  size_t length;
  uint64_t number;
  int numbered;
  uint64_t budget, allocated;
  uint64_t lifo_closed;
  uint64_t detached;
} toft_tag_entry;
typedef struct toft_cut {
  uint64_t at;
  size_t tag;
} toft_cut;
typedef struct toft_detached {
  const void *what;
  size_t tag;
  uint64_t bytes;
} toft_detached;
typedef struct toft_phase_entry {
  char *name;
  uint64_t entries, allocated;
  int64_t kept;
} toft_phase_entry;
typedef struct toft_sampled_site toft_sampled_site;
typedef struct toft_profiled toft_profiled;
#define TOFT_SITE_LISTS 256
struct toft_instruments {
  int metered;
  size_t tag;
  toft_tag_entry *tags;
  size_t tag_count, tag_capacity;
  toft_cut *cuts;
  size_t cut_count, cut_capacity;
  toft_detached *detached;
  size_t detached_count, detached_capacity;
  uint64_t detached_bytes;
  uint64_t lifo_bytes, synced_allocated;
  size_t *tag_stack;
  size_t tag_depth, tag_stack_capacity, failed_pushes;
  int claimed;
  size_t claim_tag;
  toft_phase_entry *phases;
  size_t phase_count, phase_capacity;
  uint64_t soft_budget;
  int soft_budget_passed;
  toft_soft_budget_fn *on_soft_budget;
  void *on_soft_budget_arg;
  toft_refusal_fn *on_refusal;
  void *on_refusal_arg;
  uintptr_t caller;
  toft_profiled *profiled;
  uint64_t period, next_sample, random;
  toft_unwind_fn *unwinder;
  void *unwinder_arg;
  toft_sampled_site **sites;
  size_t site_count;
  double unattributed_count, unattributed_bytes;
};
static void *toft_grow_list(void *list, size_t *capacity, size_t want, size_t item) {
  if (want <= *capacity) return list;
  size_t more = toft_max(want, 2 * *capacity);
  void *grown = more <= TOFT_MAX_REQUEST / item ? realloc(list, more * item) : NULL;
  if (grown != NULL) *capacity = more;
  return grown;
}
static int toft_reserve_cuts(toft_instruments *w, size_t more) {
  toft_cut *cuts = (toft_cut *)toft_grow_list(w->cuts, &w->cut_capacity, w->cut_count + more, sizeof *cuts);
  if (cuts != NULL) w->cuts = cuts;
  return cuts != NULL;
}
static int toft_reserve_detached_entries(toft_instruments *w, size_t more) {
  toft_detached *detached =
      (toft_detached *)toft_grow_list(w->detached, &w->detached_capacity, w->detached_count + more, sizeof *detached);
  if (detached != NULL) w->detached = detached;
  return detached != NULL;
}
static char *toft_copy_name(const char *first, size_t n, const char *second, size_t m) {
  char *s = (char *)malloc(n + m + 2);
  if (s == NULL) return NULL;
  if (n != 0) memcpy(s, first, n);
  if (n != 0 && m != 0) s[n++] = '/';
  if (m != 0) memcpy(s + n, second, m);
  s[n + m] = 0;
  return s;
}
static int toft_is_name(const char *name, size_t length) {
  if (name == NULL) return length == 0;
  for (size_t at = 0; at < length;) {
    size_t n = toft_utf8((const unsigned char *)name + at, length - at);
    if (n == 0 || name[at] == 0) return 0;
    at += n;
  }
  return 1;
}
static size_t toft_tag_of(toft_instruments *w, const toft_tag_entry *outer, const char *name, size_t m,
                          const uint64_t *number) {
  const char *first = outer != NULL ? outer->name : "";
  size_t n = outer != NULL ? outer->length : 0, length = n + m + (n != 0 && m != 0);
  static const uint64_t none = 0;
  if (length == 0 && number == NULL) number = &none;
  for (size_t i = 0; i < w->tag_count; i++) {
    toft_tag_entry *t = &w->tags[i];
    int same = length == 0 ? t->length == 0 && t->number == *number
                           : t->length == length && memcmp(t->name + (length - m), name, m) == 0 &&
                                 memcmp(t->name, first, n) == 0 && (n == 0 || m == 0 || t->name[n] == '/');
    if (!same && length == 0) same = t->numbered && t->number == *number;
    if (!same) continue;
    if (number != NULL && length != 0) {
      t->number = *number;
      t->numbered = 1;
    }
    return i;
  }
  toft_tag_entry *tags = (toft_tag_entry *)toft_grow_list(w->tags, &w->tag_capacity, w->tag_count + 1, sizeof *tags);
  char *path = tags != NULL ? toft_copy_name(first, n, name, m) : NULL;
  if (tags != NULL) w->tags = tags;
  if (path == NULL) return SIZE_MAX;
  toft_tag_entry *t = &tags[w->tag_count];
  memset(t, 0, sizeof *t);
  t->name = path;
  t->length = length;
  t->numbered = number != NULL;
  t->number = number != NULL ? *number : 0;
  t->budget = UINT64_MAX;
  return w->tag_count++;
}
static uint64_t toft_mix64(uint64_t n) {
  n = (n ^ n >> 30) * 0xBF58476D1CE4E5B9u;
  n = (n ^ n >> 27) * 0x94D049BB133111EBu;
  n ^= n >> 31;
  return n != 0 ? n : 1;
}
static size_t toft_instruments_made;
static toft_instruments *toft_instruments_of(const toft_state *a) {
  return a->state & TOFT_PRISTINE ? NULL : a->instruments;
}
static int toft_is_profiled(const toft_state *a) {
  const toft_instruments *w = toft_instruments_of(a);
  return w != NULL && w->profiled != NULL;
}
static toft_instruments *toft_instruments_get(toft_state *a) {
  if (a->instruments != NULL) return a->instruments;
  toft_instruments *w = (toft_instruments *)malloc(sizeof *w);
  if (w == NULL) return NULL;
  memset(w, 0, sizeof *w);
  w->soft_budget = UINT64_MAX;
  w->random = toft_mix64((uint64_t)TOFT_ADD(&toft_instruments_made, 1) * 0x9E3779B97F4A7C15u ^ (uint64_t)(uintptr_t)a);
  if (toft_tag_of(w, NULL, "", 0, NULL) != 0) {
    free(w->tags);
    free(w);
    return NULL;
  }
  a->instruments = w;
  toft_update_observed(a);
  return w;
}
static void toft_clear_sites(toft_instruments *w);
static void toft_profile_update(toft_state *a);
static void toft_profile_sample(const toft_instruments *w, void *const *stack, size_t depth, uintptr_t site,
                                double count, double bytes);
static void toft_profile_phase(const char *name, uint64_t allocated, int64_t kept);
#define TOFT_PROFILE_LAG (16 * TOFT_KIB)
static void toft_clear_phases(toft_instruments *w) {
  for (size_t i = 0; i < w->phase_count; i++) free(w->phases[i].name);
  w->phase_count = 0;
}
static void toft_instruments_clear(toft_instruments *w) {
  toft_clear_sites(w);
  toft_clear_phases(w);
  for (size_t i = 0; i < w->tag_count; i++) free(w->tags[i].name);
  free(w->sites);
  free(w->phases);
  free(w->tag_stack);
  free(w->detached);
  free(w->cuts);
  free(w->tags);
  memset(w, 0, sizeof *w);
}
static TOFT_RARE void toft_instruments_release(toft_state *a) {
  if (a->instruments == NULL) return;
  toft_profile_remove(a);
  toft_instruments_clear(a->instruments);
  free(a->instruments);
  a->instruments = NULL;
  a->state &= ~(uint32_t)TOFT_INSTRUMENTED;
  toft_update_observed(a);
}
static void toft_update_instrumented(toft_state *a) {
  const toft_instruments *w = a->instruments;
  int on = w->metered || w->period != 0 || w->soft_budget != UINT64_MAX || w->on_refusal != NULL || w->profiled != NULL;
  a->state = on ? a->state | TOFT_INSTRUMENTED : a->state & ~(uint32_t)TOFT_INSTRUMENTED;
}
static size_t toft_charged_tag(const toft_state *a) {
  const toft_instruments *w = a->instruments;
  return w->claimed && !(a->state & TOFT_CLAIMED) ? w->claim_tag : w->tag;
}
static void toft_cut_at(toft_instruments *w, uint64_t at, size_t tag) {
  toft_cut *cuts = w->cuts;
  size_t n = w->cut_count;
  while (n != 0 && cuts[n - 1].at >= at) {
    n--;
    if (n != 0) w->tags[cuts[n - 1].tag].lifo_closed -= cuts[n].at - cuts[n - 1].at;
  }
  if (n == 0 || cuts[n - 1].tag != tag) {
    if (n != 0) w->tags[cuts[n - 1].tag].lifo_closed += at - cuts[n - 1].at;
    cuts[n].at = at;
    cuts[n].tag = tag;
    n++;
  }
  w->cut_count = n;
}
static void toft_cut_tags(toft_state *a) {
  toft_instruments *w = a->instruments;
  uint64_t lifo_bytes = a->live - w->detached_bytes;
  size_t tag = toft_charged_tag(a);
  if (w->cuts[w->cut_count - 1].tag != tag)
    toft_cut_at(w, lifo_bytes < w->lifo_bytes ? lifo_bytes : w->lifo_bytes, tag);
  toft_cut_at(w, lifo_bytes, tag);
  w->lifo_bytes = lifo_bytes;
}
static void toft_sync_tags(toft_state *a) {
  toft_instruments *w = a->instruments;
  if (w == NULL || !w->metered) return;
  toft_cut_tags(a);
  w->tags[toft_charged_tag(a)].allocated += a->allocated - w->synced_allocated;
  w->synced_allocated = a->allocated;
}
static uint64_t toft_live_of_tag(const toft_instruments *w, size_t tag) {
  if (w->cut_count == 0) return w->tags[tag].detached;
  const toft_cut *last = &w->cuts[w->cut_count - 1];
  return w->tags[tag].lifo_closed + w->tags[tag].detached + (last->tag == tag ? w->lifo_bytes - last->at : 0);
}
static int toft_change_tag(toft_state *a, size_t tag) {
  toft_instruments *w = a->instruments;
  toft_sync_tags(a);
  if (!toft_reserve_cuts(w, w->tag_depth + 4)) return 0;
  w->tag = tag;
  toft_sync_tags(a);
  return 1;
}
static int toft_reserve_detached(toft_state *a) {
  return a->instruments == NULL || !a->instruments->metered || toft_reserve_detached_entries(a->instruments, 1);
}
static void toft_detached_push(toft_instruments *w, const void *what, size_t tag, uint64_t bytes) {
  toft_detached *last = w->detached_count != 0 ? &w->detached[w->detached_count - 1] : NULL;
  if (last == NULL || last->what != what || last->tag != tag) {
    last = &w->detached[w->detached_count++];
    last->what = what;
    last->tag = tag;
    last->bytes = 0;
  }
  last->bytes += bytes;
  w->tags[tag].detached += bytes;
  w->detached_bytes += bytes;
}
static void toft_detached_add(toft_state *a, const void *what, size_t bytes) {
  toft_instruments *w = a->instruments;
  if (w == NULL || !w->metered) return;
  size_t tag = toft_charged_tag(a);
  toft_detached_push(w, what, tag, bytes);
  w->tags[tag].allocated += bytes;
  w->synced_allocated += bytes;
}
static void toft_detached_remove(toft_state *a, const void *what) {
  toft_instruments *w = a->instruments;
  if (w == NULL || !w->metered) return;
  size_t end = w->detached_count, first;
  while (end != 0 && w->detached[end - 1].what != what) end--;
  for (first = end; first != 0 && w->detached[first - 1].what == what; first--) {
    const toft_detached *removed = &w->detached[first - 1];
    w->tags[removed->tag].detached -= removed->bytes;
    w->detached_bytes -= removed->bytes;
  }
  memmove(w->detached + first, w->detached + end, (w->detached_count - end) * sizeof *w->detached);
  w->detached_count -= end - first;
}
static int toft_detached_add_all(toft_state *a) {
  toft_instruments *w = a->instruments;
  for (const toft_block_header *b = a->newest; b != NULL; b = b->next) {
    if (b->kind != TOFT_BLOCK_DEDICATED) continue;
    if (!toft_reserve_detached_entries(w, 1)) return 0;
    toft_detached_push(w, b, 0, b->charge);
  }
  for (const toft_cleanup_node *n = a->cleanups; n != NULL; n = n->older) {
    const toft_state *donor = toft_adopted_arena(n);
    if (donor == NULL) continue;
    if (!toft_reserve_detached_entries(w, 1)) return 0;
    toft_detached_push(w, donor, 0, donor->live);
  }
  return 1;
}
static TOFT_COLD size_t toft_instrumented_limit(toft_state *a, size_t remaining, uintptr_t *instrumented) {
  toft_instruments *w = a->instruments;
  uint64_t allowed = remaining;
  if (w->metered) {
    toft_sync_tags(a);
    if ((a->state & TOFT_CLAIMED) && !w->claimed) {
      w->claimed = 1;
      w->claim_tag = w->tag;
    }
    size_t tag = toft_charged_tag(a);
    uint64_t live = toft_live_of_tag(w, tag), budget = w->tags[tag].budget;
    if (budget != UINT64_MAX && allowed > (budget < live ? 0 : budget - live))
      allowed = budget < live ? 0 : budget - live;
  }
  if (w->period != 0) {
    uint64_t ahead = w->next_sample > a->allocated ? w->next_sample - a->allocated : 0;
    if (allowed > ahead) allowed = ahead;
  }
  if (w->profiled != NULL) {
    toft_profile_update(a);
    if (allowed > TOFT_PROFILE_LAG) allowed = TOFT_PROFILE_LAG;
  }
  if (!w->soft_budget_passed) {
    uint64_t ahead = w->soft_budget > a->live ? w->soft_budget - a->live : 0;
    if (allowed > ahead) allowed = ahead;
  }
  *instrumented |= w->metered || w->period != 0;
  return (size_t)(allowed & ~(uint64_t)7);
}
static TOFT_COLD int toft_fits_tag_budget(toft_state *a, size_t charge) {
  toft_instruments *w = a->instruments;
  size_t tag = w->metered ? toft_charged_tag(a) : 0;
  uint64_t budget = w->tags[tag].budget;
  if (!w->metered || budget == UINT64_MAX) return 1;
  toft_cut_tags(a);
  uint64_t live = toft_live_of_tag(w, tag);
  if ((a->state & TOFT_CLAIMED) && w->claim_tag == tag) live += (uint64_t)(a->claim_limit - a->head.cursor);
  return live <= budget && charge <= budget - live;
}
static void toft_accounting_unclaim(toft_state *a) {
  toft_sync_tags(a);
  if (a->instruments != NULL) a->instruments->claimed = 0;
}
static void toft_accounting_reset(toft_state *a) {
  toft_instruments *w = a->instruments;
  if (w == NULL) return;
  for (size_t i = 0; i < w->tag_count; i++) w->tags[i].detached = 0;
  w->detached_count = 0;
  w->detached_bytes = 0;
  w->soft_budget_passed = 0;
}
static size_t toft_size_with_redzones(size_t size, size_t align);
static TOFT_COLD int toft_ask_for_budget(toft_state *a, size_t size, size_t align) {
  toft_instruments *w = a->instruments;
  uint64_t claimed = toft_claimed_bytes(a);
  size_t charge = TOFT_ROUND8(size), pad = align > 8 ? align : 0;
  if (a->state & TOFT_IS_CHECKED) {
    charge = toft_size_with_redzones(size, align);
    pad = align + 8;
  }
  uint64_t budget = toft_own_budget(a), need = (uint64_t)charge + pad;
  int fits = budget == UINT64_MAX || a->live + claimed + need <= budget;
  if ((fits && !toft_was_refused(a)) || !toft_fits_tag_budget(a, charge)) return 0;
  uint32_t was_busy = toft_begin_callback(a);
  uint64_t answer = w->on_refusal(w->on_refusal_arg, toft_head_of(a), a->live, budget, size);
  toft_end_callback(a, was_busy);
  if (answer > budget) toft_set_own_budget(a, answer);
  return fits || answer > budget;
}
static int toft_budget_raised(toft_state *a, size_t size, size_t align) {
  return (a->state & TOFT_INSTRUMENTED) && a->instruments->on_refusal != NULL && toft_ask_for_budget(a, size, align);
}
static void toft_check_soft_budget(toft_state *a) {
  if (!(a->state & TOFT_INSTRUMENTED)) return;
  toft_instruments *w = a->instruments;
  if (w->soft_budget_passed || a->live <= w->soft_budget) return;
  w->soft_budget_passed = 1;
  toft_next_epoch(a);
  if (w->on_soft_budget == NULL) return;
  uint32_t was_busy = toft_begin_callback(a);
  w->on_soft_budget(w->on_soft_budget_arg, toft_head_of(a), a->live, w->soft_budget);
  toft_end_callback(a, was_busy);
}
static TOFT_RARE int toft_set_metering(toft_state *a, int on) {
  toft_instruments *w = toft_instruments_get(a);
  if (w == NULL) return TOFT_ENOMEM;
  if (on == w->metered) return TOFT_OK;
  toft_sync_tags(a);
  for (size_t i = 0; i < w->tag_count; i++) w->tags[i].lifo_closed = w->tags[i].detached = 0;
  w->cut_count = w->detached_count = w->tag_depth = w->failed_pushes = 0;
  w->detached_bytes = 0;
  w->tag = 0;
  w->metered = 0;
  if (on) {
    if (!toft_reserve_cuts(w, 4) || !toft_detached_add_all(a)) {
      for (size_t i = 0; i < w->tag_count; i++) w->tags[i].detached = 0;
      return TOFT_ENOMEM;
    }
    w->metered = 1;
    w->synced_allocated = a->allocated;
    toft_cut_at(w, 0, 0);
    w->lifo_bytes = a->live - w->detached_bytes;
  }
  toft_update_instrumented(a);
  return TOFT_OK;
}
static int toft_apply_tag(toft_state *a, uint64_t number, const char *name, size_t length) {
  if ((a->state & TOFT_CLAIMED) && (a->instruments == NULL || !a->instruments->metered))
    return TOFT_EBUSY;
  int was_metered = a->instruments != NULL && a->instruments->metered;
  if (toft_set_metering(a, 1) != TOFT_OK) return TOFT_ENOMEM;
  if (length != 0 && name[0] == '/') name++, length--;
  size_t tag = toft_tag_of(a->instruments, NULL, name, length, &number);
  if (tag != SIZE_MAX && toft_change_tag(a, tag)) return TOFT_OK;
  (void)toft_set_metering(a, was_metered);
  return TOFT_ENOMEM;
}
typedef struct toft_live_entry {
  struct toft_live_entry *next, *previous;
  int (*begin_call)(struct toft_live_entry *self);
  void (*verify)(struct toft_live_entry *self);
  int verified;
} toft_live_entry;
static toft_lock toft_registry_lock;
static toft_live_entry toft_registry = {&toft_registry, &toft_registry, NULL, NULL, 0};
static void toft_registry_add(toft_live_entry *r, int (*begin_call)(toft_live_entry *),
                              void (*verify)(toft_live_entry *)) {
  r->begin_call = begin_call;
  r->verify = verify;
  r->verified = 0;
  toft_lock_take(&toft_registry_lock);
  r->next = toft_registry.next;
  r->previous = &toft_registry;
  r->next->previous = r->previous->next = r;
  TOFT_UNLOCK(&toft_registry_lock);
}
static void toft_registry_remove(toft_live_entry *r) {
  if (r->next == NULL) return;
  toft_lock_take(&toft_registry_lock);
  r->next->previous = r->previous;
  r->previous->next = r->next;
  r->next = NULL;
  TOFT_UNLOCK(&toft_registry_lock);
}
static void toft_registry_end(void) {
  for (;;) {
    toft_live_entry *r;
    if (!toft_lock_take_at_unload(&toft_registry_lock)) return;
    for (r = toft_registry.next; r != &toft_registry && r->verified; r = r->next) continue;
    int entered = r != &toft_registry && r->begin_call(r);
    r->verified = r != &toft_registry;
    int more = r->verified;
    TOFT_UNLOCK(&toft_registry_lock);
    if (entered) r->verify(r);
    if (!more) return;
  }
}
#define TOFT_WRITTEN_MAX 32
typedef struct toft_call_info {
  const char *op;
  uintptr_t site;
  size_t thread;
  const toft_call_stack *stack;
} toft_call_info;
typedef struct toft_report {
  int kind;
  toft_arena *arena;
  const unsigned char *p;
  size_t size, claimed_size;
  const char *target;
  ptrdiff_t offset;
  size_t length;
  int open_ended;
  unsigned char bytes[TOFT_WRITTEN_MAX];
  toft_call_info allocated, freed, detected;
} toft_report;
static void toft_report_set_written(toft_report *f, const unsigned char *p, const unsigned char *at,
                                    const unsigned char *end, int open_ended) {
  f->offset = at - p;
  f->length = (size_t)(end - at);
  f->open_ended = open_ended;
  memcpy(f->bytes, at, toft_min(f->length, sizeof f->bytes));
}
typedef struct toft_text_writer {
  char *at, *end;
} toft_text_writer;
static TOFT_RARE void toft_put_text(toft_text_writer *t, const char *s) {
  while (*s != 0 && t->at < t->end) *t->at++ = *s++;
  *t->at = 0;
}
static TOFT_RARE void toft_put_escaped(toft_text_writer *t, const char *s, size_t size, int quoted) {
  for (size_t i = 0; i < size && t->end - t->at > 4; i++) {
    unsigned char c = (unsigned char)s[i];
    if (c < 0x20 || c > 0x7e) {
      *t->at++ = '\\';
      *t->at++ = 'x';
      *t->at++ = "0123456789abcdef"[c >> 4];
      *t->at++ = "0123456789abcdef"[c & 15];
    } else {
      if (quoted && (c == '"' || c == '\\')) *t->at++ = '\\';
      *t->at++ = (char)c;
    }
  }
  *t->at = 0;
}
static void toft_put_name(toft_text_writer *t, const char *s) { toft_put_escaped(t, s, strlen(s), 0); }
static TOFT_RARE void toft_put_number(toft_text_writer *t, uint64_t n, unsigned base) {
  char digits[24], *d = digits + sizeof digits - 1;
  *d = 0;
  do *--d = "0123456789abcdef"[n % base];
  while ((n /= base) != 0);
  if (base == 16) toft_put_text(t, "0x");
  toft_put_text(t, d);
}
static void toft_put_offset(toft_text_writer *t, ptrdiff_t n) {
  if (n < 0) toft_put_text(t, "-");
  toft_put_number(t, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 10);
}
static toft_lock toft_findings_lock;
typedef struct toft_named_site {
  struct toft_named_site *next;
  char text[1];
} toft_named_site;
static toft_named_site *toft_named_sites[256];
TOFT_PER_THREAD uintptr_t toft_call_site_hint;
#define toft_call_site_hint TOFT_OWN(toft_call_site_hint)
uintptr_t toft_site(const char *place) {
  unsigned hash = 5381;
  size_t n = 0;
  while (place[n] != 0) hash = hash * 33 + (unsigned char)place[n++];
  toft_arm_fork();
  toft_lock_take(&toft_findings_lock);
  toft_named_site **in = &toft_named_sites[hash % 256], *s = *in;
  while (s != NULL && strcmp(s->text, place) != 0) s = s->next;
  if (s == NULL && (s = (toft_named_site *)malloc(sizeof *s + n)) != NULL) {
    memcpy(s->text, place, n + 1);
    s->next = *in;
    *in = s;
  }
  TOFT_UNLOCK(&toft_findings_lock);
  return (uintptr_t)s;
}
static TOFT_RARE int toft_put_named_site(uintptr_t site, toft_text_writer *t) {
  const toft_named_site *s = NULL;
  toft_lock_take(&toft_findings_lock);
  for (int i = 0; i < 256 && s == NULL; i++)
    for (s = toft_named_sites[i]; s != NULL && (uintptr_t)s != site;) s = s->next;
  if (s != NULL) toft_put_name(t, s->text);
  TOFT_UNLOCK(&toft_findings_lock);
  return s != NULL;
}
static toft_lock toft_symbol_lock;
static toft_dwarf toft_symbol_session;
static int toft_symbol_session_state;
static void toft_symbol_session_close(void) {
  if (toft_symbol_session_state == 1) toft_dwarf_close(&toft_symbol_session);
  toft_symbol_session_state = 0;
}
static TOFT_RARE int toft_symbol_find(const void *address, toft_symbol *s) {
  if (toft_symbol_session_state == 0) toft_symbol_session_state = toft_dwarf_open(&toft_symbol_session) ? 1 : 2;
  if (toft_symbol_session_state == 1 && !toft_dwarf_covers(&toft_symbol_session, address)) {
    toft_symbol_session_close();
    toft_symbol_session_state = toft_dwarf_open(&toft_symbol_session) ? 1 : 2;
  }
  return toft_symbol_session_state == 1 ? toft_dwarf_symbolize(&toft_symbol_session, address, s)
                                        : toft_symbolize(NULL, address, s);
}
static TOFT_RARE void toft_put_symbol(toft_text_writer *t, const toft_symbol *s) {
  const char *slash = s->module != NULL ? strrchr(s->module, '/') : NULL;
  int has_line = s->file != NULL && s->line != 0;
  if (s->function != NULL) {
    toft_put_name(t, s->function);
    if (!has_line && s->offset != 0) {
      toft_put_text(t, "+");
      toft_put_number(t, s->offset, 16);
    }
    toft_put_text(t, " (");
  }
  toft_put_name(t, has_line ? s->file : slash != NULL ? slash + 1 : s->module != NULL ? s->module : "program");
  toft_put_text(t, has_line ? ":" : "+");
  toft_put_number(t, has_line ? s->line : s->module_offset, has_line ? 10 : 16);
  if (s->function != NULL) toft_put_text(t, ")");
}
static TOFT_RARE int toft_put_code_site(uintptr_t site, toft_text_writer *t) {
  toft_symbol s;
  const void *address = (const void *)site;
  if (site < 4096) return 0;
  if (TOFT_LOCK_TRY(&toft_symbol_lock)) {
    int found = toft_symbol_find(address, &s);
    if (found) toft_put_symbol(t, &s);
    TOFT_UNLOCK(&toft_symbol_lock);
    return found;
  }
  if (!toft_symbolize(NULL, address, &s)) return 0;
  toft_put_symbol(t, &s);
  return 1;
}
static TOFT_RARE void toft_put_site(uintptr_t site, char *at, size_t size) {
  toft_text_writer t = {at, at + size - 1};
  if (site == 0) {
    toft_put_text(&t, "an unknown place");
  } else if (!toft_put_named_site(site, &t) && !toft_put_code_site(site, &t)) {
    toft_put_text(&t, "site ");
    toft_put_number(&t, site, 16);
  }
}
static TOFT_RARE int toft_place_of_site(uintptr_t site, char *file, size_t size, unsigned *line) {
  toft_text_writer t = {file, file + size - 1};
  if (site == 0 || !toft_put_named_site(site, &t)) return 0;
  char *colon = strrchr(file, ':');
  *line = colon != NULL ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
  if (*line != 0) *colon = 0;
  return 1;
}
#define TOFT_SITE_TEXT_MAX 512
#define TOFT_MESSAGE_MAX (4 * TOFT_SITE_TEXT_MAX)
static TOFT_RARE void toft_put_call(toft_text_writer *t, const char *before, const toft_moment *m,
                                    const char *between) {
  toft_put_text(t, before);
  if (m->site != 0) {
    toft_put_text(t, between);
    toft_put_text(t, m->place);
  }
  if (m->thread == 0) return;
  toft_put_text(t, " by thread ");
  toft_put_number(t, m->thread, 10);
}
static void toft_put_address(toft_text_writer *t, const toft_report *f) {
  if (f->p == NULL) return;
  toft_put_text(t, " at ");
  toft_put_number(t, (uintptr_t)f->p, 16);
}
static TOFT_RARE void toft_put_allocation(toft_text_writer *t, const toft_report *f) {
  toft_put_number(t, f->size, 10);
  toft_put_text(t, f->size == 1 ? " byte" : " bytes");
  toft_put_address(t, f);
}
static TOFT_RARE void toft_put_written(toft_text_writer *t, const char *kind, const toft_report *f) {
  toft_put_text(t, kind);
  toft_put_text(t, ": byte ");
  toft_put_offset(t, f->offset);
  toft_put_text(t, " of ");
  toft_put_allocation(t, f);
  toft_put_text(t, " was written: ");
  toft_put_number(t, f->length, 10);
  toft_put_text(t, f->length == 1 ? " byte" : " bytes");
  toft_put_text(t, f->open_ended ? " or more \"" : " \"");
  toft_put_escaped(t, (const char *)f->bytes, toft_min(f->length, sizeof f->bytes), 1);
  toft_put_text(t, f->length > sizeof f->bytes ? "\"..." : "\"");
}
static void toft_put_arena(toft_text_writer *t, const toft_report *f) {
  toft_put_text(t, ": the arena");
  toft_put_address(t, f);
}
static TOFT_RARE void toft_put_outside(toft_text_writer *t, const toft_report *f) {
  toft_put_text(t, "pointer out of a region: ");
  if (f->target == NULL) {
    toft_put_number(t, f->size, 10);
    toft_put_text(t, f->size == 1 ? " more word is an address" : " more words are addresses");
  } else {
    toft_put_text(t, "the word");
    toft_put_address(t, f);
    toft_put_text(t, " is ");
    toft_put_number(t, f->claimed_size, 16);
    toft_put_text(t, " in ");
    toft_put_text(t, f->target);
  }
  toft_put_text(t, ", which a restore does not bring back");
}
static TOFT_RARE void toft_put_kind(toft_text_writer *t, const toft_report *f, const toft_finding *out) {
  switch (f->kind) {
    case TOFT_FOUND_OVERRUN: toft_put_written(t, "overrun", f); break;
    case TOFT_FOUND_UNDERRUN: toft_put_written(t, "underrun", f); break;
    case TOFT_FOUND_LATE_WRITE:
      toft_put_written(t, "late write", f);
      toft_put_text(t, " after ");
      toft_put_call(t, out->returned.call, &out->returned, " at ");
      break;
    case TOFT_FOUND_DOUBLE_FREE:
      toft_put_text(t, "double free: ");
      toft_put_allocation(t, f);
      toft_put_text(t, " were given back before, by ");
      toft_put_call(t, out->returned.call, &out->returned, " at ");
      break;
    case TOFT_FOUND_WRONG_SIZE:
      toft_put_text(t, "wrong size: ");
      toft_put_number(t, f->claimed_size, 10);
      toft_put_text(t, " bytes, of an allocation of ");
      toft_put_allocation(t, f);
      break;
    case TOFT_FOUND_FOREIGN:
      toft_put_text(t, "foreign pointer: ");
      if (f->p == NULL) toft_put_text(t, "it");
      if (f->p != NULL) toft_put_number(t, (uintptr_t)f->p, 16);
      toft_put_text(t,
                    f->arena != NULL ? " is no live allocation of this arena" : " is no live object of this recycler");
      break;
    case TOFT_FOUND_STALE_MARK:
      toft_put_text(
          t, "stale mark: it is of another arena, from before a reset, made inside a claim, or was rewound past");
      break;
    case TOFT_FOUND_WRONG_THREAD:
      toft_put_text(t, "wrong thread: the arena is pinned to thread ");
      toft_put_number(t, f->allocated.thread, 10);
      break;
    case TOFT_FOUND_TWO_THREADS:
      toft_put_text(t, "two threads at once: ");
      toft_put_call(t, out->allocated.call, &out->allocated, " at ");
      toft_put_text(t, " has not returned");
      break;
    case TOFT_FOUND_RELEASED:
      toft_put_text(t, strcmp(out->noticed.call, "release") == 0 ? "double release" : "use after release");
      toft_put_arena(t, f);
      toft_put_call(t, " was released", &out->returned, " at ");
      break;
    case TOFT_FOUND_NOT_RELEASED:
      toft_put_text(t, "refused release");
      toft_put_arena(t, f);
      toft_put_text(t, f->claimed_size != 0 ? " has a claimed range" : " is in a cleanup or a callback");
      break;
    case TOFT_FOUND_OVER_BUDGET:
      toft_put_text(t, "over budget: ");
      toft_put_number(t, f->size, 10);
      toft_put_text(t, " bytes of a soft budget of ");
      toft_put_number(t, f->claimed_size, 10);
      break;
    default: toft_put_outside(t, f); break;
  }
}
static int toft_has_allocation(const toft_report *f) { return f->kind <= TOFT_FOUND_WRONG_SIZE; }
static TOFT_RARE void toft_put_finding(toft_text_writer *t, const toft_report *f, const toft_finding *out) {
  toft_put_kind(t, f, out);
  if (toft_has_allocation(f)) toft_put_call(t, "; allocated", &out->allocated, " at ");
  if (f->kind < TOFT_FOUND_LATE_WRITE && f->freed.op != NULL) toft_put_call(t, "; freed", &out->returned, " at ");
  toft_put_text(t, "; noticed by ");
  toft_put_call(t, out->noticed.call, &out->noticed, " at ");
}
static TOFT_RARE void toft_fill_moment(toft_moment *m, const toft_call_info *c, char *place) {
  toft_put_site(c->site, place, TOFT_SITE_TEXT_MAX);
  m->call = c->op != NULL ? c->op : "";
  m->place = place;
  m->site = c->site;
  m->thread = c->thread;
}
static TOFT_RARE void toft_deliver_report(const toft_report *f, toft_finding_fn *fn, void *arg) {
  char site_texts[3][TOFT_SITE_TEXT_MAX], message[TOFT_MESSAGE_MAX];
  toft_finding out;
  toft_text_writer t = {message, message + sizeof message - 1};
  out.kind = f->kind;
  out.message = message;
  out.arena = f->arena;
  out.address = f->p;
  out.size = f->size;
  out.offset = f->offset;
  out.length = f->length;
  out.bytes = f->length != 0 ? f->bytes : NULL;
  toft_fill_moment(&out.allocated, &f->allocated, site_texts[0]);
  toft_fill_moment(&out.returned, &f->freed, site_texts[1]);
  toft_fill_moment(&out.noticed, &f->detected, site_texts[2]);
  toft_put_finding(&t, f, &out);
  fn(arg, &out);
}
typedef struct toft_memory_sink {
  char *text;
  size_t size, capacity;
} toft_memory_sink;
static int toft_memory_write(void *arg, const char *bytes, size_t size) {
  toft_memory_sink *m = (toft_memory_sink *)arg;
  if (m->capacity - m->size < size) {
    size_t capacity = 2 * m->capacity + 4096;
    char *more = (char *)realloc(m->text, capacity);
    if (more == NULL) return TOFT_ENOMEM;
    m->text = more;
    m->capacity = capacity;
  }
  memcpy(m->text + m->size, bytes, size);
  m->size += size;
  return TOFT_OK;
}
static const char *const toft_kind_names[] = {"",
                                              "overrun",
                                              "underrun",
                                              "late-write",
                                              "double-free",
                                              "wrong-size",
                                              "foreign-pointer",
                                              "stale-mark",
                                              "wrong-thread",
                                              "two-threads",
                                              "use-after-release",
                                              "refused-release",
                                              "budget",
                                              "",
                                              "outside"};
static void toft_json_site_call(toft_json *j, uintptr_t site) {
  char name[TOFT_SITE_TEXT_MAX];
  toft_symbol s;
  memset(&s, 0, sizeof s);
  if (toft_place_of_site(site, name, sizeof name, &s.line)) {
    *(s.line != 0 ? &s.file : &s.function) = name;
  } else if (site < 4096 || !toft_symbolize(NULL, (const void *)site, &s)) {
    memset(&s, 0, sizeof s);
  }
  toft_json_frame(j, (const void *)site, &s);
}
static TOFT_RARE void toft_json_moment(toft_json *j, const char *role, const toft_call_info *c) {
  if (c->op == NULL) return;
  toft_json_next(j);
  toft_json_open(j, "{");
  toft_json_text(j, "role", role);
  toft_json_text(j, "call", c->op);
  toft_json_number(j, "thread", c->thread);
  toft_json_key(j, "stack");
  toft_json_open(j, "[");
  if (c->stack == NULL && c->site != 0) toft_json_site_call(j, c->site);
  for (size_t i = 0; c->stack != NULL && i < c->stack->depth; i++)
    toft_json_site_call(j, (uintptr_t)toft_frames_of(c->stack)[i]);
  toft_json_close(j, "]");
  toft_json_close(j, "}");
}
static const char *toft_kind_name(const toft_report *f) {
  int twice = f->kind == TOFT_FOUND_RELEASED && f->detected.op != NULL && strcmp(f->detected.op, "release") == 0;
  return twice ? "double-release" : toft_kind_names[f->kind];
}
static void toft_json_finding(toft_json *j, const toft_report *f) {
  char text[TOFT_MESSAGE_MAX];
  toft_text_writer t = {text, text + sizeof text - 1};
  toft_report brief = *f;
  toft_finding out;
  memset(&out, 0, sizeof out);
  out.allocated.call = f->allocated.op;
  out.returned.call = f->freed.op != NULL ? f->freed.op : "";
  out.noticed.call = f->detected.op != NULL ? f->detected.op : "";
  brief.p = NULL;
  toft_put_kind(&t, &brief, &out);
  toft_json_open(j, "{");
  toft_json_text(j, "kind", toft_kind_name(f));
  toft_json_text(j, "library", "toft-c");
  toft_json_text(j, "text", text);
  toft_json_number(j, "size", f->size);
  if (f->length != 0) {
    toft_json_signed(j, "offset", f->offset);
    toft_json_number(j, "length", f->length);
  }
  toft_json_key(j, "places");
  toft_json_open(j, "[");
  toft_json_moment(j, "returned", &f->freed);
  if (toft_has_allocation(f)) toft_json_moment(j, "allocated", &f->allocated);
  if (f->kind == TOFT_FOUND_TWO_THREADS) toft_json_moment(j, "running", &f->allocated);
  toft_json_moment(j, "noticed", &f->detected);
  toft_json_close(j, "]");
  toft_json_close(j, "}");
  toft_json_raw(j, "\n");
  toft_json_flush(j);
}
static size_t toft_process_switch;
static int toft_check_switch_aborts;
static int toft_findings_stream;
static char *toft_findings_file;
static char *toft_findings_objects;
static toft_finding_fn *toft_finding_hook;
static void *toft_finding_hook_arg;
static int toft_equals_ignoring_case(const char *s, const char *word) {
  while (*word != 0 && (*s == *word || (*s >= 'A' && *s <= 'Z' && *s + 32 == *word))) s++, word++;
  return *s == 0 && *word == 0;
}
static int toft_is_on(const char *v) {
  return v != NULL && *v != 0 && !toft_equals_ignoring_case(v, "0") && !toft_equals_ignoring_case(v, "off") &&
         !toft_equals_ignoring_case(v, "no") && !toft_equals_ignoring_case(v, "false");
}
static char *toft_copy_path(const char *name) {
  size_t size = name != NULL && *name != 0 ? strlen(name) + 1 : 0;
  char *copy = size != 0 ? (char *)malloc(size) : NULL;
  if (copy != NULL) memcpy(copy, name, size);
  return copy;
}
static void toft_read_findings_file(const char *name, int expected) {
  if (name == NULL || *name == 0) {
    toft_findings_stream = expected ? 2 : 0;
  } else if (strcmp(name, "stderr") == 0 || strcmp(name, "/dev/stderr") == 0) {
    toft_findings_stream = 2;
  } else if (strcmp(name, "stdout") == 0 || strcmp(name, "/dev/stdout") == 0) {
    toft_findings_stream = 1;
  } else {
    toft_findings_file = toft_copy_path(name);
  }
}
static int toft_read_process_meters(int *reports);
static void toft_start_process_meters(void);
static size_t toft_switch_reader;
static size_t toft_read_environment(void) {
  int reports = 0;
  const char *v = toft_os_env("TOFT_CHECKED");
  size_t s = toft_is_on(v) ? 1 | TOFT_PROCESS_CHECKS : 1;
  if (v == NULL && toft_has_memory_tool()) s |= TOFT_PROCESS_CHECKS | TOFT_PROCESS_HAS_TOOL;
  if (toft_read_process_meters(&reports)) s |= TOFT_PROCESS_METERS;
  toft_check_switch_aborts = v != NULL && toft_equals_ignoring_case(v, "abort");
  toft_findings_objects = toft_copy_path(toft_os_env("TOFT_FINDINGS_JSON"));
  int expected = (reports || (s & TOFT_PROCESS_CHECKS)) && toft_findings_objects == NULL;
  toft_read_findings_file(toft_os_env("TOFT_FINDINGS"), expected);
  return s;
}
static TOFT_COLD size_t toft_read_process_switch(void) {
  size_t process = (size_t)toft_os_process_id(), s;
  while ((s = TOFT_LOAD_ACQUIRE(&toft_process_switch)) == 0) {
    size_t reader = TOFT_LOAD(&toft_switch_reader);
    if (reader != process && TOFT_CAS_RELAXED(&toft_switch_reader, &reader, process)) {
      s = toft_read_environment();
      TOFT_STORE_RELEASE(&toft_process_switch, s);
      if (s & TOFT_PROCESS_METERS) toft_start_process_meters();
      return s;
    }
    toft_os_yield();
  }
  return s;
}
static size_t toft_process_switches(void) {
  size_t s = TOFT_LOAD(&toft_process_switch);
  if (TOFT_UNLIKELY(s == 0)) s = toft_read_process_switch();
  return s & ~(size_t)1;
}
TOFT_INLINE toft_call_info toft_call_begun(const char *op, uintptr_t site) {
  uintptr_t hint = toft_call_site_hint;
  toft_call_info c = {op, hint != 0 ? hint : site, toft_thread_id(), NULL};
  (void)TOFT_LOAD_ACQUIRE(&toft_process_switch);
  if (hint == 0 && toft_findings_objects != NULL) c.stack = toft_call_stack_from(site);
  toft_call_site_hint = 0;
  return c;
}
void toft_on_finding(toft_finding_fn *fn, void *arg) {
  toft_lock_take(&toft_findings_lock);
  toft_finding_hook = fn;
  toft_finding_hook_arg = arg;
  TOFT_UNLOCK(&toft_findings_lock);
}
static TOFT_RARE void toft_print_finding(void *arg, const toft_finding *f) {
  char line[TOFT_MESSAGE_MAX + 16];
  toft_text_writer t = {line, line + sizeof line - 1};
  (void)arg;
  toft_put_text(&t, "toft: ");
  toft_put_text(&t, f->message);
  toft_put_text(&t, "\n");
  if (toft_findings_stream != 0) toft_os_print(toft_findings_stream, line, (size_t)(t.at - line));
  if (toft_findings_file != NULL) toft_os_append(toft_findings_file, line, (size_t)(t.at - line));
}
static void toft_append_object(const toft_report *f) {
  toft_memory_sink m = {NULL, 0, 0};
  toft_json j = toft_json_to(toft_memory_write, &m);
  toft_json_finding(&j, f);
  static const char lost[] =
      "{\"kind\":\"lost\",\"text\":\"lost: a finding for which there was no memory\",\"places\":[]}\n";
  int whole = j.code == TOFT_OK;
  toft_os_append(toft_findings_objects, whole ? m.text : lost, whole ? m.size : sizeof lost - 1);
  free(m.text);
}
TOFT_PER_THREAD int toft_in_hook;
#define toft_in_hook TOFT_OWN(toft_in_hook)
static TOFT_RARE void toft_publish_report(const toft_report *f) {
  (void)toft_process_switches();
  (void)TOFT_LOAD_ACQUIRE(&toft_process_switch);
  toft_lock_take(&toft_findings_lock);
  toft_finding_fn *fn = toft_finding_hook;
  void *arg = toft_finding_hook_arg;
  int prints = toft_findings_stream != 0 || toft_findings_file != NULL, aborts = toft_check_switch_aborts;
  TOFT_UNLOCK(&toft_findings_lock);
  if (fn != NULL && !toft_in_hook) {
    toft_in_hook = 1;
    toft_deliver_report(f, fn, arg);
    toft_in_hook = 0;
  }
  if (prints) toft_deliver_report(f, toft_print_finding, NULL);
  if (toft_findings_objects != NULL) toft_append_object(f);
  if (aborts) abort();
}
static void toft_findings_end(void) {
  toft_symbol_session_close();
  free(toft_findings_file);
  free(toft_findings_objects);
  toft_findings_file = toft_findings_objects = NULL;
}
#define TOFT_REDZONE 16
#define TOFT_REPORTS_MAX 1000
enum { TOFT_POISON_REDZONE = 0xFD, TOFT_POISON_UNINIT = 0xCD, TOFT_POISON_FREED = 0xDD };
typedef struct toft_stale_marks {
  uintptr_t from, to;
} toft_stale_marks;
typedef struct toft_record {
  toft_block_header *block;
  unsigned char *start, *p, *end;
  size_t size;
  uintptr_t epoch;
  unsigned char *cursor;
  toft_call_info allocated, freed;
  uint32_t header;
  int reported;
} toft_record;
typedef struct toft_block_log {
  struct toft_block_log *next;
  toft_block_header *block;
  size_t *live;
  size_t live_count, live_capacity;
  toft_record *freed;
  size_t count, capacity;
} toft_block_log;
struct toft_checks {
  toft_record *records;
  size_t count, capacity;
  toft_block_log *block_logs, **last_log;
  const toft_block_header *last_block;
  uintptr_t since_epoch;
  unsigned char *since_cursor;
  toft_stale_marks *stale_marks;
  size_t stale_marks_count, stale_marks_capacity;
  uintptr_t claim_epoch;
  toft_call_info call;
  size_t busy_thread;
  size_t depth;
  size_t pinned_thread;
  toft_report *reports;
  size_t reports_count, reports_dropped;
  toft_live_entry registered;
  toft_state *arena;
  size_t plain_bytes, plain_limit;
};
static void toft_keep_report(toft_checks *c, const toft_report *f) {
  toft_lock_take(&toft_findings_lock);
  int fits = c->reports_count < TOFT_REPORTS_MAX;
  if (fits && (c->reports_count & (c->reports_count - 1)) == 0) {
    size_t capacity = c->reports_count == 0 ? 1 : 2 * c->reports_count;
    toft_report *more = (toft_report *)realloc(c->reports, capacity * sizeof *more);
    fits = more != NULL;
    if (fits) c->reports = more;
  }
  if (fits) c->reports[c->reports_count++] = *f;
  if (!fits) c->reports_dropped++;
  TOFT_UNLOCK(&toft_findings_lock);
}
static void toft_report_intruder(toft_state *a, toft_report *f) {
  f->arena = toft_head_of(a);
  toft_keep_report(a->checks, f);
  toft_publish_report(f);
}
static void toft_report_finding(toft_state *a, toft_report *f) {
  uint32_t was_busy = toft_begin_callback(a);
  toft_report_intruder(a, f);
  toft_end_callback(a, was_busy);
}
static void toft_report_set_allocation(toft_report *f, const toft_record *r) {
  f->p = r->p + r->header;
  f->size = r->size - r->header;
  f->allocated = r->allocated;
  f->freed = r->freed;
}
static void toft_report_misuse(toft_state *a, int kind, const void *p, size_t claimed_size, const toft_record *r) {
  toft_report f;
  memset(&f, 0, sizeof f);
  f.kind = kind;
  f.p = (const unsigned char *)p;
  f.claimed_size = claimed_size;
  f.detected = a->checks->call;
  if (r != NULL) toft_report_set_allocation(&f, r);
  toft_report_finding(a, &f);
}
static int toft_report_written(toft_state *a, int kind, const toft_record *r, const unsigned char *at,
                               const unsigned char *end, int open_ended) {
  toft_report f;
  memset(&f, 0, sizeof f);
  f.kind = kind;
  toft_report_set_allocation(&f, r);
  toft_report_set_written(&f, f.p, at, end, open_ended);
  f.detected = a->checks->call;
  toft_report_finding(a, &f);
  toft_report_failure(a, f.size, 0, TOFT_ECORRUPT);
  return TOFT_ECORRUPT;
}
static int toft_debug_begin_call_slow(toft_state *a, const char *op, uintptr_t site) {
  toft_checks *c = a->checks;
  toft_call_info call = toft_call_begun(op, site);
  size_t me = call.thread, pinned = TOFT_LOAD(&c->pinned_thread), other = 0;
  int wrong = pinned != 0 && pinned != me;
  if (!wrong && (TOFT_CAS_ACQUIRE(&c->busy_thread, &other, me) || other == me)) {
    if (c->depth++ == 0) c->call = call;
    return 1;
  }
  toft_report f;
  memset(&f, 0, sizeof f);
  f.detected = call;
  f.kind = wrong ? TOFT_FOUND_WRONG_THREAD : TOFT_FOUND_TWO_THREADS;
  if (wrong)
    f.allocated.thread = pinned;
  else
    f.allocated = c->call;
  toft_report_intruder(a, &f);
  return 0;
}
TOFT_INLINE void toft_debug_end_call(toft_state *a) {
  toft_checks *c = a->checks;
  if (TOFT_UNLIKELY(c != NULL) && --c->depth == 0) TOFT_CLEAR_RELEASE(&c->busy_thread);
}
static size_t toft_pin_to(toft_state *a, size_t thread) {
  return (a->state & TOFT_PRISTINE) == 0 && a->checks != NULL ? TOFT_SWAP(&a->checks->pinned_thread, thread) : 0;
}
TOFT_INLINE void toft_fill(unsigned char *p, size_t n, unsigned char byte) {
  if (n >= 16 && n <= 64) {
    memset(p, byte, 16);
    memset(p + n - 16, byte, 16);
    if (n <= 32) return;
    memset(p + 16, byte, 16);
    memset(p + n - 32, byte, 16);
  } else if (n == 8) {
    memset(p, byte, 8);
  } else {
    memset(p, byte, n);
  }
}
TOFT_INLINE int toft_is_filled(const unsigned char *p, size_t n, unsigned char byte) {
  uint64_t w[4], filled = byte * (UINT64_MAX / 255), other = 0;
  if (n < 16 || n > 64) return n == 0 || (*p == byte && memcmp(p, p + 1, n - 1) == 0);
  if (n > 32) {
    memcpy(w, p + 16, 16);
    memcpy(w + 2, p + n - 32, 16);
    other = (w[0] ^ filled) | (w[1] ^ filled) | (w[2] ^ filled) | (w[3] ^ filled);
  }
  memcpy(w, p, 16);
  memcpy(w + 2, p + n - 16, 16);
  return (other | (w[0] ^ filled) | (w[1] ^ filled) | (w[2] ^ filled) | (w[3] ^ filled)) == 0;
}
static int toft_written_part(const unsigned char **from, const unsigned char **to, unsigned char byte) {
  if (toft_is_filled(*from, (size_t)(*to - *from), byte)) *from = *to;
  while (*from < *to && **from == byte) ++*from;
  while (*from < *to && (*to)[-1] == byte) --*to;
  return *from < *to;
}
static void toft_fill_header(unsigned char *p, size_t size) {
  memset(p, TOFT_POISON_REDZONE, TOFT_HOOK_HEADER);
  memcpy(p, &size, sizeof size);
}
static int toft_redzone_damage(const toft_record *r, const unsigned char **from, const unsigned char **to,
                               int *open_ended) {
  unsigned char header[TOFT_HOOK_HEADER];
  const unsigned char *front = r->start;
  toft_unpoison(r->start, (size_t)(r->p - r->start) + r->header);
  toft_unpoison(r->p + r->size, (size_t)(r->end - r->p) - r->size);
  *from = r->p + r->size;
  *to = r->end;
  if (toft_written_part(from, to, TOFT_POISON_REDZONE)) {
    *open_ended = *to == r->end;
    return TOFT_FOUND_OVERRUN;
  }
  *from = front;
  *to = r->p;
  (void)toft_written_part(from, to, TOFT_POISON_REDZONE);
  toft_fill_header(header, r->size - r->header);
  for (uint32_t i = 0; i < r->header && r->freed.op == NULL; i++) {
    if (r->p[i] == header[i]) continue;
    if (*from == *to) *from = r->p + i;
    *to = r->p + i + 1;
  }
  *open_ended = *from == front;
  return *from < *to ? TOFT_FOUND_UNDERRUN : 0;
}
TOFT_INLINE void toft_set_redzones(const toft_record *r, toft_access access) {
  if (!toft_has_memory_tool()) return;
  toft_set_access(r->start, (size_t)(r->p - r->start) + r->header, access);
  toft_set_access(r->p + r->size, (size_t)(r->end - r->p) - r->size, access);
}
TOFT_INLINE void toft_poison_redzones(const toft_record *r) { toft_set_redzones(r, TOFT_NOACCESS); }
TOFT_INLINE int toft_has_whole_redzones(const toft_record *r) {
  size_t front = (size_t)(r->p - r->start), behind = (size_t)(r->end - r->p) - r->size;
  toft_set_redzones(r, TOFT_DEFINED);
  return r->header == 0 && toft_is_filled(r->start, front, TOFT_POISON_REDZONE) &&
         toft_is_filled(r->p + r->size, behind, TOFT_POISON_REDZONE);
}
TOFT_INLINE int toft_verify_freed_range(toft_state *a, const toft_record *r, unsigned char *from, unsigned char *to) {
  int code = TOFT_OK;
  toft_unpoison(from, (size_t)(to - from));
  if (!toft_is_filled(from, (size_t)(to - from), TOFT_POISON_FREED)) {
    const unsigned char *at = from, *end = to;
    (void)toft_written_part(&at, &end, TOFT_POISON_FREED);
    code = toft_report_written(a, TOFT_FOUND_LATE_WRITE, r, at, end, end == to);
    toft_unpoison(from, (size_t)(to - from));
    memset(from, TOFT_POISON_FREED, (size_t)(to - from));
  }
  if (!(a->state & TOFT_IS_SUBJECT)) toft_poison(from, (size_t)(to - from));
  return code;
}
TOFT_INLINE int toft_check_one(toft_state *a, toft_record *r) {
  int code = TOFT_OK;
  if (r->start == r->end) return TOFT_OK;
  if (!r->reported) {
    const unsigned char *from, *to;
    int open_ended, kind = toft_has_whole_redzones(r) ? 0 : toft_redzone_damage(r, &from, &to, &open_ended);
    if (kind != 0) {
      r->reported = 1;
      code = toft_report_written(a, kind, r, from, to, open_ended);
    }
    toft_poison_redzones(r);
  }
  if (r->freed.op != NULL && toft_verify_freed_range(a, r, r->p, r->p + r->size) != TOFT_OK) code = TOFT_ECORRUPT;
  return code;
}
static int toft_check_record(toft_state *a, size_t index) { return toft_check_one(a, &a->checks->records[index]); }
TOFT_INLINE void toft_fill_freed(unsigned char *from, unsigned char *to) {
  if (from >= to) return;
  toft_unpoison(from, (size_t)(to - from));
  toft_fill(from, (size_t)(to - from), TOFT_POISON_FREED);
  toft_poison(from, (size_t)(to - from));
}
static void toft_mark_freed(const toft_state *a, unsigned char *from, unsigned char *to) {
  if (a->state & TOFT_IS_CHECKED) {
    const toft_block_log *s = a->checks->block_logs;
    while (s != NULL && (s->count == 0 || s->freed[s->count - 1].start < from || s->freed[s->count - 1].end > to))
      s = s->next;
    for (size_t i = s != NULL ? s->count : 0; i-- != 0 && s->freed[i].end <= to; from = s->freed[i].end)
      toft_fill_freed(from, s->freed[i].start);
    toft_fill_freed(from, to);
  } else if (a->checks != NULL && from < to) {
    toft_unpoison(from, (size_t)(to - from));
  }
}
TOFT_INLINE toft_block_log **toft_block_log_of(toft_checks *c, const toft_block_header *b) {
  if (TOFT_LIKELY(b == c->last_block)) return c->last_log;
  c->last_log = &c->block_logs;
  while (*c->last_log != NULL && (*c->last_log)->block != b) c->last_log = &(*c->last_log)->next;
  c->last_block = b;
  return c->last_log;
}
TOFT_INLINE toft_block_log *toft_block_log_get(toft_checks *c, toft_block_header *b) {
  toft_block_log *s = *toft_block_log_of(c, b);
  if (s != NULL || (s = (toft_block_log *)calloc(1, sizeof *s)) == NULL) return s;
  s->block = b;
  s->next = c->block_logs;
  c->block_logs = s;
  c->last_block = NULL;
  return s;
}
static TOFT_COLD void *toft_grow_array(void *old, size_t *capacity, size_t each) {
  size_t more = *capacity == 0 ? 16 : 2 * *capacity;
  void *p = realloc(old, more * each);
  if (p != NULL) *capacity = more;
  return p;
}
TOFT_INLINE void toft_log_live(toft_checks *c, toft_block_header *b, size_t index) {
  toft_block_log *s = toft_block_log_get(c, b);
  if (s == NULL) return;
  if (s->live_count == s->live_capacity) {
    size_t *more = (size_t *)toft_grow_array(s->live, &s->live_capacity, sizeof *more);
    if (more == NULL) return;
    s->live = more;
  }
  s->live[s->live_count++] = index;
}
TOFT_INLINE void toft_unlog_live(toft_checks *c, const toft_block_header *b, size_t index) {
  toft_block_log *s = *toft_block_log_of(c, b);
  if (s != NULL && s->live_count != 0 && s->live[s->live_count - 1] == index) s->live_count--;
}
TOFT_INLINE void toft_log_freed(toft_checks *c, const toft_record *r) {
  toft_block_log *s = toft_block_log_get(c, r->block);
  if (s == NULL) return;
  if (s->count == s->capacity) {
    toft_record *more = (toft_record *)toft_grow_array(s->freed, &s->capacity, sizeof *more);
    if (more == NULL) return;
    s->freed = more;
  }
  s->freed[s->count++] = *r;
}
static int toft_verify_before_reuse(toft_state *a, const toft_block_header *b, unsigned char *to) {
  toft_block_log *s = *toft_block_log_of(a->checks, b);
  int code = TOFT_OK;
  while (s != NULL && s->count != 0 && s->freed[s->count - 1].start < to) {
    toft_record *r = &s->freed[s->count - 1];
    if (toft_verify_freed_range(a, r, r->start, r->end < to ? r->end : to) != TOFT_OK) code = TOFT_ECORRUPT;
    if (r->end > to) {
      r->start = to;
      break;
    }
    s->count--;
  }
  return code;
}
static int toft_verify_block_log(toft_state *a, const toft_block_log *s) {
  int code = TOFT_OK;
  for (size_t i = 0; s != NULL && i < s->count; i++)
    if (toft_verify_freed_range(a, &s->freed[i], s->freed[i].start, s->freed[i].end) != TOFT_OK) code = TOFT_ECORRUPT;
  return code;
}
static int toft_verify_freed(toft_state *a) {
  int code = TOFT_OK;
  for (const toft_block_log *s = a->checks != NULL ? a->checks->block_logs : NULL; s != NULL; s = s->next)
    if (toft_verify_block_log(a, s) != TOFT_OK) code = TOFT_ECORRUPT;
  return code;
}
static int toft_check_records(toft_state *a, uintptr_t epoch) {
  toft_checks *c = a->checks;
  int code = TOFT_OK;
  while (c != NULL && c->count != 0 && c->records[c->count - 1].epoch > epoch) {
    toft_record *r = &c->records[c->count - 1];
    if (toft_check_one(a, r) != TOFT_OK) code = TOFT_ECORRUPT;
    if (r->freed.op == NULL) c->plain_bytes -= TOFT_ROUND8(r->size);
    if (a->state & TOFT_IS_CHECKED) {
      if (r->freed.op == NULL) r->freed = c->call;
      toft_fill_freed(r->start, r->end);
      toft_log_freed(c, r);
    } else {
      toft_unpoison(r->start, (size_t)(r->end - r->start));
    }
    toft_unlog_live(c, r->block, --c->count);
  }
  return code;
}
#define TOFT_STACK_MAX 64
#define TOFT_SITES_MAX 65536
struct toft_sampled_site {
  toft_sampled_site *next;
  uint64_t hash;
  uintptr_t site;
  size_t tag, depth;
  double count, bytes;
};
static void **toft_site_stack(toft_sampled_site *s) { return (void **)(void *)(s + 1); }
static void toft_clear_sites(toft_instruments *w) {
  for (size_t i = 0; i < TOFT_SITE_LISTS && w->sites != NULL; i++) {
    toft_sampled_site *s = w->sites[i];
    w->sites[i] = NULL;
    while (s != NULL) {
      toft_sampled_site *next = s->next;
      free(s);
      s = next;
    }
  }
  w->site_count = 0;
  w->unattributed_count = w->unattributed_bytes = 0;
}
static uint64_t toft_next_distance(toft_instruments *w) {
  w->random ^= w->random << 13;
  w->random ^= w->random >> 7;
  w->random ^= w->random << 17;
  uint64_t u = (w->random >> 32) | 1;
  unsigned bits = 0;
  while (u >> bits > 1) bits++;
  uint64_t log = (uint64_t)bits << 16, y = u << (31 - bits);
  for (unsigned bit = 16; bit-- > 0;) {
    y = (y * y) >> 31;
    if (y >> 32 != 0) {
      log |= (uint64_t)1 << bit;
      y >>= 1;
    }
  }
  double nats = (double)(((uint64_t)32 << 16) - log) / 65536.0 * 0.69314718055994531;
  double middle = (double)w->period + 0.5, part = 0.25 / (middle * middle);
  double distance = nats * middle / (1 + part / 3 + part * part / 5);
  return distance < 9e18 ? (uint64_t)distance : UINT64_MAX;
}
static void toft_sample_after(toft_instruments *w, uint64_t allocated) {
  uint64_t distance = toft_next_distance(w);
  w->next_sample = distance <= UINT64_MAX - allocated ? allocated + distance : UINT64_MAX;
}
static int toft_apply_sampling(toft_state *a, uint64_t period) {
  toft_instruments *w = toft_instruments_get(a);
  if (w == NULL) return TOFT_ENOMEM;
  w->period = period;
  toft_sample_after(w, a->allocated);
  toft_update_instrumented(a);
  return TOFT_OK;
}
static uint64_t toft_sampling_period(const toft_state *a) {
  return a->instruments != NULL ? a->instruments->period : 0;
}
static size_t toft_capture_stack(toft_state *a, void **stack, uintptr_t caller) {
  void *all[TOFT_STACK_MAX + TOFT_SKIPPED_FRAMES_MAX];
  size_t n, max = TOFT_STACK_MAX + TOFT_SKIPPED_FRAMES_MAX;
  toft_instruments *w = a->instruments;
  if (w->unwinder != NULL) {
    uint32_t was_busy = toft_begin_callback(a);
    n = toft_min(w->unwinder(w->unwinder_arg, all, max), max);
    toft_end_callback(a, was_busy);
  } else {
    n = TOFT_UNWIND(all, max);
  }
  size_t first = toft_frame_of(all, n, caller);
  if (first == n && caller != 0) {
    all[0] = (void *)caller;
    first = 0;
    n = 1;
  }
  n = toft_min(n - first, TOFT_STACK_MAX);
  memcpy(stack, all + first, n * sizeof *stack);
  return n;
}
static toft_sampled_site *toft_site_of(toft_instruments *w, void *const *stack, size_t depth, uintptr_t site) {
  uint64_t hash = (uint64_t)site * 31 + w->tag;
  for (size_t i = 0; i < depth; i++) hash = (hash ^ (uint64_t)(uintptr_t)stack[i]) * 0x9E3779B97F4A7C15u;
  if (w->sites == NULL) {
    w->sites = (toft_sampled_site **)calloc(TOFT_SITE_LISTS, sizeof(void *));
    if (w->sites == NULL) return NULL;
  }
  toft_sampled_site **list = &w->sites[hash >> 56];
  for (toft_sampled_site *s = *list; s != NULL; s = s->next)
    if (s->hash == hash && s->site == site && s->tag == w->tag && s->depth == depth &&
        memcmp(toft_site_stack(s), stack, depth * sizeof *stack) == 0)
      return s;
  if (w->site_count == TOFT_SITES_MAX) return NULL;
  toft_sampled_site *s = (toft_sampled_site *)malloc(sizeof *s + depth * sizeof *stack);
  if (s == NULL) return NULL;
  s->next = *list;
  s->hash = hash;
  s->site = site;
  s->tag = w->tag;
  s->depth = depth;
  s->count = s->bytes = 0;
  memcpy(toft_site_stack(s), stack, depth * sizeof *stack);
  *list = s;
  w->site_count++;
  return s;
}
static void toft_sample(toft_state *a, size_t size, uint64_t before, uintptr_t site, uintptr_t caller) {
  toft_instruments *w = a->instruments;
  uint64_t hits = 0, from = w->next_sample > before ? w->next_sample : before;
  uint64_t many = a->allocated > from ? (a->allocated - from) / w->period : 0;
  if (many > 256) {
    hits = many;
    toft_sample_after(w, a->allocated);
  }
  while (w->next_sample < a->allocated) {
    hits += w->next_sample >= before;
    toft_sample_after(w, w->next_sample);
  }
  if (hits == 0) return;
  void *stack[TOFT_STACK_MAX];
  size_t depth = toft_capture_stack(a, stack, caller);
  toft_sampled_site *s = toft_site_of(w, stack, depth, site);
  double count = (double)hits * (double)w->period / (double)(a->allocated - before);
  if (w->profiled != NULL) toft_profile_sample(w, stack, depth, site, count, count * (double)size);
  *(s != NULL ? &s->count : &w->unattributed_count) += count;
  *(s != NULL ? &s->bytes : &w->unattributed_bytes) += count * (double)size;
}
static void toft_instrument_alloc(toft_state *a, size_t size, uint64_t before, uintptr_t site, uintptr_t caller) {
  if (!(a->state & TOFT_INSTRUMENTED) || a->allocated <= before) return;
  a->instruments->caller = site != 0 ? site : caller;
  if (a->instruments->period != 0) toft_sample(a, size, before, site, caller);
  toft_check_soft_budget(a);
}
static void toft_end_call(toft_state *a) {
  toft_set_limit(a);
  toft_debug_end_call(a);
}
static TOFT_RARE toft_state *toft_begin_setting(toft_arena *head, const char *op, uintptr_t caller, int *code) {
  toft_state *a = toft_observed_state(head);
  *code = TOFT_ENOSYS;
  if (a == NULL || (a->state & TOFT_IN_REGION)) return NULL;
  *code = TOFT_EBUSY;
  if (!toft_debug_begin_call(a, op, caller)) return NULL;
  toft_sync_in(a);
  *code = a->state & (TOFT_CLAIMED | TOFT_BUSY) ? TOFT_EBUSY : toft_instruments_get(a) == NULL ? TOFT_ENOMEM : TOFT_OK;
  if (*code == TOFT_OK) return a;
  toft_end_call(a);
  return NULL;
}
static TOFT_RARE int toft_end_setting(toft_state *a, int code) {
  if (code == TOFT_OK) {
    toft_next_epoch(a);
    toft_update_instrumented(a);
  }
  toft_end_call(a);
  return code;
}
TOFT_RARE int toft_set_metered(toft_arena *head, int on) {
  int code;
  toft_state *a = toft_begin_setting(head, "set_metered", TOFT_CALLER(), &code);
  return a != NULL ? toft_end_setting(a, toft_set_metering(a, on != 0)) : code;
}
TOFT_RARE int toft_set_soft_budget(toft_arena *head, uint64_t bytes, toft_soft_budget_fn *fn, void *arg) {
  int code;
  toft_state *a = toft_begin_setting(head, "set_soft_budget", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  a->instruments->soft_budget = bytes;
  a->instruments->soft_budget_passed = 0;
  a->instruments->on_soft_budget = fn;
  a->instruments->on_soft_budget_arg = arg;
  return toft_end_setting(a, TOFT_OK);
}
TOFT_RARE int toft_on_refusal(toft_arena *head, toft_refusal_fn *fn, void *arg) {
  int code;
  toft_state *a = toft_begin_setting(head, "on_refusal", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  a->instruments->on_refusal = fn;
  a->instruments->on_refusal_arg = arg;
  return toft_end_setting(a, TOFT_OK);
}
int toft_set_tag_budget(toft_arena *head, const char *path, uint64_t bytes) {
  int code;
  if (path == NULL || !toft_is_name(path, strlen(path))) return TOFT_EARG;
  toft_state *a = toft_begin_setting(head, "set_tag_budget", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  if (path[0] == '/') path++;
  size_t tag = toft_tag_of(a->instruments, NULL, path, strlen(path), NULL);
  if (tag != SIZE_MAX) a->instruments->tags[tag].budget = bytes;
  return toft_end_setting(a, tag != SIZE_MAX ? TOFT_OK : TOFT_ENOMEM);
}
TOFT_RARE int toft_set_sampling_seed(toft_arena *head, uint64_t seed) {
  int code;
  toft_state *a = toft_begin_setting(head, "set_sampling_seed", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  a->instruments->random = toft_mix64(seed + 0x9E3779B97F4A7C15u);
  toft_sample_after(a->instruments, a->allocated);
  return toft_end_setting(a, TOFT_OK);
}
TOFT_RARE int toft_set_unwinder(toft_arena *head, toft_unwind_fn *fn, void *arg) {
  int code;
  toft_state *a = toft_begin_setting(head, "set_unwinder", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  a->instruments->unwinder = fn;
  a->instruments->unwinder_arg = arg;
  return toft_end_setting(a, TOFT_OK);
}
static int toft_push_tag(toft_state *a, const char *name) {
  toft_instruments *w = a->instruments;
  size_t length = name != NULL ? strlen(name) : 0;
  if (w->failed_pushes != 0) return TOFT_ENOMEM;
  if (name == NULL || !toft_is_name(name, length)) return TOFT_EARG;
  if (a->state & TOFT_BUSY) return TOFT_EBUSY;
  size_t *stack = (size_t *)toft_grow_list(w->tag_stack, &w->tag_stack_capacity, w->tag_depth + 1, sizeof *stack);
  if (stack == NULL) return TOFT_ENOMEM;
  w->tag_stack = stack;
  int absolute = name[0] == '/';
  size_t before = w->tag, tag = before;
  if (length != 0)
    tag = toft_tag_of(w, absolute ? NULL : &w->tags[before], name + absolute, length - (size_t)absolute, NULL);
  if (tag == SIZE_MAX || !toft_change_tag(a, tag)) return TOFT_ENOMEM;
  w->tag_stack[w->tag_depth++] = before;
  return TOFT_OK;
}
static toft_state *toft_begin_metered_call(toft_arena *head, const char *op, uintptr_t caller, int *code) {
  toft_state *a = toft_observed_state(head);
  *code = a != NULL ? TOFT_OK : TOFT_ENOSYS;
  if (*code != TOFT_OK) return NULL;
  toft_instruments *w = toft_instruments_of(a);
  if (w == NULL || !w->metered) return NULL;
  *code = TOFT_EBUSY;
  if (!toft_debug_begin_call(a, op, caller)) return NULL;
  toft_sync_in(a);
  return a;
}
int toft_tag_push_slow(toft_arena *head, const char *name) {
  int code;
  toft_state *a = toft_begin_metered_call(head, "tag_push", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  code = toft_push_tag(a, name);
  if (code != TOFT_OK) a->instruments->failed_pushes++;
  toft_end_call(a);
  return code;
}
void toft_tag_pop_slow(toft_arena *head) {
  int code;
  toft_state *a = toft_begin_metered_call(head, "tag_pop", TOFT_CALLER(), &code);
  if (a == NULL) return;
  toft_instruments *w = a->instruments;
  if (w->failed_pushes != 0) {
    w->failed_pushes--;
  } else if (w->tag_depth != 0 && !(a->state & TOFT_BUSY)) {
    toft_sync_tags(a);
    w->tag = w->tag_stack[--w->tag_depth];
    toft_sync_tags(a);
  }
  toft_end_call(a);
}
toft_phase toft_phase_begin_slow(toft_arena *head, const char *name) {
  int code;
  toft_phase p = {NULL, 0, 0};
  toft_state *a = toft_begin_metered_call(head, "phase_begin", TOFT_CALLER(), &code);
  if (a == NULL) return p;
  p.name = name;
  p.allocated = a->allocated;
  p.live = a->live;
  toft_end_call(a);
  return p;
}
static toft_phase_entry *toft_phase_named(toft_instruments *w, const char *name) {
  for (size_t i = 0; i < w->phase_count; i++)
    if (strcmp(w->phases[i].name, name) == 0) return &w->phases[i];
  toft_phase_entry *phases =
      (toft_phase_entry *)toft_grow_list(w->phases, &w->phase_capacity, w->phase_count + 1, sizeof *phases);
  if (phases == NULL) return NULL;
  w->phases = phases;
  toft_phase_entry *e = &phases[w->phase_count];
  memset(e, 0, sizeof *e);
  e->name = toft_copy_name(name, strlen(name), NULL, 0);
  if (e->name == NULL) return NULL;
  w->phase_count++;
  return e;
}
void toft_phase_end_slow(toft_arena *head, toft_phase *p) {
  int code;
  toft_state *a = toft_begin_metered_call(head, "phase_end", TOFT_CALLER(), &code);
  if (a != NULL) {
    toft_phase_entry *e = toft_phase_named(a->instruments, p->name);
    if (e != NULL) {
      e->entries++;
      e->allocated += a->allocated - p->allocated;
      e->kept += (int64_t)(a->live - p->live);
    }
    if (a->instruments->profiled != NULL)
      toft_profile_phase(p->name, a->allocated - p->allocated, (int64_t)(a->live - p->live));
    toft_end_call(a);
  }
  p->name = NULL;
}
static toft_state *toft_begin_report(toft_arena *head, int *code) {
  toft_state *a = toft_observed_state(head);
  *code = a != NULL ? TOFT_OK : TOFT_ENOSYS;
  if (*code != TOFT_OK || toft_instruments_of(a) == NULL) return NULL;
  toft_sync_in(a);
  toft_sync_tags(a);
  return a;
}
static TOFT_RARE int toft_each_tag(const toft_instruments *w, int (*fn)(void *arg, const toft_tag_report *tag),
                                   void *arg) {
  int code = 0;
  for (size_t i = 0; i < w->tag_count && w->metered && code == 0; i++) {
    const toft_tag_entry *t = &w->tags[i];
    toft_tag_report r;
    r.name = t->name;
    r.number = t->numbered ? &t->number : NULL;
    r.live = toft_live_of_tag(w, i);
    r.allocated = t->allocated;
    r.budget = t->budget;
    code = fn(arg, &r);
  }
  return code;
}
static TOFT_RARE int toft_each_phase(const toft_instruments *w, int (*fn)(void *arg, const toft_phase_report *phase),
                                     void *arg) {
  int code = 0;
  for (size_t i = 0; i < w->phase_count && code == 0; i++) {
    const toft_phase_entry *e = &w->phases[i];
    toft_phase_report r;
    r.name = e->name;
    r.entries = e->entries;
    r.allocated = e->allocated;
    r.kept = e->kept;
    code = fn(arg, &r);
  }
  return code;
}
static TOFT_RARE int toft_each_site(const toft_instruments *w, int (*fn)(void *arg, const toft_site_report *site),
                                    void *arg) {
  int code = 0;
  toft_site_report r;
  for (size_t i = 0; i < TOFT_SITE_LISTS && w->sites != NULL && code == 0; i++) {
    for (toft_sampled_site *s = w->sites[i]; s != NULL && code == 0; s = s->next) {
      r.site = s->site;
      r.tag = w->tags[s->tag].name;
      r.count = (uint64_t)(s->count + 0.5);
      r.bytes = (uint64_t)(s->bytes + 0.5);
      r.stack = (const void *const *)toft_site_stack(s);
      r.depth = s->depth;
      code = fn(arg, &r);
    }
  }
  if (code == 0 && w->unattributed_count > 0) {
    r.site = 0;
    r.tag = "";
    r.count = (uint64_t)(w->unattributed_count + 0.5);
    r.bytes = (uint64_t)(w->unattributed_bytes + 0.5);
    r.stack = NULL;
    r.depth = 0;
    code = fn(arg, &r);
  }
  return code;
}
#define TOFT_DEFINE_REPORT(name, each, report)                                         \
  int name(toft_arena *head, int (*fn)(void *arg, const report *element), void *arg) { \
    int code;                                                                          \
    toft_state *a = toft_begin_report(head, &code);                                    \
    if (a == NULL) return code;                                                        \
    uint32_t was_busy = toft_begin_callback(a);                                        \
    code = each(a->instruments, fn, arg);                                              \
    toft_end_callback(a, was_busy);                                                    \
    toft_set_limit(a);                                                                 \
    return code;                                                                       \
  }
TOFT_DEFINE_REPORT(toft_tags, toft_each_tag, toft_tag_report)
TOFT_DEFINE_REPORT(toft_phases, toft_each_phase, toft_phase_report)
TOFT_DEFINE_REPORT(toft_sites, toft_each_site, toft_site_report)
TOFT_RARE int toft_clear_report(toft_arena *head) {
  int code;
  toft_state *a = toft_begin_report(head, &code);
  if (a == NULL) return code;
  if (!toft_debug_begin_call(a, "clear_report", TOFT_CALLER())) {
    toft_set_limit(a);
    return TOFT_EBUSY;
  }
  if (a->state & TOFT_BUSY) {
    code = TOFT_EBUSY;
  } else {
    for (size_t i = 0; i < a->instruments->tag_count; i++) a->instruments->tags[i].allocated = 0;
    toft_clear_phases(a->instruments);
    toft_clear_sites(a->instruments);
  }
  toft_end_call(a);
  return code;
}
static void *toft_alloc_with_redzones(toft_state *a, size_t total, size_t align) {
  if (a->state & TOFT_CLAIMED) return toft_alloc_in_side_block(a, total, align);
  if (!toft_fits_current(a, total, align) && !(toft_fits_budget(a, total) && toft_extend_current(a, total, align)))
    return toft_alloc_in_new_block(a, total, align);
  size_t take = toft_pad(a->head.cursor, align) + total;
  if (!toft_fits_budget(a, take)) return NULL;
  TOFT_STORE_POINTER(unsigned char, &a->head.limit, a->head.cursor + take);
  a->head.cursor += take;
  toft_sync(a);
  return a->head.cursor - total;
}
static int toft_reserve_record(toft_checks *c) {
  if (c->count < c->capacity) return 1;
  toft_record *more = (toft_record *)toft_grow_array(c->records, &c->capacity, sizeof *more);
  if (more != NULL) c->records = more;
  return more != NULL;
}
static size_t toft_size_with_redzones(size_t size, size_t align) {
  return toft_max(align, TOFT_REDZONE) + TOFT_ROUND8(size) + TOFT_REDZONE;
}
static toft_block_header *toft_block_of(const toft_state *a, const unsigned char *end) {
  if (a->state & TOFT_CLAIMED) return a->side_block;
  return end == a->head.cursor ? a->current : a->newest;
}
TOFT_INLINE void *toft_record_allocation(toft_state *a, toft_block_header *b, unsigned char *base, size_t size,
                                         size_t front, size_t total) {
  toft_checks *c = a->checks;
  (void)toft_verify_before_reuse(a, b, base + total);
  unsigned char *p = base + front;
  toft_unpoison(base, total);
  toft_fill(base, front, TOFT_POISON_REDZONE);
  toft_fill(p, size, TOFT_POISON_UNINIT);
  toft_fill(p + size, total - front - size, TOFT_POISON_REDZONE);
  toft_mark_undefined(p, size);
  toft_next_epoch(a);
  toft_log_live(c, b, c->count);
  toft_record *r = &c->records[c->count++];
  r->block = b;
  r->start = base;
  r->p = p;
  r->end = base + total;
  r->size = size;
  r->epoch = toft_epoch(a);
  r->cursor = a->head.cursor;
  r->allocated = c->call;
  memset(&r->freed, 0, sizeof *r - offsetof(toft_record, freed));
  toft_poison_redzones(r);
  c->plain_bytes += TOFT_ROUND8(size);
  return p;
}
static void *toft_alloc_checked(toft_state *a, size_t size, size_t align) {
  toft_checks *c = a->checks;
  toft_block_header *b = NULL;
  size_t front = toft_max(align, TOFT_REDZONE);
  size_t total = toft_size_with_redzones(size, align);
  if (total > TOFT_MAX_REQUEST || !toft_reserve_record(c)) return NULL;
  if (TOFT_ROUND8(size) > c->plain_limit - toft_min(c->plain_bytes, c->plain_limit)) return NULL;
  unsigned char *base = (unsigned char *)(a->state & TOFT_IS_SUBJECT ? toft_subjects->place(a, total, front, &b)
                                                                     : toft_alloc_with_redzones(a, total, front));
  if (base == NULL) return NULL;
  return toft_record_allocation(a, b != NULL ? b : toft_block_of(a, base + total), base, size, front, total);
}
static const unsigned char *toft_since_cursor(const toft_state *a) {
  return a->trim_epoch > a->checks->since_epoch ? a->initial_start : a->checks->since_cursor;
}
static void toft_restart_checks(toft_state *a) {
  if (a->checks == NULL) return;
  a->checks->since_epoch = toft_epoch(a);
  a->checks->since_cursor = a->head.cursor;
  a->checks->stale_marks_count = 0;
}
static toft_record *toft_newest_checked_record(const toft_checks *c, size_t count) {
  return count != 0 && c->records[count - 1].epoch > c->since_epoch ? &c->records[count - 1] : NULL;
}
#define TOFT_STALE_MARKS_MAX 4096
static void toft_add_stale_marks(toft_state *a, uintptr_t from) {
  toft_checks *c = a->checks;
  toft_next_epoch(a);
  while (c->stale_marks_count != 0 && c->stale_marks[c->stale_marks_count - 1].from > from) c->stale_marks_count--;
  if (c->stale_marks_count == TOFT_STALE_MARKS_MAX) {
    c->stale_marks_count /= 2;
    memcpy(c->stale_marks, c->stale_marks + c->stale_marks_count, c->stale_marks_count * sizeof *c->stale_marks);
  }
  if (c->stale_marks_count == c->stale_marks_capacity) {
    void *more = toft_grow_array(c->stale_marks, &c->stale_marks_capacity, sizeof *c->stale_marks);
    if (more == NULL) return;
    c->stale_marks = (toft_stale_marks *)more;
  }
  toft_stale_marks *stale = &c->stale_marks[c->stale_marks_count++];
  stale->from = from;
  stale->to = toft_epoch(a);
}
static void toft_forget_marks(toft_state *a, const toft_record *forgotten) {
  const toft_record *below = toft_newest_checked_record(a->checks, a->checks->count);
  if (forgotten->cursor == (below != NULL ? below->cursor : toft_since_cursor(a)))
    toft_add_stale_marks(a, forgotten->epoch);
}
static void toft_checks_claim_alloc(toft_state *a) {
  if ((a->state & TOFT_IS_CHECKED) && a->checks->claim_epoch == 0) a->checks->claim_epoch = toft_epoch(a);
}
static void toft_checks_unclaim(toft_state *a) {
  if (!(a->state & TOFT_IS_CHECKED) || a->checks->claim_epoch == 0) return;
  toft_add_stale_marks(a, a->checks->claim_epoch);
  a->checks->claim_epoch = 0;
}
static int toft_mark_in_stale_range(const toft_checks *c, uintptr_t epoch) {
  size_t i = c->stale_marks_count;
  while (i != 0 && c->stale_marks[i - 1].from > epoch) i--;
  return i != 0 && epoch < c->stale_marks[i - 1].to;
}
static int toft_mark_is_stale(const toft_state *a, const unsigned char *cursor, uintptr_t epoch) {
  const toft_checks *c = a->checks;
  if (!(a->state & TOFT_IS_CHECKED) || epoch < c->since_epoch) return 0;
  size_t low = 0, high = c->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (c->records[middle].epoch > epoch)
      high = middle;
    else
      low = middle + 1;
  }
  const toft_record *r = toft_newest_checked_record(c, low);
  if (toft_mark_in_stale_range(c, epoch)) return 1;
  if (r != NULL) return cursor != r->cursor;
  return cursor != toft_since_cursor(a) && (epoch >= a->trim_epoch || cursor != c->since_cursor);
}
static void toft_report_stale_mark(toft_state *a) {
  if (a->state & TOFT_IS_CHECKED) toft_report_misuse(a, TOFT_FOUND_STALE_MARK, NULL, 0, NULL);
}
static int toft_rewind_records(toft_state *a, uintptr_t epoch) {
  size_t records = a->checks != NULL ? a->checks->count : 0;
  int code = toft_check_records(a, epoch);
  if (records != 0 && a->checks->count != records) toft_forget_marks(a, &a->checks->records[a->checks->count]);
  return code;
}
static void toft_records_rewound(toft_state *a, uintptr_t epoch) {
  if (a->checks != NULL && epoch < a->checks->since_epoch) toft_restart_checks(a);
}
static toft_record *toft_find_record(toft_state *a, const unsigned char *p) {
  toft_checks *c = a->checks;
  for (const toft_block_log *s = c->block_logs; s != NULL; s = s->next) {
    size_t low = 0, high = s->live_count;
    while (low < high) {
      size_t middle = low + (high - low) / 2;
      if (c->records[s->live[middle]].p < p)
        low = middle + 1;
      else
        high = middle;
    }
    if (low < s->live_count && c->records[s->live[low]].p == p) return &c->records[s->live[low]];
  }
  for (size_t i = c->count; i-- > 0;)
    if (c->records[i].p == p) return &c->records[i];
  return NULL;
}
static int toft_predates_checks(const toft_state *a, const unsigned char *p) {
  const unsigned char *since = toft_since_cursor(a);
  if (a->state & TOFT_IS_SUBJECT) return toft_subjects->predates(a, p);
  for (toft_block_header *b = a->newest; b != NULL; b = b->next) {
    const unsigned char *start = toft_block_start(a, b), *end = toft_block_end(a, b);
    if (p < start || p >= toft_block_used_end(a, b)) continue;
    return b->epoch <= a->checks->since_epoch && !(since >= start && since <= end && p >= since);
  }
  return 0;
}
static toft_record *toft_require_record(toft_state *a, const unsigned char *p, size_t size) {
  toft_record *r = toft_find_record(a, p);
  int kind = r == NULL             ? TOFT_FOUND_FOREIGN
             : r->freed.op != NULL ? TOFT_FOUND_DOUBLE_FREE
             : r->size != size     ? TOFT_FOUND_WRONG_SIZE
                                   : 0;
  if (kind == 0) return r;
  toft_report_misuse(a, kind, p, size, r);
  return NULL;
}
static void toft_free_record(toft_state *a, toft_record *r) {
  (void)toft_check_record(a, (size_t)(r - a->checks->records));
  a->checks->plain_bytes -= TOFT_ROUND8(r->size);
  toft_fill_freed(r->p, r->p + r->size);
  r->freed = a->checks->call;
}
static void *toft_resize_checked(toft_state *a, unsigned char *p, size_t old_size, size_t new_size, size_t align,
                                 uint32_t flags, int *code) {
  *code = TOFT_ENOMEM;
  if (old_size == 0) {
    if (new_size == 0 && toft_pad(p, align) == 0) return p;
    return (flags & TOFT_STAY) ? NULL : toft_alloc_slow(a, new_size, align);
  }
  int older = toft_predates_checks(a, p);
  toft_record *r = older ? NULL : toft_require_record(a, p, old_size);
  if (r == NULL && (!older || old_size > TOFT_MAX_REQUEST)) {
    *code = TOFT_EARG;
    return NULL;
  }
  if (new_size <= old_size && toft_pad(p, align) == 0) {
    if (older) return p;
    (void)toft_check_record(a, (size_t)(r - a->checks->records));
    toft_unpoison(p + new_size, (size_t)(r->end - p) - new_size);
    memset(p + new_size, TOFT_POISON_REDZONE, (size_t)(r->end - p) - new_size);
    toft_poison(p + new_size, (size_t)(r->end - p) - new_size);
    a->checks->plain_bytes -= TOFT_ROUND8(r->size) - TOFT_ROUND8(new_size);
    r->size = new_size;
    return p;
  }
  if (flags & TOFT_STAY) return NULL;
  size_t index = older ? 0 : (size_t)(r - a->checks->records);
  void *q = toft_alloc_slow(a, new_size, align);
  if (q == NULL) return NULL;
  if (!older) toft_unpoison(p, a->checks->records[index].header);
  memcpy(q, p, toft_min(old_size, new_size));
  if (!older) toft_free_record(a, &a->checks->records[index]);
  return q;
}
static int toft_free_checked(toft_state *a, unsigned char *p, size_t size) {
  if (size == 0 || toft_predates_checks(a, p)) return TOFT_OK;
  toft_record *r = toft_require_record(a, p, size);
  if (r == NULL) return TOFT_EARG;
  toft_free_record(a, r);
  return TOFT_OK;
}
static toft_checks *toft_checks_of(toft_live_entry *r) {
  return (toft_checks *)(void *)((unsigned char *)r - offsetof(toft_checks, registered));
}
static int toft_begin_call_at_exit(toft_live_entry *r) {
  toft_checks *c = toft_checks_of(r);
  size_t none = 0;
  return TOFT_CAS_ACQUIRE(&c->busy_thread, &none, toft_thread_id());
}
static void toft_verify_heap_blocks(toft_state *a) {
  toft_checks *c = a->checks;
  if (!(a->state & TOFT_CACHEABLE)) return;
  for (const toft_cleanup_node *n = a->cleanups; n != NULL; n = n->older)
    if (n->user.fn == toft_release_adopted) toft_verify_heap_blocks((toft_state *)n->user.arg);
  if (c == NULL) return;
  toft_failure_fn *failure = a->failure;
  a->failure = NULL;
  memset(&c->call, 0, sizeof c->call);
  c->call.op = "exit";
  c->call.thread = toft_thread_id();
  for (size_t i = 0; i < c->count; i++)
    if (c->records[i].block->source == &toft_heap_source) (void)toft_check_record(a, i);
  for (const toft_block_log *s = c->block_logs; s != NULL; s = s->next)
    if (s->block->source == &toft_heap_source) (void)toft_verify_block_log(a, s);
  a->failure = failure;
}
static void toft_verify_at_exit(toft_live_entry *r) {
  toft_checks *c = toft_checks_of(r);
  toft_verify_heap_blocks(c->arena);
  TOFT_CLEAR_RELEASE(&c->busy_thread);
}
static void toft_unregister_arena(toft_state *a) {
  if (a->checks != NULL) toft_registry_remove(&a->checks->registered);
}
static TOFT_RARE int toft_make_checks(toft_state *a) {
  toft_arm_fork();
  if (a->checks == NULL) a->checks = (toft_checks *)calloc(1, sizeof *a->checks);
  if (a->checks == NULL) return 0;
  a->checks->arena = a;
  a->checks->plain_limit = SIZE_MAX;
  toft_update_observed(a);
  return 1;
}
static int toft_begin_checks(toft_state *a) {
  int first = a->checks == NULL;
  if (first && !toft_make_checks(a)) return TOFT_ENOMEM;
  if (first) {
    if (a->state & TOFT_CACHEABLE)
      toft_registry_add(&a->checks->registered, toft_begin_call_at_exit, toft_verify_at_exit);
  }
  a->state |= TOFT_IS_CHECKED;
  toft_restart_checks(a);
  return TOFT_OK;
}
static void toft_limit_to_buffer(toft_state *a) {
  a->checks->plain_limit = (size_t)(a->initial_end - a->initial_start);
}
static void toft_report_not_released(toft_state *a) {
  if (a->state & TOFT_IS_CHECKED)
    toft_report_misuse(a, TOFT_FOUND_NOT_RELEASED, a, (a->state & TOFT_CLAIMED) != 0, NULL);
}
static void toft_block_log_release(toft_checks *c, const toft_block_header *b) {
  toft_block_log **at = toft_block_log_of(c, b), *s = *at;
  if (s == NULL) return;
  *at = s->next;
  c->last_block = NULL;
  free(s->live);
  free(s->freed);
  free(s);
}
static unsigned char *toft_first_byte(const toft_state *a, toft_block_header *b) {
  return b == &a->initial ? toft_block_start(a, b) : (unsigned char *)b + TOFT_HEADER;
}
static unsigned char *toft_last_byte(const toft_state *a, toft_block_header *b) {
  return b == &a->initial ? toft_block_end(a, b) : (unsigned char *)b + b->size;
}
static int toft_end_checks(toft_state *a) {
  int code = toft_verify_freed(a), own = !(a->state & TOFT_IS_SUBJECT);
  while (a->checks->block_logs != NULL) toft_block_log_release(a->checks, a->checks->block_logs->block);
  for (toft_block_header *b = own ? a->newest : NULL; b != NULL; b = b->next) {
    unsigned char *top =
        b == &a->initial && (a->state & TOFT_INITIAL_IDLE) ? a->initial_start : toft_block_used_end(a, b);
    toft_unpoison(top, (size_t)(toft_last_byte(a, b) - top));
    if (b != &a->initial)
      toft_unpoison(toft_first_byte(a, b), (size_t)(toft_block_start(a, b) - toft_first_byte(a, b)));
  }
  for (toft_block_header *b = a->spares; b != NULL; b = b->next)
    toft_unpoison(toft_first_byte(a, b), (size_t)(toft_last_byte(a, b) - toft_first_byte(a, b)));
  a->state &= ~(uint32_t)TOFT_IS_CHECKED;
  toft_restart_checks(a);
  return code;
}
static void toft_checks_shrink_initial(toft_state *a, unsigned char *end) {
  if (a->checks == NULL) return;
  (void)toft_verify_freed(a);
  toft_block_log_release(a->checks, &a->initial);
  toft_unpoison(end, (size_t)(a->initial_end - end));
}
static void toft_checks_release(toft_checks *c) {
  toft_registry_remove(&c->registered);
  while (c->block_logs != NULL) toft_block_log_release(c, c->block_logs->block);
  free(c->records);
  free(c->stale_marks);
  free(c->reports);
  free(c);
}
#define TOFT_QUARANTINE_MAX TOFT_MIB
typedef struct toft_quarantined {
  struct toft_quarantined *next;
  unsigned char *block;
  size_t size, readable;
  toft_record *freed;
  size_t count;
  toft_call_info released;
} toft_quarantined;
static toft_lock toft_quarantine_lock;
static toft_quarantined *toft_quarantine_oldest, **toft_quarantine_end = &toft_quarantine_oldest;
static size_t toft_quarantine_bytes;
static void toft_report_use_after_release(toft_arena *head, const char *op, uintptr_t site) {
  toft_report f;
  memset(&f, 0, sizeof f);
  f.kind = TOFT_FOUND_RELEASED;
  f.arena = head;
  f.p = (const unsigned char *)head;
  f.detected = toft_call_begun(op, site);
  toft_lock_take(&toft_quarantine_lock);
  for (const toft_quarantined *d = toft_quarantine_oldest; d != NULL; d = d->next)
    if (d->block == (const unsigned char *)head) f.freed = d->released;
  TOFT_UNLOCK(&toft_quarantine_lock);
  toft_publish_report(&f);
}
static void *toft_released_alloc(toft_arena *a, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  (void)size, (void)align, (void)flags;
  toft_report_use_after_release(a, "alloc", site != 0 ? site : TOFT_CALLER());
  return NULL;
}
static void *toft_released_resize(toft_arena *a, void *p, size_t old_size, size_t new_size, size_t align,
                                  uint32_t flags, uintptr_t site) {
  (void)p, (void)old_size, (void)new_size, (void)align, (void)flags;
  toft_report_use_after_release(a, "resize", site != 0 ? site : TOFT_CALLER());
  return NULL;
}
static void toft_released_free(toft_arena *a, void *p, size_t size) {
  (void)p, (void)size;
  toft_report_use_after_release(a, "free", TOFT_CALLER());
}
static int toft_released_rewind(toft_arena *a, unsigned char *cursor, uintptr_t epoch) {
  (void)cursor, (void)epoch;
  toft_report_use_after_release(a, "rewind", TOFT_CALLER());
  return TOFT_EMARK;
}
static int toft_released_reset(toft_arena *a, uint32_t policy, size_t keep) {
  (void)policy, (void)keep;
  toft_report_use_after_release(a, "reset", TOFT_CALLER());
  return TOFT_EBUSY;
}
static void toft_released_trim(toft_arena *a, size_t keep) {
  (void)keep;
  toft_report_use_after_release(a, "trim", TOFT_CALLER());
}
static toft_cleanup *toft_released_cleanup(toft_arena *a, void (*fn)(void *), void *arg) {
  (void)fn, (void)arg;
  toft_report_use_after_release(a, "cleanup", TOFT_CALLER());
  return NULL;
}
static void *toft_released_claim(toft_arena *a, toft_range *r, size_t size, size_t align) {
  (void)r, (void)size, (void)align;
  toft_report_use_after_release(a, "claim", TOFT_CALLER());
  return NULL;
}
static int toft_released_give(toft_arena *a, toft_range *r) {
  (void)r;
  toft_report_use_after_release(a, "give", TOFT_CALLER());
  return TOFT_EARG;
}
static int toft_released_contains(const toft_arena *a, const void *p) {
  (void)a, (void)p;
  return 0;
}
static size_t toft_released_stats(toft_arena *a, toft_stats *out, size_t out_size) {
  (void)out, (void)out_size;
  toft_report_use_after_release(a, "stats", TOFT_CALLER());
  return 0;
}
static int toft_released_set(toft_arena *a, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  (void)what, (void)value, (void)name, (void)name_len;
  toft_report_use_after_release(a, "set", TOFT_CALLER());
  return TOFT_EBUSY;
}
static void toft_released_release(toft_arena *a) { toft_report_use_after_release(a, "release", TOFT_CALLER()); }
static const toft_arena_ops toft_released_ops = {
    sizeof(toft_arena_ops), 1,
    toft_released_alloc,    toft_released_resize,
    toft_released_free,     toft_released_rewind,
    toft_released_reset,    toft_released_trim,
    toft_released_cleanup,  toft_released_claim,
    toft_released_give,     toft_released_contains,
    toft_released_stats,    toft_released_set,
    toft_released_release,
};
static void toft_head_set_released(toft_arena *head) {
  head->cursor = head->limit = (unsigned char *)head;
  head->ops = &toft_released_ops;
  head->epoch = 1;
  toft_mark_defined(head, sizeof *head);
}
static void toft_verify_quarantined(const toft_quarantined *d) {
  unsigned char *from = d->block + d->readable, *end = d->block + d->size;
  toft_unpoison(from, d->size - d->readable);
  const unsigned char *at = from, *to = end;
  if (!toft_written_part(&at, &to, TOFT_POISON_FREED)) return;
  toft_report f;
  memset(&f, 0, sizeof f);
  f.kind = TOFT_FOUND_LATE_WRITE;
  f.p = d->block;
  f.size = d->size;
  f.freed = d->released;
  for (size_t i = 0; i < d->count; i++) {
    const toft_record *r = &d->freed[i];
    if (at >= r->start && at < r->end) toft_report_set_allocation(&f, r);
  }
  toft_report_set_written(&f, f.p, at, to, to == end);
  f.detected.op = "a check of released memory";
  f.detected.thread = toft_thread_id();
  toft_publish_report(&f);
}
static void toft_quarantine_flush(size_t bytes) {
  for (;;) {
    toft_lock_take(&toft_quarantine_lock);
    toft_quarantined *d = toft_quarantine_bytes > bytes ? toft_quarantine_oldest : NULL;
    if (d != NULL) {
      toft_quarantine_oldest = d->next;
      if (toft_quarantine_oldest == NULL) toft_quarantine_end = &toft_quarantine_oldest;
      toft_quarantine_bytes -= d->size;
    }
    TOFT_UNLOCK(&toft_quarantine_lock);
    if (d == NULL) return;
    toft_verify_quarantined(d);
    toft_unpoison(d->block, d->size);
    toft_heap_put(NULL, d->block, d->size);
    free(d->freed);
    free(d);
  }
}
void toft_quarantine_trim(void) { toft_quarantine_flush(0); }
static int toft_quarantine_push(toft_checks *c, const toft_block_header *header, void *block, size_t size,
                                size_t readable) {
  if (size > TOFT_QUARANTINE_MAX / 2) return 0;
  toft_quarantined *d = (toft_quarantined *)calloc(1, sizeof *d);
  if (d == NULL) return 0;
  d->block = (unsigned char *)block;
  d->size = size;
  d->readable = readable;
  d->released = c->call;
  toft_block_log *s = *toft_block_log_of(c, header);
  if (s != NULL) {
    d->freed = s->freed;
    d->count = s->count;
    s->freed = NULL;
    s->count = s->capacity = 0;
  }
  toft_fill_freed(d->block + readable, d->block + size);
  toft_lock_take(&toft_quarantine_lock);
  *toft_quarantine_end = d;
  toft_quarantine_end = &d->next;
  toft_quarantine_bytes += size;
  TOFT_UNLOCK(&toft_quarantine_lock);
  toft_quarantine_flush(TOFT_QUARANTINE_MAX);
  return 1;
}
static int toft_quarantine_block(toft_state *a, toft_block_header *b) {
  toft_checks *c = a->checks;
  size_t size = b->size;
  (void)toft_verify_block_log(a, *toft_block_log_of(c, b));
  int kept = (a->state & TOFT_IS_CHECKED) && b->source == &toft_heap_source && toft_quarantine_push(c, b, b, size, 0);
  if (!kept) toft_unpoison(b, size);
  toft_block_log_release(c, b);
  return kept;
}
static int toft_quarantine_initial(toft_state *a, size_t size) {
  int kept = (a->state & TOFT_IS_CHECKED) && (a->state & TOFT_CACHEABLE);
  toft_checks *c = a->checks;
  toft_unpoison(a, size);
  toft_head_set_released(&a->head);
  kept = kept && toft_quarantine_push(c, &a->initial, a, size, sizeof a->head);
  toft_checks_release(c);
  return kept;
}
static int toft_uses_site_hint(const toft_arena *head) {
  const toft_state *a = toft_observed_state(head);
  if (a == NULL) return head->ops == &toft_released_ops;
  if (a->state & TOFT_PRISTINE) return 0;
  return a->checks != NULL || toft_is_profiled(a);
}
void toft_at_place(toft_arena *a, const char *place) {
  if (toft_uses_site_hint(a)) toft_call_site_hint = toft_site(place);
}
static void toft_attribute_call(const toft_arena *a, uintptr_t site) {
  if ((a->epoch & 1) && toft_call_site_hint == 0 && toft_uses_site_hint(a)) toft_call_site_hint = site;
}
int toft_pin(toft_arena *head, int on) {
  toft_state *a = toft_observed_state(head);
  if (a == NULL) return TOFT_ENOSYS;
  (void)toft_pin_to(a, on ? toft_thread_id() : 0);
  return TOFT_OK;
}
int toft_findings(toft_arena *head, toft_finding_fn *fn, void *arg) {
  toft_state *a = toft_observed_state(head);
  if (a == NULL) return TOFT_ENOSYS;
  if ((a->state & TOFT_PRISTINE) || a->checks == NULL) return 0;
  toft_checks *c = a->checks;
  if (a->state & TOFT_BUSY) return TOFT_EBUSY;
  if (!toft_debug_begin_call(a, "findings", TOFT_CALLER())) return TOFT_EBUSY;
  for (size_t i = 0; i < c->count; i++) (void)toft_check_record(a, i);
  (void)toft_verify_freed(a);
  toft_debug_end_call(a);
  toft_lock_take(&toft_findings_lock);
  toft_report *reports = c->reports;
  size_t count = c->reports_count, all = count + c->reports_dropped;
  c->reports = NULL;
  c->reports_count = c->reports_dropped = 0;
  TOFT_UNLOCK(&toft_findings_lock);
  for (size_t i = 0; i < count; i++) toft_deliver_report(&reports[i], fn, arg);
  free(reports);
  return (int)toft_min(all, INT_MAX);
}
static toft_checks *toft_hook_checks(const toft_arena *arena) {
  if (TOFT_LIKELY(!(arena->epoch & 1))) return NULL;
  const toft_state *a = toft_observed_state(arena);
  return a != NULL && (a->state & TOFT_IS_CHECKED) ? a->checks : NULL;
}
static void *toft_hook_store_size(toft_arena *arena, unsigned char *base, size_t size) {
  toft_record *r = toft_hook_checks(arena) != NULL ? toft_find_record(toft_observed_state(arena), base) : NULL;
  if (TOFT_UNLIKELY(r != NULL)) {
    r->header = TOFT_HOOK_HEADER;
    toft_unpoison(base, TOFT_HOOK_HEADER);
    toft_fill_header(base, size);
    toft_poison(base, TOFT_HOOK_HEADER);
  } else {
    memcpy(base, &size, sizeof size);
  }
  return base + TOFT_HOOK_HEADER;
}
static TOFT_COLD void toft_hook_report_foreign(toft_state *a, const void *p, const char *op) {
  int closed = 1;
  if (!toft_debug_begin_call(a, op, 0)) return;
  toft_sync_in(a);
  closed = (a->state & TOFT_REFUSING) != 0;
  if (!closed) toft_report_misuse(a, TOFT_FOUND_FOREIGN, p, 0, NULL);
  toft_set_limit(a);
  toft_debug_end_call(a);
  toft_report_failure(a, 0, 0, closed ? TOFT_EBUSY : TOFT_EARG);
}
static size_t toft_hook_load_size(toft_arena *arena, void *p, const char *op) {
  unsigned char *base = (unsigned char *)p - TOFT_HOOK_HEADER;
  toft_state *a = toft_observed_state(arena);
  size_t size;
  if (TOFT_UNLIKELY(toft_hook_checks(arena) != NULL) && !toft_predates_checks(a, base)) {
    const toft_record *r = toft_find_record(a, base);
    if (r != NULL) return r->size;
    toft_hook_report_foreign(a, p, op);
    return 0;
  }
  if (a != NULL && (a->state & TOFT_OBSERVED)) toft_unpoison(base, TOFT_HOOK_HEADER);
  memcpy(&size, base, sizeof size);
  return size + TOFT_HOOK_HEADER;
}
typedef struct toft_snapshot_writer {
  toft_json json;
  toft_symbolize_fn *symbolizer;
  void *symbolizer_arg;
  int (*place)(uintptr_t site, char *file, size_t size, unsigned *line);
} toft_snapshot_writer;
static TOFT_RARE void toft_json_optional(toft_json *j, const char *key, uint64_t n, uint64_t none) {
  toft_json_key(j, key);
  if (n == none)
    toft_json_raw(j, "null");
  else
    toft_json_digits(j, n, 10);
}
static TOFT_RARE void toft_json_stats(toft_json *j, const toft_stats *s) {
  toft_json_key(j, "stats");
  toft_json_open(j, "{");
  toft_json_number(j, "live", s->live);
  toft_json_number(j, "allocated", s->allocated);
  toft_json_number(j, "peak", s->peak);
  toft_json_optional(j, "budget", s->budget, UINT64_MAX);
  toft_json_number(j, "reserved", s->reserved);
  toft_json_number(j, "wasted", s->wasted);
  toft_json_number(j, "blocks", s->blocks);
  toft_json_number(j, "source_calls", s->source_calls);
  toft_json_close(j, "}");
}
static TOFT_RARE int toft_json_tag(void *arg, const toft_tag_report *t) {
  toft_json *j = (toft_json *)arg;
  toft_json_next(j);
  toft_json_open(j, "{");
  toft_json_text(j, "name", t->name);
  if (t->number != NULL) {
    toft_json_number(j, "number", *t->number);
  } else {
    toft_json_key(j, "number");
    toft_json_raw(j, "null");
  }
  toft_json_number(j, "live", t->live);
  toft_json_number(j, "allocated", t->allocated);
  toft_json_optional(j, "budget", t->budget, UINT64_MAX);
  toft_json_close(j, "}");
  return j->code;
}
static TOFT_RARE int toft_json_phase(void *arg, const toft_phase_report *p) {
  toft_json *j = (toft_json *)arg;
  toft_json_next(j);
  toft_json_open(j, "{");
  toft_json_text(j, "name", p->name);
  toft_json_number(j, "entries", p->entries);
  toft_json_number(j, "allocated", p->allocated);
  toft_json_signed(j, "kept", p->kept);
  toft_json_close(j, "}");
  return j->code;
}
static int toft_snapshot_symbol(const toft_snapshot_writer *w, const void *address, toft_symbol *s) {
  memset(s, 0, sizeof *s);
  if (w->symbolizer != NULL && w->symbolizer(w->symbolizer_arg, address, s)) return 1;
  memset(s, 0, sizeof *s);
  return 0;
}
static TOFT_RARE void toft_json_call(toft_snapshot_writer *w, const void *address) {
  toft_symbol s;
  (void)toft_snapshot_symbol(w, address, &s);
  toft_json_frame(&w->json, address, &s);
}
static TOFT_RARE int toft_json_site(void *arg, const toft_site_report *r) {
  toft_snapshot_writer *writer = (toft_snapshot_writer *)arg;
  toft_json *j = &writer->json;
  toft_symbol s;
  char file[512];
  if (r->depth == 0 || !toft_snapshot_symbol(writer, r->stack[0], &s)) s.file = NULL;
  if (writer->place != NULL && writer->place(r->site, file, sizeof file, &s.line)) s.file = file;
  toft_json_next(j);
  toft_json_open(j, "{");
  toft_json_key(j, "site");
  toft_json_open(j, "{");
  toft_json_text(j, "file", s.file != NULL ? s.file : "");
  toft_json_number(j, "line", s.file != NULL ? s.line : 0);
  toft_json_number(j, "column", 0);
  toft_json_number(j, "number", r->site);
  toft_json_close(j, "}");
  toft_json_text(j, "tag", r->tag);
  toft_json_number(j, "count", r->count);
  toft_json_number(j, "bytes", r->bytes);
  toft_json_key(j, "stack");
  toft_json_open(j, "[");
  for (size_t i = 0; i < r->depth; i++) toft_json_call(writer, r->stack[i]);
  toft_json_close(j, "]");
  toft_json_close(j, "}");
  return j->code;
}
static TOFT_RARE void toft_json_budget(toft_json *j, const toft_budget_entry *e) {
  toft_json_next(j);
  toft_json_open(j, "{");
  toft_json_number(j, "id", e->id);
  toft_json_optional(j, "parent", e->parent, 0);
  toft_json_text(j, "name", e->name);
  toft_json_optional(j, "limit", e->stats.limit, SIZE_MAX);
  toft_json_number(j, "reserved", e->stats.reserved);
  toft_json_number(j, "peak", e->stats.peak);
  toft_json_number(j, "refusals", e->stats.refusals);
  if (e->counts_live) {
    toft_json_key(j, "live");
    toft_json_open(j, "{");
    toft_json_optional(j, "limit", e->live.limit, SIZE_MAX);
    toft_json_number(j, "live", e->live.live);
    toft_json_number(j, "peak", e->live.peak);
    toft_json_number(j, "parked", e->live.parked);
    toft_json_number(j, "refusals", e->live.refusals);
    toft_json_close(j, "}");
  }
  toft_json_close(j, "}");
}
static TOFT_RARE void toft_json_budgets(toft_json *j, const toft_source *source) {
  const toft_budget_calls *calls = TOFT_LOAD_POINTER(const toft_budget_calls, &toft_budgets);
  if (source != NULL) calls = toft_calls_of(&toft_budgets, source);
  if (calls == NULL) return;
  toft_budget_entry some[16];
  size_t most = sizeof some / sizeof *some, count = most;
  toft_json_key(j, "budgets");
  toft_json_open(j, "[");
  for (uint64_t id = 0; count == most; id = some[most - 1].id) {
    count = calls->list(source, id, some, most);
    for (size_t i = 0; i < count; i++) toft_json_budget(j, &some[i]);
  }
  toft_json_close(j, "]");
}
static void toft_json_begin(toft_json *j) {
  toft_json_open(j, "{");
  toft_json_number(j, "version", 1);
}
static TOFT_RARE void toft_json_report(toft_snapshot_writer *writer, const toft_stats *s, const toft_instruments *w) {
  toft_json *j = &writer->json;
  toft_json_stats(j, s);
  toft_json_key(j, "tags");
  toft_json_open(j, "[");
  if (w != NULL) (void)toft_each_tag(w, toft_json_tag, j);
  toft_json_close(j, "]");
  toft_json_key(j, "phases");
  toft_json_open(j, "[");
  if (w != NULL) (void)toft_each_phase(w, toft_json_phase, j);
  toft_json_close(j, "]");
  toft_json_key(j, "sites");
  toft_json_open(j, "[");
  if (w != NULL) (void)toft_each_site(w, toft_json_site, writer);
  toft_json_close(j, "]");
  if (w != NULL && w->site_count != 0) toft_json_modules(j);
  toft_json_close(j, "}");
}
#define TOFT_SNAPSHOT_KNOWN (uint32_t)(TOFT_SNAPSHOT_CLEAR | TOFT_SNAPSHOT_DWARF | TOFT_SNAPSHOT_ADDRESSES)
static int toft_snapshot_read(toft_snapshot_options *o, const toft_snapshot_options *given) {
  if (given == NULL) return 1;
  if (given->size < 2 * sizeof(void *)) return 0;
  memcpy(o, given, toft_min(given->size, sizeof *o));
  o->size = sizeof *o;
  return (o->flags & ~TOFT_SNAPSHOT_KNOWN) == 0;
}
int toft_snapshot(toft_arena *head, const toft_snapshot_options *given, toft_write_fn *write, void *arg) {
  toft_snapshot_options o = TOFT_SNAPSHOT_OPTIONS;
  if (!toft_snapshot_read(&o, given)) return TOFT_EARG;
  toft_snapshot_writer w;
  toft_dwarf dwarf;
  int named = (o.flags & TOFT_SNAPSHOT_DWARF) && o.symbolizer == NULL && toft_dwarf_open(&dwarf);
  memset(&w, 0, sizeof w);
  w.json = toft_json_to(write, arg);
  w.symbolizer = o.symbolizer != NULL ? o.symbolizer : named ? toft_dwarf_symbolize : toft_symbolize;
  w.symbolizer_arg = named ? &dwarf : o.symbolizer_arg;
  if (o.flags & TOFT_SNAPSHOT_ADDRESSES) w.symbolizer = NULL;
  toft_state *a = toft_observed_state(head);
  uint32_t was_busy = 0;
  if (a != NULL) {
    toft_sync_in(a);
    toft_sync_tags(a);
    was_busy = toft_begin_callback(a);
  }
  toft_stats stats = toft_get_stats(head);
  toft_json_begin(&w.json);
  if (a != NULL && a->source != NULL) toft_json_budgets(&w.json, a->source);
  toft_json_report(&w, &stats, a != NULL ? a->instruments : NULL);
  toft_json_flush(&w.json);
  if (a != NULL) {
    toft_end_callback(a, was_busy);
    toft_set_limit(a);
  }
  if (named) toft_dwarf_close(&dwarf);
  if (w.json.code == 0 && (o.flags & TOFT_SNAPSHOT_CLEAR) && a != NULL) w.json.code = toft_clear_report(head);
  return w.json.code;
}
typedef struct toft_text_sink {
  char *text;
  size_t size, length;
} toft_text_sink;
static int toft_text_write(void *arg, const char *bytes, size_t size) {
  toft_text_sink *t = (toft_text_sink *)arg;
  if (t->length < t->size) memcpy(t->text + t->length, bytes, toft_min(size, t->size - t->length));
  t->length += size;
  return 0;
}
TOFT_RARE size_t toft_snapshot_text(toft_arena *a, const toft_snapshot_options *given, char *text, size_t size) {
  toft_text_sink t = {text, size, 0};
  toft_snapshot_options o = TOFT_SNAPSHOT_OPTIONS;
  if (!toft_snapshot_read(&o, given)) return 0;
  uint32_t clear = o.flags & TOFT_SNAPSHOT_CLEAR;
  o.flags &= ~clear;
  (void)toft_snapshot(a, &o, toft_text_write, &t);
  if (size != 0) text[toft_min(t.length, size - 1)] = 0;
  if (clear && t.length < size) (void)toft_clear_report(a);
  return t.length;
}
static struct {
  int metered;
  uint64_t period, budget;
  char *path;
  size_t signal;
} toft_process_meters;
struct toft_profiled {
  toft_profiled *next, **link;
  toft_state *arena;
  int on_heap;
  uint64_t allocated, source_calls;
  toft_lock lock;
  toft_stats stats;
  toft_tag_entry *tags;
  size_t tag_count, tag_capacity;
  size_t counted;
  uint64_t walk_in;
};
static toft_lock toft_profile_file_lock;
static toft_lock toft_profile_lock;
static toft_profiled *toft_profiled_arenas;
static toft_instruments toft_totals;
static toft_stats toft_totals_stats;
static uint64_t toft_released_count;
#define TOFT_PROFILE_DRIFT 4096
static size_t toft_profile_live, toft_profile_peak;
static void toft_count_live(toft_profiled *p, size_t live, size_t drift) {
  size_t change = live - p->counted;
  if (change + drift <= 2 * drift) return;
  p->counted = live;
  size_t now = TOFT_ADD(&toft_profile_live, change), peak = TOFT_LOAD(&toft_profile_peak);
  while (now > peak && !TOFT_CAS_RELAXED(&toft_profile_peak, &peak, now)) continue;
}
static void toft_sum_tags(toft_instruments *to, const toft_tag_entry *tags, size_t count, int live) {
  for (size_t i = 0; i < count; i++) {
    const toft_tag_entry *from = &tags[i];
    size_t tag = toft_tag_of(to, NULL, from->name, from->length, from->numbered ? &from->number : NULL);
    if (tag == SIZE_MAX) continue;
    to->tags[tag].allocated += from->allocated;
    if (live) to->tags[tag].detached += from->detached;
  }
}
static void toft_sum_phase(toft_instruments *to, const char *name, uint64_t entries, uint64_t allocated, int64_t kept) {
  toft_phase_entry *e = toft_phase_named(to, name);
  if (e == NULL) return;
  e->entries += entries;
  e->allocated += allocated;
  e->kept += kept;
}
static void toft_sum_site(toft_instruments *to, const toft_tag_entry *tag, void *const *stack, size_t depth,
                          uintptr_t site, double count, double bytes) {
  size_t found = toft_tag_of(to, NULL, tag->name, tag->length, tag->numbered ? &tag->number : NULL);
  to->tag = found != SIZE_MAX ? found : 0;
  toft_sampled_site *s = found != SIZE_MAX ? toft_site_of(to, stack, depth, site) : NULL;
  *(s != NULL ? &s->count : &to->unattributed_count) += count;
  *(s != NULL ? &s->bytes : &to->unattributed_bytes) += bytes;
}
static void toft_profile_update(toft_state *a) {
  const toft_instruments *w = a->instruments;
  toft_profiled *p = w->profiled;
  size_t count = w->metered ? w->tag_count : 0;
  toft_lock_take(&p->lock);
  if (p->walk_in-- == 0) {
    memset(&p->stats, 0, sizeof p->stats);
    toft_add_observed_stats(a, &p->stats);
    p->stats.source_calls -= p->source_calls;
    p->walk_in = p->stats.blocks / 8;
  }
  p->stats.live = a->live;
  p->stats.allocated = a->allocated - p->allocated;
  p->stats.peak = a->peak;
  toft_tag_entry *tags = (toft_tag_entry *)toft_grow_list(p->tags, &p->tag_capacity, count, sizeof *tags);
  if (tags != NULL) p->tags = tags;
  for (p->tag_count = 0; p->tag_count < count && tags != NULL; p->tag_count++) {
    tags[p->tag_count] = w->tags[p->tag_count];
    tags[p->tag_count].detached = toft_live_of_tag(w, p->tag_count);
  }
  TOFT_UNLOCK(&p->lock);
  toft_count_live(p, (size_t)a->live, TOFT_PROFILE_DRIFT);
  toft_call_site_hint = 0;
  toft_serve_request();
}
static void toft_profile_sample(const toft_instruments *w, void *const *stack, size_t depth, uintptr_t site,
                                double count, double bytes) {
  if (site == 0) site = toft_call_site_hint;
  toft_lock_take(&toft_profile_lock);
  toft_sum_site(&toft_totals, &w->tags[w->tag], stack, depth, site, count, bytes);
  TOFT_UNLOCK(&toft_profile_lock);
}
static void toft_profile_phase(const char *name, uint64_t allocated, int64_t kept) {
  toft_lock_take(&toft_profile_lock);
  toft_sum_phase(&toft_totals, name, 1, allocated, kept);
  TOFT_UNLOCK(&toft_profile_lock);
}
static TOFT_RARE void toft_profile_add(toft_state *a) {
  toft_profiled *p = (toft_profiled *)calloc(1, sizeof *p);
  if (p == NULL) return;
  p->arena = a;
  p->on_heap = (a->state & TOFT_CACHEABLE) != 0;
  p->allocated = a->allocated;
  p->source_calls = a->allocated != 0 ? a->source_calls : 0;
  a->instruments->profiled = p;
  toft_lock_take(&toft_profile_lock);
  p->next = toft_profiled_arenas;
  p->link = &toft_profiled_arenas;
  if (p->next != NULL) p->next->link = &p->next;
  toft_profiled_arenas = p;
  TOFT_UNLOCK(&toft_profile_lock);
}
static void toft_profile_remove(toft_state *a) {
  toft_instruments *w = a->instruments;
  toft_profiled *p = w != NULL ? w->profiled : NULL;
  if (p == NULL) return;
  toft_sync_tags(a);
  toft_lock_take(&toft_profile_lock);
  *p->link = p->next;
  if (p->next != NULL) p->next->link = p->link;
  toft_released_count += a->allocated != p->allocated;
  toft_totals_stats.allocated += a->allocated - p->allocated;
  toft_totals_stats.source_calls += a->source_calls - p->source_calls;
  if (w->metered) toft_sum_tags(&toft_totals, w->tags, w->tag_count, 0);
  TOFT_UNLOCK(&toft_profile_lock);
  toft_count_live(p, 0, 0);
  free(p->tags);
  free(p);
  w->profiled = NULL;
}
static int toft_read_process_meters(int *reports) {
  const char *path = toft_os_env("TOFT_PROFILE"), *on = toft_os_env("TOFT_PROFILE_SIGNAL");
  size_t budget = toft_os_env_number("TOFT_BUDGET", 0), number = toft_os_env_number("TOFT_PROFILE_SIGNAL", 0);
  *reports = budget != 0;
  toft_process_meters.metered = toft_is_on(toft_os_env("TOFT_METERED"));
  toft_process_meters.period = toft_os_env_number("TOFT_SAMPLING", 0);
  toft_process_meters.budget = budget != 0 ? budget : UINT64_MAX;
  if (path != NULL && *path != 0) toft_process_meters.path = toft_copy_name(path, strlen(path), NULL, 0);
  if (toft_process_meters.path != NULL && on != NULL)
    toft_process_meters.signal = number == 0 ? (size_t)toft_signal_named(on) : number < 1024 ? number : 0;
  return toft_process_meters.metered || toft_process_meters.period != 0 || budget != 0 ||
         toft_process_meters.path != NULL;
}
static void toft_report_over_budget(void *arg, toft_arena *head, uint64_t live, uint64_t budget) {
  toft_state *a = toft_observed_state(head);
  toft_report f;
  (void)arg;
  memset(&f, 0, sizeof f);
  f.kind = TOFT_FOUND_OVER_BUDGET;
  f.size = (size_t)live;
  f.claimed_size = (size_t)budget;
  f.detected = toft_call_begun("alloc", a->instruments->caller);
  if (a->checks != NULL) {
    f.detected = a->checks->call;
    toft_keep_report(a->checks, &f);
  }
  f.arena = head;
  toft_publish_report(&f);
}
static TOFT_RARE void toft_begin_process_meters(toft_state *a) {
  toft_instruments *w = toft_instruments_get(a);
  if (w == NULL) return;
  (void)TOFT_LOAD_ACQUIRE(&toft_process_switch);
  if (toft_process_meters.metered) (void)toft_set_metering(a, 1);
  if (toft_process_meters.period != 0) (void)toft_apply_sampling(a, toft_process_meters.period);
  w->soft_budget = toft_process_meters.budget;
  w->on_soft_budget = toft_report_over_budget;
  if (toft_process_meters.path != NULL) toft_profile_add(a);
  toft_update_instrumented(a);
}
static const char toft_profile_copy_id = 0;
static TOFT_RARE void toft_put_profile_path(toft_text_writer *t, const char *s) {
  for (; *s != 0; s++) {
    char one[2] = {*s, 0};
    if (s[0] == '%' && s[1] == 'p') {
      toft_put_number(t, toft_os_process_id(), 10);
      s++;
    } else if (s[0] == '%' && s[1] == 'l') {
      toft_put_text(t, "c-");
      toft_put_number(t, (uintptr_t)&toft_profile_copy_id & 0xffffff, 10);
      s++;
    } else {
      toft_put_text(t, one);
    }
  }
}
static void toft_profile_collect(toft_instruments *sum, toft_stats *stats, uint64_t *arenas, uint64_t *released) {
  memset(sum, 0, sizeof *sum);
  memset(stats, 0, sizeof *stats);
  if (!toft_lock_take_at_unload(&toft_profile_lock)) return;
  *stats = toft_totals_stats;
  *released = toft_released_count;
  sum->metered = toft_process_meters.metered;
  (void)toft_tag_of(sum, NULL, "", 0, NULL);
  toft_sum_tags(sum, toft_totals.tags, toft_totals.tag_count, 0);
  for (toft_profiled *p = toft_profiled_arenas; p != NULL; p = p->next) {
    if (!toft_lock_take_at_unload(&p->lock)) continue;
    ++*arenas;
    stats->live += p->stats.live;
    stats->allocated += p->stats.allocated;
    stats->reserved += p->stats.reserved;
    stats->wasted += p->stats.wasted;
    stats->blocks += p->stats.blocks;
    stats->source_calls += p->stats.source_calls;
    sum->metered |= p->tag_count != 0;
    toft_sum_tags(sum, p->tags, p->tag_count, 1);
    TOFT_UNLOCK(&p->lock);
  }
  for (size_t i = 0; i < toft_totals.phase_count; i++) {
    const toft_phase_entry *e = &toft_totals.phases[i];
    toft_sum_phase(sum, e->name, e->entries, e->allocated, e->kept);
  }
  for (size_t i = 0; i < TOFT_SITE_LISTS && toft_totals.sites != NULL; i++)
    for (toft_sampled_site *s = toft_totals.sites[i]; s != NULL; s = s->next)
      toft_sum_site(sum, &toft_totals.tags[s->tag], toft_site_stack(s), s->depth, s->site, s->count, s->bytes);
  sum->unattributed_count += toft_totals.unattributed_count;
  sum->unattributed_bytes += toft_totals.unattributed_bytes;
  TOFT_UNLOCK(&toft_profile_lock);
  stats->peak = TOFT_LOAD(&toft_profile_peak);
  if (stats->peak < stats->live) stats->peak = stats->live;
  stats->budget = UINT64_MAX;
}
static int toft_file_write(void *file, const char *bytes, size_t size) {
  return fwrite(bytes, 1, size, (FILE *)file) == size ? TOFT_OK : TOFT_EARG;
}
static TOFT_RARE void toft_json_process(toft_json *j, uint64_t arenas, uint64_t released) {
  char executable[1024];
  toft_json_key(j, "process");
  toft_json_open(j, "{");
  toft_json_number(j, "id", toft_os_process_id());
  toft_json_text(j, "library", toft_info.name);
  if (toft_os_executable(executable, sizeof executable)) toft_json_text(j, "executable", executable);
  toft_json_number(j, "arenas", arenas);
  toft_json_number(j, "released", released);
  toft_json_optional(j, "sampling", toft_process_meters.period, 0);
  toft_json_optional(j, "budget", toft_process_meters.budget, UINT64_MAX);
  toft_json_optional(j, "signal", TOFT_LOAD(&toft_process_meters.signal), 0);
  toft_json_close(j, "}");
}
static int toft_write_profile_alone(void) {
  char path[4096], temporary[4096 + 32];
  toft_text_writer p = {path, path + sizeof path - 1}, t = {temporary, temporary + sizeof temporary - 1};
  toft_instruments sum;
  toft_stats stats;
  uint64_t arenas = 0, released = 0;
  toft_snapshot_writer w;
  toft_dwarf dwarf;
  toft_put_profile_path(&p, toft_process_meters.path);
  toft_put_text(&t, path);
  toft_put_text(&t, ".");
  toft_put_number(&t, toft_os_process_id(), 10);
  FILE *out = toft_os_create(temporary);
  if (out == NULL) return TOFT_EARG;
  toft_profile_collect(&sum, &stats, &arenas, &released);
  int named = sum.site_count != 0 && toft_dwarf_open(&dwarf);
  memset(&w, 0, sizeof w);
  w.json = toft_json_to(toft_file_write, out);
  w.symbolizer = named ? toft_dwarf_symbolize : toft_symbolize;
  w.symbolizer_arg = &dwarf;
  w.place = toft_place_of_site;
  toft_json_begin(&w.json);
  toft_json_process(&w.json, arenas, released);
  toft_json_budgets(&w.json, NULL);
  toft_json_report(&w, &stats, &sum);
  toft_json_raw(&w.json, "\n");
  toft_json_flush(&w.json);
  if (named) toft_dwarf_close(&dwarf);
  toft_instruments_clear(&sum);
  if (fclose(out) != 0) w.json.code = TOFT_EARG;
  if (w.json.code == TOFT_OK && toft_os_rename(temporary, path)) return TOFT_OK;
  (void)remove(temporary);
  return TOFT_EARG;
}
int toft_write_profile(void) {
  if (!(toft_process_switches() & TOFT_PROCESS_METERS)) return TOFT_ENOSYS;
  (void)TOFT_LOAD_ACQUIRE(&toft_process_switch);
  if (toft_process_meters.path == NULL) return TOFT_ENOSYS;
  if (!toft_lock_take_at_unload(&toft_profile_file_lock)) return TOFT_EBUSY;
  toft_size_signal held;
  toft_hold_size_signal(&held);
  int code = toft_write_profile_alone();
  toft_drop_size_signal(&held);
  TOFT_UNLOCK(&toft_profile_file_lock);
  return code;
}
static void toft_profile_on_request(void) { (void)toft_write_profile(); }
static void toft_start_process_meters(void) {
  if (toft_process_meters.path == NULL) return;
  toft_arm_fork();
  if (!toft_request_begin((int)toft_process_meters.signal, toft_profile_on_request))
    TOFT_STORE(&toft_process_meters.signal, 0);
}
static void toft_profile_at_fork(int phase) {
  if (phase == 0) toft_lock_take(&toft_profile_file_lock);
  if (phase == 0) toft_lock_take(&toft_profile_lock);
  for (toft_profiled *p = toft_profiled_arenas; p != NULL; p = p->next) {
    if (phase == 0)
      toft_lock_take(&p->lock);
    else
      TOFT_UNLOCK(&p->lock);
  }
  if (phase == 2) toft_request_after_fork();
  if (phase != 0) TOFT_UNLOCK(&toft_profile_lock);
  if (phase != 0) TOFT_UNLOCK(&toft_profile_file_lock);
}
static void toft_profile_sync(void) {
  for (toft_profiled *p = toft_profiled_arenas; p != NULL; p = p->next) {
    toft_state *a = p->arena;
    if (!p->on_heap || (a->state & TOFT_BUSY)) continue;
    int sealed = a->head.limit == a->head.cursor;
    toft_sync_in(a);
    p->walk_in = 0;
    toft_set_limit(a);
    if (sealed) toft_seal(a);
  }
}
static void toft_profile_end(void) {
  if (toft_process_meters.path == NULL) return;
  toft_request_end();
  if (toft_os_has_one_thread()) toft_profile_sync();
  (void)toft_write_profile();
  free(toft_process_meters.path);
  toft_process_meters.path = NULL;
  toft_instruments_clear(&toft_totals);
}
static void toft_observe_sync(toft_state *a) { toft_subject_read(a); }
static TOFT_NOINLINE size_t toft_observe_limit(toft_state *a, size_t remaining, uintptr_t *slow_rewinds) {
  if (a->state & TOFT_INSTRUMENTED) remaining = toft_instrumented_limit(a, remaining, slow_rewinds);
  if (a->state & TOFT_IS_SUBJECT) toft_subject_write(a, a->state & TOFT_SEALED ? 0 : remaining);
  if (a->state & TOFT_IS_SUBJECT) *slow_rewinds = 1;
  return remaining;
}
static void *toft_observe_alloc(toft_state *a, size_t size, size_t align) {
  toft_block_header *block;
  if (a->state & TOFT_IS_CHECKED) return toft_alloc_checked(a, size, align);
  return toft_subjects->place(a, size, align, &block);
}
static TOFT_NOINLINE int toft_observe_charge(toft_state *a, size_t charge) {
  if (charge != 0) return toft_fits_tag_budget(a, charge);
  toft_sync_tags(a);
  return 1;
}
static TOFT_NOINLINE int toft_observe_detached(toft_state *a, const void *what, size_t bytes, int change) {
  if (change == TOFT_DETACHED_RESERVED) return toft_reserve_detached(a);
  if (change == TOFT_DETACHED_MORE)
    toft_detached_add(a, what, bytes);
  else if (what != NULL)
    toft_detached_remove(a, what);
  else
    toft_accounting_reset(a);
  return 1;
}
static TOFT_NOINLINE int toft_observe_free(toft_state *a, uintptr_t epoch, int by) {
  int code = by != TOFT_BY_REWIND ? toft_verify_freed(a) : TOFT_OK;
  if (by == TOFT_BY_RELEASE) toft_unregister_arena(a);
  if ((by == TOFT_BY_REWIND ? toft_rewind_records(a, epoch) : toft_check_records(a, epoch)) != TOFT_OK)
    code = TOFT_ECORRUPT;
  return code;
}
static TOFT_NOINLINE int toft_observe_put(toft_state *a, toft_block_header *b, size_t kept) {
  if (kept == 0 && b == &a->initial) toft_instruments_release(a);
  if (a->checks == NULL) return 0;
  if (kept != 0) {
    toft_checks_shrink_initial(a, (unsigned char *)a + kept);
    return 0;
  }
  return b != &a->initial ? toft_quarantine_block(a, b) : toft_quarantine_initial(a, a->initial_size);
}
static TOFT_COLD toft_state *toft_observe_created(toft_state *a, size_t switches) {
  int by_option = (switches & TOFT_SWITCHED_BY_OPTION) != 0;
  toft_sync_in(a);
  if ((switches & TOFT_PROCESS_HAS_TOOL) && (a->state & TOFT_IN_BUFFER)) switches &= ~(size_t)TOFT_PROCESS_CHECKS;
  if (switches & TOFT_PROCESS_METERS) toft_begin_process_meters(a);
  if ((switches & TOFT_PROCESS_CHECKS) && toft_begin_checks(a) != TOFT_OK) {
    toft_portion_end(a);
    toft_put_initial(a);
    return NULL;
  }
  if ((switches & TOFT_PROCESS_CHECKS) && !by_option && a->source == NULL) {
    a->source = &toft_heap_source;
    toft_limit_to_buffer(a);
  }
  toft_set_limit(a);
  return a;
}
static int toft_check_setting(const toft_state *a, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  if (what < TOFT_SET_BUDGET || what > TOFT_SET_CHECKED) return TOFT_ENOSYS;
  if (what != TOFT_SET_BUDGET && (a->state & TOFT_IN_REGION)) return TOFT_ENOSYS;
  if (what == TOFT_SET_CHECKED && value > 1) return TOFT_EARG;
  return what != TOFT_SET_TAG || toft_is_name(name, name_len) ? TOFT_OK : TOFT_EARG;
}
static TOFT_COLD int toft_observe_set(toft_state *a, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  int code = toft_check_setting(a, what, value, name, name_len);
  if (code != TOFT_OK) return code;
  if (a->state & (what == TOFT_SET_TAG ? (uint32_t)TOFT_BUSY : (uint32_t)TOFT_REFUSING)) return TOFT_EBUSY;
  if (what == TOFT_SET_TAG)
    code = toft_apply_tag(a, value, name, name_len);
  else if (what == TOFT_SET_SAMPLE)
    code = toft_apply_sampling(a, value);
  if (code != TOFT_OK) return code;
  toft_next_epoch(a);
  if (what == TOFT_SET_CHECKED && value != (uint64_t)((a->state & TOFT_IS_CHECKED) != 0))
    code = value != 0 ? toft_begin_checks(a) : toft_end_checks(a);
  if (code == TOFT_ENOMEM) a->head.epoch -= 2;
  return code;
}
static void toft_end_observed(toft_state *a) {
  if (a->state & TOFT_IS_SUBJECT) toft_subjects->end(a);
  toft_set_limit(a);
  toft_debug_end_call(a);
}
static void *toft_alloc_observed(toft_state *a, size_t size, size_t align, uint32_t flags, uintptr_t site,
                                 uintptr_t caller) {
  int code;
  if (!toft_debug_begin_call(a, "alloc", site != 0 ? site : caller)) return NULL;
  toft_sync_in(a);
  uint64_t before = a->allocated;
  void *p = toft_alloc_any(a, size, align, &code);
  if (p != NULL) toft_instrument_alloc(a, size, before, site, caller);
  toft_end_observed(a);
  return toft_end_alloc(a, p, 0, size, align, flags, code);
}
static void *toft_observed_alloc(toft_arena *head, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  return toft_alloc_observed(toft_state_of(head), size, align, flags, site, TOFT_CALLER());
}
static void *toft_resize_observed(toft_state *a, toft_resize_fn *unchecked, void *p, size_t old_size, size_t new_size,
                                  size_t align, uint32_t flags, uintptr_t site, uintptr_t caller) {
  int code;
  if (p == NULL && old_size == 0) return toft_alloc_observed(a, new_size, align, flags, site, caller);
  if (!toft_debug_begin_call(a, "resize", site != 0 ? site : caller)) return NULL;
  toft_sync_in(a);
  int checked = (a->state & TOFT_IS_CHECKED) != 0;
  unsigned char *old = old_size <= TOFT_MAX_REQUEST || checked ? (unsigned char *)p : NULL;
  uint64_t before = a->allocated;
  void *q = toft_resize_any(a, checked ? toft_resize_checked : unchecked, old, old_size, new_size, align, flags, &code);
  if (q != NULL)
    toft_instrument_alloc(a, q == p ? new_size - toft_min(old_size, new_size) : new_size, before, site, caller);
  toft_end_observed(a);
  return toft_end_alloc(a, q, old_size, new_size, align, flags, code);
}
static void *toft_observed_resize(toft_arena *head, void *p, size_t old_size, size_t new_size, size_t align,
                                  uint32_t flags, uintptr_t site) {
  return toft_resize_observed(toft_state_of(head), toft_resize_unchecked, p, old_size, new_size, align, flags, site,
                              TOFT_CALLER());
}
static void toft_free_observed(toft_state *a, void (*unchecked)(toft_state *, unsigned char *, size_t), void *p,
                               size_t size, uintptr_t caller) {
  int code = TOFT_OK;
  if (!toft_debug_begin_call(a, "free", caller)) return;
  toft_sync_in(a);
  if (!(a->state & TOFT_IS_CHECKED))
    unchecked(a, (unsigned char *)p, size);
  else if (!(a->state & TOFT_REFUSING) && p != NULL)
    code = toft_free_checked(a, (unsigned char *)p, size);
  toft_end_observed(a);
  if (code != TOFT_OK) toft_report_failure(a, size, 0, code);
}
static void toft_observed_free(toft_arena *head, void *p, size_t size) {
  toft_free_observed(toft_state_of(head), toft_free_any, p, size, TOFT_CALLER());
}
static int toft_observed_rewind(toft_arena *head, unsigned char *cursor, uintptr_t epoch) {
  toft_state *a = toft_state_of(head);
  int code = TOFT_EMARK;
  if (!toft_debug_begin_call(a, "rewind", TOFT_CALLER())) return TOFT_EBUSY;
  toft_sync_in(a);
  if ((a->state & TOFT_REFUSING) || !toft_mark_is_stale(a, cursor, epoch)) code = toft_op_rewind(head, cursor, epoch);
  if (code == TOFT_EMARK && cursor != NULL) {
    toft_report_stale_mark(a);
    toft_set_limit(a);
  }
  if (code == TOFT_OK || code == TOFT_ECORRUPT) toft_records_rewound(a, epoch);
  toft_debug_end_call(a);
  return code;
}
static int toft_observed_reset(toft_arena *head, uint32_t policy, size_t keep) {
  toft_state *a = toft_state_of(head);
  if (!toft_debug_begin_call(a, "reset", TOFT_CALLER())) return TOFT_EBUSY;
  int code = toft_op_reset(head, policy, keep);
  if (code == TOFT_OK || code == TOFT_ECORRUPT) toft_restart_checks(a);
  toft_debug_end_call(a);
  return code;
}
static void toft_observed_trim(toft_arena *head, size_t keep) {
  toft_state *a = toft_state_of(head);
  if (!toft_debug_begin_call(a, "trim", TOFT_CALLER())) return;
  toft_op_trim(head, keep);
  toft_debug_end_call(a);
}
static toft_cleanup *toft_observed_cleanup(toft_arena *head, void (*fn)(void *), void *arg) {
  toft_state *a = toft_state_of(head);
  if (!toft_debug_begin_call(a, "cleanup", TOFT_CALLER())) return NULL;
  toft_cleanup *made = toft_op_cleanup(head, fn, arg);
  if (made != NULL) {
    toft_check_soft_budget(a);
    toft_set_limit(a);
  }
  toft_debug_end_call(a);
  return made;
}
static void *toft_observed_claim(toft_arena *head, toft_range *r, size_t size, size_t align) {
  toft_state *a = toft_state_of(head);
  uint64_t before;
  if (!toft_debug_begin_call(a, "claim", TOFT_CALLER())) return NULL;
  toft_sync_in(a);
  int code = toft_check_claim(a, r, size, align);
  unsigned char *p = code == TOFT_OK ? toft_claim_place(a, r, size, align, &before) : NULL;
  if (p != NULL) {
    toft_instrument_alloc(a, size, before, 0, TOFT_CALLER());
    if (size != 0) toft_checks_claim_alloc(a);
    toft_claim_range(a, r, p, size);
  }
  toft_set_limit(a);
  toft_debug_end_call(a);
  if (p == NULL) toft_report_failure(a, size, align, code == TOFT_OK ? TOFT_ENOMEM : code);
  return p;
}
static int toft_observed_give(toft_arena *head, toft_range *r) {
  toft_state *a = toft_state_of(head);
  if (!toft_debug_begin_call(a, "give", TOFT_CALLER())) return TOFT_EBUSY;
  int code = toft_op_give(head, r);
  if (code == TOFT_OK) {
    toft_accounting_unclaim(a);
    toft_checks_unclaim(a);
    toft_check_soft_budget(a);
    toft_set_limit(a);
  }
  toft_debug_end_call(a);
  return code;
}
static int toft_observed_set(toft_arena *head, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  toft_state *a = toft_state_of(head);
  int code = toft_check_setting(a, what, value, name, name_len), inside = a->checks != NULL;
  if (code != TOFT_OK) return code;
  if (!toft_debug_begin_call(a, "set", TOFT_CALLER())) return TOFT_EBUSY;
  code = toft_op_set(head, what, value, name, name_len);
  if (inside) toft_debug_end_call(a);
  return code;
}
static void toft_observed_release(toft_arena *head) {
  toft_state *a = toft_state_of(head);
  if ((a->state & TOFT_CACHE_OWNED) || !toft_debug_begin_call(a, "release", TOFT_CALLER())) return;
  toft_sync_in(a);
  int refused = (a->state & TOFT_REFUSING) != 0;
  if (refused) toft_report_not_released(a);
  toft_release_slow(a);
  if (refused) toft_debug_end_call(a);
}
static int toft_observed_query(const toft_arena *head, uint32_t what, uint64_t *value) {
  if (what != TOFT_SET_SAMPLE) return toft_query_plain(toft_state_of(head), what, value);
  *value = toft_sampling_period(toft_state_of(head));
  return TOFT_OK;
}
static const toft_provider_info toft_observed_info = {"toft-c", TOFT_VERSION, toft_observed_query};
static const toft_info_ops toft_observed_table = {
    {
        sizeof(toft_info_ops),
        1,
        toft_observed_alloc,
        toft_observed_resize,
        toft_observed_free,
        toft_observed_rewind,
        toft_observed_reset,
        toft_observed_trim,
        toft_observed_cleanup,
        toft_observed_claim,
        toft_observed_give,
        toft_op_contains,
        toft_op_stats,
        toft_observed_set,
        toft_observed_release,
    },
    &toft_observed_info,
    NULL,
};
static void toft_update_observed(toft_state *a) {
  int on = a->instruments != NULL || a->checks != NULL;
  if (a->state & TOFT_IS_SUBJECT) return;
  TOFT_STORE_POINTER(const toft_arena_ops, &toft_observed_ops, &toft_observed_table.ops);
  a->state = on ? a->state | TOFT_OBSERVED : a->state & ~(uint32_t)TOFT_OBSERVED;
  if (!toft_is_leased(&a->head)) a->head.ops = toft_ops_of(a);
}
static TOFT_RARE void toft_before_fork(void) {
  toft_threads_at_fork(0);
  toft_profile_at_fork(0);
  toft_lock_take(&toft_registry_lock);
  toft_lock_take(&toft_quarantine_lock);
  toft_lock_take(&toft_findings_lock);
  toft_lock_take(&toft_call_stacks_lock);
  toft_purge_at_fork(0);
  toft_chunks_at_fork(0);
  toft_lock_take(&toft_budget_list_lock);
}
static void toft_after_fork(int phase) {
  TOFT_UNLOCK(&toft_budget_list_lock);
  toft_chunks_at_fork(phase);
  toft_purge_at_fork(phase);
  TOFT_UNLOCK(&toft_call_stacks_lock);
  TOFT_UNLOCK(&toft_findings_lock);
  TOFT_UNLOCK(&toft_quarantine_lock);
  TOFT_UNLOCK(&toft_registry_lock);
  toft_profile_at_fork(phase);
  toft_threads_at_fork(phase);
}
static TOFT_RARE void toft_after_fork_in_parent(void) { toft_after_fork(1); }
static TOFT_RARE void toft_after_fork_in_child(void) {
  toft_after_fork(2);
}
static void toft_arm_fork(void) {
  static size_t armed;
  if (TOFT_LOAD(&armed) || TOFT_SWAP(&armed, 1)) return;
  toft_os_at_fork(toft_before_fork, toft_after_fork_in_parent, toft_after_fork_in_child);
}
static void toft_release_foreign(void *donor) { toft_release((toft_arena *)donor); }
static int toft_may_adopt(toft_state *a, const toft_state *donor, uint64_t live) {
  if ((donor->state & (TOFT_REFUSING | TOFT_CACHE_OWNED)) || (a->state & TOFT_REFUSING)) return TOFT_EBUSY;
  if (live > TOFT_MAX_REQUEST || !toft_fits_budget_of_arena(a, live)) return TOFT_ENOMEM;
  return toft_count_detached(a, NULL, 0, TOFT_DETACHED_RESERVED) ? TOFT_OK : TOFT_ENOMEM;
}
static int toft_adopt_own(toft_state *a, toft_state *donor) {
  toft_sync_in(donor);
  int code = toft_may_adopt(a, donor, donor->live);
  if (code != TOFT_OK) {
    toft_set_limit(donor);
    return code;
  }
  donor->state |= TOFT_BUSY;
  toft_portion_return(donor);
  toft_set_limit(donor);
  if (donor->state & TOFT_INSTRUMENTED) toft_profile_remove(donor);
  toft_link_cleanup(a, &donor->adopted, toft_release_adopted, donor);
  a->live += donor->live;
  a->allocated += donor->live;
  a->adopted_live += donor->live;
  (void)toft_count_detached(a, donor, (size_t)donor->live, TOFT_DETACHED_MORE);
  toft_check_soft_budget(a);
  return TOFT_OK;
}
static int toft_adopt_foreign(toft_arena *head, toft_arena *donor) {
  if (head->ops->version != 1 || donor->ops->version != 1) return TOFT_ENOSYS;
  if (toft_is_refusing(head) || toft_is_refusing(donor))
    return TOFT_EBUSY;
  toft_cleanup *node = toft_cleanup_add(head, NULL, donor);
  if (node == NULL) return TOFT_ENOMEM;
  node->fn = toft_release_foreign;
  return TOFT_OK;
}
static toft_source *toft_region_of_head(toft_arena *head) {
  return toft_is_own(head) ? toft_region_of(toft_state_of(head)) : NULL;
}
int toft_adopt(toft_arena *head, toft_arena *donor) {
  if (head == donor || donor == NULL || toft_region_of_head(head) != toft_region_of_head(donor)) return TOFT_EARG;
  toft_state *a = toft_state_of(head), *d = toft_own_state(donor);
  if (!toft_is_own(head) || d == NULL) return toft_adopt_foreign(head, donor);
  uintptr_t caller = TOFT_CALLER();
  if (!toft_debug_begin_call(a, "adopt", caller)) return TOFT_EBUSY;
  toft_sync_in(a);
  int code = toft_is_own(donor) ? TOFT_OK : toft_may_adopt(a, d, toft_get_stats(donor).live);
  if (code == TOFT_OK && !toft_end_instruments(d)) code = TOFT_EBUSY;
  if (code == TOFT_OK && !toft_debug_begin_call(d, "adopt", caller)) code = TOFT_EBUSY;
  if (code == TOFT_OK) {
    code = toft_adopt_own(a, d);
    toft_debug_end_call(d);
  }
  toft_set_limit(a);
  toft_debug_end_call(a);
  return code;
}
#ifdef TOFT_RUNTIME
void toft_next_cleanup(toft_arena *head, unsigned char *cursor, uintptr_t epoch, int again, void (*fn)(void *),
                       void **arg) {
  toft_state *a = toft_state_of(head);
  *arg = NULL;
  if (!toft_is_own(head) || !toft_debug_begin_call(a, "cleanup", TOFT_CALLER())) return;
  toft_sync_in(a);
  if (again) a->state &= ~(uint32_t)TOFT_BUSY;
  const unsigned char *marked = cursor;
  int valid = cursor == NULL || (toft_mark_block(a, &cursor, epoch) != NULL && !toft_mark_is_stale(a, marked, epoch));
  if (!(a->state & TOFT_REFUSING) && valid) *arg = toft_run_cleanups_until(a, epoch, fn);
  toft_set_limit(a);
  toft_debug_end_call(a);
}
#endif
static int toft_reserve_block(toft_state *a, size_t bytes) {
  size_t need = toft_need(bytes, 8), size = toft_new_block_size(a, need);
  if (size == 0 || toft_usable(size) < need) size = toft_least_size(need);
  toft_block_header *b = toft_block_take(a, size);
  if (b == NULL) return 0;
  a->current->used_end = a->head.cursor;
  toft_block_push(a, b, TOFT_BLOCK_REGULAR);
  toft_make_current(a, b, toft_block_start(a, b));
  return 1;
}
static int toft_reserve_room(toft_state *a, size_t bytes) {
  if (!toft_fits_budget(a, TOFT_ROUND8(bytes))) return TOFT_ENOMEM;
  if (toft_fits_current(a, bytes, 8)) return TOFT_OK;
  if (toft_extend_current(a, bytes, 8) || toft_reserve_block(a, bytes)) return TOFT_OK;
  if (!toft_return_idle(a)) return TOFT_ENOMEM;
  return toft_fits_current(a, bytes, 8) || toft_reserve_block(a, bytes) ? TOFT_OK : TOFT_ENOMEM;
}
static void toft_touch(unsigned char *p, size_t size) {
  for (size_t at = 0; at < size; at += TOFT_BLOCK_MIN) *(volatile unsigned char *)(p + at) = 0;
  if (size != 0) *(volatile unsigned char *)(p + size - 1) = 0;
}
int toft_reserve(toft_arena *head, size_t bytes, uint32_t flags) {
  if ((flags & ~(uint32_t)TOFT_RESERVE_TOUCH) != 0) return TOFT_EARG;
  if (bytes > TOFT_MAX_REQUEST) return TOFT_ENOMEM;
  if (!toft_is_own(head)) return TOFT_ENOSYS;
  toft_state *a = toft_state_of(head);
  if (!toft_debug_begin_call(a, "reserve", TOFT_CALLER())) return TOFT_EBUSY;
  toft_sync_in(a);
  int code = TOFT_EBUSY;
  if (!(a->state & TOFT_REFUSING)) {
    int plain = !(a->state & TOFT_IS_CHECKED);
    code = plain ? toft_reserve_room(a, bytes) : TOFT_OK;
    if (code == TOFT_OK && plain && (flags & TOFT_RESERVE_TOUCH)) toft_touch(a->head.cursor, bytes);
  }
  toft_set_limit(a);
  toft_debug_end_call(a);
  return code;
}
toft_arena *toft_lazy_create(toft_lazy *l) {
  if (l->arena == NULL) l->arena = toft_create();
  return l->arena;
}
TOFT_PER_THREAD toft_arena *toft_current_arena;
#define toft_current_arena TOFT_OWN(toft_current_arena)
static size_t toft_hook_total_size(size_t size) {
  return size <= SIZE_MAX - TOFT_HOOK_HEADER ? size + TOFT_HOOK_HEADER : SIZE_MAX;
}
void *toft_hook_malloc(void *arena, size_t size) {
  toft_arena *a = (toft_arena *)arena;
  toft_attribute_call(a, TOFT_CALLER());
  unsigned char *base = (unsigned char *)toft_alloc_aligned(a, toft_hook_total_size(size), TOFT_HOOK_HEADER);
  return base != NULL ? toft_hook_store_size(a, base, size) : NULL;
}
void *toft_hook_calloc(void *arena, size_t count, size_t size) {
  size_t bytes = toft_array_size(count, size);
  toft_attribute_call((toft_arena *)arena, TOFT_CALLER());
  void *p = toft_hook_malloc(arena, bytes);
  if (p != NULL) memset(p, 0, bytes);
  return p;
}
void *toft_hook_realloc(void *arena, void *p, size_t size) {
  toft_arena *a = (toft_arena *)arena;
  toft_attribute_call(a, TOFT_CALLER());
  if (p == NULL) return toft_hook_malloc(arena, size);
  size_t old = toft_hook_load_size(a, p, "resize");
  if (old == 0) return NULL;
  unsigned char *base = (unsigned char *)toft_resize(a, (unsigned char *)p - TOFT_HOOK_HEADER, old,
                                                     toft_hook_total_size(size), TOFT_HOOK_HEADER);
  return base != NULL ? toft_hook_store_size(a, base, size) : NULL;
}
TOFT_INLINE int toft_hook_free_fast(toft_arena *a, unsigned char *p) {
  size_t size;
  if (TOFT_UNLIKELY(a->epoch & 1)) return 0;
  memcpy(&size, p - TOFT_HOOK_HEADER, sizeof size);
  if (TOFT_UNLIKELY((size_t)(a->cursor - p) == TOFT_ROUND8(size))) {
    a->cursor = p - TOFT_HOOK_HEADER;
    return 1;
  }
  return !toft_frees_block(toft_state_of(a), p - TOFT_HOOK_HEADER);
}
static TOFT_NOINLINE void toft_hook_free_slow(toft_arena *a, void *p, uintptr_t caller) {
  int plain = toft_is_leased(a) && !(toft_state_of(a)->state & TOFT_OBSERVED);
  if (plain && toft_hook_free_fast(a, (unsigned char *)p)) return;
  toft_attribute_call(a, caller);
  size_t size = toft_hook_load_size(a, p, "free");
  if (size != 0) toft_free(a, (unsigned char *)p - TOFT_HOOK_HEADER, size);
}
void toft_hook_free(void *arena, void *p) {
  toft_arena *a = (toft_arena *)arena;
  if (p == NULL || (TOFT_LIKELY(a->ops == &toft_table.ops) && toft_hook_free_fast(a, (unsigned char *)p))) return;
  toft_hook_free_slow(a, p, TOFT_CALLER());
}
toft_arena *toft_current(void) { return toft_current_arena; }
toft_arena *toft_current_swap(toft_arena *a) {
  toft_arena *before = toft_current_arena;
  toft_current_arena = a;
  return before;
}
void *toft_current_malloc(size_t size) {
  return toft_current_arena != NULL ? toft_hook_malloc(toft_current_arena, size) : NULL;
}
void *toft_current_calloc(size_t count, size_t size) {
  return toft_current_arena != NULL ? toft_hook_calloc(toft_current_arena, count, size) : NULL;
}
void *toft_current_realloc(void *p, size_t size) {
  return toft_current_arena != NULL ? toft_hook_realloc(toft_current_arena, p, size) : NULL;
}
void toft_current_free(void *p) {
  toft_arena *a = toft_current_arena;
  if (a == NULL || p == NULL) return;
  if (TOFT_LIKELY(a->ops == &toft_table.ops) && toft_hook_free_fast(a, (unsigned char *)p)) return;
  toft_hook_free_slow(a, p, TOFT_CALLER());
}
#ifndef TOFT_NO_LIBC
char *toft_vprintf(toft_arena *a, const char *format, va_list args) {
  va_list copy;
  toft_attribute_call(a, TOFT_CALLER());
  size_t remaining =
      toft_min((size_t)(a->limit - a->cursor), INT_MAX);
  va_copy(copy, args);
  int length = vsnprintf(remaining != 0 ? (char *)a->cursor : NULL, remaining, format, args);
  char *s = NULL;
  if (length >= 0) {
    size_t size = (size_t)length + 1;
    unsigned char *start = a->cursor;
    s = (char *)toft_alloc(a, size);
    if (s != NULL && ((unsigned char *)s != start || size > remaining)) (void)vsnprintf(s, size, format, copy);
  }
  va_end(copy);
  return s;
}
char *toft_printf(toft_arena *a, const char *format, ...) {
  va_list args;
  toft_attribute_call(a, TOFT_CALLER());
  va_start(args, format);
  char *s = toft_vprintf(a, format, args);
  va_end(args);
  return s;
}
#endif
void *toft_pack_grow(toft_pack *k, size_t n) {
  toft_attribute_call(k->arena, TOFT_CALLER());
  if (n > k->chunk / 4) return toft_alloc(k->arena, n);
  unsigned char *p = (unsigned char *)toft_alloc(k->arena, k->chunk);
  if (p == NULL) return toft_alloc(k->arena, n);
  k->cursor = p + n;
  k->limit = p + k->chunk;
  if (k->chunk < 4096) k->chunk *= 2;
  return p;
}
void *toft_pack_bytes(toft_pack *k, const void *p, size_t n) {
  void *q = toft_pack_alloc(k, n);
  if (q != NULL && n != 0) memcpy(q, p, n);
  return q;
}
