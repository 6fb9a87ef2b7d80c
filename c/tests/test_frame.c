/* Frames: arenas that are emptied and that stay, refused calls; the barrier. Under TSan.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>
#include <sched.h>

#include "frames.h"

/* ---- one thread ---- */

static void a_frame_is_emptied(void **state) {
  toft_options o = TOFT_OPTIONS;
  counted c;
  (void)state;
  o.source = counted_init(&c);
  toft_frames *f = toft_frames_create(1, &o);
  assert_non_null(f);
  assert_int_equal(c.out, 0);
  toft_arena *a = toft_frame_arena(f);
  size_t attempts = 0;
  for (unsigned i = 0; i < 3000; i++) {
    assert_ptr_equal(toft_frame_arena(f), a);
    assert_int_equal(toft_get_stats(a).live, 0);
    for (unsigned k = 0; k < 20; k++) fill(toft_alloc(a, 100 * k), 100 * k, k + i);
    assert_int_equal(stats_of(f).live, toft_get_stats(a).live);
    assert_int_equal(toft_frames_number(f), i);
    assert_int_equal(toft_frames_advance(f), TOFT_OK);
    if (i == 5) attempts = c.attempts;
  }
  assert_int_equal(c.attempts, attempts); /* a steady loop does not call the source */
  assert_true(c.bytes > 20000);
  assert_int_equal(toft_frames_trim(f, 0), TOFT_OK);
  assert_int_equal(c.bytes, 4096);
  toft_release(a); /* is the frames' */
  assert_non_null(toft_alloc(a, 10000));
  assert_int_equal(toft_frames_advance(f), TOFT_OK);
  assert_int_equal(toft_frames_release(f), TOFT_OK);
  counted_all_back(&c);
}

static void marks_do_not_outlive_a_frame(void **state) {
  toft_frames *f = toft_frames_create(1, NULL);
  (void)state;
  toft_arena *a = toft_frame_arena(f);
  for (int i = 0; i < 3; i++) {
    assert_non_null(toft_alloc(a, 10));
    toft_mark m = toft_mark_here(a);
    assert_non_null(toft_alloc(a, 10));
    assert_int_equal(toft_frames_advance(f), TOFT_OK);
    assert_non_null(toft_alloc(a, 100));
    assert_int_equal(toft_rewind(a, m), TOFT_EMARK);
  }
  assert_int_equal(toft_frames_release(f), TOFT_OK);
}

static void buffers_overlap(void **state) {
  (void)state;
  for (uint32_t n = 1; n <= TOFT_FRAMES_BUFFERS_MAX; n++) {
    toft_frames *f = toft_frames_create(n, NULL);
    for (unsigned i = 0; i < 40; i++) {
      unsigned char *p = (unsigned char *)toft_alloc(toft_frame_arena(f), 500);
      fill(p, 500, i);
      assert_null(toft_frame_previous(f, 0));
      toft_frame_publish(f, p);
      for (uint32_t age = 0; age < n + 2; age++) {
        const void *past = toft_frame_previous(f, age);
        assert_true((past != NULL) == (age < n && age <= i));
        if (past != NULL) assert_true(filled(past, 500, i - age));
      }
      assert_int_equal(stats_of(f).arenas, i + 1 < n ? i + 1 : n);
      assert_int_equal(toft_frames_advance(f), TOFT_OK);
    }
    assert_int_equal(stats_of(f).live, 504 * (n - 1));
    assert_int_equal(toft_frames_release(f), TOFT_OK);
  }
}

