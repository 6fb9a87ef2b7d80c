/* A scenario for each rule of section 11 that a run can show, by the table and by the row's inline calls. Their checks
 * follow from the rules, whatever the placement policy; those about several blocks do nothing where an arena has one.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <string.h>

#include "driver.h"
#include "stage.h"

/* ---- steps ---- */

static unsigned char *get(size_t size) {
  unsigned char *p = (unsigned char *)row->alloc(arena, size, 8);
  CHECK("4 alloc", p != NULL, "%zu bytes are refused", size);
  return p;
}

static void *by_table(size_t size, size_t align) { return arena->ops->alloc(arena, size, align, 0, 0); }

static uintptr_t epoch(void) { return arena->epoch & ~(uintptr_t)1; }

static const unsigned char *base_of(const unsigned char *p) {
  size_t i = block_at(p);
  return i < BLOCKS ? source.base[i] : NULL;
}

/* Allocates until the cursor is in another block. 0: it is in the same one after 1 MiB or 20 dedicated blocks. */
static int next_block(void) {
  const unsigned char *base = base_of(arena->cursor);
  size_t most = provider->memory / 16 < 1u << 20 ? provider->memory / 16 : 1u << 20, blocks = source.out;
  for (size_t used = 0; used < most && source.out < blocks + 20; used += 2000)
    if (get(2000) != NULL && base_of(arena->cursor) != base) return 1;
  return 0;
}

static int supports(uint32_t operations) { return (provider->supports & operations) == operations; }

/* ---- the head ---- */

static void heads_are_valid(void) {
  open_arena(UINT64_MAX);
  for (size_t size = 0; size < 70; size++) {
    CHECK("4 alloc", by_table(size, 8) != NULL, "%zu bytes are refused", size);
    check_head();
  }
  CHECK("4 reset", arena->ops->reset(arena, TOFT_KEEP_ALL, 0) == TOFT_OK, "no reset");
  check_head();
  close_arena();
}

static void limits_follow_blocks(void) {
  open_arena(UINT64_MAX);
  toft_mark m = row->mark(arena);
  for (int i = 0; i < 3; i++) {
    (void)next_block();
    check_limit();
    check_head();
    if (!supports(CONFORMANCE_CLEANUP)) continue;
    CHECK("4 cleanup", arena->ops->cleanup(arena, NULL, NULL) != NULL, "no cleanup");
    check_limit();
  }
  CHECK("4 rewind", rewind_by(row, m) == TOFT_OK, "no rewind");
  check_limit();
  check_head();
  if (supports(CONFORMANCE_BUDGET)) {
    CHECK("4 set", budget_by(row, live() + 20) == TOFT_OK, "no budget");
    CHECK("M2", arena->limit - arena->cursor <= 16, "%ld bytes up to the limit, and 20 up to the budget",
          (long)(arena->limit - arena->cursor));
  }
  close_arena();
}

static void moves_of_the_cursor_count(void) {
  open_arena(UINT64_MAX);
  get(8);
  uint64_t before = live();
  get(24);
  CHECK("M4", live() == before + 24, "live is %llu after 24 bytes on %llu", (unsigned long long)live(),
        (unsigned long long)before);
  toft_mark m = row->mark(arena);
  get(4000);
  get(80);
  CHECK("M4", arena->ops->rewind(arena, m.cursor, m.epoch) == TOFT_OK && live() == before + 24,
        "live is %llu after a rewind, not %llu", (unsigned long long)live(), (unsigned long long)before + 24);
  toft_stats s = stats_of(row);
  CHECK("4 stats", s.peak == before + 24 + 4080, "the peak is %llu, not %llu", (unsigned long long)s.peak,
        (unsigned long long)before + 24 + 4080);
  CHECK("4 stats", s.allocated >= before + 24 + 4080, "allocated is %llu", (unsigned long long)s.allocated);
  close_arena();
}

/* ---- failures ---- */

