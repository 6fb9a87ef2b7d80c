/* toft::pool<T>: values that stay where they are, in slots that are reused, named by handles that tell when they are
 * stale.
 *
 *     toft::pool<node> nodes;
 *     toft::handle<node> h = nodes.emplace("name", 1);
 *     if (node *n = nodes.get(h)) ...           nullptr once it was erased
 *     for (node &n : nodes) ...                 live values only, in the order of their slots
 *     for (auto [handle, n] : nodes.entries()) ...
 *     nodes.erase(h);                           false if h is stale
 *
 * HANDLES are 32 bits: a slot's number and its generation, which grows by one each time the slot is erased, so that a
 * handle kept for too long is told apart until the generations have gone round: after 256 times with the default of
 * 2^24 - 1 slots, after 4 million at 1000 slots (pool_options::max_slots), never with pool_options::retire. A handle is
 * good in its own pool only, and in what that pool was moved or swapped to.
 *
 * VALUES never move: pointers, references and iterators stay good until their value is erased, or the pool is cleared
 * or destroyed; growing, moving and swapping pools do not touch them. While the values are walked, any may be erased,
 * the current one too; whether those emplaced meanwhile are visited is not said.
 *
 * FAILURE. emplace throws std::bad_alloc if the pool is full or there is no memory, try_emplace returns a null handle;
 * what T's constructor throws goes through. Nothing has changed then.
 *
 * MEMORY. A pool without options does nothing until it is used; then it takes address space for 2^24 - 1 slots (less
 * where that were more than a TiB), and memory as it grows, by doubling steps. A fixed pool takes one block, and asks
 * nobody later. A slot takes sizeof(T), and 4 bytes and a bit, rounded up to a power of two. Where there are thousands
 * of small pools, make them fixed: each growing one is a mapping of its own.
 *
 * REENTRANCY. A value is no part of the pool before its constructor has ended, nor once its destructor has begun; both
 * may emplace into and erase from the same pool. They must not clear, trim or destroy it.
 *
 * THREADS. One at a time; several may read while none changes the pool.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_POOL_HPP
#define TOFT_POOL_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "config.hpp"
#include "construct.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {

/* Names a value of a pool; a null handle names none, and is false. Ordered by number and generation: an order to put
 * handles into maps, no more. T may be incomplete. */
template <class T>
class handle {
 public:
  constexpr handle() noexcept = default;
  constexpr handle(std::nullptr_t) noexcept {}
  /* From and to the 32 bits, which is what C has for a handle. */
  constexpr explicit handle(toft_handle bits) noexcept : bits_(bits) {}
  constexpr toft_handle bits() const noexcept { return bits_; }
  constexpr explicit operator bool() const noexcept { return bits_ != 0; }

  friend constexpr bool operator==(handle a, handle b) noexcept { return a.bits_ == b.bits_; }
  friend constexpr bool operator!=(handle a, handle b) noexcept { return a.bits_ != b.bits_; }
  friend constexpr bool operator<(handle a, handle b) noexcept { return a.bits_ < b.bits_; }
  friend constexpr bool operator>(handle a, handle b) noexcept { return a.bits_ > b.bits_; }
  friend constexpr bool operator<=(handle a, handle b) noexcept { return a.bits_ <= b.bits_; }
  friend constexpr bool operator>=(handle a, handle b) noexcept { return a.bits_ >= b.bits_; }

 private:
  toft_handle bits_ = 0;
};

struct pool_options {
  std::size_t slots = 0;         /* these have memory from the start; all there are, if fixed */
  std::size_t max_slots = 0;     /* how far it may grow, 2^31 - 1 at most; 0: 2^24 - 1 or less, see MEMORY */
  bool fixed = false;            /* `slots` is the limit */
  bool retire = false;           /* a slot whose generations are spent is not used again */
  toft_source *source = nullptr; /* of a fixed pool's block; nullptr: the heap. Must outlive the pool */
  void *buffer = nullptr;        /* the pool is fixed, and lives in here, as many slots as fit if `slots` is 0 */
  std::size_t buffer_size = 0;   /* see TOFT_POOL_BUFFER. The buffer must outlive the pool, and what it is moved to */
};

