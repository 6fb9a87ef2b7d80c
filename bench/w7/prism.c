/* prism, the parser of Ruby: files are parsed, and all nodes of their trees visited. The nodes of a file are in a
 * pm_arena, which is prism's own, and takes its blocks from these allocations: the first one has four times the size of
 * the file, or 8 KiB if that is more, further ones 8 KiB and, after each eight blocks, twice as much, up to 1 MiB. Two
 * more such arenas belong to the parser: its tables, from 1.25 times the size of the file on, and its scratch memory.
 * Single allocations are the parser itself, buffers of strings, hash tables of literals, and the digits of numbers.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <prism.h>
#include <stdlib.h>
#include <toft.h>
#include <toft/malloc.h>

#include "driver.h"
#include "prism_xallocator.h"

/* ---- adapter: hooks without a context, in an arena for each document or on a malloc ---- */

struct hooks hooks = {malloc, calloc, realloc, free};
static toft_arena *arena; /* NULL: all is freed individually */
static toft_malloc memory;

static int adapt(const char *way) {
  if (strcmp(way, "arena") == 0) {
    hooks = (struct hooks){toft_current_malloc, toft_current_calloc, toft_current_realloc, toft_current_free};
    toft_current_swap(arena = toft_create());
    return arena != NULL;
  }
  hooks = (struct hooks){toft_malloc_current_alloc, toft_malloc_current_calloc, toft_malloc_current_realloc,
                         toft_malloc_current_free};
  toft_malloc_init(&memory, NULL);
  toft_malloc_current_swap(&memory);
  return strcmp(way, "malloc-on-toft") == 0;
}

static void end_document(pm_parser_t *parser, pm_arena_t *nodes) {
  if (arena != NULL) {
    toft_reset(arena);
    return;
  }
  pm_parser_free(parser);
  pm_arena_free(nodes);
}

/* ---- end of the adapter ---- */

static pm_visit_result_t visit(const pm_node_t *node, void *none) {
  uint32_t of[4] = {node->type, node->flags, node->location.start, node->location.length};
  (void)none;
  output(of, sizeof of);
  return PM_VISIT_DESCEND;
}

static void play(struct text *texts, int count) {
  for (int i = 0; i < count; i++) {
    pm_arena_t *nodes = pm_arena_new();
    pm_parser_t *parser = pm_parser_new(nodes, (const uint8_t *)texts[i].bytes, texts[i].size, NULL);
    const pm_node_t *root = pm_parse(parser);
    if (pm_parser_errors_size(parser) != 0) fail(texts[i].path);
    pm_visit_node(root, visit, NULL);
    end_document(parser, nodes);
  }
}

int main(int argc, char **argv) { return drive(argc, argv, adapt, NULL, play); }
