// What every header of the package needs: the C library's header, the library itself if it is asked for, and how
// failure is told.
//
// The headers need the C library. Either one .cpp file of the program holds it:
//
//     #define TOFT_IMPLEMENTATION
//     #include <toft/toft.hpp>
//
// or the program links it. CMake: toft::header_only for the first way, toft::pmr for the second. Once in a program.
//
// Two libraries in one program that each hold a copy: define TOFT_PREFIX (`#define TOFT_PREFIX mylib_`) before every
// include in one of them, and its C and C++ names are its own.
//
// FAILURE. Calls that cannot do their work throw std::bad_alloc, or what they say; those named try_ return nullptr or
// what they say. Nothing has changed then. Without exceptions (-fno-exceptions) what would be thrown is thrown inside
// the standard library, which ends the program as `new` does there: use the try_ calls.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_CONFIG_HPP
#define TOFT_CONFIG_HPP

#if defined(_MSVC_LANG) ? _MSVC_LANG < 201703L : __cplusplus < 201703L
#error "toft: C++17 or later"
#endif

#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

#include <toft.h>

// Where TOFT_PREFIX gives the C library names of its own, the C++ ones are others too: a program and a plugin may each
// hold a copy. TOFT_STATIC is for programs of one C file: inline functions of two files would call two libraries.
#ifdef TOFT_STATIC
#error "toft: TOFT_STATIC is for C: use TOFT_PREFIX"
#endif
#ifdef TOFT_PREFIX
#define TOFT_NAMESPACE TOFT_PASTE(TOFT_PREFIX, v0_1)
#else
#define TOFT_NAMESPACE v0_1
#endif

#if defined(__GNUC__) || defined(__clang__)
#define TOFT_HIDDEN __attribute__((visibility("hidden")))
#else
#define TOFT_HIDDEN
#endif

// For the few lines that containers spend their time in: a compiler that left them out of line would not be wrong, but
// slow.
#if defined(__GNUC__) || defined(__clang__)
#define TOFT_ALWAYS_INLINE __attribute__((always_inline))
#else
#define TOFT_ALWAYS_INLINE
#endif

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define TOFT_EXCEPTIONS 1
#else
#define TOFT_EXCEPTIONS 0
#endif

// Out of line, so that a caller's fast path holds a call and nothing of the exception.
namespace toft {
inline namespace TOFT_NAMESPACE {
namespace detail {

[[noreturn]] TOFT_COLD inline void throw_bad_alloc() {
#if TOFT_EXCEPTIONS
  throw std::bad_alloc();
#else
  for (;;) (void)::operator new(SIZE_MAX / 2);
#endif
}

[[noreturn]] TOFT_COLD inline void throw_length_error(const char *what = "toft: too long") {
#if TOFT_EXCEPTIONS
  throw std::length_error(what);
#else
  for (;;) (void)std::string().append(what, SIZE_MAX - 1);
#endif
}

[[noreturn]] TOFT_COLD inline void throw_out_of_range(const char *what) {
#if TOFT_EXCEPTIONS
  throw std::out_of_range(what);
#else
  for (;;) (void)std::string(what).at(SIZE_MAX);
#endif
}

[[noreturn]] TOFT_COLD inline void throw_invalid_argument(const char *what) {
#if TOFT_EXCEPTIONS
  throw std::invalid_argument(what);
#else
  throw_out_of_range(what);
#endif
}

[[noreturn]] TOFT_COLD inline void throw_logic_error(const char *what) {
#if TOFT_EXCEPTIONS
  throw std::logic_error(what);
#else
  throw_out_of_range(what);
#endif
}

}  // namespace detail
}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif

// Outside the guard: a header may have been included before the file said that it holds the library.
#if defined(TOFT_IMPLEMENTATION) && !defined(TOFT_IMPLEMENTED)
#define TOFT_IMPLEMENTED
#include "impl/toft.c"
#endif
