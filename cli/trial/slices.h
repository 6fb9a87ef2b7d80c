/* The memory of a trial's arenas: a reserved range of addresses in slices, one for each arena, so that an address shows
 * its arena. A slice counts the objects that other threads free, and those of an arena that was left.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TRIAL_SLICES_H
#define TOFT_TRIAL_SLICES_H

#include "budget.h"

enum { SLICES = 512, SMALL_PAGES = 2 << 20 };

/* IN_USE: of one thread. LEFT: its instance or thread has ended; it serves again when no object is alive. */
enum slice_state { UNUSED, IN_USE, LEFT };

typedef struct slice {
  toft_region *region;
  toft_arena *arena;
  int64_t live; /* objects, without those that the owner counts */
  int state;
} slice;

static struct {
  uintptr_t start;
  size_t size; /* 0: no object is in the range */
  unsigned shift;
  size_t used, budget; /* the most bytes that the arenas have had, and that they may have */
  slice slice[SLICES];
} A;

/* Slices are inaccessible before their use, so that the system provides no page of them to a program that locks its
 * memory. 0: the address space is limited, or the program's memory is. */
static int reserve_slices(void) {
  if (memory_limit() != SIZE_MAX) return 0;
  for (unsigned bits = 39; bits >= 36; bits -= 3) {
    void *p = mmap(NULL, (size_t)1 << bits, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) continue;
    A.start = (uintptr_t)p;
    A.shift = bits - 9;
    A.size = (size_t)1 << bits;
    A.budget = memory_budget();
    return 1;
  }
  return 0;
}

/* An arena in its slice, with large pages beyond the first ones, as blocks of 1 MiB have in other arenas. */
static int make_arena(slice *s, size_t i) {
  if (S.sandbox || A.used >= A.budget) return 0;
  toft_region_options options = TOFT_REGION_OPTIONS;
  options.max = (size_t)1 << A.shift;
  options.memory = (void *)(A.start + (i << A.shift));
  if (mprotect(options.memory, options.max, PROT_READ | PROT_WRITE) != 0) return 0;
  (void)madvise((char *)options.memory + SMALL_PAGES, options.max - SMALL_PAGES, MADV_HUGEPAGE);
  s->region = toft_region_create(&options);
  s->arena = s->region != NULL ? toft_region_arena(s->region) : NULL;
  return s->arena != NULL;
}

/* Memory of a slice. NULL: there is none, or its arena would grow beyond the budget of all. */
static void *allocate_in(slice *s, size_t size) {
  size_t before = (size_t)(s->region->high - s->region->base);
  size_t left = A.budget > A.used ? (A.budget - A.used) / PAGE * PAGE : 0;
  s->region->control->max = toft_min((size_t)1 << A.shift, before + left);
  void *p = toft_hook_malloc(s->arena, size);
  A.used += (size_t)(s->region->high - s->region->base) - before;
  return p;
}

/* Behind the lock. NULL: all are in use. */
static slice *find_slice(void) {
  for (size_t i = 0; i < SLICES; i++) {
    slice *s = &A.slice[i];
    int state = LOAD(&s->state);
    if (state == IN_USE || (state == LEFT && LOAD(&s->live) != 0)) continue;
    if (state == UNUSED && !make_arena(s, i)) return NULL;
    if (state == LEFT) (void)toft_reset(s->arena);
    STORE(&s->state, IN_USE);
    return s;
  }
  return NULL;
}

/* No arena grows any more. Returns the memory behind the last one's objects. */
static void cut_slices(void) {
  size_t used = 0, size = A.size;
  A.budget = 0;
  while (used < SLICES && A.slice[used].arena != NULL) used++;
  if (used > 0 && A.slice[used - 1].region != NULL) {
    toft_region *r = A.slice[used - 1].region;
    size_t kept = toft_round((size_t)(r->high - r->base), TOFT_BLOCK_MIN);
    if (kept < r->control->max) r->control->max = kept;
    used = ((used - 1) << A.shift) + r->control->max;
  }
  if (used >= size) return;
  STORE(&A.size, used);
  munmap((char *)A.start + used, size - used);
}

static void leave_slice(slice *s, int64_t live) {
  __atomic_add_fetch(&s->live, live, __ATOMIC_RELEASE);
  STORE(&s->state, LEFT);
}

#endif
