// toft::recycler and toft::synchronized_recycler: arena-like allocators with individual deallocation, for use under the
// standard's containers by pmr.hpp and allocator.hpp. toft/recycler.h has the details and the cost.
//
// Freed objects are reused before new memory, and slabs without objects by any size. deallocate needs the requested
// size. Size 0 counts as 1; any power of two is a valid alignment.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_RECYCLER_HPP
#define TOFT_RECYCLER_HPP

#include <cstddef>

#include "config.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {

struct recycler_options : toft_recycler_options {
  recycler_options() noexcept : toft_recycler_options(TOFT_RECYCLER_OPTIONS) {}
};

using recycler_stats = toft_recycler_stats;

namespace detail {

// The slow path, out of line, with the throw.
TOFT_COLD inline void *more(toft_recycler *r, std::size_t size, std::size_t align) {
  void *p = toft_recycler_alloc_slow(r, size, align);
  if (TOFT_UNLIKELY(p == nullptr)) throw_bad_alloc();
  return p;
}

}  // namespace detail

// Used by one thread at a time.
class recycler {
 public:
  // Throws std::invalid_argument if the library has another layout of toft_recycler than the program.
  recycler() { start(nullptr); }
  // Throws std::invalid_argument, also if count and block_size contradict each other, and std::bad_alloc if there is no
  // memory for them.
  explicit recycler(const recycler_options &options) { start(&options); }
  recycler(const recycler &) = delete;  // blocks have pointers to it
  recycler &operator=(const recycler &) = delete;
  // Returns all memory, including objects that were not freed.
  ~recycler() { toft_recycler_release(&r_); }

  TOFT_ALWAYS_INLINE void *allocate(std::size_t size,
                                    std::size_t align = alignof(std::max_align_t)) TOFT_LIFETIMEBOUND {
    void *p = toft_recycler_bump(&r_, size, align);
    return TOFT_LIKELY(p != nullptr) ? p : detail::more(&r_, size, align);
  }
  [[nodiscard]] void *try_allocate(std::size_t size,
                                   std::size_t align = alignof(std::max_align_t)) noexcept TOFT_LIFETIMEBOUND {
    return toft_recycler_alloc(&r_, size, align);
  }
  TOFT_ALWAYS_INLINE void deallocate(void *p, std::size_t size, std::size_t = 0) noexcept {
    toft_recycler_free(&r_, p, size);
  }
  // Resizes in place if possible, else copies the bytes. Returns nullptr, and changes nothing, if there is no memory.
  [[nodiscard]] void *try_resize(void *p, std::size_t old_size, std::size_t new_size,
                                 std::size_t align = alignof(std::max_align_t)) noexcept TOFT_LIFETIMEBOUND {
    return toft_recycler_resize(&r_, p, old_size, new_size, align);
  }

  // Returns all memory to the source, including objects that were not freed.
  void release() noexcept { toft_recycler_release(&r_); }
  // Returns memory without live objects, until about `keep` bytes of it are left.
  void trim(std::size_t keep = 0) noexcept { toft_recycler_trim(&r_, keep); }
  recycler_stats stats() const noexcept { return toft_recycler_get_stats(&r_); }

  toft_recycler *get() noexcept TOFT_LIFETIMEBOUND { return &r_; }

 private:
  void start(const recycler_options *options) {
    int code = toft_recycler_init(&r_, options);
    if (code == TOFT_EARG)
      detail::throw_invalid_argument("toft: recycler_options contradict each other, or the library has another layout");
    if (code != TOFT_OK) detail::throw_bad_alloc();
  }

  toft_recycler r_;
};

// Used by all threads at once; any thread may deallocate any object.
class synchronized_recycler {
 public:
  synchronized_recycler() : synchronized_recycler(recycler_options()) {}
  // Throws std::invalid_argument, std::bad_alloc.
  explicit synchronized_recycler(const recycler_options &options) {
    if (toft_recycler_check(&options) != TOFT_OK)
      detail::throw_invalid_argument("toft: recycler_options contradict each other or exceed a limit");
    r_ = toft_sync_recycler_create(&options);
    if (r_ == nullptr) detail::throw_bad_alloc();
  }
  synchronized_recycler(const synchronized_recycler &) = delete;
  synchronized_recycler &operator=(const synchronized_recycler &) = delete;
  ~synchronized_recycler() { toft_sync_recycler_release(r_); }

  TOFT_ALWAYS_INLINE void *allocate(std::size_t size,
                                    std::size_t align = alignof(std::max_align_t)) TOFT_LIFETIMEBOUND {
    void *p = toft_sync_recycler_alloc(r_, size, align);
    if (TOFT_UNLIKELY(p == nullptr)) detail::throw_bad_alloc();
    return p;
  }
  [[nodiscard]] void *try_allocate(std::size_t size,
                                   std::size_t align = alignof(std::max_align_t)) noexcept TOFT_LIFETIMEBOUND {
    return toft_sync_recycler_alloc(r_, size, align);
  }
  TOFT_ALWAYS_INLINE void deallocate(void *p, std::size_t size, std::size_t = 0) noexcept {
    toft_sync_recycler_free(r_, p, size);
  }
  [[nodiscard]] void *try_resize(void *p, std::size_t old_size, std::size_t new_size,
                                 std::size_t align = alignof(std::max_align_t)) noexcept TOFT_LIFETIMEBOUND {
    return toft_sync_recycler_resize(r_, p, old_size, new_size, align);
  }

  // Frees all objects; no other thread may use them any more.
  void release() noexcept { toft_sync_recycler_reset(r_); }
  void trim(std::size_t keep = 0) noexcept { toft_sync_recycler_trim(r_, keep); }
  recycler_stats stats() const noexcept { return toft_sync_recycler_get_stats(r_); }

  toft_sync_recycler *get() noexcept { return r_; }

 private:
  toft_sync_recycler *r_;
};

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif
