// Boost.Container's pool and monotonic buffer, with their defaults, through Boost's own polymorphic_allocator. The
// latter is emptied by release() in each round, which gives everything back to the upstream. Both refuse alignments
// above 16.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <boost/container/pmr/global_resource.hpp>
#include <boost/container/pmr/monotonic_buffer_resource.hpp>
#include <boost/container/pmr/polymorphic_allocator.hpp>
#include <boost/container/pmr/unsynchronized_pool_resource.hpp>

#include "bump.hpp"
#include "describe.hpp"

namespace w5 {
namespace {

namespace pmr = boost::container::pmr;

using boost_door = door_of<pmr::memory_resource, pmr::polymorphic_allocator>;

// The task's upstream, as one of Boost's.
struct source final : pmr::memory_resource {
  upstream *from;

  explicit source(const task &t) : from(t.from) {}
  pmr::memory_resource *get() { return from != nullptr ? this : pmr::get_default_resource(); }
  void *do_allocate(std::size_t size, std::size_t align) override { return from->allocate(size, align); }
  void do_deallocate(void *p, std::size_t size, std::size_t align) override { from->deallocate(p, size, align); }
  bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }
};

template <class R, unsigned Traits>
struct of_boost {
  static constexpr unsigned traits = Traits;
  source from;
  R r;

  explicit of_boost(const task &t) : from(t), r(from.get()) {}
  boost_door open() { return boost_door(&r); }
  void reset() {
    if constexpr ((Traits & bulk) != 0) r.release();
  }
};
struct pool : of_boost<pmr::unsynchronized_pool_resource, fundamental> {
  static constexpr const char *name = "boost pool";
  using of_boost::of_boost;
};
struct monotonic : of_boost<pmr::monotonic_buffer_resource, bulk | fundamental> {
  static constexpr const char *name = "boost monotonic";
  using of_boost::of_boost;
};

struct monotonic_in_buffer {
  static constexpr const char *name = "boost monotonic";
  static constexpr unsigned traits = bulk;
  pmr::monotonic_buffer_resource r;

  explicit monotonic_in_buffer(const task &) : r(floor_block(), floor_size) {}
  boost_door open() { return boost_door(&r); }
  void reset() { r.release(); }
};

}  // namespace

group boost_group() { return {describe<pool>(), describe<monotonic>(), describe_hot<monotonic_in_buffer>(HOT)}; }

}  // namespace w5
