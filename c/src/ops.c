/* The table behind every head that this library makes.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "internal.h"

#define TOFT_CLOSED (TOFT_CLAIMED | TOFT_BUSY)

/* `site` is what the user gave; `caller`, where the op returns to. */
static void *toft_alloc_for(toft_arena *head, size_t size, size_t align, uint32_t flags, uintptr_t site,
                            uintptr_t caller) {
  toft_state *a = toft_state_of(head);
  int code = toft_check_request(size, align);
  void *p = NULL;
  if (TOFT_UNLIKELY(!toft_step_in(a, "alloc", site != 0 ? site : caller))) return NULL;
  toft_enter(a);
  uint64_t before = a->allocated;
  if (code == TOFT_OK && size == 0 && toft_pad(head->cursor, align) == 0) {
    p = head->cursor; /* as the inline path says, whatever the state */
  } else if (a->state & TOFT_BUSY) {
    code = TOFT_EBUSY;
  } else if (code == TOFT_OK) {
    p = toft_place(a, size, align);
    if (p == NULL && toft_budget_raised(a, size, align)) p = toft_place(a, size, align);
    code = TOFT_ENOMEM;
  }
  if (p != NULL) toft_note(a, size, before, site, caller);
  toft_aim(a);
  toft_step_out(a);
  if (TOFT_UNLIKELY(p == NULL))
    toft_fail(a, size, align, code);
  else if (flags & TOFT_ZERO)
    memset(p, 0, size);
  return p;
}

static void *toft_op_alloc(toft_arena *head, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  return toft_alloc_for(head, size, align, flags, site, TOFT_CALLER());
}

/* ---- resize and free ---- */

static int toft_is_last(const toft_state *a, const unsigned char *p, size_t size) {
  return !(a->state & TOFT_CLAIMED) && p >= toft_block_start(a, a->current) &&
         (size_t)(a->head.cursor - p) == TOFT_ROUND8(size);
}

/* The newest block, if it is a one-off that holds p and nothing else. */
static toft_blk *toft_lone(const toft_state *a, const unsigned char *p) {
  toft_blk *b = a->newest;
  return b->kind == TOFT_BLOCK_ONEOFF && b->of.payload == p ? b : NULL;
}

static void *toft_resize_place(toft_state *a, unsigned char *p, size_t old_size, size_t new_size, size_t align,
                               uint32_t flags) {
  int aligned = toft_pad(p, align) == 0;
  size_t old_round = TOFT_ROUND8(old_size), new_round = TOFT_ROUND8(new_size);
  if (toft_is_last(a, p, old_size) && aligned) {
    if (new_round <= old_round) {
      a->head.cursor = p + new_round;
      toft_sync(a);
      return p;
    }
    size_t more = new_round - old_round;
    int room = more <= (size_t)(a->end - a->head.cursor);
    if (toft_affords(a, more) && (room || toft_extend_here(a, more, 1))) {
      a->head.cursor = p + new_round;
      toft_sync(a);
      return p;
    }
  } else if (new_size <= old_size && aligned) {
    return p;
  }
  toft_blk *alone = toft_lone(a, p);
  if (alone != NULL && aligned && new_size <= (size_t)((unsigned char *)alone + alone->size - p)) {
    if (new_round > old_round) alone->left = p + new_round;
    return p;
  }
  if (flags & TOFT_STAY) return NULL;
  unsigned char *q = (unsigned char *)toft_place(a, new_size, align);
  if (q == NULL) return NULL;
  memcpy(q, p, toft_min(old_size, new_size));
  if (alone != NULL) { /* nothing else is in its old block: what came on top of it is q's block, or nothing */
    toft_blk **at = a->newest == alone ? &a->newest : &a->newest->next;
    *at = alone->next;
    a->live -= alone->charge;
    toft_apart_gone(a, alone);
    toft_drop(a, alone);
  }
  return q;
}

static void *toft_resize_any(toft_state *a, unsigned char *p, size_t old_size, size_t new_size, size_t align,
                             uint32_t flags, int *code) {
  if (a->state & TOFT_IS_CHECKED) return toft_resize_checked(a, p, old_size, new_size, align, flags, code);
  return toft_resize_place(a, p, old_size, new_size, align, flags);
}

