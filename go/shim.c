/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _DEFAULT_SOURCE 1
#include <stdlib.h>
#ifdef _WIN32
#include <malloc.h>
#include <windows.h>
#else
#include <unistd.h>
#endif
#if defined(__GLIBC__) || defined(__APPLE__) || defined(__FreeBSD__)
#include <execinfo.h>
#endif
#ifdef __linux__
#include <linux/membarrier.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#endif

#include "_cgo_export.h"
#include "shim.h"

/* LeakSanitizer, if it is linked in: blocks that only mapped memory or Go memory refers to are no leaks. */
#ifdef __ELF__
extern void __lsan_register_root_region(const void *begin, size_t size) __attribute__((weak));
extern void __lsan_unregister_root_region(const void *begin, size_t size) __attribute__((weak));
extern void __lsan_ignore_object(const void *p) __attribute__((weak));
#endif

/* ---- an arena of any provider ---- */

static toft_arena *at(toft_arena *a, const char *place) { return place != NULL ? toft_at(a, place) : a; }

void *toftgo_x_alloc(toft_arena *a, size_t size, size_t align) { return a->ops->alloc(a, size, align, 0, 0); }

/* Set by the unwinder, which C calls for each sample. */
static __thread int sampled_here;

static size_t unwind(void *arg, void **stack, size_t max) {
  (void)arg;
  sampled_here = 1;
#if defined(_WIN32)
  return RtlCaptureStackBackTrace(0, (DWORD)max, stack, NULL);
#elif defined(__GLIBC__) || defined(__APPLE__) || defined(__FreeBSD__)
  return (size_t)backtrace(stack, (int)max);
#else
  (void)stack, (void)max;
  return 0; /* the library records the caller alone */
#endif
}

toftgo_sampled toftgo_x_alloc_sampled(toft_arena *a, size_t size, size_t align, const char *place) {
  toftgo_sampled r;
  sampled_here = 0;
  r.p = at(a, place)->ops->alloc(a, size, align, 0, 0);
  r.sampled = sampled_here;
  return r;
}

int toftgo_x_set_sampling(toft_arena *a, uint64_t period) {
  int code = a->ops->set(a, TOFT_SET_SAMPLE, period, NULL, 0);
  if (code == TOFT_OK && period != 0) (void)toft_set_unwinder(a, unwind, NULL);
  return code;
}

/* The argument of the cleanups that run on this thread; see cleanup.go. */
static __thread uintptr_t operation_here;

int toftgo_x_rewind(toft_arena *a, uintptr_t cursor, uintptr_t epoch, const char *place, uintptr_t operation) {
  operation_here = operation;
  int code = at(a, place)->ops->rewind(a, (unsigned char *)cursor, epoch);
  operation_here = 0;
  return code;
}

int toftgo_x_reset(toft_arena *a, const char *place, uintptr_t operation) {
  operation_here = operation;
  int code = toft_reset(at(a, place));
  operation_here = 0;
  return code;
}

void toftgo_x_shrink(toft_arena *a) {
  toft_reset_keep(a, TOFT_KEEP_BYTES, 0);
  toft_trim(a, 0);
}

void toftgo_x_trim(toft_arena *a, size_t keep) { toft_trim(a, keep); }

int toftgo_x_set(toft_arena *a, uint32_t what, uint64_t value) { return a->ops->set(a, what, value, NULL, 0); }

int toftgo_x_set_metered(toft_arena *a, int on) { return toft_set_metered(a, on); }

int toftgo_x_set_tag_budget(toft_arena *a, const char *path, uint64_t bytes) {
  return toft_set_tag_budget(a, path, bytes);
}

int toftgo_x_tag_push(toft_arena *a, const char *name) { return toft_tag_push(a, name); }

void toftgo_x_tag_pop(toft_arena *a) { toft_tag_pop(a); }

size_t toftgo_x_snapshot(toft_arena *a, char *text, size_t size) { return toft_snapshot_text(a, NULL, text, size); }

int toftgo_x_contains(const toft_arena *a, const void *p) { return toft_contains(a, p); }

void toftgo_x_stats(toft_arena *a, toft_stats *out) { *out = toft_get_stats(a); }

/* The argument is the arena's address, a multiple of 8, and the number of the function in Go modulo 8. */
static int number_of(const void *arg) { return (int)((uintptr_t)arg & 7); }

