/* Which pages of private memory were written: the system's own record, by asynchronous write protection and the ioctl
 * PAGEMAP_SCAN (Linux 6.7 and later, without privileges). Elsewhere, or where the system refuses, there is no record. A
 * write through another mapping, by a device or by io_uring into registered buffers is not in it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_WRITTEN_C
#define TOFT_PLATFORM_WRITTEN_C

#include "atomic.c"
#include "lifecycle.h"
#include "os.c"
#include "sanitizers.c"

/* A run of written pages, as the system returns it. */
typedef struct toft_written_run {
  uint64_t start, end, categories;
} toft_written_run;

#if defined(__linux__) && !defined(TOFT_NO_OS) && defined(SYS_userfaultfd)
#include <sys/ioctl.h>
#include <sys/prctl.h>

/* As in <linux/userfaultfd.h> and <linux/fs.h>, which cross compilers may lack. */
typedef struct toft_uffd_api {
  uint64_t api, features, ioctls;
} toft_uffd_api;

typedef struct toft_uffd_register {
  uint64_t start, size, mode, ioctls;
} toft_uffd_register;

typedef struct toft_uffd_protect {
  uint64_t start, size, mode;
} toft_uffd_protect;

typedef struct toft_page_scan {
  uint64_t size, flags, start, end, walk_end, runs, run_count, max_pages;
  uint64_t inverted, all_of, any_of, returned; /* categories */
} toft_page_scan;

#define TOFT_UFFD_FLAGS (O_CLOEXEC | 1) /* UFFD_USER_MODE_ONLY, which needs no privilege */
#define TOFT_UFFD_API _IOWR(0xaa, 0x3f, toft_uffd_api)
#define TOFT_UFFD_REGISTER _IOWR(0xaa, 0, toft_uffd_register)
#define TOFT_UFFD_PROTECT _IOWR(0xaa, 6, toft_uffd_protect)
#define TOFT_UFFD_FEATURES ((uint64_t)1 << 13 | (uint64_t)1 << 15) /* WP_UNPOPULATED, WP_ASYNC */
#define TOFT_PAGE_SCAN _IOWR('f', 16, toft_page_scan)
#define TOFT_PAGE_IS_WRITTEN 2
enum { TOFT_SCAN_PROTECTS = 1, TOFT_SCAN_NEEDS_RECORD = 2 };

/* The process's descriptors plus 1, in a page that is zero in a forked child: the parent's are of the parent's memory.
 * Atomic. */
typedef struct toft_written_files {
  size_t faults, pages; /* a userfaultfd, on which each record depends, and /proc/self/pagemap */
} toft_written_files;
static size_t toft_written;             /* address of the page; 0: none yet. Atomic */
static toft_written_files toft_parents; /* the same numbers, which a forked child closes. Atomic */

static toft_written_files *toft_written_page(void) {
  size_t known = TOFT_LOAD_ACQUIRE(&toft_written);
  if (known != 0) return (toft_written_files *)known;
  void *page = toft_os_map(4096, 0);
  if (page == NULL) return NULL;
  if (toft_sys_madvise(page, toft_os_page(1), 18 /* MADV_WIPEONFORK, Linux 4.14 */) == 0 &&
      TOFT_CAS_ACQ_REL(&toft_written, &known, (size_t)page))
    return (toft_written_files *)page;
  (void)toft_os_unmap(page, 4096);
  return (toft_written_files *)known;
}

/* Under a filter of system calls, which may end the process, none is tried. */
static int toft_written_open_faults(void) {
  toft_uffd_api api = {0xaa, TOFT_UFFD_FEATURES, 0};
  if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0) return -1;
  int file = (int)toft_sys_syscall(SYS_userfaultfd, TOFT_UFFD_FLAGS);
  if (file < 0 || toft_sys_ioctl(file, TOFT_UFFD_API, &api) == 0) return file;
  (void)toft_sys_close(file);
  return -1;
}

