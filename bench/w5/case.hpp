// W5: shared parts of the cases. A case is a struct with n, the elements of a repetition, and body(door, reset, task),
// the loop, which returns its time and whether its result is correct. Every result is checked, and all allocations are
// written, so that no compiler can remove them.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include <chrono>

#include "w5.hpp"

namespace w5 {

inline double now() {
  return double(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

// Empties a contender that frees memory by reset only; does nothing for others, which have freed each piece.
struct resetter {
  void (*fn)(void *);
  void *contender;
  void operator()() const { fn(contender); }
};

struct result {
  double work;
  bool good;
};

// Deterministic numbers, the same for all contenders.
struct random {
  std::uint64_t state = 12345;
  std::uint32_t operator()() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return std::uint32_t(state >> 33);
  }
};

}  // namespace w5
