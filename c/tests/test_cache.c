/* The thread's cache: the blocks that it keeps, its bound, and its end with the thread. Under TSan too.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#if !defined(_WIN32) && !defined(__wasi__)
#include <sys/wait.h>
#define HAS_BACKGROUND_THREAD
#endif

#include "support.h"

static void release_feeds_create(void **state) {
  (void)state;
  toft_cache_trim();
  assert_int_equal(toft_cache_bytes(), 0);
  toft_arena *a = toft_create();
  assert_non_null(toft_alloc(a, 100));
  toft_release(a);
  assert_int_equal(toft_cache_bytes(), 4096);
  toft_arena *b = toft_create();
  assert_ptr_equal(b, a);
  assert_int_equal(toft_cache_bytes(), 0);
  toft_release(b);
  toft_cache_trim();
  assert_int_equal(toft_cache_bytes(), 0);
}

static void a_cached_arena_is_as_new(void **state) {
  (void)state;
  for (int round = 0; round < 50; round++) {
    toft_arena *a = toft_create();
    toft_stats s = toft_get_stats(a);
    assert_true(s.live == 0 && s.allocated == 0 && s.peak == 0 && s.blocks == 1 && s.budget == UINT64_MAX);
    assert_int_equal(s.reserved, 4096);
    assert_true(!(a->epoch & 1) && a->limit - a->cursor == 3584);
    if (round % 5 == 0) assert_int_equal(toft_set_budget(a, 10), TOFT_OK);
    if (round % 5 == 1) assert_int_equal(toft_set_checked(a, 1), TOFT_OK);
    if (round % 5 == 2) assert_non_null(toft_alloc(a, 100000));
    if (round % 5 == 3) assert_int_equal(toft_reset(a), TOFT_OK);
    if (round % 7 == 0) {
      assert_int_equal(toft_set_budget(a, UINT64_MAX), TOFT_OK);
      for (int i = 0; i < 3; i++) {
        assert_non_null(toft_alloc(a, 300000));
        assert_int_equal(toft_reset(a), TOFT_OK);
      }
    }
    toft_release(a);
  }
}

static void the_cache_is_bounded(void **state) {
  toft_arena *all[64];
  (void)state;
  toft_cache_trim();
  size_t before = toft_cache_limit(100000);
  for (int i = 0; i < 64; i++) {
    all[i] = toft_create();
    for (int k = 0; k < 100; k++) assert_non_null(toft_alloc(all[i], 1000));
  }
  for (int i = 0; i < 64; i++) {
    toft_release(all[i]);
    assert_true(toft_cache_bytes() <= 100000);
  }
  toft_cache_trim();
  assert_int_equal(toft_cache_limit(0), 100000); /* off */
  toft_arena *a = toft_create();
  assert_non_null(toft_alloc(a, 2000000));
  for (int i = 0; i < 20; i++) assert_non_null(toft_alloc(a, 200000)); /* blocks of 1 MiB, without the pair */
  toft_release(a);
  assert_int_equal(toft_cache_bytes(), 0);
  toft_cache_limit(before);
}

#ifndef TOFT_OMIT_PAGE_CACHE
/* Bytes of the process in memory; 0: not known here. */
static size_t resident(void) { /* 0: not known, or with shadow memory that stays */
#if defined(__linux__) && !defined(HAS_MSAN)
  unsigned long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f == NULL || fscanf(f, "%*u %lu", &pages) != 1) pages = 0;
  if (f != NULL) (void)fclose(f);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
#else
  return 0;
#endif
}

static void one_arena(size_t bytes, size_t piece) {
  toft_arena *a = toft_create();
  for (size_t n = 0; n < bytes; n += piece) {
    void *p = toft_alloc(a, piece);
    assert_non_null(p);
    fill((unsigned char *)p, piece, 1);
  }
  toft_release(a);
}

