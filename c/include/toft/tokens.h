/* The allocation functions that clang calls in programs compiled with -fsanitize=alloc-token (clang 22 and later),
 * which passes a number of the allocated type. Each type has recyclers of its own: a freed object's memory is reused
 * for objects of the same type only, so a stale pointer never refers to an object of another type.
 *
 *     #include <toft/tokens.h>     in one C file of the program, before other headers, compiled without the sanitizer
 *
 * free, realloc and malloc_usable_size are defined for the whole process, and call the C library's for its own objects.
 * All functions are thread-safe, any thread may free any object, and a forked child may use all of them. Functions of C
 * return NULL and set errno to ENOMEM or EINVAL; operator new falls back to the C++ library's, which throws. Up to
 * 3,000 types are kept apart. docs/tokens.md has options of the compiler, memory, costs, and what is not supported.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TOKENS_H
#define TOFT_TOKENS_H

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "toft.h"

#if defined(__cplusplus) || !defined(__ELF__) || !defined(__GNUC__)
#error "toft/tokens.h is for a C file of a program for a system with ELF"
#endif

enum { TOFT_TOKEN_SLOTS = 4096, TOFT_TOKEN_SHARDS = 4 }; /* types; recyclers of each, for groups of threads */
#define TOFT_TOKEN_UNIT ((size_t)32768)                  /* of addresses that one recycler owns */

typedef struct toft_token_gap { /* free addresses of a recycler, at their start */
  struct toft_token_gap *next;
  size_t size;
} toft_token_gap;

typedef struct toft_token_heap {
  toft_source source; /* of `memory`; first */
  toft_malloc memory;
  toft_token_gap *gaps;
  size_t token, slot;
  unsigned char lock;
} toft_token_heap;

static struct {
  unsigned char *base, *next; /* of the range; the first address without an owner */
  size_t span;                /* of the range; 0: there is none */
  uint16_t *owner;            /* of each unit: a slot */
  toft_token_heap *spare;     /* memory of heaps to come, `spares` of them */
  size_t spares, counts[TOFT_TOKEN_SHARDS];
  unsigned char lock, creating; /* of the range; of new heaps, taken before those of heaps */
  /* atomic; the shards one after the other, each by a hash of the token */
  toft_token_heap *slots[TOFT_TOKEN_SLOTS * TOFT_TOKEN_SHARDS];
} toft_tokens;

/* ---- locks; a process with one thread needs none ---- */

#ifdef __GLIBC__
#include <sys/single_threaded.h> /* from 2.32 on */
#define TOFT_TOKEN_ONE_THREAD __libc_single_threaded
#else
#define TOFT_TOKEN_ONE_THREAD 0
#endif

static TOFT_COLD void toft_token_wait(unsigned char *lock) {
  while (__atomic_test_and_set(lock, __ATOMIC_ACQUIRE)) (void)sched_yield();
}
static void toft_token_lock(unsigned char *lock) {
  if (!TOFT_TOKEN_ONE_THREAD && TOFT_UNLIKELY(__atomic_test_and_set(lock, __ATOMIC_ACQUIRE))) toft_token_wait(lock);
}
static void toft_token_unlock(unsigned char *lock) { __atomic_clear(lock, __ATOMIC_RELEASE); }

/* From before a fork until after it, in both processes, all locks are held. */
static void toft_token_for_all(void (*call)(unsigned char *lock)) {
  for (size_t i = 0; i < TOFT_TOKEN_SLOTS * TOFT_TOKEN_SHARDS; i++)
    if (toft_tokens.slots[i] != NULL) call(&toft_tokens.slots[i]->lock);
}
static void toft_token_before_fork(void) {
  toft_token_lock(&toft_tokens.creating);
  toft_token_for_all(toft_token_lock);
  toft_token_lock(&toft_tokens.lock);
}
static void toft_token_after_fork(void) {
  toft_token_unlock(&toft_tokens.lock);
  toft_token_for_all(toft_token_unlock);
  toft_token_unlock(&toft_tokens.creating);
}

/* ---- the range ---- */

static void *toft_token_map(size_t size, int protection) {
  void *p = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p != MAP_FAILED ? p : NULL;
}

