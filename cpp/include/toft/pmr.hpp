// Memory resources for std::pmr:
//
//     toft::recycling_resource                individual deallocation; freed objects are reused first
//     toft::synchronized_recycling_resource   the same for all threads at once
//     toft::arena_resource                    monotonic, with marks, and a reset that keeps its memory
//     toft::frame_resource                    monotonic, in the calling thread's arena of a frame
//     toft::shared_resource                   monotonic, for all threads at once
//
//     toft::recycling_resource nodes;
//     std::pmr::map<int, int> m(&nodes);
//
// UPSTREAM. Any std::pmr::memory_resource; its exceptions propagate to the container, and nothing changes then. Blocks
// are requested with an alignment of 64 and at least 4096 bytes; those of a recycling_resource that are multiples of 32
// KiB with that alignment, so that it uses all of a small limit. release() and the destructor return all of them,
// whether the objects were deallocated or not. Without an upstream, a resource uses std::pmr::get_default_resource() if
// the program has set one, and otherwise Toft's own heap, whose cache per thread makes short-lived resources fast.
//
// CONSTRUCTORS do not allocate, except those with a count of blocks. The classes may be derived from, as the standard's
// may: do_allocate, do_deallocate and do_is_equal are protected.
//
// CONFORMANCE. Size 0 gives a unique pointer (in arenas: one that must not be dereferenced). Any power of two is a
// valid alignment. A resource compares equal to itself only. Resources are neither copied nor moved.
//
// COST. Allocation and deallocation take constant time; toft/recycler.h has the details. Calls of allocate and
// deallocate on a resource of static type, as by toft::allocator, are inlined.
//
// Needs <memory_resource>, which libc++ has since version 16; with older ones use recycler.hpp, arena.hpp and
// allocator.hpp.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_PMR_HPP
#define TOFT_PMR_HPP

#include <atomic>
#include <cstddef>
#include <memory_resource>
#include <thread>

#include "arena.hpp"
#include "config.hpp"
#include "frame.hpp"
#include "recycler.hpp"
#include "shared.hpp"
#include "upstream.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {

namespace detail {

// Returns the program's default resource if it has set one; nullptr: Toft's heap.
inline std::pmr::memory_resource *default_upstream() noexcept {
  std::pmr::memory_resource *r = std::pmr::get_default_resource();
  return r == std::pmr::new_delete_resource() ? nullptr : r;
}

inline recycler_options counted_options(std::size_t count, std::size_t size) {
  if (count == 0 || size == 0) throw_invalid_argument("toft: a resource with a count or a size of 0");
  recycler_options o;
  o.count = count;
  o.block_size = size;
  return o;
}

}  // namespace detail

// With a count, memory for that many blocks of `size` bytes is taken at once and kept. upstream nullptr: Toft's heap.
class recycling_resource : public std::pmr::memory_resource {
 public:
  recycling_resource() : source_(detail::default_upstream(), TOFT_RECYCLER_UNIT) {
    if (source_.upstream() != nullptr)
      start(recycler_options());
    else if (TOFT_UNLIKELY(toft_recycler_init(&r_, nullptr) != TOFT_OK))
      detail::throw_invalid_argument("toft: recycling_resource: the library has another layout of toft_recycler");
  }
  explicit recycling_resource(std::pmr::memory_resource *upstream) : recycling_resource(recycler_options(), upstream) {}
  recycling_resource(std::size_t count, std::size_t size)
      : recycling_resource(detail::counted_options(count, size), detail::default_upstream()) {}
  recycling_resource(std::size_t count, std::size_t size, std::pmr::memory_resource *upstream)
      : recycling_resource(detail::counted_options(count, size), upstream) {}
  // options.source is used if upstream is nullptr. Throws std::invalid_argument, and what upstream throws.
  explicit recycling_resource(recycler_options options, std::pmr::memory_resource *upstream = nullptr)
      : source_(upstream, TOFT_RECYCLER_UNIT) {
    start(options);
  }
  recycling_resource(const recycling_resource &) = delete;
  recycling_resource &operator=(const recycling_resource &) = delete;
  ~recycling_resource() override { toft_recycler_release(&r_); }

  // Hide those of the base class, and are inline.
  [[nodiscard]] TOFT_ALWAYS_INLINE void *allocate(std::size_t size,
                                                  std::size_t align = alignof(std::max_align_t)) TOFT_LIFETIMEBOUND {
    void *p = toft_recycler_bump(&r_, size, align);
    return TOFT_LIKELY(p != nullptr) ? p : allocate_slow(size, align);
  }
  TOFT_ALWAYS_INLINE void deallocate(void *p, std::size_t size, std::size_t = alignof(std::max_align_t)) {
    toft_recycler_free(&r_, p, size);
  }