static void *toft_op_resize(toft_arena *head, void *p, size_t old_size, size_t new_size, size_t align, uint32_t flags,
                            uintptr_t site) {
  uintptr_t caller = TOFT_CALLER();
  if (p == NULL && old_size == 0) return toft_alloc_for(head, new_size, align, flags, site, caller);
  toft_state *a = toft_state_of(head);
  int absurd = old_size > TOFT_MAX_REQUEST && !(a->state & TOFT_IS_CHECKED); /* the checks have a finding for it */
  int code = p == NULL || absurd ? TOFT_EARG : toft_check_request(new_size, align);
  void *q = NULL;
  if (TOFT_UNLIKELY(!toft_step_in(a, "resize", site != 0 ? site : caller))) return NULL;
  toft_enter(a);
  if (a->state & TOFT_BUSY) code = TOFT_EBUSY;
  if (code == TOFT_OK) {
    uint64_t before = a->allocated;
    code = TOFT_ENOMEM;
    q = toft_resize_any(a, (unsigned char *)p, old_size, new_size, align, flags, &code);
    size_t wanted = flags & TOFT_STAY ? new_size - toft_min(old_size, new_size) : new_size;
    if (q == NULL && code == TOFT_ENOMEM && toft_budget_raised(a, wanted, align))
      q = toft_resize_any(a, (unsigned char *)p, old_size, new_size, align, flags, &code);
    if (q != NULL) toft_note(a, q == p ? new_size - toft_min(old_size, new_size) : new_size, before, site, caller);
  }
  toft_aim(a);
  toft_step_out(a);
  if (TOFT_UNLIKELY(q == NULL))
    toft_fail(a, new_size, align, code);
  else if ((flags & TOFT_ZERO) && new_size > old_size)
    memset((unsigned char *)q + old_size, 0, new_size - old_size);
  return q;
}

static void toft_op_free(toft_arena *head, void *p, size_t size) {
  toft_state *a = toft_state_of(head);
  int code = TOFT_OK;
  if (TOFT_UNLIKELY(!toft_step_in(a, "free", TOFT_CALLER()))) return;
  toft_enter(a);
  if (!(a->state & TOFT_CLOSED) && p != NULL && (size <= TOFT_MAX_REQUEST || (a->state & TOFT_IS_CHECKED))) {
    if (a->state & TOFT_IS_CHECKED) {
      code = toft_free_checked(a, (unsigned char *)p, size);
    } else if (toft_is_last(a, (unsigned char *)p, size)) {
      a->head.cursor = (unsigned char *)p;
      toft_sync(a);
    } else if (toft_lone(a, (unsigned char *)p) != NULL) {
      toft_drop(a, toft_pop(a));
    }
  }
  toft_aim(a);
  toft_step_out(a);
  if (code != TOFT_OK) toft_fail(a, size, 0, code);
}

/* ---- marks ---- */

/* The block that a mark points into: the newest regular one that was there. NULL: no mark of this arena and round. */
static toft_blk *toft_mark_block(const toft_state *a, unsigned char **at, uintptr_t epoch) {
  unsigned char *cursor = *at;
  if (((uintptr_t)cursor & 7) != 0 || (epoch & 1) != 0 || epoch > toft_epoch(a)) return NULL;
  toft_blk *b = a->current;
  while (b != NULL && b->born > epoch) b = b->of.below;
  if (b == &a->home && epoch < a->emptied) cursor = *at = a->home_start; /* nothing was allocated then */
  if (b == NULL || cursor < toft_block_start(a, b) || cursor > toft_block_end(a, b)) return NULL;
  if (b == &a->home && (a->state & TOFT_IDLE) && cursor != a->home_end) return NULL;
  return b;
}

static int toft_rewind_to(toft_state *a, toft_blk *b, unsigned char *cursor, uintptr_t epoch) {
  if (epoch != toft_epoch(a)) toft_note_peak(a, a->live);
  toft_run_cleanups(a, epoch);
  size_t records = a->checks != NULL ? a->checks->count : 0;
  int code = toft_check_records(a, epoch);
  if (records != 0 && a->checks->count != records) toft_note_gone_marks(a, &a->checks->records[a->checks->count]);
  int moved = b != a->current;
  while (a->newest->born > epoch) {
    toft_blk *gone = toft_pop(a);
    toft_poison(a, (unsigned char *)gone + toft_offset(gone), gone->left);
    toft_drop(a, gone);
  }
  if (cursor < a->head.cursor) { /* above it: the newest allocation below the mark was given back meanwhile */
    toft_poison(a, cursor, a->head.cursor);
    a->head.cursor = cursor;
    toft_sync(a);
  }
  if (moved) toft_bump(a);
  if (a->checks != NULL && epoch < a->checks->since) toft_check_from_here(a);
  return code;
}

