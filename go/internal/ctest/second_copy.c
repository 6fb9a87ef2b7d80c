/* The second copy of the library, cb7589e5b7b35fcb. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
