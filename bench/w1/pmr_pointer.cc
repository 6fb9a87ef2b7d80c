// The same behind a std::pmr::memory_resource *, as containers hold it. See pmr.hpp.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "pmr.hpp"

static inline std::pmr::memory_resource *hidden(std::pmr::memory_resource *r) {
  __asm__("" : "+r"(r));  // hides the object from the compiler
  return r;
}

#define NAME pmr_pointer
#define SHOWN "pmr by pointer"
#define LANGUAGE "C++"
#define HANDLE std::pmr::memory_resource *
#define OPEN(x) hidden((x)->resource.get())
#define CLOSE(x, h) ((void)(h))
#define TAKE(h, size) (h)->allocate(size, 8)
#define TAKE_ALIGNED(h, size, align) (h)->allocate(size, align)
#define CREATE_IN(x, buffer, size) create_in(x, buffer, size)
#include "loops.inc"
