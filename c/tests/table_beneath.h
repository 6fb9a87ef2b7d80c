/* A table between an arena of another provider and the instrument before it, which notes the rule of I1 to I4 of
 * abi/SPEC.md that is broken first. One arena at a time has it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_TABLE_BENEATH_H
#define TOFT_TEST_TABLE_BENEATH_H

#include "toft.h"

static struct {
  toft_info_ops table;
  const toft_arena_ops *real;
  unsigned char *limit; /* this and the epoch: as the last operation left them */
  uintptr_t epoch;
  int on, depth; /* depth: of calls, as callbacks make some */
  const char *broken;
} beneath;

static void beneath_require(int holds, const char *rule) {
  if (!holds && beneath.broken == NULL) beneath.broken = rule;
}

static void beneath_begin(const toft_arena *a) {
  if (beneath.depth++ != 0) return;
  beneath_require(a->ops == &beneath.table.ops && a->limit == beneath.limit, "I1: ops and limit in a call beneath");
  beneath_require(!beneath.on || ((a->epoch & 1) && a->epoch >= beneath.epoch), "I1, I3: the epoch in a call beneath");
}

static void beneath_end(const toft_arena *a) {
  if (--beneath.depth != 0) return;
  beneath.limit = a->limit;
  beneath.epoch = a->epoch;
}

/* clang-format off */
#define BENEATH(type, name, parameters, arguments) static type beneath_##name parameters { \
    beneath_begin(a); type result = beneath.real->name arguments; beneath_end(a); return result; }
#define BENEATH_VOID(name, parameters, arguments, end) static void beneath_##name parameters { \
    beneath_begin(a); beneath.real->name arguments; end; }
BENEATH(void *, alloc, (toft_arena *a, size_t n, size_t align, uint32_t flags, uintptr_t s), (a, n, align, flags, s))
BENEATH(void *, resize, (toft_arena *a, void *p, size_t m, size_t n, size_t align, uint32_t flags, uintptr_t s),
        (a, p, m, n, align, flags, s))
BENEATH_VOID(free, (toft_arena *a, void *p, size_t n), (a, p, n), beneath_end(a))
BENEATH(int, rewind, (toft_arena *a, unsigned char *cursor, uintptr_t epoch), (a, cursor, epoch))
BENEATH(int, reset, (toft_arena *a, uint32_t policy, size_t keep), (a, policy, keep))
BENEATH_VOID(trim, (toft_arena *a, size_t keep), (a, keep), beneath_end(a))
BENEATH(toft_cleanup *, cleanup, (toft_arena *a, void (*fn)(void *), void *arg), (a, fn, arg))
BENEATH(void *, claim, (toft_arena *a, toft_range *r, size_t n, size_t align), (a, r, n, align))
BENEATH(int, give, (toft_arena *a, toft_range *r), (a, r))
BENEATH(int, contains, (const toft_arena *a, const void *p), (a, p))
BENEATH(size_t, stats, (toft_arena *a, toft_stats *out, size_t size), (a, out, size))
BENEATH(int, set, (toft_arena *a, uint32_t what, uint64_t value, const char *name, size_t n), (a, what, value, name, n))
BENEATH_VOID(release, (toft_arena *a), (a), beneath.depth--) /* the arena has ended, or is as it was */

static const toft_arena_ops beneath_ops = {
  0, 1, beneath_alloc, beneath_resize, beneath_free, beneath_rewind, beneath_reset, beneath_trim, beneath_cleanup,
  beneath_claim, beneath_give, beneath_contains, beneath_stats, beneath_set, beneath_release };
/* clang-format on */

static void beneath_put(toft_arena *a) {
  memset(&beneath, 0, sizeof beneath);
  beneath.real = a->ops;
  beneath.table.info = toft_info_of(a);
  beneath.table.ops = beneath_ops;
  beneath.table.ops.size = a->ops->size < sizeof beneath.table ? a->ops->size : (uint32_t)sizeof beneath.table;
  a->ops = &beneath.table.ops;
  beneath.depth = 1;
  beneath_end(a);
}

/* Between two operations: the first rule that was broken; NULL: none. */
static const char *beneath_broken(const toft_arena *a) {
  const toft_info_ops *t = (const toft_info_ops *)(const void *)a->ops;
  beneath_require(!beneath.on || (t->ops.version == 1 && t->ops.size >= sizeof *t && t->under == &beneath.table.ops),
                  "I1: the table");
  beneath_require(beneath.on || (a->ops == &beneath.table.ops && a->limit == beneath.limit), "I2: ops and limit");
  beneath_require(a->limit <= beneath.limit && (a->epoch & 1) >= (beneath.epoch & 1), "I3: limit and bit 0");
  return beneath.broken;
}

static int beneath_switch(toft_arena *a, int on) {
  const unsigned char *cursor = a->cursor;
  uintptr_t epoch = a->epoch;
  int was = beneath.on;
  beneath.on = 1;
  int code = toft_instrument_arena(a, on);
  beneath.on = code == TOFT_OK ? on : was;
  beneath_require(a->cursor == cursor && (a->epoch | 1) >= epoch, "I3: cursor and epoch");
  beneath_require(beneath.on || (a->epoch & 1) == (beneath.epoch & 1), "I2: bit 0");
  return code;
}

#endif
