/* The slow path of allocation. Whether a request fits is decided against the block's true end, never against limit,
 * so that budgets, samples and claims do not move a placement.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_ALLOC_SLOW_C
#define TOFT_CORE_ALLOC_SLOW_C

#include "arena_state.h"
#include "blocks.c"
#include "hooks.h"
#include "policy.c"

static int toft_is_power(size_t align) { return align != 0 && (align & (align - 1)) == 0; }

static int toft_check_request(size_t size, size_t align) {
  if (!toft_is_power(align)) return TOFT_EARG;
  return size > TOFT_MAX_REQUEST || align > TOFT_MAX_REQUEST ? TOFT_ENOMEM : TOFT_OK;
}

/* NULL: it does not fit, or exceeds the budget. */
static void *toft_alloc_in_current(toft_state *a, size_t size, size_t align) {
  size_t pad = toft_pad(a->head.cursor, align);
  size_t remaining = (size_t)(a->end - a->head.cursor);
  size_t take = pad + TOFT_ROUND8(size);
  if (pad > remaining || TOFT_ROUND8(size) > remaining - pad || !toft_fits_budget(a, take)) return NULL;
  unsigned char *p = a->head.cursor + pad;
  TOFT_ASSERT(toft_pad(p, align) == 0);
  a->head.cursor += take;
  TOFT_ASSERT(a->head.cursor <= a->end);
  toft_sync(a);
  return p;
}

static int toft_fits_current(const toft_state *a, size_t size, size_t align) {
  size_t pad = toft_pad(a->head.cursor, align);
  size_t remaining = (size_t)(a->end - a->head.cursor);
  return pad <= remaining && TOFT_ROUND8(size) <= remaining - pad;
}

/* P7: in a dedicated block; the current block stays. */
static void *toft_alloc_dedicated(toft_state *a, size_t size, size_t align) {
  size_t need = toft_need(size, align);
  a->state &= ~(uint32_t)TOFT_REFUSED;
  if (!toft_fits_budget(a, need) || !toft_count_detached(a, NULL, 0, TOFT_DETACHED_RESERVED)) return NULL;
  toft_block_header *b = toft_block_take(a, toft_dedicated_size(need));
  if (b == NULL) return NULL;
  toft_block_push(a, b, TOFT_BLOCK_DEDICATED);
  unsigned char *p = toft_block_start(a, b);
  p += toft_pad(p, align);
  TOFT_ASSERT(toft_pad(p, align) == 0);
  TOFT_ASSERT(p + size <= toft_block_end(a, b));
  b->u.payload = p;
  b->used_end = p + TOFT_ROUND8(size);
  b->charge = need;
  a->live += need;
  a->allocated += need;
  toft_update_peak(a);
  (void)toft_count_detached(a, b, need, TOFT_DETACHED_MORE);
  return p;
}

/* Grows the current block in place, by at least half, if its source can extend it. 0: it cannot. */
static int toft_extend_current(toft_state *a, size_t size, size_t align) {
  toft_block_header *b = a->current;
  if (b->source == NULL || b->source->extend == NULL || toft_initial_is_idle(a)) return 0;
  unsigned char *base = b == &a->initial ? (unsigned char *)a : (unsigned char *)b;
  size_t used = (size_t)(a->head.cursor - base);
  size_t want = toft_round(used + toft_pad(a->head.cursor, align) + TOFT_ROUND8(size), TOFT_BLOCK_MIN);
  size_t generous = toft_round(b->size + b->size / 2, TOFT_BLOCK_MIN);
  if (want < generous && b->source->extend(b->source, base, b->size, generous))
    want = generous;
  else if (!b->source->extend(b->source, base, b->size, want))
    return 0;
  TOFT_ASSERT(want >= b->size);
  b->size = want;
  if (b == &a->initial) a->initial_end = base + want;
  a->end = base + want;
  return 1;
}

/* P5, P6: in a new regular block, which becomes current. */
static void *toft_alloc_regular(toft_state *a, size_t size, size_t align, size_t block_size) {
  /* The budget is checked before the source is called, with the padding that a page-aligned base gives. */
  size_t start = toft_stagger(block_size, a->newest->index + 1);
  size_t pad = (0 - start) & (align - 1) & (TOFT_BLOCK_MIN - 1);
  a->state &= ~(uint32_t)TOFT_REFUSED;
  if (!toft_fits_budget(a, pad + TOFT_ROUND8(size))) return NULL;
  toft_block_header *b = toft_block_take(a, block_size);
  if (b == NULL) return NULL;
  TOFT_ASSERT(b->size == block_size);
  a->current->used_end = a->head.cursor;
  toft_block_push(a, b, TOFT_BLOCK_REGULAR);
  toft_make_current(a, b, toft_block_start(a, b));
  void *p = toft_alloc_in_current(a, size, align);
  if (p == NULL)
    toft_block_drop(a, toft_block_pop(a)); /* the base was not page-aligned, and the padding exceeded the budget */
  return p;
}

