/* Plays one of abi/vectors and compares every answer. "vectors.h" is made by abi/model/to_c.py. The binding supplies
 * the provider and the client; the player itself needs the ABI alone.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_VECTOR_PLAYER_H
#define TOFT_TEST_VECTOR_PLAYER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page_memory.h"

#include "vectors.h"

typedef struct vector_source vector_source;
struct vector_source {
  void *(*take)(vector_source *self, size_t size);
  void (*put)(vector_source *self, void *block, size_t size);
};

typedef struct binding {
  const char *name;
  int quiet;                                                                   /* no statistics between ops */
  toft_arena *(*make)(vector_source *source, uint64_t budget, size_t reserve); /* UINT64_MAX: none */
  void (*release)(toft_arena *a);
  void *(*alloc)(toft_arena *a, size_t n, size_t align, int zero);
  void *(*resize)(toft_arena *a, void *p, size_t old, size_t n, size_t align, uint32_t flags);
  void (*free)(toft_arena *a, void *p, size_t n);
  toft_mark (*mark)(toft_arena *a);
  int (*rewind)(toft_arena *a, toft_mark m);
  int (*reset)(toft_arena *a, uint32_t policy, size_t keep);
  void (*trim)(toft_arena *a, size_t keep);
  int (*budget)(toft_arena *a, uint64_t bytes);
  toft_cleanup *(*cleanup)(toft_arena *a, void (*fn)(void *), void *arg);
  void *(*claim)(toft_arena *a, toft_range *range, size_t n, size_t align);
  int (*give)(toft_arena *a, toft_range *range);
  void (*stats)(toft_arena *a, toft_stats *out);
  int records; /* answers are recorded in the run, for the caller to compare, and not compared with the vector's */
  const char *(*between)(toft_arena *a); /* NULL, or called after each op: the rule that is broken, or NULL */
} binding;

/* ---- a source of pages that logs, and fails as the vector requires ---- */

typedef struct page {
  struct page *next;
  unsigned char *base;
  size_t size;
  uint64_t call; /* the source's call that it came with */
} page;

typedef struct {
  vector_source source; /* first, so that its address is that of all of it */
  const vec *v;
  page *out; /* what the arena holds, newest first */
  uint64_t calls, bytes;
  size_t took[256], gave[256], took_count, gave_count; /* since the op began */
  int strange;                                         /* it got back a block that it did not grant */
} pages;

typedef struct {
  const unsigned char *p;
  size_t n;
  uint64_t serial; /* when it was made, as marks count */
  unsigned seed;
} entry; /* a live allocation, filled with a pattern */

typedef struct {
  unsigned char *p;
  size_t n;
  uint64_t serial;
} slot; /* the object of an id */

typedef struct {
  toft_mark mark;
  uint64_t serial;
} point;

typedef struct run run;
typedef struct {
  run *r;
  int id;
  toft_cleanup *node;
} cleanup;

struct run {
  const vec *v;
  const binding *binding;
  const vec_op *op;
  toft_arena *a;
  pages src;
  unsigned char *base[256]; /* of block i, once an address in it was seen */
  entry *entries;
  size_t entry_count, entry_capacity;
  uint64_t serial;
  slot slots[16];
  point points[16];
  toft_range ranges[4];
  cleanup cleanups[16];
  int ran[64];
  size_t ran_count;
  int open; /* a cleanup found the arena open */
  int code; /* the last op's answers, where the binding records: its code, and its addresses in order */
  const void *at[3];
  size_t at_count;
};

enum { NO_POLICY = 99, NO_SETTING = 99 }; /* no provider has these */

static jmp_buf failed;
enum { WRONG = 1, TOO_SMALL }; /* TOO_SMALL: a vector of the rules fills more than the provider's range has */
static char message[512];
static enum vec_kind wrong_kind; /* of the op with the last difference; VEC_REPEAT: none */

static void wrong(const run *r, const char *format, ...) {
  size_t used = (size_t)snprintf(message, sizeof message, "%s [%s], op %ld: ", r->v->name, r->binding->name,
                                 r->op != NULL ? (long)(r->op - r->v->ops) + 1 : 0L);
  va_list args;
  wrong_kind = r->op != NULL ? r->op->kind : VEC_REPEAT;
  va_start(args, format);
  vsnprintf(message + used, sizeof message - used, format, args);
  va_end(args);
  longjmp(failed, WRONG);
}

