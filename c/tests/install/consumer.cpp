// Uses the inline layer and the library.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <toft.h>

#include <iostream>

int main() {
  toft_arena *a = toft_create();
  if (a == nullptr) return 1;
  int *numbers = toft_new_array(a, int, 1000);
  if (numbers == nullptr) return 1;
  numbers[999] = 5;
  std::cout << toft_strdup(a, "hello") << ' ' << sizeof(void *) << '\n';
  toft_release(a);
}
