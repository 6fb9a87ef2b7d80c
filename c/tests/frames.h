/* Frames: their statistics, a cleanup that counts, and threads that wait for phases of each other.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_FRAMES_H
#define TOFT_TEST_FRAMES_H

#include "threads.h"

#define THREADS 8

static inline toft_frame_stats stats_of(toft_frames *f) {
  toft_frame_stats s;
  assert_int_equal(toft_frames_get_stats(f, &s), TOFT_OK);
  return s;
}

static toft_frames *looked_at; /* frames whose arena the cleanup requests */
static int cleaned;            /* cleanups that ran */
static inline void clean(void *arg) {
  (void)arg;
  cleaned++;
  if (toft_frame_arena(looked_at) != NULL) cleaned = -100; /* nothing to be had while it ends */
}

typedef struct crew {
  toft_frames *frames;
  toft_frames *gate; /* no thread allocates in it: only its barrier is used */
  size_t rounds, wrong, ended;
  unsigned char *written[3][THREADS];
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int phase;
} crew;

static inline void until(crew *c, int phase) {
  pthread_mutex_lock(&c->lock);
  while (c->phase < phase) pthread_cond_wait(&c->changed, &c->lock);
  pthread_mutex_unlock(&c->lock);
}
static inline void at_phase(crew *c, int phase) {
  pthread_mutex_lock(&c->lock);
  c->phase = phase;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
}

#endif
