/* Create, release, adopt. The fast way through both ends: an arena that never saw a slow call is still as it was made,
 * so releasing it is a push on the thread's cache and creating the next one a pop.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "internal.h"

/* The first half of the state; the second waits for toft_prepare. */
static toft_state *toft_init(void *at, unsigned char *start, unsigned char *end, size_t size, toft_source *source,
                             uint32_t state) {
  toft_state *a = (toft_state *)at;
  a->head.cursor = a->anchor = a->home_start = start;
  a->head.ops = &toft_table.ops;
  a->head.limit = a->end = a->home_end = end;
  a->head.epoch = toft_epoch_first();
  a->state = TOFT_FRESH | state;
  a->rounds = 0;
  a->budget = UINT64_MAX;
  a->source = source;
  a->home_size = size;
  toft_written(a, sizeof a->head);
  return a;
}

static toft_state *toft_init_home(void *block, toft_source *source, uint32_t state) {
  unsigned char *base = (unsigned char *)block;
  return toft_init(block, base + TOFT_HOME_START, base + TOFT_HOME_SIZE, TOFT_HOME_SIZE, source, state);
}

static toft_state *toft_create_from(toft_source *source, uint32_t state) {
  void *block = source->take(source, TOFT_HOME_SIZE);
  if (block != NULL && ((uintptr_t)block & 63) != 0) {
    source->put(source, block, TOFT_HOME_SIZE);
    return NULL;
  }
  return block != NULL ? toft_init_home(block, source, state) : NULL;
}

static void toft_put_home(toft_state *a);

/* Of an arena that was just made, where the whole process is checked. NULL: there is no memory. */
static TOFT_COLD toft_state *toft_create_checked(toft_state *a) {
  toft_enter(a);
  if (toft_begin_checks(a) != TOFT_OK) {
    toft_put_home(a);
    return NULL;
  }
  if (a->source == NULL) {
    a->source = &toft_heap_source;
    a->checks->plain_limit = (size_t)(a->home_end - a->home_start);
  }
  toft_aim(a);
  return a;
}

TOFT_INLINE toft_state *toft_created(toft_state *a) {
  return TOFT_LIKELY(!toft_process_checks()) || a == NULL ? a : toft_create_checked(a);
}

static TOFT_COLD toft_state *toft_create_slow(void) {
  return toft_created(toft_create_from(&toft_heap_source, TOFT_CACHEABLE));
}

toft_arena *toft_create(void) {
  toft_state *a = toft_cache_pop();
  if (TOFT_UNLIKELY(a == NULL)) a = toft_create_slow();
  return a != NULL ? &a->head : NULL;
}

toft_arena *toft_create_in(void *buffer, size_t size, toft_source *overflow) {
  unsigned char *base = (unsigned char *)buffer;
  size_t pad = (size_t)(0 - (uintptr_t)base) & 63;
  if (base == NULL || size < pad + TOFT_HOME_START) return NULL;
  unsigned char *at = base + pad, *start = at + TOFT_HOME_START;
  unsigned char *end = start + ((size - pad - TOFT_HOME_START) & ~(size_t)7);
  toft_state *a = toft_created(toft_init(at, start, end, (size_t)(end - at), overflow, TOFT_BUFFER));
  return a != NULL ? &a->head : NULL;
}

toft_arena *toft_create_with(const toft_options *given) {
  toft_options o = TOFT_OPTIONS;
  if (given == NULL) return toft_create();
  if (given->size < 2 * sizeof(void *)) return NULL;
  memcpy(&o, given, toft_min(given->size, sizeof o)); /* an older caller's is shorter: the rest keeps its defaults */
  if ((o.flags & ~(uint32_t)TOFT_CHECKED) != 0 || o.reserve > TOFT_MAX_REQUEST) return NULL;
  toft_source *source = o.source != NULL ? o.source : &toft_heap_source;
  toft_arena *head = NULL;
  if (o.buffer != NULL) {
    head = toft_create_in(o.buffer, o.buffer_size, o.source);
  } else if (source == &toft_heap_source) {
    head = toft_create();
  } else {
    toft_state *made = toft_created(toft_create_from(source, 0));
    if (made != NULL) head = &made->head;
  }
  if (head == NULL) return NULL;
  toft_state *a = toft_state_of(head);
  toft_enter(a);
  if (o.budget != 0) a->budget = o.budget;
  a->failure = o.failure;
  a->failure_arg = o.failure_arg;
  size_t first = toft_merged_size((uint64_t)o.reserve + 512);
  if (o.reserve != 0 && first > TOFT_HOME_SIZE && o.buffer == NULL && source->extend == NULL) {
    a->first = first;
    toft_home_current(a, 1);
  }
  if (((o.flags & TOFT_CHECKED) || a->checks != NULL) && toft_begin_checks(a) != TOFT_OK) {
    toft_put_home(a);
    return NULL;
  }
  toft_aim(a);
  return head;
}

/* Home itself, as it was made: to the cache, or to where it came from. */
static void toft_put_home(toft_state *a) {
  toft_source *source = a->source;
  size_t size = a->home_size;
  toft_epoch_seen(a->head.epoch);
  if (!(a->state & TOFT_FRESH) && a->checks != NULL && toft_part_with_home(a, size)) return;
  if (a->state & TOFT_BUFFER) return;
  if ((a->state & TOFT_CACHEABLE) != 0 && !toft_process_checks() &&
      (toft_cache_takes(size) || toft_cache_make_room(size)))
    toft_cache_push(toft_init_home(a, source, TOFT_CACHEABLE));
  else
    source->put(source, a, size);
}

