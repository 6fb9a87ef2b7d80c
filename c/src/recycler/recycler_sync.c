/* Synchronized recyclers: shards with a lock each, over which threads are distributed. A free that finds the lock of
 * the object's shard taken does not wait: it puts the object on the shard's list, which the next holder of the lock
 * frees.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_SYNC_C
#define TOFT_RECYCLER_RECYCLER_SYNC_C

#include "../core/alloc_slow.c"
#include "../core/hooks.h"
#include "../platform/atomic.c"
#include "recycler.c"

/* A thread that finds its shard's lock taken usually uses another shard. */
#define TOFT_SHARDS_DEFAULT 8

/* `pad` keeps shards on separate cache lines, and line pairs that some processors fetch. */
typedef struct toft_recycler_shard {
  toft_lock lock;
  int initialised; /* the first allocation does this */
  size_t deferred; /* atomic: the newest of the objects whose frees found the lock taken; each has the next's address */
  toft_recycler recycler;
  toft_source source; /* calls the owner's `inner` under source_lock */
  struct toft_sync_recycler *owner;
  size_t refused; /* bytes of the last block that the source refused in this call; 0: none */
  unsigned char pad[128];
} toft_recycler_shard;

struct toft_sync_recycler {
  toft_source *inner;
  toft_recycler_options options; /* of a shard */
  toft_lock source_lock;
  size_t bytes;
  uint32_t count;
  toft_recycler_shard shards[1];
};

static toft_recycler_shard *toft_sync_shard_with(toft_source *source) {
  return (toft_recycler_shard *)(void *)((unsigned char *)source - offsetof(toft_recycler_shard, source));
}

static void *toft_sync_take(toft_source *self, size_t size) {
  toft_recycler_shard *s = toft_sync_shard_with(self);
  toft_sync_recycler *r = s->owner;
  void *p;
  toft_lock_take(&r->source_lock);
  p = r->inner->take(r->inner, size);
  TOFT_UNLOCK(&r->source_lock);
  if (p == NULL) s->refused = size;
  return p;
}

static void toft_sync_put(toft_source *self, void *block, size_t size) {
  toft_sync_recycler *r = toft_sync_shard_with(self)->owner;
  toft_lock_take(&r->source_lock);
  r->inner->put(r->inner, block, size);
  TOFT_UNLOCK(&r->source_lock);
}

static uint32_t toft_sync_own(const toft_sync_recycler *r) { return (uint32_t)(toft_thread_id() % r->count); }

static void toft_sync_unlock(toft_recycler_shard *s) { TOFT_UNLOCK(&s->lock); }

static int toft_sync_initialise(toft_sync_recycler *r, toft_recycler_shard *s) {
  toft_recycler_options o = r->options;
  o.source = r->inner != &toft_heap_source ? &s->source : NULL; /* the heap source is thread-safe */
  int code = toft_recycler_init_as(&s->recycler, &o, toft_recycler_is_checked_on(r->inner));
  TOFT_ASSERT(s->owner == r && !s->initialised);
  s->recycler.shard = (uint8_t)(s - r->shards);
  s->recycler.shares_limit = toft_recycler_shares(r->inner);
  s->initialised = code == TOFT_OK;
  return code;
}

/* The shard that p came from. What is stored in memory of it does not change while p is live. */
static toft_recycler_shard *toft_sync_shard_of(toft_sync_recycler *r, void *p) {
  if (r->count == 1) return r->shards;
  return &r->shards[toft_recycler_is_large(p) ? toft_recycler_front_of(p)->owner->shard
                                              : toft_recycler_unit_of(p)->shard];
}

/* Frees an object instead of its owner, which holds the lock. */
static void toft_sync_defer(toft_recycler_shard *s, void *p) {
  size_t next = TOFT_LOAD(&s->deferred);
  do memcpy(p, &next, sizeof next);
  while (!TOFT_CAS_ACQ_REL(&s->deferred, &next, (size_t)(uintptr_t)p));
}

/* Frees the objects of the list. Precondition: the lock is held. */
static TOFT_NOINLINE void toft_sync_free_deferred(toft_recycler_shard *s) {
  size_t at = TOFT_LOAD(&s->deferred);
  while (!TOFT_CAS_ACQ_REL(&s->deferred, &at, 0)) continue;
  while (at != 0) {
    void *p = (void *)(uintptr_t)at;
    memcpy(&at, p, sizeof at);
    TOFT_ASSERT(toft_sync_shard_of(s->owner, p) == s);
    toft_recycler_free(&s->recycler, p, TOFT_SIZE_UNKNOWN);
  }
}