static void check_same(const char *rule, const char *what, const unsigned char *cursor, uint64_t was) {
  CHECK(rule, arena->cursor == cursor, "%s moves the cursor by %ld", what, (long)(arena->cursor - cursor));
  CHECK(rule, live() == was, "%s changes live from %llu to %llu", what, (unsigned long long)was,
        (unsigned long long)live());
}

static void failures_change_nothing(void) {
  open_arena(UINT64_MAX);
  toft_mark m = row->mark(arena);
  unsigned char *p = get(64);
  memset(p, 7, 64);
  unsigned char *cursor = arena->cursor;
  uint64_t was = live();
  source.refuses = 1;
  CHECK("4 alloc", by_table(PTRDIFF_MAX / 2 - 65536, 8) == NULL, "a request is granted, and there is no memory");
  check_same("M5", "a refusal", cursor, was);
  for (int i = 0; i < 2000 && provider->memory == SIZE_MAX; i++) {
    cursor = arena->cursor;
    was = live();
    if (by_table(3000, 8) != NULL) continue;
    check_same("M5", "a refusal by the source", cursor, was);
    break;
  }
  source.refuses = 0;
  for (size_t i = 0; i < 64; i++) CHECK("M5", p[i] == 7, "byte %zu of an allocation was changed by a refusal", i);
  get(8);
  CHECK("M5", rewind_by(row, m) == TOFT_OK, "a refusal made a mark stale");
  close_arena();
}

static void large_sizes_are_refused_first(void) {
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 7, SIZE_MAX / 2, SIZE_MAX / 4 + 1};
  open_arena(UINT64_MAX);
  unsigned char *p = get(8), *cursor = arena->cursor;
  uint64_t was = live(), requests = source.requests;
  for (size_t i = 0; i < 4; i++)
    for (size_t align = 1; align <= 4096; align *= 64) {
      toft_range range = {NULL, NULL, 0};
      CHECK("M9", by_table(sizes[i], align) == NULL, "%zu bytes at %zu are granted", sizes[i], align);
      CHECK("M9", arena->ops->resize(arena, p, 8, sizes[i], align, 0, 0) == NULL, "a resize to %zu", sizes[i]);
      CHECK("M9", arena->ops->claim(arena, &range, sizes[i], align) == NULL, "a claim of %zu", sizes[i]);
    }
  CHECK("M9", by_table(8, SIZE_MAX / 2 + 1) == NULL, "8 bytes are granted at half of all addresses");
  CHECK("M9", source.requests == requests, "the source was called for more than a request may be");
  check_same("M9", "a large request", cursor, was);
  for (size_t align = 0; align < 100; align = align * 2 + 3) /* no powers of two */
    CHECK("4 alloc", by_table(8, align) == NULL, "8 bytes are granted at %zu", align);
  close_arena();
}

static void budgets_come_first(void) {
  open_arena(UINT64_MAX);
  get(8);
  unsigned char *cursor = arena->cursor;
  uint64_t was = live(), requests = source.requests;
  CHECK("4 set", budget_by(row, was + 64) == TOFT_OK, "no budget");
  CHECK("6", by_table(200, 8) == NULL && by_table(100000, 8) == NULL, "a budget of 64 grants 200 bytes");
  CHECK("M10", source.requests == requests, "the source was called for what the budget refuses");
  check_same("M5", "a refusal by the budget", cursor, was);
  (void)by_table(16, 64); /* with its padding it may be too much */
  CHECK("6", live() <= was + 64, "padding exceeds the budget: live is %llu on %llu", (unsigned long long)live(),
        (unsigned long long)was);
  CHECK("4 set", budget_by(row, live() + 64) == TOFT_OK, "no budget");
  was = live();
  CHECK("6", by_table(0, 8) != NULL && by_table(64, 8) != NULL && by_table(1, 8) == NULL, "64 bytes are not 64 bytes");
  arena->ops->resize(arena, arena->cursor - 64, 64, 72, 8, 0, 0);
  CHECK("6", live() <= was + 64, "a resize exceeds the budget: live is %llu on %llu", (unsigned long long)live(),
        (unsigned long long)was);
  CHECK("4 set", budget_by(row, was) == TOFT_OK, "no budget below live");
  CHECK("M12", (arena->epoch & 1) != 0, "bit 0 is clear, and live is above the budget");
  CHECK("M2", arena->limit == arena->cursor, "the limit is above the cursor, and live above the budget");
  CHECK("4 set", budget_by(row, UINT64_MAX) == TOFT_OK, "the budget cannot be lifted");
  CHECK("4 set", arena->ops->set(arena, 99, 1, NULL, 0) == TOFT_ENOSYS, "setting 99 is known");
  get(200);
  close_arena();
}

