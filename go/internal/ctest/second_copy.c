/* The second copy of the library, 6d2417c9a27f61a0. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