static void run_cleanup(void *arg) { toftgoCleanup((char *)arg - number_of(arg), number_of(arg), operation_here); }

int toftgo_x_cleanup(toft_arena *a, int number) {
  return toft_cleanup_add(a, run_cleanup, (char *)a + (number & 7)) != NULL;
}

int toftgo_x_next_cleanup(toft_arena *a, uintptr_t cursor, uintptr_t epoch, int again, uintptr_t operation) {
  void *next;
  operation_here = operation;
  toft_next_cleanup(a, (unsigned char *)cursor, epoch, again, run_cleanup, &next);
  operation_here = 0;
  return next != NULL ? number_of(next) : -1;
}

int toftgo_x_release(toft_arena *a, const char *place, uintptr_t operation) {
  int code = toftgo_x_reset(a, place, operation); /* toft_release returns no code */
  if (code != TOFT_EBUSY) toft_release(at(a, place));
  return code;
}

/* ---- arenas made here ---- */

static int refused(void *handle, toft_budget *b, size_t size) {
  (void)b;
  return toftgoRefused((uintptr_t)handle, size);
}

void *toftgo_x_budget_create(const char *name, void *parent, size_t limit, uintptr_t handle) {
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.name = name;
  o.parent = (toft_budget *)parent;
  o.limit = limit;
  o.refused = handle != 0 ? refused : NULL;
  o.refused_arg = (void *)handle;
  return toft_budget_create(&o);
}

toft_arena *toftgo_x_create(uint64_t budget, size_t reserve, size_t contiguous, int checked, void *within,
                            void **extra) {
  toft_options o = TOFT_OPTIONS;
  o.budget = budget;
  o.reserve = reserve;
  o.source = within != NULL ? toft_budget_source((toft_budget *)within) : NULL;
  o.flags = checked ? TOFT_CHECKED : 0;
  *extra = NULL;
  if (contiguous == 0) return toft_create_with(&o);
  toft_reserve_source *range = (toft_reserve_source *)malloc(sizeof *range);
  if (range == NULL) return NULL;
  o.source = toft_reserve_source_init(range, contiguous);
  toft_arena *a = o.source != NULL ? toft_create_with(&o) : NULL;
  if (a != NULL) {
    *extra = range;
    return a;
  }
  if (o.source != NULL) toft_reserve_source_release(range);
  free(range);
  return NULL;
}

/* ---- the kept heads of released arenas ---- */

static void *no_alloc(toft_arena *a, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  (void)a, (void)size, (void)align, (void)flags, (void)site;
  return NULL;
}
static void *no_resize(toft_arena *a, void *p, size_t old_size, size_t size, size_t align, uint32_t flags,
                       uintptr_t site) {
  (void)a, (void)p, (void)old_size, (void)size, (void)align, (void)flags, (void)site;
  return NULL;
}
static void no_free(toft_arena *a, void *p, size_t size) { (void)a, (void)p, (void)size; }
static int no_rewind(toft_arena *a, unsigned char *cursor, uintptr_t epoch) {
  (void)a, (void)cursor, (void)epoch;
  return TOFT_EBUSY;
}
static int no_reset(toft_arena *a, uint32_t policy, size_t keep) {
  (void)a, (void)policy, (void)keep;
  return TOFT_EBUSY;
}
static void no_trim(toft_arena *a, size_t keep) { (void)a, (void)keep; }
static toft_cleanup *no_cleanup(toft_arena *a, void (*fn)(void *), void *arg) {
  (void)a, (void)fn, (void)arg;
  return NULL;
}
static void *no_claim(toft_arena *a, toft_range *range, size_t size, size_t align) {
  (void)a, (void)range, (void)size, (void)align;
  return NULL;
}
static int no_give(toft_arena *a, toft_range *range) {
  (void)a, (void)range;
  return TOFT_EBUSY;
}
static int no_contains(const toft_arena *a, const void *p) {
  (void)a, (void)p;
  return 0;
}
static size_t no_stats(toft_arena *a, toft_stats *out, size_t size) {
  (void)a, (void)out, (void)size;
  return 0;
}
static int no_set(toft_arena *a, uint32_t what, uint64_t value, const char *name, size_t length) {
  (void)a, (void)what, (void)value, (void)name, (void)length;
  return TOFT_EBUSY;
}
static void no_release(toft_arena *a) { (void)a; }

