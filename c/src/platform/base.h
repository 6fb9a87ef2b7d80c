/* Included by every file of the library: the feature macro, the C library, the public header, and units of size.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_BASE_H
#define TOFT_PLATFORM_BASE_H

#ifdef TOFT_NO_OS /* these features need threads, a heap or reserved addresses */
#undef TOFT_OMIT_CHECKS
#undef TOFT_OMIT_METERS
#undef TOFT_OMIT_PAGE_CACHE
#undef TOFT_OMIT_POOLS
#undef TOFT_OMIT_THREADS
#define TOFT_OMIT_CHECKS 1
#define TOFT_OMIT_METERS 1
#define TOFT_OMIT_PAGE_CACHE 1
#define TOFT_OMIT_POOLS 1
#define TOFT_OMIT_THREADS 1
#endif

#if !defined(_WIN32) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE 1 /* madvise, MAP_ANONYMOUS */
#endif
#if !defined(_WIN32) && !defined(__LP64__) && !defined(_FILE_OFFSET_BITS)
#define _FILE_OFFSET_BITS 64 /* else stat fails on 32-bit systems where the file's number has more bits */
#endif

#if defined(TOFT_OMIT_CHECKS) || defined(TOFT_OMIT_METERS) || defined(TOFT_OMIT_PAGE_CACHE) || \
    defined(TOFT_OMIT_RECYCLER) || defined(TOFT_OMIT_THREADS)
#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic ignored "-Wunused-function" /* functions that only omitted features call */
#endif
#endif

#include <limits.h>

#include "toft.h"

#ifndef TOFT_NO_LIBC
#include <stdio.h>
#include <stdlib.h>
#endif

#define TOFT_KIB ((size_t)1024)
#define TOFT_MIB ((size_t)1024 * 1024)

#endif
