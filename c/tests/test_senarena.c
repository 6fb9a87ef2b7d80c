/* A program that is written for sensible-arena, on toft/senarena.h, and what the original gets wrong or refuses by
 * ending the process.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "toft/senarena.h"

#include "support.h"

struct node {
  struct node *next;
  int numbers[2];
};

static void a_program_of_the_original(void **state) {
  (void)state;
  struct senarena arena = senarena_new();
  for (int round = 0; round < 3; round++) {
    struct node *list = NULL;
    for (int i = 0; i < 10000; i++) {
      struct node *n = (struct node *)senarena_alloc_type(&arena, struct node);
      n->next = list;
      n->numbers[1] = i;
      list = n;
    }
    int *squares = (int *)senarena_alloc_array_of(&arena, int, 99 + 1);
    for (int i = 0; i < 100; i++) squares[i] = i * i;
    char *text = (char *)senarena_alloc(&arena, 6, 1);
    memcpy(text, "hello", 6);
    for (int i = 9999; i >= 0; i--, list = list->next) assert_int_equal(list->numbers[1], i);
    assert_null(list);
    assert_int_equal(squares[99], 9801);
    senarena_clear(&arena);
  }
  senarena_free(arena);
}

static void each_alignment_is_kept(void **state) {
  (void)state;
  struct senarena arena = senarena_new();
  for (size_t i = 0; i < 20000; i++) {
    size_t align = (size_t)1 << i % 8;
    assert_true(is_aligned(senarena_alloc(&arena, 1 + i % 61, align), align));
    if (i % 100 == 0) assert_true(is_aligned(senarena_alloc(&arena, 2000, 64), 64));
  }
  senarena_free(arena);
}

static void impossible_requests_are_null(void **state) {
  (void)state;
  struct senarena arena = senarena_new(), none = {NULL};
  assert_null(senarena_alloc(&arena, SIZE_MAX, 8));
  assert_null(senarena_alloc_array_of(&arena, int, SIZE_MAX / 2));
  assert_null(senarena_alloc(&arena, 8, 24));
  assert_null(senarena_alloc(&none, 8, 8));
  assert_null(senarena_alloc_array_of(&none, int, 2));
  senarena_clear(&none);
  senarena_free(none);
  senarena_free(arena);
}

/* The original keeps each large allocation of each round. */
static void rounds_of_large_requests_keep_one(void **state) {
  (void)state;
  struct senarena arena = senarena_new();
  for (int round = 0; round < 200; round++) {
    assert_non_null(senarena_alloc(&arena, (size_t)1 << 20, 8));
    senarena_clear(&arena);
  }
  assert_true(toft_get_stats(arena.arena).reserved <= (size_t)3 << 20);
  senarena_free(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_program_of_the_original),
      cmocka_unit_test(each_alignment_is_kept),
      cmocka_unit_test(impossible_requests_are_null),
      cmocka_unit_test(rounds_of_large_requests_keep_one),
  };
  return cmocka_run_group_tests_name("senarena", tests, NULL, NULL);
}
