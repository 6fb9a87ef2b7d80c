/* The calls of a POSIX system on whose results the library's promises rest: no other file makes them. A test that
 * contains the library defines TOFT_SYSTEM(call) as the name of a function that makes the call or fails.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_SYSTEM_C
#define TOFT_PLATFORM_SYSTEM_C

#include "base.h"

#ifndef TOFT_NO_OS
#include <errno.h>

/* Bytes that one call writes or reads. */
static size_t toft_file_part(size_t size) { return size < (size_t)1 << 30 ? size : (size_t)1 << 30; }

#if defined(_WIN32)
typedef int toft_size_signal;
static void toft_hold_size_signal(toft_size_signal *s) { *s = 0; /* Windows has no such signal */ }
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

#if defined(__linux__) /* glibc before 2.25 has no such function */
extern int toft_getentropy(void *to, size_t size) __asm__("getentropy") __attribute__((weak));
#else
#define toft_getentropy getentropy
#endif

#ifndef TOFT_SYSTEM
#define TOFT_SYSTEM(call) call
#endif
#define toft_sys_close TOFT_SYSTEM(close)
#define toft_sys_fchmod TOFT_SYSTEM(fchmod)
#define toft_sys_fchown TOFT_SYSTEM(fchown)
#define toft_sys_fdopen TOFT_SYSTEM(fdopen)
#define toft_sys_fstat TOFT_SYSTEM(fstat)
#define toft_sys_fsync TOFT_SYSTEM(fsync)
#define toft_sys_getentropy TOFT_SYSTEM(toft_getentropy)
#define toft_sys_ioctl TOFT_SYSTEM(ioctl)
#define toft_sys_lstat TOFT_SYSTEM(lstat)
#define toft_sys_madvise TOFT_SYSTEM(madvise)
#define toft_sys_mmap TOFT_SYSTEM(mmap)
#define toft_sys_mprotect TOFT_SYSTEM(mprotect)
#define toft_sys_msync TOFT_SYSTEM(msync)
#define toft_sys_munmap TOFT_SYSTEM(munmap)
#define toft_sys_open TOFT_SYSTEM(open)
#define toft_sys_posix_memalign TOFT_SYSTEM(posix_memalign)
#define toft_sys_pwrite TOFT_SYSTEM(pwrite)
#define toft_sys_read TOFT_SYSTEM(read)
#define toft_sys_readlink TOFT_SYSTEM(readlink)
#define toft_sys_realloc TOFT_SYSTEM(realloc)
#define toft_sys_rename TOFT_SYSTEM(rename)
#define toft_sys_stat TOFT_SYSTEM(stat)
#define toft_sys_syscall TOFT_SYSTEM(syscall)
#define toft_sys_unlink TOFT_SYSTEM(unlink)
#define toft_sys_write TOFT_SYSTEM(write)

/* A write beyond the limit of a file's size (RLIMIT_FSIZE) raises SIGXFSZ, also for files in memory. While the thread
 * holds that signal back, the write fails with EFBIG only. */
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

/* Discards the signal of a write, and keeps errno. */
static void toft_drop_size_signal(const toft_size_signal *s) {
  int error = errno, number;
  if (!s->was_pending && toft_size_signal_is_pending()) (void)sigwait(&s->set, &number);
  (void)pthread_sigmask(SIG_SETMASK, &s->before, NULL);
  errno = error;
}

/* Writes bytes to the start of a file. 0: errno has the reason. */
static int toft_write_all(int file, const void *content, size_t size) {
  const unsigned char *p = (const unsigned char *)content;
  size_t done = 0;
  toft_size_signal held;
  toft_hold_size_signal(&held);
  while (done < size) {
    ssize_t n = toft_sys_pwrite(file, p + done, toft_file_part(size - done), (off_t)done);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;
    if (n <= 0) break;
    done += (size_t)n;
  }
  toft_drop_size_signal(&held);
  return done == size;
}

/* Reads from the current position. 0: errno has the reason, EIO where the file ends before. */
static int toft_read_all(int file, void *to, size_t size) {
  unsigned char *p = (unsigned char *)to;
  while (size > 0) {
    ssize_t n = toft_sys_read(file, p, toft_file_part(size));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;
    if (n <= 0) return 0;
    p += n;
    size -= (size_t)n;
  }
  return 1;
}

/* Waits until the content is on the disk. 0: errno has the reason. */
static int toft_sync_file(int file) {
  int code;
  while ((code = toft_sys_fsync(file)) != 0 && errno == EINTR) continue;
  return code == 0;
}
#endif
#endif

#endif
