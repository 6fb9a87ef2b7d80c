/* The operations table of the arenas that this library makes: the functions behind every public call.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_OPS_C
#define TOFT_CORE_OPS_C

#include "alloc_slow.c"
#include "arena_state.h"
#include "blocks.c"
#include "hooks.h"
#include "policy.c"
#include "reset.c"

/* After a refusal: whether a callback has raised the budget, or may have freed memory. */
static int toft_may_try_again(toft_state *a, size_t size, size_t align) {
#ifdef TOFT_OMIT_METERS
  return toft_budget_raised(a, size, align);
#else
  size_t live = toft_refused_live(a);
  if (toft_budget_raised(a, size, align)) return 1;
  if (live == 0 && !toft_was_refused(a)) return 0;
  uint32_t was_busy = toft_begin_callback(a);
  int again =
      live != 0 ? toft_budget_ask_live(a, live) : toft_budget_ask(a->source, toft_least_size(toft_need(size, align)));
  toft_end_callback(a, was_busy);
  return again;
#endif
}

/* Allocates, between toft_sync_in and toft_set_limit. NULL: refused, with the error in *code. */
TOFT_INLINE void *toft_alloc_any(toft_state *a, size_t size, size_t align, int *code) {
  *code = toft_check_request(size, align);
  if (*code == TOFT_OK && size == 0 && toft_pad(a->head.cursor, align) == 0)
    return a->head.cursor; /* as the inline path does, in any state */
  if (a->state & TOFT_BUSY) *code = TOFT_EBUSY;
  if (*code != TOFT_OK) return NULL;
  *code = TOFT_ENOMEM;
  void *p = toft_alloc_slow(a, size, align);
  if (TOFT_UNLIKELY(p == NULL) && toft_may_try_again(a, size, align)) p = toft_alloc_slow(a, size, align);
  return p;
}

/* The end of an op that returns p: clears its bytes from `old` to `size`, or reports that it was refused. */
TOFT_INLINE void *toft_end_alloc(toft_state *a, void *p, size_t old, size_t size, size_t align, uint32_t flags,
                                 int code) {
  if (TOFT_UNLIKELY(p == NULL))
    toft_report_failure(a, size, align, code);
  else if ((flags & TOFT_ZERO) && size > old)
    memset((unsigned char *)p + old, 0, size - old);
  return p;
}

static void *toft_op_alloc(toft_arena *head, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  toft_state *a = toft_state_of(head);
  int code;
  (void)site;
  toft_sync_in(a);
  void *p = toft_alloc_any(a, size, align, &code);
  toft_set_limit(a);
  return toft_end_alloc(a, p, 0, size, align, flags, code);
}

/* ---- resize and free ---- */

/* As integers: p may point into another block. */
static int toft_is_newest(const toft_state *a, const unsigned char *p, size_t size) {
  return !(a->state & TOFT_CLAIMED) && (uintptr_t)p >= (uintptr_t)toft_block_start(a, a->current) &&
         (uintptr_t)a->head.cursor - (uintptr_t)p == TOFT_ROUND8(size);
}

/* The newest block, if it is a dedicated one that holds only p; else NULL. */
static toft_block_header *toft_newest_dedicated(const toft_state *a, const unsigned char *p) {
  toft_block_header *b = a->newest;
  return b->kind == TOFT_BLOCK_DEDICATED && b->u.payload == p ? b : NULL;
}

/* The same as a test with one compare: in other blocks the word is another block's address, where no object lies. */
TOFT_INLINE int toft_frees_block(const toft_state *a, const unsigned char *p) {
  return !(a->state & TOFT_PRISTINE) && a->newest->u.payload == p;
}

/* NULL: refused, with the error in *code. */
typedef void *toft_resize_fn(toft_state *a, unsigned char *p, size_t old_size, size_t new_size, size_t align,
                             uint32_t flags, int *code);
