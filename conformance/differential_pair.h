/* The providers that differential.c compares: libtoft, and the crate or the provider whose object DIFFERENTIAL_PROVIDER
 * names.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CONFORMANCE_DIFFERENTIAL_PAIR_H
#define CONFORMANCE_DIFFERENTIAL_PAIR_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

const conformance_provider *conformance_provider_table(void); /* the crate's */
const conformance_provider *differential_provider_in_c(void); /* libtoft's */
static const conformance_provider *providers[2];
static int (*toggle)(toft_arena *a); /* provider_instrumented.c: the instrument of an open arena, off and on; or NULL */

/* What both of them support. */
static int both(uint32_t bit) { return (providers[0]->supports & providers[1]->supports & bit) != 0; }

/* `allocated` and `peak` count more then, as more calls reach the provider, and bit 0 of the epoch is set. */
static uintptr_t is_instrumented(void) { return (providers[1]->supports & CONFORMANCE_INSTRUMENTED) != 0; }

static void load_providers(void) {
  providers[0] = differential_provider_in_c();
  providers[1] = conformance_provider_table();
  const char *other = getenv("DIFFERENTIAL_PROVIDER");
  if (other == NULL) return;
  const conformance_provider *(*table)(void) = NULL;
  void *object = dlopen(other, RTLD_NOW | RTLD_LOCAL);
  void *found = object != NULL ? dlsym(object, "conformance_provider_table") : NULL;
  memcpy(&table, &found, sizeof table);
  if (table != NULL) providers[1] = table();
  if (table == NULL || providers[1] == NULL || providers[1]->policy != 1 ||
      (~providers[1]->supports & CONFORMANCE_FULL) != 0) {
    fprintf(stderr, "differential: %s is no provider of the full profile with placement policy 1\n", other);
    exit(2);
  }
  found = dlsym(object, "conformance_toggle");
  memcpy(&toggle, &found, sizeof toggle);
}

#endif
