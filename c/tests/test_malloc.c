/* malloc on a recycler: a stream against a shadow, alignments, and the edges of each function.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

typedef struct object {
  unsigned char *p;
  size_t size;
  unsigned seed;
} object;

static size_t some_size(uint32_t *random) {
  uint32_t r = next_random(random), kind = r % 100;
  r >>= 8;
  return kind < 80 ? r % 300 : kind < 96 ? r % 5000 : kind < 99 ? 32000 + r % 600 : r % 400000;
}

static int is_checked(void) {
  const char *s = getenv("TOFT_CHECKED");
  return s != NULL && s[0] == '1';
}

/* Allocates, resizes and frees at random. Contents stay, and no two objects overlap. */
static void stream(toft_malloc *m, uint32_t random, int steps) {
  enum { MANY = 600 };
  object *all = (object *)calloc(MANY, sizeof *all);
  assert_non_null(all);
  for (int i = 0; i < steps; i++) {
    object *o = &all[next_random(&random) % MANY];
    uint32_t what = next_random(&random) % 16;
    size_t size = some_size(&random);
    if (o->p != NULL) assert_true(filled(o->p, o->size, o->seed));
    if (o->p != NULL && what < 8) {
      toft_malloc_free(m, o->p);
      o->p = NULL;
      continue;
    }
    if (o->p != NULL) {
      o->p = (unsigned char *)toft_malloc_realloc(m, o->p, size);
      assert_true(o->p != NULL && filled(o->p, size < o->size ? size : o->size, o->seed));
    } else if (what == 0) {
      size_t align = (size_t)1 << next_random(&random) % 15;
      o->p = (unsigned char *)toft_malloc_aligned(m, align, size);
      assert_true(o->p != NULL && is_aligned(o->p, align));
    } else if (what == 1) {
      o->p = (unsigned char *)toft_malloc_calloc(m, 1, size);
      for (size_t k = 0; k < size; k++) assert_int_equal(o->p[k], 0);
    } else {
      o->p = (unsigned char *)toft_malloc_alloc(m, size);
    }
    assert_true(o->p != NULL && is_aligned(o->p, 16));
    assert_true(toft_malloc_usable_size(m, o->p) >= size);
    assert_int_equal(toft_malloc_usable_size(NULL, o->p), is_checked() ? 0 : toft_malloc_usable_size(m, o->p));
    o->size = toft_malloc_usable_size(m, o->p); /* all of it may be written */
    o->seed = next_random(&random);
    fill(o->p, o->size, o->seed);
  }
  for (int i = 0; i < MANY; i++) toft_malloc_free(m, all[i].p);
  free(all);
}

static void streams(void **state) {
  counted c;
  toft_malloc m;
  (void)state;
  toft_malloc_init(&m, counted_init(&c));
  assert_int_equal(c.attempts, 0);
  for (uint32_t seed = 1; seed <= (long_run() ? 20u : 3u); seed++) {
    stream(&m, seed, 20000);
    assert_int_equal(toft_malloc_get_stats(&m).used, 0);
    toft_malloc_trim(&m, 0);
    counted_all_back(&c);
  }
  assert_non_null(toft_malloc_alloc(&m, 10));
  toft_malloc_release(&m);
  counted_all_back(&c);
}

static void edges(void **state) {
  volatile size_t most = SIZE_MAX; /* not known to the compiler, which warns */
  toft_malloc m;
  (void)state;
  toft_malloc_init(&m, NULL);
  toft_malloc_free(&m, NULL);
  assert_int_equal(toft_malloc_usable_size(&m, NULL), 0);
  assert_int_equal(toft_malloc_usable_size(NULL, NULL), 0);
  assert_null(toft_malloc_alloc(&m, most));
  assert_null(toft_malloc_alloc(&m, most - 16));
  assert_null(toft_malloc_calloc(&m, most / 2, 4));
  assert_null(toft_malloc_aligned(&m, 24, 8));
  assert_null(toft_malloc_aligned(&m, 0, 8));
  assert_null(toft_malloc_aligned(&m, (size_t)1 << (sizeof(size_t) * 8 - 1), 8));
  assert_null(toft_malloc_aligned(&m, 64, most - 32));
  assert_int_equal(toft_malloc_get_stats(&m).reserved, 0);
  void *a = toft_malloc_alloc(&m, 0), *b = toft_malloc_alloc(&m, 0);
  assert_true(a != NULL && b != NULL && a != b);
  char *p = (char *)toft_malloc_realloc(&m, NULL, 100);
  assert_non_null(p);
  memset(p, 7, 100);
  assert_null(toft_malloc_realloc(&m, p, most));
  assert_ptr_equal(toft_malloc_realloc(&m, p, 90), p); /* no copy to save so little */
  assert_int_equal(p[89], 7);
  p = (char *)toft_malloc_realloc(&m, p, 0);
  assert_non_null(p);
  toft_malloc_free(&m, p);
  p = (char *)toft_malloc_aligned(&m, 4096, 10);
  assert_true(is_aligned(p, 4096));
  memset(p, 9, 10);
  p = (char *)toft_malloc_realloc(&m, p, 100000);
  assert_true(p != NULL && p[9] == 9);
  p = (char *)toft_malloc_realloc(&m, p, 20);
  assert_true(p != NULL && p[9] == 9);
  toft_malloc_free(&m, p);
  toft_malloc_free(&m, a);
  toft_malloc_free(&m, b);
  assert_int_equal(toft_malloc_get_stats(&m).used, 0);
  toft_malloc_release(&m);
}

static void no_memory_changes_nothing(void **state) {
  counted c;
  toft_malloc m;
  (void)state;
  toft_malloc_init(&m, counted_init(&c));
  unsigned char *p = (unsigned char *)toft_malloc_alloc(&m, 1000);
  assert_non_null(p);
  fill(p, 1000, 5);
  c.fail_from = 1;
  assert_null(toft_malloc_realloc(&m, p, 1000000));
  assert_null(toft_malloc_aligned(&m, 64, 1000000));
  assert_true(filled(p, 1000, 5));
  toft_malloc_free(&m, p);
  assert_int_equal(toft_malloc_get_stats(&m).used, 0);
  toft_malloc_release(&m);
  counted_all_back(&c);
}

static void the_current_one(void **state) {
  toft_malloc m;
  (void)state;
  assert_null(toft_malloc_current());
  assert_null(toft_malloc_current_alloc(8));
  assert_null(toft_malloc_current_calloc(1, 8));
  assert_null(toft_malloc_current_realloc(NULL, 8));
  toft_malloc_current_free(NULL);
  toft_malloc_init(&m, NULL);
  assert_null(toft_malloc_current_swap(&m));
  assert_ptr_equal(toft_malloc_current(), &m);
  char *p = (char *)toft_malloc_current_alloc(8);
  assert_non_null(p);
  memcpy(p, "regions", 8);
  p = (char *)toft_malloc_current_realloc(p, 5000);
  assert_string_equal(p, "regions");
  toft_malloc_current_free(p);
  p = (char *)toft_malloc_current_calloc(10, 10);
  for (int i = 0; i < 100; i++) assert_int_equal(p[i], 0);
  assert_true(toft_malloc_get_stats(&m).used >= 100);
  assert_ptr_equal(toft_malloc_current_swap(NULL), &m);
  toft_malloc_current_free(p); /* none is current */
  assert_true(toft_malloc_get_stats(&m).used >= 100);
  toft_malloc_release(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams),
      cmocka_unit_test(edges),
      cmocka_unit_test(no_memory_changes_nothing),
      cmocka_unit_test(the_current_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
