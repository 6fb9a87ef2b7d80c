/* Frozen files: content at its address and elsewhere; words that are refused; altered files.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if !defined(_WIN32)
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#define START 4096
#define WIDTH sizeof(void *)

/* ---- content ---- */

/* A tree of nodes with names, as a parser would build it with malloc and free. */
typedef struct node {
  struct node *left, *right, *parent;
  char *name, *name_end;
  double number;
} node;

typedef struct content {
  node *tree;
  char **names; /* a table that grew by realloc, ends with NULL */
  char *notes;  /* in an arena */
  char *large;  /* an object whose record lies before it */
  size_t count;
} content;

typedef struct plan {
  size_t count;
  void (*plant)(toft_region *r, content *c); /* NULL: nothing */
  int calls;
} plan;

static void add(toft_malloc *m, content *c, uint32_t key) {
  node **at = &c->tree, *parent = NULL;
  char text[16];
  while (*at != NULL) {
    parent = *at;
    at = key < (uint32_t)parent->number ? &parent->left : &parent->right;
  }
  node *n = (node *)toft_malloc_calloc(m, 1, sizeof *n);
  assert_non_null(n);
  int length = snprintf(text, sizeof text, "k%u", (unsigned)key);
  n->name = (char *)toft_malloc_alloc(m, (size_t)length + 1);
  assert_non_null(n->name);
  memcpy(n->name, text, (size_t)length + 1);
  n->name_end = n->name + length + 1; /* often the end of the object, or of the content */
  n->number = key;
  n->parent = parent;
  *at = n;
}

/* Leaves freed objects, with addresses of the stack in them, and objects of every size between the nodes. */
static void *build(toft_region *r, void *argument) {
  plan *p = (plan *)argument;
  toft_malloc *m = toft_region_malloc(r);
  content *c = (content *)toft_malloc_calloc(m, 1, sizeof *c);
  uint32_t random = 7;
  p->calls++;
  assert_non_null(c);
  for (size_t i = 0; i < p->count; i++) {
    size_t size = 8 + next_random(&random) % (next_random(&random) % 64 == 0 ? 200000 : 3000);
    void *other = toft_malloc_alloc(m, size);
    assert_non_null(other);
    memcpy(other, (void *[]){&random}, sizeof(void *));
    add(m, c, next_random(&random) & 0xfffff);
    c->names = (char **)toft_malloc_realloc(m, c->names, (i + 2) * sizeof *c->names);
    assert_non_null(c->names);
    c->names[i] = c->tree->name;
    c->names[i + 1] = NULL;
    toft_malloc_free(m, other);
  }
  c->count = p->count;
  for (size_t align = 4096; p->count > 0 && align <= 1 << 16; align *= 4) { /* large objects at each alignment */
    char *large = (char *)toft_malloc_aligned(m, align, 70000);
    assert_non_null(large);
    memset(large, 1, 70000);
    c->large = large;
    assert_non_null(toft_malloc_calloc(m, 3, 30000));
  }
  toft_arena *a = toft_region_arena(r);
  assert_non_null(a);
  toft_mark start = toft_mark_here(a);
  void **dead = (void **)toft_alloc(a, 20000);
  assert_non_null(dead);
  for (size_t i = 0; i < 20000 / sizeof *dead; i++) dead[i] = &random;
  assert_int_equal(toft_rewind(a, start), TOFT_OK);
  c->notes = (char *)toft_alloc(a, 16);
  assert_non_null(c->notes);
  memcpy(c->notes, "in an arena\0\0\0\0", 16);
  if (p->plant != NULL) p->plant(r, c);
  return c;
}

static size_t check_tree(const node *n, const node *parent) {
  if (n == NULL) return 0;
  char text[16];
  int length = snprintf(text, sizeof text, "k%u", (unsigned)n->number);
  assert_string_equal(n->name, text);
  assert_ptr_equal(n->name_end, n->name + length + 1);
  assert_ptr_equal(n->parent, parent);
  return 1 + check_tree(n->left, n) + check_tree(n->right, n);
}

static void check_content(const content *c, size_t count) {
  assert_int_equal(c->count, count);
  assert_int_equal(check_tree(c->tree, NULL), count);
  for (size_t i = 0; i < count; i++) assert_ptr_equal(c->names[i], c->tree->name);
  assert_string_equal(c->notes, "in an arena");
  for (int i = 1; c->large != NULL && i <= 16; i++) assert_int_equal(c->large[-i], 0); /* the library's own record */
}

/* ---- files ---- */

static char path[512];
static toft_arena *scratch; /* copies of files */

