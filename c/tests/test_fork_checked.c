/* A process with a checked arena forks while another thread holds the locks that checked arenas share. Needs no leases
 * and no frames, since a library without them may be forked too.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

#include <stdio.h>

#ifndef _WIN32
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* What checked arenas share. The other thread takes no memory: not every sanitizer's malloc can be forked beside it. */
static size_t forked; /* atomic */

static void *thread_says_places(void *arg) {
  while (!__atomic_load_n(&forked, __ATOMIC_RELAXED)) {
    toft_quarantine_trim();
    if (toft_site("a place") == 0) return NULL;
  }
  return arg;
}

static int check_in_the_child(toft_arena *a) {
  alarm(20); /* a deadlock must fail the test */
  if (toft_alloc(toft_at(a, "a place"), 8) == NULL) return 1;
  toft_release(a);
  toft_quarantine_trim();
  return 0;
}

static void a_child_checks(void **state) {
  pthread_t other;
  char done;
  void *result = NULL;
  (void)state;
  skip_where_forks_among_threads_stop();
  __atomic_store_n(&forked, 0, __ATOMIC_RELAXED);
  toft_arena *a = toft_create();
  assert_int_equal(toft_set_checked(a, 1), TOFT_OK);
  assert_int_equal(pthread_create(&other, NULL, thread_says_places, &done), 0);
  for (int i = 0; i < 100; i++) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(check_in_the_child(a));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
  }
  __atomic_store_n(&forked, 1, __ATOMIC_RELAXED);
  assert_int_equal(pthread_join(other, &result), 0);
  assert_ptr_equal(result, &done);
  toft_release(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_child_checks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
  puts("skipped: no fork here");
  return 77;
}

#endif
