/* The second copy of the library, 3d3d1dc5b0cfbe0c. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
