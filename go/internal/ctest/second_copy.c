/* The second copy of the library, 4fcfc744f8b5b2c3. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