static int toft_op_rewind(toft_arena *head, unsigned char *cursor, uintptr_t epoch) {
  toft_state *a = toft_state_of(head);
  const unsigned char *marked = cursor;
  int code = TOFT_EMARK;
  if (TOFT_UNLIKELY(!toft_step_in(a, "rewind", TOFT_CALLER()))) return TOFT_EBUSY;
  toft_enter(a);
  if (a->state & TOFT_CLOSED) {
    code = TOFT_EBUSY;
  } else {
    toft_blk *b = toft_mark_block(a, &cursor, epoch);
    if (b != NULL && !toft_mark_is_stale(a, marked, epoch))
      code = toft_rewind_to(a, b, cursor, epoch);
    else if (cursor != NULL) /* else somebody asks whether the arena is closed */
      toft_note_stale_mark(a);
  }
  toft_aim(a);
  toft_step_out(a);
  return code;
}

/* ---- reset and trim ---- */

/* The round's need joins its window. The highest of all windows, and 512 for what home's start takes: P10's H. */
static uint64_t toft_end_round(toft_state *a) {
  uint64_t *window = &a->window_peaks[a->rounds / TOFT_WINDOW % TOFT_WINDOWS], high = 0;
  if (a->rounds++ % TOFT_WINDOW == 0) *window = 0;
  if (a->round_peak > *window) *window = a->round_peak;
  a->round_peak = 0;
  for (int i = 0; i < TOFT_WINDOWS; i++)
    if (a->window_peaks[i] > high) high = a->window_peaks[i];
  return high + 512;
}

static void toft_home_current(toft_state *a, int idle) {
  a->newest = &a->home;
  a->state &= ~(uint32_t)TOFT_IDLE;
  if (idle) a->state |= TOFT_IDLE;
  toft_make_current(a, &a->home, idle ? a->home_end : a->home_start);
  a->home.left = a->head.cursor;
}

/* Takes everything but home into one list: the blocks, newest first, then the spares as they were. */
static toft_blk *toft_take_apart(toft_state *a) {
  toft_blk *all = a->newest, **tail = &all;
  while (*tail != &a->home) tail = &(*tail)->next;
  *tail = a->spares;
  a->spares = NULL;
  a->spare_bytes = 0;
  return all;
}

/* Each block of the list becomes a spare again, in its order, or goes to its source. Returns the size of the largest
 * regular block that was in use and stays. */
static size_t toft_keep_some(toft_state *a, toft_blk *list, size_t at_least, size_t at_most, size_t bound,
                             size_t count) {
  toft_blk **tail = &a->spares;
  size_t largest = 0;
  while (list != NULL) {
    toft_blk *b = list;
    list = b->next;
    if (count != 0 && b->size >= at_least && b->size <= at_most && b->size <= bound &&
        a->spare_bytes <= bound - b->size) {
      *tail = b;
      tail = &b->next;
      a->spare_bytes += b->size;
      if (b->kind == TOFT_BLOCK_REGULAR) largest = toft_max(largest, b->size);
      b->kind = TOFT_BLOCK_SPARE;
      count--;
    } else {
      toft_put(a, b);
    }
  }
  *tail = NULL;
  return largest;
}

