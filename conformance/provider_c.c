/* The provider in C: libtoft, all of it in this object and nothing of it visible from outside. With LEAST defined, it
 * has the full profile of abi/SPEC.md and nothing more: no information, no sampling, no checks, no tags.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_STATIC
#include "toft.c"

#include "conformance.h"

#ifndef POLICY
#define POLICY 1 /* 0: the library was changed to place by another policy */
#endif

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

#ifdef LEAST
static toft_arena_ops least;

static int set(toft_arena *a, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  return what == TOFT_SET_BUDGET ? toft_table.ops.set(a, what, value, name, name_len) : TOFT_ENOSYS;
}
#endif

static toft_arena *make(conformance_source *source, uint64_t budget, size_t reserve) {
  static adapter one = {{take, put, NULL}, NULL}; /* the driver has one source, which other arenas may be calling */
  toft_options o = TOFT_OPTIONS;
  if (source != NULL) o.source = &one.source;
  if (source != NULL && one.real != source) one.real = source;
  o.budget = budget == UINT64_MAX ? 0 : budget;
  o.reserve = reserve;
  toft_arena *a = toft_create_with(&o);
#ifdef LEAST
  if (a != NULL) a->ops = &least;
#endif
  return a;
}

static void release(toft_arena *a) { toft_release(a); }

static size_t kept(void) {
  toft_cache_trim();
  return toft_cache_bytes();
}

const conformance_provider *conformance_provider_table(void);
__attribute__((visibility("default"))) const conformance_provider *conformance_provider_table(void) {
#ifdef LEAST
  least = toft_table.ops;
  least.size = sizeof least;
  least.set = set;
  static const conformance_provider table = {"least", make,    release, kept, CONFORMANCE_FULL | CONFORMANCE_OWN_MEMORY,
                                             POLICY,  SIZE_MAX};
#else
  static const conformance_provider table = {"C", make, release, kept, CONFORMANCE_ALL, POLICY, SIZE_MAX};
#endif
  return &table;
}
