/* Accounting: bytes by tag and phase, and budgets with callbacks. toft_set_limit lowers the limit to the next byte
 * that accounting must see, and sets the epoch's lowest bit so that rewinds, resizes and frees take the slow path.
 *
 * Bytes in regular blocks are freed in LIFO order. For them a list of cuts records at which of the LIFO bytes each
 * tag begins: a change of tag appends a cut, and a rewind removes the cuts above it. Dedicated blocks and adopted
 * arenas are detached: they may be freed in any order, and are listed one by one.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_ACCOUNTING_C
#define TOFT_DEBUG_ACCOUNTING_C

#include "../core/blocks.c"
#include "../core/stats.c"
#include "../platform/atomic.c"
#include "json.c"
#include "observe.h"
#include "subject.c"

typedef struct toft_tag_entry {
  char *name; /* its path, with a terminating NUL */
  size_t length;
  uint64_t number;
  int numbered;
  uint64_t budget, allocated;
  uint64_t lifo_closed; /* LIFO bytes between its cuts and the next ones, except after the last cut */
  uint64_t detached;
} toft_tag_entry;

typedef struct toft_cut {
  uint64_t at;
  size_t tag;
} toft_cut;

typedef struct toft_detached {
  const void *what; /* a block, or an adopted arena */
  size_t tag;
  uint64_t bytes;
} toft_detached;

typedef struct toft_phase_entry {
  char *name;
  uint64_t entries, allocated;
  int64_t kept;
} toft_phase_entry;

typedef struct toft_sampled_site toft_sampled_site; /* sampling.c */
typedef struct toft_profiled toft_profiled;         /* process_profile.c */
#define TOFT_SITE_LISTS 256

struct toft_instruments {
  int metered;
  size_t tag; /* the current tag; 0: none */
  toft_tag_entry *tags;
  size_t tag_count, tag_capacity;
  toft_cut *cuts; /* while metered: ascending, the first at 0; the last one's tag is current */
  size_t cut_count, cut_capacity;
  toft_detached *detached; /* while metered: in order of creation */
  size_t detached_count, detached_capacity;
  uint64_t detached_bytes;
  uint64_t lifo_bytes, synced_allocated; /* at the last toft_sync_tags: live - detached_bytes, and allocated */
  size_t *tag_stack;                     /* tags to return to */
  size_t tag_depth, tag_stack_capacity, failed_pushes; /* failed_pushes: toft_tag_push calls that failed */
  int claimed;                                         /* the claimed range belongs to claim_tag */
  size_t claim_tag;
  toft_phase_entry *phases;
  size_t phase_count, phase_capacity;

  uint64_t soft_budget;
  int soft_budget_passed; /* and reported */
  toft_soft_budget_fn *on_soft_budget;
  void *on_soft_budget_arg;
  toft_refusal_fn *on_refusal;
  void *on_refusal_arg;
  uintptr_t caller;        /* of the last sampled or budgeted allocation */
  toft_profiled *profiled; /* NULL: not in the process's profile */

  uint64_t period, next_sample, random; /* next_sample: a value of `allocated` */
  toft_unwind_fn *unwinder;
  void *unwinder_arg;
  toft_sampled_site **sites; /* TOFT_SITE_LISTS lists by hash; NULL before the first sample */
  size_t site_count;
  double unattributed_count, unattributed_bytes; /* of samples for which there was no memory */
};

/* ---- growing arrays ---- */

/* Grows the array to at least `want` items. NULL: no memory, and the array is unchanged. */
static void *toft_grow_list(void *list, size_t *capacity, size_t want, size_t item) {
  if (want <= *capacity) return list;
  size_t more = toft_max(want, 2 * *capacity);
  void *grown = more <= TOFT_MAX_REQUEST / item ? realloc(list, more * item) : NULL;
  if (grown != NULL) *capacity = more;
  return grown;
}

static int toft_reserve_cuts(toft_instruments *w, size_t more) {
  toft_cut *cuts = (toft_cut *)toft_grow_list(w->cuts, &w->cut_capacity, w->cut_count + more, sizeof *cuts);
  if (cuts != NULL) w->cuts = cuts;
  return cuts != NULL;
}

