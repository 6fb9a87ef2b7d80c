// toft::tag and toft::phase: which parts of a program use an arena's memory. toft/meter.h of the C library has the
// details.
//
//     toft_set_metered(a.get(), 1);
//     {
//       toft::tag level(a, "level");
//       load(a);                                  counts for "level"
//       toft::tag sound(a, "sound");
//       decode(a);                                counts for "level/sound"
//     }
//     std::puts(toft::snapshot(a).c_str());       the state, as JSON
//
// COST. One branch if the arena is not instrumented, so tags may stay in release code. Otherwise a call at begin and
// end.
//
// FAILURE. Only snapshot throws (std::bad_alloc). If there is no memory for a tag or phase, its bytes count for the
// enclosing tag.
//
// THREADS. As for the arena: one at a time.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_METER_HPP
#define TOFT_METER_HPP

#include <cstddef>
#include <cstdint>
#include <string>

#include "arena.hpp"
#include "config.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {

// Allocations in its lifetime count for this tag: `name` is a path within the enclosing tag, or an absolute path that
// begins with "/". Tags must end in reverse order. The arena must outlive it.
class tag {
 public:
  tag(arena_ref a, const char *name) noexcept : arena_(a.get()) { (void)toft_tag_push(arena_, name); }
  ~tag() { toft_tag_pop(arena_); }
  tag(const tag &) = delete;
  tag &operator=(const tag &) = delete;

 private:
  toft_arena *arena_;
};

// Allocations in its lifetime also count for the phase. `name` and the arena must outlive it.
class phase {
 public:
  phase(arena_ref a, const char *name) noexcept : arena_(a.get()), phase_(toft_phase_begin(arena_, name)) {}
  ~phase() { toft_phase_end(arena_, &phase_); }
  phase(const phase &) = delete;
  phase &operator=(const phase &) = delete;

 private:
  toft_arena *arena_;
  toft_phase phase_;
};

// Returns the arena's state as JSON: toft_snapshot. flags: TOFT_SNAPSHOT_CLEAR, TOFT_SNAPSHOT_DWARF,
// TOFT_SNAPSHOT_ADDRESSES. Empty for unknown flags.
inline std::string snapshot(arena_ref a, std::uint32_t flags = 0) {
  toft_snapshot_options o = TOFT_SNAPSHOT_OPTIONS;
  std::string text;
  o.flags = flags;
  // The length may change between the calls; the call is then repeated.
  for (std::size_t n = 4096; text.size() < n;) {
    text.resize(n);
    n = toft_snapshot_text(a.get(), &o, &text[0], text.size() + 1);
    if (n <= text.size()) {
      text.resize(n);
      break;
    }
  }
  return text;
}

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif

// Outside the guard: see config.hpp.
#include "config.hpp"
