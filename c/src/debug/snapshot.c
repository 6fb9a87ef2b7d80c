/* The state of an arena as JSON (docs/snapshot.md), written through a callback without allocating.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_SNAPSHOT_C
#define TOFT_DEBUG_SNAPSHOT_C

#include "../core/blocks.c"
#include "../core/ops.c"
#include "accounting.c"
#include "accounting_api.c"
#include "json.c"
#include "modules.c"
#include "symbolize.c"

typedef struct toft_snapshot_writer {
  toft_json json;
  toft_symbolize_fn *symbolizer;
  void *symbolizer_arg;
  /* Finds the file and line of a `site`; NULL: sites have no names. */
  int (*place)(uintptr_t site, char *file, size_t size, unsigned *line);
} toft_snapshot_writer;

/* `none` becomes null. */
static TOFT_RARE void toft_json_optional(toft_json *j, const char *key, uint64_t n, uint64_t none) {
  toft_json_key(j, key);
  if (n == none)
    toft_json_raw(j, "null");
  else
    toft_json_digits(j, n, 10);
}

/* ---- elements ---- */

static TOFT_RARE void toft_json_stats(toft_json *j, const toft_stats *s) {
  toft_json_key(j, "stats");
  toft_json_open(j, "{");
  toft_json_number(j, "live", s->live);
  toft_json_number(j, "allocated", s->allocated);
  toft_json_number(j, "peak", s->peak);
  toft_json_optional(j, "budget", s->budget, UINT64_MAX);
  toft_json_number(j, "reserved", s->reserved);
  toft_json_number(j, "wasted", s->wasted);
  toft_json_number(j, "blocks", s->blocks);
  toft_json_number(j, "source_calls", s->source_calls);
  toft_json_close(j, "}");
}

static TOFT_RARE int toft_json_tag(void *arg, const toft_tag_report *t) {
  toft_json *j = (toft_json *)arg;
  toft_json_next(j);
  toft_json_open(j, "{");
  toft_json_text(j, "name", t->name);
  if (t->number != NULL) {
    toft_json_number(j, "number", *t->number);
  } else {
    toft_json_key(j, "number");
    toft_json_raw(j, "null");
  }
  toft_json_number(j, "live", t->live);
  toft_json_number(j, "allocated", t->allocated);
  toft_json_optional(j, "budget", t->budget, UINT64_MAX);
  toft_json_close(j, "}");
  return j->code;
}

static TOFT_RARE int toft_json_phase(void *arg, const toft_phase_report *p) {
  toft_json *j = (toft_json *)arg;
  toft_json_next(j);
  toft_json_open(j, "{");
  toft_json_text(j, "name", p->name);
  toft_json_number(j, "entries", p->entries);
  toft_json_number(j, "allocated", p->allocated);
  toft_json_signed(j, "kept", p->kept);
  toft_json_close(j, "}");
  return j->code;
}

/* Members that the symbolizer does not set are 0. */
static int toft_snapshot_symbol(const toft_snapshot_writer *w, const void *address, toft_symbol *s) {
  memset(s, 0, sizeof *s);
  if (w->symbolizer != NULL && w->symbolizer(w->symbolizer_arg, address, s)) return 1;
  memset(s, 0, sizeof *s);
  return 0;
}

static TOFT_RARE void toft_json_call(toft_snapshot_writer *w, const void *address) {
  toft_symbol s;
  (void)toft_snapshot_symbol(w, address, &s);
  toft_json_frame(&w->json, address, &s);
}

static TOFT_RARE int toft_json_site(void *arg, const toft_site_report *r) {
  toft_snapshot_writer *writer = (toft_snapshot_writer *)arg;
  toft_json *j = &writer->json;
  toft_symbol s;
  char file[512];
  if (r->depth == 0 || !toft_snapshot_symbol(writer, r->stack[0], &s)) s.file = NULL;
  if (writer->place != NULL && writer->place(r->site, file, sizeof file, &s.line)) s.file = file;
  toft_json_next(j);
  toft_json_open(j, "{");
  toft_json_key(j, "site");
  toft_json_open(j, "{");
  toft_json_text(j, "file", s.file != NULL ? s.file : "");
  toft_json_number(j, "line", s.file != NULL ? s.line : 0);
  toft_json_number(j, "column", 0);
  toft_json_number(j, "number", r->site);
  toft_json_close(j, "}");
  toft_json_text(j, "tag", r->tag);
  toft_json_number(j, "count", r->count);
  toft_json_number(j, "bytes", r->bytes);
  toft_json_key(j, "stack");
  toft_json_open(j, "[");
  for (size_t i = 0; i < r->depth; i++) toft_json_call(writer, r->stack[i]);
  toft_json_close(j, "]");
  toft_json_close(j, "}");
  return j->code;
}

static TOFT_RARE void toft_json_budget(toft_json *j, const toft_budget_entry *e) {
  toft_json_next(j);
  toft_json_open(j, "{");
  toft_json_number(j, "id", e->id);
  toft_json_optional(j, "parent", e->parent, 0);
  toft_json_text(j, "name", e->name);
  toft_json_optional(j, "limit", e->stats.limit, SIZE_MAX);
  toft_json_number(j, "reserved", e->stats.reserved);
  toft_json_number(j, "peak", e->stats.peak);
  toft_json_number(j, "refusals", e->stats.refusals);
  if (e->counts_live) {
    toft_json_key(j, "live");
    toft_json_open(j, "{");
    toft_json_optional(j, "limit", e->live.limit, SIZE_MAX);
    toft_json_number(j, "live", e->live.live);
    toft_json_number(j, "peak", e->live.peak);
    toft_json_number(j, "parked", e->live.parked);
    toft_json_number(j, "refusals", e->live.refusals);
    toft_json_close(j, "}");
  }
  toft_json_close(j, "}");
}

