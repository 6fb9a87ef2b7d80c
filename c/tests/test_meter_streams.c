/* Bytes by tag and phase, compared exactly with an oracle that counts at each call: random streams of everything that
 * allocates or frees, through the inline paths. The oracle finds LIFO bytes by the cursor and detached ones by address,
 * without the arena's statistics.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>

#include "support.h"

#define MAX_RUNS 20000
#define MAX_DETACHED 2000
#define MAX_PIECES 4000
#define MAX_MARKS 40
#define MAX_TAGS 200
#define MAX_DEPTH 4
#define NODE (4 * sizeof(void *))

typedef struct oracle {
  toft_arena *a;
  counted source;
  uint32_t random;

  char path[MAX_TAGS][64]; /* the tag with this number; 0: none */
  uint64_t live[MAX_TAGS], allocated[MAX_TAGS], budget[MAX_TAGS];
  size_t tags, tag, outer[MAX_DEPTH], depth;

  struct {
    uint64_t bytes;
    size_t tag;
  } runs[MAX_RUNS]; /* LIFO allocations, the newest last */
  size_t run_count;
  uint64_t in_line;
  struct {
    const void *p;
    uint64_t bytes;
    size_t tag, time;
  } detached[MAX_DETACHED];
  size_t detached_count, time;
  uint64_t all_live, all_allocated, hard, soft;

  struct {
    unsigned char *p;
    size_t size, time;
    int is_detached;
  } pieces[MAX_PIECES];
  size_t piece_count;
  struct {
    toft_mark mark;
    uint64_t in_line;
    size_t time, pieces;
  } marks[MAX_MARKS];
  size_t mark_count;

  toft_range range;
  size_t claim_tag;
  unsigned char *side_block; /* end of the side block; NULL: none */

  struct {
    toft_phase phase;
    uint64_t allocated, live;
    int which;
  } phases[3];
  size_t phase_count;
  uint64_t entries[2], phase_allocated[2];
  int64_t kept[2];
  int reports, expected_reports;
} oracle;

static const char *const phase_names[2] = {"load", "draw"};

static uint32_t below(oracle *o, uint32_t n) { return next_random(&o->random) % n; }

static size_t round8(size_t n) { return (n + 7) & ~(size_t)7; }

/* ---- counting ---- */

static size_t tag_named(oracle *o, const char *path) {
  size_t i = 0;
  while (i < o->tags && strcmp(o->path[i], path) != 0) i++;
  if (i < o->tags) return i;
  assert_true(o->tags < MAX_TAGS);
  (void)snprintf(o->path[i], sizeof o->path[i], "%s", path);
  o->budget[i] = UINT64_MAX;
  return o->tags++;
}

static void count(oracle *o, uint64_t bytes, size_t tag) {
  o->live[tag] += bytes;
  o->allocated[tag] += bytes;
  o->all_live += bytes;
  o->all_allocated += bytes;
}

static void add_in_line(oracle *o, uint64_t bytes, size_t tag) {
  if (bytes == 0) return;
  if (o->run_count == 0 || o->runs[o->run_count - 1].tag != tag) {
    assert_true(o->run_count < MAX_RUNS);
    o->runs[o->run_count].bytes = 0;
    o->runs[o->run_count++].tag = tag;
  }
  o->runs[o->run_count - 1].bytes += bytes;
  o->in_line += bytes;
  count(o, bytes, tag);
}

static void fall_to(oracle *o, uint64_t in_line) {
  while (o->in_line > in_line) {
    size_t top = o->run_count - 1;
    uint64_t bytes = o->in_line - in_line;
    if (bytes > o->runs[top].bytes) bytes = o->runs[top].bytes;
    o->runs[top].bytes -= bytes;
    o->live[o->runs[top].tag] -= bytes;
    o->all_live -= bytes;
    o->in_line -= bytes;
    if (o->runs[top].bytes == 0) o->run_count--;
  }
}

static void add_detached(oracle *o, const void *p, uint64_t bytes, size_t tag) {
  assert_true(o->detached_count < MAX_DETACHED);
  o->detached[o->detached_count].p = p;
  o->detached[o->detached_count].bytes = bytes;
  o->detached[o->detached_count].tag = tag;
  o->detached[o->detached_count++].time = o->time;
  count(o, bytes, tag);
}

