/* Freezing and opening where the system refuses a request: each one once, and all from each on; and a process that ends
 * at any of them. The library is compiled into this unit, with calls that fail on order.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#if defined(__linux__)
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t attempts, fail_at, fail_from; /* counted from 1; 0: none */
static int ends;                            /* the process ends instead */

static int fails(void) {
  attempts++;
  if (attempts != fail_at && (fail_from == 0 || attempts < fail_from)) return 0;
  if (ends) _exit(0);
  errno = EIO;
  return 1;
}

static int failing_memalign(void **p, size_t align, size_t size) {
  return fails() ? ENOMEM : posix_memalign(p, align, size);
}
static void *failing_realloc(void *p, size_t size) { return fails() ? NULL : realloc(p, size); }
static void *failing_mmap(void *p, size_t size, int protection, int flags, int file, off_t at) {
  return fails() ? MAP_FAILED : mmap(p, size, protection, flags, file, at);
}
static int failing_mprotect(void *p, size_t size, int protection) {
  return fails() ? -1 : mprotect(p, size, protection);
}
static int failing_open(const char *path, int flags, unsigned mode) { return fails() ? -1 : open(path, flags, mode); }
#define failing_open_2(path, flags) failing_open(path, flags, 0)
#define failing_open_3(path, flags, mode) failing_open(path, flags, mode)
#define failing_open_of(path, flags, mode, name, ...) name
static ssize_t failing_pwrite(int file, const void *p, size_t size, off_t at) {
  return fails() ? -1 : pwrite(file, p, size > 3000 ? 3000 : size, at); /* in parts */
}
static int failing_fsync(int file) { return fails() ? -1 : fsync(file); }
static int failing_close(int file) {
  int failed = fails(); /* the descriptor is closed in any case */
  return close(file) != 0 || failed ? -1 : 0;
}
static int failing_rename(const char *from, const char *to) { return fails() ? -1 : rename(from, to); }
static int failing_unlink(const char *path) { return ends && fails() ? -1 : unlink(path); }
static int failing_stat(const char *path, struct stat *s) { return fails() ? -1 : stat(path, s); }
static int failing_lstat(const char *path, struct stat *s) { return fails() ? -1 : lstat(path, s); }
static ssize_t failing_readlink(const char *path, char *to, size_t size) {
  return fails() ? -1 : readlink(path, to, size);
}
static int failing_fchown(int file, uid_t owner, gid_t group) { return fails() ? -1 : fchown(file, owner, group); }
static int failing_fchmod(int file, mode_t mode) { return fails() ? -1 : fchmod(file, mode); }
static int failing_fstat(int file, struct stat *s) { return fails() ? -1 : fstat(file, s); }
static ssize_t failing_read(int file, void *p, size_t size) {
  return fails() ? -1 : read(file, p, size > 3000 ? 3000 : size); /* in parts */
}

#define TOFT_STATIC
#define posix_memalign failing_memalign
#define realloc failing_realloc
#define mmap failing_mmap
#define mprotect failing_mprotect
#define open(...) failing_open_of(__VA_ARGS__, failing_open_3, failing_open_2, )(__VA_ARGS__)
#define pwrite failing_pwrite
#define fsync failing_fsync
#define close failing_close
#define rename failing_rename
#define unlink failing_unlink
#define stat(path, s) failing_stat(path, s)
#define lstat failing_lstat
#define readlink failing_readlink
#define fchown failing_fchown
#define fchmod failing_fchmod
#define fstat failing_fstat
#define read failing_read
#include "toft.c"
#undef posix_memalign
#undef realloc
#undef mmap
#undef mprotect
#undef open
#undef pwrite
#undef fsync
#undef close
#undef rename
#undef unlink
#undef stat
#undef lstat
#undef readlink
#undef fchown
#undef fchmod
#undef fstat
#undef read

#include "support.h"

static char folder[64], path[96];

typedef struct item {
  struct item *next;
  int value;
} item;

/* `*value` items, or no root if there is no memory. */
static void *build(toft_region *r, void *value) {
  toft_malloc *m = toft_region_malloc(r);
  item *list = NULL;
  if (m == NULL) return NULL;
  for (int i = 0; i < *(int *)value; i++) {
    item *n = (item *)toft_malloc_alloc(m, sizeof *n);
    if (n == NULL) return NULL;
    n->next = list;
    n->value = *(int *)value;
    list = n;
  }
  return list;
}

