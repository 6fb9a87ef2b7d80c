// toft::frames: memory for one iteration of a loop on all threads. Each thread has an arena of its own, and all of them
// are emptied together when the frame ends. toft/frame.h of the C library has the details.
//
//     toft::frames frames;
//     for (;;) {
//       on any thread:  hit *h = frames.arena().make<hit>(ray);
//       all threads have done their part:
//       frames.advance();                         destroys their objects, keeps the memory
//     }
//
// N BUFFERS: allocations of a frame live until the N-th advance after it. Afterwards no object there, and no container
// with memory there, may be used. publish sets the root of a frame's data, previous returns it later.
//
// EXCLUSIVE calls require that no other thread uses these frames at the same time: it is joined, waiting in
// arrive_and_wait, or waiting for work. They fail (TOFT_EBUSY) while a thread holds a toft::frame_entry; other threads
// are not detected.
//
// FAILURE. arena() throws std::bad_alloc if there is no memory for a thread's first arena of a buffer, and in
// destructors that run while the frame ends. arena.hpp documents the failures of the arena.
//
// COST. arena() takes two loads and a compare if the thread's last call was for the same frames. advance is linear in
// threads, destructors to run and blocks to return.
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
  // 1 to TOFT_FRAMES_BUFFERS_MAX buffers. Throws std::invalid_argument for other numbers, std::bad_alloc.
  explicit frames(std::uint32_t buffers = 1) : frames_(create(buffers, nullptr)) {}
  // `arenas` are the options of a thread's arenas; the source must be thread-safe. Throws std::invalid_argument also
  // for a buffer, which one arena only could use; std::bad_alloc for other invalid options, as toft::arena does.
  frames(std::uint32_t buffers, const arena_options &arenas) : frames_(create(buffers, &arenas)) {}
  frames(const frames &) = delete;  // threads have pointers to it
  frames &operator=(const frames &) = delete;
  // EXCLUSIVE. Runs the destructors and cleanups of all frames. If a thread has entered or a range is claimed, it does
  // nothing, and the memory leaks.
  ~frames() { (void)toft_frames_release(frames_); }

  // Returns the calling thread's arena of the present frame. Call it again in each frame.
  arena_ref arena() const TOFT_LIFETIMEBOUND {
    toft_arena *a = toft_frame_arena(frames_);
    if (TOFT_UNLIKELY(a == nullptr)) detail::throw_bad_alloc();
    return a;
  }
  // The same; nullptr if there is no memory.
  [[nodiscard]] toft_arena *try_arena() const noexcept TOFT_LIFETIMEBOUND { return toft_frame_arena(frames_); }

  // EXCLUSIVE. Ends the frame and begins the next: the oldest frame's arenas are emptied, their destructors run on the
  // calling thread. TOFT_OK; TOFT_ECORRUPT: done, and a checked arena found bytes written outside an allocation;
  // TOFT_EBUSY: nothing changed, because a thread has entered, an arena to be emptied is claimed, or another thread
  // advances.
  int advance() noexcept { return toft_frames_advance(frames_); }
  // Sets how many threads call arrive_and_wait in each frame; 0 at first. TOFT_EBUSY, with nothing changed, while one
  // waits.
  int set_parties(std::size_t parties) noexcept { return toft_frames_set_parties(frames_, parties); }
  // Waits until all parties have called it; one of them then calls advance while the others wait. Returns that call's
  // result, to all of them. TOFT_EARG: the number of parties is 0.
  int arrive_and_wait() noexcept { return toft_frames_arrive_and_wait(frames_); }
  // Lowers the number of parties by one and does not wait: the call of a thread that leaves the loop. TOFT_EARG: the
  // number of parties is 0.
  int arrive_and_drop() noexcept { return toft_frames_arrive_and_drop(frames_); }
  // Returns the number of advances so far.
  std::uint64_t number() const noexcept { return toft_frames_number(frames_); }

  // Publishes the root of the present frame's data to other threads, replacing an earlier one. A thread that reads it
  // also sees everything written before. Both sides must use the same type: frames.publish<world>(w),
  // frames.previous<world>(1).
  template <class T>
  void publish(std::enable_if_t<true, T> *root) noexcept {
    toft_frame_publish(frames_, const_cast<std::remove_const_t<T> *>(root));
  }
  // Returns the root published in the frame that is `age` frames old; 0 is the present one. nullptr if none was
  // published, or if age is not below the number of buffers.
  template <class T>
  const T *previous(std::uint32_t age) const noexcept {
    return static_cast<const T *>(toft_frame_previous(frames_, age));
  }

  // Marks the calling thread as working in the frame for the lifetime of the result. The result is false if the frame
  // is ending (TOFT_EBUSY: retry) or there is no memory (TOFT_ENOMEM). Costs an atomic exchange; nothing if the thread
  // has entered already.
  [[nodiscard]] frame_entry try_enter() noexcept;

  // EXCLUSIVE. Returns memory without allocations, until about `keep` bytes of it are left in each arena, and releases
  // the empty arenas of threads that have ended. TOFT_OK, TOFT_EBUSY.
  int trim(std::size_t keep = 0) noexcept { return toft_frames_trim(frames_, keep); }
  // EXCLUSIVE. Sums over the arenas of all threads and buffers. TOFT_OK; TOFT_EBUSY: out is unchanged.
  int stats(frame_stats &out) const noexcept { return toft_frames_get_stats(frames_, &out); }

  toft_frames *get() const noexcept { return frames_; }

 private:
  static toft_frames *create(std::uint32_t buffers, const arena_options *arenas) {
    toft_frames *f = toft_frames_create(buffers, arenas);
    if (TOFT_LIKELY(f != nullptr)) return f;
    if (buffers == 0 || buffers > TOFT_FRAMES_BUFFERS_MAX || (arenas != nullptr && arenas->buffer != nullptr))
      detail::throw_invalid_argument("toft: frames need 1 to 16 buffers, and options without a buffer");
    detail::throw_bad_alloc();
  }

  toft_frames *frames_;
};

// The calling thread's entry into a frame, which prevents the frame's end. Must be destroyed on the same thread, before
// the frames.
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

// A nested frame of the calling thread: an arena_ref whose allocations are freed at its end, as by toft::scope. The
// frame must not end before it.
class frame_scope : public arena_owner {
 public:
  // Throws std::bad_alloc, as arena() does.
  explicit frame_scope(const frames &f) : arena_owner(f.arena()), scope_(arena_) {}
  frame_scope(const frame_scope &) = delete;
  frame_scope &operator=(const frame_scope &) = delete;

 private:
  scope scope_;
};

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif

// Outside the guard: see config.hpp.
#include "config.hpp"