#define SAME(what, got, want)                                               \
  do {                                                                      \
    long long got_ = (long long)(got), want_ = (long long)(want);           \
    if (got_ != want_) wrong(r, "%s is %lld, not %lld", what, got_, want_); \
  } while (0)

static int is_in(vec_list list, uint64_t n) {
  for (uint32_t i = 0; i < list.count; i++)
    if (list.items[i] == n) return 1;
  return 0;
}

static void *page_take(vector_source *self, size_t size) {
  pages *s = (pages *)(void *)self;
  if (is_in(s->v->fail_at, ++s->calls)) return NULL;
  page *g = (page *)malloc(sizeof *g);
  unsigned char *base = (unsigned char *)page_memory(size);
  if (g == NULL || base == NULL || size % 4096 != 0 || s->took_count == 256) abort();
  memset(base, 0xA5, size < 1u << 20 ? size : 1u << 20); /* so that memory which was not zeroed shows */
  g->base = base;
  g->size = size;
  g->call = s->calls;
  g->next = s->out;
  s->out = g;
  s->bytes += size;
  s->took[s->took_count++] = size;
  return base;
}

static void page_put(vector_source *self, void *block, size_t size) {
  pages *s = (pages *)(void *)self;
  for (page **at = &s->out; *at != NULL; at = &(*at)->next) {
    page *g = *at;
    if (g->base != block || g->size != size || s->gave_count == 256) continue;
    *at = g->next;
    s->bytes -= size;
    s->gave[s->gave_count++] = size;
    page_memory_free(g->base, size);
    free(g);
    return;
  }
  s->strange = 1;
}

/* ---- contents: live allocations keep their bytes, and do not overlap ---- */

#ifndef SAMPLED
#define SAMPLED ((size_t)32768) /* of a large allocation, so much at each end */
#endif

static unsigned char pattern(unsigned seed, size_t i) { return (unsigned char)(seed * 131u + i * 7u + (i >> 8)); }

static void fill(entry *e) {
  unsigned char *p = (unsigned char *)(uintptr_t)e->p;
  for (size_t i = 0; i < e->n; i++) {
    if (i == SAMPLED && e->n > 2 * SAMPLED) i = e->n - SAMPLED;
    p[i] = pattern(e->seed, i);
  }
}

/* p has the first `kept` bytes of e. */
static void intact(run *r, const entry *e, const unsigned char *p, size_t kept) {
  for (size_t i = 0; i < kept; i++) {
    if (i == SAMPLED && e->n > 2 * SAMPLED) i = e->n - SAMPLED;
    if (i < kept && p[i] != pattern(e->seed, i)) wrong(r, "byte %zu of an allocation of %zu was overwritten", i, e->n);
  }
}

/* Live allocations are contained. While a range is claimed either answer is right for its bytes, and none is checked.
 * A negative answer: the provider does not support the operation. */
static void check_contains(run *r) {
  const toft_arena *a = r->a;
  for (size_t i = 0; i < sizeof r->ranges / sizeof r->ranges[0]; i++)
    if (r->binding->quiet || r->ranges[i].claim != 0) return;
  if (a->ops->contains(a, message) < 0) return;
  for (size_t i = 0; i < r->entry_count; i++) {
    const entry *e = &r->entries[i];
    if (e->n != 0 && (a->ops->contains(a, e->p) != 1 || a->ops->contains(a, e->p + e->n - 1) != 1))
      wrong(r, "an allocation of %zu that the arena does not contain", e->n);
  }
  if (a->ops->contains(a, message) > 0) wrong(r, "the arena contains what is not its memory");
}

static void check_contents(run *r) {
  for (size_t i = 0; i < r->entry_count; i++) intact(r, &r->entries[i], r->entries[i].p, r->entries[i].n);
  check_contains(r);
}

static uint64_t enter(run *r, unsigned char *p, size_t n) {
  if (r->entry_count == r->entry_capacity) {
    r->entry_capacity = r->entry_capacity * 2 + 64;
    r->entries = (entry *)realloc(r->entries, r->entry_capacity * sizeof *r->entries);
    if (r->entries == NULL) abort();
  }
  for (size_t i = 0; r->v->policy == 0 && i < r->entry_count; i++) {
    const entry *e = &r->entries[i];
    if (n != 0 && e->n != 0 && p < e->p + e->n && e->p < p + n) wrong(r, "an allocation overlaps one of %zu", e->n);
  }
  entry *e = &r->entries[r->entry_count++];
  e->p = p;
  e->n = n;
  e->serial = ++r->serial;
  e->seed = (unsigned)r->serial;
  fill(e);
  return e->serial;
}

