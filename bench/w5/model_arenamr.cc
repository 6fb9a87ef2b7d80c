// A short reimplementation of the scheme of ArenaMR: a fixed number of arenas is allocated in advance; each is filled
// by a cursor and counts its live pieces; the owner of a piece is found by binary search over the sorted bases; an
// arena with count 0 is empty again. Larger requests get their own arena. Unlike the original it pads for large
// alignments, frees an emptied large arena, and returns everything in its destructor.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <algorithm>

#include "describe.hpp"

namespace w5 {
namespace {

class scheme {
 public:
  scheme(std::size_t count, std::size_t size, upstream *from) : size_(size), from_(from) {
    for (std::size_t i = 0; i < count; i++) empty_.push_back(add(size));
    next();
  }
  ~scheme() {
    for (const entry &e : all_) drop(e.owner);
  }

  void *take(std::size_t size, std::size_t align) {
    std::size_t pad = padding(active_->cursor, align);
    if (size + pad > active_->room) {
      if (size + (align > 16 ? align : 0) > size_) return from(add(size + (align > 16 ? align : 0)), size, align);
      if (empty_.empty()) empty_.push_back(add(size_));
      next();
    }
    return from(active_, size, align);
  }

  void give(void *p) {
    auto after = std::upper_bound(all_.begin(), all_.end(), p, [](void *q, const entry &e) { return q < e.base; });
    arena *owner = std::prev(after)->owner;
    if (--owner->live != 0) return;
    owner->cursor = owner->base;
    owner->room = owner->size;
    if (owner == active_) return;
    if (owner->size > size_) {
      all_.erase(std::prev(after));
      drop(owner);
    } else {
      empty_.push_back(owner);
    }
  }

 private:
  struct arena {
    unsigned char *base, *cursor;
    std::size_t room, live, size;
  };
  struct entry {
    void *base;
    arena *owner;
  };

  static std::size_t padding(unsigned char *p, std::size_t align) {
    return (0 - reinterpret_cast<std::uintptr_t>(p)) & (align - 1);
  }
  static void *from(arena *a, std::size_t size, std::size_t align) {
    std::size_t pad = padding(a->cursor, align);
    unsigned char *p = a->cursor + pad;
    a->cursor = p + size;
    a->room -= size + pad;
    a->live++;
    return p;
  }
  arena *add(std::size_t size) {
    unsigned char *base = static_cast<unsigned char *>(from_->allocate(size, 16));
    arena *a = new arena{base, base, size, 0, size};
    auto at = std::lower_bound(all_.begin(), all_.end(), base,
                               [](const entry &e, unsigned char *b) { return e.base < static_cast<void *>(b); });
    all_.insert(at, entry{base, a});
    return a;
  }
  void drop(arena *a) {
    from_->deallocate(a->base, a->size, 16);
    delete a;
  }
  void next() {
    active_ = empty_.back();
    empty_.pop_back();
  }

  std::size_t size_;
  upstream *from_;
  std::vector<entry> all_;
  std::vector<arena *> empty_;
  arena *active_ = nullptr;
};

#if W5_PMR
struct resource final : std::pmr::memory_resource {
  scheme s;

  explicit resource(const task &t)
      : s(t.arenas, t.arena_bytes, t.from != nullptr ? t.from : std::pmr::get_default_resource()) {}
  void *do_allocate(std::size_t size, std::size_t align) override { return s.take(size, align); }
  void do_deallocate(void *p, std::size_t, std::size_t) override { s.give(p); }
  bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }
};
using door = pmr_door;
#else
struct resource {
  counting heap;
  scheme s;

  explicit resource(const task &t) : s(t.arenas, t.arena_bytes, t.from != nullptr ? t.from : &heap) {}
  void *allocate(std::size_t size, std::size_t align) { return s.take(size, align); }
  void deallocate(void *p, std::size_t, std::size_t) { s.give(p); }
};
using door = direct_door<resource>;
#endif

struct model {
  static constexpr const char *name = "model-arenamr";
  static constexpr unsigned traits = plain;
  resource r;

  explicit model(const task &t) : r(t) {}
  door open() { return door(&r); }
  void reset() {}
};

}  // namespace

group model_arenamr_group() { return {describe<model>()}; }

}  // namespace w5
