/* Scenarios about a client's inline paths: the slow path behind them, and the arguments that it gets.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "driver.h"
#include "stage.h"
#include "toft_abi_info.h"

/* The provider's code serves the slow path. */
void table_is_the_providers(void) {
  open_arena(UINT64_MAX);
  const toft_arena_ops *ops = arena->ops;
  void *functions[13];
  memcpy(functions, (const char *)ops + offsetof(toft_arena_ops, alloc), sizeof functions);
  static const char *const names[] = {"alloc", "resize", "free",     "rewind", "reset", "trim",   "cleanup",
                                      "claim", "give",   "contains", "stats",  "set",   "release"};
  for (size_t i = 0; i < 13; i++) {
    if (functions[i] == NULL && i == 2) continue; /* free */
    CHECK("M20", functions[i] != NULL, "%s is NULL", names[i]);
    Dl_info where;
    int found = dladdr(functions[i], &where);
    CHECK("M20", found != 0 && where.dli_fbase == provider_object, "%s is in %s, not in the provider's object",
          names[i], found != 0 ? where.dli_fname : "nothing that was loaded");
  }
  close_arena();
}

/* A provider's name, and those of its settings that it announces and shows, also while the arena is closed. */
void providers_name_themselves(void) {
  static const struct {
    uint32_t what, announced;
    uint64_t off, on;
    const char *name;
  } settings[] = {{TOFT_SET_BUDGET, CONFORMANCE_BUDGET, UINT64_MAX, 100000, "budget"},
                  {TOFT_SET_SAMPLE, CONFORMANCE_SAMPLE, 0, 5000, "samples"},
                  {TOFT_SET_CHECKED, CONFORMANCE_CHECKED, 0, 1, "checks"}};
  open_arena(UINT64_MAX);
  const toft_provider_info *info = toft_info_of(arena);
  CHECK("9", (info != NULL) == ((provider->supports & CONFORMANCE_INFO) != 0), "toft_info_of is %p",
        (const void *)info);
  if (info != NULL) {
    uint32_t shown = provider->supports & CONFORMANCE_QUERY ? provider->supports : 0;
    toft_range range = {NULL, NULL, 0};
    uint64_t value = 7;
    CHECK("9", info->name[0] != 0 && info->version[0] != 0, "no name or no version");
    CHECK("9", info->query(arena, 99, &value) == TOFT_ENOSYS && value == 7, "an unknown setting has a value");
    for (int on = 0; on < 2; on++) {
      for (size_t i = 0; i < 3 && on; i++) {
        if ((provider->supports & settings[i].announced) == 0) continue;
        int code =
            i == 0 ? budget_by(row, settings[i].on) : arena->ops->set(arena, settings[i].what, settings[i].on, NULL, 0);
        CHECK("4 set", code == TOFT_OK, "no %s", settings[i].name);
      }
      if (on && (provider->supports & CONFORMANCE_CLAIM))
        CHECK("4 claim", arena->ops->claim(arena, &range, 0, 8) != NULL, "no claim");
      for (size_t i = 0; i < 3; i++) {
        if ((shown & settings[i].announced) == 0) continue;
        uint64_t wanted = on ? settings[i].on : settings[i].off;
        CHECK("9", info->query(arena, settings[i].what, &value) == TOFT_OK && value == wanted, "%s %llu",
              settings[i].name, (unsigned long long)value);
      }
    }
    if (range.claim != 0) CHECK("4 give", arena->ops->give(arena, &range) == TOFT_OK, "the range is not given back");
  }
  close_arena();
}

/* By ops, with arguments that the clients' packages do not pass. */
void arguments_are_checked(void) {
  open_arena(UINT64_MAX);
  unsigned char *p = (unsigned char *)row->alloc(arena, 100, 8);
  CHECK("4 alloc", p != NULL && row->alloc(arena, 8, 8) != NULL, "no memory");
  unsigned char *cursor = arena->cursor;
  CHECK("4 resize", arena->ops->resize(arena, p, SIZE_MAX / 4 + 1, 50, 8, 0, 0) == NULL && arena->cursor == cursor,
        "an old size that no allocation has");
  CHECK("4 resize", arena->ops->resize(arena, NULL, 8, 50, 8, 0, 0) == NULL, "NULL with an old size");
  int in = arena->ops->contains(arena, NULL), own = arena->ops->contains(arena, p);
  CHECK("4 contains", (in == 0 && own == 1) || (in == TOFT_ENOSYS && own == TOFT_ENOSYS), "NULL %d, its own %d", in,
        own);
  for (int closed = 0; closed < 2; closed++) { /* a meaningless argument comes before the closed arena */
    toft_range range = {NULL, NULL, 0};
    if (closed && arena->ops->claim(arena, &range, 0, 8) == NULL) break;
    int tag = arena->ops->set(arena, TOFT_SET_TAG, 1, NULL, 5);
    int switched = arena->ops->set(arena, TOFT_SET_CHECKED, 2, NULL, 0);
    CHECK("4 set", tag == TOFT_EARG || tag == TOFT_ENOSYS, "a name of 5 bytes at NULL: %d", tag);
    CHECK("4 set", switched == TOFT_EARG || switched == TOFT_ENOSYS, "2 as a switch: %d", switched);
    if (closed) CHECK("4 give", arena->ops->give(arena, &range) == TOFT_OK, "the range is not given back");
  }
  close_arena();
}