static void drop_detached(oracle *o, size_t i) {
  o->live[o->detached[i].tag] -= o->detached[i].bytes;
  o->all_live -= o->detached[i].bytes;
  memmove(&o->detached[i], &o->detached[i + 1], (o->detached_count - i - 1) * sizeof *o->detached);
  o->detached_count--;
}

static void drop_detached_at(oracle *o, const void *p) {
  size_t i = o->detached_count;
  while (i-- > 0 && o->detached[i].p != p) {
  }
  assert_true(i < o->detached_count);
  drop_detached(o, i);
}

static int first_start(void *arg, const toft_block *b) {
  *(const void **)arg = b->start;
  return 1;
}

/* p was allocated when the cursor was `cursor`. Returns whether it is detached. */
static int charge(oracle *o, void *p, size_t size, size_t align, unsigned char *cursor, size_t tag) {
  unsigned char *q = (unsigned char *)p;
  size_t end = round8(size);
  if (q + end == o->a->cursor) {
    size_t pad = (size_t)(0 - (uintptr_t)cursor) & (align - 1);
    if (align <= 8) pad = 0;
    if (q == cursor + pad) {
      add_in_line(o, pad + end, tag);
    } else { /* in a block that is new: alignments above a line may be padded there too */
      const void *start = q;
      if (align > 64) (void)toft_blocks(o->a, first_start, &start);
      add_in_line(o, (uint64_t)(q - (const unsigned char *)start) + end, tag);
    }
    return 0;
  }
  if (o->a->cursor == cursor && size == 0 && q == cursor) return 0;
  add_detached(o, p, end + (align > 64 ? align - 64 : 0), tag);
  return 1;
}

/* An allocation outside the claimed range. */
static void charge_side_block(oracle *o, void *p, size_t size, size_t align) {
  unsigned char *q = (unsigned char *)p;
  if (size == 0 && q == o->a->cursor) return;
  if (o->side_block != NULL && q >= o->side_block && (size_t)(q - o->side_block) < (align > 8 ? align : 8))
    add_detached(o, p, (uint64_t)(q - o->side_block) + round8(size), o->tag);
  else
    add_detached(o, p, round8(size) + (align > 64 ? align - 64 : 0), o->tag);
  o->side_block = q + round8(size);
}

static void remember(oracle *o, void *p, size_t size, int is_detached) {
  if (size == 0 || o->piece_count == MAX_PIECES) return;
  o->pieces[o->piece_count].p = (unsigned char *)p;
  o->pieces[o->piece_count].size = size;
  o->pieces[o->piece_count].is_detached = is_detached;
  o->pieces[o->piece_count++].time = o->time;
}

/* ---- comparing ---- */

static int compare_tag(void *arg, const toft_tag_report *t) {
  oracle *o = (oracle *)arg;
  size_t i = tag_named(o, t->name);
  if (t->live != o->live[i])
    fail_msg("live of '%s': %llu, not %llu", t->name, (unsigned long long)t->live, (unsigned long long)o->live[i]);
  if (t->allocated != o->allocated[i])
    fail_msg("allocated of '%s': %llu, not %llu", t->name, (unsigned long long)t->allocated,
             (unsigned long long)o->allocated[i]);
  assert_true(t->budget == o->budget[i] && toft_alloc(o->a, 1) == NULL);
  ++*(size_t *)&o->time; /* so that it is seen that it ran */
  return 0;
}

static int compare_phase(void *arg, const toft_phase_report *p) {
  oracle *o = (oracle *)arg;
  int i = strcmp(p->name, phase_names[1]) == 0;
  assert_string_equal(p->name, phase_names[i]);
  assert_true(p->entries == o->entries[i] && p->allocated == o->phase_allocated[i] && p->kept == o->kept[i]);
  return 0;
}