static int toft_written_open_pages(void) { return toft_sys_open("/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC); }

/* Returns the descriptor in *at, which is opened if there is none. -1: refused. */
static int toft_written_file(size_t *at, int (*open_file)(void)) {
  size_t known = TOFT_LOAD(at);
  if (known != 0) return (int)known - 1;
  int file = open_file();
  if (file < 0) return file;
  toft_arm_fork();
  if (TOFT_CAS_RELAXED(at, &known, (size_t)file + 1)) {
    TOFT_STORE(open_file == toft_written_open_pages ? &toft_parents.pages : &toft_parents.faults, (size_t)file + 1);
    return file;
  }
  (void)toft_sys_close(file); /* another thread was first */
  return (int)known - 1;
}

/* Closes a descriptor of the parent in a forked child, unless the number has become that of another file. */
static void toft_written_close(size_t *number, const char *ending) {
  char path[40], name[64];
  if (*number == 0) return;
  (void)snprintf(path, sizeof path, "/proc/self/fd/%lu", (unsigned long)*number - 1);
  ssize_t n = toft_sys_readlink(path, name, sizeof name), length = (ssize_t)strlen(ending);
  if (n >= length && memcmp(name + n - length, ending, (size_t)length) == 0) (void)toft_sys_close((int)*number - 1);
  *number = 0;
}

/* They would give the child, whatever rights it drops, power over the parent's memory. */
static void toft_written_after_fork(void) {
  toft_written_close(&toft_parents.faults, "[userfaultfd]");
  toft_written_close(&toft_parents.pages, "/pagemap");
}

static int toft_written_scan(toft_page_scan *s, unsigned char *p, size_t size) {
  toft_written_files *files = (toft_written_files *)TOFT_LOAD_ACQUIRE(&toft_written);
  s->size = sizeof *s;
  s->flags |= TOFT_SCAN_NEEDS_RECORD;
  s->start = (uintptr_t)p;
  s->end = (uintptr_t)p + size;
  s->all_of = s->returned = TOFT_PAGE_IS_WRITTEN;
  return files == NULL || TOFT_LOAD(&files->faults) == 0
             ? -1
             : toft_sys_ioctl(toft_written_file(&files->pages, toft_written_open_pages), TOFT_PAGE_SCAN, s);
}

/* Begins a record of whole private pages, in which all are written. 0: there is none. */
static int toft_written_begin(unsigned char *p, size_t size) {
  toft_written_files *files = toft_written_page();
  toft_uffd_register range = {(uintptr_t)p, size, 2 /* write protection */, 0};
  int file = files != NULL ? toft_written_file(&files->faults, toft_written_open_faults) : -1;
  return file >= 0 && toft_sys_ioctl(file, TOFT_UFFD_REGISTER, &range) == 0;
}

/* Makes the pages unwritten. 0: there is no record of all of them. */
static int toft_written_forget(unsigned char *p, size_t size) {
  toft_page_scan s;
  memset(&s, 0, sizeof s);
  s.flags = TOFT_SCAN_PROTECTS;
  return toft_written_scan(&s, p, size) >= 0;
}

/* Makes the pages written. 0: there is no record of all of them. */
static int toft_written_mark(unsigned char *p, size_t size) {
  const toft_written_files *files = (const toft_written_files *)TOFT_LOAD_ACQUIRE(&toft_written);
  toft_uffd_protect range = {(uintptr_t)p, size, 0};
  size_t file = files != NULL ? TOFT_LOAD(&files->faults) : 0;
  return file != 0 && toft_sys_ioctl((int)file - 1, TOFT_UFFD_PROTECT, &range) == 0;
}

/* Stores the first runs of written pages from *p to `end`, and moves *p behind them. -1: there is no record.
 * At the end *p == end. */
static int toft_written_next(unsigned char **p, const unsigned char *end, toft_written_run *runs, size_t room) {
  toft_page_scan s;
  memset(&s, 0, sizeof s);
  s.runs = (uintptr_t)runs;
  s.run_count = room;
  int n = toft_written_scan(&s, *p, (size_t)(end - *p));
  if (n < 0) return n;
  toft_unpoison(runs, (size_t)n * sizeof *runs); /* a memory tool does not see that the system wrote them */
  *p = (unsigned char *)(uintptr_t)s.walk_end;
  return n;
}
#else
static void toft_written_after_fork(void) {}
static int toft_written_begin(unsigned char *p, size_t size) { return (void)p, (void)size, 0; }
static int toft_written_forget(unsigned char *p, size_t size) { return (void)p, (void)size, 0; }
static int toft_written_mark(unsigned char *p, size_t size) { return (void)p, (void)size, 0; }
static int toft_written_next(unsigned char **p, const unsigned char *end, toft_written_run *runs, size_t room) {
  return (void)p, (void)end, (void)runs, (void)room, -1;
}
#endif

#endif
