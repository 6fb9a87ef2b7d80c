/* The objects of the scope that the program's malloc serves in the control: a byte for each place of 16 bytes, in a
 * table of as many bytes for an object as that of sizes beside the arenas.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TRIAL_MARKS_H
#define TOFT_TRIAL_MARKS_H

#include "slices.h"

/* Of more bytes of addresses than MARKS * UNIT, two places share a mark. */
enum { MARKS = 1 << 24 };

static unsigned char no_mark[1];
static struct {
  unsigned char *table;
  uintptr_t last; /* the table's last place */
} K = {no_mark, 0};

static ALWAYS_INLINE unsigned char *mark_of(const void *p) {
  uintptr_t place = (uintptr_t)p / UNIT & LOAD(&K.last);
  return &LOAD(&K.table)[place];
}

static ALWAYS_INLINE void mark_object(const void *p, size_t size) {
  if (LOAD(&K.last) != 0) *mark_of(p) = (unsigned char)(size <= SMALL ? rounded(size) / UNIT : LARGE);
}

/* In both modes, since each free reads a mark. Without memory no object is marked. */
static void open_marks(void) {
  if (K.last != 0 || S.sandbox || memory_limit() != SIZE_MAX) return;
  void *p = mmap(NULL, MARKS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return;
  STORE(&K.table, (unsigned char *)p);
  STORE(&K.last, MARKS - 1);
}

#endif
