/* Budgets: limits on the memory of many arenas and other objects, for a process, its tenants and their requests.
 *
 *     toft_budget *process = toft_budget_create(NULL);        no limit yet
 *     toft_budget_set_limit(process, 1 << 30);
 *     toft_budget_options o = TOFT_BUDGET_OPTIONS;
 *     o.parent = process;
 *     o.name = "tenant 7";
 *     o.limit = 64 << 20;
 *     toft_budget *tenant = toft_budget_create(&o);
 *     toft_options with = TOFT_OPTIONS;
 *     with.source = toft_budget_source(tenant);
 *     toft_arena *a = toft_create_with(&with);                counts for tenant and process
 *
 * A budget counts the bytes of the blocks that objects hold from its source: arenas, leases, frames, shared arenas,
 * recyclers, toft_malloc and pools, on any threads. A block counts for the budget and for all its parents, and is
 * granted if none of them would exceed its limit by a byte. What an object returns by reset, trim or release counts no
 * more.
 * Arenas keep no unused blocks over a reset, and recyclers return blocks without objects, so that what one of them does
 * not use is there for the others. Bytes that other allocators hold are counted by toft_budget_charge.
 *
 * LIVE BYTES. toft_budget_limit_live limits the bytes that are allocated, whatever blocks they lie in. Arenas, leases
 * and frames take portions of the limit on their slow path, and return them by reset, rewind, free, trim and release,
 * which all take the slow path then; what they hold without using it is less than 1 % of the limit. The blocks of other
 * objects, of shared arenas and of arenas in a buffer count as live.
 *
 * REFUSALS. When a limit refuses a block, the object that requests it first returns its unused blocks and requests a
 * smaller one. If that is refused too, the callback of the budget that refuses is called, once for the request and
 * without a lock of the library. Then the request is tried once more. It is also tried once more, without a call, if
 * other threads have returned enough since the refusal.
 *
 * The callback may create, use and release other objects on any budget, as an arena for its own work, wait for other
 * threads, which may use the same shared arena or synchronized recycler, or write data to a file. While it runs, it is
 * not called again on its thread: what its budget refuses there fails. Other threads may call it at the same time.
 *
 * THREADS. All calls are thread-safe, but for release. Allocations that take no block do not touch a budget.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_BUDGET_H
#define TOFT_BUDGET_H

#include "toft/abi.h"
#include "toft/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

struct toft_source; /* toft.h */
typedef struct toft_budget toft_budget;

/* Called for a request of `size` bytes that the limit of b refuses, on the requesting thread. Returns 1 if memory may
 * be free now, 0 to let the request fail. It must not use the object that requests, and must return: a longjmp or an
 * exception out of it is not allowed. */
typedef int toft_budget_fn(void *arg, toft_budget *b, size_t size);

typedef struct toft_budget_options {
  size_t size;                /* sizeof(toft_budget_options): TOFT_BUDGET_OPTIONS sets it */
  const char *name;           /* copied, at most 31 bytes; NULL: "" */
  toft_budget *parent;        /* NULL: none */
  struct toft_source *source; /* of the blocks; NULL: the parent's, or toft_heap() */
  size_t limit;               /* bytes; SIZE_MAX: none */
  toft_budget_fn *refused;    /* NULL: none */
  void *refused_arg;
} toft_budget_options;
#define TOFT_BUDGET_OPTIONS \
  { sizeof(toft_budget_options), NULL, NULL, NULL, SIZE_MAX, NULL, NULL }

/* In bytes, but for the counts. */
typedef struct toft_budget_stats {
  uint64_t limit;
  uint64_t reserved;  /* of this budget and all below it */
  uint64_t peak;      /* the most that was reserved */
  uint64_t available; /* may be reserved by this budget before it or a parent refuses */
  uint64_t refusals;  /* blocks that this budget's limit refused */
  uint64_t children;  /* budgets with this parent */
} toft_budget_stats;

/* In bytes, but for `refusals`. */
typedef struct toft_budget_live_stats {
  uint64_t limit;
  uint64_t live;      /* of this budget and all below it, with what is parked */
  uint64_t peak;      /* the most that was live */
  uint64_t available; /* may be allocated before this budget or a parent refuses */
  uint64_t parked;    /* at most so many of the live bytes are held by arenas without being allocated */
  uint64_t refusals;  /* requests that this budget's limit of live bytes refused */
} toft_budget_live_stats;

/* options == NULL: the defaults. NULL if there is no memory, or the options are invalid: a size, a name above 31 bytes,
 * a source together with a parent, a region's source. */
TOFT_API TOFT_NODISCARD toft_budget *toft_budget_create(const toft_budget_options *options);
/* TOFT_EBUSY, with no effect, while bytes are reserved or the budget has children. NULL is ignored. No other thread may
 * use it. */
TOFT_API int toft_budget_release(toft_budget *b);
/* The source for options of arenas and other objects, which are released before the budget is. */
TOFT_API struct toft_source *toft_budget_source(toft_budget *b);
/* A limit below the reserved bytes refuses every block until enough is returned. */
TOFT_API void toft_budget_set_limit(toft_budget *b, size_t limit);
/* Begins to count live bytes, here and in budgets that are created below, and sets their limit; SIZE_MAX: none.
 * TOFT_EBUSY, with no effect, if they are not counted yet and bytes are reserved or the budget has children; no other
 * thread may use it at that time. */
TOFT_API int toft_budget_limit_live(toft_budget *b, size_t limit);
/* All 0, but for `limit` and `available`, while live bytes are not counted. */
TOFT_API toft_budget_live_stats toft_budget_get_live_stats(const toft_budget *b);
/* Counts `size` bytes of memory that does not come from the source, as a block of that size is counted. TOFT_ENOMEM if
 * a limit refuses them, after a call of the callback. The bytes count until toft_budget_uncharge, and until then the
 * budget cannot be released. */
TOFT_API TOFT_NODISCARD int toft_budget_charge(toft_budget *b, size_t size);
/* Ends the count of `size` of these bytes, in any portions. TOFT_EARG, with no effect, if fewer are charged. */
TOFT_API int toft_budget_uncharge(toft_budget *b, size_t size);
TOFT_API toft_budget_stats toft_budget_get_stats(const toft_budget *b);
TOFT_API const char *toft_budget_name(const toft_budget *b);
/* NULL: none. */
TOFT_API toft_budget *toft_budget_parent(const toft_budget *b);

#ifdef __cplusplus
}
#endif
#endif
