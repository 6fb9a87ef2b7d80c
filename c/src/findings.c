/* What checked arenas found: who is told, and in what words.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "internal.h"

/* One call of the program; all zero: none. */
typedef struct toft_call {
  const char *by;
  uintptr_t site;
  size_t thread;
} toft_call;

/* A finding before it has words. */
typedef struct toft_fact {
  int kind;
  toft_arena *arena;
  const unsigned char *p;
  size_t size, told; /* told: the size that the caller thinks it has */
  ptrdiff_t offset;
  toft_call made, gone, seen;
} toft_fact;

static void toft_fail(toft_state *a, size_t size, size_t align, int code) {
  if (a->failure != NULL) a->failure(a->failure_arg, &a->head, size, align, code);
}

/* ---- text, without stdio: it has no %zu everywhere ---- */

typedef struct toft_line {
  char *at, *end;
} toft_line;

static void toft_put_text(toft_line *t, const char *s) {
  while (*s != 0 && t->at < t->end) *t->at++ = *s++;
  *t->at = 0;
}

static void toft_put_number(toft_line *t, uint64_t n, unsigned base) {
  char digits[24], *d = digits + sizeof digits - 1;
  *d = 0;
  do *--d = "0123456789abcdef"[n % base];
  while ((n /= base) != 0);
  if (base == 16) toft_put_text(t, "0x");
  toft_put_text(t, d);
}

static void toft_put_offset(toft_line *t, ptrdiff_t n) {
  if (n < 0) toft_put_text(t, "-");
  toft_put_number(t, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 10);
}

/* ---- places ---- */

static toft_lock toft_findings_lock; /* over everything that follows, and over what arenas keep of their findings */
static void toft_arm_fork(void);     /* seats.c: a child gets no lock that another thread has taken */

typedef struct toft_named_site {
  struct toft_named_site *next;
  char text[1];
} toft_named_site;

static toft_named_site *toft_named_sites[256];
static TOFT_THREAD_LOCAL uintptr_t toft_said; /* where the next call comes from, if somebody said so */

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

static int toft_site_named(uintptr_t site, toft_line *t) {
  const toft_named_site *s = NULL;
  toft_lock_take(&toft_findings_lock);
  for (int i = 0; i < 256 && s == NULL; i++)
    for (s = toft_named_sites[i]; s != NULL && (uintptr_t)s != site;) s = s->next;
  if (s != NULL) toft_put_text(t, s->text);
  TOFT_UNLOCK(&toft_findings_lock);
  return s != NULL;
}

static int toft_site_of_code(uintptr_t site, toft_line *t) {
  toft_symbol s;
  if (site < 4096 || !toft_symbolize(NULL, (const void *)site, &s)) return 0;
  const char *slash = s.module != NULL ? strrchr(s.module, '/') : NULL;
  if (s.function != NULL) {
    toft_put_text(t, s.function);
    toft_put_text(t, "+");
    toft_put_number(t, s.offset, 16);
    toft_put_text(t, " (");
  }
  toft_put_text(t, slash != NULL ? slash + 1 : s.module != NULL ? s.module : "program");
  toft_put_text(t, "+");
  toft_put_number(t, s.module_offset, 16);
  if (s.function != NULL) toft_put_text(t, ")");
  return 1;
}

/* Into `room` bytes. */
static void toft_name_place(uintptr_t site, char *at, size_t room) {
  toft_line t = {at, at + room - 1};
  if (site == 0) {
    toft_put_text(&t, "an unknown place");
  } else if (!toft_site_named(site, &t) && !toft_site_of_code(site, &t)) {
    toft_put_text(&t, "site ");
    toft_put_number(&t, site, 16);
  }
}

/* ---- words ---- */

#define TOFT_PLACE 256

static void toft_put_call(toft_line *t, const char *before, const toft_moment *m, const char *between) {
  toft_put_text(t, before);
  if (m->site != 0) {
    toft_put_text(t, between);
    toft_put_text(t, m->place);
  }
  toft_put_text(t, " by thread ");
  toft_put_number(t, m->thread, 10);
}

static void toft_put_allocation(toft_line *t, const toft_fact *f) {
  toft_put_number(t, f->size, 10);
  toft_put_text(t, f->size == 1 ? " byte at " : " bytes at ");
  toft_put_number(t, (uintptr_t)f->p, 16);
}

static void toft_put_written(toft_line *t, const char *kind, const toft_fact *f) {
  toft_put_text(t, kind);
  toft_put_text(t, ": byte ");
  toft_put_offset(t, f->offset);
  toft_put_text(t, " of ");
  toft_put_allocation(t, f);
  toft_put_text(t, " was written");
}