static entry *entry_of(run *r, const slot *s) {
  for (size_t i = r->entry_count; i-- > 0;)
    if (r->entries[i].serial == s->serial) return &r->entries[i];
  return NULL;
}

static void forget(run *r, const slot *s) {
  entry *e = entry_of(r, s);
  if (e != NULL) *e = r->entries[--r->entry_count];
}

static void forget_since(run *r, uint64_t serial) {
  size_t kept = 0;
  for (size_t i = 0; i < r->entry_count; i++)
    if (r->entries[i].serial <= serial) r->entries[kept++] = r->entries[i];
  r->entry_count = kept;
}

/* The holder of a range moved its cursor back to `end`. */
static void shorten(run *r, const unsigned char *end) {
  for (size_t i = 0; i < r->entry_count; i++) {
    entry *e = &r->entries[i];
    if (e->p <= end && end < e->p + e->n) e->n = (size_t)(end - e->p);
  }
}

/* ---- expected addresses and codes ---- */

/* The code of the op, which is `want` where the vector has no other. */
static int check_code(run *r, int code, int want) {
  if (!r->binding->records) SAME("the code", code, want);
  return r->code = code;
}

static void check_address(run *r, const void *pointer, vec_at want) {
  unsigned char *p = (unsigned char *)(uintptr_t)pointer;
  if (r->binding->records) {
    r->at[r->at_count++] = pointer;
    return;
  }
  if (p == NULL && want.block == VEC_NULL) return;
  if (p != NULL && want.block == VEC_NULL) wrong(r, "not NULL");
  if (p == NULL) wrong(r, want.block == VEC_ANY ? "NULL" : "NULL, not block %d + %u", want.block, want.offset);
  /* The end of one block may be the base of another: the expected result decides between them. */
  const page *in = NULL, *at = NULL;
  for (const page *g = r->src.out; g != NULL; g = g->next) {
    if ((uintptr_t)p - (uintptr_t)g->base <= g->size) in = g;
    if ((uintptr_t)p - (uintptr_t)g->base == want.offset && want.offset <= g->size) at = g;
  }
  if (in == NULL) wrong(r, "%p is in no block of the arena", (void *)p);
  if (want.block == VEC_ANY) return;
  if (at == NULL)
    wrong(r, "%ld into a block of %zu, not block %d + %u", (long)(p - in->base), in->size, want.block, want.offset);
  for (int i = 0; i < 256; i++) {
    if (i == want.block && r->base[i] == NULL) r->base[i] = at->base;
    if ((i == want.block) != (r->base[i] == at->base)) wrong(r, "blocks %d and %d are mixed up", i, want.block);
  }
}

static void blocks_may_move(run *r) { memset(&r->base[1], 0, sizeof r->base - sizeof r->base[0]); }

/* ---- one op ---- */

/* The provider's functions are below it on the stack: it must not jump. */
static void on_cleanup(void *arg) {
  cleanup *c = (cleanup *)arg;
  run *r = c->r;
  toft_arena *a = r->a;
  toft_range range = {NULL, NULL, 0};
  int budget = a->ops->set(a, TOFT_SET_BUDGET, 0, NULL, 0);
  if (r->ran_count < sizeof r->ran / sizeof r->ran[0]) r->ran[r->ran_count++] = c->id;
  if (r->binding->alloc(a, 8, 8, 0) != NULL || r->binding->rewind(a, r->binding->mark(a)) != TOFT_EBUSY ||
      a->ops->reset(a, TOFT_KEEP_RECENT, 0) != TOFT_EBUSY || a->ops->cleanup(a, on_cleanup, c) != NULL ||
      a->ops->claim(a, &range, 0, 8) != NULL || (budget != TOFT_EBUSY && budget != TOFT_ENOSYS) ||
      a->ops->reset(a, NO_POLICY, 0) != TOFT_EARG || a->ops->set(a, NO_SETTING, 0, NULL, 0) != TOFT_ENOSYS)
    r->open = 1;
  a->ops->trim(a, 0);
  a->ops->release(a); /* ignored */
}