static void *toft_resize_unchecked(toft_state *a, unsigned char *p, size_t old_size, size_t new_size, size_t align,
                                   uint32_t flags, int *code) {
  int aligned = toft_pad(p, align) == 0;
  *code = TOFT_ENOMEM;
  size_t old_round = TOFT_ROUND8(old_size), new_round = TOFT_ROUND8(new_size);
  if (toft_is_newest(a, p, old_size) && aligned) {
    if (new_round <= old_round) {
      toft_freed(a, p + new_size, a->head.cursor);
      a->head.cursor = p + new_round;
      toft_sync(a);
      return p;
    }
    TOFT_ASSERT(new_round > old_round && (new_round - old_round) % 8 == 0);
    size_t more = new_round - old_round;
    int fits = more <= (size_t)(a->end - a->head.cursor);
    if (toft_fits_budget(a, more) && (fits || toft_extend_current(a, more, 1))) {
      a->head.cursor = p + new_round;
      toft_sync(a);
      return p;
    }
  } else if (new_size <= old_size && aligned) {
    toft_clear_freed(a, p + new_size, p + old_size);
    return p;
  }
  toft_block_header *dedicated = toft_newest_dedicated(a, p);
  if (dedicated != NULL && aligned && new_size <= (size_t)(toft_block_end(a, dedicated) - p)) {
    if (new_round > old_round) dedicated->used_end = p + new_round;
    return p;
  }
  if (flags & TOFT_STAY) return NULL;
  uint64_t peak = a->peak;
  unsigned char *q = (unsigned char *)toft_alloc_slow(a, new_size, align);
  if (q == NULL) return NULL;
  memcpy(q, p, toft_min(old_size, new_size));
  toft_freed(a, p, p + old_size);
  if (dedicated != NULL) { /* only q's block, if any, is newer than the old one */
    toft_block_header **at = a->newest == dedicated ? &a->newest : &a->newest->next;
    TOFT_ASSERT(*at == dedicated);
    TOFT_ASSERT(dedicated->charge <= a->live);
    *at = dedicated->next;
    a->live -= dedicated->charge;
    a->peak = peak; /* both places were not allocated at once for the caller */
    toft_update_peak(a);
    (void)toft_count_detached(a, dedicated, 0, TOFT_DETACHED_REMOVED);
    toft_block_drop(a, dedicated);
  }
  return q;
}

/* Resizes, between toft_sync_in and toft_set_limit. NULL: refused, with the error in *code. */
TOFT_INLINE void *toft_resize_any(toft_state *a, toft_resize_fn *resize, unsigned char *p, size_t old_size,
                                  size_t new_size, size_t align, uint32_t flags, int *code) {
  *code = p == NULL ? TOFT_EARG : toft_check_request(new_size, align);
  if (a->state & TOFT_BUSY) *code = TOFT_EBUSY;
  if (*code != TOFT_OK) return NULL;
  void *q = resize(a, p, old_size, new_size, align, flags, code);
  size_t wanted = flags & TOFT_STAY ? new_size - toft_min(old_size, new_size) : new_size;
  if (flags & TOFT_STAY) a->state &= ~(uint32_t)TOFT_REFUSED; /* no block was requested */
  if (TOFT_UNLIKELY(q == NULL) && *code == TOFT_ENOMEM && toft_may_try_again(a, wanted, align))
    q = resize(a, p, old_size, new_size, align, flags, code);
  return q;
}

static void *toft_op_resize(toft_arena *head, void *p, size_t old_size, size_t new_size, size_t align, uint32_t flags,
                            uintptr_t site) {
  if (p == NULL && old_size == 0) return toft_op_alloc(head, new_size, align, flags, site);
  toft_state *a = toft_state_of(head);
  int code;
  if (old_size > TOFT_MAX_REQUEST) p = NULL;
  toft_sync_in(a);
  void *q = toft_resize_any(a, toft_resize_unchecked, (unsigned char *)p, old_size, new_size, align, flags, &code);
  toft_set_limit(a);
  return toft_end_alloc(a, q, old_size, new_size, align, flags, code);
}

