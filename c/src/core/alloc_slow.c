/* Where an allocation goes when the inline path has no answer. Fit is decided against the block's true end, never
 * against limit: a budget, a sample or a claim does not move anything.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_ALLOC_SLOW_C
#define TOFT_CORE_ALLOC_SLOW_C

#include "arena_state.h"
#include "blocks.c"
#include "instrument.h"
#include "policy.c"

static int toft_is_power(size_t align) { return align != 0 && (align & (align - 1)) == 0; }

static int toft_check_request(size_t size, size_t align) {
  if (!toft_is_power(align)) return TOFT_EARG;
  return size > TOFT_MAX_REQUEST || align > TOFT_MAX_REQUEST ? TOFT_ENOMEM : TOFT_OK;
}

/* After a reset that found home too small: home is full, and `first` says how large the next block is. */
static int toft_home_idles(const toft_state *a) { return (a->state & TOFT_IDLE) != 0 && a->current == &a->home; }

/* In the current block; NULL if it does not fit or is not affordable. */
static void *toft_place_here(toft_state *a, size_t size, size_t align) {
  size_t pad = toft_pad(a->head.cursor, align);
  size_t room = (size_t)(a->end - a->head.cursor);
  size_t take = pad + TOFT_ROUND8(size);
  if (pad > room || TOFT_ROUND8(size) > room - pad || !toft_affords(a, take)) return NULL;
  unsigned char *p = a->head.cursor + pad;
  a->head.cursor += take;
  toft_sync(a);
  return p;
}

static int toft_fits_here(const toft_state *a, size_t size, size_t align) {
  size_t pad = toft_pad(a->head.cursor, align);
  size_t room = (size_t)(a->end - a->head.cursor);
  return pad <= room && TOFT_ROUND8(size) <= room - pad;
}

/* P7: a block of its own; the current one stays. */
static void *toft_place_alone(toft_state *a, size_t size, size_t align) {
  size_t need = toft_need(size, align);
  if (!toft_affords(a, need) || !toft_apart_room(a)) return NULL;
  toft_blk *b = toft_take(a, toft_oneoff_size(need));
  if (b == NULL) return NULL;
  toft_push(a, b, TOFT_BLOCK_ONEOFF);
  unsigned char *p = (unsigned char *)b + TOFT_HEADER;
  p += toft_pad(p, align);
  b->of.payload = p;
  b->left = p + TOFT_ROUND8(size);
  b->charge = need;
  a->live += need;
  a->allocated += need;
  toft_apart_add(a, b, need);
  return p;
}

/* The current block grows where it stands, when its source can do that: by half at least, as reallocs do. */
static int toft_extend_here(toft_state *a, size_t size, size_t align) {
  toft_blk *b = a->current;
  if (b->source == NULL || b->source->extend == NULL || toft_home_idles(a)) return 0;
  unsigned char *base = b == &a->home ? (unsigned char *)a : (unsigned char *)b;
  size_t used = (size_t)(a->head.cursor - base);
  size_t want = toft_round(used + toft_pad(a->head.cursor, align) + TOFT_ROUND8(size), TOFT_HOME_SIZE);
  size_t roomy = toft_round(b->size + b->size / 2, TOFT_HOME_SIZE);
  if (want < roomy && b->source->extend(b->source, base, b->size, roomy))
    want = roomy;
  else if (!b->source->extend(b->source, base, b->size, want))
    return 0;
  b->size = want;
  if (b == &a->home) a->home_end = base + want;
  a->end = base + want;
  return 1;
}

/* P5, P6: a further regular block, which becomes current. */
static void *toft_place_regular(toft_state *a, size_t size, size_t align, size_t block_size) {
  /* The budget is asked before the source; where the base decides the padding, bases are taken as pages. */
  size_t start = toft_stagger(block_size, a->newest->index + 1);
  size_t pad = (0 - start) & (align - 1) & (TOFT_HOME_SIZE - 1);
  if (!toft_affords(a, pad + TOFT_ROUND8(size))) return NULL;
  toft_blk *b = toft_take(a, block_size);
  if (b == NULL) return NULL;
  a->current->left = a->head.cursor;
  toft_push(a, b, TOFT_BLOCK_REGULAR);
  toft_make_current(a, b, toft_block_start(a, b));
  void *p = toft_place_here(a, size, align);
  if (p == NULL) toft_drop(a, toft_pop(a)); /* the base was no page, and the padding above the budget */
  return p;
}

static void *toft_place_further(toft_state *a, size_t size, size_t align) {
  size_t need = toft_need(size, align);
  int idle = toft_home_idles(a);
  size_t next = idle ? a->first : toft_min(TOFT_CAP, 2 * toft_min(TOFT_CAP, toft_round(a->current->size, 4096)));
  size_t block_size = toft_regular_size(need, next, idle);
  if (block_size == 0 && a->source != NULL && a->source->extend != NULL) block_size = toft_oneoff_size(need);
  uint64_t wanted = a->live + toft_pad(a->head.cursor, align) + TOFT_ROUND8(size); /* of the block that was too small */
  void *p = block_size != 0 ? toft_place_regular(a, size, align, block_size) : toft_place_alone(a, size, align);
  if (p != NULL) toft_note_peak(a, a->live > wanted ? a->live : wanted);
  return p;
}

/* While a range is claimed the others are served outside it, and outside the blocks it may grow into. */
static void *toft_place_aside(toft_state *a, size_t size, size_t align) {
  toft_blk *b = a->aside;
  if (b != NULL) {
    size_t pad = toft_pad(b->left, align), room = (size_t)(toft_block_end(a, b) - b->left);
    size_t take = pad + TOFT_ROUND8(size);
    if (pad <= room && TOFT_ROUND8(size) <= room - pad) {
      if (!toft_affords(a, take) || !toft_apart_room(a)) return NULL;
      unsigned char *p = b->left + pad;
      b->left += take;
      b->charge += take;
      a->live += take;
      a->allocated += take;
      toft_apart_add(a, b, take);
      return p;
    }
  }
  void *p = toft_place_alone(a, size, align);
  if (p != NULL) {
    a->aside = a->newest;
    a->aside->of.payload = NULL; /* may come to hold several: not one to give back with its first */
    toft_note_peak(a, a->live);
  }
  return p;
}

/* The whole rule: a request that passed toft_check_request, in an arena that is not busy. NULL: nothing changed. */
static void *toft_place(toft_state *a, size_t size, size_t align) {
  if (a->state & TOFT_IS_CHECKED) return toft_place_checked(a, size, align);
  if (a->state & TOFT_CLAIMED) return toft_place_aside(a, size, align);
  if (toft_fits_here(a, size, align)) return toft_place_here(a, size, align);
  if (!toft_affords(a, TOFT_ROUND8(size))) return NULL;
  if (toft_extend_here(a, size, align)) return toft_place_here(a, size, align);
  return toft_place_further(a, size, align);
}

#endif
