/* Regions where the system refuses a request: each one once, and all from each on. The library is compiled into this
 * unit, with system calls that fail on order.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#if defined(__linux__)
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static size_t attempts, fail_at, fail_from; /* counted from 1; 0: none */

static int fails(void) {
  attempts++;
  if (attempts != fail_at && (fail_from == 0 || attempts < fail_from)) return 0;
  errno = ENOMEM;
  return 1;
}

static int failing_memalign(void **p, size_t align, size_t size) {
  return fails() ? ENOMEM : posix_memalign(p, align, size);
}
static void *failing_mmap(void *p, size_t size, int protection, int flags, int file, off_t at) {
  return fails() ? MAP_FAILED : mmap(p, size, protection, flags, file, at);
}
static int failing_mprotect(void *p, size_t size, int protection) {
  return fails() ? -1 : mprotect(p, size, protection);
}
static long failing_syscall(long number, uintptr_t one, unsigned two) {
  return number == SYS_memfd_create && fails() ? -1 : syscall(number, one, two);
}
static ssize_t failing_pwrite(int file, const void *p, size_t size, off_t at) {
  return fails() ? -1 : pwrite(file, p, size > 50000 ? 50000 : size, at); /* in parts */
}

static int failing_open(const char *path, int how, ...) { return fails() ? -1 : open(path, how, 0600); }
static void *failing_realloc(void *p, size_t size) { return fails() ? NULL : realloc(p, size); }

#define TOFT_STATIC
#define open failing_open
#define realloc failing_realloc
#define posix_memalign failing_memalign
#define mmap failing_mmap
#define mprotect failing_mprotect
#define syscall(number, one, two) failing_syscall(number, (uintptr_t)(one), two)
#define pwrite failing_pwrite
#include "toft.c"
#undef open
#undef realloc
#undef posix_memalign
#undef mmap
#undef mprotect
#undef syscall
#undef pwrite

#include "support.h"

static size_t found, expected; /* findings of a checkpoint; without a refusal */
static void count(void *arg, const toft_finding *f) {
  (void)arg;
  assert_int_equal(f->kind, TOFT_FOUND_OUTSIDE);
  found++;
}

/* Returns whether each request was granted. A refused request leaves the region as it was. */
static int scenario(uint32_t flags) {
  toft_region_options o = TOFT_REGION_OPTIONS;
  o.flags = flags;
  o.max = (size_t)8 << 20;
  toft_region *r = toft_region_create(&o);
  if (r == NULL) return 0;
  int granted = 1, saved[3] = {0, 0, 0};
  toft_arena *a = toft_region_arena(r);
  int *n = a != NULL ? toft_new(a, int) : NULL;
  if (n == NULL) {
    toft_region_release(r);
    return 0;
  }
  *n = 0;
  static int outside = 1; /* in a mapping with a name */
  int **pointer = toft_new(a, int *);
  if (pointer == NULL) granted = 0;
  if (pointer != NULL) *pointer = &outside;
  for (int level = 1; level <= 2; level++) {
    *n = level;
    unsigned char *more = (unsigned char *)toft_alloc(a, (size_t)300000);
    granted &= more != NULL;
    if (more != NULL) memset(more, level, 300000);
    found = 0;
    int code = toft_region_checkpoint(r);
    if (!(flags & TOFT_REGION_CHECKED)) assert_int_equal(found, 0);
    assert_true(found <= 1); /* where the list of mappings is refused, none */
    granted &= found == expected;
    assert_true(code == TOFT_OK || code == TOFT_ENOMEM);
    granted &= code == TOFT_OK;
    saved[level] = code == TOFT_OK;
    assert_int_equal(*n, level);
    assert_true(more == NULL || (more[0] == level && more[299999] == level));
  }
  for (int level = 2; level >= 1; level--) {
    if (!saved[level]) continue;
    *n = 100;
    assert_int_equal(toft_region_restore(r), TOFT_OK); /* needs no memory */
    assert_int_equal(*n, level);
    int code = toft_region_drop_checkpoint(r);
    assert_true(code == TOFT_OK || code == TOFT_ENOMEM);
    assert_int_equal(*n, level);
    if (code == TOFT_OK) continue;
    granted = 0;
    break;
  }
  toft_region_release(r);
  return granted;
}

static void each_refusal(void **state) {
  (void)state;
  toft_on_finding(count, NULL);
  for (uint32_t flags = 0; flags <= 3; flags++) {
    (void)scenario(flags);
    expected = found; /* with pointers of 4 bytes an emulator may give the mapping no name */
    assert_true(sizeof(void *) == 4 || expected == ((flags & TOFT_REGION_CHECKED) != 0));
    for (int all = 0; all <= 1; all++) {
      size_t n = 0;
      int granted;
      do {
        n++;
        attempts = 0;
        fail_at = n;
        fail_from = all ? n : 0;
        granted = scenario(flags);
      } while (n < 1000 && (!granted || attempts >= n));
      fail_at = fail_from = 0;
      assert_true(n > 5 && n < 1000);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_refusal)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) { return 77; }
#endif
