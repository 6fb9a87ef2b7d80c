/* Queries by malloc and a function that frees, and in the host's arena: rows malloc|toft ROUNDS PLUGIN. The output is
 * described in ../measure.h.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../measure.h"
#include "query.h"

#include <dlfcn.h>
#include <toft.h>

enum { QUERIES = 200, ROWS = 1000 };

int main(int argc, char **argv) {
  void *plugin = argc == 4 ? dlopen(argv[3], RTLD_NOW | RTLD_LOCAL) : NULL;
  plugin_query *query = plugin != NULL ? (plugin_query *)dlsym(plugin, "query") : NULL;
  void (*free_rows)(row *) = plugin != NULL ? (void (*)(row *))dlsym(plugin, "free_rows") : NULL;
  toft_arena *a = argc == 4 && strcmp(argv[1], "toft") == 0 ? toft_create() : NULL;
  uint64_t hash = HASH_START;
  if (query == NULL || free_rows == NULL) return 1;
  print_parts("query read free");
  for (long round = atol(argv[2]); round > 0; round--) {
    uint64_t t[4], parts[3] = {0, 0, 0};
    struct meter m = meter_begin();
    for (int i = 0; i < QUERIES; i++) {
      t[0] = now();
      row *list = query(a, ROWS);
      t[1] = now();
      if (list == NULL) return 1;
      for (row *r = list; r != NULL; r = r->next) hash = hash_bytes(hash, &r->id, sizeof r->id);
      t[2] = now();
      if (a != NULL)
        toft_reset(a);
      else
        free_rows(list);
      t[3] = now();
      for (int k = 0; k < 3; k++) parts[k] += t[k + 1] - t[k];
    }
    meter_end(&m, parts, 3);
  }
  toft_release(a);
  print_total(hash);
  return 0;
}
