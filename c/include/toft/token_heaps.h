/* The heaps of toft/tokens.h: a recycler for each type and thread, in one range of addresses. An address that one heap
 * has used is never used by another. A thread uses its own heaps without a lock; objects that other threads free wait
 * in a list until the heap needs memory. A part of that file's unit, and no interface.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TOKEN_HEAPS_H
#define TOFT_TOKEN_HEAPS_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "toft.h"

/* Types, and owners: threads, which use their own heaps without a lock. The last owner is shared by further threads. */
enum { TOFT_TOKEN_TYPES = 4096, TOFT_TOKEN_OWNERS = 64, TOFT_TOKEN_SHARED = TOFT_TOKEN_OWNERS - 1 };
#define TOFT_TOKEN_UNIT ((size_t)32768) /* of addresses that one heap owns */

typedef struct toft_token_gap { /* free addresses of a recycler, at their start */
  struct toft_token_gap *next;
  size_t size;
} toft_token_gap;

typedef struct toft_token_heap {
  toft_source source; /* of `memory`; first */
  toft_malloc memory;
  toft_token_gap *gaps;
  size_t token, slot, owner;
  void *freed;        /* atomic: objects that other threads freed, which the owner returns to the recycler */
  unsigned char lock; /* of a shared heap */
} toft_token_heap;

static struct {
  unsigned char *base, *next; /* of the range; the first address without an owner */
  size_t span;                /* of the range; 0: there is none */
  uint32_t *slot;             /* of each unit: where its heap is in `heaps` */
  toft_token_heap *spare;     /* memory of heaps to come, `spares` of them */
  size_t spares, counts[TOFT_TOKEN_OWNERS];
  uint64_t owners;              /* a bit for each that a thread has */
  unsigned char lock, creating; /* of the range; of heaps and owners */
  pthread_key_t key;            /* 1 + the thread's owner */
  int shares;                   /* all threads share: the recyclers of a checked process have records */
  toft_token_heap *heaps[TOFT_TOKEN_TYPES * TOFT_TOKEN_OWNERS]; /* atomic; of each owner by a hash of the token */
} toft_tokens;
static __thread size_t toft_token_own; /* 1 + the thread's owner; 0: none yet */

/* ---- locks ---- */

static void toft_token_lock(unsigned char *lock) {
  while (__atomic_test_and_set(lock, __ATOMIC_ACQUIRE)) (void)sched_yield();
}
static void toft_token_unlock(unsigned char *lock) { __atomic_clear(lock, __ATOMIC_RELEASE); }

/* From before a fork until after it, in both processes, all locks are held. The heaps of the parent's other threads
 * stay theirs in the child. */
static void toft_token_for_shared(void (*call)(unsigned char *lock)) {
  toft_token_heap **shared = &toft_tokens.heaps[TOFT_TOKEN_SHARED * TOFT_TOKEN_TYPES];
  for (size_t i = 0; i < TOFT_TOKEN_TYPES; i++)
    if (shared[i] != NULL) call(&shared[i]->lock);
}
static void toft_token_before_fork(void) {
  toft_token_lock(&toft_tokens.creating);
  toft_token_for_shared(toft_token_lock);
  toft_token_lock(&toft_tokens.lock);
}
static void toft_token_after_fork(void) {
  toft_token_unlock(&toft_tokens.lock);
  toft_token_for_shared(toft_token_unlock);
  toft_token_unlock(&toft_tokens.creating);
}

/* ---- owners ---- */

static void toft_token_end_thread(void *own) {
  toft_token_own = 0;
  toft_token_lock(&toft_tokens.creating);
  if ((size_t)own != TOFT_TOKEN_SHARED + 1) toft_tokens.owners &= ~((uint64_t)1 << ((size_t)own - 1));
  toft_token_unlock(&toft_tokens.creating);
}

static TOFT_COLD size_t toft_token_begin_thread(void) {
  size_t owner = toft_tokens.shares ? TOFT_TOKEN_SHARED : 0;
  toft_token_lock(&toft_tokens.creating);
  while (owner < TOFT_TOKEN_SHARED && (toft_tokens.owners >> owner & 1) != 0) owner++;
  if (pthread_setspecific(toft_tokens.key, (void *)(owner + 1)) != 0) owner = TOFT_TOKEN_SHARED;
  toft_tokens.owners |= (uint64_t)1 << owner;
  toft_token_unlock(&toft_tokens.creating);
  return toft_token_own = owner + 1;
}

/* ---- the range ---- */

static void *toft_token_map(size_t size, int protection) {
  void *p = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p != MAP_FAILED ? p : NULL;
}

