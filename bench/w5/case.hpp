// W5: what cases share. A case is a struct with n, the elements of a repetition, and body(door, reset, task), the loop,
// which tells its time and whether what it computed is right. Every result is checked, and whatever was allocated is
// written, so that no compiler can leave anything out.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include <chrono>

#include "w5.hpp"

namespace w5 {

inline double now() {
  return double(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

// Empties a contender that gives memory back by reset only; does nothing to others, which have freed piece by piece.
struct resetter {
  void (*fn)(void *);
  void *contender;
  void operator()() const { fn(contender); }
};

struct result {
  double work;
  bool good;
};

// The same numbers for everyone.
struct random {
  std::uint64_t state = 12345;
  std::uint32_t operator()() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return std::uint32_t(state >> 33);
  }
};

}  // namespace w5
