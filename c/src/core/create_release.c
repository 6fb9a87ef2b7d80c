/* Creating, releasing and adopting arenas. An arena that never took the slow path is still pristine, so releasing it
 * pushes it on the thread's cache, and creating an arena pops it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_CREATE_RELEASE_C
#define TOFT_CORE_CREATE_RELEASE_C

#include "../platform/atomic.c"
#include "../platform/sanitizers.c"
#include "arena_state.h"
#include "block_cache.c"
#include "blocks.c"
#include "hooks.h"
#include "ops.c"
#include "policy.c"
#include "region_source.c"

/* Initialises the first part of the state; toft_complete_state does the second. */
static toft_state *toft_init(void *at, unsigned char *start, unsigned char *end, size_t size, toft_source *source,
                             uint32_t state) {
  toft_state *a = (toft_state *)at;
  a->head.cursor = a->synced = a->initial_start = start;
  a->head.ops = &toft_table.ops;
  a->head.limit = a->end = a->initial_end = end;
  a->head.epoch = toft_first_epoch();
  a->state = TOFT_PRISTINE | state;
  a->rounds = 0;
  a->budget = UINT64_MAX;
  a->source = source;
  a->initial_size = size;
  toft_mark_defined(a, sizeof a->head);
  return a;
}

static toft_state *toft_init_in_block(void *block, toft_source *source, uint32_t state) {
  unsigned char *base = (unsigned char *)block;
  return toft_init(block, base + TOFT_INITIAL_START, base + TOFT_BLOCK_MIN, TOFT_BLOCK_MIN, source, state);
}

static toft_state *toft_create_from(toft_source *source, uint32_t state) {
  void *block = source->take(source, TOFT_BLOCK_MIN);
  if (block == NULL && toft_budget_ask(source, TOFT_BLOCK_MIN)) block = source->take(source, TOFT_BLOCK_MIN);
  if (block != NULL && ((uintptr_t)block & 63) != 0) {
    source->put(source, block, TOFT_BLOCK_MIN);
    return NULL;
  }
  if (block == NULL) return NULL;
  return toft_init_in_block(block, source, state);
}

static void toft_put_initial(toft_state *a);

TOFT_INLINE toft_state *toft_finish_create(toft_state *a) {
  size_t switches = toft_process_switches();
  return TOFT_LIKELY(switches == 0) || a == NULL ? a : toft_observe_created(a, switches);
}

/* An arena on another source than the heap's. One in a region has no instruments, whose records would lie elsewhere. */
static toft_state *toft_create_on(toft_source *source) {
  toft_source *region = toft_region_under(source);
  if (region == NULL) return toft_finish_create(toft_create_from(source, 0));
  toft_state *a = toft_create_from(source, TOFT_IN_REGION);
  if (a != NULL) TOFT_LOAD_POINTER(const toft_region_calls, &toft_regions)->enlist(region, a);
  return a;
}

static TOFT_COLD toft_state *toft_create_slow(void) {
  return toft_finish_create(toft_create_from(&toft_heap_source, TOFT_CACHEABLE));
}

toft_arena *toft_create(void) {
  toft_state *a = toft_cache_pop();
  if (TOFT_UNLIKELY(a == NULL)) a = toft_create_slow();
  return a != NULL ? &a->head : NULL;
}

toft_arena *toft_create_in(void *buffer, size_t size, toft_source *overflow) {
  unsigned char *base = (unsigned char *)buffer;
  size_t pad = (size_t)(0 - (uintptr_t)base) & 63;
  if (base == NULL || size < pad + TOFT_INITIAL_START || toft_region_under(overflow) != NULL) return NULL;
  unsigned char *at = base + pad, *start = at + TOFT_INITIAL_START;
  unsigned char *end = start + ((size - pad - TOFT_INITIAL_START) & ~(size_t)7);
  toft_state *a = toft_finish_create(toft_init(at, start, end, (size_t)(end - at), overflow, TOFT_IN_BUFFER));
  return a != NULL ? &a->head : NULL;
}

