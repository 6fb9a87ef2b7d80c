/* The state of an arena as JSON (docs/snapshot.md), written through a callback without allocating.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_SNAPSHOT_C
#define TOFT_DEBUG_SNAPSHOT_C

#include "../core/blocks.c"
#include "../core/ops.c"
#include "accounting.c"
#include "accounting_api.c"
#include "symbolize.c"

typedef struct toft_json {
  toft_write_fn *write;
  void *arg;
  int code;  /* result of write; nothing is written after an error */
  int first; /* the next element is the first of its object or array */
  size_t length;
  char text[256]; /* buffered text */
  toft_symbolize_fn *symbolizer;
  void *symbolizer_arg;
  /* Finds the file and line of a `site`; NULL: sites have no names. */
  int (*place)(uintptr_t site, char *file, size_t size, unsigned *line);
} toft_json;

/* ---- writing ---- */

static void toft_json_flush(toft_json *j) {
  if (j->length != 0 && j->code == 0) j->code = j->write(j->arg, j->text, j->length);
  j->length = 0;
}

static void toft_json_bytes(toft_json *j, const char *s, size_t n) {
  while (n != 0) {
    size_t part = toft_min(n, sizeof j->text - j->length);
    memcpy(j->text + j->length, s, part);
    j->length += part;
    s += part;
    n -= part;
    if (j->length == sizeof j->text) toft_json_flush(j);
  }
}

static void toft_json_raw(toft_json *j, const char *s) { toft_json_bytes(j, s, strlen(s)); }

static void toft_json_digits(toft_json *j, uint64_t n, unsigned base) {
  char digits[20], *at = digits + sizeof digits;
  do {
    *--at = "0123456789abcdef"[n % base];
    n /= base;
  } while (n != 0);
  toft_json_bytes(j, at, (size_t)(digits + sizeof digits - at));
}

/* Invalid UTF-8 in names is replaced. */
static void toft_json_string(toft_json *j, const char *s) {
  size_t remaining = strlen(s);
  toft_json_raw(j, "\"");
  while (remaining != 0) {
    size_t n = toft_utf8((const unsigned char *)s, remaining);
    unsigned char c = (unsigned char)*s;
    if (n == 0) {
      toft_json_raw(j, "\xEF\xBF\xBD");
      n = 1;
    } else if (c == '"' || c == '\\') {
      toft_json_raw(j, "\\");
      toft_json_bytes(j, s, 1);
    } else if (c < 0x20) {
      toft_json_raw(j, c < 0x10 ? "\\u000" : "\\u001");
      toft_json_digits(j, c & 0xF, 16);
    } else {
      toft_json_bytes(j, s, n);
    }
    s += n;
    remaining -= n;
  }
  toft_json_raw(j, "\"");
}

static void toft_json_next(toft_json *j) {
  if (!j->first) toft_json_raw(j, ",");
  j->first = 0;
}

static void toft_json_key(toft_json *j, const char *key) {
  toft_json_next(j);
  toft_json_string(j, key);
  toft_json_raw(j, ":");
}

static void toft_json_number(toft_json *j, const char *key, uint64_t n) {
  toft_json_key(j, key);
  toft_json_digits(j, n, 10);
}

static void toft_json_signed(toft_json *j, const char *key, int64_t n) {
  toft_json_key(j, key);
  if (n < 0) toft_json_raw(j, "-");
  toft_json_digits(j, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 10);
}

/* `none` becomes null. */
static void toft_json_optional(toft_json *j, const char *key, uint64_t n, uint64_t none) {
  toft_json_key(j, key);
  if (n == none)
    toft_json_raw(j, "null");
  else
    toft_json_digits(j, n, 10);
}

static void toft_json_text(toft_json *j, const char *key, const char *s) {
  toft_json_key(j, key);
  toft_json_string(j, s);
}

static void toft_json_open(toft_json *j, const char *bracket) {
  toft_json_raw(j, bracket);
  j->first = 1;
}

static void toft_json_close(toft_json *j, const char *bracket) {
  toft_json_raw(j, bracket);
  j->first = 0;
}

