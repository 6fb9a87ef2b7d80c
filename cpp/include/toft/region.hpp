// toft::region: one range of addresses with an arena, a memory resource and all their state in it, whose content can be
// saved and brought back. toft/region.h of the C library has the details.
//
//     toft::region r;
//     auto *m = r.make<std::pmr::map<int, std::pmr::string>>(r.resource());
//     m->emplace(1, "before");
//     if (r.checkpoint() != TOFT_OK) ...
//     m->emplace(2, "after");
//     r.restore();                                  the map has one element again
//
// CONTENT. A restore brings back what lies in the region: containers of make on resource(), with their elements. A
// container on the stack, with elements in the region, is not brought back itself and must not be used after a restore.
//
// LIFETIME. Objects of make with non-trivial destructors are destroyed when the region is. Those made since the
// checkpoint are destroyed by a restore, newest first. One from before the checkpoint that the restore revives after a
// destruction is destroyed again: a destructor must not free what lies outside of the region.
//
// ERRORS. The constructors throw std::bad_alloc, and std::invalid_argument for options that contradict each other; what
// allocates throws std::bad_alloc when the region is full. The other calls return TOFT_OK or a code. Nothing changes
// then.
//
// THREADS. One thread at a time uses a region and its content. After fork parent and child have a copy each.
//
// Needs <memory_resource>, see pmr.hpp.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_REGION_HPP
#define TOFT_REGION_HPP

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <utility>
#include <vector>

#include <toft/region.h>

#include "arena.hpp"
#include "config.hpp"
#include "recycler.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {

struct region_options : toft_region_options {
  region_options() noexcept : toft_region_options(TOFT_REGION_OPTIONS) {}
};

using region_stats = toft_region_stats;
using region_difference = toft_region_difference;
using checkpoint_id = toft_checkpoint;
using checkpoint_info = toft_checkpoint_info;

// Individual deallocation in a region. The object lies in the region too, so that a restore brings both back.
class region_resource final : public std::pmr::memory_resource {
 public:
  region_resource(const region_resource &) = delete;
  region_resource &operator=(const region_resource &) = delete;

  // Hide those of the base class, and are inline. Throws std::bad_alloc.
  [[nodiscard]] TOFT_ALWAYS_INLINE void *allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) {
    void *p = toft_recycler_bump(r_, size, align);
    return TOFT_LIKELY(p != nullptr) ? p : detail::more(r_, size, align);
  }
  TOFT_ALWAYS_INLINE void deallocate(void *p, std::size_t size, std::size_t = alignof(std::max_align_t)) {
    toft_recycler_free(r_, p, size);
  }
  recycler_stats stats() const noexcept { return toft_recycler_get_stats(r_); }

 private:
  friend class region_ref;
  explicit region_resource(toft_recycler *r) noexcept : r_(r) {}

  void *do_allocate(std::size_t size, std::size_t align) override { return region_resource::allocate(size, align); }
  void do_deallocate(void *p, std::size_t size, std::size_t) override { toft_recycler_free(r_, p, size); }
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }

  toft_recycler *r_;
};

// A region that C++ code made, here or in another function: a view, copied like a pointer.
class region_ref {
 public:
  // The region's arena and resource, which lie in it and end with it. A reset of the arena destroys what make has made.
  arena_ref arena() const noexcept { return arena_; }
  region_resource *resource() const noexcept { return resource_; }

  // Constructs a T in the region's arena; see arena_ref::make.
  template <class T, class... Args>
  T *make(Args &&...args) const {
    return arena().template make<T>(std::forward<Args>(args)...);
  }

  // A pointer to the content, nullptr at first; it is a part of the content. T of both calls is the same type.
  template <class T>
  void set_root(T *root) const noexcept {
    toft_region_set_root(r_, root);
  }
  template <class T>
  T *root() const noexcept {
    return static_cast<T *>(toft_region_root(r_));
  }

