/* The arena behind its public head: its list of blocks, and the functions of the slow path, of rewinds and of reset.
 * Each harness starts in any state that satisfies the invariant below, with a list of up to two blocks and a spare, and
 * proves that the invariant holds again.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_OMIT_CHECKS
#define TOFT_OMIT_METERS
#define TOFT_OMIT_POOLS
#define TOFT_OMIT_RECYCLER
#define TOFT_OMIT_THREADS
#include <string.h>

/* Proves that the bytes are there, but copies none: no harness reads them. */
static void *copied(void *to, const void *from, size_t size) {
  __CPROVER_assert(__CPROVER_w_ok(to, size) && __CPROVER_r_ok(from, size), "the copied bytes are in their objects");
  return to;
}
#define memcpy copied

#include "../c/src/core/policy.c"
#undef TOFT_SPARE
#define TOFT_SPARE TOFT_BLOCK_MIN /* spares of two blocks exceed it */
#include "../c/src/toft.c"
#include "proofs.h"

void *__builtin_return_address(unsigned level) { return NULL; }
void *__builtin_extract_return_addr(void *p) { return p; }

#define BLOCKS 3
#define SPACE 8192 /* bytes of the largest block that the source returns */
#define ROOM 1024  /* bytes of the initial block behind the state */

typedef struct block {
  _Alignas(64) toft_block_header header;
  unsigned char bytes[SPACE - sizeof(toft_block_header)];
} block;

static block block_a, block_b, block_c;
static toft_state state;
static _Alignas(64) unsigned char room[ROOM];
static toft_source source;
static int with_source[BLOCKS]; /* the block belongs to the source, not to the arena */
static size_t size_of[BLOCKS];  /* of the last take */

static toft_block_header *block_of(int i) {
  return i == 0 ? &block_a.header : i == 1 ? &block_b.header : &block_c.header;
}
static int index_of(const void *b) { return b == &block_a ? 0 : b == &block_b ? 1 : b == &block_c ? 2 : BLOCKS; }

static void *take(toft_source *s, size_t size) {
  (void)s;
  for (int i = SHAPE % 2 * BLOCKS; i < BLOCKS; i++)
    if (with_source[i]) {
      if (size > SPACE || nondet_int()) return NULL;
      with_source[i] = 0;
      size_of[i] = size;
      return block_of(i);
    }
  return NULL;
}

static void put(toft_source *s, void *p, size_t size) {
  int i = index_of(p);
  (void)s;
  prove(i < BLOCKS);
  if (i == BLOCKS) return;
  prove(!with_source[i] && size == size_of[i]);
  with_source[i] = 1;
}

/* ---- the invariant ---- */

/* Each block is in the list, a spare, or with the source; bytes in use and epochs are as in the state. */
static int invariant(void) {
  const toft_state *a = &state;
  const toft_block_header *regular = a->current, *b = a->newest;
  int owned[BLOCKS] = {0}, count = 0;
  uint64_t live = 0;
  size_t spare_bytes = 0;
  for (; b != &a->initial; b = b->next) {
    int i = index_of(b);
    if (i == BLOCKS || owned[i] || with_source[i] || b->size != size_of[i] || count++ == BLOCKS) return 0;
    owned[i] = 1;
    if (b->epoch > a->head.epoch || (b->epoch & 1) != 0 || b->source != &source) return 0;
    if (b->next != &a->initial && b->epoch < b->next->epoch) return 0;
    const unsigned char *start = toft_block_start(a, (toft_block_header *)b),
                        *end = toft_block_end(a, (toft_block_header *)b);
    if (b->kind == TOFT_BLOCK_REGULAR) {
      const unsigned char *used = b == a->current ? a->head.cursor : b->used_end;
      if (b != regular || used < start || used > end) return 0;
      live += (uint64_t)(used - start);
      regular = b->u.below;
    } else {
      if (b->kind != TOFT_BLOCK_DEDICATED || b->used_end < start || b->used_end > end || b->charge > b->size) return 0;
      live += b->charge;
    }
  }
  if (regular != &a->initial) return 0;
  const unsigned char *used = a->current == &a->initial ? a->head.cursor : a->initial.used_end;
  if (used < a->initial_start || used > a->initial_end) return 0;
  if (!(a->state & TOFT_INITIAL_IDLE)) live += (uint64_t)(used - a->initial_start);
  if ((a->state & TOFT_INITIAL_IDLE) && used != a->initial_end) return 0;
  count = 0;
  for (b = a->spares; b != NULL; b = b->next) {
    int i = index_of(b);
    if (i == BLOCKS || owned[i] || with_source[i] || b->size != size_of[i] || count++ == BLOCKS) return 0;
    owned[i] = 1;
    if (b->source != &source) return 0;
    spare_bytes += b->size;
  }
  for (int i = 0; i < BLOCKS; i++)
    if (!owned[i] && !with_source[i]) return 0; /* a leak */
  if (spare_bytes != a->spare_bytes || live != a->live) return 0;
  if (a->synced != a->head.cursor || ((uintptr_t)a->head.cursor & 7) != 0 || a->end != toft_block_end(a, a->current))
    return 0;
  return a->head.limit >= a->head.cursor && a->head.limit <= a->end && a->peak >= a->live;
}

