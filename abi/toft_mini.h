/* A small arena in one header, C99 and C++11, on malloc. Copy this file and toft_abi.h into a project.
 *
 *     #include "toft_mini.h"
 *     toft_arena *a = toft_create();                 NULL: no memory, as for each call that allocates
 *     struct node *n = toft_new(a, struct node);     also toft_alloc(a, size), toft_new_array(a, T, count)
 *     n->name = toft_printf(a, "node %d", i);        also toft_strdup, toft_strndup, toft_memdup
 *     toft_mark m = toft_mark_here(a);               toft_rewind(a, m) frees the later allocations
 *     toft_reset(a);                                 frees all, and keeps the memory that recent rounds needed
 *     toft_release(a);                               returns all memory
 *
 * Names and behaviour are a subset of those of toft.h, whose reference holds here: a program changes to the library by
 * including <toft.h> instead. Sizes that overflow are refused; a call that fails leaves the arena as it was. One thread
 * at a time uses an arena. Arenas have the core profile of SPEC.md with resize, free, trim and cleanups, so code in
 * every language with a client of the ABI allocates in them; the client below works with arenas of every provider.
 * With AddressSanitizer, the 16 bytes behind an allocation and freed memory may not be accessed.
 *
 * Macros to define before: TOFT_MINI_TAKE(size) and TOFT_MINI_PUT(block, size), for another source than malloc; and
 * TOFT_MINI_CREATED(a), called for each new arena, as with toft_instrument_arena(a, 1) of the library.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#if !defined(TOFT_MINI_H) && !defined(TOFT_H)
#define TOFT_MINI_H
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "toft_abi.h"
#ifndef TOFT_MINI_TAKE
#define TOFT_MINI_TAKE(size) malloc(size)
#define TOFT_MINI_PUT(block, size) free(block)
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define TOFT_MINI_ZONE 16
#define TOFT_MINI_HIDE(from, to) toft_mini_hide((from), (size_t)((to) - (from)))
#define TOFT_MINI_SHOW(from, to) __asan_unpoison_memory_region((from), (size_t)((to) - (from)))
static inline void toft_mini_hide(void *volatile p, size_t n) { __asan_poison_memory_region(p, n); } /* or gcc warns */
#else
#define TOFT_MINI_ZONE 0
#define TOFT_MINI_HIDE(from, to) ((void)(from), (void)(to))
#define TOFT_MINI_SHOW(from, to) ((void)(from), (void)(to))
#endif
#undef TOFT_ALIGNOF
#define TOFT_ALIGNOF(T) __alignof(T)

