/* Every source: heap, pages, reserve-and-commit, buffers, budgets, and sources that break their contract.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

#if !defined(_WIN32) && !defined(TOFT_OMIT_THREADS)
#include <pthread.h>
#endif

static void work_out(toft_arena *a) {
  for (int round = 0; round < 12; round++) {
    toft_mark m = toft_mark_here(a);
    for (unsigned i = 0; i < 400; i++) {
      size_t size = (i * 7919u) % 5000;
      unsigned char *p = (unsigned char *)toft_alloc_aligned(a, size, (size_t)1 << (i % 10));
      assert_non_null(p);
      fill(p, size, i);
    }
    unsigned char *large = (unsigned char *)toft_alloc(a, 3000000);
    assert_non_null(large);
    fill(large, 3000000, 1);
    assert_true(filled(large, 3000000, 1));
    if (round % 3 == 0)
      assert_int_equal(toft_rewind(a, m), TOFT_OK);
    else
      assert_int_equal(toft_reset(a), TOFT_OK);
  }
}

static void heap(void **state) {
  (void)state;
  toft_arena *a = toft_create();
  work_out(a);
  toft_release(a);
  a = arena_on(toft_heap());
  work_out(a);
  toft_release(a);
}

static void pages_of_every_kind(void **state) {
  (void)state;
  for (uint32_t flags = 0; flags <= (TOFT_PAGES_HUGE | TOFT_PAGES_LAZY); flags++) {
    toft_page_source pages;
    toft_arena *a = arena_on(toft_page_source_init(&pages, flags));
    work_out(a);
    toft_release(a);
    if (flags & TOFT_PAGES_LAZY)
      assert_true(pages.kept_bytes != 0);
    else
      assert_int_equal(pages.kept_bytes, 0);
    a = arena_on(&pages.source); /* from a kept range, if there is one */
    work_out(a);
    toft_release(a);
    toft_page_source_trim(&pages);
    assert_int_equal(pages.kept_bytes, 0);
    assert_null(pages.kept);
  }
}

static void a_reserve_never_moves(void **state) {
  toft_reserve_source r;
  (void)state;
  toft_source *s = toft_reserve_source_init(&r, (size_t)64 << 20);
  assert_non_null(s);
  toft_arena *a = arena_on(s);
  unsigned char *p = (unsigned char *)toft_alloc(a, 1);
  p[0] = 42;
  size_t size = 1;
  while (size < ((size_t)60 << 20)) { /* the newest allocation grows in place */
    size_t more = size + 1 + size / 3;
    assert_ptr_equal(toft_resize(a, p, size, more, 1), p);
    p[more - 1] = 43;
    size = more;
  }
  assert_int_equal(p[0], 42);
  assert_null(toft_alloc(a, (size_t)32 << 20)); /* beyond max */
  assert_non_null(toft_alloc(a, 8));
  assert_int_equal(toft_get_stats(a).blocks, 1);
  assert_int_equal(toft_reset(a), TOFT_OK);
  size_t held = r.committed;
  assert_true(held >= size);
  toft_trim(a, 1 << 20);
  assert_true(r.committed <= (size_t)2 << 20);
  work_out(a);
  assert_int_equal(toft_get_stats(a).blocks, 1);
  toft_release(a);
  assert_int_equal(r.committed, 0);
  a = arena_on(s); /* the same range again */
  assert_non_null(toft_alloc(a, 100000));
  toft_options second = TOFT_OPTIONS;
  second.source = s;
  assert_null(toft_create_with(&second)); /* one arena at a time */
  toft_release(a);
  toft_reserve_source_release(&r);
  assert_null(toft_reserve_source_init(&r, 0));
  assert_null(toft_reserve_source_init(&r, SIZE_MAX));
}

static void a_buffer_fills_and_refuses(void **state) {
  char memory[TOFT_BUFFER(1000) + 1];
  (void)state;
  for (size_t offset = 0; offset < 2; offset++) { /* at both starts */
    toft_arena *a = toft_create_in(memory + offset, TOFT_BUFFER(1000), NULL);
    assert_non_null(a);
    size_t n = 0;
    while (toft_alloc(a, 8) != NULL) n += 8;
    assert_true(n >= 1000);
    assert_null(toft_alloc(a, 1));
    assert_null(toft_alloc(a, 1 << 20));
    assert_int_equal(toft_reset(a), TOFT_OK);
    assert_non_null(toft_alloc(a, 1000));
    char *p = (char *)toft_mark_here(a).cursor;
    assert_true(p >= memory && p <= memory + sizeof memory);
    toft_release(a);
  }
}

static void a_buffer_overflows_to_its_source(void **state) {
  static char memory[8192];
  counted c;
  toft_reserve_source r;
  (void)state;
  toft_arena *a = toft_create_in(memory, sizeof memory, counted_init(&c));
  char *p = (char *)toft_alloc(a, 4000);
  assert_true(p > memory && p < memory + sizeof memory);
  assert_int_equal(c.attempts, 0);
  work_out(a);
  assert_true(c.takes != 0);
  toft_release(a);
  counted_all_back(&c);
  a = toft_create_in(memory, sizeof memory, toft_reserve_source_init(&r, (size_t)256 << 20));
  for (int i = 0; i < 50; i++) assert_non_null(toft_alloc(a, 1000000));
  for (int i = 0; i < 3; i++) {
    assert_int_equal(toft_reset(a), TOFT_OK);
    assert_non_null(toft_alloc(a, 2000000));
  }
  toft_release(a);
  toft_reserve_source_release(&r);
}

