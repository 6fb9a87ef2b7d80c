/* The plugin in C. Without an arena it returns memory of its own heap, which free_rows frees: the other way to return
 * rows. -DKEEPS: it has the fault that a checked arena finds.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "query.h"

#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT
#endif

EXPORT plugin_query query;
EXPORT void free_rows(row *list);

static void *memory(toft_arena *a, size_t size) { return a != NULL ? take(a, size) : malloc(size); }

/* Returns the size. */
static size_t print(char *to, const char *what, int64_t id) {
  char digits[20];
  size_t n = 0, size = strlen(what);
  memcpy(to, what, size);
  do digits[n++] = (char)('0' + id % 10);
  while ((id /= 10) != 0);
  while (n != 0) to[size++] = digits[--n];
  to[size] = 0;
  return size + 1;
}

static const char *text(toft_arena *a, char *scratch, const char *what, int64_t id) {
  size_t size = print(scratch, what, id);
  char *p = memory(a, size);
  return p != NULL ? memcpy(p, scratch, size) : NULL;
}

row *query(toft_arena *a, int64_t count) {
  row *list = NULL;
  char *scratch;
  if (a != NULL && a->ops->version != 1) return NULL;
#ifdef KEEPS
  static row *last; /* of the previous query: the host has reset its arena */
  if (last != NULL) last->id++;
#endif
  scratch = malloc(64); /* of the plugin's heap, where it is freed too */
  for (int64_t id = 0; scratch != NULL && id < count; id++) {
    row *r = memory(a, sizeof *r);
    if (r == NULL || (r->name = text(a, scratch, "the name of column ", id)) == NULL ||
        (r->value = text(a, scratch, "the value in row ", id)) == NULL) {
      list = NULL;
      break;
    }
    r->id = id;
    r->next = list;
    list = r;
  }
  free(scratch);
#ifdef KEEPS
  last = list;
#endif
  return list;
}

void free_rows(row *list) {
  while (list != NULL) {
    row *next = list->next;
    free((void *)(uintptr_t)list->name);
    free((void *)(uintptr_t)list->value);
    free(list);
    list = next;
  }
}