/* The provider's table with the driver in front: it counts the clients' calls and keeps their arguments. During each
 * call the table beneath is in the head (I1). */
static struct {
  toft_arena_ops ops;
  const toft_arena_ops *real;
  int alloc, resize, free, rewind;
  size_t size, align;
  void *elsewhere; /* not NULL: what alloc answers */
} spy;

static int is_instrumented(void) { return (provider->supports & CONFORMANCE_INSTRUMENTED) != 0; }

static const toft_arena_ops *beneath(toft_arena *a) {
  a->ops = spy.real;
  return spy.real;
}
static void above(toft_arena *a) {
  spy.real = a->ops;
  a->ops = &spy.ops;
}

static void *spy_alloc(toft_arena *a, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  spy.alloc++;
  spy.size = size;
  spy.align = align;
  if (spy.elsewhere != NULL) return spy.elsewhere;
  void *p = beneath(a)->alloc(a, size, align, flags, site);
  above(a);
  return p;
}
static void *spy_resize(toft_arena *a, void *p, size_t old, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  spy.resize++;
  spy.size = old;
  void *q = beneath(a)->resize(a, p, old, size, align, flags, site);
  above(a);
  return q;
}
static void spy_free(toft_arena *a, void *p, size_t size) {
  spy.free++;
  spy.size = size;
  if (spy.real->free != NULL) beneath(a)->free(a, p, size);
  above(a);
}
static int spy_rewind(toft_arena *a, unsigned char *cursor, uintptr_t epoch) {
  spy.rewind++;
  int code = beneath(a)->rewind(a, cursor, epoch);
  above(a);
  return code;
}
static int spy_set(toft_arena *a, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  int code = beneath(a)->set(a, what, value, name, name_len);
  above(a);
  return code;
}

/* Of operations that are inline: with an instrument, allocation. */
static int spy_calls(void) { return spy.alloc + (is_instrumented() ? 0 : spy.resize + spy.free + spy.rewind); }

static void install_spy(void) {
  memset(&spy, 0, sizeof spy);
  spy.real = arena->ops;
  spy.ops = *arena->ops;
  spy.ops.size = sizeof spy.ops;
  spy.ops.alloc = spy_alloc;
  spy.ops.resize = spy_resize;
  spy.ops.free = spy_free;
  spy.ops.rewind = spy_rewind;
  spy.ops.set = spy_set;
  arena->ops = &spy.ops;
}

/* What the client does without a call. Returns a mark after the allocations. */
static toft_mark operations_are_inline(void) {
  static const size_t sizes[] = {1, 8, 24, 7, 100, 16, 33};
  toft_arena before = *arena;
  for (size_t i = 0; i < 20; i++) {
    unsigned char *cursor = arena->cursor;
    size_t size = sizes[i % 7];
    CHECK("3", row->alloc(arena, size, 8) == cursor && arena->cursor == cursor + (size + 7) / 8 * 8,
          "%zu bytes are not at the cursor, or it moved to %+ld", size, (long)(arena->cursor - cursor));
    unsigned char *aligned = (unsigned char *)row->alloc(arena, size, 64);
    CHECK("3", ((uintptr_t)aligned & 63) == 0 && arena->cursor == aligned + (size + 7) / 8 * 8,
          "%zu bytes at 64 are at %p", size, (void *)aligned);
  }
  toft_mark m = row->mark(arena);
  CHECK("3", m.cursor == arena->cursor && m.epoch == (arena->epoch & ~(uintptr_t)1),
        "a mark is not the cursor and epoch");
  CHECK("3", row->alloc(arena, 40, 8) != NULL && row->rewind(arena, m) == TOFT_OK && arena->cursor == m.cursor,
        "a rewind leaves the cursor %+ld", (long)(arena->cursor - m.cursor));
  if (row->resize != NULL) {
    void *p = row->alloc(arena, 40, 8);
    CHECK("3", row->resize(arena, p, 40, 90, 8) == p && arena->cursor == (unsigned char *)p + 96, "the newest moves");
    CHECK("3", row->resize(arena, p, 90, 3, 8) == p && arena->cursor == (unsigned char *)p + 8, "the newest moves");
    row->free(arena, p, 3);
    CHECK("3", arena->cursor == p, "the newest is not given back");
  }
  CHECK("U3", arena->ops == before.ops && arena->limit == before.limit && arena->epoch == before.epoch,
        "a client wrote ops, limit or epoch");
  CHECK("3", spy_calls() == 0, "%d calls for what is inline", spy_calls());
  return m;
}

