/* Frames of threads that come and go: what each frame empties, the very end of a thread, forks. Under TSan.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "frames.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <sys/wait.h>
#include <unistd.h>
#endif

/* ---- threads ---- */

static void *one_frame(void *frames) {
  toft_arena *a = toft_frame_arena((toft_frames *)frames);
  unsigned char *p = (unsigned char *)toft_alloc(a, 4000);
  if (a == NULL || p == NULL) return NULL;
  fill(p, 4000, 1);
  return (void *)(uintptr_t)filled(p, 4000, 1);
}

static void threads_come_and_go(void **state) {
  toft_frames *f = toft_frames_create(2, NULL);
  (void)state;
  for (size_t i = 1; i <= rounds_of(10000); i++) {
    assert_int_equal(in_thread(one_frame, f), 1);
    if (i % 10 == 0) assert_int_equal(toft_frames_advance(f), TOFT_OK);
  }
  toft_frame_stats s = stats_of(f);
  assert_int_equal(s.threads, 0);
  assert_int_equal(s.arenas, 2); /* one thread at a time, two buffers */
  assert_true(s.reserved < 300000);
  assert_int_equal(toft_frames_advance(f), TOFT_OK);
  assert_int_equal(toft_frames_advance(f), TOFT_OK);
  assert_int_equal(toft_frames_trim(f, 0), TOFT_OK); /* those of threads that have ended, end */
  assert_int_equal(stats_of(f).arenas, 0);
  assert_int_equal(in_thread(one_frame, f), 1);
  assert_int_equal(toft_frames_release(f), TOFT_OK);
}

static size_t emptied; /* cleanups that ran */

static void count_emptied(void *arg) {
  (void)arg;
  emptied++;
}

static void *pin_mine(void *arg) {
  toft_arena *a = toft_frame_arena((toft_frames *)arg);
  int good = toft_alloc(a, 100) != NULL && toft_cleanup_add(a, count_emptied, NULL) != NULL; /* not pinned */
  return (void *)(uintptr_t)(good && toft_pin(a, 1) == TOFT_OK);
}

static void hear(void *arg, const toft_finding *f) {
  (void)f;
  ++*(size_t *)arg;
}

/* A pin excludes other threads, but not the frames. */
static void pinned_arenas_are_emptied(void **state) {
  toft_options o = TOFT_OPTIONS;
  size_t found = 0;
  (void)state;
  o.flags = TOFT_CHECKED;
  toft_frames *f = toft_frames_create(1, &o);
  assert_non_null(f);
  toft_on_finding(hear, &found);
  for (int i = 0; i < 2; i++) assert_int_equal(in_thread(pin_mine, f), 1);
  emptied = 0;
  assert_int_equal(toft_frames_advance(f), TOFT_OK);
  assert_int_equal(emptied, 2);
  assert_int_equal(stats_of(f).live, 0);
  assert_int_equal(in_thread(pin_mine, f), 1);
  assert_int_equal(toft_frames_trim(f, 0), TOFT_OK);
  assert_int_equal(toft_frames_release(f), TOFT_OK);
  assert_int_equal(emptied, 3);
  assert_int_equal(found, 0);
  toft_on_finding(NULL, NULL);
}

typedef struct member {
  crew *c;
  size_t number;
} member;