namespace detail {

[[noreturn]] TOFT_COLD inline void throw_stale() { throw_out_of_range("toft: the handle is stale"); }

[[noreturn]] TOFT_COLD inline void throw_options() {
#if TOFT_EXCEPTIONS
  throw std::invalid_argument("toft: pool_options that contradict each other");
#else
  for (;;) (void)std::stoi(std::string());
#endif
}

inline int open_pool(toft_pool *pool, const pool_options &from, std::size_t size, std::size_t align) noexcept {
  toft_pool_options o = TOFT_POOL_OPTIONS;
  o.slot_size = size;
  o.align = align;
  o.slots = from.slots;
  o.max_slots = from.max_slots;
  o.source = from.source;
  o.buffer = from.buffer;
  o.buffer_size = from.buffer_size;
  if (from.fixed) o.flags |= TOFT_POOL_FIXED;
  if (from.retire) o.flags |= TOFT_POOL_RETIRE;
  return toft_pool_init(pool, &o);
}

/* A slot that was taken and is not active yet; it returns to the free list if the constructor throws. */
class slot_guard {
 public:
  slot_guard(toft_pool *pool, std::uint32_t number) noexcept : pool_(pool), number_(number) {}
  slot_guard(const slot_guard &) = delete;
  slot_guard &operator=(const slot_guard &) = delete;
  ~slot_guard() {
    if (pool_ != nullptr) toft_pool_return_slot(pool_, number_);
  }
  toft_handle activate() noexcept { return toft_pool_activate(std::exchange(pool_, nullptr), number_); }

 private:
  toft_pool *pool_;
  std::uint32_t number_;
};

}  // namespace detail

template <class T>
class pool {
  static_assert(std::is_object_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T>, "a pool holds plain objects");

  template <class Value>
  class walk;
  template <class Value, class Pool>
  class entry_range;

 public:
  using value_type = T;
  using handle_type = handle<T>;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T &;
  using const_reference = const T &;
  using iterator = walk<T>; /* forward iterators; handle() is that of the value */
  using const_iterator = walk<const T>;

  /* Takes no memory. */
  pool() noexcept : pool_(toft_pool_closed()) {}
  /* Throws std::invalid_argument if the options contradict each other (a buffer that is too small, too), std::bad_alloc
   * if there is no memory. */
  explicit pool(const pool_options &options) : pool_(toft_pool_closed()) {
    check();
    int code = detail::open_pool(&pool_, options, sizeof(T), alignof(T));
    if (code == TOFT_EARG) detail::throw_options();
    if (code != TOFT_OK) detail::throw_bad_alloc();
  }
  /* The other one is as default-constructed then. Handles, pointers and iterators are good in this one; iterators made
   * before must not be advanced. */
  pool(pool &&other) noexcept : pool_(std::exchange(other.pool_, toft_pool_closed())) {}
  pool &operator=(pool &&other) noexcept {
    pool(std::move(other)).swap(*this);
    return *this;
  }
  ~pool() {
    clear();
    toft_pool_release(&pool_);
  }
  void swap(pool &other) noexcept { std::swap(pool_, other.pool_); }
  friend void swap(pool &a, pool &b) noexcept { a.swap(b); }

  /* A value made of args, in constant time, but for growth. */
  template <class... Args>
  handle_type emplace(Args &&...args) {
    handle_type h = try_emplace(std::forward<Args>(args)...);
    if (TOFT_UNLIKELY(!h)) detail::throw_bad_alloc();
    return h;
  }
  /* A null handle if the pool is full or there is no memory. */
  template <class... Args>
  handle_type try_emplace(Args &&...args) noexcept(detail::constructs_nothrow<T, Args...>) {
    if constexpr (in_one_step<Args...>) {
      T value = detail::make<T>(std::forward<Args>(args)...);
      toft_handle h = toft_pool_insert_handle(&pool_, sizeof(T));
      if (TOFT_UNLIKELY(h == 0)) {
        if (!initialize(0) || (h = toft_pool_insert_handle(&pool_, sizeof(T))) == 0) return {};
      }
      ::new (static_cast<void *>(slot(h & pool_.mask))) T(std::move(value));
      return handle_type(h);
    } else {
      std::uint32_t number = toft_pool_take_slot(&pool_);
      if (TOFT_UNLIKELY(number == 0)) {
        if (!initialize(0) || (number = toft_pool_take_slot(&pool_)) == 0) return {};
      }
      detail::slot_guard guard(&pool_, number);
      detail::construct<T>(slot(number), std::forward<Args>(args)...);
      return handle_type(guard.activate());
    }
  }

