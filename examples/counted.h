/* A source that counts, and may refuse: the number of calls, and that all memory is returned.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef EXAMPLES_COUNTED_H
#define EXAMPLES_COUNTED_H

#include <stdint.h>
#include <stdio.h>
#include <toft.h>

static struct {
  unsigned long long calls, refuse; /* refuse: the number of the first call that gets nothing; 0: none */
  size_t held;                      /* bytes */
} counts;

static inline void *counted_source_take(toft_source *self, size_t size) {
  void *p;
  (void)self;
  counts.calls++;
  if (counts.refuse != 0 && counts.calls >= counts.refuse) return NULL;
  p = toft_heap()->take(toft_heap(), size);
  if (p != NULL) counts.held += size;
  return p;
}

static inline void counted_source_put(toft_source *self, void *block, size_t size) {
  (void)self;
  counts.held -= size;
  toft_heap()->put(toft_heap(), block, size);
}

static inline toft_source *counted_source(void) {
  static toft_source source = {counted_source_take, counted_source_put, NULL};
  return &source;
}

/* counted REQUESTS SOURCE HELD: of the program; of Toft, to its source; bytes that did not go back. */
static inline void print_counts(unsigned long long requests) {
  printf("counted %llu %llu %zu\n", requests, counts.calls, counts.held);
}

#endif
