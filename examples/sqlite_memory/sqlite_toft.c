/* The page cache's pages are all of one size, and stay; what else SQLite asks for, sorters' records and statements,
 * comes and goes. Together they leave holes in each other's blocks. So pages lie in an arena, and those that are free
 * in a list; all else is a recycler's, whose blocks come back. In front of each piece is its size, which SQLite asks
 * for, and the recycler too: as SQLite's own allocator has it.
 *
 * Neither can use what the other keeps. So what the recycler keeps goes back before the arena grows much, and after a
 * sorter's buffer; and the arena when its last page is free, as all are when the last database is closed. Blocks are of
 * the system's small pages: what of a block was never touched takes no memory.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "sqlite_toft.h"

#include <sqlite3.h>
#include <string.h>

enum { HEAD = 8, SMALLEST_PAGE = 512, LARGEST_PAGE = 65536, PAGE_SIZES = 8 };
enum { NEW_PAGES = 64 }; /* the recycler is trimmed before so many new pages */
enum { LARGE = 65536 };  /* with the head; freed seldom, by sorters and by connections */

static struct {
  toft_source *source;
  toft_page_source small_pages; /* the source, if there is no other */
  int started;
  int page_head;     /* what the page cache adds to a page */
  toft_arena *pages; /* NULL: none is in use */
  size_t pages_used, pages_new;
  void *free_pages[PAGE_SIZES]; /* of each size; each starts with the address of the next */
  toft_recycler rest;
} memory;

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

static void *page_new(size_t size) {
  toft_options options = TOFT_OPTIONS;
  options.source = memory.source;
  if (memory.pages_new++ % NEW_PAGES == 0) sqlite_toft_trim(0);
  if (memory.pages == NULL) memory.pages = toft_create_with(&options);
  return memory.pages != NULL ? toft_alloc(memory.pages, size) : NULL;
}

static void *page_take(int which, size_t size) {
  void *piece = memory.free_pages[which];
  if (piece != NULL)
    memcpy(&memory.free_pages[which], piece, sizeof piece);
  else
    piece = page_new(size);
  if (piece != NULL) memory.pages_used++;
  return piece;
}

static void pages_leave(void) {
  toft_release(memory.pages);
  memory.pages = NULL;
  memory.pages_used = memory.pages_new = 0;
  memset(memory.free_pages, 0, sizeof memory.free_pages);
}

static void page_give(int which, void *piece) {
  memcpy(piece, &memory.free_pages[which], sizeof piece);
  memory.free_pages[which] = piece;
  if (--memory.pages_used == 0) pages_leave();
}

/* ---- all else ---- */

static void rest_give(void *piece, size_t size) {
  toft_recycler_free(&memory.rest, piece, size);
  if (size > LARGE) sqlite_toft_trim(0);
}

/* ---- SQLite's methods. It has checked what it hands over: no size is below 1, nor near INT_MAX ---- */

static void *take(int n) {
  size_t size = (size_t)n + HEAD;
  int which = page_of(size);
  return with_head(which < 0 ? toft_recycler_alloc(&memory.rest, size, 8) : page_take(which, size), size);
}

static void give(void *p) {
  void *piece = (char *)p - HEAD;
  size_t size = held(p);
  int which = page_of(size);
  if (which < 0)
    rest_give(piece, size);
  else
    page_give(which, piece);
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
  toft_recycler_options rest = TOFT_RECYCLER_OPTIONS;
  (void)unused;
  rest.source = memory.source;
  if (toft_recycler_init(&memory.rest, &rest) != TOFT_OK) return SQLITE_NOMEM;
  memory.started = 1;
  return SQLITE_OK;
}

static void stop(void *unused) {
  (void)unused;
  toft_recycler_release(&memory.rest);
  pages_leave();
  memory.started = 0;
}

/* ---- for the program ---- */

int sqlite_toft_install(toft_source *source) {
  sqlite3_mem_methods methods = {take, give, resize, size_of, rounded, start, stop, NULL};
  int code = sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
  if (code != SQLITE_OK) return code;
  memory.source = source != NULL ? source : toft_page_source_init(&memory.small_pages, 0);
  return sqlite3_config(SQLITE_CONFIG_PCACHE_HDRSZ, &memory.page_head);
}

size_t sqlite_toft_held(void) {
  size_t pages = memory.pages != NULL ? (size_t)toft_get_stats(memory.pages).reserved : 0;
  return memory.started ? pages + (size_t)toft_recycler_get_stats(&memory.rest).reserved : 0;
}

void sqlite_toft_trim(size_t keep) {
  if (!memory.started) return;
  toft_recycler_trim(&memory.rest, keep);
}
