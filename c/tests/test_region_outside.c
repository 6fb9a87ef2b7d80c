/* Checked regions: pointers out of a region that its checkpoint reports, and those that it does not report.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

#include <stdio.h>

#if defined(__linux__)
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* With pointers of 4 bytes, mappings without a name are left out. */
#define READS_NAMELESS (sizeof(void *) > 4)

enum { KEPT = 64 };
static struct {
  const void *address;
  size_t size;
  const toft_arena *arena;
  int kind;
  char message[1024];
} heard[KEPT];
static size_t count;

static void hear(void *arg, const toft_finding *f) {
  (void)arg;
  if (count < KEPT) {
    heard[count].address = f->address;
    heard[count].size = f->size;
    heard[count].arena = f->arena;
    heard[count].kind = f->kind;
    (void)snprintf(heard[count].message, sizeof heard[count].message, "%s", f->message);
  }
  count++;
}

static toft_region *checked_region(uint32_t flags) {
  toft_region_options o = TOFT_REGION_OPTIONS;
  o.flags = flags;
  o.max = (size_t)64 << 20;
  toft_region *r = toft_region_create(&o);
  assert_non_null(r);
  count = 0;
  toft_on_finding(hear, NULL);
  return r;
}

static void end(toft_region *r) {
  toft_region_release(r);
  toft_on_finding(NULL, NULL);
}

/* Makes a checkpoint and drops it; the number of findings. */
static size_t findings_of(toft_region *r) {
  count = 0;
  assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
  assert_int_equal(toft_region_drop_checkpoint(r, 0), TOFT_OK);
  return count;
}

/* The one finding is the word at `at`, with a text in its message. */
static void one(toft_region *r, const void *at, const toft_arena *a, const char *text) {
  assert_int_equal(findings_of(r), 1);
  assert_int_equal(heard[0].kind, TOFT_FOUND_OUTSIDE);
  assert_ptr_equal(heard[0].address, at);
  assert_ptr_equal(heard[0].arena, a);
  assert_int_equal(heard[0].size, sizeof(void *));
  const char *parts[] = {"pointer out of a region: the word at 0x", "which a restore does not bring back",
                         "noticed by checkpoint", text};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (strstr(heard[0].message, parts[i]) == NULL) fail_msg("\"%s\" does not have \"%s\"", heard[0].message, parts[i]);
}

static int written_variable = 1, zero_variable;
static TOFT_THREAD_LOCAL int thread_variable;
static const int constant_variable = 1;
static void function(void) {}

/* ---- where a word may point to ---- */

static void each_kind_of_memory(void **state) {
  (void)state;
  if (!READS_NAMELESS && getenv("TOFT_EMULATED") != NULL) skip(); /* mappings have other names, or none */
  toft_region *r = checked_region(TOFT_REGION_CHECKED);
  toft_arena *a = toft_region_arena(r);
  const void **word = (const void **)toft_alloc_zeroed(a, sizeof *word, sizeof *word);
  int local = 0;
  void *small = malloc(100), *large = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_non_null(small);
  assert_true(large != MAP_FAILED);
  assert_int_equal(findings_of(r), 0);

  const void *reported[] = {small, (char *)small + 99,    &local,          &written_variable, &zero_variable, stdout,
                            large, (char *)large + 65535, &thread_variable};
  size_t kinds = sizeof reported / sizeof *reported;
  for (size_t i = 0; i < (READS_NAMELESS ? kinds : kinds - 3); i++) {
    *word = reported[i];
    one(r, word, a, " in ");
  }
  *word = &written_variable;
  one(r, word, a, "region_outside"); /* the module; with debug information the variable too */
  *word = &zero_variable;
  one(r, word, a, "region_outside");
  *word = large;
  if (READS_NAMELESS) one(r, word, a, "anonymous memory");

  const void *silent[] = {NULL,
                          (const void *)(uintptr_t)4095,
                          (const void *)(uintptr_t)65535,
                          &constant_variable,
                          "a literal",
                          (const void *)(uintptr_t)function,
                          (const void *)(uintptr_t)malloc,
                          word,
                          a,
                          r,
                          (const unsigned char *)r + toft_region_get_stats(r).limit - 1,
                          (const void *)(UINTPTR_MAX - 7)};
  for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
    *word = silent[i];
    assert_int_equal(findings_of(r), 0);
  }
  assert_int_equal(mprotect(large, 65536, PROT_READ), 0);
  *word = large; /* no longer writable */
  assert_int_equal(findings_of(r), 0);
  (void)munmap(large, 65536);
  assert_int_equal(findings_of(r), 0);
  free(small);
  end(r);
}

