/* toft::soa_pool: dense columns, handles that stay good, lifetimes of fields, failures that change nothing, and a
 * random stream against std::map.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "toft/soa_pool.hpp"

namespace {

using toft::soa_pool;

struct ledger {
  std::set<const void *> alive;
  std::size_t made = 0;
  std::size_t throw_at = 0; /* the construction that throws, counted from 1, moves not counted; 0: none */
};
ledger book;

template <int Which>
struct tracked {
  int value;
  std::unique_ptr<int> owned;

  tracked(int v) : value(v) {
#if TOFT_EXCEPTIONS
    if (++book.made == book.throw_at) throw std::runtime_error("ordered");
#else
    ++book.made;
#endif
    owned = std::make_unique<int>(v);
    EXPECT_TRUE(book.alive.insert(this).second);
  }
  tracked(tracked &&other) noexcept : value(other.value), owned(std::move(other.owned)) {
    EXPECT_TRUE(book.alive.insert(this).second);
    EXPECT_EQ(*owned, value);
  }
  tracked &operator=(tracked &&) = delete; /* moves construct */
  ~tracked() { EXPECT_EQ(book.alive.erase(this), 1u); }
};

class SoaPoolTest : public testing::Test {
 protected:
  void SetUp() override { book = ledger(); }
  void TearDown() override { EXPECT_TRUE(book.alive.empty()); }
};

toft::pool_options fixed_at(std::size_t rows) {
  toft::pool_options o;
  o.slots = rows;
  o.fixed = true;
  return o;
}

struct empty_type {};
struct alignas(128) wide {
  std::array<double, 3> d;
};

using mixed = soa_pool<std::uint8_t, std::string, double, wide, empty_type>;
static_assert(!std::is_copy_constructible_v<mixed> && std::is_nothrow_move_constructible_v<mixed>);
static_assert(std::is_nothrow_default_constructible_v<mixed> && std::is_nothrow_swappable_v<mixed>);
static_assert(noexcept(std::declval<soa_pool<int, float> &>().try_emplace(1, 2.f)));
static_assert(noexcept(std::declval<mixed &>().try_emplace()));
static_assert(!noexcept(std::declval<mixed &>().try_emplace(std::uint8_t{1}, "x", 1.0, wide(), empty_type())));
static_assert(sizeof(mixed::handle_type) == 4);

template <class Pool>
void check_columns(const Pool &p) {
  std::size_t size = p.size();
  EXPECT_EQ(p.handles().size(), size);
  for (std::size_t row = 0; row < size; row++) {
    ASSERT_EQ(p.handles()[row], p.handle_at(row));
    ASSERT_TRUE(p.contains(p.handle_at(row)));
    ASSERT_EQ(p.row_of(p.handle_at(row)), row);
  }
  EXPECT_FALSE(p.handle_at(size));
  EXPECT_FALSE(p.handle_at(Pool::npos));
}

TEST_F(SoaPoolTest, ColumnsAreDenseAndAligned) {
  mixed p;
  EXPECT_EQ(p.column<0>().size(), 0u);
  EXPECT_EQ(p.capacity(), 0u);
  for (int i = 0; i < 3000; i++) {
    p.emplace(std::uint8_t(i), std::to_string(i), i * 0.5, wide{{1, 2, double(i)}}, empty_type());
    if (i % 500 == 0) check_columns(p);
  }
  EXPECT_EQ(p.column<0>().size(), 3000u);
  EXPECT_EQ(p.column<4>().size(), 3000u);
  auto on_line = [](const void *at) { return reinterpret_cast<std::uintptr_t>(at) % 64 == 0; };
  EXPECT_TRUE(on_line(p.column<0>().data()) && on_line(p.column<1>().data()) && on_line(p.column<2>().data()));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p.column<3>().data()) % 128, 0u);
  double sum = 0;
  for (double d : p.column<2>()) sum += d;
  EXPECT_EQ(sum, 0.5 * 2999 * 3000 / 2);
  for (std::size_t row = 0; row < 3000; row++) {
    EXPECT_EQ(p.column<1>()[row], std::to_string(row));
    EXPECT_EQ(p.column<3>()[row].d[2], double(row));
  }
  const mixed &c = p;
  static_assert(std::is_same_v<decltype(c.column<2>()), toft::span<const double>>);
  static_assert(std::is_same_v<decltype(c.get<1>({})), const std::string *>);
  EXPECT_EQ(c.column<1>().back(), "2999");
  toft::span<const double> view = p.column<2>();
  EXPECT_EQ(view.size(), 3000u);
}