/* Every block back to its source. */
static void toft_destroy(toft_state *a) {
  if (a->checks != NULL) toft_unregister(&a->checks->registered);
  toft_run_cleanups(a, 0);
  (void)toft_look_at_shadows(a);
  (void)toft_check_records(a, 0);
  while (a->newest != &a->home) {
    toft_blk *b = a->newest;
    a->newest = b->next;
    toft_put(a, b);
  }
  toft_put_spares(a, 0);
  toft_end_watch(a);
  a->home_size = a->home.size; /* what its source extended it to */
  toft_put_home(a);
}

static TOFT_COLD void toft_release_slow(toft_state *a, uintptr_t site) {
  if (a->state & TOFT_HELD) return;
  if (a->state & TOFT_FRESH) {
    toft_put_home(a);
    return;
  }
  if (TOFT_UNLIKELY(!toft_step_in(a, "release", site))) return;
  toft_enter(a);
  if (!(a->state & TOFT_CLOSED)) {
    toft_destroy(a);
    return;
  }
  if (a->state & TOFT_IS_CHECKED) toft_tell_misuse(a, TOFT_FOUND_NOT_RELEASED, a, (a->state & TOFT_CLAIMED) != 0, NULL);
  toft_aim(a);
  toft_step_out(a);
  toft_fail(a, 0, 0, TOFT_EBUSY);
}

/* The fast way saves no register: whatever is not it is a tail call. */
static void toft_op_release(toft_arena *head) {
  toft_state *a = toft_state_of(head);
  toft_cache *c = &toft_tls;
  if (TOFT_LIKELY(a->state == (TOFT_FRESH | TOFT_CACHEABLE) && c->phase == TOFT_CACHE_OPEN &&
                  c->held + TOFT_HOME_SIZE <= TOFT_LOAD(&toft_cache_bytes))) {
    head->cursor = a->home_start;
    toft_cache_push(a);
  } else if (a->state != (TOFT_FRESH | TOFT_BUFFER)) {
    toft_release_slow(a, TOFT_CALLER());
  }
}

/* ---- adopt ---- */

/* The cleanup of an adopted arena: its place in the order is where it was adopted. */
static void toft_end_adopted(void *donor) { toft_destroy((toft_state *)donor); }
static void toft_end_foreign(void *donor) { toft_release((toft_arena *)donor); }

static int toft_adopt_own(toft_state *a, toft_state *donor) {
  toft_enter(donor);
  if ((donor->state & (TOFT_CLOSED | TOFT_HELD)) || (a->state & TOFT_CLOSED)) {
    toft_aim(donor);
    return TOFT_EBUSY;
  }
  if (!toft_affords(a, (size_t)donor->live) || donor->live > TOFT_MAX_REQUEST) {
    toft_aim(donor);
    return TOFT_ENOMEM;
  }
  if (!toft_apart_room(a)) {
    toft_aim(donor);
    return TOFT_ENOMEM;
  }
  donor->state |= TOFT_BUSY; /* whoever still uses it is refused */
  toft_aim(donor);
  toft_link_cleanup(a, &donor->adopted, toft_end_adopted, donor);
  a->live += donor->live;
  a->allocated += donor->live;
  a->adopted_live += donor->live;
  toft_apart_add(a, donor, (size_t)donor->live);
  toft_tell_over(a);
  return TOFT_OK;
}

/* A rewind is refused with this code whatever the mark is, and this is none. */
static int toft_is_closed(toft_arena *a) { return a->ops->rewind(a, NULL, 0) == TOFT_EBUSY; }

/* Of another maker, one or both: nothing is taken over, the donor's own release waits on the list. */
static int toft_adopt_foreign(toft_arena *head, toft_arena *donor) {
  if (head->ops->version != 1 || donor->ops->version != 1) return TOFT_ENOSYS;
  if (toft_is_closed(head) || toft_is_closed(donor)) return TOFT_EBUSY; /* a closed donor would ignore that release */
  toft_cleanup *node = toft_cleanup_add(head, NULL, donor);
  if (node == NULL) return TOFT_ENOMEM;
  node->fn = toft_end_foreign;
  return TOFT_OK;
}

int toft_adopt(toft_arena *head, toft_arena *donor) {
  if (head == donor || donor == NULL) return TOFT_EARG;
  if (!toft_is_own(head) || !toft_is_own(donor)) return toft_adopt_foreign(head, donor);
  toft_state *a = toft_state_of(head), *d = toft_state_of(donor);
  uintptr_t caller = TOFT_CALLER();
  if (!toft_step_in(a, "adopt", caller)) return TOFT_EBUSY;
  toft_enter(a);
  int code = toft_step_in(d, "adopt", caller) ? TOFT_OK : TOFT_EBUSY;
  if (code == TOFT_OK) {
    code = toft_adopt_own(a, d);
    toft_step_out(d);
  }
  toft_aim(a);
  toft_step_out(a);
  return code;
}
