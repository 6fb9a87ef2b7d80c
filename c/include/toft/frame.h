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
 * calls require that no other thread uses these frames at the same time: it waits in toft_frames_arrive_and_wait, was
 * joined, or waits for work. A thread may call toft_frame_enter before it works in a frame and toft_frame_leave after
 * it; EXCLUSIVE calls in between fail with TOFT_EBUSY instead of freeing its memory. Threads that do not enter are not
 * detected.
 *
 * A thread that ends leaves its arenas to the next new thread, with their content until the frame ends; there are as
 * many arenas as threads lived at once. A destructor of thread-specific data must call toft_frame_arena again, since an
 * earlier result may belong to another thread by then.
 *
 * FORK. The child has its own copy; arenas of the parent's other threads are emptied like all others, and stay. If one
 * of those threads was in an EXCLUSIVE call, the arena that it was emptying, trimming or counting is lost to the child
 * (its memory stays, its cleanups do not run), and others may not be emptied until their buffer is reused: call
 * toft_frame_arena again.
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

#define TOFT_FRAMES_BUFFERS_MAX 16

/* Creates frames with 1 to TOFT_FRAMES_BUFFERS_MAX `buffers`. `arenas` are the options of a thread's arenas: source,
 * budget, reserve, failure, checks; NULL: as toft_create. The source must be thread-safe, and a buffer is not allowed.
 * Returns NULL if there is no memory or an argument is invalid. */
TOFT_API TOFT_NODISCARD toft_frames *toft_frames_create(uint32_t buffers, const struct toft_options *arenas);
/* EXCLUSIVE. Runs the cleanups of all frames and returns all memory. Returns TOFT_EBUSY, and changes nothing, if a
 * thread has entered, waits in toft_frames_arrive_and_wait, or an arena is claimed. NULL is ignored. */
TOFT_API int toft_frames_release(toft_frames *frames);

/* Returns the calling thread's arena of the present frame. If the thread's last call was for the same frames, this
 * costs two loads and a compare. toft_release and toft_adopt have no effect on the arena. Returns NULL if there is no
 * memory for a thread's first arena, or if a cleanup calls it while the frame ends. */
TOFT_API toft_arena *toft_frame_arena(toft_frames *frames);

/* EXCLUSIVE. Ends the frame and begins the next: the oldest frame's arenas are emptied for all threads, their cleanups
 * run on the calling thread, and memory that is not kept goes to its cache. Returns TOFT_EBUSY, and changes nothing, if
 * a thread has entered, an arena to be emptied is claimed or runs a callback, also one of another library's instrument,
 * or another thread advances; TOFT_ECORRUPT: it is done, and bytes were written outside a checked allocation. */
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

/* ---- ending a frame from all threads of a loop ---- */

/* Sets how many threads take part in each frame: as many as call toft_frames_arrive_and_wait. 0, the initial value:
 * none. Returns TOFT_EBUSY, with nothing changed, while a thread waits. A child of a fork has the parent's number and
 * none of its waiting threads. */
TOFT_API int toft_frames_set_parties(toft_frames *frames, size_t parties);
/* Waits until all parties have called it; one of them then calls toft_frames_advance while the others wait. Returns
 * that call's result, to all of them. What each thread wrote before the call is visible to all after it. TOFT_EARG:
 * the number of parties is 0. */
TOFT_API int toft_frames_arrive_and_wait(toft_frames *frames);
/* Lowers the number of parties by one, for this frame and all later ones, and does not wait: the call of a thread that
 * leaves the loop. The last party that leaves does not end the frame. TOFT_EARG: the number of parties is 0. */
TOFT_API int toft_frames_arrive_and_drop(toft_frames *frames);

#ifdef __cplusplus
}
#endif
#endif
