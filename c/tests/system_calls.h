/* The calls of the system that the library makes (c/src/platform/system.c), which fail on order. Contains the library.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_SYSTEM_CALLS_H
#define TOFT_TEST_SYSTEM_CALLS_H

#define _GNU_SOURCE
#ifndef __LP64__
#define _FILE_OFFSET_BITS 64 /* equal to that of the library */
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The calls, with the errors that their manuals name and the library may meet. */
#define SYSTEM_CALLS(CALL)                                  \
  CALL(close, EIO, EINTR, ENOSPC, EDQUOT)                   \
  CALL(fchmod, EIO, EPERM)                                  \
  CALL(fchown, EIO, EPERM)                                  \
  CALL(fdopen, ENOMEM)                                      \
  CALL(fstat, ENOMEM, EOVERFLOW)                            \
  CALL(fsync, EIO, EINTR, ENOSPC, EDQUOT, EROFS)            \
  CALL(ioctl, EPERM, EINTR, EFAULT, ENOMEM)                 \
  CALL(lstat, EACCES, EIO)                                  \
  CALL(madvise, EINVAL, ENOMEM, EAGAIN, EPERM)              \
  CALL(mmap, ENOMEM, EAGAIN, EPERM, ENFILE)                 \
  CALL(mprotect, ENOMEM, EACCES)                            \
  CALL(munmap, ENOMEM, EINVAL)                              \
  CALL(open, EACCES, EINTR, EMFILE, ENFILE, ENOSPC, EDQUOT) \
  CALL(posix_memalign, ENOMEM)                              \
  CALL(pwrite, EIO, EINTR, ENOSPC, EDQUOT, EFBIG)           \
  CALL(read, EIO, EINTR)                                    \
  CALL(readlink, EACCES, EIO)                               \
  CALL(realloc, ENOMEM)                                     \
  CALL(rename, EACCES, EBUSY, EDQUOT, ENOSPC, EXDEV, EROFS) \
  CALL(stat, EACCES, EIO)                                   \
  CALL(toft_getentropy, EIO, ENOSYS)                        \
  CALL(unlink, EACCES, EBUSY, EIO)                          \
  CALL(userfaultfd, EPERM, EMFILE, ENFILE, ENOMEM, ENOSYS)  \
  CALL(write, EIO, EINTR, ENOSPC, EDQUOT, EFBIG)

enum {
#define CALL_KIND(name, ...) CALL_##name,
  SYSTEM_CALLS(CALL_KIND) CALL_KINDS
};

static const struct {
  const char *name;
  int errors[8]; /* the first one lasts; ends with 0 */
} system_calls[] = {
#define CALL_ERRORS(name, ...) {#name, {__VA_ARGS__}},
    SYSTEM_CALLS(CALL_ERRORS){"any call", {EIO}}};

static struct {
  int active;         /* else each call is made */
  int kind;           /* of the calls that fail; CALL_KINDS: any */
  size_t from, until; /* counted from 1; 0: none fails */
  int error;          /* of them; with CALL_KINDS the first of the call's */
  int ends;           /* the process ends instead */
  size_t part;        /* the most bytes of a read or a write; 0: no limit */
  size_t room;        /* the most bytes of mappings; 0: no limit */
} order;

static size_t calls_made[CALL_KINDS + 1]; /* calls while the order is active; the last: of any kind */
static size_t mapped_bytes, lost_bytes;   /* bytes that are mapped; bytes whose munmap failed */
static int first_error;                   /* of a call that was refused; 0: none */
static long descriptors;                  /* open ones */

static int refuses(int kind) {
  if (!order.active) return 0;
  size_t n = ++calls_made[kind], all = ++calls_made[CALL_KINDS];
  if (order.kind == CALL_KINDS) n = all;
  if ((order.kind != CALL_KINDS && order.kind != kind) || n < order.from || n > order.until) return 0;
  if (order.ends) _exit(0);
  errno = order.kind == CALL_KINDS ? system_calls[kind].errors[0] : order.error;
  if (first_error == 0) first_error = errno;
  return 1;
}

static size_t part_of(size_t size) { return order.part != 0 && size > order.part ? order.part : size; }
static size_t whole_pages(size_t size) { return (size + 4095) & ~(size_t)4095; }

