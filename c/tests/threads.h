/* A call in a thread of its own.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_THREADS_H
#define TOFT_TEST_THREADS_H

#include <pthread.h>

#include "support.h"

/* Returns what work returned. */
static inline size_t in_thread(void *(*work)(void *), void *arg) {
  pthread_t t;
  void *result = NULL;
  assert_int_equal(pthread_create(&t, NULL, work, arg), 0);
  assert_int_equal(pthread_join(t, &result), 0);
  return (size_t)(uintptr_t)result;
}

#endif
