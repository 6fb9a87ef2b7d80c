/* Toft's packed bytes, where strings lie side by side. Only its row of strings is of interest, and only
 * that is timed.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "toft_arena.h"

#define NAME toft_pack
#define SHOWN "toft pack"
#define LANGUAGE "C"
#define STRINGS_ONLY
#define HANDLE toft_pack
#define OPEN(x) toft_pack_begin((x)->a)
#define CLOSE(x, h) ((void)(h))
#define TAKE(h, size) toft_alloc((h).arena, size)
#define DUP(h, s) toft_pack_strdup(&(h), s)
#include "loops.inc"
