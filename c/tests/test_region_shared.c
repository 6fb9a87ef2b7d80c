/* Regions in memory that parent and child share after a fork, also of a file: they use it in turns.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

#ifndef _WIN32
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE ((size_t)64 << 20)

typedef struct node {
  struct node *next;
  char *text; /* in the arena */
  uint32_t number;
} node;

typedef struct content {
  toft_malloc *heap;
  toft_arena *arena;
  node *newest;
  uint32_t count;
} content;

static content *content_of(toft_region *r) { return (content *)toft_region_root(r); }

static toft_region *region_in(void *memory) {
  toft_region_options o = TOFT_REGION_OPTIONS;
  o.memory = memory;
  o.max = SIZE;
  toft_region *r = toft_region_create(&o);
  assert_non_null(r);
  toft_malloc *heap = toft_region_malloc(r);
  content *c = (content *)toft_malloc_calloc(heap, 1, sizeof *c);
  assert_non_null(c);
  c->heap = heap;
  c->arena = toft_region_arena(r);
  assert_non_null(c->arena);
  toft_region_set_root(r, c);
  return r;
}

/* ---- the steps of a process; the codes of its calls are TOFT_OK ---- */

enum { ADD, REMOVE, CHECKPOINT, RESTORE, DROP, END };

typedef struct turn {
  uint32_t action, n;
} turn;

static int add(content *c, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    node *made = (node *)toft_malloc_alloc(c->heap, sizeof *made);
    char *text = toft_printf(c->arena, "node %u", (unsigned)c->count);
    if (made == NULL || text == NULL) return TOFT_ENOMEM;
    made->next = c->newest;
    made->text = text;
    made->number = c->count++;
    c->newest = made;
  }
  return TOFT_OK;
}

static int take_turn(toft_region *r, turn t) {
  content *c = content_of(r);
  switch (t.action) {
    case ADD: return add(c, t.n);
    case REMOVE:
      for (uint32_t i = 0; i < t.n && c->newest != NULL; i++) {
        node *removed = c->newest;
        c->newest = removed->next;
        c->count--;
        toft_malloc_free(c->heap, removed);
      }
      return TOFT_OK;
    case CHECKPOINT: return toft_region_checkpoint(r, NULL);
    case RESTORE: return toft_region_restore(r, 0);
    case DROP: return toft_region_drop_checkpoint(r, 0);
    default: return TOFT_OK;
  }
}

/* Whether the content is `count` nodes in their order. */
static int holds(toft_region *r, uint32_t count) {
  content *c = content_of(r);
  char expected[32];
  uint32_t i = count;
  if (c->count != count) return 0;
  for (const node *n = c->newest; n != NULL; n = n->next) {
    if (i == 0 || n->number != --i) return 0;
    (void)snprintf(expected, sizeof expected, "node %u", (unsigned)i);
    if (strcmp(n->text, expected) != 0) return 0;
  }
  return i == 0 && toft_malloc_get_stats(c->heap).used >= count * sizeof(node);
}

/* ---- two processes ---- */

typedef struct child {
  pid_t pid;
  int turns, answers; /* pipes to and from it */
} child;

static child fork_child(toft_region *r) {
  int to[2], from[2];
  child c;
  assert_int_equal(pipe(to), 0);
  assert_int_equal(pipe(from), 0);
  fflush(NULL);
  c.pid = fork();
  assert_true(c.pid >= 0);
  c.turns = to[1];
  c.answers = from[0];
  if (c.pid != 0) {
    (void)close(to[0]), (void)close(from[1]);
    return c;
  }
  (void)close(to[1]), (void)close(from[0]); /* it ends if the parent does */
  turn t;
  while (read(to[0], &t, sizeof t) == (ssize_t)sizeof t && t.action != END) {
    int code = take_turn(r, t);
    if (write(from[1], &code, sizeof code) != (ssize_t)sizeof code) break;
  }
  _exit(0);
}

static void in_child(const child *c, uint32_t action, uint32_t n) {
  turn t = {action, n};
  int code = 1;
  assert_int_equal(write(c->turns, &t, sizeof t), sizeof t);
  assert_int_equal(read(c->answers, &code, sizeof code), sizeof code);
  assert_int_equal(code, TOFT_OK);
}