/* ---- where a word may lie ---- */

static void live_objects_are_read(void **state) {
  (void)state;
  const size_t sizes[] = {8,    24,   100,   128,   500,   1000,  1024,   3000,
                          4096, 5000, 10000, 16000, 20000, 70000, 600000, 1500000};
  toft_region *r = checked_region(TOFT_REGION_CHECKED);
  toft_malloc *m = toft_region_malloc(r);
  toft_recycler *c = toft_region_recycler(r);
  toft_arena *a = toft_region_arena(r), *rewound = toft_region_arena(r);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    void *other[5]; /* live and freed objects beside it */
    for (int k = 0; k < 5; k++) {
      other[k] = toft_malloc_calloc(m, 1, sizes[i]);
      assert_non_null(other[k]);
    }
    for (int k = 0; k < 5; k++) {
      void **last = (void **)other[k] + sizes[i] / sizeof *last - 1;
      *last = &zero_variable;
      one(r, last, NULL, " in ");
      if (k % 2) toft_malloc_free(m, other[k]); /* with the address in it */
      assert_int_equal(findings_of(r), k % 2 ? 0 : 1);
      if (k % 2 == 0) *last = NULL; /* a freed object is the list's */
    }
    void **p = (void **)toft_recycler_alloc(c, sizes[i], (size_t)64 << i % 10), **q = (void **)toft_alloc(a, sizes[i]);
    assert_true(p != NULL && q != NULL);
    memset(p, 0, sizes[i]);
    memset(q, 0, sizes[i]);
    *p = &zero_variable;
    one(r, p, NULL, " in ");
    toft_recycler_free(c, p, sizes[i]);
    assert_int_equal(findings_of(r), 0);
    *q = &zero_variable;
    one(r, q, a, " in ");
    *q = NULL;
    toft_mark here = toft_mark_here(rewound);
    void **rewound_word = (void **)toft_alloc(rewound, sizes[i]);
    assert_non_null(rewound_word);
    memset(rewound_word, 0, sizes[i]);
    *rewound_word = &zero_variable;
    one(r, rewound_word, rewound, " in ");
    assert_int_equal(toft_rewind(rewound, here), TOFT_OK);
    assert_int_equal(findings_of(r), 0);
  }
  toft_reset(a);
  toft_malloc_release(m);
  toft_recycler_release(c);
  assert_int_equal(findings_of(r), 0);
  end(r);
}

/* Each live object of random ones has a word, and no freed one is reported. */
static void random_objects(void **state) {
  enum { OBJECTS = 12 };
  (void)state;
  toft_region *r = checked_region(TOFT_REGION_CHECKED);
  toft_malloc *m = toft_region_malloc(r);
  void **live[OBJECTS] = {NULL};
  uint32_t random = 7;
  for (int i = 0; i < (long_run() ? 3000 : 300); i++) {
    uint32_t k = next_random(&random) % OBJECTS;
    if (live[k] != NULL) {
      toft_malloc_free(m, live[k]);
      live[k] = NULL;
    } else {
      size_t size = 16 + next_random(&random) % (next_random(&random) % 8 == 0 ? 200000 : 600);
      live[k] = (void **)toft_malloc_calloc(m, 1, size);
      assert_non_null(live[k]);
      *live[k] = &zero_variable;
    }
    size_t expected = 0, found = 0;
    for (k = 0; k < OBJECTS; k++) expected += live[k] != NULL;
    (void)findings_of(r);
    const char *other = "";
    for (size_t f = 0; f < count && f < KEPT; f++) {
      size_t before = found;
      for (k = 0; k < OBJECTS; k++) found += live[k] != NULL && heard[f].address == live[k];
      if (found == before) other = heard[f].message;
    }
    if (count != expected || found != expected)
      fail_msg("step %d: %zu live objects, %zu findings, %zu of them right; \"%s\"", i, expected, count, found, other);
  }
  end(r);
}

/* ---- how much is reported, and when ---- */

