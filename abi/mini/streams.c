/* Random operations on arenas of toft_mini.h against a model of its blocks, on a source that refuses at random and
 * places blocks at rising or falling addresses, or where malloc does. Then equal rounds, retention, and two threads.
 *
 *     streams [SEEDS]    1000 unless it is given
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stddef.h>
#include <stdint.h>

static void *take(size_t size);
static void put(void *block, size_t size);
#define TOFT_MINI_TAKE(size) take(size)
#define TOFT_MINI_PUT(block, size) put(block, size)
#include "toft_mini.h"
#ifdef THREADS
#include <pthread.h>
#define PER_THREAD __thread
#else
#define PER_THREAD
#endif

#define CHECK(condition, ...)               \
  do {                                      \
    if (!(condition)) {                     \
      printf("FAILED line %d: ", __LINE__); \
      printf(__VA_ARGS__);                  \
      printf(" (%s)\n", #condition);        \
      exit(1);                              \
    }                                       \
  } while (0)

/* ---- the source ---- */

enum { POOL = 24 << 20, BLOCKS = 512 };
typedef struct {
  unsigned char *base;
  size_t size;
} range;
static PER_THREAD struct {
  unsigned char *pool;
  size_t used, owed, largest; /* largest: larger requests are refused; 0: none */
  range out[BLOCKS];
  int count, falling, from_malloc;
  unsigned refuses; /* of 100 calls */
  unsigned long calls, refused;
} source;
static PER_THREAD uint64_t state;

static unsigned pick(unsigned n) { /* below n */
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)((state >> 33) % n);
}

static void *take(size_t size) {
  unsigned char *p = NULL;
  source.calls++;
  CHECK(size != 0 && size % 4096 == 0, "block of %zu bytes", size);
  if (pick(100) < source.refuses || source.count == BLOCKS || size > POOL - source.used ||
      (source.largest != 0 && size > source.largest)) {
    source.refused++;
    return NULL;
  }
  if (source.from_malloc)
    p = (unsigned char *)malloc(size);
  else
    p = source.falling ? source.pool + (POOL - source.used - size) : source.pool + source.used;
  if (p == NULL) return NULL;
  source.used += size;
  source.owed += size;
  memset(p, 0xA5, size);
  source.out[source.count].base = p;
  source.out[source.count++].size = size;
  return p;
}

static void put(void *block, size_t size) {
  int i = 0;
  while (i < source.count && source.out[i].base != block) i++;
  CHECK(i < source.count && source.out[i].size == size, "a block that was not taken");
  memset(block, 0xDD, size);
  source.owed -= size;
  source.out[i] = source.out[--source.count];
  if (source.from_malloc) free(block);
}

static int owned(const unsigned char *p, size_t n) { /* in a block that is out, 64 bytes above its base (M8) */
  for (int i = 0; i < source.count; i++) {
    uintptr_t at = (uintptr_t)p - (uintptr_t)source.out[i].base;
    if (at >= 64 && at <= source.out[i].size && n <= source.out[i].size - at) return 1;
  }
  return 0;
}

/* ---- the model ---- */

enum { ENTRIES = 2048, MARKS = 16, PARTS = BLOCKS };
typedef struct {
  unsigned char *p;
  size_t n;
  unsigned char fill;
} entry;
typedef struct {
  toft_mark mark;
  size_t entries, notes, parts;
  uintptr_t start; /* of the block */
} point;
static PER_THREAD struct {
  toft_arena *a;
  entry entries[ENTRIES];
  size_t entry_count;
  point marks[MARKS], stale[MARKS];
  size_t mark_count, stale_count;
  int notes[ENTRIES]; /* cleanups, oldest first */
  size_t note_count, ran;
  struct {
    uintptr_t start, used;
  } parts[PARTS]; /* the blocks in use, oldest first; the last one is used up to the cursor */
  size_t part_count;
  int closed_rules;
} t;

static unsigned char fill_of(size_t i) { return (unsigned char)(i * 37 + 11); }

static void check_contents(void) {
  for (size_t i = 0; i < t.entry_count; i++) {
    const entry *e = &t.entries[i];
    if (e->n != 0)
      CHECK(e->p[0] == e->fill && e->p[e->n - 1] == e->fill && e->p[e->n / 2] == e->fill, "entry %zu of %zu", i, e->n);
  }
}

static uint64_t live(void) {
  uint64_t sum = 0;
  for (size_t i = 0; i < t.part_count; i++)
    sum += (i + 1 == t.part_count ? (uintptr_t)t.a->cursor : t.parts[i].used) - t.parts[i].start;
  return sum;
}

static void check_state(void) {
  const toft_arena *a = t.a;
  CHECK(a->cursor != NULL && a->cursor <= a->limit, "M1");
  CHECK((uintptr_t)a->cursor % 8 == 0 && (uintptr_t)a->limit % 8 == 0, "M1");
  CHECK(owned(a->cursor, 0) && owned(a->limit, 0), "M1: outside the blocks");
  toft_stats s = toft_get_stats(t.a);
  CHECK(s.live == live(), "live is %llu, not %llu", (unsigned long long)s.live, (unsigned long long)live());
  CHECK(s.reserved == source.owed && s.source_calls == source.calls, "the source's numbers");
  CHECK(s.blocks == t.part_count, "blocks are %llu, not %zu", (unsigned long long)s.blocks, t.part_count);
  CHECK(s.peak >= s.live && s.allocated >= s.peak && s.wasted <= s.reserved && s.budget == UINT64_MAX, "statistics");
}

static void note_block(unsigned char *was, unsigned char *p) { /* after an allocation: whether a block came */
  size_t top = t.part_count - 1;
  uintptr_t start = t.parts[top].start, at = (uintptr_t)p;
  for (int i = 0; i < source.count; i++) {
    uintptr_t base = (uintptr_t)source.out[i].base, first = ((base + 63) & ~(uintptr_t)63) + 64;
    if (at < base || at > base + source.out[i].size || (start > base && start <= base + source.out[i].size)) continue;
    if (at < first) continue;
    t.parts[top].used = (uintptr_t)was;
    t.parts[t.part_count].start = first;
    t.part_count++;
    return;
  }
  CHECK(p >= was, "an allocation below the cursor");
}

static void add(unsigned char *was, void *result, size_t n, size_t align) {
  unsigned char *p = (unsigned char *)result;
  CHECK((uintptr_t)p % 8 == 0 && ((uintptr_t)p & (align - 1)) == 0, "not aligned to %zu", align);
  CHECK(owned(p, n), "outside the blocks");
  CHECK((size_t)(t.a->cursor - p) >= n, "the cursor is inside");
  note_block(was, p);
  t.entries[t.entry_count].p = p;
  t.entries[t.entry_count].n = n;
  t.entries[t.entry_count].fill = fill_of(t.entry_count);
  memset(p, fill_of(t.entry_count), n);
  t.entry_count++;
}

static void cleanup(void *arg) {
  toft_arena *a = t.a;
  int number = *(int *)arg;
  CHECK(t.ran < t.note_count && t.notes[t.note_count - 1 - t.ran] == number, "M16: order of cleanups");
  t.ran++;
  unsigned char *cursor = a->cursor;
  toft_mark m = toft_mark_here(a);
  CHECK(a->limit == a->cursor && (a->epoch & 1) != 0, "M16: sealed");
  CHECK(toft_alloc(a, 8) == NULL && a->ops->alloc(a, 8, 8, 0, 0) == NULL, "M16: alloc");
  CHECK(a->ops->alloc(a, 0, 8, 0, 0) == cursor && a->ops->alloc(a, 0, 3, 0, 0) == NULL, "M6");
  CHECK(toft_rewind(a, m) == TOFT_EBUSY && a->ops->rewind(a, NULL, 0) == TOFT_EBUSY, "M16: rewind");
  CHECK(toft_reset(a) == TOFT_EBUSY && a->ops->reset(a, 99, 0) == TOFT_EARG, "M16: reset");
  CHECK(toft_cleanup_add(a, cleanup, arg) == NULL, "M16: cleanup");
  if (t.entry_count != 0) {
    const entry *e = &t.entries[t.entry_count - 1];
    CHECK(toft_resize(a, e->p, e->n, e->n / 2, 8) == NULL && toft_resize(a, e->p, e->n, e->n + 8, 8) == NULL, "M16");
    toft_free(a, e->p, e->n);
    a->ops->free(a, e->p, e->n);
  }
  unsigned long calls = source.calls;
  size_t owed = source.owed;
  toft_trim(a, 0);
  toft_release(a);
  CHECK(source.calls == calls && source.owed == owed && a->cursor == cursor, "M16: free, trim, release");
  check_contents();
}

