/* An APR pool on the global allocator. Reset is apr_pool_clear; it keeps memory in the allocator.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <apr_general.h>
#include <apr_pools.h>
#include <apr_strings.h>

#include "w1.h"

struct arena {
  apr_pool_t *pool;
};

static int create(struct arena *x, size_t count, size_t bytes) {
  static int initialized;
  (void)count, (void)bytes;
  if (!initialized) initialized = apr_initialize() == APR_SUCCESS;
  return apr_pool_create(&x->pool, NULL) == APR_SUCCESS;
}
static void destroy(struct arena *x) { apr_pool_destroy(x->pool); }
static int clear(struct arena *x) { return apr_pool_clear(x->pool), 1; }

#define NAME apr
#define SHOWN "APR pool"
#define LANGUAGE "C"
#define HANDLE apr_pool_t *
#define OPEN(x) ((x)->pool)
#define CLOSE(x, h) ((void)(h))
#define TAKE(h, size) apr_palloc(h, size)
#define DUP(h, s) apr_pstrdup(h, s)
#include "loops.inc"
