// Frozen files: containers that are read back at their address and elsewhere; refusals.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <toft/config.hpp>
#if __has_include(<memory_resource>)

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <memory_resource>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <toft/allocator.hpp>
#include <toft/freeze.hpp>

#if defined(__linux__)
#include <unistd.h>
#endif

namespace {

using text = std::pmr::string;

// Every third text fits into the string itself.
text text_of(std::size_t i) {
  text s(std::to_string(i));
  return i % 3 == 0 ? s : text("a text that does not fit into the string itself, ") + s;
}

using shape = std::variant<int, text>;

struct world {
  std::pmr::map<text, text> ordered;
  std::pmr::unordered_map<text, std::uint64_t> hashed;
  std::pmr::vector<text> texts;
  std::pmr::vector<shape> shapes;
  std::pmr::deque<std::size_t> queue;
  std::pmr::list<std::optional<text>> list;
  std::pmr::set<const text *> addresses;
  std::vector<std::size_t, toft::allocator<std::size_t, toft::region_resource>> rows;
  text name, empty;

  explicit world(toft::region_resource *m)
      : ordered(m),
        hashed(m),
        texts(m),
        shapes(m),
        queue(m),
        list(m),
        addresses(m),
        rows(m),
        name("a name", m),
        empty(m) {}

