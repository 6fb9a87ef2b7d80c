/* The second copy of the library, d629c6ad27c4386a. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