/* ---- the client ---- */
#define TOFT_MINI_R8(n) (((n) + 7u) & ~(size_t)7)
#define toft_new(a, T) ((T *)toft_alloc_aligned((a), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_zeroed(a, T) ((T *)toft_alloc_zeroed((a), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_array(a, T, n) ((T *)toft_alloc_array((a), (n), sizeof(T), TOFT_ALIGNOF(T)))
#define toft_new_array_zeroed(a, T, n) ((T *)toft_alloc_zeroed((a), toft_mini_size((n), sizeof(T)), TOFT_ALIGNOF(T)))
#define toft_alloc_array(a, n, size, align) toft_alloc_aligned((a), toft_mini_size((n), (size)), (align))
static inline size_t toft_mini_size(size_t n, size_t m) { return n > SIZE_MAX / (m | !m) ? SIZE_MAX : n * m; }
static inline void *toft_alloc(toft_arena *a, size_t size) { /* aligned to 8 */
  unsigned char *p = a->cursor;
  if ((size_t)(a->limit - p) < size) return a->ops->alloc(a, size, 8, 0, 0);
  a->cursor = p + TOFT_MINI_R8(size);
  return p;
}
static inline void *toft_alloc_aligned(toft_arena *a, size_t size, size_t align) { /* at least to 8; not to 0 */
  unsigned char *p = a->cursor;
  size_t left = (size_t)(a->limit - p), wide = align - 1 < 8 ? 8 : align, pad = (size_t)(0 - (uintptr_t)p) & (wide - 1);
  if ((wide & (wide - 1)) != 0 || left < pad || left - pad < size) return a->ops->alloc(a, size, wide, 0, 0);
  a->cursor = p + pad + TOFT_MINI_R8(size);
  return p + pad;
}
static inline void *toft_alloc_zeroed(toft_arena *a, size_t size, size_t align) {
  void *p = toft_alloc_aligned(a, size, align);
  return p != NULL ? memset(p, 0, size) : NULL;
}
static inline void *toft_resize(toft_arena *a, void *p, size_t old_size, size_t new_size, size_t align) {
  unsigned char *q = (unsigned char *)p;
  if (align - 1 < 7 && (align & (align - 1)) != 0) align = 8;
  if (q == NULL || (a->epoch & 1) != 0 || (size_t)(a->cursor - q) != TOFT_MINI_R8(old_size) ||
      (size_t)(a->limit - q) < new_size || ((uintptr_t)q & (align - 1)) != 0 || (align & (align - 1)) != 0)
    return a->ops->resize(a, p, q != NULL ? old_size : 0, new_size, align, 0, 0);
  a->cursor = q + TOFT_MINI_R8(new_size);
  return p;
}
static inline void toft_free(toft_arena *a, void *p, size_t size) { /* of the newest allocation; else no effect */
  if (p != NULL && (a->epoch & 1) == 0 && (size_t)(a->cursor - (unsigned char *)p) == TOFT_MINI_R8(size))
    a->cursor = (unsigned char *)p;
  else if (p != NULL && a->ops->free != NULL)
    a->ops->free(a, p, size);
}
static inline toft_mark toft_mark_here(const toft_arena *a) {
  toft_mark m = {a->cursor, a->epoch & ~(uintptr_t)1};
  return m;
}
static inline int toft_rewind(toft_arena *a, toft_mark m) {
  if (m.epoch != a->epoch || m.cursor > a->cursor) return a->ops->rewind(a, m.cursor, m.epoch);
  a->cursor = m.cursor;
  return TOFT_OK;
}
static inline int toft_reset(toft_arena *a) { return a->ops->reset(a, TOFT_KEEP_RECENT, 0); }
static inline void toft_trim(toft_arena *a, size_t keep) { a->ops->trim(a, keep); }
static inline void toft_release(toft_arena *a) { a != NULL ? a->ops->release(a) : (void)0; }
static inline toft_cleanup *toft_cleanup_add(toft_arena *a, void (*fn)(void *), void *arg) {
  return a->ops->cleanup(a, fn, arg);
}
static inline toft_stats toft_get_stats(toft_arena *a) {
  toft_stats s = {0, 0, 0, 0, 0, 0, 0, 0};
  (void)a->ops->stats(a, &s, sizeof s);
  return s;
}
static inline void *toft_memdup(toft_arena *a, const void *p, size_t size) {
  void *q = toft_alloc_aligned(a, size, 16);
  return q != NULL && size != 0 ? memcpy(q, p, size) : q;
}
static inline char *toft_strndup(toft_arena *a, const char *s, size_t n) {
  const char *end = (const char *)memchr(s, 0, n);
  size_t length = end != NULL ? (size_t)(end - s) : n;
  char *q = (char *)toft_alloc(a, length < SIZE_MAX ? length + 1 : SIZE_MAX);
  if (q != NULL) *((char *)memcpy(q, s, length) + length) = 0;
  return q;
}
static inline char *toft_strdup(toft_arena *a, const char *s) { return toft_strndup(a, s, strlen(s)); }
#ifdef __GNUC__
static inline char *toft_printf(toft_arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
#endif
static inline char *toft_printf(toft_arena *a, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *q = n >= 0 ? (char *)toft_alloc(a, (size_t)n + 1) : NULL;
  va_start(args, format);
  if (q != NULL) (void)vsnprintf(q, (size_t)n + 1, format, args);
  va_end(args);
  return q;
}

/* ---- the provider: M1 and so on are the rules of SPEC.md ---- */
enum { TOFT_MINI_FIRST = 4096, TOFT_MINI_CAP = 1 << 20, TOFT_MINI_MERGE = 64 << 20 };
typedef struct toft_mini_block { /* in front of its bytes, on a 64-byte line */
  struct toft_mini_block *older;
  void *raw;
  size_t size;                       /* of raw */
  unsigned char *start, *end, *used; /* used: the cursor when a newer block came */
  uintptr_t created;
} toft_mini_block;
TOFT_STATIC_ASSERT(mini_block, sizeof(toft_mini_block) <= 64); /* M8 */
typedef struct toft_mini_node {
  toft_cleanup shown;
  struct toft_mini_node *older;
  uintptr_t created;
} toft_mini_node;
typedef struct toft_mini {
  toft_arena head;                  /* first: M21 */
  toft_mini_block *current, *spare; /* the newest, with the cursor; the largest that was dropped */
  toft_mini_node *cleanups;
  uint64_t older, seen;  /* live in the blocks below current; live after the last operation */
  uint64_t most, recent; /* bytes of the one block in which this round fits; of recent rounds */
  uint64_t allocated, peak, reserved, blocks, calls;
  size_t first; /* size of the block after the initial one; 0: twice its size */
  int busy;     /* a cleanup is running */
} toft_mini;
static inline uintptr_t toft_mini_epoch(const toft_mini *m) { return m->head.epoch & ~(uintptr_t)1; }
static inline size_t toft_mini_span(size_t n) { return TOFT_MINI_R8(n) + (n != 0 ? TOFT_MINI_ZONE : 0); }
static inline int toft_mini_valid(size_t n, size_t align) { /* M9 */
  return align != 0 && (align & (align - 1)) == 0 && n <= PTRDIFF_MAX / 2 && align <= PTRDIFF_MAX / 2;
}
static inline void toft_mini_update(toft_mini *m) { /* M2, M4, M12 */
  uint64_t live = m->older + (uint64_t)(m->head.cursor - m->current->start);
  uintptr_t closed = m->busy || TOFT_MINI_ZONE != 0;
  if (live > m->seen) m->allocated += live - m->seen;
  if (live > m->peak) m->peak = live;
  if (live > m->most) m->most = live;
  m->seen = live;
  m->head.limit = closed ? m->head.cursor : m->current->end;
  m->head.epoch = toft_mini_epoch(m) | closed;
}
static inline toft_mini_block *toft_mini_take(toft_mini *m, size_t size) {
  unsigned char *raw = (unsigned char *)TOFT_MINI_TAKE(size);
  m->calls++;
  if (raw == NULL) return NULL;
  toft_mini_block *b = (toft_mini_block *)(void *)(raw + ((size_t)(0 - (uintptr_t)raw) & 63));
  unsigned char *start = (unsigned char *)b + 64, *end = start + ((size_t)(raw + size - start) & ~(size_t)7);
  toft_mini_block made = {NULL, raw, size, start, end, start, 0}; /* M7, M8 */
  *b = made;
  TOFT_MINI_HIDE(start, end);
  m->reserved += size;
  return b;
}
static inline void toft_mini_put(toft_mini *m, toft_mini_block *b) {
  if (b == NULL) return;
  m->reserved -= b->size;
  TOFT_MINI_SHOW(b->start, b->end);
  TOFT_MINI_PUT(b->raw, b->size);
}
static inline void toft_mini_trim(toft_arena *a, size_t keep) {
  toft_mini *m = (toft_mini *)(void *)a;
  if (m->busy || m->spare == NULL || m->spare->size <= keep) return;
  toft_mini_put(m, m->spare);
  m->spare = NULL;
}
static inline void toft_mini_drop(toft_mini *m) { /* the current block, which is not the initial one */
  toft_mini_block *b = m->current, *unused = b;
  m->current = b->older;
  m->head.cursor = m->current->used;
  m->older -= (uint64_t)(m->current->used - m->current->start);
  m->blocks--;
  if (b->size <= TOFT_MINI_MERGE && (m->spare == NULL || m->spare->size < b->size)) {
    TOFT_MINI_HIDE(b->start, b->end);
    unused = m->spare;
    m->spare = b;
  }
  toft_mini_put(m, unused);
}
static inline unsigned char *toft_mini_grow(toft_mini *m, size_t n, size_t align) { /* by a new block */
  size_t need = (toft_mini_span(n) + align + 191 + 4095) & ~(size_t)4095; /* 64 of the block, and to align it */
  size_t size = m->current->size < TOFT_MINI_CAP / 2 ? 2 * m->current->size : (size_t)TOFT_MINI_CAP;
  if (m->first != 0) size = m->first;
  if (size < need) size += need;
  toft_mini_block *b = m->spare;
  if (b == NULL || b->size < size) b = toft_mini_take(m, size);
  if (b == NULL && m->spare != NULL && m->spare->size >= need) b = m->spare;
  if (b == NULL) toft_mini_trim(&m->head, 0);
  if (b == NULL) b = toft_mini_take(m, need);
  if (b == NULL) return NULL;
  if (b == m->spare) m->spare = NULL;
  if (m->seen + need > m->most) m->most = m->seen + need;
  m->head.epoch += 2; /* M11 */
  b->created = toft_mini_epoch(m);
  b->older = m->current;
  m->current->used = m->head.cursor;
  m->older += (uint64_t)(m->head.cursor - m->current->start);
  m->current = b;
  m->blocks++;
  m->first = 0;
  unsigned char *p = b->start + ((size_t)(0 - (uintptr_t)b->start) & (align - 1));
  m->head.cursor = p + toft_mini_span(n);
  return p;
}
static inline unsigned char *toft_mini_place(toft_mini *m, size_t n, size_t align) {
  if (align < 8) align = 8;
  unsigned char *p = m->head.cursor;
  size_t pad = (size_t)(0 - (uintptr_t)p) & (align - 1), left = (size_t)(m->current->end - p); /* M3 */
  toft_mini_update(m);
  if (pad <= left && toft_mini_span(n) <= left - pad)
    m->head.cursor = (p += pad) + toft_mini_span(n);
  else
    p = toft_mini_grow(m, n, align);
  if (p != NULL) TOFT_MINI_SHOW(p, p + n);
  return p;
}
static inline void *toft_mini_alloc(toft_arena *a, size_t n, size_t align, uint32_t flags, uintptr_t site) {
  toft_mini *m = (toft_mini *)(void *)a;
  (void)site;
  if (!toft_mini_valid(n, align)) return NULL;
  if (n == 0 && ((uintptr_t)a->cursor & (align - 1)) == 0) return a->cursor; /* M6 */
  unsigned char *p = m->busy ? NULL : toft_mini_place(m, n, align);
  toft_mini_update(m);
  return p != NULL && (flags & TOFT_ZERO) != 0 ? memset(p, 0, n) : p;
}
static inline void *toft_mini_resize(toft_arena *a, void *old, size_t old_size, size_t n, size_t align, uint32_t flags,
                                     uintptr_t site) {
  toft_mini *m = (toft_mini *)(void *)a;
  unsigned char *p = (unsigned char *)old, *q = NULL;
  if (p == NULL) return old_size == 0 ? toft_mini_alloc(a, n, align, flags, site) : NULL;
  if (m->busy || !toft_mini_valid(n, align) || !toft_mini_valid(old_size, 8)) return NULL;
  int stays = ((uintptr_t)p & (align - 1)) == 0, last = (size_t)(a->cursor - p) == toft_mini_span(old_size);
  toft_mini_update(m);
  if (stays && last && toft_mini_span(n) <= (size_t)(m->current->end - p)) {
    q = p;
    TOFT_MINI_HIDE(p, a->cursor);
    TOFT_MINI_SHOW(p, p + n);
    a->cursor = p + toft_mini_span(n);
  } else if (stays && !last && n <= old_size) {
    q = p;
  } else if ((flags & TOFT_STAY) == 0 && (q = toft_mini_place(m, n, align)) != NULL) {
    memcpy(q, p, old_size < n ? old_size : n);
  }
  toft_mini_update(m);
  if (q != NULL && (flags & TOFT_ZERO) != 0 && n > old_size) memset(q + old_size, 0, n - old_size);
  return q;
}
static inline void toft_mini_free(toft_arena *a, void *p, size_t n) {
  toft_mini *m = (toft_mini *)(void *)a;
  if (p == NULL || m->busy || (size_t)(a->cursor - (unsigned char *)p) != toft_mini_span(n)) return;
  toft_mini_update(m);
  TOFT_MINI_HIDE((unsigned char *)p, a->cursor);
  a->cursor = (unsigned char *)p;
  toft_mini_update(m);
}
static inline void toft_mini_run(toft_mini *m, uintptr_t since) { /* M16 */
  m->busy = 1;
  toft_mini_update(m);
  while (m->cleanups != NULL && m->cleanups->created > since) {
    toft_mini_node *n = m->cleanups;
    m->cleanups = n->older;
    if (n->shown.fn != NULL) n->shown.fn(n->shown.arg);
  }
  m->busy = 0;
}
static inline int toft_mini_rewind(toft_arena *a, unsigned char *c, uintptr_t e) { /* M14, M15 */
  toft_mini *m = (toft_mini *)(void *)a;
  toft_mini_block *b = m->current;
  if (m->busy) return TOFT_EBUSY;
  if (((uintptr_t)c & 7) != 0 || (e & 1) != 0 || e > toft_mini_epoch(m)) return TOFT_EMARK;
  while (b != NULL && b->created > e) b = b->older;
  if (b == NULL || (uintptr_t)c < (uintptr_t)b->start || (uintptr_t)c > (uintptr_t)b->end) return TOFT_EMARK;
  toft_mini_run(m, e);
  if (b != m->current) a->epoch += 2; /* M11 */
  while (b != m->current) toft_mini_drop(m);
  if (c < a->cursor) a->cursor = b->start + ((uintptr_t)c - (uintptr_t)b->start); /* M22 */
  TOFT_MINI_HIDE(a->cursor, b->end);
  toft_mini_update(m);
  return TOFT_OK;
}
static inline int toft_mini_reset(toft_arena *a, uint32_t policy, size_t keep) {
  toft_mini *m = (toft_mini *)(void *)a;
  if (policy > TOFT_KEEP_BYTES) return TOFT_EARG;
  if (m->busy) return TOFT_EBUSY;
  toft_mini_run(m, 0);
  if (policy == TOFT_KEEP_RECENT) m->recent -= m->recent / 32;
  if (m->recent < m->most) m->recent = m->most;
  uint64_t need = m->recent + 256, held = m->reserved - TOFT_MINI_FIRST;
  if (policy == TOFT_KEEP_ALL && need < held) need = held;
  size_t want = TOFT_MINI_FIRST, most = policy == TOFT_KEEP_BYTES ? keep : SIZE_MAX;
  while (want < need && want < TOFT_MINI_MERGE) want *= 2;
  if (policy == TOFT_KEEP_RECENT) most = 4 * want;
  if (want > most) want = most & ~(size_t)4095;
  while (m->current->older != NULL) toft_mini_drop(m);
  if (m->spare != NULL && m->spare->size < want) most = 0;
  toft_mini_trim(a, most);
  m->first = want > TOFT_MINI_FIRST ? want : 0;
  m->most = 0;
  a->cursor = m->current->start;
  a->epoch += 2; /* M11, M13 */
  m->current->created = toft_mini_epoch(m);
  TOFT_MINI_HIDE(a->cursor, m->current->end);
  toft_mini_update(m);
  return TOFT_OK;
}
static inline toft_cleanup *toft_mini_cleanup(toft_arena *a, void (*fn)(void *), void *arg) {
  toft_mini *m = (toft_mini *)(void *)a;
  toft_mini_node *n = m->busy ? NULL : (toft_mini_node *)(void *)toft_mini_place(m, sizeof *n, 8);
  if (n == NULL) return NULL;
  a->epoch += 2; /* M11 */
  toft_mini_node made = {{fn, arg}, m->cleanups, toft_mini_epoch(m)};
  *n = made;
  m->cleanups = n;
  toft_mini_update(m);
  return &n->shown;
}
static inline size_t toft_mini_stats(toft_arena *a, toft_stats *out, size_t size) {
  toft_mini *m = (toft_mini *)(void *)a;
  toft_mini_update(m);
  uint64_t room = (uint64_t)(m->current->end - a->cursor) + (m->spare != NULL ? m->spare->size : 0);
  uint64_t wasted = m->reserved - m->seen - room;
  toft_stats s = {m->seen, m->allocated, m->peak, UINT64_MAX, m->reserved, wasted, m->blocks, m->calls};
  if (size > sizeof s) size = sizeof s;
  memcpy(out, &s, size);
  return size;
}
/* What the core profile may refuse (section 9). */
static inline void *toft_mini_claim(toft_arena *a, toft_range *r, size_t n, size_t align) {
  return (void)a, (void)r, (void)n, (void)align, (void *)NULL;
}
static inline int toft_mini_give(toft_arena *a, toft_range *r) { return (void)a, (void)r, TOFT_EARG; }
static inline int toft_mini_contains(const toft_arena *a, const void *p) { return (void)a, (void)p, TOFT_ENOSYS; }
static inline int toft_mini_set(toft_arena *a, uint32_t what, uint64_t value, const char *name, size_t length) {
  return (void)a, (void)what, (void)value, (void)name, (void)length, TOFT_ENOSYS;
}
static inline void toft_mini_release(toft_arena *a) {
  toft_mini *m = (toft_mini *)(void *)a;
  if (toft_mini_reset(a, TOFT_KEEP_BYTES, 0) == TOFT_OK) toft_mini_put(m, m->current);
}
/* clang-format off */
static const toft_arena_ops toft_mini_ops = {
    sizeof(toft_arena_ops), 1, toft_mini_alloc, toft_mini_resize, toft_mini_free, toft_mini_rewind, toft_mini_reset,
    toft_mini_trim, toft_mini_cleanup, toft_mini_claim, toft_mini_give, toft_mini_contains, toft_mini_stats,
    toft_mini_set, toft_mini_release};
/* clang-format on */
static inline toft_arena *toft_create(void) {
  toft_mini m;
  memset(&m, 0, sizeof m);
  toft_mini_block *b = toft_mini_take(&m, TOFT_MINI_FIRST);
  if (b == NULL) return NULL;
  toft_mini *placed = (toft_mini *)(void *)b->start;
  b->start += (sizeof m + 63) / 64 * 64; /* M7 */
  TOFT_MINI_SHOW((unsigned char *)placed, b->start);
  b->created = m.head.epoch = 2; /* M11 */
  m.head.ops = &toft_mini_ops;
  m.head.cursor = b->start;
  m.current = b;
  m.blocks = 1;
  *placed = m;
  toft_mini_update(placed);
#ifdef TOFT_MINI_CREATED
  TOFT_MINI_CREATED(&placed->head);
#endif
  return &placed->head;
}
#endif