/* ---- operations ---- */

static size_t some_size(void) {
  switch (pick(12)) {
    case 0: return 0;
    case 1: return pick(100000);
    case 2: return pick(6000);
    case 3: return pick(400) == 0 ? 700000 : 4096;
    default: return pick(300);
  }
}

static size_t some_align(void) { return pick(4) != 0 ? (size_t)1 << pick(5) : (size_t)1 << pick(13); }

static const size_t impossible[] = {SIZE_MAX, SIZE_MAX - 7, SIZE_MAX / 2, PTRDIFF_MAX, (size_t)PTRDIFF_MAX / 2 + 1};

static void refusals_keep(unsigned char *cursor, uint64_t before) {
  CHECK(t.a->cursor == cursor && live() == before, "4: a failure changes the arena");
}

static void op_alloc(void) {
  toft_arena *a = t.a;
  unsigned char *was = a->cursor, *p;
  size_t n = some_size(), align = some_align();
  int zero = pick(4) == 0, by_ops = pick(3) == 0;
  unsigned long refused = source.refused;
  uint64_t before = live();
  if (by_ops)
    p = (unsigned char *)a->ops->alloc(a, n, align, zero ? TOFT_ZERO : 0, 0);
  else if (zero)
    p = (unsigned char *)toft_alloc_zeroed(a, n, align);
  else
    p = (unsigned char *)(pick(2) ? toft_alloc_aligned(a, n, align) : toft_alloc(a, (align = 8, n)));
  if (p == NULL) {
    CHECK(source.refused != refused, "NULL without a refusal");
    refusals_keep(was, before);
    return;
  }
  for (size_t i = 0; zero && i < n; i++) CHECK(p[i] == 0, "byte %zu is not zero", i);
  add(was, p, n, align);
}

static void op_refused(void) {
  toft_arena *a = t.a;
  unsigned char *was = a->cursor;
  uint64_t before = live();
  size_t n = impossible[pick(5)], calls = source.calls;
  CHECK(toft_alloc(a, n) == NULL && toft_alloc_aligned(a, n, 64) == NULL, "a size of %zu", n);
  CHECK(a->ops->alloc(a, 8, 0, 0, 0) == NULL && a->ops->alloc(a, 0, 24, 0, 0) == NULL, "no power of two");
  CHECK(a->ops->alloc(a, 8, SIZE_MAX / 2 + 1, 0, 0) == NULL && toft_alloc_aligned(a, 8, 0) == NULL, "alignment");
  CHECK(toft_new_array(a, uint64_t, SIZE_MAX / 8 + 1) == NULL, "a product that overflows");
  CHECK(a->ops->resize(a, was, n, 8, 8, 0, 0) == NULL, "an old size that is impossible");
  CHECK(a->ops->resize(a, NULL, 8, 8, 8, 0, 0) == NULL, "NULL of 8 bytes");
  CHECK(a->ops->rewind(a, was, (a->epoch | 1) - 2) == TOFT_EMARK, "M14: odd");
  CHECK(a->ops->rewind(a, was, (a->epoch & ~(uintptr_t)1) + 2) == TOFT_EMARK, "M14: above the epoch");
  CHECK(a->ops->rewind(a, was + 4, a->epoch & ~(uintptr_t)1) == TOFT_EMARK, "M14: not a multiple of 8");
  CHECK(a->ops->rewind(a, NULL, 0) == TOFT_EMARK && a->ops->rewind(a, was, 0) == TOFT_EMARK, "M11: zeroed");
  CHECK(a->ops->rewind(a, (unsigned char *)&before, a->epoch & ~(uintptr_t)1) == TOFT_EMARK, "M14: outside");
  CHECK(
      a->ops->rewind(a, (unsigned char *)(t.parts[t.part_count - 1].start - 8), a->epoch & ~(uintptr_t)1) == TOFT_EMARK,
      "M14: below the first byte");
  CHECK(a->ops->reset(a, 3, 0) == TOFT_EARG && a->ops->set(a, TOFT_SET_BUDGET, 1, NULL, 0) == TOFT_ENOSYS, "codes");
  CHECK(source.calls == calls, "M9: the source was called");
  refusals_keep(was, before);
}

