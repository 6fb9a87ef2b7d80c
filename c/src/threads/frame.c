/* Frames: per-thread arenas that are emptied together.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_THREADS_FRAME_C
#define TOFT_THREADS_FRAME_C

#include "../core/create_release.c"
#include "../core/reset_fast.c"
#include "../debug/debug_records.c"
#include "barrier.c"
#include "thread_state.c"

/* A thread's entry in frames. It lives as long as the frames; after the thread's end a new thread takes it over. */
struct toft_frame_thread {
  toft_state *arenas[TOFT_FRAMES_BUFFERS_MAX]; /* NULL: not created yet */
  toft_reset_state reset_state[TOFT_FRAMES_BUFFERS_MAX];
  size_t entered; /* number of enters without a leave */
  toft_frames *frames;
  size_t id;
  int in_use;                         /* with toft_threads_lock */
  int taken_over;                     /* the arenas may be pinned to the thread that used the entry before */
  const toft_thread_state *transient; /* a thread whose end cannot be detected: freed when the frame ends */
  toft_frame_thread *next;            /* in the frames' list; never changes */
  toft_frame_thread *next_of_thread;  /* in the thread's list */
};

struct toft_frames {
  uint64_t key; /* identifies the present frame among all frames */
  uint64_t number;
  uint32_t buffers, current;
  size_t id;
  const toft_options *arena_options;
  toft_options options;
  unsigned char pad[128];                   /* members above are written by exclusive calls only */
  size_t exclusive;                         /* an exclusive call runs or begins */
  const toft_thread_state *exclusive_owner; /* the thread in that call */
  toft_state *changing;                     /* the arena being changed, or changed last */
  toft_frame_thread *threads;               /* entries are never removed; atomic: one may be added at any time */
  void *roots[TOFT_FRAMES_BUFFERS_MAX];
  toft_frames *next;
  toft_barrier barrier;
};

static uint64_t toft_last_frame_key; /* both: with toft_threads_lock */
static toft_frames *toft_all_frames;

toft_frames *toft_frames_create(uint32_t buffers, const toft_options *arenas) {
  if (buffers == 0 || buffers > TOFT_FRAMES_BUFFERS_MAX || !toft_options_are_valid(arenas)) return NULL;
  toft_frames *f = (toft_frames *)toft_os_heap_take(sizeof *f, 128);
  if (f == NULL) return NULL;
  memset((void *)f, 0, sizeof *f);
  if (!toft_barrier_init(&f->barrier)) {
    toft_os_heap_put(f);
    return NULL;
  }
  f->buffers = buffers;
  f->arena_options = toft_options_copy(&f->options, arenas);
  toft_lock_take(&toft_threads_lock);
  f->id = toft_new_owner_id();
  f->key = ++toft_last_frame_key;
  f->next = toft_all_frames;
  toft_all_frames = f;
  TOFT_UNLOCK(&toft_threads_lock);
  return f;
}

/* ---- a thread's arena ---- */

/* Returns the thread's transient entry, an unused one, or a new one. NULL: no memory. */
static toft_frame_thread *toft_frame_register_thread(toft_frames *f) {
  toft_thread_state *h = &toft_this_thread;
  toft_frame_thread *s, *empty = NULL, **at = &h->frame_threads;
  int transient = h->ended || !toft_os_arm_thread_exit();
  toft_lock_take(&toft_threads_lock);
  while ((s = *at) != NULL) { /* frees entries of released frames */
    if (s->frames != NULL) {
      at = &s->next_of_thread;
      continue;
    }
    *at = s->next_of_thread;
    toft_os_heap_put(s);
  }
  for (s = f->threads; s != NULL && s->transient != h; s = s->next)
    if (!s->in_use && empty == NULL) empty = s;
  TOFT_ASSERT(empty == NULL || (empty->transient == NULL && TOFT_LOAD(&empty->entered) == 0));
  if (s == NULL && (s = empty) != NULL) s->taken_over = 1;
  if (s == NULL && (s = (toft_frame_thread *)toft_os_heap_take(sizeof *s, 128)) != NULL) {
    memset((void *)s, 0, sizeof *s);
    s->frames = f;
    s->id = f->id;
    s->next = f->threads;
    TOFT_STORE_POINTER_RELEASE(toft_frame_thread, &f->threads, s);
  }
  if (s != NULL) {
    TOFT_ASSERT(s->frames == f && s->id == f->id);
    s->in_use = 1;
    s->transient = transient ? h : NULL;
    s->next_of_thread = transient ? NULL : h->frame_threads;
    if (!transient) h->frame_threads = s;
  }
  TOFT_UNLOCK(&toft_threads_lock);
  return s;
}

static toft_frame_thread *toft_frame_this_thread(toft_frames *f) {
  toft_frame_thread *s = toft_this_thread.frame_threads;
  while (s != NULL && s->id != f->id) s = s->next_of_thread;
  return s != NULL ? s : toft_frame_register_thread(f);
}

static TOFT_COLD toft_arena *toft_frame_find(toft_frames *f) {
  toft_thread_state *h = &toft_this_thread;
  if (TOFT_LOAD_POINTER(const toft_thread_state, &f->exclusive_owner) == h) return NULL; /* from a cleanup */
  toft_frame_thread *s = toft_frame_this_thread(f);
  if (s == NULL) return NULL;
  for (uint32_t i = 0; s->taken_over && i < f->buffers; i++) /* not when it registers: an exclusive call may run then */
    if (s->arenas[i] != NULL) (void)toft_pin_to(s->arenas[i], 0);
  s->taken_over = 0;
  TOFT_ASSERT(f->current < f->buffers);
  toft_state *a = s->arenas[f->current];
  TOFT_ASSERT(a == NULL || (a->state & TOFT_CACHE_OWNED));
  if (a == NULL) {
    toft_arena *made = toft_create_with(f->arena_options);
    if (made == NULL) return NULL;
    a = toft_state_of(made);
    toft_sync_in(a);
    a->state |= TOFT_CACHE_OWNED;
    toft_set_limit(a);
    s->reset_state[f->current].round_max = 0;
    toft_reset_state_save(a, &s->reset_state[f->current]);
    s->arenas[f->current] = a;
  }
  h->frame_key = f->key;
  h->frame_arena = &a->head;
  return &a->head;
}

toft_arena *toft_frame_arena(toft_frames *f) {
  const toft_thread_state *h = &toft_this_thread;
  return TOFT_LIKELY(h->frame_key == f->key) ? h->frame_arena : toft_frame_find(f);
}

/* With toft_threads_lock. */
static void toft_frames_release_thread(toft_thread_state *h) {
  while (h->frame_threads != NULL) {
    toft_frame_thread *s = h->frame_threads;
    h->frame_threads = s->next_of_thread;
    TOFT_STORE_RELEASE(&s->entered, 0);
    s->in_use = 0;
    if (s->frames == NULL) toft_os_heap_put(s);
  }
}

/* In a child: if the thread in an exclusive call does not exist here, the arena that it was changing is inconsistent,
 * and lost. */
static void toft_frames_reset_exclusive(toft_frames *f) {
  toft_thread_state *h = &toft_this_thread;
  toft_state *lost = f->changing;
  if (f->exclusive_owner == h) return; /* the forking thread continues its call here */
  for (toft_frame_thread *s = f->threads; s != NULL && lost != NULL; s = s->next)
    for (uint32_t i = 0; i < f->buffers; i++)
      if (s->arenas[i] == lost) s->arenas[i] = NULL;
  if (lost != NULL && h->frame_arena == &lost->head) {
    h->frame_key = 0;
    h->frame_arena = NULL;
  }
  f->changing = NULL;
  f->exclusive_owner = NULL;
  f->exclusive = 0;
}

