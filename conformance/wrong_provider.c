/* A provider that is none: it hands out the arenas of another object, as one does whose symbols were bound to somebody
 * else's library. The driver must tell.
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
