/* The second copy of the library, 31db81aa9ecd4eeb. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
