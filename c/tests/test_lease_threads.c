/* Leases of threads that get, return, misuse and trim at once and lose nothing; forks. Under TSan too.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>
#include <stdio.h>

#include "leases.h"

#ifndef _WIN32
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#define THREADS 8

/* ---- threads ---- */

static void *return_checked(void *arg) {
  return (void *)(uintptr_t)(toft_lease_return(NULL, *(toft_lease *)arg) == TOFT_OK);
}

static void a_pin_ends_with_the_lease(void **state) {
  (void)state;
  toft_lease a = toft_lease_get(NULL);
  assert_int_equal(toft_set_checked(a.arena, 1), TOFT_OK);
  assert_int_equal(toft_pin(a.arena, 1), TOFT_OK);
  assert_non_null(toft_alloc(a.arena, 100));
  assert_int_equal(in_thread(return_checked, &a), 1);
  toft_lease b = toft_lease_get(NULL);
  assert_int_equal(toft_get_stats(b.arena).live, 0);
  assert_int_equal(toft_lease_return(NULL, b), TOFT_OK);
  toft_leases_trim(NULL);
}

/* Idle arenas stay reserved for their threads; otherwise as many more could be idle. */
static void a_refused_release_changes_nothing(void **state) {
  toft_lease_options o = TOFT_LEASE_OPTIONS;
  toft_lease a[3];
  (void)state;
  o.idle = 2;
  toft_leases *l = toft_leases_create(&o);
  for (int i = 0; i < 3; i++) a[i] = toft_lease_get(l);
  for (int i = 0; i < 2; i++) assert_int_equal(toft_lease_return(l, a[i]), TOFT_OK);
  assert_int_equal(toft_leases_release(l), TOFT_EBUSY);
  assert_int_equal(toft_lease_return(l, a[2]), TOFT_OK);
  assert_int_equal(toft_leases_get_stats(l).idle, 2);
  assert_int_equal(toft_leases_release(l), TOFT_OK);
}

static void *return_all(void *arg) {
  toft_lease *a = (toft_lease *)arg;
  size_t good = 0;
  for (int i = 0; i < 10; i++) good += toft_lease_return(NULL, a[i]) == TOFT_OK;
  return (void *)(uintptr_t)good;
}

static void returned_elsewhere(void **state) {
  toft_lease a[10];
  (void)state;
  for (int round = 0; round < 20; round++) {
    for (unsigned i = 0; i < 10; i++) {
      a[i] = toft_lease_get(NULL);
      fill(toft_alloc(a[i].arena, 200), 200, i);
    }
    assert_int_equal(in_thread(return_all, a), 10);
    for (int i = 0; i < 10; i++) assert_int_equal(toft_lease_return(NULL, a[i]), TOFT_EBUSY);
    assert_int_equal(in_thread(return_all, a), 0);
  }
  toft_leases_trim(NULL);
  toft_lease_stats s = toft_leases_get_stats(NULL);
  assert_true(s.leased == 0 && s.idle == 0 && s.kept == 0);
}

/* A waiting thread with an idle arena reserved for it. */
static struct parked {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int phase;
  toft_leases *leases;
} parked;

static void parked_until(int phase) {
  pthread_mutex_lock(&parked.lock);
  while (parked.phase < phase) pthread_cond_wait(&parked.changed, &parked.lock);
  pthread_mutex_unlock(&parked.lock);
}
static void parked_at(int phase) {
  pthread_mutex_lock(&parked.lock);
  parked.phase = phase;
  pthread_cond_broadcast(&parked.changed);
  pthread_mutex_unlock(&parked.lock);
}
static void *park(void *arg) {
  (void)arg;
  toft_lease a = toft_lease_get(parked.leases);
  size_t bad = toft_alloc(a.arena, 10000) == NULL;
  bad += toft_lease_return(parked.leases, a) != TOFT_OK;
  parked_at(1);
  parked_until(2);
  a = toft_lease_get(parked.leases); /* its slot was revoked */
  bad += toft_alloc(a.arena, 10000) == NULL;
  bad += toft_lease_return(parked.leases, a) != TOFT_OK;
  return (void *)(uintptr_t)bad;
}

static void trim_reaches_a_parked_thread(void **state) {
  shared_source c;
  pthread_t t;
  void *bad;
  (void)state;
  parked.leases = leases_on(shared_init(&c), 8);
  pthread_mutex_init(&parked.lock, NULL);
  pthread_cond_init(&parked.changed, NULL);
  assert_int_equal(pthread_create(&t, NULL, park, NULL), 0);
  parked_until(1);
  assert_true(c.inner.bytes > 10000);
  assert_int_equal(toft_leases_get_stats(parked.leases).idle, 1);
  toft_leases_trim(parked.leases);
  assert_int_equal(c.inner.bytes, 0);
  parked_at(2);
  pthread_join(t, &bad);
  assert_null(bad);
  toft_lease_stats s = toft_leases_get_stats(parked.leases); /* the arena reserved for the thread is available to all */
  assert_true(s.created == 2 && s.idle == 1 && c.inner.bytes == s.kept);
  toft_lease a = toft_lease_get(parked.leases);
  assert_int_equal(toft_leases_get_stats(parked.leases).created, 2);
  assert_int_equal(toft_lease_return(parked.leases, a), TOFT_OK);
  assert_int_equal(toft_leases_release(parked.leases), TOFT_OK);
  pthread_mutex_destroy(&parked.lock);
  pthread_cond_destroy(&parked.changed);
  shared_all_back(&c);
}

static void *lease_once(void *leases) {
  toft_lease a = toft_lease_get((toft_leases *)leases);
  if (a.arena == NULL || toft_alloc(a.arena, 5000) == NULL) return NULL;
  return (void *)(uintptr_t)(toft_lease_return((toft_leases *)leases, a) == TOFT_OK);
}

static void many_threads_come_and_go(void **state) {
  shared_source c;
  toft_leases *l = leases_on(shared_init(&c), 8);
  (void)state;
  for (int i = 0; i < (long_run() ? 10000 : 300); i++) assert_int_equal(in_thread(lease_once, l), 1);
  assert_int_equal(toft_leases_get_stats(l).created, 1);
  assert_int_equal(toft_leases_release(l), TOFT_OK);
  shared_all_back(&c);
}

/* Two caches; one is released before its threads end. */
static void *outlive(void *arg) {
  size_t good = (size_t)(uintptr_t)lease_once(parked.leases);
  (void)arg;
  parked_at(1);
  parked_until(2);
  toft_leases *again = toft_leases_create(NULL); /* perhaps where the other one was */
  good += (size_t)(uintptr_t)lease_once(again);
  good += (size_t)(uintptr_t)lease_once(again);
  return (void *)(uintptr_t)(good + (toft_leases_release(again) == TOFT_OK));
}

static void a_cache_ends_before_its_threads(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++) {
    pthread_t t;
    void *good;
    parked.phase = 0;
    parked.leases = toft_leases_create(NULL);
    pthread_mutex_init(&parked.lock, NULL);
    pthread_cond_init(&parked.changed, NULL);
    assert_int_equal(pthread_create(&t, NULL, outlive, NULL), 0);
    parked_until(1);
    assert_int_equal(toft_leases_release(parked.leases), TOFT_OK);
    parked_at(2);
    pthread_join(t, &good);
    assert_int_equal((uintptr_t)good, 4);
    pthread_mutex_destroy(&parked.lock);
    pthread_cond_destroy(&parked.changed);
  }
}

#if !defined(_WIN32) && !defined(__APPLE__)
/* All return the same lease at once: one of them does. */
static struct race {
  toft_leases *leases;
  pthread_barrier_t *gate;
  toft_lease lease;
  size_t won, refused, rounds;
} race;

