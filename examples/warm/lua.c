/* Lua 5.4, by the allocator function of its states.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <lauxlib.h>
#include <lualib.h>

#include "warm.h"

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

static void *on_toft(void *memory, void *p, size_t old_size, size_t size) {
  (void)old_size;
  if (size != 0) return toft_malloc_realloc(memory, p, size);
  toft_malloc_free(memory, p);
  return NULL;
}

static void *start(toft_malloc *memory) {
  lua_State *L = memory != NULL ? lua_newstate(on_toft, memory) : luaL_newstate();
  if (L == NULL) fail("no memory for a state");
  luaL_openlibs(L);
  if (luaL_dostring(L, application)) fail(lua_tostring(L, -1));
  lua_gc(L, LUA_GCCOLLECT);
  return L;
}

static long long serve(void *state) {
  lua_State *L = (lua_State *)state;
  if (luaL_dostring(L, request)) fail(lua_tostring(L, -1));
  long long result = lua_tointeger(L, -1);
  lua_settop(L, 0);
  return result;
}

static void end(void *state) { lua_close((lua_State *)state); }

const interpreter lua = {"Lua", start, serve, end};
