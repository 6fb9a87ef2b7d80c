/* The second copy of the library. SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.c"
