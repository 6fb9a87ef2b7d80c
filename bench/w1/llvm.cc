// LLVM's BumpPtrAllocator with defaults. Reset() keeps the first slab.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <llvm/Support/Allocator.h>

#include "placed.hpp"
#include "w1.h"

struct arena {
  placed<llvm::BumpPtrAllocator> allocator;
};

static int create(struct arena *x, size_t, size_t) { return x->allocator.make(); }
static void destroy(struct arena *x) { x->allocator.unmake(); }
static int clear(struct arena *x) { return x->allocator.get()->Reset(), 1; }

#define NAME llvm
#define SHOWN "LLVM bump"
#define LANGUAGE "C++"
#define HANDLE llvm::BumpPtrAllocator *
#define OPEN(x) ((x)->allocator.get())
#define CLOSE(x, h) ((void)(h))
#define TAKE(h, size) (h)->Allocate(size, llvm::Align::Of<std::uint64_t>())
#define TAKE_ALIGNED(h, size, align) (h)->Allocate(size, llvm::Align(align))
#include "loops.inc"