/* ---- addresses ---- */

static void table_answers_as_the_inline_path(void) {
  open_arena(UINT64_MAX);
  get(8);
  for (size_t align = 1; align <= 256; align *= 2)
    for (size_t size = 0; size < 60; size += 7) {
      unsigned char *cursor = arena->cursor;
      size_t room = (size_t)(arena->limit - cursor), pad = (size_t)(0 - (uintptr_t)cursor) & (align - 1);
      if (align <= 8) pad = 0;
      uint64_t was = live();
      void *p = by_table(size, align);
      CHECK("4 alloc", p != NULL, "%zu bytes at %zu are refused", size, align);
      if (room < pad || room - pad < size) continue;
      CHECK("M6", p == cursor + pad, "%zu bytes at %zu are not where the inline path has them", size, align);
      CHECK("M6", arena->cursor == cursor + pad + (size + 7) / 8 * 8, "the cursor is not behind %zu bytes", size);
      CHECK("6", live() == was + pad + (size + 7) / 8 * 8, "%zu bytes with %zu of padding add %llu to live", size, pad,
            (unsigned long long)(live() - was));
    }
  close_arena();
}

static void blocks_begin_on_lines(void) {
  const unsigned char *base = NULL;
  open_arena(UINT64_MAX);
  for (int i = 0; i < 6000; i++) {
    if (i == 3000) CHECK("4 reset", reset_by(row) == TOFT_OK, "no reset");
    if (i == 3000) base = NULL;
    const unsigned char *p = get(104), *in = base_of(p);
    CHECK("M8", in_source(p, 104), "an allocation begins %ld bytes above its block's base", (long)(p - in));
    if (in == base || (base != NULL && i >= 3000)) continue; /* later a block may have been in use before */
    CHECK("M7", (uintptr_t)p % 64 == 0, "the first byte of a block is %ld above its base", (long)(p - in));
    base = in;
  }
  close_arena();
}

static void get_aligned(size_t size, size_t align) {
  unsigned char *p = (unsigned char *)by_table(size, align);
  CHECK("4 alloc", p != NULL, "%zu bytes at %zu are refused", size, align);
  CHECK("M7", (uintptr_t)p % (align < 8 ? 8 : align) == 0, "%p is not at a multiple of %zu", (void *)p, align);
  CHECK("4 alloc", in_source(p, size), "%zu bytes at %zu end behind their block", size, align);
}

static void results_are_aligned(void) {
  for (size_t align = 1024; align <= 65536; align *= 2) { /* in the smallest block */
    open_arena(UINT64_MAX);
    get_aligned(40, align);
    close_arena();
  }
  open_arena(UINT64_MAX);
  for (size_t i = 0; i < 600; i++) get_aligned(i * 37 % 300, (size_t)1 << i % 14);
  close_arena();
}

/* ---- epochs and marks ---- */

static void check_grown(const char *what, uintptr_t was) {
  CHECK("M11", epoch() > was, "the epoch is %llu as before %s", (unsigned long long)epoch(), what);
}

