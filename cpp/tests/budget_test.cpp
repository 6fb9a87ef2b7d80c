// Budgets of C++ over arenas and resources.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <toft/arena.hpp>
#include <toft/budget.hpp>

namespace {

toft::arena_options on(const toft::budget &b) {
  toft::arena_options o;
  o.source = b.source();
  return o;
}

TEST(Budget, LimitsLiveBytes) {
  toft::budget tenant;
  EXPECT_EQ(tenant.limit_live(100000), TOFT_OK);
  toft::arena a(on(tenant)), b(on(tenant));
  (void)a.allocate(60000);
  EXPECT_GE(tenant.live_stats().live, 60000u);
  EXPECT_EQ(b.try_allocate(60000), nullptr);
  a.reset();
  EXPECT_NE(b.try_allocate(60000), nullptr);
  EXPECT_EQ(tenant.live_stats().limit, 100000u);
}

TEST(Budget, CountsBytesOfOtherAllocators) {
  toft::budget process({"process", 1000, nullptr, nullptr, nullptr});
  toft::budget tenant = process.child("tenant", 2000);
  EXPECT_EQ(tenant.charge(600), TOFT_OK);
  EXPECT_EQ(tenant.charge(401), TOFT_ENOMEM);
  EXPECT_EQ(process.stats().reserved, 600u);
  EXPECT_EQ(tenant.uncharge(601), TOFT_EARG);
  EXPECT_EQ(tenant.uncharge(600), TOFT_OK);
  EXPECT_EQ(process.stats().reserved, 0u);
}

TEST(Budget, CountsForParents) {
  toft::budget process;
  toft::budget tenant = process.child("tenant", 1 << 20);
  {
    toft::arena a(on(tenant));
    (void)a.allocate(100000);
    EXPECT_EQ(tenant.stats().reserved, a.stats().reserved);
    EXPECT_EQ(process.stats().reserved, a.stats().reserved);
    EXPECT_EQ(a.try_allocate(2 << 20), nullptr);
    tenant.set_limit(4 << 20);
    EXPECT_NE(a.try_allocate(2 << 20), nullptr);
  }
  EXPECT_EQ(process.stats().reserved, 0u);
  EXPECT_EQ(process.stats().children, 1u);
  EXPECT_STREQ(tenant.name(), "tenant");
  toft::budget moved = std::move(tenant);
  EXPECT_EQ(moved.stats().limit, std::uint64_t{4} << 20);
  tenant = std::move(moved);
  EXPECT_EQ(process.stats().children, 1u);
}

TEST(Budget, BadOptionsThrow) {
  toft::budget root;
  EXPECT_THROW(root.child(std::string(32, 'x').c_str(), 1), std::invalid_argument);
  toft::budget_options o;
  o.source = toft_heap();
  EXPECT_THROW((void)root.child(o), std::invalid_argument);
  EXPECT_EQ(root.stats().children, 0u);
}

}  // namespace