static int opened(int file) {
  descriptors += file >= 0;
  return file;
}
static int ordered_close(int file) {
  int failed = refuses(CALL_close), error = errno; /* the descriptor is closed in any case */
  if (close(file) != 0) return -1;
  descriptors--;
  errno = error;
  return failed ? -1 : 0;
}
static int ordered_fchmod(int file, mode_t mode) { return refuses(CALL_fchmod) ? -1 : fchmod(file, mode); }
static int ordered_fchown(int file, uid_t owner, gid_t group) {
  return refuses(CALL_fchown) ? -1 : fchown(file, owner, group);
}
static int ordered_lstat(const char *path, struct stat *s) { return refuses(CALL_lstat) ? -1 : lstat(path, s); }
static ssize_t ordered_readlink(const char *path, char *to, size_t size) {
  return refuses(CALL_readlink) ? -1 : readlink(path, to, size);
}
static int ordered_stat(const char *path, struct stat *s) { return refuses(CALL_stat) ? -1 : stat(path, s); }
static int ordered_fstat(int file, struct stat *s) { return refuses(CALL_fstat) ? -1 : fstat(file, s); }
static int ordered_fsync(int file) {
  (void)file; /* the disk is not under test */
  return refuses(CALL_fsync) ? -1 : 0;
}
static int ordered_madvise(void *p, size_t size, int advice) {
  return refuses(CALL_madvise) ? -1 : madvise(p, size, advice);
}
static void *ordered_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
  if (refuses(CALL_mmap)) return MAP_FAILED;
  if (order.room != 0 && (flags & MAP_FIXED) == 0 && mapped_bytes + size > order.room) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  void *p = mmap(at, size, protection, flags, file, offset);
  if (p != MAP_FAILED && (flags & MAP_FIXED) == 0) mapped_bytes += whole_pages(size);
  return p;
}
static int ordered_mprotect(void *p, size_t size, int protection) {
  return refuses(CALL_mprotect) ? -1 : mprotect(p, size, protection);
}
static struct {
  void *p;
  size_t size;
} lost_mappings[100]; /* mappings whose munmap failed */
static int lost_count;

static int ordered_munmap(void *p, size_t size) {
  int code = refuses(CALL_munmap) ? -1 : munmap(p, size);
  *(code == 0 ? &mapped_bytes : &lost_bytes) += code == 0 ? 0 - whole_pages(size) : whole_pages(size);
  if (code != 0 && lost_count < (int)(sizeof lost_mappings / sizeof *lost_mappings)) {
    lost_mappings[lost_count].p = p;
    lost_mappings[lost_count++].size = size;
  }
  return code;
}

/* Returns lost mappings, since a system with 32 bits has few addresses. Precondition: no object has them. */
static inline void return_lost(void) {
  while (lost_count > 0) {
    size_t size = lost_mappings[--lost_count].size;
    if (munmap(lost_mappings[lost_count].p, size) != 0) abort();
    mapped_bytes -= whole_pages(size);
    lost_bytes -= whole_pages(size);
  }
}
static int ordered_open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  unsigned mode = (flags & O_CREAT) != 0 ? va_arg(more, unsigned) : 0;
  va_end(more);
  return refuses(CALL_open) ? -1 : opened(open(path, flags, mode));
}
static int ordered_posix_memalign(void **p, size_t align, size_t size) {
  return refuses(CALL_posix_memalign) ? ENOMEM : posix_memalign(p, align, size);
}
static ssize_t ordered_pwrite(int file, const void *p, size_t size, off_t at) {
  return refuses(CALL_pwrite) ? -1 : pwrite(file, p, part_of(size), at);
}
static ssize_t ordered_read(int file, void *p, size_t size) {
  return refuses(CALL_read) ? -1 : read(file, p, part_of(size));
}
static void *ordered_realloc(void *p, size_t size) { return refuses(CALL_realloc) ? NULL : realloc(p, size); }
static int ordered_rename(const char *from, const char *to) { return refuses(CALL_rename) ? -1 : rename(from, to); }
static int ordered_ioctl(int file, unsigned long request, void *arg) {
  return refuses(CALL_ioctl) ? -1 : ioctl(file, request, arg);
}
static long ordered_syscall(long number, int first, ...) {
  va_list more;
  va_start(more, first);
  int flags = number != SYS_userfaultfd ? va_arg(more, int) : 0;
  va_end(more);
  if (number != SYS_userfaultfd) return syscall(number, first, flags);
  return refuses(CALL_userfaultfd) ? -1 : opened((int)syscall(number, first));
}
static int ordered_toft_getentropy(void *to, size_t size) {
  return refuses(CALL_toft_getentropy) ? -1 : getentropy(to, size);
}
static int ordered_unlink(const char *path) { return refuses(CALL_unlink) ? -1 : unlink(path); }
static ssize_t ordered_write(int file, const void *p, size_t size) {
  return refuses(CALL_write) ? -1 : write(file, p, part_of(size));
}

/* Streams read and write by the calls above. No signal interrupts the reading of /proc. */
static ssize_t stream_read(void *file, char *p, size_t size) {
  ssize_t n = ordered_read((int)(intptr_t)file, p, size);
  return n < 0 && errno == EINTR ? stream_read(file, p, size) : n;
}
static ssize_t stream_write(void *file, const char *p, size_t size) {
  ssize_t n = ordered_write((int)(intptr_t)file, p, size);
  return n > 0 ? n : 0;
}
static int stream_close(void *file) { return ordered_close((int)(intptr_t)file); }
static FILE *ordered_fdopen(int file, const char *mode) {
  const cookie_io_functions_t calls = {stream_read, stream_write, NULL, stream_close};
  return refuses(CALL_fdopen) ? NULL : fopencookie((void *)(intptr_t)file, mode, calls);
}

#define TOFT_SYSTEM(call) ordered_##call
#define TOFT_STATIC
#define TOFT_PLATFORM_HELD_C /* which counts in some programs only */
static size_t held_bytes;
#define TOFT_HELD_MORE(bytes) ((void)(held_bytes += (size_t)(bytes)))
#define TOFT_HELD_LESS(bytes) ((void)(held_bytes -= (size_t)(bytes)))
#include "toft.c"

#endif