static void epochs_grow(void) {
  open_arena(UINT64_MAX);
  CHECK("M11", epoch() >= 2, "the first epoch is %llu", (unsigned long long)epoch());
  CHECK("M11", arena->ops->rewind(arena, NULL, 0) == TOFT_EMARK, "a zeroed mark is accepted");
  uintptr_t was = epoch();
  if (supports(CONFORMANCE_CLEANUP)) {
    CHECK("4 cleanup", arena->ops->cleanup(arena, NULL, NULL) != NULL, "no cleanup");
    check_grown("a cleanup", was);
  }
  was = epoch();
  if (supports(CONFORMANCE_BUDGET)) {
    CHECK("4 set", budget_by(row, UINT64_MAX) == TOFT_OK, "no set");
    check_grown("a set that changes nothing", was);
  }
  toft_mark m = row->mark(arena);
  was = epoch();
  int another = next_block();
  if (another) check_grown("a block", was);
  was = epoch();
  CHECK("4 rewind", rewind_by(row, m) == TOFT_OK, "no rewind");
  CHECK("M11", epoch() >= was, "a rewind takes the epoch back");
  if (another) check_grown("a rewind into another block", was);
  was = epoch();
  CHECK("4 reset", reset_by(row) == TOFT_OK, "no reset");
  check_grown("a reset", was);
  close_arena();
}

/* A mark of a block that was dropped; the inline path may see it above or below the cursor. */
static void stale_marks_are_refused(void) {
  open_arena(UINT64_MAX);
  toft_mark old = row->mark(arena);
  for (int i = 0; i < 4 && next_block(); i++) {
    get(8);
    toft_mark stale = row->mark(arena);
    CHECK("4 rewind", rewind_by(row, old) == TOFT_OK, "no rewind");
    get(8);
    unsigned char *cursor = arena->cursor;
    int code = rewind_by(row, stale);
    CHECK("M11", code == TOFT_EMARK && arena->cursor == cursor, "a stale mark of a dropped block is answered with %d",
          code);
    old = row->mark(arena);
  }
  close_arena();
}

static void resets_end_marks(void) {
  open_arena(UINT64_MAX);
  for (int i = 0; i < 3; i++) {
    toft_mark first = row->mark(arena);
    get(8);
    (void)next_block();
    toft_mark last = row->mark(arena);
    CHECK("4 reset", reset_by(row) == TOFT_OK && live() == 0, "live is %llu after a reset", (unsigned long long)live());
    CHECK("M13", rewind_by(row, first) == TOFT_EMARK, "a mark from before a reset is accepted");
    get(16);
    CHECK("M13", arena->ops->rewind(arena, first.cursor, first.epoch) == TOFT_EMARK, "the same, after an allocation");
    (void)next_block();
    CHECK("M13", rewind_by(row, last) == TOFT_EMARK, "a mark from before a reset is accepted in a later block");
    toft_mark now = row->mark(arena);
    get(16);
    CHECK("4 rewind", rewind_by(row, now) == TOFT_OK, "a mark from after a reset is refused");
  }
  close_arena();
}

static void check_refused_mark(const char *what, const unsigned char *at, uintptr_t of) {
  unsigned char *cursor = arena->cursor;
  uint64_t was = live();
  int code = arena->ops->rewind(arena, (unsigned char *)(uintptr_t)at, of);
  CHECK("M14", code == TOFT_EMARK, "a mark %s is answered with %d", what, code);
  check_same("M14", "a refused mark", cursor, was);
}

static void forged_marks_are_refused(void) {
  static uint64_t elsewhere[8];
  open_arena(UINT64_MAX);
  unsigned char *first = arena->cursor;
  toft_mark oldest = row->mark(arena);
  get(64);
  toft_mark m = row->mark(arena);
  for (int i = 0; i < 2; i++) { /* then with a newer block above it */
    size_t in = block_at(arena->cursor);
    check_refused_mark("at no multiple of 8", m.cursor - 4, m.epoch);
    check_refused_mark("with an epoch above the arena's", arena->cursor, epoch() + 1000);
    check_refused_mark("with the epoch 0", m.cursor, 0);
    check_refused_mark("in other memory", (unsigned char *)elsewhere, epoch());
    if (in < BLOCKS) check_refused_mark("below its block", source.base[in] + 8, epoch());
    if (in < BLOCKS) check_refused_mark("above its block", source.base[in] + source.size[in] + 8, epoch());
    if (i == 0) check_refused_mark("below the first byte", first - 8, epoch());
    if (i == 1) check_refused_mark("with an odd epoch", m.cursor, m.epoch + 1);
    if (!next_block()) break;
  }
  CHECK("4 rewind", rewind_by(row, m) == TOFT_OK && arena->cursor == m.cursor, "a valid mark is refused");
  CHECK("4 rewind", rewind_by(row, oldest) == TOFT_OK && live() == 0, "the oldest mark is refused");
  close_arena();
}

