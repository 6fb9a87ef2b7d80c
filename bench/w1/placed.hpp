// Storage for a T that is constructed and destroyed explicitly, so that an arena of C++ is a plain struct for the
// loops.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include <new>
#include <utility>

template <class T>
struct placed {
  alignas(T) unsigned char bytes[sizeof(T)];

  T *get() { return std::launder(reinterpret_cast<T *>(bytes)); }
  template <class... Args>
  int make(Args &&...args) {
    return ::new (static_cast<void *>(bytes)) T(std::forward<Args>(args)...), 1;
  }
  void unmake() { get()->~T(); }
};
