/* Toft's hardened arenas, with the loops of the plain ones.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "toft.h"

static toft_arena *create_hardened(void *buffer, size_t size) {
  toft_options o = TOFT_OPTIONS;
  o.buffer = buffer;
  o.buffer_size = size;
  o.source = toft_heap();
  o.flags = TOFT_HARDENED;
  return toft_create_with(&o);
}

#define toft_create() create_hardened(NULL, 0)
#define toft_create_in(buffer, size, overflow) create_hardened(buffer, size)
#define NAME toft_hardened
#define SHOWN "toft hardened"
#include "toft.c"
