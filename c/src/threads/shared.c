/* Shared arenas: a current block that threads allocate from by compare-and-exchange; under a lock, earlier blocks, kept
 * blocks and the local arenas.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_THREADS_SHARED_C
#define TOFT_THREADS_SHARED_C

#include "../core/alloc_slow.c"
#include "../core/block_cache.c"
#include "../core/create_release.c"
#include "../core/ops.c"
#include "../core/policy.c"
#include "../debug/debug_records.c"
#include "../platform/atomic.c"

#define TOFT_SHARED_FIRST (16 * TOFT_KIB) /* size of the first block; each next one is twice as large, up to TOFT_CAP */
#define TOFT_SHARED_LARGE (64 * TOFT_KIB) /* larger allocations have a block of their own */

/* Stored at the block's base, on a cache line of its own, since all threads write `used`. */
typedef struct toft_shared_block {
  struct toft_shared_block *next; /* with the lock held, like all lists */
  unsigned char *start;
  size_t capacity, size;
  size_t used; /* bytes from start; at least the end of every allocation */
} toft_shared_block;
TOFT_STATIC_ASSERT(shared_block, sizeof(toft_shared_block) <= TOFT_HEADER);

/* A block that a local arena returned, stored in the block itself. */
typedef struct toft_returned_block {
  struct toft_returned_block *next;
  size_t size;
} toft_returned_block;

struct toft_shared {
  toft_source source; /* of the local arenas */
  toft_source *inner;
  toft_shared_block *current;                  /* NULL: none yet */
  unsigned char pad[128 - 5 * sizeof(void *)]; /* members above are read by all threads */
  toft_lock lock;                              /* protects the members below and the inner source */
  int releasing;                               /* the local arenas are being released */
  toft_shared_block *blocks, *spares;          /* of this round; kept */
  toft_returned_block *returned;               /* for reuse by local arenas */
  toft_cleanup_node *parts;                    /* local arenas, linked by their otherwise unused `adopted` */
  size_t next_size, reserved;
  uint32_t count;
  int refused; /* 2: the source refused a block in this round; 1: in an earlier one, and has granted none since */
  uint64_t source_calls, allocated, peak, recent; /* allocated: in earlier rounds */
};

/* ---- lock-free calls ---- */

/* `size` is a multiple of 8. NULL: it does not fit. */
TOFT_INLINE unsigned char *toft_shared_bump(toft_shared_block *b, size_t size, size_t align) {
  size_t used = TOFT_LOAD(&b->used);
  for (;;) {
    size_t pad = toft_pad(b->start + used, align), remaining = b->capacity - used;
    if (pad > remaining || size > remaining - pad) return NULL;
    /* Acquire: another thread may have freed these bytes after using them. */
    TOFT_ASSERT(used <= b->capacity && size % 8 == 0);
    if (TOFT_CAS_ACQ_REL(&b->used, &used, used + pad + size)) return b->start + used + pad;
  }
}

/* Moves the current block's cursor from `from` to `to`, if it is at `from`: bytes after it are free, and those between
 * the two are free or the caller's. */
static int toft_shared_move_cursor(toft_shared *s, unsigned char *from, unsigned char *to) {
  toft_shared_block *b = TOFT_LOAD_POINTER_ACQUIRE(toft_shared_block, &s->current);
  if (b == NULL) return 0;
  size_t at = (size_t)((uintptr_t)from - (uintptr_t)b->start), then = (size_t)((uintptr_t)to - (uintptr_t)b->start);
  return at <= b->capacity && then <= b->capacity && TOFT_LOAD(&b->used) == at && TOFT_CAS_ACQ_REL(&b->used, &at, then);
}

/* ---- blocks, with the lock held ---- */

static void toft_shared_push(toft_shared_block **list, toft_shared_block *b) {
  b->next = *list;
  *list = b;
}

static void toft_shared_put(toft_shared *s, toft_shared_block *b) {
  TOFT_ASSERT(b->size <= s->reserved && b != s->current);
  s->reserved -= b->size;
  s->inner->put(s->inner, b, b->size);
}