static void compare(oracle *o) {
  size_t before = o->time;
  assert_int_equal(toft_tags(o->a, compare_tag, o), 0);
  assert_true(o->time > before);
  assert_int_equal(toft_phases(o->a, compare_phase, o), 0);
  assert_true(toft_get_stats(o->a).live == o->all_live);
  assert_int_equal(o->reports, o->expected_reports);
}

/* ---- operations ---- */

static size_t any_size(oracle *o) {
  switch (below(o, 14)) {
    case 0: return 0;
    case 1: return below(o, 9000);
    case 2: return below(o, 70000);
    case 3: return 262144 + below(o, 500000); /* always a block of its own */
    default: return below(o, 200);
  }
}

/* A refusal that had no reason in memory had one in a budget: exact where nothing is padded. */
static void refused(oracle *o, size_t size, size_t align, size_t tag, uint64_t held) {
  if (align > 8 || o->source.fail_at != 0 || o->source.fail_from != 0) return;
  uint64_t bytes = round8(size);
  assert_true(bytes != 0);
  int over_hard = o->hard != UINT64_MAX && o->all_live + held + bytes > o->hard;
  int over_tag =
      o->budget[tag] != UINT64_MAX && o->live[tag] + (o->claim_tag == tag ? held : 0) + bytes > o->budget[tag];
  assert_true(over_hard || over_tag);
}

static void within_budgets(const oracle *o, size_t tag) {
  assert_true(o->all_live <= o->hard);
  assert_true(o->live[tag] <= o->budget[tag]);
}

/* The allocation that exceeds the soft budget calls the callback. */
static void passed_soft(oracle *o) {
  if (o->all_live > o->soft && o->expected_reports == 0) o->expected_reports = 1;
  assert_int_equal(o->reports, o->expected_reports);
}

static void op_alloc(oracle *o) {
  size_t size = any_size(o), align = (size_t)1 << below(o, below(o, 4) ? 4 : 13);
  unsigned char *cursor = o->a->cursor;
  void *p = align <= 8 && below(o, 2) ? toft_alloc(o->a, size) : toft_alloc_aligned(o->a, size, align);
  if (p == NULL) {
    refused(o, size, align, o->tag, 0);
    return;
  }
  o->time++;
  uint64_t before = o->all_live;
  int is_detached = charge(o, p, size, align, cursor, o->tag);
  if (o->all_live > before) within_budgets(o, o->tag);
  passed_soft(o);
  remember(o, p, size, is_detached);
}

/* LIFO pieces below a mark are not touched; detached ones are. */
static int touchable(const oracle *o, size_t i) {
  return i >= (o->mark_count != 0 ? o->marks[o->mark_count - 1].pieces : 0);
}

static size_t any_piece(oracle *o) {
  size_t i = below(o, 4) ? o->piece_count - 1 : below(o, (uint32_t)o->piece_count);
  return i;
}

static void forget_piece(oracle *o, size_t i) {
  memmove(&o->pieces[i], &o->pieces[i + 1], (o->piece_count - i - 1) * sizeof *o->pieces);
  o->piece_count--;
  for (size_t m = 0; m < o->mark_count; m++) o->marks[m].pieces -= o->marks[m].pieces > i;
}

static void op_free(oracle *o) {
  if (o->piece_count == 0) return;
  size_t i = any_piece(o);
  if (!o->pieces[i].is_detached && !touchable(o, i)) return;
  unsigned char *cursor = o->a->cursor;
  uint64_t blocks = toft_get_stats(o->a).blocks;
  toft_free(o->a, o->pieces[i].p, o->pieces[i].size);
  if (o->a->cursor != cursor) fall_to(o, o->in_line - (uint64_t)(cursor - o->a->cursor));
  if (toft_get_stats(o->a).blocks != blocks) drop_detached_at(o, o->pieces[i].p);
  forget_piece(o, i);
}

