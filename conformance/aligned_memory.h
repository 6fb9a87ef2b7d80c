/* Memory for the blocks of both providers: at the same distance from a boundary of 64 KiB. It takes the place of the
 * tests' page_memory.h.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_PAGE_MEMORY_H
#define TOFT_TEST_PAGE_MEMORY_H

#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { BOUNDARY = 65536, KEPT = 64, LARGEST = 160 << 20 };
#if defined(__SANITIZE_ADDRESS__) || defined(FUZZ)
static const int keeps = 0; /* a returned block must not be readable */
#else
static const int keeps = 1;
#endif
static size_t skew; /* of the next block's base, a multiple of 4096 */
static struct {
  unsigned char *at; /* on a boundary */
  size_t size;
} unused[KEPT];
static size_t unused_count;

static void *page_memory(size_t size) {
  for (size_t i = 0; i < unused_count; i++) {
    if (unused[i].size != size) continue;
    unsigned char *at = unused[i].at;
    unused[i] = unused[--unused_count];
    return at + skew;
  }
  unsigned char *at = (unsigned char *)aligned_alloc(BOUNDARY, (size + 2 * BOUNDARY - 1) / BOUNDARY * BOUNDARY);
  return at != NULL ? at + skew : NULL;
}

static void page_memory_free(void *p, size_t size) {
  unsigned char *at = (unsigned char *)((uintptr_t)p & ~(uintptr_t)(BOUNDARY - 1));
  if (keeps && unused_count < KEPT && size <= 256 << 10) {
    unused[unused_count].at = at;
    unused[unused_count++].size = size;
  } else {
    free(at);
  }
}

#endif
