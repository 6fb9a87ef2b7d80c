/* Duktape, a JavaScript engine: a round is a new heap, lunr.js, search.js on the texts, and the end of the heap.
 *     duktape WAY ROUNDS lunr.js search.js TEXT...
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <duktape.h>
#include <toft/malloc.h>

#include "driver.h"

/* ---- adapter: hooks with a context. No object has a finalizer, so its memory may end at once, or is freed ---- */

static toft_malloc memory;
static int on_toft, freed;

static int adapt(const char *way) {
  toft_malloc_init(&memory, NULL);
  on_toft = 1;
  freed = strcmp(way, "freed") == 0;
  return freed || strcmp(way, "toft") == 0;
}

static duk_context *begin(void) {
  if (!on_toft) return duk_create_heap_default();
  return duk_create_heap(toft_malloc_alloc, toft_malloc_realloc, toft_malloc_free, &memory, NULL);
}

static void end(duk_context *js) {
  if (!on_toft || freed) duk_destroy_heap(js);
  if (on_toft) toft_malloc_release(&memory);
}

/* ---- end of the adapter ---- */

static void play(struct text *texts, int count) {
  duk_context *js = begin();
  duk_idx_t array;
  const char *said;
  size_t size;
  if (js == NULL) fail("no memory");
  array = duk_push_array(js);
  for (int i = 2; i < count; i++) {
    duk_push_lstring(js, texts[i].bytes, texts[i].size);
    duk_put_prop_index(js, array, (duk_uarridx_t)(i - 2));
  }
  duk_put_global_string(js, "texts");
  for (int i = 0; i < 2; i++)
    if (duk_peval_lstring(js, texts[i].bytes, texts[i].size) != 0) fail(duk_safe_to_string(js, -1));
  said = duk_get_lstring(js, -1, &size);
  if (said == NULL) fail("the script returned no string");
  output(said, size);
  end(js);
}

int main(int argc, char **argv) { return drive(argc, argv, adapt, NULL, play); }
