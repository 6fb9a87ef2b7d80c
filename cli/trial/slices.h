/* The memory of a trial's arenas: a reserved range of addresses in slices, one for each arena, so that an address shows
 * its arena. A slice counts the objects that other threads free, and those of an arena that was left.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TRIAL_SLICES_H
#define TOFT_TRIAL_SLICES_H

#include "budget.h"

enum { SLICES = 512 };

/* Objects are multiples of UNIT bytes. One of at most SMALL has nothing before it, as in a rewrite on an arena:
 * its size is in a table beside the slices, in units. A larger one has its size in the HEADER bytes before it. */
enum { UNIT = 16, HEADER = 16, SMALL = 254 * UNIT, LARGE = 255 };

/* IN_USE: of one thread. LEFT: its instance or thread has ended; it serves again when no object is alive. */
enum slice_state { UNUSED, IN_USE, LEFT };

typedef struct slice {
  toft_region *region;
  toft_arena *arena;
  size_t ready; /* bytes whose pages are prepared */
  int64_t live; /* objects, without those that the owner counts */
  int state;
} slice;

static struct {
  uintptr_t start;
  size_t size; /* 0: no object is in the range */
  unsigned shift;
  unsigned char *table; /* of each unit the size of the object that begins there; LARGE; 0: none does */
  size_t used, budget;  /* the most bytes that the arenas have had, and that they may have */
  slice slice[SLICES];
} A;

static unsigned char *entry_of(const void *p) { return A.table + ((uintptr_t)p - A.start) / UNIT; }

static size_t rounded(size_t size) { return size != 0 ? (size + UNIT - 1) & ~(size_t)(UNIT - 1) : UNIT; }

static size_t size_of(const void *p) {
  size_t size = *entry_of(p) * (size_t)UNIT;
  if (size > SMALL) memcpy(&size, (const char *)p - HEADER, sizeof size);
  return size;
}

/* 0: an object without a header cannot have that size. */
static int set_size(void *p, size_t size) {
  unsigned char *entry = entry_of(p);
  if (*entry == LARGE) return memcpy((char *)p - HEADER, &size, sizeof size) != NULL;
  if (size > SMALL) return 0;
  *entry = (unsigned char)(rounded(size) / UNIT);
  return 1;
}

static void *make_object(toft_arena *a, size_t size) {
  size_t header = size > SMALL ? HEADER : 0;
  if (size > SIZE_MAX / 2) return NULL;
  unsigned char *p = (unsigned char *)toft_alloc_aligned(a, header + rounded(size), UNIT);
  if (p == NULL) return NULL;
  *entry_of(p += header) = header != 0 ? LARGE : 0;
  (void)set_size(p, size);
  return p;
}

/* In the arena's block, as inline code is in a rewrite. NULL: it has no room. */
static void *make_inline(toft_arena *a, size_t size) {
  size_t pad = -(uintptr_t)a->cursor & (UNIT - 1), left = (size_t)(a->limit - a->cursor);
  unsigned char *p = a->cursor + pad;
  if (UNLIKELY(size > SMALL)) return size < left && left - size >= pad + HEADER + UNIT ? make_object(a, size) : NULL;
  size_t taken = rounded(size);
  if (UNLIKELY(left < pad + taken)) return NULL;
  a->cursor = p + taken;
  *entry_of(p) = (unsigned char)(taken / UNIT);
  return p;
}

static void end_object(toft_arena *a, void *p) {
  size_t size = size_of(p), header = *entry_of(p) == LARGE ? HEADER : 0;
  *entry_of(p) = 0;
  if (UNLIKELY(header != 0))
    toft_free(a, (char *)p - header, header + rounded(size));
  else if (a->cursor == (unsigned char *)p + size)
    a->cursor = (unsigned char *)p;
}

/* The object of `size` bytes in one that is larger by `align`. */
static unsigned char *align_object(unsigned char *p, size_t size, size_t align) {
  unsigned char kind = *entry_of(p);
  *entry_of(p) = 0;
  p += -(uintptr_t)p & (align - 1);
  *entry_of(p) = kind;
  (void)set_size(p, size);
  return p;
}

/* Slices are inaccessible before their use, so that the system provides no page of them to a program that locks its
 * memory. 0: the address space is limited, or the program's memory is. */
static int reserve_slices(void) {
  if (memory_limit() != SIZE_MAX) return 0;
  for (unsigned bits = 39; bits >= 36; bits -= 3) {
    size_t size = ((size_t)1 << bits) + TOFT_HUGE_PAGE;
    void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) continue;
    size_t units = ((size_t)1 << bits) / UNIT;
    void *table = mmap(NULL, units, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED) {
      munmap(p, size);
      continue;
    }
    A.start = (uintptr_t)toft_round((uintptr_t)p, TOFT_HUGE_PAGE);
    A.table = (unsigned char *)table;
    A.shift = bits - 9;
    A.size = (size_t)1 << bits;
    A.budget = memory_budget();
    return 1;
  }
  return 0;
}

/* An arena in its slice. */
static int make_arena(slice *s, size_t i) {
  if (S.sandbox || A.used >= A.budget) return 0;
  toft_region_options options = TOFT_REGION_OPTIONS;
  options.max = (size_t)1 << A.shift;
  options.memory = (void *)(A.start + (i << A.shift));
  if (mprotect(entry_of(options.memory), options.max / UNIT, PROT_READ | PROT_WRITE) != 0 ||
      mprotect(options.memory, options.max, PROT_READ | PROT_WRITE) != 0)
    return 0;
  s->region = toft_region_create(&options);
  s->ready = TOFT_HUGE_PAGE;
  s->arena = s->region != NULL ? toft_region_arena(s->region) : NULL;
  return s->arena != NULL;
}

/* Memory of a slice. NULL: there is none, or its arena would grow beyond the budget of all. */
static void *allocate_in(slice *s, size_t size) {
  size_t before = (size_t)(s->region->high - s->region->base);
  size_t left = A.budget > A.used ? (A.budget - A.used) / PAGE * PAGE : 0;
  s->region->control->max = toft_min((size_t)1 << A.shift, before + left);
  /* Pages are prepared as those of the blocks of other arenas are. */
  for (; s->ready < toft_min(before + TOFT_CAP, s->region->control->max); s->ready += TOFT_HUGE_PAGE)
    (void)toft_fresh_map(s->region->base + s->ready);
  void *p = make_object(s->arena, size);
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
  used = toft_round(used / UNIT, PAGE);
  munmap(A.table + used, size / UNIT - used);
}

static void leave_slice(slice *s, int64_t live) {
  __atomic_add_fetch(&s->live, live, __ATOMIC_RELEASE);
  STORE(&s->state, LEFT);
}

#endif
