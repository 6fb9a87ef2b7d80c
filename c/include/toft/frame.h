/* Frames: memory for one iteration of a loop on all threads: a game's frame, a simulation's step, a batch. Each thread
 * has an arena of its own, and all of them are emptied together when the frame ends.
 *
 *     toft_frames *frames = toft_frames_create(1, NULL);
 *     for (;;) {
 *       ... on any thread: struct hit *h = toft_new(toft_frame_arena(frames), struct hit);
 *       ... all threads have done their part ...
 *       toft_frames_advance(frames);              frees the allocations, keeps the memory
 *     }
 *
 * N BUFFERS keep the allocations of the last N - 1 frames valid while the next ones run: with two, a renderer draws
 * frame 7 while frame 8 is computed. toft_frame_publish sets the root of a frame's data, toft_frame_previous returns it
 * later.
 *
 * A NESTED FRAME is a scope: after TOFT_FRAME(frames, arena), the end of the enclosing block frees what this thread
 * allocated in it.
 *
 * THREADS. toft_frame_arena, toft_frame_publish and toft_frame_previous may be called by all threads at once. EXCLUSIVE
 * calls require that no other thread uses these frames at the same time: it is parked at a barrier (toft_frames_meet),
 * joined, or waiting for work. A thread may call toft_frame_enter before it works in a frame and toft_frame_leave after
 * it; EXCLUSIVE calls in between fail with TOFT_EBUSY instead of freeing its memory. Threads that do not enter are not
 * detected.
 *
 * A thread that ends leaves its arenas to the next new thread, with their content until the frame ends; there are as
 * many arenas as threads lived at once. A destructor of thread-specific data must call toft_frame_arena again, since an
 * earlier result may belong to another thread by then.
 *
 * FORK. The child has its own copy; arenas of the parent's other threads are emptied like all others, and stay. If one
 * of those threads was in an EXCLUSIVE call, the arena that it was emptying, trimming or counting is lost to the child
 * (its memory stays, its cleanups do not run), and others may not be emptied until their
 * buffer is reused: call toft_frame_arena again.
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

/* Creates frames with 1 to TOFT_FRAMES_MOST `buffers`. `arenas` are the options of a thread's arenas: source, budget,
 * reserve, failure, checks; NULL: as toft_create. The source must be thread-safe, and a buffer is not allowed. Returns
 * NULL if there is no memory or an argument is invalid. */
TOFT_API TOFT_NODISCARD toft_frames *toft_frames_create(uint32_t buffers, const struct toft_options *arenas);
/* EXCLUSIVE. Runs the cleanups of all frames and returns all memory. Returns TOFT_EBUSY, and changes nothing, if a
 * thread has entered or an arena is claimed. NULL is ignored. */
TOFT_API int toft_frames_release(toft_frames *frames);

/* Returns the calling thread's arena of the present frame. If the thread's last call was for the same frames, this
 * costs two loads and a compare. toft_release and toft_adopt have no effect on the arena. Returns NULL if there is no
 * memory for a thread's first arena, or if a cleanup calls it while the frame ends. */
TOFT_API toft_arena *toft_frame_arena(toft_frames *frames);

/* EXCLUSIVE. Ends the frame and begins the next: the oldest frame's arenas are emptied for all threads, their cleanups
 * run on the calling thread, and memory that is not kept goes to its cache. Returns TOFT_EBUSY, and changes nothing, if
 * a thread has entered, an arena to be emptied is claimed, or another thread advances; TOFT_ECORRUPT if it is done and
 * a checked arena found bytes written outside an allocation. */
TOFT_API int toft_frames_advance(toft_frames *frames);
/* Returns the number of advances so far. */
TOFT_API uint64_t toft_frames_number(const toft_frames *frames);

/* Publishes the root of the present frame's data to other threads, replacing an earlier one. A thread that reads it
 * also sees everything written before. */
TOFT_API void toft_frame_publish(toft_frames *frames, void *root);
/* Returns the root published in the frame that is `age` frames old; 0 is the present one. NULL if none was published,
 * or if age is not below the number of buffers. The data is read-only. */
TOFT_API const void *toft_frame_previous(const toft_frames *frames, uint32_t age);

/* Marks the calling thread as working in the frame, until as many calls of toft_frame_leave. Returns TOFT_EBUSY while
 * the frame ends; TOFT_ENOMEM if there is no memory, or in a destructor of thread-specific data that runs after Toft's
 * own, when the end of the thread could not be detected. Costs an atomic exchange; nothing if the thread has entered
 * already. */
TOFT_API TOFT_NODISCARD int toft_frame_enter(toft_frames *frames);
/* Ends one toft_frame_enter. TOFT_EARG if there is none. */
TOFT_API int toft_frame_leave(toft_frames *frames);

/* EXCLUSIVE. Returns memory without allocations to its source, until about `keep` bytes of it are left in each arena,
 * and releases the empty arenas of threads that have ended. TOFT_EBUSY as above. */
TOFT_API int toft_frames_trim(toft_frames *frames, size_t keep);

/* Sums over the arenas of all threads and buffers, defined as in toft_stats. */
typedef struct toft_frame_stats {
  uint64_t live, reserved, wasted, blocks, source_calls;
  size_t arenas, threads; /* threads: live ones that have used these frames */
} toft_frame_stats;
/* EXCLUSIVE. TOFT_EBUSY as above; *out is then unchanged. */
TOFT_API int toft_frames_get_stats(toft_frames *frames, toft_frame_stats *out);

/* A nested frame of the calling thread: declares `toft_arena *a`, which is toft_frame_arena(frames) and may be NULL,
 * and a scope of that arena, as TOFT_SCOPE does. gcc and clang only. */
#ifdef TOFT_AT_EXIT
#define TOFT_FRAME(frames, a)               \
  toft_arena *a = toft_frame_arena(frames); \
  toft_scope a##_scope TOFT_AT_EXIT(toft_scope_end) = toft_scope_begin_if(a)
#endif

/* ---- a barrier: threads wait until all have come; it can be used again at once ---- */

typedef struct toft_barrier toft_barrier;

/* For `count` threads. NULL: count is 0, or there is no memory. */
TOFT_API TOFT_NODISCARD toft_barrier *toft_barrier_create(size_t count);
/* Waits until those that are inside toft_barrier_wait have left. NULL is ignored. */
TOFT_API void toft_barrier_destroy(toft_barrier *barrier);
/* Waits until `count` threads wait. 1 for one of them, 0 for the others. What each did before is seen by all after. */
TOFT_API int toft_barrier_wait(toft_barrier *barrier);
/* One thread fewer takes part from now on: the caller, which does not wait. TOFT_EARG: none does. */
TOFT_API int toft_barrier_leave(toft_barrier *barrier);

/* toft_barrier_wait for all threads of a loop, and toft_frames_advance by one of them while the others are parked
 * there: the end of a frame in one call. Returns what that returned, on all of them. */
TOFT_API int toft_frames_meet(toft_frames *frames, toft_barrier *barrier);

#ifdef __cplusplus
}
#endif
#endif
