/* Correct programs, of which clang must report nothing. See misuse.c.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <toft.h>

struct node {
  int value;
  struct node *next;
};

struct parser {
  toft_arena *arena;
  toft_recycler recycler;
  toft_lazy lazy;
  struct node *first;
};

/* A function that takes an arena returns memory of it. */
struct node *of_an_argument(toft_arena *a) {
  return toft_new(a, struct node);
}
char *text_of_an_argument(toft_arena *a) { return toft_printf(a, "%d", 1); }
void *by_the_hook(void *a) { return toft_hook_malloc(a, 8); }
void *of_a_recycler(toft_recycler *r) { return toft_recycler_alloc(r, 16, 8); }
void *of_a_field(struct parser *p) { return toft_recycler_alloc(&p->recycler, 16, 8); }
toft_arena *of_a_lazy_field(struct parser *p) { return toft_lazy_arena(&p->lazy); }
struct node *kept_in_a_field(struct parser *p) {
  return p->first = toft_new(p->arena, struct node);
}
toft_arena *in_the_callers_buffer(void *buffer, size_t size) { return toft_create_in(buffer, size, NULL); }

toft_arena *in_a_static_buffer(void) {
  static char buffer[TOFT_BUFFER(100)];
  return toft_create_in(buffer, sizeof buffer, NULL);
}

/* The arena moves to the caller, with the node. */
struct node *both_move(toft_arena **out) {
  toft_arena *a = toft_create();
  *out = a;
  return toft_new(a, struct node);
}

int read_before_the_end(void) {
  char buffer[TOFT_BUFFER(100)];
  toft_arena *a = toft_create_in(buffer, sizeof buffer, NULL);
  struct node *n = toft_new_zeroed(a, struct node);
  int value = n->value;
  toft_release(a);
  return value;
}

struct node *a_list(toft_arena *a, int n) {
  struct node *list = NULL;
  for (int i = 0; i < n; i++) {
    struct node *one = toft_new(a, struct node);
    one->next = list;
    list = one;
  }
  return list;
}

int a_scope_in_a_loop(toft_arena *a) {
  int sum = 0;
  for (int i = 0; i < 3; i++) {
    TOFT_SCOPE(a);
    struct node *n = toft_new_zeroed(a, struct node);
    sum += n->value;
  }
  return sum;
}

void *an_arena_on_a_limited_source(size_t limit) {
  toft_limited_source limited;
  toft_options o = TOFT_OPTIONS;
  o.source = toft_limited_source_init(&limited, NULL, limit);
  toft_arena *a = toft_create_with(&o);
  if (a == NULL) return NULL;
  int fits = toft_alloc(a, 100) != NULL;
  toft_release(a);
  return fits ? &kept_in_a_field : NULL;
}

char *grown(toft_arena *a, char *text, size_t size) { return (char *)toft_resize(a, text, size, 2 * size, 1); }

char *a_copy_in_the_other(toft_arena *to) {
  char buffer[TOFT_BUFFER(100)];
  toft_arena *from = toft_create_in(buffer, sizeof buffer, NULL);
  char *text = toft_strdup(from, "text");
  char *copy = toft_strdup(to, text);
  toft_release(from);
  return copy;
}
