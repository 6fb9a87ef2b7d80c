/* Ranges of address space for pools: taken whole, committed from the front as the pool grows, never moved.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFTGO_RESERVE_H
#define TOFTGO_RESERVE_H
#include <stddef.h>

/* Sizes and addresses are multiples of the system's page. readable: what is not committed reads as zero, where it would
 * fault otherwise. NULL: no address space. */
void *toftgo_range_take(size_t size, int readable);
/* Makes it writable. 0: no memory. */
int toftgo_range_commit(void *p, size_t size);
/* Gives the memory back; what it held is lost. keep: it stays committed, and is taken anew when it is touched. */
void toftgo_range_drop(void *p, size_t size, int keep);
void toftgo_range_end(void *p, size_t size);
#endif
