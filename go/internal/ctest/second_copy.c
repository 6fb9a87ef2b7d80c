/* The second copy of the library, 00edf1f39cf3b83f. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
