/* Leases: get and return. The fast path of both uses the thread's private slot without a lock.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_THREADS_LEASE_C
#define TOFT_THREADS_LEASE_C

#include "../core/reset_fast.c"
#include "../debug/accounting.c"
#include "../debug/debug_records.c"
#include "../debug/observe.h"
#include "lease_cache.c"
#include "thread_state.c"

/* ---- get ---- */

/* Leases the idle arena of a slot. Precondition: the caller has exclusive use of the slot. */
TOFT_INLINE toft_lease toft_lease_begin(toft_lease_slot *p) {
  toft_lease l;
  toft_state *a = p->arena;
  toft_unseal(a, p->reset_state.limit);
  TOFT_ASSERT(!(p->generation & TOFT_LEASED));
  l.arena = &a->head;
  l.generation = p->generation += TOFT_GENERATION_ONE | TOFT_LEASED; /* TOFT_LEASED was not set */
  return l;
}

static toft_state *toft_lease_create_arena(const toft_leases *l, toft_lease_slot *p) {
  toft_arena *head = toft_create_with(l->arena_options);
  if (head == NULL) return NULL;
  toft_state *a = toft_state_of(head);
  toft_sync_in(a);
  a->state |= TOFT_CACHE_OWNED;
  head->ops = &toft_leased_table.ops;
  *toft_lease_slot_of(a) = p;
  toft_set_limit(a);
  return a;
}

/* Checks for writes to a checked arena while it was idle. */
static void toft_lease_verify(const toft_lease_slot *p, uintptr_t site) {
  toft_state *a = p->arena;
  if (!p->checked || !toft_debug_begin_call(a, "lease", site)) return;
  (void)toft_verify_freed(a);
  toft_debug_end_call(a);
}

static TOFT_COLD toft_lease toft_lease_get_slow(toft_leases *given) {
  toft_lease result = {NULL, 0};
  toft_state *surplus = NULL;
  toft_leases *l = given != NULL ? given : &toft_default_leases;
  toft_lease_tls *s = toft_lease_tls_find(l);
  if (s == NULL) s = toft_lease_tls_new(l, &surplus);
  toft_lease_tls_select(given, s);
  toft_lock_take(&l->lock);
  toft_lease_slot *p =
      s != NULL && s->own != NULL && !(s->own->generation & TOFT_LEASED) ? s->own : toft_lease_slot_pop_idle(l);
  if (p == NULL) p = toft_lease_slot_new(l);
  if (p != NULL && p->arena == NULL) {
    l->creating++;
    TOFT_UNLOCK(&l->lock); /* the slot is on no list */
    toft_state *a = toft_lease_create_arena(l, p);
    s = toft_lease_tls_find(l);
    toft_lock_take(&l->lock);
    TOFT_ASSERT(l->creating != 0 && p->arena == NULL);
    l->creating--;
    p->arena = a;
    if (a == NULL) {
      p->next = l->free;
      l->free = p;
      p = NULL;
    } else {
      l->created++;
      l->kept_bytes += p->kept_bytes = toft_reserved(a);
      p->budget = toft_own_budget(a);
      p->checked = a->state & TOFT_IS_CHECKED;
      p->reset_state.round_max = 0;
      toft_reset_state_save(a, &p->reset_state);
    }
  }
  if (p != NULL) {
    if (p->owner != NULL)
      toft_lease_tls_publish(s);
    else
      (void)toft_lease_tls_bind(l, s, p);
    result = toft_lease_begin(p);
  }
  TOFT_UNLOCK(&l->lock);
  if (p != NULL) toft_lease_verify(p, TOFT_CALLER());
  toft_lease_release_list(surplus);
  return result;
}

toft_lease toft_lease_get(toft_leases *l) {
  toft_lease_tls *s = toft_this_thread.lease_tls;
  if (TOFT_LIKELY(toft_this_thread.lease_cache == l)) {
    toft_lease_slot *p = toft_lease_tls_begin(s);
    if (TOFT_LIKELY(!(p->generation & TOFT_LEASED))) {
      toft_lease result = toft_lease_begin(p);
      toft_lease_tls_end(s);
      return result;
    }
    toft_lease_tls_end(s);
  }
  return toft_lease_get_slow(l);
}

/* ---- return ---- */

/* Resets the arena to its state at creation, with at most the memory that the cache keeps. Precondition: the caller has
 * exclusive use of the slot. */
