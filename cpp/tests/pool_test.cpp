/* toft::pool: handles, lifetimes of values, failures that change nothing, and walks.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "toft/pool.hpp"

#include "shared_source.hpp"

namespace {

/* Records the addresses of values: a second construction or destruction at one address is an error. */
struct ledger {
  std::set<const void *> alive;
  std::size_t made = 0, ended = 0;
  std::size_t throw_at = 0; /* the construction that throws, counted from 1; 0: none */
};
ledger book;

struct tracked {
  int value = 0;
  std::unique_ptr<int> owned; /* so that leaks and double frees are seen by sanitizers too */

  explicit tracked(int v) : value(v) {
#if TOFT_EXCEPTIONS
    if (++book.made == book.throw_at) throw std::runtime_error("ordered");
#else
    ++book.made;
#endif
    owned = std::make_unique<int>(v);
    EXPECT_TRUE(book.alive.insert(this).second);
  }
  tracked(const tracked &) = delete;
  tracked &operator=(const tracked &) = delete;
  ~tracked() {
    EXPECT_EQ(*owned, value);
    EXPECT_EQ(book.alive.erase(this), 1u);
    book.ended++;
  }
};

class PoolTest : public testing::Test {
 protected:
  void SetUp() override { book = ledger(); }
  void TearDown() override { EXPECT_TRUE(book.alive.empty()); }
};

toft::pool_options fixed_at(std::size_t slots) {
  toft::pool_options o;
  o.slots = slots;
  o.fixed = true;
  return o;
}

using toft::handle;
using toft::pool;

/* ---- what the types promise ---- */

struct incomplete;
static_assert(sizeof(handle<incomplete>) == 4 && std::is_trivially_copyable_v<handle<incomplete>>);
static_assert(!handle<int>() && handle<int>(7) && handle<int>(7).bits() == 7 && handle<int>(nullptr) == handle<int>());
static_assert(!std::is_convertible_v<handle<int>, bool> && !std::is_convertible_v<std::uint32_t, handle<int>>);
static_assert(!std::is_convertible_v<handle<int>, handle<long>>);
static_assert(!std::is_copy_constructible_v<pool<int>> && !std::is_copy_assignable_v<pool<int>>);
static_assert(std::is_nothrow_move_constructible_v<pool<int>> && std::is_nothrow_move_assignable_v<pool<int>>);
static_assert(std::is_nothrow_default_constructible_v<pool<int>> && std::is_nothrow_swappable_v<pool<int>>);
static_assert(noexcept(std::declval<pool<int> &>().try_emplace(1)));
static_assert(!noexcept(std::declval<pool<std::string> &>().try_emplace("x")));
static_assert(!noexcept(std::declval<pool<int> &>().emplace(1)));
static_assert(std::is_same_v<decltype(*std::declval<const pool<int> &>().begin()), const int &>);
static_assert(std::is_convertible_v<pool<int>::iterator, pool<int>::const_iterator>);
static_assert(!std::is_convertible_v<pool<int>::const_iterator, pool<int>::iterator>);
static_assert(std::is_same_v<std::iterator_traits<pool<int>::iterator>::iterator_category, std::forward_iterator_tag>);

/* ---- handles and values ---- */

TEST_F(PoolTest, HandlesTellWhenTheyAreStale) {
  pool<std::string> p;
  EXPECT_TRUE(p.empty());
  EXPECT_EQ(p.get({}), nullptr);
  auto a = p.emplace("a long enough string to be on the heap, as one would"), b = p.emplace(3u, 'b');
  EXPECT_NE(a, b);
  EXPECT_EQ(*p.get(b), "bbb");
  EXPECT_EQ(p[b], "bbb");
  EXPECT_EQ(p.at(a).size(), 52u);
  EXPECT_EQ(p.handle_of(p[a]), a);
  EXPECT_TRUE(p.contains(a));
  EXPECT_TRUE(p.erase(a));
  EXPECT_FALSE(p.erase(a));
  EXPECT_FALSE(p.contains(a));
  EXPECT_EQ(p.get(a), nullptr);
  auto c = p.emplace("c"); /* in its slot */
  EXPECT_NE(a, c);
  EXPECT_EQ(p.get(a), nullptr);
  EXPECT_FALSE(p.erase(a));
  EXPECT_FALSE(p.erase(decltype(p)::handle_type()));
  EXPECT_FALSE(p.erase(handle<std::string>(12345)));
  EXPECT_EQ(p.size(), 2u);
  std::string elsewhere;
  EXPECT_FALSE(p.handle_of(elsewhere));
#if TOFT_EXCEPTIONS
  EXPECT_THROW(p.at(a), std::out_of_range);
  EXPECT_THROW(p[a], std::out_of_range);
  EXPECT_THROW(std::as_const(p)[a], std::out_of_range);
  EXPECT_THROW(std::as_const(p).at({}), std::out_of_range);
#endif
}

