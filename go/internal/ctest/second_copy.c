/* The second copy of the library, 7e60a2659e3b8f19. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
