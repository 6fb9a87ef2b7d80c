/* The queries on C's structs, frozen or just parsed.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef LOOKUP_H
#define LOOKUP_H

#include "read.h"

static inline void look_up(const packages *all, const char *wanted) {
  text name = {wanted, strlen(wanted)};
  for (uint64_t at = hash_of(name);; at++) {
    uint64_t number = all->index[at & (all->index_size - 1)];
    if (number == 0) break;
    const package *p = &all->list[number - 1];
    if (!same_text(p->name, name)) continue;
    print_package(p->name, p->version, p->kib, p->depends_count, p->description);
    return;
  }
  printf("%s -\n", wanted);
}

static inline int depends_on(const package *p, text name) {
  for (uint64_t d = 0; d < p->depends_count; d++)
    if (same_text(p->depends[d], name)) return 1;
  return 0;
}

static inline uint64_t count_needs(const packages *all, const char *wanted) {
  text name = {wanted, strlen(wanted)};
  uint64_t count = 0;
  for (uint64_t i = 0; i < all->count; i++) count += (uint64_t)depends_on(&all->list[i], name);
  return count;
}

#endif
