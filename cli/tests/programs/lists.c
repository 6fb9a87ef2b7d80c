/* Builds and frees lists of 100,000 nodes by recursion: lists ROUNDS.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdlib.h>

typedef struct node {
  struct node *next;
  long value;
} node;

__attribute__((noinline)) static node *build(long n) {
  node *p = n > 0 ? malloc(sizeof *p) : NULL;
  if (p == NULL) return NULL;
  p->value = n;
  p->next = build(n - 1);
  return p;
}

__attribute__((noinline)) static void drop(node *p) {
  if (p == NULL) return;
  drop(p->next);
  free(p);
  __asm__ volatile(""); /* no jump to free: the frame stays */
}

int main(int count, char **arguments) {
  for (long i = count > 1 ? atol(arguments[1]) : 1; i > 0; i--) drop(build(100000));
  return 0;
}
