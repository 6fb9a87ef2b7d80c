// Constructs a T from arguments: with parentheses, or with braces if T is an aggregate.
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_CONSTRUCT_HPP
#define TOFT_CONSTRUCT_HPP

#include <new>
#include <type_traits>
#include <utility>

#include "config.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {
namespace detail {

template <class T, class... Args>
inline constexpr bool constructs_nothrow = [] {
  if constexpr (std::is_constructible_v<T, Args...>)
    return std::is_nothrow_constructible_v<T, Args...>;
  else
    return noexcept(T{std::declval<Args>()...});
}();

template <class T, class... Args>
T make(Args &&...args) noexcept(constructs_nothrow<T, Args...>) {
  if constexpr (std::is_constructible_v<T, Args...>)
    return T(std::forward<Args>(args)...);
  else
    return T{std::forward<Args>(args)...};
}

template <class T, class... Args>
T *construct(void *at, Args &&...args) noexcept(constructs_nothrow<T, Args...>) {
  if constexpr (std::is_constructible_v<T, Args...>)
    return ::new (at) T(std::forward<Args>(args)...);
  else
    return ::new (at) T{std::forward<Args>(args)...};
}

}  // namespace detail
}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif
