/* A thread's seats: what caches of leases and frames keep for it, and that it says goodbye when it ends.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_THREADS_THREAD_STATE_C
#define TOFT_THREADS_THREAD_STATE_C

#include "../core/block_cache.c"
#include "../core/reset_fast.c"
#include "../debug/live_registry.c"
#include "../debug/quarantine.c"
#include "../debug/reports.c"
#include "../platform/atomic.c"
#include "../platform/lifecycle.h"
#include "../platform/os.c"

typedef struct toft_stand toft_stand;
typedef struct toft_seat toft_seat;
typedef struct toft_frame_seat toft_frame_seat; /* frame.c */

/* One for each arena, which may come and go; the place stays as long as the cache, so that a lease can always be looked
 * up: the low bits of its turn are the place's number. */
struct toft_stand {
  toft_state *arena; /* NULL: none, and the place is free */
  uint64_t turn;     /* of the last lease; without TOFT_OUT it was returned */
  toft_settled settled;
  uint64_t budget;  /* as it was made */
  uint32_t checked; /* as it was made: TOFT_IS_CHECKED or 0 */
  size_t kept;      /* bytes, counted in held */
  toft_seat *seat;  /* of the thread that it waits for; NULL: anybody's */
  toft_stand *next; /* of those that wait, or of those that are free */
};

/* A turn: which one it is, then 24 bits for the place, then TOFT_OUT. */
#define TOFT_OUT ((uint64_t)1)
#define TOFT_TURN ((uint64_t)1 << 25)
static size_t toft_turn_place(uint64_t turn) { return (size_t)((turn & (TOFT_TURN - 1)) >> 1); }

/* Always out, of an arena that is never as its last reset left it. */
static toft_state toft_no_arena;
static toft_stand toft_no_stand = {&toft_no_arena, UINT64_MAX, {1, 1, 1, NULL, NULL, 0}, 0, 0, 0, NULL, NULL};

/* A thread in a cache of leases: it takes its arena and puts it back without a lock. Whoever else needs to reach in
 * puts toft_no_stand in its place, and waits until the thread is out: toft_seat_close. Only where
 * toft_fence_is_shared. */
struct toft_seat {
  size_t busy;         /* the thread is inside; it alone writes */
  toft_stand *place;   /* what the thread sees; changed with the cache's lock held */
  toft_stand *mine;    /* that of its arena, waiting or out; NULL: none. With the lock held */
  toft_leases *leases; /* NULL: the cache has gone */
  size_t id;
  size_t strikes;    /* how often others returned what this thread had leased */
  toft_seat *next;   /* of the cache */
  toft_seat *beside; /* of the thread */
  unsigned char apart[128 - 8 * sizeof(void *)];
};
static toft_seat toft_no_seat = {0, &toft_no_stand, NULL, NULL, 0, 0, NULL, NULL, {0}};

typedef struct toft_here {
  toft_leases *leases; /* that was asked last; NULL: the process's own */
  toft_seat *seat;     /* in that, or toft_no_seat */
  uint64_t key;        /* of the frame that was asked last; 0: of none, which is what frames that end have too */
  toft_arena *frame;
  toft_seat *seats;
  toft_frame_seat *frame_seats;
  int ended; /* what comes now gets no seat */
} toft_here;
static TOFT_THREAD_LOCAL toft_here toft_tls_here TOFT_NEAR = {NULL, &toft_no_seat, 0, NULL, NULL, NULL, 0};

/* Held while a thread sits down or leaves, and a cache or frames begin or end. A cache's own lock is taken after it. */
static toft_lock toft_seats_lock;
static size_t toft_last_id =
    1; /* that of the process's own leases. So that an address that is used again is not taken for what was there */

/* ---- the thread's side ---- */

/* What it may use until it leaves. */
TOFT_INLINE toft_stand *toft_seat_enter(toft_seat *s) {
  TOFT_STORE(&s->busy, 1);
  TOFT_COMPILER_FENCE(); /* the other half is toft_os_fence_all */
  return TOFT_LOAD_POINTER(toft_stand, &s->place);
}

TOFT_INLINE void toft_seat_exit(toft_seat *s) { TOFT_STORE_RELEASE(&s->busy, 0); }

/* ---- the others', with the cache's lock held ---- */

/* 0: it cannot be done now. */
static int toft_seat_close(toft_seat *s) {
  toft_stand *place = TOFT_LOAD_POINTER(toft_stand, &s->place);
  if (place == &toft_no_stand) return 1; /* the thread opens it with the lock held */
  TOFT_STORE_POINTER(toft_stand, &s->place, &toft_no_stand);
  TOFT_FENCE();
  if (!toft_os_fence_all()) {
    TOFT_STORE_POINTER(toft_stand, &s->place, place);
    return 0;
  }
  while (TOFT_LOAD_ACQUIRE(&s->busy) != 0) toft_os_yield();
  return 1;
}

/* ---- the end of a thread ---- */

/* lease_cache.c; 0: the seat must stay. *over: what may no longer wait comes in front of it. */
static int toft_leases_leave(toft_seat *s, toft_state **over);
static void toft_lease_end_list(toft_state *list);
static void toft_frames_leave(toft_here *h); /* frame.c */

static void toft_seats_leave(void) {
  toft_here *h = &toft_tls_here;
  toft_state *over = NULL;
  if (h->seats == NULL || !toft_lock_take_to_end(&toft_seats_lock)) return;
  h->seat = &toft_no_seat;
  while (h->seats != NULL) {
    toft_seat *s = h->seats;
    h->seats = s->beside;
    if (toft_leases_leave(s, &over)) toft_os_heap_put(s);
  }
  TOFT_UNLOCK(&toft_seats_lock);
  toft_lease_end_list(over); /* sources may lease and trim */
}

static void toft_seats_end(void) {
  toft_here *h = &toft_tls_here;
  h->ended = 1;
  toft_seats_leave();
  if (h->frame_seats == NULL || !toft_lock_take_to_end(&toft_seats_lock)) return;
  h->key = 0;
  h->frame = NULL;
  toft_frames_leave(h);
  TOFT_UNLOCK(&toft_seats_lock);
}

/* ---- fork ---- */

static void toft_frames_bury(void);      /* frame.c */
static void toft_leases_fork(int phase); /* lease_cache.c: 0 before, 1 in the parent, 2 in the child */

static void toft_seats_before_fork(void) {
  toft_lock_take(&toft_seats_lock);
  toft_leases_fork(0);
  toft_lock_take(&toft_registry_lock);
  toft_lock_take(&toft_quarantine_lock);
  toft_lock_take(&toft_findings_lock);
}
static void toft_findings_after_fork(void) {
  TOFT_UNLOCK(&toft_findings_lock);
  TOFT_UNLOCK(&toft_quarantine_lock);
  TOFT_UNLOCK(&toft_registry_lock);
}
static void toft_seats_in_parent(void) {
  toft_findings_after_fork();
  toft_leases_fork(1);
  TOFT_UNLOCK(&toft_seats_lock);
}
static void toft_seats_in_child(void) {
  toft_findings_after_fork();
  toft_leases_fork(2);
  toft_frames_bury();
  TOFT_UNLOCK(&toft_seats_lock);
}

static size_t toft_fork_armed; /* atomic */

/* With the lock held. */
static void toft_seats_arm(void) {
  if (TOFT_LOAD(&toft_fork_armed)) return;
  toft_os_at_fork(toft_seats_before_fork, toft_seats_in_parent, toft_seats_in_child);
  (void)TOFT_SWAP(&toft_fork_armed, 1);
}

/* Without it. */
static void toft_arm_fork(void) {
  if (TOFT_LOAD(&toft_fork_armed)) return;
  toft_lock_take(&toft_seats_lock);
  toft_seats_arm();
  TOFT_UNLOCK(&toft_seats_lock);
}

/* With the lock held: an id of its own for a cache. */
static size_t toft_seats_new_id(void) {
  toft_seats_arm();
  return ++toft_last_id;
}

/* ---- how their arenas are made ---- */

/* Tried once, since only toft_create_with knows. */
static int toft_options_are_good(const toft_options *o) {
  if (o == NULL) return 1;
  if (o->size < 2 * sizeof(void *)) return 0;
  if (o->size > offsetof(toft_options, buffer) && o->buffer != NULL) return 0; /* there is but one */
  toft_arena *tried = toft_create_with(o);
  toft_release(tried);
  return tried != NULL;
}

/* A copy that outlives the caller's. */
static const toft_options *toft_options_keep(toft_options *to, const toft_options *o) {
  if (o == NULL) return NULL;
  memcpy(to, o, toft_min(o->size, sizeof *to));
  to->size = toft_min(o->size, sizeof *to);
  return to;
}

#endif
