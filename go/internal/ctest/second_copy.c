/* The second copy of the library, 7a26bf2de03c2e36. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
