/* Shared arenas: allocations of many threads do not overlap and keep their content, and a reset frees all of them.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>

#include "support.h"

#define THREADS 8

static void one_thread(void **state) {
  counted c;
  toft_shared *s = toft_shared_create(counted_init(&c));
  (void)state;
  assert_non_null(s);
  assert_int_equal(c.out, 0); /* the source is not called before it is needed */
  uint64_t live = 0;
  for (size_t i = 0; i < 3000; i++) {
    size_t size = i % 500, align = (size_t)1 << (i % 8);
    unsigned char *p = (unsigned char *)toft_shared_alloc(s, size, align);
    assert_non_null(p);
    assert_true(is_aligned(p, align < 8 ? 8 : align));
    assert_true(size == 0 || (toft_shared_contains(s, p) && toft_shared_contains(s, p + size - 1)));
    fill(p, size, 1);
    live += (size + 7) & ~(size_t)7;
  }
  toft_stats stats = toft_shared_get_stats(s);
  assert_true(stats.live >= live && stats.live < live + 3000 * 64);
  assert_int_equal(stats.reserved, c.bytes);
  assert_int_equal(stats.blocks, c.out);
  assert_int_equal(stats.source_calls, c.takes);
  assert_true(stats.live + stats.wasted <= stats.reserved && stats.allocated == stats.live && stats.peak == stats.live);
  assert_true(stats.blocks < 8); /* they double */
  assert_false(toft_shared_contains(s, &c));
  assert_false(toft_shared_contains(s, NULL));
  assert_int_equal(toft_shared_release(s), TOFT_OK);
  counted_all_back(&c);
  assert_int_equal(toft_shared_release(NULL), TOFT_OK);
}

static void the_newest(void **state) {
  toft_shared *s = toft_shared_create(NULL);
  (void)state;
  assert_non_null(s);
  unsigned char *p = (unsigned char *)toft_shared_resize(s, NULL, 0, 100, 8);
  fill(p, 100, 3);
  assert_ptr_equal(toft_shared_resize(s, p, 100, 1000, 8), p); /* in place */
  assert_int_equal(toft_shared_get_stats(s).live, 1000);
  assert_ptr_equal(toft_shared_resize(s, p, 1000, 96, 8), p);
  assert_int_equal(toft_shared_get_stats(s).live, 96);
  unsigned char *q = (unsigned char *)toft_shared_alloc(s, 8, 8);
  assert_ptr_equal(q, p + 96);
  toft_shared_free(s, p, 96); /* not the newest */
  assert_int_equal(toft_shared_get_stats(s).live, 104);
  assert_ptr_equal(toft_shared_resize(s, p, 96, 40, 8), p);
  assert_ptr_equal(toft_shared_resize(s, p, 40, 40, 8), p);
  unsigned char *moved = (unsigned char *)toft_shared_resize(s, p, 40, 200, 64);
  assert_true(moved != p && is_aligned(moved, 64) && filled(moved, 40, 3));
  toft_shared_free(s, moved, 200);
  toft_shared_free(s, NULL, 8);
  assert_ptr_equal(toft_shared_alloc(s, 8, 64), moved);
  /* Larger than the rest of its block. */
  q = (unsigned char *)toft_shared_alloc(s, 1000, 8);
  fill(q, 1000, 4);
  moved = (unsigned char *)toft_shared_resize(s, q, 1000, 60000, 8);
  assert_true(moved != q && filled(moved, 1000, 4));
  assert_int_equal(toft_shared_release(s), TOFT_OK);
}

static void large_requests_leave_the_current_block(void **state) {
  toft_shared *s = toft_shared_create(NULL);
  (void)state;
  assert_non_null(s);
  unsigned char *p = (unsigned char *)toft_shared_alloc(s, 104, 8);
  for (size_t size = 65 << 10; size < (size_t)4 << 20; size *= 2) {
    assert_non_null(toft_shared_alloc(s, size, 8));
    unsigned char *next = (unsigned char *)toft_shared_alloc(s, 104, 8);
    assert_ptr_equal(next, p + 104);
    p = next;
  }
  assert_int_equal(toft_shared_release(s), TOFT_OK);
}

