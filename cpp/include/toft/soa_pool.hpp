/* toft::soa_pool<Ts...>: rows whose fields are stored in contiguous columns, identified by handles that detect stale
 * use.
 *
 *     toft::soa_pool<vec3, vec3, std::string> bodies;               position, speed, name
 *     auto h = bodies.emplace(vec3{1, 2, 3}, vec3{}, "moon");
 *     toft::span<vec3> position = bodies.column<0>(), speed = bodies.column<1>();
 *     for (std::size_t i = 0; i < bodies.size(); i++) position[i] += speed[i];
 *     if (std::string *name = bodies.get<2>(h)) ...                 nullptr after the row was erased
 *     bodies.erase(h);                                              false if h is stale
 *
 * COLUMNS. A column contains exactly the live rows, 0 to size() - 1, and is aligned to 64 bytes, so loops over it
 * vectorise without tests. The order of rows is not stable: erase moves the last row into the gap. Handles stay valid;
 * row_of returns the present row of a handle.
 *
 * INVALIDATION. Spans, pointers and row numbers: erase invalidates those of its own row and of the last one, emplace
 * those of all rows if the columns had to grow (see capacity; reserve prevents it), clear, reserve and trim those of
 * all. Handles: only by erase of their own row, and clear. Moving and swapping pools invalidates nothing.
 *
 * COST. emplace takes constant time, except when it moves all rows into columns twice as long; erase, get and row_of
 * take constant time; get reads a row number first. trim, reserve and growth move every row. A row takes the sizes of
 * its fields, 12 bytes and one bit.
 *
 * FAILURE. emplace throws std::bad_alloc if the pool is full or there is no memory, try_emplace returns a null handle;
 * exceptions of a constructor propagate, and the fields already constructed are destroyed. Nothing changes then.
 *
 * TYPES need a move constructor that does not throw, since rows are moved; trivially copyable ones are moved as bytes.
 * Their constructors, moves and destructors must not use the pool that they are in.
 *
 * Handles and options are as in toft/pool.hpp, with rows for slots. A growing pool may have a source, which its columns
 * use. A pool in a buffer is not supported. One thread at a time; several may read while none changes the pool, and
 * write different values while none creates or erases rows.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_SOA_POOL_HPP
#define TOFT_SOA_POOL_HPP

#include <cstring>
#include <tuple>

#include "pool.hpp"
#include "span.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {

template <class... Ts>
class soa_pool {
  static_assert(sizeof...(Ts) > 0, "a soa_pool has a column at least");
  static_assert((std::is_nothrow_move_constructible_v<Ts> && ...), "rows are moved: moves must not throw");
  static_assert((std::is_nothrow_destructible_v<Ts> && ...), "destructors must not throw");
  static_assert(((alignof(Ts) <= TOFT_POOL_ALIGN_MAX) && ...), "over-aligned beyond a page");

 public:
  using handle_type = handle<soa_pool>;
  using size_type = std::size_t;
  template <std::size_t I>
  using column_type = std::tuple_element_t<I, std::tuple<Ts...>>;
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  /* Allocates nothing. */
  soa_pool() noexcept : index_(toft_pool_closed()) {}
  /* Throws std::invalid_argument if the options contradict each other, std::bad_alloc if there is no memory. */
  explicit soa_pool(const pool_options &options) : index_(toft_pool_closed()), source_(options.source) {
    pool_options o = options;
    if (!o.fixed) o.source = nullptr; /* the source is for the columns only */
    int code = o.buffer != nullptr ? TOFT_EARG : detail::open_pool(&index_, o, sizeof(row_number), alignof(row_number));
    if (code == TOFT_OK && o.slots != 0 && !resize(o.slots)) {
      toft_pool_release(&index_);
      code = TOFT_ENOMEM;
    }
    if (code == TOFT_EARG) detail::throw_options();
    if (code != TOFT_OK) detail::throw_bad_alloc();
  }
  /* `other` is then as default-constructed. */
  soa_pool(soa_pool &&other) noexcept
      : index_(std::exchange(other.index_, toft_pool_closed())),
        source_(std::exchange(other.source_, nullptr)),
        rows_(std::exchange(other.rows_, {})) {}
  soa_pool &operator=(soa_pool &&other) noexcept {
    soa_pool(std::move(other)).swap(*this);
    return *this;
  }
  ~soa_pool() {
    destroy_all();
    put(rows_);
    toft_pool_release(&index_);
  }
  void swap(soa_pool &other) noexcept {
    std::swap(index_, other.index_);
    std::swap(source_, other.source_);
    std::swap(rows_, other.rows_);
  }
  friend void swap(soa_pool &a, soa_pool &b) noexcept { a.swap(b); }

  /* Appends a row, each field constructed from one argument; without arguments, each is T(). Arguments may refer to
   * values of this pool. */
  template <class... Us>
  handle_type emplace(Us &&...us) {
    handle_type h = try_emplace(std::forward<Us>(us)...);
    if (TOFT_UNLIKELY(!h)) detail::throw_bad_alloc();
    return h;
  }
  /* Returns a null handle if the pool is full or there is no memory. */
  template <class... Us>
  handle_type try_emplace(Us &&...us) noexcept(makes_nothrow<Us...>()) {
    static_assert(sizeof...(Us) == sizeof...(Ts) || sizeof...(Us) == 0, "one argument for each column, or none");
    std::uint32_t index = toft_pool_take_slot(&index_);
    if (TOFT_UNLIKELY(index == 0)) {
      if (!open(0) || (index = toft_pool_take_slot(&index_)) == 0) return {};
    }
    detail::taken_slot taken(&index_, index);
    std::size_t row = size();
    if (TOFT_LIKELY(row < rows_.capacity)) {
      make(rows_, row, columns, std::forward<Us>(us)...);
    } else { /* the new row first, since its arguments may refer to the old columns */
      block_owner more(*this, take(grown()));
      if (more.rows.capacity == 0) return {};
      make(more.rows, row, columns, std::forward<Us>(us)...);
      move_all(rows_, more.rows, row, columns);
      std::swap(rows_, more.rows);
    }
    handle_type h(taken.activate());
    rows_.handles[row] = h;
    *row_at(index) = static_cast<row_number>(row);
    return h;
  }

  /* Destroys a row and moves the last one into its position; returns false, and does nothing, if h is stale. */
  bool erase(handle_type h) noexcept {
    std::uint32_t index = toft_pool_deactivate(&index_, h.bits());
    if (index == 0) return false;
    std::size_t row = *row_at(index), last = size();
    if (row != last) {
      fill(row, last, columns);
      handle_type moved = rows_.handles[last];
      rows_.handles[row] = moved;
      *row_at(moved.bits() & index_.mask) = static_cast<row_number>(row);
    }
    destroy(rows_, last, last + 1, columns);
    toft_pool_return_slot(&index_, index);
    return true;
  }

  /* The I-th column, of the live rows. */
  template <std::size_t I>
  span<column_type<I>> column() noexcept TOFT_LIFETIMEBOUND {
    return {std::get<I>(rows_.at), size()};
  }
  template <std::size_t I>
  span<const column_type<I>> column() const noexcept TOFT_LIFETIMEBOUND {
    return {std::get<I>(rows_.at), size()};
  }
  /* The rows' handles, in the order of the columns. */
  span<const handle_type> handles() const noexcept TOFT_LIFETIMEBOUND { return {rows_.handles, size()}; }

  /* A field of a row; nullptr if h is stale. */
  template <std::size_t I>
  column_type<I> *get(handle_type h) noexcept TOFT_LIFETIMEBOUND {
    std::size_t row = row_of(h);
    return TOFT_LIKELY(row != npos) ? std::get<I>(rows_.at) + row : nullptr;
  }
  template <std::size_t I>
  const column_type<I> *get(handle_type h) const noexcept TOFT_LIFETIMEBOUND {
    std::size_t row = row_of(h);
    return TOFT_LIKELY(row != npos) ? std::get<I>(rows_.at) + row : nullptr;
  }
  /* The same, with std::out_of_range if h is stale. */
  template <std::size_t I>
  column_type<I> &at(handle_type h) TOFT_LIFETIMEBOUND {
    return std::get<I>(rows_.at)[checked(h)];
  }
  template <std::size_t I>
  const column_type<I> &at(handle_type h) const TOFT_LIFETIMEBOUND {
    return std::get<I>(rows_.at)[checked(h)];
  }
  bool contains(handle_type h) const noexcept { return toft_pool_contains(&index_, h.bits()) != 0; }
  /* Returns the row of a handle; npos if h is stale. */
  std::size_t row_of(handle_type h) const noexcept {
    return TOFT_LIKELY(contains(h)) ? *row_at(h.bits() & index_.key_mask) : npos;
  }
  /* Returns the handle of a row; null if row >= size(). */
  handle_type handle_at(std::size_t row) const noexcept { return row < size() ? rows_.handles[row] : handle_type(); }

  std::size_t size() const noexcept { return toft_pool_count(&index_); }
  bool empty() const noexcept { return size() == 0; }
  /* Rows for which the columns have memory. */
  std::size_t capacity() const noexcept { return rows_.capacity; }
  std::size_t retired() const noexcept { return index_.retired; }

  /* Allocates memory for so many rows in total, so columns do not move until there are more. Throws std::length_error
   * above max_slots, std::bad_alloc; nothing changes then. */
  void reserve(std::size_t rows) {
    if (rows == 0) return;
    if (!open(rows)) {
      int code = index_.block_size == 0 ? TOFT_ENOMEM : toft_pool_reserve(&index_, rows);
      if (code == TOFT_EARG || rows > TOFT_POOL_SLOTS_MAX) detail::throw_length_error("toft: more than max_slots");
      if (code != TOFT_OK) detail::throw_bad_alloc();
    }
    if (rows > rows_.capacity && !resize(rows)) detail::throw_bad_alloc();
  }
  /* Destroys all rows and keeps the memory. */
  void clear() noexcept {
    destroy_all();
    toft_pool_clear(&index_);
  }
  /* Frees unused memory, if there is memory for the copy of the rows, and the pool is not fixed. */
  void trim() noexcept {
    if ((index_.flags & TOFT_POOL_FIXED) != 0) return;
    toft_pool_trim(&index_);
    if (empty())
      put(rows_);
    else if (size() < rows_.capacity)
      resize(size());
  }

 private:
  using row_number = std::uint32_t;
  static constexpr std::index_sequence_for<Ts...> columns{};
  static constexpr std::size_t line = 64;
  static constexpr std::size_t widest = [] {
    std::size_t most = line;
    ((most = alignof(Ts) > most ? alignof(Ts) : most), ...);
    return most;
  }();
  static constexpr std::size_t row_bytes = (sizeof(handle_type) + ... + sizeof(Ts));

  /* A block of the source: the handles, then the columns. */
  struct block {
    void *base = nullptr;
    std::size_t bytes = 0, capacity = 0;
    handle_type *handles = nullptr;
    std::tuple<Ts *...> at{};
  };
  struct block_owner {
    soa_pool &pool;
    block rows;
    block_owner(soa_pool &p, const block &b) noexcept : pool(p), rows(b) {}
    block_owner(const block_owner &) = delete;
    block_owner &operator=(const block_owner &) = delete;
    ~block_owner() { pool.put(rows); }
  };

  template <class... Us>
  static constexpr bool makes_nothrow() {
    if constexpr (sizeof...(Us) == 0)
      return (detail::constructs_nothrow<Ts> && ...);
    else
      return (detail::constructs_nothrow<Ts, Us> && ...);
  }

  /* The row number, which the index stores in the handle's slot. */
  row_number *row_at(std::uint32_t index) const noexcept {
    return reinterpret_cast<row_number *>(index_.slots) + (std::size_t{index} - 1);
  }
  std::size_t checked(handle_type h) const {
    if (TOFT_UNLIKELY(!contains(h))) detail::throw_stale();
    return *row_at(h.bits() & index_.key_mask);
  }
  TOFT_COLD bool open(std::size_t rows) noexcept {
    pool_options o;
    o.slots = rows;
    return index_.block_size == 0 && detail::open_pool(&index_, o, sizeof(row_number), alignof(row_number)) == TOFT_OK;
  }

  /* ---- blocks ---- */

  std::size_t grown() const noexcept {
    std::size_t few = 4096 / row_bytes > 16 ? 4096 / row_bytes : 16, most = index_.max;
    std::size_t rows = rows_.capacity < few / 2 ? few : 2 * rows_.capacity;
    return rows < most ? rows : most;
  }
  /* Each column begins one cache line later than needed, so that a row's fields do not collide in one cache set. */
  static std::size_t after(std::size_t offset, std::size_t rows, std::size_t size, std::size_t align) noexcept {
    std::size_t from = (offset + align - 1) & ~(align - 1);
    return from + rows * size + line;
  }
  /* Takes a block; its base is nullptr if there is no memory. */
  TOFT_COLD block take(std::size_t rows) noexcept {
    block b;
    if (rows > (PTRDIFF_MAX / 2 - 4096 - 3 * widest * (sizeof...(Ts) + 2)) / row_bytes) return b;
    std::size_t end = after(0, rows, sizeof(handle_type), line);
    ((end = after(end, rows, sizeof(Ts), alignof(Ts) > line ? alignof(Ts) : line)), ...);
    std::size_t bytes = (end + (widest - line) + 4095) & ~std::size_t{4095};
    toft_source *from = source();
    b.base = from->take(from, bytes);
    if (b.base == nullptr) return b;
    b.bytes = bytes;
    b.capacity = rows;
    auto start = (reinterpret_cast<std::uintptr_t>(b.base) + widest - 1) & ~std::uintptr_t{widest - 1};
    auto *first = static_cast<unsigned char *>(b.base) + (start - reinterpret_cast<std::uintptr_t>(b.base));
    b.handles = reinterpret_cast<handle_type *>(first);
    place(b, first, columns);
    return b;
  }
  template <std::size_t... I>
  static void place(block &b, unsigned char *first, std::index_sequence<I...>) noexcept {
    std::size_t end = after(0, b.capacity, sizeof(handle_type), line);
    auto one = [&](auto *&column, std::size_t size, std::size_t align) {
      column = reinterpret_cast<std::remove_reference_t<decltype(column)>>(first + ((end + align - 1) & ~(align - 1)));
      end = after(end, b.capacity, size, align);
    };
    (one(std::get<I>(b.at), sizeof(Ts), alignof(Ts) > line ? alignof(Ts) : line), ...);
  }
  void put(block &b) noexcept {
    if (b.base != nullptr) source()->put(source(), b.base, b.bytes);
    b = block();
  }
  toft_source *source() const noexcept { return source_ != nullptr ? source_ : toft_heap(); }
  /* Moves all rows to columns of that length; false: no memory, nothing changed. */
  bool resize(std::size_t rows) noexcept {
    block_owner other(*this, take(rows));
    if (other.rows.base == nullptr) return false;
    move_all(rows_, other.rows, size(), columns);
    std::swap(rows_, other.rows);
    return true;
  }

  /* ---- rows ---- */

  /* Constructs the fields of one row; if one throws, the others are destroyed. */
  template <std::size_t... I, class... Us>
  static void make(block &b, std::size_t row, std::index_sequence<I...>, Us &&...us) noexcept(makes_nothrow<Us...>()) {
    struct undo {
      block &rows;
      std::size_t row, made;
      ~undo() { ((I < made ? std::destroy_at(std::get<I>(rows.at) + row) : void()), ...); }
    } undo{b, row, 0};
    if constexpr (sizeof...(Us) == 0)
      ((detail::construct<Ts>(std::get<I>(b.at) + row), ++undo.made), ...);
    else
      ((detail::construct<Ts>(std::get<I>(b.at) + row, std::forward<Us>(us)), ++undo.made), ...);
    undo.made = 0;
  }

  template <class T>
  static void move(T *to, T *from, std::size_t count) noexcept {
    if constexpr (std::is_trivially_copyable_v<T>) {
      if (count != 0) std::memcpy(static_cast<void *>(to), static_cast<const void *>(from), count * sizeof(T));
    } else {
      for (std::size_t i = 0; i < count; i++) {
        ::new (static_cast<void *>(to + i)) T(std::move(from[i]));
        std::destroy_at(from + i);
      }
    }
  }
  template <std::size_t... I>
  static void move_all(block &from, block &to, std::size_t rows, std::index_sequence<I...>) noexcept {
    move(to.handles, from.handles, rows);
    (move(std::get<I>(to.at), std::get<I>(from.at), rows), ...);
  }

  /* Replaces a row's fields by those of the last row, which the caller destroys. */
  template <std::size_t... I>
  void fill(std::size_t row, std::size_t last, std::index_sequence<I...>) noexcept {
    auto one = [=](auto *column) {
      using T = std::remove_pointer_t<decltype(column)>;
      if constexpr (std::is_trivially_copyable_v<T>) {
        std::memcpy(static_cast<void *>(column + row), static_cast<const void *>(column + last), sizeof(T));
      } else {
        std::destroy_at(column + row);
        ::new (static_cast<void *>(column + row)) T(std::move(column[last]));
      }
    };
    (one(std::get<I>(rows_.at)), ...);
  }
  template <std::size_t... I>
  static void destroy(block &b, std::size_t from, std::size_t to, std::index_sequence<I...>) noexcept {
    (std::destroy(std::get<I>(b.at) + from, std::get<I>(b.at) + to), ...);
  }
  void destroy_all() noexcept {
    if (!empty()) destroy(rows_, 0, size(), columns);
  }

  toft_pool index_; /* maps slots to row numbers */
  toft_source *source_ = nullptr;
  block rows_;
};

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif
