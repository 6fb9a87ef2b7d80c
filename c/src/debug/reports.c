/* Findings of checked arenas and recyclers: their text, their delivery to hooks and files, and the process's switch.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_REPORTS_C
#define TOFT_DEBUG_REPORTS_C

#include "../core/hooks.h"
#include "../core/policy.c"
#include "../platform/atomic.c"
#include "../platform/lifecycle.h"
#include "../platform/os.c"
#include "../platform/thread_local.h"
#include "json.c"
#include "stacks.c"
#include "symbolize.c"

#define TOFT_WRITTEN_MAX 32 /* written bytes stored in a finding */

/* A call of the program; all 0: none. */
typedef struct toft_call_info {
  const char *op;
  uintptr_t site;
  size_t thread;
  const toft_call_stack *stack; /* from the site on; NULL: not recorded */
} toft_call_info;

/* A finding without its message text. */
typedef struct toft_report {
  int kind;
  toft_arena *arena;
  const unsigned char *p;
  size_t size, claimed_size; /* claimed_size: the caller's argument; outside: the word */
  const char *target;        /* outside: its place */
  ptrdiff_t offset;
  size_t length;                         /* of the written bytes, from offset on */
  int open_ended;                        /* they reach the end of the checked bytes: there may be more */
  unsigned char bytes[TOFT_WRITTEN_MAX]; /* the first written bytes */
  toft_call_info allocated, freed, detected;
} toft_report;

/* Sets the written bytes from `at` to `end`; p is the allocation's first byte. */
static void toft_report_set_written(toft_report *f, const unsigned char *p, const unsigned char *at,
                                    const unsigned char *end, int open_ended) {
  f->offset = at - p;
  f->length = (size_t)(end - at);
  f->open_ended = open_ended;
  memcpy(f->bytes, at, toft_min(f->length, sizeof f->bytes));
}

/* ---- text, without stdio, which lacks %zu on some systems ---- */

typedef struct toft_text_writer {
  char *at, *end;
} toft_text_writer;

static TOFT_RARE void toft_put_text(toft_text_writer *t, const char *s) {
  while (*s != 0 && t->at < t->end) *t->at++ = *s++;
  *t->at = 0;
}

/* Appends a string of the program: bytes other than printable ASCII become \xNN. With `quoted`, a quote and a backslash
 * get a backslash. */
static TOFT_RARE void toft_put_escaped(toft_text_writer *t, const char *s, size_t size, int quoted) {
  for (size_t i = 0; i < size && t->end - t->at > 4; i++) {
    unsigned char c = (unsigned char)s[i];
    if (c < 0x20 || c > 0x7e) {
      *t->at++ = '\\';
      *t->at++ = 'x';
      *t->at++ = "0123456789abcdef"[c >> 4];
      *t->at++ = "0123456789abcdef"[c & 15];
    } else {
      if (quoted && (c == '"' || c == '\\')) *t->at++ = '\\';
      *t->at++ = (char)c;
    }
  }
  *t->at = 0;
}

static void toft_put_name(toft_text_writer *t, const char *s) { toft_put_escaped(t, s, strlen(s), 0); }

static TOFT_RARE void toft_put_number(toft_text_writer *t, uint64_t n, unsigned base) {
  char digits[24], *d = digits + sizeof digits - 1;
  *d = 0;
  do *--d = "0123456789abcdef"[n % base];
  while ((n /= base) != 0);
  if (base == 16) toft_put_text(t, "0x");
  toft_put_text(t, d);
}

static void toft_put_offset(toft_text_writer *t, ptrdiff_t n) {
  if (n < 0) toft_put_text(t, "-");
  toft_put_number(t, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 10);
}

/* ---- sites ---- */

static toft_lock toft_findings_lock; /* protects everything below, and the arenas' stored reports */

typedef struct toft_named_site {
  struct toft_named_site *next;
  char text[1];
} toft_named_site;

static toft_named_site *toft_named_sites[256];
TOFT_PER_THREAD uintptr_t toft_call_site_hint; /* site of the next call, set by toft_at */
#define toft_call_site_hint TOFT_OWN(toft_call_site_hint)

uintptr_t toft_site(const char *place) {
  unsigned hash = 5381;
  size_t n = 0;
  while (place[n] != 0) hash = hash * 33 + (unsigned char)place[n++];
  toft_arm_fork();
  toft_lock_take(&toft_findings_lock);
  toft_named_site **in = &toft_named_sites[hash % 256], *s = *in;
  while (s != NULL && strcmp(s->text, place) != 0) s = s->next;
  if (s == NULL && (s = (toft_named_site *)malloc(sizeof *s + n)) != NULL) {
    memcpy(s->text, place, n + 1);
    s->next = *in;
    *in = s;
  }
  TOFT_UNLOCK(&toft_findings_lock);
  return (uintptr_t)s;
}

static TOFT_RARE int toft_put_named_site(uintptr_t site, toft_text_writer *t) {
  const toft_named_site *s = NULL;
  toft_lock_take(&toft_findings_lock);
  for (int i = 0; i < 256 && s == NULL; i++)
    for (s = toft_named_sites[i]; s != NULL && (uintptr_t)s != site;) s = s->next;
  if (s != NULL) toft_put_name(t, s->text);
  TOFT_UNLOCK(&toft_findings_lock);
  return s != NULL;
}

/* The libdw session. Opening it takes milliseconds, so it stays open between findings; it is reopened when an address
 * lies in a module loaded since. One thread uses it at a time; other threads, and a finding within a finding, use
 * toft_symbolize. */
static toft_lock toft_symbol_lock;
static toft_dwarf toft_symbol_session;
static int toft_symbol_session_state; /* 0: not opened; 1: open; 2: failed */

static void toft_symbol_session_close(void) {
  if (toft_symbol_session_state == 1) toft_dwarf_close(&toft_symbol_session);
  toft_symbol_session_state = 0;
}

static TOFT_RARE int toft_symbol_find(const void *address, toft_symbol *s) {
  if (toft_symbol_session_state == 0) toft_symbol_session_state = toft_dwarf_open(&toft_symbol_session) ? 1 : 2;
  if (toft_symbol_session_state == 1 && !toft_dwarf_covers(&toft_symbol_session, address)) {
    toft_symbol_session_close();
    toft_symbol_session_state = toft_dwarf_open(&toft_symbol_session) ? 1 : 2;
  }
  return toft_symbol_session_state == 1 ? toft_dwarf_symbolize(&toft_symbol_session, address, s)
                                        : toft_symbolize(NULL, address, s);
}

/* Appends "function (file:line)"; without debug information "function+offset (module+offset)", as far as known. */
static TOFT_RARE void toft_put_symbol(toft_text_writer *t, const toft_symbol *s) {
  const char *slash = s->module != NULL ? strrchr(s->module, '/') : NULL;
  int has_line = s->file != NULL && s->line != 0;
  if (s->function != NULL) {
    toft_put_name(t, s->function);
    if (!has_line && s->offset != 0) {
      toft_put_text(t, "+");
      toft_put_number(t, s->offset, 16);
    }
    toft_put_text(t, " (");
  }
  toft_put_name(t, has_line ? s->file : slash != NULL ? slash + 1 : s->module != NULL ? s->module : "program");
  toft_put_text(t, has_line ? ":" : "+");
  toft_put_number(t, has_line ? s->line : s->module_offset, has_line ? 10 : 16);
  if (s->function != NULL) toft_put_text(t, ")");
}

#if defined(__linux__) && !defined(TOFT_OMIT_RECYCLER)
/* Appends the variable of a loaded module at an address, as function and offset are. 0: no module is there. */
static TOFT_RARE int toft_put_variable(uintptr_t address, toft_text_writer *t) {
  toft_symbol s;
  const void *behind = (const void *)(address + 1); /* a symbol is looked for at the byte before */
  if (!toft_symbolize(NULL, behind, &s)) return 0;
  int locked = TOFT_LOCK_TRY(&toft_symbol_lock);
  if (locked && !toft_symbol_find(behind, &s)) (void)toft_symbolize(NULL, behind, &s);
  s.file = NULL;
  if (s.function != NULL) s.offset--;
  toft_put_symbol(t, &s);
  if (locked) TOFT_UNLOCK(&toft_symbol_lock);
  return 1;
}
#endif

