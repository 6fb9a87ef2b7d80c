// Writes the list of packages as a FlatBuffer: write_flatbuffers LIST FILE.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "packages_generated.h"

extern "C" {
#include "../packages.h"
}

packages *all;  // until the process ends

static void *take_of_heap(void *, size_t size) { return malloc(size); }

static bool write(const char *path) {
  flatbuffers::FlatBufferBuilder b;
  auto string_of = [&b](text t) { return b.CreateString(t.at, t.size); };
  std::vector<flatbuffers::Offset<flat::Package>> list;
  for (uint64_t i = 0; i < all->count; i++) {
    const package *p = &all->list[i];
    std::vector<flatbuffers::Offset<flatbuffers::String>> depends;
    for (uint64_t d = 0; d < p->depends_count; d++) depends.push_back(string_of(p->depends[d]));
    auto name = string_of(p->name), version = string_of(p->version), description = string_of(p->description);
    list.push_back(flat::CreatePackage(b, name, version, description, b.CreateVector(depends), p->kib));
  }
  flat::FinishPackagesBuffer(b, flat::CreatePackages(b, b.CreateVectorOfSortedTables(&list)));
  FILE *f = fopen(path, "wb");
  if (f == nullptr) return false;
  bool done = fwrite(b.GetBufferPointer(), 1, b.GetSize(), f) == b.GetSize();
  return fclose(f) == 0 && done;
}

int main(int argc, char **argv) {
  size_t size = 0;
  char *list = argc == 3 ? read_whole(argv[1], &size) : nullptr;
  if (list == nullptr) return 2;
  all = packages_parse(list, size, take_of_heap, nullptr);
  free(list);
  return all != nullptr && write(argv[2]) ? 0 : 1;
}
