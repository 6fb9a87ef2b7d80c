/* The second copy of the library, e7fd558b1fbcd4a3. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