static void toft_tokens_begin(void) {
  size_t span = sizeof(void *) == 8 ? (size_t)1 << 38 : (size_t)1 << 28;
  unsigned char *p = NULL;
  while (span >= (size_t)1 << 26 && (p = (unsigned char *)toft_token_map(span, PROT_NONE)) == NULL) span /= 2;
  toft_tokens.owner = (uint16_t *)toft_token_map(span / TOFT_TOKEN_UNIT * 2, PROT_READ | PROT_WRITE);
  if (p == NULL || toft_tokens.owner == NULL) return;
  p += (0 - (uintptr_t)p) & (TOFT_TOKEN_UNIT - 1);
  toft_tokens.base = toft_tokens.next = p;
  __atomic_store_n(&toft_tokens.span, span - TOFT_TOKEN_UNIT, __ATOMIC_RELEASE);
  (void)pthread_atfork(toft_token_before_fork, toft_token_after_fork, toft_token_after_fork);
}

static size_t toft_token_offset(const void *p) { return (uintptr_t)p - (uintptr_t)toft_tokens.base; }
static int toft_token_owns(const void *p) { return toft_token_offset(p) < toft_tokens.span; }
static toft_token_heap *toft_token_heap_of(const void *p) {
  return toft_tokens.slots[toft_tokens.owner[toft_token_offset(p) / TOFT_TOKEN_UNIT]];
}
static size_t toft_token_units(size_t size) { return (size + TOFT_TOKEN_UNIT - 1) & ~(TOFT_TOKEN_UNIT - 1); }

/* The source of a heap, whose lock is held: what was given back to it first, and then addresses without an owner. */
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
    for (size_t i = 0; i < size; i += TOFT_TOKEN_UNIT)
      toft_tokens.owner[(at + i) / TOFT_TOKEN_UNIT] = (uint16_t)h->slot;
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
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, toft_tokens_begin);
  if (toft_tokens.span == 0) return NULL;
  toft_token_lock(&toft_tokens.creating);
  toft_token_heap *h = toft_tokens.slots[slot];
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
    toft_malloc_init(&h->memory, &h->source);
    toft_tokens.counts[slot / TOFT_TOKEN_SLOTS]++;
    __atomic_store_n(&toft_tokens.slots[slot], h, __ATOMIC_RELEASE);
  }
  toft_token_unlock(&toft_tokens.creating);
  return h;
}

static toft_token_heap *toft_token_heap_for(size_t token) {
  static size_t threads;
  static __thread size_t own; /* 1 + the thread's shard */
  if (TOFT_UNLIKELY(own == 0)) own = 1 + __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED) % TOFT_TOKEN_SHARDS;
  size_t first = (own - 1) * TOFT_TOKEN_SLOTS, slot = (size_t)((uint64_t)token * 0x9E3779B97F4A7C15u >> 40);
  for (;; slot++) {
    size_t at = first + slot % TOFT_TOKEN_SLOTS;
    toft_token_heap *h = __atomic_load_n(&toft_tokens.slots[at], __ATOMIC_ACQUIRE);
    if (TOFT_UNLIKELY(h == NULL) && (h = toft_token_create(token, at)) == NULL) return NULL;
    if (TOFT_LIKELY(h->token == token) || toft_tokens.counts[own - 1] > TOFT_TOKEN_SLOTS / 4 * 3) return h;
  }
}

/* A toft_malloc is a recycler, whose inline paths are used here. */
static toft_recycler *toft_token_recycler(toft_token_heap *h) { return (toft_recycler *)(void *)&h->memory; }

/* `align` is a power of two, or 0 for 16 bytes. */
static void *toft_token_alloc(size_t size, size_t align, size_t token) {
  toft_token_heap *h = toft_token_heap_for(token);
  void *p = NULL;
  if (TOFT_LIKELY(h != NULL)) {
    toft_token_lock(&h->lock);
    p = align == 0 ? toft_recycler_bump(toft_token_recycler(h), size, 16) : NULL;
    if (TOFT_UNLIKELY(p == NULL)) p = toft_malloc_aligned(&h->memory, align != 0 ? align : 16, size);
    toft_token_unlock(&h->lock);
  }
  if (TOFT_UNLIKELY(p == NULL)) errno = ENOMEM;
  return p;
}

/* ---- what the process calls ---- */

