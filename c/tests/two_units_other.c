/* The second unit: every inline function and type of the headers, compiled once more.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "two_units.h"

const char *other_version(void) { return toft_version(); }
toft_source *other_heap(void) { return toft_heap(); }
toft_arena *other_create(void) { return toft_create(); }
toft_mark other_mark(const toft_arena *a) { return toft_mark_here(a); }
void *other_alloc(toft_arena *a, size_t size) { return toft_alloc(a, size); }
toft_arena *other_current(void) { return toft_current(); }
