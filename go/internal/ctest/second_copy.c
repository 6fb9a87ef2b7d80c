/* The second copy of the library, 5ce7c55b0bb49d41. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
