/* Toft's leases: an arena of the process's own cache, for the length of a call.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "toft.h"
#include "w1.h"

struct arena {
  toft_lease l;
};

static int create(struct arena *x, size_t count, size_t bytes) {
  (void)count, (void)bytes;
  x->l = toft_lease_get(NULL);
  return x->l.arena != NULL;
}
static void destroy(struct arena *x) { (void)toft_lease_return(NULL, x->l); }
static int clear(struct arena *x) { return toft_reset(x->l.arena) == TOFT_OK; }

#define NAME toft_lease
#define SHOWN "toft lease"
#define LEASE_ONLY
#define LANGUAGE "C"
#define HANDLE toft_arena *
#define OPEN(x) ((x)->l.arena)
#define CLOSE(x, h) ((void)(h))
#define TAKE(h, size) toft_alloc(h, size)
#include "loops.inc"