TEST_F(SoaPoolTest, HandlesFollowTheirRows) {
  soa_pool<int, std::string> p;
  using handle = soa_pool<int, std::string>::handle_type;
  std::vector<handle> h;
  for (int i = 0; i < 100; i++) h.push_back(p.emplace(i, std::to_string(i)));
  EXPECT_TRUE(p.erase(h[10]));
  EXPECT_FALSE(p.erase(h[10]));
  EXPECT_EQ(p.get<0>(h[10]), nullptr);
  EXPECT_EQ(p.row_of(h[10]), p.npos);
  EXPECT_EQ(p.row_of(h[99]), 10u); /* the last row moved there */
  EXPECT_EQ(p.handle_at(10), h[99]);
  EXPECT_EQ(p.column<1>()[10], "99");
  EXPECT_EQ(*p.get<1>(h[99]), "99");
  EXPECT_EQ(p.at<0>(h[99]), 99);
  EXPECT_TRUE(p.erase(h[98])); /* the last row */
  check_columns(p);
  auto again = p.emplace(7, "seven");
  EXPECT_NE(again, h[98]);
  EXPECT_EQ(p.row_of(again), 98u);
  EXPECT_FALSE(p.contains({}));
  EXPECT_FALSE(p.erase(decltype(p)::handle_type()));
#if TOFT_EXCEPTIONS
  EXPECT_THROW(p.at<0>(h[10]), std::out_of_range);
  EXPECT_THROW(std::as_const(p).at<1>({}), std::out_of_range);
#endif
  std::unordered_map<handle, int> hashed{{again, 7}, {h[1], 1}};
  EXPECT_EQ(hashed[again], 7);
  while (!p.empty()) p.erase(p.handle_at(p.size() / 2));
  EXPECT_EQ(p.column<0>().size(), 0u);
  for (auto stale : h) EXPECT_FALSE(p.contains(stale));
}

TEST_F(SoaPoolTest, FieldsEndOnce) {
  {
    soa_pool<tracked<0>, int, tracked<1>> p;
    std::vector<soa_pool<tracked<0>, int, tracked<1>>::handle_type> h;
    for (int i = 0; i < 500; i++) h.push_back(p.emplace(i, i, i + 1));
    EXPECT_EQ(book.alive.size(), 1000u);
    for (std::size_t i = 0; i < 500; i += 2) EXPECT_TRUE(p.erase(h[i]));
    EXPECT_EQ(book.alive.size(), 500u);
    for (std::size_t i = 1; i < 500; i += 2) EXPECT_EQ(*p.get<2>(h[i])->owned, int(i) + 1);
    p.trim();
    EXPECT_EQ(p.capacity(), 250u);
    check_columns(p);
    p.reserve(2000);
    EXPECT_EQ(book.alive.size(), 500u);
    for (std::size_t i = 1; i < 500; i += 2) EXPECT_EQ(p.at<0>(h[i]).value, int(i));
    p.clear();
    EXPECT_TRUE(book.alive.empty());
    p.trim();
    EXPECT_EQ(p.capacity(), 0u);
    for (int i = 0; i < 10; i++) p.emplace(i, i, i);
  }
  EXPECT_TRUE(book.alive.empty());
}

