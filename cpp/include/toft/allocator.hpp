// toft::allocator<T, Resource>: an allocator for the standard's containers with a resource of static type, so calls are
// inlined instead of virtual. Works in libraries without std::pmr, too.
//
//     toft::recycler nodes;
//     std::map<int, int, std::less<>, toft::allocator<std::pair<const int, int>>> m(&nodes);
//
//     toft::arena a;
//     std::vector<int, toft::allocator<int, toft::arena>> v(&a);
//
// Resource is recycler (the default), synchronized_recycler, arena, arena_ref, recycling_resource,
// synchronized_recycling_resource, arena_resource, or any type with allocate(size, align) and deallocate(p, size,
// align). It must outlive the containers. Moving and swapping a container propagates the allocator, copy assignment
// does not.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_ALLOCATOR_HPP
#define TOFT_ALLOCATOR_HPP

#include <cstddef>
#include <new>
#include <type_traits>

#include "config.hpp"
#include "recycler.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {

template <class T, class Resource = recycler>
class allocator {
 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::false_type;

  allocator(Resource *resource) noexcept : resource_(resource) {}
  template <class U>
  allocator(const allocator<U, Resource> &other) noexcept : resource_(other.resource()) {}

  // Throws what the resource throws, and std::bad_alloc if n * sizeof(T) overflows.
  [[nodiscard]] TOFT_ALWAYS_INLINE T *allocate(std::size_t n) {
    if (TOFT_UNLIKELY(n > PTRDIFF_MAX / sizeof(T))) detail::throw_bad_alloc();
    return static_cast<T *>(resource_->allocate(n * sizeof(T), alignof(T)));
  }
  TOFT_ALWAYS_INLINE void deallocate(T *p, std::size_t n) noexcept {
    resource_->deallocate(p, n * sizeof(T), alignof(T));
  }

  Resource *resource() const noexcept { return resource_; }

 private:
  Resource *resource_;
};

template <class T, class U, class Resource>
bool operator==(const allocator<T, Resource> &a, const allocator<U, Resource> &b) noexcept {
  return a.resource() == b.resource();
}
template <class T, class U, class Resource>
bool operator!=(const allocator<T, Resource> &a, const allocator<U, Resource> &b) noexcept {
  return !(a == b);
}

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif
