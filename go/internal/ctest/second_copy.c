/* The second copy of the library, 6912cbc2281e8ff2. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
