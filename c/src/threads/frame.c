/* Frames: arenas of all threads that are emptied together.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_THREADS_FRAME_C
#define TOFT_THREADS_FRAME_C

#include "../core/reset_fast.c"
#include "../debug/debug_records.c"
#include "barrier.c"
#include "thread_state.c"

/* A thread in some frames. It stays as long as they do: when the thread ends, it is the next new one's. */
struct toft_frame_seat {
  toft_state *arenas[TOFT_FRAMES_MOST]; /* NULL: not asked for yet */
  toft_settled settled[TOFT_FRAMES_MOST];
  size_t inside; /* how often its thread has entered */
  toft_frames *frames;
  size_t id;
  int taken;               /* with toft_seats_lock */
  const toft_here *stray;  /* a thread that will not tell when it has ended: free when the frame ends */
  toft_frame_seat *next;   /* of the frames; never changes */
  toft_frame_seat *beside; /* of the thread */
};

struct toft_frames {
  uint64_t key; /* of the present frame: no other frame of any frames has it */
  uint64_t number;
  uint32_t buffers, now;
  size_t id;
  const toft_options *made_with;
  toft_options options;
  unsigned char apart[128]; /* what is above is written while nobody looks */
  size_t alone;             /* a call that must be alone runs, or finds out that it is not */
  const toft_here *only;    /* the thread that is */
  toft_state *in_hand;      /* the arena that it changes just now, or changed last */
  toft_frame_seat *seats;   /* only ever gets longer */
  void *roots[TOFT_FRAMES_MOST];
  toft_frames *other;
};

static uint64_t toft_last_key; /* with toft_seats_lock, both */
static toft_frames *toft_all_frames;

toft_frames *toft_frames_create(uint32_t buffers, const toft_options *arenas) {
  if (buffers == 0 || buffers > TOFT_FRAMES_MOST || !toft_options_are_good(arenas)) return NULL;
  toft_frames *f = (toft_frames *)toft_os_heap_take(sizeof *f, 128);
  if (f == NULL) return NULL;
  memset((void *)f, 0, sizeof *f);
  f->buffers = buffers;
  f->made_with = toft_options_keep(&f->options, arenas);
  toft_lock_take(&toft_seats_lock);
  f->id = toft_seats_new_id();
  f->key = ++toft_last_key;
  f->other = toft_all_frames;
  toft_all_frames = f;
  TOFT_UNLOCK(&toft_seats_lock);
  return f;
}

/* ---- a thread's arena ---- */

/* The one it has as a stray, a free seat, or a new one; NULL: no memory. */
static toft_frame_seat *toft_frame_sit(toft_frames *f) {
  toft_here *h = &toft_tls_here;
  toft_frame_seat *s, *empty = NULL, **at = &h->frame_seats;
  int stray = h->ended || !toft_os_arm();
  toft_lock_take(&toft_seats_lock);
  while ((s = *at) != NULL) { /* those of frames that have gone */
    if (s->frames != NULL) {
      at = &s->beside;
      continue;
    }
    *at = s->beside;
    toft_os_heap_put(s);
  }
  for (s = f->seats; s != NULL && s->stray != h; s = s->next)
    if (!s->taken && empty == NULL) empty = s;
  if (s == NULL && (s = empty) != NULL) /* pinned to whoever had it */
    for (uint32_t i = 0; i < f->buffers; i++)
      if (s->arenas[i] != NULL) (void)toft_pin_to(s->arenas[i], 0);
  if (s == NULL && (s = (toft_frame_seat *)toft_os_heap_take(sizeof *s, 128)) != NULL) {
    memset((void *)s, 0, sizeof *s);
    s->frames = f;
    s->id = f->id;
    s->next = f->seats;
    TOFT_STORE_POINTER_RELEASE(toft_frame_seat, &f->seats, s);
  }
  if (s != NULL) {
    s->taken = 1;
    s->stray = stray ? h : NULL;
    s->beside = stray ? NULL : h->frame_seats;
    if (!stray) h->frame_seats = s;
  }
  TOFT_UNLOCK(&toft_seats_lock);
  return s;
}

