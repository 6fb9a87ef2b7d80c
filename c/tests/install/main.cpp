// SPDX-License-Identifier: MIT OR Apache-2.0
#ifdef USER_IMPLEMENTATION
#define TOFT_IMPLEMENTATION
#endif
#include <toft/pmr.hpp>

#include <cstdio>
#include <map>

std::size_t fill(std::pmr::memory_resource &r);

int main() {
  toft::recycling_resource r;
  std::size_t size = fill(r);
  if (r.stats().used == 0) std::printf("recycled %zu\n", size);
  return 0;
}
