/* Leases: the calls. The fast way of both is a thread in its own seat.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "internal.h"

/* ---- get ---- */

/* By whoever has the place, which waits. */
TOFT_INLINE toft_lease toft_lease_open(toft_stand *p) {
  toft_lease l;
  toft_state *a = p->arena;
  toft_reopen(a, p->settled.limit);
  l.arena = &a->head;
  l.turn = p->turn += TOFT_TURN | TOFT_OUT; /* was not out */
  return l;
}

static toft_state *toft_lease_make(const toft_leases *l, toft_stand *p) {
  toft_arena *head = toft_create_with(l->made_with);
  if (head == NULL) return NULL;
  toft_state *a = toft_state_of(head);
  toft_enter(a);
  a->state |= TOFT_HELD;
  head->ops = &toft_held_table.ops;
  *toft_stand_of(a) = p;
  toft_aim(a);
  return a;
}

/* What was written into a checked arena while it waited. */
static void toft_lease_look(const toft_stand *p, uintptr_t site) {
  toft_state *a = p->arena;
  if (!p->checked || !toft_step_in(a, "lease", site)) return;
  (void)toft_look_at_shadows(a);
  toft_step_out(a);
}

static TOFT_COLD toft_lease toft_lease_get_slow(toft_leases *given) {
  toft_lease result = {NULL, 0};
  toft_state *over = NULL;
  toft_leases *l = given != NULL ? given : &toft_own_leases;
  toft_seat *s = toft_seat_here(l);
  if (s == NULL) s = toft_seat_new(l, &over);
  toft_seat_remember(given, s);
  toft_lock_take(&l->lock);
  toft_stand *p = s != NULL && s->mine != NULL && !(s->mine->turn & TOFT_OUT) ? s->mine : toft_stand_wake(l);
  if (p == NULL) p = toft_stand_new(l);
  if (p != NULL && p->arena == NULL) {
    l->making++;
    TOFT_UNLOCK(&l->lock); /* nobody else knows the place */
    toft_state *a = toft_lease_make(l, p);
    s = toft_seat_here(l);
    toft_lock_take(&l->lock);
    l->making--;
    p->arena = a;
    if (a == NULL) {
      p->next = l->free;
      l->free = p;
      p = NULL;
    } else {
      l->made++;
      l->held += p->kept = toft_reserved(a);
      p->budget = a->budget;
      p->checked = a->state & TOFT_IS_CHECKED;
      p->settled.high = 0;
      toft_settle_here(a, &p->settled);
    }
  }
  if (p != NULL) {
    if (p->seat != NULL)
      toft_seat_open(s);
    else
      (void)toft_seat_takes(l, s, p);
    result = toft_lease_open(p);
  }
  TOFT_UNLOCK(&l->lock);
  if (p != NULL) toft_lease_look(p, TOFT_CALLER());
  toft_lease_end_list(over);
  return result;
}

toft_lease toft_lease_get(toft_leases *l) {
  toft_seat *s = toft_tls_here.seat;
  if (TOFT_LIKELY(toft_tls_here.leases == l)) {
    toft_stand *p = toft_seat_enter(s);
    if (TOFT_LIKELY(!(p->turn & TOFT_OUT))) {
      toft_lease result = toft_lease_open(p);
      toft_seat_exit(s);
      return result;
    }
    toft_seat_exit(s);
  }
  return toft_lease_get_slow(l);
}

/* ---- return ---- */

/* Empties it as it was made, with no more memory than the cache keeps. Nobody else has the place. */
static int toft_lease_empty(const toft_leases *l, toft_stand *p) {
  toft_state *a = p->arena;
  (void)toft_pin_to(a, 0);
  int code = toft_reset_long(a, &p->settled, TOFT_KEEP_RECENT, 0);
  if (a->budget != p->budget) (void)toft_op_set(&a->head, TOFT_SET_BUDGET, p->budget, NULL, 0);
  if ((a->state & TOFT_IS_CHECKED) != p->checked)
    (void)toft_op_set(&a->head, TOFT_SET_CHECKED, p->checked != 0, NULL, 0);
  toft_end_watch(a);
  toft_aim(a); /* as an arena that nobody watches */
  if (toft_reserved(a) > l->keep) {
    (void)toft_reset_long(a, &p->settled, TOFT_KEEP_BYTES, l->keep - TOFT_HOME_SIZE);
    if (toft_reserved(a) > l->keep) toft_op_trim(&a->head, 0);
  }
  toft_settle_here(a, &p->settled); /* settings and a trim are no events to the next round */
  toft_shut(a);                     /* whoever still uses it asks, and is refused */
  return code;
}

