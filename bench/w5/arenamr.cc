// ArenaMR itself, of a checkout, with the parameters of its benchmarks.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <ArenaMR/ArenaMR.hpp>

#include "describe.hpp"

namespace w5 {
namespace {

// ArenaMR's destructor returns no arena to its upstream: this upstream frees them at its own end.
class keeper final : public std::pmr::memory_resource {
 public:
  explicit keeper(std::pmr::memory_resource *from) : from_(from) {}
  ~keeper() override {
    for (const piece &p : pieces_) from_->deallocate(p.address, p.size, p.align);
  }

 private:
  struct piece {
    void *address;
    std::size_t size, align;
  };

  void *do_allocate(std::size_t size, std::size_t align) override {
    pieces_.push_back({from_->allocate(size, align), size, align});
    return pieces_.back().address;
  }
  void do_deallocate(void *p, std::size_t size, std::size_t align) override {
    auto at = std::find_if(pieces_.rbegin(), pieces_.rend(), [p](const piece &q) { return q.address == p; });
    *at = pieces_.back();
    pieces_.pop_back();
    from_->deallocate(p, size, align);
  }
  bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }

  std::pmr::memory_resource *from_;
  std::vector<piece> pieces_;
};

struct original {
  static constexpr const char *name = "ArenaMR";
  static constexpr unsigned traits = plain;
  keeper kept;
  arena_mr::UnsynchronizedArenaMR r;

  explicit original(const task &t)
      : kept(t.from != nullptr ? t.from : std::pmr::get_default_resource()), r(t.arenas, t.arena_bytes, &kept) {}
  pmr_door open() { return pmr_door(&r); }
  void reset() {}
};

}  // namespace

group arenamr_group() { return {describe<original>()}; }

}  // namespace w5