/* The budgets of the tree of `source`, or of the process if it is NULL. No lock is held while they are written. */
static TOFT_RARE void toft_json_budgets(toft_json *j, const toft_source *source) {
  const toft_budget_calls *calls = TOFT_LOAD_POINTER(const toft_budget_calls, &toft_budgets);
  if (source != NULL) calls = toft_calls_of(&toft_budgets, source);
  if (calls == NULL) return;
  toft_budget_entry some[16];
  size_t most = sizeof some / sizeof *some, count = most;
  toft_json_key(j, "budgets");
  toft_json_open(j, "[");
  for (uint64_t id = 0; count == most; id = some[most - 1].id) {
    count = calls->list(source, id, some, most);
    for (size_t i = 0; i < count; i++) toft_json_budget(j, &some[i]);
  }
  toft_json_close(j, "]");
}

static void toft_json_begin(toft_json *j) {
  toft_json_open(j, "{");
  toft_json_number(j, "version", 1);
}

/* The rest of the object; w == NULL: nothing is instrumented. */
static TOFT_RARE void toft_json_report(toft_snapshot_writer *writer, const toft_stats *s, const toft_instruments *w) {
  toft_json *j = &writer->json;
  toft_json_stats(j, s);
  toft_json_key(j, "tags");
  toft_json_open(j, "[");
  if (w != NULL) (void)toft_each_tag(w, toft_json_tag, j);
  toft_json_close(j, "]");
  toft_json_key(j, "phases");
  toft_json_open(j, "[");
  if (w != NULL) (void)toft_each_phase(w, toft_json_phase, j);
  toft_json_close(j, "]");
  toft_json_key(j, "sites");
  toft_json_open(j, "[");
  if (w != NULL) (void)toft_each_site(w, toft_json_site, writer);
  toft_json_close(j, "]");
  if (w != NULL && w->site_count != 0) toft_json_modules(j);
  toft_json_close(j, "}");
}

/* ---- the calls ---- */

#define TOFT_SNAPSHOT_KNOWN (uint32_t)(TOFT_SNAPSHOT_CLEAR | TOFT_SNAPSHOT_DWARF | TOFT_SNAPSHOT_ADDRESSES)

/* Copies the options; an older caller's structure is shorter, and the rest keeps its defaults. 0: they are invalid. */
static int toft_snapshot_read(toft_snapshot_options *o, const toft_snapshot_options *given) {
  if (given == NULL) return 1;
  if (given->size < 2 * sizeof(void *)) return 0;
  memcpy(o, given, toft_min(given->size, sizeof *o));
  o->size = sizeof *o;
  return (o->flags & ~TOFT_SNAPSHOT_KNOWN) == 0;
}

int toft_snapshot(toft_arena *head, const toft_snapshot_options *given, toft_write_fn *write, void *arg) {
  toft_snapshot_options o = TOFT_SNAPSHOT_OPTIONS;
  if (!toft_snapshot_read(&o, given)) return TOFT_EARG;
  toft_snapshot_writer w;
  toft_dwarf dwarf;
  int named = (o.flags & TOFT_SNAPSHOT_DWARF) && o.symbolizer == NULL && toft_dwarf_open(&dwarf);
  memset(&w, 0, sizeof w);
  w.json = toft_json_to(write, arg);
  w.symbolizer = o.symbolizer != NULL ? o.symbolizer : named ? toft_dwarf_symbolize : toft_symbolize;
  w.symbolizer_arg = named ? &dwarf : o.symbolizer_arg;
  if (o.flags & TOFT_SNAPSHOT_ADDRESSES) w.symbolizer = NULL;
  /* The arena is busy during the whole snapshot, so that write cannot change it. */
  toft_state *a = toft_observed_state(head);
  uint32_t was_busy = 0;
  if (a != NULL) {
    toft_sync_in(a);
    toft_sync_tags(a);
    was_busy = toft_begin_callback(a);
  }
  toft_stats stats = toft_get_stats(head);
  toft_json_begin(&w.json);
  if (a != NULL && a->source != NULL) toft_json_budgets(&w.json, a->source);
  toft_json_report(&w, &stats, a != NULL ? a->instruments : NULL);
  toft_json_flush(&w.json);
  if (a != NULL) {
    toft_end_callback(a, was_busy);
    toft_set_limit(a);
  }
  if (named) toft_dwarf_close(&dwarf);
  if (w.json.code == 0 && (o.flags & TOFT_SNAPSHOT_CLEAR) && a != NULL) w.json.code = toft_clear_report(head);
  return w.json.code;
}

typedef struct toft_text_sink {
  char *text;
  size_t size, length;
} toft_text_sink;

static int toft_text_write(void *arg, const char *bytes, size_t size) {
  toft_text_sink *t = (toft_text_sink *)arg;
  if (t->length < t->size) memcpy(t->text + t->length, bytes, toft_min(size, t->size - t->length));
  t->length += size;
  return 0;
}

TOFT_RARE size_t toft_snapshot_text(toft_arena *a, const toft_snapshot_options *given, char *text, size_t size) {
  toft_text_sink t = {text, size, 0};
  toft_snapshot_options o = TOFT_SNAPSHOT_OPTIONS;
  if (!toft_snapshot_read(&o, given)) return 0;
  uint32_t clear = o.flags & TOFT_SNAPSHOT_CLEAR;
  o.flags &= ~clear;
  (void)toft_snapshot(a, &o, toft_text_write, &t);
  if (size != 0) text[toft_min(t.length, size - 1)] = 0;
  if (clear && t.length < size) (void)toft_clear_report(a);
  return t.length;
}

#endif
