/* Recyclers in a checked process: a process of its own, since TOFT_CHECKED is read once.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>

#include "support.h"
#ifndef _WIN32
#include <pthread.h>
#endif

static toft_recycler r;
static counted source;
static int found, kind;
static char message[2048];
static toft_finding last;

static void on_finding(void *arg, const toft_finding *f) {
  (void)arg;
  found++;
  kind = f->kind;
  last = *f;
  strncpy(message, f->message, sizeof message - 1);
}

static void one(int expected, const char *words) {
  assert_int_equal(found, 1);
  assert_int_equal(kind, expected);
  if (strstr(message, words) == NULL) fail_msg("\"%s\" does not say \"%s\"", message, words);
  found = 0;
}

static int set_up(void **state) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  (void)state;
  found = 0;
  o.source = counted_init(&source);
  return toft_recycler_init(&r, &o) != TOFT_OK;
}

static int tear_down(void **state) {
  (void)state;
  toft_recycler_release(&r);
  counted_all_back(&source);
  return 0;
}

static void each_misuse_is_found(void **state) {
  char other[16];
  (void)state;
  char *p = (char *)toft_recycler_alloc(&r, 16, 8);
  write_wrongly(p, 16);
  toft_recycler_free(&r, p, 16);
  assert_true(last.arena == NULL && last.address == p && last.size == 16);
  one(TOFT_FOUND_OVERRUN, "overrun: byte 16 of 16 bytes");
  p = (char *)toft_recycler_alloc(&r, 100, 256);
  assert_true(is_aligned(p, 256));
  write_wrongly(p, -256);
  toft_recycler_free(&r, p, 100);
  one(TOFT_FOUND_UNDERRUN, "underrun: byte -256 of 100 bytes");
  toft_recycler_free(&r, p, 100);
  one(TOFT_FOUND_DOUBLE_FREE, "double free: 100 bytes");
  assert_null(toft_recycler_resize(&r, p, 100, 200, 8));
  one(TOFT_FOUND_DOUBLE_FREE, "noticed by resize");
  toft_recycler_free(&r, other, 16);
  one(TOFT_FOUND_FOREIGN, "is no live object of this recycler");
  p = (char *)toft_recycler_alloc(&r, 40, 8);
  toft_recycler_free(&r, p + 8, 32);
  one(TOFT_FOUND_FOREIGN, "foreign pointer: 0x");
  toft_recycler_free(&r, p, 41);
  one(TOFT_FOUND_WRONG_SIZE, "wrong size: 41 bytes, of an allocation of 40 bytes");
  write_wrongly(p, 39); /* it was freed all the same */
  toft_recycler_trim(&r, 0);
  one(TOFT_FOUND_LATE_WRITE, "late write: byte 39 of 40 bytes");
  p = (char *)toft_recycler_alloc(&r, 8, 8);
  write_wrongly(p, 8);
  toft_recycler_release(&r);
  one(TOFT_FOUND_OVERRUN, "noticed by release");
  p = (char *)toft_recycler_alloc(&r, 8, 8); /* as after init */
  toft_recycler_free(&r, p, 8);
  write_wrongly(p, 0);
  toft_recycler_release(&r);
  one(TOFT_FOUND_LATE_WRITE, "byte 0 of 8 bytes");
}

/* A freed object stays in quarantine until a mebibyte was freed after it, and keeps its record as long. */
static void freed_objects_wait(void **state) {
  (void)state;
  char *p = (char *)toft_recycler_alloc(&r, 1000, 8);
  toft_recycler_free(&r, p, 1000);
  for (int i = 0; i < 900; i++) {
    char *q = (char *)toft_recycler_alloc(&r, 1000, 8);
    assert_ptr_not_equal(q, p);
    toft_recycler_free(&r, q, 1000);
  }
  assert_int_equal(found, 0);
  write_wrongly(p, 999);
  for (int i = 0; i < 300; i++) toft_recycler_free(&r, toft_recycler_alloc(&r, 1000, 8), 1000);
  one(TOFT_FOUND_LATE_WRITE, "byte 999 of 1000 bytes");
}

