/* What the vectors need in C: a source of pages that logs and fails on request, and the operations that the API of Go
 * does not have. SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vectors.h"

#include <stdlib.h>

#ifdef _WIN32
#include <malloc.h>
static void *page_alloc(size_t size) { return _aligned_malloc(size, 4096); }
static void page_free(void *p) { _aligned_free(p); }
#else
static void *page_alloc(size_t size) { return aligned_alloc(4096, size); }
static void page_free(void *p) { free(p); }
#endif

struct ctest_pages {
  toft_source source;
  size_t fail_at[256];
  size_t calls, bytes;
  struct {
    unsigned char *base;
    size_t size;
  } out[512];
  size_t count;
  size_t took[256], gave[256], took_count, gave_count;
  int ran[64];
  size_t ran_count;
  struct {
    ctest_pages *of;
    toft_arena *a;
    int id;
    toft_cleanup *node;
  } cleanups[16];
  toft_range ranges[16];
  int open; /* a cleanup found the arena open */
};

static void *page_take(toft_source *self, size_t size) {
  ctest_pages *s = (ctest_pages *)(void *)self;
  s->calls++;
  for (size_t i = 0; i < 256; i++)
    if (s->fail_at[i] == s->calls) return NULL;
  unsigned char *base = (unsigned char *)page_alloc(size);
  if (base == NULL || s->count == 512 || s->took_count == 256) abort();
  memset(base, 0xA5, size < 1u << 20 ? size : 1u << 20);
  s->out[s->count].base = base;
  s->out[s->count++].size = size;
  s->bytes += size;
  s->took[s->took_count++] = size;
  return base;
}

static void page_put(toft_source *self, void *block, size_t size) {
  ctest_pages *s = (ctest_pages *)(void *)self;
  for (size_t i = 0; i < s->count; i++) {
    if (s->out[i].base != block || s->out[i].size != size || s->gave_count == 256) continue;
    s->out[i] = s->out[--s->count];
    s->bytes -= size;
    s->gave[s->gave_count++] = size;
    page_free(block);
    return;
  }
  abort();
}

ctest_pages *ctest_v_pages(const size_t *fail_at, size_t n) {
  ctest_pages *s = (ctest_pages *)calloc(1, sizeof *s);
  if (s == NULL || n > 256) abort();
  s->source.take = page_take;
  s->source.put = page_put;
  for (size_t i = 0; i < n; i++) s->fail_at[i] = fail_at[i];
  return s;
}

void ctest_v_grant(ctest_pages *s) { memset(s->fail_at, 0, sizeof s->fail_at); }

size_t ctest_v_free(ctest_pages *s) {
  size_t left = s->count;
  while (s->count != 0) page_put(&s->source, s->out[0].base, s->out[0].size);
  free(s);
  return left;
}

toft_arena *ctest_v_create(ctest_pages *s, uint64_t budget, size_t reserve) {
  toft_options o = TOFT_OPTIONS;
  o.source = &s->source;
  o.budget = budget;
  o.reserve = reserve;
  return toft_create_with(&o);
}

const size_t *ctest_v_took(ctest_pages *s, size_t *n) { return *n = s->took_count, s->took_count = 0, s->took; }
const size_t *ctest_v_gave(ctest_pages *s, size_t *n) { return *n = s->gave_count, s->gave_count = 0, s->gave; }
const int *ctest_v_ran(ctest_pages *s, size_t *n) { return *n = s->ran_count, s->ran_count = 0, s->ran; }
size_t ctest_v_bytes(const ctest_pages *s) { return s->bytes; }
size_t ctest_v_calls(const ctest_pages *s) { return s->calls; }
int ctest_v_open(const ctest_pages *s) { return s->open; }

/* The base of the block in which p lies at this offset, or NULL. */
void *ctest_v_base(const ctest_pages *s, const void *p, size_t offset) {
  for (size_t i = 0; i < s->count; i++)
    if ((uintptr_t)p - (uintptr_t)s->out[i].base == offset && offset <= s->out[i].size) return s->out[i].base;
  return NULL;
}

static void on_cleanup(void *arg) {
  ctest_pages *s = *(ctest_pages **)arg;
  size_t i = (size_t)((char *)arg - (char *)s->cleanups) / sizeof s->cleanups[0];
  toft_arena *a = s->cleanups[i].a;
  if (s->ran_count < 64) s->ran[s->ran_count++] = s->cleanups[i].id;
  s->open |= toft_alloc(a, 8) != NULL || toft_rewind(a, toft_mark_here(a)) != TOFT_EBUSY || toft_reset(a) != TOFT_EBUSY;
}

void *ctest_v_cleanup(ctest_pages *s, toft_arena *a, int id) {
  s->cleanups[id].of = s;
  s->cleanups[id].a = a;
  s->cleanups[id].id = id;
  s->cleanups[id].node = toft_cleanup_add(a, on_cleanup, &s->cleanups[id]);
  return s->cleanups[id].node;
}

void ctest_v_cancel(ctest_pages *s, int id) { s->cleanups[id].node->fn = NULL; }

void *ctest_v_alloc(toft_arena *a, size_t n, size_t align, uint32_t flags) {
  return a->ops->alloc(a, n, align, flags, 0);
}
void *ctest_v_resize(toft_arena *a, void *p, size_t old, size_t n, size_t align, uint32_t flags) {
  if (flags != 0) return a->ops->resize(a, p, old, n, align, flags, 0);
  return toft_resize(a, p, old, n, align);
}
void ctest_v_give_back(toft_arena *a, void *p, size_t n) { toft_free(a, p, n); }
int ctest_v_rewind(toft_arena *a, uintptr_t cursor, uintptr_t epoch) {
  return a->ops->rewind(a, (unsigned char *)cursor, epoch);
}
int ctest_v_reset(toft_arena *a, uint32_t policy, size_t keep) { return a->ops->reset(a, policy, keep); }
int ctest_v_set(toft_arena *a, uint32_t what, uint64_t value) { return a->ops->set(a, what, value, NULL, 0); }
void ctest_v_trim(toft_arena *a, size_t keep) { toft_trim(a, keep); }
void ctest_v_release(toft_arena *a) { toft_release(a); }
toft_range *ctest_v_range(ctest_pages *s, int id) { return &s->ranges[id]; }
void *ctest_v_claim(toft_arena *a, toft_range *r, size_t n, size_t align) {
  if (n == 0 && r->claim == 0) return toft_claim(a, r) == TOFT_OK ? r->cursor : NULL;
  return a->ops->claim(a, r, n, align);
}
int ctest_v_give(toft_arena *a, toft_range *r) { return toft_unclaim(a, r); }
