/* What the environment meters in every arena of the process, and the profile that the process writes: TOFT_METERED,
 * TOFT_SAMPLING, TOFT_BUDGET, TOFT_PROFILE, TOFT_PROFILE_SIGNAL.
 *
 * A profile does not read arenas, which belong to their threads. Each slow call copies the arena's numbers to a record,
 * under the record's lock, and a profile adds the records up. The limit of each arena is lowered so that a slow call
 * happens at least once in TOFT_PROFILE_LAG bytes. Samples and phases are added to the totals of the process as they
 * are made, tags and statistics when the arena is released.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_PROCESS_PROFILE_C
#define TOFT_DEBUG_PROCESS_PROFILE_C

#include "../platform/lifecycle.h"
#include "../platform/os.c"
#include "../platform/request.c"
#include "accounting.c"
#include "accounting_api.c"
#include "debug_records.c"
#include "reports.c"
#include "sampling.c"
#include "snapshot.c"

static struct {
  int metered;
  uint64_t period, budget; /* 0; UINT64_MAX: none */
  char *path;              /* of the profile; NULL: none */
  size_t signal;           /* that requests a profile; 0: none, or the program handles it. Atomic */
} toft_process_meters;     /* written before toft_process_switch, which is read with acquire order before it */

/* An arena in the profile: its numbers after its last slow call. */
struct toft_profiled {
  toft_profiled *next, **link; /* link points to it. With toft_profile_lock */
  toft_state *arena;
  int on_heap;                      /* so its memory lasts until its release */
  uint64_t allocated, source_calls; /* of earlier leases */
  toft_lock lock;                   /* protects the rest */
  toft_stats stats;
  toft_tag_entry *tags; /* copies, with the live bytes in `detached` */
  size_t tag_count, tag_capacity;
  size_t counted;   /* bytes in toft_profile_live */
  uint64_t walk_in; /* calls until the blocks are counted again, which takes a step for each */
};

static toft_lock toft_profile_file_lock; /* held while a profile is written; taken before the next, and the findings' */
/* Protects the list and the totals. A record's lock is taken after it; no other lock is taken with either. */
static toft_lock toft_profile_lock;
static toft_profiled *toft_profiled_arenas;
static toft_instruments toft_totals; /* sites and phases of all arenas, tags of those that were released */
static toft_stats toft_totals_stats; /* of those that were released */
static uint64_t toft_released_count;

/* ---- live bytes of the process, for their peak ---- */

#define TOFT_PROFILE_DRIFT 4096                     /* a smaller change of an arena's live bytes is not counted yet */
static size_t toft_profile_live, toft_profile_peak; /* atomic */

static void toft_count_live(toft_profiled *p, size_t live, size_t drift) {
  size_t change = live - p->counted;
  if (change + drift <= 2 * drift) return;
  p->counted = live;
  size_t now = TOFT_ADD(&toft_profile_live, change), peak = TOFT_LOAD(&toft_profile_peak);
  while (now > peak && !TOFT_CAS_RELAXED(&toft_profile_peak, &peak, now)) continue;
}

/* ---- sums of arenas: instruments without cuts, with the live bytes of a tag in `detached` ---- */

/* Without memory for a new tag its bytes are missing. */
static void toft_sum_tags(toft_instruments *to, const toft_tag_entry *tags, size_t count, int live) {
  for (size_t i = 0; i < count; i++) {
    const toft_tag_entry *from = &tags[i];
    size_t tag = toft_tag_of(to, NULL, from->name, from->length, from->numbered ? &from->number : NULL);
    if (tag == SIZE_MAX) continue;
    to->tags[tag].allocated += from->allocated;
    if (live) to->tags[tag].detached += from->detached;
  }
}

static void toft_sum_phase(toft_instruments *to, const char *name, uint64_t entries, uint64_t allocated, int64_t kept) {
  toft_phase_entry *e = toft_phase_named(to, name);
  if (e == NULL) return;
  e->entries += entries;
  e->allocated += allocated;
  e->kept += kept;
}

static void toft_sum_site(toft_instruments *to, const toft_tag_entry *tag, void *const *stack, size_t depth,
                          uintptr_t site, double count, double bytes) {
  size_t found = toft_tag_of(to, NULL, tag->name, tag->length, tag->numbered ? &tag->number : NULL);
  to->tag = found != SIZE_MAX ? found : 0;
  toft_sampled_site *s = found != SIZE_MAX ? toft_site_of(to, stack, depth, site) : NULL;
  *(s != NULL ? &s->count : &to->unattributed_count) += count;
  *(s != NULL ? &s->bytes : &to->unattributed_bytes) += bytes;
}

/* ---- called on the arena's thread ---- */

