/* A wrong provider: its arenas are another object's, as if its symbols were bound to another library. The driver must
 * detect it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <dlfcn.h>
#include <string.h>

#include "conformance.h"

const conformance_provider *conformance_provider_table(void);
__attribute__((visibility("default"))) const conformance_provider *conformance_provider_table(void) {
  void *object = dlopen(OTHER, RTLD_NOW | RTLD_LOCAL);
  void *found = object != NULL ? dlsym(object, "conformance_provider_table") : NULL;
  const conformance_provider *(*table)(void) = NULL;
  memcpy(&table, &found, sizeof table);
  return table != NULL ? table() : NULL;
}
