/* The size classes of a recycler: spans, the freed pieces that a class holds, grants of new memory.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_CLASSES_C
#define TOFT_RECYCLER_RECYCLER_CLASSES_C

#include "recycler_blocks.c"

/* Empties the span of a class that is in use. No allocation starts or ends at this address. */
static void toft_recycler_span_clear(toft_recycler *r, toft_recycler_span *s) {
  s->cursor = s->limit = (unsigned char *)(void *)r;
}

/* Every call takes the slow path. */
static void toft_recycler_span_disable(toft_recycler *r, toft_recycler_span *s) {
  s->limit = (unsigned char *)(void *)r;
  s->cursor = s->limit + 8;
}

static size_t toft_recycler_span_bytes(const toft_recycler_span *s) { return (size_t)(s->limit - s->cursor); }

/* Bytes of each object of a class. */
static size_t toft_recycler_class_bytes(size_t k) {
  size_t shift = k < 16 ? 3 : 2 + k / 8;
  return (k - 8 * (shift - 3) + 1) << shift;
}

static size_t toft_recycler_class_index(size_t bytes) {
  size_t k = TOFT_RECYCLER_SHARED, class_bytes;
  (void)toft_recycler_classify(bytes, &k, &class_bytes);
  return k;
}

static int toft_recycler_in_use(const toft_recycler *r, size_t k) { return (r->active >> k & 1) != 0; }

/* Returns a class, which is in use from now on. With a count only the shared one is used. */
static toft_recycler_class *toft_recycler_class_of(toft_recycler *r, size_t k) {
  toft_recycler_class *c = &r->classes[k];
  if (toft_recycler_in_use(r, k)) return c;
  r->active |= (uint64_t)1 << k;
  c->range.block = NULL;
  c->sparse.first = c->sparse.last = NULL;
  c->held = c->rests = NULL;
  c->held_count = c->rest_count = c->granted = 0;
  c->own = 0;
  c->range.cursor = c->range.limit = (unsigned char *)(void *)r;
  c->range.sweep = TOFT_RECYCLER_NONE;
  if (k < TOFT_RECYCLER_CLASSES) toft_recycler_span_clear(r, &r->spans[k]);
  return c;
}

/* Passes a span to its block. */
static void toft_recycler_span_drop(toft_recycler *r, toft_recycler_span *s) {
  unsigned char *p = s->cursor;
  size_t bytes = toft_recycler_span_bytes(s);
  if (bytes == 0) return;
  toft_recycler_span_clear(r, s);
  toft_recycler_drop(r, p, bytes);
}

static void *toft_recycler_span_alloc(toft_recycler *r, toft_recycler_span *s, size_t bytes, size_t align) {
  unsigned char *p = s->cursor, *q = toft_recycler_fit(p, toft_recycler_span_bytes(s), bytes, align);
  if (q == NULL) return NULL;
  s->cursor = q + bytes;
  if (q != p) toft_recycler_drop(r, p, (size_t)(q - p));
  return q;
}

/* The address that a held piece or span starts with. */
static unsigned char *toft_recycler_link(const unsigned char *p) {
  unsigned char *next;
  memcpy(&next, p, sizeof next);
  return next;
}

/* Removes the newest held piece. */
static unsigned char *toft_recycler_held_take(toft_recycler_class *c) {
  unsigned char *p = c->held;
  c->held = toft_recycler_link(p);
  c->held_count--;
  return p;
}

static void toft_recycler_rest_push(toft_recycler_class *c, const toft_recycler_span *s) {
  memcpy(s->cursor, &c->rests, sizeof c->rests);
  memcpy(s->cursor + sizeof c->rests, &s->limit, sizeof s->limit);
  c->rests = s->cursor;
  c->rest_count++;
}

/* Removes the newest of the longer spans. */
static toft_recycler_span toft_recycler_rest_take(toft_recycler_class *c) {
  toft_recycler_span s;
  s.cursor = c->rests;
  c->rests = toft_recycler_link(s.cursor);
  s.limit = toft_recycler_link(s.cursor + sizeof s.cursor);
  c->rest_count--;
  return s;
}

