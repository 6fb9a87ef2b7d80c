/* herb, the parser of HTML with Ruby (ERB): templates are parsed, and all nodes of their trees visited. A tree consists
 * of nodes, tokens, strings and arrays of pointers, which herb requests by a structure of functions. Its own arena maps
 * and unmaps pages of 128 KiB for each document; it can also be kept and reset, which herb's bindings do not do. The
 * Ruby between the tags is parsed by prism, on malloc, and in the arena of the library.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <herb.h>
#include <visitor.h>

#include "driver.h"
#include "herb_arena.h"
#include "prism_xallocator.h"

enum { TIMES = 20 };                                  /* each document in a round */
struct hooks hooks = {malloc, calloc, realloc, free}; /* of prism */
static hb_allocator_T memory;
static hb_arena_T own;
static hb_allocator_type_T each = HB_ALLOCATOR_MALLOC; /* made for each document, unless one is kept */
static int is_kept;

static void reset_own(hb_allocator_T *self) { hb_arena_reset((hb_arena_T *)self->context); }

static int adapt(const char *way) {
  if (strcmp(way, "own") == 0) return (each = HB_ALLOCATOR_ARENA), 1;
  is_kept = 1;
  if (strcmp(way, "arena") == 0) return herb_arena(&memory);
  if (strcmp(way, "pasted") == 0) return herb_pasted_arena(&memory);
  if (strcmp(way, "own-kept") != 0 || !hb_arena_init(&own, HB_ALLOCATOR_DEFAULT_ARENA_SIZE)) return 0;
  memory = hb_allocator_with_arena(&own);
  memory.destroy = reset_own;
  return 1;
}

static bool visit(const AST_NODE_T *node, void *count) {
  size_t of[6] = {node->type,
                  node->location.start.line,
                  node->location.start.column,
                  node->location.end.line,
                  node->location.end.column,
                  hb_array_size(node->errors)};
  output(of, sizeof of);
  ++*(size_t *)count;
  return true;
}

static void parse(const struct text *text) {
  size_t count = 0;
  if (!is_kept && !hb_allocator_init(&memory, each)) fail("no memory");
  AST_DOCUMENT_NODE_T *root = herb_parse(text->bytes, NULL, &memory);
  if (root == NULL) fail(text->path);
  herb_visit_node((const AST_NODE_T *)root, visit, &count);
  if (count < 2) fail(text->path);
  ast_node_free((AST_NODE_T *)root, &memory); /* in each way, since it frees what prism has */
  hb_allocator_destroy(&memory);
}

static void play(struct text *texts, int count) {
  for (int i = 0; i < count; i++)
    for (int n = 0; n < TIMES; n++) parse(&texts[i]);
}

int main(int argc, char **argv) { return drive(argc, argv, adapt, NULL, play); }
