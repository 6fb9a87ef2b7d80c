/* Recyclers: the search for a block's header, the size classes, and the grains of medium objects.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../c/src/recycler/recycler_medium.c"
#include "proofs.h"

static _Alignas(TOFT_RECYCLER_UNIT) unsigned char unit[TOFT_RECYCLER_UNIT];

/* Every address of a unit leads to the same header, in the last 512 bytes of the unit, on a cache line. */
void addresses_of_a_unit_find_one_header(void) {
  size_t p = nondet_size(), q = nondet_size(), header;
  assume(p < TOFT_RECYCLER_DIRECT && q < TOFT_RECYCLER_DIRECT);
  header = (size_t)((unsigned char *)toft_recycler_block_of(unit + p) - unit);
  prove(toft_recycler_block_of(unit + q) == (toft_recycler_block *)(unit + header) && header % 64 == 0);
  prove(header >= TOFT_RECYCLER_DIRECT && header + 64 <= TOFT_RECYCLER_UNIT);
}

void classes_hold_their_sizes(void) {
  size_t size = nondet_size(), k, bytes;
  if (!toft_recycler_classify(size, &k, &bytes)) {
    prove(size == 0 || size > TOFT_RECYCLER_CLASS_MAX);
    return;
  }
  prove(size != 0 && size <= TOFT_RECYCLER_CLASS_MAX && k < TOFT_RECYCLER_CLASSES);
  prove(bytes >= size && bytes % 8 == 0 && bytes == toft_recycler_class_bytes(k));
  prove(size <= 128 ? bytes - size < 8 : bytes - size <= size / 8);
  prove(toft_recycler_class_index(bytes) == k);
}

/* A larger size has no smaller class. */
void classes_are_in_order(void) {
  size_t size = nondet_size(), larger = nondet_size(), k, l, bytes, more;
  assume(size <= larger && toft_recycler_classify(size, &k, &bytes) && toft_recycler_classify(larger, &l, &more));
  prove(k <= l && bytes <= more);
}

/* A span serves only its own bytes, at the alignment, and the next allocation starts after it. */
static void any_span(toft_recycler *r, unsigned char *memory, size_t bytes, size_t k) {
  size_t from = nondet_size(), to = nondet_size();
  assume(from <= to && to <= bytes && from % 8 == 0 && to % 8 == 0);
  r->spans[k].cursor = memory + from;
  r->spans[k].limit = memory + to;
}

void spans_serve_what_they_have(void) {
  static toft_recycler r;
  static _Alignas(64) unsigned char memory[512];
  size_t size = nondet_size(), align = nondet_size(), k, bytes;
  unsigned char *p, *limit, *cursor;
  assume(toft_recycler_classify(size, &k, &bytes) && bytes <= sizeof memory);
  any_span(&r, memory, sizeof memory, k);
  cursor = r.spans[k].cursor;
  limit = r.spans[k].limit;
  p = (unsigned char *)toft_recycler_bump(&r, size, align);
  if (p == NULL) {
    prove(r.spans[k].cursor == cursor);
    return;
  }
  prove(p == cursor && bytes <= (size_t)(limit - p) && r.spans[k].cursor == p + bytes);
  prove(align <= 8 || (is_power_of_two(align) && ((uintptr_t)p & (align - 1)) == 0));
}

/* ---- grains ---- */

static int is_run(uint64_t grains, size_t start, size_t count) {
  return start + count <= 64 && (~grains >> start & UINT64_MAX >> (64 - count)) == 0;
}

void runs_are_found(void) {
  uint64_t grains = nondet_u64();
  size_t count = nondet_size(), start = nondet_size();
  assume(count >= 1 && count <= 64 && start < 64);
  prove((toft_recycler_runs(grains, count) >> start & 1) == (uint64_t)is_run(grains, start, count));
}

/* The block of unknown free grains has at least one object, or it would be in the list of empty blocks. */
void the_longest_run_is_known(void) {
  uint64_t grains = nondet_u64();
  size_t longest, start = nondet_size(), count = nondet_size();
  assume(grains != UINT64_MAX);
  longest = toft_recycler_longest_run(grains);
  prove(longest < 64 && (longest == 0 || toft_recycler_runs(grains, longest) != 0));
  assume(start < 64 && count > longest && count <= 64);
  prove(!is_run(grains, start, count));
}

/* A byte of an object is in a grain of its mask, and each grain of the mask has a byte of the object. */
void masks_are_the_grains_of_an_object(void) {
  size_t from = nondet_size(), size = nondet_size(), at = nondet_size(), grain = nondet_size();
  uint64_t mask;
  assume(size > 0 && size <= TOFT_RECYCLER_DIRECT && from <= TOFT_RECYCLER_DIRECT - size);
  mask = toft_recycler_grain_mask(from, size);
  assume(at < size && grain < 64);
  prove((mask >> (from + at) / TOFT_RECYCLER_MEDIUM_GRAIN & 1) == 1);
  if ((mask >> grain & 1) == 0) return;
  prove(grain * TOFT_RECYCLER_MEDIUM_GRAIN < from + size);
  prove((grain + 1) * TOFT_RECYCLER_MEDIUM_GRAIN > from);
}

/* An object and the padding before it, here up to 512 bytes, fit the grains that toft_recycler_medium_alloc counts. */
void objects_fit_their_run(void) {
  size_t size = nondet_size(), most = nondet_size(), pad = nondet_size(), start = nondet_size(), count;
  uint64_t run;
  assume(size > TOFT_RECYCLER_CLASS_MAX && size <= TOFT_RECYCLER_DIRECT && pad <= most && most <= 512);
  count = (size + most + TOFT_RECYCLER_MEDIUM_GRAIN - 1) / TOFT_RECYCLER_MEDIUM_GRAIN;
  assume(count < 64 && start <= 64 - count);
  prove(count >= TOFT_RECYCLER_MEDIUM_MIN);
  run = UINT64_MAX >> (64 - count) << start;
  prove((toft_recycler_grain_mask(start * TOFT_RECYCLER_MEDIUM_GRAIN + pad, size) & ~run) == 0);
}

/* Two objects whose grains differ have no byte in common. */
void masks_of_disjoint_grains_are_disjoint(void) {
  size_t p = nondet_size(), q = nondet_size(), size = nondet_size(), other = nondet_size();
  assume(size > 0 && size <= TOFT_RECYCLER_DIRECT && p <= TOFT_RECYCLER_DIRECT - size);
  assume(other > 0 && other <= TOFT_RECYCLER_DIRECT && q <= TOFT_RECYCLER_DIRECT - other);
  assume((toft_recycler_grain_mask(p, size) & toft_recycler_grain_mask(q, other)) == 0);
  prove(p + size <= q || q + other <= p);
}
