/* The second copy of the library, 6c38bc6ad5c7f9a6. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
