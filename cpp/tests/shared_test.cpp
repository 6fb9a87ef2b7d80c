// Shared arenas: local arenas, lifetimes, and refusals.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include <toft/shared.hpp>
#if __has_include(<memory_resource>)
#include <map>
#include <toft/pmr.hpp>
#endif

#include "shared_source.hpp"

namespace {

static_assert(!std::is_copy_constructible_v<toft::shared_arena> && !std::is_move_constructible_v<toft::shared_arena>);
static_assert(std::is_nothrow_destructible_v<toft::shared_arena>);
static_assert(!std::is_convertible_v<toft_source *, toft::shared_arena>);

struct counted {
  static int live;
  counted() { live++; }
  ~counted() { live--; }
};
int counted::live;

TEST(Shared, GivesAndTakesBackTheNewest) {
  toft::shared_arena a;
  auto *p = static_cast<char *>(a.allocate(100));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % alignof(std::max_align_t), 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.allocate(1, 4096)) % 4096, 0u);
  EXPECT_TRUE(a.contains(p + 99));
  EXPECT_FALSE(a.contains(&a));
  std::uint64_t live = a.stats().live;
  void *q = a.allocate(40, 8);
  a.deallocate(p, 100);  // not the newest
  EXPECT_EQ(a.stats().live, live + 40);
  a.deallocate(q, 40);
  EXPECT_EQ(a.stats().live, live);
  q = a.allocate(64, 8);
  std::memset(q, 0xFF, 64);
  a.deallocate(q, 64);
  EXPECT_EQ(a.copy("a text"), "a text");
  EXPECT_STREQ(a.copy("a second text").data(), "a second text");
  EXPECT_STREQ(a.copy("").data(), "");
  EXPECT_EQ(a.reset(), TOFT_OK);
  EXPECT_EQ(a.stats().live, 0u);
  EXPECT_GT(a.stats().reserved, 0u);
  a.trim();
  EXPECT_EQ(a.stats().reserved, 0u);
}

TEST(Shared, LocalArenasEndWithTheRound) {
  test::shared_source source;
  {
    toft::shared_arena a(&source);
    for (int round = 0; round < 3; round++) {
      toft::arena_ref one = a.local(), two = a.local();
      EXPECT_NE(one.get(), two.get());
      (void)one.make<counted>();
      (void)two.make_array<counted>(10);
      EXPECT_EQ(counted::live, 11);
      toft_release(one.get());  // is nothing
      EXPECT_EQ(counted::live, 11);
      {
        toft::claim c(two);
        EXPECT_EQ(a.reset(), TOFT_EBUSY);
        EXPECT_EQ(counted::live, 11);
      }
      EXPECT_EQ(round == 0 ? a.reset() : round == 1 ? a.reset_keep_all() : a.reset_keep(0), TOFT_OK);
      EXPECT_EQ(counted::live, 0);
    }
    EXPECT_EQ(a.stats().reserved, 0u);
    (void)a.local().make<counted>();
  }
  EXPECT_EQ(counted::live, 0);
}

TEST(Shared, KeepsTheRequestedBytes) {
  toft::shared_arena recent, all;
  for (int round = 0; round < 40; round++) {  // a large round, and small ones
    (void)recent.allocate(round == 0 ? 4000000 : 100);
    (void)all.allocate(round == 0 ? 4000000 : 100);
    EXPECT_EQ(recent.reset(), TOFT_OK);
    EXPECT_EQ(all.reset_keep_all(), TOFT_OK);
  }
  EXPECT_LT(recent.stats().reserved, 100000u);
  EXPECT_GT(all.stats().reserved, 4000000u);
}

TEST(Shared, ThrowsWhereThereIsNoMemory) {
  test::shared_source source;
  toft::shared_arena a(&source);
  source.fail_from = 1;
  EXPECT_THROW((void)a.allocate(8), std::bad_alloc);
  EXPECT_THROW((void)a.local(), std::bad_alloc);
  EXPECT_THROW((void)a.copy("text"), std::bad_alloc);
  EXPECT_EQ(a.try_allocate(8), nullptr);
  EXPECT_EQ(a.try_local(), nullptr);
  EXPECT_EQ(a.stats().live, 0u);
  source.fail_from = 0;
  EXPECT_NE(a.try_allocate(8), nullptr);
  volatile std::size_t most = SIZE_MAX;
  EXPECT_THROW((void)a.allocate(most), std::bad_alloc);
  EXPECT_EQ(a.try_allocate(8, 24), nullptr);
}

#if __has_include(<memory_resource>)
TEST(Shared, IsAResource) {
  test::shared_source source;
  toft::shared_arena a(&source);
  toft::shared_resource resource(a);
  EXPECT_TRUE(resource.is_equal(resource));
  EXPECT_FALSE(resource.is_equal(*std::pmr::new_delete_resource()));
  {
    std::pmr::map<int, std::pmr::string> found(&resource);
    for (int i = 0; i < 200; i++) found.emplace(i, "a text that does not fit into itself");
    for (auto &[key, text] : found) EXPECT_TRUE(a.contains(&key) && a.contains(text.data()));
  }
  std::uint64_t live = a.stats().live;
  std::pmr::memory_resource &base = resource;
  base.deallocate(base.allocate(64, 8), 64, 8);
  resource.deallocate(resource.allocate(64, 8), 64, 8);
  EXPECT_EQ(a.stats().live, live);
  source.fail_from = source.calls + 1;
  EXPECT_THROW((void)resource.allocate(1 << 20), std::bad_alloc);
  EXPECT_EQ(a.reset(), TOFT_OK);
}
#endif

}  // namespace