/* 0: there was none. */
static int toft_shared_put_spares(toft_shared *s) {
  int any = s->spares != NULL;
  for (toft_shared_block *b; (b = s->spares) != NULL;) {
    s->spares = b->next;
    toft_shared_put(s, b);
  }
  return any;
}

static size_t toft_shared_least(size_t need) { return toft_round(need + 8 * TOFT_HEADER, TOFT_BLOCK_MIN); }

/* The first spare of `size` bytes, or else in which `need` bytes fit; NULL: there is none. */
static toft_shared_block *toft_shared_take_spare(toft_shared *s, size_t need, size_t size) {
  toft_shared_block **found = NULL;
  for (toft_shared_block **at = &s->spares; *at != NULL; at = &(*at)->next) {
    if ((*at)->capacity < need || (found != NULL && (*at)->size != size)) continue;
    found = at;
    if ((*at)->size == size) break;
  }
  if (found == NULL) return NULL;
  toft_shared_block *b = *found;
  *found = b->next;
  return b;
}

/* A block of `size` bytes. If the source refuses it: once more when the spares are returned, then smaller ones. */
static toft_shared_block *toft_shared_take(toft_shared *s, size_t need, size_t size) {
  size_t least = toft_shared_least(need);
  toft_shared_block *b;
  for (;;) {
    s->source_calls++;
    b = (toft_shared_block *)s->inner->take(s->inner, size);
    if (b != NULL) break;
    s->refused = 2;
    if (toft_shared_put_spares(s)) continue;
    if (size == least) return NULL;
    size = toft_max(least, toft_round(size / 2, TOFT_BLOCK_MIN));
  }
  if (s->refused == 1) s->refused = 0;
  if (((uintptr_t)b & 63) != 0) {
    s->inner->put(s->inner, b, size);
    return NULL;
  }
  s->reserved += size;
  b->start = (unsigned char *)b + toft_stagger(size, s->count++);
  b->size = size;
  b->capacity = size - (size_t)(b->start - (unsigned char *)b);
  b->used = 0;
  TOFT_ASSERT(b->start + b->capacity == (unsigned char *)b + size);
  TOFT_ASSERT(b->capacity >= need);
  return b;
}

/* Adds a block of `due` bytes, or of what `need` takes if that is more: a spare, or one from the source. */
static toft_shared_block *toft_shared_block_new(toft_shared *s, size_t need, size_t due) {
  size_t size = toft_max(toft_shared_least(need), due);
  toft_shared_block *b = toft_shared_take_spare(s, need, size);
  if (b == NULL) b = toft_shared_take(s, need, size);
  if (b != NULL) toft_shared_push(&s->blocks, b);
  return b;
}

static unsigned char *toft_shared_alloc_locked(toft_shared *s, size_t size, size_t align) {
  size_t need = toft_need(size, align);
  toft_lock_take(&s->lock);
  toft_shared_block *b = s->current;
  unsigned char *p = b != NULL ? toft_shared_bump(b, size, align) : NULL; /* another thread may have added a block */
  if (p == NULL && b != NULL && need > TOFT_SHARED_LARGE) {
    b = toft_shared_block_new(s, need, 0); /* the current block stays for smaller requests */
    if (b != NULL) p = toft_shared_bump(b, size, align);
  } else if (p == NULL) {
    b = toft_shared_block_new(s, need, s->next_size);
    if (b != NULL) {
      s->next_size = toft_min(2 * toft_min(s->next_size, b->size), TOFT_CAP);
      p = toft_shared_bump(b, size, align); /* before other threads see the block */
      TOFT_STORE_POINTER_RELEASE(toft_shared_block, &s->current, b);
    }
  }
  TOFT_UNLOCK(&s->lock);
  return p;
}

/* After a refusal: whether a budget may grant the block that the request needs. No lock is held. */
static int toft_shared_ask(const toft_shared *s, size_t size, size_t align) {
  return toft_budget_ask(s->inner, toft_shared_least(toft_need(size, align)));
}

