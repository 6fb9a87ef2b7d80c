/* The second copy of the library, 519a2cd6fb6b2e2e. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
