/* The second copy of the library, 223b4f8a9ae490cc. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
