/* Duktape, an interpreter of JavaScript, by the three functions of its heaps.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <duktape.h>

#include "warm.h"

static const char application[] =
    "var routes = {}, words = [], hits = 0;\n"
    "function add(i) {\n"
    "  routes['/r' + i] = { id: i, name: 'route' + i, serve: function (x) { return x + i; } };\n"
    "}\n"
    "for (var i = 1; i <= 2000; i++) add(i);\n"
    "var text = 'lorem ipsum dolor sit amet'.split(' ');\n"
    "for (var k = 0; k < 2000; k++) words.push(text[k % 5]);\n";

static const char request[] =
    "hits++;\n"
    "routes['/r7'].name = 'changed' + hits;\n"
    "String.x = hits;\n"
    "var parts = [];\n"
    "for (var n = 0; n < 50; n++) parts.push(n + words[n]);\n"
    "hits + routes['/r9'].serve(1) + parts.join('').length;\n";

static void *alloc_on_toft(void *memory, duk_size_t size) { return toft_malloc_alloc(memory, size); }
static void *realloc_on_toft(void *memory, void *p, duk_size_t size) {
  if (size != 0) return toft_malloc_realloc(memory, p, size);
  toft_malloc_free(memory, p);
  return NULL;
}
static void free_on_toft(void *memory, void *p) { toft_malloc_free(memory, p); }

static void on_fatal(void *memory, const char *what) {
  (void)memory;
  fail(what != NULL ? what : "an error of Duktape");
}

static void *start(toft_malloc *memory) {
  duk_context *c = memory != NULL ? duk_create_heap(alloc_on_toft, realloc_on_toft, free_on_toft, memory, on_fatal)
                                  : duk_create_heap(NULL, NULL, NULL, NULL, on_fatal);
  if (c == NULL) fail("no memory for a state");
  if (duk_peval_string(c, application) != 0) fail(duk_safe_to_string(c, -1));
  duk_pop(c);
  duk_gc(c, 0);
  return c;
}

static long long serve(void *state) {
  duk_context *c = (duk_context *)state;
  if (duk_peval_string(c, request) != 0) fail(duk_safe_to_string(c, -1));
  long long result = (long long)duk_get_number(c, -1);
  duk_pop(c);
  return result;
}

static void end(void *state) { duk_destroy_heap((duk_context *)state); }

const interpreter duktape = {"Duktape", start, serve, end};