/* Runs first, since a process reads the environment once. The child's exit code is the number of findings. */
static void the_environment_checks_each_region(void **state) {
  const char *const values[] = {"0", "1"};
  (void)state;
  for (int i = 0; i < 2; i++) {
    (void)fflush(NULL);
    pid_t child = fork();
    int status = -1;
    assert_true(child >= 0);
    if (child == 0) {
      (void)setenv("TOFT_CHECKED", values[i], 1);
      (void)setenv("TOFT_FINDINGS", "/dev/null", 1);
      toft_region *r = checked_region(0);
      void **word = (void **)toft_alloc(toft_region_arena(r), sizeof *word);
      if (word == NULL) _exit(100);
      *word = &zero_variable;
      _exit((int)findings_of(r));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), i);
  }
}

static void sixteen_and_a_number(void **state) {
  (void)state;
  toft_region *r = checked_region(TOFT_REGION_CHECKED);
  void **words = (void **)toft_alloc(toft_region_arena(r), 100000 * sizeof *words);
  assert_non_null(words);
  for (size_t n = 0; n < 100000; n++) words[n] = NULL;
  const size_t sizes[] = {0, 1, 16, 17, 18, 100000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (size_t n = 0; n < sizes[i]; n++) words[n] = &zero_variable;
    size_t expected = sizes[i] <= 16 ? sizes[i] : 17;
    assert_int_equal(findings_of(r), expected);
    if (expected != 17) continue;
    char number[64];
    (void)snprintf(number, sizeof number, " %u more word", (unsigned)(sizes[i] - 16));
    assert_null(heard[16].address);
    assert_int_equal(heard[16].size, sizes[i] - 16);
    assert_non_null(strstr(heard[16].message, number));
  }
  end(r);
}

/* Only the address of a region that is not checked is not reported, and only checkpoints report. */
static void other_regions_and_calls(void **state) {
  (void)state;
  toft_region *plain = checked_region(0), *r = checked_region(TOFT_REGION_CHECKED | TOFT_REGION_COMPARES);
  void **word = (void **)toft_alloc(toft_region_arena(plain), sizeof *word);
  assert_non_null(word);
  *word = &zero_variable;
  assert_int_equal(findings_of(plain), 0);
  toft_arena *a = toft_region_arena(r);
  word = (void **)toft_alloc(a, sizeof *word);
  assert_non_null(word);
  *word = toft_region_root(r);
  assert_int_equal(findings_of(r), 0);
  *word = plain; /* it is restored by its own checkpoints */
  if (READS_NAMELESS) one(r, word, a, "anonymous memory");
  assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
  count = 0;
  assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
  assert_int_equal(toft_region_drop_checkpoint(r, 0), TOFT_OK);
  assert_int_equal(count, 0);
  toft_region_release(plain);
  end(r);
}

/* The process has more mappings than the first reading has room for. */
static void many_mappings(void **state) {
  enum { MANY = 3000 };
  (void)state;
  toft_region *r = checked_region(TOFT_REGION_CHECKED);
  toft_arena *a = toft_region_arena(r);
  void **word = (void **)toft_alloc(a, sizeof *word);
  unsigned char *pages = (unsigned char *)mmap(NULL, 4096 * MANY, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(word != NULL && pages != MAP_FAILED);
  for (size_t i = 0; i < MANY; i += 2) assert_int_equal(mprotect(pages + 4096 * i, 4096, PROT_READ | PROT_WRITE), 0);
  for (size_t i = 0; i < MANY; i += 199) {
    *word = pages + 4096 * i + 17;
    assert_int_equal(findings_of(r), READS_NAMELESS && i % 2 == 0);
  }
  (void)munmap(pages, 4096 * MANY);
  end(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_environment_checks_each_region),
      cmocka_unit_test(each_kind_of_memory),
      cmocka_unit_test(live_objects_are_read),
      cmocka_unit_test(random_objects),
      cmocka_unit_test(sixteen_and_a_number),
      cmocka_unit_test(other_regions_and_calls),
      cmocka_unit_test(many_mappings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
static void there_are_no_checks(void **state) {
  toft_region_options o = TOFT_REGION_OPTIONS;
  (void)state;
  o.flags = TOFT_REGION_CHECKED;
  assert_int_equal(toft_region_check(&o), TOFT_EARG);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(there_are_no_checks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
