/* lua_toft.c: the same results as on malloc, Lua's rules for an allocator, and out-of-memory at every point.
 * TOFT_STEP in the environment: the distance of requests that fail in turn; 1 if it is not set.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>

#include "../counted.h"
#include "../measure.h"
#include "lua_toft.h"

static const char *const script =
    "local out = {}\n"
    "local function tree(d) if d == 0 then return {} end return { tree(d - 1), tree(d - 1) } end\n"
    "for i = 1, 20 do out[#out + 1] = #tree(6) end\n"
    "local words = {}\n"
    "for w in (('a plot of land and '):rep(50)):gmatch('%a+') do words[w] = (words[w] or 0) + 1 end\n"
    "local keys = {}\n"
    "for w in pairs(words) do keys[#keys + 1] = w end\n"
    "table.sort(keys)\n"
    "for _, w in ipairs(keys) do out[#out + 1] = w .. words[w] end\n"
    "local adders = {}\n"
    "for i = 1, 100 do adders[i] = function(n) i = i + n return i end end\n"
    "local sum = 0\n"
    "for i, add in ipairs(adders) do sum = sum + add(i) end\n"
    "out[#out + 1] = sum\n"
    "local big = ('x'):rep(100000)\n"
    "out[#out + 1] = #(big .. big:upper())\n"
    "local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)\n"
    "out[#out + 1] = co() + co()\n"
    "local many = {}\n"
    "for i = 1, 5000 do many[i] = tostring(i) end\n"
    "out[#out + 1] = #table.concat(many)\n"
    "many = nil\n"
    "collectgarbage()\n"
    "setmetatable({}, { __gc = function() finalized = (finalized or 0) + 1 end })\n"
    "collectgarbage()\n"
    "out[#out + 1] = finalized\n"
    "setmetatable({}, { __gc = function() at_the_end(('y'):rep(100):upper()) end })\n"
    "return table.concat(out, ' ')\n";

/* Wraps an allocator. */
struct wrapper {
  lua_Alloc alloc;
  void *ud;
  unsigned long requests, refuse; /* refuse: the number of the request that fails; 0: none */
};

static void *pass(void *ud, void *p, size_t old_size, size_t size) {
  struct wrapper *d = (struct wrapper *)ud;
  if (size != 0 && ++d->requests == d->refuse) return NULL;
  return d->alloc(d->ud, p, old_size, size);
}

static void *heap(void *ud, void *p, size_t old_size, size_t size) {
  (void)ud;
  (void)old_size;
  if (size != 0) return realloc(p, size);
  free(p);
  return NULL;
}

static int ended;

static int at_the_end(lua_State *L) {
  assert_string_equal(lua_tostring(L, 1) + 95, "YYYYY");
  ended++;
  return 0;
}

static int play(lua_State *L) {
  luaL_openlibs(L);
  lua_register(L, "at_the_end", at_the_end);
  if (luaL_loadstring(L, script) != LUA_OK) return lua_error(L);
  lua_call(L, 0, 1);
  return 1;
}

/* Returns LUA_OK and the hash of the result, or LUA_ERRMEM. */
static int run(lua_State *L, int generational, uint64_t *hash) {
  int code;
  if (generational)
    lua_gc(L, LUA_GCGEN, 0, 0);
  else
    lua_gc(L, LUA_GCINC, 0, 0, 0);
  lua_pushcfunction(L, play);
  code = lua_pcall(L, 0, 1, 0);
  if (code == LUA_OK) {
    size_t size;
    const char *said = lua_tolstring(L, -1, &size);
    assert_non_null(said);
    *hash = hash_bytes(HASH_START, said, size);
  } else {
    assert_int_equal(code, LUA_ERRMEM);
    assert_string_equal(lua_tostring(L, -1), "not enough memory");
  }
  return code;
}

static uint64_t on_malloc(int generational, unsigned long *requests) {
  struct wrapper d = {heap, NULL, 0, 0};
  lua_State *L = lua_newstate(pass, &d);
  uint64_t hash = 0;
  assert_non_null(L);
  assert_int_equal(run(L, generational, &hash), LUA_OK);
  lua_close(L);
  *requests = d.requests;
  return hash;
}