static void op_resize(oracle *o) {
  if (o->piece_count == 0) return;
  size_t i = any_piece(o), size = any_size(o), old = o->pieces[i].size;
  if (size == 0 || !touchable(o, i)) return;
  unsigned char *cursor = o->a->cursor, *p = o->pieces[i].p;
  uint64_t blocks = toft_get_stats(o->a).blocks;
  unsigned char *q = (unsigned char *)toft_resize(o->a, p, old, size, 8);
  if (q == NULL) return;
  o->time++;
  if (q == p) {
    if (o->a->cursor < cursor) fall_to(o, o->in_line - (uint64_t)(cursor - o->a->cursor));
    if (o->a->cursor > cursor) {
      add_in_line(o, (uint64_t)(o->a->cursor - cursor), o->tag);
      within_budgets(o, o->tag);
    }
  } else {
    int was_detached = o->pieces[i].is_detached, is_detached = charge(o, q, size, 8, cursor, o->tag);
    int new_block = is_detached || q != cursor;
    if (was_detached && toft_get_stats(o->a).blocks != blocks + (uint64_t)new_block) drop_detached_at(o, p);
    o->pieces[i].is_detached = is_detached;
  }
  o->pieces[i].p = q;
  o->pieces[i].size = size;
  passed_soft(o);
}

static void op_mark(oracle *o) {
  if (o->mark_count == MAX_MARKS) return;
  o->marks[o->mark_count].mark = toft_mark_here(o->a);
  o->marks[o->mark_count].in_line = o->in_line;
  o->marks[o->mark_count].time = o->time;
  o->marks[o->mark_count++].pieces = o->piece_count;
}

static void op_rewind(oracle *o) {
  if (o->mark_count == 0) return;
  size_t i = below(o, (uint32_t)o->mark_count);
  assert_int_equal(toft_rewind(o->a, o->marks[i].mark), TOFT_OK);
  fall_to(o, o->marks[i].in_line);
  while (o->detached_count != 0 && o->detached[o->detached_count - 1].time > o->marks[i].time)
    drop_detached(o, o->detached_count - 1);
  while (o->piece_count != 0 && o->pieces[o->piece_count - 1].time > o->marks[i].time) o->piece_count--;
  o->mark_count = i + below(o, 2);
}

static void quiet(void *arg) { (void)arg; }

static void op_cleanup(oracle *o) {
  unsigned char *cursor = o->a->cursor;
  void *node = toft_cleanup_add(o->a, quiet, NULL);
  if (node == NULL) return;
  o->time++;
  (void)charge(o, node, NODE, 8, cursor, o->tag);
  passed_soft(o);
}

static void op_adopt(oracle *o) {
  toft_arena *donor = toft_create();
  assert_non_null(donor);
  for (uint32_t n = below(o, 5); n > 0; n--) assert_non_null(toft_alloc(donor, below(o, 400000)));
  uint64_t live = toft_get_stats(donor).live;
  if (toft_adopt(o->a, donor) == TOFT_OK) {
    o->time++;
    add_detached(o, donor, live, o->tag);
    within_budgets(o, o->tag);
    passed_soft(o);
  } else {
    assert_true(o->all_live + live > o->hard || o->live[o->tag] + live > o->budget[o->tag]);
    toft_release(donor);
  }
}

static void op_tag(oracle *o) {
  static const char *const names[] = {"world", "sound", "ai", "/world", "/ai/path", "/", "level 1"};
  char path[64];
  if (o->depth != 0 && (o->depth == MAX_DEPTH || below(o, 2))) {
    toft_tag_pop(o->a);
    o->tag = o->outer[--o->depth];
    return;
  }
  const char *name = names[below(o, sizeof names / sizeof *names)];
  const char *outer = o->path[o->tag];
  if (name[0] == '/')
    (void)snprintf(path, sizeof path, "%s", name + 1);
  else
    (void)snprintf(path, sizeof path, "%.30s%s%s", outer, outer[0] != 0 ? "/" : "", name);
  assert_int_equal(toft_tag_push(o->a, name), TOFT_OK);
  o->outer[o->depth++] = o->tag;
  o->tag = tag_named(o, path);
}

