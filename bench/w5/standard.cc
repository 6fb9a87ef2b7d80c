// The standard library's resources: new and delete, the pools, and the monotonic buffer with a release() in each round,
// which returns everything to the upstream. "std pool" has the options of ArenaMR's benchmarks, which fit a map's
// nodes: for larger sizes libstdc++'s pool keeps a sorted list, and is too slow to measure.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "bump.hpp"
#include "describe.hpp"

namespace w5 {
namespace {

#if W5_PMR

struct new_delete {
  static constexpr const char *name = "new_delete";
  static constexpr unsigned traits = global | threads;

  explicit new_delete(const task &) {}
  pmr_door open() { return pmr_door(std::pmr::new_delete_resource()); }
  void reset() {}
};

std::pmr::memory_resource *source(const task &t) {
  return t.from != nullptr ? t.from : std::pmr::get_default_resource();
}

template <class R, unsigned Traits>
struct pool {
  static constexpr unsigned traits = Traits;
  R r;

  explicit pool(const task &t) : r(source(t)) {}
  pool(const task &t, std::pmr::pool_options options) : r(options, source(t)) {}
  pmr_door open() { return pmr_door(&r); }
  void reset() {}
};
struct pool_as_published : pool<std::pmr::unsynchronized_pool_resource, map_nodes> {
  static constexpr const char *name = "std pool";
  explicit pool_as_published(const task &t) : pool(t, {t.pool_blocks, 40}) {}
};
struct pool_default : pool<std::pmr::unsynchronized_pool_resource, plain> {
  static constexpr const char *name = "std pool default";
  using pool::pool;
};
struct pool_synchronized : pool<std::pmr::synchronized_pool_resource, threads> {
  static constexpr const char *name = "std sync pool";
  using pool::pool;
};

struct monotonic {
  static constexpr const char *name = "std monotonic";
  static constexpr unsigned traits = bulk;
  std::pmr::monotonic_buffer_resource r;

  explicit monotonic(const task &t) : r(source(t)) {}
  pmr_door open() { return pmr_door(&r); }
  void reset() { r.release(); }
};

// On a buffer, to which release() returns.
struct monotonic_in_buffer {
  static constexpr const char *name = "std monotonic";
  static constexpr unsigned traits = bulk;
  std::pmr::monotonic_buffer_resource r;

  explicit monotonic_in_buffer(const task &) : r(floor_block(), floor_size) {}
  pmr_door open() { return pmr_door(&r); }
  void reset() { r.release(); }
};

// The same without the virtual call, as when the object's type is known.
struct direct final : std::pmr::monotonic_buffer_resource {
  using monotonic_buffer_resource::monotonic_buffer_resource;
  void *allocate(std::size_t size, std::size_t align) { return monotonic_buffer_resource::do_allocate(size, align); }
};
struct monotonic_direct {
  static constexpr const char *name = "std monotonic";
  static constexpr unsigned traits = bulk;
  direct r;

  explicit monotonic_direct(const task &) : r(floor_block(), floor_size) {}
  direct_door<direct> open() { return direct_door<direct>(&r); }
  void reset() { r.release(); }
};

#else

struct heap_door {
  template <class T>
  using allocator = std::allocator<T>;

  template <class T>
  allocator<T> make() const {
    return {};
  }
  void *allocate(std::size_t size, std::size_t align) const { return from_heap(size, align); }
  void deallocate(void *p, std::size_t, std::size_t align) const { to_heap(p, align); }
};
struct new_delete {
  static constexpr const char *name = "new_delete";
  static constexpr unsigned traits = global | threads;

  explicit new_delete(const task &) {}
  heap_door open() { return {}; }
  void reset() {}
};

#endif

}  // namespace

group standard_group() {
  return {
    describe<new_delete>(),
#if W5_PMR
        describe<pool_as_published>(), describe<pool_default>(), describe<pool_synchronized>(), describe<monotonic>(),
        describe_hot<monotonic_in_buffer>(HOT), describe_hot<monotonic_direct>(HOT_DIRECT),
#endif
  };
}

}  // namespace w5
