/* The arenas and instruments of a copy of the library.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_STATIC
#include "toft.c"

#include "foreign_arenas.h"

static void ignore(void *arg, const toft_finding *f) { (void)arg, (void)f; }

toft_arena *copy_create_with(const toft_options *o) { return toft_create_with(o); }
toft_arena *copy_create(void) {
  toft_arena *a = toft_create();
  if (a != NULL) (void)toft_set_checked(a, 0); /* of a checked process: the instrument has the checks */
  return a;
}
int copy_instrument(toft_arena *a, int on) { return toft_instrument_arena(a, on); }
int copy_soft_budget(toft_arena *a, uint64_t bytes, toft_soft_budget_fn *fn, void *arg) {
  return toft_set_soft_budget(a, bytes, fn, arg);
}
size_t copy_found(toft_arena *a) { return (size_t)toft_findings(a, ignore, NULL); }
