/* The second copy of the library, 9cb24d39c5f40d83. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
