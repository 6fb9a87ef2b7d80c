/* Units: blocks of 32 KiB at multiples of 32 KiB, for recyclers with little memory. They are cut from chunks of small
 * pages, so that a unit has the pages that were written only, and nothing between units is written. The C heap would
 * need 64 KiB for each, and write before and behind it.
 *
 * A thread keeps units, as other blocks, up to the limit of its cache. Other free units have no pages. A chunk returns
 * with its last unit.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_UNITS_C
#define TOFT_CORE_UNITS_C

#include "../platform/assert.h"
#include "../platform/atomic.c"
#include "../platform/held.c"
#include "../platform/lifecycle.h"
#include "../platform/os.c"
#include "toft/compiler.h"

#define TOFT_UNIT ((size_t)32768)
#define TOFT_UNIT_RECORD (TOFT_UNIT - 512) /* where the record of a unit ends, in a page that recyclers write first */

/* Of a unit of a chunk, also while it is in use. */
typedef struct toft_unit_record {
  unsigned char *next; /* unit in the cache of a thread */
  struct toft_chunk *chunk;
} toft_unit_record;

static toft_unit_record *toft_record_of_unit(unsigned char *unit) {
  return (toft_unit_record *)(void *)(unit + TOFT_UNIT_RECORD) - 1;
}

#ifndef TOFT_OMIT_PAGE_CACHE

#define TOFT_CHUNK (64 * TOFT_UNIT) /* at most; one unit of it is for the record and the alignment */

/* At the start of a chunk. */
typedef struct toft_chunk {
  struct toft_chunk *next, *previous; /* of those with free units */
  uint64_t all, free;                 /* bit k: unit k */
  size_t size;
} toft_chunk;

static toft_lock toft_chunks_lock;
static toft_chunk *toft_chunks;

static unsigned char *toft_chunk_units(toft_chunk *c) {
  uintptr_t at = (uintptr_t)c + sizeof *c + TOFT_UNIT - 1;
  return (unsigned char *)(at - at % TOFT_UNIT);
}

static void toft_chunk_link(toft_chunk *c) {
  c->previous = NULL;
  c->next = toft_chunks;
  if (c->next != NULL) c->next->previous = c;
  toft_chunks = c;
}

static void toft_chunk_unlink(const toft_chunk *c) {
  *(c->previous != NULL ? &c->previous->next : &toft_chunks) = c->next;
  if (c->next != NULL) c->next->previous = c->previous;
}

/* Maps a chunk, with unit 0 for the caller: a smaller one if the system refuses. NULL: it refuses two units. */
static TOFT_COLD toft_chunk *toft_chunk_map(void) {
  size_t size = TOFT_CHUNK;
  toft_chunk *c;
  while ((c = (toft_chunk *)toft_os_map(size, 0)) == NULL)
    if ((size /= 2) < 2 * TOFT_UNIT) return NULL;
  toft_os_prefer_small_pages(c, size);
  TOFT_HELD_MORE(size);
  c->size = size;
  c->all = ((uint64_t)1 << (size / TOFT_UNIT - 1)) - 1;
  c->free = c->all & ~(uint64_t)1;
  if (c->free == 0) return c;
  toft_arm_fork();
  toft_lock_take(&toft_chunks_lock);
  toft_chunk_link(c);
  TOFT_UNLOCK(&toft_chunks_lock);
  return c;
}

/* Takes a unit. NULL: the system refuses. */
static unsigned char *toft_chunk_take(void) {
  unsigned index = 0;
  toft_lock_take(&toft_chunks_lock);
  toft_chunk *c = toft_chunks;
  if (c != NULL) {
    TOFT_ASSERT(c->free != 0 && (c->free & ~c->all) == 0 && c->previous == NULL);
    index = toft_lowest_bit(c->free);
    c->free &= c->free - 1;
    if (c->free == 0) toft_chunk_unlink(c);
  }
  TOFT_UNLOCK(&toft_chunks_lock);
  if (c == NULL && (c = toft_chunk_map()) == NULL) return NULL;
  unsigned char *unit = toft_chunk_units(c) + index * TOFT_UNIT;
  toft_record_of_unit(unit)->chunk = c;
  return unit;
}

/* Returns a unit, whose pages go back to the system. */
static void toft_chunk_put(unsigned char *unit) {
  toft_chunk *c = toft_record_of_unit(unit)->chunk;
  (void)toft_os_forget(unit, TOFT_UNIT);
  toft_lock_take(&toft_chunks_lock);
  size_t index = (size_t)(unit - toft_chunk_units(c)) / TOFT_UNIT;
  TOFT_ASSERT((c->all >> index & 1) != 0 && (c->free >> index & 1) == 0);
  if (c->free == 0) toft_chunk_link(c);
  c->free |= (uint64_t)1 << index;
  int is_last = c->free == c->all;
  size_t size = c->size;
  if (is_last) toft_chunk_unlink(c);
  TOFT_UNLOCK(&toft_chunks_lock);
  if (is_last && toft_os_unmap(c, size)) TOFT_HELD_LESS(size);
}

static void toft_chunks_at_fork(int phase) {
  if (phase == 0)
    toft_lock_take(&toft_chunks_lock);
  else
    TOFT_UNLOCK(&toft_chunks_lock);
}
#else
static void toft_chunks_at_fork(int phase) { (void)phase; }
#endif

#endif
