/* A copy without symbols.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_STATIC
#include "toft.c"

#include "embed.h"

const copy embed_static = EMBED_COPY;