TEST_F(SoaPoolTest, ArgumentsMayBeInThePool) {
  soa_pool<std::string, std::string> p;
  auto h = p.emplace("a string that is long enough for the heap", "b");
  for (int i = 0; i < 1000; i++) h = p.emplace(*p.get<0>(h), p.column<1>().front());
  for (auto &s : p.column<0>()) EXPECT_EQ(s, "a string that is long enough for the heap");
  for (auto &s : p.column<1>()) EXPECT_EQ(s, "b");
}

TEST_F(SoaPoolTest, MoveOnlyAndDefault) {
  soa_pool<std::unique_ptr<int>, int> p;
  auto a = p.emplace(std::make_unique<int>(4), 1), b = p.emplace();
  EXPECT_EQ(**p.get<0>(a), 4);
  EXPECT_EQ(*p.get<0>(b), nullptr);
  EXPECT_EQ(*p.get<1>(b), 0);
  for (int i = 0; i < 1000; i++) p.emplace(std::make_unique<int>(i), i);
  EXPECT_EQ(**p.get<0>(a), 4);
}

#if TOFT_EXCEPTIONS
TEST_F(SoaPoolTest, AConstructorThatThrowsChangesNothing) {
  using three = soa_pool<tracked<0>, tracked<1>, tracked<2>>;
  constexpr int rows = 400; /* grows during the test */
  for (auto options : {toft::pool_options(), fixed_at(rows)}) {
    for (std::size_t k = 1; k <= 3 * rows; k += k < 30 || k > 3 * rows - 30 ? 1 : 7) {
      book = ledger();
      book.throw_at = k;
      three p(options);
      std::vector<three::handle_type> h;
      for (int i = 0; i < rows; i++) {
        auto before = p.size();
        auto capacity = p.capacity();
        try {
          h.push_back(p.emplace(i, i + 1, i + 2));
        } catch (const std::runtime_error &) {
          EXPECT_EQ(book.made, k);
          EXPECT_EQ(p.size(), before);
          EXPECT_EQ(p.capacity(), capacity);
          EXPECT_EQ(book.alive.size(), 3 * before);
          h.push_back(p.emplace(i, i + 1, i + 2));
        }
      }
      ASSERT_EQ(p.size(), std::size_t(rows));
      for (int i = 0; i < rows; i++) ASSERT_EQ(p.at<2>(h[std::size_t(i)]).value, i + 2);
      if (options.fixed) {
        EXPECT_FALSE(p.try_emplace(1, 2, 3));
      }
    }
  }
}

TEST_F(SoaPoolTest, AFullPoolThrowsBadAlloc) {
  soa_pool<tracked<0>, int> p(fixed_at(5));
  auto data = p.column<1>().data();
  for (int i = 0; i < 5; i++) p.emplace(i, i);
  EXPECT_THROW(p.emplace(6, 6), std::bad_alloc);
  EXPECT_FALSE(p.try_emplace(6, 6));
  EXPECT_EQ(book.made, 5u);
  EXPECT_EQ(p.size(), 5u);
  EXPECT_EQ(p.column<1>().data(), data);
  p.trim();
  p.erase(p.handle_at(0));
  EXPECT_NO_THROW(p.emplace(7, 7));
  EXPECT_EQ(p.capacity(), 5u);
}

struct poor_source {
  toft_source source{take, put, nullptr};
  int attempts = 0, out = 0, fail_from = 0;
  static void *take(toft_source *self, std::size_t size) {
    auto *s = reinterpret_cast<poor_source *>(self);
    if (++s->attempts >= s->fail_from && s->fail_from != 0) return nullptr;
    s->out++;
    return toft_heap()->take(toft_heap(), size);
  }
  static void put(toft_source *self, void *block, std::size_t size) {
    reinterpret_cast<poor_source *>(self)->out--;
    toft_heap()->put(toft_heap(), block, size);
  }
};