static void toft_profile_update(toft_state *a) {
  const toft_instruments *w = a->instruments;
  toft_profiled *p = w->profiled;
  size_t count = w->metered ? w->tag_count : 0;
  toft_lock_take(&p->lock);
  if (p->walk_in-- == 0) {
    memset(&p->stats, 0, sizeof p->stats);
    toft_add_observed_stats(a, &p->stats);
    p->stats.source_calls -= p->source_calls;
    p->walk_in = p->stats.blocks / 8;
  }
  p->stats.live = a->live;
  p->stats.allocated = a->allocated - p->allocated;
  p->stats.peak = a->peak;
  toft_tag_entry *tags = (toft_tag_entry *)toft_grow_list(p->tags, &p->tag_capacity, count, sizeof *tags);
  if (tags != NULL) p->tags = tags;
  for (p->tag_count = 0; p->tag_count < count && tags != NULL; p->tag_count++) {
    tags[p->tag_count] = w->tags[p->tag_count];
    tags[p->tag_count].detached = toft_live_of_tag(w, p->tag_count);
  }
  TOFT_UNLOCK(&p->lock);
  toft_count_live(p, (size_t)a->live, TOFT_PROFILE_DRIFT);
  toft_call_site_hint = 0; /* it was for this call */
  toft_serve_request();
}

static void toft_profile_sample(const toft_instruments *w, void *const *stack, size_t depth, uintptr_t site,
                                double count, double bytes) {
  if (site == 0) site = toft_call_site_hint; /* Go and Julia name their sites by it */
  toft_lock_take(&toft_profile_lock);
  toft_sum_site(&toft_totals, &w->tags[w->tag], stack, depth, site, count, bytes);
  TOFT_UNLOCK(&toft_profile_lock);
}

static void toft_profile_phase(const char *name, uint64_t allocated, int64_t kept) {
  toft_lock_take(&toft_profile_lock);
  toft_sum_phase(&toft_totals, name, 1, allocated, kept);
  TOFT_UNLOCK(&toft_profile_lock);
}

static TOFT_RARE void toft_profile_add(toft_state *a) {
  toft_profiled *p = (toft_profiled *)calloc(1, sizeof *p);
  if (p == NULL) return;
  p->arena = a;
  p->on_heap = (a->state & TOFT_CACHEABLE) != 0;
  p->allocated = a->allocated;
  p->source_calls = a->allocated != 0 ? a->source_calls : 0;
  a->instruments->profiled = p;
  toft_lock_take(&toft_profile_lock);
  p->next = toft_profiled_arenas;
  p->link = &toft_profiled_arenas;
  if (p->next != NULL) p->next->link = &p->next;
  toft_profiled_arenas = p;
  TOFT_UNLOCK(&toft_profile_lock);
}

static void toft_profile_remove(toft_state *a) {
  toft_instruments *w = a->instruments;
  toft_profiled *p = w != NULL ? w->profiled : NULL;
  if (p == NULL) return;
  toft_sync_tags(a);
  toft_lock_take(&toft_profile_lock);
  *p->link = p->next;
  if (p->next != NULL) p->next->link = p->link;
  toft_released_count += a->allocated != p->allocated;
  toft_totals_stats.allocated += a->allocated - p->allocated;
  toft_totals_stats.source_calls += a->source_calls - p->source_calls;
  if (w->metered) toft_sum_tags(&toft_totals, w->tags, w->tag_count, 0);
  TOFT_UNLOCK(&toft_profile_lock);
  toft_count_live(p, 0, 0);
  free(p->tags);
  free(p);
  w->profiled = NULL;
}

/* ---- settings ---- */

static int toft_read_process_meters(int *reports) {
  const char *path = toft_os_env("TOFT_PROFILE"), *on = toft_os_env("TOFT_PROFILE_SIGNAL");
  size_t budget = toft_os_env_number("TOFT_BUDGET", 0), number = toft_os_env_number("TOFT_PROFILE_SIGNAL", 0);
  *reports = budget != 0;
  toft_process_meters.metered = toft_is_on(toft_os_env("TOFT_METERED"));
  toft_process_meters.period = toft_os_env_number("TOFT_SAMPLING", 0);
  toft_process_meters.budget = budget != 0 ? budget : UINT64_MAX;
  if (path != NULL && *path != 0) toft_process_meters.path = toft_copy_name(path, strlen(path), NULL, 0);
  if (toft_process_meters.path != NULL && on != NULL)
    toft_process_meters.signal = number == 0 ? (size_t)toft_signal_named(on) : number < 1024 ? number : 0;
  return toft_process_meters.metered || toft_process_meters.period != 0 || budget != 0 ||
         toft_process_meters.path != NULL;
}

static void toft_report_over_budget(void *arg, toft_arena *head, uint64_t live, uint64_t budget) {
  toft_state *a = toft_observed_state(head);
  toft_report f;
  (void)arg;
  memset(&f, 0, sizeof f);
  f.kind = TOFT_FOUND_OVER_BUDGET;
  f.size = (size_t)live;
  f.claimed_size = (size_t)budget;
  f.detected = toft_call_begun("alloc", a->instruments->caller);
  if (a->checks != NULL) {
    f.detected = a->checks->call;
    toft_keep_report(a->checks, &f);
  }
  f.arena = head;
  toft_publish_report(&f);
}

static TOFT_RARE void toft_begin_process_meters(toft_state *a) {
  toft_instruments *w = toft_instruments_get(a);
  if (w == NULL) return;
  (void)TOFT_LOAD_ACQUIRE(&toft_process_switch);
  if (toft_process_meters.metered) (void)toft_set_metering(a, 1);
  if (toft_process_meters.period != 0) (void)toft_apply_sampling(a, toft_process_meters.period);
  w->soft_budget = toft_process_meters.budget;
  w->on_soft_budget = toft_report_over_budget;
  if (toft_process_meters.path != NULL) toft_profile_add(a);
  toft_update_instrumented(a);
}

/* ---- the profile ---- */

static const char toft_profile_copy_id = 0; /* each copy of the library in a process has another address */

/* The path with %p replaced by the process's id, and %l by a name of this copy of the library. */
static TOFT_RARE void toft_put_profile_path(toft_text_writer *t, const char *s) {
  for (; *s != 0; s++) {
    char one[2] = {*s, 0};
    if (s[0] == '%' && s[1] == 'p') {
      toft_put_number(t, toft_os_process_id(), 10);
      s++;
    } else if (s[0] == '%' && s[1] == 'l') {
      toft_put_text(t, "c-");
      toft_put_number(t, (uintptr_t)&toft_profile_copy_id & 0xffffff, 10);
      s++;
    } else {
      toft_put_text(t, one);
    }
  }
}

/* Adds up all records and the totals. */
static void toft_profile_collect(toft_instruments *sum, toft_stats *stats, uint64_t *arenas, uint64_t *released) {
  memset(sum, 0, sizeof *sum);
  memset(stats, 0, sizeof *stats);
  if (!toft_lock_take_at_unload(&toft_profile_lock)) return;
  *stats = toft_totals_stats;
  *released = toft_released_count;
  sum->metered = toft_process_meters.metered;
  (void)toft_tag_of(sum, NULL, "", 0, NULL); /* the first is what is under no tag */
  toft_sum_tags(sum, toft_totals.tags, toft_totals.tag_count, 0);
  for (toft_profiled *p = toft_profiled_arenas; p != NULL; p = p->next) {
    if (!toft_lock_take_at_unload(&p->lock)) continue;
    ++*arenas;
    stats->live += p->stats.live;
    stats->allocated += p->stats.allocated;
    stats->reserved += p->stats.reserved;
    stats->wasted += p->stats.wasted;
    stats->blocks += p->stats.blocks;
    stats->source_calls += p->stats.source_calls;
    sum->metered |= p->tag_count != 0;
    toft_sum_tags(sum, p->tags, p->tag_count, 1);
    TOFT_UNLOCK(&p->lock);
  }
  for (size_t i = 0; i < toft_totals.phase_count; i++) {
    const toft_phase_entry *e = &toft_totals.phases[i];
    toft_sum_phase(sum, e->name, e->entries, e->allocated, e->kept);
  }
  for (size_t i = 0; i < TOFT_SITE_LISTS && toft_totals.sites != NULL; i++)
    for (toft_sampled_site *s = toft_totals.sites[i]; s != NULL; s = s->next)
      toft_sum_site(sum, &toft_totals.tags[s->tag], toft_site_stack(s), s->depth, s->site, s->count, s->bytes);
  sum->unattributed_count += toft_totals.unattributed_count;
  sum->unattributed_bytes += toft_totals.unattributed_bytes;
  TOFT_UNLOCK(&toft_profile_lock);
  stats->peak = TOFT_LOAD(&toft_profile_peak);
  if (stats->peak < stats->live) stats->peak = stats->live;
  stats->budget = UINT64_MAX;
}

static int toft_file_write(void *file, const char *bytes, size_t size) {
  return fwrite(bytes, 1, size, (FILE *)file) == size ? TOFT_OK : TOFT_EARG;
}

static TOFT_RARE void toft_json_process(toft_json *j, uint64_t arenas, uint64_t released) {
  char executable[1024];
  toft_json_key(j, "process");
  toft_json_open(j, "{");
  toft_json_number(j, "id", toft_os_process_id());
  toft_json_text(j, "library", toft_info.name);
  if (toft_os_executable(executable, sizeof executable)) toft_json_text(j, "executable", executable);
  toft_json_number(j, "arenas", arenas);
  toft_json_number(j, "released", released);
  toft_json_optional(j, "sampling", toft_process_meters.period, 0);
  toft_json_optional(j, "budget", toft_process_meters.budget, UINT64_MAX);
  toft_json_optional(j, "signal", TOFT_LOAD(&toft_process_meters.signal), 0);
  toft_json_close(j, "}");
}

