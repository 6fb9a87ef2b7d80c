// toft::arena: allocation by moving a pointer, with destructors, scopes and resets.
//
//     toft::arena a;
//     node *n = a.make<node>("name");               its destructor runs at a rewind, reset or release
//     toft::span<int> table = a.make_array<int>(100);
//     {
//       toft::scope s(a);                           frees later allocations at the end of this block
//       std::string_view line = s.copy(text);       or a.copy(text); of s, clang reports a use after the block
//     }
//     a.reset();                                    frees everything, keeps memory for the next round
//
// TYPES. toft::arena owns an arena and can be moved. toft::arena_ref is a view of an arena that C++ or any other
// language created, copied like a pointer; it has all the functions, and arena and scope derive from it. toft::claim
// holds the cursor in registers, for hot loops.
//
// LIFETIME. Memory is valid until the arena is reset, destroyed, or rewound to an earlier point. Objects of make and
// make_array with non-trivial destructors are then destroyed, each once, in reverse order of construction. Other
// objects have no overhead.
//
// FAILURE. std::bad_alloc if the source or a budget is exhausted or a size overflows; nothing changes then.
// try_allocate, try_resize and try_make return nullptr instead. Alignments are powers of two of any size.
//
// COST. An allocation is a compare and an addition, inline, in constant time except for zeroing and constructors.
// rewind, reset and destruction are linear in destructors to run and blocks to return.
//
// THREADS. An arena is used by one thread at a time, and may move between threads.
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

// The fast path; nullptr if the slow path is needed. Unlike toft_alloc_aligned it contains no call, so a caller whose
// only call is a tail call needs no stack frame.
TOFT_ALWAYS_INLINE inline void *bump(toft_arena *a, std::size_t size, std::size_t align) noexcept {
  unsigned char *p = a->cursor;
  std::size_t remaining = static_cast<std::size_t>(a->limit - p);
  if (TOFT_UNLIKELY(align > 8)) {
    std::size_t pad = (0 - reinterpret_cast<std::uintptr_t>(p)) & (align - 1);
    if ((align & (align - 1)) != 0 || remaining < pad || remaining - pad < size) return nullptr;
    p += pad;
  } else if (TOFT_UNLIKELY(remaining < size)) {
    return nullptr;
  }
  a->cursor = p + TOFT_ROUND8(size);
  TOFT_ASSUME(p != nullptr);
  return p;
}

// The slow path, out of line, with the throw.
TOFT_COLD inline void *alloc_slow(toft_arena *a, std::size_t size, std::size_t align) {
  void *p = a->ops->alloc(a, size, align, 0, TOFT_CALLER());
  if (TOFT_UNLIKELY(p == nullptr)) throw_bad_alloc();
  return p;
}

}  // namespace detail

// A point to rewind to: two words.
using mark = toft_mark;

// Options of an arena, documented in toft.h. For example:
//     toft::arena_options o;
//     o.budget = 1 << 20;
//     toft::arena a(o);
struct arena_options : toft_options {
  arena_options() noexcept : toft_options(TOFT_OPTIONS) {}
};

class arena;
class lease;

class TOFT_VIEW arena_ref {
 public:
  arena_ref(toft_arena *a) noexcept : arena_(a) {}
  // A view of an owner must not be used after its end.
  arena_ref(const arena &a TOFT_LIFETIMEBOUND) noexcept;
  arena_ref(const lease &a TOFT_LIFETIMEBOUND) noexcept;

  // The arena of the C API, for calls of any language.
  toft_arena *get() const noexcept { return arena_; }

  // ---- bytes ----

  // Returns uninitialised memory. A size of 0 gives a pointer that must not be dereferenced.
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

  // Frees p if it is the newest allocation, otherwise does nothing. `size` is the requested size. A dedicated block,
  // which large allocations have, is returned at once only if size is 512 or more; after a shrink below that it stays
  // until a rewind.
  TOFT_ALWAYS_INLINE void deallocate(void *p, std::size_t size, std::size_t = 0) const noexcept {
    // Small allocations rarely have a dedicated block, which only the slow path returns.
    if (TOFT_UNLIKELY(size >= 512 || (arena_->epoch & 1) != 0))
      toft_free(arena_, p, size);
    else if (static_cast<std::size_t>(arena_->cursor - static_cast<unsigned char *>(p)) == TOFT_ROUND8(size) &&
             p != nullptr)
      arena_->cursor = static_cast<unsigned char *>(p);
  }