static void toft_put_kind(toft_line *t, const toft_fact *f, const toft_finding *out) {
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
      toft_put_number(t, f->told, 10);
      toft_put_text(t, " bytes, of an allocation of ");
      toft_put_allocation(t, f);
      break;
    case TOFT_FOUND_FOREIGN:
      toft_put_text(t, "foreign pointer: ");
      toft_put_number(t, (uintptr_t)f->p, 16);
      toft_put_text(t, " is no allocation of this arena, or is none any more");
      break;
    case TOFT_FOUND_STALE_MARK:
      toft_put_text(t, "stale mark: it is of another arena, from before a reset, or was rewound past");
      break;
    case TOFT_FOUND_WRONG_THREAD:
      toft_put_text(t, "wrong thread: the arena is pinned to thread ");
      toft_put_number(t, f->made.thread, 10);
      break;
    case TOFT_FOUND_TWO_THREADS:
      toft_put_text(t, "two threads at once: ");
      toft_put_call(t, out->allocated.call, &out->allocated, " at ");
      toft_put_text(t, " has not returned");
      break;
    case TOFT_FOUND_RELEASED:
      toft_put_text(t, strcmp(out->noticed.call, "release") == 0 ? "double release" : "use after release");
      toft_put_text(t, ": the arena at ");
      toft_put_number(t, (uintptr_t)f->p, 16);
      toft_put_call(t, " was released", &out->returned, " at ");
      break;
    default: break;
  }
  if (f->kind <= TOFT_FOUND_WRONG_SIZE) toft_put_call(t, "; allocated", &out->allocated, " at ");
  if (f->kind < TOFT_FOUND_LATE_WRITE && f->gone.by != NULL) toft_put_call(t, "; freed", &out->returned, " at ");
  toft_put_text(t, "; noticed by ");
  toft_put_call(t, out->noticed.call, &out->noticed, " at ");
}

static void toft_say_moment(toft_moment *m, const toft_call *c, char *place) {
  toft_name_place(c->site, place, TOFT_PLACE);
  m->call = c->by != NULL ? c->by : "";
  m->place = place;
  m->site = c->site;
  m->thread = c->thread;
}

/* Puts it into words, and calls fn with them. */
static void toft_say(const toft_fact *f, toft_finding_fn *fn, void *arg) {
  char places[3][TOFT_PLACE], message[4 * TOFT_PLACE];
  toft_finding out;
  toft_line t = {message, message + sizeof message - 1};
  out.kind = f->kind;
  out.message = message;
  out.arena = f->arena;
  out.address = f->p;
  out.size = f->size;
  out.offset = f->offset;
  toft_say_moment(&out.allocated, &f->made, places[0]);
  toft_say_moment(&out.returned, &f->gone, places[1]);
  toft_say_moment(&out.noticed, &f->seen, places[2]);
  toft_put_kind(&t, f, &out);
  fn(arg, &out);
}

/* ---- the process's ways out ---- */

static toft_finding_fn *toft_hearer;
static void *toft_hearer_arg;

void toft_on_finding(toft_finding_fn *fn, void *arg) {
  toft_lock_take(&toft_findings_lock);
  toft_hearer = fn;
  toft_hearer_arg = arg;
  TOFT_UNLOCK(&toft_findings_lock);
}

/* One write for a line, so that lines of several threads and processes do not mix. */
static void toft_append(void *file, const toft_finding *f) {
  char line[4 * TOFT_PLACE + 16];
  toft_line t = {line, line + sizeof line - 1};
  FILE *out = fopen((const char *)file, "a");
  if (out == NULL) return;
  toft_put_text(&t, "toft: ");
  toft_put_text(&t, f->message);
  toft_put_text(&t, "\n");
  (void)fwrite(line, 1, (size_t)(t.at - line), out);
  (void)fclose(out);
}

static void toft_publish(const toft_fact *f) {
  toft_lock_take(&toft_findings_lock);
  toft_finding_fn *fn = toft_hearer;
  void *arg = toft_hearer_arg;
  TOFT_UNLOCK(&toft_findings_lock);
  if (fn != NULL) toft_say(f, fn, arg);
  const char *file = toft_os_env("TOFT_FINDINGS");
  if (file != NULL && *file != 0) toft_say(f, toft_append, (void *)(uintptr_t)file);
}

/* ---- the process's switch ---- */

enum { TOFT_SWITCH_UNREAD = 0, TOFT_SWITCH_OFF = 1, TOFT_SWITCH_ON = 2 };
static size_t toft_switch; /* read and written atomically */

static int toft_process_checks(void) {
  size_t s = TOFT_LOAD(&toft_switch);
  if (TOFT_UNLIKELY(s == TOFT_SWITCH_UNREAD)) {
    const char *v = toft_os_env("TOFT_CHECKED");
    s = v == NULL || *v == 0 || (v[0] == '0' && v[1] == 0) ? TOFT_SWITCH_OFF : TOFT_SWITCH_ON;
    (void)TOFT_SWAP(&toft_switch, s);
  }
  return s == TOFT_SWITCH_ON;
}