/* Writes a file beside the path, which then gets its name: no reader sees a part of it. */
static int toft_write_profile_alone(void) {
  char path[4096], temporary[4096 + 32];
  toft_text_writer p = {path, path + sizeof path - 1}, t = {temporary, temporary + sizeof temporary - 1};
  toft_instruments sum;
  toft_stats stats;
  uint64_t arenas = 0, released = 0;
  toft_snapshot_writer w;
  toft_dwarf dwarf;
  toft_put_profile_path(&p, toft_process_meters.path);
  toft_put_text(&t, path);
  toft_put_text(&t, ".");
  toft_put_number(&t, toft_os_process_id(), 10);
  FILE *out = toft_os_create(temporary);
  if (out == NULL) return TOFT_EARG;
  toft_profile_collect(&sum, &stats, &arenas, &released);
  int named = sum.site_count != 0 && toft_dwarf_open(&dwarf);
  memset(&w, 0, sizeof w);
  w.json = toft_json_to(toft_file_write, out);
  w.symbolizer = named ? toft_dwarf_symbolize : toft_symbolize;
  w.symbolizer_arg = &dwarf;
  w.place = toft_place_of_site;
  toft_json_begin(&w.json);
  toft_json_process(&w.json, arenas, released);
  toft_json_budgets(&w.json, NULL);
  toft_json_report(&w, &stats, &sum);
  toft_json_raw(&w.json, "\n");
  toft_json_flush(&w.json);
  if (named) toft_dwarf_close(&dwarf);
  toft_instruments_clear(&sum);
  if (fclose(out) != 0) w.json.code = TOFT_EARG;
  if (w.json.code == TOFT_OK && toft_os_rename(temporary, path)) return TOFT_OK;
  (void)remove(temporary);
  return TOFT_EARG;
}

int toft_write_profile(void) {
  if (!(toft_process_switches() & TOFT_PROCESS_METERS)) return TOFT_ENOSYS;
  (void)TOFT_LOAD_ACQUIRE(&toft_process_switch);
  if (toft_process_meters.path == NULL) return TOFT_ENOSYS;
  if (!toft_lock_take_at_unload(&toft_profile_file_lock)) return TOFT_EBUSY;
  toft_size_signal held;
  toft_hold_size_signal(&held);
  int code = toft_write_profile_alone();
  toft_drop_size_signal(&held);
  TOFT_UNLOCK(&toft_profile_file_lock);
  return code;
}

static void toft_profile_on_request(void) { (void)toft_write_profile(); }

static void toft_start_process_meters(void) {
  if (toft_process_meters.path == NULL) return;
  toft_arm_fork();
  if (!toft_request_begin((int)toft_process_meters.signal, toft_profile_on_request))
    TOFT_STORE(&toft_process_meters.signal, 0);
}

/* With every lock that a fork takes: 0 before, 1 in the parent, 2 in the child. */
static void toft_profile_at_fork(int phase) {
  if (phase == 0) toft_lock_take(&toft_profile_file_lock);
  if (phase == 0) toft_lock_take(&toft_profile_lock);
  for (toft_profiled *p = toft_profiled_arenas; p != NULL; p = p->next) {
    if (phase == 0)
      toft_lock_take(&p->lock);
    else
      TOFT_UNLOCK(&p->lock);
  }
  if (phase == 2) toft_request_after_fork();
  if (phase != 0) TOFT_UNLOCK(&toft_profile_lock);
  if (phase != 0) TOFT_UNLOCK(&toft_profile_file_lock);
}

/* Brings the records up to date. Precondition: no other thread runs. */
static void toft_profile_sync(void) {
  for (toft_profiled *p = toft_profiled_arenas; p != NULL; p = p->next) {
    toft_state *a = p->arena;
    if (!p->on_heap || (a->state & TOFT_BUSY)) continue;
    int sealed = a->head.limit == a->head.cursor;
    toft_sync_in(a);
    p->walk_in = 0;
    toft_set_limit(a);
    if (sealed) toft_seal(a); /* it may be an idle lease */
  }
}

/* Called when the library is unloaded. */
static void toft_profile_end(void) {
  if (toft_process_meters.path == NULL) return;
  toft_request_end();
  if (toft_os_has_one_thread()) toft_profile_sync();
  (void)toft_write_profile();
  free(toft_process_meters.path);
  toft_process_meters.path = NULL;
  toft_instruments_clear(&toft_totals);
}

#endif