static void toft_tokens_begin(void) {
  static toft_recycler probe;
  size_t span = sizeof(void *) == 8 ? (size_t)1 << 38 : (size_t)1 << 28;
  unsigned char *p = NULL;
  while (span >= (size_t)1 << 26 && (p = (unsigned char *)toft_token_map(span, PROT_NONE)) == NULL) span /= 2;
  toft_tokens.slot = (uint32_t *)toft_token_map(span / TOFT_TOKEN_UNIT * 4, PROT_READ | PROT_WRITE);
  if (p == NULL || toft_tokens.slot == NULL || pthread_key_create(&toft_tokens.key, toft_token_end_thread) != 0) return;
  toft_tokens.shares = toft_recycler_init(&probe, NULL) != TOFT_OK || probe.checked;
  p += (0 - (uintptr_t)p) & (TOFT_TOKEN_UNIT - 1);
  toft_tokens.base = toft_tokens.next = p;
  __atomic_store_n(&toft_tokens.span, span - TOFT_TOKEN_UNIT, __ATOMIC_RELEASE);
  (void)pthread_atfork(toft_token_before_fork, toft_token_after_fork, toft_token_after_fork);
}

static size_t toft_token_offset(const void *p) { return (uintptr_t)p - (uintptr_t)toft_tokens.base; }
/* The span is stored last: a thread that reads it reads the base that belongs to it. */
static int toft_token_owns(const void *p) {
  size_t span = __atomic_load_n(&toft_tokens.span, __ATOMIC_ACQUIRE);
  return toft_token_offset(p) < span;
}
static toft_token_heap *toft_token_heap_of(const void *p) {
  return toft_tokens.heaps[toft_tokens.slot[toft_token_offset(p) / TOFT_TOKEN_UNIT]];
}
static size_t toft_token_units(size_t size) { return (size + TOFT_TOKEN_UNIT - 1) & ~(TOFT_TOKEN_UNIT - 1); }

/* The source of a heap: what was given back to it first, and then addresses without an owner. */
static void *toft_token_take(toft_source *self, size_t size) {
  toft_token_heap *h = (toft_token_heap *)(void *)self;
  size = toft_token_units(size);
  for (toft_token_gap **at = &h->gaps, *gap; (gap = *at) != NULL; at = &gap->next) {
    if (gap->size < size) continue;
    gap->size -= size;
    if (gap->size == 0) *at = gap->next;
    return (unsigned char *)gap + gap->size; /* its end, so that the gap's head stays */
  }
  toft_token_lock(&toft_tokens.lock);
  unsigned char *p = toft_tokens.next;
  size_t at = toft_token_offset(p);
  if (size <= toft_tokens.span - at && mprotect(p, size, PROT_READ | PROT_WRITE) == 0) {
    for (size_t i = 0; i < size; i += TOFT_TOKEN_UNIT) toft_tokens.slot[(at + i) / TOFT_TOKEN_UNIT] = (uint32_t)h->slot;
    toft_tokens.next += size;
  } else {
    p = NULL;
  }
  toft_token_unlock(&toft_tokens.lock);
  return p;
}

/* Joins a gap with the next one, if that follows it. */
static void toft_token_join(toft_token_gap *gap) {
  if ((unsigned char *)gap + gap->size != (unsigned char *)gap->next) return;
  gap->size += gap->next->size;
  gap->next = gap->next->next;
}

static void toft_token_put(toft_source *self, void *block, size_t size) {
  toft_token_heap *h = (toft_token_heap *)(void *)self;
  toft_token_gap *gap = (toft_token_gap *)block, *before = NULL, **at = &h->gaps;
  size = toft_token_units(size);
  int saved = errno; /* free keeps it */
  (void)madvise(block, size, MADV_DONTNEED);
  errno = saved;
  while (*at != NULL && *at < gap) before = *at, at = &before->next;
  gap->next = *at;
  gap->size = size;
  *at = gap;
  toft_token_join(gap);
  if (before != NULL) toft_token_join(before);
}

/* ---- a heap for each token ---- */

/* Returns the heap in a slot that was empty, where another thread may have put one. NULL: no memory. */
static TOFT_COLD toft_token_heap *toft_token_create(size_t token, size_t slot) {
  toft_token_lock(&toft_tokens.creating);
  toft_token_heap *h = toft_tokens.heaps[slot];
  if (h == NULL && toft_tokens.spares == 0) {
    toft_tokens.spare = (toft_token_heap *)toft_token_map(16 * sizeof *h, PROT_READ | PROT_WRITE);
    toft_tokens.spares = toft_tokens.spare != NULL ? 16 : 0;
  }
  if (h == NULL && toft_tokens.spares != 0) {
    h = &toft_tokens.spare[--toft_tokens.spares];
    h->source.take = toft_token_take;
    h->source.put = toft_token_put;
    h->token = token;
    h->slot = slot;
    h->owner = slot / TOFT_TOKEN_TYPES;
    toft_malloc_init(&h->memory, &h->source);
    toft_tokens.counts[h->owner]++;
    __atomic_store_n(&toft_tokens.heaps[slot], h, __ATOMIC_RELEASE);
  }
  toft_token_unlock(&toft_tokens.creating);
  return h;
}

static TOFT_COLD size_t toft_token_begin(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, toft_tokens_begin);
  return toft_tokens.span != 0 ? toft_token_begin_thread() : 0;
}

static toft_token_heap *toft_token_heap_for(size_t token) {
  size_t own = toft_token_own, i = (size_t)((uint64_t)token * 0x9E3779B97F4A7C15u >> 40);
  if (TOFT_UNLIKELY(own == 0) && (own = toft_token_begin()) == 0) return NULL;
  for (;; i++) {
    size_t slot = (own - 1) * TOFT_TOKEN_TYPES + i % TOFT_TOKEN_TYPES;
    toft_token_heap *h = __atomic_load_n(&toft_tokens.heaps[slot], __ATOMIC_ACQUIRE);
    if (TOFT_UNLIKELY(h == NULL) && (h = toft_token_create(token, slot)) == NULL) return NULL;
    if (TOFT_LIKELY(h->token == token) || toft_tokens.counts[own - 1] > TOFT_TOKEN_TYPES / 4 * 3) return h;
  }
}

/* Whether the thread may use the heap's recycler, until toft_token_leave. */
static int toft_token_enter(toft_token_heap *h) {
  if (TOFT_LIKELY(h->owner + 1 == toft_token_own && h->owner != TOFT_TOKEN_SHARED)) return 1;
  if (h->owner != TOFT_TOKEN_SHARED) return 0;
  toft_token_lock(&h->lock);
  return 1;
}
static void toft_token_leave(toft_token_heap *h) {
  if (TOFT_UNLIKELY(h->owner == TOFT_TOKEN_SHARED)) toft_token_unlock(&h->lock);
}

/* A toft_malloc is a recycler, whose inline paths are used here. */
static toft_recycler *toft_token_recycler(toft_token_heap *h) { return (toft_recycler *)(void *)&h->memory; }

/* Precondition: the thread has entered h. Other threads' frees are done first. */
static TOFT_COLD void *toft_token_alloc_slow(toft_token_heap *h, size_t size, size_t align) {
  void *freed = __atomic_exchange_n(&h->freed, NULL, __ATOMIC_ACQUIRE);
  while (freed != NULL) {
    void *p = freed;
    memcpy(&freed, p, sizeof freed);
    toft_malloc_free(&h->memory, p);
  }
  return toft_malloc_aligned(&h->memory, align != 0 ? align : 16, size);
}

/* `align` is a power of two, or 0 for 16 bytes. */
static void *toft_token_alloc(size_t size, size_t align, size_t token) {
  toft_token_heap *h = toft_token_heap_for(token);
  void *p = NULL;
  if (TOFT_LIKELY(h != NULL) && toft_token_enter(h)) {
    p = align == 0 ? toft_recycler_bump(toft_token_recycler(h), size, 16) : NULL;
    if (TOFT_UNLIKELY(p == NULL)) p = toft_token_alloc_slow(h, size, align);
    toft_token_leave(h);
  }
  if (TOFT_UNLIKELY(p == NULL)) errno = ENOMEM;
  return p;
}

/* Precondition: p is in the range. */
static void toft_token_free(toft_token_heap *h, void *p) {
  if (TOFT_UNLIKELY(!toft_token_enter(h))) {
    void *next = __atomic_load_n(&h->freed, __ATOMIC_RELAXED);
    do memcpy(p, &next, sizeof next);
    while (!__atomic_compare_exchange_n(&h->freed, &next, p, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    return;
  }
  if (TOFT_LIKELY(((uintptr_t)p & toft_token_recycler(h)->object_mask) != 0))
    toft_recycler_push(toft_token_recycler(h), p);
  else
    toft_malloc_free(&h->memory, p);
  toft_token_leave(h);
}

/* Precondition: p is in the range. */
static void *toft_token_resize(toft_token_heap *h, void *p, size_t size) {
  void *q;
  if (toft_token_enter(h)) {
    q = toft_malloc_realloc(&h->memory, p, size);
    toft_token_leave(h);
    if (q == NULL) errno = ENOMEM;
  } else if ((q = toft_token_alloc(size, 0, h->token)) != NULL) {
    size_t room = toft_malloc_usable_size(NULL, p);
    memcpy(q, p, room < size ? room : size);
    toft_token_free(h, p);
  }
  return q;
}

#endif