/* The value of a whole file; 0: there is none, or a part. */
static int value_of_file(void) {
  toft_frozen f;
  toft_frozen_options o = TOFT_FROZEN_OPTIONS;
  o.flags = TOFT_FROZEN_VERIFY;
  if (toft_frozen_open(&f, path, &o) != TOFT_OK) return 0;
  int count = 0, value = ((item *)f.root)->value;
  for (const item *n = (const item *)f.root; n != NULL; n = n->next) count++;
  toft_frozen_close(&f);
  return count == value ? value : 0;
}

static int freeze_value(int value) {
  toft_freeze_options o = TOFT_FREEZE_OPTIONS;
  o.max = (size_t)1 << 20;
  return toft_freeze(build, &value, path, &o);
}

/* The files in the folder. */
static int files_in_folder(void) {
  char command[160];
  int n = -1;
  snprintf(command, sizeof command, "ls -A %s | wc -l", folder);
  FILE *in = popen(command, "r");
  if (in == NULL || fscanf(in, "%d", &n) != 1) n = -1;
  if (in != NULL) pclose(in);
  return n;
}

static void no_refusals(void) {
  attempts = fail_at = fail_from = 0;
  ends = 0;
}

static void each_refusal_of_a_freeze(void **state) {
  (void)state;
  assert_int_equal(freeze_value(5), TOFT_OK);
  for (int all = 0; all <= 1; all++) {
    size_t n = 0;
    int code;
    do {
      n++;
      attempts = 0;
      fail_at = n;
      fail_from = all ? n : 0;
      code = freeze_value(6);
      size_t requests = attempts;
      no_refusals();
      assert_true(code == TOFT_OK || code == TOFT_ENOMEM || code == TOFT_EIO || code == TOFT_ECONTENT);
      assert_int_equal(value_of_file(), code == TOFT_OK ? 6 : 5);
      assert_int_equal(files_in_folder(), 1);
      if (code == TOFT_OK) assert_int_equal(freeze_value(5), TOFT_OK);
      attempts = requests;
    } while (attempts >= n);
    assert_true(n > 15);
  }
}

static void each_refusal_of_an_opening(void **state) {
  (void)state;
  assert_int_equal(freeze_value(5), TOFT_OK);
  for (uint32_t flags = 0; flags <= TOFT_FROZEN_ELSEWHERE; flags++)
    for (int all = 0; all <= 1; all++) {
      size_t n = 0;
      do {
        toft_frozen f;
        toft_frozen_options o = TOFT_FROZEN_OPTIONS;
        o.flags = flags;
        n++;
        attempts = 0;
        fail_at = n;
        fail_from = all ? n : 0;
        int code = toft_frozen_open(&f, path, &o);
        size_t requests = attempts;
        no_refusals();
        if (code == TOFT_OK) {
          assert_int_equal(((item *)f.root)->value, 5);
          toft_frozen_close(&f);
        } else {
          assert_int_equal(code, TOFT_EIO);
          assert_null(f.root);
        }
        attempts = requests;
      } while (attempts >= n);
      assert_true(n > 4);
    }
}

/* A process that ends at any request leaves the old file or the new one. */
static void a_process_ends_at_each_request(void **state) {
  (void)state;
  skip_where_forks_among_threads_stop();
  int old = 0, new = 0, status = -1;
  for (size_t n = 1; status != 1 << 8; n++) {
    assert_int_equal(freeze_value(5), TOFT_OK);
    pid_t child = fork();
    if (child == 0) {
      attempts = 0;
      fail_at = n;
      ends = 1;
      _exit(freeze_value(6) == TOFT_OK ? 1 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(status == 0 || status == 1 << 8);
    int value = value_of_file();
    assert_true(value == 5 || value == 6);
    value == 5 ? old++ : new ++;
  }
  assert_true(old > 15 && new > 1);
  char command[160];
  snprintf(command, sizeof command, "cd %s && rm -f * .toft-*", folder);
  assert_int_equal(system(command), 0);
}

static int make_folder(void **state) {
  (void)state;
  const char *parent = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.40s/toft-freeze-XXXXXX", parent != NULL ? parent : P_tmpdir);
  if (mkdtemp(folder) == NULL) return 1;
  snprintf(path, sizeof path, "%s/file", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  remove(path);
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_refusal_of_a_freeze),
      cmocka_unit_test(each_refusal_of_an_opening),
      cmocka_unit_test(a_process_ends_at_each_request),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
#else
int main(void) { return 77; }
#endif
