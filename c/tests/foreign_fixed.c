/* An arena of the specification's example fixed.h.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "examples/fixed.h"

toft_arena *fixed_create(void);
toft_arena *fixed_create(void) {
  static unsigned char buffer[1 << 20];
  return fixed_init(buffer, sizeof buffer);
}
