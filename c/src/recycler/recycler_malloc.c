/* malloc on a recycler. The word before an object stores the bytes of its piece, which starts 8 bytes before it, and
 * flags. Pieces have multiples of 16 bytes, and all blocks start 8 bytes after a multiple of 16, so that objects are
 * aligned. Large pieces, and all pieces of a checked recycler, are aligned themselves and start 16 bytes before.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_MALLOC_C
#define TOFT_RECYCLER_RECYCLER_MALLOC_C

#include "../core/instrument.h"
#include "../core/policy.c"
#include "../platform/thread_local.h"
#include "recycler.c"
#include "recycler_stats.c"
#include "toft/malloc.h"

#define TOFT_MALLOC_WIDE ((size_t)1) /* the piece starts 16 bytes before the object */
#define TOFT_MALLOC_OFFSET \
  ((size_t)2) /* the word before stores the distance to the object in front of the aligned one */
#define TOFT_MALLOC_FLAGS ((size_t)15)
#define TOFT_MALLOC_SMALL_MAX (TOFT_RECYCLER_DIRECT - 16) /* a block of which 8 bytes are skipped has room for these */

typedef struct toft_piece {
  unsigned char *start;
  size_t bytes, front; /* front: distance from the start to the object */
} toft_piece;

TOFT_PER_THREAD toft_malloc *toft_current_malloc_heap;
#define toft_current_malloc_heap TOFT_OWN(toft_current_malloc_heap)

static size_t toft_malloc_word(const void *p) {
  size_t word;
  memcpy(&word, (const unsigned char *)p - sizeof word, sizeof word);
  return word;
}

static void toft_malloc_set_word(void *p, size_t word) { memcpy((unsigned char *)p - sizeof word, &word, sizeof word); }

static toft_piece toft_malloc_piece(void *p) {
  toft_piece piece;
  size_t word = toft_malloc_word(p);
  piece.front = word & TOFT_MALLOC_WIDE ? 16 : 8;
  piece.bytes = word & ~TOFT_MALLOC_FLAGS;
  piece.start = (unsigned char *)p - piece.front;
  return piece;
}

/* Bytes of the piece for an object. 0: too many. */
static size_t toft_malloc_bytes(const toft_recycler *r, size_t size) {
  size_t bytes;
  if (size > TOFT_MAX_REQUEST / 4) return 0;
  bytes = toft_round(size + (r->checked ? 16 : 8), 16);
  if (bytes > TOFT_MALLOC_SMALL_MAX) return toft_max(bytes + 16, TOFT_RECYCLER_DIRECT + 16);
  return toft_recycler_object_bytes(bytes);
}

static int toft_malloc_is_wide(const toft_recycler *r, size_t bytes) {
  return r->checked || bytes > TOFT_MALLOC_SMALL_MAX;
}

/* The slow path. */
static void *toft_malloc_take(toft_recycler *r, size_t bytes, uintptr_t site) {
  int wide = toft_malloc_is_wide(r, bytes);
  size_t align = wide ? 16 : 8;
  unsigned char *p;
  if (bytes == 0) return NULL;
  p = (unsigned char *)toft_recycler_alloc_slow_at(r, bytes, align, site);
  if (p == NULL) return NULL;
  p += align;
  toft_malloc_set_word(p, bytes | (wide ? TOFT_MALLOC_WIDE : 0));
  return p;
}

/* The object that was allocated, for one that toft_malloc_aligned moved within it. */
static void *toft_malloc_origin(void *p) {
  size_t word = toft_malloc_word(p);
  return word & TOFT_MALLOC_OFFSET ? (unsigned char *)p - (word & ~TOFT_MALLOC_FLAGS) : p;
}

void toft_malloc_init(toft_malloc *m, toft_source *source) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  o.source = source;
  (void)toft_recycler_init(&m->recycler, &o); /* cannot fail without a count */
  m->recycler.phase = 8;
}

void toft_malloc_release(toft_malloc *m) { toft_recycler_release_at(&m->recycler, TOFT_CALLER()); }

void toft_malloc_trim(toft_malloc *m, size_t keep) { toft_recycler_trim(&m->recycler, keep); }

toft_recycler_stats toft_malloc_get_stats(const toft_malloc *m) { return toft_recycler_get_stats(&m->recycler); }

/* The fast path: from the span of a class in use, or one of its freed pieces. NULL: the slow path is needed. */
static void *toft_malloc_bump(toft_recycler *r, size_t size) {
  size_t k, bytes;
  unsigned char *p;
  toft_recycler_span *s;
  if (size > TOFT_RECYCLER_CLASS_MAX - 8 || !toft_recycler_classify(toft_round(size + 8, 16), &k, &bytes)) return NULL;
  s = &r->spans[k];
  p = s->cursor;
  if ((ptrdiff_t)bytes <= (ptrdiff_t)((uintptr_t)s->limit - (uintptr_t)p))
    s->cursor = p + bytes;
  else if (s->limit != p || (p = (unsigned char *)toft_recycler_class_reuse(r, k, bytes)) == NULL)
    return NULL;
  toft_malloc_set_word(p + 8, bytes);
  return p + 8;
}

static void *toft_malloc_alloc_at(void *m, size_t size, uintptr_t site) {
  toft_recycler *r = &((toft_malloc *)m)->recycler;
  void *p = toft_malloc_bump(r, size);
  return TOFT_LIKELY(p != NULL) ? p : toft_malloc_take(r, toft_malloc_bytes(r, size), site);
}

