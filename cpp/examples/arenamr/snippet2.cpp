// The second snippet of ArenaMR's page: any resource can be the upstream. A monotonic buffer of 150,000 bytes holds ten
// blocks of 10,000 and all that is kept about them.
// SPDX-License-Identifier: MIT OR Apache-2.0
#define TOFT_IMPLEMENTATION
#include <toft/pmr.hpp>

#include <cstdio>
#include <vector>

#include "counting_resource.hpp"
#include "require.hpp"

int main() {
  counting_resource heap;
  {
    std::pmr::monotonic_buffer_resource monotonic_br(150'000, &heap);  // Could be any pmr resource
    toft::recycling_resource arena_resource(10, 10'000, &monotonic_br);
    std::pmr::vector<int> v(&arena_resource);
    v.push_back(123);
    REQUIRE(v.size() == 1 && v[0] == 123);
    for (int i = 0; i < 10; i++) {
      std::pmr::vector<int> w(2000, i, &arena_resource);
      REQUIRE(w.front() == i && w.back() == i);
    }
    REQUIRE(heap.calls == 1);  // the buffer was large enough
  }
  REQUIRE(heap.live == 0);
  std::puts("snippet 2: ten blocks in a buffer of 150,000 bytes");
}
