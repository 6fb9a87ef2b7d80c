/* The arenas of another provider, whose object CONFORMANCE_BENEATH names, with an instrument of libtoft before each.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_STATIC
#include "toft.c"

#include <dlfcn.h>

#include "conformance.h"

static const conformance_provider *beneath;

static toft_arena *make(conformance_source *source, uint64_t budget, size_t reserve) {
  toft_arena *a = beneath->make(source, budget, reserve);
  if (a != NULL && toft_instrument_arena(a, 1) != TOFT_OK) abort();
  return a;
}

static void release(toft_arena *a) { beneath->release(a); }
static size_t kept(void) { return beneath->kept(); }

/* Takes the instrument off, or puts it on. */
int conformance_toggle(toft_arena *a);
__attribute__((visibility("default"))) int conformance_toggle(toft_arena *a) {
  return toft_instrument_arena(a, toft_instrument_before(a) == NULL);
}

const conformance_provider *conformance_provider_table(void);
__attribute__((visibility("default"))) const conformance_provider *conformance_provider_table(void) {
  static conformance_provider table;
  const conformance_provider *(*table_beneath)(void) = NULL;
  const char *path = getenv("CONFORMANCE_BENEATH");
  void *object = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  void *found = object != NULL ? dlsym(object, "conformance_provider_table") : NULL;
  if (found == NULL) return NULL;
  memcpy(&table_beneath, &found, sizeof found);
  beneath = table_beneath();
  (void)setenv("TOFT_METERED", "1", 1); /* read now, and not by another copy of the library */
  (void)toft_process_switches();
  (void)unsetenv("TOFT_METERED");
  table = *beneath;
  table.name = "instrumented";
  table.make = make;
  table.release = release;
  table.kept = kept;
  table.supports |= CONFORMANCE_INSTRUMENTED | CONFORMANCE_TAG | CONFORMANCE_SAMPLE;
  if (!(beneath->supports & CONFORMANCE_CHECKED)) table.supports |= CONFORMANCE_CHECKED;
  return &table;
}
