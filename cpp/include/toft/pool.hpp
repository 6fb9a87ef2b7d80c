/* toft::pool<T>: values with stable addresses in reusable slots, identified by handles that detect stale use.
 *
 *     toft::pool<node> nodes;
 *     toft::handle<node> h = nodes.emplace("name", 1);
 *     if (node *n = nodes.get(h)) ...           nullptr after it was erased
 *     for (node &n : nodes) ...                 live values only, in slot order
 *     for (auto [handle, n] : nodes.entries()) ...
 *     nodes.erase(h);                           false if h is stale
 *
 * HANDLES have 32 bits: a slot's index and its generation, which increases by one with each erase of the slot. A stale
 * handle is detected until the generation wraps: after 256 erases with the default of 2^24 - 1 slots, after 4 million
 * at 1000 slots (pool_options::max_slots), never with pool_options::retire. A handle is valid in its own pool only, and
 * in the pool that it was moved or swapped to.
 *
 * VALUES never move: pointers, references and iterators stay valid until their value is erased, or the pool is cleared
 * or destroyed; growing, moving and swapping pools keep them valid. During an iteration any value may be erased, the
 * current one included; it is unspecified whether values emplaced during it are visited.
 *
 * FAILURE. emplace throws std::bad_alloc if the pool is full or there is no memory, try_emplace returns a null handle;
 * exceptions of T's constructor propagate. Nothing changes then.
 *
 * MEMORY. A pool without options allocates nothing until it is used; then it reserves address space for 2^24 - 1 slots
 * (fewer if that exceeded a TiB), and commits memory as it grows, in doubling steps. A fixed pool takes one block when
 * it is created. A slot takes sizeof(T), 4 bytes and one bit; the number of slots is rounded up to a power of two. Each
 * growing pool is a mapping of its own: thousands of small pools should be fixed.
 *
 * REENTRANCY. A value is in the pool from the end of its constructor to the begin of its destructor; both may emplace
 * into and erase from the same pool. They must not clear, trim or destroy it.
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

/* Identifies a value of a pool; a null handle identifies none, and is false. Handles are ordered by their bits, for use
 * as keys of a map. T may be incomplete. */
template <class T>
class handle {
 public:
  constexpr handle() noexcept = default;
  constexpr handle(std::nullptr_t) noexcept {}
  /* Conversion from and to the handle of the C API. */
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
  std::size_t slots = 0;         /* slots with memory from the start; all slots, if fixed */
  std::size_t max_slots = 0;     /* limit, 2^31 - 1 at most; 0: 2^24 - 1 or less, see MEMORY */
  bool fixed = false;            /* `slots` is the limit */
  bool retire = false;           /* a slot is not reused after its last generation */
  toft_source *source = nullptr; /* of a fixed pool's block; nullptr: the heap. Must outlive the pool */
  void *buffer = nullptr;        /* memory of a fixed pool; as many slots as fit if `slots` is 0 */
  std::size_t buffer_size = 0;   /* see TOFT_POOL_BUFFER. The buffer must outlive the pool, and those it is moved to */
};

