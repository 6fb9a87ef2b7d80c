// Leases: ownership of the arena, and refused calls.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <toft/allocator.hpp>
#include <toft/lease.hpp>
#if __has_include(<memory_resource>)
#include <toft/pmr.hpp>
#endif

#include "shared_source.hpp"

namespace {

static_assert(!std::is_copy_constructible_v<toft::lease> && !std::is_copy_assignable_v<toft::lease>);
static_assert(std::is_nothrow_move_constructible_v<toft::lease> && std::is_nothrow_move_assignable_v<toft::lease>);
static_assert(std::is_nothrow_destructible_v<toft::lease> && std::is_nothrow_destructible_v<toft::leases>);
static_assert(!std::is_move_constructible_v<toft::leases> && !std::is_copy_constructible_v<toft::leases>);
static_assert(std::is_convertible_v<toft::lease &, toft::arena_ref> && !std::is_convertible_v<toft::lease, bool>);
static_assert(!std::is_convertible_v<toft::leases_ref, toft::lease>);

struct counted {
  static int live;
  int values[4] = {1, 2, 3, 4};
  counted() { live++; }
  ~counted() { live--; }
};
int counted::live;

TEST(Lease, TheSameArenaAgainAndEmpty) {
  test::shared_source source;
  toft::arena_options arenas = source.options();
  toft::lease_options o;
  o.arenas = &arenas;
  toft::leases cache(o);
  std::uintptr_t first = 0;
  for (int i = 0; i < 1000; i++) {
    toft::lease a(cache);
    ASSERT_TRUE(a);
    auto address = reinterpret_cast<std::uintptr_t>(a.get());
    if (first == 0) first = address;
    ASSERT_EQ(address, first);
    ASSERT_EQ(a.stats().live, 0u);
    ASSERT_EQ(a.from().get(), cache.get());
    (void)a.make<counted>();
    (void)a.allocate(static_cast<std::size_t>(i) * 7);
    ASSERT_EQ(counted::live, 1);
  }
  EXPECT_EQ(counted::live, 0);
  toft::lease_stats s = cache.stats();
  EXPECT_EQ(s.created, 1u);
  EXPECT_EQ(s.leased, 0u);
  EXPECT_EQ(s.idle, 1u);
  EXPECT_GE(s.kept, 4096u);
}

TEST(Lease, TheProcessHasACache) {
  std::size_t out = toft::leases_ref().stats().leased;
  {
    toft::lease a, b;
    EXPECT_NE(a.get(), b.get());
    EXPECT_EQ(a.from().get(), nullptr);
    EXPECT_EQ(toft::leases_ref().stats().leased, out + 2);
    toft::leases_ref().trim();  // leases in use stay
    EXPECT_EQ(a.copy("text"), "text");
  }
  EXPECT_EQ(toft::leases_ref().stats().leased, out);
  toft::leases_ref().trim();
  EXPECT_EQ(toft::leases_ref().stats().idle, 0u);
}

TEST(Lease, MovesAndHasOneOwner) {
  toft::leases cache, other;
  toft::lease a(cache);
  toft_arena *head = a.get();
  (void)a.make<counted>();
  toft::lease b(std::move(a));
  EXPECT_FALSE(a);
  EXPECT_EQ(b.get(), head);
  EXPECT_EQ(a.return_arena(), TOFT_EARG);
  toft::lease &self = b;
  b = std::move(self);
  EXPECT_EQ(b.get(), head);
  EXPECT_EQ(counted::live, 1);
  toft::lease c(other);
  c = std::move(b);  // what c had goes back to its own cache
  EXPECT_EQ(other.stats().leased, 0u);
  EXPECT_EQ(cache.stats().leased, 1u);
  EXPECT_EQ(counted::live, 1);
  EXPECT_EQ(c.return_arena(), TOFT_OK);
  EXPECT_EQ(counted::live, 0);
  b = toft::lease(other);  // a moved-from lease can be assigned to
  EXPECT_TRUE(b);
  EXPECT_EQ(b.from().get(), other.get());
  std::vector<toft::lease> many;
  for (int i = 0; i < 10; i++) many.emplace_back(cache);
  EXPECT_EQ(cache.stats().leased, 10u);
  many.erase(many.begin() + 2, many.begin() + 7);
  EXPECT_EQ(cache.stats().leased, 5u);
}

TEST(Lease, GivenBackOnce) {
  toft::leases cache;
  toft::lease a(cache);
  toft_lease copy = a.release();
  EXPECT_FALSE(a);
  EXPECT_EQ(cache.stats().leased, 1u);
  toft::lease b = toft::lease::own(copy, cache), stale = toft::lease::own(copy, cache);
  EXPECT_EQ(b.return_arena(), TOFT_OK);
  EXPECT_EQ(b.return_arena(), TOFT_EARG);
  EXPECT_FALSE(b);
  EXPECT_EQ(stale.return_arena(), TOFT_EBUSY);
  toft::lease c(cache);  // the same arena, another generation
  EXPECT_EQ(c.get(), copy.arena);
  std::memset(c.allocate(100), 7, 100);
  EXPECT_EQ(stale.return_arena(), TOFT_EBUSY);
  EXPECT_EQ(c.stats().live, 104u);
  toft::leases other;
  toft::lease wrong = toft::lease::own(toft_lease{c.get(), copy.generation}, other);
  EXPECT_LT(wrong.return_arena(), 0);
  (void)wrong.release();
  EXPECT_EQ(c.return_arena(), TOFT_OK);
}  // what stale is refused is not reported

TEST(Lease, AClaimedOneStaysOutUntilItIsGiven) {
  toft::leases cache;
  toft::lease a(cache);
  {
    toft::claim c(a);
    EXPECT_EQ(a.return_arena(), TOFT_EBUSY);
    EXPECT_TRUE(a);
    *c.make<int>(1) = 2;
  }
  EXPECT_EQ(a.return_arena(), TOFT_OK);
  toft_range r;
  toft_lease lost;
  {
    toft::lease b(cache);
    lost = b.release();
    b = toft::lease::own(lost, cache);
    ASSERT_EQ(toft_claim(b.get(), &r), TOFT_OK);
  }  // cannot be returned, and is not
  EXPECT_EQ(cache.stats().leased, 1u);
  EXPECT_EQ(toft_unclaim(lost.arena, &r), TOFT_OK);
  EXPECT_EQ(toft::lease::own(lost, cache).return_arena(), TOFT_OK);
  EXPECT_EQ(cache.stats().leased, 0u);
}

TEST(Lease, OutlivesItsCache) {
  test::shared_source source;
  toft::arena_options arenas = source.options();
  toft::lease_options o;
  o.arenas = &arenas;
  toft::lease late = toft::lease::try_get();
  toft_leases *cache;
  {
    toft::leases l(o);
    cache = l.get();
    late = toft::lease(l);
  }
  ASSERT_TRUE(late);
  std::memset(late.allocate(10000), 1, 10000);
  EXPECT_EQ(late.return_arena(), TOFT_OK);
  EXPECT_EQ(toft_leases_release(cache), TOFT_OK);  // it was left behind
}

TEST(Lease, UnderWhateverTakesAnArena) {
  toft::lease a;
  {
    toft::scope s(a);
    std::vector<int, toft::allocator<int, toft::lease>> v(&a);
    for (int i = 0; i < 1000; i++) v.push_back(i);
    EXPECT_EQ(v[999], 999);
    toft::claim c(a);
    EXPECT_EQ(*c.make<int>(3), 3);
  }
  EXPECT_EQ(a.stats().live, 0u);
#if __has_include(<memory_resource>)
  toft::arena_resource r(a);
  std::pmr::vector<std::pmr::string> v(&r);
  for (int i = 0; i < 100; i++) v.emplace_back("a string that does not fit into itself");
  EXPECT_TRUE(a.contains(v[99].data()));
#endif
}

#if TOFT_EXCEPTIONS
TEST(Lease, EndsWhereSomethingIsThrown) {
  toft::leases cache;
  try {
    toft::lease a(cache);
    (void)a.make<counted>();
    toft::claim c(a);
    throw std::runtime_error("out of the block");
  } catch (const std::runtime_error &) {
  }
  EXPECT_EQ(counted::live, 0);
  EXPECT_EQ(cache.stats().leased, 0u);
}

TEST(Lease, NonsenseIsRefused) {
  toft::lease_options o;
  o.idle = 65537;
  EXPECT_THROW(toft::leases l(o), std::invalid_argument);
  o.idle = 1;
  char buffer[5000];
  toft::arena_options arenas;
  arenas.buffer = buffer;
  arenas.buffer_size = sizeof buffer;
  o.arenas = &arenas;
  EXPECT_THROW(toft::leases l(o), std::invalid_argument);
  arenas.buffer = nullptr;
  arenas.buffer_size = 0;
  arenas.flags = 0x4000;
  EXPECT_THROW(toft::leases l(o), std::bad_alloc);
  arenas.flags = 0;
  o.keep = SIZE_MAX;
  o.bytes = SIZE_MAX;
  toft::leases l(o);
  toft::lease a(l);
  EXPECT_THROW((void)a.allocate(SIZE_MAX), std::bad_alloc);
  EXPECT_EQ(a.stats().live, 0u);
}

TEST(Lease, NoMemory) {
  test::shared_source source;
  source.fail_from = 2;  // the first is to try the options
  toft::arena_options arenas = source.options();
  toft::lease_options o;
  o.arenas = &arenas;
  toft::leases cache(o);
  EXPECT_THROW(toft::lease a(cache), std::bad_alloc);
  EXPECT_FALSE(toft::lease::try_get(cache));
  EXPECT_EQ(cache.stats().leased, 0u);
}
#endif

}  // namespace
