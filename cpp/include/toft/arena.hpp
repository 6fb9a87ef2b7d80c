// toft::arena: allocate by moving a pointer, give everything back at once.
//
//     toft::arena a;
//     node *n = a.make<node>("name");               its destructor runs when its point is rewound, reset or destroyed
//     toft::span<int> table = a.make_array<int>(100);
//     {
//       toft::scope s(a);                           what is allocated from here on is given back at its end
//       std::string_view line = a.copy(text);
//     }
//     a.reset();                                    everything is gone, the memory is kept for the next round
//
// THREE TYPES. toft::arena owns an arena, and moves. toft::arena_ref is a borrowed view of one, made here or in any
// other language, as small as a pointer and copied like one; it has all the calls, and an arena is one. toft::claim is
// the register cursor, for hot loops.
//
// LIFETIME. Memory is good until the arena is reset or destroyed, or rewound to a point before it. Objects of make and
// make_array whose destructors do something are destroyed then, each once, in the reverse order in which their
// constructors ended. Others cost nothing beside their bytes.
//
// FAILURE. std::bad_alloc, from the source, a budget, or a size that overflows; nothing has changed then. try_allocate,
// try_resize and try_make return nullptr. Alignments are powers of two, of any size.
//
// COST. Allocation takes a compare and an add, inline; constant time but for zeroing and constructors. rewind, reset
// and destruction are linear in destructors to run and blocks to return.
//
// THREADS. One at a time; an arena may move between threads.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_ARENA_HPP
#define TOFT_ARENA_HPP

#include <cstdarg>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "config.hpp"
#include "construct.hpp"
#include "span.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {

namespace detail {

// What needs no slow call; nullptr where one is needed. toft_alloc_aligned without its call: a caller that may go on to
// a call of its own at the end alone needs no stack.
TOFT_ALWAYS_INLINE inline void *bump(toft_arena *a, std::size_t size, std::size_t align) noexcept {
  unsigned char *p = a->cursor;
  std::size_t room = static_cast<std::size_t>(a->limit - p);
  if (TOFT_UNLIKELY(align > 8)) {
    std::size_t pad = (0 - reinterpret_cast<std::uintptr_t>(p)) & (align - 1);
    if ((align & (align - 1)) != 0 || room < pad || room - pad < size) return nullptr;
    p += pad;
  } else if (TOFT_UNLIKELY(room < size)) {
    return nullptr;
  }
  a->cursor = p + TOFT_ROUND8(size);
  TOFT_ASSUME(p != nullptr);
  return p;
}

// Out of line, and throws for the caller: nothing of that is in the way of the inline path.
TOFT_COLD inline void *alloc_slow(toft_arena *a, std::size_t size, std::size_t align) {
  void *p = a->ops->alloc(a, size, align, 0, TOFT_CALLER());
  if (TOFT_UNLIKELY(p == nullptr)) throw_bad_alloc();
  return p;
}

}  // namespace detail

// A point of an arena to come back to: two words.
using mark = toft_mark;

// Options of an arena; toft.h says what each is. For example:
//     toft::arena_options o;
//     o.budget = 1 << 20;
//     toft::arena a(o);
struct arena_options : toft_options {
  arena_options() noexcept : toft_options(TOFT_OPTIONS) {}
};

class arena_ref {
 public:
  arena_ref(toft_arena *a) noexcept : arena_(a) {}

  // The arena of the C interface, which may be handed to any other language.
  toft_arena *get() const noexcept { return arena_; }

  // ---- bytes ----

  // Uninitialised. A size of 0 gives a pointer that must not be read.
  TOFT_ALWAYS_INLINE void *allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) const {
    void *p = detail::bump(arena_, size, align);
    return TOFT_LIKELY(p != nullptr) ? p : detail::alloc_slow(arena_, size, align);
  }
  [[nodiscard]] void *try_allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) const noexcept {
    return toft_alloc_aligned(arena_, size, align);
  }
  void *allocate_zeroed(std::size_t size, std::size_t align = alignof(std::max_align_t)) const {
    void *p = toft_alloc_zeroed(arena_, size, align);
    if (TOFT_UNLIKELY(p == nullptr)) detail::throw_bad_alloc();
    return p;
  }

  // Gives the newest allocation back, if p is that one; else does nothing. size: as it was asked for. A block of its
  // own, as large allocations have, goes back at once only where size is 512 or more: what was shrunk to less waits for
  // a rewind.
  TOFT_ALWAYS_INLINE void deallocate(void *p, std::size_t size, std::size_t = 0) const noexcept {
    // Small ones hardly ever have a block of their own, which only the slow call could return.
    if (TOFT_UNLIKELY(size >= 512 || (arena_->epoch & 1) != 0))
      toft_free(arena_, p, size);
    else if (static_cast<std::size_t>(arena_->cursor - static_cast<unsigned char *>(p)) == TOFT_ROUND8(size) &&
             p != nullptr)
      arena_->cursor = static_cast<unsigned char *>(p);
  }

  // In place if p is the newest allocation and there is room, or if it shrinks; else a copy of its bytes. nullptr:
  // there is no memory, and nothing has changed.
  [[nodiscard]] void *try_resize(void *p, std::size_t old_size, std::size_t new_size,
                                 std::size_t align = alignof(std::max_align_t)) const noexcept {
    return toft_resize(arena_, p, old_size, new_size, align);
  }

  // n uninitialised T, of a type that needs no constructor.
  template <class T>
  span<T> allocate_array(std::size_t n) const {
    static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>,
                  "toft: allocate_array leaves T uninitialised: use make_array");
    void *p = toft_alloc_array(arena_, n, sizeof(T), alignof(T));
    if (TOFT_UNLIKELY(p == nullptr)) detail::throw_bad_alloc();
    return span<T>(static_cast<T *>(p), n);
  }

  // ---- objects ----

  // A T made of args, with braces if it is an aggregate. What its constructor throws goes through; its bytes are given
  // back then, unless the constructor allocated from this arena itself.
  template <class T, class... Args>
  T *make(Args &&...args) const {
    T *p = construct<T>(allocate(sizeof(T), alignof(T)), std::forward<Args>(args)...);
    if (TOFT_UNLIKELY(!own(p))) detail::throw_bad_alloc();
    return p;
  }
  // nullptr: there is no memory.
  template <class T, class... Args>
  [[nodiscard]] T *try_make(Args &&...args) const noexcept(detail::constructs_nothrow<T, Args...>) {
    void *at = try_allocate(sizeof(T), alignof(T));
    if (TOFT_UNLIKELY(at == nullptr)) return nullptr;
    T *p = construct<T>(at, std::forward<Args>(args)...);
    return TOFT_LIKELY(own(p)) ? p : nullptr;
  }

  // n T, each T(): numbers are zero. Destroyed in reverse. If a constructor throws, those made before are destroyed.
  template <class T>
  span<T> make_array(std::size_t n) const {
    return array<T>(n, [](T *at, std::size_t) { ::new (static_cast<void *>(at)) T(); });
  }
  // n copies of `value`.
  template <class T>
  span<T> make_array(std::size_t n, const T &value) const {
    return array<T>(n, [&value](T *at, std::size_t) { ::new (static_cast<void *>(at)) T(value); });
  }
  // Copies of n values.
  template <class T>
  span<T> copy(const T *values, std::size_t n) const {
    if constexpr (std::is_trivially_copyable_v<T>) {
      T *p = static_cast<T *>(array_bytes<T>(n));
      if (n != 0) std::memcpy(static_cast<void *>(p), values, n * sizeof(T));
      return span<T>(p, n);
    } else {
      return array<T>(n, [values](T *at, std::size_t i) { ::new (static_cast<void *>(at)) T(values[i]); });
    }
  }

  // ---- text ----

  // A copy, with a NUL behind it that the view does not count.
  std::string_view copy(std::string_view text) const {
    if (TOFT_UNLIKELY(text.size() == SIZE_MAX)) detail::throw_bad_alloc();
    char *p = static_cast<char *>(allocate(text.size() + 1, 1));
    if (!text.empty()) std::memcpy(p, text.data(), text.size());
    p[text.size()] = 0;
    return std::string_view(p, text.size());
  }
  // printf into the arena. Throws std::bad_alloc also where the format fails.
  TOFT_FORMAT(2, 3) char *format(const char *format, ...) const {
    va_list args;
    va_start(args, format);
    char *p = toft_vprintf(arena_, format, args);
    va_end(args);
    if (TOFT_UNLIKELY(p == nullptr)) detail::throw_bad_alloc();
    return p;
  }

  // ---- going back ----

  mark mark_here() const noexcept { return toft_mark_here(arena_); }
  // Gives back what was allocated since, and runs the destructors and cleanups since, newest first. TOFT_OK; TOFT_EMARK
  // for a mark of another arena or from before a reset, TOFT_EBUSY while a range is claimed or a cleanup runs: nothing
  // was done.
  int rewind(mark m) const noexcept { return toft_rewind(arena_, m); }
  // Gives everything back and keeps memory for the next round: as much as recent rounds needed; or all; or about
  // `bytes`. TOFT_OK, TOFT_EBUSY.
  int reset() const noexcept { return toft_reset(arena_); }
  int reset_keep_all() const noexcept { return toft_reset_keep(arena_, TOFT_KEEP_ALL, 0); }
  int reset_keep(std::size_t bytes) const noexcept { return toft_reset_keep(arena_, TOFT_KEEP_BYTES, bytes); }
  // Returns memory that holds no allocation to the source, until about `keep` bytes of it are left.
  void trim(std::size_t keep = 0) const noexcept { toft_trim(arena_, keep); }

  // Runs fn() when this point is rewound, reset or destroyed. It must not throw. A callable of more than a pointer's
  // size, or with a destructor, is kept in the arena.
  template <class F>
  void defer(F fn) const {
    static_assert(std::is_invocable_v<F &>, "toft: defer takes a callable without arguments");
    struct deferred {
      F fn;
      ~deferred() { fn(); }
      explicit deferred(F &&f) : fn(std::move(f)) {}
    };
    void *at = allocate(sizeof(deferred), alignof(deferred));
    toft_cleanup *node = toft_cleanup_add(arena_, nullptr, at);  // first: once fn is in its place it must run
    if (TOFT_UNLIKELY(node == nullptr)) detail::throw_bad_alloc();
    ::new (at) deferred(std::move(fn));
    node->fn = destroy<deferred>;
  }

  // ---- limits, checks, numbers ----

  // At most so many bytes live; UINT64_MAX: no limit. Free until it is reached.
  int set_budget(std::uint64_t bytes) const noexcept { return toft_set_budget(arena_, bytes); }
  // Red zones, poison, stale marks, from now on: slow, and exact. TOFT_CHECKED=1 in the environment: in all arenas.
  int set_checked(bool on) const noexcept { return toft_set_checked(arena_, on); }
  toft_stats stats() const noexcept { return toft_get_stats(arena_); }
  bool contains(const void *p) const noexcept { return toft_contains(arena_, p) == 1; }

  friend bool operator==(const arena_ref &a, const arena_ref &b) noexcept { return a.arena_ == b.arena_; }
  friend bool operator!=(const arena_ref &a, const arena_ref &b) noexcept { return a.arena_ != b.arena_; }

 protected:
  toft_arena *arena_;

 private:
  template <class T>
  static void destroy(void *p) {
    static_cast<T *>(p)->~T();
  }

  template <class T>
  struct elements {
    T *first;
    std::size_t constructed;
    static void destroy(void *p) {
      elements *e = static_cast<elements *>(p);
      while (e->constructed > 0) e->first[--e->constructed].~T();
    }
  };

  // Gives bytes back, if they are the newest, unless told that all went well.
  struct bytes_of {
    const arena_ref &a;
    void *p;
    std::size_t size;
    ~bytes_of() {
      if (p != nullptr) a.deallocate(p, size);
    }
  };

  template <class T, class... Args>
  T *construct(void *at, Args &&...args) const {
    if constexpr (detail::constructs_nothrow<T, Args...>) {
      return detail::construct<T>(at, std::forward<Args>(args)...);
    } else {
      bytes_of bytes{*this, at, sizeof(T)};
      T *p = detail::construct<T>(at, std::forward<Args>(args)...);
      bytes.p = nullptr;
      return p;
    }
  }

  // From now on p's destructor runs. false: there is no memory, and p is destroyed.
  template <class T>
  bool own(T *p) const {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      if (TOFT_UNLIKELY(toft_cleanup_add(arena_, destroy<T>, p) == nullptr)) {
        p->~T();
        deallocate(p, sizeof(T));
        return false;
      }
    }
    return true;
  }

  template <class T>
  void *array_bytes(std::size_t n) const {
    if (TOFT_UNLIKELY(n > PTRDIFF_MAX / sizeof(T))) detail::throw_bad_alloc();
    return allocate(n * sizeof(T), alignof(T));
  }

  template <class T, class Make>
  span<T> array(std::size_t n, Make make) const {
    if constexpr (std::is_trivially_destructible_v<T>) {
      bytes_of bytes{*this, array_bytes<T>(n), n * sizeof(T)};
      T *p = static_cast<T *>(bytes.p);
      for (std::size_t i = 0; i < n; i++) make(p + i, i);
      bytes.p = nullptr;
      return span<T>(p, n);
    } else {
      struct unfinished {  // those made so far are destroyed, unless told that all are
        elements<T> *e;
        ~unfinished() {
          if (e != nullptr) elements<T>::destroy(e);
        }
      };
      bytes_of record{*this, allocate(sizeof(elements<T>), alignof(elements<T>)), sizeof(elements<T>)};
      bytes_of bytes{*this, array_bytes<T>(n), n * sizeof(T)};
      auto *e = ::new (record.p) elements<T>{static_cast<T *>(bytes.p), 0};
      unfinished guard{e};
      for (; e->constructed < n; e->constructed++) make(e->first + e->constructed, e->constructed);
      if (TOFT_UNLIKELY(toft_cleanup_add(arena_, elements<T>::destroy, e) == nullptr)) detail::throw_bad_alloc();
      guard.e = nullptr;
      bytes.p = record.p = nullptr;
      return span<T>(e->first, n);
    }
  }
};