  /* Destroys a value; false, and nothing done, if h is stale. Constant time. */
  bool erase(handle_type h) noexcept {
    if constexpr (std::is_trivially_destructible_v<T>) {
      return toft_pool_remove(&pool_, h.bits()) == TOFT_OK;
    } else {
      std::uint32_t number = toft_pool_deactivate(&pool_, h.bits());
      if (number == 0) return false;
      std::destroy_at(std::launder(slot(number)));
      toft_pool_return_slot(&pool_, number);
      return true;
    }
  }
  /* The iterator to the next value. */
  iterator erase(const_iterator at) noexcept {
    iterator next(at.walk_);
    ++next;
    erase(at.handle());
    return next;
  }

  /* The value behind a handle: nullptr, or std::out_of_range, if it is stale. One compare. */
  T *get(handle_type h) noexcept { return find(h); }
  const T *get(handle_type h) const noexcept { return find(h); }
  T &at(handle_type h) { return checked(h); }
  const T &at(handle_type h) const { return checked(h); }
  T &operator[](handle_type h) { return checked(h); }
  const T &operator[](handle_type h) const { return checked(h); }
  bool contains(handle_type h) const noexcept { return toft_pool_contains(&pool_, h.bits()) != 0; }
  /* The handle of a value in the pool; null for one that is elsewhere, or part of another. */
  handle_type handle_of(const T &value) const noexcept {
    auto offset =
        reinterpret_cast<std::uintptr_t>(std::addressof(value)) - reinterpret_cast<std::uintptr_t>(pool_.slots);
    return handle_type(toft_pool_handle_behind(&pool_, offset, sizeof(T)));
  }

  std::size_t size() const noexcept { return toft_pool_count(&pool_); }
  bool empty() const noexcept { return size() == 0; }
  /* Slots that have memory, and those of them that are retired. */
  std::size_t capacity() const noexcept { return pool_.room; }
  std::size_t retired() const noexcept { return pool_.retired; }

  /* Memory for so many values in all: emplace asks nobody until there are more. Throws std::length_error above
   * max_slots, std::bad_alloc. One that has not been used yet, and was not told max_slots, takes this for it if it is
   * more than the default. */
  void reserve(std::size_t slots) {
    if (slots == 0 || initialize(slots)) return;
    int code = pool_.block_size == 0 ? TOFT_ENOMEM : toft_pool_reserve(&pool_, slots);
    if (code == TOFT_EARG || slots > TOFT_POOL_SLOTS_MAX) detail::throw_length_error("toft: more than max_slots");
    if (code != TOFT_OK) detail::throw_bad_alloc();
  }
  /* Destroys all values. Memory is kept. Linear in the slots used since the last clear, and the
   * destructors. */
  void clear() noexcept {
    if constexpr (!std::is_trivially_destructible_v<T>)
      while (!empty()) /* again, for what a destructor has emplaced */
        for (iterator i = begin(); i != end(); ++i) erase(i.handle());
    toft_pool_clear(&pool_);
  }
  /* Gives memory above the highest live value back to the system, unless the pool is fixed. Time as clear. */
  void trim() noexcept { toft_pool_trim(&pool_); }
  /* Address space and memory: see toft/pool.h. */
  toft_pool_stats stats() const noexcept { return toft_pool_get_stats(&pool_); }

  iterator begin() noexcept { return iterator(toft_pool_walk_begin(&pool_)); }
  const_iterator begin() const noexcept { return const_iterator(toft_pool_walk_begin(&pool_)); }
  const_iterator cbegin() const noexcept { return begin(); }
  iterator end() noexcept { return {}; }
  const_iterator end() const noexcept { return {}; }
  const_iterator cend() const noexcept { return {}; }

  /* A range of std::pair<handle<T>, T &>. */
  auto entries() noexcept { return entry_range<T, pool>(this); }
  auto entries() const noexcept { return entry_range<const T, const pool>(this); }

 private:
  static constexpr void check() { static_assert(alignof(T) <= TOFT_POOL_ALIGN_MAX, "over-aligned beyond a page"); }