static int toft_lease_reset_arena(const toft_leases *l, toft_lease_slot *p) {
  toft_state *a = p->arena;
  (void)toft_pin_to(a, 0);
  int code = toft_reset_full(a, &p->reset_state, TOFT_KEEP_RECENT, 0);
  if (toft_own_budget(a) != p->budget) (void)toft_op_set(&a->head, TOFT_SET_BUDGET, p->budget, NULL, 0);
  if ((a->state & TOFT_IS_CHECKED) != p->checked)
    (void)toft_op_set(&a->head, TOFT_SET_CHECKED, p->checked != 0, NULL, 0);
  toft_instruments_release(a);
  if (TOFT_UNLIKELY(toft_process_switches() & TOFT_PROCESS_METERS)) toft_begin_process_meters(a);
  toft_set_limit(a); /* the limit of an arena without the settings of this lease */
  if (toft_reserved(a) > l->arena_bytes_max) {
    (void)toft_reset_full(a, &p->reset_state, TOFT_KEEP_BYTES, l->arena_bytes_max - TOFT_BLOCK_MIN);
    if (toft_reserved(a) > l->arena_bytes_max) toft_op_trim(&a->head, 0);
  }
  TOFT_ASSERT(a->live == 0 && a->adopted_live == 0);
  toft_reset_state_save(a, &p->reset_state); /* settings and a trim must not prevent the next fast reset */
  toft_seal(a);                              /* later uses take the slow path and fail */
  return code;
}

/* Returns the slot of a leased arena, after locking its thread out. NULL with an error in *code. */
static toft_lease_slot *toft_lease_find_slot(toft_leases *l, toft_lease lease, int *code) {
  *code = TOFT_EARG;
  if (toft_lease_slot_index(lease.generation) >= l->slot_count || !(lease.generation & TOFT_LEASED)) return NULL;
  toft_lease_slot *p = toft_lease_slot_at(l, toft_lease_slot_index(lease.generation));
  if (p->owner != NULL && p->owner != toft_lease_tls_find(l)) {
    *code = TOFT_EBUSY;
    if (!toft_lease_tls_revoke(p->owner)) return NULL;
    *code = TOFT_EARG;
  }
  /* A generation from the future. Generations wrap after 2^39 leases of a slot, 90 minutes of one thread. */
  if (lease.generation - (p->generation | TOFT_LEASED) - 1 < UINT64_MAX / 2) return NULL;
  *code = TOFT_EBUSY;
  if (lease.generation != p->generation) return NULL;
  if (&p->arena->head != lease.arena) *code = TOFT_EARG; /* another cache has issued the same generation */
  if (&p->arena->head != lease.arena) return NULL;
  /* The second: a callback of another library's instrument runs. */
  return (p->arena->state & TOFT_REFUSING) || (!toft_is_own(lease.arena) && toft_is_refusing(lease.arena)) ? NULL : p;
}

static TOFT_COLD int toft_lease_return_slow(toft_leases *given, toft_lease lease) {
  int code;
  toft_state *surplus = NULL;
  toft_leases *l = given != NULL ? given : &toft_default_leases;
  toft_lease_tls *s = toft_lease_tls_find(l);
  toft_lease_tls_select(given, s);
  toft_lock_take(&l->lock);
  toft_lease_slot *p = toft_lease_find_slot(l, lease, &code);
  if (p != NULL) {
    if (p->owner != NULL && p->owner != s) p->owner->foreign_returns++;
    toft_lease_slot_unbind(p);
    TOFT_ASSERT(p->kept_bytes <= l->kept_bytes);
    p->generation &= ~TOFT_LEASED; /* later returns of this lease fail */
    l->kept_bytes -= p->kept_bytes;
    p->kept_bytes = 0;
    l->returning++;
  }
  TOFT_UNLOCK(&l->lock);
  if (p == NULL) return code;
  code = toft_lease_reset_arena(l, p); /* runs cleanups, which may lease and return */
  size_t kept_bytes = toft_reserved(p->arena);
  s = toft_lease_tls_find(l);
  toft_lock_take(&l->lock);
  TOFT_ASSERT(l->returning != 0 && !(p->generation & TOFT_LEASED) && p->kept_bytes == 0);
  l->returning--;
  l->kept_bytes += p->kept_bytes = kept_bytes;
  if (kept_bytes > l->arena_bytes_max || l->kept_bytes > l->bytes_max)
    surplus = toft_lease_slot_evict(l, p);
  else if (!toft_lease_tls_bind(l, s, p)) {
    if (l->idle_count < l->idle_max - l->tls_count)
      toft_lease_slot_push_idle(l, p);
    else
      surplus = toft_lease_slot_evict(l, p);
  }
  TOFT_UNLOCK(&l->lock);
  toft_lease_release_arena(surplus);
  return code;
}

