/* The second copy of the library, 3f1addf4d1c9c1cf. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
