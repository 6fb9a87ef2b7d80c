/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ctest.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

/* ---- the provider: its source counts ---- */

static size_t held;

static void *take(toft_source *self, size_t size) {
  (void)self;
#ifdef _WIN32
  void *p = _aligned_malloc(size, 64);
  if (p == NULL) return NULL;
#else
  void *p = NULL;
  if (posix_memalign(&p, 64, size) != 0) return NULL;
#endif
  memset(p, 0xA5, size); /* fresh memory is dirty, as malloc's may be */
  __atomic_fetch_add(&held, size, __ATOMIC_RELAXED);
  return p;
}

static void put(toft_source *self, void *block, size_t size) {
  (void)self;
#ifdef _WIN32
  _aligned_free(block);
#else
  free(block);
#endif
  __atomic_fetch_sub(&held, size, __ATOMIC_RELAXED);
}

static toft_source counting = {take, put, NULL};

toft_arena *ctest_x_create(uint64_t budget) {
  toft_options o = TOFT_OPTIONS;
  o.source = &counting;
  o.budget = budget;
  return toft_create_with(&o);
}

void ctest_x_release(toft_arena *a) { toft_release(a); }

size_t ctest_x_held(void) { return __atomic_load_n(&held, __ATOMIC_RELAXED); }

size_t ctest_x_heap_in_use(void) {
#ifdef __GLIBC__
  struct mallinfo2 m = mallinfo2();
  return m.uordblks + m.hblkhd;
#else
  return 0; /* that system does not report it */
#endif
}

toft_arena *ctest_x_foreign(uint32_t version, uint32_t missing) {
  struct foreign {
    toft_arena head;
    toft_arena_ops ops;
    _Alignas(8) uint64_t room[8];
  } *f = (struct foreign *)calloc(1, sizeof *f);
  if (f == NULL) return NULL;
  f->ops.version = version;
  f->ops.size = (uint32_t)sizeof f->ops - missing;
  f->head.cursor = (unsigned char *)f->room;
  f->head.limit = (unsigned char *)(f->room + 8);
  f->head.ops = &f->ops;
  f->head.epoch = 2;
  return &f->head;
}

void ctest_x_free(void *p) { free(p); }

/* ---- the user ---- */

struct node *ctest_x_list(toft_arena *a, int n) {
  struct node *first = NULL;
  for (; n > 0; n--) {
    struct node *one = toft_new(a, struct node);
    if (one == NULL) return NULL;
    one->value = n;
    one->next = first;
    first = one;
  }
  return first;
}

int ctest_x_scratch(toft_arena *a, size_t n) {
  toft_mark m = toft_mark_here(a);
  void *p = toft_alloc(a, n);
  if (p == NULL) return 0;
  memset(p, 0xC7, n);
  return toft_rewind(a, m) == TOFT_OK;
}

uint64_t ctest_x_thread(void) { return (uint64_t)(uintptr_t)pthread_self(); }

static toft_range range;

int ctest_x_claim(toft_arena *a) { return toft_claim(a, &range) == TOFT_OK; }
int ctest_x_give(toft_arena *a) { return toft_unclaim(a, &range) == TOFT_OK; }
int ctest_x_reset(toft_arena *a) { return a->ops->reset(a, 0, 0); }

/* ---- readers ---- */

uint64_t ctest_x_sum_info(const struct buffer_create_info *info) {
  uint64_t sum = 0;
  for (; info != NULL; info = info->next) {
    sum += info->kind + info->flags + info->size + info->usage + info->sharing;
    for (uint32_t i = 0; i < info->queue_family_count; i++) sum += info->queue_families[i];
  }
  return sum;
}

int ctest_x_sum_strings(char **list, int *count) {
  int sum = 0;
  for (*count = 0; list[*count] != NULL; ++*count)
    for (const char *s = list[*count]; *s != 0; s++) sum += (unsigned char)*s;
  return sum;
}

static const int64_t *kept;
void ctest_x_keep(const int64_t *p) { kept = p; }
int64_t ctest_x_read_kept(void) { return *kept; }

size_t ctest_x_strlen(const char *s) { return strlen(s); }

int ctest_x_divide(int a, int b, int *quotient, int *rest) {
  if (b == 0) return -1;
  *quotient = a / b;
  *rest = a % b;
  return 0;
}

/* ---- cleanups ---- */

static int logged[16], logged_count;

void ctest_x_log(int n) {
  if (logged_count < 16) logged[logged_count++] = n;
}

static void log_number(void *n) { ctest_x_log((int)(intptr_t)n); }

int ctest_x_log_at_cleanup(toft_arena *a, intptr_t n) { return toft_cleanup_add(a, log_number, (void *)n) != NULL; }

int ctest_x_take_log(int *out) {
  int n = logged_count;
  memcpy(out, logged, sizeof logged);
  logged_count = 0;
  return n;
}

int ctest_x_adopt(toft_arena *a, toft_arena *donor) { return toft_adopt(a, donor); }