static TOFT_COLD unsigned char *toft_shared_alloc_slow(toft_shared *s, size_t size, size_t align) {
  unsigned char *p = toft_shared_alloc_locked(s, size, align);
  return p == NULL && toft_shared_ask(s, size, align) ? toft_shared_alloc_locked(s, size, align) : p;
}

void *toft_shared_alloc(toft_shared *s, size_t size, size_t align) {
  if (TOFT_UNLIKELY(toft_check_request(size, align) != TOFT_OK)) return NULL;
  size_t round = TOFT_ROUND8(size);
  if (align < 8) align = 8;
  toft_shared_block *b = TOFT_LOAD_POINTER_ACQUIRE(toft_shared_block, &s->current);
  unsigned char *p = b != NULL ? toft_shared_bump(b, round, align) : NULL;
  return TOFT_LIKELY(p != NULL) ? p : toft_shared_alloc_slow(s, round, align);
}

void toft_shared_free(toft_shared *s, void *p, size_t size) {
  if (p != NULL) (void)toft_shared_move_cursor(s, (unsigned char *)p + TOFT_ROUND8(size), (unsigned char *)p);
}

void *toft_shared_resize(toft_shared *s, void *p, size_t old_size, size_t new_size, size_t align) {
  unsigned char *q = (unsigned char *)p;
  if (q == NULL) return toft_shared_alloc(s, new_size, align);
  if (toft_check_request(new_size, align) != TOFT_OK) return NULL;
  size_t was = TOFT_ROUND8(old_size), now = TOFT_ROUND8(new_size);
  if (((uintptr_t)q & (align - 1)) == 0 && (now == was || toft_shared_move_cursor(s, q + was, q + now) || now < was))
    return q;
  void *to = toft_shared_alloc(s, new_size, align);
  if (to == NULL) return NULL;
  memcpy(to, q, toft_min(old_size, new_size));
  toft_shared_free(s, q, old_size);
  return to;
}

/* ---- local arenas, whose source is the shared one ---- */

/* The list is short, since few blocks are returned. The local arena requests smaller blocks after a refusal, and
 * calls back last. */
static void *toft_shared_source_take(toft_source *self, size_t size) {
  toft_shared *s = (toft_shared *)(void *)self;
  toft_lock_take(&s->lock);
  toft_returned_block **at = &s->returned, *found;
  while (*at != NULL && (*at)->size != size) at = &(*at)->next;
  found = *at;
  if (found != NULL) *at = found->next;
  TOFT_UNLOCK(&s->lock);
  if (found != NULL) return found;
  toft_shared_block *b = TOFT_LOAD_POINTER_ACQUIRE(toft_shared_block, &s->current);
  unsigned char *p = b != NULL ? toft_shared_bump(b, size, TOFT_HEADER) : NULL;
  return p != NULL ? p : toft_shared_alloc_locked(s, size, TOFT_HEADER);
}

static void toft_shared_source_put(toft_source *self, void *block, size_t size) {
  toft_shared *s = (toft_shared *)(void *)self;
  toft_returned_block *r = (toft_returned_block *)block;
  if (toft_shared_move_cursor(s, (unsigned char *)block + size, (unsigned char *)block)) return;
  toft_lock_take(&s->lock);
  r->size = size;
  r->next = s->returned;
  s->returned = r;
  TOFT_UNLOCK(&s->lock);
}

static toft_state *toft_shared_part(toft_cleanup_node *n) {
  return (toft_state *)(void *)((unsigned char *)n - offsetof(toft_state, adopted));
}

toft_arena *toft_shared_local(toft_shared *s) {
  toft_source *region = toft_region_under(s->inner);
  toft_state *a = toft_create_from(&s->source, region != NULL ? TOFT_IN_REGION : 0);
  if (region == NULL) a = toft_finish_create(a);
  if (a == NULL) return NULL;
  toft_sync_in(a);
  a->state |= TOFT_CACHE_OWNED;
  toft_set_limit(a);
  toft_lock_take(&s->lock);
  if (region != NULL) TOFT_LOAD_POINTER(const toft_region_calls, &toft_regions)->enlist(region, a);
  a->adopted.older = s->parts;
  s->parts = &a->adopted;
  TOFT_UNLOCK(&s->lock);
  return &a->head;
}

/* Cleanups may create further local arenas, so this repeats until there is none. */
static int toft_shared_release_parts(toft_shared *s) {
  int code = TOFT_OK;
  for (toft_cleanup_node *n = s->parts; n != NULL; n = n->older)
    if (toft_shared_part(n)->state & TOFT_REFUSING) return TOFT_EBUSY;
  s->releasing = 1;
  while (s->parts != NULL) {
    toft_state *a = toft_shared_part(s->parts);
    s->parts = s->parts->older;
    TOFT_ASSERT(a->source == &s->source && (a->state & TOFT_CACHE_OWNED));
    toft_sync_in(a);
    toft_set_limit(a);
    (void)toft_pin_to(a, 0);
    if (a->checks != NULL && toft_ops_of(a)->reset(&a->head, TOFT_KEEP_ALL, 0) == TOFT_ECORRUPT) code = TOFT_ECORRUPT;
    a->state &= ~(uint32_t)TOFT_CACHE_OWNED;
    toft_release(&a->head);
  }
  s->releasing = 0;
  s->returned = NULL;
  return code;
}

/* ---- rounds ---- */

static uint64_t toft_shared_live(const toft_shared *s) {
  uint64_t live = 0;
  for (toft_shared_block *b = s->blocks; b != NULL; b = b->next) live += TOFT_LOAD(&b->used);
  return live;
}

/* Keeps the first spares that fit into `bytes`, and returns the others. */
static void toft_shared_keep_bytes(toft_shared *s, uint64_t bytes) {
  toft_shared_block **at = &s->spares, *b;
  while ((b = *at) != NULL) {
    if (b->size <= bytes) {
      bytes -= b->size;
      at = &b->next;
    } else {
      *at = b->next;
      toft_shared_put(s, b);
    }
  }
  if (s->spares == NULL && s->blocks == NULL) s->next_size = TOFT_SHARED_FIRST;
}

/* Keeps one spare that holds a round; if there is none, the next round's first block gets that size. */
static void toft_shared_keep_recent(toft_shared *s) {
  size_t wanted = toft_merged_size(s->recent + 8 * TOFT_HEADER);
  toft_shared_block *list = s->spares, *b;
  int others = 0;
  if (toft_is_limited(s->inner)) { /* what is kept would be refused to others */
    if (toft_shared_put_spares(s)) s->next_size = toft_max(wanted, TOFT_SHARED_FIRST);
    return;
  }
  s->spares = NULL;
  while ((b = list) != NULL) {
    list = b->next;
    if (s->spares == NULL && b->size >= wanted && b->size <= 4 * wanted) {
      toft_shared_push(&s->spares, b);
    } else {
      toft_shared_put(s, b);
      others = 1;
    }
  }
  if (others && s->spares == NULL) s->next_size = toft_max(wanted, TOFT_SHARED_FIRST);
}

int toft_shared_reset(toft_shared *s, uint32_t policy, size_t keep) {
  if (policy > TOFT_KEEP_BYTES) return TOFT_EARG;
  if (s->releasing) return TOFT_EBUSY;
  uint64_t live = toft_shared_live(s);
  int code = toft_shared_release_parts(s);
  if (code == TOFT_EBUSY) return code;
  s->allocated += live;
  if (live > s->peak) s->peak = live;
  s->recent -= s->recent / 8; /* an unusually large round is forgotten after a few dozen */
  if (live > s->recent) s->recent = live;
  s->current = NULL;
  while (s->blocks != NULL) {
    toft_shared_block *b = s->blocks;
    s->blocks = b->next;
    TOFT_ASSERT(b->used <= b->capacity);
    b->used = 0;
    toft_shared_push(&s->spares, b);
  }
  if (policy == TOFT_KEEP_BYTES)
    toft_shared_keep_bytes(s, keep);
  else if (policy == TOFT_KEEP_RECENT && (s->recent > TOFT_MERGE || s->refused != 0))
    toft_shared_keep_bytes(s, s->recent + s->recent / 2 + TOFT_CAP);
  else if (policy == TOFT_KEEP_RECENT)
    toft_shared_keep_recent(s);
  if (s->refused != 0) { /* a merged block may be refused; the same requests find the same blocks again */
    s->refused = 1;
    s->next_size = TOFT_SHARED_FIRST;
  }
  return code;
}