TEST_F(PoolTest, ConstAccess) {
  pool<int> p;
  auto h = p.emplace(5);
  const pool<int> &c = p;
  static_assert(std::is_same_v<decltype(c.get(h)), const int *>);
  static_assert(std::is_same_v<decltype(c[h]), const int &>);
  EXPECT_EQ(*c.get(h) + c[h] + c.at(h), 15);
  EXPECT_TRUE(c.contains(h));
  EXPECT_EQ(c.handle_of(c[h]), h);
  EXPECT_EQ(std::distance(c.begin(), c.end()), 1);
  EXPECT_EQ(std::distance(c.cbegin(), p.cend()), 1);
  for (auto [handle, value] : c.entries()) {
    static_assert(std::is_same_v<decltype(value), const int &>);
    EXPECT_EQ(handle, h);
    EXPECT_EQ(value, 5);
  }
  EXPECT_TRUE(p.begin() == c.begin());
}

TEST_F(PoolTest, HandlesAreKeys) {
  std::unordered_map<handle<int>, int> hashed;
  for (std::uint32_t i = 1; i <= 1000; i++) hashed[handle<int>(i)] = 1;
  EXPECT_EQ(hashed.size(), 1000u);
  handle<int> a(1), b(2);
  EXPECT_TRUE(a < b && a <= b && b > a && b >= a && a != b && !(a == b));
}

struct point { /* an aggregate */
  int x, y;
};
struct empty_type {};
struct alignas(256) wide {
  std::array<unsigned char, 300> bytes;
};
struct addressless {
  int n = 3;
  void operator&() const = delete;
};

TEST_F(PoolTest, EveryKindOfType) {
  pool<point> points;
  auto h = points.emplace(1, 2);
  EXPECT_EQ(points[h].y, 2);
  h = points.emplace();
  EXPECT_EQ(points[h].x, 0);
  h = points.emplace(point{3, 4});
  EXPECT_EQ(points[h].x, 3);

  pool<empty_type> empties;
  std::set<handle<empty_type>> seen;
  for (int i = 0; i < 500; i++) seen.insert(empties.emplace());
  EXPECT_EQ(seen.size(), 500u);
  std::set<const void *> places;
  for (auto &e : empties) places.insert(&e);
  EXPECT_EQ(places.size(), 500u);

  for (auto options : {toft::pool_options(), fixed_at(100)}) {
    pool<wide> wides(options);
    for (unsigned i = 0; i < 100; i++) {
      auto &w = wides[wides.emplace()];
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&w) % 256, 0u);
      w.bytes.fill(static_cast<unsigned char>(i));
    }
    unsigned i = 0;
    for (auto &w : wides) EXPECT_EQ(std::count(w.bytes.begin(), w.bytes.end(), i++), 300);
  }

  pool<std::unique_ptr<int>> movable;
  auto m = movable.emplace(std::make_unique<int>(9));
  auto n = movable.emplace(std::move(movable[m]));
  EXPECT_EQ(*movable[n], 9);
  EXPECT_EQ(movable[m], nullptr);

  pool<addressless> odd;
  auto o = odd.emplace();
  EXPECT_EQ(odd.handle_of(odd[o]), o);
  EXPECT_EQ(odd.begin()->n, 3);
}

/* ---- lifetimes ---- */

TEST_F(PoolTest, DestructorsRunOnce) {
  {
    pool<tracked> p;
    std::vector<handle<tracked>> h;
    for (int i = 0; i < 300; i++) h.push_back(p.emplace(i));
    for (int i = 0; i < 300; i += 3) EXPECT_TRUE(p.erase(h[static_cast<std::size_t>(i)]));
    EXPECT_EQ(book.ended, 100u);
    EXPECT_FALSE(p.erase(h[0]));
    EXPECT_EQ(book.ended, 100u);
    p.clear();
    EXPECT_EQ(book.ended, 300u);
    EXPECT_TRUE(p.empty());
    for (int i = 0; i < 50; i++) p.emplace(i);
    p.trim();
    EXPECT_EQ(book.ended, 300u);
  }
  EXPECT_EQ(book.ended, 350u);
}

