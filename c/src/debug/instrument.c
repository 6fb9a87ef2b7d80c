/* The operations of an instrument's table. Each brackets the operation beneath, and accounts and checks the arena as
 * the instrument's subject.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_INSTRUMENT_C
#define TOFT_DEBUG_INSTRUMENT_C

#include "../core/create_release.c"
#include "accounting.c"
#include "debug_ops.c"
#include "observed.c"
#include "process_profile.c"
#include "sampling.c"
#include "subject.c"
#include "subject_records.c"
#include "toft/instrument.h"

static toft_state *toft_subject_of(const toft_arena *head) {
  return &((toft_instrument *)(uintptr_t)head->ops)->subject;
}

static void toft_subject_end(toft_state *a) { toft_subject_record_cursor(toft_instrument_of(a)); }

/* ---- allocation ---- */

static void *toft_wrapped_alloc(toft_arena *head, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  toft_state *a = toft_subject_of(head);
  toft_instrument_of(a)->site = site;
  return toft_alloc_observed(a, size, align, flags, site, TOFT_CALLER());
}

static void *toft_subject_resize(toft_state *a, unsigned char *p, size_t old_size, size_t new_size, size_t align,
                                 uint32_t flags, int *code) {
  toft_instrument *i = toft_instrument_of(a);
  unsigned char *cursor = a->head.cursor;
  uintptr_t epoch = toft_epoch(a);
  size_t old_round = TOFT_ROUND8(old_size), new_round = TOFT_ROUND8(new_size);
  int newest = !(a->state & TOFT_CLAIMED) && (uintptr_t)cursor - (uintptr_t)p == old_round;
  *code = TOFT_ENOMEM;
  a->state &= ~(uint32_t)TOFT_REFUSED;
  if (!toft_subject_reserve(i) || (newest && new_round > old_round && !toft_fits_budget(a, new_round - old_round)))
    return NULL;
  if (!toft_fits_budget(a, new_round)) flags |= TOFT_STAY;
  unsigned char *q =
      (unsigned char *)toft_begin_beneath(i)->resize(i->head, p, old_size, new_size, align, flags, i->site);
  toft_end_beneath(i);
  uint64_t live = toft_live_beneath(i);
  if (q == NULL || q == p) {
    toft_subject_moved(i, live);
    return q;
  }
  int at_cursor = a->head.cursor != cursor && toft_epoch(a) == epoch;
  uint64_t least = at_cursor ? (uint64_t)(a->head.cursor - cursor) : new_round; /* of the new place's charge */
  /* Undone only if the provider has not freed the old place, which the caller keeps then. */
  if (at_cursor && live == a->live + least && toft_subject_exceeds(a, live)) {
    toft_rewind_beneath(i, cursor, epoch);
    return NULL;
  }
  toft_block_header *dedicated = toft_subject_dedicated(a, p);
  if (dedicated != NULL && live < a->live + least) toft_subject_forget(i);
  (void)toft_subject_placed(i, q, align, cursor, live);
  return q;
}

static void *toft_wrapped_resize(toft_arena *head, void *p, size_t old_size, size_t new_size, size_t align,
                                 uint32_t flags, uintptr_t site) {
  toft_state *a = toft_subject_of(head);
  toft_instrument_of(a)->site = site;
  return toft_resize_observed(a, toft_subject_resize, p, old_size, new_size, align, flags, site, TOFT_CALLER());
}

static void toft_subject_free(toft_state *a, unsigned char *p, size_t size) {
  toft_instrument *i = toft_instrument_of(a);
  if (p == NULL || i->under->free == NULL || (a->state & TOFT_REFUSING)) return;
  toft_begin_beneath(i)->free(i->head, p, size);
  toft_end_beneath(i);
  uint64_t live = toft_live_beneath(i);
  toft_block_header *dedicated = toft_subject_dedicated(a, p);
  if (dedicated != NULL && live == a->live - dedicated->charge) toft_subject_forget(i);
  toft_subject_moved(i, live);
}

static void toft_wrapped_free(toft_arena *head, void *p, size_t size) {
  toft_free_observed(toft_subject_of(head), toft_subject_free, p, size, TOFT_CALLER());
}

static toft_cleanup *toft_wrapped_cleanup(toft_arena *head, void (*fn)(void *), void *arg) {
  toft_state *a = toft_subject_of(head);
  toft_instrument *i = toft_instrument_of(a);
  toft_cleanup *node = NULL;
  if (!toft_debug_begin_call(a, "cleanup", TOFT_CALLER())) return NULL;
  toft_sync_in(a);
  unsigned char *cursor = a->head.cursor;
  if (!(a->state & TOFT_REFUSING) && toft_subject_reserve(i) && toft_fits_budget(a, sizeof(toft_cleanup_node))) {
    node = toft_begin_beneath(i)->cleanup(head, fn, arg);
    toft_end_beneath(i);
    (void)toft_subject_placed(i, (unsigned char *)node, 8, cursor, toft_live_beneath(i));
    toft_check_soft_budget(a);
  }
  toft_end_observed(a);
  return node;
}

/* ---- marks ---- */

static int toft_wrapped_rewind(toft_arena *head, unsigned char *cursor, uintptr_t epoch) {
  toft_state *a = toft_subject_of(head);
  toft_instrument *i = toft_instrument_of(a);
  int code = TOFT_EBUSY;
  if (!toft_debug_begin_call(a, "rewind", TOFT_CALLER())) return TOFT_EBUSY;
  toft_sync_in(a);
  if (!(a->state & TOFT_REFUSING)) {
    int possible = (epoch & 1) == 0 && epoch <= toft_epoch(a), damaged = 0;
    code = TOFT_EMARK;
    if (!possible || !toft_mark_is_stale(a, cursor, epoch)) {
      if (possible) damaged = toft_subject_check_records(a, epoch) != TOFT_OK;
      code = toft_begin_beneath(i)->rewind(head, cursor, epoch);
      toft_end_beneath(i);
      if (code == TOFT_OK) toft_subject_rewound(i, epoch);
    }
    if (code == TOFT_EMARK && cursor != NULL) toft_report_stale_mark(a); /* NULL: the probe of toft_is_refusing */
    if (code == TOFT_OK && damaged) code = TOFT_ECORRUPT;
  }
  toft_end_observed(a);
  return code;
}

static int toft_wrapped_reset(toft_arena *head, uint32_t policy, size_t keep) {
  toft_state *a = toft_subject_of(head);
  toft_instrument *i = toft_instrument_of(a);
  int code = policy > TOFT_KEEP_BYTES ? TOFT_EARG : TOFT_EBUSY;
  if (!toft_debug_begin_call(a, "reset", TOFT_CALLER())) return TOFT_EBUSY;
  toft_sync_in(a);
  if (code == TOFT_EBUSY && !(a->state & TOFT_REFUSING)) {
    int damaged = toft_verify_freed(a) != TOFT_OK;
    if (toft_subject_check_records(a, 0) != TOFT_OK) damaged = 1;
    code = toft_begin_beneath(i)->reset(head, policy, keep);
    toft_end_beneath(i);
    if (code == TOFT_OK) {
      toft_subject_rewound(i, 0);
      toft_accounting_reset(a);
      a->initial.epoch = toft_epoch(a);
      i->was_empty = 1;
      toft_restart_checks(a);
    }
    if (code == TOFT_OK && damaged) code = TOFT_ECORRUPT;
  }
  toft_end_observed(a);
  return code;
}

static void toft_wrapped_trim(toft_arena *head, size_t keep) {
  toft_state *a = toft_subject_of(head);
  toft_instrument *i = toft_instrument_of(a);
  if (!toft_debug_begin_call(a, "trim", TOFT_CALLER())) return;
  toft_sync_in(a);
  if (!(a->state & TOFT_REFUSING)) {
    (void)toft_verify_freed(a);
    toft_begin_beneath(i)->trim(head, keep);
    toft_end_beneath(i);
    toft_subject_moved(i, toft_live_beneath(i));
  }
  toft_end_observed(a);
}

/* ---- claimed ranges ---- */