void toft_shared_trim(toft_shared *s, size_t keep) {
  toft_lock_take(&s->lock);
  toft_shared_keep_bytes(s, keep);
  TOFT_UNLOCK(&s->lock);
}

/* ---- create and release ---- */

#ifndef TOFT_OMIT_METERS
static int toft_shared_source_ask(const toft_source *source, size_t size) {
  return toft_shared_ask((const toft_shared *)(const void *)source, size, TOFT_HEADER);
}

static const toft_budget_calls toft_calls_of_shared = {
    toft_shared_source_take, toft_shared_source_ask, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
#endif

TOFT_STATIC_ASSERT(shared, sizeof(toft_shared) <= TOFT_BLOCK_MIN);

toft_shared *toft_shared_create(toft_source *source) {
  toft_source *inner = source != NULL ? source : &toft_heap_source;
  int in_region = toft_region_under(inner) != NULL;
  if (toft_region_refuses(inner, NULL)) return NULL;
  toft_shared *s = (toft_shared *)(in_region ? inner->take(inner, TOFT_BLOCK_MIN) : toft_os_heap_take(sizeof *s, 64));
  if (s == NULL) return NULL;
  memset((void *)s, 0, sizeof *s);
  s->source.take = toft_shared_source_take;
  s->source.put = toft_shared_source_put;
  s->inner = inner;
  s->next_size = TOFT_SHARED_FIRST;
#ifndef TOFT_OMIT_METERS
  TOFT_STORE_POINTER(const toft_budget_calls, &toft_shared_sources, &toft_calls_of_shared);
#endif
  return s;
}

int toft_shared_release(toft_shared *s) {
  if (s == NULL) return TOFT_OK;
  int code = toft_shared_reset(s, TOFT_KEEP_BYTES, 0);
  if (code == TOFT_EBUSY) return code;
  TOFT_ASSERT(s->reserved == 0 && s->blocks == NULL && s->spares == NULL && s->parts == NULL);
  if (toft_region_under(s->inner) != NULL)
    s->inner->put(s->inner, s, TOFT_BLOCK_MIN);
  else
    toft_os_heap_put(s);
  return code;
}

/* ---- statistics ---- */

toft_stats toft_shared_get_stats(toft_shared *s) {
  toft_stats all;
  memset(&all, 0, sizeof all);
  toft_lock_take(&s->lock);
  all.live = toft_shared_live(s);
  all.allocated = s->allocated + all.live;
  all.peak = s->peak > all.live ? s->peak : all.live;
  all.budget = UINT64_MAX;
  all.reserved = s->reserved;
  for (const toft_shared_block *b = s->blocks; b != NULL; b = b->next) {
    all.blocks++;
    all.wasted += b->size - (b == s->current ? b->capacity : TOFT_LOAD(&b->used));
  }
  all.source_calls = s->source_calls;
  TOFT_UNLOCK(&s->lock);
  return all;
}

int toft_shared_contains(toft_shared *s, const void *p) {
  int is = 0;
  toft_lock_take(&s->lock);
  for (const toft_shared_block *b = s->blocks; b != NULL && !is; b = b->next)
    is = (uintptr_t)p - (uintptr_t)b->start < TOFT_LOAD(&b->used);
  TOFT_UNLOCK(&s->lock);
  return is;
}

#endif