/* P10. Nothing is allocated any more; what is to stay for the next round? */
static void toft_settle(toft_state *a, uint32_t policy, size_t keep) {
  uint64_t high = toft_end_round(a);
  toft_blk *newest = a->newest;
  size_t others = 0, one_offs = 0;
  for (toft_blk *b = newest; b != &a->home; b = b->next) {
    others += b->size;
    one_offs += b->kind == TOFT_BLOCK_ONEOFF;
  }

  /* One block of this size would do for the round; up to `most`, one that is there does. */
  size_t wanted = toft_merged_size(high), most = 4 * wanted;
  /* Without one, blocks stay as they are up to this: a half more than the round, as P6 may waste a quarter of each. */
  size_t bound =
      toft_round((size_t)(high < TOFT_MAX_REQUEST / 2 ? high + high / 2 : TOFT_MAX_REQUEST), TOFT_CAP) + TOFT_CAP;
  /* Many equal blocks serve any round as well as one large block, and their memory is touched already. */
  int as_they_are = high > TOFT_MERGE || (one_offs == 0 && others > TOFT_CAP && high > TOFT_CAP);
  if (policy == TOFT_KEEP_ALL) {
    wanted = toft_max(wanted, toft_min(TOFT_MERGE, others));
    most = SIZE_MAX;
    as_they_are = high > TOFT_MERGE || others > TOFT_MERGE || (one_offs == 0 && others > TOFT_CAP);
    bound = others + a->spare_bytes;
  } else if (policy == TOFT_KEEP_BYTES) {
    bound = toft_min(keep, TOFT_MAX_REQUEST);
    wanted = toft_min(wanted, toft_max(TOFT_HOME_SIZE, toft_round(bound, TOFT_HOME_SIZE)));
    most = toft_min(4 * wanted, toft_max(wanted, bound));
    as_they_are = as_they_are && bound > (high > TOFT_MERGE ? TOFT_MERGE : TOFT_CAP);
  }

  /* Home may do: as it is, as a buffer, or as a block that its source extends. */
  int extends = a->home.source != NULL && a->home.source->extend != NULL;
  int fits = high <= (size_t)(a->home_end - a->home_start) + 512 && (policy != TOFT_KEEP_ALL || others == 0);
  int single = newest != &a->home && newest->next == &a->home && newest->kind == TOFT_BLOCK_REGULAR;
  a->spare_keep = 0;
  if (wanted <= TOFT_HOME_SIZE || fits || a->source == NULL || extends) {
    (void)toft_keep_some(a, toft_take_apart(a), 0, 0, 0, 0);
    a->first = 0;
    toft_home_current(a, 0);
  } else if (single && high <= TOFT_MERGE && newest->size >= wanted && newest->size <= most) {
    toft_put_spares(a, 0);
    a->first = 0;
    toft_home_current(a, 1); /* no mark of this round can name it */
    a->newest = newest;
    newest->index = 1;
    toft_make_current(a, newest, toft_block_start(a, newest));
  } else if (as_they_are) {
    a->first = toft_max(TOFT_CAP, toft_keep_some(a, toft_take_apart(a), 0, SIZE_MAX, bound, SIZE_MAX));
    a->spare_keep = bound;
    toft_home_current(a, 1);
  } else { /* a block that was rewound before the reset is as good as one that was not */
    (void)toft_keep_some(a, toft_take_apart(a), wanted, most, SIZE_MAX, others == 0);
    a->first = a->spares != NULL ? a->spares->size : wanted;
    toft_home_current(a, 1);
  }
}

static int toft_op_reset(toft_arena *head, uint32_t policy, size_t keep) {
  toft_state *a = toft_state_of(head);
  int code = TOFT_OK;
  if (TOFT_UNLIKELY(!toft_step_in(a, "reset", TOFT_CALLER()))) return TOFT_EBUSY;
  toft_enter(a);
  if (policy > TOFT_KEEP_BYTES) {
    code = TOFT_EARG;
  } else if (a->state & TOFT_CLOSED) {
    code = TOFT_EBUSY;
  } else {
    toft_note_peak(a, a->live);
    toft_run_cleanups(a, 0);
    code = toft_look_at_shadows(a);
    if (toft_check_records(a, 0) != TOFT_OK) code = TOFT_ECORRUPT;
    for (toft_blk *b = a->newest; b != NULL && a->checks != NULL; b = b->next)
      toft_poison(a, b == &a->home ? a->home_start : (unsigned char *)b + toft_offset(b), toft_block_top(a, b));
    toft_settle(a, policy, keep);
    a->live = 0;
    toft_round_over(a);
    toft_bump(a);
    a->home.born = a->current->born = toft_epoch(a);
    toft_check_from_here(a);
  }
  toft_aim(a);
  toft_step_out(a);
  return code;
}

