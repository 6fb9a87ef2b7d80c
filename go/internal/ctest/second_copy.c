/* The second copy of the library, b5ce298eb79ce6e4. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