/* 0: a dedicated block. */
static size_t toft_new_block_size(const toft_state *a, size_t need) {
  int idle = toft_initial_is_idle(a);
  size_t next = idle ? a->first_size : toft_min(TOFT_CAP, 2 * toft_min(TOFT_CAP, toft_round(a->current->size, 4096)));
  size_t size = toft_regular_size(need, next, idle);
  return size == 0 && a->source != NULL && a->source->extend != NULL ? toft_dedicated_size(need) : size;
}

static size_t toft_largest_spare(const toft_state *a) {
  size_t largest = 0;
  for (const toft_block_header *b = a->spares; b != NULL; b = b->next) largest = toft_max(largest, b->size);
  return largest;
}

/* P9: halves the size that the source refused, down to what the request needs. */
static void *toft_alloc_in_smaller_block(toft_state *a, size_t size, size_t align, size_t refused) {
  size_t least = toft_least_size(toft_need(size, align));
  void *p = NULL;
  while (p == NULL && toft_was_refused(a) && refused > least) {
    refused = toft_max(least, toft_round(refused / 2, TOFT_BLOCK_MIN));
    p = toft_alloc_regular(a, size, align, refused);
  }
  return p;
}

static void *toft_alloc_in_new_block(toft_state *a, size_t size, size_t align) {
  size_t need = toft_need(size, align), block_size = toft_new_block_size(a, need);
  uint64_t wanted =
      a->live + toft_pad(a->head.cursor, align) + TOFT_ROUND8(size); /* what the current block would have needed */
  void *p = block_size != 0 ? toft_alloc_regular(a, size, align, block_size) : toft_alloc_dedicated(a, size, align);
  if (TOFT_UNLIKELY(p == NULL) && toft_was_refused(a)) {
    size_t spare = toft_largest_spare(a);
    if (spare != 0 && toft_usable(spare) >= need)
      p = toft_alloc_regular(a, size, align, spare);
    else if (toft_return_idle(a))
      return toft_fits_current(a, size, align) ? toft_alloc_in_current(a, size, align)
                                               : toft_alloc_in_new_block(a, size, align);
    else if (block_size != 0)
      p = toft_alloc_in_smaller_block(a, size, align, block_size);
  }
  if (p != NULL) toft_update_round_peak(a, a->live > wanted ? a->live : wanted);
  return p;
}

/* While a range is claimed, other requests are served from a separate block, which the range cannot grow into. */
static void *toft_alloc_in_side_block(toft_state *a, size_t size, size_t align) {
  toft_block_header *b = a->side_block;
  if (b != NULL) {
    TOFT_ASSERT(b->kind == TOFT_BLOCK_DEDICATED && b->u.payload == NULL);
    size_t pad = toft_pad(b->used_end, align), remaining = (size_t)(toft_block_end(a, b) - b->used_end);
    size_t take = pad + TOFT_ROUND8(size);
    if (pad <= remaining && TOFT_ROUND8(size) <= remaining - pad) {
      if (!toft_fits_budget(a, take) || !toft_count_detached(a, NULL, 0, TOFT_DETACHED_RESERVED)) return NULL;
      unsigned char *p = b->used_end + pad;
      b->used_end += take;
      b->charge += take;
      a->live += take;
      a->allocated += take;
      toft_update_peak(a);
      (void)toft_count_detached(a, b, take, TOFT_DETACHED_MORE);
      return p;
    }
  }
  void *p = toft_alloc_dedicated(a, size, align);
  if (p == NULL && toft_was_refused(a) && toft_return_idle(a)) p = toft_alloc_dedicated(a, size, align);
  if (p != NULL) {
    a->side_block = a->newest;
    a->side_block->u.payload = NULL; /* may hold several: not returned with its first allocation */
    toft_update_round_peak(a, a->live);
  }
  return p;
}

/* The placement rule. Precondition: the request passed toft_check_request and the arena is not busy. NULL: nothing
 * changed. */
static void *toft_alloc_slow(toft_state *a, size_t size, size_t align) {
  TOFT_ASSERT(!(a->state & TOFT_BUSY));
  TOFT_ASSERT(toft_check_request(size, align) == TOFT_OK);
  TOFT_ASSERT(a->synced == a->head.cursor);
  a->state &= ~(uint32_t)TOFT_REFUSED;
  if (TOFT_UNLIKELY(a->state & (TOFT_IS_CHECKED | TOFT_IS_SUBJECT))) return toft_observe_alloc(a, size, align);
  if (a->state & TOFT_CLAIMED) return toft_alloc_in_side_block(a, size, align);
  if (toft_fits_current(a, size, align)) return toft_alloc_in_current(a, size, align);
  if (!toft_fits_budget(a, TOFT_ROUND8(size))) return NULL;
  if (toft_extend_current(a, size, align)) return toft_alloc_in_current(a, size, align);
  return toft_alloc_in_new_block(a, size, align);
}

#endif
