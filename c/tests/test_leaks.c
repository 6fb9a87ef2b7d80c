/* LeakSanitizer: pointers to malloc's memory that lie in mapped memory of the library count, until that is returned.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

#ifdef HAS_ASAN
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int __lsan_do_recoverable_leak_check(void);

enum { COUNT = 50, LARGE = 3 << 20 };

/* An object with room for pointers in mapped memory. */
typedef struct owner {
  void **(*begin)(void);
  void (*end)(void);
} owner;

static toft_arena *arena;
static toft_page_source pages;
static toft_reserve_source reserve;
static toft_region *region;
static toft_recycler recycler;
static toft_pool pool;
static toft_frozen frozen;

static void **in_arena(uint32_t flags, toft_source *source) {
  toft_options o = TOFT_OPTIONS;
  o.flags = flags;
  o.source = source;
  arena = toft_create_with(&o);
  assert_non_null(arena);
  return (void **)toft_alloc(arena, LARGE);
}
static void release_arena(void) { toft_release(arena); }

static void **in_heap(void) { return in_arena(0, NULL); }
static void **in_pages(void) { return in_arena(0, toft_page_source_init(&pages, 0)); }
static void **in_huge_pages(void) { return in_arena(0, toft_page_source_init(&pages, TOFT_PAGES_HUGE)); }
static void **in_lazy_pages(void) {
  static toft_source *lazy;
  if (lazy == NULL) lazy = toft_page_source_init(&pages, TOFT_PAGES_LAZY);
  return in_arena(0, lazy);
}

static void **in_reserve(void) {
  void **p = in_arena(0, toft_reserve_source_init(&reserve, (size_t)64 << 20));
  assert_non_null(toft_alloc(arena, 8 * LARGE)); /* which commits more */
  return p;
}

static void **in_recycler(void) {
  assert_int_equal(toft_recycler_init(&recycler, NULL), TOFT_OK);
  return (void **)toft_recycler_alloc(&recycler, LARGE, 8);
}
static void release_recycler(void) { toft_recycler_release(&recycler); }

static void **in_pool(void) {
  toft_pool_options o = TOFT_POOL_OPTIONS;
  toft_handle h;
  o.slot_size = LARGE;
  assert_int_equal(toft_pool_init(&pool, &o), TOFT_OK);
  return (void **)toft_pool_insert(&pool, &h);
}
static void release_pool(void) { toft_pool_release(&pool); }

static void **in_region(void) {
  toft_region_options o = TOFT_REGION_OPTIONS;
  o.max = (size_t)64 << 20;
  region = toft_region_create(&o);
  assert_non_null(region);
  return (void **)toft_alloc(toft_region_arena(region), LARGE);
}
static void release_region(void) { toft_region_release(region); }

static void *freeze_room(toft_region *r, void *unused) {
  (void)unused;
  return toft_malloc_calloc(toft_region_malloc(r), LARGE, 1);
}
static void **in_frozen_with(uint32_t flags) {
  char name[64];
  toft_frozen_options o = TOFT_FROZEN_OPTIONS;
  o.flags = flags;
  (void)snprintf(name, sizeof name, "leaks-%ld.frozen", (long)getpid());
  assert_int_equal(toft_freeze(freeze_room, NULL, name, NULL), TOFT_OK);
  assert_int_equal(toft_frozen_open(&frozen, name, &o), TOFT_OK);
  (void)remove(name);
  return (void **)frozen.root;
}
static void **in_frozen(void) { return in_frozen_with(TOFT_FROZEN_WRITABLE); }
static void **in_moved_frozen(void) { return in_frozen_with(TOFT_FROZEN_WRITABLE | TOFT_FROZEN_ELSEWHERE); }
static void release_frozen(void) { toft_frozen_close(&frozen); }

/* The same addresses, which LeakSanitizer does not recognise. */
static uintptr_t hidden[COUNT];
#define HIDE(p) ((uintptr_t)(p) ^ (uintptr_t)0x5555)

static void __attribute__((noinline)) store_pointers(void **p) {
  assert_non_null(p);
  for (int i = 0; i < COUNT; i++) {
    p[i] = malloc(40);
    hidden[i] = HIDE(p[i]);
  }
}

/* Whether there are leaks. The report of each is not shown. */
static int leaks(void) {
  int shown = dup(2), none = open("/dev/null", O_WRONLY);
  volatile char stack[4096]; /* addresses in dead frames */
  memset((void *)(uintptr_t)stack, 0, sizeof stack);
  (void)dup2(none, 2);
  int found = __lsan_do_recoverable_leak_check();
  (void)dup2(shown, 2);
  (void)close(shown);
  (void)close(none);
  return found;
}

static void free_hidden(void) {
  for (int i = 0; i < COUNT; i++) free((void *)HIDE(hidden[i]));
}

static void pointers_in_mapped_memory_count(void **state) {
  (void)state;
  static const owner owners[] = {
      {in_heap, release_arena},          {in_pages, release_arena},   {in_huge_pages, release_arena},
      {in_lazy_pages, release_arena},    {in_reserve, release_arena}, {in_recycler, release_recycler},
      {in_pool, release_pool},           {in_region, release_region}, {in_frozen, release_frozen},
      {in_moved_frozen, release_frozen},
  };
  for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
    for (int round = 0; round < 2; round++) { /* the second in memory that was kept */
      store_pointers(owners[i].begin());
      assert_false(leaks());
      owners[i].end();
      assert_true(leaks());
      free_hidden();
      toft_reserve_source_release(&reserve);
    }
  toft_page_source_trim(&pages);
}

/* A restore brings them back. */
static void pointers_in_a_checkpoint_count(void **state) {
  (void)state;
  void **p = in_region();
  store_pointers(p);
  assert_int_equal(toft_region_checkpoint(region, NULL), TOFT_OK);
  memset(p, 0, COUNT * sizeof *p);
  assert_false(leaks());
  assert_int_equal(toft_region_drop_checkpoint(region, 0), TOFT_OK);
  assert_true(leaks());
  free_hidden();
  release_region();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pointers_in_mapped_memory_count),
      cmocka_unit_test(pointers_in_a_checkpoint_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) { return 77; }
#endif
