// toft::frames: memory for a loop, on all threads. Each thread has an arena of its own, and all of them are emptied
// together when the frame ends. toft/frame.h of the C library says how.
//
//     toft::frames frames;
//     for (;;) {
//       on any thread:  hit *h = frames.arena().make<hit>(ray);
//       all threads have done their part:
//       frames.advance();                         what they allocated is destroyed, the memory is kept
//     }
//
// N BUFFERS: what a frame allocated lives until the N-th advance after it, the first if there is one buffer. Nothing
// that lies in it, and no container that has memory there, may be used later. publish names what others may read of a
// frame, past finds it again.
//
// ALONE. Calls that say so need every other thread to be between two uses of these frames, and to know it: joined,
// in frames::arrive_and_wait, waiting for work. A thread that works under a toft::frame_entry is seen, and they are
// refused (TOFT_EBUSY); others are not seen.
//
// FAILURE. here throws std::bad_alloc at a thread's first use of a buffer, if there is no memory, and where a
// destructor asks while its frame ends. What the arena throws: arena.hpp.
//
// COST. here takes two loads and a compare if these frames were the last ones asked for on this thread. advance is
// linear in threads, destructors to run and blocks to return.
//
// For containers: frame_resource in pmr.hpp, or toft::allocator<T, toft::arena_ref>.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_FRAME_HPP
#define TOFT_FRAME_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "arena.hpp"
#include "config.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {

using frame_stats = toft_frame_stats;

class frame_entry;

class frames {
 public:
  // 1 to TOFT_FRAMES_MOST buffers. std::invalid_argument for others; std::bad_alloc.
  explicit frames(std::uint32_t buffers = 1) : frames_(create(buffers, nullptr)) {}
  // `arenas` says how a thread's arenas are made; its source is called by many threads at once. std::invalid_argument
  // also for a buffer, of which there is but one; std::bad_alloc for other bad options, as toft::arena has it.
  frames(std::uint32_t buffers, const arena_options &arenas) : frames_(create(buffers, &arenas)) {}
  frames(const frames &) = delete;  // threads know where they are
  frames &operator=(const frames &) = delete;
  // ALONE. Destructors and cleanups of all frames run. Where a thread has entered, or a range is claimed, it does
  // nothing: they stay for ever, and so does their memory.
  ~frames() { (void)toft_frames_release(frames_); }

  // This thread's arena of the present frame. Ask again in each frame.
  arena_ref arena() const {
    toft_arena *a = toft_frame_arena(frames_);
    if (TOFT_UNLIKELY(a == nullptr)) detail::throw_bad_alloc();
    return a;
  }
  // nullptr where arena() throws.
  [[nodiscard]] toft_arena *try_arena() const noexcept { return toft_frame_arena(frames_); }

  // ALONE. Ends the frame and begins the next: the oldest frame's arenas are emptied, their destructors run on this
  // thread. TOFT_OK; TOFT_ECORRUPT: done, and a checked arena found bytes written outside an allocation; TOFT_EBUSY: a
  // thread has entered, an arena that is to be emptied is claimed, or another thread advances: nothing has changed.
  int advance() noexcept { return toft_frames_advance(frames_); }
  // Sets how many threads call arrive_and_wait in each frame; 0 at first. TOFT_EBUSY, with nothing changed, while one waits.
  int set_parties(std::size_t parties) noexcept { return toft_frames_set_parties(frames_, parties); }
  // Waits until all parties have called it; one of them then calls advance while the others wait. Returns that call's result,
  // to all of them. TOFT_EARG: the number of parties is 0.
  int arrive_and_wait() noexcept { return toft_frames_arrive_and_wait(frames_); }
  // Lowers the number of parties by one and does not wait: the call of a thread that leaves the loop. TOFT_EARG: the number of
  // parties is 0.
  int arrive_and_drop() noexcept { return toft_frames_arrive_and_drop(frames_); }
  // How often that was done.
  std::uint64_t number() const noexcept { return toft_frames_number(frames_); }

  // What others may know of the present frame; the last call counts. Whoever finds it sees what was written before.
  // Both sides say the type, the same one: frames.publish<world>(w), frames.previous<world>(1).
  template <class T>
  void publish(std::enable_if_t<true, T> *root) noexcept {
    toft_frame_publish(frames_, const_cast<std::remove_const_t<T> *>(root));
  }
  // What was published in the frame that is `age` frames old, 0 being the present one. nullptr: nothing was, or the
  // frame is gone.
  template <class T>
  const T *previous(std::uint32_t age) const noexcept {
    return static_cast<const T *>(toft_frame_previous(frames_, age));
  }

  // "This thread works in the frame", as long as the result lives; it is false if the frame ends just now
  // (TOFT_EBUSY: ask again) or there is no memory (TOFT_ENOMEM). An atomic exchange, or none if it is inside already.
  [[nodiscard]] frame_entry try_enter() noexcept;

  // ALONE. Returns memory that holds no allocation, until about `keep` bytes of it are left in each arena, and ends the
  // empty arenas of threads that have ended. TOFT_OK, TOFT_EBUSY.
  int trim(std::size_t keep = 0) noexcept { return toft_frames_trim(frames_, keep); }
  // ALONE. Sums over the arenas of all threads and buffers. TOFT_OK; TOFT_EBUSY: out is not written.
  int stats(frame_stats &out) const noexcept { return toft_frames_get_stats(frames_, &out); }

  toft_frames *get() const noexcept { return frames_; }

 private:
  static toft_frames *create(std::uint32_t buffers, const arena_options *arenas) {
    toft_frames *f = toft_frames_create(buffers, arenas);
    if (TOFT_LIKELY(f != nullptr)) return f;
    if (buffers == 0 || buffers > TOFT_FRAMES_MOST || (arenas != nullptr && arenas->buffer != nullptr))
      detail::throw_invalid_argument("toft: frames with a buffer, or with none, or with too many");
    detail::throw_bad_alloc();
  }

  toft_frames *frames_;
};

// A thread's stay in a frame, which cannot end meanwhile. Ends on the thread that it began on, before the frames.
class [[nodiscard]] frame_entry {
 public:
  explicit frame_entry(frames &f) noexcept : frames_(f.get()), code_(toft_frame_enter(frames_)) {}
  frame_entry(const frame_entry &) = delete;
  frame_entry &operator=(const frame_entry &) = delete;
  ~frame_entry() {
    if (code_ == TOFT_OK) (void)toft_frame_leave(frames_);
  }

  explicit operator bool() const noexcept { return code_ == TOFT_OK; }
  // TOFT_OK, TOFT_EBUSY, TOFT_ENOMEM.
  int code() const noexcept { return code_; }

 private:
  toft_frames *frames_;
  int code_;
};

inline frame_entry frames::try_enter() noexcept { return frame_entry(*this); }

// A frame in the frame, of this thread: what it allocates while this lives is given back at its end, as by toft::scope.
// The frame does not end before it does. It is the arena, too.
class frame_scope : public arena_ref {
 public:
  // std::bad_alloc, as arena().
  explicit frame_scope(const frames &f) : arena_ref(f.arena()), scope_(arena_) {}
  frame_scope(const frame_scope &) = delete;
  frame_scope &operator=(const frame_scope &) = delete;

 private:
  scope scope_;
};

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif

// Outside the guard too: see config.hpp.
#include "config.hpp"
