/* A plug-in in C++, whose library of C++ its host does not see.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <new>
#include <string>
#include <vector>

extern "C" int run() {
  std::vector<std::string> words;
  for (int i = 0; i < 1000; i++) words.push_back(std::string(100, 'a') + std::to_string(i));
  volatile size_t huge = PTRDIFF_MAX;
  try {
    ::operator delete(::operator new(huge));
  } catch (const std::bad_alloc &) {
    return (int)words.size();
  }
  return -2;
}
