/* A user of arenas, independent of their provider: a list, a scope with a cleanup, text in a claimed range.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <string.h>

#include "toft.h"

struct node {
  struct node *next;
  uint64_t value;
};

struct node *user_list(toft_arena *a, uint64_t n);
struct node *user_list(toft_arena *a, uint64_t n) {
  struct node *list = NULL;
  for (uint64_t i = 0; i < n; i++) {
    struct node *new_one = (struct node *)toft_alloc(a, sizeof *new_one);
    if (new_one == NULL) return NULL;
    new_one->next = list;
    new_one->value = i;
    list = new_one;
  }
  return list;
}

static void count(void *arg) { ++*(int *)arg; }

/* Registers a cleanup in a scope, fills the scope and ends it. Returns how often the cleanup ran, or a negative code.
   */
int user_scope(toft_arena *a, size_t size);
int user_scope(toft_arena *a, size_t size) {
  int ran = 0;
  toft_mark m = toft_mark_here(a);
  if (toft_cleanup_add(a, count, &ran) == NULL) return TOFT_ENOMEM;
  char *p = (char *)toft_alloc_aligned(a, size, 256);
  if (p == NULL || ((uintptr_t)p & 255) != 0) return TOFT_ENOMEM;
  memset(p, 1, size);
  int code = toft_rewind(a, m);
  return code == TOFT_OK ? ran : code;
}

/* Writes n bytes one by one into a claimed range; NULL if they are not contiguous. */
char *user_bytes(toft_arena *a, size_t n);
char *user_bytes(toft_arena *a, size_t n) {
  toft_range r;
  if (toft_claim(a, &r) != TOFT_OK) return NULL;
  char *first = (char *)toft_range_bytes(a, &r, 0), *last = NULL;
  for (size_t i = 0; i < n; i++) {
    char *p = (char *)toft_range_bytes(a, &r, 1);
    if (p == NULL) break;
    *p = (char)('a' + i % 26);
    if (i == 0) first = p;
    last = p;
  }
  return toft_unclaim(a, &r) == TOFT_OK && (n == 0 || last != NULL) ? first : NULL;
}

size_t user_live(toft_arena *a);
size_t user_live(toft_arena *a) { return (size_t)toft_get_stats(a).live; }
