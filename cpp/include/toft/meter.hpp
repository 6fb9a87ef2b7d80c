// toft::tag and toft::phase: who uses an arena's memory. toft/meter.h of the C library says what each call does.
//
//     toft_set_metered(a.get(), 1);
//     {
//       toft::tag level(a, "level");
//       load(a);                                  counts for "level"
//       toft::tag sound(a, "sound");
//       decode(a);                                counts for "level/sound"
//     }
//     std::puts(toft::snapshot(a).c_str());       what there is, as JSON
//
// COST. One branch where the arena is not watched, so they may stay in release code. Else a call where each begins and
// ends.
//
// FAILURE. Nothing throws but snapshot, std::bad_alloc. What a tag or phase has no memory for is not told: the bytes
// are then those of the tag around it.
//
// THREADS. Those of the arena: one at a time.
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

// What is allocated while it lives counts for this tag: `name` within the tag around it, or a path that begins with
// "/". Tags end in the reverse order of their beginnings, as blocks of code see to. The arena outlives it.
class tag {
 public:
  tag(arena_ref a, const char *name) noexcept : arena_(a.get()) { (void)toft_tag_push(arena_, name); }
  ~tag() { toft_tag_pop(arena_); }
  tag(const tag &) = delete;
  tag &operator=(const tag &) = delete;

 private:
  toft_arena *arena_;
};

// What is allocated while it lives counts for the phase, too. name and the arena outlive it.
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

// What the arena holds, as JSON: toft_snapshot. flags: TOFT_SNAPSHOT_CLEAR, TOFT_SNAPSHOT_DWARF,
// TOFT_SNAPSHOT_ADDRESSES. Empty for flags unknown.
inline std::string snapshot(arena_ref a, std::uint32_t flags = 0) {
  toft_snapshot_options o = TOFT_SNAPSHOT_OPTIONS;
  std::string text;
  o.flags = flags;
  // What names and numbers come to may differ by the time of the second call: then there is a third.
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

// Outside the guard too: see config.hpp.
#include "config.hpp"
