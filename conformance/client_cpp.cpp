// The client in C++: toft::arena_ref, a view of an arena of any provider.
// SPDX-License-Identifier: MIT OR Apache-2.0
#define TOFT_PREFIX conformance_cpp_
#define TOFT_IMPLEMENTATION
#include <toft/arena.hpp>
#include <toft/lease.hpp>

#include "conformance.h"

namespace {

using toft::arena_ref;

// No exception must reach the driver, which is C.
template <class F>
auto guarded(F f) noexcept -> decltype(f()) {
  try {
    return f();
  } catch (...) {
    return nullptr;
  }
}

void *alloc(toft_arena *a, std::size_t size, std::size_t align) {
  return guarded([=] { return arena_ref(a).allocate(size, align); });
}

void *zeroed(toft_arena *a, std::size_t size, std::size_t align) {
  return guarded([=] { return arena_ref(a).allocate_zeroed(size, align); });
}

void *resize(toft_arena *a, void *p, std::size_t old_size, std::size_t new_size, std::size_t align) {
  return arena_ref(a).try_resize(p, old_size, new_size, align);
}

void give_back(toft_arena *a, void *p, std::size_t size) { arena_ref(a).deallocate(p, size); }

toft_mark here(toft_arena *a) { return arena_ref(a).mark_here(); }

int rewind_to(toft_arena *a, toft_mark m) { return arena_ref(a).rewind(m); }

int reset(toft_arena *a) { return arena_ref(a).reset(); }

void trim(toft_arena *a, std::size_t keep) { arena_ref(a).trim(keep); }

int budget(toft_arena *a, std::uint64_t bytes) { return arena_ref(a).set_budget(bytes); }

int checked(toft_arena *a, int on) { return arena_ref(a).set_checked(on != 0); }

void stats(toft_arena *a, toft_stats *out) { *out = arena_ref(a).stats(); }

int contains(toft_arena *a, const void *p) { return arena_ref(a).contains(p); }

int cleanup(toft_arena *a, void (*notify)(void *), void *arg) {
  return guarded([=] {
           arena_ref(a).defer([=] { notify(arg); });
           return a;
         }) != nullptr;
}

conformance_record *claimed(toft_arena *a, const conformance_record *older, std::uint64_t count, std::uint64_t seed,
                            void (*during)(void *), void *arg) {
  return guarded([=]() mutable {
    toft::claim c(a);
    conformance_record *newest = nullptr;
    for (std::uint64_t i = 0; i < count; i++) {
      if (i == count / 2) during(arg);
      newest = c.make<conformance_record>(conformance_record{older, 0, seed + i});
      older = newest;
    }
    return newest;
  });
}

int release(toft_arena *a) {
  toft::arena owner = toft::arena::own(a);
  return TOFT_OK;
}

conformance_record *write_one(toft_arena *a, const conformance_record *older, std::uint64_t size, std::uint64_t seed,
                              std::size_t align) {
  void *at = guarded([=] { return arena_ref(a).allocate(sizeof(conformance_record) + size, align); });
  if (at == nullptr) return nullptr;
  auto *r = ::new (at) conformance_record{older, size, seed};
  auto *bytes = reinterpret_cast<unsigned char *>(r + 1);
  for (std::uint64_t i = 0; i < size; i++) bytes[i] = static_cast<unsigned char>(seed * 131 + i * 7 + i / 256);
  return r;
}

std::uint64_t read_all(const conformance_record *r) {
  std::uint64_t whole = 0;
  for (; r != nullptr; r = r->older, whole++) {
    const auto *bytes = reinterpret_cast<const unsigned char *>(r + 1);
    for (std::uint64_t i = 0; i < r->size; i++)
      if (bytes[i] != static_cast<unsigned char>(r->seed * 131 + i * 7 + i / 256)) return whole;
  }
  return whole;
}

toft_arena *lease(std::uint64_t *key) {
  toft_lease l = toft::lease::try_get().release();
  *key = l.generation;
  return l.arena;
}

int end_lease(toft_arena *a, std::uint64_t key) { return toft::lease::own(toft_lease{a, key}).return_arena(); }

}  // namespace

extern "C" const conformance_client *conformance_client_table(void);
extern "C" __attribute__((visibility("default"))) const conformance_client *conformance_client_table(void) {
  static const conformance_client table = [] {
    conformance_client t{};
    t.name = "C++";
    t.alloc = alloc;
    t.zeroed = zeroed;
    t.resize = resize;
    t.free = give_back;
    t.free_calls_from = 512;
    t.mark = here;
    t.rewind = rewind_to;
    t.reset = reset;
    t.trim = trim;
    t.budget = budget;
    t.checked = checked;
    t.stats = stats;
    t.contains = contains;
    t.cleanup = cleanup;
    t.claimed = claimed;
    t.release = release;
    t.write = write_one;
    t.read = read_all;
    t.lease = lease;
    t.end_lease = end_lease;
    return t;
  }();
  return &table;
}
