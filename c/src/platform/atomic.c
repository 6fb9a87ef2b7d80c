/* What threads share: words read and written at once, a lock, a fence whose price one side pays for both, and a number
 * for each thread.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_ATOMIC_C
#define TOFT_PLATFORM_ATOMIC_C

#include "base.h"
#include "os.c"

#if defined(__GNUC__) || defined(__clang__)
#define TOFT_LOAD(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define TOFT_STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define TOFT_SWAP(p, v) __atomic_exchange_n(p, v, __ATOMIC_RELAXED)
#define TOFT_ADD(p, v) __atomic_add_fetch(p, v, __ATOMIC_RELAXED)
#define TOFT_LOAD_POINTER(T, p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define TOFT_STORE_POINTER(T, p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define TOFT_LOAD_POINTER_ACQUIRE(T, p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define TOFT_STORE_POINTER_RELEASE(T, p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define TOFT_LOAD_ACQUIRE(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define TOFT_STORE_RELEASE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
/* Is *p what it was expected to be? Then it is `to` now. */
#define TOFT_REPLACE(p, expected, to) \
  __atomic_compare_exchange_n(p, expected, to, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
/* The same, when what came before on the thread that had put *p there is seen, and what came before here is seen by
 * whoever replaces it next. */
#define TOFT_MOVE(p, expected, to) __atomic_compare_exchange_n(p, expected, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)
/* Takes a word that is *seen, 0 say, for v; else *seen is what it was. What came before TOFT_LEAVE is seen after. */
#define TOFT_TAKE(p, seen, v) __atomic_compare_exchange_n(p, seen, v, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
#define TOFT_LEAVE(p) __atomic_store_n(p, 0, __ATOMIC_RELEASE)
/* In the one order that all threads agree on. */
#define TOFT_SWAP_ORDERED(p, v) __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)
#define TOFT_LOAD_ORDERED(p) __atomic_load_n(p, __ATOMIC_SEQ_CST)
#define TOFT_FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define TOFT_STORES_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE) /* none after it comes before it */
#define TOFT_COMPILER_FENCE() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define TOFT_LOCK_TRY(l) (!__atomic_test_and_set(l, __ATOMIC_ACQUIRE))
#define TOFT_LOCK_SEEN(l) __atomic_load_n(l, __ATOMIC_RELAXED)
#define TOFT_UNLOCK(l) __atomic_clear(l, __ATOMIC_RELEASE)

#elif defined(_MSC_VER) && defined(_M_X64) /* whose loads acquire and whose stores release */
#include <intrin.h>
#define TOFT_LOAD(p) (*(volatile size_t *)(p))
#define TOFT_STORE(p, v) ((void)(*(volatile size_t *)(p) = (size_t)(v)))
#define TOFT_SWAP(p, v) ((size_t)_InterlockedExchange64((volatile __int64 *)(p), (__int64)(v)))
#define TOFT_ADD(p, v) ((size_t)_InterlockedExchangeAdd64((volatile __int64 *)(p), (__int64)(v)) + (size_t)(v))
#define TOFT_LOAD_POINTER(T, p) (*(T *volatile *)(p))
#define TOFT_STORE_POINTER(T, p, v) ((void)(*(T *volatile *)(p) = (v)))
TOFT_INLINE void *toft_load_pointer_acquire(void *const *p) {
  void *v = *(void *const volatile *)p;
  _ReadWriteBarrier();
  return v;
}
#define TOFT_LOAD_POINTER_ACQUIRE(T, p) ((T *)toft_load_pointer_acquire((void *const *)(const void *)(p)))
#define TOFT_STORE_POINTER_RELEASE(T, p, v) (_ReadWriteBarrier(), TOFT_STORE_POINTER(T, p, v))
TOFT_INLINE size_t toft_load_acquire(size_t *p) {
  size_t v = *(volatile size_t *)p;
  _ReadWriteBarrier();
  return v;
}
#define TOFT_LOAD_ACQUIRE(p) toft_load_acquire(p)
#define TOFT_STORE_RELEASE(p, v) (_ReadWriteBarrier(), TOFT_STORE(p, v))
TOFT_INLINE int toft_replace(size_t *p, size_t *expected, size_t to) {
  size_t was = *expected;
  *expected = (size_t)_InterlockedCompareExchange64((volatile __int64 *)p, (__int64)to, (__int64)was);
  return *expected == was;
}
#define TOFT_REPLACE(p, expected, to) toft_replace(p, expected, to)
#define TOFT_MOVE(p, expected, to) toft_replace(p, expected, to)
#define TOFT_TAKE(p, seen, v) toft_replace(p, seen, v)
#define TOFT_LEAVE(p) ((void)TOFT_SWAP(p, 0))
#define TOFT_SWAP_ORDERED(p, v) TOFT_SWAP(p, v)
#define TOFT_LOAD_ORDERED(p) TOFT_LOAD_ACQUIRE(p)
#define TOFT_FENCE() __faststorefence()
#define TOFT_STORES_FENCE() _ReadWriteBarrier()
#define TOFT_COMPILER_FENCE() _ReadWriteBarrier()
#define TOFT_LOCK_TRY(l) (_InterlockedExchange8((volatile char *)(l), 1) == 0)
#define TOFT_LOCK_SEEN(l) (*(volatile unsigned char *)(l))
#define TOFT_UNLOCK(l) ((void)_InterlockedExchange8((volatile char *)(l), 0))
#else
#error "toft: atomics for this compiler are missing: add them here"
#endif

/* All words that these take are size_t, but for locks. */

/* ---- a lock: one atomic exchange, and a store to let go. What is done behind it takes nanoseconds, or asks a
 * source for a block ---- */

#define TOFT_SPINS 64

typedef unsigned char toft_lock; /* 0: free */

static void toft_lock_take(toft_lock *l) {
  int spins = 0;
  while (!TOFT_LOCK_TRY(l))
    while (TOFT_LOCK_SEEN(l) != 0)
      if (++spins > TOFT_SPINS) toft_os_yield();
}

/* When the library is unloaded other threads may have been stopped with a lock in their hands. */
static int toft_lock_take_to_end(toft_lock *l) {
  if (!toft_os_unloads) toft_lock_take(l);
  for (int i = 0; toft_os_unloads && !TOFT_LOCK_TRY(l); i++) {
    if (i == 1000) return 0;
    toft_os_yield();
  }
  return 1;
}

/* ---- a fence between a store and a load, for two threads of which one comes here often and the other hardly ever: the
 * one has the compiler's alone, the other pays a third of a microsecond for both ---- */

static size_t toft_fence_kind; /* 0: not asked yet; 1: the system can do that; 2: it cannot */

static int toft_fence_is_shared(void) {
  size_t kind = TOFT_LOAD(&toft_fence_kind);
  if (TOFT_UNLIKELY(kind == 0)) { /* all go by one answer */
    size_t answer = toft_os_fence_open() ? 1 : 2;
    if (TOFT_REPLACE(&toft_fence_kind, &kind, answer)) kind = answer;
  }
  return kind == 1;
}

/* ---- numbers ---- */

static size_t toft_thread_count;
static TOFT_THREAD_LOCAL size_t toft_thread_number; /* from 1 on; 0: not numbered yet */

static size_t toft_thread(void) {
  if (toft_thread_number == 0) toft_thread_number = TOFT_ADD(&toft_thread_count, 1);
  return toft_thread_number;
}

#endif