  // Saves the content as a child of the current checkpoint, which it becomes. TOFT_ENOMEM: there is no memory for the
  // pages that differ; TOFT_EBUSY: a range of an arena is claimed, or a cleanup is running.
  [[nodiscard]] int checkpoint(checkpoint_id *made = nullptr) const noexcept {
    return toft_region_checkpoint(r_, made);
  }
  // Brings the content of a checkpoint back, 0: of the current one. TOFT_EMARK: there is none with that number;
  // TOFT_EBUSY.
  int restore(checkpoint_id to = 0) const noexcept { return toft_region_restore(r_, to); }
  // Drops a checkpoint, 0: the current one, and leaves the content. TOFT_EMARK; TOFT_EBUSY.
  int drop_checkpoint(checkpoint_id dropped = 0) const noexcept { return toft_region_drop_checkpoint(r_, dropped); }
  // The current checkpoint; 0: there is none.
  checkpoint_id current_checkpoint() const noexcept { return toft_region_current(r_); }
  // Names a checkpoint, 0: the current one; the name is copied. TOFT_EMARK; TOFT_EARG: 64 bytes or more.
  int name_checkpoint(checkpoint_id named, const char *name) const noexcept {
    return toft_region_name_checkpoint(r_, named, name);
  }
  // The checkpoints, in the order of their making. Throws std::bad_alloc.
  std::vector<checkpoint_info> checkpoints() const {
    std::vector<checkpoint_info> all;
    checkpoint_info info{};
    while (toft_region_next_checkpoint(r_, info.checkpoint, &info) == TOFT_OK) all.push_back(info);
    return all;
  }

  // Stores the digest of a checkpoint, 0: of the present content; see toft/region.h. TOFT_EMARK; TOFT_EBUSY;
  // TOFT_ENOMEM.
  int digest(std::uint64_t &to, checkpoint_id of = 0) const noexcept { return toft_region_digest(r_, of, &to); }
  // 1: stores the first difference of two contents, 0 of each: the present one; 0: there is none. Else as digest.
  int diff(checkpoint_id mine, region_ref other, checkpoint_id its, region_difference &to) const noexcept {
    return toft_region_diff(r_, mine, other.r_, its, &to);
  }

  // Returns to the system the pages behind the last block.
  void trim() const noexcept { toft_region_trim(r_); }
  region_stats stats() const noexcept { return toft_region_get_stats(r_); }

  // The region of the C API, for further arenas and recyclers in it.
  toft_region *get() const noexcept { return r_; }

 protected:
  // A region without content. false: it is NULL or full.
  explicit region_ref(toft_region *r) noexcept : r_(r) {}
  bool begin() noexcept {
    if (r_ == nullptr) return false;
    arena_ = toft_region_arena(r_);
    toft_recycler *recycler = toft_region_recycler(r_);
    toft_source *source = toft_region_source(r_);
    void *at = source->take(source, block_of_resource);  // not in the arena, which may be reset
    if (arena_ == nullptr || recycler == nullptr || at == nullptr) return false;
    resource_ = ::new (at) region_resource(recycler);
    return true;
  }

  static constexpr std::size_t block_of_resource = 4096;
  static_assert(sizeof(region_resource) <= block_of_resource);

  toft_region *r_;
  toft_arena *arena_ = nullptr;
  region_resource *resource_ = nullptr;
};

// Owns a region.
class region : public region_ref {
 public:
  region() : region(region_options()) {}
  // Throws std::invalid_argument, and std::bad_alloc if there is no memory or address space.
  explicit region(const region_options &options) : region_ref(nullptr) {
    if (toft_region_check(&options) != TOFT_OK)
      detail::throw_invalid_argument("toft: region_options contradict each other, or are not available here");
    r_ = toft_region_create(&options);
    if (TOFT_UNLIKELY(!begin())) {
      toft_region_release(r_);
      detail::throw_bad_alloc();
    }
  }
  // A moved-from region can only be assigned to and destroyed. The content does not move.
  region(region &&other) noexcept : region_ref(other) { other.r_ = nullptr; }
  region &operator=(region &&other) noexcept {
    if (this != &other) {
      toft_region_release(r_);
      region_ref::operator=(other);
      other.r_ = nullptr;
    }
    return *this;
  }
  region(const region &) = delete;
  region &operator=(const region &) = delete;
  // Destroys the objects of make and runs the cleanups of all arenas in the region.
  ~region() { toft_region_release(r_); }

  arena_ref arena() const noexcept TOFT_LIFETIMEBOUND { return region_ref::arena(); }
  region_resource *resource() const noexcept TOFT_LIFETIMEBOUND { return region_ref::resource(); }
  template <class T, class... Args>
  T *make(Args &&...args) const TOFT_LIFETIMEBOUND {
    return region_ref::make<T>(std::forward<Args>(args)...);
  }
  template <class T>
  T *root() const noexcept TOFT_LIFETIMEBOUND {
    return region_ref::root<T>();
  }
};

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif

// Outside the guard: see config.hpp.
#include "config.hpp"
