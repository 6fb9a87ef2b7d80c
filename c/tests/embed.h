/* One copy of the library, seen through pointers: test_embed has three in one program.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_EMBED_H
#define TOFT_TEST_EMBED_H

#include "toft.h"

typedef struct copy {
  toft_arena *(*create)(void);
  int (*adopt)(toft_arena *a, toft_arena *donor);
  int (*blocks)(toft_arena *a, int (*fn)(void *arg, const toft_block *block), void *arg);
  char *(*print)(toft_arena *a, const char *format, ...);
  size_t (*cache_bytes)(void);
  void (*cache_trim)(void);
} copy;

#define EMBED_COPY \
  { toft_create, toft_adopt, toft_blocks, toft_printf, toft_cache_bytes, toft_cache_trim }

extern const copy embed_prefix, embed_static;

#endif
