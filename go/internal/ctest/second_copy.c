/* The second copy of the library, fd5cc9a394b4d5eb. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