static void rewinds_drop_what_is_newer(void) {
  open_arena(UINT64_MAX);
  get(8);
  for (int blocks = 0; blocks < 5; blocks++) {
    toft_mark m = row->mark(arena);
    uint64_t was = live();
    start_log();
    for (int i = 0; i < blocks; i++) {
      if (supports(CONFORMANCE_CLEANUP)) add_cleanup(row, i);
      (void)next_block();
    }
    CHECK("4 rewind", rewind_by(row, m) == TOFT_OK, "no rewind over %d blocks", blocks);
    check_log(supports(CONFORMANCE_CLEANUP) ? blocks : 0);
    CHECK("M15", arena->cursor == m.cursor, "a rewind over %d blocks leaves the cursor elsewhere", blocks);
    CHECK("M15", live() == was, "live is %llu after a rewind over %d blocks, not %llu", (unsigned long long)live(),
          blocks, (unsigned long long)was);
    get(blocks == 2 ? 300000 : 16); /* it may have a dedicated block, which stays */
  }
  close_arena();
}

static void marks_above_the_cursor_do_not_move_it(void) {
  open_arena(UINT64_MAX);
  toft_mark older = row->mark(arena);
  unsigned char *p = get(64);
  start_log();
  if (supports(CONFORMANCE_CLEANUP)) add_cleanup(row, 0);
  toft_mark m = row->mark(arena);
  arena->ops->rewind(arena, older.cursor, m.epoch); /* what the inline path does with a newer epoch */
  if (arena->cursor == p) {
    CHECK("M15", log_of.count == 0, "a cleanup from before the mark's epoch runs");
    int code = rewind_by(row, m);
    CHECK("M15", code == TOFT_OK && arena->cursor == p, "a mark above the cursor: %d, and the cursor moves %ld", code,
          (long)(arena->cursor - p));
  }
  close_arena();
}

/* ---- cleanups ---- */

static struct {
  int runs, rewound, reset, wrong_reset, set, unknown, given;
  toft_arena head;
  unsigned char *x, *after; /* x: the newest allocation, of 40 bytes; after: the cursor after the calls */
  void *bytes, *nothing, *smaller, *larger, *node, *claimed;
  uint64_t returned; /* to the source */
} seen;

static void look(void *arg) {
  toft_arena *a = (toft_arena *)arg;
  toft_range range = {NULL, NULL, 0};
  seen.runs++;
  seen.head = *a;
  seen.bytes = a->ops->alloc(a, 8, 8, 0, 0);
  seen.nothing = a->ops->alloc(a, 0, 8, 0, 0);
  seen.smaller = a->ops->resize(a, seen.x, 40, 8, 8, 0, 0);
  seen.larger = a->ops->resize(a, seen.x, 40, 80, 8, 0, 0);
  if (seen.runs == 1) seen.node = a->ops->cleanup(a, look, a);
  seen.claimed = a->ops->claim(a, &range, 0, 8);
  seen.rewound = a->ops->rewind(a, a->cursor, a->epoch & ~(uintptr_t)1);
  seen.reset = a->ops->reset(a, TOFT_KEEP_RECENT, 0);
  seen.wrong_reset = a->ops->reset(a, 99, 0);
  seen.set = a->ops->set(a, TOFT_SET_BUDGET, 0, NULL, 0);
  seen.unknown = a->ops->set(a, 99, 0, NULL, 0);
  seen.given = a->ops->give(a, &range);
  if (a->ops->free != NULL) a->ops->free(a, seen.x, 40);
  uint64_t before = source.bytes_given;
  a->ops->trim(a, 0);
  a->ops->release(a);
  seen.returned = source.bytes_given - before;
  seen.after = a->cursor;
}