/* Whether a free changes nothing: the usual case, as the inline path has freed the newest object. */
static int toft_frees_nothing(const toft_state *a, const unsigned char *p, size_t size) {
  return !(a->head.epoch & 1) && !(a->state & TOFT_PRISTINE) &&
         (size_t)((uintptr_t)a->head.cursor - (uintptr_t)p) != TOFT_ROUND8(size) && !toft_frees_block(a, p);
}

/* Frees, between toft_sync_in and toft_set_limit. Precondition: the arena is not checked. */
static void toft_free_any(toft_state *a, unsigned char *p, size_t size) {
  TOFT_ASSERT(!(a->state & TOFT_IS_CHECKED));
  if (p == NULL || size > TOFT_MAX_REQUEST) return;
  toft_clear_freed(a, p, p + size);
  if (a->state & TOFT_REFUSING) return;
  if (toft_is_newest(a, p, size)) {
    toft_freed(a, p, a->head.cursor);
    a->head.cursor = p;
    toft_sync(a);
  } else if (toft_newest_dedicated(a, p) != NULL) {
    toft_freed(a, p, a->newest->used_end);
    toft_block_drop(a, toft_block_pop(a));
  }
}

static void toft_op_free(toft_arena *head, void *p, size_t size) {
  toft_state *a = toft_state_of(head);
  if (TOFT_LIKELY(toft_frees_nothing(a, (const unsigned char *)p, size))) {
    toft_sync(a); /* limit stays as it is */
    return;
  }
  toft_sync_in(a);
  toft_free_any(a, (unsigned char *)p, size);
  toft_set_limit(a);
}

/* ---- marks ---- */

/* The block that a mark points into: the newest regular block of the mark's time. NULL: not a mark of this arena and
 * round. Compared as integers: the mark may point anywhere. */
static toft_block_header *toft_mark_block(const toft_state *a, unsigned char **at, uintptr_t epoch) {
  unsigned char *cursor = *at;
  if (((uintptr_t)cursor & 7) != 0 || (epoch & 1) != 0 || epoch > toft_epoch(a)) return NULL;
  toft_block_header *b = a->current;
  while (b != NULL && b->epoch > epoch) b = b->u.below;
  if (b == &a->initial && epoch < a->trim_epoch) cursor = *at = a->initial_start; /* the arena was empty then */
  if (b == NULL || (uintptr_t)cursor < (uintptr_t)toft_block_start(a, b) ||
      (uintptr_t)cursor > (uintptr_t)toft_block_end(a, b))
    return NULL;
  if (b == &a->initial && (a->state & TOFT_INITIAL_IDLE) && cursor != a->initial_end) return NULL;
  return b;
}

static int toft_rewind_to(toft_state *a, toft_block_header *b, unsigned char *cursor, uintptr_t epoch) {
  if (epoch != toft_epoch(a)) toft_update_round_peak(a, a->live);
  toft_run_cleanups(a, epoch);
  int code = TOFT_UNLIKELY(a->state & TOFT_OBSERVED) ? toft_observe_free(a, epoch, TOFT_BY_REWIND) : TOFT_OK;
  int moved = b != a->current;
  while (a->newest->epoch > epoch) {
    toft_block_header *dropped = toft_block_pop(a);
    toft_freed(a, (unsigned char *)dropped + toft_block_offset(dropped), dropped->used_end);
    toft_block_drop(a, dropped);
  }
  if (cursor < a->head.cursor) { /* else the allocation below the mark was freed since */
    toft_freed(a, cursor, a->head.cursor);
    a->head.cursor = cursor;
    toft_sync(a);
  }
  TOFT_ASSERT(b == a->current);
  TOFT_ASSERT(a->newest->epoch <= epoch);
  if (moved) toft_next_epoch(a);
  return code;
}

