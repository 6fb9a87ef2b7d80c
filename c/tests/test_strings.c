/* Strings, printf, packed bytes, hooks and the current arena.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>

#include "support.h"

static void copies(void **state) {
  (void)state;
  toft_arena *a = toft_create();
  assert_string_equal(toft_strdup(a, ""), "");
  assert_string_equal(toft_strdup(a, "toft"), "toft");
  assert_string_equal(toft_strndup(a, "toft", 2), "to");
  assert_string_equal(toft_strndup(a, "toft", 100), "toft");
  assert_string_equal(toft_strndup(a, "toft", SIZE_MAX / 4), "toft");
  assert_string_equal(toft_strndup(a, "toft", 0), "");
  int numbers[3] = {1, 2, 3};
  int *p = (int *)toft_memdup(a, numbers, sizeof numbers);
  assert_true(is_aligned(p, 16) && memcmp(p, numbers, sizeof numbers) == 0);
  assert_non_null(toft_memdup(a, NULL, 0));
  toft_release(a);
}

static void printf_of_every_length(void **state) {
  static char want[9000];
  (void)state;
  toft_arena *a = toft_create();
  for (int n = 0; n < 8500; n += 1 + n / 7) { /* within the remaining bytes, at the limit, and beyond */
    snprintf(want, sizeof want, "%0*d|%s", n, 7, "end");
    char *s = toft_printf(a, "%0*d|%s", n, 7, "end");
    assert_string_equal(s, want);
    assert_true(toft_contains(a, s));
  }
  size_t remaining = (size_t)(a->limit - a->cursor);
  char *exact = toft_printf(a, "%0*d", (int)remaining - 1, 1);
  assert_int_equal(strlen(exact), remaining - 1);
  assert_true(a->limit == a->cursor);
  assert_string_equal(toft_printf(a, "x"), "x");
  toft_release(a);
  char memory[TOFT_BUFFER(64)];
  a = toft_create_in(memory, sizeof memory, NULL);
  uint64_t live = toft_get_stats(a).live;
  assert_null(toft_printf(a, "%0500d", 1));
  assert_int_equal(toft_get_stats(a).live, live);
  toft_release(a);
}

static void packs_waste_little(void **state) {
  counted c;
  (void)state;
  toft_arena *a = arena_on(counted_init(&c));
  toft_pack k = toft_pack_begin(a);
  static char *words[20000];
  char want[32];
  size_t bytes = 0;
  for (unsigned i = 0; i < 20000; i++) {
    snprintf(want, sizeof want, "w%u", i % 5000);
    words[i] = toft_pack_strdup(&k, want);
    bytes += strlen(want) + 1;
    if (i % 3 == 0) fill(toft_alloc(a, 8), 8, i); /* nodes in between */
  }
  for (unsigned i = 0; i < 20000; i++) {
    snprintf(want, sizeof want, "w%u", i % 5000);
    assert_string_equal(words[i], want);
  }
  size_t nodes = 8 * 6667;
  assert_true(toft_get_stats(a).live <
              nodes + bytes + bytes / 100 + 4096); /* the rounding to 8 would cost half; a chunk is open */
  assert_string_equal(toft_pack_strndup(&k, "packed", 4), "pack");
  assert_memory_equal(toft_pack_bytes(&k, "\0\1\2", 3), "\0\1\2", 3);
  char *large = (char *)toft_pack_alloc(&k, 100000); /* larger than any chunk */
  fill(large, 100000, 1);
  char *small = toft_pack_strdup(&k, "after");
  assert_true(filled(large, 100000, 1));
  assert_string_equal(small, "after");
  assert_non_null(toft_pack_alloc(&k, 0));
  assert_null(toft_pack_alloc(&k, SIZE_MAX));
  toft_release(a);
  counted_all_back(&c);
}

/* A size that the compiler does not see: it warns of calls that must fail. */
static size_t unknown(size_t size) {
  volatile size_t hidden = size;
  return hidden;
}

