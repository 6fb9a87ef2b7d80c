/* Synchronized recyclers: what one thread allocates, another frees.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>

#include "support.h"

#define THREADS 8
#define SLOTS 512

typedef struct parcel {
  unsigned char *p;
  size_t size, bytes; /* bytes: as recycler_bytes counts */
  unsigned seed;
} parcel;

/* Each replaces the object in a slot by a new one, and frees the old one, which is mostly another thread's. */
static struct exchange {
  toft_sync_recycler *r;
  pthread_mutex_t locks[SLOTS];
  parcel slots[SLOTS];
  int rounds;
} shared;

static parcel swap_parcel(size_t slot, parcel mine) {
  pthread_mutex_lock(&shared.locks[slot]);
  parcel theirs = shared.slots[slot];
  shared.slots[slot] = mine;
  pthread_mutex_unlock(&shared.locks[slot]);
  return theirs;
}

static void *trader(void *arg) {
  uint32_t random = (uint32_t)(uintptr_t)arg;
  size_t wrong = 0;
  for (int i = 0; i < shared.rounds; i++) {
    uint32_t kind = next_random(&random) % 200;
    parcel mine;
    mine.size = kind == 0 ? 50000 + next_random(&random) % 50000 : next_random(&random) % (kind < 20 ? 6000 : 200);
    mine.seed = next_random(&random);
    mine.p = (unsigned char *)toft_sync_recycler_alloc(shared.r, mine.size, kind % 7 == 0 ? 64 : 8);
    if (mine.p == NULL) return (void *)(uintptr_t)1;
    mine.bytes = recycler_bytes(mine.size, kind % 7 == 0 ? 64 : 8);
    if (kind == 1) {
      unsigned char *q = (unsigned char *)toft_sync_recycler_resize(shared.r, mine.p, mine.size, mine.size * 2, 8);
      if (q == NULL) return (void *)(uintptr_t)1;
      mine.size *= 2;
      if (q != mine.p || (uintptr_t)q % 4096 == 0) mine.bytes = recycler_bytes(mine.size, q != mine.p ? 8 : 4096);
      mine.p = q;
    }
    fill(mine.p, mine.size, mine.seed);
    mine = swap_parcel(next_random(&random) % SLOTS, mine);
    if (mine.p == NULL) continue;
    wrong += !filled(mine.p, mine.size, mine.seed);
    toft_sync_recycler_free(shared.r, mine.p, mine.size);
    if (kind == 2) toft_sync_recycler_trim(shared.r, 1 << 20);
    if (kind == 3) wrong += toft_sync_recycler_get_stats(shared.r).reserved == 0;
  }
  return (void *)(uintptr_t)wrong;
}

static void trade(toft_recycler_options *o) {
  pthread_t threads[THREADS];
  counted c;
  o->source = counted_init(&c); /* which is no source for many threads at once */
  shared.r = toft_sync_recycler_create(o);
  assert_non_null(shared.r);
  shared.rounds = long_run() ? 200000 : 10000;
  for (size_t i = 0; i < SLOTS; i++) assert_int_equal(pthread_mutex_init(&shared.locks[i], NULL), 0);
  for (size_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, trader, (void *)(uintptr_t)(i + 1)), 0);
  for (size_t i = 0; i < THREADS; i++) {
    void *wrong;
    assert_int_equal(pthread_join(threads[i], &wrong), 0);
    assert_null(wrong);
  }
  size_t live = 0;
  for (size_t i = 0; i < SLOTS; i++) {
    parcel *p = &shared.slots[i];
    if (p->p == NULL) continue;
    live += p->bytes;
  }
  assert_int_equal(toft_sync_recycler_get_stats(shared.r).used, live);
  for (size_t i = 0; i < SLOTS; i++) {
    parcel *p = &shared.slots[i];
    assert_true(p->p == NULL || filled(p->p, p->size, p->seed));
    toft_sync_recycler_free(shared.r, p->p, p->size);
    p->p = NULL;
    pthread_mutex_destroy(&shared.locks[i]);
  }
  toft_recycler_stats s = toft_sync_recycler_get_stats(shared.r);
  assert_int_equal(s.used, 0);
  assert_int_equal(s.used + s.pinned + s.kept + s.wasted, s.reserved);
  toft_sync_recycler_trim(shared.r, 0);
  if (o->count == 0) assert_int_equal(toft_sync_recycler_get_stats(shared.r).reserved, 0);
  toft_sync_recycler_release(shared.r);
  counted_all_back(&c);
}

