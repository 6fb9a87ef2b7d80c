/* The half of a cache of leases that is behind its lock: what it has, who waits for whom, threads that sit down and
 * leave.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "internal.h"

#define TOFT_CHUNK 64 /* places of the first chunk; each next one has twice as many */
#define TOFT_CHUNKS 18
#define TOFT_STRIKES 8 /* a thread whose leases others return so often gets no seat */

struct toft_leases {
  size_t id, idle, keep, bytes;
  const toft_options *made_with;
  unsigned char apart[128 - 5 * sizeof(void *)]; /* what is above is read by all, what is below is written */
  toft_lock lock;
  toft_stand *waiting, *free;
  size_t waiting_count, places, seat_count;
  toft_seat *seats;
  size_t made, ended, held;
  size_t making, returning; /* places that a call has while the lock is free: in no list, and as good as out */
  toft_stand *chunks[TOFT_CHUNKS];
  toft_options options;
  toft_leases *next;
};

static toft_leases toft_own_leases = {1, 128,  262144, 16777216, NULL, {0}, 0, NULL,   NULL,         0,   0,
                                      0, NULL, 0,      0,        0,    0,   0, {NULL}, TOFT_OPTIONS, NULL};
static toft_leases *toft_all_leases = &toft_own_leases; /* with toft_seats_lock */

/* ---- places ---- */

static toft_stand *toft_stand_at(const toft_leases *l, size_t index) {
  size_t chunk = 0, first = 0, count = TOFT_CHUNK;
  while (index >= first + count) first += count, count *= 2, chunk++;
  return &l->chunks[chunk][index - first];
}

/* A free place, or NULL. */
static toft_stand *toft_stand_new(toft_leases *l) {
  toft_stand *p = l->free;
  if (p != NULL) {
    l->free = p->next;
    return p;
  }
  size_t chunk = 0, first = 0, count = TOFT_CHUNK;
  while (l->places >= first + count) first += count, count *= 2, chunk++;
  if (chunk >= TOFT_CHUNKS) return NULL;
  if (l->chunks[chunk] == NULL) {
    size_t size = count * sizeof(toft_stand);
    l->chunks[chunk] = (toft_stand *)toft_os_heap_take(size, 64);
    if (l->chunks[chunk] == NULL) return NULL;
    memset((void *)l->chunks[chunk], 0, size);
  }
  p = &l->chunks[chunk][l->places - first];
  p->turn = (uint64_t)l->places++ << 1;
  return p;
}

static void toft_stand_wait(toft_leases *l, toft_stand *p) {
  p->next = l->waiting;
  l->waiting = p;
  l->waiting_count++;
}

static toft_stand *toft_stand_wake(toft_leases *l) {
  toft_stand *p = l->waiting;
  if (p != NULL) {
    l->waiting = p->next;
    l->waiting_count--;
  }
  return p;
}

/* The arena leaves the cache; the caller ends it when it has let go of the lock. */
static toft_state *toft_stand_empty(toft_leases *l, toft_stand *p) {
  toft_state *a = p->arena;
  p->arena = NULL;
  p->next = l->free;
  l->free = p;
  l->held -= p->kept;
  p->kept = 0;
  if (a != NULL) l->ended++;
  return a;
}

static void toft_stand_unseat(toft_stand *p) {
  if (p->seat != NULL) {
    p->seat->mine = NULL;
    TOFT_STORE_POINTER(toft_stand, &p->seat->place, &toft_no_stand);
  }
  p->seat = NULL;
}

/* ---- arenas ---- */

/* Its place is written behind the state, in front of home's first byte. */
TOFT_STATIC_ASSERT(stand_behind_state, sizeof(toft_state) + sizeof(void *) <= TOFT_HOME_START);
static toft_stand **toft_stand_of(const toft_state *a) {
  return (toft_stand **)(void *)((unsigned char *)(uintptr_t)a + TOFT_HOME_START - sizeof(void *));
}

/* A lease that was returned is closed. Its turn is not looked at where others write it: who asks has it out, or
 * errs. */
static int toft_lease_waits(const toft_arena *a) { return !((*toft_stand_of(toft_state_of(a)))->turn & TOFT_OUT); }

