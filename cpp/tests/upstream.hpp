// A memory resource for tests: counts live blocks, checks deallocations, and fails on demand.
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_TESTS_UPSTREAM_HPP
#define TOFT_TESTS_UPSTREAM_HPP

#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory_resource>
#include <utility>

#include <gtest/gtest.h>

namespace test {

struct no_more {  // its exception, which is no std::bad_alloc
  int code;
};

class upstream final : public std::pmr::memory_resource {
 public:
  std::size_t calls = 0, bytes = 0;
  std::size_t fail_from = 0;  // this call and all later ones fail

  ~upstream() override {
    EXPECT_EQ(bytes, 0u) << "live upstream at the end";
    EXPECT_TRUE(live_.empty());
  }
  std::size_t live() const { return live_.size(); }

 private:
  void *do_allocate(std::size_t size, std::size_t align) override {
    calls++;
    EXPECT_GE(align, 64u);  // what docs/from-pmr.md says of each request
    EXPECT_EQ(size % 4096, 0u);
    if (fail_from != 0 && calls >= fail_from) throw no_more{7};
    void *p = std::pmr::new_delete_resource()->allocate(size, align);
    EXPECT_TRUE(live_.emplace(p, std::pair(size, align)).second);
    bytes += size;
    return p;
  }
  void do_deallocate(void *p, std::size_t size, std::size_t align) override {
    auto at = live_.find(p);
    ASSERT_NE(at, live_.end()) << "not from here, or twice";
    EXPECT_EQ(at->second, std::pair(size, align));
    live_.erase(at);
    bytes -= size;
    std::pmr::new_delete_resource()->deallocate(p, size, align);
  }
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }

  std::map<void *, std::pair<std::size_t, std::size_t>> live_;
};

}  // namespace test

#endif
