// W5: the cases of a contender, and how they run.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "containers.hpp"
#include "requests.hpp"

namespace w5 {

template <class C>
void reset_contender(void *c) {
  static_cast<C *>(c)->reset();
}

template <class C, class K>
outcome run(const task &t) {
  outcome o;
  double start = now();
  {
    C c(t);
    result r = K::body(c.open(), resetter{reset_contender<C>, &c}, t);
    o.work = r.work;
    o.good = r.good;
  }
  o.with_setup = now() - start;
  return o;
}

// Create, 10 x 32 B, destroy.
template <class C>
outcome run_life(const task &t) {
  outcome o;
  o.good = true;
  double start = now();
  for (std::size_t rep = 0; rep < t.reps; rep++) {
    C c(t);
    auto door = c.open();
    void *taken[10];
    for (auto &p : taken) {
      p = door.allocate(32, 8);
      o.good &= p != nullptr;
      static_cast<volatile int *>(p)[1] = int(rep);
    }
    if constexpr ((C::traits & global) != 0)
      for (auto &p : taken) door.deallocate(p, 32, 8);
  }
  o.work = o.with_setup = now() - start;
  return o;
}

template <class C>
bool always_here() {
  return true;
}

template <class C>
contender describe(bool (*here)() = always_here<C>) {
  contender c{C::name, C::traits, here, {}};
  c.run[B1] = run<C, ascending<100000>>;
  c.run[B2] = run<C, ascending<1000>>;
  c.run[SHUFFLED] = run<C, shuffled>;
  if constexpr ((C::traits & bulk) == 0) {
    c.run[INTERLEAVED] = run<C, interleaved>;
    c.run[CHURN] = run<C, churn>;
  }
  if constexpr ((C::traits & map_nodes) == 0) {
    c.run[STRINGS] = run<C, strings>;
    if constexpr ((C::traits & bulk) == 0) c.run[REPLACEMENT] = run<C, replacement>;
    c.run[UNORDERED] = run<C, unordered>;
    c.run[VECTOR] = run<C, vector_growth>;
    c.run[LIST] = run<C, list_growth>;
    c.run[NODES] = run<C, nodes>;
    if constexpr ((C::traits & fundamental) == 0) c.run[ALIGNED] = run<C, over_aligned>;
    c.run[OVERSIZE] = run<C, oversize>;
    if constexpr ((C::traits & bulk) == 0) c.run[BUFFERS] = run<C, buffers>;
    if constexpr ((C::traits & is_floor) == 0) c.run[LIFE] = run_life<C>;
  }
  return c;
}

// A contender with a hot row only.
template <class C>
contender describe_hot(case_id which) {
  contender c{C::name, C::traits, always_here<C>, {}};
  c.run[which] = run<C, hot>;
  return c;
}

}  // namespace w5