static void invalid_arguments(void **state) {
  counted c;
  toft_shared *s = toft_shared_create(counted_init(&c));
  volatile size_t most = SIZE_MAX; /* which compilers would refuse */
  (void)state;
  assert_null(toft_shared_alloc(s, most, 8));
  assert_null(toft_shared_alloc(s, most / 2, 8));
  assert_null(toft_shared_alloc(s, 8, 48));
  assert_null(toft_shared_alloc(s, 8, 0));
  assert_null(toft_shared_alloc(s, 8, SIZE_MAX / 2 + 1));
  void *p = toft_shared_alloc(s, 8, 8);
  size_t out = c.out;
  assert_null(toft_shared_resize(s, p, 8, most - 4, 8));
  assert_null(toft_shared_resize(s, p, 8, 16, 24));
  assert_int_equal(toft_shared_reset(s, 7, 0), TOFT_EARG);
  assert_int_equal(toft_shared_get_stats(s).live, 8);
  assert_int_equal(c.out, out);
  assert_non_null(toft_shared_alloc(s, 0, 8));
  assert_true(is_aligned(toft_shared_alloc(s, 100, 1 << 16), 1 << 16));
  assert_int_equal(toft_shared_release(s), TOFT_OK);
  counted_all_back(&c);
}

static void within_a_budget(void **state) {
  counted c;
  toft_limited_source budget;
  (void)state;
  toft_shared *s = toft_shared_create(toft_limited_source_init(&budget, counted_init(&c), 40000));
  size_t n = 0;
  while (toft_shared_alloc(s, 1000, 8) != NULL) n++;
  assert_true(n >= 30 && budget.used <= 40000);
  assert_non_null(toft_shared_alloc(s, 8, 8)); /* small ones still fit */
  assert_int_equal(toft_shared_release(s), TOFT_OK);
  assert_int_equal(budget.used, 0);
  counted_all_back(&c);
}

static void rounds(void **state) {
  counted c;
  toft_shared *s = toft_shared_create(counted_init(&c));
  (void)state;
  for (int i = 0; i < 50; i++) {
    if (i == 5) c.attempts = 0;
    for (int k = 0; k < 300; k++) fill(toft_shared_alloc(s, 1000, 8), 1000, 1);
    toft_arena *part = toft_shared_local(s);
    for (int k = 0; k < 300; k++) fill(toft_alloc(part, 1000), 1000, 1);
    assert_int_equal(toft_shared_reset(s, TOFT_KEEP_RECENT, 0), TOFT_OK);
    assert_int_equal(toft_shared_get_stats(s).live, 0);
  }
  assert_true(c.attempts <= 2 && c.out == 1); /* one block is retained */
  size_t steady = c.bytes;
  for (int i = 0; i < 60; i++) {
    fill(toft_shared_alloc(s, 100, 8), 100, 1);
    assert_int_equal(toft_shared_reset(s, TOFT_KEEP_RECENT, 0), TOFT_OK);
  }
  assert_true(c.bytes <= steady / 4); /* and forgets */
  fill(toft_shared_alloc(s, 500000, 8), 500000, 1);
  assert_int_equal(toft_shared_reset(s, TOFT_KEEP_ALL, 0), TOFT_OK);
  assert_true(c.bytes > 500000);
  fill(toft_shared_alloc(s, 400000, 8), 400000, 1); /* in kept blocks */
  assert_int_equal(toft_shared_reset(s, TOFT_KEEP_BYTES, 100000), TOFT_OK);
  assert_true(c.bytes <= 100000);
  toft_shared_trim(s, 0);
  counted_all_back(&c);
  assert_int_equal(toft_shared_get_stats(s).reserved, 0);
  assert_non_null(toft_shared_alloc(s, 8, 8));
  assert_true(c.bytes < 20000); /* small again */
  assert_int_equal(toft_shared_release(s), TOFT_OK);
  counted_all_back(&c);
}

/* ---- local arenas ---- */

static void count_up(void *arg) { ++*(int *)arg; }

static void local_arenas(void **state) {
  counted c;
  int ended = 0;
  toft_shared *s = toft_shared_create(counted_init(&c));
  (void)state;
  toft_arena *one = toft_shared_local(s), *two = toft_shared_local(s);
  assert_true(one != NULL && two != NULL && one != two);
  unsigned char *p = (unsigned char *)toft_alloc(one, 100);
  assert_true(toft_shared_contains(s, p) && toft_contains(one, p) && !toft_contains(two, p));
  fill(p, 100, 9);
  toft_release(one); /* has no effect: readers of its data do not see it */
  assert_non_null(toft_alloc(one, 100));
  toft_arena *other = toft_create();
  assert_int_equal(toft_adopt(other, one), TOFT_EBUSY);
  toft_release(other);
  assert_non_null(toft_cleanup_add(one, count_up, &ended));
  assert_non_null(toft_cleanup_add(two, count_up, &ended));
  {
    TOFT_SCOPE(two);
    assert_non_null(toft_cleanup_add(two, count_up, &ended));
    assert_non_null(toft_alloc(two, 50000));
  }
  assert_int_equal(ended, 1);
  toft_range r;
  assert_int_equal(toft_claim(two, &r), TOFT_OK);
  assert_int_equal(toft_shared_reset(s, TOFT_KEEP_RECENT, 0), TOFT_EBUSY);
  assert_int_equal(toft_shared_release(s), TOFT_EBUSY);
  assert_true(ended == 1 && filled(p, 100, 9));
  assert_int_equal(toft_unclaim(two, &r), TOFT_OK);
  assert_int_equal(toft_shared_reset(s, TOFT_KEEP_RECENT, 0), TOFT_OK);
  assert_int_equal(ended, 3);
  assert_int_equal(toft_shared_get_stats(s).live, 0);
  one = toft_shared_local(s);
  assert_non_null(toft_cleanup_add(one, count_up, &ended));
  assert_int_equal(toft_shared_release(s), TOFT_OK);
  assert_int_equal(ended, 4);
  counted_all_back(&c);
}

