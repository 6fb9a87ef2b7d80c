/* Calls whose objects a trial of `toft advise` puts into arenas, chosen by the first argument. The program checks the
 * contents of its objects: it exits with 0 if all are right.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition) \
  if (!(condition)) exit(__LINE__ % 250 + 1)
#define NOINLINE __attribute__((noinline))

enum { CALLS = 400, OBJECTS = 200, DEPTH = 10 };

/* ---- a tree: all of its objects end with their call ---- */

typedef struct node {
  struct node *left, *right;
  uint64_t value;
} node;

NOINLINE static node *build(int depth) {
  node *n = (node *)malloc(sizeof *n);
  CHECK(n != NULL);
  n->value = (uint64_t)depth;
  n->left = depth > 0 ? build(depth - 1) : NULL;
  n->right = depth > 0 ? build(depth - 1) : NULL;
  return n;
}

NOINLINE static uint64_t sum(const node *n) { return n != NULL ? n->value + sum(n->left) + sum(n->right) : 0; }

NOINLINE static void delete (node *n) {
  if (n == NULL) return;
  delete (n->left);
  delete (n->right);
  free(n);
}

NOINLINE static void document(void) {
  node *root = build(DEPTH);
  CHECK(sum(root) == (2u << DEPTH) - DEPTH - 2);
  delete (root);
}

/* ---- objects of one site; a few live longer ---- */

static uint64_t *filled(uint64_t value) {
  uint64_t *p = (uint64_t *)malloc(8 * sizeof *p);
  CHECK(p != NULL);
  for (int i = 0; i < 8; i++) p[i] = value;
  return p;
}

static void check(const uint64_t *p, uint64_t value) {
  for (int i = 0; i < 8; i++) CHECK(p[i] == value);
}

/* Returns one of its objects. */
NOINLINE static uint64_t *keep_one(uint64_t call) {
  uint64_t *all[OBJECTS];
  for (int i = 0; i < OBJECTS; i++) all[i] = filled(call);
  for (int i = 1; i < OBJECTS; i++) {
    check(all[i], call);
    free(all[i]);
  }
  return all[0];
}

/* The objects of odd calls end directly after them, the others much later, and a few never. */
static void outlive(void) {
  static uint64_t *kept[CALLS];
  for (int i = 0; i < CALLS; i++) {
    kept[i] = keep_one((uint64_t)i);
    if (i % 2 == 1) {
      check(kept[i], (uint64_t)i);
      free(kept[i]);
    }
  }
  for (int i = 0; i < CALLS; i += 2) {
    check(kept[i], (uint64_t)i);
    if (i % 8 != 0) free(kept[i]);
  }
}

/* ---- objects that another thread, or a fork, frees ---- */

static uint64_t *handed[CALLS];

static void *take_over(void *arg) {
  for (int i = 0; i < CALLS; i++) {
    check(handed[i], (uint64_t)i);
    free(handed[i]);
    handed[i] = keep_one((uint64_t)i);
  }
  return arg;
}

static void hand_over(void) {
  pthread_t thread;
  for (int i = 0; i < CALLS; i++) handed[i] = keep_one((uint64_t)i);
  CHECK(pthread_create(&thread, NULL, take_over, NULL) == 0 && pthread_join(thread, NULL) == 0);
  for (int i = 0; i < CALLS; i++) {
    check(handed[i], (uint64_t)i);
    free(handed[i]);
  }
  for (int i = 0; i < 4; i++) document();
}

static void fork_between(void) {
  int status = 0;
  for (int i = 0; i < CALLS; i++) handed[i] = keep_one((uint64_t)i);
  pid_t child = fork();
  (void)take_over(NULL);
  if (child == 0) _exit(0);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* ---- the relatives of malloc ---- */

NOINLINE static void relatives(int call) {
  size_t size = 10;
  void *p = NULL;
  char *grown = (char *)malloc(size), *pair = (char *)malloc(24);
  CHECK(grown != NULL && pair != NULL);
  memset(grown, call, size);
  for (int i = 0; i < 12; i++) {
    grown = (char *)realloc(grown, size * 2);
    CHECK(grown != NULL && (uintptr_t)grown % 16 == 0);
    for (size_t k = 0; k < size; k++) CHECK(grown[k] == (char)call);
    memset(grown + size, call, size);
    size *= 2;
  }
  grown = (char *)realloc(grown, 7);
  CHECK(grown != NULL && grown[6] == (char)call && malloc_usable_size(grown) >= 7);
  memset(grown, 0xff, malloc_usable_size(grown));
  pair = (char *)reallocarray(pair, 3, 100);
  CHECK(pair != NULL);
  free(realloc(pair, 0)); /* NULL, or an object of no bytes */
  char *zeros = (char *)calloc(100, 7);
  for (int i = 0; i < 700; i++) CHECK(zeros != NULL && zeros[i] == 0);
  memset(zeros, 0xff, 700);
  CHECK(posix_memalign(&p, 256, 1000) == 0 && (uintptr_t)p % 256 == 0);
  memset(p, 0xff, malloc_usable_size(p));
  free(p);
  p = aligned_alloc(64, 640);
  CHECK(p != NULL && (uintptr_t)p % 64 == 0);
  free(p);
  p = memalign(1 << 16, 100);
  CHECK(p != NULL && (uintptr_t)p % (1 << 16) == 0);
  free(p);
  p = malloc(0);
  CHECK(p != NULL);
  free(p);
  p = malloc(3 << 20);
  CHECK(p != NULL);
  memset(p, call, 3 << 20);
  free(p);
  free(grown);
  free(zeros);
}

/* ---- stacks of different depths ---- */

static long bytes_read(void) {
  char text[256] = "";
  int file = open("/proc/self/io", O_RDONLY);
  CHECK(file >= 0 && read(file, text, sizeof text - 1) > 0 && close(file) == 0);
  return atol(text + strlen("rchar: "));
}

NOINLINE static void allocate_in_each(int depth) {
  void *volatile p = malloc(100);
  if (depth > 0) allocate_in_each(depth - 1);
  free(p);
}

/* The libraries read files, such as the list of mappings, a few times and not for each stack. */
static void read_little(void) {
  long before = bytes_read();
  for (int i = 1; i <= 8; i++) allocate_in_each(100 * i);
  CHECK(bytes_read() - before < 100000);
}

/* ---- documents in one call, each freed before the next, and an object that lives on ---- */

static inline __attribute__((always_inline)) void loop(void) {
  static uint64_t *objects[1000];
  uint64_t *parser = filled(0);
  for (uint64_t i = 0; i < CALLS; i++) {
    for (uint64_t k = 0; k < 1000; k++) objects[k] = filled(i + k);
    for (uint64_t k = 0; k < 1000; k++) {
      check(objects[k], i + k);
      free(objects[k]);
    }
  }
  check(parser, 0);
  free(parser);
}

/* By another path in a trial. */
NOINLINE static void keep_all(void) {
  for (int i = 0; i < CALLS; i++) CHECK(getenv("TOFT_TRIAL") != NULL ? filled(1) != NULL : malloc(100) != NULL);
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "tree") == 0)
    for (int i = 0; i < CALLS; i++) document();
  if (strcmp(how, "outlive") == 0) outlive();
  if (strcmp(how, "threads") == 0) hand_over();
  if (strcmp(how, "fork") == 0) fork_between();
  if (strcmp(how, "relatives") == 0)
    for (int i = 1; i <= CALLS; i++) relatives(i);
  if (strcmp(how, "depths") == 0) read_little();
  if (strcmp(how, "kept") == 0) {
    uint64_t *volatile first = filled(0);
    free(first);
    keep_all();
  }
  if (strcmp(how, "loop") == 0) loop();
  return 0;
}
