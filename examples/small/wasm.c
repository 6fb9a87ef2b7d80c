/* An arena and a recycler in WebAssembly. The arena is filled by wasm.mjs in Node through the exported functions.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "arena.h"

#include <toft/recycler.h>

static _Alignas(64) unsigned char buffer[65536];

__attribute__((export_name("fill_and_reset"))) int exported_fill_and_reset(void) {
  return fill_and_reset(buffer, sizeof buffer);
}

/* JavaScript allocates by the head alone: cursor, ops, limit and epoch are four 32-bit words. */
__attribute__((export_name("create"))) toft_arena *exported_create(void) {
  return toft_create_in(buffer, sizeof buffer, NULL);
}

__attribute__((export_name("live"))) unsigned exported_live(toft_arena *a) { return (unsigned)toft_get_stats(a).live; }

__attribute__((export_name("release"))) void exported_release(toft_arena *a) { toft_release(a); }

/* A recycler on the heap: memory that is freed is allocated again. Returns 1 if every step succeeded. */
__attribute__((export_name("recycle"))) int exported_recycle(void) {
  toft_recycler r;
  char *p[64];
  size_t held = 0;
  if (toft_recycler_init(&r, NULL) != TOFT_OK) return 0;
  for (int round = 0; round < 100; round++) {
    for (size_t i = 0; i < 64; i++) {
      if ((p[i] = (char *)toft_recycler_alloc(&r, 1 + i * 97, 8)) == NULL) return 0;
      memset(p[i], round, 1 + i * 97);
    }
    for (size_t i = 0; i < 64; i++) {
      if (p[i][0] != round || p[i][i * 97] != round) return 0;
      toft_recycler_free(&r, p[i], 1 + i * 97);
    }
    if (round > 0 && toft_recycler_get_stats(&r).reserved != held) return 0;
    held = toft_recycler_get_stats(&r).reserved;
  }
  if (toft_recycler_get_stats(&r).used != 0 || held == 0) return 0;
  toft_recycler_release(&r);
  return 1;
}
