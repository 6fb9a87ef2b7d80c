/* Plays one stream of operations on both providers in lockstep and compares every answer: addresses by block and
 * offset, codes, contents, statistics, settings, the head, and the traffic of the source and the cleanups.
 * `differential` builds it.
 *
 *     differential OPERATIONS SEED EVERY FOLDER   OPERATIONS operations; every EVERY-th stream is written to FOLDER
 *     differential                                plays the vectors that it was compiled with on each provider
 *
 * A stream is a sequence of bytes, random or from libFuzzer (with FUZZ defined). One in which the providers differ is
 * made small and written to FOLDER (fuzzing: to the folder in DIFFERENTIAL) as a trace, which `differential` plays on
 * the model.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "aligned_memory.h"
#include "differential_pair.h"
#include "toft.h"
#include "toft_abi_info.h"

#define SAMPLED ((size_t)1200) /* twice that is more than a holder takes of its range at once */
#include "vector_player.h"

/* ---- both providers ---- */

enum { STEP = 4, HEAD = 8, STEPS = 400 };
static uint32_t fails[STEPS + 8]; /* the calls of the source that it refuses */
static vec stream;
static run runs[2];
static int skewed;

typedef struct {
  conformance_source source;
  pages *real;
} adapter;

static void *take(conformance_source *self, size_t size) {
  pages *real = ((adapter *)(void *)self)->real;
  uint64_t call = real->calls + 1;
  if (size > LARGEST && !is_in(stream.fail_at, call)) fails[stream.fail_at.count++] = (uint32_t)call;
  skew = skewed ? (size_t)(call * 7 % 16) * 4096 : 0;
  return real->source.take(&real->source, size);
}

static void put(conformance_source *self, void *block, size_t size) {
  pages *real = ((adapter *)(void *)self)->real;
  real->source.put(&real->source, block, size);
}

static toft_arena *make_one(int i, vector_source *source, uint64_t budget, size_t reserve) {
  static adapter adapters[2] = {{{take, put}, NULL}, {{take, put}, NULL}};
  adapters[i].real = (pages *)(void *)source;
  return providers[i]->make(&adapters[i].source, budget, reserve);
}

static toft_arena *make_in_c(vector_source *s, uint64_t budget, size_t reserve) {
  return make_one(0, s, budget, reserve);
}
static toft_arena *make_in_rust(vector_source *s, uint64_t budget, size_t reserve) {
  return make_one(1, s, budget, reserve);
}

/* ---- calls, inline or by ops ---- */

static int by_ops;

static void *call_alloc(toft_arena *a, size_t n, size_t align, int zero) {
  if (by_ops || zero || align == 0 || (align & (align - 1)) != 0)
    return a->ops->alloc(a, n, align, zero ? TOFT_ZERO : 0, 0);
  return align == 8 ? toft_alloc(a, n) : toft_alloc_aligned(a, n, align);
}

static void *call_resize(toft_arena *a, void *p, size_t old, size_t n, size_t align, uint32_t flags) {
  if (by_ops || flags != 0 || align == 0 || (align & (align - 1)) != 0)
    return a->ops->resize(a, p, old, n, align, flags, 0);
  return toft_resize(a, p, old, n, align);
}

static void call_free(toft_arena *a, void *p, size_t n) {
  if (!by_ops)
    toft_free(a, p, n);
  else if (a->ops->free != NULL)
    a->ops->free(a, p, n);
}

static toft_mark call_mark(toft_arena *a) { return toft_mark_here(a); }
static int call_rewind(toft_arena *a, toft_mark m) {
  return by_ops ? a->ops->rewind(a, m.cursor, m.epoch) : toft_rewind(a, m);
}
static int call_reset(toft_arena *a, uint32_t policy, size_t keep) { return a->ops->reset(a, policy, keep); }
static void call_trim(toft_arena *a, size_t keep) { a->ops->trim(a, keep); }
static int call_budget(toft_arena *a, uint64_t n) { return a->ops->set(a, TOFT_SET_BUDGET, n, NULL, 0); }
static toft_cleanup *call_cleanup(toft_arena *a, void (*fn)(void *), void *arg) { return a->ops->cleanup(a, fn, arg); }
static void *call_claim(toft_arena *a, toft_range *r, size_t n, size_t align) { return a->ops->claim(a, r, n, align); }
static int call_give(toft_arena *a, toft_range *r) { return a->ops->give(a, r); }
static void call_stats(toft_arena *a, toft_stats *out) { a->ops->stats(a, out, sizeof *out); }

