/* A barrier. Who finds that all have come ends the turn, be it the last to come or one that another's leaving woke.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_THREADS_BARRIER_C
#define TOFT_THREADS_BARRIER_C

#include "../platform/os.c"

struct toft_barrier {
  toft_os_mutex mutex;
  toft_os_condition phase_ended;
  size_t count, waiting, callers;
  size_t phase;
  int code; /* of the last turn */
};

toft_barrier *toft_barrier_create(size_t count) {
  toft_barrier *b = count != 0 ? (toft_barrier *)toft_os_heap_take(sizeof *b, 64) : NULL;
  if (b == NULL) return NULL;
  memset((void *)b, 0, sizeof *b);
  b->count = count;
  if (toft_os_wait_init(&b->mutex, &b->phase_ended)) return b;
  toft_os_heap_put(b);
  return NULL;
}

void toft_barrier_destroy(toft_barrier *b) {
  if (b == NULL) return;
  toft_os_mutex_take(&b->mutex);
  while (b->callers != 0) {
    toft_os_mutex_drop(&b->mutex);
    toft_os_yield();
    toft_os_mutex_take(&b->mutex);
  }
  toft_os_mutex_drop(&b->mutex);
  toft_os_wait_destroy(&b->mutex, &b->phase_ended);
  toft_os_heap_put(b);
}

/* last(arg) runs once a turn, while all wait. */
static int toft_barrier_arrive(toft_barrier *b, int (*last)(void *arg), void *arg, int *code) {
  toft_os_mutex_take(&b->mutex);
  size_t phase = b->phase;
  b->callers++;
  b->waiting++;
  while (b->phase == phase && b->waiting < b->count) toft_os_wait(&b->phase_ended, &b->mutex);
  int ends = b->phase == phase;
  if (ends) {
    b->code = last != NULL ? last(arg) : TOFT_OK;
    b->waiting = 0;
    b->phase++;
    toft_os_wake_all(&b->phase_ended);
  }
  *code = b->code;
  b->callers--;
  toft_os_mutex_drop(&b->mutex);
  return ends;
}

int toft_barrier_wait(toft_barrier *b) {
  int code;
  return toft_barrier_arrive(b, NULL, NULL, &code);
}

int toft_barrier_leave(toft_barrier *b) {
  int code = TOFT_EARG;
  toft_os_mutex_take(&b->mutex);
  if (b->count != 0) {
    b->count--;
    if (b->waiting >= b->count) toft_os_wake_all(&b->phase_ended);
    code = TOFT_OK;
  }
  toft_os_mutex_drop(&b->mutex);
  return code;
}

#endif