static const toft_arena_ops released_ops = {sizeof(toft_arena_ops),
                                            1,
                                            no_alloc,
                                            no_resize,
                                            no_free,
                                            no_rewind,
                                            no_reset,
                                            no_trim,
                                            no_cleanup,
                                            no_claim,
                                            no_give,
                                            no_contains,
                                            no_stats,
                                            no_set,
                                            no_release};

const void *toftgo_x_released_ops(void) { return &released_ops; }

/* Makes the head refuse every operation: no byte is left, and no op does anything. */
static void seal(toft_arena *a) {
  static uint64_t nothing[1];
  a->cursor = a->limit = (unsigned char *)nothing;
  a->ops = &released_ops;
  a->epoch |= 1; /* every call goes through ops */
}

int toftgo_x_retire(toft_arena *a, const char *place, uintptr_t operation, toft_arena *head) {
  int code = toftgo_x_reset(a, place, operation); /* toft_release returns no code */
  if (code == TOFT_EBUSY) return code;
  toft_trim(a, 0);
#ifdef __ELF__ /* only Go memory, which LeakSanitizer does not search, refers to it */
  if (__lsan_ignore_object != NULL) __lsan_ignore_object(a);
  if (__lsan_register_root_region != NULL) __lsan_register_root_region(a, TOFT_BUFFER(0) - 64);
#endif
  *head = *a;
  seal(a);
  return code;
}

void toftgo_x_end_retired(toft_arena *a, const toft_arena *head) {
#ifdef __ELF__
  if (__lsan_unregister_root_region != NULL) __lsan_unregister_root_region(a, TOFT_BUFFER(0) - 64);
#endif
  *a = *head;
  toft_release(a);
}

void toftgo_x_free_extra(void *extra) {
  if (extra == NULL) return;
  toft_reserve_source_release((toft_reserve_source *)extra);
  free(extra);
}

int toftgo_x_check(const void *p) {
  const toft_arena *a = (const toft_arena *)p;
  if (p == NULL || ((uintptr_t)p & (sizeof(void *) - 1)) != 0 || a->ops == NULL) return TOFT_EARG;
  if (a->cursor == NULL || a->limit < a->cursor || (((uintptr_t)a->cursor | (uintptr_t)a->limit) & 7) != 0)
    return TOFT_EARG;
  return a->ops->version == 1 && a->ops->size >= sizeof(toft_arena_ops) ? TOFT_OK : TOFT_ENOSYS;
}

/* ---- buffers of leases ---- */

toft_arena *toftgo_x_create_in(void *buffer, size_t size) { return toft_create_in(buffer, size, toft_heap()); }

#ifdef _WIN32
void *toftgo_x_buffer(size_t size) { return _aligned_malloc(size, size); }
void toftgo_x_free_buffer(void *buffer) { _aligned_free(buffer); }
#else
void *toftgo_x_buffer(size_t size) {
  void *buffer = NULL;
  return posix_memalign(&buffer, size, size) == 0 ? buffer : NULL;
}
void toftgo_x_free_buffer(void *buffer) { free(buffer); }
#endif

void toftgo_x_show_roots(const void *p, size_t size) {
#ifdef __ELF__
  if (__lsan_register_root_region != NULL) __lsan_register_root_region(p, size);
#else
  (void)p, (void)size;
#endif
}

void toftgo_x_nothing(const void *p) { (void)p; }

void toftgo_x_no_cache(void) { toft_cache_limit(0); }

/* Private and expedited: Linux 4.14. */
int toftgo_x_barrier(void) {
#ifdef __linux__
  static int registered;
  if (!__atomic_load_n(&registered, __ATOMIC_ACQUIRE)) {
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0) return 0;
    __atomic_store_n(&registered, 1, __ATOMIC_RELEASE);
  }
  return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
#else
  return 0;
#endif
}

int toftgo_x_privileged(void) {
#if defined(_WIN32)
  return 0;
#elif defined(__linux__)
  return getauxval(AT_SECURE) != 0;
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__) || \
    defined(__DragonFly__)
  return issetugid();
#else
  return getuid() != geteuid() || getgid() != getegid();
#endif
}

int toftgo_x_checked(void) {
  uint64_t checked = 0;
  toft_arena *a = toft_create();
  if (a != NULL) (void)toft_info_of(a)->query(a, TOFT_SET_CHECKED, &checked);
  toft_release(a);
  return checked != 0;
}
