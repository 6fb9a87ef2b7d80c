/* Content of frozen files, and the file of a test program.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_FROZEN_CONTENT_H
#define TOFT_TEST_FROZEN_CONTENT_H

#include <stdio.h>
#include <stdlib.h>

#ifdef _WIN32
#include <process.h>
#define getpid _getpid
#else
#include <unistd.h>
#endif

#include "support.h"

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

static inline void add(toft_malloc *m, content *c, uint32_t key) {
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
static inline void *build(toft_region *r, void *argument) {
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

static inline size_t check_tree(const node *n, const node *parent) {
  if (n == NULL) return 0;
  char text[16];
  int length = snprintf(text, sizeof text, "k%u", (unsigned)n->number);
  assert_string_equal(n->name, text);
  assert_ptr_equal(n->name_end, n->name + length + 1);
  assert_ptr_equal(n->parent, parent);
  return 1 + check_tree(n->left, n) + check_tree(n->right, n);
}

static inline void check_content(const content *c, size_t count) {
  assert_int_equal(c->count, count);
  assert_int_equal(check_tree(c->tree, NULL), count);
  for (size_t i = 0; i < count; i++) assert_ptr_equal(c->names[i], c->tree->name);
  assert_string_equal(c->notes, "in an arena");
  for (int i = 1; c->large != NULL && i <= 16; i++) assert_int_equal(c->large[-i], 0); /* the library's own record */
}

/* ---- files ---- */

static char path[512];
static toft_arena *scratch; /* copies of files */

static inline int make_path(void **state) {
  const char *folder = getenv("TMPDIR");
#ifdef _WIN32
  folder = ".";
#endif
  (void)state;
  scratch = toft_create();
  snprintf(path, sizeof path, "%.400s/toft-freeze-%ld.frozen", folder != NULL ? folder : "/tmp", (long)getpid());
  return 0;
}

static inline int remove_path(void **state) {
  (void)state;
  remove(path);
  toft_release(scratch);
  return 0;
}

static inline int print(void *arg, const toft_freeze_fault *f) {
  (void)arg;
  print_error("kind %u at %llu: %llx %llx %s\n", (unsigned)f->kind, (unsigned long long)f->offset,
              (unsigned long long)f->words[0], (unsigned long long)f->words[1],
              f->points_to != NULL ? f->points_to : "");
  return 0;
}

static inline void freeze_content(size_t count) {
  plan p = {count, NULL, 0};
  toft_freeze_options o = TOFT_FREEZE_OPTIONS;
  o.layout = "test 1";
  o.layout_hash = 17;
  o.report = print;
  if (sizeof(void *) == 8) o.max = (size_t)4 << 30;
  assert_int_equal(toft_freeze(build, &p, path, &o), TOFT_OK);
  assert_int_equal(p.calls, 2);
}

static inline toft_frozen open_with(uint32_t flags) {
  toft_frozen_options o = TOFT_FROZEN_OPTIONS;
  toft_frozen f;
  o.flags = flags;
  assert_int_equal(toft_frozen_open(&f, path, &o), TOFT_OK);
  return f;
}

/* The bytes of the file, aligned to `align`. */
static inline unsigned char *read_file(size_t *size, size_t align) {
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

#endif