static void check_fresh(run *r, unsigned char *p, const vec_op *op, size_t n, size_t from) {
  if (p == NULL) return;
  if (((uintptr_t)p & (op->align - 1)) != 0) wrong(r, "not aligned to %zu", op->align);
  for (size_t i = from; op->zero && i < n; i++)
    if (p[i] != 0) wrong(r, "byte %zu of %zu is not zeroed", i, n);
}

static void play_alloc(run *r, const vec_op *op) {
  unsigned char *p = (unsigned char *)r->binding->alloc(r->a, op->n, op->align, op->zero);
  check_address(r, p, op->at);
  check_fresh(r, p, op, op->n, 0);
  if (p == NULL) return;
  uint64_t serial = enter(r, p, op->n);
  if (op->id >= 0) r->slots[op->id] = (slot){p, op->n, serial};
}

static void play_allocs(run *r, const vec_op *op) {
  for (uint32_t i = 0; i < op->times; i++) {
    unsigned char *p = (unsigned char *)r->binding->alloc(r->a, op->n, op->align, op->zero);
    if (i == 0) check_address(r, p, op->at);
    if (i == op->times - 1) check_address(r, p, op->last);
    if (p == NULL) wrong(r, "NULL at allocation %u", i);
    check_fresh(r, p, op, op->n, 0);
    enter(r, p, op->n);
  }
}

static void play_resize(run *r, const vec_op *op) {
  slot *s = &r->slots[op->id];
  SAME("the old size", s->n, op->old);
  const entry *e = entry_of(r, s);
  entry old = e != NULL ? *e : (entry){NULL, 0, 0, 0};
  uint32_t flags = (op->zero ? TOFT_ZERO : 0u) | (op->stay ? TOFT_STAY : 0u);
  unsigned char *p = (unsigned char *)r->binding->resize(r->a, s->p, s->n, op->n, op->align, flags);
  blocks_may_move(r);
  if (op->at.block != VEC_STAYS)
    check_address(r, p, op->at);
  else if (p != s->p)
    wrong(r, "it moved");
  check_fresh(r, p, op, op->n, s->n);
  if (p == NULL) return;
  if (e != NULL) intact(r, &old, p, old.n < op->n ? old.n : op->n);
  if (e != NULL) forget(r, s);
  *s = (slot){p, op->n, enter(r, p, op->n)};
}

static void play_rewind_raw(run *r, const vec_op *op) {
  static unsigned char foreign[64];
  toft_mark m = r->points[op->id].mark;
  uintptr_t at = (uintptr_t)m.cursor + (uintptr_t)(intptr_t)op->plus;
  m.cursor = op->foreign ? foreign + (8 - (uintptr_t)foreign % 8) % 8 : (unsigned char *)at;
  m.epoch += (uintptr_t)(intptr_t)op->epoch_plus;
  if (check_code(r, r->a->ops->rewind(r->a, m.cursor, m.epoch), op->code) != TOFT_OK) return;
  forget_since(r, r->points[op->id].serial);
  blocks_may_move(r);
}

static void play_claim(run *r, const vec_op *op) {
  toft_range *range = &r->ranges[op->id], was = *range;
  void *p = r->binding->claim(r->a, range, op->n, op->align);
  check_address(r, p, op->at);
  if (p == NULL) {
    if (was.claim != 0 && memcmp(&was, range, sizeof was) != 0) wrong(r, "a failed claim changed the range");
    return;
  }
  if (range->claim == 0) wrong(r, "a claimed range without an owner");
  toft_stats st;
  (void)r->a->ops->stats(r->a, &st, sizeof st);
  uint64_t left = (uint64_t)(range->limit - range->cursor);
  if (left != 0 && st.live + left > st.budget) wrong(r, "a claimed range has more than the budget");
  if (r->v->policy != 0) {
    check_address(r, range->cursor, op->from);
    check_address(r, range->limit, op->to);
  }
  if (r->a->limit != r->a->cursor || !(r->a->epoch & 1)) wrong(r, "the head is open while claimed");
  if (op->n != 0) enter(r, (unsigned char *)p, op->n);
}

static void play_claim_past(run *r, const vec_op *op) {
  toft_range *range = &r->ranges[op->id], was = *range;
  range->cursor = (unsigned char *)((uintptr_t)was.cursor + (uintptr_t)(intptr_t)op->plus);
  if (r->a->ops->claim(r->a, range, 0, 8) != NULL) wrong(r, "a range whose cursor is elsewhere was claimed");
  range->cursor = was.cursor;
  if (memcmp(&was, range, sizeof was) != 0) wrong(r, "a failed claim changed the range");
}

static void play_give(run *r, const vec_op *op) {
  toft_range *range = &r->ranges[op->id];
  unsigned char *was = range->cursor;
  if (op->kind == VEC_GIVE_PAST) range->cursor = (unsigned char *)((uintptr_t)was + (uintptr_t)(intptr_t)op->plus);
  int code = check_code(r, r->binding->give(r->a, range), op->code);
  if (op->kind == VEC_GIVE_PAST)
    range->cursor = was;
  else if (code == TOFT_OK && (range->cursor != NULL || range->limit != NULL || range->claim != 0))
    wrong(r, "a range that was given is not zeroed");
}

static void play_one(run *r, const vec_op *op) {
  toft_arena *a = r->a;
  slot *s = op->kind == VEC_FREE ? &r->slots[op->id] : NULL;
  cleanup *c = op->kind == VEC_CLEANUP || op->kind == VEC_CANCEL ? &r->cleanups[op->id] : NULL;
  switch (op->kind) {
    case VEC_ALLOC: play_alloc(r, op); break;
    case VEC_ALLOCS: play_allocs(r, op); break;
    case VEC_RESIZE: play_resize(r, op); break;
    case VEC_FREE:
      check_contents(r);
      forget(r, s);
      r->binding->free(a, s->p, s->n);
      *s = (slot){NULL, 0, 0};
      blocks_may_move(r);
      break;
    case VEC_MARK: r->points[op->id] = (point){r->binding->mark(a), r->serial}; break;
    case VEC_REWIND:
      check_contents(r);
      if (check_code(r, r->binding->rewind(a, r->points[op->id].mark), op->code) != TOFT_OK) break;
      forget_since(r, r->points[op->id].serial);
      blocks_may_move(r);
      break;
    case VEC_REWIND_RAW: play_rewind_raw(r, op); break;
    case VEC_RESET:
      check_contents(r);
      if (check_code(r, r->binding->reset(a, op->policy, op->n), op->code) != TOFT_OK) break;
      forget_since(r, 0);
      blocks_may_move(r);
      break;
    case VEC_TRIM: r->binding->trim(a, op->n); break;
    case VEC_BUDGET: check_code(r, r->binding->budget(a, op->budget), op->code); break;
    case VEC_CLEANUP:
      c->r = r;
      c->id = op->id;
      c->node = r->binding->cleanup(a, on_cleanup, c);
      check_address(r, c->node, op->at);
      break;
    case VEC_CANCEL: c->node->fn = NULL; break;
    case VEC_SET_UNKNOWN: check_code(r, a->ops->set(a, NO_SETTING, 0, NULL, 0), op->code); break;
    case VEC_CLAIM: play_claim(r, op); break;
    case VEC_CLAIM_PAST: play_claim_past(r, op); break;
    case VEC_COPY: r->ranges[op->id] = r->ranges[op->of]; break;
    case VEC_RELEASE_EARLY: a->ops->release(a); break;
    case VEC_FILL:
      if (op->plus > r->ranges[op->id].limit - r->ranges[op->id].cursor) longjmp(failed, TOO_SMALL);
      if (op->plus > 0) enter(r, r->ranges[op->id].cursor, (size_t)op->plus);
      r->ranges[op->id].cursor += op->plus;
      if (op->plus < 0) shorten(r, r->ranges[op->id].cursor);
      break;
    case VEC_GIVE:
    case VEC_GIVE_PAST: play_give(r, op); break;
    case VEC_REPEAT: break;
  }
}

/* ---- what every op is checked for ---- */

static int by_size(const void *a, const void *b) {
  size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return (x > y) - (x < y);
}

static void check_sizes(const run *r, const char *what, const size_t *sizes, size_t count, vec_list want) {
  for (uint32_t i = 0; i < want.count || i < count; i++) {
    if (i >= want.count) wrong(r, "%s %zu, which was not expected", what, sizes[i]);
    if (i >= count) wrong(r, "%s nothing, not %u", what, want.items[i]);
    if (sizes[i] != want.items[i]) wrong(r, "%s %zu, not %u", what, sizes[i], want.items[i]);
  }
}

