/* QuickJS-ng, an interpreter of JavaScript, by the functions of its runtimes. Compiled if its sources are at hand.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <quickjs.h>
#include <string.h>

#include "warm.h"

static const char application[] =
    "globalThis.routes = {}; globalThis.words = []; globalThis.hits = 0;\n"
    "for (let i = 1; i <= 2000; i++) routes['/r' + i] = { id: i, name: 'route' + i, serve: x => x + i };\n"
    "const text = 'lorem ipsum dolor sit amet'.split(' ');\n"
    "for (let k = 0; k < 2000; k++) words.push(text[k % 5]);\n";

static const char request[] =
    "hits++;\n"
    "routes['/r7'].name = 'changed' + hits;\n"
    "String.x = hits;\n"
    "(() => {\n"
    "  const parts = [];\n"
    "  for (let n = 0; n < 50; n++) parts.push(n + words[n]);\n"
    "  return hits + routes['/r9'].serve(1) + parts.join('').length;\n"
    "})()\n";

static size_t usable_size(const void *p) { return toft_malloc_usable_size(NULL, p); }
static const JSMallocFunctions on_toft = {toft_malloc_calloc, toft_malloc_alloc, toft_malloc_free, toft_malloc_realloc,
                                          usable_size};

static long long evaluate(JSContext *js, const char *script) {
  int64_t result = 0;
  JSValue value = JS_Eval(js, script, strlen(script), "warm", JS_EVAL_TYPE_GLOBAL);
  if (JS_IsException(value)) fail(JS_ToCString(js, JS_GetException(js)));
  (void)JS_ToInt64(js, &result, value);
  JS_FreeValue(js, value);
  return (long long)result;
}

static void *start(toft_malloc *memory) {
  JSRuntime *runtime = memory != NULL ? JS_NewRuntime2(&on_toft, memory) : JS_NewRuntime();
  JSContext *js = runtime != NULL ? JS_NewContext(runtime) : NULL;
  if (js == NULL) fail("no memory for a state");
  (void)evaluate(js, application);
  JS_RunGC(runtime);
  return js;
}

static long long serve(void *state) { return evaluate((JSContext *)state, request); }

static void end(void *state) {
  JSRuntime *runtime = JS_GetRuntime((JSContext *)state);
  JS_FreeContext((JSContext *)state);
  JS_FreeRuntime(runtime);
}

const interpreter quickjs = {"QuickJS", start, serve, end};
