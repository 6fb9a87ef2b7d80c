/* The calls of toft/recycler.h: the slow paths of allocation and deallocation, resize, init and release.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_C
#define TOFT_RECYCLER_RECYCLER_C

#include "../core/hooks.h"
#include "recycler_stats.c"

#define TOFT_SHARDS_MAX 256
#define TOFT_RECYCLER_COUNTED_MAX ((size_t)1 << 30) /* size of an object of options.count */

/* ---- slow paths of the API ---- */

/* Whether objects of this size and alignment lie in slabs; `size` is a multiple of the alignment then. */
static int toft_recycler_is_small(size_t size, size_t align) {
  return align <= TOFT_RECYCLER_ALIGN_MAX && size <= (align <= 16 ? TOFT_RECYCLER_DIRECT : TOFT_RECYCLER_CLASS_MAX);
}

void *toft_recycler_alloc_slow_at(toft_recycler *r, size_t size, size_t align, uintptr_t site) {
  size = toft_max(size, 1);
  align = toft_max(align, 8);
  if ((align & (align - 1)) != 0 || size > TOFT_MAX_REQUEST / 2 || align > TOFT_MAX_REQUEST / 2) return NULL;
  TOFT_VERIFY(recycler, r);
  if (TOFT_UNLIKELY(r->checked)) return toft_recycler_alloc_checked(r, size, align, site);
  if (toft_recycler_is_small(toft_round(size, toft_min(align, TOFT_RECYCLER_ALIGN_MAX)), align))
    return toft_recycler_class_alloc(r, toft_recycler_class_index(toft_round(size, align)));
  return toft_recycler_large_alloc(r, toft_round(size, 8), align);
}

void *toft_recycler_alloc_slow(toft_recycler *r, size_t size, size_t align) {
  return toft_recycler_alloc_slow_at(r, size, align, TOFT_CALLER());
}

/* Bytes that may be used at p. Precondition: r is not checked. */
static size_t toft_recycler_room(void *p) {
  return toft_recycler_is_large(p) ? toft_recycler_large_room(p) : toft_recycler_slab_of(p)->bytes;
}

static void toft_recycler_free_unchecked(toft_recycler *r, void *p) {
  if (r->clears) memset(p, 0, toft_recycler_room(p));
  if (toft_recycler_is_large(p))
    toft_recycler_large_free(r, p);
  else
    toft_recycler_push(r, p);
}

void toft_recycler_free_slow_at(toft_recycler *r, void *p, size_t size, uintptr_t site) {
  if (p == NULL) return;
  TOFT_VERIFY(recycler, r);
  if (TOFT_UNLIKELY(r->checked))
    toft_recycler_free_checked(r, p, toft_max(size, 1), site);
  else
    toft_recycler_free_unchecked(r, p);
}

void toft_recycler_free_slow(toft_recycler *r, void *p, size_t size) {
  toft_recycler_free_slow_at(r, p, size, TOFT_CALLER());
}

/* ---- resize ---- */

/* Whether an object of `now` bytes stays in a place of `has`: it leaves when more than half would be free. */
static int toft_recycler_stays(size_t has, size_t now) { return now <= has && now >= has / 2; }

/* Resizes in place; 0: not possible. */
static int toft_recycler_resize_in_place(toft_recycler *r, void *p, size_t now) {
  if (toft_recycler_is_large(p)) return toft_recycler_large_resize(r, p, now);
  return toft_recycler_stays(toft_recycler_slab_of(p)->bytes, now);
}

static void *toft_recycler_resize_at(toft_recycler *r, void *p, size_t old_size, size_t new_size, size_t align,
                                     uintptr_t site) {
  void *q;
  TOFT_VERIFY(recycler, r);
  align = TOFT_OPS_ALIGN(align);
  if (p == NULL) return toft_recycler_alloc_slow_at(r, new_size, align, site);
  if ((align & (align - 1)) != 0 || new_size > TOFT_MAX_REQUEST / 2 || align > TOFT_MAX_REQUEST / 2) return NULL;
  if (TOFT_UNLIKELY(r->checked))
    return toft_recycler_resize_checked(r, p, toft_max(old_size, 1), toft_max(new_size, 1), toft_max(align, 8), site);
  int aligned = ((uintptr_t)p & (align - 1)) == 0;
  if (r->clears && aligned && new_size < toft_recycler_room(p))
    memset((unsigned char *)p + new_size, 0, toft_recycler_room(p) - new_size);
  if (aligned && toft_recycler_resize_in_place(r, p, toft_round(toft_max(new_size, 1), 8))) return p;
  q = toft_recycler_alloc(r, new_size, align);
  if (q == NULL) return aligned && new_size <= toft_recycler_room(p) ? p : NULL;
  memcpy(q, p, toft_min(old_size, new_size));
  toft_recycler_free(r, p, old_size);
  return q;
}