static TOFT_RARE int toft_put_code_site(uintptr_t site, toft_text_writer *t) {
  toft_symbol s;
  const void *address = (const void *)site;
  if (site < 4096) return 0;
  if (TOFT_LOCK_TRY(&toft_symbol_lock)) {
    int found = toft_symbol_find(address, &s);
    if (found) toft_put_symbol(t, &s); /* the strings belong to the session */
    TOFT_UNLOCK(&toft_symbol_lock);
    return found;
  }
  if (!toft_symbolize(NULL, address, &s)) return 0;
  toft_put_symbol(t, &s);
  return 1;
}

/* Writes the text of a site into `size` bytes. */
static TOFT_RARE void toft_put_site(uintptr_t site, char *at, size_t size) {
  toft_text_writer t = {at, at + size - 1};
  if (site == 0) {
    toft_put_text(&t, "an unknown place");
  } else if (!toft_put_named_site(site, &t) && !toft_put_code_site(site, &t)) {
    toft_put_text(&t, "site ");
    toft_put_number(&t, site, 16);
  }
}

/* The file and line of a site that has a name, as "main.go:12". 0: it has none. */
static TOFT_RARE int toft_place_of_site(uintptr_t site, char *file, size_t size, unsigned *line) {
  toft_text_writer t = {file, file + size - 1};
  if (site == 0 || !toft_put_named_site(site, &t)) return 0;
  char *colon = strrchr(file, ':');
  *line = colon != NULL ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
  if (*line != 0) *colon = 0;
  return 1;
}

/* ---- messages ---- */

#define TOFT_SITE_TEXT_MAX 512
#define TOFT_MESSAGE_MAX (4 * TOFT_SITE_TEXT_MAX)

/* What is not known is left out: a place, a thread, an address. */
static TOFT_RARE void toft_put_call(toft_text_writer *t, const char *before, const toft_moment *m,
                                    const char *between) {
  toft_put_text(t, before);
  if (m->site != 0) {
    toft_put_text(t, between);
    toft_put_text(t, m->place);
  }
  if (m->thread == 0) return;
  toft_put_text(t, " by thread ");
  toft_put_number(t, m->thread, 10);
}

static void toft_put_address(toft_text_writer *t, const toft_report *f) {
  if (f->p == NULL) return;
  toft_put_text(t, " at ");
  toft_put_number(t, (uintptr_t)f->p, 16);
}

static TOFT_RARE void toft_put_allocation(toft_text_writer *t, const toft_report *f) {
  toft_put_number(t, f->size, 10);
  toft_put_text(t, f->size == 1 ? " byte" : " bytes");
  toft_put_address(t, f);
}

static TOFT_RARE void toft_put_written(toft_text_writer *t, const char *kind, const toft_report *f) {
  toft_put_text(t, kind);
  toft_put_text(t, ": byte ");
  toft_put_offset(t, f->offset);
  toft_put_text(t, " of ");
  toft_put_allocation(t, f);
  toft_put_text(t, " was written: ");
  toft_put_number(t, f->length, 10);
  toft_put_text(t, f->length == 1 ? " byte" : " bytes");
  toft_put_text(t, f->open_ended ? " or more \"" : " \"");
  toft_put_escaped(t, (const char *)f->bytes, toft_min(f->length, sizeof f->bytes), 1);
  toft_put_text(t, f->length > sizeof f->bytes ? "\"..." : "\"");
}

static void toft_put_arena(toft_text_writer *t, const toft_report *f) {
  toft_put_text(t, ": the arena");
  toft_put_address(t, f);
}

static TOFT_RARE void toft_put_outside(toft_text_writer *t, const toft_report *f) {
  toft_put_text(t, "pointer out of a region: ");
  if (f->target == NULL) {
    toft_put_number(t, f->size, 10);
    toft_put_text(t, f->size == 1 ? " more word is an address" : " more words are addresses");
  } else {
    toft_put_text(t, "the word");
    toft_put_address(t, f);
    toft_put_text(t, " is ");
    toft_put_number(t, f->claimed_size, 16);
    toft_put_text(t, " in ");
    toft_put_text(t, f->target);
  }
  toft_put_text(t, ", which a restore does not bring back");
}