/* At the end of the block, and with which arguments the client calls beyond it. Precondition: the cursor is at m. */
static void limits_are_exact(toft_mark m) {
  static uint64_t far_away[32];
  size_t remaining = (size_t)(arena->limit - arena->cursor);
  unsigned char *end = arena->cursor;
  for (size_t less = 0; less < 8; less += 7) {
    CHECK("3", row->alloc(arena, remaining - less, 8) == end && arena->cursor == arena->limit && spy_calls() == 0,
          "%zu bytes do not fit %zu remaining ones", remaining - less, remaining);
    CHECK("3", row->rewind(arena, m) == TOFT_OK && spy_calls() == 0, "no inline rewind");
  }
  spy.elsewhere = far_away;
  void *p = row->alloc(arena, remaining + 1, 8);
  CHECK("U2", spy.alloc == 1, "%d calls of the table that the head has now", spy.alloc);
  CHECK("U5", p == far_away, "what ops->alloc returned is not what the client got");
  CHECK("U4", spy.size == remaining + 1 && spy.align <= 8 && arena->cursor == m.cursor,
        "a request of %zu at %zu, not %zu at 8", spy.size, spy.align, remaining + 1);
  CHECK("3", row->alloc(arena, remaining - 1, 256) == far_away,
        "padding was not in the compare"); /* it is not 0 here */
  spy.elsewhere = NULL;
  CHECK("U4",
        row->alloc(arena, SIZE_MAX, 8) == NULL && row->alloc(arena, SIZE_MAX - 7, 8) == NULL &&
            row->alloc(arena, SIZE_MAX / 2, 64) == NULL && arena->cursor == m.cursor,
        "a size that wraps was served");
}

/* Live is above the budget. Precondition: the cursor is at m. */
static void instrumented_arenas_are_called(toft_mark m) {
  void *p = row->alloc(arena, 40, 8);
  CHECK("M12", budget_by(row, 8) == TOFT_OK && (arena->epoch & 1) != 0, "a budget below live is not instrumented");
  CHECK("M12", budget_by(row, UINT64_MAX) == TOFT_OK && (arena->epoch & 1) == (uintptr_t)is_instrumented(),
        "an arena without a budget is instrumented");
  CHECK("4 set", budget_by(row, 8) == TOFT_OK, "no budget the second time");
  int rewinds = spy.rewind, resizes = spy.resize, frees = spy.free;
  if (row->resize != NULL) {
    CHECK("U9", row->resize(arena, p, 40, 30, 8) == p && spy.resize == resizes + 1,
          "an instrumented arena was resized inline");
    CHECK("U8", spy.size == 40, "ops->resize got the old size %zu, not 40", spy.size);
    row->free(arena, p, 30);
    CHECK("U9", spy.free == frees + 1, "an instrumented arena was given back inline");
    CHECK("U8", spy.size == 30, "ops->free got the size %zu, not 30", spy.size);
  }
  CHECK("M11", row->rewind(arena, m) == TOFT_OK && spy.rewind == rewinds + 1,
        "an instrumented arena was rewound inline");
}

/* What the row's client does without a call, and with which arguments it calls. A table may be swapped (M20). */
void paths_are_inline(void) {
  open_arena(UINT64_MAX);
  unsigned char *first = (unsigned char *)row->alloc(arena, 8, 8);
  CHECK("M7", first != NULL && (uintptr_t)first % 64 == 0, "the first byte of a block is %p", (void *)first);
  CHECK("U4", row->alloc(arena, SIZE_MAX, 8) == NULL,
        "a size that wraps was served"); /* by the table before the swap */
  install_spy();
  toft_mark m = operations_are_inline();
  limits_are_exact(m);
  instrumented_arenas_are_called(m);
  arena->ops = spy.real;
  close_arena();
}

/* A head that is not of version 1. */
void versions_are_checked(void) {
  static unsigned char memory[64];
  toft_arena_ops ops;
  open_arena(UINT64_MAX);
  ops = *arena->ops;
  ops.size = sizeof ops;
  ops.version = 2;
  unsigned char *start = memory + (8 - (uintptr_t)memory % 8) % 8;
  toft_arena other = {start, &ops, start + 32, 2};
  CHECK("U1", row->accept == NULL || row->accept(&other) != TOFT_OK, "an arena of version 2 was accepted");
  close_arena();
}
