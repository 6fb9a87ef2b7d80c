/* The arenas of toft_mini.h.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "page_memory.h"
#include "toft/instrument.h"

/* The padding of large alignments is the same in each arena. */
#define PAGES(size) (((size) + 4095) / 4096 * 4096)
#define TOFT_MINI_TAKE(size) page_memory(PAGES(size))
#define TOFT_MINI_PUT(block, size) page_memory_free(block, PAGES(size))
#if !defined(TOFT_OMIT_INSTRUMENT) && !defined(TOFT_OMIT_CHECKS) && !defined(TOFT_OMIT_METERS)
#define TOFT_MINI_CREATED(a) (void)toft_instrument_arena(a, mini_instruments)
#endif
extern int mini_instruments;
int mini_instruments;
#include "toft_mini.h"

toft_arena *mini_create(void);
toft_arena *mini_create(void) { return toft_create(); }