int toft_lease_return(toft_leases *l, toft_lease lease) {
  toft_lease_tls *s = toft_this_thread.lease_tls;
  if (TOFT_LIKELY(toft_this_thread.lease_cache == l)) {
    toft_lease_slot *p = toft_lease_tls_begin(s);
    if (TOFT_LIKELY(p->generation == lease.generation && &p->arena->head == lease.arena &&
                    toft_reset_fast(p->arena, &p->reset_state))) {
      toft_seal(p->arena);
      p->generation = lease.generation & ~TOFT_LEASED;
      toft_lease_tls_end(s);
      return TOFT_OK;
    }
    toft_lease_tls_end(s);
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
  if (o.idle > 65536 || !toft_options_are_valid(o.arenas)) return NULL;
  toft_leases *l = (toft_leases *)toft_os_heap_take(sizeof *l, 128);
  if (l == NULL) return NULL;
  memset((void *)l, 0, sizeof *l);
  l->idle_max = o.idle;
  l->arena_bytes_max = toft_max(TOFT_BLOCK_MIN, toft_min(o.keep, TOFT_MAX_REQUEST));
  l->bytes_max = o.bytes;
  l->arena_options = toft_options_copy(&l->options, o.arenas);
  toft_lock_take(&toft_threads_lock);
  l->id = toft_new_owner_id();
  l->next = toft_all_leases;
  toft_all_leases = l;
  TOFT_UNLOCK(&toft_threads_lock);
  return l;
}

/* Makes idle arenas reserved for threads available to all. The threads stay registered, and publish their slots
 * again. */
static void toft_leases_unbind_idle(toft_leases *l) {
  for (toft_lease_tls *s = l->tls_list; s != NULL; s = s->next)
    if (s == toft_lease_tls_find(l) || toft_lease_tls_revoke(s)) {
      toft_lease_slot *p = s->own;
      if (p == NULL || (p->generation & TOFT_LEASED)) continue;
      toft_lease_slot_unbind(p);
      toft_lease_slot_push_idle(l, p);
    }
}

void toft_leases_trim(toft_leases *l) {
  if (l == NULL) l = &toft_default_leases;
  toft_lock_take(&l->lock);
  toft_leases_unbind_idle(l);
  toft_state *list = toft_leases_take_idle(l, 0, NULL);
  TOFT_UNLOCK(&l->lock);
  toft_lease_release_list(list);
}

/* Counts leased arenas. Locks threads out of their private slots for it. */
static size_t toft_leases_count_leased(toft_leases *l) {
  size_t leased = l->creating + l->returning;
  for (size_t i = 0; i < l->slot_count; i++) {
    const toft_lease_slot *p = toft_lease_slot_at(l, i);
    if (p->owner == NULL || p->owner == toft_lease_tls_find(l) || toft_lease_tls_revoke(p->owner))
      leased += (p->generation & TOFT_LEASED) != 0;
  }
  return leased;
}

static void toft_leases_drop_chunks(toft_leases *l) {
  for (int i = 0; i < TOFT_SLOT_CHUNKS_MAX; i++)
    if (l->chunks[i] != NULL) toft_os_heap_put(l->chunks[i]);
  memset((void *)l->chunks, 0, sizeof l->chunks);
  l->slot_count = 0;
  l->free = NULL;
}

TOFT_RARE int toft_leases_release(toft_leases *l) {
  if (l == NULL || l == &toft_default_leases) return TOFT_EARG;
  toft_lock_take(&toft_threads_lock);
  toft_lock_take(&l->lock);
  int code = toft_leases_count_leased(l) != 0 ? TOFT_EBUSY : TOFT_OK;
  if (code == TOFT_OK) toft_leases_unbind_idle(l); /* adds the reserved ones to the idle list */
  for (toft_lease_tls *s = l->tls_list; s != NULL && code == TOFT_OK; s = s->next)
    s->leases = NULL; /* the thread frees its entry */
  toft_state *list = code == TOFT_OK ? toft_leases_take_idle(l, 0, NULL) : NULL;
  TOFT_UNLOCK(&l->lock);
  if (code == TOFT_OK) {
    toft_leases **at = &toft_all_leases;
    while (*at != l) at = &(*at)->next;
    *at = l->next;
    toft_lease_tls_sweep();
  }
  TOFT_UNLOCK(&toft_threads_lock);
  toft_lease_release_list(list);
  if (code != TOFT_OK) return code;
  TOFT_ASSERT(l->created == l->released && l->kept_bytes == 0 && l->idle_count == 0);
  toft_leases_drop_chunks(l);
  toft_os_heap_put(l);
  return TOFT_OK;
}

/* At exit and at dlclose. Arenas of other threads are not touched. */
static void toft_leases_unload(void) {
  toft_leases *l = &toft_default_leases;
  if (!toft_lock_take_at_unload(&l->lock)) return;
  toft_state *list = toft_leases_take_idle(l, 0, NULL);
  if (l->tls_list == NULL && toft_leases_count_leased(l) == 0) toft_leases_drop_chunks(l);
  TOFT_UNLOCK(&l->lock);
  toft_lease_release_list(list);
}

TOFT_RARE toft_lease_stats toft_leases_get_stats(toft_leases *l) {
  toft_lease_stats s;
  if (l == NULL) l = &toft_default_leases;
  toft_lock_take(&l->lock);
  s.created = l->created;
  s.released = l->released;
  s.leased = toft_leases_count_leased(l);
  s.idle = s.created - s.released - (s.leased - l->creating);
  s.kept = l->kept_bytes;
  TOFT_UNLOCK(&l->lock);
  return s;
}

#endif