/* Accounts and records a claim beneath that returned `base`, an allocation of `total` bytes, or of none. */
static void toft_subject_claimed(toft_instrument *i, toft_range *r, unsigned char *base, size_t size, size_t total,
                                 size_t front) {
  toft_state *a = &i->subject;
  uint64_t live = toft_live_beneath(i);
  toft_block_header *block = a->current;
  int beside = total != 0 && base + TOFT_ROUND8(total) != r->cursor;
  if (beside) {
    toft_subject_moved(i, live - TOFT_ROUND8(total)); /* what the holder of the range used of it */
    block = toft_subject_push(i, TOFT_BLOCK_DEDICATED);
    toft_subject_charge(a, block, TOFT_ROUND8(total));
  } else {
    if (base != a->synced && total != 0 &&
        (uintptr_t)(base - a->claim_start) > (uintptr_t)(a->claim_limit - a->claim_start))
      block = toft_subject_push(i, TOFT_BLOCK_REGULAR);
    toft_subject_moved(i, live);
  }
  if (total != size) toft_record_allocation(a, block, base, size, front, total);
  if (size != 0) toft_checks_claim_alloc(a);
  if (a->state & TOFT_IS_CHECKED) r->limit = r->cursor;
  uint64_t most = live < a->budget ? (a->budget - live) & ~(uint64_t)7 : 0;
  if (a->budget != UINT64_MAX && (uint64_t)(r->limit - r->cursor) > most) r->limit = r->cursor + most;
  a->claim_start = beside || total == 0 ? r->cursor : base;
  a->claim_limit = r->limit;
}

static void *toft_wrapped_claim(toft_arena *head, toft_range *r, size_t size, size_t align) {
  toft_state *a = toft_subject_of(head);
  toft_instrument *i = toft_instrument_of(a);
  unsigned char *base = NULL;
  size_t front = 0, total = size;
  if (!toft_debug_begin_call(a, "claim", TOFT_CALLER())) return NULL;
  toft_sync_in(a);
  uint32_t claimed = a->state & TOFT_CLAIMED;
  int valid = size == 0 || toft_check_request(size, align) == TOFT_OK;
  if (valid && size != 0 && (a->state & TOFT_IS_CHECKED)) {
    front = toft_max(align, TOFT_REDZONE);
    total = toft_size_with_redzones(size, align);
    align = front;
  }
  if (valid && !(a->state & TOFT_BUSY) && total <= TOFT_MAX_REQUEST && toft_subject_reserve(i)) {
    uint64_t used = claimed && r->cursor >= a->claim_start && r->cursor <= a->claim_limit
                        ? (uint64_t)(r->cursor + toft_pad(r->cursor, 8) - a->head.cursor)
                        : 0;
    a->state &= ~(uint32_t)TOFT_CLAIMED;
    if (toft_fits_budget(a, (size_t)used + TOFT_ROUND8(total))) {
      base = (unsigned char *)toft_begin_beneath(i)->claim(head, r, total, align);
      toft_end_beneath(i);
    }
    if (base != NULL) {
      uint64_t before = a->allocated;
      toft_subject_claimed(i, r, base, size, total, front);
      toft_instrument_alloc(a, size, before, 0, TOFT_CALLER());
    } else {
      toft_subject_moved(i, toft_live_beneath(i)); /* a refusal may make another block current */
    }
    a->state |= base != NULL ? (uint32_t)TOFT_CLAIMED : claimed;
  }
  toft_end_observed(a);
  return base != NULL ? base + front : NULL;
}

static int toft_wrapped_give(toft_arena *head, toft_range *r) {
  toft_state *a = toft_subject_of(head);
  toft_instrument *i = toft_instrument_of(a);
  int code = TOFT_EARG;
  if (!toft_debug_begin_call(a, "give", TOFT_CALLER())) return TOFT_EBUSY;
  toft_sync_in(a);
  if ((a->state & TOFT_REFUSING) == TOFT_CLAIMED) {
    code = toft_begin_beneath(i)->give(head, r);
    toft_end_beneath(i);
  }
  if (code == TOFT_OK) {
    a->state &= ~(uint32_t)TOFT_CLAIMED;
    toft_subject_moved(i, toft_live_beneath(i));
    toft_accounting_unclaim(a);
    toft_checks_unclaim(a);
    toft_check_soft_budget(a);
  }
  toft_end_observed(a);
  return code;
}

/* ---- queries and settings ---- */

static int toft_wrapped_contains(const toft_arena *head, const void *p) {
  toft_state *a = toft_subject_of(head);
  toft_sync_in(a);
  int code = toft_contains_beneath(toft_instrument_of(a), p);
  toft_set_limit(a);
  return code;
}

static size_t toft_wrapped_stats(toft_arena *head, toft_stats *out, size_t out_size) {
  toft_state *a = toft_subject_of(head);
  toft_stats s;
  toft_sync_in(a);
  size_t n = toft_min(out_size, sizeof s);
  toft_stats_beneath(toft_instrument_of(a), &s, n);
  if (a->budget < s.budget) s.budget = a->budget;
  toft_set_limit(a);
  memcpy(out, &s, n);
  return n;
}