static void check_traffic(run *r, vec_list took, vec_list gave, vec_list ran) {
  if (r->v->policy != 0) {
    qsort(r->src.gave, r->src.gave_count, sizeof r->src.gave[0], by_size);
    check_sizes(r, "took", r->src.took, r->src.took_count, took);
    check_sizes(r, "gave", r->src.gave, r->src.gave_count, gave);
  }
  SAME("the number of cleanups run", r->ran_count, ran.count);
  for (uint32_t i = 0; i < ran.count; i++) SAME("a cleanup run", r->ran[i], ran.items[i]);
  if (r->open) wrong(r, "the arena is open while a cleanup runs");
  if (r->src.strange) wrong(r, "gave a block that it did not take");
  r->src.took_count = r->src.gave_count = r->ran_count = 0;
}

static void check_head(const run *r) {
  const toft_arena *a = r->a;
  if (a->cursor == NULL || a->cursor > a->limit || (uintptr_t)a->cursor % 8 != 0 || (uintptr_t)a->limit % 8 != 0)
    wrong(r, "cursor and limit are not multiples of 8, in order");
}

static void check_stats(run *r, const vec_op *op) {
  toft_stats st;
  r->binding->stats(r->a, &st);
  if (op->live != VEC_OPEN) SAME("live", st.live, op->live);
  if (op->blocks != VEC_OPEN) SAME("blocks", st.blocks, op->blocks);
  SAME("reserved", st.reserved, r->src.bytes);
  if (r->v->policy != 0) SAME("source_calls", st.source_calls, r->src.calls);
}

static void play_ops(run *r, const vec_op *ops, uint32_t count, int last) {
  for (uint32_t i = 0; i < count; i++) {
    r->op = &ops[i];
    if (ops[i].kind == VEC_REPEAT) {
      uint32_t times = ops[i].times, body = ops[i].body;
      for (uint32_t k = 1; k <= times; k++) play_ops(r, &ops[i + 1], body, last && k == times && i + body == count - 1);
      i += body;
      continue;
    }
    play_one(r, &ops[i]);
    const char *broken = r->binding->between != NULL ? r->binding->between(r->a) : NULL;
    if (broken != NULL) wrong(r, "%s", broken);
    check_traffic(r, ops[i].took, ops[i].gave, ops[i].ran);
    check_head(r);
    if (!r->binding->quiet || (last && i == count - 1)) check_stats(r, &ops[i]);
  }
}

static void play(const vec *v, const binding *h, run *r) {
  r->v = r->src.v = v;
  r->binding = h;
  if (v->ids > 16 || v->marks > 16 || v->ranges > 4 || v->cleanups > 16) abort();
  r->src.source.take = page_take;
  r->src.source.put = page_put;
  r->a = h->make(&r->src.source, v->budget, v->reserve);
  if ((r->a != NULL) != v->created) wrong(r, "creation should have %s", v->created ? "worked" : "failed");
  if (r->a == NULL) return;
  vec_list none = {NULL, 0}, first = {(const uint32_t[]){4096}, 1};
  check_traffic(r, first, none, none);
  r->base[0] = r->src.out->base;
  play_ops(r, v->ops, v->count, 1);
  check_contents(r);
  h->release(r->a);
  r->a = NULL;
  r->op = NULL;
  check_traffic(r, none, v->gave, v->ran);
  if (r->src.out != NULL) wrong(r, "a block was not given back");
}

/* Plays one vector by one binding: NULL, or a description of the difference. */
static const char *outcome(const vec *v, const binding *h) {
  run *r = (run *)calloc(1, sizeof *r);
  if (r == NULL) abort();
  const char *volatile result = NULL;
  switch (setjmp(failed)) {
    case 0: play(v, h, r); break;
    case WRONG: result = message; break;
    default: break;
  }
  while (r->src.out != NULL) page_put(&r->src.source, r->src.out->base, r->src.out->size);
  free(r->entries);
  free(r);
  return result;
}

#define COUNT (sizeof vectors / sizeof vectors[0])

static int wanted(const vec *v, const char *part) {
  return (part == NULL || strstr(v->name, part) != NULL) && (!v->word64 || sizeof(void *) == 8);
}

#endif