static void frames_share_nothing(void **state) {
  toft_frames *f[3];
  (void)state;
  for (int i = 0; i < 3; i++) f[i] = toft_frames_create(1 + (uint32_t)i, NULL);
  for (int round = 0; round < 20; round++) {
    unsigned char *p[3];
    for (unsigned i = 0; i < 3; i++) fill(p[i] = (unsigned char *)toft_alloc(toft_frame_arena(f[i]), 100), 100, i);
    for (unsigned i = 0; i < 3; i++) assert_true(toft_contains(toft_frame_arena(f[i]), p[i]));
    assert_int_equal(toft_frames_advance(f[0]), TOFT_OK);
    (void)!toft_alloc(toft_frame_arena(f[0]), 100);
    assert_true(filled(p[1], 100, 1) && filled(p[2], 100, 2));
    for (int i = 1; i < 3; i++) assert_int_equal(toft_frames_advance(f[i]), TOFT_OK);
  }
  toft_frames_release(f[1]);
  f[1] = toft_frames_create(1, NULL); /* perhaps where the other one was */
  assert_int_equal(toft_get_stats(toft_frame_arena(f[1])).live, 0);
  for (int i = 0; i < 3; i++) assert_int_equal(toft_frames_release(f[i]), TOFT_OK);
}

static void a_frame_in_a_frame(void **state) {
  toft_frames *f = toft_frames_create(2, NULL);
  (void)state;
  toft_arena *outer = toft_frame_arena(f);
  assert_non_null(toft_alloc(outer, 24));
  for (int i = 0; i < 3; i++) {
    {
      TOFT_FRAME(f, inner);
      assert_ptr_equal(inner, outer);
      assert_non_null(toft_alloc(inner, 5000));
      for (;;) {
        TOFT_FRAME(f, deeper);
        assert_non_null(toft_alloc(deeper, 50));
        break;
      }
      assert_int_equal(toft_get_stats(outer).live, 5024);
    }
    assert_int_equal(toft_get_stats(outer).live, 24);
  }
  assert_int_equal(toft_frames_release(f), TOFT_OK);
}

static void cleanups_run_when_the_frame_ends(void **state) {
  toft_frames *f = looked_at = toft_frames_create(2, NULL);
  (void)state;
  cleaned = 0;
  assert_non_null(toft_cleanup_add(toft_frame_arena(f), clean, NULL));
  assert_int_equal(toft_frames_advance(f), TOFT_OK);
  assert_int_equal(cleaned, 0);
  assert_int_equal(toft_frames_advance(f), TOFT_OK);
  assert_int_equal(cleaned, 1);
  assert_non_null(toft_cleanup_add(toft_frame_arena(f), clean, NULL));
  assert_int_equal(toft_frames_release(f), TOFT_OK);
  assert_int_equal(cleaned, 2);
}

static void refused_calls(void **state) {
  toft_options o = TOFT_OPTIONS;
  char buffer[5000];
  (void)state;
  assert_null(toft_frames_create(0, NULL));
  assert_null(toft_frames_create(TOFT_FRAMES_BUFFERS_MAX + 1, NULL));
  o.flags = 0x4000;
  assert_null(toft_frames_create(1, &o));
  o.flags = 0;
  o.buffer = buffer;
  o.buffer_size = sizeof buffer;
  assert_null(toft_frames_create(1, &o));
  assert_int_equal(toft_frames_release(NULL), TOFT_OK);

  toft_frames *f = toft_frames_create(2, NULL);
  toft_arena *a = toft_frame_arena(f);
  toft_frame_stats s = {7, 0, 0, 0, 0, 0, 0};
  toft_range r;
  assert_int_equal(toft_frame_leave(f), TOFT_EARG);
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  assert_int_equal(toft_frames_advance(f), TOFT_OK); /* the other buffer */
  assert_int_equal(toft_frames_advance(f), TOFT_EBUSY);
  assert_int_equal(toft_frames_number(f), 1);
  assert_int_equal(toft_frames_trim(f, 0), TOFT_EBUSY);
  assert_int_equal(toft_frames_release(f), TOFT_EBUSY);
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  assert_int_equal(toft_frame_enter(f), TOFT_OK);
  assert_int_equal(toft_frame_enter(f), TOFT_OK);
  assert_int_equal(toft_frames_advance(f), TOFT_EBUSY);
  assert_int_equal(toft_frame_leave(f), TOFT_OK);
  assert_int_equal(toft_frames_advance(f), TOFT_EBUSY);
  assert_int_equal(toft_frames_get_stats(f, &s), TOFT_EBUSY);
  assert_int_equal(s.live, 7);
  assert_int_equal(toft_frame_leave(f), TOFT_OK);
  assert_int_equal(toft_frame_leave(f), TOFT_EARG);
  assert_int_equal(toft_frames_advance(f), TOFT_OK);
  toft_arena *mine = toft_create();
  assert_int_equal(toft_adopt(mine, toft_frame_arena(f)), TOFT_EBUSY);
  toft_release(mine);
  assert_int_equal(toft_frames_release(f), TOFT_OK);
}