static void hooks_behave_like_malloc(void **state) {
  (void)state;
  toft_arena *a = toft_create();
  unsigned char *p = (unsigned char *)toft_hook_malloc(a, 100);
  assert_true(is_aligned(p, 16));
  fill(p, 100, 1);
  p = (unsigned char *)toft_hook_realloc(a, p, 10000);
  assert_true(is_aligned(p, 16) && filled(p, 100, 1));
  unsigned char *q = (unsigned char *)toft_hook_realloc(a, NULL, 50);
  fill(q, 50, 2);
  p = (unsigned char *)toft_hook_realloc(a, p, 20000); /* not the newest: moves */
  assert_true(filled(p, 100, 1) && filled(q, 50, 2));
  toft_hook_free(a, p);
  toft_hook_free(a, NULL);
  p = (unsigned char *)toft_hook_calloc(a, 100, 200); /* where p was */
  assert_true(is_aligned(p, 16));
  for (int i = 0; i < 20000; i++) assert_int_equal(p[i], 0);
  assert_null(toft_hook_calloc(a, unknown(SIZE_MAX / 2), 3));
  assert_null(toft_hook_malloc(a, unknown(SIZE_MAX)));
  assert_null(toft_hook_realloc(a, q, unknown(SIZE_MAX - 3)));
  assert_true(filled(q, 50, 2));
  toft_release(a);
}

/* Frees in an arena: of the newest object, of the newest block's only object, and of others, which change nothing. */
static void check_hook_frees(toft_arena *a) {
  unsigned char *old = (unsigned char *)toft_hook_malloc(a, 100), *p = (unsigned char *)toft_hook_malloc(a, 100);
  uint64_t live = toft_get_stats(a).live;
  unsigned char *cursor = a->cursor;
  toft_hook_free(a, old);
  assert_ptr_equal(a->cursor, cursor);
  assert_int_equal(toft_get_stats(a).live, live);
  unsigned char *large = (unsigned char *)toft_hook_malloc(a, 3 << 20);
  assert_int_equal(toft_get_stats(a).live, live + (3 << 20) + 16);
  toft_hook_free(a, old);
  assert_int_equal(toft_get_stats(a).live, live + (3 << 20) + 16);
  toft_hook_free(a, large);
  assert_int_equal(toft_get_stats(a).live, live);
  assert_ptr_equal(a->cursor, cursor);
  toft_hook_free(a, p);
  assert_int_equal(toft_get_stats(a).live, live - 112 - 16 + 8);
  assert_ptr_equal(toft_hook_malloc(a, 100), p);
}

static void hooks_free_what_can_be_reused(void **state) {
  (void)state;
  toft_arena *a = toft_create();
  unsigned char *p = (unsigned char *)toft_hook_malloc(a, 10), *q = (unsigned char *)toft_hook_malloc(a, 10);
  toft_hook_free(a, p); /* before the first call of the table */
  assert_ptr_equal(toft_hook_malloc(a, 10), q + 32);
  check_hook_frees(a);
  assert_int_equal(toft_set_budget(a, 8 << 20), TOFT_OK);
  check_hook_frees(a);
  toft_release(a);
#ifndef TOFT_OMIT_THREADS
  toft_lease l = toft_lease_get(NULL);
  check_hook_frees(l.arena);
  assert_int_equal(toft_lease_return(NULL, l), TOFT_OK);
#endif
}

static void the_current_arena_serves_hooks_without_a_context(void **state) {
  (void)state;
  assert_null(toft_current());
  assert_null(toft_current_malloc(10));
  assert_null(toft_current_realloc(NULL, 10));
  toft_current_free(NULL);
  toft_arena *a = toft_create(), *b = toft_create();
  assert_null(toft_current_swap(a));
  unsigned char *p = (unsigned char *)toft_current_calloc(10, 10);
  for (int i = 0; i < 100; i++) assert_int_equal(p[i], 0);
  assert_true(toft_contains(a, p));
  assert_null(toft_current_calloc(unknown(SIZE_MAX / 2), 3));
  toft_arena *before = toft_current_swap(b);
  assert_ptr_equal(before, a);
  assert_true(toft_contains(b, toft_current_malloc(8)));
  assert_ptr_equal(toft_current_swap(before), b);
  p = (unsigned char *)toft_current_realloc(p, 200);
  assert_true(toft_contains(a, p));
  toft_current_free(p);
  assert_ptr_equal(toft_current_swap(NULL), a);
  toft_release(a);
  toft_release(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies),
      cmocka_unit_test(printf_of_every_length),
      cmocka_unit_test(packs_waste_little),
      cmocka_unit_test(hooks_behave_like_malloc),
      cmocka_unit_test(hooks_free_what_can_be_reused),
      cmocka_unit_test(the_current_arena_serves_hooks_without_a_context),
  };
  return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
