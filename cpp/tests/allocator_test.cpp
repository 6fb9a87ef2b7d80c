// The allocator adaptor under containers, on every kind of resource; and recyclers on their own.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>
#include <toft/toft.hpp>

namespace {

template <class Resource>
struct used {
  static std::uint64_t by(Resource &r) { return r.stats().used; }
};
template <>
struct used<toft::arena> {
  static std::uint64_t by(toft::arena &) { return 0; }  // it frees at its end
};

template <class Resource>
class Adaptor : public testing::Test {};
using Kinds = testing::Types<toft::recycler, toft::synchronized_recycler, toft::arena>;
TYPED_TEST_SUITE(Adaptor, Kinds);

template <class T, class R>
using alloc = toft::allocator<T, R>;

TYPED_TEST(Adaptor, MeetsTheRequirements) {
  using A = alloc<int, TypeParam>;
  using traits = std::allocator_traits<A>;
  static_assert(std::is_same_v<typename traits::value_type, int>);
  static_assert(std::is_same_v<typename traits::template rebind_alloc<double>, alloc<double, TypeParam>>);
  static_assert(!traits::is_always_equal::value);
  static_assert(traits::propagate_on_container_move_assignment::value && traits::propagate_on_container_swap::value);
  static_assert(!traits::propagate_on_container_copy_assignment::value);
  static_assert(std::is_nothrow_copy_constructible_v<A> && !std::is_default_constructible_v<A>);
  TypeParam r, other;
  A a(&r), b(&other);
  alloc<double, TypeParam> c(a);
  EXPECT_TRUE(a == A(c));
  EXPECT_TRUE(a == c);
  EXPECT_TRUE(a != b);
  EXPECT_EQ(c.resource(), &r);
  int *p = traits::allocate(a, 10);
  traits::deallocate(a, p, 10);
  EXPECT_THROW((void)a.allocate(SIZE_MAX / 2), std::bad_alloc);
  EXPECT_THROW((void)a.allocate(SIZE_MAX / sizeof(int)), std::bad_alloc);
  EXPECT_EQ(used<TypeParam>::by(r), 0u);
}

TYPED_TEST(Adaptor, CarriesContainers) {
  TypeParam r, other;
  {
    std::map<int, int, std::less<>, alloc<std::pair<const int, int>, TypeParam>> map(&r);
    std::set<int, std::less<>, alloc<int, TypeParam>> set(&r);
    std::list<int, alloc<int, TypeParam>> list(&r);
    std::unordered_map<int, int, std::hash<int>, std::equal_to<>, alloc<std::pair<const int, int>, TypeParam>> hash(&r);
    std::basic_string<char, std::char_traits<char>, alloc<char, TypeParam>> text(&r);
    std::vector<int, alloc<int, TypeParam>> v(&r);
    for (int i = 0; i < 3000; i++) {
      map.emplace(i, i);
      set.insert(-i);
      list.push_back(i);
      hash.emplace(i, i);
      text.push_back('x');
      v.push_back(i);
    }
    EXPECT_EQ(map.size() + set.size() + list.size() + hash.size() + text.size() + v.size(), 18000u);
    std::vector<int, alloc<int, TypeParam>> w(&other);
    w.assign(100, 7);
    swap(v, w);  // and the allocators with them
    EXPECT_EQ(v.get_allocator().resource(), &other);
    EXPECT_EQ(w[2999], 2999);
    v = std::move(w);
    EXPECT_EQ(v.get_allocator().resource(), &r);
    std::vector<int, alloc<int, TypeParam>> x(&other);
    x = v;
    EXPECT_EQ(x.get_allocator().resource(), &other);
    EXPECT_EQ(x, v);
  }
  EXPECT_EQ(used<TypeParam>::by(r), 0u);
  EXPECT_EQ(used<TypeParam>::by(other), 0u);
}

TYPED_TEST(Adaptor, CarriesSharedPointers) {
  TypeParam r;
  {
    auto p = std::allocate_shared<std::string>(alloc<std::string, TypeParam>(&r), "shared");
    auto q = p;
    EXPECT_EQ(*q, "shared");
  }
  EXPECT_EQ(used<TypeParam>::by(r), 0u);
}

template <class R>
class Recyclers : public testing::Test {};
using Both = testing::Types<toft::recycler, toft::synchronized_recycler>;
TYPED_TEST_SUITE(Recyclers, Both);

TYPED_TEST(Recyclers, WithoutAStandardResource) {
  static_assert(!std::is_copy_constructible_v<TypeParam> && !std::is_move_constructible_v<TypeParam>);
  TypeParam r;
  void *p = r.allocate(100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % alignof(std::max_align_t), 0u);
  EXPECT_EQ(r.stats().used, 112u);
  p = r.try_resize(p, 100, 5000);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(r.try_resize(p, 5000, SIZE_MAX), nullptr);
  EXPECT_EQ(r.try_allocate(SIZE_MAX), nullptr);
  EXPECT_THROW(r.allocate(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(r.allocate(8, 3 << 10), std::bad_alloc);
  r.deallocate(p, 5000);
  EXPECT_EQ(r.stats().used, 0u);
  r.trim();
  EXPECT_EQ(r.stats().reserved, 0u);
  (void)r.allocate(100);
  r.release();
  EXPECT_EQ(r.stats().reserved, 0u);
  EXPECT_NE(r.get(), nullptr);
}

TYPED_TEST(Recyclers, OptionsThatContradictEachOther) {
  toft::recycler_options o;
  o.count = 3;
  EXPECT_THROW(TypeParam{o}, std::invalid_argument);
  o.block_size = 1000;
  toft_limited_source source;
  o.source = toft_limited_source_init(&source, toft_heap(), 1 << 20);
  {
    TypeParam r(o);
    EXPECT_GE(r.stats().reserved, 3000u);
  }
  EXPECT_EQ(source.used, 0u);
}

TEST(Recyclers, OnASourceThatIsEmpty) {
  toft_limited_source none;
  toft::recycler_options o;
  o.source = toft_limited_source_init(&none, toft_heap(), 0);
  toft::recycler r(o);
  EXPECT_THROW(r.allocate(8), std::bad_alloc);
  EXPECT_THROW(toft::synchronized_recycler{o}, std::bad_alloc);
  o.count = 1;
  o.block_size = 8;
  EXPECT_THROW(toft::recycler{o}, std::bad_alloc);
}

}  // namespace
