/* The second copy of the library, 0e3aeb83d0ae68fb. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
