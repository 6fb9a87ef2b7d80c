/* The table of free pages: which range serves, which ranges join, which a window keeps. The program contains the
 * library, to call its static functions. Ranges of the first two tests are addresses only: no memory is behind them.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_STATIC
#include "toft.c"

#include "support.h"

#ifdef TOFT_OMIT_PAGE_CACHE
int main(void) { return 77; }
#else

static unsigned char *at(size_t mib) { return (unsigned char *)(uintptr_t)((mib + 256) * TOFT_MIB); }

static void empty_table(void) {
  toft_free_pages.ranges = 0;
  memset(&toft_account, 0, sizeof toft_account);
  toft_account.began = toft_os_milliseconds();
  toft_page_bytes = 0;
}

static void the_smallest_range_serves(void **state) {
  (void)state;
  empty_table();
  assert_true(toft_page_insert(at(0), 10 * TOFT_MIB));
  assert_true(toft_page_insert(at(100), 3 * TOFT_MIB));
  assert_true(toft_page_insert(at(200), 5 * TOFT_MIB));
  assert_null(toft_page_remove(11 * TOFT_MIB));
  if (TOFT_OS_CAN_SPLIT) {
    assert_ptr_equal(toft_page_remove(2 * TOFT_MIB), at(100));
    assert_ptr_equal(toft_page_remove(4 * TOFT_MIB), at(200));
    assert_ptr_equal(toft_page_remove(1 * TOFT_MIB), at(102)); /* as large as the rest of another */
    assert_ptr_equal(toft_page_remove(1 * TOFT_MIB), at(204));
    assert_ptr_equal(toft_page_remove(1 * TOFT_MIB), at(0));
    assert_int_equal(toft_page_bytes, 9 * TOFT_MIB);
  } else {
    assert_null(toft_page_remove(2 * TOFT_MIB));
    assert_ptr_equal(toft_page_remove(5 * TOFT_MIB), at(200));
  }
  empty_table();
}

static void neighbours_join(void **state) {
  (void)state;
  if (!TOFT_OS_CAN_SPLIT) skip();
  empty_table();
  assert_true(toft_page_insert(at(10), TOFT_MIB));
  assert_true(toft_page_insert(at(9), TOFT_MIB)); /* with the range above */
  assert_int_equal(toft_free_pages.ranges, 1);
  assert_true(toft_page_insert(at(11), TOFT_MIB)); /* with the range below */
  assert_int_equal(toft_free_pages.ranges, 1);
  assert_true(toft_page_insert(at(13), TOFT_MIB));
  assert_int_equal(toft_free_pages.ranges, 2);
  assert_true(toft_page_insert(at(12), TOFT_MIB)); /* with both */
  assert_int_equal(toft_free_pages.ranges, 1);
  assert_ptr_equal(toft_page_remove(5 * TOFT_MIB), at(9));
  assert_int_equal(toft_free_pages.ranges, 0);

  empty_table();
  for (size_t i = 0; i < TOFT_PAGE_RANGES_MAX; i++) assert_true(toft_page_insert(at(i), 4096));
  assert_false(toft_page_insert(at(TOFT_PAGE_RANGES_MAX), 4096)); /* the table is full */
  assert_true(toft_page_insert(at(7) + 4096, 4096));
  assert_int_equal(toft_free_pages.ranges, TOFT_PAGE_RANGES_MAX);
  empty_table();
}

/* The windows are an hour long, and end because the test moves their begin. */
static void two_windows_are_kept(void **state) {
  enum { HOUR = 3600 * 1000, SIZE = 8 << 20 };
  (void)state;
  empty_table();
  size_t window = toft_page_cache_window(HOUR), limit = toft_page_cache_limit((size_t)256 << 20);
  for (int idle = 1; idle <= 2; idle++) { /* windows that pass without a call */
    void *p = toft_page_cache_take(SIZE);
    assert_non_null(p);
    toft_page_cache_put(p, SIZE);
    toft_account.began -= (size_t)idle * HOUR;
    toft_page_cache_age();
    assert_int_equal(toft_page_cache_bytes(), idle == 1 ? SIZE : 0);
    toft_account.began -= HOUR;
    toft_page_cache_age();
    assert_int_equal(toft_page_cache_bytes(), 0);
  }
  toft_page_cache_window(window);
  toft_page_cache_limit(limit);
}

#ifdef MADV_HUGEPAGE
/* Whether the mapping at p has a flag; -1: the system does not show it. */
static int has_flag(const void *p, const char *flag) {
  FILE *f = fopen("/proc/self/smaps", "r");
  unsigned long from, to, inside = 0;
  char line[512];
  int has = -1;
  while (f != NULL && has < 0 && fgets(line, sizeof line, f) != NULL) {
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2) inside = (uintptr_t)p - from < to - from;
    if (inside && strncmp(line, "VmFlags:", 8) == 0) has = strstr(line, flag) != NULL;
  }
  if (f != NULL) (void)fclose(f);
  return has;
}

/* Whether huge pages are requested. */
static int is_huge(const void *p) { return has_flag(p, " hg"); }

/* Whether the system shows what is requested; whether it makes pages present. */
static int shows_huge(int *populates) {
  void *probe = mmap(NULL, 4 * TOFT_MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(probe, MAP_FAILED);
  int shown = madvise(probe, 4 * TOFT_MIB, MADV_HUGEPAGE) == 0 && is_huge(probe) == 1;
  *populates = toft_os_populate(probe, 4096);
  (void)munmap(probe, 4 * TOFT_MIB);
  return shown;
}

/* Whether the last page of a huge page is present. */
static int is_present(unsigned char *p) {
  unsigned char present = 0;
  assert_int_equal(mincore(p + TOFT_HUGE_PAGE - 4096, 4096, &present), 0);
  return present & 1;
}

static void slow_touches_in_a_row_double(void **state) {
  static const size_t small[] = {16, 32, 64, 128, 128};
  (void)state;
  for (int again = 0; again < 2; again++) {
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
      toft_fresh_measured(1);
      assert_int_equal(toft_fresh.small, small[i] * TOFT_MIB);
    }
    toft_fresh_measured(0);
    assert_int_equal(toft_fresh.small, 0);
  }
}

/* The first bytes of a process, and those after a slow touch, have small pages, which are present from 32 MiB on.
 * Of what may be written in part more have. */
static void huge_pages_are_used_where_they_are_cheap(void **state) {
  static const struct {
    size_t mapped, small, is_refused;
    int huge, present;
  } cases[] = {{0, 0, 0, 0, 0},  {2, 0, 0, 1, -1}, {2, 6, 0, 0, 0},
               {32, 6, 0, 1, 1}, {32, 6, 1, 0, 0}, {32, 0, 0, 1, 1}};
  (void)state;
  empty_table();
  int populates;
  if (!shows_huge(&populates)) skip();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (cases[i].present == 1 && !populates) continue;
    memset(&toft_fresh, 0, sizeof toft_fresh);
    toft_fresh.mapped = cases[i].mapped * TOFT_MIB;
    toft_fresh.small = cases[i].small * TOFT_MIB;
    toft_fresh.is_refused = cases[i].is_refused;
    unsigned char *p = (unsigned char *)toft_heap()->take(toft_heap(), TOFT_MIB); /* the other half is in the cache */
    assert_non_null(p);
    assert_int_equal(is_huge(p), cases[i].huge);
    if (cases[i].present >= 0) assert_int_equal(is_present(p), cases[i].present);
    if (cases[i].small != 0) assert_int_equal(toft_fresh.small, 4 * TOFT_MIB);
    toft_heap()->put(toft_heap(), p, TOFT_MIB);
    toft_cache_trim();
  }
  unsigned char *p = (unsigned char *)toft_os_map(2 * TOFT_HUGE_PAGE, 1), *second = p + TOFT_HUGE_PAGE; /* in part */
  toft_fresh.small = TOFT_HUGE_PAGE / TOFT_FRESH_PART;                                                  /* one */
  assert_int_equal(toft_fresh_begin(p, 2 * TOFT_HUGE_PAGE), 1);
  assert_true(is_huge(p) == 0 && is_huge(second) == 1 && is_present(second));
  toft_os_unmap(p, 2 * TOFT_HUGE_PAGE);
  for (size_t size = 3; size <= 40; size += 37) { /* docs/sources.md: larger blocks have huge pages */
    void *block = toft_heap()->take(toft_heap(), size * TOFT_MIB);
    assert_non_null(block);
    assert_int_equal(is_huge(block), 1);
    toft_heap()->put(toft_heap(), block, size * TOFT_MIB);
  }
  toft_cache_trim();
}

