// toft::shared_arena: one arena that many threads fill at once, and that is emptied as a whole. toft/shared.h of the C
// library says how it works.
//
//     toft::shared_arena all;
//     on any thread:   void *p = all.allocate(n);
//     on each thread that allocates much:
//       toft::arena_ref part = all.local();       an arena of its own, in memory of the shared one
//       node *x = part.make<node>("name");
//     all threads have done their part:
//       all.reset();                              parts and all: their destructors run, the memory is kept
//
// ALONE. Calls that say so need every other thread to be done with the arena, and to know it: joined, or parked at a
// std::barrier. All others may be called by all threads at once.
//
// FAILURE. allocate and local throw std::bad_alloc.
//
// COST. allocate is one compare-and-exchange; a part costs what an arena costs.
//
// For containers: shared_resource in pmr.hpp, or toft::allocator<T, toft::arena_ref> on a part.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_SHARED_HPP
#define TOFT_SHARED_HPP

#include <cstddef>
#include <cstring>
#include <string_view>

#include "arena.hpp"
#include "config.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {

class shared_arena {
 public:
  shared_arena() : shared_arena(nullptr) {}
  // Blocks come from `source`, which is called by one thread at a time and outlives this; nullptr: the heap.
  // std::bad_alloc.
  explicit shared_arena(toft_source *source) : shared_(toft_shared_create(source)) {
    if (TOFT_UNLIKELY(shared_ == nullptr)) detail::throw_bad_alloc();
  }
  shared_arena(const shared_arena &) = delete;  // parts know where it is
  shared_arena &operator=(const shared_arena &) = delete;
  // ALONE. Where a part is claimed it does nothing: all of it stays for ever.
  ~shared_arena() { (void)toft_shared_release(shared_); }

  // Uninitialised. A size of 0 gives a pointer that must not be read.
  void *allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) {
    void *p = toft_shared_alloc(shared_, size, align);
    if (TOFT_UNLIKELY(p == nullptr)) detail::throw_bad_alloc();
    return p;
  }
  [[nodiscard]] void *try_allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) noexcept {
    return toft_shared_alloc(shared_, size, align);
  }
  // Gives p back if it is the newest allocation of all threads; else does nothing.
  void deallocate(void *p, std::size_t size, std::size_t = 0) noexcept { toft_shared_free(shared_, p, size); }

  // A copy of the text, with a NUL behind it.
  std::string_view copy(std::string_view text) {
    char *p = static_cast<char *>(allocate(text.size() + 1, 1));
    if (!text.empty()) std::memcpy(p, text.data(), text.size());
    p[text.size()] = 0;
    return std::string_view(p, text.size());
  }

  // A part: an arena in this one's memory, for one thread at a time, until the reset. One for each thread, not for each
  // task.
  arena_ref local() {
    toft_arena *a = toft_shared_local(shared_);
    if (TOFT_UNLIKELY(a == nullptr)) detail::throw_bad_alloc();
    return a;
  }
  // nullptr where local throws.
  [[nodiscard]] toft_arena *try_local() noexcept { return toft_shared_local(shared_); }

  // ALONE. Ends the parts, whose destructors run, and gives back every allocation, but keeps blocks for the next round:
  // as recent rounds needed them; all; or at most about `bytes`. TOFT_OK; TOFT_ECORRUPT: done, and a checked part found
  // bytes written outside an allocation; TOFT_EBUSY: a part is claimed, or a destructor asks: nothing has changed.
  int reset() noexcept { return toft_shared_reset(shared_, TOFT_KEEP_RECENT, 0); }
  int reset_keep_all() noexcept { return toft_shared_reset(shared_, TOFT_KEEP_ALL, 0); }
  int reset_keep(std::size_t bytes) noexcept { return toft_shared_reset(shared_, TOFT_KEEP_BYTES, bytes); }
  // Returns blocks that are kept until about `keep` bytes of them are left.
  void trim(std::size_t keep = 0) noexcept { toft_shared_trim(shared_, keep); }

  // A block that a part has counts as allocated in whole.
  toft_stats stats() const noexcept { return toft_shared_get_stats(shared_); }
  // Linear in blocks.
  bool contains(const void *p) const noexcept { return toft_shared_contains(shared_, p) != 0; }

  toft_shared *get() const noexcept { return shared_; }

 private:
  toft_shared *shared_;
};

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif

// Outside the guard too: see config.hpp.
#include "config.hpp"
