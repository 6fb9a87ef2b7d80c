/* The second copy of the library, 4fb5ead5eba60f4b. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
