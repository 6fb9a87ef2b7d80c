// toft::upstream_source: a source of blocks that takes them from a memory resource, whose exceptions it carries past C.
// Included by pmr.hpp.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_UPSTREAM_HPP
#define TOFT_UPSTREAM_HPP

#include <cstddef>
#include <exception>
#include <memory_resource>
#include <utility>

#include "config.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {

// A toft_source that takes blocks from a memory resource. Must outlive its users. Blocks whose size is a multiple of
// `unit` are aligned to it; others to 64.
class upstream_source : public toft_source {
 public:
  explicit upstream_source(std::pmr::memory_resource *upstream, std::size_t unit = 64) noexcept
      : toft_source{take_block, put_block, nullptr}, upstream_(upstream), unit_(unit) {}

  std::pmr::memory_resource *upstream() const noexcept { return upstream_; }

  // A call into the C library that may reach upstream. It keeps what upstream throws, since exceptions must not pass
  // through C. It lives on the stack of its thread: a thread_local exception_ptr is destroyed at the thread's end, with
  // mingw after its memory was freed.
  class call {
   public:
    call(const call &) = delete;
    call &operator=(const call &) = delete;
#if TOFT_EXCEPTIONS
    explicit call(const upstream_source &source) noexcept : source_(&source), outer_(innermost()) {
      innermost() = this;
    }
    ~call() { innermost() = outer_; }
    // To be called after a failure: rethrows upstream's last exception, or throws std::bad_alloc if it threw none.
    [[noreturn]] TOFT_COLD void fail() {
      if (std::exception_ptr thrown = std::exchange(thrown_, nullptr)) std::rethrow_exception(thrown);
      detail::throw_bad_alloc();
    }

   private:
    friend upstream_source;
    // Hidden, since gcc otherwise makes it unique in the process, and a plugin with it could not be unloaded.
    TOFT_HIDDEN static call *&innermost() noexcept {
      static thread_local call *of_this_thread = nullptr;
      return of_this_thread;
    }

    const upstream_source *source_;
    call *outer_;
    std::exception_ptr thrown_;
#else
    explicit call(const upstream_source &) noexcept {}
    [[noreturn]] TOFT_COLD void fail() { detail::throw_bad_alloc(); }
#endif
  };

 private:
  // Outside a call, as in an allocation through arena(), the exception is dropped.
  static void *take_block(toft_source *self, std::size_t size) noexcept {
    const upstream_source *source = static_cast<upstream_source *>(self);
#if TOFT_EXCEPTIONS
    try {
      return source->upstream_->allocate(size, source->align_of(size));
    } catch (...) {
      call *c = call::innermost();
      if (c != nullptr && c->source_ == self) c->thrown_ = std::current_exception();
      return nullptr;
    }
#else
    return source->upstream_->allocate(size, source->align_of(size));
#endif
  }
  static void put_block(toft_source *self, void *block, std::size_t size) noexcept {
    const upstream_source *source = static_cast<upstream_source *>(self);
    source->upstream_->deallocate(block, size, source->align_of(size));
  }
  std::size_t align_of(std::size_t size) const noexcept { return size % unit_ == 0 ? unit_ : 64; }

  std::pmr::memory_resource *upstream_;
  std::size_t unit_;
};

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif
