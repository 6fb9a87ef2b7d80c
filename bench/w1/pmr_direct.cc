// See pmr.hpp.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "pmr.hpp"

#define NAME pmr_direct
#define SHOWN "pmr monotonic"
#define LANGUAGE "C++"
#define HANDLE direct *
#define OPEN(x) ((x)->resource.get())
#define CLOSE(x, h) ((void)(h))
#define TAKE(h, size) (h)->take(size, 8)
#define TAKE_ALIGNED(h, size, align) (h)->take(size, align)
#define CREATE_IN(x, buffer, size) create_in(x, buffer, size)
#include "loops.inc"
