/* The second copy of the library, 80b85e2fdf2bccdf. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