static void *toft_malloc_calloc_at(void *m, size_t count, size_t size, uintptr_t site) {
  size_t bytes = toft_array_size(count, size);
  void *p = toft_malloc_alloc_at(m, bytes, site);
  if (p != NULL) memset(p, 0, bytes);
  return p;
}

static void toft_malloc_free_at(void *m, void *p, uintptr_t site) {
  toft_recycler *r = &((toft_malloc *)m)->recycler;
  toft_piece piece;
  size_t word, k, bytes;
  if (p == NULL) return;
  word = toft_malloc_word(p);
  if (TOFT_LIKELY((word & TOFT_MALLOC_FLAGS) == 0 && toft_recycler_classify(word, &k, &bytes))) { /* never checked */
    toft_recycler_class_put(r, k, (unsigned char *)p - 8, bytes);
    return;
  }
  piece = toft_malloc_piece(toft_malloc_origin(p));
  toft_recycler_free_slow_at(r, piece.start, piece.bytes, site);
}

/* Whether a piece of `has` bytes serves one of `needs`: it is kept unless more than half would be free. */
static int toft_malloc_keeps(size_t has, size_t needs) { return needs <= has && needs >= has / 2; }

static void *toft_malloc_realloc_at(void *m, void *p, size_t size, uintptr_t site) {
  toft_recycler *r = &((toft_malloc *)m)->recycler;
  size_t bytes = toft_malloc_bytes(r, size);
  toft_piece piece;
  size_t has;
  void *q;
  if (p == NULL || bytes == 0) return bytes != 0 ? toft_malloc_alloc_at(m, size, site) : NULL;
  has = toft_malloc_usable_size(m, p);
  piece = toft_malloc_piece(toft_malloc_origin(p));
  if (toft_malloc_keeps(piece.bytes, bytes) && size <= has) return p;
  if (p == toft_malloc_origin(p) && toft_malloc_is_wide(r, piece.bytes) && toft_malloc_is_wide(r, bytes)) {
    q = toft_recycler_resize_at(r, piece.start, piece.bytes, bytes, 16, site);
    if (q == NULL) return NULL;
    q = (unsigned char *)q + 16;
    toft_malloc_set_word(q, bytes | TOFT_MALLOC_WIDE);
    return q;
  }
  q = toft_malloc_alloc_at(m, size, site);
  if (q == NULL) return NULL;
  memcpy(q, p, toft_min(has, size));
  toft_malloc_free_at(m, p, site);
  return q;
}

void *toft_malloc_alloc(void *m, size_t size) { return toft_malloc_alloc_at(m, size, TOFT_CALLER()); }

void *toft_malloc_calloc(void *m, size_t count, size_t size) {
  return toft_malloc_calloc_at(m, count, size, TOFT_CALLER());
}

void *toft_malloc_realloc(void *m, void *p, size_t size) { return toft_malloc_realloc_at(m, p, size, TOFT_CALLER()); }

void toft_malloc_free(void *m, void *p) { toft_malloc_free_at(m, p, TOFT_CALLER()); }

void *toft_malloc_aligned(void *m, size_t align, size_t size) {
  unsigned char *p, *q;
  if (align == 0 || (align & (align - 1)) != 0 || align > TOFT_MAX_REQUEST / 4 || size > TOFT_MAX_REQUEST / 4)
    return NULL;
  if (align <= 16) return toft_malloc_alloc_at(m, size, TOFT_CALLER());
  p = (unsigned char *)toft_malloc_alloc_at(m, size + align, TOFT_CALLER());
  if (p == NULL) return NULL;
  q = p + ((size_t)(0 - (uintptr_t)p) & (align - 1));
  if (q != p) toft_malloc_set_word(q, (size_t)(q - p) | TOFT_MALLOC_OFFSET);
  return q;
}

size_t toft_malloc_usable_size(void *m, const void *p) {
  toft_piece piece;
  unsigned char *q = (unsigned char *)(uintptr_t)p;
  (void)m;
  if (p == NULL) return 0;
  piece = toft_malloc_piece(toft_malloc_origin(q));
  return (size_t)(piece.start + piece.bytes - q);
}

toft_malloc *toft_malloc_current(void) { return toft_current_malloc_heap; }

toft_malloc *toft_malloc_current_swap(toft_malloc *m) {
  toft_malloc *before = toft_current_malloc_heap;
  toft_current_malloc_heap = m;
  return before;
}

void *toft_malloc_current_alloc(size_t size) {
  return toft_current_malloc_heap != NULL ? toft_malloc_alloc_at(toft_current_malloc_heap, size, TOFT_CALLER()) : NULL;
}

void *toft_malloc_current_calloc(size_t count, size_t size) {
  if (toft_current_malloc_heap == NULL) return NULL;
  return toft_malloc_calloc_at(toft_current_malloc_heap, count, size, TOFT_CALLER());
}

void *toft_malloc_current_realloc(void *p, size_t size) {
  if (toft_current_malloc_heap == NULL) return NULL;
  return toft_malloc_realloc_at(toft_current_malloc_heap, p, size, TOFT_CALLER());
}

void toft_malloc_current_free(void *p) {
  if (toft_current_malloc_heap != NULL) toft_malloc_free_at(toft_current_malloc_heap, p, TOFT_CALLER());
}

#endif