/* The place of a lease that is out, when whoever may be in it has been kept out. NULL, and why. */
static toft_stand *toft_lease_find(toft_leases *l, toft_lease lease, int *code) {
  *code = TOFT_EARG;
  if (toft_turn_place(lease.turn) >= l->places || !(lease.turn & TOFT_OUT)) return NULL;
  toft_stand *p = toft_stand_at(l, toft_turn_place(lease.turn));
  if (p->seat != NULL && p->seat != toft_seat_here(l)) {
    *code = TOFT_EBUSY;
    if (!toft_seat_close(p->seat)) return NULL;
    *code = TOFT_EARG;
  }
  /* Not given yet: turns begin again after the 2^39th, which is 90 minutes of one thread. */
  if (lease.turn - (p->turn | TOFT_OUT) - 1 < UINT64_MAX / 2) return NULL;
  *code = TOFT_EBUSY;
  if (lease.turn != p->turn) return NULL;
  if (&p->arena->head != lease.arena) *code = TOFT_EARG; /* another cache has that turn too */
  if (&p->arena->head != lease.arena) return NULL;
  return p->arena->state & TOFT_CLOSED ? NULL : p;
}

static TOFT_COLD int toft_lease_return_slow(toft_leases *given, toft_lease lease) {
  int code;
  toft_state *over = NULL;
  toft_leases *l = given != NULL ? given : &toft_own_leases;
  toft_seat *s = toft_seat_here(l);
  toft_seat_remember(given, s);
  toft_lock_take(&l->lock);
  toft_stand *p = toft_lease_find(l, lease, &code);
  if (p != NULL) {
    if (p->seat != NULL && p->seat != s) p->seat->strikes++;
    toft_stand_unseat(p);
    p->turn &= ~TOFT_OUT; /* from here on nobody else can have it */
    l->held -= p->kept;
    p->kept = 0;
    l->returning++;
  }
  TOFT_UNLOCK(&l->lock);
  if (p == NULL) return code;
  code = toft_lease_empty(l, p); /* runs cleanups, which may lease and return */
  size_t kept = toft_reserved(p->arena);
  s = toft_seat_here(l);
  toft_lock_take(&l->lock);
  l->returning--;
  l->held += p->kept = kept;
  if (kept > l->keep || l->held > l->bytes)
    over = toft_stand_empty(l, p);
  else if (!toft_seat_takes(l, s, p)) {
    if (l->waiting_count < l->idle - l->seat_count)
      toft_stand_wait(l, p);
    else
      over = toft_stand_empty(l, p);
  }
  TOFT_UNLOCK(&l->lock);
  toft_lease_end_arena(over);
  return code;
}

int toft_lease_return(toft_leases *l, toft_lease lease) {
  toft_seat *s = toft_tls_here.seat;
  if (TOFT_LIKELY(toft_tls_here.leases == l)) {
    toft_stand *p = toft_seat_enter(s);
    if (TOFT_LIKELY(p->turn == lease.turn && &p->arena->head == lease.arena &&
                    toft_reset_again(p->arena, &p->settled))) {
      toft_shut(p->arena);
      p->turn = lease.turn & ~TOFT_OUT;
      toft_seat_exit(s);
      return TOFT_OK;
    }
    toft_seat_exit(s);
  }
  return toft_lease_return_slow(l, lease);
}

/* ---- the cache ---- */