/* ---- elements ---- */

static void toft_json_stats(toft_json *j, const toft_stats *s) {
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

static int toft_json_tag(void *arg, const toft_tag_report *t) {
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

static int toft_json_phase(void *arg, const toft_phase_report *p) {
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
static int toft_json_symbol(const toft_json *j, const void *address, toft_symbol *s) {
  memset(s, 0, sizeof *s);
  return j->symbolizer != NULL && j->symbolizer(j->symbolizer_arg, address, s);
}

static void toft_json_frame(toft_json *j, const void *address) {
  toft_symbol s;
  toft_json_next(j);
  toft_json_open(j, "{");
  toft_json_key(j, "address");
  toft_json_raw(j, "\"0x");
  toft_json_digits(j, (uint64_t)(uintptr_t)address, 16);
  toft_json_raw(j, "\"");
  if (toft_json_symbol(j, address, &s)) {
    if (s.function != NULL) {
      toft_json_text(j, "function", s.function);
      toft_json_number(j, "offset", s.offset);
    }
    if (s.module != NULL) toft_json_text(j, "module", s.module);
    if (s.module_offset != 0) toft_json_number(j, "module_offset", s.module_offset);
    if (s.file != NULL) toft_json_text(j, "file", s.file);
    if (s.file != NULL) toft_json_number(j, "line", s.line);
  }
  toft_json_close(j, "}");
}

static int toft_json_site(void *arg, const toft_site_report *r) {
  toft_json *j = (toft_json *)arg;
  toft_symbol s;
  char file[512];
  if (r->depth == 0 || !toft_json_symbol(j, r->stack[0], &s)) s.file = NULL;
  if (j->place != NULL && j->place(r->site, file, sizeof file, &s.line)) s.file = file;
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
  for (size_t i = 0; i < r->depth; i++) toft_json_frame(j, r->stack[i]);
  toft_json_close(j, "]");
  toft_json_close(j, "}");
  return j->code;
}

static void toft_json_budget(toft_json *j, const toft_budget_entry *e) {
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
static void toft_json_budgets(toft_json *j, const toft_source *source) {
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
static void toft_json_report(toft_json *j, const toft_stats *s, const toft_instruments *w) {
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
  if (w != NULL) (void)toft_each_site(w, toft_json_site, j);
  toft_json_close(j, "]");
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
  toft_json j;
  toft_dwarf dwarf;
  int named = (o.flags & TOFT_SNAPSHOT_DWARF) && o.symbolizer == NULL && toft_dwarf_open(&dwarf);
  memset(&j, 0, sizeof j);
  j.write = write;
  j.arg = arg;
  j.symbolizer = o.symbolizer != NULL ? o.symbolizer : named ? toft_dwarf_symbolize : toft_symbolize;
  j.symbolizer_arg = named ? &dwarf : o.symbolizer_arg;
  if (o.flags & TOFT_SNAPSHOT_ADDRESSES) j.symbolizer = NULL;
  /* The arena is busy during the whole snapshot, so that write cannot change it. */
  int own = toft_is_own(head);
  uint32_t was_busy = 0;
  if (own) {
    toft_sync_in(toft_state_of(head));
    toft_sync_tags(toft_state_of(head));
    was_busy = toft_begin_callback(toft_state_of(head));
  }
  toft_stats stats = toft_get_stats(head);
  toft_json_begin(&j);
  if (own && toft_state_of(head)->source != NULL) toft_json_budgets(&j, toft_state_of(head)->source);
  toft_json_report(&j, &stats, own ? toft_state_of(head)->instruments : NULL);
  toft_json_flush(&j);
  if (own) {
    toft_end_callback(toft_state_of(head), was_busy);
    toft_set_limit(toft_state_of(head));
  }
  if (named) toft_dwarf_close(&dwarf);
  if (j.code == 0 && (o.flags & TOFT_SNAPSHOT_CLEAR) && own) j.code = toft_clear_report(head);
  return j.code;
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

size_t toft_snapshot_text(toft_arena *a, const toft_snapshot_options *given, char *text, size_t size) {
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
