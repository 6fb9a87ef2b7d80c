/* The calls of toft/meter.h.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_ACCOUNTING_API_C
#define TOFT_DEBUG_ACCOUNTING_API_C

#include "../core/blocks.c"
#include "../core/ops.c"
#include "accounting.c"
#include "debug_records.c"
#include "sampling.c"

static void toft_leave(toft_state *a) {
  toft_aim(a);
  toft_step_out(a);
}

/* The state of an arena of this library that is open, with a watch; or NULL, and why. toft_close_watch is due. */
static toft_state *toft_open_watch(toft_arena *head, const char *by, uintptr_t caller, int *code) {
  toft_state *a = toft_state_of(head);
  *code = TOFT_ENOSYS;
  if (!toft_is_own(head)) return NULL;
  *code = TOFT_EBUSY;
  if (!toft_step_in(a, by, caller)) return NULL;
  toft_enter(a);
  *code = a->state & (TOFT_CLAIMED | TOFT_BUSY) ? TOFT_EBUSY : toft_watched(a) == NULL ? TOFT_ENOMEM : TOFT_OK;
  if (*code == TOFT_OK) return a;
  toft_leave(a);
  return NULL;
}

static int toft_close_watch(toft_state *a, int code) {
  if (code == TOFT_OK) {
    toft_bump(a);
    toft_switched(a);
  }
  toft_leave(a);
  return code;
}

int toft_set_metered(toft_arena *head, int on) {
  int code;
  toft_state *a = toft_open_watch(head, "set_metered", TOFT_CALLER(), &code);
  return a != NULL ? toft_close_watch(a, toft_meter(a, on != 0)) : code;
}