static void release_one(toft_arena *a, int i) { providers[i]->release(a); }
static void release_in_c(toft_arena *a) { release_one(a, 0); }
static void release_in_rust(toft_arena *a) { release_one(a, 1); }

#define BINDING(name, make, release)                                                                           \
  {                                                                                                            \
    name, 0, make, release, call_alloc, call_resize, call_free, call_mark, call_rewind, call_reset, call_trim, \
        call_budget, call_cleanup, call_claim, call_give, call_stats, 1, NULL                                  \
  }
static binding bindings[2] = {BINDING("C", make_in_c, release_in_c), BINDING("Rust", make_in_rust, release_in_rust)};

/* ---- the trace of a stream: its operations and C's answers ---- */

static FILE *trace; /* NULL: none */

static void trace_list(const char *name, const size_t *sizes, size_t count) {
  fprintf(trace, ", \"%s\": [", name);
  for (size_t i = 0; i < count; i++) fprintf(trace, "%s%zu", i != 0 ? ", " : "", sizes[i]);
  fprintf(trace, "]");
}

static const page *page_of(const run *r, const void *p) {
  for (const page *g = r->src.out; g != NULL; g = g->next)
    if ((uintptr_t)p > (uintptr_t)g->base && (uintptr_t)p - (uintptr_t)g->base <= g->size) return g;
  return NULL;
}

static void trace_answers(const run *r, const toft_stats *st, const toft_stats *none) {
  size_t ran[64];
  fprintf(trace, ", \"answers\": {\"code\": %d, \"at\": [", r->code);
  for (size_t i = 0; i < r->at_count; i++) {
    const page *g = page_of(r, r->at[i]);
    if (i != 0) fputs(", ", trace);
    if (g != NULL)
      fprintf(trace, "[%zu, %zu]", g->size, (size_t)((const unsigned char *)r->at[i] - g->base));
    else
      fprintf(trace, "null");
  }
  fprintf(trace, "]");
  trace_list("took", r->src.took, r->src.took_count);
  trace_list("gave", r->src.gave, r->src.gave_count);
  for (size_t i = 0; i < r->ran_count; i++) ran[i] = (size_t)r->ran[i];
  trace_list("ran", ran, r->ran_count);
  if (st != none)
    fprintf(trace, ", \"live\": %llu, \"blocks\": %llu", (unsigned long long)st->live, (unsigned long long)st->blocks);
  fprintf(trace, "}");
}

/* Sets a tag. Vectors have no such op; in a trace it sets the present budget, which begins an epoch as well. */
#define TAG VEC_REPEAT

static void trace_op(const vec_op *op, int first, uint64_t budget) {
  static const char *const names[] = {"alloc",      "allocs",        "resize",     "free",   "mark",        "rewind",
                                      "rewind_raw", "reset",         "trim",       "budget", "set_unknown", "cleanup",
                                      "cancel",     "claim",         "claim_past", "fill",   "copy",        "give",
                                      "give_past",  "release_early", "budget"};
  static const char *const policies[] = {"recent", "all", "bytes", "nonsense"};
  fprintf(trace, "%s\n {\"op\": \"%s\"", first ? "" : ",", names[op->kind]);
  switch (op->kind) {
    case VEC_ALLOC:
    case VEC_RESIZE:
    case VEC_CLAIM: fprintf(trace, ", \"n\": %zu, \"align\": %zu", op->n, op->align); break;
    case VEC_RESET: fprintf(trace, ", \"policy\": \"%s\"", policies[op->policy < 3 ? op->policy : 3]);
    /* fallthrough */
    case VEC_TRIM: fprintf(trace, ", \"keep\": %zu", op->n); break;
    case VEC_BUDGET: budget = op->budget;
    /* fallthrough */
    case TAG: fprintf(trace, ", \"n\": %llu", (unsigned long long)budget); break;
    case VEC_CLAIM_PAST:
    case VEC_FILL:
    case VEC_GIVE_PAST: fprintf(trace, ", \"n\": %ld", op->plus); break;
    case VEC_REWIND_RAW: fprintf(trace, ", \"plus\": %ld, \"epoch_plus\": %ld", op->plus, op->epoch_plus); break;
    default: break;
  }
  if (op->id >= 0) fprintf(trace, ", \"id\": %d", op->id);
  if (op->zero) fprintf(trace, ", \"zero\": true");
  if (op->stay) fprintf(trace, ", \"stay\": true");
  if (op->foreign) fprintf(trace, ", \"foreign\": true");
}

