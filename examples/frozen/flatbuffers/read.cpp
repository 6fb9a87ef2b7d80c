// A FlatBuffer, mapped and read in place.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "packages_generated.h"

extern "C" {
#include "../read.h"
}

static const void *bytes;
static size_t size;

static int open_file(const char *path) {
  struct stat about;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &about) != 0) return 0;
  size = size_t(about.st_size);
  bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  return bytes != MAP_FAILED;
}

// Follows all offsets.
static int open_verified(const char *path) {
  if (!open_file(path)) return 0;
  flatbuffers::Verifier v(static_cast<const uint8_t *>(bytes), size, 64, 100000000);
  return flat::VerifyPackagesBuffer(v);
}

static text text_of(const flatbuffers::String *s) { return {s->c_str(), s->size()}; }

static void print(const char *wanted) {
  const flat::Package *p = flat::GetPackages(bytes)->list()->LookupByKey(wanted);
  if (p == nullptr)
    printf("%s -\n", wanted);
  else
    print_package(text_of(p->name()), text_of(p->version()), p->kib(), p->depends()->size(), text_of(p->description()));
}

static uint64_t needed_by(const char *wanted) {
  text name = {wanted, strlen(wanted)};
  uint64_t count = 0;
  for (const flat::Package *p : *flat::GetPackages(bytes)->list())
    for (const flatbuffers::String *d : *p->depends())
      if (same_text(text_of(d), name)) {
        count++;
        break;
      }
  return count;
}

extern "C" {
extern const way flatbuffers_way = {"flatbuffers", open_file, print, needed_by};
extern const way flatbuffers_verified_way = {"flatbuffers-verified", open_verified, print, needed_by};
}