/* A stream against a shadow: contents stay, statistics are exact, all of it comes back, and nothing is found. */
static void good_programs_run_unchanged(void **state) {
  enum { MANY = 500 };
  static struct {
    unsigned char *p;
    size_t size, align;
  } all[MANY];
  uint32_t random = 11;
  (void)state;
  for (int i = 0; i < 40000; i++) {
    size_t at = next_random(&random) % MANY;
    size_t size = next_random(&random) % (i % 50 == 0 ? 300000 : 200);
    size_t align = (size_t)1 << next_random(&random) % 8;
    if (all[at].p == NULL) {
      all[at].p = (unsigned char *)toft_recycler_alloc(&r, size, align);
      all[at].size = size, all[at].align = align;
      assert_true(all[at].p != NULL && is_aligned(all[at].p, align));
      fill(all[at].p, size, (unsigned)at);
    } else if (i % 3 == 0) {
      size_t kept = size < all[at].size ? size : all[at].size;
      all[at].p = (unsigned char *)toft_recycler_resize(&r, all[at].p, all[at].size, size, all[at].align);
      assert_true(all[at].p != NULL && filled(all[at].p, kept, (unsigned)at));
      all[at].size = size;
      fill(all[at].p, size, (unsigned)at);
    } else {
      assert_true(filled(all[at].p, all[at].size, (unsigned)at));
      toft_recycler_free(&r, all[at].p, all[at].size);
      all[at].p = NULL;
    }
  }
  uint64_t live = 0;
  for (size_t i = 0; i < MANY; i++)
    if (all[i].p != NULL) live += all[i].size == 0 ? 8 : (all[i].size + 7) / 8 * 8;
  toft_recycler_stats s = toft_recycler_get_stats(&r);
  assert_int_equal(s.used, live);
  assert_int_equal(s.reserved, s.used + s.pinned + s.kept + s.wasted);
  assert_int_equal(s.reserved, source.bytes);
  for (size_t i = 0; i < MANY; i++) {
    if (all[i].p != NULL) toft_recycler_free(&r, all[i].p, all[i].size);
    all[i].p = NULL;
  }
  toft_recycler_trim(&r, 0);
  assert_int_equal(toft_recycler_get_stats(&r).used, 0);
  assert_int_equal(source.bytes, 0);
  toft_recycler_free(&r, NULL, 8);
  assert_int_equal(found, 0);
}

/* Memory in quarantine is reused before an allocation fails. */
static void a_source_without_memory_is_served_from_what_waits(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++) toft_recycler_free(&r, toft_recycler_alloc(&r, 20000, 8), 20000);
  source.fail_from = source.attempts + 1;
  for (int i = 0; i < 8; i++) assert_non_null(toft_recycler_alloc(&r, 20000, 8));
  assert_null(toft_recycler_alloc(&r, 100000000, 8));
  assert_int_equal(found, 0);
}

static void options_hold(void **state) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  toft_recycler counted_blocks;
  (void)state;
  o.source = &source.source;
  o.count = 10;
  o.block_size = 1000;
  size_t attempts = source.attempts;
  assert_int_equal(toft_recycler_init(&counted_blocks, &o), TOFT_OK);
  assert_int_equal(source.attempts, attempts + 1); /* the blocks are taken at once */
  char *p = (char *)toft_recycler_alloc(&counted_blocks, 100, 8);
  assert_int_equal(source.attempts, attempts + 1);
  write_wrongly(p, 100);
  toft_recycler_release(&counted_blocks);
  one(TOFT_FOUND_OVERRUN, "byte 100 of 100 bytes");
  o.block_size = 0;
  assert_int_equal(toft_recycler_init(&counted_blocks, &o), TOFT_EARG);
  toft_recycler_stats none;
  assert_int_equal(toft_recycler_init(&counted_blocks, NULL), TOFT_OK);
  none = toft_recycler_get_stats(&counted_blocks);
  assert_true(none.reserved == 0 && none.source_calls == 0);
  assert_null(toft_recycler_alloc(&counted_blocks, SIZE_MAX, 8));
  assert_null(toft_recycler_alloc(&counted_blocks, 8, 24));
  toft_recycler_trim(&counted_blocks, 0);
  toft_recycler_release(&counted_blocks);
}

