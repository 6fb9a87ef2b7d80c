/* Caches of leases on a source that counts.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_LEASES_H
#define TOFT_TEST_LEASES_H

#include "threads.h"

/* counted, for threads that come at once. */
typedef struct shared_source {
  toft_source source;
  counted inner;
  pthread_mutex_t lock;
} shared_source;

static inline void *shared_take(toft_source *self, size_t size) {
  shared_source *s = (shared_source *)(void *)self;
  pthread_mutex_lock(&s->lock);
  void *p = s->inner.source.take(&s->inner.source, size);
  pthread_mutex_unlock(&s->lock);
  return p;
}
static inline void shared_put(toft_source *self, void *block, size_t size) {
  shared_source *s = (shared_source *)(void *)self;
  pthread_mutex_lock(&s->lock);
  s->inner.source.put(&s->inner.source, block, size);
  pthread_mutex_unlock(&s->lock);
}
static inline toft_source *shared_init(shared_source *s) {
  counted_init(&s->inner);
  s->source.take = shared_take;
  s->source.put = shared_put;
  s->source.extend = NULL;
  assert_int_equal(pthread_mutex_init(&s->lock, NULL), 0);
  return &s->source;
}
static inline void shared_all_back(shared_source *s) {
  counted_all_back(&s->inner);
  pthread_mutex_destroy(&s->lock);
}

static inline toft_leases *leases_on(toft_source *source, size_t idle) {
  toft_options arenas = TOFT_OPTIONS;
  toft_lease_options o = TOFT_LEASE_OPTIONS;
  arenas.source = source;
  o.arenas = &arenas;
  o.idle = idle;
  toft_leases *l = toft_leases_create(&o);
  assert_non_null(l);
  return l;
}

#endif
