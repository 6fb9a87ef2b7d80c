/* The interface of a host and its plugins, with all of Toft that a plugin in C or C++ needs: it links with nothing.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef QUERY_H
#define QUERY_H
#include "toft_abi.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct row {
  struct row *next;
  const char *name, *value;
  int64_t id;
} row;

/* The newest row first, all of them in `a` until the host resets it. NULL: no memory, or another version of the ABI;
 * what the plugin allocated so far remains until then. */
typedef row *plugin_query(toft_arena *a, int64_t count);

/* `size` bytes, aligned to 8. NULL: no memory. */
static inline void *take(toft_arena *a, size_t size) {
  unsigned char *p = a->cursor;
  if ((size_t)(a->limit - p) < size) return a->ops->alloc(a, size, 8, 0, 0);
  a->cursor = p + ((size + 7) & ~(size_t)7);
  return p;
}

#ifdef __cplusplus
}
#endif
#endif
