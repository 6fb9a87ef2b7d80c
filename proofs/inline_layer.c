/* The inline functions of toft/inline.h on an arena whose block has up to BYTES bytes, with any cursor and limit that
 * the ABI allows, and any arguments. The table of operations is a stub that returns NULL and records the call.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "toft/inline.h"

#include "proofs.h"

#define BYTES 256

static _Alignas(64) unsigned char block[BYTES];
static toft_arena arena;
static toft_arena_ops ops;
static int slow_calls;
static size_t slow_size, slow_align;

static void *slow_alloc(toft_arena *a, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  (void)a, (void)flags, (void)site;
  slow_calls++;
  slow_size = size;
  slow_align = align;
  return NULL;
}

static void *slow_resize(toft_arena *a, void *p, size_t old_size, size_t new_size, size_t align, uint32_t flags,
                         uintptr_t site) {
  (void)a, (void)p, (void)old_size, (void)new_size, (void)align, (void)flags, (void)site;
  slow_calls++;
  return NULL;
}

static void slow_free(toft_arena *a, void *p, size_t size) {
  (void)a, (void)p, (void)size;
  slow_calls++;
}

static int slow_rewind(toft_arena *a, unsigned char *cursor, uintptr_t epoch) {
  (void)a, (void)cursor, (void)epoch;
  slow_calls++;
  return TOFT_EARG;
}

static void *slow_claim(toft_arena *a, toft_range *r, size_t size, size_t align) {
  (void)a, (void)r, (void)size, (void)align;
  slow_calls++;
  return NULL;
}

/* The invariant of the ABI: cursor and limit are multiples of 8 in one block, in this order. */
static int cursor_is_valid(void) {
  return arena.cursor >= block && arena.cursor <= arena.limit && arena.limit <= block + BYTES &&
         ((uintptr_t)arena.cursor & 7) == 0 && ((uintptr_t)arena.limit & 7) == 0;
}

static void any_arena(void) {
  size_t cursor = nondet_size(), limit = nondet_size();
  assume(cursor <= limit && limit <= BYTES && cursor % 8 == 0 && limit % 8 == 0);
  ops.alloc = slow_alloc;
  ops.resize = slow_resize;
  ops.free = slow_free;
  ops.rewind = slow_rewind;
  ops.claim = slow_claim;
  arena.cursor = block + cursor;
  arena.limit = block + limit;
  arena.ops = &ops;
  arena.epoch = nondet_size();
}

void alloc_returns_free_bytes(void) {
  any_arena();
  unsigned char *cursor = arena.cursor, *limit = arena.limit;
  size_t size = nondet_size();
  unsigned char *p = (unsigned char *)toft_alloc(&arena, size);
  if (slow_calls != 0) {
    prove(arena.cursor == cursor && slow_size == size && size > (size_t)(limit - cursor));
  } else {
    prove(p == cursor && size <= (size_t)(limit - p));
    prove((size_t)(arena.cursor - p) >= size && (size_t)(arena.cursor - p) - size < 8);
    prove(cursor_is_valid());
  }
  prove(arena.limit == limit);
}

void alloc_aligned_returns_free_aligned_bytes(void) {
  any_arena();
  unsigned char *cursor = arena.cursor, *limit = arena.limit;
  size_t size = nondet_size(), align = nondet_size();
  unsigned char *p = (unsigned char *)toft_alloc_aligned(&arena, size, align);
  if (slow_calls != 0) {
    prove(arena.cursor == cursor && slow_size == size);
  } else {
    prove(align != 0 && (is_power_of_two(align) || align < 8));
    prove(p >= cursor && p <= limit && size <= (size_t)(limit - p));
    prove(!is_power_of_two(align) || ((uintptr_t)p & (align - 1)) == 0);
    prove(arena.cursor >= p && (size_t)(arena.cursor - p) >= size);
    prove(cursor_is_valid());
  }
}