/* ---- any state ---- */

/* A multiple of 8 of at most SPACE bytes. The other bits are constant, which helps the solver to compare sums. */
static size_t any_offset(void) { return nondet_size() & (2 * SPACE - 8); }

/* The shape of the list is fixed in each run of CBMC, so that pointers are constants: SHAPE / 2 is the number of a list
 * below, SHAPE % 2 the number of spares. All else is any value. */
static const char *const lists[] = {"", "r", "d", "rr", "rd", "dr", "dd"};

static void any_block(int i, int dedicated) {
  toft_block_header *b = block_of(i);
  toft_state *a = &state;
  size_t offset = any_offset();
  size_of[i] = b->size = nondet_int() ? TOFT_BLOCK_MIN : SPACE;
  b->source = &source;
  b->kind = dedicated ? TOFT_BLOCK_DEDICATED : TOFT_BLOCK_REGULAR;
  b->index = nondet_u32();
  b->epoch = nondet_size();
  b->charge = nondet_size() & (2 * SPACE - 1);
  assume(b->epoch >= a->newest->epoch && b->epoch <= a->head.epoch && (b->epoch & 1) == 0 && b->charge <= b->size);
  unsigned char *start = toft_block_start(a, b);
  assume(offset <= (size_t)(toft_block_end(a, b) - start));
  b->used_end = start + offset;
  b->next = a->newest;
  a->newest = b;
  a->live += dedicated ? b->charge : offset;
  if (dedicated) {
    b->u.payload = nondet_int() ? NULL : start;
  } else {
    b->u.below = a->current;
    a->current = b;
  }
}

static void any_arena(void) {
  toft_state *a = &state;
  const char *list = lists[SHAPE / 2];
  int blocks = (int)strlen(list);
  size_t offset = any_offset();
  source.take = take;
  source.put = put;
  a->source = a->initial.source = &source;
  a->initial_start = room;
  a->initial_end = room + ROOM;
  a->initial.size = a->initial_size = sizeof(toft_state) + ROOM;
  a->initial.kind = TOFT_BLOCK_REGULAR;
  a->head.ops = &toft_table.ops;
  a->head.epoch = nondet_size();
  a->initial.epoch = nondet_size();
  assume(a->head.epoch < SIZE_MAX - 64 && a->initial.epoch <= a->head.epoch && (a->initial.epoch & 1) == 0);
  a->budget = nondet_u64();
  a->peak = nondet_u64();
  a->allocated = nondet_u64();
  a->spare_keep = nondet_size();
  if (nondet_int()) {
    a->state = TOFT_INITIAL_IDLE;
    a->first_size = nondet_size();
    assume(a->first_size != 0 && a->first_size <= TOFT_MERGE && a->first_size % 4096 == 0);
    offset = ROOM;
  } else {
    assume(offset <= ROOM);
    a->live = offset;
  }
  a->initial.used_end = room + offset;
  a->current = a->newest = &a->initial;
  for (int i = 0; i < BLOCKS; i++) {
    if (i < blocks) {
      any_block(i, list[i] == 'd');
    } else if (i < blocks + SHAPE % 2) {
      toft_block_header *b = block_of(i);
      size_of[i] = b->size = nondet_int() ? TOFT_BLOCK_MIN : SPACE;
      b->source = &source;
      b->kind = TOFT_BLOCK_SPARE;
      a->spares = b;
      a->spare_bytes = b->size;
    } else {
      with_source[i] = 1;
    }
  }
  assume(a->peak >= a->live);
  a->head.cursor = a->synced = a->current->used_end;
  a->current->used_end = NULL; /* not maintained */
  a->end = toft_block_end(a, a->current);
  toft_set_limit(a);
}

/* ---- the harnesses ---- */

static int same(const toft_state *before) {
  return before->head.cursor == state.head.cursor && before->current == state.current &&
         before->newest == state.newest && before->live == state.live;
}

