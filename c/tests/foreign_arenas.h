/* Arenas that are not of the library under test: of abi/toft_mini.h, and of a copy of the library without symbols.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_FOREIGN_ARENAS_H
#define TOFT_TEST_FOREIGN_ARENAS_H

#include "toft.h"

extern int mini_instruments; /* new arenas of toft_mini.h have them */
toft_arena *mini_create(void);
toft_arena *copy_create(void);
toft_arena *copy_create_with(const toft_options *options);
int copy_instrument(toft_arena *a, int on); /* the copy's toft_instrument_arena */
int copy_soft_budget(toft_arena *a, uint64_t bytes, toft_soft_budget_fn *fn, void *arg);
size_t copy_found(toft_arena *a); /* the copy's findings, since the last call */

#endif
