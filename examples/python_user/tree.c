/* Reads a tree of directories that another language built in an arena, and puts its result into the same arena. It
 * depends only on the ABI's header.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "../../abi/toft_abi.h"

typedef struct entry { /* as Entry in tree.py */
  struct entry *older; /* the entry made before: a directory is made before its contents */
  struct entry *parent;
  const char *name; /* not terminated */
  uint64_t name_size;
  uint64_t size; /* bytes: of a file; of a directory the total of its contents, once summed */
  uint64_t directory;
} entry;

static int larger_first(const void *a, const void *b) {
  const entry *x = *(entry *const *)a, *y = *(entry *const *)b;
  return (x->size < y->size) - (x->size > y->size);
}

/* Adds up the sizes and returns the directories, largest first, *n of them: an array in the arena. NULL: no memory. */
entry **tree_total(toft_arena *a, entry *newest, size_t *n) {
  size_t count = 0;
  for (entry *e = newest; e != NULL; e = e->older) { /* children come before their parents */
    if (e->parent != NULL) e->parent->size += e->size;
    count += e->directory != 0;
  }
  size_t bytes = count * sizeof(entry *);
  unsigned char *p = a->cursor; /* section 3 of SPEC.md: compare, then add */
  entry **found = (entry **)(void *)p;
  if ((size_t)(a->limit - p) < bytes)
    found = (entry **)a->ops->alloc(a, bytes, 8, 0, 0);
  else
    a->cursor = p + ((bytes + 7) & ~(size_t)7);
  if (found == NULL) return NULL;
  *n = 0;
  for (entry *e = newest; e != NULL; e = e->older)
    if (e->directory != 0) found[(*n)++] = e;
  qsort(found, *n, sizeof *found, larger_first);
  return found;
}
