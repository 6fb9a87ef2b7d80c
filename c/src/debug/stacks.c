/* Call stacks: the platform's unwinder, and the stacks of calls on checked arenas and recyclers, each stored once.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_STACKS_C
#define TOFT_DEBUG_STACKS_C

#include "../platform/atomic.c"
#include "../platform/os.c"

#if defined(_WIN32)
#define TOFT_UNWIND(stack, max) RtlCaptureStackBackTrace(0, (DWORD)(max), stack, NULL)
#elif !defined(TOFT_NO_UNWIND) && (defined(__GLIBC__) || defined(__APPLE__) || defined(__FreeBSD__))
#include <execinfo.h>
#define TOFT_UNWIND(stack, max) (size_t) backtrace(stack, (int)(max))
#elif !defined(TOFT_NO_UNWIND) && defined(__GNUC__)
#include <unwind.h>
#define TOFT_UNWIND(stack, max) toft_unwind(stack, max)

typedef struct toft_stack_walk {
  void **stack;
  size_t depth, max;
} toft_stack_walk;

static _Unwind_Reason_Code toft_unwind_frame(struct _Unwind_Context *context, void *arg) {
  toft_stack_walk *w = (toft_stack_walk *)arg;
  w->stack[w->depth++] = (void *)_Unwind_GetIP(context);
  return w->depth < w->max ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static size_t toft_unwind(void **stack, size_t max) {
  toft_stack_walk w = {stack, 0, max};
  (void)_Unwind_Backtrace(toft_unwind_frame, &w);
  return w.depth;
}
#else
#define TOFT_UNWIND(stack, max) ((void)(stack), (void)(max), (size_t)0)
#endif

#define TOFT_SKIPPED_FRAMES_MAX 16 /* frames of the library and the unwinder before a caller, at most */
#define TOFT_CALL_STACK_MAX 20     /* frames of a finding's call: containers of C++ take many */

/* The index of the frame that returns to `caller`; n: there is none. */
static size_t toft_frame_of(void *const *stack, size_t n, uintptr_t caller) {
  size_t i = 0;
  while (i < n && ((uintptr_t)stack[i] ^ caller) > 1) i++; /* the lowest bit may be Thumb's */
  return i;
}

#ifndef TOFT_OMIT_CHECKS
/* Equal stacks are one object, which is never freed. The frames follow in memory. */
typedef struct toft_call_stack {
  struct toft_call_stack *next;
  size_t depth;
} toft_call_stack;

static toft_lock toft_call_stacks_lock;
static toft_call_stack *toft_call_stacks[1024];

static void **toft_frames_of(const toft_call_stack *s) { return (void **)(uintptr_t)(s + 1); }

/* The stack from the call that returns to `caller`; NULL: the unwinder finds no such frame, or there is no memory. */
static const toft_call_stack *toft_call_stack_from(uintptr_t caller) {
  void *all[TOFT_CALL_STACK_MAX + TOFT_SKIPPED_FRAMES_MAX];
  size_t n = TOFT_UNWIND(all, TOFT_CALL_STACK_MAX + TOFT_SKIPPED_FRAMES_MAX), first = toft_frame_of(all, n, caller);
  size_t depth = n - first < TOFT_CALL_STACK_MAX ? n - first : TOFT_CALL_STACK_MAX, bytes = depth * sizeof *all;
  uintptr_t hash = 0;
  if (depth == 0) return NULL;
  for (size_t i = 0; i < depth; i++) hash = hash * 31 + ((uintptr_t)all[first + i] >> 1);
  toft_lock_take(&toft_call_stacks_lock);
  toft_call_stack **in = &toft_call_stacks[(hash ^ hash >> 10) % 1024], *s = *in;
  while (s != NULL && (s->depth != depth || memcmp(toft_frames_of(s), all + first, bytes) != 0)) s = s->next;
  if (s == NULL && (s = (toft_call_stack *)malloc(sizeof *s + bytes)) != NULL) {
    s->depth = depth;
    memcpy(toft_frames_of(s), all + first, bytes);
    s->next = *in;
    *in = s;
  }
  TOFT_UNLOCK(&toft_call_stacks_lock);
  return s;
}
#endif

#endif