static void trace_end(void) {
  fprintf(trace, "],\n\"fail_at\": [");
  for (uint32_t i = 0; i < stream.fail_at.count; i++) fprintf(trace, "%s%u", i != 0 ? ", " : "", fails[i]);
  fprintf(trace, "]}\n");
}

/* ---- the comparison ---- */

static uintptr_t first_epochs[2];

static uint64_t place(const run *r, const void *p) {
  const page *g = page_of(r, p);
  int is_empty = r->op->kind == VEC_RESIZE && r->op->n == 0; /* its block may have been returned */
  if (p != NULL && g == NULL && !is_empty) wrong(r, "%p is in no block of the arena", p);
  return g != NULL ? g->call << 40 | (uint64_t)((const unsigned char *)p - g->base) : 0;
}

#define EQUAL(what, member)                                                              \
  do {                                                                                   \
    const run *r = &runs[1];                                                             \
    long long in_c = (long long)(runs[0].member), in_rust = (long long)(runs[1].member); \
    if (in_c != in_rust) wrong(r, "%s: C %lld, Rust %lld", what, in_c, in_rust);         \
  } while (0)

static void compare_places(const char *what, const void *in_c, const void *in_rust) {
  uint64_t c = place(&runs[0], in_c), rust = place(&runs[1], in_rust), offset = ((uint64_t)1 << 40) - 1;
  if (c != rust)
    wrong(&runs[1], "%s: C's is block %llu + %llu, Rust's block %llu + %llu", what, (unsigned long long)(c >> 40),
          (unsigned long long)(c & offset), (unsigned long long)(rust >> 40), (unsigned long long)(rust & offset));
}

static void compare_traffic(void) {
  EQUAL("blocks taken", src.took_count);
  EQUAL("blocks given back", src.gave_count);
  EQUAL("calls of the source", src.calls);
  EQUAL("cleanups run", ran_count);
  for (size_t i = 0; i < runs[0].src.took_count; i++) EQUAL("a block taken", src.took[i]);
  for (size_t i = 0; i < runs[0].src.gave_count; i++) EQUAL("a block given back", src.gave[i]);
  for (size_t i = 0; i < runs[0].ran_count; i++) EQUAL("a cleanup run", ran[i]);
  for (int i = 0; i < 2; i++) {
    if (runs[i].open) wrong(&runs[i], "the arena is open while a cleanup runs");
    if (runs[i].src.strange) wrong(&runs[i], "gave a block that it did not take");
  }
}

static void compare_stats(const toft_stats *c, const toft_stats *rust) {
  static const char *const names[] = {"live",     "allocated", "peak",   "budget",
                                      "reserved", "wasted",    "blocks", "source_calls"};
  uint64_t in_c[8], in_rust[8];
  memcpy(in_c, c, sizeof in_c);
  memcpy(in_rust, rust, sizeof in_rust);
  for (size_t i = 0; i < 8; i++)
    if (in_c[i] != in_rust[i] && !(i != 0 && i < 3 && is_instrumented()))
      wrong(&runs[1], "%s: C %llu, the other %llu", names[i], (unsigned long long)in_c[i],
            (unsigned long long)in_rust[i]);
}

