// SPDX-License-Identifier: MIT OR Apache-2.0
#include <toft/toft.hpp>

#include <map>

std::size_t fill(std::pmr::memory_resource &r);

std::size_t fill(std::pmr::memory_resource &r) {
  std::pmr::map<int, int> m(&r);
  for (int i = 0; i < 1000; i++) m.emplace(i, i);
  toft::pool<int> numbers;
  numbers.emplace(1);
  return m.size() * numbers.size();
}
