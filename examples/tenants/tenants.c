/* Serves requests of several tenants, each with a Lua state of its own on its own thread, under limits:
 *     tenants TENANTS REQUESTS
 * The process has a budget, and each tenant one below it. Lua allocates by a toft_malloc within the tenant's budget, and
 * a cache of results is an arena within it, which is given up when a request is refused. The first tenant is greedy: each
 * tenth request of it takes memory until it is refused. Prints for each tenant what was served and refused. Ends
 * with 1 if a result is wrong, a request of another tenant is refused, or more is reserved than the limit allows, as
 * the source under the budgets counts it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <toft.h>

#define MIB ((size_t)1 << 20)
#define TENANTS_MAX 64

static void fail(const char *what) {
  fprintf(stderr, "tenants: %s\n", what);
  exit(1);
}

/* ---- the source of all blocks, which counts for itself ---- */

static atomic_size_t reserved, most_reserved;

static void *counted_take(toft_source *self, size_t size) {
  void *block = toft_heap()->take(toft_heap(), size);
  (void)self;
  if (block == NULL) return NULL;
  size_t now = atomic_fetch_add(&reserved, size) + size, most = atomic_load(&most_reserved);
  while (now > most && !atomic_compare_exchange_weak(&most_reserved, &most, now)) continue;
  return block;
}

/* A block is given back first, and then counted: the budgets do the same. */
static void counted_put(toft_source *self, void *block, size_t size) {
  (void)self;
  atomic_fetch_sub(&reserved, size);
  toft_heap()->put(toft_heap(), block, size);
}

static toft_source counted = {counted_take, counted_put, NULL};

/* ---- a tenant ---- */

typedef struct tenant {
  char name[24];
  int greedy, requests;
  toft_budget *budget;
  toft_malloc memory; /* of the Lua state */
  toft_arena *cache;  /* copies of results */
  int served, refused, cached, dropped, wrong;
  pthread_t thread;
} tenant;

static toft_arena *new_cache(toft_budget *b) {
  toft_options o = TOFT_OPTIONS;
  o.source = toft_budget_source(b);
  return toft_create_with(&o);
}

/* The limit of the tenant refuses a request of Lua: its cache is worth less. */
static int drop_cache(void *arg, toft_budget *b, size_t size) {
  tenant *t = (tenant *)arg;
  (void)b, (void)size;
  if (t->cache == NULL) return 0;
  toft_release(t->cache);
  t->cache = NULL;
  t->dropped++;
  return 1;
}

static void *on_toft(void *memory, void *p, size_t old_size, size_t size) {
  (void)old_size;
  if (size != 0) return toft_malloc_realloc(memory, p, size);
  toft_malloc_free(memory, p);
  return NULL;
}

static const char request[] =
    "local words = {}\n"
    "for i = 1, 500 do words[i] = 'word ' .. i end\n"
    "return table.concat(words, ' ')\n";
static const char greedy_request[] = "local all = {} while true do all[#all + 1] = ('x'):rep(10000) .. #all end\n";

/* Returns whether the request was served; then the result has been compared and cached. */
static int serve(tenant *t, lua_State *L, const char *source) {
  size_t length;
  int served = luaL_dostring(L, source) == LUA_OK;
  if (served) {
    const char *result = lua_tolstring(L, -1, &length);
    t->wrong += result == NULL || length != 4391;
    if (t->cache == NULL) t->cache = new_cache(t->budget);
    if (t->cache != NULL && toft_get_stats(t->cache).live > MIB) toft_reset(t->cache);
    if (t->cache != NULL) t->cached += toft_strndup(t->cache, result, length) != NULL;
  } else {
    lua_settop(L, 0);
    lua_gc(L, LUA_GCCOLLECT);
  }
  lua_settop(L, 0);
  return served;
}

static void *run(void *arg) {
  tenant *t = (tenant *)arg;
  toft_malloc_init(&t->memory, toft_budget_source(t->budget));
  lua_State *L = lua_newstate(on_toft, &t->memory);
  if (L == NULL) fail("no memory for a state");
  luaL_openlibs(L);
  for (int i = 0; i < t->requests; i++) {
    int served = serve(t, L, t->greedy && i % 10 == 0 ? greedy_request : request);
    t->served += served;
    t->refused += !served;
  }
  lua_close(L);
  toft_malloc_release(&t->memory);
  toft_release(t->cache);
  return NULL;
}

/* ---- the process ---- */

int main(int argc, char **argv) {
  static tenant tenants[TENANTS_MAX];
  int count = argc == 3 ? atoi(argv[1]) : 0, requests = argc == 3 ? atoi(argv[2]) : 0, wrong = 0;
  if (count < 1 || count > TENANTS_MAX || requests < 1) fail("usage: tenants TENANTS REQUESTS");
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.name = "process";
  o.limit = ((size_t)count * 3 + 1) * MIB; /* what the others need, and the greedy one may have */
  o.source = &counted;
  toft_budget *process = toft_budget_create(&o);
  if (process == NULL) fail("no memory for a budget");
  size_t limit = o.limit;
  for (int i = 0; i < count; i++) {
    tenant *t = &tenants[i];
    snprintf(t->name, sizeof t->name, "tenant %d", i);
    t->greedy = i == 0;
    t->requests = requests;
    toft_budget_options of_tenant = TOFT_BUDGET_OPTIONS;
    of_tenant.name = t->name;
    of_tenant.parent = process;
    of_tenant.limit = 4 * MIB;
    of_tenant.refused = drop_cache;
    of_tenant.refused_arg = t;
    t->budget = toft_budget_create(&of_tenant);
    if (t->budget == NULL || pthread_create(&t->thread, NULL, run, t) != 0) fail("no memory for a tenant");
  }
  printf("tenant        served  refused  cached  caches dropped  peak, MiB of 4\n");
  for (int i = 0; i < count; i++) {
    tenant *t = &tenants[i];
    pthread_join(t->thread, NULL);
    toft_budget_stats s = toft_budget_get_stats(t->budget);
    printf("%-12s %7d %8d %7d %15d  %.2f%s\n", t->name, t->served, t->refused, t->cached, t->dropped,
           (double)s.peak / (double)MIB, t->greedy ? "  greedy" : "");
    wrong += t->wrong + (t->greedy ? t->refused != (requests + 9) / 10 : t->refused);
    wrong += s.reserved != 0 || toft_budget_release(t->budget) != TOFT_OK;
  }
  toft_budget_stats s = toft_budget_get_stats(process);
  size_t most = atomic_load(&most_reserved);
  printf("process: peak %.2f MiB of %.0f; counted below it: %.2f\n", (double)s.peak / (double)MIB,
         (double)limit / (double)MIB, (double)most / (double)MIB);
  wrong += most > limit || atomic_load(&reserved) != 0 || toft_budget_release(process) != TOFT_OK;
  if (wrong != 0) fail("a result is wrong, a request was refused, or a limit was exceeded");
  return 0;
}
