/* What an arena knows of its allocations once somebody asks: bytes by tag and phase, budgets with callbacks. It hooks
 * in by the one compare of the inline path: toft_aim lowers the limit to the next byte that must be seen, and sets the
 * watched bit, so that whatever goes backwards calls.
 *
 * Bytes of a tag. What lies in line, in the regular blocks, is given back from its end alone. So a list of cuts says
 * where on the way from 0 to the bytes in line which tag begins: a change of tag adds one, and a fall takes off those
 * above it. What lies apart, in blocks of its own and in adopted arenas, may go at any time, and is listed.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_ACCOUNTING_C
#define TOFT_DEBUG_ACCOUNTING_C

#include "../core/blocks.c"
#include "../core/stats.c"
#include "../platform/atomic.c"

typedef struct toft_tag_entry {
  char *name; /* its path; terminated */
  size_t length;
  uint64_t number;
  int numbered;
  uint64_t budget, allocated;
  uint64_t closed; /* bytes in line between its cuts and the next ones; of the last cut: not yet */
  uint64_t apart;
} toft_tag_entry;

typedef struct toft_cut {
  uint64_t at;
  size_t tag;
} toft_cut;

typedef struct toft_apart {
  const void *what; /* a block, or an adopted arena */
  size_t tag;
  uint64_t bytes;
} toft_apart;

typedef struct toft_phase_entry {
  char *name;
  uint64_t entries, allocated;
  int64_t kept;
} toft_phase_entry;

typedef struct toft_sampled toft_sampled; /* sampling.c */
#define TOFT_SITE_LISTS 256

struct toft_watch {
  int metered;
  size_t tag; /* the present one; 0 is none */
  toft_tag_entry *tags;
  size_t tag_count, tag_room;
  toft_cut *cuts; /* while metered: ascending, the first at 0, the last one's tag is that of what comes next */
  size_t cut_count, cut_room;
  toft_apart *aparts; /* while metered: in the order in which they came */
  size_t apart_count, apart_room;
  uint64_t apart_bytes;
  uint64_t in_line, counted;      /* when the tags were last settled: live - apart_bytes, and allocated */
  size_t *outer;                  /* tags to come back to */
  size_t depth, outer_room, lost; /* lost: pushes that failed */
  int claimed;                    /* the bytes of the range that is out are claim_tag's */
  size_t claim_tag;
  toft_phase_entry *phases;
  size_t phase_count, phase_room;

  uint64_t soft;
  int soft_passed; /* and told */
  toft_over *over;
  void *over_arg;
  toft_ask *ask;
  void *ask_arg;

  uint64_t period, next_sample, random; /* the next sample is due when so much was allocated */
  toft_unwinder *unwinder;
  void *unwinder_arg;
  toft_sampled **sites; /* TOFT_SITE_LISTS lists by hash; NULL until something was sampled */
  size_t site_count;
  double lost_count, lost_bytes; /* of samples that there was no memory for */
};

/* ---- lists that grow ---- */

/* Room for `want` items. The list, maybe elsewhere, or NULL: it is as it was. */
static void *toft_longer(void *list, size_t *room, size_t want, size_t item) {
  if (want <= *room) return list;
  size_t more = toft_max(want, 2 * *room);
  void *longer = more <= TOFT_MAX_REQUEST / item ? realloc(list, more * item) : NULL;
  if (longer != NULL) *room = more;
  return longer;
}

static int toft_cuts_room(toft_watch *w, size_t more) {
  toft_cut *cuts = (toft_cut *)toft_longer(w->cuts, &w->cut_room, w->cut_count + more, sizeof *cuts);
  if (cuts != NULL) w->cuts = cuts;
  return cuts != NULL;
}

