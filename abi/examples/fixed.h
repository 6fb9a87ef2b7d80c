/* A provider: an arena in a caller's buffer, which does not grow. It has the full profile of ../SPEC.md and
 * keeps every rule of its section 11; it needs no placement policy, since it has one block. conformance/ checks
 * it, whole and reduced to the core profile; `conformance/kit` does so with every provider.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_EXAMPLE_FIXED_H
#define TOFT_EXAMPLE_FIXED_H
#include <string.h>

#include "toft_abi.h"
#define R8(n) (((n) + 7u) & ~(size_t)7)

typedef struct node { /* a cleanup; what clients see comes first */
  toft_cleanup shown;
  struct node *older;
  uintptr_t created;
} node;

typedef struct fixed {
  toft_arena head; /* first, so that the head's address is the arena's */
  unsigned char *start, *end;
  uintptr_t created;                      /* epoch of the last reset: older marks are refused */
  uint64_t budget, seen, allocated, peak; /* seen: live when the last operation ended */
  node *cleanups;
  int in_cleanup, claimed;
  unsigned char *from, *to; /* claimed: where the holder's cursor may be */
} fixed;

static uint64_t live(const fixed *a) { return (uint64_t)(a->head.cursor - a->start); }
static int closed(const fixed *a) { return a->in_cleanup || a->claimed; }
static uintptr_t epoch(const fixed *a) { return a->head.epoch & ~(uintptr_t)1; }

static void recompute(fixed *a) { /* M2: the one place that writes limit; M4; M12: and bit 0 */
  if (live(a) > a->seen) a->allocated += live(a) - a->seen;
  if (live(a) > a->peak) a->peak = live(a);
  a->seen = live(a);
  uint64_t remaining = (uint64_t)(a->end - a->head.cursor);
  uint64_t affordable = live(a) < a->budget ? (a->budget - live(a)) & ~(uint64_t)7 : 0;
  if (remaining > affordable) remaining = affordable;
  a->head.limit = a->head.cursor + (closed(a) ? 0 : (size_t)remaining);
  a->head.epoch = epoch(a) | (closed(a) || live(a) > a->budget);
}

static int is_request(size_t n, size_t align) { /* M9 */
  return align != 0 && (align & (align - 1)) == 0 && n <= PTRDIFF_MAX / 2 && align <= PTRDIFF_MAX / 2;
}

static size_t pad_to(const unsigned char *p, size_t a) { return (size_t)(0 - (uintptr_t)p) & (a - 1); }

static int affords(const fixed *a, uint64_t more) {
  return more == 0 || (live(a) <= a->budget && more <= a->budget - live(a));
}

static void *place(fixed *a, size_t n, size_t align) { /* M3: by the true end */
  size_t pad = pad_to(a->head.cursor, align > 8 ? align : 8), remaining = (size_t)(a->end - a->head.cursor);
  if (pad > remaining || R8(n) > remaining - pad || !affords(a, (uint64_t)pad + R8(n))) return NULL;
  unsigned char *p = a->head.cursor + pad;
  a->head.cursor = p + R8(n);
  return p;
}

static void *fixed_alloc(toft_arena *head, size_t n, size_t align, uint32_t flags, uintptr_t site) {
  fixed *a = (fixed *)(void *)head;
  unsigned char *p = NULL;
  (void)site;
  if (!is_request(n, align)) return NULL;
  if (n == 0 && pad_to(head->cursor, align) == 0) return head->cursor; /* M6: as the inline path */
  if (!closed(a)) p = (unsigned char *)place(a, n, align);
  recompute(a);
  if (p != NULL && (flags & TOFT_ZERO)) memset(p, 0, n);
  return p;
}

static void *fixed_resize(toft_arena *head, void *old, size_t old_size, size_t n, size_t align, uint32_t flags,
                          uintptr_t site) {
  fixed *a = (fixed *)(void *)head;
  unsigned char *p = (unsigned char *)old, *q = NULL;
  if (p == NULL) return old_size == 0 ? fixed_alloc(head, n, align, flags, site) : NULL;
  if (closed(a) || !is_request(n, align) || !is_request(old_size, 8)) return NULL;
  int last = (size_t)(head->cursor - p) == R8(old_size), stays = pad_to(p, align) == 0;
  size_t more = R8(n) > R8(old_size) ? R8(n) - R8(old_size) : 0;
  recompute(a);
  if (stays && last && more <= (size_t)(a->end - head->cursor) && affords(a, more)) {
    q = p;
    head->cursor = p + R8(n);
  } else if (stays && !last && n <= old_size) {
    q = p;
  } else if (!(flags & TOFT_STAY)) {
    q = (unsigned char *)place(a, n, align);
    if (q != NULL) memcpy(q, p, old_size < n ? old_size : n);
  }
  recompute(a);
  if (q != NULL && (flags & TOFT_ZERO) && n > old_size) memset(q + old_size, 0, n - old_size);
  return q;
}

static void fixed_free(toft_arena *head, void *p, size_t n) {
  fixed *a = (fixed *)(void *)head;
  if (p == NULL || closed(a) || (size_t)(head->cursor - (unsigned char *)p) != R8(n)) return;
  recompute(a);
  head->cursor = (unsigned char *)p;
  recompute(a);
}

static void run_cleanups(fixed *a, uintptr_t since) { /* M16 */
  a->in_cleanup = 1;
  recompute(a);
  while (a->cleanups != NULL && a->cleanups->created > since) {
    node *n = a->cleanups;
    a->cleanups = n->older;
    if (n->shown.fn != NULL) n->shown.fn(n->shown.arg);
  }
  a->in_cleanup = 0;
}

