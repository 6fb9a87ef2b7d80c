/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _DEFAULT_SOURCE 1
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/membarrier.h>
#include <sys/syscall.h>
#endif

#include "_cgo_export.h"
#include "shim.h"

/* ---- an arena of any maker ---- */

static toft_arena *at(toft_arena *a, const char *place) { return place != NULL ? toft_at(a, place) : a; }

void *toftgo_x_alloc(toft_arena *a, size_t size, size_t align, const char *place) {
  return at(a, place)->ops->alloc(a, size, align, 0, 0);
}

int toftgo_x_rewind(toft_arena *a, uintptr_t cursor, uintptr_t epoch, const char *place) {
  return at(a, place)->ops->rewind(a, (unsigned char *)cursor, epoch);
}

int toftgo_x_reset(toft_arena *a, const char *place) { return toft_reset(at(a, place)); }

int toftgo_x_reset_lease(toft_arena *a, size_t limit, const char *place) {
  int code = toft_reset_keep(at(a, place), TOFT_KEEP_BYTES, limit);
  if (code == TOFT_OK || code == TOFT_ECORRUPT) toft_trim(a, limit);
  return code;
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

void toftgo_x_stats(toft_arena *a, toft_stats *out) { *out = toft_stats_of(a); }

static void run_cleanup(void *handle) { toftgoCleanup((uintptr_t)handle); }

int toftgo_x_cleanup(toft_arena *a, uintptr_t handle) {
  return toft_cleanup_add(a, run_cleanup, (void *)handle) != NULL;
}

int toftgo_x_release(toft_arena *a, const char *place) {
  int code = toft_reset(at(a, place)); /* release would not say that it was refused */
  if (code != TOFT_EBUSY) toft_release(at(a, place));
  return code;
}

/* ---- arenas made here ---- */

toft_arena *toftgo_x_create(uint64_t budget, size_t reserve, size_t contiguous, int checked, void **extra) {
  toft_options o = TOFT_OPTIONS;
  o.budget = budget;
  o.reserve = reserve;
  o.flags = checked ? TOFT_CHECKED : 0;
  *extra = NULL;
  if (contiguous == 0) return toft_create_with(&o);
  toft_reserve *range = (toft_reserve *)malloc(sizeof *range);
  if (range == NULL) return NULL;
  o.source = toft_reserve_init(range, contiguous);
  toft_arena *a = o.source != NULL ? toft_create_with(&o) : NULL;
  if (a != NULL) {
    *extra = range;
    return a;
  }
  if (o.source != NULL) toft_reserve_done(range);
  free(range);
  return NULL;
}

void toftgo_x_free_extra(void *extra) {
  if (extra == NULL) return;
  toft_reserve_done((toft_reserve *)extra);
  free(extra);
}

int toftgo_x_check(const void *p) {
  const toft_arena *a = (const toft_arena *)p;
  if (p == NULL || ((uintptr_t)p & (sizeof(void *) - 1)) != 0 || a->ops == NULL) return TOFT_EARG;
  if (a->cursor == NULL || a->limit < a->cursor || (((uintptr_t)a->cursor | (uintptr_t)a->limit) & 7) != 0)
    return TOFT_EARG;
  return a->ops->version == 1 && a->ops->size >= sizeof(toft_arena_ops) ? TOFT_OK : TOFT_ENOSYS;
}

/* ---- homes of leases ---- */

toft_arena *toftgo_x_create_in(void *buffer, size_t size) { return toft_create_in(buffer, size, toft_heap()); }

void *toftgo_x_home(size_t size) {
  void *home = NULL;
  return posix_memalign(&home, 4096, size) == 0 ? home : NULL;
}

void toftgo_x_free_home(void *home) { free(home); }

/* LeakSanitizer's, where it is linked in: blocks that only arenas in mapped memory know of are no leaks. */
#ifdef __ELF__
extern void __lsan_register_root_region(const void *begin, size_t size) __attribute__((weak));
#endif

void *toftgo_x_reserve(size_t size) {
  void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return NULL;
#ifdef __ELF__
  if (__lsan_register_root_region != NULL) __lsan_register_root_region(at, size);
#endif
  return at;
}

void toftgo_x_drop(void *home, size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (size > page) madvise((char *)home + page, size - page, MADV_DONTNEED);
}

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
