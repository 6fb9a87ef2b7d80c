/* Budgets, arenas on them, and a callback that counts refusals.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_BUDGETS_H
#define TOFT_TEST_BUDGETS_H

#include "support.h"

static inline toft_budget *budget_of(toft_budget *parent, size_t limit) {
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.parent = parent;
  o.limit = limit;
  toft_budget *b = toft_budget_create(&o);
  assert_non_null(b);
  return b;
}

static inline toft_arena *arena_of(toft_budget *b) {
  toft_options o = TOFT_OPTIONS;
  o.source = toft_budget_source(b);
  return toft_create_with(&o);
}

static inline uint64_t reserved(const toft_budget *b) { return toft_budget_get_stats(b).reserved; }

typedef struct caller {
  toft_arena *frees; /* released by the callback */
  toft_budget *refusing;
  size_t calls, size;
  int answer;
} caller;

static inline int on_refused(void *arg, toft_budget *b, size_t size) {
  caller *c = (caller *)arg;
  c->calls++;
  c->refusing = b;
  c->size = size;
  toft_release(c->frees);
  c->frees = NULL;
  return c->answer;
}

#endif
