/* The functions of C that Go calls, with parameters that cgo passes well. They fail as those of toft.h do.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFTGO_SHIM_H
#define TOFTGO_SHIM_H
#include "toft.h"

/* place: NULL, or the caller's file and line, for the findings of a checked arena. operation: a handle that cleanups in
 * Go receive, or 0. */
void *toftgo_x_alloc(toft_arena *a, size_t size, size_t align);
typedef struct toftgo_sampled {
  void *p;
  int sampled; /* whether the allocation was a sample, after set_sampling */
} toftgo_sampled;
/* A result and no pointer to one: in the callback of a budget the stack of the goroutine may move. */
toftgo_sampled toftgo_x_alloc_sampled(toft_arena *a, size_t size, size_t align, const char *place);
int toftgo_x_rewind(toft_arena *a, uintptr_t cursor, uintptr_t epoch, const char *place, uintptr_t operation);
int toftgo_x_reset(toft_arena *a, const char *place, uintptr_t operation);
void toftgo_x_shrink(toft_arena *a); /* resets it and frees its blocks */
void toftgo_x_trim(toft_arena *a, size_t keep);
int toftgo_x_set(toft_arena *a, uint32_t what, uint64_t value);
int toftgo_x_contains(const toft_arena *a, const void *p);
int toftgo_x_set_sampling(toft_arena *a, uint64_t period);
int toftgo_x_set_metered(toft_arena *a, int on);
int toftgo_x_set_tag_budget(toft_arena *a, const char *path, uint64_t bytes);
int toftgo_x_tag_push(toft_arena *a, const char *name);
void toftgo_x_tag_pop(toft_arena *a);
size_t toftgo_x_snapshot(toft_arena *a, char *text, size_t size); /* as toft_snapshot_text */
void toftgo_x_stats(toft_arena *a, toft_stats *out);
/* A cleanup that runs toftgoCleanup(a, number modulo 8, operation). 0: no memory. */
int toftgo_x_cleanup(toft_arena *a, int number);
/* The number, modulo 8, of the cleanup that the caller is to run; -1: none. As toft_next_cleanup. */
int toftgo_x_next_cleanup(toft_arena *a, uintptr_t cursor, uintptr_t epoch, int again, uintptr_t operation);
/* Does nothing and returns TOFT_EBUSY while the arena is busy. */
int toftgo_x_release(toft_arena *a, const char *place, uintptr_t operation);

/* handle: of the budget in Go, for its callback; 0: none. parent: NULL, or a result of this function. */
void *toftgo_x_budget_create(const char *name, void *parent, size_t limit, uintptr_t handle);
/* contiguous: bytes of address space to reserve, or 0. within: a budget, or NULL. *extra: the argument of free_extra after
 * the release; not on the stack of a goroutine, which may move in the callback of the budget. */
toft_arena *toftgo_x_create(uint64_t budget, size_t reserve, size_t contiguous, int checked, void *within,
                            void **extra);
/* Releases an arena that create made, except for its head, which refuses every operation until end_retired. *head: the
 * argument of that. Does nothing and returns TOFT_EBUSY while the arena is busy. */
int toftgo_x_retire(toft_arena *a, const char *place, uintptr_t operation, toft_arena *head);
void toftgo_x_free_extra(void *extra);
void toftgo_x_end_retired(toft_arena *a, const toft_arena *head);
const void *toftgo_x_released_ops(void); /* the ops of retired heads */
int toftgo_x_check(const void *p);       /* TOFT_OK, TOFT_EARG, TOFT_ENOSYS: a version that is not ours */

void *toftgo_x_buffer(size_t size); /* at a multiple of size, a power of two */
void toftgo_x_free_buffer(void *buffer);
void toftgo_x_show_roots(const void *p, size_t size);
toft_arena *toftgo_x_create_in(void *buffer, size_t size);

/* Debugged arenas; faults.c. The numbers are those of toftgo_x_place. */
typedef struct toftgo_faulting {
  toft_source source;
  uint32_t made;  /* where the arena was made */
  uint32_t freed; /* where its blocks are being freed; set before */
} toftgo_faulting;
int toftgo_x_start_faults(size_t size); /* bytes of addresses. 0: there are none */
uint32_t toftgo_x_place(const char *text);
toft_arena *toftgo_x_create_faulting(void *buffer, size_t size, toftgo_faulting *source, uint32_t made);
size_t toftgo_x_faulting_bytes(void);
void toftgo_x_fill_block(toft_arena *a); /* the next allocation begins a block */

int toftgo_x_barrier(void);
void toftgo_x_no_cache(void);
void toftgo_x_nothing(const void *p);
int toftgo_x_privileged(void);
int toftgo_x_checked(void); /* an arena that is made now is checked */
#endif
