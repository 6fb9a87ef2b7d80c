// Common to all headers of the package: the C library's header, the library itself on request, and exceptions.
//
// The headers need the C library. Either one .cpp file of the program contains it:
//
//     #define TOFT_IMPLEMENTATION
//     #include <toft/toft.hpp>
//
// or the program links it; CMake: toft::header_only for the former, toft::pmr for the latter. Do only one, and only
// once.
//
// If two libraries in one program each contain a copy, one of them must define TOFT_PREFIX (`#define TOFT_PREFIX
// mylib_`) before every include, which renames its C and C++ symbols.
//
// FAILURE. Functions that fail throw std::bad_alloc or the documented exception; those named try_ return nullptr or the
// documented value. Nothing changes then. Without exceptions (-fno-exceptions) the failure is raised inside the
// standard library, which ends the program as `new` does there: use the try_ functions.
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

// TOFT_PREFIX renames the C++ namespace too, so that a program and a plugin may each contain a copy. TOFT_STATIC is for
// programs of one C file: with two files, inline functions would call two libraries.
#ifdef TOFT_STATIC
#error "toft: TOFT_STATIC is for C: use TOFT_PREFIX"
#endif
#ifdef TOFT_PREFIX
#define TOFT_NAMESPACE TOFT_PASTE(TOFT_PREFIX, v0_1)
#else
#define TOFT_NAMESPACE v0_1
#endif

// Windows has no visibility, and gcc warns of the attribute there.
#if (defined(__GNUC__) || defined(__clang__)) && !defined(_WIN32)
#define TOFT_HIDDEN __attribute__((visibility("hidden")))
#else
#define TOFT_HIDDEN
#endif

// For the few functions in which containers spend their time.
#if defined(__GNUC__) || defined(__clang__)
#define TOFT_ALWAYS_INLINE __attribute__((always_inline))
#else
#define TOFT_ALWAYS_INLINE
#endif

// A class whose objects point to another object, as iterators do: clang reports one that is used after the other's end.
#if defined(__has_cpp_attribute)
#if __has_cpp_attribute(gsl::Pointer)
#define TOFT_VIEW [[gsl::Pointer]]
#endif
#endif
#ifndef TOFT_VIEW
#define TOFT_VIEW
#endif

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define TOFT_EXCEPTIONS 1
#else
#define TOFT_EXCEPTIONS 0
#endif

// Out of line, so that a caller's fast path contains only a call.
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

// Outside the guard: a header may be included before the file defines TOFT_IMPLEMENTATION.
#if defined(TOFT_IMPLEMENTATION) && !defined(TOFT_IMPLEMENTED)
#define TOFT_IMPLEMENTED
#include "impl/toft.c"
#endif
