// A string in a map, in an arena that is emptied too early.
// SPDX-License-Identifier: MIT OR Apache-2.0
#define TOFT_IMPLEMENTATION
#include <map>
#include <string>
#include <toft/pmr.hpp>

using strings = std::pmr::map<int, std::pmr::string>;

__attribute__((noinline)) static char *remember(strings &all) {
  all[1] = "a string that is too long for the small buffer";  // remembers
  return all[1].data();
}

__attribute__((noinline)) static void forget(toft::arena &a) {
  a.reset();  // forgets
}

int main() {
  toft::arena a;
  toft::arena_resource memory(a);
  alignas(strings) unsigned char place[sizeof(strings)];  // its destructor does not run
  char *text = remember(*new (place) strings(&memory));   // main remembers
  forget(a);
  text[0] = 'x';
  forget(a);
}
