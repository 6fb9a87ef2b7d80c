/* Plays abi/vectors on arenas of a copy of the library with an instrument before them: those of placement policy 1
 * while it is put on and taken off between operations, those of the rules with budgets of the instrument's own. The
 * answers are the same as without one, and the rules I1 to I4 hold.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "foreign_arenas.h"
#include "table_beneath.h"
#include "vector_player.h"

static vector_source *real;
static uint32_t seed;
static int switched;

static int refuse_budgets(toft_arena *a, uint32_t what, uint64_t value, const char *name, size_t n) {
  return what == TOFT_SET_BUDGET ? TOFT_ENOSYS : beneath_set(a, what, value, name, n);
}

static toft_arena *create(const toft_options *options) {
  const vec *v = ((const pages *)(const void *)real)->v;
  toft_options o = *options;
  if (beneath.broken != NULL) printf("FAILED %s [release]\n", beneath.broken), exit(1); /* in the release before */
  seed = v->count;
  switched = v->policy != 0;
  if (!switched) o.budget = 0;
  toft_arena *a = copy_create_with(&o);
  if (a == NULL) return NULL;
  beneath_put(a);
  if (switched) return a;
  beneath.table.ops.set = refuse_budgets;
  o.budget = options->budget != 0 ? options->budget : UINT64_MAX;
  if (beneath_switch(a, 1) != TOFT_OK || toft_set_metered(a, 1) != TOFT_OK) return NULL;
  return toft_set_budget(a, o.budget) == TOFT_OK ? a : NULL;
}

static const char *between(toft_arena *a) {
  seed = seed * 1664525u + 1013904223u;
  if (beneath_broken(a) != NULL || !switched || seed >> 30 != 0) return beneath.broken;
  int claimed = a->ops->rewind(a, NULL, 0) == TOFT_EBUSY;
  if (beneath_switch(a, !beneath.on) != (claimed ? TOFT_EBUSY : TOFT_OK)) return "I2: on or off";
  return beneath_broken(a);
}

#define CREATE create
#define BETWEEN between
#include "test_vectors.c"
