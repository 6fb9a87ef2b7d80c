/* Sampling: one allocation in so many bytes is looked at, and stands for those that were not.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_SAMPLING_C
#define TOFT_DEBUG_SAMPLING_C

#include "../core/blocks.c"
#include "../platform/os.c"
#include "accounting.c"

#if defined(_WIN32)
#define TOFT_UNWIND(stack, most) RtlCaptureStackBackTrace(0, (DWORD)(most), stack, NULL)
#elif !defined(TOFT_NO_UNWIND) && (defined(__GLIBC__) || defined(__APPLE__) || defined(__FreeBSD__))
#include <execinfo.h>
#define TOFT_UNWIND(stack, most) (size_t) backtrace(stack, (int)(most))
#elif !defined(TOFT_NO_UNWIND) && defined(__GNUC__)
#include <unwind.h>
#define TOFT_UNWIND(stack, most) toft_unwind(stack, most)

typedef struct toft_walked {
  void **stack;
  size_t depth, most;
} toft_walked;

static _Unwind_Reason_Code toft_unwind_frame(struct _Unwind_Context *context, void *arg) {
  toft_walked *w = (toft_walked *)arg;
  w->stack[w->depth++] = (void *)_Unwind_GetIP(context);
  return w->depth < w->most ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static size_t toft_unwind(void **stack, size_t most) {
  toft_walked w = {stack, 0, most};
  (void)_Unwind_Backtrace(toft_unwind_frame, &w);
  return w.depth;
}
#else
#define TOFT_UNWIND(stack, most) ((void)(stack), (void)(most), (size_t)0)
#endif

#define TOFT_STACK 64         /* calls that are kept of a stack */
#define TOFT_FRAMES_BEFORE 16 /* of the library and the unwinder, at most, in front of them */
#define TOFT_MAX_SITES 65536

/* Behind it: the stack. */
struct toft_sampled {
  toft_sampled *next;
  uint64_t hash;
  uintptr_t site;
  size_t tag, depth;
  double count, bytes;
};

static void **toft_site_stack(toft_sampled *s) { return (void **)(void *)(s + 1); }

static void toft_clear_sites(toft_watch *w) {
  for (size_t i = 0; i < TOFT_SITE_LISTS && w->sites != NULL; i++) {
    toft_sampled *s = w->sites[i];
    w->sites[i] = NULL;
    while (s != NULL) {
      toft_sampled *next = s->next;
      free(s);
      s = next;
    }
  }
  w->site_count = 0;
  w->lost_count = w->lost_bytes = 0;
}

/* Bytes to the next sample: `period` on average, and without memory. */
static uint64_t toft_distance(toft_watch *w) {
  w->random ^= w->random << 13;
  w->random ^= w->random >> 7;
  w->random ^= w->random << 17;
  uint64_t u = (w->random >> 32) | 1; /* of 2^32 */
  unsigned whole = 0;
  while (u >> whole > 1) whole++;
  /* The binary logarithm's bits behind the point, by squaring: there is no need of libm. */
  uint64_t log = (uint64_t)whole << 16, y = u << (31 - whole);
  for (unsigned bit = 16; bit-- > 0;) {
    y = (y * y) >> 31;
    if (y >> 32 != 0) {
      log |= (uint64_t)1 << bit;
      y >>= 1;
    }
  }
  double nats = (double)(((uint64_t)32 << 16) - log) / 65536.0 * 0.69314718055994531;
  /* Whole numbers have no memory if each byte has the same chance: nats / ln(1 + 1 / period), by its first terms. */
  double middle = (double)w->period + 0.5, part = 0.25 / (middle * middle);
  double distance = nats * middle / (1 + part / 3 + part * part / 5);
  return distance < 9e18 ? (uint64_t)distance : UINT64_MAX; /* never, and a double above 2^64 has no such number */
}

static void toft_sample_after(toft_watch *w, uint64_t allocated) {
  uint64_t distance = toft_distance(w);
  w->next_sample = distance <= UINT64_MAX - allocated ? allocated + distance : UINT64_MAX;
}

