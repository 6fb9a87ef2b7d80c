/* The subject of an instrument: the description of an arena of another provider by which accounting, sampling and
 * checks see it as one of this library's. The head's table is the first member of the instrument, so a head leads to it
 * in one load. instrument.c has the table; SPEC.md has the rules for instruments, I1 to I5.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_SUBJECT_C
#define TOFT_DEBUG_SUBJECT_C

#include "../core/blocks.c"
#include "../core/ops.c"
#include "../core/stats.c"

#define TOFT_TABLE_MAX 256 /* bytes of a provider's table, with members of later additions */

typedef struct toft_instrument {
  union { /* first */
    toft_info_ops info;
    unsigned char bytes[TOFT_TABLE_MAX]; /* what lies behind the known members is the provider's */
  } table;
  toft_provider_info info;
  const toft_arena_ops *under; /* the table beneath */
  toft_arena *head;
  unsigned char *limit; /* limit, and bit 0 of the epoch, as the last operation beneath left them */
  uintptr_t bit;
  toft_block_header *filled; /* whose freed bytes are compared before reuse; or NULL */
  toft_block_header *unused; /* for a block that an operation finds, or NULL */
  int was_empty;             /* nothing was live when the checks began */
  uintptr_t site;            /* of the running operation */
  /* Its blocks have no memory of their own: `current` represents the block of the cursor, each dedicated one an
   * allocation that did not move the cursor. `end` is `limit` above. */
  toft_state subject;
} toft_instrument;

static toft_instrument *toft_instrument_of(const toft_state *a) {
  return (toft_instrument *)(void *)((unsigned char *)(uintptr_t)a - offsetof(toft_instrument, subject));
}

/* What checks call of subjects. */
typedef struct toft_subject_calls {
  /* The member of the instruments' table. */
  void *(*alloc)(toft_arena *head, size_t size, size_t align, uint32_t flags, uintptr_t site);
  /* Allocates beneath, and sets *block. NULL: refused. */
  void *(*place)(toft_state *a, size_t size, size_t align, toft_block_header **block);
  void (*end)(toft_state *a); /* an operation ends: records the cursor of a checked arena */
  int (*predates)(const toft_state *a, const unsigned char *p); /* allocated before the checks began */
} toft_subject_calls;
/* Once there is an instrument: a program without them does not link their code. Atomic. */
static const toft_subject_calls *toft_subjects;

/* The instrument that this library put before the arena; NULL: none. */
static toft_instrument *toft_instrument_before(const toft_arena *head) {
  const toft_subject_calls *calls = TOFT_LOAD_POINTER(const toft_subject_calls, &toft_subjects);
  return calls != NULL && head->ops->alloc == calls->alloc ? (toft_instrument *)(uintptr_t)head->ops : NULL;
}

/* The state by which the arena is accounted and checked: its own, or an instrument's subject. NULL: it is another
 * provider's, and has no instrument. */
static toft_state *toft_observed_state(const toft_arena *head) {
  if (toft_is_own(head)) return toft_state_of(head);
  toft_instrument *i = toft_instrument_before(head);
  return i != NULL ? &i->subject : NULL;
}

/* The head as users have it. */
static toft_arena *toft_head_of(toft_state *a) {
  return a->state & TOFT_IS_SUBJECT ? toft_instrument_of(a)->head : &a->head;
}

/* Copies the head of the arena into the subject's. */
static void toft_subject_read(toft_state *a) {
  const toft_arena *head = toft_instrument_of(a)->head;
  a->head.cursor = head->cursor;
  a->head.epoch = head->epoch;
}

/* Points the arena's head to the instrument again, with the subject's cursor and epoch, and `remaining` bytes for the
 * inline path. */
static void toft_subject_write(toft_state *a, size_t remaining) {
  toft_instrument *i = toft_instrument_of(a);
  i->head->cursor = a->head.cursor;
  i->head->ops = &i->table.info.ops;
  i->head->limit = a->head.cursor + remaining;
  i->head->epoch = a->head.epoch | 1;
}

/* Brackets a call of the table beneath (I1). */
static const toft_arena_ops *toft_begin_beneath(toft_instrument *i) {
  toft_arena *head = i->head;
  head->cursor = i->subject.head.cursor;
  head->ops = i->under;
  head->limit = i->limit;
  head->epoch = toft_epoch(&i->subject) | 1;
  return i->under;
}

static void toft_end_beneath(toft_instrument *i) {
  const toft_arena *head = i->head;
  TOFT_ASSERT(head->ops != &i->table.info.ops && head->cursor <= head->limit); /* I1, M1 */
  i->under = i->table.info.under = head->ops;
  i->subject.end = i->limit = head->limit;
  i->bit = head->epoch & 1;
  toft_subject_read(&i->subject);
}

/* The first `size` bytes of the provider's statistics. */
static void toft_stats_beneath(toft_instrument *i, toft_stats *out, size_t size) {
  memset(out, 0, sizeof *out);
  (void)toft_begin_beneath(i)->stats(i->head, out, size);
  toft_end_beneath(i);
}

static int toft_contains_beneath(toft_instrument *i, const void *p) {
  int code = toft_begin_beneath(i)->contains(i->head, p);
  toft_end_beneath(i);
  return code;
}

static void toft_add_observed_stats(toft_state *a, toft_stats *s) {
  if (a->state & TOFT_IS_SUBJECT)
    toft_stats_beneath(toft_instrument_of(a), s, sizeof *s);
  else
    toft_add_stats(a, s);
}

#endif
