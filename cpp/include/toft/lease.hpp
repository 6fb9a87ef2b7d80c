// toft::lease: an arena from a cache that all threads share, for code that has no place of its own to keep one in.
// toft/lease.h of the C library says how the cache works and what it keeps.
//
//     int answer(request &r) {
//       toft::lease a;                            from the process's own cache
//       node *tree = a.make<node>(r.text);
//       return tree->sum();
//     }                                           its destructors run, and the arena waits for the next
//
//     toft::leases cache(options);                a cache of one's own
//     toft::lease b(cache);
//
// A lease is an arena_ref: it has all the calls, goes wherever one goes (toft::scope, toft::claim, arena_resource), and
// may move to another thread and end there. What was allocated from it ends with it.
//
// FAILURE. std::bad_alloc: none waits, and there is no memory to make one. A lease that ends while a range of its arena
// is claimed, or in one of its cleanups, cannot be returned: the arena then stays out for ever, and so does its memory.
// return_arena says so.
//
// COST. On one thread a lease and its end take no lock and no atomic read-modify-write; its end is linear in
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
//     o.idle = 16;                                so many arenas may wait
//     toft::leases cache(o);
struct lease_options : toft_lease_options {
  lease_options() noexcept : toft_lease_options(TOFT_LEASE_OPTIONS) {}
};

using lease_stats = toft_lease_stats;

// A borrowed view of a cache, as small as a pointer. Without one: the process's own. All threads may use it at once.
class leases_ref {
 public:
  leases_ref(toft_leases *l = nullptr) noexcept : leases_(l) {}

  // That of the C interface; nullptr is the process's own.
  toft_leases *get() const noexcept { return leases_; }

  // Ends all arenas that wait.
  void trim() const noexcept { toft_leases_trim(leases_); }
  // Linear in leases that are out.
  lease_stats stats() const noexcept { return toft_leases_get_stats(leases_); }

 protected:
  toft_leases *leases_;
};

// Owns a cache.
class leases : public leases_ref {
 public:
  leases() : leases(lease_options()) {}
  // std::invalid_argument: more than 65536 may wait, or the arenas have a buffer, of which there is but one.
  // std::bad_alloc: there is no memory; other bad options, as toft::arena has it.
  explicit leases(const lease_options &options) : leases_ref(toft_leases_create(&options)) {
    if (TOFT_LIKELY(leases_ != nullptr)) return;
    if (options.idle > 65536 || (options.arenas != nullptr && options.arenas->buffer != nullptr))
      detail::throw_invalid_argument("toft: lease_options with a buffer, or too many arenas");
    detail::throw_bad_alloc();
  }
  leases(const leases &) = delete;  // leases know where it is
  leases &operator=(const leases &) = delete;
  // All leases have ended, and no other thread uses it. While one is out, the cache stays: it may still be given back,
  // and the memory is not.
  ~leases() { (void)toft_leases_release(leases_); }
};

class lease : public arena_ref {
 public:
  explicit lease(leases_ref from = leases_ref()) : lease(from, toft_lease_get(from.get())) {
    if (TOFT_UNLIKELY(arena_ == nullptr)) detail::throw_bad_alloc();
  }
  // Without an arena if there is no memory: false.
  [[nodiscard]] static lease try_get(leases_ref from = leases_ref()) noexcept {
    return lease(from, toft_lease_get(from.get()));
  }
  // Takes over a lease of the C interface, and the cache that it is from.
  static lease own(toft_lease l, leases_ref from = leases_ref()) noexcept { return lease(from, l); }

  // What was moved from, or given back, has no arena. It can be assigned to and destroyed.
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

  // Gives it back now. TOFT_OK. TOFT_ECORRUPT: done, and a checked arena found bytes written outside an allocation.
  // Nothing has changed otherwise: TOFT_EBUSY, a range is claimed or one of its cleanups runs; TOFT_EARG, it has no
  // arena.
  int return_arena() noexcept {
    int code = toft_lease_return(leases_.get(), toft_lease{arena_, generation_});
    if (code == TOFT_OK || code == TOFT_ECORRUPT) (void)release();
    return code;
  }

  // Lets go of it: whoever has that returns it, by toft_lease_return.
  [[nodiscard]] toft_lease release() noexcept {
    return toft_lease{std::exchange(arena_, nullptr), std::exchange(generation_, 0)};
  }
  leases_ref from() const noexcept { return leases_; }

 private:
  lease(leases_ref from, toft_lease l) noexcept : arena_ref(l.arena), generation_(l.generation), leases_(from) {}
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

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif

// Outside the guard too: see config.hpp.
#include "config.hpp"