/* Begins the use of a shard whose lock this thread has taken. */
static void toft_sync_enter(toft_recycler_shard *s) {
  if (TOFT_UNLIKELY(TOFT_LOAD(&s->deferred) != 0)) toft_sync_free_deferred(s);
}

static void toft_sync_lock_shard(toft_recycler_shard *s) {
  toft_lock_take(&s->lock);
  toft_sync_enter(s);
}

/* Locks a shard for an allocation: the thread's own, or one whose lock is free. */
static toft_recycler_shard *toft_sync_lock(toft_sync_recycler *r) {
  uint32_t own = toft_sync_own(r), i;
  toft_recycler_shard *s = &r->shards[own];
  for (i = 0; i < r->count; i++) {
    s = &r->shards[(own + i) % r->count];
    if (TOFT_LOCK_TRY(&s->lock)) break;
  }
  if (i == r->count) {
    s = &r->shards[own];
    toft_lock_take(&s->lock);
  }
  toft_sync_enter(s);
  if (TOFT_UNLIKELY(!s->initialised)) (void)toft_sync_initialise(r, s); /* without a count this cannot fail */
  return s;
}

toft_sync_recycler *toft_sync_recycler_create(const toft_recycler_options *options) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  toft_sync_recycler *r;
  toft_source *inner;
  size_t bytes;
  uint32_t i;
  if (options != NULL && toft_recycler_check(options) != TOFT_OK) return NULL;
  if (options != NULL) memcpy(&o, options, options->size);
  if (o.shards == 0) o.shards = o.count != 0 ? 1 : TOFT_SHARDS_DEFAULT;
  inner = o.source != NULL ? o.source : &toft_heap_source;
  if (toft_region_refuses(inner, NULL)) return NULL;
  if (toft_recycler_is_checked_on(inner)) o.shards = 1; /* records do not store the shard */
  bytes = toft_round(sizeof *r + (o.shards - 1) * sizeof(toft_recycler_shard), 4096);
  r = (toft_sync_recycler *)inner->take(inner, bytes);
  if (r == NULL && toft_budget_ask(inner, bytes)) r = (toft_sync_recycler *)inner->take(inner, bytes);
  if (r == NULL) return NULL;
  r->inner = inner;
  r->bytes = bytes;
  memset(&r->source_lock, 0, sizeof r->source_lock);
  o.size = sizeof o;
  r->options = o;
  r->count = o.shards;
  for (i = 0; i < o.shards; i++) {
    memset(&r->shards[i].lock, 0, sizeof r->shards[i].lock);
    r->shards[i].initialised = 0;
    r->shards[i].deferred = 0;
    r->shards[i].source.take = toft_sync_take;
    r->shards[i].source.put = toft_sync_put;
    r->shards[i].source.extend = NULL;
    r->shards[i].owner = r;
    r->shards[i].refused = 0;
  }
  if (o.count != 0 && toft_sync_initialise(r, r->shards) != TOFT_OK &&
      (!toft_budget_ask(inner, r->shards->refused) || toft_sync_initialise(r, r->shards) != TOFT_OK)) {
    inner->put(inner, r, bytes);
    return NULL;
  }
  return r;
}

void toft_sync_recycler_release(toft_sync_recycler *r) {
  uint32_t i;
  if (r == NULL) return;
  for (i = 0; i < r->count; i++)
    if (r->shards[i].initialised) toft_recycler_release(&r->shards[i].recycler);
  r->inner->put(r->inner, r, r->bytes);
}

/* All shards return idle memory, and each is tried. Stores the size of the block that the source refused last; 0:
 * none. */
static void *toft_sync_alloc_anywhere(toft_sync_recycler *r, size_t size, size_t align, uintptr_t site,
                                      size_t *refused) {
  void *p = NULL;
  *refused = 0;
  toft_sync_recycler_trim(r, 0);
  for (uint32_t i = 0; i < r->count && p == NULL; i++) {
    toft_recycler_shard *s = &r->shards[i];
    toft_sync_lock_shard(s);
    s->refused = 0;
    if (s->initialised) p = toft_recycler_alloc_slow_at(&s->recycler, size, align, site);
    if (s->refused != 0) *refused = s->refused;
    toft_sync_unlock(s);
  }
  return p;
}

/* The source refused one shard: all are tried, and once more if a budget's callback has freed memory. */
static TOFT_COLD void *toft_sync_alloc_after_refusal(toft_sync_recycler *r, size_t size, size_t align, uintptr_t site) {
  size_t refused;
  if (toft_check_request(size, TOFT_OPS_ALIGN(align)) != TOFT_OK) return NULL;
  void *p = toft_sync_alloc_anywhere(r, size, align, site, &refused);
  if (p != NULL || refused == 0 || !toft_budget_ask(r->inner, refused)) return p;
  return toft_sync_alloc_anywhere(r, size, align, site, &refused);
}

static void *toft_sync_alloc_at(toft_sync_recycler *r, size_t size, size_t align, uintptr_t site) {
  toft_recycler_shard *s = toft_sync_lock(r);
  void *p = toft_recycler_bump(&s->recycler, size, align);
  if (p == NULL) p = toft_recycler_alloc_slow_at(&s->recycler, size, align, site);
  toft_sync_unlock(s);
  return TOFT_LIKELY(p != NULL) ? p : toft_sync_alloc_after_refusal(r, size, align, site);
}

void *toft_sync_recycler_alloc(toft_sync_recycler *r, size_t size, size_t align) {
  return toft_sync_alloc_at(r, size, align, TOFT_CALLER());
}

void toft_sync_recycler_free(toft_sync_recycler *r, void *p, size_t size) {
  toft_recycler_shard *s;
  if (p == NULL) return;
  s = toft_sync_shard_of(r, p);
  if (TOFT_UNLIKELY(s->recycler.checked)) {
    toft_lock_take(&s->lock);
    toft_recycler_free_slow_at(&s->recycler, p, size, TOFT_CALLER());
  } else if (TOFT_LIKELY(TOFT_LOCK_TRY(&s->lock))) {
    toft_sync_enter(s);
    toft_recycler_free(&s->recycler, p, size);
  } else {
    toft_sync_defer(s, p);
    return;
  }
  toft_sync_unlock(s);
}

void *toft_sync_recycler_resize(toft_sync_recycler *r, void *p, size_t old_size, size_t new_size, size_t align) {
  toft_recycler_shard *s;
  void *q;
  if (p == NULL) return toft_sync_recycler_alloc(r, new_size, align);
  s = toft_sync_shard_of(r, p);
  toft_sync_lock_shard(s);
  q = toft_recycler_resize_at(&s->recycler, p, old_size, new_size, align, TOFT_CALLER());
  toft_sync_unlock(s);
  if (TOFT_LIKELY(q != NULL)) return q;
  q = toft_sync_alloc_after_refusal(r, new_size, align, TOFT_CALLER());
  if (q == NULL) return NULL;
  memcpy(q, p, toft_min(old_size, new_size));
  toft_sync_recycler_free(r, p, old_size);
  return q;
}

void toft_sync_recycler_reset(toft_sync_recycler *r) {
  uint32_t i;
  for (i = 0; i < r->count; i++) {
    toft_lock_take(&r->shards[i].lock);
    TOFT_STORE(&r->shards[i].deferred, 0);
    if (r->shards[i].initialised) toft_recycler_release(&r->shards[i].recycler);
    toft_sync_unlock(&r->shards[i]);
  }
}

void toft_sync_recycler_trim(toft_sync_recycler *r, size_t keep) {
  uint32_t i;
  for (i = 0; i < r->count; i++) {
    toft_sync_lock_shard(&r->shards[i]);
    if (r->shards[i].initialised) keep -= toft_min(keep, toft_recycler_trim_to(&r->shards[i].recycler, keep));
    toft_sync_unlock(&r->shards[i]);
  }
}

toft_recycler_stats toft_sync_recycler_get_stats(toft_sync_recycler *r) {
  toft_recycler_stats sum;
  uint64_t *total = (uint64_t *)(void *)&sum;
  uint32_t i;
  memset(&sum, 0, sizeof sum);
  for (i = 0; i < r->count; i++) {
    toft_recycler_stats s;
    const uint64_t *part = (const uint64_t *)(const void *)&s;
    size_t k;
    toft_sync_lock_shard(&r->shards[i]);
    memset(&s, 0, sizeof s);
    if (r->shards[i].initialised) s = toft_recycler_get_stats(&r->shards[i].recycler);
    toft_sync_unlock(&r->shards[i]);
    for (k = 0; k < sizeof s / sizeof *part; k++) total[k] += part[k];
  }
  return sum;
}

#endif
