/* The lease cache, locked part: slots, the idle list, registering and unregistering threads.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_THREADS_LEASE_CACHE_C
#define TOFT_THREADS_LEASE_CACHE_C

#include "../core/blocks.c"
#include "../core/create_release.c"
#include "../core/ops.c"
#include "../core/stats.c"
#include "thread_state.c"

#define TOFT_FIRST_CHUNK_SLOTS 64 /* slots of the first chunk; each next one has twice as many */
#define TOFT_SLOT_CHUNKS_MAX 18
#define TOFT_FOREIGN_RETURNS_MAX 8 /* after this many returns by other threads a thread loses its private slot */

struct toft_leases {
  size_t id, idle_max, arena_bytes_max, bytes_max;
  const toft_options *arena_options;
  unsigned char pad[128 - 5 * sizeof(void *)]; /* separates members that all threads read from those that are written */
  toft_lock lock;
  toft_lease_slot *idle_slots, *free;
  size_t idle_count, slot_count, tls_count;
  toft_lease_tls *tls_list;
  size_t created, released, kept_bytes;
  size_t creating, returning; /* slots of a get or return that released the lock: on no list, counted as leased */
  toft_lease_slot *chunks[TOFT_SLOT_CHUNKS_MAX];
  toft_options options;
  toft_leases *next;
};

static toft_leases toft_default_leases = {1, 128,  262144, 16777216, NULL, {0}, 0, NULL,   NULL,         0,   0,
                                          0, NULL, 0,      0,        0,    0,   0, {NULL}, TOFT_OPTIONS, NULL};
static toft_leases *toft_all_leases = &toft_default_leases; /* with toft_threads_lock */

/* ---- slots ---- */

static toft_lease_slot *toft_lease_slot_at(const toft_leases *l, size_t index) {
  size_t chunk = 0, first = 0, count = TOFT_FIRST_CHUNK_SLOTS;
  TOFT_ASSERT(index < l->slot_count);
  while (index >= first + count) first += count, count *= 2, chunk++;
  return &l->chunks[chunk][index - first];
}

/* Takes a free slot. NULL: no memory. */
static toft_lease_slot *toft_lease_slot_new(toft_leases *l) {
  toft_lease_slot *p = l->free;
  if (p != NULL) {
    TOFT_ASSERT(p->arena == NULL && p->owner == NULL && !(p->generation & TOFT_LEASED));
    l->free = p->next;
    return p;
  }
  size_t chunk = 0, first = 0, count = TOFT_FIRST_CHUNK_SLOTS;
  while (l->slot_count >= first + count) first += count, count *= 2, chunk++;
  if (chunk >= TOFT_SLOT_CHUNKS_MAX) return NULL;
  if (l->chunks[chunk] == NULL) {
    size_t size = count * sizeof(toft_lease_slot);
    l->chunks[chunk] = (toft_lease_slot *)toft_os_heap_take(size, 64);
    if (l->chunks[chunk] == NULL) return NULL;
    memset((void *)l->chunks[chunk], 0, size);
  }
  p = &l->chunks[chunk][l->slot_count - first];
  p->generation = (uint64_t)l->slot_count++ << 1;
  return p;
}

static void toft_lease_slot_push_idle(toft_leases *l, toft_lease_slot *p) {
  TOFT_ASSERT(p->arena != NULL && p->owner == NULL && !(p->generation & TOFT_LEASED));
  p->next = l->idle_slots;
  l->idle_slots = p;
  l->idle_count++;
}

static toft_lease_slot *toft_lease_slot_pop_idle(toft_leases *l) {
  toft_lease_slot *p = l->idle_slots;
  if (p != NULL) {
    TOFT_ASSERT(l->idle_count != 0);
    l->idle_slots = p->next;
    l->idle_count--;
  }
  TOFT_ASSERT((l->idle_slots == NULL) == (l->idle_count == 0));
  return p;
}

/* Removes the arena from the cache; the caller releases it without the lock. */
static toft_state *toft_lease_slot_evict(toft_leases *l, toft_lease_slot *p) {
  toft_state *a = p->arena;
  TOFT_ASSERT(p->owner == NULL && !(p->generation & TOFT_LEASED));
  TOFT_ASSERT(p->kept_bytes <= l->kept_bytes);
  p->arena = NULL;
  p->next = l->free;
  l->free = p;
  l->kept_bytes -= p->kept_bytes;
  p->kept_bytes = 0;
  if (a != NULL) l->released++;
  return a;
}

