// Regions: containers in them before and after a restore, their own arena and resource, refusals.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <toft/config.hpp>
#if __has_include(<memory_resource>)

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <toft/allocator.hpp>
#include <toft/region.hpp>

namespace {

using text = std::pmr::string;

text long_text(std::size_t i) {
  return text("a value that does not fit into the string itself, ") + text(std::to_string(i));
}

// Everything that a program has in its region: each container, its elements and its resource lie there.
struct world {
  std::pmr::map<text, text> ordered;
  std::pmr::unordered_map<std::uint64_t, text> hashed;
  std::pmr::vector<std::pmr::vector<std::uint32_t>> rows;

  explicit world(std::pmr::memory_resource *m) : ordered(m), hashed(m), rows(m) {}

  void fill(std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; i++) {
      ordered.emplace(long_text(i), long_text(2 * i));
      hashed.emplace(i, long_text(i));
      if (i % 10 == 0) rows.emplace_back();
      rows.back().push_back(static_cast<std::uint32_t>(i));
    }
  }
  bool is_filled(std::size_t n) const {
    bool good = ordered.size() == n && hashed.size() == n && rows.size() == (n + 9) / 10;
    std::size_t i = 0;
    for (; good && i < n; i++) {
      auto o = ordered.find(long_text(i));
      auto h = hashed.find(i);
      good = o != ordered.end() && o->second == long_text(2 * i) && h != hashed.end() && h->second == long_text(i) &&
             rows[i / 10].at(i % 10) == i;
    }
    return good;
  }
};

world &world_of(const toft::region &r) { return *r.root<world>(); }

toft::region region_with(std::size_t n, std::uint32_t flags = 0) {
  toft::region_options o;
  o.flags = flags;
  toft::region r(o);
  r.set_root(r.make<world>(r.resource()));
  world_of(r).fill(0, n);
  return r;
}

const std::uint32_t all_flags[] = {0, TOFT_REGION_COMPARES};

TEST(Region, ContainersAreRestored) {
  const std::size_t many = std::getenv("TOFT_SHORT") != nullptr ? 10000 : 100000;
  for (std::uint32_t flags : all_flags)
    for (std::size_t n : {std::size_t(0), std::size_t(1), std::size_t(10), many}) {
      toft::region r = region_with(n, flags);
      ASSERT_EQ(r.checkpoint(), TOFT_OK);
      auto used = r.resource()->stats().used;
      for (int round = 0; round < 3; round++) {
        world &w = world_of(r);
        if (round == 1)
          w.fill(n, n + n / 2 + 100);  // it grows: buckets and elements move
        else
          w = world(r.resource());          // all elements are freed
        if (round == 2) r.arena().reset();  // and the world itself
        r.set_root(static_cast<world *>(nullptr));
        ASSERT_EQ(r.restore(), TOFT_OK);
        ASSERT_TRUE(world_of(r).is_filled(n)) << n << " elements, flags " << flags;
        ASSERT_EQ(r.resource()->stats().used, used);
      }
      world_of(r).fill(n, n + 1000);  // it works on
      EXPECT_TRUE(world_of(r).is_filled(n + 1000));
    }
}

TEST(Region, CheckpointsFormATree) {
  toft::region r = region_with(100);
  toft::checkpoint_id first, left, right;
  EXPECT_EQ(r.restore(), TOFT_EMARK);
  EXPECT_EQ(r.drop_checkpoint(), TOFT_EMARK);
  ASSERT_EQ(r.checkpoint(&first), TOFT_OK);
  world_of(r).fill(100, 200);
  ASSERT_EQ(r.checkpoint(&left), TOFT_OK);
  std::uint64_t digest, again;
  ASSERT_EQ(r.digest(digest), TOFT_OK);
  ASSERT_EQ(r.restore(first), TOFT_OK);
  world_of(r).fill(100, 150);
  ASSERT_EQ(r.checkpoint(&right), TOFT_OK);
  ASSERT_EQ(r.name_checkpoint(right, "right"), TOFT_OK);
  ASSERT_EQ(r.digest(again, left), TOFT_OK);
  EXPECT_EQ(digest, again);
  toft::region_difference d;
  EXPECT_EQ(r.diff(left, r, right, d), 1);
  EXPECT_EQ(r.diff(right, r, 0, d), 0);
  ASSERT_EQ(r.drop_checkpoint(first), TOFT_OK);
  ASSERT_EQ(r.restore(left), TOFT_OK);
  EXPECT_TRUE(world_of(r).is_filled(200));
  ASSERT_EQ(r.restore(right), TOFT_OK);
  EXPECT_TRUE(world_of(r).is_filled(150));
  EXPECT_EQ(r.current_checkpoint(), right);
  auto all = r.checkpoints();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].checkpoint == left && all[0].parent == 0 && all[1].parent == 0);
  EXPECT_STREQ(all[1].name, "right");
  r.trim();
}

struct counted {
  static int live;
  counted() { live++; }
  ~counted() { live--; }
};
int counted::live;