static int make_path(void **state) {
  const char *folder = getenv("TMPDIR");
  (void)state;
  scratch = toft_create();
#if defined(_WIN32)
  snprintf(path, sizeof path, "toft-freeze-%u.frozen", (unsigned)time(NULL));
  (void)folder;
#else
  snprintf(path, sizeof path, "%.400s/toft-freeze-%ld.frozen", folder != NULL ? folder : "/tmp", (long)getpid());
#endif
  return 0;
}

static int remove_path(void **state) {
  (void)state;
  remove(path);
  toft_release(scratch);
  return 0;
}

static int print(void *arg, const toft_freeze_fault *f) {
  (void)arg;
  print_error("kind %u at %llu: %llx %llx %s\n", (unsigned)f->kind, (unsigned long long)f->offset,
              (unsigned long long)f->words[0], (unsigned long long)f->words[1],
              f->points_to != NULL ? f->points_to : "");
  return 0;
}

static void freeze_content(size_t count) {
  plan p = {count, NULL, 0};
  toft_freeze_options o = TOFT_FREEZE_OPTIONS;
  o.layout = "test 1";
  o.layout_hash = 17;
  o.report = print;
  if (sizeof(void *) == 8) o.max = (size_t)4 << 30;
  assert_int_equal(toft_freeze(build, &p, path, &o), TOFT_OK);
  assert_int_equal(p.calls, 2);
}

static toft_frozen open_with(uint32_t flags) {
  toft_frozen_options o = TOFT_FROZEN_OPTIONS;
  toft_frozen f;
  o.flags = flags;
  assert_int_equal(toft_frozen_open(&f, path, &o), TOFT_OK);
  return f;
}

/* The bytes of the file, aligned to `align`. */
static unsigned char *read_file(size_t *size, size_t align) {
  FILE *in = fopen(path, "rb");
  assert_non_null(in);
  assert_int_equal(fseek(in, 0, SEEK_END), 0);
  *size = (size_t)ftell(in);
  rewind(in);
  unsigned char *p = (unsigned char *)toft_alloc_aligned(scratch, *size, align);
  assert_non_null(p);
  assert_int_equal(fread(p, 1, *size, in), *size);
  fclose(in);
  return p;
}

/* ---- reading back ---- */

static void content_is_read_back(void **state) {
  (void)state;
  static const size_t counts[] = {0, 1, 10, 2000};
  for (size_t i = 0; i < 4; i++) {
    freeze_content(counts[i]);
    for (uint32_t flags = 0; flags < 8; flags++) {
      toft_frozen f = open_with(flags);
      if (flags & TOFT_FROZEN_ELSEWHERE) assert_int_equal(f.moved, 1);
      check_content((content *)f.root, counts[i]);
      if (flags & TOFT_FROZEN_WRITABLE) ((content *)f.root)->count = 1000000; /* this process's copy */
      toft_frozen_close(&f);
      assert_null(f.root);
      toft_frozen_close(&f);
    }
  }
}

/* The same content gives the same file, in each process and at each address of the builders' regions. */
static void files_are_reproducible(void **state) {
  (void)state;
  size_t sizes[2];
  unsigned char *files[2];
  for (int i = 0; i < 2; i++) {
    void *space = malloc((size_t)5 << 20); /* other addresses */
    freeze_content(300);
    files[i] = read_file(&sizes[i], 64);
    free(space);
  }
  assert_int_equal(sizes[0], sizes[1]);
  assert_memory_equal(files[0], files[1], sizes[0]);
}

static void one_file_is_open_often(void **state) {
  (void)state;
  toft_frozen open[20];
  freeze_content(50);
  for (int i = 0; i < 20; i++) {
    open[i] = open_with(0);
    if (i > 0) assert_int_equal(open[i].moved, 1); /* its address is in use */
  }
#if !defined(_WIN32)  /* where a file that is mapped cannot be replaced */
  freeze_content(51); /* a new file; those that are open stay */
#else
  plan p = {51, NULL, 0};
  assert_int_equal(toft_freeze(build, &p, path, NULL), TOFT_EIO);
  assert_int_equal(errno, EACCES);
#endif
  for (int i = 0; i < 20; i++) {
    check_content((content *)open[i].root, 50);
    toft_frozen_close(&open[i]);
  }
}

static void caller_memory_is_opened_in_place(void **state) {
  (void)state;
  size_t size;
  freeze_content(100);
  unsigned char *p = read_file(&size, (size_t)1 << 20);
  toft_frozen f;
  toft_frozen_options o = TOFT_FROZEN_OPTIONS;
  o.flags = TOFT_FROZEN_VERIFY;
  for (int round = 0; round < 2; round++) {
    assert_int_equal(toft_frozen_open_in(&f, p, size, &o), TOFT_OK);
    assert_int_equal(f.moved, round == 0);
    check_content((content *)f.root, 100);
    toft_frozen_close(&f);
  }
  unsigned char *copy =
      (unsigned char *)toft_alloc_aligned(scratch, size, (size_t)1 << 20); /* of pointers that were moved */
  memcpy(copy, p, size);
  memset(p, 0, size);
  assert_int_equal(toft_frozen_open_in(&f, copy, size, NULL), TOFT_OK);
  check_content((content *)f.root, 100);
  assert_int_equal(toft_frozen_open_in(&f, copy + 8, size - 8, NULL), TOFT_EARG);
  assert_int_equal(toft_frozen_open_in(&f, NULL, size, NULL), TOFT_EARG);
  o.flags = TOFT_FROZEN_WRITABLE;
  assert_int_equal(toft_frozen_open_in(&f, copy, size, &o), TOFT_EARG);
}

