// toft::lease: an arena borrowed from a cache that all threads share, for code that cannot keep an arena between calls.
// toft/lease.h of the C library documents the cache and its limits.
//
//     int answer(request &r) {
//       toft::lease a;                            from the process's own cache
//       node *tree = a.make<node>(r.text);
//       return tree->sum();
//     }                                           runs destructors, returns the arena to the cache
//
//     toft::leases cache(options);                a separate cache
//     toft::lease b(cache);
//
// A lease is an arena_ref: it has all its functions, converts to one (toft::scope, toft::claim, arena_resource), and
// may move to another thread and end there. Its allocations end with it.
//
// FAILURE. std::bad_alloc if no arena is idle and there is no memory for another. A lease that ends while a range of
// its arena is claimed, or in one of its cleanups, cannot be returned: the arena and its memory leak. return_arena
// reports this.
//
// COST. On one thread a lease and its end take no lock and no atomic read-modify-write; the end is linear in
// destructors to run and blocks to return. On another thread the end takes a lock.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_LEASE_HPP
#define TOFT_LEASE_HPP

#include <cstdint>
#include <utility>

#include "arena.hpp"
#include "config.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {

// Options of a cache. For example:
//     toft::lease_options o;
//     o.idle = 16;                                limit on idle arenas
//     toft::leases cache(o);
struct lease_options : toft_lease_options {
  lease_options() noexcept : toft_lease_options(TOFT_LEASE_OPTIONS) {}
};

using lease_stats = toft_lease_stats;

// A view of a cache, copied like a pointer; by default of the process's own. Thread-safe.
class leases_ref {
 public:
  leases_ref(toft_leases *l = nullptr) noexcept : leases_(l) {}

  // The cache of the C API; nullptr is the process's own.
  toft_leases *get() const noexcept { return leases_; }

  // Releases all idle arenas.
  void trim() const noexcept { toft_leases_trim(leases_); }
  // Linear in leased arenas.
  lease_stats stats() const noexcept { return toft_leases_get_stats(leases_); }

 protected:
  toft_leases *leases_;
};

// Owns a cache.
class leases : public leases_ref {
 public:
  leases() : leases(lease_options()) {}
  // Throws std::invalid_argument if more than 65536 arenas may be idle, or if the arenas have a buffer, which one arena
  // only could use; std::bad_alloc if there is no memory, or for other invalid options, as toft::arena does.
  explicit leases(const lease_options &options) : leases_ref(toft_leases_create(&options)) {
    if (TOFT_LIKELY(leases_ != nullptr)) return;
    if (options.idle > 65536 || (options.arenas != nullptr && options.arenas->buffer != nullptr))
      detail::throw_invalid_argument("toft: lease_options with a buffer, or with too many idle arenas");
    detail::throw_bad_alloc();
  }
  leases(const leases &) = delete;  // leases have pointers to it
  leases &operator=(const leases &) = delete;
  // All leases must have ended, and no other thread may use the cache. If an arena is leased, the cache leaks, and the
  // lease may still be returned.
  ~leases() { (void)toft_leases_release(leases_); }
};

class lease : public arena_owner {
 public:
  explicit lease(leases_ref from = leases_ref()) : lease(from, toft_lease_get(from.get())) {
    if (TOFT_UNLIKELY(arena_ == nullptr)) detail::throw_bad_alloc();
  }
  // Returns a lease without an arena, which is false, if there is no memory.
  [[nodiscard]] static lease try_get(leases_ref from = leases_ref()) noexcept {
    return lease(from, toft_lease_get(from.get()));
  }
  // Takes ownership of a lease of the C API, from that cache.
  static lease own(toft_lease l, leases_ref from = leases_ref()) noexcept { return lease(from, l); }

  // A lease that was moved from, or returned, has no arena. It can be assigned to and destroyed.
  lease(lease &&other) noexcept : lease(other.leases_, other.release()) {}
  lease &operator=(lease &&other) noexcept {
    if (this != &other) {
      end();
      leases_ = other.leases_;
      take(other.release());
    }
    return *this;
  }
  lease(const lease &) = delete;
  lease &operator=(const lease &) = delete;
  ~lease() { end(); }

  explicit operator bool() const noexcept { return arena_ != nullptr; }
  toft_arena *get() const noexcept TOFT_LIFETIMEBOUND { return arena_; }

  // Returns the lease now. TOFT_OK. TOFT_ECORRUPT: done, and a checked arena found bytes written outside an allocation.
  // Other failures change nothing: TOFT_EBUSY, a range is claimed or one of its cleanups runs; TOFT_EARG, it has no
  // arena.
  int return_arena() noexcept {
    int code = toft_lease_return(leases_.get(), toft_lease{arena_, generation_});
    if (code == TOFT_OK || code == TOFT_ECORRUPT) (void)release();
    return code;
  }

  // Releases ownership: the caller must return the lease by toft_lease_return.
  [[nodiscard]] toft_lease release() noexcept {
    return toft_lease{std::exchange(arena_, nullptr), std::exchange(generation_, 0)};
  }
  leases_ref from() const noexcept { return leases_; }

 private:
  lease(leases_ref from, toft_lease l) noexcept : arena_owner(l.arena), generation_(l.generation), leases_(from) {}
  void take(toft_lease l) noexcept {
    arena_ = l.arena;
    generation_ = l.generation;
  }
  void end() noexcept {
    if (arena_ != nullptr) (void)toft_lease_return(leases_.get(), toft_lease{arena_, generation_});
  }

  std::uint64_t generation_;
  leases_ref leases_;
};

inline arena_ref::arena_ref(const lease &a) noexcept : arena_(a.get()) {}

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif

// Outside the guard: see config.hpp.
#include "config.hpp"