TEST(Region, DestructorsRun) {
  {
    toft::region r;
    r.make<counted>();
    ASSERT_EQ(r.checkpoint(), TOFT_OK);
    for (int i = 0; i < 3; i++) r.make<counted>();
    EXPECT_EQ(counted::live, 4);
    EXPECT_EQ(r.restore(), TOFT_OK);
    EXPECT_EQ(counted::live, 1);
    toft::claim c(r.arena());
    EXPECT_EQ(r.checkpoint(), TOFT_EBUSY);
    EXPECT_EQ(r.restore(), TOFT_EBUSY);
  }
  EXPECT_EQ(counted::live, 0);
}

TEST(Region, TheAllocatorAdaptor) {
  using vector = std::vector<int, toft::allocator<int, toft::region_resource>>;
  toft::region r;
  vector *v = r.make<vector>(r.resource());
  v->assign(1000, 7);
  ASSERT_EQ(r.checkpoint(), TOFT_OK);
  v->assign(100000, 8);
  ASSERT_EQ(r.restore(), TOFT_OK);
  EXPECT_EQ(*v, vector(1000, 7, r.resource()));
}

bool lies_in(const toft::region &r, const void *p) {
  auto *first = reinterpret_cast<const unsigned char *>(r.get());
  return p >= first && p < first + r.stats().limit;
}

TEST(Region, AllOfItLiesInTheRange) {
  toft::region r = region_with(10);
  EXPECT_TRUE(lies_in(r, r.resource()) && lies_in(r, r.arena().get()) && lies_in(r, &world_of(r)));
  EXPECT_TRUE(lies_in(r, world_of(r).ordered.find(long_text(3))->second.data()));
  EXPECT_FALSE(lies_in(r, &r));
}

TEST(Region, Moves) {
  static_assert(!std::is_copy_constructible_v<toft::region> && std::is_nothrow_move_constructible_v<toft::region>);
  toft::region a = region_with(10), b;
  EXPECT_EQ(b.root<world>(), nullptr);
  const auto *place = a.resource();
  ASSERT_EQ(a.checkpoint(), TOFT_OK);
  toft::region c(std::move(a));
  b = std::move(c);
  c = region_with(1);
  world_of(b).ordered.clear();
  EXPECT_EQ(b.restore(), TOFT_OK);
  EXPECT_TRUE(world_of(b).is_filled(10) && world_of(c).is_filled(1));
  EXPECT_EQ(b.resource(), place);
  EXPECT_TRUE(b.resource()->is_equal(*place) && !b.resource()->is_equal(*c.resource()));
}

TEST(Region, InvalidOptions) {
  toft::region_options o;
  o.max = 4096;
  EXPECT_THROW(toft::region r(o), std::invalid_argument);
  o.max = 65537;
  EXPECT_THROW(toft::region r(o), std::invalid_argument);
  o = toft::region_options();
  o.flags = 1u << 31;
  EXPECT_THROW(toft::region r(o), std::invalid_argument);
  o = toft::region_options();
  o.size--;
  EXPECT_THROW(toft::region r(o), std::invalid_argument);
}

TEST(Region, AFullRegionRefuses) {
  toft::region_options o;
  o.max = std::size_t(1) << 20;
  toft::region r(o);
  EXPECT_THROW((void)r.resource()->allocate(o.max), std::bad_alloc);
  EXPECT_THROW((void)r.arena().allocate(o.max), std::bad_alloc);
  std::pmr::memory_resource *base = r.resource();
  base->deallocate(base->allocate(100), 100);
  r.resource()->deallocate(r.resource()->allocate(100), 100);
  EXPECT_EQ(r.resource()->stats().used, 0u);
}

TEST(Region, InTheCallersMemory) {
  constexpr std::size_t size = std::size_t(1) << 20;
  std::unique_ptr<unsigned char[]> bytes(new unsigned char[size + 4096]);
  toft::region_options o;
  o.max = size;
  o.memory = bytes.get() + (0 - reinterpret_cast<std::uintptr_t>(bytes.get())) % 4096;
  toft::region r(o);
  auto *v = r.make<std::pmr::vector<int>>(r.resource());
  v->push_back(1);
  ASSERT_EQ(r.checkpoint(), TOFT_OK);
  v->push_back(2);
  ASSERT_EQ(r.restore(), TOFT_OK);
  EXPECT_EQ(v->size(), 1u);
  EXPECT_EQ(r.stats().limit, size);
  o.memory = bytes.get() + 1;
  EXPECT_THROW(toft::region other(o), std::invalid_argument);
}

#if defined(__linux__)
// Address space that does not exist: the constructor throws.
TEST(Region, NoAddressSpace) {
  if (sizeof(void *) < 8) GTEST_SKIP();
  toft::region_options o;
  o.max = std::size_t(1) << 50;
  if (toft_region_check(&o) == TOFT_OK)
    EXPECT_THROW(toft::region r(o), std::bad_alloc);
  else
    EXPECT_THROW(toft::region r(o), std::invalid_argument);
}

#endif

}  // namespace
#endif