static void toft_lease_slot_unbind(toft_lease_slot *p) {
  if (p->owner != NULL) {
    TOFT_ASSERT(p->owner->own == p);
    p->owner->own = NULL;
    TOFT_STORE_POINTER(toft_lease_slot, &p->owner->visible, &toft_no_lease_slot);
  }
  p->owner = NULL;
}

/* ---- arenas ---- */

/* A pointer to the slot is stored after the state, before the first byte of the initial block's allocations. */
TOFT_STATIC_ASSERT(slot_behind_state, sizeof(toft_state) + sizeof(void *) <= TOFT_INITIAL_START);
static toft_lease_slot **toft_lease_slot_of(const toft_state *a) {
  return (toft_lease_slot **)(void *)((unsigned char *)(uintptr_t)a + TOFT_INITIAL_START - sizeof(void *));
}

/* Whether the lease was returned: then its ops fail. Reads `generation` without a lock: the caller owns the lease, or
 * misuses it. */
static int toft_lease_is_returned(const toft_arena *a) {
  return !((*toft_lease_slot_of(toft_state_of(a)))->generation & TOFT_LEASED);
}

static void *toft_leased_alloc(toft_arena *a, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  if (!toft_lease_is_returned(a) || (size == 0 && toft_pad(a->cursor, align) == 0))
    return toft_ops_of(toft_state_of(a))->alloc(a, size, align, flags, site);
  toft_report_failure(toft_state_of(a), size, align, TOFT_EBUSY);
  return NULL;
}
static void *toft_leased_resize(toft_arena *a, void *p, size_t old_size, size_t new_size, size_t align, uint32_t flags,
                                uintptr_t site) {
  if (!toft_lease_is_returned(a))
    return toft_ops_of(toft_state_of(a))->resize(a, p, old_size, new_size, align, flags, site);
  toft_report_failure(toft_state_of(a), new_size, align, TOFT_EBUSY);
  return NULL;
}
static void toft_leased_free(toft_arena *a, void *p, size_t size) {
  if (!toft_lease_is_returned(a)) toft_ops_of(toft_state_of(a))->free(a, p, size);
}
static int toft_leased_rewind(toft_arena *a, unsigned char *cursor, uintptr_t epoch) {
  return toft_lease_is_returned(a) ? TOFT_EBUSY : toft_ops_of(toft_state_of(a))->rewind(a, cursor, epoch);
}
static int toft_leased_reset(toft_arena *a, uint32_t policy, size_t keep) {
  if (!toft_lease_is_returned(a)) return toft_ops_of(toft_state_of(a))->reset(a, policy, keep);
  return policy > TOFT_KEEP_BYTES ? TOFT_EARG : TOFT_EBUSY;
}
static void toft_leased_trim(toft_arena *a, size_t keep) {
  if (!toft_lease_is_returned(a)) toft_ops_of(toft_state_of(a))->trim(a, keep);
}
static toft_cleanup *toft_leased_cleanup(toft_arena *a, void (*fn)(void *), void *arg) {
  if (!toft_lease_is_returned(a)) return toft_ops_of(toft_state_of(a))->cleanup(a, fn, arg);
  toft_report_failure(toft_state_of(a), sizeof(toft_cleanup_node), 8, TOFT_EBUSY);
  return NULL;
}
static void *toft_leased_claim(toft_arena *a, toft_range *r, size_t size, size_t align) {
  if (!toft_lease_is_returned(a)) return toft_ops_of(toft_state_of(a))->claim(a, r, size, align);
  toft_report_failure(toft_state_of(a), size, align, TOFT_EBUSY);
  return NULL;
}
static int toft_leased_give(toft_arena *a, toft_range *r) {
  return toft_lease_is_returned(a) ? TOFT_EARG : toft_ops_of(toft_state_of(a))->give(a, r);
}
static size_t toft_leased_stats(toft_arena *a, toft_stats *out, size_t out_size) {
  size_t n = toft_op_stats(a, out, out_size);
  if (toft_lease_is_returned(a)) toft_seal(toft_state_of(a));
  return n;
}
static int toft_leased_set(toft_arena *a, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  if (!toft_lease_is_returned(a)) return toft_ops_of(toft_state_of(a))->set(a, what, value, name, name_len);
  return what == TOFT_SET_BUDGET || what == TOFT_SET_CHECKED ? TOFT_EBUSY : TOFT_ENOSYS;
}
static void toft_leased_release(toft_arena *a) { (void)a; } /* only the cache releases its arenas */

