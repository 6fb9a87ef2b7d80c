/* The client's table, with the exported functions of client.go. cgo has no const, so they are declared here.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "_cgo_export.h"

static int contains(toft_arena *a, const void *p) { return conformanceContains(a, (void *)p); }

static conformance_record *write_one(toft_arena *a, const conformance_record *older, uint64_t size, uint64_t seed,
                                     size_t align) {
  return conformanceWrite(a, (conformance_record *)older, size, seed, align);
}

static uint64_t read_all(const conformance_record *newest) { return conformanceRead((conformance_record *)newest); }

const conformance_client *conformance_client_table(void) {
  static const conformance_client table = {
      .name = "Go",
      .accept = conformanceAccept,
      .alloc = conformanceAlloc,
      .zeroed = conformanceZeroed,
      .mark = conformanceMark,
      .rewind = conformanceRewind,
      .reset = conformanceReset,
      .trim = conformanceTrim,
      .budget = conformanceBudget,
      .checked = conformanceChecked,
      .stats = conformanceStats,
      .contains = contains,
      .cleanup = conformanceCleanup,
      .node_alone = 1,
      .release = conformanceRelease,
      .write = write_one,
      .read = read_all,
      .lease = conformanceLease,
      .end_lease = conformanceEndLease,
  };
  return &table;
}
