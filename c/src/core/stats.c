/* Reading an arena: membership, statistics, the walk over blocks, and the names of errors.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_STATS_C
#define TOFT_CORE_STATS_C

#include "arena_state.h"
#include "blocks.c"
#include "ops.c"
#include "policy.c"

/* Bytes in use. An idle initial block has none, although its cursor is at its end. */
static size_t toft_block_used(const toft_state *a, toft_block_header *b) {
  if (b == &a->initial && (a->state & TOFT_INITIAL_IDLE)) return 0;
  return (size_t)(toft_block_used_end(a, b) - toft_block_start(a, b));
}

static toft_state *toft_adopted_arena(const toft_cleanup_node *node) {
  return node->user.fn == toft_release_adopted ? (toft_state *)node->user.arg : NULL;
}

static int toft_op_contains(const toft_arena *head, const void *p) {
  const toft_state *a = toft_state_of(head);
  const unsigned char *q = (const unsigned char *)p;
  if (a->state & TOFT_PRISTINE) return q >= a->initial_start && q < head->cursor;
  for (toft_block_header *b = a->newest; b != NULL; b = b->next) {
    const unsigned char *start = toft_block_start(a, b);
    if (q >= start && q < start + toft_block_used(a, b)) return 1;
  }
  for (const toft_cleanup_node *n = a->cleanups; n != NULL; n = n->older) {
    const toft_state *donor = toft_adopted_arena(n);
    if (donor != NULL && toft_op_contains(&donor->head, p)) return 1;
  }
  return 0;
}

/* Adds the block statistics of a and of the arenas it adopted. */
static void toft_add_stats(const toft_state *a, toft_stats *s) {
  for (toft_block_header *b = a->newest; b != NULL; b = b->next) {
    s->reserved += b->size;
    s->blocks++;
    s->wasted += b->size - toft_block_used(a, b);
    if (b == a->current) s->wasted -= (size_t)(a->end - a->head.cursor);
  }
  s->reserved += a->spare_bytes;
  s->source_calls += a->source_calls;
  for (const toft_cleanup_node *n = a->cleanups; n != NULL; n = n->older) {
    const toft_state *donor = toft_adopted_arena(n);
    if (donor != NULL) toft_add_stats(donor, s);
  }
}

static size_t toft_op_stats(toft_arena *head, toft_stats *out, size_t out_size) {
  toft_state *a = toft_state_of(head);
  toft_stats s;
  toft_sync_in(a);
  memset(&s, 0, sizeof s);
  if (out_size > offsetof(toft_stats, reserved)) toft_add_stats(a, &s); /* a walk over the blocks */
  s.live = a->live;
  s.allocated = a->allocated;
  s.peak = a->peak;
  s.budget = toft_own_budget(a);
  toft_set_limit(a);
  size_t n = toft_min(out_size, sizeof s);
  memcpy(out, &s, n);
  return n;
}

static int toft_walk_blocks(toft_state *a, int (*fn)(void *, const toft_block *), void *arg) {
  toft_block v;
  const toft_cleanup_node *n = a->cleanups;
  for (toft_block_header *b = a->newest; b != NULL; b = b->next) {
    for (; n != NULL && n->epoch > b->epoch; n = n->older) {
      toft_state *donor = toft_adopted_arena(n);
      int stop = donor != NULL ? toft_walk_blocks(donor, fn, arg) : 0;
      if (stop != 0) return stop;
    }
    v.base = b == &a->initial ? (const void *)a : (const void *)b;
    v.size = b->size;
    v.start = toft_block_start(a, b);
    v.used = toft_block_used(a, b);
    v.kind = (int)b->kind;
    int stop = fn(arg, &v);
    if (stop != 0) return stop;
  }
  for (toft_block_header *b = a->spares; b != NULL; b = b->next) {
    v.base = b;
    v.size = b->size;
    v.start = toft_block_start(a, b);
    v.used = 0;
    v.kind = TOFT_BLOCK_SPARE;
    int stop = fn(arg, &v);
    if (stop != 0) return stop;
  }
  return 0;
}

int toft_blocks(toft_arena *head, int (*fn)(void *arg, const toft_block *block), void *arg) {
  if (!toft_is_own(head)) return TOFT_ENOSYS;
  toft_state *a = toft_state_of(head);
  toft_sync_in(a);
  uint32_t was_busy = toft_begin_callback(a);
  int stop = toft_walk_blocks(a, fn, arg);
  toft_end_callback(a, was_busy);
  toft_set_limit(a);
  return stop;
}

/* ---- names ---- */

const char *toft_version(void) { return TOFT_VERSION; }

const char *toft_error_name(int code) {
  switch (code) {
    case TOFT_OK: return "TOFT_OK";
    case TOFT_ENOMEM: return "TOFT_ENOMEM";
    case TOFT_EMARK: return "TOFT_EMARK";
    case TOFT_EBUSY: return "TOFT_EBUSY";
    case TOFT_EARG: return "TOFT_EARG";
    case TOFT_ENOSYS: return "TOFT_ENOSYS";
    case TOFT_ECORRUPT: return "TOFT_ECORRUPT";
#ifndef TOFT_OMIT_RECYCLER
    case TOFT_EIO: return "TOFT_EIO";
    case TOFT_ECONTENT: return "TOFT_ECONTENT";
#endif
    default: return "unknown";
  }
}

#endif