toft_arena *toft_create_with(const toft_options *given) {
  toft_options o = TOFT_OPTIONS;
  if (given == NULL) return toft_create();
  if (given->size < 2 * sizeof(void *)) return NULL;
  memcpy(&o, given, toft_min(given->size, sizeof o)); /* an older caller's structure is shorter */
  if ((o.flags & ~(uint32_t)TOFT_CHECKED) != 0 || o.reserve > TOFT_MAX_REQUEST) return NULL;
  toft_source *source = o.source != NULL || o.buffer != NULL ? o.source : &toft_heap_source;
  if (o.flags != 0 && toft_region_under(source) != NULL) return NULL;
  if (o.buffer == NULL) source = toft_source_for_arena(source);
  toft_arena *head = NULL;
  if (o.buffer != NULL) {
    head = toft_create_in(o.buffer, o.buffer_size, source);
  } else if (source == &toft_heap_source) {
    head = toft_create();
  } else {
    toft_state *made = toft_create_on(source);
    if (made != NULL) head = &made->head;
  }
  if (head == NULL) return NULL;
  toft_state *a = toft_state_of(head);
  toft_sync_in(a);
  if (o.budget != 0) a->budget = o.budget;
  a->failure = o.failure;
  a->failure_arg = o.failure_arg;
  size_t first = toft_merged_size((uint64_t)o.reserve + 512);
  if (o.reserve != 0 && first > TOFT_BLOCK_MIN && o.buffer == NULL && source->extend == NULL) {
    a->first_size = first;
    toft_make_initial_current(a, 1);
  }
  if (o.buffer == NULL && !toft_portion_begin(a)) {
    toft_release_all(a);
    return NULL;
  }
  size_t switches = (o.flags & TOFT_CHECKED) || (a->state & TOFT_IS_CHECKED) ? TOFT_PROCESS_CHECKS : 0;
  toft_set_limit(a);
  if (switches != 0) a = toft_observe_created(a, switches | TOFT_SWITCHED_BY_OPTION);
  return a != NULL ? head : NULL;
}

/* Returns the initial block to the cache or to its source. */
static void toft_put_initial(toft_state *a) {
  toft_source *source = a->source;
  size_t size = a->initial_size;
  toft_region_unlist(a);
  toft_skip_epochs(a->head.epoch);
  if (TOFT_UNLIKELY(a->state & TOFT_OBSERVED) && toft_observe_put(a, &a->initial, 0)) return;
  if (a->state & TOFT_IN_BUFFER) return;
  if ((a->state & TOFT_CACHEABLE) != 0 && toft_process_switches() == 0 && toft_cache_accepts(size))
    toft_cache_push(toft_init_in_block(a, source, TOFT_CACHEABLE));
  else
    source->put(source, a, size);
}

/* Runs the cleanups and returns every block to its source. */
static void toft_release_all(toft_state *a) {
  toft_run_cleanups(a, 0);
  if (TOFT_UNLIKELY(a->state & TOFT_OBSERVED)) (void)toft_observe_free(a, 0, TOFT_BY_RELEASE);
  while (a->newest != &a->initial) {
    toft_block_header *b = a->newest;
    a->newest = b->next;
    toft_block_put(a, b);
  }
  toft_put_spares(a, 0);
  toft_portion_end(a);
  a->initial_size = a->initial.size; /* its source may have extended it */
  toft_put_initial(a);
}

static TOFT_COLD void toft_release_slow(toft_state *a) {
  if (a->state & TOFT_CACHE_OWNED) return;
  if (a->state & TOFT_PRISTINE) {
    toft_put_initial(a);
    return;
  }
  toft_sync_in(a);
  if (!(a->state & TOFT_REFUSING)) {
    toft_release_all(a);
    return;
  }
  toft_set_limit(a);
  toft_report_failure(a, 0, 0, TOFT_EBUSY);
}

/* The fast path saves no registers; everything else is a tail call. */
static void toft_op_release(toft_arena *head) {
  toft_state *a = toft_state_of(head);
  toft_cache *c = &toft_thread_cache;
  if (TOFT_LIKELY(a->state == (TOFT_PRISTINE | TOFT_CACHEABLE) && c->phase == TOFT_CACHE_OPEN &&
                  c->bytes + TOFT_BLOCK_MIN <= TOFT_LOAD(&toft_cache_limit_bytes))) {
    head->cursor = a->initial_start;
    toft_cache_push(a);
  } else if (a->state != (TOFT_PRISTINE | TOFT_IN_BUFFER)) {
    toft_release_slow(a);
  }
}

/* The cleanup that releases a donor where it was adopted. One whose state was overwritten has no blocks. */
static void toft_release_adopted(void *donor) {
  toft_state *a = (toft_state *)donor;
  toft_sync_in(a);
  toft_release_all(a);
}

#endif
