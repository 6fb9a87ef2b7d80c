/* A reusable barrier, with which the threads of a loop end a frame together. The number of threads may change.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_THREADS_BARRIER_C
#define TOFT_THREADS_BARRIER_C

#include "../platform/os.c"

typedef struct toft_barrier {
  toft_os_mutex mutex;
  toft_os_condition changed;
  size_t parties, waiting;
  size_t callers; /* threads inside toft_barrier_arrive */
  size_t phase;
  int ending; /* a thread runs the callback of this phase */
  int code;   /* what the last callback returned */
} toft_barrier;

/* Returns 0 if the system has no mutex or condition. The bytes of *b are zero. */
static int toft_barrier_init(toft_barrier *b) { return toft_os_wait_init(&b->mutex, &b->changed); }

/* Waits until the threads that have passed the barrier have left it. */
static void toft_barrier_release(toft_barrier *b) {
  toft_os_mutex_take(&b->mutex);
  while (b->callers != 0) {
    toft_os_mutex_drop(&b->mutex);
    toft_os_yield();
    toft_os_mutex_take(&b->mutex);
  }
  toft_os_mutex_drop(&b->mutex);
  toft_os_wait_destroy(&b->mutex, &b->changed);
}

static int toft_barrier_is_idle(toft_barrier *b) {
  toft_os_mutex_take(&b->mutex);
  int idle = b->waiting == 0;
  toft_os_mutex_drop(&b->mutex);
  return idle;
}

/* TOFT_EBUSY if a thread waits. */
static int toft_barrier_set_parties(toft_barrier *b, size_t parties) {
  int code = TOFT_EBUSY;
  toft_os_mutex_take(&b->mutex);
  if (b->waiting == 0) {
    b->parties = parties;
    code = TOFT_OK;
  }
  toft_os_mutex_drop(&b->mutex);
  return code;
}

/* Waits until all parties have arrived. One of them calls last(arg) without the mutex while the others wait; all return
 * its result. TOFT_EARG if there are no parties. */
static int toft_barrier_arrive(toft_barrier *b, int (*last)(void *arg), void *arg) {
  int code = TOFT_EARG;
  toft_os_mutex_take(&b->mutex);
  if (b->parties != 0) {
    b->callers++;
    while (b->ending) toft_os_wait(&b->changed, &b->mutex);
    size_t phase = b->phase;
    b->waiting++;
    while (b->phase == phase && (b->ending || b->waiting < b->parties)) toft_os_wait(&b->changed, &b->mutex);
    if (b->phase == phase) { /* this thread arrived last, or woke first after another party dropped out */
      b->ending = 1;
      toft_os_mutex_drop(&b->mutex);
      code = last(arg);
      toft_os_mutex_take(&b->mutex);
      b->code = code;
      b->waiting = 0;
      b->ending = 0;
      b->phase++;
      toft_os_wake_all(&b->changed);
    }
    code = b->code;
    b->callers--;
  }
  toft_os_mutex_drop(&b->mutex);
  return code;
}

/* One party fewer from now on. TOFT_EARG if there is none. */
static int toft_barrier_drop(toft_barrier *b) {
  int code = TOFT_EARG;
  toft_os_mutex_take(&b->mutex);
  if (b->parties != 0) {
    b->parties--;
    if (b->waiting >= b->parties) toft_os_wake_all(&b->changed);
    code = TOFT_OK;
  }
  toft_os_mutex_drop(&b->mutex);
  return code;
}

/* In the child of a fork, where the other threads do not exist. `inside`: this thread runs the callback. */
static void toft_barrier_reset_after_fork(toft_barrier *b, int inside) {
  (void)toft_os_wait_init(&b->mutex, &b->changed);
  b->waiting = 0;
  b->callers = inside != 0;
  b->ending = inside;
}

#endif
