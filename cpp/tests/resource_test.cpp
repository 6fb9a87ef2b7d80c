// The standard's rules for memory resources, for each of ours; and what each promises beyond them.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <toft/config.hpp>
#if __has_include(<memory_resource>)

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <toft/pmr.hpp>

#include "upstream.hpp"

namespace {

template <class Resource>
class Rules : public testing::Test {};

using Resources = testing::Types<toft::recycling_resource, toft::synchronized_recycling_resource, toft::arena_resource>;
TYPED_TEST_SUITE(Rules, Resources);

template <class R>
constexpr bool recycles = !std::is_same_v<R, toft::arena_resource>;

bool aligned(const void *p, std::size_t align) { return (reinterpret_cast<std::uintptr_t>(p) & (align - 1)) == 0; }

TYPED_TEST(Rules, IsAMemoryResourceThatCannotBeCopied) {
  static_assert(std::is_base_of_v<std::pmr::memory_resource, TypeParam>);
  static_assert(!std::is_final_v<TypeParam>);
  static_assert(!std::is_copy_constructible_v<TypeParam> && !std::is_copy_assignable_v<TypeParam>);
  static_assert(!std::is_move_constructible_v<TypeParam> && !std::is_move_assignable_v<TypeParam>);
  static_assert(std::is_default_constructible_v<TypeParam>);
  static_assert(!std::is_convertible_v<std::pmr::memory_resource *, TypeParam>);
}

// As the standard's resources can be: a subclass that counts.
template <class Resource>
class counting : public Resource {
 public:
  using Resource::Resource;
  std::size_t allocations = 0, deallocations = 0;

