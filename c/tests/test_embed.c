/* Three copies of the library in one program: linked, embedded with a prefix, embedded static. They share no state, and
 * arenas of one can be used and adopted by the others.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"
#include "embed.h"

static const copy linked = EMBED_COPY;
static const copy *const copies[] = {&linked, &embed_prefix, &embed_static};
enum { COPIES = 3 };

static int count_block(void *arg, const toft_block *block) {
  (void)block;
  ++*(int *)arg;
  return 0;
}

static void count_call(void *arg) { ++*(int *)arg; }

static void copies_are_distinct(void **state) {
  (void)state;
  for (int i = 0; i < COPIES; i++)
    for (int j = 0; j < i; j++) assert_true(copies[i]->create != copies[j]->create);
}

static void caches_are_distinct(void **state) {
  (void)state;
  for (int i = 0; i < COPIES; i++) copies[i]->cache_trim();
  for (int i = 0; i < COPIES; i++) {
    toft_release(copies[i]->create());
    for (int j = 0; j < COPIES; j++) assert_int_equal(copies[j]->cache_bytes() != 0, j <= i);
  }
}

/* This unit's inline layer is compiled against the linked copy; the arenas are of all three. */
static void inline_layer_serves_every_copy(void **state) {
  (void)state;
  for (int i = 0; i < COPIES; i++) {
    int cleaned = 0;
    toft_arena *a = copies[i]->create();
    assert_non_null(a);
    toft_mark m = toft_mark_here(a);
    assert_non_null(toft_cleanup_add(a, count_call, &cleaned));
    for (unsigned k = 0; k < 3000; k++) {
      void *p = toft_alloc_aligned(a, k % 300, (size_t)1 << (k % 9));
      assert_non_null(p);
      assert_true(is_aligned(p, (size_t)1 << (k % 9)));
    }
    assert_int_equal(toft_rewind(a, m), TOFT_OK);
    assert_int_equal(cleaned, 1);
    assert_int_equal(toft_get_stats(a).live, 0);
    toft_release(a);
  }
}

static void compiled_calls_serve_every_copy(void **state) {
  (void)state;
  for (int i = 0; i < COPIES; i++)
    for (int j = 0; j < COPIES; j++) {
      toft_arena *a = copies[i]->create();
      int n = 0, code = copies[j]->blocks(a, count_block, &n);
      assert_string_equal(copies[j]->print(a, "%d %s", 7, "seven"), "7 seven");
      assert_int_equal(code, i == j ? 0 : TOFT_ENOSYS);
      assert_int_equal(n > 0, i == j);
      toft_release(a);
    }
}

static void adopt_across_copies(void **state) {
  (void)state;
  for (int i = 0; i < COPIES; i++)
    for (int j = 0; j < COPIES; j++) {
      int cleaned = 0;
      toft_arena *a = copies[i]->create(), *donor = copies[j]->create();
      unsigned char *kept = (unsigned char *)toft_alloc(donor, 5000);
      assert_non_null(kept);
      assert_non_null(toft_cleanup_add(donor, count_call, &cleaned));
      fill(kept, 5000, 3);
      assert_int_equal(copies[i]->adopt(a, donor), TOFT_OK);
      for (int k = 0; k < 100; k++) assert_non_null(toft_alloc(a, 400));
      assert_true(filled(kept, 5000, 3));
      assert_int_equal(cleaned, 0);
      toft_release(a);
      assert_int_equal(cleaned, 1);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies_are_distinct),
      cmocka_unit_test(caches_are_distinct),
      cmocka_unit_test(inline_layer_serves_every_copy),
      cmocka_unit_test(compiled_calls_serve_every_copy),
      cmocka_unit_test(adopt_across_copies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
