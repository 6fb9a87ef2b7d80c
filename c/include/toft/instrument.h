/* An instrument before an arena of another provider: of toft_mini.h, of Rust, of a language or library that implements
 * the ABI. It meters, limits and checks such an arena from outside, by the rules I1 to I5 of the specification, also
 * for clients that were compiled before. Arenas of this library do all that without one.
 *
 *     toft_arena *a = other_library_arena();
 *     toft_instrument_arena(a, 1);            for each arena of toft_mini.h: its macro TOFT_MINI_CREATED
 *     toft_set_checked(a, 1);                 findings, as in toft/findings.h
 *     toft_set_metered(a, 1);                 tags, phases, samples, budgets, snapshots, as in toft/meter.h
 *
 * DIFFERENCES from an arena of this library:
 *   - A budget is the provider's if it has budgets. Else the instrument has one, exact up to the padding of an
 *     allocation made while a range is claimed or moved to a new block. Those of tags are exact up to the padding of
 *     one in a new block.
 *   - In an arena that was not empty when its checks began, allocations from before have no records, and a pointer that
 *     is none of these is detected only if the provider answers toft_contains.
 *   - Writes to freed memory are detected in the current block, before it is used again and at reset, trim and release;
 *     not in blocks that went back to the provider's source. A released arena is not detected.
 *   - An arena that is alive at the end of the process is not checked then.
 *
 * COST. An arena without an instrument: none. With one, an allocation is inline unless the arena is checked; rewind,
 * resize and free become calls. It takes 1 KiB of malloc'ed memory, and a record for each allocation of a checked
 * arena. An allocation of 24 bytes, with a rewind after each 100, takes 16.2 instructions metered and 1,083 checked in
 * an arena of toft_mini.h; in an arena of this library 14.4 and 718 (callgrind, gcc 12 -O2).
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_INSTRUMENT_H
#define TOFT_INSTRUMENT_H

#include "toft/abi.h"
#include "toft/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* on != 0 puts an instrument before the arena's table, with the checks and meters that the environment sets for all
 * arenas (toft/findings.h, toft/meter.h); 0 takes it off. Nothing happens if the arena has one, or none, already, or is
 * of this library. The arena's owner calls it, on the thread that has the arena, between two calls. An instrument ends
 * with the arena.
 *
 * Returns TOFT_OK; TOFT_EBUSY while a range is claimed or a callback runs, or if another instrument was put on later;
 * TOFT_ENOMEM; TOFT_ENOSYS if the arena is of another version of the ABI, or its table has more than 256 bytes. An
 * error changes nothing. */
TOFT_API int toft_instrument_arena(toft_arena *a, int on);

#ifdef __cplusplus
}
#endif
#endif
