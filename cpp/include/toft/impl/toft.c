/* The C library, for the file that defines TOFT_IMPLEMENTATION. Here it is the source in c/src; a release and an
 * installation have the library itself in this place.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../../../c/src/toft.c"