static void *racer(void *arg) {
  int leads = arg != NULL;
  for (size_t i = 0; i < race.rounds; i++) {
    if (leads) {
      race.lease = toft_lease_get(race.leases);
      if (race.lease.arena == NULL || toft_alloc(race.lease.arena, i % 5000) == NULL) abort();
    }
    pthread_barrier_wait(race.gate);
    int code = toft_lease_return(race.leases, race.lease);
    if (code == TOFT_OK) __atomic_add_fetch(&race.won, 1, __ATOMIC_RELAXED);
    if (code == TOFT_EBUSY) __atomic_add_fetch(&race.refused, 1, __ATOMIC_RELAXED);
    pthread_barrier_wait(race.gate);
  }
  return NULL;
}

static void returns_that_race(void **state) {
  pthread_t threads[3];
  pthread_barrier_t gate;
  (void)state;
  for (size_t idle = 0; idle <= 8; idle += 8) { /* without private slots, and with them */
    pthread_barrier_init(&gate, NULL, 3);
    memset(&race, 0, sizeof race);
    race.leases = leases_on(NULL, idle);
    race.gate = &gate;
    race.rounds = long_run() ? 50000 : 2000;
    for (uintptr_t i = 0; i < 3; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, racer, i == 0 ? &race : NULL), 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    assert_int_equal(race.won, race.rounds);
    assert_int_equal(race.refused, 2 * race.rounds);
    assert_int_equal(toft_leases_get_stats(race.leases).leased, 0);
    assert_int_equal(toft_leases_release(race.leases), TOFT_OK);
    pthread_barrier_destroy(&gate);
  }
}
#endif

/* Leases are passed between threads; some are returned by their thread, some by others, some twice; others trim. */
static struct market {
  toft_leases *leases;
  pthread_mutex_t lock;
  toft_lease slots[16];
  unsigned seeds[16];
  size_t returned;
} market;

static void *trader(void *arg) {
  uint32_t random = (uint32_t)(uintptr_t)arg;
  size_t wrong = 0;
  for (int i = 0; i < (long_run() ? 100000 : 4000); i++) {
    toft_lease mine = toft_lease_get(market.leases);
    if (mine.arena == NULL) return (void *)(uintptr_t)1;
    size_t size = next_random(&random) % 2000, slot = next_random(&random) % 16;
    unsigned seed = next_random(&random) % 1000;
    unsigned char *p = (unsigned char *)toft_alloc(mine.arena, size + 16);
    if (p == NULL) return (void *)(uintptr_t)2;
    memcpy(p, &size, sizeof size);
    memcpy(p + 8, &p, sizeof p);
    fill(p + 16, size, seed);
    if (i % 4 != 0) {
      wrong += !filled(p + 16, size, seed);
      wrong += toft_lease_return(market.leases, mine) != TOFT_OK;
      if (i % 64 == 1) wrong += toft_lease_return(market.leases, mine) != TOFT_EBUSY;
    } else {
      pthread_mutex_lock(&market.lock);
      toft_lease theirs = market.slots[slot];
      unsigned their_seed = market.seeds[slot];
      market.slots[slot] = mine;
      market.seeds[slot] = seed;
      pthread_mutex_unlock(&market.lock);
      if (theirs.arena != NULL) {
        unsigned char *q = theirs.arena->cursor; /* its only allocation ends here */
        size_t all = (size_t)toft_get_stats(theirs.arena).live;
        memcpy(&size, q - all, sizeof size);
        wrong += !filled(q - all + 16, size, their_seed);
        wrong += toft_lease_return(market.leases, theirs) != TOFT_OK;
      }
    }
    if (i % 500 == 7) toft_leases_trim(market.leases);
    if (i % 500 == 9) wrong += toft_leases_get_stats(market.leases).kept > (size_t)1 << 24;
    if (i % 500 == 11) toft_cache_trim();
  }
  return (void *)(uintptr_t)wrong;
}

static void leases_pass_between_threads(void **state) {
  pthread_t threads[THREADS];
  shared_source c;
  (void)state;
  memset(&market, 0, sizeof market);
  market.leases = leases_on(shared_init(&c), 10);
  pthread_mutex_init(&market.lock, NULL);
  for (uintptr_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, trader, (void *)(i + 1)), 0);
  for (int i = 0; i < THREADS; i++) {
    void *wrong;
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
  for (int i = 0; i < 16; i++)
    if (market.slots[i].arena != NULL) assert_int_equal(toft_lease_return(market.leases, market.slots[i]), TOFT_OK);
  toft_lease_stats s = toft_leases_get_stats(market.leases);
  assert_true(s.leased == 0 && s.idle <= 10 && s.created == s.released + s.idle);
  assert_int_equal(s.kept, c.inner.bytes);
  assert_int_equal(toft_leases_release(market.leases), TOFT_OK);
  pthread_mutex_destroy(&market.lock);
  shared_all_back(&c);
}

/* ---- fork ---- */

#ifndef _WIN32
static int in_the_child(toft_leases *l, toft_lease held) {
  toft_lease_stats s = toft_leases_get_stats(l);
  if (s.leased != 2) return 2; /* held, and that of the waiting thread */
  if (toft_lease_return(l, held) != TOFT_OK || toft_lease_return(l, held) != TOFT_EBUSY) return 3;
  for (int i = 0; i < 100; i++) {
    toft_lease a = toft_lease_get(l), b = toft_lease_get(l);
    if (a.arena == NULL || b.arena == NULL || toft_alloc(a.arena, 5000) == NULL) return 4;
    if (toft_lease_return(l, b) != TOFT_OK || toft_lease_return(l, a) != TOFT_OK) return 5;
  }
  toft_leases_trim(l);
  s = toft_leases_get_stats(l);
  return s.idle == 0 && s.leased == 1 && toft_leases_release(l) == TOFT_EBUSY ? 0 : 6;
}

static void *hold_one(void *arg) {
  toft_lease *mine = (toft_lease *)arg;
  toft_lease waits = toft_lease_get(parked.leases);
  *mine = toft_lease_get(parked.leases);
  size_t bad = toft_lease_return(parked.leases, waits) != TOFT_OK;
  parked_at(1);
  parked_until(2);
  return (void *)(uintptr_t)(bad + (toft_lease_return(parked.leases, *mine) != TOFT_OK));
}

static void a_child_goes_on(void **state) {
  pthread_t t;
  toft_lease theirs;
  void *bad;
  int status = 0;
  (void)state;
  parked.phase = 0;
  parked.leases = toft_leases_create(NULL);
  pthread_mutex_init(&parked.lock, NULL);
  pthread_cond_init(&parked.changed, NULL);
  toft_lease held = toft_lease_get(parked.leases);
  assert_int_equal(pthread_create(&t, NULL, hold_one, &theirs), 0);
  parked_until(1);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    int code = in_the_child(parked.leases, held);
    if (code == 0) raise(SIGKILL); /* the other thread's memory is lost here: no leak check */
    _exit(code);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 0, 0);
  assert_int_equal(toft_lease_return(parked.leases, held), TOFT_OK);
  parked_at(2);
  pthread_join(t, &bad);
  assert_null(bad);
  assert_int_equal(toft_leases_release(parked.leases), TOFT_OK);
  pthread_mutex_destroy(&parked.lock);
  pthread_cond_destroy(&parked.changed);
}

static void wait_for_the_fork(void *arg) {
  (void)arg;
  parked_at(1);
  parked_until(2);
}

static void *return_slowly(void *leases) {
  toft_lease a = toft_lease_get((toft_leases *)leases);
  size_t bad = toft_cleanup_add(a.arena, wait_for_the_fork, NULL) == NULL;
  return (void *)(uintptr_t)(bad + (toft_lease_return((toft_leases *)leases, a) != TOFT_OK));
}

