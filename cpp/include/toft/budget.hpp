// toft::budget: a limit on the memory of many arenas, resources and other objects, with parents.
//
//     toft::budget process;
//     process.set_limit(1 << 30);
//     toft::budget tenant = process.child("tenant 7", 64 << 20);
//     toft::arena_options o;
//     o.source = tenant.source();
//     toft::arena a(o);
//
// toft/budget.h describes counts, refusals and their callback, which must not throw.
//
// THREADS. All members are thread-safe, but for the destructor and moves.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_BUDGET_HPP
#define TOFT_BUDGET_HPP

#include <cstddef>
#include <utility>

#include "config.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {

struct budget_options {
  const char *name = "";              // copied, at most 31 bytes
  std::size_t limit = SIZE_MAX;       // bytes; SIZE_MAX: none
  toft_source *source = nullptr;      // of a budget without a parent; nullptr: the heap
  toft_budget_fn *refused = nullptr;  // see toft_budget_fn
  void *refused_arg = nullptr;
};

// Objects on its source, and its children, end before it does: the destructor of a budget with bytes or children is a
// mistake of the program, and leaves the budget allocated.
class budget {
 public:
  // Throws std::invalid_argument for a name above 31 bytes, std::bad_alloc.
  explicit budget(const budget_options &options = {}) : budget(options, nullptr) {}
  budget(budget &&other) noexcept : budget_(std::exchange(other.budget_, nullptr)) {}
  budget &operator=(budget &&other) noexcept {
    if (this != &other) {
      (void)toft_budget_release(budget_);
      budget_ = std::exchange(other.budget_, nullptr);
    }
    return *this;
  }
  budget(const budget &) = delete;
  budget &operator=(const budget &) = delete;
  ~budget() { (void)toft_budget_release(budget_); }

  // A budget whose bytes count for this one too. Throws std::invalid_argument, also if options.source is set, and
  // std::bad_alloc.
  budget child(const budget_options &options) const { return budget(options, budget_); }
  budget child(const char *name, std::size_t limit) const {
    budget_options o;
    o.name = name;
    o.limit = limit;
    return child(o);
  }

  toft_source *source() const noexcept TOFT_LIFETIMEBOUND { return toft_budget_source(budget_); }
  void set_limit(std::size_t bytes) noexcept { toft_budget_set_limit(budget_, bytes); }
  // Counts live bytes too. Returns TOFT_EBUSY, with no effect, if they are not counted yet and there are blocks or
  // children.
  int limit_live(std::size_t bytes) noexcept { return toft_budget_limit_live(budget_, bytes); }
  // Counts bytes that other allocators hold; see toft_budget_charge. Returns TOFT_ENOMEM if a limit refuses them.
  [[nodiscard]] int charge(std::size_t bytes) noexcept { return toft_budget_charge(budget_, bytes); }
  // Returns TOFT_EARG, with no effect, if fewer are charged.
  int uncharge(std::size_t bytes) noexcept { return toft_budget_uncharge(budget_, bytes); }
  toft_budget_live_stats live_stats() const noexcept { return toft_budget_get_live_stats(budget_); }
  toft_budget_stats stats() const noexcept { return toft_budget_get_stats(budget_); }
  const char *name() const noexcept TOFT_LIFETIMEBOUND { return toft_budget_name(budget_); }
  toft_budget *get() const noexcept { return budget_; }

 private:
  budget(const budget_options &options, toft_budget *parent) {
    toft_budget_options o = TOFT_BUDGET_OPTIONS;
    o.name = options.name;
    o.parent = parent;
    o.source = options.source;
    o.limit = options.limit;
    o.refused = options.refused;
    o.refused_arg = options.refused_arg;
    std::size_t length = 0;
    while (options.name != nullptr && options.name[length] != 0) length++;
    if (length > 31 || (parent != nullptr && options.source != nullptr))
      detail::throw_invalid_argument("toft: the options of a budget");
    budget_ = toft_budget_create(&o);
    if (budget_ == nullptr) detail::throw_bad_alloc();
  }

  toft_budget *budget_ = nullptr;
};

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif
