// Arenas: objects and their destructors, scopes, claims, views, and refused calls.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <toft/arena.hpp>
#include <toft/lazy.hpp>

namespace {

// Counts constructions and destructions, records the order of the latter, and throws on demand.
struct witness {
  static inline int made = 0, destroyed = 0, throw_at = 0;
  static inline std::vector<int> order;
  static void begin(int at = 0) {
    made = destroyed = 0;
    throw_at = at;
    order.clear();
  }

  int id;
  explicit witness(int i = 0) : id(i) {
    if (made + 1 == throw_at) throw std::runtime_error("constructor");
    made++;
  }
  witness(const witness &other) : witness(other.id) {}
  ~witness() {
    destroyed++;
    order.push_back(id);
  }
};

struct plain {
  int a;
  double b;
};

struct point {
  int x;
  double y;
};

TEST(Arena, MakesAggregates) {
  toft::arena a;
  point *p = a.make<point>(1, 2.5);
  EXPECT_TRUE(p->x == 1 && p->y == 2.5);
  p = a.try_make<point>(3, 0.0);
  EXPECT_TRUE(p->x == 3 && p->y == 0);
  toft::claim range(a);
  p = range.make<point>(4, 0.5);
  EXPECT_TRUE(p->x == 4 && p->y == 0.5);
}

TEST(Arena, OwnsAndMoves) {
  static_assert(!std::is_copy_constructible_v<toft::arena> && !std::is_copy_assignable_v<toft::arena>);
  static_assert(std::is_nothrow_move_constructible_v<toft::arena> && std::is_nothrow_move_assignable_v<toft::arena>);
  static_assert(sizeof(toft::arena) == sizeof(void *) && sizeof(toft::arena_ref) == sizeof(void *));
  static_assert(std::is_trivially_copyable_v<toft::arena_ref>);
  witness::begin();
  {
    toft::arena a;
    a.make<witness>(1);
    toft::arena b = std::move(a);
    EXPECT_EQ(a.get(), nullptr);
    b.make<witness>(2);
    toft::arena c;
    c.make<witness>(3);
    c = std::move(b);
    EXPECT_EQ(witness::order, std::vector<int>{3});
    toft::arena &same = c;
    c = std::move(same);
    EXPECT_NE(c.get(), nullptr);
    a = toft::arena();  // a moved-from arena can be used again
    a.make<witness>(4);
  }
  EXPECT_EQ(witness::destroyed, 4);
}

TEST(Arena, DestroysInReverseOnRewindResetAndRelease) {
  witness::begin();
  toft::arena a;
  a.make<witness>(1);
  toft::mark m = a.mark_here();
  a.make<witness>(2);
  a.make_array<witness>(2, witness(7));  // one temporary comes and goes
  a.make<witness>(3);
  witness::order.clear();
  EXPECT_EQ(a.rewind(m), TOFT_OK);
  EXPECT_EQ(witness::order, (std::vector<int>{3, 7, 7, 2}));
  EXPECT_EQ(a.rewind(m), TOFT_OK);
  EXPECT_EQ(witness::order.size(), 4u);
  EXPECT_EQ(a.reset(), TOFT_OK);
  EXPECT_EQ(witness::order.back(), 1);
  EXPECT_EQ(a.rewind(m), TOFT_EMARK);
  a.make<witness>(8);
  a = toft::arena();
  EXPECT_EQ(witness::order.back(), 8);
  EXPECT_EQ(witness::made, witness::destroyed);
}

TEST(Arena, ScopesEndInReverse) {
  witness::begin();
  toft::arena a;
  std::uint64_t live = a.stats().live;
  {
    toft::scope outer(a);
    a.make<witness>(1);
    try {
      toft::scope inner(a);
      inner.make<witness>(2);
      throw 1;
    } catch (int) {
      EXPECT_EQ(witness::order, std::vector<int>{2});
    }
    a.make<witness>(3);
  }
  EXPECT_EQ(witness::order, (std::vector<int>{2, 3, 1}));
  EXPECT_EQ(a.stats().live, live);
}

// Owners have functions of their own, with annotations, that call those of arena_ref.
TEST(Arena, AScopeAllocatesFromItsArena) {
  toft::arena a;
  std::uint64_t live = a.stats().live;
  {
    toft::scope s(a);
    EXPECT_TRUE(a.contains(s.allocate(100, 64)));
    void *bytes = s.try_allocate(100, 1);
    EXPECT_TRUE(a.contains(bytes));
    EXPECT_EQ(s.try_resize(bytes, 100, 200, 1), bytes);
    EXPECT_EQ(*static_cast<char *>(s.allocate_zeroed(1)), 0);
    EXPECT_EQ(s.allocate_array<int>(3).size(), 3u);
    EXPECT_EQ(*s.make<int>(4), 4);
    EXPECT_EQ(*s.try_make<int>(5), 5);
    EXPECT_EQ(s.make_array<int>(2)[1], 0);
    EXPECT_EQ(s.make_array<int>(2, 6)[1], 6);
    const int values[] = {7, 8};
    EXPECT_EQ(s.copy(values, 2)[1], 8);
    EXPECT_EQ(s.copy("text"), "text");
    EXPECT_STREQ(s.format("%d %s", 9, "lives"), "9 lives");
    EXPECT_GT(a.stats().live, live);
  }
  EXPECT_EQ(a.stats().live, live);
}

// Each construction throws once: earlier objects are destroyed once each, and the bytes are freed.
TEST(Arena, ConstructorsThatThrow) {
  for (int at = 1; at <= 10; at++) {
    toft::arena a;
    a.make<plain>();
    std::uint64_t live = a.stats().live;
    witness::begin(at);
    EXPECT_THROW(a.make_array<witness>(10), std::runtime_error);
    EXPECT_EQ(witness::made, at - 1);
    EXPECT_EQ(witness::destroyed, at - 1);
    EXPECT_EQ(a.stats().live, live);
    witness::begin(1);
    EXPECT_THROW(a.make<witness>(1), std::runtime_error);
    EXPECT_THROW((void)a.try_make<witness>(1), std::runtime_error);
    EXPECT_EQ(a.stats().live, live);
    witness::begin();
    a.make_array<witness>(3);
    EXPECT_EQ(a.reset(), TOFT_OK);
    EXPECT_EQ(witness::destroyed, 3);
  }
}

// A constructor that makes other objects in the same arena and then throws: they stay until a rewind.
struct nesting {
  witness *inner;
  explicit nesting(toft::arena_ref a, bool fail) : inner(a.make<witness>(5)) {
    if (fail) throw std::runtime_error("after");
  }
  ~nesting() { EXPECT_EQ(inner->id, 5); }  // it lives longer: it was complete first
};

TEST(Arena, ConstructorsThatAllocate) {
  witness::begin();
  {
    toft::arena a;
    a.make<nesting>(a, false);
    EXPECT_THROW(a.make<nesting>(a, true), std::runtime_error);
    EXPECT_EQ(witness::made, 2);
    EXPECT_EQ(witness::destroyed, 0);
  }
  EXPECT_EQ(witness::destroyed, 2);
}

// Fails at each source call and each budget: each object is destroyed once, and the arena works afterwards.
TEST(Arena, RunsOutOfMemory) {
  for (std::uint64_t budget = 0; budget < 6000; budget += 8) {
    witness::begin();
    int failed = 0;
    {
      toft::arena_options o;
      o.budget = budget == 0 ? 1 : budget;
      toft::arena a(o);
      for (int i = 0; i < 50; i++) {
        std::uint64_t live = a.stats().live;
        int kind = i % 3;
        try {
          if (kind == 0) a.make<witness>(i);
          if (kind == 1) a.make_array<witness>(3);
          if (kind == 2 && a.try_make<witness>(i) == nullptr) throw std::bad_alloc();
        } catch (const std::bad_alloc &) {
          failed++;
          EXPECT_EQ(a.stats().live, live);
        }
        EXPECT_LE(witness::destroyed, witness::made);
      }
    }
    EXPECT_EQ(witness::made, witness::destroyed);
    EXPECT_TRUE(failed > 0 || budget >= 2000);
  }
}

TEST(Arena, RefusesWhatNoMemoryCanHold) {
  toft::arena a;
  std::uint64_t live = a.stats().live;
  EXPECT_THROW(a.allocate(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(a.allocate(8, 24), std::bad_alloc);
  EXPECT_EQ(a.try_allocate(SIZE_MAX - 7), nullptr);
  EXPECT_THROW(a.allocate_array<plain>(SIZE_MAX / 8), std::bad_alloc);
  EXPECT_THROW(a.make_array<plain>(SIZE_MAX / 8), std::bad_alloc);
  EXPECT_THROW(a.make_array<witness>(SIZE_MAX / 2), std::bad_alloc);
  EXPECT_THROW(toft::arena(nullptr, 0), std::bad_alloc);
  char small[16];
  EXPECT_THROW(toft::arena(small, sizeof small), std::bad_alloc);
  EXPECT_EQ(a.stats().live, live);
}

TEST(Arena, ArraysAndText) {
  toft::arena a;
  toft::span<int> zeros = a.make_array<int>(100);
  for (int v : zeros) EXPECT_EQ(v, 0);
  toft::span<std::string> strings = a.make_array<std::string>(20, "a string that does not fit into itself");
  EXPECT_EQ(strings.size(), 20u);
  EXPECT_EQ(strings[19].size(), 38u);
  toft::span<std::string> copies = a.copy(strings.data(), strings.size());
  EXPECT_EQ(copies[7], strings[7]);
  int some[] = {1, 2, 3};
  EXPECT_EQ(a.copy(some, 3)[2], 3);
  EXPECT_EQ(a.copy(some, 0).size(), 0u);
  std::string_view text = a.copy(std::string_view("abc\0def", 7));
  EXPECT_EQ(text.size(), 7u);
  EXPECT_EQ(text.data()[7], 0);
  EXPECT_EQ(a.copy(std::string_view()).size(), 0u);
  EXPECT_STREQ(a.format("%d and %s", 5, "six"), "5 and six");
  struct alignas(256) wide {
    char c[300];
  };
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.make<wide>()) % 256, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.make_array<wide>(3).data()) % 256, 0u);
  EXPECT_EQ(a.make_array<witness>(0).size(), 0u);
  auto *p = static_cast<char *>(a.allocate_zeroed(100));
  EXPECT_EQ(std::string(p, 100), std::string(100, '\0'));
  EXPECT_EQ(a.try_resize(p, 100, 200), p);
  a.deallocate(p, 200);
  EXPECT_EQ(a.allocate(100), p);
}