static int toft_query_beneath(toft_instrument *i, uint32_t what, uint64_t *value) {
  const toft_info_ops *t = (const toft_info_ops *)(const void *)toft_begin_beneath(i);
  int code = TOFT_ENOSYS;
  uintptr_t bit = i->bit;
  if (t->ops.size >= sizeof *t && t->info != NULL) code = t->info->query(i->head, what, value);
  toft_end_beneath(i);
  i->bit = bit; /* a query changes nothing */
  return code;
}

static int toft_wrapped_query(const toft_arena *head, uint32_t what, uint64_t *value) {
  toft_state *a = toft_subject_of(head);
  int code = TOFT_OK;
  toft_sync_in(a);
  if (what == TOFT_SET_SAMPLE)
    *value = toft_sampling_period(a);
  else if (what == TOFT_SET_CHECKED && (a->state & TOFT_IS_CHECKED))
    *value = 1;
  else if (what == TOFT_SET_BUDGET && a->budget != UINT64_MAX)
    *value = a->budget;
  else
    code = toft_query_beneath(toft_instrument_of(a), what, value);
  toft_set_limit(a);
  return code;
}

static int toft_is_checked_beneath(toft_instrument *i) {
  uint64_t value = 0;
  return toft_query_beneath(i, TOFT_SET_CHECKED, &value) == TOFT_OK && value != 0;
}

static int toft_subject_set_checked(toft_instrument *i, int on) {
  toft_state *a = &i->subject;
  if (on == ((a->state & TOFT_IS_CHECKED) != 0)) return TOFT_OK;
  if (on && toft_is_checked_beneath(i)) return TOFT_ENOSYS;
  toft_next_epoch(a); /* marks from before are not the checks' */
  i->was_empty = a->live == 0;
  int code = on ? toft_begin_checks(a) : toft_end_checks(a);
  if (code == TOFT_ENOMEM) a->head.epoch -= 2; /* as it was */
  return code;
}

/* A budget that the provider has is the provider's. */
static int toft_subject_set(toft_instrument *i, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  toft_state *a = &i->subject;
  if (what == TOFT_SET_TAG || what == TOFT_SET_SAMPLE) return toft_observe_set(a, what, value, name, name_len);
  if (a->state & TOFT_REFUSING) return TOFT_EBUSY;
  if (what == TOFT_SET_CHECKED) return toft_subject_set_checked(i, value != 0);
  int code = toft_begin_beneath(i)->set(i->head, what, value, name, name_len);
  toft_end_beneath(i);
  if (what != TOFT_SET_BUDGET || code != TOFT_ENOSYS) return code;
  a->budget = value;
  toft_next_epoch(a);
  return TOFT_OK;
}

static int toft_wrapped_set(toft_arena *head, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  toft_state *a = toft_subject_of(head);
  int code = toft_check_setting(a, what, value, name, name_len), inside = a->checks != NULL; /* before this call */
  if (code != TOFT_OK) return code;
  if (!toft_debug_begin_call(a, "set", TOFT_CALLER())) return TOFT_EBUSY;
  toft_sync_in(a);
  code = toft_subject_set(toft_instrument_of(a), what, value, name, name_len);
  toft_subject_record_cursor(toft_instrument_of(a));
  toft_set_limit(a);
  if (inside) toft_debug_end_call(a);
  return code;
}

/* ---- on and off ---- */

/* Ends the subject, and leaves the head as the last operation beneath left it, but for the epoch. */
static TOFT_RARE void toft_take_off(toft_instrument *i) {
  toft_state *a = &i->subject;
  while (a->newest != &a->initial) {
    toft_block_header *b = a->newest;
    a->newest = b->next;
    free(b);
  }
  toft_instruments_release(a);
  toft_unregister_arena(a);
  if (a->checks != NULL) {
    toft_subject_unpoison(a, 0);
    toft_checks_release(a->checks);
    toft_next_epoch(a);
  }
  (void)toft_begin_beneath(i);
  i->head->epoch = toft_epoch(a) | i->bit;
  free(i->unused);
  free(i);
}

static void toft_wrapped_release(toft_arena *head) {
  toft_state *a = toft_subject_of(head);
  if (!toft_debug_begin_call(a, "release", TOFT_CALLER())) return;
  toft_sync_in(a);
  if (!(a->state & TOFT_REFUSING)) {
    (void)toft_verify_freed(a);
    (void)toft_subject_check_records(a, 0);
    toft_take_off(toft_instrument_of(a));
    head->epoch |= 1;
    head->ops->release(head);
    return;
  }
  toft_report_not_released(a);
  toft_end_observed(a);
}

