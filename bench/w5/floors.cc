// Lower bound for resources: a bump with a limit check in one block that is allocated in advance and large enough;
// deallocation does nothing, a reset moves the cursor back. The check cannot be optimized away, since its slow path is
// opaque to the compiler. (Maps are slower in one contiguous block than in staggered small ones: there the floor can be
// beaten.)
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "bump.hpp"
#include "describe.hpp"

namespace w5 {
namespace {

struct floor_inline {
  static constexpr const char *name = "floor";
  static constexpr unsigned traits = bulk | is_floor;
  bump b;

  explicit floor_inline(const task &) {}
  direct_door<bump> open() { return direct_door<bump>(&b); }
  void reset() { b.reset(); }
};

struct floor_mem : floor_inline {
  static constexpr const char *name = "floor_mem";
  using floor_inline::floor_inline;
};

#if W5_PMR
// The same behind the virtual call of a memory_resource; alignments up to 8 only.
struct virtual_bump final : std::pmr::memory_resource {
  bump b;

  void *do_allocate(std::size_t size, std::size_t) override { return b.allocate(size, 8); }
  void do_deallocate(void *, std::size_t, std::size_t) override {}
  bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }
};
struct floor_virtual {
  static constexpr const char *name = "floor_virtual";
  static constexpr unsigned traits = bulk | is_floor;
  virtual_bump r;

  explicit floor_virtual(const task &) {}
  pmr_door open() { return pmr_door(&r); }
  void reset() { r.b.reset(); }
};
#endif

}  // namespace

group floors_group() {
  return {
    describe<floor_inline>(), describe_hot<floor_mem>(HOT_DIRECT),
#if W5_PMR
        describe_hot<floor_virtual>(HOT),
#endif
  };
}

}  // namespace w5