static TOFT_RARE void toft_put_kind(toft_text_writer *t, const toft_report *f, const toft_finding *out) {
  switch (f->kind) {
    case TOFT_FOUND_OVERRUN: toft_put_written(t, "overrun", f); break;
    case TOFT_FOUND_UNDERRUN: toft_put_written(t, "underrun", f); break;
    case TOFT_FOUND_LATE_WRITE:
      toft_put_written(t, "late write", f);
      toft_put_text(t, " after ");
      toft_put_call(t, out->returned.call, &out->returned, " at ");
      break;
    case TOFT_FOUND_DOUBLE_FREE:
      toft_put_text(t, "double free: ");
      toft_put_allocation(t, f);
      toft_put_text(t, " were given back before, by ");
      toft_put_call(t, out->returned.call, &out->returned, " at ");
      break;
    case TOFT_FOUND_WRONG_SIZE:
      toft_put_text(t, "wrong size: ");
      toft_put_number(t, f->claimed_size, 10);
      toft_put_text(t, " bytes, of an allocation of ");
      toft_put_allocation(t, f);
      break;
    case TOFT_FOUND_FOREIGN:
      toft_put_text(t, "foreign pointer: ");
      if (f->p == NULL) toft_put_text(t, "it");
      if (f->p != NULL) toft_put_number(t, (uintptr_t)f->p, 16);
      toft_put_text(t,
                    f->arena != NULL ? " is no live allocation of this arena" : " is no live object of this recycler");
      break;
    case TOFT_FOUND_STALE_MARK:
      toft_put_text(
          t, "stale mark: it is of another arena, from before a reset, made inside a claim, or was rewound past");
      break;
    case TOFT_FOUND_WRONG_THREAD:
      toft_put_text(t, "wrong thread: the arena is pinned to thread ");
      toft_put_number(t, f->allocated.thread, 10);
      break;
    case TOFT_FOUND_TWO_THREADS:
      toft_put_text(t, "two threads at once: ");
      toft_put_call(t, out->allocated.call, &out->allocated, " at ");
      toft_put_text(t, " has not returned");
      break;
    case TOFT_FOUND_RELEASED:
      toft_put_text(t, strcmp(out->noticed.call, "release") == 0 ? "double release" : "use after release");
      toft_put_arena(t, f);
      toft_put_call(t, " was released", &out->returned, " at ");
      break;
    case TOFT_FOUND_NOT_RELEASED:
      toft_put_text(t, "refused release");
      toft_put_arena(t, f);
      toft_put_text(t, f->claimed_size != 0 ? " has a claimed range" : " is in a cleanup or a callback");
      break;
    case TOFT_FOUND_OVER_BUDGET:
      toft_put_text(t, "over budget: ");
      toft_put_number(t, f->size, 10);
      toft_put_text(t, " bytes of a soft budget of ");
      toft_put_number(t, f->claimed_size, 10);
      break;
    default: toft_put_outside(t, f); break; /* TOFT_FOUND_OUTSIDE */
  }
}

static int toft_has_allocation(const toft_report *f) { return f->kind <= TOFT_FOUND_WRONG_SIZE; }

static TOFT_RARE void toft_put_finding(toft_text_writer *t, const toft_report *f, const toft_finding *out) {
  toft_put_kind(t, f, out);
  if (toft_has_allocation(f)) toft_put_call(t, "; allocated", &out->allocated, " at ");
  if (f->kind < TOFT_FOUND_LATE_WRITE && f->freed.op != NULL) toft_put_call(t, "; freed", &out->returned, " at ");
  toft_put_text(t, "; noticed by ");
  toft_put_call(t, out->noticed.call, &out->noticed, " at ");
}

static TOFT_RARE void toft_fill_moment(toft_moment *m, const toft_call_info *c, char *place) {
  toft_put_site(c->site, place, TOFT_SITE_TEXT_MAX);
  m->call = c->op != NULL ? c->op : "";
  m->place = place;
  m->site = c->site;
  m->thread = c->thread;
}

