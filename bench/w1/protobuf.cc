// Protobuf's Arena with arrays of char, which it aligns to 8. Reset() keeps the first block.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <google/protobuf/arena.h>

#include "placed.hpp"
#include "w1.h"

using google::protobuf::Arena;

struct arena {
  placed<Arena> a;
};

static int create(struct arena *x, size_t, size_t) { return x->a.make(); }
static int create_in(struct arena *x, void *buffer, size_t size) {
  google::protobuf::ArenaOptions options;
  options.initial_block = static_cast<char *>(buffer);
  options.initial_block_size = size;
  return x->a.make(options);
}
static void destroy(struct arena *x) { x->a.unmake(); }
static int clear(struct arena *x) { return x->a.get()->Reset(), 1; }

#define NAME protobuf
#define SHOWN "protobuf Arena"
#define LANGUAGE "C++"
#define HANDLE Arena *
#define OPEN(x) ((x)->a.get())
#define CLOSE(x, h) ((void)(h))
#define TAKE(h, size) Arena::CreateArray<char>(h, size)
#define CREATE_IN(x, buffer, size) create_in(x, buffer, size)
#include "loops.inc"
