/* The operating system: pages, aligned heap memory, files, locks, and callbacks at thread exit and at unload, for
 * POSIX and Windows. Sizes are rounded up to the system's page here; callers use multiples of 4096.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_OS_C
#define TOFT_PLATFORM_OS_C

#include "base.h"
#include "lifecycle.h"
#include "system.c"

#define TOFT_HUGE_PAGE (2 * TOFT_MIB)

/* Arranges for toft_cache_end to run when this thread ends. Returns 0 if the system has no slot for it. */
static int toft_os_arm_thread_exit(void);
static size_t toft_os_unloading; /* atomic; 1: threads may have been stopped anywhere: locks are not waited for */

#ifdef TOFT_NO_OS
#include "no_os.c"
#elif defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <malloc.h>
#include <windows.h>

static size_t toft_os_page(size_t n) { return (n + 0xffff) & ~(size_t)0xffff; } /* allocation granularity */

static void *toft_os_heap_take(size_t size, size_t align) { return _aligned_malloc(size, align); }
static void toft_os_heap_put(void *p) { _aligned_free(p); }
#ifdef TOFT_RUNTIME
static void toft_os_heap_trim(void) {}
#endif

static void *toft_os_map(size_t size, int huge) {
  (void)huge; /* large pages need a privilege on Windows */
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
  return 0; /* the content may stay */
}
/* Returns whether the system has taken the whole pages in a range, or may do so. */
static int toft_os_return_pages(unsigned char *p, size_t size) { return toft_os_forget(p, size), 1; }
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

__declspec(dllimport) int __cdecl rand_s(unsigned int *number); /* in stdlib.h with _CRT_RAND_S only */

/* Fills `size` bytes, at most 256, with unpredictable ones. 0: the system has none. */
static int toft_os_random(void *to, size_t size) {
  for (size_t i = 0; i < size; i++) {
    unsigned int number;
    if (rand_s(&number) != 0) return 0;
    ((unsigned char *)to)[i] = (unsigned char)number;
  }
  return 1;
}

static uint64_t toft_os_process_id(void) { return GetCurrentProcessId(); }
static int toft_os_executable(char *path, size_t size) {
  DWORD n = GetModuleFileNameA(NULL, path, (DWORD)size);
  return n != 0 && n < size;
}
static int toft_os_has_one_thread(void) { return 0; /* not known */ }

/* Executes a full fence on every thread of the process. */
static int toft_os_fence_register(void) { return 1; }
static int toft_os_fence_all(void) {
  FlushProcessWriteBuffers();
  return 1;
}

typedef SRWLOCK toft_os_mutex;
typedef CONDITION_VARIABLE toft_os_condition;
static int toft_os_wait_init(toft_os_mutex *m, toft_os_condition *c) {
  InitializeSRWLock(m);
  InitializeConditionVariable(c);
  return 1;
}
static void toft_os_wait_destroy(toft_os_mutex *m, toft_os_condition *c) { (void)m, (void)c; }
static void toft_os_mutex_take(toft_os_mutex *m) { AcquireSRWLockExclusive(m); }
static void toft_os_mutex_drop(toft_os_mutex *m) { ReleaseSRWLockExclusive(m); }
static void toft_os_wait(toft_os_condition *c, toft_os_mutex *m) { SleepConditionVariableSRW(c, m, INFINITE, 0); }
static void toft_os_wake_all(toft_os_condition *c) { WakeAllConditionVariable(c); }

static void toft_os_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  (void)before, (void)parent, (void)child; /* Windows has no fork */
}

/* VirtualFree releases a whole mapping only. */
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
/* Returns the heap's free pages to the system. By itself glibc returns those at the end of a thread's heap only. */
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

/* Huge pages need an aligned mapping. Where the system does not choose one, this maps one huge page more and cuts off
 * both ends; what cannot be unmapped has no pages. */
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
  (void)toft_sys_madvise(p, total, MADV_HUGEPAGE); /* advisory */
#endif
  (void)huge;
  return p;
}
/* Makes pages present. 0: refused, as before Linux 5.14. */
static int toft_os_populate(void *p, size_t size) {
#ifdef __linux__
  return toft_sys_madvise(p, size, 23 /* MADV_POPULATE_WRITE */) == 0;
#else
  return (void)p, (void)size, 0;
#endif
}
static void toft_os_prefer_small_pages(void *p, size_t size) {
#ifdef MADV_NOHUGEPAGE
  (void)toft_sys_madvise(p, size, MADV_NOHUGEPAGE); /* advisory */
#else
  (void)p, (void)size;
#endif
}
/* Returns whether the memory went back to the system. Where that would split a mapping the system may refuse to unmap
 * a range: then its pages return, if they are not locked, and the addresses stay in use. */
