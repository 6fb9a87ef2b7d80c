/* The second copy of the library, ccfe3ed75a7cb1e3. Made by scripts/amalgamate.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
