/* The second copy of the library, 8b53db6e1f5320a5. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