static void check_closed(void) {
  const toft_arena *h = &seen.head;
  CHECK("M16", seen.runs == 1, "a cleanup runs %d times", seen.runs);
  CHECK("M1", h->cursor != NULL && (uintptr_t)h->cursor % 8 == 0, "the cursor is %p in a cleanup", (void *)h->cursor);
  CHECK("M16", h->limit == h->cursor, "the limit is %ld above the cursor in a cleanup", (long)(h->limit - h->cursor));
  CHECK("M12", (h->epoch & 1) != 0, "bit 0 is clear in a cleanup");
  CHECK("M6", seen.nothing == h->cursor, "0 bytes are not at the cursor in a cleanup");
  CHECK("M16", seen.bytes == NULL, "alloc serves a cleanup");
  CHECK("M16", seen.smaller == NULL && seen.larger == NULL, "resize serves a cleanup");
  CHECK("M16", seen.node == NULL && seen.claimed == NULL, "a cleanup registers or claims");
  CHECK("M16", seen.rewound == TOFT_EBUSY && seen.reset == TOFT_EBUSY, "rewind is %d and reset %d in a cleanup",
        seen.rewound, seen.reset);
  CHECK("M16", seen.set == TOFT_EBUSY || (seen.set == TOFT_ENOSYS && !supports(CONFORMANCE_BUDGET)),
        "set is %d in a cleanup", seen.set);
  CHECK("4", seen.wrong_reset == TOFT_EARG && seen.unknown == TOFT_ENOSYS,
        "a meaningless reset is %d and a set %d in a closed arena", seen.wrong_reset, seen.unknown);
  CHECK("M16", seen.given == TOFT_EARG, "give is %d in a cleanup", seen.given);
  CHECK("M16", seen.returned == 0, "trim or release gives %llu bytes back in a cleanup",
        (unsigned long long)seen.returned);
  CHECK("M16", seen.after == h->cursor, "the cursor moves %ld in a cleanup", (long)(seen.after - h->cursor));
}

static void cleanups_find_it_closed(void) {
  open_arena(UINT64_MAX);
  toft_mark m = row->mark(arena);
  for (int i = 0; i < 2; i++) (void)next_block();
  CHECK("4 rewind", rewind_by(row, m) == TOFT_OK, "no rewind"); /* blocks may be spare now */
  for (int by_reset = 0; by_reset < 2; by_reset++) {
    memset(&seen, 0, sizeof seen);
    m = row->mark(arena);
    CHECK("4 cleanup", arena->ops->cleanup(arena, look, arena) != NULL, "no cleanup");
    seen.x = get(40);
    int code = by_reset ? reset_by(row) : rewind_by(row, m);
    CHECK("4 cleanup", code == TOFT_OK, "the code is %d", code);
    check_closed();
    get(8); /* it is open again */
  }
  CHECK("4 reset", reset_by(row) == TOFT_OK && seen.runs == 1, "a cleanup runs %d times", seen.runs);
  close_arena();
}

/* ---- claims ---- */

static void check_claimed(toft_range *r, toft_mark before, uint64_t was) {
  toft_range other = {NULL, NULL, 0};
  CHECK("M17", arena->limit == arena->cursor, "the limit is above the cursor while a range is claimed");
  CHECK("M12", (arena->epoch & 1) != 0, "bit 0 is clear while a range is claimed");
  CHECK("M6", by_table(0, 8) == arena->cursor, "0 bytes are not at the cursor while a range is claimed");
  CHECK("4 claim", arena->ops->claim(arena, &other, 0, 8) == NULL, "a second range is claimed");
  CHECK("4 rewind", rewind_by(row, before) == TOFT_EBUSY, "a rewind while a range is claimed");
  CHECK("4 reset", reset_by(row) == TOFT_EBUSY, "a reset while a range is claimed");
  CHECK("4 cleanup", arena->ops->cleanup(arena, look, arena) == NULL, "a cleanup while a range is claimed");
  arena->ops->release(arena);
  CHECK("4 release", source.out != 0, "a release while a range is claimed");
  CHECK("M17", live() == was, "live counts a range that is claimed: %llu, not %llu", (unsigned long long)live(),
        (unsigned long long)was);
  r->cursor += 5;
  CHECK("M17", live() == was, "live counts what the holder took");
}