  void fill(std::size_t n) {
    std::pmr::memory_resource *m = texts.get_allocator().resource();
    for (std::size_t i = 0; i < n; i++) {
      ordered.emplace(text_of(i), text_of(2 * i));
      hashed.emplace(text_of(i), i);
      texts.emplace_back(text_of(i));
      if (i % 2 == 0)
        shapes.emplace_back(std::in_place_type<text>, text_of(i), m);
      else
        shapes.emplace_back(static_cast<int>(i));
      queue.push_back(i);
      list.emplace_back(std::in_place, text_of(i), m);
      addresses.insert(&*list.back());
      rows.push_back(i);
    }
    for (std::size_t i = n; i < 2 * n; i++) {  // freed memory, with old content
      ordered.emplace(text_of(i), text_of(i));
      hashed.emplace(text_of(i), i);
    }
    for (std::size_t i = n; i < 2 * n; i++) {
      ordered.erase(text_of(i));
      hashed.erase(text_of(i));
    }
  }
};

// Whether each way to an element finds it.
bool is_filled(const world &w, std::size_t n) {
  bool good = w.ordered.size() == n && w.hashed.size() == n && w.texts.size() == n && w.shapes.size() == n &&
              w.queue.size() == n && w.list.size() == n && w.addresses.size() == n && w.rows.size() == n;
  good = good && w.name == "a name" && w.empty.empty();
  auto item = w.list.begin();
  for (std::size_t i = 0; good && i < n; i++, ++item) {
    const text t = text_of(i);
    auto o = w.ordered.find(t);
    auto h = w.hashed.find(t);
    good = o != w.ordered.end() && o->second == text_of(2 * i) && h != w.hashed.end() && h->second == i &&
           w.texts[i] == t && w.queue[i] == i && *item == t && w.addresses.count(&**item) == 1 && w.rows[i] == i;
    good = good && (i % 2 == 0 ? std::get<text>(w.shapes[i]) == t : std::get<int>(w.shapes[i]) == static_cast<int>(i));
  }
  std::size_t walked = 0;
  for (auto i = w.ordered.rbegin(); i != w.ordered.rend(); ++i) walked++;
  for (auto &h : w.hashed) walked += h.second < n ? 1 : 0;
  return good && walked == 2 * n;
}

// A path for a file, which is removed at the end.
struct path {
  std::string name;
  path() {
    static int count;
    const char *folder = std::getenv("TMPDIR");
    name = folder != nullptr ? folder : "/tmp";
#if defined(_WIN32)
    name = ".";
#else
    name += "/toft-" + std::to_string(getpid());
#endif
    name += "-" + std::to_string(count++) + ".frozen";
  }
  ~path() { std::remove(name.c_str()); }
  bool exists() const {
    std::FILE *f = std::fopen(name.c_str(), "rb");
    if (f != nullptr) std::fclose(f);
    return f != nullptr;
  }
};

void write_world(const path &p, std::size_t n, const toft::freeze_options &options = {}) {
  toft::freeze<world>(
      p.name,
      [n](toft::freeze_region &r) {
        world *w = r.make<world>(r.resource());
        w->fill(n);
        return w;
      },
      options);
}

toft::frozen_options reader(std::uint32_t flags, const char *layout = nullptr) {
  toft::frozen_options o;
  o.flags = flags;
  o.layout = layout;
  return o;
}

TEST(Freeze, ContainersAreReadBack) {
  const std::size_t many = std::getenv("TOFT_SHORT") != nullptr ? 10000 : 100000;
  for (std::size_t n : {std::size_t(0), std::size_t(1), std::size_t(10), many}) {
    path p;
    write_world(p, n);
    for (std::uint32_t flags : {0u, std::uint32_t(TOFT_FROZEN_ELSEWHERE), std::uint32_t(TOFT_FROZEN_VERIFY)}) {
      toft::frozen<world> f(p.name, reader(flags));
      EXPECT_TRUE(is_filled(*f, n)) << n << " elements, flags " << flags;
      EXPECT_TRUE(f.is_moved() || flags != TOFT_FROZEN_ELSEWHERE);
      text copy = f->name;  // in the default resource
      copy += ", which grows to a text that does not fit into the string itself";
      EXPECT_EQ(f->name, "a name");
    }
  }
}

TEST(Freeze, TheResourceIsZeros) {
  path p;
  write_world(p, 10);
  toft::frozen<world> f(p.name);
  const auto *m = reinterpret_cast<const unsigned char *>(f->texts.get_allocator().resource());
  const auto *start = reinterpret_cast<const unsigned char *>(f.get());
  EXPECT_LT(m > start ? m - start : start - m, static_cast<std::ptrdiff_t>(f.size()));
  for (std::size_t i = 0; i < sizeof(toft::region_resource); i++) ASSERT_EQ(m[i], 0) << i;
}

TEST(Freeze, AWritableFileIsACopy) {
  path p;
  write_world(p, 10);
  toft::frozen<world> f(p.name, reader(TOFT_FROZEN_WRITABLE)), other(p.name);
  EXPECT_EQ(other.writable(), nullptr);
  f.writable()->rows[3] = 77;
  f.writable()->name = "other";  // it fits
  EXPECT_EQ(f->rows[3], 77u);
  EXPECT_EQ(f->name, "other");
  EXPECT_TRUE(is_filled(*other, 10));
  EXPECT_TRUE(is_filled(*toft::frozen<world>(p.name), 10));
}

TEST(Freeze, Moves) {
  static_assert(!std::is_copy_constructible_v<toft::frozen<world>>);
  static_assert(std::is_nothrow_move_constructible_v<toft::frozen<world>>);
  path p;
  write_world(p, 10);
  toft::frozen<world> a(p.name, reader(TOFT_FROZEN_WRITABLE)), b;
  EXPECT_FALSE(b);
  EXPECT_EQ(b.get(), nullptr);
  const world *place = a.get();
  toft::frozen<world> c(std::move(a));
  EXPECT_FALSE(a);
  b = std::move(c);
  EXPECT_TRUE(b.get() == place && b.writable() == place && !c);
  EXPECT_EQ(b.try_open("no such file"), TOFT_EIO);
  EXPECT_FALSE(b);
  EXPECT_EQ(b.try_open(p.name.c_str()), TOFT_OK);
  EXPECT_TRUE(b && is_filled(*b, 10));
}

// ---- refusals ----

template <class Root, class Build>
std::vector<toft::freeze_fault> faults_of(Build build, std::uint32_t flags = 0) {
  path p;
  toft::freeze_options o;
  o.flags = flags;
  try {
    toft::freeze<Root>(p.name, build, o);
  } catch (const toft::freeze_error &e) {
    EXPECT_FALSE(p.exists());
    EXPECT_NE(std::string(e.what()), "");
    return e.faults();
  }
  ADD_FAILURE() << "it is not refused";
  return {};
}

struct holder {
  const void *word;
};

TEST(Freeze, VirtualFunctionsAreRefused) {
  for (std::uint32_t flags : {0u, std::uint32_t(TOFT_FREEZE_SITES)}) {
    auto faults = faults_of<holder>(
        [](toft::freeze_region &r) {
          void *at = r.resource()->allocate(sizeof(std::exception));
          return r.make<holder>(holder{::new (at) std::exception});
        },
        flags);
    ASSERT_EQ(faults.size(), 1u);
    EXPECT_EQ(faults[0].kind, std::uint32_t(TOFT_FREEZE_POINTS_OUT));
#if defined(__linux__)
    EXPECT_NE(faults[0].points_to.find("vtable for std::exception"), std::string::npos) << faults[0].points_to;
    EXPECT_EQ(faults[0].site != nullptr, flags != 0);
#endif
  }
}

TEST(Freeze, MemoryElsewhereIsRefused) {
  static int variable;
  EXPECT_EQ(faults_of<holder>([](toft::freeze_region &r) { return r.make<holder>(holder{&variable}); }).size(), 1u);
  alignas(8) static unsigned char bytes[1000];
  static std::pmr::monotonic_buffer_resource other(bytes, sizeof bytes);
  auto outside = faults_of<std::pmr::vector<int>>(
      [](toft::freeze_region &r) { return r.make<std::pmr::vector<int>>(std::size_t(10), 1, &other); });
  EXPECT_EQ(outside.size(), 4u);  // its resource; the second build has other elements
  auto cleanup = faults_of<world>([](toft::freeze_region &r) {
    world *w = r.arena().make<world>(r.resource());
    w->fill(100);
    return w;
  });
  ASSERT_EQ(cleanup.size(), 1u);
  EXPECT_EQ(cleanup[0].kind, std::uint32_t(TOFT_FREEZE_CLEANUP));
}

TEST(Freeze, ManyFaultsAreCut) {
  auto build = [](toft::freeze_region &r) {
    auto *all = r.make<std::pmr::vector<const char *>>(r.resource());
    all->assign(1000, "a literal");
    return all;
  };
  EXPECT_EQ(faults_of<std::pmr::vector<const char *>>(build).size(), toft::freeze_error::max_faults);
}

TEST(Freeze, AcceptedWordsAreWritten) {
  path p;
  std::uintptr_t n = 0;
  auto build = [&](toft::freeze_region &r) { return r.make<std::uintptr_t>(++n); };
  EXPECT_THROW(toft::freeze<std::uintptr_t>(p.name, build), toft::freeze_error);
  toft::freeze_options o;
  o.accepts = [](const toft::freeze_fault &f) { return f.kind == TOFT_FREEZE_DIFFERS; };
  n = 40;
  toft::freeze<std::uintptr_t>(p.name, build, o);
  EXPECT_EQ(*toft::frozen<std::uintptr_t>(p.name), 41u);
  o.accepts = [](const toft::freeze_fault &) -> bool { throw std::domain_error("it throws"); };
  EXPECT_THROW(toft::freeze<std::uintptr_t>(p.name, build, o), std::domain_error);
  EXPECT_EQ(*toft::frozen<std::uintptr_t>(p.name), 41u);
}

struct counted {
  static int live;
  int order;
  explicit counted(int o, bool throws = false) : order(o) {
    if (throws) throw std::domain_error("a constructor throws");
    live++;
  }
  ~counted() { EXPECT_EQ(--live, order); }
};
int counted::live;

TEST(Freeze, ExceptionsArePassedOn) {
  for (int call = 0; call < 2; call++)
    for (bool in_constructor : {false, true}) {
      path p;
      int calls = 0;
      auto build = [&](toft::freeze_region &r) {
        world *w = nullptr;
        if (calls++ == call) {
          w = r.make<world>(r.resource());
          w->fill(100);
          for (int i = 0; i < 5; i++) r.make<counted>(i);
          r.make<counted>(5, in_constructor);
          throw std::domain_error("the builder throws");
        }
        w = r.make<world>(r.resource());
        w->fill(100);
        return w;
      };
      toft::freeze_options o;
      o.flags = TOFT_FREEZE_SITES;
      EXPECT_THROW(toft::freeze<world>(p.name, build, o), std::domain_error);
      EXPECT_EQ(counted::live, 0);
      EXPECT_EQ(calls, call + 1);
      EXPECT_FALSE(p.exists());
    }
}

TEST(Freeze, Failures) {
  path p;
  auto none = [](toft::freeze_region &) -> world * { return nullptr; };
  EXPECT_TRUE(faults_of<world>(none).empty());
  EXPECT_EQ(toft::try_freeze<world>(p.name, none), TOFT_ECONTENT);
  auto one = [](toft::freeze_region &r) { return r.make<int>(1); };
  toft::freeze_options o;
  o.max = 4095;
  EXPECT_THROW(toft::freeze<int>(p.name, one, o), std::invalid_argument);
  o = toft::freeze_options();
  o.max = std::size_t(1) << 20;
  EXPECT_THROW(write_world(p, 100000, o), std::bad_alloc);  // the region is full
  auto claims = [](toft::freeze_region &r) {
    static toft_range range;  // which is not returned
    (void)toft_claim(r.arena().get(), &range);
    return static_cast<int *>(r.resource()->allocate(sizeof(int)));
  };
  EXPECT_THROW(toft::freeze<int>(p.name, claims), std::logic_error);
  try {
    toft::freeze<int>("no such folder/file", one);
    ADD_FAILURE();
  } catch (const std::system_error &e) {
    EXPECT_EQ(e.code(), std::errc::no_such_file_or_directory);
  }
  EXPECT_FALSE(p.exists());
}

int code_of(const std::string &name, const toft::frozen_options &o) {
  try {
    toft::frozen<world> f(name, o);
  } catch (const toft::frozen_error &e) {
    EXPECT_NE(std::string(e.what()).find(name), std::string::npos);
    return e.code();
  }
  return TOFT_OK;
}

TEST(Freeze, Openings) {
  path p;
  toft::freeze_options writer;
  writer.layout = "world 1";
  writer.layout_hash = 7;
  write_world(p, 10, writer);
  EXPECT_EQ(code_of(p.name, reader(0, "world 1")), TOFT_OK);
  EXPECT_EQ(code_of(p.name, reader(0, "world 2")), TOFT_ECONTENT);
  auto hash = reader(0);
  hash.layout_hash = 8;
  EXPECT_EQ(code_of(p.name, hash), TOFT_ECONTENT);
  hash.flags = 1u << 31;
  EXPECT_THROW(code_of(p.name, hash), std::invalid_argument);
  try {
    toft::frozen<world> f("no such file");
    ADD_FAILURE();
  } catch (const std::system_error &e) {
    EXPECT_EQ(e.code(), std::errc::no_such_file_or_directory);
  }
  std::FILE *f = std::fopen(p.name.c_str(), "r+b");
  ASSERT_NE(f, nullptr);
  std::fputc(0, f);
  std::fclose(f);
  EXPECT_EQ(code_of(p.name, reader(0)), TOFT_ECORRUPT);
}

}  // namespace
#endif