void any_state_satisfies_the_invariant(void) {
  any_arena();
  prove(invariant());
}

/* The limit is never beyond the block or the budget. */
void limits_are_in_block_and_budget(void) {
  any_arena();
  state.state |= nondet_u32() & (TOFT_CLAIMED | TOFT_BUSY);
  toft_set_limit(&state);
  size_t inline_bytes = (size_t)(state.head.limit - state.head.cursor);
  prove(invariant());
  prove(!(state.state & TOFT_REFUSING) || (inline_bytes == 0 && (state.head.epoch & 1) != 0));
  prove(inline_bytes == 0 || (state.live <= state.budget && inline_bytes <= state.budget - state.live));
}

/* An allocation in the current block is aligned, behind the bytes in use, in the budget. A refusal changes nothing. */
void current_block_returns_free_bytes(void) {
  any_arena();
  toft_state before = state;
  size_t size = nondet_size(), align = nondet_size();
  assume(toft_check_request(size, align) == TOFT_OK);
  unsigned char *p = (unsigned char *)toft_alloc_in_current(&state, size, align);
  if (p == NULL) {
    prove(same(&before));
  } else {
    prove(((uintptr_t)p & (align - 1)) == 0 && p >= before.head.cursor && size <= (size_t)(state.head.cursor - p));
    prove(state.live <= state.budget || state.live == before.live);
  }
  toft_set_limit(&state);
  prove(invariant());
}

/* Spare blocks beyond the limit go to their source. */
void spare_blocks_are_returned_above_a_limit(void) {
  any_arena();
  size_t keep = nondet_size();
  toft_put_spares(&state, keep);
  prove(state.spare_bytes <= keep);
  prove(invariant());
}

/* After a reset no byte is in use, each block is current, kept or returned once, and every mark from before is older
 * than all blocks. */
void reset_empties_the_arena(void) {
  any_arena();
  toft_state before = state;
  uint32_t policy = nondet_u32();
  size_t keep = nondet_size();
  int code = toft_op_reset(&state.head, policy, keep);
  prove(code == (policy <= TOFT_KEEP_BYTES ? TOFT_OK : TOFT_EARG));
  if (code == TOFT_OK) {
    prove(state.live == 0 && toft_epoch(&state) > toft_epoch(&before));
    prove(state.initial.epoch == toft_epoch(&state) && state.current->epoch == toft_epoch(&state));
  } else {
    prove(same(&before));
  }
  prove(invariant());
}

/* A dedicated block holds its request, aligned, and counts it in the budget. A refusal changes nothing. */
void dedicated_blocks_hold_their_request(void) {
  any_arena();
  toft_state before = state;
  size_t size = nondet_size(), align = nondet_size();
  assume(toft_check_request(size, align) == TOFT_OK);
  unsigned char *p = (unsigned char *)toft_alloc_dedicated(&state, size, align);
  if (p == NULL) {
    prove(same(&before));
  } else {
    const toft_block_header *b = state.newest;
    prove(((uintptr_t)p & (align - 1)) == 0 && p >= (unsigned char *)b + TOFT_HEADER);
    prove(size <= (size_t)((unsigned char *)b + b->size - p) && b->next == before.newest);
    prove(state.live == before.live + toft_need(size, align));
    prove(state.live <= state.budget || state.live == before.live);
    prove(state.current == before.current && state.head.cursor == before.head.cursor);
  }
  toft_sync(&state);
  toft_set_limit(&state);
  prove(invariant());
}

/* The same of a regular block, which becomes current. */
void new_blocks_hold_their_request(void) {
  any_arena();
  toft_state before = state;
  size_t size = nondet_size(), align = nondet_size();
  assume(toft_check_request(size, align) == TOFT_OK);
  size_t block_size = nondet_int() ? TOFT_BLOCK_MIN : SPACE;
  assume(toft_need(size, align) <= toft_usable(block_size));
  unsigned char *p = (unsigned char *)toft_alloc_regular(&state, size, align, block_size);
  if (p == NULL) {
    prove(same(&before));
  } else {
    const toft_block_header *b = state.newest;
    prove(((uintptr_t)p & (align - 1)) == 0 && p >= (unsigned char *)b + TOFT_HEADER);
    prove(size <= (size_t)((unsigned char *)b + b->size - p) && b->next == before.newest && b == state.current);
    prove(state.live <= state.budget || state.live == before.live);
  }
  toft_set_limit(&state);
  prove(invariant());
}

