/* A program that runs once and frees nothing, as compilers do: tokens and trees of expressions, and their values.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef ON_TOFT
#include "toft.h"
static toft_arena *arena;
#define NEW(type) toft_new_zeroed(arena, type)
#else
#define NEW(type) ((type *)calloc(1, sizeof(type)))
#endif

enum { TEXT = 8 << 20, DEPTH = 12 };

typedef struct token {
  struct token *next;
  const char *at;
  uint64_t value;
  int line;
} token;

typedef struct node {
  int operation;
  struct node *left, *right;
  const token *token;
  uint64_t places[2];
} node;

static uint32_t seed = 1;
static uint32_t draw(uint32_t below) { return (seed = seed * 1664525 + 1013904223) / 65536 % below; }

static char *write_text(char *to, int depth) {
  if (depth == 0 || draw(8) == 0) return to + sprintf(to, "%u", draw(50000));
  *to++ = '(';
  to = write_text(to, depth - 1);
  *to++ = "+-^"[draw(3)];
  to = write_text(to, depth - 1);
  *to++ = ')';
  return to;
}

static void *checked(void *p) { return p != NULL ? p : (exit(1), p); }

static token *tokens_of(const char *p) {
  token *first = NULL, **last = &first;
  for (int line = 1; *p != 0; p++) {
    token *t = *last = (token *)checked(NEW(token));
    last = &t->next;
    t->at = p;
    t->line = line += *p == '\n';
    for (; *p >= '0' && *p <= '9'; p++) t->value = t->value * 10 + (uint64_t)(*p - '0');
    p -= p > t->at;
  }
  return first;
}

static const token *current; /* a number, a parenthesis, an operation, or the end of a line */

static node *parse(void) {
  node *n = (node *)checked(NEW(node));
  n->token = current;
  if (*current->at == '(') {
    current = current->next;
    n->left = parse();
    n->operation = *current->at;
    current = current->next;
    n->right = parse();
  }
  current = current->next;
  return n;
}

static uint64_t value_of(const node *n) {
  if (n->operation == 0) return n->token->value;
  uint64_t left = value_of(n->left), right = value_of(n->right);
  return n->operation == '+' ? left + right : n->operation == '-' ? left - right : left ^ right;
}

int main(void) {
  char *text = (char *)checked(malloc(TEXT + 100000)), *end = text;
  uint64_t hash = 0;
#ifdef ON_TOFT
  arena = toft_create();
#endif
  while (end < text + TEXT) *(end = write_text(end, DEPTH)) = '\n', end++;
  *end = 0;
  for (current = tokens_of(text); current != NULL; current = current->next) hash = hash * 37 + value_of(parse());
  return printf("%llx\n", (unsigned long long)hash) < 0;
}