static void compare_settings(void) {
  for (uint32_t what = TOFT_SET_BUDGET; what <= TOFT_SET_CHECKED && both(CONFORMANCE_QUERY); what++) {
    uint64_t values[2] = {0, 0};
    for (int i = 0; i < 2; i++) runs[i].code = toft_info_of(runs[i].a)->query(runs[i].a, what, &values[i]);
    EQUAL("a setting's code", code);
    if (values[0] != values[1])
      wrong(&runs[1], "setting %u: C %llu, the other %llu", what, (unsigned long long)values[0],
            (unsigned long long)values[1]);
  }
}

/* Everything that both did in the last op. */
static void compare(int quiet) {
  toft_stats st[2];
  EQUAL("the code", code);
  EQUAL("the number of addresses", at_count);
  for (size_t i = 0; i < runs[0].at_count; i++) compare_places("the address", runs[0].at[i], runs[1].at[i]);
  compare_places("the cursor", runs[0].a->cursor, runs[1].a->cursor);
  compare_places("the limit", runs[0].a->limit, runs[1].a->limit);
  uintptr_t grown = runs[0].a->epoch - first_epochs[0], other = runs[1].a->epoch - first_epochs[1];
  if ((grown ^ other) > is_instrumented()) wrong(&runs[1], "the epoch grew otherwise");
  compare_traffic();
  for (int i = 0; i < 2; i++) check_head(&runs[i]);
  for (int i = 0; i < 2 && !quiet; i++) call_stats(runs[i].a, &st[i]);
  if (!quiet) compare_stats(&st[0], &st[1]);
  if (trace != NULL) trace_answers(&runs[0], &st[quiet], &st[1]);
  if (!quiet) compare_settings();
  for (int i = 0; i < 2; i++)
    runs[i].src.took_count = runs[i].src.gave_count = runs[i].ran_count = runs[i].at_count = 0;
  for (int i = 0; i < 2; i++) runs[i].code = 0;
}

/* ---- bytes to operations that a client may do ---- */

enum { IDS = 8, MARKS = 5, RANGES = 2, CLEANUPS = 14 };
static struct {
  int marks[MARKS], mark_count; /* that may be rewound to, oldest first */
  int registered[CLEANUPS];
  int holder; /* the range that holds the claim; -1: none */
  unsigned char *start;
  long last_fill;
  uint64_t budget;
  int is_small, has_huge_alignments;
} client;

static size_t size_of(unsigned b, unsigned c) {
  static const size_t near[] = {3584, 8192 - 64, 16384 - 64, 65536 - 64, 131072 - 512, 262144, 262144 + 64, 1048576};
  static const size_t huge[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4, SIZE_MAX / 4 + 1,
                                9u << 20, 2u << 20,     5u << 20,     262145};
  switch (b & 15) {
    case 0: return c % 10;
    case 8: return c * 2;
    case 9: return c * 4 + (b >> 4);
    case 10: return client.is_small ? c : near[c & 7] + (c >> 3) % 5 * 4 - 8;
    case 11: return client.is_small ? c * 16 : c * 1024 + (b >> 4);
    case 12: return c * 16;
    case 13: return c * 32 + (b >> 4);
    case 14: return c * 8;
    case 15: return client.is_small && c % 8 > 3 ? c : huge[c & 7] - (c >> 3) * (c % 8 < 4);
    default: return c & 127;
  }
}

static size_t align_of(unsigned a) {
  if (a < 160) return 8;
  if (a < 176) return (size_t)1 << (a & 3);
  if (a < 208) return a & 1 ? 64 : 16;
  if (a < 246) return (size_t)1 << (a % 13);
  if (a < 250 && client.has_huge_alignments) return (size_t)8192 << (a & 3);
  static const size_t strange[] = {
      0, 3, 24, SIZE_MAX, (size_t)1 << (sizeof(size_t) * 8 - 2), (size_t)1 << (sizeof(size_t) * 8 - 1)};
  return a >= 250 ? strange[a - 250] : 32;
}

/* An id whose allocation is live, or NULL; -1: there is none from b on. */
static int live_id(unsigned b) {
  for (unsigned i = 0; i < IDS; i++) {
    int id = (int)((b + i) % IDS);
    const slot *s = &runs[0].slots[id];
    if (s->p == NULL ? i == 0 && b >= 240 : entry_of(&runs[0], s) != NULL) return id;
  }
  return -1;
}

