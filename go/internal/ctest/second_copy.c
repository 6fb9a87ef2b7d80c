/* The second copy of the library, d96f9df308c9c1db. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