 protected:
  void *do_allocate(std::size_t size, std::size_t align) override {
    allocations++;
    return Resource::do_allocate(size, align);
  }
  void do_deallocate(void *p, std::size_t size, std::size_t align) override {
    deallocations++;
    Resource::do_deallocate(p, size, align);
  }
};

TYPED_TEST(Rules, CanBeDerivedFrom) {
  test::upstream up;
  counting<TypeParam> r(&up);
  {
    std::pmr::map<int, int> m(&r);
    for (int i = 0; i < 100; i++) m.emplace(i, i);
    EXPECT_EQ(r.allocations, 100u);
  }
  EXPECT_EQ(r.deallocations, 100u);
  EXPECT_TRUE(r.is_equal(r));
}

TYPED_TEST(Rules, AllocatesNothingBeforeItsFirstAllocation) {
  test::upstream up;
  up.fail_from = 1;
  TypeParam r(&up);
  r.deallocate(nullptr, 0);
  r.release();
  if constexpr (recycles<TypeParam>) {
    r.trim();
    EXPECT_EQ(r.stats().reserved, 0u);
  } else {
    EXPECT_EQ(r.reset(), TOFT_OK);
    EXPECT_EQ(r.rewind(r.mark_here()), TOFT_OK);
  }
  EXPECT_EQ(up.calls, 0u);
  EXPECT_THROW((void)r.allocate(1, 1), test::no_more);
  up.fail_from = 0;
  EXPECT_NE(r.allocate(1, 1), nullptr);
}

TYPED_TEST(Rules, EqualsItselfOnly) {
  TypeParam a, b;
  EXPECT_TRUE(a.is_equal(a));
  EXPECT_FALSE(a.is_equal(b));
  EXPECT_TRUE(a == a);
  EXPECT_TRUE(a != b);
  EXPECT_FALSE(a.is_equal(*std::pmr::new_delete_resource()));
}

TYPED_TEST(Rules, ReturnsTheRequestedSizeAndAlignment) {
  test::upstream up;
  TypeParam r(&up);
  EXPECT_EQ(r.upstream_resource(), &up);
  std::pmr::memory_resource *m = &r;
  struct piece {
    unsigned char *p;
    std::size_t size, align;
  };
  std::vector<piece> pieces;
  for (std::size_t align = 1; align <= (1u << 18); align *= 2)
    for (std::size_t size : {0u, 1u, 7u, 8u, 9u, 40u, 1000u, 4096u, 30000u, 33000u, 200000u}) {
      auto *p = static_cast<unsigned char *>(m->allocate(size, align));
      ASSERT_NE(p, nullptr);
      ASSERT_TRUE(aligned(p, align)) << size << " at " << align;
      std::memset(p, static_cast<int>(pieces.size() & 0xff), size);
      pieces.push_back({p, size, align});
    }
  for (std::size_t i = 0; i < pieces.size(); i++)
    for (std::size_t k = 0; k < pieces[i].size; k++) ASSERT_EQ(pieces[i].p[k], i & 0xff) << i;
  for (std::size_t i = 0; i < pieces.size(); i++) {  // in another order than they were made
    const piece &x = pieces[(i * 7) % pieces.size()];
    if ((pieces.size() % 7) != 0) m->deallocate(x.p, x.size, x.align);
  }
  EXPECT_NE(pieces.size() % 7, 0u);
  EXPECT_GT(up.bytes, 0u);
  if constexpr (recycles<TypeParam>) {
    EXPECT_EQ(r.stats().used, 0u);
    r.trim();
    EXPECT_EQ(r.stats().reserved, 0u);
  }
}

TYPED_TEST(Rules, GivesSizeZeroAPointerOfItsOwn) {
  if constexpr (recycles<TypeParam>) {
    TypeParam r;
    void *a = r.allocate(0, 1), *b = r.allocate(0, 1);
    EXPECT_NE(a, nullptr);
    EXPECT_NE(a, b);
    r.deallocate(a, 0, 1);
    r.deallocate(b, 0, 1);
    EXPECT_EQ(r.stats().used, 0u);
  }
}

TYPED_TEST(Rules, ThrowsBadAllocForWhatNoMemoryCanHold) {
  TypeParam r;
  std::pmr::memory_resource *m = &r;
  EXPECT_THROW((void)m->allocate(SIZE_MAX, 1), std::bad_alloc);
  EXPECT_THROW((void)m->allocate(SIZE_MAX - 64, 64), std::bad_alloc);
  EXPECT_THROW((void)m->allocate(PTRDIFF_MAX, 8), std::bad_alloc);
  void *p = m->allocate(8, 8);  // and goes on
  EXPECT_NE(p, nullptr);
  m->deallocate(p, 8, 8);
}

// Every call to upstream fails once. Its exceptions reach the caller, nothing is lost, the resource works afterwards.
TYPED_TEST(Rules, LetsThroughWhatUpstreamThrows) {
  for (std::size_t fail_at = 1;; fail_at++) {
    test::upstream up;
    bool failed = false;
    up.fail_from = fail_at;
    try {
      TypeParam r(&up);
      std::vector<std::pair<void *, std::size_t>> live;
      for (std::size_t i = 0; i < 2000; i++) {
        std::size_t size = i % 97 == 0 ? 60000 : i % 500;
        try {
          live.emplace_back(r.allocate(size, 8), size);
        } catch (const test::no_more &thrown) {
          EXPECT_EQ(thrown.code, 7);
          failed = true;
          up.fail_from = 0;
          live.emplace_back(r.allocate(size, 8), size);
        }
      }
      for (auto [p, size] : live) r.deallocate(p, size, 8);
    } catch (const test::no_more &) {  // thrown by the constructor
      failed = true;
      EXPECT_EQ(up.bytes, 0u);
    }
    if (!failed) {
      EXPECT_GT(fail_at, 4u);
      break;
    }
  }
}

TYPED_TEST(Rules, ReturnsAllOnReleaseAndDestruction) {
  test::upstream up;
  std::size_t once = 0;
  {
    TypeParam r(&up);
    for (int round = 0; round < 10; round++) {
      for (std::size_t i = 0; i < 5000; i++) (void)r.allocate(i % 300, 8);  // and never deallocates
      (void)r.allocate(100000, 8);
      r.release();
      if (round == 0) once = up.live();
      EXPECT_EQ(up.live(), once);
      EXPECT_EQ(up.live(), (std::is_same_v<TypeParam, toft::synchronized_recycling_resource> ? 1u : 0u));
      EXPECT_LE(up.bytes, 65536u);
    }
    (void)r.allocate(100, 8);
  }
  EXPECT_EQ(up.live(), 0u);
  EXPECT_EQ(up.bytes, 0u);
}

TYPED_TEST(Rules, HearsTheProgramsDefaultResource) {
  test::upstream up;
  std::pmr::memory_resource *before = std::pmr::set_default_resource(&up);
  {
    TypeParam r;
    EXPECT_EQ(r.upstream_resource(), &up);
    (void)r.allocate(10, 8);
    EXPECT_GT(up.calls, 0u);
  }
  std::pmr::set_default_resource(before);
  TypeParam r;
  EXPECT_EQ(r.upstream_resource(), nullptr);
}

// ---- recyclers ----

template <class Resource>
class Recycling : public testing::Test {};
using Recyclers = testing::Types<toft::recycling_resource, toft::synchronized_recycling_resource>;
TYPED_TEST_SUITE(Recycling, Recyclers);

TYPED_TEST(Recycling, BeyondTheCountUpstreamIsCalled) {
  test::upstream up;
  TypeParam r(2, 1000, &up);
  std::size_t at_first = up.bytes;
  EXPECT_GE(at_first, 2000u);
  std::vector<void *> all;
  for (int i = 0; i < 200; i++) all.push_back(r.allocate(1000, 8));
  EXPECT_GT(up.bytes, at_first);
  for (void *p : all) r.deallocate(p, 1000, 8);
}

// What the page of ArenaMR shows.
TYPED_TEST(Recycling, ItsBlocksAreUsedAgain) {
  test::upstream up;
  TypeParam r(10, 10'000, &up);
  std::pmr::vector<int> kept(1, 123, &r);
  std::size_t before = up.calls;
  for (int round = 0; round < 1000; round++) {
    std::pmr::vector<int> v(&r);
    for (int i = 0; i < 1000; i++) v.push_back(i);
    EXPECT_EQ(v.back(), 999);
  }
  EXPECT_EQ(up.calls, before);  // 8 MB went through 100 kB
  std::pmr::vector<int> large(100'000, 7, &r);
  EXPECT_EQ(up.calls, before + 1);
}

TYPED_TEST(Recycling, NoSuchCount) {
  EXPECT_THROW(TypeParam(0, 100), std::invalid_argument);
  EXPECT_THROW(TypeParam(100, 0), std::invalid_argument);
  test::upstream up;
  EXPECT_THROW(TypeParam(SIZE_MAX, SIZE_MAX, &up), std::exception);
  EXPECT_EQ(up.bytes, 0u);
}

// ---- arenas ----

TEST(ArenaResource, RewindsAndResets) {
  toft::arena_resource r;
  void *first = r.allocate(100, 8);
  toft::mark m = r.mark_here();
  for (int i = 0; i < 10000; i++) (void)r.allocate(64, 8);
  EXPECT_EQ(r.rewind(m), TOFT_OK);
  void *next = r.allocate(8, 8);
  EXPECT_EQ(static_cast<char *>(next), static_cast<char *>(first) + 104);
  EXPECT_EQ(r.reset(), TOFT_OK);
  EXPECT_EQ(r.arena().stats().live, 0u);
}

TEST(ArenaResource, StaysInItsBuffer) {
  alignas(64) std::array<std::byte, TOFT_BUFFER(4000)> buffer;
  toft::arena_resource r(buffer.data(), buffer.size(), std::pmr::null_memory_resource());
  {
    std::pmr::vector<int> v(&r);
    v.reserve(900);
    EXPECT_GE(reinterpret_cast<std::byte *>(v.data()), buffer.data());
    EXPECT_LE(reinterpret_cast<std::byte *>(v.data() + 900), buffer.data() + buffer.size());
    EXPECT_THROW(v.reserve(5000), std::bad_alloc);
    EXPECT_EQ(v.capacity(), 900u);
  }
  test::upstream up;
  {
    toft::arena_resource more(buffer.data(), buffer.size(), &up);
    (void)more.allocate(100, 8);
    EXPECT_EQ(up.calls, 0u);
    (void)more.allocate(10000, 8);
    EXPECT_EQ(up.calls, 1u);
  }
}

// The commonest use of the standard's monotonic resource is a small array on the stack.
TEST(ArenaResource, ABufferTooSmallForAnArenaUsesItsUpstream) {
  alignas(64) std::array<std::byte, 1024> buffer;
  for (std::size_t size = 0; size < 640; size++) {
    for (std::size_t offset : {0u, 1u, 63u}) {
      test::upstream up;
      toft::arena_resource r(buffer.data() + offset, size, &up);
      for (int i = 0; i < 50; i++) std::memset(r.allocate(40, 8), i, 40);
      EXPECT_EQ(up.calls, 1u);
      r.release();
      EXPECT_EQ(up.live(), 0u);
      EXPECT_NE(r.allocate(1, 1), nullptr);
    }
  }
  toft::arena_resource none(buffer.data(), 256, std::pmr::null_memory_resource());
  EXPECT_THROW((void)none.allocate(1, 1), std::bad_alloc);
  toft::arena_resource alone(buffer.data(), 256, nullptr);
  EXPECT_THROW((void)alone.allocate(1, 1), std::bad_alloc);
}

TEST(ArenaResource, MarksFromBeforeTheFirstAllocation) {
  toft::arena_resource r;
  toft::mark before = r.mark_here();
  void *first = r.allocate(100, 8);
  toft::mark after = r.mark_here();
  EXPECT_EQ(r.rewind(before), TOFT_OK);
  EXPECT_EQ(r.arena().stats().live, 0u);
  EXPECT_EQ(r.allocate(100, 8), first);
  EXPECT_EQ(r.reset(), TOFT_OK);
  EXPECT_EQ(r.rewind(before), TOFT_EMARK);  // from before a reset
  (void)r.allocate(100, 8);
  after = r.mark_here();
  r.release();
  EXPECT_EQ(r.rewind(after), TOFT_EMARK);
  (void)r.allocate(100, 8);
  EXPECT_EQ(r.rewind(after), TOFT_EMARK);
}

TEST(ArenaResource, ReleaseBeginsAgainInTheBuffer) {
  alignas(64) std::array<std::byte, TOFT_BUFFER(1000)> buffer;
  test::upstream up;
  toft::arena_resource r(buffer.data(), buffer.size(), &up);
  void *first = r.allocate(500, 8);
  (void)r.allocate(5000, 8);
  EXPECT_GT(up.live(), 0u);
  r.release();
  EXPECT_EQ(up.live(), 0u);
  EXPECT_EQ(r.allocate(500, 8), first);
}

TEST(ArenaResource, ReleaseIsRefusedWhileARangeIsClaimed) {
  toft::arena_resource r;
  int *kept = static_cast<int *>(r.allocate(sizeof(int), alignof(int)));
  *kept = 5;
  {
    toft::claim range(r.arena());
    r.release();
    EXPECT_EQ(*kept, 5);
    EXPECT_NE(range.allocate(8), nullptr);
  }
  r.release();
}

TEST(ArenaResource, BadOptionsFailAtTheFirstAllocation) {
  toft::arena_options o;
  o.flags = 77;
  toft::arena_resource r(o);
  EXPECT_THROW((void)r.allocate(1, 1), std::bad_alloc);
}

// Upstream is called by one thread at a time, the first allocation included.
TEST(Synchronized, TheFirstAllocationIsMadeOnce) {
  for (int round = 0; round < 50; round++) {
    test::upstream up;
    toft::synchronized_recycling_resource r(&up);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
      threads.emplace_back([&r] {
        void *p = r.allocate(100, 8);
        r.deallocate(p, 100, 8);
      });
    for (std::thread &t : threads) t.join();
    EXPECT_EQ(r.stats().used, 0u);
  }
}

TEST(ArenaResource, BorrowsAnArenaMadeElsewhere) {
  toft_arena *c = toft_create();
  ASSERT_NE(c, nullptr);
  {
    toft::arena_resource r{toft::arena_ref(c)};
    std::pmr::vector<int> v(&r);
    v.assign(1000, 5);
    EXPECT_TRUE(toft_contains(c, v.data()));
  }
  EXPECT_NE(toft_alloc(c, 8), nullptr);  // still there
  toft_release(c);
}

TEST(ArenaResource, GivesTheNewestBack) {
  toft::arena_resource r;
  void *a = r.allocate(100, 8);
  r.deallocate(a, 100, 8);
  EXPECT_EQ(r.allocate(100, 8), a);
  void *b = r.allocate(100, 8);
  r.deallocate(a, 100, 8);  // not the newest: nothing happens
  EXPECT_NE(r.allocate(100, 8), a);
  std::pmr::memory_resource &base = r;
  base.deallocate(b = base.allocate(100, 8), 100, 8);
  EXPECT_EQ(r.allocate(100, 8), b);
}

}  // namespace
#endif
