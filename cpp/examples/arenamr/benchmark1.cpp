// ArenaMR's first benchmark: ten times 100,000 nodes, more than is reserved.
//     benchmark1 [warm-ups [runs]]
// SPDX-License-Identifier: MIT OR Apache-2.0
#define TOFT_IMPLEMENTATION
#include <toft/pmr.hpp>

#include "warm_and_run.hpp"

static long long measure(std::pmr::memory_resource *resource) { return emplace_and_clear(resource, 10, 100'000); }

int main(int argc, char **argv) {
  runs run(argc, argv);
  run("toft::recycling_resource", [] {
    toft::recycling_resource memory_resource;  // nothing to tune
    return measure(&memory_resource);
  });
  run("the same, tuned", [] {
    toft::recycling_resource memory_resource(10, 100'000);
    return measure(&memory_resource);
  });
  run("new_delete_resource", [] { return measure(std::pmr::new_delete_resource()); });
  run("unsynchronized_pool_resource", [] {
    std::pmr::unsynchronized_pool_resource memory_resource({150'000, 40});
    return measure(&memory_resource);
  });
  run("monotonic_buffer_resource", [] {
    std::pmr::monotonic_buffer_resource memory_resource(1'000'000);
    return measure(&memory_resource);
  });
}
