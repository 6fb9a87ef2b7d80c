/* A host whose plugin builds its results in the host's arena: host PLUGIN. The plugin answers 100 queries, and the host
 * compares each address. -DTWO_HEAPS: the host is linked with mimalloc, and the plugin's malloc is that of glibc.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "query.h"

#include <stdio.h>
#include <toft.h>

#ifdef _WIN32
#include <windows.h>
static void *library(const char *path) { return (void *)LoadLibraryA(path); }
static void *function(void *library, const char *name) {
  return (void *)(uintptr_t)GetProcAddress((HMODULE)library, name);
}
#else
#include <dlfcn.h>
#ifdef TWO_HEAPS
enum { LOCAL = RTLD_LOCAL | RTLD_DEEPBIND }; /* the plugin calls the malloc of its own libc, not that of the process */
#else
enum { LOCAL = RTLD_LOCAL };
#endif
static void *library(const char *path) { return dlopen(path, RTLD_NOW | LOCAL); }
static void *function(void *library, const char *name) { return dlsym(library, name); }
#endif

#ifdef TWO_HEAPS
#include <malloc.h>
#include <stdbool.h>
bool mi_is_in_heap_region(const void *p); /* of mimalloc */
static int is_mine(const void *p) { return mi_is_in_heap_region(p); }
static size_t plugin_holds(void) { return mallinfo2().uordblks; }
enum { HEAPS = 2 };
#else
static int is_mine(const void *p) { return p != NULL; }
static size_t plugin_holds(void) { return 0; }
enum { HEAPS = 1 };
#endif

enum { ROUNDS = 100, ROWS = 1000 };

/* In the arena, and that in the host's heap. */
static int is_ours(const toft_arena *a, const void *p) { return toft_contains(a, p) && is_mine(p); }

static int are_ours(const toft_arena *a, const row *r) {
  int64_t id = ROWS;
  for (; r != NULL; r = r->next)
    if (r->id != --id || !is_ours(a, r) || !is_ours(a, r->name) || !is_ours(a, r->value)) return 0;
  return id == 0;
}

/* Whether the answers leave no byte in the plugin's heap. */
static int answers(toft_arena *a, plugin_query *query) {
  size_t held = 0;
  for (int round = 0; round < ROUNDS; round++) {
    int good = are_ours(a, query(a, ROWS));
    if (toft_reset(a) != TOFT_OK || !good) return 0;
    if (round == 0) held = plugin_holds(); /* what its libc keeps for itself */
  }
  return plugin_holds() == held && (held > 0) == (HEAPS == 2);
}

int main(int argc, char **argv) {
  size_t before = plugin_holds();
  void *plugin = argc == 2 ? library(argv[1]) : NULL;
  plugin_query *query = plugin != NULL ? (plugin_query *)function(plugin, "query") : NULL;
  toft_arena *a = toft_create();
  int good = before == 0 && query != NULL && a != NULL && answers(a, query);
  toft_release(a);
  puts(good ? "0 bytes crossed a heap" : "FAILED");
  return !good;
}
