/* Runs a script in a new Lua state, round after round:
 *     lua_script [--toft [--count] | --toft-heap] incremental|generational SCRIPT ROUNDS FILE...
 * The script gets two tables: the texts of the files that end in .json, and of the others; and a function to
 * call when a part of it is done. Its result is hashed. Prints what ../programs.py reads. --count: instead of
 * times, the numbers of Lua's requests and of Toft's calls of its source.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <lauxlib.h>
#include <lualib.h>

#include "../counted.h"
#include "../measure.h"
#include "lua_toft.h"

enum { SCRIPT_PARTS = 4, PARTS = SCRIPT_PARTS + 2 };

static uint64_t at[PARTS + 1];
static int parts;
static unsigned long long requests;

static void fail(const char *what) {
  fprintf(stderr, "lua_script: %s\n", what);
  exit(1);
}

/* ---- memory ---- */

static void *on_malloc(void *ud, void *p, size_t old_size, size_t size) {
  (void)ud;
  (void)old_size;
  if (size != 0) return realloc(p, size);
  free(p);
  return NULL;
}

static void *counted(void *ud, void *p, size_t old_size, size_t size) {
  requests += size != 0;
  return lua_toft_alloc(ud, p, old_size, size);
}

/* ---- a round ---- */

static int part(lua_State *L) {
  if (parts == SCRIPT_PARTS + 1) return luaL_error(L, "more than %d parts", SCRIPT_PARTS);
  at[++parts] = now();
  return 0;
}

struct text {
  const char *path;
  char *text;
  size_t size;
};

static int is_json(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot != NULL && strcmp(dot, ".json") == 0;
}

static void push_texts(lua_State *L, const struct text *files, int count, int json) {
  lua_newtable(L);
  for (int i = 0, n = 0; i < count; i++) {
    if (is_json(files[i].path) != json) continue;
    lua_pushlstring(L, files[i].text, files[i].size);
    lua_rawseti(L, -2, ++n);
  }
}

/* The part that can raise an error. */
static int play(lua_State *L) {
  const char *script = (const char *)lua_touserdata(L, 1);
  const struct text *files = (const struct text *)lua_touserdata(L, 2);
  int count = (int)lua_tointeger(L, 3);
  luaL_openlibs(L);
  if (luaL_loadbuffer(L, script, strlen(script), "=script") != LUA_OK) return lua_error(L);
  push_texts(L, files, count, 1);
  push_texts(L, files, count, 0);
  lua_pushcfunction(L, part);
  lua_call(L, 3, 1);
  return 1;
}

static uint64_t round_of(lua_toft *memory, toft_source *source, int counting, int generational, const char *script,
                         struct text *files, int count, uint64_t *took) {
  const char *said;
  size_t size;
  uint64_t hash;
  lua_State *L;
  at[0] = now();
  L = memory != NULL ? lua_toft_open(memory, source) : lua_newstate(on_malloc, NULL);
  if (L == NULL) fail("no memory for a state");
  if (counting) lua_setallocf(L, counted, memory);
  if (generational)
    lua_gc(L, LUA_GCGEN, 0, 0);
  else
    lua_gc(L, LUA_GCINC, 0, 0, 0);
  parts = 0;
  lua_pushcfunction(L, play);
  lua_pushlightuserdata(L, (void *)script);
  lua_pushlightuserdata(L, files);
  lua_pushinteger(L, count);
  if (lua_pcall(L, 3, 1, 0) != LUA_OK) fail(lua_tostring(L, -1));
  if ((said = lua_tolstring(L, -1, &size)) == NULL || parts != SCRIPT_PARTS)
    fail("the script returned no string, or lacks a part");
  hash = hash_bytes(HASH_START, said, size);
  at[++parts] = now();
  if (memory != NULL)
    lua_toft_close(memory, L);
  else
    lua_close(L);
  at[++parts] = now();
  for (int i = 0; i < PARTS; i++) took[i] = at[i + 1] - at[i];
  return hash;
}

int main(int argc, char **argv) {
  int heap = argc > 1 && strcmp(argv[1], "--toft-heap") == 0;
  int toft = heap || (argc > 1 && strcmp(argv[1], "--toft") == 0);
  int counting = toft && argc > 2 && strcmp(argv[2], "--count") == 0;
  char **a = argv + 1 + toft + counting, *script;
  int count = argc - 4 - toft - counting, rounds = count > 0 ? atoi(a[2]) : 0;
  struct text *files;
  uint64_t first = 0;
  lua_toft memory;
  toft_source *source = counting ? counted_source() : heap ? toft_heap() : NULL;
  if (rounds < 1) {
    fprintf(stderr,
            "usage: lua_script [--toft [--count] | --toft-heap] incremental|generational SCRIPT ROUNDS FILE...\n");
    return 2;
  }
  if ((script = load(a[1], NULL)) == NULL) fail(a[1]);
  if ((files = (struct text *)calloc((size_t)count, sizeof *files)) == NULL) fail("no memory");
  for (int i = 0; i < count; i++) {
    files[i].path = a[3 + i];
    if ((files[i].text = load(a[3 + i], &files[i].size)) == NULL) fail(a[3 + i]);
  }
  if (!counting) print_parts("documents words trees objects answer close");
  for (int i = 0; i < rounds; i++) {
    uint64_t took[PARTS], hash;
    struct meter m = meter_begin();
    hash = round_of(toft ? &memory : NULL, source, counting, strcmp(a[0], "generational") == 0, script, files, count,
                    took);
    if (!counting) meter_end(&m, took, PARTS);
    if (i == 0) first = hash;
    if (hash != first) fail("two rounds found different things");
  }
  if (counting)
    print_counts(requests);
  else
    print_total(first);
  for (int i = 0; i < count; i++) free(files[i].text);
  free(files);
  free(script);
  return 0;
}
