// Frames: lifetimes of objects on each thread, and refused calls.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <toft/allocator.hpp>
#include <toft/frame.hpp>
#if __has_include(<memory_resource>)
#include <map>
#include <toft/pmr.hpp>
#endif

#include "shared_source.hpp"

namespace {

static_assert(!std::is_move_constructible_v<toft::frames> && !std::is_copy_constructible_v<toft::frames>);
static_assert(!std::is_move_constructible_v<toft::frame_entry>);
static_assert(!std::is_move_constructible_v<toft::frame_scope>);
static_assert(std::is_nothrow_destructible_v<toft::frames> && std::is_nothrow_destructible_v<toft::frame_scope>);
static_assert(!std::is_convertible_v<int, toft::frames>);

toft::frame_stats stats_of(const toft::frames &f) {
  toft::frame_stats s = {};
  EXPECT_EQ(f.stats(s), TOFT_OK);
  return s;
}

struct counted {
  static int live;
  counted() { live++; }
  ~counted() { live--; }
};
int counted::live;

TEST(Frame, EmptiesWhenItEnds) {
  toft::frames f;
  for (std::uint64_t i = 0; i < 100; i++) {
    EXPECT_EQ(f.number(), i);
    toft::arena_ref a = f.arena();
    EXPECT_EQ(a.stats().live, 0u);
    EXPECT_EQ(f.arena(), a);
    EXPECT_EQ(f.try_arena(), a.get());
    (void)a.make<counted>();
    std::memset(a.allocate(3000), 1, 3000);
    EXPECT_EQ(counted::live, 1);
    EXPECT_EQ(f.advance(), TOFT_OK);
    EXPECT_EQ(counted::live, 0);
  }
  toft::frame_stats s = stats_of(f);
  EXPECT_EQ(s.live, 0u);
  EXPECT_EQ(s.arenas, 1u);
  EXPECT_EQ(s.threads, 1u);
  EXPECT_EQ(f.trim(), TOFT_OK);
  EXPECT_LE(stats_of(f).reserved, 4096u);
}

TEST(Frame, DestructorsRunWithTheFrames) {
  {
    toft::frames f(2);
    (void)f.arena().make<counted>();
    EXPECT_EQ(f.advance(), TOFT_OK);
    (void)f.arena().make<counted>();
    EXPECT_EQ(counted::live, 2);
  }
  EXPECT_EQ(counted::live, 0);
}

struct world {
  std::uint64_t frame;
  const char *text;
};
struct larger : counted, world {
  larger(std::uint64_t n, const char *t) : world{n, t} {}
};

TEST(Frame, ThePastIsFoundForSoManyFrames) {
  for (std::uint32_t buffers = 1; buffers <= TOFT_FRAMES_BUFFERS_MAX; buffers++) {
    toft::frames f(buffers);
    EXPECT_EQ(f.previous<world>(0), nullptr);
    for (std::uint64_t i = 0; i < 40; i++) {
      if (i > 0) {
        EXPECT_EQ(f.advance(), TOFT_OK);
      }
      EXPECT_EQ(f.previous<world>(0), nullptr);
      toft::arena_ref a = f.arena();
      f.publish<world>(a.make<larger>(i, a.format("frame %d", static_cast<int>(i))));  // its base is not its begin
      for (std::uint32_t age = 0; age < buffers + 2; age++) {
        const world *w = f.previous<world>(age);
        ASSERT_EQ(w != nullptr, age < buffers && age <= i);
        if (w == nullptr) continue;
        EXPECT_EQ(w->frame, i - age);
        EXPECT_EQ(w->text, "frame " + std::to_string(i - age));
      }
    }
    f.publish<const world>(nullptr);
    EXPECT_EQ(f.previous<const world>(0), nullptr);
    EXPECT_EQ(counted::live, static_cast<int>(buffers));
  }
  EXPECT_EQ(counted::live, 0);
}

TEST(Frame, AFrameInAFrame) {
  toft::frames f;
  (void)f.arena().allocate(24);
  for (int i = 0; i < 3; i++) {
    toft::frame_scope inner(f);
    EXPECT_EQ(inner, f.arena());
    (void)inner.make<counted>();
    {
      toft::frame_scope deeper(f);
      (void)deeper.make<counted>();
      (void)deeper.allocate(50000);
      EXPECT_EQ(counted::live, 2);
    }
    EXPECT_EQ(counted::live, 1);
    (void)inner.allocate(5000);
  }
  EXPECT_EQ(counted::live, 0);
  EXPECT_EQ(f.arena().stats().live, 24u);
}

TEST(Frame, AdvanceFailsWhileAThreadHasEntered) {
  toft::frames f;
  {
    toft::frame_entry in = f.try_enter();
    ASSERT_TRUE(in);
    EXPECT_EQ(in.code(), TOFT_OK);
    toft::frame_entry again(f);
    ASSERT_TRUE(again);
    toft::frame_stats s = {7, 0, 0, 0, 0, 0, 0};
    EXPECT_EQ(f.advance(), TOFT_EBUSY);
    EXPECT_EQ(f.trim(), TOFT_EBUSY);
    EXPECT_EQ(f.stats(s), TOFT_EBUSY);
    EXPECT_EQ(s.live, 7u);
    EXPECT_EQ(f.number(), 0u);
  }
  EXPECT_EQ(f.advance(), TOFT_OK);
  bool attempts = false;
  f.arena().defer([&] {  // the frame ends just now
    toft::frame_entry in = f.try_enter();
    attempts = !in && in.code() == TOFT_EBUSY && f.try_arena() == nullptr;
  });
  EXPECT_EQ(f.advance(), TOFT_OK);
  EXPECT_TRUE(attempts);
  EXPECT_EQ(f.advance(), TOFT_OK);  // a refused call does not leave the frame
}

// Frames that cannot end stay: nothing is pulled away.
TEST(Frame, BusyFramesOutliveTheirObject) {
  test::shared_source source;
  toft_frames *left;
  toft_arena *a;
  {
    toft::frames f(1, source.options());
    left = f.get();
    a = toft_frame_arena(left);
    ASSERT_EQ(toft_frame_enter(left), TOFT_OK);
  }
  EXPECT_EQ(toft_frame_arena(left), a);
  EXPECT_NE(toft_alloc(a, 100), nullptr);
  EXPECT_EQ(toft_frame_leave(left), TOFT_OK);
  EXPECT_EQ(toft_frames_release(left), TOFT_OK);
}

TEST(Frame, APartyEndsTheFrame) {
  toft::frames f;
  EXPECT_EQ(f.arrive_and_wait(), TOFT_EARG);
  EXPECT_EQ(f.set_parties(1), TOFT_OK);
  EXPECT_EQ(f.arrive_and_wait(), TOFT_OK);
  EXPECT_EQ(f.number(), 1u);
  EXPECT_EQ(f.arrive_and_drop(), TOFT_OK);
  EXPECT_EQ(f.arrive_and_drop(), TOFT_EARG);
}

#if __has_include(<memory_resource>)
static_assert(!std::is_copy_constructible_v<toft::frame_resource>);

TEST(FrameResource, AllocatesHereAndGivesNothingBack) {
  toft::frames f;
  toft::frame_resource r(f), other(f);
  std::pmr::memory_resource *base = &r;
  EXPECT_TRUE(r.is_equal(r));
  EXPECT_FALSE(r.is_equal(other));
  void *p = base->allocate(100, 64);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0u);
  EXPECT_TRUE(f.arena().contains(p));
  std::uint64_t live = f.arena().stats().live;
  base->deallocate(p, 100, 64);
  EXPECT_EQ(f.arena().stats().live, live);
  r.deallocate(r.allocate(100, 8), 100, 8);
  EXPECT_EQ(f.arena().stats().live, live + 104);
  void *a = base->allocate(0), *b = base->allocate(1), *big = base->allocate(std::size_t(1) << 20, 4096);
  EXPECT_NE(a, nullptr);
  EXPECT_NE(b, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(big) % 4096, 0u);
  {
    std::pmr::map<int, std::pmr::string> m(&r);
    for (int i = 0; i < 1000; i++) m.emplace(i, "a string that does not fit into itself");
    EXPECT_TRUE(f.arena().contains(m.at(999).data()));
  }
  EXPECT_EQ(f.advance(), TOFT_OK);
  EXPECT_EQ(f.arena().stats().live, 0u);
  std::vector<int, toft::allocator<int, toft::frame_resource>> v(&r);  // inlined
  v.assign(100, 3);
  EXPECT_TRUE(f.arena().contains(v.data()));
}