static int toft_os_unmap(void *p, size_t size) {
  size = toft_os_page(size);
  return toft_sys_munmap(p, size) == 0 || toft_sys_madvise(p, size, MADV_DONTNEED) == 0;
}
static uint64_t toft_os_nanoseconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
/* The system may take the pages, whose content is lost, before it runs out of memory. No effect where it cannot. */
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
/* Discards the content of the whole pages in a range at once. 0: it may stay, as that of locked pages does. */
static int toft_os_forget(unsigned char *p, size_t size) {
  size_t front = (size_t)(0 - (uintptr_t)p) & (toft_os_page(1) - 1), back;
  if (front >= size) return 1;
  back = (size_t)((uintptr_t)p + size) & (toft_os_page(1) - 1);
  return front + back >= size || toft_sys_madvise(p + front, size - front - back, MADV_DONTNEED) == 0;
}
static int toft_os_return_pages(unsigned char *p, size_t size) { return toft_os_forget(p, size); }
static void *toft_os_reserve(size_t size) { return toft_os_mmap(toft_os_page(size), PROT_NONE, MAP_NORESERVE); }
static int toft_os_commit(void *p, size_t size) {
  return toft_sys_mprotect(p, toft_os_page(size), PROT_READ | PROT_WRITE) == 0;
}
/* Returns pages and makes them inaccessible, by a new mapping in their place: pages that were written stay committed if
 * they are made inaccessible only, which counts where the system does not overcommit. The mapping has no advice. 0:
 * refused: they can be used as before, and their content is lost. */
static int toft_os_decommit(void *p, size_t size) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (toft_sys_mmap(p, size, PROT_NONE, flags, -1, 0) != MAP_FAILED) return 1;
  return toft_sys_madvise(p, size, MADV_DONTNEED) == 0 && toft_sys_mprotect(p, size, PROT_NONE) == 0;
}

static void toft_os_prefer_huge_pages(void *p, size_t size) {
#ifdef MADV_HUGEPAGE
  if (size >= TOFT_HUGE_PAGE) (void)toft_sys_madvise(p, size, MADV_HUGEPAGE); /* advisory */
#else
  (void)p, (void)size;
#endif
}

static void toft_os_yield(void) { (void)sched_yield(); }

/* A clock that does not go back and wraps at SIZE_MAX. */
static size_t toft_os_milliseconds(void) {
  struct timespec now = {0, 0};
#ifdef CLOCK_MONOTONIC_COARSE
  (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
#else
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
#endif
  return (size_t)now.tv_sec * 1000 + (size_t)now.tv_nsec / 1000000;
}

/* A process with more rights than its user (set-uid, set-gid, file capabilities) ignores the environment. AT_SECURE
 * describes the start of the process: after setuid the ids are equal again. */
#if defined( \
    __linux__) /* declared here under another name: <sys/auxv.h> needs kernel headers, which cross compilers may lack */
extern unsigned long toft_getauxval(unsigned long type) __asm__("getauxval") __attribute__((weak));
#endif
static int toft_os_is_privileged(void) {
#if defined(__linux__)
  if (toft_getauxval != NULL && toft_getauxval(23 /* AT_SECURE */) != 0) return 1;
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__) || \
    defined(__DragonFly__)
  if (issetugid()) return 1;
#endif
  return getuid() != geteuid() || getgid() != getegid();
}
static const char *toft_os_env(const char *name) { return toft_os_is_privileged() ? NULL : getenv(name); }

