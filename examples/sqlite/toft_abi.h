/* The Toft arena ABI, version 1 (draft). Copy this file into any project, guard included; SPEC.md says what each member
 * means. Allocate inline: if (limit - cursor < size) ask ops->alloc; else p = cursor, cursor += round_up(size, 8).
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_ABI
#define TOFT_ABI 1
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct toft_arena toft_arena;
typedef struct toft_mark { /* a point to rewind to: {arena->cursor, arena->epoch & ~1}, read inline */
  unsigned char *cursor;
  uintptr_t epoch;
} toft_mark;
typedef struct toft_range { /* a claimed range; its holder alone moves cursor, byte by byte if it likes */
  unsigned char *cursor, *limit;
  uintptr_t maker; /* the maker's; 0: nothing claimed */
} toft_range;
typedef struct toft_cleanup { /* fn == NULL: cancelled */
  void (*fn)(void *arg);
  void *arg;
} toft_cleanup;
typedef struct toft_stats { /* bytes, but for the last two; grows at the end */
  uint64_t live, allocated, peak, budget, reserved, wasted, blocks, source_calls;
} toft_stats;
/* flags of alloc and resize: zero the new bytes; fail rather than move */
enum { TOFT_ZERO = 1, TOFT_STAY = 2 };
/* policies of reset: keep the recent high-water mark, everything, or `keep` bytes */
enum { TOFT_KEEP_RECENT = 0, TOFT_KEEP_ALL = 1, TOFT_KEEP_BYTES = 2 };
/* what ops->set can change */
enum { TOFT_SET_BUDGET = 1, TOFT_SET_TAG = 2, TOFT_SET_SAMPLE = 3, TOFT_SET_CHECKED = 4 };
/* results; every failure leaves the arena as it was, but for ECORRUPT: done, and a checked arena found bytes written
 * outside an allocation */
enum { TOFT_OK = 0, TOFT_ENOMEM = -1, TOFT_EMARK = -2, TOFT_EBUSY = -3, TOFT_EARG = -4, TOFT_ENOSYS = -5 };
enum { TOFT_ECORRUPT = -6 };
typedef struct toft_arena_ops {
  uint32_t size;    /* bytes of this table that its maker filled in */
  uint32_t version; /* 1 */
  void *(*alloc)(toft_arena *, size_t size, size_t align, uint32_t flags, uintptr_t site);
  void *(*resize)(toft_arena *, void *p, size_t old_size, size_t new_size, size_t align, uint32_t flags,
                  uintptr_t site);
  void (*free)(toft_arena *, void *p, size_t size); /* may be NULL */
  int (*rewind)(toft_arena *, unsigned char *cursor, uintptr_t epoch);
  int (*reset)(toft_arena *, uint32_t policy, size_t keep);
  void (*trim)(toft_arena *, size_t keep);
  toft_cleanup *(*cleanup)(toft_arena *, void (*fn)(void *), void *arg);
  void *(*claim)(toft_arena *, toft_range *, size_t size, size_t align);
  int (*give)(toft_arena *, toft_range *);
  int (*contains)(const toft_arena *, const void *p);
  size_t (*stats)(toft_arena *, toft_stats *out, size_t out_size);
  int (*set)(toft_arena *, uint32_t what, uint64_t value, const char *name, size_t name_len);
  void (*release)(toft_arena *);
} toft_arena_ops;
struct toft_arena {          /* pinned: never copied, never moved */
  unsigned char *cursor;     /* next free byte; a multiple of 8, never NULL */
  const toft_arena_ops *ops; /* re-read at every call: the maker may swap it */
  unsigned char *limit;      /* end of the inline path's room; a multiple of 8, cursor <= limit */
  uintptr_t epoch;           /* bit 0: watched, so rewind, resize and free must go through ops */
};
#define TOFT_STATIC_ASSERT(name, cond) typedef char toft_assert_##name[(cond) ? 1 : -1]
TOFT_STATIC_ASSERT(head, sizeof(struct toft_arena) == 4 * sizeof(void *));
TOFT_STATIC_ASSERT(ops, offsetof(struct toft_arena, ops) == sizeof(void *));
TOFT_STATIC_ASSERT(limit, offsetof(struct toft_arena, limit) == 2 * sizeof(void *));
TOFT_STATIC_ASSERT(epoch, offsetof(struct toft_arena, epoch) == 3 * sizeof(void *));
TOFT_STATIC_ASSERT(table, sizeof(toft_arena_ops) == 8 + 13 * sizeof(void *));
TOFT_STATIC_ASSERT(mark, sizeof(toft_mark) == 2 * sizeof(void *));
TOFT_STATIC_ASSERT(range, sizeof(toft_range) == 3 * sizeof(void *));
TOFT_STATIC_ASSERT(stats, sizeof(toft_stats) == 64);
TOFT_STATIC_ASSERT(word, sizeof(size_t) == sizeof(void *) && sizeof(uintptr_t) == sizeof(void *));
#ifdef __cplusplus
}
#endif
#endif