// A container that one thread filled is destroyed by another, beside what that one has: nothing of it is lost.
TEST(FrameResource, DestroyedElsewhere) {
  toft::frames f(2);
  toft::frame_resource r(f);
  std::pmr::vector<int> v(&r);
  v.assign(10, 1);
  std::thread([&] {
    toft::span<int> mine = f.arena().make_array<int>(10, 5);
    std::pmr::vector<int> taken(std::move(v));
    taken.assign(100, 2);
    taken = std::pmr::vector<int>(&r);
    toft::span<int> more = f.arena().make_array<int>(10, 6);
    for (int k : mine) EXPECT_EQ(k, 5);
    for (int k : more) EXPECT_EQ(k, 6);
  }).join();
  v.assign(5, 4);
  EXPECT_EQ(f.advance(), TOFT_OK);
  int *next = f.arena().make<int>(9);
  EXPECT_EQ(v[4], 4);  // two buffers
  v = std::pmr::vector<int>(&r);
  EXPECT_EQ(*f.arena().make<int>(8) + *next, 17);
}

#endif

#if TOFT_EXCEPTIONS
TEST(Frame, ScopesEndWhereSomethingIsThrown) {
  toft::frames f;
  try {
    toft::frame_entry in = f.try_enter();
    toft::frame_scope s(f);
    (void)s.make<counted>();
    throw std::runtime_error("out of the block");
  } catch (const std::runtime_error &) {
  }
  EXPECT_EQ(counted::live, 0);
  EXPECT_EQ(f.arena().stats().live, 0u);
  EXPECT_EQ(f.advance(), TOFT_OK);  // it has left
}

