/* A process with arenas and caches forks: parent and child go on with their own copies. A child reports by its exit
 * code, since an assertion there would go on with the parent's other tests.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "every_kind.h"

#include <stdio.h>

#ifndef _WIN32
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition) \
  if (!(condition)) return __LINE__ % 250 + 1

static void in_child(int (*work)(toft_arena *), toft_arena *a) {
  int status = 0;
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(work(a));
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0); /* else: the line of the CHECK, modulo 250, plus 1 */
}

static int churn(void) {
  for (int i = 0; i < 50; i++) {
    toft_arena *a = toft_create();
    CHECK(a != NULL);
    for (int k = 0; k < 200; k++) CHECK(toft_alloc(a, 300) != NULL);
    toft_release(a);
  }
  return 0;
}

static int use_inherited(toft_arena *a) {
  char *p = (char *)toft_alloc(a, 100000);
  CHECK(p != NULL);
  memset(p, 1, 100000);
  CHECK(toft_reset(a) == TOFT_OK);
  CHECK(toft_get_stats(a).live == 0);
  toft_release(a);
  CHECK(churn() == 0);
  toft_cache_trim();
  CHECK(toft_cache_bytes() == 0);
  return 0;
}

static void a_child_uses_an_inherited_arena(void **state) {
  (void)state;
  toft_arena *a = toft_create();
  unsigned char *p = (unsigned char *)toft_alloc(a, 9000);
  fill(p, 9000, 5);
  uint64_t live = toft_get_stats(a).live;
  in_child(use_inherited, a);
  assert_true(filled(p, 9000, 5));
  assert_int_equal(toft_get_stats(a).live, live);
  toft_release(a);
  assert_int_equal(churn(), 0);
}

static int cache_goes_on(toft_arena *a) {
  (void)a;
  size_t held = toft_cache_bytes();
  CHECK(held > 0);
  toft_arena *b = toft_create();
  CHECK(b != NULL);
  CHECK(toft_cache_bytes() < held);
  toft_release(b);
  return churn();
}

static void the_forking_threads_cache_goes_on(void **state) {
  (void)state;
  assert_int_equal(churn(), 0);
  assert_true(toft_cache_bytes() > 0);
  in_child(cache_goes_on, NULL);
}

static void *thread_churns(void *arg) { return churn() == 0 ? arg : NULL; }

static int threads_in_the_child(toft_arena *a) {
  pthread_t t;
  char done;
  void *result = NULL;
  (void)a;
  CHECK(pthread_create(&t, NULL, thread_churns, &done) == 0);
  CHECK(pthread_join(t, &result) == 0);
  CHECK(result == &done);
  return churn();
}

static void a_child_starts_threads(void **state) {
  (void)state;
  in_child(threads_in_the_child, NULL);
}

/* Each thread must have returned `result`. */
static void join_all(const pthread_t *threads, int count, const void *result) {
  for (int i = 0; i < count; i++) {
    void *returned = NULL;
    assert_int_equal(pthread_join(threads[i], &returned), 0);
    assert_ptr_equal(returned, result);
  }
}

/* What the other threads held is lost in the child, which leak checkers report when it exits. So it dies instead, if
 * all is well. */
static void *thread_forks(void *arg) {
  int status = 0;
  if (churn() != 0 || toft_cache_bytes() == 0) return NULL;
  pid_t child = fork();
  if (child == 0) {
    if (cache_goes_on(NULL) == 0) raise(SIGKILL);
    _exit(1);
  }
  return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? arg : NULL;
}

/* Forks while other threads allocate. */
static void threads_fork_at_once(void **state) {
  pthread_t threads[4];
  char done;
  (void)state;
  skip_where_forks_among_threads_stop();
  fflush(NULL);
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, thread_forks, &done), 0);
  join_all(threads, 4, &done);
}

static size_t forked; /* atomic */

/* Forks while other threads take and return pages of the process's cache, which a child must find free. */
static void *thread_takes_pages(void *arg) {
  while (!__atomic_load_n(&forked, __ATOMIC_RELAXED)) {
    toft_arena *a = toft_create();
    if (toft_alloc(a, 2 << 20) == NULL) return NULL;
    toft_release(a);
  }
  return arg;
}