#if !defined(_WIN32)
static void *read_in_thread(void *arg) {
  check_content((content *)((toft_frozen *)arg)->root, 200);
  return NULL;
}

static void threads_and_forks_read(void **state) {
  (void)state;
  freeze_content(200);
  toft_frozen f = open_with(TOFT_FROZEN_ELSEWHERE);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, read_in_thread, &f), 0);
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  pid_t child = fork();
  if (child == 0) {
    check_content((content *)f.root, 200);
    freeze_content(200); /* in a child */
    toft_frozen_close(&f);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  check_content((content *)f.root, 200);
  toft_frozen_close(&f);
}
#endif

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
  } cases[] = {{"function", plant_function, TOFT_FREEZE_POINTS_OUT, "test_freeze"},
               {"static variable", plant_static, TOFT_FREEZE_POINTS_OUT, "test_freeze"},
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
  assert_int_equal(toft_region_checkpoint(r), TOFT_OK);
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

static void bad_input(void **state) {
  (void)state;
  plan p = {1, NULL, 0};
  toft_freeze_options o = TOFT_FREEZE_OPTIONS;
  toft_frozen_options r = TOFT_FROZEN_OPTIONS;
  toft_frozen f;
  assert_int_equal(toft_freeze(NULL, NULL, path, NULL), TOFT_EARG);
  assert_int_equal(toft_freeze(build, &p, NULL, NULL), TOFT_EARG);
  assert_int_equal(toft_freeze(build, &p, "", NULL), TOFT_EARG);
  o.size--;
  assert_int_equal(toft_freeze(build, &p, path, &o), TOFT_EARG);
  o.size++;
  o.layout = "a name of a layout that is too lo"; /* 32 bytes */
  assert_int_equal(toft_freeze(build, &p, path, &o), TOFT_EARG);
  o.layout = "a name of a layout that is long";
  o.max = 100000;
  assert_int_equal(toft_freeze(build, &p, path, &o), TOFT_EARG);
  o.max = 0;
  assert_int_equal(p.calls, 0);
  assert_int_equal(toft_freeze(build, &p, "/no/such/folder/x", &o), TOFT_EIO);
  assert_int_equal(errno, ENOENT);
  assert_int_equal(toft_freeze(build, &p, path, &o), TOFT_OK);
  r.layout = o.layout;
  assert_int_equal(toft_frozen_open(&f, path, &r), TOFT_OK);
  toft_frozen_close(&f);
  r.layout = "another";
  assert_int_equal(toft_frozen_open(&f, path, &r), TOFT_ECONTENT);
  r.layout = NULL;
  r.layout_hash = 1;
  assert_int_equal(toft_frozen_open(&f, path, &r), TOFT_ECONTENT);
  r.layout_hash = 0;
  r.flags = 8;
  assert_int_equal(toft_frozen_open(&f, path, &r), TOFT_EARG);
  r.flags = 0;
  r.size = 1;
  assert_int_equal(toft_frozen_open(&f, path, &r), TOFT_EARG);
  assert_int_equal(toft_frozen_open(&f, NULL, NULL), TOFT_EARG);
  assert_int_equal(toft_frozen_open(&f, "/no/such/file", NULL), TOFT_EIO);
  assert_int_equal(toft_frozen_open(&f, ".", NULL), TOFT_EIO);
  assert_null(f.root);
}

/* ---- altered files ---- */

/* The checksum of the format, by its description. */
static void set_header_checksum(unsigned char *file) {
  uint64_t sum = 0, word;
  for (size_t at = 0; at < 96; at += 8) {
    memcpy(&word, file + at, 8);
    sum ^= word;
    sum = (sum << 29 | sum >> 35) * 0x9e3779b97f4a7c15u;
  }
  memcpy(file + 96, &sum, 8);
}

/* A file that was opened has pointers inside it only, and a root. */
static void check_pointers(const toft_frozen *f, size_t bytes) {
  const unsigned char *p = (const unsigned char *)f->memory, *bits = p + f->size;
  assert_true(f->size + bytes / 8 / WIDTH >= f->size && f->size < bytes);
  assert_true((unsigned char *)f->root >= p + START && (unsigned char *)f->root < p + f->size);
  for (size_t word = 0; word < (bytes - f->size) / 8 * 64; word++) {
    uint64_t set;
    memcpy(&set, bits + word / 64 * 8, 8);
    if ((set >> word % 64 & 1) == 0) continue;
    uintptr_t at;
    assert_true(word >= START / WIDTH && (word + 1) * WIDTH <= f->size);
    memcpy(&at, p + word * WIDTH, sizeof at);
    assert_true(at >= (uintptr_t)p && at <= (uintptr_t)p + f->size);
  }
}

static void altered_files_are_refused_or_sound(void **state) {
  (void)state;
  plan p = {0, NULL, 0};
  size_t size, opened = 0, refused = 0, rounds = long_run() ? 1000000 : rounds_of(50000);
  uint32_t random = 5;
  assert_int_equal(toft_freeze(build, &p, path, NULL), TOFT_OK);
  unsigned char *file = read_file(&size, 64), *copy = (unsigned char *)toft_alloc_aligned(scratch, size, 64);
  for (size_t round = 0; round < rounds; round++) {
    memcpy(copy, file, size);
    size_t given = next_random(&random) % 8 == 0 ? next_random(&random) % size : size;
    for (uint32_t n = 1 + next_random(&random) % 4; n > 0; n--) {
      size_t place = next_random(&random) % 4;
      size_t at = place == 0   ? next_random(&random) % 104
                  : place == 1 ? size - 1 - next_random(&random) % (size / 65)
                               : next_random(&random) % size;
      copy[at] =
          (unsigned char)(next_random(&random) % 2 ? next_random(&random) : copy[at] ^ 1u << next_random(&random) % 8);
    }
    if (next_random(&random) % 8 != 0) set_header_checksum(copy);
    toft_frozen_options o = TOFT_FROZEN_OPTIONS;
    o.flags = next_random(&random) % 2 ? TOFT_FROZEN_VERIFY : 0;
    toft_frozen f;
    int code = toft_frozen_open_in(&f, copy, given, &o);
    if (code == TOFT_OK) {
      check_pointers(&f, given);
      opened++;
    } else {
      assert_null(f.root);
      refused++;
    }
  }
  assert_true(opened > rounds / 50 && refused > rounds / 4);
}

/* Each prefix of a file and each altered byte of it, with VERIFY. */
static void damage_is_found(void **state) {
  (void)state;
  size_t size;
  plan p = {0, NULL, 0};
  assert_int_equal(toft_freeze(build, &p, path, NULL), TOFT_OK);
  unsigned char *file = read_file(&size, 64), *copy = (unsigned char *)toft_alloc_aligned(scratch, size, 64);
  toft_frozen_options o = TOFT_FROZEN_OPTIONS;
  toft_frozen f;
  o.flags = TOFT_FROZEN_VERIFY;
  for (size_t at = 0; at < size; at += 1 + at / 2000) {
    memcpy(copy, file, size);
    assert_int_equal(toft_frozen_open_in(&f, copy, at, &o), TOFT_ECORRUPT);
    copy[at] ^= 4;
    int code = toft_frozen_open_in(&f, copy, size, &o);
    assert_true(code == TOFT_ECORRUPT || (code == TOFT_ENOSYS && at < 16));
  }
  for (int i = 0; i < 3; i++) { /* another system's: byte order, version, width of pointers */
    static const size_t places[] = {8, 12, 14};
    memcpy(copy, file, size);
    unsigned char *at = copy + places[i];
    if (i == 0) {
      unsigned char order[] = {at[3], at[2], at[1], at[0]};
      memcpy(at, order, 4);
    } else {
      at[0] ^= 0xc;
    }
    set_header_checksum(copy);
    assert_int_equal(toft_frozen_open_in(&f, copy, size, &o), TOFT_ENOSYS);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(content_is_read_back),
    cmocka_unit_test(files_are_reproducible),
    cmocka_unit_test(one_file_is_open_often),
    cmocka_unit_test(caller_memory_is_opened_in_place),
#if !defined(_WIN32)
    cmocka_unit_test(threads_and_forks_read),
#endif
    cmocka_unit_test(planted_words_are_refused),
    cmocka_unit_test(faults_name_their_allocation),
    cmocka_unit_test(words_that_survive_a_move_are_written),
    cmocka_unit_test(omitted_bytes_are_zeros),
    cmocka_unit_test(report_may_accept_a_word),
    cmocka_unit_test(regions_are_refused),
    cmocka_unit_test(bad_input),
    cmocka_unit_test(altered_files_are_refused_or_sound),
    cmocka_unit_test(damage_is_found),
  };
  return cmocka_run_group_tests(tests, make_path, remove_path);
}
