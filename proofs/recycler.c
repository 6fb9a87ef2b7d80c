/* Recyclers: the lines of a unit, the size classes, the objects of a slab, the runs of pages.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../c/src/recycler/recycler_slabs.c"
#include "proofs.h"

static _Alignas(TOFT_RECYCLER_UNIT) unsigned char unit[TOFT_RECYCLER_UNIT];

/* ---- lines ---- */

/* Every address of a unit leads to the same line, in the zone at the end of the unit. */
void addresses_of_a_unit_find_one_line(void) {
  size_t p = nondet_size(), q = nondet_size(), line;
  assume(p < TOFT_RECYCLER_UNIT && q < TOFT_RECYCLER_UNIT);
  line = (size_t)((unsigned char *)toft_recycler_unit_of(unit + p) - unit);
  prove(toft_recycler_unit_of(unit + q) == (toft_recycler_slab *)(unit + line) && line % 64 == 0);
  prove(line >= TOFT_RECYCLER_UNIT - TOFT_RECYCLER_ZONE && line + 64 <= TOFT_RECYCLER_UNIT);
}

/* The pages of a unit have different lines; page 0 has that of the unit; and a line leads back to its page. */
void pages_have_lines(void) {
  size_t at = nondet_size();
  unsigned page = nondet_u32(), other = nondet_u32();
  assume(at < TOFT_RECYCLER_UNIT && page < 8 && other < 8);
  const unsigned char *p = unit + at;
  toft_recycler_slab *d = toft_recycler_line(p, toft_recycler_line_of_page(p, page) << 6);
  prove(toft_recycler_first_page(d) == page);
  prove((d == toft_recycler_unit_of(p)) == (page == 0));
  prove((toft_recycler_line_of_page(p, page) == toft_recycler_line_of_page(p, other)) == (page == other));
}

/* ---- classes ---- */

void classes_hold_their_sizes(void) {
  size_t size = nondet_size(), k, bytes;
  if (!toft_recycler_classify(size, &k, &bytes)) {
    prove(size == 0 || size > TOFT_RECYCLER_CLASS_MAX);
    return;
  }
  prove(size != 0 && size <= TOFT_RECYCLER_CLASS_MAX && k < TOFT_RECYCLER_INLINE_CLASSES);
  prove(bytes >= size && bytes % 8 == 0 && bytes == toft_recycler_class_bytes(k));
  prove(size <= 128 ? bytes - size < 8 : bytes - size <= size / 8);
}

/* A larger size has no smaller class. */
void classes_are_in_order(void) {
  size_t size = nondet_size(), larger = nondet_size(), k, l, bytes, more;
  assume(size <= larger && toft_recycler_classify(size, &k, &bytes) && toft_recycler_classify(larger, &l, &more));
  prove(k <= l && bytes <= more);
}

/* A size that is a multiple of an alignment has a class whose bytes are one too. */
void classes_keep_alignments(void) {
  size_t size = nondet_size(), align = nondet_size(), k, bytes;
  assume(is_power_of_two(align) && align >= 8 && align <= TOFT_RECYCLER_ALIGN_MAX && size % align == 0);
  assume(toft_recycler_classify(size, &k, &bytes));
  prove(bytes % align == 0);
}

/* ---- objects ---- */

/* The first object of a slab lies at the alignment of its class, up to 64, and not at the start of a page. In classes
 * of multiples of 128 no object does. */
void objects_are_aligned(void) {
  size_t from = nondet_size(), k = nondet_size(), i = nondet_size(), bytes, align;
  assume(from < TOFT_RECYCLER_UNIT / 2 && from % 64 == 0 && k < TOFT_RECYCLER_CLASSES && i < 8);
  bytes = toft_recycler_class_bytes(k);
  align = toft_min(bytes & (0 - bytes), TOFT_RECYCLER_ALIGN_MAX);
  unsigned char *p = toft_recycler_slab_begin(unit + from, bytes);
  prove(p >= unit + from && p <= unit + from + 128);
  prove(((size_t)(p - unit) + i * bytes) % align == 0 && (size_t)(p - unit) % TOFT_RECYCLER_PAGE != 0);
  prove(bytes % 128 != 0 || ((size_t)(p - unit) + i * bytes) % TOFT_RECYCLER_PAGE != 0);
}

/* ---- runs of pages ---- */

/* The longest free run, aligned to its length, of each set of pages. */
void the_longest_run_is_known(void) {
  unsigned pages = nondet_u32(), count = nondet_u32(), at = nondet_u32(), run;
  assume(pages <= 0xff && (count == 1 || count == 2 || count == 4 || count == 8) && at < 8 && at % count == 0);
  run = toft_recycler_longest_run(pages);
  prove(run <= TOFT_RECYCLER_RUN_ALL);
  if ((~pages >> at & ((1u << count) - 1)) == 0) prove(run >= toft_recycler_run_class(count));
  assume(run != TOFT_RECYCLER_RUN_NONE);
  count = 1u << (run - TOFT_RECYCLER_RUN_1);
  unsigned mask = (1u << count) - 1, found = 0;
  for (unsigned k = 0; k < 8; k += count) found |= (pages >> k & mask) == mask;
  prove(found);
}