static int known_mark(unsigned b) { return client.marks[b % (unsigned)client.mark_count]; }

static const enum vec_kind kinds[] = {
    VEC_ALLOC,  VEC_ALLOC,  VEC_ALLOC, VEC_ALLOC,      VEC_ALLOC,     VEC_ALLOC,      VEC_ALLOC,         VEC_ALLOC,
    VEC_ALLOC,  VEC_ALLOC,  VEC_ALLOC, VEC_ALLOC,      VEC_ALLOC,     VEC_ALLOC,      VEC_ALLOC,         VEC_ALLOC,
    VEC_ALLOC,  VEC_ALLOC,  VEC_ALLOC, VEC_ALLOC,      VEC_RESIZE,    VEC_RESIZE,     VEC_RESIZE,        VEC_RESIZE,
    VEC_RESIZE, VEC_RESIZE, VEC_FREE,  VEC_FREE,       VEC_FREE,      VEC_FREE,       VEC_FREE,          VEC_MARK,
    VEC_MARK,   VEC_MARK,   VEC_MARK,  VEC_MARK,       VEC_REWIND,    VEC_REWIND,     VEC_REWIND,        VEC_REWIND,
    VEC_REWIND, VEC_REWIND, VEC_RESET, VEC_CLEANUP,    VEC_CLEANUP,   VEC_CLEANUP,    VEC_CANCEL,        VEC_CLAIM,
    VEC_CLAIM,  VEC_CLAIM,  VEC_FILL,  VEC_FILL,       VEC_FILL,      VEC_GIVE,       VEC_GIVE,          VEC_GIVE,
    VEC_BUDGET, VEC_TRIM,   VEC_RESET, VEC_REWIND_RAW, VEC_GIVE_PAST, VEC_CLAIM_PAST, VEC_RELEASE_EARLY, TAG};
static const size_t keeps_of[] = {0, 5000, 100000, 400000, 2u << 20, 70u << 20, SIZE_MAX, 4096};

/* Moves the holder's cursor: forwards, or back into its last fill. */
static int decode_fill(vec_op *op, const toft_range *held, unsigned a, unsigned b, unsigned c) {
  if (held == NULL) return 0;
  op->id = client.holder;
  op->plus = (long)(b * 8 + c);
  if (op->plus > held->limit - held->cursor) op->plus = held->limit - held->cursor;
  if (a < 50) op->plus = client.last_fill != 0 ? -(long)(c % (unsigned)client.last_fill) : 0;
  return op->plus != 0;
}

