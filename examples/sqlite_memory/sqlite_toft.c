/* The page cache's pages are all of one size, and stay; what else SQLite asks for, sorters' records and statements,
 * comes and goes. Together they leave holes in each other's blocks. So pages lie in an arena, and those that are free
 * in a list; all else is a recycler's, whose blocks come back. In front of each piece is its size, which SQLite asks
 * for, and the recycler too: as SQLite's own allocator has it. The few small pieces freed last are handed out first:
 * they are in the processor's nearest cache.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "sqlite_toft.h"

#include <sqlite3.h>
#include <string.h>

enum { HEAD = 8, SMALLEST_PAGE = 512, LARGEST_PAGE = 65536, PAGE_SIZES = 8 };
enum { SMALL = 512, RECENT_MAX = 8 }; /* of each size up to SMALL, with the head */

/* Pieces that are free; in each, where the next one is. */
struct list {
  void *first;
  size_t count;
};

static struct {
  toft_source *source;
  int page_head; /* what the page cache adds to a page */
  toft_arena *pages;
  struct list free_pages[PAGE_SIZES];
  toft_recycler rest;
  struct list recent[SMALL / 8 + 1];
} memory;

static void *pop(struct list *list) {
  void *piece = list->first;
  if (piece == NULL) return NULL;
  memcpy(&list->first, piece, sizeof piece);
  list->count--;
  return piece;
}

static void push(struct list *list, void *piece) {
  memcpy(piece, &list->first, sizeof piece);
  list->first = piece;
  list->count++;
}

/* ---- a piece: its size with the head, then what SQLite gets ---- */

static size_t held(const void *p) {
  size_t size;
  memcpy(&size, (const char *)p - HEAD, sizeof size);
  return size;
}

static void *with_head(void *piece, size_t size) {
  if (piece == NULL) return NULL;
  memcpy(piece, &size, sizeof size);
  return (char *)piece + HEAD;
}

/* ---- pages ---- */

/* Which of the page sizes it is; -1: none. */
static int page_of(size_t size) {
  size_t page = size - HEAD - (size_t)memory.page_head;
  int which = 0;
  if (page - SMALLEST_PAGE > LARGEST_PAGE - SMALLEST_PAGE || (page & (page - 1)) != 0) return -1;
  while (((size_t)SMALLEST_PAGE << which) != page) which++;
  return which;
}

static void *page_take(int which, size_t size) {
  void *piece = pop(&memory.free_pages[which]);
  return piece != NULL ? piece : toft_alloc(memory.pages, size);
}

/* ---- small pieces ---- */

static void *small_take(size_t size) {
  void *piece = pop(&memory.recent[(size + 7) / 8]);
  return piece != NULL ? piece : toft_recycler_alloc(&memory.rest, size, 8);
}

static void small_give(void *piece, size_t size) {
  struct list *recent = &memory.recent[(size + 7) / 8];
  if (recent->count < RECENT_MAX)
    push(recent, piece);
  else
    toft_recycler_free(&memory.rest, piece, size);
}

/* ---- SQLite's methods. It has checked what it hands over: no size is below 1, nor near INT_MAX ---- */

static void *take(int n) {
  size_t size = (size_t)n + HEAD;
  int which;
  if (size <= SMALL) return with_head(small_take(size), size);
  which = page_of(size);
  return with_head(which < 0 ? toft_recycler_alloc(&memory.rest, size, 8) : page_take(which, size), size);
}

static void give(void *p) {
  void *piece = (char *)p - HEAD;
  size_t size = held(p);
  int which;
  if (size <= SMALL)
    small_give(piece, size);
  else if ((which = page_of(size)) < 0)
    toft_recycler_free(&memory.rest, piece, size);
  else
    push(&memory.free_pages[which], piece);
}

static void *resize(void *p, int n) {
  size_t was = held(p), size = (size_t)n + HEAD;
  void *q;
  if (size == was) return p;
  if (page_of(was) < 0 && page_of(size) < 0)
    return with_head(toft_recycler_resize(&memory.rest, (char *)p - HEAD, was, size, 8), size);
  if ((q = take(n)) == NULL) return NULL;
  memcpy(q, p, (size < was ? size : was) - HEAD);
  give(p);
  return q;
}

static int size_of(void *p) { return p != NULL ? (int)(held(p) - HEAD) : 0; }

static int rounded(int n) { return (n + 7) & ~7; }

static int start(void *unused) {
  toft_options pages = TOFT_OPTIONS;
  toft_recycler_options rest = TOFT_RECYCLER_OPTIONS;
  (void)unused;
  pages.source = rest.source = memory.source;
  memory.pages = toft_create_with(&pages);
  if (memory.pages == NULL) return SQLITE_NOMEM;
  memset(memory.free_pages, 0, sizeof memory.free_pages);
  memset(memory.recent, 0, sizeof memory.recent);
  return toft_recycler_init(&memory.rest, &rest) == TOFT_OK ? SQLITE_OK : SQLITE_NOMEM;
}

static void stop(void *unused) {
  (void)unused;
  toft_recycler_release(&memory.rest);
  toft_release(memory.pages);
  memory.pages = NULL;
}

/* ---- for the program ---- */

int sqlite_toft_install(toft_source *source) {
  sqlite3_mem_methods methods = {take, give, resize, size_of, rounded, start, stop, NULL};
  int code = sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
  if (code != SQLITE_OK) return code;
  memory.source = source;
  return sqlite3_config(SQLITE_CONFIG_PCACHE_HDRSZ, &memory.page_head);
}

size_t sqlite_toft_held(void) {
  if (memory.pages == NULL) return 0;
  return (size_t)(toft_stats_of(memory.pages).reserved + toft_recycler_stats_of(&memory.rest).reserved);
}

void sqlite_toft_trim(size_t keep) {
  if (memory.pages == NULL) return;
  for (size_t k = 0; k <= SMALL / 8; k++)
    for (void *piece; (piece = pop(&memory.recent[k])) != NULL;) toft_recycler_free(&memory.rest, piece, 8 * k);
  toft_recycler_trim(&memory.rest, keep);
}