static const toft_info_ops toft_leased_table = {
    {
        sizeof(toft_info_ops),
        1,
        toft_leased_alloc,
        toft_leased_resize,
        toft_leased_free,
        toft_leased_rewind,
        toft_leased_reset,
        toft_leased_trim,
        toft_leased_cleanup,
        toft_leased_claim,
        toft_leased_give,
        toft_op_contains,
        toft_leased_stats,
        toft_leased_set,
        toft_leased_release,
    },
    &toft_info,
    NULL,
};

static int toft_is_leased(const toft_arena *a) { return a->ops == &toft_leased_table.ops; }

/* Releases an arena that is empty and not shared. */
static void toft_lease_release_arena(toft_state *a) {
  if (a == NULL) return;
  TOFT_ASSERT(a->state & TOFT_CACHE_OWNED);
  TOFT_ASSERT(toft_is_leased(&a->head));
  a->state &= ~(uint32_t)TOFT_CACHE_OWNED;
  a->head.ops = toft_ops_of(a);
  toft_release(&a->head);
}

static size_t toft_reserved(const toft_state *a) {
  toft_stats s;
  memset(&s, 0, sizeof s);
  toft_add_stats(a, &s);
  return (size_t)s.reserved;
}

/* Removes all idle arenas except the newest `keep` and prepends them to `list`, linked by initial.next, which is NULL
 * in an idle arena. */
static toft_state *toft_leases_take_idle(toft_leases *l, size_t keep, toft_state *list) {
  while (l->idle_count > keep) {
    toft_lease_slot **at = &l->idle_slots;
    while (keep != 0 && (*at)->next != NULL) at = &(*at)->next;
    toft_lease_slot *p = *at;
    TOFT_ASSERT(p->arena != NULL && p->arena->initial.next == NULL);
    *at = p->next;
    l->idle_count--;
    toft_state *a = toft_lease_slot_evict(l, p);
    a->initial.next = (toft_block_header *)(void *)list;
    list = a;
  }
  return list;
}

static void toft_lease_release_list(toft_state *list) {
  while (list != NULL) {
    toft_state *a = list;
    list = (toft_state *)(void *)a->initial.next;
    a->initial.next = NULL;
    toft_lease_release_arena(a);
  }
}

/* ---- private slots of threads ---- */

/* The calling thread's entry for the cache; NULL: none. Sources and cleanups may call toft_cache_trim, which frees it:
 * call this again after each. */
static toft_lease_tls *toft_lease_tls_find(const toft_leases *l) {
  toft_lease_tls *s = toft_this_thread.lease_tls_list;
  while (s != NULL && s->id != l->id) s = s->next_of_thread;
  return s;
}

/* Makes the next call try this entry first. `l` is the caller's argument. */
static void toft_lease_tls_select(toft_leases *l, toft_lease_tls *s) {
  if (s == NULL) return;
  toft_this_thread.lease_cache = l;
  toft_this_thread.lease_tls = s;
}

/* Frees the thread's entries of released caches. With toft_threads_lock. */
static void toft_lease_tls_sweep(void) {
  toft_lease_tls **at = &toft_this_thread.lease_tls_list;
  while (*at != NULL) {
    toft_lease_tls *s = *at;
    if (s->leases == NULL) {
      *at = s->next_of_thread;
      if (toft_this_thread.lease_tls == s) toft_this_thread.lease_tls = &toft_no_lease_tls;
      toft_os_heap_put(s);
    } else {
      at = &s->next_of_thread;
    }
  }
}

/* Registers the calling thread. Half of the idle arenas may be reserved for threads; a registered thread counts as one
 * idle arena. *surplus: idle arenas beyond the limit, to be released by the caller. */