static toft_frame_seat *toft_frame_seat_here(toft_frames *f) {
  toft_frame_seat *s = toft_tls_here.frame_seats;
  while (s != NULL && s->id != f->id) s = s->beside;
  return s != NULL ? s : toft_frame_sit(f);
}

static TOFT_COLD toft_arena *toft_frame_find(toft_frames *f) {
  toft_here *h = &toft_tls_here;
  if (TOFT_LOAD_POINTER(const toft_here, &f->only) == h) return NULL; /* its cleanups ask */
  toft_frame_seat *s = toft_frame_seat_here(f);
  if (s == NULL) return NULL;
  toft_state *a = s->arenas[f->now];
  if (a == NULL) {
    toft_arena *made = toft_create_with(f->made_with);
    if (made == NULL) return NULL;
    a = toft_state_of(made);
    toft_enter(a);
    a->state |= TOFT_HELD;
    toft_aim(a);
    s->settled[f->now].high = 0;
    toft_settle_here(a, &s->settled[f->now]);
    s->arenas[f->now] = a;
  }
  h->key = f->key;
  h->frame = &a->head;
  return &a->head;
}

toft_arena *toft_frame_here(toft_frames *f) {
  const toft_here *h = &toft_tls_here;
  return TOFT_LIKELY(h->key == f->key) ? h->frame : toft_frame_find(f);
}

/* With toft_seats_lock. */
static void toft_frames_leave(toft_here *h) {
  while (h->frame_seats != NULL) {
    toft_frame_seat *s = h->frame_seats;
    h->frame_seats = s->beside;
    TOFT_STORE_RELEASE(&s->inside, 0);
    s->taken = 0;
    if (s->frames == NULL) toft_os_heap_put(s);
  }
}

/* A thread that was alone is not in the child: what it had in hand is half of something, and lost. */
static void toft_frames_bury_alone(toft_frames *f) {
  toft_here *h = &toft_tls_here;
  toft_state *lost = f->in_hand;
  if (f->only == h) return; /* it goes on here as well */
  for (toft_frame_seat *s = f->seats; s != NULL && lost != NULL; s = s->next)
    for (uint32_t i = 0; i < f->buffers; i++)
      if (s->arenas[i] == lost) s->arenas[i] = NULL;
  if (lost != NULL && h->frame == &lost->head) {
    h->key = 0;
    h->frame = NULL;
  }
  f->in_hand = NULL;
  f->only = NULL;
  f->alone = 0;
}

/* In a child, with toft_seats_lock: what threads had that it has not got, is for others. */
static void toft_frames_bury(void) {
  for (toft_frames *f = toft_all_frames; f != NULL; f = f->other) {
    for (toft_frame_seat *s = f->seats; s != NULL; s = s->next) {
      const toft_frame_seat *mine = toft_tls_here.frame_seats;
      while (mine != NULL && mine != s) mine = mine->beside;
      if (mine != NULL || s->stray == &toft_tls_here) continue;
      s->inside = 0;
      s->taken = 0;
      s->stray = NULL;
    }
    toft_frames_bury_alone(f);
  }
}

/* ---- inside, and alone ---- */

int toft_frame_enter(toft_frames *f) {
  toft_frame_seat *s = toft_frame_seat_here(f);
  if (s == NULL || s->stray != NULL) return TOFT_ENOMEM;
  if (s->inside != 0) {
    TOFT_STORE(&s->inside, s->inside + 1);
    return TOFT_OK;
  }
  (void)TOFT_SWAP_ORDERED(&s->inside, 1);
  if (TOFT_LOAD_ORDERED(&f->alone) == 0) return TOFT_OK;
  TOFT_STORE_RELEASE(&s->inside, 0);
  return TOFT_EBUSY;
}

int toft_frame_leave(toft_frames *f) {
  toft_frame_seat *s = toft_frame_seat_here(f);
  if (s == NULL || s->inside == 0) return TOFT_EARG;
  TOFT_STORE_RELEASE(&s->inside, s->inside - 1);
  return TOFT_OK;
}

enum { TOFT_LOOK, TOFT_OLDEST, TOFT_ALL }; /* which arenas must not be closed */

/* No thread is inside, and none comes in until toft_frames_end_alone. */
static int toft_frames_begin_alone(toft_frames *f, int which) {
  if (TOFT_SWAP_ORDERED(&f->alone, 1) != 0) return TOFT_EBUSY;
  toft_lock_take(&toft_seats_lock); /* what threads did that have ended, comes before */
  TOFT_UNLOCK(&toft_seats_lock);
  uint32_t from = which == TOFT_OLDEST ? (f->now + 1) % f->buffers : 0;
  uint32_t to = which == TOFT_LOOK ? 0 : which == TOFT_OLDEST ? from + 1 : f->buffers;
  for (toft_frame_seat *s = TOFT_LOAD_POINTER_ACQUIRE(toft_frame_seat, &f->seats); s != NULL; s = s->next) {
    int busy = TOFT_LOAD_ORDERED(&s->inside) != 0;
    for (uint32_t i = from; i < to && !busy; i++) busy = s->arenas[i] != NULL && (s->arenas[i]->state & TOFT_CLOSED);
    if (!busy) continue;
    TOFT_STORE_RELEASE(&f->alone, 0);
    return TOFT_EBUSY;
  }
  TOFT_STORE_POINTER(const toft_here, &f->only, &toft_tls_here);
  return TOFT_OK;
}

/* Said before each change of an arena, for a child that is forked in the middle of it. */
static void toft_frames_hold(toft_frames *f, toft_state *a) {
  TOFT_STORE_POINTER_RELEASE(toft_state, &f->in_hand, a);
  TOFT_STORES_FENCE();
}

static void toft_frames_end_alone(toft_frames *f) {
  TOFT_STORE_POINTER_RELEASE(toft_state, &f->in_hand, NULL);
  TOFT_STORE_POINTER(const toft_here, &f->only, NULL);
  TOFT_STORE_RELEASE(&f->alone, 0);
}

/* ---- the end of a frame ---- */

int toft_frames_advance(toft_frames *f) {
  int code = toft_frames_begin_alone(f, TOFT_OLDEST);
  if (code != TOFT_OK) return code;
  uint32_t next = (f->now + 1) % f->buffers;
  toft_lock_take(&toft_seats_lock);
  f->key = ++toft_last_key;
  for (toft_frame_seat *s = f->seats; s != NULL; s = s->next)
    if (s->stray != NULL) {
      s->taken = 0;
      s->stray = NULL;
    }
  TOFT_UNLOCK(&toft_seats_lock);
  f->now = next;
  f->number++;
  TOFT_STORE_POINTER(void, &f->roots[next], NULL);
  for (toft_frame_seat *s = f->seats; s != NULL; s = s->next) {
    toft_state *a = s->arenas[next];
    if (a == NULL) continue;
    toft_frames_hold(f, a);
    if (toft_reset_again(a, &s->settled[next])) {
      toft_reopen(a, s->settled[next].limit);
      continue;
    }
    size_t pinned = toft_pin_to(a, 0); /* it is for its thread that this one calls */
    if (toft_reset_long(a, &s->settled[next], TOFT_KEEP_RECENT, 0) == TOFT_ECORRUPT) code = TOFT_ECORRUPT;
    (void)toft_pin_to(a, pinned);
  }
  toft_frames_end_alone(f);
  return code;
}

static int toft_frames_advance_last(void *frames) { return toft_frames_advance((toft_frames *)frames); }

int toft_frames_meet(toft_frames *f, toft_barrier *b) {
  int code;
  (void)toft_barrier_pass(b, toft_frames_advance_last, f, &code);
  return code;
}

uint64_t toft_frames_number(const toft_frames *f) { return f->number; }

void toft_frame_publish(toft_frames *f, void *root) { TOFT_STORE_POINTER_RELEASE(void, &f->roots[f->now], root); }

const void *toft_frame_past(const toft_frames *f, uint32_t age) {
  if (age >= f->buffers) return NULL;
  return TOFT_LOAD_POINTER_ACQUIRE(void, &f->roots[(f->now + f->buffers - age) % f->buffers]);
}