TEST(Arena, DefersCalls) {
  int called = 0;
  auto kept = std::make_shared<int>(3);
  {
    toft::arena a;
    a.defer([&called] { called++; });
    {
      toft::scope s(a);
      a.defer([&called, kept] { called += *kept; });
      EXPECT_EQ(kept.use_count(), 2);
    }
    EXPECT_EQ(called, 3);
    EXPECT_EQ(kept.use_count(), 1);
  }
  EXPECT_EQ(called, 4);
}

TEST(Arena, ViewsOfArenasMadeElsewhere) {
  toft_arena *c = toft_create();
  witness::begin();
  toft::arena_ref view(c);
  view.make<witness>(1);
  toft::arena_ref copy = view;
  EXPECT_EQ(copy, view);
  EXPECT_NE(view, toft::arena_ref(nullptr));
  EXPECT_TRUE(copy.contains(view.allocate(10)));
  toft::arena owner = toft::arena::own(c);
  EXPECT_EQ(owner.get(), c);
  EXPECT_EQ(owner.release(), c);
  EXPECT_EQ(owner.get(), nullptr);
  toft_release(c);
  EXPECT_EQ(witness::destroyed, 1);
}

TEST(Arena, Adopts) {
  witness::begin();
  {
    toft::arena a, b;
    const char *text = b.copy("kept").data();
    b.make<witness>(1);
    toft::mark m = a.mark_here();
    EXPECT_EQ(a.adopt(std::move(b)), TOFT_OK);
    EXPECT_EQ(b.get(), nullptr);
    EXPECT_STREQ(text, "kept");
    EXPECT_EQ(witness::destroyed, 0);
    EXPECT_EQ(a.rewind(m), TOFT_OK);
    EXPECT_EQ(witness::destroyed, 1);
    a.set_budget(10);
    toft::arena large;
    large.allocate(1000);
    EXPECT_EQ(a.adopt(std::move(large)), TOFT_ENOMEM);
    EXPECT_NE(large.get(), nullptr);
  }
  EXPECT_EQ(witness::destroyed, 1);
}

TEST(Arena, BudgetsAndChecks) {
  toft::arena a;
  EXPECT_EQ(a.set_budget(1000), TOFT_OK);
  EXPECT_THROW((void)a.allocate(1001), std::bad_alloc);
  EXPECT_EQ(a.set_budget(UINT64_MAX), TOFT_OK);
  for (int way = 0; way < 2; way++) {
    (void)a.allocate(100000);
    EXPECT_EQ(a.reset_keep_all(), TOFT_OK);
    EXPECT_GT(a.stats().reserved, 100000u);
    if (way == 0)
      a.trim();
    else
      EXPECT_EQ(a.reset_keep(0), TOFT_OK);
    EXPECT_LT(a.stats().reserved, 100000u);
  }
  EXPECT_EQ(a.set_checked(true), TOFT_OK);
  EXPECT_EQ(a.get()->epoch & 1, 1u);
}

TEST(Claim, HoldsTheRange) {
  toft::arena a;
  std::vector<int *> all;
  char *text = nullptr;
  {
    toft::claim c(a);
    for (int i = 0; i < 20000; i++) all.push_back(c.make<int>(i));
    auto *others = static_cast<char *>(a.allocate(100));  // from elsewhere
    std::memset(others, 1, 100);
    EXPECT_EQ(a.reset(), TOFT_EBUSY);
    EXPECT_THROW(toft::claim{a}, std::logic_error);
    text = c.bytes(5);
    std::memcpy(text, "12345", 5);
    EXPECT_EQ(c.bytes(3), text + 5);
    c.align();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(c.allocate(8)) % 8, 0u);
    EXPECT_EQ(c.try_allocate(SIZE_MAX), nullptr);
    EXPECT_THROW(c.allocate(SIZE_MAX), std::bad_alloc);
  }
  for (int i = 0; i < 20000; i++) EXPECT_EQ(*all[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(std::string(text, 5), "12345");
  EXPECT_EQ(a.reset(), TOFT_OK);
}

TEST(Arena, ReservesRoom) {
  toft::arena a;
  ASSERT_EQ(a.reserve(3000000, true), TOFT_OK);
  std::uint64_t calls = a.stats().source_calls;
  (void)a.allocate(3000000);
  EXPECT_EQ(a.stats().source_calls, calls);
  EXPECT_EQ(a.reserve(SIZE_MAX), TOFT_ENOMEM);
}

TEST(LazyArena, IsCreatedByItsUse) {
  struct parser {
    int line = 1;
    toft::lazy_arena memory;
  } p;
  static_assert(sizeof(toft::lazy_arena) == sizeof(void *), "one pointer");
  for (int round = 0; round < 3; round++) {
    p.memory.reset();
    EXPECT_FALSE(p.memory.is_created());
    int *n = p.memory.get().make<int>(7);
    toft::lazy_arena moved = std::move(p.memory);
    EXPECT_FALSE(p.memory.is_created());
    EXPECT_EQ(*n, 7);
    p.memory = std::move(moved);
    p.memory.reset();
    EXPECT_EQ(p.memory.get().stats().live, 0u);
    p.memory.release();
  }
}

}  // namespace
