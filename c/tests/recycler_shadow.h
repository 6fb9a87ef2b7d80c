/* The live objects of a recycler, with their contents, and its statistics compared with them.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_RECYCLER_SHADOW_H
#define TOFT_TEST_RECYCLER_SHADOW_H

#include "support.h"

#define LIVE_MAX 4096

/* A recycler with default options on this source. */
static inline void recycler_on(toft_recycler *r, toft_source *source) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  o.source = source;
  assert_int_equal(toft_recycler_init(r, &o), TOFT_OK);
}

/* Its end: each block comes back to the source. */
static inline void recycler_end(toft_recycler *r, const counted *c) {
  toft_recycler_release(r);
  counted_all_back(c);
}

typedef struct object {
  unsigned char *p;
  size_t size, align, bytes; /* as recycler_bytes counts */
  unsigned seed;
} object;

typedef struct shadow {
  toft_recycler *r;
  object live[LIVE_MAX];
  size_t count, bytes; /* bytes: of all */
  uint32_t random;
} shadow;

static inline shadow *shadow_of(toft_recycler *r, uint32_t seed) {
  shadow *s = (shadow *)calloc(1, sizeof *s);
  assert_non_null(s);
  s->r = r;
  s->random = seed;
  return s;
}

/* Whether objects of this size lie in slabs. */
static inline int is_small(size_t size, size_t align) { return align <= 64 && size <= (align > 16 ? 4096 : 16112); }

static inline int shadow_add(shadow *s, size_t size, size_t align) {
  object *o = &s->live[s->count];
  o->p = (unsigned char *)toft_recycler_alloc(s->r, size, align);
  if (o->p == NULL) return 0;
  assert_true(is_aligned(o->p, align < 8 ? 8 : align));
  /* a free recognizes large objects by the address */
  assert_int_equal((uintptr_t)o->p % 4096 != 0, is_small(size, align));
  o->size = size;
  o->align = align;
  o->seed = next_random(&s->random);
  fill(o->p, size, o->seed);
  s->count++;
  s->bytes += o->bytes = recycler_bytes(size, align);
  return 1;
}

static inline void shadow_drop(shadow *s, size_t i) {
  object o = s->live[i];
  assert_true(filled(o.p, o.size, o.seed)); /* so no two overlap */
  toft_recycler_free(s->r, o.p, o.size);
  s->live[i] = s->live[--s->count];
  s->bytes -= o.bytes;
}

static inline void shadow_resize(shadow *s, size_t i, size_t size) {
  object *o = &s->live[i];
  unsigned char *p = (unsigned char *)toft_recycler_resize(s->r, o->p, o->size, size, o->align);
  assert_non_null(p);
  assert_true(is_aligned(p, o->align));
  assert_true(filled(p, size < o->size ? size : o->size, o->seed));
  fill(p, size, o->seed);
  s->bytes -= o->bytes;
  if (p != o->p || (uintptr_t)p % 4096 == 0) o->bytes = recycler_bytes(size, p == o->p ? 4096 : o->align);
  s->bytes += o->bytes;
  o->p = p;
  o->size = size;
}

static inline void assert_stats(const shadow *s) {
  toft_recycler_stats t = toft_recycler_get_stats(s->r);
  assert_int_equal(t.used, s->bytes);
  assert_int_equal(t.used + t.pinned + t.kept + t.wasted, t.reserved);
  assert_true(t.peak >= t.reserved);
  assert_true((t.blocks != 0) == (s->count != 0));
}

#endif
