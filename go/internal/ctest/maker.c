/* The second copy of the library, 3dc7495b3faf78b4. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
