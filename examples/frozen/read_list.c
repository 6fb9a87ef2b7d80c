/* The list itself, parsed into the same structs by each process.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdlib.h>
#include "lookup.h"

static packages *all;

static void *take(void *argument, size_t size) {
  (void)argument;
  return malloc(size);
}

static int open_list(const char *path) {
  size_t size;
  char *list = read_whole(path, &size);
  if (list == NULL) return 0;
  all = packages_parse(list, size, take, NULL);
  free(list);
  return all != NULL;
}

static void print(const char *name) { look_up(all, name); }
static uint64_t needed_by(const char *name) { return count_needs(all, name); }

const way list_way = {"list", open_list, print, needed_by};