/* 0: it would break a rule for clients, or have no effect. */
static int decode(const uint8_t *step, vec_op *op) {
  unsigned a = step[1], b = step[2], c = step[3];
  const toft_range *held = client.holder >= 0 ? &runs[0].ranges[client.holder] : NULL;
  memset(op, 0, sizeof *op);
  op->kind = kinds[step[0] & 63];
  op->id = -1;
  op->align = 8;
  switch (op->kind) {
    case VEC_ALLOC:
      op->id = (b >> 4) < IDS ? (int)(b >> 4) : -1;
      op->n = size_of(b, c);
      op->align = align_of(a);
      op->zero = (a & 15) == 3;
      return 1;
    case VEC_RESIZE:
      op->id = live_id(b >> 4);
      if (op->id < 0) return 0;
      op->old = runs[0].slots[op->id].n;
      op->n = size_of(b, c);
      op->align = align_of(a);
      op->zero = (a & 15) == 3;
      op->stay = (a & 7) == 5;
      return 1;
    case VEC_FREE: /* the newest, more often than not */
      op->id = live_id(b);
      for (int i = 0; i < IDS && a < 160; i++)
        if (runs[0].slots[i].p != NULL && runs[0].slots[i].serial == runs[0].serial) op->id = live_id((unsigned)i);
      return op->id >= 0 && runs[0].slots[op->id].p != NULL;
    case VEC_MARK: op->id = (int)(b % MARKS); return held == NULL;
    case VEC_REWIND: /* the newest, as the end of a scope, more often than not */
      if (client.mark_count == 0) return 0;
      op->id = a < 128 ? client.marks[client.mark_count - 1] : known_mark(b);
      return 1;
    case VEC_REWIND_RAW:
      if (client.mark_count == 0) return 0;
      op->id = known_mark(b);
      op->foreign = a % 4 == 0;
      op->plus = a % 4 == 1 ? 4 : 0;
      op->epoch_plus = a % 4 == 2 ? 1 : a % 4 == 3 ? 1 << 20 : 0;
      return 1;
    case VEC_RESET:
      op->policy = a % 13 == 12 ? NO_POLICY : a % 3;
      op->n = keeps_of[b & 7];
      return 1;
    case VEC_TRIM: op->n = keeps_of[b & 7]; return 1;
    case VEC_BUDGET: op->budget = a < 100 ? UINT64_MAX : (uint64_t)b * c + (a & 7) * 1000; return 1;
    case VEC_CLEANUP: op->id = (int)(b % CLEANUPS); return !client.registered[op->id];
    case VEC_CANCEL: op->id = (int)(b % CLEANUPS); return client.registered[op->id] == 1;
    case VEC_CLAIM:
      op->id = a % 4 != 0 && held != NULL ? client.holder : (int)(b % RANGES);
      op->n = a < 80 ? 0 : size_of(b, c);
      op->align = align_of(a);
      return 1;
    case VEC_FILL: return decode_fill(op, held, a, b, c);
    case VEC_GIVE: op->id = held != NULL && a < 240 ? client.holder : (int)(b % RANGES); return 1;
    case VEC_GIVE_PAST:
    case VEC_CLAIM_PAST:
      if (held == NULL) return 0;
      op->id = client.holder;
      op->plus = a & 1 ? held->limit - held->cursor + 8 * (1 + (int)b) : client.start - held->cursor - 1 - (int)b;
      return 1;
    case VEC_RELEASE_EARLY: return held != NULL;
    case TAG:
      op->n = b % 5;
      return held == NULL && both(CONFORMANCE_TAG); /* while one is claimed a provider may set it or refuse (4 set) */
    default: return 0;
  }
}

/* The client's state after the op, which had the same answers on both sides. */
static void learn(const vec_op *op) {
  run *r = &runs[0];
  switch (op->kind) {
    case VEC_MARK: {
      int count = 0;
      for (int i = 0; i < client.mark_count; i++)
        if (client.marks[i] != op->id) client.marks[count++] = client.marks[i];
      client.marks[count++] = op->id;
      client.mark_count = count;
      break;
    }
    case VEC_REWIND:
      while (r->code == TOFT_OK && client.marks[client.mark_count - 1] != op->id) client.mark_count--;
      break;
    case VEC_RESET: client.mark_count = r->code == TOFT_OK ? 0 : client.mark_count; break;
    case VEC_BUDGET: client.budget = r->code == TOFT_OK ? op->budget : client.budget; break;
    case VEC_CLEANUP: client.registered[op->id] = r->at[0] != NULL; break;
    case VEC_CANCEL: client.registered[op->id] = 0; break;
    case VEC_CLAIM:
      if (r->at[0] == NULL) break;
      client.holder = op->id;
      client.last_fill = 0;
      client.start = r->ranges[op->id].cursor;
      if (op->n != 0 && (const unsigned char *)r->at[0] + (op->n + 7) / 8 * 8 == client.start)
        client.start -= (op->n + 7) / 8 * 8;
      break;
    case VEC_FILL: client.last_fill = op->plus > 0 ? op->plus : 0; break;
    case VEC_GIVE: client.holder = r->ranges[op->id].claim == 0 && op->id == client.holder ? -1 : client.holder; break;
    default: break;
  }
  for (size_t i = 0; i < r->ran_count; i++) client.registered[r->ran[i]] = 0;
}

/* ---- one stream ---- */

static uint64_t executed;

static void play_step(const vec_op *op, int quiet, int first) {
  if (trace != NULL) trace_op(op, first, client.budget);
  bindings[0].quiet = bindings[1].quiet = quiet;
  for (int i = 0; i < 2; i++) {
    run *r = &runs[i];
    r->op = op;
    if (op->kind == TAG)
      r->code = r->a->ops->set(r->a, TOFT_SET_TAG, op->n, NULL, 0);
    else
      play_one(r, op);
  }
  executed++;
  learn(op);
  compare(quiet);
  if (trace != NULL) fprintf(trace, "}");
}

