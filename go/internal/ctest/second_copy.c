/* The second copy of the library, f6f9723e2a37f8f8. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
