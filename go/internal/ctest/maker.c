/* The second copy of the library, 3ab3f2f62c3464da. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