/* One write per line, so that lines of several threads and processes do not mix. Errors are ignored. */
static void toft_os_print(int descriptor, const char *text, size_t size) {
  toft_size_signal held;
  toft_hold_size_signal(&held);
  for (int failures = 0; size > 0 && failures < 4;) { /* interrupted by a signal */
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

/* Returns a stream on a descriptor, which is closed if there is none. */
static FILE *toft_os_stream(int file, const char *mode) {
  FILE *f = file >= 0 ? toft_sys_fdopen(file, mode) : NULL;
  if (f == NULL && file >= 0) (void)toft_sys_close(file);
  return f;
}

/* Creates a file, or makes it empty. */
static FILE *toft_os_create(const char *path) {
  int file = toft_sys_open(path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
  return toft_os_stream(file, "wb");
}
static int toft_os_rename(const char *from, const char *to) { return toft_sys_rename(from, to) == 0; }

/* Fills `size` bytes, at most 256, with unpredictable ones. 0: the system has none. */
static int toft_os_random(void *to, size_t size) {
#if defined(__linux__)
  if (toft_getentropy == NULL) return 0;
#endif
  return toft_sys_getentropy(to, size) == 0;
}

static uint64_t toft_os_process_id(void) { return (uint64_t)getpid(); }
static int toft_os_executable(char *path, size_t size) {
  ssize_t n = toft_sys_readlink("/proc/self/exe", path, size); /* Linux */
  if (n <= 0 || (size_t)n >= size) return 0;
  path[n] = 0;
  return 1;
}
/* 0: there are others, or it is not known. */
static int toft_os_has_one_thread(void) {
  struct stat s;
  return toft_sys_stat("/proc/self/task", &s) == 0 && s.st_nlink == 3; /* Linux: a folder for each, and two links */
}

/* Executes a full fence on every thread of the process. A forked child may have to register again. */
#if defined(__linux__) && defined(SYS_membarrier)
static int toft_os_fence_register(void) {
  return toft_sys_syscall(SYS_membarrier, 1 << 4, 0) == 0; /* REGISTER_PRIVATE_EXPEDITED */
}
static int toft_os_fence_once(void) { return toft_sys_syscall(SYS_membarrier, 1 << 3, 0) == 0; /* PRIVATE_EXPEDITED */ }
static int toft_os_fence_all(void) {
  return toft_os_fence_once() || (toft_os_fence_register() && toft_os_fence_once());
}
#else
static int toft_os_fence_register(void) { return 0; }
static int toft_os_fence_all(void) { return 0; }
#endif

typedef pthread_mutex_t toft_os_mutex;
typedef pthread_cond_t toft_os_condition;
static int toft_os_wait_init(toft_os_mutex *m, toft_os_condition *c) {
  if (pthread_mutex_init(m, NULL) != 0) return 0;
  if (pthread_cond_init(c, NULL) == 0) return 1;
  pthread_mutex_destroy(m);
  return 0;
}
static void toft_os_wait_destroy(toft_os_mutex *m, toft_os_condition *c) {
  pthread_cond_destroy(c);
  pthread_mutex_destroy(m);
}
static void toft_os_mutex_take(toft_os_mutex *m) { pthread_mutex_lock(m); }
static void toft_os_mutex_drop(toft_os_mutex *m) { pthread_mutex_unlock(m); }
static void toft_os_wait(toft_os_condition *c, toft_os_mutex *m) { pthread_cond_wait(c, m); }
static void toft_os_wake_all(toft_os_condition *c) { pthread_cond_broadcast(c); }

/* A thread that receives no signals. 0: there is none. */
typedef pthread_t toft_os_thread;
static int toft_os_thread_start(toft_os_thread *thread, void *(*run)(void *)) {
  sigset_t all, before;
  pthread_attr_t small;
  sigfillset(&all);
  if (pthread_attr_init(&small) != 0) return 0;
  (void)pthread_attr_setstacksize(&small, 64 * 1024); /* if that is too small, the default stays */
  int masked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
  int code = pthread_create(thread, &small, run, NULL);
  if (code != 0) code = pthread_create(thread, NULL, run, NULL); /* thread-local storage may need more */
  if (masked) (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&small);
  return code == 0;
}
static void toft_os_thread_join(toft_os_thread thread) { (void)pthread_join(thread, NULL); }

/* Waits until it is woken or the time has passed. The caller holds the mutex. */
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

#ifndef TOFT_NO_OS
/* Returns the number in an environment variable, which K, M or G may follow, at most SIZE_MAX / 2, or `otherwise`. */
static TOFT_COLD size_t toft_os_env_number(const char *name, size_t otherwise) {
  const char *text = toft_os_env(name);
  if (text == NULL || *text < '0' || *text > '9') return otherwise;
  char *end;
  unsigned long long n = strtoull(text, &end, 10);
  const char *units = "kKmMgG", *unit = *end != 0 ? strchr(units, *end) : NULL;
  unsigned shift = unit != NULL ? ((unsigned)(unit - units) / 2 + 1) * 10 : 0;
  return n > SIZE_MAX / 2 >> shift ? SIZE_MAX / 2 : (size_t)n << shift;
}
#endif

/* Runs at exit and at dlclose, so that no thread that ends later calls unloaded code. The caches of threads that
 * still run are not touched; at dlclose their contents leak. */
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

#endif