/* Formats the finding and calls fn. */
static TOFT_RARE void toft_deliver_report(const toft_report *f, toft_finding_fn *fn, void *arg) {
  char site_texts[3][TOFT_SITE_TEXT_MAX], message[TOFT_MESSAGE_MAX];
  toft_finding out;
  toft_text_writer t = {message, message + sizeof message - 1};
  out.kind = f->kind;
  out.message = message;
  out.arena = f->arena;
  out.address = f->p;
  out.size = f->size;
  out.offset = f->offset;
  out.length = f->length;
  out.bytes = f->length != 0 ? f->bytes : NULL;
  toft_fill_moment(&out.allocated, &f->allocated, site_texts[0]);
  toft_fill_moment(&out.returned, &f->freed, site_texts[1]);
  toft_fill_moment(&out.noticed, &f->detected, site_texts[2]);
  toft_put_finding(&t, f, &out);
  fn(arg, &out);
}

/* ---- a finding as a JSON object ---- */

typedef struct toft_memory_sink {
  char *text;
  size_t size, capacity;
} toft_memory_sink;

static int toft_memory_write(void *arg, const char *bytes, size_t size) {
  toft_memory_sink *m = (toft_memory_sink *)arg;
  if (m->capacity - m->size < size) {
    size_t capacity = 2 * m->capacity + 4096; /* at least as many as the writer's buffer has */
    char *more = (char *)realloc(m->text, capacity);
    if (more == NULL) return TOFT_ENOMEM;
    m->text = more;
    m->capacity = capacity;
  }
  memcpy(m->text + m->size, bytes, size);
  m->size += size;
  return TOFT_OK;
}

static const char *const toft_kind_names[] = {"",
                                              "overrun",
                                              "underrun",
                                              "late-write",
                                              "double-free",
                                              "wrong-size",
                                              "foreign-pointer",
                                              "stale-mark",
                                              "wrong-thread",
                                              "two-threads",
                                              "use-after-release",
                                              "refused-release",
                                              "budget",
                                              "",
                                              "outside"};

static void toft_json_site_call(toft_json *j, uintptr_t site) {
  char name[TOFT_SITE_TEXT_MAX];
  toft_symbol s;
  memset(&s, 0, sizeof s);
  if (toft_place_of_site(site, name, sizeof name, &s.line)) {
    *(s.line != 0 ? &s.file : &s.function) = name;
  } else if (site < 4096 || !toft_symbolize(NULL, (const void *)site, &s)) {
    memset(&s, 0, sizeof s);
  }
  toft_json_frame(j, (const void *)site, &s);
}

static TOFT_RARE void toft_json_moment(toft_json *j, const char *role, const toft_call_info *c) {
  if (c->op == NULL) return;
  toft_json_next(j);
  toft_json_open(j, "{");
  toft_json_text(j, "role", role);
  toft_json_text(j, "call", c->op);
  toft_json_number(j, "thread", c->thread);
  toft_json_key(j, "stack");
  toft_json_open(j, "[");
  if (c->stack == NULL && c->site != 0) toft_json_site_call(j, c->site);
  for (size_t i = 0; c->stack != NULL && i < c->stack->depth; i++)
    toft_json_site_call(j, (uintptr_t)toft_frames_of(c->stack)[i]);
  toft_json_close(j, "]");
  toft_json_close(j, "}");
}

static const char *toft_kind_name(const toft_report *f) {
  int twice = f->kind == TOFT_FOUND_RELEASED && f->detected.op != NULL && strcmp(f->detected.op, "release") == 0;
  return twice ? "double-release" : toft_kind_names[f->kind];
}

