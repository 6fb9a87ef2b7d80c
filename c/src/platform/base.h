/* Included by every file of the library: the feature macro, the C library, the public header, and units of size.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_BASE_H
#define TOFT_PLATFORM_BASE_H

#if !defined(_WIN32) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE 1 /* madvise, MAP_ANONYMOUS */
#endif

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "toft.h"

#define TOFT_KIB ((size_t)1024)
#define TOFT_MIB ((size_t)1024 * 1024)

#endif