void *toft_recycler_resize(toft_recycler *r, void *p, size_t old_size, size_t new_size, size_t align) {
  return toft_recycler_resize_at(r, p, old_size, new_size, align, TOFT_CALLER());
}

/* ---- options.count ---- */

/* Objects of a class in a unit. */
static size_t toft_recycler_unit_objects(size_t bytes) {
  size_t n = 0, at = bytes % 128 == 0 ? 64 : bytes & (0 - bytes);
  for (; at + bytes <= TOFT_RECYCLER_UNIT - TOFT_RECYCLER_ZONE; at += bytes) n += at % TOFT_RECYCLER_PAGE != 0;
  return n;
}

/* Takes the memory of options.count. 0: the source refuses; all of it is returned. */
static int toft_recycler_take_counted(toft_recycler *r) {
  size_t bytes = toft_round(r->block_size, 8), unit = TOFT_RECYCLER_UNIT - TOFT_RECYCLER_ZONE - 128, units;
  if (toft_recycler_is_small(bytes, 8))
    units =
        (r->count - 1) / toft_recycler_unit_objects(toft_recycler_class_bytes(toft_recycler_class_index(bytes))) + 1;
  else
    units = (r->count * bytes - 1) / unit + 1;
  while (units != 0) {
    size_t some = toft_min(units, TOFT_RECYCLER_UNITS - 2);
    size_t size = (some + 2) * TOFT_RECYCLER_UNIT - TOFT_RECYCLER_PAGE; /* any address */
    unsigned char *base = (unsigned char *)toft_recycler_take(r, size);
    if (base == NULL && toft_budget_ask(r->source, size)) base = (unsigned char *)toft_recycler_take(r, size);
    if (base == NULL) {
      toft_recycler_release(r);
      return 0;
    }
    toft_recycler_segment_init(r, base, size, 0, 1);
    units -= some;
  }
  return 1;
}

/* ---- init and release ---- */

/* Makes the memory that is free zero from now on: every free takes the slow path. Precondition: r has no memory. */
static void toft_recycler_set_clearing(toft_recycler *r) {
  r->clears = 1;
  r->object_mask = 0;
}

/* Eight at once, which takes a third of the time of a loop. */
static void toft_recycler_set_no_slabs(toft_recycler *r) {
  toft_recycler_slab *none = &toft_recycler_no_slab, *eight[8] = {none, none, none, none, none, none, none, none};
  for (size_t k = 0; k < TOFT_RECYCLER_CLASSES; k += 8)
    memcpy(&r->current[toft_min(k, TOFT_RECYCLER_CLASSES - 8)], eight, sizeof eight);
}

/* Sets the state of a recycler without memory. */
static void toft_recycler_clear(toft_recycler *r, int checked) {
  struct toft_source *source = r->source;
  size_t count = r->count, block_size = r->block_size, peak = r->peak;
  uint64_t source_calls = r->source_calls;
  uint8_t shard = r->shard, shares_limit = r->shares_limit, on_heap = r->on_heap, is_aligned = r->is_aligned;
  for (uint64_t k = r->classes; k != 0; k &= k - 1) r->current[toft_lowest_bit(k)] = &toft_recycler_no_slab;
  if (r->have_run != 0) toft_recycler_zero(r->with_run, sizeof r->with_run);
  toft_recycler_zero(&r->classes, sizeof *r - offsetof(toft_recycler, classes));
  r->object_mask = checked ? 0 : TOFT_RECYCLER_PAGE - 1;
  r->checked = (uint8_t)checked;
  r->source = source;
  r->count = count;
  r->block_size = block_size;
  r->shard = shard;
  r->shares_limit = shares_limit;
  r->on_heap = on_heap;
  r->is_aligned = is_aligned;
  r->peak = peak;
  r->source_calls = source_calls;
}

