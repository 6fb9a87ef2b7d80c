/* The library, which takes its own memory from the C library: for files that define malloc and its relatives.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_BENCH_W6_LIBRARY_ON_LIBC_H
#define TOFT_BENCH_W6_LIBRARY_ON_LIBC_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

void *__libc_memalign(size_t align, size_t size);
static int align_block(void **result, size_t align, size_t size) {
  return (*result = __libc_memalign(align, size)) != NULL ? 0 : ENOMEM;
}
#define posix_memalign align_block
#define malloc __libc_malloc
#define calloc __libc_calloc
#define realloc __libc_realloc
#define free __libc_free
#include "toft.c"
#undef posix_memalign
#undef malloc
#undef calloc
#undef realloc
#undef free

#endif
