/* A plugin that embeds the library: see test_dlclose.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_STATIC
#include "toft.c"

#define EXPORT __attribute__((visibility("default")))

EXPORT size_t plugin_work(unsigned rounds);
EXPORT void plugin_trim(void);
EXPORT size_t plugin_background(void);

/* Allocates and releases; returns how many bytes the calling thread's cache holds now, 0 on failure. */
size_t plugin_work(unsigned rounds) {
  for (unsigned i = 0; i < rounds; i++) {
    toft_arena *a = toft_create();
    if (a == NULL) return 0;
    for (unsigned k = 0; k < 50; k++) {
      char *p = (char *)toft_alloc(a, 100 + k);
      if (p == NULL) return 0;
      memset(p, (int)k, 100 + k);
    }
    toft_release(a);
    toft_lease l = toft_lease_get(NULL);
    if (l.arena == NULL || toft_alloc(l.arena, 5000) == NULL || toft_lease_return(NULL, l) != TOFT_OK) return 0;
  }
  return toft_cache_bytes();
}

void plugin_trim(void) { toft_cache_trim(); }

/* Leaves pages in the cache and a background thread that waits; returns the bytes. */
size_t plugin_background(void) {
  (void)toft_page_cache_window(3600 * 1000);
  (void)toft_background_thread(1);
  toft_arena *a = toft_create();
  if (a == NULL || toft_alloc(a, 3000000) == NULL) return 0;
  toft_release(a);
  return toft_page_cache_bytes();
}
