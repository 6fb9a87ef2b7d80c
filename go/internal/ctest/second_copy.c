/* The second copy of the library, 2d7b7045e3ea0671. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