/* What ops->set does for sampling. */
static int toft_set_period(toft_state *a, uint64_t period) {
  toft_watch *w = toft_watched(a);
  if (w == NULL) return TOFT_ENOMEM;
  w->period = period;
  toft_sample_after(w, a->allocated);
  toft_switched(a);
  return TOFT_OK;
}

/* The stack from the call on the arena, which returns to `caller`; that alone where nobody can say more. */
static size_t toft_capture(toft_state *a, void **stack, uintptr_t caller) {
  void *all[TOFT_STACK + TOFT_FRAMES_BEFORE];
  size_t n, first = 0, most = TOFT_STACK + TOFT_FRAMES_BEFORE;
  toft_watch *w = a->watch;
  if (w->unwinder != NULL) {
    uint32_t was = toft_call_out(a);
    n = toft_min(w->unwinder(w->unwinder_arg, all, most), most);
    toft_call_back(a, was);
  } else {
    n = TOFT_UNWIND(all, most);
  }
  while (first < n && ((uintptr_t)all[first] ^ caller) > 1) first++; /* the lowest bit may tell Thumb */
  if (first == n && caller != 0) {
    all[0] = (void *)caller;
    first = 0;
    n = 1;
  }
  n = toft_min(n - first, TOFT_STACK);
  memcpy(stack, all + first, n * sizeof *stack);
  return n;
}

static toft_sampled *toft_site_of(toft_watch *w, void *const *stack, size_t depth, uintptr_t site) {
  uint64_t hash = (uint64_t)site * 31 + w->tag;
  for (size_t i = 0; i < depth; i++) hash = (hash ^ (uint64_t)(uintptr_t)stack[i]) * 0x9E3779B97F4A7C15u;
  if (w->sites == NULL) {
    w->sites = (toft_sampled **)calloc(TOFT_SITE_LISTS, sizeof(void *));
    if (w->sites == NULL) return NULL;
  }
  toft_sampled **list = &w->sites[hash >> 56];
  for (toft_sampled *s = *list; s != NULL; s = s->next)
    if (s->hash == hash && s->site == site && s->tag == w->tag && s->depth == depth &&
        memcmp(toft_site_stack(s), stack, depth * sizeof *stack) == 0)
      return s;
  if (w->site_count == TOFT_MAX_SITES) return NULL;
  toft_sampled *s = (toft_sampled *)malloc(sizeof *s + depth * sizeof *stack);
  if (s == NULL) return NULL;
  s->next = *list;
  s->hash = hash;
  s->site = site;
  s->tag = w->tag;
  s->depth = depth;
  s->count = s->bytes = 0;
  memcpy(toft_site_stack(s), stack, depth * sizeof *stack);
  *list = s;
  w->site_count++;
  return s;
}

/* `size` bytes were asked for and allocated; `before`: what was allocated until then. */
static void toft_sample(toft_state *a, size_t size, uint64_t before, uintptr_t site, uintptr_t caller) {
  toft_watch *w = a->watch;
  uint64_t hits = 0, from = w->next_sample > before ? w->next_sample : before;
  uint64_t many = a->allocated > from ? (a->allocated - from) / w->period : 0;
  if (many > 256) { /* as good as one by one, and not so slow */
    hits = many;
    toft_sample_after(w, a->allocated);
  }
  while (w->next_sample < a->allocated) {
    hits += w->next_sample >= before; /* else it was in a range, or the arena's own */
    toft_sample_after(w, w->next_sample);
  }
  if (hits == 0) return;
  void *stack[TOFT_STACK];
  size_t depth = toft_capture(a, stack, caller);
  toft_sampled *s = toft_site_of(w, stack, depth, site);
  /* One that takes so many bytes of the arena is met once in period / bytes times. */
  double count = (double)hits * (double)w->period / (double)(a->allocated - before);
  *(s != NULL ? &s->count : &w->lost_count) += count;
  *(s != NULL ? &s->bytes : &w->lost_bytes) += count * (double)size;
}

static TOFT_COLD void toft_note_watched(toft_state *a, size_t size, uint64_t before, uintptr_t site, uintptr_t caller) {
  if (a->allocated <= before) return;
  if (a->watch->period != 0) toft_sample(a, size, before, site, caller);
  toft_tell_over(a);
}

#endif