static void eight_shards(void **state) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  (void)state;
  trade(&o);
}

static void counted_blocks(void **state) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  (void)state;
  o.count = 20;
  o.block_size = 20000;
  trade(&o);
}

static void bad_options(void **state) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  counted c;
  (void)state;
  o.source = counted_init(&c);
  o.shards = 1000;
  assert_null(toft_sync_recycler_create(&o));
  o.shards = 2;
  o.count = 2;
  o.block_size = 100;
  assert_null(toft_sync_recycler_create(&o)); /* blocks are counted for all together */
  o.shards = 0;
  o.block_size = 0;
  assert_null(toft_sync_recycler_create(&o));
  o.block_size = 100;
  for (c.fail_at = 1; c.fail_at <= 2; c.fail_at++) {
    c.attempts = 0;
    assert_null(toft_sync_recycler_create(&o));
    counted_all_back(&c);
  }
  toft_sync_recycler_release(NULL);
}

static void release_and_go_on(void **state) {
  toft_sync_recycler *r = toft_sync_recycler_create(NULL);
  (void)state;
  assert_non_null(r);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 1000; i++) assert_non_null(toft_sync_recycler_alloc(r, (size_t)i, 8));
    assert_null(toft_sync_recycler_alloc(r, SIZE_MAX, 8));
    toft_sync_recycler_reset(r);
    assert_int_equal(toft_sync_recycler_get_stats(r).reserved, 0);
  }
  toft_sync_recycler_free(r, NULL, 8);
  toft_sync_recycler_release(r);
}

/* A source that waits for a signal. */
static struct waiting_source {
  toft_source source;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int closed, waiting;
} gate = {{NULL, NULL, NULL}, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static void *gate_take(toft_source *self, size_t size) {
  (void)self;
  pthread_mutex_lock(&gate.mutex);
  gate.waiting = gate.closed;
  pthread_cond_broadcast(&gate.changed);
  while (gate.closed) pthread_cond_wait(&gate.changed, &gate.mutex);
  pthread_mutex_unlock(&gate.mutex);
  return malloc(size);
}

static void gate_put(toft_source *self, void *block, size_t size) {
  (void)self, (void)size;
  free(block);
}

static void *allocate_large(void *r) { return toft_sync_recycler_alloc((toft_sync_recycler *)r, 3000000, 8); }

/* A free whose shard is locked by a thread in the source does not wait. The next call in the shard frees the object. */
static void a_free_does_not_wait(void **state) {
  (void)state;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  pthread_t thread;
  void *small, *large, *other;
  gate.source.take = gate_take;
  gate.source.put = gate_put;
  o.source = &gate.source;
  o.shards = 1;
  toft_sync_recycler *r = toft_sync_recycler_create(&o);
  assert_non_null(small = toft_sync_recycler_alloc(r, 100, 8));
  assert_non_null(large = toft_sync_recycler_alloc(r, 50000, 8));
  gate.closed = 1;
  assert_int_equal(pthread_create(&thread, NULL, allocate_large, r), 0);
  pthread_mutex_lock(&gate.mutex);
  while (!gate.waiting) pthread_cond_wait(&gate.changed, &gate.mutex);
  pthread_mutex_unlock(&gate.mutex);
  toft_sync_recycler_free(r, small, 100);
  toft_sync_recycler_free(r, large, 50000);
  pthread_mutex_lock(&gate.mutex);
  gate.closed = 0;
  pthread_cond_broadcast(&gate.changed);
  pthread_mutex_unlock(&gate.mutex);
  assert_int_equal(pthread_join(thread, &other), 0);
  assert_non_null(other);
  assert_int_equal(toft_sync_recycler_get_stats(r).used, 3000000);
  assert_ptr_equal(toft_sync_recycler_alloc(r, 100, 8), small);
  toft_sync_recycler_release(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(eight_shards),      cmocka_unit_test(counted_blocks),       cmocka_unit_test(bad_options),
      cmocka_unit_test(release_and_go_on), cmocka_unit_test(a_free_does_not_wait),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
