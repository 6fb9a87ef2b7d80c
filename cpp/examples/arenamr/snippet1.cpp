// The first snippet of ArenaMR's page, and what that page says of it: ten blocks of 10,000 bytes are taken beforehand;
// containers are served from them; an empty block is used again; larger requests are served
// by the upstream. In addition: at the end everything is returned.
// SPDX-License-Identifier: MIT OR Apache-2.0
#define TOFT_IMPLEMENTATION
#include <toft/pmr.hpp>

#include <cstdio>
#include <vector>

#include "counting_resource.hpp"
#include "require.hpp"

int main() {
  counting_resource upstream;
  {
    toft::recycling_resource arena_resource(10, 10'000, &upstream);
    std::pmr::vector<int> v(&arena_resource);
    v.push_back(123);
    REQUIRE(v.size() == 1 && v[0] == 123);

    std::size_t before = upstream.calls;
    for (int round = 0; round < 1000; round++) {
      std::pmr::vector<int> w(&arena_resource);
      for (int i = 0; i < 1000; i++) w.push_back(i);
      for (int i = 0; i < 1000; i++) REQUIRE(w[static_cast<std::size_t>(i)] == i);
    }
    REQUIRE(upstream.calls == before);  // 8 MB went through 100 kB

    std::pmr::vector<int> large(100'000, 7, &arena_resource);
    REQUIRE(upstream.calls == before + 1);
    REQUIRE(large.back() == 7);
  }
  REQUIRE(upstream.live == 0);
  std::puts("snippet 1: served from ten blocks, reused, returned");
}
