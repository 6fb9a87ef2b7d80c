/* A source of pages that fails on request, and an operation that the API of Go does not have.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "pages.h"

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
};

static void *page_take(toft_source *self, size_t size) {
  ctest_pages *s = (ctest_pages *)(void *)self;
  s->calls++;
  for (size_t i = 0; i < 256; i++)
    if (s->fail_at[i] == s->calls) return NULL;
  unsigned char *base = (unsigned char *)page_alloc(size);
  if (base == NULL || s->count == 512) abort();
  memset(base, 0xA5, size < 1u << 20 ? size : 1u << 20);
  s->out[s->count].base = base;
  s->out[s->count++].size = size;
  s->bytes += size;
  return base;
}

static void page_put(toft_source *self, void *block, size_t size) {
  ctest_pages *s = (ctest_pages *)(void *)self;
  for (size_t i = 0; i < s->count; i++) {
    if (s->out[i].base != block || s->out[i].size != size) continue;
    s->out[i] = s->out[--s->count];
    s->bytes -= size;
    page_free(block);
    return;
  }
  abort();
}

ctest_pages *ctest_pages_make(const size_t *fail_at, size_t n) {
  ctest_pages *s = (ctest_pages *)calloc(1, sizeof *s);
  if (s == NULL || n > 256) abort();
  s->source.take = page_take;
  s->source.put = page_put;
  for (size_t i = 0; i < n; i++) s->fail_at[i] = fail_at[i];
  return s;
}

void ctest_pages_grant(ctest_pages *s) { memset(s->fail_at, 0, sizeof s->fail_at); }

size_t ctest_pages_free(ctest_pages *s) {
  size_t left = s->count;
  while (s->count != 0) page_put(&s->source, s->out[0].base, s->out[0].size);
  free(s);
  return left;
}

toft_arena *ctest_pages_create(ctest_pages *s, uint64_t budget, size_t reserve) {
  toft_options o = TOFT_OPTIONS;
  o.source = &s->source;
  o.budget = budget;
  o.reserve = reserve;
  return toft_create_with(&o);
}

size_t ctest_pages_bytes(const ctest_pages *s) { return s->bytes; }
size_t ctest_pages_calls(const ctest_pages *s) { return s->calls; }

int ctest_reset(toft_arena *a, uint32_t policy, size_t keep) { return a->ops->reset(a, policy, keep); }
