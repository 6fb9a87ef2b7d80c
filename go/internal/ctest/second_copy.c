/* The second copy of the library, d66757f3e7b3645e. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