static void all_blocks_were_returned(void) { assert_int_equal(counts.held, 0); }

static lua_State *begin(lua_toft *memory) {
  memset(&counts, 0, sizeof counts);
  return lua_toft_open(memory, counted_source());
}

static void the_same_as_on_malloc(void **state) {
  (void)state;
  for (int round = 0; round < 4; round++) {
    lua_toft memory;
    unsigned long requests;
    uint64_t hash = 0, expected = on_malloc(round % 2, &requests);
    lua_State *L = begin(&memory);
    assert_non_null(L);
    ended = 0;
    assert_int_equal(run(L, round % 2, &hash), LUA_OK);
    assert_true(hash == expected);
    assert_true(counts.calls * 100 < requests); /* blocks serve 99 of 100 requests */
    if (round < 2) {                            /* the fast close, and the slow one: both run finalizers */
      lua_toft_close(&memory, L);
    } else {
      lua_close(L);
      assert_int_equal(toft_recycler_get_stats(&memory.recycler).used, 0); /* Lua freed all its memory, to the byte */
      toft_recycler_release(&memory.recycler);
    }
    assert_int_equal(ended, 1);
    all_blocks_were_returned();
  }
}

static unsigned long step(void) {
  const char *text = getenv("TOFT_STEP");
  return text != NULL && atol(text) > 0 ? (unsigned long)atol(text) : 1;
}

static void *large_fail(void *ud, void *p, size_t old_size, size_t size) {
  struct wrapper *d = (struct wrapper *)ud;
  if (size > 1000000 && size < SIZE_MAX / 2 && ++d->requests != 0) return NULL;
  return d->alloc(d->ud, p, old_size, size);
}

static void one_request_fails(void **state) {
  unsigned long requests;
  uint64_t expected = on_malloc(0, &requests);
  (void)state;
  for (unsigned long k = 1; k <= requests; k += step()) {
    lua_toft memory;
    struct wrapper d = {lua_toft_alloc, &memory, 0, k};
    lua_State *L = begin(&memory);
    uint64_t hash = 0;
    assert_non_null(L);
    lua_setallocf(L, pass, &d);
    if (run(L, 0, &hash) == LUA_OK) assert_true(hash == expected);
    d.refuse = 0;
    lua_toft_close(&memory, L);
    all_blocks_were_returned();
  }
}

/* How often one request is refused before the script fails. */
static unsigned long refusals(const char *program) {
  lua_toft memory;
  struct wrapper d = {lua_toft_alloc, &memory, 0, 0};
  lua_State *L = begin(&memory);
  luaL_openlibs(L);
  assert_int_equal(luaL_loadstring(L, program), LUA_OK);
  lua_setallocf(L, large_fail, &d);
  assert_int_equal(lua_pcall(L, 0, 0, 0), LUA_ERRMEM);
  lua_toft_close(&memory, L);
  return d.requests;
}

/* As docs/library-hooks.md states it. */
static void tries_after_a_refusal(void **state) {
  (void)state;
  assert_int_equal(refusals("local s = ('x'):rep(600000) s = s .. s"), 2);
  assert_int_equal(refusals("return ('x'):rep(2000000)"), 1);
}

static void no_block_to_be_had(void **state) {
  unsigned long requests;
  unsigned long long k = 1;
  uint64_t expected = on_malloc(0, &requests);
  (void)state;
  for (;; k++) {
    lua_toft memory;
    uint64_t hash = 0;
    lua_State *L;
    int code;
    memset(&counts, 0, sizeof counts);
    counts.refuse = k;
    L = lua_toft_open(&memory, counted_source());
    if (L == NULL) {
      all_blocks_were_returned();
      continue;
    }
    code = run(L, 0, &hash);
    if (code == LUA_OK) assert_true(hash == expected);
    lua_toft_close(&memory, L);
    all_blocks_were_returned();
    if (code == LUA_OK) break;
  }
  assert_true(k > 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_as_on_malloc),
      cmocka_unit_test(one_request_fails),
      cmocka_unit_test(no_block_to_be_had),
      cmocka_unit_test(tries_after_a_refusal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