#if TOFT_EXCEPTIONS
TEST_F(PoolTest, AConstructorThatThrowsChangesNothing) {
  for (auto options : {toft::pool_options(), fixed_at(20)}) {
    for (std::size_t k = 1; k <= 20; k++) {
      book = ledger();
      book.throw_at = k;
      pool<tracked> p(options);
      std::vector<handle<tracked>> h;
      for (int i = 0; i < 20; i++) {
        std::size_t before = p.size();
        try {
          h.push_back(p.emplace(i));
        } catch (const std::runtime_error &) {
          EXPECT_EQ(book.made, k);
          EXPECT_EQ(p.size(), before);
          EXPECT_EQ(static_cast<std::size_t>(std::distance(p.begin(), p.end())), before);
          h.push_back(p.emplace(i)); /* the slot is there again */
        }
      }
      EXPECT_EQ(p.size(), 20u);
      int i = 0;
      for (auto handle : h) EXPECT_EQ(p[handle].value, i++);
      if (options.fixed) {
        EXPECT_FALSE(p.try_emplace(1));
      }
      EXPECT_EQ(book.made, 21u);
    }
  }
}

TEST_F(PoolTest, AFullPoolThrowsBadAlloc) {
  pool<tracked> p(fixed_at(5));
  std::vector<handle<tracked>> h;
  for (int i = 0; i < 5; i++) h.push_back(p.emplace(i));
  for (int again = 0; again < 3; again++) {
    EXPECT_THROW(p.emplace(6), std::bad_alloc);
    EXPECT_FALSE(p.try_emplace(6));
  }
  EXPECT_EQ(book.made, 5u);
  for (int i = 0; i < 5; i++) EXPECT_EQ(p[h[static_cast<std::size_t>(i)]].value, i);
  EXPECT_EQ(p.size(), 5u);
  EXPECT_TRUE(p.erase(h[2]));
  EXPECT_NO_THROW(p.emplace(7));
  EXPECT_THROW(p.emplace(8), std::bad_alloc);
}

TEST_F(PoolTest, BadOptionsThrow) {
  toft::pool_options o;
  o.fixed = true;
  EXPECT_THROW(pool<int>{o}, std::invalid_argument);
  o.slots = static_cast<std::size_t>(-1);
  EXPECT_THROW(pool<int>{o}, std::invalid_argument);
  o = {};
  o.slots = 3;
  o.max_slots = 2;
  EXPECT_THROW(pool<int>{o}, std::invalid_argument);
  char buffer[40];
  o = {};
  o.buffer = buffer;
  o.buffer_size = 10;
  EXPECT_THROW(pool<int>{o}, std::invalid_argument);
  o = {};
  o.source = toft_heap();
  EXPECT_THROW(pool<int>{o}, std::invalid_argument);
  o.fixed = true;
  o.slots = TOFT_POOL_SLOTS_MAX;
  struct large {
    char bytes[1 << 20];
  };
  EXPECT_THROW(pool<large>{o}, std::bad_alloc);
  o = {};
  o.max_slots = 100;
  pool<int> p(o);
  EXPECT_THROW(p.reserve(101), std::length_error);
  EXPECT_THROW(pool<int>().reserve(static_cast<std::size_t>(-1)), std::length_error);
}

TEST_F(PoolTest, AFixedPoolAsksItsSourceOnce) {
  test::shared_source s;
  s.fail_from = 1;
  auto o = fixed_at(100);
  o.source = &s;
  EXPECT_THROW(pool<tracked>{o}, std::bad_alloc);
  s.fail_from = 0;
  {
    pool<tracked> p(o);
    for (int i = 0; i < 100; i++) p.emplace(i);
    EXPECT_THROW(p.emplace(1), std::bad_alloc);
    EXPECT_EQ(s.calls, 2u);
    pool<tracked> q(std::move(p));
    EXPECT_EQ(q.size(), 100u);
  }
}
#endif

/* Values that create and destroy others of their own pool. */
struct knot {
  pool<knot> *owner;
  handle<knot> child;
  int depth;
  knot(pool<knot> *p, int d) : owner(p), depth(d) {
    if (d > 0) child = p->emplace(p, d - 1);
  }
  ~knot() {
    if (child) owner->erase(child);
  }
};

TEST_F(PoolTest, ConstructorsAndDestructorsMayUseThePool) {
  pool<knot> p;
  auto a = p.emplace(&p, 1000), b = p.emplace(&p, 10);
  EXPECT_EQ(p.size(), 1012u);
  EXPECT_TRUE(p.erase(a));
  EXPECT_EQ(p.size(), 11u);
  EXPECT_EQ(p[b].depth, 10);
  p.emplace(&p, 100);
  p.clear();
  EXPECT_TRUE(p.empty());
  p.emplace(&p, 1000);
}

