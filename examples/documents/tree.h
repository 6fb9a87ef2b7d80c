/* A document tree like a DOM: one node an element or value, linked to parent, children and next
 * sibling, with its own copies of names, text and attributes. json.c and xml.c drive the same calls.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef DOCUMENTS_TREE_H
#define DOCUMENTS_TREE_H

#include "../measure.h"
#include "memory.h"

enum node_kind { NODE_NULL, NODE_BOOL, NODE_NUMBER, NODE_STRING, NODE_OBJECT, NODE_ARRAY, NODE_ELEMENT, NODE_TEXT };

struct attribute {
  struct attribute *next;
  char *name, *value;
};

struct node {
  enum node_kind kind;
  struct node *parent, *first, *last, *next;
  char *name; /* element name, or key in an object; may be NULL */
  struct attribute *attributes;
  char *text; /* strings and text; NUL-terminated */
  size_t text_size;
  double number; /* numbers and booleans */
};

struct tree {
  struct memory *memory;
  struct node *root, *open; /* open: the parent of the next node */
  char *name;               /* of the next node */
  uint64_t nodes, attributes, strings, bytes;
};

static inline char *tree_text(struct tree *t, const char *s, size_t n) {
  char *copy = memory_text(t->memory, n + 1);
  if (copy == NULL) return NULL;
  memcpy(copy, s, n);
  copy[n] = 0;
  t->strings++;
  t->bytes += n + 1;
  return copy;
}

/* Stores the key of the next value. Returns 0 when out of memory, like the functions below. */
static inline int tree_key(struct tree *t, const char *s, size_t n) {
  if (!BUILDS) return 1;
  t->name = tree_text(t, s, n);
  return t->name != NULL;
}

static inline struct node *tree_add(struct tree *t, enum node_kind kind) {
  struct node *n = (struct node *)memory_object(t->memory, sizeof *n);
  if (n == NULL) return NULL;
  memset(n, 0, sizeof *n);
  n->kind = kind;
  n->name = t->name;
  t->name = NULL;
  n->parent = t->open;
  if (t->open == NULL)
    t->root = n;
  else if (t->open->first == NULL)
    t->open->first = t->open->last = n;
  else
    t->open->last = t->open->last->next = n;
  t->nodes++;
  t->bytes += sizeof *n;
  return n;
}

static inline int tree_value(struct tree *t, enum node_kind kind, double number) {
  struct node *n;
  if (!BUILDS) return 1;
  if ((n = tree_add(t, kind)) == NULL) return 0;
  n->number = number;
  return 1;
}

static inline int tree_string(struct tree *t, enum node_kind kind, const char *s, size_t size) {
  struct node *n;
  if (!BUILDS) return 1;
  if ((n = tree_add(t, kind)) == NULL) return 0;
  n->text_size = size;
  return (n->text = tree_text(t, s, size)) != NULL;
}

static inline int tree_open(struct tree *t, enum node_kind kind) {
  struct node *n;
  if (!BUILDS) return 1;
  if ((n = tree_add(t, kind)) == NULL) return 0;
  t->open = n;
  return 1;
}

static inline int tree_close(struct tree *t) {
  if (BUILDS) t->open = t->open->parent;
  return 1;
}

/* Attributes of the open element, in a list from last to first. */
static inline int tree_attribute(struct tree *t, const char *name, const char *value) {
  struct attribute *a;
  if (!BUILDS) return 1;
  if ((a = (struct attribute *)memory_object(t->memory, sizeof *a)) == NULL) return 0;
  a->value = NULL;
  a->next = t->open->attributes;
  t->open->attributes = a;
  t->attributes++;
  t->bytes += sizeof *a;
  if ((a->name = tree_text(t, name, strlen(name))) == NULL) return 0;
  return (a->value = tree_text(t, value, strlen(value))) != NULL;
}

/* A program on malloc must free each node; a program on an arena need not. */
static inline void tree_free(struct memory *m, struct node *n) {
  while (n != NULL) {
    struct node *next = n->next;
    tree_free(m, n->first);
    for (struct attribute *a = n->attributes; a != NULL;) {
      struct attribute *after = a->next;
      memory_free(m, a->name);
      memory_free(m, a->value);
      memory_free(m, a);
      a = after;
    }
    memory_free(m, n->name);
    memory_free(m, n->text);
    memory_free(m, n);
    n = next;
  }
}

/* Equal documents have equal hashes, with every allocator. The end of a list of children is part of the hash. */
static inline uint64_t tree_hash(uint64_t h, const struct node *n) {
  for (; n != NULL; n = n->next) {
    h = hash_bytes(h, &n->kind, sizeof n->kind);
    if (n->name != NULL) h = hash_bytes(h, n->name, strlen(n->name) + 1);
    for (const struct attribute *a = n->attributes; a != NULL; a = a->next) {
      h = hash_bytes(h, a->name, strlen(a->name) + 1);
      h = hash_bytes(h, a->value, strlen(a->value) + 1);
    }
    if (n->text != NULL) h = hash_bytes(h, n->text, n->text_size + 1);
    h = hash_bytes(h, &n->number, sizeof n->number);
    h = tree_hash(h, n->first);
  }
  return hash_bytes(h, "", 1);
}

/* Parses one document into t. Returns 0, with a message in error[], on failure. */
int json_parse(struct tree *t, const char *s, size_t size, char *error, size_t error_size);
int xml_parse(struct tree *t, const char *s, size_t size, char *error, size_t error_size);

#endif