/* The newest block goes, and the bytes in use below it are in use again. */
void dropped_blocks_are_spare_or_returned(void) {
  any_arena();
  if (state.newest == &state.initial) return;
  toft_block_header *b = toft_block_pop(&state);
  toft_block_drop(&state, b);
  toft_set_limit(&state);
  prove(invariant());
}

/* An allocation in a block. */
static unsigned char *any_allocation(const toft_block_header *b, size_t size) {
  size_t offset = any_offset();
  assume(size <= SPACE && (b != &state.initial || !(state.state & TOFT_INITIAL_IDLE)));
  if (b->kind == TOFT_BLOCK_DEDICATED && b->u.payload != NULL) {
    assume(TOFT_ROUND8(size) == (size_t)(b->used_end - b->u.payload));
    return b->u.payload;
  }
  unsigned char *start = toft_block_start(&state, (toft_block_header *)b);
  const unsigned char *end = b == state.current ? state.head.cursor : b->used_end;
  assume(offset <= (size_t)(end - start) && TOFT_ROUND8(size) <= (size_t)(end - start) - offset);
  return start + offset;
}

/* The newest allocation of the current block is freed, any other is left. */
void freed_bytes_are_returned(void) {
  any_arena();
  toft_state before = state;
  size_t size = nondet_size();
  unsigned char *p = any_allocation(state.current, size);
  toft_op_free(&state.head, p, size);
  int newest = p + TOFT_ROUND8(size) == before.head.cursor;
  prove(state.newest == before.newest && state.head.cursor == (newest ? p : before.head.cursor));
  prove(state.live == before.live - (newest ? TOFT_ROUND8(size) : 0));
  prove(invariant());
}

/* What the arena keeps and does not use is returned before a request is refused (P9). */
void idle_memory_is_returned(void) {
  any_arena();
  toft_state before = state;
  int any = toft_return_idle(&state);
  prove(state.live == before.live && state.spares == NULL && (any || same(&before)));
  prove(!any || before.spares != NULL || toft_epoch(&state) > toft_epoch(&before));
  toft_set_limit(&state);
  prove(invariant());
}

/* In the place of toft_alloc_slow, whose parts have harnesses: an allocation in the current block or a new one. */
void *any_alloc_slow(toft_state *a, size_t size, size_t align) {
  size_t block_size = nondet_int() ? TOFT_BLOCK_MIN : SPACE;
  if (toft_fits_current(a, size, align)) return toft_alloc_in_current(a, size, align);
  if (nondet_int()) return NULL;
  if (nondet_int()) return toft_alloc_dedicated(a, size, align);
  return toft_need(size, align) <= toft_usable(block_size) ? toft_alloc_regular(a, size, align, block_size) : NULL;
}

/* The end of the bytes in use of the block that p points into. */
static const unsigned char *used_end_of(const unsigned char *p) {
  for (toft_block_header *b = state.newest;; b = b->next) {
    if (__CPROVER_same_object(p, toft_block_start(&state, b))) return toft_block_used_end(&state, b);
    prove(b != &state.initial);
    if (b == &state.initial) return p;
  }
}

/* An allocation grows or shrinks in place, or is copied, and its new bytes are in use. A refusal changes nothing. */
void resized_allocations_hold_their_request(void) {
  any_arena();
  toft_state before = state;
  size_t old_size = nondet_size(), new_size = nondet_size(), align = nondet_size();
  uint32_t flags = nondet_u32() & TOFT_STAY;
  unsigned char *p = any_allocation(nondet_int() ? state.current : state.newest, old_size);
  assume(toft_check_request(new_size, align) == TOFT_OK);
  unsigned char *q = (unsigned char *)toft_resize_unchecked(&state, p, old_size, new_size, align, flags);
  if (q == NULL) {
    prove(same(&before));
  } else {
    prove(((uintptr_t)q & (align - 1)) == 0 && new_size <= (size_t)(used_end_of(q) - q));
    prove(q == p || !(flags & TOFT_STAY));
  }
  toft_sync(&state);
  toft_set_limit(&state);
  prove(invariant());
}

/* A rewind drops the blocks that are newer than the mark. */
void rewinds_drop_newer_blocks(void) {
  any_arena();
  unsigned char *cursor = nondet_pointer();
  uintptr_t epoch = nondet_size();
  toft_block_header *b = toft_mark_block(&state, &cursor, epoch);
  if (b == NULL) return;
  (void)toft_rewind_to(&state, b, cursor, epoch);
  prove(state.newest->epoch <= epoch);
  prove(state.current == b && state.head.cursor <= cursor);
  toft_set_limit(&state);
  prove(invariant());
}
