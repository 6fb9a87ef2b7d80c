/* cmark, the reference implementation of CommonMark: documents in Markdown are parsed, and rendered as HTML.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <cmark.h>
#include <toft.h>
#include <toft/malloc.h>

#include "driver.h"

/* ---- adapter: hooks without a context, in an arena for each document or on a malloc ---- */

static cmark_mem hooks = {calloc, realloc, free};
static toft_arena *arena; /* NULL: all is freed individually */
static toft_malloc memory;

static int adapt(const char *way) {
  static const cmark_mem in_arena = {toft_current_calloc, toft_current_realloc, toft_current_free};
  static const cmark_mem on_malloc = {toft_malloc_current_calloc, toft_malloc_current_realloc,
                                      toft_malloc_current_free};
  if (strcmp(way, "arena") == 0) {
    hooks = in_arena;
    toft_current_swap(arena = toft_create());
    return arena != NULL;
  }
  hooks = on_malloc;
  toft_malloc_init(&memory, NULL);
  toft_malloc_current_swap(&memory);
  return strcmp(way, "malloc-on-toft") == 0;
}

static void end_document(cmark_parser *parser, cmark_node *document, char *html) {
  if (arena != NULL) {
    toft_reset(arena);
    return;
  }
  hooks.free(html);
  cmark_node_free(document);
  cmark_parser_free(parser);
}

/* ---- end of the adapter ---- */

static void play(struct text *texts, int count) {
  for (int i = 0; i < count; i++) {
    cmark_parser *parser = cmark_parser_new_with_mem(CMARK_OPT_DEFAULT, &hooks);
    cmark_node *document;
    char *html;
    cmark_parser_feed(parser, texts[i].bytes, texts[i].size);
    document = cmark_parser_finish(parser);
    html = cmark_render_html(document, CMARK_OPT_DEFAULT);
    output(html, strlen(html));
    end_document(parser, document, html);
  }
}

int main(int argc, char **argv) { return drive(argc, argv, adapt, NULL, play); }
