// toft::shared_arena: one arena that many threads allocate from at once and that is emptied as a whole. toft/shared.h
// of the C library has the details.
//
//     toft::shared_arena all;
//     on any thread:   void *p = all.allocate(n);
//     on each thread that allocates much:
//       toft::arena_ref part = all.local();       an arena of its own, in memory of the shared one
//       node *x = part.make<node>("name");
//     all threads have done their part:
//       all.reset();                              runs destructors, frees everything, keeps memory
//
// EXCLUSIVE calls require that no other thread uses the arena at the same time: it is joined, or parked at a
// std::barrier. All other calls may be made by all threads at once.
//
// FAILURE. allocate and local throw std::bad_alloc.
//
// COST. allocate is one compare-and-exchange; a local arena costs the same as any arena.
//
// For containers: shared_resource in pmr.hpp, or toft::allocator<T, toft::arena_ref> on a local arena.
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
  // Blocks come from `source`, which is called by one thread at a time and must outlive this; nullptr: the heap. Throws
  // std::bad_alloc.
  explicit shared_arena(toft_source *source) : shared_(toft_shared_create(source)) {
    if (TOFT_UNLIKELY(shared_ == nullptr)) detail::throw_bad_alloc();
  }
  shared_arena(const shared_arena &) = delete;  // local arenas have pointers to it
  shared_arena &operator=(const shared_arena &) = delete;
  // EXCLUSIVE. If a local arena is claimed it does nothing, and the memory leaks.
  ~shared_arena() { (void)toft_shared_release(shared_); }

  // Returns uninitialised memory. A size of 0 gives a pointer that must not be dereferenced.
  void *allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) TOFT_LIFETIMEBOUND {
    void *p = toft_shared_alloc(shared_, size, align);
    if (TOFT_UNLIKELY(p == nullptr)) detail::throw_bad_alloc();
    return p;
  }
  [[nodiscard]] void *try_allocate(std::size_t size,
                                   std::size_t align = alignof(std::max_align_t)) noexcept TOFT_LIFETIMEBOUND {
    return toft_shared_alloc(shared_, size, align);
  }
  // Frees p if it is the newest allocation of all threads; otherwise does nothing.
  void deallocate(void *p, std::size_t size, std::size_t = 0) noexcept { toft_shared_free(shared_, p, size); }

  // Copies text and appends a NUL.
  std::string_view copy(std::string_view text) TOFT_LIFETIMEBOUND {
    char *p = static_cast<char *>(allocate(text.size() + 1, 1));
    if (!text.empty()) std::memcpy(p, text.data(), text.size());
    p[text.size()] = 0;
    return std::string_view(p, text.size());
  }

  // Creates a local arena, for one thread at a time, until the reset. Create one for each thread, not one for each
  // task.
  arena_ref local() TOFT_LIFETIMEBOUND {
    toft_arena *a = toft_shared_local(shared_);
    if (TOFT_UNLIKELY(a == nullptr)) detail::throw_bad_alloc();
    return a;
  }
  // The same; nullptr if there is no memory.
  [[nodiscard]] toft_arena *try_local() noexcept TOFT_LIFETIMEBOUND { return toft_shared_local(shared_); }

  // EXCLUSIVE. Releases the local arenas, runs their destructors, and frees every allocation, but keeps blocks for the
  // next round: as many as recent rounds needed; all; or at most about `bytes`. TOFT_OK; TOFT_ECORRUPT: done, and a
  // checked local arena found bytes written outside an allocation; TOFT_EBUSY: nothing changed, because a local arena
  // is claimed, or a destructor calls it.
  int reset() noexcept { return toft_shared_reset(shared_, TOFT_KEEP_RECENT, 0); }
  int reset_keep_all() noexcept { return toft_shared_reset(shared_, TOFT_KEEP_ALL, 0); }
  int reset_keep(std::size_t bytes) noexcept { return toft_shared_reset(shared_, TOFT_KEEP_BYTES, bytes); }
  // Returns kept blocks, until about `keep` bytes of them are left.
  void trim(std::size_t keep = 0) noexcept { toft_shared_trim(shared_, keep); }

  // A local arena's block counts as allocated in whole.
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

// Outside the guard: see config.hpp.
#include "config.hpp"
