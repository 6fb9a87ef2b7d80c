/* Files in memory, mapped privately: Linux only. Elsewhere their calls fail.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_MEMORY_FILE_C
#define TOFT_PLATFORM_MEMORY_FILE_C

#include "os.c"

#if defined(__linux__) && !defined(TOFT_NO_OS)
#include <sys/syscall.h>

#if defined(SYS_memfd_create)
#define TOFT_HAS_MEMORY_FILES 1
#endif
#endif

#ifdef TOFT_HAS_MEMORY_FILES
static int toft_os_has_memory_files(void) { return 1; }
static void toft_os_close(int file) { (void)toft_sys_close(file); }

/* Returns a file of `size` bytes with this content, which is closed at an exec; -1: refused. */
static int toft_os_memory_file(const void *content, size_t size) {
  int file = (int)toft_sys_syscall(SYS_memfd_create, "toft", 1u); /* MFD_CLOEXEC */
  if (file < 0 || toft_write_all(file, content, size)) return file;
  toft_os_close(file);
  return -1;
}

/* Maps the file privately, over the mapping at `at` if that is not NULL. NULL: refused; nothing changed. */
static void *toft_os_map_file(int file, size_t size, void *at) {
  void *p = toft_sys_mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | (at != NULL ? MAP_FIXED : 0), file, 0);
  return p == MAP_FAILED ? NULL : p;
}
#else
static int toft_os_has_memory_files(void) { return 0; }
static void toft_os_close(int file) { (void)file; }
static int toft_os_memory_file(const void *content, size_t size) {
  (void)content, (void)size;
  return -1;
}
static void *toft_os_map_file(int file, size_t size, void *at) {
  (void)file, (void)size, (void)at;
  return NULL;
}
#endif

#endif
