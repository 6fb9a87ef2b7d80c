// Memory resources for std::pmr:
//
//     toft::recycling_resource                frees piece by piece; blocks come back when nothing in them is live
//     toft::synchronized_recycling_resource   the same for all threads at once
//     toft::arena_resource                    monotonic, with marks, and a reset that keeps its memory
//     toft::frame_resource                    monotonic, in the calling thread's arena of a frame
//     toft::shared_resource                   monotonic, for all threads at once
//
//     toft::recycling_resource nodes;
//     std::pmr::map<int, int> m(&nodes);
//
// UPSTREAM. Any std::pmr::memory_resource; what it throws goes through to the container, and nothing has changed then.
// It is asked for blocks at multiples of 64, of 4096 bytes and more. All of it is returned by release() and by the
// destructor, whether the objects were deallocated or not. Constructed without an upstream, a resource takes its blocks
// from std::pmr::get_default_resource() if the program has set one, and else from Toft's own heap, which keeps blocks
// of the thread for the next resource: that is the fast way, and nothing needs tuning.
//
// THE STANDARD'S RULES. Size 0 gives a pointer of its own (in arenas: one that must not be read). Any alignment that is
// a power of two. A resource equals itself and no other. Resources are neither copied nor moved.
//
// COST. Allocation and deallocation are constant time; toft/recycler.h has the rest. Where a resource's type is known,
// calling its own allocate and deallocate, as toft::allocator does, is inlined.
//
// Needs <memory_resource>, which libc++ has from version 16 on: before that, use recycler.hpp, arena.hpp and
// allocator.hpp.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_PMR_HPP
#define TOFT_PMR_HPP

#include <cstddef>
#include <exception>
#include <memory_resource>
#include <utility>

#include "arena.hpp"
#include "config.hpp"
#include "frame.hpp"
#include "recycler.hpp"
#include "shared.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {

// Blocks from a memory resource, for all that takes a toft_source. Must outlive what uses it.
class upstream_source : public toft_source {
 public:
  explicit upstream_source(std::pmr::memory_resource *upstream) noexcept
      : toft_source{take_block, put_block, nullptr}, upstream_(upstream) {}

  std::pmr::memory_resource *upstream() const noexcept { return upstream_; }

  // Before a call that may come to upstream: what was thrown earlier is of no interest.
  void begin() const noexcept {
#if TOFT_EXCEPTIONS
    if (upstream_ != nullptr) last() = nullptr;
#endif
  }
  // After a call that failed: throws what upstream threw since begin(), else std::bad_alloc.
  [[noreturn]] TOFT_COLD void fail() const {
#if TOFT_EXCEPTIONS
    if (upstream_ != nullptr)
      if (std::exception_ptr thrown = std::exchange(last(), nullptr)) std::rethrow_exception(thrown);
#endif
    detail::throw_bad_alloc();
  }

 private:
  // Of this thread. C code stands between here and the caller: exceptions wait at its other side.
  static void *take_block(toft_source *self, std::size_t size) noexcept {
    std::pmr::memory_resource *upstream = static_cast<upstream_source *>(self)->upstream_;
#if TOFT_EXCEPTIONS
    try {
      return upstream->allocate(size, 64);
    } catch (...) {
      last() = std::current_exception();
      return nullptr;
    }
#else
    return upstream->allocate(size, 64);
#endif
  }
  static void put_block(toft_source *self, void *block, std::size_t size) noexcept {
    static_cast<upstream_source *>(self)->upstream_->deallocate(block, size, 64);
  }

#if TOFT_EXCEPTIONS
  // Hidden, or gcc makes it unique in the process, and a plugin with it could not be unloaded.
  TOFT_HIDDEN static std::exception_ptr &last() noexcept {
    static thread_local std::exception_ptr thrown;
    return thrown;
  }
#endif

  std::pmr::memory_resource *upstream_;
};

namespace detail {

// The program's default resource, if it has set one; nullptr: Toft's heap.
inline std::pmr::memory_resource *default_upstream() noexcept {
  std::pmr::memory_resource *r = std::pmr::get_default_resource();
  return r == std::pmr::new_delete_resource() ? nullptr : r;
}

inline recycler_options counted(std::size_t count, std::size_t size) {
  if (count == 0 || size == 0) throw_invalid_argument("toft: a resource with a count or a size of 0");
  recycler_options o;
  o.count = count;
  o.block_size = size;
  return o;
}

}  // namespace detail

