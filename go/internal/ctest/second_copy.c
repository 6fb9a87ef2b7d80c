/* The second copy of the library, 535cb8eaadaf5d1c. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