// Owns an arena: releases it at the end.
class arena : public arena_ref {
 public:
  // On the heap, from the thread's cache when that has one: the fast way.
  arena() : arena_ref(toft_create()) { check(); }
  explicit arena(const arena_options &options) : arena_ref(toft_create_with(&options)) { check(); }
  // In a buffer that outlives it, see TOFT_BUFFER; when that is full, blocks come from `overflow`. nullptr: the arena
  // is full then.
  arena(void *buffer, std::size_t size, toft_source *overflow = nullptr)
      : arena_ref(toft_create_in(buffer, size, overflow)) {
    check();
  }
  // Takes over an arena of the C interface, of any maker.
  static arena own(toft_arena *a) noexcept { return arena(adopted{a}); }

  // What was moved from can be assigned to and destroyed.
  arena(arena &&other) noexcept : arena_ref(std::exchange(other.arena_, nullptr)) {}
  arena &operator=(arena &&other) noexcept {
    if (this != &other) {
      toft_release(arena_);
      arena_ = std::exchange(other.arena_, nullptr);
    }
    return *this;
  }
  arena(const arena &) = delete;
  arena &operator=(const arena &) = delete;
  ~arena() { toft_release(arena_); }

  // Lets go of it: whoever has the pointer releases it.
  [[nodiscard]] toft_arena *release() noexcept { return std::exchange(arena_, nullptr); }

