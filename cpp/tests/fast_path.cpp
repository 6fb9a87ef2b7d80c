// Not a program: compiled to assembly by c/tests/check-fast-path. For each toft_X there is a floor_X, the same written
// by hand on structures of its own. The hot path of both must be the same instructions.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <cstddef>
#include <cstring>

#include <toft/allocator.hpp>
#include <toft/arena.hpp>
#include <toft/pmr.hpp>
#include <toft/recycler.hpp>

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

namespace {
struct floor_arena {
  unsigned char *cursor;
  void *ops;
  unsigned char *limit;
};
struct floor_holder {  // as a resource: the table of virtual functions, then the arena
  void *table;
  floor_arena *arena;
};
struct floor_slab {
  void *free;
  unsigned short used;
};
struct floor_recycler {
  floor_slab *slab;
  std::size_t live;
};
struct pair {
  int a, b;
};
}  // namespace

extern "C" {
void *floor_slow(void *, std::size_t);

// An arena's object of one constant size.
void *floor_make(floor_arena **a) {
  floor_arena *f = *a;
  unsigned char *p = f->cursor;
  if (UNLIKELY(static_cast<std::size_t>(f->limit - p) < sizeof(long))) return floor_slow(f, sizeof(long));
  f->cursor = p + 8;
  const long five = 5;
  std::memcpy(p, &five, sizeof five);
  return p;
}
void *toft_make(toft::arena *a) { return a->make<long>(5); }

// A resource of static type: the arena is one load away.
void *floor_resource(floor_holder *r) {
  floor_arena *f = r->arena;
  unsigned char *p = f->cursor;
  if (UNLIKELY(static_cast<std::size_t>(f->limit - p) < 40)) return floor_slow(f, 40);
  f->cursor = p + 40;
  return p;
}
void *toft_resource(toft::arena_resource *r) { return r->allocate(40, 8); }

// The adaptor: its copy in the container holds the resource's address.
void *floor_adaptor(floor_arena **a) {
  floor_arena *f = *a;
  unsigned char *p = f->cursor;
  if (UNLIKELY(static_cast<std::size_t>(f->limit - p) < 8)) return floor_slow(f, 8);
  f->cursor = p + 8;
  return p;
}
void *toft_adaptor(toft::allocator<pair, toft::arena> a) { return a.allocate(1); }

// An object of a recycler: the newest freed one of a slab, with both counters.
void *floor_recycle(floor_recycler *r) {
  floor_slab *d = r->slab;
  void *p = d->free;
  if (UNLIKELY(p == nullptr)) return floor_slow(r, 40);
  d->free = *static_cast<void **>(p);
  d->used++;
  r->live += 40;
  return p;
}
void *toft_recycle(toft::recycler *r) { return r->allocate(40, 8); }
}