/* The next definition of a function, which is the C library's. */
static void *toft_token_next(void **found, const char *name) {
  if (*found == NULL) *found = dlsym((void *)-1L, name); /* RTLD_NEXT */
  return *found;
}
#define TOFT_TOKEN_NEXT(result, name, parameters)          \
  (__extension__({                                         \
    static void *found;                                    \
    (result(*) parameters) toft_token_next(&found, #name); \
  }))

void free(void *p) {
  if (p == NULL) return;
  if (!toft_token_owns(p)) {
    TOFT_TOKEN_NEXT(void, free, (void *))(p);
    return;
  }
  toft_token_heap *h = toft_token_heap_of(p);
  toft_token_lock(&h->lock);
  if (TOFT_LIKELY(((uintptr_t)p & toft_token_recycler(h)->object_mask) != 0))
    toft_recycler_push(toft_token_recycler(h), p);
  else
    toft_malloc_free(&h->memory, p);
  toft_token_unlock(&h->lock);
}

static void *toft_token_realloc(void *p, size_t size) {
  if (!toft_token_owns(p)) return TOFT_TOKEN_NEXT(void *, realloc, (void *, size_t))(p, size);
  if (size == 0) return free(p), (void *)NULL;
  toft_token_heap *h = toft_token_heap_of(p);
  toft_token_lock(&h->lock);
  void *q = toft_malloc_realloc(&h->memory, p, size);
  toft_token_unlock(&h->lock);
  if (q == NULL) errno = ENOMEM;
  return q;
}

void *realloc(void *p, size_t size) { return toft_token_realloc(p, size); }

size_t malloc_usable_size(void *p) {
  return toft_token_owns(p) ? toft_malloc_usable_size(&toft_token_heap_of(p)->memory, p)
                            : TOFT_TOKEN_NEXT(size_t, malloc_usable_size, (void *))(p);
}

/* ---- what clang calls ---- */

void *__alloc_token_malloc(size_t size, size_t token) { return toft_token_alloc(size, 0, token); }
void *__alloc_token_calloc(size_t count, size_t size, size_t token) {
  size_t bytes;
  void *p = toft_token_alloc(__builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes, 0, token);
  return p != NULL ? memset(p, 0, bytes) : NULL;
}
void *__alloc_token_realloc(void *p, size_t size, size_t token) {
  return p != NULL ? toft_token_realloc(p, size) : toft_token_alloc(size, 0, token);
}
void *__alloc_token_reallocarray(void *p, size_t count, size_t size, size_t token) {
  size_t bytes;
  return __alloc_token_realloc(p, __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes, token);
}
void *__alloc_token_aligned_alloc(size_t align, size_t size, size_t token) {
  if (align != 0 && (align & (align - 1)) == 0) return toft_token_alloc(size, align, token);
  return errno = EINVAL, (void *)NULL;
}
void *__alloc_token_memalign(size_t align, size_t size, size_t token) {
  return __alloc_token_aligned_alloc(align, size, token);
}
void *__alloc_token_valloc(size_t size, size_t token) { return toft_token_alloc(size, 65536, token); }
void *__alloc_token_pvalloc(size_t size, size_t token) {
  return toft_token_alloc(size <= PTRDIFF_MAX ? (size + 65535) & ~(size_t)65535 : SIZE_MAX, 65536, token);
}
int __alloc_token_posix_memalign(void **result, size_t align, size_t size, size_t token) {
  if (align % sizeof(void *) != 0) return EINVAL;
  void *p = __alloc_token_aligned_alloc(align, size, token);
  if (p != NULL) *result = p;
  return p != NULL ? 0 : errno;
}

/* operator new and new[]: plain, without exceptions, aligned. If memory is refused, the C++ library's is called. */
#define TOFT_TOKEN_NEW(name, align, parameters, arguments, more)              \
  void *name parameters __attribute__((weak));                                \
  void *__alloc_token_##name more {                                           \
    void *p = toft_token_alloc(size, align, token);                           \
    return TOFT_LIKELY(p != NULL) ? p : name != NULL ? name arguments : NULL; \
  }
#define TOFT_TOKEN_NEWS(name)                                                                                      \
  TOFT_TOKEN_NEW(name, 0, (size_t), (size), (size_t size, size_t token))                                           \
  TOFT_TOKEN_NEW(name##RKSt9nothrow_t, 0, (size_t, void *), (size, none), (size_t size, void *none, size_t token)) \
  TOFT_TOKEN_NEW(name##St11align_val_t, align, (size_t, size_t), (size, align),                                    \
                 (size_t size, size_t align, size_t token))                                                        \
  TOFT_TOKEN_NEW(name##St11align_val_tRKSt9nothrow_t, align, (size_t, size_t, void *), (size, align, none),        \
                 (size_t size, size_t align, void *none, size_t token))
#if __SIZEOF_SIZE_T__ == 8
TOFT_TOKEN_NEWS(_Znwm)
TOFT_TOKEN_NEWS(_Znam)
#else
TOFT_TOKEN_NEWS(_Znwj)
TOFT_TOKEN_NEWS(_Znaj)
#endif

#endif
