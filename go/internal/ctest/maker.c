/* The second copy of the library, 1e1449c6d71ccc21. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
