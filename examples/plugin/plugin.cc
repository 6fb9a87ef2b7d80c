// The plugin in C++. No exception passes into the host.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "query.h"

#include <cstring>
#include <exception>
#include <new>
#include <string>

namespace {

void *place(toft_arena *a, std::size_t size) {
  void *p = take(a, size);
  return p != nullptr ? p : throw std::bad_alloc();
}

// The string is in the plugin's heap, and its copy in the arena.
const char *text(toft_arena *a, const std::string &s) {
  return static_cast<const char *>(std::memcpy(place(a, s.size() + 1), s.c_str(), s.size() + 1));
}

}  // namespace

extern "C" row *query(toft_arena *a, std::int64_t count) try {
  if (a->ops->version != 1) return nullptr;
  row *list = nullptr;
  for (std::int64_t id = 0; id < count; id++) {
    const char *name = text(a, "the name of column " + std::to_string(id));
    const char *value = text(a, "the value in row " + std::to_string(id));
    list = new (place(a, sizeof(row))) row{list, name, value, id};
  }
  return list;
} catch (const std::exception &) {
  return nullptr;
}