TEST(Frame, NonsenseIsRefused) {
  EXPECT_THROW(toft::frames f(0), std::invalid_argument);
  EXPECT_THROW(toft::frames f(TOFT_FRAMES_BUFFERS_MAX + 1), std::invalid_argument);
  EXPECT_THROW(toft::frames f(UINT32_MAX), std::invalid_argument);
  char buffer[5000];
  toft::arena_options o;
  o.buffer = buffer;
  o.buffer_size = sizeof buffer;
  EXPECT_THROW(toft::frames f(1, o), std::invalid_argument);
  o.buffer = nullptr;
  o.buffer_size = 0;
  o.flags = 0x4000;
  EXPECT_THROW(toft::frames f(1, o), std::bad_alloc);
  toft::frames f(2, {});
  EXPECT_THROW((void)f.arena().allocate(SIZE_MAX), std::bad_alloc);
  EXPECT_EQ(f.previous<int>(UINT32_MAX), nullptr);
  EXPECT_EQ(f.arena().stats().live, 0u);
}

TEST(Frame, NoMemory) {
  test::shared_source source;
  source.fail_from = 2;  // the first is to try the options
  toft::frames f(1, source.options());
  EXPECT_THROW((void)f.arena(), std::bad_alloc);
  EXPECT_EQ(f.try_arena(), nullptr);
  EXPECT_THROW(toft::frame_scope s(f), std::bad_alloc);
#if __has_include(<memory_resource>)
  toft::frame_resource r(f);
  EXPECT_THROW((void)r.allocate(1), std::bad_alloc);
#endif
  EXPECT_EQ(f.advance(), TOFT_OK);
}
#endif

}  // namespace