static int toft_reserve_detached_entries(toft_instruments *w, size_t more) {
  toft_detached *detached =
      (toft_detached *)toft_grow_list(w->detached, &w->detached_capacity, w->detached_count + more, sizeof *detached);
  if (detached != NULL) w->detached = detached;
  return detached != NULL;
}

static char *toft_copy_name(const char *first, size_t n, const char *second, size_t m) {
  char *s = (char *)malloc(n + m + 2);
  if (s == NULL) return NULL;
  if (n != 0) memcpy(s, first, n);
  if (n != 0 && m != 0) s[n++] = '/';
  if (m != 0) memcpy(s + n, second, m);
  s[n + m] = 0;
  return s;
}

/* ---- names ---- */

/* Whether it is UTF-8 without a NUL. */
static int toft_is_name(const char *name, size_t length) {
  if (name == NULL) return length == 0;
  for (size_t at = 0; at < length;) {
    size_t n = toft_utf8((const unsigned char *)name + at, length - at);
    if (n == 0 || name[at] == 0) return 0;
    at += n;
  }
  return 1;
}

/* The tag whose path is `outer`/`name`, created if needed; `number` becomes its number. SIZE_MAX: no memory. */
static size_t toft_tag_of(toft_instruments *w, const toft_tag_entry *outer, const char *name, size_t m,
                          const uint64_t *number) {
  const char *first = outer != NULL ? outer->name : "";
  size_t n = outer != NULL ? outer->length : 0, length = n + m + (n != 0 && m != 0);
  static const uint64_t none = 0;
  if (length == 0 && number == NULL) number = &none;
  for (size_t i = 0; i < w->tag_count; i++) {
    toft_tag_entry *t = &w->tags[i];
    int same = length == 0 ? t->length == 0 && t->number == *number
                           : t->length == length && memcmp(t->name + (length - m), name, m) == 0 &&
                                 memcmp(t->name, first, n) == 0 && (n == 0 || m == 0 || t->name[n] == '/');
    if (!same && length == 0) same = t->numbered && t->number == *number; /* the number has a name by now */
    if (!same) continue;
    if (number != NULL && length != 0) {
      t->number = *number;
      t->numbered = 1;
    }
    return i;
  }
  toft_tag_entry *tags = (toft_tag_entry *)toft_grow_list(w->tags, &w->tag_capacity, w->tag_count + 1, sizeof *tags);
  char *path = tags != NULL ? toft_copy_name(first, n, name, m) : NULL;
  if (tags != NULL) w->tags = tags;
  if (path == NULL) return SIZE_MAX;
  toft_tag_entry *t = &tags[w->tag_count];
  memset(t, 0, sizeof *t);
  t->name = path;
  t->length = length;
  t->numbered = number != NULL;
  t->number = number != NULL ? *number : 0;
  t->budget = UINT64_MAX;
  return w->tag_count++;
}

/* ---- the state of accounting ---- */

/* A bijective mixer: similar seeds give unrelated results. Never 0. */
static uint64_t toft_mix64(uint64_t n) {
  n = (n ^ n >> 30) * 0xBF58476D1CE4E5B9u;
  n = (n ^ n >> 27) * 0x94D049BB133111EBu;
  n ^= n >> 31;
  return n != 0 ? n : 1;
}

static size_t toft_instruments_made; /* count of states created; atomic */

static toft_instruments *toft_instruments_of(const toft_state *a) {
  return a->state & TOFT_PRISTINE ? NULL : a->instruments;
}

/* Whether the process's profile includes the arena. */
static int toft_is_profiled(const toft_state *a) {
  const toft_instruments *w = toft_instruments_of(a);
  return w != NULL && w->profiled != NULL;
}

/* Created on first use. NULL: no memory. */
static toft_instruments *toft_instruments_get(toft_state *a) {
  if (a->instruments != NULL) return a->instruments;
  toft_instruments *w = (toft_instruments *)malloc(sizeof *w);
  if (w == NULL) return NULL;
  memset(w, 0, sizeof *w);
  w->soft_budget = UINT64_MAX;
  /* arenas from the cache repeat addresses; the counter gives each another first sample */
  w->random = toft_mix64((uint64_t)TOFT_ADD(&toft_instruments_made, 1) * 0x9E3779B97F4A7C15u ^ (uint64_t)(uintptr_t)a);
  if (toft_tag_of(w, NULL, "", 0, NULL) != 0) {
    free(w->tags);
    free(w);
    return NULL;
  }
  a->instruments = w;
  toft_update_observed(a);
  return w;
}

