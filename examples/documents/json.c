/* JSON by yajl: its events to tree calls. The parser's own memory is on malloc in every build.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>
#include <yajl/yajl_parse.h>

#include "tree.h"

static int on_null(void *t) { return tree_value((struct tree *)t, NODE_NULL, 0); }
static int on_bool(void *t, int value) { return tree_value((struct tree *)t, NODE_BOOL, value != 0); }
static int on_integer(void *t, long long value) { return tree_value((struct tree *)t, NODE_NUMBER, (double)value); }
static int on_double(void *t, double value) { return tree_value((struct tree *)t, NODE_NUMBER, value); }
static int on_string(void *t, const unsigned char *s, size_t n) {
  return tree_string((struct tree *)t, NODE_STRING, (const char *)s, n);
}
static int on_key(void *t, const unsigned char *s, size_t n) { return tree_key((struct tree *)t, (const char *)s, n); }
static int on_object(void *t) { return tree_open((struct tree *)t, NODE_OBJECT); }
static int on_array(void *t) { return tree_open((struct tree *)t, NODE_ARRAY); }
static int on_end(void *t) { return tree_close((struct tree *)t); }

static const yajl_callbacks events = {on_null,   on_bool, on_integer, on_double, NULL,  on_string,
                                      on_object, on_key,  on_end,     on_array,  on_end};

int json_parse(struct tree *t, const char *s, size_t size, char *error, size_t error_size) {
  const unsigned char *text = (const unsigned char *)s;
  yajl_handle h = yajl_alloc(&events, NULL, t);
  yajl_status status;
  if (h == NULL) {
    snprintf(error, error_size, "no memory for the JSON parser");
    return 0;
  }
  status = yajl_parse(h, text, size);
  if (status == yajl_status_ok) status = yajl_complete_parse(h);
  if (status != yajl_status_ok) {
    unsigned char *why = yajl_get_error(h, 0, text, size);
    snprintf(error, error_size, "%s", status == yajl_status_client_canceled ? "no memory for the tree" : (char *)why);
    yajl_free_error(h, why);
  }
  yajl_free(h);
  return status == yajl_status_ok;
}