/* Blocks that a local arena returns are reused by local arenas; otherwise the rounds of one would exhaust the
 * memory. */
static void a_local_arena_of_many_rounds(void **state) {
  counted c;
  toft_shared *s = toft_shared_create(counted_init(&c));
  (void)state;
  toft_arena *part = toft_shared_local(s);
  for (int i = 0; i < 2000; i++) {
    assert_non_null(toft_shared_alloc(s, 8, 8)); /* so the local arena's blocks are rarely the newest */
    for (int k = 0; k < 1 << (i % 9); k++) fill(toft_alloc(part, 700), 700, 1);
    assert_non_null(toft_shared_alloc(s, 8, 8));
    assert_int_equal(toft_reset_keep(part, i % 3 == 0 ? TOFT_KEEP_BYTES : TOFT_KEEP_RECENT, 0), TOFT_OK);
  }
  assert_true(c.bytes < (size_t)4 << 20);
  assert_int_equal(toft_shared_release(s), TOFT_OK);
  counted_all_back(&c);
}

static void checked_local_arenas(void **state) {
  toft_shared *s = toft_shared_create(NULL);
  (void)state;
  toft_arena *part = toft_shared_local(s);
  assert_int_equal(toft_set_checked(part, 1), TOFT_OK);
  void *p = toft_alloc(part, 20);
  write_wrongly(p, 20);
  assert_int_equal(toft_shared_reset(s, TOFT_KEEP_RECENT, 0), TOFT_ECORRUPT);
  assert_int_equal(toft_shared_get_stats(s).live, 0);
  part = toft_shared_local(s);
  assert_int_equal(toft_set_checked(part, 1), TOFT_OK);
  assert_non_null(toft_alloc(part, 20));
  assert_int_equal(toft_shared_release(s), TOFT_OK);
}

static struct ending {
  toft_shared *s;
  int refused, given;
} ending;

static void ask_again(void *arg) {
  struct ending *e = (struct ending *)arg;
  e->refused += toft_shared_reset(e->s, TOFT_KEEP_ALL, 0) == TOFT_EBUSY;
  e->refused += toft_shared_release(e->s) == TOFT_EBUSY;
  e->given += toft_shared_alloc(e->s, 5000, 8) != NULL;
  e->given += e->given == 1 && toft_shared_local(e->s) != NULL;
}

static int pinned_ended;

static void *pin_a_part(void *s) {
  toft_arena *part = toft_shared_local((toft_shared *)s);
  int good = part != NULL && toft_set_checked(part, 1) == TOFT_OK && toft_pin(part, 1) == TOFT_OK &&
             toft_cleanup_add(part, count_up, &pinned_ended) != NULL;
  return good ? s : NULL;
}

/* A pin excludes other threads from the local arena, but not the shared arena. */
static void pinned_local_arenas_are_released(void **state) {
  pthread_t other;
  void *good;
  (void)state;
  toft_shared *s = toft_shared_create(NULL);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(pthread_create(&other, NULL, pin_a_part, s), 0);
    assert_int_equal(pthread_join(other, &good), 0);
    assert_ptr_equal(good, s);
    assert_int_equal(i == 0 ? toft_shared_reset(s, TOFT_KEEP_RECENT, 0) : toft_shared_release(s), TOFT_OK);
    assert_int_equal(pinned_ended, i + 1);
  }
}

static void cleanups_that_ask(void **state) {
  counted c;
  (void)state;
  memset(&ending, 0, sizeof ending);
  ending.s = toft_shared_create(counted_init(&c));
  assert_non_null(toft_cleanup_add(toft_shared_local(ending.s), ask_again, &ending));
  assert_int_equal(toft_shared_release(ending.s), TOFT_OK);
  assert_true(ending.refused == 2 && ending.given == 2);
  counted_all_back(&c);
}