static void *toft_held_alloc(toft_arena *a, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  if (!toft_lease_waits(a) || (size == 0 && toft_pad(a->cursor, align) == 0))
    return toft_op_alloc(a, size, align, flags, site);
  toft_fail(toft_state_of(a), size, align, TOFT_EBUSY);
  return NULL;
}
static void *toft_held_resize(toft_arena *a, void *p, size_t old_size, size_t new_size, size_t align, uint32_t flags,
                              uintptr_t site) {
  if (!toft_lease_waits(a)) return toft_op_resize(a, p, old_size, new_size, align, flags, site);
  toft_fail(toft_state_of(a), new_size, align, TOFT_EBUSY);
  return NULL;
}
static void toft_held_free(toft_arena *a, void *p, size_t size) {
  if (!toft_lease_waits(a)) toft_op_free(a, p, size);
}
static int toft_held_rewind(toft_arena *a, unsigned char *cursor, uintptr_t epoch) {
  return toft_lease_waits(a) ? TOFT_EBUSY : toft_op_rewind(a, cursor, epoch);
}
static int toft_held_reset(toft_arena *a, uint32_t policy, size_t keep) {
  if (!toft_lease_waits(a)) return toft_op_reset(a, policy, keep);
  return policy > TOFT_KEEP_BYTES ? TOFT_EARG : TOFT_EBUSY;
}
static void toft_held_trim(toft_arena *a, size_t keep) {
  if (!toft_lease_waits(a)) toft_op_trim(a, keep);
}
static toft_cleanup *toft_held_cleanup(toft_arena *a, void (*fn)(void *), void *arg) {
  if (!toft_lease_waits(a)) return toft_op_cleanup(a, fn, arg);
  toft_fail(toft_state_of(a), sizeof(toft_node), 8, TOFT_EBUSY);
  return NULL;
}
static void *toft_held_claim(toft_arena *a, toft_range *r, size_t size, size_t align) {
  if (!toft_lease_waits(a)) return toft_op_claim(a, r, size, align);
  toft_fail(toft_state_of(a), size, align, TOFT_EBUSY);
  return NULL;
}
static int toft_held_give(toft_arena *a, toft_range *r) { return toft_lease_waits(a) ? TOFT_EARG : toft_op_give(a, r); }
static size_t toft_held_stats(toft_arena *a, toft_stats *out, size_t out_size) {
  size_t n = toft_op_stats(a, out, out_size);
  if (toft_lease_waits(a)) toft_shut(toft_state_of(a));
  return n;
}
static int toft_held_set(toft_arena *a, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  if (!toft_lease_waits(a)) return toft_op_set(a, what, value, name, name_len);
  return what == TOFT_SET_BUDGET || what == TOFT_SET_CHECKED ? TOFT_EBUSY : TOFT_ENOSYS;
}
static void toft_held_release(toft_arena *a) { (void)a; } /* the cache's alone */

static const toft_info_ops toft_held_table = {
    {
        sizeof(toft_info_ops),
        1,
        toft_held_alloc,
        toft_held_resize,
        toft_held_free,
        toft_held_rewind,
        toft_held_reset,
        toft_held_trim,
        toft_held_cleanup,
        toft_held_claim,
        toft_held_give,
        toft_op_contains,
        toft_held_stats,
        toft_held_set,
        toft_held_release,
    },
    &toft_info,
};

static int toft_is_held(const toft_arena *a) { return a->ops == &toft_held_table.ops; }

/* Nothing is in it, and nobody else has it. */
static void toft_lease_end_arena(toft_state *a) {
  if (a == NULL) return;
  a->state &= ~(uint32_t)TOFT_HELD;
  a->head.ops = &toft_table.ops;
  toft_release(&a->head);
}

static size_t toft_reserved(const toft_state *a) {
  toft_stats s;
  memset(&s, 0, sizeof s);
  toft_add_stats(a, &s);
  return (size_t)s.reserved;
}

/* Those that wait, but for the newest `keep`, in front of `list`; linked by home's `next`, which is NULL in an arena at
 * rest. */
static toft_state *toft_leases_take_waiting(toft_leases *l, size_t keep, toft_state *list) {
  while (l->waiting_count > keep) {
    toft_stand **at = &l->waiting;
    while (keep != 0 && (*at)->next != NULL) at = &(*at)->next;
    toft_stand *p = *at;
    *at = p->next;
    l->waiting_count--;
    toft_state *a = toft_stand_empty(l, p);
    a->home.next = (toft_blk *)(void *)list;
    list = a;
  }
  return list;
}

static void toft_lease_end_list(toft_state *list) {
  while (list != NULL) {
    toft_state *a = list;
    list = (toft_state *)(void *)a->home.next;
    a->home.next = NULL;
    toft_lease_end_arena(a);
  }
}

/* ---- seats ---- */

/* This thread's in that cache; NULL: none. Sources and cleanups may call toft_cache_trim, which frees it: ask again
 * after each. */
static toft_seat *toft_seat_here(const toft_leases *l) {
  toft_seat *s = toft_tls_here.seats;
  while (s != NULL && s->id != l->id) s = s->beside;
  return s;
}

/* The next call looks there first. l: as the caller gave it. */
static void toft_seat_remember(toft_leases *l, toft_seat *s) {
  if (s == NULL) return;
  toft_tls_here.leases = l;
  toft_tls_here.seat = s;
}

