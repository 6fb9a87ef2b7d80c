/* A use of every kind of allocator, for tests of what threads and processes do around it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_EVERY_KIND_H
#define TOFT_TEST_EVERY_KIND_H

#include "support.h"

/* The recycler is the caller's; the frames may be of all threads. Returns whether all went well. */
static inline int use_every_kind(toft_recycler *r, toft_frames *frames) {
  toft_arena *a = toft_create(), *frame = toft_frame_arena(frames);
  toft_lease l = toft_lease_get(NULL);
  toft_shared *s = toft_shared_create(NULL);
  toft_sync_recycler *y = toft_sync_recycler_create(NULL);
  toft_malloc m;
  toft_malloc_init(&m, NULL);
  int good = a != NULL && frame != NULL && l.arena != NULL && s != NULL && y != NULL;
  if (good) {
    toft_arena *local = toft_shared_local(s);
    toft_mark here = toft_mark_here(frame);
    unsigned char *p[] = {
        (unsigned char *)toft_alloc(a, 3000),
        (unsigned char *)toft_alloc(frame, 3000),
        (unsigned char *)toft_alloc(l.arena, 3000),
        (unsigned char *)toft_shared_alloc(s, 3000, 8),
        (unsigned char *)(local != NULL ? toft_alloc(local, 3000) : NULL),
        (unsigned char *)toft_recycler_alloc(r, 3000, 8),
        (unsigned char *)toft_sync_recycler_alloc(y, 3000, 8),
        (unsigned char *)toft_malloc_alloc(&m, 3000),
        (unsigned char *)toft_alloc(a, 2 << 20), /* of the process's cache of pages */
    };
    enum { COUNT = sizeof p / sizeof *p };
    for (unsigned i = 0; i < COUNT; i++) good = good && p[i] != NULL;
    for (unsigned i = 0; good && i < COUNT; i++) fill(p[i], 3000, i);
    for (unsigned i = 0; good && i < COUNT; i++) good = filled(p[i], 3000, i);
    toft_recycler_free(r, p[5], 3000);
    toft_sync_recycler_free(y, p[6], 3000);
    good &= toft_rewind(frame, here) == TOFT_OK;
  }
  toft_malloc_release(&m);
  toft_sync_recycler_release(y);
  good &= toft_shared_release(s) == TOFT_OK;
  good &= toft_lease_return(NULL, l) == TOFT_OK;
  toft_release(a);
  return good;
}

#endif
