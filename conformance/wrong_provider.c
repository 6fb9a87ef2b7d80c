/* A wrong provider: its arenas are another object's, as if its symbols were bound to another library. With ONE_THREAD
 * defined, their slow path also serves only the thread that made the arena. The driver must detect both.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <dlfcn.h>
#include <string.h>

#include "conformance.h"

static const conformance_provider *other;
#ifdef ONE_THREAD
static _Thread_local int has_made; /* an arena */
static const toft_arena_ops *real;
static toft_arena_ops ops;

static void *alloc(toft_arena *a, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  return has_made ? real->alloc(a, size, align, flags, site) : NULL;
}

static toft_arena *make(conformance_source *source, uint64_t budget, size_t reserve) {
  toft_arena *a = other->make(source, budget, reserve);
  if (a == NULL) return NULL;
  if (real == NULL) {
    real = a->ops;
    ops = *real;
    ops.size = sizeof ops;
    ops.alloc = alloc;
  }
  a->ops = &ops;
  has_made = 1;
  return a;
}
#endif

const conformance_provider *conformance_provider_table(void);
__attribute__((visibility("default"))) const conformance_provider *conformance_provider_table(void) {
  void *object = dlopen(OTHER, RTLD_NOW | RTLD_LOCAL);
  void *found = object != NULL ? dlsym(object, "conformance_provider_table") : NULL;
  const conformance_provider *(*table)(void) = NULL;
  memcpy(&table, &found, sizeof table);
  other = table != NULL ? table() : NULL;
#ifdef ONE_THREAD
  static conformance_provider wrong;
  if (other == NULL) return NULL;
  wrong = *other;
  wrong.make = make;
  return &wrong;
#else
  return other;
#endif
}
