/* Atomic operations, a spin lock, an asymmetric fence and thread ids, for gcc, clang and MSVC. Except for locks, the
 * words are size_t.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_ATOMIC_C
#define TOFT_PLATFORM_ATOMIC_C

#include "base.h"
#include "os.c"
#include "thread_local.h"

/* gcc's ThreadSanitizer does not model fences, and gcc warns of each. */
#if defined(__SANITIZE_THREAD__) && !defined(__clang__) && __GNUC__ >= 11
#pragma GCC diagnostic ignored "-Wtsan"
#endif

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
/* Compare-exchange: if *p equals *expected, stores `to`; else loads *p into *expected. Relaxed. */
#define TOFT_CAS_RELAXED(p, expected, to) \
  __atomic_compare_exchange_n(p, expected, to, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
/* The same with acquire-release order on success. */
#define TOFT_CAS_ACQ_REL(p, expected, to) \
  __atomic_compare_exchange_n(p, expected, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)
/* The same with acquire order. Used with 0 as the expected value to enter a section that TOFT_CLEAR_RELEASE leaves. */
#define TOFT_CAS_ACQUIRE(p, expected, to) \
  __atomic_compare_exchange_n(p, expected, to, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
#define TOFT_CLEAR_RELEASE(p) __atomic_store_n(p, 0, __ATOMIC_RELEASE)
/* Sequentially consistent. */
#define TOFT_SWAP_SEQ_CST(p, v) __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)
#define TOFT_LOAD_SEQ_CST(p) __atomic_load_n(p, __ATOMIC_SEQ_CST)
#define TOFT_FENCE_SEQ_CST() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define TOFT_FENCE_RELEASE() __atomic_thread_fence(__ATOMIC_RELEASE)
#define TOFT_COMPILER_FENCE() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define TOFT_LOCK_TRY(l) (!__atomic_test_and_set(l, __ATOMIC_ACQUIRE))
#define TOFT_LOCK_IS_TAKEN(l) __atomic_load_n(l, __ATOMIC_RELAXED)
#define TOFT_UNLOCK(l) __atomic_clear(l, __ATOMIC_RELEASE)

#elif defined(_MSC_VER) && defined(_M_X64) /* loads acquire and stores release on this processor */
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
TOFT_INLINE int toft_cas(size_t *p, size_t *expected, size_t to) {
  size_t was = *expected;
  *expected = (size_t)_InterlockedCompareExchange64((volatile __int64 *)p, (__int64)to, (__int64)was);
  return *expected == was;
}
#define TOFT_CAS_RELAXED(p, expected, to) toft_cas(p, expected, to)
#define TOFT_CAS_ACQ_REL(p, expected, to) toft_cas(p, expected, to)
#define TOFT_CAS_ACQUIRE(p, expected, to) toft_cas(p, expected, to)
#define TOFT_CLEAR_RELEASE(p) ((void)TOFT_SWAP(p, 0))
#define TOFT_SWAP_SEQ_CST(p, v) TOFT_SWAP(p, v)
#define TOFT_LOAD_SEQ_CST(p) TOFT_LOAD_ACQUIRE(p)
#define TOFT_FENCE_SEQ_CST() __faststorefence()
#define TOFT_FENCE_RELEASE() _ReadWriteBarrier()
#define TOFT_COMPILER_FENCE() _ReadWriteBarrier()
#define TOFT_LOCK_TRY(l) (_InterlockedExchange8((volatile char *)(l), 1) == 0)
#define TOFT_LOCK_IS_TAKEN(l) (*(volatile unsigned char *)(l))
#define TOFT_UNLOCK(l) ((void)_InterlockedExchange8((volatile char *)(l), 0))
#else
#error "toft: atomics for this compiler are missing: add them here"
#endif

/* ---- spin lock, held for nanoseconds, or while a source returns a block ---- */

#ifndef TOFT_SPINS_MAX /* proofs/threads.c has fewer */
#define TOFT_SPINS_MAX 64
#endif

typedef unsigned char toft_lock; /* 0: free */

static void toft_lock_take(toft_lock *l) {
  int spins = 0;
  while (!TOFT_LOCK_TRY(l))
    while (TOFT_LOCK_IS_TAKEN(l) != 0)
      if (++spins > TOFT_SPINS_MAX) toft_os_yield();
}

/* While the library is unloaded, a thread may have been stopped with the lock held: gives up after 1000 attempts and
 * returns 0. */
static int toft_lock_take_at_unload(toft_lock *l) {
  if (!TOFT_LOAD(&toft_os_unloading)) toft_lock_take(l);
  for (int i = 0; TOFT_LOAD(&toft_os_unloading) && !TOFT_LOCK_TRY(l); i++) {
    if (i == 1000) return 0;
    toft_os_yield();
  }
  return 1;
}

/* ---- asymmetric fence between a store and a load: the frequent side pays a compiler fence only, the rare side calls
 * toft_os_fence_all, which takes about 300 ns ---- */

static size_t toft_fence_kind; /* 0: not tried yet; 1: supported; 2: not supported */

static int toft_fence_is_asymmetric(void) {
  size_t kind = TOFT_LOAD(&toft_fence_kind);
  if (TOFT_UNLIKELY(kind == 0)) { /* all threads use the first result */
    size_t answer = toft_os_fence_register() ? 1 : 2;
    if (TOFT_CAS_RELAXED(&toft_fence_kind, &kind, answer)) kind = answer;
  }
  return kind == 1;
}

/* ---- thread ids ---- */

static size_t toft_thread_count;
TOFT_PER_THREAD size_t toft_this_thread_id; /* from 1; 0: not assigned yet */
#define toft_this_thread_id TOFT_OWN(toft_this_thread_id)

static size_t toft_thread_id(void) {
  if (toft_this_thread_id == 0) toft_this_thread_id = TOFT_ADD(&toft_thread_count, 1);
  return toft_this_thread_id;
}

#endif
