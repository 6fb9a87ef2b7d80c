/* The live content of a region: the used parts of the blocks of its arenas, and the objects of its recyclers.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_REGION_REGION_WALK_C
#define TOFT_REGION_REGION_WALK_C

#include "../core/blocks.c"
#include "../recycler/recycler_walk.c"
#include "region.c"

typedef struct toft_content_walk {
  void (*part)(void *arg, toft_arena *arena, const unsigned char *p, size_t size); /* arena: NULL: of a recycler */
  void *arg;
} toft_content_walk;

static void toft_region_walk_arena(const toft_content_walk *w, toft_state *a) {
  if (a->state & TOFT_PRISTINE) {
    w->part(w->arg, &a->head, a->initial_start, (size_t)(a->head.cursor - a->initial_start));
    return;
  }
  for (toft_block_header *b = a->newest; b != NULL; b = b->next) {
    const unsigned char *start = toft_block_start(a, b);
    if (b != &a->initial || !(a->state & TOFT_INITIAL_IDLE))
      w->part(w->arg, &a->head, start, (size_t)(toft_block_used_end(a, b) - start));
  }
}

static void toft_region_walk_object(void *walk, const unsigned char *p, size_t size) {
  const toft_content_walk *w = (const toft_content_walk *)walk;
  w->part(w->arg, NULL, p, size);
}

static void toft_region_walk(const toft_region *r, const toft_content_walk *w) {
  for (toft_region_arena_link *link = r->arenas; link != NULL; link = link->older)
    toft_region_walk_arena(w, toft_region_arena_of(link));
  for (toft_region_recycler_block *block = r->recyclers; block != NULL; block = block->older)
    if (!block->u.recycler.checked)
      toft_recycler_walk(&block->u.recycler, toft_region_walk_object, (void *)(uintptr_t)w);
}

#endif