  // Everything in `donor` now lives as long as what is allocated here at this point. In constant time. TOFT_OK;
  // TOFT_ENOMEM if the budget has no room for it, TOFT_EBUSY, TOFT_EARG: donor is as it was.
  int adopt(arena &&donor) noexcept {
    int code = toft_adopt(arena_, donor.arena_);
    if (code == TOFT_OK) donor.arena_ = nullptr;
    return code;
  }

 private:
  struct adopted {
    toft_arena *a;
  };
  explicit arena(adopted from) noexcept : arena_ref(from.a) {}
  void check() const {
    if (TOFT_UNLIKELY(arena_ == nullptr)) detail::throw_bad_alloc();
  }
};

// What is allocated while it lives is given back at its end, unless a range is claimed then. It must not outlive the
// arena.
class scope {
 public:
  explicit scope(arena_ref a) noexcept : arena_(a), mark_(a.mark_here()) {}
  scope(const scope &) = delete;
  scope &operator=(const scope &) = delete;
  ~scope() { (void)arena_.rewind(mark_); }

 private:
  arena_ref arena_;
  mark mark_;
};

// The register cursor: while it lives, cursor and limit of the arena are in this object, which a compiler keeps in
// registers if its address does not escape. Whoever else allocates from the arena is served elsewhere; rewind and reset
// are refused, a scope that ends gives nothing back, and defer, and make of what has a destructor, throw
// std::bad_alloc, having destroyed it again. For loops that
// allocate several small objects a turn.
class claim {
 public:
  // std::logic_error: a range of the arena is claimed already, or a cleanup runs.
  explicit claim(arena_ref a) : arena_(a.get()) {
    if (TOFT_UNLIKELY(toft_claim(arena_, &range_) != TOFT_OK))
      detail::throw_logic_error("toft: a range of the arena is claimed already");
  }
  claim(const claim &) = delete;
  claim &operator=(const claim &) = delete;
  ~claim() { (void)toft_unclaim(arena_, &range_); }

  // Aligned to 8.
  TOFT_ALWAYS_INLINE void *allocate(std::size_t size) {
    void *p = toft_range_alloc(arena_, &range_, size);
    if (TOFT_UNLIKELY(p == nullptr)) detail::throw_bad_alloc();
    return p;
  }
  [[nodiscard]] void *try_allocate(std::size_t size) noexcept { return toft_range_alloc(arena_, &range_, size); }

  template <class T, class... Args>
  T *make(Args &&...args) {
    static_assert(alignof(T) <= 8, "toft: a claim aligns to 8");
    static_assert(std::is_trivially_destructible_v<T>, "toft: a claim runs no destructors: use arena::make");
    return detail::construct<T>(allocate(sizeof(T)), std::forward<Args>(args)...);
  }

  // Byte by byte, aligned to 1, for text. Before allocate or make is used again: align().
  char *bytes(std::size_t size) {
    void *p = toft_range_bytes(arena_, &range_, size);
    if (TOFT_UNLIKELY(p == nullptr)) detail::throw_bad_alloc();
    return static_cast<char *>(p);
  }
  void align() noexcept { toft_range_align(&range_); }

 private:
  toft_arena *arena_;
  toft_range range_;
};

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif
