/* Per-thread state of lease caches and frames, and its cleanup at thread exit.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_THREADS_THREAD_STATE_C
#define TOFT_THREADS_THREAD_STATE_C

#include "../core/block_cache.c"
#include "../core/reset_fast.c"
#include "../debug/fork.c"
#include "../platform/atomic.c"
#include "../platform/lifecycle.h"
#include "../platform/os.c"
#include "../platform/thread_local.h"

typedef struct toft_lease_slot toft_lease_slot;
typedef struct toft_lease_tls toft_lease_tls;
typedef struct toft_frame_thread toft_frame_thread; /* frame.c */

/* The cache's entry for one arena. A slot lives as long as the cache, so that a lease can always be checked; the low
 * bits of its generation are the slot's index. */
struct toft_lease_slot {
  toft_state *arena;   /* NULL: the slot is free */
  uint64_t generation; /* of the last lease; without TOFT_LEASED: returned */
  toft_reset_state reset_state;
  uint64_t budget;       /* the budget at creation */
  uint32_t checked;      /* the checks at creation: TOFT_IS_CHECKED or 0 */
  size_t kept_bytes;     /* bytes counted in the cache's kept_bytes */
  toft_lease_tls *owner; /* of the thread that it is reserved for; NULL: any thread */
  toft_lease_slot *next; /* in the list of idle slots, or of free ones */
};

/* A generation: the count of leases, then 24 bits for the slot's index, then TOFT_LEASED. */
#define TOFT_LEASED ((uint64_t)1)
#define TOFT_GENERATION_ONE ((uint64_t)1 << 25)
static size_t toft_lease_slot_index(uint64_t generation) {
  return (size_t)((generation & (TOFT_GENERATION_ONE - 1)) >> 1);
}

/* The sentinel: a slot that is always leased, with a state that never permits a fast reset. */
static toft_state toft_no_arena;
static toft_lease_slot toft_no_lease_slot = {&toft_no_arena, UINT64_MAX, {1, 1, 1, NULL, NULL, 0}, 0, 0, 0, NULL, NULL};

/* A thread's private slot in a lease cache: the thread leases and returns its arena without a lock. Another thread that
 * needs the slot first replaces it with toft_no_lease_slot, then waits until `busy` is 0 (toft_lease_tls_revoke, an
 * asymmetric Dekker protocol). Only used where toft_fence_is_asymmetric. */
struct toft_lease_tls {
  size_t busy;              /* the thread is using `visible`; only the thread writes it */
  toft_lease_slot *visible; /* the slot or the sentinel; written with the cache's lock held */
  toft_lease_slot *own;     /* the slot of its arena, idle or leased; NULL: none. With the lock held */
  toft_leases *leases;      /* NULL: the cache was released */
  size_t id;
  size_t foreign_returns;         /* number of its leases that other threads returned */
  toft_lease_tls *next;           /* in the cache's list */
  toft_lease_tls *next_of_thread; /* in the thread's list */
  unsigned char pad[128 - 8 * sizeof(void *)];
};
static toft_lease_tls toft_no_lease_tls = {0, &toft_no_lease_slot, NULL, NULL, 0, 0, NULL, NULL, {0}};

typedef struct toft_thread_state {
  toft_leases *lease_cache;  /* the cache of the last call; NULL: the process's own */
  toft_lease_tls *lease_tls; /* its private slot there, or toft_no_lease_tls */
  uint64_t frame_key;        /* key of the frame of the last call; 0: none, as in frames that were released */
  toft_arena *frame_arena;
  toft_lease_tls *lease_tls_list;
  toft_frame_thread *frame_threads;
  int ended; /* the thread ends: it gets no new state */
} toft_thread_state;
TOFT_PER_THREAD toft_thread_state toft_this_thread = {NULL, &toft_no_lease_tls, 0, NULL, NULL, NULL, 0};
#define toft_this_thread TOFT_OWN(toft_this_thread)

/* Held while a thread registers or ends, and a cache or frames are created or released. A cache's own lock is taken
 * after it. */
static toft_lock toft_threads_lock;
/* 1 is the process's own cache. Ids are never reused, so a new cache at an old address is not mistaken for the old
 * one. */
static size_t toft_last_id = 1;

/* ---- called by the owning thread ---- */

