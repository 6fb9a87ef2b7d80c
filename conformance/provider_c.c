/* The provider in C: libtoft, all of it in this object and nothing of it visible from outside.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_STATIC
#include "toft.c"

#include "conformance.h"

typedef struct adapter { /* libtoft's source in front of the driver's */
  toft_source source;
  conformance_source *real;
} adapter;

static void *take(toft_source *self, size_t size) {
  conformance_source *real = ((adapter *)(void *)self)->real;
  return real->take(real, size);
}

static void put(toft_source *self, void *block, size_t size) {
  conformance_source *real = ((adapter *)(void *)self)->real;
  real->put(real, block, size);
}

static toft_arena *make(conformance_source *source, uint64_t budget, size_t reserve) {
  static adapter one = {{take, put, NULL}, NULL}; /* the driver has one source, which other arenas may be calling */
  toft_options o = TOFT_OPTIONS;
  if (source != NULL) o.source = &one.source;
  if (source != NULL && one.real != source) one.real = source;
  o.budget = budget == UINT64_MAX ? 0 : budget;
  o.reserve = reserve;
  return toft_create_with(&o);
}

static void release(toft_arena *a) { toft_release(a); }

static size_t kept(void) {
  toft_cache_trim();
  return toft_cache_bytes();
}

const conformance_provider *conformance_provider_table(void);
__attribute__((visibility("default"))) const conformance_provider *conformance_provider_table(void) {
  static const conformance_provider table = {"C", make, release, kept, CONFORMANCE_FULL, 1, SIZE_MAX};
  return &table;
}