static void play_stream(const uint8_t *bytes, size_t size, int is_traced) {
  static const uint64_t budgets[] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 5000, 70001, 3u << 20, 300};
  static const size_t reserves[] = {0, 0, 0, 0, 5000, 30000, 100000, 2u << 20};
  static vec_op ops[STEPS + 1]; /* for the numbers in messages */
  vec_op *op = ops;
  stream.ops = ops;
  memset(&client, 0, sizeof client);
  client.holder = -1;
  client.is_small = (bytes[0] & 3) != 0;
  skewed = (bytes[0] & 12) == 12 && !is_traced; /* the model takes bases as aligned */
  client.has_huge_alignments = (bytes[0] & 48) == 48;
  int may_be_quiet = (bytes[0] & 64) != 0;
  client.budget = stream.budget = budgets[bytes[1] & 7];
  stream.reserve = reserves[bytes[2] & 7];
  stream.name = "stream";
  stream.policy = 1;
  stream.fail_at.items = fails;
  stream.fail_at.count = 0;
  if ((bytes[2] & 48) == 48)
    for (int i = 3; i < 6; i++) fails[stream.fail_at.count++] = 1 + (bytes[i] & 31);
  if (trace != NULL)
    fprintf(trace, "{\"budget\": %llu, \"reserve\": %zu, \"ops\": [", (unsigned long long)stream.budget,
            stream.reserve);
  for (int i = 0; i < 2; i++) {
    run *r = &runs[i];
    r->v = r->src.v = &stream;
    r->binding = &bindings[i];
    r->src.source.take = page_take;
    r->src.source.put = page_put;
    r->a = bindings[i].make(&r->src.source, stream.budget, stream.reserve);
  }
  EQUAL("an arena was made", a != NULL);
  if (runs[0].a == NULL) {
    if (trace != NULL) trace_end();
    return;
  }
  for (int i = 0; i < 2; i++) {
    runs[i].src.took_count = 0;
    first_epochs[i] = runs[i].a->epoch & ~(uintptr_t)1;
  }
  for (size_t at = HEAD; at + STEP <= size && at < HEAD + STEP * STEPS; at += STEP) {
    const uint8_t *step = &bytes[at];
    if ((step[0] & 63) == 42 && step[1] < 200) { /* in place of most of these resets */
      uint32_t next = (uint32_t)runs[0].src.calls + 1;
      if (step[1] < 60 && !is_in(stream.fail_at, next)) fails[stream.fail_at.count++] = next;
      continue;
    }
    if (!decode(step, op)) continue;
    by_ops = step[0] >> 7;
    if (toggle != NULL && step[3] % 16 == 0 && client.holder < 0 && toggle(runs[1].a) != TOFT_OK)
      wrong(&runs[1], "the instrument stays as it is");
    play_step(op, may_be_quiet && (step[0] & 64) != 0, op == ops);
    op++;
  }
  for (int i = 0; i < 2; i++) check_contents(&runs[i]);
  if (client.holder >= 0) {
    *op = (vec_op){.kind = VEC_GIVE, .id = client.holder};
    play_step(op, 0, op == ops);
  }
  if (trace != NULL) trace_end();
  for (int i = 0; i < 2; i++) {
    bindings[i].release(runs[i].a);
    runs[i].a = NULL;
  }
  compare_traffic();
  for (int i = 0; i < 2; i++)
    if (runs[i].src.out != NULL) wrong(&runs[i], "a block was not given back");
}

/* 0: no difference. Otherwise `message` describes it. */
static int differs(const uint8_t *bytes, size_t size, int is_traced) {
  int bad = setjmp(failed);
  if (bad == 0) play_stream(bytes, size, is_traced);
  if (bad != 0 && trace != NULL) {
    fprintf(trace, "}");
    trace_end();
  }
  for (int i = 0; i < 2; i++) {
    run *r = &runs[i];
    while (r->src.out != NULL) {
      page_put(&r->src.source, r->src.out->base, r->src.out->size);
      r->src.gave_count = 0;
    }
    entry *entries = r->entries;
    size_t capacity = r->entry_capacity;
    memset(r, 0, sizeof *r);
    r->entries = entries;
    r->entry_capacity = capacity;
  }
  return bad;
}