/* In a child, with toft_threads_lock: frees the entries of threads that do not exist here. */
static void toft_frames_reset_after_fork(void) {
  for (toft_frames *f = toft_all_frames; f != NULL; f = f->next) {
    for (toft_frame_thread *s = f->threads; s != NULL; s = s->next) {
      const toft_frame_thread *own = toft_this_thread.frame_threads;
      while (own != NULL && own != s) own = own->next_of_thread;
      if (own != NULL || s->transient == &toft_this_thread) continue;
      s->entered = 0;
      s->in_use = 0;
      s->transient = NULL;
    }
    toft_barrier_reset_after_fork(&f->barrier, f->barrier.ending && f->exclusive_owner == &toft_this_thread);
    toft_frames_reset_exclusive(f);
  }
}

/* ---- enter, leave, exclusive calls ---- */

int toft_frame_enter(toft_frames *f) {
  toft_frame_thread *s = toft_frame_this_thread(f);
  if (s == NULL || s->transient != NULL) return TOFT_ENOMEM;
  if (s->entered != 0) {
    TOFT_STORE(&s->entered, s->entered + 1);
    return TOFT_OK;
  }
  (void)TOFT_SWAP_SEQ_CST(&s->entered, 1);
  if (TOFT_LOAD_SEQ_CST(&f->exclusive) == 0) return TOFT_OK;
  TOFT_STORE_RELEASE(&s->entered, 0);
  return TOFT_EBUSY;
}

int toft_frame_leave(toft_frames *f) {
  toft_frame_thread *s = toft_frame_this_thread(f);
  if (s == NULL || s->entered == 0) return TOFT_EARG;
  TOFT_STORE_RELEASE(&s->entered, s->entered - 1);
  return TOFT_OK;
}

enum { TOFT_EXCLUSIVE_READ, TOFT_EXCLUSIVE_OLDEST, TOFT_EXCLUSIVE_ALL }; /* arenas that must not be claimed or busy */

static toft_frame_thread *toft_frame_first(toft_frames *f) {
  return TOFT_LOAD_POINTER_ACQUIRE(toft_frame_thread, &f->threads);
}

/* Called before each change of an arena, for a child that is forked during it. */
static void toft_frames_set_changing(toft_frames *f, toft_state *a) {
  TOFT_ASSERT(TOFT_LOAD(&f->exclusive) == 1 && f->exclusive_owner == &toft_this_thread);
  TOFT_STORE_POINTER_RELEASE(toft_state, &f->changing, a);
  TOFT_FENCE_RELEASE();
}

static void toft_frames_end_exclusive(toft_frames *f) {
  TOFT_ASSERT(TOFT_LOAD(&f->exclusive) == 1 && f->exclusive_owner == &toft_this_thread);
  TOFT_STORE_POINTER_RELEASE(toft_state, &f->changing, NULL);
  TOFT_STORE_POINTER(const toft_thread_state, &f->exclusive_owner, NULL);
  TOFT_STORE_RELEASE(&f->exclusive, 0);
}

/* Whether the arena is claimed, or a callback runs: the arena's, or one of another library's instrument. */
static int toft_frames_is_refusing(toft_frames *f, toft_state *a) {
  if (a == NULL || toft_is_own(&a->head)) return a != NULL && (a->state & TOFT_REFUSING);
  toft_frames_set_changing(f, a);
  size_t pinned = toft_pin_to(a, 0);
  int refusing = toft_is_refusing(&a->head);
  (void)toft_pin_to(a, pinned);
  return refusing;
}

