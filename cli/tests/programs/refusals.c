/* A preloaded library that refuses mappings of memory: REFUSE=once:N that with the number N, from:N those from it on,
 * above:N those of more than N bytes.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_refused(size_t size) {
  static unsigned long calls;
  const char *how = getenv("REFUSE");
  if (how == NULL) return 0;
  unsigned long n = strtoul(strchr(how, ':') + 1, NULL, 10), call = ++calls;
  int refused = *how == 'o' ? call == n : *how == 'f' ? call >= n : size > n;
  if (refused) errno = ENOMEM;
  return refused;
}

void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
  if (is_refused(size)) return MAP_FAILED;
  return (void *)syscall(SYS_mmap, at, size, protection, flags, file, offset);
}

int mprotect(void *at, size_t size, int protection) {
  return is_refused(size) ? -1 : (int)syscall(SYS_mprotect, at, size, protection);
}

int madvise(void *at, size_t size, int advice) {
  return is_refused(size) ? -1 : (int)syscall(SYS_madvise, at, size, advice);
}
