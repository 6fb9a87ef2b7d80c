/* Memory for blocks whose addresses rise or fall from block to block: a mark is then above or below the cursor of a
 * newer block. The bytes around a block and those of a returned one are inaccessible. It takes the place of the tests'
 * page_memory.h.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_PAGE_MEMORY_H
#define TOFT_TEST_PAGE_MEMORY_H
#include <stddef.h>

enum placed_order { FALLING, RISING };
extern enum placed_order placed; /* of the blocks that come next */

/* On a multiple of `boundary`, which is a power of two from 4096 on. NULL: no memory. */
void *placed_memory(size_t size, size_t boundary);
void page_memory_free(void *p, size_t size);

static inline void *page_memory(size_t size) { return placed_memory(size, 4096); }

#endif