static void pages_are_kept_as_they_are_used(void **state) {
  (void)state;
  toft_cache_trim();
  assert_int_equal(toft_page_cache_bytes(), 0);
  size_t window = toft_page_cache_window(3600 * 1000), limit = toft_page_cache_limit((size_t)256 << 20);
  one_arena(60 << 20, 1000);
  size_t held = toft_page_cache_bytes();
  assert_true(held >= (size_t)59 << 20 && held <= (size_t)64 << 20);
  for (int i = 0; i < 5; i++) { /* the next ones add nothing, also in other block sizes and on another thread */
    one_arena(60 << 20, i < 3 ? 1000 : (size_t)9 << 20);
    assert_true(toft_page_cache_bytes() <= held + ((size_t)10 << 20));
  }
  toft_cache_trim();
  assert_int_equal(toft_page_cache_bytes(), 0);
  toft_page_cache_window(window);
  toft_page_cache_limit(limit);
}

static void pages_go_back_when_they_are_not_used(void **state) {
  (void)state;
  toft_cache_trim();
  size_t window = toft_page_cache_window(200), floor = resident();
  size_t limit = toft_page_cache_limit((size_t)256 << 20);
  one_arena(60 << 20, 1000);
  assert_true(toft_page_cache_bytes() >= (size_t)59 << 20);
  struct timespec wait = {0, 450 * 1000 * 1000}; /* more than two windows */
  nanosleep(&wait, NULL);
  for (int i = 0; i < 100; i++) one_arena(20000, 1000); /* small arenas only */
  assert_int_equal(toft_page_cache_bytes(), 0);
  if (floor != 0) assert_true(resident() < floor + ((size_t)16 << 20));
  toft_page_cache_window(0);
  one_arena(60 << 20, 1000);
  one_arena(5 << 20, 1000);
  assert_true(toft_page_cache_bytes() <= (size_t)2 << 20);
  toft_page_cache_window(window);
  toft_page_cache_limit(limit);
}

#ifdef HAS_BACKGROUND_THREAD
/* Waits until the background thread has emptied the cache. */
static void wait_for_background(void) {
  struct timespec wait = {0, 20 * 1000 * 1000};
  for (int i = 0; i < 3000 && toft_page_cache_bytes() != 0; i++) nanosleep(&wait, NULL);
  assert_int_equal(toft_page_cache_bytes(), 0);
}

/* The pages are unmapped after they have left the cache. 0: unknown. */
static void wait_for_resident(size_t floor) {
  struct timespec wait = {0, 20 * 1000 * 1000};
  size_t most = floor + ((size_t)8 << 20);
  for (int i = 0; i < 3000 && floor != 0 && resident() >= most; i++) nanosleep(&wait, NULL);
  if (floor != 0) assert_true(resident() < most);
}

static void the_background_thread_returns_pages(void **state) {
  (void)state;
  toft_cache_trim();
  size_t floor = resident(), window = toft_page_cache_window(50), limit = toft_page_cache_limit((size_t)256 << 20);
  one_arena(200 << 20, 1000);
  assert_true(toft_page_cache_bytes() >= (size_t)199 << 20);
  assert_int_equal(toft_background_thread(1), TOFT_OK); /* the pages were there before */
  wait_for_background();
  wait_for_resident(floor);
  for (int i = 0; i < 3; i++) { /* a new thread each time, since the one before has ended */
    one_arena(30 << 20, 1000);
    wait_for_background();
  }
  one_arena(30 << 20, 1000);
  assert_int_equal(toft_background_thread(0), TOFT_OK);
  toft_cache_trim();
  toft_page_cache_window(3600 * 1000);
  one_arena(30 << 20, 1000);
  assert_true(toft_page_cache_bytes() >= (size_t)29 << 20); /* no thread returns it */
  assert_int_equal(toft_background_thread(1), TOFT_OK);
  assert_int_equal(toft_background_thread(0), TOFT_OK); /* does not wait for the window */
  toft_cache_trim();
  toft_page_cache_window(window);
  toft_page_cache_limit(limit);
}

#ifdef HAS_TSAN
/* A child inherits ThreadSanitizer's record of the parent's thread, which only the parent can join. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "report_thread_leaks=0"; }
#endif

/* A forked child does not have its parent's thread, and starts one. Valgrind takes what the C library keeps of a thread
 * that the child does not have for lost. */
