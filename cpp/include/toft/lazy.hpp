// toft::lazy_arena: an arena in a member, which the first use creates.
//
//     struct parser { toft::lazy_arena memory; };   // one pointer; no memory until it is used
//     auto *n = p.memory.get().make<node>();
//
// THREADS. As for toft::arena.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_LAZY_HPP
#define TOFT_LAZY_HPP

#include <utility>

#include "arena.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {

class lazy_arena {
 public:
  constexpr lazy_arena() noexcept = default;
  lazy_arena(lazy_arena &&other) noexcept : lazy_(std::exchange(other.lazy_, toft_lazy{})) {}
  lazy_arena &operator=(lazy_arena &&other) noexcept {
    if (this != &other) {
      toft_lazy_release(&lazy_);
      lazy_ = std::exchange(other.lazy_, toft_lazy{});
    }
    return *this;
  }
  lazy_arena(const lazy_arena &) = delete;
  lazy_arena &operator=(const lazy_arena &) = delete;
  ~lazy_arena() { toft_lazy_release(&lazy_); }

  // The arena, which is created if there is none. Throws std::bad_alloc.
  arena_ref get() TOFT_LIFETIMEBOUND {
    toft_arena *a = toft_lazy_arena(&lazy_);
    if (a == nullptr) detail::throw_bad_alloc();
    return arena_ref(a);
  }
  bool is_created() const noexcept { return lazy_.arena != nullptr; }

  // Frees all allocations and keeps blocks for the next round; releases the arena. Nothing happens without one.
  void reset() noexcept { toft_lazy_reset(&lazy_); }
  void release() noexcept { toft_lazy_release(&lazy_); }

 private:
  toft_lazy lazy_{};
};

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif
