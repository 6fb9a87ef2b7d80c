/* The public calls of toft/meter.h.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_ACCOUNTING_API_C
#define TOFT_DEBUG_ACCOUNTING_API_C

#include "../core/blocks.c"
#include "../core/ops.c"
#include "accounting.c"
#include "debug_records.c"
#include "sampling.c"

static void toft_end_call(toft_state *a) {
  toft_set_limit(a);
  toft_debug_end_call(a);
}

/* Begins a change of settings. NULL with *code set: another provider, in a region, refused, or no memory; otherwise
 * toft_end_setting must follow. */
static TOFT_RARE toft_state *toft_begin_setting(toft_arena *head, const char *op, uintptr_t caller, int *code) {
  toft_state *a = toft_observed_state(head);
  *code = TOFT_ENOSYS;
  if (a == NULL || (a->state & TOFT_IN_REGION)) return NULL;
  *code = TOFT_EBUSY;
  if (!toft_debug_begin_call(a, op, caller)) return NULL;
  toft_sync_in(a);
  *code = a->state & (TOFT_CLAIMED | TOFT_BUSY) ? TOFT_EBUSY : toft_instruments_get(a) == NULL ? TOFT_ENOMEM : TOFT_OK;
  if (*code == TOFT_OK) return a;
  toft_end_call(a);
  return NULL;
}

static TOFT_RARE int toft_end_setting(toft_state *a, int code) {
  if (code == TOFT_OK) {
    toft_next_epoch(a);
    toft_update_instrumented(a);
  }
  toft_end_call(a);
  return code;
}

TOFT_RARE int toft_set_metered(toft_arena *head, int on) {
  int code;
  toft_state *a = toft_begin_setting(head, "set_metered", TOFT_CALLER(), &code);
  return a != NULL ? toft_end_setting(a, toft_set_metering(a, on != 0)) : code;
}