// ArenaMR's arguments: count blocks of `size` bytes each, taken at once, are filled before any others. upstream
// nullptr: Toft's heap.
class recycling_resource final : public std::pmr::memory_resource {
 public:
  recycling_resource() : source_(detail::default_upstream()) {
    if (source_.upstream() == nullptr)
      (void)toft_recycler_init(&r_, nullptr);  // cannot fail
    else
      start(recycler_options());
  }
  explicit recycling_resource(std::pmr::memory_resource *upstream) : recycling_resource(recycler_options(), upstream) {}
  recycling_resource(std::size_t count, std::size_t size)
      : recycling_resource(detail::counted(count, size), detail::default_upstream()) {}
  recycling_resource(std::size_t count, std::size_t size, std::pmr::memory_resource *upstream)
      : recycling_resource(detail::counted(count, size), upstream) {}
  // options.source is used if upstream is nullptr. std::invalid_argument, and what upstream throws.
  explicit recycling_resource(recycler_options options, std::pmr::memory_resource *upstream = nullptr)
      : source_(upstream) {
    start(options);
  }
  recycling_resource(const recycling_resource &) = delete;
  recycling_resource &operator=(const recycling_resource &) = delete;
  ~recycling_resource() override { toft_recycler_release(&r_); }

  // Hide those of the base class: inline where the type is known.
  [[nodiscard]] TOFT_ALWAYS_INLINE void *allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) {
    void *p = toft_recycler_bump(&r_, size, align);
    return TOFT_LIKELY(p != nullptr) ? p : more(size, align);
  }
  TOFT_ALWAYS_INLINE void deallocate(void *p, std::size_t size, std::size_t = alignof(std::max_align_t)) {
    toft_recycler_free(&r_, p, size);
  }

  // Returns all memory upstream, deallocated or not.
  void release() noexcept { toft_recycler_release(&r_); }
  // Returns memory that holds no live object, until about `keep` bytes of it are left.
  void trim(std::size_t keep = 0) noexcept { toft_recycler_trim(&r_, keep); }
  // Linear in blocks.
  recycler_stats stats() const noexcept { return toft_recycler_stats_of(&r_); }
  // nullptr: not from a memory resource.
  std::pmr::memory_resource *upstream_resource() const noexcept { return source_.upstream(); }

 private:
  void start(recycler_options options) {
    source_.begin();
    if (source_.upstream() != nullptr) options.source = &source_;
    int code = toft_recycler_init(&r_, &options);
    if (code == TOFT_EARG)
      detail::throw_invalid_argument("toft: recycling_resource: options contradict, or ask for too much");
    if (code != TOFT_OK) source_.fail();
  }

  // Out of line, and throws for the caller.
  TOFT_COLD void *more(std::size_t size, std::size_t align) {
    source_.begin();
    void *p = toft_recycler_more(&r_, size, align);
    if (TOFT_UNLIKELY(p == nullptr)) source_.fail();
    return p;
  }

  void *do_allocate(std::size_t size, std::size_t align) override { return allocate(size, align); }
  void do_deallocate(void *p, std::size_t size, std::size_t) override { toft_recycler_free(&r_, p, size); }
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }

  toft_recycler r_;
  upstream_source source_;
};

