/* The second copy of the library, 90edf54c0c8f1b19. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