/* ---- the rest ---- */

static void toft_frame_end_arena(toft_state *a) {
  (void)toft_pin_to(a, 0);
  a->state &= ~(uint32_t)TOFT_HELD;
  toft_release(&a->head);
}

int toft_frames_trim(toft_frames *f, size_t keep) {
  int code = toft_frames_begin_alone(f, TOFT_ALL);
  if (code != TOFT_OK) return code;
  for (toft_frame_seat *s = f->seats; s != NULL; s = s->next) {
    toft_lock_take(&toft_seats_lock);
    int taken = s->taken; /* who sits down now finds no arena, or one */
    toft_state *gone[TOFT_FRAMES_MOST];
    for (uint32_t i = 0; i < f->buffers; i++) {
      toft_state *a = s->arenas[i];
      gone[i] = NULL;
      if (a == NULL || taken) continue;
      toft_enter(a);
      toft_aim(a);
      if (a->live == 0) gone[i] = a;
      if (a->live == 0) s->arenas[i] = NULL;
    }
    TOFT_UNLOCK(&toft_seats_lock);
    for (uint32_t i = 0; i < f->buffers; i++) {
      if (gone[i] != NULL) toft_frame_end_arena(gone[i]);
      if (s->arenas[i] == NULL) continue;
      toft_frames_hold(f, s->arenas[i]);
      size_t pinned = toft_pin_to(s->arenas[i], 0);
      toft_trim(&s->arenas[i]->head, keep);
      (void)toft_pin_to(s->arenas[i], pinned);
      if (toft_epoch(s->arenas[i]) != s->settled[i].epoch) s->settled[i].epoch = 0;
    }
  }
  toft_frames_end_alone(f);
  return TOFT_OK;
}

int toft_frames_stats(toft_frames *f, toft_frame_stats *out) {
  toft_frame_stats sum;
  int code = toft_frames_begin_alone(f, TOFT_LOOK);
  if (code != TOFT_OK) return code;
  memset(&sum, 0, sizeof sum);
  for (toft_frame_seat *s = f->seats; s != NULL; s = s->next) {
    toft_lock_take(&toft_seats_lock);
    sum.threads += s->taken && s->stray == NULL;
    TOFT_UNLOCK(&toft_seats_lock);
    for (uint32_t i = 0; i < f->buffers; i++) {
      if (s->arenas[i] == NULL) continue;
      toft_frames_hold(f, s->arenas[i]);
      toft_stats one = toft_stats_of(&s->arenas[i]->head);
      sum.live += one.live;
      sum.reserved += one.reserved;
      sum.wasted += one.wasted;
      sum.blocks += one.blocks;
      sum.source_calls += one.source_calls;
      sum.arenas++;
    }
  }
  toft_frames_end_alone(f);
  *out = sum;
  return TOFT_OK;
}

int toft_frames_destroy(toft_frames *f) {
  if (f == NULL) return TOFT_OK;
  int code = toft_frames_begin_alone(f, TOFT_ALL);
  if (code != TOFT_OK) return code;
  toft_lock_take(&toft_seats_lock);
  toft_frames **at = &toft_all_frames;
  while (*at != f) at = &(*at)->other;
  *at = f->other;
  f->key = 0; /* a cleanup that asks for its arena gets none */
  TOFT_UNLOCK(&toft_seats_lock);
  toft_frame_seat *s = f->seats;
  while (s != NULL) {
    toft_frame_seat *next = s->next;
    for (uint32_t i = 0; i < f->buffers; i++)
      if (s->arenas[i] != NULL) toft_frame_end_arena(s->arenas[i]);
    toft_lock_take(&toft_seats_lock);
    s->frames = NULL; /* its thread frees it */
    int taken = s->taken && s->stray == NULL;
    TOFT_UNLOCK(&toft_seats_lock);
    if (!taken) toft_os_heap_put(s);
    s = next;
  }
  toft_os_heap_put(f);
  return TOFT_OK;
}

#endif
