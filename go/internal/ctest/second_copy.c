/* The second copy of the library, 89ccae2d6bf6c61e. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