static void op_resize(void) {
  toft_arena *a = t.a;
  if (t.entry_count == 0) return;
  size_t i = pick(2) ? t.entry_count - 1 : pick((unsigned)t.entry_count), n = some_size(), align = some_align();
  size_t first = t.mark_count != 0 ? t.marks[t.mark_count - 1].entries : 0;
  if (i < first) return; /* its bytes belong to an outer scope */
  entry e = t.entries[i];
  if (e.n == 0) return; /* several of them share an address */
  uint32_t flags = (pick(2) ? TOFT_ZERO : 0) | (pick(4) ? 0 : TOFT_STAY);
  unsigned char *was = a->cursor, *p;
  uint64_t before = live();
  unsigned long refused = source.refused;
  int newest = (size_t)(was - e.p) == toft_mini_span(e.n), aligned = ((uintptr_t)e.p & (align - 1)) == 0;
  if (flags == 0 && pick(2))
    p = (unsigned char *)toft_resize(a, e.p, e.n, n, align);
  else
    p = (unsigned char *)a->ops->resize(a, e.p, e.n, n, align, flags, 0);
  if (p == NULL) {
    CHECK(source.refused != refused || (flags & TOFT_STAY) != 0, "NULL without a refusal");
    CHECK(!aligned || n > e.n, "a shrink is refused");
    refusals_keep(was, before);
    return;
  }
  CHECK(((uintptr_t)p & (align - 1)) == 0, "resize: not aligned to %zu", align);
  if (aligned && n <= e.n) CHECK(p == e.p && (newest || a->cursor == was), "a shrink moves");
  if ((flags & TOFT_STAY) != 0) CHECK(p == e.p, "TOFT_STAY moves");
  size_t kept = n < e.n ? n : e.n;
  for (size_t k = 0; k < kept; k++) CHECK(p[k] == e.fill, "resize loses byte %zu", k);
  for (size_t k = e.n; (flags & TOFT_ZERO) != 0 && k < n; k++) CHECK(p[k] == 0, "resize: byte %zu is not zero", k);
  CHECK(owned(p, n), "outside the blocks");
  if (p == e.p) {
    if (newest) CHECK(a->cursor == p + toft_mini_span(n), "resize: the cursor");
    t.entries[i].n = n;
    memset(p, e.fill, n);
  } else {
    add(was, p, n, align);
  }
}

static void op_free(void) {
  if (t.entry_count == 0) return;
  size_t i = pick(3) ? t.entry_count - 1 : pick((unsigned)t.entry_count);
  size_t first = t.mark_count != 0 ? t.marks[t.mark_count - 1].entries : 0;
  entry e = t.entries[i];
  unsigned char *was = t.a->cursor;
  int newest = (size_t)(was - e.p) == toft_mini_span(e.n);
  if (i < first || (newest && i + 1 != t.entry_count)) return;
  if (pick(2))
    toft_free(t.a, e.p, e.n);
  else
    t.a->ops->free(t.a, e.p, e.n);
  CHECK(t.a->cursor == (newest ? e.p : was), "free");
  if (newest) t.entry_count--;
}

static void op_mark(void) {
  if (t.mark_count == MARKS) return;
  point *m = &t.marks[t.mark_count++];
  m->mark = toft_mark_here(t.a);
  m->entries = t.entry_count;
  m->notes = t.note_count;
  m->parts = t.part_count;
  m->start = t.parts[t.part_count - 1].start;
}

static void retire(const point *m) {
  if (t.stale_count < MARKS) t.stale[t.stale_count++] = *m;
}

static void op_rewind(void) {
  if (t.mark_count == 0) return;
  size_t i = pick(2) ? t.mark_count - 1 : pick((unsigned)t.mark_count);
  point m = t.marks[i];
  unsigned char *was = t.a->cursor;
  uintptr_t epoch = t.a->epoch & ~(uintptr_t)1;
  int code = pick(2) ? toft_rewind(t.a, m.mark) : t.a->ops->rewind(t.a, m.mark.cursor, m.mark.epoch);
  CHECK(code == TOFT_OK, "rewind is %d", code);
  CHECK(t.ran == t.note_count - m.notes, "cleanups run: %zu of %zu", t.ran, t.note_count - m.notes);
  uintptr_t end = m.parts == t.part_count ? (uintptr_t)was : t.parts[m.parts - 1].used;
  uintptr_t want = (uintptr_t)m.mark.cursor < end ? (uintptr_t)m.mark.cursor : end;
  CHECK((uintptr_t)t.a->cursor == want, "M15: the cursor");
  if (m.parts != t.part_count) CHECK((t.a->epoch & ~(uintptr_t)1) > epoch, "M11: another block");
  for (size_t k = i + 1; k < t.mark_count; k++)
    if (t.marks[k].parts > m.parts) retire(&t.marks[k]);
  t.ran = 0;
  t.note_count = m.notes;
  t.part_count = m.parts;
  if (t.entry_count > m.entries) t.entry_count = m.entries;
  t.mark_count = i + 1;
}

static void op_stale(void) { /* marks whose block went away */
  uintptr_t start = t.parts[t.part_count - 1].start;
  unsigned char *was = t.a->cursor;
  for (size_t i = 0; i < t.stale_count; i++) {
    toft_mark m = t.stale[i].mark;
    CHECK(toft_rewind(t.a, m) == TOFT_EMARK, "a stale mark is accepted");
    CHECK(t.a->cursor == was && t.parts[t.part_count - 1].start == start, "a stale mark moves the cursor");
  }
}

static void op_cleanup(void) {
  toft_arena *a = t.a;
  if (t.entry_count == 0 || t.note_count == ENTRIES) return;
  unsigned char *was = a->cursor;
  uintptr_t epoch = a->epoch & ~(uintptr_t)1;
  uint64_t before = live();
  t.notes[t.note_count] = (int)t.note_count;
  toft_cleanup *c = toft_cleanup_add(a, cleanup, &t.notes[t.note_count]);
  if (c == NULL) {
    refusals_keep(was, before);
    return;
  }
  CHECK((a->epoch & ~(uintptr_t)1) > epoch, "M11: a cleanup");
  CHECK(owned((unsigned char *)c, sizeof *c), "a node outside the blocks");
  note_block(was, (unsigned char *)c);
  t.note_count++;
}

static void op_reset(void) {
  uint32_t policy = pick(3);
  size_t keep = pick(200000);
  uintptr_t epoch = t.a->epoch & ~(uintptr_t)1;
  CHECK(t.a->ops->reset(t.a, policy, keep) == TOFT_OK && t.ran == t.note_count, "reset: %zu cleanups", t.ran);
  CHECK((t.a->epoch & ~(uintptr_t)1) > epoch, "M11: reset");
  t.stale_count = 0;
  for (size_t i = 0; i < t.mark_count; i++) retire(&t.marks[i]);
  if (policy == TOFT_KEEP_BYTES) CHECK(source.owed <= 4096 + keep, "TOFT_KEEP_BYTES keeps %zu", source.owed);
  t.entry_count = t.mark_count = t.note_count = t.ran = 0;
  t.part_count = 1;
  CHECK(live() == 0, "live after a reset");
}

static void begin(uint64_t seed, unsigned refuses) {
  unsigned char *pool = source.pool;
  memset(&source, 0, sizeof source);
  source.pool = pool;
  state = seed * 2862933555777941757u + 3037000493u;
  (void)pick(2);
  source.falling = seed % 3 == 1;
  source.from_malloc = seed % 3 == 2;
  source.refuses = refuses;
  t.a = toft_create();
  t.entry_count = t.mark_count = t.stale_count = t.note_count = t.ran = 0;
  if (t.a == NULL) return;
  t.parts[0].start = (uintptr_t)t.a->cursor;
  t.part_count = 1;
  CHECK(t.parts[0].start % 64 == 0, "M7");
}

static void stream(uint64_t seed) {
  static void (*const ops[])(void) = {op_alloc, op_alloc,   op_alloc, op_alloc,  op_resize,  op_resize,
                                      op_free,  op_refused, op_mark,  op_rewind, op_cleanup, op_stale};
  begin(seed, (unsigned)(seed % 4) * 12);
  if (t.a == NULL) {
    CHECK(source.count == 0, "a failed creation keeps a block");
    return;
  }
  for (int i = 0; i < 300 && t.entry_count + 2 < ENTRIES && t.part_count + 2 < PARTS; i++) {
    if (pick(60) == 0)
      op_reset();
    else if (pick(60) == 0)
      toft_trim(t.a, pick(100000));
    else
      ops[pick(sizeof ops / sizeof ops[0])]();
    if (pick(4) == 0) check_state();
    if (pick(8) == 0) check_contents();
  }
  check_contents();
  toft_release(t.a);
  CHECK(t.ran == t.note_count, "release: %zu cleanups of %zu", t.ran, t.note_count);
  CHECK(source.count == 0 && source.owed == 0, "release keeps %d blocks", source.count);
}