static void options_take_a_buffer_too(void **state) {
  static char memory[4096];
  toft_options o = TOFT_OPTIONS;
  (void)state;
  o.buffer = memory;
  o.buffer_size = sizeof memory;
  o.budget = 100;
  toft_arena *a = toft_create_with(&o);
  assert_non_null(toft_alloc(a, 96));
  assert_null(toft_alloc(a, 8));
  toft_release(a);
}

static void a_budget_bounds_all_arenas_of_a_source(void **state) {
  counted c;
  toft_limited_source b;
  (void)state;
  toft_source *s = toft_limited_source_init(&b, counted_init(&c), 100000);
  toft_arena *first = arena_on(s), *second = arena_on(s);
  while (toft_alloc(first, 1000) != NULL) {
  }
  assert_true(b.used <= 100000 && c.bytes == b.used);
  while (toft_alloc(second, 1000) != NULL) {
  }
  assert_true(b.used <= 100000 && c.bytes == b.used);
  toft_release(first);
  toft_release(second);
  assert_int_equal(b.used, 0);
  counted_all_back(&c);
}

static void a_budget_around_a_reserve(void **state) {
  toft_reserve_source r;
  toft_limited_source b;
  (void)state;
  toft_source *s = toft_limited_source_init(&b, toft_reserve_source_init(&r, (size_t)64 << 20), 1000000);
  toft_arena *a = arena_on(s);
  size_t n = 0;
  while (toft_alloc(a, 1000) != NULL) n += 1000;
  assert_true(n > 990000 && n <= 1000000);
  assert_int_equal(toft_reset(a), TOFT_OK);
  toft_trim(a, 0);
  assert_true(b.used < 10000);
  toft_release(a);
  assert_int_equal(b.used, 0);
  toft_reserve_source_release(&r);
}

static size_t wrong_takes, wrong_puts;
static char wrong_memory[9000];
static void *wrong_take(toft_source *self, size_t size) {
  (void)self, (void)size;
  wrong_takes++;
  return wrong_memory + 8 + (size_t)(-(uintptr_t)wrong_memory & 63); /* not on a cache line */
}
static void wrong_put(toft_source *self, void *p, size_t size) {
  (void)self, (void)p, (void)size;
  wrong_puts++;
}

static void a_misaligned_source_is_refused(void **state) {
  toft_source s = {wrong_take, wrong_put, NULL};
  toft_options o = TOFT_OPTIONS;
  static char memory[2048];
  (void)state;
  o.source = &s;
  assert_null(toft_create_with(&o));
  toft_arena *a = toft_create_in(memory, sizeof memory, &s);
  assert_null(toft_alloc(a, 3000));
  toft_release(a);
  assert_int_equal(wrong_takes, 2);
  assert_int_equal(wrong_puts, 2);
}

static void a_budget_without_a_source_is_the_heaps(void **state) {
  toft_limited_source b;
  (void)state;
  toft_arena *a = arena_on(toft_limited_source_init(&b, NULL, 1 << 20));
  assert_non_null(toft_alloc(a, 50000));
  assert_null(toft_alloc(a, 2 << 20));
  assert_ptr_equal(b.inner, toft_heap());
  toft_release(a);
  assert_int_equal(b.used, 0);
}

#if !defined(_WIN32) && !defined(TOFT_OMIT_THREADS)
static size_t stops; /* atomic */

static void *request_too_much(void *source) {
  toft_source *s = (toft_source *)source;
  while (!__atomic_load_n(&stops, __ATOMIC_RELAXED)) {
    void *p = s->take(s, 61440); /* with the block of the other thread it is above the limit */
    if (p != NULL) s->put(s, p, 61440);
  }
  return NULL;
}

/* Half of the limit, while another thread's requests are refused. */
static void refused_requests_do_not_count(void **state) {
  (void)state;
  toft_limited_source b;
  toft_source *s = toft_limited_source_init(&b, NULL, 65536);
  void *first = s->take(s, 8192);
  pthread_t thread;
  assert_non_null(first);
  assert_int_equal(pthread_create(&thread, NULL, request_too_much, s), 0);
  for (size_t i = 0; i < rounds_of(200000); i++) {
    void *p = s->take(s, 24576);
    assert_non_null(p);
    s->put(s, p, 24576);
  }
  __atomic_store_n(&stops, 1, __ATOMIC_RELAXED);
  assert_int_equal(pthread_join(thread, NULL), 0);
  s->put(s, first, 8192);
  assert_int_equal(b.used, 0);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
#if !defined(_WIN32) && !defined(TOFT_OMIT_THREADS)
    cmocka_unit_test(refused_requests_do_not_count),
#endif
    cmocka_unit_test(heap),
    cmocka_unit_test(pages_of_every_kind),
    cmocka_unit_test(a_reserve_never_moves),
    cmocka_unit_test(a_buffer_fills_and_refuses),
    cmocka_unit_test(a_buffer_overflows_to_its_source),
    cmocka_unit_test(options_take_a_buffer_too),
    cmocka_unit_test(a_budget_bounds_all_arenas_of_a_source),
    cmocka_unit_test(a_budget_around_a_reserve),
    cmocka_unit_test(a_budget_without_a_source_is_the_heaps),
    cmocka_unit_test(a_misaligned_source_is_refused),
  };
  return cmocka_run_group_tests_name("sources", tests, NULL, NULL);
}