/* Begins an exclusive call: no thread has entered, and enters fail until toft_frames_end_exclusive. Else TOFT_EBUSY. */
static int toft_frames_begin_exclusive(toft_frames *f, int which) {
  if (TOFT_SWAP_SEQ_CST(&f->exclusive, 1) != 0) return TOFT_EBUSY;
  toft_lock_take(&toft_threads_lock); /* synchronizes with threads that have ended */
  TOFT_UNLOCK(&toft_threads_lock);
  uint32_t from = which == TOFT_EXCLUSIVE_OLDEST ? (f->current + 1) % f->buffers : 0;
  uint32_t to = which == TOFT_EXCLUSIVE_READ ? 0 : which == TOFT_EXCLUSIVE_OLDEST ? from + 1 : f->buffers;
  TOFT_STORE_POINTER(const toft_thread_state, &f->exclusive_owner, &toft_this_thread);
  for (toft_frame_thread *s = toft_frame_first(f); s != NULL; s = s->next) {
    int busy = TOFT_LOAD_SEQ_CST(&s->entered) != 0;
    for (uint32_t i = from; i < to && !busy; i++) busy = toft_frames_is_refusing(f, s->arenas[i]);
    if (!busy) continue;
    toft_frames_end_exclusive(f);
    return TOFT_EBUSY;
  }
  return TOFT_OK;
}

/* ---- the end of a frame ---- */

int toft_frames_advance(toft_frames *f) {
  int code = toft_frames_begin_exclusive(f, TOFT_EXCLUSIVE_OLDEST);
  if (code != TOFT_OK) return code;
  uint32_t next = (f->current + 1) % f->buffers;
  toft_lock_take(&toft_threads_lock);
  f->key = ++toft_last_frame_key;
  for (toft_frame_thread *s = toft_frame_first(f); s != NULL; s = s->next)
    if (s->transient != NULL) {
      s->in_use = 0;
      s->transient = NULL;
    }
  TOFT_UNLOCK(&toft_threads_lock);
  f->current = next;
  f->number++;
  TOFT_STORE_POINTER(void, &f->roots[next], NULL);
  for (toft_frame_thread *s = toft_frame_first(f); s != NULL; s = s->next) {
    toft_state *a = s->arenas[next];
    if (a == NULL) continue;
    toft_frames_set_changing(f, a);
    if (toft_reset_fast(a, &s->reset_state[next])) {
      toft_unseal(a, s->reset_state[next].limit);
      continue;
    }
    size_t pinned = toft_pin_to(a, 0); /* this call is allowed on a pinned arena */
    if (toft_reset_full(a, &s->reset_state[next], TOFT_KEEP_RECENT, 0) == TOFT_ECORRUPT) code = TOFT_ECORRUPT;
    (void)toft_pin_to(a, pinned);
  }
  toft_frames_end_exclusive(f);
  return code;
}

static int toft_frames_advance_callback(void *frames) { return toft_frames_advance((toft_frames *)frames); }

int toft_frames_set_parties(toft_frames *f, size_t parties) { return toft_barrier_set_parties(&f->barrier, parties); }

int toft_frames_arrive_and_wait(toft_frames *f) {
  return toft_barrier_arrive(&f->barrier, toft_frames_advance_callback, f);
}

int toft_frames_arrive_and_drop(toft_frames *f) { return toft_barrier_drop(&f->barrier); }

uint64_t toft_frames_number(const toft_frames *f) { return f->number; }

void toft_frame_publish(toft_frames *f, void *root) { TOFT_STORE_POINTER_RELEASE(void, &f->roots[f->current], root); }

const void *toft_frame_previous(const toft_frames *f, uint32_t age) {
  if (age >= f->buffers) return NULL;
  return TOFT_LOAD_POINTER_ACQUIRE(void, &f->roots[(f->current + f->buffers - age) % f->buffers]);
}

/* ---- trim, statistics, release ---- */

static void toft_frame_release_arena(toft_state *a) {
  TOFT_ASSERT(a->state & TOFT_CACHE_OWNED);
  (void)toft_pin_to(a, 0);
  a->state &= ~(uint32_t)TOFT_CACHE_OWNED;
  toft_release(&a->head);
}

