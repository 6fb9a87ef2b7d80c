/* Debian's lists of packages: paragraphs of fields, a line each.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include "packages.h"

typedef struct parser {
  void *(*take)(void *argument, size_t size);
  void *argument;
  int failed;
} parser;

static void *take(parser *p, size_t size) {
  void *memory = p->take(p->argument, size != 0 ? size : 1);
  if (memory == NULL) p->failed = 1;
  return memory;
}

static text copy_of(parser *p, text t) {
  char *copy = (char *)take(p, t.size);
  text copied = {copy, t.size};
  if (copy != NULL && t.size != 0) memcpy(copy, t.at, t.size);
  return copied;
}

/* The value if the line is that of the field. */
static int is_field(text line, const char *field, text *value) {
  size_t size = strlen(field);
  if (line.size < size + 2 || memcmp(line.at, field, size) != 0 || line.at[size] != ':') return 0;
  value->at = line.at + size + 2;
  value->size = line.size - size - 2;
  return 1;
}

static int is_name_end(char c) { return c == ' ' || c == '(' || c == ':' || c == ',' || c == '|'; }

/* Stores the names in a list of dependencies, if `names` is not NULL, and returns how many there are. */
static uint64_t names_in(text list, text *names) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < list.size;) {
    text name = {list.at + i, 0};
    for (; i < list.size && !is_name_end(list.at[i]); i++) name.size++;
    if (name.size != 0 && names != NULL) names[count] = name;
    count += name.size != 0;
    while (i < list.size && list.at[i] != ',' && list.at[i] != '|') i++;
    while (i < list.size && (list.at[i] == ' ' || list.at[i] == ',' || list.at[i] == '|')) i++;
  }
  return count;
}

/* Parses a paragraph and returns what follows it. */
static const char *paragraph(const char *at, const char *end, package *found, text *depends) {
  memset(found, 0, sizeof *found);
  found->name.at = found->version.at = found->description.at = depends->at = "";
  depends->size = 0;
  while (at < end && *at != '\n') {
    const char *stop = (const char *)memchr(at, '\n', (size_t)(end - at));
    text line = {at, (uint64_t)((stop != NULL ? stop : end) - at)}, value;
    if (!is_field(line, "Package", &found->name) && !is_field(line, "Version", &found->version) &&
        !is_field(line, "Description", &found->description) && !is_field(line, "Depends", depends) &&
        is_field(line, "Installed-Size", &value))
      found->kib = strtoull(value.at, NULL, 10);
    at = line.at + line.size + (stop != NULL);
  }
  return at < end ? at + 1 : end;
}

static void copy_package(parser *p, package *to, text depends) {
  to->name = copy_of(p, to->name);
  to->version = copy_of(p, to->version);
  to->description = copy_of(p, to->description);
  to->depends_count = names_in(depends, NULL);
  to->depends = (text *)take(p, to->depends_count * sizeof(text));
  if (p->failed) return;
  (void)names_in(depends, to->depends);
  for (uint64_t i = 0; i < to->depends_count; i++) to->depends[i] = copy_of(p, to->depends[i]);
}

/* By name, then by place in the list, so that every build has the same order. */
static int compare(const void *a, const void *b) {
  const package *x = (const package *)a, *y = (const package *)b;
  size_t shorter = x->name.size < y->name.size ? x->name.size : y->name.size;
  int order = memcmp(x->name.at, y->name.at, shorter);
  if (order != 0) return order;
  if (x->name.size != y->name.size) return x->name.size < y->name.size ? -1 : 1;
  return x->depends_count < y->depends_count ? -1 : 1; /* the place, until the package is copied */
}

static int make_index(parser *p, packages *all) {
  for (all->index_size = 1; all->index_size < 2 * all->count + 1;) all->index_size *= 2;
  if ((all->index = (uint64_t *)take(p, all->index_size * sizeof *all->index)) == NULL) return 0;
  memset(all->index, 0, all->index_size * sizeof *all->index);
  for (uint64_t i = 0; i < all->count; i++) {
    uint64_t at = hash_of(all->list[i].name) & (all->index_size - 1);
    while (all->index[at] != 0) at = (at + 1) & (all->index_size - 1);
    all->index[at] = i + 1;
  }
  return 1;
}

packages *packages_parse(const char *list, size_t size, void *(*take_memory)(void *, size_t), void *argument) {
  parser p = {take_memory, argument, 0};
  const char *end = list + size;
  uint64_t count = 0;
  package found;
  text depends;
  for (const char *at = list; at < end;) {
    at = paragraph(at, end, &found, &depends);
    count += found.name.size != 0;
  }
  packages *all = (packages *)take(&p, sizeof *all);
  package *sorted = (package *)malloc((count + 1) * sizeof *sorted);
  if (all == NULL || sorted == NULL || (all->list = (package *)take(&p, count * sizeof *sorted)) == NULL) {
    free(sorted);
    return NULL;
  }
  uint64_t n = 0;
  for (const char *at = list; at < end;) {
    const char *start = at;
    at = paragraph(at, end, &found, &depends);
    if (found.name.size == 0) continue;
    found.depends_count = (uint64_t)(start - list);
    found.depends = (text *)(uintptr_t)start; /* the paragraph, until the package is copied */
    sorted[n++] = found;
  }
  qsort(sorted, count, sizeof *sorted, compare);
  all->count = 0;
  for (uint64_t i = 0; i < count && !p.failed; i++) {
    if (i != 0 && same_text(sorted[i].name, sorted[i - 1].name)) continue;
    package *to = &all->list[all->count++];
    (void)paragraph((const char *)sorted[i].depends, end, to, &depends);
    copy_package(&p, to, depends);
  }
  free(sorted);
  return !p.failed && make_index(&p, all) ? all : NULL;
}

char *read_whole(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  char *bytes = NULL;
  if (f == NULL) return NULL;
  if (fseek(f, 0, SEEK_END) == 0) {
    long end = ftell(f);
    if (end >= 0 && fseek(f, 0, SEEK_SET) == 0 && (bytes = (char *)malloc((size_t)end + 1)) != NULL) {
      *size = fread(bytes, 1, (size_t)end, f);
      bytes[*size] = 0;
    }
  }
  (void)fclose(f);
  return bytes;
}