static void toft_clear_sites(toft_instruments *w); /* sampling.c */

/* process_profile.c; precondition of each: w->profiled is not NULL. */
static void toft_profile_update(toft_state *a);
static void toft_profile_sample(const toft_instruments *w, void *const *stack, size_t depth, uintptr_t site,
                                double count, double bytes);
static void toft_profile_phase(const char *name, uint64_t allocated, int64_t kept);
#define TOFT_PROFILE_LAG (16 * TOFT_KIB) /* bytes by which a profile's number of an arena may be late */

static void toft_clear_phases(toft_instruments *w) {
  for (size_t i = 0; i < w->phase_count; i++) free(w->phases[i].name);
  w->phase_count = 0;
}

/* Frees the lists and sets everything to 0. */
static void toft_instruments_clear(toft_instruments *w) {
  toft_clear_sites(w);
  toft_clear_phases(w);
  for (size_t i = 0; i < w->tag_count; i++) free(w->tags[i].name);
  free(w->sites);
  free(w->phases);
  free(w->tag_stack);
  free(w->detached);
  free(w->cuts);
  free(w->tags);
  memset(w, 0, sizeof *w);
}

static TOFT_RARE void toft_instruments_release(toft_state *a) {
  if (a->instruments == NULL) return;
  TOFT_ASSERT(a->instruments->tag_count != 0 && a->instruments->tag < a->instruments->tag_count);
  toft_profile_remove(a);
  toft_instruments_clear(a->instruments);
  free(a->instruments);
  a->instruments = NULL;
  a->state &= ~(uint32_t)TOFT_INSTRUMENTED;
  toft_update_observed(a);
}

/* Updates TOFT_INSTRUMENTED after a setting changed. */
static void toft_update_instrumented(toft_state *a) {
  const toft_instruments *w = a->instruments;
  int on = w->metered || w->period != 0 || w->soft_budget != UINT64_MAX || w->on_refusal != NULL || w->profiled != NULL;
  a->state = on ? a->state | TOFT_INSTRUMENTED : a->state & ~(uint32_t)TOFT_INSTRUMENTED;
}

/* ---- bytes by tag ---- */

/* The tag charged now: the claim's while a claimed range is being returned, else the current one. */
static size_t toft_charged_tag(const toft_state *a) {
  const toft_instruments *w = a->instruments;
  return w->claimed && !(a->state & TOFT_CLAIMED) ? w->claim_tag : w->tag;
}

/* Removes the cuts above `at` and starts `tag` there. Needs no memory: either a cut was removed, or toft_change_tag
 * reserved one. */
static void toft_cut_at(toft_instruments *w, uint64_t at, size_t tag) {
  toft_cut *cuts = w->cuts;
  size_t n = w->cut_count;
  TOFT_ASSERT(tag < w->tag_count && n <= w->cut_capacity);
  TOFT_ASSERT(n == 0 || cuts[0].at == 0);
  while (n != 0 && cuts[n - 1].at >= at) {
    n--;
    TOFT_ASSERT(n == 0 || cuts[n - 1].at < cuts[n].at);
    TOFT_ASSERT(n == 0 || w->tags[cuts[n - 1].tag].lifo_closed >= cuts[n].at - cuts[n - 1].at);
    if (n != 0) w->tags[cuts[n - 1].tag].lifo_closed -= cuts[n].at - cuts[n - 1].at;
  }
  if (n == 0 || cuts[n - 1].tag != tag) {
    if (n != 0) w->tags[cuts[n - 1].tag].lifo_closed += at - cuts[n - 1].at;
    TOFT_ASSERT(n < w->cut_capacity);
    cuts[n].at = at;
    cuts[n].tag = tag;
    n++;
  }
  w->cut_count = n;
}

