/* The second copy of the library, 1c2ee8a3c0015a31. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
