// The headers from C++17: every macro and inline function, objects with destructors, scopes left by an exception.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "toft.h"

#include <cstdarg>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

extern "C" {
#include <cmocka.h>
}

namespace {

struct alignas(64) wide {
  double values[8];
};

struct point {
  int x, y;
};

bool aligned(const void *p, std::size_t align) { return reinterpret_cast<std::uintptr_t>(p) % align == 0; }

void typed_macros(void **) {
  toft_arena *a = toft_create();
  point *one = toft_new(a, point);
  wide *many = toft_new_array(a, wide, 7);
  point *zeroed = toft_new_array_zeroed(a, point, 100);
  wide *zero = toft_new_zeroed(a, wide);
  one->x = 1;
  assert_true(aligned(many, 64) && aligned(zero, 64));
  for (int i = 0; i < 100; i++) assert_int_equal(zeroed[i].x | zeroed[i].y, 0);
  assert_null(toft_new_array(a, wide, SIZE_MAX / 8));
  toft_release(a);
}

void options(void **) {
  alignas(64) unsigned char buffer[TOFT_BUFFER(100)];
  toft_options o = TOFT_OPTIONS;
  o.buffer = buffer;
  o.buffer_size = sizeof buffer;
  toft_arena *a = toft_create_with(&o);
  assert_non_null(toft_alloc(a, 100));
  assert_null(toft_alloc(a, 1000));
  toft_release(a);
}

void text(void **) {
  toft_arena *a = toft_create();
  toft_pack k = toft_pack_begin(a);
  assert_string_equal(toft_printf(a, "%s %d", "n", 3), "n 3");
  assert_string_equal(toft_strdup(a, "abc"), "abc");
  assert_string_equal(toft_strndup(a, "abc", 2), "ab");
  assert_string_equal(toft_pack_strdup(&k, "packed"), "packed");
  assert_memory_equal(toft_memdup(a, "xyz", 3), "xyz", 3);
  toft_release(a);
}

void cleanup_runs_a_destructor(void **) {
  static int destroyed;
  struct counted {
    std::string text = std::string(100, 'x');
    ~counted() { destroyed++; }
  };
  toft_arena *a = toft_create();
  counted *c = new (toft_new(a, counted)) counted;
  assert_non_null(toft_cleanup_add(
      a, [](void *p) { static_cast<counted *>(p)->~counted(); }, c));
  toft_release(a);
  assert_int_equal(destroyed, 1);
}

void scope_ends_by_an_exception(void **) {
  toft_arena *a = toft_create();
  uint64_t before = toft_get_stats(a).live;
  bool caught = false;
  try {
    TOFT_SCOPE(a);
    assert_non_null(toft_alloc(a, 10000));
    throw std::runtime_error("out");
  } catch (const std::runtime_error &) {
    caught = true;
  }
  assert_true(caught);
#ifdef __GNUC__
  assert_int_equal(toft_get_stats(a).live, before);
#else
  (void)before;
#endif
  toft_release(a);
}

void failure_may_throw(void **) {
  struct full {};
  toft_options o = TOFT_OPTIONS;
  o.budget = 1000;
  o.failure = [](void *, toft_arena *, size_t, size_t, int) { throw full(); };
  toft_arena *a = toft_create_with(&o);
  bool caught = false;
  try {
    (void)!toft_alloc(a, 100000);
  } catch (const full &) {
    caught = true;
  }
  assert_non_null(toft_alloc(a, 100));
  toft_release(a);
  assert_true(caught);
}

void claimed_range(void **) {
  toft_arena *a = toft_create();
  toft_range r;
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  for (int i = 0; i < 1000; i++) {
    auto *p = static_cast<point *>(toft_range_alloc(a, &r, sizeof(point)));
    assert_non_null(p);
    p->x = i;
  }
  assert_non_null(toft_range_bytes(a, &r, 3));
  toft_range_align(&r);
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  toft_release(a);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(typed_macros),
      cmocka_unit_test(options),
      cmocka_unit_test(text),
      cmocka_unit_test(cleanup_runs_a_destructor),
      cmocka_unit_test(scope_ends_by_an_exception),
      cmocka_unit_test(failure_may_throw),
      cmocka_unit_test(claimed_range),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
