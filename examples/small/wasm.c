/* An arena in WebAssembly, filled by wasm.mjs in Node through the exported functions.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "arena.h"

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
