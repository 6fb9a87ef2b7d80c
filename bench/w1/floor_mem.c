/* The floor with its cursor in memory, as in every arena that is passed by pointer.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "floor.h"

#define NAME floor_mem
#define LANGUAGE "C"
#define TAKE(h, size) take(h, size)
#define TAKE_ALIGNED(h, size, align) take_aligned(h, size, align)
#define CREATE_IN(x, buffer, size) create_in(x, buffer, size)
#define MARK unsigned char *
#define MARK_HERE(h) ((h)->cursor)
#define REWIND(h, m) ((h)->cursor = (m))
#include "loops.inc"