static void a_child_has_a_background_thread_of_its_own(void **state) {
  (void)state;
#ifdef RUNNING_ON_VALGRIND
  if (RUNNING_ON_VALGRIND) skip();
#endif
  if (getenv("TOFT_EMULATED") != NULL) skip(); /* a fork among threads may stop user-mode emulation */
  toft_cache_trim();
  size_t window = toft_page_cache_window(50), limit = toft_page_cache_limit((size_t)256 << 20);
  assert_int_equal(toft_background_thread(1), TOFT_OK);
  for (int ended = 0; ended < 2; ended++) {
    one_arena(30 << 20, 1000);
    if (ended) wait_for_background();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
      one_arena(30 << 20, 1000);
      wait_for_background();
      _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
  assert_int_equal(toft_background_thread(0), TOFT_OK);
  toft_cache_trim();
  toft_page_cache_window(window);
  toft_page_cache_limit(limit);
}
#endif

static void the_cache_of_pages_is_bounded(void **state) {
  (void)state;
  toft_cache_trim();
  size_t before = toft_page_cache_limit((size_t)8 << 20);
  one_arena(60 << 20, 1000);
  assert_true(toft_page_cache_bytes() <= (size_t)8 << 20 && toft_page_cache_bytes() > (size_t)6 << 20);
  assert_int_equal(toft_page_cache_limit(0), 8 << 20);
  assert_int_equal(toft_page_cache_bytes(), 0);
  one_arena(60 << 20, 1000);
  assert_int_equal(toft_page_cache_bytes(), 0);
  /* One block of two exceeds the limit by less than its size. */
  toft_page_cache_limit((size_t)30 << 20);
  toft_arena *a = toft_create(), *b = toft_create();
  assert_true(toft_alloc(a, 20 << 20) && toft_alloc(b, 20 << 20));
  toft_release(a);
  toft_release(b);
  assert_true(toft_page_cache_bytes() <= (size_t)30 << 20);
  toft_page_cache_limit(before);
}

/* Ranges of the heap source are disjoint, keep their bytes, and end as one range. */
static void page_ranges_split_and_merge(void **state) {
  enum { N = 64 };
  struct {
    unsigned char *p;
    size_t size;
  } held[N] = {{NULL, 0}};
  uint64_t seed = 7;
  (void)state;
  toft_cache_trim();
  size_t window = toft_page_cache_window(3600 * 1000), limit = toft_page_cache_limit((size_t)256 << 20);
  for (int step = 0; step < (long_run() ? 200000 : 1500); step++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    unsigned i = (unsigned)(seed >> 33) % N;
    if (held[i].p != NULL) {
      assert_true(filled(held[i].p, 64, i) && filled(held[i].p + held[i].size - 64, 64, i));
      toft_heap()->put(toft_heap(), held[i].p, held[i].size);
      held[i].p = NULL;
    } else {
      held[i].size = (size_t)1 << 20;
      if (seed >> 62 == 0) held[i].size += (size_t)((seed >> 40) % 500) * 4096;
      assert_non_null(held[i].p = (unsigned char *)toft_heap()->take(toft_heap(), held[i].size));
      fill(held[i].p, 64, i);
      fill(held[i].p + held[i].size - 64, 64, i);
    }
  }
  for (unsigned i = 0; i < N; i++)
    if (held[i].p != NULL) toft_heap()->put(toft_heap(), held[i].p, held[i].size);
  size_t all = toft_page_cache_bytes();
  assert_true(all >= (size_t)32 << 20);
  toft_cache_trim();
  assert_int_equal(toft_page_cache_bytes(), 0);
  toft_page_cache_window(window);
  toft_page_cache_limit(limit);
}

static void *page_worker(void *arg) {
  unsigned seed = (unsigned)(uintptr_t)arg;
  for (unsigned round = 0; round < (long_run() ? 400u : 40u); round++) {
    toft_arena *a = toft_create();
    for (unsigned i = 0; i < 4; i++) {
      size_t size = ((size_t)(seed + round * i) % 3 + 1) << 20;
      unsigned char *p = (unsigned char *)toft_alloc(a, size);
      if (p == NULL) return (void *)1;
      fill(p, 64, seed + i);
      fill(p + size - 64, 64, seed + i);
      if (!filled(p, 64, seed + i) || !filled(p + size - 64, 64, seed + i)) return (void *)1;
    }
    toft_release(a);
    if (round % 16 == seed) toft_cache_trim();
  }
  return NULL;
}

static void threads_share_pages(void **state) {
  pthread_t threads[8];
  (void)state;
  for (uintptr_t i = 0; i < 8; i++) assert_int_equal(pthread_create(&threads[i], NULL, page_worker, (void *)i), 0);
  for (int i = 0; i < 8; i++) {
    void *result;
    pthread_join(threads[i], &result);
    assert_null(result);
  }
}
#endif

static void blocks_come_back(void **state) {
  (void)state;
  toft_cache_trim();
  for (int round = 0; round < 3; round++) {
    toft_arena *a = toft_create();
    for (int i = 0; i < 1500; i++) assert_non_null(toft_alloc(a, 1000));
    toft_release(a);
    assert_true(toft_cache_bytes() > 900000 && toft_cache_bytes() <= (size_t)4 << 20);
  }
  toft_cache_trim();
}

static void *worker(void *arg) {
  unsigned seed = (unsigned)(uintptr_t)arg;
  for (unsigned round = 0; round < (long_run() ? 4000u : 120u); round++) {
    toft_arena *a = toft_create();
    for (unsigned i = 0; i < 50; i++) {
      size_t size = (seed + round * i * 31u) % 3000;
      unsigned char *p = (unsigned char *)toft_alloc(a, size);
      if (p == NULL) return (void *)1;
      fill(p, size, seed + i);
      if (!filled(p, size, seed + i)) return (void *)1;
    }
    if (round % 3 == 0) (void)toft_reset(a);
    toft_release(a);
    if (round % 64 == 0) toft_cache_trim();
    if (round % 100 == 0) toft_cache_limit((size_t)(1 + seed % 4) << 20);
  }
  return NULL;
}

static void threads_are_independent(void **state) {
  pthread_t threads[8];
  (void)state;
  for (uintptr_t i = 0; i < 8; i++) assert_int_equal(pthread_create(&threads[i], NULL, worker, (void *)i), 0);
  for (int i = 0; i < 8; i++) {
    void *result;
    pthread_join(threads[i], &result);
    assert_null(result);
  }
}

static toft_arena *handed;
static void *provider(void *arg) {
  (void)arg;
  handed = toft_create();
  fill(toft_alloc(handed, 1000), 1000, 3);
  for (int i = 0; i < 100; i++) (void)!toft_alloc(handed, 1000);
  return NULL;
}

static void an_arena_moves_between_threads(void **state) {
  (void)state;
  for (int i = 0; i < 200; i++) { /* made there, used and released here */
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, provider, NULL), 0);
    pthread_join(t, NULL);
    assert_non_null(toft_alloc(handed, 5000));
    assert_int_equal(toft_reset(handed), TOFT_OK);
    toft_release(handed);
  }
}

