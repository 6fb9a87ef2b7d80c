/* Cleanups that note their names of one letter, in the order in which they run.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TESTS_CLEANUP_ORDER_H
#define TOFT_TESTS_CLEANUP_ORDER_H

#include "support.h"

static char cleanups_run[64];
static void note(void *arg) { strncat(cleanups_run, (const char *)arg, 1); }

static void add(toft_arena *a, const char *name) {
  assert_non_null(toft_cleanup_add(a, note, (void *)(uintptr_t)name));
}

static void ran(const char *expected) {
  assert_string_equal(cleanups_run, expected);
  cleanups_run[0] = '\0';
}

#endif