static int toft_aparts_room(toft_watch *w, size_t more) {
  toft_apart *aparts = (toft_apart *)toft_longer(w->aparts, &w->apart_room, w->apart_count + more, sizeof *aparts);
  if (aparts != NULL) w->aparts = aparts;
  return aparts != NULL;
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

/* The length of the UTF-8 character at the beginning of n > 0 bytes; 0: there is none. */
static size_t toft_utf8(const unsigned char *s, size_t n) {
  unsigned char c = s[0];
  size_t length = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
  if (length == 0 || length > n) return 0;
  for (size_t i = 1; i < length; i++)
    if ((s[i] & 0xC0) != 0x80) return 0;
  /* Longer than need be, a surrogate, or above 0x10FFFF. */
  if ((c == 0xE0 && s[1] < 0xA0) || (c == 0xED && s[1] > 0x9F) || (c == 0xF0 && s[1] < 0x90) ||
      (c == 0xF4 && s[1] > 0x8F))
    return 0;
  return length;
}

static int toft_is_name(const char *name, size_t length) {
  if (name == NULL) return length == 0;
  for (size_t at = 0; at < length;) {
    size_t n = toft_utf8((const unsigned char *)name + at, length - at);
    if (n == 0 || name[at] == 0) return 0;
    at += n;
  }
  return 1;
}

/* The tag whose path is these two, with a / between them, or one that is new; number: what else it may be known by.
 * SIZE_MAX: no memory. */
static size_t toft_tag_of(toft_watch *w, const toft_tag_entry *outer, const char *name, size_t m,
                          const uint64_t *number) {
  const char *first = outer != NULL ? outer->name : "";
  size_t n = outer != NULL ? outer->length : 0, whole = n + m + (n != 0 && m != 0);
  static const uint64_t none = 0;
  if (whole == 0 && number == NULL) number = &none;
  for (size_t i = 0; i < w->tag_count; i++) {
    toft_tag_entry *t = &w->tags[i];
    int same = whole == 0 ? t->length == 0 && t->number == *number
                          : t->length == whole && memcmp(t->name + (whole - m), name, m) == 0 &&
                                memcmp(t->name, first, n) == 0 && (n == 0 || m == 0 || t->name[n] == '/');
    if (!same && whole == 0) same = t->numbered && t->number == *number; /* it got a name meanwhile */
    if (!same) continue;
    if (number != NULL && whole != 0) {
      t->number = *number;
      t->numbered = 1;
    }
    return i;
  }
  toft_tag_entry *tags = (toft_tag_entry *)toft_longer(w->tags, &w->tag_room, w->tag_count + 1, sizeof *tags);
  char *path = tags != NULL ? toft_copy_name(first, n, name, m) : NULL;
  if (tags != NULL) w->tags = tags;
  if (path == NULL) return SIZE_MAX;
  toft_tag_entry *t = &tags[w->tag_count];
  memset(t, 0, sizeof *t);
  t->name = path;
  t->length = whole;
  t->numbered = number != NULL;
  t->number = number != NULL ? *number : 0;
  t->budget = UINT64_MAX;
  return w->tag_count++;
}

/* ---- the watch ---- */

/* Near numbers in, far ones out: of two seeds that differ in a bit. Never 0. */
static uint64_t toft_scatter(uint64_t n) {
  n = (n ^ n >> 30) * 0xBF58476D1CE4E5B9u;
  n = (n ^ n >> 27) * 0x94D049BB133111EBu;
  n ^= n >> 31;
  return n != 0 ? n : 1;
}

static size_t toft_watches; /* made so far; updated atomically */

static toft_watch *toft_watch_of(const toft_state *a) { return a->state & TOFT_FRESH ? NULL : a->watch; }

/* Made when it is first wanted. NULL: no memory. */
static toft_watch *toft_watched(toft_state *a) {
  if (a->watch != NULL) return a->watch;
  toft_watch *w = (toft_watch *)malloc(sizeof *w);
  if (w == NULL) return NULL;
  memset(w, 0, sizeof *w);
  w->soft = UINT64_MAX;
  /* Arenas come from the cache at the same address again: each has another first sample all the same. */
  w->random = toft_scatter((uint64_t)TOFT_ADD(&toft_watches, 1) * 0x9E3779B97F4A7C15u ^ (uint64_t)(uintptr_t)a);
  if (toft_tag_of(w, NULL, "", 0, NULL) != 0) {
    free(w->tags);
    free(w);
    return NULL;
  }
  a->watch = w;
  return w;
}

static void toft_clear_sites(toft_watch *w); /* sampling.c */

static void toft_clear_phases(toft_watch *w) {
  for (size_t i = 0; i < w->phase_count; i++) free(w->phases[i].name);
  w->phase_count = 0;
}

static void toft_end_watch(toft_state *a) {
  toft_watch *w = a->watch;
  if (w == NULL) return;
  toft_clear_sites(w);
  toft_clear_phases(w);
  for (size_t i = 0; i < w->tag_count; i++) free(w->tags[i].name);
  free(w->sites);
  free(w->phases);
  free(w->outer);
  free(w->aparts);
  free(w->cuts);
  free(w->tags);
  free(w);
  a->watch = NULL;
  a->state &= ~(uint32_t)TOFT_WATCHED;
}

/* Something was switched: is anything on? */
static void toft_switched(toft_state *a) {
  const toft_watch *w = a->watch;
  int on = w->metered || w->period != 0 || w->soft != UINT64_MAX || w->ask != NULL;
  a->state = on ? a->state | TOFT_WATCHED : a->state & ~(uint32_t)TOFT_WATCHED;
}

/* ---- bytes by tag ---- */

/* What is charged now is this tag's: that of the claim where its own bytes come back, else the present one. */
static size_t toft_charged_tag(const toft_state *a) {
  const toft_watch *w = a->watch;
  return w->claimed && !(a->state & TOFT_CLAIMED) ? w->claim_tag : w->tag;
}

/* Cuts above `at` are forgotten, and what comes from there on is the tag's. Never needs more room than there is: either
 * one was taken off, or toft_change_tag saw to it. */
static void toft_cut_at(toft_watch *w, uint64_t at, size_t tag) {
  toft_cut *cuts = w->cuts;
  size_t n = w->cut_count;
  while (n != 0 && cuts[n - 1].at >= at) {
    n--;
    if (n != 0) w->tags[cuts[n - 1].tag].closed -= cuts[n].at - cuts[n - 1].at;
  }
  if (n == 0 || cuts[n - 1].tag != tag) {
    if (n != 0) w->tags[cuts[n - 1].tag].closed += at - cuts[n - 1].at;
    cuts[n].at = at;
    cuts[n].tag = tag;
    n++;
  }
  w->cut_count = n;
}

/* The cuts, as live is now. */
static void toft_cut_tags(toft_state *a) {
  toft_watch *w = a->watch;
  uint64_t in_line = a->live - w->apart_bytes;
  size_t tag = toft_charged_tag(a);
  /* A range under another tag than the present one comes back: since the last cut nothing came in line but it. */
  if (w->cuts[w->cut_count - 1].tag != tag) toft_cut_at(w, in_line < w->in_line ? in_line : w->in_line, tag);
  toft_cut_at(w, in_line, tag);
  w->in_line = in_line;
}

static void toft_settle_tags(toft_state *a) {
  toft_watch *w = a->watch;
  if (w == NULL || !w->metered) return;
  toft_cut_tags(a);
  w->tags[toft_charged_tag(a)].allocated += a->allocated - w->counted; /* less than nothing if a range did not go on */
  w->counted = a->allocated;
}

static uint64_t toft_live_of_tag(const toft_watch *w, size_t tag) {
  const toft_cut *last = &w->cuts[w->cut_count - 1];
  return w->tags[tag].closed + w->tags[tag].apart + (last->tag == tag ? w->in_line - last->at : 0);
}

/* The arena is entered. 0: no memory, and nothing changed. */
static int toft_change_tag(toft_state *a, size_t tag) {
  toft_watch *w = a->watch;
  toft_settle_tags(a);
  /* A cut for this change, for each pop that is to come, and for both ends of a range under another tag. */
  if (!toft_cuts_room(w, w->depth + 4)) return 0;
  w->tag = tag;
  toft_settle_tags(a);
  return 1;
}

/* ---- what lies apart ---- */

/* Is there memory to note one more? */
static int toft_apart_room(toft_state *a) {
  return a->watch == NULL || !a->watch->metered || toft_aparts_room(a->watch, 1);
}

static void toft_apart_note(toft_watch *w, const void *what, size_t tag, uint64_t bytes) {
  toft_apart *last = w->apart_count != 0 ? &w->aparts[w->apart_count - 1] : NULL;
  if (last == NULL || last->what != what || last->tag != tag) {
    last = &w->aparts[w->apart_count++];
    last->what = what;
    last->tag = tag;
    last->bytes = 0;
  }
  last->bytes += bytes;
  w->tags[tag].apart += bytes;
  w->apart_bytes += bytes;
}

/* These bytes were added to live and allocated, and are not in line. */
static void toft_apart_add(toft_state *a, const void *what, size_t bytes) {
  toft_watch *w = a->watch;
  if (w == NULL || !w->metered) return;
  size_t tag = toft_charged_tag(a);
  toft_apart_note(w, what, tag, bytes);
  w->tags[tag].allocated += bytes;
  w->counted += bytes;
}

/* They were taken from live. It is among the last. */
static void toft_apart_gone(toft_state *a, const void *what) {
  toft_watch *w = a->watch;
  if (w == NULL || !w->metered) return;
  size_t end = w->apart_count, first;
  while (end != 0 && w->aparts[end - 1].what != what) end--;
  for (first = end; first != 0 && w->aparts[first - 1].what == what; first--) {
    const toft_apart *gone = &w->aparts[first - 1];
    w->tags[gone->tag].apart -= gone->bytes;
    w->apart_bytes -= gone->bytes;
  }
  memmove(w->aparts + first, w->aparts + end, (w->apart_count - end) * sizeof *w->aparts);
  w->apart_count -= end - first;
}

/* All that lies apart already is nobody's. 0: no memory. */
static int toft_apart_all(toft_state *a) {
  toft_watch *w = a->watch;
  for (const toft_blk *b = a->newest; b != NULL; b = b->next) {
    if (b->kind != TOFT_BLOCK_ONEOFF) continue;
    if (!toft_aparts_room(w, 1)) return 0;
    toft_apart_note(w, b, 0, b->charge);
  }
  for (const toft_node *n = a->cleanups; n != NULL; n = n->older) {
    const toft_state *donor = toft_adopted_by(n);
    if (donor == NULL) continue;
    if (!toft_aparts_room(w, 1)) return 0;
    toft_apart_note(w, donor, 0, donor->live);
  }
  return 1;
}

/* ---- hooks of the rest ---- */

/* Part of toft_aim: how far the inline path may go. */
static TOFT_COLD size_t toft_aim_watch(toft_state *a, size_t room, uintptr_t *watched) {
  toft_watch *w = a->watch;
  uint64_t most = room;
  if (w->metered) {
    toft_settle_tags(a);
    if ((a->state & TOFT_CLAIMED) && !w->claimed) {
      w->claimed = 1;
      w->claim_tag = w->tag;
    }
    size_t tag = toft_charged_tag(a);
    uint64_t live = toft_live_of_tag(w, tag), budget = w->tags[tag].budget;
    if (budget != UINT64_MAX && most > (budget < live ? 0 : budget - live)) most = budget < live ? 0 : budget - live;
  }
  if (w->period != 0) { /* the allocation that passes the next sample is seen */
    uint64_t ahead = w->next_sample > a->allocated ? w->next_sample - a->allocated : 0;
    if (most > ahead) most = ahead;
  }
  if (!w->soft_passed) {
    uint64_t ahead = w->soft > a->live ? w->soft - a->live : 0;
    if (most > ahead) most = ahead;
  }
  *watched |= w->metered || w->period != 0;
  return (size_t)(most & ~(uint64_t)7);
}

static TOFT_COLD int toft_tag_affords(toft_state *a, size_t charge) {
  toft_watch *w = a->watch;
  size_t tag = w->metered ? toft_charged_tag(a) : 0;
  uint64_t budget = w->tags[tag].budget;
  if (!w->metered || budget == UINT64_MAX) return 1;
  toft_cut_tags(a);
  uint64_t live = toft_live_of_tag(w, tag);
  if ((a->state & TOFT_CLAIMED) && w->claim_tag == tag) live += (uint64_t)(a->claim_limit - a->head.cursor);
  return live <= budget && charge <= budget - live;
}

/* The range's bytes are back in live. */
static void toft_range_given(toft_state *a) {
  toft_settle_tags(a);
  if (a->watch != NULL) a->watch->claimed = 0;
}

/* Nothing is live any more. */
static void toft_round_over(toft_state *a) {
  toft_watch *w = a->watch;
  if (w == NULL) return;
  for (size_t i = 0; i < w->tag_count; i++) w->tags[i].apart = 0;
  w->apart_count = 0;
  w->apart_bytes = 0;
  w->soft_passed = 0;
}

static size_t toft_zoned_size(size_t size, size_t align); /* debug_ops.c */

/* A request was refused: was it for the budget, and is that higher now? */
static TOFT_COLD int toft_ask_for(toft_state *a, size_t size, size_t align) {
  toft_watch *w = a->watch;
  uint64_t held = a->state & TOFT_CLAIMED ? (uint64_t)(a->claim_limit - a->head.cursor) : 0;
  size_t charge = TOFT_ROUND8(size), pad = align > 8 ? align : 0;
  if (a->state & TOFT_IS_CHECKED) {
    charge = toft_zoned_size(size, align);
    pad = align + 8; /* zones are aligned to 16 */
  }
  uint64_t budget = a->budget, need = (uint64_t)charge + pad;
  if (budget == UINT64_MAX || a->live + held + need <= budget || !toft_tag_affords(a, charge)) return 0;
  uint32_t was = toft_call_out(a);
  uint64_t answer = w->ask(w->ask_arg, &a->head, a->live, budget, size);
  toft_call_back(a, was);
  if (answer <= budget) return 0;
  a->budget = answer;
  return 1;
}

static int toft_budget_raised(toft_state *a, size_t size, size_t align) {
  return (a->state & TOFT_WATCHED) && a->watch->ask != NULL && toft_ask_for(a, size, align);
}

/* Part of each op by which live grows. */
static void toft_tell_over(toft_state *a) {
  if (!(a->state & TOFT_WATCHED)) return;
  toft_watch *w = a->watch;
  if (w->soft_passed || a->live <= w->soft) return;
  w->soft_passed = 1;
  toft_bump(a); /* the next reset is a long one, which forgets it */
  if (w->over == NULL) return;
  uint32_t was = toft_call_out(a);
  w->over(w->over_arg, &a->head, a->live, w->soft);
  toft_call_back(a, was);
}

/* ---- switches ---- */

static int toft_meter(toft_state *a, int on) {
  toft_watch *w = toft_watched(a);
  if (w == NULL) return TOFT_ENOMEM;
  if (on == w->metered) return TOFT_OK;
  toft_settle_tags(a);
  for (size_t i = 0; i < w->tag_count; i++) w->tags[i].closed = w->tags[i].apart = 0;
  w->cut_count = w->apart_count = w->depth = w->lost = 0;
  w->apart_bytes = 0;
  w->tag = 0;
  w->metered = 0;
  if (on) {
    if (!toft_cuts_room(w, 4) || !toft_apart_all(a)) {
      for (size_t i = 0; i < w->tag_count; i++) w->tags[i].apart = 0;
      return TOFT_ENOMEM;
    }
    w->metered = 1;
    w->counted = a->allocated;
    toft_cut_at(w, 0, 0);
    w->in_line = a->live - w->apart_bytes;
  }
  toft_switched(a);
  return TOFT_OK;
}

/* What ops->set does for a tag. */
static int toft_set_tag_here(toft_state *a, uint64_t number, const char *name, size_t length) {
  if ((a->state & TOFT_CLAIMED) && (a->watch == NULL || !a->watch->metered))
    return TOFT_EBUSY; /* whose is the range? */
  int was = a->watch != NULL && a->watch->metered;
  if (toft_meter(a, 1) != TOFT_OK) return TOFT_ENOMEM;
  if (length != 0 && name[0] == '/') name++, length--;
  size_t tag = toft_tag_of(a->watch, NULL, name, length, &number);
  if (tag != SIZE_MAX && toft_change_tag(a, tag)) return TOFT_OK;
  (void)toft_meter(a, was); /* switching off takes no memory */
  return TOFT_ENOMEM;
}

#endif