namespace detail {

[[noreturn]] TOFT_COLD inline void throw_stale() { throw_out_of_range("toft: the handle is stale"); }

[[noreturn]] TOFT_COLD inline void throw_options() {
#if TOFT_EXCEPTIONS
  throw std::invalid_argument("toft: pool_options contradict each other");
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

/* A slot that was taken and not yet activated; it is returned if the constructor throws. */
class taken_slot {
 public:
  taken_slot(toft_pool *pool, std::uint32_t index) noexcept : pool_(pool), index_(index) {}
  taken_slot(const taken_slot &) = delete;
  taken_slot &operator=(const taken_slot &) = delete;
  ~taken_slot() {
    if (pool_ != nullptr) toft_pool_return_slot(pool_, index_);
  }
  toft_handle activate() noexcept { return toft_pool_activate(std::exchange(pool_, nullptr), index_); }

 private:
  toft_pool *pool_;
  std::uint32_t index_;
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
  using iterator = walk<T>; /* forward iterators; handle() returns the value's handle */
  using const_iterator = walk<const T>;

  /* Allocates nothing. */
  pool() noexcept : pool_(toft_pool_closed()) {}
  /* Throws std::invalid_argument if the options contradict each other or the buffer is too small, std::bad_alloc if
   * there is no memory. */
  explicit pool(const pool_options &options) : pool_(toft_pool_closed()) {
    check();
    int code = detail::open_pool(&pool_, options, sizeof(T), alignof(T));
    if (code == TOFT_EARG) detail::throw_options();
    if (code != TOFT_OK) detail::throw_bad_alloc();
  }
  /* `other` is then as default-constructed. Handles, pointers and iterators are valid in this pool; iterators made
   * before must not be incremented. */
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

  /* Constructs a value from args, in constant time except for growth. */
  template <class... Args>
  handle_type emplace(Args &&...args) {
    handle_type h = try_emplace(std::forward<Args>(args)...);
    if (TOFT_UNLIKELY(!h)) detail::throw_bad_alloc();
    return h;
  }
  /* Returns a null handle if the pool is full or there is no memory. */
  template <class... Args>
  handle_type try_emplace(Args &&...args) noexcept(detail::constructs_nothrow<T, Args...>) {
    if constexpr (in_one_step<Args...>) {
      T value = detail::make<T>(std::forward<Args>(args)...);
      toft_handle h;
      std::uint32_t index = toft_pool_insert_index(&pool_, sizeof(T), &h);
      if (TOFT_UNLIKELY(index == 0)) {
        if (!initialize(0) || (index = toft_pool_insert_index(&pool_, sizeof(T), &h)) == 0) return {};
      }
      ::new (static_cast<void *>(slot(index))) T(std::move(value));
      return handle_type(h);
    } else {
      std::uint32_t index = toft_pool_take_slot(&pool_);
      if (TOFT_UNLIKELY(index == 0)) {
        if (!initialize(0) || (index = toft_pool_take_slot(&pool_)) == 0) return {};
      }
      detail::taken_slot taken(&pool_, index);
      detail::construct<T>(slot(index), std::forward<Args>(args)...);
      return handle_type(taken.activate());
    }
  }

  /* Destroys a value; returns false, and does nothing, if h is stale. Constant time. */
  bool erase(handle_type h) noexcept {
    if constexpr (std::is_trivially_destructible_v<T>) {
      return toft_pool_remove(&pool_, h.bits()) == TOFT_OK;
    } else {
      std::uint32_t index = toft_pool_deactivate(&pool_, h.bits());
      if (index == 0) return false;
      std::destroy_at(std::launder(slot(index)));
      toft_pool_return_slot(&pool_, index);
      return true;
    }
  }
  /* Returns the iterator to the next value. */
  iterator erase(const_iterator at) noexcept {
    iterator next(at.walk_);
    ++next;
    erase(at.handle());
    return next;
  }

  /* Access by handle: nullptr, or std::out_of_range, if it is stale. Costs one compare. */
  T *get(handle_type h) noexcept TOFT_LIFETIMEBOUND { return find(h); }
  const T *get(handle_type h) const noexcept TOFT_LIFETIMEBOUND { return find(h); }
  T &at(handle_type h) TOFT_LIFETIMEBOUND { return checked(h); }
  const T &at(handle_type h) const TOFT_LIFETIMEBOUND { return checked(h); }
  T &operator[](handle_type h) TOFT_LIFETIMEBOUND { return checked(h); }
  const T &operator[](handle_type h) const TOFT_LIFETIMEBOUND { return checked(h); }
  bool contains(handle_type h) const noexcept { return toft_pool_contains(&pool_, h.bits()) != 0; }
  /* Returns the handle of a value in the pool; null if it is elsewhere, or a part of a value. */
  handle_type handle_of(const T &value) const noexcept {
    auto offset =
        reinterpret_cast<std::uintptr_t>(std::addressof(value)) - reinterpret_cast<std::uintptr_t>(pool_.slots);
    return handle_type(toft_pool_handle_behind(&pool_, offset, sizeof(T)));
  }

  std::size_t size() const noexcept { return toft_pool_count(&pool_); }
  bool empty() const noexcept { return size() == 0; }
  /* Slots with memory, and the retired ones among them. */
  std::size_t capacity() const noexcept { return pool_.capacity; }
  std::size_t retired() const noexcept { return pool_.retired; }

  /* Commits memory for so many values in total, so emplace does not allocate until there are more. Throws
   * std::length_error above max_slots, std::bad_alloc. In an unused pool without max_slots, a larger number than the
   * default becomes max_slots. */
  void reserve(std::size_t slots) {
    if (slots == 0 || initialize(slots)) return;
    int code = pool_.block_size == 0 ? TOFT_ENOMEM : toft_pool_reserve(&pool_, slots);
    if (code == TOFT_EARG || slots > TOFT_POOL_SLOTS_MAX) detail::throw_length_error("toft: more than max_slots");
    if (code != TOFT_OK) detail::throw_bad_alloc();
  }
  /* Destroys all values and keeps the memory. Linear in the slots used since the last clear, and the destructors. */
  void clear() noexcept {
    if constexpr (!std::is_trivially_destructible_v<T>)
      while (!empty()) /* repeats for values that a destructor emplaced */
        for (iterator i = begin(); i != end(); ++i) erase(i.handle());
    toft_pool_clear(&pool_);
  }
  /* Returns memory above the highest live value to the system, unless the pool is fixed. Takes as long as clear. */
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

  /* Small trivial values are constructed first and copied into the slot, which compilers optimise to construction in
   * place, so that there is no state in between. Not if that could consume an argument although the pool is full. */
  template <class... Args>
  static constexpr bool in_one_step = std::is_trivially_move_constructible_v<T> &&std::is_trivially_destructible_v<T> &&
                                      sizeof(T) <= 256 &&
                                      ((std::is_lvalue_reference_v<Args> ||
                                        std::is_trivially_copyable_v<std::remove_reference_t<Args>>)&&...);

  T *slot(std::uint32_t index) const noexcept {
    return reinterpret_cast<T *>(pool_.slots + (std::size_t{index} - 1) * sizeof(T)); /* the stride, as a constant */
  }
  T *find(handle_type h) const noexcept {
    std::uint32_t index = h.bits() & pool_.key_mask;
    return TOFT_LIKELY(pool_.keys[index] == h.bits()) ? std::launder(slot(index)) : nullptr;
  }
  T &checked(handle_type h) const {
    std::uint32_t index = h.bits() & pool_.key_mask;
    if (TOFT_UNLIKELY(pool_.keys[index] != h.bits())) detail::throw_stale();
    return *std::launder(slot(index));
  }
  /* Initialises a pool without options at its first use; false: it was open, or there is no memory. */
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
    using iterator_category = std::input_iterator_tag; /* input iterators, since references are temporary pairs */
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
