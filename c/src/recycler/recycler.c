/* The calls of toft/recycler.h: the slow paths of allocation and deallocation, resize, init and release.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_C
#define TOFT_RECYCLER_RECYCLER_C

#include "recycler_classes.c"

/* ---- slow paths of the API ---- */

/* With a count: the class that allocated last borrows the unused part of the range. */
static void *toft_recycler_counted_alloc(toft_recycler *r, size_t size, size_t align) {
  toft_recycler_range *range = &toft_recycler_class_of(r, TOFT_RECYCLER_SHARED)->range;
  size_t k = align <= 8 ? toft_recycler_class_index(size) : TOFT_RECYCLER_SHARED;
  void *p;
  toft_recycler_reclaim(r);
  p = toft_recycler_fill(r, TOFT_RECYCLER_SHARED, size, align);
  if (p == NULL || k == TOFT_RECYCLER_SHARED) return p;
  r->borrower = k;
  r->spans[k].cursor = range->cursor;
  r->spans[k].limit = range->limit;
  range->cursor = range->limit;
  return p;
}

/* Bytes of an object: those of its class, or a multiple of 8. */
static size_t toft_recycler_object_bytes(size_t size) {
  size_t k, bytes;
  size = toft_max(size, 1);
  return toft_recycler_classify(size, &k, &bytes) ? bytes : toft_round(size, 8);
}

static TOFT_NOINLINE void *toft_recycler_alloc_any(toft_recycler *r, size_t size, size_t align, uintptr_t site) {
  void *p = NULL;
  size_t bytes;
  size = size == 0 ? 1 : size;
  align = toft_max(align, 8);
  if ((align & (align - 1)) != 0 || size > TOFT_MAX_REQUEST / 2 || align > TOFT_MAX_REQUEST / 2) return NULL;
  if (TOFT_UNLIKELY(r->checked)) return toft_recycler_alloc_checked(r, size, align, site);
  bytes = toft_recycler_object_bytes(size);
  if (r->count != 0) {
    if (bytes <= TOFT_RECYCLER_DIRECT || bytes <= r->stride - 64) p = toft_recycler_counted_alloc(r, bytes, align);
  } else if (bytes <= TOFT_RECYCLER_CLASS_MAX) {
    p = toft_recycler_class_alloc(r, toft_recycler_class_index(bytes), bytes, align);
  } else if (bytes <= TOFT_RECYCLER_DIRECT) {
    p = toft_recycler_medium_alloc(r, bytes, align);
  }
  return p != NULL || bytes <= TOFT_RECYCLER_DIRECT ? p : toft_recycler_large_alloc(r, bytes, align);
}

void *toft_recycler_alloc_slow_at(toft_recycler *r, size_t size, size_t align, uintptr_t site) {
  size_t k, bytes;
  if (align <= 8 && toft_recycler_classify(size, &k, &bytes) && toft_recycler_in_use(r, k) &&
      r->spans[k].cursor == r->spans[k].limit) {
    void *p = toft_recycler_class_reuse(r, k, bytes);
    if (p != NULL) return p;
  }
  return toft_recycler_alloc_any(r, size, align, site);
}

void *toft_recycler_alloc_slow(toft_recycler *r, size_t size, size_t align) {
  return toft_recycler_alloc_slow_at(r, size, align, TOFT_CALLER());
}

static TOFT_NOINLINE void toft_recycler_free_any(toft_recycler *r, void *p, size_t size, uintptr_t site) {
  size_t bytes;
  toft_recycler_block *b;
  if (p == NULL) return;
  size = toft_max(size, 1);
  if (TOFT_UNLIKELY(r->checked)) {
    toft_recycler_free_checked(r, p, size, site);
    return;
  }
  bytes = toft_recycler_object_bytes(size);
  if (r->count == 0 && bytes <= TOFT_RECYCLER_CLASS_MAX) {
    toft_recycler_class_free(r, toft_recycler_class_index(bytes), (unsigned char *)p, bytes);
    return;
  }
  if (r->count == 0 && bytes <= TOFT_RECYCLER_DIRECT) {
    toft_recycler_medium_free(r, p, bytes);
    return;
  }
  b = toft_recycler_owner_of(r, p, bytes);
  if (b == NULL)
    toft_recycler_large_free(r, p, bytes);
  else
    toft_recycler_free_in_block(r, b, p, bytes);
}

void toft_recycler_free_slow_at(toft_recycler *r, void *p, size_t size, uintptr_t site) {
  size_t k, bytes;
  if (p != NULL && toft_recycler_classify(size, &k, &bytes) && toft_recycler_in_use(r, k))
    toft_recycler_class_free(r, k, (unsigned char *)p, bytes);
  else
    toft_recycler_free_any(r, p, size, site);
}

void toft_recycler_free_slow(toft_recycler *r, void *p, size_t size) {
  toft_recycler_free_slow_at(r, p, size, TOFT_CALLER());
}

/* The cursor and limit that end with p, of `bytes` bytes; NULL: p is not the newest allocation there. */
static toft_recycler_span *toft_recycler_span_after(toft_recycler *r, const unsigned char *end, size_t bytes) {
  size_t k = toft_recycler_class_index(bytes);
  return k < TOFT_RECYCLER_CLASSES && r->spans[k].cursor == end ? &r->spans[k] : NULL;
}

/* Extends a span by the memory after it, if that is the unused part of the shared range. */
static void toft_recycler_span_extend(toft_recycler *r, toft_recycler_span *s, size_t bytes) {
  toft_recycler_range *shared = &r->classes[TOFT_RECYCLER_SHARED].range;
  size_t has = toft_recycler_span_bytes(s);
  if (has >= bytes || s->limit != shared->cursor || bytes - has > (size_t)(shared->limit - shared->cursor)) return;
  s->limit = shared->cursor += bytes - has;
}

/* Resizes in place; 0: not possible. */
static int toft_recycler_resize_in_place(toft_recycler *r, void *p, size_t was, size_t now) {
  toft_recycler_block *b = toft_recycler_owner_of(r, p, was);
  unsigned char *q = (unsigned char *)p;
  toft_recycler_span *s;
  if (b == NULL) return toft_recycler_large_resize(r, p, was, now);
  if (r->count == 0 && was > TOFT_RECYCLER_CLASS_MAX)
    return now > TOFT_RECYCLER_CLASS_MAX && toft_recycler_medium_resize(r, p, was, now);
  if (r->count == 0 && now > TOFT_RECYCLER_CLASS_MAX) return 0;
  s = toft_recycler_span_after(r, q + was, was);
  if (s != NULL) {
    if (now > was) toft_recycler_span_extend(r, s, now - was);
    if (now > was && toft_recycler_span_bytes(s) < now - was) return 0;
    s->cursor = q + now;
    return 1;
  }
  if (now < was) toft_recycler_free_in_block(r, b, q + now, was - now);
  return now <= was;
}

static void *toft_recycler_resize_at(toft_recycler *r, void *p, size_t old_size, size_t new_size, size_t align,
                                     uintptr_t site) {
  void *q;
  align = TOFT_OPS_ALIGN(align);
  if (p == NULL) return toft_recycler_alloc(r, new_size, align);
  if ((align & (align - 1)) != 0 || new_size > TOFT_MAX_REQUEST / 2 || align > TOFT_MAX_REQUEST / 2) return NULL;
  if (TOFT_UNLIKELY(r->checked))
    return toft_recycler_resize_checked(r, p, toft_max(old_size, 1), toft_max(new_size, 1), toft_max(align, 8), site);
  if (((uintptr_t)p & (toft_max(align, 1) - 1)) == 0 &&
      toft_recycler_resize_in_place(r, p, toft_recycler_object_bytes(old_size), toft_recycler_object_bytes(new_size)))
    return p;
  q = toft_recycler_alloc(r, new_size, align);
  if (q == NULL) return NULL;
  memcpy(q, p, toft_min(old_size, new_size));
  toft_recycler_free(r, p, old_size);
  return q;
}

void *toft_recycler_resize(toft_recycler *r, void *p, size_t old_size, size_t new_size, size_t align) {
  return toft_recycler_resize_at(r, p, old_size, new_size, align, TOFT_CALLER());
}

/* ---- init and release ---- */

/* Sets the state of a recycler without memory, whose spans are disabled. A class is initialised when it is used first,
 * since all of them would take longer than ten allocations. */
static void toft_recycler_clear(toft_recycler *r) {
  r->active = 0;
  r->medium_runs = 0;
  r->empty.first = r->empty.last = NULL;
  r->empty_counted.first = r->empty_counted.last = NULL;
  r->segments = NULL;
  r->fresh = r->fresh_end = NULL;
  r->regions = NULL;
  r->region_used = 0;
  r->dedicated = NULL;
  r->dedicated_bytes = r->dedicated_peak = r->spare_bytes = r->spare_count = 0;
  r->segment_bytes = TOFT_RECYCLER_UNIT;
  r->reserved = r->refused = 0;
  r->live = r->cut_blocks = r->cut_bytes = r->empty_blocks = r->empty_bytes = 0;
  r->dedicated_count = r->dedicated_used = r->dedicated_room = 0;
  r->region_count = r->region_idle = r->region_objects = 0;
  r->counted = r->counted_fresh = NULL;
  r->borrower = TOFT_RECYCLER_CLASSES;
  r->checks = NULL;
}

static size_t toft_recycler_stride(size_t block_size) { return 64 + toft_round(block_size, 64); }

int toft_recycler_check(const toft_recycler_options *options) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  if (options->size < offsetof(toft_recycler_options, shards) || options->size > sizeof o) return TOFT_EARG;
  memcpy(&o, options, options->size);
  if ((o.count == 0) != (o.block_size == 0) || o.block_size > TOFT_RECYCLER_COUNTED_MAX) return TOFT_EARG;
  if (o.count > TOFT_MAX_REQUEST / 2 / toft_recycler_stride(o.block_size)) return TOFT_EARG;
  return o.shards > TOFT_SHARDS_MAX || (o.count != 0 && o.shards > 1) ? TOFT_EARG : TOFT_OK;
}

static int toft_recycler_init_unchecked(toft_recycler *r, const toft_recycler_options *options) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  for (size_t k = 0; k < 4; k++) toft_recycler_span_disable(r, &r->spans[k]);
  for (size_t k = 4; k < TOFT_RECYCLER_CLASSES; k += 4) /* by vectors */
    memcpy(&r->spans[k], r->spans, 4 * sizeof *r->spans);
  toft_recycler_clear(r);
  r->shard = 0;
  r->checked = 0;
  r->peak = 0;
  r->phase = 0;
  r->source = &toft_heap_source;
  r->count = r->stride = 0;
  r->source_calls = 0;
  if (options == NULL) return TOFT_OK;
  if (toft_recycler_check(options) != TOFT_OK) return TOFT_EARG;
  memcpy(&o, options, options->size);
  if (o.source != NULL) r->source = o.source;
  if (o.count == 0) return TOFT_OK;
  r->stride = toft_recycler_stride(o.block_size);
  r->count = o.count;
  return toft_recycler_counted_take(r) ? TOFT_OK : TOFT_ENOMEM;
}

/* The checks are created by the first call, so that this takes memory for a count only. */
static int toft_recycler_init_checked(toft_recycler *r, const toft_recycler_options *options) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  (void)toft_recycler_init_unchecked(r, NULL);
  if (options != NULL && toft_recycler_check(options) != TOFT_OK) return TOFT_EARG;
  if (options != NULL) memcpy(&o, options, options->size);
  if (o.source != NULL) r->source = o.source;
  r->checked = 1;
  r->count = o.count;
  r->stride = o.block_size;
  return o.count == 0 || toft_recycler_checks_for(r) != NULL ? TOFT_OK : TOFT_ENOMEM;
}

int toft_recycler_init(toft_recycler *r, const toft_recycler_options *options) {
  return TOFT_UNLIKELY(toft_process_switches() & TOFT_PROCESS_CHECKS) ? toft_recycler_init_checked(r, options)
                                                                      : toft_recycler_init_unchecked(r, options);
}

static void toft_recycler_release_at(toft_recycler *r, uintptr_t site) {
  if (TOFT_UNLIKELY(r->checked)) {
    toft_recycler_release_checked(r, site);
    return;
  }
  while (r->segments != NULL) {
    toft_recycler_segment s = *r->segments;
    r->segments = s.next;
    toft_recycler_put(r, s.base, s.size);
  }
  toft_recycler_large_release(r);
  if (r->counted != NULL) toft_recycler_put(r, r->counted, toft_recycler_counted_bytes(r));
  if (r->borrower != TOFT_RECYCLER_CLASSES) toft_recycler_span_disable(r, &r->spans[r->borrower]);
  for (; (r->active & TOFT_RECYCLER_SIZED) != 0; r->active &= r->active - 1)
    toft_recycler_span_disable(r, &r->spans[toft_lowest_bit(r->active)]);
  toft_recycler_clear(r);
}

void toft_recycler_release(toft_recycler *r) { toft_recycler_release_at(r, TOFT_CALLER()); }

#endif