/* Updates the cuts to live. */
static void toft_cut_tags(toft_state *a) {
  toft_instruments *w = a->instruments;
  uint64_t lifo_bytes = a->live - w->detached_bytes;
  TOFT_ASSERT(w->detached_bytes <= a->live && w->cut_count != 0);
  size_t tag = toft_charged_tag(a);
  /* a range claimed under another tag is returned: no other LIFO bytes were added since the last cut */
  if (w->cuts[w->cut_count - 1].tag != tag)
    toft_cut_at(w, lifo_bytes < w->lifo_bytes ? lifo_bytes : w->lifo_bytes, tag);
  toft_cut_at(w, lifo_bytes, tag);
  w->lifo_bytes = lifo_bytes;
}

/* Brings the bytes of each tag up to date with live and allocated. */
static void toft_sync_tags(toft_state *a) {
  toft_instruments *w = a->instruments;
  if (w == NULL || !w->metered) return;
  toft_cut_tags(a);
  w->tags[toft_charged_tag(a)].allocated += a->allocated - w->synced_allocated; /* negative if a claim shrank */
  w->synced_allocated = a->allocated;
  TOFT_VERIFY(tags, a);
}

static uint64_t toft_live_of_tag(const toft_instruments *w, size_t tag) {
  TOFT_ASSERT(tag < w->tag_count);
  if (w->cut_count == 0) return w->tags[tag].detached; /* a sum of arenas */
  const toft_cut *last = &w->cuts[w->cut_count - 1];
  return w->tags[tag].lifo_closed + w->tags[tag].detached + (last->tag == tag ? w->lifo_bytes - last->at : 0);
}

#ifdef TOFT_ASSERTIONS
/* The live bytes of all tags are those of the arena. */
static void toft_verify_tags(const struct toft_state *a) {
  const toft_instruments *w = a->instruments;
  uint64_t live = 0, detached = 0;
  if (!toft_verifies(4 * w->tag_count)) return;
  for (size_t i = 0; i < w->tag_count; i++) {
    live += toft_live_of_tag(w, i);
    detached += w->tags[i].detached;
  }
  TOFT_ASSERT(live == a->live);
  TOFT_ASSERT(detached == w->detached_bytes);
}
#endif

/* Precondition: toft_sync_in was called. 0: no memory, and nothing changed. */
static int toft_change_tag(toft_state *a, size_t tag) {
  toft_instruments *w = a->instruments;
  toft_sync_tags(a);
  /* a cut for this change, one for each pop to come, and two for a range under another tag */
  TOFT_ASSERT(tag < w->tag_count);
  if (!toft_reserve_cuts(w, w->tag_depth + 4)) return 0;
  w->tag = tag;
  toft_sync_tags(a);
  return 1;
}

/* ---- detached bytes ---- */

/* Reserves memory for one more entry. 0: there is none. */
static int toft_reserve_detached(toft_state *a) {
  return a->instruments == NULL || !a->instruments->metered || toft_reserve_detached_entries(a->instruments, 1);
}

static void toft_detached_push(toft_instruments *w, const void *what, size_t tag, uint64_t bytes) {
  toft_detached *last = w->detached_count != 0 ? &w->detached[w->detached_count - 1] : NULL;
  if (last == NULL || last->what != what || last->tag != tag) {
    TOFT_ASSERT(w->detached_count < w->detached_capacity);
    last = &w->detached[w->detached_count++];
    last->what = what;
    last->tag = tag;
    last->bytes = 0;
  }
  last->bytes += bytes;
  w->tags[tag].detached += bytes;
  w->detached_bytes += bytes;
}

/* Accounts for bytes that were added to live and allocated outside the LIFO order. */
static void toft_detached_add(toft_state *a, const void *what, size_t bytes) {
  toft_instruments *w = a->instruments;
  if (w == NULL || !w->metered) return;
  size_t tag = toft_charged_tag(a);
  toft_detached_push(w, what, tag, bytes);
  w->tags[tag].allocated += bytes;
  w->synced_allocated += bytes;
}

