/* The second copy of the library, c1d6cfdf14ceb477. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
