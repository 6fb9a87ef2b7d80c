/* What the second unit of test_two_units offers.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_TWO_UNITS_H
#define TOFT_TEST_TWO_UNITS_H

#include "toft.h"

const char *other_version(void);
toft_source *other_heap(void);
toft_arena *other_create(void);
toft_mark other_mark(const toft_arena *a);
void *other_alloc(toft_arena *a, size_t size);
toft_arena *other_current(void);

#endif