/* The bytes were subtracted from live. The entry is near the end of the list. */
static void toft_detached_remove(toft_state *a, const void *what) {
  toft_instruments *w = a->instruments;
  if (w == NULL || !w->metered) return;
  size_t end = w->detached_count, first;
  while (end != 0 && w->detached[end - 1].what != what) end--;
  for (first = end; first != 0 && w->detached[first - 1].what == what; first--) {
    const toft_detached *removed = &w->detached[first - 1];
    TOFT_ASSERT(removed->bytes <= w->tags[removed->tag].detached && removed->bytes <= w->detached_bytes);
    w->tags[removed->tag].detached -= removed->bytes;
    w->detached_bytes -= removed->bytes;
  }
  TOFT_ASSERT(first < end); /* each such block has an entry */
  memmove(w->detached + first, w->detached + end, (w->detached_count - end) * sizeof *w->detached);
  w->detached_count -= end - first;
}

/* Metering begins: charges all existing detached bytes to no tag. 0: no memory. */
static int toft_detached_add_all(toft_state *a) {
  toft_instruments *w = a->instruments;
  for (const toft_block_header *b = a->newest; b != NULL; b = b->next) {
    if (b->kind != TOFT_BLOCK_DEDICATED) continue;
    if (!toft_reserve_detached_entries(w, 1)) return 0;
    toft_detached_push(w, b, 0, b->charge);
  }
  for (const toft_cleanup_node *n = a->cleanups; n != NULL; n = n->older) {
    const toft_state *donor = toft_adopted_arena(n);
    if (donor == NULL) continue;
    if (!toft_reserve_detached_entries(w, 1)) return 0;
    toft_detached_push(w, donor, 0, donor->live);
  }
  return 1;
}

/* ---- called by observed.c ---- */

/* Returns how many of `remaining` bytes the inline path may hand out, and sets *instrumented if rewinds must take the
 * slow path. */
static TOFT_COLD size_t toft_instrumented_limit(toft_state *a, size_t remaining, uintptr_t *instrumented) {
  toft_instruments *w = a->instruments;
  uint64_t allowed = remaining;
  if (w->metered) {
    toft_sync_tags(a);
    if ((a->state & TOFT_CLAIMED) && !w->claimed) {
      w->claimed = 1;
      w->claim_tag = w->tag;
    }
    size_t tag = toft_charged_tag(a);
    uint64_t live = toft_live_of_tag(w, tag), budget = w->tags[tag].budget;
    if (budget != UINT64_MAX && allowed > (budget < live ? 0 : budget - live))
      allowed = budget < live ? 0 : budget - live;
  }
  if (w->period != 0) { /* the allocation that passes the next sample takes the slow path */
    uint64_t ahead = w->next_sample > a->allocated ? w->next_sample - a->allocated : 0;
    if (allowed > ahead) allowed = ahead;
  }
  if (w->profiled != NULL) {
    toft_profile_update(a);
    if (allowed > TOFT_PROFILE_LAG) allowed = TOFT_PROFILE_LAG;
  }
  if (!w->soft_budget_passed) {
    uint64_t ahead = w->soft_budget > a->live ? w->soft_budget - a->live : 0;
    if (allowed > ahead) allowed = ahead;
  }
  *instrumented |= w->metered || w->period != 0;
  return (size_t)(allowed & ~(uint64_t)7);
}

/* Whether the current tag's budget allows `charge` more bytes. */
static TOFT_COLD int toft_fits_tag_budget(toft_state *a, size_t charge) {
  toft_instruments *w = a->instruments;
  size_t tag = w->metered ? toft_charged_tag(a) : 0;
  uint64_t budget = w->tags[tag].budget;
  if (!w->metered || budget == UINT64_MAX) return 1;
  toft_cut_tags(a);
  uint64_t live = toft_live_of_tag(w, tag);
  if ((a->state & TOFT_CLAIMED) && w->claim_tag == tag) live += (uint64_t)(a->claim_limit - a->head.cursor);
  return live <= budget && charge <= budget - live;
}

/* A claimed range was returned. */
static void toft_accounting_unclaim(toft_state *a) {
  toft_sync_tags(a);
  if (a->instruments != NULL) a->instruments->claimed = 0;
}

/* A reset has set live to 0. */
static void toft_accounting_reset(toft_state *a) {
  toft_instruments *w = a->instruments;
  if (w == NULL) return;
  for (size_t i = 0; i < w->tag_count; i++) w->tags[i].detached = 0;
  w->detached_count = 0;
  w->detached_bytes = 0;
  w->soft_budget_passed = 0;
}

