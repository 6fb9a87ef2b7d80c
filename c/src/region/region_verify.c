/* The invariants of a region, which each take and put of a block leaves.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_REGION_REGION_VERIFY_C
#define TOFT_REGION_REGION_VERIFY_C

#include "../platform/assert.h"
#include "region_checkpoint.c"

#ifdef TOFT_ASSERTIONS

static void toft_verify_map_node(const toft_map *m, size_t i, size_t each) {
  toft_map_node leaves[2];
  const toft_map_node *a = toft_map_node_at(m, 2 * i, &leaves[0]), *b = toft_map_node_at(m, 2 * i + 1, &leaves[1]);
  for (int what = TOFT_MAP_UNITS; what <= TOFT_MAP_GROUPS; what++) {
    toft_map_runs joined = m->nodes[i].of[what];
    TOFT_ASSERT(
        !toft_map_join(&joined, &a->of[what], &b->of[what], what == TOFT_MAP_UNITS ? each : each / TOFT_MAP_GROUP));
    TOFT_ASSERT(joined.longest <= 2 * each && joined.first <= joined.longest && joined.last <= joined.longest);
  }
}

/* Each node has the runs of the two below it, and the used units are the bytes of the blocks. */
static void toft_verify_map(const toft_region *r) {
  const toft_map *m = &r->map;
  size_t used = 0, each = 64 * m->words / 2, below = toft_region_unit(r, r->base);
  for (size_t i = 1; i < m->words; i++) {
    if (i > 1 && (i & (i - 1)) == 0) each /= 2;
    toft_verify_map_node(m, i, each);
  }
  for (size_t i = 0; i < m->words; i++) used += 64 - toft_count_bits(m->free[i]);
  TOFT_ASSERT((used - below) * TOFT_BLOCK_MIN == r->used);
}

static void toft_verify_arenas(const toft_region *r) {
  uint64_t number = r->arena_count + 1;
  toft_region_arena_link *const *at = &r->arenas;
  for (int n = 0; *at != NULL && n < 64; at = &(*at)->older, n++) {
    const toft_region_arena_link *link = *at;
    TOFT_ASSERT(link->at == at);
    TOFT_ASSERT(link->number < number);
    TOFT_ASSERT(link->region == &r->source);
    TOFT_ASSERT((const unsigned char *)link > r->base && (const unsigned char *)link < r->top);
    number = link->number;
  }
}

/* The page at a node, as its ancestors have it. */
static const unsigned char *toft_saved_page_at(const toft_node *n, size_t page) {
  for (; n != NULL; n = n->parent) {
    const toft_saved_page *s = toft_saved_page_of(n->pages, n->count, page);
    if (s != NULL) return s->is;
  }
  return NULL;
}

static void toft_verify_node(const toft_region_control *c, const toft_node *n) {
  for (size_t i = 0; i < n->count; i++) {
    const toft_saved_page *s = &n->pages[i];
    TOFT_ASSERT(i == 0 || n->pages[i - 1].page < s->page);
    TOFT_ASSERT(s->is != NULL && s->page < c->tree->view_room);
    TOFT_ASSERT(s->was == toft_saved_page_at(n->parent, s->page));
  }
  for (size_t i = 1; i < n->cleanup_count; i++) TOFT_ASSERT(n->cleanups[i].arena < n->cleanups[i - 1].arena);
}

/* The nodes are in order, each but the first has a parent, and the view has the current node's pages. */
static void toft_verify_tree(const toft_region_control *c) {
  const toft_tree *t = c->tree;
  size_t listed = 0, children = 0, counted = 0, saved = 0;
  for (size_t i = 0; i < t->count; i++) {
    const toft_node *n = t->nodes[i];
    TOFT_ASSERT(i == 0 ? n->parent == NULL : n->number > t->nodes[i - 1]->number && n->parent != NULL);
    TOFT_ASSERT(i == 0 || n->parent->number < n->number);
    TOFT_ASSERT(n->number <= t->last);
    listed += !n->dropped;
    children += n->children;
    counted += n->parent != NULL;
    for (size_t k = 0; k < n->count; k++) saved += n->pages[k].is != toft_zero_page;
    toft_verify_node(c, n);
  }
  TOFT_ASSERT(listed == c->checkpoints && children == counted && saved * TOFT_SAVED_PAGE == c->saved_bytes);
  TOFT_ASSERT((t->current == NULL) == (t->count == 0));
  for (size_t page = 0; t->count != 0 && page < t->current->size / TOFT_SAVED_PAGE; page += 1 + page / 32)
    TOFT_ASSERT(t->view[page] == toft_saved_page_at(t->current, page));
}

static void toft_verify_region(const toft_region *r) {
  const toft_region_control *c = r->control;
  TOFT_ASSERT(c->region == r);
  TOFT_ASSERT(r->base == (const unsigned char *)r);
  TOFT_ASSERT(r->base < r->top && r->top <= r->high);
  TOFT_ASSERT(c->reserved == NULL || (size_t)(r->top - r->base) <= c->committed); /* else the program's memory */
  TOFT_ASSERT(c->committed <= c->max);
  TOFT_ASSERT(r->used <= (size_t)(r->top - r->base));
  TOFT_ASSERT(c->used <= c->resident);
  TOFT_ASSERT(c->dirty >= (size_t)(r->top - r->base));
  TOFT_ASSERT((r->map.words & (r->map.words - 1)) == 0);
  TOFT_ASSERT(r->top == toft_region_at_unit(r, toft_map_end(&r->map)));
  if (toft_verifies(8 * r->map.words)) toft_verify_map(r);
  toft_verify_arenas(r);
  if (c->tree != NULL && toft_verifies(c->tree->count * 64 + c->saved_bytes / 64)) toft_verify_tree(c);
}
#endif

#endif
