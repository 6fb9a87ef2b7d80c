/* Freezing: words and regions that are refused, words that stay right, bytes that are omitted.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>

#include "frozen_content.h"

/* ---- words that are refused ---- */

static int static_variable;
static void *slot_for(content *c) { return &c->tree->number; }
static void plant_word(content *c, uintptr_t word) { memcpy(slot_for(c), &word, sizeof word); }

static void plant_function(toft_region *r, content *c) { (void)r, plant_word(c, (uintptr_t)make_path); }
static void plant_static(toft_region *r, content *c) { (void)r, plant_word(c, (uintptr_t)&static_variable); }
static void plant_library(toft_region *r, content *c) { (void)r, plant_word(c, (uintptr_t)strtod); }
static void plant_stack(toft_region *r, content *c) {
  (void)r;
  int local[2];
  plant_word(c, (uintptr_t)local);
}
static void plant_heap(toft_region *r, content *c) {
  (void)r;
  static void *last;
  void *p = malloc(100), *before = last;
  last = p; /* freed by the next call, so that both differ */
  plant_word(c, (uintptr_t)p);
  free(before);
}
static void plant_errno(toft_region *r, content *c) { (void)r, plant_word(c, (uintptr_t)&errno); }
static void plant_file(toft_region *r, content *c) { (void)r, plant_word(c, (uintptr_t)stderr); }
static void plant_other_arena(toft_region *r, content *c) {
  (void)r;
  static toft_arena *kept;
  toft_arena *a = toft_create();
  plant_word(c, (uintptr_t)toft_alloc(a, 8));
  if (kept != NULL) toft_release(kept);
  kept = a;
}
static uint32_t count_builds;
static void plant_number(toft_region *r, content *c) { (void)r, plant_word(c, (uintptr_t)++count_builds * 100003); }
static void plant_hash(toft_region *r, content *c) { (void)r, plant_word(c, (uintptr_t)c * 2654435761u); }
static void plant_complement(toft_region *r, content *c) { (void)r, plant_word(c, ~(uintptr_t)c); }
static void plant_high_tag(toft_region *r, content *c) {
  (void)r, plant_word(c, (uintptr_t)c ^ (uintptr_t)1 << (sizeof c * 8 - 1));
}
static void plant_unaligned(toft_region *r, content *c) {
  (void)r;
  memcpy((char *)slot_for(c) + 3, (void *[]){c}, sizeof c > 5 ? 5 : sizeof c);
  memcpy((char *)slot_for(c), "abc", 3);
}
static void plant_first_region(toft_region *r, content *c) {
  static void *first;
  if (count_builds++ % 2 == 0) first = c;
  (void)r, plant_word(c, (uintptr_t)first + 8);
}

typedef struct found {
  size_t count;
  toft_freeze_fault last;
  char points_to[1200];
  int accepts;
} found;

static int remember(void *arg, const toft_freeze_fault *fault) {
  found *f = (found *)arg;
  f->count++;
  f->last = *fault;
  snprintf(f->points_to, sizeof f->points_to, "%s", fault->points_to != NULL ? fault->points_to : "");
  return f->accepts;
}

static int freeze_planted(void (*plant)(toft_region *, content *), found *f) {
  plan p = {30, plant, 0};
  toft_freeze_options o = TOFT_FREEZE_OPTIONS;
  o.report = remember;
  o.report_argument = f;
  return toft_freeze(build, &p, path, &o);
}

static void planted_words_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *name;
    void (*plant)(toft_region *, content *);
    uint32_t kind;         /* 0: either */
    const char *points_to; /* a part of the name, on Linux with glibc */
  } cases[] = {{"function", plant_function, TOFT_FREEZE_POINTS_OUT, "test_freeze_words"},
               {"static variable", plant_static, TOFT_FREEZE_POINTS_OUT, "test_freeze_words"},
               {"function of a library", plant_library, TOFT_FREEZE_POINTS_OUT, "strtod"},
               {"stack", plant_stack, 0, ""}, /* AddressSanitizer has several */
               {"heap", plant_heap, TOFT_FREEZE_DIFFERS, ""},
               {"thread-local variable", plant_errno, TOFT_FREEZE_POINTS_OUT, ""},
               {"file", plant_file, TOFT_FREEZE_POINTS_OUT, ""},
               {"another arena", plant_other_arena, 0, ""},
               {"a number that differs", plant_number, TOFT_FREEZE_DIFFERS, ""},
               {"hash of an address", plant_hash, TOFT_FREEZE_DIFFERS, ""},
               {"complement of an address", plant_complement, TOFT_FREEZE_DIFFERS, ""},
               {"address with a tag in its high bits", plant_high_tag, TOFT_FREEZE_DIFFERS, ""},
               {"address that is not aligned", plant_unaligned, TOFT_FREEZE_DIFFERS, ""},
               {"the first build's region", plant_first_region, 0, ""}};
  freeze_content(3);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    found f = {0};
    if (sizeof(void *) == 4 && cases[i].plant == plant_errno) continue; /* memory without a name may be a number */
