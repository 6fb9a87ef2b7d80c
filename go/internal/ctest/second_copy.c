/* The second copy of the library, 3d4b2687418a33f2. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