static int toft_op_rewind(toft_arena *head, unsigned char *cursor, uintptr_t epoch) {
  toft_state *a = toft_state_of(head);
  int code = TOFT_EMARK;
  toft_sync_in(a);
  if (a->state & TOFT_REFUSING) {
    code = TOFT_EBUSY;
  } else {
    toft_block_header *b = toft_mark_block(a, &cursor, epoch);
    if (b != NULL) code = toft_rewind_to(a, b, cursor, epoch);
  }
  toft_set_limit(a);
  return code;
}

/* ---- cleanups ---- */

static void toft_link_cleanup(toft_state *a, toft_cleanup_node *node, void (*fn)(void *), void *arg) {
  TOFT_ASSERT(a->cleanups == NULL || a->cleanups->epoch <= toft_epoch(a));
  toft_next_epoch(a); /* an older mark must take the slow path, which runs the cleanup */
  node->user.fn = fn;
  node->user.arg = arg;
  node->older = a->cleanups;
  node->epoch = toft_epoch(a);
  a->cleanups = node;
}

static toft_cleanup_node *toft_cleanup_take(toft_state *a) {
  return (toft_cleanup_node *)toft_alloc_slow(a, sizeof(toft_cleanup_node), 8);
}

static toft_cleanup *toft_op_cleanup(toft_arena *head, void (*fn)(void *), void *arg) {
  toft_state *a = toft_state_of(head);
  toft_cleanup_node *node = NULL;
  toft_sync_in(a);
  int busy = (a->state & TOFT_REFUSING) != 0;
  if (!busy) node = toft_cleanup_take(a);
  if (!busy && node == NULL && toft_may_try_again(a, sizeof *node, 8)) node = toft_cleanup_take(a);
  if (node != NULL) toft_link_cleanup(a, node, fn, arg);
  toft_set_limit(a);
  if (node == NULL) toft_report_failure(a, sizeof *node, 8, busy ? TOFT_EBUSY : TOFT_ENOMEM);
  return node != NULL ? &node->user : NULL;
}

/* ---- claimed ranges ---- */

#define TOFT_CLEARED_RANGE ((size_t)4096) /* the longest that is claimed where freed bytes are cleared */

/* The end of a range that begins at the cursor: its holder may write all of it. */
static unsigned char *toft_range_end(const toft_state *a) {
  size_t size = (size_t)(a->head.limit - a->head.cursor);
  return a->head.cursor + (a->state & TOFT_CLEARS ? toft_min(size, TOFT_CLEARED_RANGE) : size);
}

static int toft_check_claim(const toft_state *a, const toft_range *r, size_t size, size_t align) {
  uint32_t claimed = a->state & TOFT_CLAIMED;
  if ((a->state & TOFT_BUSY) || (claimed && r->claim != a->claim_id)) return TOFT_EBUSY;
  if (claimed ? r->cursor < a->claim_start || r->cursor > a->claim_limit : r->claim != 0) return TOFT_EARG;
  return size != 0 ? toft_check_request(size, align) : TOFT_OK;
}

/* The first part of a claim: the allocation, if its size is not 0. Sets *before to the bytes allocated before it, which
 * include those of the range. NULL: refused, and nothing changed. Precondition: toft_check_claim. */
static unsigned char *toft_claim_place(toft_state *a, const toft_range *r, size_t size, size_t align,
                                       uint64_t *before) {
  uint32_t claimed = a->state & TOFT_CLAIMED;
  unsigned char *cursor = a->head.cursor;
  uint64_t allocated = a->allocated, peak = a->peak;
  a->state &= ~(uint32_t)TOFT_CLAIMED;
  if (claimed) a->head.cursor = r->cursor + toft_pad(r->cursor, 8);
  toft_sync(a);
  *before = a->allocated;
  if (claimed) a->state |= TOFT_RANGE_GROWS;
  unsigned char *p = size != 0 ? (unsigned char *)toft_alloc_slow(a, size, align) : a->head.cursor;
  if (p == NULL && toft_may_try_again(a, size, align)) p = (unsigned char *)toft_alloc_slow(a, size, align);
  a->state &= ~(uint32_t)TOFT_RANGE_GROWS;
  if (p != NULL) return p;
  if (claimed) a->head.cursor = cursor;
  toft_sync(a);
  a->allocated = allocated; /* the bytes in the range count when it is returned */
  a->peak = peak;
  if (a->state & TOFT_INSTRUMENTED) (void)toft_observe_charge(a, 0); /* while nothing is claimed */
  a->state |= claimed;
  return NULL;
}