/* ---- streams in which the providers differ ---- */

/* Leaves out steps while the providers still differ. */
static size_t shrink(uint8_t *bytes, size_t size) {
  static uint8_t shorter[HEAD + STEP * STEPS];
  for (size_t steps = (size - HEAD) / STEP / 2; steps != 0; steps /= 2) {
    for (size_t at = HEAD; at + steps * STEP <= size;) {
      size_t rest = size - at - steps * STEP;
      memcpy(shorter, bytes, at);
      memcpy(shorter + at, bytes + at + steps * STEP, rest);
      if (differs(shorter, at + rest, 0)) {
        size = at + rest;
        memcpy(bytes, shorter, size);
      } else {
        at += steps * STEP;
      }
    }
  }
  return size;
}

static void report(uint8_t *bytes, size_t size, const char *folder, uint64_t number) {
  static char path[4096];
  size = shrink(bytes, size);
  snprintf(path, sizeof path, "%s/failure-%llu.json", folder, (unsigned long long)number);
  trace = fopen(path, "w");
  if (trace == NULL) perror(path);
  differs(bytes, size, 0);
  if (trace != NULL) fclose(trace);
  trace = NULL;
  printf("FAILED stream %llu: %s\n  %s\n", (unsigned long long)number, message, path);
  fflush(stdout);
}

#ifdef FUZZ
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static uint8_t copy[HEAD + STEP * STEPS];
  load_providers();
  if (size < HEAD) return 0;
  if (size > sizeof copy) size = sizeof copy;
  memcpy(copy, bytes, size);
  if (!differs(copy, size, 0)) return 0;
  const char *folder = getenv("DIFFERENTIAL");
  report(copy, size, folder != NULL ? folder : ".", 0);
  abort();
}
#else
static uint64_t random_state;

static uint64_t next_random(void) { /* splitmix64 */
  uint64_t z = random_state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static int play_vectors(void) {
  int bad = 0;
  for (int i = 0; i < 2; i++) {
    bindings[i].records = bindings[i].quiet = 0;
    for (size_t n = 0; n < COUNT; n++) {
      const char *result = wanted(&vectors[n], NULL) ? outcome(&vectors[n], &bindings[i]) : NULL;
      if (result != NULL) printf("FAILED %s\n", result);
      bad += result != NULL;
    }
  }
  printf("%d of %zu played vectors failed\n", bad, 2 * COUNT);
  return bad != 0;
}

int main(int argc, char **argv) {
  static uint8_t bytes[HEAD + STEP * STEPS];
  static char path[4096];
  load_providers();
  if (argc != 5) return argc == 1 ? play_vectors() : 2;
  uint64_t wanted = strtoull(argv[1], NULL, 10), seed = strtoull(argv[2], NULL, 10),
           every = strtoull(argv[3], NULL, 10);
  uint64_t done = 0, number = seed, failures = 0;
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  snprintf(path, sizeof path, "%s/traces", argv[4]);
  FILE *traces = fopen(path, "w");
  if (traces == NULL) return 2;
  for (; done < wanted && failures < 10; number++) {
    static const size_t lengths[] = {30, 100, 100, STEPS};
    random_state = number;
    size_t size = HEAD + STEP * lengths[next_random() % 4];
    for (size_t i = 0; i < size; i += 8) {
      uint64_t word = next_random();
      memcpy(&bytes[i], &word, 8);
    }
    int is_traced = number % every == 0;
    trace = is_traced ? traces : NULL;
    executed = 0;
    int bad = differs(bytes, size, is_traced);
    done += executed;
    trace = NULL;
    if (bad) {
      failures++;
      report(bytes, size, argv[4], number);
    }
  }
  fclose(traces);
  printf("%llu operations in %llu streams on both providers, %llu streams differ\n", (unsigned long long)done,
         (unsigned long long)(number - seed), (unsigned long long)failures);
  return failures != 0;
}
#endif
