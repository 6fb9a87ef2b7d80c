/* Copies of pages of 4 KiB, for checkpoints: in chunks, which return to the heap when they are empty.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_REGION_REGION_PAGES_C
#define TOFT_REGION_REGION_PAGES_C

#include "../platform/assert.h"
#include "../platform/os.c"
#include "../platform/sanitizers.c"
#include "toft/compiler.h"

#define TOFT_SAVED_PAGE ((size_t)4096)
#ifdef TOFT_NO_OS
#define TOFT_SAVED_CHUNK_PAGES 16
#else
#define TOFT_SAVED_CHUNK_PAGES 64
#endif
#define TOFT_SAVED_CHUNK (TOFT_SAVED_CHUNK_PAGES * TOFT_SAVED_PAGE)

/* In page 0 of a chunk, which lies at a multiple of its size. */
typedef struct toft_saved_chunk {
  struct toft_saved_chunk *next, *previous; /* of those with free pages */
  uint64_t free;                            /* bit k: page k, never 0 */
} toft_saved_chunk;

#define TOFT_SAVED_ALL (UINT64_MAX >> (64 - TOFT_SAVED_CHUNK_PAGES) & ~(uint64_t)1)

static const unsigned char toft_zero_page[4096] = {0}; /* shared by all pages of zeros */

static void toft_saved_chunk_link(toft_saved_chunk **first, toft_saved_chunk *k) {
  k->previous = NULL;
  k->next = *first;
  if (k->next != NULL) k->next->previous = k;
  *first = k;
}

static void toft_saved_chunk_unlink(toft_saved_chunk **first, const toft_saved_chunk *k) {
  *(k->previous != NULL ? &k->previous->next : first) = k->next;
  if (k->next != NULL) k->next->previous = k->previous;
}

/* Takes a page. `first` is the list of chunks with free ones. NULL: there is no memory. */
static unsigned char *toft_saved_page_take(toft_saved_chunk **first) {
  toft_saved_chunk *k = *first;
  if (k == NULL) {
    k = (toft_saved_chunk *)toft_os_heap_take(TOFT_SAVED_CHUNK, TOFT_SAVED_CHUNK);
    if (k == NULL) return NULL;
    k->free = TOFT_SAVED_ALL;
    toft_saved_chunk_link(first, k);
  }
  TOFT_ASSERT(k->free != 0);
  unsigned char *p = (unsigned char *)k + toft_lowest_bit(k->free) * TOFT_SAVED_PAGE;
  k->free &= k->free - 1;
  if (k->free == 0) toft_saved_chunk_unlink(first, k);
  toft_unpoison(p, TOFT_SAVED_PAGE);
  return p;
}

/* Returns a page. One empty chunk is kept for the next. */
static void toft_saved_page_put(toft_saved_chunk **first, const unsigned char *p) {
  if (p == toft_zero_page) return;
  toft_saved_chunk *k = (toft_saved_chunk *)((uintptr_t)p & ~(uintptr_t)(TOFT_SAVED_CHUNK - 1));
  toft_poison(p, TOFT_SAVED_PAGE);
  if (k->free == 0) toft_saved_chunk_link(first, k);
  TOFT_ASSERT(!(k->free >> ((uintptr_t)p - (uintptr_t)k) / TOFT_SAVED_PAGE & 1));
  k->free |= (uint64_t)1 << ((uintptr_t)p - (uintptr_t)k) / TOFT_SAVED_PAGE;
  if (k->free != TOFT_SAVED_ALL || (k == *first && k->next == NULL)) return;
  toft_saved_chunk_unlink(first, k);
  toft_os_heap_put(k);
}

#endif
