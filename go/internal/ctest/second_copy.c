/* The second copy of the library, 4c7708cf480fccdb. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
