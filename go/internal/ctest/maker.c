/* The second copy of the library, 49d21ca9376d0fa6. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