/* What an engine counts through a hook without a context, to limit its memory. */
static void the_current_toft_malloc_has_the_sizes(void **state) {
  toft_malloc m, other;
  size_t used = 0;
  char *p = NULL;
  (void)state;
  toft_malloc_init(&m, NULL);
  toft_malloc_init(&other, NULL);
  (void)toft_malloc_current_swap(&m);
  for (int i = 0; i < 200; i++) {
    p = (char *)toft_malloc_current_alloc(600);
    used += toft_malloc_usable_size(NULL, p);
  }
  assert_true(used >= 200 * 600);
  assert_int_equal(toft_malloc_usable_size(NULL, toft_malloc_alloc(&other, 600)), 0);
  assert_ptr_equal(toft_malloc_current_swap(NULL), &m);
  assert_int_equal(toft_malloc_usable_size(NULL, p), 0);
  assert_true(toft_malloc_usable_size(&m, p) >= 600);
  toft_malloc_release(&m);
  toft_malloc_release(&other);
  assert_int_equal(found, 0);
}

/* A hook that calls the recycler of its finding is refused; other recyclers work. */
static toft_recycler other_recycler;
static void use_recyclers(void *arg, const toft_finding *f) {
  on_finding(arg, f);
  assert_null(toft_recycler_alloc(&r, 8, 8));
  assert_non_null(toft_recycler_alloc(&other_recycler, 8, 8));
}
static void hooks_may_use_other_recyclers(void **state) {
  (void)state;
  assert_int_equal(toft_recycler_init(&other_recycler, NULL), TOFT_OK);
  char *p = (char *)toft_recycler_alloc(&r, 8, 8);
  write_wrongly(p, 8);
  toft_on_finding(use_recyclers, NULL);
  toft_recycler_free(&r, p, 8);
  toft_on_finding(on_finding, NULL);
  one(TOFT_FOUND_OVERRUN, "byte 8 of 8 bytes");
  assert_non_null(toft_recycler_alloc(&r, 8, 8));
  toft_recycler_release(&other_recycler);
}

static void synchronized_ones_are_checked_too(void **state) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  (void)state;
  o.source = &source.source;
  o.shards = 4;
  toft_sync_recycler *s = toft_sync_recycler_create(&o);
  char *p = (char *)toft_sync_recycler_alloc(s, 16, 8);
  char *large = (char *)toft_sync_recycler_alloc(s, 500000, 64);
  fill(large, 500000, 1);
  large = (char *)toft_sync_recycler_resize(s, large, 500000, 900000, 64);
  assert_true(filled(large, 500000, 1));
  toft_sync_recycler_free(s, p, 16);
  toft_sync_recycler_free(s, p, 16);
  one(TOFT_FOUND_DOUBLE_FREE, "double free: 16 bytes");
  write_wrongly(large, 900000);
  toft_sync_recycler_free(s, large, 900000);
  one(TOFT_FOUND_OVERRUN, "byte 900000 of 900000 bytes");
  write_wrongly(p, 1);
  toft_sync_recycler_trim(s, 0);
  one(TOFT_FOUND_LATE_WRITE, "byte 1 of 16 bytes");
  assert_int_equal(toft_sync_recycler_get_stats(s).used, 0);
  toft_sync_recycler_release(s);
}

#ifndef _WIN32
static void *allocate_there(void *arg) { return toft_recycler_alloc((toft_recycler *)arg, 8, 8); }

static void *take_beside(toft_source *self, size_t size) { /* another thread calls while this one is in a call */
  pthread_t t;
  void *p = NULL;
  assert_int_equal(pthread_create(&t, NULL, allocate_there, &r), 0);
  assert_int_equal(pthread_join(t, &p), 0);
  assert_null(p);
  source.source.take = counted_take;
  return counted_take(self, size);
}

static void two_threads_at_once_are_found(void **state) {
  (void)state;
  source.source.take = take_beside;
  assert_non_null(toft_recycler_alloc(&r, 8, 8));
  one(TOFT_FOUND_TWO_THREADS, "two threads at once: alloc");
}
#endif

#define test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      test(each_misuse_is_found),
      test(freed_objects_wait),
      test(good_programs_run_unchanged),
      test(a_source_without_memory_is_served_from_what_waits),
      test(options_hold),
      test(the_current_toft_malloc_has_the_sizes),
      test(hooks_may_use_other_recyclers),
      test(synchronized_ones_are_checked_too),
#ifndef _WIN32
      test(two_threads_at_once_are_found),
#endif
  };
#ifdef _WIN32
  _putenv_s("TOFT_CHECKED", "1");
  _putenv_s("TOFT_FINDINGS", "NUL");
#else
  setenv("TOFT_CHECKED", "1", 1);
  setenv("TOFT_FINDINGS", "/dev/null", 1);
#endif
  toft_on_finding(on_finding, NULL);
  return cmocka_run_group_tests_name("recycler_checked", tests, NULL, NULL);
}