void two_allocations_are_disjoint(void) {
  any_arena();
  size_t first = nondet_size(), second = nondet_size(), align = nondet_size();
  unsigned char *p = (unsigned char *)toft_alloc(&arena, first);
  if (slow_calls != 0) return;
  unsigned char *q = (unsigned char *)toft_alloc_aligned(&arena, second, align);
  prove(slow_calls != 0 || q >= p + first);
}

void array_sizes_do_not_wrap(void) {
  any_arena();
  unsigned char *limit = arena.limit;
  size_t count = nondet_size(), size = nondet_size();
  unsigned char *p = (unsigned char *)toft_alloc_array(&arena, count, size, 8);
  if (slow_calls != 0) return;
  prove(count == 0 || size <= (size_t)(limit - p));
  prove(size == 0 || count <= (size_t)(limit - p)); /* both are small, so the product below cannot wrap */
  prove(count * size <= (size_t)(limit - p));
  prove(cursor_is_valid());
}

void resize_in_place_stays_in_the_block(void) {
  any_arena();
  unsigned char *limit = arena.limit;
  size_t old_size = nondet_size(), new_size = nondet_size(), align = nondet_size();
  unsigned char *p = (unsigned char *)toft_alloc(&arena, old_size), *cursor, *q;
  if (slow_calls != 0) return;
  cursor = arena.cursor;
  q = (unsigned char *)toft_resize(&arena, p, old_size, new_size, align);
  if (slow_calls != 0) {
    prove(arena.cursor == cursor);
  } else {
    prove(q == p && new_size <= (size_t)(limit - p) && (size_t)(arena.cursor - p) >= new_size);
    prove(!is_power_of_two(align) || ((uintptr_t)p & (align - 1)) == 0);
    prove(cursor_is_valid());
  }
}

void free_of_the_newest_restores_the_cursor(void) {
  any_arena();
  unsigned char *cursor = arena.cursor;
  size_t size = nondet_size();
  void *p = toft_alloc(&arena, size);
  if (slow_calls != 0) return;
  toft_free(&arena, p, size);
  prove(slow_calls != 0 || arena.cursor == cursor);
  prove(cursor_is_valid());
}

void free_of_an_older_one_changes_nothing(void) {
  any_arena();
  size_t first = nondet_size(), second = nondet_size();
  void *p = toft_alloc(&arena, first);
  unsigned char *cursor;
  if (slow_calls != 0) return;
  assume(second > 0);
  (void)toft_alloc(&arena, second);
  if (slow_calls != 0) return;
  cursor = arena.cursor;
  toft_free(&arena, p, first);
  prove(arena.cursor == cursor);
}

void rewind_restores_the_cursor(void) {
  any_arena();
  unsigned char *cursor = arena.cursor;
  size_t size = nondet_size();
  assume((arena.epoch & 1) == 0);
  toft_mark m = toft_mark_here(&arena);
  (void)toft_alloc(&arena, size);
  (void)toft_rewind(&arena, m);
  prove(arena.cursor == cursor);
}

void rewind_across_an_epoch_is_slow(void) {
  any_arena();
  unsigned char *cursor = arena.cursor;
  toft_mark m = toft_mark_here(&arena);
  arena.epoch = nondet_size();
  assume(arena.epoch != m.epoch);
  (void)toft_rewind(&arena, m);
  prove(slow_calls == 1 && arena.cursor == cursor);
}

void ranges_return_their_own_bytes(void) {
  any_arena();
  toft_range r;
  size_t size = nondet_size(), text = nondet_size();
  unsigned char *p, *q;
  r.cursor = arena.cursor;
  r.limit = arena.limit;
  r.claim = 0;
  p = (unsigned char *)toft_range_bytes(&arena, &r, text);
  if (slow_calls != 0) return;
  prove(p >= block && text <= (size_t)(arena.limit - p) && r.cursor == p + text);
  toft_range_align(&r);
  prove(r.cursor <= r.limit && ((uintptr_t)r.cursor & 7) == 0);
  q = (unsigned char *)toft_range_alloc(&arena, &r, size);
  if (slow_calls != 0) return;
  prove(q >= p + text && size <= (size_t)(arena.limit - q) && r.cursor <= r.limit);
}