/* The members of the table that this library defines. */
static const toft_arena_ops toft_wrapped_ops = {
    0,
    1,
    toft_wrapped_alloc,
    toft_wrapped_resize,
    toft_wrapped_free,
    toft_wrapped_rewind,
    toft_wrapped_reset,
    toft_wrapped_trim,
    toft_wrapped_cleanup,
    toft_wrapped_claim,
    toft_wrapped_give,
    toft_wrapped_contains,
    toft_wrapped_stats,
    toft_wrapped_set,
    toft_wrapped_release,
};

static const toft_subject_calls toft_subject_functions = {toft_wrapped_alloc, toft_subject_place, toft_subject_end,
                                                          toft_subject_predates};

static void toft_instrument_init(toft_instrument *i, toft_arena *head) {
  const toft_info_ops *t = (const toft_info_ops *)(const void *)head->ops;
  const toft_provider_info *info = toft_info_of(head);
  toft_state *a = &i->subject;
  memcpy(i->table.bytes, t, t->ops.size);
  i->table.info.ops = toft_wrapped_ops;
  i->table.info.ops.size = (uint32_t)toft_max(t->ops.size, sizeof *t);
  i->table.info.info = info != NULL ? &i->info : NULL;
  if (info != NULL) i->info = *info;
  i->info.query = toft_wrapped_query;
  i->under = i->table.info.under = head->ops;
  i->head = head;
  a->head = *head;
  a->synced = head->cursor;
  a->end = i->limit = head->limit;
  i->bit = head->epoch & 1;
  a->state = TOFT_IS_SUBJECT;
  a->budget = UINT64_MAX;
  a->current = a->newest = &a->initial;
  a->initial.kind = TOFT_BLOCK_REGULAR;
  a->initial.epoch = toft_epoch(a);
}

/* Whether an instrument of this library is beneath another one. */
static int toft_is_instrument_hidden(const toft_arena *head) {
  const toft_info_ops *t = (const toft_info_ops *)(const void *)head->ops;
  while (t->ops.size >= sizeof *t && t->under != NULL) {
    t = (const toft_info_ops *)(const void *)t->under;
    if (t->ops.alloc == toft_wrapped_alloc) return 1;
  }
  return 0;
}

static TOFT_RARE int toft_put_on(toft_arena *head) {
  size_t switches = toft_process_switches();
  if (head->ops->version != 1 || head->ops->size < sizeof(toft_arena_ops) || head->ops->size > TOFT_TABLE_MAX)
    return TOFT_ENOSYS;
  toft_instrument *i = (toft_instrument *)calloc(1, sizeof *i);
  if (i == NULL) return TOFT_ENOMEM;
  head->epoch |= 1;
  if (toft_is_refusing(head)) { /* which leaves the epoch as before */
    free(i);
    return TOFT_EBUSY;
  }
  toft_instrument_init(i, head);
  TOFT_STORE_POINTER(const toft_subject_calls, &toft_subjects, &toft_subject_functions);
  toft_state *a = &i->subject;
  toft_stats s;
  toft_stats_beneath(i, &s, sizeof s);
  a->live = s.live;
  a->allocated = s.allocated;
  a->peak = s.peak;
  i->was_empty = s.live == 0;
  if (switches & TOFT_PROCESS_METERS) toft_begin_process_meters(a);
  if ((switches & TOFT_PROCESS_CHECKS) && toft_subject_set_checked(i, 1) == TOFT_ENOMEM) {
    toft_take_off(i);
    return TOFT_ENOMEM;
  }
  toft_set_limit(a);
  return TOFT_OK;
}

TOFT_RARE int toft_instrument_arena(toft_arena *head, int on) {
  toft_instrument *i = toft_instrument_before(head);
  if (i == NULL && toft_is_instrument_hidden(head)) return on ? TOFT_OK : TOFT_EBUSY;
  if (toft_is_own(head) || (i != NULL) == (on != 0)) return TOFT_OK;
  if (on) return toft_put_on(head);
  toft_state *a = &i->subject;
  if (!toft_debug_begin_call(a, "instrument", TOFT_CALLER())) return TOFT_EBUSY;
  toft_sync_in(a);
  if (!(a->state & TOFT_REFUSING)) {
    toft_take_off(i);
    return TOFT_OK;
  }
  toft_end_observed(a);
  return TOFT_EBUSY;
}

#endif
