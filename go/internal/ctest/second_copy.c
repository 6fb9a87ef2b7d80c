/* The second copy of the library, 4f3b245f7c7e8eb1. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