/* The second part: the range gets what the inline path would have had. p is the result of the first. */
static void toft_claim_range(toft_state *a, toft_range *r, unsigned char *p, size_t size) {
  if (r->claim != 0) toft_clear_freed(a, r->cursor, a->claim_limit);
  toft_set_limit(a);
  a->claim_start = p + TOFT_ROUND8(size) == a->head.cursor ? p : a->head.cursor;
  a->claim_limit = toft_range_end(a);
  /* the low bits distinguish a stale range from the current one */
  if (r->claim == 0) a->claim_id = (uintptr_t)a | ((a->claim_id + 1) & 63);
  r->cursor = a->head.cursor;
  r->limit = a->claim_limit;
  r->claim = a->claim_id;
  a->state |= TOFT_CLAIMED;
}

static void *toft_op_claim(toft_arena *head, toft_range *r, size_t size, size_t align) {
  toft_state *a = toft_state_of(head);
  uint64_t before;
  toft_sync_in(a);
  int code = toft_check_claim(a, r, size, align);
  unsigned char *p = code == TOFT_OK ? toft_claim_place(a, r, size, align, &before) : NULL;
  if (p != NULL) toft_claim_range(a, r, p, size);
  toft_set_limit(a);
  if (p == NULL) toft_report_failure(a, size, align, code == TOFT_OK ? TOFT_ENOMEM : code);
  return p;
}

static int toft_op_give(toft_arena *head, toft_range *r) {
  toft_state *a = toft_state_of(head);
  int code = TOFT_EARG;
  toft_sync_in(a);
  if ((a->state & TOFT_REFUSING) == TOFT_CLAIMED && r->claim == a->claim_id && r->cursor >= a->claim_start &&
      r->cursor <= a->claim_limit) {
    toft_clear_freed(a, r->cursor, a->claim_limit);
    a->head.cursor = r->cursor + toft_pad(r->cursor, 8);
    a->state &= ~(uint32_t)TOFT_CLAIMED;
    a->side_block = NULL;
    toft_sync(a);
    r->cursor = r->limit = NULL;
    r->claim = 0;
    code = TOFT_OK;
  }
  toft_set_limit(a);
  return code;
}

/* ---- settings and the table ---- */

static int toft_op_set(toft_arena *head, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  toft_state *a = toft_state_of(head);
  int code = TOFT_EBUSY;
  if (what < TOFT_SET_BUDGET || what > TOFT_SET_CHECKED) return TOFT_ENOSYS;
  if (what != TOFT_SET_BUDGET && (a->state & TOFT_IN_REGION)) return TOFT_ENOSYS; /* the records lie elsewhere */
  toft_sync_in(a);
  if (what != TOFT_SET_BUDGET) {
    code = toft_observe_set(a, what, value, name, name_len);
  } else if (!(a->state & TOFT_REFUSING)) {
    toft_set_own_budget(a, value);
    toft_next_epoch(a);
    code = TOFT_OK;
  }
  toft_set_limit(a);
  return code;
}

static int toft_op_contains(const toft_arena *head, const void *p);
static size_t toft_op_stats(toft_arena *head, toft_stats *out, size_t out_size);
static void toft_op_release(toft_arena *head);

static int toft_op_query(const toft_arena *head, uint32_t what, uint64_t *value);
static const toft_provider_info toft_info = {"toft-c", TOFT_VERSION, toft_op_query};

