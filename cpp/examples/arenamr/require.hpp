// A check that is there with NDEBUG, too.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include <cstdio>
#include <cstdlib>

// In main: ends the program with 1, and prints the place.
#define REQUIRE(what)                                                                                         \
  do {                                                                                                        \
    if (!(what)) return std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what), EXIT_FAILURE; \
  } while (0)
