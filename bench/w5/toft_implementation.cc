// The C library in one file, as C++ programs include it.
// SPDX-License-Identifier: MIT OR Apache-2.0
#define TOFT_IMPLEMENTATION
#include <toft/toft.hpp>