static void in_parent(toft_region *r, uint32_t action, uint32_t n) {
  turn t = {action, n};
  assert_int_equal(take_turn(r, t), TOFT_OK);
}

static void end(const child *c) {
  turn t = {END, 0};
  int status = 1;
  assert_int_equal(write(c->turns, &t, sizeof t), sizeof t);
  assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
  assert_int_equal(status, 0);
  (void)close(c->turns), (void)close(c->answers);
}

/* What the two do in turns to the region in `memory`, which is shared; it is released by the parent. */
static toft_region *handed_over(void *memory, uint32_t n) {
  toft_region *r = region_in(memory);
  in_parent(r, ADD, n);
  in_parent(r, CHECKPOINT, 0);
  child c = fork_child(r);
  for (uint32_t round = 0; round < 3; round++) {
    in_child(&c, ADD, n + 1);
    assert_true(holds(r, 2 * n + 1));
    in_parent(r, REMOVE, n / 2 + 1); /* objects that the child has made */
    in_parent(r, ADD, 5 + n / 2);
    assert_true(holds(r, n + 1 + n + 4));
    in_child(&c, REMOVE, n + 5); /* objects of the parent */
    assert_true(holds(r, n));
    in_child(&c, ADD, n);
    if (round % 2 == 0) /* either process brings the content of the checkpoint before the fork back */
      in_child(&c, RESTORE, 0);
    else
      in_parent(r, RESTORE, 0);
    assert_true(holds(r, n));
  }
  /* A checkpoint of one process is its own: the other restores the one before. */
  in_child(&c, ADD, 10);
  in_child(&c, CHECKPOINT, 0);
  in_child(&c, ADD, 1);
  in_child(&c, RESTORE, 0);
  assert_true(holds(r, n + 10));
  in_child(&c, DROP, 0);
  in_parent(r, RESTORE, 0);
  assert_true(holds(r, n));
  toft_region_trim(r);
  end(&c);
  in_parent(r, ADD, n);
  assert_true(holds(r, 2 * n));
  return r;
}

static void each_size(void *memory, int file) {
  const uint32_t sizes[] = {0, 1, 10, 100000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    toft_region *r = handed_over(memory, sizes[i]);
    if (file >= 0 && sizes[i] != 0) { /* the content is in the file, at its offset */
      const char *text = content_of(r)->newest->text;
      char read_back[32] = "";
      off_t at = (off_t)(text - (const char *)memory);
      assert_true(pread(file, read_back, strlen(text) + 1, at) == (ssize_t)strlen(text) + 1);
      assert_string_equal(read_back, text);
    }
    toft_region_release(r);
  }
}

static void in_shared_memory(void **state) {
  (void)state;
  int zero = open("/dev/zero", O_RDWR); /* as MAP_ANONYMOUS, which POSIX does not have */
  assert_true(zero >= 0);
  void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, zero, 0);
  (void)close(zero);
  assert_true(memory != MAP_FAILED);
  each_size(memory, -1);
  assert_int_equal(munmap(memory, SIZE), 0);
}

static void in_a_file(void **state) {
  (void)state;
  FILE *file = tmpfile();
  assert_non_null(file);
  assert_int_equal(ftruncate(fileno(file), (off_t)SIZE), 0);
  void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  assert_true(memory != MAP_FAILED);
  each_size(memory, fileno(file));
  assert_int_equal(munmap(memory, SIZE), 0);
  (void)fclose(file);
}

/* A child that ends between two calls leaves the content as it was after the first. */
static void a_child_ends(void **state) {
  (void)state;
  int zero = open("/dev/zero", O_RDWR);
  void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, zero, 0);
  (void)close(zero);
  assert_true(memory != MAP_FAILED);
  toft_region *r = region_in(memory);
  in_parent(r, ADD, 10);
  in_parent(r, CHECKPOINT, 0);
  for (int worker = 0; worker < 5; worker++) {
    child c = fork_child(r);
    in_child(&c, ADD, 1000);
    end(&c);
    assert_true(holds(r, 1010));
    in_parent(r, RESTORE, 0);
    assert_true(holds(r, 10));
  }
  toft_region_release(r);
  assert_int_equal(munmap(memory, SIZE), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_shared_memory),
      cmocka_unit_test(in_a_file),
      cmocka_unit_test(a_child_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) { return 77; }
#endif
