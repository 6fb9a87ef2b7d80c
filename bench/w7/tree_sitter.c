/* tree-sitter with its grammar of C: files are parsed, and all nodes of their trees visited.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <toft.h>
#include <toft/malloc.h>
#include <tree_sitter/api.h>

#include "driver.h"

const TSLanguage *tree_sitter_c(void);

/* ---- adapter: hooks without a context, in an arena for each document or on a malloc ---- */

static toft_arena *arena; /* NULL: all is freed individually */
static toft_malloc memory;

static int adapt(const char *way) {
  if (strcmp(way, "arena") == 0) {
    ts_set_allocator(toft_current_malloc, toft_current_calloc, toft_current_realloc, toft_current_free);
    toft_current_swap(arena = toft_create());
    return arena != NULL;
  }
  ts_set_allocator(toft_malloc_current_alloc, toft_malloc_current_calloc, toft_malloc_current_realloc,
                   toft_malloc_current_free);
  toft_malloc_init(&memory, NULL);
  toft_malloc_current_swap(&memory);
  return strcmp(way, "malloc-on-toft") == 0;
}

static void end_document(TSParser *parser, TSTree *tree) {
  if (arena != NULL) {
    toft_reset(arena);
    return;
  }
  ts_tree_delete(tree);
  ts_parser_delete(parser);
}

/* ---- end of the adapter ---- */

static void visit(TSNode root) {
  TSTreeCursor cursor = ts_tree_cursor_new(root);
  for (;;) {
    TSNode node = ts_tree_cursor_current_node(&cursor);
    uint32_t of[4] = {ts_node_symbol(node), ts_node_is_missing(node), ts_node_start_byte(node), ts_node_end_byte(node)};
    output(of, sizeof of);
    if (ts_tree_cursor_goto_first_child(&cursor)) continue;
    while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
      if (ts_tree_cursor_goto_parent(&cursor)) continue;
      ts_tree_cursor_delete(&cursor);
      return;
    }
  }
}

static void play(struct text *texts, int count) {
  for (int i = 0; i < count; i++) {
    TSParser *parser = ts_parser_new();
    TSTree *tree;
    if (!ts_parser_set_language(parser, tree_sitter_c())) fail("the library is too old for the grammar");
    tree = ts_parser_parse_string(parser, NULL, texts[i].bytes, (uint32_t)texts[i].size);
    if (tree == NULL) fail(texts[i].path);
    visit(ts_tree_root_node(tree));
    end_document(parser, tree);
  }
}

int main(int argc, char **argv) { return drive(argc, argv, adapt, NULL, play); }
