/* The second copy of the library, 1a63e8c270eeb7be. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
