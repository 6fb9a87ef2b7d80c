/* JSON by jansson: its text parsed by each process, or jansson's own structures frozen.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <jansson.h>
#include <toft.h>
#include "read.h"

static json_t *root;

static int open_json(const char *path) {
  root = json_load_file(path, 0, NULL);
  return root != NULL;
}

static int open_frozen(const char *path) {
  static toft_frozen file; /* until the process ends */
  toft_frozen_options o = TOFT_FROZEN_OPTIONS;
  o.layout = "jansson " JANSSON_VERSION;
  json_object_seed(1);
  if (toft_frozen_open(&file, path, &o) != TOFT_OK) return 0;
  root = (json_t *)file.root;
  return 1;
}

static text text_of(const json_t *string) {
  text t = {json_string_value(string), json_string_length(string)};
  return t;
}

static void print(const char *wanted) {
  json_t *p = json_object_get(root, wanted);
  text name = {wanted, strlen(wanted)};
  if (p == NULL)
    printf("%s -\n", wanted);
  else
    print_package(name, text_of(json_object_get(p, "version")), (uint64_t)json_integer_value(json_object_get(p, "kib")),
                  json_array_size(json_object_get(p, "depends")), text_of(json_object_get(p, "description")));
}

static int depends_on(const json_t *depends, text name) {
  for (size_t i = 0; i < json_array_size(depends); i++)
    if (same_text(text_of(json_array_get(depends, i)), name)) return 1;
  return 0;
}

static uint64_t needed_by(const char *wanted) {
  text name = {wanted, strlen(wanted)};
  uint64_t count = 0;
  for (void *at = json_object_iter(root); at != NULL; at = json_object_iter_next(root, at))
    count += (uint64_t)depends_on(json_object_get(json_object_iter_value(at), "depends"), name);
  return count;
}

const way json_way = {"json", open_json, print, needed_by};
const way frozen_json_way = {"frozen-json", open_frozen, print, needed_by};
