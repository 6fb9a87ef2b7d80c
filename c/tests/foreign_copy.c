/* The arenas and instruments of a copy of the library.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_STATIC
#include "toft.c"

#include "foreign_arenas.h"

static void ignore(void *arg, const toft_finding *f) { (void)arg, (void)f; }

toft_arena *copy_create(void) { return toft_create(); }
int copy_instrument(toft_arena *a, int on) { return toft_instrument_arena(a, on); }
size_t copy_found(toft_arena *a) { return (size_t)toft_findings(a, ignore, NULL); }
