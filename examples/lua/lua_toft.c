/* Lua passes the size of each object it frees, as a recycler requires. The collector frees objects in the order of
 * their allocation, or in reverse, so freed objects are adjacent and blocks become empty soon.
 * Small pages of the system take least memory: untouched and trimmed parts of a block take none.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "lua_toft.h"

/* Where p is NULL, old_size is the kind of an object. After NULL Lua collects garbage and retries. */
void *lua_toft_alloc(void *ud, void *p, size_t old_size, size_t size) {
  lua_toft *memory = (lua_toft *)ud;
  if (size == 0) {
    if (!memory->closing) toft_recycler_free(&memory->recycler, p, old_size); /* ignores NULL */
    return NULL;
  }
  if (p == NULL) return toft_recycler_alloc(&memory->recycler, size, 8); /* as resize would, but inline */
  return toft_recycler_resize(&memory->recycler, p, old_size, size, 8);
}

lua_State *lua_toft_open(lua_toft *memory, toft_source *source) {
  toft_recycler_options options = TOFT_RECYCLER_OPTIONS;
  lua_State *L;
  options.source = source != NULL ? source : toft_page_source_init(&memory->pages, 0);
  memory->closing = 0;
  if (toft_recycler_init(&memory->recycler, &options) != TOFT_OK) return NULL;
  L = lua_newstate(lua_toft_alloc, memory);
  if (L == NULL) toft_recycler_release(&memory->recycler);
  return L;
}

void lua_toft_close(lua_toft *memory, lua_State *L) {
  memory->closing = 1;
  lua_close(L);
  toft_recycler_release(&memory->recycler);
}

void lua_toft_trim(lua_toft *memory, size_t keep) { toft_recycler_trim(&memory->recycler, keep); }
