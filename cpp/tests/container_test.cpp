// Every container on every resource, driven at random beside the same container on the default resource.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <toft/config.hpp>
#if __has_include(<memory_resource>)

#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <toft/pmr.hpp>

#include "upstream.hpp"

namespace {

int cases_run = 0;

// ---- what can be done to a container ----

using std::pmr::string;

string text(std::mt19937 &random, std::pmr::memory_resource *r) { return string(random() % 70, 'a', r); }

template <class Sequence>
void change_sequence(Sequence &s, std::mt19937 random) {
  for (int i = 0; i < 300; i++) {
    int value = static_cast<int>(random() % 1000);
    switch (random() % 8) {
      case 0:
        if (!s.empty()) s.erase(std::next(s.begin(), static_cast<long>(random() % s.size())));
        break;
      case 1: s.insert(std::next(s.begin(), static_cast<long>(random() % (s.size() + 1))), value); break;
      case 2: s.resize(random() % 200, value); break;
      case 3:
        if (!s.empty()) s.pop_back();
        break;
      default: s.push_back(value);
    }
    if (random() % 60 == 0) s.clear();
  }
}

template <class Set>
void change_set(Set &s, std::mt19937 random) {
  for (int i = 0; i < 400; i++) {
    int key = static_cast<int>(random() % 200);
    if (random() % 3 == 0)
      s.erase(key);
    else
      s.insert(key);
    if (random() % 150 == 0) s.clear();
  }
}

template <class Map>
void change_map(Map &m, std::mt19937 random) {
  for (int i = 0; i < 400; i++) {
    int key = static_cast<int>(random() % 200);
    if (random() % 3 == 0)
      m.erase(key);
    else
      m[key] = text(random, std::pmr::get_default_resource());
    if (random() % 150 == 0) m.clear();
  }
}

void change(std::pmr::vector<int> &c, std::mt19937 r) { change_sequence(c, r); }
void change(std::pmr::deque<int> &c, std::mt19937 r) { change_sequence(c, r); }
void change(std::pmr::list<int> &c, std::mt19937 r) { change_sequence(c, r); }
void change(std::pmr::set<int> &c, std::mt19937 r) { change_set(c, r); }
void change(std::pmr::multiset<int> &c, std::mt19937 r) { change_set(c, r); }
void change(std::pmr::map<int, string> &c, std::mt19937 r) { change_map(c, r); }
void change(std::pmr::unordered_map<int, string> &c, std::mt19937 r) { change_map(c, r); }
void change(string &s, std::mt19937 random) {
  for (int i = 0; i < 300; i++) {
    std::size_t at = random() % (s.size() + 1);
    switch (random() % 4) {
      case 0: s.erase(at, random() % 50); break;
      case 1: s.shrink_to_fit(); break;
      default: s.insert(at, random() % 40, static_cast<char>('a' + random() % 26));
    }
  }
}
void change(std::pmr::vector<std::pmr::vector<string>> &c, std::mt19937 random) {
  for (int i = 0; i < 200; i++) {
    if (c.empty() || random() % 3 == 0)
      c.emplace_back();
    else if (random() % 10 == 0)
      c.erase(c.begin() + static_cast<long>(random() % c.size()));
    else
      c[random() % c.size()].push_back(text(random, std::pmr::get_default_resource()));
  }
}
void change(std::pmr::map<string, std::pmr::unordered_map<int, std::pmr::vector<string>>> &c, std::mt19937 random) {
  for (int i = 0; i < 200; i++) {
    string key = text(random, std::pmr::get_default_resource());
    if (random() % 5 == 0)
      c.erase(key);
    else
      c[key][static_cast<int>(random() % 5)].push_back(text(random, std::pmr::get_default_resource()));
  }
}

// ---- the resources ----

struct recycling_default {
  toft::recycling_resource resource;
};
struct recycling_upstream {
  test::upstream up;
  toft::recycling_resource resource{&up};
};
struct recycling_counted {
  test::upstream up;
  toft::recycling_resource resource{10, 10000, &up};
};
struct synchronized_default {
  toft::synchronized_recycling_resource resource;
};
struct synchronized_upstream {
  test::upstream up;
  toft::synchronized_recycling_resource resource{&up};
};
struct synchronized_counted {
  test::upstream up;
  toft::synchronized_recycling_resource resource{5, 5000, &up};
};
struct arena_default {
  toft::arena_resource resource;
};
struct arena_upstream {
  test::upstream up;
  toft::arena_resource resource{&up};
};

template <class Container, class Resource>
struct Case {
  using container = Container;
  using resource = Resource;
};

template <class Test>
class Containers : public testing::Test {};

template <class R>
using on = std::tuple<Case<std::pmr::vector<int>, R>, Case<std::pmr::deque<int>, R>, Case<std::pmr::list<int>, R>,
                      Case<std::pmr::map<int, string>, R>, Case<std::pmr::set<int>, R>,
                      Case<std::pmr::multiset<int>, R>, Case<std::pmr::unordered_map<int, string>, R>, Case<string, R>,
                      Case<std::pmr::vector<std::pmr::vector<string>>, R>,
                      Case<std::pmr::map<string, std::pmr::unordered_map<int, std::pmr::vector<string>>>, R>>;

template <class Tuple>
struct types;
template <class... Cases>
struct types<std::tuple<Cases...>> {
  using list = testing::Types<Cases...>;
};

using AllCases = decltype(std::tuple_cat(on<recycling_default>(), on<recycling_upstream>(), on<recycling_counted>(),
                                         on<synchronized_default>(), on<synchronized_upstream>(),
                                         on<synchronized_counted>(), on<arena_default>(), on<arena_upstream>()));
static_assert(std::tuple_size_v<AllCases> == 80, "10 containers on 8 resources");
TYPED_TEST_SUITE(Containers, typename types<AllCases>::list);

TYPED_TEST(Containers, BehaveAsOnTheDefaultResource) {
  using container = typename TypeParam::container;
  typename TypeParam::resource on;
  for (unsigned seed = 1; seed <= 10; seed++) {
    container ours(&on.resource), others;
    for (unsigned part = 0; part < 5; part++) {
      std::mt19937 random(seed * 100 + part);
      change(ours, random);
      change(others, random);
      ASSERT_EQ(ours, others) << seed << " " << part;
      container copy(ours, &on.resource), moved(std::move(copy), &on.resource);
      ASSERT_EQ(moved, others);
      container elsewhere(std::move(moved), std::pmr::new_delete_resource());  // resources differ: element by element
      ASSERT_EQ(elsewhere, others);
      ours = elsewhere;
      ASSERT_EQ(ours, others);
    }
  }
  cases_run++;
}

TEST(ContainersCount, AllCasesRan) {  // the last of this file, and GoogleTest keeps the order
  if (testing::GTEST_FLAG(filter) != "*" || testing::GTEST_FLAG(shuffle)) GTEST_SKIP();
  EXPECT_EQ(cases_run, 80);
}

}  // namespace
#endif
