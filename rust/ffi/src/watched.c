/* C code in an arena that Rust instruments: its own tags and sites, and faults.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <string.h>

#include "toft.h"

/* Makes n allocations of size bytes at call site `site`, under a tag. Returns the number that succeeded. */
size_t watched_fill(toft_arena *a, size_t n, size_t size, uintptr_t site, uint64_t tag, const char *name);
size_t watched_fill(toft_arena *a, size_t n, size_t size, uintptr_t site, uint64_t tag, const char *name) {
  size_t made = 0;
  if (a->ops->set(a, TOFT_SET_TAG, tag, name, strlen(name)) != TOFT_OK) return 0;
  for (size_t i = 0; i < n; i++) {
    char *p = (char *)a->ops->alloc(a, size, 8, 0, site);
    if (p == NULL) break;
    memset(p, 1, size);
    made++;
  }
  return a->ops->set(a, TOFT_SET_TAG, 0, NULL, 0) == TOFT_OK ? made : 0;
}

/* Writes a byte at offset `at` of a new allocation. Returns the code of the rewind. */
int watched_fault(toft_arena *a, size_t size, ptrdiff_t at);
int watched_fault(toft_arena *a, size_t size, ptrdiff_t at) {
  toft_mark m = toft_mark_here(a);
  char *p = (char *)toft_alloc(a, size);
  if (p == NULL) return TOFT_ENOMEM;
  p[at] = 1;
  return toft_rewind(a, m);
}

/* Commits a double free, a resize after free and a stale rewind. Returns the code of the rewind. */
int watched_misuse(toft_arena *a, size_t size);
int watched_misuse(toft_arena *a, size_t size) {
  toft_mark before = toft_mark_here(a);
  void *p = toft_alloc(a, size), *q;
  if (p == NULL) return TOFT_ENOMEM;
  a->ops->free(a, p, size);
  a->ops->free(a, p, size);
  q = a->ops->resize(a, p, size, size + 1, 8, 0, 77);
  if (q != NULL) return TOFT_OK;
  if (toft_alloc(a, size) == NULL) return TOFT_ENOMEM;
  toft_mark stale = toft_mark_here(a);
  if (toft_rewind(a, before) != TOFT_OK || toft_alloc(a, size) == NULL) return TOFT_OK;
  return toft_rewind(a, stale);
}
