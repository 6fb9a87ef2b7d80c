// W5: the cases with containers.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include <functional>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "case.hpp"

namespace w5 {

template <class D, class K, class V>
using map_of = std::map<K, V, std::less<K>, typename D::template allocator<std::pair<const K, V>>>;
template <class D, class K, class V>
map_of<D, K, V> make_map(D door) {
  return map_of<D, K, V>(door.template make<std::pair<const K, V>>());
}

template <class M>
bool sums_up(const M &map, std::uint64_t size, std::uint64_t keys, std::uint64_t values) {
  std::uint64_t k = 0, v = 0;
  for (const auto &x : map) k += std::uint64_t(x.first), v += std::uint64_t(x.second);
  return map.size() == size && k == keys && v == values;
}
constexpr std::uint64_t sum_below(std::uint64_t n) { return n * (n - 1) / 2; }

// {emplace Count; clear}, keys ascending.
template <int Count>
struct ascending {
  static constexpr std::size_t n = Count;
  template <class D>
  [[gnu::noinline]] static result body(D door, resetter reset, const task &t) {
    auto map = make_map<D, int, int>(door);
    std::size_t inserted = 0;
    bool good = true;
    double start = now();
    for (std::size_t rep = 0; rep < t.reps; rep++) {
      for (int i = 0; i < Count; i++) inserted += map.emplace(i, i + 1).second;
      if (t.verify) good &= sums_up(map, n, sum_below(n), sum_below(n) + n);
      map.clear();
      reset();
    }
    return {now() - start, good && inserted == n * t.reps};
  }
};

// The same with keys in a random order.
struct shuffled {
  static constexpr std::size_t n = 100000;
  static const std::vector<int> &keys() {
    static const std::vector<int> all = [] {
      std::vector<int> k(n);
      random r;
      for (std::size_t i = 0; i < n; i++) k[i] = int(i);
      for (std::size_t i = n - 1; i > 0; i--) std::swap(k[i], k[r() % (i + 1)]);
      return k;
    }();
    return all;
  }
  template <class D>
  [[gnu::noinline]] static result body(D door, resetter reset, const task &t) {
    const std::vector<int> &k = keys();
    auto map = make_map<D, int, int>(door);
    std::size_t inserted = 0;
    bool good = true;
    double start = now();
    for (std::size_t rep = 0; rep < t.reps; rep++) {
      for (int key : k) inserted += map.emplace(key, key + 1).second;
      if (t.verify) good &= sums_up(map, n, sum_below(n), sum_below(n) + n);
      map.clear();
      reset();
    }
    return {now() - start, good && inserted == n * t.reps};
  }
};

// Two maps on one resource: one is cleared in every repetition, the other keeps every tenth key.
struct interleaved {
  static constexpr std::size_t n = 100000;
  template <class D>
  [[gnu::noinline]] static result body(D door, resetter, const task &t) {
    auto brief = make_map<D, int, int>(door), lasting = make_map<D, int, int>(door);
    std::size_t inserted = 0;
    bool good = true;
    double start = now();
    for (std::size_t rep = 0; rep < t.reps; rep++) {
      int base = int(rep * n);
      for (int i = 0; i < int(n); i++) {
        auto &map = i % 10 == 0 ? lasting : brief;
        inserted += map.emplace(base + i, i).second;
      }
      good &= brief.size() == n - n / 10;
      brief.clear();
    }
    double work = now() - start;
    for (const auto &x : lasting) good &= x.first % int(n) == x.second && x.second % 10 == 0;
    if (t.at_end != nullptr) t.at_end();
    return {work, good && lasting.size() == t.reps * n / 10 && inserted == n * t.reps};
  }
};

// A map of a steady 100,000: erase one at random, insert another.
struct churn {
  static constexpr std::size_t size = 100000, n = 10000;
  template <class D>
  [[gnu::noinline]] static result body(D door, resetter, const task &t) {
    auto map = make_map<D, std::uint32_t, std::uint32_t>(door);
    std::vector<std::uint32_t> keys(size);
    std::uint32_t next = 0;
    random r;
    // Odd multiples are distinct modulo 2^32.
    for (auto &k : keys) map.emplace(k = next++ * 2654435769u, next);
    std::size_t erased = 0, inserted = 0;
    double start = now();
    for (std::size_t i = 0; i < t.reps * n; i++) {
      auto &k = keys[r() % size];
      erased += map.erase(k);
      inserted += map.emplace(k = next++ * 2654435769u, next).second;
    }
    double work = now() - start;
    std::uint64_t sum = 0;
    if (t.verify)
      for (auto k : keys) sum += k;
    for (const auto &x : map) sum -= t.verify ? x.first : 0;
    return {work, map.size() == size && erased == t.reps * n && inserted == erased && sum == 0};
  }
};

// 20,000 strings of 20 to 119 characters: one at random replaced by another of random length.
struct replacement {
  static constexpr std::size_t size = 20000, n = 100000;
  template <class D>
  [[gnu::noinline]] static result body(D door, resetter, const task &t) {
    using text = std::basic_string<char, std::char_traits<char>, typename D::template allocator<char>>;
    std::vector<text> all;
    std::uint64_t length = 0, sum = 0;
    random r;
    all.reserve(size);
    auto make = [&] { return text(20 + r() % 100, 'a', door.template make<char>()); };
    for (std::size_t i = 0; i < size; i++) length += all.emplace_back(make()).size();
    double start = now();
    for (std::size_t i = 0; i < t.reps * n; i++) {
      text &old = all[r() % size];
      text fresh = make();
      length += fresh.size() - old.size();
      old.swap(fresh);
    }
    double work = now() - start;
    for (const auto &x : all) sum += x.find_first_not_of('a') == text::npos ? x.size() : 0;
    return {work, sum == length};
  }
};

// {emplace 20,000 strings of 20 to 60 characters; clear}.
struct strings {
  static constexpr std::size_t n = 20000;
  template <class D>
  [[gnu::noinline]] static result body(D door, resetter reset, const task &t) {
    using text = std::basic_string<char, std::char_traits<char>, typename D::template allocator<char>>;
    static const char letters[] = "the quick brown fox jumps over the lazy dog, and the dog sleeps on regardless";
    static_assert(sizeof letters > 16 + 60, "");
    auto map = make_map<D, int, text>(door);
    std::size_t inserted = 0;
    bool good = true;
    double start = now();
    for (std::size_t rep = 0; rep < t.reps; rep++) {
      for (int i = 0; i < int(n); i++) {
        std::size_t length = 20 + std::size_t(i) * 7919 % 41;
        inserted += map.emplace(i, text(letters + i % 16, length, door.template make<char>())).second;
      }
      if (t.verify)
        for (const auto &x : map) {
          std::size_t length = 20 + std::size_t(x.first) * 7919 % 41;
          good &= x.second.size() == length && x.second.compare(0, length, letters + x.first % 16, length) == 0;
        }
      map.clear();
      reset();
    }
    return {now() - start, good && inserted == n * t.reps};
  }
};

// An unordered_map is made, filled with 100,000 and destroyed: its rehashes are part of the time.
struct unordered {
  static constexpr std::size_t n = 100000;
  template <class D>
  [[gnu::noinline]] static result body(D door, resetter reset, const task &t) {
    using allocator = typename D::template allocator<std::pair<const int, int>>;
    std::size_t inserted = 0;
    bool good = true;
    double start = now();
    for (std::size_t rep = 0; rep < t.reps; rep++) {
      {
        std::unordered_map<int, int, std::hash<int>, std::equal_to<int>, allocator> map(
            door.template make<std::pair<const int, int>>());
        for (int i = 0; i < int(n); i++) inserted += map.emplace(i * 7, i).second;
        if (t.verify) good &= sums_up(map, n, 7 * sum_below(n), sum_below(n));
      }
      reset();
    }
    return {now() - start, good && inserted == n * t.reps};
  }
};

// A vector grows to 10,000 by push_back, and is destroyed.
struct vector_growth {
  static constexpr std::size_t n = 10000;
  template <class D>
  [[gnu::noinline]] static result body(D door, resetter reset, const task &t) {
    bool good = true;
    double start = now();
    for (std::size_t rep = 0; rep < t.reps; rep++) {
      {
        std::vector<int, typename D::template allocator<int>> v(door.template make<int>());
        for (int i = 0; i < int(n); i++) v.push_back(int(i));  // a copy, as its address is taken
        good &= v.size() == n && v[rep % n] == int(rep % n);
        if (t.verify) {
          std::uint64_t sum = 0;
          for (int x : v) sum += std::uint64_t(x);
          good &= sum == sum_below(n);
        }
      }
      reset();
    }
    return {now() - start, good};
  }
};

// {push_back 100,000; clear}.
struct list_growth {
  static constexpr std::size_t n = 100000;
  template <class D>
  [[gnu::noinline]] static result body(D door, resetter reset, const task &t) {
    std::list<int, typename D::template allocator<int>> list(door.template make<int>());
    bool good = true;
    double start = now();
    for (std::size_t rep = 0; rep < t.reps; rep++) {
      for (int i = 0; i < int(n); i++) list.push_back(i);
      good &= list.size() == n;
      if (t.verify) {
        std::uint64_t sum = 0;
        for (int x : list) sum += std::uint64_t(x);
        good &= sum == sum_below(n);
      }
      list.clear();
      reset();
    }
    return {now() - start, good};
  }
};

}  // namespace w5