int toft_frames_trim(toft_frames *f, size_t keep) {
  int code = toft_frames_begin_exclusive(f, TOFT_EXCLUSIVE_ALL);
  if (code != TOFT_OK) return code;
  for (toft_frame_thread *s = toft_frame_first(f); s != NULL; s = s->next) {
    toft_lock_take(&toft_threads_lock);
    int in_use = s->in_use; /* a thread that takes the entry over later finds an arena or NULL */
    toft_state *released[TOFT_FRAMES_BUFFERS_MAX];
    for (uint32_t i = 0; i < f->buffers; i++) {
      toft_state *a = s->arenas[i];
      released[i] = NULL;
      if (a == NULL || in_use) continue;
      toft_sync_in(a);
      toft_set_limit(a);
      if (a->live == 0) released[i] = a;
      if (a->live == 0) s->arenas[i] = NULL;
    }
    TOFT_UNLOCK(&toft_threads_lock);
    for (uint32_t i = 0; i < f->buffers; i++) {
      if (released[i] != NULL) toft_frame_release_arena(released[i]);
      if (s->arenas[i] == NULL) continue;
      toft_frames_set_changing(f, s->arenas[i]);
      size_t pinned = toft_pin_to(s->arenas[i], 0);
      toft_trim(&s->arenas[i]->head, keep);
      (void)toft_pin_to(s->arenas[i], pinned);
      if (toft_epoch(s->arenas[i]) != s->reset_state[i].epoch) s->reset_state[i].epoch = 0;
    }
  }
  toft_frames_end_exclusive(f);
  return TOFT_OK;
}

int toft_frames_get_stats(toft_frames *f, toft_frame_stats *out) {
  toft_frame_stats sum;
  int code = toft_frames_begin_exclusive(f, TOFT_EXCLUSIVE_READ);
  if (code != TOFT_OK) return code;
  memset(&sum, 0, sizeof sum);
  for (toft_frame_thread *s = toft_frame_first(f); s != NULL; s = s->next) {
    toft_lock_take(&toft_threads_lock);
    sum.threads += s->in_use && s->transient == NULL;
    TOFT_UNLOCK(&toft_threads_lock);
    for (uint32_t i = 0; i < f->buffers; i++) {
      if (s->arenas[i] == NULL) continue;
      toft_frames_set_changing(f, s->arenas[i]);
      toft_stats one = toft_get_stats(&s->arenas[i]->head);
      sum.live += one.live;
      sum.reserved += one.reserved;
      sum.wasted += one.wasted;
      sum.blocks += one.blocks;
      sum.source_calls += one.source_calls;
      sum.arenas++;
    }
  }
  toft_frames_end_exclusive(f);
  *out = sum;
  return TOFT_OK;
}

TOFT_RARE int toft_frames_release(toft_frames *f) {
  if (f == NULL) return TOFT_OK;
  if (!toft_barrier_is_idle(&f->barrier)) return TOFT_EBUSY;
  int code = toft_frames_begin_exclusive(f, TOFT_EXCLUSIVE_ALL);
  if (code != TOFT_OK) return code;
  toft_lock_take(&toft_threads_lock);
  toft_frames **at = &toft_all_frames;
  while (*at != f) at = &(*at)->next;
  *at = f->next;
  f->key = 0; /* toft_frame_arena fails in the cleanups */
  TOFT_UNLOCK(&toft_threads_lock);
  toft_frame_thread *s = toft_frame_first(f);
  while (s != NULL) {
    toft_frame_thread *next = s->next;
    for (uint32_t i = 0; i < f->buffers; i++)
      if (s->arenas[i] != NULL) toft_frame_release_arena(s->arenas[i]);
    toft_lock_take(&toft_threads_lock);
    s->frames = NULL; /* the thread frees its entry */
    int in_use = s->in_use && s->transient == NULL;
    TOFT_UNLOCK(&toft_threads_lock);
    if (!in_use) toft_os_heap_put(s);
    s = next;
  }
  toft_barrier_release(&f->barrier);
  toft_os_heap_put(f);
  return TOFT_OK;
}

#endif
