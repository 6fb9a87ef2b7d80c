// Frames: lifetimes of objects on each thread, and refused calls.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
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

TEST(Frame, FramesShareNothing) {
  toft::frames f(1), g(2);
  EXPECT_NE(f.arena(), g.arena());
  auto *p = g.arena().make<int>(7);
  (void)f.arena().make<int>(8);
  EXPECT_EQ(f.advance(), TOFT_OK);
  EXPECT_EQ(*p, 7);
  EXPECT_EQ(stats_of(f).live, 0u);
  EXPECT_EQ(stats_of(g).live, 8u);
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

TEST(Frame, AClaimedArenaIsNotEmptied) {
  toft::frames f(2);
  {
    toft::claim c(f.arena());
    EXPECT_EQ(f.advance(), TOFT_OK);  // now another buffer is emptied
    EXPECT_EQ(f.advance(), TOFT_EBUSY);
    *c.make<int>(1) = 2;
  }
  EXPECT_EQ(f.advance(), TOFT_OK);
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

TEST(Frame, UnderAnAllocator) {
  toft::frames f;
  for (int round = 0; round < 10; round++) {
    toft::arena_ref a = f.arena();
    {
      std::vector<int, toft::allocator<int, toft::arena_ref>> v(&a);
      for (int i = 0; i < 1000; i++) v.push_back(i);
      EXPECT_EQ(v[999], 999);
    }
    EXPECT_EQ(f.advance(), TOFT_OK);
  }
}

TEST(Frame, ThreadsHaveTheirOwn) {
  toft::frames f;
  toft_arena *mine = f.arena().get(), *theirs = nullptr;
  int *p = f.arena().make<int>(1), *q = nullptr;
  std::thread([&] {
    theirs = f.arena().get();
    q = f.arena().make<int>(2);
  }).join();
  EXPECT_NE(mine, theirs);
  EXPECT_EQ(*p + *q, 3);  // the thread has ended, the frame has not
  EXPECT_EQ(stats_of(f).arenas, 2u);
  EXPECT_EQ(stats_of(f).threads, 1u);
  EXPECT_EQ(f.advance(), TOFT_OK);
  EXPECT_EQ(stats_of(f).live, 0u);
  EXPECT_EQ(f.trim(), TOFT_OK);
  EXPECT_EQ(stats_of(f).arenas, 1u);
}

// Threads that enter and leave, and one that advances whenever it may.
TEST(Frame, AdvanceDoesNotWait) {
  enum { THREADS = 4, ROUNDS = 2000 };
  toft::frames f;
  std::atomic<int> running{THREADS}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < THREADS; t++)
    threads.emplace_back([&, t] {
      for (int done = 0; done < ROUNDS;) {
        toft::frame_entry in = f.try_enter();
        if (!in) {
          wrong += in.code() != TOFT_EBUSY;
          std::this_thread::yield();
          continue;
        }
        toft::span<int> s = f.arena().make_array<int>(50, t);
        for (int v : s) wrong += v != t;
        done++;
      }
      running--;
    });
  std::uint64_t good = 0;
  while (running > 0) {
    int code = f.advance();
    wrong += code != TOFT_OK && code != TOFT_EBUSY;
    good += code == TOFT_OK;
    std::this_thread::yield();
  }
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(f.number(), good);
}

TEST(Frame, PartiesEndEachFrameOnce) {
  enum { THREADS = 4, ROUNDS = 500 };
  toft::frames f;
  EXPECT_EQ(f.arrive_and_wait(), TOFT_EARG);
  EXPECT_EQ(f.set_parties(THREADS), TOFT_OK);
  std::atomic<int> sum{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < THREADS; t++)
    threads.emplace_back([&, t] {
      for (int i = 0; i < ROUNDS; i++) {
        sum++;
        wrong += f.arrive_and_wait() != TOFT_OK;
        wrong += sum < (i + 1) * THREADS;
      }
      if (t == 0) {
        wrong += f.arrive_and_drop() != TOFT_OK;
        return;
      }
      for (int i = 0; i < ROUNDS; i++) wrong += f.arrive_and_wait() != TOFT_OK;  // three are enough
    });
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(f.number(), 2u * ROUNDS);
  for (int i = 0; i < THREADS - 1; i++) EXPECT_EQ(f.arrive_and_drop(), TOFT_OK);
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

// 4 threads and 1000 frames: each fills vectors, all read each other's, those of the frame before too.
TEST(FrameResource, ManyThreadsMeet) {
  enum { THREADS = 4, FRAMES = 1000 };
  toft::frames f(2);
  toft::frame_resource r(f);
  toft::frames gate;  // only its barrier is used
  ASSERT_EQ(f.set_parties(THREADS), TOFT_OK);
  ASSERT_EQ(gate.set_parties(THREADS), TOFT_OK);
  std::atomic<std::size_t> wrong{0};
  const std::pmr::vector<std::uint64_t> *shown[3][THREADS] = {};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < THREADS; t++)
    threads.emplace_back([&, t] {
      auto look = [&](std::uint64_t frame, unsigned whose) {
        const auto *v = shown[frame % 3][whose];
        if (v->size() != 10 + (frame + whose) % 200) wrong++;
        for (std::uint64_t k : *v) wrong += k != frame * THREADS + whose;
      };
      for (std::uint64_t i = 0; i < FRAMES; i++) {
        toft::arena_ref a = f.arena();
        {
          toft::frame_scope scratch(f);
          std::pmr::vector<int> temporary(&r);
          for (int k = 0; k < 100; k++) temporary.push_back(k);
        }
        auto *v = a.make<std::pmr::vector<std::uint64_t>>(&r);
        for (std::uint64_t k = 0; k < 10 + (i + t) % 200; k++) v->push_back(i * THREADS + t);
        shown[i % 3][t] = v;
        if (t == i % THREADS) f.publish<const unsigned>(a.make<unsigned>(static_cast<unsigned>(i)));
        wrong += gate.arrive_and_wait() != TOFT_OK;
        look(i, (t + 1) % THREADS);
        if (i > 0) look(i - 1, (t + 2) % THREADS);
        const auto *number = f.previous<const unsigned>(i > 0 ? 1 : 0);
        wrong += number == nullptr || *number != (i > 0 ? i - 1 : 0);
        wrong += f.arrive_and_wait() != TOFT_OK;
        wrong += f.number() != i + 1;
      }
    });
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(wrong, 0u);
  toft::frame_stats s = stats_of(f);
  EXPECT_EQ(s.arenas, 2u * THREADS);
  EXPECT_LT(s.reserved, 2u * THREADS * 65536u);                 // a steady loop comes to rest
  for (int i = 0; i < 2; i++) EXPECT_EQ(f.advance(), TOFT_OK);  // the last vectors end before their resource
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

// The source fails at the k-th block: std::bad_alloc, and the frames go on.
TEST(Frame, NoMemory) {
  std::size_t refused = 0;
  for (std::size_t k = 1, failed = 1; failed != 0; k++) {
    test::shared_source source;
    source.fail_from = k;  // one refusal alone is served by a smaller block
    failed = 0;
    try {
      toft::frames f(2, source.options());
      for (int i = 0; i < 5; i++) {
        try {
          toft::frame_scope s(f);
          for (int n = 0; n < 4; n++) (void)s.allocate(3000);
        } catch (const std::bad_alloc &) {
          failed++;
        }
        try {
          (void)f.arena().allocate(10000);
        } catch (const std::bad_alloc &) {
          failed++;
        }
        ASSERT_EQ(f.advance(), TOFT_OK);
      }
    } catch (const std::bad_alloc &) {
      failed++;
    }
    refused += failed;
  }
  EXPECT_GT(refused, 5u);
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