static void toft_op_trim(toft_arena *head, size_t keep) {
  toft_state *a = toft_state_of(head);
  if (TOFT_UNLIKELY(!toft_step_in(a, "trim", TOFT_CALLER()))) return;
  toft_enter(a);
  if (!(a->state & TOFT_CLOSED)) {
    toft_put_spares(a, keep);
    toft_blk *b = a->current;
    a->spare_keep = toft_min(a->spare_keep, keep);
    if (a->live == 0 && b != &a->home && b == a->newest && b->next == &a->home &&
        a->head.cursor == toft_block_start(a, b) && b->size > keep) {
      if (a->checks != NULL) {
        a->checks->before = a->checks->from;
        a->checks->from = a->home_start;
      }
      toft_put(a, b);
      a->first = 0;
      toft_home_current(a, 0);
      toft_bump(a);
      a->emptied = toft_epoch(a);
    } else if (a->live == 0 && b == &a->home && a->newest == b && b->source != NULL && b->source->extend != NULL) {
      size_t size = toft_max(TOFT_HOME_SIZE, toft_round(toft_min(keep, b->size), TOFT_HOME_SIZE));
      size = toft_max(size, toft_round((size_t)(a->head.cursor - (unsigned char *)a), TOFT_HOME_SIZE));
      if (size < b->size) toft_cut_checks(a, (unsigned char *)a + size);
      if (size < b->size && b->source->extend(b->source, a, b->size, size)) {
        b->size = size;
        a->end = a->home_end = (unsigned char *)a + size;
      }
    }
  }
  toft_aim(a);
  toft_step_out(a);
}

/* ---- cleanups ---- */

static void toft_link_cleanup(toft_state *a, toft_node *node, void (*fn)(void *), void *arg) {
  toft_bump(a); /* so that a mark from before asks ops, which runs it */
  node->user.fn = fn;
  node->user.arg = arg;
  node->older = a->cleanups;
  node->born = toft_epoch(a);
  a->cleanups = node;
}

static toft_cleanup *toft_op_cleanup(toft_arena *head, void (*fn)(void *), void *arg) {
  toft_state *a = toft_state_of(head);
  toft_node *node = NULL;
  if (TOFT_UNLIKELY(!toft_step_in(a, "cleanup", TOFT_CALLER()))) return NULL;
  toft_enter(a);
  int busy = (a->state & TOFT_CLOSED) != 0;
  if (!busy) node = (toft_node *)toft_place(a, sizeof *node, 8);
  if (!busy && node == NULL && toft_budget_raised(a, sizeof *node, 8))
    node = (toft_node *)toft_place(a, sizeof *node, 8);
  if (node != NULL) {
    toft_link_cleanup(a, node, fn, arg);
    toft_tell_over(a);
  }
  toft_aim(a);
  toft_step_out(a);
  if (node == NULL) toft_fail(a, sizeof *node, 8, busy ? TOFT_EBUSY : TOFT_ENOMEM);
  return node != NULL ? &node->user : NULL;
}

/* ---- claimed ranges ---- */

static void *toft_op_claim(toft_arena *head, toft_range *r, size_t size, size_t align) {
  toft_state *a = toft_state_of(head);
  int code = size != 0 ? toft_check_request(size, align) : TOFT_OK;
  unsigned char *p = NULL;
  if (TOFT_UNLIKELY(!toft_step_in(a, "claim", TOFT_CALLER()))) return NULL;
  toft_enter(a);
  uint32_t held = a->state & TOFT_CLAIMED;
  if ((a->state & TOFT_BUSY) || (held && r->maker != a->claim_id)) {
    code = TOFT_EBUSY;
  } else if (held ? r->cursor < a->claim_start || r->cursor > a->claim_limit : r->maker != 0) {
    code = TOFT_EARG;
  } else if (code == TOFT_OK) {
    unsigned char *before = a->head.cursor;
    uint64_t allocated = a->allocated, peak = a->peak;
    a->state &= ~(uint32_t)TOFT_CLAIMED;
    if (held) a->head.cursor = r->cursor + toft_pad(r->cursor, 8);
    toft_sync(a);
    uint64_t placed = a->allocated;
    p = size != 0 ? (unsigned char *)toft_place(a, size, align) : a->head.cursor;
    if (p == NULL && toft_budget_raised(a, size, align)) p = (unsigned char *)toft_place(a, size, align);
    if (p != NULL) {
      toft_note(a, size, placed, 0, TOFT_CALLER());
      toft_aim(a); /* the range gets what the inline path would have had */
      a->claim_start = p + TOFT_ROUND8(size) == a->head.cursor ? p : a->head.cursor;
      a->claim_limit = a->head.limit;
      /* The low bits tell a stale range from the present one. */
      if (!held) a->claim_id = (uintptr_t)a | ((a->claim_id + 1) & 63);
      r->cursor = a->head.cursor;
      r->limit = a->claim_limit;
      r->maker = a->claim_id;
      a->state |= TOFT_CLAIMED;
    } else {
      a->head.cursor = before;
      toft_sync(a);
      a->allocated = allocated; /* what the range holds counts when it is given */
      a->peak = peak;
      toft_settle_tags(a);
      a->state |= held;
      code = TOFT_ENOMEM;
    }
  }
  toft_aim(a);
  toft_step_out(a);
  if (p == NULL) toft_fail(a, size, align, code);
  return p;
}

