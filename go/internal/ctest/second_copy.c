/* The second copy of the library, 2ec3c38aaaad2b2c. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
