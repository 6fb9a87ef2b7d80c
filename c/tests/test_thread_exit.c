/* Threads that end: their destructors of thread-specific data use every kind of allocator, before the library's own
 * destructor and after it; and their objects are used and released by other threads.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>

#include "every_kind.h"

typedef struct worker {
  toft_arena *arena, *theirs; /* made by the thread; made by the main thread, and released here at the end */
  toft_recycler recycler;
  toft_sync_recycler *shared_recycler;
  toft_shared *shared;
  toft_lease lease;
  unsigned char *p[6];
  int calls, good;
} worker;

static pthread_key_t early, late; /* the library's key is made between them */
static toft_frames *frames;
static int cleaned; /* atomic: cleanups run on the thread that releases */

static void clean(void *arg) {
  (void)arg;
  __atomic_add_fetch(&cleaned, 1, __ATOMIC_RELAXED);
}

/* A destructor that has a value again is called again, some times; the last time belongs to ThreadSanitizer. */
static void use(worker *w, pthread_key_t key) {
  w->good = w->good && use_every_kind(&w->recycler, frames);
  if (++w->calls < 4)
    pthread_setspecific(key, w);
  else if (w->theirs != NULL) {
    toft_release(w->theirs);
    w->theirs = NULL;
  }
}
static void use_early(void *w) { use((worker *)w, early); }
static void use_late(void *w) { use((worker *)w, late); }

static void *work(void *arg) {
  worker *w = (worker *)arg;
  pthread_setspecific(early, w);
  pthread_setspecific(late, w);
  w->arena = toft_create();
  w->shared = toft_shared_create(NULL);
  w->shared_recycler = toft_sync_recycler_create(NULL);
  w->lease = toft_lease_get(NULL);
  if (w->arena == NULL || w->shared == NULL || w->shared_recycler == NULL || w->lease.arena == NULL) return NULL;
  toft_arena *local = toft_shared_local(w->shared);
  if (local == NULL || toft_cleanup_add(local, clean, NULL) == NULL ||
      toft_cleanup_add(w->arena, clean, NULL) == NULL ||
      toft_cleanup_add(toft_frame_arena(frames), clean, NULL) == NULL)
    return NULL;
  w->p[0] = (unsigned char *)toft_alloc(w->arena, 5000);
  w->p[1] = (unsigned char *)toft_alloc(local, 5000);
  w->p[2] = (unsigned char *)toft_alloc(w->lease.arena, 5000);
  w->p[3] = (unsigned char *)toft_sync_recycler_alloc(w->shared_recycler, 5000, 8);
  w->p[4] = (unsigned char *)toft_recycler_alloc(&w->recycler, 5000, 8);
  w->p[5] = (unsigned char *)toft_alloc(toft_frame_arena(frames), 5000);
  for (unsigned i = 0; i < 6; i++) {
    if (w->p[i] == NULL) return NULL;
    fill(w->p[i], 5000, i);
  }
  w->good = use_every_kind(&w->recycler, frames);
  return arg;
}

static void threads_end_in_any_order(void **state) {
  enum { THREADS = 4 };
  static worker workers[THREADS];
  (void)state;
  assert_int_equal(pthread_key_create(&early, use_early), 0);
  frames = toft_frames_create(1, NULL);
  assert_non_null(toft_frame_arena(frames));
  assert_int_equal(pthread_key_create(&late, use_late), 0);
  for (size_t round = 0; round < rounds_of(40); round++) {
    pthread_t threads[THREADS];
    cleaned = 0;
    for (int i = 0; i < THREADS; i++) {
      worker *w = &workers[i];
      memset(w, 0, sizeof *w);
      assert_int_equal(toft_recycler_init(&w->recycler, NULL), TOFT_OK);
      w->theirs = toft_create();
      assert_non_null(toft_alloc(w->theirs, 5000));
      assert_int_equal(pthread_create(&threads[i], NULL, work, w), 0);
    }
    for (int i = 0; i < THREADS; i++) {
      void *done;
      worker *w = &workers[i];
      assert_int_equal(pthread_join(threads[i], &done), 0);
      assert_ptr_equal(done, w);
      assert_true(w->good && w->calls >= 4 && w->theirs == NULL);
      for (unsigned k = 0; k < 6; k++) assert_true(filled(w->p[k], 5000, k));
      assert_non_null(toft_alloc(w->arena, 50000));
      toft_sync_recycler_free(w->shared_recycler, w->p[3], 5000);
      toft_recycler_free(&w->recycler, w->p[4], 5000);
      assert_int_equal(toft_recycler_get_stats(&w->recycler).used, 0);
      toft_release(w->arena);
      assert_int_equal(toft_shared_release(w->shared), TOFT_OK);
      assert_int_equal(toft_lease_return(NULL, w->lease), TOFT_OK);
      toft_sync_recycler_release(w->shared_recycler);
      toft_recycler_release(&w->recycler);
    }
    assert_int_equal(cleaned, 2 * THREADS);
    assert_int_equal(toft_frames_advance(frames), TOFT_OK);
    assert_int_equal(cleaned, 3 * THREADS);
  }
  assert_int_equal(toft_frames_release(frames), TOFT_OK);
  pthread_key_delete(early);
  pthread_key_delete(late);
  toft_leases_trim(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads_end_in_any_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