/* Pages that were written and returned are not accounted any more, as they are where the system does not overcommit. */
static void returned_pages_are_not_accounted(void **state) {
  (void)state;
  unsigned char *p = (unsigned char *)mmap(NULL, TOFT_MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(p, MAP_FAILED);
  assert_true(toft_os_commit(p, TOFT_MIB));
  p[TOFT_MIB / 2] = 1;
  int accounted = has_flag(p, " ac");
  assert_true(toft_os_decommit(p, TOFT_MIB));
  if (accounted == 1) assert_int_equal(has_flag(p, " ac"), 0);
  assert_true(toft_os_commit(p, TOFT_MIB));
  assert_int_equal(p[TOFT_MIB / 2], 0);
  toft_os_unmap(p, TOFT_MIB);
}

/* A region of large objects, where huge pages are slow, prefers them when its pages were freed once. */
static void pages_that_are_used_again_are_huge(void **state) {
  enum { OBJECTS = 5, SIZE = 300 << 10 };
  toft_recycler r;
  void *p[OBJECTS];
  int populates;
  (void)state;
  if (!shows_huge(&populates)) skip();
  empty_table();
  assert_int_equal(toft_recycler_init(&r, NULL), TOFT_OK);
  toft_fresh.small = TOFT_FRESH_MOST;
  for (int i = 0; i < OBJECTS; i++) assert_non_null(p[i] = toft_recycler_alloc(&r, SIZE, 8));
  const toft_recycler_region *g = r.regions;
  if (g->size < TOFT_HUGE_PAGE) skip();
  assert_true(g->first_use == g->total && is_huge(g->base) == 0);
  for (uint32_t freed = 0, pages = (uint32_t)toft_recycler_region_pages(SIZE, 8); freed < g->total; freed += pages) {
    assert_int_equal(is_huge(g->base), 0);
    toft_recycler_free(&r, p[OBJECTS - 1], SIZE);
    assert_non_null(p[OBJECTS - 1] = toft_recycler_alloc(&r, SIZE, 8));
  }
  assert_true(g->first_use == 0 && is_huge(g->base) == 1);
  toft_recycler_release(&r);
  for (int i = 0; i < OBJECTS; i++) assert_non_null(p[i] = toft_recycler_alloc(&r, SIZE, 8));
  for (g = r.regions; g != NULL; g = g->next) assert_int_equal(g->first_use, 0); /* the cache had the block */
  toft_recycler_release(&r);
  memset(&toft_fresh, 0, sizeof toft_fresh);
  toft_cache_trim();
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_smallest_range_serves),
      cmocka_unit_test(neighbours_join),
      cmocka_unit_test(two_windows_are_kept),
#ifdef MADV_HUGEPAGE
      cmocka_unit_test(slow_touches_in_a_row_double),
      cmocka_unit_test(huge_pages_are_used_where_they_are_cheap),
      cmocka_unit_test(pages_that_are_used_again_are_huge),
      cmocka_unit_test(returned_pages_are_not_accounted),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
