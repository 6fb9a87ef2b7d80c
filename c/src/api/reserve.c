/* Room for coming allocations, and arenas that are created by the first of them.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_API_RESERVE_C
#define TOFT_API_RESERVE_C

#include "../core/alloc_slow.c"
#include "../core/create_release.c"
#include "../core/ops.c"
#include "../debug/observe.h"
#include "toft/lazy.h"

/* Makes a new block current that has room for `bytes`. 0: the source refuses. */
static int toft_reserve_block(toft_state *a, size_t bytes) {
  size_t need = toft_need(bytes, 8), size = toft_new_block_size(a, need);
  if (size == 0 || toft_usable(size) < need) size = toft_least_size(need);
  toft_block_header *b = toft_block_take(a, size);
  if (b == NULL) return 0;
  a->current->used_end = a->head.cursor;
  toft_block_push(a, b, TOFT_BLOCK_REGULAR);
  toft_make_current(a, b, toft_block_start(a, b));
  return 1;
}

static int toft_reserve_room(toft_state *a, size_t bytes) {
  if (!toft_fits_budget(a, TOFT_ROUND8(bytes))) return TOFT_ENOMEM;
  if (toft_fits_current(a, bytes, 8)) return TOFT_OK;
  if (toft_extend_current(a, bytes, 8) || toft_reserve_block(a, bytes)) return TOFT_OK;
  if (!toft_return_idle(a)) return TOFT_ENOMEM;
  return toft_fits_current(a, bytes, 8) || toft_reserve_block(a, bytes) ? TOFT_OK : TOFT_ENOMEM;
}

/* Writes to each page of free memory. */
static void toft_touch(unsigned char *p, size_t size) {
  for (size_t at = 0; at < size; at += TOFT_BLOCK_MIN) *(volatile unsigned char *)(p + at) = 0;
  if (size != 0) *(volatile unsigned char *)(p + size - 1) = 0;
}

int toft_reserve(toft_arena *head, size_t bytes, uint32_t flags) {
  if ((flags & ~(uint32_t)TOFT_RESERVE_TOUCH) != 0) return TOFT_EARG;
  if (bytes > TOFT_MAX_REQUEST) return TOFT_ENOMEM;
  if (!toft_is_own(head)) return TOFT_ENOSYS;
  toft_state *a = toft_state_of(head);
  if (!toft_debug_begin_call(a, "reserve", TOFT_CALLER())) return TOFT_EBUSY;
  toft_sync_in(a);
  int code = TOFT_EBUSY;
  if (!(a->state & TOFT_REFUSING)) {
    int plain = !(a->state & TOFT_IS_CHECKED); /* others fill free memory, and have records for it */
    code = plain ? toft_reserve_room(a, bytes) : TOFT_OK;
    if (code == TOFT_OK && plain && (flags & TOFT_RESERVE_TOUCH)) toft_touch(a->head.cursor, bytes);
  }
  toft_set_limit(a);
  toft_debug_end_call(a);
  return code;
}

toft_arena *toft_lazy_create(toft_lazy *l) {
  if (l->arena == NULL) l->arena = toft_create();
  return l->arena;
}

#endif