static int returns_pages(toft_arena *a) {
  CHECK(toft_alloc(a, 8 << 20) != NULL);
  toft_release(a);
  CHECK(toft_page_cache_bytes() != 0);
  toft_cache_trim();
  CHECK(toft_page_cache_bytes() == 0);
  (void)execlp("true", "true", (char *)NULL); /* without a leak check: the other threads' memory is lost */
  return 1;
}

static void a_child_has_cached_pages(void **state) {
  pthread_t threads[3];
  char done;
  (void)state;
  skip_where_forks_among_threads_stop();
  toft_arena *a = toft_create();
  __atomic_store_n(&forked, 0, __ATOMIC_RELAXED);
  size_t limit = toft_page_cache_limit(32 << 20), window = toft_page_cache_window(60000);
  for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, thread_takes_pages, &done), 0);
  for (size_t i = 0; i < rounds_of(200); i++) in_child(returns_pages, a);
  __atomic_store_n(&forked, 1, __ATOMIC_RELAXED);
  join_all(threads, 3, &done);
  (void)toft_page_cache_limit(limit);
  (void)toft_page_cache_window(window);
  toft_release(a);
}

/* Forks while other threads use every kind of allocator, and while this thread has a claimed range, a lease and a
 * recycler's objects. */
static toft_frames *frames;
static size_t stop; /* atomic */

static void *thread_uses_every_kind(void *arg) {
  toft_recycler r;
  int good = toft_recycler_init(&r, NULL) == TOFT_OK;
  while (good && !__atomic_load_n(&stop, __ATOMIC_RELAXED)) good = use_every_kind(&r, frames);
  toft_recycler_release(&r);
  return good ? arg : NULL;
}

static int goes_on(toft_arena *a, toft_range *range, toft_recycler *r, unsigned char *object, toft_lease l) {
  alarm(20); /* a deadlock must fail the test */
  CHECK(filled(object, 3000, 7));
  CHECK(toft_range_alloc(a, range, 20) != NULL && toft_unclaim(a, range) == TOFT_OK);
  CHECK(toft_alloc(a, 9000) != NULL && toft_alloc(l.arena, 9000) != NULL && toft_lease_return(NULL, l) == TOFT_OK);
  for (int i = 0; i < 5; i++) CHECK(use_every_kind(r, frames));
  CHECK(toft_frames_advance(frames) == TOFT_OK && toft_alloc(toft_frame_arena(frames), 9000) != NULL);
  toft_leases_trim(NULL);
  toft_recycler_free(r, object, 3000);
  toft_recycler_release(r);
  toft_release(a);
  toft_cache_trim();
  return 0;
}

static void a_child_uses_every_kind(void **state) {
  pthread_t threads[3];
  toft_recycler r;
  toft_range range;
  char done;
  (void)state;
  skip_where_forks_among_threads_stop();
  toft_arena *a = toft_create();
  toft_lease l = toft_lease_get(NULL);
  frames = toft_frames_create(1, NULL);
  assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
  unsigned char *object = (unsigned char *)toft_recycler_alloc(&r, 3000, 8);
  fill(object, 3000, 7);
  assert_int_equal(toft_claim(a, &range), TOFT_OK);
  for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, thread_uses_every_kind, &done), 0);
  for (size_t i = 0; i < rounds_of(64); i++) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
      int code = goes_on(a, &range, &r, object, l);
      if (code == 0)
        (void)execlp("true", "true", (char *)NULL); /* without a leak check: the other threads' memory is lost */
      _exit(code);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  join_all(threads, 3, &done);
  assert_int_equal(goes_on(a, &range, &r, object, l), 0); /* the parent, too */
  alarm(0);
  assert_int_equal(toft_frames_release(frames), TOFT_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_child_uses_every_kind),
      cmocka_unit_test(a_child_uses_an_inherited_arena),
      cmocka_unit_test(the_forking_threads_cache_goes_on),
      cmocka_unit_test(a_child_starts_threads),
      cmocka_unit_test(threads_fork_at_once),
      cmocka_unit_test(a_child_has_cached_pages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
  puts("skipped: no fork here");
  return 77;
}

#endif