TOFT_RARE int toft_set_soft_budget(toft_arena *head, uint64_t bytes, toft_soft_budget_fn *fn, void *arg) {
  int code;
  toft_state *a = toft_begin_setting(head, "set_soft_budget", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  a->instruments->soft_budget = bytes;
  a->instruments->soft_budget_passed = 0;
  a->instruments->on_soft_budget = fn;
  a->instruments->on_soft_budget_arg = arg;
  return toft_end_setting(a, TOFT_OK);
}

TOFT_RARE int toft_on_refusal(toft_arena *head, toft_refusal_fn *fn, void *arg) {
  int code;
  toft_state *a = toft_begin_setting(head, "on_refusal", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  a->instruments->on_refusal = fn;
  a->instruments->on_refusal_arg = arg;
  return toft_end_setting(a, TOFT_OK);
}

int toft_set_tag_budget(toft_arena *head, const char *path, uint64_t bytes) {
  int code;
  if (path == NULL || !toft_is_name(path, strlen(path))) return TOFT_EARG;
  toft_state *a = toft_begin_setting(head, "set_tag_budget", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  if (path[0] == '/') path++;
  size_t tag = toft_tag_of(a->instruments, NULL, path, strlen(path), NULL);
  if (tag != SIZE_MAX) a->instruments->tags[tag].budget = bytes;
  return toft_end_setting(a, tag != SIZE_MAX ? TOFT_OK : TOFT_ENOMEM);
}

TOFT_RARE int toft_set_sampling_seed(toft_arena *head, uint64_t seed) {
  int code;
  toft_state *a = toft_begin_setting(head, "set_sampling_seed", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  a->instruments->random = toft_mix64(seed + 0x9E3779B97F4A7C15u);
  toft_sample_after(a->instruments, a->allocated);
  return toft_end_setting(a, TOFT_OK);
}

TOFT_RARE int toft_set_unwinder(toft_arena *head, toft_unwind_fn *fn, void *arg) {
  int code;
  toft_state *a = toft_begin_setting(head, "set_unwinder", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  a->instruments->unwinder = fn;
  a->instruments->unwinder_arg = arg;
  return toft_end_setting(a, TOFT_OK);
}

/* ---- tags and phases ---- */

static int toft_push_tag(toft_state *a, const char *name) {
  toft_instruments *w = a->instruments;
  size_t length = name != NULL ? strlen(name) : 0;
  if (w->failed_pushes != 0) return TOFT_ENOMEM;
  if (name == NULL || !toft_is_name(name, length)) return TOFT_EARG;
  if (a->state & TOFT_BUSY) return TOFT_EBUSY;
  size_t *stack = (size_t *)toft_grow_list(w->tag_stack, &w->tag_stack_capacity, w->tag_depth + 1, sizeof *stack);
  if (stack == NULL) return TOFT_ENOMEM;
  w->tag_stack = stack;
  int absolute = name[0] == '/';
  size_t before = w->tag, tag = before; /* "" is the current tag */
  if (length != 0)
    tag = toft_tag_of(w, absolute ? NULL : &w->tags[before], name + absolute, length - (size_t)absolute, NULL);
  if (tag == SIZE_MAX || !toft_change_tag(a, tag)) return TOFT_ENOMEM;
  w->tag_stack[w->tag_depth++] = before;
  return TOFT_OK;
}

/* Begins a call on a metered arena. NULL: with TOFT_OK if nothing is metered, else with an error in *code. */
static toft_state *toft_begin_metered_call(toft_arena *head, const char *op, uintptr_t caller, int *code) {
  toft_state *a = toft_observed_state(head);
  *code = a != NULL ? TOFT_OK : TOFT_ENOSYS;
  if (*code != TOFT_OK) return NULL;
  toft_instruments *w = toft_instruments_of(a);
  if (w == NULL || !w->metered) return NULL;
  *code = TOFT_EBUSY;
  if (!toft_debug_begin_call(a, op, caller)) return NULL;
  toft_sync_in(a);
  return a;
}

int toft_tag_push_slow(toft_arena *head, const char *name) {
  int code;
  toft_state *a = toft_begin_metered_call(head, "tag_push", TOFT_CALLER(), &code);
  if (a == NULL) return code;
  code = toft_push_tag(a, name);
  if (code != TOFT_OK) a->instruments->failed_pushes++;
  toft_end_call(a);
  return code;
}

void toft_tag_pop_slow(toft_arena *head) {
  int code;
  toft_state *a = toft_begin_metered_call(head, "tag_pop", TOFT_CALLER(), &code);
  if (a == NULL) return;
  toft_instruments *w = a->instruments;
  if (w->failed_pushes != 0) {
    w->failed_pushes--;
  } else if (w->tag_depth != 0 && !(a->state & TOFT_BUSY)) {
    toft_sync_tags(a);
    w->tag = w->tag_stack[--w->tag_depth];
    toft_sync_tags(a); /* toft_push_tag reserved the cut */
  }
  toft_end_call(a);
}

toft_phase toft_phase_begin_slow(toft_arena *head, const char *name) {
  int code;
  toft_phase p = {NULL, 0, 0};
  toft_state *a = toft_begin_metered_call(head, "phase_begin", TOFT_CALLER(), &code);
  if (a == NULL) return p;
  p.name = name;
  p.allocated = a->allocated;
  p.live = a->live;
  toft_end_call(a);
  return p;
}

static toft_phase_entry *toft_phase_named(toft_instruments *w, const char *name) {
  for (size_t i = 0; i < w->phase_count; i++)
    if (strcmp(w->phases[i].name, name) == 0) return &w->phases[i];
  toft_phase_entry *phases =
      (toft_phase_entry *)toft_grow_list(w->phases, &w->phase_capacity, w->phase_count + 1, sizeof *phases);
  if (phases == NULL) return NULL;
  w->phases = phases;
  toft_phase_entry *e = &phases[w->phase_count];
  memset(e, 0, sizeof *e);
  e->name = toft_copy_name(name, strlen(name), NULL, 0);
  if (e->name == NULL) return NULL;
  w->phase_count++;
  return e;
}

void toft_phase_end_slow(toft_arena *head, toft_phase *p) {
  int code;
  toft_state *a = toft_begin_metered_call(head, "phase_end", TOFT_CALLER(), &code);
  if (a != NULL) {
    toft_phase_entry *e = toft_phase_named(a->instruments, p->name);
    if (e != NULL) { /* else no memory: the phase is missing from reports */
      e->entries++;
      e->allocated += a->allocated - p->allocated;
      e->kept += (int64_t)(a->live - p->live);
    }
    if (a->instruments->profiled != NULL)
      toft_profile_phase(p->name, a->allocated - p->allocated, (int64_t)(a->live - p->live));
    toft_end_call(a);
  }
  p->name = NULL;
}

/* ---- reports ---- */

/* Begins a report. NULL: with TOFT_OK if there is nothing to report, else with an error in *code. */
static toft_state *toft_begin_report(toft_arena *head, int *code) {
  toft_state *a = toft_observed_state(head);
  *code = a != NULL ? TOFT_OK : TOFT_ENOSYS;
  if (*code != TOFT_OK || toft_instruments_of(a) == NULL) return NULL;
  toft_sync_in(a);
  toft_sync_tags(a);
  return a;
}

static TOFT_RARE int toft_each_tag(const toft_instruments *w, int (*fn)(void *arg, const toft_tag_report *tag),
                                   void *arg) {
  int code = 0;
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
  return code;
}

static TOFT_RARE int toft_each_phase(const toft_instruments *w, int (*fn)(void *arg, const toft_phase_report *phase),
                                     void *arg) {
  int code = 0;
  for (size_t i = 0; i < w->phase_count && code == 0; i++) {
    const toft_phase_entry *e = &w->phases[i];
    toft_phase_report r;
    r.name = e->name;
    r.entries = e->entries;
    r.allocated = e->allocated;
    r.kept = e->kept;
    code = fn(arg, &r);
  }
  return code;
}

static TOFT_RARE int toft_each_site(const toft_instruments *w, int (*fn)(void *arg, const toft_site_report *site),
                                    void *arg) {
  int code = 0;
  toft_site_report r;
  for (size_t i = 0; i < TOFT_SITE_LISTS && w->sites != NULL && code == 0; i++) {
    for (toft_sampled_site *s = w->sites[i]; s != NULL && code == 0; s = s->next) {
      r.site = s->site;
      r.tag = w->tags[s->tag].name;
      r.count = (uint64_t)(s->count + 0.5);
      r.bytes = (uint64_t)(s->bytes + 0.5);
      r.stack = (const void *const *)toft_site_stack(s);
      r.depth = s->depth;
      code = fn(arg, &r);
    }
  }
  if (code == 0 && w->unattributed_count > 0) { /* they count in the totals */
    r.site = 0;
    r.tag = "";
    r.count = (uint64_t)(w->unattributed_count + 0.5);
    r.bytes = (uint64_t)(w->unattributed_bytes + 0.5);
    r.stack = NULL;
    r.depth = 0;
    code = fn(arg, &r);
  }
  return code;
}

/* Defines a call of toft/meter.h: the same for an arena, which is busy while it runs. */
#define TOFT_DEFINE_REPORT(name, each, report)                                         \
  int name(toft_arena *head, int (*fn)(void *arg, const report *element), void *arg) { \
    int code;                                                                          \
    toft_state *a = toft_begin_report(head, &code);                                    \
    if (a == NULL) return code;                                                        \
    uint32_t was_busy = toft_begin_callback(a);                                        \
    code = each(a->instruments, fn, arg);                                              \
    toft_end_callback(a, was_busy);                                                    \
    toft_set_limit(a);                                                                 \
    return code;                                                                       \
  }
TOFT_DEFINE_REPORT(toft_tags, toft_each_tag, toft_tag_report)
TOFT_DEFINE_REPORT(toft_phases, toft_each_phase, toft_phase_report)
TOFT_DEFINE_REPORT(toft_sites, toft_each_site, toft_site_report)

TOFT_RARE int toft_clear_report(toft_arena *head) {
  int code;
  toft_state *a = toft_begin_report(head, &code);
  if (a == NULL) return code;
  if (!toft_debug_begin_call(a, "clear_report", TOFT_CALLER())) {
    toft_set_limit(a);
    return TOFT_EBUSY;
  }
  if (a->state & TOFT_BUSY) {
    code = TOFT_EBUSY;
  } else {
    for (size_t i = 0; i < a->instruments->tag_count; i++) a->instruments->tags[i].allocated = 0;
    toft_clear_phases(a->instruments);
    toft_clear_sites(a->instruments);
  }
  toft_end_call(a);
  return code;
}

#endif
