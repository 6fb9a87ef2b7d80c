// mimalloc and jemalloc, called directly. They are opened at run time, because linking to them would replace malloc for
// all contenders; a call through the pointer costs as much as a call of a shared library.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <dlfcn.h>

#include "describe.hpp"

namespace w5 {
namespace {

void *library(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }
template <class F>
bool find(void *from, const char *name, F &f) {
  return from != nullptr && (f = reinterpret_cast<F>(dlsym(from, name))) != nullptr;
}

struct mimalloc_calls {
  static inline void *(*alloc)(std::size_t);
  static inline void *(*alloc_aligned)(std::size_t, std::size_t);
  static inline void (*free)(void *);

  static bool load() {
    static void *const from = library("libmimalloc.so.2");
    return find(from, "mi_malloc", alloc) && find(from, "mi_malloc_aligned", alloc_aligned) &&
           find(from, "mi_free", free);
  }
  static void *take(std::size_t size, std::size_t align) {
    return align <= 8 ? alloc(size) : alloc_aligned(size, align);
  }
  static void give(void *p, std::size_t, std::size_t) { free(p); }
};

struct jemalloc_calls {
  static inline void *(*allocx)(std::size_t, int);
  static inline void (*sdallocx)(void *, std::size_t, int);

  static int flags(std::size_t align) { return align <= 8 ? 0 : __builtin_ctzll(align); }
  static bool load() {
    static void *const from = library("libjemalloc.so.2");
    return find(from, "mallocx", allocx) && find(from, "sdallocx", sdallocx);
  }
  static void *take(std::size_t size, std::size_t align) { return allocx(size, flags(align)); }
  static void give(void *p, std::size_t size, std::size_t align) { sdallocx(p, size, flags(align)); }
};

#if W5_PMR
template <class Calls>
struct resource final : std::pmr::memory_resource {
  void *do_allocate(std::size_t size, std::size_t align) override { return Calls::take(size, align); }
  void do_deallocate(void *p, std::size_t size, std::size_t align) override { Calls::give(p, size, align); }
  bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }
};
template <class Calls>
using door = pmr_door;
#else
template <class Calls>
struct resource {
  void *allocate(std::size_t size, std::size_t align) { return Calls::take(size, align); }
  void deallocate(void *p, std::size_t size, std::size_t align) { Calls::give(p, size, align); }
};
template <class Calls>
using door = direct_door<resource<Calls>>;
#endif

template <class Calls>
struct malloc_of {
  static constexpr unsigned traits = global | threads;
  resource<Calls> r;

  explicit malloc_of(const task &) {}
  door<Calls> open() { return door<Calls>(&r); }
  void reset() {}
};
struct mimalloc : malloc_of<mimalloc_calls> {
  static constexpr const char *name = "mimalloc";
  using malloc_of::malloc_of;
};
struct jemalloc : malloc_of<jemalloc_calls> {
  static constexpr const char *name = "jemalloc";
  using malloc_of::malloc_of;
};

}  // namespace

group mallocs_group() { return {describe<mimalloc>(mimalloc_calls::load), describe<jemalloc>(jemalloc_calls::load)}; }

}  // namespace w5