/* Passes a span of a class back to its block. */
static void toft_recycler_return_span(toft_recycler *r, toft_recycler_class *c, toft_recycler_span *s) {
  c->granted -= (uint32_t)toft_min(c->granted, toft_recycler_span_bytes(s));
  toft_recycler_span_drop(r, s);
}

static void toft_recycler_flush(toft_recycler *r) {
  for (size_t k = 0; k < TOFT_RECYCLER_CLASSES; k++) {
    toft_recycler_class *c = &r->classes[k];
    if (!toft_recycler_in_use(r, k)) continue;
    toft_recycler_return_span(r, c, &r->spans[k]);
    while (c->rest_count != 0) {
      toft_recycler_span rest = toft_recycler_rest_take(c);
      toft_recycler_return_span(r, c, &rest);
    }
    while (c->held_count != 0) toft_recycler_drop(r, toft_recycler_held_take(c), toft_recycler_class_bytes(k));
  }
}

/* The block of p, which has `bytes` bytes; NULL: p is a large object. */
static toft_recycler_block *toft_recycler_owner_of(toft_recycler *r, void *p, size_t bytes) {
  if (toft_recycler_is_counted(r, p)) {
    size_t index = ((uintptr_t)p - (uintptr_t)r->counted) / r->stride;
    return (toft_recycler_block *)(void *)(r->counted + index * r->stride);
  }
  return bytes <= TOFT_RECYCLER_DIRECT ? toft_recycler_block_of(p) : NULL;
}

/* With a count all classes use one range. The one that allocated last has its unused part as span, which this returns
 * to the range. */
static void toft_recycler_reclaim(toft_recycler *r) {
  toft_recycler_range *range = &r->classes[TOFT_RECYCLER_SHARED].range;
  toft_recycler_span *s;
  if (r->borrower == TOFT_RECYCLER_CLASSES) return;
  s = &r->spans[r->borrower];
  range->cursor = s->cursor;
  range->limit = s->limit;
  toft_recycler_span_disable(r, s);
  r->borrower = TOFT_RECYCLER_CLASSES;
}

/* Allocates from the blocks that all classes share. */
static void *toft_recycler_shared_alloc(toft_recycler *r, size_t size, size_t align) {
  (void)toft_recycler_class_of(r, TOFT_RECYCLER_SHARED);
  return toft_recycler_fill(r, TOFT_RECYCLER_SHARED, size, align);
}

/* Allocates memory for a class, and more of it as its span. Precondition: the span is empty. A class with blocks of its
 * own also uses what is free in blocks that it filled together with others. */
static void *toft_recycler_grant(toft_recycler *r, size_t k, size_t bytes, size_t align) {
  toft_recycler_class *c = &r->classes[k];
  int own = c->own |= c->granted >= TOFT_RECYCLER_OWN_MIN;
  size_t room, more = toft_max(TOFT_RECYCLER_GRANT_MIN, toft_min(c->granted / 8, TOFT_RECYCLER_GRANT_MAX));
  size_t from = own ? k : TOFT_RECYCLER_SHARED;
  toft_recycler_range *range;
  void *p = own ? toft_recycler_refill(r, k, bytes, align) : toft_recycler_shared_alloc(r, bytes, align);
  if (p == NULL && own && (p = toft_recycler_from_sparse(r, TOFT_RECYCLER_SHARED, bytes, align)) != NULL)
    from = TOFT_RECYCLER_SHARED;
  if (p == NULL && own) p = toft_recycler_fill_new(r, from, bytes, align);
  if (p == NULL) return NULL;
  range = &r->classes[from].range;
  room = (size_t)(range->limit - range->cursor);
  more = own ? room : toft_min(more, room) / bytes * bytes;
  r->spans[k].cursor = range->cursor;
  r->spans[k].limit = range->cursor += more;
  if (!own) c->granted += (uint32_t)(bytes + more);
  return p;
}