  /* Small plain values are made first and copied in, which the compiler turns into making them in place: then a slot is
   * never in between. Not if that could use up an argument although the pool is full. */
  template <class... Args>
  static constexpr bool in_one_step = std::is_trivially_move_constructible_v<T> &&std::is_trivially_destructible_v<T> &&
                                      sizeof(T) <= 256 &&
                                      ((std::is_lvalue_reference_v<Args> ||
                                        std::is_trivially_copyable_v<std::remove_reference_t<Args>>)&&...);

  T *slot(std::uint32_t number) const noexcept {
    return reinterpret_cast<T *>(pool_.slots + (std::size_t{number} - 1) * sizeof(T)); /* the stride, as a constant */
  }
  T *find(handle_type h) const noexcept {
    std::uint32_t number = h.bits() & pool_.reach;
    return TOFT_LIKELY(pool_.keys[number] == h.bits()) ? std::launder(slot(number)) : nullptr;
  }
  T &checked(handle_type h) const {
    std::uint32_t number = h.bits() & pool_.reach;
    if (TOFT_UNLIKELY(pool_.keys[number] != h.bits())) detail::throw_stale();
    return *std::launder(slot(number));
  }
  /* What a pool without options does when it is first used; false: it was open, or there is no memory. */
  TOFT_COLD bool initialize(std::size_t slots) noexcept {
    check();
    pool_options o;
    o.slots = slots;
    return pool_.block_size == 0 && detail::open_pool(&pool_, o, sizeof(T), alignof(T)) == TOFT_OK;
  }

  toft_pool pool_;
};

template <class T>
template <class Value>
class pool<T>::walk {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = Value *;
  using reference = Value &;

  walk() noexcept : walk_() {}
  template <class Other, class = std::enable_if_t<std::is_const_v<Value> && !std::is_const_v<Other>>>
  walk(const walk<Other> &other) noexcept : walk_(other.walk_) {}

  reference operator*() const noexcept { return *operator->(); }
  pointer operator->() const noexcept {
    return std::launder(reinterpret_cast<Value *>(walk_.pool->slots + (std::size_t{walk_.slot} - 1) * sizeof(T)));
  }
  handle_type handle() const noexcept { return handle_type(toft_pool_walk_handle(&walk_)); }
  walk &operator++() noexcept {
    toft_pool_walk_next_by(&walk_, sizeof(T));
    return *this;
  }
  walk operator++(int) noexcept {
    walk was = *this;
    ++*this;
    return was;
  }
  friend bool operator==(const walk &a, const walk &b) noexcept { return a.walk_.slot == b.walk_.slot; }
  friend bool operator!=(const walk &a, const walk &b) noexcept { return a.walk_.slot != b.walk_.slot; }

 private:
  friend class pool;
  template <class>
  friend class walk;
  explicit walk(const toft_pool_walk &w) noexcept : walk_(w) {}

  toft_pool_walk walk_;
};

template <class T>
template <class Value, class Pool>
class pool<T>::entry_range {
 public:
  class iterator {
   public:
    using iterator_category =
        std::input_iterator_tag; /* it can be copied and goes on; but what it gives is made anew */
    using value_type = std::pair<handle_type, Value &>;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = value_type;

    iterator() noexcept = default;
    explicit iterator(walk<Value> at) noexcept : at_(at) {}
    reference operator*() const noexcept { return {at_.handle(), *at_}; }
    iterator &operator++() noexcept {
      ++at_;
      return *this;
    }
    iterator operator++(int) noexcept {
      iterator was = *this;
      ++at_;
      return was;
    }
    friend bool operator==(const iterator &a, const iterator &b) noexcept { return a.at_ == b.at_; }
    friend bool operator!=(const iterator &a, const iterator &b) noexcept { return a.at_ != b.at_; }

   private:
    walk<Value> at_;
  };

  iterator begin() const noexcept { return iterator(pool_->begin()); }
  iterator end() const noexcept { return {}; }

 private:
  friend class pool;
  explicit entry_range(Pool *pool) noexcept : pool_(pool) {}

  Pool *pool_;
};

}  // namespace TOFT_NAMESPACE
}  // namespace toft

template <class T>
struct std::hash<toft::handle<T>> {
  std::size_t operator()(toft::handle<T> h) const noexcept { return std::hash<toft_handle>()(h.bits()); }
};

#endif
