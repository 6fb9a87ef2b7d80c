/* SQLite's allocator interface on a toft_malloc. Its memory comes from small pages of the system: the parts of a block
 * that SQLite never uses take no memory.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "sqlite_toft.h"

#include <sqlite3.h>
#include <toft/malloc.h>

static toft_malloc heap;
static toft_source *heap_source;
static int started;

static void *take(int n) { return toft_malloc_alloc(&heap, (size_t)n); }
static void give(void *p) { toft_malloc_free(&heap, p); }
static void *resize(void *p, int n) { return toft_malloc_realloc(&heap, p, (size_t)n); }
static int size_of(void *p) { return (int)toft_malloc_usable_size(&heap, p); }
static int rounded(int n) { return (n + 7) & ~7; }

static int start(void *unused) {
  (void)unused;
  toft_malloc_init(&heap, heap_source);
  started = 1;
  return SQLITE_OK;
}

static void stop(void *unused) {
  (void)unused;
  toft_malloc_release(&heap);
  started = 0;
}

int sqlite_toft_install(toft_source *source) {
  static toft_page_source small_pages;
  sqlite3_mem_methods methods = {take, give, resize, size_of, rounded, start, stop, NULL};
  int code = sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
  if (code == SQLITE_OK) heap_source = source != NULL ? source : toft_page_source_init(&small_pages, 0);
  return code;
}

size_t sqlite_toft_held(void) { return started ? (size_t)toft_malloc_get_stats(&heap).reserved : 0; }

void sqlite_toft_trim(size_t keep) {
  if (started) toft_malloc_trim(&heap, keep);
}