/* Each reads what its neighbour wrote in this frame and in the one before. */
static void *play(void *arg) {
  const member *m = (const member *)arg;
  crew *c = m->c;
  size_t wrong = 0, next = (m->number + 1) % THREADS;
  for (size_t round = 0; round < c->rounds; round++) {
    toft_arena *a = toft_frame_arena(c->frames);
    size_t size = 100 + (round * 37 + m->number * 91) % 3000;
    if (a == NULL) return (void *)(uintptr_t)1;
    {
      TOFT_FRAME(c->frames, scratch);
      wrong += toft_alloc(scratch, 700) == NULL;
    }
    unsigned char *p = (unsigned char *)toft_alloc(a, size);
    if (p == NULL) return (void *)(uintptr_t)1;
    fill(p, size, (unsigned)(round + m->number));
    c->written[round % 3][m->number] = p;
    wrong += toft_frames_arrive_and_wait(c->gate) != TOFT_OK;
    size = 100 + (round * 37 + next * 91) % 3000;
    wrong += !filled(c->written[round % 3][next], size, (unsigned)(round + next));
    if (round > 0) {
      size = 100 + ((round - 1) * 37 + next * 91) % 3000;
      wrong += !filled(c->written[(round - 1) % 3][next], size, (unsigned)(round - 1 + next));
    }
    wrong += toft_frames_arrive_and_wait(c->frames) != TOFT_OK;
    wrong += toft_frames_number(c->frames) != round + 1;
  }
  return (void *)(uintptr_t)wrong;
}

