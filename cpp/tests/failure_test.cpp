// Which call throws which exception, and when.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <toft/config.hpp>
#if __has_include(<memory_resource>)

#include <memory>
#include <memory_resource>

#include <gtest/gtest.h>
#include <toft/pmr.hpp>
#include <toft/pool.hpp>
#include <toft/recycler.hpp>

namespace {

struct boom {};

struct throwing : std::pmr::memory_resource {
  long calls = 0, at;
  explicit throwing(long k) : at(k) {}
  void *do_allocate(std::size_t n, std::size_t a) override {
    if (calls++ == at) throw boom();
    return std::pmr::new_delete_resource()->allocate(n, a);
  }
  void do_deallocate(void *p, std::size_t n, std::size_t a) override {
    std::pmr::new_delete_resource()->deallocate(p, n, a);
  }
  bool do_is_equal(const std::pmr::memory_resource &o) const noexcept override { return this == &o; }
};

// The second segment is refused once; a smaller one is had, and the allocation succeeds.
void swallow_one() {
  throwing upstream(1);
  toft::recycling_resource r(&upstream);
  for (int i = 0; i < 8; i++) ASSERT_NO_THROW((void)r.allocate(32000));
  ASSERT_GT(upstream.calls, 2);
  EXPECT_THROW((void)r.allocate(SIZE_MAX), std::bad_alloc);  // upstream was not called
}

TEST(Failure, NoStaleExceptionFromTheSameResource) { swallow_one(); }

TEST(Failure, NoStaleExceptionFromAnotherResource) {
  throwing upstream(0);
  toft::upstream_source source(&upstream);
  toft::arena_options o;
  o.source = &source;
  o.flags = 0;
  try {
    toft::arena a(o);
    (void)a.allocate(std::size_t(1) << 20);
  } catch (const std::bad_alloc &) {
  }
  toft::recycling_resource other;
  EXPECT_THROW((void)other.allocate(SIZE_MAX), std::bad_alloc);
}

// Refuses each block above a size with an exception that owns an object.
class refusing final : public std::pmr::memory_resource {
 public:
  struct refusal {
    std::shared_ptr<int> owned;
  };
  explicit refusing(std::size_t above) : above_(above) {}
  const std::weak_ptr<int> &last() const { return last_; }

 private:
  void *do_allocate(std::size_t size, std::size_t align) override {
    if (size <= above_) return std::pmr::new_delete_resource()->allocate(size, align);
    refusal thrown{std::make_shared<int>(1)};
    last_ = thrown.owned;
    throw thrown;
  }
  void do_deallocate(void *p, std::size_t size, std::size_t align) override {
    std::pmr::new_delete_resource()->deallocate(p, size, align);
  }
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }

  std::size_t above_;
  std::weak_ptr<int> last_;
};

// Also where the exception passes through two resources, and where the call outlives a smaller request's success.
template <class Resource>
void keep_no_exception() {
  for (std::size_t above : {100000u, 30000u, 3000u, 0u}) {
    refusing up(above);
    Resource inner(&up);
    Resource outer(&inner);
    for (std::size_t size : {64u, 2000u, 20000u, 90000u, 900000u}) {
      try {
        outer.deallocate(outer.allocate(size, 8), size, 8);
      } catch (const refusing::refusal &thrown) {
        EXPECT_EQ(*thrown.owned, 1);
      }
      EXPECT_TRUE(up.last().expired()) << above << ' ' << size;
    }
  }
}

TEST(Failure, KeepsNoExceptionOfUpstream) {
  keep_no_exception<toft::recycling_resource>();
  keep_no_exception<toft::synchronized_recycling_resource>();
  keep_no_exception<toft::arena_resource>();
}

TEST(Failure, SynchronizedRejectsTheSameArguments) {
  EXPECT_THROW(toft::recycling_resource(1, (std::size_t(1) << 30) + 1), std::invalid_argument);
  EXPECT_THROW(toft::synchronized_recycling_resource(1, (std::size_t(1) << 30) + 1), std::invalid_argument);
  EXPECT_THROW(toft::synchronized_recycling_resource(SIZE_MAX, 1), std::invalid_argument);
  toft::recycler_options o;
  o.shards = 257;
  EXPECT_THROW(toft::synchronized_recycling_resource r(o), std::invalid_argument);
  EXPECT_THROW(toft::synchronized_recycler r(o), std::invalid_argument);
}

// What has a destructor cannot be made under a claim: the arena keeps no record of it then.
TEST(Failure, MakeUnderAClaim) {
  static int live;
  struct object {
    object() { live++; }
    ~object() { live--; }
  };
  live = 0;
  toft::arena a;
  toft::claim c(a);
  EXPECT_THROW(a.make<object>(), std::bad_alloc);
  EXPECT_THROW(a.make_array<object>(3), std::bad_alloc);
  EXPECT_EQ(a.try_make<object>(), nullptr);
  EXPECT_EQ(live, 0);
  EXPECT_EQ(*a.make<int>(3), 3);
}

struct phoenix {
  static toft::pool<phoenix> *pool;
  static int live, more;
  phoenix() { live++; }
  ~phoenix() {
    live--;
    if (more-- > 0) pool->emplace();
  }
};
toft::pool<phoenix> *phoenix::pool;
int phoenix::live, phoenix::more;

TEST(Failure, WhatADestructorEmplacesIsDestroyedToo) {
  std::optional<toft::pool<phoenix>> p(std::in_place);
  phoenix::pool = &*p;
  phoenix::more = 5;
  for (int i = 0; i < 3; i++) p->emplace();
  p.reset();
  phoenix::pool = nullptr;
  EXPECT_EQ(phoenix::live, 0);
}

}  // namespace
#endif