static void a_child_does_not_get_what_is_half_returned(void **state) {
  pthread_t t;
  void *bad;
  int status = 0;
  (void)state;
  parked.phase = 0;
  pthread_mutex_init(&parked.lock, NULL);
  pthread_cond_init(&parked.changed, NULL);
  toft_leases *l = toft_leases_create(NULL);
  assert_int_equal(pthread_create(&t, NULL, return_slowly, l), 0);
  parked_until(1);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    if (lease_once(l) == NULL) _exit(1);
    toft_leases_trim(l);
    toft_lease_stats s = toft_leases_get_stats(l);
    if (s.idle != 0 || s.leased != 1 || toft_leases_release(l) != TOFT_EBUSY) _exit(2);
    raise(SIGKILL);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 0, 0);
  parked_at(2);
  pthread_join(t, &bad);
  assert_null(bad);
  assert_int_equal(toft_leases_release(l), TOFT_OK);
  pthread_mutex_destroy(&parked.lock);
  pthread_cond_destroy(&parked.changed);
}

#if defined(__linux__)
/* A child that exits while one of its threads, whose state was released, is in the middle of a return. */
static pthread_key_t late_key;
static pthread_t late_thread;
static int lingers;

static void return_late(void *arg) {
  (void)arg;
  (void)return_slowly(NULL);
}
static void *return_at_the_end(void *arg) {
  void *good = lease_once(NULL); /* registers the library's destructor first */
  (void)arg;
  pthread_setspecific(late_key, &late_key);
  return good;
}

/* Runs after our own destructor. */
__attribute__((destructor(101))) static void linger(void) {
  if (!lingers) return;
  parked_at(2);
  pthread_join(late_thread, NULL);
  toft_lease a = toft_lease_get(NULL), b = toft_lease_get(NULL);
  if (toft_lease_return(NULL, a) != TOFT_OK || toft_lease_return(NULL, b) != TOFT_OK) _exit(1);
  raise(SIGKILL);
}

static void a_return_goes_on_at_exit(void **state) {
  int status = 0;
  (void)state;
  parked.phase = 0;
  pthread_mutex_init(&parked.lock, NULL);
  pthread_cond_init(&parked.changed, NULL);
  assert_non_null(lease_once(NULL));
  assert_int_equal(pthread_key_create(&late_key, return_late), 0);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    lingers = 1;
    if (pthread_create(&late_thread, NULL, return_at_the_end, NULL) != 0) _exit(2);
    parked_until(1);
    exit(3);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 0, 0);
  pthread_key_delete(late_key);
  toft_leases_trim(NULL);
  pthread_mutex_destroy(&parked.lock);
  pthread_cond_destroy(&parked.changed);
}
#endif

/* While other threads lease and return. */
static size_t stop_churning;
static void *churn(void *leases) {
  while (!__atomic_load_n(&stop_churning, __ATOMIC_RELAXED))
    if (lease_once(leases) == NULL) return leases;
  return NULL;
}

static void forks_among_leases(void **state) {
  pthread_t threads[3];
  (void)state;
  skip_where_forks_among_threads_stop();
  toft_leases *l = toft_leases_create(NULL);
  stop_churning = 0;
  for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, churn, l), 0);
  for (int i = 0; i < 50; i++) {
    int status = fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
      for (int k = 0; k < 50; k++)
        if (lease_once(l) == NULL) _exit(1);
      toft_leases_trim(l);
      raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
  }
  __atomic_store_n(&stop_churning, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 3; i++) {
    void *bad;
    pthread_join(threads[i], &bad);
    assert_null(bad);
  }
  assert_int_equal(toft_leases_release(l), TOFT_OK);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_pin_ends_with_the_lease),
    cmocka_unit_test(a_refused_release_changes_nothing),
    cmocka_unit_test(returned_elsewhere),
    cmocka_unit_test(trim_reaches_a_parked_thread),
    cmocka_unit_test(many_threads_come_and_go),
    cmocka_unit_test(a_cache_ends_before_its_threads),
#if !defined(_WIN32) && !defined(__APPLE__)
    cmocka_unit_test(returns_that_race),
#endif
    cmocka_unit_test(leases_pass_between_threads),
#ifndef _WIN32
    cmocka_unit_test(a_child_goes_on),
    cmocka_unit_test(a_child_does_not_get_what_is_half_returned),
#if defined(__linux__)
    cmocka_unit_test(a_return_goes_on_at_exit),
#endif
    cmocka_unit_test(forks_among_leases),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