  // Returns all memory upstream, including objects that were not deallocated.
  void release() noexcept { toft_recycler_release(&r_); }
  // Returns memory without live objects, until about `keep` bytes of it are left.
  void trim(std::size_t keep = 0) noexcept { toft_recycler_trim(&r_, keep); }
  recycler_stats stats() const noexcept { return toft_recycler_get_stats(&r_); }
  // nullptr: blocks do not come from a memory resource.
  std::pmr::memory_resource *upstream_resource() const noexcept { return source_.upstream(); }

 protected:
  void *do_allocate(std::size_t size, std::size_t align) override { return recycling_resource::allocate(size, align); }
  void do_deallocate(void *p, std::size_t size, std::size_t) override { toft_recycler_free(&r_, p, size); }
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }

 private:
  void start(recycler_options options) {
    upstream_source::call call(source_);
    if (source_.upstream() != nullptr) options.source = &source_;
    int code = toft_recycler_init(&r_, &options);
    if (code == TOFT_EARG)
      detail::throw_invalid_argument("toft: recycling_resource: options contradict each other or exceed a limit");
    if (code != TOFT_OK) call.fail();
    r_.is_aligned = source_.upstream() != nullptr;
  }

  // The slow path, out of line, with the throw.
  TOFT_COLD void *allocate_slow(std::size_t size, std::size_t align) {
    upstream_source::call call(source_);
    void *p = toft_recycler_alloc_slow_at(&r_, size, align, TOFT_CALLER());
    if (TOFT_UNLIKELY(p == nullptr)) call.fail();
    return p;
  }

  toft_recycler r_;
  upstream_source source_;
};

// Upstream is called by one thread at a time. A resource with a count has one lock, others have eight.
class synchronized_recycling_resource : public std::pmr::memory_resource {
 public:
  synchronized_recycling_resource() : synchronized_recycling_resource(recycler_options(), detail::default_upstream()) {}
  explicit synchronized_recycling_resource(std::pmr::memory_resource *upstream)
      : synchronized_recycling_resource(recycler_options(), upstream) {}
  synchronized_recycling_resource(std::size_t count, std::size_t size)
      : synchronized_recycling_resource(detail::counted_options(count, size), detail::default_upstream()) {}
  synchronized_recycling_resource(std::size_t count, std::size_t size, std::pmr::memory_resource *upstream)
      : synchronized_recycling_resource(detail::counted_options(count, size), upstream) {}
  // options.source is used if upstream is nullptr. Throws std::invalid_argument, and with a count what upstream throws.
  explicit synchronized_recycling_resource(recycler_options options, std::pmr::memory_resource *upstream = nullptr)
      : source_(upstream), options_(options) {
    if (upstream != nullptr) options_.source = &source_;
    if (toft_recycler_check(&options_) != TOFT_OK)
      detail::throw_invalid_argument(
          "toft: synchronized_recycling_resource: options contradict each other or exceed a limit");
    if (options_.count != 0) (void)recycler();
  }
  synchronized_recycling_resource(const synchronized_recycling_resource &) = delete;
  synchronized_recycling_resource &operator=(const synchronized_recycling_resource &) = delete;
  ~synchronized_recycling_resource() override { toft_sync_recycler_release(existing()); }

  [[nodiscard]] TOFT_ALWAYS_INLINE void *allocate(std::size_t size,
                                                  std::size_t align = alignof(std::max_align_t)) TOFT_LIFETIMEBOUND {
    toft_sync_recycler *r = recycler();
    if (source_.upstream() != nullptr) return allocate_upstream(r, size, align);
    void *p = toft_sync_recycler_alloc(r, size, align);
    if (TOFT_UNLIKELY(p == nullptr)) detail::throw_bad_alloc();
    return p;
  }
  TOFT_ALWAYS_INLINE void deallocate(void *p, std::size_t size, std::size_t = alignof(std::max_align_t)) {
    if (TOFT_LIKELY(p != nullptr)) toft_sync_recycler_free(existing(), p, size);
  }

  // Frees all objects; no thread may use them any more. All blocks but one return upstream; the destructor returns
  // that.
  void release() noexcept {
    if (existing() != nullptr) toft_sync_recycler_reset(existing());
  }
  void trim(std::size_t keep = 0) noexcept {
    if (existing() != nullptr) toft_sync_recycler_trim(existing(), keep);
  }
  recycler_stats stats() const noexcept {
    return existing() != nullptr ? toft_sync_recycler_get_stats(existing()) : recycler_stats();
  }
  std::pmr::memory_resource *upstream_resource() const noexcept { return source_.upstream(); }