#if defined(_WIN32)
    if (cases[i].kind == 0 || cases[i].plant == plant_errno) continue; /* may be below 4 GiB, where numbers are */
#endif
    int code = freeze_planted(cases[i].plant, &f);
    if (code != TOFT_ECONTENT || f.count == 0)
      fail_msg("%s: %s, %zu faults", cases[i].name, toft_error_name(code), f.count);
    if (cases[i].kind != 0 && f.last.kind != cases[i].kind)
      fail_msg("%s: kind %u", cases[i].name, (unsigned)f.last.kind);
    assert_true(f.last.offset >= START && f.last.offset % WIDTH == 0);
#if defined(__GLIBC__) && !defined(TOFT_TEST_STATIC)
    if (cases[i].points_to[0] != 0 && strstr(f.points_to, cases[i].points_to) == NULL &&
        strchr(f.points_to, '/') == NULL)
      fail_msg("%s: points to %s", cases[i].name, f.points_to);
#endif
  }
  toft_frozen f = open_with(TOFT_FROZEN_VERIFY); /* the old file */
  check_content((content *)f.root, 3);
  toft_frozen_close(&f);
}

/* The allocation of the word that is refused. */
#if defined(__GNUC__)
__attribute__((noinline))
#endif
static char *
allocate_for_site(toft_malloc *m, toft_arena *a) {
  char *p = a != NULL ? (char *)toft_alloc(a, 100) : (char *)toft_malloc_alloc(m, 100);
  memset(p, 0, 100);
  return p;
}

static void *build_two_words(toft_region *r, void *is_arena) {
  toft_malloc *m = toft_region_malloc(r);
  toft_arena *a = toft_region_arena(r);
  char **root = (char **)toft_malloc_calloc(m, 1, 600);
  for (int i = 0; i < 1000; i++) toft_malloc_free(m, toft_malloc_alloc(m, 50));
  root[1] = allocate_for_site(m, is_arena != NULL ? a : NULL);
  memcpy(root[1] + 24, (void *[]){&static_variable}, sizeof(void *));
  return root;
}

static void faults_name_their_allocation(void **state) {
  (void)state;
  for (int is_arena = 0; is_arena <= 1; is_arena++) {
    found f = {0};
    toft_freeze_options o = TOFT_FREEZE_OPTIONS;
    o.report = remember;
    o.report_argument = &f;
    o.flags = TOFT_FREEZE_SITES;
    f.accepts = 1; /* has no effect */
    assert_int_equal(toft_freeze(build_two_words, is_arena ? &f : NULL, path, &o), TOFT_ECONTENT);
#ifndef TOFT_OMIT_CHECKS
    assert_int_equal(f.count, 1);
    assert_int_equal(f.last.size, 100);
    assert_int_equal(f.last.inside, 24);
    assert_non_null(f.last.site);
#if defined(__GNUC__) && !defined(_WIN32)
    size_t distance = (size_t)((uintptr_t)f.last.site - (uintptr_t)allocate_for_site);
    assert_true(distance < 600);
#endif
#endif
  }
}

/* Words that are right at each address of the file: low tags, a difference, XOR of two. */
static void plant_fine(toft_region *r, content *c) {
  (void)r;
  plant_word(c, (uintptr_t)c->tree | 1);
  uintptr_t distance = (uintptr_t)c->tree->left ^ (uintptr_t)c->tree->right;
  memcpy(&c->tree->left->number, &distance, sizeof distance);
}

static void words_that_survive_a_move_are_written(void **state) {
  (void)state;
  found f = {0};
  assert_int_equal(freeze_planted(plant_fine, &f), TOFT_OK);
  assert_int_equal(f.count, 0);
  for (uint32_t flags = 0; flags <= 4; flags += 4) {
    toft_frozen o = open_with(flags);
    content *c = (content *)o.root;
    uintptr_t word;
    memcpy(&word, slot_for(c), sizeof word);
    assert_int_equal(word, (uintptr_t)c->tree | 1);
    memcpy(&word, &c->tree->left->number, sizeof word);
    assert_int_equal(word, (uintptr_t)c->tree->left ^ (uintptr_t)c->tree->right);
    toft_frozen_close(&o);
  }
}

