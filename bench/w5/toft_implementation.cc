// The C library, as a program of C++ has it: in one file.
// SPDX-License-Identifier: MIT OR Apache-2.0
#define TOFT_IMPLEMENTATION
#include <toft/toft.hpp>