static void budgets_and_checks(void **state) {
  toft_options o = TOFT_OPTIONS;
  (void)state;
  o.budget = 1000;
  o.flags = TOFT_CHECKED;
  toft_frames *f = toft_frames_create(1, &o);
  for (int i = 0; i < 3; i++) {
    toft_arena *a = toft_frame_arena(f);
    unsigned char *p = (unsigned char *)toft_alloc(a, 100);
    assert_non_null(p);
    assert_null(toft_alloc(a, 2000));
    assert_true(holds_wrongly(p + 5, 1, 0xCD));
    if (i == 1) write_wrongly(p, 100);
    assert_int_equal(toft_frames_advance(f), i == 1 ? TOFT_ECORRUPT : TOFT_OK);
    assert_true(holds_wrongly(p + 5, 1, 0xDD));
  }
  assert_int_equal(toft_frames_release(f), TOFT_OK);
  o.flags = 0;
  f = toft_frames_create(1, &o);
  for (int i = 0; i < 200; i++) {
    toft_arena *a = toft_frame_arena(f);
    assert_non_null(toft_alloc(a, 1000));
    assert_null(toft_alloc(a, 1));
    assert_int_equal(toft_frames_advance(f), TOFT_OK);
  }
  assert_int_equal(toft_frames_release(f), TOFT_OK);
}

static void count_soft_budget(void *arg, toft_arena *a, uint64_t live, uint64_t budget) {
  (void)a;
  assert_true(live > budget);
  ++*(int *)arg;
}

static void a_soft_budget_is_reported_in_each_frame(void **state) {
  int reported = 0;
  (void)state;
  toft_frames *f = toft_frames_create(1, NULL);
  assert_int_equal(toft_set_soft_budget(toft_frame_arena(f), 1000, count_soft_budget, &reported), TOFT_OK);
  for (int i = 1; i <= 10; i++) {
    for (int k = 0; k < 20; k++) assert_non_null(toft_alloc(toft_frame_arena(f), 100));
    assert_int_equal(reported, i);
    assert_int_equal(toft_frames_advance(f), TOFT_OK);
    assert_int_equal(toft_frames_advance(f), TOFT_OK); /* a frame that keeps to it */
  }
  assert_int_equal(reported, 10);
  assert_int_equal(toft_frames_release(f), TOFT_OK);
}

/* ---- parties that end a frame together ---- */

static void *arrive_often(void *arg) {
  crew *c = (crew *)arg;
  for (size_t i = 0; i < c->rounds; i++) {
    __atomic_add_fetch(&c->wrong, 1, __ATOMIC_RELAXED);
    if (toft_frames_arrive_and_wait(c->frames) != TOFT_OK) return (void *)1;
    if (__atomic_load_n(&c->wrong, __ATOMIC_RELAXED) < (i + 1) * THREADS) return (void *)1; /* all had arrived */
    if (toft_frames_number(c->frames) < i + 1) return (void *)1;
  }
  return NULL;
}

static void parties_end_each_frame_once(void **state) {
  pthread_t threads[THREADS];
  crew c;
  (void)state;
  memset(&c, 0, sizeof c);
  c.frames = toft_frames_create(1, NULL);
  assert_int_equal(toft_frames_arrive_and_wait(c.frames), TOFT_EARG);
  assert_int_equal(toft_frames_arrive_and_drop(c.frames), TOFT_EARG);
  assert_int_equal(toft_frames_set_parties(c.frames, THREADS), TOFT_OK);
  c.rounds = long_run() ? 50000 : rounds_of(2000);
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, arrive_often, &c), 0);
  for (int i = 0; i < THREADS; i++) {
    void *wrong;
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
  assert_int_equal(toft_frames_number(c.frames), c.rounds);
  assert_int_equal(toft_frames_set_parties(c.frames, 1), TOFT_OK);
  for (int i = 0; i < 3; i++) assert_int_equal(toft_frames_arrive_and_wait(c.frames), TOFT_OK);
  assert_int_equal(toft_frames_number(c.frames), c.rounds + 3);
  assert_int_equal(toft_frames_arrive_and_drop(c.frames), TOFT_OK);
  assert_int_equal(toft_frames_arrive_and_drop(c.frames), TOFT_EARG);
  assert_int_equal(toft_frames_arrive_and_wait(c.frames), TOFT_EARG);
  assert_int_equal(toft_frames_number(c.frames), c.rounds + 3);
  assert_int_equal(toft_frames_release(c.frames), TOFT_OK);
}