TEST_F(PoolTest, MovingAndSwapping) {
  pool<tracked> p;
  auto a = p.emplace(1);
  const tracked *at = p.get(a);
  pool<tracked> q(std::move(p));
  EXPECT_EQ(q.get(a), at);
  EXPECT_EQ(p.get(a), nullptr); /* NOLINT: a moved-from pool is as new */
  EXPECT_TRUE(p.empty() && p.begin() == p.end() && p.capacity() == 0);
  p.clear();
  p.trim();
  EXPECT_FALSE(p.erase(a));
  auto b = p.emplace(2);
  EXPECT_EQ(p[b].value, 2);
  swap(p, q);
  EXPECT_EQ(p.get(a), at);
  EXPECT_EQ(q[b].value, 2);
  q = std::move(p);
  EXPECT_EQ(q.get(a), at);
  EXPECT_EQ(book.alive.size(), 1u);
  q = pool<tracked>();
  EXPECT_TRUE(book.alive.empty());
  pool<tracked> r(fixed_at(2));
  r.emplace(3);
  q = std::move(r);
  EXPECT_EQ(q.capacity(), 2u);
  for (int i = 0; i < 100; i++) r.emplace(i);
}

TEST_F(PoolTest, ReservesAndTrims) {
  pool<std::array<std::uint64_t, 6>> p;
  p.reserve(50000);
  std::size_t capacity = p.capacity();
  EXPECT_GE(capacity, 50000u);
  while (p.size() < 50000) p.emplace();
  EXPECT_EQ(p.capacity(), capacity);
  p.reserve(capacity + 1);
  EXPECT_GT(p.capacity(), capacity);
  auto before = p.stats().committed;
  p.clear();
  EXPECT_TRUE(p.empty());
  p.trim();
  EXPECT_LT(p.stats().committed, before);
  auto h = p.emplace();
  EXPECT_TRUE(p.erase(h));
  EXPECT_FALSE(p.erase(h));
}

TEST_F(PoolTest, RetiresWornSlots) {
  toft::pool_options o;
  o.retire = true;
  o.max_slots = 0xffffff;
  pool<int> p(o);
  for (int i = 0; i < 255; i++) EXPECT_TRUE(p.erase(p.emplace(i)));
  EXPECT_EQ(p.retired(), 1u);
}

TEST_F(PoolTest, InABuffer) {
  alignas(8) static unsigned char memory[TOFT_POOL_BUFFER(50, sizeof(tracked), alignof(tracked))];
  toft::pool_options o;
  o.buffer = memory;
  o.buffer_size = sizeof memory;
  pool<tracked> p(o);
  EXPECT_GE(p.capacity(), 50u);
  int n = 0;
  while (p.try_emplace(n)) n++;
  EXPECT_EQ(static_cast<std::size_t>(n), p.capacity());
  for (auto &t : p) {
    auto *at = reinterpret_cast<unsigned char *>(&t);
    EXPECT_TRUE(at >= memory && at + sizeof t <= memory + sizeof memory);
  }
}

/* ---- walks ---- */

TEST_F(PoolTest, WalksVisitLiveValuesInOrder) {
  pool<int> p;
  std::vector<handle<int>> h;
  for (int i = 0; i < 1000; i++) h.push_back(p.emplace(i));
  for (int i = 0; i < 1000; i++)
    if (i % 7 != 0) p.erase(h[static_cast<std::size_t>(i)]);
  int expected = 0;
  for (int &i : p) {
    EXPECT_EQ(i, expected);
    expected += 7;
  }
  EXPECT_EQ(expected, 1001);
  EXPECT_EQ(std::distance(p.begin(), p.end()), 143);
  EXPECT_EQ(*std::find(p.begin(), p.end(), 70), 70);
  EXPECT_TRUE(std::find(p.begin(), p.end(), 71) == p.end());
  auto it = p.begin();
  auto was = it++;
  EXPECT_EQ(*was, 0);
  EXPECT_EQ(*it, 7);
  EXPECT_EQ(it.handle(), h[7]);
  for (auto [handle, value] : p.entries()) {
    EXPECT_EQ(p.get(handle), &value);
    value = -1;
  }
  EXPECT_TRUE(std::all_of(p.begin(), p.end(), [](int i) { return i == -1; }));
}

TEST_F(PoolTest, ErasingDuringAWalk) {
  pool<tracked> p;
  for (int i = 0; i < 500; i++) p.emplace(i);
  int seen = 0;
  for (tracked &t : p) {
    seen++;
    if (t.value % 2) p.erase(p.handle_of(t));
  }
  EXPECT_EQ(seen, 500);
  EXPECT_EQ(p.size(), 250u);
  for (auto [h, t] : p.entries())
    if (t.value % 4 == 0) p.erase(h);
  EXPECT_EQ(p.size(), 125u);
  for (auto it = p.begin(); it != p.end();) it = it->value % 3 ? std::next(it) : p.erase(it);
  for (tracked &t : p) EXPECT_TRUE(t.value % 4 == 2 && t.value % 3 != 0);
  for (auto it = p.cbegin(); it != p.cend();) it = p.erase(it);
  EXPECT_TRUE(p.empty());
}

}  // namespace
