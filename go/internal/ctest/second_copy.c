/* The second copy of the library, cc5a0fbfadf90c91. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
