// The bump of the floors. See floors.cc and hot.cc.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace w5 {

void *full();                  // opaque: the compiler cannot prove that it never returns
unsigned char *floor_block();  // of floor_size bytes, 64-byte aligned, resident; shared by all
constexpr std::size_t floor_size = std::size_t(24) << 20;

struct bump {
  unsigned char *cursor = floor_block(), *limit = cursor + floor_size;

  void *allocate(std::size_t size, std::size_t align) {
    unsigned char *p = cursor;
    if (align > 8) p += (0 - reinterpret_cast<std::uintptr_t>(p)) & (align - 1);
    if (__builtin_expect(std::size_t(limit - p) < size, 0)) return full();
    cursor = p + ((size + 7) & ~std::size_t(7));
    if (p == nullptr) __builtin_unreachable();  // avoids a null check in the caller
    return p;
  }
  void deallocate(void *, std::size_t, std::size_t) {}
  void reset() { cursor = floor_block(); }
};

}  // namespace w5
