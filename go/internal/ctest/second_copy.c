/* The second copy of the library, 8fad487c1f5cf38b. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
