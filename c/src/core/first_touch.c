/* The first touch of mapped pages, which costs a program that runs once more than its allocations do.
 *
 * A huge page costs a fifth of the same memory in small pages, or eight times as much, where the host of a virtual
 * machine has to provide it first. Such pages follow each other, so the time of each first touch is measured, and after
 * a slow one the next mappings have small pages. So has the first mapping of a process, whose end a short program does
 * not reach. Small pages are made present together, which saves faults, once a mapping more or less is a small part of
 * what the process has used; the system may join them into huge pages later. The memory of large objects, of which a
 * part may be written, has huge pages too while they are fast; where they are slow, it has small ones for longer, but
 * not when it is used again.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_FIRST_TOUCH_C
#define TOFT_CORE_FIRST_TOUCH_C

#include "../platform/atomic.c"
#include "../platform/os.c"
#include "policy.c"

#if defined(MADV_HUGEPAGE) && !defined(TOFT_OMIT_PAGE_CACHE)
#define TOFT_FRESH_SLOW 1000000                    /* nanoseconds for a huge page */
#define TOFT_FRESH_LEAST (8 * TOFT_HUGE_PAGE)      /* bytes in small pages after a slow one; doubled by each, up to */
#define TOFT_FRESH_MOST (64 * TOFT_HUGE_PAGE)      /* this */
#define TOFT_FRESH_POPULATED (16 * TOFT_HUGE_PAGE) /* bytes mapped before small pages are made present */
#define TOFT_FRESH_NONE 20000                      /* nanoseconds for a page that was present, at most */
#define TOFT_FRESH_PART 8 /* times `small` bytes have small pages where a part of them may be written */

static struct {
  size_t mapped;     /* bytes; never falls */
  size_t small;      /* bytes that have small pages next */
  size_t after;      /* `small` after the last slow touch; 0 after a fast one */
  size_t is_refused; /* the system makes no pages present */
  size_t wholes;     /* calls of toft_fresh_map_whole */
} toft_fresh;        /* atomic; a change that another thread overwrites does no harm */

/* After the first touch of a huge page. */
static void toft_fresh_measured(int slow) {
  size_t after = slow ? toft_max(TOFT_FRESH_LEAST, 2 * TOFT_LOAD(&toft_fresh.after)) : 0;
  TOFT_STORE(&toft_fresh.after, toft_min(after, TOFT_FRESH_MOST));
  TOFT_STORE(&toft_fresh.small, toft_min(after, TOFT_FRESH_MOST));
}

/* The first touch of a huge page, unless it was present. */
static void toft_fresh_touch(unsigned char *p) {
  uint64_t began = toft_os_nanoseconds(), passed;
  *(volatile unsigned char *)p = 0;
  passed = toft_os_nanoseconds() - began;
  if (passed > TOFT_FRESH_NONE) toft_fresh_measured(passed > TOFT_FRESH_SLOW);
}

/* Prepares a huge page that blocks of a growing arena will probably fill: maps it, unless it is mapped at `at`. */
static void *toft_fresh_map(void *at) {
  size_t size = TOFT_HUGE_PAGE, small = TOFT_LOAD(&toft_fresh.small), mapped = TOFT_ADD(&toft_fresh.mapped, size);
  int huge = small == 0 && mapped > size; /* with this one */
  unsigned char *p = (unsigned char *)(at != NULL ? at : toft_os_map(size, huge));
  if (p == NULL) return NULL;
  if (huge && at != NULL) toft_os_prefer_huge_pages(p, size);
  if (huge) toft_fresh_touch(p);
  if (small != 0) {
    TOFT_STORE(&toft_fresh.small, small - toft_min(small, size));
    toft_os_prefer_small_pages(p, size);
  }
  if (mapped <= TOFT_FRESH_POPULATED || TOFT_LOAD(&toft_fresh.is_refused)) return p;
  if (!toft_os_populate(p, size))
    TOFT_STORE(&toft_fresh.is_refused, 1);
  else if (small != 0)
    toft_os_prefer_huge_pages(p, size);
  return p;
}

/* Maps pages that prefer huge ones. */
static void *toft_fresh_map_whole(size_t size) {
  TOFT_ADD(&toft_fresh.wholes, 1);
  return toft_os_map(size, 1);
}
/* Changes when such pages are mapped. */
static size_t toft_fresh_wholes(void) { return TOFT_LOAD(&toft_fresh.wholes); }

/* Begins to use a new mapping, which prefers huge pages and may be written in part: small pages then cost less where
 * huge ones are slow. Returns whether it prefers small pages somewhere from now on. */
static int toft_fresh_begin(unsigned char *p, size_t size) {
  int some = 0;
  for (const unsigned char *end = p + size; p < end; p += TOFT_HUGE_PAGE) {
    size_t small = TOFT_LOAD(&toft_fresh.small);
    if (small == 0) {
      toft_fresh_touch(p);
      continue;
    }
    TOFT_STORE(&toft_fresh.small, small - toft_min(small, TOFT_HUGE_PAGE / TOFT_FRESH_PART));
    toft_os_prefer_small_pages(p, TOFT_HUGE_PAGE);
    some = 1;
  }
  return some;
}
/* Before memory that has small pages somewhere is used again. */
static void toft_fresh_end(void *p, size_t size) { toft_os_prefer_huge_pages(p, size); }
#else
static void toft_fresh_end(void *p, size_t size) { (void)p, (void)size; }
static int toft_fresh_begin(unsigned char *p, size_t size) { return (void)p, (void)size, 0; }
static void *toft_fresh_map_whole(size_t size) { return toft_os_map(size, 1); }
static size_t toft_fresh_wholes(void) { return 0; }
static void *toft_fresh_map(void *at) { return at != NULL ? at : toft_os_map(TOFT_HUGE_PAGE, 1); }
#endif

#endif