// Upstream is called by one thread at a time. Those with a count keep all threads behind one lock; the others have
// eight.
class synchronized_recycling_resource final : public std::pmr::memory_resource {
 public:
  synchronized_recycling_resource() : synchronized_recycling_resource(recycler_options(), detail::default_upstream()) {}
  explicit synchronized_recycling_resource(std::pmr::memory_resource *upstream)
      : synchronized_recycling_resource(recycler_options(), upstream) {}
  synchronized_recycling_resource(std::size_t count, std::size_t size)
      : synchronized_recycling_resource(detail::counted(count, size), detail::default_upstream()) {}
  synchronized_recycling_resource(std::size_t count, std::size_t size, std::pmr::memory_resource *upstream)
      : synchronized_recycling_resource(detail::counted(count, size), upstream) {}
  // options.source is used if upstream is nullptr. std::invalid_argument, and what upstream throws.
  explicit synchronized_recycling_resource(recycler_options options, std::pmr::memory_resource *upstream = nullptr)
      : source_(upstream) {
    source_.begin();
    if (upstream != nullptr) options.source = &source_;
    if (toft_recycler_check(&options) != TOFT_OK)
      detail::throw_invalid_argument("toft: synchronized_recycling_resource: options contradict, or ask for too much");
    r_ = toft_sync_recycler_create(&options);
    if (r_ == nullptr) source_.fail();
  }
  synchronized_recycling_resource(const synchronized_recycling_resource &) = delete;
  synchronized_recycling_resource &operator=(const synchronized_recycling_resource &) = delete;
  ~synchronized_recycling_resource() override { toft_sync_recycler_destroy(r_); }

  [[nodiscard]] TOFT_ALWAYS_INLINE void *allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) {
    if (source_.upstream() != nullptr) source_.begin();
    void *p = toft_sync_recycler_alloc(r_, size, align);
    if (TOFT_UNLIKELY(p == nullptr)) source_.fail();
    return p;
  }
  TOFT_ALWAYS_INLINE void deallocate(void *p, std::size_t size, std::size_t = alignof(std::max_align_t)) {
    toft_sync_recycler_free(r_, p, size);
  }

  // No thread may use its memory any more.
  void release() noexcept { toft_sync_recycler_release(r_); }
  void trim(std::size_t keep = 0) noexcept { toft_sync_recycler_trim(r_, keep); }
  recycler_stats stats() const noexcept { return toft_sync_recycler_stats_of(r_); }
  std::pmr::memory_resource *upstream_resource() const noexcept { return source_.upstream(); }

 private:
  void *do_allocate(std::size_t size, std::size_t align) override { return allocate(size, align); }
  void do_deallocate(void *p, std::size_t size, std::size_t) override { toft_sync_recycler_free(r_, p, size); }
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }

  upstream_source source_;
  toft_sync_recycler *r_;
};

// An arena as a resource. deallocate gives the newest allocation back and does nothing else.
class arena_resource final : public std::pmr::memory_resource {
 public:
  arena_resource() : source_(detail::default_upstream()), owned_(true) {
    if (source_.upstream() == nullptr)
      arena_ = toft_create();
    else
      create(arena_options());
    if (TOFT_UNLIKELY(arena_ == nullptr)) source_.fail();
  }
  explicit arena_resource(std::pmr::memory_resource *upstream) : arena_resource(arena_options(), upstream) {}
  // In a buffer of the caller's, see TOFT_BUFFER; when that is full, blocks come from upstream, as the standard's
  // monotonic buffer takes them. With
  // std::pmr::null_memory_resource() nothing is taken from anywhere.
  arena_resource(void *buffer, std::size_t size, std::pmr::memory_resource *upstream = std::pmr::get_default_resource())
      : arena_resource(in(buffer, size), upstream) {}
  // options.source is used if upstream is nullptr. std::bad_alloc also for bad options; and what upstream throws.
  explicit arena_resource(arena_options options, std::pmr::memory_resource *upstream = nullptr)
      : source_(upstream), owned_(true) {
    create(options);
    if (arena_ == nullptr) source_.fail();
  }
  // On an arena made elsewhere, which must outlive it.
  explicit arena_resource(arena_ref borrowed) noexcept : arena_(borrowed.get()), source_(nullptr), owned_(false) {}
  arena_resource(const arena_resource &) = delete;
  arena_resource &operator=(const arena_resource &) = delete;
  ~arena_resource() override {
    if (owned_) toft_release(arena_);
  }