static void op_phase(oracle *o) {
  if (o->phase_count == 3 || (o->phase_count != 0 && below(o, 2))) {
    size_t i = below(o, (uint32_t)o->phase_count);
    int which = o->phases[i].which;
    toft_phase_end(o->a, &o->phases[i].phase);
    toft_phase_end(o->a, &o->phases[i].phase); /* does nothing */
    o->entries[which]++;
    o->phase_allocated[which] += o->all_allocated - o->phases[i].allocated;
    o->kept[which] += (int64_t)(o->all_live - o->phases[i].live);
    o->phases[i] = o->phases[--o->phase_count];
    return;
  }
  int which = (int)below(o, 2);
  o->phases[o->phase_count].phase = toft_phase_begin(o->a, phase_names[which]);
  o->phases[o->phase_count].allocated = o->all_allocated;
  o->phases[o->phase_count].live = o->all_live;
  o->phases[o->phase_count++].which = which;
}

/* Allocations during the claim are detached, under their own tags. */
static void op_claim(oracle *o) {
  if (toft_claim(o->a, &o->range) != TOFT_OK) return;
  o->claim_tag = o->tag;
  o->side_block = NULL;
  size_t depth = o->depth;
  for (uint32_t n = below(o, 30); n > 0; n--) {
    size_t size = any_size(o);
    uint32_t what = below(o, 10);
    o->time++;
    if (what < 2) {
      size_t align = (size_t)1 << below(o, 7);
      uint64_t held = (uint64_t)(o->range.limit - o->range.cursor);
      held += (uint64_t)(o->range.cursor - o->a->cursor);
      void *p = toft_alloc_aligned(o->a, size, align);
      if (p != NULL)
        charge_side_block(o, p, size, align), within_budgets(o, o->tag), passed_soft(o);
      else
        refused(o, size, align, o->tag, held);
    } else if (what < 4 && (o->depth == depth || below(o, 2))) {
      if (o->depth < MAX_DEPTH) op_tag(o);
      if (o->depth < depth) depth = o->depth;
    } else {
      toft_range_align(&o->range);
      unsigned char *head = o->a->cursor, *at = o->range.cursor;
      int fits = (size_t)(o->range.limit - at) >= size;
      void *p = toft_range_alloc(o->a, &o->range, size);
      if (p != NULL && !fits) {
        add_in_line(o, (uint64_t)(at - head), o->claim_tag);
        if (!charge(o, p, size, 8, at, o->claim_tag)) assert_true(o->range.cursor == o->a->cursor);
        within_budgets(o, o->claim_tag);
        passed_soft(o);
      } else if (p == NULL) {
        assert_true(o->range.cursor == at);
      }
    }
    if (below(o, 4) == 0) compare(o);
  }
  toft_range_align(&o->range);
  add_in_line(o, (uint64_t)(o->range.cursor - o->a->cursor), o->claim_tag);
  assert_int_equal(toft_unclaim(o->a, &o->range), TOFT_OK);
  within_budgets(o, o->claim_tag);
  passed_soft(o);
}

static void round_over(oracle *o) {
  fall_to(o, 0);
  while (o->detached_count != 0) drop_detached(o, o->detached_count - 1);
  o->piece_count = o->mark_count = 0;
  o->reports = o->expected_reports = 0;
  assert_int_equal(o->all_live, 0);
}

static void op_reset(oracle *o) {
  assert_int_equal(toft_reset_keep(o->a, below(o, 3), below(o, 300000)), TOFT_OK);
  round_over(o);
}

static void op_clear(oracle *o) {
  assert_int_equal(toft_clear_report(o->a), TOFT_OK);
  memset(o->allocated, 0, sizeof o->allocated);
  memset(o->entries, 0, sizeof o->entries);
  memset(o->phase_allocated, 0, sizeof o->phase_allocated);
  memset(o->kept, 0, sizeof o->kept);
}

static void op_budgets(oracle *o) {
  if (below(o, 2)) {
    size_t tag = below(o, (uint32_t)o->tags);
    o->budget[tag] = below(o, 2) ? UINT64_MAX : o->live[tag] + below(o, 300000);
    assert_int_equal(toft_set_tag_budget(o->a, o->path[tag], o->budget[tag]), TOFT_OK);
  } else {
    o->hard = below(o, 2) ? UINT64_MAX : o->all_live + below(o, 2000000);
    assert_int_equal(toft_set_budget(o->a, o->hard), TOFT_OK);
  }
}

