// The C library, compiled as C++ into what links toft::cpp_compiled.
// SPDX-License-Identifier: MIT OR Apache-2.0
#define TOFT_IMPLEMENTATION
#include <toft/config.hpp>