static void *arrive_once(void *frames) { return (void *)(intptr_t)toft_frames_arrive_and_wait((toft_frames *)frames); }

static void one_drops_out_and_the_others_go_on(void **state) {
  pthread_t threads[3];
  (void)state;
  for (int round = 0; round < 50; round++) {
    toft_frames *f = toft_frames_create(1, NULL);
    assert_int_equal(toft_frames_set_parties(f, 4), TOFT_OK);
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, arrive_once, f), 0);
    assert_int_equal(toft_frames_arrive_and_drop(f), TOFT_OK); /* whether they wait already or not */
    for (int i = 0; i < 3; i++) {
      void *code;
      pthread_join(threads[i], &code);
      assert_int_equal((intptr_t)code, TOFT_OK);
    }
    assert_int_equal(toft_frames_number(f), 1);
    assert_int_equal(toft_frames_release(f), TOFT_OK);
  }
}

static void drop_out(void *frames) {
  if (toft_frames_arrive_and_drop((toft_frames *)frames) == TOFT_OK) cleaned++;
}

/* While a thread waits the parties are fixed and the frames cannot be released. All parties get the result of advance,
 * and a cleanup that it runs may drop a party. */
static void waiting_threads_keep_the_frames(void **state) {
  pthread_t t;
  void *code;
  toft_range r;
  toft_frames *f = toft_frames_create(1, NULL);
  (void)state;
  assert_int_equal(toft_frames_set_parties(f, 2), TOFT_OK);
  assert_int_equal(pthread_create(&t, NULL, arrive_once, f), 0);
  while (toft_frames_set_parties(f, 2) != TOFT_EBUSY) sched_yield();
  assert_int_equal(toft_frames_release(f), TOFT_EBUSY);
  toft_arena *a = toft_frame_arena(f);
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  assert_int_equal(toft_frames_arrive_and_wait(f), TOFT_EBUSY); /* of advance: an arena is claimed */
  pthread_join(t, &code);
  assert_int_equal((intptr_t)code, TOFT_EBUSY);
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  assert_int_equal(toft_frames_number(f), 0);
  cleaned = 0;
  assert_int_equal(toft_cleanup_add(a, drop_out, f) != NULL, 1);
  assert_int_equal(pthread_create(&t, NULL, arrive_once, f), 0);
  assert_int_equal(toft_frames_arrive_and_wait(f), TOFT_OK);
  pthread_join(t, &code);
  assert_int_equal((intptr_t)code, TOFT_OK);
  assert_int_equal(cleaned, 1);
  assert_int_equal(toft_frames_arrive_and_wait(f), TOFT_OK); /* the one party that is left */
  assert_int_equal(toft_frames_number(f), 2);
  assert_int_equal(toft_frames_release(f), TOFT_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_frame_is_emptied),
      cmocka_unit_test(marks_do_not_outlive_a_frame),
      cmocka_unit_test(buffers_overlap),
      cmocka_unit_test(frames_share_nothing),
      cmocka_unit_test(a_frame_in_a_frame),
      cmocka_unit_test(cleanups_run_when_the_frame_ends),
      cmocka_unit_test(refused_calls),
      cmocka_unit_test(budgets_and_checks),
      cmocka_unit_test(a_soft_budget_is_reported_in_each_frame),
      cmocka_unit_test(parties_end_each_frame_once),
      cmocka_unit_test(one_drops_out_and_the_others_go_on),
      cmocka_unit_test(waiting_threads_keep_the_frames),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
