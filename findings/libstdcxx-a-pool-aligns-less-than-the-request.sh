#!/usr/bin/env bash
# Question: std::pmr::unsynchronized_pool_resource and the synchronized one allocate 64 times 24 bytes aligned to 16, 40 to 32, 72 to
#   64, 8 to 64 and 4,104 to 4,096. How many addresses are aligned?
# Guess: all: allocate(bytes, alignment) returns such memory or throws, and the size need not be a multiple of the alignment.
# What happens: half of those of 24 and 40 bytes are not, and three quarters of those of 72: a pool is chosen by the larger
#   of size and alignment, and its blocks have a distance of 24, 48 or 80 bytes. Sizes below the alignment and above the
#   largest pool are right. The sizes of types are multiples of their alignment; those of headers with data behind, of
#   packed buffers for vector instructions and of allocate_bytes(n, 32) are not.
#   Of use to: programs that move from the standard's pools, and measurements against them.
# Versions: Debian's libstdc++6 12.2.0-14+deb12u1, g++ 12 for the headers, x86-64.
# SPDX-License-Identifier: MIT OR Apache-2.0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cd "$dir"
apt-get download -qq libstdc++6=12.2.0-14+deb12u1 2>/dev/null || { echo "apt has no such package" >&2 && exit 1; }
dpkg-deb -x libstdc++6_*.deb root

cat >run.cc <<'END'
#include <cstdint>
#include <cstdio>
#include <memory_resource>

template <class Pool>
int aligned(std::size_t size, std::size_t align) {
  Pool pool;
  int good = 0;
  for (int i = 0; i < 64; i++) good += reinterpret_cast<std::uintptr_t>(pool.allocate(size, align)) % align == 0;
  return good;
}

int main() {
  const std::size_t cases[][2] = {{24, 16}, {40, 32}, {72, 64}, {8, 64}, {4104, 4096}};
  for (auto [size, align] : cases)
    std::printf("%zu to %zu: %s, %s\n", size, align,
                aligned<std::pmr::unsynchronized_pool_resource>(size, align) == 64 ? "all" : "not all",
                aligned<std::pmr::synchronized_pool_resource>(size, align) == 64 ? "all" : "not all");
}
END
g++ -std=c++17 -O1 -o run run.cc
seen=$(LD_LIBRARY_PATH=root/usr/lib/x86_64-linux-gnu ./run)

expected='24 to 16: not all, not all
40 to 32: not all, not all
72 to 64: not all, not all
8 to 64: all, all
4104 to 4096: all, all'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
