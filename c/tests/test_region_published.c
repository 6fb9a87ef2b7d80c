/* Content of a region that is read while it grows: the place of the root, and the handover to a reader on another
 * thread, which loads the root as a program without the library does. ThreadSanitizer reports it without its order.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "threads.h"

#define VERSIONS 2000u

typedef struct version {
  const struct version *older;
  size_t number, sum; /* sum: of the numbers up to this one */
} version;

static const version *load(const void *range) {
  const char *at = (const char *)range + TOFT_REGION_ROOT_OFFSET;
  return __atomic_load_n((const version *const *)(const void *)at, __ATOMIC_ACQUIRE);
}

/* Reads until the last version; returns how many of those that it saw were wrong. */
static void *read_all(void *range) {
  size_t seen = 0, wrong = 0;
  while (seen < VERSIONS) {
    const version *v = load(range);
    if (v == NULL) continue;
    wrong += v->number < seen;
    seen = v->number;
    for (; v != NULL; v = v->older)
      wrong += v->sum != v->number * (v->number + 1) / 2 || (v->older != NULL ? v->older->number : 0) != v->number - 1;
  }
  return (void *)(uintptr_t)wrong;
}

static void reader_sees_whole_versions(void **state) {
  (void)state;
  toft_region *r = toft_region_create(NULL);
  assert_non_null(r);
  assert_null(load(r));
  toft_arena *a = toft_region_arena(r);
  pthread_t reader;
  void *wrong = NULL;
  assert_int_equal(pthread_create(&reader, NULL, read_all, r), 0);
  size_t sum = 0;
  for (size_t i = 1; i <= VERSIONS; i++) {
    version *v = toft_new(a, version);
    assert_non_null(v);
    v->older = (const version *)toft_region_root(r);
    v->number = i;
    v->sum = sum += i;
    toft_region_set_root(r, v);
    assert_ptr_equal(load(r), v);
  }
  assert_int_equal(pthread_join(reader, &wrong), 0);
  assert_null(wrong);
  toft_region_release(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(reader_sees_whole_versions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
