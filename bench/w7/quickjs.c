/* QuickJS-ng, a JavaScript engine: a round is a new runtime, lunr.js, search.js on the texts, and the runtime's end.
 *     quickjs WAY ROUNDS lunr.js search.js TEXT...
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <quickjs.h>
#include <toft/malloc.h>

#include "driver.h"

/* ---- adapter: hooks with a context. No object has a finalizer, so its memory may end at once, or is freed ---- */

static toft_malloc memory;
static int on_toft, freed;

static size_t usable_size(const void *p) { return toft_malloc_usable_size(&memory, p); }

static int adapt(const char *way) {
  toft_malloc_init(&memory, NULL);
  on_toft = 1;
  freed = strcmp(way, "freed") == 0;
  return freed || strcmp(way, "toft") == 0;
}

static JSRuntime *begin(void) {
  static const JSMallocFunctions hooks = {toft_malloc_calloc, toft_malloc_alloc, toft_malloc_free, toft_malloc_realloc,
                                          usable_size};
  return on_toft ? JS_NewRuntime2(&hooks, &memory) : JS_NewRuntime();
}

static void end(JSRuntime *runtime, JSContext *js) {
  if (!on_toft || freed) {
    JS_FreeContext(js);
    JS_FreeRuntime(runtime);
  }
  if (on_toft) toft_malloc_release(&memory);
}

/* ---- end of the adapter ---- */

static JSValue evaluated(JSContext *js, const struct text *script) {
  JSValue value = JS_Eval(js, script->bytes, script->size, script->path, JS_EVAL_TYPE_GLOBAL);
  if (JS_IsException(value)) fail(JS_ToCString(js, JS_GetException(js)));
  return value;
}

static void play(struct text *texts, int count) {
  JSRuntime *runtime = begin();
  JSContext *js = runtime != NULL ? JS_NewContext(runtime) : NULL;
  JSValue global, array, said;
  const char *text;
  size_t size;
  if (js == NULL) fail("no memory");
  global = JS_GetGlobalObject(js);
  array = JS_NewArray(js);
  for (int i = 2; i < count; i++)
    JS_SetPropertyUint32(js, array, (uint32_t)(i - 2), JS_NewStringLen(js, texts[i].bytes, texts[i].size));
  JS_SetPropertyStr(js, global, "texts", array);
  JS_FreeValue(js, evaluated(js, &texts[0]));
  said = evaluated(js, &texts[1]);
  if ((text = JS_ToCStringLen(js, &size, said)) == NULL) fail("the script returned no string");
  output(text, size);
  JS_FreeCString(js, text);
  JS_FreeValue(js, said);
  JS_FreeValue(js, global);
  end(runtime, js);
}

int main(int argc, char **argv) { return drive(argc, argv, adapt, NULL, play); }