static void give_outside(unsigned char *q) {
  uint64_t was = live();
  if (q == NULL || arena->ops->free == NULL) return;
  arena->ops->free(arena, q, 40);
  CHECK("M18", live() == was, "free gives back what was served outside a claimed range");
}

static void claims_close(void) {
  toft_range r = {NULL, NULL, 0};
  open_arena(UINT64_MAX);
  get(8);
  toft_mark before = row->mark(arena);
  uint64_t was = live();
  unsigned char *cursor = arena->cursor, *p = (unsigned char *)arena->ops->claim(arena, &r, 24, 8);
  CHECK("4 claim", p != NULL && r.claim != 0 && r.cursor <= r.limit, "no claim of 24 bytes");
  check_claimed(&r, before, p == cursor ? was + 24 : live());
  unsigned char *q = (unsigned char *)by_table(40, 8); /* or NULL */
  CHECK("M18", q == NULL || q + 40 <= r.cursor || q >= r.limit, "an allocation is in the claimed range");
  give_outside(q);
  was = live();
  if (r.limit - r.cursor >= 64) {
    unsigned char *aligned = r.cursor + 3; /* 5 bytes were taken */
    CHECK("M3", arena->ops->claim(arena, &r, 16, 8) == aligned, "a claim that goes on moves, and its block has room");
    CHECK("M17", live() == was + 24, "live is %llu after a claim went on, not %llu", (unsigned long long)live(),
          (unsigned long long)was + 24);
    r.cursor += 3;
  }
  toft_range past = r;
  past.cursor = r.limit + 8;
  CHECK("4 give", arena->ops->give(arena, &past) == TOFT_EARG, "a range whose cursor is above its limit is taken");
  CHECK("4 give", arena->ops->give(arena, &r) == TOFT_OK, "a range is not taken back");
  CHECK("4 give", r.cursor == NULL && r.limit == NULL && r.claim == 0, "a range that was given back is not zeroed");
  CHECK("4 give", arena->ops->give(arena, &r) == TOFT_EARG, "a range is given back twice");
  check_head();
  give_outside(q);
  get(8);
  CHECK("4 rewind", rewind_by(row, before) == TOFT_OK, "no rewind after a claim");
  close_arena();
}

/* ---- other operations ---- */

static void zeroes_in_used_memory(void) {
  open_arena(UINT64_MAX);
  toft_mark m = row->mark(arena);
  memset(get(3000), 0x77, 3000);
  CHECK("4 rewind", rewind_by(row, m) == TOFT_OK, "no rewind");
  unsigned char *p = (unsigned char *)arena->ops->alloc(arena, 2000, 8, TOFT_ZERO, 0);
  CHECK("4 alloc", p != NULL, "no memory");
  for (size_t i = 0; i < 2000; i++) CHECK("4 alloc", p[i] == 0, "byte %zu of 2000 is not zeroed", i);
  close_arena();
}

/* A round needs a block; a reset that keeps no bytes gives it back. */
static void resets_keep_by_policy(void) {
  open_arena(UINT64_MAX);
  size_t blocks = source.out;
  get(300000);
  uint64_t before = stats_of(row).reserved;
  CHECK("4 reset", arena->ops->reset(arena, 99, 0) == TOFT_EARG, "a reset by policy 99");
  CHECK("4 reset", arena->ops->reset(arena, TOFT_KEEP_BYTES, 0) == TOFT_OK, "no reset");
  if (source.out > blocks)
    CHECK("4 reset", stats_of(row).reserved < before, "a reset that keeps 0 bytes keeps all %llu",
          (unsigned long long)before);
  close_arena();
}

