// The pattern of ArenaMR's benchmarks: warm-up runs, then the mean of several runs. In each run the resource and the
// map are made before the clock starts and destroyed after it stops.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory_resource>

// rounds x {emplace `count` ascending keys; clear}, in ns.
inline long long emplace_and_clear(std::pmr::memory_resource *resource, int rounds, int count) {
  std::pmr::map<int, int> v(resource);
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; i++) {
    for (int j = 0; j < count; j++) v.emplace(j, j);
    if (v.size() != static_cast<std::size_t>(count)) std::exit(EXIT_FAILURE);
    v.clear();
  }
  auto end = std::chrono::steady_clock::now();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
}

struct runs {
  int warm = 10, measured = 10;

  // The numbers of runs may be given on the command line.
  runs(int argc, char **argv) {
    if (argc > 1) warm = std::atoi(argv[1]);
    if (argc > 2) measured = std::atoi(argv[2]);
    if (measured < 1) measured = 1;
  }

  template <class Callback>
  void operator()(const char *name, Callback once) const {
    long long sum = 0;
    for (int i = 0; i < warm; i++) (void)once();
    for (int i = 0; i < measured; i++) sum += once();
    std::printf("%-30s%12lld [ns]\n", name, sum / measured);
  }
};