  [[nodiscard]] TOFT_ALWAYS_INLINE void *allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) {
    void *p = detail::bump(arena_, size, align);
    return TOFT_LIKELY(p != nullptr) ? p : more(size, align);
  }
  TOFT_ALWAYS_INLINE void deallocate(void *p, std::size_t size, std::size_t = alignof(std::max_align_t)) {
    arena_ref(arena_).deallocate(p, size);
  }

  // Containers that hold memory from after the mark, or from before the reset, must be gone or never be touched again.
  mark here() const noexcept { return toft_mark_here(arena_); }
  int rewind(mark m) noexcept { return toft_rewind(arena_, m); }
  // Gives everything back, and keeps memory for the next round: as much as recent rounds needed.
  int reset() noexcept { return toft_reset(arena_); }
  // Gives everything back, and all memory but the arena's first block to upstream.
  void release() noexcept {
    if (toft_reset_keep(arena_, TOFT_KEEP_BYTES, 0) == TOFT_OK) toft_trim(arena_, 0);
  }
  arena_ref arena() const noexcept { return arena_; }
  // nullptr: not from a memory resource.
  std::pmr::memory_resource *upstream_resource() const noexcept { return source_.upstream(); }

 private:
  void create(arena_options options) noexcept {
    source_.begin();
    if (source_.upstream() != nullptr) options.source = &source_;
    arena_ = toft_create_with(&options);
  }
  static arena_options in(void *buffer, std::size_t size) noexcept {
    arena_options o;
    o.buffer = buffer;
    o.buffer_size = size;
    return o;
  }

  // Out of line, and throws for the caller.
  TOFT_COLD void *more(std::size_t size, std::size_t align) {
    source_.begin();
    void *p = arena_->ops->alloc(arena_, size, align, 0, TOFT_CALLER());
    if (TOFT_UNLIKELY(p == nullptr)) source_.fail();
    return p;
  }

  void *do_allocate(std::size_t size, std::size_t align) override { return allocate(size, align); }
  void do_deallocate(void *p, std::size_t size, std::size_t) override { deallocate(p, size); }
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }

  toft_arena *arena_;
  upstream_source source_;
  bool owned_;
};

// The present frame, for containers of all threads at once: each allocates from its thread's arena. deallocate does
// nothing, so a container may grow on one thread and be destroyed on another. It must not outlive its memory: across an
// advance nothing may be kept, not even to be destroyed; with N buffers, nothing across N of them. It must not outlive
// the resource either: those that make put into the frames themselves are destroyed with them, so end these frames
// before.
class frame_resource final : public std::pmr::memory_resource {
 public:
  // Of frames that outlive it.
  explicit frame_resource(const frames &f) noexcept : frames_(f.get()) {}
  frame_resource(const frame_resource &) = delete;
  frame_resource &operator=(const frame_resource &) = delete;

  // std::bad_alloc.
  [[nodiscard]] TOFT_ALWAYS_INLINE void *allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) {
    toft_arena *a = toft_frame_here(frames_);
    if (TOFT_UNLIKELY(a == nullptr)) detail::throw_bad_alloc();
    return arena_ref(a).allocate(size, align);
  }
  TOFT_ALWAYS_INLINE void deallocate(void *, std::size_t, std::size_t = alignof(std::max_align_t)) noexcept {}

 private:
  void *do_allocate(std::size_t size, std::size_t align) override { return allocate(size, align); }
  void do_deallocate(void *, std::size_t, std::size_t) override {}
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }

  toft_frames *frames_;
};

// A shared arena, for containers of all threads at once. deallocate gives back what is the newest of all threads'.
class shared_resource final : public std::pmr::memory_resource {
 public:
  // Of an arena that outlives it.
  explicit shared_resource(shared_arena &a) noexcept : shared_(a.get()) {}
  shared_resource(const shared_resource &) = delete;
  shared_resource &operator=(const shared_resource &) = delete;

  // std::bad_alloc.
  [[nodiscard]] void *allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) {
    void *p = toft_shared_alloc(shared_, size, align);
    if (TOFT_UNLIKELY(p == nullptr)) detail::throw_bad_alloc();
    return p;
  }
  void deallocate(void *p, std::size_t size, std::size_t = alignof(std::max_align_t)) noexcept {
    toft_shared_free(shared_, p, size);
  }

 private:
  void *do_allocate(std::size_t size, std::size_t align) override { return allocate(size, align); }
  void do_deallocate(void *p, std::size_t size, std::size_t) override { toft_shared_free(shared_, p, size); }
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }

  toft_shared *shared_;
};

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif
