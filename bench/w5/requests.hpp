// W5: the cases without a container: pieces are allocated and freed.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include <utility>
#include <vector>

#include "case.hpp"

namespace w5 {

struct request {
  std::size_t size, align;
};

inline bool aligned(void *p, std::size_t align) { return (reinterpret_cast<std::uintptr_t>(p) & (align - 1)) == 0; }

// Allocates all of the requests, then frees them in the same order. Both ends are written.
template <class D>
bool take_and_give(D door, const request *wanted, std::size_t n) {
  static void *taken[4096];
  std::size_t good = 0;
  for (std::size_t i = 0; i < n; i++) {
    unsigned char *p = static_cast<unsigned char *>(taken[i] = door.allocate(wanted[i].size, wanted[i].align));
    good += p != nullptr && aligned(p, wanted[i].align);
    *static_cast<volatile unsigned char *>(p) = static_cast<unsigned char>(i);
    *static_cast<volatile unsigned char *>(p + wanted[i].size - 1) = static_cast<unsigned char>(i);
  }
  for (std::size_t i = 0; i < n; i++) door.deallocate(taken[i], wanted[i].size, wanted[i].align);
  return good == n;
}

// The same with every byte written, and verified before it is freed.
template <class D>
bool take_and_check(D door, const request *wanted, std::size_t n) {
  std::vector<unsigned char *> taken(n);
  bool good = true;
  for (std::size_t i = 0; i < n; i++) {
    taken[i] = static_cast<unsigned char *>(door.allocate(wanted[i].size, wanted[i].align));
    good &= taken[i] != nullptr && aligned(taken[i], wanted[i].align);
    for (std::size_t k = 0; k < wanted[i].size; k++) taken[i][k] = static_cast<unsigned char>(i);
  }
  for (std::size_t i = 0; i < n; i++) {
    for (std::size_t k = 0; k < wanted[i].size; k++) good &= taken[i][k] == static_cast<unsigned char>(i);
    door.deallocate(taken[i], wanted[i].size, wanted[i].align);
  }
  return good;
}

template <class D>
result many_times(D door, resetter reset, const task &t, const request *wanted, std::size_t n) {
  bool good = true;
  double start = now();
  for (std::size_t rep = 0; rep < t.reps; rep++) {
    good &= t.verify ? take_and_check(door, wanted, n) : take_and_give(door, wanted, n);
    reset();
  }
  return {now() - start, good};
}

template <std::size_t N>
struct requests {
  request all[N];
};

// The allocations of a map's nodes, without the map.
struct nodes {
  static constexpr std::size_t n = 1000;
  template <class D>
  [[gnu::noinline]] static result body(D door, resetter reset, const task &t) {
    static const requests<n> wanted = [] {
      requests<n> w{};
      for (auto &x : w.all) x = {40, 8};
      return w;
    }();
    return many_times(door, reset, t, wanted.all, n);
  }
};

// Mostly small; one in four has 64 or 128 B at alignment 64, one in 32 has 4096 B at 4096. Sizes are multiples of
// alignments, as in types: otherwise the pools of libstdc++ 12 lose the alignment.
struct over_aligned {
  static constexpr std::size_t n = 512;
  template <class D>
  [[gnu::noinline]] static result body(D door, resetter reset, const task &t) {
    static const requests<n> wanted = [] {
      requests<n> w{};
      random r;
      for (std::size_t i = 0; i < n; i++) {
        std::size_t size = 16 + r() % 48;
        w.all[i] = i % 32 == 31 ? request{4096, 4096}
                   : i % 4 == 1 ? request{64 + i / 4 % 2 * 64, 64}
                                : request{size, 8};
      }
      return w;
    }();
    return many_times(door, reset, t, wanted.all, n);
  }
};

// 64 KiB to 1 MiB, four live at a time.
struct oversize {
  static constexpr std::size_t n = 4;
  template <class D>
  [[gnu::noinline]] static result body(D door, resetter reset, const task &t) {
    bool good = true;
    random r;
    double start = now();
    for (std::size_t rep = 0; rep < t.reps; rep++) {
      request wanted[n];
      for (auto &x : wanted) x = {65536 + r() % (1048576 - 65536), 16};
      good &= t.verify ? take_and_check(door, wanted, n) : take_and_give(door, wanted, n);
      reset();
    }
    double work = now() - start;
    if (t.at_end != nullptr) t.at_end();
    return {work, good};
  }
};

// 64 MiB of buffers, whose range of sizes changes five times: each new one replaces others at random.
struct buffers {
  static constexpr std::size_t n = 5000, most = 64 << 20;
  template <class D>
  [[gnu::noinline]] static result body(D door, resetter, const task &t) {
    static const std::size_t least[] = {16200, 100000, 30000, 400000, 20000};
    std::vector<std::pair<void *, std::size_t>> live;
    std::size_t bytes = 0;
    bool good = true;
    random r;
    auto remove = [&](std::size_t i) {
      auto [p, size] = live[i];
      good &= *static_cast<volatile unsigned char *>(p) == static_cast<unsigned char>(size);
      door.deallocate(p, size, 16);
      bytes -= size;
      live[i] = live.back();
      live.pop_back();
    };
    double start = now();
    for (std::size_t i = 0; i < (t.reps + 1) * n; i++) {
      if (i == n) start = now();  // the round that fills the memory is a row of its own
      std::size_t size = least[i % n / (n / 5)];
      size += r() % size;
      while (bytes + size > most) remove(r() % live.size());
      void *p = door.allocate(size, 16);
      *static_cast<volatile unsigned char *>(p) = static_cast<unsigned char>(size);
      live.emplace_back(p, size);
      bytes += size;
    }
    double work = now() - start;
    while (!live.empty()) remove(live.size() - 1);
    return {work, good};
  }
};

// 4096 of 8 B, four in a loop body, one int of each written, then a reset.
struct hot {
  static constexpr std::size_t n = 4096;
  static bool write(void *p, std::size_t i) {
    if (__builtin_expect(p == nullptr, 0)) return false;
    static_cast<volatile int *>(p)[1] = int(i);
    return true;
  }
  template <class D>
  [[gnu::noinline]] static result body(D door, resetter reset, const task &t) {
    bool good = true;
    double start = now();
    for (std::size_t rep = 0; rep < t.reps; rep++) {
      for (std::size_t i = 0; good && i < n; i += 4)
        good = write(door.allocate(8, 8), i) && write(door.allocate(8, 8), i + 1) &&
               write(door.allocate(8, 8), i + 2) && write(door.allocate(8, 8), i + 3);
      reset();
    }
    return {now() - start, good};
  }
};

}  // namespace w5
