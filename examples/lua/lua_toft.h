/* A Lua state on Toft, for your own program: copy this pair. README.md gives the reasons for its design.
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

/* A new state, without libraries, as lua_newstate makes it: set lua_atpanic if errors can reach it. It
 * allocates from blocks of this source, which must outlive the state; NULL: pages of the system. Returns NULL without
 * memory. `memory` must not be moved. */
lua_State *lua_toft_open(lua_toft *memory, toft_source *source);

/* Replaces lua_close: runs finalizers, and then frees all memory at once, without a call for each object. */
void lua_toft_close(lua_toft *memory, lua_State *L);

/* Returns empty blocks to the source, except for about `keep` bytes: for example after lua_gc(L, LUA_GCCOLLECT). */
void lua_toft_trim(lua_toft *memory, size_t keep);

/* The lua_Alloc of such a state; ud: its lua_toft. */
void *lua_toft_alloc(void *ud, void *p, size_t old_size, size_t size);

#ifdef __cplusplus
}
#endif
#endif
