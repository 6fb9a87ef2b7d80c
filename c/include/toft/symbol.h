/* The names of code addresses, for findings and snapshots.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_SYMBOL_H
#define TOFT_SYMBOL_H

#include "toft/abi.h"
#include "toft/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The location of a code address. Unknown members are NULL or 0. */
typedef struct toft_symbol {
  const char *function;
  size_t offset; /* from its first byte */
  const char *module;
  size_t module_offset; /* of the call, relative to the load address of the module: the input of addr2line */
  const char *file;
  unsigned line; /* from 1 */
} toft_symbol;
/* Fills in what is known of the call that returns to `address` (so it looks up the byte before), and returns non-zero
 * if that is anything. Strings must be valid until the next call. */
typedef int toft_symbolize_fn(void *arg, const void *address, toft_symbol *symbol);
/* The default symbolizer: dladdr, which knows exported functions, those of shared libraries and of a program linked
 * with -rdynamic. It finds nothing on Windows. `arg` is ignored. */
TOFT_API int toft_symbolize(void *arg, const void *address, toft_symbol *symbol);

#ifdef __cplusplus
}
#endif
#endif
