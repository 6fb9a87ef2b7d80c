// The memory of a recycler beside its live objects, in the patterns of programs.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <vector>

#include <toft/recycler.hpp>

namespace {

// A temporary for each node that is kept: parsers, loaders, std::string growing beside a map.
void keeps_little(std::size_t temporary, std::size_t align, std::size_t node, double most) {
  toft::recycler r;
  for (int i = 0; i < 20000; i++) {
    void *p = r.allocate(temporary, align);
    (void)r.allocate(node, 8);
    r.deallocate(p, temporary);
  }
  toft::recycler_stats s = r.stats();
  EXPECT_LT(static_cast<double>(s.reserved), most * static_cast<double>(s.used) + (2 << 20))
      << "temporary " << temporary << " align " << align << " node " << node;
}

TEST(RecyclerMemory, TemporaryBesideKeptNode) {
  for (std::size_t temporary : std::initializer_list<std::size_t>{256, 512, 600, 1024, 2048, 4096, 5000, 40000})
    for (std::size_t node : std::initializer_list<std::size_t>{8, 64}) keeps_little(temporary, 8, node, 4);
}

TEST(RecyclerMemory, AlignedTemporaryBesideKeptNode) {
  for (std::size_t align : std::initializer_list<std::size_t>{4096, 32768, 65536}) keeps_little(8, align, 8, 8);
  keeps_little(4096, 4096, 64, 8);
}

TEST(RecyclerMemory, RandomReplacement) {
  for (std::size_t size : std::initializer_list<std::size_t>{64, 512, 520, 1024, 4000, 5000, 16000}) {
    toft::recycler r;
    std::mt19937_64 random(1);
    std::vector<void *> v((4u << 20) / size);
    for (void *&p : v) p = r.allocate(size, 8);
    for (std::size_t i = 0; i < 10 * v.size(); i++) {
      void *&p = v[random() % v.size()];
      r.deallocate(p, size);
      p = r.allocate(size, 8);
    }
    toft::recycler_stats s = r.stats();
    EXPECT_LT(static_cast<double>(s.reserved), 2.0 * static_cast<double>(s.used)) << size;
  }
}

// Holes that a larger request found too small serve the smaller ones that made them.
void holes_survive(toft::recycler_options o, int larger) {
  toft::recycler r(o);
  std::vector<void *> v;
  for (int i = 0; i < 500 * 80; i++) v.push_back(r.allocate(400, 8));
  for (std::size_t i = 1; i < v.size(); i += 2) r.deallocate(v[i], 400);
  std::vector<void *> w;
  for (int i = 0; i < larger; i++) w.push_back(r.allocate(500, 8));
  for (void *p : w) r.deallocate(p, 500);
  std::uint64_t before = r.stats().reserved;
  for (std::size_t i = 1; i < v.size(); i += 2) v[i] = r.allocate(400, 8);
  EXPECT_LT(static_cast<double>(r.stats().reserved), 1.1 * static_cast<double>(before));
}

TEST(RecyclerMemory, HolesTooSmallForOneRequestServeOthers) { holes_survive({}, 8000); }
TEST(RecyclerMemory, HolesOfCountedBlocksTooSmallForOneRequestServeOthers) {
  toft::recycler_options o;
  o.count = 510;
  o.block_size = 32000;
  holes_survive(o, 1);
}

// If the source has no memory, a few smaller segments are requested.
TEST(RecyclerMemory, OneSourceCallForEachAllocation) {
  struct counting : toft_source {
    int calls = 0;
    bool full = false;
  } source;
  source.take = [](toft_source *self, std::size_t size) -> void * {
    auto *s = static_cast<counting *>(self);
    s->calls++;
    return s->full ? nullptr : toft_heap()->take(toft_heap(), size);
  };
  source.put = [](toft_source *, void *p, std::size_t size) { toft_heap()->put(toft_heap(), p, size); };
  source.extend = nullptr;
  toft::recycler_options o;
  o.source = &source;
  toft::recycler r(o);
  for (int i = 0; i < 200; i++) {
    int before = source.calls;
    (void)r.allocate(32000);
    EXPECT_LE(source.calls - before, 1);
  }
  source.full = true;
  for (;;) {
    int before = source.calls;
    void *p = r.try_allocate(32000);
    EXPECT_LE(source.calls - before, p != nullptr ? 1 : 8);
    if (p == nullptr) break;
  }
}

TEST(RecyclerMemory, TrimKeepsTheRequestedBytes) {
  toft::synchronized_recycler r;
  std::vector<void *> v;
  for (int i = 0; i < 10000; i++) v.push_back(r.allocate(1000));
  for (void *p : v) r.deallocate(p, 1000);
  ASSERT_GT(r.stats().reserved, 9u << 20);
  r.trim(4u << 20);
  EXPECT_GE(r.stats().reserved, 4u << 20);
}

}  // namespace