int toft_set_soft_budget(toft_arena *head, uint64_t bytes, toft_over *fn, void *arg) {
  int code;
  toft_state *a = toft_open_watch(head, "set_soft_budget", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  a->watch->soft = bytes;
  a->watch->soft_passed = 0;
  a->watch->over = fn;
  a->watch->over_arg = arg;
  return toft_close_watch(a, TOFT_OK);
}

int toft_on_refusal(toft_arena *head, toft_ask *fn, void *arg) {
  int code;
  toft_state *a = toft_open_watch(head, "on_refusal", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  a->watch->ask = fn;
  a->watch->ask_arg = arg;
  return toft_close_watch(a, TOFT_OK);
}

int toft_set_tag_budget(toft_arena *head, const char *path, uint64_t bytes) {
  int code;
  if (path == NULL || !toft_is_name(path, strlen(path))) return TOFT_EARG;
  toft_state *a = toft_open_watch(head, "set_tag_budget", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  if (path[0] == '/') path++;
  size_t tag = toft_tag_of(a->watch, NULL, path, strlen(path), NULL);
  if (tag != SIZE_MAX) a->watch->tags[tag].budget = bytes;
  return toft_close_watch(a, tag != SIZE_MAX ? TOFT_OK : TOFT_ENOMEM);
}

int toft_set_sampling_seed(toft_arena *head, uint64_t seed) {
  int code;
  toft_state *a = toft_open_watch(head, "set_sampling_seed", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  a->watch->random = toft_scatter(seed + 0x9E3779B97F4A7C15u);
  toft_sample_after(a->watch, a->allocated);
  return toft_close_watch(a, TOFT_OK);
}

int toft_set_unwinder(toft_arena *head, toft_unwinder *fn, void *arg) {
  int code;
  toft_state *a = toft_open_watch(head, "set_unwinder", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  a->watch->unwinder = fn;
  a->watch->unwinder_arg = arg;
  return toft_close_watch(a, TOFT_OK);
}

/* ---- tags and phases ---- */

static int toft_push_tag(toft_state *a, const char *name) {
  toft_watch *w = a->watch;
  size_t length = name != NULL ? strlen(name) : 0;
  if (w->lost != 0) return TOFT_ENOMEM;
  if (name == NULL || !toft_is_name(name, length)) return TOFT_EARG;
  if (a->state & TOFT_BUSY) return TOFT_EBUSY;
  size_t *outer = (size_t *)toft_longer(w->outer, &w->outer_room, w->depth + 1, sizeof *outer);
  if (outer == NULL) return TOFT_ENOMEM;
  w->outer = outer;
  int whole = name[0] == '/';
  size_t before = w->tag, tag = before; /* "" is nothing within it */
  if (length != 0) tag = toft_tag_of(w, whole ? NULL : &w->tags[before], name + whole, length - (size_t)whole, NULL);
  if (tag == SIZE_MAX || !toft_change_tag(a, tag)) return TOFT_ENOMEM;
  w->outer[w->depth++] = before;
  return TOFT_OK;
}

/* A metered arena of this library, entered; or NULL, and why: nothing is metered, or this thread must not. */
static toft_state *toft_enter_metered(toft_arena *head, const char *by, uintptr_t caller, int *code) {
  toft_state *a = toft_state_of(head);
  *code = toft_is_own(head) ? TOFT_OK : TOFT_ENOSYS;
  if (*code != TOFT_OK) return NULL;
  toft_watch *w = toft_watch_of(a);
  if (w == NULL || !w->metered) return NULL;
  *code = TOFT_EBUSY;
  if (!toft_step_in(a, by, caller)) return NULL;
  toft_enter(a);
  return a;
}

int toft_tag_push_watched(toft_arena *head, const char *name) {
  int code;
  toft_state *a = toft_enter_metered(head, "tag_push", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  code = toft_push_tag(a, name);
  if (code != TOFT_OK) a->watch->lost++;
  toft_leave(a);
  return code;
}

void toft_tag_pop_watched(toft_arena *head) {
  int code;
  toft_state *a = toft_enter_metered(head, "tag_pop", TOFT_CALLER(), &code);
  if (a == NULL) return;
  toft_watch *w = a->watch;
  if (w->lost != 0) {
    w->lost--;
  } else if (w->depth != 0 && !(a->state & TOFT_BUSY)) {
    toft_settle_tags(a);
    w->tag = w->outer[--w->depth];
    toft_settle_tags(a); /* the push saw to the room */
  }
  toft_leave(a);
}

toft_phase toft_phase_begin_watched(toft_arena *head, const char *name) {
  int code;
  toft_phase p = {NULL, 0, 0};
  toft_state *a = toft_enter_metered(head, "phase_begin", TOFT_CALLER(), &code);
  if (a == NULL) return p;
  p.name = name;
  p.allocated = a->allocated;
  p.live = a->live;
  toft_leave(a);
  return p;
}

static toft_phase_entry *toft_phase_named(toft_watch *w, const char *name) {
  for (size_t i = 0; i < w->phase_count; i++)
    if (strcmp(w->phases[i].name, name) == 0) return &w->phases[i];
  toft_phase_entry *phases =
      (toft_phase_entry *)toft_longer(w->phases, &w->phase_room, w->phase_count + 1, sizeof *phases);
  if (phases == NULL) return NULL;
  w->phases = phases;
  toft_phase_entry *e = &phases[w->phase_count];
  memset(e, 0, sizeof *e);
  e->name = toft_copy_name(name, strlen(name), NULL, 0);
  if (e->name == NULL) return NULL;
  w->phase_count++;
  return e;
}

void toft_phase_end_watched(toft_arena *head, toft_phase *p) {
  int code;
  toft_state *a = toft_enter_metered(head, "phase_end", TOFT_CALLER(), &code);
  if (a != NULL) {
    toft_phase_entry *e = toft_phase_named(a->watch, p->name);
    if (e != NULL) { /* else there is no memory for it: it is not told */
      e->entries++;
      e->allocated += a->allocated - p->allocated;
      e->kept += (int64_t)(a->live - p->live);
    }
    toft_leave(a);
  }
  p->name = NULL;
}

/* ---- telling ---- */

/* A watched arena of this library, brought up to date, entered. NULL: there is nothing to tell, or `code`. */
static toft_state *toft_enter_report(toft_arena *head, int *code) {
  toft_state *a = toft_state_of(head);
  *code = toft_is_own(head) ? TOFT_OK : TOFT_ENOSYS;
  if (*code != TOFT_OK || toft_watch_of(a) == NULL) return NULL;
  toft_enter(a);
  toft_settle_tags(a);
  return a;
}

int toft_tags(toft_arena *head, int (*fn)(void *arg, const toft_tag_report *tag), void *arg) {
  int code;
  toft_state *a = toft_enter_report(head, &code);
  if (a == NULL) return code;
  const toft_watch *w = a->watch;
  uint32_t was = toft_call_out(a);
  for (size_t i = 0; i < w->tag_count && w->metered && code == 0; i++) {
    const toft_tag_entry *t = &w->tags[i];
    toft_tag_report r;
    r.name = t->name;
    r.number = t->numbered ? &t->number : NULL;
    r.live = toft_live_of_tag(w, i);
    r.allocated = t->allocated;
    r.budget = t->budget;
    code = fn(arg, &r);
  }
  toft_call_back(a, was);
  toft_aim(a);
  return code;
}

int toft_phases(toft_arena *head, int (*fn)(void *arg, const toft_phase_report *phase), void *arg) {
  int code;
  toft_state *a = toft_enter_report(head, &code);
  if (a == NULL) return code;
  const toft_watch *w = a->watch;
  uint32_t was = toft_call_out(a);
  for (size_t i = 0; i < w->phase_count && code == 0; i++) {
    const toft_phase_entry *e = &w->phases[i];
    toft_phase_report r;
    r.name = e->name;
    r.entries = e->entries;
    r.allocated = e->allocated;
    r.kept = e->kept;
    code = fn(arg, &r);
  }
  toft_call_back(a, was);
  toft_aim(a);
  return code;
}

int toft_sites(toft_arena *head, int (*fn)(void *arg, const toft_site_report *site), void *arg) {
  int code;
  toft_state *a = toft_enter_report(head, &code);
  if (a == NULL) return code;
  const toft_watch *w = a->watch;
  uint32_t was = toft_call_out(a);
  toft_site_report r;
  for (size_t i = 0; i < TOFT_SITE_LISTS && w->sites != NULL && code == 0; i++) {
    for (toft_sampled *s = w->sites[i]; s != NULL && code == 0; s = s->next) {
      r.site = s->site;
      r.tag = w->tags[s->tag].name;
      r.count = (uint64_t)(s->count + 0.5);
      r.bytes = (uint64_t)(s->bytes + 0.5);
      r.stack = (const void *const *)toft_site_stack(s);
      r.depth = s->depth;
      code = fn(arg, &r);
    }
  }
  if (code == 0 && w->lost_count > 0) { /* they belong to the sum */
    r.site = 0;
    r.tag = "";
    r.count = (uint64_t)(w->lost_count + 0.5);
    r.bytes = (uint64_t)(w->lost_bytes + 0.5);
    r.stack = NULL;
    r.depth = 0;
    code = fn(arg, &r);
  }
  toft_call_back(a, was);
  toft_aim(a);
  return code;
}

int toft_clear_report(toft_arena *head) {
  int code;
  toft_state *a = toft_enter_report(head, &code);
  if (a == NULL) return code;
  if (!toft_step_in(a, "clear_report", TOFT_CALLER())) {
    toft_aim(a);
    return TOFT_EBUSY;
  }
  if (a->state & TOFT_BUSY) {
    code = TOFT_EBUSY;
  } else {
    for (size_t i = 0; i < a->watch->tag_count; i++) a->watch->tags[i].allocated = 0;
    toft_clear_phases(a->watch);
    toft_clear_sites(a->watch);
  }
  toft_leave(a);
  return code;
}

#endif
