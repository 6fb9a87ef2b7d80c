/* The bytes that arenas and caches have taken from the system and not returned. They are counted for packages whose
 * runtime has a limit of memory, which define TOFT_RUNTIME: in other programs each block that a thread takes from its
 * heap would write to a cache line that all threads share.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_HELD_C
#define TOFT_PLATFORM_HELD_C

#include "atomic.c"
#include "base.h"

#ifdef TOFT_RUNTIME
static size_t toft_held;       /* atomic */
static size_t toft_heap_freed; /* atomic; bytes given back to the C heap since toft_heap_trim */
#define TOFT_HELD_MORE(bytes) ((void)TOFT_ADD(&toft_held, (size_t)(bytes)))
#define TOFT_HELD_LESS(bytes) ((void)TOFT_ADD(&toft_held, (size_t)0 - (size_t)(bytes)))

size_t toft_held_bytes(void) { return TOFT_LOAD(&toft_held); }
#else
#define TOFT_HELD_MORE(bytes) ((void)(bytes))
#define TOFT_HELD_LESS(bytes) ((void)(bytes))
#endif

#endif
