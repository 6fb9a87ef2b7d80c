/* Memory for blocks whose addresses rise or fall.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "placed_memory.h"

#include <stdint.h>
#include <sys/mman.h>

static const size_t GAP = 65536; /* of no memory, on both sides of a block */
static const size_t SPAN = sizeof(void *) == 8 ? (size_t)1 << 32 : (size_t)1 << 28;

enum placed_order placed;
static uintptr_t low;     /* of reserved addresses, in which the blocks are; 0: there are none */
static uintptr_t edge;    /* of the blocks so far */
static size_t blocks_out; /* where there are none, the addresses begin anew in the middle */

static uintptr_t map(uintptr_t at, size_t size, int access) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at != 0 ? MAP_FIXED : 0) | (access == PROT_NONE ? MAP_NORESERVE : 0);
  void *p = mmap((void *)at, size, access, flags, -1, 0); /* NOLINT */
  return p != MAP_FAILED ? (uintptr_t)p : 0;
}

static int is_reserved(uintptr_t at, size_t size) {
  return low != 0 && at >= low + GAP && at - low <= SPAN - GAP && size <= SPAN - GAP - (at - low);
}

/* Where the reserved addresses are used up, in any order. */
static void *elsewhere(size_t size, size_t boundary) {
  uintptr_t p = size <= SIZE_MAX / 2 ? map(0, size + boundary, PROT_READ | PROT_WRITE) : 0;
  uintptr_t at = (p + boundary - 1) & ~(uintptr_t)(boundary - 1);
  if (p == 0) return NULL;
  if (at != p) munmap((void *)p, at - p);         /* NOLINT */
  munmap((void *)(at + size), p + boundary - at); /* NOLINT */
  return (void *)at;                              /* NOLINT */
}

void *placed_memory(size_t size, size_t boundary) {
  if (low == 0) low = map(0, SPAN, PROT_NONE);
  if (blocks_out == 0) edge = low + SPAN / 2;
  uintptr_t at = placed == RISING ? edge + GAP + boundary - 1 : edge - GAP - size;
  at &= ~(uintptr_t)(boundary - 1);
  if (!is_reserved(at, size)) {
    void *p = elsewhere(size, boundary);
    blocks_out += p != NULL;
    return p;
  }
  if (map(at, size, PROT_READ | PROT_WRITE) == 0) return NULL;
  edge = placed == RISING ? at + size : at;
  blocks_out++;
  return (void *)at; /* NOLINT */
}

void page_memory_free(void *p, size_t size) {
  if (!is_reserved((uintptr_t)p, size) || map((uintptr_t)p, size, PROT_NONE) == 0) munmap(p, size);
  blocks_out--;
}