/* ---- retention ---- */

static void fill_round(int shape) {
  for (int i = 0; i < 3000; i++) {
    size_t n = shape == 0 ? 40 : shape == 1 ? (size_t)(i % 50) * 30 : i % 500 == 0 ? 150000 : 24;
    CHECK(toft_alloc_aligned(t.a, n, shape == 3 ? 4096 >> (i % 10) : 8) != NULL, "no memory");
    if (shape == 3 && i == 200) return;
  }
}

static void equal_rounds(void) {
  for (int shape = 0; shape < 4; shape++) {
    begin(2, 0);
    for (int round = 0; round < 30; round++) {
      unsigned long calls = source.calls;
      fill_round(shape);
      CHECK(round < 19 || source.calls == calls, "shape %d: round %d calls the source", shape, round + 1);
      CHECK(toft_reset(t.a) == TOFT_OK, "reset");
      source.used = 0;
    }
    size_t kept = source.owed;
    CHECK(kept > 4096, "a reset keeps nothing");
    toft_trim(t.a, kept);
    CHECK(source.owed == kept, "a trim to what is kept returns a block");
    toft_trim(t.a, 0);
    CHECK(source.owed == 4096, "a trim to 0 keeps %zu", source.owed);
    toft_release(t.a);
    CHECK(source.owed == 0, "release");
  }
}

static void peaks_go(void) { /* a peak is forgotten, and small rounds do not keep its memory */
  begin(2, 0);
  for (int i = 0; i < 300; i++) {
    CHECK(toft_alloc(t.a, i < 3 ? 8 << 20 : 1000) != NULL, "no memory");
    CHECK(toft_reset(t.a) == TOFT_OK, "reset");
    source.used = 0;
    if (i == 2) CHECK(source.owed > 8 << 20, "recent need is not kept");
  }
  CHECK(source.owed < 100000, "%zu bytes are kept", source.owed);
  toft_release(t.a);
}

static void strings(void) {
  begin(2, 0);
  char *s = toft_printf(t.a, "%s %d", "node", 7), *u = toft_strndup(t.a, "abcdef", 3), *v = toft_strdup(t.a, "");
  CHECK(s != NULL && strcmp(s, "node 7") == 0 && strcmp(u, "abc") == 0 && v[0] == 0, "strings");
  CHECK(strcmp(toft_strndup(t.a, "ab", 9), "ab") == 0 && (uintptr_t)toft_memdup(t.a, s, 7) % 16 == 0, "copies");
  source.largest = 12288;
  for (int i = 0; i < 20; i++) CHECK(toft_alloc(t.a, 8000) != NULL, "a smaller block is not requested");
  source.refuses = 100;
  CHECK(toft_printf(t.a, "%9000d", 1) == NULL && toft_alloc(t.a, 9000) == NULL, "no memory");
  toft_release(t.a);
}

static void run_all(unsigned long first, unsigned long last) {
  source.pool = (unsigned char *)malloc(POOL + 4096);
  CHECK(source.pool != NULL, "no memory");
  unsigned char *raw = source.pool;
  source.pool += (size_t)(0 - (uintptr_t)raw) & 63;
  for (unsigned long seed = first; seed < last; seed++) stream(seed);
  equal_rounds();
  peaks_go();
  strings();
  free(raw);
}

#ifdef THREADS
static void *other(void *arg) {
  run_all(0, *(unsigned long *)arg);
  return NULL;
}
#endif

int main(int argc, char **argv) {
  unsigned long seeds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
#ifdef THREADS
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, other, &seeds) == 0, "no thread");
  run_all(0, seeds);
  CHECK(pthread_join(thread, NULL) == 0, "no join");
#else
  run_all(0, seeds);
#endif
  printf("%lu streams\n", seeds);
  return 0;
}
