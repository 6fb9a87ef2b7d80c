/* The second copy of the library, aafb9bd5eba07ff4. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
