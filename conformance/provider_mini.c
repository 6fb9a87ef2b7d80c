/* abi/toft_mini.h on the driver's source: the core profile with resize, free and cleanups, and a placement of its own.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "conformance.h"

static conformance_source *source; /* the driver has one at a time */
#define TOFT_MINI_TAKE(size) source->take(source, size)
#define TOFT_MINI_PUT(block, size) source->put(source, block, size)
#include "toft_mini.h"

static toft_arena *make(conformance_source *of_driver, uint64_t budget, size_t reserve) {
  (void)budget, (void)reserve;
  source = of_driver;
  return toft_create();
}

static void release(toft_arena *a) { toft_release(a); }
static size_t kept(void) { return 0; }

const conformance_provider *conformance_provider_table(void);
__attribute__((visibility("default"))) const conformance_provider *conformance_provider_table(void) {
  static const conformance_provider table = {
      "mini", make, release, kept, CONFORMANCE_RESIZE | CONFORMANCE_FREE | CONFORMANCE_CLEANUP, 0, SIZE_MAX};
  return &table;
}