/* Returns the slot that the thread may use until toft_lease_tls_end. */
TOFT_INLINE toft_lease_slot *toft_lease_tls_begin(toft_lease_tls *s) {
  TOFT_STORE(&s->busy, 1);
  TOFT_COMPILER_FENCE(); /* pairs with toft_os_fence_all */
  return TOFT_LOAD_POINTER(toft_lease_slot, &s->visible);
}

TOFT_INLINE void toft_lease_tls_end(toft_lease_tls *s) { TOFT_STORE_RELEASE(&s->busy, 0); }

/* ---- called by other threads, with the cache's lock held ---- */

/* Locks the owning thread out of its slot. 0: not possible now. */
static int toft_lease_tls_revoke(toft_lease_tls *s) {
  toft_lease_slot *slot = TOFT_LOAD_POINTER(toft_lease_slot, &s->visible);
  if (slot == &toft_no_lease_slot) return 1; /* already revoked; the thread publishes it again with the lock held */
  TOFT_STORE_POINTER(toft_lease_slot, &s->visible, &toft_no_lease_slot);
  TOFT_FENCE_SEQ_CST();
  if (!toft_os_fence_all()) {
    TOFT_STORE_POINTER(toft_lease_slot, &s->visible, slot);
    return 0;
  }
  while (TOFT_LOAD_ACQUIRE(&s->busy) != 0) toft_os_yield();
  return 1;
}

/* ---- thread exit ---- */

/* lease_cache.c; 0: `s` must not be freed. Prepends arenas beyond the limit to *surplus. */
static int toft_lease_tls_unlink(toft_lease_tls *s, toft_state **surplus);
static void toft_lease_release_list(toft_state *list);
static void toft_frames_release_thread(toft_thread_state *h); /* frame.c */

static void toft_thread_release_leases(void) {
  toft_thread_state *h = &toft_this_thread;
  toft_state *surplus = NULL;
  if (h->lease_tls_list == NULL || !toft_lock_take_at_unload(&toft_threads_lock)) return;
  h->lease_tls = &toft_no_lease_tls;
  while (h->lease_tls_list != NULL) {
    toft_lease_tls *s = h->lease_tls_list;
    h->lease_tls_list = s->next_of_thread;
    if (toft_lease_tls_unlink(s, &surplus)) toft_os_heap_put(s);
  }
  TOFT_UNLOCK(&toft_threads_lock);
  toft_lease_release_list(surplus); /* without the lock: sources may lease and trim */
}

static void toft_thread_state_release(void) {
  toft_thread_state *h = &toft_this_thread;
  h->ended = 1;
  toft_thread_release_leases();
  if (h->frame_threads == NULL || !toft_lock_take_at_unload(&toft_threads_lock)) return;
  h->frame_key = 0;
  h->frame_arena = NULL;
  toft_frames_release_thread(h);
  TOFT_UNLOCK(&toft_threads_lock);
}

/* ---- fork ---- */

static void toft_frames_reset_after_fork(void); /* frame.c */
static void toft_leases_at_fork(int phase);     /* lease_cache.c: 0 before, 1 in the parent, 2 in the child */

static void toft_threads_at_fork(int phase) {
  if (phase == 0) toft_lock_take(&toft_threads_lock);
  toft_leases_at_fork(phase);
  if (phase == 2) toft_frames_reset_after_fork();
  if (phase != 0) TOFT_UNLOCK(&toft_threads_lock);
}

/* Returns an id for a new cache. With toft_threads_lock. */
static size_t toft_new_owner_id(void) {
  toft_arm_fork();
  return ++toft_last_id;
}

/* ---- options of arenas ---- */

/* Creates one arena to validate the options, since only toft_create_with can. */
static int toft_options_are_valid(const toft_options *o) {
  if (o == NULL) return 1;
  if (o->size < 2 * sizeof(void *)) return 0;
  if (toft_region_under(o->source) != NULL) return 0; /* threads have the arenas, and learn of no restore */
  if (o->size > offsetof(toft_options, buffer) && o->buffer != NULL) return 0; /* one buffer, many arenas */
  toft_arena *tried = toft_create_with(o);
  toft_release(tried);
  return tried != NULL;
}

/* Copies the options, since the caller's structure may end. */
static const toft_options *toft_options_copy(toft_options *to, const toft_options *o) {
  if (o == NULL) return NULL;
  memcpy(to, o, toft_min(o->size, sizeof *to));
  to->size = toft_min(o->size, sizeof *to);
  return to;
}

#endif