/* An object of 100 bytes with pointers out of the region, whose middle is omitted. */
static size_t omitted;
static void *build_omitted(toft_region *r, void *is_arena) {
  char **root = (char **)toft_malloc_calloc(toft_region_malloc(r), 2, sizeof *root);
  root[1] = allocate_for_site(toft_region_malloc(r), is_arena != NULL ? toft_region_arena(r) : NULL);
  for (size_t i = 24; i < 24 + omitted; i += WIDTH) memcpy(root[1] + i, (void *[]){&static_variable}, WIDTH);
  assert_int_equal(toft_freeze_omit(r, root, 8), TOFT_OK); /* replaced */
  assert_int_equal(toft_freeze_omit(r, root[1] + 24, 32), TOFT_OK);
  assert_int_equal(toft_freeze_omit(r, r, 8), TOFT_EARG);
  assert_int_equal(toft_freeze_omit(r, &root, 8), TOFT_EARG);
  assert_int_equal(toft_freeze_omit(r, root[1], SIZE_MAX), TOFT_EARG);
  return root;
}

static void omitted_bytes_are_zeros(void **state) {
  (void)state;
  for (int is_arena = 0; is_arena <= 1; is_arena++) {
    found f = {0};
    toft_freeze_options o = TOFT_FREEZE_OPTIONS;
    o.report = remember;
    o.report_argument = &f;
    o.flags = TOFT_FREEZE_SITES;
    omitted = 32 + WIDTH;
    assert_int_equal(toft_freeze(build_omitted, is_arena ? &f : NULL, path, &o), TOFT_ECONTENT);
#ifndef TOFT_OMIT_CHECKS
    assert_int_equal(f.count, 1);
    assert_int_equal(f.last.inside, 24 + 32);
#endif
    omitted = 32;
    assert_int_equal(toft_freeze(build_omitted, is_arena ? &f : NULL, path, &o), TOFT_OK);
    toft_frozen file = open_with(TOFT_FROZEN_ELSEWHERE);
    char **root = (char **)file.root, zeros[100] = {0};
    assert_memory_equal(root[1], zeros, 100);
    toft_frozen_close(&file);
  }
}

static void report_may_accept_a_word(void **state) {
  (void)state;
  found f = {0};
  f.accepts = 1;
  assert_int_equal(freeze_planted(plant_static, &f), TOFT_OK);
  assert_int_equal(f.count, 1);
  toft_frozen o = open_with(TOFT_FROZEN_ELSEWHERE);
  uintptr_t word;
  memcpy(&word, slot_for((content *)o.root), sizeof word);
  assert_int_equal(word, (uintptr_t)&static_variable);
  toft_frozen_close(&o);
}

/* ---- regions that are refused ---- */

static size_t ended;
static void end(void *arg) {
  (void)arg;
  ended++;
}
static void plant_cleanup(toft_region *r, content *c) {
  (void)c;
  assert_non_null(toft_cleanup_add(toft_region_arena(r), end, NULL));
}
static void plant_more(toft_region *r, content *c) {
  (void)c;
  if (count_builds++ % 2 != 0) assert_non_null(toft_alloc(toft_region_arena(r), 1000000));
}
static void plant_claim(toft_region *r, content *c) {
  toft_range range;
  (void)c;
  assert_int_equal(toft_claim(toft_region_arena(r), &range), TOFT_OK);
}
static void plant_checkpoint(toft_region *r, content *c) {
  (void)c;
  assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
}

static void *build_nothing(toft_region *r, void *argument) {
  (void)argument;
  return toft_region_arena(r) == NULL ? r : NULL;
}
static void *build_outside(toft_region *r, void *argument) {
  (void)r;
  return argument;
}
static void *build_root_at_start(toft_region *r, void *argument) {
  (void)argument;
  return r;
}

static void regions_are_refused(void **state) {
  (void)state;
  found f = {0};
  toft_freeze_options o = TOFT_FREEZE_OPTIONS;
  o.report = remember;
  o.report_argument = &f;
  f.accepts = 1; /* has no effect */
  assert_int_equal(freeze_planted(plant_cleanup, &f), TOFT_ECONTENT);
  assert_int_equal(f.last.kind, TOFT_FREEZE_CLEANUP);
  assert_int_equal(ended, 2); /* one for each region */
  count_builds = 0;
  assert_int_equal(freeze_planted(plant_more, &f), TOFT_ECONTENT);
  assert_int_equal(f.last.kind, TOFT_FREEZE_SIZE);
  assert_true(f.last.words[1] > f.last.words[0]);
  assert_int_equal(freeze_planted(plant_claim, &f), TOFT_EBUSY);
  assert_int_equal(freeze_planted(plant_checkpoint, &f), TOFT_OK);
  toft_build_fn *roots[] = {build_nothing, build_outside, build_root_at_start};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(toft_freeze(roots[i], &f, path, &o), TOFT_ECONTENT);
    assert_int_equal(f.last.kind, TOFT_FREEZE_ROOT);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(planted_words_are_refused),
      cmocka_unit_test(faults_name_their_allocation),
      cmocka_unit_test(words_that_survive_a_move_are_written),
      cmocka_unit_test(omitted_bytes_are_zeros),
      cmocka_unit_test(report_may_accept_a_word),
      cmocka_unit_test(regions_are_refused),
  };
  return cmocka_run_group_tests(tests, make_path, remove_path);
}