/* Takes the next hole of the block that a class fills, unless longer spans are left. */
static TOFT_NOINLINE void *toft_recycler_class_next_hole(toft_recycler *r, size_t k, size_t bytes) {
  toft_recycler_range *range = &r->classes[k].range;
  unsigned char *p;
  if (range->sweep == TOFT_RECYCLER_NONE || r->classes[k].rest_count != 0) return NULL;
  if (!toft_recycler_fill_holes(range, bytes, 8)) return NULL;
  p = range->cursor;
  r->spans[k].cursor = p + bytes;
  r->spans[k].limit = range->cursor = range->limit;
  return p;
}

/* Takes a held piece or the next hole. NULL: neither is left. Precondition: the span is empty. */
static void *toft_recycler_class_reuse(toft_recycler *r, size_t k, size_t bytes) {
  toft_recycler_class *c = &r->classes[k];
  return c->held_count != 0 ? toft_recycler_held_take(c) : toft_recycler_class_next_hole(r, k, bytes);
}

/* The slow path of a class, when its span does not serve a request. */
static void *toft_recycler_class_alloc(toft_recycler *r, size_t k, size_t bytes, size_t align) {
  toft_recycler_class *c = toft_recycler_class_of(r, k);
  toft_recycler_span *s = &r->spans[k];
  void *p = toft_recycler_span_alloc(r, s, bytes, align);
  if (p != NULL) return p;
  if (align > 16 && bytes % align != 0) { /* the next objects of a span would not be aligned */
    if (c->held_count != 0 && ((uintptr_t)c->held & (align - 1)) == 0) return toft_recycler_held_take(c);
    return toft_recycler_shared_alloc(r, bytes, align);
  }
  toft_recycler_return_span(r, c, s);
  while (c->held_count != 0) {
    p = toft_recycler_held_take(c);
    if (((uintptr_t)p & (align - 1)) == 0) return p;
    toft_recycler_drop(r, p, bytes);
  }
  while (c->rest_count != 0) {
    *s = toft_recycler_rest_take(c);
    if ((p = toft_recycler_span_alloc(r, s, bytes, align)) != NULL) return p;
    toft_recycler_return_span(r, c, s);
  }
  return toft_recycler_grant(r, k, bytes, align);
}

static void toft_recycler_held_push(toft_recycler_class *c, unsigned char *p) {
  memcpy(p, &c->held, sizeof c->held);
  c->held = p;
  c->held_count++;
}

/* The piece of a class that holds as many as it may replaces the span, which the next frees of a container that is
 * cleared extend. */
static TOFT_NOINLINE void toft_recycler_class_free_span(toft_recycler *r, size_t k, unsigned char *p, size_t bytes) {
  toft_recycler_class *c = toft_recycler_class_of(r, k);
  toft_recycler_span *s = &r->spans[k];
  size_t span = toft_recycler_span_bytes(s);
  if (c->held_count == 0) { /* it was not in use */
    toft_recycler_held_push(c, p);
    return;
  }
  if (span > bytes && span >= 2 * sizeof(void *) && c->rest_count < TOFT_RECYCLER_RESTS_MAX) {
    toft_recycler_rest_push(c, s);
  } else {
    toft_recycler_return_span(r, c, s);
  }
  s->cursor = p;
  s->limit = p + bytes;
}

/* The slow path of a free. The class holds the piece if it holds few, whether its span is empty or not: a branch on
 * that would be mispredicted half of the time where objects are replaced at random. */
static void toft_recycler_class_free(toft_recycler *r, size_t k, unsigned char *p, size_t bytes) {
  toft_recycler_class *c = &r->classes[k];
  if (toft_recycler_in_use(r, k) && c->held_count < TOFT_RECYCLER_HELD_MAX &&
      c->held_count * bytes < TOFT_RECYCLER_HELD_BYTES_MAX)
    toft_recycler_held_push(c, p);
  else
    toft_recycler_class_free_span(r, k, p, bytes);
}

/* Frees a piece of a class. */
static void toft_recycler_class_put(toft_recycler *r, size_t k, unsigned char *p, size_t bytes) {
  toft_recycler_span *s = &r->spans[k];
  if (p + bytes == s->cursor)
    s->cursor = p;
  else if (p == s->limit)
    s->limit = p + bytes;
  else
    toft_recycler_class_free(r, k, p, bytes);
}

#endif
