/* A Lua state on Toft, for your own program: copy this pair. README.md says why it is as it is.
 *
 *     lua_toft memory;
 *     lua_State *L = lua_toft_open(&memory, NULL);
 *     ...
 *     lua_toft_close(&memory, L);
 *
 * A state belongs to one thread at a time, and so does its memory.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef LUA_TOFT_H
#define LUA_TOFT_H

#include <lua.h>
#include "toft.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lua_toft {
  toft_recycler recycler;
  toft_page_source pages; /* its source, if there is no other */
  int closing;
} lua_toft;

/* A new state, without libraries, as lua_newstate makes it: set lua_atpanic if errors can reach it. All that it
 * allocates is taken from blocks of this source, which must outlive the state; NULL: pages of the system. NULL if there
 * is no memory. `memory` must stay where it is. */
lua_State *lua_toft_open(lua_toft *memory, toft_source *source);

/* In place of lua_close: finalizers run, and then all memory goes at once, without a free for each object. */
void lua_toft_close(lua_toft *memory, lua_State *L);

/* Returns what holds nothing to the source, but for about `keep` bytes: after lua_gc(L, LUA_GCCOLLECT), say. */
void lua_toft_trim(lua_toft *memory, size_t keep);

/* The lua_Alloc of such a state; ud: its lua_toft. */
void *lua_toft_alloc(void *ud, void *p, size_t old_size, size_t size);

#ifdef __cplusplus
}
#endif
#endif