/* The text has what the other members do not: no address, no thread, no place. */
static void toft_json_finding(toft_json *j, const toft_report *f) {
  char text[TOFT_MESSAGE_MAX];
  toft_text_writer t = {text, text + sizeof text - 1};
  toft_report brief = *f;
  toft_finding out;
  memset(&out, 0, sizeof out);
  out.allocated.call = f->allocated.op;
  out.returned.call = f->freed.op != NULL ? f->freed.op : "";
  out.noticed.call = f->detected.op != NULL ? f->detected.op : "";
  brief.p = NULL;
  toft_put_kind(&t, &brief, &out);
  toft_json_open(j, "{");
  toft_json_text(j, "kind", toft_kind_name(f));
  toft_json_text(j, "library", "toft-c");
  toft_json_text(j, "text", text);
  toft_json_number(j, "size", f->size);
  if (f->length != 0) {
    toft_json_signed(j, "offset", f->offset);
    toft_json_number(j, "length", f->length);
  }
  toft_json_key(j, "places");
  toft_json_open(j, "[");
  toft_json_moment(j, "returned", &f->freed);
  if (toft_has_allocation(f)) toft_json_moment(j, "allocated", &f->allocated);
  if (f->kind == TOFT_FOUND_TWO_THREADS) toft_json_moment(j, "running", &f->allocated);
  toft_json_moment(j, "noticed", &f->detected);
  toft_json_close(j, "]");
  toft_json_close(j, "}");
  toft_json_raw(j, "\n");
  toft_json_flush(j);
}

/* ---- the process's switch, and delivery ---- */

/* 1: the environment was read; and TOFT_PROCESS_... Read and written atomically; the rest is written before it, with
 * the lock held. */
static size_t toft_process_switch;
static int toft_check_switch_aborts;
static int toft_findings_stream;    /* descriptor of a standard stream, or 0 */
static char *toft_findings_file;    /* or NULL */
static char *toft_findings_objects; /* the file of JSON objects, or NULL */

static toft_finding_fn *toft_finding_hook;
static void *toft_finding_hook_arg;

/* ASCII case is ignored. */
static int toft_equals_ignoring_case(const char *s, const char *word) {
  while (*word != 0 && (*s == *word || (*s >= 'A' && *s <= 'Z' && *s + 32 == *word))) s++, word++;
  return *s == 0 && *word == 0;
}

/* Whether the value of a variable switches a feature on. */
static int toft_is_on(const char *v) {
  return v != NULL && *v != 0 && !toft_equals_ignoring_case(v, "0") && !toft_equals_ignoring_case(v, "off") &&
         !toft_equals_ignoring_case(v, "no") && !toft_equals_ignoring_case(v, "false");
}

static char *toft_copy_path(const char *name) {
  size_t size = name != NULL && *name != 0 ? strlen(name) + 1 : 0;
  char *copy = size != 0 ? (char *)malloc(size) : NULL;
  if (copy != NULL) memcpy(copy, name, size);
  return copy;
}

static void toft_read_findings_file(const char *name, int expected) {
  if (name == NULL || *name == 0) {
    toft_findings_stream = expected ? 2 : 0;
  } else if (strcmp(name, "stderr") == 0 || strcmp(name, "/dev/stderr") == 0) {
    toft_findings_stream = 2;
  } else if (strcmp(name, "stdout") == 0 || strcmp(name, "/dev/stdout") == 0) {
    toft_findings_stream = 1;
  } else {
    toft_findings_file = toft_copy_path(name);
  }
}

/* process_profile.c. Returns whether a meter is on for all arenas; sets *reports if it makes findings. */
static int toft_read_process_meters(int *reports);
/* Prepares for requests of a profile and for forks, without the lock. */
static void toft_start_process_meters(void);

/* The number of the process in which a thread reads the environment; 0: none does. It is not a lock: a child that is
 * forked during the read does not have that thread, and reads again. */
static size_t toft_switch_reader;

static size_t toft_read_environment(void) {
  int reports = 0;
  const char *v = toft_os_env("TOFT_CHECKED");
  size_t s = toft_is_on(v) ? 1 | TOFT_PROCESS_CHECKS : 1;
  if (v == NULL && toft_has_memory_tool()) s |= TOFT_PROCESS_CHECKS | TOFT_PROCESS_HAS_TOOL;
  if (toft_read_process_meters(&reports)) s |= TOFT_PROCESS_METERS;
  toft_check_switch_aborts = v != NULL && toft_equals_ignoring_case(v, "abort");
  toft_findings_objects = toft_copy_path(toft_os_env("TOFT_FINDINGS_JSON"));
  int expected = (reports || (s & TOFT_PROCESS_CHECKS)) && toft_findings_objects == NULL;
  toft_read_findings_file(toft_os_env("TOFT_FINDINGS"), expected);
  return s;
}