/* ---- many threads ---- */

static struct work {
  toft_shared *s;
  int rounds;
  pthread_mutex_t lock;
  struct found *found;
} work;

typedef struct found {
  struct found *next;
  unsigned char *p;
  size_t size;
  unsigned seed;
} found;

/* Each thread allocates in all ways, links its allocations into a list, and verifies them. */
static void *worker(void *arg) {
  uint32_t random = (uint32_t)(uintptr_t)arg;
  size_t wrong = 0;
  toft_arena *part = NULL;
  for (int i = 0; i < work.rounds; i++) {
    uint32_t kind = next_random(&random) % 1000;
    if (part == NULL && i > 20) part = toft_shared_local(work.s);
    size_t size = kind == 0 ? 70000 : kind < 10 ? next_random(&random) % 9000 : next_random(&random) % 100;
    int direct = part == NULL || kind % 2 == 0;
    found *f = (found *)(direct ? toft_shared_alloc(work.s, sizeof *f, 8) : toft_alloc(part, sizeof *f));
    if (f == NULL) return (void *)(uintptr_t)1;
    f->seed = next_random(&random);
    f->size = size;
    f->p = (unsigned char *)(direct ? toft_shared_alloc(work.s, size, 1 << kind % 7) : toft_alloc(part, size));
    if (f->p == NULL) return (void *)(uintptr_t)1;
    fill(f->p, size, f->seed);
    if (direct && kind % 5 == 0) {
      f->p = (unsigned char *)toft_shared_resize(work.s, f->p, size, size + 40, 8);
      if (f->p == NULL) return (void *)(uintptr_t)1;
      wrong += !filled(f->p, size, f->seed);
      f->size = size + 40;
      fill(f->p, f->size, f->seed);
    }
    if (direct && kind % 11 == 0) {
      unsigned char *tail = (unsigned char *)toft_shared_alloc(work.s, 64, 8);
      fill(tail, 64, 0);
      toft_shared_free(work.s, tail, 64);
    }
    pthread_mutex_lock(&work.lock);
    f->next = work.found;
    work.found = f;
    pthread_mutex_unlock(&work.lock);
    if (kind == 500) wrong += toft_shared_get_stats(work.s).live == 0 || !toft_shared_contains(work.s, f);
    if (part != NULL && kind == 600) { /* memory that a scope frees may go to other threads */
      TOFT_SCOPE(part);
      wrong += toft_alloc(part, 20000) == NULL;
    }
  }
  return (void *)(uintptr_t)wrong;
}

static void at_once(void **state) {
  counted c;
  (void)state;
  work.s = toft_shared_create(counted_init(&c)); /* which is no source for many threads at once */
  assert_int_equal(pthread_mutex_init(&work.lock, NULL), 0);
  work.rounds = long_run() ? 100000 : 5000;
  for (int round = 0; round < 4; round++) {
    pthread_t threads[THREADS];
    work.found = NULL;
    for (size_t i = 0; i < THREADS; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, worker, (void *)(uintptr_t)(i + 1 + 100 * (size_t)round)), 0);
    for (size_t i = 0; i < THREADS; i++) {
      void *wrong;
      assert_int_equal(pthread_join(threads[i], &wrong), 0);
      assert_null(wrong);
    }
    size_t n = 0;
    uint64_t bytes = 0;
    for (const found *f = work.found; f != NULL; f = f->next, n++) {
      assert_true(filled(f->p, f->size, f->seed)); /* no other thread wrote there */
      bytes += sizeof *f + f->size;
    }
    assert_int_equal(n, (size_t)work.rounds * THREADS);
    toft_stats s = toft_shared_get_stats(work.s);
    assert_true(s.live >= bytes && s.reserved == c.bytes && s.live + s.wasted <= s.reserved);
    assert_int_equal(toft_shared_reset(work.s, TOFT_KEEP_RECENT, 0), TOFT_OK);
  }
  pthread_mutex_destroy(&work.lock);
  assert_int_equal(toft_shared_release(work.s), TOFT_OK);
  counted_all_back(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_thread),
      cmocka_unit_test(the_newest),
      cmocka_unit_test(large_requests_leave_the_current_block),
      cmocka_unit_test(invalid_arguments),
      cmocka_unit_test(rounds),
      cmocka_unit_test(within_a_budget),
      cmocka_unit_test(local_arenas),
      cmocka_unit_test(a_local_arena_of_many_rounds),
      cmocka_unit_test(at_once),
      cmocka_unit_test(checked_local_arenas),
      cmocka_unit_test(cleanups_that_ask),
      cmocka_unit_test(pinned_local_arenas_are_released),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