static void step(oracle *o) {
  uint32_t x = below(o, 1000);
  if (o->piece_count > MAX_PIECES - 100 || o->run_count > MAX_RUNS - 500 || o->detached_count > MAX_DETACHED - 200)
    x = 999;
  if (x < 480)
    op_alloc(o);
  else if (x < 560)
    op_resize(o);
  else if (x < 620)
    op_free(o);
  else if (x < 740)
    op_tag(o);
  else if (x < 790)
    op_phase(o);
  else if (x < 840)
    op_mark(o);
  else if (x < 900)
    op_rewind(o);
  else if (x < 920)
    op_claim(o);
  else if (x < 940)
    op_cleanup(o);
  else if (x < 955)
    op_adopt(o);
  else if (x < 965)
    toft_trim(o->a, below(o, 1000000));
  else if (x < 980)
    op_budgets(o);
  else if (x < 985)
    op_clear(o);
  else if (x >= 992)
    op_reset(o);
}

static void over(void *arg, toft_arena *a, uint64_t live, uint64_t budget) {
  oracle *o = (oracle *)arg;
  assert_true(a == o->a && live > budget && budget == o->soft && toft_get_stats(a).live == live);
  assert_null(toft_alloc(a, 8));
  assert_int_equal(toft_set_soft_budget(a, 0, NULL, NULL), TOFT_EBUSY);
  o->reports++;
}

/* each: number of steps between comparisons. With 1 the arena is read all the time; with more, bytes that moved inline
 * are seen at the next boundary. */
static void run(size_t seeds, unsigned steps, uint32_t each, int sampled) {
  static oracle o;
  for (unsigned seed = 1; seed <= seeds; seed++) {
    memset(&o, 0, sizeof o);
    o.random = seed * 2654435761u;
    o.a = arena_on(counted_init(&o.source));
    o.hard = UINT64_MAX;
    (void)tag_named(&o, "");
    /* Earlier bytes count for no tag, also in a dedicated block. */
    unsigned char *cursor = o.a->cursor;
    void *early = toft_alloc(o.a, 1000000), *small = toft_alloc(o.a, 100);
    assert_true(early != NULL && small != NULL);
    assert_int_equal(toft_set_metered(o.a, 1), TOFT_OK);
    if (sampled) assert_int_equal(toft_set_sampling(o.a, 1 + below(&o, 5000)), TOFT_OK);
    (void)charge(&o, small, 100, 8, cursor, 0);
    add_detached(&o, early, 1000000, 0);
    remember(&o, early, 1000000, 1);
    o.allocated[0] = o.all_allocated = 0; /* they were not metered */
    o.soft = 500000 + below(&o, 2000000);
    assert_int_equal(toft_set_soft_budget(o.a, o.soft, over, &o), TOFT_OK);
    if (o.all_live > o.soft) o.soft = UINT64_MAX;
    assert_int_equal(toft_set_soft_budget(o.a, o.soft, over, &o), TOFT_OK);
    for (unsigned i = 0; i < steps; i++) {
      if (seed % 3 == 0) o.source.fail_at = below(&o, 10) ? 0 : o.source.attempts + 1;
      step(&o);
      if (below(&o, each) == 0) compare(&o);
    }
    compare(&o);
    while (o.phase_count != 0) op_phase(&o);
    op_reset(&o);
    compare(&o);
    toft_release(o.a);
    counted_all_back(&o.source);
  }
}

static void compared_each_step(void **state) {
  (void)state;
  run(long_run() ? 1000 : rounds_of(100), 1200, 1, 0);
}

static void compared_now_and_then(void **state) {
  (void)state;
  run(long_run() ? 1000 : rounds_of(100), 1500, 100, 0);
}

static void metered_and_sampled(void **state) {
  (void)state;
  run(long_run() ? 300 : rounds_of(40), 1000, 20, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compared_each_step),
      cmocka_unit_test(compared_now_and_then),
      cmocka_unit_test(metered_and_sampled),
  };
  return cmocka_run_group_tests_name("meters, by an oracle", tests, NULL, NULL);
}