static TOFT_COLD size_t toft_read_process_switch(void) {
  size_t process = (size_t)toft_os_process_id(), s;
  while ((s = TOFT_LOAD_ACQUIRE(&toft_process_switch)) == 0) {
    size_t reader = TOFT_LOAD(&toft_switch_reader);
    if (reader != process && TOFT_CAS_RELAXED(&toft_switch_reader, &reader, process)) {
      s = toft_read_environment();
      TOFT_STORE_RELEASE(&toft_process_switch, s);
      if (s & TOFT_PROCESS_METERS) toft_start_process_meters();
      return s;
    }
    toft_os_yield();
  }
  return s;
}

static size_t toft_process_switches(void) {
  size_t s = TOFT_LOAD(&toft_process_switch);
  if (TOFT_UNLIKELY(s == 0)) s = toft_read_process_switch();
  return s & ~(size_t)1;
}

/* The call that begins. Its site is the one that toft_at named, else `site`, whose stack is recorded for objects. */
TOFT_INLINE toft_call_info toft_call_begun(const char *op, uintptr_t site) {
  uintptr_t hint = toft_call_site_hint;
  toft_call_info c = {op, hint != 0 ? hint : site, toft_thread_id(), NULL};
  (void)TOFT_LOAD_ACQUIRE(&toft_process_switch); /* orders the reads of what the environment sets */
  if (hint == 0 && toft_findings_objects != NULL) c.stack = toft_call_stack_from(site);
  toft_call_site_hint = 0;
  return c;
}

void toft_on_finding(toft_finding_fn *fn, void *arg) {
  toft_lock_take(&toft_findings_lock);
  toft_finding_hook = fn;
  toft_finding_hook_arg = arg;
  TOFT_UNLOCK(&toft_findings_lock);
}

static TOFT_RARE void toft_print_finding(void *arg, const toft_finding *f) {
  char line[TOFT_MESSAGE_MAX + 16];
  toft_text_writer t = {line, line + sizeof line - 1};
  (void)arg;
  toft_put_text(&t, "toft: ");
  toft_put_text(&t, f->message);
  toft_put_text(&t, "\n");
  if (toft_findings_stream != 0) toft_os_print(toft_findings_stream, line, (size_t)(t.at - line));
  if (toft_findings_file != NULL) toft_os_append(toft_findings_file, line, (size_t)(t.at - line));
}

static void toft_append_object(const toft_report *f) {
  toft_memory_sink m = {NULL, 0, 0};
  toft_json j = toft_json_to(toft_memory_write, &m);
  toft_json_finding(&j, f);
  static const char lost[] =
      "{\"kind\":\"lost\",\"text\":\"lost: a finding for which there was no memory\",\"places\":[]}\n";
  int whole = j.code == TOFT_OK;
  toft_os_append(toft_findings_objects, whole ? m.text : lost, whole ? m.size : sizeof lost - 1);
  free(m.text);
}

TOFT_PER_THREAD int toft_in_hook; /* findings caused by the hook's own calls are only printed */
#define toft_in_hook TOFT_OWN(toft_in_hook)

static TOFT_RARE void toft_publish_report(const toft_report *f) {
  (void)toft_process_switches();
  (void)TOFT_LOAD_ACQUIRE(&toft_process_switch); /* orders the reads of what the environment sets */
  toft_lock_take(&toft_findings_lock);
  toft_finding_fn *fn = toft_finding_hook;
  void *arg = toft_finding_hook_arg;
  int prints = toft_findings_stream != 0 || toft_findings_file != NULL, aborts = toft_check_switch_aborts;
  TOFT_UNLOCK(&toft_findings_lock);
  if (fn != NULL && !toft_in_hook) {
    toft_in_hook = 1;
    toft_deliver_report(f, fn, arg);
    toft_in_hook = 0;
  }
  if (prints) toft_deliver_report(f, toft_print_finding, NULL);
  if (toft_findings_objects != NULL) toft_append_object(f);
  if (aborts) abort();
}

/* Called when the library is unloaded. */
static void toft_findings_end(void) {
  toft_symbol_session_close();
  free(toft_findings_file);
  free(toft_findings_objects);
  toft_findings_file = toft_findings_objects = NULL;
}

#endif
