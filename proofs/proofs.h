/* What the harnesses share. A harness is a function without arguments: it makes a state with unknown values, restricts
 * it to the preconditions of a function, calls this, and asserts its contract. CBMC then tries all values.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PROOFS_H
#define TOFT_PROOFS_H

#include <stddef.h>
#include <stdint.h>

#define assume(condition) __CPROVER_assume(condition)
#define prove(condition) __CPROVER_assert(condition, #condition)

/* Values that CBMC chooses: functions without a body return any value. */
size_t nondet_size(void);
uint32_t nondet_u32(void);
uint64_t nondet_u64(void);
int nondet_int(void);
unsigned char *nondet_pointer(void);

static inline int is_power_of_two(size_t n) { return n != 0 && (n & (n - 1)) == 0; }

#endif