toft_leases *toft_leases_create(const toft_lease_options *given) {
  toft_lease_options o = TOFT_LEASE_OPTIONS;
  if (given != NULL) {
    if (given->size < 2 * sizeof(void *)) return NULL;
    memcpy(&o, given, toft_min(given->size, sizeof o));
  }
  if (o.idle > 65536 || !toft_options_are_good(o.arenas)) return NULL;
  toft_leases *l = (toft_leases *)toft_os_heap_take(sizeof *l, 128);
  if (l == NULL) return NULL;
  memset((void *)l, 0, sizeof *l);
  l->idle = o.idle;
  l->keep = toft_max(TOFT_HOME_SIZE, toft_min(o.keep, TOFT_MAX_REQUEST));
  l->bytes = o.bytes;
  l->made_with = toft_options_keep(&l->options, o.arenas);
  toft_lock_take(&toft_seats_lock);
  l->id = toft_seats_new_id();
  l->next = toft_all_leases;
  toft_all_leases = l;
  TOFT_UNLOCK(&toft_seats_lock);
  return l;
}

/* What waits for threads waits for anybody; their seats stay, and are opened by them. */
static void toft_leases_gather(toft_leases *l) {
  for (toft_seat *s = l->seats; s != NULL; s = s->next)
    if (s == toft_seat_here(l) || toft_seat_close(s)) {
      toft_stand *p = s->mine;
      if (p == NULL || (p->turn & TOFT_OUT)) continue;
      toft_stand_unseat(p);
      toft_stand_wait(l, p);
    }
}

void toft_leases_trim(toft_leases *l) {
  if (l == NULL) l = &toft_own_leases;
  toft_lock_take(&l->lock);
  toft_leases_gather(l);
  toft_state *list = toft_leases_take_waiting(l, 0, NULL);
  TOFT_UNLOCK(&l->lock);
  toft_lease_end_list(list);
}

/* Threads that are in their seats are kept out for it. */
static size_t toft_leases_out(toft_leases *l) {
  size_t out = l->making + l->returning;
  for (size_t i = 0; i < l->places; i++) {
    const toft_stand *p = toft_stand_at(l, i);
    if (p->seat == NULL || p->seat == toft_seat_here(l) || toft_seat_close(p->seat)) out += (p->turn & TOFT_OUT) != 0;
  }
  return out;
}

static void toft_leases_drop_chunks(toft_leases *l) {
  for (int i = 0; i < TOFT_CHUNKS; i++)
    if (l->chunks[i] != NULL) toft_os_heap_put(l->chunks[i]);
  memset((void *)l->chunks, 0, sizeof l->chunks);
  l->places = 0;
  l->free = NULL;
}

int toft_leases_destroy(toft_leases *l) {
  if (l == NULL || l == &toft_own_leases) return TOFT_EARG;
  toft_lock_take(&toft_seats_lock);
  toft_lock_take(&l->lock);
  int code = toft_leases_out(l) != 0 ? TOFT_EBUSY : TOFT_OK;
  if (code == TOFT_OK) toft_leases_gather(l); /* else those that wait for threads would wait beside as many others */
  for (toft_seat *s = l->seats; s != NULL && code == TOFT_OK; s = s->next) s->leases = NULL; /* its thread frees it */
  toft_state *list = code == TOFT_OK ? toft_leases_take_waiting(l, 0, NULL) : NULL;
  TOFT_UNLOCK(&l->lock);
  if (code == TOFT_OK) {
    toft_leases **at = &toft_all_leases;
    while (*at != l) at = &(*at)->next;
    *at = l->next;
    toft_seats_sweep();
  }
  TOFT_UNLOCK(&toft_seats_lock);
  toft_lease_end_list(list);
  if (code != TOFT_OK) return code;
  toft_leases_drop_chunks(l);
  toft_os_heap_put(l);
  return TOFT_OK;
}

/* At exit, and at dlclose. What other threads have stays theirs. */
static void toft_leases_unload(void) {
  toft_leases *l = &toft_own_leases;
  if (!toft_lock_take_to_end(&l->lock)) return;
  toft_state *list = toft_leases_take_waiting(l, 0, NULL);
  if (l->seats == NULL && toft_leases_out(l) == 0) toft_leases_drop_chunks(l);
  TOFT_UNLOCK(&l->lock);
  toft_lease_end_list(list);
}

toft_lease_stats toft_leases_stats(toft_leases *l) {
  toft_lease_stats s;
  if (l == NULL) l = &toft_own_leases;
  toft_lock_take(&l->lock);
  s.made = l->made;
  s.ended = l->ended;
  s.out = toft_leases_out(l);
  s.idle = s.made - s.ended - (s.out - l->making);
  s.held = l->held;
  TOFT_UNLOCK(&l->lock);
  return s;
}