static void arenas_are_apart(void) {
  open_arena(UINT64_MAX);
  toft_arena *one = arena, *other = provider->make(&source.source, UINT64_MAX, 0);
  CHECK("1", other != NULL && other != one, "no second arena");
  CHECK("U1", row->accept == NULL || row->accept(other) == TOFT_OK, "%s refuses the arena", row->name);
  uint64_t lives[2] = {0, 0};
  for (int i = 0; i < 400; i++) {
    arena = i % 3 != 0 ? one : other;
    get(104);
    lives[arena == other] += 104;
    CHECK("M21", live() == lives[arena == other], "live is %llu, not %llu, with two arenas", (unsigned long long)live(),
          (unsigned long long)lives[arena == other]);
  }
  provider->release(other);
  arena = one;
  CHECK("M21", live() == lives[0], "the release of another arena changes live");
  close_arena();
}

static void statistics_are_cut(void) {
  unsigned char out[128];
  open_arena(UINT64_MAX);
  get(104);
  for (size_t size = 0; size <= 96; size += 8) {
    memset(out, 0x5A, sizeof out);
    size_t wrote = arena->ops->stats(arena, (toft_stats *)(void *)out, size), most = size < 64 ? size : 64;
    CHECK("4 stats", wrote == most, "%zu bytes of %zu are written", wrote, size);
    CHECK("4 stats", out[most] == 0x5A && out[127] == 0x5A, "more than %zu bytes are written", size);
  }
  check_stats(row);
  close_arena();
}

static void trims_leave_what_is_used(void) {
  open_arena(UINT64_MAX);
  get(8);
  toft_mark m = row->mark(arena);
  for (int i = 0; i < 2; i++) (void)next_block();
  uint64_t given = source.bytes_given;
  CHECK("4 rewind", rewind_by(row, m) == TOFT_OK, "no rewind");
  CHECK("4 stats", stats_of(row).reserved == source.bytes_taken - source.bytes_given, "reserved is not what is held");
  given = source.bytes_given;
  arena->ops->trim(arena, SIZE_MAX);
  CHECK("4 trim", source.bytes_given == given, "a trim that keeps all gives %llu bytes back",
        (unsigned long long)(source.bytes_given - given));
  arena->ops->trim(arena, 0);
  check_stats(row);
  CHECK("4 trim", live() == 8 && rewind_by(row, m) == TOFT_OK, "a trim changes what is in use");
  get(8);
  close_arena();
}

const conformance_scenario rule_scenarios[] = {
    {"head", "M1", heads_are_valid, 0, 0},
    {"limit", "M2", limits_follow_blocks, 0, 0},
    {"moves", "M4", moves_of_the_cursor_count, 0, 65536},
    {"failures", "M5", failures_change_nothing, 0, 0},
    {"answers", "M6", table_answers_as_the_inline_path, 0, 65536},
    {"lines", "M7", blocks_begin_on_lines, 0, 1u << 20},
    {"aligned", "M7", results_are_aligned, 0, 2u << 20},
    {"large", "M9", large_sizes_are_refused_first, 0, 0},
    {"budgets", "M10", budgets_come_first, CONFORMANCE_BUDGET, 0},
    {"epochs", "M11", epochs_grow, 0, 0},
    {"stale", "M11", stale_marks_are_refused, 0, 0},
    {"resets", "M13", resets_end_marks, 0, 0},
    {"forged", "M14", forged_marks_are_refused, 0, 0},
    {"rewinds", "M15", rewinds_drop_what_is_newer, 0, 1u << 20},
    {"above", "M15", marks_above_the_cursor_do_not_move_it, 0, 0},
    {"closed", "M16", cleanups_find_it_closed, CONFORMANCE_CLEANUP, 0},
    {"claims", "M17", claims_close, CONFORMANCE_CLAIM, 0},
    {"zeroes", "4 alloc", zeroes_in_used_memory, 0, 65536},
    {"keeps", "4 reset", resets_keep_by_policy, 0, 1u << 20},
    {"apart", "M21", arenas_are_apart, 0, 1u << 20},
    {"statistics", "4 stats", statistics_are_cut, 0, 0},
    {"trims", "4 trim", trims_leave_what_is_used, 0, 0},
};
const size_t rule_scenario_count = sizeof rule_scenarios / sizeof rule_scenarios[0];
