/* Serves requests by Lua, each from the same state of the interpreter:
 *     warm REQUESTS WORKERS
 * A request changes globals, tables of the library and the data. The state is a new one for each request, one that a
 * region restores, or one for all requests, which is not isolated. Prints a line for each way: its name, and the
 * microseconds of a request, the least and the mean. Ends with 1 if an isolated request gets a wrong result, in this
 * process or in a forked worker, or if restores make the process grow.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <lauxlib.h>
#include <lualib.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <toft.h>
#include <unistd.h>

/* ---- the application ---- */

static const char application[] =
    "routes = {}\n"
    "for i = 1, 2000 do\n"
    "  routes['/r' .. i] = { id = i, name = 'route' .. i, serve = function(x) return x + i end }\n"
    "end\n"
    "words, hits = {}, 0\n"
    "for word in (('lorem ipsum dolor sit amet '):rep(400)):gmatch('%a+') do words[#words + 1] = word end\n";

static const char request[] =
    "hits = hits + 1\n"
    "routes['/r7'].name = 'changed' .. hits\n"
    "string.x = hits\n"
    "local parts = {}\n"
    "for i = 1, 50 do parts[i] = tostring(i) .. words[i] end\n"
    "return hits + routes['/r9'].serve(1) + #table.concat(parts)\n";

static long long expected; /* of a request, from a new state */

static void fail(const char *what) {
  fprintf(stderr, "warm: %s\n", what);
  exit(1);
}

static lua_State *start(lua_State *L) {
  if (L == NULL) fail("no memory for a state");
  luaL_openlibs(L);
  if (luaL_dostring(L, application)) fail(lua_tostring(L, -1));
  lua_gc(L, LUA_GCCOLLECT);
  return L;
}

static long long serve(lua_State *L) {
  if (luaL_dostring(L, request)) fail(lua_tostring(L, -1));
  long long result = lua_tointeger(L, -1);
  lua_settop(L, 0);
  return result;
}

/* ---- memory ---- */

static void *on_toft(void *memory, void *p, size_t old_size, size_t size) {
  (void)old_size;
  if (size != 0) return toft_malloc_realloc(memory, p, size);
  toft_malloc_free(memory, p);
  return NULL;
}

static toft_region *region_with_state(uint32_t flags) {
  toft_region_options o = TOFT_REGION_OPTIONS;
  o.flags = flags;
  toft_region *r = toft_region_create(&o);
  if (r == NULL) return NULL;
  toft_region_set_root(r, start(lua_newstate(on_toft, toft_region_malloc(r))));
  if (toft_region_checkpoint(r) == TOFT_OK) return r;
  toft_region_release(r);
  return NULL;
}

/* ---- ways to serve a request ---- */

static toft_region *copied, *mapped;
static lua_State *shared;

static long long with_a_new_state(void) {
  lua_State *L = start(luaL_newstate());
  long long result = serve(L);
  lua_close(L);
  return result;
}

static long long with_a_new_state_on_toft(void) {
  toft_malloc memory;
  toft_malloc_init(&memory, NULL);
  long long result = serve(start(lua_newstate(on_toft, &memory)));
  toft_malloc_release(&memory);
  return result;
}

static long long restored(toft_region *r) {
  long long result = serve((lua_State *)toft_region_root(r));
  if (toft_region_restore(r) != TOFT_OK) fail("a restore is refused");
  return result;
}

static long long restored_by_copying(void) { return restored(copied); }
static long long restored_by_pages(void) { return restored(mapped); }
static long long with_one_state(void) { return serve(shared); }

static const struct way {
  const char *name;
  long long (*serve)(void);
  int isolated, restored;
} ways[] = {{"a new state, malloc", with_a_new_state, 1, 0},
            {"a new state, toft_malloc", with_a_new_state_on_toft, 1, 0},
            {"restored by copying", restored_by_copying, 1, 1},
            {"restored by private pages", restored_by_pages, 1, 1},
            {"one state for all", with_one_state, 0, 0}};

/* ---- measuring ---- */

static double microseconds(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static long resident_kib(void) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f == NULL || fscanf(f, "%*s %ld", &pages) != 1) fail("/proc/self/statm");
  fclose(f);
  return pages * 4;
}

static int measure(const struct way *w, long requests) {
  double least = 1e9, sum = 0;
  int wrong = 0;
  long before = 0;
  for (long i = 0; i < requests; i++) {
    if (i == requests / 2) before = resident_kib();
    double begin = microseconds();
    long long result = w->serve();
    double time = microseconds() - begin;
    wrong |= w->isolated && result != expected;
    least = time < least ? time : least;
    sum += time;
  }
  long grown = resident_kib() - before;
  printf("%-28s%10.0f%10.0f%12ld\n", w->name, least, sum / (double)requests, grown);
  fflush(stdout);
  if (wrong) fprintf(stderr, "warm: %s: a wrong result\n", w->name);
  int grows = w->restored && grown > 2048;
  if (grows) fprintf(stderr, "warm: %s: %ld KiB more than half way\n", w->name, grown);
  return wrong || grows;
}

/* Forked processes with the same regions. Returns how many got a wrong result. */
static int serve_in_workers(int workers, long requests) {
  int failed = 0, status;
  for (int k = 0; k < workers; k++) {
    pid_t worker = fork();
    if (worker < 0) fail("no process");
    if (worker != 0) continue;
    for (long i = 0; i < requests; i++)
      if (restored_by_copying() != expected || (mapped != NULL && restored_by_pages() != expected)) _exit(1);
    _exit(0);
  }
  while (wait(&status) > 0) failed += status != 0;
  return failed;
}

int main(int argc, char **argv) {
  long requests = argc == 3 ? atol(argv[1]) : 0;
  if (requests < 2) fail("expected: warm REQUESTS WORKERS");
  copied = region_with_state(0);
  mapped = region_with_state(TOFT_REGION_PRIVATE_PAGES); /* NULL where the system has no files in memory */
  if (copied == NULL) fail("no memory for a region");
  shared = start(luaL_newstate());
  expected = with_a_new_state();
  int failed = 0;
  printf("%-28s%10s%10s%12s\n", "us a request", "least", "mean", "KiB grown");
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    if (ways[i].serve != restored_by_pages || mapped != NULL)
      failed |=
          measure(&ways[i], ways[i].isolated && !ways[i].restored && requests > 200 ? requests / 20 + 10 : requests);
  int wrong = serve_in_workers(atoi(argv[2]), requests);
  printf("%s forked workers: %ld requests each, %d with a wrong result\n", argv[2], requests, wrong);
  toft_region_stats s = toft_region_get_stats(copied);
  printf("a region holds %lu KiB, its checkpoint %lu KiB\n", (unsigned long)(s.used / 1024),
         (unsigned long)(s.saved / 1024));
  lua_close(shared);
  toft_region_release(copied);
  toft_region_release(mapped);
  return failed || wrong != 0;
}
