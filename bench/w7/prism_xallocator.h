/* What prism includes if PRISM_XALLOCATOR is defined: its allocations are calls by hooks.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef PRISM_XALLOCATOR_H
#define PRISM_XALLOCATOR_H

#include <stddef.h>

/* ---- adapter: macros for allocation, in prism's build ---- */

extern struct hooks {
  void *(*alloc)(size_t), *(*zeroed)(size_t, size_t), *(*resize)(void *, size_t), (*release)(void *);
} hooks;

#define xmalloc hooks.alloc
#define xcalloc hooks.zeroed
#define xrealloc hooks.resize
#define xfree hooks.release

/* ---- end of the adapter ---- */

#endif
