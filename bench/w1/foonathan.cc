// foonathan/memory's memory_stack<>, 4 KiB at first, as in its documentation. Reset: unwind to the marker
// taken at the start; blocks stay in its cache. It refuses a request above the size of its next block, so
// it has no row of 1 MiB.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <foonathan/memory/default_allocator.hpp>
#include <foonathan/memory/memory_stack.hpp>

#include "placed.hpp"
#include "w1.h"

using stack = foonathan::memory::memory_stack<>;

struct arena {
  placed<stack> s;
  placed<stack::marker> start;
};

static int create(struct arena *x, size_t, size_t) {
  x->s.make(std::size_t{4096});
  return x->start.make(x->s.get()->top());
}
static void destroy(struct arena *x) { x->s.unmake(); }
static int clear(struct arena *x) { return x->s.get()->unwind(*x->start.get()), 1; }

#define NAME foonathan
#define SHOWN "foonathan stack"
#define LANGUAGE "C++"
#define SMALL_ONLY
#define HANDLE stack *
#define OPEN(x) ((x)->s.get())
#define CLOSE(x, h) ((void)(h))
#define TAKE(h, size) (h)->allocate(size, 8)
#define TAKE_ALIGNED(h, size, align) (h)->allocate(size, align)
#define MARK stack::marker
#define MARK_HERE(h) (h)->top()
#define REWIND(h, m) (h)->unwind(m)
#include "loops.inc"
