// Reads a published list in C++: read PATH.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "format.h"

struct published {
  published_header h{};
  void *map = nullptr;

  // Throws std::runtime_error.
  published(const std::string &path, const char *layout) {
    struct stat s {};
    int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    bool whole = pread(file, &h, sizeof h, 0) == sizeof h && std::memcmp(h.magic, PUBLISHED_MAGIC, 8) == 0 &&
                 std::strncmp(h.layout, layout, sizeof h.layout) == 0 && fstat(file, &s) == 0 &&
                 std::uint64_t(s.st_size) == h.size && h.size > PUBLISHED_ROOT;
    void *at = reinterpret_cast<void *>(h.address);
    if (whole) map = mmap(at, h.size, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
    close(file);
    std::ostringstream taken;
    taken << "its " << h.size << " bytes at " << at << " are taken here";
    if (!whole || map != at)
      throw std::runtime_error(path + ": " + (whole ? taken.str() : "no whole file of this version and layout"));
  }
  published(const published &) = delete;
  ~published() { munmap(map, h.size); }

  const book *root() const {
    auto *at = static_cast<const char *>(map) + PUBLISHED_ROOT;
    return reinterpret_cast<const std::atomic<const book *> *>(at)->load(std::memory_order_acquire);
  }
};

int main(int argc, char **argv) try {
  if (argc != 2) return 2;
  published file(argv[1], BOOK_LAYOUT);
  auto *b = file.root();
  std::int64_t count = 0, sum = 0;
  for (auto *e = b->newest; e != nullptr; e = e->older, count++) sum += entry_value(e);
  if (count != b->count || sum != b->sum) return 3;
  std::cout << "generation " << b->generation << ", root " << b->root << ", sum " << sum << '\n';
} catch (const std::runtime_error &error) {
  std::cerr << error.what() << '\n';
  return 1;
}
