/* The second copy of the library, c8d5a8ba2f41cac5. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