/* The k-th block is refused: the values stay, and the pool works when there is memory again. */
TEST_F(SoaPoolTest, NoMemoryForColumns) {
  for (int k = 1; k < 6; k++) {
    poor_source s;
    {
      toft::pool_options o;
      o.source = &s.source;
      soa_pool<tracked<0>, std::uint64_t> p(o);
      s.fail_from = k;
      int n = 0;
      try {
        for (;; n++) p.emplace(n, std::uint64_t(n));
      } catch (const std::bad_alloc &) {
      }
      EXPECT_EQ(p.size(), std::size_t(n));
      EXPECT_EQ(p.capacity(), std::size_t(n));
      EXPECT_FALSE(p.try_emplace(1, 1u));
      EXPECT_THROW(p.reserve(std::size_t(n) + 1), std::bad_alloc);
      if (n > 0) p.erase(p.handle_at(0));
      p.trim(); /* no memory to move to: it stays */
      EXPECT_EQ(p.capacity(), std::size_t(n));
      s.fail_from = 0;
      for (int i = 0; i < 100; i++) p.emplace(i, 0u);
      for (int i = 1; i < n - 1; i++) EXPECT_EQ(p.column<0>()[std::size_t(i)].value, i);
      check_columns(p);
    }
    EXPECT_EQ(s.out, 0);
  }
}

TEST_F(SoaPoolTest, BadOptionsThrow) {
  using two = soa_pool<int, double>;
  toft::pool_options o;
  o.fixed = true;
  EXPECT_THROW(two{o}, std::invalid_argument);
  char buffer[4096];
  o = {};
  o.buffer = buffer;
  o.buffer_size = sizeof buffer;
  EXPECT_THROW(two{o}, std::invalid_argument);
  o = {};
  o.max_slots = 10;
  o.slots = 11;
  EXPECT_THROW(two{o}, std::invalid_argument);
  o.slots = 0;
  two p(o);
  EXPECT_THROW(p.reserve(11), std::length_error);
  EXPECT_THROW(two().reserve(std::size_t(-1)), std::length_error);
  for (int i = 0; i < 10; i++) p.emplace(i, i);
  EXPECT_THROW(p.emplace(1, 1), std::bad_alloc);
  EXPECT_EQ(p.capacity(), 10u);
  struct large {
    char bytes[1 << 26];
  };
  poor_source s;
  s.fail_from = 1;
  o = fixed_at(1 << 20);
  EXPECT_THROW((soa_pool<large, large>{o}), std::bad_alloc);
  o = fixed_at(10);
  o.source = &s.source;
  EXPECT_THROW(two{o}, std::bad_alloc);
}
#endif

TEST_F(SoaPoolTest, MovingAndSwapping) {
  using one = soa_pool<tracked<0>>;
  one p;
  auto a = p.emplace(1);
  auto *at = p.get<0>(a);
  one q(std::move(p));
  EXPECT_EQ(q.get<0>(a), at);
  EXPECT_TRUE(p.empty() && p.capacity() == 0 && !p.contains(a)); /* NOLINT: a moved-from pool is as new */
  p.clear();
  p.trim();
  auto b = p.emplace(2);
  swap(p, q);
  EXPECT_EQ(p.get<0>(a), at);
  EXPECT_EQ(q.get<0>(b)->value, 2);
  q = std::move(p);
  EXPECT_EQ(q.get<0>(a), at);
  EXPECT_EQ(book.alive.size(), 1u);
  q = one();
  EXPECT_TRUE(book.alive.empty());
}

TEST_F(SoaPoolTest, ReservedColumnsDoNotMove) {
  soa_pool<int, char> p;
  p.reserve(1000);
  auto *ints = p.column<0>().data();
  auto *chars = p.column<1>().data();
  for (int i = 0; i < 1000; i++) p.emplace(i, 'x');
  EXPECT_EQ(p.column<0>().data(), ints);
  EXPECT_EQ(p.column<1>().data(), chars);
  EXPECT_EQ(std::accumulate(p.column<0>().begin(), p.column<0>().end(), 0), 499500);
}

