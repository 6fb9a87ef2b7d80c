// W5: the interface of contenders, and how containers use it. A contender is a struct of a few lines, in a file with
// others of its kind: it is constructed from a task, has a door, and a reset() that empties it where lifetimes allow.
// The loops are in containers.hpp and requests.hpp, the same for all; w5.cc runs them side by side.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#if __has_include(<memory_resource>)
#include <memory_resource>
#define W5_PMR 1
#else
#define W5_PMR 0  // libc++ before 16: all are used through a classic allocator
#endif

namespace w5 {

// ---- upstreams ----

#if W5_PMR
using upstream = std::pmr::memory_resource;
#else
class upstream {
 public:
  virtual ~upstream() = default;
  void *allocate(std::size_t size, std::size_t align) { return do_allocate(size, align); }
  void deallocate(void *p, std::size_t size, std::size_t align) { do_deallocate(p, size, align); }

 private:
  virtual void *do_allocate(std::size_t, std::size_t) = 0;
  virtual void do_deallocate(void *, std::size_t, std::size_t) = 0;
};
#endif

inline void *from_heap(std::size_t size, std::size_t align) {
  return align > __STDCPP_DEFAULT_NEW_ALIGNMENT__ ? ::operator new(size, std::align_val_t(align))
                                                  : ::operator new(size);
}
inline void to_heap(void *p, std::size_t align) {
  if (align > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
    ::operator delete(p, std::align_val_t(align));
  else
    ::operator delete(p);
}

// The heap, with a count of live bytes: a remainder after a contender's end is a leak.
class counting final : public upstream {
 public:
  std::size_t live = 0, peak = 0;

 private:
  void *do_allocate(std::size_t size, std::size_t align) override {
    void *p = from_heap(size, align);
    live += size;
    if (live > peak) peak = live;
    return p;
  }
  void do_deallocate(void *p, std::size_t size, std::size_t align) override {
    to_heap(p, align);
    live -= size;
  }
#if W5_PMR
  bool do_is_equal(const upstream &other) const noexcept override { return this == &other; }
#endif
};

// ---- doors: how containers access a resource ----

// Hides the object from the compiler.
template <class T>
T *hidden(T *p) {
  __asm__("" : "+r"(p));
  return p;
}

// The allocator A over a resource R, whose type the compiler does not see.
template <class R, template <class> class A>
struct door_of {
  template <class T>
  using allocator = A<T>;
  R *r;

  explicit door_of(R *resource) : r(hidden(resource)) {}
  template <class T>
  allocator<T> make() const {
    return r;
  }
  void *allocate(std::size_t size, std::size_t align) const { return r->allocate(size, align); }
  void deallocate(void *p, std::size_t size, std::size_t align) const { r->deallocate(p, size, align); }
};

#if W5_PMR
// As std::pmr containers do: a virtual call for each operation.
using pmr_door = door_of<std::pmr::memory_resource, std::pmr::polymorphic_allocator>;
#endif

// A classic allocator over anything that has allocate and deallocate; no virtual call.
template <class T, class R>
struct direct_allocator {
  using value_type = T;
  R *r;

  explicit direct_allocator(R *resource) : r(resource) {}
  template <class U>
  direct_allocator(const direct_allocator<U, R> &other) : r(other.r) {}
  T *allocate(std::size_t n) { return static_cast<T *>(r->allocate(n * sizeof(T), alignof(T))); }
  void deallocate(T *p, std::size_t n) { r->deallocate(p, n * sizeof(T), alignof(T)); }
  template <class U>
  bool operator==(const direct_allocator<U, R> &other) const {
    return r == other.r;
  }
  template <class U>
  bool operator!=(const direct_allocator<U, R> &other) const {
    return r != other.r;
  }
};

template <class R>
struct direct_door {
  template <class T>
  using allocator = direct_allocator<T, R>;
  R *r;

  explicit direct_door(R *resource) : r(hidden(resource)) {}
  template <class T>
  allocator<T> make() const {
    return allocator<T>(r);
  }
  void *allocate(std::size_t size, std::size_t align) const { return r->allocate(size, align); }
  void deallocate(void *p, std::size_t size, std::size_t align) const { r->deallocate(p, size, align); }
};

// ---- contenders ----

struct task {
  std::size_t reps = 1;
  bool verify = false;               // sum up the container's contents, once
  upstream *from = nullptr;          // null: the contender's own default
  std::size_t arenas = 10;           // ArenaMR's parameters in this case
  std::size_t arena_bytes = 100000;  //
  std::size_t pool_blocks = 150000;  // max_blocks_per_chunk there
  void (*at_end)() = nullptr;        // called when the work is done and the resource is still alive
};

struct outcome {
  double work = 0, with_setup = 0;  // ns: the loops; and with construction and destruction of resource and container
  bool good = false;
};

enum trait : unsigned {
  plain = 0,
  bulk = 1,          // frees memory by reset only: excluded from some cases
  global = 2,        // constructs and destroys nothing: each piece must be freed
  threads = 4,       // may be shared by threads
  is_floor = 8,      // its block is allocated in advance
  fundamental = 16,  // refuses alignments above max_align_t's
  map_nodes = 32,    // configured for the nodes of map<int, int>, and slow for others
};

enum case_id {
  B1,
  B2,
  SHUFFLED,
  INTERLEAVED,
  CHURN,
  REPLACEMENT,
  STRINGS,
  UNORDERED,
  VECTOR,
  LIST,
  NODES,
  ALIGNED,
  OVERSIZE,
  BUFFERS,
  LIFE,
  HOT,
  HOT_DIRECT,
  CASES
};

struct contender {
  const char *name;
  unsigned traits;
  bool (*here)();                       // false: unavailable
  outcome (*run[CASES])(const task &);  // null: no such row
};

// The contenders of one file; the files that could be built are passed to the compiler.
using group = std::vector<contender>;

}  // namespace w5