static const toft_info_ops toft_table = {
    {
        sizeof(toft_info_ops),
        1,
        toft_op_alloc,
        toft_op_resize,
        toft_op_free,
        toft_op_rewind,
        toft_op_reset,
        toft_op_trim,
        toft_op_cleanup,
        toft_op_claim,
        toft_op_give,
        toft_op_contains,
        toft_op_stats,
        toft_op_set,
        toft_op_release,
    },
    &toft_info,
    NULL,
};

/* Whether this library made the arena. */
static int toft_is_leased(const toft_arena *a); /* threads/lease_cache.c */
static void *toft_leased_alloc(toft_arena *a, size_t size, size_t align, uint32_t flags, uintptr_t site);
/* The table of observed arenas, once there is one. Atomic. */
static const toft_arena_ops *toft_observed_ops;
static int toft_is_own(const toft_arena *a) {
  return a->ops == &toft_table.ops || a->ops == TOFT_LOAD_POINTER(const toft_arena_ops, &toft_observed_ops) ||
         toft_is_leased(a);
}

/* The operations of an arena of this library that is not leased, or is leased and not returned. */
static const toft_arena_ops *toft_ops_of(const toft_state *a) {
  return TOFT_UNLIKELY(a->state & TOFT_OBSERVED) ? TOFT_LOAD_POINTER(const toft_arena_ops, &toft_observed_ops)
                                                 : &toft_table.ops;
}

/* For debuggers: reads the state as it is. */
static int toft_query_plain(const toft_state *a, uint32_t what, uint64_t *value) {
  if (what == TOFT_SET_BUDGET) {
    *value = toft_own_budget(a);
  } else if (what == TOFT_SET_SAMPLE) {
    *value = 0;
  } else if (what == TOFT_SET_CHECKED) {
    *value = (a->state & TOFT_IS_CHECKED) != 0;
  } else {
    return TOFT_ENOSYS;
  }
  return TOFT_OK;
}

/* Programs may keep the information of a table when the arena has another one. */
static int toft_op_query(const toft_arena *head, uint32_t what, uint64_t *value) {
  const toft_state *a = toft_state_of(head);
  const toft_info_ops *t = (const toft_info_ops *)(const void *)toft_ops_of(a);
  return t == &toft_table ? toft_query_plain(a, what, value) : t->info->query(head, what, value);
}

/* The state of an arena of this library, also if another library's instruments are before its table; else NULL. */
static toft_state *toft_own_state(const toft_arena *head) {
  const toft_info_ops *t = (const toft_info_ops *)(const void *)head->ops;
  while (t->ops.size >= sizeof *t && t->under != NULL) t = (const toft_info_ops *)(const void *)t->under;
  int own = t == &toft_table || &t->ops == TOFT_LOAD_POINTER(const toft_arena_ops, &toft_observed_ops);
  return own || t->ops.alloc == toft_leased_alloc ? toft_state_of(head) : NULL;
}

/* Whether the arena refuses ops: a rewind then returns TOFT_EBUSY for any mark, and this is not a valid one. */
static int toft_is_refusing(toft_arena *a) { return a->ops->rewind(a, NULL, 0) == TOFT_EBUSY; }

/* Takes off the instruments of other libraries by a release, which the arena refuses then (I4). 0: one of them stays,
 * since a callback of it runs. */
static int toft_end_instruments(toft_state *a) {
  uint32_t owned = a->state & TOFT_CACHE_OWNED;
  a->state |= TOFT_CACHE_OWNED;
  for (const toft_arena_ops *ops = NULL; !toft_is_own(&a->head) && a->head.ops != ops;) {
    ops = a->head.ops;
    ops->release(&a->head);
  }
  if (!owned) a->state &= ~(uint32_t)TOFT_CACHE_OWNED;
  return toft_is_own(&a->head);
}

#endif