template <class Pool, class Make>
void stream(Pool p, std::size_t most, unsigned seed, Make make) {
  using handle = typename Pool::handle_type;
  std::mt19937 random(seed);
  std::map<handle, int> model;
  std::vector<handle> stale;
  for (int step = 0; step < 60000; step++) {
    auto what = random() % 1000;
    if (what < (step / 4000 % 2 ? 400u : 600u)) {
      auto h = model.size() < 2000 ? p.try_emplace(step, make(step), double(step)) : handle();
      if (h) {
        ASSERT_TRUE(model.emplace(h, step).second);
      } else {
        ASSERT_TRUE(model.size() == most || model.size() == 2000);
      }
    } else if (what < 960 && !model.empty()) {
      auto it = model.lower_bound(p.handle_at(random() % p.size()));
      ASSERT_NE(it, model.end());
      ASSERT_EQ(*p.template get<0>(it->first), it->second);
      ASSERT_EQ(*p.template get<1>(it->first), make(it->second));
      ASSERT_TRUE(p.erase(it->first));
      stale.push_back(it->first);
      model.erase(it);
    } else if (what < 990) {
      for (std::size_t i = stale.size() - std::min<std::size_t>(stale.size(), 20); i < stale.size(); i++) {
        ASSERT_FALSE(p.contains(stale[i]));
        ASSERT_FALSE(p.erase(stale[i]));
        ASSERT_EQ(p.row_of(stale[i]), p.npos);
      }
    } else if (what < 996) {
      check_columns(p);
      for (std::size_t row = 0; row < p.size(); row++) {
        ASSERT_EQ(model.count(p.handle_at(row)), 1u);
        int i = model[p.handle_at(row)];
        ASSERT_EQ(p.template column<0>()[row], i);
        ASSERT_EQ(p.template column<1>()[row], make(i));
        ASSERT_EQ(p.template column<2>()[row], double(i));
      }
    } else if (what < 998) {
      p.trim();
    } else if (what < 999) {
      Pool q(std::move(p));
      p = std::move(q);
    } else if (random() % 4 == 0) {
      p.clear();
      model.clear();
    }
    ASSERT_EQ(p.size(), model.size());
  }
}

TEST_F(SoaPoolTest, Streams) {
  auto number = [](int i) { return i * 3; };
  auto text = [](int i) { return std::string(std::size_t(i % 60), char('a' + i % 26)); };
  stream(soa_pool<int, int, double>(), SIZE_MAX, 1, number);
  stream(soa_pool<int, int, double>(fixed_at(300)), 300, 2, number);
  stream(soa_pool<int, std::string, double>(), SIZE_MAX, 3, text);
  stream(soa_pool<int, std::string, double>(fixed_at(700)), 700, 4, text);
}

TEST(Span, OfWhatThereIs) {
  int array[] = {1, 2, 3, 4};
  std::vector<int> vector{5, 6, 7};
  toft::span<int> a(array), v(vector);
  toft::span<const int> c = a, d(std::as_const(vector));
  EXPECT_EQ(a.size() + v.size() + c.size() + d.size(), 14u);
  EXPECT_EQ(c.front() + c.back() + v[1], 11);
  EXPECT_EQ(a.subspan(1, 2).size(), 2u);
  EXPECT_EQ(a.subspan(1).front() + a.first(2).back() + a.last(1)[0], 8);
  EXPECT_EQ(*a.rbegin(), 4);
  EXPECT_EQ(a.size_bytes(), sizeof array);
  EXPECT_TRUE(toft::span<int>().empty());
  static_assert(!std::is_constructible_v<toft::span<int>, toft::span<const int>>);
}

}  // namespace
