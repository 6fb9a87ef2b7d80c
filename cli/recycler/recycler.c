/* malloc and its relatives on one toft_malloc: LD_PRELOAD=recycler.so program. `toft advise` measures programs on it.
 * Memory comes from glibc's malloc, as it does where a library's hooks are set to a toft_malloc.
 *
 * A toft_malloc serves one thread. A lock is taken once the process has had a second thread.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#define TOFT_STATIC      /* the program may use a Toft of its own, */
#define TOFT_OMIT_CHECKS /* for which its environment is */
#define TOFT_OMIT_METERS
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/single_threaded.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static int libc_posix_memalign(void **result, size_t align, size_t size) {
  *result = __libc_memalign(align, size);
  return *result != NULL ? 0 : ENOMEM;
}

#define malloc __libc_malloc
#define calloc __libc_calloc
#define realloc __libc_realloc
#define free __libc_free
#define posix_memalign libc_posix_memalign
#include "toft.c"
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef posix_memalign

static toft_malloc objects; /* all bytes 0: toft_malloc_init was not called */
static int initialised, taken;
#define NOINLINE __attribute__((noinline))
static __thread int forking __attribute__((tls_model("initial-exec"))); /* the thread holds the lock */

/* Other handlers of the thread may allocate until after_fork. They are registered later as a rule, so that before_fork
 * is the last one: it does not hold the lock while another handler waits for a thread that allocates. */
static void before_fork(void) {
  while (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE)) sched_yield();
  forking = 1;
}

static void after_fork(void) {
  forking = 0;
  __atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
}

static inline int lock(void) {
  int threads = !__libc_single_threaded && !forking;
  if (threads)
    while (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE)) sched_yield();
  if (!initialised) {
    initialised = 1;
    toft_malloc_init(&objects, NULL);
    (void)pthread_atfork(before_fork, after_fork, after_fork);
  }
  return threads;
}

/* Neither an initialisation nor a lock is needed. */
static inline int is_ready(void) { return __builtin_expect(__libc_single_threaded & initialised, 1); }

static inline void *unlock(int threads, void *p) {
  if (threads) __atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
  if (p == NULL) errno = ENOMEM;
  return p;
}

static NOINLINE void *allocate(size_t size) {
  int threads = lock();
  return unlock(threads, toft_malloc_alloc(&objects, size));
}

void *malloc(size_t size) {
  void *p = is_ready() ? toft_malloc_alloc(&objects, size) : NULL;
  return __builtin_expect(p != NULL, 1) ? p : allocate(size); /* which sets errno */
}

void *calloc(size_t n, size_t size) {
  int threads = lock();
  return unlock(threads, toft_malloc_calloc(&objects, n, size));
}

static NOINLINE void release(void *p) {
  int threads = lock();
  toft_malloc_free(&objects, p);
  (void)unlock(threads, p);
}

void free(void *p) {
  if (p == NULL) return;
  if (is_ready())
    toft_malloc_free(&objects, p);
  else
    release(p);
}

/* Old programs call it. */
void cfree(void *p) { free(p); }

void free_sized(void *p, size_t size) {
  (void)size;
  free(p);
}

void free_aligned_sized(void *p, size_t align, size_t size) {
  (void)align, (void)size;
  free(p);
}

void *realloc(void *p, size_t size) {
  if (p != NULL && size == 0) { /* as glibc's */
    free(p);
    return NULL;
  }
  int threads = lock();
  return unlock(threads, toft_malloc_realloc(&objects, p, size));
}

void *reallocarray(void *p, size_t n, size_t size) {
  size_t bytes;
  if (!__builtin_mul_overflow(n, size, &bytes)) return realloc(p, bytes);
  errno = ENOMEM;
  return NULL;
}

/* Other alignments than powers of two are rounded up, as glibc's. */
void *memalign(size_t align, size_t size) {
  size_t power = sizeof(void *);
  while (power < align && power <= SIZE_MAX / 2) power *= 2;
  align = power;
  int threads = lock();
  return unlock(threads, toft_malloc_aligned(&objects, align, size));
}

void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }

void *valloc(size_t size) { return memalign((size_t)sysconf(_SC_PAGESIZE), size); }

void *pvalloc(size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return memalign(page, size <= PTRDIFF_MAX ? (size + page - 1) & ~(page - 1) : size);
}

int posix_memalign(void **result, size_t align, size_t size) {
  if (align < sizeof(void *) || (align & (align - 1)) != 0) return EINVAL;
  int error = errno;
  void *p = memalign(align, size);
  errno = error;
  if (p == NULL) return ENOMEM;
  *result = p;
  return 0;
}

static NOINLINE size_t usable_size(void *p) {
  int threads = lock();
  size_t size = toft_malloc_usable_size(&objects, p);
  (void)unlock(threads, &objects);
  return size;
}

size_t malloc_usable_size(void *p) { return is_ready() ? toft_malloc_usable_size(&objects, p) : usable_size(p); }