static toft_lease_tls *toft_lease_tls_new(toft_leases *l, toft_state **surplus) {
  toft_thread_state *h = &toft_this_thread;
  if (h->ended || TOFT_LOAD(&l->tls_count) >= l->idle_max / 2 || !toft_fence_is_asymmetric() ||
      !toft_os_arm_thread_exit())
    return NULL;
  toft_lease_tls *s = (toft_lease_tls *)toft_os_heap_take(sizeof *s, 128);
  if (s == NULL) return NULL;
  memset(s, 0, sizeof *s);
  s->leases = l;
  s->id = l->id;
  s->visible = &toft_no_lease_slot;
  toft_lock_take(&toft_threads_lock);
  toft_arm_fork();
  toft_lease_tls_sweep();
  toft_lock_take(&l->lock);
  if (l->tls_count < l->idle_max / 2) {
    TOFT_STORE(&l->tls_count, l->tls_count + 1);
    *surplus = toft_leases_take_idle(l, l->idle_max - l->tls_count, NULL);
    s->next = l->tls_list;
    l->tls_list = s;
    s->next_of_thread = h->lease_tls_list;
    h->lease_tls_list = s;
  } else {
    s->leases = NULL;
  }
  TOFT_UNLOCK(&l->lock);
  TOFT_UNLOCK(&toft_threads_lock);
  if (s->leases != NULL) return s;
  toft_os_heap_put(s);
  return NULL;
}

/* Makes the own slot visible to its thread. Called on that thread, with the cache's lock. */
static void toft_lease_tls_publish(toft_lease_tls *s) { TOFT_STORE_POINTER(toft_lease_slot, &s->visible, s->own); }

/* Reserves the slot for this thread, if allowed. */
static int toft_lease_tls_bind(toft_leases *l, toft_lease_tls *s, toft_lease_slot *p) {
  if (s == NULL || s->own != NULL || s->foreign_returns >= TOFT_FOREIGN_RETURNS_MAX || p->checked ||
      l->kept_bytes > l->bytes_max)
    return 0;
  TOFT_ASSERT(p->owner == NULL);
  p->owner = s;
  s->own = p;
  toft_lease_tls_publish(s);
  return 1;
}

/* Unregisters a thread; its idle arena becomes available to all. With toft_threads_lock; the thread is not using its
 * slot. */
static int toft_lease_tls_unlink(toft_lease_tls *s, toft_state **surplus) {
  toft_leases *l = s->leases;
  if (l == NULL) return 1;
  if (!toft_lock_take_at_unload(&l->lock)) return 0;
  toft_lease_tls **at = &l->tls_list;
  while (*at != s) at = &(*at)->next;
  *at = s->next;
  TOFT_STORE(&l->tls_count, l->tls_count - 1);
  toft_lease_slot *p = s->own;
  if (p != NULL) {
    toft_lease_slot_unbind(p);
    if (!(p->generation & TOFT_LEASED)) toft_lease_slot_push_idle(l, p);
    *surplus = toft_leases_take_idle(l, l->idle_max - l->tls_count, *surplus);
  }
  TOFT_UNLOCK(&l->lock);
  return 1;
}

/* ---- fork ---- */

/* Frees the slots of threads that do not exist in the child. A slot that was in use at the fork keeps its arena leased
 * forever. */
static void toft_leases_reset_after_fork(toft_leases *l) {
  toft_thread_state *h = &toft_this_thread;
  toft_lease_tls **at = &l->tls_list;
  while (*at != NULL) {
    toft_lease_tls *s = *at, *own = h->lease_tls_list;
    while (own != NULL && own != s) own = own->next_of_thread;
    if (own != NULL) {
      at = &s->next;
      continue;
    }
    *at = s->next;
    TOFT_STORE(&l->tls_count, l->tls_count - 1);
    toft_lease_slot *p = s->own;
    if (p != NULL) {
      toft_lease_slot_unbind(p);
      if (s->busy) {
        p->generation = (p->generation | TOFT_LEASED) + TOFT_GENERATION_ONE; /* matches no lease */
      } else if (!(p->generation & TOFT_LEASED)) {
        toft_lease_slot_push_idle(l, p);
      }
    }
    s->leases = NULL;
    s->id = 0;
    s->next_of_thread = h->lease_tls_list; /* the calling thread frees it */
    h->lease_tls_list = s;
  }
}

static void toft_leases_at_fork(int phase) {
  for (toft_leases *l = toft_all_leases; l != NULL; l = l->next) {
    if (phase == 0) toft_lock_take(&l->lock);
    if (phase == 2) toft_leases_reset_after_fork(l);
    if (phase != 0) TOFT_UNLOCK(&l->lock);
  }
}

#endif