  // Resizes in place if p is the newest allocation and the block has enough bytes remaining, or if it shrinks; else
  // copies the bytes. p == nullptr allocates. Returns nullptr, and changes nothing, if there is no memory.
  [[nodiscard]] void *try_resize(void *p, std::size_t old_size, std::size_t new_size,
                                 std::size_t align = alignof(std::max_align_t)) const noexcept {
    return toft_resize(arena_, p, old_size, new_size, align);
  }

  // Returns n uninitialised T, of a type that needs no constructor or destructor.
  template <class T>
  span<T> allocate_array(std::size_t n) const {
    static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>,
                  "toft: allocate_array leaves T uninitialised: use make_array");
    void *p = toft_alloc_array(arena_, n, sizeof(T), alignof(T));
    if (TOFT_UNLIKELY(p == nullptr)) detail::throw_bad_alloc();
    return span<T>(static_cast<T *>(p), n);
  }

  // ---- objects ----

  // Constructs a T from args, with braces if it is an aggregate. If the constructor throws, its bytes are freed, unless
  // it allocated from this arena itself.
  template <class T, class... Args>
  T *make(Args &&...args) const {
    T *p = construct<T>(allocate(sizeof(T), alignof(T)), std::forward<Args>(args)...);
    if (TOFT_UNLIKELY(!own(p))) detail::throw_bad_alloc();
    return p;
  }
  // Returns nullptr if there is no memory.
  template <class T, class... Args>
  [[nodiscard]] T *try_make(Args &&...args) const noexcept(detail::constructs_nothrow<T, Args...>) {
    void *at = try_allocate(sizeof(T), alignof(T));
    if (TOFT_UNLIKELY(at == nullptr)) return nullptr;
    T *p = construct<T>(at, std::forward<Args>(args)...);
    return TOFT_LIKELY(own(p)) ? p : nullptr;
  }

  // Constructs n T, each as T(), so numbers are 0. They are destroyed in reverse order, also if a constructor throws.
  template <class T>
  span<T> make_array(std::size_t n) const {
    return array<T>(n, [](T *at, std::size_t) { ::new (static_cast<void *>(at)) T(); });
  }
  // Constructs n copies of `value`.
  template <class T>
  span<T> make_array(std::size_t n, const T &value) const {
    return array<T>(n, [&value](T *at, std::size_t) { ::new (static_cast<void *>(at)) T(value); });
  }
  // Copies n values.
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

  // Copies text and appends a NUL, which the view excludes.
  std::string_view copy(std::string_view text) const {
    if (TOFT_UNLIKELY(text.size() == SIZE_MAX)) detail::throw_bad_alloc();
    char *p = static_cast<char *>(allocate(text.size() + 1, 1));
    if (!text.empty()) std::memcpy(p, text.data(), text.size());
    p[text.size()] = 0;
    return std::string_view(p, text.size());
  }
  // Formats as printf does, into the arena. Throws std::bad_alloc if there is no memory or the format fails.
  TOFT_FORMAT(2, 3) char *format(const char *format, ...) const {
    va_list args;
    va_start(args, format);
    char *p = format_list(format, args);
    va_end(args);
    return p;
  }

  // ---- marks and resets ----

  mark mark_here() const noexcept { return toft_mark_here(arena_); }
  // Frees the allocations since the mark, and runs the destructors and cleanups since, newest first. Returns
  // TOFT_OK; or, having done nothing, TOFT_EMARK for a mark of another arena or from before a reset, TOFT_EBUSY while a
  // range is claimed or a cleanup runs.
  int rewind(mark m) const noexcept { return toft_rewind(arena_, m); }
  // Frees everything and keeps memory for the next round: as much as recent rounds needed; or all; or about `bytes`.
  // TOFT_OK, TOFT_EBUSY.
  int reset() const noexcept { return toft_reset(arena_); }
  int reset_keep_all() const noexcept { return toft_reset_keep(arena_, TOFT_KEEP_ALL, 0); }
  int reset_keep(std::size_t bytes) const noexcept { return toft_reset_keep(arena_, TOFT_KEEP_BYTES, bytes); }
  // Returns memory without allocations to the source, until about `keep` bytes of it are left.
  void trim(std::size_t keep = 0) const noexcept { toft_trim(arena_, keep); }

  // Makes room, without an allocation: the next allocations that add up to `bytes` at most, rounded up to 8 and with
  // their paddings, take no block; `touch` also makes the system provide its pages. TOFT_OK; or TOFT_ENOMEM,
  // TOFT_EBUSY, TOFT_ENOSYS for an arena of another provider, with nothing changed.
  int reserve(std::size_t bytes, bool touch = false) const noexcept {
    return toft_reserve(arena_, bytes, touch ? std::uint32_t{TOFT_RESERVE_TOUCH} : 0u);
  }

  // Runs fn() when this point is rewound, reset or destroyed. It must not throw. The callable is stored in the arena.
  template <class F>
  void defer(F fn) const {
    static_assert(std::is_invocable_v<F &>, "toft: defer takes a callable without arguments");
    struct deferred {
      F fn;
      ~deferred() { fn(); }
      explicit deferred(F &&f) : fn(std::move(f)) {}
    };
    void *at = allocate(sizeof(deferred), alignof(deferred));
    toft_cleanup *node = toft_cleanup_add(arena_, nullptr, at);  // registered first: once fn is stored it must run
    if (TOFT_UNLIKELY(node == nullptr)) detail::throw_bad_alloc();
    ::new (at) deferred(std::move(fn));
    node->fn = destroy<deferred>;
  }

  // ---- budget, checks, statistics ----

  // Limits the live bytes; UINT64_MAX: no limit. The fast path costs nothing extra.
  int set_budget(std::uint64_t bytes) const noexcept { return toft_set_budget(arena_, bytes); }
  // Switches red zones, poisoning and the detection of stale marks for later allocations. Slow. TOFT_CHECKED=1 in the
  // environment checks all arenas.
  int set_checked(bool on) const noexcept { return toft_set_checked(arena_, on); }
  toft_stats stats() const noexcept { return toft_get_stats(arena_); }
  bool contains(const void *p) const noexcept { return toft_contains(arena_, p) == 1; }

  friend bool operator==(const arena_ref &a, const arena_ref &b) noexcept { return a.arena_ == b.arena_; }
  friend bool operator!=(const arena_ref &a, const arena_ref &b) noexcept { return a.arena_ != b.arena_; }

 protected:
  TOFT_FORMAT(2, 0) char *format_list(const char *format, va_list args) const {
    char *p = toft_vprintf(arena_, format, args);
    if (TOFT_UNLIKELY(p == nullptr)) detail::throw_bad_alloc();
    return p;
  }

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

  // Frees bytes, if they are the newest allocation, unless p is reset.
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

  // Registers p's destructor. false: there is no memory, and p was destroyed.
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
      struct unfinished {  // destroys the elements made so far, unless e is reset
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

// The base of classes whose end frees memory: the functions of arena_ref that return memory, annotated, so that clang
// reports a result that is used after the owner's end. Those of a view are not, since memory outlives the view.
class arena_owner : public arena_ref {
 public:
  TOFT_ALWAYS_INLINE void *allocate(std::size_t size,
                                    std::size_t align = alignof(std::max_align_t)) const TOFT_LIFETIMEBOUND {
    return arena_ref::allocate(size, align);
  }
  [[nodiscard]] void *try_allocate(std::size_t size,
                                   std::size_t align = alignof(std::max_align_t)) const noexcept TOFT_LIFETIMEBOUND {
    return arena_ref::try_allocate(size, align);
  }
  void *allocate_zeroed(std::size_t size, std::size_t align = alignof(std::max_align_t)) const TOFT_LIFETIMEBOUND {
    return arena_ref::allocate_zeroed(size, align);
  }
  [[nodiscard]] void *try_resize(void *p, std::size_t old_size, std::size_t new_size,
                                 std::size_t align = alignof(std::max_align_t)) const noexcept TOFT_LIFETIMEBOUND {
    return arena_ref::try_resize(p, old_size, new_size, align);
  }
  template <class T>
  span<T> allocate_array(std::size_t n) const TOFT_LIFETIMEBOUND {
    return arena_ref::allocate_array<T>(n);
  }
  template <class T, class... Args>
  T *make(Args &&...args) const TOFT_LIFETIMEBOUND {
    return arena_ref::make<T>(std::forward<Args>(args)...);
  }
  template <class T, class... Args>
  [[nodiscard]] T *try_make(Args &&...args) const noexcept(detail::constructs_nothrow<T, Args...>) TOFT_LIFETIMEBOUND {
    return arena_ref::try_make<T>(std::forward<Args>(args)...);
  }
  template <class T>
  span<T> make_array(std::size_t n) const TOFT_LIFETIMEBOUND {
    return arena_ref::make_array<T>(n);
  }
  template <class T>
  span<T> make_array(std::size_t n, const T &value) const TOFT_LIFETIMEBOUND {
    return arena_ref::make_array<T>(n, value);
  }
  template <class T>
  span<T> copy(const T *values, std::size_t n) const TOFT_LIFETIMEBOUND {
    return arena_ref::copy(values, n);
  }
  std::string_view copy(std::string_view text) const TOFT_LIFETIMEBOUND { return arena_ref::copy(text); }
  TOFT_FORMAT(2, 3) char *format(const char *format, ...) const TOFT_LIFETIMEBOUND {
    va_list args;
    va_start(args, format);
    char *p = format_list(format, args);
    va_end(args);
    return p;
  }

 protected:
  explicit arena_owner(arena_ref a) noexcept : arena_ref(a) {}
};

// Owns an arena and releases it.
class arena : public arena_owner {
 public:
  // An arena on the heap; the thread's cache is tried first.
  arena() : arena_owner(toft_create()) { check(); }
  explicit arena(const arena_options &options) : arena_owner(toft_create_with(&options)) { check(); }
  // An arena in a buffer that outlives it, see TOFT_BUFFER; when it is full, blocks come from `overflow`, or
  // allocations fail if that is nullptr.
  arena(void *buffer, std::size_t size, toft_source *overflow = nullptr)
      : arena_owner(toft_create_in(buffer, size, overflow)) {
    check();
  }
  // Takes ownership of an arena of the C API, of any provider.
  static arena own(toft_arena *a) noexcept { return arena(adopted{a}); }

  // A moved-from arena can only be assigned to and destroyed.
  arena(arena &&other) noexcept : arena_owner(std::exchange(other.arena_, nullptr)) {}
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

  toft_arena *get() const noexcept TOFT_LIFETIMEBOUND { return arena_; }
  // Releases ownership: the caller must release the arena.
  [[nodiscard]] toft_arena *release() noexcept { return std::exchange(arena_, nullptr); }

  // Moves the content of `donor` into this arena, in constant time; it then lives as long as allocations made here at
  // this point. TOFT_OK; or, with donor unchanged, TOFT_ENOMEM if the budget does not allow it, TOFT_EBUSY, TOFT_EARG.
  int adopt(arena &&donor) noexcept {
    int code = toft_adopt(arena_, donor.arena_);
    if (code == TOFT_OK) donor.arena_ = nullptr;
    return code;
  }

 private:
  struct adopted {
    toft_arena *a;
  };
  explicit arena(adopted from) noexcept : arena_owner(from.a) {}
  void check() const {
    if (TOFT_UNLIKELY(arena_ == nullptr)) detail::throw_bad_alloc();
  }
};

inline arena_ref::arena_ref(const arena &a) noexcept : arena_(a.get()) {}

// Frees at its end the allocations of its lifetime, by it or by the arena, unless a range is claimed then. It must not
// outlive the arena. A reset by it resets the arena. A scope that begins while a range is claimed and ends after it
// also frees what was allocated from the range before it.
class scope : public arena_owner {
 public:
  explicit scope(arena_ref a) noexcept : arena_owner(a), mark_(a.mark_here()) {}
  scope(const scope &) = delete;
  scope &operator=(const scope &) = delete;
  ~scope() { (void)rewind(mark_); }

 private:
  mark mark_;
};

// A claimed range: its cursor and limit are in this object, which a compiler keeps in registers if its address does not
// escape, for loops that allocate several small objects in each iteration. While it lives, other allocations from the
// arena use other blocks; rewind and reset fail, a scope that ends frees nothing, and defer, and make of a type with a
// destructor, throw std::bad_alloc after destroying the object.
class claim {
 public:
  // Throws std::logic_error if a range of the arena is claimed already, or a cleanup runs.
  explicit claim(arena_ref a) : arena_(a.get()) {
    if (TOFT_UNLIKELY(toft_claim(arena_, &range_) != TOFT_OK))
      detail::throw_logic_error("toft: a range of the arena is claimed already");
  }
  claim(const claim &) = delete;
  claim &operator=(const claim &) = delete;
  ~claim() { (void)toft_unclaim(arena_, &range_); }

  // The result is aligned to 8.
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

  // Allocates text, aligned to 1. Before the next allocate or make: align().
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
