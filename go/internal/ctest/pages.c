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
  size_t fail_from; /* the first call of take that fails, and all after it; 0: none */
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
  if (s->fail_from != 0 && s->calls >= s->fail_from) return NULL;
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

ctest_pages *ctest_pages_make(size_t fail_from) {
  ctest_pages *s = (ctest_pages *)calloc(1, sizeof *s);
  if (s == NULL) abort();
  s->source.take = page_take;
  s->source.put = page_put;
  s->fail_from = fail_from;
  return s;
}

void ctest_pages_grant(ctest_pages *s) { s->fail_from = 0; }

size_t ctest_pages_free(ctest_pages *s) {
  size_t left = s->count;
  while (s->count != 0) page_put(&s->source, s->out[0].base, s->out[0].size);
  free(s);
  return left;
}

toft_arena *ctest_pages_create(ctest_pages *s) {
  toft_options o = TOFT_OPTIONS;
  o.source = &s->source;
  return toft_create_with(&o);
}

size_t ctest_pages_bytes(const ctest_pages *s) { return s->bytes; }
size_t ctest_pages_calls(const ctest_pages *s) { return s->calls; }

int ctest_reset(toft_arena *a, uint32_t policy, size_t keep) { return a->ops->reset(a, policy, keep); }