static size_t toft_size_with_redzones(size_t size, size_t align); /* debug_ops.c */

/* The slow path of toft_budget_raised. */
static TOFT_COLD int toft_ask_for_budget(toft_state *a, size_t size, size_t align) {
  toft_instruments *w = a->instruments;
  uint64_t claimed = toft_claimed_bytes(a);
  size_t charge = TOFT_ROUND8(size), pad = align > 8 ? align : 0;
  if (a->state & TOFT_IS_CHECKED) {
    charge = toft_size_with_redzones(size, align);
    pad = align + 8; /* red zones are aligned to 16 */
  }
  uint64_t budget = toft_own_budget(a), need = (uint64_t)charge + pad;
  int fits = budget == UINT64_MAX || a->live + claimed + need <= budget;
  if ((fits && !toft_was_refused(a)) || !toft_fits_tag_budget(a, charge)) return 0;
  uint32_t was_busy = toft_begin_callback(a);
  uint64_t answer = w->on_refusal(w->on_refusal_arg, toft_head_of(a), a->live, budget, size);
  toft_end_callback(a, was_busy);
  if (answer > budget) toft_set_own_budget(a, answer);
  return fits || answer > budget; /* the callback may have returned memory to the source */
}

static int toft_budget_raised(toft_state *a, size_t size, size_t align) {
  return (a->state & TOFT_INSTRUMENTED) && a->instruments->on_refusal != NULL && toft_ask_for_budget(a, size, align);
}

/* Calls the callback of the soft budget if live has passed it. */
static void toft_check_soft_budget(toft_state *a) {
  if (!(a->state & TOFT_INSTRUMENTED)) return;
  toft_instruments *w = a->instruments;
  if (w->soft_budget_passed || a->live <= w->soft_budget) return;
  w->soft_budget_passed = 1;
  toft_next_epoch(a); /* makes the next reset a full one, which clears soft_budget_passed */
  if (w->on_soft_budget == NULL) return;
  uint32_t was_busy = toft_begin_callback(a);
  w->on_soft_budget(w->on_soft_budget_arg, toft_head_of(a), a->live, w->soft_budget);
  toft_end_callback(a, was_busy);
}

/* ---- switches ---- */

static TOFT_RARE int toft_set_metering(toft_state *a, int on) {
  toft_instruments *w = toft_instruments_get(a);
  if (w == NULL) return TOFT_ENOMEM;
  if (on == w->metered) return TOFT_OK;
  toft_sync_tags(a);
  for (size_t i = 0; i < w->tag_count; i++) w->tags[i].lifo_closed = w->tags[i].detached = 0;
  w->cut_count = w->detached_count = w->tag_depth = w->failed_pushes = 0;
  w->detached_bytes = 0;
  w->tag = 0;
  w->metered = 0;
  if (on) {
    if (!toft_reserve_cuts(w, 4) || !toft_detached_add_all(a)) {
      for (size_t i = 0; i < w->tag_count; i++) w->tags[i].detached = 0;
      return TOFT_ENOMEM;
    }
    w->metered = 1;
    w->synced_allocated = a->allocated;
    toft_cut_at(w, 0, 0);
    w->lifo_bytes = a->live - w->detached_bytes;
  }
  toft_update_instrumented(a);
  return TOFT_OK;
}

/* ops->set for a tag. */
static int toft_apply_tag(toft_state *a, uint64_t number, const char *name, size_t length) {
  if ((a->state & TOFT_CLAIMED) && (a->instruments == NULL || !a->instruments->metered))
    return TOFT_EBUSY; /* the range would have no tag */
  int was_metered = a->instruments != NULL && a->instruments->metered;
  if (toft_set_metering(a, 1) != TOFT_OK) return TOFT_ENOMEM;
  if (length != 0 && name[0] == '/') name++, length--;
  size_t tag = toft_tag_of(a->instruments, NULL, name, length, &number);
  if (tag != SIZE_MAX && toft_change_tag(a, tag)) return TOFT_OK;
  (void)toft_set_metering(a, was_metered); /* switching off takes no memory */
  return TOFT_ENOMEM;
}

#endif
