/* Frames: memory for a loop, on all threads. Each thread has an arena of its own, and all of them are emptied together
 * when the frame ends: a game's frame, a simulation's step, a batch.
 *
 *     toft_frames *frames = toft_frames_create(1, NULL);
 *     for (;;) {
 *       ... on any thread: struct hit *h = toft_new(toft_frame_arena(frames), struct hit);
 *       ... all threads have done their part ...
 *       toft_frames_advance(frames);              what they allocated is gone, the memory is kept
 *     }
 *
 * N BUFFERS keep what the last N - 1 frames allocated, so that a frame can be read while the next ones run: with two, a
 * renderer draws frame 7 while frame 8 is computed. toft_frame_publish names what others may read of a frame,
 * toft_frame_previous finds it again.
 *
 * A FRAME IN A FRAME is a scope: after TOFT_FRAME(frames, arena), the end of the enclosing block gives back what this
 * thread allocated in it.
 *
 * THREADS. toft_frame_arena, toft_frame_publish and toft_frame_previous may be called by all threads at once. Calls that say
 * ALONE need every other thread to be between two uses of these frames, and to know it: parked at a barrier
 * (toft_frames_arrive_and_wait), joined, waiting for work. A thread that says toft_frame_enter before it works in a frame and
 * toft_frame_leave after it, is seen: calls that need to be alone are then refused (TOFT_EBUSY) instead of pulling its
 * memory away. Who never enters is not seen.
 *
 * A thread that ends leaves its arenas to the next new thread, with what is in them until the frame ends; as many
 * arenas are made as threads lived at once. In destructors of thread-specific data ask toft_frame_arena again: an arena
 * from before may be another thread's by then.
 *
 * FORK. A child has its own copy; the arenas of threads it has not got are emptied like all others, and stay. If one of
 * those threads was ALONE, the arena that it was just emptying, trimming or counting is lost to the child (its memory
 * stays, its cleanups do not run), and others may not be emptied before the frame's next turn: ask toft_frame_arena
 * again.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_FRAME_H
#define TOFT_FRAME_H

#include "toft/abi.h"
#include "toft/compiler.h"
#include "toft/inline.h"

#ifdef __cplusplus
extern "C" {
#endif

struct toft_options; /* toft.h */

typedef struct toft_frames toft_frames;

#define TOFT_FRAMES_MOST 16

/* `buffers`: 1 to TOFT_FRAMES_MOST. `arenas` says how a thread's arenas are made: source, budget, reserve, failure,
 * checks; the source is called by many threads at once, a buffer cannot be given; NULL: as by toft_create. NULL if
 * there is no memory or an argument is bad. */
TOFT_API TOFT_NODISCARD toft_frames *toft_frames_create(uint32_t buffers, const struct toft_options *arenas);
/* ALONE. Runs the cleanups of all frames and returns all memory. TOFT_EBUSY: a thread has entered or waits for the frame's
 * end, or an arena is claimed: nothing has changed. NULL is ignored. */
TOFT_API int toft_frames_release(toft_frames *frames);

/* This thread's arena of the present frame: two loads and a compare if it was the one asked for last. It is not
 * released by toft_release, and not adopted. NULL: its first use, and there is no memory; or a cleanup asks while
 * the frame ends. */
TOFT_API toft_arena *toft_frame_arena(toft_frames *frames);

/* ALONE. Ends the frame and begins the next: the oldest frame's arenas are emptied on all threads, their cleanups
 * run on this one, and what is not kept goes to this thread's cache. TOFT_EBUSY: a thread has entered, an arena that
 * is to be emptied is claimed, or another thread advances: nothing has changed. TOFT_ECORRUPT: done, and a checked
 * arena found bytes written outside an allocation. */
TOFT_API int toft_frames_advance(toft_frames *frames);
/* How often that was done. */
TOFT_API uint64_t toft_frames_number(const toft_frames *frames);

/* What others may know of the present frame; the last call counts. Whoever finds it sees what was written before. */
TOFT_API void toft_frame_publish(toft_frames *frames, void *root);
/* What was published in the frame that is `age` frames old, 0 being the present one. NULL: nothing was, or the frame is
 * gone: age is not below the number of buffers. Only to be read: its arenas are the past's. */
TOFT_API const void *toft_frame_previous(const toft_frames *frames, uint32_t age);

/* "This thread works in the frame", until as many calls of toft_frame_leave. TOFT_EBUSY: the frame is ending just now.
 * TOFT_ENOMEM, also in a destructor of thread-specific data that runs after Toft's own: nobody would see that thread
 * end. An atomic exchange, or none if it is inside already. */
TOFT_API TOFT_NODISCARD int toft_frame_enter(toft_frames *frames);
/* TOFT_EARG: it was not inside. */
TOFT_API int toft_frame_leave(toft_frames *frames);

/* ALONE. Returns memory that holds no allocation to its source, until about `keep` bytes of it are left in each
 * arena, and ends the empty arenas of threads that have ended. TOFT_EBUSY as above. */
TOFT_API int toft_frames_trim(toft_frames *frames, size_t keep);

/* Sums over the arenas of all threads and buffers, as toft_stats has them. */
typedef struct toft_frame_stats {
  uint64_t live, reserved, wasted, blocks, source_calls;
  size_t arenas, threads; /* threads: those that were here and have not ended */
} toft_frame_stats;
/* ALONE. TOFT_EBUSY as above: then *out is not written. */
TOFT_API int toft_frames_get_stats(toft_frames *frames, toft_frame_stats *out);

/* A frame in the frame, of this thread: declares `toft_arena *a`, which is toft_frame_arena(frames) and may be NULL, and
 * a scope of that arena, as TOFT_SCOPE does. gcc and clang only. */
#ifdef TOFT_AT_EXIT
#define TOFT_FRAME(frames, a)               \
  toft_arena *a = toft_frame_arena(frames); \
  toft_scope a##_scope TOFT_AT_EXIT(toft_scope_end) = toft_scope_begin_if(a)
#endif

/* ---- ending a frame from all threads of a loop ---- */

/* Sets how many threads take part in each frame: as many as call toft_frames_arrive_and_wait. 0, the initial value: none.
 * Returns TOFT_EBUSY, with nothing changed, while a thread waits. A child of a fork has the parent's number and none of
 * its waiting threads. */
TOFT_API int toft_frames_set_parties(toft_frames *frames, size_t parties);
/* Waits until all parties have called it; one of them then calls toft_frames_advance while the others wait. Returns that
 * call's result, to all of them. What each thread wrote before the call is visible to all after it. TOFT_EARG: the
 * number of parties is 0. */
TOFT_API int toft_frames_arrive_and_wait(toft_frames *frames);
/* Lowers the number of parties by one, for this frame and all later ones, and does not wait: the call of a thread that
 * leaves the loop. The last party that leaves does not end the frame. TOFT_EARG: the number of parties is 0. */
TOFT_API int toft_frames_arrive_and_drop(toft_frames *frames);

#ifdef __cplusplus
}
#endif
#endif
