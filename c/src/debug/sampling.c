/* Sampling: records the call stack of one allocation in a given number of bytes, as an estimate for all.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_SAMPLING_C
#define TOFT_DEBUG_SAMPLING_C

#include "../core/blocks.c"
#include "../platform/os.c"
#include "accounting.c"
#include "stacks.c"

#define TOFT_STACK_MAX 64 /* recorded frames of a stack */
#define TOFT_SITES_MAX 65536

/* The stack follows in memory. */
struct toft_sampled_site {
  toft_sampled_site *next;
  uint64_t hash;
  uintptr_t site;
  size_t tag, depth;
  double count, bytes;
};

static void **toft_site_stack(toft_sampled_site *s) { return (void **)(void *)(s + 1); }

static void toft_clear_sites(toft_instruments *w) {
  for (size_t i = 0; i < TOFT_SITE_LISTS && w->sites != NULL; i++) {
    toft_sampled_site *s = w->sites[i];
    w->sites[i] = NULL;
    while (s != NULL) {
      toft_sampled_site *next = s->next;
      free(s);
      s = next;
    }
  }
  w->site_count = 0;
  w->unattributed_count = w->unattributed_bytes = 0;
}

/* Bytes to the next sample: exponentially distributed with mean `period`. */
static uint64_t toft_next_distance(toft_instruments *w) {
  w->random ^= w->random << 13;
  w->random ^= w->random >> 7;
  w->random ^= w->random << 17;
  uint64_t u = (w->random >> 32) | 1; /* in units of 2^-32 */
  unsigned bits = 0;
  while (u >> bits > 1) bits++;
  /* the fractional bits of the binary logarithm, by squaring: avoids libm */
  uint64_t log = (uint64_t)bits << 16, y = u << (31 - bits);
  for (unsigned bit = 16; bit-- > 0;) {
    y = (y * y) >> 31;
    if (y >> 32 != 0) {
      log |= (uint64_t)1 << bit;
      y >>= 1;
    }
  }
  double nats = (double)(((uint64_t)32 << 16) - log) / 65536.0 * 0.69314718055994531;
  /* in whole bytes each byte must have the same chance: nats / ln(1 + 1 / period), by its first terms */
  double middle = (double)w->period + 0.5, part = 0.25 / (middle * middle);
  double distance = nats * middle / (1 + part / 3 + part * part / 5);
  return distance < 9e18 ? (uint64_t)distance : UINT64_MAX; /* effectively never; larger doubles do not convert */
}

static void toft_sample_after(toft_instruments *w, uint64_t allocated) {
  uint64_t distance = toft_next_distance(w);
  w->next_sample = distance <= UINT64_MAX - allocated ? allocated + distance : UINT64_MAX;
}

/* ops->set for sampling. */
static int toft_apply_sampling(toft_state *a, uint64_t period) {
  toft_instruments *w = toft_instruments_get(a);
  if (w == NULL) return TOFT_ENOMEM;
  w->period = period;
  toft_sample_after(w, a->allocated);
  toft_update_instrumented(a);
  return TOFT_OK;
}

static uint64_t toft_sampling_period(const toft_state *a) {
  return a->instruments != NULL ? a->instruments->period : 0;
}

/* The call stack from the call on the arena, which returns to `caller`; only `caller` if the unwinder finds no such
 * frame. */
static size_t toft_capture_stack(toft_state *a, void **stack, uintptr_t caller) {
  void *all[TOFT_STACK_MAX + TOFT_SKIPPED_FRAMES_MAX];
  size_t n, max = TOFT_STACK_MAX + TOFT_SKIPPED_FRAMES_MAX;
  toft_instruments *w = a->instruments;
  if (w->unwinder != NULL) {
    uint32_t was_busy = toft_begin_callback(a);
    n = toft_min(w->unwinder(w->unwinder_arg, all, max), max);
    toft_end_callback(a, was_busy);
  } else {
    n = TOFT_UNWIND(all, max);
  }
  size_t first = toft_frame_of(all, n, caller);
  if (first == n && caller != 0) {
    all[0] = (void *)caller;
    first = 0;
    n = 1;
  }
  n = toft_min(n - first, TOFT_STACK_MAX);
  memcpy(stack, all + first, n * sizeof *stack);
  return n;
}

static toft_sampled_site *toft_site_of(toft_instruments *w, void *const *stack, size_t depth, uintptr_t site) {
  uint64_t hash = (uint64_t)site * 31 + w->tag;
  for (size_t i = 0; i < depth; i++) hash = (hash ^ (uint64_t)(uintptr_t)stack[i]) * 0x9E3779B97F4A7C15u;
  if (w->sites == NULL) {
    w->sites = (toft_sampled_site **)calloc(TOFT_SITE_LISTS, sizeof(void *));
    if (w->sites == NULL) return NULL;
  }
  toft_sampled_site **list = &w->sites[hash >> 56];
  for (toft_sampled_site *s = *list; s != NULL; s = s->next)
    if (s->hash == hash && s->site == site && s->tag == w->tag && s->depth == depth &&
        memcmp(toft_site_stack(s), stack, depth * sizeof *stack) == 0)
      return s;
  if (w->site_count == TOFT_SITES_MAX) return NULL;
  toft_sampled_site *s = (toft_sampled_site *)malloc(sizeof *s + depth * sizeof *stack);
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

/* Precondition: `size` bytes were allocated; `before` is the previous value of `allocated`. */
static void toft_sample(toft_state *a, size_t size, uint64_t before, uintptr_t site, uintptr_t caller) {
  toft_instruments *w = a->instruments;
  uint64_t hits = 0, from = w->next_sample > before ? w->next_sample : before;
  uint64_t many = a->allocated > from ? (a->allocated - from) / w->period : 0;
  if (many > 256) { /* same distribution, fewer steps */
    hits = many;
    toft_sample_after(w, a->allocated);
  }
  while (w->next_sample < a->allocated) {
    hits += w->next_sample >= before; /* else it was in a claimed range, or in bytes of the arena itself */
    toft_sample_after(w, w->next_sample);
  }
  if (hits == 0) return;
  void *stack[TOFT_STACK_MAX];
  size_t depth = toft_capture_stack(a, stack, caller);
  toft_sampled_site *s = toft_site_of(w, stack, depth, site);
  /* an allocation of n bytes is sampled with probability n / period */
  double count = (double)hits * (double)w->period / (double)(a->allocated - before);
  if (w->profiled != NULL) toft_profile_sample(w, stack, depth, site, count, count * (double)size);
  *(s != NULL ? &s->count : &w->unattributed_count) += count;
  *(s != NULL ? &s->bytes : &w->unattributed_bytes) += count * (double)size;
}

/* Called by each operation that allocated: `before` is the previous value of `allocated`, `caller` the return address
 * of the operation. */
static void toft_instrument_alloc(toft_state *a, size_t size, uint64_t before, uintptr_t site, uintptr_t caller) {
  if (!(a->state & TOFT_INSTRUMENTED) || a->allocated <= before) return;
  a->instruments->caller = site != 0 ? site : caller;
  if (a->instruments->period != 0) toft_sample(a, size, before, site, caller);
  toft_check_soft_budget(a);
}

#endif