/* A destructor of another key may run after ours: the blocks that it releases are returned to the system, not to the
 * cache, which has ended. */
static pthread_key_t late_key;
static void late(void *arg) {
  toft_arena *a = toft_create();
  if (a != NULL) toft_release(a);
  toft_release((toft_arena *)arg);
}
static void *late_thread(void *arg) {
  (void)arg;
  toft_arena *a = toft_create();
  toft_release(toft_create()); /* registers the library's destructor for this thread */
  pthread_setspecific(late_key, a);
  return NULL;
}

static void destructors_come_in_any_order(void **state) {
  (void)state;
  assert_int_equal(pthread_key_create(&late_key, late), 0);
  for (int i = 0; i < 20; i++) {
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, late_thread, NULL), 0);
    pthread_join(t, NULL);
  }
  pthread_key_delete(late_key);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(release_feeds_create),
      cmocka_unit_test(a_cached_arena_is_as_new),
      cmocka_unit_test(the_cache_is_bounded),
#ifndef TOFT_OMIT_PAGE_CACHE
      cmocka_unit_test(pages_are_kept_as_they_are_used),
      cmocka_unit_test(pages_go_back_when_they_are_not_used),
#ifdef HAS_BACKGROUND_THREAD
      cmocka_unit_test(the_background_thread_returns_pages),
      cmocka_unit_test(a_child_has_a_background_thread_of_its_own),
#endif
      cmocka_unit_test(the_cache_of_pages_is_bounded),
      cmocka_unit_test(page_ranges_split_and_merge),
      cmocka_unit_test(threads_share_pages),
#endif
      cmocka_unit_test(blocks_come_back),
      cmocka_unit_test(threads_are_independent),
      cmocka_unit_test(an_arena_moves_between_threads),
      cmocka_unit_test(destructors_come_in_any_order),
  };
  return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
