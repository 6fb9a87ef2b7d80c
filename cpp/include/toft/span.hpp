/* A view of contiguous values: std::span where available, else a subset of it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_SPAN_HPP
#define TOFT_SPAN_HPP

#include <cstddef>
#include <iterator>
#include <type_traits>

#if defined(__has_include) && __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_span)
#include <span>
#endif

#include "config.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {

#if defined(__cpp_lib_span)

template <class T>
using span = std::span<T>;

#else

template <class T>
class span {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using pointer = T *;
  using reference = T &;
  using iterator = T *;
  using reverse_iterator = std::reverse_iterator<iterator>;

  constexpr span() noexcept = default;
  constexpr span(T *first, std::size_t count) noexcept : data_(first), size_(count) {}
  template <std::size_t N>
  constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
  /* From ranges with data() and size(), such as containers, and from a span of T to a span of const T. */
  template <
      class Range,
      class = std::enable_if_t<
          std::is_convertible_v<std::remove_pointer_t<decltype(std::data(std::declval<Range &>()))> (*)[], T (*)[]> &&
          !std::is_array_v<std::remove_reference_t<Range>>>>
  constexpr span(Range &&range) noexcept : data_(std::data(range)), size_(std::size(range)) {}

  constexpr T *data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }
  constexpr T &front() const noexcept { return data_[0]; }
  constexpr T &back() const noexcept { return data_[size_ - 1]; }
  constexpr T *begin() const noexcept { return data_; }
  constexpr T *end() const noexcept { return data_ + size_; }
  constexpr reverse_iterator rbegin() const noexcept { return reverse_iterator(end()); }
  constexpr reverse_iterator rend() const noexcept { return reverse_iterator(begin()); }
  constexpr span first(std::size_t count) const noexcept { return span(data_, count); }
  constexpr span last(std::size_t count) const noexcept { return span(data_ + (size_ - count), count); }
  constexpr span subspan(std::size_t offset) const noexcept { return span(data_ + offset, size_ - offset); }
  constexpr span subspan(std::size_t offset, std::size_t count) const noexcept { return span(data_ + offset, count); }

 private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

#endif

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif
