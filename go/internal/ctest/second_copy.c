/* The second copy of the library, f1ae31da3dffb2a9. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
