// std::pmr::monotonic_buffer_resource with defaults. Reset is release(), which gives everything back to the
// upstream and, with a caller's buffer, starts there again.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include <memory_resource>

#include "placed.hpp"
#include "w1.h"

// Allocates without the table of virtual functions, as when the object's type is known.
struct direct final : std::pmr::monotonic_buffer_resource {
  using monotonic_buffer_resource::monotonic_buffer_resource;
  void *take(std::size_t size, std::size_t align) { return monotonic_buffer_resource::do_allocate(size, align); }
};

struct arena {
  placed<direct> resource;
};

static int create(struct arena *x, size_t, size_t) { return x->resource.make(); }
static int create_in(struct arena *x, void *buffer, size_t size) { return x->resource.make(buffer, size); }
static void destroy(struct arena *x) { x->resource.unmake(); }
static int clear(struct arena *x) { return x->resource.get()->release(), 1; }