int toft_recycler_check(const toft_recycler_options *options) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  if (options->size < offsetof(toft_recycler_options, shards) || options->size > sizeof o) return TOFT_EARG;
  memcpy(&o, options, options->size);
  if ((o.count == 0) != (o.block_size == 0) || o.block_size > TOFT_RECYCLER_COUNTED_MAX) return TOFT_EARG;
  if (o.count > TOFT_MAX_REQUEST / 8 / toft_max(o.block_size, 64)) return TOFT_EARG;
  return o.shards > TOFT_SHARDS_MAX || (o.count != 0 && o.shards > 1) ? TOFT_EARG : TOFT_OK;
}

/* Whether kept memory would be refused to other objects, as on a budget; or a restore would bring back kept memory,
 * so that the account of the process must not count it. */
static uint8_t toft_recycler_shares(toft_source *source) {
  return toft_is_limited(source) || toft_region_under(source) != NULL;
}

static int toft_recycler_init_as(toft_recycler *r, const toft_recycler_options *options, int checked) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  int code = options == NULL ? TOFT_OK : toft_recycler_check(options);
  if (options != NULL && code == TOFT_OK) memcpy(&o, options, options->size);
  r->source = o.source != NULL ? o.source : &toft_heap_source;
  r->count = o.count;
  r->block_size = o.block_size;
  r->shard = 0;
  r->clears = 0;
  r->shares_limit = o.source != NULL && toft_recycler_shares(r->source);
  r->on_heap = o.source == NULL || toft_limits_innermost(r->source) == &toft_heap_source;
  r->is_aligned = 0;
  r->peak = 0;
  r->source_calls = 0;
  toft_recycler_set_no_slabs(r);
  r->classes = 0;
  r->have_run = UINT32_MAX;
  toft_recycler_clear(r, checked);
  if (code != TOFT_OK || o.count == 0) return code;
  if (checked) return toft_recycler_checks_for(r) != NULL ? TOFT_OK : TOFT_ENOMEM; /* later calls need no more */
  return toft_recycler_take_counted(r) ? TOFT_OK : TOFT_ENOMEM;
}

/* Whether a recycler on that source is checked. In a region none is: the records would lie elsewhere. */
static int toft_recycler_is_checked_on(toft_source *source) {
  return (toft_process_switches() & TOFT_PROCESS_CHECKS) != 0 && toft_region_under(source) == NULL;
}

static void *toft_refusing_source_take(toft_source *self, size_t size) {
  (void)self, (void)size;
  return NULL;
}
static toft_source toft_refusing_source = {toft_refusing_source_take, NULL, NULL};

int toft_recycler_init_layout(toft_recycler *r, const toft_recycler_options *options, size_t layout) {
  toft_recycler_options refused = TOFT_RECYCLER_OPTIONS;
  if (layout != (TOFT_RECYCLER_LAYOUT << 16 | sizeof *r)) return TOFT_EARG;
  toft_source *source = options != NULL && toft_recycler_check(options) == TOFT_OK ? options->source : NULL;
  if (!toft_region_refuses(source, r)) return toft_recycler_init_as(r, options, toft_recycler_is_checked_on(source));
  refused.source = &toft_refusing_source; /* so that each allocation fails */
  (void)toft_recycler_init_as(r, &refused, 0);
  return TOFT_EARG;
}

static void toft_recycler_release_at(toft_recycler *r, uintptr_t site) {
  if (TOFT_UNLIKELY(r->checked)) {
    toft_recycler_release_checked(r, site);
    return;
  }
  TOFT_VERIFY(recycler, r);
  if (r->reserved == 0) return;
  toft_recycler_leave_slab(r);
  while (r->segments != NULL) {
    toft_recycler_segment *s = r->segments;
    r->segments = s->next;
    toft_recycler_segment_end(r, s);
  }
  toft_recycler_large_release(r);
  toft_recycler_clear(r, 0);
}

void toft_recycler_release(toft_recycler *r) { toft_recycler_release_at(r, TOFT_CALLER()); }

#endif