static int fixed_rewind(toft_arena *head, unsigned char *c, uintptr_t e) { /* M14, M15 */
  fixed *a = (fixed *)(void *)head;
  if (closed(a)) return TOFT_EBUSY;
  if ((uintptr_t)c % 8 != 0 || (e & 1) != 0 || e > epoch(a) || e < a->created) return TOFT_EMARK;
  if ((uintptr_t)c < (uintptr_t)a->start || (uintptr_t)c > (uintptr_t)a->end) return TOFT_EMARK;
  run_cleanups(a, e);
  if (c < head->cursor) head->cursor = a->start + ((uintptr_t)c - (uintptr_t)a->start); /* M22 */
  recompute(a);
  return TOFT_OK;
}

static int fixed_reset(toft_arena *head, uint32_t policy, size_t keep) {
  fixed *a = (fixed *)(void *)head;
  (void)keep;
  if (policy > TOFT_KEEP_BYTES) return TOFT_EARG;
  if (closed(a)) return TOFT_EBUSY;
  run_cleanups(a, 0);
  head->cursor = a->start;
  head->epoch += 2; /* M11 */
  a->created = epoch(a);
  recompute(a);
  return TOFT_OK;
}

static void fixed_trim(toft_arena *head, size_t keep) { (void)head, (void)keep; }

static toft_cleanup *fixed_cleanup(toft_arena *head, void (*fn)(void *), void *arg) {
  fixed *a = (fixed *)(void *)head;
  node *n = closed(a) ? NULL : (node *)place(a, sizeof *n, 8);
  if (n == NULL) return NULL;
  head->epoch += 2; /* M11: so that a mark from before comes to fixed_rewind */
  n->shown.fn = fn;
  n->shown.arg = arg;
  n->older = a->cleanups;
  n->created = epoch(a);
  a->cleanups = n;
  recompute(a);
  return &n->shown;
}

static void *fixed_claim(toft_arena *head, toft_range *r, size_t n, size_t align) {
  fixed *a = (fixed *)(void *)head;
  int holds = a->claimed && r->claim == (uintptr_t)a;
  unsigned char *was = head->cursor;
  if (a->in_cleanup || (!holds && (a->claimed || r->claim != 0)) || (n != 0 && !is_request(n, align))) return NULL;
  if (holds && (r->cursor < a->from || r->cursor > a->to)) return NULL;
  if (holds) head->cursor = r->cursor + pad_to(r->cursor, 8);
  unsigned char *p = n != 0 ? (unsigned char *)place(a, n, align) : head->cursor;
  if (p == NULL) {
    head->cursor = was;
  } else {
    a->claimed = 0;
    recompute(a); /* the range is what the inline path would have had */
    r->cursor = head->cursor;
    r->limit = a->to = head->limit;
    r->claim = (uintptr_t)a;
    a->from = p;
    a->claimed = 1;
  }
  recompute(a); /* M17 */
  return p;
}

static int fixed_give(toft_arena *head, toft_range *r) {
  fixed *a = (fixed *)(void *)head;
  if (!a->claimed || r->claim != (uintptr_t)a || r->cursor < a->from || r->cursor > a->to) return TOFT_EARG;
  head->cursor = r->cursor + pad_to(r->cursor, 8);
  a->claimed = 0;
  memset(r, 0, sizeof *r);
  recompute(a);
  return TOFT_OK;
}

static int fixed_contains(const toft_arena *head, const void *p) {
  const fixed *a = (const fixed *)(const void *)head;
  return (uintptr_t)p >= (uintptr_t)a->start && (uintptr_t)p < (uintptr_t)head->cursor;
}

static size_t fixed_stats(toft_arena *head, toft_stats *out, size_t size) {
  fixed *a = (fixed *)(void *)head;
  recompute(a);
  toft_stats s = {live(a), a->allocated, a->peak, a->budget, (uint64_t)(a->end - (unsigned char *)a), 0, 1, 0};
  memcpy(out, &s, size < sizeof s ? size : sizeof s);
  return size < sizeof s ? size : sizeof s;
}

static int fixed_set(toft_arena *head, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  fixed *a = (fixed *)(void *)head;
  (void)name, (void)name_len;
  if (what != TOFT_SET_BUDGET) return TOFT_ENOSYS;
  if (closed(a)) return TOFT_EBUSY;
  a->budget = value;
  head->epoch += 2;
  recompute(a);
  return TOFT_OK;
}

static void fixed_release(toft_arena *head) { /* the buffer is the caller's */
  fixed *a = (fixed *)(void *)head;
  if (!closed(a)) run_cleanups(a, 0);
}

static const toft_arena_ops fixed_ops = {
    sizeof(toft_arena_ops),
    1,
    fixed_alloc,
    fixed_resize,
    fixed_free,
    fixed_rewind,
    fixed_reset,
    fixed_trim,
    fixed_cleanup,
    fixed_claim,
    fixed_give,
    fixed_contains,
    fixed_stats,
    fixed_set,
    fixed_release,
};

/* An arena in `buffer`, or NULL if that is too small. */
static toft_arena *fixed_init(void *buffer, size_t size) {
  unsigned char *base = (unsigned char *)buffer;
  size_t at = pad_to(base, 64), start = at + (sizeof(fixed) + 63) / 64 * 64; /* M7 */
  if (size < start) return NULL;
  fixed *a = (fixed *)(void *)(base + at);
  memset(a, 0, sizeof *a);
  a->start = base + start;
  a->end = a->start + (size - start) / 8 * 8; /* M1 */
  a->head.cursor = a->start;
  a->head.ops = &fixed_ops;
  a->head.epoch = a->created = 2;
  a->budget = UINT64_MAX;
  recompute(a);
  return &a->head;
}

#endif
