// A thread-safe source for tests: counts blocks that are out, and fails on demand.
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_TESTS_SHARED_SOURCE_HPP
#define TOFT_TESTS_SHARED_SOURCE_HPP

#include <atomic>
#include <cstddef>
#include <new>

#include <gtest/gtest.h>
#include <toft/arena.hpp>

namespace test {

class shared_source : public toft_source {
 public:
  std::atomic<std::size_t> calls{0}, bytes{0};
  std::size_t fail_from = 0;  // this call and all later ones fail

  shared_source() : toft_source{take_block, put_block, nullptr} {}
  ~shared_source() { EXPECT_EQ(bytes, 0u) << "out at the end"; }

  // Options that use it. flags: not those of the environment.
  toft::arena_options options() {
    toft::arena_options o;
    o.source = this;
    o.flags = 0;
    return o;
  }

 private:
  static void *take_block(toft_source *self, std::size_t size) noexcept {
    auto *s = static_cast<shared_source *>(self);
    std::size_t call = ++s->calls;
    if (s->fail_from != 0 && call >= s->fail_from) return nullptr;
    s->bytes += size;
    return ::operator new(size, std::align_val_t(64));
  }
  static void put_block(toft_source *self, void *block, std::size_t size) noexcept {
    static_cast<shared_source *>(self)->bytes -= size;
    ::operator delete(block, std::align_val_t(64));
  }
};

}  // namespace test

#endif