static int toft_op_give(toft_arena *head, toft_range *r) {
  toft_state *a = toft_state_of(head);
  int code = TOFT_EARG;
  if (TOFT_UNLIKELY(!toft_step_in(a, "give", TOFT_CALLER()))) return TOFT_EBUSY;
  toft_enter(a);
  if ((a->state & TOFT_CLOSED) == TOFT_CLAIMED && r->maker == a->claim_id && r->cursor >= a->claim_start &&
      r->cursor <= a->claim_limit) {
    a->head.cursor = r->cursor + toft_pad(r->cursor, 8);
    a->state &= ~(uint32_t)TOFT_CLAIMED;
    a->aside = NULL;
    toft_sync(a);
    toft_range_given(a);
    r->cursor = r->limit = NULL;
    r->maker = 0;
    code = TOFT_OK;
    toft_tell_over(a);
  }
  toft_aim(a);
  toft_step_out(a);
  return code;
}

/* ---- the rest ---- */

static int toft_op_set(toft_arena *head, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  toft_state *a = toft_state_of(head);
  uint32_t closed = TOFT_CLOSED;
  int code = TOFT_OK, inside = !(a->state & TOFT_FRESH) && a->checks != NULL; /* checks may begin here */
  if (what < TOFT_SET_BUDGET || what > TOFT_SET_CHECKED) return TOFT_ENOSYS;
  if (what == TOFT_SET_CHECKED && value > 1) return TOFT_EARG;
  if (what == TOFT_SET_TAG && !toft_is_name(name, name_len)) return TOFT_EARG;
  if (what == TOFT_SET_TAG) closed = TOFT_BUSY;
  if (TOFT_UNLIKELY(!toft_step_in(a, "set", TOFT_CALLER()))) return TOFT_EBUSY;
  toft_enter(a);
  if (a->state & closed) {
    code = TOFT_EBUSY;
  } else if (what == TOFT_SET_BUDGET) {
    a->budget = value;
  } else if (what == TOFT_SET_TAG) {
    code = toft_set_tag_here(a, value, name, name_len);
  } else if (what == TOFT_SET_SAMPLE) {
    code = toft_set_period(a, value);
  }
  if (code == TOFT_OK) {
    toft_bump(a);
    if (what == TOFT_SET_CHECKED && value != (uint64_t)((a->state & TOFT_IS_CHECKED) != 0))
      code = value != 0 ? toft_begin_checks(a) : toft_end_checks(a);
  }
  toft_aim(a);
  if (inside) toft_step_out(a);
  return code;
}

static int toft_op_contains(const toft_arena *head, const void *p);
static size_t toft_op_stats(toft_arena *head, toft_stats *out, size_t out_size);
static void toft_op_release(toft_arena *head);

/* For debuggers: reads the state as it is. */
static int toft_op_query(const toft_arena *head, uint32_t what, uint64_t *value) {
  const toft_state *a = (const toft_state *)(const void *)head;
  if (what == TOFT_SET_BUDGET) {
    *value = a->budget;
  } else if (what == TOFT_SET_SAMPLE) {
    *value = a->watch != NULL ? a->watch->period : 0;
  } else if (what == TOFT_SET_CHECKED) {
    *value = (a->state & TOFT_IS_CHECKED) != 0;
  } else {
    return TOFT_ENOSYS;
  }
  return TOFT_OK;
}

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
};

/* Made by this library? */
static int toft_is_held(const toft_arena *a); /* lease_stands.c: an arena that a cache leases */
static int toft_is_own(const toft_arena *a) { return a->ops == &toft_table.ops || toft_is_held(a); }