static void all_threads_advance_together(void **state) {
  pthread_t threads[THREADS];
  member members[THREADS];
  crew c;
  (void)state;
  memset(&c, 0, sizeof c);
  c.frames = toft_frames_create(2, NULL);
  c.gate = toft_frames_create(1, NULL);
  assert_int_equal(toft_frames_set_parties(c.frames, THREADS), TOFT_OK);
  assert_int_equal(toft_frames_set_parties(c.gate, THREADS), TOFT_OK);
  c.rounds = long_run() ? 20000 : rounds_of(600);
  for (size_t i = 0; i < THREADS; i++) {
    members[i].c = &c;
    members[i].number = i;
    assert_int_equal(pthread_create(&threads[i], NULL, play, &members[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    void *wrong;
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
  assert_int_equal(toft_frames_number(c.gate), c.rounds);
  assert_int_equal(stats_of(c.frames).arenas, 2 * THREADS);
  assert_int_equal(toft_frames_release(c.gate), TOFT_OK);
  assert_int_equal(toft_frames_release(c.frames), TOFT_OK);
}

/* Threads that enter and leave, and one that advances whenever it may. */
static size_t entered_and_left(crew *c) {
  size_t done = 0;
  while (done < c->rounds) {
    int code = toft_frame_enter(c->frames);
    if (code == TOFT_EBUSY) {
      sched_yield();
      continue;
    }
    toft_arena *a = toft_frame_arena(c->frames);
    unsigned char *p = code == TOFT_OK && a != NULL ? (unsigned char *)toft_alloc(a, 300) : NULL;
    if (p == NULL) return 1;
    fill(p, 300, (unsigned)done);
    if (!filled(p, 300, (unsigned)done)) return 2; /* it was not emptied */
    if (toft_frame_leave(c->frames) != TOFT_OK) return 3;
    done++;
  }
  return 0;
}

static void *enter_and_leave(void *arg) {
  crew *c = (crew *)arg;
  size_t wrong = entered_and_left(c);
  __atomic_add_fetch(&c->ended, 1, __ATOMIC_RELEASE); /* or the other thread would not end */
  return (void *)(uintptr_t)wrong;
}

static void advance_does_not_wait(void **state) {
  pthread_t threads[THREADS];
  crew c;
  (void)state;
  memset(&c, 0, sizeof c);
  c.frames = toft_frames_create(1, NULL);
  c.rounds = long_run() ? 100000 : rounds_of(3000);
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, enter_and_leave, &c), 0);
  size_t good = 0;
  while (__atomic_load_n(&c.ended, __ATOMIC_ACQUIRE) < THREADS) {
    int code = toft_frames_advance(c.frames);
    assert_true(code == TOFT_OK || code == TOFT_EBUSY);
    good += code == TOFT_OK;
    if (good % 5 == 1) (void)toft_frames_trim(c.frames, 0);
    sched_yield();
  }
  for (int i = 0; i < THREADS; i++) {
    void *wrong;
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
  assert_int_equal(toft_frames_number(c.frames), good);
  assert_int_equal(toft_frames_advance(c.frames), TOFT_OK);
  assert_int_equal(stats_of(c.frames).live, 0);
  assert_int_equal(toft_frames_release(c.frames), TOFT_OK);
}

/* Threads that register, or take over the entry of one that has ended, while another thread advances. */
static void *enter_pin_and_end(void *arg) {
  crew *c = (crew *)arg;
  int code;
  while ((code = toft_frame_enter(c->frames)) == TOFT_EBUSY) sched_yield();
  toft_arena *a = toft_frame_arena(c->frames);
  size_t wrong = code != TOFT_OK || a == NULL || toft_alloc(a, 100) == NULL || toft_pin(a, 1) != TOFT_OK;
  wrong += toft_frame_leave(c->frames) != TOFT_OK;
  __atomic_add_fetch(&c->ended, 1, __ATOMIC_RELEASE);
  return (void *)(uintptr_t)wrong;
}

static void threads_come_while_frames_end(void **state) {
  toft_options o = TOFT_OPTIONS;
  crew c;
  (void)state;
  memset(&c, 0, sizeof c);
  o.flags = TOFT_CHECKED;
  c.frames = toft_frames_create(1, &o);
  for (size_t i = 0, rounds = rounds_of(200); i < rounds; i++) {
    pthread_t threads[2];
    c.ended = 0;
    for (int k = 0; k < 2; k++) assert_int_equal(pthread_create(&threads[k], NULL, enter_pin_and_end, &c), 0);
    while (__atomic_load_n(&c.ended, __ATOMIC_ACQUIRE) < 2) {
      int code = i % 5 == 1 ? toft_frames_trim(c.frames, 0) : toft_frames_advance(c.frames);
      assert_true(code == TOFT_OK || code == TOFT_EBUSY);
      sched_yield();
    }
    for (int k = 0; k < 2; k++) {
      void *wrong;
      pthread_join(threads[k], &wrong);
      assert_null(wrong);
    }
  }
  assert_int_equal(toft_frames_release(c.frames), TOFT_OK);
}

static void *parked(void *arg) {
  crew *c = (crew *)arg;
  for (int i = 0; i < 50; i++)
    if (toft_alloc(toft_frame_arena(c->frames), 2000) == NULL) return (void *)1;
  at_phase(c, 1);
  until(c, 2);
  return toft_alloc(toft_frame_arena(c->frames), 2000) == NULL ? (void *)2 : NULL;
}

static void a_parked_thread_is_emptied_and_trimmed(void **state) {
  pthread_t t;
  crew c;
  void *wrong;
  (void)state;
  memset(&c, 0, sizeof c);
  c.frames = toft_frames_create(1, NULL);
  pthread_mutex_init(&c.lock, NULL);
  pthread_cond_init(&c.changed, NULL);
  assert_int_equal(pthread_create(&t, NULL, parked, &c), 0);
  until(&c, 1);
  assert_int_equal(stats_of(c.frames).live, 100000);
  assert_int_equal(stats_of(c.frames).threads, 1);
  assert_int_equal(toft_frames_advance(c.frames), TOFT_OK);
  assert_int_equal(stats_of(c.frames).live, 0);
  assert_int_equal(toft_frames_trim(c.frames, 0), TOFT_OK);
  assert_int_equal(stats_of(c.frames).reserved, 4096);
  at_phase(&c, 2);
  pthread_join(t, &wrong);
  assert_null(wrong);
  assert_int_equal(stats_of(c.frames).live, 2000);
  assert_int_equal(toft_frames_release(c.frames), TOFT_OK);
  pthread_mutex_destroy(&c.lock);
  pthread_cond_destroy(&c.changed);
}

static void *outlive(void *arg) {
  crew *c = (crew *)arg;
  size_t good = (size_t)(uintptr_t)one_frame(c->frames);
  at_phase(c, 1);
  until(c, 2);
  toft_frames *f = toft_frames_create(1, NULL);
  good += (size_t)(uintptr_t)one_frame(f);
  return (void *)(uintptr_t)(good + (toft_frames_release(f) == TOFT_OK));
}

static void frames_end_before_their_threads(void **state) {
  (void)state;
  for (int i = 0; i < 10; i++) {
    pthread_t t;
    crew c;
    void *good;
    memset(&c, 0, sizeof c);
    c.frames = toft_frames_create(3, NULL);
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.changed, NULL);
    assert_int_equal(pthread_create(&t, NULL, outlive, &c), 0);
    until(&c, 1);
    assert_int_equal(toft_frames_release(c.frames), TOFT_OK);
    at_phase(&c, 2);
    pthread_join(t, &good);
    assert_int_equal((uintptr_t)good, 3);
    pthread_mutex_destroy(&c.lock);
    pthread_cond_destroy(&c.changed);
  }
}

/* A destructor of thread-specific data may run after the thread's state was released. On Windows it does so in threads
 * that pthread_create did not make. */
#ifdef _WIN32
typedef struct native_work {
  void *(*work)(void *);
  void *arg, *result;
} native_work;
static DWORD WINAPI run_native(void *arg) {
  native_work *w = (native_work *)arg;
  w->result = w->work(w->arg);
  return 0;
}
static size_t in_native_thread(void *(*work)(void *), void *arg) {
  native_work w = {work, arg, NULL};
  HANDLE t = CreateThread(NULL, 0, run_native, &w, 0, NULL);
  assert_non_null(t);
  assert_int_equal(WaitForSingleObject(t, INFINITE), WAIT_OBJECT_0);
  CloseHandle(t);
  return (size_t)(uintptr_t)w.result;
}
#else
#define in_native_thread in_thread
#endif
static pthread_key_t late_key;
static void late(void *frames) { (void)!toft_alloc(toft_frame_arena((toft_frames *)frames), 100); }
static void *late_thread(void *frames) {
  void *good = one_frame(frames); /* registers the library's destructor first */
  pthread_setspecific(late_key, frames);
  return good;
}

static void threads_allocate_at_their_very_end(void **state) {
  toft_frames *f = toft_frames_create(1, NULL);
  (void)state;
  assert_int_equal(pthread_key_create(&late_key, late), 0);
  for (int i = 0; i < 50; i++) {
    assert_int_equal(in_native_thread(late_thread, f), 1);
    assert_int_equal(toft_frames_advance(f), TOFT_OK);
  }
  assert_true(stats_of(f).arenas <= 2);
  assert_int_equal(stats_of(f).threads, 0);
  assert_int_equal(toft_frames_release(f), TOFT_OK);
  pthread_key_delete(late_key);
}

/* Two frames used alternately after the thread's state was released: it has one arena in each. */
static toft_frames *by_turns[2];
static void late_by_turns(void *arg) {
  (void)arg;
  toft_arena *a = toft_frame_arena(by_turns[0]), *b = toft_frame_arena(by_turns[1]);
  for (int i = 0; i < 100; i++) {
    assert_ptr_equal(toft_frame_arena(by_turns[0]), a);
    assert_ptr_equal(toft_frame_arena(by_turns[1]), b);
    assert_non_null(toft_alloc(a, 8));
    assert_int_equal(toft_frame_enter(by_turns[0]), TOFT_ENOMEM);
    assert_int_equal(toft_frame_leave(by_turns[0]), TOFT_EARG);
  }
  assert_int_equal(stats_of(by_turns[0]).threads, 0);
}

static void a_thread_has_one_arena_at_its_very_end(void **state) {
  toft_frame_stats s;
  (void)state;
  for (int i = 0; i < 2; i++) by_turns[i] = toft_frames_create(1, NULL);
  assert_int_equal(in_thread(one_frame, by_turns[0]), 1);
  assert_int_equal(pthread_key_create(&late_key, late_by_turns), 0);
  for (int round = 0; round < 5; round++) {
    assert_int_equal(in_native_thread(late_thread, by_turns[0]), 1);
    s = stats_of(by_turns[0]);
    assert_true(s.arenas <= 2 && s.threads == 0 && s.live >= 800);
    assert_int_equal(toft_frames_advance(by_turns[0]), TOFT_OK);
  }
  pthread_key_delete(late_key);
  for (int i = 0; i < 2; i++) assert_int_equal(toft_frames_release(by_turns[i]), TOFT_OK);
}

/* The frames are released after the thread's state, and a cleanup calls toft_frame_arena. */
static void end_late(void *frames) { assert_int_equal(toft_frames_release((toft_frames *)frames), TOFT_OK); }
static void *end_at_the_end(void *frames) {
  toft_frames *f = (toft_frames *)frames;
  if (toft_frame_arena(f) == NULL || toft_frames_advance(f) != TOFT_OK) return NULL;
  if (toft_cleanup_add(toft_frame_arena(f), clean, NULL) == NULL || toft_frames_advance(f) != TOFT_OK) return NULL;
  pthread_setspecific(late_key, f);
  return toft_frame_arena(f); /* the arena that goes first */
}

static void a_thread_ends_its_frames_at_its_very_end(void **state) {
  toft_frames *f = looked_at = toft_frames_create(2, NULL);
  (void)state;
  cleaned = 0;
  assert_int_equal(in_thread(one_frame, f), 1); /* so that our own destructor comes first */
  assert_int_equal(pthread_key_create(&late_key, end_late), 0);
  assert_true(in_native_thread(end_at_the_end, f) != 0);
  assert_int_equal(cleaned, 1);
  pthread_key_delete(late_key);
}

#ifndef _WIN32
static void *inside_at_the_fork(void *arg) {
  crew *c = (crew *)arg;
  size_t bad = toft_frame_enter(c->frames) != TOFT_OK || toft_alloc(toft_frame_arena(c->frames), 100) == NULL;
  at_phase(c, 1);
  until(c, 2);
  return (void *)(uintptr_t)(bad + (toft_frame_leave(c->frames) != TOFT_OK));
}

static void a_child_goes_on(void **state) {
  pthread_t t;
  crew c;
  void *bad;
  int status = 0;
  (void)state;
  memset(&c, 0, sizeof c);
  c.frames = toft_frames_create(1, NULL);
  pthread_mutex_init(&c.lock, NULL);
  pthread_cond_init(&c.changed, NULL);
  assert_non_null(toft_alloc(toft_frame_arena(c.frames), 1000));
  assert_int_equal(pthread_create(&t, NULL, inside_at_the_fork, &c), 0);
  until(&c, 1);
  assert_int_equal(toft_frames_advance(c.frames), TOFT_EBUSY);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) { /* that thread is not here, and not inside */
    toft_frame_stats s;
    if (toft_frames_get_stats(c.frames, &s) != TOFT_OK || s.live != 1104 || s.threads != 1) _exit(1);
    if (toft_frames_advance(c.frames) != TOFT_OK) _exit(2);
    if (one_frame(c.frames) == NULL || toft_frames_advance(c.frames) != TOFT_OK) _exit(3);
    if (toft_frames_release(c.frames) != TOFT_OK) _exit(4);
    /* Valgrind would report that thread's memory at a normal exit. */
    (void)execlp("true", "true", (char *)NULL);
    _exit(5);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
  at_phase(&c, 2);
  pthread_join(t, &bad);
  assert_null(bad);
  assert_int_equal(toft_frames_release(c.frames), TOFT_OK);
  pthread_mutex_destroy(&c.lock);
  pthread_cond_destroy(&c.changed);
}

static crew *at_the_fork;
static void wait_for_the_fork(void *arg) {
  (void)arg;
  at_phase(at_the_fork, 1);
  until(at_the_fork, 2);
}

static void *advance_once(void *arg) {
  const crew *c = (const crew *)arg;
  if (toft_alloc(toft_frame_arena(c->frames), 100) == NULL) return (void *)1;
  return toft_frames_advance(c->frames) == TOFT_OK ? NULL : (void *)2;
}

static int goes_on_alone(toft_frames *f, const toft_arena *lost) {
  toft_frame_stats s;
  toft_arena *a = toft_frame_arena(f);
  if (a == NULL || a == lost || toft_alloc(a, 10000) == NULL) return 1;
  if (toft_frame_enter(f) != TOFT_OK || toft_frame_leave(f) != TOFT_OK) return 2;
  if (toft_frames_advance(f) != TOFT_OK || toft_frames_get_stats(f, &s) != TOFT_OK) return 3;
  if (s.live != 0 || s.arenas != 2 || s.threads != 1 || toft_frames_number(f) != 2) return 4;
  return toft_frames_trim(f, 0) == TOFT_OK && toft_frames_release(f) == TOFT_OK ? 0 : 5;
}

static void a_child_of_a_thread_that_advances_goes_on(void **state) {
  pthread_t t;
  crew c;
  void *bad;
  int status = 0;
  (void)state;
  memset(&c, 0, sizeof c);
  at_the_fork = &c;
  c.frames = toft_frames_create(1, NULL);
  pthread_mutex_init(&c.lock, NULL);
  pthread_cond_init(&c.changed, NULL);
  toft_arena *mine = toft_frame_arena(c.frames);
  assert_non_null(toft_cleanup_add(mine, wait_for_the_fork, NULL));
  assert_int_equal(pthread_create(&t, NULL, advance_once, &c), 0);
  until(&c, 1);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    int code = goes_on_alone(c.frames, mine);
    if (code != 0) _exit(code);
    (void)execlp("true", "true", (char *)NULL);
    _exit(6);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
  at_phase(&c, 2);
  pthread_join(t, &bad);
  at_the_fork = NULL;
  assert_null(bad);
  assert_ptr_equal(toft_frame_arena(c.frames), mine);
  assert_int_equal(toft_frames_release(c.frames), TOFT_OK);
  pthread_mutex_destroy(&c.lock);
  pthread_cond_destroy(&c.changed);
}

static pid_t forked;
static void fork_now(void *arg) {
  (void)arg;
  forked = fork();
}

static void a_cleanup_forks(void **state) {
  int status = 0;
  (void)state;
  toft_frames *f = toft_frames_create(1, NULL);
  assert_non_null(toft_cleanup_add(toft_frame_arena(f), fork_now, NULL));
  fflush(NULL);
  int code = toft_frames_advance(f);
  if (forked == 0) { /* it was alone, and is until here */
    if (code != TOFT_OK || toft_frames_number(f) != 1 || toft_alloc(toft_frame_arena(f), 100) == NULL) _exit(1);
    if (toft_frames_advance(f) != TOFT_OK || toft_frames_release(f) != TOFT_OK) _exit(2);
    (void)execlp("true", "true", (char *)NULL);
    _exit(3);
  }
  assert_int_equal(waitpid(forked, &status, 0), forked);
  assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
  assert_int_equal(code, TOFT_OK);
  assert_int_equal(toft_frames_release(f), TOFT_OK);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_come_and_go),
      cmocka_unit_test(pinned_arenas_are_emptied),
      cmocka_unit_test(all_threads_advance_together),
      cmocka_unit_test(advance_does_not_wait),
      cmocka_unit_test(threads_come_while_frames_end),
      cmocka_unit_test(a_parked_thread_is_emptied_and_trimmed),
      cmocka_unit_test(frames_end_before_their_threads),
      cmocka_unit_test(threads_allocate_at_their_very_end),
      cmocka_unit_test(a_thread_has_one_arena_at_its_very_end),
      cmocka_unit_test(a_thread_ends_its_frames_at_its_very_end),
#ifndef _WIN32
      cmocka_unit_test(a_child_goes_on),
      cmocka_unit_test(a_child_of_a_thread_that_advances_goes_on),
      cmocka_unit_test(a_cleanup_forks),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