/* Those of caches that have gone. With toft_seats_lock. */
static void toft_seats_sweep(void) {
  toft_seat **at = &toft_tls_here.seats;
  while (*at != NULL) {
    toft_seat *s = *at;
    if (s->leases == NULL) {
      *at = s->beside;
      if (toft_tls_here.seat == s) toft_tls_here.seat = &toft_no_seat;
      toft_os_heap_put(s);
    } else {
      at = &s->beside;
    }
  }
}

/* Half of what may wait, waits for a thread: the rest is for those without a seat. A seat counts as one that waits.
 * *over: what may no longer wait; the caller ends it. */
static toft_seat *toft_seat_new(toft_leases *l, toft_state **over) {
  toft_here *h = &toft_tls_here;
  if (h->ended || TOFT_LOAD(&l->seat_count) >= l->idle / 2 || !toft_fence_is_shared() || !toft_os_arm()) return NULL;
  toft_seat *s = (toft_seat *)toft_os_heap_take(sizeof *s, 128);
  if (s == NULL) return NULL;
  memset(s, 0, sizeof *s);
  s->leases = l;
  s->id = l->id;
  s->place = &toft_no_stand;
  toft_lock_take(&toft_seats_lock);
  toft_seats_arm();
  toft_seats_sweep();
  toft_lock_take(&l->lock);
  if (l->seat_count < l->idle / 2) {
    TOFT_STORE(&l->seat_count, l->seat_count + 1);
    *over = toft_leases_take_waiting(l, l->idle - l->seat_count, NULL);
    s->next = l->seats;
    l->seats = s;
    s->beside = h->seats;
    h->seats = s;
  } else {
    s->leases = NULL;
  }
  TOFT_UNLOCK(&l->lock);
  TOFT_UNLOCK(&toft_seats_lock);
  if (s->leases != NULL) return s;
  toft_os_heap_put(s);
  return NULL;
}

/* With the cache's lock, on the seat's thread: it sees what is its. */
static void toft_seat_open(toft_seat *s) { TOFT_STORE_POINTER(toft_stand, &s->place, s->mine); }

/* May it wait for this thread? Then it does. */
static int toft_seat_takes(toft_leases *l, toft_seat *s, toft_stand *p) {
  if (s == NULL || s->mine != NULL || s->strikes >= TOFT_STRIKES || p->checked || l->held > l->bytes) return 0;
  p->seat = s;
  s->mine = p;
  toft_seat_open(s);
  return 1;
}

/* The thread gets up: what waits for it is anybody's. With toft_seats_lock; nobody is inside the seat. */
static int toft_leases_leave(toft_seat *s, toft_state **over) {
  toft_leases *l = s->leases;
  if (l == NULL) return 1;
  if (!toft_lock_take_to_end(&l->lock)) return 0;
  toft_seat **at = &l->seats;
  while (*at != s) at = &(*at)->next;
  *at = s->next;
  TOFT_STORE(&l->seat_count, l->seat_count - 1);
  toft_stand *p = s->mine;
  if (p != NULL) {
    toft_stand_unseat(p);
    if (!(p->turn & TOFT_OUT)) toft_stand_wait(l, p);
    *over = toft_leases_take_waiting(l, l->idle - l->seat_count, *over);
  }
  TOFT_UNLOCK(&l->lock);
  return 1;
}

/* ---- fork ---- */

/* Seats of threads that the child has not got. One that was in the middle of something keeps its arena out for ever. */
static void toft_leases_bury(toft_leases *l) {
  toft_here *h = &toft_tls_here;
  toft_seat **at = &l->seats;
  while (*at != NULL) {
    toft_seat *s = *at, *mine = h->seats;
    while (mine != NULL && mine != s) mine = mine->beside;
    if (mine != NULL) {
      at = &s->next;
      continue;
    }
    *at = s->next;
    TOFT_STORE(&l->seat_count, l->seat_count - 1);
    toft_stand *p = s->mine;
    if (p != NULL) {
      toft_stand_unseat(p);
      if (s->busy) {
        p->turn = (p->turn | TOFT_OUT) + TOFT_TURN; /* nobody knows this one */
      } else if (!(p->turn & TOFT_OUT)) {
        toft_stand_wait(l, p);
      }
    }
    s->leases = NULL;
    s->id = 0;
    s->beside = h->seats; /* which frees it */
    h->seats = s;
  }
}

static void toft_leases_fork(int phase) {
  for (toft_leases *l = toft_all_leases; l != NULL; l = l->next) {
    if (phase == 0) toft_lock_take(&l->lock);
    if (phase == 2) toft_leases_bury(l);
    if (phase != 0) TOFT_UNLOCK(&l->lock);
  }
}