 protected:
  void *do_allocate(std::size_t size, std::size_t align) override {
    return synchronized_recycling_resource::allocate(size, align);
  }
  void do_deallocate(void *p, std::size_t size, std::size_t align) override {
    synchronized_recycling_resource::deallocate(p, size, align);
  }
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }

 private:
  toft_sync_recycler *existing() const noexcept { return r_.load(std::memory_order_acquire); }
  TOFT_ALWAYS_INLINE toft_sync_recycler *recycler() {
    toft_sync_recycler *r = existing();
    return TOFT_LIKELY(r != nullptr) ? r : create();
  }
  void *allocate_upstream(toft_sync_recycler *r, std::size_t size, std::size_t align) {
    upstream_source::call call(source_);
    void *p = toft_sync_recycler_alloc(r, size, align);
    if (TOFT_UNLIKELY(p == nullptr)) call.fail();
    return p;
  }
  // Called by the first allocation. One thread at a time, since upstream is called.
  TOFT_COLD toft_sync_recycler *create() {
    struct spin_lock {
      std::atomic_flag &flag;
      explicit spin_lock(std::atomic_flag &f) noexcept : flag(f) {
        while (flag.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
      }
      ~spin_lock() { flag.clear(std::memory_order_release); }
    } lock(creating_);
    if (toft_sync_recycler *r = existing()) return r;
    upstream_source::call call(source_);
    toft_sync_recycler *r = toft_sync_recycler_create(&options_);
    if (r == nullptr) call.fail();
    r_.store(r, std::memory_order_release);
    return r;
  }

  upstream_source source_;
  recycler_options options_;
  std::atomic<toft_sync_recycler *> r_{nullptr};
  std::atomic_flag creating_ = ATOMIC_FLAG_INIT;
};

// An arena as a resource, created by the first allocation. deallocate frees the newest allocation only.
class arena_resource : public std::pmr::memory_resource {
 public:
  arena_resource() : arena_resource(arena_options(), detail::default_upstream()) {}
  explicit arena_resource(std::pmr::memory_resource *upstream) : arena_resource(arena_options(), upstream) {}
  // Uses a buffer of the caller, see TOFT_BUFFER; when it is full, or too small for an arena, blocks come from
  // upstream. With std::pmr::null_memory_resource() there are no further blocks.
  arena_resource(void *buffer, std::size_t size, std::pmr::memory_resource *upstream = std::pmr::get_default_resource())
      : arena_resource(in(buffer, size), upstream) {}
  // options.source is used if upstream is nullptr. Invalid options cause std::bad_alloc at the first allocation.
  explicit arena_resource(arena_options options, std::pmr::memory_resource *upstream = nullptr)
      : source_(upstream), options_(options), arena_(&empty_), owned_(true) {
    if (upstream != nullptr) options_.source = &source_;
    set_empty();
  }
  // Uses an existing arena, which must outlive it.
  explicit arena_resource(arena_ref borrowed) noexcept : source_(nullptr), arena_(borrowed.get()), owned_(false) {
    set_empty();
  }
  arena_resource(const arena_resource &) = delete;
  arena_resource &operator=(const arena_resource &) = delete;
  ~arena_resource() override {
    if (owned_ && arena_ != &empty_) toft_release(arena_);
  }

