/* The second copy of the library, 2fd8ddfa615239d4. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
