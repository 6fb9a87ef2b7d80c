/* An arena on a Cortex-M3 without an operating system or a heap. QEMU's semihosting prints the result.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "arena.h"

extern unsigned char stack_top[]; /* cortex_m.ld */

static _Alignas(64) unsigned char buffer[8192];

/* A call of the debugger: 4 prints a string, 0x18 ends the program, with success if the argument is 0x20026. */
static void semihost(uintptr_t what, const void *argument) {
  register uintptr_t r0 __asm__("r0") = what;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void start(void);
void start(void) {
  int worked = fill_and_reset(buffer, sizeof buffer);
  semihost(4, worked ? "cortex-m: ok\n" : "cortex-m: FAILED\n");
  semihost(0x18, (const void *)(uintptr_t)(worked ? 0x20026 : 0x20023));
  for (;;) continue;
}

__attribute__((section(".vectors"), used)) static const void *const vectors[2] = {stack_top, (const void *)start};
