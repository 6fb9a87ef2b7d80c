// Toft: "toft" is a recycling_resource with defaults, behind a memory_resource *; "toft_direct" the same through
// toft::allocator, without the virtual call; "toft_tuned" has the parameters of ArenaMR's benchmarks; "toft_sync"
// serves all threads; "toft_arena" is reset in each round, "toft_arena_ref" the same through its head. Without std::pmr
// all are used through toft::allocator.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <toft/toft.hpp>

#include "describe.hpp"

namespace w5 {
namespace {

template <class R>
struct allocators {
  template <class T>
  using of = toft::allocator<T, R>;
};
template <class R>
using toft_door = door_of<R, allocators<R>::template of>;

#if W5_PMR

template <class R>
using door = pmr_door;
using recycler = toft::recycling_resource;
using synchronized_recycler = toft::synchronized_recycling_resource;
using arena = toft::arena_resource;

// With defaults; on the task's upstream if there is one.
template <class R, class>
R make(const task &t, toft_source *) {
  return t.from != nullptr ? R(t.from) : R();
}
recycler make_tuned(const task &t, toft_source *) {
  return t.from != nullptr ? recycler(t.arenas, t.arena_bytes, t.from) : recycler(t.arenas, t.arena_bytes);
}

#else

template <class R>
using door = toft_door<R>;
using recycler = toft::recycler;
using synchronized_recycler = toft::synchronized_recycler;
using arena = toft::arena;

template <class R, class Options>
R make(const task &t, toft_source *source) {
  Options o;
  if (t.from != nullptr) o.source = source;
  return t.from != nullptr ? R(o) : R();
}
recycler make_tuned(const task &t, toft_source *source) {
  toft::recycler_options o;
  o.count = t.arenas;
  o.block_size = t.arena_bytes;
  if (t.from != nullptr) o.source = source;
  return recycler(o);
}

#endif

// The task's upstream for resources that do not accept a memory_resource.
struct upstream_blocks : toft_source {
  upstream *from;

  explicit upstream_blocks(const task &t) : toft_source{take_block, put_block, nullptr}, from(t.from) {}
  static void *take_block(toft_source *self, std::size_t size) {
    return static_cast<upstream_blocks *>(self)->from->allocate(size, 64);
  }
  static void put_block(toft_source *self, void *block, std::size_t size) {
    static_cast<upstream_blocks *>(self)->from->deallocate(block, size, 64);
  }
};

template <class R, class Options, unsigned Traits>
struct of_toft {
  static constexpr unsigned traits = Traits;
  upstream_blocks blocks;
  R r;

  explicit of_toft(const task &t) : blocks(t), r(make<R, Options>(t, &blocks)) {}
  door<R> open() { return door<R>(&r); }
  void reset() {
    if constexpr ((Traits & bulk) != 0) (void)r.reset();
  }
};

struct by_default : of_toft<recycler, toft::recycler_options, plain> {
  static constexpr const char *name = "toft";
  using of_toft::of_toft;
};
struct for_all_threads : of_toft<synchronized_recycler, toft::recycler_options, threads> {
  static constexpr const char *name = "toft_sync";
  using of_toft::of_toft;
};
struct of_arena : of_toft<arena, toft::arena_options, bulk> {
  static constexpr const char *name = "toft_arena";
  using of_toft::of_toft;
};

struct tuned {
  static constexpr const char *name = "toft_tuned";
  static constexpr unsigned traits = plain;
  upstream_blocks blocks;
  recycler r;

  explicit tuned(const task &t) : blocks(t), r(make_tuned(t, &blocks)) {}
  door<recycler> open() { return door<recycler>(&r); }
  void reset() {}
};

#if W5_PMR
struct direct : of_toft<recycler, toft::recycler_options, plain> {
  static constexpr const char *name = "toft_direct";
  using of_toft::of_toft;
  toft_door<recycler> open() { return toft_door<recycler>(&r); }
};
#endif
struct direct_arena : of_toft<arena, toft::arena_options, bulk> {
  static constexpr const char *name = "toft_arena";
  using of_toft::of_toft;
  toft_door<arena> open() { return toft_door<arena>(&r); }
};

// Through an arena_ref, which is the pointer to the arena's head, as floor_mem's is.
struct arena_ref_door {
  toft::arena_ref a;

  explicit arena_ref_door(toft_arena *head) : a(hidden(head)) {}
  void *allocate(std::size_t size, std::size_t align) const { return a.allocate(size, align); }
};
struct by_arena_ref : of_toft<arena, toft::arena_options, bulk> {
  static constexpr const char *name = "toft_arena_ref";
  using of_toft::of_toft;
#if W5_PMR
  arena_ref_door open() { return arena_ref_door(r.arena().get()); }
#else
  arena_ref_door open() { return arena_ref_door(r.get()); }
#endif
};

}  // namespace

group toft_group() {
  return {
    describe<by_default>(), describe<tuned>(), describe<for_all_threads>(), describe<of_arena>(),
        describe_hot<direct_arena>(HOT_DIRECT), describe_hot<by_arena_ref>(HOT_DIRECT),
#if W5_PMR
        describe<direct>(), describe_hot<of_arena>(HOT),
#endif
  };
}

}  // namespace w5