  [[nodiscard]] TOFT_ALWAYS_INLINE void *allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) {
    void *p = detail::bump(arena_, size, align);
    return TOFT_LIKELY(p != nullptr) ? p : allocate_slow(size, align);
  }
  TOFT_ALWAYS_INLINE void deallocate(void *p, std::size_t size, std::size_t = alignof(std::max_align_t)) {
    arena_ref(arena_).deallocate(p, size);
  }

  // Containers with memory from after the mark, or from before the reset, must be destroyed before, or never be used
  // again.
  mark mark_here() const noexcept { return toft_mark_here(arena_); }
  int rewind(mark m) noexcept {
    if (TOFT_UNLIKELY(m.cursor == empty_.cursor)) {  // taken before the first allocation
      if (arena_ == &empty_) return TOFT_OK;
      m = first_;
    }
    return arena_ != &empty_ ? toft_rewind(arena_, m) : TOFT_EMARK;
  }
  // Frees everything and keeps memory for the next round: as much as recent rounds needed.
  int reset() noexcept { return arena_ != &empty_ ? toft_reset(arena_) : TOFT_OK; }
  // Frees everything and returns all memory and the arena itself to upstream; results of arena() become invalid. A
  // borrowed arena keeps its initial block. Does nothing while a range is claimed.
  void release() noexcept {
    if (arena_ == &empty_ || toft_reset_keep(arena_, TOFT_KEEP_BYTES, 0) != TOFT_OK) return;
    if (owned_) {
      toft_release(arena_);
      arena_ = &empty_;
    } else {
      toft_trim(arena_, 0);
    }
  }
  // Returns the arena, creating it if nothing was allocated yet: throws std::bad_alloc, and what upstream throws.
  arena_ref arena() {
    if (arena_ == &empty_) create();
    return arena_;
  }
  // nullptr: blocks do not come from a memory resource.
  std::pmr::memory_resource *upstream_resource() const noexcept { return source_.upstream(); }

 protected:
  void *do_allocate(std::size_t size, std::size_t align) override { return arena_resource::allocate(size, align); }
  void do_deallocate(void *p, std::size_t size, std::size_t) override { arena_ref(arena_).deallocate(p, size); }
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }

 private:
  static arena_options in(void *buffer, std::size_t size) noexcept {
    arena_options o;
    o.buffer = buffer;
    o.buffer_size = size;
    return o;
  }

  // A head without bytes remaining: the first allocation takes the slow path.
  TOFT_HIDDEN void set_empty() noexcept {
    static const toft_arena_ops none{};
    empty_.cursor = empty_.limit = reinterpret_cast<unsigned char *>(&empty_);
    empty_.ops = &none;
    empty_.epoch = 0;
  }

  TOFT_COLD void create() {
    upstream_source::call call(source_);
    toft_arena *made = toft_create_with(&options_);
    if (made == nullptr && options_.buffer != nullptr && options_.source != nullptr) {  // the buffer is too small
      arena_options o = options_;
      o.buffer = nullptr;
      o.buffer_size = 0;
      made = toft_create_with(&o);
    }
    if (made == nullptr) call.fail();
    arena_ = made;
    first_ = toft_mark_here(made);
  }

  // The slow path, out of line, with the throw.
  TOFT_COLD void *allocate_slow(std::size_t size, std::size_t align) {
    if (arena_ == &empty_) create();
    upstream_source::call call(source_);
    void *p = arena_->ops->alloc(arena_, size, align, 0, TOFT_CALLER());
    if (TOFT_UNLIKELY(p == nullptr)) call.fail();
    return p;
  }

  upstream_source source_;
  arena_options options_;
  toft_arena empty_;
  toft_arena *arena_;
  mark first_{};  // start of the created arena
  bool owned_;
};

// The present frame, for containers of all threads at once: each allocates from its thread's arena. deallocate does
// nothing, so a container may grow on one thread and be destroyed on another. No container may live across N advances
// of frames with N buffers, not even to be destroyed later, nor may one outlive the resource: containers that make
// created in the frames are destroyed with them, so these frames must end first.
class frame_resource : public std::pmr::memory_resource {
 public:
  // The frames must outlive it.
  explicit frame_resource(const frames &f) noexcept : frames_(f.get()) {}
  frame_resource(const frame_resource &) = delete;
  frame_resource &operator=(const frame_resource &) = delete;

  // Throws std::bad_alloc.
  [[nodiscard]] TOFT_ALWAYS_INLINE void *allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) {
    toft_arena *a = toft_frame_arena(frames_);
    if (TOFT_UNLIKELY(a == nullptr)) detail::throw_bad_alloc();
    return arena_ref(a).allocate(size, align);
  }
  TOFT_ALWAYS_INLINE void deallocate(void *, std::size_t, std::size_t = alignof(std::max_align_t)) noexcept {}

 protected:
  void *do_allocate(std::size_t size, std::size_t align) override { return frame_resource::allocate(size, align); }
  void do_deallocate(void *, std::size_t, std::size_t) override {}
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }

 private:
  toft_frames *frames_;
};

// A shared arena, for containers of all threads at once. deallocate frees the newest allocation of all threads only.
class shared_resource : public std::pmr::memory_resource {
 public:
  // The arena must outlive it.
  explicit shared_resource(shared_arena &a) noexcept : shared_(a.get()) {}
  shared_resource(const shared_resource &) = delete;
  shared_resource &operator=(const shared_resource &) = delete;

  // Throws std::bad_alloc.
  [[nodiscard]] void *allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) {
    void *p = toft_shared_alloc(shared_, size, align);
    if (TOFT_UNLIKELY(p == nullptr)) detail::throw_bad_alloc();
    return p;
  }
  void deallocate(void *p, std::size_t size, std::size_t = alignof(std::max_align_t)) noexcept {
    toft_shared_free(shared_, p, size);
  }

 protected:
  void *do_allocate(std::size_t size, std::size_t align) override { return shared_resource::allocate(size, align); }
  void do_deallocate(void *p, std::size_t size, std::size_t) override { toft_shared_free(shared_, p, size); }
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }

 private:
  toft_shared *shared_;
};

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif
