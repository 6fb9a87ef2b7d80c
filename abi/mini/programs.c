/* Ten small programs. They are built with toft_mini.h, and with toft.h and the library where LIBRARY is defined, and
 * print the same. C99 and C++11.
 *
 *     programs NUMBER
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifdef LIBRARY
#include "toft.h"
#else
#include "toft_mini.h"
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct list {
  struct list *next;
  char *text;
  int number;
} list;

static list *push(toft_arena *a, list *next, const char *text, int number) {
  list *l = toft_new(a, list);
  if (l == NULL) exit(1);
  l->next = next;
  l->text = toft_strdup(a, text);
  l->number = number;
  return l;
}

static void words(toft_arena *a) { /* splits a text */
  const char *s = "the plot of land a homestead stands on";
  list *l = NULL;
  while (*(s += strspn(s, " ")) != 0) {
    size_t n = strcspn(s, " ");
    l = push(a, l, toft_strndup(a, s, n), (int)n);
    s += n;
  }
  for (; l != NULL; l = l->next) printf("%s %d\n", l->text, l->number);
}

static void rounds(toft_arena *a) { /* requests */
  for (int round = 0; round < 50; round++) {
    list *l = NULL;
    unsigned long sum = 0;
    for (int i = 0; i < 2000; i++) l = push(a, l, "request", i * round);
    for (; l != NULL; l = l->next) sum += (unsigned long)l->number + (unsigned long)strlen(l->text);
    printf("%lu %d\n", sum, toft_reset(a));
  }
}

static void scopes(toft_arena *a) { /* tries that are taken back */
  char *kept = toft_printf(a, "%s", "kept");
  for (int i = 0; i < 200; i++) {
    toft_mark m = toft_mark_here(a);
    char *s = toft_new_array_zeroed(a, char, (size_t)(i * 997));
    if (s == NULL || (i != 0 && s[i * 996] != 0)) exit(1);
    memset(s, i, (size_t)(i * 997));
    printf("%d", toft_rewind(a, m));
  }
  printf("\n%s %lu\n", kept, (unsigned long)toft_get_stats(a).live);
}

static void vector(toft_arena *a) { /* a buffer that grows */
  size_t capacity = 8, count = 0;
  int *items = toft_new_array(a, int, capacity);
  for (int i = 0; i < 30000; i++) {
    if (count == capacity) {
      items = (int *)toft_resize(a, items, capacity * sizeof(int), 2 * capacity * sizeof(int), sizeof(int));
      if (items == NULL) exit(1);
      capacity *= 2;
      if (i % 3 == 0) (void)push(a, NULL, "between", i);
    }
    items[count++] = i * i;
  }
  unsigned long sum = 0;
  for (size_t i = 0; i < count; i++) sum += (unsigned long)items[i] & 0xffff;
  printf("%lu\n", sum);
}

static void say(void *arg) { printf("closes %s\n", (const char *)arg); }

static void cleanups(toft_arena *a) { /* files, say */
  static char names[3][8] = {"first", "second", "third"};
  (void)toft_cleanup_add(a, say, names[0]);
  toft_mark m = toft_mark_here(a);
  toft_cleanup *c = toft_cleanup_add(a, say, names[1]);
  (void)toft_cleanup_add(a, say, names[2]);
  printf("%d\n", c != NULL && toft_rewind(a, m) == TOFT_OK);
  c = toft_cleanup_add(a, NULL, NULL);
  c->arg = names[1];
  c->fn = say;
  toft_cleanup_add(a, say, names[2])->fn = NULL;
}

typedef struct tree {
  struct tree *left, *right;
  unsigned key;
} tree;

static tree *insert(toft_arena *a, tree *t, unsigned key) {
  if (t == NULL) {
    t = toft_new_zeroed(a, tree);
    if (t == NULL) exit(1);
    t->key = key;
  } else if (key < t->key) {
    t->left = insert(a, t->left, key);
  } else if (key > t->key) {
    t->right = insert(a, t->right, key);
  }
  return t;
}

static unsigned long walk(const tree *t, unsigned long sum) {
  return t == NULL ? sum : walk(t->right, (walk(t->left, sum) * 31 + t->key) & 0xffffffff);
}

static void trees(toft_arena *a) {
  tree *t = NULL;
  for (unsigned i = 1; i < 5000; i++) t = insert(a, t, i * 2654435761u % 10007);
  printf("%lu\n", walk(t, 0));
}

static void aligned(toft_arena *a) { /* vectors, pages */
  int good = 0;
  for (int i = 0; i < 400; i++) {
    size_t align = (size_t)1 << (i % 14);
    char *p = (char *)toft_alloc_aligned(a, (size_t)(i * 11), align);
    if (p == NULL) exit(1);
    good += ((uintptr_t)p & (align - 1)) == 0;
    memset(p, i, (size_t)(i * 11));
  }
  printf("%d %d\n", good, toft_alloc_aligned(a, 8, 3) != NULL);
}

static void refused(toft_arena *a) { /* impossible requests, and marks that ended */
  toft_mark m = toft_mark_here(a), none;
  memset(&none, 0, sizeof none);
  size_t many = SIZE_MAX / 4;
  printf("%d", toft_alloc(a, SIZE_MAX) == NULL && toft_new_array(a, double, many) == NULL);
  printf("%d", toft_alloc_aligned(a, 8, 0) == NULL && toft_alloc_aligned(a, 8, 48) == NULL);
  printf(" %d %d", toft_rewind(a, m), toft_rewind(a, none));
  printf(" %d", toft_reset(a));
  printf(" %d\n", toft_rewind(a, m));
}

static void newest(toft_arena *a) { /* a stack */
  uint64_t before = toft_get_stats(a).live;
  for (int i = 1; i < 100; i++) {
    void *p = toft_alloc(a, (size_t)i), *q = toft_alloc(a, (size_t)i * 2);
    q = toft_resize(a, q, (size_t)i * 2, (size_t)i, 8);
    toft_free(a, q, (size_t)i);
    toft_free(a, p, (size_t)i);
  }
  toft_free(a, NULL, 3);
  printf("%d\n", toft_get_stats(a).live == before);
}

static void copies(toft_arena *a) {
  double numbers[3] = {1.5, 2.5, 3.5};
  double *d = (double *)toft_memdup(a, numbers, sizeof numbers);
  char *s = toft_printf(a, "%.1f and %s and %0500d", d[1], toft_strndup(a, "a long word", 6), 7);
  printf("%s %d\n", s, (int)strlen(toft_strdup(a, "")));
  toft_trim(a, 0);
  toft_release(NULL);
  printf("%s\n", toft_strdup(a, s + 480));
}

int main(int argc, char **argv) {
  static void (*const programs[])(toft_arena *) = {words, rounds,  scopes,  vector, cleanups,
                                                   trees, aligned, refused, newest, copies};
  int number = argc > 1 ? atoi(argv[1]) : 0;
  toft_arena *a = toft_create();
  if (a == NULL || number < 0 || number >= 10) return 2;
  programs[number](a);
  toft_release(a);
  return 0;
}
