/* A copy with other symbol names.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_PREFIX mylib_
#include "toft.c"

#include "embed.h"

const copy embed_prefix = EMBED_COPY;
